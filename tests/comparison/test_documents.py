"""Files of comparisons and benchmarks: read back as they were, and refused with the reason where they are edited."""

from __future__ import annotations

import functools
import json
import random
import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.document_edits import REMOVED, edited, places
from support.problems import Fake, attempt, reference_erlpboost, reference_lpboost, right, rough

from boostopt import Benchmark, Comparison, DataError, ProblemError, benchmark, compare
from boostopt._utils.json_values import plain
from boostopt.comparison import documents
from boostopt.comparison.documents import load_results
from boostopt.comparison.provenance import Provenance
from boostopt.comparison.results_log import ResultsLog

ORIGIN = Provenance.of_this_process("boostopt compare", "2026-01-02", "data.csv", (("broken.csv", "It is empty."),))


@functools.cache
def compared() -> Comparison:
    unable = Fake("unable", reason="no cones")
    loud = Fake("loud", (attempt(w=[1, 0, 0], options={"a": [1, {"b": float("inf")}]}, iterations=3),))
    return compare(reference_lpboost(), [right(), unable, loud], origin=ORIGIN)


@functools.cache
def measured() -> Benchmark:
    programs = {"linear": reference_lpboost(), "entropy": reference_erlpboost()}
    return benchmark(programs, [rough(), "cvxpy:highs"], [1e-3, 1e-6], repeats=2, time_limit=9.0, origin=ORIGIN)


def create_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_comparison_is_read_as_it_was(tmp_path: Path) -> None:
    read = load_results(create_file(tmp_path, compared().to_json()))
    assert isinstance(read, Comparison) and read == compared() and read.file == str(tmp_path / "file.json")
    assert read.provenance == ORIGIN and (read.tol, read.interval) == (compared().tol, compared().interval)
    assert [row.result for row in read.rows] == ["reached", "not run", "failed"]
    assert json.loads(read.to_json()) == json.loads(compared().to_json())
    assert (str(read), read.to_markdown(), read.to_csv()) == (
        str(compared()),
        compared().to_markdown(),
        compared().to_csv(),
    )
    assert compared().program.headline == reference_lpboost().headline
    with pytest.raises(ProblemError, match=r"\bfile\.json\b.*\bmargin matrix\b"):
        _ = read.program


def test_a_comparison_from_python_has_the_script_and_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    start = datetime.now(UTC).replace(microsecond=0)
    monkeypatch.setattr(sys, "argv", ["own study.py", "3"])
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "own study.py", raising=False)
    from_script = compare(reference_lpboost(), right()).provenance
    assert from_script.command == "python 'own study.py' 3"
    assert start <= datetime.fromisoformat(from_script.date) <= datetime.now(UTC)
    monkeypatch.delattr(sys.modules["__main__"], "__file__")
    in_notebook = benchmark({"linear": reference_lpboost()}, right(), [1e-3], repeats=1).provenance
    assert in_notebook.command == "" and datetime.fromisoformat(in_notebook.date) >= start


def test_a_benchmark_is_read_as_it_was(tmp_path: Path) -> None:
    read = load_results(create_file(tmp_path, measured().to_json()))
    assert isinstance(read, Benchmark) and read == measured()
    assert repr(read.scores) == repr(measured().scores)  # nan is not equal to itself


def test_the_file_of_finished_runs_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    results = benchmark(reference_lpboost(), [right(), rough()], [1e-3, 1e-6], repeats=2, resume=path, origin=ORIGIN)
    content = path.read_bytes() + b'{"a line that is being wri'
    path.write_bytes(content)
    read = load_results(path)
    assert path.read_bytes() == content
    by_name = {(run.backend, run.tol, run.repeat): run for run in read.runs}
    assert by_name == {(run.backend, run.tol, run.repeat): run for run in results.runs}
    assert read.programs == results.programs and read.provenance == ORIGIN
    assert read.settings == results.settings and read.boostopt == results.boostopt


def test_of_runs_that_stand_twice_the_later_counts(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, resume=path)
    newer = json.loads(path.read_text().splitlines()[-1]) | {"boostopt": "9.9", "version": "2"}
    path.write_text(path.read_text() + json.dumps(newer) + "\n")
    (run,) = load_results(path).runs
    assert run.version == "2" and load_results(path).boostopt == "9.9"


def test_files_of_before_have_less_and_are_read(tmp_path: Path) -> None:
    document = json.loads(compared().to_json())
    for name in ("about", "origin", "logs"):
        del document[name]
    read = load_results(create_file(tmp_path, json.dumps(document)))
    assert list(read.programs) == ["lpboost"] and read.provenance == Provenance()
    path = tmp_path / "runs.jsonl"
    benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, resume=path)
    head, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    old = [{name: value for name, value in head.items() if name not in ("described", "origin")}, *lines]
    for line in old[1:]:
        del line["log"]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in old))
    assert [run.result for run in load_results(path).runs] == ["reached"]


@pytest.mark.parametrize(
    "content, fact",
    [
        ("", r"\bJSON\b.*\btruncated\b"),
        ("[1, 2", r"\bJSON text\b"),
        ("[1, 2]", r"\bobject\b"),
        ('{"rows": []}', r"\btol\b.*\bfinite\b"),
        ('{"tol": NaN}', r"\bNaN\b"),
        ("[" * 100_000, r"\bJSON text\b"),
        ("9" * 5000, r"\bJSON text\b"),
        (b"\xff\xfe\x00", r"\bJSON text\b"),
        ('{"kind": "boostopt benchmark"}\n', r"\bruns\b.*\bnone\b"),
        ('{"kind": "boostopt benchmark"}\n{}\n', r"\bline 2\b"),
    ],
    ids=("empty", "cut", "list", "no rows", "nan", "deep", "long", "bytes", "no runs", "no run"),
)
def test_load_results_refuses_other_files(tmp_path: Path, content: str | bytes, fact: str) -> None:
    with pytest.raises(DataError, match=fact):
        load_results(create_file(tmp_path, content))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, why in (
        (tmp_path, "regular file"),
        (tmp_path / "missing", "No such file"),
        (tmp_path / "a\0b", "null byte"),
        (tmp_path / ("x" * 400), "too long"),
    ):
        with pytest.raises(DataError, match=rf"^{re.escape(str(path))} .*\bread\b.*\b{why}\b"):
            load_results(path)
    monkeypatch.setattr(documents, "MAX_FILE_BYTES", 10)
    with pytest.raises(DataError, match=r"\blarger\b.*\b10 bytes\b"):
        load_results(create_file(tmp_path, compared().to_json()))


AT_ONCE = {f"seconds_{phase}": 0.0 for phase in ("build", "canonicalize", "solve", "recover", "certify")}
"""No seconds in any phase, however slow the machine is."""

EDITED_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"lower": 1.0}, r"\binterval\b.*\bright\b.*\blower\b.*\b1\.0\b"),
    ({"scaled_gap": 0.5, "gap": 0.5}, r"\bresult\b.*\bright\b.*'reached'.*\b1e-08\b.*\bgap 0\.5\b"),
    ({"scaled_gap": None}, r"\bresult\b.*\bright\b.*'reached'.*\b1e-08\b.*\bgap inf\b"),
    ({"result": "failed"}, r"\bresult\b.*\bright\b.*'failed'.*\b1e-08\b"),
    ({"gap": 1e-3}, r"\binterval\b.*\bright\b.*\bgap 0\.001\b"),
    ({"scaled_gap": 1e-15}, r"\bscaled gap\b.*\bright\b.*\b1e-15\b"),
    ({"seconds": 1e-4, **AT_ONCE, "seconds_solve": 0.3}, r"\bphases\b.*\bright\b.*\b0\.3 s\b.*\b0\.0001 s\b"),
    ({"result": "splendid"}, r"\bresult\b.*\breached, failed, not run\b"),
    ({"verdict": None}, r"\bright\b.*\bverdict\b"),
    ({"verdict": "<b>"}, r"\bverdict\b.*\bbounded, checked, claimed, none\b"),
    ({"seconds": None}, r"\bseconds\b.*\bright\b.*\binf\b"),
    ({"seconds": 0.0, **AT_ONCE}, r"\bseconds\b.*\bright\b.*\b0\.0\b"),
    ({"seconds": 1e308}, r"\bseconds\b.*\bright\b.*\b1e\+308\b"),
    ({"seconds": -1.0}, r"\bseconds\b.*\bnegative\b"),
    ({"seconds_solve": "fast"}, r"\bseconds_solve\b.*\bfinite\b"),
    ({"lower": 10**400}, r"\blower\b.*\bfinite\b.*\bnull\b"),
    ({"gap": -1.0}, r"\bgap\b.*\bnegative\b"),
    ({"backend": "loud"}, r"\brun\b.*\btwice\b"),
    ({"backend": ["right"]}, r"\bbackend\b.*\btext\b"),
    ({"solver_status": 3}, r"\bsolver_status\b.*\btext\b"),
    ({"printed": ["x"]}, r"\bprinted\b.*\btext\b"),
    ({"iterations": 1.5}, r"\biterations\b.*\bcount\b"),
    ({"iterations": 2**70}, r"\biterations\b.*\bcount\b"),
    ({"infeasible": 1}, r"\binfeasible\b.*\btrue\b.*\bfalse\b"),
    ({"options": [1]}, r"\boptions\b.*\bobject\b"),
    ({"path": "x"}, r"\bpath\b.*\blist\b"),
]
"""Values put into a row, and the name and the fact in the refusal."""


@pytest.mark.parametrize("edit, fact", EDITED_ROWS, ids=[repr(edit)[:40] for edit, _ in EDITED_ROWS])
def test_an_edited_row_is_refused_with_what_is_wrong(tmp_path: Path, edit: dict[str, Any], fact: str) -> None:
    document = json.loads(compared().to_json())
    document["rows"][0] |= edit
    with pytest.raises(DataError, match=fact):
        load_results(create_file(tmp_path, json.dumps(document)))


EDITED_TOPS: list[tuple[dict[str, Any], str]] = [
    ({"tol": 2}, r"\btol\b.*\(0, 1\)"),
    ({"rows": {}}, r"\brows\b.*\blist\b"),
    ({"rows": []}, r"\brows\b.*\blogs\b.*\b0\b.*\b3\b"),
    ({"logs": []}, r"\brows\b.*\blogs\b.*\b3\b.*\b0\b"),
    ({"logs": [[1], [], []]}, r"\blog\b.*\blist\b"),
    ({"logs": [{}, [], []]}, r"\blog\b.*\blist\b"),
    ({"logs": [[{"seconds": {"solve": -1}}], [], []]}, r"\bsolve\b.*\bnegative\b"),
    ({"about": []}, r"\babout\b.*\bobject\b"),
    ({"about": {"page": 3}}, r"\bpage\b.*\btext\b"),
    ({"about": {"multiplicities": [1]}}, r"\bmultiplicities\b.*\bsmallest\b.*\blargest\b"),
    ({"about": {"sources": "x"}}, r"\bsources\b.*\blist\b"),
    ({"about": {"smallest": "x"}}, r"\bsmallest\b.*\bfinite\b"),
    ({"examples": -1}, r"\bexamples\b.*\bcount\b"),
    ({"parameters": []}, r"\bparameters\b.*\bobject\b"),
    ({"parameters": {"nu": 10**400}}, r"\bparameter nu\b.*\bfinite\b"),
    ({"parameters": {"nu": {"a": 1}}}, r"\bparameter nu\b.*\bfinite\b"),
    ({"machine": None}, r"\bmachine\b.*\bobject\b"),
    ({"machine": {"threads": []}}, r"\bthreads\b.*\bobject\b"),
    ({"origin": {"skipped": [["a"]]}}, r"\bpairs\b"),
    ({"origin": {"versions": {"numpy": 2}}}, r"\bversions\b.*\btext\b"),
    ({"boostopt": 1}, r"\bboostopt\b.*\btext\b"),
    ({"overlap": False}, r"\boverlap\b.*\bTrue\b.*\bFalse\b"),
    ({"upper": 2.0}, r"\bupper\b.*\b2\.0\b"),
]
"""Values put at the top of a file, and the name and the fact in the refusal."""


@pytest.mark.parametrize("edit, fact", EDITED_TOPS, ids=[repr(edit)[:40] for edit, _ in EDITED_TOPS])
def test_an_edited_file_is_refused_with_what_is_wrong(tmp_path: Path, edit: dict[str, Any], fact: str) -> None:
    document = json.loads(compared().to_json())
    with pytest.raises(DataError, match=fact):
        load_results(create_file(tmp_path, json.dumps(document | edit)))


@pytest.mark.parametrize(
    "edit, fact",
    [
        ({"programs": {}}, r"\bruns\b.*\bprograms\b"),
        ({"runs": []}, r"\bruns\b.*\bprograms\b"),
        ({"settings": {"profiles": [0.5]}}, r"\bgaps\b.*\bruns\b.*\bprofiles\b"),
        ({"settings": {"profiles": [1e-3, 1e-6], "repeats": "2"}}, r"\brepeats\b.*\bcount\b"),
        ({"settings": {"profiles": [1e-3, 1e-6], "repeats": 2, "time_limit": -1}}, r"\btime_limit\b.*\bnegative\b"),
    ],
    ids=("programs", "runs", "profiles", "repeats", "time limit"),
)
def test_an_edited_benchmark_is_refused_with_what_is_wrong(tmp_path: Path, edit: dict[str, Any], fact: str) -> None:
    document = json.loads(measured().to_json())
    with pytest.raises(DataError, match=fact):
        load_results(create_file(tmp_path, json.dumps(document | edit)))


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
def test_load_results_accepts_or_refuses_a_hostile_value_at_any_place(tmp_path: Path, result: Any) -> None:
    document = json.loads(result().to_json())
    all_places, rng = list(places(document)), random.Random(0)
    refused = 0
    for _ in range(1000):
        place = rng.choice(all_places)
        changed = edited(document, place, REMOVED if rng.random() < 0.2 else rng.choice(HOSTILE))
        try:
            read = load_results(create_file(tmp_path, json.dumps(changed)))
        except DataError as failure:
            refused += 1
            assert re.search(r"\bfile\.json\b.*\banew\.$", str(failure), re.DOTALL)
        else:
            assert all(run.interval[0] <= run.interval[1] for run in read.runs if run.ran)
    assert 100 < refused < 1000


# Files that an earlier version of the code wrote, with results of all kinds

SAVED = Path(__file__).parents[1] / "saved" / "0.1"


ADDED = {"claims", "failure", "claimed_gap", "peak_memory", "profile", "threads"}
"""Fields that every row has now, and that earlier rows did not have."""


def as_before(record: dict[str, Any]) -> dict[str, Any]:
    """Return a row without the fields that older rows do not have."""
    assert record.keys() >= ADDED
    return {name: value for name, value in record.items() if name not in ADDED}


def test_a_comparison_of_before_is_read_whole() -> None:
    saved = json.loads((SAVED / "comparison_of_all_kinds.json").read_text())
    rows = load_results(SAVED / "comparison_of_all_kinds.json").runs
    assert [row.result for row in rows] == ["reached", "not run", "failed", "failed", "reached"]
    assert [as_before(plain(row.record())) for row in rows] == saved["rows"]
    assert [row.attempts_to_json() for row in rows] == saved["logs"]


def test_a_benchmark_of_before_is_read_whole_and_written_as_it_was() -> None:
    saved = json.loads((SAVED / "benchmark_of_all_kinds.json").read_text())
    content = json.loads(load_results(SAVED / "benchmark_of_all_kinds.json").to_json())
    failures = content.pop("failures")  # which it had not
    for run in content["runs"]:
        run["record"] = as_before(run["record"])
    assert content == saved
    assert sum(one["count"] for one in failures) == sum(run["result"] == "failed" for run in saved["runs"])
    assert {run["result"] for run in saved["runs"]} == {"reached", "failed", "not run"}
    assert any(run["record"]["infeasible"] for run in saved["runs"])


def test_a_file_of_resume_of_before_is_read_whole_and_gone_on_with(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (SAVED / "ledger_of_all_kinds.jsonl").read_text().splitlines()]
    read = load_results(SAVED / "ledger_of_all_kinds.jsonl")
    documents = [plain(run.to_file_entry()) for run in read.runs]
    again = [{"boostopt": read.boostopt, **one, "record": as_before(one["record"])} for one in documents]
    assert again == lines[1:]
    about = {name: lines[0][name] for name in ("programs", "time_limit", "isolate", "machine")}
    path = tmp_path / "runs.jsonl"
    shutil.copy(SAVED / "ledger_of_all_kinds.jsonl", path)
    assert list(ResultsLog(path, about, read.boostopt).finished_records.values()) == list(read.runs)
    assert path.read_bytes() == (SAVED / "ledger_of_all_kinds.jsonl").read_bytes()


def test_halves_of_characters_which_no_table_can_print_are_refused(tmp_path: Path) -> None:
    document = json.loads(compared().to_json())
    document["formulation"] = "\ud800"
    with pytest.raises(DataError, match=r"file\.json\b.*\bformulation must be a text; got '\\ud800'"):
        load_results(create_file(tmp_path, json.dumps(document)))
