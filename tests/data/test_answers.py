"""Answers in text, as solvers write them by name: right where they are right, else a DataError that says why."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from support.problems import REFERENCE_NU, REFERENCE_U, reference_lpboost
from support.speeds import many
from typer.testing import CliRunner

import boostopt.cli
from boostopt import DataError, Program, get_formulation
from boostopt.data.answer_files import load_answer
from boostopt.exporting import export

RAW, PRETTY = 0, 1
"""Styles of HiGHS's solution files."""


def write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def refused(facts: str, source: str) -> None:
    """The refusal begins with the source, and has the facts right after it."""
    with pytest.raises(DataError, match=f"^{re.escape(source)}{facts}"):
        load_answer(source)


def solution(program: Program, folder: Path, side: str, style: int, change: Callable[[Any], object] = bool) -> str:
    """The solution file of HiGHS for a program exported as MPS."""
    export(program, folder / "model.mps", side)
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(folder / "model.mps")) == highspy.HighsStatus.kOk
    change(highs)
    highs.run()
    path = folder / f"{side}{style}.sol"
    assert highs.writeSolution(str(path), style) == highspy.HighsStatus.kOk
    return str(path)


# Solution files of HiGHS


@pytest.mark.parametrize("side", ["primal", "dual"])
@pytest.mark.parametrize("style, digits", [(RAW, 1e-12), (PRETTY, 1e-5)])
def test_a_solution_of_highs_holds_both_sides(tmp_path: Path, side: str, style: int, digits: float) -> None:
    program = reference_lpboost()
    answer = load_answer(solution(program, tmp_path, side, style))
    assert answer.d.shape == (6,) and answer.w.shape == (3,)
    certificate = program.certify(answer.d, answer.w)
    assert certificate.scaled_gap <= digits
    # The optimal d and w of this program are unique: no sign and no factor is left open.
    exact = program.solve("cvxpy:highs", tol=1e-12)
    np.testing.assert_allclose(answer.d, exact.d, atol=digits)
    np.testing.assert_allclose(answer.w, exact.w, atol=digits)


@pytest.mark.parametrize("style", [RAW, PRETTY])
@pytest.mark.parametrize("side", ["primal", "dual"])
def test_a_solution_of_a_quadratic_program_is_read(tmp_path: Path, side: str, style: int) -> None:
    program = get_formulation("svm").bind(REFERENCE_U, C=0.5)
    answer = load_answer(solution(program, tmp_path, side, style))
    assert program.certify(answer.d, answer.w).scaled_gap <= 1e-5
    # w is of either sign, so its multipliers could stand there with the wrong one and look no worse.
    np.testing.assert_allclose(answer.w, program.solve(tol=1e-10).w, atol=1e-4)


@pytest.mark.parametrize("style", [RAW, PRETTY])
def test_a_solution_without_a_basis_is_read(tmp_path: Path, style: int) -> None:
    """The interior point without crossover: the column Status is blank, the part Basis empty."""

    def interior(highs: Any) -> None:
        for option, value in (("solver", "ipm"), ("run_crossover", "off"), ("presolve", "off")):
            highs.setOptionValue(option, value)

    answer = load_answer(solution(reference_lpboost(), tmp_path, "primal", style, interior))
    assert reference_lpboost().certify(answer.d, answer.w).scaled_gap <= 1e-5


@pytest.mark.parametrize("style", [RAW, PRETTY])
def test_activities_and_reduced_costs_are_no_weights(tmp_path: Path, style: int) -> None:
    """With w alone in a program of d: the rows w_q have activities, the columns d_n reduced costs, all of them 7."""
    if style == RAW:
        text = "# Primal solution values\nFeasible\nObjective 7\n# Columns 1\nd_1 1\n# Rows 1\nw_1 7\n\n"
        text += "# Dual solution values\nFeasible\n# Columns 1\nd_1 7\n# Rows 1\nw_1 0.5\n\n"
        text += "# Basis\nHiGHS_basis_file v2\nValid\n# Columns 1\nd_1 7\n# Rows 1\nw_1 7\n"
    else:
        text = "Columns\n Index Status Lower Upper Primal Dual Name\n 0 BS 7 7 1 7 d_1\n"
        text += "Rows\n Index Status Lower Upper Primal Dual Name\n 0 LB 7 7 7 0.5 w_1\n\n"
        text += "Model status: Optimal\n\nObjective value: 7\n"
    answer = load_answer(write(tmp_path, "answer.sol", text))
    np.testing.assert_array_equal(answer.d, [1.0])
    np.testing.assert_array_equal(answer.w, [0.5])


@pytest.mark.parametrize("style", [RAW, PRETTY])
def test_a_solution_without_multipliers_is_half_an_answer(tmp_path: Path, style: int) -> None:
    if style == RAW:
        text = "# Primal solution values\nFeasible\nObjective 7\n# Columns 1\nw_1 1\n# Rows 1\nd_1 7\n\n"
        text += "# Dual solution values\nNone\n\n# Basis\nHiGHS_basis_file v2\nNone\n"
    else:
        text = "Columns\n Index Status Lower Upper Primal Dual Name\n 0 0 inf 1 w_1\n"
        text += "Rows\n Index Status Lower Upper Primal Dual Name\n 0 7 7 7 d_1\n"
    answer = load_answer(write(tmp_path, "answer.sol", text))
    np.testing.assert_array_equal(answer.w, [1.0])
    assert answer.d is None


def test_a_file_without_a_solution_is_an_error(tmp_path: Path) -> None:
    export(reference_lpboost(), tmp_path / "model.mps")
    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(tmp_path / "model.mps"))
    source = str(tmp_path / "none.sol")
    highs.writeSolution(source, RAW)
    refused(r", line 5: .*\bnone\. .*\blog\b", source)
    highs.writeSolution(source, PRETTY)
    refused(r", line 3: .*\bprimal, dual\b.*'0 0 0\.4", source)


# Names and values


@pytest.mark.parametrize("name", ["answer.sol", "answer.txt", "ANSWER.TXT", "answer.txt.gz"])
def test_names_and_values_are_read_in_any_order(tmp_path: Path, name: str) -> None:
    text = "# Objective value = 7\nsolution status: optimal\nobjective value:    7\n\n"
    text += "d_2 0.25 \t(obj:1)\nx_1 -3\nw_1 = 1\nd_1   5e-1\ngamma 7\nd_3 0.25\n"
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text
    answer = load_answer(write(tmp_path, name, content))
    np.testing.assert_array_equal(answer.d, [0.5, 0.25, 0.25])
    np.testing.assert_array_equal(answer.w, [1.0])
    assert answer.unread == ()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_like(tmp_path: Path, newline: str) -> None:
    answer = load_answer(write(tmp_path, "answer.txt", "\ufeffw_1 0.5" + newline + "w_2 0.5" + newline))
    np.testing.assert_array_equal(answer.w, [0.5, 0.5])


@pytest.mark.parametrize("seed", range(20))
def test_written_answers_are_read(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = {"d": rng.normal(size=rng.integers(1, 30)), "w": 10.0 ** rng.uniform(-300, 300, rng.integers(1, 30))}
    lines = [f"{name}_{i} {value!r}" for name, values in arrays.items() for i, value in enumerate(values.tolist(), 1)]
    rng.shuffle(lines)
    answer = load_answer(write(tmp_path, "answer.txt", "\n".join(lines)))
    np.testing.assert_array_equal(answer.d, arrays["d"])
    np.testing.assert_array_equal(answer.w, arrays["w"])


# Wrong files


@pytest.mark.parametrize(
    "text, facts",
    [
        ("", r" .*empty.*\bd_1\b.*\bw_1\b"),
        (" \n\t\n", r" .*empty.*\bd_1\b.*\bw_1\b"),
        ("d_1 0.5\nd_3 0.5\n", r": .*\bd_1 to d_3; d_2 .*, 1\b"),
        ("w_2 1\n", r": .*\bw_1 to w_2; w_1 .*, 1\b"),
        ("d_1 1\nw_999999999999 1\n", r": .*\bw_1 to w_999999999999; w_1 .*, 999999999998\b"),
        ("d_0 1\nd_1 1\n", r": .*\bfrom 1; got d_0\. .*\bd_1\."),
        ("d_1 1\nw_1 1\nd_1 1\n", r", line 3: d_1 .*\btwice\."),
        ("d_1 1\nd_01 1\n", r", line 2: d_01 .*\btwice\."),
        ("d_1\n", r", line 1: .*\bvalue; got 'd_1'\."),
        ("d_1 =\n", r", line 1: .*\bvalue; got 'd_1'\."),
        ("d_1 half\n", r", line 1: d_1 .*\bnumber; got 'half'\."),
        ("d_1 1,5\n", r", line 1: d_1 .*\bnumber; got '1,5'\."),
        ("d_1 1\nd_2 nan\n", r": d .*finite; got nan at \(1\), 1\b"),
        ("w_1 -inf\n", r": w .*finite; got -inf at \(0\), 1\b"),
        ("w_1 1e999\n", r": w .*finite; got inf at \(0\), 1\b"),
        ("x_1 1\ny 2\n", r" .*\bd, w\b.*; .*\bx_1, y\."),
        ("".join(f"C{i} 0\n" for i in range(9)), r" .*\bd, w\b.*; .*\bC0, C1, C2, C3, C4, C5, \.\.\.\."),
        ("all is well\n", r" .*\bd, w\b.*; .*\bnothing\."),
        ("d[1] 1\nD_1 1\nd_1_1 1\nd_1234567890123 1\n", r" .*\bd, w\b.*; .*\bd\[1\], D_1, d_1_1, d_1234"),
        ("# Primal solution values\nNone\n", r", line 2: .*\bnone\."),
        ("# Primal solution values\n# Columns 1\nd_1\n", r", line 3: .*\bvalue; got 'd_1'\."),
        ("# Primal solution values\n", r" .*\bd, w\b.*; .*\bnothing\."),
        ("Columns\nIndex Name\n0 1 2 d_1\n", r", line 3: .*\bprimal, dual\b.*; got '0 1 2 d_1'\."),
        ("d_1 0.5\0\n", r" .*\bbytes\b.* 0\."),
    ],
    ids=[
        *("empty", "blank", "a gap", "no first", "a large gap", "from 0", "twice", "twice with 0", "no value"),
        *("no value after =", "a word", "decimal comma", "nan", "minus infinity", "overflow", "other names"),
        *("many names", "words", "names alike", "no solution", "no value in a part", "no columns"),
        *("few columns", "NUL"),
    ],
)
def test_invalid_answers_are_refused_with_a_reason(tmp_path: Path, text: str, facts: str) -> None:
    refused(facts, write(tmp_path, "answer.sol", text))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    refused(".* UTF-8: ", write(tmp_path, "answer.txt", b"\x93NUMPY\xff\xfe" * 100))


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    content = gzip.compress(b"d_1 0.5\n" * 1000)
    refused(".* truncated: ", write(tmp_path, "answer.sol.gz", content[:-20]))


def test_a_name_with_very_many_digits_is_no_weight(tmp_path: Path) -> None:
    """Python refuses to read whole numbers of more than 4300 digits, by an error that is not one of ours."""
    answer = load_answer(write(tmp_path, "answer.txt", f"d_{'9' * 5000} 1\nd_1 1\n"))
    np.testing.assert_array_equal(answer.d, [1.0])


def test_another_ending_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path, "answer.json", "{}")
    with pytest.raises(DataError, match=rf"\.npz, \.csv, \.sol or \.txt; .*{re.escape(repr(source))}"):
        load_answer(source)


@pytest.mark.thorough_cases("0")
@pytest.mark.parametrize("style", [RAW, PRETTY])
def test_damaged_solutions_are_refused_or_read(tmp_path: Path, style: int) -> None:
    """Damaged files, 500 or in the fast suite 200: a DataError or finite weights, nothing else."""
    whole = Path(solution(reference_lpboost(), tmp_path, "primal", style)).read_bytes()
    chance, outcomes = random.Random(0), {"refused": 0, "read": 0}
    for _ in range(many(500, 200)):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 1, 3])):
            position = chance.randrange(len(damaged))
            match chance.randrange(4):
                case 0:
                    damaged[position] = chance.randrange(256)
                case 1:
                    del damaged[position : position + chance.randrange(1, 40)]
                case 2:
                    damaged[position:position] = damaged[: chance.randrange(1, 40)]
                case _:
                    damaged[position:position] = chance.choice(
                        [b"nan", b"-", b"e9", b"\n", b" ", b"_", b"#", b"None", b"1e999"]
                    )
            damaged = damaged or bytearray(b" ")
        try:
            answer = load_answer(write(tmp_path, "damaged.sol", bytes(damaged)))
        except DataError:
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        assert all(np.isfinite(values).all() for values in (answer.d, answer.w) if values is not None)
    assert min(outcomes.values()) > many(50, 20), outcomes


# The command


def certified(*arguments: object) -> Any:
    runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": None, "TTY_COMPATIBLE": None})
    return runner.invoke(boostopt.cli.app, ["certify", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.parametrize("side", ["primal", "dual"])
def test_certify_takes_a_solution_file(tmp_path: Path, side: str) -> None:
    export(reference_lpboost(), tmp_path / "instance.npz")
    answer = solution(reference_lpboost(), tmp_path, side, RAW)
    options = ("--data", tmp_path / "instance.npz", "--set", f"nu={REFERENCE_NU}")
    result = certified("lpboost", answer, *options)
    assert (result.exit_code, result.stderr) == (0, "")


def test_certify_of_an_answer_of_another_size_is_an_error(tmp_path: Path) -> None:
    export(reference_lpboost(), tmp_path / "instance.npz")
    answer = write(tmp_path, "answer.sol", "".join(f"d_{n} 0.1\n" for n in range(1, 11)))
    result = certified("lpboost", answer, "--data", tmp_path / "instance.npz", "--set", "nu=2.5")
    assert result.exit_code == 2
    assert re.search(r"^error: d .*\b6\b.*got shape \(10,\)", result.stderr)
