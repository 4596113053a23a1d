"""Progress on the standard error: a line that is written anew on a terminal, and few lines where there is none."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

SPINNER = 3
"""Columns of what turns at the beginning of the line, and of the cursor at its end."""

PAUSE = 1.0
"""Seconds between lines of progress where the standard error is no terminal: a file of them is to be readable."""

Words = Callable[[int], str]
"""What makes a line of so many columns at most."""


@contextmanager
def live_line(title: str, still: bool = False) -> Generator[Callable[[Words], None] | None]:
    """Yield what shows words in place of those before, or None where the standard error is no terminal.

    Parameters
    ----------
    title
        What stands there at first.
    still
        Nothing turns and no thread draws: what is measured meanwhile has the processor for itself.
    """
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
    elif still:
        with Live(Text(title), console=console, auto_refresh=False, transient=True) as live:
            yield lambda words: live.update(Text(words(console.width - 1), no_wrap=True), refresh=True)
    else:
        with console.status(Text(title)) as status:
            # A line that is wider than the terminal would not be wiped out whole by the next one.
            yield lambda words: status.update(Text(words(console.width - SPINNER)))


def say(line: str) -> None:
    """Write a line on the standard error; a process without a console has none."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr.write(f"{line}\n")


@dataclass
class Paced:
    """Lines on the standard error, one a second at most but for those that must be said."""

    last: float = field(default=-math.inf)

    def say(self, words: Callable[[], str], must: bool = False) -> None:
        """Write a line, where it is time for one."""
        now = time.monotonic()
        if must or now - self.last >= PAUSE:
            say(words())
            self.last = now


def fitted(parts: Mapping[str, str], least: Sequence[str], width: int | None) -> str:
    """Return parts in a line; where so many columns are too few, without those needed least, in their order."""
    left = dict(parts)
    for name in least:
        if width is None or len(", ".join(left.values())) <= width:
            break
        left.pop(name, None)
    return ", ".join(left.values())[:width]
