"""A CVXPY problem of the user with the request to a solver."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import Attempt, Capability
from boostopt.programs.user_cvxpy_problem import ConvexProblem

STATED_FORM = "as stated"
"""The form of all attempts at a problem of the user."""

VALUE, STATUS = "value", "status"
"""Statistics of an attempt at a problem: the value that the solver reports, and its status in CVXPY's words."""


@dataclass(frozen=True)
class ProblemTask:
    """A problem, with the accuracy and the time that a solver gets for it.

    Attributes
    ----------
    problem
        The problem. A solver takes a copy.
    tol
        The target gap.
    seconds
        The time limit in seconds; None for no limit.
    profile
        The profile of a single solve that the solver ends by itself; None for attempts until the gap is `tol`.
    options
        The user's options by the solver's names; they override all others.
    """

    problem: ConvexProblem
    tol: float
    seconds: float | None = None
    profile: Profile | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@runtime_checkable
class ProblemSolver(Protocol):
    """A solver of CVXPY problems. It certifies no answer, and raises nothing if it fails.

    The `d` of an attempt has the values of all variables and `w` those of all duals, as `flat_answer` returns them.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def option_names(self) -> Collection[str] | None: ...

    def supports_profile(self, profile: Profile) -> Capability: ...

    def keeps_limit_on_problem(self, problem: ConvexProblem) -> bool: ...

    def attempts_at_problem(self, task: ProblemTask) -> Iterator[Attempt]: ...
