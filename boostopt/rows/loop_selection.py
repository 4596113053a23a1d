"""The selection of the loops over rows: those of NumPy, or compiled ones where numba is installed.

Both return the same whole numbers, so the selection changes no result. Loading numba takes about as long as NumPy needs
for `MIN_ENTRIES` entries: small runs never load it, and larger ones lose at most that time.

Compiled loops over many entries may run in several threads, each over a part of the rows: sums of whole numbers do not
depend on the division. NumPy's counts hold the lock of the interpreter, so its loops have one thread.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, TypeVar

from boostopt._utils.blas_threads import max_threads
from boostopt.errors import OptionError, reason_of

T = TypeVar("T")

VARIABLE = "BOOSTOPT_COMPILED"
"""Environment variable: 0 keeps the loops of NumPy, 1 selects compiled ones from the first rows on."""

MIN_ENTRIES = 1 << 29
"""Entries that a process reads by NumPy before it loads numba: 0.6 processor seconds, as measured."""


THREADS_VARIABLE = "BOOSTOPT_THREADS"
"""Environment variable: the largest number of threads of a compiled loop; `DEFAULT_THREADS` by default."""

OPENMP_VARIABLE = "OMP_NUM_THREADS"
"""Environment variable of OpenMP: a smaller number of threads, which joblib sets in the processes that it starts."""

DEFAULT_THREADS = 2
"""Number of threads of a compiled loop where the process may use as many cores; runs take 0.86 to 0.93 of the time."""

MIN_THREAD_ENTRIES = 1 << 20
"""Entries of a loop for each thread, at least: 0.4 ms, four times as long as a thread takes to start."""


_thread_limit: ContextVar[int | None] = ContextVar("loop_thread_limit", default=None)


@contextmanager
def limit_loop_threads(n_threads: int | None) -> Generator[None]:
    """Set the largest number of threads of compiled loops in the context, at least 1; None restores the default.

    The number may exceed `DEFAULT_THREADS`, but neither the cores of the process nor what the environment allows.
    """
    token = _thread_limit.set(n_threads)
    try:
        yield
    finally:
        _thread_limit.reset(token)


class ReadEntries:
    """The number of entries that loops of this process have read."""

    count: int = 0


def uses_compiled_loops(n_entries: int) -> bool:
    """Count the entries that a loop reads, and return whether it is a compiled one.

    Raises
    ------
    OptionError
        The environment variable is neither 0 nor 1, or it is 1 and numba cannot be loaded.
    """
    ReadEntries.count += n_entries
    setting = os.environ.get(VARIABLE, "")
    if setting == "":
        return ReadEntries.count > MIN_ENTRIES and numba_failure() is None
    if setting == "0":
        return False
    if setting != "1":
        raise OptionError(
            f"the environment variable {VARIABLE} must be 0 or 1; got {setting!r}. Remove it: compiled loops are then "
            "used where numba is installed and the rows are many."
        )
    failure = numba_failure()
    if failure is not None:
        raise OptionError(
            f"the environment variable {VARIABLE} is 1, which expects numba; {failure}. "
            'Install it, pip install "boostopt[fast]", or remove the variable.'
        )
    return True


@cache
def numba_failure() -> str | None:
    """Load numba, and return why it cannot be used; None if it can."""
    if find_spec("numba") is None:
        return "it is not installed"
    try:
        numba: Any = import_module("numba")
    except ImportError as failure:  # as beside a version of NumPy that numba does not know
        reason = f"it cannot be imported: {reason_of(failure)}"
        warnings.warn(
            f"expected an installed numba to load; {reason}. Loops over rows are those of NumPy, with equal results. "
            "Install a numba for this NumPy, or uninstall it.",
            RuntimeWarning,
            stacklevel=2,
        )
        return reason
    return "NUMBA_DISABLE_JIT keeps it from compiling" if numba.config.DISABLE_JIT else None


def thread_count(n_entries: int) -> int:
    """Return the number of threads of a compiled loop over some entries.

    Raises
    ------
    OptionError
        The environment variable is no number of threads.
    """
    setting = os.environ.get(THREADS_VARIABLE, "")
    if setting == "" and n_entries < 2 * MIN_THREAD_ENTRIES:
        return 1
    setting = setting or str(default_thread_count())
    if not (setting.isdecimal() and int(setting) >= 1):
        raise OptionError(
            f"the environment variable {THREADS_VARIABLE} must be a whole number from 1 on; got {setting!r}. "
            f"Remove it: compiled loops then have {DEFAULT_THREADS} threads at most."
        )
    limits = (int(setting), _thread_limit.get(), max_threads())
    n_threads = min(limit for limit in limits if limit is not None)
    return max(1, min(n_threads, n_entries // MIN_THREAD_ENTRIES))


def default_thread_count() -> int:
    """Return the number of threads without a setting: at most the cores of the process, and what OpenMP may start."""
    n_threads = _thread_limit.get() or DEFAULT_THREADS
    openmp = os.environ.get(OPENMP_VARIABLE, "")
    n_openmp_threads = int(openmp) if openmp.isdecimal() else 0
    return min(n_threads, core_count(), n_openmp_threads or n_threads)


def core_count() -> int:
    """Return the number of cores that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_ranges(work: Callable[[int, int], T], n: int, n_entries: int) -> list[T]:
    """Return the results of some work for ranges (start, end) that divide n rows, one for each thread.

    Parameters
    ----------
    n_entries
        The number of entries that the work reads for all rows.
    """
    n_threads = thread_count(n_entries)
    if n_threads == 1:
        return [work(0, n)]
    ranges = list(pairwise(n * k // n_threads for k in range(n_threads + 1)))
    with ThreadPoolExecutor(n_threads - 1) as threads:
        futures = [threads.submit(work, start, end) for start, end in ranges[1:]]
        return [work(*ranges[0]), *(future.result() for future in futures)]
