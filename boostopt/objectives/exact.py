"""What a run of looks is after: both ends of it, from margins in buckets, and weights of examples that prove them.

    soft margin    lower  the mean of the nu smallest margins               d_n = c_n q_n / Q, Q >= nu max q
                   upper  the largest edge of the class under d             [theorem 13]

    loss           lower  -F*(-Uw), examples at both ends of their buckets  d_n = c_n q_n / 2^20, in the box
                   upper  F(d) + the largest edge of the class under d      [theorem 15]

A loss is told in units of one example: its multiplicities are c_n / sum c.
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
from boostopt.errors import ProblemError, require_not_none
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.binary_entropy import LogarithmicLoss
from boostopt.functions.regularizers.indicators import Cap
from boostopt.objectives.margin_histogram import MarginHistogram, WeightFunction
from boostopt.objectives.soft_margin import EPS, SoftMarginObjective
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows, MarginHandle
from boostopt.rows.margin_grid import CURVATURE_SCALE, MARGIN_SCALE, N_BINS, WEIGHT_SCALE, MarginGrid

MIN_RELATIVE_INCREASE = 1e-6
"""By which share weights below the cap are raised at least, where they are too few for it by rounding."""

MAX_INCREASES = 100
"""How often they are raised before all are equal, which is feasible."""

ROUNDINGS_PER_TERM = 20
"""Roundings of a term before it is summed, those of logarithms and exponentials included."""


class ExactObjective(ABC):
    """What a run is after, of some examples.

    Attributes
    ----------
    unit
        What both ends are multiplied by to be those of the formulation: 1, or the number of examples.
    refinement_is_verifiable
        Whether `best_lower_bound` finds every lower end again that a closer window tells: who verifies a run has only the weights.
    """

    unit: int = 1
    refinement_is_verifiable: bool = True

    @abstractmethod
    def for_sample(self, total: int) -> ExactObjective:
        """Return the same of a sample of so many examples, with multiplicity, that stands for all."""

    @abstractmethod
    def examples_with(self, c: Float[Array, " k"]) -> Examples:
        """Return examples with these multiplicities as F is made of them."""

    @abstractmethod
    def lower_bound(self, buckets: MarginHistogram) -> Fraction:
        """Return a number not above what weights with such margins reach."""

    @abstractmethod
    def best_lower_bound(self, rows: BinnedRows, kept: MarginHandle) -> Fraction:
        """Return the best such number."""

    @abstractmethod
    def integer_weights(self, share: Float[Array, " k"], found: Int[Array, " k"]) -> Int[Array, " k"]:
        """Return q from 0 to 2^20 of each bucket, from the weight of a single example there; found are the examples."""

    @abstractmethod
    def normalizer(self, q: Int[Array, " k"], found: Int[Array, " k"]) -> int:
        """Return Q, of which d_n = c_n q_n / Q."""

    @abstractmethod
    def regularizer_bound(self, found: Int[Array, " k"], q: Int[Array, " k"]) -> Fraction:
        """Return what is added to the largest edge under d for an upper end: F(d), from above.

        Raises
        ------
        ProblemError
            d does not lie in the domain of F.
        """

    @property
    def platform_tolerance(self) -> Fraction:
        """By how much an end may differ that another processor computes."""
        return Fraction(0)


@dataclass(frozen=True)
class ExactSoftMargin(ExactObjective):
    """The mean of the nu smallest margins.

    Attributes
    ----------
    nu
        The count of the cap.
    n_examples
        Number of examples, with multiplicity.
    sampling_factor
        How many each of them stands for.
    """

    nu: Fraction
    n_examples: int
    sampling_factor: float = 1.0

    def for_sample(self, total: int) -> ExactSoftMargin:
        return ExactSoftMargin(self.nu * total / self.n_examples, total, self.n_examples / total)

    def examples_with(self, c: Float[Array, " k"]) -> Examples:
        return Examples(c * self.sampling_factor, c / c.sum())

    def lower_bound(self, buckets: MarginHistogram) -> Fraction:
        return buckets.soft_margin_lower_bound(self.nu)

    def best_lower_bound(self, rows: BinnedRows, kept: MarginHandle) -> Fraction:
        """Return the soft margin itself: the bucket in which the count is reached is cut until it holds one margin."""
        window = MarginGrid.full()
        while True:
            buckets = margin_histogram(rows, kept, window)
            b = buckets.quantile_bin(self.nu)
            if b == len(buckets.counts) or window.log2_bin_width == 0 or window.bin_min(b) == window.bin_max(b):
                return buckets.soft_margin_lower_bound(self.nu)
            window = MarginGrid.covering(window.bin_min(b) / MARGIN_SCALE, window.bin_max(b) / MARGIN_SCALE)

    def integer_weights(self, share: Float[Array, " k"], found: Int[Array, " k"]) -> Int[Array, " k"]:
        """Return whole numbers in proportion, of which none is above 1 / nu of the sum over the examples.

        Weights below the cap are raised a little where rounding has left too few.
        """
        part = share * (WEIGHT_SCALE / float(share.max()))
        least = math.ceil(self.nu * WEIGHT_SCALE)
        for _ in range(MAX_INCREASES):
            q = np.minimum(np.rint(part), WEIGHT_SCALE).astype(np.int64)
            short = self.nu * int(q.max()) - int(q @ found)
            if short <= 0:
                return q
            part = part * (1.0 + max(MIN_RELATIVE_INCREASE, float(short) / least))
        return np.full(len(share), WEIGHT_SCALE, np.int64)

    def normalizer(self, q: Int[Array, " k"], found: Int[Array, " k"]) -> int:
        return int(q @ found)

    def regularizer_bound(self, found: Int[Array, " k"], q: Int[Array, " k"]) -> Fraction:
        total, largest = self.normalizer(q, found), int(q.max(initial=0))
        if q.min(initial=0) < 0 or not 0 < largest <= WEIGHT_SCALE or total < self.nu * largest:
            raise ProblemError(
                "d must lie in the capped simplex, so the whole numbers of the buckets must be non-negative and sum to "
                f"at least {float(self.nu):g} times the largest, which must be positive; got {q.min(initial=0)} to "
                f"{largest} with the sum {total}. Boost again."
            )
        return Fraction(0)


@dataclass(frozen=True)
class ExactLoss(ExactObjective):
    """A loss of the margins, -F*(-Uw), F being a sum over the examples on the box 0 <= d <= c.

    Attributes
    ----------
    page, parameters
        The formulation, and its parameters.
    n_examples
        Number of examples, with multiplicity.
    """

    formulation: Formulation[Any]
    parameters: Any
    total: int

    refinement_is_verifiable = False

    @property
    def unit(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.total

    def for_sample(self, total: int) -> ExactLoss:
        return replace(self, total=total)

    def examples_with(self, c: Float[Array, " k"]) -> Examples:
        return Examples(c / self.total, c / c.sum())

    def lower_bound(self, buckets: MarginHistogram) -> Fraction:
        c, m = buckets.spread_to_bin_edges
        F = self.loss_of(c)
        return Fraction(-F.conjugate_at(-m).value - rounding_bound(F))

    def best_lower_bound(self, rows: BinnedRows, kept: MarginHandle) -> Fraction:
        return self.lower_bound(margin_histogram(rows, kept, MarginGrid.full()))

    def integer_weights(self, share: Float[Array, " k"], found: Int[Array, " k"]) -> Int[Array, " k"]:
        return np.clip(np.rint(share * (float(self.total) * WEIGHT_SCALE)), 0, WEIGHT_SCALE).astype(np.int64)

    def normalizer(self, q: Int[Array, " k"], found: Int[Array, " k"]) -> int:
        return WEIGHT_SCALE * self.total

    def regularizer_bound(self, found: Int[Array, " k"], q: Int[Array, " k"]) -> Fraction:
        live = found > 0
        if q.min(initial=0) < 0 or q.max(initial=0) > WEIGHT_SCALE or not live.any():
            raise ProblemError(
                f"d must lie between 0 and c, so the whole numbers of the buckets must lie between 0 and {WEIGHT_SCALE}; "
                f"got {q.min(initial=0)} to {q.max(initial=0)}. Boost again."
            )
        c = found[live].astype(np.float64)
        F = self.loss_of(c)
        return Fraction(F.value(F.upper * (q[live] / WEIGHT_SCALE)) + rounding_bound(F))

    @property
    def platform_tolerance(self) -> Fraction:
        return Fraction(2.0 * rounding_bound(self.loss_of(np.full(2 * N_BINS, self.total / (2.0 * N_BINS)))))

    def loss_of(self, c: Float[Array, " k"]) -> LogarithmicLoss:
        """Return F of examples of given multiplicities, in units of one example."""
        F = self.formulation.regularizer(self.parameters, self.examples_with(c))
        return require_not_none(F if isinstance(F, LogarithmicLoss) else None, "a logarithmic loss")


def weight_function(
    buckets: MarginHistogram, made: Callable[[Examples], Regularizer], aim: ExactObjective, total: float = 1.0
) -> WeightFunction:
    """Return the weights of the program at some margins.

    Parameters
    ----------
    buckets
        The margins.
    loss_of
        Returns F of some examples, a sum over these.
    aim
        What the weights are to prove.
    n_examples
        The sum of the weights of the hypotheses, by which margins are multiplied.
    """
    live, c, m = buckets.occupied, buckets.occupied_counts, buckets.mean_margins
    F = made(aim.examples_with(c))
    at = F.conjugate_at(-total * m)
    q = aim.integer_weights(at.d / c, buckets.counts[live])
    table, curved = np.zeros(N_BINS + 2, np.int64), np.zeros(N_BINS + 2, np.int64)
    table[live] = q
    r = require_not_none(F.pointwise(), "a regularizer that is a sum over the examples").freedom(at.d) / c
    largest = float(r.max())
    if largest > 0.0:
        curved[live] = np.rint(r * (CURVATURE_SCALE / largest)).astype(np.int64)
    inside, room = np.flatnonzero((q > 0) & (q < q.max())), 2.0 * buckets.grid.bin_width
    if len(inside) == 0:
        inside = np.flatnonzero(q == q.max())[-1:]
    between = (max(float(m[inside[0]]) - room, -1.0), min(float(m[inside[-1]]) + room, 1.0))
    Q, cost = aim.normalizer(q, buckets.counts[live]), aim.regularizer_bound(buckets.counts[live], q)
    return WeightFunction(
        buckets, table, Q, cost, -at.value, F.value(at.d), curved, largest / CURVATURE_SCALE, between, at.d / c, total
    )


def margin_histogram(rows: BinnedRows, kept: MarginHandle, window: MarginGrid) -> MarginHistogram:
    """Return margins in the buckets of a window."""
    return MarginHistogram(window, *rows.histogram(kept, window))


def rounding_bound(F: Regularizer) -> float:
    """Bound the rounding error of F(d), or of F* at margins in [-1, 1]: the length of its sums times their terms."""
    unit, of_margins = summation(F)
    return of_margins + unit * float(F.magnitude)


def summation(F: Regularizer) -> tuple[float, float]:
    """Return the length of the sums of F in roundings, and what margins in [-1, 1] and weights lose in them."""
    unit = (F.N + ROUNDINGS_PER_TERM) * EPS
    return unit, float(unit * (2.0 * F.mass + 1.0))


def exact_objective(
    goal: SoftMarginObjective | None, page: Formulation[Any], parameters: Any, examples: Examples, total: float
) -> ExactObjective | None:
    """Return what looks over so many examples are after: the mean of the smallest margins, or a loss; None for others.

    Parameters
    ----------
    goal
        What boosting is after.
    page, parameters
        The formulation, and its parameters.
    examples_with
        Some that stand for all.
    n_examples
        Number of all examples, with multiplicity.
    """
    F0 = None if goal is None or not goal.nonnegative_weights else goal.F0
    # The buckets are of the loss as it stands there: a subclass is another one.
    if type(F0) is LogarithmicLoss and F0.statement(examples.c, examples.d0) is not None:
        aim = ExactLoss(page, parameters, int(total))
        # A page may make eta of the multiplicities: then it is another one in units of one example.
        return aim if aim.loss_of(examples.c).eta == F0.eta else None
    nu = _effective_nu(goal, parameters, examples)
    return None if nu is None else ExactSoftMargin(Fraction(nu), int(total))


def _effective_nu(goal: SoftMarginObjective | None, parameters: Any, examples: Examples) -> float | None:
    """Return nu, where the soft margin is that of the cap c / nu; None for another goal.

    Caps of 1 bind nothing: the smallest margin is that of a single example, of any of its copies.
    """
    caps = None if goal is None else goal.F0.indicator_caps
    if goal is None or caps is None or not isinstance(goal.F0, Cap):
        return None
    # Caps are rounded: nu is what they were made of, not what may be made of them.
    for nu in (getattr(parameters, "nu", None), goal.F0.domain.nu):
        if isinstance(nu, float) and np.array_equal(examples.c / nu, caps):
            return nu
    return 1.0 if caps.min() >= 1.0 and examples.c.min() >= 1.0 else None
