"""Progress of comparisons and benchmarks on the standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from boostopt._utils.formatting import format_count
from boostopt._utils.progress_display import LineRenderer, ThrottledLines, fit_line, status_line, write_stderr_line
from boostopt._utils.validation import check_flag_or_function
from boostopt.backends.accuracy_profiles import is_named_profile
from boostopt.comparison.rendering.result_sentences import gap_text
from boostopt.comparison.solve_record import SolveRecord


def progress_callback(progress: object, default: Callable[..., None]) -> Callable[..., Any]:
    """Return the function to call: the user's function, the default for True, or no operation for False."""
    callback = check_flag_or_function("progress", progress)
    if isinstance(callback, bool):
        return default if callback else _do_nothing
    return callback


def print_backend_progress(backend: str, row: SolveRecord | None) -> None:
    """Write the running backend, and its result; the reasons are in the returned comparison."""
    write_stderr_line(f"{backend} ..." if row is None else result_text(backend, row))


def result_text(backend: str, row: SolveRecord) -> str:
    """Return the result of a solve in a few words."""
    if not row.ran:
        return f"{backend}: not run"
    return f"{backend}: {row.verdict}, gap {gap_text(row)}, {row.seconds:.2f} s"


@dataclass
class ComparisonProgress:
    """Progress of a comparison in one line of a terminal: the running solver, and the previous result.

    Attributes
    ----------
    total, done
        The number of solvers, and of the solvers that have ended.
    show
        The function that shows a line on the terminal.
    last
        The previous result in words.
    """

    total: int
    show: Callable[[LineRenderer], None]
    done: int = 0
    last: str = ""

    def __call__(self, backend: str, row: SolveRecord | None) -> None:
        """Show the running backend, or keep its result for the next line."""
        if row is None:
            self.show(lambda width: self.line(backend, width))
        else:
            self.done, self.last = self.done + 1, result_text(backend, row)

    def line(self, backend: str, width: int | None = None) -> str:
        """Return the running solver as a line; a narrow terminal loses the least important parts."""
        parts = {"solver": f"solver {self.done + 1} of {self.total}", "backend": backend}
        if self.last:
            parts["last"] = self.last
        return fit_line(parts, ("last", "solver"), width)


@contextmanager
def comparison_progress(callback: Callable[..., Any], total: int) -> Generator[Callable[..., Any]]:
    """Yield the progress callback: on a terminal, one line replaces the lines of `print_backend_progress`."""
    if callback is not print_backend_progress:
        yield callback
        return
    # No thread refreshes the line: no other work may run during a measured solve.
    with status_line(format_count(total, "solver"), no_refresh_thread=True) as show:
        yield print_backend_progress if show is None else ComparisonProgress(total, show)


@dataclass
class BenchmarkProgress:
    """Progress of a benchmark: the current solve, and the estimated end.

    Attributes
    ----------
    labels
        The labels of the programs in their order.
    total
        The number of solves.
    budget
        Seconds after which no further solve starts; None for no limit.
    callback
        The user's function, which replaces all lines.
    show
        The function that shows a line on a terminal; None if there is no terminal.
    done
        The number of solves that have ended.
    start_time
        The start of the benchmark, in seconds of the monotonic clock.
    lines
        The writer of lines into a file.
    """

    labels: Sequence[str]
    total: int
    budget: float | None = None
    callback: Callable[[int, int, SolveRecord], object] | None = None
    show: Callable[[LineRenderer], None] | None = None
    done: int = 0
    start_time: float = field(default_factory=time.monotonic)
    lines: ThrottledLines = field(default_factory=ThrottledLines)

    def start_solve(self, program: str, backend: str, request: str) -> None:
        """Show the next solve."""
        if self.show is not None:
            self.show(lambda width: self.line(program, f"{backend} {request}", width))

    def finish_solve(self, run: SolveRecord) -> None:
        """Report the number of finished solves, and the result of the last solve."""
        self.done += 1
        if self.callback is not None:
            self.callback(self.done, self.total, run)
        elif self.show is None:
            result = f"reached in {run.seconds:.2f} s" if run.has_target_gap else run.result
            line = f"[{self.done}/{self.total}] {run.backend} {request_text(run.profile, run.tol)}: {result}"
            self.lines.write(lambda: line, force=self.done == self.total)

    def line(self, program: str, solver: str, width: int | None = None) -> str:
        """Return the current solve as a line; a narrow terminal loses the least important parts."""
        parts = {
            "program": f"program {self.labels.index(program) + 1} of {len(self.labels)}",
            "solve": f"solve {self.done + 1} of {self.total}",
            "solver": solver,
        }
        if self.done:
            parts["remaining"] = f"about {format_duration(self.remaining_seconds())} left"
        return fit_line(parts, ("program", "solver", "remaining"), width)

    def remaining_seconds(self) -> float:
        """Estimate the seconds of the remaining solves, which in shuffled order resemble the finished solves."""
        elapsed = time.monotonic() - self.start_time
        remaining = elapsed / max(self.done, 1) * (self.total - self.done)
        return remaining if self.budget is None else min(remaining, max(self.budget - elapsed, 0.0))


@contextmanager
def benchmark_progress(
    progress: bool | Callable[[int, int, SolveRecord], object], labels: Sequence[str], total: int, budget: float | None
) -> Generator[BenchmarkProgress]:
    """Yield the progress of a benchmark: to a function of the user, to the standard error, or without output."""
    if progress is not True:
        yield BenchmarkProgress(labels, total, budget, _do_nothing if progress is False else progress)
        return
    # No thread refreshes the line: no other work may run during a measured solve.
    with status_line(format_count(total, "solve"), no_refresh_thread=True) as show:
        yield BenchmarkProgress(labels, total, budget, show=show)


def request_text(profile: str | None, gap: float) -> str:
    """Return the request to a solver: a gap, or a profile by name."""
    return f"with profile {profile}" if is_named_profile(profile) else f"to {gap:g}"


def format_duration(seconds: float) -> str:
    """Format a duration roughly."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _do_nothing(*arguments: object) -> None:
    """Ignore the progress."""
