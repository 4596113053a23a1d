"""One backend on one program: opened, run and certified, with what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from boostopt.arguments import listed
from boostopt.arguments import names as names_of
from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Backend
from boostopt.backends.isolation.guarded import Guarded
from boostopt.backends.isolation.isolated import PREFIX, Isolated, isolated
from boostopt.comparison.records import bounds
from boostopt.errors import OptionError, SolverNotFound
from boostopt.programs.program import Program
from boostopt.solving.solution import PHASES, Solution
from boostopt.solving.solving import alone, solve

AUTO = "auto"
LADDER = "ladder"
"""Among the forms: the backend's own ladder, pinned to none."""


@dataclass(frozen=True)
class Row:
    """The result of one backend.

    Attributes
    ----------
    backend, version
        Its name, and the version of its solver.
    solution
        Its answer; None where it was not run.
    reason
        Why it was not run.
    reached
        Whether its certified gap is within the tolerance.
    isolated
        Whether it ran in a process of its own.
    """

    backend: str
    version: str
    solution: Solution | None
    reason: str
    reached: bool
    isolated: bool = False

    @property
    def result(self) -> str:
        """One of "reached", "failed" (it ran and its certified gap is too wide, whatever it claims), "not run"."""
        return "not run" if self.solution is None else "reached" if self.reached else "failed"

    @property
    def answered_by(self) -> str:
        """The backend whose answer this is: for "auto" the one that it came to."""
        return self.solution.backend.removeprefix(PREFIX) if self.solution else ""

    @property
    def error(self) -> str:
        """The fault of the last attempt, "" for none."""
        attempts = self.solution.attempts if self.solution else ()
        return (attempts[-1].error or "") if attempts else ""

    @property
    def printed(self) -> str:
        """The output of the solver in a process of its own."""
        attempts = self.solution.attempts if self.solution else ()
        return "\n".join(str(a.statistics["printed"]) for a in attempts if "printed" in a.statistics)

    @property
    def log(self) -> list[dict[str, Any]]:
        """The attempts and their results, as plain values; what was printed stands in the record."""
        return [
            {
                "form": attempt.form,
                "status": attempt.status,
                "claims": attempt.claims,
                "iterations": attempt.iterations,
                "seconds": dict(attempt.times),
                "options": dict(attempt.options),
                "statistics": {name: value for name, value in attempt.statistics.items() if name != "printed"},
                "error": attempt.error,
            }
            for attempt in (self.solution.attempts if self.solution else ())
        ]

    def record(self) -> dict[str, Any]:
        """Return the row as plain values; None for what there is not."""
        s = self.solution
        best = s.best if s else None
        return {
            "backend": self.backend,
            "version": self.version,
            "result": self.result,
            "able": s is not None,
            "reason": self.reason,
            "outcome": s.outcome.name.lower() if s else None,
            "verdict": s.verdict.name.lower() if s else None,
            "reached": self.reached,
            **bounds(s.certificate if s else None),
            "kkt_worst": s.certificate.kkt.worst if s else None,
            "solver_status": s.solver_status if s else None,
            "error": self.error or None,
            "printed": self.printed or None,
            "answered_by": self.answered_by or None,
            "path": [name.removeprefix(PREFIX) for name in s.path] if s else None,
            "isolated": self.isolated,
            "form": best.form if best else None,
            "options": dict(best.options) if best else None,
            "attempts": len(s.attempts) if s else 0,
            "iterations": s.iterations if s else None,
            "seconds": s.times["total"] if s else None,
            **{f"seconds_{phase}": s.times[phase] if s else None for phase in PHASES},
        }


@dataclass(frozen=True)
class Opened:
    """A backend by the name that it was asked for: "auto", one that is there, or why it is not."""

    name: str
    backend: Backend | None = None
    missing: str = ""

    @property
    def version(self) -> str:
        """The version of its solver."""
        return self.backend.version if self.backend else ""

    def unable(self, program: Program) -> str:
        """Return why it cannot be run, as far as that is known without starting a process, or ""."""
        if self.backend is None:
            return self.missing
        able = self.backend.takes(program)
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
            return Row(self.name, self.version, None, why, False, isinstance(self.backend, Isolated))
        try:
            solution = solve(program, self.backend or AUTO, tol, time_limit)
        except SolverNotFound as missing:  # "auto", where nothing that is installed takes the program
            return Row(self.name, self.version, None, str(missing), False)
        reached = bool(solution.certificate.scaled_gap <= tol)
        apart = isinstance(self.way(program, time_limit), Isolated)
        apart = apart and not any("isolated" in attempt.statistics for attempt in solution.attempts)
        return Row(self.name, solution.version, solution, "", reached, apart)


@runtime_checkable
class Pinnable(Protocol):
    """A backend that can be given one form of a program only."""

    def pinned(self, form: str) -> Backend: ...


def open_backends(
    backends: str | Backend | Sequence[str | Backend] | None, forms: Sequence[str] | None = None, isolate: bool = False
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

    Raises
    ------
    OptionError
        A backend or a form of unknown name, none or one twice.
    """
    given: Any = [backends] if isinstance(backends, str | Backend) else backends
    wanted = list_backends() if given is None else listed("backends", given, "backends or names of backends")
    forms = None if forms is None else names_of("forms", forms)
    opened = [row for which in wanted for row in _in_forms(_opened(which), forms)]
    names = [row.name for row in opened]
    if not names or len(set(names)) < len(names):
        raise OptionError(
            f"expected one or more different backends; got {', '.join(names) or 'none'}. Name each of them once."
        )
    return [_guarded(row, isolate) for row in opened]


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
    return Opened(row.name, isolated(backend) if isolate else Guarded(backend))
