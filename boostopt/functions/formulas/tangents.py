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

from boostopt.functions.formulas.convexity import Formula
from boostopt.functions.formulas.expressions import Sum
from boostopt.functions.formulas.intervals import Interval, enclosure, point
from boostopt.functions.formulas.maximizers import Slope

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

    formula: Formula
    variable: str
    names: Mapping[str, Interval]
    low: Interval
    high: Interval
    slope: Slope

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
        x = self._inside(self.slope.touching(middle, start))
        slope = self.slopes(point(x))
        bounds = self._bounds(y, x, slope)
        unsure = (slope.low < y.high) & (slope.high > y.low)
        with np.errstate(invalid="ignore", over="ignore"):
            lost = float(np.sum((slope.high - slope.low) * (self.high.high - self.low.low), where=unsure))
        if lost <= NEGLIGIBLE * max(1.0, float(np.abs(bounds.high).sum())):
            return bounds
        # Beyond y, towards the middle: then what is not known of the slope is multiplied by the shorter side.
        with np.errstate(invalid="ignore", over="ignore"):
            width = AHEAD * (slope.high - slope.low)
            wanted = middle + np.where(x - self.low.high < self.high.low - x, width, -width)
        moved = self._inside(self.slope.stepped(x, wanted - slope.middle))
        others = self._bounds(y, moved, self.slopes(point(moved)))
        better = others.high < bounds.high
        return Interval(np.where(better, others.low, bounds.low), np.where(better, others.high, bounds.high))

    def _bounds(self, y: Interval, x: np.ndarray, slope: Interval) -> Interval:
        """Return what tangents at x allow."""
        at, excess = point(x), y + -slope
        room = excess.positive() * (self.high + -at) + (-excess).positive() * (at + -self.low)
        return y * at + -self.values(at) + room

    def _inside(self, x: np.ndarray) -> np.ndarray:
        """Return points within the boxes, whatever the rounding of the ends."""
        low, high = self.low.high, self.high.low
        if self.slope.singular[1] and np.any(self.high.low < self.high.high):
            high = high - NEAREST * (high - low)
        return np.clip(x, low, high)

    def _at(self, of: Sum, x: Interval) -> Interval:
        """Return a sum at points."""
        made = enclosure(of, {**self.names, self.variable: x}, self.formula.known)
        ends: Any = np.broadcast_arrays(made.low, made.high, x.low)
        return Interval(ends[0], ends[1])
