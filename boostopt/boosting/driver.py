"""Column generation: ask the oracle, take its column in, move, bound, stop.

    state = the distribution that minimizes F
    repeat
        ask the oracle with the state's distribution          its edge bounds what the class can reach
        stop if a rule holds
        take the new column in and move                       the program over all hypotheses, a step, a projection
        stop if a rule holds

[Glocer 2009, algorithms 2.1, 3.1 to 3.3, 4.1 and 4.3; Shalev-Shwartz and Singer 2008, figure 1]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from boostopt.backends.base import Deadline
from boostopt.boosting.collected import Collected, checked_edge
from boostopt.boosting.interrupts import Interrupts
from boostopt.boosting.problem import Problem
from boostopt.boosting.rules import Rule, Schedule, View
from boostopt.boosting.run import Record
from boostopt.boosting.state import Bounds, State
from boostopt.boosting.updates import Move, Total, Update
from boostopt.boosting.watch import Watch
from boostopt.oracles.base import Answer, Oracle, Query
from boostopt.shapes import Array, Float
from boostopt.solving import solve

REPEATS = 4
"""Rounds in a row without a new hypothesis and without a rise of D after which a run has converged."""

RISE = 1e-12
"""Rise of D below which a round has changed nothing."""

TIGHTER = 1e-2
"""Factor of the tolerance with every round in a row that brought no new hypothesis: the solve was too rough."""

FINEST = 1e-10
"""The finest tolerance that is asked of a solver."""

GAIN_TOL = 1e-7
"""Scaled gap to which the gain of a hypothesis is found, for oracles that choose by it."""

BROKEN = 1e-9
"""By how much an edge may fall short of the guarantee by rounding."""


@dataclass(frozen=True)
class Limits:
    """When a run ends without a rule.

    Attributes
    ----------
    max_rounds
        Updates; None for no limit.
    deadline
        When time is up.
    """

    max_rounds: int | None
    deadline: Deadline


@dataclass(frozen=True, eq=False)
class Loop:
    """The parts of a run that do not change.

    Attributes
    ----------
    problem, oracle
        What is boosted, over which class.
    count
        Columns that the oracle is asked for in a round.
    update
        How the weights move.
    rules
        When the run stops.
    schedule
        How accurate solves are.
    limits
        When the run ends all the same.
    watch
        What looks at every round: trace, test examples, checkpoints, progress.
    """

    problem: Problem
    oracle: Oracle
    count: int
    update: Update
    rules: tuple[Rule, ...]
    schedule: Schedule
    limits: Limits
    watch: Watch

    def run(self, record: Record) -> Record:
        """Go on from a record until a rule holds, a limit is reached or the user stops.

        The record that is returned says which; what happens in between is only ever added to it.
        """
        state, collected, known, still = record.state, record.collected, 0, 0
        with Interrupts() as interrupts:
            while True:
                began = time.perf_counter()
                answer = self.oracle.best(Query(state.d, self.count, self._gain(state, collected)))
                edge = checked_edge(answer.columns[0], state.d)
                seconds = time.perf_counter() - began
                state = replace(state, bounds=self._bounds(state, collected, answer, edge))
                view = View(self.problem, state, record.guarantee)
                if reason := self._rule(view) or self._end(view, still, interrupts.wanted):
                    break
                before = state.value, collected.t
                began = time.perf_counter()
                tol = max(self.schedule.tolerance(view) * TIGHTER**known, FINEST)
                state = self.update(self._move(state, collected, answer, tol)).judged(self.problem.goal, collected)
                record = replace(record, state=state, oracle_state=self.oracle.state())
                known = 0 if collected.t > before[1] else known + 1
                risen = state.value > before[0] + RISE * max(1.0, abs(before[0]))
                still = 0 if risen or known == 0 else still + 1
                state = self.watch.saw(record, seconds, time.perf_counter() - began)
                view = View(self.problem, state, record.guarantee)
                if reason := self._rule(view) or state.stuck:
                    break
        if isinstance(self.update, Total):
            state = self.update.polished(state, collected, self.limits.deadline)
        return self.watch.ended(replace(record, state=state, oracle_state=self.oracle.state(), reason=reason))

    def _move(self, state: State, collected: Collected, answer: Answer, tol: float) -> Move:
        """Take the columns of an answer in, each once, and return what the update is given."""
        numbers = [collected.taken(column) for column in answer.columns]
        u = np.asarray(answer.columns[0].margins, dtype=np.float64)
        return Move(state, collected, numbers[0], u, tol, self.limits.deadline)

    def _bounds(self, state: State, collected: Collected, answer: Answer, edge: float) -> Bounds:
        """Return the bounds after an answer of the oracle."""
        d, goal = state.d, self.problem.goal
        F_of_d = self.problem.F.value(d)
        bounds = state.bounds.seen(edge, 0.0 if goal is None else goal.F0.value(d), F_of_d)
        if answer.largest is not None and goal is not None:
            bounds = bounds.lowered(goal.upper(d, answer.largest), d)
        if not any(rule.primal for rule in self.rules):
            return bounds
        known = float(collected.margins.edges(d).max()) if collected.t else -1.0
        primal = F_of_d + max(known, edge)
        return replace(bounds, primal=F_of_d + known, smallest_primal=min(bounds.smallest_primal, primal))

    def _rule(self, view: View) -> str:
        """Return the words of the first rule that holds, "" if none does."""
        return next((rule.words(view) for rule in self.rules if rule.holds(view)), "")

    def _end(self, view: View, still: int, interrupted: bool) -> str:
        """Return why a run ends without a rule, "" if it does not."""
        state, guarantee = view.state, view.guarantee
        if guarantee is not None and state.bounds.edge < guarantee - BROKEN:
            return (
                f"the guarantee is broken: every edge was to be at least {guarantee:.6g}, and the oracle returned "
                f"{state.bounds.edge:.6g}"
            )
        if still >= REPEATS:
            return "converged: the oracle returns hypotheses that are known, and the program no longer rises"
        if interrupted:
            return "interrupted by the user"
        if self.limits.deadline.passed:
            return "the time limit"
        return "the limit on rounds" if state.round == self.limits.max_rounds else ""

    def _gain(self, state: State, collected: Collected) -> Callable[[Float[Array, " N"]], float]:
        """Return what says by how much the optimum of the program rises if a hypothesis with given margins joins."""

        def gain(u: Float[Array, " N"]) -> float:
            program = self.problem.program(collected.joined(u), state.progress(self.problem, u))
            return solve(program, tol=GAIN_TOL).certificate.lower - state.value

        return gain
