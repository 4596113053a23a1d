"""Outcomes and verdicts have words of their own in files, which no renaming of their members changes."""

from __future__ import annotations

from boostopt.backends.isolation.isolated_backend import ProcessEnd
from boostopt.comparison.result_field_parsers import VERDICT_NAMES
from boostopt.comparison.solve_record import FAILURE_KINDS, AttemptRecord, Result, classify_failure
from boostopt.solving.solution import Outcome, Verdict


def test_the_words_in_files_stay() -> None:
    assert [outcome.key for outcome in Outcome] == ["solved", "stopped", "infeasible", "failed"]
    assert [verdict.key for verdict in Verdict] == ["none", "claimed", "checked", "bounded"]
    assert [result.value for result in Result] == ["reached", "failed", "not run"]
    assert {verdict.key for verdict in Verdict} == set(VERDICT_NAMES)


def test_the_words_for_failures_and_ends_of_processes_stay() -> None:
    assert FAILURE_KINDS == ("claims", "infeasible", "gives up", "error", "killed", "crashed")
    assert [end.value for end in ProcessEnd] == ["crashed", "killed", "not started", "not isolated"]


def test_a_solvers_own_status_is_no_end_of_its_process() -> None:
    assert ProcessEnd.from_text("crashed") is ProcessEnd.CRASHED
    assert ProcessEnd.from_text("killed after 3.0 s") is ProcessEnd.KILLED
    for status in ("", "optimal", "killed by the node limit", "crashed basis"):
        assert ProcessEnd.from_text(status) is None
    record = AttemptRecord(status="killed by the node limit")
    assert classify_failure([record], "") == "gives up"
