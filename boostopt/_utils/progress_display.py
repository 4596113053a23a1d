"""Progress on the standard error: a status line that is rewritten on a terminal, otherwise few separate lines."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

SPINNER_WIDTH = 3
"""Columns of the spinner at the beginning of the line, and of the cursor at its end."""

MIN_SECONDS_BETWEEN_LINES = 1.0
"""Minimum time between lines of progress if the standard error is no terminal, in seconds; keeps log files short."""

LineRenderer = Callable[[int], str]
"""A function that returns a line of at most so many columns."""


@contextmanager
def status_line(title: str, no_refresh_thread: bool = False) -> Generator[Callable[[LineRenderer], None] | None]:
    """Yield a function that replaces the status line, or None if the standard error is no terminal.

    Parameters
    ----------
    title
        The first text of the line.
    no_refresh_thread
        Whether to show no spinner and start no thread, so that a measurement has the processor for itself.
    """
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
    elif no_refresh_thread:
        with Live(Text(title), console=console, auto_refresh=False, transient=True) as display:
            yield lambda words: display.update(Text(words(console.width - 1), no_wrap=True), refresh=True)
    else:
        with console.status(Text(title)) as status:
            # The next line would not erase a line that is wider than the terminal.
            yield lambda words: status.update(Text(words(console.width - SPINNER_WIDTH)))


def write_stderr_line(line: str) -> None:
    """Write a line to the standard error, unless the process has none."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr.write(f"{line}\n")


@dataclass
class ThrottledLines:
    """Lines on the standard error, at most one a second except for forced lines.

    Attributes
    ----------
    last_written
        Time of the last line on the monotonic clock, in seconds.
    """

    last_written: float = field(default=-math.inf)

    def write(self, words: Callable[[], str], force: bool = False) -> None:
        """Write a line if the last one is old enough, or if the line is forced."""
        now = time.monotonic()
        if force or now - self.last_written >= MIN_SECONDS_BETWEEN_LINES:
            write_stderr_line(words())
            self.last_written = now


def fit_line(parts: Mapping[str, str], drop_order: Sequence[str], width: int | None) -> str:
    """Join parts into a line of at most `width` columns, without the parts that come first in the drop order."""
    remaining = dict(parts)
    for name in drop_order:
        if width is None or len(", ".join(remaining.values())) <= width:
            break
        remaining.pop(name, None)
    return ", ".join(remaining.values())[:width]
