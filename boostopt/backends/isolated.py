"""A backend in a process of its own: what crashes, hangs or prints there is an attempt in words here.

Foreign solvers have been seen to abort the process, to run past every limit, and to write to the standard output from
C. Their attempts come back one by one as they are made; the parent alone certifies them. One process is kept and used
again, since importing CVXPY and its solvers takes a second or two; after a crash or a kill the next one starts anew.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

from boostopt.backends.base import Attempt, Backend, Capability, Start, Task, Wrapper
from boostopt.backends.guarded import LONGEST_WORDS, Guarded, lost, sound
from boostopt.backends.pickled import NotPortable, packed
from boostopt.backends.process import START_SECONDS, Died, Process, Silent, acquire, release
from boostopt.program import Program

PREFIX = "isolated:"

GRACE_SECONDS = 5.0
"""How long after the time limit a solver is killed: most of them look at the clock between iterations only."""

PRINTED_KEPT = 2000
"""Characters of what was printed that are kept with an attempt, the last ones."""


def isolated(backend: Backend, grace: float = GRACE_SECONDS, otherwise_here: bool = False) -> Isolated:
    """Return a backend that runs the attempts of another one in a child process.

    A crash, a hang beyond time limit and grace, NaN and garbage are attempts whose status and error say so; attempts
    that came before a crash are kept. Once an attempt has come and the time is over, no other is asked for. Without a
    time limit nothing is killed. What is printed is kept with the attempt, in `statistics["printed"]`.

    Parameters
    ----------
    backend
        Which one; it must be importable (not from a script or a notebook).
    grace
        Seconds after the time limit when the process is killed.
    otherwise_here
        Run the attempts in this process where the backend or the program cannot be handed to another one, and say so
        in `statistics["isolated"]`; by default the only attempt then says why, and nothing is run.
    """
    return backend if isinstance(backend, Isolated) else Isolated(backend, grace, otherwise_here)


@dataclass(frozen=True)
class Kept:
    """A state that a backend left in a process, for a start that comes to the same process."""

    pid: int
    key: int


@dataclass(frozen=True)
class Isolated(Wrapper):
    """Another backend, run in a process of its own."""

    grace: float = GRACE_SECONDS
    otherwise_here: bool = False

    @property
    def name(self) -> str:
        return PREFIX + self.inner.name

    def takes(self, program: Program) -> Capability:
        return Guarded(self.inner).takes(program)

    def prepare(self, program: Program) -> Capability:
        """Start the process, if none waits, hand the program over and import the solver there: before the clock runs.

        Returns
        -------
        Whether the backend can be isolated and takes the program, and if not why.
        """
        process = self._opened(program, START_SECONDS)
        if isinstance(process, str):
            return Capability(False, process)
        release(process)
        return Capability(True)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        began = time.perf_counter()
        limit = START_SECONDS if task.deadline.left is None else min(START_SECONDS, task.deadline.left + self.grace)
        process = self._opened(task.program, limit)
        if isinstance(process, str):
            yield from self._not_isolated(task, process, began)
            return
        # A process that has run other solvers may have been damaged by them: then a crash says nothing about this one.
        suspect = bool(process.served - {self.inner.name})
        again = yield from self._session(process, task, suspect)
        if again:
            process = self._opened(task.program, START_SECONDS)
            if isinstance(process, str):
                yield from self._not_isolated(task, process, began)
                return
            yield from self._session(process, task, suspect=False)

    def _opened(self, program: Program, seconds: float) -> Process | str:
        """Return a process that has the program and the backend, or why there is none."""
        try:
            backend = packed(self.inner)
            process = acquire()
        except NotPortable as why:
            return str(why)
        except OSError as failure:
            return f"no process can be started: {failure}"
        why, given_out = "", False
        try:
            why = "" if process.holds(program) else process.hold(program, packed(program), seconds)
            if not why:
                kind, *rest = process.ask(("backend", backend), seconds)
                why = str(rest[0]) if kind == "cannot" else "" if rest[0] else str(rest[1])
            given_out = not why
        except NotPortable as reason:
            why = str(reason)
        except Died as end:
            why = f"its process died before it began: {end}{_last_words(process.printed())}"
        except Silent:
            why = f"its process did not start within {seconds:.0f} s"
        finally:
            if not given_out:
                release(process)
        return why or process

    def _session(self, process: Process, task: Task, suspect: bool) -> Generator[Attempt, None, bool]:
        """Yield the attempts of one run; return whether it should be repeated in a fresh process."""
        process.served.add(self.inner.name)
        process.printed()
        request: tuple[Any, ...] = ("run", task.tol, task.deadline.left, *self._start(task.start, process))
        began = time.perf_counter()
        came = 0
        try:
            while True:
                left = task.deadline.left
                kind, *rest = process.ask(request, None if left is None else left + self.grace)
                if kind != "attempt":
                    return False
                yield self._received(rest[0], process, task.program)
                began, request, came = time.perf_counter(), ("next",), came + 1
                if task.deadline.passed:  # each further request would have the grace anew
                    return False
        except Died as end:
            if suspect and not came:
                return True
            text = process.printed()
            error = f"the process of {self.inner.name} died: {end}{_last_words(text)}"
            yield _ended("crashed", error, text, began)
        except Silent:
            text = process.printed()
            seconds = time.perf_counter() - began
            error = f"{self.inner.name} did not stop {self.grace:g} s after its time limit and was killed"
            yield _ended(f"killed after {seconds:.1f} s", error + _last_words(text), text, began)
        finally:
            self._finish(process)
        return False

    def _finish(self, process: Process) -> None:
        """Stop what is under way and give the process back; `release` kills one that owes an answer."""
        if process.usable:
            try:
                process.tell(("stop",))
            except Died:
                process.busy = True
        release(process)

    def _received(self, attempt: Any, process: Process, program: Program) -> Attempt:
        """Return an attempt as it came, with what was printed meanwhile."""
        checked = sound(attempt, program)
        state = checked.state
        checked = replace(checked, state=Kept(process.pid, state) if isinstance(state, int) else None)
        return _with_printed(checked, process.printed())

    def _start(self, start: Start | None, process: Process) -> tuple[Any, Any, str, int | None]:
        """Return where to begin, for the other end: the state never left the process."""
        if start is None:
            return None, None, "", None
        kept = start.state
        key = kept.key if isinstance(kept, Kept) and kept.pid == process.pid else None
        return start.d, start.w, start.backend.removeprefix(PREFIX), key

    def _not_isolated(self, task: Task, why: str, began: float) -> Iterator[Attempt]:
        """Run in this process, or only say why not."""
        if not self.otherwise_here:
            yield Attempt("", {}, "not isolated", False, times=lost(began), error=why[:LONGEST_WORDS])
            return
        for attempt in Guarded(self.inner).attempts(task):
            yield replace(attempt, statistics={**attempt.statistics, "isolated": f"no: {why}"})


def _ended(status: str, error: str, printed: str, began: float) -> Attempt:
    """The attempt that ended with its process."""
    attempt = Attempt("", {}, status, False, times=lost(began), error=error[:LONGEST_WORDS])
    return _with_printed(attempt, printed)


def _with_printed(attempt: Attempt, printed: str) -> Attempt:
    text = printed.strip()
    return replace(attempt, statistics={**attempt.statistics, "printed": text[-PRINTED_KEPT:]}) if text else attempt


def _last_words(printed: str) -> str:
    """The last line that was printed, as the end of a sentence."""
    lines = printed.strip().splitlines()
    return f'; it printed "{lines[-1].strip()}" last' if lines else ""
