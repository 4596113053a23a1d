"""Comparisons: one row for each backend that was named, and nothing lost between the rows and the report."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import pytest
from support.problems import REFERENCE_U, Fake, attempt, bent, reference_erlpboost, reference_lpboost, right, rough

import boostopt.solving.automatic_backend_order
from boostopt import Comparison, OptionError, compare, get_formulation, list_backends
from boostopt.backends.base import Attempt, Backend
from boostopt.comparison.solve_record import SolveRecord
from boostopt.solving.solution import Outcome, Verdict

OPTIMUM = 2 / 530
"""The optimum of the reference LPBoost instance, 0.0037735849."""


def unable(name: str = "unable", reason: str = "no cones") -> Fake:
    return Fake(name, reason=reason)


def shift_interval(comparison: Comparison, row: int, shift: float) -> Comparison:
    """Return the comparison with a shifted interval in one row, as after a bug in boostopt."""
    rows = list(comparison.rows)
    rows[row] = replace(rows[row], lower=rows[row].lower + shift, upper=rows[row].upper + shift)
    return replace(comparison, runs=tuple(rows))


def not_finite(constant: str) -> NoReturn:
    raise AssertionError(f"JSON has no {constant}")


def parsed(comparison: Comparison) -> dict[str, Any]:
    return json.loads(comparison.to_json(), parse_constant=not_finite)


# Rows


def test_rows_stand_in_the_order_of_the_backends_with_what_came_of_each() -> None:
    comparison = compare(reference_lpboost(), [rough(), unable(), right()], tol=1e-8)
    assert [row.backend for row in comparison.rows] == ["rough", "unable", "right"]
    assert [row.version for row in comparison.rows] == ["1.0-rough", "1.0-unable", "1.0-right"]
    assert [row.has_target_gap for row in comparison.rows] == [False, False, True]
    assert [row.reason for row in comparison.rows] == ["", "no cones", ""]
    solutions = [row.solution for row in comparison.rows]
    assert solutions[0] is not None and solutions[1] is None and solutions[2] is not None
    assert (solutions[0].backend, solutions[0].verdict) == ("rough", Verdict.CLAIMED)
    assert (solutions[2].backend, solutions[2].verdict) == ("right", Verdict.BOUNDED)
    assert comparison.has_target_gap


def test_the_tolerance_decides_what_is_reached() -> None:
    gap = compare(reference_lpboost(), [rough()], tol=0.5).rows[0].record()["scaled_gap"]
    assert compare(reference_lpboost(), [rough()], tol=gap + 1e-9).has_target_gap
    assert not compare(reference_lpboost(), [rough()], tol=gap - 1e-9).has_target_gap


def test_the_tolerance_is_relative_where_the_objective_is_large() -> None:
    # d must be uniform, far from d0, and the entropy counts a thousandfold.
    d0 = np.array([0.95, 0.01, 0.01, 0.01, 0.01, 0.01])
    program = get_formulation("erlpboost").bind(REFERENCE_U, nu=6, eta=1e-3, d0=d0)
    row = compare(program, [Fake("rough", (attempt(w=[0, 0, 1]),))], tol=1e-2).rows[0]
    assert row.record()["gap"] > 0.1
    assert row.record()["lower"] > 1000
    assert row.has_target_gap


def test_real_solvers_agree_and_what_they_cannot_take_has_a_reason() -> None:
    comparison = compare(reference_erlpboost(), ["cvxpy:clarabel", "cvxpy:highs"])
    clarabel, highs = comparison.rows
    assert clarabel.has_target_gap and clarabel.solution is not None
    assert highs.solution is None
    assert re.search(r"^cvxpy:highs\b.*\bexponential cones\b", highs.reason)
    assert highs.version != ""


@pytest.mark.thorough
def test_every_installed_backend_is_compared_by_default() -> None:
    comparison = compare(reference_lpboost(), tol=1e-3, time_limit=20.0)
    assert [row.backend for row in comparison.rows] == list_backends()
    lower, upper = comparison.interval
    assert lower <= OPTIMUM <= upper


def test_the_automatic_choice_is_a_backend_like_any_other() -> None:
    comparison = compare(reference_lpboost(), ["auto", right()])
    assert [row.backend for row in comparison.rows] == ["auto", "right"]
    assert comparison.rows[0].solution is not None
    assert comparison.rows[0].solution.backend in list_backends()


def test_automatic_backend_of_an_unsupported_program_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "_preferred_names", lambda program, start: [])
    monkeypatch.setattr(boostopt.solving.automatic_backend_order, "list_backends", list[str])
    automatic, able = compare(reference_lpboost(), ["auto", right()]).rows
    assert automatic.solution is None
    assert re.search(r"\binstalled\b.*\blinear\b", automatic.reason)
    assert able.has_target_gap


def test_a_solver_that_is_not_installed_gets_a_row_with_the_reason() -> None:
    solver = next(s for s in ("mosek", "gurobi", "xpress", "cplex") if f"cvxpy:{s}" not in list_backends())
    missing, able = compare(reference_lpboost(), [f"cvxpy:{solver}", right()]).rows
    assert (missing.backend, missing.version, missing.solution) == (f"cvxpy:{solver}", "", None)
    assert not missing.has_target_gap
    assert re.search(rf"\binstalled\b.*\bCVXPY\b.*\b{solver.upper()}\b", missing.reason)
    assert able.has_target_gap


@pytest.mark.parametrize("script", [(), (attempt(status="broke down", claims=False, error="ValueError: no"),)])
def test_a_solver_that_fails_has_a_row_and_an_interval_too(script: tuple[Attempt, ...]) -> None:
    comparison = compare(reference_lpboost(), [Fake("failing", script)])
    row = comparison.rows[0]
    assert row.solution is not None
    assert row.solution.outcome is Outcome.FAILED
    assert not row.has_target_gap
    record = row.record()
    assert record["outcome"] == "failed"
    assert record["solver_status"] == ("broke down" if script else "not started")
    assert (record["form"], record["options"], record["attempts"]) == (None, None, len(script))
    assert record["lower"] <= OPTIMUM <= record["upper"]


def test_each_backend_is_told_the_tolerance_and_its_own_time_limit() -> None:
    notes = list[tuple[float, float | None]]()
    spies = [Fake(name, queries=(notes,)) for name in ("first", "second")]
    compare(reference_lpboost(), spies, tol=3e-5, time_limit=7.0)
    compare(reference_lpboost(), spies[:1], tol=3e-5)
    assert [tol for tol, _ in notes] == [3e-5] * 3
    assert all(remaining is not None and 6.0 < remaining <= 7.0 for _, remaining in notes[:2])
    assert notes[2][1] is None


def test_progress_is_told_before_and_after_each_backend() -> None:
    calls = list[tuple[str, SolveRecord | None]]()
    comparison = compare(reference_lpboost(), [right(), unable()], progress=lambda name, row: calls.append((name, row)))
    assert calls == [
        ("right", None),
        ("right", comparison.rows[0]),
        ("unable", None),
        ("unable", comparison.rows[1]),
    ]


# Bad input, before any work


def test_an_unknown_backend_is_an_error_with_the_near_names_before_any_work() -> None:
    calls = list[str]()
    with pytest.raises(OptionError, match=r"\bbackend\b.*'cvxpy:clarabell'.*'cvxpy:clarabel'"):
        compare(reference_lpboost(), [right(), "cvxpy:clarabell"], progress=lambda name, row: calls.append(name))
    assert calls == []


def test_an_unknown_name_without_prefix_is_an_error_too() -> None:
    with pytest.raises(OptionError, match=r"\bbackend\b.*'clarabel'.*'cvxpy:clarabel'"):
        compare(reference_lpboost(), ["clarabel"])


@pytest.mark.parametrize(
    "backends, names_text",
    [
        ([], "none"),
        (["cvxpy:scs", "cvxpy:scs"], "cvxpy:scs, cvxpy:scs"),
        ([unable("twice"), unable("once"), unable("twice")], "twice, once, twice"),
        (["cvxpy:highs", unable("cvxpy:highs")], "cvxpy:highs, cvxpy:highs"),
    ],
)
def test_backends_are_different_ones_and_at_least_one(backends: list[str | Backend], names_text: str) -> None:
    with pytest.raises(OptionError, match=rf"\bbackends\b.* {names_text}\."):
        compare(reference_lpboost(), backends)


@pytest.mark.parametrize("tol", [0.0, -1e-8, 1.0, math.nan])
@pytest.mark.parametrize("backend", [rough(), unable()], ids=["able", "unable"])
def test_a_tolerance_out_of_range_is_an_error_also_where_it_is_not_needed(backend: Fake, tol: float) -> None:
    with pytest.raises(OptionError, match=rf"^tol\b.*\(0, 1\).*\s{tol}\."):
        compare(reference_lpboost(), [backend], tol=tol)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
@pytest.mark.parametrize("backend", [rough(), unable()], ids=["able", "unable"])
def test_a_time_limit_out_of_range_is_an_error_also_where_it_is_not_needed(backend: Fake, seconds: float) -> None:
    with pytest.raises(OptionError, match=rf"^time_limit\b.*\bpositive\b.*\s{seconds}\."):
        compare(reference_lpboost(), [backend], time_limit=seconds)


# All rows together


def test_interval_of_a_comparison_is_the_intersection_of_its_rows() -> None:
    comparison = compare(reference_lpboost(), [rough(), unable(), right()])
    first, _, last = (row.record() for row in comparison.rows)
    assert first["lower"] < last["lower"] <= OPTIMUM <= last["upper"] < first["upper"]
    assert comparison.interval == (last["lower"], last["upper"])


def test_each_end_of_the_intersection_may_come_from_another_row() -> None:
    comparison = compare(reference_lpboost(), [rough("a"), rough("b"), rough("c")])
    record = comparison.rows[0].record()
    shifted = shift_interval(shift_interval(comparison, 0, -0.05), 2, 0.05)
    assert shifted.interval == (record["lower"] + 0.05, record["upper"] - 0.05)
    assert shifted.overlap


def test_nothing_is_known_where_no_backend_is_able() -> None:
    comparison = compare(reference_lpboost(), [unable("one"), unable("other")])
    assert comparison.interval == (-math.inf, math.inf)
    assert comparison.overlap
    assert not comparison.has_target_gap


def test_intervals_of_one_program_overlap_and_have_no_clashes() -> None:
    comparison = compare(reference_lpboost(), [rough(), unable(), right(), "cvxpy:clarabel"])
    assert comparison.overlap
    assert [comparison.conflicting_backends(row) for row in comparison.rows] == [[], [], [], []]


def test_an_interval_apart_from_the_others_clashes_with_each_of_them_and_they_with_it() -> None:
    comparison = shift_interval(
        compare(reference_lpboost(), [right("a"), right("wrong"), unable(), right("b")]), 1, 1e-3
    )
    assert not comparison.overlap
    assert [comparison.conflicting_backends(row) for row in comparison.rows] == [["wrong"], ["a", "b"], [], ["wrong"]]


def test_intervals_that_touch_overlap() -> None:
    comparison = compare(reference_lpboost(), [right("a"), right("b")])
    record = comparison.rows[0].record()
    rows = list(comparison.rows)
    rows[1] = replace(rows[1], lower=record["upper"], upper=record["upper"] + 1.0)
    touched = replace(comparison, runs=tuple(rows))
    assert touched.overlap
    assert touched.conflicting_backends(touched.rows[0]) == []


# Reports


def test_the_facts_say_what_was_solved() -> None:
    program = get_formulation("lpboost").bind(REFERENCE_U, nu=2.5, c=[1, 2, 1, 1, 1, 1])
    facts = compare(program, [unable()], tol=1e-5).program_facts()
    assert facts == {
        "formulation": "lpboost",
        "parameters": {"nu": 2.5, "epsilon": 0.01, "two_sided": False},
        "examples": 6,
        "examples_with_multiplicity": 7.0,
        "hypotheses": 3,
        "digest": program.margins.digest(),
        "tol": 1e-5,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Slotted:
    """A record of parameters that has no __dict__."""

    nu: float


def test_a_record_of_parameters_may_have_slots() -> None:
    program = replace(reference_lpboost(), parameters=Slotted(nu=2.5))
    assert compare(program, [unable()]).program_facts()["parameters"] == {"nu": 2.5}


def test_json_holds_the_facts_the_rows_and_what_follows_from_them() -> None:
    comparison = compare(reference_lpboost(), [right(), unable(), "cvxpy:clarabel"])
    document = parsed(comparison)
    assert {key: document[key] for key in comparison.program_facts()} == comparison.program_facts()
    assert document["machine"].keys() == {"cpu", "cores", "threads", "blas", "numpy", "python", "system"}
    assert re.fullmatch(r".+\+[0-9a-f]{8}", document["boostopt"])
    assert (document["reached"], document["overlap"]) == (True, True)
    assert (document["lower"], document["upper"]) == comparison.interval
    assert [row["backend"] for row in document["rows"]] == ["right", "unable", "cvxpy:clarabel"]
    for row, of_json in zip(comparison.rows, document["rows"], strict=True):
        assert of_json == row.record()  # numbers come back as they were, to the last digit


def test_a_row_holds_the_certificate_the_attempts_and_the_times() -> None:
    script = (
        attempt(np.eye(6)[0], [1, 0, 0], status="meh", iterations=3, times={"solve": 0.25}),
        attempt(
            *(right().script[0].d, right().script[0].w),
            status="fine",
            form="primal",
            options={"accuracy": 1e-9},
            iterations=4,
            times={"solve": 0.5, "build": 0.125},
        ),
    )
    row = compare(reference_lpboost(), [Fake("two", script)]).rows[0]
    record, solution = row.record(), row.solution
    assert solution is not None
    c = solution.certificate
    expected = {
        "backend": "two",
        "version": "1.0-two",
        "able": True,
        "result": "reached",
        "reason": "",
        "outcome": "solved",
        "verdict": "bounded",
        "reached": True,
        "lower": c.lower,
        "upper": c.upper,
        "gap": c.gap,
        "scaled_gap": c.scaled_gap,
        "relative_gap": c.relative_gap,
        "kkt_worst": c.kkt.worst,
        "solver_status": "fine",
        "error": None,
        "printed": None,
        "answered_by": "two",
        "path": ["two"],
        "isolated": False,
        "form": "primal",
        "options": {"accuracy": 1e-9},
        "attempts": 2,
        "iterations": 7,
        "seconds": solution.times["total"],
        "seconds_build": 0.125,
        "seconds_canonicalize": 0.0,
        "seconds_solve": 0.75,
        "seconds_recover": 0.0,
        "infeasible": False,
        "excess": 0.0,
    }
    assert {key: record[key] for key in expected} == expected
    unknown = {"claimed_gap": None, "peak_memory": None, "threads": None, "failure": None, "claims": True}
    assert {name: record[name] for name in unknown} == unknown
    assert record.keys() - expected.keys() - unknown.keys() == {"seconds_certify", "profile", "cpu_seconds"}
    assert record["profile"] == "certified"
    assert 0 < record["seconds_certify"] < record["seconds"] and record["cpu_seconds"] >= 0


def test_a_row_of_an_unable_backend_has_the_same_fields_and_none_in_them() -> None:
    able, not_able = (row.record() for row in compare(reference_lpboost(), [right(), unable()]).rows)
    assert not_able.keys() == able.keys() - {"cpu_seconds"}
    options = {key: value for key, value in not_able.items() if value is not None}
    assert options == {
        "profile": "certified",
        "backend": "unable",
        "version": "1.0-unable",
        "able": False,
        "result": "not run",
        "reason": "no cones",
        "reached": False,
        "isolated": False,
        "attempts": 0,
    }


def test_json_has_null_for_what_is_not_finite() -> None:
    # Half an answer: no residual of the other half, so the worst one is infinite.
    comparison = compare(reference_lpboost(), [Fake("half", (attempt(w=[1, 0, 0]),))])
    assert comparison.rows[0].record()["kkt_worst"] == math.inf
    assert parsed(comparison)["rows"][0]["kkt_worst"] is None
    nothing = parsed(compare(reference_lpboost(), [unable()]))
    assert (nothing["lower"], nothing["upper"]) == (None, None)


STRANGE_OPTIONS = {
    "nan": math.nan,
    "deep": {"list": [math.inf, 1], 3: (-math.inf, "x")},
    "int64": np.int64(7),
    "float32": np.float32(0.5),
    "bool": np.bool_(True),
    "array": np.array([1.0, np.nan]),
    "flag": True,
    "none": None,
    "verdict": Outcome.SOLVED,
}
PLAIN_OPTIONS = {
    "nan": None,
    "deep": {"list": [None, 1], "3": [None, "x"]},
    "int64": 7,
    "float32": 0.5,
    "bool": True,
    "array": [1.0, None],
    "flag": True,
    "none": None,
    "verdict": "Outcome.SOLVED",
}


def test_options_of_any_kind_have_a_place_in_the_reports() -> None:
    comparison = compare(reference_lpboost(), [right(options=STRANGE_OPTIONS)])
    assert parsed(comparison)["rows"][0]["options"] == PLAIN_OPTIONS
    cell = next(csv.DictReader(io.StringIO(comparison.to_csv())))["options"]
    assert json.loads(cell, parse_constant=not_finite) == PLAIN_OPTIONS


def test_csv_parses_back_to_the_rows() -> None:
    awkward = 'no, "never"\nnot here; =1+1'
    comparison = compare(
        reference_lpboost(), [right(options={"a": [1, "x,y"]}, status='"fine", it says'), unable(reason=awkward)]
    )
    rows = list(csv.DictReader(io.StringIO(comparison.to_csv(), newline="")))
    able, not_able = (row.record() for row in comparison.rows)
    assert [list(row) for row in rows] == [list(able)] * 2
    for key, value in able.items():
        cell = rows[0][key]
        if key in ("options", "path"):
            assert json.loads(cell) == value
        elif isinstance(value, float):
            assert float(cell) == value
        else:
            assert cell == ("" if value is None else str(value))
    assert rows[1]["reason"] == awkward
    assert {key for key, cell in rows[1].items() if cell} == {
        key for key, value in not_able.items() if value is not None and value != ""
    }


def test_csv_has_an_empty_cell_for_what_is_not_finite() -> None:
    comparison = compare(reference_lpboost(), [Fake("half", (attempt(w=[1, 0, 0]),))])
    assert next(csv.DictReader(io.StringIO(comparison.to_csv())))["kkt_worst"] == ""
    assert comparison.to_csv().count("\n") == 2  # the header and the row, no blank line


# Whatever a backend does is a row


@pytest.mark.parametrize(
    "backend, says, error",
    [
        (Fake("raises", action="raise"), "raised", r"^RuntimeError: no such luck again$"),
        (Fake("text", ("no attempt",)), "garbage", r"'no attempt'"),
        (Fake("short", (attempt([1.0, 0.0], [1, 0, 0], claims=False),)), "fine", r"\(2,\).*\bfloat64\b.*\bd\b.*\b6\b"),
        (Fake("nan", (attempt([math.nan] * 6, [math.nan] * 3),)), "fine", r"\bfinite\b"),
        (Fake("words", (bent(attempt(), d="d"),)), "fine", r"\bstr\b.*\bd\b.*\barray\b"),
    ],
    ids=lambda value: value.name if isinstance(value, Fake) else "",
)
def test_compare_reports_the_fault_of_a_backend_and_runs_the_next_one(backend: Fake, says: str, error: str) -> None:
    failed, good = compare(reference_lpboost(), [backend, right()]).rows
    assert (failed.result, good.result) == ("failed", "reached")
    record = failed.record()
    assert (record["solver_status"], record["reached"]) == (says, False)
    assert re.search(error, record["error"])
    assert record["lower"] <= OPTIMUM <= record["upper"]


def test_compare_keeps_attempts_before_the_failure() -> None:
    row = compare(reference_lpboost(), [right("broken", action="raise")], tol=1e-16).rows[0]
    assert (row.result, row.record()["error"]) == ("failed", "RuntimeError: no such luck again")
    assert row.record()["scaled_gap"] < 1e-9


def test_phases_that_nobody_knows_and_counts_that_are_none_are_left_out() -> None:
    times: dict[str, Any] = {"solve": 0.25, "lunch": 1.0, "build": "long"}
    fake = right()
    bent(fake.script[0], times=times, iterations="many", options=None)
    row = compare(reference_lpboost(), [fake]).rows[0]
    record = row.record()
    assert (record["seconds_solve"], record["seconds_build"], record["iterations"]) == (0.25, 0.0, None)
    assert (record["options"], row.has_target_gap) == ({}, True)


# Forms


def test_forms_are_a_dimension_of_the_backends_that_have_them() -> None:
    named = [right(), "cvxpy:clarabel", "cvxpy:scs:primal"]
    rows = compare(reference_lpboost(), named, 1e-6, forms=["dual", "density-rated", "ladder"]).rows
    clarabel = ["cvxpy:clarabel:dual", "cvxpy:clarabel:density-rated", "cvxpy:clarabel"]
    assert [row.backend for row in rows] == ["right", *clarabel, "cvxpy:scs:primal"]
    assert [row.record()["form"] for row in rows[1:3]] == ["dual", "primal/density/rated"]
    assert all(row.has_target_gap for row in rows)


def test_an_unknown_form_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"\bform\b.*'duel'.*'dual'.*\bdensity-rated\b"):
        compare(reference_lpboost(), ["cvxpy:clarabel"], forms=["duel"])
    with pytest.raises(OptionError, match=r"\bform\b.*'duel'.*'dual'"):
        compare(reference_lpboost(), ["cvxpy:clarabel:duel"])


def test_a_pinned_backend_makes_one_attempt_in_its_form() -> None:
    row = compare(reference_erlpboost(), ["cvxpy:clarabel:dual"], tol=1e-15).rows[0]
    assert row.solution is not None
    assert [a.form for a in row.solution.attempts] == ["dual"]


def test_the_automatic_choice_says_who_answered() -> None:
    row = compare(reference_lpboost(), "auto").rows[0]
    assert row.solution is not None
    assert row.answered_by == row.solution.backend in list_backends()
    text = str(compare(reference_lpboost(), "auto"))
    assert f"-> {row.answered_by}" in text
    tried = ", ".join(row.path or ())
    assert re.search(rf"\b{row.answered_by}, \w+ {re.escape(tried)};", " ".join(text.split()))
