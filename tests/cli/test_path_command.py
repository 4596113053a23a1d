"""`boostopt path`: values as in compare, a line for each, exit statuses, bad input."""

from __future__ import annotations

import csv
import io
import os
import re
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_runner import document, examples, refused, run, write_examples
from rich.console import Console

import boostopt.boosting.regularization_path
import boostopt.cli.commands.path
from boostopt import path
from boostopt._utils.formatting import format_interval
from boostopt.boosting.run import progress_line
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.run.trace import TraceRow
from boostopt.oracles import DecisionStumps


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_examples(tmp_path / "data.npz")


@pytest.mark.thorough
def test_the_command_follows_the_path_of_the_library_in_the_given_order(data: Path) -> None:
    file_document = document("path", "erlpboost", "--data", data, "--nu", "8,0.5,0.3", "--epsilon", 0.2)
    X, y = examples()
    library_path = path("erlpboost", DecisionStumps(X, y), nu=[8, 20, 12], epsilon=0.2)
    assert file_document["parameter"] == "nu"
    assert [run["nu"] for run in file_document["runs"]] == [8, 20, 12]
    assert [run["class"]["lower"] for run in file_document["runs"]] == library_path.lower.tolist()
    assert [run["class"]["upper"] for run in file_document["runs"]] == library_path.upper.tolist()
    assert all(run["class"]["gap"] <= 0.2 for run in file_document["runs"])


@pytest.mark.thorough
def test_csv_is_a_header_and_a_line_for_each_value(data: Path) -> None:
    arguments = ("path", "erlpboost", "--data", data, "--nu", "0.3", "--eta", "10,1e2", "--epsilon", 0.2)
    result = run(*arguments, "--csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [float(row["eta"]) for row in rows] == [10.0, 100.0]
    assert all(float(row["lower"]) <= float(row["upper"]) for row in rows)
    parameter_labels = [line.partition(":")[0] for line in result.stderr.splitlines() if line.startswith("eta = ")]
    assert parameter_labels == ["eta = 10", "eta = 100"]
    assert "eta" in run(*arguments).stdout


@pytest.mark.thorough_cases("92-hypotheses")
@pytest.mark.every(3)
@pytest.mark.parametrize(
    "width, last", [(56, "reached"), (68, "reached"), (80, "rounds"), (92, "hypotheses"), (102, "seconds")]
)
def test_a_narrow_terminal_splits_no_number_and_loses_the_last_columns_first(
    data: Path, monkeypatch: pytest.MonkeyPatch, width: int, last: str
) -> None:
    monkeypatch.setattr(boostopt.cli.commands.path, "console", lambda: Console(width=width, color_system=None))
    arguments = ("path", "erlpboost", "--data", data, "--nu", "0.3,0.6", "--epsilon", "0.2")
    lines = run(*arguments).stdout.splitlines()
    header = [cell.strip() for line in lines if line.startswith("┃") for cell in line.strip("┃").split("┃")]
    assert "…" not in "".join(lines) and max(map(len, lines)) <= width
    assert list(filter(None, header))[-1 if width > 56 else 5] == last
    for run_record in document(*arguments)["runs"]:
        for end in format_interval(run_record["class"]["lower"], run_record["class"]["upper"]).split():
            assert any(end in line for line in lines), end


def test_progress_of_one_round_is_in_the_singular(data: Path) -> None:
    result = run("path", "lpboost", "--data", data, "--nu", "0.3", "--max-rounds", "1")
    assert re.search(r"^nu = 12: 1 round, 1 hypothesis, ", result.stderr, re.MULTILINE)


def test_one_value_is_a_path_too(data: Path) -> None:
    result = run("path", "lpboost", "--data", data, "--nu", "0.3", "--epsilon", 0.1)
    assert result.exit_code == 0
    assert "0.3" in result.stdout and "yes" in result.stdout


def test_path_with_a_missed_gap_exits_with_1(data: Path) -> None:
    arguments = ("path", "erlpboost", "--data", data, "--nu", "0.9,0.1", "--epsilon", 0.1, "--max-rounds", 2)
    assert [run["reached"] for run in document(*arguments, status=1)["runs"]] == [True, False]


def test_a_formulation_without_the_parameter_is_an_error(data: Path) -> None:
    refused(r"\bl1_adaboost 'nu'.* C\.", "path", "l1_adaboost", "--data", data, "--nu", "1,2")


def test_a_path_goes_along_any_parameter(data: Path) -> None:
    file_document = document("path", "l1_adaboost", "--data", data, "--set", "C=0.1,0.05")
    assert file_document["parameter"] == "C" and [run["C"] for run in file_document["runs"]] == [0.1, 0.05]


def test_a_picture_is_drawn(data: Path, tmp_path: Path) -> None:
    picture = tmp_path / "path.svg"
    assert run("path", "lpboost", "--data", data, "--nu", "0.3,0.6", "--picture", picture).exit_code == 0
    assert "<svg" in picture.read_text()


def test_ctrl_c_prints_the_values_that_were_reached(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list[TraceRow]()

    def interrupting_progress(*arguments: object) -> Any:
        def show(row: TraceRow) -> None:
            rows.append(row)
            if row.round == 1 and sum(one.round == 1 for one in rows) == 2:
                os.kill(os.getpid(), signal.SIGINT)

        return show

    monkeypatch.setattr(progress_line, "PlainProgress", interrupting_progress)
    result = run("path", "erlpboost", "--data", data, "--nu", "0.3,0.6,0.9", "--epsilon", "0.01", "--csv")
    assert result.exit_code == 130
    assert result.stderr.endswith("interrupted: 2 of 3 values\n")
    lines = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [line["reason"] == StopReason.INTERRUPTED for line in lines] == [True, False]


@pytest.mark.parametrize(
    "arguments, facts",
    [
        ((), r"\bnone\b.*--nu\b.*--eta\b.*--set\b"),
        (("--nu", "0.1,0.2", "--eta", "1,2"), r"\bone\b.*\bnu\b.*\beta\b"),
        (("--nu", "0.1,2.5"), r"--nu\b.*\(0, 1\].* 2\.5\b"),
        (("--nu", ","), r"--nu\b.*\bnone\b"),
        (("--nu", "0.1;0.2"), r"--nu\b.*\bnumber\b.*'0\.1;0\.2'"),
        (("--nu", "0.3", "--eta", "1,x"), r"--eta\b.*\bnumbers\b.*'1,x'"),
        (("--nu", "0.3,0.5", "--set", "nu=3"), r"\bnu\b.*--nu\b.*--set\b"),
        (("--set", "nu=3", "--set", "nu=4"), r"--set\b.*\bnu=3,\snu=4\b"),
        (("--set", "nu=3,x"), r"--set\b.*\bname=value\b.*'nu=x'"),
        (("--set", "mu=3,4"), r"\berlpboost\b.*'mu'.*\bepsilon\b.*\beta\b.*\bnu\b"),
        (("--nu", "0.3,0.5", "--eta", "-1"), r"\beta\b.*\[1e-100, 1e\+100\].* -1\b"),
        (("--nu", "0.3,0.5", "--json", "--csv"), r"--json\b.*--csv\b"),
        (("--nu", "0.3,0.5", "--picture", "no/p.png"), r"\bfolder\b.*'no/p\.png'"),
    ],
)
def test_bad_input_is_an_error(data: Path, arguments: tuple[str, ...], facts: str) -> None:
    refused(facts, "path", "erlpboost", "--data", data, *arguments)


def test_ctrl_c_between_two_values_prints_those_that_were_reached(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first signal sets a flag, and a second one raises an exception."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    for press in (partial(signal.raise_signal, signal.SIGINT), interrupted):

        def interrupt_after_24(name: str, value: float, run: Any, press: Any = press) -> None:
            if value == 24:
                press()

        monkeypatch.setattr(boostopt.cli.commands.path, "_print_progress", interrupt_after_24)
        result = run("path", "erlpboost", "--data", data, "--nu", "0.3,0.6,0.9", "--epsilon", "0.3", "--csv")
        assert result.exit_code == 130
        assert result.stderr.endswith("interrupted: 2 of 3 values\n")
        assert [float(line["nu"]) for line in csv.DictReader(io.StringIO(result.stdout))] == [24, 36]


def test_ctrl_c_in_the_last_round_of_a_value_is_not_lost(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupting_progress(*arguments: object) -> Any:
        return lambda row: signal.raise_signal(signal.SIGINT) if row.gap <= 0.3 else None

    monkeypatch.setattr(progress_line, "PlainProgress", interrupting_progress)
    result = run("path", "erlpboost", "--data", data, "--nu", "0.3,0.6,0.9", "--epsilon", "0.3", "--csv")
    assert result.exit_code == 130
    assert result.stderr.endswith("interrupted: 1 of 3 values\n")
    (line,) = csv.DictReader(io.StringIO(result.stdout))
    assert line["reached"] == "True"


def test_ctrl_c_before_a_value_is_reached_has_nothing_to_print(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("boostopt.boosting.regularization_path.boost", stopped)
    result = run("path", "erlpboost", "--data", data, "--nu", "0.3,0.6")
    assert (result.exit_code, result.stdout) == (130, "")
