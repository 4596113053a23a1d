"""Descriptions: a CVXPY expression, or an expression with constraints, that a user's function makes of its argument.

With further variables v, a description stands for the function min over v of g(x, v) subject to the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from boostopt._utils.cvxpy_tools import build_expression, call_user_function, cp, with_exact_exponents
from boostopt.errors import ProblemError, short_repr

PROBLEM_ATOMS = frozenset(
    {
        "MatrixFrac", "lambda_max", "lambda_sum_largest", "log_det", "normNuc", "perspective", "sigma_max", "tr_inv",
        "von_neumann_entr", "xexp",
    }
)  # fmt: skip
"""Atoms that only the certificates of problems have rules for."""


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
    def needs_problem(self) -> bool:
        """Whether bounds need the problem as a whole.

        This is so if there are further variables, constraints that are no inequalities, or one of `PROBLEM_ATOMS`.
        """
        from cvxpy.constraints.nonpos import Inequality

        parts = (self.expression, *self.constraints)
        return (
            bool(self.further_variables)
            or not all(isinstance(constraint, Inequality) for constraint in self.constraints)
            or any(type(atom).__name__ in PROBLEM_ATOMS for part in parts for atom in _atoms(part))
        )

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
    description = Description(
        variable, with_exact_exponents(expression), [with_exact_exponents(item) for item in constraints]
    )
    parameters = [leaf for part in (description.expression, *description.constraints) for leaf in part.parameters()]
    if parameters:
        raise ProblemError(
            f"{name} must have no parameter; got {', '.join(map(str, parameters))}. Replace parameters by numbers."
        )
    return description


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


def _atoms(part: Any) -> Iterator[Any]:
    """Yield an expression, or a constraint, and all its subexpressions."""
    yield part
    for argument in part.args:
        yield from _atoms(argument)
