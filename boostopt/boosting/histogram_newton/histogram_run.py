"""Runs of histogram Newton, which compute vectors with one number for each example only on demand."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.array_types import ExampleVector, HypothesisVector
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.formatting import format_count, format_parameters
from boostopt._utils.user_modules import text_digest
from boostopt.backends.base import Deadline
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.boosting_problem import Problem, exact_objective_of_problem
from boostopt.boosting.column_pool import CheckedColumn, ColumnPool
from boostopt.boosting.histogram_newton.bounded_edge_solver import BoundedEdgeNewton
from boostopt.boosting.histogram_newton.entropy_program_bounds import program_bounds
from boostopt.boosting.histogram_newton.histogram_run_file import SnapshotWriter, StoredHistogramRun, detached
from boostopt.boosting.histogram_newton.logistic_refinement import (
    first_mixture_weights,
    is_sampled,
    is_zero_near_best,
    logistic_weights,
    refined_bounds,
)
from boostopt.boosting.histogram_newton.newton_solver import HistogramNewton, certified_reason
from boostopt.boosting.histogram_newton.solver_state import EvaluationRecord, Snapshot, SolverState
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.class_upper_bound import check_hypotheses
from boostopt.boosting.objectives.exact_objective import ExactObjective, ExactSoftMargin
from boostopt.boosting.run.initial_run_data import check_checkpoint_matches, initial_record
from boostopt.boosting.run.progress_line import progress_line
from boostopt.boosting.run.run import FILE_READERS, DifferentExamples, Run
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.run_file import HISTOGRAM_KIND, remove_partial_files, warn_of_change
from boostopt.boosting.run.run_state import OracleBounds, State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.run.trace import Trace, TraceRow
from boostopt.boosting.run.weight_history import History, Sparse, StoredRound
from boostopt.errors import DataError, ProblemError, reason_of, require_not_none
from boostopt.functions.numerics.rounding_errors import float_below
from boostopt.oracles.base import Column, Hypothesis, HypothesisClass, Oracle, check_oracle, require_oracle
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.distributed.oracle_without_rows import rows_missing_error
from boostopt.programs.boosting_spec import FinalWeights
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MARGIN_SCALE
from boostopt.rows.row_block import Split

MAX_MARGIN_ENTRIES = 100_000_000
"""The largest number of margins, examples times hypotheses, for which floating-point updates continue a run."""

GAP_HALVINGS, MIN_CONTINUED_GAP = 2, 0.0025
"""The gap of a run whose weights get a smaller logistic loss is epsilon, halved this number of times, and not below the
second number. Three quarters of epsilon are then left for the loss."""

MIN_FURTHER_ROUNDS, FURTHER_ROUNDS = 4, 0.5
"""The largest number of rounds in which a run continues to a smaller gap: a count, or a share of those of the run if
this is more."""


class LazyWitness:
    """The distribution that proves the upper bound of a run, computed on demand; pickled as the distribution itself."""

    def __init__(self, run: HistogramRun) -> None:
        self._run = run

    @property
    def unavailable(self) -> bool:
        """True if the rows are on a cluster or gone, so that the distribution cannot be computed here."""
        return self._run.aggregates_only

    def __call__(self) -> ExampleVector:
        return self._run.distribution()

    def __reduce__(self) -> Any:
        return (LazyWitness, (self._run,)) if self._run.aggregates_only else (partial, (_constant, self()))


def _constant(d: ExampleVector) -> ExampleVector:
    """Return d."""
    return d


class HistogramRun(Run):
    """A run of histogram Newton, which computes vectors with one number for each example only on demand.

    Attributes
    ----------
    evaluations
        The records of all evaluations, samples included.
    stored_run
        The parts of the run that are not as long as the rows.
    loss_weights
        The weights of the smallest logistic loss over the first hypotheses; None before they are computed.
    """

    final_weights: FinalWeights
    loaded: bool
    stored_run: StoredHistogramRun
    loss_weights: HypothesisVector | None

    def __init__(
        self,
        stored_run: StoredHistogramRun,
        oracle: HypothesisClass,
        rows: BinnedRows | None,
        keeps: bool = True,
        loss_weights: HypothesisVector | None = None,
    ) -> None:
        snapshot = stored_run.snapshot
        integer_weights = require_not_none(snapshot.bounds.integer_weights, "weights")
        self.w: Any = (
            np.concatenate(
                [integer_weights, np.zeros(len(snapshot.pool) - len(integer_weights), integer_weights.dtype)]
            )
            / MARGIN_SCALE
        )
        self.final_weights, self.loaded = stored_run.problem.formulation.boosting.final_weights, rows is None
        self.evaluations: Sequence[EvaluationRecord] = tuple(snapshot.log)
        self._trace = trace_from_log(snapshot.log, stored_run.oracle.N)
        rounds = zip(snapshot.weights_by_iteration, self._trace["smallest_edge"].tolist(), strict=True)
        self._history = [StoredRound(len(w), Sparse.from_dense(w), None, smallest) for w, smallest in rounds]
        self.stored_run, self._oracle, self._rows, self._keeps = stored_run, oracle, rows, keeps
        self.loss_weights = loss_weights

    @classmethod
    def solve(
        cls, problem: Problem, objective: ExactObjective, oracle: BinnedClass, rows: BinnedRows, options: BoostOptions
    ) -> HistogramRun:
        """Run histogram Newton until it is certified or a limit is reached; continue from a checkpoint if one exists.

        Raises
        ------
        DataError
            The checkpoint is of other data, of other parameters, or unreadable.
        """
        snapshot, deadline = (
            _load_checkpoint(problem, objective, oracle, rows, options),
            Deadline.after(options.time_limit),
        )
        start = None if snapshot is not None else options.start
        start = start if isinstance(start, HistogramRun) else None
        trace = Trace([]) if snapshot is None else trace_from_log(snapshot.log, oracle.N)
        digest = text_digest(problem.formulation.source_file)

        def make_stored_run(snapshot: Snapshot, reason: str = "") -> StoredHistogramRun:
            hypotheses = [oracle.hypothesis_of(split) for split in snapshot.pool]
            return StoredHistogramRun(problem, detached(oracle), hypotheses, snapshot, reason, digest)

        keeps, loss_weights = options.history is not False, None if start is None else start.loss_weights
        if start is not None and start.has_proofs_for(objective):
            snapshot = start.snapshot_for(problem)
            if options.checkpoint is None and objective.unit * snapshot.bounds.gap <= problem.epsilon:
                return cls(make_stored_run(snapshot, certified_reason(problem)), oracle, rows, keeps, loss_weights)

        with (
            limit_blas_threads(),
            progress_line(options.progress, problem.formulation.name, measure=problem.measure) as show,
        ):

            def on_iteration(record: EvaluationRecord) -> None:
                row = _trace_row(record, trace)
                trace.add(row)
                if show is not None:
                    show(row)

            checkpoint = SnapshotWriter(options, make_stored_run)
            solver_class = HistogramNewton if problem.edge_function.edge_bound is None else BoundedEdgeNewton
            solver = solver_class(
                problem,
                rows,
                objective,
                oracle.reflexive,
                options,
                on_iteration,
                checkpoint.on_snapshot,
                snapshot,
                None if start is None else start.start_of(problem),
            )
            solver.run(deadline)
        checkpoint.write()
        return cls(make_stored_run(solver.snapshot, solver.stop_reason), oracle, rows, keeps, loss_weights)

    def start_of(self, problem: Problem) -> tuple[Sequence[Split], SolverState]:
        """Return the columns of the run, and its last weights as the state in which a run of a problem begins.

        These are the last weights of the solver, and not those of a smaller loss. The level is the one with the most
        similar entropy.
        """
        snapshot, earlier, level = self.stored_run.snapshot, self._reduced_problem, 0
        state = snapshot.state
        if earlier.max_level and problem.max_level:
            level = max(state.level + round(math.log2(earlier.strong_convexity / problem.strong_convexity)), 0)
        return snapshot.pool, SolverState(state.integer_weights, level)

    def may_start(self, problem: Problem, oracle: HypothesisClass) -> bool:
        """Return whether histogram Newton may begin a run of a problem from this run.

        If a formulation bounds the edges, the sum of the weights belongs to its bound, and starts save no evaluations.
        """
        has_bound = any(p.edge_function.edge_bound is not None for p in (self._reduced_problem, problem))
        return not has_bound and isinstance(oracle, Oracle) and self.is_over(oracle)

    def snapshot_for(self, problem: Problem) -> Snapshot:
        """Return the snapshot in which a run of a problem with the same objective begins: with both bounds."""
        _, state = self.start_of(problem)
        state = replace(state, level=min(state.level, problem.max_level))
        return replace(self.stored_run.snapshot, state=state, log=(), weights_by_iteration=())

    def has_proofs_for(self, objective: ExactObjective) -> bool:
        """Return whether the rows prove the bounds, and the bounds are those of an objective: whatever its epsilon."""
        return self._rows is not None and self._objective == objective

    @classmethod
    def from_file(cls, path: str | PathLike[str], formulation: Any = None) -> HistogramRun:
        """Return a run that was saved without its rows.

        Raises
        ------
        DataError
            The file is missing or damaged, is not a saved histogram run or was written by another version, or the run
            ended before its first evaluation on all rows.
        """
        stored_run = StoredHistogramRun.load(path, formulation)
        warn_of_change(stored_run.problem.formulation, stored_run.formulation_digest)
        if stored_run.snapshot.bounds.integer_weights is None:
            raise DataError(
                f"expected a run with at least one evaluation on all rows in {os.fspath(path)}; got a run without an "
                "evaluation. Make the same call again, with the file as its checkpoint."
            )
        return cls(stored_run, stored_run.oracle, None)

    def __reduce__(self) -> Any:
        """Pickle the run as any other run; with rows on a cluster, without these rows."""
        if not self.aggregates_only:
            return Run, (self.record, self.w, self.final_weights, self.loaded)
        return HistogramRun, (self.stored_run, self.stored_run.oracle, None, self._keeps, self.loss_weights)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the run with the margins of its hypotheses, unless these are too many or on a cluster.

        Without the margins, the file takes some kB and has no vector as long as the rows. Then `verify_class`
        recomputes both bounds from the oracle.
        """
        if self.aggregates_only or not self._margins_fit:
            self.stored_run.save(path)
        else:
            super().save(path)

    def verify_class(self, oracle: HypothesisClass) -> ClassCertificate:
        check_oracle(oracle)
        rows = oracle.binned_rows if isinstance(oracle, BinnedClass) else None
        if rows is None or not isinstance(oracle, BinnedClass):
            return super().verify_class(oracle)
        stored_run = self.stored_run
        stored_oracle, oracle_summary = stored_run.oracle, detached(oracle)
        try:
            if (str(stored_oracle), stored_oracle.N, stored_oracle.total) != (
                str(oracle_summary),
                oracle_summary.N,
                oracle_summary.total,
            ):
                raise ValueError(f"{oracle_summary} of {oracle_summary.N} examples")
            bounds, lower = stored_run.recompute_bounds(oracle, rows, self._objective)
        except ValueError as failure:
            raise DifferentExamples(
                f"the oracle must have the examples and the class of the run, {stored_oracle} with "
                f"{format_count(stored_oracle.N, 'example')}; got {reason_of(failure)}. Make the oracle from "
                "the same data, "
                "with the same labels and weights."
            ) from failure
        verified = replace(stored_run, snapshot=replace(stored_run.snapshot, bounds=replace(bounds, lower=lower)))
        return HistogramRun(verified, oracle, rows).class_certificate

    @property
    def _objective(self) -> ExactObjective:
        """The exact objective of the run."""
        return require_not_none(
            exact_objective_of_problem(self._reduced_problem, self.stored_run.oracle.total),
            "an objective of histogram Newton",
        )

    @property
    def _reduced_problem(self) -> Problem:
        """The problem with representative examples."""
        return self.stored_run.problem

    @property
    def _margins_fit(self) -> bool:
        """True if there are few enough margins of hypotheses for floating-point updates."""
        return self._oracle.N * len(self.hypotheses) <= MAX_MARGIN_ENTRIES

    @property
    def aggregates_only(self) -> bool:
        """True if the rows are on a cluster, or gone."""
        return not isinstance(self._oracle, Oracle)

    def without_rows(self) -> HistogramRun:
        """Return the run without its rows, which has no part as long as the rows."""
        return HistogramRun(self.stored_run, self.stored_run.oracle, None, self._keeps, self.loss_weights)

    def is_over(self, oracle: Oracle) -> bool:
        """Return whether the run is over the examples and the class of an oracle.

        Without its rows, a run tells its hypotheses only: whether these belong to the class.
        """
        if isinstance(self._oracle, Oracle):
            return self._oracle is oracle or self._oracle.digest == oracle.digest
        rows = oracle.binned_rows if isinstance(oracle, BinnedClass) else None
        if rows is None or not isinstance(oracle, BinnedClass):
            return False
        try:
            check_hypotheses(oracle, rows, self.stored_run.snapshot.pool, self.hypotheses)
        except ValueError:
            return False
        return True

    @property
    def needs_float_steps(self) -> bool:
        """True if floating-point updates must continue the run."""
        integers_exhausted = self.reason == StopReason.WHOLE_NUMBERS_EXHAUSTED
        return integers_exhausted and self._margins_fit and not self.aggregates_only

    @cached_property
    def problem(self) -> Problem:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The problem with all examples; with rows on a cluster, the problem with two representative examples."""
        problem, oracle = self._reduced_problem, self._oracle
        if not isinstance(oracle, Oracle):
            return problem
        return Problem.create(
            problem.formulation, oracle.c, None, problem.epsilon, problem.update, problem.user_parameters
        )

    @property
    def iteration_bound(self) -> float:
        return self._reduced_problem.iteration_bound

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        return self.stored_run.hypotheses

    @property
    def rounds(self) -> int:
        return len(self._trace)

    @property
    def reason(self) -> str:
        return self.stored_run.reason

    @property
    def trace(self) -> Trace:
        return self._trace

    @property
    def N(self) -> int:
        return self._oracle.N

    @property
    def oracle(self) -> str:
        return str(self._oracle)

    @property
    def majority(self) -> int:
        return self._oracle.majority

    @cached_property
    def class_certificate(self) -> ClassCertificate:
        """The certificate over the class: both bounds are rational numbers, rounded outward, without further slack."""
        bounds, unit = self.stored_run.snapshot.bounds, self._objective.unit
        lower, upper = unit * bounds.lower, unit * require_not_none(bounds.upper_witness, "an upper bound").value
        objective_name = self._reduced_problem.measure  # the problem of all examples takes 100 bytes for each
        return ClassCertificate(
            float_below(lower), -float_below(-upper), LazyWitness(self), str(self._oracle), self.loaded, objective_name
        )

    @cached_property
    def program_interval(self) -> tuple[float, float]:
        """The bounds of the optimum of the formulation's program over the whole class, with its entropy.

        The lower bound is attained by the weights, the upper bound follows from the distribution of the certificate.
        Both include a rounding slack, which does not grow with the number of examples.

        Raises
        ------
        ProblemError
            The run was stored without its rows, or the formulation bounds the edges by a number that changes from round
            to round.
        """
        problem, snapshot, rows = self._reduced_problem, self.stored_run.snapshot, self._rows
        if problem.edge_function.edge_bound is not None:
            raise ProblemError(
                f"program needs fixed parameters; {problem.formulation.name} changes its bound on the edges in every "
                "round. Use class_certificate."
            )
        if rows is None:
            raise rows_missing_error()
        objective = self._objective
        if not isinstance(objective, ExactSoftMargin):  # a loss needs no other smoothing
            return self.class_certificate.lower, self.class_certificate.upper
        integer_weights, witness = (
            require_not_none(snapshot.bounds.integer_weights, "weights"),
            require_not_none(snapshot.bounds.upper_witness, "an upper bound"),
        )
        return program_bounds(problem, rows, objective, snapshot.pool[: len(integer_weights)], integer_weights, witness)

    @limit_blas_threads()
    def with_smaller_loss(
        self,
        min_soft_margin: float,
        may_leave_weights: bool = False,
        deadline: Deadline | None = None,
        max_rounds: int | None = None,
    ) -> HistogramRun:
        """Return the run with weights of a smaller logistic loss whose gap is at most epsilon: `refined_bounds`.

        The run first continues to a smaller gap for a few rounds, which leaves more of epsilon for the loss. Runs
        without rows, without an evaluation, with another objective or with a larger gap stay as they are.

        Parameters
        ----------
        min_soft_margin
            The soft margin that stays proved, if it is proved now.
        may_leave_weights
            Whether the weights are near those of f = 0, if that soft margin is not proved and f = 0 is within epsilon.
        deadline, max_rounds
            The limits on the time and on all rounds of the run.

        Raises
        ------
        KeyboardInterrupt
            The user stopped the run.
        """
        oracle, rows, objective = self._oracle, self._rows, self._objective
        epsilon, snapshot = self.stored_run.problem.epsilon, self.stored_run.snapshot
        is_certified = isinstance(objective, ExactSoftMargin) and snapshot.bounds.gap <= epsilon
        if rows is None or not isinstance(oracle, BinnedClass) or not is_certified or not snapshot.log:
            return self
        may_leave_weights &= oracle.reflexive
        further_rounds = max(MIN_FURTHER_ROUNDS, int(FURTHER_ROUNDS * self.rounds))
        last_round = min(self.rounds + further_rounds, max_rounds or sys.maxsize)
        keeps_weights = not (may_leave_weights and is_zero_near_best(snapshot.bounds, epsilon, min_soft_margin))
        if keeps_weights and len(snapshot.pool) > 1 and self.rounds < last_round and not is_sampled(rows):
            snapshot = self._snapshot_of_smaller_gap(oracle, rows, deadline or Deadline.after(None), last_round)
        is_zero = may_leave_weights and is_zero_near_best(snapshot.bounds, epsilon, min_soft_margin)
        pool, first_weights = first_mixture_weights(snapshot.pool, snapshot.bounds, is_zero)
        loss_weights = logistic_weights(rows, pool, self.loss_weights)
        bounds = refined_bounds(
            rows, objective, pool, snapshot.bounds, first_weights, loss_weights, epsilon, min_soft_margin
        )
        last = require_not_none(bounds.integer_weights, "weights") * (bounds.weight_sum / MARGIN_SCALE)
        record = replace(snapshot.log[-1], lower=float_below(bounds.lower), active=int(np.count_nonzero(last)))
        refined = replace(
            snapshot,
            pool=pool,
            bounds=bounds,
            log=(*snapshot.log[:-1], record),
            weights_by_iteration=(*snapshot.weights_by_iteration[:-1], last),
        )
        # The pool only grows, so the hypotheses of the run are its first ones.
        new_hypotheses = [oracle.hypothesis_of(split) for split in pool[len(self.hypotheses) :]]
        stored_run = replace(self.stored_run, hypotheses=[*self.hypotheses, *new_hypotheses], snapshot=refined)
        return HistogramRun(stored_run, oracle, rows, self._keeps, loss_weights)

    def _snapshot_of_smaller_gap(
        self, oracle: BinnedClass, rows: BinnedRows, deadline: Deadline, max_rounds: int
    ) -> Snapshot:
        """Return a snapshot with a gap of at most epsilon, halved `GAP_HALVINGS` times, or with the gap at a limit.

        A formulation that bounds the edges, or whose entropy is given, has no program for a smaller gap.
        """
        reduced, snapshot = self._reduced_problem, self.stored_run.snapshot
        halvings = min(int(math.log2(max(reduced.epsilon / MIN_CONTINUED_GAP, 1.0))), GAP_HALVINGS)
        has_no_program = reduced.edge_function.edge_bound is not None or reduced.user_parameters.get("eta")
        if has_no_program or not halvings or deadline.passed:
            return snapshot
        epsilon = reduced.epsilon * 0.5**halvings
        problem = Problem.create(
            reduced.formulation, reduced.examples.c, None, epsilon, reduced.update, reduced.user_parameters
        )
        # The entropy is at first that of the last program, whose evaluation is repeated.
        level = min(snapshot.state.level + halvings, problem.max_level)
        start = replace(
            snapshot,
            state=replace(snapshot.state, level=level, stalled_iterations=0),
            log=snapshot.log[:-1],
            weights_by_iteration=snapshot.weights_by_iteration[:-1],
        )
        options = BoostOptions(max_rounds=max_rounds)
        solver = HistogramNewton(
            problem, rows, self._objective, oracle.reflexive, options, lambda record: None, snapshot=start
        )
        solver.run(deadline)
        if solver.stop_reason == StopReason.INTERRUPTED.value:
            raise KeyboardInterrupt
        state = replace(solver.snapshot.state, level=max(solver.snapshot.state.level - halvings, 0))
        return replace(solver.snapshot, state=state)

    def distribution(self) -> ExampleVector:
        """Return the example weights that prove the upper bound, rounded to float64, shape (N,)."""
        witness, rows = require_not_none(self.stored_run.snapshot.bounds.upper_witness, "an upper bound"), self._rows
        if rows is None:
            raise rows_missing_error()
        q = rows.weights(
            rows.margins(witness.columns, witness.hypothesis_weights), witness.grid, witness.integer_weights
        )
        return q / (witness.normalizer // self._objective.unit)

    @property
    def _headline(self) -> str:
        name, parameters = (
            self._reduced_problem.formulation.name,
            format_parameters(self._reduced_problem.template.parameters),
        )
        return f"{name}: N = {self._oracle.N}, t = {len(self.w)}, {parameters}"

    def _pool_interval_rows(self) -> list[tuple[str, Any]]:
        """Return no rows: the interval over the pool needs the margins of all hypotheses."""
        return []

    @property
    def record(self) -> RunData:
        """The data of the run as of any other run, with the margins of all hypotheses."""
        return self._full_record

    @cached_property
    def _full_record(self) -> RunData:
        problem, oracle = self.problem, require_oracle(self._oracle, "the margins of the hypotheses")
        pool = ColumnPool(oracle.N)
        for hypothesis in self.hypotheses:
            margins = require_not_none(oracle.margins_of(hypothesis), "the margins of a hypothesis of the class")
            pool.add(CheckedColumn.check(Column(hypothesis, margins, math.nan), oracle.N))
        w = self.stored_run.snapshot.bounds.weight_sum * self.w
        m = pool.margins.margins(w)
        conjugate, certificate = problem.conjugate_at_margins(m), self.class_certificate
        if len(self._trace):
            edge, smallest_edge = self._trace[-1].edge, self._trace[-1].smallest_edge
        else:  # the run needed no evaluation
            witness = require_not_none(self.stored_run.snapshot.bounds.upper_witness, "an upper bound")
            edge = smallest_edge = float(self._objective.unit * witness.edge)
        bounds = OracleBounds(edge, smallest_edge, smallest_edge, upper=certificate.upper, d=certificate.d)
        state = State(self.rounds, w, m, conjugate.d, math.nan, -1.0, bounds).with_soft_margin(problem.objective, pool)
        G = problem.edge_function_in(state.progress(problem, pool.margins.column(pool.t - 1)))
        state = replace(state, dual_objective=problem.dual_objective(conjugate, w, G))
        return replace(
            initial_record(problem, oracle, BoostOptions(history=False)),
            history=History(self._keeps, self._history if self._keeps else []),
            pool=pool,
            state=replace(state, smallest_edge_at_solve=bounds.smallest_edge),
            trace=self._trace,
            reason=self.reason,
        )


def _load_checkpoint(
    problem: Problem, objective: ExactObjective, oracle: BinnedClass, rows: BinnedRows, options: BoostOptions
) -> Snapshot | None:
    """Return the snapshot of a checkpoint, with bounds that are recomputed from the rows; None for a new run."""
    checkpoint = options.checkpoint
    if checkpoint is None:
        return None
    remove_partial_files(checkpoint)
    if not os.path.exists(checkpoint):
        return None
    stored_run, present_digest = (
        StoredHistogramRun.load(checkpoint, problem.formulation),
        text_digest(problem.formulation.source_file),
    )
    check_checkpoint_matches(
        checkpoint,
        ("text of the formulation", (stored_run.formulation_digest or present_digest)[:12], present_digest[:12]),
        ("class", str(stored_run.oracle), str(oracle)),
        ("number of examples", stored_run.oracle.N, oracle.N),
        ("parameters", vars(stored_run.problem.template.parameters), vars(problem.template.parameters)),
    )
    try:
        bounds, _ = stored_run.recompute_bounds(oracle, rows, objective)
    except ValueError as failure:
        raise DataError(
            f"expected a checkpoint of this run in {Path(checkpoint)}; it has other examples: {reason_of(failure)}. "
            "Move it away, or pass the path of a new file."
        ) from failure
    snapshot = stored_run.snapshot
    level = min(snapshot.state.level, problem.max_level)
    return replace(snapshot, bounds=bounds, state=replace(snapshot.state, level=level))


def trace_from_log(log: Sequence[EvaluationRecord], N: int) -> Trace:
    """Return the evaluations on all N rows as a trace."""
    trace = Trace([])
    for record in log:
        if record.rows == N and record.active:
            trace.add(_trace_row(record, trace))
    return trace


def _trace_row(record: EvaluationRecord, trace: Trace) -> TraceRow:
    """Return the trace row of an evaluation on all rows."""
    smallest = min(record.edge, trace[-1].smallest_edge) if len(trace) else record.edge
    return TraceRow(
        round=len(trace) + 1,
        hypotheses=record.hypotheses,
        edge=record.edge,
        smallest_edge=smallest,
        upper=record.upper,
        soft_margin=record.lower,
        value=record.value,
        active=record.active,
        zero_share=math.nan,
        test_error=math.nan,
        oracle_seconds=record.edges_seconds,
        update_seconds=record.seconds - (trace[-1].seconds if len(trace) else 0.0) - record.edges_seconds,
        seconds=record.seconds,
        backend="",
    )


FILE_READERS[HISTOGRAM_KIND] = HistogramRun.from_file
