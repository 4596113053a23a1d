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

from boostopt.verification.trusted_kernel.number_types import EPS, TINY, ZERO, Numbers

Vector = Any
"""A vector of numbers of some type."""

ABOVE = 1.0 + 1e-14
"""Factor by which a computed number is certainly not below what it stands for."""

FAR = 1e100
"""Factor up to which the quotient of two numbers is computed with."""


@dataclass(frozen=True)
class Box:
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
    free
        Whether the weights may be any with their sum: there is no box, and its ends say nothing.
    """

    lower: Vector
    upper: Vector
    on_simplex: bool
    values: Callable[[Vector], Vector]
    conjugates: Callable[[Vector], Vector]
    free: bool = False


@dataclass(frozen=True)
class Norm:
    """A ball or a penalty of the norm of the copies, ||d||_p^p = sum c (d / c)^p.

    `central` says whether the caps are multiples of c, or 1: where they hold any weights, they hold those proportional
    to c on the same examples.
    """

    ball: bool
    p: float
    r: float
    c: np.ndarray
    central: bool

    def of(self, A: Numbers, d: Vector) -> Any:
        """Return ||d||_p for d >= 0."""
        c = A.vector(self.c)
        return _norm(A, d / c, c, A.number(self.p)) if math.isfinite(self.p) else A.largest(d / c)

    def dual(self, A: Numbers, s: Vector) -> Any:
        """Return ||s||_q, (sum c |s|^q)^(1/q) with 1/p + 1/q = 1, for which the float next to q is not good enough."""
        sizes, c = A.size(s), A.vector(self.c)
        if not math.isfinite(self.p):
            return A.total(c * sizes)
        p = A.number(self.p)
        return _norm(A, sizes, c, p / (p - A.number(1.0)))


def cap(A: Numbers, u: Vector) -> Box:
    """I[0 <= d <= u, sum d = 1]: f* = u [y]_+."""
    nothing = A.vector(np.zeros(len(A.low(u))))
    return Box(nothing, u, True, lambda d: nothing, lambda y: u * A.positive(y))


def hinge(A: Numbers, u: Vector) -> Box:
    """F = -d on [0, u]: f* = u [1 + y]_+."""
    nothing = A.vector(np.zeros(len(A.low(u))))
    return Box(nothing, u, False, lambda d: -d, lambda y: u * A.positive(y + A.number(1.0)))


def quadratic_hinge(A: Numbers, c: np.ndarray, C: float, mu: float, B: float) -> Box:
    """F = -d + (mu/2) d^2 / u on [0, B u], u = C c: f* = u x^2 / (2 mu) with x = [1 + y]_+ up to mu B, then a line.

    B = inf is the squared hinge, mu = 1/2. It ends at a slope that no optimum reaches, and so it may
    at any larger one: the optimum is the same.
    """
    u, one, width, half = A.vector(c) * A.number(C), A.number(1.0), A.number(mu), A.number(0.5)
    unreached = 4.0 * np.sqrt(math.fsum(c.tolist()) / np.minimum(c, 1.0)) * ABOVE
    steepest = A.vector(np.full(len(c), B) if math.isfinite(B) else unreached)

    def conjugates(y: Vector) -> Vector:
        x = A.positive(y + one)
        # The line u (B x - mu B^2 / 2); the parabola is nowhere below.
        beyond = A.low(x - steepest * width) >= 0
        return u * A.choose(beyond, steepest * (x - steepest * width * half), x * x / (width + width))

    return Box(A.vector(np.zeros(len(c))), u * steepest, False, lambda d: d * (d / u) * width * half - d, conjugates)


def exponential(A: Numbers, c: np.ndarray, C: float) -> Box:
    """F = d ln(d / u) - d on [0, B u], u = C c: f* = u exp(y), and u B (1 + y - ln B) beyond ln B.

    B = e sum c / min(c, 1) is a slope that no optimum reaches; any larger one has the same optimum.
    """
    u = A.vector(c) * A.number(C)
    steepest = A.vector(math.e * (math.fsum(c.tolist()) / np.minimum(c, 1.0)) * ABOVE)

    def conjugates(y: Vector) -> Vector:
        over = A.positive(y - A.log(steepest))
        return u * A.exp(y - over) * (over + A.number(1.0))

    return Box(A.vector(np.zeros(len(c))), u * steepest, False, lambda d: xlog(A, d, u) - d, conjugates)


def logistic(A: Numbers, u: Vector) -> Box:
    """F = d ln(d / u) + (u - d) ln((u - d) / u) on [0, u]: f* = u ln(1 + exp(y))."""
    N = len(A.low(u))
    nothing = A.vector(np.zeros(N))

    def conjugates(y: Vector) -> Vector:
        return u * log_of_sum(A, nothing, y)

    return Box(nothing, u, False, lambda d: xlog(A, d, u) + xlog(A, u - d, u), conjugates)


def chi_square(A: Numbers, u: Vector, eta: float, c: np.ndarray) -> Box:
    """F = (d - a)^2 / (2 eta a) on [0, u], a = c / sum c: f* = a (r^2 - 1) / (2 eta) with r = [1 + eta y]_+ <= u / a.

    Beyond, f* = u y - f(u); the parabola is nowhere below.
    """
    counts, rate, one, half = A.vector(c), A.number(eta), A.number(1.0), A.number(0.5)
    share = counts / A.total(counts)

    def values(d: Vector) -> Vector:
        return (d - share) * (d - share) / share * half / rate

    def conjugates(y: Vector) -> Vector:
        r = A.positive(y * rate + one)
        beyond = A.low(r - u / share) >= 0
        return A.choose(beyond, u * y - values(u), share * (r * r - one) * half / rate)

    return Box(A.vector(np.zeros(len(c))), u, True, values, conjugates)


def margin_variance(A: Numbers, c: np.ndarray, D: float) -> Box:
    """F = (d - a)^2 / (2 k) on sum d = 1, a = c / sum c, k = D c / (sum c - 1): f* = a y + k y^2 / 2.

    No margin of a convex combination leaves the box of the module that solves; here there is none.
    """
    counts = A.vector(c)
    total = A.total(counts)
    share, k, half = counts / total, counts * (A.number(D) / (total - A.number(1.0))), A.number(0.5)
    return Box(
        share, share, True, lambda d: (d - share) * (d - share) / k * half, lambda y: share * y + k * y * y * half, True
    )


def shortfall(A: Numbers, c: np.ndarray, C: float, theta: float) -> Box:
    """F = -theta (d - C c) on [C c, (1 + C) c]: f* = C c y + c [theta + y]_+."""
    counts, level = A.vector(c), A.number(theta)
    lower = counts * A.number(C)
    return Box(
        lower,
        lower + counts,
        False,
        lambda d: (lower - d) * level,
        lambda y: lower * y + counts * A.positive(y + level),
    )


def entropy(A: Numbers, u: Vector, eta: float, d0: np.ndarray, unnormalized: bool) -> Box:
    """F = (1/eta) d ln(d / d0) on [0, u], with the terms d0 - d where it is unnormalized.

    f*(y) = x/eta at x = d0 exp(eta y - 1) <= u, unnormalized (x - d0)/eta at x = d0 exp(eta y); u y - f(u) beyond.
    """
    live, rate, one = d0 > 0, A.number(eta), A.number(1.0)
    ones, nothing = A.vector(np.ones(len(d0))), A.vector(np.zeros(len(d0)))
    reference, constant = A.choose(live, A.vector(d0), ones), A.vector(d0) / rate
    ends = A.choose(live, u, ones)

    def values(d: Vector) -> Vector:
        plain = xlog(A, d, reference) / rate
        return plain - d / rate + constant if unnormalized else plain

    def conjugates(y: Vector) -> Vector:
        log_d0, log_u = A.log(reference), A.log(ends)
        exponent = log_d0 + (y * rate if unnormalized else y * rate - one)
        # Without the cap the maximum is larger: where neither is certain that is a bound too.
        free = live & (A.low(exponent - log_u) <= 0)
        below = A.exp(A.choose(free, exponent, nothing)) / rate
        mean = (log_u - log_d0) / rate  # f(u) / u
        if unnormalized:
            below, mean = below - constant, mean - one / rate + constant / ends
        plain = A.choose(free, below, A.choose(live, u, nothing) * (y - mean))
        # u [y]_+ + max -f, and no weight exceeds 1: for exponents so large that their rounding says nothing.
        rough = A.choose(live & (A.high(u) > 1.0), ones, u) * A.positive(y)
        return no_more(A, plain, rough if unnormalized else rough + constant * A.number(0.368))

    return Box(nothing, A.choose(live, u, nothing), True, values, conjugates)


def binary(A: Numbers, u: Vector, eta: float, d0: np.ndarray, rest: Vector, free: np.ndarray, simplex: bool) -> Box:
    """F = (1/eta) [d ln(d / d0) + (u - d) ln((u - d) / rest)] on [0, u], rest = u - d0.

    f*(y) = (u/eta) ln((rest + d0 exp(eta y)) / u). A weight whose reference is 0 or its cap stays there: f* = d0 y.
    """
    N, rate = len(d0), A.number(eta)
    ones, nothing = A.vector(np.ones(N)), A.vector(np.zeros(N))
    fixed = A.choose(~free & (d0 > 0), u, nothing)
    u, rest, reference = (A.choose(free, x, y) for x, y in ((u, fixed), (rest, ones), (A.vector(d0), ones)))

    def values(d: Vector) -> Vector:
        return (xlog(A, A.choose(free, d, nothing), reference) + xlog(A, A.choose(free, u - d, nothing), rest)) / rate

    def conjugates(y: Vector) -> Vector:
        ends = A.choose(free, u, ones)
        a = log_quotient(A, rest, ends)
        x = log_quotient(A, reference, ends) + A.choose(free, y, nothing) * rate
        return A.choose(free, u * log_of_sum(A, a, x) / rate, fixed * y)

    return Box(fixed, u, simplex, values, conjugates)


def xlog(A: Numbers, x: Vector, y: Vector) -> Vector:
    """Return x ln(x / y) for x >= 0, y > 0: where x may be 0, the range of that function up to the end of x."""
    sure, high = A.low(x) > 0, np.maximum(A.high(x), 0.0)
    high = np.where(high <= ZERO, 0.0, high)
    safe = A.choose(sure, x, y)
    below, above = A.low(y), A.high(y)
    some = np.where(high > 0, high, 1.0)
    size = high * np.maximum(np.abs(np.log(some / below)), np.abs(np.log(some / above)))
    range_ = np.where(high > 0, np.maximum(1.001 * size, np.where(high < above / 3, 0.0, above / 2)), 0.0)
    return A.choose(sure, x * log_quotient(A, safe, y), A.within(range_))


def log_quotient(A: Numbers, x: Vector, y: Vector) -> Vector:
    """Return ln(x / y) for x, y > 0: logarithms of huge or tiny numbers cancel, so of the quotient where it is none."""
    near = (A.high(x) < FAR * A.low(y)) & (FAR * A.low(x) > A.high(y))
    return A.choose(near, A.log(A.choose(near, x, y) / y), A.log(x) - A.log(y))


def log_of_sum(A: Numbers, x: Vector, y: Vector) -> Vector:
    """Return ln(exp(x) + exp(y)), beside the larger one at most ln 2."""
    largest = A.vector(np.maximum(A.high(x), A.high(y)))
    return largest + no_more(A, A.log(A.exp(x - largest) + A.exp(y - largest)), A.vector(np.ones(len(A.high(x)))))


def no_more(A: Numbers, x: Vector, bound: Vector) -> Vector:
    """Return x, but a number that bounds it where of x too little is known."""
    return A.choose(A.high(x) <= A.high(bound), x, bound)


def power(A: Numbers, x: Vector, p: Any) -> Vector:
    """Return x^p for x >= 0 and a number p >= 1; where x may be 0, the range from 0 to the power of the end of x."""
    sure, high = A.low(x) > 0, np.maximum(A.high(x), 0.0)
    high = np.where(high <= ZERO, 0.0, high)
    safe = A.choose(sure, x, A.vector(np.ones(len(high))))
    range_ = 1.001 * high ** np.where(high < 1.0, A.low(p), A.high(p)) + np.where(high > 0, TINY, 0.0)
    return A.choose(sure, A.exp(A.log(safe) * p), A.within(range_))


def _norm(A: Numbers, x: Vector, c: Vector, p: Any) -> Any:
    """Return (sum c x^p)^(1/p) for x >= 0 and a number p > 1, scaled so that nothing overflows."""
    scale = float(A.high(x).max())
    if scale <= ZERO:
        return A.total(A.within(np.array([1.001 * scale * (1.0 + float(A.high(A.total(c))))])))
    total = A.total(c * power(A, x / A.number(scale), p))
    return A.exp(A.log(total) / p) * A.number(scale)


@dataclass(frozen=True)
class Edge:
    """An edge function G.

    Attributes
    ----------
    value
        e -> G(e), where G has no constraints or they hold.
    conjugate
        w -> G*(w), for w in its domain.
    weights
        What the hypothesis weights must be: "simplex", "ball", "signed", "positive", "tied" or "given".
    bound
        gamma of e <= gamma; inf for none.
    equal
        rho of e = rho; nan for none.
    slope
        The weight of every hypothesis where it is given.
    absolute
        Whether `bound` is one of |e|.
    norm
        The norm of hypothesis weights that must be at most `radius`, or a number not below; None where there is none.
    """

    value: Callable[[Vector], Any]
    conjugate: Callable[[Vector], Any]
    weights: str
    bound: float = math.inf
    equal: float = math.nan
    slope: float = 0.0
    absolute: bool = False
    norm: Callable[[Vector], Any] | None = None
    radius: float = 1.0


def edge(A: Numbers, G: Mapping[str, Any]) -> Edge:
    """Return the edge function that was stated, by kind and numbers."""
    nothing = A.number(0.0)
    quarter = A.number(0.25)

    def none(x: Vector) -> Any:
        return nothing

    kind = G["kind"]
    if kind in ("ball", "elastic", "1-norm"):
        return _penalty(A, G)
    if kind == "maximum":
        return Edge(A.largest, none, "simplex")
    if kind == "absolute":
        return Edge(lambda e: A.largest(A.size(e)), none, "ball")
    if kind == "bounded":
        gamma = float(G["gamma"])
        return Edge(none, lambda w: A.total(w) * A.number(gamma), "positive", bound=gamma)
    if kind == "fixed":
        rho = float(G["rho"])
        return Edge(none, lambda w: A.total(w) * A.number(rho), "signed", equal=rho)
    if kind == "squared":
        return Edge(lambda e: A.total(e * e) * quarter, lambda w: A.total(w * w), "signed")
    if kind == "squared positive":
        return Edge(lambda e: A.total(A.positive(e) * A.positive(e)) * quarter, lambda w: A.total(w * w), "positive")
    if kind == "linear":
        slope = float(G["slope"])
        return Edge(lambda e: A.total(e) * A.number(slope), none, "given", slope=slope)
    if kind == "tied":
        return Edge(lambda e: e[1], none, "tied")
    raise ValueError(f"the kind of the edge function is unknown: {kind!r}")


def _penalty(A: Numbers, G: Mapping[str, Any]) -> Edge:
    """Return a penalty of |w|, of weights that are free in sign or not negative."""

    def two_norm(x: Vector) -> Any:
        """Return a number that is not below ||x||_2: there is no root in exact arithmetic, and none is needed."""
        return A.number(math.sqrt(float(A.high(A.total(x * x)))) * (1.0 + 4.0 * EPS))

    kind, weights = G["kind"], "signed" if G["signed"] else "positive"
    sizes = A.size if G["signed"] else A.positive
    if kind == "ball":
        r, p = float(G["r"]), float(G["p"])
        dual: Callable[[Vector], Any] = {1.0: A.largest, 2.0: two_norm}.get(p, A.total)
        norm = {1.0: lambda w: A.total(A.size(w)), 2.0: two_norm}.get(p, lambda w: A.largest(A.size(w)))
        zero = A.number(0.0)
        return Edge(lambda e: dual(sizes(e)) * A.number(r), lambda w: zero, weights, norm=norm, radius=r)
    l1 = A.number(float(G["l1"]))
    if kind == "1-norm":
        bound = float(G["l1"])
        return Edge(
            lambda e: A.number(0.0), lambda w: A.total(A.size(w)) * l1, weights, bound=bound, absolute=bool(G["signed"])
        )
    l2 = A.number(float(G["l2"]))

    def value(e: Vector) -> Any:
        x = sizes(e) - l1
        # What is certainly below a large l1 is not as uncertain as l1 is.
        beyond = A.choose(A.high(x) > 0, A.positive(x), A.vector(np.zeros(len(A.high(x)))))
        return A.total(beyond * beyond) / (l2 + l2)

    return Edge(value, lambda w: A.total(A.size(w)) * l1 + A.total(w * w) * l2 * A.number(0.5), weights)
