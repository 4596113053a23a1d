"""Processor seconds of the solvers that a proof calls, apart from those of the proof."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

Answer = TypeVar("Answer")


@dataclass
class SolverClock:
    """The processor seconds of all threads of the process that solvers took.

    Attributes
    ----------
    seconds
        The seconds so far.
    """

    seconds: float = 0.0


_running: ContextVar[SolverClock | None] = ContextVar("running", default=None)


@contextmanager
def solver_clock() -> Generator[SolverClock]:
    """Return the clock of a block: it runs during each `solver_call` in it."""
    clock = SolverClock()
    token = _running.set(clock)
    try:
        yield clock
    finally:
        _running.reset(token)


@contextmanager
def solver_call() -> Generator[None]:
    """Count the seconds of a block as those of a solver. A call inside another one counts once."""
    clock = _running.get()
    if clock is None:
        yield
        return
    token = _running.set(None)
    begin = time.process_time()
    try:
        yield
    finally:
        clock.seconds += time.process_time() - begin
        _running.reset(token)


def count_answers(answers: Iterable[Answer]) -> Iterator[Answer]:
    """Yield the answers of a solver, and count the seconds until each as those of a solver."""
    remaining = iter(answers)
    while True:
        with solver_call():
            pair = next(((answer,) for answer in remaining), None)
        if pair is None:
            return
        yield pair[0]
