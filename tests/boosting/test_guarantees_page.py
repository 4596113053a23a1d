"""The page of guarantees and the tests agree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
DOCS = FOLDER.parents[1] / "docs"
PAGE = (DOCS / "guarantees.md").read_text(encoding="utf-8")
FILES = ("test_guarantees.py", "test_guarantees_corrective.py", "test_guarantees_margins.py")


def test_the_page_names_every_test_of_the_file_of_its_section() -> None:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    assert len(sections) == len(FILES)
    for section, file in zip(sections, FILES, strict=True):
        assert f"`tests/boosting/{file}`" in section
        defined = {
            node.name
            for node in ast.parse((FOLDER / file).read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        }
        assert defined == set(re.findall(r"`(test_(?!guarantees)\w+)`", section))


def test_every_line_has_all_its_cells_and_a_test() -> None:
    """No bar in a formula breaks a line in two."""
    for line in PAGE.splitlines():
        if line.startswith("|"):
            assert line.count("|") == 5, line
            assert line.count("$") % 2 == 0, line
            assert line.startswith(("| guarantee |", "|---")) or line.rstrip(" |").endswith("`"), line


def test_every_citation_of_the_page_is_in_the_bibliography() -> None:
    keys = re.findall(r"^@\w+\{(\w+),$", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"\{cite:[pt]\}`(\w+)`", PAGE)) <= set(keys)
