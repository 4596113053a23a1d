"""Intervals that are proved: in rationals and in ball arithmetic."""

from __future__ import annotations

import importlib.util
import json
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from false_claims import judge_false_claims
from support.certificate_files import CASES, document, judged, program, text
from support.problems import REFERENCE_D0, REFERENCE_ETA, REFERENCE_NU, REFERENCE_U, noisy_stumps, reference_lpboost

from boostopt import OptionError, ProblemError, get_formulation
from boostopt.authoring import CappedSimplex, CappedSimplexIndicator, Formulation, edge_formula, formula, prototype
from boostopt.verification import save, verify
from boostopt.verification.trusted_kernel.certificate_schema import read_document
from boostopt.verification.trusted_kernel.exact_numbers import ArbBalls, Rationals, exact_number_type
from boostopt.verification.trusted_kernel.number_types import Ball, FloatBalls

SECONDS = 10.0
"""Seconds that a proof at N = 200, t = 10 may take."""


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("lpboost", {"nu": 60}),
        ("qp_reg_adaboost", {"C": 0.5}),
        ("erlpboost", {"nu": 20, "eta": 100}),
        ("binary_erlpboost", {"nu": 20, "eta": 100}),
        ("softboost", {"nu": 20, "gamma": -0.3}),
    ],
)
def test_intervals_of_two_hundred_examples_are_proved(name: str, numbers: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    bound = get_formulation(name).bind(noisy_stumps(200, 10), **numbers)
    solution = bound.solve(tol=1e-8)
    save(solution, path)
    started = time.process_time()
    verification = verify(path, bound, exact=True)
    assert time.process_time() - started <= SECONDS
    assert verification.verdict == "proved" and "exact" in verification.reason
    assert (verification.outcome == "infeasible") == (name == "softboost")
    if name != "softboost":
        assert verification.upper - verification.lower <= solution.certificate.gap


def test_the_optimum_of_a_linear_program_is_known_as_a_fraction(tmp_path: Path) -> None:
    """The reference instance has 1/265 for its optimum."""
    path = tmp_path / "certificate.json"
    save(reference_lpboost().solve("highs", tol=1e-12), path)
    proved = verify(path, REFERENCE_U, exact=True)
    assert proved.verdict == "proved"
    assert Fraction(proved.lower) <= Fraction(1, 265) <= Fraction(proved.upper)
    assert proved.upper - proved.lower < 1e-15
    lower, upper = proved.fractions
    assert lower is not None and upper is not None
    assert proved.lower <= lower <= Fraction(1, 265) <= upper <= proved.upper
    assert Fraction(proved.lower) != lower or Fraction(proved.upper) != upper


def test_the_ends_as_fractions_are_the_formulas_in_fractions_and_floats_have_none(tmp_path: Path) -> None:
    """By hand: nu = 2, so that half of each of two weights is the cap, and F and F* are 0 and a mean."""
    U, path = np.array([[1.0, -1.0], [-1.0, 1.0], [0.5, 0.5]]), tmp_path / "certificate.json"
    bound = get_formulation("lpboost").bind(U, nu=2)
    save((bound, bound.certify(np.array([0.5, 0.5, 0.0]), np.array([0.75, 0.25]))), path)
    assert verify(path, U, exact=True).fractions == (Fraction(0), Fraction(0))
    save((bound, bound.certify(np.array([0.5, 0.25, 0.25]), np.array([0.75, 0.25]))), path)
    assert verify(path, U, exact=True).fractions == (Fraction(0), Fraction(3, 8))
    assert verify(path, U).fractions == (None, None)
    assert judged(document("entropy"), "entropy", tmp_path, exact=True).fractions == (None, None)


def test_the_reference_optimum_of_an_entropy_is_proved(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    page = get_formulation("erlpboost")
    bound = page.bind(REFERENCE_U, nu=REFERENCE_NU, eta=REFERENCE_ETA, d0=REFERENCE_D0)
    save(bound.solve("interior", tol=1e-12), path)
    proved = verify(path, REFERENCE_U, d0=REFERENCE_D0, exact=True)
    assert proved.lower <= 0.0924628832 + 5e-11 and proved.upper >= 0.0924628832 - 5e-11
    assert 0 <= proved.upper - proved.lower < 1e-11


@pytest.mark.parametrize("case", CASES)
def test_every_family_is_proved_within_what_floats_say(case: str, tmp_path: Path) -> None:
    rough = judged(document(case), case, tmp_path)
    fine = judged(document(case), case, tmp_path, exact=True)
    assert fine.verdict == "proved" and rough.verdict == "bounded"
    if case != "infeasible":
        assert rough.lower <= fine.lower <= fine.upper <= rough.upper


@pytest.mark.parametrize(
    ("name", "numbers", "substitution"),
    [
        ("lp_reg_adaboost", {"C": 0.9}, " nu = 1.1111111111111112,"),
        ("norm_ball", {"r": 0.8, "p": np.inf}, " nu = 1.25,"),
        ("ata", {"phi": 0.15}, " rho = 0.7,"),
        ("lpboost", {"nu": 1.5}, ""),
    ],
)
def test_exact_verification_names_parameters_computed_in_floats(
    name: str, numbers: dict[str, Any], substitution: str, tmp_path: Path
) -> None:
    """1 / 0.9 is no float: the proof is about the float next to it."""
    path = tmp_path / "certificate.json"
    program = get_formulation(name).bind(np.array([[-0.1], [0.9]]), **numbers)
    save(program.solve(tol=1e-9), path)
    reason = verify(path, program, exact=True).reason
    assert "exact" in reason and substitution in reason
    assert ("computed" in reason) == bool(substitution)
    assert "computed" not in verify(path, program).reason.replace("recomputed", "")


def test_linear_and_quadratic_programs_need_rationals_only(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    for case in CASES:
        path.write_text(text(case))
        rational = case in ("cap", "hinge", "squares", "infeasible")
        assert isinstance(exact_number_type(read_document(path)), Rationals if rational else ArbBalls)


@pytest.mark.thorough
def test_false_claims_are_never_proved(tmp_path: Path) -> None:
    counts = judge_false_claims(66, 1, tmp_path)
    assert sum(counts.values()) == 66 and counts["claims"] > 30


def test_exact_verification_without_flint_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(OptionError, match=r"\bpip\b.*\bpython-flint\b"):
        judged(document("entropy"), "entropy", tmp_path, exact=True)
    assert judged(document("cap"), "cap", tmp_path, exact=True).verdict == "proved"


def test_ends_are_rounded_outward() -> None:
    A = Rationals()
    third = A.to_number(1.0) / A.to_number(3.0)
    assert Fraction(A.lower(third)) < Fraction(1, 3) < Fraction(A.upper(third))
    assert A.lower(A.to_number(0.5)) == 0.5 == A.upper(A.to_number(0.5))
    assert A.lower(Fraction(10) ** 400) > 1e308 and A.lower(-(Fraction(10) ** 400)) == -np.inf
    balls = ArbBalls()
    with balls.precision_context():
        third = balls.to_number(1.0) / balls.to_number(3.0)
        assert Fraction(balls.lower(third)) < Fraction(1, 3) < Fraction(balls.upper(third))


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_the_three_number_types_agree(p: float) -> None:
    from boostopt.verification.trusted_kernel.conjugates import power, x_log_x_over_y

    rng = np.random.default_rng(0)
    x, y = rng.random(20), rng.random(20)
    x[0] = 0.0
    rough, fine = FloatBalls(), ArbBalls()
    with fine.precision_context():
        for function in (
            lambda A: x_log_x_over_y(A, A.to_vector(x), A.to_vector(y)),
            lambda A: power(A, A.to_vector(x), A.to_number(p)),
        ):
            a, b = function(rough), function(fine)
            assert (rough.lower(a) <= fine.lower(b)).all() and (fine.upper(b) <= rough.upper(a)).all()
            assert np.allclose(fine.lower(b), fine.upper(b), rtol=1e-14, atol=1e-15)
    assert program("cap").margins.t == 4


def test_the_range_of_x_log_x_over_y_holds_for_wide_intervals() -> None:
    """The extremes lie at the largest x and at the ends of y, or at x = y / e, if x may be 0."""
    from boostopt.verification.trusted_kernel.conjugates import x_log_x_over_y

    A, smallest = FloatBalls(), 2.0**-20
    with np.errstate(all="ignore"):
        ball = x_log_x_over_y(A, Ball(np.ones(1), np.ones(1)), Ball(np.ones(1), np.array([1.0 - smallest])))
    x, y = np.linspace(0.001, 2.0, 60), np.geomspace(smallest, 2.0 - smallest, 60)[:, np.newaxis]
    values = x * np.log(x / y)
    assert A.lower(ball) <= values.min() < -0.7 and 29.0 < values.max() <= A.upper(ball)


def edge_page(text: str, **numbers: float) -> Formulation[Any]:
    """The page of a cap and a formula of the edges."""
    return prototype(
        "of edges",
        lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, 2.0)),
        lambda p: edge_formula(text, **numbers),
    )


U_OF_EDGES = np.array([[1.0, -1.0], [-0.5, 1.0], [0.25, -0.25]])


@pytest.mark.parametrize(
    ("text", "numbers", "rational"),
    [
        ("exp(a*e)/a", {"a": 2.0}, False),
        ("(e + 2)**1.5", {}, False),
        ("e**2/3 + e/7", {}, False),
        ("e**2", {}, True),
        ("huber(e, 0.25)", {}, True),
    ],
)
def test_formulas_of_edges_are_proved_in_balls_where_they_have_no_rational_value(
    text: str, numbers: dict[str, float], rational: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, path = edge_page(text, **numbers), tmp_path / "certificate.json"
    save(page.bind(U_OF_EDGES).solve(), path)
    rough = verify(path, U_OF_EDGES, formulation=page)
    proved = verify(path, U_OF_EDGES, formulation=page, exact=True)
    assert proved.verdict == "proved" and rough.lower <= proved.lower <= proved.upper <= rough.upper
    assert (proved.fractions != (None, None)) == rational
    false = json.loads(path.read_text())
    false["claim"]["lower"] = proved.lower + 1e-9
    (tmp_path / "false.json").write_text(json.dumps(false))
    assert not verify(tmp_path / "false.json", U_OF_EDGES, formulation=page, exact=True)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType]
    if rational:
        assert verify(path, U_OF_EDGES, formulation=page, exact=True).verdict == "proved"
    else:
        with pytest.raises(OptionError, match=r"\bpip\b.*\bpython-flint\b"):
            verify(path, U_OF_EDGES, formulation=page, exact=True)


def test_exact_verification_of_an_undecided_ball_is_no_rejection(tmp_path: Path) -> None:
    """The float next to 1 / sqrt(3) may be too small for any distribution to lie in the ball."""
    path = tmp_path / "certificate.json"
    save(get_formulation("norm_ball").bind(U_OF_EDGES, r=3.0**-0.5).solve(), path)
    assert verify(path, U_OF_EDGES)
    with pytest.raises(OptionError, match="exact"):
        verify(path, U_OF_EDGES, exact=True)
    false = json.loads(path.read_text())
    false["claim"]["upper"] -= 0.1
    path.write_text(json.dumps(false))
    assert not verify(path, U_OF_EDGES, exact=True)


def test_save_of_numbers_too_large_for_a_file_reports_no_bug(tmp_path: Path) -> None:
    """A reference weight of 1e-300 makes F, and so beta, larger than 1e250."""
    d0 = np.array([2e-300, 0.5, 0.25, 0.25])
    page = prototype(
        "steep", lambda p, examples: formula("(d - 0.5)**2/d0", CappedSimplex(examples.c, 2.0), examples.d0)
    )
    solution = page.bind(np.array([[1.0, -1.0], [-0.5, 1.0], [0.25, -0.25], [1.0, 1.0]]), d0=d0).solve()
    with pytest.raises(ProblemError, match=r"\blimits\b.*\blarge\b") as raised:
        save(solution, tmp_path / "certificate.json")
    assert "bug" not in str(raised.value)
