"""The interior point method: predictor, corrector, centrality correctors.

Predictor and corrector are Mehrotra's (1992), the centrality correctors Gondzio's (1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector
from boostopt.backends.interior.interior_form import InteriorProblem
from boostopt.backends.interior.newton_steps import ComplementarityPairs, Iterate, NewtonSystem, Residuals

MAX_CORRECTORS = 2
"""Maximum number of centrality correctors in an iteration."""

BOUNDARY_FRACTION = 0.995
"""Length of a step, as a fraction of the step to the boundary; larger if the predictor removes nearly all products."""

STEP_INCREASE_GOAL = 0.1
"""The increase of the step length that a corrector should achieve."""

LONG_STEP = 0.9
"""Step length from which no corrector is necessary."""

MIN_CORRECTOR_GAIN = 0.1
"""Fraction of `STEP_INCREASE_GOAL` that a corrector must achieve to be used."""

CENTRALITY_FACTOR = 0.1
"""Smallest ratio of a product to the target, and of the target to a product, that counts as central."""

PRODUCT_FLOOR_FACTOR = 0.01
"""Smallest target of the products, as a fraction of the residuals of stationarity and of the rows.

If the products decrease faster than the residuals, weights stay at wrong bounds of their boxes, and slacks at 0.
"""


@dataclass(frozen=True, eq=False)
class Iteration:
    """The state after an iteration.

    Attributes
    ----------
    point
        The iterate.
    d
        The weights of all examples.
    w
        The hypothesis weights.
    estimate
        The estimated scaled gap: complementary products and residuals, divided by `size`.
    size
        The scale of the objective, at least 1.
    """

    point: Iterate
    d: ExampleVector
    w: HypothesisVector
    estimate: float
    size: float


def iterate(problem: InteriorProblem, point: Iterate) -> Iterator[Iteration]:
    """Yield the start and all iterates while they are finite. The caller decides when to stop."""
    while True:
        with np.errstate(all="ignore"):  # values that are not finite end the iteration
            d = problem.weights_inside_box(point.lower_distance)
            residuals, products = Residuals.from_point(problem, point, d), point.products
            infeasibility = float(
                np.abs(residuals.stationarity) @ np.minimum(point.lower_distance, point.upper_distance)
            )
            infeasibility += float(np.abs(residuals.rows) @ np.abs(point.v))
            estimate = products.total + infeasibility
        if not np.isfinite(estimate) or products.total <= 0.0:
            return
        w = problem.rows.weights(point.v) + problem.rows.slope
        yield Iteration(point, problem.weights(d), w, estimate / residuals.size, residuals.size)
        try:
            with np.errstate(all="ignore"):
                point = _next_iterate(
                    problem, point, d, residuals, products, PRODUCT_FLOOR_FACTOR * infeasibility / problem.num_pairs
                )
        except np.linalg.LinAlgError:
            return


def _next_iterate(
    problem: InteriorProblem,
    point: Iterate,
    d: Float[Array, " n"],
    residuals: Residuals,
    products: ComplementarityPairs,
    min_target: float,
) -> Iterate:
    """Return the next iterate; the target of the complementary products is at least `min_target`."""
    system = NewtonSystem(problem, point, d, residuals)
    inequality = problem.inequality
    mu = products.total / problem.num_pairs

    def max_lengths(step: Iterate) -> tuple[float, float]:
        primal, dual = point.max_step_lengths(step, inequality)
        # Different step lengths for the two sides would leave a residual of stationarity if d enters it.
        return (primal, dual) if problem.is_linear else (min(primal, dual), min(primal, dual))

    predictor = system.step(ComplementarityPairs(-products.lower, -products.upper, -products.rows))
    predicted_total = point.add_step(predictor, *max_lengths(predictor)).products.total / problem.num_pairs
    target = max((predicted_total / mu) ** 3 * mu, 1e-8 * mu, min_target)
    second_order_products = predictor.products
    target_change = ComplementarityPairs(
        target - products.lower - second_order_products.lower,
        target - products.upper - second_order_products.upper,
        np.where(inequality, target - products.rows - second_order_products.rows, 0.0),
    )
    step = system.step(target_change)
    primal, dual = max_lengths(step)
    for _ in range(MAX_CORRECTORS if min(primal, dual) < LONG_STEP else 0):
        target_lengths = min(primal + STEP_INCREASE_GOAL, 1.0), min(dual + STEP_INCREASE_GOAL, 1.0)
        corrected_change = target_change + _centrality_correction(
            point.add_step(step, *target_lengths).products, target, inequality
        )
        candidate = system.step(corrected_change)
        candidate_lengths = max_lengths(candidate)
        if candidate_lengths[0] < primal + MIN_CORRECTOR_GAIN * STEP_INCREASE_GOAL or candidate_lengths[1] < dual:
            break
        step, target_change, (primal, dual) = candidate, corrected_change, candidate_lengths
    boundary_fraction = max(BOUNDARY_FRACTION, 1.0 - predicted_total / mu)
    return point.add_step(step, min(boundary_fraction * primal, 1.0), min(boundary_fraction * dual, 1.0))


def _centrality_correction(products: ComplementarityPairs, target: float, inequality: Array) -> ComplementarityPairs:
    """Return the changes of products to within `CENTRALITY_FACTOR` of the target, limited for large products."""
    min_product, max_product = CENTRALITY_FACTOR * target, target / CENTRALITY_FACTOR

    def correction(values: Array) -> Array:
        return np.maximum(np.clip(values, min_product, max_product) - values, -max_product)

    rows = np.where(inequality, correction(products.rows), 0.0)
    return ComplementarityPairs(correction(products.lower), correction(products.upper), rows)
