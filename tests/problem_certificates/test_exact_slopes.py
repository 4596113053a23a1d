"""Problems without bounded level sets, and without a box: slopes are made exactly 0. Their optima are known."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from convex_problems import cp

from boostopt import ProblemCertificate, certify_problem

HALF_LOG = math.log(2) + 0.5 * (0.3 - 1.1)
"""The minimum of log(exp(t + 0.3) + exp(-t - 1.1))."""


def logistic() -> Any:
    x = cp.Variable(2)
    return cp.Minimize(cp.logistic(x[0] - x[1]) - 0.3 * (x[0] - x[1])), []


def inactive_constraint() -> Any:
    """The noise in its multiplier is a slope that no other number takes."""
    x = cp.Variable(2)
    return cp.Minimize(cp.logistic(x[0] - x[1]) - 0.3 * (x[0] - x[1])), [x[0] <= 100]


def geometric_in_logarithms() -> Any:
    x = cp.Variable(3)
    t = x[0] - 2 * x[1] + 3 * x[2]
    return cp.Minimize(cp.log_sum_exp(cp.hstack([t + 0.3, -t - 1.1]))), []


def geometric_with_a_constraint() -> Any:
    """The largest x + y with exp(x) + exp(y) <= 1. Every slope of the last entry is 0, which only ranks prove."""
    x = cp.Variable(3)
    return cp.Minimize(-x[0] - x[1]), [cp.log_sum_exp(x[:2] - x[2]) <= -x[2]]


def exponentials() -> Any:
    x = cp.Variable(2)
    return cp.Minimize(cp.exp(x[0] - x[1]) + cp.exp(x[1] - x[0] + 2)), []


def divergences() -> Any:
    x, q = cp.Variable(2), np.array([0.5, 2.0])
    return cp.Minimize(cp.sum(cp.kl_div(x, q)) + np.array([0.7, -0.2]) @ x), []


def divergence_of_two_variables() -> Any:
    """The first three terms are 0 at x = y, and at least 0; the others are least at y = 1."""
    x, y = cp.Variable(), cp.Variable()
    return cp.Minimize(cp.rel_entr(x, y) - x + y + cp.exp(y) - math.e * y), []


def logarithm() -> Any:
    x = cp.Variable(2)
    return cp.Minimize(x[0] - x[1] - cp.log(x[0] - x[1])), []


def power_cone() -> Any:
    x, y, z = cp.Variable(), cp.Variable(), cp.Variable()
    return cp.Maximize(z), [cp.PowCone3D(x, y, z, 0.3), x + y <= 1]


def harmonic_mean() -> Any:
    x = cp.Variable(3)
    return cp.Maximize(cp.harmonic_mean(x)), [np.array([1.0, 4.0, 9.0]) @ x <= 1]


def nested_norm() -> Any:
    x = cp.Variable(3)
    return cp.Minimize(cp.exp(cp.norm(x - np.array([1.0, 2.0, 3.0])))), []


def nested_maximum() -> Any:
    x = cp.Variable(2)
    return cp.Minimize(cp.square(cp.maximum(x[0] - x[1], x[1] - x[0], 0) + 1)), []


def largest_eigenvalue() -> Any:
    X = cp.Variable((3, 3), symmetric=True)
    return cp.Minimize(cp.lambda_max(X)), [cp.trace(X) == 1]


def largest_eigenvalues() -> Any:
    X = cp.Variable((3, 3), symmetric=True)
    return cp.Minimize(cp.lambda_sum_largest(X, 2)), [cp.trace(X) == 1]


def nuclear_norm() -> Any:
    X = cp.Variable((3, 3))
    return cp.Minimize(cp.normNuc(X)), [cp.trace(X) == 1]


def determinant() -> Any:
    X = cp.Variable((3, 3), symmetric=True)
    return cp.Minimize(cp.trace(X) - cp.log_det(X)), []


def inverse() -> Any:
    X = cp.Variable((2, 2), symmetric=True)
    return cp.Minimize(cp.trace(X) + cp.tr_inv(X)), []


def fraction() -> Any:
    P = cp.Variable((2, 2), symmetric=True)
    return cp.Minimize(cp.matrix_frac(np.eye(2), P) + 4 * cp.trace(P)), []


def von_neumann() -> Any:
    X = cp.Variable((2, 2), symmetric=True)
    return cp.Maximize(cp.von_neumann_entr(X) - cp.trace(X)), []


def sum_of_largest() -> Any:
    x = cp.Variable(3)
    return cp.Minimize(1.5 * cp.sum_largest(x, 2) - cp.sum(x)), []


def perspective() -> Any:
    """S (exp(t) - t) with t = x / s is least at t = 0; s + (s - 2)^2 is at s = 1.5."""
    x, s = cp.Variable(), cp.Variable(nonneg=True)
    return cp.Minimize(cp.perspective(cp.exp(x) - x, s) + cp.square(s - 2)), [s >= 1]


OPTIMA: dict[str, tuple[Callable[[], Any], float]] = {
    "logistic": (logistic, -0.3 * math.log(0.3) - 0.7 * math.log(0.7)),
    "inactive constraint": (inactive_constraint, -0.3 * math.log(0.3) - 0.7 * math.log(0.7)),
    "log_sum_exp": (geometric_in_logarithms, HALF_LOG),
    "log_sum_exp in a constraint": (geometric_with_a_constraint, 2 * math.log(2)),
    "exp": (exponentials, 2 * math.e),
    "kl_div": (divergences, 0.5 * (1 - math.exp(-0.7)) + 2 * (1 - math.exp(0.2))),
    "rel_entr of two variables": (divergence_of_two_variables, 0.0),
    "log": (logarithm, 1.0),
    "power cone": (power_cone, 0.3**0.3 * 0.7**0.7),
    "harmonic_mean": (harmonic_mean, 3 / 36),
    "exp of norm": (nested_norm, 1.0),
    "square of maximum": (nested_maximum, 1.0),
    "lambda_max": (largest_eigenvalue, 1 / 3),
    "lambda_sum_largest": (largest_eigenvalues, 2 / 3),
    "normNuc": (nuclear_norm, 1.0),
    "log_det": (determinant, 3.0),
    "tr_inv": (inverse, 4.0),
    "matrix_frac": (fraction, 8.0),
    "von_neumann_entr": (von_neumann, 2 * math.exp(-2)),
    "sum_largest": (sum_of_largest, 0.0),
    "perspective": (perspective, 1.75),
}


def certify(problem: Any, **options: Any) -> ProblemCertificate:
    with warnings.catch_warnings(action="ignore"):  # the lower bound may be infinite
        return certify_problem(problem, **options)


def problem_and_optimum(name: str) -> tuple[Any, float]:
    make, optimum = OPTIMA[name]
    problem = cp.Problem(*make())
    problem.solve("CLARABEL")
    return problem, optimum


@pytest.mark.every(2, 1)
@pytest.mark.parametrize("name", OPTIMA)
def test_known_optima_without_a_box_have_narrow_intervals(name: str) -> None:
    problem, optimum = problem_and_optimum(name)
    certificate = certify(problem)
    assert certificate.lower - 1e-13 <= optimum <= certificate.upper + 1e-13
    assert certificate.scaled_gap <= 1e-6
    assert certificate.status == "bounded" and not certificate.reasons


@pytest.mark.every(4)
@pytest.mark.parametrize("name", OPTIMA)
@pytest.mark.parametrize("seed", range(4))
def test_lies_about_them_prove_nothing_false(name: str, seed: int) -> None:
    problem, optimum = problem_and_optimum(name)
    rng = np.random.default_rng([seed, list(OPTIMA).index(name)])
    size = (1e-9, 1e-4, 0.1, 2.0)[seed]
    for variable in problem.variables():
        noise = size * rng.normal(size=variable.shape)
        variable.save_value(variable.value + (noise + noise.T if variable.ndim == 2 else noise))
    for constraint in problem.constraints:
        for dual in constraint.dual_variables:
            dual.save_value(np.asarray(dual.value) * (1 + size * rng.normal(size=dual.shape)))
    certificate = certify(problem)
    assert certificate.lower - 1e-13 <= optimum <= certificate.upper + 1e-13


@pytest.mark.parametrize("size", [(6, 10), (40, 30)])
def test_infeasible_systems_of_free_unknowns_are_proved(size: tuple[int, int]) -> None:
    """Their multipliers are exact combinations, and rows without a multiplier, the objective too, do not count."""
    (n, m), rng = size, np.random.default_rng(1)
    A, y = rng.integers(-3, 4, (m, n)).astype(float), rng.integers(0, 3, m)
    x, b = cp.Variable(n), A @ rng.integers(-3, 4, n) + 0.5 / max(1, int(y.sum()))  # one point has slack in all rows
    for excess, status in ((1.0, "infeasible"), (-1.0, "feasible")):
        problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [A @ x <= b, (y @ A) @ x >= float(y @ b) + excess])
        with warnings.catch_warnings(action="ignore"):
            problem.solve("CLARABEL")
        assert (certify(problem).status == "infeasible") == (status == "infeasible")


@pytest.mark.parametrize("dual", [1.0, 1e-3, 1e-9])
def test_slopes_of_an_atom_whose_multiplier_becomes_0_change_nothing(dual: float) -> None:
    # The objective falls along -e_1. The one change that makes both slopes 0 takes the multiplier of exp away.
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(1e-3 * x[0] + cp.square(x[1])), [cp.exp(x[0]) <= 3 - x[1]])
    x.value = np.array([-3.0, 0.0])
    problem.constraints[0].save_dual_value(np.array(dual))
    certificate = certify_problem(problem)
    assert certificate.lower == -math.inf
    assert certificate.upper <= -1e-3
