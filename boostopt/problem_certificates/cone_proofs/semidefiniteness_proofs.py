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
from boostopt.problem_certificates.arithmetic.sparse_float_forms import entry_rows, product
from boostopt.problem_certificates.cone_proofs.cone_membership import smallest_eigenvalue_bound

MAX_BLOCK = 4000
"""Number of rows of a block up to which its eigenvalues are bounded."""

MAX_EIGENVECTOR_SIZE = 1000
"""Number of rows of a block up to which a direction of negative curvature is looked for."""

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
    n = P.shape[0]
    diagonal = P.diagonal()
    _, labels = scipy.sparse.csgraph.connected_components(P, directed=False)
    is_alone = np.bincount(labels)[labels] == 1
    excess = _dominance(P, labels)
    shifts = -np.where(is_alone, diagonal, excess)
    is_nonconvex = bool((diagonal[is_alone] < 0).any())
    places = np.flatnonzero(~is_alone & (np.bincount(labels, excess < 0) > 0)[labels])
    order = places[np.argsort(labels[places], kind="stable")]
    blocks = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []
    for block in blocks:
        part: Any = P if len(block) == n else scipy.sparse.csr_array(P[block][:, block])
        shift = -smallest_eigenvalue_bound(part.toarray()) if len(block) <= MAX_BLOCK else np.inf
        if shift > 0 and is_negative(part):
            is_nonconvex = True
        elif shift > 0 and not is_bounded[block].all():
            flag = _semidefinite_in_fractions(part)
            is_nonconvex = is_nonconvex or flag is False
            shift = 0.0 if flag else shift
        shifts[block] = shift
    return shifts, is_nonconvex


def is_negative(P: Any) -> bool:
    """Return whether a direction is proved to have a negative value of the quadratic form."""
    if P.shape[0] > MAX_EIGENVECTOR_SIZE:
        return False
    values, vectors = scipy.linalg.eigh(P.toarray(), subset_by_index=[0, 0])
    v = vectors[:, 0]
    slopes, errors = product(P, None, (v, np.zeros(len(v))))
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
    rows: list[dict[int, fmpq]] = []
    for i in range(P.shape[0]):
        part = slice(P.indptr[i], P.indptr[i + 1])
        values = [value.as_integer_ratio() for value in P.data[part].tolist()]
        rows.append({j: fmpq(*pair) for j, pair in zip(P.indices[part].tolist(), values, strict=True)})
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
