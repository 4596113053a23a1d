"""Matrices of intervals against fractions: what they enclose, and that none shares what another one changes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

from boostopt.functions.formulas.intervals import Interval, exact_interval
from boostopt.functions.minorants.affine_forms import AffineForm
from boostopt.functions.minorants.atoms.nonsmooth import LargestSum, Norm
from boostopt.functions.minorants.interval_sums import (
    Coefficients,
    column_sums,
    exact_sum,
    middle,
    reciprocal,
    running_sums,
    total,
)
from boostopt.functions.minorants.multiplier_sets import DualNormBall


def fractions(A: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row] for row in A.tolist()]


def times(A: list[list[Fraction]], B: list[list[Fraction]]) -> list[list[Fraction]]:
    columns = list(zip(*B, strict=True))
    return [[sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in A]


def drawn(rng: np.random.Generator, m: int, k: int) -> np.ndarray:
    """Entries that cancel each other, zeros among them."""
    A = rng.choice([0.0, 1.0, -1.0, 0.1, -0.1, 1e16, -1e16, 1e-200, 1 / 3], (m, k))
    return np.where(rng.random((m, k)) < 0.7, A, rng.normal(size=(m, k)))


@pytest.mark.parametrize("seed", range(5))
def test_products_of_matrices_hold_the_exact_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B, C, x = drawn(rng, 4, 6), drawn(rng, 6, 5), drawn(rng, 5, 3), drawn(rng, 3, 1)
    first, second, third = (Coefficients(scipy.sparse.csr_array(M)) for M in (A, B, C))
    exact = times(times(fractions(A), fractions(B)), fractions(C))
    made = first.product(second).product(third)
    radius = np.zeros(made.values.nnz) if made.radius is None else made.radius
    centers, radii = (
        made.values.toarray(),
        scipy.sparse.csr_array((radius, made.values.indices, made.values.indptr), shape=made.shape).toarray(),
    )
    for row, center, r in zip(exact, centers.tolist(), radii.tolist(), strict=True):
        for value, c, spread in zip(row, center, r, strict=True):
            assert abs(value - Fraction(c)) <= Fraction(spread)
    applied = made @ exact_interval(x[:, 0])
    for (value,), low, high in zip(times(exact, fractions(x)), applied.lower, applied.upper, strict=True):
        assert Fraction(low) <= value <= Fraction(high)


def test_a_transposed_selection_adds_what_stands_at_one_place() -> None:
    """Its entries are ones in the order of the unit matrix, but not one in each row."""
    picked = Coefficients.selection(np.array([0, 1, 1, 3, 3, 3]), 6)
    assert not picked.transposed.is_identity
    found = picked.transposed @ exact_interval(np.ones(6))
    np.testing.assert_allclose(middle(found), [1, 2, 0, 3, 0, 0], atol=1e-300)


def test_a_centered_form_leaves_the_other_one_as_it_was() -> None:
    A = Coefficients(scipy.sparse.csr_array(np.array([[3.0, 3.0], [1.0, 5.0], [2.0, 3.0]])))
    form = AffineForm({0: A}, exact_interval(np.zeros(3)))
    moved = form.reduce_coefficients(0)
    assert A.values.nnz == 6
    np.testing.assert_array_equal(middle(moved.offset), [3.0, 0.0, 2.0])
    np.testing.assert_array_equal(moved.terms[0].values.toarray(), [[0.0, 0.0], [1.0, 5.0], [0.0, 1.0]])


def test_radii_are_looked_at_without_changing_the_matrix() -> None:
    values = scipy.sparse.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
    A = Coefficients(values, np.array([0.0, 0.5, 0.0, 0.0]))
    for _ in range(2):
        found = A @ exact_interval(np.ones(2))
        assert found.lower[0] <= 2.5
        assert found.upper[0] >= 3.5
        assert values.nnz == 4


@pytest.mark.parametrize("n", (3, 100))
def test_sums_hold_the_exact_ones(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-10, 10, (n, 3))
    exact = fractions(x.T)
    sums, running, whole = column_sums(exact_interval(x)), running_sums(exact_interval(x)), total(exact_interval(x))
    assert Fraction(float(whole.lower)) <= sum(map(sum, exact)) <= Fraction(float(whole.upper))
    for j, column in enumerate(exact):
        assert Fraction(sums.lower[j]) <= sum(column) <= Fraction(sums.upper[j])
        for i in range(n):
            assert Fraction(running.lower[i, j]) <= sum(column[: i + 1]) <= Fraction(running.upper[i, j])


def test_infinite_values_give_infinite_bounds() -> None:
    infinite = np.array([[np.inf, 1.0], [1.0, -np.inf]])
    for found in (
        column_sums(exact_interval(infinite)),
        running_sums(exact_interval(infinite)),
        total(exact_interval(infinite)),
    ):
        assert not np.isnan([found.lower, found.upper]).any()
    found = exact_sum(exact_interval(np.array([1e308, 1.0])), exact_interval(np.array([1e308, 2.0])))
    assert found.upper[0] == np.inf
    assert (found.lower[1], found.upper[1]) == (3.0, 3.0)


def test_a_reciprocal_of_what_may_vanish_is_not_bounded() -> None:
    found = reciprocal(Interval(np.array([0.0, -1.0, -2.0, 2.0, 0.0]), np.array([2.0, 0.0, 3.0, 4.0, 0.0])))
    np.testing.assert_array_equal(np.isinf(found.lower), [False, True, True, False, True])
    np.testing.assert_array_equal(np.isinf(found.upper), [True, False, True, False, True])


@pytest.mark.parametrize("seed", range(6))
def test_multipliers_of_kinks_lie_in_their_sets_exactly(seed: int) -> None:
    """Whatever a solver proposes: in the ball of the dual norm, or around a point of the right sum."""
    rng = np.random.default_rng(seed)
    k, m = 5, 4
    mu = np.abs(rng.normal(size=m)) * 10.0 ** rng.uniform(-5, 5, m)
    raw = rng.normal(size=(k, m)) * mu * 10.0 ** rng.uniform(-1, 1, (k, m))
    points = [rng.normal(size=k * m)]
    for p, q in ((2.0, 2.0), (np.inf, 1.0), (1.0, np.inf)):
        for proposed in (raw, None):
            found = Norm(k, p, DualNormBall(q)).pullback(points, exact_interval(mu), proposed)
            assert found is not None
            delta = fractions(np.abs(found[0][0].lower.reshape((k, m), order="F")).T)
            for column, most in zip(delta, map(Fraction, mu.tolist()), strict=True):
                sizes = {1.0: sum(column), 2.0: sum(x * x for x in column), np.inf: max(column)}[q]
                assert sizes <= (most**2 if q == 2.0 else most)
    for count in (1.0, 2.5, 4.0):
        for proposed in (np.abs(raw), None):
            found = LargestSum(k, count).pullback(points, exact_interval(mu), proposed)
            assert found is not None
            low, high = (fractions(end.reshape((k, m), order="F").T) for end in (found[0][0].lower, found[0][0].upper))
            for least, most, total_mu in zip(low, high, map(Fraction, mu.tolist()), strict=True):
                assert min(least) >= 0
                assert sum(least) <= Fraction(count) * total_mu <= sum(min(x, total_mu) for x in most)
