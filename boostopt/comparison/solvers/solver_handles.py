"""Solvers by name, run on programs or on CVXPY problems: each solve gives a record, whatever the solver does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from boostopt._utils.blas_threads import thread_limit
from boostopt._utils.cvxpy_tools import cp
from boostopt.backends.accuracy_profiles import CERTIFIED_MODE, PROFILES, Profile, accuracy_profile
from boostopt.backends.base import Backend
from boostopt.backends.cvxpy_problem_task import ProblemSolver, ProblemTask
from boostopt.backends.isolation.isolated_backend import IsolatedBackend, isolate_backend
from boostopt.backends.user_function_solvers import FunctionSolver
from boostopt.comparison.solve_record import AUTO, Result, SolveRecord, record_of_solution
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.errors import OptionError, SolverNotFound
from boostopt.programs.formulation_catalogue import get_formulation, soft_margin_formulation_name
from boostopt.programs.program import Program
from boostopt.programs.user_cvxpy_problem import ConvexProblem
from boostopt.solving.problem_solution import ProblemSolution, solve_problem
from boostopt.solving.solution import Solution
from boostopt.solving.solve import needs_own_process, solve
from boostopt.solving.solve_request import DEFAULT_TOL, check_solver_options, rejected_options_error


@runtime_checkable
class Labelled(Protocol):
    """A program or a CVXPY problem, on which solvers are compared."""

    @property
    def headline(self) -> str: ...


P = TypeVar("P", bound=Labelled)


@dataclass(frozen=True)
class SolverHandle(ABC, Generic[P]):
    """A solver under its requested name.

    Attributes
    ----------
    name
        The requested name.
    unavailable_reason
        The reason why the solver is not available, "" for none.
    profile
        The requested profile; None for attempts until the certified gap is small enough.
    options, threads
        Solver options; threads of each solve, None if the caller did not set them.
    """

    name: str
    unavailable_reason: str = ""
    profile: Profile | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    threads: int | None = None

    @abstractmethod
    def with_profile(self, profile: Profile | None) -> SolverHandle[P]:
        """Return the handle for a profile; None means attempts until the certified gap is small enough.

        Raises
        ------
        OptionError
            The solver does not have the options, or it is "auto" and there is a profile or an option.
        """

    @property
    def profile_name(self) -> str:
        """The name of the profile."""
        return CERTIFIED_MODE if self.profile is None else self.profile.name

    @property
    @abstractmethod
    def has_accuracy(self) -> bool:
        """True if the solver takes an accuracy for a single solve, or is not available."""

    @property
    @abstractmethod
    def version(self) -> str:
        """The version of the solver."""

    @abstractmethod
    def unsupported_reason(self, program: P) -> str:
        """Return why the solver cannot run, as far as no process is needed to tell; "" if there is no reason."""

    @abstractmethod
    def has_own_process(self, program: P, time_limit: float | None) -> bool:
        """Return whether a solve runs in a worker process."""

    @abstractmethod
    def prepare_process(self, program: P, time_limit: float | None) -> str:
        """Start a worker process, if one is needed, before any clock runs; return why the solver cannot run, or ""."""

    @property
    def is_always_isolated(self) -> bool:
        """True if every solve runs in a worker process."""
        return False

    @abstractmethod
    def _solve(self, program: P, tol: float, time_limit: float | None, is_isolated: bool) -> Solution | ProblemSolution:
        """Solve a program that the solver supports.

        Raises
        ------
        SolverNotFound
            No installed solver supports the program.
        OptionError
            The solver refuses an option.
        """

    def run(self, program: P, tol: float, time_limit: float | None) -> SolveRecord:
        """Solve if possible; return a record whatever the solver does."""
        reason = self.prepare_process(program, time_limit)
        if reason:
            return self.skipped_record(program, tol, reason, self.is_always_isolated)
        is_isolated = self.has_own_process(program, time_limit)
        try:
            with thread_limit(self.threads):
                solution = self._solve(program, tol, time_limit, is_isolated)
        except (SolverNotFound, OptionError) as refusal:
            return self.skipped_record(program, tol, str(refusal))
        # An attempt says so if no worker process could be used.
        is_isolated = is_isolated and not any("isolated" in attempt.statistics for attempt in solution.attempts)
        return record_of_solution(
            self.name, program.headline, tol, solution, is_isolated, self.profile_name, self.threads
        )

    def skipped_record(self, program: P, tol: float, reason: str, is_isolated: bool = False) -> SolveRecord:
        """Return the record of a solver that was not run."""
        return SolveRecord(
            program=program.headline,
            backend=self.name,
            version=self.version,
            tol=tol,
            result=Result.NOT_RUN.value,
            reason=reason,
            isolated=is_isolated,
            profile=self.profile_name,
            threads=self.threads,
            solver_version=self.version,
        )


@dataclass(frozen=True)
class BackendHandle(SolverHandle[Program]):
    """A backend under its requested name.

    Attributes
    ----------
    backend
        The backend; None for "auto", and if the backend is not available.
    """

    backend: Backend | None = None

    def with_profile(self, profile: Profile | None) -> BackendHandle:
        if not self.unavailable_reason:
            check_solver_options(self.backend, self.options, profile)
            self._validate_options_by_solving()
        return replace(self, profile=profile)

    def _validate_options_by_solving(self) -> None:
        """Try options that only the solver can check on a small program, so that no work is lost to a wrong name."""
        if self.backend is None or not self.options or self.backend.option_names is not None:
            return
        small = get_formulation(soft_margin_formulation_name()).bind(np.array([[1.0, -1.0], [-1.0, 1.0]]), nu=1)
        if not self.backend.takes(small):
            return
        attempts = solve(small, self.backend, options=self.options).attempts
        if attempts and all(attempt.error for attempt in attempts):
            raise rejected_options_error(self.backend.name, self.options, attempts[0].error or "")

    @property
    def has_accuracy(self) -> bool:
        if self.backend is None:
            return bool(self.unavailable_reason)
        return bool(self.backend.supports_profile(accuracy_profile(DEFAULT_TOL)))

    @property
    def version(self) -> str:
        return self.backend.version if self.backend else ""

    def unsupported_reason(self, program: Program) -> str:
        if self.backend is None:
            return self.unavailable_reason
        capability = self.backend.takes(program)
        if capability and self.profile is not None:
            capability = self.backend.supports_profile(self.profile)
        return "" if capability else capability.reason

    def effective_backend(self, program: Program, time_limit: float | None) -> Backend | None:
        """Return the backend that `solve` runs: in a worker process if nothing else enforces the limit."""
        backend = self.backend
        if (
            backend is None
            or isinstance(backend, IsolatedBackend)
            or not needs_own_process(backend, program, False, time_limit)
        ):
            return backend
        return isolate_backend(backend, fall_back=True)

    def has_own_process(self, program: Program, time_limit: float | None) -> bool:
        return isinstance(self.effective_backend(program, time_limit), IsolatedBackend)

    def prepare_process(self, program: Program, time_limit: float | None) -> str:
        reason = self.unsupported_reason(program)
        backend = None if reason else self.effective_backend(program, time_limit)
        if not isinstance(backend, IsolatedBackend):
            return reason
        capability = backend.prepare(program)
        return "" if capability else capability.reason

    @property
    def is_always_isolated(self) -> bool:
        return isinstance(self.backend, IsolatedBackend)

    def _solve(
        self, program: Program, tol: float, time_limit: float | None, is_isolated: bool
    ) -> Solution | ProblemSolution:
        request = tol if self.profile is None else self.profile
        return solve(program, self.backend or AUTO, request, time_limit, options=self.options or None)


@dataclass(frozen=True)
class ProblemHandle(SolverHandle[ConvexProblem]):
    """A solver of CVXPY problems under its requested name.

    Attributes
    ----------
    solver
        The solver; None if it is not available.
    isolate
        Whether it always runs in a worker process.
    """

    solver: ProblemSolver | None = None
    isolate: bool = False

    def with_profile(self, profile: Profile | None) -> ProblemHandle:
        if self.solver is not None and self.options:
            check_solver_options(self.solver, self.options, profile)
            # Options that only the solver can check are tried on a small problem: no work is lost to a wrong name.
            solve_problem(
                self.solver, ProblemTask(_small_problem(), DEFAULT_TOL, None, PROFILES["default"], self.options)
            )
        return replace(self, profile=profile)

    @property
    def has_accuracy(self) -> bool:
        if isinstance(self.solver, FunctionSolver):
            return self.solver.has_tolerance
        return self.solver is None or bool(self.solver.supports_profile(accuracy_profile(DEFAULT_TOL)))

    @property
    def version(self) -> str:
        return self.solver.version if self.solver else ""

    def unsupported_reason(self, program: ConvexProblem) -> str:
        if self.solver is None or self.profile is None:
            return self.unavailable_reason
        return self.solver.supports_profile(self.profile).reason

    def has_own_process(self, program: ConvexProblem, time_limit: float | None) -> bool:
        keeps_limit = time_limit is None or (self.solver is not None and self.solver.keeps_limit_on_problem(program))
        return self.isolate or not keeps_limit

    def prepare_process(self, program: ConvexProblem, time_limit: float | None) -> str:
        # The clock of a worker process begins when it has loaded the problem.
        return self.unsupported_reason(program)

    def run(self, program: ConvexProblem, tol: float, time_limit: float | None) -> SolveRecord:
        record = super().run(program, tol, time_limit)
        return replace(record, answered_by=self.name, path=[self.name]) if record.ran else record

    def _solve(
        self, program: ConvexProblem, tol: float, time_limit: float | None, is_isolated: bool
    ) -> Solution | ProblemSolution:
        task = ProblemTask(program, tol, time_limit, self.profile, self.options)
        return solve_problem(cast(ProblemSolver, self.solver), task, is_isolated)


def _small_problem() -> ConvexProblem:
    """Return a problem that every solver takes."""
    x = cp.Variable()
    return ConvexProblem.from_cvxpy(cp.Problem(cp.Minimize(x), [x >= 1.0]))


def as_comparable(program: object) -> Program | ConvexProblem:
    """Return a program, a CVXPY problem as a copy of it, or a program of sparse data as a CVXPY problem.

    Raises
    ------
    OptionError
        The argument is none of them.
    ProblemError
        A CVXPY problem is not convex by CVXPY's rules, has integer variables, or a parameter without a value.
    """
    if isinstance(program, Program | ConvexProblem):
        return program
    if isinstance(program, cp.Problem):
        return ConvexProblem.from_cvxpy(program)
    if isinstance(program, ConicProgram):
        return ConvexProblem.from_cvxpy(program.to_cvxpy(), program.name or None)
    advice = (
        "Call benchmark for several."
        if isinstance(program, Sequence | Mapping) and not isinstance(program, str)
        else "Make one with formulation.bind(U, ...) or cp.Problem(objective, constraints)."
    )
    raise OptionError(f"expected a program, or a cvxpy.Problem; got {type(program).__name__}. {advice}")
