"""A backend in a process of its own: crashes, hangs and printed text become attempts in words.

Foreign solvers have been seen to abort the process, to exceed every limit, and to write to the standard output from C.
The process sends back each attempt when it is made, and only the parent certifies it. One process is kept and used
again, because importing CVXPY and its solvers takes a second or two. After a crash or a kill, a new process starts.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from boostopt._utils.blas_threads import max_threads
from boostopt.backends.base import Attempt, Backend, Capability, Deadline, Task, WarmStart, Wrapper
from boostopt.backends.isolation.external_calls import LONGEST_WORDS
from boostopt.backends.isolation.guarded import Guarded, lost, sound
from boostopt.backends.isolation.pickling import NotPortable, packed
from boostopt.backends.isolation.worker_process import START_SECONDS, Died, Process, Silent, acquire, release
from boostopt.programs.program import Program

PREFIX = "isolated:"

GRACE, LEAST_GRACE, MOST_GRACE = 0.05, 0.1, 5.0
"""Time from the limit to the kill, as a share of the limit, and its bounds in seconds.

It is needed because most solvers check the clock between iterations only.
"""


class ProcessEnd(StrEnum):
    """The status of an attempt that its process did not finish, as files hold it."""

    CRASHED = "crashed"
    KILLED = "killed"
    NOT_STARTED = "not started"
    NOT_ISOLATED = "not isolated"

    @classmethod
    def from_text(cls, status: str) -> ProcessEnd | None:
        """Return the end that a status states, KILLED with the seconds after it; None for a solver's own status."""
        if status.startswith(f"{cls.KILLED} after "):
            return cls.KILLED
        return next((end for end in cls if end == status), None)


PRINTED_KEPT = 2000
"""Number of characters of the printed text, its last ones, that are kept with an attempt."""


def isolated(backend: Backend, grace: float | None = None, otherwise_here: bool = False) -> Isolated:
    """Return a backend that runs the attempts of another one in a child process.

    A crash, a hang beyond time limit and grace, NaN and garbage become attempts whose status and error report them.
    Attempts before a crash are kept. When an attempt has arrived and the time is over, no other one is requested.
    Without a time limit, no process is killed. Printed text is kept with the attempt, in `statistics["printed"]`.

    Parameters
    ----------
    backend
        The backend to run.
    grace
        Seconds from the time limit to the kill; by default a twentieth of the limit, at least 0.1 and at most 5.
    otherwise_here
        Whether to run the attempts in this process if the backend or the program cannot be sent to another one;
        `statistics["isolated"]` then says so. By default nothing is run, and the only attempt gives the reason.
    """
    return backend if isinstance(backend, Isolated) else Isolated(backend, grace, otherwise_here)


@dataclass(frozen=True)
class Kept:
    """A state that a backend left in a process, for a later start in the same process."""

    pid: int
    key: int


class _Refused(Exception):
    """A backend cannot run in a process of its own; the message gives the reason, and `status` sums it up."""

    def __init__(self, status: ProcessEnd, why: str) -> None:
        super().__init__(why)
        self.status = status

    @property
    def harmless(self) -> bool:
        """Whether this process may run the backend instead, because the backend itself has not failed."""
        return self.status is ProcessEnd.NOT_ISOLATED


@dataclass(frozen=True)
class Isolated(Wrapper):
    """Another backend, run in a process of its own."""

    grace: float | None = None
    otherwise_here: bool = False

    @property
    def name(self) -> str:
        return PREFIX + self.inner.name

    def takes(self, program: Program) -> Capability:
        return Guarded(self.inner).takes(program)

    def keeps_limit(self, program: Program) -> bool:
        return True

    def prepare(self, program: Program) -> Capability:
        """Start a process if none is waiting, send it the program and import the solver there, before the clock starts.

        Returns
        -------
        Whether the backend can run and takes the program; if not, the reason.
        """
        try:
            release(self._opened(program, math.inf))
        except _Refused as refusal:
            return Capability(self.otherwise_here and refusal.harmless, str(refusal))
        return Capability(True)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        began, end = time.perf_counter(), self._end(task.deadline)
        crash: Attempt | None = None
        while True:
            try:
                process = self._opened(task.program, end)
            except _Refused as refusal:
                yield from self._not_isolated(task, refusal, began) if crash is None else (crash,)
                return
            # Other solvers may have damaged the process, so that a crash there does not count against this one.
            crash = yield from self._session(process, task, end, suspect=bool(process.served - {self.inner.name}))
            if crash is None:
                return

    def _end(self, deadline: Deadline) -> float:
        """Return the time at which a silent process is killed: one grace for all requests together."""
        left = deadline.left
        if left is None:
            return math.inf
        usual = min(max(GRACE * left, LEAST_GRACE), MOST_GRACE)
        return time.perf_counter() + left + (usual if self.grace is None else self.grace)

    def _opened(self, program: Program, end: float) -> Process:
        """Return a process that has the program and the backend.

        Raises
        ------
        _Refused
            There is no such process.
        """
        try:
            backend = packed(self.inner)
            process = acquire()
        except NotPortable as why:
            raise _Refused(ProcessEnd.NOT_ISOLATED, str(why)) from None
        except OSError as failure:
            raise _Refused(ProcessEnd.NOT_ISOLATED, f"no process can be started: {failure}") from None
        try:
            self._hand_over(process, program, backend, end)
        except BaseException:
            release(process)
            raise
        return process

    def _hand_over(self, process: Process, program: Program, backend: bytes, end: float) -> None:
        """Send a process the program and the backend; `_Refused` gives the reason if it does not take them."""
        seconds = _left(end, START_SECONDS)
        try:
            why = "" if process.holds(program) else process.hold(program, packed(program), seconds)
            if not why:
                kind, *rest = process.ask(("open", backend), _left(end, START_SECONDS))
                why = str(rest[0]) if kind == "cannot" else "" if rest[0] else str(rest[1])
        except NotPortable as reason:
            why = str(reason)
        except Died as death:
            words = f"its process died before it began: {death}{_last_words(process.printed())}"
            raise _Refused(ProcessEnd.CRASHED, words) from None
        except Silent:
            if not process.served:
                process.late = process.late or time.perf_counter()
            raise _Refused(ProcessEnd.NOT_STARTED, f"its process did not start within {seconds:.3g} s") from None
        if why:
            raise _Refused(ProcessEnd.NOT_ISOLATED, why)

    def _session(
        self, process: Process, task: Task, end: float, suspect: bool
    ) -> Generator[Attempt, None, Attempt | None]:
        """Yield the attempts of one run; return a crash after which the run should be repeated in a new process."""
        process.served.add(self.inner.name)
        process.printed()
        asked = task.profile, dict(task.options)
        given = max_threads(), task.tol, task.deadline.left
        request: tuple[Any, ...] = ("run", *given, *asked, *self._start(task.start, process))
        began = time.perf_counter()
        came = 0
        try:
            while True:
                kind, *rest = process.ask(request, _left(end))
                if kind != "attempt":
                    return None
                yield self._received(rest[0], process, task.program)
                began, request, came = time.perf_counter(), ("next",), came + 1
                if task.deadline.passed:
                    return None
        except Died as death:
            error = f"the process of {self.inner.name} died: {death}"
            crash = _ended(ProcessEnd.CRASHED.value, error, process.printed(), began)
            if suspect and not came:
                return crash
            yield crash
        except Silent:
            seconds, limit = time.perf_counter() - began, task.deadline.allowed
            process.kill()  # killed before its printed text is read, because it may print without end
            of_limit = "its time limit" if limit is None else f"its time limit of {limit:.3g} s"
            error = f"{self.inner.name} did not stop at {of_limit} and was killed"
            yield _ended(f"{ProcessEnd.KILLED} after {seconds:.1f} s", error, process.printed(), began)
        finally:
            if process.usable:
                process.tell(("stop",))
            release(process)
        return None

    def _received(self, attempt: Any, process: Process, program: Program) -> Attempt:
        """Return an attempt, with the text that was printed meanwhile."""
        checked = sound(attempt, program)
        state = checked.state
        checked = replace(checked, state=Kept(process.pid, state) if isinstance(state, int) else None)
        return _with_printed(checked, process.printed())

    def _start(self, start: WarmStart | None, process: Process) -> tuple[Any, Any, str, int | None]:
        """Return the start for the child, in which the state has stayed."""
        if start is None:
            return None, None, "", None
        kept = start.state
        key = kept.key if isinstance(kept, Kept) and kept.pid == process.pid else None
        return start.d, start.w, start.backend.removeprefix(PREFIX), key

    def _not_isolated(self, task: Task, refusal: _Refused, began: float) -> Iterator[Attempt]:
        """Run in this process, or only report the reason against isolation."""
        if not (self.otherwise_here and refusal.harmless):
            yield Attempt("", {}, refusal.status.value, False, times=lost(began), error=str(refusal)[:LONGEST_WORDS])
            return
        here = Guarded(self.inner)
        if task.deadline.at is not None and not here.keeps_limit(task.program):
            warnings.warn(
                f"expected {self.inner.name} to keep its time limit, or to be given a process that can be killed; "
                f"it may run past the limit in this one: {refusal}",
                RuntimeWarning,
                stacklevel=2,
            )
        for attempt in here.attempts(task):
            yield replace(attempt, statistics={**attempt.statistics, "isolated": f"no: {refusal}"})


def _left(end: float, most: float = math.inf) -> float:
    """Return the seconds left until an end, up to a maximum."""
    return min(max(end - time.perf_counter(), 0.0), most)


def _ended(status: str, error: str, printed: str, began: float) -> Attempt:
    """Return the attempt that ended with its process."""
    error += _last_words(printed)
    attempt = Attempt("", {}, status, False, times=lost(began), error=error[:LONGEST_WORDS])
    return _with_printed(attempt, printed)


def _with_printed(attempt: Attempt, printed: str) -> Attempt:
    text = printed.strip()
    return replace(attempt, statistics={**attempt.statistics, "printed": text[-PRINTED_KEPT:]}) if text else attempt


def _last_words(printed: str) -> str:
    """Return the last printed line, as the end of a sentence."""
    lines = printed.strip().splitlines()
    return f'; it printed "{lines[-1].strip()}" last' if lines else ""
