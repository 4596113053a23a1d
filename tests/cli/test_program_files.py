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


def test_the_exact_optimum_of_a_file_is_saved_and_verified(third: Path, tmp_path: Path) -> None:
    saved = tmp_path / "optimum.json"
    assert document("certify-problem", third, "--exact", "--save", saved)["value"] == "1/3"
    assert document("verify", saved, "--data", third)["accepted"]
    another_program = third.with_name("other.mps")
    another_program.write_text(THIRD.replace("row 3", "row 0.3"))
    assert document("certify-problem", another_program, "--exact", "--decimal")["value"] == "a/3"
    assert run("verify", saved, "--data", another_program).exit_code == 1
    assert "1/3" in run("certify-problem", third, "--exact").stdout


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("--exact", ("--decimal",)),
        ("--solver", ("--exact", "--solver", "auto")),
        ("--explain", ("--exact", "--explain")),
    ],
)
def test_options_that_exact_optima_do_not_take_are_refused(words: str, options: tuple[str, ...], third: Path) -> None:
    refused(words, "certify-problem", third, *options)


def test_an_exact_optimum_needs_a_file_of_a_program() -> None:
    refused("file of a linear or quadratic program", "certify-problem", "model.py:problem", "--exact")


def test_compare_takes_files_of_programs(third: Path) -> None:
    outcome = run("compare", third, "--solvers", "clarabel,scs")
    assert outcome.exit_code == 0
    assert "0.33333" in outcome.stdout


def test_refusals_name_what_is_wrong_and_the_endings_of_programs(third: Path) -> None:
    refused("got problems and scs. Choose one. Separate names of solvers by commas", "compare", third, "scs")
    refused("No such file or directory. Correct the path", "certify-problem", third.with_name("absent.mps"))
    refused(".mps", "certify-problem", third.with_name("model.lp"))


def test_a_file_of_a_program_with_a_wrong_line_is_refused(third: Path) -> None:
    third.write_text(THIRD.replace("row 3", "row three"))
    refused("line 6", "certify-problem", third)


DISK = """VER
3
OBJSENSE
MIN
VAR
2 1
F 2
CON
3 1
Q 3
OBJACOORD
1
0 1.0
ACOORD
2
1 0 1.0
2 1 1.0
BCOORD
1
0 2.0
"""


def test_the_certificate_of_a_file_with_cones_is_saved_and_verified(tmp_path: Path) -> None:
    model, saved = tmp_path / "disk.cbf", tmp_path / "disk.json"
    model.write_text(DISK)
    certificate = document("certify-problem", model, "--save", saved)
    assert certificate["lower"] <= -2 <= certificate["upper"]
    assert document("verify", saved, "--data", model)["accepted"]
    model.write_text(DISK.replace("0 2.0", "0 3.0"))
    assert run("verify", saved, "--data", model).exit_code == 1
    square = tmp_path / "square.qps"
    square.write_text(THIRD.replace("ENDATA", "QUADOBJ\n x x 1\nENDATA"))
    assert document("certify-problem", square, "--exact", "--save", saved)["value"] == "7/12"
    assert document("verify", saved, "--data", square)["accepted"]


@pytest.mark.parametrize("options", [("--exact",), ()])
def test_a_result_is_printed_before_a_file_is_refused(options: tuple[str, ...], tmp_path: Path) -> None:
    """A name with a control character has no place in a file."""
    model = tmp_path / "third.mps"
    model.write_text(THIRD.replace("NAME", "NAME a\x01b"))
    outcome = run("certify-problem", model, *options, "--save", tmp_path / "file.json")
    assert outcome.exit_code == 2
    assert "0.333" in outcome.stdout
    assert "printable" in outcome.stderr


def test_the_conditions_of_a_file_have_the_names_of_its_rows(third: Path) -> None:
    outcome = run("certify-problem", third, "--explain")
    assert outcome.exit_code == 0
    assert "All KKT conditions hold" in outcome.stdout and "row row" in outcome.stdout
