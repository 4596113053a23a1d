"""Minimization of a smooth function by conjugate gradients: few steps, with few evaluations in each line search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float

ARMIJO_FRACTION = 1e-4
"""Fraction of the decrease predicted by the slope that a step must reach (Armijo's condition)."""

WOLFE_FRACTION = 0.1
"""Fraction of the initial slope that is allowed at the end of a line search (Wolfe's condition).

The value is usual for conjugate gradients. On RBF networks, 0.4 saved a quarter of the evaluations and left a
larger error.
"""

MAX_TRIALS = 6
"""Largest number of evaluations of a line search; the best point so far is then the result."""

GROWTH_FACTORS = 1.5, 4.0
"""Smallest and largest factor by which a step that is too short is extended."""

BRACKET_FRACTION = 0.1
"""Fraction of a bracket at either end that contains no trial point."""

Function = Callable[[Float[Array, " n"]], tuple[float, Float[Array, " n"]]]
"""A function that returns its value and its gradient at a point."""


@dataclass(frozen=True, eq=False)
class Descent:
    """The result of a minimization.

    Attributes
    ----------
    x
        The last point, shape (n,).
    values
        The value at the start and after each step; it never increases. There are fewer steps than requested if no step
        decreases the value any more.
    """

    x: Float[Array, " n"]
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _Point:
    """A point on a line.

    Attributes
    ----------
    length, value, slope
        The step length, the value of the function and its slope along the line.
    x, gradient
        The point and the gradient.
    """

    length: float
    value: float
    slope: float
    x: Float[Array, " n"]
    gradient: Float[Array, " n"]


def conjugate_gradients(function: Function, x: Float[Array, " n"], iterations: int, max_change: float) -> Descent:
    """Return the point after some steps of conjugate gradients, of Polak and Ribiere with restarts.

    Parameters
    ----------
    function
        Value and gradient at a point. A value that is not finite counts as too large.
    x
        The start, shape (n,); its value must be finite.
    iterations
        Largest number of steps, from 0.
    max_change
        The largest change of an entry of x in a step, positive.

    References
    ----------
    Nocedal and Wright 2006, algorithm 5.4 with (5.44) and (5.45), algorithms 3.5 and 3.6 for the line search.
    """
    value, gradient = function(x)
    values = [value]
    direction, length = -gradient, math.inf
    while (
        len(values) <= iterations and float(gradient @ gradient) > 0
    ):  # a gradient with vanishing squares gives no direction
        slope = float(gradient @ direction)
        steepest = not slope < 0
        if steepest:
            direction = -gradient
            slope = float(gradient @ direction)
        max_length = max_change / float(np.abs(direction).max())
        # Expect the same decrease as in the last step; the first step has no such estimate.
        first = 0.1 * max_length if math.isinf(length) else min(length / -slope, max_length)
        best = _search_line(function, _Point(0.0, value, slope, x, gradient), direction, first, max_length)
        if best.length == 0:
            if steepest or np.array_equal(direction, -gradient):
                break
            direction, length = -gradient, math.inf
            continue
        x, value, last_gradient, gradient = best.x, best.value, gradient, best.gradient
        values.append(value)
        length = best.length * -slope
        direction = (
            max(0.0, float(gradient @ (gradient - last_gradient)) / float(last_gradient @ last_gradient)) * direction
            - gradient
        )
    return Descent(x, tuple(values))


def _search_line(function: Function, start: _Point, p: Float[Array, " n"], length: float, max_length: float) -> _Point:
    """Return the lowest trial point along a direction; the start itself if no other point is low enough."""
    low, high = start, None
    for _ in range(MAX_TRIALS):
        x = start.x + length * p
        value, gradient = function(x)
        trial = _Point(length, value, float(gradient @ p), x, gradient)
        # In this form, a NaN counts as too large.
        if not trial.value <= min(start.value + ARMIJO_FRACTION * length * start.slope, low.value):
            high = trial
        else:
            direction_to_high = 1.0 if high is None else high.length - trial.length
            if trial.slope * direction_to_high >= 0:  # the minimum lies between the last low point and this one
                high = low
            low = trial
            if abs(low.slope) <= -WOLFE_FRACTION * start.slope or (high is None and length >= max_length):
                break
        length = _extrapolate(low, start.slope, length, max_length) if high is None else _interpolate(low, high)
    return low


def _extrapolate(low: _Point, start_slope: float, length: float, max_length: float) -> float:
    """Return a longer step, to the zero of the linearly extrapolated slope, within bounds."""
    slope_change = low.slope - start_slope
    factor = -start_slope / slope_change if slope_change > 0 else math.inf
    return min(max_length, length * min(max(factor, GROWTH_FACTORS[0]), GROWTH_FACTORS[1]))


def _interpolate(low: _Point, high: _Point) -> float:
    """Return the minimizer of the cubic through both points and slopes, kept away from the ends of the bracket."""
    length_change, fraction = high.length - low.length, 0.5
    if math.isfinite(high.value) and math.isfinite(high.slope):
        # Nocedal and Wright 2006, (3.59).
        d1 = low.slope + high.slope - 3 * (high.value - low.value) / length_change
        discriminant = d1 * d1 - low.slope * high.slope
        if discriminant >= 0:
            d2 = math.copysign(math.sqrt(discriminant), length_change)
            denominator = high.slope - low.slope + 2 * d2
            fraction = 1 - (high.slope + d2 - d1) / denominator if denominator else 0.5
    return low.length + min(max(fraction, BRACKET_FRACTION), 1 - BRACKET_FRACTION) * length_change
