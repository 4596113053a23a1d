"""One BLAS thread: what is multiplied here is too short for more, and on busy cores they wait for each other.

Measured on two cores: a second thread saves at most a seventh of a solve up to t = 1000 hypotheses, and costs 2 to 8
times as much beside two busy processes. `at_most` gives more, to BLAS and to solvers that take a number of threads.

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
class Library(Protocol):
    """A BLAS that is loaded."""

    def get_num_threads(self) -> int:
        """Return how many threads it has, seen from the calling thread."""
        ...

    def set_num_threads(self, num_threads: int) -> object:
        """Set how many threads it has, in the process or for the calling thread."""
        ...


_most: ContextVar[int | None] = ContextVar("most", default=None)


def most_threads() -> int | None:
    """Return how many threads a solve may have; None where nobody has said: one for BLAS, and solvers as they come."""
    return _most.get()


@contextmanager
def at_most(threads: int | None) -> Generator[None]:
    """Give the solves that begin inside so many threads at most; None as if nobody had said."""
    token = _most.set(threads)
    try:
        yield
    finally:
        _most.reset(token)


@dataclass(frozen=True)
class Lowered:
    """A number that was lowered.

    Attributes
    ----------
    library
        Whose number.
    threads
        What it was.
    owner
        The thread that it is of, None for the process.
    """

    library: Library
    threads: int
    owner: int | None


class Limit:
    """One thread for each library, or what `at_most` says, as long as the calling thread is inside.

    Parameters
    ----------
    look
        Finds the libraries; called when the first thread comes in, and never again.
    """

    def __init__(self, look: Callable[[], Sequence[Library]]) -> None:
        self._look = look
        self._libraries: Sequence[Library] | None = None
        # The handler of a signal may solve a program while its own thread is at this lock.
        self._lock = threading.RLock()
        # How often each thread is inside.
        self._depths: dict[int, int] = {}
        self._lowered: list[Lowered] = []
        # Whether the number of a library is that of the process, found when it is lowered for the first time.
        self._shared: dict[int, bool] = {}

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

    def fork(self) -> None:
        """Keep the others out until the process has forked."""
        self._lock.acquire()

    def go_on(self) -> None:
        """Go on after a fork."""
        self._lock.release()

    def go_on_alone(self) -> None:
        """Go on in a child: the other threads stayed behind in the parent, and never come out here."""
        thread = threading.get_ident()
        self._depths = {inside: depth for inside, depth in self._depths.items() if inside == thread}
        if not self._depths:
            self._restore(thread)
        self._lock.release()

    def _lower(self, thread: int) -> None:
        """Lower the numbers that the calling thread finds above what is allowed."""
        most = most_threads() or 1
        if self._libraries is None:
            self._libraries = self._look()
        for k, library in enumerate(self._libraries):
            threads = library.get_num_threads()
            if threads > most:
                _set(library, most)
                if k not in self._shared:
                    self._shared[k] = _is_shared(library, most)
                self._lowered.append(Lowered(library, threads, None if self._shared[k] else thread))

    def _restore(self, thread: int) -> None:
        """Restore the numbers of a thread that leaves, and those of the process if nobody is left."""
        last = not self._depths
        for number in [*self._lowered]:
            if number.owner == thread or (last and number.owner is None):
                _set(number.library, number.threads)
                self._lowered.remove(number)


@contextmanager
def one_thread() -> Generator[None]:
    """Give BLAS one thread, or what `at_most` says; contexts may be nested, and open in several threads of Python.

    The outermost one counts.
    """
    thread = _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave(thread)


def _set(library: Any, threads: int) -> None:
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


def _is_shared(library: Library, most: int) -> bool:
    """Whether the number that the calling thread has just set is that of other threads as well."""
    seen = list[int]()
    other = threading.Thread(target=lambda: seen.append(library.get_num_threads()))
    other.start()
    other.join()
    return seen == [most]


def _loaded() -> Sequence[Library]:
    """Return the BLAS libraries of NumPy, of SciPy and of whatever else is loaded."""
    # SciPy brings one of its own, which is loaded with this module: too late, and it would never be found.
    import scipy.linalg  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


_LIMIT = Limit(_loaded)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LIMIT.fork, after_in_parent=_LIMIT.go_on, after_in_child=_LIMIT.go_on_alone)
