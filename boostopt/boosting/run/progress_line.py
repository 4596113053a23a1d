"""The progress line of a run on stderr."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from boostopt._utils.formatting import format_count
from boostopt._utils.progress_display import ThrottledLines, fit_line, status_line
from boostopt.boosting.run.trace import TraceRow


@contextmanager
def progress_line(
    progress: bool | Callable[[TraceRow], None],
    title: str,
    shows_program_value: bool = False,
    measure: str = "soft margin",
) -> Generator[Callable[[TraceRow], None] | None]:
    """Yield the function that is called with every row: the function of the user, or one that writes to stderr.

    Parameters
    ----------
    progress
        Whether a line is shown, or the function of the user.
    title
        The beginning of the line.
    shows_program_value
        Whether the line shows the value of the program, because the largest edge bounds no value over the class.
    measure
        The name of the value.
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
    """Progress as lines on a stderr that is no terminal: the first round of a run, and one line a second.

    Attributes
    ----------
    title, shows_program_value, measure
        As in `progress_line`.
    paced
        The writer that limits the number of lines.
    """

    title: str
    shows_program_value: bool = False
    measure: str = "soft margin"
    paced: ThrottledLines = field(default_factory=ThrottledLines)

    def __call__(self, row: TraceRow) -> None:
        self.paced.write(
            lambda: progress_text(self.title, row, None, self.shows_program_value, self.measure), force=row.round == 1
        )


def progress_text(
    title: str, row: TraceRow, width: int | None = None, shows_program_value: bool = False, measure: str = "soft margin"
) -> str:
    """Return a line about a round: bounds, gap, rate; a narrow line leaves out the less important parts."""
    rate = row.round / row.seconds if row.seconds > 0 else 0.0
    value, bound = (row.value, row.upper) if shows_program_value else (row.soft_margin, row.bound)
    bounded = not shows_program_value or math.isfinite(bound)
    parts = {
        "round": f"{title}: round {row.round}",
        "hypotheses": format_count(row.hypotheses, "hypothesis", "hypotheses"),
        "value": f"{measure} {value:z.6f}",
        **({"bound": f"bound {bound:z.6f}", "gap": f"gap {bound - value:.2e}"} if bounded else {}),
        "rate": f"{rate:.1f} rounds/s",
    }
    return fit_line(parts, ("rate", "hypotheses", "bound", "value", "gap"), width)
