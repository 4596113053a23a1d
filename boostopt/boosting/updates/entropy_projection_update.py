"""The update of AdaBoost and its relatives: the next state, from the step that `adaboost_step_sizes` computes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from boostopt.boosting.run.run_state import State
from boostopt.boosting.updates.base import Update, UpdateContext, unit_weight
from boostopt.errors import ProblemError
from boostopt.functions.edge_functions.edge_bound_indicators import FixedEdges
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy
from boostopt.programs.step_rules.adaboost_step_sizes import step_to_edge


class EntropyProjection(Update):
    """A step lambda_q <- lambda_q + alpha that gives the newest hypothesis the edge rho of the formulation."""

    def __call__(self, context: UpdateContext) -> State:
        formulation, p = (
            self.problem.formulation,
            self.problem.parameters(context.state.progress(self.problem, context.newest_margins)),
        )
        target, F = formulation.edge_function(p), self.problem.F
        if not (isinstance(target, FixedEdges) and isinstance(F, RelativeEntropy)):
            raise ProblemError(
                f'a formulation whose update is "projection" must have fixed edges and a relative entropy; '
                f"{formulation.name} has {type(target).__name__} and {type(F).__name__}. Correct the formulation."
            )
        spec, state, support = formulation.boosting, context.state, self.problem.examples.d0 > 0
        low, high = float(context.newest_margins[support].min()), float(context.newest_margins[support].max())
        if low >= target.rho and low > 0.0:
            is_best = low >= state.soft_margin
            return self._finish_on_perfect_hypothesis(context, low, is_best and spec.keeps_perfect_hypothesis(p))
        excess = spec.min_edge_excess(p)
        if excess > 0.0 and state.bounds.edge <= target.rho + excess:
            margin_clause = f"by more than {excess:.6g}, but {state.bounds.edge:.6g}"
            return replace(
                state,
                stop_reason=f"the newest hypothesis has no larger edge than its target {target.rho:.6g} "
                f"{margin_clause}",
            )
        if not low < target.rho < high:
            return replace(state, stop_reason=f"no step gives the newest hypothesis the edge {target.rho:.6g}")
        # Not the logarithm of d, because weights that underflow still belong to the support.
        alpha = step_to_edge(context.newest_margins, F.log_d0 - state.m, target.rho, state.d)
        if alpha <= 0.0:
            return replace(
                state, stop_reason=f"the newest hypothesis has no larger edge than its target {target.rho:.6g}"
            )
        w = context.weights
        with np.errstate(over="ignore", invalid="ignore"):
            w[context.newest] += alpha
            m = state.m + alpha * context.newest_margins
        # For margins near 0 the step may overflow, and infinity times 0 is nan.
        if not (np.isfinite(m).all() and math.isfinite(float(w.sum()))):
            overflows = f"the step that gives the newest hypothesis the edge {target.rho:.6g} overflows"
            return replace(state, stop_reason=overflows)
        return self.state_at(context, w, m)

    def _finish_on_perfect_hypothesis(self, context: UpdateContext, low: float, keeps: bool) -> State:
        """Return the last state of a run whose newest hypothesis has a margin of at least rho everywhere.

        No step is long enough. The hypothesis alone has the smallest margin `low`. It becomes the ensemble if no
        earlier weights have a larger one; otherwise it is left out. An ensemble is never empty, so the first hypothesis
        is never left out.
        """
        if not keeps and context.state.w.any():
            reason = f"the newest hypothesis has a margin of {low:.6g} on every example, so it is left out"
            return replace(context.state, stop_reason=reason)
        end = self.state_at(context, unit_weight(context.pool.t, context.newest), context.newest_margins)
        end_reason = f"the newest hypothesis alone has a margin of {low:.6g} on every example"
        return replace(
            end, stop_reason=end_reason if keeps else f"{end_reason}; it is the first one, and is not left out"
        )
