"""Features coded: the code of an entry is the number of its feature's thresholds that lie below it.

x > threshold k is code > k, so that everything about stumps can be told from codes. They stand by features, for a
feature is read in one piece, from memory or from a file that is mapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float, Int, UInt
from boostopt._utils.immutable_arrays import as_immutable

BLOCK_ROWS = 1 << 14
"""Rows that are looked at together: what is made of them stays in the cache."""

LOW_BITS = 31
"""Binary places of the lower part of an int64 whose parts are summed as floats."""

COMPRESS_BELOW = 0.7
"""Share of weights other than 0 below which the others are left out first."""


@dataclass(frozen=True, eq=False)
class BinnedFeatures:
    """Codes with the thresholds that they count.

    Attributes
    ----------
    codes
        Shape (features, N), uint8 or uint16.
    thresholds_by_feature
        The thresholds of each feature, ascending; none where it is constant.
    varying_features
        Those that have thresholds, ascending.
    thresholds
        Those of all features one after the other.
    first_threshold
        At which threshold each of `varying_features` begins.
    """

    codes: UInt[Array, "features N"]
    thresholds_by_feature: Sequence[Float[Array, " _"]]
    varying_features: Int[Array, " varying"]
    thresholds: Float[Array, " thresholds"]
    first_threshold: Int[Array, " varying"]

    @classmethod
    def from_codes(cls, codes: UInt[Array, "features N"], cuts: Sequence[Float[Array, " _"]]) -> BinnedFeatures:
        """Return the table of codes and of the thresholds that they count."""
        sizes = np.array([len(cut) for cut in cuts], dtype=np.int64)
        features = np.flatnonzero(sizes)
        thresholds, starts = np.concatenate([np.empty(0), *cuts]), (np.cumsum(sizes) - sizes)[features]
        return cls(codes, tuple(map(as_immutable, cuts)), *map(as_immutable, (features, thresholds, starts)))

    @property
    def N(self) -> int:
        """Number of rows."""
        return self.codes.shape[1]

    def threshold_edges(self, s: Int[Array, " N"]) -> Int[Array, " thresholds"]:
        """Return sum_n s_n h(x_n), exactly, of h(x) = 1 above the threshold and -1 below; s are int64 numbers.

        Sums may run over, and the edges are exact none the less: int64 is computed with modulo 2^64, so that only the
        edges themselves must fit.
        """
        total = s.sum()
        edges = [total - 2 * np.cumsum(sums)[:-1] for sums in self.sums_by_code(s)]
        return np.concatenate([np.empty(0, dtype=np.int64), *edges])

    def sums_by_code(self, s: Int[Array, " N"]) -> list[Int[Array, " _"]]:
        """Return for each of `varying_features` and each code the sum of s over the rows of that code, modulo 2^64.

        Each s is split into two numbers of at most 33 bits, whose sums over some rows float64 holds exactly.
        """
        sizes = [len(self.thresholds_by_feature[j]) + 1 for j in self.varying_features]
        sums = [np.zeros(size, dtype=np.int64) for size in sizes]
        rows = max(BLOCK_ROWS, 4 * max(sizes, default=1))  # below 2^19: sums of 33 bits then have at most 52
        place = np.empty(rows, dtype=np.intp)
        for i in range(0, self.N, rows):
            part = s[i : i + rows]
            at = np.flatnonzero(part)
            few = len(at) < COMPRESS_BELOW * len(part)
            part = part[at] if few else part
            upper = part >> LOW_BITS
            high, low = upper.astype(np.float64), (part - (upper << LOW_BITS)).astype(np.float64)
            here = place[: len(part)]
            for j, of, size in zip(self.varying_features, sums, sizes, strict=True):
                code = self.codes[j, i : i + rows]
                np.copyto(here, code[at] if few else code)
                of += np.bincount(here, high, size).astype(np.int64) << LOW_BITS
                of += np.bincount(here, low, size).astype(np.int64)
        return sums

    def above(self, i: int) -> Bool[Array, " N"]:
        """Return which rows lie above threshold i."""
        k = int(np.searchsorted(self.first_threshold, i, side="right")) - 1
        return np.greater(self.codes[self.varying_features[k]], i - self.first_threshold[k])


def encode_block(
    codes: UInt[Array, "features rows"], block: Float[Array, "rows features"], cuts: Sequence[Array]
) -> None:
    """Write the codes of some rows."""
    for j, cut in enumerate(cuts):
        codes[j] = np.searchsorted(cut, block[:, j], side="left")
