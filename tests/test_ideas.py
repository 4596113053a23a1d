"""The ideas of the how-to: each step of each works, or is refused for the reason that the page states."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from benchmarks.ideas import BEGIN, END, IDEAS, PAGE, STEPS, Idea, n_lines, try_idea

WITHOUT_CLASS = ("tail_of_edges", "softmax_of_edges", "exponentials_of_edges")
"""Ideas whose edge function has no best soft margin over a class."""

WITHOUT_FIT = ("several_classes", "schedule_of_eta")
"""Ideas that the classifier does not take: a class of hypotheses over pairs, and a function of the round."""

WITHOUT_FILES = ("equal_margins_of_groups", "trees_of_others")
"""Ideas of which one of both certificates does not travel: limits without a class, and a learner of others."""

SLOW = ("sorted_norm_as_atom", "sorted_norm_as_program", "fused", "transport_as_program", "transport_along_a_line")
"""Ideas whose steps take more than ten seconds together."""


def is_refused(cell: str) -> bool:
    """Return whether a step, or a part of one, was refused."""
    return cell.startswith("no") or "; no" in cell


@pytest.mark.thorough
@pytest.mark.untyped
@pytest.mark.parametrize("idea", [one for one in IDEAS if one.__name__ not in SLOW], ids=lambda one: one.__name__)
def test_every_step_works_or_is_refused_in_words(idea: Callable[[], Idea]) -> None:
    cells, name = try_idea(idea), idea.__name__
    refused_steps = {step for step in STEPS if is_refused(cells[step])}
    without_class = {"boost", "verify"} if name in WITHOUT_CLASS else set[str]()
    without_fit = {"fit"} if name in WITHOUT_FIT else set[str]()
    without_files = {"verify"} if name in WITHOUT_FILES else set[str]()
    assert refused_steps == without_class | without_fit | without_files, cells
    assert float(cells["solve"]) <= 1e-6 and cells["save"] == "yes"


def test_the_page_has_a_row_for_each_idea() -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    table_text, _, _ = rest.partition(END)
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in table_text.splitlines() if line[:1] == "|"
    ]
    titles = [inspect.cleandoc(idea.__doc__ or "").rstrip(".") for idea in IDEAS]
    assert [cells[:2] for cells in rows[2:]] == [
        [title, str(n_lines(idea))] for title, idea in zip(titles, IDEAS, strict=True)
    ]
    assert all(len(cells) == 3 + len(STEPS) for cells in rows) and len(IDEAS) >= 20
    assert not any("**" in cell for cells in rows for cell in cells)
