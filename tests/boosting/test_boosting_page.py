"""The lists of docs/boosting.md are those of the package."""

from __future__ import annotations

import re
from pathlib import Path

from boostopt.boosting import RULES
from boostopt.programs.boosting_spec import UpdateKind

PAGE = (Path(__file__).parents[2] / "docs" / "boosting.md").read_text(encoding="utf-8")


def table_names(header: str) -> list[str]:
    """Return what the first cells of the table with that header name."""
    (table,) = re.findall(rf"^{re.escape(header)}.*?\n\n", PAGE, re.DOTALL | re.MULTILINE)
    return re.findall(r'^\| `"?(\w+)"?` \|', table, re.MULTILINE)


def test_every_rule_is_on_the_page() -> None:
    assert sorted(table_names("| rule |")) == sorted(RULES)


def test_every_update_is_on_the_page() -> None:
    assert sorted(table_names("| `update` |")) == sorted({*UpdateKind, "update"})
