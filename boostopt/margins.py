"""The margin matrix U as a linear operator: the only module that touches its storage.

`U[n, q] = y_n h_q(x_n)` has one row for each of the N examples, one column for each of the t hypotheses and
entries in [-1, 1]. Three storages: float64, int8 (for integer input, an eighth of the memory) and compressed
sparse rows. Sums over the examples run in blocks of rows, so that their rounding error is bounded by the block
length and not by N, and so that no second copy of U is ever made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt.errors import ProblemError
from boostopt.shapes import Array, Float

BLOCK_ROWS = 10_000
"""Rows in a block: the certificate's rounding slack is proportional to it, so is the memory of a product."""


class Margins:
    """Hold the margin matrix and answer for its products.

    Parameters
    ----------
    U
        Array or scipy sparse matrix of shape (N, t), N and t at least 1, finite entries in [-1, 1].
        Float input is kept as float64 without a copy where it already is, integer input as int8.

    Raises
    ------
    ProblemError
        U is not a matrix of real numbers, is empty, holds a NaN or an infinity, or leaves [-1, 1].
    """

    def __init__(self, U: npt.ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix | Margins) -> None:
        self._storage: Any = U._storage if isinstance(U, Margins) else _stored(U)

    def __repr__(self) -> str:
        kind = "sparse" if scipy.sparse.issparse(self._storage) else "dense"
        return f"Margins(N={self.N}, t={self.t}, {kind} {self._storage.dtype})"

    @property
    def shape(self) -> tuple[int, int]:
        """(N, t): examples, hypotheses."""
        return cast(tuple[int, int], self._storage.shape)

    @property
    def N(self) -> int:
        """Number of examples."""
        return self.shape[0]

    @property
    def t(self) -> int:
        """Number of hypotheses."""
        return self.shape[1]

    @property
    def summation_length(self) -> int:
        """Longest chain of additions in `edges`: rows of a block, then one term per block."""
        return min(self.N, BLOCK_ROWS) + -(-self.N // BLOCK_ROWS)

    def blocks(self) -> Iterator[tuple[slice, Float[Array, "rows t"] | scipy.sparse.csr_array]]:
        """Yield (rows, block) over all rows in order; a block is float64, dense or sparse as U is."""
        for start in range(0, self.N, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, self.N))
            block = self._storage[rows]
            yield rows, block if block.dtype == np.float64 else block.astype(np.float64)

    def edges(self, d: Float[Array, " N"]) -> Float[Array, " t"]:
        """Return the edges Uᵀd, one for each hypothesis."""
        return sum((block.T @ d[rows] for rows, block in self.blocks()), start=np.zeros(self.t))

    def margins(self, w: Float[Array, " t"]) -> Float[Array, " N"]:
        """Return the margins U w, one for each example."""
        m = np.empty(self.N)
        for rows, block in self.blocks():
            m[rows] = block @ w
        return m

    def column(self, q: int) -> Float[Array, " N"]:
        """Return column q as float64."""
        column = self._storage[:, [q]]
        dense = column.toarray() if scipy.sparse.issparse(column) else column
        return dense[:, 0].astype(np.float64)

    def to_array(self) -> Float[Array, "N t"]:
        """Return U as a dense float64 array: memory 8 N t bytes, shared with the storage where that is dense float."""
        dense = self._storage.toarray() if scipy.sparse.issparse(self._storage) else self._storage
        return dense.astype(np.float64, copy=False)

    def for_modelling(self) -> Any:
        """Return U as a modelling layer wants it: a float64 array, or a float64 sparse matrix where U is sparse."""
        return self._storage.astype(np.float64) if scipy.sparse.issparse(self._storage) else self.to_array()

    def digest(self) -> str:
        """Return SHA-256 of shape and values, equal for equal matrices whatever their storage."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for _, block in self.blocks():
            dense = block.toarray() if isinstance(block, scipy.sparse.csr_array) else block
            digest.update(np.ascontiguousarray(dense + 0.0).data)  # + 0.0 makes -0.0 the plain zero
        return digest.hexdigest()


def _stored(U: Any) -> Any:
    """Check U and return it in one of the three storages."""
    sparse = scipy.sparse.issparse(U)
    try:
        matrix: Any = scipy.sparse.csr_array(U) if sparse else np.asarray(U)
    except ValueError as failure:
        raise ProblemError(f"U must be a matrix of real numbers; got rows of unequal length: {failure}.") from None
    if sparse and not matrix.has_canonical_format:
        matrix = matrix.astype(np.int64 if matrix.dtype.kind in "biu" else matrix.dtype, copy=True)
        matrix.sum_duplicates()
    if matrix.dtype.kind not in "biuf":
        raise ProblemError(
            f"U must be a matrix of real numbers; got dtype {matrix.dtype}. "
            "Pass the margins y_n h_q(x_n) as floats or as integers -1, 0, 1."
        )
    if matrix.dtype.kind == "b":
        raise ProblemError(
            "U must hold margins in [-1, 1]; got True and False. Where they say whether a hypothesis is right, pass "
            "2.0 * U - 1."
        )
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ProblemError(
            f"U must have shape (N, t) with at least one example and one hypothesis; got shape {matrix.shape}. "
            "Rows are examples, columns are hypotheses."
        )
    _check_entries(matrix.data if sparse else matrix, matrix)
    if matrix.dtype.kind == "f":
        return matrix.astype(np.float64, copy=False)
    return matrix.astype(np.int8, copy=False)


def _check_entries(entries: Any, matrix: Any) -> None:
    """Raise unless all entries are finite and in [-1, 1]; min and max carry a NaN along, so two passes decide."""
    if entries.size == 0:
        return
    low, high = entries.min(), entries.max()
    if low >= -1 and high <= 1:
        return
    dense_at = matrix.tocoo() if scipy.sparse.issparse(matrix) else None
    flat = np.asarray(entries, dtype=np.float64).ravel()
    bad = ~np.isfinite(flat)
    worst = int(np.argmax(bad)) if bad.any() else int(np.argmax(np.abs(flat)))
    at = (
        (int(dense_at.row[worst]), int(dense_at.col[worst]))
        if dense_at is not None
        else tuple(int(i) for i in np.unravel_index(worst, matrix.shape))
    )
    if bad.any():
        raise ProblemError(
            f"U must have finite entries; got {flat[worst]} at {at}. "
            "Drop or impute what the hypotheses could not predict."
        )
    raise ProblemError(
        f"U must have entries in [-1, 1]; got max |U| = {abs(flat[worst]):.15g} at {at}. "
        "Divide the hypotheses by their largest absolute value."
    )
