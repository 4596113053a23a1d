"""Forged files of programs are refused in words or read as a second reader reads them; the faults found so, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from conic_programs.program_file_forgeries import FORMATS, forge
from conic_programs.test_readers import CBF, MPS, QPS, SDPA, write_file
from support.speeds import many

from boostopt import ConicProgram, load_problem, save_problem
from boostopt.errors import DataError


@pytest.mark.parametrize("ending", FORMATS)
def test_forged_files_are_refused_or_read_by_two_readers_alike(ending: str, tmp_path: Path) -> None:
    counts = forge(ending, many(1500, 70), 0, tmp_path)
    for outcome in ("read", "refused"):
        assert sum(kind[outcome] for kind in counts.values()) > many(300, 12), counts
    assert sum(kind["read by one"] for kind in counts.values()) <= many(50, 5), counts


FIXED = """NAME
ROWS
 N  cost
 G  row one
COLUMNS
    col one   cost               1.0   row one            2.0
RHS
    rhs       row one            1.0
ENDATA
"""


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        # The number would be cut at the end of its field.
        ("a.mps", FIXED.replace("         2.0", "1.234567890123456"), 6),
        # The name would be cut.
        ("a.mps", FIXED.replace(" G  row one", " G  row one12"), 4),
        # Fixed MPS has rows "row one", free MPS the variable "col" in rows that exist too.
        ("a.mps", FIXED.replace("    rhs       row one ", "    rhs    row one    "), 8),
        # HiGHS reads a range from the side 0, and drops ranges behind bounds.
        ("a.mps", MPS.replace("RHS\n rhs limit 4 need 0\n rhs cost -5\n", "").replace("BOUNDS", "RHS\nBOUNDS"), 15),
        ("a.mps", MPS.replace("RANGES\n rng limit 2.5\n", "").replace("ENDATA", "RANGES\n rng limit 2.5\nENDATA"), 22),
        ("a.mps", MPS.replace("ENDATA", "OBJSENSE\n MAX\nENDATA"), 24),  # HiGHS minimizes
        ("a.mps", MPS.replace("ROWS", "OBJSENSE MAXIMIZE\nROWS"), 3),  # HiGHS minimizes
        ("a.mps", MPS.replace("ROWS", "OBJSENSE\tMAX\nROWS"), 3),  # HiGHS minimizes
        ("a.mps", MPS.replace("ROWS", "OBJSENSE\nROWS"), 4),
        ("a.mps", MPS.replace("ROWS", "OBJSENSE\n MAX\n MIN\nROWS"), 5),
        ("a.mps", MPS.replace("ENDATA", "BOUNDS\nENDATA"), 24),
        ("a.mps", MPS.replace(" z balance -1", " z balance -1\n x balance 1"), 15),  # HiGHS has two variables x
        ("a.mps", MPS.replace("limit 4 need 0", "limit 4 need 0 balance 1"), 16),  # HiGHS skips the third pair
        ("a.mps", MPS.replace("rhs cost -5", "rhs free -5"), 17),  # HiGHS takes it as the constant of the objective
        ("a.mps", MPS.replace(" rhs cost", " need cost"), 17),  # HiGHS takes the set as a row
        ("a.mps", MPS.replace(" rhs cost -5", " cost -5"), 17),  # of another set, the one without a name
        ("a.mps", MPS.replace(" y ", " NAME ").replace("FR bnd NAME", "FR bnd y"), 12),  # HiGHS skips the line
        ("a.mps", MPS.replace("rng limit", "NAME limit"), 19),  # HiGHS skips the line
        ("a.mps", MPS.replace("limit 2.5", "limit 2.5D0"), 19),  # HiGHS reads D in free MPS, and drops it in fixed
        ("a.mps", MPS + " x need 1\n", 25),
        ("a.mps", MPS.replace("ENDATA", "ENDATA MORE"), 24),
        ("a.mps", "NAME\nENDATA\n", 2),
        ("a.mps", MPS.replace(" y limit 1", " y limit 1\r w need 1"), 13),  # one line for HiGHS, which skips the rest
        ("a.mps", MPS.replace("* a comment", "* a comment\rNAME u"), 1),  # a comment for others
        ("a.mps", MPS.replace(" L limit", " L limit\u00a0"), 5),  # a letter for HiGHS
        ("a.mps", MPS.replace("x need", "x\0 need"), 11),
        ("a.dat-s", SDPA.replace("(2, -1)", "(2, -1, 3)"), 4),
        ("a.dat-s", SDPA.replace("2 = number of v", "2 3 = number of v"), 2),
        ("a.dat-s", SDPA + "* 1 1 1 1\n", 11),  # other readers end here
        ("a.cbf", CBF.replace("@0:POW", "@1:POW"), 21),
        ("a.cbf", CBF.replace("@0:POW", "@00:POW"), 21),
    ],
)
def test_what_tools_read_as_different_programs_is_refused(tmp_path: Path, name: str, text: str, line: int) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    with pytest.raises(DataError, match=rf"line {line}: expected .*; got .*\. Correct the line"):
        load_problem(path)


def test_numbers_without_a_meaning_and_quadratic_terms_beside_names_with_spaces(tmp_path: Path) -> None:
    text = FIXED.replace(
        "ENDATA", "BOUNDS\n FR bnd       col one   7\nQUADOBJ\n    col one   col one            3.0\nENDATA"
    )
    program = load_problem(write_file(tmp_path, "fixed.mps", text))
    assert (program.lower.tolist(), program.upper.tolist(), program.P.toarray().tolist()) == (
        [-np.inf],
        [np.inf],
        [[3]],
    )


def test_a_file_of_names_with_spaces_is_fixed_on_all_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 4: expected all lines in the columns of fixed MPS"):
        load_problem(write_file(tmp_path, "fixed.mps", FIXED.replace(" N  cost", " N cost")))


def test_an_objective_without_a_right_side_has_the_constant_zero_without_a_sign(tmp_path: Path) -> None:
    assert str(load_problem(write_file(tmp_path, "a.qps", QPS.replace(" rhs cost -5\n", ""))).offset) == "0.0"


LARGE = 10**8
"""More variables than the memory of a small machine holds; none of them is listed."""


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.cbf", f"VER\n3\nOBJSENSE\nMIN\nVAR\n{LARGE} 1\nF {LARGE}\n", 6),
        ("a.cbf", f"VER\n3\nOBJSENSE\nMIN\nVAR\n1 1\nF 1\nCON\n{LARGE} 1\nL= {LARGE}\n", 9),
        ("a.dat-s", "1\n1\n10000\n1.0\n", 3),
        ("a.dat-s", f"1\n1\n-{LARGE}\n1.0\n", 3),
    ],
)
def test_sizes_of_texts_that_no_line_lists(tmp_path: Path, name: str, text: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"line {line}: expected .* 10,000,000"):
        load_problem(write_file(tmp_path, name, text))


def test_sizes_of_arrays_that_no_entry_lists(tmp_path: Path) -> None:
    ones = np.ones(2)
    program = ConicProgram(A=ones[:, None] @ ones[None], c=ones, row_lower=ones, row_upper=ones, lower=ones, upper=ones)
    save_problem(program, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as archive:
        content: dict[str, Any] = dict(archive) | {"n": np.array(LARGE)}
    np.savez(tmp_path / "large.npz", **content)
    with pytest.raises(DataError, match=f"c must have {LARGE} numbers"):
        load_problem(tmp_path / "large.npz")
    save_problem(program, tmp_path / "a.mat")
    arrays = scipy.io.loadmat(tmp_path / "a.mat", spmatrix=False)
    for changes in ({"c": scipy.sparse.csc_array((LARGE, 1))}, {"A": scipy.sparse.csc_array((LARGE, 2))}):
        content = {key: array for key, array in (arrays | changes).items() if not key.startswith("_")}
        scipy.io.savemat(tmp_path / "large.mat", content)
        with pytest.raises(DataError, match=r"a sparse array of shape \(100000000, .*10,000,000"):
            load_problem(tmp_path / "large.mat")
