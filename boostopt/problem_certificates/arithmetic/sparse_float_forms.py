"""Affine forms of large problems: sparse matrices of floats, with bounds of the errors of their entries.

An entry stands for all numbers within its radius. Data of the caller are exact, so most radii are 0 and not stored.
Each operation computes in floats and bounds its error by the sizes of what it sums up [Higham 2002, chapter 3]. The
bounds count their own rounding and underflow. A number that is not finite has an infinite radius, never nan.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import flint
import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.errors import ProblemError
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.error_free_transformations import sum_error
from boostopt.functions.numerics.rounding_errors import INFLATION, UNIT, gamma, is_exact_product
from boostopt.problem_certificates.arithmetic.affine_forms import (
    AffineForm,
    Row,
    RowBlock,
    check_coefficients,
    full_shape,
)
from boostopt.problem_certificates.arithmetic.balls import ZERO, Ball, Enclosure, enclosing_balls, enclosures


def absolute(matrix: Any) -> Any:
    """Return the absolute values of a sparse matrix, which share its pattern."""
    result = copy.copy(matrix)  # SciPy's constructor takes longer than a product of a small matrix
    result.data = np.abs(matrix.data)
    return result


def product(matrix: Any, radius: Any, x: Enclosure, offsets: Enclosure | None = None) -> Enclosure:
    """Return A x + b with bounds of the errors.

    Parameters
    ----------
    matrix, radius
        A in compressed rows or columns, and the radii of its entries as a matrix of its shape; None if all are 0.
    x, offsets
        Vectors; None for b = 0.
    """
    values, value_radii = x
    if not matrix.nnz and radius is None:
        zeros = np.zeros(matrix.shape[0])
        return (zeros, zeros) if offsets is None else finite_enclosure(*offsets)
    sizes, counts = absolute(matrix), entry_counts(matrix)
    with np.errstate(all="ignore"):
        result = np.asarray(matrix @ values)
        total = np.asarray(sizes @ np.abs(values))
        inherited = np.asarray(sizes @ value_radii) if value_radii.any() else np.zeros(len(result))
        if radius is not None:
            inherited = inherited + np.asarray(radius @ (np.abs(values) + value_radii))
            counts = counts + entry_counts(radius)
        # One entry times 1 or -1 is exact.
        is_exact = (counts <= 1) & (np.asarray(sizes @ np.ones(len(values))) == counts)
        if offsets is not None:
            result, total = result + offsets[0], total + np.abs(offsets[0])
            inherited = inherited + offsets[1]
            is_exact = is_exact & ((offsets[0] == 0) | (counts == 0))
        errors = np.where(is_exact, inherited, gamma(counts + 1.0) * total + inherited)
        errors = np.where(is_exact & (errors == 0), 0.0, errors * INFLATION + (4.0 * counts + 8.0) * SMALLEST)
    return finite_enclosure(result, errors)


def entry_counts(matrix: Any) -> Int[Array, " m"]:
    """Return the number of stored entries in each row of a matrix in compressed rows or columns."""
    if matrix.format == "csc":
        return np.bincount(matrix.indices, minlength=matrix.shape[0])
    return np.diff(matrix.indptr)


def entry_rows(matrix: Any) -> Int[Array, " nnz"]:
    """Return the row of each stored entry of a matrix in compressed rows."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def finite_enclosure(
    mids: Float[Array, "*shape"], radii: Float[Array, "*shape"]
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Return an enclosure with 0 and inf in place of numbers and radii that are not finite."""
    is_finite = np.isfinite(mids) & np.isfinite(radii)
    return np.where(is_finite, mids, 0.0), np.where(is_finite, radii, np.inf)


def scaled_enclosure(x: Enclosure, factors: Enclosure) -> Enclosure:
    """Return entrywise products."""
    (values, radii), (scales, scale_radii) = x, factors
    with np.errstate(all="ignore"):
        result = values * scales
        errors = np.where(is_exact_product(values, scales, result), 0.0, UNIT * np.abs(result) + 2 * SMALLEST)
        inherited = radii * (np.abs(scales) + scale_radii) + np.abs(values) * scale_radii
        inherited = np.where(np.isnan(inherited), np.inf, inherited)
        errors = np.where(inherited > 0, (errors + inherited) * INFLATION + 8 * SMALLEST, errors)
        # A product of positive radii may underflow to 0.
        errors = np.where((inherited == 0) & ((radii > 0) | (scale_radii > 0)), errors + 8 * SMALLEST, errors)
    return finite_enclosure(result, errors)


def summed_enclosure(x: Enclosure, y: Enclosure) -> Enclosure:
    """Return entrywise sums, which are exact where a float is."""
    with np.errstate(all="ignore"):
        result = x[0] + y[0]
        errors = np.abs(sum_error(x[0], y[0], result))
        inherited = x[1] + y[1]
        errors = np.where(inherited > 0, (errors + inherited) * INFLATION, errors)
    return finite_enclosure(result, errors)


class SparseRows(Sequence[Row]):
    """The rows of a sparse matrix, each made as balls when it is read.

    Parameters
    ----------
    matrix, radius
        As in `product`, in compressed rows.
    """

    def __init__(self, matrix: Any, radius: Any) -> None:
        self._matrix = matrix
        self._radius = radius

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        row: Row = {k: flint.arb(value) for k, value in _row_items(self._matrix, i % len(self))}
        if self._radius is not None:
            for k, radius in _row_items(self._radius, i % len(self)):
                row[k] = row.get(k, ZERO) + flint.arb(0.0, radius)
        return row


def _row_items(matrix: Any, i: int) -> Iterable[tuple[int, float]]:
    """Return the columns and values of a row."""
    part = slice(matrix.indptr[i], matrix.indptr[i + 1])
    return zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)


class FloatForm(AffineForm):
    """An array of affine functions of the unknowns, as `AffineForm`, with floats and their radii as coefficients.

    Parameters
    ----------
    shape
        The shape of the array.
    matrix, radius
        The coefficients of each entry, in C order, in compressed rows, and the radii; None for zeros.
    offsets
        The constant term of each entry, and its radius; a sparse array of exact constants; None for zeros.
    """

    def __init__(self, shape: tuple[int, ...], matrix: Any, radius: Any, offsets: Any) -> None:
        self.shape = shape
        self._size = int(np.prod(shape, dtype=int))
        self._matrix = matrix
        self.radius: Any = radius if radius is not None and radius.nnz else None
        self._offsets = offsets

    @classmethod
    def of_unknowns(cls, positions: Int[Array, " k"], shape: tuple[int, ...]) -> FloatForm:
        is_free = positions >= 0
        pointers = np.concatenate([[0], np.cumsum(is_free)]).astype(np.int32)
        columns = positions[is_free].astype(np.int32)
        size = (len(positions), int(positions.max(initial=-1)) + 1)
        return cls(shape, scipy.sparse.csr_array((np.ones(len(columns)), columns, pointers), shape=size), None, None)

    @classmethod
    def of_constants(cls, values: Any) -> FloatForm:
        if scipy.sparse.issparse(values):
            matrix = scipy.sparse.csr_array(values, dtype=float)
            if not matrix.has_canonical_format:
                matrix = matrix.copy()
                matrix.sum_duplicates()
            return cls(values.shape, None, None, matrix)
        array = np.asarray(values, dtype=float)
        return cls(array.shape, None, None, (array.ravel(), np.zeros(array.size)))

    @classmethod
    def of_balls(cls, values: Sequence[Ball], shape: tuple[int, ...]) -> FloatForm:
        return cls(shape, None, None, enclosures(values))

    @classmethod
    def of_entries(cls, entries: Sequence[tuple[Row, Ball]], shape: tuple[int, ...]) -> FloatForm:
        rows = [row for row, _ in entries]
        width = max((k for row in rows for k in row), default=-1) + 1
        return cls(shape, *enclosed_rows(rows, width), enclosures([offset for _, offset in entries]))

    @classmethod
    def concatenated(cls, forms: Sequence[AffineForm]) -> FloatForm:
        parts = [as_float_form(form) for form in forms]
        size = sum(len(part) for part in parts)
        if len(parts) == 1:
            return parts[0].reshaped((size,))
        width = max(part.matrix.shape[1] for part in parts)
        matrix = scipy.sparse.vstack([with_width(part.matrix, width) for part in parts], format="csr")
        radius = None
        if any(part.radius is not None for part in parts):
            radius = scipy.sparse.vstack(
                [_zeros(len(part), width) if part.radius is None else with_width(part.radius, width) for part in parts],
                format="csr",
            )
        offsets = tuple(np.concatenate(side) for side in zip(*(part.enclosure for part in parts), strict=True))
        return cls((size,), matrix, radius, offsets)

    @property
    def matrix(self) -> Any:
        """The coefficients in compressed rows."""
        return _zeros(len(self), 0) if self._matrix is None else self._matrix

    @property
    def enclosure(self) -> Enclosure:
        """The constant terms and their radii."""
        if self._offsets is None:
            return np.zeros(len(self)), np.zeros(len(self))
        if scipy.sparse.issparse(self._offsets):
            return self._offsets.toarray().ravel(), np.zeros(len(self))
        return self._offsets

    @property
    def rows(self) -> Sequence[Row]:
        """The coefficients of each entry as balls, in C order."""
        return SparseRows(self.matrix, self.radius)

    @property
    def offsets(self) -> Sequence[Ball]:
        """The constant term of each entry as a ball, in C order."""
        return enclosing_balls(*self.enclosure)

    @cached_property
    def is_constant(self) -> bool:
        return self.matrix.nnz == 0 and self.radius is None

    def __len__(self) -> int:
        return self._size

    def block(self, n_unknowns: int) -> RowBlock:
        return FloatRowBlock(self, n_unknowns)

    def used_unknowns(self, first: int) -> set[int]:
        parts = [self.matrix] if self.radius is None else [self.matrix, self.radius]
        return set(
            np.concatenate([part.indices[(part.indices >= first) & (part.data != 0)] for part in parts]).tolist()
        )

    def with_unknowns(self, places: Int[Array, " k"]) -> FloatForm:
        columns = places[places < self.matrix.shape[1]]
        radius = None if self.radius is None else self.radius[:, columns]
        return FloatForm(self.shape, self.matrix[:, columns], radius, self._offsets)

    def signs(self, curvatures: Mapping[int, int]) -> Float[Array, " k"]:
        A = self.matrix
        if not curvatures or int(A.indices.max(initial=-1)) < min(curvatures):
            return np.zeros(len(self))
        by_unknown = np.array([curvatures.get(k, 0) for k in range(A.shape[1])])
        signs = by_unknown[A.indices] * np.where(A.data > 0, 1, -1)
        places = entry_rows(A)
        is_convex = np.bincount(places, weights=signs > 0, minlength=len(self)) > 0
        is_concave = np.bincount(places, weights=signs < 0, minlength=len(self)) > 0
        return np.where(is_convex == is_concave, 0.0, np.where(is_convex, 1.0, -1.0))

    def reshaped(self, shape: tuple[int, ...]) -> FloatForm:
        shape = full_shape(shape, len(self))
        offsets = self._offsets
        if scipy.sparse.issparse(offsets):
            offsets = scipy.sparse.csr_array(offsets.reshape(shape)) if len(shape) == 2 else self.enclosure
        return FloatForm(shape, self._matrix, self.radius, offsets)

    def transposed(self) -> FloatForm:
        if self.is_constant and scipy.sparse.issparse(self._offsets):
            return FloatForm(self.shape[::-1], None, None, scipy.sparse.csr_array(self._offsets.T))
        m, n = self.shape
        return self.selected(np.arange(m * n).reshape(m, n).T.ravel(), (n, m))

    def selected(self, positions: Iterable[int] | Int[Array, " k"], shape: tuple[int, ...]) -> FloatForm:
        entries = np.asarray(positions if isinstance(positions, np.ndarray) else list(positions), dtype=int)
        values, radii = (np.append(side, 0.0)[entries] for side in self.enclosure)
        if self._matrix is None:
            return FloatForm(shape, None, None, (values, radii))
        matrix, radius = (
            None if part is None else _with_empty_row(part)[entries] for part in (self.matrix, self.radius)
        )
        return FloatForm(shape, matrix, radius, (values, radii))

    def plus(self, terms: Sequence[AffineForm]) -> FloatForm:
        total = self
        for term in terms:
            total = total._plus_one(as_float_form(term))
        return total

    def _plus_one(self, term: FloatForm) -> FloatForm:
        """Return the entrywise sum with a form of the same shape."""
        offsets = summed_enclosure(self.enclosure, term.enclosure)
        if term.is_constant or self.is_constant:
            first = term if self.is_constant else self
            return FloatForm(self.shape, first._matrix, first.radius, offsets)
        width = max(self.matrix.shape[1], term.matrix.shape[1])
        x, y = with_width(self.matrix, width), with_width(term.matrix, width)
        with np.errstate(all="ignore"):
            result = x + y
            # The error of each sum, as in `sum_error`.
            y_part = result - x
            radius = _without_zeros(absolute(((x - (result - y_part)) + (y - y_part)).tocsr()))
            for part in (self.radius, term.radius):
                radius = radius if part is None else (radius + with_width(part, width)) * INFLATION
        return FloatForm(self.shape, result.tocsr(), radius, offsets)

    def scaled(self, factors: Sequence[Ball]) -> FloatForm:
        return self._scaled_by(enclosures(factors))

    def multiplied(self, factor: AffineForm) -> FloatForm:
        return self._scaled_by(as_float_form(factor).enclosure)

    def weighted_sums(
        self, factor: AffineForm | None, terms: Sequence[Sequence[tuple[int, int]]], shape: tuple[int, ...]
    ) -> FloatForm:
        pointers = np.concatenate([[0], np.cumsum([len(pairs) for pairs in terms], dtype=int)])
        pairs = np.array([pair for group in terms for pair in group], dtype=int).reshape(-1, 2)
        size = (len(terms), len(self))
        if factor is None:
            return self.image(
                scipy.sparse.csr_array((np.ones(len(pairs)), pairs[:, 1], pointers), shape=size), None, shape
            )
        weights, radius = (
            scipy.sparse.csr_array((side[pairs[:, 0]], pairs[:, 1], pointers), shape=size)
            for side in as_float_form(factor).enclosure
        )
        return self.image(_without_zeros(weights), _without_zeros(radius), shape)

    def partial_sums(self, lines: Int[Array, "m k"]) -> FloatForm:
        places = np.argsort(lines, axis=None)  # of each entry in the lines
        terms = [lines[k // lines.shape[1], : k % lines.shape[1] + 1] for k in places.tolist()]
        pointers = np.cumsum([0, *map(len, terms)])
        columns = np.concatenate([np.zeros(0, dtype=int), *terms])
        weights = scipy.sparse.csr_array((np.ones(len(columns)), columns, pointers), shape=(len(self), len(self)))
        return self.image(weights, None, (len(self),))

    def product_from_left(self, factor: AffineForm) -> FloatForm:
        (m, _), n = factor.shape, self.shape[1]
        weights, radius = as_float_form(factor).constant_matrices()
        if n > 1:
            identity = scipy.sparse.eye_array(n, format="csr")
            weights = scipy.sparse.csr_array(scipy.sparse.kron(weights, identity, format="csr"))
            radius = (
                None if radius is None else scipy.sparse.csr_array(scipy.sparse.kron(radius, identity, format="csr"))
            )
        return self.image(weights, radius, (m, n))

    def constant_matrices(self) -> tuple[Any, Any]:
        """Return a constant form of two dimensions as a sparse matrix, and the radii."""
        if scipy.sparse.issparse(self._offsets):
            return self._offsets, None
        values, radii = (side.reshape(self.shape) for side in self.enclosure)
        radius = scipy.sparse.csr_array(radii) if radii.any() else None
        if not values.all():
            return scipy.sparse.csr_array(values), radius
        m, n = self.shape  # all entries: the data are not copied
        columns = np.tile(np.arange(n, dtype=np.int32), m)
        pointers = np.arange(0, m * n + 1, n, dtype=np.int32) if n else np.zeros(m + 1, dtype=np.int32)
        return scipy.sparse.csr_array((values.ravel(), columns, pointers), shape=(m, n)), radius

    def _scaled_by(self, factors: Enclosure) -> FloatForm:
        """Return each entry times a factor of its own."""
        offsets = scaled_enclosure(self.enclosure, factors)
        if self._matrix is None:
            return FloatForm(self.shape, None, None, offsets)
        matrix = self.matrix
        places = entry_rows(matrix)
        zeros = np.zeros(len(matrix.data))
        scales = factors[0][places], factors[1][places]
        values, radii = scaled_enclosure((matrix.data, zeros), scales)
        values = np.where(np.isfinite(radii), values, np.inf)  # refused later
        result, radius = (
            scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
            for data in (values, radii)
        )
        radius = _without_zeros(radius)
        if self.radius is not None:
            sizes = np.abs(factors[0]) + factors[1]
            inherited = self.radius.copy()
            inherited.data *= np.repeat(sizes, np.diff(inherited.indptr)) * INFLATION
            inherited.data += 8 * SMALLEST
            radius = (radius + inherited) * INFLATION
        return FloatForm(self.shape, _without_zeros(result), radius, offsets)

    def image(self, weights: Any, weight_radius: Any, shape: tuple[int, ...]) -> FloatForm:
        """Return the product of a sparse matrix, with the radii of its entries or None, with the entries."""
        offsets = None
        if self._offsets is not None:
            offsets = product(weights, weight_radius, self.enclosure)
        A, R = self.matrix, self.radius
        columns = self._columns_of_units
        if (
            columns is not None and weight_radius is None and weights.has_canonical_format
        ):  # each product is exact, and nothing is summed up
            places = columns[weights.indices]
            if (places >= 0).all():
                matrix = scipy.sparse.csr_array(
                    (weights.data, places, weights.indptr), shape=(len(weights.indptr) - 1, A.shape[1])
                )
                return FloatForm(shape, matrix, None, offsets)
        if weight_radius is not None and not weight_radius.nnz:
            weight_radius = None
        with np.errstate(all="ignore"):
            result = scipy.sparse.csr_array(weights @ A)
            sizes, weight_sizes = absolute(A), absolute(weights)
            counts = _pattern(weights) @ _pattern(A)  # products that underflow are stored here alone
            radius = (weight_sizes @ sizes) * float(gamma(counts.max() + 1.0 if counts.nnz else 0.0))
            if R is not None:
                radius = radius + weight_sizes @ R
                counts = counts + _pattern(weights) @ _pattern(R)
                sizes = sizes + R
            if weight_radius is not None:
                radius = radius + weight_radius @ sizes
                counts = counts + _pattern(weight_radius) @ _pattern(sizes)
            radius = scipy.sparse.csr_array(radius * INFLATION + counts * (32.0 * SMALLEST))
        return FloatForm(shape, result, radius, offsets)

    @cached_property
    def _columns_of_units(self) -> Array | None:
        """The unknown that each entry is, -1 for 0; None if entries are others, or two are the same unknown."""
        matrix = self.matrix
        counts = np.diff(matrix.indptr)
        if self.radius is not None or counts.max(initial=0) > 1 or not (matrix.data == 1).all():
            return None
        if len(np.unique(matrix.indices)) < len(matrix.indices):
            return None
        result = np.full(len(self), -1, dtype=np.int32)
        result[counts == 1] = matrix.indices
        return result


def as_float_form(form: AffineForm) -> FloatForm:
    """Return a form as one of floats."""
    if isinstance(form, FloatForm):
        return form
    return FloatForm.of_entries(list(zip(form.rows, form.offsets, strict=True)), form.shape)


def _pattern(matrix: Any) -> Any:
    """Return a sparse matrix with ones in place of the stored entries."""
    return scipy.sparse.csr_array((np.ones(len(matrix.data)), matrix.indices, matrix.indptr), shape=matrix.shape)


def _zeros(m: int, n: int) -> Any:
    """Return an empty sparse matrix."""
    return scipy.sparse.csr_array((m, n))


def enclosed_rows(rows: Sequence[Row], width: int) -> tuple[Any, Any]:
    """Return a sparse matrix of floats near the balls of some rows, and their radii without zeros.

    SciPy sorts and compacts the arrays of a matrix in place, so that no two matrices share them.
    """
    columns = np.array([k for row in rows for k in row], dtype=np.int32)
    pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=int)]).astype(np.int32)
    matrix, radius = (
        scipy.sparse.csr_array((side, columns.copy(), pointers.copy()), shape=(len(rows), width))
        for side in enclosures([value for row in rows for value in row.values()])
    )
    return matrix, _without_zeros(radius)


def with_width(matrix: Any, width: int) -> Any:
    """Return a sparse matrix of as many columns as are given; those that come or go are empty."""
    return scipy.sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))


def _with_empty_row(matrix: Any) -> Any:
    """Return a sparse matrix with another row of zeros."""
    pointers = np.append(matrix.indptr, matrix.indptr[-1])
    return scipy.sparse.csr_array((matrix.data, matrix.indices, pointers), shape=(matrix.shape[0] + 1, matrix.shape[1]))


def _without_zeros(matrix: Any) -> Any:
    """Return a sparse matrix that stores no zeros."""
    if (matrix.data != 0).all():
        return matrix
    result = matrix.copy()
    result.eliminate_zeros()
    return result


class FloatRowBlock(RowBlock):
    """Rows A z + b over a fixed number of unknowns, as `RowBlock`, in floats with radii.

    Attributes
    ----------
    radius
        The radii of the entries of A; None if all are 0.
    float_offset_radii
        Those of b.
    """

    def __init__(self, form: FloatForm, n_unknowns: int) -> None:
        self.n_unknowns = n_unknowns
        self.floats: Any = with_width(form.matrix, n_unknowns)
        self.radius: Any = None if form.radius is None else _without_zeros(with_width(form.radius, n_unknowns))
        self.float_offsets: Array
        self.float_offset_radii: Array
        self.float_offsets, self.float_offset_radii = form.enclosure
        check_coefficients(self.floats.data)
        if self.radius is not None:
            check_coefficients(self.radius.data)
        if not np.isfinite(self.float_offset_radii).all():
            raise ProblemError(
                "constant terms must be finite floats; got a larger product of constants. Scale the data."
            )
        self.rows: Sequence[Row] = SparseRows(self.floats, self.radius)
        is_used = np.zeros(n_unknowns, dtype=bool)
        for part in (self.floats, self.radius):
            if part is not None:
                is_used[part.indices] = True
        self.support: Array = np.flatnonzero(is_used)

    @property
    def offsets(self) -> Sequence[Ball]:
        return enclosing_balls(self.float_offsets, self.float_offset_radii)

    def __len__(self) -> int:
        return len(self.float_offsets)

    def form(self) -> FloatForm:
        """Return the rows as a form."""
        return FloatForm((len(self),), self.floats, self.radius, (self.float_offsets, self.float_offset_radii))

    def is_affine(self, n: int) -> bool:
        return int(self.support.max(initial=-1)) < n

    def depends_on(self, is_selected: Bool[Array, " k"]) -> Bool[Array, " m"]:
        counts = np.asarray(_pattern(self.floats) @ is_selected.astype(float))
        if self.radius is not None:
            counts = counts + np.asarray(_pattern(self.radius) @ is_selected.astype(float))
        return counts > 0

    def float_sizes(self, multipliers: Float[Array, " m"]) -> Float[Array, " k"]:
        return np.asarray(absolute(self.floats).T @ np.abs(multipliers))

    def values(self, z: Sequence[Ball]) -> list[Ball]:
        support = self.support.tolist()
        mids, radii = np.zeros(self.floats.shape[1]), np.zeros(self.floats.shape[1])
        mids[support], radii[support] = enclosures([z[k] for k in support])
        return enclosing_balls(*product(self.floats, self.radius, (mids, radii), self._offset_enclosure))

    def enclosed_pullback(self, multipliers: Enclosure) -> Enclosure:
        """Return Aᵀ mu for all unknowns."""
        return product(self.floats.T, None if self.radius is None else self.radius.T, multipliers)

    def add_pullback(self, multipliers: Sequence[Ball], slopes: list[Ball]) -> Ball:
        mids, radii = self.enclosed_pullback(enclosures(multipliers))
        support = self.support.tolist()
        for k, value in zip(support, enclosing_balls(mids[support], radii[support]), strict=True):
            slopes[k] = slopes[k] + value
        total = ZERO
        for mu, mid, error in zip(multipliers, *map(np.ndarray.tolist, self._offset_enclosure), strict=True):
            if not mu == 0 and (mid or error):
                total = total + mu * flint.arb(mid, error)
        return total

    @cached_property
    def aligned_radii(self) -> Float[Array, " k"]:
        """The radius of each stored entry of A."""
        if self.radius is None:
            return np.zeros(len(self.floats.data))
        count = len(self.floats.data)
        numbers = _pattern(self.floats)
        numbers.data = np.arange(1.0, count + 1.0)
        places = scipy.sparse.csr_array(_pattern(self.radius).multiply(numbers))
        values = scipy.sparse.csr_array(self.radius.multiply(_pattern(self.floats)))
        places.sort_indices()
        values.sort_indices()
        result = np.zeros(count)
        result[places.data.astype(int) - 1] = values.data
        return result

    @cached_property
    def stray_radius(self) -> Any:
        """The radii where A stores no entry; None if there are none."""
        if self.radius is None:
            return None
        pattern = _pattern(self.floats)
        stray = _without_zeros((self.radius - self.radius.multiply(pattern)).tocsr())
        return stray if stray.nnz else None

    @property
    def _offset_enclosure(self) -> Enclosure:
        """B and the radii."""
        return self.float_offsets, self.float_offset_radii
