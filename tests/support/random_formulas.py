"""Formulas drawn to be hard: poles, steep ends, terms that cancel, factors that overflow, one feasible point.

Certificates of answers that are no solutions are held against 100 digits, in which the caps are c / nu.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np

from boostopt.authoring import (
    BoundedEdges,
    CappedSimplex,
    EdgeFunction,
    FormulaRegularizer,
    MaximumEdge,
    Squares,
    edge_formula,
    formula,
    prototype,
)
from boostopt.errors import ProblemError
from boostopt.programs.program import Program

DIGITS = 100

HARD = (
    # entropies, steep at one end or at both
    "d*log(d/u) + (u - d)*log((u - d)/u)",
    "d*log(d/d0)",
    "(u - d)*log(u - d)",
    "d*log(d)*k",
    "-sqrt(d)",
    "-sqrt(u - d)",
    "-(u - d)**(3/10)",
    "-d**(1/50)",
    "-sqrt(d*(u - d))",
    # poles
    "-log(d)*k",
    "-log(u - d)",
    "d0**2/d",
    "k/(u - d)",
    "h/d**3",
    "h/(u - d)**2",
    "d**3/(u - d)",
    # terms that cancel
    "b*((d - q)**2 - (d**2 - 2*q*d + q**2)) + (d - q)**2",
    "b*(d - q)**2",
    "b*log(1 + d**2/b)",
    "b*(1 + d/b)**3 - b",
    "(d + b)**2/b - b",
    "b*max(d - q/2, 0)**3*max(q - d, 0)**3*((d - q)**2 - (d**2 - 2*q*d + q**2)) + 10*(d - q)**2",
    "log(exp(b*d/10) + 1)/b",
    "sqrt(b**2 + d**2) - b",
    "huber(b*(d - q), k)/b",
    # factors that overflow beside others that underflow
    "v**2*d**400",
    "-v**2*d**400*log(2*u - d + s)",
    "exp(300*d)*exp(-300*s)*v/1e100/1e100",
    "d**2*v**2/1e300/1e100",
    "exp(-k*d)*d**0*h*1e100/v",
    "s**400*v**2*d**2",
    "(d*v)**2/v**2",
    # plain ones
    "d**2/c",
    "(d - d0)**2/d0",
    "max(d - q, 0)**2",
    "max(d - k*d0, 0)**1.5",
    "huber(d - q, s)",
    "d0**2/(d + d0)",
    "log(1 + exp(d))",
    "w*d",
    "d**4 + 1e-200*d**2",
)

EDGES = (
    "exp(a*e)/a",
    "-log(1 - e) - log(1 + e)",
    "e**2/4",
    "max(e - 1/10, 0)**2*a",
    "a*1e8*log(1 + e**2/1e8)",
    "-sqrt(1 - e)",
    "1/(1 - e)**3*1e-5",
)


@dataclass
class Outcome:
    """The number of certificates, and the faults found in them."""

    counts: Counter[str] = field(default_factory=Counter[str])
    false: list[str] = field(default_factory=list[str])
    slacks: list[float] = field(default_factory=list[float])


def parameters(rng: np.random.Generator, N: int, nu: float) -> dict[str, Any]:
    """Return the values of all names."""
    near_cap = rng.choice([1.0, 0.999, 0.5, 0.1])
    values = {
        "k": float(rng.uniform(0.1, 3.0)),
        "h": float(10.0 ** rng.uniform(-30, 2)),
        "b": float(10.0 ** rng.choice([2, 4, 8, 12, 15])) * float(rng.uniform(1.0, 2.0)),
        "q": rng.uniform(0.0, 1.0, N) * near_cap / nu if rng.random() < 0.5 else float(near_cap / nu),
        "v": np.full(N, 10.0 ** rng.choice([200.0, 150.0, 250.0])) if rng.random() < 0.7 else 1e90,
        "s": float(rng.uniform(0.05, 0.9)),
        "w": rng.normal(size=N) * 10.0 ** rng.integers(-3, 6),
    }
    return values


def random_program(rng: np.random.Generator) -> Program:
    """Return the program of a formula: a few examples and hypotheses, an edge function."""
    N, t = int(rng.integers(2, 7)), int(rng.integers(1, 3))
    atoms = rng.choice(len(HARD), rng.integers(1, 4), replace=False)
    scales = 10.0 ** rng.choice([0, 0, 0, -3, 3, -8], len(atoms))
    text = " + ".join(f"{float(scale)!r}*({HARD[k]})" for scale, k in zip(scales, atoms, strict=True))
    nu = float(rng.choice([N, N, rng.uniform(1.0, N), 1.0, N - 0.5, N * (1.0 - 1e-13)]))
    numbers = parameters(rng, N, nu)
    stripped = text
    for word in ("max", "exp", "sqrt", "huber", "log"):
        stripped = stripped.replace(word, "")
    used = {name: value for name, value in numbers.items() if name in stripped.replace("e-", "").replace("e+", "")}
    d0 = rng.dirichlet(np.full(N, 2.0)) if rng.random() < 0.5 else None
    domain = CappedSimplex(np.ones(N), nu)
    F: Any = formula(text, domain, d0, **used)
    U = np.round(rng.uniform(-1, 1, (N, t)), int(rng.integers(1, 17))) if rng.random() < 0.8 else np.zeros((N, t))
    edges = random_edge_program(rng, float((U.T @ np.full(N, 1.0 / N)).max()))
    total = F + Squares(np.ones(N), float(rng.uniform(0.1, 2.0))) if rng.random() < 0.01 else F
    return prototype("drawn", lambda p, e: total, lambda p: edges).bind(U)


def random_edge_program(rng: np.random.Generator, edge: float) -> EdgeFunction:
    """Return the largest edge, a bound next to an edge, or a formula."""
    chance = rng.random()
    if chance < 0.6:
        return MaximumEdge()
    if chance < 0.8:
        return BoundedEdges(edge + float(rng.choice([0.0, 1e-16, 1e-3, -1e-3])))
    text = EDGES[rng.integers(len(EDGES))]
    numbers = {"a": float(rng.uniform(0.1, 5.0))} if "a*" in text or "*a" in text else {}
    return edge_formula(text, **numbers)


def answer(rng: np.random.Generator, n: int, cap: float) -> np.ndarray | None:
    """Return weights that a user or a solver may pass."""
    kind = rng.integers(6)
    if kind == 0:
        return None
    if kind == 1:
        return np.full(n, 1.0 / n)
    if kind == 2:
        return rng.dirichlet(np.full(n, 0.3))
    if kind == 3:
        return rng.normal(size=n) * 10.0 ** rng.integers(-5, 6)
    # Weights at their caps, all but for one.
    d = np.zeros(n)
    for k in rng.permutation(n):
        d[k] = min(cap, 1.0 - d.sum())
    return d


def in_all_digits(text: str, names: dict[str, Any]) -> Any:
    """Return the value of a text in all digits; inf where it has a pole."""

    def huber(x: Any, m: Any) -> Any:
        return x**2 if abs(x) <= m else m * (2 * abs(x) - m)

    def log(x: Any) -> Any:
        return mpmath.log(x) if x > 0 else mpmath.mpf("-1e200000")  # times 0 it is 0

    meanings: dict[str, Any] = {"log": log, "exp": mpmath.exp, "sqrt": mpmath.sqrt, "max": max, "huber": huber}
    try:
        value = eval(_code(text), {**meanings, **names})
    except ZeroDivisionError:
        return mpmath.inf
    return value if abs(value) < mpmath.mpf("1e100000") else mpmath.inf


_compiled: dict[str, Any] = {}


def _code(text: str) -> Any:
    if text not in _compiled:
        if len(_compiled) > 10_000:
            _compiled.clear()
        _compiled[text] = compile(_rational(text), "formula", "eval")
    return _compiled[text]


def _rational(text: str) -> str:
    """Return a text whose quotients of whole numbers are exact."""
    for quotient in ("3/10", "1/50", "1/10", "1/2", "1/3", "1/4"):
        text = text.replace(quotient, f"(mpf({quotient.split('/')[0]})/{quotient.split('/')[1]})")
    return text


class Exact:
    """F of a program in all digits, with the caps c / nu themselves."""

    def __init__(self, F: Any) -> None:
        pieces = getattr(F, "terms", (F,))
        self.F: FormulaRegularizer = pieces[0]
        self.squares = [piece for piece in pieces[1:]]
        self.N = F.N
        self.u = [mpmath.mpf(float(c)) / mpmath.mpf(self.F.domain.nu) for c in self.F.domain.c]
        numbers: dict[str, Any] = {"d0": self.F.d0, "c": self.F.domain.c, **self.F.parameters}
        self.names = list[dict[str, Any]]()
        for n in range(self.N):
            exact_numbers = {
                name: mpmath.mpf(float(v[n] if isinstance(v, np.ndarray) else v)) for name, v in numbers.items()
            }
            self.names.append({**exact_numbers, "u": self.u[n], "mpf": mpmath.mpf})

    def value(self, d: list[Any]) -> Any:
        """Return F(d)."""
        value = mpmath.fsum(
            in_all_digits(self.F.text, {**names, "d": x}) for names, x in zip(self.names, d, strict=True)
        )
        for piece in self.squares:
            ratio = piece.values(np.full(self.N, 2.0))  # lambda d^2 / c / 2 at 2
            value += mpmath.fsum(mpmath.mpf(float(r)) * x**2 / 4 for r, x in zip(ratio, d, strict=True))
        return value

    def feasible(self, d: np.ndarray) -> list[list[Any]]:
        """Return points of the simplex next to weights: one weight, or all, make up for what their sum misses."""
        x = [min(max(mpmath.mpf(float(v)), mpmath.mpf(0)), u) for v, u in zip(d, self.u, strict=True)]
        missing = 1 - mpmath.fsum(x)
        ways = [u - v if missing > 0 else v for v, u in zip(x, self.u, strict=True)]
        total = mpmath.fsum(ways) or mpmath.mpf(1)
        points = [[v + missing * way / total for v, way in zip(x, ways, strict=True)]]
        rooms = [min(v, u - v) for v, u in zip(x, self.u, strict=True)]
        for n in {max(range(self.N), key=lambda k: rooms[k]), max(range(self.N), key=lambda k: ways[k])}:
            if ways[n] >= abs(missing):
                points.append([v + missing * (k == n) for k, v in enumerate(x)])
        # The last of all digits may be beyond a cap, where a logarithm has no value.
        return [[min(max(v, mpmath.mpf(0)), u) for v, u in zip(point, self.u, strict=True)] for point in points]


def check(program: Program, rng: np.random.Generator, outcome: Outcome) -> None:
    """Hold both bounds of a certificate against what exactly feasible weights are worth."""
    F: Any = program.regularizer
    G: Any = program.edge_function
    U = program.margins.to_array()
    N, t = U.shape
    d, w = answer(rng, N, float(np.max(F.upper))), answer(rng, t, 1.0)
    certificate = program.certify(d=d, w=w)
    numbers = (certificate.lower, certificate.upper, certificate.slack, certificate.gap)
    about = f"{getattr(F, 'terms', (F,))[0]!r} {G!r} U={U.tolist()} d={d!r} w={w!r}: {certificate!r}"
    if any(np.isnan(number) for number in numbers) or certificate.lower > certificate.upper:
        outcome.false.append(f"no interval: {numbers} {about}")
        return
    if certificate.infeasible:
        outcome.counts["infeasible"] += 1
        return
    outcome.counts["certified"] += 1
    outcome.counts["lower infinite"] += int(np.isinf(certificate.lower))
    outcome.counts["upper infinite"] += int(np.isinf(certificate.upper))
    outcome.slacks.append(certificate.slack / certificate.scale)
    exact = Exact(F)
    columns = [[mpmath.mpf(float(x)) for x in column] for column in U.T]

    def edges(x: list[Any]) -> list[Any]:
        return [mpmath.fsum(a * b for a, b in zip(column, x, strict=True)) for column in columns]

    def of_edges(e: list[Any]) -> Any:
        if isinstance(G, MaximumEdge):
            return max(e)
        if isinstance(G, BoundedEdges):
            return mpmath.mpf(0) if max(e) <= mpmath.mpf(G.gamma) else None
        numbers = {name: mpmath.mpf(value) for name, value in G.parameters.items()}
        return mpmath.fsum(in_all_digits(G.text, {**numbers, "e": x, "mpf": mpmath.mpf}) for x in e)

    weights = [mpmath.mpf(float(x)) for x in certificate.w]
    if isinstance(G, MaximumEdge):
        weights = [x / mpmath.fsum(weights) for x in weights]
    exact_points = exact.feasible(certificate.d)
    # The optimum is at most the value of each: an end below all of them is worth no feasible weights near its own.
    values = [exact.value(point) + more for point in exact_points if (more := of_edges(edges(point))) is not None]
    if values and certificate.upper < min(values):
        outcome.false.append(f"upper below {mpmath.nstr(min(values), 20)}: {about}")
    if np.isinf(certificate.lower):
        return
    z = -program.margins.margins(certificate.w)
    conjugate = F.conjugate_at(z)
    starts = (conjugate.d, np.full(N, 1.0 / N), F.maximizers(z - conjugate.multipliers["beta"]))
    points = [*exact_points, *(point for start in starts for point in exact.feasible(start))]
    penalty = mpmath.mpf(0)
    if isinstance(G, BoundedEdges):
        penalty = mpmath.mpf(G.gamma) * mpmath.fsum(weights)
    elif not isinstance(G, MaximumEdge):
        places = G._slope(t).inverse(certificate.w)
        penalty = mpmath.fsum(y * mpmath.mpf(float(e)) for y, e in zip(weights, places, strict=True))
        penalty -= of_edges([mpmath.mpf(float(e)) for e in places])
    for point in points:
        value_at_point = (
            exact.value(point) + mpmath.fsum(a * b for a, b in zip(weights, edges(point), strict=True)) - penalty
        )
        if mpmath.isnan(value_at_point):
            continue
        if certificate.lower > value_at_point:
            outcome.false.append(f"lower above {mpmath.nstr(value_at_point, 20)}: {about}")
            break


def run(count: int, seed: int, per_program: int = 1, show: Callable[[Outcome], None] = lambda outcome: None) -> Outcome:
    """Look at certificates of so many formulas, so many of each."""
    outcome = Outcome()
    with mpmath.workdps(DIGITS):
        for k in range(count):
            rng = np.random.default_rng((seed, k))
            outcome.counts["formulas"] += 1
            try:
                program = random_program(rng)
            except ProblemError as refused:
                outcome.counts["refused"] += 1
                outcome.counts[f"refused: {str(refused)[-60:]}"] += 0
                continue
            for _ in range(per_program):
                try:
                    check(program, rng, outcome)
                except Exception as failure:  # noqa: BLE001 it is what is looked for
                    outcome.false.append(f"{seed, k}: {type(failure).__name__} {failure}"[:600])
            show(outcome)
    return outcome
