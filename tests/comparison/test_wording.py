"""Conclusions from runs, in words: the same for the terminal and the report."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from support.problems import Fake, attempt, reference_lpboost, right

from boostopt import compare, get_formulation
from boostopt.comparison.rendering.result_sentences import (
    CONTRADICTION_ADVICE,
    accuracy_request_text,
    proved_interval_text,
    sent_accuracies,
    summarize_program,
)
from boostopt.comparison.rendering.score_sentences import gap_request_text
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.solve_results import conflicting_backends, intersect_intervals


def run(
    backend: str, lower: float, upper: float, tol: float = 1e-3, result: str = "reached", **record: Any
) -> SolveRecord:
    came: dict[str, Any] = {"lower": lower, "upper": upper, "seconds": 1.0, **record}
    return SolveRecord(program="p", backend=backend, version="1", tol=tol, result=result, **came)


INFEASIBLE = run("proof", math.inf, math.inf, infeasible=True, excess=0.25)
NOT_RUN = run("absent", 0.0, 0.0, result="not run")


@pytest.mark.parametrize(
    "runs, kind, fact",
    [
        ([NOT_RUN], "wrong", r"No backend\b"),
        ([INFEASIBLE, NOT_RUN], "good", r"\binfeasible\b.*\bproof\."),
        (
            [run("a", 0.25, 0.5), NOT_RUN],
            "good",
            r"\[0\.25, 0\.5\]: certified\b.*\b0\.001\b.*\ba; no\b",
        ),
        (
            [run("a", 0.25, 0.5), run("b", 0.125, 0.375), run("c", 0.0, 1.0, result="failed")],
            "good",
            r"\[0\.25, 0\.375\]: certified\b.*\b0\.001\b.*\ba\b.*\bb;.*\bagree\b",
        ),
        (
            [run("a", 0.0, 1.0, result="failed")],
            "warning",
            r"\[0, 1\]: nobody\b.*\b0\.001; no\b",
        ),
        (
            [run("a", 0.0, 1.0), run("b", 0.0, 1.0, 1e-6, "failed")],
            "warning",
            r"\[0, 1\]: certified\b.*\b0\.001\b.*\ba; all\b",
        ),
        (
            [run("a", 0.0, math.inf, result="failed")],
            "warning",
            r"\[0, inf\]: nobody\b.*\b0\.001; no\b",
        ),
    ],
    ids=("not run", "infeasible", "one", "two agree", "none reached", "finest failed", "one end"),
)
def test_the_verdict_by_hand(runs: list[SolveRecord], kind: str, fact: str) -> None:
    summary = summarize_program(runs)
    assert summary.kind == kind and re.search(fact, summary.words)


def test_a_contradiction_is_a_mistake_of_boostopt_also_with_a_proof_of_infeasibility() -> None:
    for runs in ([run("a", 0.0, 0.1), run("b", 0.2, 0.3)], [run("a", 0.0, 0.1), INFEASIBLE]):
        summary = summarize_program(runs)
        assert summary.kind == "wrong" and CONTRADICTION_ADVICE in summary.words
        assert intersect_intervals(runs)[0] > intersect_intervals(runs)[1]
        assert conflicting_backends(runs[0], runs) == [runs[1].backend] and conflicting_backends(runs[1], runs) == ["a"]


def test_accuracy_request_text_by_hand() -> None:
    fine = run("a", 0.0, 1.0, 1e-9, profile="high", options={"eps_abs": 1e-9, "inner": {"tol_gap": 1e-10}})
    rough = run("a", 0.0, 1.0, 1e-9, profile="high", options={"eps_abs": 1e-4})
    shipped = run("b", 0.0, 1.0, 1e-8, profile="default", options={"max_iter": 5})
    gap = run("b", 0.0, 1.0, 1e-3, profile="certified", options={"eps_abs": 1e-5})
    old = run("c", 0.0, 1.0, 1e-6)
    runs = [fine, rough, shipped, gap, old, NOT_RUN]
    texts = ["high, 1e-10", "high, 0.0001", "default", "certified, 1e-05", "", ""]
    assert [accuracy_request_text(one) for one in runs] == texts
    assert sent_accuracies(runs) == {("a", 1e-9): "accuracy 0.0001 to 1e-10", ("b", 1e-3): "accuracy 1e-05"}
    for tol, words in (
        (1e-9, "high, gap 1e-09"),
        (1e-8, "default, gap 1e-08"),
        (1e-3, "gap 0.001"),
        (1e-6, "gap 1e-06"),
    ):
        assert gap_request_text(runs, tol) == words


def test_runs_of_a_comparison_say_what_its_rows_say() -> None:
    infeasible = get_formulation("softboost").bind(reference_lpboost().margins, nu=2.5, gamma=-0.9)
    half = Fake("half", (attempt(w=[1, 0, 0]),))
    for comparison in (compare(reference_lpboost(), [right(), half]), compare(infeasible, ["interior"])):
        assert intersect_intervals(comparison.rows) == comparison.interval
        for row in comparison.rows:
            assert row.solution is not None
            assert proved_interval_text(row) == row.solution.certificate.words
            assert conflicting_backends(row, comparison.rows) == comparison.conflicting_backends(row)
