"""The checker's own formulas against those of the regularizers, edge functions and margins that it does not import."""

from __future__ import annotations

import ast
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typechecker

import boostopt.verification
from boostopt import ProblemError
from boostopt.authoring import (
    AbsoluteEdge,
    Array,
    BallEdges,
    BinaryEntropy,
    BoundedEdges,
    CappedSimplex,
    CappedSimplexIndicator,
    ElasticEdges,
    Exponential,
    FixedEdges,
    Float,
    Hinge,
    LogarithmicLoss,
    Logistic,
    MarginVariance,
    MaximumEdge,
    OneNormEdges,
    PowerDivergence,
    QuadraticHinge,
    RelativeEntropy,
    Shortfall,
)
from boostopt.functions.edge_functions.linear_edges import LinearEdges
from boostopt.functions.edge_functions.squared_edges import SquaredEdges, SquaredPositiveEdges
from boostopt.functions.edge_functions.tied_edges import TiedEdges
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.linear_tilt import Tilted
from boostopt.functions.regularizers.relative_entropy import UnnormalizedRelativeEntropy
from boostopt.programs.program import Examples
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.verification.functions_as_json import edge_to_json, regularizer_to_json
from boostopt.verification.trusted_kernel import checker as checking
from boostopt.verification.trusted_kernel.checker import matrix_digest
from boostopt.verification.trusted_kernel.conjugates import (
    SeparableTerm,
    binary_entropy_term,
    cap_term,
    chi_square_term,
    entropy_term,
    exponential_term,
    hinge_term,
    logistic_term,
    margin_variance_term,
    quadratic_hinge_term,
    shortfall_term,
)
from boostopt.verification.trusted_kernel.edge_terms import build_edge_terms
from boostopt.verification.trusted_kernel.json_parsing import Rejected
from boostopt.verification.trusted_kernel.number_types import Ball, FloatBalls

TRUSTED = (
    "number_types",
    "formula_terms",
    "conjugates",
    "edge_terms",
    "feasible_weights",
    "checker",
    "json_parsing",
    "certificate_schema",
)
"""The modules that recompute bounds: they import NumPy, the standard library and each other."""

FORMULAS = (
    "expressions",
    "differentiation",
    "parsing",
    "intervals",
    "convexity",
    "compilation",
    "conjugate_maximizers",
)
"""And so do those that read, differentiate and enclose formulas."""

N = 30


def boxes(rng: np.random.Generator) -> list[tuple[Regularizer, SeparableTerm]]:
    """Return every family twice: of the package and of the checker."""
    c, d0, nu, eta = (
        rng.uniform(0.5, 2, N),
        rng.dirichlet(np.ones(N)),
        float(rng.uniform(1, 8)),
        float(rng.uniform(1, 40)),
    )
    c[3], d0[:2] = 1.0, 0.0
    d0 /= d0.sum()
    A, u = FloatBalls(), FloatBalls().to_vector(c / nu)
    capped = np.minimum(d0, 0.9 * c / nu)
    interior = capped + (1 - capped.sum()) * (c / nu - capped) / (c / nu - capped).sum()
    interior[:2] = 0.0
    interior /= interior.sum()
    free = interior > 0
    return [
        (CappedSimplexIndicator(CappedSimplex(c, nu)), cap_term(A, u)),
        (RelativeEntropy.capped(c, nu, eta, d0), entropy_term(A, u, eta, d0, False)),
        (UnnormalizedRelativeEntropy.capped(c, nu, eta, d0), entropy_term(A, u, eta, d0, True)),
        (
            BinaryEntropy.capped(c, nu, eta, interior),
            binary_entropy_term(A, u, eta, interior, u - A.to_vector(interior), free, True),
        ),
        (QuadraticHinge(c, 0.7, 0.3, 1.0), quadratic_hinge_term(A, c, 0.7, 0.3, 1.0)),
        (QuadraticHinge(c, 0.7, 0.5, None), quadratic_hinge_term(A, c, 0.7, 0.5, math.inf)),
        (Exponential(c, 0.7), exponential_term(A, c, 0.7)),
        (PowerDivergence(CappedSimplex(c, nu), 2.0, eta), chi_square_term(A, u, eta, c)),
        (MarginVariance(c, 0.7), margin_variance_term(A, c, 0.7)),
        (Shortfall(c, 0.7, 0.3), shortfall_term(A, c, 0.7, 0.3)),
        (Logistic.priced(c, 0.7), logistic_term(A, A.to_vector(c) * A.to_number(0.7))),
        (
            LogarithmicLoss.from_multiplicities(c, eta),
            binary_entropy_term(A, A.to_vector(c), eta, c / 2, A.to_vector(c / 2), np.ones(N, dtype=bool), False),
        ),
        (Hinge(c, nu), hinge_term(A, A.to_vector(c * nu))),
    ]


@pytest.mark.parametrize("seed", range(10))
def test_values_and_conjugates_are_those_of_the_regularizers(seed: int) -> None:
    rng, A = np.random.default_rng(seed), FloatBalls()
    for F, box in boxes(rng):
        z = rng.normal(0, 1, N)
        if isinstance(F, MarginVariance):
            z = z.clip(-1, 1)  # margins: the checker's function has no box, and these never leave it
        d = F.project(rng.dirichlet(np.ones(N)) if F.on_simplex else rng.uniform(0, 1, N) * F.weight_scale)
        value = A.total(box.values(A.to_vector(d)))
        assert A.lower(value) - 1e-9 <= F.value(d) <= A.upper(value) + 1e-9
        point = F.conjugate_at(z)
        beta = float(np.asarray(point.multipliers.get("beta", 0.0)))
        shift = 1.0 / F.eta if type(F) is RelativeEntropy else 0.0
        bound = A.total(box.conjugates(A.to_vector(z) - A.to_number(beta - shift)))
        if F.on_simplex:
            bound = bound + A.to_number(beta - shift)
        assert A.upper(bound) == pytest.approx(point.value, rel=1e-10, abs=1e-10)
        assert A.upper(bound) >= point.value - 1e-11
        # Any other beta gives a number that is not smaller.
        if F.on_simplex:
            other_bound = A.total(box.conjugates(A.to_vector(z) - A.to_number(beta + 0.1))) + A.to_number(beta + 0.1)
            assert A.upper(other_bound) >= point.value - 1e-11


@pytest.mark.parametrize(
    "G",
    [
        MaximumEdge(),
        AbsoluteEdge(),
        BoundedEdges(0.3),
        FixedEdges(-0.2),
        SquaredEdges(),
        SquaredPositiveEdges(),
        LinearEdges(0.4),
        TiedEdges(),
        *(BallEdges(signed, p, 0.7) for signed in (False, True) for p in (1.0, 2.0, np.inf)),
        *(ElasticEdges(signed, l1, 0.7) for signed in (False, True) for l1 in (0.0, 0.3)),
        *(OneNormEdges(signed, 0.7) for signed in (False, True)),
    ],
    ids=repr,
)
def test_edge_functions_are_those_of_the_package(G: Any) -> None:
    rng, A = np.random.default_rng(0), FloatBalls()
    terms = build_edge_terms(A, edge_to_json(G))
    for _ in range(20):
        e = rng.normal(size=2)
        w = G.project(rng.normal(size=2) + 0.5)
        if w is None:
            continue
        assert float(terms.value(A.to_vector(e)).mid) == pytest.approx(G.value(e), rel=1e-14, abs=1e-15)
        assert float(terms.conjugate(A.to_vector(w)).mid) == pytest.approx(G.conjugate(w), rel=1e-14, abs=1e-15)


def test_the_digest_is_that_of_the_margins() -> None:
    rng = np.random.default_rng(0)
    for U in (rng.uniform(-1, 1, (1203, 3)), rng.choice([-1, 0, 1], (7, 2)), -np.zeros((2, 2))):
        assert matrix_digest(np.asarray(U)) == MarginMatrix(U).digest()


def test_regularizer_statement_says_how_the_caps_are_computed() -> None:
    c, d0 = np.array([1.0, 2.0, 1.0]), np.array([0.25, 0.5, 0.25])
    examples = Examples(c, d0)
    assert regularizer_to_json(CappedSimplexIndicator(CappedSimplex(c, 2.0)), examples).numbers == {
        "kind": "cap",
        "caps": "c / nu",
        "nu": 2.0,
    }
    ones = RelativeEntropy.capped(np.ones(3), 1.5, 2.0, d0)
    assert regularizer_to_json(ones, examples).numbers == {
        "kind": "relative entropy",
        "caps": "1 / nu",
        "nu": 1.5,
        "eta": 2.0,
    }
    statement = regularizer_to_json(
        Tilted(CappedSimplexIndicator(CappedSimplex(np.array([1.0, 5.0, 2.0]), 2.0)), np.ones(3)), examples
    )
    assert statement.numbers == {"kind": "tilted", "base": {"kind": "cap", "caps": "given"}}
    assert np.array_equal(statement.arrays["caps"], [0.5, 2.5, 1.0])


def test_a_subclass_is_not_stated_as_what_it_was_made_from() -> None:
    """A changed entropy is another function, and a file that called it by the old name would be false."""

    class Twice(RelativeEntropy):
        def value(self, d: Float[Array, " N"]) -> float:
            return 2.0 * super().value(d)

    class Steep(MaximumEdge):
        def value(self, e: Float[Array, " t"]) -> float:
            return 2.0 * super().value(e)

    d0 = np.full(3, 1 / 3)
    twice = Twice(CappedSimplex(np.ones(3), 1.5), 2.0, d0)
    with pytest.raises(ProblemError, match=r"\bTwice\b"):
        regularizer_to_json(twice, Examples(np.ones(3), d0))
    with pytest.raises(ProblemError, match=r"\bTilted\b"):
        regularizer_to_json(Tilted(twice, np.ones(3)), Examples(np.ones(3), d0))
    with pytest.raises(ProblemError, match=r"\bSteep\b"):
        edge_to_json(Steep())


def random_ball(rng: np.random.Generator, exact: list[Fraction]) -> Ball:
    """Return balls that contain some rational numbers. Their centres differ from the numbers."""
    rad = rng.choice([0.0, 1e-16, 1e-8, 1e-3], len(exact)) * rng.random(len(exact))
    mid = np.array([float(x) for x in exact])
    errors = np.array([abs(float(Fraction(m) - x)) for m, x in zip(mid.tolist(), exact, strict=True)])
    return Ball(mid + rad, rad * 1.0001 + 1.001 * errors + 1e-15 * np.abs(mid))


def test_balls_contain_the_exact_results() -> None:
    rng, A = np.random.default_rng(3), FloatBalls()
    for _ in range(200):
        numerators, denominators = rng.integers(-(10**6), 10**6, (2, 8)), rng.integers(1, 10**6, (2, 8))
        x, y = (
            [Fraction(int(p), int(q)) for p, q in zip(ps, qs, strict=True)]
            for ps, qs in zip(numerators, denominators, strict=True)
        )
        a, b = random_ball(rng, x), random_ball(rng, y)
        for ball, exact in (
            (a + b, [p + q for p, q in zip(x, y, strict=True)]),
            (a - b, [p - q for p, q in zip(x, y, strict=True)]),
            (a * b, [p * q for p, q in zip(x, y, strict=True)]),
            (A.positive(a), [max(p, Fraction(0)) for p in x]),
        ):
            assert is_contained(ball, exact)
        if all(y):
            assert is_contained(a / b, [p / q for p, q in zip(x, y, strict=True)])
        total = A.total(a)
        assert Fraction(float(A.lower(total))) <= sum(x) <= Fraction(float(A.upper(total)))
        largest = A.largest(a)
        assert Fraction(float(A.lower(largest))) <= max(x) <= Fraction(float(A.upper(largest)))


def is_contained(ball: Ball, exact: list[Fraction]) -> bool:
    A = FloatBalls()
    lows, highs = A.lower(ball).tolist(), A.upper(ball).tolist()
    return all(
        (low == -math.inf or Fraction(low) <= x) and (high == math.inf or x <= Fraction(high))
        for low, x, high in zip(lows, exact, highs, strict=True)
    )


def test_products_contain_the_exact_ones() -> None:
    rng, A = np.random.default_rng(4), FloatBalls()
    for rows in (3, 501, 1100):
        U, d, w = rng.uniform(-1, 1, (rows, 2)), rng.dirichlet(np.ones(rows)), rng.normal(size=2)
        e = [sum(Fraction(u) * Fraction(x) for u, x in zip(U[:, q].tolist(), d.tolist(), strict=True)) for q in (0, 1)]
        assert is_contained(A.edges(U, A.to_vector(d)), [Fraction(x) for x in e])
        m = [
            sum((Fraction(u) * Fraction(x) for u, x in zip(row, w.tolist(), strict=True)), Fraction(0))
            for row in U.tolist()
        ]
        assert is_contained(A.margins(U, A.to_vector(w)), m)


@pytest.mark.thorough
def test_the_checker_imports_numpy_and_the_standard_library_only() -> None:
    folder = Path(str(boostopt.verification.__file__)).parent
    parts = [*(folder / "trusted_kernel" / f"{name}.py" for name in TRUSTED)]
    parts += [folder.parent / "functions" / "formulas" / f"{name}.py" for name in FORMULAS]
    for name in parts:
        for node in ast.walk(ast.parse(name.read_text())):
            modules = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [str(node.module)]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for module in modules:
                top, _, rest = module.partition(".")
                package, _, last = rest.rpartition(".")
                trusted = {"verification.trusted_kernel": TRUSTED, "functions.formulas": FORMULAS}
                is_trusted = top == "boostopt" and last in trusted.get(package, ())
                assert is_trusted or top == "numpy" or top in sys.stdlib_module_names, f"{name} imports {module}"
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from boostopt.verification.trusted_kernel import "
            + ", ".join(TRUSTED)
            + "; print(*sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"scipy", "cvxpy", "clarabel", "highspy", "sklearn", "flint"} & {name.split(".")[0] for name in loaded}
    package_modules = {name for name in loaded if name.startswith("boostopt.")}
    assert package_modules == {
        "boostopt._utils",
        "boostopt._utils.lazy_names",
        "boostopt.verification",
        "boostopt.verification.trusted_kernel",
        "boostopt.functions",
        "boostopt.functions.formulas",
        *(f"boostopt.verification.trusted_kernel.{name}" for name in TRUSTED),
        *(f"boostopt.functions.formulas.{name}" for name in FORMULAS),
    } | (package_modules & {"boostopt.errors"})


def test_kinds_without_a_formula_are_refused_where_formulas_are_taken() -> None:
    with pytest.raises(ValueError, match=r"\bedge\b.*'cubed'"):
        build_edge_terms(FloatBalls(), {"kind": "cubed"})
    F, c = {"kind": "squares", "caps": "c / nu", "nu": 1.0, "eta": 2.0}, np.ones(3)
    anything: Any = None
    with typechecker.unchecked(), pytest.raises(Rejected, match=r"\bF\b.*'squares'"):
        checking._build_separable_term(anything, FloatBalls(), F, c, c / 3.0)  # pyright: ignore[reportPrivateUsage]
