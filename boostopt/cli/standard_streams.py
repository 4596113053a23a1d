"""The standard streams of the command line: only an output that cannot be written stops the work."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Any, TextIO, cast


def harden_std_streams() -> None:
    """Replace the standard streams of the process by streams that raise no error, except for an unwritable output.

    Text that the standard error cannot write is lost, also if the standard error is closed. The standard output writes
    escapes for characters that its encoding lacks.
    """
    try:
        os.fstat(2)
    except OSError:  # the next file to be opened would become the standard error
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        if null != 2:
            os.close(null)
    stream = open(2, "w", closefd=False, errors="replace") if sys.stderr is None else sys.stderr
    sys.stderr = cast(TextIO, _ErrorTolerantStream(stream))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def discard_unwritable_stdout() -> None:
    """Discard buffered text that the standard output cannot write, because the error would change the exit status."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        sys.stdout = cast(TextIO, None)


class _ErrorTolerantStream:
    """A stream for progress and messages: text that cannot be written is lost, and no error is raised."""

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
