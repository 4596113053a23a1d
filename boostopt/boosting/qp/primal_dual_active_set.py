"""max g'z - 1/2 z'H z over the simplex by guesses of which weights are positive, from a good first one.

With the positive weights guessed, the conditions are linear equations. Their solution says which guesses were wrong:
weights below 0, and hypotheses of weight 0 whose slope is above the level of the others. These change sides all at once
[Hintermueller, Ito, Kunisch 2002, The primal-dual active set strategy as a semismooth Newton method]. From the weights
of the step before, two or three rounds are enough as a rule, where an interior point takes a dozen factors. There is no
promise that the guesses settle: then there is no answer, and an interior point is to be asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from boostopt._utils.array_types import Array, Bool, Float

RELATIVE_RIDGE = 1e-13
"""Share of the largest diagonal entry that is added to the diagonal, so that a factor exists."""

MAX_ITERATIONS = 12
"""Guesses at most."""

MAX_ITERATIONS_WITHOUT_PROGRESS = 3
"""Guesses in a row of which none was wrong less often than the best one before, after which they do not settle."""

REFACTOR_FRACTION = 0.1
"""Share of the weights of a factor that may have changed sides since, before another factor is cheaper."""

NEGATIVE_TOL, MULTIPLIER_TOL = 1e-12, 1e-11
"""What counts as below 0, and, as a share of the largest number of the program, as above the level."""

ACCEPTANCE_FACTOR = 100.0
"""Times what counts as above the level: what an answer may be short of the maximum, else it is none."""


def active_set_maximizer(
    H: Float[Array, "t t"], g: Float[Array, " t"], support: Bool[Array, " t"]
) -> Float[Array, " t"] | None:
    """Return the maximizer of g'z - 1/2 z'H z over the simplex; None where the guesses do not settle.

    Parameters
    ----------
    H
        Symmetric, positive semidefinite but for rounding.
    g
        Any finite numbers.
    support
        Which weights are guessed to be positive at first, one at least.
    """
    ridge = RELATIVE_RIDGE * float(H.diagonal().max())
    above = MULTIPLIER_TOL * max(float(H.diagonal().max()), float(np.ptp(g)))
    factor, fewest, waited = _UpdatableFactor.factorize(H, support, ridge), len(g) + 1, 0
    for _ in range(MAX_ITERATIONS):
        if (support != factor.support).sum() > REFACTOR_FRACTION * factor.support.sum():
            factor = _UpdatableFactor.factorize(H, support, ridge)
        z, level = factor.solve(g, support)
        if not np.isfinite(level):
            return None
        low, high = support & (z < -NEGATIVE_TOL), ~support & (g - H @ z > level + above)
        wrong = int(low.sum() + high.sum())
        if wrong == 0:
            return _normalized_if_optimal(H, g, np.maximum(z, 0.0), above)
        fewest, waited = (wrong, 0) if wrong < fewest else (fewest, waited + 1)
        support = (support & ~low) | high
        if waited == MAX_ITERATIONS_WITHOUT_PROGRESS or not support.any():
            return None
    return None


def _normalized_if_optimal(
    H: Float[Array, "t t"], g: Float[Array, " t"], z: Float[Array, " t"], above: float
) -> Float[Array, " t"] | None:
    """Return weights of sum 1 in proportion to z; None where what rounding has left of the equations is too little."""
    total = float(z.sum())
    if not (np.isfinite(total) and total > 0.0):
        return None
    z /= total
    slopes = g - H @ z
    return z if float(slopes.max() - slopes @ z) <= ACCEPTANCE_FACTOR * above else None


class _UpdatableFactor:
    """A Cholesky factor of H among the weights that were guessed to be positive, which serves guesses near that one.

    Weights that have become 0 since are held there by an equation each, and those that have become positive come with
    one more: together the Schur complement, a small indefinite matrix.
    """

    def __init__(self, H: Float[Array, "t t"], used: Bool[Array, " t"], ridge: float, factor: Any) -> None:
        self._H, self.support, self._ridge, self._factor = H, used, ridge, factor

    @classmethod
    def factorize(cls, H: Float[Array, "t t"], used: Bool[Array, " t"], ridge: float) -> _UpdatableFactor:
        """Return the factor; of nothing where rounding leaves none."""
        S = np.flatnonzero(used)
        A = H[np.ix_(S, S)]
        A.flat[:: len(S) + 1] += ridge
        try:
            factor = scipy.linalg.cho_factor(A, check_finite=False, overwrite_a=True)
        except np.linalg.LinAlgError:
            factor = None
        return cls(H, used, ridge, factor)

    def solve(self, g: Float[Array, " t"], used: Bool[Array, " t"]) -> tuple[Float[Array, " t"], float]:
        """Return z of sum 1, 0 where it is not used, with the same slope g - H z elsewhere, and that slope.

        The slope is NaN where rounding leaves no answer.
        """
        S, left, new = (
            np.flatnonzero(self.support),
            np.flatnonzero(self.support & ~used),
            np.flatnonzero(used & ~self.support),
        )
        z, right = np.zeros(len(g)), np.stack([g, np.ones(len(g))], axis=1)
        if self._factor is None:
            return z, np.nan
        both, joined = self._apply_inverse(right[S]), np.zeros((len(new), 2))
        if len(left) + len(new):
            border, k = np.zeros((len(S), len(new) + len(left))), len(new)
            border[:, :k] = self._H[np.ix_(S, new)]
            border[np.searchsorted(S, left), k + np.arange(len(left))] = 1.0
            through = self._apply_inverse(border)
            schur, rest = border.T @ through, border.T @ both
            schur[:k, :k] -= self._H[np.ix_(new, new)] + self._ridge * np.eye(k)
            rest[:k] -= right[new]
            try:
                shares = np.linalg.solve(schur, rest)
            except np.linalg.LinAlgError:
                return z, np.nan
            both, joined = both - through @ shares, shares[:k]
        of_g, of_ones = both.sum(axis=0) + joined.sum(axis=0)
        level = float((of_g - 1.0) / of_ones)
        z[S], z[new] = both @ (1.0, -level), joined @ (1.0, -level)
        z[left] = 0.0
        return z, level

    def _apply_inverse(self, right: Float[Array, "k m"]) -> Any:
        return scipy.linalg.cho_solve(self._factor, right, check_finite=False)
