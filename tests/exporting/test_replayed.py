"""`boostopt export`, and a replay elsewhere: by a process with the files, NumPy and HiGHS, without boostopt."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.problems import REFERENCE_NU, REFERENCE_U
from typer.testing import CliRunner

import boostopt.cli
from boostopt import get_formulation
from boostopt.cli.commands.export import export_command
from boostopt.programs.program_identity import program_digest

HELP = "boostopt export lpboost --data breast_cancer --nu 0.1 --out model.mps"

HIGHS_SCRIPT = """
import hashlib, json, sys
import highspy
import numpy as np

highs = highspy.Highs()
highs.silent()
highs.readModel("model.mps")
highs.run()
highs.writeSolution("answer.sol", 0)

U = np.load("instance.npz")["U"].astype(float)
digest = hashlib.sha256(repr(U.shape).encode() + np.ascontiguousarray(U + 0.0).tobytes()).hexdigest()
solution, lp = highs.getSolution(), highs.getLp()
values = dict(zip(lp.col_names_, solution.col_value)) | dict(zip(lp.row_names_, solution.row_dual))
d = np.array([values[f"d_{n}"] for n in range(1, U.shape[0] + 1)])
w = np.array([values[f"w_{q}"] for q in range(1, U.shape[1] + 1)])
m = np.sort(U @ w)
nu = int(sys.argv[1])
print(json.dumps({
    "digest": digest,
    "largest edge": float((U.T @ d).max()),
    "soft margin": float(m[:nu].mean()),
    "boostopt": any(name.split(".")[0] == "boostopt" for name in sys.modules),
}))
"""
"""The commands that a solver's developer would write, given two files and the four lines at the head of one of them."""


def run(*arguments: object) -> Any:
    runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": None, "TTY_COMPATIBLE": None})
    return runner.invoke(boostopt.cli.app, [str(argument) for argument in arguments], catch_exceptions=False)


def refused(fact: str, *arguments: object) -> None:
    result = run("export", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search(f"^error: .*{fact}", result.stderr), result.stderr


@pytest.fixture
def data(tmp_path: Path) -> Path:
    np.savez(tmp_path / "data.npz", U=REFERENCE_U)
    return tmp_path / "data.npz"


@pytest.mark.thorough_cases("primal")
@pytest.mark.parametrize("side", ["primal", "dual"])
def test_a_comparison_is_replayed_by_a_process_without_boostopt(tmp_path: Path, side: str) -> None:
    arguments = ("--data", "breast_cancer", "--columns", 12, "--nu", 57)
    for out in ("instance.npz", "model.mps"):
        result = run("export", "lpboost", *arguments, "--side", side, "--out", tmp_path / out)
        assert result.exit_code == 0, result.stderr
    command = [sys.executable, "-I", "-c", HIGHS_SCRIPT, "57"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path)
    report = json.loads(done.stdout)
    assert report["boostopt"] is False
    assert f"SHA-256 of U: {report['digest']}" in (tmp_path / "model.mps").read_text()
    # Strong duality, in six lines of NumPy.
    assert report["largest edge"] == pytest.approx(report["soft margin"], abs=1e-8)
    # The command at the head of the file, with the two names filled in.
    head = next(line for line in (tmp_path / "model.mps").read_text().splitlines() if "boostopt certify" in line)
    names = {"ANSWER": tmp_path / "answer.sol", "INSTANCE.npz": tmp_path / "instance.npz"}
    words = [str(names.get(word, word)) for word in shlex.split(head.removeprefix("*"))]
    result = run(*words[1:], "--json")
    assert result.exit_code == 0, result.stderr
    certificate = json.loads(result.stdout)
    assert certificate["lower"] <= report["largest edge"] + 1e-8
    assert certificate["upper"] >= report["soft margin"] - 1e-8
    # And the instance is the comparison's own program.
    first = run("compare", "lpboost", *arguments, "--backends", "cvxpy:highs", "--json")
    again = run("compare", "lpboost", *words[4:6], "--set", "nu=57", "--backends", "cvxpy:highs", "--json")
    digests = [json.loads(result.stdout)["digest"] for result in (first, again)]
    assert digests[0] == digests[1] == report["digest"]


def test_export_says_what_it_wrote_and_how_an_answer_is_certified(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "model.cbf"
    result = run("export", "erlpboost", "--data", data, "--set", f"nu={REFERENCE_NU}", "--eta", 4, "--out", out)
    assert (result.exit_code, result.stderr) == (0, "")
    first, second, *command = result.stdout.splitlines()
    program = get_formulation("erlpboost").bind(REFERENCE_U, nu=REFERENCE_NU, eta=4)
    assert first == f"{out}: {program.headline}"
    assert re.search(r"\bcertify\b.*:$", second)
    certify = "boostopt certify erlpboost ANSWER --data INSTANCE.npz --set nu=2.5 --set eta=4.0"
    assert " ".join(" ".join(command).replace(" \\", "").split()) == certify
    assert out.read_text().startswith("# Written by boostopt.\n")


def test_export_as_json(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "instance.npz"
    result = run("export", "lpboost", "--data", data, "--set", f"nu={REFERENCE_NU}", "--out", out, "--json")
    document = json.loads(result.stdout)
    program = get_formulation("lpboost").bind(REFERENCE_U, nu=REFERENCE_NU)
    assert document["program"] == program_digest(program)
    assert document["digest"] == program.margins.digest()
    assert document["file"] == str(out)
    assert document["certify"] == f"boostopt certify lpboost ANSWER --data {out} --set nu=2.5"


@pytest.mark.parametrize(
    "arguments, fact",
    [
        (("--out", "model.lp"), r"\.cbf \(.*\.mps \(.*\.npz \(.*'model\.lp'"),
        (("--out", "model.mps", "--side", "left"), r"\bside 'left'.*: dual, primal\."),
        (("--out", "none/model.mps"), r"\bfolder\b.*none/model\.mps\b"),
    ],
    ids=("ending", "side", "folder"),
)
def test_bad_input_is_a_message(data: Path, monkeypatch: pytest.MonkeyPatch, arguments: Any, fact: str) -> None:
    monkeypatch.chdir(data.parent)
    refused(fact, "lpboost", "--data", data, "--set", "nu=2.5", *arguments)
    assert [path.name for path in data.parent.iterdir()] == ["data.npz"]


@pytest.mark.thorough
def test_cones_are_refused_for_mps(data: Path, tmp_path: Path) -> None:
    arguments = ("--data", data, "--nu", 2, "--eta", 4, "--out", tmp_path / "model.mps")
    refused(r"\bMPS\b.*\berlpboost\b.*\bexponential\b", "erlpboost", *arguments)


def test_the_example_of_the_help_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    help_result = run("export", "--help")
    assert HELP in " ".join(help_result.stdout.replace("\\\n", "").split())
    assert HELP in (export_command.__doc__ or "")
    result = run(*shlex.split(HELP)[1:])
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "model.mps").exists()


def test_unread_data_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", U=REFERENCE_U, v=np.ones(3))
    out = tmp_path / "model.mps"
    result = run("export", "lpboost", "--data", tmp_path / "data.npz", "--set", "nu=2.5", "--out", out)
    assert result.exit_code == 0
    assert re.fullmatch(rf"warning: {re.escape(str(tmp_path / 'data.npz'))} .*: v\.\n", result.stderr)
