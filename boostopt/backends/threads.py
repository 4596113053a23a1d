"""One thread for small linear algebra: two cost as much as they save, and on busy cores many times more."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from boostopt.margins import SMALL_ENTRIES


def few_threads(entries: int) -> AbstractContextManager[Any]:
    """Return a context in which products with a margin matrix of that many entries take as many threads as pay.

    Up to `SMALL_ENTRIES` one thread is as fast as two (measured on two cores).
    """
    return _controller().limit(limits=1, user_api="blas") if entries <= SMALL_ENTRIES else nullcontext()


@cache
def _controller() -> Any:
    """Look for the libraries once: it takes 14 ms."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
