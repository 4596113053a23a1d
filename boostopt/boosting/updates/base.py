"""The contract of an update of boosting: a move in, a state out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.optimize import brentq

from boostopt._utils.array_types import Array, Float
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.backends.base import Deadline
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.problem import Problem
from boostopt.boosting.run.state import State
from boostopt.functions.edge_functions.base import EdgeFunction

INFEASIBLE = "the program is infeasible: the weights prove a soft margin above the bound of the edges"
"""Why no further update is possible where edges are bounded: that is what such a run is after."""

LINE_SEARCH_TOL, LINE_SEARCH_RELATIVE_TOL = 1e-9, 1e-3
"""Accuracy of the weight that a line search finds: absolute, and as a share of the closed step, which it must not lose.

Where eta is large steps are tiny; the share of the step loses its square of the gain that theory promises.
"""


@dataclass(frozen=True, eq=False)
class UpdateContext(ImmutableArrays):
    """The input of an update.

    Attributes
    ----------
    state
        Where the run stands, the bounds of the newest answer included.
    pool
        The hypotheses, the newest ones included.
    newest
        The newest hypothesis: the number of the one that the oracle put first.
    newest_margins
        Its margins, shape (N,).
    tol
        Scaled gap wanted of a solver.
    deadline
        When to stop.
    """

    state: State
    pool: ColumnPool
    newest: int
    newest_margins: Float[Array, " N"]
    tol: float
    deadline: Deadline

    @property
    def weights(self) -> Float[Array, " t"]:
        """The weights so far, 0 for what has joined."""
        return self.state.padded_weights(self.pool.t)

    def combined(self, alpha: float) -> tuple[Float[Array, " t"], Float[Array, " N"]]:
        """Return (w, Uw) with the newest hypothesis mixed in by a weight alpha."""
        w = (1.0 - alpha) * self.weights
        w[self.newest] += alpha
        return w, self.state.m + alpha * (self.newest_margins - self.state.m)


class Update(ABC):
    """A way to move; it changes nothing but what it returns."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def warm_start(self, state: State, collected: ColumnPool, tol: float, deadline: Deadline) -> State:
        """Return where a run begins that takes hypotheses and weights over, before any round."""
        return state

    @abstractmethod
    def __call__(self, move: UpdateContext) -> State:
        """Return where the run stands after the move, its soft margin not yet judged."""

    def bounds_class(self, d: Float[Array, " N"]) -> bool:
        """Return whether the largest edge of the class under a distribution bounds what is certified."""
        return True

    def improved(self, before: State, after: State, rise: float) -> bool:
        """Return whether a move has changed anything: D, by more than `rise`."""
        return after.value > before.value + rise

    def closing_remark(self, state: State) -> str:
        """Return what the reason of a run that ends has to say besides; "" for nothing."""
        return ""

    def state_at(
        self, move: UpdateContext, w: Float[Array, " t"], m: Float[Array, " N"], G: EdgeFunction | None = None
    ) -> State:
        """Return the state at weights w with the margins m, asked with d(w); G is the round's where it changes."""
        at = self.problem.conjugate_at_margins(m)
        value = self.problem.dual_objective(at, w, G)
        return replace(move.state, round=move.state.round + 1, w=w, m=m, d=at.d, value=value, certificate=None)


def unit_weight(t: int, q: int) -> Float[Array, " t"]:
    """Return the weights of one hypothesis alone."""
    w = np.zeros(t)
    w[q] = 1.0
    return w


def line_search_root(slope: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of the slope of D along a weight, between the closed step and a weight too large."""
    return cast(float, brentq(slope, low, high, xtol=min(LINE_SEARCH_TOL, LINE_SEARCH_RELATIVE_TOL * low)))
