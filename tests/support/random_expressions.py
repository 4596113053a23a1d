"""Random convex descriptions twice: as CVXPY states them, and in a hundred digits.

Each description is a tree of pieces that are steep, flat, cancelling or nearly out of their domain. A point in a
hundred digits has entries that sum to 1 exactly; so what a certificate says of exact weights can be held against the
function. `benchmarks/descriptions.py` draws many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cvxpy as cp
import mpmath
import numpy as np
from support.reference_formulas import exact_edges, program

from boostopt import ProblemError
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, exact_caps
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.linear_tilt import Tilted
from boostopt.problem_certificates.arithmetic.balls import ball
from boostopt.programs.cvxpy_functions.cvxpy_description import read_description
from boostopt.programs.cvxpy_functions.cvxpy_edges import CvxpyEdges
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer
from boostopt.programs.cvxpy_functions.partial_minimum import PartialMinimum

DIGITS = 100
mp = mpmath.mp.clone()
mp.dps = DIGITS

REFERENCE_RTOL = mp.mpf(10) ** (10 - DIGITS)
"""The relative error of values in a hundred digits: where a value is a float, its bound may be that float."""

Exact = list[Any]
"""Numbers of mpmath."""


@dataclass(frozen=True)
class Piece:
    """An expression, with its values in a hundred digits; inf outside its domain."""

    build: Callable[[Any], Any]
    exact: Callable[[Exact], Any]
    name: str


def exactly(x: np.ndarray) -> Exact:
    return [mp.mpf(float(value)) for value in x]


def in_digits(x: list[Fraction]) -> Exact:
    return [mp.mpf(value.numerator) / value.denominator for value in x]


def dot(a: np.ndarray, d: Exact) -> Any:
    return mp.fsum(mp.mpf(float(x)) * y for x, y in zip(a, d, strict=True))


def number(rng: np.random.Generator) -> float:
    """A factor of any size, now and then a round one."""
    kind = rng.integers(4)
    if kind == 0:
        return float(rng.choice([1.0, 2.0, 0.5, 3.0, 0.1]))
    return float(10.0 ** rng.uniform(*((-2, 2), (-8, 8), (8, 14))[min(int(kind) - 1, 2)]))


def affine(rng: np.random.Generator, N: int, m: int) -> tuple[Callable[[Any], Any], Callable[[Exact], Exact], str]:
    """Rows A d + b: of any size, cancelling on the simplex, or the weights themselves."""
    kind = int(rng.integers(7))
    if kind == 0 and m == N:
        return lambda d: d, lambda d: list(d), "d"
    if kind == 1:
        s, k = number(rng), float(rng.choice([1.0, 0.25, 1.0 / 3.0]))
        offsets = np.round(rng.uniform(0, 0.5, m), 2)
        return (
            lambda d: s * (cp.sum(d) - k) + offsets,
            lambda d: [mp.mpf(s) * (mp.fsum(d) - mp.mpf(k)) + mp.mpf(float(o)) for o in offsets],
            f"{s:.1e}*(sum-{k:.2f})",
        )
    rows = {0: np.round(rng.uniform(-2, 2, (m, N)), 1), 2: rng.uniform(0.9, 1.1, (m, N)) * number(rng)}
    A = rows.get(kind, rng.normal(size=(m, N)))
    scale = number(rng) if kind in (3, 4) else 1.0
    b = A.mean(axis=1) if kind == 4 else rng.uniform(-1, 1, m)
    if kind == 5:  # a huge constant that is taken away again
        big = number(rng)
        return (
            lambda d: (A @ d + big) - big,
            lambda d: [dot(row, d) for row in A],
            f"A+-{big:.1e}",
        )
    return (
        lambda d: scale * (A @ d - b),
        lambda d: [mp.mpf(scale) * (dot(row, d) - mp.mpf(float(x))) for row, x in zip(A, b, strict=True)],
        f"{scale:.1e}*(Ad-b)",
    )


def positive(rng: np.random.Generator, N: int, m: int) -> tuple[Callable[[Any], Any], Callable[[Exact], Exact], str]:
    """Rows that are positive inside the simplex: some weights plus a number that may be 0 or tiny."""
    A = np.round(rng.uniform(0.0, 2.0, (m, N)), 1) * (rng.random((m, N)) < 0.6)
    A[A.sum(axis=1) == 0.0, 0] = 1.0
    b = float(rng.choice([0.0, 0.0, 1e-300, 1e-9, 0.3]))
    scale = number(rng)
    return (
        lambda d: scale * (A @ d) + b,
        lambda d: [mp.mpf(scale) * dot(row, d) + mp.mpf(b) for row in A],
        f"{scale:.1e}*Ad+{b:.0e}",
    )


def power(x: Any, p: float) -> Any:
    if x < 0 and p != 2.0:
        return mp.inf
    if x == 0:
        return mp.inf if p < 0 else mp.mpf(0)
    return x ** mp.mpf(p)


def rel_entr(x: Any, y: Any) -> Any:
    if x < 0 or y < 0 or (y == 0 and x > 0):
        return mp.inf
    return mp.mpf(0) if x == 0 else x * mp.log(x / y)


def exp(x: Any) -> Any:
    """e^x; inf or 0 where it has more digits than memory."""
    return mp.exp(x) if abs(x) < 1e6 else (mp.inf if x > 0 else mp.mpf(0))


def norm(x: Exact, p: float) -> Any:
    if p == np.inf:
        return max(map(abs, x))
    return mp.fsum(abs(v) ** mp.mpf(p) for v in x) ** (1 / mp.mpf(p))


def log_sum_exp(x: Exact) -> Any:
    top = max(x)
    return top + mp.log(mp.fsum(exp(v - top) for v in x))


def of_affine(rng: np.random.Generator, N: int) -> Piece:
    """A convex atom of affine rows."""
    m = int(rng.integers(1, 4))
    make, value, name = affine(rng, N, m)
    k = float(rng.choice([1.0, 1.5, 2.0]))
    w = np.round(rng.normal(size=m), 1)
    M: Any = float(rng.choice([1.0, 0.1, 1e-3]))
    B = np.round(rng.normal(size=(m, m)), 1)
    P = (B @ B.T + (B @ B.T).T) / 2
    p: Any = float(rng.choice([1.5, 3.0, 7.3]))
    atoms: list[tuple[Callable[[Any], Any], Callable[[Exact], Any], str]] = [
        (lambda u: cp.sum_squares(u), lambda u: mp.fsum(v * v for v in u), "squares"),
        (lambda u: cp.sum(cp.square(u)), lambda u: mp.fsum(v * v for v in u), "square"),
        (lambda u: cp.norm1(u), lambda u: norm(u, 1.0), "norm1"),
        (lambda u: cp.norm(u, 2), lambda u: mp.sqrt(mp.fsum(v * v for v in u)), "norm2"),
        (lambda u: cp.norm(u, "inf"), lambda u: norm(u, np.inf), "norm_inf"),
        (lambda u: cp.pnorm(u, p, approx=False), lambda u: norm(u, p), f"norm{p}"),
        (lambda u: cp.max(u), lambda u: max(u), "max"),
        (lambda u: -cp.min(u), lambda u: -min(u), "-min"),
        (lambda u: cp.sum(cp.pos(u)), lambda u: mp.fsum(max(v, mp.mpf(0)) for v in u), "pos"),
        (
            lambda u: cp.sum_largest(u, min(k, m)),
            lambda u: (lambda s, c: mp.fsum(s[: int(c)]) + (mp.mpf(c) - int(c)) * (s[int(c)] if c > int(c) else 0))(
                sorted(u, reverse=True), min(k, m)
            ),
            "sum_largest",
        ),
        (lambda u: cp.log_sum_exp(u), log_sum_exp, "log_sum_exp"),
        (
            lambda u: cp.sum(cp.logistic(u)),
            lambda u: mp.fsum(mp.log(1 + exp(v)) if v < 400 else v + mp.log(1 + exp(-v)) for v in u),
            "logistic",
        ),
        (lambda u: cp.sum(cp.exp(u)), lambda u: mp.fsum(map(exp, u)), "exp"),
        (
            lambda u: cp.sum(cp.huber(u, M)),
            lambda u: mp.fsum(v * v if abs(v) <= M else 2 * mp.mpf(M) * abs(v) - mp.mpf(M) ** 2 for v in u),
            "huber",
        ),
        (
            lambda u: cp.quad_form(u, cp.psd_wrap(P)) if m > 1 else cp.sum_squares(u),
            lambda u: (
                mp.fsum(mp.mpf(float(P[i, j])) * u[i] * u[j] for i in range(m) for j in range(m))
                if m > 1
                else u[0] ** 2
            ),
            "quad_form",
        ),
        (
            lambda u: cp.norm1(cp.cumsum(u)),
            lambda u: mp.fsum(abs(mp.fsum(u[: i + 1])) for i in range(m)),
            "cumsum",
        ),
        (lambda u: cp.sum(cp.cummax(u)), lambda u: mp.fsum(max(u[: i + 1]) for i in range(m)), "cummax"),
        (
            lambda u: cp.dotsort(u, w),
            lambda u: mp.fsum(mp.mpf(float(a)) * v for a, v in zip(sorted(w), sorted(u), strict=True)),
            "dotsort",
        ),
    ]
    atom, exact, kind = atoms[int(rng.integers(len(atoms)))]
    return Piece(lambda d: atom(make(d)), lambda d: exact(value(d)), f"{kind}({name})")


def of_positive(rng: np.random.Generator, N: int) -> Piece:
    """A convex function of positive rows, with poles or infinite slopes at 0."""
    m = int(rng.integers(1, 4))
    make, value, name = positive(rng, N, m)
    p = float(rng.choice([1.5, 3.0, -1.0, -0.5, 0.5, 0.3, 2.7, -2.0]))
    a = np.round(rng.dirichlet(np.ones(m)), 3) + 0.001
    q: Any = float(rng.choice([0.5, -1.0, 0.3]))
    sign = -1.0 if 0 < p < 1 else 1.0
    atoms: list[tuple[Callable[[Any], Any], Callable[[Exact], Any], str]] = [
        (
            lambda u: sign * cp.sum(cp.power(u, p, approx=False)),
            lambda u: (lambda s: s if s == mp.inf else mp.mpf(sign) * s)(mp.fsum(power(v, p) for v in u)),
            f"power {p}",
        ),
        (
            lambda u: -cp.sum(cp.log(u)),
            lambda u: mp.fsum(mp.inf if v <= 0 else -mp.log(v) for v in u),
            "-log",
        ),
        (lambda u: -cp.sum(cp.entr(u)), lambda u: mp.fsum(rel_entr(v, mp.mpf(1)) for v in u), "-entr"),
        (lambda u: -cp.sum(cp.log1p(u)), lambda u: mp.fsum(-mp.log(1 + v) for v in u), "-log1p"),
        (
            lambda u: cp.sum(cp.rel_entr(u, a)),
            lambda u: mp.fsum(rel_entr(v, mp.mpf(float(x))) for v, x in zip(u, a, strict=True)),
            "rel_entr",
        ),
        (
            lambda u: cp.sum(cp.kl_div(a, u)),
            lambda u: mp.fsum(rel_entr(mp.mpf(float(x)), v) - mp.mpf(float(x)) + v for v, x in zip(u, a, strict=True)),
            "kl_div",
        ),
        (
            lambda u: -cp.geo_mean(u, approx=False),
            lambda u: -mp.exp(mp.fsum(mp.log(v) for v in u) / m) if min(u) > 0 else mp.mpf(0),
            "-geo_mean",
        ),
        (
            lambda u: -cp.pnorm(u, q, approx=False),
            lambda u: (
                -(mp.fsum(power(v, q) for v in u) ** (1 / mp.mpf(q)))
                if min(u) > 0
                else (mp.mpf(0) if q < 0 else -(mp.fsum(power(v, q) for v in u) ** (1 / mp.mpf(q))))
            ),
            f"-norm{q}",
        ),
        (
            lambda u: cp.quad_over_lin(u, u[0] + 0.01),
            lambda u: mp.fsum(v * v for v in u) / (u[0] + mp.mpf(0.01)),
            "quad_over_lin",
        ),
    ]
    atom, exact, kind = atoms[int(rng.integers(len(atoms)))]
    return Piece(lambda d: atom(make(d)), lambda d: exact(value(d)), f"{kind}({name})")


def piece(rng: np.random.Generator, N: int, depth: int = 2) -> Piece:
    """A random convex scalar."""
    kind = int(rng.integers(10)) if depth else int(rng.integers(4))
    if kind < 3:
        return of_affine(rng, N)
    if kind < 5:
        return of_positive(rng, N)
    first = piece(rng, N, depth - 1)
    if kind == 5:
        s = number(rng)
        return Piece(lambda d: s * first.build(d), lambda d: mp.mpf(s) * first.exact(d), f"{s:.1e}*{first.name}")
    second = piece(rng, N, depth - 1)
    if kind == 6:
        return Piece(
            lambda d: cp.maximum(first.build(d), second.build(d)),
            lambda d: max(first.exact(d), second.exact(d)),
            f"max({first.name}, {second.name})",
        )
    if kind == 7:
        return Piece(
            lambda d: cp.square(cp.pos(first.build(d))),
            lambda d: max(first.exact(d), mp.mpf(0)) ** 2,
            f"square(pos({first.name}))",
        )
    if kind == 8:
        return Piece(
            lambda d: cp.log_sum_exp(cp.hstack([first.build(d), second.build(d)])),
            lambda d: (lambda u: mp.inf if mp.inf in u else log_sum_exp(u))([first.exact(d), second.exact(d)]),
            f"log_sum_exp({first.name}, {second.name})",
        )
    return Piece(
        lambda d: first.build(d) + second.build(d),
        lambda d: first.exact(d) + second.exact(d),
        f"{first.name} + {second.name}",
    )


def weights(rng: np.random.Generator, upper: list[Fraction]) -> list[Fraction]:
    """Weights that are exactly feasible: inside, near the boundary, or with tiny entries."""
    N = len(upper)
    kind = int(rng.integers(4))
    spread, sparse = rng.dirichlet(np.ones(N)), rng.dirichlet(np.full(N, 0.1))
    raw = [spread, sparse, np.full(N, 1 / N), spread][kind]
    if kind == 3:
        raw = raw * 10.0 ** rng.uniform(-30, 0, N)
    return feasible([Fraction(float(x)) for x in raw], upper)


def feasible(d: list[Fraction], upper: list[Fraction]) -> list[Fraction]:
    """The exact point of the capped simplex next to d."""
    d = [min(max(x, Fraction(0)), u) for x, u in zip(d, upper, strict=True)]
    total = sum(d, Fraction(0))
    if total > 1:
        return [x / total for x in d]
    room = sum(upper, Fraction(0)) - total
    return [x + (1 - total) * (u - x) / room if room else x for x, u in zip(d, upper, strict=True)]


@dataclass
class Count:
    """Numbers of cases that were tried, and of those found to be false."""

    descriptions: int = 0
    statements: int = 0
    open_ends: int = 0
    refused: int = 0
    false: list[str] | None = None

    def claim(self, holds: bool, text: str) -> None:
        self.statements += 1
        if not holds:
            self.false = [*(self.false or []), text]


def drawn_domain(rng: np.random.Generator) -> tuple[CappedSimplex, list[Fraction]]:
    """A capped simplex with its exact caps, now and then a single point."""
    N = int(rng.integers(1, 6))
    c = rng.choice([1.0, 2.0, 0.3], N)
    domain = CappedSimplex(c, float(c.sum()) * float(rng.choice([1.0, 0.5, 0.9, 0.2])))
    exact = list(map(Fraction, c.tolist()))
    nu = min(Fraction(domain.nu), sum(exact, Fraction(0)))
    return domain, [x / nu for x in exact]


def check_description(seed: int, count: Count, tangents: int = 4) -> None:
    """Hold the values and the conjugates of a random description at some points against a hundred digits."""
    rng = np.random.default_rng(seed)
    domain, upper = drawn_domain(rng)
    N, caps = len(upper), exact_caps(domain, domain.upper)
    expression = piece(rng, N)
    description = read_description("f", lambda d: cp.sum(expression.build(d)), cp.Variable(N))
    count.descriptions += 1
    points = [weights(rng, upper) for _ in range(4)]
    values = [expression.exact(in_digits(d)) for d in points]
    z = rng.normal(size=N) * 10.0 ** rng.uniform(-3, 6)
    beta = float(CappedSimplexIndicator(domain).conjugate_at(z).multipliers["beta"])
    try:
        minimum = PartialMinimum("f", description, np.zeros(N), caps, True, domain.c / domain.c.sum())
    except ProblemError:
        count.refused += 1
        return
    for exact in [*points, *(weights(rng, upper) for _ in range(tangents - len(points)))]:
        d = domain.renormalize(np.array([float(x) for x in exact]))
        point = minimum.feasible_point(d)
        member = None if point is None else exact_member(point.x, upper)
        if point is None:
            count.open_ends += 1
        elif member is not None:
            value = expression.exact(in_digits(member))
            slack = abs(value) * REFERENCE_RTOL if mp.isfinite(value) else 0
            count.claim(value - slack <= point.upper, f"{seed}: value {value} above {point.upper} of {expression.name}")
        conjugate, _ = minimum.bound_from(z, d, beta)
        count.claim(not np.isnan(conjugate), f"{seed}: nan in {expression.name}")
        for rational, value in zip(points, values, strict=True):
            if mp.isfinite(value):
                difference = dot(z, in_digits(rational)) - value
                count.claim(
                    difference <= conjugate + (abs(value) + abs(difference)) * REFERENCE_RTOL,
                    f"{seed}: conjugate {conjugate} below {difference} of {expression.name}",
                )


def exact_member(x: list[Any], upper: list[Fraction]) -> list[Fraction] | None:
    """The point of balls whose entries sum to 1, if all balls but one are floats; None if several are not."""
    open_entries = [n for n, entry in enumerate(x) if not entry.is_exact() or entry != float(entry.mid())]
    if len(open_entries) > 1:
        return None
    result = [Fraction(float(entry.mid())) for entry in x]
    n = open_entries[0] if open_entries else 0
    result[n] += 1 - sum(result, Fraction(0))
    is_within = x[n].contains(ball(result[n])) and 0 <= result[n] <= upper[n]
    return result if is_within or not open_entries else None


def drawn_program(rng: np.random.Generator) -> tuple[Any, Callable[[list[Fraction]], Any], list[Fraction]]:
    """A program with a description in it, its exact primal value as a function, and the exact caps."""
    domain, upper = drawn_domain(rng)
    N, t = len(upper), int(rng.integers(1, 4))
    U = rng.choice([-1.0, 1.0, 0.5, -0.3, 0.0], (N, t))
    of_d = piece(rng, N) if rng.random() < 0.75 else None
    of_e = of_affine(rng, t) if of_d is None or rng.random() < 0.3 else None
    tilt = rng.normal(size=N) * number(rng) if of_d is not None and rng.random() < 0.3 else None
    inside = domain.c / domain.c.sum()
    base: Regularizer = CappedSimplexIndicator(domain) if of_d is None else CvxpyRegularizer(domain, of_d.build, inside)
    F = base if tilt is None else Tilted(base, tilt)
    G: EdgeFunction = MaximumEdge() if of_e is None else CvxpyEdges(of_e.build)

    def value(d: list[Fraction]) -> Any:
        x, e = in_digits(d), in_digits(exact_edges(U, d))
        of_weights = mp.mpf(0) if of_d is None else of_d.exact(x)
        linear = mp.mpf(0) if tilt is None else dot(tilt, x)
        return of_weights + linear + (max(e) if of_e is None else of_e.exact(e))

    return program(U, F, G), value, upper


def check_program(seed: int, count: Count) -> None:
    """Hold certificates of a random program against a hundred digits: no lower bound above a value that is attained.

    Where the capped simplex is one point, its value is the optimum, and lies in every interval.
    """
    rng = np.random.default_rng(seed)
    try:
        pair, value, upper = drawn_program(rng)
    except ProblemError:
        count.refused += 1
        return
    count.descriptions += 1
    N, t = pair.margins.shape
    points = [weights(rng, upper) for _ in range(3)]
    certificates = list[Any]()
    start = np.array([float(x) for x in points[0]]) * (1 + 1e-12 * rng.normal(size=N))
    for d in (rng.dirichlet(np.ones(N)), start, None):
        w = [rng.dirichlet(np.ones(t)), rng.normal(size=t) * 10.0 ** rng.uniform(-3, 4)][int(rng.integers(2))]
        try:
            certificate = pair.certify(d=d, w=w)
        except ProblemError as fault:
            count.claim("contradicts" not in str(fault), f"{seed}: {fault}")
            count.refused += 1
            continue
        certificates.append(certificate)
        points.append(feasible([Fraction(float(x)) for x in certificate.d], upper))
    values = [value(d) for d in points]
    minimum = min(values)
    best = points[values.index(minimum)]
    for point in points:
        for share in (Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)):
            mixed = [(1 - share) * x + share * y for x, y in zip(best, point, strict=True)]
            minimum = min(minimum, value(mixed))
    for certificate in certificates:
        lower, highest = certificate.lower, certificate.upper
        count.open_ends += int(not np.isfinite([lower, highest]).all())
        count.claim(lower <= highest, f"{seed}: [{lower}, {highest}]")
        count.claim(not np.isnan(certificate.gap), f"{seed}: the gap is nan")
        count.claim(lower <= minimum, f"{seed}: lower {lower} above {minimum}")
        count.claim(all(highest >= reference.lower for reference in certificates), f"{seed}: disjoint")
        if len(set(map(tuple, points))) == 1:
            count.claim(highest >= minimum, f"{seed}: upper {highest} below {minimum}")
