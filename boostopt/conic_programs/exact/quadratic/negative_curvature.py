"""A proof that a symmetric matrix is positive semidefinite, or a direction in which it is not.

A large principal part is proved positive definite by Cholesky's method in floats, with a bound of its rounding errors.
The rest is eliminated in rational numbers.

References
----------
Rump 2006, "Verification of positive definiteness", BIT Numerical Mathematics 46.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph
from flint import fmpq

from boostopt._utils.array_types import Array, Float, Int
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.dixon_lifting import ExactSystem
from boostopt.conic_programs.exact.rationals import to_fmpq, to_fraction

RANK_TOLERANCES = (1e-9, 1e-6, 1e-3, 2.0)
"""Pivots of the scaled matrix below are eliminated in rational numbers; the last number is above every pivot."""

MAX_SHORT_BITS = 24
"""Largest number of digits of the entries of a direction that is tried as a short one."""

MAX_SCALED_ENTRY = 1e100
"""Largest scaled entry of a matrix that is examined in floats: those of a semidefinite matrix are below 4."""


def is_convex(program: ConicProgram) -> bool:
    """Return whether the objective of a program is proved convex."""
    return program.P is None or negative_direction(program.P, program.to_fraction) is None


def negative_direction(P: Any, to_fraction: Callable[[float], Fraction]) -> tuple[Fraction, ...] | None:
    """Return v with <v, P v> < 0, or None: then no v is one, which is proved.

    Parameters
    ----------
    P
        Symmetric sparse matrix of shape (n, n).
    to_fraction
        The rational number that an entry means.
    """
    n = P.shape[0]
    rows: Any = scipy.sparse.csr_array(P)
    n_parts, part_of = scipy.sparse.csgraph.connected_components(rows, directed=False)
    order = np.argsort(part_of, kind="stable")
    diagonal, counts = rows.diagonal(), np.diff(rows.indptr)
    for places in np.split(order, np.cumsum(np.bincount(part_of, minlength=n_parts))[:-1]):
        if len(places) == 1 and counts[places[0]] <= 1 and diagonal[places[0]] >= 0.0:
            continue
        v = _negative_direction_of_part(rows[places][:, places], to_fraction)
        if v is not None:
            direction = [Fraction(0)] * n
            for place, number in zip(places.tolist(), v, strict=True):
                direction[place] = number
            return tuple(direction)
    return None


def curvature(P: Any, v: tuple[Fraction, ...], to_fraction: Callable[[float], Fraction]) -> Fraction:
    """Return <v, P v>."""
    entries = P.tocoo()
    return sum(
        (
            to_fraction(entry) * v[i] * v[j]
            for i, j, entry in zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
            if v[i] and v[j]
        ),
        Fraction(0),
    )


def _negative_direction_of_part(part: Any, to_fraction: Callable[[float], Fraction]) -> list[Fraction] | None:
    floats = part.toarray()
    diagonal = np.diagonal(floats)
    exponents = np.frexp(np.where(diagonal > 0.0, diagonal, 1.0))[1] // 2
    with np.errstate(over="ignore"):
        scaled = np.ldexp(floats, -exponents[:, None] - exponents[None, :])
    numbers: dict[tuple[int, int], fmpq] = {}
    entries, has_accurate_floats = part.tocoo(), True
    fractions = {entry: to_fraction(entry) for entry in set(entries.data.tolist())}
    rationals = {entry: to_fmpq(fraction) for entry, fraction in fractions.items()}
    for i, j, entry in zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True):
        fraction = fractions[entry]
        numbers[i, j] = rationals[entry]
        # A subnormal float has few digits: its shortest decimal may be another number by more than a last digit.
        has_accurate_floats &= abs(entry) >= sys.float_info.min or fraction == Fraction(entry)
    if not has_accurate_floats or np.abs(scaled).max() > MAX_SCALED_ENTRY:
        return _eliminate(numbers, len(floats), np.zeros(0, dtype=np.int64))
    for tolerance in RANK_TOLERANCES:
        definite = _independent_places(scaled, tolerance)
        if _is_positive_definite(scaled[np.ix_(definite, definite)]):
            break
    else:
        definite = np.zeros(0, dtype=np.int64)
    if len(definite) == len(floats):
        return None
    _, vectors = np.linalg.eigh(scaled)
    v = _short_multiple(numbers, np.ldexp(vectors[:, 0], -exponents).tolist())
    return v if v is not None else _eliminate(numbers, len(floats), definite)


def _independent_places(scaled: Float[Array, "n n"], tolerance: float) -> Int[Array, " k"]:
    """Return the places of the pivots of Cholesky's method that are above the tolerance."""
    lapack: Any = scipy.linalg.lapack
    _, order, rank, _ = lapack.dpstrf(scaled, tol=tolerance, lower=1)
    return np.sort(order[:rank] - 1) if (np.diagonal(scaled) > tolerance).any() else np.zeros(0, dtype=np.int64)


def _is_positive_definite(matrix: Float[Array, "k k"]) -> bool:
    """Return whether the matrix, and each one whose entries differ by the last digit, is proved positive definite.

    If Cholesky's method finds a factor in floats, the smallest eigenvalue is at least -(k + 1) u trace /
    (1 - (k + 1) u) with u = 2^-53. Other last digits change it by at most u times the largest sum of a row.
    """
    k = len(matrix)
    if not k:
        return True
    trace, largest_sum = float(np.diagonal(matrix).sum()), float(np.abs(matrix).sum(axis=1).max())
    shift = 2.0**-52 * ((k + 4) * trace + 2.0 * largest_sum)  # twice as much, for the rounding of these numbers
    try:
        np.linalg.cholesky(matrix - shift * np.identity(k))
    except np.linalg.LinAlgError:
        return False
    return True


def _eliminate(numbers: dict[tuple[int, int], fmpq], n: int, definite: Int[Array, " k"]) -> list[Fraction] | None:
    """Return a direction for the matrix whose principal part `definite` is positive definite, or None."""
    first = definite.tolist()
    last = sorted({*range(n)} - {*first})
    place = {j: k for k, j in enumerate(first)}
    columns = [dict[int, fmpq]() for _ in first]
    sides = {j: [fmpq(0)] * len(first) for j in last}
    for (i, j), number in numbers.items():
        if i in place:
            if j in place:
                columns[place[j]][place[i]] = number
            else:
                sides[j][place[i]] = number
    system = ExactSystem(columns) if first and last else None
    solutions = {j: system.solve(sides[j]) if system is not None else [] for j in last}
    size = len(last)
    complement = [[numbers.get((i, j), fmpq(0)) for j in last] for i in last]
    for row, i in enumerate(last):
        side = [(k, value) for k, value in enumerate(sides[i]) if value != 0]
        for column, j in enumerate(last):
            complement[row][column] -= sum((value * solutions[j][k] for k, value in side), fmpq(0))
    u = _direction_of_dense(complement, size)
    if u is None:
        return None
    v = [fmpq(0)] * n
    for j, number in zip(last, u, strict=True):
        v[j] = number
        for k, value in zip(first, solutions[j], strict=True):
            v[k] -= number * value
    return _short_direction(numbers, v)


def _direction_of_dense(matrix: list[list[fmpq]], n: int) -> list[fmpq] | None:
    """Return u with <u, matrix u> < 0 by elimination of pivots that are positive, or None."""
    rows = [list(row) for row in matrix]
    factors: list[tuple[int, list[fmpq]]] = []
    remaining = set(range(n))
    while remaining:
        pivot = max(remaining, key=lambda k: rows[k][k])
        u = [fmpq(0)] * n
        smallest = min(remaining, key=lambda k: rows[k][k])
        if rows[smallest][smallest] < 0:
            u[smallest] = fmpq(1)
            return _undo(u, factors)
        zero = next((k for k in remaining if rows[k][k] == 0 and any(rows[k][j] != 0 for j in remaining)), None)
        if zero is not None:
            j = next(j for j in remaining if rows[zero][j] != 0)
            u[j], u[zero] = fmpq(1), -(rows[j][j] + 1) / (2 * rows[zero][j])
            return _undo(u, factors)
        if rows[pivot][pivot] == 0:
            return None
        remaining.discard(pivot)
        ratios = [rows[pivot][j] / rows[pivot][pivot] if j in remaining else fmpq(0) for j in range(n)]
        factors.append((pivot, ratios))
        for i in remaining:
            if ratios[i] != 0:
                for j in remaining:
                    rows[i][j] -= ratios[i] * rows[pivot][j]
    return None


def _undo(u: list[fmpq], factors: list[tuple[int, list[fmpq]]]) -> list[fmpq]:
    """Return the direction whose components along earlier pivots make the mixed terms zero."""
    for pivot, ratios in reversed(factors):
        u[pivot] = -sum((ratio * value for ratio, value in zip(ratios, u, strict=True) if value != 0), fmpq(0))
    return u


def _short_direction(numbers: dict[tuple[int, int], fmpq], v: list[fmpq]) -> list[Fraction]:
    """Return the direction with as few digits as its curvature permits, its largest entry about 1."""
    exact = list(map(to_fraction, v))
    return _short_multiple(numbers, exact) or exact


def _short_multiple(numbers: dict[tuple[int, int], fmpq], v: Sequence[Fraction | float]) -> list[Fraction] | None:
    """Return a multiple of the direction with few digits that has negative curvature, or None."""
    largest = max(abs(value) for value in v)
    for bits in range(3, MAX_SHORT_BITS, 3):
        short = [Fraction(round(value / largest * 2**bits), 2**bits) for value in v]
        rational = list(map(to_fmpq, short))
        if sum((number * rational[i] * rational[j] for (i, j), number in numbers.items()), fmpq(0)) < 0:
            return short
    return None
