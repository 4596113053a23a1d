"""Gram matrices of splits over a row block, weighted by a function of the margins; exact, as in `block_sums`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, Int, Int8, Int32, Num, UInt
from boostopt.rows.feature_encoding import BLOCK_ROWS
from boostopt.rows.loop_selection import map_ranges, uses_compiled_loops
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import RowBlock, Split, split_columns

PRODUCT_ROWS = 2048
"""Rows of a block of the matrix product."""

CELL_COSTS = 1.8, 4.5, 5_600.0, 11.0, 90_000.0
"""Nanoseconds of the sums over cells, as measured: of a row and a pair of features, of a row and a feature, of an
ordered pair of features, of an entry of the matrix, and of a call."""

COMPILED_CELL_COSTS = 0.3, 2.0, 250.0, 6.0, 100_000.0
"""The same of compiled loops, as measured with 5 to 120 cells of a feature."""

MAX_STORED_ROWS, MAX_STORED_CELLS = 1 << 17, 1 << 22
"""Rows, and cells of all features, that are stored before compiled loops sum them: the sums of a pair of features then
stay in the cache while many rows are added."""

MAX_INT32_EXAMPLES = 1 << 22
"""Examples whose curvatures, each at most 2^8, are summed in int32."""

PRODUCT_COSTS = 0.016, 0.8, 1.0, 3.0
DOUBLE_PRODUCT_COSTS = 0.032, 1.0, 1.1, 3.5
"""Nanoseconds of the product in float32 and in float64, as measured: of a row and an entry, of a row and a split, of a
row and a feature, and of an entry of the matrix. The way that is cheaper by these costs takes 1 % longer than
the faster one in the mean of 252 measured cases."""


def gram(
    part: RowBlock,
    margins: Int32[Array, " n"],
    grid: MarginGrid,
    table: Int[Array, " bins"],
    splits: Sequence[Split],
) -> Float[Array, "t1 t1"]:
    """Return V' diag(c r) V, with r_n = table[bin of margin n] and V the values of the splits and the labels.

    Rows with r = 0 are skipped. The last row belongs to the labels: (U'r, sum r). If there are many splits of few
    features and many rows, the matrix follows from sums over cells, for two features at a time; otherwise it is a
    product. Both are exact, so the way does not matter.
    """
    features, is_small = {split.feature for split in splits}, part.c is None
    accumulator: _GramByCells | _GramByProducts | None = None
    for block, rows, r in _rows_with_curvature(part, margins, grid, table):
        if accumulator is None:  # these rows tell how many have r > 0
            n_rows = len(r) / (block.stop - block.start) * part.n
            sizes = n_rows, len(splits), len(features), is_small
            is_by_cells = sums_over_cells_are_faster(*sizes)
            is_compiled = uses_compiled_loops(_entry_count(n_rows, len(features)) if is_by_cells else 0)
            if is_compiled:
                is_by_cells = sums_over_cells_are_faster(*sizes, is_compiled=True)
            if not is_by_cells:
                accumulator = _GramByProducts(splits, is_small)
            else:
                accumulator = (
                    _GramByCompiledCells(splits, _sum_type(part.total)) if is_compiled else _GramByCells(splits)
                )
        accumulator.add({j: part.codes[j][block] for j in features}, rows, part.y[block][rows], r)
    t = len(splits)
    return np.zeros((t + 1, t + 1)) if accumulator is None else accumulator.total


def cell_sums(
    part: RowBlock,
    margins: Int32[Array, " n"],
    grid: MarginGrid,
    table: Int[Array, " bins"],
    splits: Sequence[Split],
    n_examples: int,
) -> tuple[Int[Array, " pairs"], Float[Array, " cells"], Float[Array, " cells"]]:
    """Return the sums over cells from which the matrix of `gram` follows; all are exact.

    The splits of a feature, in the order of their codes, divide its codes into cells, one more than splits. Cells of
    features with a lower number come first.

    Parameters
    ----------
    n_examples
        The number of examples of all row blocks whose sums are added.

    Returns
    -------
    tuple
        The sums of c r over the pairs of cells of two features a and b < a, with a fixed pair of features after
        another, and the sums of c r and of c r y over the cells.
    """
    features, sum_type = {split.feature for split in splits}, _sum_type(n_examples)
    accumulator: _GramByCells | None = None
    for block, rows, r in _rows_with_curvature(part, margins, grid, table):
        if accumulator is None:
            n_rows = len(r) / (block.stop - block.start) * part.n
            is_compiled = uses_compiled_loops(_entry_count(n_rows, len(features)))
            accumulator = _GramByCompiledCells(splits, sum_type) if is_compiled else _GramByCells(splits)
        accumulator.add({j: part.codes[j][block] for j in features}, rows, part.y[block][rows], r)
    pair_sums, sums, label_sums = (_GramByCells(splits) if accumulator is None else accumulator).sums
    return pair_sums.astype(sum_type, copy=False), sums, label_sums


def _sum_type(n_examples: int) -> type[np.integer[Any]]:
    """Return the type of sums of curvatures over pairs of cells, for so many examples."""
    return np.int32 if n_examples <= MAX_INT32_EXAMPLES else np.int64


def _rows_with_curvature(
    part: RowBlock, margins: Int32[Array, " n"], grid: MarginGrid, table: Int[Array, " bins"]
) -> Iterator[tuple[slice, Int[Array, " k"], Float[Array, " k"]]]:
    """Yield blocks of rows, the numbers of their rows with r > 0, and c r of these rows."""
    curvatures = table.astype(np.float64)
    bin_numbers, code, r = np.empty(BLOCK_ROWS, np.int32), np.empty(BLOCK_ROWS, np.intp), np.empty(BLOCK_ROWS)
    for i in range(0, part.n, BLOCK_ROWS):
        m = margins[i : i + BLOCK_ROWS]
        n = len(m)
        np.copyto(code[:n], grid.bin_index(m, bin_numbers[:n]))
        np.take(curvatures, code[:n], out=r[:n], mode="clip")
        if part.c is not None:
            r[:n] *= part.c[i : i + n]
        nonzero = np.flatnonzero(r[:n])
        if len(nonzero):
            yield slice(i, i + n), nonzero, r[nonzero]


def _entry_count(n_rows: float, n_features: int) -> int:
    """Return the number of entries that sums over cells of features and of their pairs read."""
    return int(n_rows) * (n_features * (n_features + 1) // 2)


def sums_over_cells_are_faster(
    n_rows: float, n_splits: int, n_features: int, is_small: bool, is_compiled: bool = False
) -> bool:
    """Return whether the sums over cells cost less than the product, by measured costs.

    Parameters
    ----------
    n_rows
        The estimated number of rows with r > 0.
    n_splits, n_features
        The numbers of splits and of their features.
    is_small
        Whether the product is in float32.
    is_compiled
        Whether compiled loops sum over pairs of cells.
    """
    n_pairs, n_entries = 0.5 * n_features * (n_features - 1), n_splits * n_splits
    pair_row, feature_row, pair, entry, call = COMPILED_CELL_COSTS if is_compiled else CELL_COSTS
    by_cells = n_rows * (pair_row * n_pairs + feature_row * n_features) + pair * n_features**2 + entry * n_entries
    entry_row, split_row, feature_row, entry = PRODUCT_COSTS if is_small else DOUBLE_PRODUCT_COSTS
    of_row = entry_row * n_entries + split_row * n_splits + feature_row * n_features
    return by_cells + call < n_rows * of_row + entry * n_entries


class _GramByProducts:
    """The matrix V' diag(r) V from a product of the indicators of the rows above each split.

    Let S_qp be the sum of r over the rows above both splits, and R the sum over all rows. S_qq is the sum above
    split q. Up to the signs, an entry is 4 S_qp - 2 S_qq - 2 S_pp + R. The product is in float32 if r <= 2^8: sums of
    `PRODUCT_ROWS` such numbers are below 2^24.
    """

    def __init__(self, splits: Sequence[Split], small: bool) -> None:
        t, dtype = len(splits), np.dtype(np.float32 if small else np.float64)
        feature, code, sign = split_columns(splits)
        self._sign, self._order = np.append(sign, 1.0), np.argsort(feature, kind="stable")
        features, starts = np.unique(feature[self._order], return_index=True)
        cuts = code[self._order, np.newaxis]
        self._cuts = {
            j: (slice(start, end), cuts[start:end])
            for j, (start, end) in zip(features.tolist(), pairwise([*starts.tolist(), t]), strict=True)
        }
        self._r_sum, self._sums, self._product = 0.0, np.zeros((t + 1, t + 1)), np.zeros((t + 1, t + 1), dtype)
        self._indicators, self._weighted = (
            np.empty((t + 1, PRODUCT_ROWS), dtype),
            np.empty((t + 1, PRODUCT_ROWS), dtype),
        )

    def add(
        self,
        codes: Mapping[int, UInt[Array, " n"]],
        rows: Int[Array, " k"],
        y: Int8[Array, " k"],
        r: Float[Array, " k"],
    ) -> None:
        """Add some of the rows with these codes."""
        self._r_sum += float(r.sum())
        has_all_rows = len(rows) == len(next(iter(codes.values()), rows))
        for k in range(0, len(r), PRODUCT_ROWS):
            part = slice(k, k + PRODUCT_ROWS) if has_all_rows else rows[k : k + PRODUCT_ROWS]
            n = len(r[k : k + PRODUCT_ROWS])
            indicators, weighted = self._indicators[:, :n], self._weighted[:, :n]
            for j, (place, cuts) in self._cuts.items():
                code = codes[j][part]
                np.greater(code, cuts.astype(code.dtype), out=indicators[place], casting="unsafe")
            np.greater(y[k : k + PRODUCT_ROWS], 0, out=indicators[-1], casting="unsafe")
            np.multiply(indicators, r[k : k + PRODUCT_ROWS].astype(indicators.dtype), out=weighted)
            # The matrix is symmetric: without a quarter of it, the product takes 0.87 of the time.
            half, product = len(indicators) // 2, self._product
            np.matmul(weighted[:half], indicators[:half].T, out=product[:half, :half])
            np.matmul(weighted[half:], indicators.T, out=product[half:])
            self._sums += product

    @property
    def total(self) -> Float[Array, "t1 t1"]:
        """The sum over all added rows."""
        half, place = len(self._sums) // 2, np.append(np.argsort(self._order), len(self._order))
        self._sums[:half, half:] = self._sums[half:, :half].T
        sums = self._sums.take(place, axis=0).take(place, axis=1)
        twice = 2.0 * sums.diagonal()
        total = _entries(sums, twice, twice, self._r_sum)
        total *= self._sign
        total *= self._sign[:, np.newaxis]
        return total


class _GramByCells:
    """The same matrix from the cells into which the splits of a feature divide its codes.

    Let S_q be the sum of r over the rows above split q, S_qp the sum over the rows above both, and R the sum over
    all rows. Up to the signs, an entry is 4 S_qp - 2 S_q - 2 S_p + R.
    """

    def __init__(
        self,
        splits: Sequence[Split],
        pair_type: type[np.number[Any]] = np.float64,
        cell_type: type[np.number[Any]] = np.float64,
    ) -> None:
        feature, code, sign = split_columns(splits)
        order = np.lexsort((code, feature))
        features, starts, counts = np.unique(feature[order], return_index=True, return_counts=True)
        self._features, self._starts, self._sizes = features.tolist(), starts, counts + 1
        self._tables = _cells_of_codes(code[order], starts, counts)
        self._cut_of_split, self._sign = np.argsort(order), sign.astype(np.float64)
        self._first, self._second = np.tril_indices(len(counts), -1)  # the features a and b < a of each pair
        self._pair_ends = np.cumsum(self._sizes[self._first] * self._sizes[self._second])
        self._pair_sums = np.zeros(self._pair_ends[-1] if len(self._pair_ends) else 0, pair_type)
        self._cell_ends = np.cumsum(self._sizes)
        self._sums, self._label_sums = np.zeros((2, self._cell_ends[-1]), cell_type)

    def add(
        self,
        codes: Mapping[int, UInt[Array, " n"]],
        rows: Int[Array, " k"],
        y: Int8[Array, " k"],
        r: Float[Array, " k"],
    ) -> None:
        """Add some of the rows with these codes."""
        signed, place = r * y, np.empty(len(r), np.intp)
        cells = [
            np.take(table, codes[j][rows], mode="clip") for j, table in zip(self._features, self._tables, strict=True)
        ]
        for cell, sums, label_sums in zip(cells, *self._sums_of_features(), strict=True):
            sums += np.bincount(cell, r, len(sums))
            label_sums += np.bincount(cell, signed, len(label_sums))
        for a, b, both in self._sums_of_pairs():
            np.multiply(cells[a], self._sizes[b], out=place)
            place += cells[b]
            both += np.bincount(place, r, len(both))

    def _sums_of_features(self) -> tuple[list[Num[Array, " _"]], list[Num[Array, " _"]]]:
        """Return the sums over the cells of each feature, without and with labels; they may be changed in place."""
        ends = self._cell_ends[:-1]
        return np.split(self._sums, ends), np.split(self._label_sums, ends)

    def _sums_of_pairs(self) -> Iterator[tuple[int, int, Num[Array, " cells"]]]:
        """Yield pairs of features with the sums over their pairs of cells, which may be changed in place."""
        sums_of_pairs = np.split(self._pair_sums, self._pair_ends)[:-1]
        return zip(self._first.tolist(), self._second.tolist(), sums_of_pairs, strict=True)

    @property
    def sums(self) -> tuple[Num[Array, " pairs"], Float[Array, " cells"], Float[Array, " cells"]]:
        """The sums over all added rows, as `cell_sums` returns them."""
        return self._pair_sums, self._sums, self._label_sums

    @property
    def total(self) -> Float[Array, "t1 t1"]:
        """The matrix of all added rows."""
        # With thousands of splits, each pass over the matrix costs as much as the counts. So the sums of a pair of
        # features become entries while they are in the cache, and rows are permuted before columns.
        entries, count = self._entries_by_cut(), len(self._cut_of_split)
        cut_of_split, sign = np.append(self._cut_of_split, count), np.append(self._sign, 1.0)
        total = entries.take(cut_of_split, axis=0).take(cut_of_split, axis=1)
        total *= sign
        total *= sign[:, np.newaxis]
        return total

    def _entries_by_cut(self) -> Float[Array, "t1 t1"]:
        """Return the matrix in the order of the cuts, of splits with the sign 1."""
        count, ends = len(self._cut_of_split), self._starts + self._sizes - 1
        all_sums, all_label_sums = self._sums_of_features()
        R, entries = float(all_sums[0].sum()), np.empty((count + 1, count + 1))
        twice = [2.0 * _sums_above(sums) for sums in all_sums]
        for a, (start, end) in enumerate(zip(self._starts, ends, strict=True)):
            higher = np.maximum.outer(np.arange(end - start), np.arange(end - start))
            entries[start:end, start:end] = _entries(0.5 * twice[a][higher], twice[a], twice[a], R)
            label_entries = 2.0 * _sums_above(all_label_sums[a]) - float(all_label_sums[a].sum())
            entries[count, start:end] = entries[start:end, count] = label_entries
        for a, b, cells in self._sums_of_pairs():
            both = _sums_above(_sums_above(cells.reshape(self._sizes[a], self._sizes[b])).T).T
            pair_entries = _entries(both, twice[a], twice[b], R)
            entries[self._starts[a] : ends[a], self._starts[b] : ends[b]] = pair_entries
            entries[self._starts[b] : ends[b], self._starts[a] : ends[a]] = pair_entries.T
        entries[count, count] = R
        return entries


class _GramByCompiledCells(_GramByCells):
    """The same by compiled loops, which sum over many stored rows at a time."""

    def __init__(self, splits: Sequence[Split], pair_type: type[np.integer[Any]]) -> None:
        super().__init__(splits, pair_type, np.int64)
        n_features, code_type = len(self._features), np.uint8 if self._sizes.max() <= 256 else np.uint16
        self._tables = [table.astype(code_type) for table in self._tables]
        n_stored = min(MAX_STORED_ROWS, max(BLOCK_ROWS, MAX_STORED_CELLS // n_features))
        self._cells = np.empty((n_features, n_stored), code_type)
        self._r, self._signed, self._n_stored = np.empty(n_stored, np.int32), np.empty(n_stored, np.int32), 0

    def add(
        self,
        codes: Mapping[int, UInt[Array, " n"]],
        rows: Int[Array, " k"],
        y: Int8[Array, " k"],
        r: Float[Array, " k"],
    ) -> None:
        from boostopt.rows.compiled_loops import write_cells

        if self._n_stored + len(r) > len(self._r):
            self._sum_stored_rows()
        start, end = self._n_stored, self._n_stored + len(r)
        for row, table, j in zip(self._cells, self._tables, self._features, strict=True):
            write_cells(np.ascontiguousarray(codes[j]), rows, table, row[start:end])
        self._r[start:end] = r
        np.multiply(self._r[start:end], y, out=self._signed[start:end])
        self._n_stored = end

    def _sum_stored_rows(self) -> None:
        """Add the stored rows to the sums over cells."""
        from boostopt.rows.compiled_loops import add_sums_over_cells, add_sums_over_pairs

        r, signed = self._r[: self._n_stored], self._signed[: self._n_stored]
        add_sums_over_cells(self._cells, self._sizes, r, signed, self._sums, self._label_sums)

        def add_pairs(first: int, end: int) -> None:
            add_sums_over_pairs(self._cells, self._sizes, r, first, end, self._pair_sums)

        map_ranges(add_pairs, len(self._first), len(self._first) * len(r))
        self._n_stored = 0

    @property
    def sums(self) -> tuple[Num[Array, " pairs"], Float[Array, " cells"], Float[Array, " cells"]]:
        self._sum_stored_rows()
        return self._pair_sums, self._sums.astype(np.float64), self._label_sums.astype(np.float64)

    def _entries_by_cut(self) -> Float[Array, "t1 t1"]:
        from boostopt.rows.compiled_loops import write_entries

        entries = np.empty((len(self._cut_of_split) + 1, len(self._cut_of_split) + 1))
        write_entries(self._sizes, *self.sums, entries)
        return entries


def _entries(
    both: Float[Array, "cuts1 cuts2"], twice1: Float[Array, " cuts1"], twice2: Float[Array, " cuts2"], R: float
) -> Float[Array, "cuts1 cuts2"]:
    """Return 4 S_qp - 2 S_q - 2 S_p + R from the sums above both cuts, twice the sums above each, and R."""
    entries = 4.0 * both
    entries -= twice2 - R
    entries -= twice1[:, np.newaxis]
    return entries


def _cells_of_codes(
    cuts: Int[Array, " cuts"], starts: Int[Array, " features"], counts: Int[Array, " features"]
) -> list[Int[Array, " _"]]:
    """Return, for each feature, the number of its cuts below each code, up to the code after its last cut.

    Higher codes count as that code. Equal cuts have an empty cell between them.

    Parameters
    ----------
    cuts, starts, counts
        The cuts of all features, the cuts of a feature in their order; the place of its first cut, and their number.
    """
    place = np.repeat(np.arange(len(counts)), counts)
    previous_cuts = np.append(-1, cuts[:-1])
    previous_cuts[starts] = -1
    lengths = np.ones(len(cuts) + len(counts), np.int64)
    lengths[np.arange(len(cuts)) + place] = cuts - previous_cuts  # the cell below each cut
    first_cells = np.repeat(starts + np.arange(len(counts)), counts + 1)
    tables = np.repeat(np.arange(len(lengths)) - first_cells, lengths)
    return np.split(tables, np.cumsum(cuts[starts + counts - 1] + 2)[:-1])


def _sums_above(cells: Float[Array, "*cells"]) -> Float[Array, "*cuts"]:
    """Return the sums over the cells above each cut."""
    return np.cumsum(cells[:0:-1], axis=0)[::-1]
