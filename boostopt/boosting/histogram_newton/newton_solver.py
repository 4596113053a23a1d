"""Newton column generation whose only access to the rows are aggregates.

If F is smooth, the example weights d are a function of the margins, and the margins are a function of the hypothesis
weights w. So the solver keeps nothing of the size of the rows except the margins, which are integers and stay with
the rows. Sums of integers give the following exactly: a lower bound of the objective at w, a feasible distribution
d(w), the edges of the whole class under it (the gradient of D), and so both bounds of the class.

    evaluate w      margins -> histogram -> lower bound, d(w), D(w)
                    edges of the class under d(w) -> upper bound         stop if the bounds are within epsilon
    add columns     the best hypothesis of each of the best features
    Newton step     maximize the quadratic model of D over the simplex, then line search
    next level      if the program is nearly solved: a step to the weights of the next program that keep d(w)

Nested samples of the rows are solved first. They determine the first iterate on all rows, but no bound.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, Float, HypothesisVector, Int
from boostopt._utils.formatting import format_count
from boostopt.backends.base import Deadline
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.histogram_newton.dual_evaluator import DualEvaluator, Evaluation, Iterate
from boostopt.boosting.histogram_newton.edge_prediction import useful_thresholds
from boostopt.boosting.histogram_newton.solver_state import (
    EvaluationRecord,
    ExactBounds,
    Snapshot,
    SolverState,
)
from boostopt.boosting.histogram_newton.stump_curvature import StumpCurvature
from boostopt.boosting.objectives.class_upper_bound import UpperBound
from boostopt.boosting.objectives.exact_objective import ExactObjective
from boostopt.boosting.run.interrupts import Interrupts
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import unit_weight
from boostopt.boosting.updates.newton_update import EDGE_TOL_FRACTION, MAX_END_SLOPE, newton_target
from boostopt.errors import reason_of, require_not_none
from boostopt.functions.numerics.rounding_errors import float_below
from boostopt.oracles.top_k import are_extremes_of_ranges, places_of_copies, top_k_groups
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MARGIN_SCALE
from boostopt.rows.row_block import Split

SAMPLE_SIZES = (20_000, 200_000)
"""The approximate sizes of the samples that are solved first."""

MIN_ROWS_PER_SAMPLED_ROW = 4
"""A sample is used only if the rows are at least this many times as many."""

SAMPLING_ERROR = 4.0
"""A sample is solved to a gap of this many random errors of its edges. Such an error is 1 / sqrt(n), where n is the
number of equal weights whose mean is as random as that of the example weights."""

MIN_COLUMNS, POOL_GROWTH = 16, 0.15
"""The largest number of columns that join in an iteration: a count, or a share of the pool if this is more."""

PREDICTED_POOL_GROWTH = 3.0
"""The same share, if the columns are those that keep the edges small which a step is predicted to leave."""

MIN_PREDICTED_ROWS = 5_000
"""The number of rows from which predicted edges choose columns. With fewer rows, they save evaluations but no time."""

MIN_PREDICTED_RANGES, RANGES_PER_THRESHOLD = 256, 8
"""The number of ranges into which the thresholds of a feature are divided, if they are more: so many at least, and so
many for each threshold that the pool has of a feature. The largest and the smallest edge of each range are
predicted."""

GAP_DECREASE, MIN_EDGE_EXCESS, MIN_EXCESS_OF_GAP = 0.1, 0.7, 0.9
"""Edges are small if they exceed those of the pool by at most the first fraction of the gap, or the second one of
epsilon, or the third one of the part of epsilon that the cost of the entropy leaves, where the level will not fall."""

FIRST_LENGTH = 0.7
"""The first length of a line search, unless predicted edges choose the columns. The next weights of the examples are
then between the last ones and those of the full step, and fewer hypotheses outside the pool have large edges."""

FIRST_RATIO = 4.0
"""The entropy of the first level, which makes weights of examples nearly equal, over that of the first step."""

SUFFICIENT_INCREASE, MAX_BACKTRACKS = 0.1, 6
"""Armijo's constant of the line search, and the largest number of shorter steps."""

RESOLUTION = 0.02
"""The smallest significant difference of values of D, as a share of the width of a bin. If the step promises less, the
line search compares slopes, which costs an evaluation."""

POOR_GAIN, SPREAD_INCREASE = 0.1, 4.0
GOOD_GAIN, SPREAD_DECREASE = 0.35, 1.4
LARGE_GAIN, LARGE_SPREAD_DECREASE = 0.55, 4.0
"""The control of the curvature spread. The gain is the increase of D by a full step over the increase that the slope
promises, estimated from the first length; the gain of an exact quadratic model is 1/2. Below POOR_GAIN the spread is
multiplied by SPREAD_INCREASE. Above GOOD_GAIN it is divided by SPREAD_DECREASE; above LARGE_GAIN, which tells of too
much curvature, by LARGE_SPREAD_DECREASE."""

MIN_COST_RATIO = 0.125
"""The smallest cost of the entropy, as a fraction of the gap of its program, from which a step lowers the level."""

NEGLIGIBLE_COST_FRACTION = 0.2
"""The fraction of epsilon up to which the cost of the entropy calls for no lower level."""

CURVED_ROWS_PER_WEIGHT, MANY_CURVED_ROWS = 10, 5_000
"""The least number of rows with a curvature for each positive weight, and in all, at which the numbers above hold. With
fewer, the quadratic model soon fails, and sooner at a lower level. Then the numbers below take fewer steps. Rows count
as many as equal curvatures whose mean is as random."""

FEW_ROWS_FIRST_LENGTH, FEW_ROWS_MIN_COST_RATIO, FEW_ROWS_NEGLIGIBLE_COST_FRACTION = 1.0, 0.5, 0.6
"""FIRST_LENGTH, MIN_COST_RATIO and NEGLIGIBLE_COST_FRACTION for few rows with a curvature."""

MIN_GAP_DECREASE = 0.9
"""The factor by which the gap must fall to count as a decrease."""

MAX_STALLED_ITERATIONS = 5
"""The largest number of iterations in a row without an increase of D. After them, the level ends."""

MAX_ITERATIONS_PER_GAP_DECREASE = 100
"""The largest number of iterations without a decrease of the gap. After them, integers are too coarse for the run."""


class HistogramNewton:
    """The solver: column generation by Newton steps on aggregates over the rows.

    Parameters
    ----------
    problem
        The problem, with representative examples.
    rows
        The examples.
    objective
        The objective over these rows.
    symmetric
        Whether the class is closed under negation.
    options
        The limits, and the number of columns per iteration.
    on_iteration
        A function that is called with the record of each evaluation on all rows.
    on_snapshot
        A function that is called with a snapshot before each evaluation on all rows; None for no such function.
    snapshot
        The snapshot from which the solver continues; None for a new run.
    start
        The state in which a new run begins, with its columns; None to begin without columns.

    Attributes
    ----------
    splits
        The columns of the pool.
    bounds
        The bounds of the objective over the class.
    stop_reason
        The reason why the run ended; "" before its end.
    log
        The records of all evaluations.
    level
        The smoothing level of the next program.
    weights_by_iteration
        The weights of the program at each evaluation on all rows.
    """

    problem: Problem
    rows: BinnedRows
    objective: ExactObjective
    symmetric: bool
    on_iteration: Callable[[EvaluationRecord], None]
    on_snapshot: Callable[[Snapshot], None] | None
    max_iterations: int | None
    columns_per_iteration: int
    has_checkpoint: bool
    level: int

    def __init__(
        self,
        problem: Problem,
        rows: BinnedRows,
        objective: ExactObjective,
        symmetric: bool,
        options: BoostOptions,
        on_iteration: Callable[[EvaluationRecord], None],
        on_snapshot: Callable[[Snapshot], None] | None = None,
        snapshot: Snapshot | None = None,
        start: tuple[Sequence[Split], SolverState] | None = None,
    ) -> None:
        self.problem, self.rows, self.objective, self.symmetric = problem, rows, objective, symmetric
        self.epsilon: float = problem.epsilon / objective.unit
        self.on_iteration, self.on_snapshot = on_iteration, on_snapshot
        self.max_iterations, self.columns_per_iteration = (
            options.max_rounds,
            max(options.columns_per_round, MIN_COLUMNS),
        )
        self.has_checkpoint: bool = options.checkpoint is not None
        self.deadline: Deadline = Deadline.after(None)
        self.splits: list[Split] = list[Split]() if snapshot is None else list(snapshot.pool)
        self.log: list[EvaluationRecord] = list[EvaluationRecord]() if snapshot is None else list(snapshot.log)
        self.weights_by_iteration: list[Float[Array, " _"]] = (
            list[Float[Array, " _"]]() if snapshot is None else list(snapshot.weights_by_iteration)
        )
        self.bounds: ExactBounds = ExactBounds() if snapshot is None else snapshot.bounds
        self.stop_reason: str = ""
        self.level, self._snapshot_at_start = problem.max_level, snapshot
        if snapshot is None and start is not None:
            self.splits, state = list(start[0]), start[1]
            self.bounds = ExactBounds(integer_weights=state.integer_weights)
            self.level = min(state.level, problem.max_level)
        self._state = SolverState(self.best_weights, self.level) if snapshot is None else snapshot.state
        self._edge_bound, self._gap_at_last_increase, self._spread = (
            self._state.edge_bound,
            self._state.gap_at_last_increase,
            self._state.spread,
        )
        self._pool_set, self._thresholds = set(self.splits), [rows.threshold_of(split) for split in self.splits]
        self._start_time = time.perf_counter() - (self.log[-1].seconds if self.log else 0.0)

    def run(self, deadline: Deadline) -> None:
        """Solve until the bounds are within epsilon, a limit is reached or the user interrupts."""
        self.deadline = deadline
        with Interrupts() as interrupts, self.rows.limit_waits(deadline.end_time):
            try:
                self._solve_samples_then_all(interrupts)
            except Exception as failure:
                if not self.n_iterations:
                    raise
                # The bounds remain valid, the lower one except for the width of a bin, so the run ends with them.
                error_text = f"{type(failure).__name__}: {reason_of(failure)}"
                count = f"{format_count(self.n_iterations, 'evaluation')} on all rows"
                failed = f"{StopReason.FAILED_AFTER_PASSES} {count}: {error_text}"
                self.stop_reason = f"{self.stop_reason}; {failed}" if self.stop_reason else failed
                warnings.warn(
                    f"the run {failed}. The run ends with the evaluations before.", RuntimeWarning, stacklevel=3
                )

    def _solve_samples_then_all(self, interrupts: Interrupts) -> None:
        """Solve on nested samples, then on all rows; then compute the best lower bound of the best weights."""
        for size in SAMPLE_SIZES if self._snapshot_at_start is None else ():
            if self.rows.n_rows >= MIN_ROWS_PER_SAMPLED_ROW * size:
                self._solve_on(
                    DualEvaluator(self.problem, self.rows.stride(self.rows.n_rows // size), self.objective), interrupts
                )
        evaluator = DualEvaluator(self.problem, self.rows, self.objective)
        last, W = (
            self._solve_on(evaluator, interrupts, self._snapshot_at_start),
            require_not_none(self.bounds.integer_weights, "weights"),
        )
        # The margins are as long as the rows, so they are computed again only if the last ones are of other weights.
        has_margins = np.array_equal(last.integer_weights, W)
        margins = last.margins if has_margins else self.rows.margins(self.splits[: len(W)], W)
        best = evaluator.objective.best_lower_bound(self.rows, margins)
        self.bounds = replace(self.bounds, lower=max(self.bounds.lower, best))

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot from which the run can continue."""
        return Snapshot(tuple(self.splits), self._state, self.bounds, tuple(self.log), tuple(self.weights_by_iteration))

    @property
    def n_iterations(self) -> int:
        """The number of evaluations on all rows."""
        return len(self.weights_by_iteration)

    @property
    def best_weights(self) -> Int[Array, " t"]:
        """The integer weights of the lower bound, for all columns of the pool; 0 before the first bound."""
        return self.padded(
            np.zeros(0, np.int64) if self.bounds.integer_weights is None else self.bounds.integer_weights
        )

    def _solve_on(self, evaluator: DualEvaluator, interrupts: Interrupts, snapshot: Snapshot | None = None) -> Iterate:
        """Solve on some rows, from the weights of the rows before or a snapshot, and return the last iterate."""
        state = (
            SolverState(self.best_weights, self.level, self.bounds.weight_sum) if snapshot is None else snapshot.state
        )
        if snapshot is None:
            self.bounds = ExactBounds()
        self._edge_bound, self._gap_at_last_increase, self._spread = (
            state.edge_bound,
            state.gap_at_last_increase,
            state.spread,
        )
        iterate = evaluator.iterate(self.splits[: len(state.integer_weights)], state.integer_weights, state.weight_sum)
        on_all_rows, n_earlier_iterations = evaluator.rows is self.rows, self.n_iterations
        while True:
            if on_all_rows:
                self._state = state = replace(
                    state,
                    edge_bound=self._edge_bound,
                    gap_at_last_increase=self._gap_at_last_increase,
                    spread=self._spread,
                )
                if self.on_snapshot is not None:
                    self.on_snapshot(self.snapshot)
                if self.has_checkpoint and self.deadline.passed and self.n_iterations > n_earlier_iterations:
                    self.stop_reason = StopReason.TIME_LIMIT.value
                    return iterate
            level = state.level
            evaluation = self._evaluate(evaluator, iterate, level)
            state = replace(state, n_iterations=state.n_iterations + 1)
            if reason := self._reason_to_stop(evaluation, on_all_rows, interrupts):
                self.stop_reason = reason
                return iterate
            has_new_columns = self._add_columns(evaluation)
            may_step = state.stalled_iterations < MAX_STALLED_ITERATIONS or has_new_columns
            next_iterate, value = self._step_and_set_level(evaluator, evaluation, may_step)
            if self._is_at_round_limit(on_all_rows):  # by evaluations of the line search
                self.stop_reason = StopReason.ROUND_LIMIT.value
                return evaluation.iterate
            if self.bounds.gap < MIN_GAP_DECREASE * state.reference_gap:
                state = replace(state, reference_gap=self.bounds.gap, reference_iteration=state.n_iterations)
            if (
                next_iterate is None and level == 0 and not has_new_columns
            ) or state.n_iterations - state.reference_iteration > MAX_ITERATIONS_PER_GAP_DECREASE:
                self.stop_reason = StopReason.WHOLE_NUMBERS_EXHAUSTED.value
                return evaluation.iterate
            if next_iterate is not None:
                iterate = next_iterate
            else:
                iterate.splits, iterate.integer_weights = tuple(self.splits), self.padded(iterate.integer_weights)
            previous_value = self._dual_objective(evaluation.iterate, evaluation.weight_function.dual_objective)
            has_increased = value > previous_value + SUFFICIENT_INCREASE * _resolution(evaluation)
            stalled_iterations = 0 if has_increased or self.level < level else state.stalled_iterations + 1
            state = replace(
                state,
                integer_weights=iterate.integer_weights,
                level=self.level,
                weight_sum=iterate.weight_sum,
                stalled_iterations=stalled_iterations,
            )

    def _step_and_set_level(
        self, evaluator: DualEvaluator, evaluation: Evaluation, may_step: bool
    ) -> tuple[Iterate | None, float]:
        """Set the level of the next program, and return the next iterate and D; None if D falls.

        The gap over the class is the gap of the program plus the cost of its entropy, which halves with each level. The
        level falls until the cost is a small part of the gap. If most weights are at the cap, the entropy costs far
        less than it may, and few levels are needed.
        """
        level, gap, cost = evaluation.level, self._program_gap(evaluation), self._entropy_cost(evaluation)
        has_weights = bool(evaluation.iterate.integer_weights.any())
        _, min_cost_ratio, negligible_cost_fraction = self._choose_constants(evaluation)
        small_cost = max(min_cost_ratio * gap, negligible_cost_fraction * self.epsilon)
        is_solved = has_weights and cost >= small_cost
        if level and is_solved:
            lowest_level = max(level - max(int(math.log2(cost / small_cost)), 1), 0)
            for next_level in sorted({lowest_level, level - 1}):
                next_iterate, value = self._step_to_level(evaluator, evaluation, next_level)
                if next_iterate is not None:
                    self.level = next_level
                    return next_iterate, value
        next_iterate, value = self._step(evaluator, evaluation) if may_step else (None, -math.inf)
        self.level = max(level - 1, 0) if is_solved or next_iterate is None else level
        if not has_weights:
            self.level = min(self.level, self._level_for(next_iterate or evaluation.iterate))
        return next_iterate, value

    def _evaluate(self, evaluator: DualEvaluator, iterate: Iterate, level: int) -> Evaluation:
        """Compute the edges of the class under d(w), and update both bounds and the log."""
        weight_function, start = evaluator.weight_function(iterate, level), time.perf_counter()
        edges = evaluator.class_edges(iterate, weight_function)
        seconds = time.perf_counter() - start
        evaluation = Evaluation(iterate, level, weight_function, edges, self.symmetric)
        if iterate.integer_weights.any():
            self.bounds = self.bounds.with_lower(iterate)
        largest_edge, scale = evaluation.largest_edge, self.objective.unit
        if self.bounds.is_improved_by(largest_edge + weight_function.regularizer_bound):
            witness = UpperBound(
                largest_edge,
                weight_function.regularizer_bound,
                tuple(self.splits[: len(iterate.integer_weights)]),
                iterate.integer_weights,
                weight_function.grid,
                weight_function.integer_weights,
                weight_function.normalizer,
            )
            self.bounds = replace(self.bounds, upper_witness=witness)
        record = EvaluationRecord(
            evaluator.rows.n_rows,
            len(iterate.integer_weights),
            int(np.count_nonzero(iterate.integer_weights)),
            level,
            scale * float(largest_edge),
            scale * self._dual_objective(iterate, weight_function.dual_objective),
            float_below(scale * self.bounds.lower),
            -float_below(-scale * require_not_none(self.bounds.upper_witness, "a proof").value),
            seconds,
            time.perf_counter() - self._start_time,
        )
        self.log.append(record)
        if evaluator.rows is self.rows and iterate.integer_weights.any():
            self.weights_by_iteration.append(iterate.weight_sum * evaluation.w)
            self.on_iteration(record)
        return evaluation

    def _reason_to_stop(self, evaluation: Evaluation, on_all_rows: bool, interrupts: Interrupts) -> str:
        """Return why the run ends after an evaluation; "" if it continues."""
        if not evaluation.iterate.integer_weights.any():
            return ""
        if not on_all_rows:
            sample_size = evaluation.weight_function.effective_sample_size
            if self.bounds.gap <= SAMPLING_ERROR / math.sqrt(sample_size):
                return StopReason.SAMPLE_EXHAUSTED.value
        if self.bounds.gap <= self.epsilon:
            return certified_reason(self.problem)
        if interrupts.requested:
            return StopReason.INTERRUPTED.value
        # With a checkpoint, a step follows first: otherwise the next run would only repeat the evaluation.
        if self.deadline.passed and not (on_all_rows and self.has_checkpoint):
            return StopReason.TIME_LIMIT.value
        return StopReason.ROUND_LIMIT.value if self._is_at_round_limit(on_all_rows) else ""

    def _is_at_round_limit(self, on_all_rows: bool) -> bool:
        """Return whether no further evaluation is allowed."""
        return on_all_rows and self.max_iterations is not None and self.n_iterations >= self.max_iterations

    def _level_for(self, iterate: Iterate) -> int:
        """Return the level for the gap between the upper bound and the weights of an iterate, as in `newton`."""
        gap = self.bounds.upper - float(iterate.lower_bound)
        return self.problem.level_for_gap(gap) if gap > 0.0 else 0

    def _program_gap(self, evaluation: Evaluation) -> float:
        """Return the duality gap of the program of an evaluation over the class."""
        return (
            float(evaluation.largest_edge)
            + evaluation.weight_function.regularizer_value
            - evaluation.weight_function.dual_objective
        )

    def _entropy_cost(self, evaluation: Evaluation) -> float:
        """Return the gap over the class that remains if the gap of the program is 0."""
        weight_function = evaluation.weight_function
        return (
            weight_function.dual_objective - weight_function.regularizer_value - float(evaluation.iterate.lower_bound)
        )

    def _choose_constants(self, evaluation: Evaluation) -> tuple[float, float, float]:
        """Return the first length of a line search, and the numbers that decide about the level."""
        first_length = 1.0 if self._predicts_edges(evaluation) else FIRST_LENGTH
        n_weights = np.count_nonzero(evaluation.iterate.integer_weights)
        # Multiplicities count examples.
        n_curved = evaluation.weight_function.curved_sample_size * self.rows.n_rows / self.rows.n_examples
        if n_curved < max(CURVED_ROWS_PER_WEIGHT * n_weights, MANY_CURVED_ROWS):
            return FEW_ROWS_FIRST_LENGTH, FEW_ROWS_MIN_COST_RATIO, FEW_ROWS_NEGLIGIBLE_COST_FRACTION
        return first_length, MIN_COST_RATIO, NEGLIGIBLE_COST_FRACTION

    def _add_columns(self, evaluation: Evaluation) -> bool:
        """Add the best hypotheses of some features, and return whether any is new.

        A hypothesis is useful if its edge is nearly as large as the largest edge of the pool. The first column is the
        constant hypothesis alone if no other hypothesis is better by more than epsilon.
        """
        pool_edges, size = self.edges(evaluation), len(self.splits)
        if size and self._predicts_edges(evaluation):
            self._add_useful_columns(evaluation, pool_edges)
            if len(self.splits) > size:
                return True
        best_edges = evaluation.best_edges
        min_edge = float(pool_edges.max(initial=-2.0)) - EDGE_TOL_FRACTION * self.epsilon * 2.0**evaluation.level
        constant_suffices = (
            self.rows.has_constant_feature
            and best_edges[-1] >= best_edges.max() - self.epsilon * evaluation.weight_function.normalizer
        )
        candidates = [len(best_edges) - 1] if constant_suffices and not size else self.best_thresholds(best_edges)
        for threshold in candidates:
            if size and best_edges[threshold] / evaluation.weight_function.normalizer < min_edge:
                break
            self._add_column(threshold, -1 if evaluation.edges[threshold] < 0 and self.symmetric else 1)
        return len(self.splits) > size

    def _add_column(self, threshold: int, sign: int) -> None:
        """Add the hypothesis of a threshold, unless it is in the pool."""
        split = self.rows.split(threshold, sign)
        if split not in self._pool_set:
            self._pool_set.add(split)
            self.splits.append(split)
            self._thresholds.append(threshold)

    def _predicts_edges(self, evaluation: Evaluation) -> bool:
        """Return whether predicted edges choose the columns: those of all rows, if they are many, from weights on."""
        n_rows, weights = self.rows.n_rows, evaluation.iterate.integer_weights
        return self.log[-1].rows == n_rows >= MIN_PREDICTED_ROWS and bool(weights.any())

    def _add_useful_columns(self, evaluation: Evaluation, pool_edges: HypothesisVector) -> None:
        """Add the columns without which a step to equal edges of the pool would leave large edges, as predicted."""
        w, size = self._weights(evaluation), len(self.splits)
        level = float(pool_edges @ w)
        if self.symmetric:
            level = max(level, 0.0)  # the largest edge of the class is never negative
        in_use = np.flatnonzero((w > 0.0) | (pool_edges > level))
        pool, place = np.unique(np.array(self._thresholds)[in_use], return_index=True)
        signs = np.array([self.splits[k].sign for k in in_use[place].tolist()])
        # Thresholds side by side have nearly equal edges, so few of them represent all.
        largest_count = int(np.diff(np.searchsorted(pool, self.rows.starts), append=len(pool)).max())
        n_ranges = max(MIN_PREDICTED_RANGES, RANGES_PER_THRESHOLD * largest_count)
        is_candidate = are_extremes_of_ranges(evaluation.edges, self.rows.starts, n_ranges, self.symmetric)
        for places in places_of_copies(evaluation.edges, self.rows.starts):
            is_candidate[places] = False  # a copy of a feature adds nothing
        is_candidate[pool] = is_candidate[self.rows.starts] = True
        candidates = np.flatnonzero(is_candidate)
        starts, pool = np.searchsorted(candidates, self.rows.starts), np.searchsorted(candidates, pool)
        edges = evaluation.edges[candidates] / evaluation.weight_function.normalizer
        tolerance = max(GAP_DECREASE * (float(evaluation.largest_edge) - level), self._small_edge_excess(evaluation))
        count = max(self.columns_per_iteration, int(PREDICTED_POOL_GROWTH * size))
        thresholds, new_signs = useful_thresholds(
            edges, starts, pool, edges[pool] - level * signs, level, tolerance, count, self.symmetric
        )
        for threshold, sign in zip(candidates[thresholds].tolist(), new_signs.tolist(), strict=True):
            self._add_column(threshold, sign)

    def _small_edge_excess(self, evaluation: Evaluation) -> float:
        """Return the largest excess of edges over those of the pool that a step may leave."""
        cost, (_, _, negligible_cost_fraction) = self._entropy_cost(evaluation), self._choose_constants(evaluation)
        if cost > negligible_cost_fraction * self.epsilon:  # the level will fall, and the cost with it
            return MIN_EDGE_EXCESS * self.epsilon
        return min(MIN_EDGE_EXCESS * self.epsilon, MIN_EXCESS_OF_GAP * (self.epsilon - cost))

    def best_thresholds(self, best_edges: Int[Array, " thresholds"]) -> list[int]:
        """Return the thresholds with the largest edges, at most one of each range between thresholds of the pool.

        If these ranges are few, they are divided.
        """
        count = max(self.columns_per_iteration, int(POOL_GROWTH * len(self.splits)))
        is_start = np.zeros(len(best_edges), bool)
        is_start[self.rows.starts] = is_start[self._thresholds] = True
        if np.count_nonzero(is_start) < count:
            is_start[np.arange(count) * len(best_edges) // count] = True
        return top_k_groups(best_edges, np.flatnonzero(is_start), count)

    def edges(self, evaluation: Evaluation) -> HypothesisVector:
        """Return the edges of the columns of the pool under d(w)."""
        signs = np.array([split.sign for split in self.splits], np.int64)
        return signs * evaluation.edges[self._thresholds] / evaluation.weight_function.normalizer

    def _step(self, evaluator: DualEvaluator, evaluation: Evaluation) -> tuple[Iterate | None, float]:
        """Return the iterate after a Newton step or a short step, the better one, and D; None if D falls."""
        w, edges = self._weights(evaluation), self.edges(evaluation)
        q = int(edges.argmax())
        if not w.any():
            if edges[q] > 0.0:
                target = self._newton_target(evaluator, evaluation, w, edges, FIRST_RATIO)
            else:
                target = unit_weight(len(w), q)
            return self._iterate_at(evaluator, target), math.inf

        target = self._newton_target(evaluator, evaluation, w, edges)
        slope, largest_slope = float(edges @ (target - w)), float(edges[q] - edges @ w)
        # Theorem A bounds the gain of this step, for the margins of two hypotheses differ by at most 2.
        step_size = min(evaluator.strong_convexity(evaluation.level) * largest_slope / 4.0, 1.0)
        best, value = self._line_search(evaluator, evaluation, w, target - w, slope)
        if value < evaluation.weight_function.dual_objective + 0.5 * step_size * largest_slope and step_size > 0.0:
            step = evaluator.iterate(self.splits, integer_weights(w + step_size * (unit_weight(len(w), q) - w)))
            if (short_value := evaluator.weight_function(step, evaluation.level).dual_objective) > value:
                best, value = step, short_value
        return best, value

    def _step_to_level(
        self, evaluator: DualEvaluator, evaluation: Evaluation, level: int
    ) -> tuple[Iterate | None, float]:
        """Return the iterate after a step to the optimum of a lower level, and its D; None if D falls.

        At half of the level's entropy, the margins Uw - theta of the optimum halve if d stays. So the quadratic model
        is that of this d, with the margins divided by the ratio of the entropies. At d(w) of the lower level, Newton
        steps take several evaluations for the same.
        """
        w, ratio = self._weights(evaluation), 2.0 ** (evaluation.level - level)
        target = self._newton_target(evaluator, evaluation, w, self._gradient(evaluation), ratio)
        trial, iterate, weight_function = (
            self._iterate_at(evaluator, target),
            evaluation.iterate,
            evaluation.weight_function,
        )
        value = self._dual_objective(trial, evaluator.weight_function(trial, level).dual_objective)
        # The bins of the present level are narrow enough for a value of D, which has only errors of second order.
        for start_value in (evaluator.dual_objective_bound, evaluator.dual_objective):
            if value > self._dual_objective(iterate, start_value(weight_function, level)):
                return trial, value
        return None, -math.inf

    def _newton_target(
        self,
        evaluator: DualEvaluator,
        evaluation: Evaluation,
        w: HypothesisVector,
        slopes: HypothesisVector,
        ratio: float = 1.0,
    ) -> HypothesisVector:
        """Return the maximizer of the quadratic model of D at w, of the program with `ratio` times less entropy."""

        def curvature(columns: Int[Array, " p"]) -> Float[Array, "p p"] | StumpCurvature:
            iterate, splits = evaluation.iterate, self._splits_of(columns)
            return evaluator.curvature(iterate, evaluation.weight_function, splits, self._spread)

        # Predicted edges choose columns that enter whatever their edges are, and edges differ by at most 2.
        has_predictions = self.rows.n_rows >= MIN_PREDICTED_ROWS and w.any()
        tolerance = 2.0 if has_predictions else EDGE_TOL_FRACTION * self.epsilon
        return newton_target(w, slopes, tolerance, curvature, ratio)

    def _splits_of(self, columns: Int[Array, " p"]) -> list[Split]:
        """Return some columns of the pool."""
        return [self.splits[k] for k in columns.tolist()]

    def _weights(self, evaluation: Evaluation) -> HypothesisVector:
        """Return the weights of the program, 0 for the columns that joined later."""
        return evaluation.iterate.weight_sum * self.padded(evaluation.iterate.integer_weights) / MARGIN_SCALE

    def _iterate_at(self, evaluator: DualEvaluator, w: HypothesisVector) -> Iterate:
        """Return weights of the program with their margins."""
        return evaluator.iterate(self.splits, integer_weights(w))

    def _dual_objective(self, iterate: Iterate, value: float) -> float:
        """Return D of the program from -F*(-Uw)."""
        return value

    def _gradient(self, evaluation: Evaluation) -> HypothesisVector:
        """Return the gradient of D of the program with respect to the weights of the pool."""
        return self.edges(evaluation)

    def _line_search(
        self,
        evaluator: DualEvaluator,
        evaluation: Evaluation,
        w: HypothesisVector,
        direction: HypothesisVector,
        slope: float,
    ) -> tuple[Iterate | None, float]:
        """Return the iterate after a step along a direction that increases D, and D; None and the old D otherwise."""
        start_value = self._dual_objective(evaluation.iterate, evaluation.weight_function.dual_objective)
        length = first_length = self._choose_constants(evaluation)[0]
        resolution = _resolution(evaluation)
        for _ in range(MAX_BACKTRACKS if slope > 0.0 else 0):
            trial = self._iterate_at(evaluator, w + length * direction)
            value = self._dual_objective(trial, evaluator.weight_function(trial, evaluation.level).dual_objective)
            if length == first_length:
                # A parabola through both values, with this slope, has this gain at length 1.
                self._adapt_spread(
                    1.0 - (1.0 - (value - start_value) / (length * slope)) / length,
                    evaluator.strong_convexity(evaluation.level) / evaluation.iterate.weight_sum,
                )
            if value >= start_value + SUFFICIENT_INCREASE * length * slope:
                return trial, value
            if length * slope < resolution:
                if self._is_at_round_limit(evaluator.rows is self.rows):
                    break
                # Values of D are too coarse for this step, so the slope at the end of the step decides.
                end_slope = float(self._gradient(self._evaluate(evaluator, trial, evaluation.level)) @ direction)
                if end_slope >= -MAX_END_SLOPE * slope:
                    return trial, max(value, start_value)
                length *= float(np.clip(slope / (slope - end_slope), 0.1, 0.9))
                continue
            # The maximizer of the parabola with the slope at the start through both values.
            shortfall = start_value + length * slope - value
            length *= float(np.clip(0.5 * length * slope / shortfall, 0.1, 0.5))
        return None, start_value

    def _adapt_spread(self, gain: float, min_spread: float) -> None:
        """Set the curvature spread of the next Hessian by the relative gain of a full step.

        The smallest spread except 0 is the difference of margins that multiplies an example weight by e.
        """
        if gain < POOR_GAIN:
            self._spread = min(max(SPREAD_INCREASE * self._spread, min_spread), 1.0)
        elif gain > GOOD_GAIN:
            decrease = LARGE_SPREAD_DECREASE if gain > LARGE_GAIN else SPREAD_DECREASE
            self._spread = self._spread / decrease if self._spread > 0.5 * min_spread else 0.0

    def padded(self, weights: Int[Array, " t"]) -> Int[Array, " u"]:
        """Return weights of all columns, 0 for the columns that joined later."""
        return np.concatenate([weights, np.zeros(len(self.splits) - len(weights), weights.dtype)])


def _resolution(evaluation: Evaluation) -> float:
    """Return the smallest significant difference of values of D."""
    return RESOLUTION * evaluation.weight_function.grid.bin_width * evaluation.iterate.weight_sum


def certified_reason(problem: Problem) -> str:
    """Return the reason why a run ends whose bounds are within epsilon."""
    text = f"within epsilon = {problem.epsilon:g} of the best of the class"
    return f"{StopReason.CERTIFIED}: the {problem.measure} is {text}"


def integer_weights(w: HypothesisVector) -> Int[Array, " t"]:
    """Round weights to integers of sum 2^30, by the method of largest remainders; w is normalized first."""
    x = np.maximum(w, 0.0)
    x *= MARGIN_SCALE / x.sum()
    W = np.floor(x).astype(np.int64)
    deficit = MARGIN_SCALE - int(W.sum())
    W[np.argsort(W - x, kind="stable")[:deficit]] += 1
    return W
