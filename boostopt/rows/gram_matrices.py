"""Gram matrices of splits over a row block, weighted by a function of the margins; exact, as in `block_sums`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float, Int, Int8, Int32, UInt
from boostopt.rows.feature_encoding import BLOCK_ROWS
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import RowBlock, Split

PRODUCT_ROWS = 2048
"""Rows of a block of the matrix product."""

CELLS_FROM_SPLITS_PER_FEATURE = 6
"""Splits of a feature above which cells are counted: a count costs as much as some 50 products."""


def gram(
    part: RowBlock,
    margins: Int32[Array, " n"],
    grid: MarginGrid,
    table: Int[Array, " bins"],
    splits: Sequence[Split],
) -> Float[Array, "t1 t1"]:
    """Return V' diag(c r) V, with r_n = table[bin of margin n] and V the values of the splits and the labels.

    Rows with r = 0 are skipped. The last row belongs to the labels: (U'r, sum r). If there are many splits of few
    features, the matrix follows from sums over cells, for two features at a time; otherwise it is a product.
    """
    features = {split.feature for split in splits}
    accumulator = (
        _GramByCells(splits)
        if len(splits) > CELLS_FROM_SPLITS_PER_FEATURE * len(features)
        else _GramByProducts(splits, part.c is None)
    )
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
            accumulator.add(
                {j: part.codes[j][i : i + n][nonzero] for j in features}, part.y[i : i + n][nonzero], r[nonzero]
            )
    return accumulator.total


class _GramByProducts:
    """The matrix V' diag(r) V as a product.

    The product is in float32 if r <= 2^8: sums of `PRODUCT_ROWS` such numbers are below 2^24.
    """

    def __init__(self, splits: Sequence[Split], small: bool) -> None:
        t, dtype = len(splits), np.dtype(np.float32 if small else np.float64)
        self._splits, self.total, self._product = splits, np.zeros((t + 1, t + 1)), np.empty((t + 1, t + 1), dtype)
        self._V, self._weighted = np.empty((t + 1, PRODUCT_ROWS), dtype), np.empty((t + 1, PRODUCT_ROWS), dtype)

    def add(self, codes: Mapping[int, UInt[Array, " n"]], y: Int8[Array, " n"], r: Float[Array, " n"]) -> None:
        """Add rows."""
        for k in range(0, len(r), PRODUCT_ROWS):
            n = len(r[k : k + PRODUCT_ROWS])
            v, weight = self._V[:, :n], self._weighted[:, :n]
            for q, split in enumerate(self._splits):
                np.greater(codes[split.feature][k : k + n], split.code, out=v[q], casting="unsafe")
                v[q] *= 2 * split.sign
                v[q] -= split.sign
            v[-1] = y[k : k + n]
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
        self._pair_sums = [np.zeros(int(self._sizes[a] * self._sizes[b])) for a, b in self._pairs]
        self._sums = [np.zeros(size) for size in self._sizes.tolist()]
        self._label_sums = [np.zeros(size) for size in self._sizes.tolist()]

    def add(self, codes: Mapping[int, UInt[Array, " n"]], y: Int8[Array, " n"], r: Float[Array, " n"]) -> None:
        """Add rows."""
        signed, place = r * y, np.empty(len(r), np.intp)
        cells = [np.take(self._cell[j], codes[j], mode="clip") for j in self._features]
        for cell, sums, label_sums in zip(cells, self._sums, self._label_sums, strict=True):
            sums += np.bincount(cell, r, len(sums))
            label_sums += np.bincount(cell, signed, len(label_sums))
        for (a, b), both in zip(self._pairs, self._pair_sums, strict=True):
            np.multiply(cells[a], self._sizes[b], out=place)
            place += cells[b]
            both += np.bincount(place, r, len(both))

    @property
    def total(self) -> Float[Array, "t1 t1"]:
        """The sum over all rows."""
        count, ends = int(self._starts[-1] + self._sizes[-1] - 1), self._starts + self._sizes - 1
        S, S_y, both = np.empty(count), np.empty(count), np.empty((count, count))
        for sums, label_sums, start, end in zip(self._sums, self._label_sums, self._starts, ends, strict=True):
            S[start:end], S_y[start:end] = _sums_above(sums), _sums_above(label_sums)
            higher = np.maximum.outer(np.arange(start, end), np.arange(start, end))
            both[start:end, start:end] = S[higher]
        for (a, b), cells in zip(self._pairs, self._pair_sums, strict=True):
            pair_sums = _sums_above(_sums_above(cells.reshape(self._sizes[a], self._sizes[b])).T).T
            both[self._starts[a] : ends[a], self._starts[b] : ends[b]] = pair_sums
            both[self._starts[b] : ends[b], self._starts[a] : ends[a]] = pair_sums.T
        R, t, cut_of_split = float(self._sums[0].sum()), len(self._cut_of_split), self._cut_of_split
        total = np.empty((t + 1, t + 1))
        # In place: with thousands of splits, each temporary array costs as much as the counts.
        entries, twice = total[:t, :t], 2.0 * S[cut_of_split]
        np.multiply(both[np.ix_(cut_of_split, cut_of_split)], 4.0, out=entries)
        entries -= twice - R
        entries -= twice[:, np.newaxis]
        entries *= self._sign
        entries *= self._sign[:, np.newaxis]
        total[t, :t] = total[:t, t] = self._sign * (2.0 * S_y[cut_of_split] - float(self._label_sums[0].sum()))
        total[t, t] = R
        return total


def _cell_of_code(cuts: Int[Array, " cuts"]) -> Int[Array, " codes"]:
    """Return the number of cuts below each code, up to the code after the last cut."""
    return np.repeat(np.arange(len(cuts) + 1), np.diff(cuts, prepend=-1, append=cuts[-1] + 1))


def _sums_above(cells: Float[Array, "*cells"]) -> Float[Array, "*cuts"]:
    """Return the sums over the cells above each cut."""
    return np.cumsum(cells[:0:-1], axis=0)[::-1]
