"""Loops over rows, compiled: they return the whole numbers of NumPy's loops in about a third of the time.

Numba, of the extra `fast`, compiles them once on a machine, and stores the result beside this file or in the user's
cache. Only `loop_selection` decides whether this module is loaded. The loops release the lock of the interpreter.
Numba tests no index, so indices that come from arrays of others are limited to the range of the array.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import unwrap
from typing import Any, TypeVar

import numpy as np

from boostopt._utils.array_types import Array, Float, Int, Int8, Int32, UInt

Loop = TypeVar("Loop", bound=Callable[..., Any])

numba: Any = import_module("numba")


def _input(kind: str, axes: int = 1) -> Any:
    """Return numba's type of a contiguous array, also a read-only one."""
    return numba.types.Array(getattr(numba.types, kind), axes, "C", readonly=True)


def _output(kind: str, axes: int = 1) -> Any:
    """Return numba's type of a contiguous array that is written."""
    return numba.types.Array(getattr(numba.types, kind), axes, "C")


def compile_loop(*signatures: tuple[Any, ...]) -> Callable[[Loop], Loop]:
    """Return a decorator that compiles a loop for the types of its arguments."""

    def compiled(loop: Loop) -> Loop:
        function = unwrap(loop)  # numba compiles no wrapper, such as the type checker's
        try:
            return numba.njit(list(signatures), nogil=True, cache=True)(function)
        except (RuntimeError, OSError):  # no folder for the result can be written
            return numba.njit(list(signatures), nogil=True)(function)

    return compiled


CODE_TYPES = _input("uint8"), _input("uint16")
CELL_KINDS, SUM_KINDS = ("uint8", "uint16"), ("int32", "int64")
"""The types of the numbers of cells, and of sums over pairs of cells."""


@compile_loop(*((_output("int32"), codes, _input("int32")) for codes in CODE_TYPES))
def add_votes(votes: Int32[Array, " n"], codes: UInt[Array, " n"], table: Int32[Array, " size"]) -> None:
    """Add table[code] to the votes of each row; higher codes count as the last."""
    last = len(table) - 1
    for n in range(len(votes)):
        votes[n] += table[min(np.intp(codes[n]), last)]


@compile_loop((_input("int32"), _input("int64"), numba.int64, numba.int64, _output("int64"), _output("int64")))
def add_to_histogram(
    margins: Int32[Array, " n"],
    c: Int[Array, " _"],
    first_bin: int,
    log2_bin_width: int,
    counts: Int[Array, " bins"],
    sums: Int[Array, " bins"],
) -> None:
    """Add rows to the numbers of examples in each bin, and to the sums of their margins.

    Parameters
    ----------
    margins
        Whole numbers; the bins are those of `MarginGrid.bin_index`.
    c
        Multiplicities; an empty array if all are 1.
    first_bin
        The margin of the lowest bin, shifted by `log2_bin_width`.
    """
    last = len(counts) - 1
    for n in range(len(margins)):
        b = min(max((np.int64(margins[n]) >> log2_bin_width) - first_bin, 0), last)
        copies = c[n] if len(c) > 0 else 1
        counts[b] += copies
        sums[b] += copies * margins[n]


@compile_loop(
    (
        _input("int32"),
        _input("int8"),
        _input("int64"),
        _input("int64"),
        numba.int64,
        numba.int64,
        _output("int64"),
        _output("int32"),
    )
)
def nonzero_weights(
    margins: Int32[Array, " n"],
    y: Int8[Array, " n"],
    c: Int[Array, " _"],
    table: Int[Array, " bins"],
    first_bin: int,
    log2_bin_width: int,
    weights: Int[Array, " n"],
    rows: Int32[Array, " n"],
) -> int:
    """Write the weights y_n c_n table[bin of margin n] that are not 0 and their rows; return their number.

    Parameters
    ----------
    margins, c, first_bin, log2_bin_width
        As in `add_to_histogram`.
    """
    last, count = len(table) - 1, 0
    for n in range(len(margins)):
        weight = table[min(max((np.int64(margins[n]) >> log2_bin_width) - first_bin, 0), last)]
        weights[count] = weight * y[n] * c[n] if len(c) > 0 else weight * y[n]
        rows[count] = n
        count += weight != 0
    return count


@compile_loop(*((codes, _input("int64"), _output("int64")) for codes in CODE_TYPES))
def add_sums_by_code(codes: UInt[Array, " n"], values: Int[Array, " n"], sums: Int[Array, " size"]) -> None:
    """Add the values of the rows of each code to the sum of the code.

    Raises
    ------
    IndexError
        A code has no sum.
    """
    size, largest = len(sums), 0
    for n in range(len(values)):
        code = np.intp(codes[n])
        largest = max(largest, code)
        sums[min(code, size - 1)] += values[n]
    if largest >= size:
        raise IndexError("codes must be below the number of codes of their feature. Encode the rows again.")


@compile_loop(*((codes, _input("int32"), _input("int64"), _output("int64")) for codes in CODE_TYPES))
def add_sums_by_code_of_rows(
    codes: UInt[Array, " n"], rows: Int32[Array, " k"], values: Int[Array, " k"], sums: Int[Array, " size"]
) -> None:
    """Add the values of some rows to the sums of their codes; the rows are within the range of the codes.

    Raises
    ------
    IndexError
        A code has no sum.
    """
    size, largest = len(sums), 0
    for k in range(len(values)):
        code = np.intp(codes[rows[k]])
        largest = max(largest, code)
        sums[min(code, size - 1)] += values[k]
    if largest >= size:
        raise IndexError("codes must be below the number of codes of their feature. Encode the rows again.")


@compile_loop(
    *((codes, _input("int64"), _input(cells), _output(cells)) for codes in CODE_TYPES for cells in CELL_KINDS)
)
def write_cells(
    codes: UInt[Array, " n"], rows: Int[Array, " k"], table: UInt[Array, " size"], cells: UInt[Array, " k"]
) -> None:
    """Write table[code] for some rows, which are within the range of the codes; higher codes count as the last."""
    last = len(table) - 1
    for k in range(len(rows)):
        cells[k] = table[min(np.intp(codes[rows[k]]), last)]


@compile_loop(
    *(
        (_input(cells, 2), _input("int64"), _input("int32"), _input("int32"), _output("int64"), _output("int64"))
        for cells in CELL_KINDS
    )
)
def add_sums_over_cells(
    cells: UInt[Array, "features n"],
    sizes: Int[Array, " features"],
    r: Int32[Array, " k"],
    signed: Int32[Array, " k"],
    sums: Int[Array, " cells"],
    label_sums: Int[Array, " cells"],
) -> None:
    """Add r and y r of the first k rows to the sums of their cells, one feature after another.

    Parameters
    ----------
    sizes
        The number of cells of each feature; the cells are below it.
    """
    start = 0
    for a in range(len(sizes)):
        for n in range(len(r)):
            place = start + cells[a, n]
            sums[place] += r[n]
            label_sums[place] += signed[n]
        start += sizes[a]


@compile_loop(
    *(
        (_input(cells, 2), _input("int64"), _input("int32"), numba.int64, numba.int64, _output(sums))
        for cells in CELL_KINDS
        for sums in SUM_KINDS
    )
)
def add_sums_over_pairs(
    cells: UInt[Array, "features n"],
    sizes: Int[Array, " features"],
    r: Int32[Array, " k"],
    first_pair: int,
    end_pair: int,
    sums: Int[Array, " cells"],
) -> None:
    """Add r of the first k rows to the sums of their pairs of cells, for two features a and b < a at a time.

    Two pairs with the same feature a at once take three quarters of the time: rows are read once, and an addition need
    not wait for the last one to the same sum.

    Parameters
    ----------
    sizes
        The number of cells of each feature; the cells are below it.
    first_pair, end_pair
        The range of the pairs whose sums are written, in the order of (a, b).
    """
    start, pair = 0, 0
    for a in range(len(sizes)):
        first, is_second = cells[a], False
        for b in range(a):
            second, size = cells[b], np.uint32(sizes[b])
            end = start + sizes[a] * sizes[b]
            if first_pair <= pair < end_pair and not is_second:
                pair_sums = sums[start:end]
                if b + 1 < a and pair + 1 < end_pair:
                    third, third_size, is_second = cells[b + 1], np.uint32(sizes[b + 1]), True
                    third_sums = sums[end : end + sizes[a] * sizes[b + 1]]
                    for n in range(len(r)):
                        cell, value = np.uint32(first[n]), r[n]
                        pair_sums[cell * size + np.uint32(second[n])] += value
                        third_sums[cell * third_size + np.uint32(third[n])] += value
                else:
                    for n in range(len(r)):
                        pair_sums[np.uint32(first[n]) * size + np.uint32(second[n])] += r[n]
            else:
                is_second = False
            start, pair = end, pair + 1


@compile_loop(
    *(
        (_input("int64"), _input(sums), _input("float64"), _input("float64"), _output("float64", 2))
        for sums in SUM_KINDS
    )
)
def write_entries(
    sizes: Int[Array, " features"],
    pair_sums: Int[Array, " pairs"],
    sums: Float[Array, " cells"],
    label_sums: Float[Array, " cells"],
    entries: Float[Array, "t1 t1"],
) -> None:
    """Write the Gram matrix of cuts and labels, from sums over cells below 2^51, by the formula of `_GramByCells`.

    The last row belongs to the labels.

    Parameters
    ----------
    sizes
        The number of cells of each feature, one more than cuts.
    pair_sums, sums, label_sums
        The sums over the pairs of cells of two features a and b < a, in the order of (a, b), and over the cells.
    """
    count, start, total = len(entries) - 1, 0, 0.0
    twice = np.empty(count)
    for cell in range(sizes[0]):
        total += sums[cell]
    for a in range(len(sizes)):  # the cells of feature a begin at start + a, its cuts at start
        size, sum_above, label_sum_above, label_total = sizes[a], 0.0, 0.0, 0.0
        for cell in range(size):
            label_total += label_sums[start + a + cell]
        for q in range(size - 2, -1, -1):
            sum_above += sums[start + a + q + 1]
            label_sum_above += label_sums[start + a + q + 1]
            twice[start + q] = 2.0 * sum_above
            entries[count, start + q] = entries[start + q, count] = 2.0 * label_sum_above - label_total
            for p in range(q, size - 1):  # all cells above cut p >= q are above cut q too
                entry = total + twice[start + p] - twice[start + q]
                entries[start + q, start + p] = entries[start + p, start + q] = entry
        start += size - 1
    entries[count, count] = total
    row_sums, start, position = np.empty(count), 0, 0
    for a in range(len(sizes)):
        other_start = 0
        for b in range(a):
            size = sizes[b]
            row_sums[:size] = 0.0
            for q in range(sizes[a] - 2, -1, -1):
                row = pair_sums[position + (q + 1) * size : position + (q + 2) * size]
                both = 0.0
                for p in range(size - 2, -1, -1):
                    row_sums[p] += np.float64(row[p + 1])
                    both += row_sums[p]
                    entry = 4.0 * both - twice[start + q] - twice[other_start + p] + total
                    entries[start + q, other_start + p] = entries[other_start + p, start + q] = entry
            position += sizes[a] * size
            other_start += size - 1
        start += sizes[a] - 1
