"""Corrective updates: the newest hypothesis is mixed in, and all other weights change by one factor.

Every one of them is at least as good as one corrective step [Glocer 2009, algorithm 4.1, with the square in its
denominator; Shalev-Shwartz and Singer 2008, figure 1 and lemma 11], so that theory bounds the rounds.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.backends.base import Backend
from boostopt.boosting.problem import Problem
from boostopt.boosting.run.state import State
from boostopt.boosting.updates.base import Update, UpdateContext, line_search_root, unit_weight
from boostopt.functions.regularizers.base import Regularizer
from boostopt.solving.solution import Outcome
from boostopt.solving.solve import solve

PAIR_TOL = 1e-9
"""Scaled gap to which a program over two columns is solved."""


class CorrectiveUpdate(Update):
    """w moves towards the newest hypothesis: w <- (1 - alpha) w + alpha e_q."""

    def __call__(self, move: UpdateContext) -> State:
        # The first mixture is the first hypothesis; only where |w| may be below 1 are weights of 0 a start.
        if len(move.state.w) == 0 and not self.problem.two_sided:
            return self.state_at(move, unit_weight(move.pool.t, move.newest), move.newest_margins)
        return self.combined(move)

    @abstractmethod
    def combined(self, move: UpdateContext) -> State:
        """Return the state with the newest hypothesis mixed in."""


class StepSizeUpdate(CorrectiveUpdate):
    """The mixture at a weight alpha of the newest hypothesis that is found first."""

    def combined(self, move: UpdateContext) -> State:
        alpha = self.step_size(move)
        stuck = "no step raises the program: the newest hypothesis is no better than the mixture" if alpha == 0 else ""
        return replace(self.state_at(move, *move.combined(alpha)), stuck=stuck)

    @abstractmethod
    def step_size(self, move: UpdateContext) -> float:
        """Return alpha in [0, 1]."""


class ShortStep(StepSizeUpdate):
    """The step whose gain theory bounds: alpha = clip(x . d / (eta max |x|^2), 0, 1), x = u - Uw."""

    def step_size(self, move: UpdateContext) -> float:
        return short_step_size(self.problem.F, move.newest_margins - move.state.m, move.state.d)


def short_step_size(F: Regularizer, x: Float[Array, " N"], d: Float[Array, " N"], max_step: float = 1.0) -> float:
    """Return the weight, `max_step` at the most, that a corrective step moves where it changes margins by x, d being d(w).

    With x = u - Uw it is the weight of the newest hypothesis.
    """
    largest = float(np.abs(x).max())
    if largest == 0.0:
        return 0.0
    # Divided twice: the square of a tiny number is 0.
    return float(np.clip(F.strong_convexity * float(x @ d) / largest / largest, 0.0, max_step))


class LineSearch(StepSizeUpdate):
    """The largest D between the mixture and the newest hypothesis: the root of its derivative x . d(w)."""

    def step_size(self, move: UpdateContext) -> float:
        return line_search_size(self.problem, move, move.newest_margins - move.state.m)


def line_search_size(problem: Problem, move: UpdateContext, x: Float[Array, " N"], most: float = 1.0) -> float:
    """Return the weight in [0, most] at which D is largest, where margins change by x with each unit of it."""
    m = move.state.m

    def slope(alpha: float) -> float:
        return float(x @ problem.conjugate_at_margins(m + alpha * x).d)

    # D is concave along x, and up to the corrective step it rises.
    low = short_step_size(problem.F, x, move.state.d, most)
    if low == 0.0 or low == most or slope(low) <= 0.0:
        return low
    return most if slope(most) >= 0.0 else line_search_root(slope, low, most)


class TwoColumnProgram(CorrectiveUpdate):
    """The program over two columns, the mixture and the newest hypothesis, solved by a backend."""

    def __init__(self, problem: Problem, backend: str | Backend) -> None:
        super().__init__(problem)
        self.backend = backend

    def combined(self, move: UpdateContext) -> State:
        solution = solve(
            self.problem.two_column_program(move.state.m, move.newest_margins),
            self.backend,
            PAIR_TOL,
            move.deadline.time_limit,
        )
        if solution.outcome is Outcome.INFEASIBLE:
            return replace(
                move.state,
                stuck="the program over the mixture and the newest hypothesis is infeasible: as printed it requires "
                "equal edges, but no distribution within the caps has them",
            )
        v, u = solution.w
        w = v * move.weights
        w[move.newest] += u
        return replace(self.state_at(move, w, v * move.state.m + u * move.newest_margins), backend=solution.backend)
