"""The maximum of g'z - 1/2 z'H z over the simplex, for the Newton steps of the weights; H is semidefinite and small.

With a good guess of the support, an active set method converges, for a matrix of lower rank with a larger ridge.
Otherwise, a primal-dual interior point method with a corrector solves the program [Mehrotra 1992]. The answer needs no
proof, because the caller evaluates the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from boostopt._utils.array_types import Array, Bool, Float, HypothesisVector
from boostopt.boosting.qp.primal_dual_active_set import (
    RELATIVE_RIDGE,
    SINGULAR_RELATIVE_RIDGE,
    active_set_maximizer,
)

MAX_ITERATIONS, COMPLEMENTARITY_TOL = 60, 1e-15
"""The largest number of steps, and the complementarity, for an objective of order 1, at which the method stops."""

FRACTION_TO_BOUNDARY = 0.995
"""The step length as a fraction of the distance to the boundary."""


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Weights z > 0, slacks s > 0 of z >= 0, and the multiplier of sum z = 1."""

    z: HypothesisVector
    s: HypothesisVector
    multiplier: float

    def after_step(self, step: _Iterate) -> _Iterate:
        """Return the iterate after a step that stays in the interior."""
        z_length = FRACTION_TO_BOUNDARY * _step_to_boundary(self.z, step.z)
        s_length = FRACTION_TO_BOUNDARY * _step_to_boundary(self.s, step.s)
        return _Iterate(
            self.z + z_length * step.z, self.s + s_length * step.s, self.multiplier + s_length * step.multiplier
        )


def simplex_maximizer(
    H: Float[Array, "t t"], g: HypothesisVector, support_guess: Bool[Array, " t"] | None = None
) -> HypothesisVector:
    """Return a point of the simplex near the maximizer of g'z - 1/2 z'H z.

    Parameters
    ----------
    H
        A symmetric matrix, positive semidefinite up to rounding.
    g
        Finite numbers, shape (t,).
    support_guess
        A guess of the positive weights, at least one; None if there is no guess.
    """
    for relative_ridge in (RELATIVE_RIDGE, SINGULAR_RELATIVE_RIDGE):
        if support_guess is not None and (z := active_set_maximizer(H, g, support_guess, relative_ridge)) is not None:
            return z
    t = len(g)
    largest = max(float(H.diagonal().max()), 1e-300)
    scaled_g = g - g.max()
    size = max(largest, float(np.abs(scaled_g).max()))
    scaled_H, scaled_g = (H + RELATIVE_RIDGE * largest * np.eye(t)) / size, scaled_g / size
    z = np.full(t, 1.0 / t)
    slope = scaled_H @ z - scaled_g
    level = 0.1 - float(slope.min())
    iterate = _Iterate(z, slope + level, level)
    for _ in range(MAX_ITERATIONS):
        if float(iterate.z @ iterate.s) / t < COMPLEMENTARITY_TOL:
            break
        step = _mehrotra_step(scaled_H, scaled_g, iterate)
        if step is None:
            break
        iterate = iterate.after_step(step)
    z = np.maximum(iterate.z, 0.0)
    return z / z.sum()


def capped_sum_maximizer(
    H: Float[Array, "t t"], g: HypothesisVector, max_sum: float, support_guess: Bool[Array, " t"] | None = None
) -> HypothesisVector:
    """Return a point near the maximizer of g'z - 1/2 z'H z over z >= 0 with sum z <= max_sum.

    The rest of the sum is a further weight, so that the program has the form of `simplex_maximizer`.

    Parameters
    ----------
    H, g
        As in `simplex_maximizer`.
    support_guess
        As in `simplex_maximizer`, without the further weight, which is guessed to be positive.
    max_sum
        The largest sum, positive.
    """
    padding = ((0, 1), (0, 1))
    support_guess = None if support_guess is None else np.append(support_guess, True)
    padded_H, padded_g = np.pad(max_sum * max_sum * H, padding), np.pad(max_sum * g, padding[0])
    return max_sum * simplex_maximizer(padded_H, padded_g, support_guess)[:-1]


def _mehrotra_step(H: Float[Array, "t t"], g: HypothesisVector, iterate: _Iterate) -> _Iterate | None:
    """Return the predictor-corrector step of Mehrotra; None if rounding errors prevent a factorization."""
    t, mu = len(g), float(iterate.z @ iterate.s) / len(g)
    try:
        factor = scipy.linalg.cho_factor(H + np.diag(iterate.s / iterate.z), check_finite=False)
    except np.linalg.LinAlgError:
        return None

    def solve(rhs: HypothesisVector) -> Any:
        return scipy.linalg.cho_solve(factor, rhs, check_finite=False)

    ones_solution = solve(np.ones(t))
    dual_residual = H @ iterate.z - g + iterate.multiplier - iterate.s
    sum_residual = float(iterate.z.sum()) - 1.0

    def step_for(complementarity: HypothesisVector) -> _Iterate:
        unconstrained = solve(complementarity / iterate.z - dual_residual)
        level = (float(unconstrained.sum()) + sum_residual) / float(ones_solution.sum())
        z = unconstrained - level * ones_solution
        return _Iterate(z, (complementarity - iterate.s * z) / iterate.z, level)

    affine = step_for(-iterate.z * iterate.s)
    affine_mu = (
        float(
            (iterate.z + _step_to_boundary(iterate.z, affine.z) * affine.z)
            @ (iterate.s + _step_to_boundary(iterate.s, affine.s) * affine.s)
        )
        / t
    )
    step = step_for((affine_mu / mu) ** 3 * mu - iterate.z * iterate.s - affine.z * affine.s)
    return step if np.isfinite(step.z).all() and np.isfinite(step.s).all() else None


def _step_to_boundary(x: HypothesisVector, dx: HypothesisVector) -> float:
    """Return the largest step length in [0, 1] along dx that keeps x nonnegative, for x > 0."""
    is_decreasing = dx < 0.0
    return min(1.0, float((-x[is_decreasing] / dx[is_decreasing]).min(initial=np.inf)))
