"""The run that looks make: what is as long as the rows is made when it is asked for."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.formatting import format_parameters
from boostopt._utils.user_files import text_digest
from boostopt.backends.base import Deadline
from boostopt.boosting.column_pool import CheckedColumn, ColumnPool
from boostopt.boosting.histogram_newton.bounded_edges import BoundedEdgeNewton
from boostopt.boosting.histogram_newton.histogram_run_file import CheckpointWriter, StoredHistogramRun, detached
from boostopt.boosting.histogram_newton.program_bounds import program_bounds
from boostopt.boosting.histogram_newton.solver import HistogramNewton
from boostopt.boosting.histogram_newton.solver_state import EvaluationRecord, Snapshot, float_below
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import Problem, exact_objective_of_problem
from boostopt.boosting.run.history import History, Sparse, StoredRound
from boostopt.boosting.run.initial import check_checkpoint_matches, initial_record
from boostopt.boosting.run.progress_line import progress_line
from boostopt.boosting.run.run import FILE_READERS, Run
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.run_file import HISTOGRAM_KIND, remove_partial_files, warn_of_change
from boostopt.boosting.run.state import OracleBounds, State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.run.trace import Row, Trace
from boostopt.errors import DataError, OptionError, ProblemError, reason_of, require_not_none
from boostopt.objectives.class_certificate import ClassCertificate
from boostopt.objectives.exact import ExactObjective, ExactSoftMargin
from boostopt.oracles.base import Column, Hypothesis, Oracle, check_oracle
from boostopt.oracles.binned_oracle import BinnedOracle
from boostopt.oracles.distributed.detached import rows_missing_error
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MARGIN_SCALE

MAX_MARGIN_ENTRIES = 100_000_000
"""Margins of all hypotheses up to which steps in floating point go on where looks end."""


class LazyWitness:
    """What makes the distribution that proves the upper end of a run; stored, it is that distribution."""

    def __init__(self, run: HistogramRun) -> None:
        self._run = run

    @property
    def unavailable(self) -> bool:
        """Whether the rows are on a cluster, or gone: then it is as long as what is elsewhere."""
        return self._run.only_looks

    def __call__(self) -> Float[Array, " N"]:
        return self._run.distribution()

    def __reduce__(self) -> Any:
        return (LazyWitness, (self._run,)) if self._run.only_looks else (partial, (_constant, self()))


def _constant(d: Float[Array, " N"]) -> Float[Array, " N"]:
    """Return a distribution."""
    return d


class HistogramRun(Run):
    """A run of looks: what is as long as the rows is made when it is asked for.

    Attributes
    ----------
    looks
        A line about each look, those at samples included.
    from_file
        What of it is not as long as the rows.
    """

    final_weights: str
    loaded: bool
    stored: StoredHistogramRun

    def __init__(
        self, stored: StoredHistogramRun, oracle: BinnedOracle, rows: BinnedRows | None, keeps: bool = True
    ) -> None:
        reached = stored.reached
        W = require_not_none(reached.bounds.integer_weights, "weights")
        self.w: Any = np.concatenate([W, np.zeros(len(reached.pool) - len(W), W.dtype)]) / MARGIN_SCALE
        self.final_weights, self.loaded = stored.problem.formulation.final_weights, rows is None
        self.looks: Sequence[EvaluationRecord] = tuple(reached.log)
        self._trace = trace_from_log(reached.log, stored.oracle.N)
        rounds = zip(reached.weights_by_iteration, self._trace["smallest_edge"].tolist(), strict=True)
        self._history = [StoredRound(len(w), Sparse.of(w), None, smallest) for w, smallest in rounds]
        self.stored, self._oracle, self._rows, self._keeps = stored, oracle, rows, keeps

    @classmethod
    def solve(
        cls, problem: Problem, aim: ExactObjective, oracle: BinnedOracle, rows: BinnedRows, options: BoostOptions
    ) -> HistogramRun:
        """Look until both ends are near enough, or a limit is reached; from a checkpoint on if there is one.

        Raises
        ------
        DataError
            The checkpoint is of other data, of other parameters, or unreadable.
        """
        begun, deadline = _load_checkpoint(problem, aim, oracle, rows, options), Deadline.after(options.time_limit)
        trace = Trace([]) if begun is None else trace_from_log(begun.log, oracle.N)
        digest = text_digest(problem.formulation.stated_in)

        def stored(reached: Snapshot, reason: str = "") -> StoredHistogramRun:
            hypotheses = [oracle.hypothesis_of(split) for split in reached.pool]
            return StoredHistogramRun(problem, detached(oracle), hypotheses, reached, reason, digest)

        with (
            limit_blas_threads(),
            progress_line(options.progress, problem.formulation.name, measure=problem.measure) as show,
        ):

            def seen(glance: EvaluationRecord) -> None:
                row = _trace_row(glance, trace)
                trace.add(row)
                if show is not None:
                    show(row)

            checkpoint = CheckpointWriter(options, stored)
            kind = HistogramNewton if problem.edge_function.edge_bound is None else BoundedEdgeNewton
            looking = kind(problem, rows, aim, oracle.reflexive, options, deadline, seen, checkpoint.on_snapshot, begun)
            looking.run()
        checkpoint.write()
        return cls(stored(looking.snapshot, looking.stop_reason), oracle, rows, options.history is not False)

    @classmethod
    def from_file(cls, path: str | PathLike[str], formulation: Any = None) -> HistogramRun:
        """Return a run that was saved without its rows.

        Raises
        ------
        DataError
            The file is not there, is no saved run of looks, was made by another version, or is damaged; or no look at
            all rows had been made.
        """
        found = StoredHistogramRun.load(path, formulation)
        warn_of_change(found.problem.formulation, found.page_digest)
        if found.reached.bounds.integer_weights is None:
            raise DataError(
                f"expected a run with at least one look at all rows in {os.fspath(path)}; got a run without a look. "
                "Make the same call again, with the file as its checkpoint."
            )
        return cls(found, found.oracle, None)

    def __reduce__(self) -> Any:
        """Return the run as any other one; of rows on a cluster all but these."""
        if not self.only_looks:
            return Run, (self.record, self.w, self.final_weights, self.loaded)
        return HistogramRun, (self.stored, self.stored.oracle, None, self._keeps)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the run; with the margins of its hypotheses, unless these are many or on a cluster.

        Without them the file takes some kB; what is as long as the rows is not in it, and `verify_class` tells both
        ends anew from the oracle.
        """
        if self.only_looks or not self._margins_fit:
            self.stored.save(path)
        else:
            super().save(path)

    def verify_class(self, oracle: Oracle) -> ClassCertificate:
        check_oracle(oracle)
        rows = oracle.binned_rows if isinstance(oracle, BinnedOracle) else None
        if rows is None or not isinstance(oracle, BinnedOracle):
            return super().verify_class(oracle)
        stored = self.stored
        then, now = stored.oracle, detached(oracle)
        try:
            if (str(then), then.N, then.total) != (str(now), now.N, now.total):
                raise ValueError(f"{now} of {now.N} examples")
            ends, lower = stored.recompute_bounds(oracle, rows, self._objective)
        except ValueError as failure:
            raise OptionError(
                f"the oracle must have the examples and the class of the run, {then} with {then.N} examples; got "
                f"{reason_of(failure)}. Make the oracle from the same data, with the same labels and weights."
            ) from failure
        again = replace(stored, reached=replace(stored.reached, bounds=replace(ends, lower=lower)))
        return HistogramRun(again, oracle, rows).class_certificate

    @property
    def _objective(self) -> ExactObjective:
        """What the looks are after."""
        return require_not_none(
            exact_objective_of_problem(self._reduced_problem, self.stored.oracle.total), "an aim of looks"
        )

    @property
    def _reduced_problem(self) -> Problem:
        """What was boosted, with examples that stand for all."""
        return self.stored.problem

    @property
    def _margins_fit(self) -> bool:
        """Whether the margins of all hypotheses are few."""
        return self._oracle.N * len(self.hypotheses) <= MAX_MARGIN_ENTRIES

    @property
    def only_looks(self) -> bool:
        """Whether the rows are on a cluster."""
        return self._oracle.aggregates_only

    @property
    def needs_float_steps(self) -> bool:
        """Whether steps in floating point are to go on from here."""
        without_details = self.reason == StopReason.WHOLE_NUMBERS_EXHAUSTED
        return without_details and self._margins_fit and not self.only_looks

    @cached_property
    def problem(self) -> Problem:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What was boosted, all examples told apart; where they are out of reach, with two that stand for them."""
        its = self._reduced_problem
        if self.only_looks:
            return its
        return Problem.create(its.formulation, self._oracle.c, None, its.epsilon, its.update, its.user_parameters)

    @property
    def most_rounds(self) -> float:
        return self._reduced_problem.iteration_bound

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        return self.stored.hypotheses

    @property
    def rounds(self) -> int:
        return len(self._trace)

    @property
    def reason(self) -> str:
        return self.stored.reason

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
        """Both ends are rational numbers here: they are rounded outwards, and there is no other slack."""
        ends, scale = self.stored.reached.bounds, self._objective.unit
        lower, upper = scale * ends.lower, scale * require_not_none(ends.upper_witness, "an upper end").value
        what = self.problem.measure
        return ClassCertificate(
            float_below(lower), -float_below(-upper), LazyWitness(self), str(self._oracle), self.loaded, what
        )

    @cached_property
    def program_interval(self) -> tuple[float, float]:
        """Bounds of the optimum of the formulation's program over the whole class, with its entropy.

        The lower one is what the weights reach, the upper one what the distribution of the certificate allows. Both are
        moved outward by a bound of the rounding, which does not grow with the examples.

        Raises
        ------
        ProblemError
            The run was stored without its rows; or the formulation bounds the edges, by a number that moves from round
            to round.
        """
        problem, reached, rows = self._reduced_problem, self.stored.reached, self._rows
        if problem.edge_function.edge_bound is not None:
            raise ProblemError(
                f"program needs fixed parameters; {problem.formulation.name} changes its bound on the edges in every round. "
                "Use class_certificate."
            )
        if rows is None:
            raise rows_missing_error()
        aim = self._objective
        if not isinstance(aim, ExactSoftMargin):  # nothing else smooths it
            return self.class_certificate.lower, self.class_certificate.upper
        W, proof = (
            require_not_none(reached.bounds.integer_weights, "weights"),
            require_not_none(reached.bounds.upper_witness, "an upper end"),
        )
        return program_bounds(problem, rows, aim, reached.pool[: len(W)], W, proof)

    def distribution(self) -> Float[Array, " N"]:
        """The weights of the examples that prove the upper end, rounded to float64."""
        proof, rows = require_not_none(self.stored.reached.bounds.upper_witness, "an upper end"), self._rows
        if rows is None:
            raise rows_missing_error()
        q = rows.weights(rows.margins(proof.columns, proof.hypothesis_weights), proof.grid, proof.integer_weights)
        return q / (proof.normalizer // self._objective.unit)

    @property
    def _headline(self) -> str:
        page, parameters = (
            self._reduced_problem.formulation.name,
            format_parameters(self._reduced_problem.template.parameters),
        )
        return f"{page}: N = {self._oracle.N}, t = {len(self.w)}, {parameters}"

    def _pool_interval_rows(self) -> list[tuple[str, Any]]:
        """Nothing: it would take the margins of all hypotheses."""
        return []

    @property
    def record(self) -> RunData:
        """All that the run is made of, as of any other one: with the margins of all hypotheses."""
        return self._full_record

    @cached_property
    def _full_record(self) -> RunData:
        problem, oracle = self.problem, self._oracle
        collected = ColumnPool(oracle.N)
        for hypothesis in self.hypotheses:
            margins = require_not_none(oracle.margins_of(hypothesis), "the margins of a hypothesis of the class")
            collected.add(CheckedColumn.check(Column(hypothesis, margins, math.nan), oracle.N))
        w = self.stored.reached.bounds.weight_sum * self.w
        m = collected.margins.margins(w)
        at, certificate = problem.conjugate_at_margins(m), self.class_certificate
        upper, last = certificate.upper, self._trace[-1]
        bounds = OracleBounds(last.edge, last.smallest_edge, last.smallest_edge, upper=upper, d=certificate.d)
        state = State(self.rounds, w, m, at.d, math.nan, -1.0, bounds).with_soft_margin(problem.objective, collected)
        G = problem.edge_function_in(state.progress(problem, collected.margins.column(collected.t - 1)))
        state = replace(state, value=problem.dual_objective(at, w, G))
        return replace(
            initial_record(problem, oracle, BoostOptions(history=False)),
            history=History(self._keeps, self._history if self._keeps else []),
            pool=collected,
            state=replace(state, solved_edge=bounds.smallest_edge),
            trace=self._trace,
            reason=self.reason,
        )


def _load_checkpoint(
    problem: Problem, aim: ExactObjective, oracle: BinnedOracle, rows: BinnedRows, options: BoostOptions
) -> Snapshot | None:
    """Return what a checkpoint has reached, told anew by the rows; None for a new run."""
    checkpoint = options.checkpoint
    if checkpoint is None:
        return None
    remove_partial_files(checkpoint)
    if not Path(checkpoint).exists():
        return None
    stored, stated = (
        StoredHistogramRun.load(checkpoint, problem.formulation),
        text_digest(problem.formulation.stated_in),
    )
    check_checkpoint_matches(
        checkpoint,
        ("text of the formulation", (stored.page_digest or stated)[:12], stated[:12]),
        ("class", str(stored.oracle), str(oracle)),
        ("number of examples", stored.oracle.N, oracle.N),
        ("parameters", vars(stored.problem.template.parameters), vars(problem.template.parameters)),
    )
    try:
        ends, _ = stored.recompute_bounds(oracle, rows, aim)
    except ValueError as failure:
        raise DataError(
            f"expected a checkpoint of this run in {Path(checkpoint)}; it has other examples: {reason_of(failure)}. "
            "Move it away, or pass the path of a new file."
        ) from failure
    reached = stored.reached
    level = min(reached.state.level, problem.max_level)
    return replace(reached, bounds=ends, state=replace(reached.state, level=level))


def trace_from_log(glances: Sequence[EvaluationRecord], N: int) -> Trace:
    """Return the looks at all N rows as a trace."""
    trace = Trace([])
    for glance in glances:
        if glance.rows == N and glance.active:
            trace.add(_trace_row(glance, trace))
    return trace


def _trace_row(glance: EvaluationRecord, trace: Trace) -> Row:
    """Return a look at all rows as a line of the trace."""
    smallest = min(glance.edge, trace[-1].smallest_edge) if len(trace) else glance.edge
    return Row(
        round=len(trace) + 1,
        hypotheses=glance.hypotheses,
        edge=glance.edge,
        smallest_edge=smallest,
        upper=glance.upper,
        soft_margin=glance.lower,
        value=glance.value,
        active=glance.active,
        zero_share=math.nan,
        test_error=math.nan,
        oracle_seconds=glance.edges_seconds,
        update_seconds=glance.seconds - (trace[-1].seconds if len(trace) else 0.0) - glance.edges_seconds,
        seconds=glance.seconds,
        backend="",
    )


FILE_READERS[HISTOGRAM_KIND] = HistogramRun.from_file
