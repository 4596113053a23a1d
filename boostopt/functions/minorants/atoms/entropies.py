"""Relative entropies of two arguments, x ln(x / y) and x ln(x / y) - x + y.

Both are positively homogeneous, so that their minorants have no offset.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import ELEMENTARY_ERROR, Interval, exact_interval
from boostopt.functions.minorants.atoms.base import AtomRule
from boostopt.functions.minorants.interval_sums import UNIT, interval, reciprocal


class RelativeEntropyAtom(AtomRule):
    """x ln(x / y); with `is_divergence`, x ln(x / y) - x + y."""

    sign = 1

    def __init__(self, is_divergence: bool) -> None:
        self.is_divergence = is_divergence

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x, y = arguments
        if np.array_equal(x.lower, x.upper) and np.array_equal(y.lower, y.upper):
            return self._value(x.lower, y.lower)
        # The maximum of a convex function over a box lies at a corner.
        corners = [self._value(a, b) for a in (x.lower, x.upper) for b in (y.lower, y.upper)]
        high = np.max([corner.upper for corner in corners], axis=0)
        outside = (x.lower < 0.0) | ((y.lower <= 0.0) & (x.upper > 0.0)) | (y.lower < 0.0)
        zeros = np.zeros(len(x.lower))
        if self.is_divergence:
            corner_values = [corner.lower for corner in corners]
            low = np.where((x.upper < y.lower) | (x.lower > y.upper), np.maximum(self._lower_bounds(x, y), 0.0), zeros)
            low = np.minimum(low, np.min(corner_values, axis=0))
        else:
            low = self._lower_bounds(x, y)
        return Interval(np.where(np.isnan(low), -np.inf, low), np.where(outside, np.inf, high))

    def _lower_bounds(self, x: Interval, y: Interval) -> Float[Array, " m"]:
        """Return lower bounds: at x = y / e, where x ln(x / y) is smallest, or at an end of x."""
        max_y = y.upper
        end_values = [self._value(np.maximum(end, 0.0), max_y).lower for end in (x.lower, x.upper)]
        with np.errstate(all="ignore"):
            minimum = np.where((x.lower < 0.37 * max_y) & (x.upper > 0.36 * max_y), -0.3678794411715 * max_y, np.inf)
        if self.is_divergence:
            corner_values = [
                self._value(np.maximum(a, 0.0), b).lower for a in (x.lower, x.upper) for b in (y.lower, y.upper)
            ]
            return np.where((x.upper < y.lower) | (x.lower > y.upper), np.min(corner_values, axis=0), 0.0)
        return np.minimum(np.minimum(*end_values), minimum)

    def _value(self, x: Float[Array, " m"], y: Float[Array, " m"]) -> Interval:
        """Return intervals of the value at floats."""
        with np.errstate(all="ignore"):
            quotient = x / y
            is_representable = (quotient > 1e-300) & (quotient < 1e300)
            log = np.where(is_representable, np.log(quotient), np.log(x) - np.log(y))
            size = np.where(is_representable, np.abs(log), np.abs(np.log(x)) + np.abs(np.log(y)))
            value, error = x * log, np.abs(x) * (2.0 * UNIT + (ELEMENTARY_ERROR + 4.0 * UNIT) * size)
            if self.is_divergence:
                value, error = value - x + y, error + 4.0 * UNIT * (np.abs(value) + np.abs(x) + np.abs(y))
            is_zero = (x == 0.0) & (y >= 0.0)
            value, error = np.where(is_zero, y if self.is_divergence else 0.0, value), np.where(is_zero, 0.0, error)
        enclosure = interval(np.where(x < 0.0, np.inf, value), np.where(x < 0.0, np.inf, value), error)
        is_exact = is_zero & np.isfinite(y)
        low, high = np.where(is_exact, value, enclosure.lower), np.where(is_exact, value, enclosure.upper)
        return Interval(np.maximum(low, 0.0) if self.is_divergence else low, high)

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        x, y = points
        if not ((x > 0.0) & (y > 0.0) & np.isfinite(x) & np.isfinite(y)).all():
            return None
        ratio = exact_interval(x) * reciprocal(exact_interval(y))
        with np.errstate(all="ignore"):
            quotient = x / y
            is_representable = (quotient > 1e-300) & (quotient < 1e300)
            log_quotient = interval(
                np.log(quotient), np.log(quotient), 2.0 * UNIT + ELEMENTARY_ERROR * np.abs(np.log(quotient))
            )
        log_difference = exact_interval(x).log() + -exact_interval(y).log()
        log = Interval(
            np.where(is_representable, log_quotient.lower, log_difference.lower),
            np.where(is_representable, log_quotient.upper, log_difference.upper),
        )
        one = exact_interval(np.ones(len(x)))
        if self.is_divergence:
            return [mu * log, mu * (one + -ratio)], 0.0
        return [mu * (log + one), mu * -ratio], 0.0
