"""A square sparse system of rational numbers, solved exactly for many right-hand sides.

The bases of linear programs are nearly triangular: rows and columns with a single entry are eliminated first, one after
the other. What remains, the nucleus, is solved as a dense system by the p-adic lifting of Dixon.

References
----------
Dixon 1982, "Exact solution of linear equations using p-adic expansions", Numerische Mathematik 40; FLINT's
`fmpq_mat_solve_dixon`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flint import fmpq, fmpq_mat

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
        self._nucleus: fmpq_mat = self._dense_nucleus()

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
        nucleus_solution = _solve_dense(self._nucleus, [remainder[i] for i in self._nucleus_rows])
        for j, value in zip(self._nucleus_columns, nucleus_solution, strict=True):
            assign(j, value)
        for i, j in reversed(self._last):
            assign(j, remainder[i] / self._rows[i][j])
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
        for i, value in zip(self._nucleus_rows, _solve_dense(self._nucleus.transpose(), right_side), strict=True):
            assign(i, value)
        for i, j in reversed(self._first):
            assign(i, remainder[j] / self._rows[i][j])
        return y

    def _dense_nucleus(self) -> fmpq_mat:
        size, position = self.nucleus_size, {i: k for k, i in enumerate(self._nucleus_rows)}
        entries = [fmpq(0)] * size**2
        for k, j in enumerate(self._nucleus_columns):
            for i, entry in self._columns[j].items():
                if i in position:
                    entries[position[i] * size + k] = entry
        return fmpq_mat(size, size, entries)


def _solve_dense(matrix: Any, right_side: list[fmpq]) -> list[fmpq]:
    if not right_side:
        return []
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
