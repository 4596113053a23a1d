"""Programs that others have made: steps that are resumed, verdicts of published optima, claims that are refuted."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks import exact_optima
from benchmarks import program_file_page as page
from benchmarks import program_files as files
from benchmarks.evidence.experiment import Results
from benchmarks.evidence.store import Journal, load
from benchmarks.program_file_steps import SOLVERS, SOURCES, Result, StepProcess, Steps, next_step

DOCS = Path(__file__).parents[1] / "docs"

needs_instances = pytest.mark.skipif(
    not files.INSTANCES.exists(), reason="the collections are not beside the repository: ../shared/instances"
)

BOUNDED = """NAME small
ROWS
 N cost
 G need
COLUMNS
 x cost 1 need 3
 y cost 1 need 1
RHS
 rhs need 1
ENDATA
"""

INFEASIBLE = BOUNDED.replace("ENDATA", "BOUNDS\n UP bnd x 0.25\n UP bnd y 0.125\nENDATA")


@cache
def kept_results() -> Results:
    """Return the kept results, which are 4 MB, read once."""
    return load(DOCS, files.NAME)


READ: Result = {"rows": 1, "columns": 2, "nonzeros": 2, "cones": [], "is_linear": True, "is_maximized": False}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a collection of two programs: with the optimum 1/3, and infeasible."""
    for name, text in (("bounded", BOUNDED), ("infeasible", INFEASIBLE)):
        path = tmp_path / "instances" / "netlib" / f"{name}.mps"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "instances"


def claim(status: str, value: float | None = None) -> Result:
    return {"takes": True, "seconds": 1.0, "status": status, "value": value}


def certificate(lower: float, upper: float, status: str = "bounded") -> Result:
    gap = page.Truth(status, lower, upper, False, "").gap
    return {
        "seconds": 1.0,
        "status": status,
        "lower": str(lower),
        "upper": str(upper),
        "gap": gap if math.isfinite(gap) else None,
        "reason": "",
    }


def exact(status: str, fraction: str | None = None) -> Result:
    value = None if fraction is None else str(float(Fraction(fraction)))
    return {"seconds": 1.0, "status": status, "is_proved": True, "fraction": fraction, "value": value}


def done(**steps: Result) -> dict[str, Result]:
    """Return results of steps; CLARABEL=..., certificate=..., decimal=..., binary=..."""
    solves = {f"solve {solver}": steps.get(solver, claim("optimal", 1.0)) for solver in SOLVERS}
    exacts = {f"exact {numbers}": steps[numbers] for numbers in ("decimal", "binary") if numbers in steps}
    certificates = {"certify CLARABEL": steps["certificate"]} if "certificate" in steps else {}
    cones = [] if exacts else ["second_order"]
    return {"load": {**READ, "is_linear": bool(exacts), "cones": cones}, **solves, **certificates, **exacts}


def test_the_steps_of_a_file_follow_from_the_earlier_ones() -> None:
    results = dict[str, Result]()
    steps = list[str]()
    answers = {"load": READ, "solve": claim("optimal", 1.0), "certify": certificate(0, 1), "exact": exact("optimal")}
    while (step := next_step(results)) is not None:
        steps.append(step)
        results[step] = answers[step.split()[0]]
    solves = [f"solve {solver}" for solver in SOLVERS]
    certificates = ["certify program", "certify CLARABEL", "certify HIGHS"]
    assert steps == ["load", *solves, *certificates, "exact decimal", "exact binary"]
    assert next_step({"load": {"failure": "DataError: no such file"}}) is None
    for sufficient in (certificate(0.0, 1e-7), certificate(math.inf, math.inf, "infeasible"), {"exceeded": 1.0}):
        assert next_step(done(certificate=sufficient)) is None
    failed = {"certify program": {"failure": "ProblemError: no rule"}}
    assert next_step(done(certificate=certificate(0, 1))) == "certify program"
    assert next_step({**done(), **failed}) == "certify CLARABEL"
    assert next_step({**done(CLARABEL=claim("unbounded")), **failed}) == "certify HIGHS"
    assert next_step({**done(CLARABEL={"exceeded": 1.0}, HIGHS={"takes": False}), **failed}) == "certify SCS"
    assert next_step({**done(CLARABEL={"exceeded": 1.0}), **failed}, ["exact"]) is None


def test_each_step_states_what_it_did(folder: Path) -> None:
    steps = Steps(folder / "netlib" / "bounded.mps")
    assert steps.do("load").items() >= {"rows": 1, "columns": 2, "is_linear": True, "is_maximized": False}.items()
    for solver in SOLVERS:
        result = steps.do(f"solve {solver}")
        assert result["status"] == "optimal" and result["value"] == pytest.approx(1 / 3, abs=1e-4)
    for source in SOURCES:
        proof = steps.do(f"certify {source}")
        assert proof["status"] == "bounded" and float(proof["lower"]) <= 1 / 3 <= float(proof["upper"])
        assert proof["gap"] <= 1e-3
        assert (source == "program") is ("solver_seconds" in proof)
        assert 0 < proof.get("solver_seconds", proof["seconds"]) <= proof["seconds"]
    optimum = steps.do("exact decimal")
    assert optimum["fraction"] == "1/3" and optimum["value"] == "0." + 30 * "3" and optimum["is_proved"]
    assert Steps(folder / "netlib" / "absent.mps").do("load")["failure"].startswith("DataError: ")


def without_measurements(results: Results) -> list[Any]:
    measured = ("seconds", "solver_seconds", "memory")
    return [
        (parameters, {name: value for name, value in result.items() if name not in measured})
        for parameters, result in results
    ]


@pytest.mark.thorough
def test_a_killed_run_continues_with_the_step_under_way(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--folder", str(folder), "--collections", "netlib"]

    def run(name: str) -> Results:
        folders = ["--store", str(tmp_path / name), "--journal", str(tmp_path / name / "journal")]
        assert files.main([*arguments, *folders]) == 0
        return load(tmp_path / name, files.NAME)

    whole = run("whole")
    assert {parameters["file"] for parameters, _ in whole} == {"netlib/bounded.mps", "netlib/infeasible.mps"}
    lines = whole.lines
    journal = Journal(tmp_path / "resumed" / "journal", files.NAME)
    for line in lines[:5]:
        journal.write(line)
    with (tmp_path / "resumed" / "journal" / f"{files.NAME}.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"parameters": {"file"')  # the step under way
    resumed = run("resumed")
    assert without_measurements(resumed) == without_measurements(whole)
    assert resumed.lines[:5] == lines[:5]
    assert not list((tmp_path / "resumed" / "journal").iterdir())
    monkeypatch.setattr(StepProcess, "do", None)  # nothing is begun where nothing is left
    assert run("whole").lines == lines


@pytest.mark.thorough
def test_steps_that_exceed_their_time_are_kept_as_such(folder: Path) -> None:
    process = StepProcess(folder / "netlib" / "bounded.mps", files.MAX_MEMORY)
    try:
        assert process.do("solve CLARABEL", -1.0) == {"exceeded": -1.0}
        assert process.do("load", 60.0)["columns"] == 2  # in a new process
    finally:
        process.end()


@pytest.mark.thorough
def test_certificates_are_done_anew_if_this_is_asked(folder: Path, tmp_path: Path) -> None:
    store, journal = tmp_path / "store", tmp_path / "journal"
    names = ["--store", str(store), "--journal", str(journal), "--folder", str(folder), "--collections", "netlib"]
    assert files.main([*names, "--only", "load", "solve"]) == 0
    first_results = load(store, files.NAME)
    assert {parameters["step"].split()[0] for parameters, _ in first_results} == {"load", "solve"}
    assert files.main([*names, "--again", "certify", "--only", "certify"]) == 0
    after = load(store, files.NAME)
    assert len(after.select(step="certify program")) == 2
    assert after.select(step="solve SCS") == first_results.select(step="solve SCS")


def test_a_longer_limit_repeats_what_exceeded_a_shorter_one() -> None:
    line = {"parameters": {"file": "netlib/afiro.mat", "step": "certify SCS"}, "result": {"exceeded": 20.0}}
    assert files.is_due_again(line, {"certify": 30.0})
    assert not files.is_due_again(line, {"certify": 20.0})
    assert not files.is_due_again({**line, "result": certificate(0.0, 1.0)}, {"certify": 30.0})


def test_where_the_folder_is_absent_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert files.main(["--folder", str(tmp_path / "absent"), "--store", str(tmp_path)]) == 2
    assert re.search(r"\babsent\b.*--folder\b", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("proof", "expected"),
    [
        (certificate(-464.753142861, -464.753142856), "sharpened"),
        (certificate(-464.76, -464.75), "confirmed"),
        (certificate(-465.9, -464.0), "not decided"),
        (certificate(-464.7531428, math.inf, "open"), "**contradicted**"),
        (certificate(-math.inf, math.inf, "open"), "not decided"),
        (certificate(math.inf, math.inf, "infeasible"), "**contradicted**"),
    ],
)
def test_published_optima_are_judged_by_their_printed_digits(proof: Result, expected: str) -> None:
    """Netlib prints -4.6475314286E+02 for afiro: one unit of the last digit is 1e-8."""
    assert page.verdict("netlib/afiro.mat", page.truths(done(certificate=proof))) == expected


def test_exact_optima_of_the_decimal_numbers_decide() -> None:
    proofs = page.truths(done(decimal=exact("optimal", "-464753142857/1000000000"), binary=exact("infeasible")))
    assert page.verdict("netlib/afiro.mat", proofs) == "sharpened"
    assert page.verdict("netlib/nug05.mat", proofs) == "none published"
    assert page.verdict("netlib_infeasible/lpi_box1.mat", proofs) == "**contradicted**"
    assert page.verdict("netlib_infeasible/lpi_box1.mat", page.truths(done(binary=exact("infeasible")))) == "confirmed"
    assert page.printed_interval("-4.6475314286E+02") == (Fraction(-46475314287, 10**8), Fraction(-46475314285, 10**8))
    assert page.published_optimum("sdplib/control1.dat-s") == "1.778463e+01"
    assert page.published_optimum("cblib_socp/nql30.cbf.gz") == "-0.9460"


@pytest.mark.parametrize(
    ("answer", "proof", "refuted"),
    [
        (claim("optimal", 1.0), certificate(0.9, 1.0), False),
        (claim("optimal", 1.00009), certificate(0.9, 1.0), False),
        (claim("optimal", 1.0003), certificate(0.9, 1.0), True),
        (claim("optimal_inaccurate", 0.8), certificate(0.9, 1.0), True),
        (claim("optimal", 5.0), certificate(-math.inf, math.inf, "open"), False),
        (claim("optimal", 5.0), certificate(math.inf, math.inf, "infeasible"), True),
        (claim("infeasible"), certificate(0.9, 1.0), True),
        (claim("infeasible"), certificate(-math.inf, 1.0, "open"), True),
        (claim("infeasible"), certificate(0.9, math.inf, "open"), False),
        (claim("infeasible"), certificate(math.inf, math.inf, "infeasible"), False),
        (claim("unbounded"), certificate(0.9, math.inf, "open"), True),
        (claim("unbounded"), certificate(-math.inf, 1.0, "open"), False),
        (claim("infeasible_or_unbounded"), certificate(0.9, 1.0), True),
        (claim("user_limit"), certificate(0.9, 1.0), False),
    ],
)
def test_claims_are_refuted_by_proofs(answer: Result, proof: Result, refuted: bool) -> None:
    assert page.is_refuted(answer, page.truths(done(certificate=proof))) is refuted


def test_a_claim_that_is_right_for_one_reading_is_not_refuted() -> None:
    proofs = page.truths(done(decimal=exact("optimal", "1"), binary=exact("infeasible")))
    assert not page.is_refuted(claim("optimal", 1.0), proofs) and not page.is_refuted(claim("infeasible"), proofs)
    assert page.is_refuted(claim("optimal", 2.0), proofs)
    open_certificate = certificate(-math.inf, math.inf, "open")
    both = page.truths(done(decimal=exact("optimal", "1"), binary=exact("optimal", "1"), certificate=open_certificate))
    assert page.is_refuted(claim("optimal", 2.0), both)
    assert not page.is_refuted(claim("optimal", 2.0), [])


def test_the_tables_show_refuted_claims_and_contradicted_optima() -> None:
    steps = done(SCS=claim("optimal", -460.0), certificate=certificate(-464.0, -463.9), OSQP={"exceeded": 30.0})
    lines = [{"parameters": {"file": "netlib/afiro.mat", "step": step}, "result": r} for step, r in steps.items()]
    text = page.tables(Results({**line, "version": "1", "processor": "p"} for line in lines))
    assert "| netlib/afiro.mat | SCS | optimal -460 | [-464, -463.9] |" in text
    assert "| netlib/afiro.mat | -4.6475314286E+02 | [-464, -463.9], by a certificate | 1.6e-03 |" in text
    assert "| **optimal** | **optimal** | **optimal** | over 30 s | [-464, -463.9] | 3 |" in text


def test_the_seconds_of_a_proof_are_those_of_its_certificate_without_its_solves() -> None:
    timed = {**certificate(0.0, 1.0), "seconds": 3.0, "solver_seconds": 1.0}
    steps = {"first": done(certificate=timed), "second": done(certificate=certificate(0.0, 1.0))}
    assert [page.seconds_ratio(step) for step in steps.values()] == [3.0, 1.0]
    assert [page.proof_ratio(step) for step in steps.values()] == [2.0, None]
    assert page.proof_ratio(done()) is None and page.proof_ratio(done(certificate={"exceeded": 1.0})) is None
    late = done(certificate=timed, CLARABEL={"exceeded": 4.0})
    assert (page.seconds_ratio(late), page.proof_ratio(late)) == (0.75, 0.5)  # at most
    failed = done(certificate=timed, CLARABEL={"failure": "memory"})
    assert page.seconds_ratio(failed) is None and page.proof_ratio(failed) is None
    lines = [
        {"parameters": {"file": f"netlib/{name}.mat", "step": step}, "result": r, "version": "1", "processor": "p"}
        for name, results in steps.items()
        for step, r in results.items()
    ]
    text = page.tables(Results(lines))
    assert "| 2 (of 2) | 2 (of 1) |" in text
    assert "| netlib/first.mat | 3 | 2 | 1 | 3 |" in text and "| netlib/second.mat | 1 |  | 1 | 1 |" in text


@needs_instances
def test_every_file_has_kept_results() -> None:
    stored_files = {parameters["file"] for parameters, _ in kept_results() if parameters["step"] == "load"}
    assert {*files.list_files(files.INSTANCES)} <= stored_files


def test_no_kept_certificate_contradicts_an_exact_optimum() -> None:
    """A certificate is about the floats, and so is the exact optimum of the binary numbers."""
    results = kept_results()
    names = {parameters["file"] for parameters, _ in results}
    compared = 0
    for name in sorted(names):
        steps = files.steps_of(results, name)
        proof, certified = steps.get("exact binary", {}), page.joint_certificate(steps)
        if certified is None or not proof.get("is_proved"):
            continue
        compared += 1
        if proof["status"] == "optimal":
            value = Fraction(proof["fraction"] or proof["value"])
            tolerance = abs(value) / 10**25  # of the digits that are kept
            assert certified.lower - tolerance <= value <= certified.upper + tolerance, name
        else:
            assert certified.status in ("open", proof["status"]), name
    assert compared >= 50


def test_the_page_is_that_of_the_kept_results() -> None:
    text = (DOCS / f"{files.NAME}.md").read_text(encoding="utf-8")
    tables = text.partition(page.BEGIN)[2].partition(page.END)[0]
    assert tables.strip() == page.tables(kept_results()).strip()


def test_the_page_is_written_from_the_kept_results_alone(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"# Page\n\n{page.BEGIN}\n{page.END}\n", encoding="utf-8")
    assert files.main(["--pages-only", "--page", str(path), "--folder", str(tmp_path / "absent")]) == 0
    assert page.tables(kept_results()) in path.read_text(encoding="utf-8")


@needs_instances
def test_a_claim_is_shown_beside_its_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["--store", str(tmp_path), "--show"]
    assert files.main([*names, "maros_meszaros/QPTEST.mat", "CLARABEL"]) == 0
    output = capsys.readouterr().out
    assert "CLARABEL claims optimal 4.37187" in output and "published: 4.3718750e+00" in output
    assert "the claim is not refuted" in output
    assert files.main([*names, "maros_meszaros/ABSENT.mat", "CLARABEL"]) == 2


def test_published_optima_are_numbers_as_printed() -> None:
    published = json.loads((Path(page.__file__).parent / "published_optima.json").read_text(encoding="utf-8"))
    assert {name: len(entry["optima"]) for name, entry in published.items()} == {
        "netlib": 60,
        "maros_meszaros": 74,
        "sdplib": 38,
        "cblib_socp": 3,
        "netlib_infeasible": 0,
    }
    assert all(math.isfinite(float(text)) for entry in published.values() for text in entry["optima"].values())
    assert all(entry["source"] for entry in published.values())


def test_the_page_lists_exact_optima_beside_solves_as_they_were_measured() -> None:
    results = load(DOCS, exact_optima.NAME)
    text = (DOCS / f"{files.NAME}.md").read_text(encoding="utf-8")
    begin, end = (text.index(marker) for marker in (exact_optima.BEGIN, exact_optima.END))
    assert exact_optima.table(results) == text[begin + len(exact_optima.BEGIN) : end].strip()
    for _, result in results:
        statuses = {result[numbers]["status"] for numbers in exact_optima.MEANINGS}
        assert statuses <= {"optimal", "infeasible"} and result["n_solves"] == exact_optima.N_SOLVES
