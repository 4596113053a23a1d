"""Backends by name, run on programs: each solve gives a record, whatever the backend does."""

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
"""The name, among the forms, of the backend itself, which is not pinned to a form."""


@dataclass(frozen=True)
class BackendHandle:
    """A backend under its requested name.

    Attributes
    ----------
    name
        The requested name.
    backend
        The backend; None for "auto", and if the backend is not available.
    unavailable_reason
        The reason why the backend is not available, "" for none.
    profile
        The requested profile; None for attempts until the certified gap is small enough.
    options, threads
        Solver options; threads of each solve, None if the caller did not set them.
    """

    name: str
    backend: Backend | None = None
    unavailable_reason: str = ""
    profile: Profile | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    threads: int | None = None

    def with_profile(self, profile: Profile | None) -> BackendHandle:
        """Return the handle for a profile; None means attempts until the certified gap is small enough.

        Raises
        ------
        OptionError
            The backend does not have the options, or the backend is "auto" and there is a profile or an option.
        """
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
    def profile_name(self) -> str:
        """The name of the profile."""
        return CERTIFIED_MODE if self.profile is None else self.profile.name

    @property
    def version(self) -> str:
        """The version of the solver."""
        return self.backend.version if self.backend else ""

    def unsupported_reason(self, program: Program) -> str:
        """Return why the backend cannot run, as far as no process is needed to tell; "" if there is no reason."""
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

    def prepare_process(self, program: Program, time_limit: float | None) -> str:
        """Start a worker process, if one is needed, before any clock runs; return why the backend cannot run, or ""."""
        reason = self.unsupported_reason(program)
        backend = None if reason else self.effective_backend(program, time_limit)
        if not isinstance(backend, IsolatedBackend):
            return reason
        capability = backend.prepare(program)
        return "" if capability else capability.reason

    def run(self, program: Program, tol: float, time_limit: float | None) -> SolveRecord:
        """Solve if possible; return a record whatever the backend does."""
        reason = self.prepare_process(program, time_limit)
        if reason:
            return self.skipped_record(program, tol, reason, isinstance(self.backend, IsolatedBackend))
        try:
            request = tol if self.profile is None else self.profile.name
            with thread_limit(self.threads):
                solution = solve(program, self.backend or AUTO, request, time_limit, options=self.options or None)
        except (SolverNotFound, OptionError) as refusal:
            # No installed backend supports the program ("auto"), or the solver refuses an option.
            return self.skipped_record(program, tol, str(refusal))
        is_isolated = isinstance(self.effective_backend(program, time_limit), IsolatedBackend)
        is_isolated = is_isolated and not any("isolated" in attempt.statistics for attempt in solution.attempts)
        return record_of_solution(
            self.name, program.headline, tol, solution, is_isolated, self.profile_name, self.threads
        )

    def skipped_record(self, program: Program, tol: float, reason: str, is_isolated: bool = False) -> SolveRecord:
        """Return the record of a backend that was not run."""
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
    """Return the handles of backends, each once; the handle of a missing backend has the reason.

    Parameters
    ----------
    backends
        Names or backends; by default all that `list_backends()` returns.
    forms
        Every backend that has forms (the solvers behind CVXPY) is run once for each of these forms, as
        "cvxpy:scs:dual"; "ladder" is the unpinned backend. None for the unpinned backend alone.
    isolate
        Run each backend in a worker process; "auto" chooses by its own rule.
    options
        Solver options for each backend by its name.
    threads
        Threads that each backend may use; None if the caller did not set them.

    Raises
    ------
    OptionError
        The name of a backend or form is unknown, there is no backend, a backend is named twice, or there are options
        of a backend that is not named.
    """
    several: Any = [backends] if isinstance(backends, str | Backend) else backends
    requested = list_backends() if several is None else check_list("backends", several, "backends or names of backends")
    forms = None if forms is None else names_of("forms", forms)
    handles = [handle for backend in requested for handle in _expand_forms(_make_handle(backend), forms)]
    names = [handle.name for handle in handles]
    if not names or len(set(names)) < len(names):
        raise OptionError(
            f"expected one or more different backends; got {', '.join(names) or 'none'}. Name each of them once."
        )
    for name in options or {}:
        if not any(handle.name == name or handle.name.startswith(f"{name}:") for handle in handles):
            raise unknown_name("backend with options", name, names)
    return [
        replace(_wrap_backend(handle, isolate), options=_backend_options(handle, options), threads=threads)
        for handle in handles
    ]


def _backend_options(handle: BackendHandle, options: Mapping[str, Mapping[str, Any]] | None) -> Mapping[str, Any]:
    """Return the options under the name of a backend, or for a form under the name of its solver."""
    options_by_name = options or {}
    solver = ":".join(handle.name.split(":")[:2])
    return options_by_name.get(handle.name, options_by_name.get(solver, {}))


def _make_handle(name: object) -> BackendHandle:
    """Return the handle of a name or a backend."""
    if isinstance(name, str) and name == AUTO:
        return BackendHandle(AUTO)
    try:
        backend = get_backend(name)
    except SolverNotFound as missing:
        return BackendHandle(str(name), unavailable_reason=str(missing))
    return BackendHandle(name if isinstance(name, str) else backend.name, backend)


def _expand_forms(handle: BackendHandle, forms: Sequence[str] | None) -> list[BackendHandle]:
    """Return a backend once for each form, if the backend has forms and its name does not pin it to one."""
    if forms is None or not isinstance(handle.backend, PinnableBackend) or handle.name.count(":") > 1:
        return [handle]
    pinned = [handle.backend if form == DEFAULT_FORM else handle.backend.with_form(form) for form in forms]
    return [BackendHandle(backend.name, backend) for backend in pinned]


def _wrap_backend(handle: BackendHandle, isolate: bool) -> BackendHandle:
    """Return a handle whose backend raises no exception, so that the comparison continues."""
    backend = handle.backend
    if backend is None or isinstance(backend, IsolatedBackend):
        return handle
    return replace(handle, backend=isolate_backend(backend) if isolate else GuardedBackend(backend))
