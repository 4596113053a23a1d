"""The line on stderr that shows how a run is getting on."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from boostopt.boosting.trace import Row
from boostopt.text import counted

SPINNER = 3
"""Columns of what turns at the beginning of the line, and of the cursor at its end."""

PAUSE = 1.0
"""Seconds between lines of progress where the standard error is no terminal: a file of them is to be readable."""


@contextmanager
def progress_line(progress: bool | Callable[[Row], None], title: str) -> Generator[Callable[[Row], None] | None]:
    """Yield what is called with every row: the user's own function, or one that shows it on stderr."""
    if progress is False:
        yield None
        return
    if callable(progress):
        yield progress
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(title)
        return
    with console.status(Text(title)) as status:
        # A line that is wider than the terminal would not be wiped out whole by the next one.
        yield lambda row: status.update(Text(words(title, row, console.width - SPINNER)))


@dataclass
class Lines:
    """Rounds as lines on the standard error, where it is no terminal: the first of a run, and one a second."""

    title: str
    last: float = field(default=-math.inf)

    def __call__(self, row: Row) -> None:
        now = time.monotonic()
        # A process without a console has no standard error.
        if sys.stderr is not None and (row.round == 1 or now - self.last >= PAUSE):
            sys.stderr.write(f"{words(self.title, row)}\n")
            self.last = now


def words(title: str, row: Row, width: int | None = None) -> str:
    """Return a round in a line: bounds, gap, rate; without those needed least where so many columns do not hold it."""
    rate = row.round / row.seconds if row.seconds > 0 else 0.0
    parts = {
        "round": f"{title}: round {row.round}",
        "hypotheses": counted(row.hypotheses, "hypothesis", "hypotheses"),
        "soft margin": f"soft margin {row.soft_margin:.6f}",
        "bound": f"bound {row.soft_margin + row.gap:.6f}",
        "gap": f"gap {row.gap:.2e}",
        "rate": f"{rate:.1f} rounds/s",
    }
    for least in ("rate", "hypotheses", "bound", "soft margin", "gap"):
        if width is None or len(", ".join(parts.values())) <= width:
            break
        del parts[least]
    return ", ".join(parts.values())[:width]
