"""Error-free transformations against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from boostopt.functions.numerics.error_free_transformations import (
    LARGEST_EXACT_FACTOR,
    SMALLEST_EXACT_PRODUCT,
    product_error,
    split_doubles,
    sum_error,
)


def random_floats(rng: np.random.Generator, low: int, high: int) -> np.ndarray:
    """Draw numbers of any sign with full mantissas, from 2^low to 2^high in size."""
    return rng.choice([-1.0, 1.0], 300) * rng.uniform(1.0, 2.0, 300) * np.exp2(rng.integers(low, high, 300))


@pytest.mark.parametrize("seed", range(3))
def test_halves_have_26_bits_and_exact_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = random_floats(rng, -300, 300), random_floats(rng, -300, 300)
    for z in (x, y):
        for half in split_doubles(z):
            mantissas = np.frexp(half)[0] * 2.0**26
            np.testing.assert_array_equal(mantissas, np.round(mantissas))
        np.testing.assert_array_equal(np.add(*split_doubles(z)), z)
    for a in split_doubles(x):
        for b in split_doubles(y):
            assert [Fraction(v) * Fraction(w) for v, w in zip(a.tolist(), b.tolist(), strict=True)] == [
                Fraction(p) for p in (a * b).tolist()
            ]


@pytest.mark.parametrize("seed", range(3))
def test_errors_of_products_and_sums_are_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = random_floats(rng, -300, 300), random_floats(rng, -300, 300)
    y = np.where(rng.random(300) < 0.5, y, x * rng.uniform(-2.0, 2.0, 300))
    for floats, error, exact in (
        (x * y, product_error(x, y, x * y), Fraction.__mul__),
        (x + y, sum_error(x, y, x + y), Fraction.__add__),
    ):
        assert error.any()
        for a, b, value, rest in zip(x.tolist(), y.tolist(), floats.tolist(), error.tolist(), strict=True):
            assert Fraction(value) + Fraction(rest) == exact(Fraction(a), Fraction(b))


def test_the_limits_of_exact_products_are_safe() -> None:
    rng = np.random.default_rng(0)
    for scale in (LARGEST_EXACT_FACTOR, SMALLEST_EXACT_PRODUCT**0.5):
        x, y = scale * rng.uniform(1.0, 1.9, (2, 300)) * np.where(scale < 1.0, 1.0, 0.5)
        error = product_error(x, y, x * y)
        for a, b, value, rest in zip(x.tolist(), y.tolist(), (x * y).tolist(), error.tolist(), strict=True):
            assert Fraction(value) + Fraction(rest) == Fraction(a) * Fraction(b)
