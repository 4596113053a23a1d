"""Descriptions: a CVXPY expression, or an expression with constraints, that a user's function makes of its argument.

With further variables v, a description stands for the function min over v of g(x, v) subject to the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.cvxpy_tools import build_expression, call_user_function, cp, with_exact_exponents
from boostopt.errors import ProblemError, short_repr

MIX_FRACTIONS = (*(10.0**-k for k in range(15, 0, -1)), 0.5, 1.0)
"""Fractions of an inner point, tried in turn until a point is proved feasible.

Rounding needs about the first ones, and errors of solvers those in the middle. With one for each power of 10, a point
moves at most ten times as far as it must.
"""


@dataclass(frozen=True, eq=False)
class Description:
    """A convex expression g of a variable x, and perhaps of further variables, with constraints.

    Attributes
    ----------
    variable
        The CVXPY variable x.
    expression
        The CVXPY expression g.
    constraints
        The CVXPY constraints.
    """

    variable: Any
    expression: Any
    constraints: Sequence[Any]

    @property
    def further_variables(self) -> list[Any]:
        """The variables besides x."""
        variables: dict[int, Any] = {}
        for part in (self.expression, *self.constraints):
            variables |= {item.id: item for item in part.variables()}
        variables.pop(self.variable.id, None)
        return list(variables.values())

    @property
    def is_of_inequalities(self) -> bool:
        """True if there are no further variables, and all constraints are inequalities."""
        from cvxpy.constraints.nonpos import Inequality

        return not self.further_variables and all(isinstance(item, Inequality) for item in self.constraints)

    @property
    def is_piecewise_linear(self) -> bool:
        """True if minima of the expression over the further variables are linear programs."""
        from cvxpy.constraints.nonpos import Inequality
        from cvxpy.constraints.zero import Equality

        return self.expression.is_pwl() and all(
            isinstance(item, Inequality | Equality) and item.expr.is_pwl() for item in self.constraints
        )

    @property
    def has_argument(self) -> bool:
        """True if x is in the expression or in a constraint."""
        parts = (self.expression, *self.constraints)
        return any(item.id == self.variable.id for part in parts for item in part.variables())

    def with_argument(self, argument: Any) -> tuple[Any, list[Any]]:
        """Return the expression and the constraints for an affine argument, with new further variables."""
        copies: dict[int, Any] = {id(self.variable): argument}
        for item in self.further_variables:
            attributes = {
                key: value for key, value in item.attributes.items() if value is not None and value is not False
            }
            copies[id(item)] = cp.Variable(item.shape, name=item.name(), **attributes)
        return self.expression.tree_copy(copies), [constraint.tree_copy(copies) for constraint in self.constraints]


def read_description(name: str, make: Callable[[Any], Any], variable: Any) -> Description:
    """Return the description that a user's function makes of a variable.

    Raises
    ------
    ProblemError
        The function raises an error, or returns neither an expression nor a pair of an expression and a list of
        constraints; or the expression or a constraint has a parameter.
    """
    result = call_user_function(name, make, variable, "a CVXPY expression, or a pair of one and its constraints")
    is_pair = isinstance(result, tuple)
    result, constraints = _read_pair(name, result) if is_pair else (result, [])
    expression = build_expression(name, lambda _: result, variable, has_further_variables=is_pair)
    if expression.is_constant() and not is_pair:  # a problem has the variables that are in it
        expression = expression + np.zeros(variable.size) @ variable
    description = Description(variable, with_exact_atoms(expression), [with_exact_atoms(item) for item in constraints])
    check_no_parameters(name, (description.expression, *description.constraints))
    return description


def check_no_parameters(name: str, parts: Sequence[Any]) -> None:
    """Raise ProblemError if an expression or a constraint has a parameter of CVXPY, whose value may change."""
    parameters = [leaf for part in parts for leaf in part.parameters()]
    if parameters:
        raise ProblemError(
            f"{name} must have no parameter; got {', '.join(map(str, parameters))}. Replace parameters by numbers."
        )


def with_exact_atoms(node: Any) -> Any:
    """Return an expression or a constraint for which CVXPY solves what its values are.

    Exponents are those that were written. The largest k of fewer than k entries are all of them: CVXPY's linear program
    for these is unbounded.
    """
    return _with_whole_sums(with_exact_exponents(node))


def _with_whole_sums(node: Any) -> Any:
    """Return a node with sums in place of `sum_largest` of fewer entries than it counts."""
    args = [_with_whole_sums(argument) for argument in node.args]
    if isinstance(node, cp.sum_largest):
        axis = getattr(node, "axis", None)
        count = node.args[0].size if axis is None else np.prod(np.take(node.args[0].shape, axis))
        if node.k > count:
            return cp.sum(args[0], axis=axis, keepdims=getattr(node, "keepdims", False))
    if all(new is old for new, old in zip(args, node.args, strict=True)):
        return node
    copy = node.copy(args)
    return copy.set_label(node.label) if isinstance(node, cp.Constraint) else copy


def _read_pair(name: str, pair: tuple[Any, ...]) -> tuple[Any, Sequence[Any]]:
    """Return the expression and the constraints of a pair.

    Raises
    ------
    ProblemError
        It is no pair of an expression and convex constraints.
    """
    expected = f"{name} must return a CVXPY expression, or a pair of one and a list of CVXPY constraints"
    if len(pair) != 2 or not isinstance(pair[1], list | tuple):
        raise ProblemError(f"{expected}; got {short_repr(pair)}. Return (expression, [constraints]).")
    check_constraints(f"the constraints of {name}", pair[1])
    return pair[0], list(pair[1])


def check_constraints(name: str, constraints: Sequence[Any]) -> None:
    """Check that all entries are convex CVXPY constraints.

    Raises
    ------
    ProblemError
        An entry is no constraint, or not convex by CVXPY's rules.
    """
    for constraint in constraints:
        if not isinstance(constraint, cp.Constraint):
            raise ProblemError(f"{name} must be CVXPY constraints; got {short_repr(constraint)}. Write <=, >= or ==.")
        if not constraint.is_dcp():
            raise ProblemError(
                f"{name} must be convex by the rules of disciplined convex programming: convex <= concave, and == "
                f"between affine expressions; got {constraint}. Correct the constraint."
            )
