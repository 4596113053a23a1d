"""The paper of the project has the form of the Journal of Open Source Software, and says what is stored."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "paper"
HEAD, BODY = (FOLDER / "paper.md").read_text(encoding="utf-8").split("---\n")[1:3]
MAX_WORDS = 1500


@pytest.fixture(scope="module")
def figures() -> Any:
    spec = importlib.util.spec_from_file_location("figures", FOLDER / "figures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(text: str) -> list[str]:
    """The words of a Markdown text, a formula being one."""
    return re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "formula", text, flags=re.DOTALL).split()


def test_the_head_has_the_fields_of_the_journal() -> None:
    head = yaml.safe_load(HEAD)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(head)
    assert (FOLDER / head["bibliography"]).exists()
    indices = {affiliation["index"] for affiliation in head["affiliations"]}
    assert {author["affiliation"] for author in head["authors"]} <= indices


def test_the_paper_has_its_sections_and_at_most_1500_words() -> None:
    sections = re.findall(r"^# (.+)$", BODY, re.MULTILINE)
    assert sections[:2] == ["Summary", "Statement of need"]
    assert sections[-1] == "References"
    assert 250 <= len(words(BODY)) <= MAX_WORDS


def test_every_citation_has_an_entry_and_every_entry_a_citation() -> None:
    entries = re.findall(r"^@\w+\{(\w+),$", (FOLDER / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@(\w+)", BODY)) == set(entries)


def test_every_figure_is_there_and_named_in_the_text() -> None:
    pictures = re.findall(r"!\[([^\]]+)\]\(([\w.]+)\)", BODY)
    assert len(pictures) == BODY.count("![") == 2
    for number, (caption, file) in enumerate(pictures, 1):
        assert f"(figure {number})" in BODY
        assert re.search(r"Page: (docs/[\w.]+)\.$", caption)
        with Image.open(FOLDER / file) as picture:
            assert picture.size[0] > 1000


def test_every_page_that_the_paper_names_is_there() -> None:
    names = set(re.findall(r"docs/[\w/]+(?:\.md|\.py)?", BODY))
    assert len(names) >= 6
    assert all((ROOT / name).exists() for name in names)


def test_numbers_of_claims_are_those_of_the_stored_results(figures: Any) -> None:
    distances = figures.claim_distances()
    for solver, name in (("SCS", "SCS"), ("CLARABEL", "Clarabel")):
        missed = sum(distance > 1e-6 for distance in distances[solver])
        assert re.search(rf"\b{len(distances[solver])} claims\s+of\s+{name},?\s+{missed}\b", BODY), name


def test_the_numbers_of_the_atlas_are_those_of_its_solves(figures: Any) -> None:
    from benchmarks.atlas import STORE, claim_counts, stored_session

    session = stored_session(STORE)
    counts = [count for count in claim_counts(session) if count.request == figures.REQUEST]
    rivals = [count for count in counts if count.entrant.startswith("cvxpy:")]
    gaps = [gap for count in rivals for gap in count.gaps]
    text = re.sub(r"\s+", " ", BODY)
    words = {8: "eight", 9: "nine", 10: "ten"}
    assert f"session of {words[len(counts)]} entrants on {len(session['problems'])} problems" in text
    n_claims, n_others = (sum(count.n_claims for count in part) for part in (rivals, set(counts) - set(rivals)))
    assert f"the {words[len(rivals)]} solvers behind CVXPY claim {n_claims} optima" in text
    wide = f"{sum(gap > 1e-6 for gap in gaps)} have a certified gap above $10^{{-6}}$"
    assert f"{wide} and {sum(gap > 1e-3 for gap in gaps)} above $10^{{-3}}$" in text
    assert f"{sum(count.n_without_gap for count in rivals)} answers to another file prove no gap" in text
    assert f"Of the {n_others} claims of our interior-point method and of HiGHS called directly, none is wider" in text
    assert all(gap <= 1e-6 for count in set(counts) - set(rivals) for gap in count.gaps)


def test_formulas_have_no_spaces_of_their_own() -> None:
    """Typst sets relations and operators; a space of LaTeX beside one removes the space that belongs there."""
    assert not re.findall(r"\\[,;:!]", BODY)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("pandoc") is None, reason="pandoc is not installed; `make paper` installs it")
def test_pandoc_reads_the_paper(tmp_path: Path) -> None:
    source = tmp_path / "paper.typ"
    command = ["pandoc", "--defaults", FOLDER / "pandoc.yaml", "--to", "typst", "--output", source]
    subprocess.run(command, check=True)
    text = source.read_text(encoding="utf-8")
    head = yaml.safe_load(HEAD)
    assert all(author["name"] in text for author in head["authors"])
    assert all(affiliation["name"] in text for affiliation in head["affiliations"])
