"""Certificates of every formulation and outcome: saved, and accepted by who has the file and the data alone."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from support.certificate_files import document, judged, program
from support.random_programs import draw_program

from boostopt import OptionError, ProblemError, Program, get_formulation, list_formulations
from boostopt.authoring import CappedSimplex, CappedSimplexIndicator, formula
from boostopt.errors import DataError
from boostopt.programs.prototype import prototype
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.verification import certificate_writer as writing
from boostopt.verification import save, verify
from boostopt.verification.trusted_kernel.certificate_schema import read_document

ROUNDING = 1e-11
"""By how much the interval in a file may be wider than the certificate's, for programs of this size."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", list_formulations())
def test_every_formulation_is_saved_and_accepted(name: str, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(len(name)), tmp_path / "certificate.json"
    for _ in range(6):
        random_program = draw_program(rng, name, largest_N=60, largest_t=6, largest_eta=1e3)
        certificate = random_program.solve(tol=1e-7, time_limit=10).certificate
        save((random_program, certificate), path)
        verification = verify(path, random_program.margins, c=random_program.examples.c, d0=random_program.examples.d0)
        assert verification, verification
        assert (verification.outcome == "infeasible") == certificate.infeasible
        if certificate.infeasible:
            continue
        lower, upper = verification.claimed
        assert lower <= verification.lower <= verification.upper <= upper
        assert lower <= certificate.lower and certificate.upper <= upper
        if math.isfinite(certificate.scale):
            room = ROUNDING * max(certificate.scale, random_program.examples.total)
            assert certificate.lower - lower <= room and upper - certificate.upper <= room


@pytest.mark.every(3)
@pytest.mark.parametrize("p", [1.5, 2.0, 7.0, math.inf])
@pytest.mark.parametrize("eta", [5.0, math.inf])
@pytest.mark.parametrize("name", ["norm_ball", "norm_penalty"])
def test_norms_are_saved_and_accepted(name: str, p: float, eta: float, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(5), tmp_path / "certificate.json"
    U, c = rng.uniform(-1, 1, (30, 4)), rng.uniform(0.5, 2, 30)
    r = 1.4 * float(c.sum()) ** (1 / p - 1) if name == "norm_ball" else 0.3
    bound = get_formulation(name).bind(U, r=r, p=p, eta=eta, c=c)
    solution = bound.solve(tol=1e-7)
    save(solution, path)
    verification = verify(path, bound)
    assert verification, verification
    assert solution.certificate.lower - verification.claimed[0] <= ROUNDING


@pytest.mark.thorough
def test_a_ball_of_one_point_is_saved_and_accepted(tmp_path: Path) -> None:
    U, path = np.random.default_rng(5).uniform(-1, 1, (9, 3)), tmp_path / "certificate.json"
    bound = get_formulation("norm_ball").bind(U, r=1 / 3)
    save(bound.solve(), path)
    verification = verify(path, bound)
    assert verification, verification
    # The one point is the uniform distribution.
    value = float(U.mean(axis=0).max())
    assert verification.claimed[0] <= value <= verification.claimed[1]
    assert verification.claimed[1] - verification.claimed[0] < 1e-5


def test_every_outcome_is_saved_and_accepted(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    infeasible = judged(document("infeasible"), "infeasible", tmp_path)
    assert infeasible and infeasible.outcome == "infeasible" and infeasible.claimed == (math.inf, math.inf)
    bounded = program("bounded")
    # Weights whose edges are not allowed prove no upper bound: the file says so, and is right.
    without = bounded.certify(w=np.ones(4))
    save((bounded, without), path)
    assert verify(path, bounded)
    rough = bounded.certify(d=np.eye(16)[0], w=np.full(4, 3.0))
    save((bounded, rough), path)
    assert verify(path, bounded)


def test_any_storage_of_the_data_will_do(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(1), tmp_path / "certificate.json"
    U = rng.choice([-1, 0, 1], size=(40, 5))
    bound = get_formulation("lpboost").bind(U, nu=4)
    save(bound.solve(), path)
    for data in (U, U.astype(np.int8), U.astype(float), U.tolist(), scipy.sparse.csr_array(U), MarginMatrix(U), bound):
        assert verify(path, data)
    assert verify(str(path), scipy.sparse.coo_array(U))
    with pytest.raises(ProblemError, match="finite"):
        verify(path, np.full((40, 5), np.nan))
    for data, shape in (("U.npz", r"\(\)"), (3, r"\(\)"), ([["a"]], r"\(1, 1\)")):
        with pytest.raises(ProblemError, match=rf"\(N, t\);.*{shape}"):
            verify(path, data)
    with pytest.raises(ProblemError, match=r"\bdata\b.*\brows\b.*\blength\b"):
        verify(path, [[1.0], [1.0, 2.0]])


def test_the_file_says_all_that_it_should(tmp_path: Path) -> None:
    file_document = document("reference")
    assert file_document["formulation"]["parameters"]["eta"] == 7.0
    assert file_document["F"] == {"kind": "relative entropy", "caps": "c / nu", "nu": 3.0, "eta": 7.0}
    assert file_document["G"] == {"kind": "maximum"}
    assert file_document["data"]["U"] == program("reference").margins.digest()
    assert {"boostopt", "numpy", "backend", "solver status", "options", "tol"} <= set(file_document["made"])
    # Full precision: what is read is what was there, bit by bit.
    path = tmp_path / "certificate.json"
    solution = program("reference").solve(tol=1e-9)
    save(solution, path)
    again = read_document(path)
    assert np.array_equal(again.arrays["d"], solution.d) and np.array_equal(again.arrays["w"], solution.w)
    assert np.array_equal(again.c, program("reference").examples.c)


def test_long_vectors_stand_beside_the_text(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(2), tmp_path / "certificate.json"
    U = rng.choice([-1.0, 1.0], size=(60_000, 3))
    bound = get_formulation("erlpboost").bind(U, nu=600, eta=50)
    save((bound, bound.certify(w=[0.3, 0.3, 0.4])), path)
    assert path.stat().st_size < 10_000
    assert sorted(file.name for file in tmp_path.iterdir()) == ["certificate.json", "certificate.json.npz"]
    assert verify(path, U)
    arrays_file = tmp_path / "certificate.json.npz"
    content = arrays_file.read_bytes()
    for changed in (content[:-1], content[:1000], b"", content[:5000] + b"\x00" + content[5001:]):
        arrays_file.write_bytes(changed)
        assert "arrays" in verify(path, U).reason
    arrays_file.unlink()
    reason = verify(path, U).reason
    assert arrays_file.name in reason and "read" in reason


def test_regularizers_without_a_statement_are_refused_by_name(tmp_path: Path) -> None:
    class Mine(CappedSimplexIndicator):
        pass

    page = prototype("mine", lambda p, examples: Mine(CappedSimplex(examples.c, 1.0)))
    bound = page.bind(np.random.default_rng(0).uniform(-1, 1, (8, 2)))
    with pytest.raises(ProblemError, match=r"\bonly state a regularizer\b.*\bgot Mine\b.*\bkeep\b"):
        save((bound, bound.certify(w=[0.5, 0.5])), tmp_path / "certificate.json")


def test_a_formula_of_another_reference_is_refused_by_the_reference(tmp_path: Path) -> None:
    """The same numbers can be stated as a parameter."""
    U, d0 = np.array([[0.5, -0.2], [-0.4, 0.3], [0.1, 0.6]]), np.array([0.2, 0.3, 0.5])
    domain = CappedSimplex(np.ones(3), 1.5)
    constant_program, parameter_program = (
        prototype("page", lambda p, x, F=F: F).bind(U)
        for F in (formula("(d - d0)**2", domain, d0), formula("(d - q)**2", domain, q=d0))
    )
    with pytest.raises(ProblemError, match=r"FormulaRegularizer.*\bd0\b.*\bgot others\b.*\bparameters\b"):
        save((constant_program, constant_program.certify()), tmp_path / "certificate.json")
    assert not list(tmp_path.iterdir())
    save((parameter_program, parameter_program.certify()), tmp_path / "certificate.json")
    assert constant_program.certify().lower == pytest.approx(parameter_program.certify().lower)


def test_a_page_of_ones_own_is_passed(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    page = get_formulation("lpboost")
    custom_page = type("Own", (type(page),), {"name": "own", "__module__": type(page).__module__})()
    bound: Program = custom_page.bind(np.random.default_rng(0).uniform(-1, 1, (8, 2)), nu=2)
    save(bound.solve(), path)
    reason = verify(path, bound.margins).reason
    assert "'own'" in reason and "unknown" in reason
    assert verify(path, bound.margins, formulation=custom_page) and verify(path, bound)
    assert re.search(r"'own'.*'lpboost'$", verify(path, bound, formulation=page).reason)


def test_save_in_a_missing_folder_is_a_data_error_and_leaves_nothing(tmp_path: Path) -> None:
    bound = program("cap")
    with pytest.raises(DataError, match=r"\bnowhere\b.*\bwritten\b"):
        save((bound, bound.certify(w=np.ones(4))), tmp_path / "nowhere" / "certificate.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rounding_error", [math.nan, math.inf])
def test_an_end_of_which_nothing_is_known_is_not_claimed(
    rounding_error: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate with a number for this bound is refused, because no reader can prove the number."""
    path, bound, proved = tmp_path / "certificate.json", program("cap"), writing._prove_bounds  # pyright: ignore[reportPrivateUsage]
    certificate = bound.solve().certificate
    save((bound, certificate), path)
    path.unlink()
    monkeypatch.setattr(
        writing, "_prove_bounds", lambda *arguments: replace(proved(*arguments), rounding_errors=(0.0, rounding_error))
    )  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(ProblemError, match=rf"{re.escape(repr(certificate))}.*\bweights\b"):
        save((bound, certificate), path)
    assert not path.exists()


def test_a_file_that_would_be_too_long_to_be_read_is_not_written(tmp_path: Path) -> None:
    path, bound = tmp_path / "certificate.json", program("cap")
    with pytest.raises(ProblemError, match=r"\b16,000,000\b.*\bprovenance\b"):
        save(bound.solve(), path, provenance={"log": "x" * 16_000_000})
    assert not path.exists()


def test_the_verdict_reads_well(tmp_path: Path) -> None:
    good = judged(document("cap"), "cap", tmp_path)
    assert re.match(r"accepted: .*\brecomputed\b.*\bdata\b", str(good))
    assert good.verdict == "bounded" and good.formulation == "lpboost"
    file_document = document("cap")
    file_document["claim"]["lower"] += 1.0
    bad, claimed = judged(file_document, "cap", tmp_path), file_document["claim"]["lower"]
    assert not bad and bad.claimed[0] == claimed
    facts = f"at least {claimed!r}", f"proved bound is {good.lower!r}"
    assert re.fullmatch(rf"rejected: .*\b{re.escape(facts[0])}; .*\b{re.escape(facts[1])}", str(bad))
    assert json.dumps(bad.reason)


def test_the_data_say_what_c_and_d0_are_and_the_program_what_is_solved(tmp_path: Path) -> None:
    """By hand: the optimum of LPBoost is 0.2 for nu = 2.5, and 0 if the third example counts less."""
    U, path = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]), tmp_path / "certificate.json"
    page = get_formulation("lpboost")
    page.bind(U, nu=2.5, c=[8.0, 8.0, 1.0]).solve().save(path)
    for exact in (False, True):
        assert verify(path, U, exact=exact).reason.endswith(" c=")
        assert verify(path, U, c=np.array([8.0, 8.0, 1.0]), exact=exact)
    get_formulation("erlpboost").bind(U, nu=1, eta=4, d0=[0.5, 0.25, 0.25]).solve().save(path)
    assert verify(path, U).reason.endswith(" d0=")
    program = page.bind(U, nu=2.5)
    program.solve().save(path)
    assert verify(path, U) and verify(path, program)
    for other_program, parts in (
        (page.bind(U, nu=3), r"\bprogram\b.*'nu': 3\.0\b.*;.*'nu': 2\.5\b"),
        (get_formulation("erlpboost").bind(U, nu=1, eta=4), r"'lpboost'.*'erlpboost'$"),
    ):
        assert re.search(parts, verify(path, other_program).reason)


def test_a_wrong_page_is_an_option_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="nonsense"):
        judged(document("cap"), "cap", tmp_path, formulation="nonsense")
