"""Buckets of margins within a window, and the whole numbers that stand for margins, weights and curvatures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Int32

MARGIN_BITS = 30
"""Weights of hypotheses are multiples of 2^-30: margins then are whole numbers that int32 holds."""

MARGIN_SCALE = 1 << MARGIN_BITS
"""The whole number that stands for 1: the sum of the weights, the largest margin."""

N_BINS = 1 << 14
"""Buckets of margins within a window; what lies below it and above it has one more each."""

WEIGHT_SCALE = 1 << 20
"""The whole number of the largest weight of an example: sums over 2^32 examples are exact."""

CURVATURE_SCALE = 1 << 8
"""The whole number of the largest curvature."""


@dataclass(frozen=True)
class MarginGrid:
    """A range of margins that is cut into `N_BINS` buckets of 2^shift margins, from a multiple of 2^shift on."""

    origin: int
    log2_bin_width: int

    @classmethod
    def full(cls) -> MarginGrid:
        """Return the window of all margins, -1 to 1."""
        return cls(-MARGIN_SCALE, MARGIN_BITS + 2 - N_BINS.bit_length())

    @classmethod
    def covering(cls, low: float, high: float) -> MarginGrid:
        """Return a window that begins at a margin low and reaches beyond high."""
        shift = max(0, int(np.ceil(np.log2((high - low) * MARGIN_SCALE / (N_BINS - 1)))))
        return cls(int(np.floor(low * MARGIN_SCALE)) >> shift << shift, shift)

    @property
    def bin_width(self) -> float:
        """Width of a bucket, as a margin."""
        return (1 << self.log2_bin_width) / MARGIN_SCALE

    def bin_min(self, bucket: int) -> int:
        """Return the smallest margin that a bucket may hold, as a whole number."""
        return -MARGIN_SCALE if bucket == 0 else self.origin + (bucket - 1 << self.log2_bin_width)

    def bin_max(self, bucket: int) -> int:
        """Return a margin that none of a bucket exceeds, as a whole number."""
        return MARGIN_SCALE if bucket == N_BINS + 1 else self.origin + (bucket << self.log2_bin_width)

    def bin_index(self, margins: Int32[Array, " n"], out: Int32[Array, " n"]) -> Int32[Array, " n"]:
        """Return the bucket of each margin: 0 below the window, 1 to `N_BINS` inside, one more above."""
        below = (self.origin >> self.log2_bin_width) - 1
        np.right_shift(margins, np.int32(self.log2_bin_width), out=out)
        # Clipped before it is subtracted from: the difference of 2^30 and -2^30 needs 33 bits.
        np.clip(out, np.int32(below), np.int32(below + N_BINS + 1), out=out)
        out -= np.int32(below)
        return out
