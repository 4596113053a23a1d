"""Progress on the standard error: a line that is written anew on a terminal, and few lines where there is none."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

SPINNER_WIDTH = 3
"""Columns of what turns at the beginning of the line, and of the cursor at its end."""

MIN_SECONDS_BETWEEN_LINES = 1.0
"""Seconds between lines of progress where the standard error is no terminal: a file of them is to be readable."""

LineRenderer = Callable[[int], str]
"""What makes a line of so many columns at most."""


@contextmanager
def status_line(title: str, no_refresh_thread: bool = False) -> Generator[Callable[[LineRenderer], None] | None]:
    """Yield what shows words in place of those before, or None where the standard error is no terminal.

    Parameters
    ----------
    title
        What stands there at first.
    no_refresh_thread
        Nothing turns and no thread draws: what is measured meanwhile has the processor for itself.
    """
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
    elif no_refresh_thread:
        with Live(Text(title), console=console, auto_refresh=False, transient=True) as live:
            yield lambda words: live.update(Text(words(console.width - 1), no_wrap=True), refresh=True)
    else:
        with console.status(Text(title)) as status:
            # A line that is wider than the terminal would not be wiped out whole by the next one.
            yield lambda words: status.update(Text(words(console.width - SPINNER_WIDTH)))


def write_stderr_line(line: str) -> None:
    """Write a line on the standard error; a process without a console has none."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr.write(f"{line}\n")


@dataclass
class ThrottledLines:
    """Lines on the standard error, one a second at most but for those that must be said."""

    last_written: float = field(default=-math.inf)

    def write(self, words: Callable[[], str], force: bool = False) -> None:
        """Write a line, where it is time for one."""
        now = time.monotonic()
        if force or now - self.last_written >= MIN_SECONDS_BETWEEN_LINES:
            write_stderr_line(words())
            self.last_written = now


def fit_line(parts: Mapping[str, str], drop_order: Sequence[str], width: int | None) -> str:
    """Return parts in a line; where so many columns are too few, without those needed least, in their order."""
    left = dict(parts)
    for name in drop_order:
        if width is None or len(", ".join(left.values())) <= width:
            break
        left.pop(name, None)
    return ", ".join(left.values())[:width]
