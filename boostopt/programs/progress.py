"""The progress of boosting, which step rules look at to set their parameters for the next program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boostopt.programs.program import Examples
from boostopt.regularizers.capped_softmax import logarithm
from boostopt.regularizers.projections import smooth_margin, step_to_largest_smooth_margin
from boostopt.shapes import Array, Float


@dataclass(frozen=True, eq=False)
class Progress:
    """A run of boosting between the answer of the oracle and the update.

    The steps lambda are those taken so far, the newest hypothesis not yet among them. Examples to which d0 gives no
    weight never have any: they do not count in the margins here.

    Attributes
    ----------
    round
        Number of the round, from 1.
    smallest_edge
        The smallest edge that a hypothesis had when it came, the newest included; 1 before the first.
    epsilon
        The accuracy at which the run is to stop.
    examples
        Multiplicities and reference distribution.
    steps_total
        ||lambda||_1 of the steps taken so far, 0 at first.
    step_margins
        U lambda, shape (N,), not normalized.
    column
        Margins u of the newest hypothesis, shape (N,).
    """

    round: int
    smallest_edge: float
    epsilon: float
    examples: Examples
    steps_total: float
    step_margins: Float[Array, " N"]
    column: Float[Array, " N"]

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

        Example n counts N d0_n times, N the number of examples with multiplicity: c_n times for the default d0. So the
        distribution of the run, d0 exp(-U lambda), is the gradient of G whatever d0 is.
        """
        return min(smooth_margin(self.step_margins, self.steps_total, self._log_counts), 1.0)

    @cached_property
    def next_smooth_margin(self) -> float:
        """The smooth margin after the exact step of the newest hypothesis, and its edge there.

        The limit, the smallest u, where no step is long enough. Where the hypothesis cannot raise the smooth margin,
        its edge as it is: the projection onto that is no step.
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
    def _log_counts(self) -> Float[Array, " N"]:
        """Logarithms of what the examples count, -inf where d0 is 0."""
        return logarithm(self.examples.total * self.examples.d0)
