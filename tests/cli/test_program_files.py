"""`certify-problem` and `compare` take files of programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runner import document, refused
from support.command_lines import run

THIRD = "NAME\nROWS\n N cost\n G row\nCOLUMNS\n x cost 1 row 3\nRHS\n rhs row 1\nENDATA\n"


@pytest.fixture
def third(tmp_path: Path) -> Path:
    path = tmp_path / "third.mps"
    path.write_text(THIRD)
    return path


def test_certify_problem_takes_a_file_of_a_program(third: Path) -> None:
    certificate = document("certify-problem", third, "--solver", "CLARABEL")
    assert certificate["status"] == "bounded"
    assert certificate["lower"] <= 1 / 3 <= certificate["upper"]


def test_compare_takes_files_of_programs(third: Path) -> None:
    outcome = run("compare", third, "--solvers", "clarabel,scs")
    assert outcome.exit_code == 0
    assert "0.33333" in outcome.stdout


def test_a_file_of_a_program_with_a_wrong_line_is_refused(third: Path) -> None:
    third.write_text(THIRD.replace("row 3", "row three"))
    refused("line 6", "certify-problem", third)
