"""Newton steps in the weights of the hypotheses: d is a function of w, and so is D, which is concave.

    D(w) = -F*(-Uw),     grad D(w) = U'd(w),     Hess D(w) = -U' (diag(r) - r r' / sum r) U,

r_n being 1 / f_n''(d_n) between the ends of the box, and 0 at them.

The quadratic model is maximized over the simplex, and the slope of D along the way to its maximizer says how far to go.
The entropy is as strong as the gap over the class is wide: with eta for the final accuracy from the beginning nearly
all curvature would be that of a few examples. Where F is not smooth the programs are of the formulation that smooths it
for its accuracy.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from boostopt.boosting.moves import Move
from boostopt.boosting.problem import Problem
from boostopt.boosting.simplex_qp import simplex_maximizer
from boostopt.boosting.state import State
from boostopt.boosting.updates import Mixing, corrective_weight
from boostopt.errors import needed
from boostopt.margins import Margins
from boostopt.regularizers.base import ConjugatePoint, Regularizer
from boostopt.shapes import Array, Float

OVERSHOT, SHORTER = 0.3, 6
"""The slope of D at the end of a step may be as steep downwards as this share of what it was upwards at its beginning;
else the step is made shorter, so often at most."""

USEFUL = 0.25
"""Share of the accuracy by which an edge may lie below the best one in use, and its hypothesis take part in a step."""

LEVEL = "level"
"""Name, in the memory of a run, of the level of its program."""

SOLVED = 0.25
"""Share of the accuracy of a level that its program's gap is below when it counts as solved."""

IDLE = 1e-12
"""Weights below this are 0."""


class Newton(Mixing):
    """A Newton step over the hypotheses in use and those of large edge, at least as good as a corrective step.

    The program is one of a row: at level k eta is smaller by 2^k, and the accuracy that it is for is larger by as much.
    The level is the first one whose accuracy is above the gap over the class, and falls by one when its program is
    solved. Level 0 is the problem itself, and the only one of a page without eta.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._made: dict[int, Regularizer] = {}

    def mixed(self, move: Move) -> State:
        level = self._level(move.state)
        F, U = self.at_level(level), move.collected.margins
        at = F.conjugate_at(-move.state.m)
        w, m = newton_weights(F, U, move.w, move.state.m, at, USEFUL * self.problem.epsilon)
        there = F.conjugate_at(-m)
        its_w, its_m = corrected_weights(F, move, at)
        least = F.conjugate_at(-its_m)
        if there.value > least.value:
            w, m, there = its_w, its_m, least
        return replace(self.moved(move, w, m), d=there.d, memory={**move.state.memory, LEVEL: float(level)})

    def risen(self, before: State, after: State, rise: float) -> bool:
        """Return whether D has risen, or another program has come."""
        level = after.memory.get(LEVEL)
        if not isinstance(level, float) or before.memory.get(LEVEL) != level:
            return True
        F = self.at_level(int(level))
        return F.conjugate_at(-after.m).value < F.conjugate_at(-before.m).value - rise

    def _level(self, state: State) -> int:
        """Return which program is next, the oracle having answered to d(w) of the last one."""
        gap = state.bounds.upper - state.soft_margin
        epsilon, highest = self.problem.epsilon, self.problem.levels
        level = min(max(math.ceil(math.log2(gap / epsilon)), 0), highest) if 0.0 < gap < math.inf else highest
        before = state.memory.get(LEVEL)
        if not isinstance(before, float):
            return level
        last = int(before)
        solved = state.bounds.edge + self._gap(last, state) <= SOLVED * epsilon * 2.0**last
        return min(level, max(last - 1, 0) if solved else last)

    def _gap(self, level: int, state: State) -> float:
        """Return F(d) - D(w) of a level; with the largest edge of the class that is its program's gap."""
        F = self.at_level(level)
        return F.value(state.d) + F.conjugate_at(-state.m).value

    def at_level(self, level: int) -> Regularizer:
        """Return F of a level."""
        if level not in self._made:
            self._made[level] = self.problem.softened(level, self.problem.examples)
        return self._made[level]


def newton_weights(
    F: Regularizer, U: Margins, w: Float[Array, " t"], m: Float[Array, " N"], at: ConjugatePoint, near: float
) -> tuple[Float[Array, " t"], Float[Array, " N"]]:
    """Return (w, Uw) after a Newton step from w with the margins m, at = F.conjugate_at(-m).

    Hypotheses take part that are in use, or whose edge is above the best one in use less `near`.
    """
    edges = U.edges(at.d)
    part = np.flatnonzero((w > 0.0) | (edges >= edges[w > 0.0].max() - near))
    H = curvature(F, U.take_columns(part), at.d)
    target = np.zeros(len(w))
    target[part] = simplex_maximizer(H, edges[part] + H @ w[part])
    w = w + _length(F, m, U.margins(target - w), float(edges @ (target - w))) * (target - w)
    w[w < IDLE] = 0.0
    w /= w.sum()
    return w, U.margins(w)


def corrected_weights(F: Regularizer, move: Move, at: ConjugatePoint) -> tuple[Float[Array, " t"], Float[Array, " N"]]:
    """Return (w, Uw) after the step towards the newest hypothesis whose gain theory bounds."""
    alpha = corrective_weight(F, move, at.d)
    w = (1.0 - alpha) * move.w
    w[move.q] += alpha
    return w, move.state.m + alpha * (move.u - move.state.m)


def curvature(F: Regularizer, U: Margins, d: Float[Array, " N"]) -> Float[Array, "t t"]:
    """Return minus the Hessian of D at d = d(w), of the hypotheses of U."""
    terms = needed(F.pointwise(), "a regularizer that is a sum over the examples")
    r = terms.freedom(d)
    inside = np.flatnonzero(r)
    if len(inside) == 0:
        return np.zeros((U.t, U.t))
    free, r = U.take(inside), r[inside]
    of_r = free.edges(r)
    return free.gram(r) - np.outer(of_r, of_r) / float(r.sum())


def _length(F: Regularizer, m: Float[Array, " N"], moves: Float[Array, " N"], slope: float) -> float:
    """Return how far to go from m along `moves`, 1 at most, where D rises with that slope at the beginning."""
    length = 1.0
    for _ in range(SHORTER):
        at_end = float(moves @ F.conjugate_at(-(m + length * moves)).d)
        if at_end >= -OVERSHOT * slope:
            break
        # D is concave, so that the root of its slope lies before: the secant, kept off the ends.
        length *= float(np.clip(slope / (slope - at_end), 0.1, 0.9))
    return length
