"""MLPBoost: in every round, the better of a corrective step and the weights of LPBoost.

Weights that are at least as good as a corrective step preserve its bound on the rounds. The weights of the linear
program, with the largest soft margin over the pool, are mostly much better. The comparison uses D, the soft margin with
its entropy, and the query to the oracle is d(w). LPBoost has many optimal distributions and may take the worst one in
every round; the distribution of MLPBoost is unique [Mitsuboshi, Hatano, Takimoto 2022,
algorithm 1; theorem A of the page of theorems].
"""

from __future__ import annotations

from dataclasses import replace

from boostopt.backends.base import Backend
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting.run.run_state import State
from boostopt.boosting.updates.base import Update, UpdateContext
from boostopt.errors import require_not_none
from boostopt.solving.solve import solve

MEMORY_LP_COLUMNS = "weighed"
"""The key, in the memory of a state, of the number of hypotheses of the last linear program."""


class MLPBoost(Update):
    """The better of a corrective step and the weights with the largest soft margin.

    The linear program is solved after every new hypothesis. Without a new one it would give the same weights again, and
    D has not decreased since.

    The `backend` of a state is the backend of the linear program if its weights were taken, "" after a step.

    Attributes
    ----------
    backend
        The backend that solves the linear programs.
    step
        The corrective step.
    """

    backend: str | Backend
    step: Update

    def __init__(self, problem: Problem, backend: str | Backend, step: Update) -> None:
        super().__init__(problem)
        self.backend, self.step = backend, step
        self._objective: SoftMarginObjective = require_not_none(problem.objective, "a soft margin")

    def __call__(self, context: UpdateContext) -> State:
        step_state, t = replace(self.step(context), backend=""), float(context.pool.t)
        if context.state.memory.get(MEMORY_LP_COLUMNS) == t:
            return step_state
        lp_state = self.lpboost_state(context)
        better = lp_state if lp_state.dual_objective > step_state.dual_objective else step_state
        return replace(better, start=lp_state.start, memory={**better.memory, MEMORY_LP_COLUMNS: t})

    def lpboost_state(self, context: UpdateContext) -> State:
        """Return the state at the weights with the largest soft margin over the pool."""
        U, remaining = context.pool.margins, context.deadline.time_limit
        solution = solve(self._objective.program(U), self.backend, context.tol, remaining, start=context.state.start)
        w = solution.w
        return replace(self.state_at(context, w, U.margins(w)), start=solution.start, backend=solution.backend)
