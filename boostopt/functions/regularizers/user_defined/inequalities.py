"""Convex inequalities h(d) <= 0 known by CVXPY expressions: their values, and linearized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt.errors import ProblemError
from boostopt.functions.minorants.expression_trees import ExpressionNode, build_tree
from boostopt.functions.minorants.linearization import Linearization, Tangent, subgradient_multipliers

INTERIOR_MIX_FRACTIONS = (0.0, 1e-12, 1e-9, 1e-6)
"""Shares of the inner point that are tried until a gradient exists: that of an entropy does not at a zero weight."""


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Convex inequalities h(d) <= 0, with k entries in all.

    Parameters
    ----------
    expressions
        The convex expressions.
    variable
        The CVXPY variable d in them, of shape (N,).
    interior_point
        A point, shape (N,), at which h has a subgradient.
    """

    expressions: Sequence[Any]
    variable: Any
    interior_point: Float[Array, " N"]

    def __len__(self) -> int:
        return len(self.expressions)

    def values(self, d: Float[Array, " N"]) -> Float[Array, " k"]:
        """Return h(d)."""
        self.variable.value = d
        with np.errstate(all="ignore"):  # at the ends of its natural domain
            return (
                np.concatenate([np.ravel(h.value, order="F") for h in self.expressions])
                if self.expressions
                else np.zeros(0)
            )

    @cached_property
    def _trees(self) -> list[ExpressionNode]:
        return [build_tree(h, self.variable) for h in self.expressions]

    def linearize_at(self, d: Float[Array, " N"]) -> list[tuple[Linearization, int]]:
        """Return each with its number of entries, linearized at d or as near to d as it has a subgradient."""
        return [
            (self._linearized(tree, h.size, d), h.size) for tree, h in zip(self._trees, self.expressions, strict=True)
        ]

    def _linearized(self, tree: ExpressionNode, size: int, d: Float[Array, " N"]) -> Linearization:
        """Return one of them, 0, which bounds nothing, where it has no subgradient at all."""
        for share in (*INTERIOR_MIX_FRACTIONS, 1.0):
            self.variable.value = (1.0 - share) * d + share * self.interior_point
            if (found := tree.linearize()) is not None:
                return found
        return Tangent(scipy.sparse.csr_array((size, len(d))), np.zeros(size))

    def normals(self, d: Float[Array, " N"]) -> Float[Array, "k N"]:
        """Return a subgradient of each entry at d or as near to d as there is one."""
        rows = [h.pullback(unit, subgradient_multipliers)[0] for h, k in self.linearize_at(d) for unit in np.eye(k)]
        return np.array(rows).reshape(len(rows), len(d))


def inequality_expression(constraint: Any) -> Any:
    """Return h of a CVXPY constraint h <= 0; ProblemError if it is no convex inequality."""
    from cvxpy.constraints.nonpos import Inequality

    if not isinstance(constraint, Inequality) or not constraint.is_dcp():
        raise ProblemError(
            f"a further constraint must be an inequality h(d) <= 0 with convex h; got {constraint}. Leave out "
            "equations, which have no strictly feasible point, and write cones as inequalities of norms."
        )
    return constraint.expr


def holds_by_sign(constraint: Any) -> bool:
    """Return whether the signs that CVXPY knows are enough for an inequality to hold, as of 0 <= abs(d)."""
    from cvxpy.constraints.nonpos import Inequality

    return isinstance(constraint, Inequality) and constraint.expr.is_nonpos()


def can_be_violated(h: Any, variable: Any, center: Float[Array, " N"]) -> bool:
    """Whether h(d) <= 0 may fail on a capped simplex around `center`; d >= 0 and the like cannot."""
    variable.value = center
    if not h.is_affine() or (rows := h.grad.get(variable)) is None:
        return True
    rows = scipy.sparse.csr_array([[rows]] if np.ndim(rows) == 0 else rows)  # of one example a number
    # h(d') = h(center) + <rows, d' - center> is largest at a vertex, for rows <= 0 at most where d' = 0.
    return bool(rows.max() > 0.0 or np.max(np.ravel(h.value) - center @ rows) > 0.0)
