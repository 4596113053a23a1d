"""Histogram Newton for bounded edges: min F(d) over the distributions under which no edge exceeds gamma.

    D(w; gamma) = -F*(-Uw) - gamma sum w,     w >= 0

For weights w = s wbar with sum s, d(w) equals the distribution at wbar of the program of the largest edge with s times
less entropy. So the evaluations are the same: wbar consists of integers, and s is any number. Newton steps are over
w >= 0.

The bounds of the certificate are bisected: gamma is the midpoint between them. If some distribution has no edge above
gamma, this distribution lowers the upper bound. Otherwise D grows without bound, and w has a soft margin above gamma.
At the end, no distribution has all edges below the gamma of the formulation, the upper bound minus epsilon
[theorem 14].
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import HypothesisVector
from boostopt.boosting.histogram_newton.dual_evaluator import DualEvaluator, Evaluation, Iterate
from boostopt.boosting.histogram_newton.newton_solver import (
    MIN_COST_RATIO,
    NEGLIGIBLE_COST_FRACTION,
    HistogramNewton,
    integer_weights,
)
from boostopt.boosting.qp.simplex_qp import capped_sum_maximizer
from boostopt.boosting.updates.base import unit_weight
from boostopt.boosting.updates.newton_update import EDGE_TOL_FRACTION

MAX_SUM_GROWTH = 4.0
"""The largest factor by which one step may multiply the sum of the weights."""


class BoundedEdgeNewton(HistogramNewton):
    """The solver for a formulation that bounds the edges, with the parameters and attributes of `HistogramNewton`."""

    def _choose_constants(self, evaluation: Evaluation) -> tuple[float, float, float]:
        return 1.0, MIN_COST_RATIO, NEGLIGIBLE_COST_FRACTION

    def _predicts_edges(self, evaluation: Evaluation) -> bool:
        return False  # a step brings edges to their bound, and the sum of the weights changes

    def _iterate_at(self, evaluator: DualEvaluator, w: HypothesisVector) -> Iterate:
        no_weights = np.zeros(0, np.int64)
        return (
            evaluator.iterate(self.splits, integer_weights(w), float(w.sum()))
            if w.any()
            else evaluator.iterate((), no_weights)
        )

    def _dual_objective(self, iterate: Iterate, value: float) -> float:
        return value - (self._edge_bound * iterate.weight_sum if iterate.integer_weights.any() else 0.0)

    def _gradient(self, evaluation: Evaluation) -> HypothesisVector:
        return self.edges(evaluation) - self._edge_bound

    def _step(self, evaluator: DualEvaluator, evaluation: Evaluation) -> tuple[Iterate | None, float]:
        """Return the iterate after a Newton step or an increase of one weight and D; None if D falls."""
        may_increase, no_weights = self._bisect_edge_bound(), np.zeros(0, np.int64)
        start_value = self._dual_objective(evaluation.iterate, evaluation.weight_function.dual_objective)
        if may_increase and start_value < self._dual_objective_at_zero and self.bounds.integer_weights is not None:
            return evaluator.iterate((), no_weights), math.inf  # no weights are better under this bound
        w, slopes = self._weights(evaluation), self._gradient(evaluation)
        target = self._newton_target(evaluator, evaluation, w, slopes)
        next_iterate, next_value = self._line_search(evaluator, evaluation, w, target - w, float(slopes @ (target - w)))
        q = int(slopes.argmax())
        increase = evaluator.strong_convexity(evaluation.level) * max(float(slopes[q]), 0.0)
        if increase > 0.0 and next_value < start_value + 0.5 * increase * float(slopes[q]):
            step = self._iterate_at(evaluator, w + increase * unit_weight(len(w), q))
            if (
                trial_value := self._dual_objective(
                    step, evaluator.weight_function(step, evaluation.level).dual_objective
                )
            ) > next_value:
                next_iterate, next_value = step, trial_value
        if self.bounds.integer_weights is None and (next_iterate is None or not next_iterate.integer_weights.any()):
            # No weights increase D, and a run needs an answer: the weight of the best hypothesis.
            first_weights = integer_weights(unit_weight(len(w), int(self.edges(evaluation).argmax())))
            return evaluator.iterate(self.splits, first_weights, evaluator.strong_convexity(evaluation.level)), math.inf
        return next_iterate, next_value

    def _newton_target(
        self,
        evaluator: DualEvaluator,
        evaluation: Evaluation,
        w: HypothesisVector,
        slopes: HypothesisVector,
        ratio: float = 1.0,
    ) -> HypothesisVector:
        """Return the maximizer of the quadratic model of D at w over active columns and those with a large slope."""
        is_active, target = w > 0.0, np.zeros(len(w))
        min_slope = float(slopes[is_active].max()) - EDGE_TOL_FRACTION * self.epsilon if is_active.any() else -math.inf
        columns = np.flatnonzero(is_active | (slopes >= min_slope))
        iterate, splits = evaluation.iterate, self._splits_of(columns)
        H = evaluator.negative_hessian(iterate, evaluation.weight_function, splits, self._spread)
        is_active_guess = is_active[columns] | (slopes[columns] > 0.0)
        target[columns] = capped_sum_maximizer(
            H,
            (slopes[columns] + H @ w[columns]) / ratio,
            MAX_SUM_GROWTH * evaluation.iterate.weight_sum,
            is_active_guess,
        )
        return target

    def _bisect_edge_bound(self) -> bool:
        """Set the bound of the edges, and return whether the bound was free to increase: the gap has halved."""
        upper, lower = self.bounds.upper, max(float(self.bounds.lower), -1.0)
        midpoint, may_increase = 0.5 * (upper + lower), upper - lower <= 0.5 * self._gap_at_last_increase
        if may_increase:
            self._gap_at_last_increase = upper - lower
        self._edge_bound = midpoint if may_increase else min(self._edge_bound, midpoint)
        return may_increase

    @cached_property
    def _dual_objective_at_zero(self) -> float:
        """D at w = 0."""
        F = self.problem.F
        return -F.conjugate_at(np.zeros(F.N)).value
