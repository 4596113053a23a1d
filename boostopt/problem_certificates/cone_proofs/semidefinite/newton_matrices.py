"""Newton matrices Gᵀ (Z (x) S^-1) G of semidefinite matrices G x + h, by the cheapest products.

The entry of columns i and j is the trace of A_i Z A_j S^-1, where A_i is the matrix of column i. It needs only the rows
of A_i and A_j that have entries. Full images Z A_j S^-1 are better where most rows have some.

References
----------
Fujisawa, Kojima, Nakata 1997, "Exploiting sparsity in primal-dual interior-point methods for semidefinite programming",
Mathematical Programming 79.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice, pairwise
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float, Int

MAX_ELEMENTS = 4_000_000
"""Number of entries of the images that are computed together."""

PAIR_COST = 180.0
"""Cost of a product of gathered entries, in operations of a product of large dense matrices."""

SPARSE_COST = 15.0
"""Cost of a product of an entry of a sparse matrix, in the same unit."""

COLUMN_COST = 300_000.0
"""The cost of a call for each column, in the same unit."""

MIN_DENSITY = 0.1
"""Share of the entries of a matrix above which it is multiplied as a dense one."""

MAX_DENSE_ENTRIES = 10_000_000
"""Number of its entries up to which it is."""

MatrixProducts = Callable[[Array, Array], Float[Array, "n n"]]
"""Returns Gᵀ (Z (x) W) G for symmetric matrices Z and W."""


def matrix_products(columns: Any, order: int) -> MatrixProducts:
    """Return the function that computes the Newton matrix of some columns.

    Parameters
    ----------
    columns
        Gᵀ in compressed rows: the entries of k symmetric matrices in C order, for each variable.
    order
        The order of the matrices. Those that the function takes have the shape (k, order, order).
    """
    if columns.shape[1] > order**2:
        return _products_of_blocks(columns, order)
    n, is_used = columns.shape[0], np.diff(columns.indptr) > 0
    used = np.flatnonzero(is_used)
    products = _products_of_matrix(columns if is_used.all() else columns[used], order)

    def result(Z: Array, W: Array) -> Float[Array, "n n"]:
        part = products(Z[0], W[0])
        if is_used.all():
            return part
        whole = np.zeros((n, n))
        whole[used[:, None], used] = part
        return whole

    return result


def dense_if_dense(matrix: Any) -> Any:
    """Return a sparse matrix as a dense one where products with that are faster."""
    is_dense = matrix.nnz > MIN_DENSITY * math.prod(matrix.shape) and matrix.nnz <= MAX_DENSE_ENTRIES
    return matrix.toarray() if is_dense else matrix


def _products_of_blocks(columns: Any, order: int) -> MatrixProducts:
    """Return the function for many small matrices: Z (x) W is a sparse matrix of blocks."""
    size, rows = order**2, scipy.sparse.csr_array(columns.T)
    indices = np.tile(np.arange(columns.shape[1]).reshape(-1, 1, size), (1, size, 1)).ravel()
    pointers = np.arange(0, len(indices) + 1, size)

    def result(Z: Array, W: Array) -> Float[Array, "n n"]:
        entries = (Z[:, :, None, :, None] * W[:, None, :, None, :]).ravel()
        blocks: Any = scipy.sparse.csr_array((entries, indices, pointers), shape=2 * columns.shape[1:])
        return np.asarray((columns @ (blocks @ rows)).toarray())

    return result


def _products_of_matrix(columns: Any, order: int) -> MatrixProducts:
    """Return the function for one matrix, of which each column has entries."""
    n = columns.shape[0]
    numbers = np.repeat(np.arange(n), np.diff(columns.indptr))
    first, second = np.divmod(columns.indices, order)
    stacked, places = np.unique(numbers * order + first, return_inverse=True)
    sizes = np.bincount(stacked // order, minlength=n)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows: Any = scipy.sparse.csr_array((columns.data, (places, second)), shape=(len(stacked), order))
    row_cost = PAIR_COST * len(stacked) ** 2
    factors: Any = dense_if_dense(columns)
    entry_cost = 2.0 * n * order**2 if isinstance(factors, np.ndarray) else SPARSE_COST * columns.nnz
    image_cost = entry_cost * order + 2.0 * n * order**3 + float(n**2 * order**2)
    block_cost = float((2.0 * order**2 * sizes + 2.0 * order * sizes**2).sum()) + (COLUMN_COST + entry_cost) * n
    if row_cost <= min(image_cost, block_cost):
        return _products_of_rows(rows, stacked % order, starts)
    if image_cost <= block_cost and n * order**2 <= MAX_ELEMENTS:
        return _products_of_images(factors, order)
    dense = rows.toarray()
    parts = [(slice(start, end), stacked[start:end] % order) for start, end in pairwise(starts.tolist())]
    return _products_of_columns(factors, [(part, dense[places][:, part]) for places, part in parts], order)


def _products_of_rows(rows: Any, places: Int[Array, " r"], starts: Int[Array, " n"]) -> MatrixProducts:
    """Return the function by the pairs of rows with entries, of some places in the matrices of their columns."""
    parts = np.ones(len(places)), np.arange(len(places)), starts
    sums: Any = scipy.sparse.csr_array(parts, shape=(len(starts) - 1, len(places)))
    size = max(1, MAX_ELEMENTS // max(1, len(places)))

    def result(Z: Array, W: Array) -> Float[Array, "n n"]:
        halves = np.empty((len(starts) - 1, len(places)))
        for start in range(0, len(places), size):
            part = slice(start, start + size)
            pairs = np.asarray(rows @ Z[:, places[part]]) * np.asarray(rows[part] @ W[:, places]).T
            halves[:, part] = sums @ pairs
        return np.asarray(sums @ halves.T)

    return result


def _products_of_images(columns: Any, order: int) -> MatrixProducts:
    """Return the function by the images Lᵀ A_j K of all columns, for W = L Lᵀ and Z = K Kᵀ.

    Rounding errors are then small also beside small entries of the result.
    """
    n = columns.shape[0]
    stacked: Any = columns.reshape(n * order, order)
    if scipy.sparse.issparse(stacked):
        stacked = stacked.tocsr()

    def result(Z: Array, W: Array) -> Float[Array, "n n"]:
        halves = np.asarray(stacked @ _root(W)).reshape(n, order, order).transpose(0, 2, 1).reshape(n * order, order)
        images = (halves @ _root(Z)).reshape(n, order**2)
        return images @ images.T

    return result


def _root(X: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return a matrix L with L Lᵀ = X, nearly; eigenvalues that are negative by rounding become 0."""
    try:
        return np.linalg.cholesky(X)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(X)
        return vectors * np.sqrt(np.maximum(values, 0.0))


def _products_of_columns(
    columns: Any, blocks: list[tuple[Int[Array, " k"], Float[Array, "k k"]]], order: int
) -> MatrixProducts:
    """Return the function by the image of each column, from its rows with entries and the block of these."""
    size = max(1, MAX_ELEMENTS // order**2)

    def result(Z: Array, W: Array) -> Float[Array, "n n"]:
        images = ((Z[:, rows] @ (block @ W[rows])).ravel() for rows, block in blocks)
        if not isinstance(columns, np.ndarray):
            return np.stack([columns @ image for image in images], axis=1)
        sizes = range(0, len(blocks), size)
        return np.hstack([columns @ np.stack(list(islice(images, size))).T for _ in sizes])

    return result
