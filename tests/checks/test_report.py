"""Reports: what they say, how they look, what they raise."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import BoostoptError
from boostopt.checks import Check, CheckReport, ChecksFailed, check_edge, check_formulation, check_regularizer
from boostopt.checks.edge_checks import EDGE_CHECKS
from boostopt.checks.formulation_checks import FORMULATION_CHECKS
from boostopt.checks.references.measurements import (
    ComponentError,
    Findings,
    Measurement,
    NotApplicable,
    Note,
    run_check,
)
from boostopt.checks.regularizer_checks import REGULARIZER_CHECKS
from boostopt.errors import OptionError

GOOD = Check("gaps", True, 2.5e-16, 1e-9, "40 compared")
BAD = Check("span", False, 0.25, 1e-9, "3 of 12 compared fail; worst: F(d) exceeds the span <0.5>: 0.25 > 1e-09")
UNASKED = Check("gradient", True, np.nan, np.nan, "not asked: F* is an upper bound only")


def test_a_report_is_a_frozen_sequence_of_checks() -> None:
    report = CheckReport("Cap", (GOOD, BAD, UNASKED))
    assert list(report) == [GOOD, BAD, UNASKED]
    assert len(report) == 3
    assert report["span"] is BAD
    assert report.failures == (BAD,)
    assert not report.passed
    names = ", ".join(check.name for check in report)
    with pytest.raises(KeyError, match=rf"'room'.*\b{names}\b"):
        report["room"]
    with pytest.raises(FrozenInstanceError):
        report.subject = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_raise_if_failed_returns_a_report_that_passed() -> None:
    report = CheckReport("Cap", (GOOD, UNASKED))
    assert report.raise_if_failed() is report


def test_raise_if_failed_names_every_failure() -> None:
    with pytest.raises(ChecksFailed) as caught:
        CheckReport("Cap", (GOOD, BAD)).raise_if_failed()
    assert re.match(
        rf"expected Cap\b.*\b2 checks; 1 failed:\n  span: {re.escape(BAD.words)}\nCorrect\b", str(caught.value)
    )
    assert isinstance(caught.value, BoostoptError)


def test_the_text_is_a_table_of_plain_characters() -> None:
    lines = str(CheckReport("Cap", (GOOD, BAD, UNASKED))).splitlines()
    assert re.findall(r"^Cap:|\d+|span", lines[0]) == ["Cap:", "1", "2", "span", "1"]
    assert lines[1].split() == ["check", "measured", "allowed", "in", "words"]
    assert lines[2].split() == ["ok", "gaps", "2.5e-16", "1.0e-09", "40", "compared"]
    assert lines[3].startswith("FAILED  span")
    assert repr(CheckReport("Cap", (GOOD, BAD, UNASKED))).splitlines() == lines
    assert lines[-1].startswith("-       gradient")


@pytest.mark.parametrize(
    ("checks", "counts"),
    (
        ((GOOD,), ["Cap:", "1"]),
        ((GOOD, GOOD), ["Cap:", "2"]),
        ((GOOD, UNASKED), ["Cap:", "1", "1"]),
        ((BAD, UNASKED, UNASKED), ["Cap:", "1", "1", "span", "2"]),
    ),
    ids=("one", "all", "unasked", "failed"),
)
def test_the_first_line_counts_what_passed_failed_and_was_not_asked(
    checks: tuple[Check, ...], counts: list[str]
) -> None:
    assert re.findall(r"^Cap:|\d+|span", str(CheckReport("Cap", checks)).splitlines()[0]) == counts


def test_long_words_are_wrapped_under_themselves() -> None:
    report = CheckReport("Cap", (Check("gaps", True, 0.0, 1.0, "word " * 60),))
    first, second = str(report).splitlines()[2:4]
    assert first.index("word") == second.index("word")


@pytest.mark.parametrize("width", (60, 80, 160))
def test_the_text_for_a_terminal_is_no_wider_and_has_the_failures_or_all(width: int) -> None:
    report = CheckReport("Cap", (GOOD, replace(BAD, words="word " * 60), UNASKED))
    for is_verbose, names in ((False, {"span"}), (True, {"gaps", "span", "gradient"})):
        lines = report.text(width, is_verbose).splitlines()
        assert max(map(len, lines)) <= width
        assert {line.split()[1] for line in lines[2:] if not line.startswith(" ")} == names
    assert re.fullmatch(r"Cap: [a-z ]*2[a-z ]*", CheckReport("Cap", (GOOD, GOOD)).text(width, verbose=False))


def test_every_name_is_explained_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "own_regularizer.md").read_text(encoding="utf-8")
    tables = [
        re.findall(r"^\| `([^`]+)` \|", page.split(f"| {head} | what must hold |")[1].split("\n\n")[0], re.MULTILINE)
        for head in ("of F", "of G", "of a page")
    ]
    assert tables == [list(REGULARIZER_CHECKS), list(EDGE_CHECKS), ["binds", *FORMULATION_CHECKS]]


def test_html_is_self_contained_and_escaped() -> None:
    report = CheckReport("<script>", (BAD,))
    html = report._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<script>" not in html
    assert "&lt;0.5&gt;" in html
    assert html.startswith("<table>") and html.endswith("</table>")
    assert not re.search("src=|href=|class=", html)


def stream(*items: Measurement | Note | NotApplicable | ComponentError) -> Findings:
    for item in items:
        if isinstance(item, ComponentError):
            raise item
        yield item


def test_the_worst_is_the_largest_in_proportion_to_its_tolerance() -> None:
    check = run_check(
        "gaps", stream(Measurement(1.0, 10.0, "large"), Measurement(0.5, 1.0, "larger"), Measurement(0.0, 1.0, "none"))
    )
    assert check == Check("gaps", True, 0.5, 1.0, "3 compared")


def test_a_failure_is_told_with_its_argument() -> None:
    arguments = {"z": np.array([0.25, -1.0]), "eta": 4.0}
    check = run_check(
        "gaps", stream(Measurement(0.0, 1.0, "fine"), Measurement(2.0, 1e-9, "a gap is negative", arguments))
    )
    assert not check.passed
    assert check.words.startswith("1 of 2 ")
    assert check.words.endswith("a gap is negative: 2 > 1e-09, at z = [ 0.25, -1.  ], eta = 4")


def test_nan_is_never_within_a_tolerance() -> None:
    check = run_check("gaps", stream(Measurement(0.0, 1.0, "fine"), Measurement(np.nan, 1.0, "not a number")))
    assert not check.passed
    assert np.isnan(check.worst)


def test_a_check_that_compared_nothing_has_not_passed() -> None:
    assert not run_check("gaps", stream()).passed
    check = run_check("gaps", stream(Note("no supremum"), Note("no supremum")))
    assert not check.passed
    assert check.words.count("no supremum") == 1
    assert "interval(" in check.words  # what to do


def test_a_check_that_does_not_apply_says_so() -> None:
    check = run_check("gaps", stream(NotApplicable("no dual"), NotApplicable("no dual")))
    assert check.passed
    assert np.isnan(check.worst)
    assert check.words.count("no dual") == 1


def test_remarks_are_said_once_and_counted() -> None:
    measurements = stream(Note("one slope", 3, 4), Measurement(0.0, 1.0, "fine"), Note("one slope", 1, 4))
    words = run_check("gaps", measurements).words
    assert words.startswith("1 ") and words.endswith("; one slope at 4 of 8")


def test_an_exception_keeps_what_was_found_before_it() -> None:
    check = run_check("gaps", stream(Measurement(2.0, 1.0, "a gap is negative"), ComponentError("F.gaps raised")))
    assert not check.passed
    assert check.words.startswith("F.gaps raised; ") and check.words.endswith(" a gap is negative: 2 > 1")


@pytest.mark.parametrize(
    ("call", "message"),
    (
        (lambda: check_regularizer("lpboost"), r"\bRegularizer\b.*'lpboost'"),
        (lambda: check_edge(3.0), r"\bEdgeFunction\b.*\b3\.0\b"),
        (lambda: check_formulation("lpbost"), "'lpbost'.*'lpboost'"),
        (lambda: check_formulation("lpboost", mu=1.0), "'mu'"),
    ),
    ids=("regularizer", "edge function", "formulation", "parameter"),
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        call()
