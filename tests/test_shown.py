"""The outputs in the README and the documentation are those of their commands."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHOWN = {
    "docs/any_problem.md": 28,
    "docs/boosters.md": 10,
    "docs/boosting.md": 60,
    "docs/classifiers.md": 25,
    "docs/commands.md": 8,
    "docs/ensembles.md": 25,
    "docs/exporting.md": 20,
    "docs/howto/big_data.md": 43,
    "docs/howto/fitted_models.md": 14,
    "docs/howto/own_cvxpy_problem.md": 24,
    "docs/howto/own_data.md": 30,
    "docs/howto/own_oracle.md": 20,
    "docs/howto/own_regularizer.md": 42,
    "docs/howto/own_solver.md": 20,
    "docs/howto/program_files.md": 9,
    "docs/howto/read_a_certificate.md": 25,
    "docs/howto/rewrites.md": 11,
    "docs/howto/verify_a_certificate.md": 12,
    "docs/losses_and_penalties.md": 18,
    "docs/paths.md": 12,
    "docs/solvers.md": 8,
    "docs/reports.md": 10,
    "docs/start/comparer.md": 20,
    "docs/start/practitioner.md": 20,
    "docs/start/prototyper.md": 20,
    "docs/start/verifier.md": 30,
    "docs/theorems.md": 25,
    "docs/verification.md": 18,
    "docs/when_not.md": 14,
}
"""Pages with examples, and how many there are at least."""


def blocks(page: str) -> list[str]:
    return re.findall(r"```pycon\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def test_no_page_with_examples_is_left_out() -> None:
    folders = [ROOT / "docs" / part for part in (".", "howto", "start")]
    pages = [*(page for folder in folders for page in folder.glob("*.md"))]
    assert {str(page.relative_to(ROOT)) for page in pages if "```pycon" in page.read_text()} == set(SHOWN)


def examples_of(page: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest("\n".join(blocks(page)), {}, page, None, 0)


@pytest.mark.parametrize("page", SHOWN)
def test_no_example_is_lost(page: str) -> None:
    assert len(examples_of(page).examples) >= SHOWN[page]


@pytest.mark.thorough
@pytest.mark.parametrize("page", SHOWN)
def test_the_examples_give_what_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = examples_of(page)
    messages = list[str]()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    assert runner.run(examples, out=messages.append).failed == 0, "".join(messages)
