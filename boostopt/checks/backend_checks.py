"""Checks of a backend, one property at a time, on small random programs of every formulation that the backend takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import islice
from os import PathLike

import numpy as np

from boostopt._utils.validation import check_seed, check_tolerance
from boostopt.backends import get_backend
from boostopt.backends.base import Attempt, Backend, Capability, Deadline, Task
from boostopt.checks.check_report import CheckReport
from boostopt.checks.references.measurements import (
    Findings,
    Measurement,
    Note,
    assertion,
    call_component,
    require_instance,
    run_check,
)
from boostopt.checks.references.random_instances import draw_instances
from boostopt.programs.formulation_catalogue import get_formulation, list_formulations
from boostopt.programs.program import Program

DEFAULT_TOL = 1e-6
"""The gap that a backend must reach by default."""

MAX_ATTEMPTS = 20
"""Maximum number of attempts at a program that are examined."""

TIME_LIMIT = 20.0
"""Time limit for each program."""


class BackendProbe:
    """A backend with small programs, and its attempts at the programs that it supports."""

    def __init__(self, backend: Backend, random_state: int, tol: float) -> None:
        self.backend, self.tol, self._seed = backend, tol, random_state

    @cached_property
    def programs(self) -> list[Program]:
        """A small program of each formulation."""
        formulations = [get_formulation(name) for name in list_formulations()]
        return [draw_instances(formulation, self._seed, 1, {})[0].program for formulation in formulations]

    @cached_property
    def capabilities(self) -> list[tuple[Program, Capability]]:
        """The programs, each with the answer of `takes`."""
        return [
            (p, require_instance(call_component(self.backend.takes, p), Capability, "takes")) for p in self.programs
        ]

    @cached_property
    def attempts_by_program(self) -> list[tuple[Program, list[Attempt]]]:
        """The supported programs, with their attempts. As in `solve`, the attempts end once the gap is reached."""
        return [
            (program, call_component(self._attempts, program, TIME_LIMIT))
            for program, capability in self.capabilities
            if capability
        ]

    @cached_property
    def hurried(self) -> list[tuple[Program, list[Attempt]]]:
        """The first supported program, with the attempts when no time remains."""
        accepted = [program for program, capability in self.capabilities if capability][:1]
        return [(program, call_component(self._attempts, program, 0.0)) for program in accepted]

    def _attempts(self, program: Program, seconds: float) -> list[Attempt]:
        """Return the attempts at a program, up to the first that reaches the gap."""
        task, attempts = Task(program, self.tol, Deadline.after(seconds)), list[Attempt]()
        for attempt in islice(self.backend.attempts(task), MAX_ATTEMPTS):
            attempts.append(require_instance(attempt, Attempt, "attempts"))
            if _certified_gap(program, attempt) <= self.tol:
                break
        return attempts


def check_backend(name_or_backend: object, random_state: int = 0, tol: float = DEFAULT_TOL) -> CheckReport:
    """Check a backend on a small random program of every formulation that it takes.

    Parameters
    ----------
    name_or_backend
        A name from `list_backends()`, a backend, or the path of a Python file that defines one class of backends.
    random_state
        Seed of the programs.
    tol
        The scaled gap that the backend must reach, in (0, 1).

    Returns
    -------
    One check for each property, in the order of `BACKEND_CHECKS`.

    Raises
    ------
    OptionError
        There is no such backend, the file does not define one, or `tol` is out of range.
    SolverNotFound
        The solver of the backend is not installed.
    """
    backend = get_backend(str(name_or_backend) if isinstance(name_or_backend, PathLike) else name_or_backend)
    probe = BackendProbe(backend, check_seed("random_state", random_state), check_tolerance("tol", tol))
    checks = (run_check(name, check(probe)) for name, check in BACKEND_CHECKS.items())
    return CheckReport(str(backend.name), tuple(checks))


def _check_name(probe: BackendProbe) -> Findings:
    """Check that the backend has a name and a version."""
    for attribute in ("name", "version"):
        value = call_component(lambda attribute=attribute: getattr(probe.backend, attribute))
        yield assertion(type(value) is str, f"{attribute} must be a text; it is {value!r}")


def _check_takes(probe: BackendProbe) -> Findings:
    """Check that `takes` accepts at least one program, and gives a reason for each program that it refuses."""
    for program, capability in probe.capabilities:
        has_reason = bool(capability) or bool(capability.reason.strip())
        yield assertion(has_reason, f"takes must give the reason why it does not take {program.formulation.name}")
    yield assertion(any(capability for _, capability in probe.capabilities), "no program of any formulation is taken")


def _check_answers(probe: BackendProbe) -> Findings:
    """Check that attempts return d of N numbers, w of t numbers, or both."""
    for program, attempts in probe.attempts_by_program:
        N, t = program.margins.N, program.margins.t
        name = program.formulation.name
        yield assertion(len(attempts) > 0, f"attempts must yield at least one attempt; there is none at {name}")
        for attempt in attempts:
            for symbol, array, n in (("d", attempt.d, N), ("w", attempt.w, t)):
                shape = None if array is None else np.shape(array)
                yield assertion(shape in (None, (n,)), f"{symbol} must have shape ({n},); it has {shape} at {name}")
            yield assertion(type(attempt.status) is str, "status must be a text, the words of the solver")
        yield assertion(any(attempt.has_iterate for attempt in attempts), f"no attempt at {name} leaves an iterate")


def _check_claims(probe: BackendProbe) -> Findings:
    """Check that every attempt that claims an optimum proves the target gap, also when no time remains."""
    claimed = 0
    for program, attempts in (*probe.attempts_by_program, *probe.hurried):
        for attempt in (attempt for attempt in attempts if attempt.claims):
            claimed += 1
            description = (
                f"an attempt claims an optimum of {program.formulation.name} ({attempt.status!r}); its certified gap is"
            )
            yield Measurement(_certified_gap(program, attempt), probe.tol, description)
    if not claimed:
        yield Note("no attempt claims an optimum")
        yield assertion(True, "nothing is claimed")


def _check_accuracy(probe: BackendProbe) -> Findings:
    """Check that the narrowest interval of the attempts has the target gap."""
    for program, attempts in probe.attempts_by_program:
        best = min((_certified_gap(program, attempt) for attempt in attempts), default=np.inf)
        yield Measurement(
            best, probe.tol, f"the narrowest certified gap at {program.formulation.name} within {TIME_LIMIT:g} s"
        )


def _certified_gap(program: Program, attempt: Attempt) -> float:
    """Return the scaled gap that an attempt proves; inf if it left no iterate, or one of a wrong shape."""
    shapes = [(attempt.d, (program.margins.N,)), (attempt.w, (program.margins.t,))]
    if not attempt.has_iterate or any(array is not None and np.shape(array) != shape for array, shape in shapes):
        return np.inf
    return float(program.certify(attempt.d, attempt.w).scaled_gap)


BACKEND_CHECKS: dict[str, Callable[[BackendProbe], Findings]] = {
    "named": _check_name,
    "takes": _check_takes,
    "answers": _check_answers,
    "claims": _check_claims,
    "accuracy": _check_accuracy,
}
"""The checks by name, in the order of a report."""
