"""`boostopt compare model.py:problem`: CVXPY problems in files of users."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runner import document, refused
from support.command_lines import run

MODEL = """
import cvxpy as cp
import numpy as np

x = cp.Variable(2, name="x")
problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
circle = cp.Problem(cp.Minimize(cp.norm(x)), [x[0] + 2 * x[1] == 1])
integer = cp.Problem(cp.Minimize(cp.Variable(integer=True, name="k")))
number = 3


def stated():
    return cp.Problem(cp.Maximize(cp.sum(x)), [x <= 2])


def mine(problem):
    problem.variables()[0].value = [1.0, 1.0]
    problem.constraints[0].save_dual_value(np.ones(2))
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return "model.py"


def test_a_problem_is_compared_and_its_label_is_its_place(model: str) -> None:
    result = run("compare", f"{model}:problem", "--solvers", "clarabel")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("model.py:problem") and "Certified to" in result.stdout
    assert "reported" in result.stdout


def test_the_exit_status_is_1_where_no_solver_proves_the_gap(model: str) -> None:
    file_document = document("compare", f"{model}:circle", "--solvers", "scs", "--option", "scs.max_iters=1", status=1)
    assert not file_document["reached"] and file_document["rows"][0]["residuals"]


def test_several_problems_are_a_benchmark(model: str, tmp_path: Path) -> None:
    places = f"{model}:problem", f"{model}:stated"
    options = ("--solvers", "clarabel", "--tol", "1e-6", "--repeats", "1", "--resume", tmp_path / "runs.jsonl")
    file_document = document("compare", *places, *options)
    assert list(file_document["programs"]) == list(places) and file_document["reached"]
    assert file_document["programs"][places[1]]["upper"] == pytest.approx(4.0, abs=1e-5)
    again = document("compare", ",".join(places), *options)
    assert again["runs"] == file_document["runs"]


@pytest.mark.thorough
def test_a_function_of_the_file_is_a_solver_and_the_report_is_written(model: str, tmp_path: Path) -> None:
    command = ("compare", f"{model}:problem", "--solvers", f"clarabel,{model}:mine", "--report", tmp_path / "page.html")
    rows = document(*command)["rows"]
    assert [(row["backend"], row["reached"], row["isolated"]) for row in rows] == [
        ("clarabel", True, False),
        ("mine", True, True),
    ]
    assert rows[1]["claimed_value"] == 2.0
    assert "model.py:problem" in (tmp_path / "page.html").read_text()
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps(document(*command[:4])))
    assert run("report", saved, "-o", tmp_path / "again.html").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["model.py:integer"], r"model\.py:integer: variables must be continuous; got k,"),
        (["model.py:number"], r"a cvxpy\.Problem, .* at model\.py:number; got 3\. Pass"),
        (["model.py:missing"], r"expected a name in model\.py; got missing"),
        (["other.py:problem"], r"there is no file other\.py"),
        (
            ["model.py:problem", "lpboost"],
            r"formulations alone, or problems alone: .* as FILE:NAME .*; got problems and lpboost\.",
        ),
        (["model.py:problem", "model.py:problem"], "each once"),
        (["model.py:problem", "--data", "iris"], "no data and no parameters with FILE:NAME"),
        (["model.py:problem", "--nu", "2"], "no data and no parameters with FILE:NAME"),
        (["model.py:problem", "--solvers", "clarabell"], "'cvxpy:clarabell'.*'cvxpy:clarabel'"),
        (["model.py:problem", "--solvers", "model.py:number"], "functions of a problem; got 3"),
        (["lpboost"], "'--data'.*A CVXPY problem is FILE:NAME"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_arguments_are_refused(model: str, arguments: list[str], facts: str) -> None:
    refused(facts, "compare", *arguments)
