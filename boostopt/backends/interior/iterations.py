"""The interior point method: predictor, corrector, centrality correctors.

Predictor and corrector are Mehrotra's (1992), the centrality correctors Gondzio's (1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.backends.interior.interior_form import InteriorProblem
from boostopt.backends.interior.newton import ComplementarityPairs, Iterate, NewtonSystem, Residuals

MAX_CORRECTORS = 2
"""Centrality correctors in an iteration, at most."""

BOUNDARY_FRACTION = 0.995
"""Share of the way to the boundary that a step may go; it is larger if the predicted step goes nearly all the way."""

STEP_INCREASE_GOAL = 0.1
"""The increase of the step length at which a corrector aims."""

LONG_STEP = 0.9
"""A step this long needs no corrector."""

MIN_CORRECTOR_GAIN = 0.1
"""A corrector is kept if it achieves at least this share of that increase."""

CENTRALITY_FACTOR = 0.1
"""Products within this factor of their target are central enough."""


PRODUCT_FLOOR_FACTOR = 0.01
"""The products are kept above this share of the residuals of stationarity and of the rows.

If the products shrink faster than the residuals, weights stick to the ends of their boxes and slacks to 0, wrongly.
"""


@dataclass(frozen=True, eq=False)
class Iteration:
    """The state after an iteration.

    Attributes
    ----------
    point
        The iterate.
    d
        Its weights, all of them.
    w
        Its hypothesis weights.
    estimate
        Estimate of the scaled gap: complementary products and residuals over the objective's size.
    size
        Scale of the objective, at least 1.
    """

    point: Iterate
    d: Float[Array, " N"]
    w: Float[Array, " t"]
    estimate: float
    size: float


def iterate(problem: InteriorProblem, point: Iterate) -> Iterator[Iteration]:
    """Yield the iterates, the start first, as long as they are finite. The caller decides when to stop."""
    while True:
        with np.errstate(all="ignore"):  # values that are not finite end the iteration
            d = problem.weights_inside_box(point.below)
            residuals, products = Residuals.from_point(problem, point, d), point.products
            missing = float(np.abs(residuals.stationarity) @ np.minimum(point.below, point.above))
            missing += float(np.abs(residuals.rows) @ np.abs(point.v))
            estimate = products.total + missing
        if not np.isfinite(estimate) or products.total <= 0.0:
            return
        w = problem.rows.weights(point.v) + problem.rows.slope
        yield Iteration(point, problem.weights(d), w, estimate / residuals.size, residuals.size)
        try:
            with np.errstate(all="ignore"):
                point = _next(
                    problem, point, d, residuals, products, PRODUCT_FLOOR_FACTOR * missing / problem.num_pairs
                )
        except np.linalg.LinAlgError:
            return


def _next(
    problem: InteriorProblem,
    point: Iterate,
    d: Float[Array, " n"],
    residuals: Residuals,
    products: ComplementarityPairs,
    min_target: float,
) -> Iterate:
    """Return the next point; the target of its products is at least `least`."""
    system = NewtonSystem(problem, point, d, residuals)
    inequality = problem.inequality
    mu = products.total / problem.num_pairs

    def reach(step: Iterate) -> tuple[float, float]:
        primal, dual = point.max_step_lengths(step, inequality)
        # Different step lengths for the two sides would leave a residual of stationarity if d enters it.
        return (primal, dual) if problem.is_linear else (min(primal, dual), min(primal, dual))

    predicted = system.step(ComplementarityPairs(-products.below, -products.above, -products.rows))
    after = point.stepped(predicted, *reach(predicted)).products.total / problem.num_pairs
    target = max((after / mu) ** 3 * mu, 1e-8 * mu, min_target)
    cross = predicted.products
    right_side = ComplementarityPairs(
        target - products.below - cross.below,
        target - products.above - cross.above,
        np.where(inequality, target - products.rows - cross.rows, 0.0),
    )
    step = system.step(right_side)
    primal, dual = reach(step)
    for _ in range(MAX_CORRECTORS if min(primal, dual) < LONG_STEP else 0):
        aimed = min(primal + STEP_INCREASE_GOAL, 1.0), min(dual + STEP_INCREASE_GOAL, 1.0)
        corrected = right_side + _centrality_correction(point.stepped(step, *aimed).products, target, inequality)
        candidate = system.step(corrected)
        longer = reach(candidate)
        if longer[0] < primal + MIN_CORRECTOR_GAIN * STEP_INCREASE_GOAL or longer[1] < dual:
            break
        step, right_side, (primal, dual) = candidate, corrected, longer
    share = max(BOUNDARY_FRACTION, 1.0 - after / mu)
    return point.stepped(step, min(share * primal, 1.0), min(share * dual, 1.0))


def _centrality_correction(products: ComplementarityPairs, target: float, inequality: Array) -> ComplementarityPairs:
    """Return the correction that brings outlying products within a factor of their target, large ones only partly."""
    min_product, max_product = CENTRALITY_FACTOR * target, target / CENTRALITY_FACTOR

    def missing(values: Array) -> Array:
        return np.maximum(np.clip(values, min_product, max_product) - values, -max_product)

    rows = np.where(inequality, missing(products.rows), 0.0)
    return ComplementarityPairs(missing(products.below), missing(products.above), rows)
