"""What a convex formula and its conjugate may be, with the rounding of the very numbers that were used.

Values and slopes are intervals that contain the exact ones. By convexity, for ANY x of the box [l, u] and any slopes
s <= f'(x) <= s' that are known there,

    f*(y) <= y x - f(x) + max(y - s, 0) (u - x) + max(s' - y, 0) (x - l).

The end u = c / nu is rounded: next to it, a distance to it is not known. So no tangent is taken there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt.functions.formulas.convexity import ConvexFormula
from boostopt.functions.formulas.expressions import Expression
from boostopt.functions.formulas.intervals import Interval, enclose, exact_interval
from boostopt.functions.formulas.maximizers import MonotoneDerivative

NEAREST = 2.0**-46
"""Distance of tangents from an end that is rounded and infinitely steep, as a share of the box: 128 roundings."""

NEGLIGIBLE = 1e-13
"""Share of a bound that is not worth other tangents."""

AHEAD = 1.5
"""By how much of the width of its interval a slope is moved towards the middle of the box."""


@dataclass(frozen=True, eq=False)
class Tangents:
    """A convex formula on boxes, with intervals for whatever is computed of it.

    Attributes
    ----------
    formula
        The formula.
    variable
        The name of its variable.
    names
        What the other names stand for, shape (n,).
    low, high
        The ends of the boxes, shape (n,).
    slope
        The slope in floats, which finds the points of tangents.
    """

    formula: ConvexFormula
    variable: str
    names: Mapping[str, Interval]
    low: Interval
    high: Interval
    slope: MonotoneDerivative

    def values(self, x: Interval) -> Interval:
        """Return f at points that are known as intervals."""
        return self._at(self.formula.value, x)

    def slopes(self, x: Interval) -> Interval:
        """Return f' at points that are known as intervals."""
        return self._at(self.formula.slope, x)

    def conjugates(self, y: Interval, start: np.ndarray | None = None) -> Interval:
        """Return intervals that contain numbers not below f*(y): their upper ends are bounds.

        Parameters
        ----------
        y
            Where, shape (n,).
        start
            Points at which the slopes are about y; found where there are none.
        """
        middle = y.middle
        x = self._inside(self.slope.tangent_points(middle, start))
        slope = self.slopes(exact_interval(x))
        bounds = self._bounds(y, x, slope)
        unsure = (slope.lower < y.upper) & (slope.upper > y.lower)
        with np.errstate(invalid="ignore", over="ignore"):
            lost = float(np.sum((slope.upper - slope.lower) * (self.high.upper - self.low.lower), where=unsure))
        if lost <= NEGLIGIBLE * max(1.0, float(np.abs(bounds.upper).sum())):
            return bounds
        # Beyond y, towards the middle: then what is not known of the slope is multiplied by the shorter side.
        with np.errstate(invalid="ignore", over="ignore"):
            width = AHEAD * (slope.upper - slope.lower)
            wanted = middle + np.where(x - self.low.upper < self.high.lower - x, width, -width)
        moved = self._inside(self.slope.stepped(x, wanted - slope.middle))
        others = self._bounds(y, moved, self.slopes(exact_interval(moved)))
        better = others.upper < bounds.upper
        return Interval(np.where(better, others.lower, bounds.lower), np.where(better, others.upper, bounds.upper))

    def _bounds(self, y: Interval, x: np.ndarray, slope: Interval) -> Interval:
        """Return what tangents at x allow."""
        at, excess = exact_interval(x), y + -slope
        room = excess.positive() * (self.high + -at) + (-excess).positive() * (at + -self.low)
        return y * at + -self.values(at) + room

    def _inside(self, x: np.ndarray) -> np.ndarray:
        """Return points within the boxes, whatever the rounding of the ends."""
        low, high = self.low.upper, self.high.lower
        if self.slope.infinite_at[1] and np.any(self.high.lower < self.high.upper):
            high = high - NEAREST * (high - low)
        return np.clip(x, low, high)

    def _at(self, of: Expression, x: Interval) -> Interval:
        """Return a sum at points."""
        made = enclose(of, {**self.names, self.variable: x}, self.formula.known)
        ends: Any = np.broadcast_arrays(made.lower, made.upper, x.lower)
        return Interval(ends[0], ends[1])
