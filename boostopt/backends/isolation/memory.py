"""How much memory an attempt takes, as Linux counts it for the whole process."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")

RESET_PEAK = "5"
"""Written to `CLEAR`, it sets the peak to what is held now."""


class Memory:
    """What the process holds when this is made, and the peak from then on; on other systems neither is known."""

    def __init__(self) -> None:
        self._held = None
        give_back()
        with contextlib.suppress(OSError):
            CLEAR.write_text(RESET_PEAK)
            self._held = _bytes("VmRSS")

    def peak(self) -> int | None:
        """Return the bytes by which the process came to exceed what it held; memory given back before is in neither."""
        with contextlib.suppress(OSError):
            highest = _bytes("VmHWM")
            if self._held is not None and highest is not None:
                return max(highest - self._held, 0)
        return None


def give_back() -> None:
    """Hand what was freed back to the system, where its C library can: what is kept would be taken again uncounted."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library, or another system
        ctypes.CDLL(None).malloc_trim(0)


def _bytes(name: str) -> int | None:
    """Return a figure of the process; None where the system does not have it."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return None
