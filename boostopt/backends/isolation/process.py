"""Processes in which foreign solvers run: started once, used again, killed when they do not answer.

None outlives this one: it ends when nothing more can come through its pipes, and on Linux the kernel ends it with its
parent, also where a solver holds Python's lock. Nothing is written to any file.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import IO, Any

from boostopt.backends.isolation.printed import Printed
from boostopt.programs.program import Program

START_SECONDS = 120.0
"""Seconds that a process may take to start, to import a solver or to take a program over."""

END_SECONDS = 5.0
"""Seconds that a process is waited for that was killed, or has closed its pipes: its memory is given back meanwhile."""

POLL_SECONDS = 0.5

# The parent's path, so that what it can import the child can; the script that the parent runs is not run again.
CODE = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from boostopt.backends.isolation.child import serve
serve(int(sys.argv[2]), sys.argv[3].encode())
"""


class Died(Exception):
    """The process is gone; the message says how it ended."""


class Silent(Exception):
    """The process has not answered in time."""


class Process:
    """A process that runs attempts, and what it has printed.

    Attributes
    ----------
    served
        Names of the backends that it has run: one may have damaged it for the next.
    owed
        How many replies it owes.
    late
        When it was first too slow to start for who needed it, None if it never was: the next one may find it ready.
    """

    def __init__(self) -> None:
        self.served: set[str] = set()
        self.owed: int = 0
        self.late: float | None = None
        self._owner = os.getpid()
        self._holds: weakref.ref[Program] | None = None
        self._mark, self._replied = os.urandom(16).hex(), 0
        self._popen = _lasting(self._owner).submit(self._started).result()
        atexit.register(self.kill)
        stdin, stdout, stderr = self._popen.stdin, self._popen.stdout, self._popen.stderr
        if stdin is None or stdout is None or stderr is None:
            raise OSError("a process without pipes")
        self._printed = Printed(stderr, self._mark.encode())
        self._replies: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # Threads of their own: a process that neither reads nor answers keeps nobody from the clock.
        self._threads = [
            threading.Thread(target=_send, args=(self._requests, stdin), daemon=True),
            threading.Thread(target=_listen, args=(stdout, self._replies), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _started(self) -> subprocess.Popen[bytes]:
        """Start it."""
        return subprocess.Popen(
            [sys.executable, "-c", CODE, json.dumps(sys.path), str(self._owner), self._mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the parent, which then kills it
        )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._popen.pid

    @property
    def usable(self) -> bool:
        """Whether it lives, takes a request and belongs to this process (not to one that this was forked from)."""
        ready = self.owed == 0 or (self.late is not None and time.perf_counter() - self.late < START_SECONDS)
        return ready and self._owner == os.getpid() and self._popen.poll() is None

    def holds(self, program: Program) -> bool:
        """Whether it has this very program."""
        return self._holds is not None and self._holds() is program

    def hold(self, program: Program, data: bytes, seconds: float) -> str:
        """Hand a program over; return why it cannot be taken, or ""."""
        reply = self.ask(("hold", data), seconds)
        self._holds = weakref.ref(program) if reply[0] == "ready" else None
        return "" if reply[0] == "ready" else str(reply[1])

    def ask(self, request: tuple[Any, ...], seconds: float) -> tuple[Any, ...]:
        """Send a request and return the reply.

        Raises
        ------
        Died
            The process has ended.
        Silent
            No reply within so many seconds, which may be infinite.
        """
        self.tell(request)
        self.owed += 1
        until = time.perf_counter() + seconds
        while True:
            wait = min(POLL_SECONDS, until - time.perf_counter())
            # It may have ended and its pipes be held open by what it has started.
            ended = self._popen.poll() is not None
            try:
                reply = self._replies.get(timeout=max(wait, 0.0))
            except queue.Empty:
                if ended:
                    raise Died(self._how_it_ended()) from None
                if time.perf_counter() >= until:
                    raise Silent from None
                continue
            if reply is None:
                raise Died(self._how_it_ended())
            self.owed -= 1
            self._replied += 1
            if self.owed == 0:  # what comes before answers who has not waited for it
                self.late = None
                return reply

    def tell(self, request: tuple[Any, ...]) -> None:
        """Send a request that has no reply."""
        self._requests.put(pickle.dumps(request))

    def printed(self) -> str:
        """Return the end of what has been printed since this was last asked; of a process that was killed, all of it.

        Who has printed without end has to be killed before.
        """
        return self._printed.taken(self._replied)

    def kill(self) -> None:
        """End it and whatever it has started; at exit this happens by itself."""
        if self._owner != os.getpid():
            return
        if self._popen.returncode is None:
            self._kill_group()
        self._popen.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(END_SECONDS)
        self._requests.put(None)
        for thread in self._threads:
            thread.join(POLL_SECONDS)
        self._printed.join()
        atexit.unregister(self.kill)

    def _kill_group(self) -> None:
        """Kill it and what it has started: it leads a session of its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.pid, signal.SIGKILL)

    def _how_it_ended(self) -> str:
        """Its exit status in words."""
        try:
            code = self._popen.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        self._kill_group()
        if code >= 0:
            return f"it ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"{name}, exit code {128 - code}"


def _send(requests: queue.SimpleQueue[bytes | None], stream: IO[bytes]) -> None:
    """Send requests until there are no more, or the process is gone."""
    with contextlib.suppress(OSError, ValueError), stream:  # what it has not read is lost with it
        while (request := requests.get()) is not None:
            stream.write(request)
            stream.flush()


def _listen(stream: IO[bytes], replies: queue.SimpleQueue[tuple[Any, ...] | None]) -> None:
    """Put replies into the queue, None after the last one."""
    with contextlib.suppress(Exception), stream:  # the end, or garbage from a damaged process: no answer
        while True:
            replies.put(pickle.load(stream))
    replies.put(None)


@lru_cache(maxsize=1)
def _lasting(pid: int) -> ThreadPoolExecutor:
    """Return a thread of a process that starts others: Linux would end them with any thread that ends before."""
    return ThreadPoolExecutor(1, thread_name_prefix="boostopt")


_idle: list[Process] = []


def acquire() -> Process:
    """Return a process that waits, or a new one.

    Raises
    ------
    OSError
        None can be started.
    """
    while (process := _waiting_one()) is not None:
        if process.usable:
            return process
        process.kill()
    return Process()


def _waiting_one() -> Process | None:
    """Return one that waits; another thread may be as quick."""
    try:
        return _idle.pop()
    except IndexError:
        return None


def release(process: Process) -> None:
    """Keep a process for the next one who needs it; one that owes an answer, or is one too many, is killed."""
    if process.usable and not _idle:
        _idle.append(process)
    else:
        process.kill()


def waiting() -> int | None:
    """Return the number of the process that the next isolated attempt will run in; None if it will be a new one."""
    last = _idle[-1:]
    return last[0].pid if last and last[0].usable else None


def close() -> None:
    """End the processes that wait."""
    while (process := _waiting_one()) is not None:
        process.kill()
