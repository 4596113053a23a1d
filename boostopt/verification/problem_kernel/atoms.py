"""The atoms that a file may name, those of matrices apart: their values, and the bounds of their Lagrangian terms.

Every atom is a function f of k numbers that is convex (`sign` is 1) or concave (-1). Five facts of it count:

- `value`: f(u), as a number that contains it, and None unless u is proved to lie in the domain;
- `infimum`: for mu > 0 and slopes s, a lower bound of mu sign f(u) - <s, u> over the domain, None if none is proved;
- `domain_infimum`: for slopes s, a lower bound of -<s, u> over the domain, None if none is proved;
- `exceeds_infimum`: whether what one of these two bounds is nowhere as small as the bound;
- `asymptotic_slope`: for changes a, an s with f(u + t a) <= f(u) + t s, or >= if f is concave, for all u of the domain
  and all t >= 0; None if none is proved. A homogeneous f is subadditive, or superadditive: f(a) is one.

The second is minus the conjugate of mu sign f at s, and the third minus that of the indicator of the domain. So the
Lagrangian, in which f(u) has the multiplier sign mu or 0, is not below <s, u> plus this bound, whatever u is. The
numbers of a file are the slopes s, except for `QuadraticForm`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from boostopt.verification.problem_kernel.rationals_and_balls import (
    ZERO,
    Number,
    exponential,
    is_at_most,
    is_exact,
    is_positive,
    is_semidefinite,
    is_zero,
    lambert,
    largest,
    logarithm,
    midpoint,
    pair_product,
    pair_sum,
    quotient,
    real_power,
    root,
    to_ball,
    total,
    union,
)

Vector = Sequence[Number]
"""k numbers."""

INCREASING_LIMIT = Fraction(3, 10)
"""A number up to which -u log u increases; it does up to 1 / e."""

MAX_ENTRY = 1e150
"""Largest absolute value of an entry of a matrix whose eigenvalues are computed."""


class Atom(ABC):
    """A function of k numbers."""

    is_homogeneous: bool = False
    """True if t f(u) = f(t u) for all t > 0 and u of the domain, which is a convex cone."""
    is_nondecreasing: bool = False
    """True if f does not decrease in any number, and numbers above those of the domain belong to it."""
    has_open_domain: bool = False
    """True if no point of the domain lies on its boundary, nor do points of the cones that solvers use for f."""
    has_sublinear_growth: bool = False
    """True if f is concave, and grows beyond all bounds if all its numbers do."""

    @property
    def sign(self) -> int:
        """1 for a convex function, -1 for a concave one."""
        return 1

    @property
    def is_convex(self) -> bool:
        """True if sign f is proved to be convex on its whole domain."""
        return True

    def has_size(self, k: int) -> bool:
        """Return whether the function takes k numbers."""
        return k == 1

    @abstractmethod
    def value(self, u: Vector) -> Number | None:
        """Return f(u); None unless u is proved to lie in the domain."""

    @abstractmethod
    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        """Return a lower bound of mu sign f(u) - <slopes(s), u> over the domain, for mu > 0; None if none is proved."""

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        """Return lower limits of numbers of the domain by their positions, among k numbers."""
        return {}

    def domain_infimum(self, s: Sequence[Fraction]) -> Number | None:
        """Return a lower bound of -<s, u> over the domain; None if none is proved."""
        limits = self.domain_limits(len(s))
        if any(slope > 0 or (slope and i not in limits) for i, slope in enumerate(s)):
            return None
        return -sum((slope * limits[i] for i, slope in enumerate(s) if slope), ZERO)

    def exceeds_infimum(self, mu: Fraction, s: Sequence[Fraction]) -> bool:
        """Return whether mu sign f(u) - <slopes(s), u> is above its bound for all u of the domain, for mu >= 0."""
        return self.has_open_domain and mu == 0 and any(s)

    def slopes(self, s: Sequence[Fraction]) -> Sequence[Fraction]:
        """Return the slopes that the numbers of a file mean: themselves, for most atoms."""
        return s

    def grows(self, is_growing: Sequence[bool], a: Vector) -> bool:
        """Return whether f grows beyond all bounds, given which numbers do, and bounds of their changes.

        f has the asymptotic slope 0 along the changes.
        """
        return self.has_sublinear_growth and all(is_growing)

    def asymptotic_slope(self, a: Vector) -> Number | None:
        """Return an asymptotic slope along changes of the numbers; None if none is proved."""
        return self.value(a) if self.is_homogeneous else None


class AtomOfSeveral(Atom):
    """A function of any number of arguments."""

    def has_size(self, k: int) -> bool:
        return k >= 1


class SumOfAbsoluteValues(AtomOfSeveral):
    """|u_1| + ... + |u_k|."""

    is_homogeneous = True

    def value(self, u: Vector) -> Number | None:
        return total(abs(entry) for entry in u)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return ZERO if all(abs(entry) <= mu for entry in s) else None


class LargestAbsoluteValue(AtomOfSeveral):
    """max |u_i|."""

    is_homogeneous = True

    def value(self, u: Vector) -> Number | None:
        return largest([abs(entry) for entry in u])

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return ZERO if sum(map(abs, s)) <= mu else None


class LargestEntry(AtomOfSeveral):
    """max u_i."""

    is_homogeneous = True
    is_nondecreasing = True

    def value(self, u: Vector) -> Number | None:
        return largest(u)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return ZERO if min(s) >= 0 and sum(s) == mu else None


class SmallestEntry(AtomOfSeveral):
    """min u_i."""

    has_sublinear_growth = True
    is_homogeneous = True
    is_nondecreasing = True

    @property
    def sign(self) -> int:
        return -1

    def value(self, u: Vector) -> Number | None:
        return -largest([-entry for entry in u])

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return ZERO if max(s) <= 0 and sum(s) == -mu else None


@dataclass(frozen=True)
class SumOfLargest(AtomOfSeveral):
    """The sum of the `count` largest entries; of a count that is not whole, the next entry counts for the fraction."""

    is_homogeneous = True
    is_nondecreasing = True

    count: Fraction

    def has_size(self, k: int) -> bool:
        return 0 < self.count <= k

    def value(self, u: Vector) -> Number | None:
        # count t + sum max(u - t, 0) is an upper bound for every t. A choice of entries is a lower bound.
        order = sorted(u, key=midpoint, reverse=True)
        whole = int(self.count)
        lower = total(order[:whole])
        if self.count > whole:
            lower = pair_sum(lower, pair_product(self.count - whole, order[whole]))
        threshold = midpoint(order[math.ceil(self.count) - 1])
        excesses = (largest([pair_sum(entry, -threshold), ZERO]) for entry in u)
        return union(lower, pair_sum(self.count * threshold, total(excesses)))

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return ZERO if all(0 <= entry <= mu for entry in s) and sum(s) == self.count * mu else None


class EuclideanNorm(AtomOfSeveral):
    """The square root of the sum of the squares."""

    is_homogeneous = True

    def value(self, u: Vector) -> Number | None:
        return root(total(pair_product(entry, entry) for entry in u))

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return ZERO if sum(entry * entry for entry in s) <= mu * mu else None


@dataclass(frozen=True)
class PNorm(AtomOfSeveral):
    """(sum |u_i|^p)^(1/p) for p > 1."""

    is_homogeneous = True

    p: Fraction

    def value(self, u: Vector) -> Number | None:
        return real_power(total(real_power(abs(entry), self.p) for entry in u), 1 / self.p)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        q = self.p / (self.p - 1)
        return ZERO if is_at_most(total(real_power(abs(entry / mu), q) for entry in s), Fraction(1)) else None


@dataclass(frozen=True)
class SumOfSquares(AtomOfSeveral):
    """The sum of the squares over a number that is positive."""

    divisor: Fraction

    def value(self, u: Vector) -> Number | None:
        return quotient(total(pair_product(entry, entry) for entry in u), self.divisor)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return quotient(-self.divisor * total(entry * entry for entry in s), 4 * mu)


class SquaresOverLast(Atom):
    """(u_1^2 + ... + u_(k-1)^2) / u_k for u_k > 0."""

    is_homogeneous = True

    def has_size(self, k: int) -> bool:
        return k >= 2

    def value(self, u: Vector) -> Number | None:
        return quotient(total(pair_product(entry, entry) for entry in u[:-1]), u[-1]) if is_positive(u[-1]) else None

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return ZERO if sum(entry * entry for entry in s[:-1]) <= -4 * mu * s[-1] else None

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        return {k - 1: ZERO}

    def asymptotic_slope(self, a: Vector) -> Number | None:
        # It does not increase with the last number.
        is_falling = all(is_zero(entry) for entry in a[:-1]) and is_at_most(ZERO, a[-1])
        return ZERO if is_falling else super().asymptotic_slope(a)


class QuadraticForm(Atom):
    """uᵀ P u for a symmetric P. The numbers w of a file mean the slopes 2 sign P w.

    Parameters
    ----------
    P
        The rows of P. They need not be semidefinite for a value.
    sign
        1 if P is to be positive semidefinite, -1 if -P is.
    """

    def __init__(self, P: Sequence[Sequence[Fraction]], sign: int) -> None:
        self.P = P
        self._sign = sign
        self._is_semidefinite: bool | None = None

    @property
    def sign(self) -> int:
        return self._sign

    def has_size(self, k: int) -> bool:
        return k == len(self.P)

    def value(self, u: Vector) -> Number | None:
        return total(pair_product(entry, product) for entry, product in zip(u, self._product(u), strict=True))

    @property
    def is_convex(self) -> bool:
        if self._is_semidefinite is None:
            self._is_semidefinite = is_semidefinite([[self.sign * entry for entry in row] for row in self.P])
        return self._is_semidefinite

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        if not self.is_convex:
            return None
        # The minimum over u is at u = s / mu.
        form = total(pair_product(entry, product) for entry, product in zip(s, self._product(s), strict=True))
        return quotient(pair_product(-self.sign, form), mu)

    def slopes(self, s: Sequence[Fraction]) -> Sequence[Fraction]:
        return [2 * self.sign * sum((p * w for p, w in zip(row, s, strict=True) if p and w), ZERO) for row in self.P]

    def _product(self, u: Vector) -> list[Number]:
        """Return P u."""
        return [total(pair_product(p, entry) for p, entry in zip(row, u, strict=True) if p) for row in self.P]

    def asymptotic_slope(self, a: Vector) -> Number | None:
        return ZERO if all(is_zero(entry) for entry in self._product(a)) else None


@dataclass(frozen=True)
class HuberLoss(Atom):
    """u^2 up to |u| = M and 2 M |u| - M^2 beyond, for M > 0."""

    threshold: Fraction

    def value(self, u: Vector) -> Number | None:
        size, M = abs(u[0]), self.threshold
        inner, outer = pair_product(u[0], u[0]), pair_sum(pair_product(2 * M, size), -M * M)
        if is_at_most(size, M):
            return inner
        return outer if is_at_most(M, size) else union(inner, outer)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return quotient(-s[0] * s[0], 4 * mu) if abs(s[0]) <= 2 * self.threshold * mu else None

    def asymptotic_slope(self, a: Vector) -> Number | None:
        return pair_product(2 * self.threshold, abs(a[0]))  # its slopes lie between -2 M and 2 M


class Power(Atom):
    """u^p for p other than 0 and 1: of every u if p is 2, 4, 8, ..., else of u >= 0, and of u > 0 if p < 0.

    For other even p, such as 6, CVXPY's classes disagree about negative u. So `infimum` counts them, and what both
    prove holds for either meaning.
    """

    def __init__(self, p: Fraction) -> None:
        self.p = p
        self._is_even = p > 1 and p.denominator == 1 and p.numerator % 2 == 0
        self.is_nondecreasing: bool = self.sign < 0
        self.has_sublinear_growth: bool = self.sign < 0
        self.has_open_domain: bool = p < 0

    @property
    def sign(self) -> int:
        return -1 if 0 < self.p < 1 else 1

    def value(self, u: Vector) -> Number | None:
        if self._is_even and self.p.numerator.bit_count() == 1:
            return real_power(abs(u[0]), self.p)
        is_inside = is_positive(u[0]) if self.p < 0 else is_at_most(ZERO, u[0])
        return real_power(u[0], self.p) if is_inside else None

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        p, slope = self.p, abs(s[0]) if self._is_even else s[0]
        if p > 1:
            # The minimum is at u with p mu u^(p - 1) = slope, or at 0.
            u = real_power(quotient(slope, p * mu), 1 / (p - 1)) if slope > 0 else ZERO
            return -pair_product(pair_product(u, max(slope, ZERO)), 1 - 1 / p)
        if p < 0 and slope == 0:
            return ZERO
        if slope >= 0:
            return None
        u = real_power(quotient(abs(p) * mu, -slope), 1 / (1 - p))
        return pair_product(pair_product(u, -slope), 1 - 1 / p)

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        return {} if self._is_even else {0: ZERO}

    def exceeds_infimum(self, mu: Fraction, s: Sequence[Fraction]) -> bool:
        return super().exceeds_infimum(mu, s) or (mu > 0 and self.p < 0 and s[0] == 0)

    def asymptotic_slope(self, a: Vector) -> Number | None:
        return ZERO if self.p < 1 and is_at_most(ZERO, a[0]) else None


class Exponential(Atom):
    """e^u."""

    is_nondecreasing = True

    def value(self, u: Vector) -> Number | None:
        return exponential(u[0])

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return None if s[0] < 0 else pair_sum(s[0], entropy_term(s[0], mu))

    def exceeds_infimum(self, mu: Fraction, s: Sequence[Fraction]) -> bool:
        return mu > 0 and s[0] == 0

    def asymptotic_slope(self, a: Vector) -> Number | None:
        return ZERO if is_at_most(a[0], ZERO) else None


class ProductWithExponential(Atom):
    """u e^u, for every u. It decreases up to u = -1, and is convex from u = -2 on."""

    @property
    def is_convex(self) -> bool:
        return False

    def value(self, u: Vector) -> Number | None:
        return pair_product(u[0], exponential(u[0]))

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        # The minimum is at the one u >= -1 with mu (1 + u) e^u = s: 1 + u is Lambert's function of e s / mu.
        if s[0] < 0:
            return None
        u = lambert(pair_product(s[0] / mu, exponential(Fraction(1)))) - 1
        return pair_sum(pair_product(mu, pair_product(u, exponential(u))), -pair_product(s[0], u))


class Logarithm(Atom):
    """log(u) for u > 0."""

    has_open_domain = True
    is_nondecreasing = True
    has_sublinear_growth = True

    @property
    def sign(self) -> int:
        return -1

    def value(self, u: Vector) -> Number | None:
        return logarithm(u[0]) if is_positive(u[0]) else None

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return pair_sum(mu, -pair_product(mu, logarithm(quotient(mu, -s[0])))) if s[0] < 0 else None

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        return {0: ZERO}

    def asymptotic_slope(self, a: Vector) -> Number | None:
        return ZERO if is_at_most(ZERO, a[0]) else None


class ShiftedLogarithm(Logarithm):
    """log(1 + u) for u > -1."""

    def value(self, u: Vector) -> Number | None:
        return super().value([pair_sum(Fraction(1), u[0])])

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        bound = super().infimum(mu, s)
        return None if bound is None else pair_sum(bound, s[0])

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        return {0: Fraction(-1)}


class Entropy(Atom):
    """-u log(u) for u > 0, and 0 at u = 0."""

    @property
    def sign(self) -> int:
        return -1

    def value(self, u: Vector) -> Number | None:
        return entropy(u[0])

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return -pair_product(mu, exponential(quotient(s[0], mu) - 1))

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        return {0: ZERO}


class LogisticLoss(Atom):
    """log(1 + e^u)."""

    is_nondecreasing = True

    def value(self, u: Vector) -> Number | None:
        size = to_ball(u[0])
        return size.exp().log1p() if size <= 0 else size + (-size).exp().log1p()

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return pair_sum(entropy_term(s[0], mu), entropy_term(mu - s[0], mu)) if 0 <= s[0] <= mu else None

    def exceeds_infimum(self, mu: Fraction, s: Sequence[Fraction]) -> bool:
        return mu > 0 and s[0] in (0, mu)

    def asymptotic_slope(self, a: Vector) -> Number | None:
        return largest([a[0], ZERO])  # its slopes lie between 0 and 1


class RelativeEntropy(Atom):
    """u_1 log(u_1 / u_2) for u_1 >= 0 and u_2 > 0."""

    is_homogeneous = True

    def has_size(self, k: int) -> bool:
        return k == 2

    def value(self, u: Vector) -> Number | None:
        x, y = u
        if is_exact(x) and is_exact(y) and x == y > 0:
            return ZERO
        negated = entropy(x)
        return None if negated is None or not is_positive(y) else pair_sum(-negated, -pair_product(x, logarithm(y)))

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        # It is 0 if mu r log(r) - s_1 r - s_2 >= 0 for all r >= 0; the minimum is at log(r) = s_1 / mu - 1.
        return ZERO if is_at_most(pair_product(mu, exponential(quotient(s[0], mu) - 1)), -s[1]) else None

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        return {0: ZERO, 1: ZERO}


class Divergence(RelativeEntropy):
    """u_1 log(u_1 / u_2) - u_1 + u_2 for u_1 >= 0 and u_2 > 0."""

    def value(self, u: Vector) -> Number | None:
        entropy_value = super().value(u)
        return None if entropy_value is None else total([entropy_value, -u[0], u[1]])

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return super().infimum(mu, [s[0] + mu, s[1] - mu])


class LogSumExp(AtomOfSeveral):
    """log(e^(u_1) + ... + e^(u_k))."""

    is_nondecreasing = True

    def value(self, u: Vector) -> Number | None:
        shift = midpoint(largest(u))
        return pair_sum(shift, logarithm(total(exponential(pair_sum(entry, -shift)) for entry in u)))

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        return total(entropy_term(entry, mu) for entry in s) if min(s) >= 0 and sum(s) == mu else None

    def exceeds_infimum(self, mu: Fraction, s: Sequence[Fraction]) -> bool:
        return mu > 0 and min(s) == 0

    def asymptotic_slope(self, a: Vector) -> Number | None:
        return largest(a)  # its slopes are probabilities


@dataclass(frozen=True)
class GeometricMean(Atom):
    """The product of u_i^w_i for u >= 0, with weights w > 0 of sum 1."""

    has_sublinear_growth = True
    is_homogeneous = True
    is_nondecreasing = True

    weights: tuple[Fraction, ...]

    @property
    def sign(self) -> int:
        return -1

    def has_size(self, k: int) -> bool:
        return k == len(self.weights)

    def value(self, u: Vector) -> Number | None:
        result: Number = Fraction(1)
        for entry, weight in zip(u, self.weights, strict=True):
            if not is_at_most(ZERO, entry):
                return None
            result = pair_product(result, real_power(entry, weight))
        return result

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        # -mu prod u^w - <s, u> >= 0 for all u >= 0 if prod (-s / w)^w >= mu, by the weighted means.
        if not max(s) < 0:
            return None
        pairs = zip(s, self.weights, strict=True)
        size = total(pair_product(w, logarithm(quotient(-entry, w * mu))) for entry, w in pairs)
        return ZERO if is_at_most(ZERO, size) else None

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        return dict.fromkeys(range(k), ZERO)


@dataclass(frozen=True)
class PowerMean(AtomOfSeveral):
    """(sum u_i^p)^(1/p) for p below 1 other than 0: of u >= 0, and of u > 0 if p < 0."""

    has_sublinear_growth = True
    is_homogeneous = True
    is_nondecreasing = True

    p: Fraction

    @property
    def sign(self) -> int:
        return -1

    def value(self, u: Vector) -> Number | None:
        if not all(is_positive(entry) if self.p < 0 else is_at_most(ZERO, entry) for entry in u):
            return None
        return real_power(total(real_power(entry, self.p) for entry in u), 1 / self.p)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        # <-s, u> is at least the mean of -s with the exponent q times that of u, by the inequality of Hoelder.
        if not max(s) < 0:
            return None
        q = self.p / (self.p - 1)
        size = real_power(total(real_power(-entry / mu, q) for entry in s), 1 / q)
        return ZERO if is_at_most(Fraction(1), size) else None

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        return dict.fromkeys(range(k), ZERO)


@dataclass(frozen=True)
class Perspective(Atom):
    """s f(u / s) for s > 0, where s is the last number."""

    is_homogeneous = True

    function: Atom

    @property
    def sign(self) -> int:
        return self.function.sign

    def has_size(self, k: int) -> bool:
        return k >= 2 and self.function.has_size(k - 1)

    @property
    def is_convex(self) -> bool:
        return self.function.is_convex

    def value(self, u: Vector) -> Number | None:
        *entries, s = u
        if not is_positive(s):
            return None
        value = self.function.value([quotient(entry, s) for entry in entries])
        return None if value is None else pair_product(s, value)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        # s times (mu sign f(v) - <slopes, v> - last slope), which is not negative if no value in brackets is.
        bound = self.function.infimum(mu, s[:-1])
        return ZERO if bound is not None and is_at_most(s[-1], bound) else None

    def domain_limits(self, k: int) -> Mapping[int, Fraction]:
        inner = self.function.domain_limits(k - 1)
        return {k - 1: ZERO} | {i: limit for i, limit in inner.items() if limit == 0}

    def asymptotic_slope(self, a: Vector) -> Number | None:
        # A homogeneous function is the bound of its changes only if it is convex.
        return super().asymptotic_slope(a) if self.is_convex else None


def entropy_term(s: Fraction, mu: Fraction) -> Number:
    """Return -s log(s / mu) for s >= 0."""
    return ZERO if s == 0 else -pair_product(s, logarithm(quotient(s, mu)))


def entropy(u: Number) -> Number | None:
    """Return -u log u for u >= 0; None unless u is proved to be non-negative."""
    if is_zero(u):
        return ZERO
    return -pair_product(u, logarithm(u)) if is_positive(u) else None


def entropy_of_size(u: Number) -> Number:
    """Return -u log u of a number that cannot be negative, whatever its ball contains."""
    value = ZERO if is_at_most(u, ZERO) else entropy(u)
    if value is not None:
        return value
    upper = to_ball(u).upper()
    if not is_at_most(upper, INCREASING_LIMIT):
        return logarithm(ZERO)  # no number: nothing is proved
    return union(ZERO, -upper * upper.log())


def matrix_of(entries: Sequence[Any], n: int) -> list[list[Any]]:
    """Return entries in C order as the rows of an n x n matrix."""
    return [list(entries[i * n : (i + 1) * n]) for i in range(n)]
