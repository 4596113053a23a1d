"""Comparisons and benchmarks by profile and with options of solvers: rows, files, resume, the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.command_lines import run as command
from support.problems import reference_lpboost

from boostopt import DataError, OptionError, compare
from boostopt.comparison import benchmark

BACKENDS = ["interior", "cvxpy:clarabel", "sqp"]


def test_rows_say_how_each_was_asked_and_what_was_sent() -> None:
    result = compare(reference_lpboost(), BACKENDS, "low")
    interior, clarabel, sqp = result.rows
    assert result.tol == 1e-3
    assert [row.profile for row in result.rows] == ["low"] * 3
    assert interior.finest_accuracy == clarabel.finest_accuracy == 1e-3
    assert clarabel.options == {"tol_gap_abs": 1e-3, "tol_gap_rel": 1e-3, "tol_feas": 1e-3}
    assert sqp.result == "not run" and re.search(r"\bsqp\b.*\bcertificate\b", sqp.reason)
    assert result.overlap
    text = str(result)
    assert "request" in text and "low, 1e-03" in text
    records = json.loads(result.to_json())["rows"]
    assert [record["profile"] for record in records] == ["low"] * 3
    assert records[1]["options"]["tol_feas"] == 1e-3


def test_a_solver_as_it_is_shipped_is_sent_nothing() -> None:
    (row,) = compare(reference_lpboost(), "cvxpy:clarabel", "default").rows
    assert row.options == {} and row.finest_accuracy is None and row.tol == 1e-8
    assert "default" in str(compare(reference_lpboost(), "cvxpy:clarabel", "default"))


def test_options_are_of_one_backend_and_of_all_its_forms() -> None:
    options = {"cvxpy:clarabel": {"max_iter": 2}}
    result = compare(
        reference_lpboost(), ["cvxpy:clarabel", "cvxpy:scs"], options=options, forms=["ladder", "primal", "dual"]
    )
    for row in result.rows:
        assert row.options is not None
        assert ("max_iter" in row.options) == row.backend.startswith("cvxpy:clarabel")
    with pytest.raises(OptionError, match=r"\bbackend\b.*\boptions\b.*'cvxpy:ecos'"):
        compare(reference_lpboost(), "interior", options={"cvxpy:ecos": {"max_iters": 2}})
    with pytest.raises(OptionError, match=r"\boption\b.*\binterior\b.*'iterations'"):
        compare(reference_lpboost(), "interior", options={"interior": {"iterations": 2}})
    with pytest.raises(OptionError, match=r"\boption\b.*\bcompare\b.*'form'.*'forms'"):
        compare(reference_lpboost(), "interior", form=["primal"])  # pyright: ignore[reportCallIssue]


def test_an_option_that_only_the_solver_knows_is_refused_before_any_work() -> None:
    events = list[Any]()
    options = {"cvxpy:clarabel": {"max_itr": 2}}
    with pytest.raises(OptionError, match=r"\bmax_itr=2\b.*\bTypeError\b.*'max_itr'"):
        compare(reference_lpboost(), BACKENDS, options=options, progress=lambda *event: events.append(event))
    assert not events
    with pytest.raises(OptionError, match=r"\bmax_itr=2\b.*\bTypeError\b.*'max_itr'"):
        benchmark(reference_lpboost(), BACKENDS, solver_options=options)
    (row,) = compare(reference_lpboost(), "cvxpy:clarabel", options={"cvxpy:clarabel": {"max_iter": 2}}).rows
    assert row.iterations is not None and row.iterations <= 10


def test_a_benchmark_by_profiles_has_a_solve_for_each_and_never_mixes_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    result = benchmark(reference_lpboost(), BACKENDS[:2], ["default", "high"], repeats=1, resume=path)
    assert result.settings.profile_names == ("default", "high")
    assert [(run.backend, run.profile, run.tol) for run in result.runs] == [
        (backend, profile, tol) for backend in BACKENDS[:2] for profile, tol in (("default", 1e-8), ("high", 1e-9))
    ]
    assert all(run.attempts == 1 for run in result.runs)
    assert re.search(r"\bprofiles default, high\b", " ".join(str(result).split()))
    content = path.read_text()
    again = benchmark(reference_lpboost(), BACKENDS[:2], ["default", "high"], repeats=1, resume=path)
    assert path.read_text() == content and again.scores == result.scores
    # The same gap as a certificate is another solve.
    certified = benchmark(reference_lpboost(), BACKENDS[:2], 1e-8, repeats=1, resume=path)
    assert path.read_text() != content and all(run.profile == "certified" for run in certified.runs)
    for mixed in (["high", 1e-3], [1e-3, "high"], ["high", "high"], []):
        with pytest.raises(OptionError, match=rf"^profiles\b.*\(0, 1\).*{re.escape(repr(mixed))}"):
            benchmark(reference_lpboost(), BACKENDS, mixed)
    with pytest.raises(OptionError, match=r"\bprofile\b.*'fine'.*\bhigh\b"):
        benchmark(reference_lpboost(), BACKENDS, "fine")


def test_a_file_of_other_options_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    how: dict[str, Any] = {"profiles": 1e-3, "repeats": 1, "resume": path}
    options = {"cvxpy:clarabel": {"max_iter": 20}}
    benchmark(reference_lpboost(), "cvxpy:clarabel", **how, solver_options=options)
    benchmark(reference_lpboost(), "cvxpy:clarabel", **how, solver_options=options)
    with pytest.raises(DataError, match="its options"):
        benchmark(reference_lpboost(), "cvxpy:clarabel", **how, solver_options={"cvxpy:clarabel": {"max_iter": 30}})


def test_the_command_asks_by_profile_and_passes_options_on() -> None:
    arguments = ("compare", "lpboost", "--data", "breast_cancer", "--nu", "0.1", "--columns", "20")
    done = command(*arguments, "--backends", "interior,cvxpy:clarabel", "--tol", "low", "--json")
    assert [row["profile"] for row in json.loads(done.stdout)["rows"]] == ["low", "low"]
    done = command(
        *arguments, "--backends", "cvxpy:scs", "--option", "cvxpy:scs.max_iters=25", "--tol", "high", "--json"
    )
    assert json.loads(done.stdout)["rows"][0]["options"]["max_iters"] == 25
    done = command(*arguments, "--backends", "interior", "--profiles", "default,high", "--repeats", "1", "--json")
    assert json.loads(done.stdout)["settings"]["asked"] == ["default", "high"]
    for more, fact in (
        (("--tol", "fine"), r"--tol\b.*\bdefault, low, mid, high\b.*'fine'"),
        (("--profiles", "high,fine"), r"--profiles\b.*\bdefault, low, mid, high\b.*'high,fine'"),
        (("--tol", "high", "--profiles", "all"), r"--tol\b.*--profiles\b"),
        (("--option", "max_iters=3"), r"--option\b.*\bbackend\.name=value\b.*'max_iters'"),
        (("--backends", "interior", "--option", "interior.iters=3"), r"\boption\b.*\binterior\b.*'iters'"),
    ):
        done = command(*arguments, *more)
        assert done.exit_code == 2 and re.search(fact, " ".join(done.stderr.split()))


def test_a_backend_that_is_not_installed_is_a_row_whatever_it_is_asked() -> None:
    requests: list[dict[str, Any]] = [{"tol": "low"}, {"options": {"cvxpy:mosek": {"verbose": 1}}}]
    for request in requests:
        result = compare(reference_lpboost(), ["interior", "cvxpy:mosek"], **request)
        assert [row.result for row in result.rows] == ["reached", "not run"]
        assert re.search(r"\binstalled\b.*\bMOSEK\b", result.rows[1].reason)
    with pytest.raises(OptionError, match=r"\bauto\b.*\bprofile\b.*'low'"):
        compare(reference_lpboost(), ["interior", "auto"], "low")
