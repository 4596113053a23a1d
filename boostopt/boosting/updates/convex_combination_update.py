"""Corrective updates: a convex combination of the weights and the newest hypothesis.

Every corrective update is at least as good as one corrective step [Glocer 2009, algorithm 4.1, with the square in its
denominator; Shalev-Shwartz and Singer 2008, figure 1 and lemma 11], so theory bounds the number of rounds.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt.backends.base import Backend
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.run.run_state import State
from boostopt.boosting.updates.base import Update, UpdateContext, line_search_root, unit_weight
from boostopt.functions.regularizers.base import Regularizer
from boostopt.solving.solution import Outcome
from boostopt.solving.solve import solve

PAIR_TOL = 1e-9
"""The target gap of a program over two columns."""


class CorrectiveUpdate(Update):
    """A step of w towards the newest hypothesis q: w <- (1 - alpha) w + alpha e_q."""

    def __call__(self, context: UpdateContext) -> State:
        # The first combination is the first hypothesis, unless |w| may be below 1: then weights of 0 are a start.
        if len(context.state.w) == 0 and not self.problem.two_sided:
            return self.state_at(context, unit_weight(context.pool.t, context.newest), context.newest_margins)
        return self.combined(context)

    @abstractmethod
    def combined(self, context: UpdateContext) -> State:
        """Return the state after the step towards the newest hypothesis."""


class StepSizeUpdate(CorrectiveUpdate):
    """A corrective update that computes the weight alpha of the newest hypothesis first."""

    def combined(self, context: UpdateContext) -> State:
        alpha = self.step_size(context)
        end_reason = (
            "no step raises the program: the newest hypothesis is no better than the mixture" if alpha == 0 else ""
        )
        return replace(self.state_at(context, *context.combined(alpha)), stop_reason=end_reason)

    @abstractmethod
    def step_size(self, context: UpdateContext) -> float:
        """Return alpha in [0, 1]."""


class ShortStep(StepSizeUpdate):
    """The step whose increase of D theory bounds: alpha = clip(x . d / (eta max |x|^2), 0, 1), x = u - Uw."""

    def step_size(self, context: UpdateContext) -> float:
        return short_step_size(self.problem.F, context.newest_margins - context.state.m, context.state.d)


def short_step_size(F: Regularizer, x: ExampleVector, d: ExampleVector, max_step: float = 1.0) -> float:
    """Return the step size, at most `max_step`, of a corrective step along the margins x, where d = d(w).

    For x = u - Uw, the step size is the weight of the newest hypothesis.
    """
    largest = float(np.abs(x).max())
    if largest == 0.0:
        return 0.0
    # Two divisions, because the square of a tiny number is 0.
    return float(np.clip(F.strong_convexity * float(x @ d) / largest / largest, 0.0, max_step))


class LineSearch(StepSizeUpdate):
    """The maximizer of D between the weights and the newest hypothesis: the root of the derivative x . d(w)."""

    def step_size(self, context: UpdateContext) -> float:
        return line_search_size(self.problem, context, context.newest_margins - context.state.m)


def line_search_size(problem: Problem, context: UpdateContext, x: ExampleVector, max_step: float = 1.0) -> float:
    """Return the step size in [0, max_step] that maximizes D along the margins x."""
    m = context.state.m

    def slope(alpha: float) -> float:
        return float(x @ problem.conjugate_at_margins(m + alpha * x).d)

    # D is concave along x, and it increases up to the corrective step.
    low = short_step_size(problem.F, x, context.state.d, max_step)
    if low == 0.0 or low == max_step or slope(low) <= 0.0:
        return low
    return max_step if slope(max_step) >= 0.0 else line_search_root(slope, low, max_step)


class TwoColumnProgram(CorrectiveUpdate):
    """The program over two columns, the combination so far and the newest hypothesis, solved by a backend."""

    def __init__(self, problem: Problem, backend: str | Backend) -> None:
        super().__init__(problem)
        self.backend = backend

    def combined(self, context: UpdateContext) -> State:
        solution = solve(
            self.problem.two_column_program(context.state.m, context.newest_margins),
            self.backend,
            PAIR_TOL,
            context.deadline.time_limit,
        )
        if solution.outcome is Outcome.INFEASIBLE:
            return replace(
                context.state,
                stop_reason="the program over the mixture and the newest hypothesis is infeasible: as printed it "
                "requires equal edges, but no distribution within the caps has them",
            )
        v, u = solution.w
        w = v * context.weights
        w[context.newest] += u
        return replace(
            self.state_at(context, w, v * context.state.m + u * context.newest_margins), backend=solution.backend
        )
