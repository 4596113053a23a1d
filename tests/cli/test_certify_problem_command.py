"""`boostopt certify-problem`: problems in files of users."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_runner import document, refused
from support.command_lines import run

MODEL = """
import cvxpy as cp

x = cp.Variable(2, name="x")
problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [x <= 0.5])
number = 3


def solved():
    problem.solve("CLARABEL")
    return problem


def refuted():
    problem.solve("CLARABEL")
    problem._value = 0.49
    return problem


def infeasible():
    contradiction = cp.Problem(cp.Minimize(cp.sum(x)), [x <= 0, x >= 1])
    contradiction.solve("CLARABEL")
    return contradiction
"""

TRANSPORT = """
import cvxpy as cp
import numpy as np

X = cp.Variable((4, 5), nonneg=True)
limits = [cp.sum(X, axis=1) == np.full(4, 0.25), cp.sum(X, axis=0) == np.full(5, 0.2)]
problem = cp.Problem(cp.Minimize(cp.sum(X)), limits)
problem.solve("CLARABEL")
"""
"""A problem whose right sides have sums that differ by a rounding error."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def test_the_interval_and_the_verdict_are_printed(model: Path) -> None:
    result = run("certify-problem", f"{model}:solved")
    assert result.exit_code == 0
    assert "optimum certified in" in result.stdout and "0.5" in result.stdout and "within 1e-06" in result.stdout
    file_document = document("certify-problem", f"{model}:solved")
    assert file_document["status"] == "bounded" and not file_document["refuted"] and file_document["scaled_gap"] <= 1e-8
    assert file_document["point"]["x"] == pytest.approx([0.5, 0.5])


def test_a_refuted_value_has_its_exit_status(model: Path) -> None:
    result = run("certify-problem", f"{model}:refuted")
    assert result.exit_code == 1 and "refuted: off by 1.00e-02" in result.stdout
    assert run("certify-problem", f"{model}:refuted", "--tol", "0.1").exit_code == 0
    assert document("certify-problem", f"{model}:refuted", status=1)["refuted"]


def test_infeasible_problems_and_others_without_values(model: Path) -> None:
    assert "proved infeasible" in run("certify-problem", f"{model}:infeasible").stdout
    refused("Call problem.solve.. first, or pass --solver auto", "certify-problem", f"{model}:problem")
    result = run("certify-problem", f"{model}:problem", "--solver", "auto")
    assert result.exit_code == 0 and "reported value" not in result.stdout


def test_bad_input_is_refused(model: Path) -> None:
    refused("got nothing, which it does not define", "certify-problem", f"{model}:nothing")
    refused("expected FILE:NAME", "certify-problem", "model")
    refused("there is no file", "certify-problem", "missing.py:problem")
    refused(
        "expected a cvxpy.Problem, or a function that returns one, at .*; got 3. Pass one of its problems: problem",
        "certify-problem",
        f"{model}:number",
    )
    refused("--tol must lie in", "certify-problem", f"{model}:solved", "--tol", "2")


def test_files_that_fail_and_names_that_are_no_problems_are_refused(tmp_path: Path, model: Path) -> None:
    (tmp_path / "broken.py").write_text("import cvxpy as cp\nx = 1 / 0\n")
    refused(
        r"broken.py must run as Python; .* ZeroDivisionError.*broken.py:2.*Correct the file",
        "certify-problem",
        f"{tmp_path / 'broken.py'}:problem",
    )
    (tmp_path / "model.txt").write_text("")
    refused("ending in .py; .*Pass the file of a CVXPY problem", "certify-problem", f"{tmp_path / 'model.txt'}:problem")
    model.write_text(
        MODEL + "\n\ndef sized(n):\n    return problem\n\n\ndef failing():\n    raise RuntimeError('no licence')\n"
    )
    refused(
        "needs no arguments at .*:sized; got one that is missing .*'n'. Write another",
        "certify-problem",
        f"{model}:sized",
    )
    refused(
        r"raised RuntimeError: no licence \(model.py, line \d+ in failing\). Correct the function",
        "certify-problem",
        f"{model}:failing",
    )


def test_notes_name_options(tmp_path: Path) -> None:
    path = tmp_path / "transport.py"
    path.write_text(TRANSPORT)
    result = run("certify-problem", f"{path}:problem")
    assert result.exit_code == 1 and re.search(r"\brefuted\b.*\binfeasible\b", result.stdout)
    assert "or pass --tolerance 1e-12" in " ".join(result.stdout.replace("│", " ").split())


def test_certify_problem_explains_only_problems_with_an_optimum(model: Path) -> None:
    result = run("certify-problem", f"{model}:infeasible", "--explain")
    assert result.exit_code == 0
    assert re.search(r"\bno KKT\b.*\binfeasible\b", result.stdout)


def test_certify_problem_with_explain_prints_the_conditions(model: Path) -> None:
    text = run("certify-problem", f"{model}:solved", "--explain").stdout
    assert "stationarity" in text and "KKT conditions hold" in text
    file_document = document("certify-problem", f"{model}:solved", "--explain")
    assert {condition["kind"] for condition in file_document["conditions"]} >= {"primal feasibility", "stationarity"}
    assert all(condition["holds"] for condition in file_document["conditions"])
    assert "conditions" not in document("certify-problem", f"{model}:solved")


def test_a_saved_problem_is_verified_without_data(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    assert run("certify-problem", f"{model}:solved", "--save", path).exit_code == 0
    result = run("verify", path)
    assert result.exit_code == 0 and "accepted" in result.stdout and "exact arithmetic" in result.stdout
    file_document = document("verify", path)
    assert file_document["verdict"] == "proved" and file_document["what"] == "optimum of the problem"
    assert file_document["claimed"][0] <= 0.5 <= file_document["claimed"][1]
    refused(r"holds its data\b.*--data", "verify", path, "--data", "breast_cancer")
    path.write_text(path.read_text().replace('"minimize"', '"maximize"'))
    assert run("verify", path).exit_code == 1


def test_a_proof_of_infeasibility_is_printed_as_such(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    assert run("certify-problem", f"{model}:infeasible", "--save", path).exit_code == 0
    result = run("verify", path)
    assert result.exit_code == 0 and "proved infeasible" in result.stdout and "edges" not in result.stdout


def test_files_of_problems_are_written_where_there_is_a_folder(model: Path, tmp_path: Path) -> None:
    refused(r"\bfolder\b", "certify-problem", f"{model}:solved", "--save", tmp_path / "no" / "c.json")
    refused(r"\.json\b", "certify-problem", f"{model}:solved", "--save", tmp_path / "c.csv")
