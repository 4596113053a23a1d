"""The line that shows how a run is getting on: whole in a file, no wider than a terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from math import nan

import pytest

from boostopt.boosting.run.progress_line import progress_line, progress_text
from boostopt.boosting.run.trace import TraceRow


@pytest.fixture
def row() -> TraceRow:
    return TraceRow(
        round=17,
        hypotheses=18,
        edge=0.3,
        smallest_edge=0.249172,
        upper=0.249172,
        soft_margin=0.145172,
        value=0.2,
        active=18,
        zero_share=0.0,
        test_error=nan,
        oracle_seconds=0.1,
        update_seconds=0.15,
        seconds=0.25,
        backend="interior",
    )


def test_a_round_is_told_in_full_where_there_is_room(row: TraceRow) -> None:
    full = "erlpboost: round 17, 18 hypotheses, soft margin 0.145172, bound 0.249172, gap 1.04e-01, 68.0 rounds/s"
    assert progress_text("erlpboost", row) == progress_text("erlpboost", row, len(full)) == full
    assert progress_text("erlpboost", replace(row, hypotheses=1)) == full.replace("18 hypotheses", "1 hypothesis")


def test_the_least_needed_numbers_are_left_out_first(row: TraceRow) -> None:
    text, numbers = progress_text("erlpboost", row), ["17", "18", "0.145172", "0.249172", "1.04e-01", "68.0"]
    for number in ("68.0", "18", "0.249172", "0.145172", "1.04e-01"):
        assert re.findall(r"\d[\d.e-]*", text) == numbers
        assert progress_text("erlpboost", row, len(text)) == text
        shorter = progress_text("erlpboost", row, len(text) - 1)
        assert len(shorter) < len(text)
        text, numbers = shorter, [candidate for candidate in numbers if candidate != number]
    assert text == "erlpboost: round 17"


def test_a_long_name_is_cut_off(row: TraceRow) -> None:
    assert progress_text("name " * 40, row, 77) == ("name " * 40)[:77]


def test_progress_without_a_terminal_prints_rounds_as_lines(row: TraceRow, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line(True, "erlpboost") as show:
        assert show is not None
        show(replace(row, round=1))
        show(row)  # within the second
    assert capsys.readouterr().err == progress_text("erlpboost", replace(row, round=1)) + "\n"
