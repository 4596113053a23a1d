"""Ctrl-C: the first one ends the round that is under way, the second one ends the program as always."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupts:
    """While it is entered, an interrupt is noted instead of raised; only the main thread can do that.

    One that is entered within another tells it what it noted: a run may end by a rule before it looks.
    """

    def __init__(self) -> None:
        self.requested: bool = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        # Who ignores interrupts, as shells make processes in the background do, goes on to ignore them.
        ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
        if threading.current_thread() is threading.main_thread() and not ignored:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Note the first interrupt, hand the second one on."""
        if self.requested:
            if callable(self._before):
                self._before(number, frame)
            raise KeyboardInterrupt
        self.requested = True
        outer = getattr(self._before, "__self__", None)
        if isinstance(outer, Interrupts):
            outer.requested = True
