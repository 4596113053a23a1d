"""The margin grid: equal bins of margins, and the integer scales of margins, weights and curvatures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Int32

MARGIN_BITS = 30
"""Weights of hypotheses are multiples of 2^-30, so that margins are whole numbers in int32."""

MARGIN_SCALE = 1 << MARGIN_BITS
"""The whole number that represents 1: the sum of the weights, and the largest margin."""

N_BINS = 1 << 14
"""Number of bins within the grid; the margins below and above have one more bin each."""

WEIGHT_SCALE = 1 << 20
"""The whole number of the largest example weight: sums over 2^32 examples are exact."""

CURVATURE_SCALE = 1 << 8
"""The whole number of the largest curvature."""


@dataclass(frozen=True)
class MarginGrid:
    """A range of margins, divided into `N_BINS` bins of 2^log2_bin_width margins.

    Attributes
    ----------
    origin
        The smallest margin of the range, a multiple of 2^log2_bin_width, as a whole number.
    log2_bin_width
        The binary logarithm of the bin width, as a whole number.
    """

    origin: int
    log2_bin_width: int

    @classmethod
    def full(cls) -> MarginGrid:
        """Return the grid of all margins, -1 to 1."""
        return cls(-MARGIN_SCALE, MARGIN_BITS + 2 - N_BINS.bit_length())

    @classmethod
    def covering(cls, low: float, high: float, max_bin_width: float = 0.0) -> MarginGrid:
        """Return a grid that begins at or below the margin `low` and ends above `high`.

        Its bins are the narrowest, or the widest up to `max_bin_width`.
        """
        shift = max(0, math.ceil(math.log2((high - low) * MARGIN_SCALE / (N_BINS - 1))))
        if max_bin_width * MARGIN_SCALE > 1.0:
            shift = max(shift, math.floor(math.log2(max_bin_width * MARGIN_SCALE)))
        return cls(int(np.floor(low * MARGIN_SCALE)) >> shift << shift, shift)

    @property
    def bin_width(self) -> float:
        """Width of a bin, as a margin."""
        return (1 << self.log2_bin_width) / MARGIN_SCALE

    @property
    def first_bin(self) -> int:
        """The number of the bin below the grid, as a multiple of the bin width."""
        return (self.origin >> self.log2_bin_width) - 1

    def bin_min(self, bin_number: int) -> int:
        """Return the smallest margin that a bin may contain, as a whole number."""
        return -MARGIN_SCALE if bin_number == 0 else self.origin + (bin_number - 1 << self.log2_bin_width)

    def bin_max(self, bin_number: int) -> int:
        """Return an upper bound of the margins in a bin, as a whole number."""
        return MARGIN_SCALE if bin_number == N_BINS + 1 else self.origin + (bin_number << self.log2_bin_width)

    def bin_index(self, margins: Int32[Array, " n"], out: Int32[Array, " n"]) -> Int32[Array, " n"]:
        """Return the bin of each margin: 0 below the grid, 1 to `N_BINS` inside, `N_BINS` + 1 above."""
        first_bin = self.first_bin
        np.right_shift(margins, np.int32(self.log2_bin_width), out=out)
        # Clip before the subtraction: the difference of 2^30 and -2^30 needs 33 bits.
        np.clip(out, np.int32(first_bin), np.int32(first_bin + N_BINS + 1), out=out)
        out -= np.int32(first_bin)
        return out
