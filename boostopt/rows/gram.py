"""Gram matrices of splits over a part of the rows, weighted by a table of the margins; exact, as in `block_kernels`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float, Int, Int8, Int32, UInt
from boostopt.rows.encoding import BLOCK_ROWS
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import RowBlock, Split

TOGETHER = 2048
"""Rows whose hypotheses are multiplied together."""

CELLS_FROM_SPLITS_PER_FEATURE = 6
"""Splits of a feature above which cells are counted: a count costs as much as some 50 products."""


def gram(
    part: RowBlock,
    margins: Int32[Array, " n"],
    window: MarginGrid,
    table: Int[Array, " buckets"],
    splits: Sequence[Split],
) -> Float[Array, "t1 t1"]:
    """Return V' diag(c r) V, r_n = table[bucket of margin n], V being the values of the splits and the labels.

    Rows with r = 0 are not touched. The last row is that of the labels, (U'r, sum r). Where there are many splits of
    few features it is made of counts in the cells between them, of two features at a time; else it is a product.
    """
    features = {split.feature for split in splits}
    made = (
        _GramByCells(splits)
        if len(splits) > CELLS_FROM_SPLITS_PER_FEATURE * len(features)
        else _GramByProducts(splits, part.c is None)
    )
    steep = table.astype(np.float64)
    bucket, code, r = np.empty(BLOCK_ROWS, np.int32), np.empty(BLOCK_ROWS, np.intp), np.empty(BLOCK_ROWS)
    for i in range(0, part.n, BLOCK_ROWS):
        m = margins[i : i + BLOCK_ROWS]
        n = len(m)
        np.copyto(code[:n], window.bin_index(m, bucket[:n]))
        np.take(steep, code[:n], out=r[:n], mode="clip")
        if part.c is not None:
            r[:n] *= part.c[i : i + n]
        at = np.flatnonzero(r[:n])
        if len(at):
            made.add({j: part.codes[j][i : i + n][at] for j in features}, part.y[i : i + n][at], r[at])
    return made.total


class _GramByProducts:
    """V' diag(r) V as a product: of float32 where r <= 2^8, for sums of `TOGETHER` such numbers are below 2^24."""

    def __init__(self, splits: Sequence[Split], small: bool) -> None:
        t, dtype = len(splits), np.dtype(np.float32 if small else np.float64)
        self._splits, self.total, self._product = splits, np.zeros((t + 1, t + 1)), np.empty((t + 1, t + 1), dtype)
        self._V, self._weighed = np.empty((t + 1, TOGETHER), dtype), np.empty((t + 1, TOGETHER), dtype)

    def add(self, codes: Mapping[int, UInt[Array, " n"]], y: Int8[Array, " n"], r: Float[Array, " n"]) -> None:
        """Take rows in."""
        for k in range(0, len(r), TOGETHER):
            n = len(r[k : k + TOGETHER])
            v, weight = self._V[:, :n], self._weighed[:, :n]
            for q, split in enumerate(self._splits):
                np.greater(codes[split.feature][k : k + n], split.code, out=v[q], casting="unsafe")
                v[q] *= 2 * split.sign
                v[q] -= split.sign
            v[-1] = y[k : k + n]
            np.multiply(v, r[k : k + n], out=weight, casting="same_kind")
            self.total += np.matmul(weight, v.T, out=self._product)


class _GramByCells:
    """The same by the cells into which the splits of a feature cut its codes.

    With S_q the sum of r over the rows above split q, S_qp over those above both, and R over all, an entry is
    4 S_qp - 2 S_q - 2 S_p + R, but for the signs.
    """

    def __init__(self, splits: Sequence[Split]) -> None:
        self._features = sorted({split.feature for split in splits})
        cuts = {j: np.unique([split.code for split in splits if split.feature == j]) for j in self._features}
        # The number of cuts below each code; what lies above the last cut is read as the code after it.
        self._cell = {j: _cell_of_code(cut) for j, cut in cuts.items()}
        sizes = np.array([len(cut) for cut in cuts.values()])
        first = dict(zip(self._features, np.cumsum(sizes) - sizes, strict=True))
        self._at = np.array([first[s.feature] + np.searchsorted(cuts[s.feature], s.code) for s in splits])
        self._sign = np.array([split.sign for split in splits], dtype=np.float64)
        self._sizes, self._starts = sizes + 1, np.cumsum(sizes) - sizes
        self._pairs = [(a, b) for a in range(len(sizes)) for b in range(a)]
        self._both = [np.zeros(int(self._sizes[a] * self._sizes[b])) for a, b in self._pairs]
        self._one = [np.zeros(size) for size in self._sizes.tolist()]
        self._of_y = [np.zeros(size) for size in self._sizes.tolist()]

    def add(self, codes: Mapping[int, UInt[Array, " n"]], y: Int8[Array, " n"], r: Float[Array, " n"]) -> None:
        """Take rows in."""
        signed, place = r * y, np.empty(len(r), np.intp)
        cells = [np.take(self._cell[j], codes[j], mode="clip") for j in self._features]
        for cell, one, of_y in zip(cells, self._one, self._of_y, strict=True):
            one += np.bincount(cell, r, len(one))
            of_y += np.bincount(cell, signed, len(of_y))
        for (a, b), both in zip(self._pairs, self._both, strict=True):
            np.multiply(cells[a], self._sizes[b], out=place)
            place += cells[b]
            both += np.bincount(place, r, len(both))

    @property
    def total(self) -> Float[Array, "t1 t1"]:
        """The sum over all rows."""
        count, ends = int(self._starts[-1] + self._sizes[-1] - 1), self._starts + self._sizes - 1
        S, S_y, both = np.empty(count), np.empty(count), np.empty((count, count))
        for one, of_y, start, end in zip(self._one, self._of_y, self._starts, ends, strict=True):
            S[start:end], S_y[start:end] = _sums_above(one), _sums_above(of_y)
            higher = np.maximum.outer(np.arange(start, end), np.arange(start, end))
            both[start:end, start:end] = S[higher]
        for (a, b), cells in zip(self._pairs, self._both, strict=True):
            of_both = _sums_above(_sums_above(cells.reshape(self._sizes[a], self._sizes[b])).T).T
            both[self._starts[a] : ends[a], self._starts[b] : ends[b]] = of_both
            both[self._starts[b] : ends[b], self._starts[a] : ends[a]] = of_both.T
        R, t, at = float(self._one[0].sum()), len(self._at), self._at
        total = np.empty((t + 1, t + 1))
        # In place: with thousands of splits each array that is made in between costs as much as the counts.
        entries, twice = total[:t, :t], 2.0 * S[at]
        np.multiply(both[np.ix_(at, at)], 4.0, out=entries)
        entries -= twice - R
        entries -= twice[:, np.newaxis]
        entries *= self._sign
        entries *= self._sign[:, np.newaxis]
        total[t, :t] = total[:t, t] = self._sign * (2.0 * S_y[at] - float(self._of_y[0].sum()))
        total[t, t] = R
        return total


def _cell_of_code(cuts: Int[Array, " cuts"]) -> Int[Array, " codes"]:
    """Return the number of cuts below each code, up to the code after the last cut."""
    return np.repeat(np.arange(len(cuts) + 1), np.diff(cuts, prepend=-1, append=cuts[-1] + 1))


def _sums_above(cells: Float[Array, "*cells"]) -> Float[Array, "*cuts"]:
    """Return the sums over the cells above each cut."""
    return np.cumsum(cells[:0:-1], axis=0)[::-1]
