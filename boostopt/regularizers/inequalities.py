"""Convex inequalities h(d) <= 0 known by CVXPY expressions: their values, tangents and multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import linprog

from boostopt.errors import ProblemError
from boostopt.expressions import gradient
from boostopt.shapes import Array, Float

MIXING = (0.0, 1e-12, 1e-9, 1e-6)
"""Shares of the inner point that are tried until a gradient exists: that of an entropy does not at a zero weight."""


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Convex inequalities h(d) <= 0, with k entries in all.

    Parameters
    ----------
    h
        The convex expressions.
    variable
        The CVXPY variable d in them, of shape (N,).
    inside
        A point, shape (N,), at which h has a gradient.
    """

    h: Sequence[Any]
    variable: Any
    inside: Float[Array, " N"]

    def __len__(self) -> int:
        return len(self.h)

    def values(self, d: Float[Array, " N"]) -> Float[Array, " k"]:
        """Return h(d)."""
        self.variable.value = d
        with np.errstate(all="ignore"):  # at the ends of its natural domain
            return np.concatenate([np.ravel(h.value) for h in self.h]) if self.h else np.zeros(0)

    def tangents(self, d: Float[Array, " N"]) -> tuple[Float[Array, "k N"], Float[Array, " k"]]:
        """Return (A, b) with h(d') >= A d' - b for all d', equal at d or as near to d as there is a gradient."""
        if not self.h:
            return np.zeros((0, len(d))), np.zeros(0)
        tangents = [self._tangent(h, d) for h in self.h]
        return np.concatenate([A for A, _ in tangents]), np.concatenate([b for _, b in tangents])

    def _tangent(self, h: Any, d: Float[Array, " N"]) -> tuple[Float[Array, "k N"], Float[Array, " k"]]:
        """Return (A, b) for one expression; zeros, which bound nothing, where it has no gradient at all."""
        for share in (*MIXING, 1.0):
            at = (1.0 - share) * d + share * self.inside
            A = gradient(h, self.variable, at)
            if A is not None and np.isfinite(np.asarray(h.value, dtype=np.float64)).all():
                # The tangent at the point whose gradient it is: with the value at another it may lie above h.
                return A, A @ at - np.ravel(h.value)
        return np.zeros((h.size, len(d))), np.zeros(h.size)


def left_side(constraint: Any) -> Any:
    """Return h of a CVXPY constraint h <= 0; ProblemError if it is no convex inequality."""
    from cvxpy.constraints.nonpos import Inequality

    if not isinstance(constraint, Inequality) or not constraint.is_dcp():
        raise ProblemError(
            f"a further constraint must be an inequality h(d) <= 0 with convex h; got {constraint}. Equations leave no "
            "strictly feasible point; write cones as inequalities of norms."
        )
    return constraint.expr


def may_fail(h: Any, variable: Any, center: Float[Array, " N"]) -> bool:
    """Whether h(d) <= 0 may fail on a capped simplex around `center`; d >= 0 and the like cannot."""
    variable.value = center
    if not h.is_affine() or (rows := h.grad.get(variable)) is None:
        return True
    # h(d') = h(center) + <rows, d' - center> is largest at a vertex, for rows <= 0 at most where d' = 0.
    return bool(scipy.sparse.csr_array(rows).max() > 0.0 or np.max(np.ravel(h.value) - center @ rows) > 0.0)


def multipliers(
    y: Float[Array, " N"], upper: Float[Array, " N"], A: Float[Array, "k N"], b: Float[Array, " k"]
) -> Float[Array, " k"]:
    """Return the multipliers of A d <= b in max <y, d> over sum d = 1, 0 <= d <= upper; zeros where none are found."""
    if not len(b):
        return np.zeros(0)
    ones, box = np.ones((1, len(y))), np.column_stack([np.zeros(len(y)), upper])
    answer: Any = linprog(-y, A_ub=A, b_ub=b, A_eq=ones, b_eq=[1.0], bounds=box, method="highs")
    return np.maximum(-answer.ineqlin.marginals, 0.0) if answer.status == 0 else np.zeros(len(b))
