"""Calls of external code: each exception of the code, even an exit or an interrupt, becomes a failure in words.

Exceptions of signal handlers during the call are raised as they are. So Ctrl-C and handlers of SIGTERM or of an alarm
work as usual.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from boostopt._utils.formatting import escape_unprintable

MAX_ERROR_LENGTH = 500
"""Maximum number of characters of a failure in words."""

WATCHED_SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGBREAK", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
"""Signals whose handlers raise exceptions in some programs."""

T = TypeVar("T")


class ExternalError(Exception):
    """An exception of external code; the message describes it in one line."""


def call_external(code: Callable[[], T]) -> T:
    """Return the result of external code.

    Raises
    ------
    ExternalError
        The code raised an exception, possibly an exit or an interrupt.
    BaseException
        A signal handler raised this exception during the call, even if the code caught it.
    """
    result, failure = _result_or_exception(code)
    if failure is not None:
        raise ExternalError(describe_exception(failure)) from None
    return result


def describe_exception(failure: BaseException) -> str:
    """Return an exception in one line of printable characters."""
    message, unprintable = _result_or_exception(lambda: str(failure))
    words = "it cannot be printed" if unprintable else escape_unprintable(" ".join(message.split()))
    return f"{type(failure).__name__}: {words}"[:MAX_ERROR_LENGTH]


def raise_caught_interrupt(status: str) -> None:
    """Raise the Ctrl-C that a solver such as SCS caught, of which only the status tells."""
    if "interrupted" in status:
        signal.raise_signal(signal.SIGINT)


def _result_or_exception(code: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Return the result of external code, or its exception."""
    result, failure = None, None
    with _SignalRecorder() as handlers:
        try:
            result = code()
        except BaseException as exception:  # noqa: BLE001 - foreign code: its failure is the answer
            failure = exception
    if handlers.raised is not None:
        raise handlers.raised
    if isinstance(failure, KeyboardInterrupt) and handlers.unknown:
        raise failure
    return result, failure


class _SignalRecorder:
    """A context that records the exceptions of signal handlers, which run in the main thread only.

    Attributes
    ----------
    raised
        The last exception of a signal handler.
    unknown
        Whether the handler of Ctrl-C is not Python's, so that an interrupt may come from the user or from the code.
    """

    def __init__(self) -> None:
        self.raised: BaseException | None = None
        self.unknown = False
        self._previous_handlers: dict[int, Any] = {}

    def __enter__(self) -> _SignalRecorder:
        if threading.current_thread() is not threading.main_thread():
            return self
        self.unknown = signal.getsignal(signal.SIGINT) is None
        for number in WATCHED_SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._previous_handlers[number] = handler
                signal.signal(number, self._record)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._previous_handlers.items():
            if signal.getsignal(number) == self._record:  # external code may have set another handler
                signal.signal(number, handler)

    def _record(self, number: int, frame: FrameType | None) -> None:
        """Call the handler of a signal, and record its exception."""
        try:
            self._previous_handlers[number](number, frame)
        except BaseException as exception:
            self.raised = exception
            raise
