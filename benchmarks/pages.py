"""Pages whose tables a benchmark writes between two markers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from boostopt._utils.files import write_atomically
from boostopt.errors import DataError


def replace_between(page: Path, begin: str, end: str, tables: str) -> None:
    """Put tables between the markers of a page, replacing what is there.

    Raises
    ------
    DataError
        The page has not both markers, in this order.
    """
    head, has_begin, rest = page.read_text(encoding="utf-8").partition(begin)
    _, has_end, tail = rest.partition(end)
    if not has_begin or not has_end:
        raise DataError(f"expected the lines {begin} and {end} in {page}; one is missing. Add them where tables go.")
    text = f"{head}{begin}\n\n{tables}\n\n{end}{tail}"
    write_atomically(page, lambda file: file.write(text.encode()))


def row(cells: Iterable[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def head(cells: Sequence[str], alignment: str = "---") -> Iterator[str]:
    """Yield the first two lines of a table in Markdown, whose columns after the first have an alignment."""
    yield row(cells)
    yield row(["---", *[alignment] * (len(cells) - 1)])
