"""The notebooks are tests that the documentation runs; here only that they claim what they are there to claim."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import boostopt

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.md"))
VERIFIED = FOLDER / "duality_and_kkt.md"

FRONT_MATTER = re.compile(r"---\nfile_format: mystnb\nkernelspec:\n(?:  .+\n)*?  name: python3\n---\n")
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.DOTALL | re.MULTILINE)

CLAIMING = {"exhibit", "verify", "zero"}
"""Functions of the notebooks that assert."""


def cells(notebook: Path) -> list[ast.Module]:
    """The code cells, parsed: a cell that is no Python fails here."""
    return [ast.parse(source) for source in CELL.findall(notebook.read_text(encoding="utf-8"))]


def asserts(cell: ast.Module) -> bool:
    """Whether a cell asserts something when it runs, itself or by the functions that are there for it."""
    run = [statement for statement in cell.body if not isinstance(statement, ast.FunctionDef | ast.ClassDef)]
    nodes = [node for statement in run for node in ast.walk(statement)]
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return any(isinstance(node, ast.Assert) for node in nodes) or bool(called & CLAIMING)


def strings(cell: ast.Module) -> set[str]:
    return {node.value for node in ast.walk(cell) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_there_are_notebooks() -> None:
    assert VERIFIED in NOTEBOOKS


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one_that_the_documentation_runs(notebook: Path) -> None:
    text = notebook.read_text(encoding="utf-8")
    assert FRONT_MATTER.match(text)
    assert len(cells(notebook)) == text.count("```{code-cell}")


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
    """Those that a caption names are drawn with the paper's noise, and say in which parameters they differ."""
    text = (FOLDER / "soft_margins.md").read_text(encoding="utf-8")
    captions = re.findall(
        r"^\*\*Figure \d+\.\*\* (In the manner of figure (\d+).*?)\n\n", text, re.DOTALL | re.MULTILINE
    )
    assert [int(number) for _, number in captions] == [7, 4, 8, 9, 11, 13]
    assert re.findall(r"^## .*: figure (\d+)$", text, re.MULTILINE) == [number for _, number in captions]
    assert all(re.search(r"print:|of ours", caption) for caption, _ in captions)
    drawn, _, ours = text.partition("\n## Wrong labels\n")
    assert "input_noise=noise" in drawn and "wrong = " not in drawn
    assert "no counterpart in the paper" in ours and "In the manner of" not in ours


def test_the_figures_of_softboost_have_their_numbers_and_algorithms() -> None:
    notebook = FOLDER / "softboost_figures.md"
    text = notebook.read_text(encoding="utf-8")
    assert re.findall(r"^\*\*Figure (\d)\.\*\* The paper's figure (\d):", text, re.MULTILINE) == [
        ("2", "2"),
        ("3", "3"),
    ]
    named = {node.id for cell in cells(notebook) for node in ast.walk(cell) if isinstance(node, ast.Name)}
    assert {"brownboost", "smoothboost"} <= named
    assert "semilogx" in text and "2 * data.X - 1" not in text  # the hypotheses are the features as they are


def test_a_cell_has_minutes_on_a_busy_machine() -> None:
    """A cell takes seconds on an idle one: a short limit fails the documentation where others work beside it."""
    text = (FOLDER.parent / "docs" / "conf.py").read_text(encoding="utf-8")
    found = re.search(r"^nb_execution_timeout = (\d+)", text, re.MULTILINE)
    assert found is not None and int(found[1]) >= 300
