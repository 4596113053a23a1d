"""Sums of sigmoids that are to have a value, and the differences of caps and references in their logits."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from boostopt._utils.array_types import Array, Float
from boostopt.functions.numerics.error_free import product_error

MAX_ROOT_STEPS = 300
"""Steps of the search for beta: more than any has taken, for each is a Newton step or halves a bracket."""

MAX_LOGIT = 750.0
"""Logit beyond which a sigmoid is 0 or 1 in floating point."""

SATURATION_CHECK_PERIOD = 4
"""Steps after which the search looks again which sigmoids can still change."""

SATURATION_LOGIT = 45.0
"""Logit beyond which a sigmoid is 0 or 1: exp(-45) is below the rounding of a sum of 1e4 such terms."""


def difference_rounded_once(c: Float[Array, " N"], nu: float, d0: Float[Array, " N"]) -> Float[Array, " N"]:
    """Return c - nu d0 as if rounded once: the product is a sum of two numbers [Dekker 1971, section 5]."""
    product = nu * d0
    return (c - product) - product_error(np.full(len(d0), nu), d0, product)


def solve_sigmoid_sum(x: Float[Array, " n"], u: Float[Array, " n"], target: float) -> float:
    """Return tau with sum_n u_n sigmoid(x_n - tau) = target, for 0 < target < sum u.

    Newton's method within a bracket. The start is where the sum of hard steps has the right value: for large eta the
    sigmoids are steps. Those that the bracket has left saturated are summed once and no longer looked at.
    """
    order = np.argsort(-x)
    start = float(x[order[min(int(np.searchsorted(np.cumsum(u[order]), target)), len(x) - 1)]])
    low, high, width = start, start, 1.0
    # A target just below the sum of u may be above what the products sum to: the search ends where all are 1, or 0.
    while float(u @ expit(x - low)) < target and low > float(x.min()) - MAX_LOGIT:
        low, width = low - width, 2.0 * width
    width = 1.0
    while float(u @ expit(x - high)) > target and high < float(x.max()) + MAX_LOGIT:
        high, width = high + width, 2.0 * width
    tau, settled = 0.5 * (low + high), 0.0
    for step in range(MAX_ROOT_STEPS):
        if step % SATURATION_CHECK_PERIOD == 0:
            ones, undecided = (
                x > high + SATURATION_LOGIT,
                (x >= low - SATURATION_LOGIT) & (x <= high + SATURATION_LOGIT),
            )
            settled += float(u[ones].sum())
            x, u = x[undecided], u[undecided]
        p = expit(x - tau)
        value, slope = float(u @ p) + settled - target, -float((u * p) @ expit(tau - x))
        low, high = (tau, high) if value > 0 else (low, tau)
        newton = tau - value / slope if slope < 0 else np.inf
        following = newton if low < newton < high else 0.5 * (low + high)
        if value == 0.0 or abs(following - tau) <= 1e-15 * max(1.0, abs(tau)):
            break
        tau = following
    return tau
