"""Backends opened by name, and run on a program: whatever they do, there is a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from boostopt.arguments import listed
from boostopt.arguments import names as names_of
from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Backend
from boostopt.backends.isolation.guarded import Guarded
from boostopt.backends.isolation.isolated import Isolated, isolated
from boostopt.backends.profiles import CERTIFIED, Profile
from boostopt.comparison.rows import AUTO, Row, answered_row
from boostopt.errors import OptionError, SolverNotFound, unknown_name
from boostopt.programs.program import Program
from boostopt.solving.asking import check_asked
from boostopt.solving.solving import alone, solve
from boostopt.threads import at_most

LADDER = "ladder"
"""Among the forms: the backend's own ladder, pinned to none."""


@dataclass(frozen=True)
class Opened:
    """A backend by the name that it was asked for: "auto", one that is there, or why it is not."""

    name: str
    backend: Backend | None = None
    missing: str = ""
    profile: Profile | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    threads: int | None = None

    def asked_by(self, profile: Profile | None) -> Opened:
        """Return it as it is asked by a profile; None for attempts until a certificate is narrow enough.

        Raises
        ------
        OptionError
            It does not have the options that it is to be given, or is "auto" and asked by a profile or with options.
        """
        if not self.missing:
            check_asked(self.backend, self.options, profile)
        return replace(self, profile=profile)

    @property
    def asked(self) -> str:
        """The profile by name."""
        return CERTIFIED if self.profile is None else self.profile.name

    @property
    def version(self) -> str:
        """The version of its solver."""
        return self.backend.version if self.backend else ""

    def unable(self, program: Program) -> str:
        """Return why it cannot be run, as far as that is known without starting a process, or ""."""
        if self.backend is None:
            return self.missing
        able = self.backend.takes(program)
        if able and self.profile is not None:
            able = self.backend.takes_profile(self.profile)
        return "" if able else able.reason

    def way(self, program: Program, time_limit: float | None) -> Backend | None:
        """Return the backend as `solve` runs it: in a process of its own where nothing else keeps the limit."""
        backend = self.backend
        if backend is None or isinstance(backend, Isolated) or not alone(backend, program, False, time_limit):
            return backend
        return isolated(backend, otherwise_here=True)

    def prepare(self, program: Program, time_limit: float | None) -> str:
        """Get ready for a program, before any clock runs; return why it cannot be run, or ""."""
        why = self.unable(program)
        way = None if why else self.way(program, time_limit)
        if not isinstance(way, Isolated):
            return why
        able = way.prepare(program)
        return "" if able else able.reason

    def run(self, program: Program, tol: float, time_limit: float | None) -> Row:
        """Solve, if it can; whatever the backend does, there is a row."""
        why = self.prepare(program, time_limit)
        if why:
            return self.not_run(program, tol, why, isinstance(self.backend, Isolated))
        try:
            how = tol if self.profile is None else self.profile.name
            with at_most(self.threads):
                solution = solve(program, self.backend or AUTO, how, time_limit, options=self.options or None)
        except (SolverNotFound, OptionError) as refusal:
            # "auto", where nothing that is installed takes the program; an option that the solver itself refuses.
            return self.not_run(program, tol, str(refusal))
        apart = isinstance(self.way(program, time_limit), Isolated)
        apart = apart and not any("isolated" in attempt.statistics for attempt in solution.attempts)
        return answered_row(self.name, program.headline, tol, solution, apart, self.asked, self.threads)

    def not_run(self, program: Program, tol: float, why: str, apart: bool = False) -> Row:
        """Return the row of a backend that was not run."""
        return Row(
            program=program.headline,
            backend=self.name,
            version=self.version,
            tol=tol,
            result="not run",
            reason=why,
            isolated=apart,
            profile=self.asked,
            threads=self.threads,
            solver_version=self.version,
        )


@runtime_checkable
class Pinnable(Protocol):
    """A backend that can be given one form of a program only."""

    def pinned(self, form: str) -> Backend: ...


def open_backends(
    backends: str | Backend | Sequence[str | Backend] | None,
    forms: Sequence[str] | None = None,
    isolate: bool = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    threads: int | None = None,
) -> list[Opened]:
    """Return the backends by name, each once; one that is not installed with the reason.

    Parameters
    ----------
    backends
        Names or backends; all that `list_backends()` gives by default.
    forms
        Every backend that has forms (the solvers behind CVXPY) is taken once for each of these, as "cvxpy:scs:dual";
        "ladder" is the backend as it is. None for the ladder alone.
    isolate
        Run each in a process of its own ("auto" decides for itself).
    options
        Options of solvers by the names of backends.
    threads
        Threads that each may have, None where nobody has said.

    Raises
    ------
    OptionError
        A backend or a form of unknown name, none or one twice, or options of a backend that is not among them.
    """
    several: Any = [backends] if isinstance(backends, str | Backend) else backends
    requested = list_backends() if several is None else listed("backends", several, "backends or names of backends")
    forms = None if forms is None else names_of("forms", forms)
    opened = [row for which in requested for row in _in_forms(_opened(which), forms)]
    names = [row.name for row in opened]
    if not names or len(set(names)) < len(names):
        raise OptionError(
            f"expected one or more different backends; got {', '.join(names) or 'none'}. Name each of them once."
        )
    for name in options or {}:
        if not any(row.name == name or row.name.startswith(f"{name}:") for row in opened):
            raise unknown_name("backend with options", name, names)
    return [replace(_guarded(row, isolate), options=_options_of(row, options), threads=threads) for row in opened]


def _options_of(row: Opened, options: Mapping[str, Mapping[str, Any]] | None) -> Mapping[str, Any]:
    """Return the options of a backend: those of its name, or of the solver that it is a form of."""
    of_backend = options or {}
    solver = ":".join(row.name.split(":")[:2])
    return of_backend.get(row.name, of_backend.get(solver, {}))


def _opened(which: object) -> Opened:
    if isinstance(which, str) and which == AUTO:
        return Opened(AUTO)
    try:
        backend = get_backend(which)
    except SolverNotFound as missing:
        return Opened(str(which), missing=str(missing))
    return Opened(which if isinstance(which, str) else backend.name, backend)


def _in_forms(row: Opened, forms: Sequence[str] | None) -> list[Opened]:
    """Return a backend once for each form, if it has forms and is not pinned to one by its name."""
    if forms is None or not isinstance(row.backend, Pinnable) or row.name.count(":") > 1:
        return [row]
    pinned = [row.backend if form == LADDER else row.backend.pinned(form) for form in forms]
    return [Opened(backend.name, backend) for backend in pinned]


def _guarded(row: Opened, isolate: bool) -> Opened:
    """Let nothing that the backend does end the comparison."""
    backend = row.backend
    if backend is None or isinstance(backend, Isolated):
        return row
    return replace(row, backend=isolated(backend) if isolate else Guarded(backend))
