"""Sums of intervals and products with matrices, rounded outward [Higham 2002, chapters 3 and 4; Rump 2010].

Each operation computes in floats and bounds the error of the computed numbers. If an error is not finite, the end
of the interval is infinite, never nan.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.functions.formulas.intervals import SMALLEST, Interval, exact_interval
from boostopt.functions.numerics.error_free import (
    LARGEST_EXACT_FACTOR,
    SMALLEST_EXACT_PRODUCT,
    product_error,
    sum_error,
)

UNIT = 2.0**-53
"""The unit roundoff: the largest relative error of one operation."""

INFLATION = 1.0 + 2.0**-20
"""Factor of a computed error bound that covers the rounding of the bound itself."""

FEW_ROWS, LONG_ROW = 4, 64
"""Number of rows and length of a row from which sums are rounded once, so that no error grows with the length."""


def gamma(length: Any) -> Any:
    """Bound the relative error of a sum of `length` rounded products, in any order of summation."""
    return np.minimum(length, 1e15) * UNIT / (1.0 - np.minimum(length * UNIT, 0.5))


def interval(low: Any, high: Any, error: Any = 0.0) -> Interval:
    """Return the interval from low - error to high + error, rounded outward; the error may have rounding itself."""
    with np.errstate(all="ignore"):
        error = np.asarray(error) * INFLATION
        return Interval.round_outward(np.asarray(low) - error, np.asarray(high) + error)


def middle(x: Interval) -> Float[Array, ...]:
    """Return a float within each interval; nan if both ends are infinite."""
    with np.errstate(all="ignore"):
        mid = x.lower + 0.5 * (x.upper - x.lower)
        mid = np.where(np.isfinite(mid), mid, 0.5 * x.lower + 0.5 * x.upper)
    return np.where(np.isfinite(mid), np.clip(mid, x.lower, x.upper), np.nan)


def size(x: Interval) -> Float[Array, ...]:
    """Return the largest absolute value in each interval."""
    return np.maximum(np.abs(x.lower), np.abs(x.upper))


def reciprocal(x: Interval) -> Interval:
    """Return 1 / x; all numbers if x may have both signs."""
    with np.errstate(all="ignore"):
        enclosure = Interval.round_outward(1.0 / x.upper, 1.0 / x.lower)
    positive, negative = (x.lower >= 0.0) & (x.upper > 0.0), (x.upper <= 0.0) & (x.lower < 0.0)
    low = np.where(
        positive, np.maximum(enclosure.lower, 0.0), np.where(negative & (x.upper < 0.0), enclosure.lower, -np.inf)
    )
    high = np.where(
        negative, np.minimum(enclosure.upper, 0.0), np.where(positive & (x.lower > 0.0), enclosure.upper, np.inf)
    )
    return Interval(low, high)


def total(x: Interval) -> Interval:
    """Return the sum of all entries, rounded once."""
    return Interval(_round_sum_once(x.lower, -np.inf), _round_sum_once(x.upper, np.inf))


def column_sums(x: Interval) -> Interval:
    """Return the sums of the columns of a matrix."""
    k, m = x.lower.shape
    if m <= FEW_ROWS and k >= LONG_ROW:
        sums = [total(Interval(x.lower[:, j], x.upper[:, j])) for j in range(m)]
        return Interval(np.array([float(part.lower) for part in sums]), np.array([float(part.upper) for part in sums]))
    with np.errstate(all="ignore"):
        errors = gamma(k) * np.abs(x.lower).sum(axis=0), gamma(k) * np.abs(x.upper).sum(axis=0)
        low, high = x.lower.sum(axis=0), x.upper.sum(axis=0)
    low, high = interval(low, low, errors[0]).lower, interval(high, high, errors[1]).upper
    low = np.where((x.lower >= 0.0).all(axis=0), np.maximum(low, 0.0), low)
    # One infinite term makes the sum infinite, unless another term has the other sign.
    low = np.where((x.lower == np.inf).any(axis=0) & ~np.isneginf(x.lower).any(axis=0), np.inf, low)
    return Interval(low, np.where(np.isneginf(x.upper).any(axis=0) & ~np.isposinf(x.upper).any(axis=0), -np.inf, high))


def running_sums(x: Interval) -> Interval:
    """Return the sums of the first 1, 2, ... rows of a matrix."""
    count = np.arange(1.0, len(x.lower) + 1.0)[:, None]
    with np.errstate(all="ignore"):
        errors = [gamma(count) * np.cumsum(np.abs(end), axis=0) for end in (x.lower, x.upper)]
        low, high = np.cumsum(x.lower, axis=0), np.cumsum(x.upper, axis=0)
    low, high = interval(low, low, errors[0]).lower, interval(high, high, errors[1]).upper
    # Sums of numbers with the same sign have this sign, in spite of rounding.
    low = np.where(np.logical_and.accumulate(x.lower >= 0.0), np.maximum(low, 0.0), low)
    return Interval(low, np.where(np.logical_and.accumulate(x.upper <= 0.0), np.minimum(high, 0.0), high))


def _round_sum_once(ends: Float[Array, ...], direction: float) -> Float[Array, ""]:
    """Return the sum, rounded towards `direction`, inf or -inf; `direction` itself if the sum has no finite bound."""
    ends = np.ravel(ends)
    if np.isnan(ends).any() or (ends == direction).any():
        return np.array(direction)
    if not np.isfinite(ends).all():
        return np.array(-direction)
    try:
        rounded_sum = math.fsum(ends.tolist())
    except OverflowError:
        return np.array(direction)
    if len(ends) == 1 or rounded_sum == 0.0:  # a sum of floats is a multiple of the smallest one: 0 is exact
        return np.array(rounded_sum)
    return np.array(math.nextafter(rounded_sum, direction))


def is_power_of_two(x: Float[Array, ...]) -> Bool[Array, ...]:
    """Return whether factors change exponents only."""
    return np.frexp(np.abs(x))[0] == 0.5


def is_exact_product(x: Float[Array, ...], y: Float[Array, ...], product: Float[Array, ...]) -> Any:
    """Return whether products of floats are exact; False for sizes at which the errors of products are not exact."""
    with np.errstate(all="ignore"):
        error = product_error(x, y, product)
        factor = np.maximum(np.abs(x), np.abs(y))
        is_known = (factor < LARGEST_EXACT_FACTOR) & (np.abs(product) > SMALLEST_EXACT_PRODUCT)
    return (is_known & (error == 0.0)) | (x == 0.0) | (y == 0.0)


def exact_sum(x: Interval, y: Interval) -> Interval:
    """Return x + y, rounded outward only where a sum of ends is not exact [Knuth 1969, two sums]."""
    outward = x + y
    ends = list[Float[Array, "..."]]()
    for a, b, outward_end in ((x.lower, y.lower, outward.lower), (x.upper, y.upper, outward.upper)):
        with np.errstate(all="ignore"):
            rounded_sum = a + b
            error = sum_error(a, b, rounded_sum)
        ends.append(np.where((error == 0.0) & np.isfinite(rounded_sum), rounded_sum, outward_end))
    return Interval(ends[0], ends[1])


@dataclass(frozen=True, eq=False)
class Coefficients:
    """A matrix in compressed rows with entries in intervals.

    Attributes
    ----------
    values
        The centers of the intervals, a sparse array with sorted indices.
    radius
        The radii of the stored entries, in the same order; None if all are 0.
    """

    values: Any
    radius: Float[Array, " nnz"] | None = None

    @classmethod
    def selection(cls, entries: Array, k: int) -> Coefficients:
        """Return the matrix that selects entries of a vector of length k."""
        m = len(entries)
        return cls(scipy.sparse.csr_array((np.ones(m), np.asarray(entries), np.arange(m + 1)), shape=(m, k)))

    @classmethod
    def from_interval(cls, x: Interval) -> Coefficients:
        """Return the matrix of a dense array of intervals."""
        is_exact = bool((x.lower == x.upper).all())
        center = x.lower if is_exact else middle(x)
        if not np.isfinite(center).all():
            center = np.nan_to_num(center)
        if is_exact:
            return cls(scipy.sparse.csr_array(center))
        m, k = center.shape
        structure = np.tile(np.arange(k), m), np.arange(m + 1) * k
        values = scipy.sparse.csr_array((center.ravel(), *structure), shape=(m, k))
        with np.errstate(all="ignore"):
            radius = np.maximum(x.upper - center, center - x.lower).ravel()
        return cls(values, np.where(np.isnan(radius), np.inf, radius) * INFLATION)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.values.shape

    @cached_property
    def lengths(self) -> Array:
        """The number of stored entries in each row."""
        return np.diff(self.values.indptr)

    @cached_property
    def rows(self) -> Array:
        """The row of each stored entry."""
        return np.repeat(np.arange(self.shape[0]), self.lengths)

    @property
    def is_exact(self) -> bool:
        """Whether every entry is a float."""
        return self.radius is None

    @cached_property
    def is_zero(self) -> bool:
        """Whether every entry is exactly 0."""
        return self.is_exact and not self.values.data.any()

    @cached_property
    def is_binary(self) -> bool:
        """Whether every entry is exactly plus or minus a power of two."""
        return self.is_exact and bool(is_power_of_two(self.values.data).all())

    @cached_property
    def is_identity(self) -> bool:
        """Whether the matrix is the unit matrix."""
        m, k = self.shape
        return (
            m == k
            and self.is_exact
            and self.values.nnz == m
            and bool((self.values.data == 1.0).all() and (self.values.indices == np.arange(m)).all())
            and bool((self.lengths == 1).all())
        )

    @cached_property
    def transposed(self) -> Coefficients:
        """The transposed matrix."""
        if self.is_identity:
            return self
        m, k = self.shape
        order = np.lexsort((self.rows, self.values.indices))
        counts = np.bincount(self.values.indices, minlength=k)
        values = scipy.sparse.csr_array(
            (self.values.data[order], self.rows[order], np.concatenate([[0], np.cumsum(counts)])), shape=(k, m)
        )
        return Coefficients(values, None if self.radius is None else self.radius[order])

    def __matmul__(self, x: Interval) -> Interval:
        """Return the product with a vector of intervals."""
        if self.is_identity:
            return x
        if self.is_zero or not (x.lower.any() or x.upper.any()):
            return exact_interval(np.zeros(self.shape[0]))
        if self.lengths.max(initial=0) <= 1:
            return self._row_products(x)
        with np.errstate(all="ignore"):
            if self.shape[0] <= FEW_ROWS and self.lengths.max() >= LONG_ROW:
                return self._exact_row_sums(x)
            positive, negative = self._parts
            low = positive @ x.lower - negative @ x.upper
            high = positive @ x.upper - negative @ x.lower
            sizes = (
                positive @ np.abs(x.lower) + negative @ np.abs(x.upper),
                positive @ np.abs(x.upper) + negative @ np.abs(x.lower),
            )
            relative_error, underflow = gamma(self.lengths + 3.0), self.lengths * SMALLEST
            spread = 0.0 if self.radius is None else self._radii @ size(x)
            errors = [relative_error * end_sizes + underflow + spread for end_sizes in sizes]
        result = Interval(interval(low, low, errors[0]).lower, interval(high, high, errors[1]).upper)
        if self.is_exact and not negative.nnz and (x.lower >= 0.0).all():
            return Interval(np.maximum(result.lower, 0.0), result.upper)
        return result

    def product(self, factor: Coefficients) -> Coefficients:
        """Return the product with another matrix."""
        if self.is_identity:
            return factor
        if factor.is_identity:
            return self
        if self.is_zero or factor.is_zero:
            return Coefficients(scipy.sparse.csr_array((self.shape[0], factor.shape[1])))
        A, B = _replace_entries(self, abs(self.values.data)), _replace_entries(factor, abs(factor.values.data))
        counts = (_replace_entries(self, 1.0) @ _replace_entries(factor, 1.0)).tocsr()
        counts.sort_indices()
        # SciPy omits zeros. So every product gets the structure of the product of ones.
        values = _align_entries(self.values @ factor.values, counts)
        if self.is_exact and factor.is_exact and counts.data.max(initial=0.0) <= 1.0:
            if self.is_binary or factor.is_binary:
                return Coefficients(_matrix_with_structure(counts, values))
        radius = gamma(counts.data + 1.0) * _align_entries(A @ B, counts) + counts.data * SMALLEST
        self_radii = None if self.radius is None else _replace_entries(self, self.radius)
        factor_radii = None if factor.radius is None else _replace_entries(factor, factor.radius)
        for first, second in ((A, factor_radii), (self_radii, B), (self_radii, factor_radii)):
            if first is not None and second is not None:
                radius = radius + _align_entries(first @ second, counts)
        return Coefficients(
            _matrix_with_structure(counts, values), np.where(np.isnan(radius), np.inf, radius) * INFLATION
        )

    @classmethod
    def from_diagonal(cls, x: Interval) -> Coefficients:
        """Return a diagonal matrix."""
        m = len(x.lower)
        center = np.where(x.lower == x.upper, x.lower, middle(x))
        is_unbounded = ~np.isfinite(center)
        center = np.where(is_unbounded, 1.0, center)
        values = scipy.sparse.csr_array((center, np.arange(m), np.arange(m + 1)), shape=(m, m))
        if (x.lower == x.upper).all() and not is_unbounded.any():
            return cls(values)
        with np.errstate(all="ignore"):
            radius = np.where(is_unbounded, np.inf, np.maximum(x.upper - center, center - x.lower))
        return cls(values, radius * INFLATION)

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        """The positive entries, and the absolute values of the negative ones."""
        positive, negative = self.values.copy(), self.values.copy()
        positive.data, negative.data = np.maximum(positive.data, 0.0), np.maximum(-negative.data, 0.0)
        positive.eliminate_zeros()
        negative.eliminate_zeros()
        return positive, negative

    @cached_property
    def _radii(self) -> Any:
        """The radii as a sparse matrix."""
        radii = _replace_entries(self, self.radius).copy()
        radii.eliminate_zeros()
        return radii

    def _entries(self) -> Interval:
        """Return the stored entries as intervals."""
        data = self.values.data
        return exact_interval(data) if self.radius is None else interval(data, data, self.radius)

    def _entry_products(self, x: Interval) -> Interval:
        """Return the products of stored entries and entries of the vector."""
        x_entries = Interval(x.lower[self.values.indices], x.upper[self.values.indices])
        products = self._entries() * x_entries
        if self.radius is not None:
            return products
        a = self.values.data
        low, high = (
            np.where(a > 0.0, a * x_entries.lower, a * x_entries.upper),
            np.where(a > 0.0, a * x_entries.upper, a * x_entries.lower),
        )
        is_exact = is_exact_product(a, np.where(a > 0.0, x_entries.lower, x_entries.upper), low)
        is_exact &= is_exact_product(a, np.where(a > 0.0, x_entries.upper, x_entries.lower), high)
        is_exact &= np.isfinite(low) & np.isfinite(high)
        low, high, is_exact = np.where(a == 0.0, 0.0, low), np.where(a == 0.0, 0.0, high), is_exact | (a == 0.0)
        return Interval(np.where(is_exact, low, products.lower), np.where(is_exact, high, products.upper))

    def _row_products(self, x: Interval) -> Interval:
        """Return the product for a matrix whose rows have at most one entry."""
        with np.errstate(all="ignore"):
            products = self._entry_products(x)
        low, high = np.zeros(self.shape[0]), np.zeros(self.shape[0])
        low[self.rows], high[self.rows] = products.lower, products.upper
        return Interval(low, high)

    def _exact_row_sums(self, x: Interval) -> Interval:
        """Return the product with sums of rounded products that are rounded once."""
        products = self._entry_products(x)
        ends = self.values.indptr
        sums = [total(Interval(products.lower[a:b], products.upper[a:b])) for a, b in itertools.pairwise(ends)]
        return Interval(np.array([row_sum.lower for row_sum in sums]), np.array([row_sum.upper for row_sum in sums]))


def _align_entries(matrix: Any, structure: Any) -> Float[Array, " nnz"]:
    """Return the entries of a sparse matrix in the order of a structure that contains all of them."""
    matrix = matrix.tocsr()
    matrix.sort_indices()
    if matrix.nnz == structure.nnz:
        return matrix.data
    width = structure.shape[1]
    positions = [
        np.repeat(np.arange(pattern.shape[0], dtype=np.int64), np.diff(pattern.indptr)) * width + pattern.indices
        for pattern in (structure, matrix)
    ]
    data = np.zeros(structure.nnz)
    data[np.searchsorted(*positions)] = matrix.data
    return data


def _matrix_with_structure(structure: Any, data: Float[Array, " nnz"]) -> Any:
    """Return a sparse matrix with these entries and the structure of another one."""
    return scipy.sparse.csr_array((data, structure.indices, structure.indptr), shape=structure.shape)


def _replace_entries(matrix: Coefficients, data: Any) -> Any:
    """Return a sparse matrix with the same structure and other entries."""
    values = matrix.values
    entries = np.broadcast_to(np.asarray(data, dtype=np.float64), values.data.shape).copy()
    return scipy.sparse.csr_array((entries, values.indices, values.indptr), shape=values.shape)
