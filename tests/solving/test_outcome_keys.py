"""Outcomes and verdicts have words of their own in files, which no renaming of their members changes."""

from __future__ import annotations

from boostopt.comparison.fields import VERDICTS
from boostopt.comparison.rows import Result
from boostopt.solving.solution import Outcome, Verdict


def test_the_words_in_files_stay() -> None:
    assert [outcome.key for outcome in Outcome] == ["solved", "infeasible", "failed"]
    assert [verdict.key for verdict in Verdict] == ["none", "claimed", "checked", "bounded"]
    assert [result.value for result in Result] == ["reached", "failed", "not run"]
    assert {verdict.key for verdict in Verdict} == set(VERDICTS)
