"""Interrupts by Ctrl-C: the first one ends the run after the present round, the second one ends the program."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupts:
    """A context manager that records an interrupt instead of raising it, in the main thread only.

    An inner context also records the interrupt in the outer one, because a run may end by a rule before it checks.

    Attributes
    ----------
    requested
        Whether an interrupt was recorded.
    """

    def __init__(self) -> None:
        self.requested: bool = False
        self._former_handler: Any = None

    def __enter__(self) -> Interrupts:
        # A process that ignores interrupts, such as a background job of a shell, still ignores them.
        is_ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
        if threading.current_thread() is threading.main_thread() and not is_ignored:
            self._former_handler = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._former_handler is not None:
            signal.signal(signal.SIGINT, self._former_handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Record the first interrupt, pass the second one to the former handler."""
        if self.requested:
            if callable(self._former_handler):
                self._former_handler(number, frame)
            raise KeyboardInterrupt
        self.requested = True
        outer = getattr(self._former_handler, "__self__", None)
        if isinstance(outer, Interrupts):
            outer.requested = True
