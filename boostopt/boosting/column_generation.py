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

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.immutable_arrays import writes_named
from boostopt.backends.base import Deadline
from boostopt.boosting.column_count import FixedColumnCount
from boostopt.boosting.column_pool import CheckedAnswer, ColumnPool
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import Problem
from boostopt.boosting.rules import Rule, RuleContext, caveat_clause, eta_too_small
from boostopt.boosting.run.interrupts import Interrupts
from boostopt.boosting.run.recorder import RunRecorder
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.state import OracleBounds, State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.stabilization import MEMORY_LAST_QUERY, NEGLIGIBLE_WEIGHT_FRACTION
from boostopt.boosting.updates.base import Update, UpdateContext
from boostopt.boosting.updates.totally_corrective import TotallyCorrective
from boostopt.errors import ProblemError, reason_of, short_repr
from boostopt.oracles.base import Answer, Oracle, Query
from boostopt.solving.solve import solve

MAX_STAGNANT_ROUNDS = 4
"""Rounds in a row without a new hypothesis and without a rise of D after which a run has converged."""

MIN_IMPROVEMENT = 1e-12
"""Rise of D below which a round has changed nothing; of a program that was solved, it is `DEFAULT_FINEST_TOL`."""

TIGHTENING_FACTOR = 1e-2
"""Factor of the tolerance with every round in a row that brought no new hypothesis: the solve was too rough."""

DEFAULT_FINEST_TOL, ABSOLUTE_FINEST_TOL = 1e-10, 1e-14
"""The finest tolerance that is asked of a solver as a rule, and where edges need more: rounding is not below that."""

GAIN_TOL = 1e-7
"""Scaled gap to which the gain of a hypothesis is found, for oracles that choose by it."""

GUARANTEE_TOL = 1e-9
"""By how much an edge may fall short of the guarantee by rounding."""

MIN_SOLVE_FRACTION, MIN_SOLVE_SECONDS, MAX_MIN_SOLVE_SECONDS = 0.05, 0.1, 1.0
"""The least time of a solve that is due, whatever is left: a share of the time limit, between two bounds."""

LARGEST_EDGE_TOL = 1e-12
"""By how much an edge may fall short of the largest of the class by rounding."""

KNOWN_HYPOTHESES = "the oracle returns hypotheses that are known"
"""The oracle in the reason of a run whose program should rise and does not."""

EDGE_BOUND_TOL = 1e-9
"""By how much of the sum of d an edge may exceed by rounding what an oracle says is the largest."""


@dataclass(frozen=True, eq=False)
class ColumnGeneration:
    """The parts of a run that do not change.

    Attributes
    ----------
    problem, oracle
        What is boosted, over which class.
    update
        How the weights move.
    rules
        When the run stops.
    options
        Limits, how accurate solves are, and what the oracle is asked with.
    deadline
        When time is up.
    recorder
        What looks at every round: trace, test examples, checkpoints, progress.
    column_count
        How many columns the next round asks for.
    """

    problem: Problem
    oracle: Oracle
    update: Update
    rules: tuple[Rule, ...]
    options: BoostOptions
    deadline: Deadline
    recorder: RunRecorder
    column_count: FixedColumnCount

    def run(self, record: RunData) -> RunData:
        """Go on from a record until a rule holds, a limit is reached or the user stops.

        The record that is returned says which; what happens in between is only ever added to it.
        """
        record = self._warm_started(record)
        state = record.state
        with Interrupts() as interrupts:
            while True:
                # Asked before the oracle is: a run that is resumed after its end ends again where it did.
                moved = state.round or state.stuck
                if moved and (
                    reason := self._rule_message(RuleContext(self.problem, state, record.guarantee)) or state.stuck
                ):
                    break
                try:
                    state, answer, seconds = self._query_oracle(record)
                    view = RuleContext(self.problem, state, record.guarantee)
                    # There is no run without a hypothesis: the first round is always made.
                    if len(state.w) and (
                        reason := self._rule_message(view) or self._limit_reached(view, record, interrupts.requested)
                    ):
                        break
                    t, began = record.pool.t, time.perf_counter()
                    record = self._update(view, record, answer)
                    # Stuck before a step was made, there was no round.
                    if record.state.round > state.round:
                        taken = time.perf_counter() - began
                        if record.pool.t > t:
                            self.column_count.observe(_n_useful(record.state, t), seconds, taken)
                        self.recorder.record_round(record, seconds, taken)
                except Exception as failure:
                    if record.state.round == 0:
                        raise
                    # What was reached is not thrown away: the run ends here, and says why.
                    told = f"{type(failure).__name__}: {reason_of(failure)}"
                    reason = f"{StopReason.FAILED_IN_ROUND} {record.state.round + 1}: {told}"
                    warnings.warn(
                        f"the run {reason}. The run ends with the rounds before.",
                        RuntimeWarning,
                        stacklevel=3,
                    )
                    state = record.state
                    break
                state = record.state
        self.recorder.finish(replace(record, reason=reason))
        if isinstance(self.update, TotallyCorrective):
            state = self.update.polish(state, record.pool, self.deadline)
        record.trace.update_last(state.bounds, state.soft_margin, state.value)
        reason += self.update.closing_remark(state)
        return replace(record, state=state, oracle_state=self.oracle.state(), reason=reason)

    def _warm_started(self, record: RunData) -> RunData:
        """Return the record with the weights of a run that begins with hypotheses of an earlier one."""
        state, collected = record.state, record.pool
        if state.round or not collected.t:
            return record
        tol = self.options.schedule.tolerance(RuleContext(self.problem, state, record.guarantee))
        state = self.update.warm_start(state, collected, tol, self._solve_deadline).with_soft_margin(
            self.problem.objective, collected
        )
        return replace(record, state=replace(state, solved_edge=state.bounds.smallest_edge))

    def _query_oracle(self, record: RunData) -> tuple[State, CheckedAnswer, float]:
        """Ask the oracle: return the state with the bounds that follow, the answer, and the seconds it took."""
        began, state, collected = time.perf_counter(), record.state, record.pool
        # Without a soft margin the rules look at the newest distribution alone.
        d = state.d if self.problem.objective is None else self.options.stabilization.query(state)
        answer, bounds = self._checked_answer(state, collected, d, self._columns_wanted)
        if d is not state.d and not self._has_improving_column(answer, state, collected):
            answer, bounds = self._checked_answer(
                replace(state, bounds=bounds), collected, state.d, self._columns_wanted
            )
        if self.problem.objective is None and all(collected.find(column) is not None for column in answer.columns):
            # Where values add up over the hypotheses the best one may be known, and others be of use all the same.
            first = len(answer.columns)
            answer, bounds = self._checked_answer(state, collected, state.d, collected.t + self._columns_wanted, first)
        state = replace(state, bounds=bounds)
        if self.options.stabilization.previous:
            state = replace(state, memory={**state.memory, MEMORY_LAST_QUERY: d})
        return state, answer, time.perf_counter() - began

    def _has_improving_column(self, answer: CheckedAnswer, state: State, collected: ColumnPool) -> bool:
        """Return whether a hypothesis of an answer has a larger edge under the newest distribution than any known."""
        if not collected.t:
            return True
        largest = max(column.edge_under(state.d) for column in answer.columns)
        e = collected.margins.edges(state.d)
        return largest > float((np.abs(e) if self.problem.two_sided else e).max()) + MIN_IMPROVEMENT

    def _checked_answer(
        self,
        state: State,
        collected: ColumnPool,
        d: Float[Array, " N"],
        count: int,
        most: int = 0,
        patience: int = 1,
    ) -> tuple[CheckedAnswer, OracleBounds]:
        """Return the oracle's answer to a distribution, checked, new hypotheses of many, and the bounds that follow.

        Where all are known it is asked for twice as many, as long as it returns more than the `most` it has, and
        `patience` times where it does not: hypotheses of equal margins are one, and it returns fewer than it was asked.
        """
        # Of those that are not known yet the best is wanted.
        query = Query(d, count, self._gain_function(state, collected), varied=count <= self._columns_wanted)
        with writes_named(f"the oracle {type(self.oracle).__name__}"):
            answer = self.oracle.best(query)
        answer = CheckedAnswer.check(answer, len(d))
        if count > self._columns_wanted:
            # Those with a negative edge are of no use, or stand for their negations.
            able = [column for column in answer.columns if column.edge_under(d) > 0.0]
            new = [column for column in able if collected.find(column) is None]
            got = len(answer.columns)
            if not new and len(able) == got and (got > most or patience):
                return self._checked_answer(
                    state, collected, d, 2 * count, got, patience if got > most else patience - 1
                )
            answer = replace(
                answer,
                columns=tuple(new[: self._columns_wanted]) or answer.columns[: self._columns_wanted],
            )
        if not answer.columns:
            raise ProblemError(
                "an oracle must return at least one column; got none. Return its best hypothesis, known or not."
            )
        edge = answer.columns[0].edge_under(d)
        rounding = EDGE_BOUND_TOL * max(1.0, float(np.abs(d).sum()))
        if answer.largest is not None and not edge - rounding <= answer.largest < math.inf:
            raise ProblemError(
                f"the largest of an oracle's answer must be an upper bound on the edges of its class, or None; got "
                f"{short_repr(answer.largest)} beside a hypothesis of edge {edge:.6g}. Return None if no bound is known."
            )
        return answer, self._bounds_after(state, collected, answer, edge, d)

    def _update(self, view: RuleContext, record: RunData, answer: CheckedAnswer) -> RunData:
        """Take the columns of an answer in and move."""
        state, collected = view.state, record.pool
        t, value = collected.t, state.value
        tol = max(
            self.options.schedule.tolerance(view) * TIGHTENING_FACTOR**state.repeated, finest_tolerance(self.problem)
        )
        move = self._update_context(state, collected, answer, tol)
        with writes_named(f"the update {type(self.update).__name__}"):
            state = self.update(move)
        state = state.with_soft_margin(self.problem.objective, collected)
        repeated = 0 if collected.t > t else state.repeated + 1
        rise = (DEFAULT_FINEST_TOL if isinstance(self.update, TotallyCorrective) else MIN_IMPROVEMENT) * max(
            1.0, abs(value)
        )
        if self.problem.edge_function.edge_bound is not None:
            rise = min(rise, 0.25 * self.problem.epsilon**2)  # theory promises twice that
        # A step towards an edge below 0 lowers the potential, and rightly: it ends by its own conditions.
        risen = self.problem.is_additive or self.update.improved(view.state, state, rise)
        still = 0 if risen or repeated == 0 else state.still + 1
        state = replace(state, repeated=repeated, still=still, solved_edge=state.bounds.smallest_edge)
        return replace(record, state=state, oracle_state=self.oracle.state())

    def _update_context(self, state: State, collected: ColumnPool, answer: CheckedAnswer, tol: float) -> UpdateContext:
        """Take the columns of an answer in, each once, and return what the update is given."""
        numbers = [collected.find_or_add(column) for column in answer.columns]
        u = np.asarray(answer.columns[0].margins, dtype=np.float64)
        return UpdateContext(state, collected, numbers[0], u, tol, self._solve_deadline)

    @property
    def _columns_wanted(self) -> int:
        """Columns that the oracle is asked for in a round."""
        return self.column_count.value

    @property
    def _solve_deadline(self) -> Deadline:
        """When solvers are to stop: a solve that is due is given some time, or there would be no answer to return."""
        deadline = self.deadline
        if deadline.left is None or deadline.allowed is None:
            return deadline
        least = min(max(MIN_SOLVE_FRACTION * deadline.allowed, MIN_SOLVE_SECONDS), MAX_MIN_SOLVE_SECONDS)
        return deadline if deadline.left > least else Deadline.after(least)

    def _bounds_after(
        self, state: State, collected: ColumnPool, answer: Answer, edge: float, d: Float[Array, " N"]
    ) -> OracleBounds:
        """Return the bounds after an answer of the oracle to d."""
        goal = self.problem.objective
        if not self.update.bounds_class(d):
            return replace(state.bounds, edge=edge, smallest_edge=min(state.bounds.smallest_edge, edge))
        F_of_d = self.problem.F.value(d)
        reach = answer.largest if answer.preferred and answer.largest is not None else edge
        bounds = state.bounds.after_answer(edge, reach, 0.0 if goal is None else goal.F0.value(d), F_of_d)
        if answer.largest is not None and self.problem.has_class_bound:
            bounds = bounds.with_upper(*self.problem.class_upper_bound(d, answer.largest))
        G = self.problem.edge_function
        if G.joint:
            return replace(bounds, known=self._largest_pool_edge(collected, d) if collected.t else 0.0)
        if goal is None or not G.mixes or self.problem.is_additive:
            return bounds
        primal = any(rule.primal for rule in self.rules)
        # No known hypothesis has a larger edge than the largest of the class: O(N t) are saved.
        best = answer.largest is not None and edge >= answer.largest - LARGEST_EDGE_TOL
        largest = -1.0 if best and not primal else self._largest_pool_edge(collected, d)
        bounds = replace(bounds, smallest_primal=min(bounds.smallest_primal, F_of_d + max(largest, edge)))
        return replace(bounds, primal=F_of_d + largest) if primal else bounds

    def _largest_pool_edge(self, collected: ColumnPool, d: Float[Array, " N"]) -> float:
        """Return G of the hypotheses collected, mostly their largest edge; -1 without any."""
        return float(self.problem.edge_function.value(collected.margins.edges(d))) if collected.t else -1.0

    def _rule_message(self, view: RuleContext) -> str:
        """Return the words of the first rule that holds, "" if none does."""
        if broken := self._guarantee_violation(view):
            return broken
        for rule in self.rules:
            with writes_named(f"the rule {rule.name!r}"):
                if rule.holds(view):
                    return rule.message(view)
        return ""

    def _guarantee_violation(self, view: RuleContext) -> str:
        """Return that the guarantee is broken, on which rules rely; "" if it is not."""
        smallest, guarantee = view.state.bounds.smallest_edge, view.guarantee
        if guarantee is None or smallest >= guarantee - GUARANTEE_TOL:
            return ""
        return (
            f"{StopReason.GUARANTEE_BROKEN}: every edge must be at least {guarantee:.6g}, but the oracle "
            f"returned the edge {smallest:.6g}"
        )

    def _limit_reached(self, view: RuleContext, record: RunData, interrupted: bool) -> str:
        """Return why a run ends without a rule, "" if it does not."""
        state = view.state
        if state.stuck:
            return state.stuck
        if state.still >= MAX_STAGNANT_ROUNDS:
            return stagnation_reason(self.problem, state)
        if interrupted:
            return StopReason.INTERRUPTED.value
        if self.deadline.passed:
            return StopReason.TIME_LIMIT.value
        most = self.options.max_rounds
        if most is not None and state.round >= most:
            return StopReason.ROUND_LIMIT.value
        return self._early_stopping(record)

    def _early_stopping(self, record: RunData) -> str:
        """Return that the test error has not become smaller for as long as was to be waited, "" if it has."""
        patience = self.options.patience
        if patience is None or len(record.trace) <= patience:
            return ""
        errors: Float[Array, " rounds"] = record.trace["test_error"]
        if errors[-patience:].min() < errors[:-patience].min():
            return ""
        return (
            f"{StopReason.NO_SMALLER_TEST_ERROR}; the smallest is {errors.min():.4g}, and the last {patience} rounds "
            "were not below it"
        )

    def _gain_function(self, state: State, collected: ColumnPool) -> Callable[[Float[Array, " N"]], float]:
        """Return what says by how much the optimum of the program rises if a hypothesis with given margins joins."""

        def gain(u: Float[Array, " N"]) -> float:
            program = self.problem.program(collected.margins_with(u), state.progress(self.problem, u))
            left = self._solve_deadline.time_limit
            return solve(program, tol=GAIN_TOL, time_limit=left).certificate.lower - state.value

        return gain


def finest_tolerance(problem: Problem) -> float:
    """Return the finest tolerance that is asked of a solver.

    Where d(w) is unique, weights within g of the optimum have it within sqrt(2 g / s) of the optimal distribution in
    the 1-norm, s the modulus of strong convexity [theorem 9], and edges as far off: that is to be within epsilon / 2.
    """
    s = problem.F.strong_convexity
    if problem.objective is None or s == 0.0 or problem.edge_function.edge_bound is not None:
        return DEFAULT_FINEST_TOL
    return min(max(s * problem.epsilon**2 / 8.0, ABSOLUTE_FINEST_TOL), DEFAULT_FINEST_TOL)


def stagnation_reason(problem: Problem, state: State) -> str:
    """Return why a run ends whose program no longer rises: because it need not, or because nothing raises it."""
    certificate, epsilon, s = state.certificate, problem.epsilon, problem.F.strong_convexity
    if certificate is not None and epsilon < certificate.scaled_gap < math.inf:
        return f"{StopReason.SOLVER_STUCK}: {KNOWN_HYPOTHESES}, and the program was only solved to a gap of {certificate.gap:.2g}"
    left = _remaining_gap(problem, state)
    if left <= 0.5 * epsilon * (1.0 + GUARANTEE_TOL):
        doubt = "" if problem.objective is None else eta_too_small(problem)
        return StopReason.CONVERGED.value + caveat_clause(doubt, problem.measure)
    apart = f"its bounds over the class are {left:.2g} apart, epsilon / 2 is {0.5 * epsilon:.2g}"
    if problem.update != "total":
        return f"{StopReason.STEPS_STUCK}: {KNOWN_HYPOTHESES}, and no step raises the program by more than {MIN_IMPROVEMENT:g}, while {apart}"
    if certificate is None or s == 0.0:
        return f"{StopReason.SOLVER_STUCK}: {KNOWN_HYPOTHESES}, and the program no longer rises, while {apart}"
    return (
        f"{StopReason.SOLVER_STUCK}: {KNOWN_HYPOTHESES}, and the program no longer rises, while {apart}: with a gap of "
        f"{certificate.gap:.2g}, the edges may have errors of {math.sqrt(2.0 * certificate.gap / s):.2g}"
    )


def _n_useful(state: State, t: int) -> int:
    """Return how many of the hypotheses after the first t have got a weight."""
    w = np.abs(state.w)
    return int(np.count_nonzero(w[t:] > NEGLIGIBLE_WEIGHT_FRACTION * w.mean()))


def _remaining_gap(problem: Problem, state: State) -> float:
    """Return what is between the program over the hypotheses collected and that over the class; 0 if not known."""
    G, bounds = problem.edge_function, state.bounds
    if G.edge_bound is not None:
        now = problem.edge_function_in(state.progress(problem, state.m)).edge_bound
        met = now is not None and bounds.edge <= max(now, -1.0) + 0.5 * problem.epsilon
        return 0.0 if met else bounds.smallest_target - state.soft_margin
    return bounds.smallest_value - state.value if G.mixes else 0.0
