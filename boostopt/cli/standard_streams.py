"""The standard streams of the command line: no stream stops the work, except an output that cannot be written."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Any, TextIO, cast


def harden_std_streams() -> None:
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
    sys.stderr = cast(TextIO, _ErrorTolerantStream(stream))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def discard_unwritable_stdout() -> None:
    """Leave out what the standard output still holds back and cannot write, which would change the exit status."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        sys.stdout = cast(TextIO, None)


class _ErrorTolerantStream:
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
