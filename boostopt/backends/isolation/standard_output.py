"""Redirection of the standard output of external code to the standard error."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Generator


@contextlib.contextmanager
def stdout_to_stderr() -> Generator[None]:
    """Redirect text on the standard output, from Python or from a library, to the standard error."""
    _flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _flush()  # Text in buffers was printed in the context, and belongs to the standard error, too.
        os.dup2(saved, 1)
        os.close(saved)


def _flush() -> None:
    """Flush the streams of Python and of the C library."""
    for stream in (sys.stdout, sys.__stdout__, sys.stderr):
        if stream is not None:
            stream.flush()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # no C library under this name, as on Windows
        ctypes.CDLL(None).fflush(None)
