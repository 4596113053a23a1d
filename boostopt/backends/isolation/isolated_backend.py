"""Backends in a worker process. Attempts report crashes, hangs and printed text.

External solvers have aborted the process, exceeded every limit, and written to the standard output from C. The worker
process sends back each attempt at once, and only the parent certifies attempts. The package reuses one process, because
importing CVXPY and its solvers takes a second or two. After a crash or a kill, a new process starts.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from boostopt._utils.blas_threads import max_threads
from boostopt.backends.base import Attempt, Backend, BackendWrapper, Capability, Deadline, Task, WarmStart
from boostopt.backends.external_exceptions import MAX_ERROR_LENGTH
from boostopt.backends.guarded_backend import GuardedBackend, sanitize_attempt, solve_time_since
from boostopt.backends.isolation.pickling import NotPicklable, dump
from boostopt.backends.isolation.processor_time import CPU_SECONDS
from boostopt.backends.isolation.worker_pool import (
    START_SECONDS,
    WorkerDied,
    WorkerProcess,
    WorkerTimeout,
    acquire,
    release,
)
from boostopt.programs.program import Program

ISOLATED_PREFIX = "isolated:"

GRACE_FRACTION, MIN_GRACE, MAX_GRACE = 0.05, 0.1, 5.0
"""Time from the limit to the kill, as a fraction of the limit, and the bounds of this time in seconds.

The grace is necessary because most solvers check the clock between iterations only.
"""


class ProcessEnd(StrEnum):
    """The status, in files, of an attempt whose process did not finish it."""

    CRASHED = "crashed"
    KILLED = "killed"
    NOT_STARTED = "not started"
    NOT_ISOLATED = "not isolated"

    @classmethod
    def from_text(cls, status: str) -> ProcessEnd | None:
        """Return the end of a status text, with KILLED followed by seconds; None for the status of a solver."""
        if status.startswith(f"{cls.KILLED} after "):
            return cls.KILLED
        return next((end for end in cls if end == status), None)


MAX_OUTPUT_LENGTH = 2000
"""Number of characters at the end of the printed text that an attempt stores."""


def isolate_backend(backend: Backend, grace: float | None = None, fall_back: bool = False) -> IsolatedBackend:
    """Return a backend that runs the attempts of another one in a worker process.

    A crash, a hang beyond time limit and grace, NaN and garbage become attempts whose status and error report them.
    Attempts before a crash are kept. When an attempt has arrived and the time is over, no other one is requested.
    Without a time limit, no process is killed. Printed text is kept with the attempt, in `statistics["printed"]`.

    Parameters
    ----------
    backend
        The backend to run.
    grace
        Seconds from the time limit to the kill; by default a twentieth of the limit, at least 0.1 and at most 5.
    fall_back
        Whether to run the attempts in this process if the backend or the program cannot be sent to another one;
        `statistics["isolated"]` then says so. By default nothing is run, and the only attempt gives the reason.
    """
    return backend if isinstance(backend, IsolatedBackend) else IsolatedBackend(backend, grace, fall_back)


@dataclass(frozen=True)
class RemoteState:
    """The state of a backend in a worker process, for a later start in the same process."""

    pid: int
    key: int


class _CannotIsolate(Exception):
    """An error if a backend cannot run in a worker process; the message gives the reason, and `status` the kind."""

    def __init__(self, status: ProcessEnd, why: str) -> None:
        super().__init__(why)
        self.status = status

    @property
    def can_run_here(self) -> bool:
        """True if this process may run the backend instead, because the backend itself has not failed."""
        return self.status is ProcessEnd.NOT_ISOLATED


@dataclass(frozen=True)
class IsolatedBackend(BackendWrapper):
    """A backend that runs another one in a worker process.

    Attributes
    ----------
    inner
        The backend to run.
    grace
        Seconds from the time limit to the kill; None for the default.
    fall_back
        Whether to run in this process if the backend or the program cannot be sent to a worker process.
    """

    grace: float | None = None
    fall_back: bool = False

    @property
    def name(self) -> str:
        return ISOLATED_PREFIX + self.inner.name

    def takes(self, program: Program) -> Capability:
        return GuardedBackend(self.inner).takes(program)

    def keeps_limit(self, program: Program) -> bool:
        return True

    def prepare(self, program: Program) -> Capability:
        """Start a worker process if none is idle, send the program and import the solver, before the clock starts.

        Returns
        -------
        Whether the backend can run and takes the program; if not, the reason.
        """
        try:
            release(self._acquire_worker(program, math.inf))
        except _CannotIsolate as refusal:
            return Capability(self.fall_back and refusal.can_run_here, str(refusal))
        return Capability(True)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        began, end = time.perf_counter(), _kill_time(task.deadline, self.grace)
        crash: Attempt | None = None
        while True:
            try:
                process = self._acquire_worker(task.program, end)
            except _CannotIsolate as refusal:
                yield from self._not_isolated(task, refusal, began) if crash is None else (crash,)
                return
            # Other solvers may have damaged the process: a crash in it does not count against this backend.
            crash = yield from self._run_in_worker(
                process, task, end, suspect=bool(process.backends_run - {self.inner.name})
            )
            if crash is None:
                return

    def _acquire_worker(self, program: Program, end: float) -> WorkerProcess:
        """Return a process that has the program and the backend.

        Raises
        ------
        _CannotIsolate
            There is no such process.
        """
        try:
            backend = dump(self.inner)
            process = acquire()
        except NotPicklable as why:
            raise _CannotIsolate(ProcessEnd.NOT_ISOLATED, str(why)) from None
        except OSError as failure:
            raise _CannotIsolate(ProcessEnd.NOT_ISOLATED, f"no process can be started: {failure}") from None
        try:
            self._send_program(process, program, backend, end)
        except BaseException:
            release(process)
            raise
        return process

    def _send_program(self, process: WorkerProcess, program: Program, backend: bytes, end: float) -> None:
        """Send the program and the backend to a process; raise `_CannotIsolate` if the process does not accept them."""
        seconds = _remaining(end, START_SECONDS)
        try:
            why = "" if process.has_program(program) else process.send_program(program, dump(program), seconds)
            if not why:
                kind, *rest = process.request(("load_backend", backend), _remaining(end, START_SECONDS))
                why = str(rest[0]) if kind == "cannot" else "" if rest[0] else str(rest[1])
        except NotPicklable as reason:
            why = str(reason)
        except WorkerDied as death:
            words = f"its process died before it began: {death}{_last_printed_line(process.take_output())}"
            raise _CannotIsolate(ProcessEnd.CRASHED, words) from None
        except WorkerTimeout:
            if not process.backends_run:
                process.late_since = process.late_since or time.perf_counter()
            raise _CannotIsolate(ProcessEnd.NOT_STARTED, f"its process did not start within {seconds:.3g} s") from None
        if why:
            raise _CannotIsolate(ProcessEnd.NOT_ISOLATED, why)

    def _run_in_worker(
        self, process: WorkerProcess, task: Task, end: float, suspect: bool
    ) -> Generator[Attempt, None, Attempt | None]:
        """Yield the attempts of one run; return a crash after which the run should be repeated in a new process."""
        process.backends_run.add(self.inner.name)
        process.take_output()
        profile_options = task.profile, dict(task.options)
        limits = max_threads(), task.tol, task.deadline.remaining
        request: tuple[Any, ...] = ("first_attempt", *limits, *profile_options, *self._start(task.start, process))
        began = time.perf_counter()
        n_received = 0
        try:
            while True:
                kind, *rest = process.request(request, _remaining(end))
                if kind != "attempt":
                    return None
                yield self._check_received(rest[0], process, task.program)
                began, request, n_received = time.perf_counter(), ("next_attempt",), n_received + 1
                if task.deadline.passed:
                    return None
        except WorkerDied as death:
            error = f"the process of {self.inner.name} died: {death}"
            crash = _failed_attempt(ProcessEnd.CRASHED.value, error, process.take_output(), began)
            if suspect and not n_received:
                return crash
            yield crash
        except WorkerTimeout:
            yield _killed_attempt(self.inner.name, process, task.deadline.allowed, began)
        finally:
            if process.usable:
                process.send(("stop",))
            release(process)
        return None

    def _check_received(self, attempt: Any, process: WorkerProcess, program: Program) -> Attempt:
        """Return an attempt, with the text that the process has printed since the last one."""
        checked = sanitize_attempt(attempt, program)
        state = checked.state
        checked = replace(checked, state=RemoteState(process.pid, state) if isinstance(state, int) else None)
        return _with_printed(checked, process.take_output())

    def _start(self, start: WarmStart | None, process: WorkerProcess) -> tuple[Any, Any, str, int | None]:
        """Return the warm start for the worker process, which stores the state itself."""
        if start is None:
            return None, None, "", None
        state = start.state
        key = state.key if isinstance(state, RemoteState) and state.pid == process.pid else None
        return start.d, start.w, start.backend.removeprefix(ISOLATED_PREFIX), key

    def _not_isolated(self, task: Task, refusal: _CannotIsolate, began: float) -> Iterator[Attempt]:
        """Run in this process if allowed; otherwise yield one attempt with the reason against isolation."""
        if not (self.fall_back and refusal.can_run_here):
            yield Attempt(
                "",
                {},
                refusal.status.value,
                False,
                times=solve_time_since(began),
                error=str(refusal)[:MAX_ERROR_LENGTH],
            )
            return
        guarded = GuardedBackend(self.inner)
        if task.deadline.end_time is not None and not guarded.keeps_limit(task.program):
            warnings.warn(
                f"expected {self.inner.name} to keep its time limit, or to be given a process that can be killed; "
                f"it may run past the limit in this one: {refusal}",
                RuntimeWarning,
                stacklevel=2,
            )
        for attempt in guarded.attempts(task):
            yield replace(attempt, statistics={**attempt.statistics, "isolated": f"no: {refusal}"})


def isolated_attempts(name: str, attempts: Callable[[], Iterator[Attempt]], seconds: float | None) -> Iterator[Attempt]:
    """Yield the attempts of a run in a worker process. A crash and a hang become attempts that report them.

    Parameters
    ----------
    name
        The name of the solver.
    attempts
        A function that another process can load, and that yields the attempts there.
    seconds
        The time limit, which begins when the process has loaded the function; None for no limit.

    Raises
    ------
    NotPicklable
        The function cannot be sent to another process, or no process can be started.
    """
    data = dump(attempts)
    try:
        process = acquire()
    except OSError as failure:
        raise NotPicklable(f"no process can be started: {failure}") from None
    began = time.perf_counter()
    try:
        reply = process.request(("load_attempts", max_threads(), data), START_SECONDS)
        if reply[0] == "cannot":
            raise NotPicklable(str(reply[1]))
        process.take_output()
        began, end = time.perf_counter(), _kill_time(Deadline.after(seconds), None)
        while (reply := process.request(("next_attempt",), _remaining(end)))[0] == "attempt":
            pause = time.perf_counter()
            yield _with_printed(reply[1], process.take_output())
            began = time.perf_counter()
            end += began - pause  # the time in which the caller certifies an attempt does not count
    except WorkerDied as death:
        error = f"the process of {name} died: {death}"
        yield _failed_attempt(ProcessEnd.CRASHED.value, error, process.take_output(), began)
    except WorkerTimeout:
        yield _killed_attempt(name, process, seconds, began)
    finally:
        if process.usable:
            process.send(("stop",))
        release(process)


def _kill_time(deadline: Deadline, grace: float | None) -> float:
    """Return the time at which a silent process is killed: one grace for all requests together."""
    remaining = deadline.remaining
    if remaining is None:
        return math.inf
    usual = min(max(GRACE_FRACTION * remaining, MIN_GRACE), MAX_GRACE)
    return time.perf_counter() + remaining + (usual if grace is None else grace)


def _killed_attempt(name: str, process: WorkerProcess, limit: float | None, began: float) -> Attempt:
    """Kill a process that has not stopped at its time limit, and return the attempt that reports this."""
    seconds = time.perf_counter() - began
    process.kill()  # killed before its printed text is read, because it may print without end
    limit_text = "its time limit" if limit is None else f"its time limit of {limit:.3g} s"
    error = f"{name} did not stop at {limit_text} and was killed"
    return _failed_attempt(f"{ProcessEnd.KILLED} after {seconds:.1f} s", error, process.take_output(), began)


def _remaining(end: float, maximum: float = math.inf) -> float:
    """Return the remaining seconds until `end`, at most `maximum`."""
    return min(max(end - time.perf_counter(), 0.0), maximum)


def _failed_attempt(status: str, error: str, output: str, began: float) -> Attempt:
    """Return an attempt that ended because its process ended; its processor time is unknown."""
    error += _last_printed_line(output)
    times, unknown = solve_time_since(began), {CPU_SECONDS: None}
    attempt = Attempt("", {}, status, False, times=times, statistics=unknown, error=error[:MAX_ERROR_LENGTH])
    return _with_printed(attempt, output)


def _with_printed(attempt: Attempt, output: str) -> Attempt:
    text = output.strip()
    return (
        replace(attempt, statistics={**attempt.statistics, "printed": text[-MAX_OUTPUT_LENGTH:]}) if text else attempt
    )


def _last_printed_line(output: str) -> str:
    """Return the last printed line, as the end of a sentence."""
    lines = output.strip().splitlines()
    return f'; it printed "{lines[-1].strip()}" last' if lines else ""
