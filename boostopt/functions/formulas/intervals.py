"""Interval arithmetic in float64: every operation rounds its ends outward, so that intervals contain exact results.

An infinite end means that there is no bound on this side. So 0 times an infinite end is 0. Rounding never makes an end
negative if the exact number is certainly not negative. If an operation is not defined, the interval is the whole line.
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
"""Relative spacing of floats. A sum or a product has a relative rounding error of at most half of it."""

ELEMENTARY_ERROR = 1e-15
"""Relative error of a logarithm, an exponential or a power: four units in the last place."""

SMALLEST = 5e-324
"""The smallest positive float."""

SUBNORMAL = 2e-323
"""Absolute error of such functions for subnormal results: four times the smallest float."""

CORRECTLY_ROUNDED_POWERS = {2.0: np.square, 0.5: np.sqrt, -1.0: np.reciprocal}
"""Powers that are rounded as accurately as a product, by their exponents."""

TURNING_POINT_RTOL = 1e-12
"""Relative tolerance of the point at which x^p log x is smallest."""

SIGN_CHECK_SIZE = 1e-300
"""Absolute value of an end below which its sign is determined before it is rounded outward."""

PAIRWISE_STEPS = 24
"""Number of additions of a number in NumPy's pairwise sum, in addition to one for each doubling of the length."""


@dataclass(frozen=True, eq=False)
class Interval:
    """The numbers between two ends.

    Attributes
    ----------
    lower, upper
        The ends, arrays of one shape or two floats.
    """

    lower: Any
    upper: Any

    @classmethod
    def round_outward(
        cls, low: Any, high: Any, min_value: Any = -np.inf, max_value: Any = np.inf, relative_error: float = 0.0
    ) -> Interval:
        """Return an interval around computed ends that contains the exact ones.

        Parameters
        ----------
        low, high
            The ends, rounded once or with a relative error of at most `relative_error`.
        min_value, max_value
            Certain bounds of the exact numbers.
        relative_error
            The relative error of the ends beyond one rounding. One rounding is at most half of `UNIT`. The other half
            covers the rounding of the subtraction in this method.
        """
        with np.errstate(all="ignore"):
            relative_step, least_float = UNIT + relative_error, SUBNORMAL if relative_error else SMALLEST
            low, high = (
                low - (np.abs(low) * relative_step + least_float),
                high + (np.abs(high) * relative_step + least_float),
            )
        # fmax and fmin ignore nan, an end without a bound.
        return cls(np.fmax(low, min_value), np.fmin(high, max_value))

    def __add__(self, addend: Interval) -> Interval:
        with np.errstate(all="ignore"):
            low, high = self.lower + addend.lower, self.upper + addend.upper
        if _may_vanish(low, high):
            positive, negative = (self.lower >= 0) & (addend.lower >= 0), (self.upper <= 0) & (addend.upper <= 0)
            return Interval.round_outward(low, high, np.where(positive, 0.0, -np.inf), np.where(negative, 0.0, np.inf))
        return Interval.round_outward(low, high)

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __mul__(self, factor: Interval) -> Interval:
        if np.min(self.lower) >= 0.0 and np.min(factor.lower) >= 0.0:
            with np.errstate(all="ignore"):
                low, high = self.lower * factor.lower, self.upper * factor.upper
            return Interval.round_outward(low, np.where(np.isnan(high), 0.0, high), 0.0)
        with np.errstate(all="ignore"):
            ends = [x * y for x in self._ends for y in factor._ends]
            low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
            if np.isnan(low).any():  # 0 times an infinite end is 0
                ends = [np.where(np.isnan(end), 0.0, end) for end in ends]
                low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
        if not _may_vanish(low, high):
            return Interval.round_outward(low, high)
        same_sign = ((self.lower >= 0) & (factor.lower >= 0)) | ((self.upper <= 0) & (factor.upper <= 0))
        opposite = ((self.lower >= 0) & (factor.upper <= 0)) | ((self.upper <= 0) & (factor.lower >= 0))
        return Interval.round_outward(low, high, np.where(same_sign, 0.0, -np.inf), np.where(opposite, 0.0, np.inf))

    @property
    def _ends(self) -> tuple[Any, ...]:
        """Both bounds, or one of them if both are the same object."""
        return (self.lower,) if self.lower is self.upper else (self.lower, self.upper)

    def log(self) -> Interval:
        """Return the logarithm, -inf at 0."""
        with np.errstate(all="ignore"):
            low, high = np.log(self.lower), np.log(self.upper)
        return Interval.round_outward(low, high, relative_error=ELEMENTARY_ERROR)

    def exp(self) -> Interval:
        """Return the exponential."""
        with np.errstate(all="ignore"):
            return Interval.round_outward(np.exp(self.lower), np.exp(self.upper), 0.0, relative_error=ELEMENTARY_ERROR)

    def positive(self) -> Interval:
        """Return max(x, 0)."""
        return Interval(np.maximum(self.lower, 0.0), np.maximum(self.upper, 0.0))

    def step(self) -> Interval:
        """Return the step function: 0 for x < 0 and 1 for x > 0."""
        return Interval(np.where(self.lower > 0, 1.0, 0.0), np.where(self.upper < 0, 0.0, 1.0))

    def power(self, exponent: Fraction) -> Interval:
        """Return a power. Negative numbers have integer powers only."""
        if exponent == 1:
            return self
        if np.min(self.lower) >= 0.0:
            return self._nonnegative_power(exponent)
        if exponent.denominator != 1:
            undefined = self.lower < 0
            result = self._nonnegative_power(exponent)
            return Interval(np.where(undefined, -np.inf, result.lower), np.where(undefined, np.inf, result.upper))
        mirrored = (-self)._nonnegative_power(exponent)
        mirrored = mirrored if exponent % 2 == 0 else -mirrored
        result, nonnegative = self._nonnegative_power(exponent), self.lower >= 0
        # If x may have both signs, even powers are at least 0 and negative powers are unbounded.
        size = Interval(
            np.zeros_like(self.lower), np.maximum(np.abs(self.lower), np.abs(self.upper))
        )._nonnegative_power(exponent)
        low = np.where(
            nonnegative,
            result.lower,
            np.where(self.upper <= 0, mirrored.lower, 0.0 if exponent % 2 == 0 else -size.upper),
        )
        return Interval(low, np.where(nonnegative, result.upper, np.where(self.upper <= 0, mirrored.upper, size.upper)))

    def _nonnegative_power(self, exponent: Fraction) -> Interval:
        """Return a power of numbers that are not negative."""
        p = float(exponent)
        function = CORRECTLY_ROUNDED_POWERS.get(p)
        with np.errstate(all="ignore"):
            ends = [
                function(x) if function else x**p for x in (np.maximum(self.lower, 0.0), np.maximum(self.upper, 0.0))
            ]
        low, high = ends if p > 0 else (ends[1], ends[0])
        return Interval.round_outward(low, high, 0.0, relative_error=0.0 if function else _power_error(exponent))

    def times_log(self, exponent: Fraction) -> Interval:
        """Return x^p log x for p > 0 and x >= 0: 0 at 0, falling to -1 / (p e) at exp(-1 / p), rising from there."""
        p, turning_point = float(exponent), math.exp(-1.0 / float(exponent))
        with np.errstate(all="ignore"):
            ends = [np.where(x > 0.0, x**p * np.log(x), 0.0) for x in (self.lower, self.upper)]
        turns = (self.lower <= turning_point * (1.0 + TURNING_POINT_RTOL)) & (
            self.upper >= turning_point * (1.0 - TURNING_POINT_RTOL)
        )
        low = np.where(turns, -(1.0 + TURNING_POINT_RTOL) / (p * math.e), np.minimum(*ends))
        # The error of a subnormal power is multiplied by a logarithm of at most 745.
        low, high = low - 745.0 * SUBNORMAL, np.maximum(*ends) + 745.0 * SUBNORMAL
        return Interval.round_outward(low, high, relative_error=2.0 * ELEMENTARY_ERROR + _power_error(exponent))

    def intersection(self, enclosure: Interval) -> Interval:
        """Return the intersection with another interval that contains the same numbers."""
        return Interval(np.maximum(self.lower, enclosure.lower), np.minimum(self.upper, enclosure.upper))

    @property
    def middle(self) -> Any:
        """A number between both bounds; nan for (-inf, inf)."""
        with np.errstate(all="ignore"):
            return 0.5 * self.lower + 0.5 * self.upper

    @property
    def is_finite(self) -> Any:
        """True if both bounds are finite, entry by entry."""
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
            enclosure = Interval.round_outward(ends[0][0] - 1.01 * ends[0][1], ends[1][0] + 1.01 * ends[1][1])
        return Interval(float(enclosure.lower), float(enclosure.upper))


def exact_interval(x: Any) -> Interval:
    """Return the intervals that contain one float each."""
    return Interval(x, x)


def enclose_rational(number: Fraction) -> Interval:
    """Return an interval that contains a rational number."""
    x = np.array(float(number))
    exact = Fraction(float(x)) == number
    return exact_interval(x) if exact else Interval(np.nextafter(x, -np.inf), np.nextafter(x, np.inf))


def _may_vanish(low: Any, high: Any) -> bool:
    """Return whether an end is so near to 0 that outward rounding may change its sign."""
    return bool(np.any(np.abs(low) < SIGN_CHECK_SIZE) or np.any(np.abs(high) < SIGN_CHECK_SIZE))


def _power_error(exponent: Fraction) -> float:
    """Return the relative error of a power, including the rounding of its exponent."""
    return ELEMENTARY_ERROR * (1.0 if Fraction(float(exponent)) == exponent else 800.0)


def allowance(value: float, bound: float) -> float:
    """Return a slack for which value + slack >= bound; inf if there is no such number."""
    with np.errstate(all="ignore"):
        slack = float(np.nextafter(max(bound - value, 0.0), np.inf)) + 2.0 * UNIT * abs(value)
    return math.inf if math.isnan(slack) else slack


def enclose(expression: Expression, names: Mapping[str, Interval], nonnegative_keys: Collection[str] = ()) -> Interval:
    """Return an interval of an expression for names in intervals. Sums with `nonnegative_keys` are at least 0."""
    terms = [_enclose_term(term, names, nonnegative_keys) for term in expression.terms]
    total = sum(terms[1:], start=terms[0]) if terms else exact_interval(np.array(0.0))
    return total.positive() if expression.key in nonnegative_keys else total


def _enclose_term(term: Monomial, names: Mapping[str, Interval], nonnegative_keys: Collection[str]) -> Interval:
    """Enclose a term as a product and, if this gives an infinite end, also by x log x and by logarithms."""
    factors = [_enclose_power(base, power, names, nonnegative_keys) for base, power in term.factors]
    if abs(term.coefficient) != ONE or not factors:
        factors.insert(0, enclose_rational(abs(term.coefficient)))
    product = functools.reduce(Interval.__mul__, factors)
    product = product if term.coefficient > 0 else -product
    if not term.factors or np.all(product.is_finite):
        return product
    for entropy_factors in _entropy_factors(term):
        product = product.intersection(_enclose_entropy(term, entropy_factors, names, nonnegative_keys))
    return (
        product
        if np.all(product.is_finite)
        else product.intersection(_enclose_by_logarithms(term, names, nonnegative_keys))
    )


EntropyFactors = tuple[Factor, Factor, Fraction, Fraction, Monomial]
"""The logarithm, X, p, k and R of a term with the factors log(R X^k) and X^p."""


def _entropy_factors(term: Monomial) -> Iterable[EntropyFactors]:
    """Yield the factors X^p of a term that also occur in a logarithm of a positive product in this term."""
    for log, exponent in term.factors:
        product = log.arguments[0].single_term if log.kind == "log" and exponent == ONE else None
        if product is None or product.coefficient <= 0:
            continue
        powers = dict(product.factors)
        for X, p in term.factors:
            if X.kind != "log" and p > 0 and X in powers:
                rest = tuple(pair for pair in product.factors if pair[0] != X)
                yield log, X, p, powers[X], Monomial(product.coefficient, rest)


def _enclose_entropy(
    term: Monomial, factors: EntropyFactors, names: Mapping[str, Interval], nonnegative_keys: Collection[str]
) -> Interval:
    """Enclose a term with X^p log(R X^k) by k X^p log X + X^p log R.

    If X may be 0, the product of the two intervals is unbounded, because the logarithm is.
    """
    log, X, p, k, rest = factors
    x = _enclose_base(X, names, nonnegative_keys)
    base = x.positive()
    product = base.times_log(p) * enclose_rational(k) + base.power(p) * _enclose_logarithm(
        Expression((rest,)), names, nonnegative_keys
    )
    product = product * enclose_rational(term.coefficient)
    for base, power in term.factors:
        if base not in (log, X):
            product = product * _enclose_power(base, power, names, nonnegative_keys)
    # The identity holds for X >= 0 only.
    return Interval(np.where(x.lower < 0.0, -np.inf, product.lower), np.where(x.lower < 0.0, np.inf, product.upper))


def _enclose_by_logarithms(
    term: Monomial, names: Mapping[str, Interval], nonnegative_keys: Collection[str]
) -> Interval:
    """Enclose a term by the logarithms of its factors, because one factor may underflow while another overflows."""
    negative, parts = np.array(term.coefficient < 0), enclose_rational(abs(term.coefficient)).log()
    certain = np.array(True)
    for base, power in term.factors:
        factor = _enclose_base(base, names, nonnegative_keys)
        certain = certain & ((factor.lower > 0.0) | ((factor.upper < 0.0) & (power.denominator == 1)))
        negative = negative ^ ((factor.upper < 0.0) & (power.numerator % 2 == 1))
        parts = parts + factor.absolute.log() * enclose_rational(power)
    product = parts.exp()
    low, high = np.where(negative, -product.upper, product.lower), np.where(negative, -product.lower, product.upper)
    return Interval(np.where(certain, low, -np.inf), np.where(certain, high, np.inf))


def _enclose_power(
    base: Factor, power: Fraction, names: Mapping[str, Interval], nonnegative_keys: Collection[str]
) -> Interval:
    """Enclose a power of a base."""
    x = _enclose_base(base, names, nonnegative_keys)
    if base.kind != "positive":
        return x if base.kind == "step" else x.power(power)
    result = x.power(power)
    # Where the argument is negative, every power of the positive part is 0.
    return Interval(np.where(x.lower <= 0.0, 0.0, result.lower), np.where(x.upper <= 0.0, 0.0, result.upper))


def _enclose_base(base: Factor, names: Mapping[str, Interval], nonnegative_keys: Collection[str]) -> Interval:
    """Enclose a base."""
    if base.kind in ("name", "real"):
        return names[base.name]
    if base.kind == "number":
        return enclose_rational(base.number)
    if base.kind == "log":
        return _enclose_logarithm(base.arguments[0], names, nonnegative_keys)
    inner = enclose(base.arguments[0], names, nonnegative_keys)
    if base.kind == "sum":
        return inner
    if base.kind == "exp":
        return inner.exp()
    if base.kind == "step":
        return inner.step()
    if base.kind == "positive":
        return inner.positive()
    if base.kind in ("huber", "clip", "inside"):
        return _enclose_huber(base.kind, inner, enclose(base.arguments[1], names, nonnegative_keys))
    raise FormulaError(f"{base.kind!r} is no part of a formula")


def _enclose_logarithm(
    argument: Expression, names: Mapping[str, Interval], nonnegative_keys: Collection[str]
) -> Interval:
    """Enclose a logarithm; if a product overflows or underflows, also by the logarithms of its factors."""
    result, product = enclose(argument, names, nonnegative_keys).log(), argument.single_term
    if product is None or product.coefficient <= 0 or np.all(result.is_finite):
        return result
    parts = enclose_rational(product.coefficient).log()
    for base, power in product.factors:
        parts = parts + _enclose_base(base, names, nonnegative_keys).absolute.log() * enclose_rational(power)
    return result.intersection(parts)


def _enclose_huber(kind: str, x: Interval, M: Interval) -> Interval:
    """Enclose a Huber function, half of its derivative ("clip") or half of its second derivative ("inside")."""
    if kind == "huber":
        two = Fraction(2)
        above_M, below_M = (x + -M).positive(), (-x + -M).positive()
        result = x.power(two) + -above_M.power(two) + -below_M.power(two)
        return Interval(np.maximum(result.lower, 0.0), result.upper)
    if kind == "clip":
        return Interval(
            np.minimum(np.maximum(x.lower, -M.upper), M.upper), np.minimum(np.maximum(x.upper, -M.upper), M.upper)
        )
    is_inside = (x.upper < M.lower) & (x.lower > -M.lower)
    may_be_outside = (x.lower > M.upper) | (x.upper < -M.upper)
    return Interval(np.where(is_inside, 1.0, 0.0), np.where(may_be_outside, 0.0, 1.0))


def total(x: Interval) -> Interval:
    """Return the sum of all entries, rounded once."""
    return Interval(_round_sum_once(x.lower, -np.inf), _round_sum_once(x.upper, np.inf))


def _round_sum_once(ends: Any, direction: float) -> Any:
    """Return the sum, rounded towards `direction`, inf or -inf; `direction` itself if the sum has no finite bound."""
    ends = np.ravel(ends)
    if np.isnan(ends).any() or (ends == direction).any():
        return np.array(direction)
    if not np.isfinite(ends).all():
        return np.array(-direction)
    try:
        rounded_sum = math.fsum(ends.tolist())
    except OverflowError:
        return np.array(direction)
    if len(ends) == 1 or rounded_sum == 0.0:  # a sum of floats is a multiple of the smallest one: 0 is exact
        return np.array(rounded_sum)
    return np.array(math.nextafter(rounded_sum, direction))
