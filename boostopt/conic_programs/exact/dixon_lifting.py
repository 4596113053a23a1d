"""A square sparse system of rational numbers, solved exactly for many right-hand sides.

The bases of linear programs are nearly triangular: rows and columns with a single entry are eliminated first, one after
the other. The others, the nucleus, are divided into the blocks of its block triangular form. Each is solved as a dense
system by the p-adic lifting of Dixon, or, if it is large, with sparse factors in floats (`rational_sparse_systems`).

References
----------
Dixon 1982, "Exact solution of linear equations using p-adic expansions", Numerische Mathematik 40; FLINT's
`fmpq_mat_solve_dixon`.

Pothen, Fan 1990, "Computing the block triangular form of a sparse matrix", ACM Transactions on Mathematical Software
16.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from flint import fmpq, fmpq_mat

from boostopt.conic_programs.exact.rational_sparse_systems import (
    FloatFactors,
    SparseSystem,
    Triple,
    solve_whole_numbers,
    system_of_whole_numbers,
)
from boostopt.conic_programs.exact.work_limit import check_work, count_work, is_granted

MIN_SPARSE_SIZE = 250
"""Smallest block that is solved with factors in floats first."""

MIN_SHORT_SIZE, MAX_SHORT_DIGITS = 60, 8
"""The same for blocks whose determinant has at most so many binary digits for each row: the first is the size."""

DENSE_SIZE = 100
"""Number of rows of a dense block from which on a digit takes more time in proportion to their number."""

MAX_ELIMINATION_SIZE = 16
"""Number of rows up to which elimination without fractions takes less time than lifting.

It also takes less than finding blocks, unless the right side is long.
"""

MIN_DIVISIBLE_SIZE = 4
"""Number of rows of a nucleus below which it has one block: the first and the last of several have two rows each."""

MIN_LONG_DIGITS = 2_000
"""Number of digits of all numbers of a right side from which a small nucleus is divided, and the side is made whole."""

NUMERATOR_WEIGHT = 1 / 16
"""Weight of the digits of numerators among these: they are not multiplied with each other, as denominators are."""

WORK_SHARE = 0.5
"""The digits of a solution as a share of Hadamard's bound, which few matrices reach."""

WORD = 64
"""Number of binary digits of a number of the machine."""

ZERO = fmpq(0)
"""The number 0, which is not made anew for each variable."""

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
        nucleus = elimination.remaining_rows, elimination.remaining_columns
        size = len(nucleus[0])
        self._blocks: list[_Block] = [nucleus] if size else []
        self._solvers: dict[tuple[int, bool], _BlockSolver] = {}
        self._may_have_blocks = size >= MIN_DIVISIBLE_SIZE
        if size > MAX_ELIMINATION_SIZE:
            self._divide_nucleus()

    @property
    def nucleus_size(self) -> int:
        """Number of rows that remain after the elimination."""
        return sum(len(rows) for rows, _ in self._blocks)

    @cached_property
    def n_expected_digits(self) -> float:
        """Number of binary digits that the solution of the nucleus is expected to have."""
        return sum(size * solver.n_expected_digits for size, solver in self._long_solvers())

    def needs_more_digits(self, n_digits: float) -> bool:
        """Return whether the solution of the nucleus is expected to have more than so many binary digits."""
        is_short = sum(size * solver.max_digits for size, solver in self._long_solvers()) <= n_digits
        return not is_short and self.n_expected_digits > n_digits

    def _long_solvers(self) -> Iterator[tuple[int, _BlockSolver]]:
        """Yield the number of rows and the solver of each block of several rows."""
        sizes = ((k, len(rows)) for k, (rows, _) in enumerate(self._blocks))
        yield from ((size, self._solver(k, is_transposed=False)) for k, size in sizes if size > 1)

    def solve(self, b: Sequence[fmpq], n_digits: int | None = None) -> list[fmpq]:
        """Return z with B z = b; numbers near it where a number of binary digits after the point is given."""
        return self._substitute(self._columns, self._first, reversed(self._last), b, n_digits, is_transposed=False)

    def solve_transposed(self, c: Sequence[fmpq], n_digits: int | None = None) -> list[fmpq]:
        """Return y with Bᵀ y = c, or numbers near it as `solve`."""
        last, first = ([(j, i) for i, j in pairs] for pairs in (self._last, reversed(self._first)))
        return self._substitute(self._rows, last, first, c, n_digits, is_transposed=True)

    def _substitute(
        self,
        columns: Sequence[Column],
        first: Iterable[tuple[int, int]],
        last: Iterable[tuple[int, int]],
        right_side: Sequence[fmpq],
        n_digits: int | None,
        is_transposed: bool,
    ) -> list[fmpq]:
        """Return the solution by pairs of a row and a column, by blocks, and by further pairs, one after the other."""
        remainder, z = list(right_side), [ZERO] * len(right_side)

        def assign(pairs: Iterable[tuple[int, fmpq]]) -> None:
            for j, value in pairs:
                if value:
                    z[j] = number = value if n_digits is None else _round_down(value, n_digits)
                    for i, entry in columns[j].items():
                        remainder[i] -= entry * number

        assign((j, remainder[i] / columns[j][i]) for i, j in first if remainder[i])
        side = 1 if is_transposed else 0
        if self._may_have_blocks and _has_long_denominators([remainder[i] for i in self._blocks[0][side]]):
            self._divide_nucleus()
        order = range(len(self._blocks))
        for k in reversed(order) if is_transposed else order:
            rows, unknowns = self._blocks[k][side], self._blocks[k][1 - side]
            values = self._solver(k, is_transposed).solve([remainder[i] for i in rows], n_digits)
            assign(zip(unknowns, values, strict=True))
        assign((j, remainder[i] / columns[j][i]) for i, j in last if remainder[i])
        count_work(_number_of_digits(z))
        return z

    def _divide_nucleus(self) -> None:
        """Divide the nucleus, which is one block, into its blocks."""
        self._may_have_blocks = False
        blocks = _triangular_blocks(*self._blocks[0], self._rows)
        if len(blocks) > 1:
            self._blocks = blocks
            self._solvers.clear()

    def _solver(self, k: int, is_transposed: bool) -> _BlockSolver:
        if (k, is_transposed) not in self._solvers:
            rows, columns = self._blocks[k]
            triples = self._triples(rows, columns)
            if is_transposed:
                triples = [(j, i, entry) for i, j, entry in triples]
            twin = self._solvers.get((k, not is_transposed))
            self._solvers[k, is_transposed] = _BlockSolver(len(rows), triples, twin)
        return self._solvers[k, is_transposed]

    def _triples(self, rows: list[int], columns: list[int]) -> list[Triple]:
        """Return the places and entries of a block."""
        position = {i: k for k, i in enumerate(rows)}
        return [
            (position[i], k, entry)
            for k, j in enumerate(columns)
            for i, entry in self._columns[j].items()
            if i in position and entry != 0
        ]


_Block = tuple[list[int], list[int]]
"""Rows and columns of a square block."""


def _triangular_blocks(rows: list[int], columns: list[int], entries: Sequence[Column]) -> list[_Block]:
    """Return the blocks of the nucleus, each after those whose columns its rows have.

    Raises
    ------
    SingularSystemError
        Rows and columns have no matching: every matrix with these places is singular.
    """
    size, position = len(rows), {j: k for k, j in enumerate(columns)}
    pattern = [[position[j] for j, entry in entries[i].items() if j in position and entry != 0] for i in rows]
    pointers = np.concatenate([[0], np.cumsum([len(places) for places in pattern])])
    places = np.array([k for row in pattern for k in row], dtype=np.int32)
    graph: Any = scipy.sparse.csr_matrix((np.ones(len(places)), places, pointers), shape=(size, size))
    partner = _perfect_matching(pattern)
    if partner is None:
        raise SingularSystemError("the nucleus has no matching of its rows and columns")
    row_of_column = np.empty(size, dtype=np.int32)
    row_of_column[partner] = np.arange(size)
    permuted: Any = scipy.sparse.csr_matrix((graph.data, row_of_column[places], pointers), shape=(size, size))
    n_blocks, labels = scipy.sparse.csgraph.connected_components(permuted, connection="strong")
    if n_blocks == 1:
        return [(rows, columns)]
    block_of_column = labels[row_of_column].tolist()
    blocks: list[_Block] = [([], []) for _ in range(n_blocks)]
    predecessors: dict[int, set[int]] = {k: set() for k in range(n_blocks)}
    for row, places_of_row, column, label in zip(rows, pattern, partner, labels.tolist(), strict=True):
        blocks[label][0].append(row)
        blocks[label][1].append(columns[column])
        predecessors[label].update(block_of_column[k] for k in places_of_row)
    for k, blocks_before in predecessors.items():
        blocks_before.discard(k)
    return [blocks[k] for k in TopologicalSorter(predecessors).static_order()]


def _perfect_matching(rows: Sequence[Sequence[int]]) -> list[int] | None:
    """Return a column with an entry for each row, all of them different; None if there are none.

    This is algorithm 575 of Duff (1981): `maximum_bipartite_matching` of SciPy 1.17 does not end in minutes on some
    matrices of 2,000 rows.

    Parameters
    ----------
    rows
        The columns of the entries of each row, of a square matrix.
    """
    size = len(rows)
    column_of_row, row_of_column = [-1] * size, [-1] * size
    n_matched = [0] * size  # the first columns of each row that have rows, and keep some row
    last_root = [-1] * size  # the last row from which each column was reached
    for root in range(size):
        path, places, column = [root], [0], -1
        while path and column < 0:
            row = path[-1]
            entries = rows[row]
            while n_matched[row] < len(entries) and row_of_column[entries[n_matched[row]]] >= 0:
                n_matched[row] += 1
            if n_matched[row] < len(entries):
                column = entries[n_matched[row]]
                break
            while places[-1] < len(entries) and last_root[entries[places[-1]]] == root:
                places[-1] += 1
            if places[-1] == len(entries):
                path.pop()
                places.pop()
                continue
            next_column = entries[places[-1]]
            last_root[next_column] = root
            path.append(row_of_column[next_column])
            places.append(0)
        if not path:
            return None
        for row in reversed(path):  # each takes the column of the next one
            row_of_column[column] = row
            column_of_row[row], column = column, column_of_row[row]
    return column_of_row


def _round_down(value: fmpq, n_digits: int | None) -> fmpq:
    """Return a number rounded down to so many binary digits after the point; itself if this is None."""
    if n_digits is None:
        return value
    return fmpq((int(value.p) << n_digits) // int(value.q), 1 << n_digits)


def _is_long(right_side: Sequence[fmpq]) -> bool:
    """Return whether the numbers of a right side have many digits together."""
    return sum(map(fmpq.height_bits, right_side)) >= MIN_LONG_DIGITS


def _has_long_denominators(right_side: Sequence[fmpq]) -> bool:
    """Return whether a common denominator of a right side, or its numerators, may be much longer than its numbers."""
    if not _is_long(right_side):
        return False
    denominators = [value.q.bit_length() for value in right_side]
    numerators = sum(value.p.bit_length() for value in right_side)
    return sum(denominators) - max(denominators) + NUMERATOR_WEIGHT * numerators >= MIN_LONG_DIGITS


def _number_of_digits(values: Sequence[fmpq]) -> int:
    """Return the number of digits of denominators, and a word for each of the values."""
    return sum(value.q.bit_length() for value in values if value is not ZERO) + WORD * len(values)


class _BlockSolver:
    """Solves a block: with factors in floats where it is large and they are accurate, else as a dense system.

    Parameters
    ----------
    size
        Number of rows.
    triples
        The places and the entries.
    twin
        The solver of the transposed block; None if there is none.
    """

    def __init__(self, size: int, triples: list[Triple], twin: _BlockSolver | None = None) -> None:
        self._size, self._triples, self._twin = size, triples, twin
        self._dense: Any = None
        self._sparse: tuple[SparseSystem, FloatFactors] | None = None
        if size >= MIN_SPARSE_SIZE or (size >= MIN_SHORT_SIZE and self._digits <= MAX_SHORT_DIGITS * size):
            self._sparse = self._factors

    @cached_property
    def _digits(self) -> float:
        return _determinant_digits(self._size, self._triples)

    @property
    def n_expected_digits(self) -> float:
        return WORK_SHARE * self._digits

    @cached_property
    def max_digits(self) -> float:
        """A number that `n_expected_digits` does not exceed, which takes less time."""
        length = max(entry.height_bits() for _, _, entry in self._triples)
        return WORK_SHARE * (length + 1) * len(self._triples)  # a row has at most length + 1 for each entry

    @cached_property
    def _factors(self) -> tuple[SparseSystem, FloatFactors] | None:
        """The system with its factors in floats; None if there are none, so that the dense system is solved."""
        system = system_of_whole_numbers(self._size, self._triples)
        with contextlib.suppress(ArithmeticError, OverflowError):
            return system, FloatFactors(system)
        return None

    def solve(self, right_side: list[fmpq], n_digits: int | None) -> list[fmpq]:
        if self._size == 1:
            entry = self._triples[0][2]
            return [value / entry for value in right_side]
        if n_digits is not None and self._factors is not None:
            solution = solve_whole_numbers(*self._factors, right_side, n_digits)
            if solution is not None:
                return solution
        if self._sparse is not None:
            solution = solve_whole_numbers(*self._sparse, right_side)
            if solution is not None:
                return solution
            self._sparse = None
        if self._dense is None:
            share = self._size * max(1.0, self._size / DENSE_SIZE)
            if not is_granted(share * self.max_digits):
                check_work(share * self.n_expected_digits)
            self._dense = self._dense_matrix()
        return _solve_dense(self._dense, right_side)

    def _dense_matrix(self) -> Any:
        """Return the block as a dense matrix; the transposed one of its twin takes less time to make."""
        if self._twin is not None and self._twin._dense is not None:
            return self._twin._dense.transpose()
        entries = [ZERO] * self._size**2
        for i, k, entry in self._triples:
            entries[i * self._size + k] = entry
        return fmpq_mat(self._size, self._size, entries)


def _determinant_digits(size: int, triples: Sequence[Triple]) -> float:
    """Return Hadamard's bound of the binary digits of the determinant, with rows of whole numbers without a factor."""
    rows: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    pairs = dict[int, tuple[int, int]]()  # programs have few distinct numbers
    for i, _, entry in triples:
        if id(entry) not in pairs:
            pairs[id(entry)] = int(entry.p), int(entry.q)
        rows[i].append(pairs[id(entry)])
    digits = 0.0
    for row in rows:
        scale = math.lcm(*(q for _, q in row))
        numbers = [p * (scale // q) for p, q in row]
        length = max(max(numbers), -min(numbers)).bit_length() - math.gcd(*numbers).bit_length() + 1
        digits += length + math.log2(len(numbers)) / 2
    return digits


def _solve_dense(matrix: Any, right_side: list[fmpq]) -> list[fmpq]:
    """Return the solution of a dense system. FLINT's elimination multiplies the rows by the denominators of both sides.

    So a long right side is made whole first.
    """
    size, factor = len(right_side), None
    try:
        if size > MAX_ELIMINATION_SIZE:
            return matrix.solve(fmpq_mat(size, 1, right_side), algorithm="dixon").entries()
        if _is_long(right_side):
            scale = math.lcm(*(int(value.q) for value in right_side))
            factor = fmpq(scale) if scale > 1 else None
            right_side = right_side if factor is None else [value * factor for value in right_side]
        solution = matrix.solve(fmpq_mat(size, 1, right_side), algorithm="fflu").entries()
    except ZeroDivisionError:
        raise SingularSystemError(f"a block of {size} rows is singular") from None
    return solution if factor is None else [value / factor for value in solution]


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
        row_counts, column_counts = [len(row) for row in rows], [len(column) for column in columns]
        is_open_row, is_open_column = [True] * len(rows), [True] * len(columns)
        singles = [(True, i) for i, count in enumerate(row_counts) if count == 1]
        singles += [(False, j) for j, count in enumerate(column_counts) if count == 1]
        while singles:
            is_row, index = singles.pop()
            if is_row and is_open_row[index] and row_counts[index] == 1:
                row = column = index
                for column in rows[row]:  # takes less time than `next`
                    if is_open_column[column]:
                        break
                self.first.append((row, column))
            elif not is_row and is_open_column[index] and column_counts[index] == 1:
                row = column = index
                for row in columns[column]:
                    if is_open_row[row]:
                        break
                self.last.append((row, column))
            else:
                continue
            is_open_row[row] = is_open_column[column] = False
            for j in rows[row]:
                column_counts[j] -= 1
                if column_counts[j] == 1 and is_open_column[j]:
                    singles.append((False, j))
            for i in columns[column]:
                row_counts[i] -= 1
                if row_counts[i] == 1 and is_open_row[i]:
                    singles.append((True, i))
        self.remaining_rows: list[int] = [i for i, is_open in enumerate(is_open_row) if is_open]
        self.remaining_columns: list[int] = [j for j, is_open in enumerate(is_open_column) if is_open]
        if not all(row_counts[i] for i in self.remaining_rows) or not all(
            column_counts[j] for j in self.remaining_columns
        ):
            raise SingularSystemError("a row or a column of the nucleus is empty")
