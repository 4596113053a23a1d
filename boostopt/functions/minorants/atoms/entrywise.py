"""Smooth functions of one number: exp, log, log1p, entr, logistic, huber and powers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import ELEMENTARY_ERROR, Interval, exact_interval
from boostopt.functions.minorants.atoms.base import Entrywise
from boostopt.functions.minorants.interval_sums import UNIT, interval, reciprocal


class Exponential(Entrywise):
    """e^x."""

    sign = 1

    def values(self, arguments: Sequence[Interval]) -> Interval:
        return arguments[0].exp()

    def slopes(self, points: Float[Array, " m"]) -> Interval:
        return exact_interval(points).exp()


class Logarithm(Entrywise):
    """ln x, concave."""

    sign = -1
    domain_low: ClassVar[float] = 0.0

    def values(self, arguments: Sequence[Interval]) -> Interval:
        return arguments[0].log()

    def slopes(self, points: Float[Array, " m"]) -> Interval:
        return reciprocal(exact_interval(points))

    def intercepts(self, v: Float[Array, " m"], values: Interval, slopes: Interval) -> Interval:
        return values + exact_interval(np.full(len(v), -1.0))


class LogarithmOfOnePlus(Entrywise):
    """ln(1 + x), concave."""

    sign = -1
    domain_low: ClassVar[float] = -1.0

    def values(self, arguments: Sequence[Interval]) -> Interval:
        (x,) = arguments
        with np.errstate(all="ignore"):
            low, high = np.log1p(x.lower), np.log1p(x.upper)
        return Interval.round_outward(np.where(x.lower < -1.0, -np.inf, low), high, relative_error=ELEMENTARY_ERROR)

    def slopes(self, points: Float[Array, " m"]) -> Interval:
        return reciprocal(exact_interval(np.ones(len(points))) + exact_interval(points))


class Entropy(Entrywise):
    """-x ln x, concave."""

    sign = -1
    domain_low: ClassVar[float] = 0.0

    def values(self, arguments: Sequence[Interval]) -> Interval:
        (x,) = arguments
        ends = [_entropy(end) for end in (x.lower, x.upper)]
        peak = (x.lower <= 0.3679) & (x.upper >= 0.3678)
        high = np.maximum(ends[0].upper, ends[1].upper)
        # The largest value is 1/e, rounded up.
        return Interval(
            np.minimum(ends[0].lower, ends[1].lower), np.where(peak, np.maximum(high, 0.36787944117145), high)
        )

    def slopes(self, points: Float[Array, " m"]) -> Interval:
        return -exact_interval(points).log() + exact_interval(np.full(len(points), -1.0))

    def intercepts(self, v: Float[Array, " m"], values: Interval, slopes: Interval) -> Interval:
        return exact_interval(v)


def _entropy(x: Float[Array, " m"]) -> Interval:
    """Return intervals of -x ln x at floats; -inf to inf for negative x."""
    with np.errstate(all="ignore"):
        value = np.where(x == 0.0, 0.0, -x * np.log(x))
    error = (ELEMENTARY_ERROR + 2.0 * UNIT) * np.abs(value)
    enclosure = interval(value, value, error)
    return Interval(np.where(x < 0.0, -np.inf, enclosure.lower), np.where(x < 0.0, np.inf, enclosure.upper))


class Logistic(Entrywise):
    """ln(1 + e^x)."""

    sign = 1

    def values(self, arguments: Sequence[Interval]) -> Interval:
        (x,) = arguments
        low, high = np.logaddexp(0.0, x.lower), np.logaddexp(0.0, x.upper)
        return Interval.round_outward(low, high, 0.0, relative_error=4.0 * ELEMENTARY_ERROR)

    def slopes(self, points: Float[Array, " m"]) -> Interval:
        return reciprocal(exact_interval(np.ones(len(points))) + (-exact_interval(points)).exp())


class Huber(Entrywise):
    """x^2 for |x| <= M, else 2 M |x| - M^2."""

    sign = 1

    def __init__(self, M: float) -> None:
        self.M = M

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = arguments[0].absolute
        ends = [self._value(end) for end in (x.lower, x.upper)]
        return Interval(ends[0].lower, ends[1].upper)

    def _value(self, x: Float[Array, " m"]) -> Interval:
        square = exact_interval(x) * exact_interval(x)
        linear_part = exact_interval(np.full(len(x), self.M)) * (
            exact_interval(2.0 * x) + exact_interval(np.full(len(x), -self.M))
        )
        low, high = (
            np.where(x <= self.M, square.lower, linear_part.lower),
            np.where(x <= self.M, square.upper, linear_part.upper),
        )
        return Interval(np.maximum(low, 0.0), high)

    def slopes(self, points: Float[Array, " m"]) -> Interval:
        return exact_interval(2.0 * np.clip(points, -self.M, self.M))


class Power(Entrywise):
    """x^p: convex for p >= 1 and p < 0, concave between, on x >= 0 unless p is even."""

    def __init__(self, p: float) -> None:
        self.p: float = p
        self.exponent: Fraction = Fraction(p)
        self.even: bool = self.exponent.denominator == 1 and self.exponent % 2 == 0 and p > 0
        self.sign = -1 if 0.0 < p < 1.0 else 1

    @property
    def domain_low(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return -np.inf if self.even or self.p > 1.0 else 0.0

    def values(self, arguments: Sequence[Interval]) -> Interval:
        (x,) = arguments
        powers = x.power(self.exponent)
        if self.even:
            return powers
        outside = x.lower < 0.0 if self.p > 0.0 else x.lower <= 0.0
        clipped_powers = Interval(np.maximum(x.lower, 0.0), np.maximum(x.upper, 0.0)).power(self.exponent)
        if self.sign < 0:
            return Interval(
                np.where(outside, -np.inf, clipped_powers.lower), np.where(x.upper < 0.0, np.inf, clipped_powers.upper)
            )
        return Interval(
            np.where(x.upper < 0.0, -np.inf, clipped_powers.lower), np.where(outside, np.inf, clipped_powers.upper)
        )

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        # A point below 0 by rounding uses the slope at 0.
        clipped_points = points if self.even or self.p < 1.0 else [np.where(points[0] < 0.0, 0.0, points[0])]
        return super().pullback(clipped_points, mu, proposal)

    def slopes(self, points: Float[Array, " m"]) -> Interval:
        p = exact_interval(np.full(len(points), self.p))
        with np.errstate(all="ignore"):
            return p * exact_interval(points).power(self.exponent - 1)

    def intercepts(self, v: Float[Array, " m"], values: Interval, slopes: Interval) -> Interval:
        one_less = exact_interval(np.array(1.0)) + exact_interval(np.array(-self.p))
        return values * Interval(np.full(len(v), float(one_less.lower)), np.full(len(v), float(one_less.upper)))
