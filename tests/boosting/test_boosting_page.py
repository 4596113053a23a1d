"""What docs/boosting.md shows is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from boostopt.boosting import RULES
from boostopt.boosting.problem import UPDATES

PAGE = (Path(__file__).parents[2] / "docs" / "boosting.md").read_text(encoding="utf-8")


def test_the_examples_give_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```pycon\n(.*?)```", PAGE, re.DOTALL)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "boosting.md", None, 0)
    assert len(examples.examples) >= 20
    said = list[str]()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    assert runner.run(examples, out=said.append).failed == 0, "".join(said)


def named(header: str) -> list[str]:
    """Return what the first cells of the table with that header name."""
    (table,) = re.findall(rf"^{re.escape(header)}.*?\n\n", PAGE, re.DOTALL | re.MULTILINE)
    return re.findall(r'^\| `"?(\w+)"?` \|', table, re.MULTILINE)


def test_every_rule_is_on_the_page() -> None:
    assert sorted(named("| rule |")) == sorted(RULES)


def test_every_update_is_on_the_page() -> None:
    assert sorted(named("| `update` |")) == sorted({*UPDATES, "update"})
