"""The interface of the updates of the weights: a map from an update context to the next state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from boostopt._utils.array_types import ExampleVector, HypothesisVector
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.backends.base import Deadline
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.run.run_state import State
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.numerics.root_finding import find_root

INFEASIBLE = "the program is infeasible: the weights prove a soft margin above the bound of the edges"
"""The reason of a run with bounded edges that has proved infeasibility, which is the purpose of such a run."""

LINE_SEARCH_TOL, LINE_SEARCH_RELATIVE_TOL = 1e-9, 1e-3
"""The accuracy of the weight of a line search: absolute, and as a fraction of the step in closed form.

If eta is large, the steps are tiny. A relative error of the step loses its square as a fraction of the increase that
theory promises.
"""


@dataclass(frozen=True, eq=False)
class UpdateContext(ImmutableArrays):
    """The input of an update.

    Attributes
    ----------
    state
        The state of the run, with the bounds of the newest answer.
    pool
        The hypotheses, with the newest ones.
    newest
        The number of the newest hypothesis, the first of the answer of the oracle.
    newest_margins
        The margins of the newest hypothesis, shape (N,).
    tol
        The target gap of a solve.
    deadline
        The deadline of a solve.
    """

    state: State
    pool: ColumnPool
    newest: int
    newest_margins: ExampleVector
    tol: float
    deadline: Deadline

    @property
    def weights(self) -> HypothesisVector:
        """The weights before the update, 0 for new hypotheses."""
        return self.state.padded_weights(self.pool.t)

    def combined(self, alpha: float) -> tuple[HypothesisVector, ExampleVector]:
        """Return (w, Uw) of the convex combination that gives the newest hypothesis the weight alpha."""
        w = (1.0 - alpha) * self.weights
        w[self.newest] += alpha
        return w, self.state.m + alpha * (self.newest_margins - self.state.m)


class Update(ABC):
    """An update of the weights, without side effects.

    Attributes
    ----------
    problem
        The problem of the run.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def warm_start(self, state: State, pool: ColumnPool, tol: float, deadline: Deadline) -> State:
        """Return the first state of a run that starts with hypotheses and weights of an earlier run."""
        return state

    @abstractmethod
    def __call__(self, context: UpdateContext) -> State:
        """Return the state after the update; its soft margin is not yet computed."""

    def bounds_class(self, d: ExampleVector) -> bool:
        """Return whether the largest edge of the class under a distribution bounds the certified value."""
        return True

    def improved(self, previous_state: State, next_state: State, min_increase: float) -> bool:
        """Return whether an update has increased D by more than `min_increase`."""
        return bool(next_state.dual_objective > previous_state.dual_objective + min_increase)

    def closing_remark(self, state: State) -> str:
        """Return the end of the reason of a run; "" if there is nothing to add."""
        return ""

    def state_at(
        self, context: UpdateContext, w: HypothesisVector, m: ExampleVector, G: EdgeFunction | None = None
    ) -> State:
        """Return the state at weights w with the margins m and the query d(w); G is the edge function of the round."""
        conjugate = self.problem.conjugate_at_margins(m)
        value = self.problem.dual_objective(conjugate, w, G)
        return replace(
            context.state,
            round=context.state.round + 1,
            w=w,
            m=m,
            d=conjugate.d,
            dual_objective=value,
            certificate=None,
        )


def unit_weight(t: int, q: int) -> HypothesisVector:
    """Return the unit vector of length t with the entry 1 at q."""
    w = np.zeros(t)
    w[q] = 1.0
    return w


def line_search_root(slope: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of the slope of D along a weight, between the step in closed form and an upper bracket end."""
    # D is concave: its slope decreases.
    return find_root(lambda step: -slope(step), low, high, min(LINE_SEARCH_TOL, LINE_SEARCH_RELATIVE_TOL * low))
