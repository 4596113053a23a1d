"""Benchmarks: success is a certified gap, a failure has no time, and what is finished is not run again."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typechecker
from rich.console import Console
from support.problems import Fake, reference_erlpboost, reference_lpboost, right, rough

import boostopt
from boostopt import DataError, OptionError
from boostopt._utils.environment import source_version
from boostopt.backends.base import Attempt, Task
from boostopt.comparison import GAPS, Benchmark, BenchmarkOptions, benchmark
from boostopt.comparison.documents import load_results
from boostopt.comparison.rendering.result_sentences import CONTRADICTION_ADVICE
from boostopt.comparison.results_log import ResultsLog
from boostopt.comparison.scores import SHIFT_SECONDS, average_scores, score_programs, shifted_geometric_mean
from boostopt.comparison.solve_record import SolveRecord
from boostopt.programs.program_identity import program_digest

OPTIMUM = 2 / 530


def run(seconds: float, result: str = "reached", **fields: Any) -> SolveRecord:
    options: dict[str, Any] = {"program": "p", "backend": "b", "tol": 1e-3, "repeat": 0, **fields}
    gap, reason = (1e-4, "") if result == "reached" else (0.5, "why")
    return SolveRecord(version="", result=result, reason=reason, seconds=seconds, scaled_gap=gap, **options)


def table_text(benchmark: Benchmark, width: int = 200) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(benchmark.table())
    return out.getvalue()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# Scores


def test_the_time_is_the_median_between_its_quartiles_and_the_ratio_is_to_the_best() -> None:
    slow = [run(s, backend="slow", repeat=k) for k, s in enumerate([5.0, 1.0, 4.0, 2.0, 3.0])]
    fast = [run(s, backend="fast", repeat=k) for k, s in enumerate([0.5, 2.5, 1.5])]
    slow_score, fast_score = score_programs([*slow, *fast])
    assert (slow_score.backend, slow_score.median, slow_score.quartiles, slow_score.n_runs) == (
        "slow",
        3.0,
        (2.0, 4.0),
        5,
    )
    assert (fast_score.median, fast_score.quartiles) == (1.5, (1.0, 2.0))
    assert (slow_score.ratio, fast_score.ratio) == (2.0, 1.0)


def test_one_failure_in_many_runs_is_a_failure_and_has_no_time_however_fast() -> None:
    failing = [run(1e-6, backend="wrong"), run(1e-6, "failed", backend="wrong", repeat=1)]
    score, good = score_programs([*failing, run(2.0, backend="good")])
    assert (score.result, score.n_reached, score.n_runs, score.reason) == ("failed", 1, 2, "why")
    assert math.isnan(score.median) and math.isnan(score.ratio) and all(map(math.isnan, score.quartiles))
    assert (good.ratio, good.result) == (1.0, "reached")


def test_not_run_is_neither_reached_nor_failed() -> None:
    not_run, partly = score_programs([run(0.0, "not run", backend="none"), run(1.0), run(0.0, "not run", repeat=1)])
    assert (not_run.result, not_run.n_runs, not_run.n_requested, not_run.reason) == ("not run", 0, 1, "why")
    assert (partly.result, partly.n_runs, partly.n_requested, partly.median) == ("reached", 1, 2, 1.0)


def test_the_shifted_geometric_mean_of_equal_times_is_the_time_and_lies_between_the_means() -> None:
    assert shifted_geometric_mean([0.7, 0.7, 0.7]) == pytest.approx(0.7, rel=1e-14)
    times = [0.001, 0.1, 10.0]
    slow_twin = math.prod(s + SHIFT_SECONDS for s in times) ** (1 / 3) - SHIFT_SECONDS
    assert shifted_geometric_mean(times) == pytest.approx(slow_twin, rel=1e-12)
    assert float(np.exp(np.mean(np.log(times)))) < slow_twin < float(np.mean(times))


def test_a_failure_counts_as_the_time_limit_and_the_mean_is_then_a_lower_bound() -> None:
    scores = score_programs(
        [
            *(run(1.0, backend="good", program=p) for p in "ab"),
            run(0.001, backend="half", program="a"),
            run(0.001, "failed", backend="half", program="b"),
            run(0.5, backend="some", program="a"),
            run(0.0, "not run", backend="some", program="b"),
        ]
    )
    good, half, incomplete = average_scores(scores, time_limit=60.0)
    assert (good.seconds, good.ratio, good.at_least) == (pytest.approx(1.0), 1.0, False)
    assert half.seconds == pytest.approx(shifted_geometric_mean([0.001, 60.0]))
    assert (half.n_reached, half.failed, half.not_run, half.at_least) == (1, 1, 0, True)
    assert math.isnan(incomplete.seconds) and (incomplete.not_run, incomplete.failed) == (1, 0)
    assert math.isnan(average_scores(scores, time_limit=None)[1].seconds)


# Runs


def test_every_cell_is_a_solve_with_its_own_tolerance_and_one_more_warms_up() -> None:
    queries = list[tuple[float, float | None]]()
    fake = replace(right(), queries=(queries,))
    result = benchmark(reference_lpboost(), [fake], repeats=3, time_limit=9.0)
    tolerances = [tol for tol, _ in queries]
    assert GAPS == (1e-3, 1e-6, 1e-9)
    assert tolerances[0] == 1e-3  # not counted
    assert {tol: tolerances[1:].count(tol) for tol in GAPS} == dict.fromkeys(GAPS, 3)
    assert all(remaining is not None and 8.0 < remaining <= 9.0 for _, remaining in queries)
    assert [(r.tol, r.repeat) for r in result.runs] == [(tol, k) for tol in GAPS for k in range(3)]
    assert result.has_target_gap and result.contradictory_programs == []
    lower, upper = result.interval(next(iter(result.programs)))
    assert lower <= OPTIMUM <= upper


def test_the_order_is_shuffled_by_its_seed() -> None:
    def order(seed: int) -> list[tuple[str, float, int]]:
        came = list[tuple[str, float, int]]()
        benchmark(
            reference_lpboost(),
            [right("a"), right("b")],
            repeats=4,
            random_state=seed,
            progress=lambda done, total, run: came.append((run.backend, run.tol, run.repeat)),
        )
        return came

    first = order(0)
    assert order(0) == first
    assert order(1) != first
    assert len(set(first)) == len(first) == 2 * len(GAPS) * 4
    assert first != sorted(first)


def test_a_backend_is_measured_to_the_accuracy_that_it_has_and_no_further() -> None:
    answer = reference_lpboost().solve("cvxpy:highs", tol=1e-12)
    w = answer.w + np.array([1e-5, -1e-5, 0.0])
    coarse = Fake("coarse", (replace(right().script[0], w=w),))
    gap = reference_lpboost().certify(coarse.script[0].d, w).scaled_gap
    assert 1e-7 < gap < 1e-3
    result = benchmark(reference_lpboost(), [coarse], repeats=1)
    assert [s.result for s in result.scores] == ["reached" if gap <= tol else "failed" for tol in GAPS]
    assert all(math.isnan(s.median) == (s.result == "failed") for s in result.scores)
    assert not result.has_target_gap


def test_failed_and_not_run_are_kept_apart_with_their_reasons() -> None:
    missing = next(s for s in ("mosek", "gurobi", "xpress", "cplex") if f"cvxpy:{s}" not in boostopt.list_backends())
    backends = [rough(), Fake("raises", action="raise"), Fake("unable", reason="no cones"), f"cvxpy:{missing}"]
    result = benchmark(reference_lpboost(), backends, profiles=[1e-5], repeats=2)
    liar, raising, unable, absent = result.scores
    assert [s.result for s in result.scores] == ["failed", "failed", "not run", "not run"]
    assert f"{liar.gap:.1e}" in liar.reason and '"fine"' in liar.reason
    assert '"raised"' in raising.reason and raising.reason.endswith("RuntimeError: no such luck again")
    assert unable.reason == "no cones"
    assert re.search(rf"\binstalled\b.*\b{missing.upper()}\b", absent.reason)
    text = table_text(result)
    assert re.search(r"unable: not run\W+no cones\.", text)
    assert re.search(rf"rough: failed .*\b1e-05\W+{re.escape(liar.reason)}\.", text)
    assert re.search(r"No backend\b.*\b1e-05\b", text) and "Fastest" not in text


@pytest.mark.thorough
def test_programs_backends_and_forms_are_dimensions() -> None:
    programs = {"lp": reference_lpboost(), "entropy": reference_erlpboost()}
    result = benchmark(
        programs, ["cvxpy:clarabel", "cvxpy:highs"], [1e-3, 1e-6], repeats=1, forms=["dual-rated", "density"]
    )
    assert len(result.runs) == 2 * 2 * 2 * 2
    names = [f"cvxpy:{solver}:{form}" for solver in ("clarabel", "highs") for form in ("dual-rated", "density")]
    assert list(dict.fromkeys(score.backend for score in result.scores)) == names
    by = {(m.backend, m.tol): m for m in result.means}
    assert by["cvxpy:clarabel:density", 1e-6].n_reached == 2
    assert by["cvxpy:highs:density", 1e-6].not_run == 1 and math.isnan(by["cvxpy:highs:density", 1e-6].seconds)
    assert re.search(r"not run \w+ 1 of 2\b", table_text(result))
    assert re.search(rf"All programs: .*\b{SHIFT_SECONDS:g} s\b", table_text(result))


def test_equal_programs_are_told_apart() -> None:
    result = benchmark([reference_lpboost(), reference_lpboost()], [right()], [1e-3], repeats=1)
    headline = reference_lpboost().headline
    assert list(result.programs) == [headline, f"{headline} #2"]


def test_benchmark_without_remaining_time_skips_the_other_solves() -> None:
    class Slow(Fake):
        def attempts(self, task: Task) -> Iterator[Attempt]:
            yield from right().script
            clock.now += 10.0

    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            return self.now

    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("boostopt.comparison.benchmark"), "time", clock)
        result = benchmark(reference_lpboost(), [Slow("slow"), Fake("unable", reason="never")], [1e-16], 3, budget=25.0)
    slow, unable = result.scores
    assert (slow.result, slow.n_runs, slow.n_requested) == ("failed", 2, 3)  # one of the three solves warmed up
    late, *other_reasons = [r.reason for r in result.runs if r.result == "not run"]
    assert re.search(r"\btime\b", late) and other_reasons == ["never"] * 3
    assert unable.reason == "never"


def test_the_automatic_choice_records_who_answered() -> None:
    result = benchmark(reference_lpboost(), "auto", [1e-3], repeats=1)
    assert result.runs[0].answered_by in boostopt.list_backends()


# Reports


def test_json_holds_everything_that_a_number_was_made_with() -> None:
    result = benchmark(reference_lpboost(), [right(), rough()], [1e-3], repeats=2, time_limit=4.0, random_state=5)
    document = json.loads(result.to_json())
    assert document["settings"] == {
        "profiles": [1e-3],
        "repeats": 2,
        "time_limit": 4.0,
        "isolate": False,
        "seed": 5,
    }
    assert document["boostopt"] == source_version()
    assert document["machine"]["blas"] and document["machine"]["cpu"] and document["machine"]["cores"] >= 1
    (about,) = document["programs"].values()
    assert about["digest"] == reference_lpboost().margins.digest()
    assert about["lower"] <= OPTIMUM <= about["upper"]
    assert [s["result"] for s in document["scores"]] == ["reached", "failed"]
    assert document["scores"][1]["median"] is None
    assert [r["version"] for r in document["runs"]] == ["1.0-right"] * 2 + ["1.0-rough"] * 2


def test_csv_has_a_line_for_each_run_with_versions_machine_and_seed() -> None:
    result = benchmark(reference_lpboost(), [right(), Fake("no", reason="never")], [1e-3], repeats=2, random_state=7)
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert [(row["backend"], row["result"], row["repeat"]) for row in rows] == [
        ("right", "reached", "0"),
        ("right", "reached", "1"),
        ("no", "not run", "0"),
        ("no", "not run", "1"),
    ]
    for row in rows:
        assert (row["seed"], row["boostopt"]) == ("7", source_version())
        assert row["blas"] and row["cpu"] and row["digest"] == program_digest(reference_lpboost())


def test_a_contradiction_is_reported_as_a_bug() -> None:
    result = benchmark(reference_lpboost(), [right("a"), right("b")], [1e-3], repeats=1)
    runs = list(result.runs)
    runs[0] = replace(runs[0], lower=0.5, upper=0.6)
    contradictory = replace(result, runs=tuple(runs))
    assert contradictory.contradictory_programs == [reference_lpboost().headline] and not contradictory.overlap
    assert CONTRADICTION_ADVICE in " ".join(table_text(contradictory).split())
    assert "Fastest" not in table_text(contradictory)


@pytest.mark.thorough
@pytest.mark.every(3)
@pytest.mark.parametrize("width", (60, 80, 120))
def test_no_terminal_is_too_narrow_for_the_numbers(width: int) -> None:
    programs = {"lp": reference_lpboost(), "entropy": reference_erlpboost()}
    result = benchmark(programs, ["cvxpy:clarabel:density-rated", "cvxpy:highs", "auto"], repeats=2, time_limit=20.0)
    text = table_text(result, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert all(line[-1] in "┓┃┩│┘" for line in text.splitlines() if line[:1] in "┏┃┡│└")
    assert all(f"{tol:g}" in text for tol in GAPS)
    assert text.count("x1 ") >= 1
    assert re.search(r"\bcvxpy:highs\b.*\bexponential\b", " ".join(text.split()))


def test_as_html_and_text_it_says_the_same() -> None:
    result = benchmark(reference_lpboost(), [right(), rough("<rough>")], [1e-3], repeats=1)
    html = result._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "&lt;rough&gt;" in html
    assert f">{result.scores[0].median:.2g}</td>" in html and ">x1</td>" in html
    assert "failed" in str(result) and "<rough>" in str(result)


def test_a_benchmark_that_goes_on_is_printed_as_far_as_it_is() -> None:
    result = benchmark(reference_lpboost(), [right("a"), right("b")], [1e-3, 1e-5], repeats=1)
    partly = replace(result, runs=result.runs[1:])
    assert "gap 0.001" in table_text(partly) and len(partly.scores) == 3


# Resuming


def test_benchmark_does_not_repeat_finished_runs(tmp_path: Path) -> None:
    file, queries = tmp_path / "runs.jsonl", list[Any]()
    backends = [replace(right(), queries=(queries,)), rough(), Fake("no", reason="never")]
    first = benchmark(reference_lpboost(), backends, [1e-3, 1e-5], repeats=2, resume=file)
    assert len(lines(file)) == 1 + 8  # the head, and what was run
    came = len(queries)
    again = benchmark(reference_lpboost(), backends, [1e-3, 1e-5], repeats=2, resume=file)
    assert len(queries) == came
    assert again.runs == first.runs  # to the last digit
    more = benchmark(reference_lpboost(), backends, [1e-3, 1e-5, 1e-7], repeats=3, resume=file)
    assert len(queries) == came + 1 + 5  # one warms up, three at the new tolerance, one more at each of the others
    assert set(map(repr, first.runs)) <= set(map(repr, more.runs))


@pytest.mark.parametrize("labels", [("one", "two"), ("two", "one")])
def test_equal_programs_are_resumed_under_their_own_labels(tmp_path: Path, labels: tuple[str, str]) -> None:
    file, queries = tmp_path / "runs.jsonl", list[Any]()
    programs = {label: reference_lpboost() for label in labels}
    backend = replace(right(), queries=(queries,))
    first = benchmark(programs, [backend], [1e-3], repeats=2, resume=file)
    came = len(queries)
    again = benchmark(programs, [backend], [1e-3], repeats=2, resume=file)
    assert len(queries) == came == 2 * (1 + 2)
    assert [r.program for r in again.runs] == [label for label in labels for _ in range(2)]
    assert again.runs == first.runs
    # The runs of one label are lost, and those of the other label do not replace them.
    remaining_lines = [line for line in file.read_text().splitlines() if f'"program": "{labels[1]}"' not in line]
    file.write_text("\n".join(remaining_lines) + "\n")
    more = benchmark(programs, [backend], [1e-3], repeats=2, resume=file)
    assert len(queries) == came + 1 + 2
    assert [s.program for s in more.scores] == list(labels)


def test_a_last_line_that_was_being_written_is_dropped_and_its_run_made_again(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    benchmark(reference_lpboost(), [right()], [1e-3], repeats=3, resume=file)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    result = benchmark(reference_lpboost(), [right()], [1e-3], repeats=3, resume=file)
    assert len(result.runs) == 3 and len(lines(file)) == 4
    assert whole.splitlines()[:3] == file.read_bytes().splitlines()[:3]


def test_an_interrupted_benchmark_goes_on_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"

    def interrupt(done: int, total: int, run: SolveRecord) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        benchmark(reference_lpboost(), [right()], [1e-3, 1e-5], repeats=3, resume=file, progress=interrupt)
    assert len(lines(file)) == 4
    queries = list[Any]()
    benchmark(reference_lpboost(), [replace(right(), queries=(queries,))], [1e-3, 1e-5], repeats=3, resume=file)
    assert len(queries) == 1 + 3


def test_another_version_of_a_solver_or_of_boostopt_is_measured_anew(tmp_path: Path) -> None:
    file, queries = tmp_path / "runs.jsonl", list[Any]()
    benchmark(reference_lpboost(), [right()], [1e-3], repeats=2, resume=file)
    newer = replace(right(), numbered="2.0", queries=(queries,))
    benchmark(reference_lpboost(), [newer], [1e-3], repeats=2, resume=file)
    assert len(queries) == 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("boostopt.comparison.benchmark"), "source_version", lambda: "0.2.0+00000000")
        benchmark(reference_lpboost(), [newer], [1e-3], repeats=2, resume=file)
    assert len(queries) == 6


def test_a_file_of_another_comparison_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, time_limit=4.0, resume=file)
    content = file.read_bytes()
    message = (
        f"expected a file of this comparison; {file} is of another one: its time_limit is 4.0, here it is 5.0. "
        "Name another file."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, time_limit=5.0, resume=file)
    with pytest.raises(DataError, match=r"\bprograms\b.*\blpboost:.*\berlpboost:"):
        benchmark(reference_erlpboost(), ["auto"], [1e-3], repeats=1, time_limit=4.0, resume=file)
    label = reference_lpboost().headline
    with pytest.raises(DataError, match=rf"\bprograms, '{re.escape(label)}'"):
        benchmark({label: reference_erlpboost()}, [right()], [1e-3], repeats=1, time_limit=4.0, resume=file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "77")
        with pytest.raises(DataError, match=r"\bmachine, 'threads'.*\b77\b"):
            benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, time_limit=4.0, resume=file)
    assert file.read_bytes() == content


def test_programs_that_are_added_are_run_and_those_left_out_are_kept(tmp_path: Path) -> None:
    file, queries = tmp_path / "runs.jsonl", list[Any]()
    backend = replace(right(), queries=(queries,))
    programs = {label: reference_lpboost() for label in ("one", "two", "three")}

    def measured(*labels: str) -> Any:
        queries.clear()
        results = benchmark({name: programs[name] for name in labels}, [backend], [1e-3], repeats=2, resume=file)
        assert list(results.programs) == list(labels)
        return {run.program: run for run in results.runs}

    first = measured("one", "two")
    with file.open("a") as end:
        end.write('{"being written')
    second = measured("two", "three")
    assert len(queries) == 1 + 2 and second["two"] == first["two"]
    content = file.read_bytes()
    third = measured("three", "one", "two")
    assert not queries and file.read_bytes() == content
    assert third == {**first, "three": second["three"]}
    head = json.loads(content.splitlines()[0])
    assert list(head["programs"]) == list(head["described"]) == ["one", "two", "three"]
    read = load_results(file)
    assert set(read.programs) == set(programs) and all(read.programs[name]["examples"] == 6 for name in programs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.jsonl"]


@pytest.mark.parametrize(
    "content, fact",
    [
        (b"x,y\n1,2\n", r"\bis another\b"),
        (b"no line that ends", r"\bwhole\b"),
        (b"x,y\n1,2\n3,4", r"\bis another\b"),
        (b'{"kind": "boostopt benchmark", "format": 1}\n{}\n3,4', r"\bprograms\b.*\bnull\b"),
    ],
    ids=("table", "half a line", "cut table", "other head"),
)
def test_a_file_of_anything_else_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes, fact: str) -> None:
    file = tmp_path / "data.csv"
    file.write_bytes(content)
    with pytest.raises(DataError, match=fact):
        benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, resume=file)
    assert file.read_bytes() == content


def test_a_line_that_is_no_run_is_refused_with_its_number(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, resume=file)
    file.write_text(file.read_text() + '{"boostopt": "0"}\n')
    with pytest.raises(DataError, match=r"jsonl.*\bline 3\b"):
        benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, resume=file)
    content = file.read_bytes() + b"a line that does not end"
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"jsonl.*\bline 3\b"):
        benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, resume=file)
    assert file.read_bytes() == content


LINE: dict[str, Any] = {
    "boostopt": "0",
    "program": "p",
    "digest": "",
    "backend": "b",
    "version": "1",
    "tol": 1e-3,
    "repeat": 0,
    "result": "failed",
    "reason": "why",
    "record": {"lower": None, "seconds": 0.5, "scaled_gap": 0.1},
}


def ledger_of(tmp_path: Path, line: str) -> ResultsLog:
    """A ledger with one run, as it stands in its file."""
    file = tmp_path / "runs.jsonl"
    ResultsLog(file, {}, "0")
    file.write_text(file.read_text() + line + "\n")
    return ResultsLog(file, {}, "0")


def test_a_whole_line_is_a_run_by_label_program_options_and_versions(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, json.dumps(LINE))
    record = ledger.finished_records[ledger.key("p", "", "b", "1", 1e-3, 0)]
    assert (record.program, record.seconds, record.scaled_gap, record.interval[0]) == ("p", 0.5, 0.1, -math.inf)


DAMAGED: list[tuple[dict[str, Any], str]] = [
    *(
        ({name: value}, rf"\b{name}\b.*\btext\b")
        for name in ("boostopt", "program", "digest", "backend", "version", "result", "reason")
        for value in ([], None)
    ),
    ({"result": "splendid"}, r"\bresult\b.*\breached, failed\)"),
    ({"result": "not run"}, r"\bresult\b.*\breached, failed\)"),
    *(({"tol": value}, r"\btol\b.*\bfinite\b") for value in ("1e-3", None, True, math.nan, 10**400, {})),
    *(({"repeat": value}, r"\brepeat\b") for value in ("0", -1, 0.5, True, [0])),
    *(({"record": value}, r"\brecord\b.*\bobject\b") for value in (None, [], "x", 1.0)),
    *(
        ({"record": {name: value}}, rf"\b{name}\b.*\bfinite\b.*\bnull\b")
        for name in ("lower", "upper", "scaled_gap", "seconds")
        for value in ("fast", [], True, math.nan, -math.inf, 10**400)
    ),
    ({"record": {"seconds": -1e-9}}, r"\bseconds\b.*\bnegative\b"),
    ({"more": 1}, r"\bfield 'more'"),
]
"""Fields that replace those of a line, and the name and the fact in the refusal."""


@pytest.mark.parametrize("damage, fact", DAMAGED, ids=[repr(damage)[:40] for damage, _ in DAMAGED])
def test_a_damaged_field_is_refused_with_its_name(tmp_path: Path, damage: dict[str, Any], fact: str) -> None:
    with pytest.raises(DataError, match=rf"\bline 2\b.*{fact}"):
        ledger_of(tmp_path, json.dumps({**LINE, **damage}))


@pytest.mark.parametrize("name", LINE)
def test_a_field_that_is_missing_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=rf"\bline 2\b.*\bits {name}\b"):
        ledger_of(tmp_path, json.dumps({field: value for field, value in LINE.items() if field != name}))


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "1" * 5000, "[" * 100_000, '{"record": ' * 100_000, "\x00"],
    ids=("empty", "cut", "list", "long", "deep-list", "deep-object", "null-byte"),
)
def test_a_line_that_is_no_object_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"\bline 2\b.*\bJSON\b"):
        ledger_of(tmp_path, line)


def test_a_deep_first_line_is_another_file(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text("[" * 100_000 + "\n")
    with pytest.raises(DataError, match=r"\bis another\b"):
        ResultsLog(file, {}, "0")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"^{re.escape(str(tmp_path))} .*\bdirectory\b"):
        ResultsLog(tmp_path, {}, "0")


def test_a_pipe_is_refused_before_it_is_read(tmp_path: Path) -> None:
    # Nobody writes into it: who opened it would wait for ever.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"/pipe\b.*\bregular\b"):
        ResultsLog(tmp_path / "pipe", {}, "0")


def test_the_digest_of_a_program_is_of_all_that_makes_it() -> None:
    base = reference_erlpboost()
    page = base.formulation
    U, d0 = base.margins.to_array(), base.examples.d0
    assert isinstance(page, boostopt.Formulation)
    other_programs = [
        page.bind(U, nu=2.5, eta=4.0),
        page.bind(U, nu=2.5, eta=5.0, d0=d0),
        page.bind(-U, nu=2.5, eta=4.0, d0=d0),
        page.bind(U, nu=2.5, eta=4.0, d0=d0, c=[2, 1, 1, 1, 1, 1]),
        reference_lpboost(),
    ]
    digests = [program_digest(program) for program in (base, *other_programs)]
    assert len(set(digests)) == len(digests)
    assert program_digest(reference_erlpboost()) == digests[0]


# Bad input


@pytest.mark.parametrize(
    "options, fact",
    [
        ({"profiles": []}, r"^profiles\b.* \[\]"),
        ({"profiles": [1e-3, 1e-3]}, r"^profiles\b.*\bdifferent\b.*\[0\.001, 0\.001\]"),
        ({"profiles": [2.0]}, r"^profiles\b.*\(0, 1\).*\b2\.0"),
        ({"repeats": 0}, r"^repeats\b.*\b1\b.*\b0\b"),
        ({"budget": -1.0}, r"^budget\b.*\bpositive\b.* -1\.0\b"),
        ({"time_limit": 0.0}, r"^time_limit\b.*\bpositive\b.*\b0\.0\b"),
        ({"programs": []}, r"\bprograms\b.*\bnone\b"),
        ({"backends": []}, r"\bbackends\b.*\bnone\b"),
        ({"forms": ["none"]}, r"\bform 'none'"),
    ],
    ids=(
        *("no profiles", "equal profiles", "large profile", "repeats", "budget", "time limit"),
        *("no programs", "no backends", "form"),
    ),
)
def test_options_out_of_range_are_errors_before_any_work(options: dict[str, Any], fact: str) -> None:
    arguments: dict[str, Any] = {"programs": reference_lpboost(), "backends": ["cvxpy:highs"], **options}
    with pytest.raises(OptionError, match=fact):
        benchmark(**arguments)


def test_options_are_given_whole_or_by_their_names_which_count_before() -> None:
    whole = BenchmarkOptions(time_limit=4.0, random_state=5)
    results = benchmark(reference_lpboost(), [right()], [1e-3], 1, options=whole, random_state=7)
    assert (results.settings.time_limit, results.settings.seed) == (4.0, 7)
    with pytest.raises(OptionError, match=r"\bbenchmark\b.*'timelimit'.*'time_limit'"):
        benchmark(reference_lpboost(), timelimit=4.0)  # pyright: ignore[reportCallIssue]
    with typechecker.unchecked(), pytest.raises(OptionError, match=r"^options\b.*\bBenchmarkOptions\b.*\b4\b"):
        benchmark(reference_lpboost(), options=4)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(OptionError, match=r"^budget\b.*\bpositive\b.*\b0\b"):
        BenchmarkOptions(budget=0)
