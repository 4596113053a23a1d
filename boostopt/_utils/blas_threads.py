"""One BLAS thread: what is multiplied here is too short for more, and on busy cores they wait for each other.

Measured on two cores: a second thread saves at most a seventh of a solve up to t = 1000 hypotheses, and costs 2 to 8
times as much beside two busy processes. `thread_limit` gives more, to BLAS and to solvers that take a number of threads.

Most libraries have one number of threads for the whole process, some one for each thread of Python. The first one in
lowers a number that all share, and the last one out restores it; one of its own each thread lowers and restores itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class BlasLibrary(Protocol):
    """A BLAS that is loaded."""

    def get_num_threads(self) -> int:
        """Return how many threads it has, seen from the calling thread."""
        ...

    def set_num_threads(self, num_threads: int) -> object:
        """Set how many threads it has, in the process or for the calling thread."""
        ...


_most: ContextVar[int | None] = ContextVar("most", default=None)


def max_threads() -> int | None:
    """Return how many threads a solve may have; None where nobody has said: one for BLAS, and solvers as they come."""
    return _most.get()


@contextmanager
def thread_limit(threads: int | None) -> Generator[None]:
    """Give the solves that begin inside so many threads at most; None as if nobody had said."""
    token = _most.set(threads)
    try:
        yield
    finally:
        _most.reset(token)


@dataclass(frozen=True)
class SavedThreadCount:
    """A number that was lowered.

    Attributes
    ----------
    library
        Whose number.
    previous_threads
        What it was.
    owner
        The thread that it is of, None for the process.
    """

    library: BlasLibrary
    previous_threads: int
    owner: int | None


class ThreadLimiter:
    """One thread for each library, or what `thread_limit` says, as long as the calling thread is inside.

    Parameters
    ----------
    find_libraries
        Finds the libraries; called when the first thread comes in, and never again.
    """

    def __init__(self, find_libraries: Callable[[], Sequence[BlasLibrary]]) -> None:
        self._look = find_libraries
        self._libraries: Sequence[BlasLibrary] | None = None
        # The handler of a signal may solve a program while its own thread is at this lock.
        self._lock = threading.RLock()
        # How often each thread is inside.
        self._depths: dict[int, int] = {}
        self._lowered: list[SavedThreadCount] = []
        # Whether the number of a library is that of the process, found when it is lowered for the first time.
        self._process_wide: dict[int, bool] = {}

    def enter(self) -> int:
        """Let the calling thread in; return its number, for `leave`."""
        thread = threading.get_ident()
        with self._lock:
            if thread not in self._depths:
                self._lower(thread)
            self._depths[thread] = self._depths.get(thread, 0) + 1
        return thread

    def leave(self, thread: int) -> None:
        """Let a thread out that came in."""
        with self._lock:
            self._depths[thread] -= 1
            if self._depths[thread] == 0:
                del self._depths[thread]
                self._restore(thread)

    def before_fork(self) -> None:
        """Keep the others out until the process has forked."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on after a fork."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Go on in a child: the other threads stayed behind in the parent, and never come out here."""
        thread = threading.get_ident()
        self._depths = {inside: depth for inside, depth in self._depths.items() if inside == thread}
        if not self._depths:
            self._restore(thread)
        self._lock.release()

    def _lower(self, thread: int) -> None:
        """Lower the numbers that the calling thread finds above what is allowed."""
        most = max_threads() or 1
        if self._libraries is None:
            self._libraries = self._look()
        for k, library in enumerate(self._libraries):
            threads = library.get_num_threads()
            if threads > most:
                _set_threads(library, most)
                if k not in self._process_wide:
                    self._process_wide[k] = _is_process_wide(library, most)
                self._lowered.append(SavedThreadCount(library, threads, None if self._process_wide[k] else thread))

    def _restore(self, thread: int) -> None:
        """Restore the numbers of a thread that leaves, and those of the process if nobody is left."""
        last = not self._depths
        for number in [*self._lowered]:
            if number.owner == thread or (last and number.owner is None):
                _set_threads(number.library, number.previous_threads)
                self._lowered.remove(number)


@contextmanager
def limit_blas_threads() -> Generator[None]:
    """Give BLAS one thread, or what `thread_limit` says; contexts may be nested, and open in several threads of Python.

    The outermost one counts.
    """
    thread = _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave(thread)


def _set_threads(library: Any, threads: int) -> None:
    """Set a number from whichever thread.

    From version 3.8 on threadpoolctl lets one thread alone change a number that the process shares, and says nothing
    to the others: the last one out need not be the one that came in first.
    """
    give_up: Callable[..., object] | None = getattr(library, "clear_controlling_thread", None)
    if give_up is None:
        library.set_num_threads(threads)
        return
    give_up(force=True)
    library.set_num_threads(threads)
    give_up()


def _is_process_wide(library: BlasLibrary, most: int) -> bool:
    """Whether the number that the calling thread has just set is that of other threads as well."""
    seen = list[int]()
    other = threading.Thread(target=lambda: seen.append(library.get_num_threads()))
    other.start()
    other.join()
    return seen == [most]


def _loaded_blas_libraries() -> Sequence[BlasLibrary]:
    """Return the BLAS libraries of NumPy, of SciPy and of whatever else is loaded."""
    # SciPy brings one of its own, which is loaded with this module: too late, and it would never be found.
    import scipy.linalg  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


_LIMIT = ThreadLimiter(_loaded_blas_libraries)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LIMIT.before_fork,
        after_in_parent=_LIMIT.after_fork_in_parent,
        after_in_child=_LIMIT.after_fork_in_child,
    )
