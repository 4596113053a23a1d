"""Newton steps in the weights of the hypotheses: d is a function of w, and so is D, which is concave.

    D(w) = -F*(-Uw),     grad D(w) = U'd(w),     Hess D(w) = -U' (diag(r) - r r' / sum r) U,

r_n being 1 / f_n''(d_n) between the ends of the box, and 0 at them. Off the simplex nothing is subtracted from diag(r).

The quadratic model is maximized over the simplex, and the slope of D along the way to its maximizer says how far to go.
The entropy is as strong as the gap over the class is wide: with eta for the final accuracy from the beginning nearly
all curvature would be that of a few examples. Where F is not smooth the programs are of the formulation that smooths it
for its accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.boosting.problem import Problem
from boostopt.boosting.qp.simplex_qp import simplex_maximizer
from boostopt.boosting.run.state import State
from boostopt.boosting.updates.base import UpdateContext
from boostopt.boosting.updates.corrective import CorrectiveUpdate, short_step_size
from boostopt.errors import require_not_none
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer
from boostopt.rows.margin_matrix import Margins

MAX_END_SLOPE, MAX_BACKTRACKS = 0.3, 6
"""The slope of D at the end of a step may be as steep downwards as this share of what it was upwards at its beginning;
else the step is made shorter, so often at most."""

EDGE_TOL_FRACTION = 0.25
"""Share of the accuracy by which an edge may lie below the best one in use, and its hypothesis take part in a step."""

LEVEL, VALUE = "level", "value"
"""Names, in the memory of a run, of the level of its last program, and of D(w) there."""

SOLVED_GAP_FRACTION = 0.25
"""Share of the accuracy of a level that its program's gap is below when it counts as solved."""

ZERO_WEIGHT = 1e-12
"""Weights below this are 0."""


class Newton(CorrectiveUpdate):
    """A Newton step over the hypotheses in use and those of large edge, at least as good as a corrective step.

    The program is one of a row: at level k eta is smaller by 2^k, and the accuracy that it is for is larger by as much.
    The level is the first one whose accuracy is above the gap over the class, and falls by one when its program is
    solved. Level 0 is the problem itself, and the only one of a page without eta.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._made: dict[int, Regularizer] = {}

    def combined(self, move: UpdateContext) -> State:
        level = self._level(move.state)
        F, U = self.regularizer_at(level), move.pool.margins
        at = F.conjugate_at(-move.state.m)
        w, m = newton_step(F, U, move.weights, move.state.m, at, EDGE_TOL_FRACTION * self.problem.epsilon)
        there = F.conjugate_at(-m)
        its_w, its_m = short_step_weights(F, move, at)
        least = F.conjugate_at(-its_m)
        if there.value > least.value:
            w, m, there = its_w, its_m, least
        memory = {**move.state.memory, LEVEL: float(level), VALUE: -there.value}
        return replace(self.state_at(move, w, m), d=there.d, memory=memory)

    def improved(self, before: State, after: State, rise: float) -> bool:
        """Return whether D has risen, or another program has come."""
        stood, stands = _last_level_and_value(before), _last_level_and_value(after)
        return stood is None or stands is None or stood[0] != stands[0] or stands[1] > stood[1] + rise

    def _level(self, state: State) -> int:
        """Return which program is next, the oracle having answered to d(w) of the last one."""
        gap = state.bounds.upper - state.soft_margin
        level = self.problem.level_for_gap(gap if gap > 0.0 else math.inf)
        before = _last_level_and_value(state)
        if before is None:
            return level
        last, value = before
        # With the largest edge of the class, F(d) - D(w) is the gap of the program.
        solved = (
            state.bounds.edge + (self.regularizer_at(last).value(state.d) - value)
            <= SOLVED_GAP_FRACTION * self.problem.epsilon * 2.0**last
        )
        return min(level, max(last - 1, 0) if solved else last)

    def regularizer_at(self, level: int) -> Regularizer:
        """Return F of a level."""
        if level not in self._made:
            self._made[level] = self.problem.regularizer_at_level(level, self.problem.examples)
        return self._made[level]


def _last_level_and_value(state: State) -> tuple[int, float] | None:
    """Return the level of the last program and D(w) there; None before the first Newton step."""
    level, value = state.memory.get(LEVEL), state.memory.get(VALUE)
    return (int(level), value) if isinstance(level, float) and isinstance(value, float) else None


def newton_step(
    F: Regularizer, U: Margins, w: Float[Array, " t"], m: Float[Array, " N"], at: ConjugatePoint, near: float
) -> tuple[Float[Array, " t"], Float[Array, " N"]]:
    """Return (w, Uw) after a Newton step from w with the margins m, at = F.conjugate_at(-m)."""
    edges = U.edges(at.d)
    target = newton_target(w, edges, near, lambda part: negative_hessian(F, U.take_columns(part), at.d))
    w = w + _step_length(F, m, U.margins(target - w), float(edges @ (target - w))) * (target - w)
    w[w < ZERO_WEIGHT] = 0.0
    w /= w.sum()
    return w, U.margins(w)


def newton_target(
    w: Float[Array, " t"],
    edges: Float[Array, " t"],
    edge_tolerance: float,
    negative_hessian: Callable[[Int[Array, " p"]], Float[Array, "p p"]],
) -> Float[Array, " t"]:
    """Return where the quadratic model of D at w is largest, over the hypotheses that take part.

    These are in use, or their edge is above the best one in use less `edge_tolerance`; `negative_hessian` returns minus their Hessian.
    """
    part = np.flatnonzero((w > 0.0) | (edges >= edges[w > 0.0].max() - edge_tolerance))
    H, target = negative_hessian(part), np.zeros(len(w))
    used = (w[part] > 0.0) | (edges[part] > edges @ w)
    target[part] = simplex_maximizer(H, edges[part] + H @ w[part], used)
    return target


def short_step_weights(
    F: Regularizer, move: UpdateContext, at: ConjugatePoint
) -> tuple[Float[Array, " t"], Float[Array, " N"]]:
    """Return (w, Uw) after the step towards the newest hypothesis whose gain theory bounds."""
    return move.combined(short_step_size(F, move.newest_margins - move.state.m, at.d))


def negative_hessian(F: Regularizer, U: Margins, d: Float[Array, " N"]) -> Float[Array, "t t"]:
    """Return minus the Hessian of D at d = d(w), of the hypotheses of U."""
    terms = require_not_none(F.pointwise(), "a regularizer that is a sum over the examples")
    r = terms.freedom(d)
    inside = np.flatnonzero(r)
    if len(inside) == 0:
        return np.zeros((U.t, U.t))
    free, r = U.take(inside), r[inside]
    if not terms.on_simplex:
        return free.gram(r)
    return centered_gram(free.gram(r), free.edges(r), float(r.sum()))


def centered_gram(gram: Float[Array, "t t"], of_r: Float[Array, " t"], r: float) -> Float[Array, "t t"]:
    """Return U' (diag(r) - r r' / sum r) U of U' diag(r) U, U'r and sum r > 0."""
    less = np.outer(of_r, of_r)
    less /= -r
    less += gram
    return less


def _step_length(F: Regularizer, m: Float[Array, " N"], moves: Float[Array, " N"], slope: float) -> float:
    """Return how far to go from m along `moves`, 1 at most, where D rises with that slope at the beginning; else 0."""
    if slope <= 0.0:
        return 0.0
    length = 1.0
    for _ in range(MAX_BACKTRACKS):
        at_end = float(moves @ F.conjugate_at(-(m + length * moves)).d)
        if at_end >= -MAX_END_SLOPE * slope:
            break
        # D is concave, so that the root of its slope lies before: the secant, kept off the ends.
        length *= float(np.clip(slope / (slope - at_end), 0.1, 0.9))
    return length
