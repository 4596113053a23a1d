"""The progress of boosting, from which step rules set their parameters for the next program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.functions.numerics.capped_softmax import log_or_neg_inf
from boostopt.programs.program import Examples
from boostopt.programs.step_rules.adaboost_step_sizes import smooth_margin, step_to_largest_smooth_margin


@dataclass(frozen=True, eq=False)
class BoostingState(ImmutableArrays):
    """A run of boosting between the answer of the oracle and the update.

    The steps lambda are those taken so far, without the newest hypothesis. An example without weight in d0 never gets
    weight, and the margins below ignore it.

    Attributes
    ----------
    round
        The number of the round, from 1.
    smallest_edge
        The smallest edge of a hypothesis at the time when the oracle returned it, including the newest; 1 before the
        first.
    epsilon
        The accuracy at which the run stops.
    examples
        The multiplicities and the reference distribution.
    steps_total
        ||lambda||_1 of the steps taken so far, 0 at first.
    step_margins
        U lambda, shape (N,), not normalized.
    column
        The margins u of the newest hypothesis, shape (N,).
    """

    round: int
    smallest_edge: float
    epsilon: float
    examples: Examples
    steps_total: float
    step_margins: ExampleVector
    column: ExampleVector

    @property
    def minimum_margin(self) -> float:
        """The smallest margin of the normalized steps; -1 before the first."""
        if self.steps_total <= 0:
            return -1.0
        smallest = self.step_margins.min(where=self.examples.d0 > 0, initial=np.inf)
        return float(np.clip(smallest / self.steps_total, -1.0, 1.0))  # beyond them by rounding only

    @cached_property
    def smooth_margin(self) -> float:
        """The smooth margin G of the steps, at most 1; -inf before the first.

        Example n counts N d0_n times, where N is the number of examples with multiplicity; with the default d0, this is
        c_n times. So the distribution of the run, d0 exp(-U lambda), is the gradient of G for any d0.
        """
        return min(smooth_margin(self.step_margins, self.steps_total, self._log_counts), 1.0)

    @cached_property
    def next_smooth_margin(self) -> float:
        """The smooth margin after the exact step of the newest hypothesis, which equals its edge there.

        If no step is long enough, the value is the limit, the smallest u. If the hypothesis cannot increase the smooth
        margin, the value is its present edge, for which the projection makes no step.
        """
        u, m, total = self.column, self.step_margins, self.steps_total
        alpha = step_to_largest_smooth_margin(u, m, total, self._log_counts)
        if np.isinf(alpha):
            return float(u.min(where=self.examples.d0 > 0, initial=1.0))
        if alpha > 0:
            return min(smooth_margin(m + alpha * u, total + alpha, self._log_counts), 1.0)
        weights = self._log_counts - m
        shares = np.exp(weights - weights.max())
        return float(u @ shares) / float(shares.sum())

    @cached_property
    def _log_counts(self) -> ExampleVector:
        """Logarithms of what the examples count, -inf where d0 is 0."""
        return log_or_neg_inf(self.examples.total * self.examples.d0)
