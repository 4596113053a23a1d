"""Objectives of a run, evaluated in exact arithmetic on a histogram of the margins.

A run proves an interval for an objective over a class of hypotheses. The objective of the hypothesis weights w is a
lower bound. F(d) plus the largest edge of the class under the example weights d is an upper bound. Both bounds are
computed from integers, so every processor obtains the same numbers.

    objective      lower bound                        example weights of the upper bound
    soft margin    mean of the nu smallest margins    d_n = c_n q_n / Q, where Q >= nu max q     [theorem 13]
    loss           -F*(-Uw)                           d_n = c_n q_n / (2^20 N), inside the box   [theorem 15]

c_n is the multiplicity of example n, and N is the number of examples with multiplicity. q_n is an integer from 0 to
2^20, the same for all examples of a bin. For a loss, the examples of a bin are moved to the two ends of the bin, which
cannot raise -F*(-Uw). Losses are computed in units of one example: the multiplicities are c_n / N.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.boosting.objectives.margin_histogram import MarginHistogram, WeightFunction
from boostopt.boosting.objectives.soft_margin import EPS, SoftMarginObjective
from boostopt.errors import ProblemError, require_not_none
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer
from boostopt.functions.regularizers.binary_entropy import LogarithmicLoss
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows, MarginHandle
from boostopt.rows.margin_grid import MARGIN_SCALE, N_BINS, WEIGHT_SCALE, MarginGrid

MIN_RELATIVE_INCREASE = 1e-6
"""The smallest relative increase of the weights below the cap, if their sum is too small after rounding."""

MAX_INCREASES = 100
"""The largest number of such increases. After them, all weights are set equal, which is feasible."""

ROUNDINGS_PER_TERM = 20
"""The number of roundings of one term of a sum, including those of logarithms and exponentials."""


class ExactObjective(ABC):
    """An objective over a class of hypotheses, with exact bounds.

    Attributes
    ----------
    unit
        The factor that converts bounds to the units of the formulation: 1, or the number of examples.
    refinement_is_verifiable
        Whether `best_lower_bound` is at least every lower bound that a finer grid gives. A verifier has only the
        hypothesis weights, so it can recompute no other bound.
    """

    unit: int = 1
    refinement_is_verifiable: bool = True

    @abstractmethod
    def for_sample(self, n_examples: int) -> ExactObjective:
        """Return the objective for a sample of `n_examples` examples, with multiplicity."""

    @abstractmethod
    def examples_with(self, multiplicities: Float[Array, " k"]) -> Examples:
        """Return the examples from which the formulation makes F."""

    @abstractmethod
    def lower_bound(self, histogram: MarginHistogram) -> Fraction:
        """Return a lower bound of the objective of hypothesis weights with these margins."""

    @abstractmethod
    def best_lower_bound(self, rows: BinnedRows, margins: MarginHandle) -> Fraction:
        """Return the best lower bound that histograms of these margins give."""

    @abstractmethod
    def integer_weights(self, unit_weights: Float[Array, " k"], counts: Int[Array, " k"]) -> Int[Array, " k"]:
        """Round example weights to integers q from 0 to 2^20.

        Parameters
        ----------
        unit_weights
            The weight of a single example of each bin.
        counts
            The number of examples of each bin.
        """

    @abstractmethod
    def normalizer(self, integer_weights: Int[Array, " k"], counts: Int[Array, " k"]) -> int:
        """Return the integer Q in d_n = c_n q_n / Q."""

    @abstractmethod
    def regularizer_bound(self, integer_weights: Int[Array, " k"], counts: Int[Array, " k"]) -> Fraction:
        """Return an upper bound of F(d). The upper bound of the class is this number plus the largest edge.

        Raises
        ------
        ProblemError
            d is not in the domain of F.
        """

    @property
    def platform_tolerance(self) -> Fraction:
        """The largest difference between the bounds that two processors compute."""
        return Fraction(0)


@dataclass(frozen=True)
class ExactSoftMargin(ExactObjective):
    """The mean of the nu smallest margins.

    Attributes
    ----------
    nu
        The number of margins in the mean, a count of examples.
    n_examples
        The number of examples, with multiplicity.
    sampling_factor
        The number of examples that each sampled example represents.
    """

    nu: Fraction
    n_examples: int
    sampling_factor: float = 1.0

    def for_sample(self, n_examples: int) -> ExactSoftMargin:
        return ExactSoftMargin(self.nu * n_examples / self.n_examples, n_examples, self.n_examples / n_examples)

    def examples_with(self, multiplicities: Float[Array, " k"]) -> Examples:
        return Examples(multiplicities * self.sampling_factor, multiplicities / multiplicities.sum())

    def lower_bound(self, histogram: MarginHistogram) -> Fraction:
        return histogram.soft_margin_lower_bound(self.nu)

    def best_lower_bound(self, rows: BinnedRows, margins: MarginHandle) -> Fraction:
        """Return the soft margin itself.

        The grid is refined around the bin that contains the quantile, until this bin contains a single margin.
        """
        grid = MarginGrid.full()
        while True:
            histogram = margin_histogram(rows, margins, grid)
            b = histogram.quantile_bin(self.nu)
            all_margins_counted = b == len(histogram.counts)
            if all_margins_counted or grid.log2_bin_width == 0 or grid.bin_min(b) == grid.bin_max(b):
                return histogram.soft_margin_lower_bound(self.nu)
            grid = MarginGrid.covering(grid.bin_min(b) / MARGIN_SCALE, grid.bin_max(b) / MARGIN_SCALE)

    def integer_weights(self, unit_weights: Float[Array, " k"], counts: Int[Array, " k"]) -> Int[Array, " k"]:
        """Round example weights to integers such that no integer exceeds 1 / nu of the sum over the examples.

        If the sum is too small after rounding, the weights below the cap are increased.
        """
        scaled_weights = unit_weights * (WEIGHT_SCALE / float(unit_weights.max()))
        required_sum = math.ceil(self.nu * WEIGHT_SCALE)
        for _ in range(MAX_INCREASES):
            q = np.minimum(np.rint(scaled_weights), WEIGHT_SCALE).astype(np.int64)
            deficit = self.nu * int(q.max()) - int(q @ counts)
            if deficit <= 0:
                return q
            scaled_weights = scaled_weights * (1.0 + max(MIN_RELATIVE_INCREASE, float(deficit) / required_sum))
        return np.full(len(unit_weights), WEIGHT_SCALE, np.int64)

    def normalizer(self, integer_weights: Int[Array, " k"], counts: Int[Array, " k"]) -> int:
        return int(integer_weights @ counts)

    def regularizer_bound(self, integer_weights: Int[Array, " k"], counts: Int[Array, " k"]) -> Fraction:
        q_sum = self.normalizer(integer_weights, counts)
        q_min, q_max = integer_weights.min(initial=0), int(integer_weights.max(initial=0))
        if q_min < 0 or not 0 < q_max <= WEIGHT_SCALE or q_sum < self.nu * q_max:
            raise ProblemError(
                "d must lie in the capped simplex, so the integer weights of the bins must be non-negative and sum to "
                f"at least {float(self.nu):g} times the largest, which must be positive; got {q_min} to {q_max} with "
                f"the sum {q_sum}. Boost again."
            )
        return Fraction(0)


@dataclass(frozen=True)
class ExactLoss(ExactObjective):
    """A loss of the margins, -F*(-Uw), where F is a sum over the examples on the box 0 <= d <= c.

    Attributes
    ----------
    formulation, parameters
        The formulation and its parameters.
    n_examples
        The number of examples, with multiplicity.
    """

    formulation: Formulation[Any]
    parameters: Any
    n_examples: int

    refinement_is_verifiable = False

    @computed_attribute
    def unit(self) -> int:
        return self.n_examples

    def for_sample(self, n_examples: int) -> ExactLoss:
        return replace(self, n_examples=n_examples)

    def examples_with(self, multiplicities: Float[Array, " k"]) -> Examples:
        return Examples(multiplicities / self.n_examples, multiplicities / multiplicities.sum())

    def lower_bound(self, histogram: MarginHistogram) -> Fraction:
        multiplicities, margins = histogram.spread_to_bin_edges
        F = self.loss_of(multiplicities)
        return Fraction(-F.conjugate_at(-margins).value - rounding_bound(F))

    def best_lower_bound(self, rows: BinnedRows, margins: MarginHandle) -> Fraction:
        return self.lower_bound(margin_histogram(rows, margins, MarginGrid.full()))

    def integer_weights(self, unit_weights: Float[Array, " k"], counts: Int[Array, " k"]) -> Int[Array, " k"]:
        scaled_weights = unit_weights * (float(self.n_examples) * WEIGHT_SCALE)
        return np.clip(np.rint(scaled_weights), 0, WEIGHT_SCALE).astype(np.int64)

    def normalizer(self, integer_weights: Int[Array, " k"], counts: Int[Array, " k"]) -> int:
        return WEIGHT_SCALE * self.n_examples

    def regularizer_bound(self, integer_weights: Int[Array, " k"], counts: Int[Array, " k"]) -> Fraction:
        is_occupied = counts > 0
        q_min, q_max = integer_weights.min(initial=0), integer_weights.max(initial=0)
        if q_min < 0 or q_max > WEIGHT_SCALE or not is_occupied.any():
            raise ProblemError(
                "d must lie between 0 and c, so the integer weights of the bins must lie between 0 and "
                f"{WEIGHT_SCALE}; got {q_min} to {q_max}. Boost again."
            )
        F = self.loss_of(counts[is_occupied].astype(np.float64))
        d = F.upper * (integer_weights[is_occupied] / WEIGHT_SCALE)
        return Fraction(F.value(d) + rounding_bound(F))

    @property
    def platform_tolerance(self) -> Fraction:
        largest_histogram = np.full(2 * N_BINS, self.n_examples / (2.0 * N_BINS))
        return Fraction(2.0 * rounding_bound(self.loss_of(largest_histogram)))

    def loss_of(self, multiplicities: Float[Array, " k"]) -> LogarithmicLoss:
        """Return F for examples with these multiplicities, in units of one example."""
        F = self.formulation.regularizer(self.parameters, self.examples_with(multiplicities))
        return require_not_none(F if isinstance(F, LogarithmicLoss) else None, "a logarithmic loss")


def weight_function(
    histogram: MarginHistogram,
    make_regularizer: Callable[[Examples], Regularizer],
    objective: ExactObjective,
    weight_sum: float = 1.0,
) -> WeightFunction:
    """Return the example weights d(w) of a program as a function of the margin.

    Parameters
    ----------
    histogram
        The margins of the normalized hypothesis weights.
    make_regularizer
        A function that returns F for some examples. F must be a sum over the examples.
    objective
        The objective whose upper bound the weights prove.
    weight_sum
        The sum of the hypothesis weights. The margins are multiplied by it.
    """
    F, conjugate = conjugate_at_margins(histogram, make_regularizer, objective, weight_sum)
    multiplicities, counts = histogram.occupied_counts, histogram.counts[histogram.occupied]
    unit_weights = conjugate.d / multiplicities
    q = objective.integer_weights(unit_weights, counts)
    return WeightFunction(
        histogram,
        histogram.table(q),
        objective.normalizer(q, counts),
        objective.regularizer_bound(q, counts),
        F,
        conjugate,
        _transition(histogram, q),
        unit_weights,
        weight_sum,
    )


def conjugate_at_margins(
    histogram: MarginHistogram,
    make_regularizer: Callable[[Examples], Regularizer],
    objective: ExactObjective,
    weight_sum: float,
) -> tuple[Regularizer, ConjugatePoint]:
    """Return F over the bins and its conjugate at -Uw, with each example at the mean margin of its bin.

    The parameters are those of `weight_function`.
    """
    F = make_regularizer(objective.examples_with(histogram.occupied_counts))
    return F, F.conjugate_at(-weight_sum * histogram.mean_margins)


def _transition(histogram: MarginHistogram, q: Int[Array, " k"]) -> tuple[float, float]:
    """Return the interval of margins whose weights are neither 0 nor the largest, two bins wider on both sides."""
    margins, slack = histogram.mean_margins, 2.0 * histogram.grid.bin_width
    interior = np.flatnonzero((q > 0) & (q < q.max()))
    if len(interior) == 0:
        interior = np.flatnonzero(q == q.max())[-1:]
    return max(float(margins[interior[0]]) - slack, -1.0), min(float(margins[interior[-1]]) + slack, 1.0)


def margin_histogram(rows: BinnedRows, margins: MarginHandle, grid: MarginGrid) -> MarginHistogram:
    """Return the histogram of some margins on a grid, by one pass over the margins."""
    return MarginHistogram(grid, *rows.histogram(margins, grid))


def rounding_bound(F: Regularizer) -> float:
    """Return a bound on the rounding error of F(d), and of F* at margins in [-1, 1].

    The bound is the length of the sums times the size of their terms.
    """
    unit, term_error = summation(F)
    return term_error + unit * float(F.magnitude)


def summation(F: Regularizer) -> tuple[float, float]:
    """Return the relative error of the sums of F, and their error at margins in [-1, 1] and weights in the box."""
    unit = (F.N + ROUNDINGS_PER_TERM) * EPS
    return unit, float(unit * (2.0 * F.mass + 1.0))


def exact_objective(
    objective: SoftMarginObjective | None,
    formulation: Formulation[Any],
    parameters: Any,
    examples: Examples,
    n_examples: float,
) -> ExactObjective | None:
    """Return the exact counterpart of an objective; None if histograms do not support it.

    Parameters
    ----------
    objective
        The objective in floating point.
    formulation, parameters
        The formulation and its parameters.
    examples
        Representative examples.
    n_examples
        The number of all examples, with multiplicity.
    """
    F0 = objective.F0 if objective is not None and objective.nonnegative_weights else None
    # A subclass of the loss is another function, so isinstance is not enough.
    if type(F0) is LogarithmicLoss and F0.statement(examples.c, examples.d0) is not None:
        loss = ExactLoss(formulation, parameters, int(n_examples))
        # If a formulation computes eta from the multiplicities, eta is different in units of one example.
        return loss if loss.loss_of(examples.c).eta == F0.eta else None
    nu = _effective_nu(objective, parameters, examples)
    return None if nu is None else ExactSoftMargin(Fraction(nu), int(n_examples))


def _effective_nu(objective: SoftMarginObjective | None, parameters: Any, examples: Examples) -> float | None:
    """Return nu if the objective is the soft margin with the cap c / nu, otherwise None.

    Caps of at least 1 do not bind. The soft margin is then the smallest margin of a single example, so nu is 1.
    """
    caps = None if objective is None else objective.F0.soft_margin_caps
    if objective is None or caps is None or not isinstance(objective.F0, CappedSimplexIndicator):
        return None
    # The caps are rounded. So the candidates for nu are the numbers from which the caps may have been computed.
    for nu in (getattr(parameters, "nu", None), objective.F0.domain.nu):
        if isinstance(nu, float) and np.array_equal(examples.c / nu, caps):
            return nu
    return 1.0 if caps.min() >= 1.0 and examples.c.min() >= 1.0 else None
