"""The margin matrix U as a linear operator; no other module touches its storage.

`U[n, q] = y_n h_q(x_n)` has one row for each of the N examples, one column for each of the t hypotheses and
entries in [-1, 1]. The storage is float64, int8 (for integer input, an eighth of the memory) or compressed
sparse rows. It is an immutable copy of the caller's matrix. Sums over the examples run in blocks of rows. So the
block length, not N, bounds their rounding error, and no further copy of U is ever made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, ExampleVector, Float, HypothesisVector, Int
from boostopt._utils.immutable_arrays import as_immutable, as_read_only, compressed, immutable_rows, is_mapped
from boostopt._utils.validation import check_array, check_csr
from boostopt.errors import ProblemError

BLOCK_ROWS = 2_000
"""Rows in a block: the certificate's rounding slack is proportional to it, so is the memory of a product."""

MAX_FLOAT_COPY_ENTRIES = 1_000_000
"""Entries up to which a float64 copy of whole numbers is kept (8 MB): products then take half of the time."""

GRAM_BLOCK_ENTRIES = 100_000
"""Entries of a block in a Gram matrix (measured: 60,000 to 200,000 are equal, blocks larger than the cache are slower).
"""

COLUMN_GROWTH_FACTOR = 1.5
"""Capacity for columns after a reallocation, as a multiple of the current number of columns."""


class MarginMatrix:
    """Store the margin matrix and compute its products.

    Parameters
    ----------
    U
        Array or scipy sparse matrix of shape (N, t), N and t at least 1, finite entries in [-1, 1].
        Float input is stored as float64, integer input as int8, as an immutable copy. `MarginMatrix` and an
        immutable array (one over `bytes`) are shared. A memory-mapped file of float64 or int8 stays on
        disk: `check_unchanged` reads it again before each certificate.

    Raises
    ------
    ProblemError
        U is not a matrix of real numbers, is empty, holds a NaN or an infinity, or leaves [-1, 1].
    """

    def __init__(self, U: npt.ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix | MarginMatrix) -> None:
        self._storage: Any = U._storage if isinstance(U, MarginMatrix) else _check_and_convert(U)
        self._lineage: _StorageLineage = U._lineage if isinstance(U, MarginMatrix) else _StorageLineage(None, None)
        self._on_disk: bytes | None = U._on_disk if isinstance(U, MarginMatrix) else _hash_on_disk(self._storage)

    @classmethod
    def _from_storage(cls, storage: Any, lineage: _StorageLineage | None = None) -> MarginMatrix:
        """Return the margins in a storage that has been checked."""
        margins = object.__new__(cls)
        margins._storage, margins._lineage, margins._on_disk = storage, lineage or _StorageLineage(None, None), None
        return margins

    @classmethod
    def of_private(cls, U: Array) -> MarginMatrix:
        """Return the margins in a dense array without other references: checked, and float64 or int8 without a copy."""
        return cls._from_storage(_as_read_only_storage(_checked(U).astype(_storage_type(U), copy=False)))

    def __getstate__(self) -> Any:
        """Return the entries, for pickle, without the reserved columns and without the ancestors."""
        return np.array(self._storage) if isinstance(self._storage, np.ndarray) else self._storage

    def __setstate__(self, storage: Any) -> None:
        self._storage, self._lineage, self._on_disk = _immutable(storage), _StorageLineage(None, None), None

    def __repr__(self) -> str:
        kind = "sparse" if scipy.sparse.issparse(self._storage) else "dense"
        return f"MarginMatrix(N={self.N}, t={self.t}, {kind} {self._storage.dtype})"

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (N, t), the numbers of examples and hypotheses."""
        return cast(tuple[int, int], self._storage.shape)

    @property
    def N(self) -> int:
        """The number of examples."""
        return self.shape[0]

    @property
    def t(self) -> int:
        """The number of hypotheses."""
        return self.shape[1]

    @property
    def max_summands(self) -> int:
        """The longest chain of additions in `edges`: the rows of a block, then one term for each block."""
        return min(self.N, BLOCK_ROWS) + -(-self.N // BLOCK_ROWS)

    def blocks(
        self, max_rows: int = BLOCK_ROWS
    ) -> Iterator[tuple[slice, Float[Array, "rows t"] | scipy.sparse.csr_array]]:
        """Yield (rows, block) over all rows in order; a block is float64, dense or sparse as U is."""
        storage = self._floats
        for start in range(0, self.N, max_rows):
            rows = slice(start, min(start + max_rows, self.N))
            block = storage[rows]
            yield rows, block if block.dtype == np.float64 else block.astype(np.float64)

    @cached_property
    def _floats(self) -> Any:
        """The storage, as float64 where that is small."""
        small = isinstance(self._storage, np.ndarray) and self._storage.size <= MAX_FLOAT_COPY_ENTRIES
        return as_read_only(self._storage.astype(np.float64, copy=False)) if small else self._storage

    def edges(self, d: ExampleVector) -> HypothesisVector:
        """Return the edges Uᵀd, one for each hypothesis."""
        return sum((block.T @ d[rows] for rows, block in self.blocks()), start=np.zeros(self.t))

    def margins(self, w: HypothesisVector) -> ExampleVector:
        """Return the margins U w, one for each example."""
        m = np.empty(self.N)
        for rows, block in self.blocks():
            m[rows] = block @ w
        return m

    def gram(self, theta: ExampleVector) -> Float[Array, "t t"]:
        """Return Uᵀ diag(theta) U for theta >= 0, with temporary arrays of the size of a block."""
        roots, total = np.sqrt(theta), np.zeros((self.t, self.t))
        for rows, block in self.blocks(max(GRAM_BLOCK_ENTRIES // self.t, 1)):
            if isinstance(block, np.ndarray):
                scaled_block = block * roots[rows, np.newaxis]
                total += scaled_block.T @ scaled_block  # NumPy sees the symmetry and computes one half
            else:
                scaled_block = block.multiply(roots[rows, np.newaxis]).tocsr()
                total += (scaled_block.T @ scaled_block).toarray()
        return total

    def group_equal_rows(self, *keys: ExampleVector) -> RowGroups:
        """Return which examples are equal in their margins and, up to rounding, in further numbers.

        The method multiplies the rows by random whole numbers and compares the rows with equal sums. Equal rows of
        whole numbers have exactly equal sums. The method may miss equal rows of other numbers.
        """
        weights = np.random.default_rng(0).integers(1, 2**52 // (2 * self.t), self.t).astype(np.float64)
        sort_keys = [self.margins(weights), *(_drop_last_bits(key) for key in keys)]
        order = np.lexsort(sort_keys)
        is_equal = np.ones(self.N - 1, dtype=bool)
        for key in sort_keys:
            is_equal &= key[order[1:]] == key[order[:-1]]
        equal_sums = np.flatnonzero(is_equal)
        is_equal[equal_sums] = self._equal(order[equal_sums], order[equal_sums + 1])
        group = np.empty(self.N, dtype=np.int64)
        group[order] = np.concatenate([[0], np.cumsum(~is_equal)])
        return RowGroups(order[np.concatenate([[True], ~is_equal])], group)

    def take_rows(self, rows: Int[Array, " n"]) -> MarginMatrix:
        """Return the margins of some examples, in the given order."""
        return MarginMatrix._from_storage(_as_read_only_storage(self._storage[rows]))

    def take_columns(self, columns: Int[Array, " k"]) -> MarginMatrix:
        """Return the margins of some hypotheses, in the given order."""
        return MarginMatrix._from_storage(_as_read_only_storage(self._storage[:, columns]))

    def _equal(self, first: Int[Array, " k"], second: Int[Array, " k"]) -> Bool[Array, " k"]:
        """Return which pairs of rows are equal, entry by entry."""
        equal = np.ones(len(first), dtype=bool)
        for start in range(0, len(first), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            differ = self._storage[first[part]] != self._storage[second[part]]
            equal[part] = ~np.asarray(differ.sum(axis=1) > 0).ravel()
        return equal

    def append(self, column: npt.ArrayLike) -> MarginMatrix:
        """Return the margins with a further column, shape (N, t + 1); this matrix stays unchanged.

        Dense storage reserves columns, so that t appended columns cost O(N t) in all.

        Raises
        ------
        ProblemError
            The shape of the column is not (N,), or its entries are not real numbers in [-1, 1].
        """
        new = check_array("column", column)
        if new.shape != (self.N,):
            raise ProblemError(
                f"a column of U must have one margin for each of the {self.N} examples; got shape {new.shape}. "
                "Pass the margins of one hypothesis."
            )
        new_column = _check_and_convert(new[:, np.newaxis])
        storage, buffer = _append_column(self._storage, new_column, self._lineage)
        return MarginMatrix._from_storage(storage, _StorageLineage(self._lineage, buffer))

    def is_extension_of(self, ancestor: MarginMatrix) -> bool:
        """Return whether this matrix is the other one, or the other one with appended columns."""
        lineage: _StorageLineage | None = self._lineage
        while lineage is not None and lineage is not ancestor._lineage:
            lineage = lineage.parent
        return lineage is not None

    def column(self, q: int) -> ExampleVector:
        """Return column q as float64."""
        if isinstance(self._storage, np.ndarray):
            return self._storage[:, q].astype(np.float64)
        columns, dense = self._columns, np.zeros(self.N)
        entries = slice(columns.indptr[q], columns.indptr[q + 1])
        dense[columns.indices[entries]] = columns.data[entries]
        return dense

    @cached_property
    def _columns(self) -> Any:
        """A sparse storage by columns: finding a column in compressed rows takes a pass over every entry."""
        return self._storage.tocsc()

    def to_array(self) -> Float[Array, "N t"]:
        """Return U as a dense, read-only float64 array of 8 N t bytes: the storage itself if it is such an array."""
        dense = self._storage.toarray() if scipy.sparse.issparse(self._storage) else self._storage
        return as_read_only(dense.astype(np.float64, copy=False))

    def to_cvxpy_constant(self) -> Any:
        """Return U for a modelling layer: a read-only float64 array, or a float64 sparse matrix if U is sparse."""
        return self._storage.astype(np.float64) if scipy.sparse.issparse(self._storage) else self.to_array()

    def arrays(self) -> dict[str, Array]:
        """Return the storage as plain arrays by name, for files; `from_arrays` restores the matrix."""
        storage = self._storage
        if not scipy.sparse.issparse(storage):
            return {"dense": as_read_only(np.ascontiguousarray(storage))}
        parts = {"data": storage.data, "indices": storage.indices, "indptr": storage.indptr}
        return {**parts, "shape": np.array(self.shape)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> MarginMatrix:
        """Return the matrix with the arrays of `arrays`, after the usual checks.

        Raises
        ------
        ProblemError
            The arrays are not a margin matrix.
        """
        if "dense" in arrays:
            return cls(arrays["dense"])
        parts = arrays["data"], arrays["indices"], arrays["indptr"]
        return cls(scipy.sparse.csr_array(parts, shape=tuple(int(size) for size in arrays["shape"])))

    def check_unchanged(self) -> None:
        """Raise ProblemError if U is a mapped file that has changed; only of such files boostopt has no copy."""
        if self._on_disk is not None and _hash_on_disk(self._storage) != self._on_disk:
            raise ProblemError(
                "U must stay as it was when the program was bound; the mapped file has other numbers now. Bind the "
                "program anew, and let nobody write to the file."
            )

    def digest(self) -> str:
        """Return SHA-256 of the shape and the values; equal matrices have equal digests for any storage."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for _, block in self.blocks():
            dense = block.toarray() if isinstance(block, scipy.sparse.csr_array) else block
            digest.update(np.ascontiguousarray(dense + 0.0).data)  # + 0.0 makes -0.0 the plain zero
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Groups of equal examples.

    Attributes
    ----------
    representative
        One example of each of the n groups, shape (n,).
    group_of_row
        The group of each example, shape (N,).
    """

    representative: Int[Array, " n"]
    group_of_row: Int[Array, " N"]

    def sum_by_group(self, values: ExampleVector) -> Float[Array, " n"]:
        """Return the sum over each group."""
        return np.bincount(self.group_of_row, values, len(self.representative))


def _drop_last_bits(key: ExampleVector) -> ExampleVector:
    """Return numbers without their last bits, in which equal numbers may differ after rounding."""
    mantissa, exponent = np.frexp(key)
    return np.ldexp(np.round(mantissa * 2.0**40), exponent)


class _StorageLineage:
    """The origin of a matrix, and the storage with room for more columns that it shares with its descendants."""

    def __init__(self, parent: _StorageLineage | None, buffer: Any) -> None:
        self.parent, self.buffer, self.has_descendant = parent, buffer, False


def _append_column(storage: Any, column: Any, lineage: _StorageLineage) -> tuple[Any, Any]:
    """Return the storage with a further column, and its buffer (None for sparse storage)."""
    if scipy.sparse.issparse(storage):
        storage_with_column = scipy.sparse.hstack([storage, scipy.sparse.csr_array(column)], format="csr")
        return _as_read_only_storage(
            storage_with_column.astype(np.result_type(storage.dtype, column.dtype), copy=False)
        ), None
    N, t = storage.shape
    buffer, dtype = lineage.buffer, np.result_type(storage.dtype, column.dtype)
    # Only one descendant may write behind this matrix's columns; a second one gets storage of its own.
    if buffer is None or lineage.has_descendant or buffer.shape[1] == t or buffer.dtype != dtype:
        buffer = np.empty((N, int(COLUMN_GROWTH_FACTOR * t) + 8), dtype, order="F")
        buffer[:, :t] = storage
    else:
        lineage.has_descendant = True
    buffer[:, t] = column[:, 0]
    return as_read_only(buffer[:, : t + 1]), buffer


def _check_and_convert(U: Any) -> Any:
    """Check U and return an immutable copy in one of the three storages."""
    matrix = _checked(U)
    if isinstance(matrix, np.ndarray) and matrix.dtype == _storage_type(matrix) and is_mapped(matrix):
        return as_read_only(matrix)
    return _immutable(matrix, _storage_type(matrix))


def _hash_on_disk(storage: Any) -> bytes | None:
    """Return a hash of the entries of a mapped file; None for a storage in memory."""
    memory: Any = getattr(storage, "base", None)
    is_memory_map = isinstance(memory, memoryview) and isinstance(memory.obj, np.ndarray) and is_mapped(memory.obj)
    if not is_memory_map:
        return None
    digest = hashlib.sha256()
    for start in range(0, len(storage), BLOCK_ROWS):
        digest.update(np.ascontiguousarray(storage[start : start + BLOCK_ROWS]).data)
    return digest.digest()


def _storage_type(matrix: Any) -> type[Any]:
    """Return the number type in which a matrix is stored."""
    return np.float64 if matrix.dtype.kind == "f" else np.int8


def _checked(U: Any) -> Any:
    """Return U as an array or as compressed rows, checked."""
    sparse = scipy.sparse.issparse(U)
    matrix: Any = check_csr("U", U) if sparse else check_array("U", U)
    if matrix.dtype.kind not in "biuf":
        raise ProblemError(
            f"U must be a matrix of real numbers; got dtype {matrix.dtype}. "
            "Pass the margins y_n h_q(x_n) as floats or as integers -1, 0, 1."
        )
    if matrix.dtype.kind == "b":
        raise ProblemError(
            "U must hold margins in [-1, 1]; got True and False. If True means that a hypothesis is right, pass "
            "2.0 * U - 1."
        )
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ProblemError(
            f"U must have shape (N, t) with at least one example and one hypothesis; got shape {matrix.shape}. "
            "Pass a matrix whose rows are examples and whose columns are hypotheses."
        )
    _check_entries(matrix.data if sparse else matrix, matrix)
    return matrix


def _immutable(storage: Any, dtype: npt.DTypeLike | None = None) -> Any:
    """Return an immutable copy of a storage."""
    return immutable_rows(storage, dtype) if scipy.sparse.issparse(storage) else as_immutable(storage, dtype)


def _as_read_only_storage(storage: Any) -> Any:
    """Return a new storage as read-only, without a copy."""
    if not scipy.sparse.issparse(storage):
        return as_read_only(storage)
    storage.sort_indices()
    return compressed(tuple(map(as_read_only, (storage.data, storage.indices, storage.indptr))), storage.shape)


def _check_entries(entries: Any, matrix: Any) -> None:
    """Raise ProblemError unless all entries are finite and in [-1, 1]; min and max propagate NaN: two passes decide."""
    if entries.size == 0:
        return
    low, high = entries.min(), entries.max()
    if low >= -1 and high <= 1:
        return
    flat = np.asarray(entries, dtype=np.float64).ravel()
    bad = ~np.isfinite(flat)
    index = int(np.argmax(bad if bad.any() else np.abs(flat)))
    sparse = matrix.tocoo() if scipy.sparse.issparse(matrix) else None
    place = np.unravel_index(index, matrix.shape) if sparse is None else (sparse.row[index], sparse.col[index])
    position = tuple(int(i) for i in place)
    if bad.any():
        raise ProblemError(
            f"U must have finite entries; got {flat[index]} at {position}. Remove or impute missing predictions."
        )
    raise ProblemError(
        f"U must have entries in [-1, 1]; got max |U| = {abs(flat[index]):.15g} at {position}. "
        "Divide the hypotheses by their largest absolute value."
    )
