"""Sums over a part of the rows: whole numbers in, whole numbers out, and nothing of their length but the margins.

All sums are exact: of int64, or of float64 whose parts and whole stay below 2^53. They are the same in whatever order
the rows stand and however these are cut into parts. The functions are pure, of arrays alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from boostopt._utils.array_types import Array, Int, Int32, UInt
from boostopt.rows.encoding import BLOCK_ROWS, COMPRESS_BELOW
from boostopt.rows.margin_grid import N_BINS, MarginGrid
from boostopt.rows.row_block import RowBlock

HISTOGRAM_BATCH = 1 << 17
"""Rows whose margins are counted together: 2^17 whole numbers of 30 bits have a sum that float64 holds."""

MARGIN_LOW_BITS = 15
"""Binary places of the lower part of a margin that is counted with a multiplicity."""

SPLITMIX64_ROUNDS = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)
"""Shifts and factors of splitmix64: numbers that differ in a bit become numbers that differ in half of all bits."""


def margins(part: RowBlock, tables: Mapping[int, Int32[Array, " _"]]) -> Int32[Array, " n"]:
    """Return the margins y_n sum_q W_q h_q(x_n), the hypotheses being added up in a table of codes for each feature."""
    M = np.zeros(part.n, np.int32)
    # Buffers are used again: memory that is allocated anew is faulted in anew, which may cost more than the sums.
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
    part: RowBlock, margins: Int32[Array, " n"], window: MarginGrid
) -> tuple[Int[Array, " buckets"], Int[Array, " buckets"]]:
    """Return for each bucket how many examples have such margins, and the sum of these margins."""
    size = N_BINS + 2
    found, sums = np.zeros(size, np.int64), np.zeros(size, np.int64)
    bucket, code, value = (
        np.empty(HISTOGRAM_BATCH, np.int32),
        np.empty(HISTOGRAM_BATCH, np.intp),
        np.empty(HISTOGRAM_BATCH),
    )
    for i in range(0, part.n, HISTOGRAM_BATCH):
        m = margins[i : i + HISTOGRAM_BATCH]
        k = len(m)
        np.copyto(code[:k], window.bin_index(m, bucket[:k]))
        if part.c is None:
            found += np.bincount(code[:k], minlength=size)
            np.copyto(value[:k], m)
            sums += np.bincount(code[:k], value[:k], size).astype(np.int64)
            continue
        c = part.c[i : i + k]
        found += np.bincount(code[:k], c, size).astype(np.int64)
        high = m >> MARGIN_LOW_BITS
        sums += np.bincount(code[:k], c * high, size).astype(np.int64) << MARGIN_LOW_BITS
        sums += np.bincount(code[:k], c * (m - (high << MARGIN_LOW_BITS)), size).astype(np.int64)
    return found, sums


def signed_sums_by_code(
    part: RowBlock,
    margins: Int32[Array, " n"],
    window: MarginGrid,
    table: Int[Array, " buckets"],
    sizes: Mapping[int, int],
) -> tuple[Int[Array, " _"], ...]:
    """Return the sums of y_n c_n q_n over the rows of each code of each feature, q_n = table[bucket of margin n].

    Parameters
    ----------
    sizes
        The number of codes of each feature that is asked for.
    """
    H = [np.zeros(size) for size in sizes.values()]
    weights = table.astype(np.float64)
    bucket, code, s = np.empty(BLOCK_ROWS, np.int32), np.empty(BLOCK_ROWS, np.intp), np.empty(BLOCK_ROWS)
    some, picked = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS, part.codes[0].dtype)
    for i in range(0, part.n, BLOCK_ROWS):
        m = margins[i : i + BLOCK_ROWS]
        k = len(m)
        np.copyto(code[:k], window.bin_index(m, bucket[:k]))
        np.take(weights, code[:k], out=s[:k], mode="clip")
        at = np.flatnonzero(s[:k])
        few = len(at) < COMPRESS_BELOW * k
        if len(at) == 0:
            continue
        s[:k] *= part.y[i : i + k]
        if part.c is not None:
            s[:k] *= part.c[i : i + k]
        value = np.take(s[:k], at, out=some[: len(at)], mode="clip") if few else s[:k]
        for h, (j, size) in zip(H, sizes.items(), strict=True):
            here = part.codes[j][i : i + k]
            if few:
                here = np.take(here, at, out=picked[: len(at)], mode="clip")
            np.copyto(code[: len(here)], here)
            h += np.bincount(code[: len(here)], value, size)
    return tuple(h.astype(np.int64) for h in H)


def splitmix64(x: UInt[Array, "*n"]) -> UInt[Array, "*n"]:
    """Return other numbers of 64 bits, in which each bit depends on all that were there."""
    for shift, factor in SPLITMIX64_ROUNDS:
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x


def fingerprint(
    part: RowBlock, margins: Int32[Array, " n"], tables: Mapping[int, UInt[Array, " _"]]
) -> UInt[Array, " 1"]:
    """Return a number of 64 bits that tells other rows apart: the sum of one for each row, made of its codes and label.

    Parameters
    ----------
    tables
        Of each feature, a number of 64 bits for each code.
    """
    total = np.zeros(1, np.uint64)
    for i in range(0, part.n, BLOCK_ROWS):
        row = part.y[i : i + BLOCK_ROWS].astype(np.uint64)  # -1 is 2^64 - 1
        for j, table in tables.items():
            row += np.take(table, part.codes[j][i : i + BLOCK_ROWS], mode="clip")
        row = splitmix64(row)
        total += row.sum() if part.c is None else (row * part.c[i : i + BLOCK_ROWS].astype(np.uint64)).sum()
    return total


def example_weights(
    part: RowBlock, margins: Int32[Array, " n"], window: MarginGrid, table: Int[Array, " buckets"]
) -> Int[Array, " n"]:
    """Return c_n q_n of each row, q_n = table[bucket of margin n]."""
    q = table[window.bin_index(margins, np.empty_like(margins))]
    return q if part.c is None else q * part.c
