"""Processes in which foreign solvers run: started once, used again, killed when they do not answer."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from boostopt.backends import child
from boostopt.program import Program

START_SECONDS = 120.0
"""How long a process may take to start, to import a solver or to take a program over."""

PRINTED_BYTES = 10_000_000
"""What a process may have printed before the oldest of it is dropped: a solver that prints for ever fills no disk."""

POLL_SECONDS = 0.5

# The parent's path, so that what it can import the child can; the script that the parent runs is not run again.
CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from boostopt.backends.child import serve; serve()"


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
    busy
        Whether it owes an answer.
    """

    def __init__(self) -> None:
        self.served: set[str] = set()
        self.busy = False
        self._owner = os.getpid()
        self._holds: weakref.ref[Program] | None = None
        # No TemporaryDirectory: at exit that may be cleaned, with a warning, before the process is killed.
        self._folder = Path(tempfile.mkdtemp(prefix="boostopt-"))
        self._file = self._folder / "printed"
        self._read = 0
        try:
            self._popen = self._started()
        except BaseException:
            shutil.rmtree(self._folder)
            raise
        atexit.register(self.kill)
        self._replies: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _started(self) -> subprocess.Popen[bytes]:
        """Start it, what it prints going to the file."""
        with self._file.open("ab") as printed:
            return subprocess.Popen(
                [sys.executable, "-c", CODE, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                start_new_session=True,  # Ctrl-C is for the parent, which then kills it
            )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._popen.pid

    @property
    def usable(self) -> bool:
        """Whether it lives, waits for a request and belongs to this process (not to one that this was forked from)."""
        return not self.busy and self._owner == os.getpid() and self._popen.poll() is None

    def holds(self, program: Program) -> bool:
        """Whether it has this very program."""
        return self._holds is not None and self._holds() is program

    def hold(self, program: Program, data: bytes, seconds: float) -> str:
        """Hand a program over; return why it cannot be taken, or ""."""
        reply = self.ask(("program", data), seconds)
        self._holds = weakref.ref(program) if reply[0] == "ready" else None
        return "" if reply[0] == "ready" else str(reply[1])

    def ask(self, request: tuple[Any, ...], seconds: float | None) -> tuple[Any, ...]:
        """Send a request and return the reply.

        Raises
        ------
        Died
            The process has ended.
        Silent
            No reply within so many seconds; None waits for ever.
        """
        self.tell(request)
        self.busy = True
        until = None if seconds is None else time.perf_counter() + seconds
        while True:
            wait = POLL_SECONDS if until is None else min(POLL_SECONDS, until - time.perf_counter())
            try:
                reply = self._replies.get(timeout=max(wait, 0.0))
            except queue.Empty:
                if until is not None and time.perf_counter() >= until:
                    raise Silent from None
                self._forget_much()
                continue
            if reply is None:
                raise Died(self._how_it_ended())
            self.busy = False
            return reply

    def tell(self, request: tuple[Any, ...]) -> None:
        """Send a request that has no reply.

        Raises
        ------
        Died
            The process has ended.
        """
        assert self._popen.stdin is not None
        try:
            child.write(self._popen.stdin, request)
        except (OSError, ValueError):  # a broken pipe, a closed file
            raise Died(self._how_it_ended()) from None

    def printed(self) -> str:
        """Return what has been printed since this was last asked."""
        with self._file.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        self._read += len(data)
        return data.decode(errors="replace")

    def kill(self) -> None:
        """End it and whatever it has started; at exit this happens by itself."""
        if self._owner != os.getpid():
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._popen.poll() is None and hasattr(os, "killpg"):
                os.killpg(self.pid, signal.SIGKILL)  # it leads a session of its own
        self._popen.kill()
        self._popen.wait()
        for stream in (self._popen.stdin, self._popen.stdout):
            with contextlib.suppress(OSError):  # what it has not read is lost with it
                if stream is not None:
                    stream.close()
        if self._folder.exists():
            shutil.rmtree(self._folder)
        atexit.unregister(self.kill)

    def _listen(self) -> None:
        """Put replies into the queue, None after the last one."""
        assert self._popen.stdout is not None
        with contextlib.suppress(Exception):  # garbage from a damaged process is the same as no answer
            while (reply := child.read(self._popen.stdout)) is not None:
                self._replies.put(reply)
        self._replies.put(None)

    def _forget_much(self) -> None:
        """Drop what was printed where it is too much."""
        if self._file.stat().st_size > PRINTED_BYTES:
            os.truncate(self._file, 0)  # it is written to by appending
            self._read = 0

    def _how_it_ended(self) -> str:
        """Its exit status in words."""
        try:
            code = self._popen.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        if code >= 0:
            return f"it ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"{name}, exit code {128 - code}"


_idle: list[Process] = []


def acquire() -> Process:
    """Return a process that waits, or a new one.

    Raises
    ------
    OSError
        None can be started.
    """
    while _idle:
        process = _idle.pop()
        if process.usable:
            return process
        process.kill()
    return Process()


def release(process: Process) -> None:
    """Keep a process for the next one who needs it; one that owes an answer, or is one too many, is killed."""
    if process.usable and not _idle:
        _idle.append(process)
    else:
        process.kill()


def waiting() -> int | None:
    """Return the number of the process that the next isolated attempt will run in; None if it will be a new one."""
    return _idle[-1].pid if _idle and _idle[-1].usable else None


def close() -> None:
    """End the processes that wait."""
    while _idle:
        _idle.pop().kill()
