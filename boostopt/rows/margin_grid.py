"""Buckets of margins within a window, and the whole numbers that stand for margins, weights and curvatures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Int32

BITS = 30
"""Weights of hypotheses are multiples of 2^-30: margins then are whole numbers that int32 holds."""

ONE = 1 << BITS
"""The whole number that stands for 1: the sum of the weights, the largest margin."""

BUCKETS = 1 << 14
"""Buckets of margins within a window; what lies below it and above it has one more each."""

LARGEST = 1 << 20
"""The whole number of the largest weight of an example: sums over 2^32 examples are exact."""

STEEP = 1 << 8
"""The whole number of the largest curvature."""


@dataclass(frozen=True)
class Window:
    """A range of margins that is cut into `BUCKETS` buckets of 2^shift margins, from a multiple of 2^shift on."""

    origin: int
    shift: int

    @classmethod
    def whole(cls) -> Window:
        """Return the window of all margins, -1 to 1."""
        return cls(-ONE, BITS + 2 - BUCKETS.bit_length())

    @classmethod
    def around(cls, low: float, high: float) -> Window:
        """Return a window that begins at a margin low and reaches beyond high."""
        shift = max(0, int(np.ceil(np.log2((high - low) * ONE / (BUCKETS - 1)))))
        return cls(int(np.floor(low * ONE)) >> shift << shift, shift)

    @property
    def width(self) -> float:
        """Width of a bucket, as a margin."""
        return (1 << self.shift) / ONE

    def lowest(self, bucket: int) -> int:
        """Return the smallest margin that a bucket may hold, as a whole number."""
        return -ONE if bucket == 0 else self.origin + (bucket - 1 << self.shift)

    def highest(self, bucket: int) -> int:
        """Return a margin that none of a bucket exceeds, as a whole number."""
        return ONE if bucket == BUCKETS + 1 else self.origin + (bucket << self.shift)

    def place(self, M: Int32[Array, " n"], out: Int32[Array, " n"]) -> Int32[Array, " n"]:
        """Return the bucket of each margin: 0 below the window, 1 to `BUCKETS` inside, one more above."""
        below = (self.origin >> self.shift) - 1
        np.right_shift(M, np.int32(self.shift), out=out)
        # Clipped before it is subtracted from: the difference of 2^30 and -2^30 needs 33 bits.
        np.clip(out, np.int32(below), np.int32(below + BUCKETS + 1), out=out)
        out -= np.int32(below)
        return out
