"""Arrays of rational numbers: each result is that of Python's fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
import scipy.sparse
from flint import fmpq

from boostopt.conic_programs.conic_program import Numbers
from boostopt.conic_programs.exact.rational_arrays import (
    RationalArray,
    combined_columns,
    fmpq_array,
    fraction_array,
    rational_array,
    rational_matrix,
    zero_array,
)

EXTREMES = [0.0, -0.0, 1.0, -3.5, 0.1, 2.0**53, -(2.0**53) - 2, 5e-324, -2.5e-308, 1e-300, 1.7976931348623157e308]


def meaning(value: float, numbers: Numbers) -> Fraction:
    return Fraction(value) if numbers == "binary" else Fraction(repr(value))


@pytest.mark.parametrize("numbers", get_args(Numbers))
def test_floats_keep_their_meaning(numbers: Numbers) -> None:
    values = np.concatenate([EXTREMES, np.random.default_rng(0).normal(size=30) * 10.0 ** np.arange(-15, 15)])
    array = rational_array(values, numbers)
    assert array.fractions() == [meaning(value, numbers) for value in values.tolist()]
    assert [Fraction(int(x.p), int(x.q)) for x in array.fmpqs()] == array.fractions()
    assert len(rational_array(np.zeros(0), numbers)) == 0


@pytest.mark.parametrize(
    "values",
    [[3.0, -4.0, 0.0], [2.0**61, -(2.0**61)], [2.0**62, 1.0], [-(2.0**63), 0.5], [2.0**30 + 0.5, 2.0**-31]],
)
def test_whole_numbers_of_the_machine_and_longer_ones_have_equal_meanings(values: list[float]) -> None:
    array = rational_array(np.array(values), "binary")
    assert array.fractions() == list(map(Fraction, values))
    assert {type(number) for number in array.numerators.tolist()} == {int}
    with_zeros = [fmpq(0), *array.fmpqs(), fmpq(0)]
    assert fmpq_array(with_zeros).fractions() == [0, *map(Fraction, values), 0]


@pytest.mark.parametrize("numbers", get_args(Numbers))
def test_comparisons_with_limits_are_exact(numbers: Numbers) -> None:
    values = np.array([0.1, 0.1, 0.1, 1e300, -1e300, 0.0])
    limits = np.array([0.1, np.nextafter(0.1, 1), np.nextafter(0.1, 0), np.inf, -np.inf, -0.0])
    array = rational_array(values, numbers)
    assert array.is_below(limits, numbers).tolist() == [False, True, False, True, False, False]
    assert array.is_above(limits, numbers).tolist() == [False, False, True, False, True, False]
    zeros = rational_array(np.zeros(5), numbers)
    limits = np.array([np.inf, 1e-320, 0.0, -2.0, -np.inf])
    assert zeros.is_below(limits, numbers).tolist() == [True, True, False, False, False]
    assert zeros.is_above(limits, numbers).tolist() == [False, False, False, True, True]
    third = fraction_array([Fraction(1, 3)] * 2)
    assert third.is_below(np.array([1 / 3, np.nextafter(1 / 3, 1)]), "binary").tolist() == [False, True]


def test_sums_products_and_differences_are_those_of_fractions() -> None:
    rng = np.random.default_rng(1)
    for seed in range(10):
        m, n = int(rng.integers(1, 6)), int(rng.integers(1, 6))
        dense = np.where(rng.random((m, n)) < 0.5, rng.normal(size=(m, n)), 0.0)
        x = [Fraction(int(p), int(q)) for p, q in rng.integers(1, 40, (n, 2))]
        matrix = rational_matrix(scipy.sparse.csr_array(dense), "binary")
        products = [sum((Fraction(a) * value for a, value in zip(row, x, strict=True)), Fraction(0)) for row in dense]
        assert matrix.products(fraction_array(x)).fractions() == products, seed
        y = rational_array(rng.normal(size=n), "binary")
        difference = [a - b for a, b in zip(x, y.fractions(), strict=True)]
        assert fraction_array(x).less(y).fractions() == difference
        inner = sum((a * b for a, b in zip(x, y.fractions(), strict=True)), Fraction(0))
        assert fraction_array(x).inner_product(y) == inner
        assert fmpq_array(y.fmpqs()).fractions() == y.fractions()
    assert zero_array(3).less(zero_array(3)).fractions() == [0, 0, 0]
    assert RationalArray(np.array([2, 3], dtype=object), 6).selected(np.array([False, True])).fractions() == [
        Fraction(1, 2)
    ]


@pytest.mark.parametrize("numbers", get_args(Numbers))
@pytest.mark.parametrize("seed", range(6))
def test_products_with_some_columns_are_those_of_fractions(numbers: Numbers, seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(0, 6)), int(rng.integers(1, 9))
    entries = (rng.integers(-9, 10, (m, n)) / 10) * (rng.random((m, n)) < 0.5)
    x = [Fraction(int(p), int(q)) for p, q in zip(rng.integers(-2, 3, n), rng.integers(1, 9, n), strict=True)]
    matrix = scipy.sparse.csc_array(entries)
    expected = [sum(meaning(entry, numbers) * z for entry, z in zip(row, x, strict=True)) for row in entries.tolist()]
    assert combined_columns(matrix, fraction_array(x), numbers).fractions() == expected
    assert combined_columns(matrix, zero_array(n), numbers).fractions() == [0] * m
