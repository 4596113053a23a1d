"""Weights with a smaller logistic loss, within epsilon of the best soft margin.

Many weights of hypotheses have a soft margin within epsilon of the best, and those of a run often have few votes, which
rank examples badly. The refined weights are a mixture of the weights of the run and of those with the smallest
l1-penalized logistic loss over the same hypotheses [Tibshirani 1996]. The share of the latter is the largest at which
the proved gap is at most epsilon. The soft margin is concave in the weights, so regula falsi finds this share, in the
variant of Illinois [Dowell and Jarratt 1971].

If no soft margin is proved, and f = 0 is within epsilon, the mixture is that of f = 0, half of a column and half of its
negation, and the logistic weights.

All sums over the rows are exact. From 40,000 rows on, the loss is that of a sample, which depends on the order of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit

from boostopt._utils.array_types import Array, Float, HypothesisVector, Int
from boostopt.boosting.histogram_newton.newton_solver import integer_weights
from boostopt.boosting.histogram_newton.solver_state import ExactBounds
from boostopt.boosting.objectives.exact_objective import ExactObjective, margin_histogram
from boostopt.boosting.objectives.margin_histogram import MarginHistogram
from boostopt.boosting.qp.simplex_qp import capped_sum_maximizer
from boostopt.errors import require_not_none
from boostopt.functions.numerics.rounding_errors import float_below
from boostopt.oracles.top_k import top_k_groups
from boostopt.oracles.weight_scaling import MACHINE_EPSILON
from boostopt.rows.binned_rows import BinnedRows, MarginHandle
from boostopt.rows.margin_grid import CURVATURE_SCALE, MARGIN_SCALE, WEIGHT_SCALE, MarginGrid
from boostopt.rows.row_block import Split

PENALTY = 0.01
"""The penalty of the logistic loss: a hypothesis takes part if its edge, as a share of the examples, is larger. Half of
this penalty and twice as much gave nearly the same accuracy."""

MAX_STEPS, MAX_BACKTRACKS = 20, 6
"""The largest number of Newton steps, and of shorter steps in a line search."""

MIN_DECREASE = 1e-4
"""The decrease of the mean loss below which no further Newton step is taken."""

MAX_SUM = math.log(2.0) / PENALTY
"""The largest sum of weights: the penalty of a larger one exceeds the loss without weights."""

MAX_NEW_COLUMNS = 64
"""The largest number of columns that join in a step."""

SHARE_BITS = 10
"""The share of the logistic weights is a multiple of 2^-10."""

MAX_SAMPLE = 20_000
"""The approximate number of rows whose logistic loss is minimized, if there are many more."""


def is_sampled(rows: BinnedRows) -> bool:
    """Return whether the logistic loss is that of a sample, because there are many rows."""
    return rows.n_rows >= 2 * MAX_SAMPLE


def is_zero_near_best(bounds: ExactBounds, epsilon: float, min_lower: float) -> bool:
    """Return whether f = 0 is within epsilon of the best and `min_lower` is not proved: the votes then follow noise."""
    return float_below(bounds.lower) <= min_lower and bounds.upper <= epsilon


def first_mixture_weights(
    pool: Sequence[Split], bounds: ExactBounds, is_zero: bool
) -> tuple[Sequence[Split], HypothesisVector]:
    """Return the columns and the weights with which logistic weights are mixed: those of the run, or those of f = 0.

    Parameters
    ----------
    pool, bounds
        The columns of the run, and its bounds.
    is_zero
        Whether the weights are those of f = 0. The class must contain the negation of each column.
    """
    weights = require_not_none(bounds.integer_weights, "weights")
    if is_zero:
        opposite = pool[0]._replace(sign=-pool[0].sign)
        pool = pool if opposite in pool else (*pool, opposite)
        first_weights = np.zeros(len(pool))
        first_weights[[0, pool.index(opposite)]] = 0.5
        return pool, first_weights
    return pool, np.concatenate([weights, np.zeros(len(pool) - len(weights), weights.dtype)]) / MARGIN_SCALE


def refined_bounds(
    rows: BinnedRows,
    objective: ExactObjective,
    pool: Sequence[Split],
    bounds: ExactBounds,
    first_weights: HypothesisVector,
    loss_weights: HypothesisVector,
    epsilon: float,
    min_lower: float,
) -> ExactBounds:
    """Return bounds whose weights have a smaller logistic loss; the same bounds if none are within epsilon.

    Parameters
    ----------
    rows, objective
        The examples, and the soft margin over these.
    pool
        The columns.
    bounds
        The bounds of the run.
    first_weights
        The weights at share 0, shape (t,): see `first_mixture_weights`.
    loss_weights
        The weights of the smallest logistic loss, shape (t,).
    epsilon
        The largest gap.
    min_lower
        The value above which the lower bound stays, if it is above it now.
    """
    if not loss_weights.any():
        return bounds
    loss_weights = loss_weights / loss_weights.sum()
    stays_above = float_below(bounds.lower) > min_lower
    lower_limit = max(bounds.upper - epsilon, min_lower if stays_above else -math.inf)
    best, low, high = bounds, 0, (1 << SHARE_BITS) + 1  # the gap is too large from `high` on
    number, surplus, deficit = 1 << SHARE_BITS, float(bounds.lower) - lower_limit, 0.0
    was_within = True
    while high - low > 1:
        share = number / (1 << SHARE_BITS)
        W = integer_weights((1.0 - share) * first_weights + share * loss_weights)
        lower = objective.best_lower_bound(rows, rows.margins(pool, W))
        trial = replace(bounds, lower=lower, integer_weights=W)
        if trial.gap <= epsilon and not (stays_above and float_below(lower) <= min_lower):
            deficit = 0.5 * deficit if was_within else deficit
            low, best, surplus, was_within = number, trial, float(lower) - lower_limit, True
        else:
            surplus = surplus if was_within else 0.5 * surplus
            high, deficit, was_within = number, lower_limit - float(lower), False
        chord = (high - low) * surplus / max(surplus + deficit, MACHINE_EPSILON)
        number = min(max(low + int(chord), low + 1), high - 1)
    return best


def logistic_weights(
    rows: BinnedRows, pool: Sequence[Split], start: Float[Array, " p"] | None = None
) -> HypothesisVector:
    """Return the weights w >= 0 with the smallest mean of ln(1 + exp(-m)) plus `PENALTY` sum w, by Newton steps.

    The steps begin at weights of the first hypotheses of the pool, or at 0. They are over a sample of many rows. A step
    takes the columns with a weight, and those with the largest edges, at most one of each range between
    thresholds of the former. So it costs little, however large the pool is.
    """
    rows = rows.stride(rows.n_rows // MAX_SAMPLE) if is_sampled(rows) else rows
    thresholds = np.array([rows.threshold_of(split) for split in pool])
    signs = np.array([split.sign for split in pool], np.float64)
    total, grid = float(rows.n_examples), MarginGrid.full()

    def point(w: HypothesisVector) -> tuple[float, MarginHandle, MarginHistogram, Float[Array, " k"]]:
        """Return the mean penalized loss at w, with the margins of the normalized weights."""
        scale = float(w.sum())
        margins = rows.margins(pool, integer_weights(w) if scale else np.zeros(len(pool), np.int64))
        histogram = margin_histogram(rows, margins, grid)
        m = scale * histogram.mean_margins
        loss = float(histogram.occupied_counts @ np.logaddexp(0.0, -m)) / total + PENALTY * scale
        return loss, margins, histogram, m

    w = np.zeros(len(pool))
    w[: 0 if start is None else len(start)] = 0.0 if start is None else start
    loss, margins, histogram, m = point(w)
    for _ in range(MAX_STEPS):
        d = expit(-m)
        edges = rows.class_edges(margins, grid, histogram.table(np.rint(WEIGHT_SCALE * d)))[thresholds] / WEIGHT_SCALE
        slopes = signs * edges - PENALTY * total
        columns = _step_columns(rows, thresholds, w, slopes)
        if not len(columns):
            break
        curvature = histogram.table(np.rint(CURVATURE_SCALE * 4.0 * d * (1.0 - d)))
        hessian = rows.gram(margins, grid, curvature, [pool[k] for k in columns])[:-1, :-1] / (4.0 * CURVATURE_SCALE)
        column_weights, direction = w[columns], np.zeros(len(pool))
        linear = slopes[columns] + hessian @ column_weights
        direction[columns] = capped_sum_maximizer(hessian, linear, MAX_SUM, column_weights > 0.0) - column_weights
        for k in range(MAX_BACKTRACKS):
            trial = w + 0.5**k * direction
            trial_point = point(trial)
            if trial_point[0] < loss:
                break
        else:
            break
        previous_loss, w = loss, trial
        loss, margins, histogram, m = trial_point
        if previous_loss - loss < MIN_DECREASE:
            break
    return w


def _step_columns(
    rows: BinnedRows, thresholds: Int[Array, " t"], w: HypothesisVector, slopes: HypothesisVector
) -> Int[Array, " p"]:
    """Return the columns of a step, in their order: those with a weight, and others with a positive slope."""
    order = np.argsort(thresholds, kind="stable")
    sorted_thresholds, has_weight = thresholds[order], w > 0.0
    starts = np.unique(np.searchsorted(sorted_thresholds, np.concatenate([rows.starts, thresholds[has_weight]])))
    new = order[top_k_groups(slopes[order], starts[starts < len(order)], MAX_NEW_COLUMNS)]
    return np.union1d(np.flatnonzero(has_weight), new[slopes[new] > 0.0])
