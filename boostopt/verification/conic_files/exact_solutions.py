"""Solutions of sparse equations in fractions, near a point, by changes of few unknowns that may change most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from flint import fmpq

from boostopt._utils.array_types import Array, Float, Int
from boostopt.conic_programs.exact.dixon_lifting import ExactSystem, SingularSystemError
from boostopt.conic_programs.exact.rationals import to_fmpq, to_fraction

MAX_DENSE_WORK = 3e10
"""Number of rows, squared, times the number of unknowns, up to which unknowns are chosen: some seconds."""

MIN_PIVOT = 1e-9
"""Pivot, relative to the largest one, below which a row counts as one that follows from others."""

ToFraction = Callable[[float], Fraction]


def solution_near(
    A: Any, sides: Sequence[Fraction], start: Sequence[Fraction], sizes: Float[Array, " n"], to_fraction_of: ToFraction
) -> list[Fraction] | None:
    """Return a solution of A x = b in fractions near a start; None if none is computed.

    Rows that follow from others in floats are left out: the caller checks all of them.

    Parameters
    ----------
    A
        Sparse, shape (m, n).
    sides
        The right sides b.
    start
        The point.
    sizes
        By about how much each unknown may change; 0 if it may not.
    to_fraction_of
        The rational number that an entry of A means.
    """
    rows: Any = scipy.sparse.csr_array(A)
    residual = [side - value for side, value in zip(sides, exact_products(rows, start, to_fraction_of), strict=True)]
    if not any(residual):
        return list(start)
    unknowns = np.flatnonzero(sizes > 0)
    part: Any = scipy.sparse.csc_array(scipy.sparse.csc_array(rows)[:, unknowns])
    if part.shape[0] ** 2 * part.shape[1] > MAX_DENSE_WORK:
        return None
    basis = _square_part(part @ scipy.sparse.diags_array(sizes[unknowns]))
    if basis is None:
        return None
    chosen_rows, places = basis
    position = {int(i): k for k, i in enumerate(chosen_rows)}
    columns = list[dict[int, fmpq]]()
    for place in places.tolist():
        entries = slice(part.indptr[place], part.indptr[place + 1])
        pairs = zip(part.indices[entries].tolist(), part.data[entries].tolist(), strict=True)
        columns.append({position[i]: to_fmpq(to_fraction_of(value)) for i, value in pairs if i in position})
    try:
        changes = ExactSystem(columns).solve([to_fmpq(residual[int(i)]) for i in chosen_rows])
    except SingularSystemError:
        return None
    solution = list(start)
    for place, change in zip(places.tolist(), changes, strict=True):
        solution[int(unknowns[place])] += to_fraction(change)
    return solution


def exact_products(A: Any, x: Sequence[Fraction], to_fraction_of: ToFraction) -> list[Fraction]:
    """Return A x in fractions, for a matrix in compressed rows."""
    results = list[Fraction]()
    for i in range(A.shape[0]):
        part = slice(A.indptr[i], A.indptr[i + 1])
        pairs = zip(A.indices[part].tolist(), A.data[part].tolist(), strict=True)
        results.append(sum((to_fraction_of(value) * x[j] for j, value in pairs if x[j]), Fraction(0)))
    return results


def _square_part(A: Any) -> tuple[Int[Array, " k"], Int[Array, " k"]] | None:
    """Return rows and columns of a nonsingular part of the rank of a matrix; None if there is none.

    Columns with large entries come first.
    """
    dense = np.asarray(A.toarray())
    scales = np.abs(dense).max(axis=1, initial=0.0)
    if not dense.size or not np.isfinite(dense).all() or not scales.any():
        return None
    dense = dense / np.where(scales > 0, scales, 1.0)[:, None]
    columns = _pivots(dense)
    rows = _pivots(dense[:, columns].T)
    return (np.sort(rows), columns) if len(rows) == len(columns) else None


def _pivots(matrix: Any) -> Int[Array, " k"]:
    """Return independent columns, by a factorization with pivots."""
    triangle, order = scipy.linalg.qr(matrix, mode="r", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(triangle))
    rank = int((diagonal > MIN_PIVOT * diagonal.max(initial=0.0)).sum())
    return np.asarray(order[:rank])
