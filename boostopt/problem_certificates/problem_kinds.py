"""The kinds of CVXPY problems: those that need another form, parts that are not convex, and continuous relaxations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.cvxpy_tools import cp
from boostopt.errors import ProblemError, format_names_truncated, reason_of
from boostopt.problem_certificates.constraint_parts import plain_words, shortened

MAX_PART_LENGTH = 100
"""Number of characters of a part that is not convex in a message."""


def check_kind(problem: Any) -> None:
    """Refuse parameters without values, and geometric and quasiconvex problems, which need another form.

    Raises
    ------
    ProblemError
        A parameter has no value, or the problem is only convex in logarithms, or only quasiconvex.
    """
    names = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if names:
        raise ProblemError(
            f"parameters must have values; got {format_names_truncated(names)} without one. Set {names[0]}.value"
            f"{' and so on' if len(names) > 1 else ''}."
        )
    check_form(problem)


def check_form(problem: Any) -> None:
    """Refuse geometric and quasiconvex problems, which need another form.

    Raises
    ------
    ProblemError
        The problem is only convex in logarithms, or only quasiconvex.
    """
    try:
        is_convex = problem.is_dcp()
    except (ValueError, ArithmeticError) as failure:  # of CVXPY's eigenvalues of a quadratic form
        raise ProblemError(
            f"expected data whose convexity CVXPY can test; it says: {reason_of(failure)}. Scale the data."
        ) from failure
    if not is_convex and problem.is_dgp():
        raise ProblemError(
            "expected a convex problem; got a geometric program, which is convex in the logarithms of its variables. "
            "Pass its log form, cvxpy.reductions.dgp2dcp.dgp2dcp.Dgp2Dcp().apply(problem)[0], with "
            'solver="auto": its optimum is the logarithm of that of the problem.'
        )
    if not is_convex and problem.is_dqcp():
        raise ProblemError(
            "expected a convex problem; got one that is only quasiconvex by CVXPY's rules. If it is convex, write it "
            "with other atoms, such as cp.norm(x) for cp.sqrt(cp.sum_squares(x)). If not, certify the convex "
            "feasibility problem at a level of the objective, once below and once above the optimum."
        )


def non_convex_part(problem: Any) -> str:
    """Return the objective or the first constraint that is not convex by CVXPY's rules; "" if there is none."""
    parts = (problem.objective, *problem.constraints)
    return next((f"'{shortened(plain_words(str(part)), MAX_PART_LENGTH)}'" for part in parts if not part.is_dcp()), "")


def relaxed_problem(problem: Any) -> tuple[Any, dict[Any, Any]]:
    """Return a problem with continuous variables in place of all, and the original of each of them.

    A boolean variable becomes one between 0 and 1. Parameters and constants become others with copies of the numbers,
    so that a solver that writes to them does not change the problem. The new problem has no values and no duals.
    """
    originals: dict[Any, Any] = {}
    copies: dict[int, Any] = {id(item): _copied_constant(item) for item in problem.constants()}
    for item in problem.parameters():
        value = _copied_arrays(item.value)
        copies[id(item)] = cp.Parameter(item.shape, name=item.name(), value=value, **_present_attributes(item))
    constraints = list[Any]()
    for variable in problem.variables():
        attributes = _present_attributes(variable)
        is_boolean = attributes.pop("boolean", False)
        attributes.pop("integer", None)
        copy = cp.Variable(variable.shape, name=variable.name(), **attributes)
        copies[id(variable)] = copy
        originals[copy] = variable
        if is_boolean:
            entries = copy if is_boolean is True else copy[tuple(map(np.asarray, variable.boolean_idx))]
            constraints += [entries >= 0, entries <= 1]
    for part in (problem.objective, *problem.constraints) if cp.perspective in problem.atoms() else ():
        _copy_perspectives(part, copies)
    objective = type(problem.objective)(problem.objective.args[0].tree_copy(copies))
    constraints += [constraint.tree_copy(copies) for constraint in problem.constraints]
    return cp.Problem(objective, constraints), originals


def _copy_perspectives(expression: Any, copies: dict[int, Any]) -> None:
    """Add copies of the perspectives in an expression, whose functions CVXPY does not copy with their arguments."""
    for argument in expression.args:
        _copy_perspectives(argument, copies)
    atom: Any = cp.perspective
    if type(expression) is atom and id(expression) not in copies:
        functions = [part for part in (expression.f, expression.f_recession) if part is not None]
        for part in functions:
            copies.update({id(item): _copied_constant(item) for item in part.constants()})
            _copy_perspectives(part, copies)
        f, *recession = (part.tree_copy(copies) for part in functions)
        copies[id(expression)] = atom(f, expression.args[0].tree_copy(copies), *recession)


def _present_attributes(leaf: Any) -> dict[str, Any]:
    """Return the attributes that a variable or a parameter has, with copies of their arrays."""
    present = {key: value for key, value in leaf.attributes.items() if value is not None and value is not False}
    return {key: _copied_arrays(value) for key, value in present.items()}


def _copied_constant(constant: Any) -> Any:
    """Return another constant with a copy of the numbers, and with the name if it has one."""
    name = getattr(constant, "_name", None)  # older versions of CVXPY know no names of constants
    return cp.Constant(_copied_arrays(constant.value), **({} if name is None else {"name": name}))


def _copied_arrays(value: Any) -> Any:
    """Return a value with copies of its arrays: an array, a sparse matrix, or a list or tuple of such."""
    if isinstance(value, np.ndarray) or scipy.sparse.issparse(value):
        return value.copy()
    return type(value)(map(_copied_arrays, value)) if type(value) in (list, tuple) else value
