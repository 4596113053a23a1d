"""Solutions of sparse systems A x = b with more unknowns than rows, next to a point, without a basis.

Let S be diagonal, and B = D A S for a diagonal D. If B Bᵀ >= sigma I with sigma > 0, then A x = b has a solution with
|x_j - y_j| <= S_j |D (b - A y)| / sqrt(sigma) for all j, whatever y is: it is y + S Bᵀ (B Bᵀ)^-1 D (b - A y). D and S
are powers of 2, so that B is exact. sigma is proved by a factorization of B Bᵀ - t I, whose residual is bounded. If
the entries of A are known within radii R, sqrt(sigma) is smaller by at most the norm of D R S, and the same holds for
every A within them, with bounds of |D (b - A y)| that count R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from boostopt._utils.array_types import Array, Float

LAPACK: Any = scipy.linalg.lapack
"""SciPy's factorizations of dense matrices, which have no annotations."""

LINALG: Any = scipy.sparse.linalg
"""SciPy's factorizations, whose annotations do not have their results."""

MAX_FACTOR_SIZE = 10_000_000
"""Maximum number of non-zeros of a factor."""

MIN_SIZE = 1e-40
"""Smallest change of an unknown: one that may change by less stays as it is."""

MIN_COEFFICIENT = 1e-60
"""Smallest size of a coefficient: with smaller ones nothing is proved."""

MIN_DENSITY = 0.2
"""Fraction of the entries of B Bᵀ that are not 0 from which it is factored as a dense matrix."""

MIN_DENSE_SIZE = 10_000
"""Number of entries of B Bᵀ that are not 0 from which it may be dense: small ones are factored as sparse ones."""

MAX_DENSE_ROWS = 5_000
"""Maximum number of rows of a dense matrix that is factored."""

MAX_SMALL_ROWS, MAX_SMALL_ENTRIES = 130, 50_000
"""Number of rows, and of entries of B with zeros, up to which B is dense: SciPy's sparse matrices take longer."""

N_POWER_STEPS = 12
"""Number of steps of the inverse iteration that proposes t."""

MAX_EIGENVALUE_ROWS = 30
"""Number of rows of a dense matrix up to which its eigenvalues take less time than these steps."""

T_FRACTION = 0.5
"""t as a fraction of the smallest eigenvalue that the iteration finds."""

ROUGH_EIGENVALUE = 1e-6
"""The t that is tried first where a rough sigma suffices."""

ERROR_FACTOR = 64.0
"""The t that is tried first where any sigma suffices, over the rounding errors of few terms."""

MIN_PIVOT = 1e-13
"""Pivot of B Bᵀ below which nothing is proved: no pivot is smaller than the smallest eigenvalue."""

UNIT = 2.0**-53
"""The unit roundoff."""


class SparseSystem:
    """The rows of A with weights of the unknowns.

    Parameters
    ----------
    A
        The matrix, whose floats are exact but for the radii.
    sizes
        By about how much each unknown may change, not negative; 0 if it may not, shape (n,).
    radius
        The radii of the entries of A as a sparse matrix; None if all are 0.
    is_rough
        Whether sigma may be much smaller than the smallest eigenvalue, to save a factorization.
    is_refined
        The same where corrections make residuals so small that any sigma suffices.

    Attributes
    ----------
    sigma
        A number that is proved to be at most the smallest eigenvalue of B Bᵀ; at most 0 if nothing is proved.
    """

    sigma: float

    def __init__(
        self,
        A: Any,
        sizes: Float[Array, " n"],
        radius: Any = None,
        is_rough: bool = False,
        is_refined: bool = False,
    ) -> None:
        self.sigma = 0.0
        self.scales = _powers_of_two(np.where(sizes >= MIN_SIZE, np.minimum(sizes, 1 / MIN_SIZE), 0.0))
        if A.nnz and not float(np.abs(A.data[A.data != 0]).min(initial=np.inf)) >= MIN_COEFFICIENT:
            return  # the scaled coefficients might not be exact
        m, n = A.shape
        rows, columns = np.repeat(np.arange(m), np.diff(A.indptr)), A.indices
        with np.errstate(over="ignore"):
            scaled = A.data * self.scales[columns]
            norms = np.sqrt(np.bincount(rows, scaled * scaled, m))
        if not (norms > 1e-100).all() or not (norms < 1e100).all():
            return
        self.row_scales = 1 / _powers_of_two(norms)
        is_used = scaled != 0
        self._rows, self._columns = rows[is_used], columns[is_used]
        self._entries = scaled[is_used] * self.row_scales[self._rows]
        if not float(np.abs(self._entries).min(initial=np.inf)) > 1e-140:
            return  # the errors of underflow are not counted
        sizes = np.abs(self._entries)
        column_sizes = np.bincount(self._columns, sizes, n)[self._columns]
        gram_size = float(np.bincount(self._rows, sizes * column_sizes, m).max(initial=0.0))
        n_terms = int(np.bincount(self._rows).max(initial=0))
        M = self._gram_matrix(m, n)
        small = ERROR_FACTOR * UNIT * (n_terms + 4 * math.sqrt(m)) * gram_size  # a factor has more terms in its rows
        t = small if is_refined else ROUGH_EIGENVALUE
        proof = _proved_eigenvalue(M, t, gram_size, n_terms) if is_rough or is_refined else None
        if proof is not None and proof[0] > 0:
            self.sigma, self._factor = proof
        else:
            self._factor, proof = factorization(M), None
            if self._factor is not None and _smallest_pivot(self._factor) >= MIN_PIVOT:
                proof = _proved_eigenvalue(M, _proposed_shift(M, self._factor), gram_size, n_terms)
            self.sigma = 0.0 if proof is None else proof[0]
        if radius is not None and self.sigma > 0:
            root = float(np.sqrt(self.sigma)) * (1 - 4 * UNIT) - self._scaled_norm(radius)
            self.sigma = root * root * (1 - 4 * UNIT) if root > 0 else 0.0

    def _gram_matrix(self, m: int, n: int) -> Any:
        """Return B Bᵀ, dense if B is small, else in compressed columns."""
        if m <= MAX_SMALL_ROWS and m * n <= MAX_SMALL_ENTRIES:
            B = np.bincount(self._rows * n + self._columns, self._entries, m * n).reshape(m, n)
            return B @ B.T
        pointers = np.concatenate([[0], np.cumsum(np.bincount(self._rows, minlength=m))])
        sparse: Any = scipy.sparse.csr_array((self._entries, self._columns, pointers), shape=(m, n))
        return scipy.sparse.csc_array(sparse @ sparse.T)

    def _scaled_norm(self, radius: Any) -> float:
        """Return a bound of the norm of D R S, by the sums of its rows and of its columns."""
        R = scipy.sparse.coo_array(radius)
        rows, columns = R.coords
        entries = R.data * self.row_scales[rows] * self.scales[columns] + 1e-300
        sums = np.bincount(rows, entries), np.bincount(columns, entries)
        largest = [float(side.max(initial=0.0)) for side in sums]
        return float(np.sqrt(largest[0] * largest[1])) * (1 + (R.nnz + 8) * UNIT) + 1e-150

    def correction(self, residual: Float[Array, " m"]) -> Float[Array, " n"]:
        """Return nearly a d with A d = residual."""
        values = self._factor.solve(self.row_scales * residual)
        return self.scales * np.bincount(self._columns, self._entries * values[self._rows], len(self.scales))

    def radii(self, residual_sizes: Float[Array, " m"]) -> Float[Array, " n"]:
        """Return how far a solution is at most from a point, by bounds of |b - A y|."""
        if not self.sigma > 0 or not np.isfinite(residual_sizes).all():
            return np.full(len(self.scales), np.inf)
        count = len(residual_sizes)
        norm = float(np.linalg.norm(self.row_scales * residual_sizes)) * (1 + (count + 4) * UNIT) + 1e-150
        return self.scales * (norm / np.sqrt(self.sigma) * (1 + 8 * UNIT))


def _powers_of_two(values: Float[Array, " k"]) -> Float[Array, " k"]:
    """Return the largest powers of 2 that are at most some numbers, 0 for 0."""
    exponents = np.frexp(values)[1] - 1
    return np.where(values > 0, np.ldexp(1.0, exponents), 0.0)


@dataclass(frozen=True)
class DenseFactor:
    """The factorization L Lᵀ of a dense matrix."""

    L: Float[Array, "m m"]

    def solve(self, right_side: Float[Array, " m"]) -> Float[Array, " m"]:
        """Return a solution of L Lᵀ x = b."""
        return LAPACK.dpotrs(self._columns, right_side, lower=1)[0]  # scipy.linalg.cho_solve takes longer

    @cached_property
    def _columns(self) -> Float[Array, "m m"]:
        """L, column by column, as LAPACK reads it."""
        return np.asfortranarray(self.L)


def factorization(M: Any) -> Any:
    """Return a factorization of a symmetric matrix that keeps the pivots on its diagonal; None without one."""
    if isinstance(M, np.ndarray):
        return _dense_factor(M)
    m = M.shape[0]
    if M.nnz > max(MIN_DENSITY * m * m, MIN_DENSE_SIZE):
        return _dense_factor(M.toarray())
    try:
        factor = LINALG.splu(
            M, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True, "Equil": False}
        )
    except RuntimeError:  # exactly singular
        return None
    is_usable = factor.nnz <= MAX_FACTOR_SIZE and np.array_equal(factor.perm_r, factor.perm_c)
    return factor if is_usable and (factor.U.diagonal() > 0).all() else None


def _dense_factor(M: Float[Array, "m m"]) -> DenseFactor | None:
    """Return the factorization of a dense symmetric matrix; None without one."""
    if len(M) > MAX_DENSE_ROWS or not np.isfinite(M).all():
        return None
    try:
        return DenseFactor(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:  # not positive definite in floating point
        return None


def _smallest_pivot(factor: Any) -> float:
    """Return the smallest pivot of a factorization."""
    return float(factor.L.diagonal().min() ** 2 if isinstance(factor, DenseFactor) else factor.U.diagonal().min())


def _proposed_shift(M: Any, factor: Any) -> float:
    """Return a fraction of nearly the smallest eigenvalue of a matrix with a factorization."""
    if isinstance(M, np.ndarray) and len(M) <= MAX_EIGENVALUE_ROWS:
        return T_FRACTION * float(np.linalg.eigvalsh(M)[0])
    vector = np.random.default_rng(0).normal(size=M.shape[0])
    estimate = 0.0
    for _ in range(N_POWER_STEPS):
        size = float(np.linalg.norm(vector))
        if not np.isfinite(size) or size == 0:
            return 0.0
        vector = factor.solve(vector / size)
        estimate = 1 / max(float(np.linalg.norm(vector)), 1e-300)
    return T_FRACTION * estimate


def _proved_eigenvalue(M: Any, t: float, gram_size: float, n_products: int) -> tuple[float, Any] | None:
    """Return a number that is at most the smallest eigenvalue of B Bᵀ, and a factorization; None if t is too large.

    M - t I is factored.

    Parameters
    ----------
    M
        A matrix near B Bᵀ: its entries are sums of products that are rounded in any order.
    t
        A number below the eigenvalue.
    gram_size
        The largest sum of a row of |B| |B|ᵀ.
    n_products
        The largest number of entries of a row of B.
    """
    m = M.shape[0]
    difference = _shifted(M, t)
    factor = factorization(difference)
    if factor is None:
        return None
    is_dense = isinstance(factor, DenseFactor)
    norm, sizes, n_terms = (_dense_residual if is_dense else _sparse_residual)(difference, factor)
    n_terms = max(n_terms, n_products, m.bit_length()) + 8
    # The rounding of M, of the product, and of the difference, as sums of rows. They bound the norm.
    rounding = n_terms * UNIT * (2 * float(sizes.max()) + 2 * gram_size + 2 * abs(t))
    residual = norm * (1 + 4 * m * UNIT)
    result = t - (residual + rounding) * (1 + 1e-6)
    # Underflow in the products is far below the last number.
    return (result - 4 * UNIT * abs(result) - 1e-200 if np.isfinite(result) else -np.inf), factor


def eigenvalue_bound(M: Any, t: float) -> float:
    """Return a number that is at most the smallest eigenvalue of a symmetric matrix, near t; -inf if t is too large.

    The matrix is exact, in compressed columns that store all entries of the diagonal.
    """
    proof = _proved_eigenvalue(M, t, 0.0, 0)
    return -np.inf if proof is None else proof[0]


def _shifted(M: Any, t: float) -> Any:
    """Return M - t I."""
    m = M.shape[0]
    if isinstance(M, np.ndarray):
        return M - t * np.eye(m)
    rows, columns = M.indices, np.repeat(np.arange(m), np.diff(M.indptr))
    shifted = np.where(rows == columns, M.data - t, M.data)  # all entries of the diagonal are stored
    return scipy.sparse.csc_array((shifted, rows, M.indptr), shape=(m, m))


def _sparse_residual(M: Any, factor: Any) -> tuple[float, Float[Array, " m"], int]:
    """Return facts about a factorization L diag(d) Lᵀ of M.

    Returns
    -------
    norm
        The largest sum of the absolute values of a row of the residual.
    sizes
        The sums of the rows of |L| diag(d) |L|ᵀ.
    n_terms
        The largest number of terms of a product of rows.
    """
    m = M.shape[0]
    rows, columns = M.indices, np.repeat(np.arange(m), np.diff(M.indptr))
    L, d = scipy.sparse.csc_array(factor.L), factor.U.diagonal()
    L_rows, L_columns, L_sizes = L.indices, np.repeat(np.arange(m), np.diff(L.indptr)), np.abs(L.data)
    weighted: Any = scipy.sparse.csc_array((L.data * d[L_columns], L.indices, L.indptr), shape=(m, m))
    places = factor.perm_c  # M with rows and columns moved to these places is near L diag(d) Lᵀ
    target = scipy.sparse.coo_array((M.data, (places[rows], places[columns])), shape=(m, m)).tocsr()
    rest = scipy.sparse.coo_array(target - scipy.sparse.csr_array(weighted @ L.T))
    sizes = np.bincount(L_rows, L_sizes * (d * np.bincount(L_columns, L_sizes, m))[L_columns], m)
    return float(np.bincount(rest.coords[0], np.abs(rest.data), m).max()), sizes, int(np.bincount(L_rows).max())


def _dense_residual(M: Any, factor: DenseFactor) -> tuple[float, Float[Array, " m"], int]:
    """Return what `_sparse_residual` does for a dense matrix."""
    sizes = np.abs(factor.L)
    matrix = M if isinstance(M, np.ndarray) else M.toarray()
    residual = np.abs(matrix - factor.L @ factor.L.T)
    return float(residual.sum(axis=1).max()), sizes @ sizes.sum(axis=0), len(residual)
