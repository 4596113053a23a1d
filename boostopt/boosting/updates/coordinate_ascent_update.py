"""Coordinate ascent for bounded edges: corrective updates that increase the weight of the newest hypothesis only.

With G = I[e <= gamma] the weights are nonnegative and their sum is free [Glocer 2009, (3.1); the sum of 1 in lemma 3.1
is a slip]. An increase of the weight of u by (u . d - gamma) / eta, from d = d(w), increases D(w; gamma) by at least
(u . d - gamma)^2 / (2 eta). D grows until w proves that no distribution has such edges: theorem B of the page of
theorems. A totally corrective SoftBoost makes at least this progress, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from boostopt._utils.array_types import ExampleVector, HypothesisVector
from boostopt.boosting.run.run_state import State
from boostopt.boosting.updates.base import INFEASIBLE, Update, UpdateContext, line_search_root
from boostopt.functions.edge_functions.base import EdgeFunction

SLOPE_TOL = 1e-12
"""The slope of D at which a line search ends: D no longer increases, or only towards infinite weights."""


@dataclass(frozen=True, eq=False)
class AscentPoint:
    """The start of an ascent step.

    Attributes
    ----------
    w, m, d
        The weights, their margins Uw and the distribution d(w).
    """

    w: HypothesisVector
    m: ExampleVector
    d: ExampleVector


class CoordinateStep(Update):
    """The step whose increase of D theory bounds, in closed form."""

    def __call__(self, context: UpdateContext) -> State:
        U, progress = context.pool.margins, context.state.progress(self.problem, context.newest_margins)
        G = self.problem.edge_function_in(progress)
        gamma = cast(float, G.edge_bound)  # the step exists only for a G with a bound
        start = self._start(context, G)
        alpha = self.step_length(start, context.newest_margins, gamma)
        w, m = start.w.copy(), start.m + alpha * context.newest_margins
        w[context.newest] += alpha
        state = self.state_at(context, w, m, G)
        if self.smallest_margin(m, float(w.sum())) > gamma:
            # The certificate decides whether this is more than rounding. If not, the run continues, and D grows.
            proof = self.problem.program(U, progress).certify(w=w)
            if proof.infeasible:
                final_state = self.state_at(context, proof.w, U.margins(proof.w), G)
                return replace(final_state, dual_objective=proof.lower, certificate=proof, stop_reason=INFEASIBLE)
        no_step = alpha == 0.0 and start.d is context.state.d
        return replace(state, stop_reason=f"the newest hypothesis has no edge above {gamma:.6g}" if no_step else "")

    def step_length(self, start: AscentPoint, u: ExampleVector, gamma: float) -> float:
        """Return the increase of the weight of the hypothesis with the margins u, at least 0."""
        return max(self.problem.F.strong_convexity * (float(u @ start.d) - gamma), 0.0)

    def smallest_margin(self, m: ExampleVector, total: float) -> float:
        """Return the smallest mean of the margins over the distributions in the domain of F, or a lower bound of it.

        A number above gamma proves that no distribution has such edges. The objective of the run proves nothing here,
        because it may contain terms of F.
        """
        return -self.problem.F.support(-m / total) if self.problem.F.on_simplex and total > 0.0 else -np.inf

    def _start(self, context: UpdateContext, G: EdgeFunction) -> AscentPoint:
        """Return the start of the step: the weights of the state, or 0 if those of an earlier run have a smaller D."""
        start = AscentPoint(context.weights, context.state.m, context.state.d)
        if context.state.round > 0 or not start.w.any():
            return start
        zero_w, zero_m = np.zeros(len(start.w)), np.zeros(len(start.m))
        zero_conjugate, conjugate = (
            self.problem.conjugate_at_margins(zero_m),
            self.problem.conjugate_at_margins(start.m),
        )
        zero_value = self.problem.dual_objective(zero_conjugate, zero_w, G)
        if self.problem.dual_objective(conjugate, start.w, G) >= zero_value:
            return replace(start, d=conjugate.d)
        return AscentPoint(zero_w, zero_m, zero_conjugate.d)


class CoordinateLineSearch(CoordinateStep):
    """The maximizer of D along the weight of the newest hypothesis, or the first step that proves infeasibility."""

    def step_length(self, start: AscentPoint, u: ExampleVector, gamma: float) -> float:
        low, total = super().step_length(start, u, gamma), float(start.w.sum())

        def slope(alpha: float) -> float:
            return float(u @ self.problem.conjugate_at_margins(start.m + alpha * u).d) - gamma

        high = low
        # D increases up to the step in closed form. If D increases for ever, the smallest margin finally exceeds gamma.
        while low > 0.0 and slope(high) > SLOPE_TOL:
            if self.smallest_margin(start.m + high * u, total + high) > gamma:
                return high
            high *= 2.0
        return line_search_root(slope, low, high) if high > low and slope(high) < 0.0 else high
