"""The page has the figures of each hard table, of an earlier commit and of now."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.hard_tables import BEGIN, EARLIER, END, bits, churn, format_table, measurements

PAGE = (Path(__file__).parents[2] / "docs" / "classifiers.md").read_text(encoding="utf-8")


def test_the_page_has_the_kept_figures_and_those_of_now() -> None:
    table = PAGE.split(BEGIN)[1].split(END)[0]
    for text, (_, earlier) in measurements().items():
        (line,) = [line for line in table.splitlines() if line.startswith(f"| {text} |")]
        assert line.split("|")[2].strip() == earlier and line.split("|")[3].strip()


def test_a_line_of_the_table_has_both_figures() -> None:
    text = format_table([("a table", "50.0", "75.0")])
    assert text.splitlines()[0] == f"| table | commit {EARLIER} | now |"
    assert text.splitlines()[2] == "| a table | 50.0 | 75.0 |"


def test_shares_of_labels_are_those_that_the_page_names() -> None:
    X, y = bits()
    assert (X[:, 0] == y).mean() == pytest.approx(0.6975) and np.mean(churn(0)[1]) == pytest.approx(0.05)
