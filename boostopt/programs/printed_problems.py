"""The problems of a formulation as printed: an objective, and constraints named after their multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_instance, check_number, invalid_value_error, is_real_number
from boostopt.errors import ProblemError


def minimize(objective: Any, subject_to: Mapping[str, Any]) -> Any:
    """Return the `cvxpy.Problem` that minimizes an objective, with each constraint labelled by its key."""
    return cp.Problem(cp.Minimize(_read(objective)), _labelled(subject_to))


def maximize(objective: Any, subject_to: Mapping[str, Any]) -> Any:
    """Return the `cvxpy.Problem` that maximizes an objective, with each constraint labelled by its key."""
    return cp.Problem(cp.Maximize(_read(objective)), _labelled(subject_to))


def _read(objective: Any) -> Any:
    """Return an objective that CVXPY takes."""
    expected, advice = "a scalar CVXPY expression or a number", "Sum it: cp.sum(...)."
    if is_real_number(objective):
        return check_number("objective", objective, expected, lambda value: True, advice, ProblemError)
    expression = check_instance("objective", objective, cp.Expression, expected, advice, ProblemError)
    if expression.size != 1:
        raise invalid_value_error("objective", expected, expression, advice, ProblemError)
    return expression


def _labelled(subject_to: Mapping[str, Any]) -> list[Any]:
    """Return constraints, each labelled by its key."""
    expected, advice = "constraints by the names of their multipliers", 'Pass {"w": U.T @ d <= gamma, ...}.'
    named = check_instance("subject_to", subject_to, Mapping, expected, advice, ProblemError)
    for name, constraint in named.items():
        if not isinstance(name, str):
            raise invalid_value_error("subject_to", expected, subject_to, advice, ProblemError)
        check_instance(f"the constraint {name}", constraint, cp.Constraint, "a CVXPY constraint", advice, ProblemError)
    return [constraint.set_label(name) for name, constraint in named.items()]
