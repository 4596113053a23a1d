"""Newton steps in the hypothesis weights, for the concave function D(w) with the distribution d = d(w).

    D(w) = -F*(-Uw),     grad D(w) = U'd(w),     Hess D(w) = -U' (diag(r) - r r' / sum r) U,

where r_n = 1 / f_n''(d_n) in the interior of the box, and 0 at its bounds. Off the simplex nothing is subtracted from
diag(r).

The quadratic model is maximized over the simplex. The slope of D along the line to the maximizer determines the step
length. The strength of the entropy follows the gap over the class: with the eta of the final accuracy from the
beginning, a few examples would have almost all curvature. If F is not smooth, the programs belong to the formulation
that smooths F for the accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector, Int
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.qp.conjugate_gradient_active_set import SymmetricOperator, operator_maximizer
from boostopt.boosting.qp.simplex_qp import simplex_maximizer
from boostopt.boosting.run.run_state import State
from boostopt.boosting.updates.base import UpdateContext
from boostopt.boosting.updates.convex_combination_update import CorrectiveUpdate, short_step_size
from boostopt.errors import require_not_none
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer
from boostopt.rows.margin_matrix import MarginMatrix

MAX_END_SLOPE, MAX_BACKTRACKS = 0.3, 6
"""The largest descent of D at the end of a step, as a fraction of the ascent at its beginning; the most shortenings."""

EDGE_TOL_FRACTION = 0.25
"""The tolerance, as a fraction of epsilon, below the largest edge in use for hypotheses that enter a step."""

MEMORY_LEVEL, MEMORY_VALUE = "level", "value"
"""The keys, in the memory of a state, of the level of the last program and of D(w) at this level."""

SLOPE_TOL = 0.03
"""The tolerance of slopes after a step by conjugate gradients, as a fraction of the differences of edges in use."""

SOLVED_GAP_FRACTION = 0.25
"""The largest gap of a solved program, as a fraction of the accuracy of its level."""

ZERO_WEIGHT = 1e-12
"""The weight below which a weight is set to 0."""


class Newton(CorrectiveUpdate):
    """A Newton step over the hypotheses in use and those with large edges, at least as good as a corrective step.

    The programs form a sequence of levels: at level k, eta is smaller by the factor 2^k, and the accuracy is larger by
    the same factor. The level is the first one whose accuracy exceeds the gap over the class. It decreases by one when
    its program is solved. Level 0 is the problem itself, and the only level of a formulation without eta.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._regularizers: dict[int, Regularizer] = {}

    def combined(self, context: UpdateContext) -> State:
        level = self._level(context.state)
        F, U = self.regularizer_at(level), context.pool.margins
        conjugate = F.conjugate_at(-context.state.m)
        edge_tolerance = EDGE_TOL_FRACTION * self.problem.epsilon
        w, m = newton_step(F, U, context.weights, context.state.m, conjugate, edge_tolerance)
        next_conjugate = F.conjugate_at(-m)
        short_w, short_m = short_step_weights(F, context, conjugate)
        short_conjugate = F.conjugate_at(-short_m)
        if next_conjugate.value > short_conjugate.value:
            w, m, next_conjugate = short_w, short_m, short_conjugate
        memory = {**context.state.memory, MEMORY_LEVEL: float(level), MEMORY_VALUE: -next_conjugate.value}
        return replace(self.state_at(context, w, m), d=next_conjugate.d, memory=memory)

    def improved(self, previous_state: State, next_state: State, min_increase: float) -> bool:
        """Return whether D has increased by more than `min_increase`, or the level has changed."""
        previous, current = _last_level_and_value(previous_state), _last_level_and_value(next_state)
        if previous is None or current is None or previous[0] != current[0]:
            return True
        return bool(current[1] > previous[1] + min_increase)

    def _level(self, state: State) -> int:
        """Return the level of the next program, after the answer of the oracle to d(w) of the last program."""
        gap = state.bounds.upper - state.soft_margin
        level = self.problem.level_for_gap(gap if gap > 0.0 else math.inf)
        last_program = _last_level_and_value(state)
        if last_program is None:
            return level
        last, value = last_program
        # With the largest edge of the class, F(d) - D(w) is the gap of the program.
        is_solved = (
            state.bounds.edge + (self.regularizer_at(last).value(state.d) - value)
            <= SOLVED_GAP_FRACTION * self.problem.epsilon * 2.0**last
        )
        return min(level, max(last - 1, 0) if is_solved else last)

    def regularizer_at(self, level: int) -> Regularizer:
        """Return F at a level."""
        if level not in self._regularizers:
            self._regularizers[level] = self.problem.regularizer_at_level(level, self.problem.examples)
        return self._regularizers[level]


def _last_level_and_value(state: State) -> tuple[int, float] | None:
    """Return the level of the last program and its D(w); None before the first Newton step."""
    level, value = state.memory.get(MEMORY_LEVEL), state.memory.get(MEMORY_VALUE)
    return (int(level), value) if isinstance(level, float) and isinstance(value, float) else None


def newton_step(
    F: Regularizer,
    U: MarginMatrix,
    w: HypothesisVector,
    m: ExampleVector,
    conjugate: ConjugatePoint,
    edge_tolerance: float,
) -> tuple[HypothesisVector, ExampleVector]:
    """Return (w, Uw) after a Newton step from w with the margins m.

    Parameters
    ----------
    F, U
        The regularizer and the margin matrix.
    w, m
        The weights and their margins Uw.
    conjugate
        F.conjugate_at(-m).
    edge_tolerance
        The tolerance below the largest edge in use for hypotheses that enter the step.
    """
    edges = U.edges(conjugate.d)
    target = newton_target(
        w, edges, edge_tolerance, lambda part: negative_hessian(F, U.take_columns(part), conjugate.d)
    )
    w = w + _step_length(F, m, U.margins(target - w), float(edges @ (target - w))) * (target - w)
    w[w < ZERO_WEIGHT] = 0.0
    w /= w.sum()
    return w, U.margins(w)


def newton_target(
    w: HypothesisVector,
    edges: HypothesisVector,
    edge_tolerance: float,
    negative_hessian: Callable[[Int[Array, " p"]], Float[Array, "p p"] | SymmetricOperator],
    ratio: float = 1.0,
) -> HypothesisVector:
    """Return the maximizer of the quadratic model of D at w over the hypotheses that enter the step.

    With a `ratio`, the model is that of the program with `ratio` times less entropy at the same d. Its curvature is
    `ratio` times larger, and its margins are those of w divided by `ratio`.

    A hypothesis enters if it has a weight, or if its edge is at least the largest edge of those minus `edge_tolerance`.
    Without weights, all hypotheses enter, and an edge must be positive.
    `negative_hessian` returns minus the Hessian over given hypotheses.
    """
    part = np.flatnonzero((w > 0.0) | (edges >= edges[w > 0.0].max(initial=-np.inf) - edge_tolerance))
    H, target = negative_hessian(part), np.zeros(len(w))
    support_guess = (w[part] > 0.0) | (edges[part] > edges @ w)
    g = (edges[part] + H @ w[part]) / ratio
    if isinstance(H, SymmetricOperator):
        tolerance = SLOPE_TOL * float(np.ptp(edges[part][support_guess])) / ratio
        target[part] = operator_maximizer(H, g, w[part], support_guess, tolerance)
    else:
        target[part] = simplex_maximizer(H, g, support_guess)
    return target


def short_step_weights(
    F: Regularizer, context: UpdateContext, conjugate: ConjugatePoint
) -> tuple[HypothesisVector, ExampleVector]:
    """Return (w, Uw) after the short step towards the newest hypothesis, whose increase of D theory bounds."""
    return context.combined(short_step_size(F, context.newest_margins - context.state.m, conjugate.d))


def negative_hessian(F: Regularizer, U: MarginMatrix, d: ExampleVector) -> Float[Array, "t t"]:
    """Return minus the Hessian of D at d = d(w) over the hypotheses of U, shape (t, t)."""
    terms = require_not_none(F.pointwise(), "a regularizer that is a sum over the examples")
    r = terms.inverse_curvatures_inside_box(d)
    interior = np.flatnonzero(r)
    if len(interior) == 0:
        return np.zeros((U.t, U.t))
    interior_U, r = U.take_rows(interior), r[interior]
    if not terms.on_simplex:
        return interior_U.gram(r)
    return centered_gram(interior_U.gram(r), interior_U.edges(r), float(r.sum()))


def centered_gram(gram: Float[Array, "t t"], r_edges: HypothesisVector, r_sum: float) -> Float[Array, "t t"]:
    """Return U' (diag(r) - r r' / sum r) U from U' diag(r) U, U'r and sum r > 0."""
    result = np.outer(r_edges, r_edges)
    result /= -r_sum
    result += gram
    return result


def _step_length(F: Regularizer, m: ExampleVector, direction: ExampleVector, slope: float) -> float:
    """Return the step length in (0, 1] from m along `direction`, with the slope of D at m; 0 unless D increases."""
    if slope <= 0.0:
        return 0.0
    length = 1.0
    for _ in range(MAX_BACKTRACKS):
        end_slope = float(direction @ F.conjugate_at(-(m + length * direction)).d)
        if end_slope >= -MAX_END_SLOPE * slope:
            break
        # D is concave, so the root of its slope lies at a shorter length: the secant, with a distance to both ends.
        length *= float(np.clip(slope / (slope - end_slope), 0.1, 0.9))
    return length
