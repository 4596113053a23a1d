"""Arrays of rational numbers with a common denominator: whole numbers of any size, so that sums need no reduction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from operator import mul
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.conic_program import Numbers
from boostopt.conic_programs.exact.rationals import to_fmpq

MANTISSA_BITS = 53
"""Number of binary digits of a float."""

MAX_SHORT_BITS = 62
"""Largest length of whole numbers of the machine that are shifted."""


@dataclass(frozen=True, eq=False)
class RationalArray:
    """Rational numbers, as whole numbers over one denominator.

    Attributes
    ----------
    numerators
        Whole numbers of Python, shape (k,).
    denominator
        A positive whole number.
    """

    numerators: Any
    denominator: int

    def __len__(self) -> int:
        return len(self.numerators)

    def fractions(self) -> list[Fraction]:
        """Return the numbers as fractions."""
        return [Fraction(number, self.denominator) if number else Fraction(0) for number in self.numerators.tolist()]

    def fmpqs(self) -> list[fmpq]:
        """Return the numbers as numbers of python-flint."""
        zero = fmpq(0)
        return [fmpq(number, self.denominator) if number else zero for number in self.numerators.tolist()]

    def selected(self, places: Array) -> RationalArray:
        """Return the numbers at some places, or those of a mask."""
        return RationalArray(self.numerators[places], self.denominator)

    def less(self, subtrahend: RationalArray) -> RationalArray:
        """Return these numbers less those of another array of the same length."""
        first, second = self.numerators, subtrahend.numerators
        if self.denominator == subtrahend.denominator:
            return RationalArray(first - second, self.denominator)
        denominator = lcm(self.denominator, subtrahend.denominator)
        first_factor, second_factor = denominator // self.denominator, denominator // subtrahend.denominator
        return RationalArray(first * first_factor - second * second_factor, denominator)

    def inner_product(self, vector: RationalArray) -> Fraction:
        """Return the sum of the products with the numbers of another array of the same length."""
        products = map(mul, self.numerators.tolist(), vector.numerators.tolist())
        return Fraction(sum(products), self.denominator * vector.denominator)

    def is_below(self, limits: Float[Array, " k"], numbers: Numbers) -> Any:
        """Return which of the numbers are below limits, which may be infinite."""
        return self._compare(limits, numbers) < 0

    def is_above(self, limits: Float[Array, " k"], numbers: Numbers) -> Any:
        """Return which of the numbers are above limits, which may be infinite."""
        return self._compare(limits, numbers) > 0

    def _compare(self, limits: Float[Array, " k"], numbers: Numbers) -> Any:
        """Return -1, 0 or 1 where a number is below, at or above its limit."""
        signs = -np.sign(limits).astype(int)  # of 0 less the limit, and of any number less an infinite one
        is_used = np.isfinite(limits) & (self.numerators != 0).astype(bool)
        if not is_used.any():
            return signs
        ends = rational_array(limits[is_used], numbers)
        values = self.numerators[is_used]
        difference = values * ends.denominator - ends.numerators * self.denominator
        signs[is_used] = (difference > 0).astype(int) - (difference < 0).astype(int)
        return signs


@dataclass(frozen=True, eq=False)
class RationalMatrix:
    """A sparse matrix of rational numbers in compressed rows, or the transpose of one in compressed columns.

    Attributes
    ----------
    indptr, indices
        As of SciPy's matrices.
    entries
        The stored entries.
    """

    indptr: Any
    indices: Any
    entries: RationalArray

    def products(self, x: RationalArray) -> RationalArray:
        """Return the products of the rows with a vector."""
        sums = np.zeros(len(self.indptr) - 1, dtype=object)
        is_filled = np.diff(self.indptr) > 0
        if is_filled.any():
            terms = self.entries.numerators * x.numerators[self.indices]
            sums[is_filled] = np.add.reduceat(terms, self.indptr[:-1][is_filled])
        return RationalArray(sums, self.entries.denominator * x.denominator)


def rational_matrix(matrix: Any, numbers: Numbers) -> RationalMatrix:
    """Return the numbers of a sparse matrix in compressed rows or columns."""
    return RationalMatrix(matrix.indptr, matrix.indices, rational_array(matrix.data, numbers))


def combined_columns(matrix: Any, x: RationalArray, numbers: Numbers) -> RationalArray:
    """Return the product of a matrix in compressed columns with a vector, from the columns where it is not 0."""
    columns = np.repeat(np.arange(len(x)), np.diff(matrix.indptr))
    places = np.flatnonzero((x.numerators != 0).astype(bool)[columns])
    places = places[np.argsort(matrix.indices[places], kind="stable")]
    rows, entries = matrix.indices[places], rational_array(matrix.data[places], numbers)
    sums = np.zeros(matrix.shape[0], dtype=object)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    if starts.size:
        sums[rows[starts]] = np.add.reduceat(entries.numerators * x.numerators[columns[places]], starts)
    return RationalArray(sums, entries.denominator * x.denominator)


def rational_array(values: Float[Array, " k"], numbers: Numbers) -> RationalArray:
    """Return the rational numbers that finite floats mean."""
    if numbers == "decimal":
        distinct, places = np.unique(values, return_inverse=True)
        array = fraction_array([Fraction(repr(value)) for value in distinct.tolist()])
        return array.selected(places.ravel())
    mantissas, exponents = np.frexp(values)
    whole = np.ldexp(mantissas, MANTISSA_BITS).astype(np.int64)
    last_bits = np.where(whole != 0, whole & -whole, 1)
    n_zeros = np.frexp(last_bits.astype(float))[1] - 1
    whole >>= n_zeros
    exponents = np.where(whole != 0, exponents - MANTISSA_BITS + n_zeros, 0).astype(np.int64)
    min_exponent = min(0, int(exponents.min(initial=0)))
    shifts = exponents - min_exponent
    n_bits = np.frexp(whole.astype(float))[1] + shifts
    if int(n_bits.max(initial=0)) <= MAX_SHORT_BITS:
        return RationalArray((whole << shifts).astype(object), 1 << -min_exponent)
    return RationalArray(whole.astype(object) << shifts.astype(object), 1 << -min_exponent)


def fraction_array(values: Sequence[Fraction]) -> RationalArray:
    """Return fractions with a common denominator."""
    return fmpq_array(list(map(to_fmpq, values)))


def fmpq_array(values: Sequence[fmpq]) -> RationalArray:
    """Return numbers of python-flint with a common denominator."""
    places = [k for k, value in enumerate(values) if value]  # most numbers of a basic solution are 0
    numerators = np.zeros(len(values), dtype=object)
    if not places:
        return RationalArray(numerators, 1)
    row, denominator = fmpq_mat(1, len(places), [values[k] for k in places]).numer_denom()
    numerators[places] = [int(number) for number in row.entries()]
    return RationalArray(numerators, int(denominator))


def zero_array(size: int) -> RationalArray:
    """Return zeros."""
    return RationalArray(np.zeros(size, dtype=object), 1)
