"""Unbounded problems along rays that change atoms: asymptotic slopes prove them, and nothing false (theorem P10)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from convex_problems import cp

from boostopt import certify_problem

X, Y, V = cp.Variable(name="x"), cp.Variable(name="y"), cp.Variable(3, name="v")
SINGULAR = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])


def point() -> None:
    """Leave a feasible point of all problems below."""
    X.value, Y.value, V.value = np.array(1.0), np.array(30.0), np.array([1.0, 2.0, 3.0])


UNBOUNDED: dict[str, tuple[Any, list[Any]]] = {
    "logistic loss": (cp.logistic(X) - 1.1 * X, []),
    "slope next to that of the loss": (cp.logistic(X) - (1 + 2.0**-20) * X, []),
    "sum of losses": (cp.sum(cp.logistic(V)) - 1.5 * V[0] - cp.sum(V) / 2, []),
    "exponential": (cp.exp(X) + X, []),
    "Huber's loss": (cp.huber(X) - 2.5 * X, []),
    "log_sum_exp": (cp.log_sum_exp(V) - 1.5 * cp.sum(V) / 3, []),
    "logarithm": (-cp.log(X) - X / 8, []),
    "logarithm alone": (-cp.log(X), []),
    "root alone": (-cp.sqrt(X), []),
    "logarithm with a constraint": (Y - cp.log1p(V[0]), [Y >= -2, V[0] <= V[2]]),
    "reciprocal": (cp.inv_pos(X) - X, []),
    "norm": (cp.norm(V) - 2 * V[0], []),
    "norm on a line": (2 * cp.norm(V[:2]) - 3 * V[0], [V[0] + V[1] == 3]),  # along (1, -1): the root of 8 is below 3
    "cone": (Y - 2 * V[0], [cp.norm(V) <= Y]),
    "loss in a constraint": (Y / 2 - X, [cp.logistic(X) <= Y]),
    "null vector of a square": (cp.square(V[0] + V[1]) - V[0] + V[1] / 2, []),
    "null vector of a form": (cp.quad_form(V, SINGULAR) + V[0] - 2 * V[1], []),
    "geometric mean": (0.1 * cp.sum(V) - cp.geo_mean(V), []),
    "logarithm of a mean": (-cp.log(cp.geo_mean(V)), []),
    "loss of a norm": (cp.logistic(cp.norm(V)) - 2 * V[0], []),
    "largest loss": (cp.maximum(cp.logistic(V[0]), V[1]) - cp.sum(V), [cp.norm(V[:2]) <= 10 + V[2], V[2] <= V[1] + 1]),
    "divergence": (cp.kl_div(1, Y) - 2 * Y, []),
    "with an equation": (cp.logistic(V[0]) - 1.2 * V[0] + cp.abs(V[1] - V[2]), [V[1] + V[2] == 5]),
}
"""Problems that fall for ever."""

BOUNDED: dict[str, tuple[Any, list[Any]]] = {
    "logistic loss": (cp.logistic(X) - X, []),
    "sum of losses": (cp.sum(cp.logistic(V)) - cp.sum(V), []),
    "exponential": (cp.exp(X) - X, []),
    "exponential alone": (cp.exp(X), []),
    "Huber's loss": (cp.huber(X) - 2 * X, []),
    "log_sum_exp": (cp.log_sum_exp(V) - cp.sum(V) / 3, []),
    "logarithm": (X / 8 - cp.log(X), []),
    "logarithm with a constraint": (Y - cp.log1p(V[0]), [Y >= -2, V[0] <= 4]),
    "reciprocal": (cp.inv_pos(X) + X, []),
    "loss in a constraint": (1.5 * Y - X, [cp.logistic(X) <= Y]),
    "null vector of a form": (cp.quad_form(V, SINGULAR) + V[0] + V[1], []),
    "geometric mean": (cp.sum(V) / 3 - cp.geo_mean(V), []),
    "loss of a norm": (cp.logistic(cp.norm(V)) - V[0], []),
    "loss of minus a norm": (cp.logistic(-X) - X / 2, [cp.norm(V) <= 9, X <= V[0]]),
    "divergence": (cp.kl_div(1, Y) - Y / 2, []),
}
"""Neighbours of these that are bounded below, some of them by the smallest slope at which this is so."""


@pytest.mark.parametrize("name", UNBOUNDED)
def test_problems_that_fall_along_a_ray_are_proved_unbounded(name: str) -> None:
    point()
    objective, constraints = UNBOUNDED[name]
    for problem in (cp.Problem(cp.Minimize(objective), constraints), cp.Problem(cp.Maximize(-objective), constraints)):
        certificate = certify_problem(problem)
        assert certificate.status == "unbounded" and not certificate.reasons
        assert (
            certificate.lower == certificate.upper == (-math.inf if problem.objective.NAME == "minimize" else math.inf)
        )


@pytest.mark.parametrize("name", BOUNDED)
def test_no_lie_makes_a_bounded_neighbour_unbounded(name: str) -> None:
    """Stale values, values far along the ray of the unbounded neighbour, and duals of wrong signs and sizes."""
    objective, constraints = BOUNDED[name]
    problem, rng = cp.Problem(cp.Minimize(objective), constraints), np.random.default_rng(len(name))
    for size in (0.0, 1.0, 1e3, 1e8):
        point()
        for variable in problem.variables():
            variable.value = variable.value + size * np.abs(rng.normal(size=variable.shape))
        for constraint in problem.constraints:
            constraint.dual_variables[0].save_value(-size * rng.normal(size=constraint.shape))
        certificate = certify_problem(problem)
        assert certificate.status in ("bounded", "open")
        assert certificate.upper > -1e3


@pytest.mark.parametrize(
    "seed", [seed if seed < 3 else pytest.param(seed, marks=pytest.mark.thorough) for seed in range(60)]
)
def test_sums_of_losses_are_unbounded_exactly_outside_their_slopes(seed: int) -> None:
    """The sum of w_i log(1 + exp(s_i x)) and v huber(x) falls below c x + any constant for no slope c that it has.

    Nor does it at the ends of these slopes. All numbers are multiples of 1/8, so that the ends are exact floats.
    """
    rng = np.random.default_rng(seed)
    slopes, weights = rng.integers(-8, 9, size=3) / 8, rng.integers(1, 9, size=3) / 8
    v, x = float(rng.integers(0, 3)), cp.Variable()
    ends = -float(weights @ np.maximum(-slopes, 0)) - 2 * v, float(weights @ np.maximum(slopes, 0)) + 2 * v
    for c in (ends[0] - 0.125, ends[0], sum(ends) / 2, ends[1], ends[1] + 2.0**-16):
        problem = cp.Problem(cp.Minimize(weights @ cp.logistic(slopes * x) + v * cp.huber(x) - c * x))
        x.value = rng.normal() * 10.0 ** rng.integers(-2, 6)
        status = certify_problem(problem).status
        assert status in (("bounded", "open") if ends[0] <= c <= ends[1] else ("unbounded",)), (c, ends)
