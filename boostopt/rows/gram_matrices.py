"""Gram matrices of splits over a row block, weighted by a function of the margins; exact, as in `block_sums`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float, Int, Int8, Int32, UInt
from boostopt.rows.feature_encoding import BLOCK_ROWS
from boostopt.rows.loop_selection import map_ranges, uses_compiled_loops
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import RowBlock, Split

PRODUCT_ROWS = 2048
"""Rows of a block of the matrix product."""

CELL_COSTS = 1.9, 7.4, 9_800.0, 2.3, 90_000.0
"""Nanoseconds of the sums over cells, as measured: of a row and a pair of features, of a row and a feature, of an
ordered pair of features, of an entry of the matrix, and of a call."""

COMPILED_PAIR_COST = 0.8
"""Nanoseconds of a row and a pair of features in compiled sums over cells, as measured with 20 to 120 cells."""

MAX_STORED_ROWS, MAX_STORED_CELLS = 1 << 17, 1 << 22
"""Rows, and cells of all features, that are stored before compiled loops sum them: the sums of a pair of features then
stay in the cache while many rows are added."""

MAX_INT32_ROWS = 1 << 22
"""Rows whose curvatures, each at most 2^8, are summed in int32."""

PRODUCT_COSTS = 0.021, 3.4, 3.6
DOUBLE_PRODUCT_COSTS = 0.048, 3.4, 8.0
"""Nanoseconds of the product in float32 and in float64, as measured: of a row and an entry, of a row and a
split, and of an entry of the matrix. The way that is cheaper by these costs takes 2 % longer than the faster one in the
mean of 120 measured cases. A limit of splits of a feature takes 18 % longer."""


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
            if accumulator is None:  # these rows tell how many have r > 0
                n_rows = len(nonzero) / n * part.n
                is_by_cells = sums_over_cells_are_faster(n_rows, len(splits), len(features), is_small)
                n_sums = len(features) * (len(features) + 1) // 2  # of features and of pairs
                is_compiled = uses_compiled_loops(int(n_rows) * n_sums if is_by_cells else 0)
                if is_compiled:
                    is_by_cells = sums_over_cells_are_faster(n_rows, len(splits), len(features), is_small, True)
                if not is_by_cells:
                    accumulator = _GramByProducts(splits, is_small)
                else:
                    accumulator = _GramByCompiledCells(splits, is_small) if is_compiled else _GramByCells(splits)
            codes = {j: part.codes[j][i : i + n] for j in features}
            accumulator.add(codes, nonzero, part.y[i : i + n][nonzero], r[nonzero])
    t = len(splits)
    return np.zeros((t + 1, t + 1)) if accumulator is None else accumulator.total


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
    pair_row, feature_row, pair, entry, call = CELL_COSTS
    if is_compiled:
        pair_row = COMPILED_PAIR_COST
    by_cells = n_rows * (pair_row * n_pairs + feature_row * n_features) + pair * n_features**2 + entry * n_entries
    entry_row, split_row, entry = PRODUCT_COSTS if is_small else DOUBLE_PRODUCT_COSTS
    return by_cells + call < n_rows * (entry_row * n_entries + split_row * n_splits) + entry * n_entries


class _GramByProducts:
    """The matrix V' diag(r) V as a product.

    The product is in float32 if r <= 2^8: sums of `PRODUCT_ROWS` such numbers are below 2^24.
    """

    def __init__(self, splits: Sequence[Split], small: bool) -> None:
        t, dtype = len(splits), np.dtype(np.float32 if small else np.float64)
        self.total, self._product = np.zeros((t + 1, t + 1)), np.empty((t + 1, t + 1), dtype)
        self._V, self._weighted = np.empty((t + 1, PRODUCT_ROWS), dtype), np.empty((t + 1, PRODUCT_ROWS), dtype)
        columns = np.array(splits, np.int64).reshape(-1, 3)
        self._features, self._feature_of_split = np.unique(columns[:, 0], return_inverse=True)
        self._code, self._is_negative = columns[:, 1:2], columns[:, 2:] < 0

    def add(
        self,
        codes: Mapping[int, UInt[Array, " n"]],
        rows: Int[Array, " k"],
        y: Int8[Array, " k"],
        r: Float[Array, " k"],
    ) -> None:
        """Add some of the rows with these codes."""
        selected = np.stack([codes[j][rows] for j in self._features.tolist()])
        code = self._code.astype(selected.dtype)
        for k in range(0, len(r), PRODUCT_ROWS):
            n = len(r[k : k + PRODUCT_ROWS])
            v, weight = self._V[:, :n], self._weighted[:, :n]
            # The values are made in one byte each, which takes a quarter of the time.
            is_positive = np.greater(selected[:, k : k + n].take(self._feature_of_split, axis=0), code)
            is_positive ^= self._is_negative
            values = is_positive.view(np.int8)
            values += values
            values -= 1
            v[:-1], v[-1] = values, y[k : k + n]
            np.multiply(v, r[k : k + n], out=weight, casting="same_kind")
            self.total += np.matmul(weight, v.T, out=self._product)


class _GramByCells:
    """The same matrix from the cells into which the splits of a feature divide its codes.

    Let S_q be the sum of r over the rows above split q, S_qp the sum over the rows above both, and R the sum over
    all rows. Up to the signs, an entry is 4 S_qp - 2 S_q - 2 S_p + R.
    """

    def __init__(self, splits: Sequence[Split]) -> None:
        self._features = sorted({split.feature for split in splits})
        cuts = {j: np.unique([split.code for split in splits if split.feature == j]) for j in self._features}
        # The number of cuts below each code; higher codes count as the code after the last cut.
        self._cell = {j: _cell_of_code(cut) for j, cut in cuts.items()}
        sizes = np.array([len(cut) for cut in cuts.values()])
        first = dict(zip(self._features, np.cumsum(sizes) - sizes, strict=True))
        self._cut_of_split = np.array([first[s.feature] + np.searchsorted(cuts[s.feature], s.code) for s in splits])
        self._sign = np.array([split.sign for split in splits], dtype=np.float64)
        self._sizes, self._starts = sizes + 1, np.cumsum(sizes) - sizes
        self._pairs = [(a, b) for a in range(len(sizes)) for b in range(a)]
        pair_sizes = [int(self._sizes[a] * self._sizes[b]) for a, b in self._pairs]
        self._all_pair_sums = np.zeros(sum(pair_sizes))
        self._pair_sums = np.split(self._all_pair_sums, np.cumsum(pair_sizes)[:-1])[: len(self._pairs)]
        self._sums = [np.zeros(size) for size in self._sizes.tolist()]
        self._label_sums = [np.zeros(size) for size in self._sizes.tolist()]

    def add(
        self,
        codes: Mapping[int, UInt[Array, " n"]],
        rows: Int[Array, " k"],
        y: Int8[Array, " k"],
        r: Float[Array, " k"],
    ) -> None:
        """Add some of the rows with these codes."""
        signed, place = r * y, np.empty(len(r), np.intp)
        cells = [np.take(self._cell[j], codes[j][rows], mode="clip") for j in self._features]
        for cell, sums, label_sums in zip(cells, self._sums, self._label_sums, strict=True):
            sums += np.bincount(cell, r, len(sums))
            label_sums += np.bincount(cell, signed, len(label_sums))
        for (a, b), both in zip(self._pairs, self._pair_sums, strict=True):
            np.multiply(cells[a], self._sizes[b], out=place)
            place += cells[b]
            both += np.bincount(place, r, len(both))

    @property
    def total(self) -> Float[Array, "t1 t1"]:
        """The sum over all added rows."""
        # With thousands of splits, each pass over the matrix costs as much as the counts. So the sums of a pair of
        # features become entries while they are in the cache, and rows are permuted before columns.
        count, ends = int(self._starts[-1] + self._sizes[-1] - 1), self._starts + self._sizes - 1
        R, entries = float(self._sums[0].sum()), np.empty((count + 1, count + 1))
        twice = [2.0 * _sums_above(sums) for sums in self._sums]
        for a, (start, end) in enumerate(zip(self._starts, ends, strict=True)):
            higher = np.maximum.outer(np.arange(end - start), np.arange(end - start))
            entries[start:end, start:end] = _entries(0.5 * twice[a][higher], twice[a], twice[a], R)
            label_entries = 2.0 * _sums_above(self._label_sums[a]) - float(self._label_sums[a].sum())
            entries[count, start:end] = entries[start:end, count] = label_entries
        for (a, b), cells in zip(self._pairs, self._pair_sums, strict=True):
            both = _sums_above(_sums_above(cells.reshape(self._sizes[a], self._sizes[b])).T).T
            pair_entries = _entries(both, twice[a], twice[b], R)
            entries[self._starts[a] : ends[a], self._starts[b] : ends[b]] = pair_entries
            entries[self._starts[b] : ends[b], self._starts[a] : ends[a]] = pair_entries.T
        entries[count, count] = R
        cut_of_split, sign = np.append(self._cut_of_split, count), np.append(self._sign, 1.0)
        total = entries.take(cut_of_split, axis=0).take(cut_of_split, axis=1)
        total *= sign
        total *= sign[:, np.newaxis]
        return total


class _GramByCompiledCells(_GramByCells):
    """The same by compiled loops. The sums over pairs of cells are in int32 if r <= 2^8, and for few rows at a time."""

    def __init__(self, splits: Sequence[Split], small: bool) -> None:
        super().__init__(splits)
        n_features = len(self._features)
        self._table = {j: cell.astype(np.uint16) for j, cell in self._cell.items()}
        n_stored = min(MAX_STORED_ROWS, max(BLOCK_ROWS, MAX_STORED_CELLS // n_features))
        self._cells = np.empty((n_features, n_stored), np.uint16)
        self._r, self._signed = np.empty(n_stored, np.int32), np.empty(n_stored, np.int32)
        self._n_stored, self._n_summed, self._is_small = 0, 0, small
        self._new_pair_sums = np.zeros(len(self._all_pair_sums), np.int32 if small else np.int64)
        n_cells = int(self._sizes.sum())
        self._new_sums, self._new_label_sums = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)

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
        for row, j in zip(self._cells, self._features, strict=True):
            write_cells(np.ascontiguousarray(codes[j]), rows, self._table[j], row[start:end])
        self._r[start:end] = r
        np.multiply(self._r[start:end], y, out=self._signed[start:end])
        self._n_stored = end

    def _sum_stored_rows(self) -> None:
        """Add the stored rows to the new sums over cells."""
        from boostopt.rows.compiled_loops import add_sums_over_cells, add_sums_over_pairs

        r, signed = self._r[: self._n_stored], self._signed[: self._n_stored]
        if self._is_small and self._n_summed + len(r) > MAX_INT32_ROWS:
            self._add_new_pair_sums()
        add_sums_over_cells(self._cells, self._sizes, r, signed, self._new_sums, self._new_label_sums)

        def add_pairs(first: int, end: int) -> None:
            add_sums_over_pairs(self._cells, self._sizes, r, first, end, self._new_pair_sums)

        map_ranges(add_pairs, len(self._pairs), len(self._pairs) * len(r))
        self._n_stored, self._n_summed = 0, self._n_summed + len(r)

    def _add_new_pair_sums(self) -> None:
        """Add the new sums over pairs of cells to those of float64."""
        self._all_pair_sums += self._new_pair_sums
        self._new_pair_sums[:] = 0
        self._n_summed = 0

    @property
    def total(self) -> Float[Array, "t1 t1"]:
        self._sum_stored_rows()
        self._add_new_pair_sums()
        ends = np.cumsum(self._sizes)[:-1]
        for sums, new_sums in zip(self._sums, np.split(self._new_sums, ends), strict=True):
            sums += new_sums
        for sums, new_sums in zip(self._label_sums, np.split(self._new_label_sums, ends), strict=True):
            sums += new_sums
        self._new_sums[:] = 0
        self._new_label_sums[:] = 0
        return super().total


def _entries(
    both: Float[Array, "cuts1 cuts2"], twice1: Float[Array, " cuts1"], twice2: Float[Array, " cuts2"], R: float
) -> Float[Array, "cuts1 cuts2"]:
    """Return 4 S_qp - 2 S_q - 2 S_p + R from the sums above both cuts, twice the sums above each, and R."""
    entries = 4.0 * both
    entries -= twice2 - R
    entries -= twice1[:, np.newaxis]
    return entries


def _cell_of_code(cuts: Int[Array, " cuts"]) -> Int[Array, " codes"]:
    """Return the number of cuts below each code, up to the code after the last cut."""
    return np.repeat(np.arange(len(cuts) + 1), np.diff(cuts, prepend=-1, append=cuts[-1] + 1))


def _sums_above(cells: Float[Array, "*cells"]) -> Float[Array, "*cuts"]:
    """Return the sums over the cells above each cut."""
    return np.cumsum(cells[:0:-1], axis=0)[::-1]
