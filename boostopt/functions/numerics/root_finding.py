"""Roots of functions of one number, and the multiplier of the constraint sum d = 1.

Brent's method needs values alone. Newton's method in a bracket needs slopes and the rounding of the values too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy.optimize import brentq

from boostopt._utils.array_types import Array, ExampleVector
from boostopt.errors import ProblemError

EPS = float(np.finfo(np.float64).eps)
"""The distance from 1 to the next float."""

ROOT_RTOL = 1e-15
"""Relative accuracy of the roots. No bound depends on this accuracy."""

MAX_BRACKET_DISTANCE = 1e18
"""Largest distance of a bracket from its start."""

MAX_SIMPLEX_MULTIPLIER = 1e150
"""Largest absolute value of beta in the search for a bracket. At full support, no finite beta gives the sum 1."""

MAX_NEWTON_STEP_FACTOR = 8.0
"""Largest Newton step as a multiple of max(1, |x|): steps are too long where the function is flat."""


def bracket_root(
    f: Callable[[float], float], start: float, max_distance: float = MAX_BRACKET_DISTANCE
) -> tuple[float, float]:
    """Return low < high with f(low) <= 0 <= f(high) for an increasing f, at most `max_distance` from the start."""
    low = high = start
    step = 1.0
    while f(low) > 0.0 and start - low < max_distance:
        low, high, step = max(low - step, start - max_distance), low, 2.0 * step
    step = 1.0
    while f(high) < 0.0 and high - start < max_distance:
        low, high, step = high, min(high + step, start + max_distance), 2.0 * step
    return low, high


def find_root(f: Callable[[float], float], low: float, high: float, xtol: float | None = None) -> float:
    """Return the root of an increasing f between low and high, or the end that is nearer to the root.

    `xtol` is the distance from the root that is allowed beside the rounding of the root; by default it is relative,
    `ROOT_RTOL`.
    """
    low_value, high_value = f(low), f(high)
    if low_value >= 0.0 or high_value <= 0.0:
        return low if low_value >= 0.0 else high
    if xtol is not None:
        return cast(float, brentq(f, low, high, xtol=xtol))
    x: Any = brentq(f, low, high, xtol=ROOT_RTOL * max(abs(low), abs(high), 1e-285), rtol=np.float64(4 * ROOT_RTOL))
    return float(x)


def find_root_by_newton(function: Callable[[float], tuple[float, float, float]], x: float) -> float:
    """Return the root of a decreasing function by Newton's method; inf or -inf if the root is beyond all floats.

    The bracket is halved if Newton's step leaves it, or if the last step did not halve the value. As long as there is
    no bracket, the longest step follows each step that did not halve the value: beside large numbers, rounding hides
    Newton's step.

    Parameters
    ----------
    function
        The value, the slope, and a bound of the rounding of the value, at a number.
    x
        The start.

    Raises
    ------
    ProblemError
        The function is not a number at one of the steps: products of steps and margins overflow.
    """
    low, high, last = -math.inf, math.inf, math.inf
    while math.isfinite(x):
        value, slope, rounding = function(x)
        # No comparison holds for NaN: the bracket would never close.
        if math.isnan(value) or math.isnan(rounding):
            raise ProblemError(
                f"margins times steps must be finite numbers; at the step {x:.6g} they overflow, because the largest "
                "margins are too many times the smallest. Scale the features, or leave out those that differ so much."
            )
        if abs(value) <= rounding:
            break
        low, high = (x, high) if value > 0 else (low, x)
        reach = MAX_NEWTON_STEP_FACTOR * max(1.0, abs(x))
        step = -value / slope if slope < 0 and abs(value) < reach * -slope else math.copysign(reach, value)
        if abs(step) <= EPS * abs(x):
            break
        new, slow = x + step, abs(value) > last / 2
        if not math.isfinite(high - low):
            new = x + math.copysign(reach, value) if slow else new
        elif slow or not low < new < high:
            new = low + (high - low) / 2
            if new in (low, high):
                break
        x, last = new, abs(value)
    return x


def solve_simplex_multiplier(
    maximizers: Callable[[Array, Array, Array], Array],
    z: ExampleVector,
    box: tuple[ExampleVector, ExampleVector],
    sum_tol: float,
) -> tuple[float, ExampleVector, ExampleVector]:
    """Return the beta for which the maximizers at z - beta sum to 1, and the maximizers just above and below beta.

    The two maximizers differ by more than rounding if their sum jumps at beta, on a linear piece of f_n. Then a convex
    combination of them has the sum 1 and is a maximizer, too.

    Parameters
    ----------
    maximizers
        A function of y and of a lower and an upper bound of the result, each of shape (N,). It returns the maximizers
        of <y, x> - sum f_n(x_n), which increase with y.
    z
        Arguments, shape (N,).
    box
        The bounds of all maximizers.
    sum_tol
        Tolerance of the sum at the lower end of the bracket.
    """
    high = 1.0 + float(np.abs(z).max())
    low = -high
    x_at_low, x_at_high = maximizers(z - low, *box), maximizers(z - high, *box)
    while x_at_low.sum() < 1.0 - sum_tol and low > -MAX_SIMPLEX_MULTIPLIER:
        low, x_at_low = 2.0 * low, maximizers(z - 2.0 * low, *box)
    while x_at_high.sum() > 1.0 and high < MAX_SIMPLEX_MULTIPLIER:
        high, x_at_high = 2.0 * high, maximizers(z - 2.0 * high, *box)

    def shortage(beta: float) -> float:
        nonlocal x_at_low, x_at_high
        x = maximizers(z - beta, x_at_high, x_at_low)
        missing = 1.0 - float(x.sum())
        if missing <= 0.0:
            x_at_low = x
        else:
            x_at_high = x
        return missing

    return find_root(shortage, low, high), x_at_high, x_at_low
