"""Column generation: the loop that queries the oracle, adds columns, updates the weights, bounds and stops.

    state = the distribution that minimizes F
    repeat
        query the oracle with the distribution of the state   the largest edge bounds the value over the class
        stop if a rule holds
        add the new columns and update the weights            the program over all hypotheses, a step, a projection
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

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.immutable_arrays import writes_named
from boostopt.backends.base import Deadline
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.column_pool import CheckedAnswer, ColumnPool
from boostopt.boosting.parameter_schedules import ParameterSchedule
from boostopt.boosting.run.initial_run_data import record_of_problem
from boostopt.boosting.run.interrupts import Interrupts
from boostopt.boosting.run.round_recorder import RunRecorder
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.run_state import OracleBounds, State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.stopping_rules import Rule, RuleContext, caveat_clause, eta_too_small
from boostopt.boosting.updates.base import Update, UpdateContext
from boostopt.boosting.updates.totally_corrective_update import TotallyCorrective
from boostopt.errors import ProblemError, reason_of, short_repr
from boostopt.oracles.base import Answer, Oracle, Query
from boostopt.programs.boosting_spec import UpdateKind
from boostopt.solving.solve import solve

MAX_STAGNANT_ROUNDS = 4
"""Consecutive rounds without a new hypothesis and without an increase of D after which a run has converged."""

MIN_IMPROVEMENT = 1e-12
"""The increase of D below which a round has changed nothing; after a solve it is `DEFAULT_FINEST_TOL`."""

TIGHTENING_FACTOR = 1e-2
"""The factor of the tolerance for each consecutive round without a new hypothesis: the solve was too inaccurate."""

DEFAULT_FINEST_TOL, ABSOLUTE_FINEST_TOL = 1e-10, 1e-14
"""The smallest tolerance of a solve by default, and if edges need a smaller one; rounding allows no smaller gap."""

GAIN_TOL = 1e-7
"""The target gap of the programs that give the gain of a hypothesis, for oracles that choose by the gain."""

GUARANTEE_TOL = 1e-9
"""The largest rounding error of an edge in comparison with the guarantee."""

MIN_SOLVE_FRACTION, MIN_SOLVE_SECONDS, MAX_MIN_SOLVE_SECONDS = 0.05, 0.1, 1.0
"""The minimum seconds of a solve, even after the deadline: a fraction of the time limit, between two bounds."""

LARGEST_EDGE_TOL = 1e-12
"""The largest rounding error of an edge in comparison with the largest edge of the class."""

KNOWN_HYPOTHESES = "the oracle returns hypotheses that are known"
"""The clause about the oracle in the reason of a run whose program does not rise although it should."""

EDGE_BOUND_TOL = 1e-9
"""The largest rounding error, as a fraction of the sum of d, of an edge above the edge bound of the oracle."""


@dataclass(frozen=True, eq=False)
class ColumnGeneration:
    """The parts of a run that do not change.

    Attributes
    ----------
    problem, oracle
        The problem, and the oracle of the class.
    update
        The update of the weights.
    rules
        The stopping rules.
    options
        The limits, the accuracy of the solves, and the stabilization of the queries.
    deadline
        The deadline of the run.
    recorder
        The recorder of every round: trace, test examples, checkpoints, progress.
    schedule
        The parameters that change from round to round.
    n_earlier_rounds
        The number of rounds before this call, of the checkpoint. The time limit ends no call before its first round, so
        that a run which is continued again and again comes to its end.
    """

    problem: Problem
    oracle: Oracle
    update: Update
    rules: tuple[Rule, ...]
    options: BoostOptions
    deadline: Deadline
    recorder: RunRecorder
    schedule: ParameterSchedule
    n_earlier_rounds: int

    def run(self, record: RunData) -> RunData:
        """Continue from a record until a rule holds, a limit is reached or the user interrupts.

        Returns
        -------
        The record of the run, with the reason.
        """
        record, steps = self._warm_started(record), self
        state = record.state
        with Interrupts() as interrupts:
            while True:
                # The rules come before the oracle: a run that is resumed after its end ends again at the same state.
                has_started = state.round or state.stop_reason
                if has_started and (
                    reason := steps._rule_message(RuleContext(steps.problem, state, record.guarantee))
                    or state.stop_reason
                ):
                    break
                try:
                    state, answer, seconds = steps._query_oracle(record)
                    view = RuleContext(steps.problem, state, record.guarantee)
                    # A run needs a hypothesis, so the first round is always made.
                    if len(state.w) and (
                        reason := steps._rule_message(view) or steps._limit_reached(view, record, interrupts.requested)
                    ):
                        break
                    start_time = time.perf_counter()
                    record = steps._update(view, record, answer)
                    # If the update could make no step, there was no round.
                    if record.state.round > state.round:
                        steps.recorder.record_round(record, seconds, time.perf_counter() - start_time)
                        steps, record = steps._with_scheduled_parameters(record, interrupts.requested)
                except Exception as failure:
                    if record.state.round == 0:
                        raise
                    # The rounds so far are not lost: the run ends with them, and the reason names the error.
                    error = f"{type(failure).__name__}: {reason_of(failure)}"
                    reason = f"{StopReason.FAILED_IN_ROUND} {record.state.round + 1}: {error}"
                    warnings.warn(
                        f"the run {reason}. The run ends with the rounds before.",
                        RuntimeWarning,
                        stacklevel=3,
                    )
                    state = record.state
                    break
                state = record.state
        steps.recorder.finish(replace(record, reason=reason))
        if isinstance(steps.update, TotallyCorrective):
            state = steps.update.polish(state, record.pool, steps.deadline)
        record.trace.update_last(state.bounds, state.soft_margin, state.dual_objective)
        reason += steps.update.closing_remark(state)
        return replace(record, state=state, oracle_state=steps.oracle.state(), reason=reason)

    def _with_scheduled_parameters(self, record: RunData, interrupted: bool) -> tuple[ColumnGeneration, RunData]:
        """Return the parts of the run with the parameters of the next round, and its record; unchanged at a limit."""
        view = RuleContext(self.problem, record.state, record.guarantee)
        if not self.schedule.functions or self._limit_reached(view, record, interrupted):
            return self, record
        problem = self.schedule.next_problem(record)
        if problem is None:
            return self, record
        steps = replace(self, problem=problem, update=self.schedule.make_update(problem))
        return steps, steps._with_warm_start(record_of_problem(record, problem, self.oracle, self.options))

    def _warm_started(self, record: RunData) -> RunData:
        """Return the record with weights over the hypotheses of an earlier run, if the run starts from one."""
        return record if record.state.round or not record.pool.t else self._with_warm_start(record)

    def _with_warm_start(self, record: RunData) -> RunData:
        """Return the record with the first weights of the update over the hypotheses of the record."""
        state, pool = record.state, record.pool
        tol = self.options.schedule.tolerance(RuleContext(self.problem, state, record.guarantee))
        state = self.update.warm_start(state, pool, tol, self._solve_deadline).with_soft_margin(
            self.problem.objective, pool
        )
        state = replace(state, round=record.state.round, smallest_edge_at_solve=state.bounds.smallest_edge)
        return replace(record, state=state)

    def _query_oracle(self, record: RunData) -> tuple[State, CheckedAnswer, float]:
        """Query the oracle; return the state with the new bounds, the answer, and the seconds of the query."""
        start_time, state, pool = time.perf_counter(), record.state, record.pool
        # Without a soft margin the rules use the newest distribution only.
        d = state.d if self.problem.objective is None else self.options.stabilization.query(state)
        answer, bounds = self._checked_answer(state, pool, d, self.options.columns_per_round)
        if d is not state.d and not self._has_improving_column(answer, state, pool):
            answer, bounds = self._checked_answer(
                replace(state, bounds=bounds), pool, state.d, self.options.columns_per_round
            )
        if self.problem.objective is None and all(pool.find(column) is not None for column in answer.columns):
            # If the value is a sum over the hypotheses, others may be useful although the best one is in the pool.
            n_columns = len(answer.columns)
            answer, bounds = self._checked_answer(
                state, pool, state.d, pool.t + self.options.columns_per_round, n_columns
            )
        return replace(state, bounds=bounds), answer, time.perf_counter() - start_time

    def _has_improving_column(self, answer: CheckedAnswer, state: State, pool: ColumnPool) -> bool:
        """Return whether a column of an answer has a larger edge under the newest distribution than the pool."""
        if not pool.t:
            return True
        largest = max(column.edge_under(state.d) for column in answer.columns)
        e = pool.margins.edges(state.d)
        return bool(largest > float((np.abs(e) if self.problem.two_sided else e).max()) + MIN_IMPROVEMENT)

    def _checked_answer(
        self,
        state: State,
        pool: ColumnPool,
        d: ExampleVector,
        count: int,
        previous_count: int = 0,
        patience: int = 1,
    ) -> tuple[CheckedAnswer, OracleBounds]:
        """Return the checked answer of the oracle to a distribution, and the bounds that follow from it.

        If `count` exceeds the number of columns of a round, the answer is reduced to new hypotheses. If it has none,
        the query is repeated for twice as many, as long as the oracle returns more than `previous_count` columns, and
        `patience` times more if it does not. An oracle may return fewer columns than `count`, because it merges
        hypotheses with equal margins.
        """
        # The query must return the best of the new hypotheses.
        query = Query(d, count, self._gain_function(state, pool), diverse=count <= self.options.columns_per_round)
        with writes_named(f"the oracle {type(self.oracle).__name__}"):
            answer = self.oracle.best(query)
        answer = CheckedAnswer.check(answer, len(d))
        if count > self.options.columns_per_round:
            # Columns with a negative edge are useless, or represent their negations.
            positive = [column for column in answer.columns if column.edge_under(d) > 0.0]
            new = [column for column in positive if pool.find(column) is None]
            n_columns = len(answer.columns)
            has_more = n_columns > previous_count
            if not new and len(positive) == n_columns and (has_more or patience):
                return self._checked_answer(
                    state, pool, d, 2 * count, n_columns, patience if has_more else patience - 1
                )
            answer = replace(
                answer,
                columns=tuple(new[: self.options.columns_per_round])
                or answer.columns[: self.options.columns_per_round],
            )
        if not answer.columns:
            raise ProblemError(
                "an oracle must return at least one column; got none. Return its best hypothesis, known or not."
            )
        edge = answer.columns[0].edge_under(d)
        rounding = EDGE_BOUND_TOL * max(1.0, float(np.abs(d).sum()))
        if answer.edge_bound is not None and not edge - rounding <= answer.edge_bound < math.inf:
            raise ProblemError(
                f"the largest of an oracle's answer must be an upper bound on the edges of its class, or None; got "
                f"{short_repr(answer.edge_bound)} beside a hypothesis of edge {edge:.6g}. Return None if no bound "
                "is known."
            )
        return answer, self._bounds_after(state, pool, answer, edge, d)

    def _update(self, view: RuleContext, record: RunData, answer: CheckedAnswer) -> RunData:
        """Add the columns of an answer to the pool and update the weights."""
        state, pool = view.state, record.pool
        t, value = pool.t, state.dual_objective
        tol = max(
            self.options.schedule.tolerance(view) * TIGHTENING_FACTOR**state.rounds_without_column,
            finest_tolerance(self.problem),
        )
        context = self._update_context(state, pool, answer, tol)
        with writes_named(f"the update {type(self.update).__name__}"):
            state = self.update(context)
        state = state.with_soft_margin(self.problem.objective, pool)
        rounds_without_column = 0 if pool.t > t else state.rounds_without_column + 1
        min_increase = (DEFAULT_FINEST_TOL if isinstance(self.update, TotallyCorrective) else MIN_IMPROVEMENT) * max(
            1.0, abs(value)
        )
        if self.problem.edge_function.edge_bound is not None:
            min_increase = min(min_increase, 0.25 * self.problem.epsilon**2)  # theory promises twice as much
        # A step towards a negative edge correctly lowers the potential: an additive update ends by its own conditions.
        has_improved = self.problem.is_additive or self.update.improved(view.state, state, min_increase)
        stagnant_rounds = 0 if has_improved or rounds_without_column == 0 else state.rounds_without_improvement + 1
        state = replace(
            state,
            rounds_without_column=rounds_without_column,
            rounds_without_improvement=stagnant_rounds,
            smallest_edge_at_solve=state.bounds.smallest_edge,
        )
        return replace(record, state=state, oracle_state=self.oracle.state())

    def _update_context(self, state: State, pool: ColumnPool, answer: CheckedAnswer, tol: float) -> UpdateContext:
        """Add the new columns of an answer to the pool, and return the input of the update."""
        numbers = [pool.find_or_add(column) for column in answer.columns]
        u = np.asarray(answer.columns[0].margins, dtype=np.float64)
        return UpdateContext(state, pool, numbers[0], u, tol, self._solve_deadline)

    @property
    def _solve_deadline(self) -> Deadline:
        """The deadline of a solve; every solve gets a minimum time, because otherwise there would be no answer."""
        deadline = self.deadline
        if deadline.remaining is None or deadline.allowed is None:
            return deadline
        min_seconds = min(max(MIN_SOLVE_FRACTION * deadline.allowed, MIN_SOLVE_SECONDS), MAX_MIN_SOLVE_SECONDS)
        return deadline if deadline.remaining > min_seconds else Deadline.after(min_seconds)

    def _bounds_after(
        self, state: State, pool: ColumnPool, answer: Answer, edge: float, d: ExampleVector
    ) -> OracleBounds:
        """Return the bounds after an answer of the oracle to d, whose first column has the given edge."""
        objective = self.problem.objective
        if not self.update.bounds_class(d):
            return replace(state.bounds, edge=edge, smallest_edge=min(state.bounds.smallest_edge, edge))
        F_of_d = self.problem.F.value(d)
        best_edge = answer.edge_bound if answer.not_best_edge and answer.edge_bound is not None else edge
        bounds = state.bounds.after_answer(edge, best_edge, 0.0 if objective is None else objective.F0.value(d), F_of_d)
        if answer.edge_bound is not None and self.problem.has_class_bound:
            bounds = bounds.with_upper(*self.problem.class_upper_bound(d, answer.edge_bound))
        G = self.problem.edge_function
        if G.is_coupled:
            return replace(bounds, pool_edge_value=self._largest_pool_edge(pool, d) if pool.t else 0.0)
        if objective is None or not G.is_largest_edge or self.problem.is_additive:
            return bounds
        primal = any(rule.needs_primal_value for rule in self.rules)
        # The pool has no larger edge than the class, so the O(N t) products are not needed.
        is_largest = answer.edge_bound is not None and edge >= answer.edge_bound - LARGEST_EDGE_TOL
        largest = -1.0 if is_largest and not primal else self._largest_pool_edge(pool, d)
        bounds = replace(bounds, smallest_primal=min(bounds.smallest_primal, F_of_d + max(largest, edge)))
        return replace(bounds, primal=F_of_d + largest) if primal else bounds

    def _largest_pool_edge(self, pool: ColumnPool, d: ExampleVector) -> float:
        """Return G of the pool, usually its largest edge; -1 for an empty pool."""
        return float(self.problem.edge_function.value(pool.margins.edges(d))) if pool.t else -1.0

    def _rule_message(self, view: RuleContext) -> str:
        """Return the message of the first rule that holds; "" if no rule holds."""
        if violation := self._guarantee_violation(view):
            return violation
        for rule in self.rules:
            with writes_named(f"the rule {rule.name!r}"):
                if rule.holds(view):
                    return rule.message(view)
        return ""

    def _guarantee_violation(self, view: RuleContext) -> str:
        """Return the reason of a run whose guarantee is broken, because rules rely on it; "" if it holds."""
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
        if state.stop_reason:
            return state.stop_reason
        if state.rounds_without_improvement >= MAX_STAGNANT_ROUNDS:
            return stagnation_reason(self.problem, state)
        if interrupted:
            return StopReason.INTERRUPTED.value
        if self.deadline.passed and state.round > self.n_earlier_rounds:
            return StopReason.TIME_LIMIT.value
        previous_count = self.options.max_rounds
        if previous_count is not None and state.round >= previous_count:
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
        last_rounds = "the last round was" if patience == 1 else f"the last {patience} rounds were"
        return f"{StopReason.NO_SMALLER_TEST_ERROR}; the smallest is {errors.min():.4g}, and {last_rounds} not below it"

    def _gain_function(self, state: State, pool: ColumnPool) -> Callable[[ExampleVector], float]:
        """Return the increase of the optimum of the program by a further column, as a function of its margins."""

        def gain(u: ExampleVector) -> float:
            program = self.problem.program(pool.margins_with(u), state.progress(self.problem, u))
            remaining = self._solve_deadline.time_limit
            return solve(program, tol=GAIN_TOL, time_limit=remaining).certificate.lower - state.dual_objective

        return gain


def finest_tolerance(problem: Problem) -> float:
    """Return the smallest tolerance of the solves of a problem.

    If d(w) is unique, weights with the gap g have a d(w) within sqrt(2 g / s) of the optimal distribution in the
    1-norm, where s is the modulus of strong convexity [theorem 9]. The errors of the edges are at most as large. The
    tolerance keeps them within epsilon / 2.
    """
    s = problem.F.strong_convexity
    if problem.objective is None or s == 0.0 or problem.edge_function.edge_bound is not None:
        return DEFAULT_FINEST_TOL
    return min(max(s * problem.epsilon**2 / 8.0, ABSOLUTE_FINEST_TOL), DEFAULT_FINEST_TOL)


def stagnation_reason(problem: Problem, state: State) -> str:
    """Return why a run ends whose program no longer rises: it has converged, or the solver or the steps are stuck."""
    certificate, epsilon, s = state.certificate, problem.epsilon, problem.F.strong_convexity
    if certificate is not None and epsilon < certificate.scaled_gap < math.inf:
        return (
            f"{StopReason.SOLVER_STUCK}: {KNOWN_HYPOTHESES}, and the program was only solved to a gap of "
            f"{certificate.gap:.2g}"
        )
    gap = _remaining_gap(problem, state)
    if gap <= 0.5 * epsilon * (1.0 + GUARANTEE_TOL):
        doubt = "" if problem.objective is None else eta_too_small(problem)
        return StopReason.CONVERGED.value + caveat_clause(doubt, problem.measure)
    bounds_clause = f"its bounds over the class are {gap:.2g} apart, epsilon / 2 is {0.5 * epsilon:.2g}"
    if problem.update is not UpdateKind.TOTAL:
        return (
            f"{StopReason.STEPS_STUCK}: {KNOWN_HYPOTHESES}, and no step raises the program by more than "
            f"{MIN_IMPROVEMENT:g}, while {bounds_clause}"
        )
    if certificate is None or s == 0.0:
        return f"{StopReason.SOLVER_STUCK}: {KNOWN_HYPOTHESES}, and the program no longer rises, while {bounds_clause}"
    return (
        f"{StopReason.SOLVER_STUCK}: {KNOWN_HYPOTHESES}, and the program no longer rises, while {bounds_clause}: "
        f"with a gap of {certificate.gap:.2g}, the edges may have errors of {math.sqrt(2.0 * certificate.gap / s):.2g}"
    )


def _remaining_gap(problem: Problem, state: State) -> float:
    """Return the gap between the program over the pool and the program over the class; 0 if it is unknown."""
    G, bounds = problem.edge_function, state.bounds
    if G.edge_bound is not None:
        edge_bound = problem.edge_function_in(state.progress(problem, state.m)).edge_bound
        is_feasible = edge_bound is not None and bounds.edge <= max(edge_bound, -1.0) + 0.5 * problem.epsilon
        return 0.0 if is_feasible else bounds.smallest_target - state.soft_margin
    return bounds.smallest_value - state.dual_objective if G.is_largest_edge else 0.0
