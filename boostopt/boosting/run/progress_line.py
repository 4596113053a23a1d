"""The line on stderr that shows how a run is getting on."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from boostopt._utils.formatting import format_count
from boostopt._utils.progress_display import ThrottledLines, fit_line, status_line
from boostopt.boosting.run.trace import Row


@contextmanager
def progress_line(
    progress: bool | Callable[[Row], None], title: str, shows_program_value: bool = False, measure: str = "soft margin"
) -> Generator[Callable[[Row], None] | None]:
    """Yield what is called with every row: the user's own function, or one that shows it on stderr.

    `shows_program_value` says that the program bounds no class by its largest edge: its value is shown. `measure` is what the
    number shown is called.
    """
    if progress is False:
        yield None
        return
    if callable(progress):
        yield progress
        return
    with status_line(title) as show:
        if show is None:
            yield PlainProgress(title, shows_program_value, measure)
        else:
            yield lambda row: show(lambda width: progress_text(title, row, width, shows_program_value, measure))


@dataclass
class PlainProgress:
    """Rounds as lines on the standard error, where it is no terminal: the first of a run, and one a second."""

    title: str
    of_program: bool = False
    measure: str = "soft margin"
    paced: ThrottledLines = field(default_factory=ThrottledLines)

    def __call__(self, row: Row) -> None:
        self.paced.write(
            lambda: progress_text(self.title, row, None, self.of_program, self.measure), force=row.round == 1
        )


def progress_text(
    title: str, row: Row, width: int | None = None, of_program: bool = False, measure: str = "soft margin"
) -> str:
    """Return a round in a line: bounds, gap, rate; without those needed least where so many columns do not hold it."""
    rate = row.round / row.seconds if row.seconds > 0 else 0.0
    reached, bound = (row.value, row.upper) if of_program else (row.soft_margin, row.bound)
    bounded = not of_program or math.isfinite(bound)
    parts = {
        "round": f"{title}: round {row.round}",
        "hypotheses": format_count(row.hypotheses, "hypothesis", "hypotheses"),
        "reached": f"{measure} {reached:.6f}",
        **({"bound": f"bound {bound:.6f}", "gap": f"gap {bound - reached:.2e}"} if bounded else {}),
        "rate": f"{rate:.1f} rounds/s",
    }
    return fit_line(parts, ("rate", "hypotheses", "bound", "reached", "gap"), width)
