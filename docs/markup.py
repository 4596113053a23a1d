"""The few pieces of Markdown that the generated pages are put together from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from boostopt.programs.parameters import Domain
from boostopt.typesetting import typeset_prose


def escaped(text: str) -> str:
    """Return plain text for Markdown: nothing in it is markup but what stands between backticks."""
    pieces = re.split(r"(`+[^`]+`+)", text)
    return "".join(piece if k % 2 else re.sub(r"([\\*_\[\]<>$|#])", r"\\\1", piece) for k, piece in enumerate(pieces))


def values_in(domain: Domain) -> str:
    """Return where a parameter may lie as Markdown: an interval as a formula, the two values of a flag as code."""
    if domain.kind == "flag":
        return "`True` or `False`"
    return typeset_prose(domain.text.replace("sum of c", "sum c"))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def fenced(directive: str, argument: str = "", body: str = "", **options: str) -> str:
    """Return a directive of MyST."""
    lines = [f":{name}: {value}".rstrip() for name, value in options.items()]
    return "\n".join([f"```{{{directive}}} {argument}".rstrip(), *lines, *([body] if body else []), "```"])


def write_folder(folder: Path, pages: Mapping[str, str]) -> None:
    """Make a folder hold exactly these pages; one that has not changed is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
