"""Margins in buckets: an example with a multiplicity stands for all that lie in one.

What a regularizer says of the buckets gives each of them a whole number, and these, divided by their sum over all
examples, are a distribution that lies in the capped simplex exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.rows.margin_grid import CURVATURE_SCALE, MARGIN_SCALE, N_BINS, MarginGrid

POINTS = 1024
"""Margins at which a curvature with a spread is computed; between them it is interpolated."""


@dataclass(frozen=True, eq=False)
class Buckets:
    """How many examples have the margins of each bucket of a window, and the sum of these.

    Attributes
    ----------
    window
        The range that is cut.
    found
        Numbers of examples with multiplicity, shape (buckets + 2,).
    sums
        Sums of their margins, in units of 2^-30.
    """

    window: MarginGrid
    found: Int[Array, " buckets"]
    sums: Int[Array, " buckets"]

    @cached_property
    def live(self) -> Int[Array, " k"]:
        """The buckets that hold examples."""
        return np.flatnonzero(self.found)

    @cached_property
    def c(self) -> Float[Array, " k"]:
        """The examples in each of them."""
        return self.found[self.live].astype(np.float64)

    @cached_property
    def m(self) -> Float[Array, " k"]:
        """The mean margin of each of them."""
        return self.sums[self.live] / (self.c * MARGIN_SCALE)

    @cached_property
    def split(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        """Examples (c, m) at both ends of each bucket, so many that counts and mean margins stay.

        A convex function of one margin has no smaller sum over them than over the examples themselves.
        """
        live, window = self.live, self.window
        low = np.array([window.bin_min(b) for b in live.tolist()], dtype=np.int64)
        high = np.array([window.bin_max(b) for b in live.tolist()], dtype=np.int64)
        above = self.sums[live] - self.found[live] * low
        at_high = above / np.maximum(high - low, 1)
        c, m = np.concatenate([self.c - at_high, at_high]), np.concatenate([low, high]) / MARGIN_SCALE
        return c[c > 0.0], m[c > 0.0]

    @cached_property
    def so_far(self) -> Int[Array, " buckets"]:
        """The examples in each bucket and below."""
        return np.cumsum(self.found)

    def reached(self, nu: Fraction) -> int:
        """Return in which bucket the nu smallest margins end; one more than there are where they are all."""
        return int(np.searchsorted(self.so_far, math.floor(nu), side="right"))

    def soft_margin(self, nu: Fraction) -> Fraction:
        """Return a number not above the mean of the nu smallest margins, and above it by less than a bucket's share.

        All margins below the bucket in which the count is reached are summed exactly. Of that bucket the sum of the
        smallest is at least as many times its lower end, and at least its whole sum less the others at its upper end.
        """
        so_far, b = self.so_far, self.reached(nu)
        below = Fraction(int(self.sums[:b].sum()))
        if b == len(so_far):
            return below / (nu * MARGIN_SCALE)
        wanted = nu - (int(so_far[b - 1]) if b else 0)
        others = int(self.found[b]) - wanted
        least = max(wanted * self.window.bin_min(b), int(self.sums[b]) - others * self.window.bin_max(b))
        return (below + least) / (nu * MARGIN_SCALE)


@dataclass(frozen=True, eq=False)
class Law:
    """Weights as a function of the margin: d_n = c_n q_n / Q, q_n being a whole number for each bucket.

    What is said of D and F is in the units of the aim.

    Attributes
    ----------
    buckets
        The margins that it is of.
    table
        q of each bucket, from 0 to 2^20, shape (buckets + 2,).
    total
        Q. On the capped simplex it is the sum of c_n q_n, at least nu times the largest q; on the box it is 2^20 times
        the number of examples.
    cost
        What is added to the largest edge for an upper end.
    value
        D(w) = -F*(-Uw), each example at the mean margin of its bucket.
    of_d
        F(d), likewise.
    curved
        r of each bucket as a whole number up to 2^8, shape (buckets + 2,).
    unit
        The curvature that 1 stands for there.
    between
        Margins between which weights are neither the largest nor 0, with some room.
    share
        The weight of a single example in each bucket that holds any, F's own, before it is rounded.
    scale
        The sum of the weights of the hypotheses, by which margins are multiplied.
    """

    buckets: Buckets
    table: Int[Array, " buckets"]
    total: int
    cost: Fraction
    value: float
    of_d: float
    curved: Int[Array, " buckets"]
    unit: float
    between: tuple[float, float]
    share: Float[Array, " k"]
    scale: float

    @property
    def window(self) -> MarginGrid:
        """The range of the buckets."""
        return self.buckets.window

    def curvature(self, spread: float) -> tuple[MarginGrid, Int[Array, " buckets"], float]:
        """Return a window, r of each of its buckets as a whole number up to 2^8, and the curvature that 1 stands for.

        Without a spread r is the curvature at the margin. It is 0 for an example at the cap, and next to nothing for
        one beyond the slope, so that steps which bring such examples onto the slope look free. With a spread r is the
        largest rate at which the weight falls over the margins up to that far on both sides: what the weights of
        examples may do whose margins move that far.
        """
        if spread <= 2.0 * self.window.bin_width:
            return self.window, self.curved, self.unit
        low, high = max(self.between[0] - spread, -1.0), min(self.between[1] + spread, 1.0)
        at, m = np.linspace(low, high, POINTS), self.buckets.m
        rate, width = np.zeros(POINTS), spread
        while width > 2.0 * self.window.bin_width:
            falls = np.interp(at - width, m, self.share) - np.interp(at + width, m, self.share)
            np.maximum(rate, falls / (2.0 * width * self.scale), out=rate)
            width /= 2.0
        largest = float(rate.max())
        if largest == 0.0:  # all weights are equal
            return self.window, self.curved, self.unit
        window = MarginGrid.covering(low, high)
        middle = (window.origin + (np.arange(N_BINS) + 0.5) * (1 << window.log2_bin_width)) / MARGIN_SCALE
        r = np.interp(middle, at, rate * (CURVATURE_SCALE / largest))
        return window, np.pad(np.rint(r).astype(np.int64), 1), largest / CURVATURE_SCALE
