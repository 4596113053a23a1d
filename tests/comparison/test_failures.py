"""Failures by backend and kind: each counted once, with the solver's own words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from rich.console import Console
from support.problems import Fake, reference_lpboost, right, rough

from boostopt.comparison import benchmark
from boostopt.comparison.failures import FAILURE_TEXTS, MAX_TEXT_LENGTH, failure_texts, failures_by_backend
from boostopt.comparison.solve_record import FAILURE_KINDS, AttemptRecord, SolveRecord


def failed(backend: str, program: str = "p", result: str = "failed", **of_attempt: Any) -> SolveRecord:
    status = of_attempt.get("status", "")
    error = of_attempt.get("error")
    log = (AttemptRecord(**of_attempt),)
    return SolveRecord(
        program=program,
        backend=backend,
        version="",
        tol=1e-3,
        result=result,
        solver_status=status,
        error=error,
        log=log,
    )


RUNS = [
    failed("a", status="solved", claims=True),
    failed("b", status="primal infeasible"),
    failed("a", "q", status="solved too", claims=True),
    failed("a", status="stopped", error="ValueError: unlucky"),
    failed("a", result="reached", status="solved", claims=True),
    failed("c", result="not run"),
    failed("d", result="reached"),
]


def test_failures_are_counted_by_backend_and_kind_with_the_words_of_the_first() -> None:
    claims, error, infeasible = failures_by_backend(RUNS)
    assert (claims.backend, claims.kind, claims.count, claims.solves) == ("a", "claims", 2, 4)
    assert (claims.programs, claims.status, claims.error) == (("p", "q"), "solved", "")
    assert (error.backend, error.kind, error.count, error.error) == ("a", "error", 1, "ValueError: unlucky")
    assert (infeasible.backend, infeasible.kind, infeasible.solves) == ("b", "infeasible", 1)


def test_a_line_for_each_backend_says_how_many_failed_and_how() -> None:
    (first_backend, first_text), (second_backend, second_text) = failure_texts(failures_by_backend(RUNS))
    claims, error = (f'2 {FAILURE_TEXTS["claims"]} ("solved")', f'1 {FAILURE_TEXTS["error"]} ("ValueError: unlucky")')
    assert first_backend == "a" and re.fullmatch(rf"3 of 4\b.*: {re.escape(claims)}, {re.escape(error)}\.", first_text)
    infeasible = f'1 {FAILURE_TEXTS["infeasible"]} ("primal infeasible")'
    assert second_backend == "b" and re.fullmatch(rf"1 of 1\b.*: {re.escape(infeasible)}\.", second_text)
    assert failure_texts(failures_by_backend(RUNS[-2:])) == []


def test_every_kind_has_words() -> None:
    assert set(FAILURE_TEXTS) == set(FAILURE_KINDS)


def test_long_words_are_cut_and_lines_are_one() -> None:
    (one,) = failures_by_backend([failed("a", error=f"broken\n{'x' * 200}")])
    assert (
        len(one.example_text) == MAX_TEXT_LENGTH
        and one.example_text.startswith("broken xxx")
        and one.example_text.endswith("...")
    )


@pytest.mark.parametrize("width", (80, 120))
def test_a_benchmark_has_them_in_its_file_and_under_its_tables(width: int) -> None:
    backends = [right(), rough("rough[/x]"), Fake("raises", action="raise")]
    result = benchmark(reference_lpboost(), backends, [1e-3, 1e-5], repeats=1)
    assert [(one.backend, one.kind, one.count) for one in result.failures] == [
        ("rough[/x]", "claims", 2),
        ("raises", "error", 2),
    ]
    failures = json.loads(result.to_json())["failures"]
    assert failures[0] == {
        "backend": "rough[/x]",
        "kind": "claims",
        "count": 2,
        "solves": 2,
        "programs": [reference_lpboost().headline],
        "status": "fine",
        "error": "",
    }
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(result.table())
    words = " ".join(capture.get().split())
    claims = f'2 {FAILURE_TEXTS["claims"]} ("fine")'
    assert re.search(rf"rough\[/x\]: 2 of 2\b.*: {re.escape(claims)}\.", words)
    assert "right: " not in words
