"""The memory of an attempt, measured by Linux for the whole process."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Files of Linux: the memory of the process, and the control of its peak."""

RESET_PEAK = "5"
"""The text that, written to `CLEAR`, resets the peak to the current memory."""


class PeakMemory:
    """The memory of the process at creation, and the peak since then, both on Linux only."""

    def __init__(self) -> None:
        self._initial_bytes = None
        trim_heap()
        with contextlib.suppress(OSError):
            CLEAR.write_text(RESET_PEAK)
            self._initial_bytes = _bytes("VmRSS")

    def peak(self) -> int | None:
        """Return the peak minus the memory at creation, in bytes, without memory freed before; None if unknown."""
        with contextlib.suppress(OSError):
            highest = _bytes("VmHWM")
            if self._initial_bytes is not None and highest is not None:
                return max(highest - self._initial_bytes, 0)
        return None


def trim_heap() -> None:
    """Return freed memory to the system, if the C library can. Otherwise, its later use would not be counted."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library, or another system
        ctypes.CDLL(None).malloc_trim(0)


def _bytes(name: str) -> int | None:
    """Return a number of bytes from the status of the process; None if the system does not report it."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return None
