"""Convex inequalities h(d) <= 0, given by CVXPY expressions: their values, linearizations and subgradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.errors import ProblemError
from boostopt.functions.minorants.expression_trees import ExpressionNode, build_tree
from boostopt.functions.minorants.linearization import Linearization, Tangent, subgradient_multipliers

INTERIOR_MIX_FRACTIONS = (0.0, 1e-12, 1e-9, 1e-6)
"""Fractions of the inner point that are mixed in, in turn, until a subgradient exists. An entropy has none at weight
0."""


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Convex inequalities h(d) <= 0, with k entries in total.

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
    interior_point: ExampleVector

    def __len__(self) -> int:
        return len(self.expressions)

    def values(self, d: ExampleVector) -> Float[Array, " k"]:
        """Return h(d), shape (k,)."""
        self.variable.value = d
        if not self.expressions:
            return np.zeros(0)
        with np.errstate(all="ignore"):  # d may lie at an end of the natural domain of h
            return np.concatenate([np.ravel(h.value, order="F") for h in self.expressions])

    @cached_property
    def _trees(self) -> list[ExpressionNode]:
        return [build_tree(h, self.variable) for h in self.expressions]

    def linearize_at(self, d: ExampleVector) -> list[tuple[Linearization, int]]:
        """Return the linearization and the number of entries of each inequality, at d or near d if none exists at d."""
        trees = zip(self._trees, self.expressions, strict=True)
        return [(self._linearize_tree(tree, h.size, d), h.size) for tree, h in trees]

    def _linearize_tree(self, tree: ExpressionNode, size: int, d: ExampleVector) -> Linearization:
        """Return the linearization of one expression; if it has no subgradient at all, 0, which bounds nothing."""
        for fraction in (*INTERIOR_MIX_FRACTIONS, 1.0):
            self.variable.value = (1.0 - fraction) * d + fraction * self.interior_point
            if (linearization := tree.linearize()) is not None:
                return linearization
        return Tangent(scipy.sparse.csr_array((size, len(d))), np.zeros(size))

    def normals(self, d: ExampleVector) -> Float[Array, "k N"]:
        """Return a subgradient of each entry of h, at d or near d if none exists at d."""
        rows = [h.pullback(unit, subgradient_multipliers)[0] for h, k in self.linearize_at(d) for unit in np.eye(k)]
        return np.array(rows).reshape(len(rows), len(d))


def inequality_expression(constraint: Any) -> Any:
    """Return h of a CVXPY constraint h <= 0.

    Raises
    ------
    ProblemError
        The constraint is not an inequality with a convex h.
    """
    from cvxpy.constraints.nonpos import Inequality

    if not isinstance(constraint, Inequality) or not constraint.is_dcp():
        raise ProblemError(
            f"a further constraint must be an inequality h(d) <= 0 with convex h; got {constraint}. Leave out "
            "equations, which have no strictly feasible point, and write cones as inequalities of norms."
        )
    return constraint.expr


def holds_by_sign(constraint: Any) -> bool:
    """Return whether an inequality always holds by the signs that CVXPY derives, such as 0 <= abs(d)."""
    from cvxpy.constraints.nonpos import Inequality

    return isinstance(constraint, Inequality) and constraint.expr.is_nonpos()


def can_be_violated(h: Any, variable: Any, center: ExampleVector) -> bool:
    """Return whether h(d) <= 0 may fail on a capped simplex with the point `center`; d >= 0 cannot fail."""
    variable.value = center
    if not h.is_affine() or (rows := h.grad.get(variable)) is None:
        return True
    rows = scipy.sparse.csr_array([[rows]] if np.ndim(rows) == 0 else rows)  # with one example, CVXPY returns a number
    # If rows <= 0, h(d) = h(center) + <rows, d - center> is at most h(center) - <rows, center>, its value at d = 0.
    return bool(rows.max() > 0.0 or np.max(np.ravel(h.value) - center @ rows) > 0.0)
