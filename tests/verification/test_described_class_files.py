"""Files of runs over a class with a described F: what is saved is accepted, and no lie and no forgery is."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from described_forgeries import change_atom_of_part, change_number_of_part, swap_constraints, swap_functions
from problem_forgeries import change_number, change_proof, claim_more, swap_entries
from support.descriptions import DESCRIPTIONS, UNIFORM, N

from boostopt import OptionError, boost, verify
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    AbsoluteEdge,
    BoundedEdges,
    CappedSimplex,
    CvxpyRegularizer,
    EdgeFunction,
    MaximumEdge,
    parameter,
    prototype,
)
from boostopt.boosting.run.run import Run
from boostopt.oracles import DecisionStumps, Estimators, GivenMargins
from boostopt.verification import problem_certificate_writer, subject
from boostopt.verification.class_statements import MEMBERSHIP_NOT_CHECKED
from boostopt.verification.described_files.described_class_verdict import verify_described_class_certificate
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 3)), np.where(RNG.random(N) > 0.5, 1, -1)

GAP = 1e-6
"""The largest width of an interval, from runs whose gap is a hundredth of it."""


def squares(d: Any) -> Any:
    return cp.sum_squares(d - UNIFORM)


def entropy(d: Any) -> Any:
    return -cp.sum(cp.entr(d)) / 20


FUNCTIONS = {**DESCRIPTIONS, "squares": squares, "entropy": entropy}
"""Described regularizers by name."""


def page_of(f: Callable[[Any], Any], G: EdgeFunction | None = None) -> Any:
    """Return a formulation with a described regularizer, times a parameter."""

    def regularizer(p: Any, examples: Any) -> CvxpyRegularizer:
        def scaled(d: Any) -> Any:
            value: Any = f(d)
            return (p.eta * value[0], value[1]) if isinstance(value, tuple) else p.eta * value

        return CvxpyRegularizer(CappedSimplex(examples.c, p.nu), scaled, examples.c / examples.total)

    return prototype(
        "mine",
        regularizer,
        lambda p: MaximumEdge() if G is None else G,
        nu=parameter("the number of examples", COUNT),
        eta=parameter("the price", POSITIVE),
    )


def oracle_of(c: np.ndarray | None = None) -> DecisionStumps:
    """Return the oracle of the class."""
    return DecisionStumps(X, Y, c)


@cache
def run_of(name: str) -> Run:
    """Return a run with a described regularizer."""
    return boost(page_of(FUNCTIONS[name]), oracle_of(), nu=3, eta=1.0, epsilon=1e-8)


@cache
def text_of(name: str) -> str:
    """Return the text of the file of a run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "class.json"
        run_of(name).save_certificate(path, oracle_of(), {"author": "A. U. Thor"})
        return path.read_text()


def content_of(name: str) -> dict[str, Any]:
    """Return what the file of a run states, to be changed."""
    return json.loads(text_of(name))


def verdict(document: Any, oracle: Any = None, page: Any = None, **options: Any) -> Any:
    """Return the verdict on a document."""
    page = page_of(squares) if page is None else page
    top = parse_json(json.dumps(document).encode())
    return verify_described_class_certificate(
        top, oracle_of() if oracle is None else oracle, formulation=page, **options
    )


@pytest.mark.thorough_cases(
    "transport", "sorted norm", "nuclear norm", "largest eigenvalue", "cone and equation", "entropy"
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_files_of_runs_are_accepted(name: str, tmp_path: Path) -> None:
    path, run = tmp_path / "class.json", run_of(name)
    path.write_text(text_of(name))
    verification = verify(path, oracle_of(), formulation=page_of(FUNCTIONS[name]))
    assert verification and verification.verdict == "bounded", verification.reason
    assert "both bounds" in verification.reason and MEMBERSHIP_NOT_CHECKED not in verification.reason
    assert (
        subject(path) == "class" and verification.quantity == "value of the program" == run.class_certificate.quantity
    )
    assert verification.parameters == {"nu": 3.0, "eta": 1.0}
    assert verification.claimed[0] <= verification.lower <= verification.upper <= verification.claimed[1]
    assert verification.upper - verification.lower <= GAP
    assert verification.lower <= run.class_certificate.upper and run.class_certificate.lower <= verification.upper
    assert json.loads(path.read_text())["made"]["author"] == "A. U. Thor"


def test_the_interval_contains_the_optimum_over_all_hypotheses() -> None:
    columns = [np.where(X[:, j] > value, 1.0, -1.0) * Y for j in range(3) for value in (*X[:, j], -np.inf)]
    U = np.column_stack([column * sign for column in columns for sign in (1.0, -1.0)])
    d = cp.Variable(N, nonneg=True)
    constraints: list[Any] = [cp.sum(d) == 1, d <= 1 / 3]
    problem: Any = cp.Problem(cp.Minimize(squares(d) + cp.max(U.T @ d)), constraints)
    problem.solve("CLARABEL")
    verification = verdict(content_of("squares"))
    assert verification.lower - 1e-7 <= problem.value <= verification.upper + 1e-7


def test_exact_lower_ends_are_fractions() -> None:
    verification = verdict(content_of("squares"))
    assert verification.fractions == (Fraction(verification.fractions[0]), None)
    assert verification.fractions[0] == Fraction(35, 72)


def test_exact_proofs_of_a_class_are_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "class.json"
    path.write_text(text_of("squares"))
    with pytest.raises(OptionError, match=r"\bexact proofs need\b.*\bLeave out exact=True\b"):
        verify(path, oracle_of(), formulation=page_of(squares), exact=True)


@pytest.mark.parametrize("G", [AbsoluteEdge(), BoundedEdges(0.25)], ids=["absolute", "bounded"])
def test_other_edge_functions_have_their_largest_edge_over_a_class(G: EdgeFunction, tmp_path: Path) -> None:
    path, page = tmp_path / "class.json", page_of(squares, G)
    run = boost(page, oracle_of(), nu=3, eta=1.0, epsilon=1e-6, max_rounds=60)
    run.save_certificate(path, oracle_of())
    verification = verify(path, oracle_of(), formulation=page)
    assert verification, verification.reason
    assert verification.quantity == run.class_certificate.quantity
    assert ("G" in json.loads(path.read_text())["formulation"]) == isinstance(G, BoundedEdges)
    another_formulation = page_of(squares, BoundedEdges(0.5) if isinstance(G, BoundedEdges) else MaximumEdge())
    assert "another G" in verify(path, oracle_of(), formulation=another_formulation).reason


def test_absolute_edges_need_a_class_with_negations(tmp_path: Path) -> None:
    U = np.column_stack([np.where(X > 0, 1.0, -1.0) * Y[:, None]])
    both = GivenMargins(np.hstack([U, -U]), reflexive=True)
    run = boost(page_of(squares, AbsoluteEdge()), both, nu=3, eta=1.0, epsilon=1e-6)
    run.save_certificate(tmp_path / "class.json", both)
    document = json.loads((tmp_path / "class.json").read_text())
    assert verdict(document, both, page_of(squares, AbsoluteEdge()))
    one_sided = GivenMargins(np.hstack([U, -U]))
    document["data"]["digest"] = one_sided.digest
    reason = verdict(document, one_sided, page_of(squares, AbsoluteEdge())).reason
    assert "negations" in reason


@pytest.mark.thorough
def test_heuristic_oracles_prove_the_lower_end_only(tmp_path: Path) -> None:
    from sklearn.tree import DecisionTreeClassifier

    path = tmp_path / "class.json"
    oracle = Estimators(DecisionTreeClassifier(max_depth=1), X, Y)
    run = boost(page_of(squares), oracle, nu=3, eta=1.0, epsilon=1e-3, max_rounds=20)
    with pytest.warns(UserWarning, match=r"\bverify\(path,.*\bU="):
        run.save_certificate(path, oracle)
    U = run.record.pool.margins.take_columns(np.flatnonzero(run.w))
    verification = verify(path, oracle, U=U, formulation=page_of(squares))
    assert verification and "the lower bound" in verification.reason and MEMBERSHIP_NOT_CHECKED in verification.reason
    assert verification.upper == np.inf
    assert "pass them as U=" in verify(path, oracle, formulation=page_of(squares)).reason
    document = json.loads(path.read_text())
    document["claim"] |= {"status": "bounded", "upper": 1.0}
    assert "claims" in verdict(document, oracle, U=U).reason
    document["proof"]["point"] = content_of("squares")["proof"]["point"]
    assert "no bound on the edges" in verdict(document, oracle, U=U).reason


def test_other_data_are_rejected() -> None:
    document = content_of("squares")
    assert "another class or other examples" in verdict(document, DecisionStumps(X, -Y)).reason
    assert "another class or other examples" in verdict(document, DecisionStumps(2 * X, Y)).reason
    assert not verdict(document, oracle_of(np.arange(1.0, N + 1)))
    assert "pass an oracle" in verdict(document, np.ones((N, 2))).reason
    assert "other multiplicities" in verdict(document, expected={"c": np.arange(1.0, N + 1)}).reason
    reference = np.arange(1.0, N + 1)
    assert "other reference" in verdict(document, expected={"d0": reference / reference.sum()}).reason
    assert "another margin matrix" in verdict(document, U=np.ones((N, document["data"]["t"]))).reason
    assert "hypotheses" in verdict(document, U=np.ones((N, 1 + document["data"]["t"]))).reason


def test_multiplicities_travel(tmp_path: Path) -> None:
    c = np.arange(1.0, N + 1)
    run = boost(page_of(squares), oracle_of(c), nu=9, eta=1.0, epsilon=1e-6)
    run.save_certificate(tmp_path / "class.json", oracle_of(c))
    assert verify(tmp_path / "class.json", oracle_of(c), c=c, formulation=page_of(squares))
    assert not verify(tmp_path / "class.json", oracle_of(), formulation=page_of(squares))


@pytest.mark.thorough
def test_many_slopes_need_few_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sorted norm of 60 examples took more than ten minutes: 744 trials for each point with tangents."""
    n, insets = 40, list[float]()
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(n, 3)), np.where(rng.random(n) > 0.5, 1, -1)
    page = page_of(lambda d: cp.dotsort(cp.abs(d - 1 / n), np.linspace(1.0, 0.0, n)))
    run = boost(page, DecisionStumps(features, labels), nu=10, eta=1.0, epsilon=0.05, max_rounds=4)
    trial = problem_certificate_writer.exact_multipliers

    def counted(*arguments: Any) -> Any:
        if arguments[1].n >= n:
            insets.append(arguments[4])
        return trial(*arguments)

    monkeypatch.setattr(problem_certificate_writer, "exact_multipliers", counted)
    run.save_certificate(tmp_path / "class.json", DecisionStumps(features, labels))
    assert len(insets) <= 80 and set(insets) == {problem_certificate_writer.INSETS[0]}
    verification = verify(tmp_path / "class.json", DecisionStumps(features, labels), formulation=page)
    certificate = run.class_certificate
    assert verification and verification.claimed[0] >= certificate.lower - 1e-6
    assert verification.claimed[1] <= certificate.upper + 1e-6


def test_weights_at_caps_that_are_no_floats_are_proved(tmp_path: Path) -> None:
    oracle, page = (
        GivenMargins(np.where(np.arange(N) < 3, -1.0, 1.0)[:, None]),
        page_of(lambda d: np.arange(N) @ d / 10),
    )
    run = boost(page, oracle, nu=3, eta=1.0, epsilon=1e-6)
    assert run.class_certificate.d is not None and run.class_certificate.d.tolist() == [1 / 3] * 3 + [0.0] * (N - 3)
    run.save_certificate(tmp_path / "class.json", oracle)
    verification = verify(tmp_path / "class.json", oracle, formulation=page)
    assert verification and verification.upper - verification.lower <= 1e-9
    assert verification.lower - 1e-12 <= -0.9 <= verification.upper


def raise_lower(document: dict[str, Any]) -> None:
    document["claim"]["lower"] += 1e-8


def reduce_upper(document: dict[str, Any]) -> None:
    document["claim"]["upper"] -= 1e-8


def rename_value(document: dict[str, Any]) -> None:
    document["claim"]["what"] = "soft margin"


def claim_infeasible(document: dict[str, Any]) -> None:
    document["claim"] |= {"status": "infeasible", "lower": None, "upper": None}


def change_parameter(document: dict[str, Any]) -> None:
    document["formulation"]["parameters"]["eta"] = 2.0


def state_other_functions(document: dict[str, Any]) -> None:
    document["formulation"]["G"] = document["G"]


def scale_edges(document: dict[str, Any]) -> None:
    values = document["G"]["problem"]["objective"]["values"]
    document["G"]["problem"]["objective"]["values"] = [2.0 * value for value in values]


def leave_simplex(document: dict[str, Any]) -> None:
    point = document["proof"]["point"]
    point["numerators"][0] = f"{int(point['numerators'][0], 16) + 1:x}"


def exceed_floats(document: dict[str, Any]) -> None:
    document["proof"]["point"]["numerators"][0] = "f" * 400


def remove_point(document: dict[str, Any]) -> None:
    document["proof"]["point"] = None


def remove_multipliers(document: dict[str, Any]) -> None:
    document["proof"]["multipliers"] = None


def cancel_objective(document: dict[str, Any]) -> None:
    document["proof"]["multipliers"]["objective"] = "0"


def negate_inequality(document: dict[str, Any]) -> None:
    slopes = document["proof"]["multipliers"]["slopes"]
    document["proof"]["multipliers"]["slopes"] = [[f"{-int(value, 16):x}" for value in part] for part in slopes]


def repeat_hypothesis(document: dict[str, Any]) -> None:
    document["data"]["hypotheses"][0] = document["data"]["hypotheses"][-1]


def foreign_hypothesis(document: dict[str, Any]) -> None:
    document["data"]["hypotheses"][0] = {"kind": "perfect"}


def change_kind(document: dict[str, Any]) -> None:
    document["format"] = 2


LIES = {
    lie.__name__: lie
    for lie in (
        raise_lower,
        reduce_upper,
        rename_value,
        claim_infeasible,
        change_parameter,
        state_other_functions,
        scale_edges,
        leave_simplex,
        exceed_floats,
        remove_point,
        remove_multipliers,
        cancel_objective,
        negate_inequality,
        repeat_hypothesis,
        foreign_hypothesis,
        change_kind,
    )
}
"""Changes that make a file false, or its proof incomplete."""


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_rejected_in_words(lie: str) -> None:
    document = content_of("squares")
    LIES[lie](document)
    verification = verdict(document)
    assert not verification and verification.reason and verification.verdict == "none"


def test_constants_of_the_description_are_compared() -> None:
    assert "another F" in verdict(content_of("squares"), page=page_of(lambda d: cp.sum_squares(d - 0.25))).reason


def test_runs_with_functions_that_no_file_states_are_refused_in_words(tmp_path: Path) -> None:
    A = np.eye(N)[:, :2]
    run = boost(page_of(lambda d: cp.sigma_max(cp.diag(d) @ A * np.e)), oracle_of(), nu=3, eta=1.0, epsilon=1e-3)
    run.save_certificate(tmp_path / "class.json", oracle_of())


KINDS = (
    change_number,
    change_proof,
    change_number_of_part,
    change_atom_of_part,
    swap_constraints,
    swap_functions,
    swap_entries,
    claim_more,
)
"""Functions that forge a file."""


def forge(name: str, times: int, seed: int) -> int:
    """Forge so many files of a run and return how many are rejected; AssertionError for a false claim accepted."""
    rng, run = np.random.default_rng(seed), run_of(name)
    rejected = 0
    for k in range(times):
        document = copy.deepcopy(content_of(name))
        KINDS[k % len(KINDS)](document, rng)
        try:
            verification = verdict(document, page=page_of(FUNCTIONS[name]))
        except Rejected:
            rejected += 1
            continue
        rejected += not verification
        lower, upper = verification.claimed
        is_true = lower <= run.class_certificate.upper and run.class_certificate.lower <= upper
        assert not verification or is_true, (name, KINDS[k % len(KINDS)].__name__, document)
    return rejected


def test_no_forgery_is_accepted_unless_true() -> None:
    assert forge("squares", len(KINDS), 0) >= 4


@pytest.mark.thorough
@pytest.mark.parametrize("name", FUNCTIONS)
def test_none_of_many_forgeries_is_accepted_unless_true(name: str) -> None:
    assert forge(name, 160, 1) >= 100
