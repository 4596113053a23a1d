"""The maximum of g'z - 1/2 z'H z over the simplex, for a large matrix H that is known by its products.

An active set method as in `primal_dual_active_set`. Conjugate gradients solve the equations of a support, with a
preconditioner that belongs to the matrix, until the slopes are equal to within a tolerance. Products cost less than a
factor of H, and an inexact answer is enough for a Newton step: the caller evaluates the objective.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from boostopt._utils.array_types import Array, Bool, HypothesisVector
from boostopt.boosting.qp.primal_dual_active_set import MULTIPLIER_TOL, NEGATIVE_TOL

MAX_SUPPORTS, MAX_PRODUCTS_PER_SUPPORT = 12, 100
"""The largest number of supports, and of products for each."""

Preconditioner = Callable[[HypothesisVector], HypothesisVector]
"""A function of slopes on a support that returns nearly the step which makes them 0; both are 0 off the support."""


class SymmetricOperator(ABC):
    """A symmetric, positive semidefinite matrix that is known by its products, with a preconditioner."""

    @abstractmethod
    def __matmul__(self, z: HypothesisVector) -> HypothesisVector:
        """Return the product with a vector."""

    @abstractmethod
    def preconditioner(self, support: Bool[Array, " t"]) -> Preconditioner:
        """Return a preconditioner of the matrix over a support."""


def operator_maximizer(
    H: SymmetricOperator, g: HypothesisVector, z: HypothesisVector, support: Bool[Array, " t"], tolerance: float
) -> HypothesisVector:
    """Return a point of the simplex near the maximizer of g'z - 1/2 z'H z.

    Parameters
    ----------
    H, g
        The matrix, and finite numbers, shape (t,).
    z
        Weights from which the method starts, shape (t,).
    support
        The guess of the support, with at least one weight.
    tolerance
        The largest distance of slopes g - H z on the support from their level, and of others above it.
    """
    z, tolerance = np.where(support, z, 0.0), tolerance + MULTIPLIER_TOL * float(np.abs(g).max())
    for _ in range(MAX_SUPPORTS):
        z, slopes, level = _solve_on_support(H, g, z, support, tolerance)
        low, high = support & (z < -NEGATIVE_TOL), ~support & (slopes > level + tolerance)
        if not (low | high).any():
            break
        z[low] = 0.0
        support = (support & ~low) | high
    z = np.maximum(z, 0.0)
    return z / z.sum()


def _solve_on_support(
    H: SymmetricOperator, g: HypothesisVector, z: HypothesisVector, support: Bool[Array, " t"], tolerance: float
) -> tuple[HypothesisVector, HypothesisVector, float]:
    """Return weights on a support with sum 1 and nearly equal slopes, all slopes g - H z, and the level of these.

    Parameters
    ----------
    z
        Weights on the support from which the method starts, with any sum and any signs.
    """
    apply, ones = H.preconditioner(support), support.astype(np.float64)
    ones_step, direction, last_decrease = apply(ones), np.zeros(len(z)), np.inf
    # Of all steps with this sum, this one changes the slopes least. To scale the weights changes them more.
    z = z + ((1.0 - float(z.sum())) / float(ones_step.sum())) * ones_step
    slopes = g - H @ z
    for _ in range(MAX_PRODUCTS_PER_SUPPORT):
        step = apply(slopes * ones)
        level = float(step.sum()) / float(ones_step.sum())  # with it, the step keeps the sum of the weights
        residual = (slopes - level) * ones
        if float(np.abs(residual).max()) <= tolerance:
            break
        step -= level * ones_step
        decrease = float(residual @ step)
        direction = step + (decrease / last_decrease) * direction
        product = H @ direction
        curvature = float(direction @ product)
        if not curvature > 0.0:
            break
        length = decrease / curvature
        z, slopes, last_decrease = z + length * direction, slopes - length * product, decrease
    return z, slopes, float(slopes @ ones) / float(ones.sum())
