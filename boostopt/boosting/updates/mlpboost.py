"""MLPBoost: after every corrective step the weights of LPBoost are looked at, and the better ones are kept.

Any weights that are no worse than a corrective step keep its bound of the rounds; those of a linear program, the
largest soft margin over the hypotheses collected, are mostly far better. Which of the two are better is a matter of D,
the soft margin with its entropy, and it is d(w) that the oracle is asked with: where LPBoost has many distributions to
choose from, and may take the worst one in every round, this run has a single one [Mitsuboshi, Hatano, Takimoto 2022,
algorithm 1; theorem A of the page of theorems].
"""

from __future__ import annotations

from dataclasses import replace

from boostopt.backends.base import Backend
from boostopt.boosting.problem import Problem
from boostopt.boosting.run.state import State
from boostopt.boosting.updates.base import Update, UpdateContext
from boostopt.errors import require_not_none
from boostopt.objectives.soft_margin import SoftMarginObjective
from boostopt.solving.solve import solve

WEIGHED = "weighed"
"""Name, in a state's memory, of the number of hypotheses over which the last linear program was solved."""


class MLPBoost(Update):
    """The better of a corrective step and of the weights with the largest soft margin.

    The linear program is solved where a hypothesis has come. Over the same ones it would give the weights that have
    been looked at, and D has not fallen since.

    A state's `backend` is that of the linear program where its weights were kept, and "" where the step was.
    """

    backend: str | Backend
    step: Update

    def __init__(self, problem: Problem, backend: str | Backend, step: Update) -> None:
        super().__init__(problem)
        self.backend, self.step = backend, step
        self._goal: SoftMarginObjective = require_not_none(problem.objective, "a soft margin")

    def __call__(self, move: UpdateContext) -> State:
        stepped, t = replace(self.step(move), backend=""), float(move.pool.t)
        if move.state.memory.get(WEIGHED) == t:
            return stepped
        weighed = self.lpboost_state(move)
        kept = weighed if weighed.value > stepped.value else stepped
        return replace(kept, start=weighed.start, memory={**kept.memory, WEIGHED: t})

    def lpboost_state(self, move: UpdateContext) -> State:
        """Return the state at the weights with the largest soft margin over the hypotheses collected."""
        U, left = move.pool.margins, move.deadline.time_limit
        solution = solve(self._goal.program(U), self.backend, move.tol, left, start=move.state.start)
        w = solution.w
        return replace(self.state_at(move, w, U.margins(w)), start=solution.start, backend=solution.backend)
