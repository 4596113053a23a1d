"""Small convex problems of the kinds that people state in CVXPY: every atom with a rule occurs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cvxpy
import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

RNG = np.random.default_rng(1)
A = RNG.normal(size=(30, 10))
B = A @ RNG.normal(size=10) + 0.3 * RNG.normal(size=30)
Y = np.sign(A @ RNG.normal(size=10) + 0.5 * RNG.normal(size=30))
FACTOR = RNG.normal(size=(8, 3))
COVARIANCE = 0.1 * FACTOR @ FACTOR.T + np.diag(0.05 + 0.2 * RNG.random(8))
LOW_RANK = FACTOR @ FACTOR.T
RETURNS = 0.1 * np.abs(RNG.normal(size=8))
SCENARIOS = 1 + 0.2 * RNG.normal(size=(40, 5)).clip(-2, 2)
SIGNAL = np.repeat([0.0, 2.0, -1.0, 1.0], 10) + 0.2 * RNG.normal(size=40)
IMAGE = np.kron([[0, 1], [1, 0.0]], np.ones((4, 4))) + 0.1 * RNG.normal(size=(8, 8))
GRAPH = np.triu(RNG.random((6, 6)), 1)
LAPLACIAN = np.diag((GRAPH + GRAPH.T).sum(axis=1)) - GRAPH - GRAPH.T
EMPIRICAL = np.cov(RNG.normal(size=(60, 6)).T)
MATRIX = RNG.normal(size=(6, 2)) @ RNG.normal(size=(2, 5))
MASK = (RNG.random((6, 5)) < 0.6).astype(float)
NORMALS, SIDES = RNG.normal(size=(12, 3)), 1 + np.abs(RNG.normal(size=12))
COSTS = RNG.random((4, 5))
SYMMETRIC = [X + X.T for X in RNG.normal(size=(4, 4, 4))]


def regression(penalty: Callable[[Any], Any], constraints: Callable[[Any], list[Any]] = lambda x: []) -> Any:
    x = cp.Variable(10)
    return cp.Problem(cp.Minimize(penalty(x)), constraints(x))


def fit(x: Any) -> Any:
    return cp.sum_squares(A @ x - B)


def margins(w: Any, c: Any = 0.0) -> Any:
    return cp.multiply(Y, A @ w - c)


def support_vectors() -> Any:
    w, c = cp.Variable(10), cp.Variable()
    return cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - margins(w, c))) / 30 + 0.1 * cp.sum_squares(w)))


def support_vectors_with_slacks() -> Any:
    w, c, e = cp.Variable(10), cp.Variable(), cp.Variable(30)
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(e)), [margins(w, c) >= 1 - e, e >= 0])


def sparse_logistic() -> Any:
    w, c = cp.Variable(10), cp.Variable()
    return cp.Problem(cp.Minimize(cp.sum(cp.logistic(-margins(w, c))) / 30 + 0.05 * cp.norm1(w)))


def portfolio(objective: Callable[[Any], Any], constraints: Callable[[Any], list[Any]] = lambda w: []) -> Any:
    w = cp.Variable(8)
    return cp.Problem(cp.Maximize(objective(w)), [cp.sum(w) == 1, w >= 0, *constraints(w)])


def conditional_value_at_risk() -> Any:
    w = cp.Variable(5, nonneg=True)
    return cp.Problem(cp.Minimize(cp.cvar(-(SCENARIOS - 1) @ w, 0.9)), [cp.sum(w) == 1])


def maximum_entropy() -> Any:
    p, c = cp.Variable(8, nonneg=True), np.linspace(0, 1, 8)
    return cp.Problem(cp.Maximize(cp.sum(cp.entr(p))), [cp.sum(p) == 1, c @ p == 0.3, c**2 @ p <= 0.2])


def divergence_projection() -> Any:
    p, q = cp.Variable(8), np.arange(1.0, 9) / 36
    return cp.Problem(cp.Minimize(cp.sum(cp.kl_div(p, q))), [cp.sum(p) == 1, p[0] >= 0.3])


def entropic_boosting() -> Any:
    d, U = cp.Variable(20), np.sign(A[:20, :6])
    objective = cp.max(U.T @ d) + cp.sum(cp.rel_entr(d, np.full(20, 0.05))) / 20
    return cp.Problem(cp.Minimize(objective), [cp.sum(d) == 1, d >= 0, d <= 0.2])


def water_filling() -> Any:
    x = cp.Variable(8)
    return cp.Problem(cp.Maximize(cp.sum(cp.log(np.linspace(0.2, 1.6, 8) + x))), [x >= 0, cp.sum(x) == 1])


def image_denoising() -> Any:
    X = cp.Variable((8, 8))
    return cp.Problem(cp.Minimize(cp.sum_squares(X - IMAGE) + 0.3 * cp.tv(X)))


def signal_denoising() -> Any:
    x = cp.Variable(40)
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - SIGNAL) + 0.7 * cp.tv(x)))


def isotonic() -> Any:
    x = cp.Variable(20)
    return cp.Problem(cp.Minimize(cp.sum_squares(x - SIGNAL[:20])), [x[1:] >= x[:-1]])


def polyhedron_centre() -> Any:
    x, r = cp.Variable(3), cp.Variable()
    sides = NORMALS @ x + np.linalg.norm(NORMALS, axis=1) * r <= SIDES
    return cp.Problem(cp.Maximize(r), [sides, x >= -5, x <= 5])


def predictive_control() -> Any:
    x, u = cp.Variable((2, 9)), cp.Variable((1, 8))
    dynamics, control = np.array([[1, 0.2], [0, 1]]), np.array([[0.02], [0.2]])
    steps = [x[:, t + 1] == dynamics @ x[:, t] + control @ u[:, t] for t in range(8)]
    limits = [cp.norm_inf(u[:, t]) <= 1 for t in range(8)]
    return cp.Problem(
        cp.Minimize(cp.sum_squares(x[:, 1:]) + 0.1 * cp.sum_squares(u)), [x[:, 0] == [1, 0.5], *steps, *limits]
    )


def network_flow() -> Any:
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
    incidence = np.zeros((5, 7))
    for k, (i, j) in enumerate(edges):
        incidence[i, k], incidence[j, k] = -1, 1
    f = cp.Variable(7, nonneg=True)
    costs = np.array([1, 2, 1, 3, 1, 4, 1.0])
    return cp.Problem(cp.Minimize(costs @ f), [incidence @ f == np.array([-3, 0, 0, 0, 3.0]), f <= 2])


def transport() -> Any:
    X = cp.Variable((4, 5), nonneg=True)
    rows, columns = cp.sum(X, axis=1) == np.full(4, 0.3125), cp.sum(X, axis=0) == np.full(5, 0.25)
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(COSTS, X))), [rows, columns])


def robust_linear() -> Any:
    x = cp.Variable(3)
    sides = [NORMALS[i] @ x + 0.2 * cp.norm(x) <= SIDES[i] for i in range(12)]
    return cp.Problem(cp.Maximize(np.array([1, 0.5, 0.2]) @ x), [*sides, cp.norm_inf(x) <= 10])


def covariance_selection() -> Any:
    X = cp.Variable((6, 6), PSD=True)
    return cp.Problem(cp.Maximize(cp.log_det(X) - cp.trace(X @ EMPIRICAL) - 0.1 * cp.sum(cp.abs(X))))


def maximum_cut() -> Any:
    X = cp.Variable((6, 6), PSD=True)
    return cp.Problem(cp.Maximize(cp.trace(LAPLACIAN @ X) / 4), [cp.diag(X) == 1])


def matrix_completion() -> Any:
    X = cp.Variable((6, 5))
    return cp.Problem(cp.Minimize(cp.normNuc(X)), [cp.multiply(MASK, X) == MASK * MATRIX])


def spectral_approximation() -> Any:
    X = cp.Variable((3, 2))
    return cp.Problem(cp.Minimize(cp.sigma_max(X - MATRIX[:3, :2]) + 0.1 * cp.norm1(X)), [cp.sum(X) == 1])


def largest_eigenvalue() -> Any:
    x = cp.Variable(3)
    E = SYMMETRIC[0] + sum(x[i] * SYMMETRIC[i + 1] for i in range(3))
    return cp.Problem(cp.Minimize(cp.lambda_max(E)), [cp.norm_inf(x) <= 3])


def smallest_eigenvalue() -> Any:
    x = cp.Variable(3)
    E = SYMMETRIC[0] + sum(x[i] * SYMMETRIC[i + 1] for i in range(3))
    return cp.Problem(cp.Maximize(cp.lambda_min(E) - cp.sum_squares(x)), [cp.norm_inf(x) <= 3])


def matrix_inequality() -> Any:
    x = cp.Variable(3)
    E: Any = sum(x[i] * SYMMETRIC[i] for i in range(3)) + 5 * np.eye(4)
    return cp.Problem(cp.Minimize(cp.sum(x)), [E >> 0, x >= -2, x <= 2])


def power_flow() -> Any:
    angles, g = cp.Variable(4), cp.Variable(3)
    flows = np.array([[3, -1, -1, -1], [-1, 2, -1, 0], [-1, -1, 2, 0], [-1, 0, 0, 1.0]])
    G = np.zeros((4, 3))
    G[0, 0] = G[1, 1] = G[3, 2] = 1
    balance = G @ g - np.array([0, 0.5, 1, 0.7]) == flows @ angles
    limits = [g >= 0, g <= 1.5, cp.abs(angles[1:] - angles[0]) <= 1, angles[0] == 0]
    cost = cp.sum_squares(cp.multiply([1, 0.7, 1.3], g)) + np.array([1, 2, 0.5]) @ g
    return cp.Problem(cp.Minimize(cost), [balance, *limits])


def geometric_in_logarithms() -> Any:
    x = cp.Variable(3)
    log_monomials = cp.log_sum_exp(cp.hstack([x[0] + x[1] - 1, x[0] - 2, x[1] + 0.5 * x[2] - 1]))
    return cp.Problem(
        cp.Minimize(cp.log_sum_exp(cp.hstack([-x[0] - x[1], x[2] + 1.0]))), [log_monomials <= 0, x <= 3, x >= -6]
    )


def sum_of_largest() -> Any:
    x = cp.Variable(6)
    return cp.Problem(cp.Minimize(cp.sum_largest(A[:8, :6] @ x, 3) + 0.1 * cp.sum_squares(x)))


def ellipsoid() -> Any:
    X, c = cp.Variable((2, 2), PSD=True), cp.Variable(2)
    return cp.Problem(cp.Maximize(cp.log_det(X)), [cp.norm(X @ point + c) <= 1 for point in NORMALS[:, :2]])


def information_matrix(w: Any) -> Any:
    return sum(w[i] * np.outer(A[i, :3], A[i, :3]) for i in range(10))


def d_optimal_design() -> Any:
    w = cp.Variable(10, nonneg=True)
    return cp.Problem(cp.Maximize(cp.log_det(information_matrix(w))), [cp.sum(w) == 1])


def a_optimal_design() -> Any:
    w = cp.Variable(10, nonneg=True)
    return cp.Problem(cp.Minimize(cp.tr_inv(information_matrix(w))), [cp.sum(w) == 1])


def matrix_fraction() -> Any:
    w = cp.Variable(4, nonneg=True)
    P = sum(w[i] * np.outer(NORMALS[i], NORMALS[i]) for i in range(4)) + 0.1 * np.eye(3)
    return cp.Problem(cp.Minimize(cp.matrix_frac(np.array([1, 2.0, -1]), P)), [cp.sum(w) <= 1])


def geometric_mean() -> Any:
    x = cp.Variable(4)
    return cp.Problem(cp.Maximize(cp.geo_mean(x, [1, 2, 1, 1])), [np.arange(1.0, 5) @ x <= 3, x >= 0])


def harmonic_mean() -> Any:
    x = cp.Variable(4)
    return cp.Problem(cp.Maximize(cp.harmonic_mean(x)), [np.arange(1.0, 5) @ x <= 3])


def ratio() -> Any:
    x, y = cp.Variable(3), cp.Variable()
    return cp.Problem(cp.Minimize(cp.quad_over_lin(x - 1, y) + y), [cp.sum(x) == 1, y <= 4])


def poisson() -> Any:
    x = cp.Variable(3)
    rates = np.abs(A[:12, :3]) @ x
    counts = np.array([0, 1, 3, 2, 0, 1, 4, 2, 1, 0, 2, 3.0])
    return cp.Problem(cp.Minimize(cp.sum(rates) - counts @ cp.log(rates)), [x >= 0.01])


def utility() -> Any:
    w = cp.Variable(5, nonneg=True)
    return cp.Problem(cp.Minimize(cp.sum(cp.exp(-SCENARIOS @ w)) / 40), [cp.sum(w) == 1])


def growth() -> Any:
    w = cp.Variable(5, nonneg=True)
    return cp.Problem(cp.Maximize(cp.sum(cp.log1p((SCENARIOS - 1) @ w)) / 40), [cp.sum(w) == 1, w <= 0.6])


def powers() -> Any:
    x = cp.Variable(4, nonneg=True)
    objective = cp.sum(cp.power(x, 1.5)) + cp.sum(cp.power(x, 4)) + cp.sum(cp.inv_pos(x)) - cp.sum(cp.sqrt(x))
    return cp.Problem(cp.Minimize(objective), [cp.sum(x) <= 3])


def worst_case() -> Any:
    x = cp.Variable(4)
    return cp.Problem(cp.Minimize(cp.max(A[:, :4] @ x + B) + 0.01 * cp.sum_squares(x)))


def best_case() -> Any:
    x = cp.Variable(4)
    return cp.Problem(cp.Maximize(cp.min(A[:, :4] @ x + B) + cp.minimum(x[0], 1 - x[1]) - cp.sum_squares(x)))


def two_variables_with_bounds() -> Any:
    x, D = cp.Variable(3, bounds=[-1, np.array([1, 2, 0.5])]), cp.Variable((3, 3), diag=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(D @ np.ones(3) - x - 2) + cp.norm(D, "fro")))


def second_order_cone() -> Any:
    x, t = cp.Variable(4), cp.Variable()
    return cp.Problem(cp.Minimize(t + cp.sum(x)), [cp.SOC(t, A[:4, :4] @ x - 1), x >= -1])


def exponential_cone() -> Any:
    x, z = cp.Variable(3), cp.Variable(3)
    return cp.Problem(cp.Minimize(cp.sum(z) - 2 * cp.sum(x)), [cp.ExpCone(x, np.ones(3), z)])


def power_cones() -> Any:
    x, y, z = cp.Variable((3, 2)), cp.Variable((3, 2)), cp.Variable((3, 2))
    exponents = np.array([[0.3, 0.5], [0.1, 0.75], [2 / 3, 0.9]])
    limits = [cp.PowCone3D(x, y, z, exponents), cp.PowCone3D(x[0, 0], y[0, 1], z[0, 0] + 0.2, 0.4)]
    limits += [cp.sum(x) + 2 * cp.sum(y) <= 6, z[1, 1] <= 0.4]
    return cp.Problem(cp.Maximize(cp.sum(z)), limits)


def long_power_cones() -> Any:
    X, z = cp.Variable((3, 2)), cp.Variable(2)
    Y, t = cp.Variable((2, 3)), cp.Variable(2)
    columns, rows = np.array([[0.2, 1 / 3], [0.3, 1 / 3], [0.5, 1 / 3]]), np.array([[0.1, 0.7, 0.2], [0.25, 0.25, 0.5]])
    limits = [cp.PowConeND(X, z, columns), cp.PowConeND(Y, t, rows, axis=1), cp.PowConeND(X[:, 0], t[0], columns[:, 0])]
    return cp.Problem(cp.Maximize(cp.sum(z) + 2 * cp.sum(t)), [*limits, cp.sum(X) + cp.sum_squares(Y) <= 3])


def sorted_product() -> Any:
    x = cp.Variable(6)
    return cp.Problem(cp.Minimize(cp.dotsort(A[:8, :6] @ x, [3.0, -1.0, 2.0, 2.5]) + 0.1 * cp.sum_squares(x)))


def cumulative_maximum() -> Any:
    x = cp.Variable(20)
    return cp.Problem(cp.Minimize(cp.sum_squares(x - SIGNAL[:20]) + 0.2 * cp.sum(cp.cummax(x))))


def product_with_exponential() -> Any:
    x = cp.Variable(3, nonneg=True)
    return cp.Problem(cp.Minimize(cp.sum(cp.xexp(x)) + cp.sum_squares(A[:5, :3] @ x - 2)))


def largest_eigenvalues() -> Any:
    x = cp.Variable(3)
    E = SYMMETRIC[0] + sum(x[i] * SYMMETRIC[i + 1] for i in range(3))
    objective = cp.lambda_sum_largest(E, 2) + cp.lambda_sum_largest(E, 1.5) - cp.lambda_sum_smallest(E, 1)
    return cp.Problem(cp.Minimize(objective), [cp.norm_inf(x) <= 3])


def quantum_entropy() -> Any:
    X = cp.Variable((3, 3), PSD=True)
    observed = SYMMETRIC[0][:3, :3]
    return cp.Problem(cp.Maximize(cp.von_neumann_entr(X) + 0.2 * cp.trace(observed @ X)), [cp.trace(X) == 1])


def gamma_and_normal() -> Any:
    x = cp.Variable(3)
    objective = cp.sum(cp.loggamma(x)) - cp.sum(cp.log_normcdf(A[:4, :3] @ x)) + cp.inv_prod(x)
    return cp.Problem(cp.Minimize(objective + cp.scalene(cp.sum(x) - 2, 2, 3)), [x <= 5])


def perspective() -> Any:
    x, s = cp.Variable(3), cp.Variable(nonneg=True)
    smooth = cp.log_sum_exp(A[:6, :3] @ x - B[:6]) + cp.quad_form(x, A[:5, :3].T @ A[:5, :3])
    kinked = cp.sum_squares(A[:6, :3] @ x - B[:6]) + cp.norm1(x) + cp.sum(cp.exp(x - 1)) + 1
    return cp.Problem(
        cp.Minimize(cp.perspective(smooth + kinked, s) + cp.sum(x) + 20 * (s - 2) ** 2), [x >= -3, s <= 4]
    )


PROBLEMS: dict[str, Callable[[], Any]] = {
    "least squares": lambda: regression(fit),
    "ridge": lambda: regression(lambda x: fit(x) + 0.7 * cp.sum_squares(x)),
    "lasso": lambda: regression(lambda x: fit(x) + 5 * cp.norm1(x)),
    "elastic net": lambda: regression(lambda x: fit(x) / 60 + 0.1 * cp.norm1(x) + 0.05 * cp.sum_squares(x)),
    "group lasso": lambda: regression(lambda x: fit(x) + 4 * cp.norm(x[:5]) + 4 * cp.norm(x[5:])),
    "nonneg least squares": lambda: regression(fit, lambda x: [x >= 0]),
    "box least squares": lambda: regression(fit, lambda x: [x >= 0, x <= 1]),
    "huber regression": lambda: regression(lambda x: cp.sum(cp.huber(A @ x - B, 0.3))),
    "l1 regression": lambda: regression(lambda x: cp.norm1(A @ x - B)),
    "chebyshev regression": lambda: regression(lambda x: cp.norm_inf(A @ x - B)),
    "1.5-norm regression": lambda: regression(lambda x: cp.pnorm(A @ x - B, 1.5)),
    "min norm": lambda: regression(cp.norm, lambda x: [A[:4] @ x == B[:4]]),
    "basis pursuit": lambda: regression(cp.norm1, lambda x: [A[:4] @ x == B[:4]]),
    "log-sum-exp": lambda: regression(lambda x: cp.log_sum_exp(A @ x + B) + 0.01 * cp.sum_squares(x)),
    "l1 logistic": sparse_logistic,
    "l2 logistic": lambda: regression(lambda x: cp.sum(cp.logistic(-margins(x))) + 0.5 * cp.sum_squares(x)),
    "svm": support_vectors,
    "svm with slacks": support_vectors_with_slacks,
    "markowitz": lambda: portfolio(lambda w: RETURNS @ w - 3 * cp.quad_form(w, COVARIANCE)),
    "risk cone": lambda: portfolio(
        lambda w: RETURNS @ w, lambda w: [cp.norm(np.linalg.cholesky(COVARIANCE).T @ w) <= 0.3]
    ),
    "quad_form of low rank": lambda: portfolio(lambda w: RETURNS @ w - cp.quad_form(w, LOW_RANK)),
    "cvar": conditional_value_at_risk,
    "max entropy": maximum_entropy,
    "kl projection": divergence_projection,
    "entropic boosting": entropic_boosting,
    "water filling": water_filling,
    "image denoising": image_denoising,
    "signal denoising": signal_denoising,
    "isotonic": isotonic,
    "polyhedron centre": polyhedron_centre,
    "predictive control": predictive_control,
    "network flow": network_flow,
    "transport": transport,
    "robust linear": robust_linear,
    "covariance selection": covariance_selection,
    "maximum cut": maximum_cut,
    "matrix completion": matrix_completion,
    "spectral approximation": spectral_approximation,
    "largest eigenvalue": largest_eigenvalue,
    "smallest eigenvalue": smallest_eigenvalue,
    "matrix inequality": matrix_inequality,
    "power flow": power_flow,
    "geometric in logarithms": geometric_in_logarithms,
    "sum of largest": sum_of_largest,
    "ellipsoid": ellipsoid,
    "d-optimal design": d_optimal_design,
    "a-optimal design": a_optimal_design,
    "matrix fraction": matrix_fraction,
    "geometric mean": geometric_mean,
    "harmonic mean": harmonic_mean,
    "ratio": ratio,
    "poisson": poisson,
    "utility": utility,
    "growth": growth,
    "powers": powers,
    "worst case": worst_case,
    "best case": best_case,
    "two variables with bounds": two_variables_with_bounds,
    "second-order cone": second_order_cone,
    "exponential cone": exponential_cone,
    "sorted product": sorted_product,
    "cumulative maximum": cumulative_maximum,
    "product with exponential": product_with_exponential,
    "largest eigenvalues": largest_eigenvalues,
    "quantum entropy": quantum_entropy,
    "perspective": perspective,
    "gamma and normal": gamma_and_normal,
    "power cones": power_cones,
    "long power cones": long_power_cones,
}
"""The problems by name; each call makes a new one."""


def reference_value(problem: Any) -> float:
    """Return the optimum by Clarabel at its tightest, good to about 1e-9."""
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    with warnings.catch_warnings(action="ignore"):  # that it may be inaccurate: as it always is at this accuracy
        try:
            problem.solve("CLARABEL", **tight)
        except cp.SolverError:
            problem.solve("CLARABEL")
    return float(problem.value)


def values_of(problem: Any) -> list[Array]:
    """Return copies of the values of the variables as dense arrays."""
    values = [variable.value for variable in problem.variables()]
    return [np.array(value.toarray() if scipy.sparse.issparse(value) else value) for value in values]


def point_of(problem: Any) -> Array:
    """Return the values of all variables, one after the other."""
    return np.concatenate([np.ravel(value) for value in values_of(problem)])
