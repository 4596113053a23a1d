"""Relative entropies of two arguments, x ln(x / y) and x ln(x / y) - x + y.

They are homogeneous, so that their minorants have no offset.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import ELEMENTARY, Interval, point
from boostopt.functions.minorants.atoms.base import Rule
from boostopt.functions.minorants.interval_sums import UNIT, interval, reciprocal


class RelativeEntropyAtom(Rule):
    """x ln(x / y), and with `is_divergence` x ln(x / y) - x + y."""

    sign = 1

    def __init__(self, is_divergence: bool) -> None:
        self.is_divergence = is_divergence

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x, y = arguments
        if np.array_equal(x.low, x.high) and np.array_equal(y.low, y.high):
            return self._value(x.low, y.low)
        # A convex function is largest at a corner.
        corners = [self._value(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
        high = np.max([corner.high for corner in corners], axis=0)
        outside = (x.low < 0.0) | ((y.low <= 0.0) & (x.high > 0.0)) | (y.low < 0.0)
        zeros = np.zeros(len(x.low))
        if self.is_divergence:
            apart = [corner.low for corner in corners]
            low = np.where((x.high < y.low) | (x.low > y.high), np.maximum(self._least(x, y), 0.0), zeros)
            low = np.minimum(low, np.min(apart, axis=0))
        else:
            low = self._least(x, y)
        return Interval(np.where(np.isnan(low), -np.inf, low), np.where(outside, np.inf, high))

    def _least(self, x: Interval, y: Interval) -> Float[Array, " m"]:
        """Return lower ends: at y / e, where x ln(x / y) is smallest, or at an end."""
        at_y = y.high
        ends = [self._value(np.maximum(end, 0.0), at_y).low for end in (x.low, x.high)]
        with np.errstate(all="ignore"):
            bottom = np.where((x.low < 0.37 * at_y) & (x.high > 0.36 * at_y), -0.3678794411715 * at_y, np.inf)
        if self.is_divergence:
            corner = [self._value(np.maximum(a, 0.0), b).low for a in (x.low, x.high) for b in (y.low, y.high)]
            return np.where((x.high < y.low) | (x.low > y.high), np.min(corner, axis=0), 0.0)
        return np.minimum(np.minimum(*ends), bottom)

    def _value(self, x: Float[Array, " m"], y: Float[Array, " m"]) -> Interval:
        """Return intervals of the value at floats."""
        with np.errstate(all="ignore"):
            quotient = x / y
            plain = (quotient > 1e-300) & (quotient < 1e300)
            log = np.where(plain, np.log(quotient), np.log(x) - np.log(y))
            size = np.where(plain, np.abs(log), np.abs(np.log(x)) + np.abs(np.log(y)))
            value, lost = x * log, np.abs(x) * (2.0 * UNIT + (ELEMENTARY + 4.0 * UNIT) * size)
            if self.is_divergence:
                value, lost = value - x + y, lost + 4.0 * UNIT * (np.abs(value) + np.abs(x) + np.abs(y))
            at_zero = (x == 0.0) & (y >= 0.0)
            value, lost = np.where(at_zero, y if self.is_divergence else 0.0, value), np.where(at_zero, 0.0, lost)
        made = interval(np.where(x < 0.0, np.inf, value), np.where(x < 0.0, np.inf, value), lost)
        known = at_zero & np.isfinite(y)
        low, high = np.where(known, value, made.low), np.where(known, value, made.high)
        return Interval(np.maximum(low, 0.0) if self.is_divergence else low, high)

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, raw: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        x, y = points
        if not ((x > 0.0) & (y > 0.0) & np.isfinite(x) & np.isfinite(y)).all():
            return None
        ratio = point(x) * reciprocal(point(y))
        with np.errstate(all="ignore"):
            quotient = x / y
            plain = (quotient > 1e-300) & (quotient < 1e300)
            near = interval(np.log(quotient), np.log(quotient), 2.0 * UNIT + ELEMENTARY * np.abs(np.log(quotient)))
        far = point(x).log() + -point(y).log()
        log = Interval(np.where(plain, near.low, far.low), np.where(plain, near.high, far.high))
        one = point(np.ones(len(x)))
        if self.is_divergence:
            return [mu * log, mu * (one + -ratio)], 0.0
        return [mu * (log + one), mu * -ratio], 0.0
