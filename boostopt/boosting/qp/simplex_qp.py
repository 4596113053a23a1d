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
from boostopt.boosting.qp.primal_dual_active_set import RIDGE, settled_maximizer

STEPS, MEET = 60, 1e-15
"""Steps at most, and the complementarity, of an objective of order 1, at which the method ends."""

BACK = 0.995
"""Share of the way to the boundary that a step goes."""


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Weights z > 0, slacks s > 0 of z >= 0, and the multiplier of sum z = 1."""

    z: Float[Array, " t"]
    s: Float[Array, " t"]
    level: float

    def moved(self, step: _Iterate) -> _Iterate:
        """Return the iterate after a step that stays inside."""
        along_z, along_s = BACK * _reach(self.z, step.z), BACK * _reach(self.s, step.s)
        return _Iterate(self.z + along_z * step.z, self.s + along_s * step.s, self.level + along_s * step.level)


def simplex_maximizer(
    H: Float[Array, "t t"], g: Float[Array, " t"], used: Bool[Array, " t"] | None = None
) -> Float[Array, " t"]:
    """Return a point of the simplex near the maximizer of g'z - 1/2 z'H z.

    Parameters
    ----------
    H
        Symmetric, positive semidefinite but for rounding.
    g
        Any finite numbers.
    used
        Which weights may be expected to be positive, one at least; None where nothing is known.
    """
    if used is not None and (z := settled_maximizer(H, g, used)) is not None:
        return z
    t = len(g)
    largest = max(float(H.diagonal().max()), 1e-300)
    rises = g - g.max()
    size = max(largest, float(np.abs(rises).max()))
    bends, rises = (H + RIDGE * largest * np.eye(t)) / size, rises / size
    z = np.full(t, 1.0 / t)
    slope = bends @ z - rises
    level = 0.1 - float(slope.min())
    at = _Iterate(z, slope + level, level)
    for _ in range(STEPS):
        if float(at.z @ at.s) / t < MEET:
            break
        step = _step(bends, rises, at)
        if step is None:
            break
        at = at.moved(step)
    z = np.maximum(at.z, 0.0)
    return z / z.sum()


def bounded_maximizer(
    H: Float[Array, "t t"], g: Float[Array, " t"], most: float, used: Bool[Array, " t"] | None = None
) -> Float[Array, " t"]:
    """Return a point of z >= 0, sum z <= most, near the maximizer of g'z - 1/2 z'H z there: what is left is one more z.

    Parameters
    ----------
    H, g, used
        As of `simplex_maximizer`.
    most
        A positive number.
    """
    slack = ((0, 1), (0, 1))
    used = None if used is None else np.append(used, True)
    return most * simplex_maximizer(np.pad(most * most * H, slack), np.pad(most * g, slack[0]), used)[:-1]


def _step(H: Float[Array, "t t"], g: Float[Array, " t"], at: _Iterate) -> _Iterate | None:
    """Return Mehrotra's step; None where rounding leaves none."""
    t, mu = len(g), float(at.z @ at.s) / len(g)
    try:
        factor = scipy.linalg.cho_factor(H + np.diag(at.s / at.z), check_finite=False)
    except np.linalg.LinAlgError:
        return None

    def solved(right: Float[Array, " t"]) -> Any:
        return scipy.linalg.cho_solve(factor, right, check_finite=False)

    of_ones, dual, total = solved(np.ones(t)), H @ at.z - g + at.level - at.s, float(at.z.sum()) - 1.0

    def towards(complement: Float[Array, " t"]) -> _Iterate:
        free = solved(complement / at.z - dual)
        level = (float(free.sum()) + total) / float(of_ones.sum())
        z = free - level * of_ones
        return _Iterate(z, (complement - at.s * z) / at.z, level)

    affine = towards(-at.z * at.s)
    after = float((at.z + _reach(at.z, affine.z) * affine.z) @ (at.s + _reach(at.s, affine.s) * affine.s)) / t
    step = towards((after / mu) ** 3 * mu - at.z * at.s - affine.z * affine.s)
    return step if np.isfinite(step.z).all() and np.isfinite(step.s).all() else None


def _reach(x: Float[Array, " t"], dx: Float[Array, " t"]) -> float:
    """Return how far along dx, 1 at most, x > 0 stays non-negative."""
    falls = dx < 0.0
    return min(1.0, float((-x[falls] / dx[falls]).min(initial=np.inf)))
