"""The main loop of a worker process: it runs the attempts of a backend one by one, on request, and sends them back.

Requests and replies are pickled tuples on copies of the standard input and output. A request names a method of
`_Worker`. Whatever Python or C prints to the descriptors 1 and 2 goes to the standard error. A mark follows it before
the reply is sent.

    ("load_program", bytes)                hold this program             -> ("ready",) or ("cannot", words)
    ("load_backend", bytes)                open this backend, import it  -> ("able", able, reason) or ("cannot", words)
    ("first_attempt", threads, tol, seconds, profile, options, d, w, of, key)
                                           the first attempt             -> ("attempt", attempt) or ("end",)
    ("next_attempt",)                      another one                   -> ("attempt", attempt) or ("end",)
    ("load_attempts", threads, bytes)      hold these attempts of a run  -> ("ready",) or ("cannot", words)
    ("stop",)                              no more of them               -> nothing
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import IO, Any

import numpy as np

from boostopt._utils.blas_threads import limit_blas_threads, thread_limit
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import Attempt, Deadline, Task, WarmStart
from boostopt.backends.guarded_backend import GuardedBackend
from boostopt.backends.isolation.peak_memory import PeakMemory
from boostopt.backends.isolation.pickling import NotPicklable, load
from boostopt.backends.isolation.processor_time import with_cpu_seconds
from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.errors import require_not_none
from boostopt.programs.program import Program

MAX_KEPT_STATES = 4
"""Number of states of earlier attempts that a process keeps for warm starts; they never leave the process."""

DEATH_SIGNAL = 1
"""Linux's PR_SET_PDEATHSIG, the option for the signal that a process gets when its parent ends."""

PEAK_MEMORY = "peak_memory"
"""A statistic of an attempt: the growth of the peak memory of the process over the memory held before, in bytes."""

is_worker_process: bool = False
"""True if this process is a worker process, so that its backends need no other one."""


def run_worker(parent: int, mark: bytes) -> None:
    """Answer requests until the parent is gone.

    Parameters
    ----------
    parent
        The number of the parent process. This process ends when the parent ends.
    mark
        The bytes that are printed before each reply.
    """
    global is_worker_process
    is_worker_process = True
    _die_with_parent(parent)
    _prefer_for_oom_kill()
    _disable_core_dumps()
    requests, replies = _redirect_streams()
    prints = os.dup(2)
    inbox: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
    # A separate thread, so that the process ends with its parent even while a solver is running.
    threading.Thread(target=_listen, args=(requests, inbox), daemon=True).start()
    worker = _Worker()
    while True:
        request = inbox.get()
        reply = worker.answer(request)
        if reply is not None:
            os.write(prints, mark)
            replies.write(pickle.dumps(reply))
            replies.flush()


class _Worker:
    """The program, the backend and the attempts under way."""

    def __init__(self) -> None:
        self._program: Program | None = None
        self._backend: GuardedBackend | None = None
        self._attempts: Iterator[Attempt] = iter(())
        self._states: dict[int, Any] = {}
        self._keys = itertools.count(1)
        self._threads: int | None = None

    def answer(self, request: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Carry out a request, with the number of threads of the run."""
        kind, *arguments = request
        if kind in ("first_attempt", "load_attempts"):
            self._threads = arguments.pop(0)
        # At the end of it, all printed text is sent before the reply.
        with thread_limit(self._threads), limit_blas_threads(), stdout_to_stderr():
            try:
                return getattr(self, kind)(*arguments)
            except NotPicklable as why:
                return "cannot", str(why)

    def load_program(self, data: bytes) -> tuple[Any, ...]:
        """Store a program."""
        self._program = load(data)
        return ("ready",)

    def load_backend(self, data: bytes) -> tuple[Any, ...]:
        """Open a backend, and return whether it supports the program."""
        program = require_not_none(self._program, "a program before a backend")
        self._backend = GuardedBackend(load(data))
        able = self._backend.takes(program)
        return "able", able.supported, able.reason

    def first_attempt(
        self, tol: float, seconds: float | None, profile: Profile | None, options: dict[str, Any], *start_parts: Any
    ) -> tuple[Any, ...]:
        """Begin a run, and make its first attempt."""
        d, w, backend, key = start_parts
        program, backed_by = require_not_none(self._program, "a program"), require_not_none(self._backend, "a backend")
        start = None if d is None and w is None else WarmStart(d, w, backend, self._states.get(key or 0))
        self._attempts = backed_by.attempts(
            Task(program, tol, Deadline.after(seconds), start, profile=profile, options=options)
        )
        return self.next_attempt()

    def load_attempts(self, data: bytes) -> tuple[Any, ...]:
        """Store the attempts of a run, a function without arguments that yields them."""
        self._attempts = with_cpu_seconds(load(data)())
        return ("ready",)

    def next_attempt(self) -> tuple[Any, ...]:
        """Make an attempt; its state stays in this process."""
        memory = PeakMemory()
        attempt = next(self._attempts, None)
        if attempt is None:
            return ("end",)
        key, peak = None, memory.peak()
        if attempt.state is not None:
            key = next(self._keys)
            self._states[key] = attempt.state
            for old in list(self._states)[:-MAX_KEPT_STATES]:
                del self._states[old]
        options, statistics = _to_builtin_types(attempt.options), _to_builtin_types(attempt.statistics)
        if peak is not None:
            statistics[PEAK_MEMORY] = peak
        return "attempt", replace(attempt, options=options, statistics=statistics, state=key)

    def stop(self) -> None:
        """Make no more attempts."""
        attempts, self._attempts = self._attempts, iter(())
        close = getattr(attempts, "close", None)
        if close is not None:
            with contextlib.suppress(Exception):  # if the backend raises, it is stopped anyway
                close()


def _redirect_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return private copies of the standard input and output; printed text goes to the standard error."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def _listen(requests: IO[bytes], inbox: queue.SimpleQueue[tuple[Any, ...]]) -> None:
    """Put requests into the inbox; end the process when its parent is gone."""
    with contextlib.suppress(Exception):  # the end of the pipe, possibly within a request
        while True:
            inbox.put(pickle.load(requests))
    os._exit(0)


def _die_with_parent(parent: int) -> None:
    """Let the kernel end this process with its parent, even while a solver holds Python's lock; only Linux can.

    Elsewhere, a thread notices that the parent has ended as soon as the solver lets the thread run.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(AttributeError, OSError):  # a C library without it
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # the parent had ended before this call
        os._exit(0)


def _prefer_for_oom_kill() -> None:
    """Let Linux end this process, and not its parent, if memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _disable_core_dumps() -> None:
    """Let a crash write no core file."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limits on this system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _to_builtin_types(value: Any) -> Any:
    """Return a value without classes that the parent would need to import."""
    if isinstance(value, Mapping):
        return {str(name): _to_builtin_types(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_builtin_types(inner) for inner in value]
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist() if value.dtype.kind in "biuf" else str(value)
    return value if value is None or type(value) in (bool, int, float, str) else str(value)
