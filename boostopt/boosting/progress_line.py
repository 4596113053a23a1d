"""The line on stderr that shows how a run is getting on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from boostopt.boosting.trace import Row


@contextmanager
def progress_line(progress: bool | Callable[[Row], None], title: str) -> Generator[Callable[[Row], None] | None]:
    """Yield what is called with every row: the user's own function, or one that redraws a line on stderr."""
    if progress is False:
        yield None
        return
    if callable(progress):
        yield progress
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(title) as status:
        yield lambda row: status.update(words(title, row))


def words(title: str, row: Row) -> str:
    """Return a round in a line: bounds, gap, rate."""
    rate = row.round / row.seconds if row.seconds > 0 else 0.0
    return (
        f"{title}: round {row.round}, {row.hypotheses} hypotheses, soft margin {row.soft_margin:.6f}, "
        f"bound {row.soft_margin + row.gap:.6f}, gap {row.gap:.2e}, {rate:.1f} rounds/s"
    )
