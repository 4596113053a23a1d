"""`certify-problem` and `compare` take files of programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from command_runner import document, refused
from support.command_lines import run

from boostopt import load_problem, save_problem

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


HALF = THIRD.replace("row 3", "row 2")


@pytest.fixture
def both(third: Path) -> list[Path]:
    """Files of the programs whose optima are 1/3 and 1/2."""
    half = third.with_name("half.qps")
    half.write_text(HALF)
    return [third, half]


def test_several_files_have_a_line_each(both: list[Path]) -> None:
    outcome = run("certify-problem", *both)
    assert outcome.exit_code == 0
    lines = outcome.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines] == list(map(str, both))
    assert "0.333" in lines[0] and "0.5" in lines[1] and "bounded" in lines[1]
    intervals = document("certify-problem", *both)["problems"]
    assert [item["problem"] for item in intervals] == list(map(str, both))
    assert all(item["lower"] <= value <= item["upper"] for item, value in zip(intervals, (1 / 3, 0.5), strict=True))


def test_exact_optima_of_several_files_have_a_line_each(both: list[Path]) -> None:
    first, second = run("certify-problem", *both, "--exact").stdout.splitlines()
    assert "third.mps: " in first and "1/3" in first and "1/2" in second
    values = [item["value"] for item in document("certify-problem", *both, "--exact")["problems"]]
    assert values == ["1/3", "1/2"]


@pytest.mark.parametrize("options", [("--exact",), ()])
def test_certificates_of_several_files_are_saved_in_a_folder(
    options: tuple[str, ...], both: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "certificates"
    refused("must be a folder", "certify-problem", *both, *options, "--save", folder)
    folder.mkdir()
    assert run("certify-problem", *both, *options, "--save", folder).exit_code == 0
    assert document("verify", folder / "third.json", "--data", both[0])["accepted"]
    assert document("verify", folder / "half.json", "--data", both[1])["accepted"]


def test_several_problems_of_one_file_are_certified_and_one_is_refuted(tmp_path: Path) -> None:
    model, folder = tmp_path / "model.py", tmp_path / "certificates"
    folder.mkdir()
    model.write_text(
        "import cvxpy as cp\nx = cp.Variable()\nright = cp.Problem(cp.Minimize(x), [x >= 1])\nright.solve('CLARABEL')\n"
        "y = cp.Variable()\nfalse = cp.Problem(cp.Minimize(y), [y >= 2])\nfalse.solve('CLARABEL')\nfalse._value = 3.0\n"
    )
    places = [f"{model}:right", f"{model}:false"]
    outcome = run("certify-problem", *places, "--save", folder)
    assert outcome.exit_code == 1
    first, second = outcome.stdout.splitlines()
    assert "not refuted" in first and second.endswith("reported value 3 refuted")
    assert sorted(path.name for path in folder.iterdir()) == ["model_false.json", "model_right.json"]
    assert run("certify-problem", places[0], places[0]).exit_code == 2


def test_lists_of_problems_that_cannot_be_certified_together_are_refused(both: list[Path], tmp_path: Path) -> None:
    refused("--explain takes one problem", "certify-problem", *both, "--explain")
    refused("each once", "certify-problem", both[0], both[0])
    twin = both[0].with_suffix(".qps")
    twin.write_text(THIRD)
    refused("more than folder and ending", "certify-problem", both[0], twin, "--save", tmp_path)
    refused("No such file", "certify-problem", both[0], tmp_path / "absent.mps")
    refused("file of a linear or quadratic program", "certify-problem", both[0], "model.py:problem", "--exact")
    bent = tmp_path / "bent.qps"
    bent.write_text(THIRD.replace("ENDATA", "QUADOBJ\n x x -1\nENDATA"))
    outcome = run("certify-problem", both[0], bent, "--exact")  # the line of the first one is printed before
    assert outcome.exit_code == 2 and "1/3" in outcome.stdout and "bent.qps" in outcome.stderr


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
    text, model = tmp_path / "third.mps", tmp_path / "third.npz"
    text.write_text(THIRD)
    save_problem(replace(load_problem(text), name="a\x01b"), model)
    outcome = run("certify-problem", model, *options, "--save", tmp_path / "file.json")
    assert outcome.exit_code == 2
    assert "0.333" in outcome.stdout
    assert "printable" in outcome.stderr


def test_the_conditions_of_a_file_have_the_names_of_its_rows(third: Path) -> None:
    outcome = run("certify-problem", third, "--explain")
    assert outcome.exit_code == 0
    assert "All KKT conditions hold" in outcome.stdout and "row row" in outcome.stdout
