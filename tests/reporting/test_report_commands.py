"""`compare --report`, `compare --all` and `report`: what is written, what is refused before any work, what goes on."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_results import Page
from support.problems import REFERENCE_U
from typer.testing import CliRunner

import boostopt.cli
import boostopt.cli.commands.report  # pyright: ignore[reportUnusedImport]
from boostopt import list_formulations

SMALL = ["--nu", "0.4", "--backends", "interior,highs"]


def run(*arguments: object) -> Any:
    runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": None, "TTY_COMPATIBLE": None})
    return runner.invoke(boostopt.cli.app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture(autouse=True)
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/boostopt", "compare", "a name.npz"])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "reference.npz"
    np.savez(path, U=REFERENCE_U)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of data and one that is none."""
    path = tmp_path / "folder"
    path.mkdir()
    np.savez(path / "a.npz", U=REFERENCE_U)
    np.savez(path / "b.npz", U=-REFERENCE_U)
    (path / "notes.txt").write_text("no data <here>")
    return path


def check_refusal(facts: str, *arguments: object) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search(rf"^error: {facts}", result.stderr, re.MULTILINE), result.stderr


@pytest.mark.thorough
@pytest.mark.every(3)
@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]], ids=["table", "json", "csv"])
def test_the_report_is_written_beside_what_is_printed(data: Path, tmp_path: Path, form: list[str]) -> None:
    out = tmp_path / "out.html"
    result = run("compare", "lpboost", "--data", data, *SMALL, "--report", out, *form)
    assert result.exit_code == 0
    assert "html" not in result.stdout.lower() or form == ["--json"]
    assert result.stderr.endswith(f"report: {out}\n")
    page = out.read_text()
    assert f"LPBoost on {data}" in page and "boostopt compare 'a name.npz'" in Page(page).text
    if form == ["--json"]:
        document = json.loads(result.stdout)
        assert document["origin"]["data"] == str(data)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", document["origin"]["date"])


def test_a_place_that_cannot_be_written_is_refused_before_any_work(data: Path, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing" / "out.html", data):
        result = run("compare", "lpboost", "--data", data, *SMALL, "--report", place)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("error: ") and "interior" not in result.stderr
    assert np.array_equal(np.load(data)["U"], REFERENCE_U)


@pytest.mark.thorough
def test_report_of_a_printed_result_or_of_finished_solves_has_the_same_tables(data: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    for extra in ([], ["--repeats", "1", "--resume", str(runs)]):
        direct, later = tmp_path / "direct.html", tmp_path / "later.html"
        result = run("compare", "lpboost", "--data", data, *SMALL, *extra, "--report", direct, "--json")
        (tmp_path / "said.json").write_text(result.stdout)
        rendering = run("report", tmp_path / "said.json", "-o", later)
        assert (rendering.exit_code, rendering.stdout, rendering.stderr) == (0, "", "")
        assert later.read_text() == run("report", tmp_path / "said.json").stdout
        assert tables(later) == tables(direct)
    assert run("report", runs, "-o", later).exit_code == 0
    assert tables(later) == tables(direct)


def tables(page: Path) -> list[str]:
    """The tables of a page, their blanks evened out."""
    return [" ".join(table.split()) for table in re.findall(r"<table.*?</table>", page.read_text(), re.DOTALL)]


def test_a_file_that_is_none_is_refused(data: Path, tmp_path: Path) -> None:
    bad_file = tmp_path / "other.json"
    check_refusal(r".*/missing\.json .*\bread\b", "report", tmp_path / "missing.json")
    bad_file.write_text("x")
    check_refusal(r".*`compare --json`.*/other\.json .*\bJSON text", "report", bad_file)
    bad_file.write_text("{}")
    check_refusal(r".*/other\.json .*\bruns nor rows\.", "report", bad_file)
    page = bad_file.rename(tmp_path / "other.html")
    check_refusal(r".*\breport; .*/other\.html is read\.", "report", page, "-o", page)
    check_refusal(r".*\bwritten: ", "report", bad_file, "-o", tmp_path)


# A folder


@pytest.mark.thorough
def test_compare_of_a_folder_reads_all_data_files_and_names_other_files(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    command = ["compare", "lpboost,erlpboost", "--all", folder, *SMALL, "--repeats", "1", "--tol", "1e-6"]
    result = run(*command, "--report", out, "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    labels = list(document["programs"])
    assert [label.split(": N")[0] for label in labels] == [
        "a.npz: lpboost",
        "a.npz: erlpboost",
        "b.npz: lpboost",
        "b.npz: erlpboost",
    ]
    ((name, why),) = document["origin"]["skipped"]
    assert name == "notes.txt" and "svmlight" in why
    assert ": notes.txt. " in result.stderr
    page = out.read_text()
    assert "notes.txt: " in page and all(label in page for label in labels)
    assert "left out" in run(*command).stdout


@pytest.mark.thorough
def test_a_folder_is_resumed_and_its_results_are_no_data(folder: Path) -> None:
    keeps, out = folder / "runs.jsonl", folder / "out.html"
    command = ["compare", "lpboost", "--all", folder, *SMALL, "--repeats", "1", "--resume", keeps, "--report", out]
    assert run(*command).exit_code == 0
    size = keeps.stat().st_size
    again = run(*command, "--json")
    assert again.exit_code == 0 and keeps.stat().st_size == size
    assert [name for name, _ in json.loads(again.stdout)["origin"]["skipped"]] == ["notes.txt"]
    assert run("report", keeps).exit_code == 0


@pytest.mark.thorough
def test_a_folder_that_has_changed_is_gone_on_with(folder: Path, tmp_path: Path) -> None:
    keeps = tmp_path / "runs.jsonl"
    command = ["compare", "lpboost", "--all", folder, *SMALL, "--repeats", "1", "--tol", "1e-6", "--resume", keeps]
    assert run(*command).exit_code == 0
    first = keeps.read_text().splitlines()[1:]
    (folder / "b.npz").rename(tmp_path / "b.npz")
    np.savez(folder / "c.npz", U=REFERENCE_U[:, :2])
    result = run(*command, "--json")
    assert result.exit_code == 0, result.stderr
    assert [label.partition(":")[0] for label in json.loads(result.stdout)["programs"]] == ["a.npz", "c.npz"]
    now = keeps.read_text().splitlines()[1:]
    assert now[: len(first)] == first
    assert [json.loads(line)["program"].partition(":")[0] for line in now[len(first) :]] == ["c.npz"] * 2
    np.savez(folder / "a.npz", U=-REFERENCE_U)  # another file of the same sizes
    check_refusal(r".*/runs\.jsonl .*\bprograms, 'a\.npz: lpboost", *command)


@pytest.mark.thorough
def test_other_entries_of_a_folder_than_files_are_named(folder: Path) -> None:
    for name in ("one", "two", ".hidden"):
        (folder / name).mkdir()
    (folder / "gone.npz").symlink_to(folder / "nothing")
    os.mkfifo(folder / "pipe.npz")
    result = run("compare", "lpboost", "--all", folder, *SMALL, "--repeats", "1", "--tol", "1e-6", "--json")
    assert result.exit_code == 0, result.stderr
    skipped = dict(json.loads(result.stdout)["origin"]["skipped"])
    assert list(skipped) == ["one, two", "gone.npz", "pipe.npz", "notes.txt"]
    assert "--all" in skipped["one, two"] and "link" in skipped["gone.npz"] and "pipe" in skipped["pipe.npz"]
    assert all(f": {entry}. {why}\n" in result.stderr for entry, why in skipped.items())


@pytest.mark.thorough
def test_all_formulations_are_those_that_need_nothing_further(folder: Path) -> None:
    (folder / "b.npz").unlink()
    command = ["compare", "all", "--all", folder, "--nu", "0.4", "--backends", "interior", "--repeats", "1"]
    result = run(*command, "--tol", "1e-3", "--json")
    document = json.loads(result.stdout)
    compared_names = {about["formulation"] for about in document["programs"].values()}
    skipped = {entry.split(" on ")[0]: why for entry, why in document["origin"]["skipped"]}
    assert compared_names | set(skipped) - {"notes.txt"} == set(list_formulations()) and not compared_names & set(
        skipped
    )
    assert {"lpboost", "erlpboost", "binary_erlpboost"} <= compared_names
    assert re.search(r"\bC\b.*--set C=", skipped["svm"])
    assert "2 columns" in skipped["corrective_erlpboost"]


@pytest.mark.thorough
def test_a_setting_is_for_the_formulations_that_have_it(folder: Path) -> None:
    command = ["compare", "lpboost,svm", "--all", folder, *SMALL, "--repeats", "1", "--tol", "1e-3", "--set", "C=2"]
    document = json.loads(run(*command, "--json").stdout)
    assert [about["parameters"].get("C") for about in document["programs"].values()] == [None, 2.0, None, 2.0]


@pytest.mark.parametrize(
    "arguments, facts",
    [
        (["lpboost", "--all", "{folder}", "--data", "{folder}/a.npz"], r"--data and --all\b"),
        (["lpboost"], ".*'--data'.*'--all'"),
        (["lpboost,nonsense", "--all", "{folder}"], r".*\bformulation 'nonsense'\."),
        (["lpboost,lpboost", "--all", "{folder}"], r".*\bonce\b.*'lpboost,lpboost'\."),
        ([",", "--all", "{folder}"], r".*\bonce\b.*','\."),
        (["lpboost", "--all", "{folder}/a.npz", "--nu", "0.4"], r".*/a\.npz .*\[Errno 20\]"),
        (["lpboost", "--all", "{folder}/nothing", "--nu", "0.4"], r".*/nothing .*\[Errno 2\]"),
        (["lpboost", "--all", "{folder}"], r".*/folder; .*\ba\.npz: lpboost needs nu\b"),
        (["lpboost", "--all", "{folder}", "--nu", "0.4", "--set", "C=1"], r".*\bparameter .*'C'\. .*\bnu\b"),
        (["adaboost", "--all", "{folder}", "--nu", "0.4"], r".*\bparameter .*'nu'\. .*\bkeep_faultless\b"),
    ],
    ids=[
        *("data and all", "neither", "unknown", "twice", "none", "a file", "no folder", "no program"),
        *("parameter of none", "parameter of others"),
    ],
)
def test_inconsistent_arguments_are_refused(folder: Path, arguments: list[str], facts: str) -> None:
    check_refusal(facts, "compare", *(argument.format(folder=folder) for argument in arguments))


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    check_refusal(
        rf".*{re.escape(str(tmp_path))}; .*\bno files\.", "compare", "lpboost", "--all", tmp_path, "--nu", "0.4"
    )
