"""Tests of the interior-point method for geometric programs: its intervals contain known optima, without a solver."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from boostopt import ConicProgram, certify_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.problem_certificates.cone_proofs import cone_form_interval
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, cone_form
from boostopt.problem_certificates.cone_proofs.cone_membership import distances
from boostopt.problem_certificates.cone_proofs.dual_bound import multipliers_of, reduced_costs
from boostopt.problem_certificates.cone_proofs.exponential.geometric_programs import GeometricProgram, geometric_program
from boostopt.verification import verify

INF = np.inf


def program(
    slopes: Any, constants: Any, sums: Any, c: Any, sides: Any, rows: Any = (), limits: Any = ()
) -> ConicProgram:
    """Return min <c, x> over sums <= sides and rows x <= limits.

    Parameters
    ----------
    slopes, constants
        The exponents are slopes x + constants.
    sums
        The coefficients of the exponentials in each sum.
    c, sides, rows, limits
        The other numbers.
    """
    slopes, constants, sums = (np.array(part, dtype=float) for part in (slopes, constants, sums))
    (k, n), unit = slopes.shape, np.eye(len(slopes))
    cones = [
        ConeConstraint(
            "exponential",
            np.stack([np.append(slopes[i], np.zeros(k)), np.zeros(n + k), np.append(np.zeros(n), unit[i])]),
            np.array([constants[i], 1.0, 0.0]),
        )
        for i in range(k)
    ]
    rows = np.array(rows, dtype=float).reshape(-1, n)
    A = np.vstack([np.hstack([np.zeros((len(sums), n)), sums]), np.hstack([rows, np.zeros((len(rows), k))])])
    upper = np.concatenate([np.array(sides, dtype=float), np.array(limits, dtype=float)])
    return ConicProgram(
        A,
        np.append(np.array(c, dtype=float), np.zeros(k)),
        np.full(len(A), -INF),
        upper,
        np.full(n + k, -INF),
        np.full(n + k, INF),
        cones=tuple(cones),
    )


def two_terms(weights: Any = (1.0, 1.0), side: float = 1.0, **changes: Any) -> ConicProgram:
    """Return min z over w_1 exp(y - z) + w_2 exp(-y - z) <= side: z is log(2 sqrt(w_1 w_2) / side)."""
    return program([[1, -1], [-1, -1]], [0, 0], [weights], [0, 1], [side], **changes)


CASES = {
    "two terms": (two_terms(), math.log(2)),
    "weights": (two_terms((2.0, 3.0), 5.0), math.log(2 * math.sqrt(6) / 5)),
    "a row": (two_terms(rows=[[-1, 0]], limits=[-1]), math.log(2 * math.cosh(1))),
    "two sums": (
        program([[1, -1, -1], [-1, -1, -1], [0, 0, 1]], [0, 0, 0], [[1, 1, 0], [0, 0, 4]], [0, 1, 0], [1, 1]),
        math.log(8),
    ),
    "an offset": (replace(two_terms(), offset=-100.0), math.log(2) - 100),
    "a maximum": (replace(two_terms(), is_maximized=True), -math.log(2)),
}
"""Programs with their optima."""


def fail(*arguments: Any) -> Any:
    """Fail instead of a solve."""
    raise AssertionError("expected no solve by Clarabel")


@pytest.mark.parametrize("name", CASES)
def test_intervals_contain_the_optimum_without_a_solve(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cone_form_interval, "solve_form", fail)
    problem, optimum = CASES[name]
    certificate = certify_problem(problem)
    assert certificate.lower <= optimum <= certificate.upper
    assert certificate.scaled_gap < 1e-9
    certificate.save(tmp_path / "certificate.json")
    verification = verify(tmp_path / "certificate.json")
    assert verification.lower <= optimum <= verification.upper


@pytest.mark.parametrize("seed", range(4))
def test_answers_lie_deep_in_the_cones_and_their_costs_are_nearly_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, m = 4, 14, 3
    slopes = rng.integers(-3, 4, size=(k, n)).astype(float)
    slopes[:, 0] = -1.0
    sums = np.zeros((m, k))
    sums[np.arange(k) % m, np.arange(k)] = rng.uniform(0.5, 2.0, size=k)
    box = np.vstack([np.eye(n), -np.eye(n)])
    problem = program(
        slopes, rng.normal(size=k), sums, np.eye(n)[0], rng.uniform(1.0, 3.0, size=m), box, np.full(2 * n, 9.0)
    )
    form = cone_form(problem)
    answer = answer_of(form)
    (group,) = form.groups
    assert (distances(group, group.G @ answer.x + group.h) > 0).all()
    assert (distances(group, answer.cones[0], is_dual=True) > 0).all()
    assert (form.R @ answer.x < form.row_upper).all()
    assert np.abs(reduced_costs(form, multipliers_of(answer))).max() < 1e-13
    value = float(answer.rows @ form.row_upper - answer.cones[0] @ group.h)
    assert -1e-12 <= float(form.c @ answer.x) - value <= 1e-9 * max(1.0, abs(value))


def answer_of(form: ConeForm) -> ConicAnswer:
    """Return the answer to a geometric program."""
    method = geometric_program(form)
    assert method is not None
    answer = method.answer(1e-8)
    assert answer is not None
    return answer


def test_wrong_answers_prove_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken_answer(self: GeometricProgram, goal: float) -> ConicAnswer:
        first = answer(self, goal)
        assert first is not None
        return replace(first, x=first.x - 0.01, cones=[z * 1.01 for z in first.cones])

    answer = GeometricProgram.answer
    monkeypatch.setattr(GeometricProgram, "answer", mistaken_answer)
    certificate = certify_problem(two_terms())
    assert certificate.lower <= math.log(2) <= certificate.upper
    assert certificate.scaled_gap < 1e-7


def with_row_of_both() -> ConicProgram:
    """Return a program with a row of x and t."""
    A = two_terms().A.toarray()
    A[0, 0] = 1.0
    return replace(two_terms(), A=A)


def with_lower_sides() -> ConicProgram:
    """Return a program with a row that is bounded on both sides."""
    return replace(two_terms(), row_lower=np.array([-1.0]))


@pytest.mark.parametrize(
    "problem",
    [
        with_row_of_both(),
        with_lower_sides(),
        replace(two_terms(), lower=np.array([0.0, -INF, -INF, -INF])),
        replace(two_terms(), c=np.array([0.0, 1.0, 1.0, 0.0])),
        two_terms((1.0, -1.0)),
        two_terms(side=-1.0),
        two_terms(rows=[[1, 0]] * 3, limits=[INF, 1, 1]),
    ],
    ids=["x and t", "lower sides", "bounds", "costs of t", "negative", "negative side", "no side"],
)
def test_other_forms_are_left_to_solvers(problem: ConicProgram) -> None:
    form = cone_form(problem)
    method = geometric_program(form)
    assert (method is None) == (len(form.row_upper) != 3)


def test_programs_without_an_optimum_have_no_finite_interval() -> None:
    infeasible = program([[1], [-1]], [0, 0], [[1, 1]], [1], [1.5])
    assert certify_problem(infeasible).status == "infeasible"
    unbounded = program([[1]], [0], [[1]], [1], [1])
    assert certify_problem(unbounded).lower == -INF


def test_constraints_whose_multiplier_must_be_0_need_no_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cone_form_interval, "solve_form", fail)
    slopes = [[1, 1, -1], [-1, -1, -1]]  # x_0 + x_1 = 0 for the best points, and x_0 has no further cost
    problem = program(slopes, [0, 0], [[1, 1]], [0, 0, 1], [1], [[2, 0, 0]], [-0.7])
    certificate = certify_problem(problem)
    assert certificate.lower <= math.log(2) <= certificate.upper
    assert certificate.scaled_gap < 1e-9


def test_a_cone_with_a_constant_row_and_an_exact_start_are_certified() -> None:
    """exp(x) <= 1, without a variable t; and a program whose residuals are exactly 0."""
    rows = [[1.0], [0.0], [0.0]]
    cone = ConeConstraint("exponential", scipy.sparse.csr_array(rows), np.array([0.0, 1.0, 1.0]))
    no_sides, infinity = np.zeros(0), np.full(1, np.inf)
    A, c = scipy.sparse.csc_array((0, 1)), np.array([-1.0])
    certificate = certify_problem(ConicProgram(A, c, no_sides, no_sides, -infinity, infinity, cones=(cone,)))
    assert certificate.lower <= 0.0 <= certificate.upper and certificate.gap <= 1e-8
    rows = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    cone = ConeConstraint("exponential", scipy.sparse.csr_array(rows), np.array([-1.0, 1.0, 0.0]))
    row, costs, infinities = scipy.sparse.csc_array([[0.0, 0.125]]), np.array([-0.25, 0.0]), np.full(2, np.inf)
    sides = -infinity, np.array([0.125])
    certificate = certify_problem(ConicProgram(row, costs, *sides, -infinities, infinities, cones=(cone,)))
    assert certificate.lower <= -0.25 <= certificate.upper and certificate.gap <= 1e-8
