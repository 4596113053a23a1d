"""Progress of a comparison and of a benchmark, on the standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from boostopt.arguments import flag_or_function
from boostopt.backends.profiles import asked_by_name
from boostopt.comparison.rows import Row
from boostopt.comparison.wording import width
from boostopt.live import Paced, Words, fitted, live_line, say
from boostopt.text import counted


def called(progress: object, otherwise: Callable[..., None]) -> Callable[..., Any]:
    """Return what is called: the user's own function, one that says it on the standard error, or one that is silent."""
    read = flag_or_function("progress", progress)
    if isinstance(read, bool):
        return otherwise if read else _silent
    return read


def of_backend(backend: str, row: Row | None) -> None:
    """Say what is running and what came of it; the reasons stand in the result."""
    say(f"{backend} ..." if row is None else came_of(backend, row))


def came_of(backend: str, row: Row) -> str:
    """Return what came of a solve in a few words."""
    if not row.ran:
        return f"{backend}: not run"
    return f"{backend}: {row.verdict}, gap {width(row)}, {row.seconds:.2f} s"


@dataclass
class Solvers:
    """Progress of a comparison in one line of a terminal: which solver runs, and what came of the one before."""

    total: int
    show: Callable[[Words], None]
    done: int = 0
    last: str = ""

    def __call__(self, backend: str, row: Row | None) -> None:
        if row is None:
            self.show(lambda width: self.words(backend, width))
        else:
            self.done, self.last = self.done + 1, came_of(backend, row)

    def words(self, backend: str, width: int | None = None) -> str:
        """Return what runs in a line; without what is needed least where so many columns do not hold it."""
        parts = {"solver": f"solver {self.done + 1} of {self.total}", "backend": backend}
        if self.last:
            parts["last"] = self.last
        return fitted(parts, ("last", "solver"), width)


@contextmanager
def of_backends(tell: Callable[..., Any], total: int) -> Generator[Callable[..., Any]]:
    """Yield what is called for so many backends: on a terminal one line takes the place of `of_backend`'s."""
    if tell is not of_backend:
        yield tell
        return
    # Without a thread of its own: nothing may run beside a solve whose time is taken.
    with live_line(counted(total, "solver"), still=True) as show:
        yield of_backend if show is None else Solvers(total, show)


@dataclass
class Solves:
    """Progress of a benchmark: what is solved now, and when all may be done.

    Attributes
    ----------
    labels
        The programs in their order.
    total
        How many solves there are.
    budget
        Seconds after which none is begun; None for no limit.
    tell
        The user's own function, in place of what is written here.
    show
        What shows a line on a terminal; None where there is none.
    """

    labels: Sequence[str]
    total: int
    budget: float | None = None
    tell: Callable[[int, int, Row], object] | None = None
    show: Callable[[Words], None] | None = None
    done: int = 0
    since: float = field(default_factory=time.monotonic)
    paced: Paced = field(default_factory=Paced)

    def begins(self, program: str, backend: str, what: str) -> None:
        """Show what is solved next."""
        if self.show is not None:
            self.show(lambda width: self.words(program, f"{backend} {what}", width))

    def ends(self, run: Row) -> None:
        """Say how many solves are done and what came of the last one."""
        self.done += 1
        if self.tell is not None:
            self.tell(self.done, self.total, run)
        elif self.show is None:
            came = f"reached in {run.seconds:.2f} s" if run.reached else run.result
            what = asked_in_words(run.profile, run.tol)
            line = f"[{self.done}/{self.total}] {run.backend} {what}: {came}"
            self.paced.say(lambda: line, must=self.done == self.total)

    def words(self, program: str, solver: str, width: int | None = None) -> str:
        """Return what is solved in a line; without what is needed least where so many columns do not hold it."""
        parts = {
            "program": f"program {self.labels.index(program) + 1} of {len(self.labels)}",
            "solve": f"solve {self.done + 1} of {self.total}",
            "solver": solver,
        }
        if self.done:
            parts["left"] = f"about {lasting(self.left())} left"
        return fitted(parts, ("program", "solver", "left"), width)

    def left(self) -> float:
        """Return the seconds that the solves to come may take: in shuffled order they are like those that are done."""
        spent = time.monotonic() - self.since
        left = spent / max(self.done, 1) * (self.total - self.done)
        return left if self.budget is None else min(left, max(self.budget - spent, 0.0))


@contextmanager
def of_solves(
    progress: bool | Callable[[int, int, Row], object], labels: Sequence[str], total: int, budget: float | None
) -> Generator[Solves]:
    """Yield what shows the solves of a benchmark: to a function of the user, on the standard error, or nowhere."""
    if progress is not True:
        yield Solves(labels, total, budget, _silent if progress is False else progress)
        return
    # Without a thread of its own: nothing may run beside a solve whose time is taken.
    with live_line(f"{total} solves", still=True) as show:
        yield Solves(labels, total, budget, show=show)


def asked_in_words(profile: str | None, gap: float) -> str:
    """Say what a solver is asked for: a gap, or by which profile."""
    return f"asked by {profile}" if asked_by_name(profile) else f"to {gap:g}"


def lasting(seconds: float) -> str:
    """Write how long something may take, roughly."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _silent(*arguments: object) -> None:
    """Say nothing."""
