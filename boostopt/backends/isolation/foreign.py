"""Calls of foreign code: whatever it raises is a failure in words, its own exits and interrupts too.

What the handler of a signal raises meanwhile is not the code's: Ctrl-C, and what a program has made of SIGTERM or of
an alarm, end what they are to end.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from boostopt.streams import printable

LONGEST_WORDS = 500

WATCHED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGBREAK", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
"""Signals whose handlers programs let raise something."""

T = TypeVar("T")


class Failed(Exception):
    """Foreign code has raised something; the message says what, in one line."""


def called(code: Callable[[], T]) -> T:
    """Return what foreign code returns.

    Raises
    ------
    Failed
        It has raised something, be it an exit or an interrupt of its own.
    BaseException
        Whatever the handler of a signal has raised meanwhile, also where the code has swallowed it.
    """
    result, failure = _outcome(code)
    if failure is not None:
        raise Failed(words_of(failure)) from None
    return result


def words_of(failure: BaseException) -> str:
    """Return what was raised, in one line of letters that can be shown."""
    message, unprintable = _outcome(lambda: str(failure))
    words = "it cannot be printed" if unprintable else printable(" ".join(message.split()))
    return f"{type(failure).__name__}: {words}"[:LONGEST_WORDS]


def hand_on_interrupt(status: str) -> None:
    """Hand Ctrl-C on where a solver took it for itself, as SCS does: of it only the status tells."""
    if "interrupted" in status:
        signal.raise_signal(signal.SIGINT)


def _outcome(code: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Return what code returns, or what it raises."""
    result, failure = None, None
    with _Handlers() as handlers:
        try:
            result = code()
        except BaseException as raised:  # noqa: BLE001 - foreign code: its failure is the answer
            failure = raised
    if handlers.raised is not None:
        raise handlers.raised
    if isinstance(failure, KeyboardInterrupt) and handlers.unknown:
        raise failure
    return result, failure


class _Handlers:
    """While it is entered, what the handlers of signals raise is noted; they run in the main thread only.

    Attributes
    ----------
    raised
        What the last of them that raised something did.
    unknown
        Whether the handler of Ctrl-C is none of Python's, so that who has pressed it cannot be told.
    """

    def __init__(self) -> None:
        self.raised: BaseException | None = None
        self.unknown = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Handlers:
        if threading.current_thread() is not threading.main_thread():
            return self
        self.unknown = signal.getsignal(signal.SIGINT) is None
        for number in WATCHED:
            handler = signal.getsignal(number)
            if callable(handler):
                self._before[number] = handler
                signal.signal(number, self._noted)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._noted:  # foreign code may have set its own
                signal.signal(number, handler)

    def _noted(self, number: int, frame: FrameType | None) -> None:
        """Do what is done at a signal, and note what it raises."""
        try:
            self._before[number](number, frame)
        except BaseException as raised:
            self.raised = raised
            raise
