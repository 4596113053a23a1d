"""A limit of one BLAS thread: the products here are too short for more threads, and on busy cores threads wait.

Measured on two cores: a second thread saves at most a seventh of a solve up to t = 1000 hypotheses, and costs 2 to
8 times as much beside two busy processes. `thread_limit` allows more threads, for BLAS and for solvers that take a
number of threads.

Most libraries have one number of threads for the whole process; some have one number for each Python thread. The
first thread that enters lowers a number that all threads share, and the last thread that leaves restores the
number. Each thread lowers and restores a number of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class BlasLibrary(Protocol):
    """A loaded BLAS library."""

    def get_num_threads(self) -> int:
        """Return the number of BLAS threads, as the calling thread sees the number."""
        ...

    def set_num_threads(self, num_threads: int) -> object:
        """Set the number of BLAS threads, for the process or for the calling thread."""
        ...


_thread_limit: ContextVar[int | None] = ContextVar("thread_limit", default=None)


def max_threads() -> int | None:
    """Return the largest number of threads of a solve, None without a limit.

    None means one thread for BLAS, and the default of each solver.
    """
    return _thread_limit.get()


@contextmanager
def thread_limit(threads: int | None) -> Generator[None]:
    """Limit the threads of the solves that begin in the context; None restores the defaults."""
    token = _thread_limit.set(threads)
    try:
        yield
    finally:
        _thread_limit.reset(token)


@dataclass(frozen=True)
class SavedThreadCount:
    """The number of threads of a library before it was lowered.

    Attributes
    ----------
    library
        The BLAS library.
    previous_threads
        The number of threads before.
    owner
        The thread that has the number, None if the process has one number.
    """

    library: BlasLibrary
    previous_threads: int
    owner: int | None


class ThreadLimiter:
    """Limit each library to one thread, or to the number of `thread_limit`, while the calling thread is inside.

    Parameters
    ----------
    find_libraries
        Finds the libraries. It is called once, when the first thread enters.
    """

    def __init__(self, find_libraries: Callable[[], Sequence[BlasLibrary]]) -> None:
        self._find_libraries = find_libraries
        self._libraries: Sequence[BlasLibrary] | None = None
        # A signal handler may solve a program while its own thread holds this lock.
        self._lock = threading.RLock()
        # Number of contexts of each thread.
        self._depths: dict[int, int] = {}
        self._lowered: list[SavedThreadCount] = []
        # True if the process has one number for a library, as measured when the number is first lowered.
        self._process_wide: dict[int, bool] = {}

    def enter(self) -> int:
        """Enter with the calling thread, and return the number of the thread, for `leave`."""
        thread = threading.get_ident()
        with self._lock:
            if thread not in self._depths:
                self._lower(thread)
            self._depths[thread] = self._depths.get(thread, 0) + 1
        return thread

    def leave(self, thread: int) -> None:
        """Leave with a thread that entered."""
        with self._lock:
            self._depths[thread] -= 1
            if self._depths[thread] == 0:
                del self._depths[thread]
                self._restore(thread)

    def before_fork(self) -> None:
        """Lock out other threads until the process has forked."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Release the lock after a fork."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Drop the other threads in a child process: they stay in the parent, and never leave here."""
        thread = threading.get_ident()
        self._depths = {inside: depth for inside, depth in self._depths.items() if inside == thread}
        if not self._depths:
            self._restore(thread)
        self._lock.release()

    def _lower(self, thread: int) -> None:
        """Lower the numbers of threads that exceed the limit, for the calling thread."""
        max_blas_threads = max_threads() or 1
        if self._libraries is None:
            self._libraries = self._find_libraries()
        for k, library in enumerate(self._libraries):
            threads = library.get_num_threads()
            if threads > max_blas_threads:
                _set_threads(library, max_blas_threads)
                if k not in self._process_wide:
                    self._process_wide[k] = _is_process_wide(library, max_blas_threads)
                self._lowered.append(SavedThreadCount(library, threads, None if self._process_wide[k] else thread))

    def _restore(self, thread: int) -> None:
        """Restore the numbers of a thread that leaves, and the numbers of the process after the last thread."""
        is_last = not self._depths
        for saved in [*self._lowered]:
            if saved.owner == thread or (is_last and saved.owner is None):
                _set_threads(saved.library, saved.previous_threads)
                self._lowered.remove(saved)


@contextmanager
def limit_blas_threads() -> Generator[None]:
    """Limit BLAS to one thread, or to the number of `thread_limit`; contexts may be nested, also in several threads.

    The outermost context counts.
    """
    thread = _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave(thread)


def _set_threads(library: Any, threads: int) -> None:
    """Set the number of threads of a library, from any thread.

    From version 3.8 on, threadpoolctl lets a single thread change a number that the process shares, and gives no
    error to the others. The last thread that leaves need not be the first that entered.
    """
    release: Callable[..., object] | None = getattr(library, "clear_controlling_thread", None)
    if release is None:
        library.set_num_threads(threads)
        return
    release(force=True)
    library.set_num_threads(threads)
    release()


def _is_process_wide(library: BlasLibrary, threads: int) -> bool:
    """Return whether other threads see the number of threads that the calling thread has just set."""
    thread_counts = list[int]()
    second_thread = threading.Thread(target=lambda: thread_counts.append(library.get_num_threads()))
    second_thread.start()
    second_thread.join()
    return thread_counts == [threads]


def _loaded_blas_libraries() -> Sequence[BlasLibrary]:
    """Return the BLAS libraries of NumPy, of SciPy and of any other loaded package."""
    # This module loads SciPy's own BLAS library. Imported later, the library would not be listed.
    import_module("scipy.linalg")
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


_LIMIT = ThreadLimiter(_loaded_blas_libraries)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LIMIT.before_fork,
        after_in_parent=_LIMIT.after_fork_in_parent,
        after_in_child=_LIMIT.after_fork_in_child,
    )
