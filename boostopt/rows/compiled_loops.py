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

from boostopt._utils.array_types import Array, Int, Int8, Int32, UInt

Loop = TypeVar("Loop", bound=Callable[..., Any])

numba: Any = import_module("numba")


def _input(kind: str, axes: int = 1) -> Any:
    """Return numba's type of a contiguous array, also a read-only one."""
    return numba.types.Array(getattr(numba.types, kind), axes, "C", readonly=True)


def _output(kind: str) -> Any:
    """Return numba's type of a contiguous vector that is written."""
    return numba.types.Array(getattr(numba.types, kind), 1, "C")


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


@compile_loop(*((codes, _input("int64"), _input("uint16"), _output("uint16")) for codes in CODE_TYPES))
def write_cells(
    codes: UInt[Array, " n"], rows: Int[Array, " k"], table: UInt[Array, " size"], cells: UInt[Array, " k"]
) -> None:
    """Write table[code] for some rows, which are within the range of the codes; higher codes count as the last."""
    last = len(table) - 1
    for k in range(len(rows)):
        cells[k] = table[min(np.intp(codes[rows[k]]), last)]


@compile_loop(
    (_input("uint16", 2), _input("int64"), _input("int32"), _input("int32"), _output("int64"), _output("int64"))
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
        (_input("uint16", 2), _input("int64"), _input("int32"), numba.int64, numba.int64, _output(sums))
        for sums in ("int32", "int64")
    )
)
def add_sums_over_pairs(
    cells: UInt[Array, "features n"],
    sizes: Int[Array, " features"],
    r: Int32[Array, " k"],
    first_pair: int,
    end_pair: int,
    sums: Int[Array, " cells"] | Int32[Array, " cells"],
) -> None:
    """Add r of the first k rows to the sums of their pairs of cells, for two features a and b < a at a time.

    Parameters
    ----------
    sizes
        The number of cells of each feature; the cells are below it.
    first_pair, end_pair
        The range of the pairs whose sums are written, in the order of (a, b).
    """
    start, pair = 0, 0
    for a in range(len(sizes)):
        first = cells[a]
        for b in range(a):
            second, size = cells[b], np.uint32(sizes[b])
            end = start + sizes[a] * sizes[b]
            if first_pair <= pair < end_pair:
                pair_sums = sums[start:end]
                for n in range(len(r)):
                    pair_sums[np.uint32(first[n]) * size + np.uint32(second[n])] += r[n]
            start, pair = end, pair + 1
