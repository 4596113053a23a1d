"""The problems of a page as printed: an objective, and constraints named after their multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boostopt.expressions import cp


def minimize(objective: Any, subject_to: Mapping[str, Any]) -> Any:
    """Return the `cvxpy.Problem` that minimizes an objective, with each constraint labelled by its key."""
    return cp.Problem(cp.Minimize(objective), [c.set_label(name) for name, c in subject_to.items()])


def maximize(objective: Any, subject_to: Mapping[str, Any]) -> Any:
    """Return the `cvxpy.Problem` that maximizes an objective, with each constraint labelled by its key."""
    return cp.Problem(cp.Maximize(objective), [c.set_label(name) for name, c in subject_to.items()])
