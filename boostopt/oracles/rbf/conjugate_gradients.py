"""Minimise a smooth function by conjugate gradients with a line search: for a few steps with few evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float

SUFFICIENT = 1e-4
"""The share of the decrease that the slope promises which a step must bring (Armijo's condition)."""

FLAT = 0.1
"""The share of the first slope that may be left at the end of a line search (Wolfe's condition).

Usual for conjugate gradients. On RBF networks 0.4 saved a quarter of the evaluations and left a larger error.
"""

TRIALS = 6
"""Evaluations of a line search at most; the best point so far is then taken."""

GROWTH = 1.5, 4.0
"""By what factor a step that is too short is lengthened, at least and at most."""

INSIDE = 0.1
"""The share of a bracket that is kept away from at either end."""

Function = Callable[[Float[Array, " n"]], tuple[float, Float[Array, " n"]]]
"""Value and gradient at a point."""


@dataclass(frozen=True, eq=False)
class Descent:
    """The end of a minimisation.

    Attributes
    ----------
    x
        The last point, shape (n,).
    values
        The value at the start and after each step: it never rises. Fewer steps than asked for were taken where no step
        lowers the value any more.
    """

    x: Float[Array, " n"]
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _Point:
    """A point on a line: how far along, value, slope there; the point itself and its gradient."""

    length: float
    value: float
    slope: float
    x: Float[Array, " n"]
    gradient: Float[Array, " n"]


def conjugate_gradients(function: Function, x: Float[Array, " n"], iterations: int, reach: float) -> Descent:
    """Return the point after some steps of conjugate gradients, of Polak and Ribiere with restarts.

    Parameters
    ----------
    function
        Value and gradient at a point. A value that is not finite counts as too large.
    x
        Where to start, shape (n,); the value there must be finite.
    iterations
        Steps at most, from 0.
    reach
        By how much an entry of x may change in a step, positive.

    References
    ----------
    Nocedal and Wright 2006, algorithm 5.4 with (5.44) and (5.45), algorithms 3.5 and 3.6 for the line search.
    """
    value, g = function(x)
    values = [value]
    p, length = -g, math.inf
    while len(values) <= iterations and float(g @ g) > 0:  # squares that vanish are no direction
        slope = float(g @ p)
        steepest = not slope < 0
        if steepest:
            p = -g
            slope = float(g @ p)
        furthest = reach / float(np.abs(p).max())
        # The decrease of the last step is expected again; nothing is known of the first.
        first = 0.1 * furthest if math.isinf(length) else min(length / -slope, furthest)
        lowest = _searched(function, _Point(0.0, value, slope, x, g), p, first, furthest)
        if lowest.length == 0:
            if steepest or np.array_equal(p, -g):
                break
            p, length = -g, math.inf
            continue
        x, value, before, g = lowest.x, lowest.value, g, lowest.gradient
        values.append(value)
        length = lowest.length * -slope
        p = max(0.0, float(g @ (g - before)) / float(before @ before)) * p - g
    return Descent(x, tuple(values))


def _searched(function: Function, start: _Point, p: Float[Array, " n"], length: float, furthest: float) -> _Point:
    """Return the lowest point found along p: the start itself if no other is low enough."""
    low, high = start, None
    for _ in range(TRIALS):
        x = start.x + length * p
        value, gradient = function(x)
        trial = _Point(length, value, float(gradient @ p), x, gradient)
        # Written so that a NaN is too large.
        if not trial.value <= min(start.value + SUFFICIENT * length * start.slope, low.value):
            high = trial
        else:
            ahead = 1.0 if high is None else high.length - trial.length
            if trial.slope * ahead >= 0:  # the minimum lies between the last low point and this one
                high = low
            low = trial
            if abs(low.slope) <= -FLAT * start.slope or (high is None and length >= furthest):
                break
        length = _beyond(low, start.slope, length, furthest) if high is None else _between(low, high)
    return low


def _beyond(low: _Point, first: float, length: float, furthest: float) -> float:
    """Return a longer step: where the slope, drawn as a straight line, is 0, within bounds."""
    flattened = low.slope - first
    factor = -first / flattened if flattened > 0 else math.inf
    return min(furthest, length * min(max(factor, GROWTH[0]), GROWTH[1]))


def _between(low: _Point, high: _Point) -> float:
    """Return where the cubic through both points, slopes included, is smallest, if well inside; else near there."""
    gap, share = high.length - low.length, 0.5
    if math.isfinite(high.value) and math.isfinite(high.slope):
        # Nocedal and Wright 2006, (3.59).
        d1 = low.slope + high.slope - 3 * (high.value - low.value) / gap
        inside = d1 * d1 - low.slope * high.slope
        if inside >= 0:
            d2 = math.copysign(math.sqrt(inside), gap)
            below = high.slope - low.slope + 2 * d2
            share = 1 - (high.slope + d2 - d1) / below if below else 0.5
    return low.length + min(max(share, INSIDE), 1 - INSIDE) * gap
