"""The line on stderr that shows how a run is getting on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from boostopt.boosting.trace import Row
from boostopt.live import Paced, fitted, live_line
from boostopt.text import counted


@contextmanager
def progress_line(progress: bool | Callable[[Row], None], title: str) -> Generator[Callable[[Row], None] | None]:
    """Yield what is called with every row: the user's own function, or one that shows it on stderr."""
    if progress is False:
        yield None
        return
    if callable(progress):
        yield progress
        return
    with live_line(title) as show:
        yield Lines(title) if show is None else lambda row: show(lambda width: words(title, row, width))


@dataclass
class Lines:
    """Rounds as lines on the standard error, where it is no terminal: the first of a run, and one a second."""

    title: str
    paced: Paced = field(default_factory=Paced)

    def __call__(self, row: Row) -> None:
        self.paced.say(lambda: words(self.title, row), must=row.round == 1)


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
    return fitted(parts, ("rate", "hypotheses", "bound", "soft margin", "gap"), width)
