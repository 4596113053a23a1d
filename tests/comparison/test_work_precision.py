"""Work and precision: one solve for each request, the cheapest request for each gap, tables, files."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from support.problems import reference_erlpboost, reference_lpboost
from typechecker import unchecked

from boostopt import DataError, OptionError, WorkPrecision, load_problem, precision, save_problem
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import Attempt, Backend, Capability, Task
from boostopt.comparison import ConeSolver
from boostopt.comparison.benchmark import GAPS
from boostopt.comparison.documents import load_results
from boostopt.comparison.rendering.precision_tables import table_gaps
from boostopt.comparison.work_precision.precision_points import cheapest_point
from boostopt.programs.program import Program

REQUESTS = (1e-2, 1e-4, 1e-6)
BACKENDS = ["interior", "cvxpy:scs", "cvxpy:clarabel"]


def bounded() -> Any:
    """Min x' x - 2 x over x <= 1/2 in the plane, with optimum -3/2 at (1/2, 1/2)."""
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(x) - 2 * cp.sum(x)), [x <= 0.5])


@cache
def measurement() -> WorkPrecision:
    return precision(reference_erlpboost(), BACKENDS, REQUESTS)


def point_of(result: WorkPrecision, backend: str, request: float) -> Any:
    (point,) = (p for p in result.points if (p.backend, p.request) == (backend, request))
    return point


class Halving(Backend):
    """A solver that stops by the certificate alone: each checkpoint is half as far from the optimum as the last."""

    @property
    def name(self) -> str:
        return "halving"

    @property
    def version(self) -> str:
        return "1"

    def takes(self, program: Program) -> Capability:
        return Capability(True)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        exact, start = task.program.solve("interior", 1e-9), np.full(task.program.margins.N, 1 / task.program.margins.N)
        for k in range(1, 30):
            share = 0.5**k
            d = share * start + (1 - share) * exact.d
            yield Attempt("points", {}, f"step {k}", False, d, exact.w, iterations=10 * k, is_continuation=k > 1)


# Requests and solves


def test_each_request_is_one_solve_that_the_solver_ends_by_its_own_test() -> None:
    result = measurement()
    assert result.requests == REQUESTS and result.backends == tuple(BACKENDS)
    assert len(result.runs) == len(result.points) == len(BACKENDS) * len(REQUESTS)
    assert all(run.attempts == 1 and run.profile == f"accuracy {run.tol:g}" for run in result.runs)
    assert [point.request for point in result.line(*first_line(result))] == list(REQUESTS)
    assert result.overlap


def first_line(result: WorkPrecision) -> tuple[str, str]:
    return next(iter(result.programs)), result.backends[0]


@pytest.mark.parametrize("request_", REQUESTS)
def test_scs_takes_the_iterations_that_it_takes_by_hand(request_: float) -> None:
    """The sparse data that CVXPY makes, given to SCS by hand at the same tolerances, takes equally many iterations."""
    problem = bounded()
    data, chain, _ = problem.get_problem_data("SCS", solver_opts={})
    raw = chain.solve_via_data(
        problem, data, warm_start=False, verbose=False, solver_opts={"eps_abs": request_, "eps_rel": request_}
    )
    (point,) = precision(bounded(), "scs", request_).points
    assert point.iterations == raw["info"]["iter"]
    assert point.sent_accuracy == request_


def test_finer_requests_take_more_iterations_and_prove_more() -> None:
    for backend in ("interior", "cvxpy:scs"):
        coarse, fine = point_of(measurement(), backend, 1e-2), point_of(measurement(), backend, 1e-6)
        assert coarse.iterations < fine.iterations and fine.scaled_gap < coarse.scaled_gap


def test_seconds_are_split_into_phases_and_the_certificate_is_not_in_the_total() -> None:
    for point in measurement().points:
        phases = {name: seconds for name, seconds in point.phases.items() if name != "certify"}
        assert set(point.phases) == {"build", "canonicalize", "solve", "recover", "certify"}
        assert point.seconds == pytest.approx(math.fsum(phases.values()))
        assert point.solver_seconds == point.phases["solve"] > 0 and point.phases["certify"] > 0
        assert point.cpu_seconds is not None and point.cpu_seconds >= 0
        assert point.peak_memory is None


@pytest.mark.thorough
def test_processor_seconds_are_those_of_work_and_not_of_waiting() -> None:
    def waits(problem: Any) -> None:
        import time

        time.sleep(0.3)

    def works(problem: Any) -> None:
        import time

        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass

    waiting, working = precision(bounded(), [waits, works], 1e-3, warm_up="none").points
    assert waiting.seconds >= 0.3 and waiting.cpu_seconds is not None and waiting.cpu_seconds < 0.15
    assert working.cpu_seconds is not None and 0.3 <= working.cpu_seconds < 0.5


@pytest.mark.thorough
def test_isolated_solves_have_the_memory_and_the_processor_time_of_their_process() -> None:
    result = precision(reference_erlpboost(), "cvxpy:clarabel", [1e-2, 1e-6], isolate=True)
    assert all(point.peak_memory is not None and point.cpu_seconds is not None for point in result.points)
    assert all(point.cpu_seconds and point.cpu_seconds > 0 for point in result.points)


def test_forms_are_lines_of_their_own() -> None:
    result = precision(reference_erlpboost(), "cvxpy:clarabel", [1e-2, 1e-6], forms=["primal", "dual"])
    assert result.backends == ("cvxpy:clarabel:primal", "cvxpy:clarabel:dual")
    assert [point.form for point in result.points] == ["primal", "primal", "dual", "dual"]


def test_a_solver_that_stops_by_the_certificate_is_a_line_of_checkpoints_of_one_solve() -> None:
    result = precision(reference_lpboost(), Halving(), REQUESTS)
    assert len(result.runs) == 1 and result.runs[0].tol == 1e-6 and result.runs[0].has_target_gap
    points = result.points
    assert [point.checkpoint for point in points] == list(range(len(points))) and len(points) > 10
    assert [point.iterations for point in points] == [10 * (k + 1) for k in range(len(points))]
    gaps = [point.scaled_gap for point in points]
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] <= 1e-6 < gaps[-2]
    (entry,) = result.cheapest(1e-3)
    assert entry.point is not None and entry.point.checkpoint is not None
    assert entry.point.scaled_gap <= 1e-3 < points[entry.point.checkpoint - 1].scaled_gap


# Solvers and problems of users


def test_a_function_gets_the_request_by_its_parameter_tol() -> None:
    requests = list[float]()

    def crude(problem: Any, tol: float) -> None:
        requests.append(tol)
        problem.variables()[0].value = [0.5 - tol, 0.5 - tol]
        problem.constraints[0].save_dual_value(np.ones(2))

    result = precision(bounded(), crude, REQUESTS, warm_up="none")
    assert sorted(requests, reverse=True) == list(REQUESTS)
    assert [point.sent_accuracy for point in result.points] == list(REQUESTS)
    gaps = [point.scaled_gap for point in result.points]
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] < 1e-5 < gaps[0]


def test_a_cone_solver_gets_the_request_and_a_function_without_one_solves_once() -> None:
    requests = list[float]()

    def cone(data: Any, tol: float) -> Any:
        requests.append(tol)
        return np.zeros(data["A"].shape[1]), np.zeros(data["A"].shape[0])

    def exact(problem: Any) -> None:
        problem.variables()[0].value = [0.5, 0.5]
        problem.constraints[0].save_dual_value(np.ones(2))

    result = precision(bounded(), [ConeSolver(cone), exact], REQUESTS, warm_up="none")
    assert sorted(requests, reverse=True) == list(REQUESTS)
    assert [run.tol for run in result.runs if run.backend == "exact"] == [1e-6]


def test_programs_of_files_and_cvxpy_problems_are_measured(tmp_path: Path) -> None:
    from boostopt import ConicProgram

    program = ConicProgram(
        A=np.array([[1.0, 1.0]]),
        c=np.array([1.0, 2.0]),
        row_lower=np.array([1.0]),
        row_upper=np.array([np.inf]),
        lower=np.zeros(2),
        upper=np.full(2, np.inf),
        name="small",
    )
    save_problem(program, tmp_path / "small.mps")
    result = precision([load_problem(tmp_path / "small.mps"), bounded()], "clarabel", [1e-3, 1e-8])
    assert len(result.programs) == 2 and next(iter(result.programs)).lower() == "small"
    assert all(entry.point is not None for entry in result.cheapest(1e-3))
    lower, upper = result.interval(next(iter(result.programs)))
    assert lower <= 1.0 <= upper


def test_a_backend_that_is_missing_or_unable_has_a_reason() -> None:
    result = precision(reference_erlpboost(), ["interior", "cvxpy:highs"], [1e-3])
    assert [point.backend for point in result.points] == ["interior"]
    _, unable = result.cheapest(1e-3)
    assert unable.point is None and "cvxpy:highs" in unable.reason
    assert "not run" in result.to_markdown() and "not run" in str(result)


# The cheapest request


def test_the_cheapest_request_has_the_fewest_iterations_of_those_that_reach_the_gap() -> None:
    result = measurement()
    for gap in (1e-2, 1e-5):
        for entry in result.cheapest(gap):
            line = result.line(entry.program, entry.backend)
            counts = [point.iterations for point in line if point.scaled_gap <= gap and point.iterations is not None]
            if entry.point is None:
                assert not counts and f"{min(point.scaled_gap for point in line):.1e}" in entry.reason
            else:
                assert entry.point.scaled_gap <= gap and entry.point.iterations == min(counts)
    with pytest.raises(OptionError, match=r"\bgap\b"):
        result.cheapest(0.0)


def test_of_equal_iterations_the_coarsest_request_counts_and_seconds_where_none_are_counted() -> None:
    from dataclasses import replace

    base = point_of(measurement(), "interior", 1e-2)

    def point(request_: float, iterations: int | None, seconds: float) -> Any:
        return replace(base, request=request_, iterations=iterations, scaled_gap=1e-9, phases={"solve": seconds})

    equal = [point(1e-6, 7, 0.1), point(1e-2, 7, 0.2), point(1e-4, 7, 0.05), point(1e-8, 9, 0.01)]
    cheapest = cheapest_point(equal, 1e-3)
    assert cheapest is not None and cheapest.request == 1e-2
    uncounted = [point(1e-2, None, 0.3), point(1e-4, None, 0.2)]
    cheapest = cheapest_point(uncounted, 1e-3)
    assert cheapest is not None and cheapest.request == 1e-4
    assert cheapest_point(equal, 1e-10) is None


def test_a_benchmark_of_the_cheapest_requests_has_scores_at_certified_gaps() -> None:
    result = measurement().to_benchmark([1e-2, 1e-12])
    assert result.settings.target_gaps == (1e-2, 1e-12)
    scores = {(score.backend, score.tol): score for score in result.scores}
    entries = {entry.backend: entry.point for entry in measurement().cheapest(1e-2)}
    for backend in BACKENDS:
        point, score = entries[backend], scores[backend, 1e-2]
        assert point is not None and score.result == "reached" and score.gap == point.scaled_gap
        assert scores[backend, 1e-12].result == "failed"
    assert "cheapest request" in str(result) and "1e-12" in str(result)


def test_repeats_are_medians_of_one_point() -> None:
    result = precision(reference_lpboost(), "interior", [1e-3, 1e-6], repeats=3)
    assert len(result.runs) == 6 and [point.n_runs for point in result.points] == [3, 3]
    seconds = sorted(run.seconds_solve or 0.0 for run in result.runs if run.tol == 1e-6)
    assert result.points[1].solver_seconds == seconds[1]


# Tables and files


def test_tables_say_what_was_asked_and_of_which_form_each_number_is() -> None:
    result = measurement()
    for text in (str(result), result.to_markdown(), result.to_html()):
        assert "1e-02, 1e-04, 1e-06" in text and "primal/density" in text and "primal" in text
    latex = result.to_latex(label="tab:x")
    assert latex.count(r"\multicolumn{4}{c}{gap") == 2 and r"\label{tab:x}" in latex and "$10^{-4}$" in latex
    assert re.search(r"\*\*[0-9.e-]+\*\*", result.to_markdown())


def test_tables_have_the_gaps_that_were_asked_or_are_proved() -> None:
    assert table_gaps(measurement()) == (1e-3, 1e-6)
    runs = measurement().runs
    assert table_gaps(replace(measurement(), runs=(replace(runs[0], scaled_gap=1e-10), *runs[1:]))) == GAPS
    assert table_gaps(precision(reference_lpboost(), "interior", 1e-9)) == GAPS
    (run,) = precision(reference_lpboost(), "interior", 1e-2).runs
    rough = replace(precision(reference_lpboost(), "interior", 1e-2), runs=(replace(run, scaled_gap=0.25),))
    assert table_gaps(rough) == (1e-3,) and "not reached" in str(rough)


def test_csv_has_a_line_for_each_point() -> None:
    rows = list(csv.DictReader(io.StringIO(measurement().to_csv())))
    assert [float(row["request"]) for row in rows] == [point.request for point in measurement().points]
    assert {"seconds_solve", "seconds_certify", "cpu_seconds", "peak_memory", "sent_accuracy", "form"} <= set(rows[0])
    assert [float(row["scaled_gap"]) for row in rows] == [point.scaled_gap for point in measurement().points]


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "precision.json"
    path.write_text(measurement().to_json())
    result = load_results(path)
    assert isinstance(result, WorkPrecision) and result == measurement()
    assert result.points == measurement().points
    assert json.loads(result.to_json()) == json.loads(measurement().to_json())
    document = json.loads(path.read_text())
    document["settings"]["profiles"] = [1e-2]
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"\brequests\b"):
        load_results(path)


def test_a_results_log_is_resumed_and_belongs_to_no_benchmark(tmp_path: Path) -> None:
    from boostopt import benchmark

    path = tmp_path / "log.jsonl"
    first = precision(reference_lpboost(), ["interior", Halving()], [1e-2, 1e-4], resume=path)
    size = path.stat().st_size
    second = precision(reference_lpboost(), ["interior", Halving()], [1e-2, 1e-4], resume=path)
    assert path.stat().st_size == size and second.points == first.points
    result = load_results(path)
    assert isinstance(result, WorkPrecision)
    for backend in first.backends:
        assert result.line(first_line(first)[0], backend) == first.line(first_line(first)[0], backend)
    with pytest.raises(DataError, match=r"\basked_by\b"):
        benchmark(reference_lpboost(), "interior", ["low"], 1, resume=path)


@pytest.mark.parametrize("requests", [[], [1e-3, 1e-3], 1.0, [0.0], "low", [1e-3, "low"], None])
def test_wrong_requests_are_refused(requests: Any) -> None:
    with unchecked(), pytest.raises(OptionError, match=r"\brequests\b"):
        precision(reference_lpboost(), "interior", requests)


def test_a_line_of_no_program_or_solver_is_refused() -> None:
    program, _ = first_line(measurement())
    with pytest.raises(OptionError, match=r"\bsolver\b.*'ecos'"):
        measurement().line(program, "ecos")
    with pytest.raises(OptionError, match=r"\bprogram\b.*'other'"):
        measurement().line("other", "interior")


def test_a_profile_of_any_accuracy_is_a_request_of_solve() -> None:
    from boostopt import solve

    solution = solve(reference_erlpboost(), "interior", Profile("mine", 1e-5))
    assert solution.tol == 1e-5 and solution.attempts[0].options["accuracy"] == 1e-5
    assert len(solution.attempts) == 1
