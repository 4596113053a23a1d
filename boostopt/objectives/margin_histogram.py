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

CURVATURE_SAMPLES = 1024
"""Margins at which a curvature with a spread is computed; between them it is interpolated."""


@dataclass(frozen=True, eq=False)
class MarginHistogram:
    """How many examples have the margins of each bucket of a window, and the sum of these.

    Attributes
    ----------
    grid
        The range that is cut.
    counts
        Numbers of examples with multiplicity, shape (buckets + 2,).
    sums
        Sums of their margins, in units of 2^-30.
    """

    grid: MarginGrid
    counts: Int[Array, " buckets"]
    sums: Int[Array, " buckets"]

    @cached_property
    def occupied(self) -> Int[Array, " k"]:
        """The buckets that hold examples."""
        return np.flatnonzero(self.counts)

    @cached_property
    def occupied_counts(self) -> Float[Array, " k"]:
        """The examples in each of them."""
        return self.counts[self.occupied].astype(np.float64)

    @cached_property
    def mean_margins(self) -> Float[Array, " k"]:
        """The mean margin of each of them."""
        return self.sums[self.occupied] / (self.occupied_counts * MARGIN_SCALE)

    @cached_property
    def spread_to_bin_edges(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        """Examples (c, m) at both ends of each bucket, so many that counts and mean margins stay.

        A convex function of one margin has no smaller sum over them than over the examples themselves.
        """
        live, window = self.occupied, self.grid
        low = np.array([window.bin_min(b) for b in live.tolist()], dtype=np.int64)
        high = np.array([window.bin_max(b) for b in live.tolist()], dtype=np.int64)
        above = self.sums[live] - self.counts[live] * low
        at_high = above / np.maximum(high - low, 1)
        c, m = np.concatenate([self.occupied_counts - at_high, at_high]), np.concatenate([low, high]) / MARGIN_SCALE
        return c[c > 0.0], m[c > 0.0]

    @cached_property
    def cumulative_counts(self) -> Int[Array, " buckets"]:
        """The examples in each bucket and below."""
        return np.cumsum(self.counts)

    def quantile_bin(self, nu: Fraction) -> int:
        """Return in which bucket the nu smallest margins end; one more than there are where they are all."""
        return int(np.searchsorted(self.cumulative_counts, math.floor(nu), side="right"))

    def soft_margin_lower_bound(self, nu: Fraction) -> Fraction:
        """Return a number not above the mean of the nu smallest margins, and above it by less than a bucket's share.

        All margins below the bucket in which the count is reached are summed exactly. Of that bucket the sum of the
        smallest is at least as many times its lower end, and at least its whole sum less the others at its upper end.
        """
        so_far, b = self.cumulative_counts, self.quantile_bin(nu)
        below = Fraction(int(self.sums[:b].sum()))
        if b == len(so_far):
            return below / (nu * MARGIN_SCALE)
        wanted = nu - (int(so_far[b - 1]) if b else 0)
        others = int(self.counts[b]) - wanted
        least = max(wanted * self.grid.bin_min(b), int(self.sums[b]) - others * self.grid.bin_max(b))
        return (below + least) / (nu * MARGIN_SCALE)


@dataclass(frozen=True, eq=False)
class WeightFunction:
    """Weights as a function of the margin: d_n = c_n q_n / Q, q_n being a whole number for each bucket.

    What is said of D and F is in the units of the aim.

    Attributes
    ----------
    histogram
        The margins that it is of.
    integer_weights
        q of each bucket, from 0 to 2^20, shape (buckets + 2,).
    normalizer
        Q. On the capped simplex it is the sum of c_n q_n, at least nu times the largest q; on the box it is 2^20 times
        the number of examples.
    regularizer_bound
        What is added to the largest edge for an upper end.
    dual_objective
        D(w) = -F*(-Uw), each example at the mean margin of its bucket.
    regularizer_value
        F(d), likewise.
    integer_curvature
        r of each bucket as a whole number up to 2^8, shape (buckets + 2,).
    curvature_unit
        The curvature that 1 stands for there.
    transition
        Margins between which weights are neither the largest nor 0, with some room.
    unit_weights
        The weight of a single example in each bucket that holds any, F's own, before it is rounded.
    weight_sum
        The sum of the weights of the hypotheses, by which margins are multiplied.
    """

    histogram: MarginHistogram
    integer_weights: Int[Array, " buckets"]
    normalizer: int
    regularizer_bound: Fraction
    dual_objective: float
    regularizer_value: float
    integer_curvature: Int[Array, " buckets"]
    curvature_unit: float
    transition: tuple[float, float]
    unit_weights: Float[Array, " k"]
    weight_sum: float

    @property
    def grid(self) -> MarginGrid:
        """The range of the buckets."""
        return self.histogram.grid

    def curvature(self, spread: float) -> tuple[MarginGrid, Int[Array, " buckets"], float]:
        """Return a window, r of each of its buckets as a whole number up to 2^8, and the curvature that 1 stands for.

        Without a spread r is the curvature at the margin. It is 0 for an example at the cap, and next to nothing for
        one beyond the slope, so that steps which bring such examples onto the slope look free. With a spread r is the
        largest rate at which the weight falls over the margins up to that far on both sides: what the weights of
        examples may do whose margins move that far.
        """
        if spread <= 2.0 * self.grid.bin_width:
            return self.grid, self.integer_curvature, self.curvature_unit
        low, high = max(self.transition[0] - spread, -1.0), min(self.transition[1] + spread, 1.0)
        at, m = np.linspace(low, high, CURVATURE_SAMPLES), self.histogram.mean_margins
        rate, width = np.zeros(CURVATURE_SAMPLES), spread
        while width > 2.0 * self.grid.bin_width:
            falls = np.interp(at - width, m, self.unit_weights) - np.interp(at + width, m, self.unit_weights)
            np.maximum(rate, falls / (2.0 * width * self.weight_sum), out=rate)
            width /= 2.0
        largest = float(rate.max())
        if largest == 0.0:  # all weights are equal
            return self.grid, self.integer_curvature, self.curvature_unit
        window = MarginGrid.covering(low, high)
        middle = (window.origin + (np.arange(N_BINS) + 0.5) * (1 << window.log2_bin_width)) / MARGIN_SCALE
        r = np.interp(middle, at, rate * (CURVATURE_SCALE / largest))
        return window, np.pad(np.rint(r).astype(np.int64), 1), largest / CURVATURE_SCALE
