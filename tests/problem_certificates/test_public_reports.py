"""Public reports of wrong answers of solvers, and what is true of each problem, whatever a solver says today."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from convex_problems import cp
from cvxpy.reductions.dgp2dcp.dgp2dcp import Dgp2Dcp

from boostopt import ProblemCertificate, certify_problem


def certificates(problem: Any, *solvers: str) -> list[ProblemCertificate]:
    """Certify the answers of solvers, whatever they are."""
    result = list[ProblemCertificate]()
    for solver in solvers:
        try:
            with warnings.catch_warnings(action="ignore"):
                problem.solve(solver)
        except cp.SolverError:
            continue
        result.append(certify_problem(problem))
    assert result
    return result


def assert_optimum(problem: Any, optimum: float, *solvers: str, gap: float = 1e-6) -> None:
    """The optimum lies in all intervals, and one of them is narrow."""
    intervals = certificates(problem, *solvers)
    slack = 1e-7 * max(1.0, abs(optimum))
    assert all(each.lower <= optimum + slack and each.upper >= optimum - slack for each in intervals)
    assert min(each.scaled_gap for each in intervals) <= gap


def test_cvxpy_1489_a_bounded_quadratic_program_called_unbounded() -> None:
    targets = np.array([4.0, 2, -2, 3, 3, 7, 3, 11, 10, 14])
    x = cp.Variable(10)
    objective = (0.5 * cp.quad_form(x, np.diag(np.arange(10) + 1.0)) - targets @ x) / 200000
    problem = cp.Problem(cp.Minimize(objective), [x[i] <= x[i + 1] for i in range(9)])
    assert_optimum(problem, -1.4975e-4, "OSQP", "SCS", "CLARABEL")
    assert all(each.lower > -np.inf for each in certificates(problem, "OSQP"))


def test_cvxpy_1349_an_infeasible_geometric_program_called_unbounded() -> None:
    mu, a, b = cp.Variable(2, pos=True), cp.Variable((1, 2), pos=True), cp.Variable(1, pos=True)
    mean = (a[0, 0] / 0.5000000000000001) ** 0.5 * (a[0, 1] / 0.4999999999999999) ** 0.5
    limits = [a[0, 0] <= 50.0, a[0, 1] <= 50.0, b[0] <= mean, 200.0 <= b[0]]
    problem = cp.Problem(cp.Minimize(mu[0] * 0.48304589822553434 + mu[1] * 0.6666666666666666), limits)
    logarithmic, _ = Dgp2Dcp(problem).apply(problem)
    assert all(each.status == "infeasible" for each in certificates(logarithmic, "SCS", "CLARABEL"))


def test_scs_14_an_infeasible_linear_program_called_unbounded() -> None:
    x, y = cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize(-x - y), [x >= 0, x <= -1])
    assert all(each.status == "infeasible" for each in certificates(problem, "SCS", "CLARABEL"))


@pytest.mark.parametrize("is_square", [False, True])
def test_cvxpy_1475_two_solvers_with_two_values(is_square: bool) -> None:
    t = np.arange(100)
    y, X, beta = 10 * np.sin(t * 0.1) + 20, np.vstack((np.ones(100), t)).T, cp.Variable(2)
    objective = cp.sum_squares(X @ beta - y) if is_square else cp.norm2(X @ beta - y) ** 2
    problem = cp.Problem(cp.Minimize(objective), [X @ beta >= y])
    assert_optimum(problem, 11015.6216, "SCS", "CLARABEL", gap=1e-3)


def test_cvxpy_681_least_squares_in_small_units() -> None:
    rng = np.random.default_rng(1)
    A, b, x = 1e-5 * rng.normal(size=(20, 20)), 1e-5 * rng.normal(size=20), cp.Variable(20)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b)))
    first, second = certificates(problem, "OSQP", "CLARABEL")
    assert first.lower <= 0 <= first.upper + 1e-20 and second.upper <= 1e-20


def test_cvxpy_216_a_feasible_linear_program_called_infeasible() -> None:
    h, c, r = np.array([0.8, 0.4, 0.5]), np.array([0, 0.3, 2.0]), np.array([1, 2.1, 1.7])
    x = cp.Variable(2)
    limits = [x @ np.array([1, 0.25]) <= 130, h * x[0] + c * x[1] >= 50 * r, x >= 0]
    problem = cp.Problem(cp.Minimize(0), limits)
    assert all(each.upper == 0 and each.point is not None for each in certificates(problem, "SCS", "CLARABEL"))


def test_cvxpy_2610_a_cone_on_which_solvers_contradict_each_other() -> None:
    x = cp.Variable(2)
    shift = np.array([0.0, 0.5986520274656673]) - np.array([0.0, 1.2438926041619276])
    problem = cp.Problem(cp.Minimize(0), [cp.SOC(cp.Constant(0.1), np.eye(2) @ x + shift)])
    assert all(each.upper == 0 for each in certificates(problem, "SCS", "CLARABEL"))


def test_osqp_255_bounds_that_contradict_each_other_by_little() -> None:
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x <= 0, x >= 1e-4])
    assert all(each.status == "infeasible" for each in certificates(problem, "OSQP", "SCS", "CLARABEL"))


def test_scs_80_a_violated_constraint() -> None:
    first, second = cp.Variable(3), cp.Variable(3)
    Q, b, c = np.diag([4 / 9, 4, 1 / 4]), np.array([16 / 9, 16, 1]), 169 / 9
    E = cp.bmat([[1, second[0], second[1]], [second[0], 1, 0.5], [second[1], 0.5, 1]])
    limits = [cp.quad_form(first, Q) + first @ b + c <= 1, cp.lambda_min(E) >= 0, second[2] <= 1, second[2] >= 0]
    problem = cp.Problem(cp.Minimize(cp.norm(first - second)), limits)
    assert_optimum(problem, 1.087627, "SCS", "CLARABEL")


def test_cvxpy_1085_a_value_that_differs_from_that_at_the_answer() -> None:
    rng = np.random.default_rng(0)
    N, M = 60, 20
    gains, L, scales, q = rng.normal(size=N), rng.normal(size=(N, M)), rng.random(N), rng.normal(size=N)
    scales[: N // 2] *= 0.1
    scales[N // 2 :] *= 10
    v = cp.Variable(N)
    risk = 0.5 * cp.sum_squares(L.T @ v) + 0.5 * cp.sum_squares(cp.multiply(scales, v)) + 0.5 * cp.sum_squares(v - q)
    problem = cp.Problem(cp.Minimize(risk - v @ gains), [v <= 1, -v <= 1, cp.norm(v, 1) <= 10])
    first, second = certificates(problem, "SCS", "CLARABEL")
    assert second.scaled_gap <= 1e-6 and first.lower <= second.upper and second.lower <= first.upper


def test_cvxpy_513_a_quadratic_form_of_one_number() -> None:
    x, column = cp.Variable((2, 1)), np.array([[1.0], [1.0]])
    problem = cp.Problem(cp.Minimize(-(column.T @ x) + cp.quad_form(column.T @ x, np.array([[1.0]]))))
    intervals = certificates(problem, "OSQP", "CLARABEL")
    assert all(each.lower <= -0.25 <= each.upper for each in intervals)
    assert all(each.upper == pytest.approx(-0.25) for each in intervals)


def test_cvxpy_2362_psd_wrap_of_an_indefinite_matrix() -> None:
    M, x = np.array([[1.0, 0, 2], [0, 2, 0], [2, 0, 1]]), cp.Variable(3)  # eigenvalues -1, 2, 3
    form = cp.quad_form(x, cp.psd_wrap(M))
    problem = cp.Problem(cp.Minimize(-cp.sum(x)), [form <= 4, x >= -2, x <= 2])
    x.value = np.array([2.0, 1.0, -1.0])
    certificate = certify_problem(problem)
    # The point (2, 2, -2) + (0, 0, t) and others: a fine grid bounds the optimum from above.
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 21)] * 3), axis=-1).reshape(-1, 3)
    feasible = grid[np.einsum("ni,ij,nj->n", grid, M, grid) <= 4]
    assert certificate.lower <= -feasible.sum(axis=1).max()
