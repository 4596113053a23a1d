"""Linear programs whose optimum is planted in whole numbers, attained at one point or along a face."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from convex_problems import cp

from boostopt import ConicProgram, ProblemCertificate, assert_certified, certify_problem, explain_problem, verify
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.minorants.exact_linear_optimum import exact_linear_interval, linear_program
from boostopt.problem_certificates.minorants.single_unknown_rows import bounds_with_rows, implied_rows
from boostopt.problem_certificates.problem_reader import read_problem

LIES = {
    "negated": lambda dual, rng: -dual,
    "zero": lambda dual, rng: np.zeros_like(dual),
    "noise": lambda dual, rng: dual + rng.normal(size=dual.shape),
    "small noise": lambda dual, rng: dual + 1e-9 * rng.normal(size=dual.shape),
    "another order": lambda dual, rng: rng.permutation(dual),
    "nan": lambda dual, rng: np.full_like(dual, np.nan),
}


def planted_program(m: int, n: int, statement: str, zeros: float, seed: int = 0) -> tuple[Any, Fraction]:
    """A sparse linear program in standard form, and its optimum.

    A fraction `zeros` of the unknowns is 0 at a planted optimum. Of the others the slopes are 0: with fewer zeros than
    n - m, the multipliers fit exactly or not at all. The statement has bounds as attributes, as rows, or as ranges.
    """
    rng = np.random.default_rng(seed)
    A: Any = scipy.sparse.csr_array(np.where(rng.random((m, n)) < 0.1, rng.integers(-6, 7, (m, n)), 0).astype(float))
    planted = np.where(rng.random(n) < zeros, 0.0, rng.integers(1, 4, n))
    multipliers = rng.integers(-3, 4, m).astype(float)
    c = A.T @ multipliers + np.where(planted > 0, 0.0, rng.integers(1, 8, n) / 8)
    x, sides = cp.Variable(n, nonneg=statement == "attribute"), A @ planted
    constraints = [] if statement == "attribute" else [x >= 0]
    if statement == "ranges":  # a multiplier above 0 belongs to the lower side
        upper_slack, lower_slack = np.maximum(-np.sign(multipliers), 0.0), np.maximum(np.sign(multipliers), 0.0)
        constraints += [A @ x <= sides + 1 - upper_slack, A @ x >= sides - 1 + lower_slack]
    else:
        constraints.append(A @ x == sides)
    return cp.Problem(cp.Minimize(c @ x), constraints), Fraction(float(c @ planted))


def certify(problem: Any, **options: Any) -> ProblemCertificate:
    with warnings.catch_warnings(action="ignore"):
        return certify_problem(problem, **options)


def contains(certificate: ProblemCertificate, optimum: Fraction) -> bool:
    """Return whether the interval contains a fraction, exactly."""
    lower, upper = certificate.lower, certificate.upper
    return (lower == -math.inf or Fraction(lower) <= optimum) and (upper == math.inf or optimum <= Fraction(upper))


@pytest.mark.parametrize("statement", ["attribute", "rows", "ranges"])
@pytest.mark.parametrize("zeros", [0.8, 0.4])
@pytest.mark.parametrize("m", [15, *(pytest.param(m, marks=pytest.mark.thorough) for m in (100, 150))])
def test_planted_optima_have_both_ends_however_many_points_attain_them(m: int, zeros: float, statement: str) -> None:
    problem, optimum = planted_program(m, 3 * m, statement, zeros)
    problem.solve("CLARABEL")
    certificate = certify(problem)
    assert contains(certificate, optimum)
    assert certificate.lower >= float(optimum) - 1e-5 * max(1.0, abs(float(optimum)))
    assert certificate.scaled_gap <= 1e-4


@pytest.mark.every(40)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("statement", ["attribute", "rows", "ranges"])
@pytest.mark.parametrize("zeros", [0.8, 0.4])
@pytest.mark.parametrize("lie", LIES)
def test_lies_about_the_multipliers_prove_nothing_above_the_optimum(
    lie: str, zeros: float, statement: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    problem, optimum = planted_program(25, 75, statement, zeros, seed)
    problem.solve("CLARABEL")
    for constraint in problem.constraints:
        for variable in constraint.dual_variables:
            variable.save_value(LIES[lie](np.asarray(variable.value, dtype=float), rng))
    certificate = certify(problem)
    assert contains(certificate, optimum)
    assert certificate.lower > -math.inf


@pytest.mark.thorough
def test_rows_of_one_unknown_prove_as_much_as_attributes() -> None:
    ends = list[float]()
    for statement in ("attribute", "rows"):
        problem, _ = planted_program(150, 450, statement, 0.8)
        problem.solve("SCS", eps=1e-5)
        ends.append(certify(problem).lower)
    assert ends[1] >= ends[0] - 1e-4 * abs(ends[0])


def test_rows_are_left_to_the_box_only_where_it_has_their_bounds() -> None:
    x = cp.Variable(3)
    weights = np.array([1.0, 2.0, -4.0])
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.multiply(weights, x) <= 8, x[0] + x[1] >= -1, cp.abs(x[2]) <= 3])
    read = read_problem(problem)
    low, high = np.full(3, -np.inf), np.array([8.0, 4.0, np.inf])
    assert implied_rows(read, low, high)[:3].tolist() == [True, True, False]
    assert implied_rows(read, np.array([-9.0, -9, -2]), high - 1e-9).tolist() == [True, True, True, False, False]
    assert implied_rows(read, low, high + 1e-9).tolist() == [False] * 5
    box = Propagation(read, math.inf)
    box.run()
    assert implied_rows(read, *box.box)[:3].all()


def test_rows_of_a_single_unknown_bound_points_inside_them() -> None:
    """Also where -b / a is no float: 3 x <= 1 holds at the bound. Rows that leave nothing bound nothing."""
    x = cp.Variable(4)
    rows = [3 * x[0] <= 1, -7 * x[0] <= 1, 2 * x[1] <= 1, x[1] <= 4, x[2] + x[1] <= 1, x[3] <= 1, x[3] >= 2]
    low, high = bounds_with_rows(read_problem(cp.Problem(cp.Minimize(cp.sum(x)), rows)))
    assert high[0] == pytest.approx(1 / 3) and Fraction(float(high[0])) < Fraction(1, 3)
    assert low[0] == pytest.approx(-1 / 7) and Fraction(float(low[0])) > Fraction(-1, 7)
    assert high[1:].tolist() == [0.5, math.inf, math.inf] and low[1:].tolist() == [-math.inf] * 3


@pytest.mark.parametrize("is_attribute", [True, False])
def test_a_point_just_outside_bounds_and_domains_costs_what_it_is_outside(is_attribute: bool) -> None:
    """Bounds are rows, attributes or ends of domains. Without the clip, the way to the interior costs much more."""
    d = cp.Variable(6, nonneg=is_attribute)
    rows = [cp.sum(d) == 1, *([] if is_attribute else [d >= 0]), d <= 0.5]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(np.arange(6.0), d))), rows)
    problem.solve("CLARABEL")
    d.save_value(np.array([0.5 + 2e-7, 0.5 - 1e-7, -1e-7, 0, 0, 0]))
    assert certify(problem).upper <= 0.5 + 2e-7
    x = cp.Variable(2)
    entropies = cp.Problem(cp.Minimize(x[0] - 8 * x[1] - cp.sum(cp.entr(x)) - cp.sum(cp.entr(1 - x)) / 1e3))
    entropies.solve("CLARABEL")
    x.save_value(np.array([x.value[0], 1 + 1e-9]))
    certificate = certify(entropies)
    assert certificate.point is not None and certificate.point[x][1] == 1


@pytest.mark.thorough
@pytest.mark.parametrize("statement", ["attribute", "rows"])
def test_a_degenerate_vertex_costs_the_same_with_bounds_as_attributes_and_as_rows(statement: str) -> None:
    """Of 900 unknowns, 90 are positive at the optimum: these cannot satisfy 300 equalities without the others."""
    problem, optimum = planted_program(300, 900, statement, 0.9)
    problem.solve("CLARABEL")
    certificate = certify(problem)
    assert contains(certificate, optimum)
    assert certificate.scaled_gap <= 1e-8


@pytest.mark.thorough
@pytest.mark.parametrize("statement", ["attribute", "rows"])
@pytest.mark.parametrize("m", [20, 60])
def test_lower_ends_at_a_face_of_optima_travel_in_a_file(m: int, statement: str, tmp_path: Path) -> None:
    problem, optimum = planted_program(m, 3 * m, statement, 0.3)
    problem.solve("CLARABEL")
    certificate = certify(problem)
    path = tmp_path / "certificate.json"
    certificate.save(path)
    assert verify(path)
    assert contains(certificate, optimum)
    assert certificate.lower == pytest.approx(float(optimum), rel=1e-6)


def test_a_linear_program_is_read_from_exact_numbers_only() -> None:
    problem, optimum = planted_program(20, 60, "ranges", 0.4)
    read = read_problem(problem)
    program, result = linear_program(read), exact_linear_interval(read)
    assert program is not None and program.shape == (100, 60)
    assert result is not None and Fraction(result[0].lower) == optimum == Fraction(result[0].upper)
    x = cp.Variable(2)
    for constraint in (x <= cp.exp(1.0), cp.sum_squares(x) <= 1, cp.diag(x) >> 0):
        assert linear_program(read_problem(cp.Problem(cp.Minimize(cp.sum(x)), [constraint]))) is None


def test_a_linear_program_without_a_feasible_point_or_an_optimum_has_no_exact_interval() -> None:
    x = cp.Variable(2)
    assert exact_linear_interval(read_problem(cp.Problem(cp.Minimize(x[0]), [x[0] + x[1] <= 1]))) is None
    assert certify(cp.Problem(cp.Minimize(x[0]), [x[0] + x[1] <= 1, x >= 3]), solver="CLARABEL").status == "infeasible"


@pytest.mark.parametrize("n_steps", [300, pytest.param(1000, marks=pytest.mark.thorough)])
def test_a_control_problem_of_many_steps_needs_no_dense_basis(n_steps: int) -> None:
    """Its data are few, its equations many: two states and a control a step."""
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])
    x, u = cp.Variable((n_steps + 1, 2)), cp.Variable((n_steps, 1))
    dynamics = [x[0] == [1.0, 0.0], x[1:] == x[:-1] @ A.T + u @ B.T]
    cost = cp.sum_squares(x) + 0.1 * cp.sum_squares(u)
    problem = cp.Problem(cp.Minimize(cost), [*dynamics, cp.abs(u) <= 0.5])
    problem.solve("CLARABEL")
    read = read_problem(problem)
    certificate = certify(problem)
    assert read.is_large
    assert certificate.scaled_gap <= 1e-7
    assert certificate.lower <= 15.87397691583 and certificate.upper >= 15.87397691330


def test_a_contradiction_that_the_basis_of_a_solver_proves_is_infeasible(tmp_path: Path) -> None:
    """The rows contradict each other by about 1e-10, so that solvers call the problem optimal."""
    A = np.array(
        [
            [-4.0, -8.0, -4.0],
            [-4.0, -3.0, 1.0],
            [0.0, -3.0, -6.0],
            [5.500000000000001, 9.875, 5.125],
            [2.0, 1.0, 2.0],
            [-1.0, -2.0, 0.0],
        ]
    )
    x = cp.Variable(3)
    x.value = np.zeros(3)
    objective = np.array([2.499999999999999, 4.125, 3.875]) @ x
    problem = cp.Problem(cp.Minimize(objective), [np.array([0.0, 0.0, 0.0, -1e-10, 1.0, 1.0]) >= A @ x])
    certificate = certify_problem(problem)
    assert (certificate.status, certificate.lower, certificate.reasons) == ("infeasible", math.inf, ())
    with pytest.raises(AssertionError, match="infeasible"):
        assert_certified(problem)
    certificate.save(tmp_path / "infeasible.json")
    assert verify(tmp_path / "infeasible.json")


@pytest.mark.parametrize(("entry", "cost", "side"), [(1e-200, 1e150, 1e-300), (1e-300, 1e-300, 1e300)])
def test_an_optimum_beyond_the_range_of_floats_is_explained_by_an_answer(
    entry: float, cost: float, side: float
) -> None:
    program = ConicProgram(
        A=scipy.sparse.csc_array([[entry]]),
        c=np.array([cost]),
        row_lower=np.array([side]),
        row_upper=np.array([math.inf]),
        lower=np.array([-math.inf]),
        upper=np.array([math.inf]),
    )
    interval = certify_problem(program)
    assert interval.lower <= float(Fraction(cost) * Fraction(side) / Fraction(entry)) <= interval.upper
    assert explain_problem(program).conditions
