"""`boostopt check`: exit statuses, and what goes to which stream."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from boostopt.cli import app

WRONG_PAGE = '''
"""LPBoost with a dual that forgets the slacks, and that talks."""

import cvxpy as cp

from boostopt.authoring import maximize
from boostopt.formulations.lpboost import LPBoost


class Forgetful(LPBoost):
    name = "forgetful"

    def dual(self, U, p, examples):
        print("dual built")
        w, rho = cp.Variable(U.shape[1], name="w"), cp.Variable(name="rho")
        return maximize(rho, subject_to={"d": U @ w >= rho, "gamma": cp.sum(w) == 1, "w >= 0": w >= 0})
'''


@pytest.fixture(autouse=True)
def few_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line is tested here, not the pages."""
    monkeypatch.setattr("boostopt.checks.formulation_checks.N_INSTANCES", 1)


def run(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, ["check", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.thorough
def test_a_page_that_passes_exits_with_0() -> None:
    result = run("lpboost", "--set", "nu=2.5")
    assert result.exit_code == 0
    assert re.fullmatch(r"lpboost: [a-z ]*48[a-z ]*; 2[a-z ]*\n", result.stdout)
    assert result.stderr == ""


@pytest.mark.thorough
def test_every_check_is_printed_where_it_is_asked_for() -> None:
    lines = run("lpboost", "--set", "nu=2.5", "--verbose").stdout.splitlines()
    assert re.fullmatch(r"lpboost: [a-z ]*48[a-z ]*; 2[a-z ]*", lines[0])
    assert sum(line.startswith("ok ") for line in lines) == 48


@pytest.mark.thorough
def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostopt.cli.commands.check.console", lambda: Console(width=80))
    lines = run("lpboost", "--verbose").stdout.splitlines()
    assert max(map(len, lines)) <= 80


@pytest.mark.thorough
def test_a_page_that_fails_exits_with_1_and_names_what_failed(tmp_path: Path) -> None:
    page = tmp_path / "forgetful.py"
    page.write_text(WRONG_PAGE)
    result = run(page, "--set", "two_sided=0")
    assert result.exit_code == 1
    head, *lines = result.stdout.splitlines()[1:]
    assert head.split()[0] == "check" and all(line.startswith(("FAILED ", "   ")) for line in lines)
    failed = {line.split()[1] for line in lines if line.startswith("FAILED")}
    assert failed >= {"strong-duality", "literal-dual", "printed-dual-at-w"}
    assert "dual built" not in result.stdout


@pytest.mark.thorough_cases("primal-none", "dual-raises", "dual-none")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('broken')", r"broken\.py:7 in Broken\.{side} \w+ ValueError: broken"),
        ("return None", r"\bBroken\.{side} [a-z ]+ cvxpy\.Problem; [a-z ]+ None"),
    ],
    ids=("raises", "none"),
)
@pytest.mark.parametrize("side", ["primal", "dual"])
def test_a_page_that_makes_no_problem_is_named_with_the_reason(
    tmp_path: Path, side: str, body: str, words: str
) -> None:
    page = tmp_path / "broken.py"
    page.write_text(
        "from boostopt.formulations.lpboost import LPBoost\n\n\nclass Broken(LPBoost):\n    name = 'broken'\n"
        f"    def {side}(self, U, p, examples):\n        {body}\n"
    )
    result = run(page, "--set", "nu=2", "--set", "two_sided=0")
    assert result.exit_code == 1
    assert result.stdout.startswith("broken: ")
    failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert failed
    assert len(re.findall(words.format(side=side), " ".join(result.stdout.split()))) == len(failed)


@pytest.mark.thorough
def test_the_seed_can_be_chosen() -> None:
    one, two = (run("lpboost", "--random-state", seed, "--verbose").stdout for seed in (1, 2))
    assert one != two


@pytest.mark.parametrize(
    ("arguments", "message"),
    (
        (("lpbost",), "'lpbost'"),
        (("nowhere.py",), " nowhere.py"),
        (("lpboost", "--set", "mu=1"), "'mu'"),
        (("lpboost", "--set", "nu=many"), "'nu=many'"),
    ),
    ids=("formulation", "file", "parameter", "value"),
)
def test_bad_input_exits_with_2(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
