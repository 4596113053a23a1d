"""The notebooks are tests that the documentation runs; here that they claim what they are to claim, and their files."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import boostopt

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.md"))
VERIFIED = FOLDER / "duality_and_kkt.md"

FRONT_MATTER = re.compile(
    r"---\nfile_format: mystnb\njupytext:\n  cell_metadata_filter: mystnb,tags,-all\nkernelspec:\n"
    r"(?:  .+\n)*?  name: python3\n---\n"
)
CELL = re.compile(
    r"^```\{code-cell\} ipython3\n"
    r"(?::tags: \[(?P<short>[^]\n]*)\]\n\n|---\nmystnb:\n  image:\n    alt: (?P<alt>.*?)\n"
    r"(?:tags: \[(?P<tags>[^]\n]*)\]\n)?---\n)?(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
"""A cell of code: with nothing before the code, with tags, or with what JupyterLab writes for an alternative text."""

MARKUP_OF_SPHINX = re.compile(r"^(?:```|:::)\{|\{[a-z:]+\}`|\]\((?!\.\./|#)[^)]*\.md\b", re.MULTILINE)
"""Directives, roles, and links to the source of another notebook: Jupyter opens its file."""

PLACE = re.compile(r"(?<![\w.:/<-])/(?:home|root|tmp|usr|opt|work|Users|var)/|\b0x[0-9a-f]{6,}|[A-Z]:\\\\")
LARGEST = 600_000
"""Bytes that the file of a notebook may have: those who read repositories show larger ones late or never."""

CLAIMING = {"exhibit", "kkt", "verify", "zero"}
"""Functions of the notebooks that assert."""


def cells(notebook: Path) -> list[ast.Module]:
    """The code cells, parsed: a cell that is no Python fails here."""
    return [ast.parse(match["code"]) for match in CELL.finditer(notebook.read_text(encoding="utf-8"))]


def said_of(cell: re.Match[str]) -> str | None:
    """The alternative text of a cell's pictures: YAML, on several lines, in quotes if it has a colon."""
    if cell["alt"] is None:
        return None
    text = re.sub(r"\n\s+", " ", cell["alt"])
    return text[1:-1].replace("''", "'") if text.startswith("'") else text


def cells_of_source(notebook: Path) -> list[tuple[str, str, list[str], str | None]]:
    """Kind, text, tags and alternative text of each cell, as the Markdown has them; `+++` parts two texts."""
    body, position, records = FRONT_MATTER.sub("", notebook.read_text(encoding="utf-8"), count=1), 0, []
    for cell in [*CELL.finditer(body), None]:
        text = body[position : cell.start() if cell else None]
        parts = (part.strip() for part in re.split(r"^\+\+\+$", text, flags=re.MULTILINE))
        records += [("markdown", part, [], None) for part in parts if part]
        if cell:
            position = cell.end()
            tags = cell["short"] or cell["tags"]
            records.append(("code", cell["code"].strip(), tags.split(", ") if tags else [], said_of(cell)))
    return records


def file_of(notebook: Path) -> dict[str, Any]:
    return json.loads(notebook.with_suffix(".ipynb").read_text(encoding="utf-8"))


def outputs(notebook: Path) -> list[dict[str, Any]]:
    return [output for cell in file_of(notebook)["cells"] for output in cell.get("outputs", [])]


def asserts(cell: ast.Module) -> bool:
    """Return whether a cell asserts something when it runs, itself or by the functions that are there for it."""
    run = [statement for statement in cell.body if not isinstance(statement, ast.FunctionDef | ast.ClassDef)]
    nodes = [node for statement in run for node in ast.walk(statement)]
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return any(isinstance(node, ast.Assert) for node in nodes) or bool(called & CLAIMING)


def strings(cell: ast.Module) -> set[str]:
    return {node.value for node in ast.walk(cell) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_notebooks_exist() -> None:
    assert VERIFIED in NOTEBOOKS


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one_that_the_documentation_runs(notebook: Path) -> None:
    text = notebook.read_text(encoding="utf-8")
    assert FRONT_MATTER.match(text)
    assert len(cells(notebook)) == text.count("```{code-cell}")


@pytest.mark.every(2)
@pytest.mark.thorough_cases("brittle_lpboost")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_asserts_what_it_claims(notebook: Path) -> None:
    """Two cells of three assert something; the others import, define and show."""
    claiming = [cell for cell in cells(notebook) if asserts(cell)]
    assert len(claiming) >= 2 / 3 * len(cells(notebook))


@pytest.mark.thorough
def test_every_formulation_is_verified_by_name() -> None:
    named = set[str]().union(*map(strings, cells(VERIFIED)))
    assert set(boostopt.list_formulations()) <= named


def test_the_figures_of_the_soft_margins_are_the_papers() -> None:
    """Pictures whose captions name a figure have the noise of the paper and name their other parameters."""
    text = (FOLDER / "soft_margins.md").read_text(encoding="utf-8")
    captions = re.findall(
        r"^\*\*Figure \d+\.\*\* (In the style of figure (\d+).*?)\n\n", text, re.DOTALL | re.MULTILINE
    )
    assert [int(number) for _, number in captions] == [7, 4, 8, 9, 11, 13]
    assert re.findall(r"^## .*: figure (\d+)$", text, re.MULTILINE) == [number for _, number in captions]
    assert all(re.search(r"in print\s|our own", caption) for caption, _ in captions)
    figures_text, _, ours = text.partition("\n## Wrong labels\n")
    assert "input_noise=noise" in figures_text and "wrong = " not in figures_text
    assert "not in the paper" in ours and "In the style of" not in ours


def test_the_figures_of_softboost_have_their_numbers_and_algorithms() -> None:
    notebook = FOLDER / "softboost_figures.md"
    text = notebook.read_text(encoding="utf-8")
    assert re.findall(r"^\*\*Figure (\d)\.\*\* The paper's figure (\d):", text, re.MULTILINE) == [
        ("2", "2"),
        ("3", "3"),
    ]
    literals = {node.value for cell in cells(notebook) for node in ast.walk(cell) if isinstance(node, ast.Constant)}
    assert {"brownboost", "smoothboost"} <= literals
    assert "semilogx" in text and "2 * data.X - 1" not in text  # the hypotheses are the features as they are


def test_a_cell_has_minutes_on_a_busy_machine() -> None:
    """A cell takes seconds on an idle one: a short limit fails the documentation where others work beside it."""
    docs = FOLDER.parent / "docs"
    assert "\nnb_execution_timeout = SECONDS_A_CELL\n" in (docs / "conf.py").read_text(encoding="utf-8")
    command = (docs / "notebook_files.py").read_text(encoding="utf-8")
    match = re.search(r"^SECONDS_A_CELL = (\d+)", command, re.MULTILINE)
    assert match is not None and int(match[1]) >= 300


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_file_is_in_step_with_its_source(notebook: Path) -> None:
    """Correct a difference by `make notebooks`, with TEXT=yes if only text or tags have changed."""
    cells = file_of(notebook)["cells"]
    records = [
        (
            cell["cell_type"],
            "".join(cell["source"]).strip(),
            cell["metadata"].get("tags", []),
            cell["metadata"].get("mystnb", {}).get("image", {}).get("alt"),
        )
        for cell in cells
    ]
    assert records == cells_of_source(notebook)
    folded = [cell["metadata"].get("jupyter") == {"source_hidden": True} for cell in cells]
    assert folded == ["hide-input" in tags for _, _, tags, _ in records]
    assert len({cell["id"] for cell in cells}) == len(cells)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_file_was_run_from_first_to_last_without_an_error(notebook: Path) -> None:
    run = [cell["execution_count"] for cell in file_of(notebook)["cells"] if cell["cell_type"] == "code"]
    assert run == list(range(1, len(run) + 1))
    assert outputs(notebook) and all(output["output_type"] != "error" for output in outputs(notebook))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_file_is_small_and_tells_nothing_of_the_machine(notebook: Path) -> None:
    assert notebook.with_suffix(".ipynb").stat().st_size < LARGEST
    assert file_of(notebook)["metadata"]["language_info"] == {"name": "python"}
    assert all("execution" not in cell["metadata"] for cell in file_of(notebook)["cells"])
    for output in outputs(notebook):
        texts_by_type = {kind: text for kind, text in output.get("data", {}).items() if not kind.startswith("image/")}
        output_text = json.dumps([output.get("text", []), texts_by_type])
        assert not PLACE.search(output_text), output_text
        assert "did not start within" not in output_text, output_text


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_picture_has_an_alternative_text(notebook: Path) -> None:
    """Texts for a screen reader are whole sentences without formulas. Cells without a picture have none."""
    for cell, (_, code, _, alternative_text) in zip(file_of(notebook)["cells"], cells_of_source(notebook), strict=True):
        samples = [output for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
        assert (alternative_text is not None) == bool(samples), code
        assert all(output["metadata"] == {"image/png": {"alt": alternative_text}} for output in samples)
        assert alternative_text is None or (
            30 <= len(alternative_text) <= 300 and alternative_text.endswith(".") and "$" not in alternative_text
        ), alternative_text


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_text_is_markdown_that_jupyter_shows(notebook: Path) -> None:
    texts = [text for kind, text, _, _ in cells_of_source(notebook) if kind == "markdown"]
    assert texts and not any(MARKUP_OF_SPHINX.search(text) for text in texts)


def test_every_notebook_file_has_a_source() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {path.stem for path in NOTEBOOKS}
