"""The outputs in the README are those of its commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command_lines import run

import boostopt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()

LONGEST = 80
"""Lines that the README may have: what needs more stands in the documentation."""


@pytest.mark.thorough
def test_the_example_runs_and_says_what_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    scope: dict[str, object] = {}
    exec(block, scope)
    output = capsys.readouterr().out
    status, certificate = output.splitlines()
    readme_lines = re.findall(r"```text\n(.*?)```", README, re.DOTALL)[0].splitlines()
    assert (
        status == readme_lines[0]
        and certificate.startswith("Certificate(lower=0.0289")
        and readme_lines[1].startswith("Certificate(")
    )
    program, solution = scope["program"], scope["solution"]
    assert isinstance(program, boostopt.Program) and isinstance(solution, boostopt.Solution)
    precise = program.solve("interior", tol=1e-9).certificate
    c = solution.certificate
    assert c.lower <= precise.upper and precise.lower <= c.upper
    assert c.scaled_gap <= 1e-4


@pytest.mark.thorough
def test_the_table_of_claims_is_what_comes_of_it() -> None:
    rows = re.findall(
        r"^\| (CVXPY, .*?|SciPy, .*?|boostopt, .*?) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", README, re.M
    )
    assert len(rows) == 5
    U = boostopt.load_dataset("breast_cancer").margin_matrix(t=100, random_state=0)
    best = boostopt.get_formulation("erlpboost").bind(U, nu=57, eta=1e4).solve("interior", tol=1e-9).certificate
    assert f"[{best.lower:.9f}"[:-1] in README
    for _, _, _, proved, _ in rows:
        if proved != "nothing":
            lower, upper = map(float, proved.strip("[]").split(","))
            assert lower <= best.upper + 1e-6 and best.lower - 1e-6 <= upper


def test_the_readme_is_no_longer_than_a_minute() -> None:
    assert len(README.splitlines()) <= LONGEST


@pytest.mark.thorough
def test_the_regularizer_of_ones_own_solves() -> None:
    (block,) = re.findall(r"```py\n(.*?)```", (DOCS / "howto" / "own_regularizer.md").read_text(), re.DOTALL)
    scope: dict[str, object] = {}
    exec(block, scope)
    page = boostopt.get_formulation(scope["tsallis"])
    program = page.bind([[1, -1, 1], [1, 1, -1], [-1, 1, 1], [1, 1, 1]], nu=2, eta=2)
    assert program.solve(tol=1e-6).certificate.gap <= 1e-6
    boostopt.check_formulation(page).raise_if_failed()


def test_the_table_of_formulations_is_complete() -> None:
    overview = (ROOT / "docs" / "overview.md").read_text()
    table = overview.split("| formulation | F(d) |")[1].split("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    names = [name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(names) == boostopt.list_formulations()


def test_the_table_of_backends_is_the_printed_one() -> None:
    page = (DOCS / "solvers.md").read_text()
    header = next(line for line in page.splitlines() if line.startswith("| formulation | `interior`"))
    backends = ",".join(re.findall(r"`(\S+)`", header))
    table = run("list", "--markdown", "--backends", backends).stdout
    assert table in page
    for name in boostopt.list_formulations():
        assert f"`{name}`" in table


def test_objects_introduce_themselves_in_a_line() -> None:
    program = boostopt.get_formulation("lpboost").bind([[1, -1], [1, 1]], nu=1)
    assert repr(program.margins) == "MarginMatrix(N=2, t=2, dense int8)"
    assert repr(program) == f"Program(lpboost, {program.margins!r}, {program.parameters!r})"
    solution = program.solve("cvxpy:highs")
    assert "verdict=bounded, solver_status='kOptimal (optimal)', Certificate(lower=" in repr(solution)
    assert "\n" not in repr(solution)
