"""Binned features: the code of an entry is the number of thresholds of its feature that lie below the entry.

x > threshold k is code > k, so codes determine the values of all stumps. Codes are stored by feature, because
features are read one at a time, from memory or from a mapped file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float, Int, UInt
from boostopt._utils.immutable_arrays import as_immutable
from boostopt.rows.encoding_grid import FeatureEncoder
from boostopt.rows.loop_selection import uses_compiled_loops

BLOCK_ROWS = 1 << 14
"""Rows of a block: temporary arrays of this length stay in the cache."""

LOW_BITS = 31
"""Bits of the lower part of an int64 whose two parts are summed as floats."""

MIN_DENSE_FRACTION = 0.7
"""Fraction of nonzero weights below which a block is compressed to the rows with nonzero weight."""


@dataclass(frozen=True, eq=False)
class BinnedFeatures:
    """Codes, and the thresholds that they refer to.

    Attributes
    ----------
    codes
        The codes, shape (features, N), uint8 or uint16.
    thresholds_by_feature
        The thresholds of each feature, ascending; empty for a constant feature.
    varying_features
        The features that have thresholds, ascending.
    thresholds
        The thresholds of all features, one feature after the other.
    first_threshold
        The position in `thresholds` of the first threshold of each of `varying_features`.
    """

    codes: UInt[Array, "features N"]
    thresholds_by_feature: Sequence[Float[Array, " _"]]
    varying_features: Int[Array, " varying"]
    thresholds: Float[Array, " thresholds"]
    first_threshold: Int[Array, " varying"]

    @classmethod
    def from_codes(cls, codes: UInt[Array, "features N"], cuts: Sequence[Float[Array, " _"]]) -> BinnedFeatures:
        """Return the binned features with these codes and thresholds."""
        sizes = np.array([len(cut) for cut in cuts], dtype=np.int64)
        features = np.flatnonzero(sizes)
        thresholds, starts = np.concatenate([np.empty(0), *cuts]), (np.cumsum(sizes) - sizes)[features]
        return cls(codes, tuple(map(as_immutable, cuts)), *map(as_immutable, (features, thresholds, starts)))

    @property
    def N(self) -> int:
        """Number of rows."""
        return self.codes.shape[1]

    def threshold_edges(self, s: Int[Array, " N"]) -> Int[Array, " thresholds"]:
        """Return sum_n s_n h(x_n), exactly, for h(x) = 1 above the threshold and -1 below; s is int64.

        Sums may overflow, but the edges are still exact: int64 arithmetic is modulo 2^64, so that only the edges
        themselves must fit.
        """
        total = s.sum()
        edges = [total - 2 * np.cumsum(sums)[:-1] for sums in self.sums_by_code(s)]
        return np.concatenate([np.empty(0, dtype=np.int64), *edges])

    def sums_by_code(self, s: Int[Array, " N"]) -> list[Int[Array, " _"]]:
        """Return the sum of s over the rows of each code, for each of `varying_features`, modulo 2^64.

        Each s is split into two numbers of at most 33 bits, whose sums over a block float64 holds exactly.
        """
        sizes = [len(self.thresholds_by_feature[j]) + 1 for j in self.varying_features]
        sums = [np.zeros(size, dtype=np.int64) for size in sizes]
        if uses_compiled_loops(self.N * len(sizes)):
            self._add_compiled_sums(s, sums)
            return sums
        rows = max(BLOCK_ROWS, 4 * max(sizes, default=1))  # below 2^19: sums of 33 bits then have at most 52
        buffer = np.empty(rows, dtype=np.intp)
        for i in range(0, self.N, rows):
            part = s[i : i + rows]
            nonzero = np.flatnonzero(part)
            is_sparse = len(nonzero) < MIN_DENSE_FRACTION * len(part)
            part = part[nonzero] if is_sparse else part
            upper = part >> LOW_BITS
            high, low = upper.astype(np.float64), (part - (upper << LOW_BITS)).astype(np.float64)
            place = buffer[: len(part)]
            for j, code_sums, size in zip(self.varying_features, sums, sizes, strict=True):
                code = self.codes[j, i : i + rows]
                np.copyto(place, code[nonzero] if is_sparse else code)
                code_sums += np.bincount(place, high, size).astype(np.int64) << LOW_BITS
                code_sums += np.bincount(place, low, size).astype(np.int64)
        return sums

    def _add_compiled_sums(self, s: Int[Array, " N"], sums: Sequence[Int[Array, " _"]]) -> None:
        """Add the sums of `sums_by_code` by compiled loops."""
        from boostopt.rows.compiled_loops import add_sums_by_code, add_sums_by_code_of_rows

        for i in range(0, self.N, BLOCK_ROWS):
            part = np.ascontiguousarray(s[i : i + BLOCK_ROWS], np.int64)
            nonzero = np.flatnonzero(part)
            is_sparse = len(nonzero) < MIN_DENSE_FRACTION * len(part)
            rows, values = nonzero.astype(np.int32), part[nonzero] if is_sparse else part
            for j, code_sums in zip(self.varying_features, sums, strict=True):
                codes = np.ascontiguousarray(self.codes[j, i : i + BLOCK_ROWS])
                if is_sparse:
                    add_sums_by_code_of_rows(codes, rows, values, code_sums)
                else:
                    add_sums_by_code(codes, values, code_sums)

    def is_above(self, i: int) -> Bool[Array, " N"]:
        """Return which rows lie above threshold i."""
        k = int(np.searchsorted(self.first_threshold, i, side="right")) - 1
        return np.greater(self.codes[self.varying_features[k]], i - self.first_threshold[k])


class BlockEncoder:
    """The encoder of blocks of rows.

    Parameters
    ----------
    cuts
        The thresholds of each feature to encode, ascending.
    dtype
        The type of the codes: uint8 for at most 255 thresholds of a feature, else uint16.
    n_rows
        Number of rows of all blocks: features of few rows are encoded by a binary search.
    """

    features: Mapping[int, FeatureEncoder]

    def __init__(self, cuts: Mapping[int, Float[Array, " _"]], dtype: np.dtype[Any], n_rows: int) -> None:
        self.features = {j: FeatureEncoder(cut, dtype, n_rows) for j, cut in cuts.items()}

    def encode(self, block: Float[Array, "rows features"], codes: UInt[Array, "features rows"]) -> None:
        """Write the codes of a block of rows: the number of thresholds below each entry."""
        for j, feature in self.features.items():
            feature.encode(np.ascontiguousarray(block[:, j]), codes[j])
