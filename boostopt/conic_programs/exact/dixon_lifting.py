"""A square sparse system of rational numbers, solved exactly for many right-hand sides.

The bases of linear programs are nearly triangular: rows and columns with a single entry are eliminated first, one after
the other. What remains, the nucleus, is solved as a dense system by the p-adic lifting of Dixon, or, where it is large,
with sparse factors in floats (`sparse_solution`).

References
----------
Dixon 1982, "Exact solution of linear equations using p-adic expansions", Numerische Mathematik 40; FLINT's
`fmpq_mat_solve_dixon`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from flint import fmpq, fmpq_mat

from boostopt.conic_programs.exact.sparse_solution import (
    FloatFactors,
    SparseSystem,
    Triple,
    solve_whole_numbers,
    system_of_whole_numbers,
)
from boostopt.conic_programs.exact.work_limit import count_work

MIN_SPARSE_SIZE = 250
"""Smallest nucleus that is solved with factors in floats first."""

WORD = 64
"""Number of binary digits of a number of the machine."""

Column = Mapping[int, fmpq]
"""Nonzero entries of a column by their rows."""


class SingularSystemError(ArithmeticError):
    """The matrix of a system is singular."""


class ExactSystem:
    """B z = b and Bᵀ y = c with a square matrix B of rational numbers.

    Parameters
    ----------
    columns
        The columns of B; rows are numbered from 0 to the number of columns - 1.

    Raises
    ------
    SingularSystemError
        The elimination of single entries shows that B is singular; `solve` and `solve_transposed` raise it for the
        nucleus.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns: Sequence[Column] = columns
        self._rows: list[dict[int, fmpq]] = [{} for _ in columns]
        for j, column in enumerate(columns):
            for i, entry in column.items():
                self._rows[i][j] = entry
        elimination = _Elimination(columns, self._rows)
        self._first: list[tuple[int, int]] = elimination.first
        self._last: list[tuple[int, int]] = elimination.last
        self._nucleus_rows: list[int] = elimination.remaining_rows
        self._nucleus_columns: list[int] = elimination.remaining_columns
        self._solvers: dict[bool, _NucleusSolver] = {}

    @property
    def nucleus_size(self) -> int:
        """Number of rows of the dense system that remains."""
        return len(self._nucleus_rows)

    def solve(self, b: Sequence[fmpq]) -> list[fmpq]:
        """Return z with B z = b."""
        remainder, z = list(b), [fmpq(0)] * len(b)

        def assign(j: int, value: fmpq) -> None:
            z[j] = value
            if value != 0:
                for i, entry in self._columns[j].items():
                    remainder[i] -= entry * value

        for i, j in self._first:
            assign(j, remainder[i] / self._rows[i][j])
        nucleus_solution = self._solver(is_transposed=False).solve([remainder[i] for i in self._nucleus_rows])
        for j, value in zip(self._nucleus_columns, nucleus_solution, strict=True):
            assign(j, value)
        for i, j in reversed(self._last):
            assign(j, remainder[i] / self._rows[i][j])
        count_work(_number_of_digits(z))
        return z

    def solve_transposed(self, c: Sequence[fmpq]) -> list[fmpq]:
        """Return y with Bᵀ y = c."""
        remainder, y = list(c), [fmpq(0)] * len(c)

        def assign(i: int, value: fmpq) -> None:
            y[i] = value
            if value != 0:
                for j, entry in self._rows[i].items():
                    remainder[j] -= entry * value

        for i, j in self._last:
            assign(i, remainder[j] / self._rows[i][j])
        right_side = [remainder[j] for j in self._nucleus_columns]
        nucleus_solution = self._solver(is_transposed=True).solve(right_side)
        for i, value in zip(self._nucleus_rows, nucleus_solution, strict=True):
            assign(i, value)
        for i, j in reversed(self._first):
            assign(i, remainder[j] / self._rows[i][j])
        count_work(_number_of_digits(y))
        return y

    def _solver(self, is_transposed: bool) -> _NucleusSolver:
        if is_transposed not in self._solvers:
            self._solvers[is_transposed] = _NucleusSolver(self.nucleus_size, self._nucleus_triples(is_transposed))
        return self._solvers[is_transposed]

    def _nucleus_triples(self, is_transposed: bool) -> list[Triple]:
        """Return the places and entries of the nucleus, or of its transpose."""
        position = {i: k for k, i in enumerate(self._nucleus_rows)}
        triples = [
            (position[i], k, entry)
            for k, j in enumerate(self._nucleus_columns)
            for i, entry in self._columns[j].items()
            if i in position and entry != 0
        ]
        return [(k, i, entry) for i, k, entry in triples] if is_transposed else triples


def _number_of_digits(values: Sequence[fmpq]) -> int:
    """Return the number of digits of denominators, and a word for each of the values."""
    return sum(int(value.q).bit_length() for value in values) + WORD * len(values)


class _NucleusSolver:
    """Solves the nucleus: with factors in floats where it is large and they are accurate, else as a dense system."""

    def __init__(self, size: int, triples: list[Triple]) -> None:
        self._size, self._triples = size, triples
        self._dense: Any = None
        self._sparse: tuple[SparseSystem, FloatFactors] | None = None
        if size >= MIN_SPARSE_SIZE:
            system = system_of_whole_numbers(size, triples)
            with contextlib.suppress(ArithmeticError, OverflowError):  # then the dense system is solved
                self._sparse = system, FloatFactors(system)

    def solve(self, right_side: list[fmpq]) -> list[fmpq]:
        if not right_side:
            return []
        if self._sparse is not None:
            solution = solve_whole_numbers(*self._sparse, right_side)
            if solution is not None:
                return solution
            self._sparse = None
        if self._dense is None:
            entries = [fmpq(0)] * self._size**2
            for i, k, entry in self._triples:
                entries[i * self._size + k] = entry
            self._dense = fmpq_mat(self._size, self._size, entries)
        return _solve_dense(self._dense, right_side)


def _solve_dense(matrix: Any, right_side: list[fmpq]) -> list[fmpq]:
    try:
        solution = matrix.solve(fmpq_mat(len(right_side), 1, right_side), algorithm="dixon")
    except ZeroDivisionError:
        raise SingularSystemError(f"the nucleus of {len(right_side)} rows is singular") from None
    return [solution[k, 0] for k in range(len(right_side))]


class _Elimination:
    """The order in which rows and columns with a single entry leave the system.

    Attributes
    ----------
    first
        Pairs (i, j): when it is their turn, column j is the only one left in row i. z_j follows from row i.
    last
        Pairs (i, j): row i is the only one left in column j. z_j follows from row i after all others.
    remaining_rows, remaining_columns
        The nucleus.
    """

    def __init__(self, columns: Sequence[Column], rows: Sequence[Column]) -> None:
        self.first: list[tuple[int, int]] = []
        self.last: list[tuple[int, int]] = []
        self._columns, self._rows = columns, rows
        self._row_counts, self._column_counts = [len(row) for row in rows], [len(column) for column in columns]
        self._open_rows, self._open_columns = set(range(len(rows))), set(range(len(columns)))
        self._single = [(True, i) for i, count in enumerate(self._row_counts) if count == 1]
        self._single += [(False, j) for j, count in enumerate(self._column_counts) if count == 1]
        while self._single:
            is_row, index = self._single.pop()
            if is_row and index in self._open_rows and self._row_counts[index] == 1:
                column = next(j for j in rows[index] if j in self._open_columns)
                self.first.append((index, column))
                self._remove(index, column)
            elif not is_row and index in self._open_columns and self._column_counts[index] == 1:
                row = next(i for i in columns[index] if i in self._open_rows)
                self.last.append((row, index))
                self._remove(row, index)
        self.remaining_rows: list[int] = sorted(self._open_rows)
        self.remaining_columns: list[int] = sorted(self._open_columns)
        empty_rows = [i for i in self.remaining_rows if not self._row_counts[i]]
        if empty_rows or any(not self._column_counts[j] for j in self.remaining_columns):
            raise SingularSystemError("a row or a column of the nucleus is empty")

    def _remove(self, row: int, column: int) -> None:
        self._open_rows.discard(row)
        self._open_columns.discard(column)
        for j in self._rows[row]:
            if j in self._open_columns:
                self._column_counts[j] -= 1
                if self._column_counts[j] == 1:
                    self._single.append((False, j))
        for i in self._columns[column]:
            if i in self._open_rows:
                self._row_counts[i] -= 1
                if self._row_counts[i] == 1:
                    self._single.append((True, i))
