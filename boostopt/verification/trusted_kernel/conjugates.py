r"""Values, conjugates and domains of F from its statements, over any number type; `edge_terms` has those of G.

Every F is a sum over the examples on a box, F(d) = sum f_n(d_n), and most F also require sum d = 1. Then, for ANY beta,

    F*(z) <= beta + sum_n f_n*(z_n - beta),    f_n*(y) = max over lower_n <= x <= upper_n of x y - f_n(x).

If F is a base B with the ball ||d||_p <= r, then F*(z) <= B*(z - s) + r ||s||_q for ANY s. With the penalty r ||d||_p,
F*(z) <= B*(z - s) for any s with ||s||_q <= r. A linear term <tilt, d> shifts z. The formulas follow the papers and not
the modules that solve; tests compare the two.

Sources: Glocer 2009, (2.1), (3.1), (3.6), (3.18), (3.25), (4.6); Shalev-Shwartz and Singer 2008, section 6, theorem 7;
Raetsch, Onoda, Mueller 2001, (22), figure 14; Shen, Li, van den Hengel 2013; Shen and Li 2010b; Akkerman et al. 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.json_parsing import reject
from boostopt.verification.trusted_kernel.number_types import (
    UNDERFLOW_ERROR,
    ZERO_THRESHOLD,
    NumberType,
)

Vector = Any
"""A vector of numbers of a number type."""

ROUND_UP_FACTOR = 1.0 + 1e-14
"""Factor that makes a computed number at least the exact one."""

MAX_QUOTIENT = 1e100
"""Largest ratio of two numbers whose quotient is computed before its logarithm."""


@dataclass(frozen=True)
class SeparableTerm:
    """A sum over the examples on a box.

    Attributes
    ----------
    lower, upper
        The bounds of the box; their float64 values decide which weights can change.
    on_simplex
        Whether the weights sum to 1.
    values
        d -> f_n(d_n), for d in the box.
    conjugates
        y -> f_n*(y_n), or upper bounds.
    is_unbounded
        Whether there is no box, so that only the sum of the weights is constrained.
    """

    lower: Vector
    upper: Vector
    on_simplex: bool
    values: Callable[[Vector], Vector]
    conjugates: Callable[[Vector], Vector]
    is_unbounded: bool = False


@dataclass(frozen=True)
class NormTerm:
    """A ball or a penalty of the norm ||d||_p^p = sum c (d / c)^p, in which an example counts as c copies.

    Attributes
    ----------
    ball
        Whether ||d||_p <= r is a constraint; otherwise r ||d||_p is a penalty.
    p, r, c
        The exponent, the radius or the factor, and the multiplicities.
    caps_proportional_to_c
        Whether the caps are multiples of c, or 1. If such caps allow any weights, they allow the weights proportional
        to c on the same examples.
    """

    ball: bool
    p: float
    r: float
    c: np.ndarray
    caps_proportional_to_c: bool

    def norm(self, A: NumberType, d: Vector) -> Any:
        """Return ||d||_p for d >= 0."""
        c = A.to_vector(self.c)
        return _weighted_norm(A, d / c, c, A.to_number(self.p)) if math.isfinite(self.p) else A.largest(d / c)

    def dual_norm(self, A: NumberType, s: Vector) -> Any:
        """Return ||s||_q = (sum c |s|^q)^(1/q), 1/p + 1/q = 1; the float next to q would be too inaccurate."""
        sizes, c = A.absolute(s), A.to_vector(self.c)
        if not math.isfinite(self.p):
            return A.total(c * sizes)
        p = A.to_number(self.p)
        return _weighted_norm(A, sizes, c, p / (p - A.to_number(1.0)))


def cap_term(A: NumberType, u: Vector) -> SeparableTerm:
    """Return the indicator of 0 <= d <= u, sum d = 1: f* = u [y]_+."""
    zero = A.to_vector(np.zeros(len(A.lower(u))))
    return SeparableTerm(zero, u, True, lambda d: zero, lambda y: u * A.positive(y))


def hinge_term(A: NumberType, u: Vector) -> SeparableTerm:
    """Return F = -d on [0, u]: f* = u [1 + y]_+."""
    zero = A.to_vector(np.zeros(len(A.lower(u))))
    return SeparableTerm(zero, u, False, lambda d: -d, lambda y: u * A.positive(y + A.to_number(1.0)))


def quadratic_hinge_term(A: NumberType, c: np.ndarray, C: float, mu: float, B: float) -> SeparableTerm:
    """Return F = -d + (mu/2) d^2 / u on [0, B u], u = C c.

    f* = u x^2 / (2 mu) with x = [1 + y]_+ up to mu B, then a line. B = inf is the squared hinge, mu = 1/2. The parabola
    then ends at a slope that no optimum reaches; every larger slope gives the same optimum.
    """
    u, one, width, half = A.to_vector(c) * A.to_number(C), A.to_number(1.0), A.to_number(mu), A.to_number(0.5)
    unreached = 4.0 * np.sqrt(math.fsum(c.tolist()) / np.minimum(c, 1.0)) * ROUND_UP_FACTOR
    max_slope = A.to_vector(np.full(len(c), B) if math.isfinite(B) else unreached)

    def conjugates(y: Vector) -> Vector:
        x = A.positive(y + one)
        # The line u (B x - mu B^2 / 2); the parabola is nowhere below.
        is_linear = A.lower(x - max_slope * width) >= 0
        return u * A.select(is_linear, max_slope * (x - max_slope * width * half), x * x / (width + width))

    return SeparableTerm(
        A.to_vector(np.zeros(len(c))), u * max_slope, False, lambda d: d * (d / u) * width * half - d, conjugates
    )


def exponential_term(A: NumberType, c: np.ndarray, C: float) -> SeparableTerm:
    """Return F = d ln(d / u) - d on [0, B u], u = C c: f* = u exp(y) up to y = ln B, then u B (1 + y - ln B).

    B = e sum c / min(c, 1) is a slope that no optimum reaches; every larger slope gives the same optimum.
    """
    u = A.to_vector(c) * A.to_number(C)
    max_slope = A.to_vector(math.e * (math.fsum(c.tolist()) / np.minimum(c, 1.0)) * ROUND_UP_FACTOR)

    def conjugates(y: Vector) -> Vector:
        overshoot = A.positive(y - A.log(max_slope))
        return u * A.exp(y - overshoot) * (overshoot + A.to_number(1.0))

    return SeparableTerm(
        A.to_vector(np.zeros(len(c))), u * max_slope, False, lambda d: x_log_x_over_y(A, d, u) - d, conjugates
    )


def logistic_term(A: NumberType, u: Vector) -> SeparableTerm:
    """Return F = d ln(d / u) + (u - d) ln((u - d) / u) on [0, u]: f* = u ln(1 + exp(y))."""
    N = len(A.lower(u))
    zero = A.to_vector(np.zeros(N))

    def conjugates(y: Vector) -> Vector:
        return u * log_of_sum(A, zero, y)

    return SeparableTerm(zero, u, False, lambda d: x_log_x_over_y(A, d, u) + x_log_x_over_y(A, u - d, u), conjugates)


def chi_square_term(A: NumberType, u: Vector, eta: float, c: np.ndarray) -> SeparableTerm:
    """Return F = (d - a)^2 / (2 eta a) on [0, u], a = c / sum c.

    f* = a (r^2 - 1) / (2 eta) with r = [1 + eta y]_+ up to u / a, then f* = u y - f(u). The parabola is nowhere below.
    """
    counts, rate, one, half = A.to_vector(c), A.to_number(eta), A.to_number(1.0), A.to_number(0.5)
    share = counts / A.total(counts)

    def values(d: Vector) -> Vector:
        return (d - share) * (d - share) / share * half / rate

    def conjugates(y: Vector) -> Vector:
        r = A.positive(y * rate + one)
        is_linear = A.lower(r - u / share) >= 0
        return A.select(is_linear, u * y - values(u), share * (r * r - one) * half / rate)

    return SeparableTerm(A.to_vector(np.zeros(len(c))), u, True, values, conjugates)


def margin_variance_term(A: NumberType, c: np.ndarray, D: float) -> SeparableTerm:
    """Return F = (d - a)^2 / (2 k) on sum d = 1, a = c / sum c, k = D c / (sum c - 1): f* = a y + k y^2 / 2.

    The module that solves has a box, which no margin of a convex combination leaves. Here there is no box.
    """
    counts = A.to_vector(c)
    total = A.total(counts)
    share, k, half = counts / total, counts * (A.to_number(D) / (total - A.to_number(1.0))), A.to_number(0.5)
    return SeparableTerm(
        share, share, True, lambda d: (d - share) * (d - share) / k * half, lambda y: share * y + k * y * y * half, True
    )


def shortfall_term(A: NumberType, c: np.ndarray, C: float, theta: float) -> SeparableTerm:
    """Return F = -theta (d - C c) on [C c, (1 + C) c]: f* = C c y + c [theta + y]_+."""
    counts, level = A.to_vector(c), A.to_number(theta)
    lower = counts * A.to_number(C)
    return SeparableTerm(
        lower,
        lower + counts,
        False,
        lambda d: (lower - d) * level,
        lambda y: lower * y + counts * A.positive(y + level),
    )


def entropy_term(A: NumberType, u: Vector, eta: float, d0: np.ndarray, unnormalized: bool) -> SeparableTerm:
    """Return F = (1/eta) d ln(d / d0) on [0, u], plus (d0 - d) / eta for the unnormalized entropy.

    f*(y) = x/eta at x = d0 exp(eta y - 1); for the unnormalized entropy (x - d0)/eta at x = d0 exp(eta y). If x exceeds
    u, f*(y) = u y - f(u).
    """
    has_reference, rate, one = d0 > 0, A.to_number(eta), A.to_number(1.0)
    ones, zero = A.to_vector(np.ones(len(d0))), A.to_vector(np.zeros(len(d0)))
    reference, constant = A.select(has_reference, A.to_vector(d0), ones), A.to_vector(d0) / rate
    ends = A.select(has_reference, u, ones)

    def values(d: Vector) -> Vector:
        values_at = x_log_x_over_y(A, d, reference) / rate
        return values_at - d / rate + constant if unnormalized else values_at

    def conjugates(y: Vector) -> Vector:
        log_d0, log_u = A.log(reference), A.log(ends)
        exponent = log_d0 + (y * rate if unnormalized else y * rate - one)
        # Without the cap the maximum is larger, so it is also a bound if neither case is certain.
        is_free = has_reference & (A.lower(exponent - log_u) <= 0)
        exp_term = A.exp(A.select(is_free, exponent, zero)) / rate
        mean = (log_u - log_d0) / rate  # f(u) / u
        if unnormalized:
            exp_term, mean = exp_term - constant, mean - one / rate + constant / ends
        values_at = A.select(is_free, exp_term, A.select(has_reference, u, zero) * (y - mean))
        # The bound u [y]_+ + max -f, where no weight exceeds 1, serves exponents whose rounding is too large.
        rough_bound = A.select(has_reference & (A.upper(u) > 1.0), ones, u) * A.positive(y)
        return minimum_with_bound(
            A, values_at, rough_bound if unnormalized else rough_bound + constant * A.to_number(0.368)
        )

    return SeparableTerm(zero, A.select(has_reference, u, zero), True, values, conjugates)


def binary_entropy_term(
    A: NumberType, u: Vector, eta: float, d0: np.ndarray, complement: Vector, is_free: np.ndarray, simplex: bool
) -> SeparableTerm:
    """Return F = (1/eta) [d ln(d / d0) + (u - d) ln((u - d) / (u - d0))] on [0, u].

    f*(y) = (u/eta) ln((u - d0 + d0 exp(eta y)) / u); `complement` is u - d0. A weight is fixed if its reference is 0 or
    its cap: f* = d0 y.
    """
    N, rate = len(d0), A.to_number(eta)
    ones, zero = A.to_vector(np.ones(N)), A.to_vector(np.zeros(N))
    fixed = A.select(~is_free & (d0 > 0), u, zero)
    u, complement, reference = (
        A.select(is_free, x, y) for x, y in ((u, fixed), (complement, ones), (A.to_vector(d0), ones))
    )

    def values(d: Vector) -> Vector:
        return (
            x_log_x_over_y(A, A.select(is_free, d, zero), reference)
            + x_log_x_over_y(A, A.select(is_free, u - d, zero), complement)
        ) / rate

    def conjugates(y: Vector) -> Vector:
        ends = A.select(is_free, u, ones)
        a = log_quotient(A, complement, ends)
        x = log_quotient(A, reference, ends) + A.select(is_free, y, zero) * rate
        return A.select(is_free, u * log_of_sum(A, a, x) / rate, fixed * y)

    return SeparableTerm(fixed, u, simplex, values, conjugates)


def _logarithmic_loss_term(A: NumberType, c: np.ndarray, eta: float) -> SeparableTerm:
    """Return the binary entropy around c / 2 on [0, c], without a sum of the weights."""
    half, is_free = 0.5 * c, np.ones(len(c), dtype=bool)
    return binary_entropy_term(A, A.to_vector(c), eta, half, A.to_vector(half), is_free, simplex=False)


def _checked_margin_variance_term(A: NumberType, c: np.ndarray, D: float) -> SeparableTerm:
    """Return the term of the variance of the margins; Rejected for multiplicities of one example."""
    if not math.fsum(c.tolist()) > 1.0:
        reject("a variance of the margins needs multiplicities that sum to more than 1")
    return margin_variance_term(A, c, D)


@dataclass(frozen=True)
class LossKind:
    """A kind of F that depends on the multiplicities and on its numbers alone: the conjugate of a loss.

    Attributes
    ----------
    term
        Function of the number type, of c and of the numbers in a statement of this kind.
    positive_fields, other_fields
        The names of the numbers that must be positive, and of the others.
    """

    term: Callable[[NumberType, np.ndarray, Mapping[str, float]], SeparableTerm]
    positive_fields: tuple[str, ...]
    other_fields: tuple[str, ...] = ()


LOSS_KINDS: Mapping[str, LossKind] = {
    "logarithmic loss": LossKind(lambda A, c, F: _logarithmic_loss_term(A, c, F["eta"]), ("eta",)),
    "hinge": LossKind(lambda A, c, F: hinge_term(A, A.to_vector(c) * A.to_number(F["C"])), ("C",)),
    "quadratic hinge": LossKind(lambda A, c, F: quadratic_hinge_term(A, c, F["C"], F["mu"], F["B"]), ("C", "mu", "B")),
    "exponential": LossKind(lambda A, c, F: exponential_term(A, c, F["C"]), ("C",)),
    "logistic": LossKind(lambda A, c, F: logistic_term(A, A.to_vector(c) * A.to_number(F["C"])), ("C",)),
    "margin variance": LossKind(lambda A, c, F: _checked_margin_variance_term(A, c, F["D"]), ("D",)),
    "shortfall": LossKind(lambda A, c, F: shortfall_term(A, c, F["C"], F["theta"]), ("C",), ("theta",)),
}
"""The kinds of losses, with their numbers in files and their formulas."""


def x_log_x_over_y(A: NumberType, x: Vector, y: Vector) -> Vector:
    """Return x ln(x / y) for x >= 0, y > 0; if x may be 0, the range of the function up to the upper bound of x."""
    is_positive, high = A.lower(x) > 0, np.maximum(A.upper(x), 0.0)
    high = np.where(high <= ZERO_THRESHOLD, 0.0, high)
    safe = A.select(is_positive, x, y)
    exp_term, upper_y = A.lower(y), A.upper(y)
    positive_high = np.where(high > 0, high, 1.0)
    size = high * np.maximum(np.abs(np.log(positive_high / exp_term)), np.abs(np.log(positive_high / upper_y)))
    range_ = np.where(high > 0, np.maximum(1.001 * size, np.where(high < upper_y / 3, 0.0, upper_y / 2)), 0.0)
    return A.select(is_positive, x * log_quotient(A, safe, y), A.interval_around_zero(range_))


def log_quotient(A: NumberType, x: Vector, y: Vector) -> Vector:
    """Return ln(x / y) for x, y > 0, of the quotient if it is moderate: two logarithms of huge numbers would cancel."""
    is_moderate = (A.upper(x) < MAX_QUOTIENT * A.lower(y)) & (MAX_QUOTIENT * A.lower(x) > A.upper(y))
    return A.select(is_moderate, A.log(A.select(is_moderate, x, y) / y), A.log(x) - A.log(y))


def log_of_sum(A: NumberType, x: Vector, y: Vector) -> Vector:
    """Return ln(exp(x) + exp(y)), which exceeds the larger of x and y by at most ln 2."""
    largest = A.to_vector(np.maximum(A.upper(x), A.upper(y)))
    return largest + minimum_with_bound(
        A, A.log(A.exp(x - largest) + A.exp(y - largest)), A.to_vector(np.ones(len(A.upper(x))))
    )


def minimum_with_bound(A: NumberType, x: Vector, bound: Vector) -> Vector:
    """Return x, or the given upper bound if it is smaller than that of x."""
    return A.select(A.upper(x) <= A.upper(bound), x, bound)


def power(A: NumberType, x: Vector, p: Any) -> Vector:
    """Return x^p for x >= 0 and p >= 1; if x may be 0, the range from 0 to the power of the upper bound of x."""
    is_positive, high = A.lower(x) > 0, np.maximum(A.upper(x), 0.0)
    high = np.where(high <= ZERO_THRESHOLD, 0.0, high)
    safe = A.select(is_positive, x, A.to_vector(np.ones(len(high))))
    range_ = 1.001 * high ** np.where(high < 1.0, A.lower(p), A.upper(p)) + np.where(high > 0, UNDERFLOW_ERROR, 0.0)
    return A.select(is_positive, A.exp(A.log(safe) * p), A.interval_around_zero(range_))


def _weighted_norm(A: NumberType, x: Vector, c: Vector, p: Any) -> Any:
    """Return (sum c x^p)^(1/p) for x >= 0 and p > 1, scaled so that nothing overflows."""
    scale = float(A.upper(x).max())
    if scale <= ZERO_THRESHOLD:
        return A.total(A.interval_around_zero(np.array([1.001 * scale * (1.0 + float(A.upper(A.total(c))))])))
    total = A.total(c * power(A, x / A.to_number(scale), p))
    return A.exp(A.log(total) / p) * A.to_number(scale)
