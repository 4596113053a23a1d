"""A release is told the same everywhere: the version, its date, what there is to report."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

import boostopt

ROOT = Path(__file__).parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
RELEASES = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", CHANGELOG, re.MULTILINE)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
"""The headings that Keep a Changelog knows."""


def test_the_newest_release_is_the_version_of_the_package() -> None:
    assert RELEASES[0][0] == boostopt.__version__
    days = [date.fromisoformat(day) for _, day in RELEASES]
    assert days == sorted(days, reverse=True)


def test_the_citation_is_of_that_release() -> None:
    fields = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
    assert (fields["version"], fields["date-released"]) == RELEASES[0]
    assert fields["license"] in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_parts_of_the_changelog_are_those_of_its_format() -> None:
    assert set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE)) <= KINDS


def test_the_wheel_has_every_package() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    folders = [path.parent.relative_to(ROOT) for path in (ROOT / "boostopt").rglob("__init__.py")]
    folders.append(Path("boostopt", "formulations"))  # behind a link, which `rglob` does not follow
    assert packages == sorted({".".join(folder.parts) for folder in folders})


@pytest.mark.parametrize("name", ["bug", "false_certificate", "new_formulation"])
def test_a_form_says_what_it_is_for(name: str) -> None:
    head = re.match(
        r"---\n(.*?)\n---\n", (ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.md").read_text("utf-8"), re.DOTALL
    )
    assert head is not None
    assert [line.partition(": ")[0] for line in head[1].splitlines()] == ["name", "about", "labels"]


def test_no_doi_of_the_bibliography_stands_twice() -> None:
    dois = re.findall(r"^  doi = \{(.*)\}$", (ROOT / "docs" / "references.bib").read_text("utf-8"), re.MULTILINE)
    assert dois and len(set(dois)) == len(dois)
    assert all(re.fullmatch(r"10\.\d{4,}/\S+", doi) for doi in dois)
