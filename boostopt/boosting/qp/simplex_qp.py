"""max g'z - 1/2 z'H z over the simplex, H positive semidefinite and small: where a Newton step of the weights leads.

From a good guess of which weights are positive, guesses settle; else it takes a primal-dual interior point with a
corrector [Mehrotra 1992]. Nothing rests on the answer: whoever asks looks at the value that he is after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.boosting.qp.primal_dual_active_set import RELATIVE_RIDGE, active_set_maximizer

MAX_ITERATIONS, COMPLEMENTARITY_TOL = 60, 1e-15
"""Steps at most, and the complementarity, of an objective of order 1, at which the method ends."""

FRACTION_TO_BOUNDARY = 0.995
"""Share of the way to the boundary that a step goes."""


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Weights z > 0, slacks s > 0 of z >= 0, and the multiplier of sum z = 1."""

    z: Float[Array, " t"]
    s: Float[Array, " t"]
    multiplier: float

    def after_step(self, step: _Iterate) -> _Iterate:
        """Return the iterate after a step that stays inside."""
        along_z, along_s = (
            FRACTION_TO_BOUNDARY * _step_to_boundary(self.z, step.z),
            FRACTION_TO_BOUNDARY * _step_to_boundary(self.s, step.s),
        )
        return _Iterate(
            self.z + along_z * step.z, self.s + along_s * step.s, self.multiplier + along_s * step.multiplier
        )


def simplex_maximizer(
    H: Float[Array, "t t"], g: Float[Array, " t"], support_guess: Bool[Array, " t"] | None = None
) -> Float[Array, " t"]:
    """Return a point of the simplex near the maximizer of g'z - 1/2 z'H z.

    Parameters
    ----------
    H
        Symmetric, positive semidefinite but for rounding.
    g
        Any finite numbers.
    support_guess
        Which weights may be expected to be positive, one at least; None where nothing is known.
    """
    if support_guess is not None and (z := active_set_maximizer(H, g, support_guess)) is not None:
        return z
    t = len(g)
    largest = max(float(H.diagonal().max()), 1e-300)
    rises = g - g.max()
    size = max(largest, float(np.abs(rises).max()))
    bends, rises = (H + RELATIVE_RIDGE * largest * np.eye(t)) / size, rises / size
    z = np.full(t, 1.0 / t)
    slope = bends @ z - rises
    level = 0.1 - float(slope.min())
    at = _Iterate(z, slope + level, level)
    for _ in range(MAX_ITERATIONS):
        if float(at.z @ at.s) / t < COMPLEMENTARITY_TOL:
            break
        step = _mehrotra_step(bends, rises, at)
        if step is None:
            break
        at = at.after_step(step)
    z = np.maximum(at.z, 0.0)
    return z / z.sum()


def capped_sum_maximizer(
    H: Float[Array, "t t"], g: Float[Array, " t"], max_sum: float, used: Bool[Array, " t"] | None = None
) -> Float[Array, " t"]:
    """Return a point of z >= 0, sum z <= most, near the maximizer of g'z - 1/2 z'H z there: what is left is one more z.

    Parameters
    ----------
    H, g, used
        As of `simplex_maximizer`.
    max_sum
        A positive number.
    """
    slack = ((0, 1), (0, 1))
    used = None if used is None else np.append(used, True)
    return max_sum * simplex_maximizer(np.pad(max_sum * max_sum * H, slack), np.pad(max_sum * g, slack[0]), used)[:-1]


def _mehrotra_step(H: Float[Array, "t t"], g: Float[Array, " t"], at: _Iterate) -> _Iterate | None:
    """Return Mehrotra's step; None where rounding leaves none."""
    t, mu = len(g), float(at.z @ at.s) / len(g)
    try:
        factor = scipy.linalg.cho_factor(H + np.diag(at.s / at.z), check_finite=False)
    except np.linalg.LinAlgError:
        return None

    def solved(right: Float[Array, " t"]) -> Any:
        return scipy.linalg.cho_solve(factor, right, check_finite=False)

    of_ones, dual, total = solved(np.ones(t)), H @ at.z - g + at.multiplier - at.s, float(at.z.sum()) - 1.0

    def towards(complement: Float[Array, " t"]) -> _Iterate:
        free = solved(complement / at.z - dual)
        level = (float(free.sum()) + total) / float(of_ones.sum())
        z = free - level * of_ones
        return _Iterate(z, (complement - at.s * z) / at.z, level)

    affine = towards(-at.z * at.s)
    after = (
        float(
            (at.z + _step_to_boundary(at.z, affine.z) * affine.z)
            @ (at.s + _step_to_boundary(at.s, affine.s) * affine.s)
        )
        / t
    )
    step = towards((after / mu) ** 3 * mu - at.z * at.s - affine.z * affine.s)
    return step if np.isfinite(step.z).all() and np.isfinite(step.s).all() else None


def _step_to_boundary(x: Float[Array, " t"], dx: Float[Array, " t"]) -> float:
    """Return how far along dx, 1 at most, x > 0 stays non-negative."""
    falls = dx < 0.0
    return min(1.0, float((-x[falls] / dx[falls]).min(initial=np.inf)))
