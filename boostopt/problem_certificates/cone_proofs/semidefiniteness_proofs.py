"""Proofs that a sparse symmetric matrix is positive semidefinite, or nearly so, one block after the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph
from flint import fmpq

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.rounding_errors import INFLATION, UNIT
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import eigenvalue_bound
from boostopt.problem_certificates.arithmetic.sparse_float_forms import entry_rows, product
from boostopt.problem_certificates.cone_proofs.cone_membership import smallest_eigenvalue_bound

MAX_BLOCK = 4000
"""Number of rows of a block up to which its eigenvalues are bounded."""

MAX_EIGENVECTOR_SIZE = 1000
"""Number of rows of a block up to which a direction of negative curvature is looked for."""

MAX_DENSE_SIZE = 200
"""Number of rows up to which blocks are dense: SciPy's sparse matrices take longer."""

MAX_SPARSE_DENSITY = 0.2
"""Share of the entries of a larger block that are not 0 up to which it is factored as a sparse matrix."""

ROUNDING_FACTOR = 16.0
"""A shift over rounding errors up to which no direction of negative curvature is looked for."""

MIN_SPARSE_ENTRY, MAX_SPARSE_ENTRY = 1e-100, 1e100
"""Sizes of entries between which their products with powers of two are exact."""

MIN_EIGENVALUE = 1e-11
"""Relative size of the smallest eigenvalue from which a sparse matrix is proved semidefinite without a shift."""

SHIFT_FACTOR = 4.0
"""A shift over the rounding errors of a sparse factorization."""

MAX_FRACTION_ROWS = 8
"""Number of rows up to which elimination in fractions takes less time than eigenvalues."""

MAX_EXACT_COST = 1_000_000
"""Number of products, times the words of their digits, up to which a block is eliminated in fractions."""


def semidefinite_shifts(P: Any, is_bounded: Bool[Array, " n"]) -> tuple[Float[Array, " n"], bool]:
    """Return numbers s such that P + diag(s) is proved positive semidefinite, and whether P is proved not to be.

    A number is inf where nothing is proved, and negative where P is proved to have curvature.

    Parameters
    ----------
    P
        Compressed rows, symmetric.
    is_bounded
        True for variables with two bounds. A small shift is enough for a block of these.
    """
    n, diagonal = P.shape[0], P.diagonal()
    if P.nnz == np.count_nonzero(diagonal):
        return -diagonal, bool((diagonal < 0).any())
    _, labels = scipy.sparse.csgraph.connected_components(P, directed=False)
    is_alone = np.bincount(labels)[labels] == 1
    excess = _dominance(P, labels)
    shifts = -np.where(is_alone, diagonal, excess)
    is_nonconvex = bool((diagonal[is_alone] < 0).any())
    places = np.flatnonzero(~is_alone & (np.bincount(labels, excess < 0) > 0)[labels])
    order = places[np.argsort(labels[places], kind="stable")]
    blocks = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []
    dense = P.toarray() if n <= MAX_DENSE_SIZE and blocks else None
    if dense is None and blocks:
        joint: Any = scipy.sparse.csr_array(P[order][:, order])
        joint.sort_indices()
        values = _shifts_by_sparse_factor(joint)
        if values is not None and (is_bounded[order] | (values == 0)).all():
            shifts[order], blocks = values, []
    for block in blocks:
        part: Any = P[block][:, block] if dense is None else dense[np.ix_(block, block)]
        shift = np.inf
        if len(block) <= MAX_FRACTION_ROWS and _semidefinite_in_fractions(part):
            shift = 0.0
        elif len(block) <= MAX_BLOCK:
            shift = -smallest_eigenvalue_bound(part.toarray() if dense is None else part)
        rounding = ROUNDING_FACTOR * UNIT * (len(block) + 2) * float(np.abs(diagonal[block]).sum())
        if shift > rounding and is_negative(part):
            is_nonconvex = True
        elif shift > 0 and not is_bounded[block].all():
            flag = _semidefinite_in_fractions(part)
            is_nonconvex = is_nonconvex or flag is False
            shift = 0.0 if flag else shift
        shifts[block] = shift
    return shifts, is_nonconvex


def _shifts_by_sparse_factor(P: Any) -> Float[Array, " n"] | None:
    """Return small shifts by a factorization of the matrix with a diagonal near 1; None if it is dense or none do."""
    n, sizes, diagonal = P.shape[0], np.abs(P.data), P.diagonal()
    if P.nnz > MAX_SPARSE_DENSITY * n * n or not diagonal.min() > 0:
        return None
    if not (sizes.min() > MIN_SPARSE_ENTRY and sizes.max() < MAX_SPARSE_ENTRY):
        return None
    exponents, rows = -(np.frexp(diagonal)[1] // 2), entry_rows(P)
    entries = np.ldexp(P.data, exponents[rows] + exponents[P.indices])
    scaled = scipy.sparse.csc_array((entries, P.indices, P.indptr), shape=P.shape)
    size, n_terms = float(np.bincount(rows, np.abs(entries)).max()), int(np.diff(P.indptr).max()) + 8
    if eigenvalue_bound(scaled, MIN_EIGENVALUE * size) >= 0:
        return np.zeros(n)
    bound = eigenvalue_bound(scaled, -SHIFT_FACTOR * UNIT * n_terms * size)
    return np.ldexp(-bound, -2 * exponents) if bound > -np.inf else None


def is_negative(P: Any) -> bool:
    """Return whether a direction is proved to have a negative value of the quadratic form of a matrix."""
    if P.shape[0] > MAX_EIGENVECTOR_SIZE:
        return False
    sparse: Any = scipy.sparse.csr_array(P)
    values, vectors = scipy.linalg.eigh(sparse.toarray(), subset_by_index=[0, 0])
    v = vectors[:, 0]
    slopes, errors = product(sparse, None, (v, np.zeros(len(v))))
    terms = v * slopes
    sizes = np.abs(v) * errors + UNIT * np.abs(terms) + SMALLEST
    return bool(values[0] < 0) and math.fsum([*terms.tolist(), *(sizes * INFLATION).tolist()]) < 0


def _dominance(P: Any, labels: Int[Array, " k"]) -> Float[Array, " k"]:
    """Return lower bounds of each diagonal entry less the sum of the sizes of the others in its row.

    The labels are those of the blocks.
    """
    diagonal, total = P.diagonal(), np.asarray(abs(P).sum(axis=1)).ravel()
    rest = total - np.abs(diagonal)
    is_rounded = (np.abs(P.data) >= 2.0**31) | (P.data != np.round(P.data))  # sums of whole numbers are exact
    counts, n_rounded = np.bincount(labels), np.bincount(labels[entry_rows(P)], is_rounded, labels.max(initial=-1) + 1)
    errors = np.where(n_rounded > 0, 1e-13 * np.maximum(1.0, counts / 100), 0.0)
    return diagonal - rest - errors[labels] * total


def _semidefinite_in_fractions(P: Any) -> bool | None:
    """Return whether a matrix is positive semidefinite, by elimination in fractions; None if this costs too much."""
    rows: list[dict[int, fmpq]] = [{} for _ in range(P.shape[0])]
    entries: Any = scipy.sparse.coo_array(P) if scipy.sparse.issparse(P) else None
    places, values = (P.nonzero(), P[P.nonzero()]) if entries is None else (entries.coords, entries.data)
    for i, j, value in zip(*(place.tolist() for place in places), values.tolist(), strict=True):
        rows[i][j] = fmpq(*value.as_integer_ratio())
    remaining = set(range(len(rows)))
    cost = 0
    while remaining:
        pivot = min(remaining, key=lambda i: len(rows[i]))
        row = rows[pivot]
        value = row.get(pivot, fmpq(0))
        remaining.discard(pivot)
        if value < 0:
            return False
        neighbours = [(j, entry) for j, entry in row.items() if j != pivot]
        if value == 0:
            if neighbours:
                return False
            continue
        words = 1 + max(entry.p.bit_length() + entry.q.bit_length() for entry in row.values()) // 64
        cost += len(neighbours) ** 2 * words
        if cost > MAX_EXACT_COST:
            return None
        for i, entry in neighbours:
            target, factor = rows[i], entry / value
            del target[pivot]
            for j, value_j in neighbours:
                changed = target.get(j, fmpq(0)) - factor * value_j
                if changed == 0:
                    target.pop(j, None)
                else:
                    target[j] = changed
    return True
