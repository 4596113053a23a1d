"""A set in a folder: read back by others it is the same programs, and the index tells the truth about all of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typechecker
from slow_readers import by_name, opened, read_cbf, solve_cbf, solve_mps, solve_read, weights
from test_programs_exported import random_program
from typer.testing import CliRunner

import boostopt.cli
import boostopt.cli.commands.export
from boostopt import BoostoptError, DataError, OptionError, Program, get_formulation
from boostopt._utils.environment import source_version
from boostopt._utils.json_values import plain
from boostopt.exporting import export_set
from boostopt.instances.standard import standard_programs
from boostopt.programs.program_identity import program_digest

ACCURACY = 1e-9
"""Asked of the solvers: on the largest programs of the standard set Clarabel comes no nearer in doubles."""

INTERVAL_TOL = 1e-7
"""The distance of a reported optimum from the interval, over max(1, |lower|, |upper|), that is accepted. A solver may
violate each constraint by its accuracy, and multipliers of some tens scale this violation. Measured: 4e-8 at most."""

GAP = 1e-7
"""Certified gap of an answer that is read back, which counts those same violations once they are repaired. Measured:
2.2e-8 at most over the standard set."""


@cache
def programs() -> dict[str, Program]:
    """Few of each kind: three share all that they are made of, one has other multiplicities, one other margins."""
    rng = np.random.default_rng(0)
    U = rng.choice([-1.0, 1.0], (30, 6), p=[0.4, 0.6])
    bound = {name: get_formulation(name) for name in ("lpboost", "qp_reg_adaboost", "erlpboost")}
    return {
        "linear: 1": bound["lpboost"].bind(U, nu=3),
        "quadratic": bound["qp_reg_adaboost"].bind(U, C=0.5),
        "entropy": bound["erlpboost"].bind(U, nu=3, eta=20.0),
        "with multiplicities": bound["lpboost"].bind(U, nu=3, c=rng.uniform(0.5, 2, 30)),
        "other margins": bound["lpboost"].bind(-U, nu=3),
        "norm": random_program("norm_ball"),
        "infeasible": get_formulation("softboost").bind(np.array([[1.0, 0.5], [0.75, 1.0]]), nu=1, gamma=0.25),
        "per example": random_program("adaboost_reg"),
    }


LABELS_WITH_OPTIMUM = [label for label in programs() if label != "infeasible"]


def entries(index: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["label"]: entry for entry in index["programs"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sets") / "set"
    export_set(programs(), path)
    return path


@pytest.fixture(scope="module")
def index(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "index.json").read_text())


def run(*arguments: object) -> Any:
    runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": None, "TTY_COMPATIBLE": None})
    return runner.invoke(boostopt.cli.app, [str(argument) for argument in arguments], catch_exceptions=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# What is read back


def assert_within(interval: Mapping[str, Any], value: float) -> None:
    """Check that the optimum of a solver lies in the interval, up to the accuracy of the solver."""
    lower, upper = interval["lower"], interval["upper"]
    allowed = INTERVAL_TOL * max(1.0, abs(lower), abs(upper))
    assert lower - allowed <= value <= upper + allowed


def assert_good(program: Program, d: np.ndarray, w: np.ndarray) -> None:
    assert program.certify(d, w).scaled_gap <= GAP


def read_back_from_cbf(folder: Path, entry: Mapping[str, Any], program: Program) -> None:
    N, t = program.margins.shape
    x, y, value, status = solve_cbf(read_cbf(folder / entry["files"]["cbf"]["path"]), ACCURACY)
    assert status in ("Solved", "AlmostSolved")
    assert_within(entry["interval"], value)
    assert_good(program, x[:N], y[:t])


def read_back_from_mps(folder: Path, entry: Mapping[str, Any], program: Program) -> None:
    """Linear programs by HiGHS; quadratic ones are read by HiGHS and solved by Clarabel.

    The quadratic solver of HiGHS 1.15.1 finds no optimum of most of the standard set in 20 seconds, and calls one of
    them unbounded.
    """
    (N, t), path = program.margins.shape, folder / entry["files"]["mps"]["path"]
    if "quadratic" in entry["files"]["mps"]["cones"]:
        x, y, value, status = solve_read(opened(path), ACCURACY)
        assert status == "Solved"
        d, w = x[:N], y[:t]
    else:
        highs = solve_mps(path, ACCURACY)
        assert highs.modelStatusToString(highs.getModelStatus()) == "Optimal"
        (columns, rows), value = by_name(highs), highs.getInfo().objective_function_value
        d, w = weights(columns, "d", N), weights(rows, "w", t)
    assert_within(entry["interval"], value)
    assert_good(program, d, w)


@pytest.mark.thorough_cases("linear: 1")
@pytest.mark.parametrize("label", LABELS_WITH_OPTIMUM)
def test_a_program_from_cbf_has_its_optimum_in_the_interval(folder: Path, index: Any, label: str) -> None:
    read_back_from_cbf(folder, entries(index)[label], programs()[label])


def test_linear_and_quadratic_programs_from_mps_have_their_optimum_in_the_interval(folder: Path, index: Any) -> None:
    having = [label for label, entry in entries(index).items() if "mps" in entry["files"]]
    assert having == ["linear: 1", "quadratic", "with multiplicities", "other margins"]
    for label in having:
        read_back_from_mps(folder, entries(index)[label], programs()[label])


def test_a_small_quadratic_program_is_solved_by_highs_itself(folder: Path, index: Any) -> None:
    entry, program = entries(index)["quadratic"], programs()["quadratic"]
    highs = solve_mps(folder / entry["files"]["mps"]["path"], 1e-7)
    assert_within(entry["interval"], highs.getInfo().objective_function_value)
    columns, rows = by_name(highs)
    # Measured: 1.1e-9.
    assert_good(program, weights(columns, "d", 30), weights(rows, "w", 6))


def test_a_program_without_a_feasible_point_is_told_as_such(folder: Path, index: Any) -> None:
    interval = entries(index)["infeasible"]["interval"]
    assert (interval["infeasible"], interval["lower"], interval["upper"]) == (True, None, None)
    assert interval["outcome"] == "infeasible" and interval["excess"] > 0
    status = solve_cbf(read_cbf(folder / entries(index)["infeasible"]["files"]["cbf"]["path"]))[3]
    assert status == "PrimalInfeasible"


@pytest.mark.thorough
def test_the_standard_set_is_read_back_but_for_the_largest_programs(tmp_path: Path) -> None:
    small_programs = {label: program for label, program in standard_programs().items() if program.margins.N <= 1000}
    small_programs = {label: program for label, program in small_programs.items() if program.margins.t <= 60}
    assert len(small_programs) == 54 + 1  # the two hypotheses of corrective_erlpboost on cancer_200 are few enough
    index = export_set(small_programs, tmp_path / "set", time_limit=60.0)
    assert index["complete"] and list(entries(index)) == list(small_programs)
    for label, entry in entries(index).items():
        assert entry["interval"]["scaled_gap"] <= 1e-8, label
        read_back_from_cbf(tmp_path / "set", entry, small_programs[label])
        if "mps" in entry["files"]:
            read_back_from_mps(tmp_path / "set", entry, small_programs[label])


# What the index says


def test_the_index_has_the_digests_and_sizes_of_all_files(folder: Path, index: Any) -> None:
    files = {file["path"]: file for entry in index["programs"] for file in entry["files"].values()}
    assert {*files, "index.json"} == set(contents(folder))
    for path, content in contents(folder).items():
        if path != "index.json":
            assert files[path]["sha256"] == hashlib.sha256(content).hexdigest()
            assert files[path]["bytes"] == len(content)


def test_the_index_says_which_programs_they_are(folder: Path, index: Any) -> None:
    assert (index["format"], index["complete"], index["tol"]) == ("boostopt set 1", True, 1e-9)
    assert index["boostopt"] == source_version()
    for label, program in programs().items():
        entry = entries(index)[label]
        assert entry["program"] == program_digest(program)
        assert (entry["examples"], entry["hypotheses"]) == program.margins.shape
        assert entry["formulation"] == program.formulation.name
        U = np.ascontiguousarray(np.load(folder / entry["files"]["instance"]["path"])["U"].astype(float) + 0.0)
        assert entry["digest"] == hashlib.sha256(repr(U.shape).encode() + U.tobytes()).hexdigest()
    first = entries(index)["linear: 1"]
    assert first["parameters"] == {"nu": 3.0, "epsilon": 0.01, "two_sided": False}
    assert first["files"]["cbf"]["path"] == "cbf/linear_1.cbf"
    assert first["proved_by"]["backend"] in first["proved_by"]["tried"]


def test_the_interval_is_that_of_the_solution(index: Any) -> None:
    solution = programs()["entropy"].solve(tol=1e-9)
    interval = entries(index)["entropy"]["interval"]
    ends = solution.certificate.lower, solution.certificate.upper
    assert (interval["lower"], interval["upper"]) == ends
    assert interval["scaled_gap"] == solution.certificate.scaled_gap <= 1e-9
    assert interval["reached"] is True


def test_cones_are_those_that_the_files_have(folder: Path, index: Any) -> None:
    names = {"L=": "linear", "L+": "linear", "Q": "second_order", "EXP": "exponential"}
    for entry in index["programs"]:
        cbf = entry["files"]["cbf"]
        assert cbf["cones"] == sorted({names[kind] for kind, _ in read_cbf(folder / cbf["path"]).cones})
    assert entries(index)["quadratic"]["files"]["mps"]["cones"] == ["linear", "quadratic"]
    assert entries(index)["linear: 1"]["files"]["mps"]["cones"] == ["linear"]


def test_programs_of_the_same_examples_share_one_instance(index: Any) -> None:
    instances = {label: entry["files"]["instance"]["path"] for label, entry in entries(index).items()}
    assert instances["linear: 1"] == instances["quadratic"] == instances["entropy"]
    assert len(set(instances.values())) == len(instances) - 2


@pytest.mark.thorough_cases("entropy")
@pytest.mark.parametrize("label", ["linear: 1", "quadratic", "entropy", "with multiplicities", "norm"])
def test_commands_of_a_set_certify_an_answer_and_verify_the_interval(
    folder: Path, index: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    entry, (N, t) = entries(index)[label], programs()[label].margins.shape
    x, y, _, _ = solve_cbf(read_cbf(folder / entry["files"]["cbf"]["path"]), ACCURACY)
    np.savez(tmp_path / "answer.npz", d=x[:N], w=y[:t])
    monkeypatch.chdir(folder)
    words = [{"ANSWER": tmp_path / "answer.npz"}.get(word, word) for word in shlex.split(entry["certify"])]
    result = run(*words[1:], "--tol", GAP, "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["digest"] == entry["digest"] and document["scaled_gap"] <= GAP
    assert document["parameters"] == entry["parameters"]
    result = run(*shlex.split(entry["verify"])[1:], "--json")
    assert (result.exit_code, json.loads(result.stdout)["accepted"]) == (0, True)


def test_a_parameter_of_each_example_is_in_the_instance(folder: Path, index: Any) -> None:
    entry, program = entries(index)["per example"], programs()["per example"]
    arrays = np.load(folder / entry["files"]["instance"]["path"])
    assert re.search(r"\b40\b.*\binstance\b", entry["parameters"]["penalty"])
    np.testing.assert_array_equal(arrays["penalty"], program.parameters.penalty)
    assert entry["certify"] is None  # an array does not fit a command line


def test_a_wide_interval_is_written_as_it_is(tmp_path: Path) -> None:
    index = export_set({"one": programs()["entropy"]}, tmp_path / "set", tol=1e-15)
    interval = index["programs"][0]["interval"]
    assert interval["reached"] is False
    assert interval["lower"] < interval["upper"] and interval["scaled_gap"] > 1e-15


def test_loaded_programs_are_those_of_the_index(tmp_path: Path) -> None:
    progress_calls: list[tuple[int, int, str]] = []
    two = {label: programs()[label] for label in ("linear: 1", "entropy")}
    index = export_set(
        two, tmp_path, progress=lambda done, total, entry: progress_calls.append((done, total, entry["label"]))
    )
    assert index == json.loads((tmp_path / "index.json").read_text())
    assert progress_calls == [(1, 2, "linear: 1"), (2, 2, "entropy")]


# Interruptions


class Solves:
    """The solves that are made; the one of a number is interrupted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, interrupted: int = 0) -> None:
        self.count, solve = 0, Program.solve

        def counted(program: Program, *arguments: Any, **options: Any) -> Any:
            self.count += 1
            if self.count == interrupted:
                raise KeyboardInterrupt
            return solve(program, *arguments, **options)

        monkeypatch.setattr(Program, "solve", counted)


@pytest.mark.thorough
def test_an_interrupted_export_continues(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "set"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        Solves(patch, interrupted=3)
        export_set(programs(), place)
    half = json.loads((place / "index.json").read_text())
    assert half["complete"] is False
    assert list(entries(half)) == list(programs())[:2]
    assert not list(place.rglob(".*"))
    # What a killed process leaves besides: files half written.
    (place / ".index.json.0123abcd.partial").write_text("{")
    (place / "mps" / ".quadratic.mps.0123abcd.partial").write_text("*")
    solves = Solves(monkeypatch)
    index = export_set(programs(), place)
    assert solves.count == len(programs()) - 2
    assert index["complete"] is True
    # Certificates say when they were made; all else is what it is without an interruption.
    again, old_contents = contents(place), contents(folder)
    assert set(again) == set(old_contents)
    for name in old_contents:
        assert again[name] == old_contents[name] or name.startswith(("certificates/", "index.json")), name
    assert [entry["interval"] for entry in index["programs"]] == [
        entry["interval"] for entry in json.loads(old_contents["index.json"])["programs"]
    ]


def test_an_index_is_whole_however_its_writing_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace, indices = os.replace, list[Path]()

    def interrupted(source: Path, target: Path) -> None:
        indices.extend([target] if target.name == "index.json" else [])
        if len(indices) == 2:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr("boostopt._utils.files.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_set({"one": programs()["linear: 1"]}, tmp_path)
    index = json.loads((tmp_path / "index.json").read_text())
    assert (index["complete"], index["programs"]) == (False, [])
    assert not [name for name in contents(tmp_path) if name.endswith(".partial")]


def test_a_file_that_is_gone_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {label: programs()[label] for label in ("linear: 1", "entropy")}
    export_set(few, tmp_path)
    whole = contents(tmp_path)
    (tmp_path / "cbf" / "entropy.cbf").unlink()
    solves = Solves(monkeypatch)
    export_set(few, tmp_path)
    assert solves.count == 1
    assert contents(tmp_path)["cbf/entropy.cbf"] == whole["cbf/entropy.cbf"]
    export_set(few, tmp_path)
    assert solves.count == 1


# What is refused

FEW = ("linear: 1",)


def refused(place: Path, fact: str, error: type[BoostoptError] = DataError, **more: Any) -> None:
    """A call is refused, and nothing in the folder is another than before."""
    old_contents = contents(place)
    options: dict[str, Any] = {"programs": {label: programs()[label] for label in FEW}, **more}
    with pytest.raises(error, match=fact), typechecker.unchecked():
        export_set(folder=place, **options)
    assert contents(place) == old_contents


def test_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("all of it")
    refused(tmp_path, rf"{re.escape(str(tmp_path))}; .*\bthesis\.tex\b.*\bno index\.json\b")
    (tmp_path / "thesis.tex").unlink()
    (tmp_path / "notes").mkdir()
    refused(tmp_path, r"\bfolders\b.*\bno index\.json\b")


@pytest.mark.parametrize("text", ["{}", "[]", "not JSON", '{"format": "boostopt set 1", "programs": 3}', "\xff"])
def test_an_index_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "index.json").write_bytes(text.encode("latin-1"))
    refused(tmp_path, r"; \w+ index\.json\b.*\bset\b")


def test_a_file_and_a_place_that_is_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", r"/file\b.*\bno folder\b")
    assert (tmp_path / "file").read_text() == "x"
    refused(tmp_path / "none" / "set", r"/none/set\b.*\bNo such file\b")
    for bad_folder in ("", "a\0b", 3, None, b"x"):
        came = re.escape(repr(bad_folder))
        with pytest.raises(OptionError, match=rf"^folder\b.*\bpath\b.*{came}"), typechecker.unchecked():
            export_set({"one": programs()["linear: 1"]}, bad_folder)  # pyright: ignore[reportArgumentType]


def test_a_set_that_was_changed_is_refused(tmp_path: Path) -> None:
    export_set({label: programs()[label] for label in FEW}, tmp_path)
    model = tmp_path / "cbf" / "linear_1.cbf"
    text = model.read_text()
    model.write_text(text + "# my own line\n")
    refused(tmp_path, r"; cbf/linear_1\.cbf\b.*\bwritten\b")
    model.write_text(text)
    (tmp_path / "cbf" / "mine.cbf").write_text("mine")
    refused(tmp_path, r"\bholds cbf/mine\.cbf\b")


def test_another_set_in_the_folder_is_refused(tmp_path: Path) -> None:
    export_set({label: programs()[label] for label in FEW}, tmp_path)
    refused(tmp_path, "another 'linear: 1'", programs={"linear: 1": programs()["entropy"]})
    refused(tmp_path, "another 'linear: 1'", programs={"entropy": programs()["entropy"]})
    refused(tmp_path, r"\btol 1e-09\.", tol=1e-8)
    refused(tmp_path, r"\btime_limit None\.", time_limit=10.0)


def test_an_index_that_names_files_elsewhere_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "set"
    index = export_set({label: programs()[label] for label in FEW}, place)
    (tmp_path / "outside").write_text("x")
    index["programs"][0]["files"]["cbf"]["path"] = "../outside"
    (place / "index.json").write_text(json.dumps(index))
    refused(place, r"\bholds \.\./outside\b")


def test_programs_that_are_none_are_refused(tmp_path: Path) -> None:
    program = programs()["linear: 1"]
    refused(tmp_path, r"\bprograms\b.*\bnone\b", OptionError, programs={})
    refused(tmp_path, r"^programs\b.*\blabel\b.*\blist\b", OptionError, programs=[program])
    refused(tmp_path, r"\bprogram\b.*\bint\b", OptionError, programs={"one": 3})
    refused(tmp_path, r"\blabel\b.*\btext\b.*\b3\b", OptionError, programs={3: program})
    refused(tmp_path, r"\blabels\b.*'a b'.*'A_b'", OptionError, programs={"a b": program, "A_b": program})
    refused(tmp_path, r"\blabels\b.*'/\.\./'", OptionError, programs={"/../": program})
    refused(tmp_path, r"^tol\b.*\(0, 1\).*\b0\.0\b", OptionError, tol=0.0)
    refused(tmp_path, r"^time_limit\b.*-1\.0\b", OptionError, time_limit=-1.0)
    refused(tmp_path, r"^progress\b.*'yes'", OptionError, progress="yes")
    assert not list(tmp_path.iterdir())


# The command


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A standard set of two programs; the folders of the IDA sets that were named."""
    named: list[Any] = []

    def two(ida: Any = None) -> dict[str, Program]:
        named.append(ida)
        return {label: programs()[label] for label in ("linear: 1", "infeasible")}

    monkeypatch.setattr(boostopt.cli.commands.export, "standard_programs", two)
    return named


def test_the_command_writes_the_set(small: list[Any], tmp_path: Path) -> None:
    result = run("export", "--set", tmp_path / "set", "--ida", "there")
    assert result.exit_code == 0, result.stderr
    assert re.fullmatch(rf"{re.escape(str(tmp_path / 'set'))}: 2\b.*\b2\b.*\b1e-09\n", result.stdout)
    first, second = result.stderr.splitlines()
    assert re.fullmatch(r"\[1/2\] linear: 1: .*\bgap \d\.\de-\d\d \w+ \w+", first)
    assert re.fullmatch(r"\[2/2\] infeasible: .*\binfeasible \w+ \w+", second)
    assert small == ["there"]
    index = json.loads((tmp_path / "set" / "index.json").read_text())
    assert (index["time_limit"], index["complete"]) == (60.0, True)
    result = run("export", "--set", tmp_path / "set", "--json")
    assert (result.exit_code, result.stderr, json.loads(result.stdout)) == (0, "", index)


def test_the_command_names_the_wide_intervals(
    small: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finer(*arguments: Any, **options: Any) -> Any:
        return export_set(*arguments, tol=1e-15, **options)

    monkeypatch.setattr(boostopt.cli.commands.export, "export_set", finer)
    result = run("export", "--set", tmp_path / "set", "--time-limit", 5)
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert re.fullmatch(rf"{re.escape(str(tmp_path / 'set'))}: 2\b.*\b1\b.*\b1e-15", first)
    assert re.fullmatch(r"wider: linear: 1, .*\bgap \d\.\de-\d\d \w+ \w+", second)
    assert json.loads((tmp_path / "set" / "index.json").read_text())["time_limit"] == 5.0


@pytest.mark.parametrize(
    "arguments, fact",
    [
        ((), r"--data\b.*--out\b.*--set\b.*--ida\b"),
        (("--set", "a", "--set", "b"), r"--data\b.*--out\b.*--set\b.*--ida\b"),
        (("--set", "a", "--nu", "2"), r"--data\b.*--out\b.*--set\b.*--ida\b"),
        (("--set", "a", "--columns", "5"), r"--data\b.*--out\b.*--set\b.*--ida\b"),
        (("--set", "a", "--label", "x"), r"--data\b.*--out\b.*--set\b.*--ida\b"),
        (("--set", "a", "--out", "m.mps"), r"--out\b.*\bformulation\b.*'m\.mps'"),
        (("--set", "a", "--side", "dual"), r"--side\b.*\bformulation\b.*'dual'"),
        (("lpboost", "--set", "a"), r"\boption '--data'.*--set\b"),
        (("lpboost", "--data", "wine"), r"\boption '--out'.*--set\b"),
        (("lpboost", "--ida", "x"), r"--ida\b.*--set\b.*'x'"),
        (("lpboost", "--time-limit", "3"), r"--time-limit\b.*--set\b.*\b3\.0\b"),
    ],
    ids=(
        *("nothing", "two sets", "parameter", "columns", "label", "file", "side"),
        *("formulation without data", "formulation without file", "formulation with ida", "formulation with limit"),
    ),
)
def test_a_set_and_a_program_exclude_each_other(
    small: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], fact: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("export", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search(f"^error: .*{fact}", result.stderr), result.stderr
    assert not small and not list(tmp_path.iterdir())


def test_a_folder_without_the_ida_sets_is_refused(tmp_path: Path) -> None:
    result = run("export", "--set", tmp_path / "set", "--ida", tmp_path / "none")
    assert (result.exit_code, result.stdout) == (2, "")
    missing = re.escape(str(tmp_path / "none" / "diabetis.npz"))
    assert re.search(rf"^error: .*\bIDA\b.*{missing}", result.stderr), result.stderr
    assert not (tmp_path / "set").exists()


def test_an_index_without_infinities_is_json(index: Any) -> None:
    assert plain(index) == index
    json.dumps(index, allow_nan=False)
