"""Proofs that a sparse symmetric matrix is positive semidefinite: by its diagonal, or by elimination."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from boostopt.verification.problem_kernel.rationals_and_balls import to_ball
from boostopt.verification.trusted_kernel.json_parsing import SizeLimit

MAX_PRODUCTS = 20_000_000
"""Number of products of an elimination, times the words of their digits: minutes of the checker."""

WORD = 64
"""Number of binary digits of a number of the machine."""

Row = Mapping[int, Fraction]


def is_semidefinite_form(rows: Sequence[Row], shifts: Sequence[Fraction] | None = None) -> bool:
    """Return whether a symmetric matrix plus a diagonal one is proved positive semidefinite.

    Parameters
    ----------
    rows
        The entries of each row by the number of the column, in both triangles.
    shifts
        The diagonal matrix; None for zeros.

    Raises
    ------
    SizeLimit
        The elimination takes too many products.
    """
    shifted = [dict(row) for row in rows]
    for i, shift in enumerate(shifts or ()):
        if shift:
            shifted[i][i] = shifted[i].get(i, Fraction(0)) + shift
    part = [i for i, row in enumerate(shifted) if not _is_dominant(i, row)]
    if not part:
        return True
    # A part that no other row touches stands by itself; rows that dominate are eliminated with the rows they touch.
    component, queue = set(part), list(part)
    while queue:
        for j in shifted[queue.pop()]:
            if j not in component:
                component.add(j)
                queue.append(j)
    fractions = {i: {j: entry for j, entry in shifted[i].items() if entry} for i in sorted(component)}
    balls = {i: {j: to_ball(entry) for j, entry in row.items()} for i, row in fractions.items()}
    return _has_pivots(balls) or _has_pivots(fractions)


def _is_dominant(i: int, row: Row) -> bool:
    """Return whether the diagonal entry of a row is at least the sum of the sizes of the others."""
    return row.get(i, 0) >= sum(abs(entry) for j, entry in row.items() if j != i)


def _has_pivots(matrix: dict[int, dict[int, Any]]) -> bool:
    """Return whether all pivots are proved positive, or 0 with their rows; the rows change in place."""
    n_products = 0
    lengths = [(len(row), i) for i, row in matrix.items()]
    heapq.heapify(lengths)
    while matrix:
        length, pivot = heapq.heappop(lengths)
        if pivot not in matrix or len(matrix[pivot]) != length:
            continue  # the row has changed since then
        row = matrix.pop(pivot)
        value = row.pop(pivot, Fraction(0))
        if not value > 0:
            if row or not value == 0:
                return False
            continue
        n_products += len(row) ** 2 * _words(value)
        if n_products > MAX_PRODUCTS:
            raise SizeLimit(f"the proof that P is positive semidefinite takes more than {MAX_PRODUCTS:,} products")
        for i, entry in row.items():
            target, factor = matrix[i], entry / value
            del target[pivot]
            for j, entry_j in row.items():
                difference = target[j] - factor * entry_j if j in target else -factor * entry_j
                if isinstance(difference, Fraction) and not difference:
                    target.pop(j, None)
                else:
                    target[j] = difference
            heapq.heappush(lengths, (len(target), i))
    return True


def _words(value: Any) -> int:
    """Return the words of a fraction; a ball counts as one with few."""
    if not isinstance(value, Fraction):
        return 1
    return 1 + (value.denominator.bit_length() + value.numerator.bit_length()) // WORD
