"""Bounds of a convex formula and of its conjugate that include the rounding of the computed numbers.

Values and slopes are intervals that contain the exact ones. By convexity, for ANY x of the box [l, u] and any bounds
s <= f'(x) <= s' of the slope at x,

    f*(y) <= y x - f(x) + max(y - s, 0) (u - x) + max(s' - y, 0) (x - l).

The end u = c / nu is rounded, so that a tiny distance to u is uncertain. So no tangent is taken next to u.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt.functions.formulas.conjugate_maximizers import MonotoneDerivative
from boostopt.functions.formulas.convexity import ConvexFormula
from boostopt.functions.formulas.expressions import Expression
from boostopt.functions.formulas.intervals import Interval, enclose, exact_interval

MIN_END_DISTANCE = 2.0**-46
"""Distance of tangents to a rounded end with an infinite slope, as a fraction of the box: 128 roundings."""

NEGLIGIBLE_FRACTION = 1e-13
"""Fraction of a bound up to which its looseness is accepted without trying other tangents."""

SLOPE_SHIFT_FACTOR = 1.5
"""Shift of a slope towards the middle of the box, in widths of its interval."""


@dataclass(frozen=True, eq=False)
class Tangents:
    """Tangents of a convex formula on n boxes.

    Attributes
    ----------
    formula
        The formula.
    variable
        The name of its variable.
    names
        The intervals of the other names, shape (n,).
    low, high
        The ends of the boxes, shape (n,).
    slope
        The slope in floats, which determines the points of tangents.
    """

    formula: ConvexFormula
    variable: str
    names: Mapping[str, Interval]
    low: Interval
    high: Interval
    slope: MonotoneDerivative

    def values(self, x: Interval) -> Interval:
        """Enclose f at points in intervals."""
        return self._enclose(self.formula.value, x)

    def slopes(self, x: Interval) -> Interval:
        """Enclose f' at points in intervals."""
        return self._enclose(self.formula.slope, x)

    def conjugates(self, y: Interval, start: np.ndarray | None = None) -> Interval:
        """Return intervals whose upper bounds are conjugate bounds: numbers not below f*(y).

        Parameters
        ----------
        y
            The arguments, shape (n,).
        start
            First points of the search for points with slope y, shape (n,).
        """
        middle = y.middle
        x = self._inside(self.slope.tangent_points(middle, start))
        slope = self.slopes(exact_interval(x))
        bounds = self._bounds(y, x, slope)
        is_uncertain = (slope.lower < y.upper) & (slope.upper > y.lower)
        with np.errstate(invalid="ignore", over="ignore"):
            looseness = float(
                np.sum((slope.upper - slope.lower) * (self.high.upper - self.low.lower), where=is_uncertain)
            )
        if looseness <= NEGLIGIBLE_FRACTION * max(1.0, float(np.abs(bounds.upper).sum())):
            return bounds
        # A slope beyond y, towards the middle: its uncertainty is then multiplied by the shorter side of the box.
        with np.errstate(invalid="ignore", over="ignore"):
            width = SLOPE_SHIFT_FACTOR * (slope.upper - slope.lower)
            target_slope = middle + np.where(x - self.low.upper < self.high.lower - x, width, -width)
        shifted = self._inside(self.slope.newton_step(x, target_slope - slope.middle))
        shifted_bounds = self._bounds(y, shifted, self.slopes(exact_interval(shifted)))
        is_better = shifted_bounds.upper < bounds.upper
        return Interval(
            np.where(is_better, shifted_bounds.lower, bounds.lower),
            np.where(is_better, shifted_bounds.upper, bounds.upper),
        )

    def _bounds(self, y: Interval, x: np.ndarray, slope: Interval) -> Interval:
        """Return the bounds by tangents at x."""
        points, excess = exact_interval(x), y + -slope
        room = excess.positive() * (self.high + -points) + (-excess).positive() * (points + -self.low)
        return y * points + -self.values(points) + room

    def _inside(self, x: np.ndarray) -> np.ndarray:
        """Return x clipped to points that are certainly within the boxes."""
        low, high = self.low.upper, self.high.lower
        if self.slope.is_singular_at[1] and np.any(self.high.lower < self.high.upper):
            high = high - MIN_END_DISTANCE * (high - low)
        return np.clip(x, low, high)

    def _enclose(self, expression: Expression, x: Interval) -> Interval:
        """Enclose an expression at points."""
        enclosure = enclose(expression, {**self.names, self.variable: x}, self.formula.nonnegative_keys)
        ends: Any = np.broadcast_arrays(enclosure.lower, enclosure.upper, x.lower)
        return Interval(ends[0], ends[1])
