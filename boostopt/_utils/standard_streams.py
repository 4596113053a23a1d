"""The standard streams: what solvers print is kept away from the output, and no stream stops the work."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import sys
from collections.abc import Generator
from typing import Any, TextIO, cast


@contextlib.contextmanager
def stdout_to_stderr() -> Generator[None]:
    """Send everything that is printed to the standard output, by Python or by a library, to the standard error."""
    _flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _flush()  # what is still in a buffer was printed inside, and belongs to the standard error too
        os.dup2(saved, 1)
        os.close(saved)


def _flush() -> None:
    """Write out what Python's streams and the C library hold back."""
    for stream in (sys.stdout, sys.__stdout__, sys.stderr):
        if stream is not None:
            stream.flush()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # no C library under this name, as on Windows
        ctypes.CDLL(None).fflush(None)


def printable(text: str) -> str:
    """Return text with everything that a terminal would obey, or cannot show, in the escapes of Python."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


class _Unfailing:
    """A stream for progress and messages: what it cannot write is lost, and nothing stops for it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def steady_streams() -> None:
    """Make the streams of a process such that nothing stops for them, but that its output cannot be written.

    The standard error loses what it cannot write, as does one that is closed. The standard output has escapes for
    letters that its encoding has not.
    """
    try:
        os.fstat(2)
    except OSError:  # the next file that is opened would be taken for it
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        if null != 2:
            os.close(null)
    stream = open(2, "w", closefd=False, errors="replace") if sys.stderr is None else sys.stderr
    sys.stderr = cast(TextIO, _Unfailing(stream))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Leave out what the standard output still holds back and cannot write, which would change the exit status."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        sys.stdout = cast(TextIO, None)
