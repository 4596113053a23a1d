r"""The pair (F, G) of a statement: values, conjugates and domains, over any number type.

Every F is a sum over the examples on a box, F(d) = sum f_n(d_n), most of them on the simplex; then for ANY beta

    F*(z) <= beta + sum_n f_n*(z_n - beta),    f_n*(y) = max over lower_n <= x <= upper_n of x y - f_n(x).

A term h(||d||_p) adds an s, any s: F*(z) <= B*(z - s) + r ||s||_q for a ball, with ||s||_q <= r and no last term for a
penalty. A linear term <tilt, d> shifts z. The formulas are stated anew here, one line each, from the papers and not
from the modules that solve: tests hold the two against each other.

Sources: Glocer 2009, (2.1), (3.1), (3.6), (3.18), (3.25), (4.6); Shalev-Shwartz and Singer 2008, section 6, theorem 7;
Raetsch, Onoda, Mueller 2001, (22), figure 14; Shen, Li, van den Hengel 2013; Shen and Li 2010b; Akkerman et al. 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.number_types import (
    OPERATION_ERROR,
    UNDERFLOW_ERROR,
    ZERO_THRESHOLD,
    NumberType,
)

Vector = Any
"""A vector of numbers of some type."""

ROUND_UP_FACTOR = 1.0 + 1e-14
"""Factor by which a computed number is certainly not below what it stands for."""

MAX_QUOTIENT = 1e100
"""Factor up to which the quotient of two numbers is computed with."""


@dataclass(frozen=True)
class SeparableTerm:
    """A sum over the examples on a box.

    Attributes
    ----------
    lower, upper
        Ends of the box; their float64 values decide which weights can move.
    on_simplex
        Whether the weights sum to 1.
    values
        d -> f_n(d_n), for d in the box.
    conjugates
        y -> f_n*(y_n), or numbers above.
    is_unbounded
        Whether the weights may be any with their sum: there is no box, and its ends say nothing.
    """

    lower: Vector
    upper: Vector
    on_simplex: bool
    values: Callable[[Vector], Vector]
    conjugates: Callable[[Vector], Vector]
    is_unbounded: bool = False


@dataclass(frozen=True)
class NormTerm:
    """A ball or a penalty of the norm of the copies, ||d||_p^p = sum c (d / c)^p.

    `caps_proportional_to_c` says whether the caps are multiples of c, or 1: where they hold any weights, they hold those proportional
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
        """Return ||s||_q, (sum c |s|^q)^(1/q) with 1/p + 1/q = 1, for which the float next to q is not good enough."""
        sizes, c = A.absolute(s), A.to_vector(self.c)
        if not math.isfinite(self.p):
            return A.total(c * sizes)
        p = A.to_number(self.p)
        return _weighted_norm(A, sizes, c, p / (p - A.to_number(1.0)))


def cap_term(A: NumberType, u: Vector) -> SeparableTerm:
    """I[0 <= d <= u, sum d = 1]: f* = u [y]_+."""
    nothing = A.to_vector(np.zeros(len(A.lower(u))))
    return SeparableTerm(nothing, u, True, lambda d: nothing, lambda y: u * A.positive(y))


def hinge_term(A: NumberType, u: Vector) -> SeparableTerm:
    """F = -d on [0, u]: f* = u [1 + y]_+."""
    nothing = A.to_vector(np.zeros(len(A.lower(u))))
    return SeparableTerm(nothing, u, False, lambda d: -d, lambda y: u * A.positive(y + A.to_number(1.0)))


def quadratic_hinge_term(A: NumberType, c: np.ndarray, C: float, mu: float, B: float) -> SeparableTerm:
    """F = -d + (mu/2) d^2 / u on [0, B u], u = C c: f* = u x^2 / (2 mu) with x = [1 + y]_+ up to mu B, then a line.

    B = inf is the squared hinge, mu = 1/2. It ends at a slope that no optimum reaches, and so it may
    at any larger one: the optimum is the same.
    """
    u, one, width, half = A.to_vector(c) * A.to_number(C), A.to_number(1.0), A.to_number(mu), A.to_number(0.5)
    unreached = 4.0 * np.sqrt(math.fsum(c.tolist()) / np.minimum(c, 1.0)) * ROUND_UP_FACTOR
    steepest = A.to_vector(np.full(len(c), B) if math.isfinite(B) else unreached)

    def conjugates(y: Vector) -> Vector:
        x = A.positive(y + one)
        # The line u (B x - mu B^2 / 2); the parabola is nowhere below.
        beyond = A.lower(x - steepest * width) >= 0
        return u * A.where(beyond, steepest * (x - steepest * width * half), x * x / (width + width))

    return SeparableTerm(
        A.to_vector(np.zeros(len(c))), u * steepest, False, lambda d: d * (d / u) * width * half - d, conjugates
    )


def exponential_term(A: NumberType, c: np.ndarray, C: float) -> SeparableTerm:
    """F = d ln(d / u) - d on [0, B u], u = C c: f* = u exp(y), and u B (1 + y - ln B) beyond ln B.

    B = e sum c / min(c, 1) is a slope that no optimum reaches; any larger one has the same optimum.
    """
    u = A.to_vector(c) * A.to_number(C)
    steepest = A.to_vector(math.e * (math.fsum(c.tolist()) / np.minimum(c, 1.0)) * ROUND_UP_FACTOR)

    def conjugates(y: Vector) -> Vector:
        over = A.positive(y - A.log(steepest))
        return u * A.exp(y - over) * (over + A.to_number(1.0))

    return SeparableTerm(
        A.to_vector(np.zeros(len(c))), u * steepest, False, lambda d: x_log_x_over_y(A, d, u) - d, conjugates
    )


def logistic_term(A: NumberType, u: Vector) -> SeparableTerm:
    """F = d ln(d / u) + (u - d) ln((u - d) / u) on [0, u]: f* = u ln(1 + exp(y))."""
    N = len(A.lower(u))
    nothing = A.to_vector(np.zeros(N))

    def conjugates(y: Vector) -> Vector:
        return u * log_of_sum(A, nothing, y)

    return SeparableTerm(nothing, u, False, lambda d: x_log_x_over_y(A, d, u) + x_log_x_over_y(A, u - d, u), conjugates)


def chi_square_term(A: NumberType, u: Vector, eta: float, c: np.ndarray) -> SeparableTerm:
    """F = (d - a)^2 / (2 eta a) on [0, u], a = c / sum c: f* = a (r^2 - 1) / (2 eta) with r = [1 + eta y]_+ <= u / a.

    Beyond, f* = u y - f(u); the parabola is nowhere below.
    """
    counts, rate, one, half = A.to_vector(c), A.to_number(eta), A.to_number(1.0), A.to_number(0.5)
    share = counts / A.total(counts)

    def values(d: Vector) -> Vector:
        return (d - share) * (d - share) / share * half / rate

    def conjugates(y: Vector) -> Vector:
        r = A.positive(y * rate + one)
        beyond = A.lower(r - u / share) >= 0
        return A.where(beyond, u * y - values(u), share * (r * r - one) * half / rate)

    return SeparableTerm(A.to_vector(np.zeros(len(c))), u, True, values, conjugates)


def margin_variance_term(A: NumberType, c: np.ndarray, D: float) -> SeparableTerm:
    """F = (d - a)^2 / (2 k) on sum d = 1, a = c / sum c, k = D c / (sum c - 1): f* = a y + k y^2 / 2.

    No margin of a convex combination leaves the box of the module that solves; here there is none.
    """
    counts = A.to_vector(c)
    total = A.total(counts)
    share, k, half = counts / total, counts * (A.to_number(D) / (total - A.to_number(1.0))), A.to_number(0.5)
    return SeparableTerm(
        share, share, True, lambda d: (d - share) * (d - share) / k * half, lambda y: share * y + k * y * y * half, True
    )


def shortfall_term(A: NumberType, c: np.ndarray, C: float, theta: float) -> SeparableTerm:
    """F = -theta (d - C c) on [C c, (1 + C) c]: f* = C c y + c [theta + y]_+."""
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
    """F = (1/eta) d ln(d / d0) on [0, u], with the terms d0 - d where it is unnormalized.

    f*(y) = x/eta at x = d0 exp(eta y - 1) <= u, unnormalized (x - d0)/eta at x = d0 exp(eta y); u y - f(u) beyond.
    """
    live, rate, one = d0 > 0, A.to_number(eta), A.to_number(1.0)
    ones, nothing = A.to_vector(np.ones(len(d0))), A.to_vector(np.zeros(len(d0)))
    reference, constant = A.where(live, A.to_vector(d0), ones), A.to_vector(d0) / rate
    ends = A.where(live, u, ones)

    def values(d: Vector) -> Vector:
        plain = x_log_x_over_y(A, d, reference) / rate
        return plain - d / rate + constant if unnormalized else plain

    def conjugates(y: Vector) -> Vector:
        log_d0, log_u = A.log(reference), A.log(ends)
        exponent = log_d0 + (y * rate if unnormalized else y * rate - one)
        # Without the cap the maximum is larger: where neither is certain that is a bound too.
        free = live & (A.lower(exponent - log_u) <= 0)
        below = A.exp(A.where(free, exponent, nothing)) / rate
        mean = (log_u - log_d0) / rate  # f(u) / u
        if unnormalized:
            below, mean = below - constant, mean - one / rate + constant / ends
        plain = A.where(free, below, A.where(live, u, nothing) * (y - mean))
        # u [y]_+ + max -f, and no weight exceeds 1: for exponents so large that their rounding says nothing.
        rough = A.where(live & (A.upper(u) > 1.0), ones, u) * A.positive(y)
        return minimum_with_bound(A, plain, rough if unnormalized else rough + constant * A.to_number(0.368))

    return SeparableTerm(nothing, A.where(live, u, nothing), True, values, conjugates)


def binary_entropy_term(
    A: NumberType, u: Vector, eta: float, d0: np.ndarray, rest: Vector, free: np.ndarray, simplex: bool
) -> SeparableTerm:
    """F = (1/eta) [d ln(d / d0) + (u - d) ln((u - d) / rest)] on [0, u], rest = u - d0.

    f*(y) = (u/eta) ln((rest + d0 exp(eta y)) / u). A weight whose reference is 0 or its cap stays there: f* = d0 y.
    """
    N, rate = len(d0), A.to_number(eta)
    ones, nothing = A.to_vector(np.ones(N)), A.to_vector(np.zeros(N))
    fixed = A.where(~free & (d0 > 0), u, nothing)
    u, rest, reference = (A.where(free, x, y) for x, y in ((u, fixed), (rest, ones), (A.to_vector(d0), ones)))

    def values(d: Vector) -> Vector:
        return (
            x_log_x_over_y(A, A.where(free, d, nothing), reference)
            + x_log_x_over_y(A, A.where(free, u - d, nothing), rest)
        ) / rate

    def conjugates(y: Vector) -> Vector:
        ends = A.where(free, u, ones)
        a = log_quotient(A, rest, ends)
        x = log_quotient(A, reference, ends) + A.where(free, y, nothing) * rate
        return A.where(free, u * log_of_sum(A, a, x) / rate, fixed * y)

    return SeparableTerm(fixed, u, simplex, values, conjugates)


def x_log_x_over_y(A: NumberType, x: Vector, y: Vector) -> Vector:
    """Return x ln(x / y) for x >= 0, y > 0: where x may be 0, the range of that function up to the end of x."""
    sure, high = A.lower(x) > 0, np.maximum(A.upper(x), 0.0)
    high = np.where(high <= ZERO_THRESHOLD, 0.0, high)
    safe = A.where(sure, x, y)
    below, above = A.lower(y), A.upper(y)
    some = np.where(high > 0, high, 1.0)
    size = high * np.maximum(np.abs(np.log(some / below)), np.abs(np.log(some / above)))
    range_ = np.where(high > 0, np.maximum(1.001 * size, np.where(high < above / 3, 0.0, above / 2)), 0.0)
    return A.where(sure, x * log_quotient(A, safe, y), A.interval_around_zero(range_))


def log_quotient(A: NumberType, x: Vector, y: Vector) -> Vector:
    """Return ln(x / y) for x, y > 0: logarithms of huge or tiny numbers cancel, so of the quotient where it is none."""
    near = (A.upper(x) < MAX_QUOTIENT * A.lower(y)) & (MAX_QUOTIENT * A.lower(x) > A.upper(y))
    return A.where(near, A.log(A.where(near, x, y) / y), A.log(x) - A.log(y))


def log_of_sum(A: NumberType, x: Vector, y: Vector) -> Vector:
    """Return ln(exp(x) + exp(y)), beside the larger one at most ln 2."""
    largest = A.to_vector(np.maximum(A.upper(x), A.upper(y)))
    return largest + minimum_with_bound(
        A, A.log(A.exp(x - largest) + A.exp(y - largest)), A.to_vector(np.ones(len(A.upper(x))))
    )


def minimum_with_bound(A: NumberType, x: Vector, bound: Vector) -> Vector:
    """Return x, but a number that bounds it where of x too little is known."""
    return A.where(A.upper(x) <= A.upper(bound), x, bound)


def power(A: NumberType, x: Vector, p: Any) -> Vector:
    """Return x^p for x >= 0 and a number p >= 1; where x may be 0, the range from 0 to the power of the end of x."""
    sure, high = A.lower(x) > 0, np.maximum(A.upper(x), 0.0)
    high = np.where(high <= ZERO_THRESHOLD, 0.0, high)
    safe = A.where(sure, x, A.to_vector(np.ones(len(high))))
    range_ = 1.001 * high ** np.where(high < 1.0, A.lower(p), A.upper(p)) + np.where(high > 0, UNDERFLOW_ERROR, 0.0)
    return A.where(sure, A.exp(A.log(safe) * p), A.interval_around_zero(range_))


def _weighted_norm(A: NumberType, x: Vector, c: Vector, p: Any) -> Any:
    """Return (sum c x^p)^(1/p) for x >= 0 and a number p > 1, scaled so that nothing overflows."""
    scale = float(A.upper(x).max())
    if scale <= ZERO_THRESHOLD:
        return A.total(A.interval_around_zero(np.array([1.001 * scale * (1.0 + float(A.upper(A.total(c))))])))
    total = A.total(c * power(A, x / A.to_number(scale), p))
    return A.exp(A.log(total) / p) * A.to_number(scale)


@dataclass(frozen=True)
class EdgeTerms:
    """An edge function G.

    Attributes
    ----------
    value
        e -> G(e), where G has no constraints or they hold.
    conjugate
        w -> G*(w), for w in its domain.
    weight_constraint
        What the hypothesis weights must be: "simplex", "ball", "signed", "positive", "tied" or "given".
    max_edge
        gamma of e <= gamma; inf for none.
    fixed_edge
        rho of e = rho; nan for none.
    fixed_weight
        The weight of every hypothesis where it is given.
    absolute
        Whether `max_edge` is one of |e|.
    norm
        The norm of hypothesis weights that must be at most `radius`, or a number not below; None where there is none.
    """

    value: Callable[[Vector], Any]
    conjugate: Callable[[Vector], Any]
    weight_constraint: str
    max_edge: float = math.inf
    fixed_edge: float = math.nan
    fixed_weight: float = 0.0
    absolute: bool = False
    norm: Callable[[Vector], Any] | None = None
    radius: float = 1.0


def build_edge_terms(A: NumberType, G: Mapping[str, Any]) -> EdgeTerms:
    """Return the edge function that was stated, by kind and numbers."""
    nothing = A.to_number(0.0)
    quarter = A.to_number(0.25)

    def none(x: Vector) -> Any:
        return nothing

    kind = G["kind"]
    if kind in ("ball", "elastic", "1-norm"):
        return _penalty_terms(A, G)
    if kind == "maximum":
        return EdgeTerms(A.largest, none, "simplex")
    if kind == "absolute":
        return EdgeTerms(lambda e: A.largest(A.absolute(e)), none, "ball")
    if kind == "bounded":
        gamma = float(G["gamma"])
        return EdgeTerms(none, lambda w: A.total(w) * A.to_number(gamma), "positive", max_edge=gamma)
    if kind == "fixed":
        rho = float(G["rho"])
        return EdgeTerms(none, lambda w: A.total(w) * A.to_number(rho), "signed", fixed_edge=rho)
    if kind == "squared":
        return EdgeTerms(lambda e: A.total(e * e) * quarter, lambda w: A.total(w * w), "signed")
    if kind == "squared positive":
        return EdgeTerms(
            lambda e: A.total(A.positive(e) * A.positive(e)) * quarter, lambda w: A.total(w * w), "positive"
        )
    if kind == "linear":
        slope = float(G["slope"])
        return EdgeTerms(lambda e: A.total(e) * A.to_number(slope), none, "given", fixed_weight=slope)
    if kind == "tied":
        return EdgeTerms(lambda e: e[1], none, "tied")
    raise ValueError(f"the kind of the edge function is unknown: {kind!r}")


def _penalty_terms(A: NumberType, G: Mapping[str, Any]) -> EdgeTerms:
    """Return a penalty of |w|, of weights that are free in sign or not negative."""

    def two_norm(x: Vector) -> Any:
        """Return a number that is not below ||x||_2: there is no root in exact arithmetic, and none is needed."""
        return A.to_number(math.sqrt(float(A.upper(A.total(x * x)))) * (1.0 + 4.0 * OPERATION_ERROR))

    kind, weights = G["kind"], "signed" if G["signed"] else "positive"
    sizes = A.absolute if G["signed"] else A.positive
    if kind == "ball":
        r, p = float(G["r"]), float(G["p"])
        dual: Callable[[Vector], Any] = {1.0: A.largest, 2.0: two_norm}.get(p, A.total)
        norm = {1.0: lambda w: A.total(A.absolute(w)), 2.0: two_norm}.get(p, lambda w: A.largest(A.absolute(w)))
        zero = A.to_number(0.0)
        return EdgeTerms(lambda e: dual(sizes(e)) * A.to_number(r), lambda w: zero, weights, norm=norm, radius=r)
    l1 = A.to_number(float(G["l1"]))
    if kind == "1-norm":
        bound = float(G["l1"])
        return EdgeTerms(
            lambda e: A.to_number(0.0),
            lambda w: A.total(A.absolute(w)) * l1,
            weights,
            max_edge=bound,
            absolute=bool(G["signed"]),
        )
    l2 = A.to_number(float(G["l2"]))

    def value(e: Vector) -> Any:
        x = sizes(e) - l1
        # What is certainly below a large l1 is not as uncertain as l1 is.
        beyond = A.where(A.upper(x) > 0, A.positive(x), A.to_vector(np.zeros(len(A.upper(x)))))
        return A.total(beyond * beyond) / (l2 + l2)

    return EdgeTerms(value, lambda w: A.total(A.absolute(w)) * l1 + A.total(w * w) * l2 * A.to_number(0.5), weights)
