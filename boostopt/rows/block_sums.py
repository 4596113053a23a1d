"""Kernels over a row block: exact integer sums, of which only the margins have the length of the rows.

All sums are exact: in int64, or in float64 with terms and sums below 2^53. So they depend neither on the order of
the rows nor on their division into row blocks. The functions are pure functions of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from boostopt._utils.array_types import Array, Int, Int32, UInt
from boostopt.rows.feature_encoding import BLOCK_ROWS, MIN_DENSE_FRACTION
from boostopt.rows.loop_selection import map_ranges, uses_compiled_loops
from boostopt.rows.margin_grid import N_BINS, MarginGrid
from boostopt.rows.row_block import RowBlock

HISTOGRAM_BATCH = 1 << 17
"""Rows whose margins are counted at a time: float64 holds the sum of 2^17 whole numbers of 30 bits."""

COMPILED_BLOCK_ROWS = 1 << 16
"""Rows of a block of compiled loops: their margins or weights fit into the cache, and calls cost little beside them."""

MARGIN_LOW_BITS = 15
"""Bits of the lower part of a margin that is summed with a multiplicity."""

MAX_JOINT_ENTRIES = 1 << 16
"""Entries up to which the codes of all features are summed at once, which needs 8 bytes an entry and few calls."""

NO_COPIES = np.zeros(0, np.int64)
"""Multiplicities that are all 1, for compiled loops."""

SPLITMIX64_ROUNDS = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)
"""Shifts and factors of splitmix64: numbers that differ in one bit become numbers that differ in half of all bits."""


def margins(part: RowBlock, tables: Mapping[int, Int32[Array, " _"]]) -> Int32[Array, " n"]:
    """Return the margins y_n sum_q W_q h_q(x_n), from a table of sum_q W_q h_q by code for each feature."""
    M = np.zeros(part.n, np.int32)
    if uses_compiled_loops(part.n * len(tables)):
        from boostopt.rows.compiled_loops import add_votes

        def write_margins(start: int, end: int) -> None:
            for i in range(start, end, COMPILED_BLOCK_ROWS):
                rows = slice(i, min(i + COMPILED_BLOCK_ROWS, end))
                for j, table in tables.items():
                    add_votes(M[rows], np.ascontiguousarray(part.codes[j][rows]), table)
                M[rows] *= part.y[rows]

        map_ranges(write_margins, part.n, part.n * len(tables))
        return M
    # Buffers are reused: page faults of new memory may cost more than the sums.
    values, code = np.empty(BLOCK_ROWS, np.int32), np.empty(BLOCK_ROWS, np.intp)
    for i in range(0, part.n, BLOCK_ROWS):
        m = M[i : i + BLOCK_ROWS]
        k = len(m)
        for j, table in tables.items():
            np.copyto(code[:k], part.codes[j][i : i + k])
            np.take(table, code[:k], out=values[:k], mode="clip")
            m += values[:k]
        m *= part.y[i : i + k]
    return M


def histogram(
    part: RowBlock, margins: Int32[Array, " n"], grid: MarginGrid
) -> tuple[Int[Array, " bins"], Int[Array, " bins"]]:
    """Return the number of examples in each bin of the margins, and the sum of their margins."""
    size = N_BINS + 2
    counts, sums = np.zeros(size, np.int64), np.zeros(size, np.int64)
    if uses_compiled_loops(part.n):
        from boostopt.rows.compiled_loops import add_to_histogram

        def count_rows(start: int, end: int) -> tuple[Int[Array, " bins"], Int[Array, " bins"]]:
            counts, sums = np.zeros(size, np.int64), np.zeros(size, np.int64)
            c = _copies(part, slice(start, end))
            add_to_histogram(margins[start:end], c, grid.first_bin, grid.log2_bin_width, counts, sums)
            return counts, sums

        for range_counts, range_sums in map_ranges(count_rows, part.n, part.n):
            counts += range_counts
            sums += range_sums
        return counts, sums
    bin_numbers, code, value = (
        np.empty(HISTOGRAM_BATCH, np.int32),
        np.empty(HISTOGRAM_BATCH, np.intp),
        np.empty(HISTOGRAM_BATCH),
    )
    for i in range(0, part.n, HISTOGRAM_BATCH):
        m = margins[i : i + HISTOGRAM_BATCH]
        k = len(m)
        np.copyto(code[:k], grid.bin_index(m, bin_numbers[:k]))
        if part.c is None:
            counts += np.bincount(code[:k], minlength=size)
            np.copyto(value[:k], m)
            sums += np.bincount(code[:k], value[:k], size).astype(np.int64)
            continue
        c = part.c[i : i + k]
        counts += np.bincount(code[:k], c, size).astype(np.int64)
        high = m >> MARGIN_LOW_BITS
        sums += np.bincount(code[:k], c * high, size).astype(np.int64) << MARGIN_LOW_BITS
        sums += np.bincount(code[:k], c * (m - (high << MARGIN_LOW_BITS)), size).astype(np.int64)
    return counts, sums


def signed_sums_by_code(
    part: RowBlock,
    margins: Int32[Array, " n"],
    grid: MarginGrid,
    table: Int[Array, " bins"],
    sizes: Mapping[int, int],
) -> tuple[Int[Array, " _"], ...]:
    """Return the sums of y_n c_n q_n over the rows of each code of each feature, with q_n = table[bin of margin n].

    Parameters
    ----------
    sizes
        The number of codes of each feature to sum over.
    """
    if uses_compiled_loops(part.n * len(sizes)):
        return _compiled_signed_sums(part, margins, grid, table, sizes)
    if part.n * len(sizes) <= MAX_JOINT_ENTRIES:
        return _joint_signed_sums(part, margins, grid, table, sizes)
    H = dict[int, Int[Array, " _"]]()
    weights = table.astype(np.float64)
    n_rows = max(BLOCK_ROWS, max(sizes.values()))  # a block has at least as many rows as a feature has codes
    bin_numbers, code, s = np.empty(n_rows, np.int32), np.empty(n_rows, np.intp), np.empty(n_rows)
    compressed_weights, compressed_codes = np.empty(n_rows), np.empty(n_rows, part.codes[0].dtype)
    for i in range(0, part.n, n_rows):
        m = margins[i : i + n_rows]
        k = len(m)
        np.copyto(code[:k], grid.bin_index(m, bin_numbers[:k]))
        np.take(weights, code[:k], out=s[:k], mode="clip")
        nonzero = np.flatnonzero(s[:k])
        is_sparse = len(nonzero) < MIN_DENSE_FRACTION * k
        if len(nonzero) == 0:
            continue
        s[:k] *= part.y[i : i + k]
        if part.c is not None:
            s[:k] *= part.c[i : i + k]
        value = np.take(s[:k], nonzero, out=compressed_weights[: len(nonzero)], mode="clip") if is_sparse else s[:k]
        for j, size in sizes.items():
            codes = part.codes[j][i : i + k]
            if is_sparse:
                codes = np.take(codes, nonzero, out=compressed_codes[: len(nonzero)], mode="clip")
            np.copyto(code[: len(codes)], codes)
            sums = np.bincount(code[: len(codes)], value, size).astype(np.int64)
            H[j] = H[j] + sums if j in H else sums
    return tuple(H[j] if j in H else np.zeros(size, np.int64) for j, size in sizes.items())


def _joint_signed_sums(
    part: RowBlock,
    margins: Int32[Array, " n"],
    grid: MarginGrid,
    table: Int[Array, " bins"],
    sizes: Mapping[int, int],
) -> tuple[Int[Array, " _"], ...]:
    """Return the sums of `signed_sums_by_code` by one sum over the codes of all features, for few rows."""
    ends = np.cumsum(list(sizes.values()))
    s = table[grid.bin_index(margins, np.empty_like(margins))] * part.y
    if part.c is not None:
        s *= part.c
    codes = np.stack([part.codes[j] for j in sizes]) + (ends - list(sizes.values()))[:, np.newaxis]
    sums = np.bincount(codes.ravel(), np.tile(s, len(sizes)), ends[-1]).astype(np.int64)
    return tuple(np.split(sums, ends[:-1]))


def _compiled_signed_sums(
    part: RowBlock,
    margins: Int32[Array, " n"],
    grid: MarginGrid,
    table: Int[Array, " bins"],
    sizes: Mapping[int, int],
) -> tuple[Int[Array, " _"], ...]:
    """Return the sums of `signed_sums_by_code` by compiled loops."""
    from boostopt.rows.compiled_loops import add_sums_by_code, add_sums_by_code_of_rows, nonzero_weights

    table = np.ascontiguousarray(table, np.int64)

    def sum_rows(start: int, end: int) -> tuple[Int[Array, " _"], ...]:
        H = tuple(np.zeros(size, np.int64) for size in sizes.values())
        block_rows = min(end - start, COMPILED_BLOCK_ROWS)
        weights, nonzero = np.empty(block_rows, np.int64), np.empty(block_rows, np.int32)
        for i in range(start, end, COMPILED_BLOCK_ROWS):
            rows = slice(i, min(i + COMPILED_BLOCK_ROWS, end))
            y, c = np.ascontiguousarray(part.y[rows]), _copies(part, rows)
            k = nonzero_weights(margins[rows], y, c, table, grid.first_bin, grid.log2_bin_width, weights, nonzero)
            for h, j in zip(H, sizes, strict=True):
                codes = np.ascontiguousarray(part.codes[j][rows])
                if k == len(y):
                    add_sums_by_code(codes, weights[:k], h)
                elif k:
                    add_sums_by_code_of_rows(codes, nonzero[:k], weights[:k], h)
        return H

    sums_of_ranges = map_ranges(sum_rows, part.n, part.n * len(sizes))
    if len(sums_of_ranges) == 1:
        return sums_of_ranges[0]
    return tuple(np.sum(sums, axis=0) for sums in zip(*sums_of_ranges, strict=True))


def _copies(part: RowBlock, rows: slice) -> Int[Array, " _"]:
    """Return the multiplicities of some rows as compiled loops read them; an empty array if all are 1."""
    return NO_COPIES if part.c is None else np.ascontiguousarray(part.c[rows], np.int64)


def splitmix64(x: UInt[Array, "*n"]) -> UInt[Array, "*n"]:
    """Return hashes of 64 bits; each bit of a hash depends on all bits of the number."""
    for shift, factor in SPLITMIX64_ROUNDS:
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x


def fingerprint(
    part: RowBlock, margins: Int32[Array, " n"], tables: Mapping[int, UInt[Array, " _"]]
) -> UInt[Array, " 1"]:
    """Return a hash of 64 bits of the rows: the sum over the rows of a hash of codes and label.

    Parameters
    ----------
    tables
        For each feature, a random number of 64 bits for each code.
    """
    total = np.zeros(1, np.uint64)
    for i in range(0, part.n, BLOCK_ROWS):
        row = part.y[i : i + BLOCK_ROWS].astype(np.uint64)  # -1 is 2^64 - 1
        for j, table in tables.items():
            row += np.take(table, part.codes[j][i : i + BLOCK_ROWS], mode="clip")
        row = splitmix64(row)
        total += row.sum() if part.c is None else (row * part.c[i : i + BLOCK_ROWS].astype(np.uint64)).sum()
    return total


def counts_by_code(
    part: RowBlock, margins: Int32[Array, " n"], sizes: Mapping[int, int]
) -> tuple[Int[Array, " _"], ...]:
    """Return the numbers of rows of each code of some features, counted with multiplicity.

    Parameters
    ----------
    sizes
        The number of codes of each feature to count.
    """
    return tuple(np.bincount(part.codes[j], part.c, size).astype(np.int64) for j, size in sizes.items())


def example_weights(
    part: RowBlock, margins: Int32[Array, " n"], grid: MarginGrid, table: Int[Array, " bins"]
) -> Int[Array, " n"]:
    """Return c_n q_n for each row, with q_n = table[bin of margin n]."""
    q = table[grid.bin_index(margins, np.empty_like(margins))]
    return q if part.c is None else q * part.c
