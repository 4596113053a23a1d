"""Affine forms: arrays whose entries are affine functions of unknowns, with balls as coefficients.

`sparse_float_forms` has the same classes for large problems, with floats and bounds of their errors as coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.errors import ProblemError
from boostopt.problem_certificates.arithmetic.balls import ONE, ZERO, Ball, balls, matrix, midpoints

Row = dict[int, Ball]
"""The coefficients of an entry by the position of the unknown. Rows do not change: several entries may share one."""

MAX_DENSE_SIZE = 10_000
"""Maximum number of entries of a block of rows, zeros included, whose floats are also stored as an array."""

MIN_DENSITY = 0.3
"""Fraction of non-zero coefficients from which a product with vectors is computed by a dense matrix."""

MAX_COEFFICIENT = 1e150
"""Largest absolute value of a coefficient: squares of what is larger are no floats."""


class AffineForm:
    """An array of affine functions of the unknowns.

    Parameters
    ----------
    shape
        The shape of the array.
    rows
        The coefficients of each entry, in C order.
    offsets
        The constant term of each entry, in C order.
    """

    shape: tuple[int, ...]

    def __init__(self, shape: tuple[int, ...], rows: Sequence[Row], offsets: Sequence[Ball]) -> None:
        self.shape = shape
        self._rows = rows
        self._offsets = offsets

    @property
    def rows(self) -> Sequence[Row]:
        """The coefficients of each entry, in C order."""
        return self._rows

    @property
    def offsets(self) -> Sequence[Ball]:
        """The constant term of each entry, in C order."""
        return self._offsets

    @classmethod
    def of_unknowns(cls, positions: Int[Array, " k"], shape: tuple[int, ...]) -> AffineForm:
        """Return unknowns as a form; the position -1 stands for the constant 0."""
        rows = [{j: ONE} if j >= 0 else {} for j in positions.tolist()]
        return cls(shape, rows, [ZERO] * len(rows))

    @classmethod
    def of_constants(cls, values: Any) -> AffineForm:
        """Return an array of floats, dense or sparse, which are taken as exact, as a form."""
        array = np.asarray(values.toarray() if scipy.sparse.issparse(values) else values, dtype=float)
        return cls(array.shape, [{}] * array.size, balls(array))

    @classmethod
    def of_balls(cls, values: Sequence[Ball], shape: tuple[int, ...]) -> AffineForm:
        """Return an array of constants as a form."""
        return cls(shape, [{}] * len(values), values)

    @classmethod
    def concatenated(cls, forms: Sequence[AffineForm]) -> AffineForm:
        """Return the entries of several forms as one form of one dimension."""
        rows = [row for form in forms for row in form.rows]
        return cls((len(rows),), rows, [offset for form in forms for offset in form.offsets])

    @cached_property
    def is_constant(self) -> bool:
        """True if no entry depends on an unknown."""
        return not any(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, n_unknowns: int) -> RowBlock:
        """Return the entries as rows over so many unknowns."""
        return RowBlock(self, n_unknowns)

    def used_unknowns(self, first: int) -> set[int]:
        """Return the unknowns from a position on that have a coefficient that may differ from 0."""
        return {k for row in self.rows for k, value in row.items() if k >= first and not value == 0}

    def with_unknowns(self, places: Int[Array, " k"]) -> AffineForm:
        """Return the form over some of the unknowns, in rising order; the coefficients of the others are 0."""
        numbers = {k: i for i, k in enumerate(places.tolist())}
        rows = [{numbers[k]: value for k, value in row.items() if k in numbers} for row in self.rows]
        return AffineForm(self.shape, rows, self.offsets)

    def signs(self, curvatures: Mapping[int, int]) -> Float[Array, " k"]:
        """Return 1 for each entry that is convex, -1 for a concave one, 0 for an affine or unknown one.

        Parameters
        ----------
        curvatures
            1 for the unknowns that are values of a convex atom, -1 for those of a concave one.
        """

        def sign(row: Row) -> int:
            signs = {curvatures[k] * (1 if value > 0 else -1) for k, value in row.items() if k in curvatures}
            return signs.pop() if len(signs) == 1 else 0

        return np.array([sign(row) for row in self.rows], dtype=float)

    def reshaped(self, shape: tuple[int, ...]) -> AffineForm:
        """Return the same entries, in C order, as an array of another shape, in which one length may be -1."""
        return AffineForm(full_shape(shape, len(self)), self.rows, self.offsets)

    def transposed(self) -> AffineForm:
        """Return the transpose of a form of two dimensions."""
        m, n = self.shape
        return self.selected(np.arange(m * n).reshape(m, n).T.ravel().tolist(), (n, m))

    def selected(self, positions: Iterable[int] | Int[Array, " k"], shape: tuple[int, ...]) -> AffineForm:
        """Return entries by their positions in C order; -1 stands for the constant 0."""
        rows, offsets = [*self.rows, {}], [*self.offsets, ZERO]
        entries = list(positions)
        return AffineForm(shape, [rows[k] for k in entries], [offsets[k] for k in entries])

    def broadcast(self, shape: tuple[int, ...]) -> AffineForm:
        """Return the form, broadcast to a shape as NumPy does."""
        if shape == self.shape:
            return self
        if len(self.rows) == 1:  # CVXPY reads an array of one entry as a number
            return self.selected([0] * math.prod(shape), shape)
        positions = np.broadcast_to(np.arange(len(self.rows)).reshape(self.shape), shape)
        return self.selected(positions.ravel().tolist(), shape)

    def plus(self, terms: Sequence[AffineForm]) -> AffineForm:
        """Return the entrywise sum with forms of the same shape."""
        entries = [
            combination((ONE, *entry) for entry in group)
            for group in zip(*(form._entries() for form in (self, *terms)), strict=True)
        ]
        return self.of_entries(entries, self.shape)

    def scaled(self, factors: Sequence[Ball]) -> AffineForm:
        """Return each entry times a factor of its own."""
        rows = [{k: factor * value for k, value in row.items()} for factor, row in zip(factors, self.rows, strict=True)]
        return AffineForm(self.shape, rows, [factor * b for factor, b in zip(factors, self.offsets, strict=True)])

    def multiplied(self, factor: AffineForm) -> AffineForm:
        """Return each entry times the entry of a constant form."""
        return self.scaled(factor.offsets)

    def weighted_sums(
        self, factor: AffineForm | None, terms: Sequence[Sequence[tuple[int, int]]], shape: tuple[int, ...]
    ) -> AffineForm:
        """Return sums of products of entries.

        Parameters
        ----------
        factor
            A constant form; None for factors 1.
        terms
            For each sum the pairs of the position in `factor`, and of that in this form.
        shape
            The shape of the result.
        """
        weights = None if factor is None else factor.offsets
        entries = [
            combination((ONE if weights is None else weights[a], self.rows[b], self.offsets[b]) for a, b in pairs)
            for pairs in terms
        ]
        return self.of_entries(entries, shape)

    def partial_sums(self, lines: Int[Array, "m k"]) -> AffineForm:
        """Return the sum of each entry and of those before it in its line, as a form of one dimension.

        Parameters
        ----------
        lines
            The positions of the entries of each line; each entry is in one line.
        """
        entries: list[tuple[Row, Ball]] = [({}, ZERO)] * len(self)
        for line in lines.tolist():
            total: tuple[Row, Ball] = {}, ZERO
            for k in line:
                total = entries[k] = combination(((ONE, *total), (ONE, self.rows[k], self.offsets[k])))
        return self.of_entries(entries, (len(self),))

    def product_from_left(self, factor: AffineForm) -> AffineForm:
        """Return the matrix product of a constant form with this one, both of two dimensions."""
        (m, k), n = factor.shape, self.shape[1]
        terms = [[(i * k + q, q * n + j) for q in range(k)] for i in range(m) for j in range(n)]
        return self.weighted_sums(factor, terms, (m, n))

    def _entries(self) -> list[tuple[Row, Ball]]:
        """Return each entry as a row and an offset."""
        return list(zip(self.rows, self.offsets, strict=True))

    @classmethod
    def of_entries(cls, entries: Sequence[tuple[Row, Ball]], shape: tuple[int, ...]) -> AffineForm:
        """Return rows and offsets as a form."""
        return cls(shape, [row for row, _ in entries], [offset for _, offset in entries])


def full_shape(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return a shape with the length that -1 stands for."""
    return tuple(size // max(-math.prod(shape), 1) if k == -1 else k for k in shape)


def combination(terms: Iterable[tuple[Ball, Row, Ball]]) -> tuple[Row, Ball]:
    """Return the sum of weight times entry over triples (weight, row, offset) as a row and an offset."""
    total: Row = {}
    offset = ZERO
    for weight, row, constant in terms:
        if weight is ONE:
            for k, value in row.items():
                total[k] = total[k] + value if k in total else value
            offset = offset + constant
        elif not weight == 0:
            for k, value in row.items():
                total[k] = total[k] + weight * value if k in total else weight * value
            offset = offset + weight * constant
    return {k: value for k, value in total.items() if not value == 0}, offset


def sum_of_forms(forms: Sequence[AffineForm], shape: tuple[int, ...]) -> AffineForm:
    """Return the entrywise sum of forms, each broadcast to a shape."""
    first, *rest = [form.broadcast(shape) for form in forms]
    return first.plus(rest)


def concatenated(forms: Sequence[AffineForm]) -> AffineForm:
    """Return the entries of several forms as one form of one dimension."""
    return forms[0].concatenated(forms) if forms else AffineForm((0,), [], [])


def check_coefficients(values: Float[Array, " m"]) -> None:
    """Raise ProblemError unless all coefficients are at most `MAX_COEFFICIENT`."""
    size = float(np.abs(values).max(initial=0.0))
    if not size <= MAX_COEFFICIENT:
        raise ProblemError(
            f"coefficients of variables must be at most {MAX_COEFFICIENT:g}; got {size:g}. Scale the data."
        )


class RowBlock:
    """Rows A z + b over a fixed number of unknowns, in balls and in floats.

    Attributes
    ----------
    rows, offsets
        The rows of A and the entries of b, as balls.
    floats
        The midpoints of A as a sparse matrix, shape (m, n_unknowns).
    float_offsets
        The midpoints of b, shape (m,).

    Raises
    ------
    ProblemError
        An entry of A is larger than `MAX_COEFFICIENT`, or one of b than all floats.
    """

    rows: Sequence[Row]
    columns: Array
    coefficients: list[Ball]
    floats: Any
    float_offsets: Array
    support: Array
    n_unknowns: int

    def __init__(self, form: AffineForm, n_unknowns: int) -> None:
        self.rows = form.rows
        self._offsets = form.offsets
        lengths = [len(row) for row in form.rows]
        self.columns = np.array([k for row in form.rows for k in row], dtype=int)
        self.coefficients = [value for row in form.rows for value in row.values()]
        pointers = np.concatenate([[0], np.cumsum(lengths, dtype=int)]).astype(int)
        self.floats = scipy.sparse.csr_array(
            (midpoints(self.coefficients), self.columns, pointers), shape=(len(form.rows), n_unknowns)
        )
        self.float_offsets = midpoints(form.offsets)
        check_coefficients(self.floats.data)
        if not np.isfinite(self.float_offsets).all():
            raise ProblemError(
                "constant terms must be finite floats; got a larger product of constants. Scale the data."
            )
        self.support = np.unique(self.columns)
        self.n_unknowns = n_unknowns
        self._is_dense = len(self.coefficients) > MIN_DENSITY * len(form.rows) * max(len(self.support), 1) > 0

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def offsets(self) -> Sequence[Ball]:
        """The entries of b as balls."""
        return self._offsets

    def form(self) -> AffineForm:
        """Return the rows as a form of one dimension."""
        return AffineForm((len(self),), self.rows, self.offsets)

    def is_affine(self, n: int) -> bool:
        """Return whether all rows depend on the first n unknowns only."""
        return int(self.columns.max(initial=-1)) < n

    def depends_on(self, is_selected: Bool[Array, " k"]) -> Bool[Array, " m"]:
        """Return whether each row has a coefficient of a selected unknown, also one that is smaller than all floats."""
        return np.asarray(self._pattern @ is_selected.astype(float)) > 0

    @cached_property
    def _pattern(self) -> Any:
        """Ones in place of the coefficients, as a sparse matrix."""
        return scipy.sparse.csr_array(
            (np.ones(len(self.floats.data)), self.floats.indices, self.floats.indptr), shape=self.floats.shape
        )

    @cached_property
    def _dense(self) -> Any:
        """The matrix of the coefficients in the columns of the support."""
        support = self.support.tolist()
        return matrix([row.get(k, ZERO) for row in self.rows for k in support], len(self.rows))

    @cached_property
    def _dense_transpose(self) -> Any:
        """The transpose of `_dense`."""
        return self._dense.transpose()

    def values(self, z: Sequence[Ball]) -> list[Ball]:
        """Return A z + b for balls z."""
        if self._is_dense:
            product = self._dense * matrix([z[k] for k in self.support.tolist()], len(self.support))
            return [value + offset for value, offset in zip(product.entries(), self._offsets, strict=True)]
        return [self.value(i, z) for i in range(len(self.rows))]

    def value(self, i: int, z: Sequence[Ball]) -> Ball:
        """Return entry i of A z + b for balls z."""
        total = self.offsets[i]
        for k, coefficient in self.rows[i].items():
            total = total + coefficient * z[k]
        return total

    def add_pullback(self, multipliers: Sequence[Ball], slopes: list[Ball]) -> Ball:
        """Add Aᵀ mu to slopes, in place, and return <mu, b>."""
        active = [i for i, mu in enumerate(multipliers) if not mu == 0]
        if self._is_dense and 2 * len(active) > len(self.rows):
            product = self._dense_transpose * matrix(list(multipliers), len(self.rows))
            for k, value in zip(self.support.tolist(), product.entries(), strict=True):
                slopes[k] = slopes[k] + value
        else:
            for i in active:
                mu = multipliers[i]
                for k, coefficient in self.rows[i].items():
                    slopes[k] = slopes[k] + mu * coefficient
        total = ZERO
        for i in active:
            total = total + multipliers[i] * self.offsets[i]
        return total

    def float_product(self, Z: Float[Array, "k q"]) -> Float[Array, "m q"]:
        """Return A Z in floating point."""
        if self._float_matrix is not None and np.isfinite(Z).all():
            return self._float_matrix @ Z
        if Z.shape[1] > 1 and self.floats.nnz > MIN_DENSITY * self.floats.shape[0] * self.floats.shape[1]:
            return self.floats.toarray() @ Z
        return np.asarray(self.floats @ Z)

    def float_pullback(self, multipliers: Float[Array, " m"]) -> Float[Array, " k"]:
        """Return Aᵀ mu in floating point."""
        if self._float_matrix is not None and np.isfinite(multipliers).all():
            return self._float_matrix.T @ multipliers
        return np.asarray(self._float_transpose @ multipliers)

    def float_sizes(self, multipliers: Float[Array, " m"]) -> Float[Array, " k"]:
        """Return |A|ᵀ |mu| in floating point."""
        if self._float_size_matrix is not None and np.isfinite(multipliers).all():
            return self._float_size_matrix.T @ np.abs(multipliers)
        return np.asarray(self._float_size_transpose @ np.abs(multipliers))

    def float_value_sizes(self, z: Float[Array, " k"]) -> Float[Array, " m"]:
        """Return |A| |z| in floating point."""
        if self._float_size_matrix is not None and np.isfinite(z).all():
            return self._float_size_matrix @ np.abs(z)
        return np.asarray(abs(self.floats) @ np.abs(z))

    @cached_property
    def _float_matrix(self) -> Float[Array, "m k"] | None:
        """`floats` of small problems as an array: SciPy takes longer to call a product than to compute it."""
        return self.floats.toarray() if 0 < self.floats.shape[0] * self.floats.shape[1] <= MAX_DENSE_SIZE else None

    @cached_property
    def _float_size_matrix(self) -> Float[Array, "m k"] | None:
        """The absolute values of `_float_matrix`."""
        return None if self._float_matrix is None else np.abs(self._float_matrix)

    @cached_property
    def _float_transpose(self) -> Any:
        """The transpose of `floats`."""
        return self.floats.T

    @cached_property
    def _float_size_transpose(self) -> Any:
        """The absolute values of the transpose of `floats`."""
        return abs(self.floats).T

    def float_values(self, z: Float[Array, " k"]) -> Float[Array, " m"]:
        """Return A z + b in floating point."""
        if self._float_matrix is not None and np.isfinite(z).all():
            return self._float_matrix @ z + self.float_offsets
        return np.asarray(self.floats @ z) + self.float_offsets
