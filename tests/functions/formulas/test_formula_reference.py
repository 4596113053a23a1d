"""No false bound: formulas drawn at random, noise in place of answers, 40 digits to compare with."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from support.reference_formulas import program
from support.speeds import many

from boostopt.authoring import CappedSimplex, FormulaRegularizer, formula, prototype
from boostopt.errors import ProblemError
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.programs.program import Program

DIGITS = 40
TIGHT = 1e-7
"""Relative distances of the reference to the optimum of the weights, and of the bound to the reference."""

ATOMS = (
    "d*log(d/d0)",
    "d*log(d) - d*log(c)",
    "(u - d)*log((u - d)/u)",
    "(c**(1 - q)*d**q - d)/(q - 1)",
    "d**3/d0**2",
    "(d - d0)**2/d0",
    "c*huber((d - d0)/c, k)",
    "max(d - k*d0, 0)**2/c",
    "-c*log(d/c)*k/10",
    "-sqrt(d*c)",
    "d0**2/(d + d0)",
    "c*log(1 + exp(d/c))",
    "c*exp(k*d/c)",
    "(u - d)**2/(d + u)",
    "c**2/(2*u - d)",
    "a*d",
    "max(a*d - u/9, 0)**1.5/sqrt(c)",
)
"""Convex functions of d that count k copies as k."""


def random_program(rng: np.random.Generator) -> Program:
    """Return a program of a few examples whose F is a random sum of convex atoms."""
    N, t = int(rng.integers(3, 9)), int(rng.integers(1, 5))
    atoms = rng.choice(len(ATOMS), rng.integers(1, 4), replace=False)
    text = " + ".join(f"{rng.uniform(0.1, 3.0)!r}*({ATOMS[k]})/eta" for k in atoms)
    numbers: dict[str, Any] = {
        "eta": float(10.0 ** rng.uniform(-1, 4)),
        "q": float(rng.uniform(1.1, 3.0)),
        "k": float(rng.uniform(0.1, 2.0)),
        "a": rng.normal(size=N),
    }
    used = {name: value for name, value in numbers.items() if name in text.replace("max", "").replace("sqrt", "")}
    c = rng.choice([1.0, 2.0, 0.5], N) if rng.random() < 0.5 else np.ones(N)
    nu = float(rng.uniform(1.0, 0.9 * c.sum())) if c.sum() > 1.2 else 1.0
    page = prototype("random", lambda p, e: formula(text, CappedSimplex(e.c, nu), e.d0, **used))
    return page.bind(rng.uniform(-1, 1, (N, t)), c=c, d0=rng.dirichlet(np.full(N, rng.choice([0.5, 5.0]))))


def noise(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return weights that a broken solver may return."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.normal(size=n)
    if kind == 1:
        return rng.exponential(size=n) ** 5
    return rng.dirichlet(np.full(n, 0.3)) if kind == 2 else rng.exponential(size=n) * (rng.random(n) < 0.5)


def values(F: FormulaRegularizer) -> list[Any]:
    """Return the functions f_n that Python evaluates from the text."""

    def huber(x: Any, m: Any) -> Any:
        return x**2 if abs(x) <= m else m * (2 * abs(x) - m)

    def log(x: Any) -> Any:
        return mpmath.log(x) if x > 0 else mpmath.mpf("-1e50")

    meanings: dict[str, Any] = {"log": log, "exp": mpmath.exp, "sqrt": mpmath.sqrt, "max": max, "huber": huber}
    options: dict[str, Any] = {"d0": F.d0, "c": F.domain.c, **F.parameters}
    code, functions = compile(F.text, "formula", "eval"), list[Any]()
    for n in range(F.N):
        arguments = {name: mpmath.mpf(float(v[n] if isinstance(v, np.ndarray) else v)) for name, v in options.items()}
        arguments["u"] = mpmath.mpf(float(F.upper[n]))
        functions.append(lambda x, arguments=arguments: eval(code, {**meanings, **arguments, "d": x}))
    return functions


def value(f: list[Any], d: list[Any]) -> Any:
    """Return F(d) with 40 digits."""
    return mpmath.fsum(function(x) for function, x in zip(f, d, strict=True))


def missing(F: FormulaRegularizer, f: list[Any], z: list[Any], d: list[Any], points: np.ndarray) -> float:
    """Bound how far <z, d> - F(d) is from its maximum over the simplex, by the tangent at a point near d."""
    rise, conjugates = np.zeros(F.N), [mpmath.mpf(0)] * F.N
    with mpmath.workdps(2 * DIGITS):
        for n, x in enumerate(points.tolist()):
            u = mpmath.mpf(float(F.upper[n]))
            # Next to an end of the interval a slope may be infinite: take a point a little further inside.
            p = min(max(mpmath.mpf(x), u / 10**12), u * (1 - mpmath.mpf(10) ** -10))
            h = min(p, u - p) / 10**30
            slope = (f[n](p + h) - f[n](p - h)) / (2 * h)
            rise[n], conjugates[n] = float(z[n] - slope), slope * p - f[n](p)
    attained_value = mpmath.fsum(x * y for x, y in zip(z, d, strict=True)) - value(f, d)
    return float(F.support(rise) + mpmath.fsum(conjugates) - attained_value)


def exact(F: FormulaRegularizer, d: np.ndarray) -> list[Any]:
    """Return a point of the simplex in 40 digits near a float one. The roomiest weight takes the rounding error."""
    weights = [mpmath.mpf(float(x)) for x in d]
    room = int(np.argmax(np.minimum(d, F.upper - d)))
    weights[room] += 1 - mpmath.fsum(weights)
    assert abs(weights[room] - float(d[room])) < 1e-14
    return weights


def check_one(program: Program, rng: np.random.Generator) -> None:
    """Compare the two bounds with the values of the weights of the certificate in 40 digits."""
    F: Any = program.regularizer
    N, t = program.margins.shape
    U = program.margins.to_array()
    certificate = program.certify(d=noise(rng, N), w=noise(rng, t))
    with mpmath.workdps(DIGITS):
        f, d = values(F), exact(F, certificate.d)
        edges = [mpmath.fsum(mpmath.mpf(float(U[n, q])) * d[n] for n in range(N)) for q in range(t)]
        upper = value(f, d) + max(edges)
        assert certificate.upper >= upper, F.text
        # The smallest F(d) + <d, Uw> is the bound that w proves. The maximizer attains it, by its tangent.
        w = [mpmath.mpf(float(x)) for x in certificate.w]
        w = [x / mpmath.fsum(w) for x in w]
        m = [mpmath.fsum(mpmath.mpf(float(U[n, q])) * w[q] for q in range(t)) for n in range(N)]
        z = -program.margins.margins(certificate.w)
        point = F.conjugate_at(z)
        best = exact(F, point.d)
        exact_lower = value(f, best) + mpmath.fsum(x * y for x, y in zip(best, m, strict=True))
        allowed = TIGHT * max(1.0, abs(exact_lower)) + 2.0 * certificate.slack
        assert certificate.lower <= exact_lower <= certificate.lower + allowed, F.text
        points = F.maximizers(z - point.multipliers["beta"])
        assert missing(F, f, [-x for x in m], best, points) <= allowed, F.text
    assert certificate.lower <= certificate.upper


def check_many(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(count):
        try:
            program = random_program(rng)
        except ProblemError as fault:
            assert "could not be proved" in str(fault)
            refused += 1
            continue
        check_one(program, rng)
    assert refused <= 0.05 * count


def test_noise_proves_no_false_bound() -> None:
    check_many(0, many(20, 4))


@pytest.mark.thorough
@pytest.mark.untyped
@pytest.mark.parametrize("seed", range(1, 21))
def test_noise_on_two_thousand_programs_proves_no_false_bound(seed: int) -> None:
    check_many(seed, 100)


LARGE_INSIDE = {
    "1e8*log(1+d*d/1e8)": lambda x: 10**8 * mpmath.log(1 + x * x / 10**8),
    "1e6*log(1+d*d/1e6)": lambda x: 10**6 * mpmath.log(1 + x * x / 10**6),
    "(1+d/1e9)**1e10/1000": lambda x: (1 + x / 10**9) ** (10**10) / 1000,
    "(1+d/1e6)**1e7/1000": lambda x: (1 + x / 10**6) ** (10**7) / 1000,
}


@pytest.mark.parametrize("text", LARGE_INSIDE)
def test_the_slack_counts_rounding_inside_of_a_sum(text: str) -> None:
    """The rounding of a sum within a logarithm or a power is large, and its terms are not."""
    U = np.array([[0.3], [-0.2], [0.1]])
    F = formula(text, CappedSimplex(np.ones(3), 1.5))
    certificate = program(U, F, MaximumEdge()).solve("interior", tol=1e-5).certificate
    with mpmath.workdps(40):
        d = [mpmath.mpf(x) for x in certificate.d.tolist()]
        value = sum(LARGE_INSIDE[text](x) + x * mpmath.mpf(u) for x, u in zip(d, U[:, 0].tolist(), strict=True))
    assert certificate.lower <= value <= certificate.upper
    assert certificate.slack > 1e-10
