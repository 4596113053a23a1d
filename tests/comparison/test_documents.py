"""Files of comparisons and benchmarks: read back as they were, and refused with the reason where they are edited."""

from __future__ import annotations

import functools
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from edited import REMOVED, edited, places
from problems import Fake, attempt, reference_erlpboost, reference_lpboost, right, rough

from boostopt import Benchmark, Comparison, DataError, OptionError, benchmark, compare
from boostopt.comparison import documents
from boostopt.comparison.documents import document, load
from boostopt.comparison.provenance import Origin
from boostopt.comparison.results_log import Ledger
from boostopt.programs.identity import plain

ORIGIN = Origin.here("boostopt compare", "2026-01-02", "data.csv", (("broken.csv", "It is empty."),))


@functools.cache
def compared() -> Comparison:
    unable = Fake("unable", reason="it takes nothing")
    loud = Fake("loud", (attempt(w=[1, 0, 0], options={"a": [1, {"b": float("inf")}]}, iterations=3),))
    return compare(reference_lpboost(), [right(), unable, loud], origin=ORIGIN)


@functools.cache
def measured() -> Benchmark:
    programs = {"linear": reference_lpboost(), "entropy": reference_erlpboost()}
    return benchmark(programs, [rough(), "cvxpy:highs"], [1e-3, 1e-6], repeats=2, time_limit=9.0, origin=ORIGIN)


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_comparison_is_read_as_it_was(tmp_path: Path) -> None:
    read, made = load(written(tmp_path, compared().to_json())), document(compared())
    assert read == replace(made, file=str(tmp_path / "file.json"))
    assert not read.measured and read.benchmark.origin == ORIGIN
    assert [run.result for run in read.benchmark.runs] == ["reached", "not run", "failed"]
    assert document(read) is read


def test_a_benchmark_is_read_as_it_was(tmp_path: Path) -> None:
    read = load(written(tmp_path, measured().to_json()))
    assert read.measured and read.benchmark == measured()
    assert repr(read.benchmark.scores) == repr(measured().scores)  # nan is not equal to itself


def test_the_file_of_finished_runs_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    made = benchmark(reference_lpboost(), [right(), rough()], [1e-3, 1e-6], repeats=2, resume=path, origin=ORIGIN)
    before = path.read_bytes() + b'{"a line that is being wri'
    path.write_bytes(before)
    read = load(path)
    assert path.read_bytes() == before
    by_name = {(run.backend, run.tol, run.repeat): run for run in read.benchmark.runs}
    assert by_name == {(run.backend, run.tol, run.repeat): run for run in made.runs}
    assert read.benchmark.programs == made.programs and read.benchmark.origin == ORIGIN
    assert read.benchmark.settings == made.settings and read.benchmark.boostopt == made.boostopt


def test_of_runs_that_stand_twice_the_later_counts(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, resume=path)
    newer = json.loads(path.read_text().splitlines()[-1]) | {"boostopt": "9.9", "version": "2"}
    path.write_text(path.read_text() + json.dumps(newer) + "\n")
    (run,) = load(path).benchmark.runs
    assert run.version == "2" and load(path).benchmark.boostopt == "9.9"


def test_files_of_before_have_less_and_are_read(tmp_path: Path) -> None:
    said = json.loads(compared().to_json())
    for name in ("about", "origin", "logs"):
        del said[name]
    read = load(written(tmp_path, json.dumps(said))).benchmark
    assert list(read.programs) == ["lpboost"] and read.origin == Origin()
    path = tmp_path / "runs.jsonl"
    benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, resume=path)
    head, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    old = [{name: value for name, value in head.items() if name not in ("described", "origin")}, *lines]
    for line in old[1:]:
        del line["log"]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in old))
    assert [run.result for run in load(path).benchmark.runs] == ["reached"]


@pytest.mark.parametrize(
    "content, message",
    [
        ("", r"is no JSON text, or it is truncated"),
        ("[1, 2", r"is no JSON text"),
        ("[1, 2]", r"the file must be an object with names"),
        ('{"rows": []}', r"tol must be a finite number"),
        ('{"tol": NaN}', r"it holds NaN, which is no number of JSON"),
        ("[" * 100_000, r"is no JSON text"),
        ("9" * 5000, r"is no JSON text"),
        (b"\xff\xfe\x00", r"is no JSON text"),
        ('{"kind": "boostopt benchmark"}\n', r"expected finished runs; .* has none yet"),
        ('{"kind": "boostopt benchmark"}\n{}\n', r"line 2: expected a finished run; it is none"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(written(tmp_path, content))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path, tmp_path / "missing", tmp_path / "a\0b", tmp_path / ("x" * 400)):
        with pytest.raises(DataError, match="cannot be read"):
            load(path)
    monkeypatch.setattr(documents, "LARGEST", 10)
    with pytest.raises(DataError, match="is larger than 10 bytes, the limit"):
        load(written(tmp_path, compared().to_json()))


EDITED_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"lower": 1.0}, "the interval of right has a lower end above the upper one"),
    ({"scaled_gap": 0.5, "gap": 0.5}, "the result of right is 'reached' at 1e-08, and its gap 0.5"),
    ({"scaled_gap": None}, "the result of right is 'reached' at 1e-08, and its gap inf"),
    ({"result": "failed"}, "the result of right is 'failed' at 1e-08"),
    ({"gap": 1e-3}, "the interval of right is .* wide, and its gap 0.001"),
    ({"scaled_gap": 1e-15}, "the scaled gap of right must be .*; it is 1e-15"),
    ({"seconds": 1e-4, "seconds_solve": 0.3}, "the phases of right took 0.3.* s together, and the solve 0.0001 s"),
    ({"result": "splendid"}, "its result is none of reached, failed, not run"),
    ({"verdict": None}, "right was run, and its verdict is missing"),
    ({"verdict": "<b>"}, "verdict must be one of bounded, checked, claimed, none"),
    ({"seconds": None}, "the seconds in which right reached its gap are none that it can take: inf"),
    ({"seconds": 0.0}, "the seconds in which right reached its gap are none that it can take: 0.0"),
    ({"seconds": 1e308}, "the seconds in which right reached its gap are none that it can take"),
    ({"seconds": -1.0}, "its seconds are negative"),
    ({"seconds_solve": "fast"}, "seconds_solve must be a finite number"),
    ({"lower": 10**400}, "its lower is neither a finite number nor null"),
    ({"gap": -1.0}, "gap must not be negative"),
    ({"backend": "loud"}, "a run stands in it twice"),
    ({"backend": ["right"]}, "its backend is no text"),
    ({"solver_status": 3}, "solver_status must be a text"),
    ({"printed": ["x"]}, "printed must be a text"),
    ({"iterations": 1.5}, "iterations must be a count"),
    ({"iterations": 2**70}, "iterations must be a count"),
    ({"infeasible": 1}, "infeasible must be true or false"),
    ({"options": [1]}, "options must be an object with names"),
    ({"path": "x"}, "path must be a list"),
]


@pytest.mark.parametrize("edit, message", EDITED_ROWS)
def test_an_edited_row_is_refused_with_what_is_wrong(tmp_path: Path, edit: dict[str, Any], message: str) -> None:
    said = json.loads(compared().to_json())
    said["rows"][0] |= edit
    with pytest.raises(DataError, match=message):
        load(written(tmp_path, json.dumps(said)))


EDITED_TOPS: list[tuple[dict[str, Any], str]] = [
    ({"tol": 2}, "tol must lie in"),
    ({"rows": {}}, "rows must be a list"),
    ({"rows": []}, "it must have rows, and as many logs; it has 0 and 3"),
    ({"logs": []}, "it must have rows, and as many logs; it has 3 and 0"),
    ({"logs": [[1], [], []]}, "its log is no list of objects"),
    ({"logs": [{}, [], []]}, "its log is no list of objects"),
    ({"logs": [[{"seconds": {"solve": -1}}], [], []]}, "solve must not be negative"),
    ({"about": []}, "about must be an object"),
    ({"about": {"page": 3}}, "page must be a text"),
    ({"about": {"multiplicities": [1]}}, "multiplicities must be the smallest and the largest one"),
    ({"about": {"sources": "x"}}, "sources must be a list"),
    ({"about": {"smallest": "x"}}, "smallest must be a finite number"),
    ({"examples": -1}, "examples must be a count"),
    ({"parameters": []}, "parameters must be an object"),
    ({"parameters": {"nu": 10**400}}, "the parameter nu must be a finite number"),
    ({"parameters": {"nu": {"a": 1}}}, "the parameter nu must be a finite number"),
    ({"machine": None}, "machine must be an object"),
    ({"machine": {"threads": []}}, "threads must be an object"),
    ({"origin": {"skipped": [["a"]]}}, "what was left out must stand in pairs"),
    ({"origin": {"versions": {"numpy": 2}}}, "versions must be a text"),
    ({"boostopt": 1}, "boostopt must be a text"),
    ({"overlap": False}, "overlap of all rows together is True; the file says False"),
    ({"upper": 2.0}, "upper of all rows together is .*; the file says 2.0"),
]


@pytest.mark.parametrize("edit, message", EDITED_TOPS)
def test_an_edited_file_is_refused_with_what_is_wrong(tmp_path: Path, edit: dict[str, Any], message: str) -> None:
    said = json.loads(compared().to_json())
    with pytest.raises(DataError, match=message):
        load(written(tmp_path, json.dumps(said | edit)))


@pytest.mark.parametrize(
    "edit, message",
    [
        ({"programs": {}}, "its runs must be of the programs that it names"),
        ({"runs": []}, "its runs must be of the programs that it names"),
        ({"settings": {"profiles": [0.5]}}, "the gaps of its runs must be its profiles"),
        ({"settings": {"profiles": [1e-3, 1e-6], "repeats": "2"}}, "repeats must be a count"),
        ({"settings": {"profiles": [1e-3, 1e-6], "repeats": 2, "time_limit": -1}}, "time_limit must not be negative"),
    ],
)
def test_an_edited_benchmark_is_refused_with_what_is_wrong(tmp_path: Path, edit: dict[str, Any], message: str) -> None:
    said = json.loads(measured().to_json())
    with pytest.raises(DataError, match=message):
        load(written(tmp_path, json.dumps(said | edit)))


HOSTILE: list[Any] = [
    None,
    True,
    -1,
    0,
    1e308,
    -1e308,
    5e-324,
    10**30,
    10**400,
    "",
    "<script>",
    "\ud800",
    "\x00",
    [],
    {},
    [[]],
]


@pytest.mark.thorough
@pytest.mark.parametrize("result", [compared, measured], ids=["comparison", "benchmark"])
def test_whatever_is_put_anywhere_is_taken_or_refused_with_the_reason(tmp_path: Path, result: Any) -> None:
    said = json.loads(result().to_json())
    where, rng = list(places(said)), random.Random(0)
    refused = 0
    for _ in range(1000):
        place = rng.choice(where)
        changed = edited(said, place, REMOVED if rng.random() < 0.2 else rng.choice(HOSTILE))
        try:
            read = load(written(tmp_path, json.dumps(changed)))
        except DataError as failure:
            refused += 1
            assert "Write it anew" in str(failure)
        else:
            assert all(run.interval[0] <= run.interval[1] for run in read.benchmark.runs if run.ran)
    assert 100 < refused < 1000


def test_anything_else_is_no_document() -> None:
    with pytest.raises(OptionError, match="expected what compare or benchmark returns; got int"):
        document(3)


# Files that an earlier version of the code wrote, with results of all kinds

SAVED = Path(__file__).parents[1] / "saved" / "0.1"


ADDED = {"claims", "failure", "claimed_gap", "peak_memory", "profile", "threads"}
"""What every row holds now, and rows of before did not."""


def as_before(record: dict[str, Any]) -> dict[str, Any]:
    """A row without what those of before did not hold."""
    assert record.keys() >= ADDED
    return {name: value for name, value in record.items() if name not in ADDED}


def test_a_comparison_of_before_is_read_whole() -> None:
    saved = json.loads((SAVED / "comparison_of_all_kinds.json").read_text())
    rows = load(SAVED / "comparison_of_all_kinds.json").benchmark.runs
    assert [row.result for row in rows] == ["reached", "not run", "failed", "failed", "reached"]
    assert [as_before(plain(row.record())) for row in rows] == saved["rows"]
    assert [row.attempts_logged() for row in rows] == saved["logs"]


def test_a_benchmark_of_before_is_read_whole_and_written_as_it_was() -> None:
    saved = json.loads((SAVED / "benchmark_of_all_kinds.json").read_text())
    written = json.loads(load(SAVED / "benchmark_of_all_kinds.json").benchmark.to_json())
    failures = written.pop("failures")  # which it had not
    for run in written["runs"]:
        run["record"] = as_before(run["record"])
    assert written == saved
    assert sum(one["count"] for one in failures) == sum(run["result"] == "failed" for run in saved["runs"])
    assert {run["result"] for run in saved["runs"]} == {"reached", "failed", "not run"}
    assert any(run["record"]["infeasible"] for run in saved["runs"])


def test_a_file_of_resume_of_before_is_read_whole_and_gone_on_with(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (SAVED / "ledger_of_all_kinds.jsonl").read_text().splitlines()]
    read = load(SAVED / "ledger_of_all_kinds.jsonl").benchmark
    documents = [plain(run.document()) for run in read.runs]
    again = [{"boostopt": read.boostopt, **one, "record": as_before(one["record"])} for one in documents]
    assert again == lines[1:]
    about = {name: lines[0][name] for name in ("programs", "time_limit", "isolate", "machine")}
    path = tmp_path / "runs.jsonl"
    shutil.copy(SAVED / "ledger_of_all_kinds.jsonl", path)
    assert list(Ledger(path, about, read.boostopt).finished.values()) == list(read.runs)
    assert path.read_bytes() == (SAVED / "ledger_of_all_kinds.jsonl").read_bytes()
