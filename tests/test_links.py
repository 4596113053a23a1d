"""Links of the README, the pages and the notebooks lead somewhere, and the tests that pages name exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(path for folder in (".", ".github", "docs", "notebooks") for path in (ROOT / folder).glob("*.md")),
    *(path for folder in ("howto", "paper", "start") for path in (ROOT / "docs" / folder).glob("*.md")),
    *(ROOT / "notebooks").glob("*.ipynb"),
]
BUILT_FOLDERS = ("docs/evidence", "docs/formulations", "docs/notebooks", "docs/reference")
"""Folders whose pages `make docs` writes."""

LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)")
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def text_of(path: Path) -> str:
    """Return the Markdown of a page or a notebook, without its blocks of code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        texts = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join(texts)
    return FENCE.sub("", text)


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings of a page, as MyST and GitHub write them."""
    titles = [title.lower().replace("`", "") for title in re.findall(r"^#+ +(.*)$", text_of(path), re.MULTILINE)]
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def is_broken(page: Path, link: str) -> bool:
    """Return whether a relative link leads nowhere. Sphinx checks links to pages that it builds and to objects."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return not target.relative_to(ROOT).as_posix().startswith(BUILT_FOLDERS)
    is_page = target.suffix in (".md", ".ipynb") and anchor and not anchor.startswith("boostopt.")
    return bool(is_page) and anchor not in anchors(target)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(re.sub(r"`[^`\n]*`", "", text_of(page)))
    assert not [link for link in links if not re.match(r"\w+:", link) and is_broken(page, link)]


def test_links_are_seen_to_be_broken() -> None:
    page = ROOT / "docs" / "ida.md"
    links = [
        "boosting.md",
        "boosting.md#mlpboost",
        "#test-error",
        "evidence/index.md",
        "boostings.md",
        "ida.md#nowhere",
    ]
    assert [link for link in links if is_broken(page, link)] == ["boostings.md", "ida.md#nowhere"]


def test_tests_that_pages_name_exist() -> None:
    tests = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    names = {page: set(re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8"))) for page in PAGES}
    assert not {page: sorted(missing) for page, named in names.items() if (missing := named - tests)}
