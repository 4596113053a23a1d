"""The corrective updates where edges are bounded: the weight of the newest hypothesis is raised, the others stay.

With G = I[e <= gamma] the weights are not negative and have no sum [Glocer 2009, (3.1); the sum of 1 in lemma 3.1 is a
slip]. Raising the weight of u from d = d(w) by (u . d - gamma) / eta raises D(w; gamma) by at least
(u . d - gamma)^2 / (2 eta), and D grows until w proves that no distribution has such edges: theorem B of the page of
theorems. A totally corrective SoftBoost is held to that as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.run.state import State
from boostopt.boosting.updates.base import INFEASIBLE, Update, UpdateContext, line_search_root
from boostopt.functions.edge_functions.base import EdgeFunction

SLOPE_TOL = 1e-12
"""Slope of D at which a line search has come to its end: D rises no more, or only towards infinite weights."""


@dataclass(frozen=True, eq=False)
class AscentPoint:
    """The weights w that one is raised from, with margins m and distribution d(w)."""

    w: Float[Array, " t"]
    m: Float[Array, " N"]
    d: Float[Array, " N"]


class CoordinateStep(Update):
    """The step whose gain theory bounds, in closed form."""

    def __call__(self, move: UpdateContext) -> State:
        U, progress = move.pool.margins, move.state.progress(self.problem, move.newest_margins)
        G = self.problem.edge_function_in(progress)
        gamma = cast(float, G.edge_bound)  # of a G without a bound there is no such step
        at = self._start(move, G)
        alpha = self.step_length(at, move.newest_margins, gamma)
        w, m = at.w.copy(), at.m + alpha * move.newest_margins
        w[move.newest] += alpha
        state = self.state_at(move, w, m, G)
        if self.smallest_margin(m, float(w.sum())) > gamma:
            # By more than rounding, or the run goes on: the excess grows with D.
            proof = self.problem.program(U, progress).certify(w=w)
            if proof.infeasible:
                proved = self.state_at(move, proof.w, U.margins(proof.w), G)
                return replace(proved, value=proof.lower, certificate=proof, stuck=INFEASIBLE)
        stuck = alpha == 0.0 and at.d is move.state.d
        return replace(state, stuck=f"the newest hypothesis has no edge above {gamma:.6g}" if stuck else "")

    def step_length(self, at: AscentPoint, u: Float[Array, " N"], gamma: float) -> float:
        """Return by how much the weight of the hypothesis with margins u is raised, at least 0."""
        return max(self.problem.F.strong_convexity * (float(u @ at.d) - gamma), 0.0)

    def smallest_margin(self, m: Float[Array, " N"], total: float) -> float:
        """Return the smallest mean of the margins over the distributions that F allows, or a smaller number.

        Above gamma it shows that none of them has such edges. The value that a run is after does not: it may hold terms
        of F.
        """
        return -self.problem.F.support(-m / total) if self.problem.F.on_simplex and total > 0.0 else -np.inf

    def _start(self, move: UpdateContext, G: EdgeFunction) -> AscentPoint:
        """Return where the weight is raised from: at no weights, where those of an earlier run are worth less."""
        here = AscentPoint(move.weights, move.state.m, move.state.d)
        if move.state.round > 0 or not here.w.any():
            return here
        none = np.zeros(len(here.w))
        before, now = (
            self.problem.conjugate_at_margins(np.zeros(len(here.m))),
            self.problem.conjugate_at_margins(here.m),
        )
        if self.problem.dual_objective(now, here.w, G) >= self.problem.dual_objective(before, none, G):
            return replace(here, d=now.d)
        return AscentPoint(none, np.zeros(len(here.m)), before.d)


class CoordinateLineSearch(CoordinateStep):
    """The largest D along the weight of the newest hypothesis; no further than to a proof that there is none."""

    def step_length(self, at: AscentPoint, u: Float[Array, " N"], gamma: float) -> float:
        low, total = super().step_length(at, u, gamma), float(at.w.sum())

        def slope(alpha: float) -> float:
            return float(u @ self.problem.conjugate_at_margins(at.m + alpha * u).d) - gamma

        high = low
        # Up to the closed step D rises. Beyond it, it may for ever: then the smallest margin comes to exceed gamma.
        while low > 0.0 and slope(high) > SLOPE_TOL:
            if self.smallest_margin(at.m + high * u, total + high) > gamma:
                return high
            high *= 2.0
        return line_search_root(slope, low, high) if high > low and slope(high) < 0.0 else high
