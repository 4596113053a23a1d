"""What the README and the documentation show is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHOWN = {
    "README.md": 10,
    "docs/boosters.md": 10,
    "docs/boosting.md": 20,
    "docs/classifiers.md": 25,
    "docs/ensembles.md": 20,
    "docs/paths.md": 12,
    "docs/verification.md": 20,
}
"""Pages with examples, and how many there are at least."""


def blocks(page: str) -> list[str]:
    return re.findall(r"```pycon\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def test_no_page_with_examples_is_left_out() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert {str(page.relative_to(ROOT)) for page in pages if "```pycon" in page.read_text()} == set(SHOWN)


@pytest.mark.parametrize("page", SHOWN)
def test_the_examples_give_what_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks(page)), {}, page, None, 0)
    assert len(examples.examples) >= SHOWN[page]
    said = list[str]()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    assert runner.run(examples, out=said.append).failed == 0, "".join(said)
