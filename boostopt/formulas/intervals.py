"""Intervals of float64 numbers that contain the exact results: ends are moved outward after every operation.

An infinite end says that there is no bound. 0 times infinity is then 0: the infinite end itself is no number. What is
certainly not negative stays so, however it is rounded. Where an operation is not defined everything is possible.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.formulas.algebra import Base, FormulaFault, Sum

ELEMENTARY = 1e-15
"""Relative error of a logarithm, an exponential or a power: four units in the last place."""


@dataclass(frozen=True, eq=False)
class Interval:
    """Numbers between two ends, arrays of one shape or two floats."""

    low: Any
    high: Any

    @classmethod
    def outward(cls, low: Any, high: Any, least: Any = -np.inf, most: Any = np.inf, lost: float = 0.0) -> Interval:
        """Return an interval whose ends may have been rounded, within what is known for certain."""
        with np.errstate(all="ignore"):
            low = np.nextafter(np.where(np.isfinite(low), low - lost * np.abs(low), low), -np.inf)
            high = np.nextafter(np.where(np.isfinite(high), high + lost * np.abs(high), high), np.inf)
        low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
        return cls(np.maximum(low, least), np.minimum(high, most))

    def __add__(self, other: Interval) -> Interval:
        with np.errstate(all="ignore"):
            low, high = self.low + other.low, self.high + other.high
        positive, negative = (self.low >= 0) & (other.low >= 0), (self.high <= 0) & (other.high <= 0)
        return Interval.outward(low, high, np.where(positive, 0.0, -np.inf), np.where(negative, 0.0, np.inf))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __mul__(self, other: Interval) -> Interval:
        with np.errstate(all="ignore"):
            ends = [x * y for x in (self.low, self.high) for y in (other.low, other.high)]
        products = np.array([np.where(np.isnan(end), 0.0, end) for end in np.broadcast_arrays(*ends)])
        alike = ((self.low >= 0) & (other.low >= 0)) | ((self.high <= 0) & (other.high <= 0))
        apart = ((self.low >= 0) & (other.high <= 0)) | ((self.high <= 0) & (other.low >= 0))
        least, most = np.where(alike, 0.0, -np.inf), np.where(apart, 0.0, np.inf)
        return Interval.outward(products.min(axis=0), products.max(axis=0), least, most)

    def log(self) -> Interval:
        """Return the logarithm, -inf at 0."""
        with np.errstate(all="ignore"):
            low, high = np.log(self.low), np.log(self.high)
        return Interval.outward(np.where(self.low < 0, -np.inf, low), high, lost=ELEMENTARY)

    def exp(self) -> Interval:
        """Return the exponential."""
        with np.errstate(all="ignore"):
            return Interval.outward(np.exp(self.low), np.exp(self.high), 0.0, lost=ELEMENTARY)

    def positive(self) -> Interval:
        """Return max(x, 0)."""
        return Interval(np.maximum(self.low, 0.0), np.maximum(self.high, 0.0))

    def step(self) -> Interval:
        """Return 0 left of 0, 1 right of it."""
        return Interval(np.where(self.low > 0, 1.0, 0.0), np.where(self.high < 0, 0.0, 1.0))

    def power(self, exponent: Fraction) -> Interval:
        """Return a power; of a negative number only a whole one is defined."""
        if exponent == 1:
            return self
        if exponent.denominator != 1:
            undefined = self.low < 0
            made = self._of_positive(exponent)
            return Interval(np.where(undefined, -np.inf, made.low), np.where(undefined, np.inf, made.high))
        mirrored = (-self)._of_positive(exponent)
        mirrored = mirrored if exponent % 2 == 0 else -mirrored
        made, least = self._of_positive(exponent), self.low >= 0
        # On both sides of 0: even powers are at least 0, negative ones unbounded.
        size = Interval(np.zeros_like(self.low), np.maximum(np.abs(self.low), np.abs(self.high)))._of_positive(exponent)
        low = np.where(
            least, made.low, np.where(self.high <= 0, mirrored.low, 0.0 if exponent % 2 == 0 else -size.high)
        )
        return Interval(low, np.where(least, made.high, np.where(self.high <= 0, mirrored.high, size.high)))

    def _of_positive(self, exponent: Fraction) -> Interval:
        """Return a power where no number is negative."""
        p = float(exponent)
        with np.errstate(all="ignore"):
            ends = np.maximum(self.low, 0.0) ** p, np.maximum(self.high, 0.0) ** p
        low, high = ends if p > 0 else (ends[1], ends[0])
        # A power that is no float is moved by what that may change.
        lost = ELEMENTARY * (1.0 if Fraction(p) == exponent else 800.0)
        return Interval.outward(low, high, 0.0, lost=lost)


def point(x: Any) -> Interval:
    """Return floats as intervals."""
    return Interval(x, x)


def rational(number: Fraction) -> Interval:
    """Return a rational number."""
    x = np.array(float(number))
    exact = Fraction(float(x)) == number
    return point(x) if exact else Interval(np.nextafter(x, -np.inf), np.nextafter(x, np.inf))


def enclosure(of: Sum, names: Mapping[str, Interval], known: Collection[str] = ()) -> Interval:
    """Return an interval for the values of a sum, the names within theirs; `known` are keys of sums that are >= 0."""
    made = point(np.array(0.0))
    for term in of.terms:
        product = rational(term.coefficient)
        for base, power in term.factors:
            product = product * _power(base, power, names, known)
        made = made + product
    return Interval(np.maximum(made.low, 0.0), np.maximum(made.high, 0.0)) if of.key in known else made


def _power(base: Base, power: Fraction, names: Mapping[str, Interval], known: Collection[str]) -> Interval:
    """Return an interval for a power."""
    if base.kind in ("name", "real"):
        return names[base.name].power(power)
    if base.kind == "number":
        return rational(base.number).power(power)
    inner = enclosure(base.inner[0], names, known)
    if base.kind == "sum":
        return inner.power(power)
    if base.kind == "log":
        return inner.log().power(power)
    if base.kind == "exp":
        return inner.exp().power(power)
    if base.kind == "step":
        return inner.step()
    if base.kind == "positive":
        made = inner.positive().power(power)
        # Left of where it begins it is 0, whatever the power is.
        return Interval(np.where(inner.low <= 0, 0.0, made.low), np.where(inner.high <= 0, 0.0, made.high))
    if base.kind in ("huber", "clip", "inside"):
        return _of_huber(base.kind, inner, enclosure(base.inner[1], names, known)).power(power)
    raise FormulaFault(f"{base.kind!r} is no part of a formula")


def _of_huber(kind: str, x: Interval, at: Interval) -> Interval:
    """Return a Huber function, half of its slope, or half of its second derivative."""
    if kind == "huber":
        two = Fraction(2)
        beyond, below = (x + -at).positive(), (-x + -at).positive()
        made = x.power(two) + -beyond.power(two) + -below.power(two)
        return Interval(np.maximum(made.low, 0.0), made.high)
    if kind == "clip":
        return Interval(
            np.minimum(np.maximum(x.low, -at.high), at.high), np.minimum(np.maximum(x.high, -at.high), at.high)
        )
    within = (x.high < at.low) & (x.low > -at.low)
    outside = (x.low > at.high) | (x.high < -at.high)
    return Interval(np.where(within, 1.0, 0.0), np.where(outside, 0.0, 1.0))
