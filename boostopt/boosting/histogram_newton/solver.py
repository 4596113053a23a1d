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
from boostopt.boosting.column_count import at_least
from boostopt.boosting.histogram_newton.evaluator import Look, Looks, Seen
from boostopt.boosting.histogram_newton.solver_state import Ends, Glance, Reached, Stand, below
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import Problem
from boostopt.boosting.run.interrupts import Interrupts
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import alone
from boostopt.boosting.updates.newton_update import OVERSHOT, SOLVED, USEFUL, newton_target
from boostopt.errors import reason_of, require_not_none
from boostopt.objectives.exact import ExactObjective
from boostopt.objectives.margin_histogram import WeightFunction
from boostopt.objectives.upper_bound import UpperBound, best_direction
from boostopt.oracles.top_k import top_k_groups
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MARGIN_SCALE
from boostopt.rows.row_block import Split

SAMPLES, TIMES = (5_000, 20_000, 200_000), 4
"""About so many rows are looked at first, where there are at least so many times as many."""

TOLD = 1.5
"""Gap of a sample of n rows, times the root of n, below which it tells no more: so much its edges differ by chance."""

COLUMNS, GROWTH = 16, 0.1
"""Hypotheses that join after a look at most: so many at least, or as a share of those collected."""

RISES, SHORTER = 0.1, 6
"""The share of what the slope promises that D must rise by; else the step is made shorter, so often at most."""

DOUBT = 0.02
"""Width of a bucket, times this, of which values of D do not tell: the slope at the end of the step does, by a look."""

POOR, WIDER, FINE, NARROWER = 0.1, 4.0, 0.35, 1.4
"""A full step that gains less than the first share of what the slope promises, half of which is what a model that fits
gains, makes the curvature that of margins so many times further away; one that gains more than the third share, nearer.
"""

PATIENCE = 5
"""Looks in a row in which D has not risen as far as values tell, after which the level ends."""

STALLED = 100
"""Looks in which the gap over the class has fallen by less than a tenth, after which whole numbers tell no more."""


class Looking:
    """A run of looks.

    Parameters
    ----------
    problem
        What is boosted.
    rows
        The examples.
    aim
        What is told of them.
    reflexive
        Whether negations belong to the class.
    options
        Hypotheses that join after a look, and looks at all rows after which the run ends all the same.
    deadline
        When time is up.
    show
        What is called with the line of each look at all rows.
    store
        What is called with what has been reached before each look at all rows; None for nothing.
    reached
        From where the looks go on; None for the beginning.

    Attributes
    ----------
    splits
        The hypotheses collected.
    ends
        The certificate.
    reason
        Why the run ended.
    glances
        The looks.
    level
        That of the program that is next.
    kept
        The weights at each look at all rows.
    """

    problem: Problem
    rows: BinnedRows
    aim: ExactObjective
    reflexive: bool
    show: Callable[[Glance], None]
    store: Callable[[Reached], None] | None
    most: int | None
    columns: int
    level: int

    def __init__(
        self,
        problem: Problem,
        rows: BinnedRows,
        aim: ExactObjective,
        reflexive: bool,
        options: BoostOptions,
        deadline: Deadline,
        show: Callable[[Glance], None],
        store: Callable[[Reached], None] | None = None,
        reached: Reached | None = None,
    ) -> None:
        self.problem, self.rows, self.aim, self.reflexive = problem, rows, aim, reflexive
        self.epsilon: float = problem.epsilon / aim.unit
        self.show, self.store = show, store
        self.most, self.columns = options.max_rounds, at_least(options.columns_per_round, COLUMNS)
        self.deadline = deadline
        self.splits: list[Split] = list[Split]() if reached is None else list(reached.splits)
        self.glances: list[Glance] = list[Glance]() if reached is None else list(reached.glances)
        self.kept: list[Float[Array, " _"]] = list[Float[Array, " _"]]() if reached is None else list(reached.kept)
        self.ends: Ends = Ends() if reached is None else reached.ends
        self.reason: str = ""
        self.level, self._begun = problem.levels, reached
        self._stand = Stand(self.weights, self.level) if reached is None else reached.stand
        self._gamma, self._stage, self._spread = self._stand.gamma, self._stand.stage, self._stand.spread
        self._known, self._places = set(self.splits), [rows.threshold_of(split) for split in self.splits]
        self._began = time.perf_counter() - (self.glances[-1].seconds if self.glances else 0.0)

    def run(self) -> None:
        """Look until both ends are near enough, or a limit is reached, or the user stops."""
        with Interrupts() as interrupts:
            try:
                self._over_all(interrupts)
            except Exception as failure:
                if not self.rounds:
                    raise
                # What was reached is not thrown away: its ends hold, the lower one but for the width of a bucket.
                told = f"{type(failure).__name__}: {reason_of(failure)}"
                failed = f"{StopReason.FAILED_AFTER_PASSES} {self.rounds} looks at all rows: {told}"
                self.reason = f"{self.reason}; {failed}" if self.reason else failed
                warnings.warn(f"the run {failed}. The run ends with the looks before.", RuntimeWarning, stacklevel=3)

    def _over_all(self, interrupts: Interrupts) -> None:
        """Look at samples, at all rows, and for the soft margin itself."""
        for size in SAMPLES if self._begun is None else ():
            if self.rows.n_rows >= TIMES * size:
                self._over(Looks(self.problem, self.rows.stride(self.rows.n_rows // size), self.aim), interrupts)
        looks = Looks(self.problem, self.rows, self.aim)
        last, W = self._over(looks, interrupts, self._begun), require_not_none(self.ends.W, "weights")
        # Margins of the best weights are as long as the rows: they are made again unless these were the last.
        kept = last.kept if last.W is W else self.rows.margins(self.splits[: len(W)], W)
        best = looks.aim.best_lower_bound(self.rows, kept)
        self.ends = replace(self.ends, lower=max(self.ends.lower, best))

    @property
    def reached(self) -> Reached:
        """What looks at all rows have reached."""
        return Reached(tuple(self.splits), self._stand, self.ends, tuple(self.glances), tuple(self.kept))

    @property
    def rounds(self) -> int:
        """Looks at all rows."""
        return len(self.kept)

    @property
    def weights(self) -> Int[Array, " t"]:
        """The weights of all hypotheses, whole numbers: those of the best soft margin; none before the first."""
        return self._grown(np.zeros(0, np.int64) if self.ends.W is None else self.ends.W)

    def _over(self, looks: Looks, interrupts: Interrupts, reached: Reached | None = None) -> Seen:
        """Look at some rows, from where others have come, with the weights that they gave, and return the last look."""
        stand = Stand(self.weights, self.level, self.ends.total) if reached is None else reached.stand
        if reached is None:
            self.ends = Ends()
        self._gamma, self._stage, self._spread = stand.gamma, stand.stage, stand.spread
        seen = looks.at(self.splits[: len(stand.W)], stand.W, stand.total)
        at_all = looks.rows is self.rows
        while True:
            if at_all:
                self._stand = stand = replace(stand, gamma=self._gamma, stage=self._stage, spread=self._spread)
                if self.store is not None:
                    self.store(self.reached)
            level = stand.level
            look = self._looked(looks, seen, level)
            stand = replace(stand, count=stand.count + 1)
            if reason := self._end(look, at_all, interrupts):
                self.reason = reason
                return seen
            if stand.count == 1 and self._level(seen) > level:
                stand = replace(stand, level=level + 1)  # a sample was more content than more rows are
                continue
            solved = self._gap(look) <= SOLVED * self.epsilon * 2.0**level
            new = self._joined(look)
            moved, value = self._moved(looks, look) if stand.waited < PATIENCE or new else (None, -math.inf)
            if self.ends.gap < 0.9 * stand.least:
                stand = replace(stand, least=self.ends.gap, nearer=stand.count)
            if (moved is None and level == 0 and not new) or stand.count - stand.nearer > STALLED:
                self.reason = StopReason.WHOLE_NUMBERS_EXHAUSTED.value
                return look.seen
            if moved is not None:
                seen = moved
            else:
                seen.W = self._grown(seen.W)
            self.level = min(max(level - 1, 0) if solved or moved is None else level, self._level(seen))
            risen = value > self._value(look.seen, look.law) + RISES * _doubt(look)
            waited = 0 if risen or self.level < level else stand.waited + 1
            stand = replace(stand, W=seen.W, level=self.level, total=seen.total, waited=waited)

    def _looked(self, looks: Looks, seen: Seen, level: int) -> Look:
        """Ask for the edges of the class, and note both ends."""
        law, before = looks.law(seen, level), time.perf_counter()
        edges = looks.edges(seen, law)
        seconds = time.perf_counter() - before
        look = Look(seen, level, law, edges, best_direction(edges, self.reflexive))
        if seen.W.any():
            self.ends = self.ends.risen(seen)
        splits = tuple(self.splits[: len(seen.W)])
        proof = UpperBound(
            look.largest, law.regularizer_bound, splits, seen.W, law.grid, law.integer_weights, law.normalizer
        )
        self.ends, scale = self.ends.lowered(proof), self.aim.unit
        glance = Glance(
            looks.rows.n_rows,
            len(seen.W),
            int(np.count_nonzero(seen.W)),
            level,
            scale * float(proof.edge),
            scale * self._value(seen, law),
            below(scale * self.ends.lower),
            -below(-scale * require_not_none(self.ends.proof, "a proof").value),
            seconds,
            time.perf_counter() - self._began,
        )
        self.glances.append(glance)
        if looks.rows is self.rows and seen.W.any():
            self.kept.append(seen.total * look.w)
            self.show(glance)
        return look

    def _end(self, look: Look, at_all: bool, interrupts: Interrupts) -> str:
        """Return why a run of looks ends, "" if it goes on."""
        if not look.seen.W.any():
            return ""
        if not at_all and self.ends.gap <= TOLD / math.sqrt(look.seen.buckets.counts.sum()):
            return StopReason.SAMPLE_EXHAUSTED.value
        if self.ends.gap <= self.epsilon:
            measure = self.problem.measure
            within = f"within epsilon = {self.problem.epsilon:g} of the best of the class"
            return f"{StopReason.CERTIFIED}: the {measure} is {within}"
        if interrupts.wanted:
            return StopReason.INTERRUPTED.value
        if self.deadline.passed:
            return StopReason.TIME_LIMIT.value
        limited = at_all and self.most is not None and self.rounds >= self.most
        return StopReason.ROUND_LIMIT.value if limited else ""

    def _level(self, seen: Seen) -> int:
        """Return the level that the gap of some weights over the class asks for, as in `newton`."""
        gap = self.ends.upper - float(seen.lower)
        return self.problem.level_of(gap) if gap > 0.0 else 0

    def _gap(self, look: Look) -> float:
        """Return the gap of the program of a look over the class."""
        return float(look.largest) + look.law.regularizer_value - look.law.dual_objective

    def _joined(self, look: Look) -> bool:
        """Take the best hypotheses of some features in that may be of use, and return whether there are any.

        At first a constant one is taken alone where it is as good as any, so far as epsilon tells.
        """
        mine, before, reach = self._edges(look), len(self.splits), look.reach
        least = float(mine.max(initial=-2.0)) - USEFUL * self.epsilon * 2.0**look.level
        enough = self.rows.has_constant_feature and reach[-1] >= reach.max() - self.epsilon * look.law.normalizer
        first = [len(reach) - 1] if enough and not before else self._leading(reach)
        for i in first:
            if before and reach[i] / look.law.normalizer < least:
                break
            split = self.rows.split(i, -1 if look.edges[i] < 0 and self.reflexive else 1)
            if split not in self._known:
                self._known.add(split)
                self.splits.append(split)
                self._places.append(i)
        return len(self.splits) > before

    def _leading(self, reach: Int[Array, " thresholds"]) -> list[int]:
        """Return the thresholds of the largest edges, each of another feature or range between thresholds collected."""
        groups = np.unique(np.concatenate([self.rows.starts, np.array(self._places, self.rows.starts.dtype)]))
        return top_k_groups(reach, groups, max(self.columns, int(GROWTH * len(self.splits))))

    def _edges(self, look: Look) -> Float[Array, " t"]:
        """Return the edges of the hypotheses collected."""
        signs = np.array([split.sign for split in self.splits], np.int64)
        return signs * look.edges[self._places] / look.law.normalizer

    def _moved(self, looks: Looks, look: Look) -> tuple[Seen | None, float]:
        """Return the margins after a Newton step at least as good as a corrective one, and D; None where it falls."""
        w, edges = self._grown(look.seen.W) / MARGIN_SCALE, self._edges(look)
        q = int(edges.argmax())
        if not w.any():
            return looks.at(self.splits, whole(alone(len(w), q))), math.inf

        def curved(part: Int[Array, " p"]) -> Float[Array, "p p"]:
            return looks.curvature(look.seen, look.law, [self.splits[k] for k in part.tolist()], self._spread)

        target = newton_target(w, edges, USEFUL * self.epsilon, curved)
        slope, steepest = float(edges @ (target - w)), float(edges[q] - edges @ w)
        # The step of theorem A: the margins of two hypotheses differ by 2 at most.
        share = min(looks.softness(look.level) * steepest / 4.0, 1.0)
        best, value = self._searched(looks, look, w, target - w, slope)
        if value < look.law.dual_objective + 0.5 * share * steepest and share > 0.0:
            step = looks.at(self.splits, whole(w + share * (alone(len(w), q) - w)))
            if (its := looks.law(step, look.level).dual_objective) > value:
                best, value = step, its
        return best, value

    def _at(self, looks: Looks, w: Float[Array, " t"]) -> Seen:
        """Return the margins of weights of the program."""
        return looks.at(self.splits, whole(w))

    def _value(self, seen: Seen, law: WeightFunction) -> float:
        """Return D of the program."""
        return law.dual_objective

    def _slopes(self, look: Look) -> Float[Array, " t"]:
        """Return the gradient of D of the program."""
        return self._edges(look)

    def _searched(
        self, looks: Looks, look: Look, w: Float[Array, " t"], way: Float[Array, " t"], slope: float
    ) -> tuple[Seen | None, float]:
        """Return the margins after as much of a way as D rises on, and D there."""
        before, length = self._value(look.seen, look.law), 1.0
        doubt = _doubt(look)
        for _ in range(SHORTER if slope > 0.0 else 0):
            seen = self._at(looks, w + length * way)
            value = self._value(seen, looks.law(seen, look.level))
            if length == 1.0:
                self._adapt((value - before) / slope, looks.softness(look.level) / look.seen.total)
            if value >= before + RISES * length * slope:
                return seen, value
            if length * slope < doubt:
                at_end = float(self._slopes(self._looked(looks, seen, look.level)) @ way)
                if at_end >= -OVERSHOT * slope:
                    return seen, max(value, before)
                length *= float(np.clip(slope / (slope - at_end), 0.1, 0.9))
                continue
            # The maximizer of the parabola with that slope through both values.
            below = before + length * slope - value
            length *= float(np.clip(0.5 * length * slope / below, 0.1, 0.5))
        return None, before

    def _adapt(self, gain: float, least: float) -> None:
        """Set the spread of the next curvature, by the share of its promise that a full step has gained.

        The least one but 0 is the difference of margins that makes the weights of examples e times as large.
        """
        if gain < POOR:
            self._spread = min(max(WIDER * self._spread, least), 1.0)
        elif gain > FINE:
            self._spread = self._spread / NARROWER if self._spread > 0.5 * least else 0.0

    def _grown(self, W: Int[Array, " t"]) -> Int[Array, " u"]:
        """Return weights of all hypotheses, 0 for what has joined since."""
        return np.concatenate([W, np.zeros(len(self.splits) - len(W), W.dtype)])


def _doubt(look: Look) -> float:
    """Return the difference of values of D below which they tell nothing."""
    return DOUBT * look.law.grid.bin_width * look.seen.total


def whole(w: Float[Array, " t"]) -> Int[Array, " t"]:
    """Return weights of sum 1 as whole numbers of sum 2^30: the largest remainders are rounded up."""
    x = np.maximum(w, 0.0)
    x *= MARGIN_SCALE / x.sum()
    W = np.floor(x).astype(np.int64)
    short = MARGIN_SCALE - int(W.sum())
    W[np.argsort(W - x, kind="stable")[:short]] += 1
    return W
