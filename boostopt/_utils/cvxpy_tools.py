"""CVXPY, loaded on first use, and tools for CVXPY expressions: required cones, solves without warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from boostopt._utils.validation import check_number
from boostopt.errors import BoostoptError, ProblemError, is_panic, reason_on_one_line

if TYPE_CHECKING:
    import cvxpy as cp
else:

    class _LazyModule:
        """CVXPY as a module that is imported on first use: the import takes a second."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("cvxpy"), name)

    cp = _LazyModule()

CVXPY_ATOM_ADVICE = (
    "Write it with functions of CVXPY such as cp.sum, cp.log and cp.power: those of NumPy take no variables."
)
"""Advice if a function returns no expression."""


def build_expression(name: str, make: Callable[[Any], Any], variable: Any, has_further_variables: bool = False) -> Any:
    """Return the CVXPY expression that a user's function makes of a variable; it may have others if this is said.

    Raises
    ------
    ProblemError
        The function raises an error, or returns no expression.
    """
    result = call_user_function(name, make, variable, "a CVXPY expression")
    if not isinstance(result, cp.Expression):
        result = check_number(
            f"the result of {name}", result, "a CVXPY expression", advice=CVXPY_ATOM_ADVICE, error=ProblemError
        )
    expression: Any = cp.Constant(0.0) + result
    if not has_further_variables:
        check_variables(name, expression, variable)
    return cp.sum(expression) if expression.size == 1 and expression.ndim else expression


def with_exact_exponents(node: Any) -> Any:
    """Return a CVXPY expression or constraint with the exponents as written.

    CVXPY replaces the exponents of `power` and `pnorm` by ratios unless `approx=False`. A power then has the value
    for the exponent but the gradient for the ratio, so that a tangent may lie above the function. A solver gets the
    function with the ratio, which has another optimum.
    """
    args = [with_exact_exponents(arg) for arg in node.args]
    if getattr(node, "approx_error", 0.0) > 0.0:
        if isinstance(node, cp.Power):
            return cp.power(args[0], node.p, approx=False)
        if isinstance(node, cp.Pnorm):
            axes: dict[str, Any] = {"axis": node.axis, "keepdims": node.keepdims}
            return cp.pnorm(args[0], node.original_p, approx=False, **axes)
    if all(new is old for new, old in zip(args, node.args, strict=True)):
        return node
    copy = node.copy(args)
    return copy.set_label(node.label) if isinstance(node, cp.Constraint) else copy


def check_variables(name: str, expression: Any, variable: Any) -> None:
    """Raise ProblemError if an expression or a constraint has a variable or a parameter besides one variable."""
    foreign = [leaf for leaf in (*expression.variables(), *expression.parameters()) if leaf.id != variable.id]
    if foreign:
        raise ProblemError(
            f"{name} must have no variable or parameter except its argument; got {', '.join(map(str, foreign))} as "
            "well. Replace them by numbers."
        )


def call_user_function(name: str, make: Callable[[Any], Any], variable: Any, expected: str) -> Any:
    """Return the result of a user's function for a variable; an exception becomes a ProblemError."""
    try:
        return make(variable)
    except BoostoptError:
        raise
    except Exception as failure:
        reason = reason_on_one_line(failure, 200)
        raise ProblemError(
            f"{name} must make {expected} of its argument; got {type(failure).__name__}: {reason}. {CVXPY_ATOM_ADVICE}"
        ) from failure


def required_cones(problem: Any) -> frozenset[str]:
    """Return the cones that a solver must support for a CVXPY problem, named as in regularizers and edge functions."""
    clear_variable_values(problem)
    with np.errstate(all="ignore"):  # CVXPY multiplies infinite bounds of variables
        data = problem.get_problem_data("CLARABEL", solver_opts={})[0]
    dims, quadratic = data["dims"], data.get("P")
    uses = {
        "second_order": len(dims.soc) > 0,
        "quadratic": quadratic is not None and quadratic.nnz > 0,
        "exponential": dims.exp > 0,
        "power": len(dims.p3d) > 0,
        "semidefinite": len(dims.psd) > 0,
    }
    return frozenset({"linear", *(cone for cone, is_used in uses.items() if is_used)})


def solve_quietly(problem: Any, solver: str, ignore_dpp: bool = False, **options: Any) -> BaseException | None:
    """Solve a problem without warnings of inaccuracy; return what CVXPY or the solver raised, None if nothing."""
    try:
        with warnings.catch_warnings(action="ignore"):
            problem.solve(solver, ignore_dpp=ignore_dpp, **options)
    except Exception as failure:  # noqa: BLE001 - CVXPY and solvers raise nearly anything: their failure is the answer
        return failure
    except BaseException as failure:
        if not is_panic(failure):
            raise
        return failure
    return None


def clear_variable_values(problem: Any) -> None:
    """Clear the values of the variables: with values, CVXPY's form of sum_largest of a fraction or of all fails."""
    for variable in problem.variables():
        variable.value = None
