"""The maximum of g'z - 1/2 z'H z over the simplex, by a primal-dual active set method with a warm start.

For a given support, the set of the positive weights, the optimality conditions are linear equations. Their solution
shows the errors of the support: weights below 0, and weights of 0 whose slope exceeds the slope of the positive
weights. All of them change sides at once [Hintermueller, Ito, Kunisch 2002, The primal-dual active set strategy as a
semismooth Newton method]. From the support of the previous step, two or three iterations are usually enough, while an
interior point method needs a dozen factorizations. The iterations need not converge. Then there is no answer, and the
caller uses an interior point method.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from scipy.linalg import get_lapack_funcs

from boostopt._utils.array_types import Array, Bool, Float, HypothesisVector

RELATIVE_RIDGE = 1e-13
"""The ridge on the diagonal, as a fraction of the largest diagonal entry, with which a factor exists."""

SINGULAR_RELATIVE_RIDGE = 1e-10
"""The ridge with which a factor of a matrix of lower rank has no errors as large as the matrix."""

cholesky_factor, cholesky_solution = cast(Any, get_lapack_funcs(("potrf", "potrs"), dtype=np.float64))
"""LAPACK's factor of a matrix and solution of its equations: SciPy's checks of small matrices take as long."""

MAX_ITERATIONS = 12
"""The largest number of iterations."""

MAX_ITERATIONS_WITHOUT_PROGRESS = 3
"""The consecutive iterations without fewer errors of the support after which the method stops."""

REFACTOR_FRACTION = 0.1
"""The fraction of the weights of a factor that may change sides before a new factor is cheaper."""

NEGATIVE_TOL, MULTIPLIER_TOL = 1e-12, 1e-11
"""The tolerances of negative weights, and of slopes above the level as a fraction of the largest coefficient."""

ACCEPTANCE_FACTOR = 100.0
"""The largest error of an answer, as a multiple of the tolerance of slopes."""


def active_set_maximizer(
    H: Float[Array, "t t"], g: HypothesisVector, support: Bool[Array, " t"], relative_ridge: float = RELATIVE_RIDGE
) -> HypothesisVector | None:
    """Return the maximizer of g'z - 1/2 z'H z over the simplex; None if the method does not converge.

    Parameters
    ----------
    H
        A symmetric matrix, positive semidefinite up to rounding.
    g
        Finite numbers, shape (t,).
    support
        The guess of the support, with at least one weight, shape (t,).
    relative_ridge
        The ridge on the diagonal, as a fraction of the largest diagonal entry. Slopes have errors of this size.
    """
    ridge = relative_ridge * float(H.diagonal().max())
    slope_tol = MULTIPLIER_TOL * max(float(H.diagonal().max()), float(np.ptp(g))) + ridge
    factor, fewest_errors, n_without_progress = _UpdatableFactor.factorize(H, support, ridge), len(g) + 1, 0
    for _ in range(MAX_ITERATIONS):
        if (support != factor.support).sum() > REFACTOR_FRACTION * factor.support.sum():
            factor = _UpdatableFactor.factorize(H, support, ridge)
        z, level = factor.solve(g, support)
        if not np.isfinite(level):
            return None
        low, high = support & (z < -NEGATIVE_TOL), ~support & (g - H @ z > level + slope_tol)
        n_errors = int(low.sum() + high.sum())
        if n_errors == 0:
            return _normalized_if_optimal(H, g, np.maximum(z, 0.0), slope_tol)
        if n_errors < fewest_errors:
            fewest_errors, n_without_progress = n_errors, 0
        else:
            n_without_progress += 1
        support = (support & ~low) | high
        if n_without_progress == MAX_ITERATIONS_WITHOUT_PROGRESS or not support.any():
            return None
    return None


def _normalized_if_optimal(
    H: Float[Array, "t t"], g: HypothesisVector, z: HypothesisVector, slope_tol: float
) -> HypothesisVector | None:
    """Return z over its sum; None if rounding errors make it too inaccurate a maximizer."""
    total = float(z.sum())
    if not (np.isfinite(total) and total > 0.0):
        return None
    z /= total
    slopes = g - H @ z
    return z if float(slopes.max() - slopes @ z) <= ACCEPTANCE_FACTOR * slope_tol else None


class _UpdatableFactor:
    """A Cholesky factor of H over a support, which also solves the equations of similar supports.

    Each weight that leaves the support adds one equation, and each weight that enters adds one variable. The Schur
    complement of both is a small indefinite matrix.

    Attributes
    ----------
    support
        The support of the factor, shape (t,).
    """

    def __init__(self, H: Float[Array, "t t"], support: Bool[Array, " t"], ridge: float, factor: Any) -> None:
        self._H, self.support, self._ridge, self._factor = H, support, ridge, factor

    @classmethod
    def factorize(cls, H: Float[Array, "t t"], support: Bool[Array, " t"], ridge: float) -> _UpdatableFactor:
        """Factorize H over a support; without a factor if rounding errors prevent it."""
        S = np.flatnonzero(support)
        A = H.take(S, axis=0).take(S, axis=1)  # in half of the time of one selection of both
        A.flat[:: len(S) + 1] += ridge
        factor, failure = cholesky_factor(A, overwrite_a=True, clean=False)
        return cls(H, support, ridge, None if failure else factor)

    def solve(self, g: HypothesisVector, support: Bool[Array, " t"]) -> tuple[HypothesisVector, float]:
        """Return z with sum 1 over a support, with equal slopes g - H z on the support, and the slope.

        The slope is nan if rounding errors prevent a solution.
        """
        S, is_changed = np.flatnonzero(self.support), self.support != support
        dropped_columns, new = np.flatnonzero(self.support & is_changed), np.flatnonzero(support & is_changed)
        z, rhs = np.zeros(len(g)), np.ones((len(g), 2))
        rhs[:, 0] = g
        if self._factor is None:
            return z, np.nan
        S_solutions, new_solutions = self._apply_inverse(rhs[S]), np.zeros((len(new), 2))
        if len(dropped_columns) + len(new):
            border, k = np.zeros((len(S), len(new) + len(dropped_columns))), len(new)
            border[:, :k] = self._H[np.ix_(S, new)]
            border[np.searchsorted(S, dropped_columns), k + np.arange(len(dropped_columns))] = 1.0
            border_solutions = self._apply_inverse(border)
            schur, schur_rhs = border.T @ border_solutions, border.T @ S_solutions
            schur[:k, :k] -= self._H[np.ix_(new, new)] + self._ridge * np.eye(k)
            schur_rhs[:k] -= rhs[new]
            try:
                corrections = np.linalg.solve(schur, schur_rhs)
            except np.linalg.LinAlgError:
                return z, np.nan
            S_solutions, new_solutions = S_solutions - border_solutions @ corrections, corrections[:k]
        g_sum, ones_sum = S_solutions.sum(axis=0) + new_solutions.sum(axis=0)
        level = float((g_sum - 1.0) / ones_sum)
        z[S], z[new] = S_solutions @ (1.0, -level), new_solutions @ (1.0, -level)
        z[dropped_columns] = 0.0
        return z, level

    def _apply_inverse(self, rhs: Float[Array, "k m"]) -> Any:
        solution, _ = cholesky_solution(self._factor, rhs)
        return solution
