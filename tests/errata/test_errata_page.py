"""The page of errata and the tests agree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
DOCS = FOLDER.parents[1] / "docs"
PAGE = (DOCS / "errata.md").read_text(encoding="utf-8")
ENTRIES = {name: last for name, last in re.findall(r"^\| ([TNRDS]\d+) \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE)}
COUNTS = {"T": 58, "N": 4, "R": 25, "D": 4, "S": 5}


def defined_tests() -> list[str]:
    names = [
        node.name
        for path in sorted(FOLDER.glob("test_errata_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and re.match(r"test_[TNRDS]\d+_", node.name)
    ]
    assert len(names) == len(set(names))
    return names


def test_the_page_names_every_test() -> None:
    """Every erratum stands in one row, every test of an erratum in the row of that erratum."""
    rows = re.findall(r"^\| ([TNRDS]\d+) \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(f"{paper}{k}" for paper, last in COUNTS.items() for k in range(1, last + 1))
    assert set(rows) == set(ENTRIES)
    named = {name: re.findall(r"`(test_\w+)`", last) for name, last in ENTRIES.items()}
    assert sorted(test for tests in named.values() for test in tests) == sorted(defined_tests())
    for name, tests in named.items():
        assert tests or ENTRIES[name].startswith(("algebra: ", "print: ")), name
        assert all(test.startswith(f"test_{name}_") for test in tests), name


def test_every_row_has_all_its_cells() -> None:
    """No bar in a formula breaks a row in two."""
    for line in PAGE.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"\|", line)) == 6, line
            assert line.count("$") % 2 == 0, line


def test_every_citation_of_the_page_is_in_the_bibliography() -> None:
    keys = re.findall(r"^@\w+\{(\w+),$", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(keys) == len(set(keys))
    assert set(re.findall(r"\{cite:[pt]\}`(\w+)`", PAGE)) <= set(keys)
