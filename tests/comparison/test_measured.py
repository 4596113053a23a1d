"""Facts of a solve in a row besides its interval: claims, gaps on the way, memory, the kind of a failure."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import typechecker
from support.problems import Fake, attempt, bent, reference_lpboost, right

from boostopt import DataError, OptionError, compare, get_formulation
from boostopt._utils.json_values import plain
from boostopt.backends.cvxpy.solver_options import SOLVERS
from boostopt.comparison import SolveRecord, benchmark
from boostopt.comparison.documents import load_results
from boostopt.comparison.solve_record import FAILURE_KINDS, parse_record
from boostopt.instances.standard import standard_programs

ROUGH = attempt(np.eye(6)[0], [1, 0, 0], status="fine")


def row_of(backend: Fake, tol: float = 1e-6, isolate: bool = False) -> SolveRecord:
    (row,) = compare(reference_lpboost(), backend, tol, 0.7 if isolate else None, isolate=isolate).rows
    return row


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("script", "behaviour", "kind"),
    [
        ((ROUGH,), "", "claims"),
        ((attempt(np.eye(6)[0], [1, 0, 0], claims=False, status="max iterations"),), "", "gives up"),
        ((attempt(claims=False, status="Primal_Infeasible"),), "", "infeasible"),
        ((), "raise", "error"),
        ((), "abort", "crashed"),
        ((), "hang", "killed"),
        ((ROUGH,), "abort", "crashed"),
        ((), "", "gives up"),
    ],
)
def test_a_failure_is_of_a_kind(script: tuple[object, ...], behaviour: str, kind: str) -> None:
    row = row_of(Fake("failing", script, action=behaviour), isolate=behaviour in ("abort", "hang"))
    assert row.result == "failed" and row.failure == kind and kind in FAILURE_KINDS
    assert (row.cpu_seconds is None) == (kind in ("crashed", "killed") or not row.log)  # of a process that ended
    read = parse_record(plain(row.to_file_entry()))
    assert read.failure == kind and read.cpu_seconds == row.cpu_seconds


def test_row_that_reached_its_gap_or_was_not_run_has_no_failure() -> None:
    assert row_of(right()).failure == ""
    assert row_of(Fake("unable", reason="no")).failure == ""


def test_gaps_and_seconds_after_each_attempt_are_kept() -> None:
    row = row_of(Fake("two", (ROUGH, right().script[0])), 1e-9)
    first, second = row.log
    assert (
        first.seconds_to_certificate is not None
        and second.seconds_to_certificate is not None
        and 0 < first.seconds_to_certificate <= second.seconds_to_certificate <= row.seconds
    )
    first_attempt_row = row_of(Fake("one", (ROUGH,)))
    assert first.scaled_gap_so_far == first_attempt_row.scaled_gap > 0.1
    assert second.scaled_gap_so_far == row.scaled_gap < 1e-9
    assert (
        row.seconds_to(0.99) == first.seconds_to_certificate and row.seconds_to(1e-9) == second.seconds_to_certificate
    )
    assert row.seconds_to(1e-300) == math.inf
    with typechecker.unchecked():
        for invalid_gap in (0.0, -1.0, math.nan, "small"):
            with pytest.raises(OptionError, match=rf"^gap\b.*\bpositive\b.*{invalid_gap!r}"):
                row.seconds_to(cast(float, invalid_gap))
    assert row_of(Fake("unable", reason="no")).seconds_to(0.5) == math.inf


def test_a_row_of_before_gaps_were_kept_has_the_seconds_of_the_whole() -> None:
    document = plain(row_of(right()).to_file_entry())
    for entry in document["log"]:
        del entry["after"], entry["scaled_gap_so_far"]
    row = parse_record(document)
    assert row.seconds_to(1e-6) == row.seconds and row.seconds_to(1e-300) == math.inf


@pytest.mark.parametrize("name", ["cvxpy:clarabel", "cvxpy:scs", "interior"])
@pytest.mark.parametrize("tol", ["low", "mid"])
def test_the_gap_that_a_solver_claims_is_as_it_was_asked(name: str, tol: str) -> None:
    (row,) = compare(reference_lpboost(), name, tol).rows
    assert row.claimed_gap is not None and 0 <= row.claimed_gap <= 10 * row.tol
    assert plain(row.to_file_entry())["record"]["claimed_gap"] == row.claimed_gap


@pytest.mark.parametrize("form", ["primal", "rated", "dual", "dual-rated"])
def test_a_claim_is_in_the_units_of_the_program_whatever_the_form(form: str) -> None:
    U = np.random.default_rng(0).choice([-1.0, 1.0], (40, 6))
    program = get_formulation("erlpboost").bind(U, nu=4, eta=1e4)
    (row,) = compare(program, f"cvxpy:clarabel:{form}", "mid").rows
    assert row.solution is not None
    (best,) = row.solution.attempts
    unit = 1e4 if "rated" in form else 1.0
    p, q = (best.statistics[name] / unit for name in ("obj_val", "obj_val_dual"))
    assert row.claimed_gap == pytest.approx(abs(p - q) / max(1, abs(p), abs(q)), rel=1e-12)
    # The value itself, which would be off by eta otherwise.
    assert abs(abs(p) - abs(row.lower)) <= 1e-3


def test_a_claim_that_is_no_number_is_none() -> None:
    for garbage in ("small", math.nan, math.inf, -1.0, None):
        row = row_of(Fake("odd", (bent(attempt(np.eye(6)[0], [1, 0, 0]), claimed_gap=garbage),)))
        assert row.claimed_gap is None and row.to_file_entry()["record"]["claimed_gap"] is None


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux counts the peak of a process")
def test_the_peak_of_memory_is_that_of_the_attempt() -> None:
    assert row_of(right()).peak_memory is None  # in this process nobody can tell whose it is
    row = row_of(Fake("large", right().script, action="", spends=50_000_000), isolate=True)
    assert row.peak_memory is not None and 50_000_000 <= row.peak_memory <= 150_000_000
    small = row_of(Fake("small", right().script), isolate=True)
    assert small.peak_memory is not None and small.peak_memory < 20_000_000


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux counts the peak of a process")
def test_the_peak_of_memory_is_the_same_where_the_process_was_used_before() -> None:
    U = np.random.default_rng(0).choice([-1.0, 1.0], (600, 40))
    program = get_formulation("lpboost").bind(U, nu=60)
    runs = benchmark(program, "cvxpy:scs", "mid", 3, isolate=True, time_limit=30.0).runs
    peaks = [run.peak_memory or 0 for run in runs]
    assert min(peaks) >= 0.5 * max(peaks) > 2**20  # what was freed before would be taken again uncounted


def test_a_claim_is_over_both_values_where_their_difference_is_told() -> None:
    for name in ("QOCO", "PROXQP"):
        solver = SOLVERS[name]
        (value,) = solver.objective_fields
        assert solver.claimed_gap({value: -3.0, solver.gap_field: 400.0}, 1.0) == pytest.approx(400 / 403)
        assert solver.claimed_gap({value: -3.0}, 1.0) is None


def test_runs_of_other_versions_count_where_it_is_said(tmp_path: Path) -> None:
    path, queries = tmp_path / "runs.jsonl", list[float]()
    program = {"linear": reference_lpboost()}
    backend = Fake("right", right().script, queries=(queries,))
    first = benchmark(program, backend, 1e-3, 1, resume=path, warm_up="none")
    assert len(queries) == 1
    path.write_text(path.read_text().replace(first.boostopt, "0.0.1+other"))
    benchmark(program, backend, 1e-3, 1, resume=path, warm_up="none", any_version=True)
    assert len(queries) == 1
    benchmark(program, backend, 1e-3, 1, resume=path, warm_up="none")
    assert len(queries) == 2
    assert load_results(path).runs


def test_a_file_without_a_warm_up_is_none_with_one(tmp_path: Path) -> None:
    path, queries = tmp_path / "runs.jsonl", list[float]()
    backend = Fake("right", right().script, queries=(queries,))
    benchmark(reference_lpboost(), backend, 1e-3, 1, resume=path)
    assert len(queries) == 2
    with pytest.raises(DataError, match=r'\bwarm_up\b.*\bnull\b.*"none"'):
        benchmark(reference_lpboost(), backend, 1e-3, 1, resume=path, warm_up="none")
    benchmark(reference_lpboost(), backend, 1e-3, 1, resume=tmp_path / "cold.jsonl", warm_up="none")
    with pytest.raises(DataError, match=r'\bwarm_up\b.*"none".*\bnull\b'):
        benchmark(reference_lpboost(), backend, 1e-3, 1, resume=tmp_path / "cold.jsonl")


def test_gaps_and_profiles_in_one_file_are_not_read_as_one_table(tmp_path: Path) -> None:
    path, program = tmp_path / "runs.jsonl", reference_lpboost()
    benchmark(program, "interior", 1e-3, 2, resume=path)
    load_results(path)
    with pytest.raises(DataError, match="asked_by"):  # judged by the same gap, and another question
        benchmark(program, "interior", "low", 1, resume=path)
    profile_path = tmp_path / "other.jsonl"
    benchmark(program, "interior", "low", 1, resume=profile_path)
    path.write_text(path.read_text() + "".join(profile_path.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(DataError, match=r"\bgaps\b.*\bprofiles\b"):
        load_results(path)


def test_the_smallest_program_of_the_formulation_is_solved_once_in_each_process() -> None:
    queries = list[float]()
    spoilt = Fake("spoilt", right().script, queries=(queries,))
    program, second_program = reference_lpboost(), get_formulation("lpboost").bind(np.eye(3), nu=1)
    benchmark({"one": program, "two": second_program}, spoilt, [1e-3, 1e-6], 2, warm_up="smallest")
    assert len(queries) == 2 * 2 * 2 + 1
    queries.clear()
    benchmark({"one": program, "two": second_program}, spoilt, [1e-3, 1e-6], 2)
    assert len(queries) == 2 * 2 * 2 + 2
    with pytest.raises(OptionError, match=r"\bwarm-up\b.*'all'.*\bnone, program, smallest\b"):
        benchmark(program, spoilt, 1e-3, 1, warm_up="all")


@pytest.mark.thorough
def test_the_standard_set_is_the_same_every_time_and_certified() -> None:
    programs, again = standard_programs(), standard_programs()
    assert len(programs) == 81 and len({program.formulation.name for program in programs.values()}) == 9
    for label in ("softboost on nearly_infeasible", "lpboost on cancer_10", "log_loss on degenerate"):
        assert programs[label].margins.digest() == again[label].margins.digest()
        assert programs[label].parameters == again[label].parameters
        assert programs[label].solve("interior", 1e-6).certificate.scaled_gap <= 1e-6
