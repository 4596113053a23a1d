"""A limit of the work of exact computations, in digits of the numbers that they compute, equal on all computers."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from boostopt.errors import SolverFailed

_remaining: ContextVar[float] = ContextVar("remaining", default=math.inf)


class TooMuchWorkError(SolverFailed):
    """An exact computation needs more digits than are granted."""


@contextmanager
def work_limit(n_digits: float) -> Generator[None]:
    """Grant the exact computations of a block so many binary digits of solutions of systems, or what is left of them.

    Raises
    ------
    TooMuchWorkError
        The block needs more.
    """
    token = _remaining.set(min(n_digits, _remaining.get()))
    try:
        yield
    finally:
        _remaining.reset(token)


def is_granted(n_digits: float) -> bool:
    """Return whether `work_limit` grants so many binary digits."""
    return n_digits <= _remaining.get()


def check_work(n_digits: float) -> None:
    """Refuse work in advance that needs about so many binary digits.

    Raises
    ------
    TooMuchWorkError
        They are more than `work_limit` grants.
    """
    if not is_granted(n_digits):
        raise TooMuchWorkError(
            "a program was expected whose exact optimum needs fewer digits; got one that needs more. Call "
            "exact_optimum(program), which has no limit."
        )


def count_work(n_digits: float) -> None:
    """Count binary digits that are computed.

    Raises
    ------
    TooMuchWorkError
        They are more than `work_limit` grants.
    """
    _remaining.set(_remaining.get() - n_digits)
    check_work(0.0)
