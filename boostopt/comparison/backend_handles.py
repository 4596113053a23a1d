"""Backends opened by name and run on a program: each gives a row, whatever it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from boostopt._utils.blas_threads import thread_limit
from boostopt._utils.validation import check_list
from boostopt._utils.validation import check_names as names_of
from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Backend
from boostopt.backends.isolation.guarded import GuardedBackend
from boostopt.backends.isolation.isolated import IsolatedBackend, isolate_backend
from boostopt.backends.profiles import CERTIFIED_MODE, Profile
from boostopt.comparison.solve_record import AUTO, Result, SolveRecord, record_of_solution
from boostopt.errors import OptionError, SolverNotFound, unknown_name
from boostopt.programs.catalogue import get_formulation, soft_margin_formulation_name
from boostopt.programs.program import Program
from boostopt.solving.request import check_solver_options, rejected_options_error
from boostopt.solving.solve import needs_own_process, solve

DEFAULT_FORM = "ladder"
"""The name, among the forms, of the backend's own ladder, which is not pinned to a form."""


@dataclass(frozen=True)
class BackendHandle:
    """A backend by its requested name: "auto", an available backend, or the reason why it is not available."""

    name: str
    backend: Backend | None = None
    unavailable_reason: str = ""
    profile: Profile | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    threads: int | None = None

    def with_profile(self, profile: Profile | None) -> BackendHandle:
        """Return the backend for a profile; None means attempts until the certified gap is small enough.

        Raises
        ------
        OptionError
            The backend does not have the given options, or it is "auto" and was given a profile or options.
        """
        if not self.unavailable_reason:
            check_solver_options(self.backend, self.options, profile)
            self._validate_options_by_solving()
        return replace(self, profile=profile)

    def _validate_options_by_solving(self) -> None:
        """Try options that only the solver itself knows on a small program, so that no work is lost to a wrong name."""
        if self.backend is None or not self.options or self.backend.option_names is not None:
            return
        small = get_formulation(soft_margin_formulation_name()).bind(np.array([[1.0, -1.0], [-1.0, 1.0]]), nu=1)
        if not self.backend.takes(small):
            return
        attempts = solve(small, self.backend, options=self.options).attempts
        if attempts and all(attempt.error for attempt in attempts):
            raise rejected_options_error(self.backend.name, self.options, attempts[0].error or "")

    @property
    def profile_name(self) -> str:
        """The name of the profile."""
        return CERTIFIED_MODE if self.profile is None else self.profile.name

    @property
    def version(self) -> str:
        """The version of the solver."""
        return self.backend.version if self.backend else ""

    def unsupported_reason(self, program: Program) -> str:
        """Return why the backend cannot be run, as far as this is known without starting a process, or ""."""
        if self.backend is None:
            return self.unavailable_reason
        able = self.backend.takes(program)
        if able and self.profile is not None:
            able = self.backend.supports_profile(self.profile)
        return "" if able else able.reason

    def effective_backend(self, program: Program, time_limit: float | None) -> Backend | None:
        """Return the backend as `solve` runs it: in a process of its own if nothing else enforces the limit."""
        backend = self.backend
        if (
            backend is None
            or isinstance(backend, IsolatedBackend)
            or not needs_own_process(backend, program, False, time_limit)
        ):
            return backend
        return isolate_backend(backend, fall_back=True)

    def prepare_process(self, program: Program, time_limit: float | None) -> str:
        """Prepare for a program before any clock runs; return why the backend cannot be run, or ""."""
        why = self.unsupported_reason(program)
        way = None if why else self.effective_backend(program, time_limit)
        if not isinstance(way, IsolatedBackend):
            return why
        able = way.prepare(program)
        return "" if able else able.reason

    def run(self, program: Program, tol: float, time_limit: float | None) -> SolveRecord:
        """Solve if possible; return a row whatever the backend does."""
        why = self.prepare_process(program, time_limit)
        if why:
            return self.skipped_record(program, tol, why, isinstance(self.backend, IsolatedBackend))
        try:
            how = tol if self.profile is None else self.profile.name
            with thread_limit(self.threads):
                solution = solve(program, self.backend or AUTO, how, time_limit, options=self.options or None)
        except (SolverNotFound, OptionError) as refusal:
            # "auto" if no installed backend supports the program, or an option that the solver itself refuses.
            return self.skipped_record(program, tol, str(refusal))
        apart = isinstance(self.effective_backend(program, time_limit), IsolatedBackend)
        apart = apart and not any("isolated" in attempt.statistics for attempt in solution.attempts)
        return record_of_solution(self.name, program.headline, tol, solution, apart, self.profile_name, self.threads)

    def skipped_record(self, program: Program, tol: float, why: str, apart: bool = False) -> SolveRecord:
        """Return the row of a backend that was not run."""
        return SolveRecord(
            program=program.headline,
            backend=self.name,
            version=self.version,
            tol=tol,
            result=Result.NOT_RUN.value,
            reason=why,
            isolated=apart,
            profile=self.profile_name,
            threads=self.threads,
            solver_version=self.version,
        )


@runtime_checkable
class PinnableBackend(Protocol):
    """A backend that can be pinned to one form of a program."""

    def with_form(self, form: str) -> Backend: ...


def open_backends(
    backends: str | Backend | Sequence[str | Backend] | None,
    forms: Sequence[str] | None = None,
    isolate: bool = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    threads: int | None = None,
) -> list[BackendHandle]:
    """Return the backends by name, each once; a backend that is not installed comes with the reason.

    Parameters
    ----------
    backends
        Names or backends; by default all that `list_backends()` returns.
    forms
        Every backend that has forms (the solvers behind CVXPY) is run once for each of these, as "cvxpy:scs:dual";
        "ladder" is the backend as it is. None for the ladder alone.
    isolate
        Run each backend in a process of its own ("auto" decides for itself).
    options
        Solver options for each backend by its name.
    threads
        Threads that each backend may use; None if the caller did not set them.

    Raises
    ------
    OptionError
        The name of a backend or form is unknown, there is no backend or one is named twice, or options are given for
        a backend that is not among them.
    """
    several: Any = [backends] if isinstance(backends, str | Backend) else backends
    requested = list_backends() if several is None else check_list("backends", several, "backends or names of backends")
    forms = None if forms is None else names_of("forms", forms)
    opened = [row for which in requested for row in _expand_forms(_make_handle(which), forms)]
    names = [row.name for row in opened]
    if not names or len(set(names)) < len(names):
        raise OptionError(
            f"expected one or more different backends; got {', '.join(names) or 'none'}. Name each of them once."
        )
    for name in options or {}:
        if not any(row.name == name or row.name.startswith(f"{name}:") for row in opened):
            raise unknown_name("backend with options", name, names)
    return [
        replace(_wrap_backend(row, isolate), options=_backend_options(row, options), threads=threads) for row in opened
    ]


def _backend_options(row: BackendHandle, options: Mapping[str, Mapping[str, Any]] | None) -> Mapping[str, Any]:
    """Return the options of a backend: those under its name, or under the name of its solver if it is a form."""
    of_backend = options or {}
    solver = ":".join(row.name.split(":")[:2])
    return of_backend.get(row.name, of_backend.get(solver, {}))


def _make_handle(which: object) -> BackendHandle:
    if isinstance(which, str) and which == AUTO:
        return BackendHandle(AUTO)
    try:
        backend = get_backend(which)
    except SolverNotFound as missing:
        return BackendHandle(str(which), unavailable_reason=str(missing))
    return BackendHandle(which if isinstance(which, str) else backend.name, backend)


def _expand_forms(row: BackendHandle, forms: Sequence[str] | None) -> list[BackendHandle]:
    """Return a backend once for each form, if it has forms and its name does not pin it to one."""
    if forms is None or not isinstance(row.backend, PinnableBackend) or row.name.count(":") > 1:
        return [row]
    pinned = [row.backend if form == DEFAULT_FORM else row.backend.with_form(form) for form in forms]
    return [BackendHandle(backend.name, backend) for backend in pinned]


def _wrap_backend(row: BackendHandle, isolate: bool) -> BackendHandle:
    """Catch whatever the backend raises, so that the comparison continues."""
    backend = row.backend
    if backend is None or isinstance(backend, IsolatedBackend):
        return row
    return replace(row, backend=isolate_backend(backend) if isolate else GuardedBackend(backend))
