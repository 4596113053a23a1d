"""Numbers for readers: zero has no sign."""

from __future__ import annotations

from typing import Any

import typechecker

from boostopt._utils.formatting import format_interval, html_table
from boostopt.boosting.run.progress_line import progress_text
from boostopt.oracles import Stump
from boostopt.reporting.fact_tables import parameter_facts


def test_zero_has_no_sign() -> None:
    assert format_interval(-0.0, 0.0) == "[0, 0]"
    assert ">0<" in html_table("", [("value", -0.0)]) and "-0" not in html_table("", [("value", -0.0)])
    stump = Stump(0, -0.0, 1, 1)
    assert stump.in_words(["a"]) == "a > 0" and str(stump).endswith("> 0")
    ((_, value, _),) = parameter_facts({"parameters": {"gamma": -0.0}, "meanings": {}})
    assert value == "0"


def test_numbers_that_are_rounded_to_zero_have_no_sign() -> None:
    class Row:
        round, hypotheses, seconds, soft_margin, bound = 1, 1, 1.0, -1e-9, -0.0

    row: Any = Row()
    with typechecker.unchecked():
        text = progress_text("fit", row)
    assert "soft margin 0.000000" in text and "bound 0.000000" in text
