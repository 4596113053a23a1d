"""The page says of the defaults what they are, and the benchmark chooses by the rule that the page states."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.defaults import (
    BEGIN,
    END,
    Candidate,
    Score,
    candidates,
    choose_candidate,
    compare_with,
    defaults,
    halves,
    mean_ranks,
    tables,
    together,
    write_page,
)

PAGE = (Path(__file__).parents[2] / "docs" / "classifiers.md").read_text(encoding="utf-8")


def test_the_default_is_a_candidate_and_is_the_one_that_is_marked_on_the_page() -> None:
    now = defaults()
    assert now in candidates()
    (marked,) = [line for line in PAGE.split(BEGIN)[1].split(END)[0].splitlines() if line.startswith("| **")]
    assert marked.startswith(f"| **{now.nu}** | **{now.epsilon:g}** | **{now.max_iter}** |")


def test_sets_choose_and_confirm_by_turns() -> None:
    assert halves(["wine", "a9a", "digits"]) == (["a9a", "wine"], ["digits"])


def test_the_fastest_of_the_best_is_chosen_and_never_a_limit_that_ends_fits() -> None:
    best, fast, poor = Candidate(0.1, 0.01, 1000), Candidate(0.2, 0.1, 1000), Candidate(0.3, 0.1, 1000)
    short = Candidate(0.1, 0.01, 20)
    scores = {best: (0.9, 2.0), fast: (0.899, 1.0), poor: (0.8, 0.1), short: (0.95, 0.1)}
    scores_by_name = {candidate: {"a": Score(*score), "b": Score(0.0, 1.0)} for candidate, score in scores.items()}
    assert choose_candidate(scores_by_name, ["a"]) == fast
    both = together({"a": Score(0.8, 1.0), "b": Score(0.6, 4.0)}, ["a", "b"])
    assert both.accuracy == pytest.approx(0.7) and both.seconds == pytest.approx(2.0)


def test_ranks_are_means_over_the_sets_and_equal_accuracies_share_a_rank() -> None:
    assert mean_ranks([[0.9, 0.5], [0.8, 0.5], [0.7, 0.6]]) == [1.75, 2.25, 2.0]
    text = compare_with({"a": Score(0.9, 4.0), "b": Score(0.5, 1.0)}, {"a": Score(0.8, 1.0), "b": Score(0.5, 1.0)})
    assert text == "better on 1 sets, worse on 0, 2.00 times the seconds"


def test_tables_go_between_the_marks_and_leave_the_rest(tmp_path: Path) -> None:
    scores_by_name = {candidate: {"a": Score(0.5, 1.0), "b": Score(0.25, 1.0)} for candidate in candidates()}
    text = tables(scores_by_name, {"other": {"a": Score(0.75, 2.0), "b": Score(0.5, 2.0)}})
    assert "| a* | 50.0, 1 s | 75.0, 2 s |" in text and "| all | 37.5, 1 s | 62.5, 2 s |" in text
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_page(page, text)
    assert page.read_text() == f"before\n{BEGIN}\n\n{text}\n\n{END}\nafter\n"
