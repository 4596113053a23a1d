"""Convex inequalities h(d) <= 0, given by CVXPY expressions: their values in floating point."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.errors import ProblemError
from boostopt.programs.cvxpy_functions.cvxpy_description import Description


class Inequalities:
    """The inequalities h(d) <= 0 of a description, with k entries in total.

    Parameters
    ----------
    description
        A description without further variables, whose constraints are inequalities.
    """

    def __init__(self, description: Description) -> None:
        self._variable = description.variable
        self._expressions = [inequality_expression(constraint) for constraint in description.constraints]

    def values(self, d: ExampleVector) -> Float[Array, " k"]:
        """Return h(d), shape (k,), in the order of the rows of a problem with these inequalities."""
        self._variable.value = d
        with np.errstate(all="ignore"):  # d may lie at an end of the natural domain of h, or overflow
            return np.concatenate([np.zeros(0), *(np.ravel(h.value) for h in self._expressions)])

    def largest(self, d: ExampleVector) -> float:
        """Return the largest entry of h(d), -inf if there is none; nan outside the natural domain."""
        return float(self.values(d).max(initial=-np.inf))


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


def is_open_inequality(constraint: Any) -> bool:
    """Return whether a constraint is a convex inequality that signs alone do not prove, as they prove 0 <= abs(d)."""
    from cvxpy.constraints.nonpos import Inequality

    return isinstance(constraint, Inequality) and constraint.is_dcp() and not constraint.expr.is_nonpos()


def can_be_violated(h: Any, variable: Any, center: ExampleVector) -> bool:
    """Return whether h(d) <= 0 may fail on a capped simplex with the point `center`; d >= 0 cannot fail."""
    variable.value = center
    if not h.is_affine() or (rows := h.grad.get(variable)) is None:
        return True
    rows = scipy.sparse.csr_array([[rows]] if np.ndim(rows) == 0 else rows)  # with one example, CVXPY returns a number
    # If rows <= 0, h(d) = h(center) + <rows, d - center> is at most h(center) - <rows, center>, its value at d = 0.
    return bool(rows.max() > 0.0 or np.max(np.ravel(h.value) - center @ rows) > 0.0)
