"""Intervals of float64 numbers that contain the exact results: ends are moved outward after every operation.

An infinite end says that there is no bound. 0 times infinity is then 0: the infinite end itself is no number. What is
certainly not negative stays so, however it is rounded. Where an operation is not defined everything is possible.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.functions.formulas.expressions import ONE, Expression, Factor, FormulaError, Monomial

UNIT = 2.0**-52
"""One rounding of a sum or a product is at most half of this, relative to the result."""

ELEMENTARY_ERROR = 1e-15
"""Relative error of a logarithm, an exponential or a power: four units in the last place."""

SMALLEST = 5e-324
"""The smallest positive float."""

SUBNORMAL = 2e-323
"""Their error where the result is so small that floats have no relative accuracy: four of the smallest floats."""

ROUNDED_ONCE = {2.0: np.square, 0.5: np.sqrt, -1.0: np.reciprocal}
"""Powers that are rounded once, as a product is."""

ROOM = 1e-12
"""Relative distance within which the place at which x^p log x turns is taken to be."""

VANISHING = 1e-300
"""Size below which the sign of an end is looked at before it is moved."""

PAIRWISE_STEPS = 24
"""Additions in which a number takes part in NumPy's pairwise sum, beside one for each doubling of its length."""


@dataclass(frozen=True, eq=False)
class Interval:
    """Numbers between two ends, arrays of one shape or two floats."""

    lower: Any
    upper: Any

    @classmethod
    def round_outward(
        cls, low: Any, high: Any, least: Any = -np.inf, most: Any = np.inf, lost: float = 0.0
    ) -> Interval:
        """Return an interval whose ends may have been rounded, within what is known for certain.

        Half of a unit is lost at most, and the other half covers the rounding of what is subtracted here.
        """
        with np.errstate(all="ignore"):
            share, least_float = UNIT + lost, SUBNORMAL if lost else SMALLEST
            low, high = low - (np.abs(low) * share + least_float), high + (np.abs(high) * share + least_float)
        # fmax and fmin leave out nan, which says that nothing is known.
        return cls(np.fmax(low, least), np.fmin(high, most))

    def __add__(self, other: Interval) -> Interval:
        with np.errstate(all="ignore"):
            low, high = self.lower + other.lower, self.upper + other.upper
        if _may_vanish(low, high):
            positive, negative = (self.lower >= 0) & (other.lower >= 0), (self.upper <= 0) & (other.upper <= 0)
            return Interval.round_outward(low, high, np.where(positive, 0.0, -np.inf), np.where(negative, 0.0, np.inf))
        return Interval.round_outward(low, high)

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __mul__(self, other: Interval) -> Interval:
        if np.min(self.lower) >= 0.0 and np.min(other.lower) >= 0.0:
            with np.errstate(all="ignore"):
                low, high = self.lower * other.lower, self.upper * other.upper
            return Interval.round_outward(low, np.where(np.isnan(high), 0.0, high), 0.0)
        with np.errstate(all="ignore"):
            ends = [x * y for x in self._ends for y in other._ends]
            low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
            if np.isnan(low).any():  # an infinite end is no number: times 0 it is 0
                ends = [np.where(np.isnan(end), 0.0, end) for end in ends]
                low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
        if not _may_vanish(low, high):
            return Interval.round_outward(low, high)
        alike = ((self.lower >= 0) & (other.lower >= 0)) | ((self.upper <= 0) & (other.upper <= 0))
        apart = ((self.lower >= 0) & (other.upper <= 0)) | ((self.upper <= 0) & (other.lower >= 0))
        return Interval.round_outward(low, high, np.where(alike, 0.0, -np.inf), np.where(apart, 0.0, np.inf))

    @property
    def _ends(self) -> tuple[Any, ...]:
        """Both ends; the one number where they are the same object."""
        return (self.lower,) if self.lower is self.upper else (self.lower, self.upper)

    def log(self) -> Interval:
        """Return the logarithm, -inf at 0."""
        with np.errstate(all="ignore"):
            low, high = np.log(self.lower), np.log(self.upper)
        return Interval.round_outward(low, high, lost=ELEMENTARY_ERROR)

    def exp(self) -> Interval:
        """Return the exponential."""
        with np.errstate(all="ignore"):
            return Interval.round_outward(np.exp(self.lower), np.exp(self.upper), 0.0, lost=ELEMENTARY_ERROR)

    def positive(self) -> Interval:
        """Return max(x, 0)."""
        return Interval(np.maximum(self.lower, 0.0), np.maximum(self.upper, 0.0))

    def step(self) -> Interval:
        """Return 0 left of 0, 1 right of it."""
        return Interval(np.where(self.lower > 0, 1.0, 0.0), np.where(self.upper < 0, 0.0, 1.0))

    def power(self, exponent: Fraction) -> Interval:
        """Return a power; of a negative number only a whole one is defined."""
        if exponent == 1:
            return self
        if np.min(self.lower) >= 0.0:
            return self._of_positive(exponent)
        if exponent.denominator != 1:
            undefined = self.lower < 0
            made = self._of_positive(exponent)
            return Interval(np.where(undefined, -np.inf, made.lower), np.where(undefined, np.inf, made.upper))
        mirrored = (-self)._of_positive(exponent)
        mirrored = mirrored if exponent % 2 == 0 else -mirrored
        made, least = self._of_positive(exponent), self.lower >= 0
        # On both sides of 0: even powers are at least 0, negative ones unbounded.
        size = Interval(np.zeros_like(self.lower), np.maximum(np.abs(self.lower), np.abs(self.upper)))._of_positive(
            exponent
        )
        low = np.where(
            least, made.lower, np.where(self.upper <= 0, mirrored.lower, 0.0 if exponent % 2 == 0 else -size.upper)
        )
        return Interval(low, np.where(least, made.upper, np.where(self.upper <= 0, mirrored.upper, size.upper)))

    def _of_positive(self, exponent: Fraction) -> Interval:
        """Return a power where no number is negative."""
        p = float(exponent)
        once = ROUNDED_ONCE.get(p)
        with np.errstate(all="ignore"):
            ends = [once(x) if once else x**p for x in (np.maximum(self.lower, 0.0), np.maximum(self.upper, 0.0))]
        low, high = ends if p > 0 else (ends[1], ends[0])
        return Interval.round_outward(low, high, 0.0, lost=0.0 if once else _lost_by_power(exponent))

    def times_log(self, exponent: Fraction) -> Interval:
        """Return x^p log x for p > 0 and x >= 0: 0 at 0, falling to -1 / (p e) at exp(-1 / p), rising from there."""
        p, least = float(exponent), math.exp(-1.0 / float(exponent))
        with np.errstate(all="ignore"):
            ends = [np.where(x > 0.0, x**p * np.log(x), 0.0) for x in (self.lower, self.upper)]
        turns = (self.lower <= least * (1.0 + ROOM)) & (self.upper >= least * (1.0 - ROOM))
        low = np.where(turns, -(1.0 + ROOM) / (p * math.e), np.minimum(*ends))
        # A power that is next to no float is multiplied by a logarithm of at most 745.
        low, high = low - 745.0 * SUBNORMAL, np.maximum(*ends) + 745.0 * SUBNORMAL
        return Interval.round_outward(low, high, lost=2.0 * ELEMENTARY_ERROR + _lost_by_power(exponent))

    def within(self, other: Interval) -> Interval:
        """Return what two intervals that contain the same number have in common."""
        return Interval(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))

    @property
    def middle(self) -> Any:
        """A number between both ends; nan where both are infinite."""
        with np.errstate(all="ignore"):
            return 0.5 * self.lower + 0.5 * self.upper

    @property
    def is_finite(self) -> Any:
        """Whether both ends are finite, entry by entry."""
        return np.isfinite(self.lower) & np.isfinite(self.upper)

    @property
    def absolute(self) -> Interval:
        """The absolute value."""
        low, high = np.abs(self.lower), np.abs(self.upper)
        return Interval(np.maximum(np.maximum(self.lower, -self.upper), 0.0), np.maximum(low, high))

    def total(self) -> Interval:
        """Return the sum of the entries, shape (n,), as two floats."""
        steps = PAIRWISE_STEPS + math.log2(max(np.size(self.lower), 1))
        with np.errstate(all="ignore"):
            ends = [(np.sum(x), steps * 2.0**-53 * np.sum(np.abs(x))) for x in (self.lower, self.upper)]
            made = Interval.round_outward(ends[0][0] - 1.01 * ends[0][1], ends[1][0] + 1.01 * ends[1][1])
        return Interval(float(made.lower), float(made.upper))


def exact_interval(x: Any) -> Interval:
    """Return floats as intervals."""
    return Interval(x, x)


def enclose_rational(number: Fraction) -> Interval:
    """Return a rational number."""
    x = np.array(float(number))
    exact = Fraction(float(x)) == number
    return exact_interval(x) if exact else Interval(np.nextafter(x, -np.inf), np.nextafter(x, np.inf))


def _may_vanish(low: Any, high: Any) -> bool:
    """Whether an end is so near to 0 that moving it outward may lead beyond."""
    return bool(np.any(np.abs(low) < VANISHING) or np.any(np.abs(high) < VANISHING))


def _lost_by_power(exponent: Fraction) -> float:
    """Return the relative error of a power, with what it changes that the exponent is no float."""
    return ELEMENTARY_ERROR * (1.0 if Fraction(float(exponent)) == exponent else 800.0)


def allowance(value: float, bound: float) -> float:
    """Return what must be added to a value so that it is not below a bound; inf where no such number is known."""
    with np.errstate(all="ignore"):
        added = float(np.nextafter(max(bound - value, 0.0), np.inf)) + 2.0 * UNIT * abs(value)
    return math.inf if math.isnan(added) else added


def enclose(of: Expression, names: Mapping[str, Interval], known: Collection[str] = ()) -> Interval:
    """Return an interval for the values of a sum, the names within theirs; `known` are keys of sums that are >= 0."""
    terms = [_term(term, names, known) for term in of.terms]
    made = sum(terms[1:], start=terms[0]) if terms else exact_interval(np.array(0.0))
    return made.positive() if of.key in known else made


def _term(term: Monomial, names: Mapping[str, Interval], known: Collection[str]) -> Interval:
    """Return an interval for a term: as a product; where that has no end, by logarithms and x log x."""
    factors = [_power(base, power, names, known) for base, power in term.factors]
    if abs(term.coefficient) != ONE or not factors:
        factors.insert(0, enclose_rational(abs(term.coefficient)))
    made = functools.reduce(Interval.__mul__, factors)
    made = made if term.coefficient > 0 else -made
    if not term.factors or np.all(made.is_finite):
        return made
    for shared in _shared_factors(term):
        made = made.within(_of_entropy(term, shared, names, known))
    return made if np.all(made.is_finite) else made.within(_by_logarithms(term, names, known))


Shared = tuple[Factor, Factor, Fraction, Fraction, Monomial]
"""Of a term with the factors log(R X^k) and X^p: the logarithm, X, p, k and R."""


def _shared_factors(term: Monomial) -> Iterable[Shared]:
    """Yield what a term has in common with a logarithm in it of a positive product."""
    for log, exponent in term.factors:
        product = log.arguments[0].single_term if log.kind == "log" and exponent == ONE else None
        if product is None or product.coefficient <= 0:
            continue
        powers = dict(product.factors)
        for X, p in term.factors:
            if X.kind != "log" and p > 0 and X in powers:
                rest = tuple(pair for pair in product.factors if pair[0] != X)
                yield log, X, p, powers[X], Monomial(product.coefficient, rest)


def _of_entropy(term: Monomial, shared: Shared, names: Mapping[str, Interval], known: Collection[str]) -> Interval:
    """Return an interval for a term with X^p log(R X^k) by k X^p log X + X^p log R.

    Where X may be 0, the interval of the product has no end: the logarithm has none.
    """
    log, X, p, k, rest = shared
    x = _base(X, names, known)
    own = x.positive()
    made = own.times_log(p) * enclose_rational(k) + own.power(p) * _logarithm(Expression((rest,)), names, known)
    made = made * enclose_rational(term.coefficient)
    for base, power in term.factors:
        if base not in (log, X):
            made = made * _power(base, power, names, known)
    # Of what may be negative this says nothing.
    return Interval(np.where(x.lower < 0.0, -np.inf, made.lower), np.where(x.lower < 0.0, np.inf, made.upper))


def _by_logarithms(term: Monomial, names: Mapping[str, Interval], known: Collection[str]) -> Interval:
    """Return an interval for a term by the logarithms of its factors: one may underflow where another overflows."""
    negative, parts = np.array(term.coefficient < 0), enclose_rational(abs(term.coefficient)).log()
    certain = np.array(True)
    for base, power in term.factors:
        factor = _base(base, names, known)
        certain = certain & ((factor.lower > 0.0) | ((factor.upper < 0.0) & (power.denominator == 1)))
        negative = negative ^ ((factor.upper < 0.0) & (power.numerator % 2 == 1))
        parts = parts + factor.absolute.log() * enclose_rational(power)
    made = parts.exp()
    low, high = np.where(negative, -made.upper, made.lower), np.where(negative, -made.lower, made.upper)
    return Interval(np.where(certain, low, -np.inf), np.where(certain, high, np.inf))


def _power(base: Factor, power: Fraction, names: Mapping[str, Interval], known: Collection[str]) -> Interval:
    """Return an interval for a power of a base."""
    x = _base(base, names, known)
    if base.kind != "positive":
        return x if base.kind == "step" else x.power(power)
    made = x.power(power)
    # Left of where it begins it is 0, whatever the power is.
    return Interval(np.where(x.lower <= 0.0, 0.0, made.lower), np.where(x.upper <= 0.0, 0.0, made.upper))


def _base(base: Factor, names: Mapping[str, Interval], known: Collection[str]) -> Interval:
    """Return an interval for a base."""
    if base.kind in ("name", "real"):
        return names[base.name]
    if base.kind == "number":
        return enclose_rational(base.number)
    if base.kind == "log":
        return _logarithm(base.arguments[0], names, known)
    inner = enclose(base.arguments[0], names, known)
    if base.kind == "sum":
        return inner
    if base.kind == "exp":
        return inner.exp()
    if base.kind == "step":
        return inner.step()
    if base.kind == "positive":
        return inner.positive()
    if base.kind in ("huber", "clip", "inside"):
        return _of_huber(base.kind, inner, enclose(base.arguments[1], names, known))
    raise FormulaError(f"{base.kind!r} is no part of a formula")


def _logarithm(of: Expression, names: Mapping[str, Interval], known: Collection[str]) -> Interval:
    """Return an interval for a logarithm, that of a product factor by factor where the product is no float."""
    made, product = enclose(of, names, known).log(), of.single_term
    if product is None or product.coefficient <= 0 or np.all(made.is_finite):
        return made
    parts = enclose_rational(product.coefficient).log()
    for base, power in product.factors:
        parts = parts + _base(base, names, known).absolute.log() * enclose_rational(power)
    return made.within(parts)


def _of_huber(kind: str, x: Interval, at: Interval) -> Interval:
    """Return a Huber function, half of its slope, or half of its second derivative."""
    if kind == "huber":
        two = Fraction(2)
        beyond, below = (x + -at).positive(), (-x + -at).positive()
        made = x.power(two) + -beyond.power(two) + -below.power(two)
        return Interval(np.maximum(made.lower, 0.0), made.upper)
    if kind == "clip":
        return Interval(
            np.minimum(np.maximum(x.lower, -at.upper), at.upper), np.minimum(np.maximum(x.upper, -at.upper), at.upper)
        )
    within = (x.upper < at.lower) & (x.lower > -at.lower)
    outside = (x.lower > at.upper) | (x.upper < -at.upper)
    return Interval(np.where(within, 1.0, 0.0), np.where(outside, 0.0, 1.0))
