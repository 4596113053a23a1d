"""`boostopt compare --precision`: single solves at several accuracies, on the command line and as a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runner import document, refused
from support.command_lines import run

from boostopt import WorkPrecision
from boostopt.comparison.documents import load_results

MODEL = """
import cvxpy as cp
import numpy as np

x = cp.Variable(2, name="x")
problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])


def crude(problem, tol):
    problem.variables()[0].value = np.full(2, 1 + tol)
    problem.constraints[0].save_dual_value(np.full(2, 2.0))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return "model.py:problem"


def test_each_accuracy_is_a_solve_and_the_table_has_the_cheapest_request(place: str) -> None:
    result = run("compare", place, "--solvers", "clarabel", "--precision", "1e-2,1e-7")
    assert result.exit_code == 0, result.stderr
    assert "cheapest request" in result.stdout and "Asked: 1e-02, 1e-07" in " ".join(result.stdout.split())


@pytest.mark.thorough
def test_a_function_in_a_file_gets_each_accuracy(place: str) -> None:
    content = document("compare", place, "--solvers", "model.py:crude", "--precision", "1e-2,1e-7")
    assert [point["request"] for point in content["points"]] == content["requests"] == [1e-2, 1e-7]
    assert content["points"][1]["scaled_gap"] < 1e-6 < content["points"][0]["scaled_gap"]


@pytest.mark.thorough
def test_all_asks_for_ten_accuracies_and_csv_has_a_line_for_each(place: str) -> None:
    result = run("compare", place, "--solvers", "clarabel", "--precision", "all", "--csv")
    assert len(result.stdout.splitlines()) == 11


@pytest.mark.thorough
def test_a_report_has_the_diagram_and_is_made_from_the_file_too(place: str, tmp_path: Path) -> None:
    run("compare", place, "--solvers", "clarabel,scs", "--precision", "1e-2,1e-5", "--report", "now.html")
    page = Path("now.html").read_text()
    assert "Work-precision diagram" in page and "cheapest request" in page and page.count("<svg") >= 4
    content = document("compare", place, "--solvers", "clarabel,scs", "--precision", "1e-2,1e-5")
    Path("later.json").write_text(json.dumps(content))
    assert isinstance(load_results("later.json"), WorkPrecision)
    assert run("report", "later.json", "-o", "later.html").exit_code == 0
    assert "Work-precision diagram" in Path("later.html").read_text()


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        (["--precision", "1e-2,fine"], r"--precision\b.*'1e-2,fine'"),
        (["--precision", "2"], r"\brequests\b.*\b2\b"),
        (["--precision", "1e-2", "--tol", "1e-3"], r"--precision\b.*--tol\b"),
        (["--precision", "1e-2", "--profiles", "low"], r"--precision\b.*--profiles\b"),
    ],
)
def test_wrong_accuracies_are_refused(place: str, options: list[str], pattern: str) -> None:
    refused(pattern, "compare", place, "--solvers", "clarabel", *options)
