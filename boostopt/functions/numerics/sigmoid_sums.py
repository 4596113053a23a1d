"""The equation sum_n u_n sigmoid(x_n - tau) = target, and accurate differences of caps and references."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.functions.numerics.error_free_transformations import product_error

MAX_ROOT_STEPS = 300
"""Maximum number of steps; searches take fewer, because each step is a Newton step or halves the bracket."""

MAX_LOGIT = 750.0
"""Absolute value of a logit from which a sigmoid is 0 or 1 in floating point."""

SATURATION_CHECK_PERIOD = 4
"""Number of steps after which the search updates the set of sigmoids that are not saturated."""

SATURATION_LOGIT = 45.0
"""Absolute value of a saturated logit: exp(-45) is below the rounding of a sum of 1e4 terms."""


def difference_rounded_once(c: ExampleVector, nu: float, d0: ExampleVector) -> ExampleVector:
    """Return c - nu d0, rounded nearly once: the product is a sum of two numbers [Dekker 1971, section 5]."""
    product = nu * d0
    return (c - product) - product_error(np.full(len(d0), nu), d0, product)


def solve_sigmoid_sum(x: Float[Array, " n"], u: Float[Array, " n"], target: float) -> float:
    """Return tau with sum_n u_n sigmoid(x_n - tau) = target, for 0 < target < sum u.

    Newton's method runs within a bracket. Its start solves the equation for step functions, which the sigmoids
    approach for large logits. Sigmoids that are saturated in the whole bracket are summed once.
    """
    order = np.argsort(-x)
    start = float(x[order[min(int(np.searchsorted(np.cumsum(u[order]), target)), len(x) - 1)]])
    low, high, width = start, start, 1.0
    # By rounding, no tau may reach a target just below the sum of u: the search ends where all sigmoids are 1, or 0.
    while float(u @ expit(x - low)) < target and low > float(x.min()) - MAX_LOGIT:
        low, width = low - width, 2.0 * width
    width = 1.0
    while float(u @ expit(x - high)) > target and high < float(x.max()) + MAX_LOGIT:
        high, width = high + width, 2.0 * width
    tau, saturated_sum = 0.5 * (low + high), 0.0
    for step in range(MAX_ROOT_STEPS):
        if step % SATURATION_CHECK_PERIOD == 0:
            is_one, undecided = (
                x > high + SATURATION_LOGIT,
                (x >= low - SATURATION_LOGIT) & (x <= high + SATURATION_LOGIT),
            )
            saturated_sum += float(u[is_one].sum())
            x, u = x[undecided], u[undecided]
        p = expit(x - tau)
        value, slope = float(u @ p) + saturated_sum - target, -float((u * p) @ expit(tau - x))
        low, high = (tau, high) if value > 0 else (low, tau)
        newton_point = tau - value / slope if slope < 0 else np.inf
        next_tau = newton_point if low < newton_point < high else 0.5 * (low + high)
        if value == 0.0 or abs(next_tau - tau) <= 1e-15 * max(1.0, abs(tau)):
            break
        tau = next_tau
    return tau
