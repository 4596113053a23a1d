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
    """Check that the optimum lies in all intervals, and that one of them is narrow."""
    intervals = certificates(problem, *solvers)
    slack = 1e-7 * max(1.0, abs(optimum))
    assert all(interval.lower <= optimum + slack and interval.upper >= optimum - slack for interval in intervals)
    assert min(interval.scaled_gap for interval in intervals) <= gap


def test_cvxpy_1489_a_bounded_quadratic_program_called_unbounded() -> None:
    targets = np.array([4.0, 2, -2, 3, 3, 7, 3, 11, 10, 14])
    x = cp.Variable(10)
    objective = (0.5 * cp.quad_form(x, np.diag(np.arange(10) + 1.0)) - targets @ x) / 200000
    problem = cp.Problem(cp.Minimize(objective), [x[i] <= x[i + 1] for i in range(9)])
    assert_optimum(problem, -1.4975e-4, "OSQP", "SCS", "CLARABEL")
    assert all(certificate.lower > -np.inf for certificate in certificates(problem, "OSQP"))


def test_cvxpy_1349_an_infeasible_geometric_program_called_unbounded() -> None:
    mu, a, b = cp.Variable(2, pos=True), cp.Variable((1, 2), pos=True), cp.Variable(1, pos=True)
    mean = (a[0, 0] / 0.5000000000000001) ** 0.5 * (a[0, 1] / 0.4999999999999999) ** 0.5
    limits = [a[0, 0] <= 50.0, a[0, 1] <= 50.0, b[0] <= mean, 200.0 <= b[0]]
    problem = cp.Problem(cp.Minimize(mu[0] * 0.48304589822553434 + mu[1] * 0.6666666666666666), limits)
    logarithmic, _ = Dgp2Dcp(problem).apply(problem)
    assert all(certificate.status == "infeasible" for certificate in certificates(logarithmic, "SCS", "CLARABEL"))


def test_scs_14_an_infeasible_linear_program_called_unbounded() -> None:
    x, y = cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize(-x - y), [x >= 0, x <= -1])
    assert all(certificate.status == "infeasible" for certificate in certificates(problem, "SCS", "CLARABEL"))


@pytest.mark.thorough_cases("False")
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
    assert all(
        certificate.upper == 0 and certificate.point is not None
        for certificate in certificates(problem, "SCS", "CLARABEL")
    )


def test_cvxpy_2610_a_cone_on_which_solvers_contradict_each_other() -> None:
    x = cp.Variable(2)
    shift = np.array([0.0, 0.5986520274656673]) - np.array([0.0, 1.2438926041619276])
    problem = cp.Problem(cp.Minimize(0), [cp.SOC(cp.Constant(0.1), np.eye(2) @ x + shift)])
    assert all(certificate.upper == 0 for certificate in certificates(problem, "SCS", "CLARABEL"))


def test_osqp_255_bounds_that_contradict_each_other_by_little() -> None:
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x <= 0, x >= 1e-4])
    assert all(certificate.status == "infeasible" for certificate in certificates(problem, "OSQP", "SCS", "CLARABEL"))


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
    assert_optimum(problem, -0.25, "OSQP", "CLARABEL")
    assert all(certificate.scaled_gap <= 1e-9 for certificate in certificates(problem, "OSQP", "CLARABEL"))


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


def test_cvxpy_2554_a_quadratic_program_in_large_units_with_two_values() -> None:
    """OSQP and SCS say that 0.374 is optimal: 30 percent above the optimum."""
    s, x = np.array([0.4, 0.6, 0.9, 0.1]), cp.Variable(4)
    limits = [x >= 0, x <= 10_000, cp.sum(x) == 30_000]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(s + x * 0.25 / np.full(4, 20_000.0) - 0.5)), limits)
    assert_optimum(problem, 0.286875, "OSQP", "SCS", "CLARABEL")  # at (10000, 10000, 0, 10000)


def test_cvxpy_1116_a_quadratic_form_of_small_numbers_called_unbounded() -> None:
    c, sizes = np.full(4, 0.05), np.array([9.91610173e-07, 2.61384914e-06, 9.31156500e-07, 8.46514100e-07])
    h = cp.Variable(4)
    for form in (cp.quad_form(h, np.diag(sizes)), cp.sum_squares(cp.multiply(np.sqrt(sizes), h))):
        problem = cp.Problem(cp.Minimize(form - c @ h))
        assert_optimum(problem, -float(np.sum(c**2 / (4 * sizes))), "OSQP", "CLARABEL")
        assert all(certificate.lower > -2279 for certificate in certificates(problem, "OSQP"))  # whatever its status is


def test_cvxpy_2437_a_separable_problem_on_which_most_solvers_were_wrong() -> None:
    rng = np.random.default_rng(42)
    gains, costs, w = rng.normal(size=8), rng.random(8), cp.Variable(8)
    risk = 0.02 * cp.sum(cp.multiply(w, np.full(8, 0.6)) ** 2)
    problem = cp.Problem(cp.Maximize(w @ gains - risk - cp.abs(w) @ costs))
    optimum = float(np.sum(np.maximum(np.abs(gains) - costs, 0) ** 2) / (4 * 0.02 * 0.36))
    assert_optimum(problem, optimum, "OSQP", "SCS", "CLARABEL")


def test_cvxpy_2433_an_answer_for_the_previous_value_of_a_parameter() -> None:
    x, p = cp.Variable(), cp.Parameter()
    problem = cp.Problem(cp.Minimize(cp.quad_over_lin(x, p) + x))
    for value in (1.0, 1000.0):
        p.value = value
        assert_optimum(problem, -value / 4, "CLARABEL", "OSQP")
    p.value = 1.0
    certificate = certify_problem(problem)  # with the answer of 1000
    assert certificate.lower <= -0.25 <= certificate.upper and certificate.violation > 0.9


def test_cvxpy_261_a_portfolio_in_large_units() -> None:
    rng = np.random.default_rng(1)
    mean, root = 1e3 * np.abs(rng.normal(size=10)), 1e3 * rng.normal(size=(10, 10))
    covariance, w = root.T @ root, cp.Variable(10)
    problem = cp.Problem(cp.Maximize(mean @ w - 0.5 * cp.quad_form(w, covariance)))
    assert_optimum(problem, 0.5 * float(mean @ np.linalg.solve(covariance, mean)), "OSQP", "CLARABEL")


def test_cvxpy_782_a_geometric_program_with_a_wrong_sum() -> None:
    w, h = cp.Variable(2, pos=True), cp.Variable(2, pos=True)
    problem = cp.Problem(cp.Minimize(cp.sum(h)), [cp.multiply(w, h) >= 10, cp.sum(w) <= 10])
    logarithmic, _ = Dgp2Dcp(problem).apply(problem)
    assert_optimum(logarithmic, float(np.log(4)), "SCS", "CLARABEL")  # it was log(5.44)


def test_cvxpy_982_a_geometric_program_with_a_wrong_sum_of_squares() -> None:
    p = cp.Variable(5, pos=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(p)), [p >= 0.1])
    logarithmic, _ = Dgp2Dcp(problem).apply(problem)
    assert_optimum(logarithmic, float(np.log(0.05)), "SCS", "CLARABEL")  # it was log(1e-10)


def test_ecos_59_an_unbounded_linear_program_called_infeasible() -> None:
    x, y = cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize(-x - y), [2 * x + y >= 1, x + 3 * y >= 1, x >= 0, y >= 0])
    assert all(certificate.status == "unbounded" for certificate in certificates(problem, "OSQP", "SCS", "CLARABEL"))


def test_ecos_76_a_sum_of_one_variable_called_unbounded() -> None:
    x = cp.Variable()
    assert_optimum(cp.Problem(cp.Minimize(sum(x for _ in range(10))), [x >= 0]), 0.0, "OSQP", "SCS", "CLARABEL")


def test_ecos_98_a_norm_called_unbounded() -> None:
    A, X = np.random.default_rng(2).normal(size=(20, 10)), cp.Variable((10, 4))
    problem = cp.Problem(cp.Minimize(cp.norm(X, "fro")), [A @ X >= 0])
    assert_optimum(problem, 0.0, "SCS", "CLARABEL")


def test_ecos_109_an_infeasible_linear_program_called_unbounded() -> None:
    x, u, v = cp.Variable(), cp.Variable(), cp.Variable()
    limits = [x == 3, 8 * u + 9 * v <= 25, u + v == x, u <= 0, v >= 0]  # then 27 - u <= 25
    assert all(
        certificate.status == "infeasible"
        for certificate in certificates(cp.Problem(cp.Maximize(x), limits), "OSQP", "SCS", "CLARABEL")
    )


def test_ecos_133_an_infeasible_cone_called_unbounded() -> None:
    rows, columns = [0, 0, 1, 4, 2, 3, 6, 0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 1]
    A = np.zeros((8, 10))
    A[rows, columns] = [1, -3, 1, -2, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    x = cp.Variable(10)
    cones = [x[3] == 0, x[4] >= 0, cp.SOC(x[5], x[6:8]), x[8] >= 0, x[9] >= 0]
    for objective in (-x[0], 0):
        problem = cp.Problem(cp.Minimize(objective), [A @ x == np.array([0.0, 10, 1, 1, 0, 1, 9, 10]), *cones])
        # The last row says x[1] = 10, the second x[4] = 0; x[5] = 1 + x[2] must not be below |(1 - x[2], 20)|.
        assert all(certificate.status == "infeasible" for certificate in certificates(problem, "SCS", "CLARABEL"))


def test_clarabel_120_a_cone_that_is_missed_by_little() -> None:
    """The product of y[1] <= 6 and y[2] is at least 1, so 72.001953125 y[2] > 12."""
    y = cp.Variable(3)
    cone = cp.SOC(y[1] + y[2], cp.hstack([y[1] - y[2], 2]))
    limits = [y[0] >= 0, y[1] >= 0, y[0] <= 12, y[1] <= 6, 72.001953125 * y[2] <= y[0], cone]
    problem = cp.Problem(cp.Minimize(0), limits)
    assert all(certificate.status == "infeasible" for certificate in certificates(problem, "SCS", "CLARABEL"))


def test_scs_158_logarithms_with_an_answer_at_the_corner() -> None:
    x = cp.Variable(3)
    objective = -cp.log(1 + x[0]) - cp.log(x[1]) - cp.log(x[2])
    problem = cp.Problem(cp.Minimize(objective), [x[0] + x[1] <= 1, x[0] + x[2] <= 1, x >= 0])
    assert_optimum(problem, 0.0, "SCS", "CLARABEL")  # at (0, 1, 1)


def test_cvxr_26_a_hanging_chain_called_unbounded() -> None:
    n = 12
    x, y = cp.Variable(n + 1), cp.Variable(n + 1)
    links = cp.square(cp.diff(x)) + cp.square(cp.diff(y)) <= (2 / n) ** 2
    problem = cp.Problem(cp.Minimize(cp.sum(y)), [x[0] == 0, x[n] == 1, y[0] == 1, y[n] == 1, links])
    first, second = certificates(problem, "SCS", "CLARABEL")
    assert second.scaled_gap <= 1e-6 and first.lower <= second.upper and second.lower <= first.upper
    # A chain of length 2 over a span of 1 hangs by less than sqrt(3) / 2.
    assert second.lower > (n + 1) * (1 - np.sqrt(3) / 2) and second.upper < n + 1


@pytest.mark.thorough
def test_a_sum_of_two_perspectives_to_which_cvxpy_gives_another_value_than_to_the_perspective_of_the_sum() -> None:
    """CVXPY 1.9.3 says that 9.37 is optimal for the sum. The closed form is two terms of quad_over_lin.

    `get_data` of `perspective` leaves out f, so the cache of equal subexpressions in `Dcp2Cone` takes the second of two
    perspectives in the same variables for the first.
    """
    x, s = cp.Variable(), cp.Variable(nonneg=True)
    first, second, rest = cp.square(x - 1), cp.square(x - 3), cp.square(s - 2) + x
    optimum = 1023 / 256  # at s = 1/16, x = 7/64
    closed_form = cp.quad_over_lin(x - s, s) + cp.quad_over_lin(x - 3 * s, s) + rest
    for objective in (closed_form, cp.perspective(first + second, s) + rest):
        assert_optimum(cp.Problem(cp.Minimize(objective), [s <= 4]), optimum, "SCS", "CLARABEL")
    problem = cp.Problem(cp.Minimize(cp.perspective(first, s) + cp.perspective(second, s) + rest), [s <= 4])
    for certificate in certificates(problem, "SCS", "CLARABEL"):
        assert certificate.lower == pytest.approx(optimum) and certificate.upper >= optimum
