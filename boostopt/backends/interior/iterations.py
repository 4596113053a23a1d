"""The interior point method: predictor, corrector, centrality correctors.

Predictor and corrector are Mehrotra's (1992), the centrality correctors Gondzio's (1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.backends.interior.interior_form import InteriorProblem
from boostopt.backends.interior.newton import Pairs, Point, Residuals, System

CORRECTORS = 2
"""Centrality correctors in an iteration, at most."""

BOUNDARY = 0.995
"""Share of the way to the boundary that a step may go; it is larger if the predicted step goes nearly all the way."""

LONGER = 0.1
"""The increase of the step length at which a corrector aims."""

LONG = 0.9
"""A step this long needs no corrector."""

GAIN = 0.1
"""A corrector is kept if it achieves at least this share of that increase."""

CENTRAL = 0.1
"""Products within this factor of their target are central enough."""


BEHIND = 0.01
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

    point: Point
    d: Float[Array, " N"]
    w: Float[Array, " t"]
    estimate: float
    size: float


def iterate(problem: InteriorProblem, point: Point) -> Iterator[Iteration]:
    """Yield the iterates, the start first, as long as they are finite. The caller decides when to stop."""
    while True:
        with np.errstate(all="ignore"):  # values that are not finite end the iteration
            d = problem.at(point.below)
            residuals, products = Residuals.at(problem, point, d), point.products
            missing = float(np.abs(residuals.stationarity) @ np.minimum(point.below, point.above))
            missing += float(np.abs(residuals.rows) @ np.abs(point.v))
            estimate = products.total + missing
        if not np.isfinite(estimate) or products.total <= 0.0:
            return
        w = problem.rows.weights(point.v) + problem.rows.slope
        yield Iteration(point, problem.weights(d), w, estimate / residuals.size, residuals.size)
        try:
            with np.errstate(all="ignore"):
                point = _next(problem, point, d, residuals, products, BEHIND * missing / problem.pairs)
        except np.linalg.LinAlgError:
            return


def _next(
    problem: InteriorProblem, point: Point, d: Float[Array, " n"], residuals: Residuals, products: Pairs, least: float
) -> Point:
    """Return the next point; the target of its products is at least `least`."""
    system = System(problem, point, d, residuals)
    inequality = problem.inequality
    mu = products.total / problem.pairs

    def reach(step: Point) -> tuple[float, float]:
        primal, dual = point.reach(step, inequality)
        # Different step lengths for the two sides would leave a residual of stationarity if d enters it.
        return (primal, dual) if problem.linear else (min(primal, dual), min(primal, dual))

    predicted = system.step(Pairs(-products.below, -products.above, -products.rows))
    after = point.moved(predicted, *reach(predicted)).products.total / problem.pairs
    target = max((after / mu) ** 3 * mu, 1e-8 * mu, least)
    cross = predicted.products
    wanted = Pairs(
        target - products.below - cross.below,
        target - products.above - cross.above,
        np.where(inequality, target - products.rows - cross.rows, 0.0),
    )
    step = system.step(wanted)
    primal, dual = reach(step)
    for _ in range(CORRECTORS if min(primal, dual) < LONG else 0):
        aimed = min(primal + LONGER, 1.0), min(dual + LONGER, 1.0)
        corrected = wanted + _towards(point.moved(step, *aimed).products, target, inequality)
        candidate = system.step(corrected)
        longer = reach(candidate)
        if longer[0] < primal + GAIN * LONGER or longer[1] < dual:
            break
        step, wanted, (primal, dual) = candidate, corrected, longer
    share = max(BOUNDARY, 1.0 - after / mu)
    return point.moved(step, min(share * primal, 1.0), min(share * dual, 1.0))


def _towards(products: Pairs, target: float, inequality: Array) -> Pairs:
    """Return the correction that brings outlying products within a factor of their target, large ones only partly."""
    least, most = CENTRAL * target, target / CENTRAL

    def missing(values: Array) -> Array:
        return np.maximum(np.clip(values, least, most) - values, -most)

    rows = np.where(inequality, missing(products.rows), 0.0)
    return Pairs(missing(products.below), missing(products.above), rows)
