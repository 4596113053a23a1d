"""Histograms of margins, and example weights as functions of the margin.

One example with a multiplicity represents all examples of a bin. A regularizer over these examples gives each bin an
integer weight. For a soft margin, these integers divided by their sum over all examples are a distribution that lies in
the capped simplex exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import Array, Float, Int, Num
from boostopt.errors import require_not_none
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer
from boostopt.rows.margin_grid import CURVATURE_SCALE, MARGIN_SCALE, N_BINS, MarginGrid

MIN_CURVATURE_BINS = 256
"""The smallest number of bins of a curvature with a spread, unless there are fewer margins."""


@dataclass(frozen=True, eq=False)
class MarginHistogram:
    """The number of examples in each bin of a grid, and the sum of their margins.

    Attributes
    ----------
    grid
        The grid.
    counts
        The numbers of examples, with multiplicity, shape (bins + 2,).
    sums
        The sums of the margins of these examples, in units of 2^-30, shape (bins + 2,).
    """

    grid: MarginGrid
    counts: Int[Array, " bins"]
    sums: Int[Array, " bins"]

    @cached_property
    def occupied(self) -> Int[Array, " k"]:
        """The bins that contain examples."""
        return np.flatnonzero(self.counts != 0)  # in a third of the time of the search among whole numbers

    @cached_property
    def occupied_counts(self) -> Float[Array, " k"]:
        """The number of examples in each occupied bin."""
        return self.counts[self.occupied].astype(np.float64)

    @cached_property
    def mean_margins(self) -> Float[Array, " k"]:
        """The mean margin of each occupied bin."""
        return self.sums[self.occupied] / (self.occupied_counts * MARGIN_SCALE)

    @cached_property
    def spread_to_bin_edges(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        """Examples (c, m) at both ends of each bin, with the count and the mean margin of the bin.

        The sum of a convex function of one margin over these examples is at least the sum over the original examples.
        """
        occupied, grid = self.occupied, self.grid
        low = np.array([grid.bin_min(b) for b in occupied.tolist()], dtype=np.int64)
        high = np.array([grid.bin_max(b) for b in occupied.tolist()], dtype=np.int64)
        excess = self.sums[occupied] - self.counts[occupied] * low
        high_counts = excess / np.maximum(high - low, 1)
        c = np.concatenate([self.occupied_counts - high_counts, high_counts])
        m = np.concatenate([low, high]) / MARGIN_SCALE
        return c[c > 0.0], m[c > 0.0]

    @cached_property
    def cumulative_counts(self) -> Int[Array, " k"]:
        """The number of examples in each occupied bin and in all bins below."""
        return np.cumsum(self.counts[self.occupied])

    def table(self, numbers: Num[Array, " k"]) -> Int[Array, " bins"]:
        """Return whole numbers of the occupied bins for all bins, shape (bins + 2,): 0 for the others."""
        result = np.zeros(len(self.counts), np.int64)
        result[self.occupied] = numbers
        return result

    def quantile_bin(self, nu: Fraction) -> int:
        """Return the bin that contains the nu-th smallest margin; the number of bins if there are no more than nu."""
        place = int(np.searchsorted(self.cumulative_counts, math.floor(nu), side="right"))
        return int(self.occupied[place]) if place < len(self.occupied) else len(self.counts)

    def soft_margin_lower_bound(self, nu: Fraction) -> Fraction:
        """Return a lower bound of the mean of the nu smallest margins; its error is a fraction of one bin width.

        The margins in the bins below the quantile bin are summed exactly. In the quantile bin, the sum of the k
        smallest margins is at least k times the lower end of the bin. It is also at least the sum of the bin minus the
        other margins at the upper end.
        """
        # All terms are multiplied by the denominator of nu: sums of whole numbers are faster than those of fractions.
        b, (nu_numerator, unit) = self.quantile_bin(nu), nu.as_integer_ratio()
        place = np.searchsorted(self.occupied, b)
        total = unit * int(self.sums[self.occupied[:place]].sum())
        if b < len(self.counts):
            k = nu_numerator - unit * (int(self.cumulative_counts[place - 1]) if place else 0)
            n_remaining = unit * int(self.counts[b]) - k
            total += max(k * self.grid.bin_min(b), unit * int(self.sums[b]) - n_remaining * self.grid.bin_max(b))
        return Fraction(total, nu_numerator * MARGIN_SCALE)


@dataclass(frozen=True, eq=False)
class WeightFunction:
    """Example weights as a function of the margin: d_n = c_n q_n / Q, with one integer q for each bin.

    D and F are in the units of the exact objective.

    Attributes
    ----------
    histogram
        The margins.
    integer_weights
        q of each bin, from 0 to 2^20, shape (bins + 2,).
    normalizer
        Q. On the capped simplex it is the sum of c_n q_n, at least nu times the largest q. On the box it is 2^20 times
        the number of examples.
    regularizer_bound
        An upper bound of F(d). The largest edge plus this number is an upper bound of the objective.
    regularizer, conjugate
        F with each example at the mean margin of its bin, and its conjugate at -Uw.
    transition
        The interval of margins whose weights are neither 0 nor the largest, slightly widened.
    unit_weights
        The weight of a single example of each occupied bin under F, before rounding.
    weight_sum
        The sum of the hypothesis weights. The margins are multiplied by it.
    """

    histogram: MarginHistogram
    integer_weights: Int[Array, " bins"]
    normalizer: int
    regularizer_bound: Fraction
    regularizer: Regularizer
    conjugate: ConjugatePoint
    transition: tuple[float, float]
    unit_weights: Float[Array, " k"]
    weight_sum: float

    @property
    def grid(self) -> MarginGrid:
        """The grid of the bins."""
        return self.histogram.grid

    @property
    def dual_objective(self) -> float:
        """D(w) = -F*(-Uw), with each example at the mean margin of its bin."""
        return -self.conjugate.value

    @cached_property
    def regularizer_value(self) -> float:
        """F(d), with each example at the mean margin of its bin."""
        return self.regularizer.value(self.conjugate.d)

    @cached_property
    def curvature_of_bins(self) -> tuple[Int[Array, " bins"], float]:
        """The curvature of each bin as an integer up to 2^8, shape (bins + 2,), and the curvature of the integer 1."""
        terms = require_not_none(self.regularizer.pointwise(), "a regularizer that is a sum over the examples")
        curvature = terms.inverse_curvatures_inside_box(self.conjugate.d) / self.histogram.occupied_counts
        largest = float(curvature.max())
        scaled_curvature = curvature * (CURVATURE_SCALE / largest) if largest > 0.0 else np.zeros(len(curvature))
        return self.histogram.table(np.rint(scaled_curvature)), largest / CURVATURE_SCALE

    @property
    def effective_sample_size(self) -> float:
        """The number of examples with equal weights whose mean is as random as the mean with these weights."""
        return effective_sample_size(self.histogram.counts, self.integer_weights)

    @cached_property
    def curved_sample_size(self) -> float:
        """The effective number of examples in a sum with the curvatures at the margins."""
        r, _ = self.curvature_of_bins
        return effective_sample_size(self.histogram.occupied_counts, r[self.histogram.occupied])

    def curvature_sample_size(self, grid: MarginGrid, integer_curvature: Int[Array, " bins"]) -> float:
        """Return the effective number of examples in a sum with the curvatures of a grid."""
        margins = (self.histogram.mean_margins * MARGIN_SCALE).astype(np.int32)
        bins = grid.bin_index(margins, np.empty_like(margins))
        return effective_sample_size(self.histogram.occupied_counts, integer_curvature[bins])

    def curvature(self, spread: float) -> tuple[MarginGrid, Int[Array, " bins"], float]:
        """Return a grid, the curvature r of each bin as an integer up to 2^8, and the curvature of the integer 1.

        Without a spread, r is the curvature at the margin. It is 0 for an example at the cap, and almost 0 for an
        example with a weight of almost 0. A step that changes the weights of such examples then seems to cost nothing.
        With a spread, r is the largest rate of decrease of the weight over all distances up to the spread on both
        sides, which bounds the change of the weight for margins that change by at most the spread.
        """
        if spread <= 2.0 * self.grid.bin_width:
            return self.grid, *self.curvature_of_bins
        low, high = max(self.transition[0] - spread, -1.0), min(self.transition[1] + spread, 1.0)
        grid, m = MarginGrid.covering(low, high, (high - low) / MIN_CURVATURE_BINS), self.histogram.mean_margins
        n_bins = (math.ceil(high * MARGIN_SCALE) - grid.origin >> grid.log2_bin_width) + 1
        bin_centers = (grid.origin + (np.arange(n_bins) + 0.5) * (1 << grid.log2_bin_width)) / MARGIN_SCALE
        rate, width = np.zeros(n_bins), spread
        while width > 2.0 * self.grid.bin_width:
            left_weights = np.interp(bin_centers - width, m, self.unit_weights)
            decrease = left_weights - np.interp(bin_centers + width, m, self.unit_weights)
            np.maximum(rate, decrease / (2.0 * width * self.weight_sum), out=rate)
            width /= 2.0
        largest = float(rate.max())
        if largest == 0.0:  # all weights are equal
            return self.grid, *self.curvature_of_bins
        r = np.zeros(N_BINS + 2, np.int64)
        r[1 : n_bins + 1] = np.rint(rate * (CURVATURE_SCALE / largest))
        return grid, r, largest / CURVATURE_SCALE


def effective_sample_size(counts: Num[Array, " k"], weights: Int[Array, " k"]) -> float:
    """Return the number of equal weights whose mean is as random as that of some weights; 0 if all are 0.

    Parameters
    ----------
    counts
        The number of examples with each weight.
    """
    w = weights.astype(np.float64)
    total = float(counts @ w)
    return total * total / float(counts @ (w * w)) if total > 0.0 else 0.0
