"""Worker processes for foreign solvers: they are started once, reused, and killed if they do not answer.

No process outlives its parent: it ends when its pipes are closed. On Linux, the kernel ends it with its parent, even if
a solver holds Python's lock. No file is written.
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

from boostopt.backends.isolation.output_tail import OutputTail
from boostopt.programs.program import Program

START_SECONDS = 120.0
"""Seconds that a process may take to start, to import a solver or to receive a program."""

END_SECONDS = 5.0
"""Seconds to wait for a process that was killed or has closed its pipes: the system frees its memory meanwhile."""

POLL_SECONDS = 0.5

# The parent's path, so that the child can import the same modules. The parent's script is not run again.
WORKER_CODE = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from boostopt.backends.isolation.worker_main_loop import run_worker
run_worker(int(sys.argv[2]), sys.argv[3].encode())
"""


class WorkerDied(Exception):
    """The process has ended; the message says how."""


class WorkerTimeout(Exception):
    """The process has not answered in time."""


class WorkerProcess:
    """A process that runs attempts, and the text that it has printed.

    Attributes
    ----------
    backends_run
        Names of the backends that it has run: one of them may have damaged the process for the next.
    pending_replies
        Number of replies that it still owes.
    late_since
        The time when it first was too slow to start for a caller, None if it never was. It may be ready for the next
        caller.
    """

    def __init__(self) -> None:
        self.backends_run: set[str] = set()
        self.pending_replies: int = 0
        self.late_since: float | None = None
        self._owner = os.getpid()
        self._holds: weakref.ref[Program] | None = None
        self._mark, self._replied = os.urandom(16).hex(), 0
        self._popen = _spawner_thread(self._owner).submit(self._start).result()
        atexit.register(self.kill)
        stdin, stdout, stderr = self._popen.stdin, self._popen.stdout, self._popen.stderr
        if stdin is None or stdout is None or stderr is None:
            raise OSError("a process without pipes")
        self._output = OutputTail(stderr, self._mark.encode())
        self._replies: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # Separate threads, so that the caller can check the clock even if the process neither reads nor answers.
        self._threads = [
            threading.Thread(target=_send, args=(self._requests, stdin), daemon=True),
            threading.Thread(target=_listen, args=(stdout, self._replies), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        """Start it."""
        return subprocess.Popen(
            [sys.executable, "-c", WORKER_CODE, json.dumps(sys.path), str(self._owner), self._mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C goes to the parent only, which then kills the process
        )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._popen.pid

    @property
    def usable(self) -> bool:
        """True if the worker is alive, accepts a request and belongs to this process, not to its parent by a fork."""
        ready = self.pending_replies == 0 or (
            self.late_since is not None and time.perf_counter() - self.late_since < START_SECONDS
        )
        return ready and self._owner == os.getpid() and self._popen.poll() is None

    def has_program(self, program: Program) -> bool:
        """Return whether the worker has this very program."""
        return self._holds is not None and self._holds() is program

    def send_program(self, program: Program, data: bytes, seconds: float) -> str:
        """Send a program; return the reason if it cannot be sent or received, otherwise ""."""
        reply = self.request(("load_program", data), seconds)
        self._holds = weakref.ref(program) if reply[0] == "ready" else None
        return "" if reply[0] == "ready" else str(reply[1])

    def request(self, request: tuple[Any, ...], seconds: float) -> tuple[Any, ...]:
        """Send a request and return the reply.

        Raises
        ------
        WorkerDied
            The process has ended.
        WorkerTimeout
            There was no reply within the given seconds, which may be infinite.
        """
        self.send(request)
        self.pending_replies += 1
        end = time.perf_counter() + seconds
        while True:
            wait = min(POLL_SECONDS, end - time.perf_counter())
            # The worker may have ended while its child processes hold its pipes open.
            ended = self._popen.poll() is not None
            try:
                reply = self._replies.get(timeout=max(wait, 0.0))
            except queue.Empty:
                if ended:
                    raise WorkerDied(self._exit_description()) from None
                if time.perf_counter() >= end:
                    raise WorkerTimeout from None
                continue
            if reply is None:
                raise WorkerDied(self._exit_description())
            self.pending_replies -= 1
            self._replied += 1
            if self.pending_replies == 0:  # earlier replies answer requests whose senders have not waited
                self.late_since = None
                return reply

    def send(self, request: tuple[Any, ...]) -> None:
        """Send a request that has no reply."""
        self._requests.put(pickle.dumps(request))

    def take_output(self) -> str:
        """Return the end of the text printed since the last call; if the process has ended, the text is complete.

        Kill a process that prints without end before you call this.
        """
        if self._popen.poll() is not None:
            self._output.join()
        return self._output.take(self._replied)

    def kill(self) -> None:
        """End the process and its child processes; at exit this happens automatically."""
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
        self._output.join()
        atexit.unregister(self.kill)

    def _kill_group(self) -> None:
        """Kill the process and its child processes, which belong to its session."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.pid, signal.SIGKILL)

    def _exit_description(self) -> str:
        """Describe the exit status."""
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
    """Send requests until there are no more, or the process has ended."""
    with contextlib.suppress(OSError, ValueError), stream:  # requests that the worker has not read are lost
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
def _spawner_thread(pid: int) -> ThreadPoolExecutor:
    """Return a lasting thread that starts processes: Linux would end them together with a shorter-lived thread."""
    return ThreadPoolExecutor(1, thread_name_prefix="boostopt")


_idle: list[WorkerProcess] = []


def acquire() -> WorkerProcess:
    """Return an idle process, or a new one.

    Raises
    ------
    OSError
        No process can be started.
    """
    while (process := _pop_idle()) is not None:
        if process.usable:
            return process
        process.kill()
    return WorkerProcess()


def _pop_idle() -> WorkerProcess | None:
    """Return an idle process, None if there is none or another thread was faster."""
    try:
        return _idle.pop()
    except IndexError:
        return None


def release(process: WorkerProcess) -> None:
    """Keep a process for the next caller. A process that owes an answer, or is one too many, is killed."""
    if process.usable and not _idle:
        _idle.append(process)
    else:
        process.kill()


def idle_process_id() -> int | None:
    """Return the number of the process in which the next isolated attempt will run, None if it will be a new one."""
    last = _idle[-1:]
    return last[0].pid if last and last[0].usable else None


def close_idle_processes() -> None:
    """End the idle processes."""
    while (process := _pop_idle()) is not None:
        process.kill()
