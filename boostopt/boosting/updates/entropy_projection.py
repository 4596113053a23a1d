"""The update of AdaBoost and its relatives."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from boostopt.boosting.run.state import State
from boostopt.boosting.updates.base import Update, UpdateContext, unit_weight
from boostopt.errors import ProblemError
from boostopt.functions.edge_functions.bounded import FixedEdges
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy
from boostopt.programs.step_sizes import step_to_edge


class EntropyProjection(Update):
    """A step lambda_q <- lambda_q + alpha by which the newest hypothesis gets the edge rho that the page says."""

    def __call__(self, move: UpdateContext) -> State:
        page, p = (
            self.problem.formulation,
            self.problem.parameters(move.state.progress(self.problem, move.newest_margins)),
        )
        target, F = page.edge_function(p), self.problem.F
        if not (isinstance(target, FixedEdges) and isinstance(F, RelativeEntropy)):
            raise ProblemError(
                f'a page whose update is "projection" must have fixed edges and a relative entropy; {page.name} has '
                f"{type(target).__name__} and {type(F).__name__}. Correct the page."
            )
        state, live = move.state, self.problem.examples.d0 > 0
        low, high = float(move.newest_margins[live].min()), float(move.newest_margins[live].max())
        if low >= target.rho and low > 0.0:
            best = low >= state.soft_margin
            return self._finish_on_perfect_hypothesis(move, low, best and page.keeps_faultless(p))
        excess = page.least_excess(p)
        if excess > 0.0 and state.bounds.edge <= target.rho + excess:
            by = f"by more than {excess:.6g}, but {state.bounds.edge:.6g}"
            return replace(
                state, stuck=f"the newest hypothesis has no larger edge than its target {target.rho:.6g} {by}"
            )
        if not low < target.rho < high:
            return replace(state, stuck=f"no step gives the newest hypothesis the edge {target.rho:.6g}")
        # Not the logarithm of d: weights that underflow are alive all the same.
        alpha = step_to_edge(move.newest_margins, F.log_d0 - state.m, target.rho, state.d)
        if alpha <= 0.0:
            return replace(state, stuck=f"the newest hypothesis has no larger edge than its target {target.rho:.6g}")
        w = move.weights
        with np.errstate(over="ignore", invalid="ignore"):
            w[move.newest] += alpha
            m = state.m + alpha * move.newest_margins
        # Of margins near 0 the step may be longer than any float, and infinite times 0 is no number.
        if not (np.isfinite(m).all() and math.isfinite(float(w.sum()))):
            overflows = f"the step that gives the newest hypothesis the edge {target.rho:.6g} overflows"
            return replace(state, stuck=overflows)
        return self.state_at(move, w, m)

    def _finish_on_perfect_hypothesis(self, move: UpdateContext, low: float, keeps: bool) -> State:
        """Return the end of a run whose newest hypothesis has a margin of at least rho everywhere.

        No step is long enough. Alone it has the smallest margin `low`: it is kept where no weights before had more, or
        left out. An ensemble is never empty: the first hypothesis is kept in any case.
        """
        if not keeps and move.state.w.any():
            left_out = f"the newest hypothesis has a margin of {low:.6g} on every example, so it is left out"
            return replace(move.state, stuck=left_out)
        end = self.state_at(move, unit_weight(move.pool.t, move.newest), move.newest_margins)
        stuck = f"the newest hypothesis alone has a margin of {low:.6g} on every example"
        return replace(end, stuck=stuck if keeps else f"{stuck}; it is the first one, and is not left out")
