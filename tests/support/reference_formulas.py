"""Slow, obviously right twins of the regularizers' formulas, and what every one of them is asked in the same words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.problems import slow_capped_softmax

import boostopt
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.program import Examples, Program

Value = Callable[[np.ndarray], float]


def relative_entropy(d: np.ndarray, d0: np.ndarray) -> float:
    """Sum of d ln(d / d0), term by term."""
    total = 0.0
    for x, r in zip(d.tolist(), d0.tolist(), strict=True):
        if x > 0:
            total += math.inf if r == 0 else x * (math.log(x) - math.log(r))
    return total


def binary_entropy(d: np.ndarray, d0: np.ndarray, u: np.ndarray) -> float:
    """The relative entropy of d to d0 plus that of u - d to u - d0."""
    return relative_entropy(d, d0) + relative_entropy(u - d, u - d0)


def norm_of_copies(d: np.ndarray, c: np.ndarray, p: float) -> float:
    """(sum c (|d| / c)^p)^(1/p), the largest |d| / c for p = inf."""
    copies = [abs(x) / k for x, k in zip(d.tolist(), c.tolist(), strict=True)]
    if math.isinf(p):
        return max(copies)
    largest = max(copies)
    powers = (k * (x / largest) ** p for x, k in zip(copies, c.tolist(), strict=True)) if largest > 0 else ()
    return largest * sum(powers) ** (1 / p)


def maximizer_by_bisection(
    slope: Callable[[int, float], float], u: np.ndarray, z: np.ndarray, simplex: bool = True
) -> np.ndarray:
    """Return argmax <z, d> - sum f_n(d_n) on [0, u] and the simplex, f_n'(x) = slope(n, x), by bisection twice."""

    def conjugate(beta: float) -> list[float]:
        weights = list[float]()
        for n in range(len(u)):
            low, high = 0.0, float(u[n])
            for _ in range(80):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if slope(n, middle) < z[n] - beta else (low, middle)
            weights.append(0.5 * (low + high))
        return weights

    if not simplex:
        return np.array(conjugate(0.0))
    low, high = float(z.min()) - 1e3, float(z.max()) + 1e3
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sum(conjugate(middle)) > 1 else (low, middle)
    return np.array(conjugate(0.5 * (low + high)))


def binary_dual_in_decimals(d0: np.ndarray, u: np.ndarray, eta: float, z: np.ndarray) -> tuple[Decimal, list[Decimal]]:
    """F*(z) of the binary entropy and its maximizer to the precision of the context, 0 < d0 < u."""
    e, us, zs = Decimal(eta), [Decimal(x) for x in u.tolist()], [Decimal(x) for x in z.tolist()]
    odds = [Decimal(x) / (k - Decimal(x)) for x, k in zip(d0.tolist(), us, strict=True)]

    def powers(beta: Decimal) -> list[Decimal]:
        return [o * (e * (x - beta)).exp() for o, x in zip(odds, zs, strict=True)]

    margin = Decimal(100) / e
    low, high = min(zs) - margin, max(zs) + margin
    for _ in range(200):
        middle = (low + high) / 2
        total = sum((k * p / (1 + p) for k, p in zip(us, powers(middle), strict=True)), Decimal(0))
        low, high = (middle, high) if total > 1 else (low, middle)
    terms = [k * ((1 + p) / (1 + o)).ln() / e for k, p, o in zip(us, powers(low), odds, strict=True)]
    return low + sum(terms, Decimal(0)), [k * p / (1 + p) for k, p in zip(us, powers(low), strict=True)]


def points(rng: np.random.Generator, upper: np.ndarray, count: int = 4) -> list[np.ndarray]:
    """Points of {sum d = 1, 0 <= d <= upper}, inside and on the boundary, found by bisection."""
    samples = list[np.ndarray]()
    N = len(upper)
    for _ in range(count):
        with np.errstate(divide="ignore"):
            a = np.log(rng.exponential(size=N)) * rng.choice([0.5, 1.0, 6.0])
        is_free = rng.random(N) < rng.choice([0.5, 1.0])
        if upper[is_free].sum() > 1 + 1e-9:
            a[~is_free] = -np.inf
        d = slow_capped_softmax(a, upper)
        samples.append(np.minimum(d, upper))
    return samples


def assert_conjugate(
    F: Regularizer, z: np.ndarray, value: Value, feasible: Sequence[np.ndarray], accuracy: float = 1e-11
) -> None:
    """Assert that F* is above <z, d> - F(d) everywhere and equal at its d, and that the gaps say by how much."""
    conjugate = F.conjugate_at(z)
    scale = accuracy * (1 + F.magnitude + F.mass * np.abs(z).max())
    assert max(F.residuals(conjugate.d).values()) <= 1e-12
    assert value(conjugate.d) + conjugate.value - conjugate.d @ z == pytest.approx(0.0, abs=scale)
    assert F.gaps(conjugate.d, z, conjugate).sum() <= scale
    for d in feasible:
        assert max(F.residuals(d).values()) <= 1e-12
        assert F.value(d) == pytest.approx(value(d), abs=scale)
        gap, gaps = value(d) + conjugate.value - d @ z, F.gaps(d, z, conjugate)
        assert gap >= -scale
        assert (gaps >= 0).all()
        assert gaps.sum() == pytest.approx(gap, abs=scale)


def assert_gradient(F: Regularizer, z: np.ndarray, step: float = 1e-6, accuracy: float = 1e-7) -> None:
    """Assert that the maximizer is the gradient of F*, by central differences."""
    slopes = [
        (F.conjugate_at(z + step * n).value - F.conjugate_at(z - step * n).value) / (2 * step) for n in np.eye(F.N)
    ]
    np.testing.assert_allclose(slopes, F.conjugate_at(z).d, atol=accuracy)


def assert_copies(
    merged: Regularizer, copies: Regularizer, counts: np.ndarray, z: np.ndarray, feasible: Sequence[np.ndarray]
) -> None:
    """Assert that multiplicity k is k copies: values, conjugates, and where they are unique maximizers."""
    index = np.repeat(np.arange(len(counts)), counts)
    one, all_of_them = merged.conjugate_at(z), copies.conjugate_at(z[index])
    assert one.value == pytest.approx(all_of_them.value, abs=1e-11 * (1 + merged.magnitude))
    np.testing.assert_allclose(one.d, np.bincount(index, all_of_them.d), atol=1e-8)
    for d in feasible:
        spread = (d / counts)[index]
        assert merged.value(d) == pytest.approx(copies.value(spread), abs=1e-12 * (1 + merged.magnitude))


def assert_modelled(F: Regularizer, z: np.ndarray, feasible: Sequence[np.ndarray], accuracy: float = 1e-6) -> None:
    """Assert that the CVXPY expressions of F and F* have the values of the closed forms, and the domain."""
    import cvxpy as cp

    d, scale = cp.Variable(F.N), accuracy * (1 + F.magnitude / 10)
    expression, constraints = F.cvxpy_value(d)
    for point in feasible:
        d.value = point
        assert float(expression.value) == pytest.approx(F.value(point), abs=1e-9 * (1 + F.magnitude))
        assert all(float(np.max(constraint.violation())) <= 1e-9 for constraint in constraints)
    conjugate_point = F.conjugate_at(z)
    supremum = optimum(cp.Problem(cp.Maximize(z @ d - expression), constraints))
    assert supremum == pytest.approx(conjugate_point.value, abs=scale)
    conjugate, of_conjugate = F.cvxpy_conjugate(z - cp.Constant(np.zeros(F.N)))
    assert optimum(cp.Problem(cp.Minimize(conjugate), of_conjugate)) == pytest.approx(conjugate_point.value, abs=scale)


def optimum(problem: Any) -> float:
    """The solver's own value: CVXPY's is infinite where an entropy is taken at a weight of -1e-13."""
    problem.solve(solver="CLARABEL")
    return float(problem.solution.opt_val)


def junk(N: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return values that may stand in the place of weights."""
    mixed = rng.choice([0.0, -1.0, np.nan, np.inf, -np.inf, 1e300, 1e-300, 5e-324, 1.0, 0.3], size=N)
    return [
        mixed,
        np.full(N, np.nan),
        np.full(N, np.inf),
        np.full(N, -np.inf),
        np.zeros(N),
        np.full(N, -0.0),
        np.full(N, -2.0),
        np.full(N, 1.7e308),
        np.full(N, 5e-324),
        np.eye(N)[0],
        np.eye(N)[-1] * 1e9,
        rng.normal(size=N),
    ]


def assert_junk_is_repaired(F: Regularizer, seed: int = 0) -> None:
    """Assert that whatever is projected lies in the domain, that it stays there, and that residuals see the junk."""
    for q in junk(F.N, np.random.default_rng(seed)):
        d = F.project(q)
        assert np.isfinite(d).all()
        assert max(F.residuals(d).values()) <= 1e-12
        np.testing.assert_allclose(F.project(d), d, atol=1e-12)
        if not np.isfinite(q).all():
            assert set(F.residuals(q).values()) == {np.inf}
        assert min(F.residuals(q).values()) >= 0.0
    assert F.value(F.project(None)) == pytest.approx(-F.conjugate_at(np.zeros(F.N)).value, abs=1e-9 * (1 + F.magnitude))


def assert_stable(F: Regularizer, z: np.ndarray, lazy: np.ndarray) -> None:
    """Assert what is promised at extremes: all finite, the sum 1, no gap at the maximizer, true gaps elsewhere."""
    conjugate = F.conjugate_at(z)
    assert np.isfinite(conjugate.value)
    assert np.isfinite(conjugate.d).all()
    assert max(F.residuals(conjugate.d).values()) <= 1e-12
    if F.on_simplex:
        assert abs(conjugate.d.sum() - 1) <= 1e-12
        assert F.gaps(conjugate.d, z, conjugate).sum() < 1e-9
    gaps = F.gaps(lazy, z, conjugate)
    assert np.isfinite(gaps).all()
    assert (gaps >= 0).all()
    assert gaps.sum() == pytest.approx(
        F.value(lazy) + conjugate.value - lazy @ z, rel=1e-9, abs=1e-12 * (1 + F.magnitude)
    )


def program(
    U: np.ndarray, F: Regularizer, G: EdgeFunction, c: np.ndarray | None = None, d0: np.ndarray | None = None
) -> Program:
    """The program of a pair (F, G), without a page of its own."""
    formulation = boostopt.get_formulation("lpboost")
    c = np.ones(len(U)) if c is None else c
    examples = Examples(c, c / c.sum() if d0 is None else d0)
    return Program(formulation, formulation.Parameters(nu=1.0), examples, boostopt.MarginMatrix(U), F, G)


def exact_edges(U: np.ndarray, d: Sequence[Fraction]) -> list[Fraction]:
    """The edges without rounding."""
    return [sum((Fraction(float(u)) * x for u, x in zip(column, d, strict=True)), Fraction(0)) for column in U.T]


def assert_edge_gap(G: EdgeFunction, e: np.ndarray, w: np.ndarray, value: float) -> None:
    """Assert that the gaps are those of Fenchel and Young for w in the domain of G*, e in that of G."""
    gaps, scale = G.gaps(e, w), 1e-14 * (1 + G.magnitude(e, w, 1.0) + np.abs(w).sum())
    assert gaps.shape == e.shape
    assert (gaps >= 0).all()
    assert G.value(e) == pytest.approx(value, abs=scale)
    assert gaps.sum() == pytest.approx(value + G.conjugate(w, e) - w @ e, abs=scale)


def assert_edges_modelled(G: EdgeFunction, e: np.ndarray, w: np.ndarray, reach: float = 50.0) -> None:
    """Assert that the CVXPY expressions of G and G* have the values of the closed forms, e and w in their domains."""
    import cvxpy as cp

    x = cp.Variable(len(e))
    value, in_domain = G.cvxpy_value(x)
    x.value = e
    assert float(value.value) == pytest.approx(G.value(e), abs=1e-12)
    assert all(float(np.max(constraint.violation())) <= 1e-12 for constraint in in_domain)
    supremum = optimum(cp.Problem(cp.Maximize(w @ x - value), [*in_domain, cp.norm_inf(x) <= reach]))
    assert supremum == pytest.approx(G.conjugate(w), abs=1e-6)
    y = cp.Variable(len(w))
    conjugate, of_w = G.cvxpy_conjugate(y)
    y.value = w
    assert float(conjugate.value) == pytest.approx(G.conjugate(w), abs=1e-12)
    assert all(float(np.max(constraint.violation())) <= 1e-12 for constraint in of_w)
    biconjugate = optimum(cp.Problem(cp.Maximize(e @ y - conjugate), [*of_w, cp.norm_inf(y) <= reach]))
    assert biconjugate == pytest.approx(G.value(e), abs=1e-6)


def assert_weights_are_repaired(G: EdgeFunction, t: int, seed: int = 0) -> None:
    """Assert that whatever is projected lies in the domain of G*, or tells nothing, and that residuals see it."""
    for v in junk(t, np.random.default_rng(seed)):
        residuals = G.residuals(v)
        assert min(residuals.values()) >= 0.0
        if not np.isfinite(v).all():
            assert set(residuals.values()) == {np.inf}
        w = G.project(v)
        if w is not None:
            assert np.isfinite(w).all()
            assert max(G.residuals(w).values()) <= 1e-15 * max(1.0, float(np.abs(w).sum()))
            again = G.project(w)
            assert again is not None
            np.testing.assert_allclose(again, w, rtol=1e-12)
