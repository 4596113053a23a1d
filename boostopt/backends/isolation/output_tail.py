"""The end of the text that a process prints. A thread reads all text, so that no amount fills the memory or a disk."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import IO

MAX_TAIL_BYTES = 100_000
"""Number of bytes that are stored from the end of the printed text."""

CHUNK = 1 << 16
"""Number of bytes of a read."""

MARK_SECONDS = 1.0
"""Seconds that a mark, or the end, may take to pass through the pipe."""


class OutputTail:
    """The end of the text that a process prints into a pipe.

    Parameters
    ----------
    stream
        The end of the pipe to read from; it is closed when the other end is.
    mark
        The bytes that the process prints after its work on a request. When they arrive, all earlier text has arrived.
    """

    def __init__(self, stream: IO[bytes], mark: bytes) -> None:
        self._stream, self._mark = stream, mark
        self._tail, self._marks, self._ended = b"", 0, False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def take(self, marks: int) -> str:
        """Return the text printed since the last call, once the given number of marks, or the end, has arrived."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._marks >= marks, MARK_SECONDS)
            data, self._tail = self._tail, b""
        return data.decode(errors="replace")

    def join(self) -> None:
        """Wait for the end of the text, at most `MARK_SECONDS`."""
        self._reader.join(MARK_SECONDS)

    def _read(self) -> None:
        """Read the pipe until its end, and store the tail of the text."""
        with contextlib.suppress(OSError), self._stream:
            while data := os.read(self._stream.fileno(), CHUNK):
                with self._changed:
                    tail = self._tail + data
                    self._marks += tail.count(self._mark)
                    self._tail = tail.replace(self._mark, b"")[-MAX_TAIL_BYTES:]
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()
