"""Newton steps where the rows only ever answer one question: what these weights make of them.

A look is a pass over the rows. For smooth F the weights d of the examples are a function of the margins, and these of
the weights w of the hypotheses, so that nothing of the examples' number is kept but their margins, as whole numbers.
From sums of whole numbers come, exactly: the soft margin of w from below, a distribution d that is feasible, the edges
of the whole class under it, and so both ends of the certificate; and what a Newton step needs.

    look at w      margins -> buckets -> soft margin, d(w), D(w)
                   edges of the class under d(w)                   stop if the ends are near enough
                   curvature among the hypotheses
    step           as in `newton`; another look tells whether D has risen, else it is made shorter

Nested samples come first: they decide where the looks at all rows begin, and nothing that is claimed.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.backends.base import Deadline
from boostopt.boosting.column_count import columns_or_minimum
from boostopt.boosting.histogram_newton.evaluator import DualEvaluator, Evaluation, Iterate
from boostopt.boosting.histogram_newton.solver_state import (
    EvaluationRecord,
    ExactBounds,
    Snapshot,
    SolverState,
    float_below,
)
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import Problem
from boostopt.boosting.run.interrupts import Interrupts
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import unit_weight
from boostopt.boosting.updates.newton_update import EDGE_TOL_FRACTION, MAX_END_SLOPE, SOLVED_GAP_FRACTION, newton_target
from boostopt.errors import reason_of, require_not_none
from boostopt.objectives.exact import ExactObjective
from boostopt.objectives.margin_histogram import WeightFunction
from boostopt.objectives.upper_bound import UpperBound, best_direction
from boostopt.oracles.top_k import top_k_groups
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MARGIN_SCALE
from boostopt.rows.row_block import Split

SAMPLE_SIZES, MIN_ROWS_PER_SAMPLED_ROW = (5_000, 20_000, 200_000), 4
"""About so many rows are looked at first, where there are at least so many times as many."""

SAMPLING_ERROR = 1.5
"""Gap of a sample of n rows, times the root of n, below which it tells no more: so much its edges differ by chance."""

MIN_COLUMNS, POOL_GROWTH = 16, 0.1
"""Hypotheses that join after a look at most: so many at least, or as a share of those collected."""

SUFFICIENT_INCREASE, MAX_BACKTRACKS = 0.1, 6
"""The share of what the slope promises that D must rise by; else the step is made shorter, so often at most."""

RESOLUTION = 0.02
"""Width of a bucket, times this, of which values of D do not tell: the slope at the end of the step does, by a look."""

POOR_GAIN, SPREAD_INCREASE, GOOD_GAIN, SPREAD_DECREASE = 0.1, 4.0, 0.35, 1.4
"""A full step that gains less than the first share of what the slope promises, half of which is what a model that fits
gains, makes the curvature that of margins so many times further away; one that gains more than the third share, nearer.
"""

MAX_STALLED_ITERATIONS = 5
"""Looks in a row in which D has not risen as far as values tell, after which the level ends."""

MAX_ITERATIONS_PER_GAP_DECREASE = 100
"""Looks in which the gap over the class has fallen by less than a tenth, after which whole numbers tell no more."""


class HistogramNewton:
    """A run of looks.

    Parameters
    ----------
    problem
        What is boosted.
    rows
        The examples.
    objective
        What is told of them.
    symmetric
        Whether negations belong to the class.
    options
        Hypotheses that join after a look, and looks at all rows after which the run ends all the same.
    deadline
        When time is up.
    on_iteration
        What is called with the line of each look at all rows.
    on_snapshot
        What is called with what has been reached before each look at all rows; None for nothing.
    snapshot
        From where the looks go on; None for the beginning.

    Attributes
    ----------
    pool
        The hypotheses collected.
    bounds
        The certificate.
    stop_reason
        Why the run ended.
    log
        The looks.
    level
        That of the program that is next.
    kept
        The weights at each look at all rows.
    """

    problem: Problem
    rows: BinnedRows
    objective: ExactObjective
    symmetric: bool
    on_iteration: Callable[[EvaluationRecord], None]
    on_snapshot: Callable[[Snapshot], None] | None
    max_iterations: int | None
    columns_per_iteration: int
    level: int

    def __init__(
        self,
        problem: Problem,
        rows: BinnedRows,
        aim: ExactObjective,
        reflexive: bool,
        options: BoostOptions,
        deadline: Deadline,
        show: Callable[[EvaluationRecord], None],
        store: Callable[[Snapshot], None] | None = None,
        reached: Snapshot | None = None,
    ) -> None:
        self.problem, self.rows, self.objective, self.symmetric = problem, rows, aim, reflexive
        self.epsilon: float = problem.epsilon / aim.unit
        self.on_iteration, self.on_snapshot = show, store
        self.max_iterations, self.columns_per_iteration = (
            options.max_rounds,
            columns_or_minimum(options.columns_per_round, MIN_COLUMNS),
        )
        self.deadline = deadline
        self.splits: list[Split] = list[Split]() if reached is None else list(reached.pool)
        self.log: list[EvaluationRecord] = list[EvaluationRecord]() if reached is None else list(reached.log)
        self.weights_by_iteration: list[Float[Array, " _"]] = (
            list[Float[Array, " _"]]() if reached is None else list(reached.weights_by_iteration)
        )
        self.bounds: ExactBounds = ExactBounds() if reached is None else reached.bounds
        self.stop_reason: str = ""
        self.level, self._snapshot_at_start = problem.max_level, reached
        self._state = SolverState(self.best_weights, self.level) if reached is None else reached.state
        self._edge_bound, self._gap_at_last_increase, self._spread = (
            self._state.gamma,
            self._state.stage,
            self._state.spread,
        )
        self._known, self._thresholds = set(self.splits), [rows.threshold_of(split) for split in self.splits]
        self._began = time.perf_counter() - (self.log[-1].seconds if self.log else 0.0)

    def run(self) -> None:
        """Look until both ends are near enough, or a limit is reached, or the user stops."""
        with Interrupts() as interrupts:
            try:
                self._solve_samples_then_all(interrupts)
            except Exception as failure:
                if not self.n_iterations:
                    raise
                # What was reached is not thrown away: its ends hold, the lower one but for the width of a bucket.
                told = f"{type(failure).__name__}: {reason_of(failure)}"
                failed = f"{StopReason.FAILED_AFTER_PASSES} {self.n_iterations} looks at all rows: {told}"
                self.stop_reason = f"{self.stop_reason}; {failed}" if self.stop_reason else failed
                warnings.warn(f"the run {failed}. The run ends with the looks before.", RuntimeWarning, stacklevel=3)

    def _solve_samples_then_all(self, interrupts: Interrupts) -> None:
        """Look at samples, at all rows, and for the soft margin itself."""
        for size in SAMPLE_SIZES if self._snapshot_at_start is None else ():
            if self.rows.n_rows >= MIN_ROWS_PER_SAMPLED_ROW * size:
                self._solve_on(
                    DualEvaluator(self.problem, self.rows.stride(self.rows.n_rows // size), self.objective), interrupts
                )
        looks = DualEvaluator(self.problem, self.rows, self.objective)
        last, W = (
            self._solve_on(looks, interrupts, self._snapshot_at_start),
            require_not_none(self.bounds.integer_weights, "weights"),
        )
        # Margins of the best weights are as long as the rows: they are made again unless these were the last.
        kept = last.margins if last.integer_weights is W else self.rows.margins(self.splits[: len(W)], W)
        best = looks.aim.best_lower_bound(self.rows, kept)
        self.bounds = replace(self.bounds, lower=max(self.bounds.lower, best))

    @property
    def snapshot(self) -> Snapshot:
        """What looks at all rows have reached."""
        return Snapshot(tuple(self.splits), self._state, self.bounds, tuple(self.log), tuple(self.weights_by_iteration))

    @property
    def n_iterations(self) -> int:
        """Looks at all rows."""
        return len(self.weights_by_iteration)

    @property
    def best_weights(self) -> Int[Array, " t"]:
        """The weights of all hypotheses, whole numbers: those of the best soft margin; none before the first."""
        return self.padded(
            np.zeros(0, np.int64) if self.bounds.integer_weights is None else self.bounds.integer_weights
        )

    def _solve_on(self, looks: DualEvaluator, interrupts: Interrupts, reached: Snapshot | None = None) -> Iterate:
        """Look at some rows, from where others have come, with the weights that they gave, and return the last look."""
        stand = SolverState(self.best_weights, self.level, self.bounds.weight_sum) if reached is None else reached.state
        if reached is None:
            self.bounds = ExactBounds()
        self._edge_bound, self._gap_at_last_increase, self._spread = stand.gamma, stand.stage, stand.spread
        seen = looks.iterate(self.splits[: len(stand.W)], stand.W, stand.total)
        at_all = looks.rows is self.rows
        while True:
            if at_all:
                self._state = stand = replace(
                    stand, gamma=self._edge_bound, stage=self._gap_at_last_increase, spread=self._spread
                )
                if self.on_snapshot is not None:
                    self.on_snapshot(self.snapshot)
            level = stand.level
            look = self._evaluate(looks, seen, level)
            stand = replace(stand, count=stand.count + 1)
            if reason := self._reason_to_stop(look, at_all, interrupts):
                self.stop_reason = reason
                return seen
            if stand.count == 1 and self._level_for(seen) > level:
                stand = replace(stand, level=level + 1)  # a sample was more content than more rows are
                continue
            solved = self._program_gap(look) <= SOLVED_GAP_FRACTION * self.epsilon * 2.0**level
            new = self._add_columns(look)
            moved, value = (
                self._step(looks, look) if stand.waited < MAX_STALLED_ITERATIONS or new else (None, -math.inf)
            )
            if self.bounds.gap < 0.9 * stand.least:
                stand = replace(stand, least=self.bounds.gap, nearer=stand.count)
            if (
                moved is None and level == 0 and not new
            ) or stand.count - stand.nearer > MAX_ITERATIONS_PER_GAP_DECREASE:
                self.stop_reason = StopReason.WHOLE_NUMBERS_EXHAUSTED.value
                return look.iterate
            if moved is not None:
                seen = moved
            else:
                seen.integer_weights = self.padded(seen.integer_weights)
            self.level = min(max(level - 1, 0) if solved or moved is None else level, self._level_for(seen))
            risen = value > self._dual_objective(
                look.iterate, look.weight_function
            ) + SUFFICIENT_INCREASE * _resolution(look)
            waited = 0 if risen or self.level < level else stand.waited + 1
            stand = replace(stand, W=seen.integer_weights, level=self.level, total=seen.weight_sum, waited=waited)

    def _evaluate(self, looks: DualEvaluator, seen: Iterate, level: int) -> Evaluation:
        """Ask for the edges of the class, and note both ends."""
        law, before = looks.weight_function(seen, level), time.perf_counter()
        edges = looks.class_edges(seen, law)
        seconds = time.perf_counter() - before
        look = Evaluation(seen, level, law, edges, best_direction(edges, self.symmetric))
        if seen.integer_weights.any():
            self.bounds = self.bounds.with_lower(seen)
        splits = tuple(self.splits[: len(seen.integer_weights)])
        proof = UpperBound(
            look.largest_edge,
            law.regularizer_bound,
            splits,
            seen.integer_weights,
            law.grid,
            law.integer_weights,
            law.normalizer,
        )
        self.bounds, scale = self.bounds.with_upper(proof), self.objective.unit
        glance = EvaluationRecord(
            looks.rows.n_rows,
            len(seen.integer_weights),
            int(np.count_nonzero(seen.integer_weights)),
            level,
            scale * float(proof.edge),
            scale * self._dual_objective(seen, law),
            float_below(scale * self.bounds.lower),
            -float_below(-scale * require_not_none(self.bounds.upper_witness, "a proof").value),
            seconds,
            time.perf_counter() - self._began,
        )
        self.log.append(glance)
        if looks.rows is self.rows and seen.integer_weights.any():
            self.weights_by_iteration.append(seen.weight_sum * look.w)
            self.on_iteration(glance)
        return look

    def _reason_to_stop(self, look: Evaluation, at_all: bool, interrupts: Interrupts) -> str:
        """Return why a run of looks ends, "" if it goes on."""
        if not look.iterate.integer_weights.any():
            return ""
        if not at_all and self.bounds.gap <= SAMPLING_ERROR / math.sqrt(look.iterate.histogram.counts.sum()):
            return StopReason.SAMPLE_EXHAUSTED.value
        if self.bounds.gap <= self.epsilon:
            measure = self.problem.measure
            within = f"within epsilon = {self.problem.epsilon:g} of the best of the class"
            return f"{StopReason.CERTIFIED}: the {measure} is {within}"
        if interrupts.requested:
            return StopReason.INTERRUPTED.value
        if self.deadline.passed:
            return StopReason.TIME_LIMIT.value
        limited = at_all and self.max_iterations is not None and self.n_iterations >= self.max_iterations
        return StopReason.ROUND_LIMIT.value if limited else ""

    def _level_for(self, seen: Iterate) -> int:
        """Return the level that the gap of some weights over the class asks for, as in `newton`."""
        gap = self.bounds.upper - float(seen.lower_bound)
        return self.problem.level_for_gap(gap) if gap > 0.0 else 0

    def _program_gap(self, look: Evaluation) -> float:
        """Return the gap of the program of a look over the class."""
        return float(look.largest_edge) + look.weight_function.regularizer_value - look.weight_function.dual_objective

    def _add_columns(self, look: Evaluation) -> bool:
        """Take the best hypotheses of some features in that may be of use, and return whether there are any.

        At first a constant one is taken alone where it is as good as any, so far as epsilon tells.
        """
        mine, before, reach = self.edges(look), len(self.splits), look.best_edges
        least = float(mine.max(initial=-2.0)) - EDGE_TOL_FRACTION * self.epsilon * 2.0**look.level
        enough = (
            self.rows.has_constant_feature and reach[-1] >= reach.max() - self.epsilon * look.weight_function.normalizer
        )
        first = [len(reach) - 1] if enough and not before else self.best_thresholds(reach)
        for i in first:
            if before and reach[i] / look.weight_function.normalizer < least:
                break
            split = self.rows.split(i, -1 if look.edges[i] < 0 and self.symmetric else 1)
            if split not in self._known:
                self._known.add(split)
                self.splits.append(split)
                self._thresholds.append(i)
        return len(self.splits) > before

    def best_thresholds(self, reach: Int[Array, " thresholds"]) -> list[int]:
        """Return the thresholds of the largest edges, each of another feature or range between thresholds collected."""
        groups = np.unique(np.concatenate([self.rows.starts, np.array(self._thresholds, self.rows.starts.dtype)]))
        return top_k_groups(reach, groups, max(self.columns_per_iteration, int(POOL_GROWTH * len(self.splits))))

    def edges(self, look: Evaluation) -> Float[Array, " t"]:
        """Return the edges of the hypotheses collected."""
        signs = np.array([split.sign for split in self.splits], np.int64)
        return signs * look.edges[self._thresholds] / look.weight_function.normalizer

    def _step(self, looks: DualEvaluator, look: Evaluation) -> tuple[Iterate | None, float]:
        """Return the margins after a Newton step at least as good as a corrective one, and D; None where it falls."""
        w, edges = self.padded(look.iterate.integer_weights) / MARGIN_SCALE, self.edges(look)
        q = int(edges.argmax())
        if not w.any():
            return looks.iterate(self.splits, integer_weights(unit_weight(len(w), q))), math.inf

        def curved(part: Int[Array, " p"]) -> Float[Array, "p p"]:
            return looks.negative_hessian(
                look.iterate, look.weight_function, [self.splits[k] for k in part.tolist()], self._spread
            )

        target = newton_target(w, edges, EDGE_TOL_FRACTION * self.epsilon, curved)
        slope, steepest = float(edges @ (target - w)), float(edges[q] - edges @ w)
        # The step of theorem A: the margins of two hypotheses differ by 2 at most.
        share = min(looks.strong_convexity(look.level) * steepest / 4.0, 1.0)
        best, value = self._line_search(looks, look, w, target - w, slope)
        if value < look.weight_function.dual_objective + 0.5 * share * steepest and share > 0.0:
            step = looks.iterate(self.splits, integer_weights(w + share * (unit_weight(len(w), q) - w)))
            if (its := looks.weight_function(step, look.level).dual_objective) > value:
                best, value = step, its
        return best, value

    def _iterate_at(self, looks: DualEvaluator, w: Float[Array, " t"]) -> Iterate:
        """Return the margins of weights of the program."""
        return looks.iterate(self.splits, integer_weights(w))

    def _dual_objective(self, seen: Iterate, law: WeightFunction) -> float:
        """Return D of the program."""
        return law.dual_objective

    def _gradient(self, look: Evaluation) -> Float[Array, " t"]:
        """Return the gradient of D of the program."""
        return self.edges(look)

    def _line_search(
        self, looks: DualEvaluator, look: Evaluation, w: Float[Array, " t"], way: Float[Array, " t"], slope: float
    ) -> tuple[Iterate | None, float]:
        """Return the margins after as much of a way as D rises on, and D there."""
        before, length = self._dual_objective(look.iterate, look.weight_function), 1.0
        doubt = _resolution(look)
        for _ in range(MAX_BACKTRACKS if slope > 0.0 else 0):
            seen = self._iterate_at(looks, w + length * way)
            value = self._dual_objective(seen, looks.weight_function(seen, look.level))
            if length == 1.0:
                self._adapt_spread(
                    (value - before) / slope, looks.strong_convexity(look.level) / look.iterate.weight_sum
                )
            if value >= before + SUFFICIENT_INCREASE * length * slope:
                return seen, value
            if length * slope < doubt:
                at_end = float(self._gradient(self._evaluate(looks, seen, look.level)) @ way)
                if at_end >= -MAX_END_SLOPE * slope:
                    return seen, max(value, before)
                length *= float(np.clip(slope / (slope - at_end), 0.1, 0.9))
                continue
            # The maximizer of the parabola with that slope through both values.
            below = before + length * slope - value
            length *= float(np.clip(0.5 * length * slope / below, 0.1, 0.5))
        return None, before

    def _adapt_spread(self, gain: float, least: float) -> None:
        """Set the spread of the next curvature, by the share of its promise that a full step has gained.

        The least one but 0 is the difference of margins that makes the weights of examples e times as large.
        """
        if gain < POOR_GAIN:
            self._spread = min(max(SPREAD_INCREASE * self._spread, least), 1.0)
        elif gain > GOOD_GAIN:
            self._spread = self._spread / SPREAD_DECREASE if self._spread > 0.5 * least else 0.0

    def padded(self, W: Int[Array, " t"]) -> Int[Array, " u"]:
        """Return weights of all hypotheses, 0 for what has joined since."""
        return np.concatenate([W, np.zeros(len(self.splits) - len(W), W.dtype)])


def _resolution(look: Evaluation) -> float:
    """Return the difference of values of D below which they tell nothing."""
    return RESOLUTION * look.weight_function.grid.bin_width * look.iterate.weight_sum


def integer_weights(w: Float[Array, " t"]) -> Int[Array, " t"]:
    """Return weights of sum 1 as whole numbers of sum 2^30: the largest remainders are rounded up."""
    x = np.maximum(w, 0.0)
    x *= MARGIN_SCALE / x.sum()
    W = np.floor(x).astype(np.int64)
    short = MARGIN_SCALE - int(W.sum())
    W[np.argsort(W - x, kind="stable")[:short]] += 1
    return W
