"""Files of programs: what each format states, what is refused with its line, round trips with the writers."""

from __future__ import annotations

import gzip
import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.io
import scipy.sparse

from boostopt import ConicProgram, certify_problem, exact_optimum, get_formulation, load_problem
from boostopt.conic_programs.readers.matlab_elements import check_elements
from boostopt.errors import DataError
from boostopt.exporting import export

INSTANCES = Path(__file__).parents[3] / "shared" / "instances"

MPS = """* a comment
NAME small
ROWS
 N cost
 L limit
 G need
 E balance
 N free
COLUMNS
 x cost 1 limit 1
 x need 1e-13
 y cost 2 balance 1
 y limit 1 free 9
 z balance -1
RHS
 rhs limit 4 need 0
 rhs cost -5
RANGES
 rng limit 2.5
BOUNDS
 UP bnd x 4
 FR bnd y
 LO bnd z 1
ENDATA
"""

QPS = MPS.replace("ENDATA", "QUADOBJ\n x x 2\n x y 1\n y y 4\nENDATA")

CBF = """# two cones
VER
3
POWCONES
1 2
2
0.25
0.75
OBJSENSE
MAX
VAR
6 2
F 3
L+ 3
CON
13 5
L= 1
Q 3
QR 3
EXP 3
@0:POW 3
"""

SDPA = """"a comment
2 = number of variables
2 = number of blocks
(2, -1)
{1.0, 2.0}
0 1 1 2 1.0
1 1 1 1 1.0
2 1 2 2 1.0
1 2 1 1 1.0
0 2 1 1 0.25
"""


def write_file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_mps_rows_ranges_bounds_and_tiny_entries(tmp_path: Path) -> None:
    program = load_problem(write_file(tmp_path, "small.mps", MPS))
    assert (program.name, program.column_names, program.row_names) == (
        "small",
        ("x", "y", "z"),
        ("limit", "need", "balance"),
    )
    np.testing.assert_array_equal(program.A.toarray(), [[1, 1, 0], [1e-13, 0, 0], [0, 1, -1]])
    np.testing.assert_array_equal(program.row_lower, [1.5, 0, 0])
    np.testing.assert_array_equal(program.row_upper, [4, np.inf, 0])
    np.testing.assert_array_equal(program.lower, [0, -np.inf, 1])
    np.testing.assert_array_equal(program.upper, [4, np.inf, np.inf])
    assert (program.offset, program.P, program.is_linear) == (5.0, None, True)
    assert exact_optimum(program).value == Fraction(15, 2)  # x = 1/2, y = z = 1


def range_file(row_type: str, side: str, width: str) -> str:
    return (
        f"ROWS\n N cost\n {row_type} row\nCOLUMNS\n x cost -1 row 1\nRHS\n RHS row {side}\n"
        f"RANGES\n RNG row {width}\nBOUNDS\n FR BND x\nENDATA\n"
    )


@pytest.mark.parametrize(
    ("row_type", "side", "width", "lower", "upper"),
    [
        ("G", "0.1", "0.2", 0.1, 0.3),  # the sum of the two floats is 0.30000000000000004
        ("L", "0.3", "-0.1", 0.2, 0.3),
        ("E", "0.1", "0.2", 0.1, 0.3),
        ("E", "0.3", "-0.1", 0.2, 0.3),
        ("E", "0.3", "0", 0.3, 0.3),
    ],
)
def test_both_ends_of_a_range_are_the_decimals_of_the_file(
    tmp_path: Path, row_type: str, side: str, width: str, lower: float, upper: float
) -> None:
    program = load_problem(write_file(tmp_path, "range.mps", range_file(row_type, side, width)))
    assert (program.row_lower.tolist(), program.row_upper.tolist()) == ([lower], [upper])
    assert exact_optimum(program, numbers="decimal").value == -Fraction(str(upper))


@pytest.mark.parametrize(
    ("row_type", "side", "width"),
    [("G", "1e308", "1e308"), ("L", "-1e308", "1e308"), ("G", "1e17", "1"), ("L", "1e17", "1"), ("E", "1", "1e-17")],
)
def test_ranges_without_two_ends_in_floats_are_refused(tmp_path: Path, row_type: str, side: str, width: str) -> None:
    with pytest.raises(DataError, match=r"range.mps: .*ranges .*1e\+?-?(308|17)"):
        load_problem(write_file(tmp_path, "range.mps", range_file(row_type, side, width)))


def test_qps_states_the_lower_triangle(tmp_path: Path) -> None:
    program = load_problem(write_file(tmp_path, "small.qps", QPS))
    np.testing.assert_array_equal(program.P.toarray(), [[2, 1, 0], [1, 4, 0], [0, 0, 0]])
    full = load_problem(
        write_file(tmp_path, "full.qps", QPS.replace("QUADOBJ", "QMATRIX").replace("x y 1", "x y 1\n y x 1"))
    )
    np.testing.assert_array_equal(full.P.toarray(), program.P.toarray())
    problem = program.to_cvxpy()
    problem.solve(solver=cp.CLARABEL)
    certificate = certify_problem(problem)
    assert certificate.scaled_gap < 1e-6
    assert certificate.lower <= 7.5 + 0.25 + 0.5 + 2.0 <= certificate.upper  # x = 1/2, y = 1


def test_names_with_spaces_are_read_by_the_columns_of_fixed_mps(tmp_path: Path) -> None:
    text = "NAME\nROWS\n N  cost\n G  row one\nCOLUMNS\n    col one   cost               1.0   row one            2.0\n"
    text += "RHS\n    rhs       row one            1.0\nENDATA\n"
    program = load_problem(write_file(tmp_path, "fixed.mps", text))
    assert (program.row_names, program.column_names) == (("row one",), ("col one",))
    assert exact_optimum(program).value == Fraction(1, 2)


def test_mps_of_a_maximum(tmp_path: Path) -> None:
    text = MPS.replace("ROWS", "OBJSENSE\n MAX\nROWS", 1)
    # x + 2 y + 5 with 1.5 <= x + y <= 4, 0 <= x, 1 <= y
    assert exact_optimum(load_problem(write_file(tmp_path, "max.mps", text))).value == 13
    assert exact_optimum(load_problem(write_file(tmp_path, "max.mps", text.replace("\n MAX", " MAX")))).value == 13


def test_cbf_cones_and_senses(tmp_path: Path) -> None:
    text = CBF + "OBJACOORD\n2\n0 1.0\n3 -2.0\nOBJBCOORD\n0.5\nACOORD\n2\n0 0 1.0\n1 3 2.0\nBCOORD\n2\n0 -1.0\n4 1.0\n"
    program = load_problem(write_file(tmp_path, "cones.cbf", text))
    assert (program.shape, program.is_maximized, program.offset) == ((1, 6), True, -0.5)
    np.testing.assert_array_equal(program.c, [-1, 0, 0, 2, 0, 0])
    np.testing.assert_array_equal(program.lower, [-np.inf] * 3 + [0] * 3)
    assert (program.row_lower[0], program.row_upper[0]) == (1.0, 1.0)
    kinds = [(cone.kind, len(cone.b)) for cone in program.cones]
    assert kinds == [("second_order", 3), ("second_order", 3), ("exponential", 3), ("power", 3)]
    assert program.cones[3].exponent == 0.25
    np.testing.assert_array_equal(program.cones[1].b, [1.0, 1.0, 0.0])  # 2 z_0 z_1 >= z_2^2 with z_0 = 1


@pytest.mark.parametrize(
    ("cone", "point", "is_inside"),
    [
        ("QR", (1.0, 2.0, 2.0), True),
        ("QR", (1.0, 2.0, 2.01), False),
        ("EXP", (2.72, 1.0, 1.0), True),
        ("EXP", (2.71, 1.0, 1.0), False),
        ("@0:POW", (1.0, 16.0, 8.0), True),
        ("@0:POW", (1.0, 16.0, 8.01), False),
        ("Q", (5.0, 3.0, 4.0), True),
        ("Q", (4.99, 3.0, 4.0), False),
    ],
)
def test_cbf_cones_contain_what_the_format_says(tmp_path: Path, cone: str, point: Any, is_inside: bool) -> None:
    text = "VER\n3\nPOWCONES\n1 2\n2\n0.25\n0.75\nOBJSENSE\nMIN\nVAR\n3 1\nF 3\nCON\n3 1\n" + cone + " 3\n"
    text += "ACOORD\n3\n0 0 1.0\n1 1 1.0\n2 2 1.0\n"
    problem = load_problem(write_file(tmp_path, "cone.cbf", text)).to_cvxpy()
    (x,) = problem.variables()
    x.value = np.array(point)
    violation = max(float(np.max(constraint.violation())) for constraint in problem.constraints)
    assert (violation < 1e-6) == is_inside


def test_sdpa_blocks(tmp_path: Path) -> None:
    program = load_problem(write_file(tmp_path, "small.dat-s", SDPA))
    np.testing.assert_array_equal(program.c, [1, 2])
    np.testing.assert_array_equal(program.A.toarray(), [[1, 0]])
    np.testing.assert_array_equal(program.row_lower, [0.25])
    np.testing.assert_array_equal(program.cones[0].b, [0, -1, -1, 0])
    problem = program.to_cvxpy()
    problem.solve(solver=cp.CLARABEL)
    # x_1 x_2 >= 1: the minimum of x_1 + 2 x_2 is 2 sqrt(2).
    certificate = certify_problem(problem)
    assert certificate.lower <= 2 * 2**0.5 <= certificate.upper
    assert certificate.scaled_gap < 1e-6


def test_matlab_files_of_both_collections(tmp_path: Path) -> None:
    A = scipy.sparse.csc_matrix(np.array([[3.0, 1.0]]))
    linear = {"A": A, "b": [[1.0]], "c": [[1.0], [1.0]], "lo": [[0.0], [0.0]], "hi": [[1e32], [1e20]], "z0": [[2.0]]}
    scipy.io.savemat(tmp_path / "linear.mat", linear)
    program = load_problem(tmp_path / "linear.mat")
    np.testing.assert_array_equal(program.upper, [np.inf, np.inf])
    assert exact_optimum(program).value == Fraction(7, 3)
    scipy.io.savemat(
        tmp_path / "nested.mat", {"Problem": {"A": A, "b": [[1.0]], "aux": {k: linear[k] for k in linear}}}
    )
    assert exact_optimum(load_problem(tmp_path / "nested.mat")).value == Fraction(7, 3)
    rows = scipy.sparse.csc_matrix(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    arrays = {"P": scipy.sparse.csc_matrix(np.eye(2)), "q": [[0.0], [0.0]], "r": [[1.0]], "A": rows}
    bounds = {"l": [[1.0], [-1e20], [0.75]], "u": [[1.0], [1e20], [1e20]]}
    scipy.io.savemat(tmp_path / "quadratic.mat", arrays | bounds)
    program = load_problem(tmp_path / "quadratic.mat")
    np.testing.assert_array_equal(program.lower, [-np.inf, 0.75])
    assert program.shape == (1, 2)
    scipy.io.savemat(tmp_path / "bounds.mat", arrays | bounds | {"A": rows[::-1]})
    with pytest.raises(DataError, match="identity"):
        load_problem(tmp_path / "bounds.mat")
    scipy.io.savemat(tmp_path / "other.mat", {"B": [[1.0]]})
    with pytest.raises(DataError, match=r"got B\."):
        load_problem(tmp_path / "other.mat")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.mps", MPS.replace("need 1e-13", "need abc"), 11),
        ("a.mps", MPS.replace("x need", "x nought"), 11),
        ("a.mps", MPS.replace(" x need 1e-13", " x limit 2"), 11),
        ("a.mps", MPS.replace(" L limit", " K limit"), 5),
        ("a.mps", MPS.replace("COLUMNS", "COLUMN"), 9),
        ("a.mps", MPS.replace(" UP bnd x 4", " UP bnd x -4"), 21),
        ("a.mps", MPS.replace(" UP bnd x 4", " BV bnd x"), 21),
        ("a.mps", MPS.replace(" UP bnd x 4", " UP bnd w 4"), 21),
        ("a.mps", MPS.replace(" LO bnd z 1", " LO two z 1"), 23),
        ("a.mps", MPS.replace(" x cost 1", " M1 'MARKER' 'INTORG'\n x cost 1"), 10),
        ("a.mps", MPS.replace("limit 4", "limit inf"), 16),
        ("a.qps", QPS.replace("x y 1", "x x 1"), 26),
        ("a.cbf", CBF.replace("EXP 3", "EXP 4"), 20),
        ("a.cbf", CBF.replace("13 5", "14 5"), 21),
        ("a.cbf", CBF.replace("OBJSENSE", "INT"), 9),
        ("a.cbf", CBF + "ACOORD\n1\n0 6 1.0\n", 24),
        ("a.cbf", CBF.replace("3\nPOW", "4\nPOW"), 3),
        ("a.dat-s", SDPA.replace("0 1 1 2 1.0", "0 1 1 3 1.0"), 6),
        ("a.dat-s", SDPA.replace("1 1 1 1 1.0", "1 1 1 1"), 7),
        ("a.dat-s", SDPA.replace("(2, -1)", "(2)"), 4),
        ("a.dat-s", SDPA.replace("1.0, 2.0", "1.0, nan"), 5),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, name: str, text: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"line {line}: expected "):
        load_problem(write_file(tmp_path, name, text))


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.mps", MPS.replace(" G need", " NE need"), 6),  # a type of two letters is no type
        ("a.mps", MPS.replace("\n rhs limit 4", "\nRHS limit 4"), 16),  # would begin a section and drop its numbers
        ("a.mps", MPS.replace(" y cost", " *y cost"), 12),  # a comment for some readers, a variable for others
        ("a.mps", MPS.replace("ROWS", "x cost 1\nROWS").replace("x cost", " x cost", 1).replace("NAME small\n", ""), 2),
        ("a.mps", MPS.replace(" limit 4", " limit 1_0"), 16),  # Python reads 10
        ("a.mps", MPS.replace(" limit 4", " limit 1e-400"), 16),  # would be 0
        ("a.mps", MPS.replace("rng limit", "rng cost"), 19),
        ("a.mps", MPS.replace(" FR bnd y", " UP bnd x 5"), 22),  # HiGHS takes the first of two bounds, others the last
        ("a.mps", MPS.replace(" FR bnd y", " FR bnd x"), 22),
        ("a.mps", QPS.replace("QUADOBJ", "QSECTION need"), 24),  # quadratic terms of a row
        ("a.mps", MPS.replace("ROWS", "OBJSENSE MAX\nOBJSENSE\n MIN\nROWS"), 4),  # one of two senses
        ("a.cbf", CBF.replace("Q 3", "Q \u00b3"), 18),  # a digit that is no number
        ("a.cbf", CBF + "VAR\n6 1\nF 6\n", 22),
        ("a.cbf", CBF.replace("1 2\n2", "1 3\n2"), 5),
        ("a.cbf", CBF + "ACOORD\n2\n0 0 0.1\n0 0 0.2\n", 25),  # their sum would be rounded
        ("a.cbf", CBF + "BCOORD\n2\n0 0.1\n0 0.2\n", 25),
        ("a.dat-s", SDPA + "0 1 2 1 1.0\n", 11),  # the transposed place of an entry that the file has
        ("a.dat-s", SDPA + "0 2 1 1 1.0\n", 11),
        ("a.dat-s", SDPA.replace("2 = number of v", "2.5 = number of v"), 2),
        ("a.dat-s", SDPA.replace("(2, -1)", "(2.1)"), 4),
    ],
)
def test_what_would_be_read_as_another_program_is_refused(tmp_path: Path, name: str, text: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"line {line}: expected .*; got .*\. Correct the line"):
        load_problem(write_file(tmp_path, name, text))


def test_sections_behind_a_star_are_refused_and_comments_are_not(tmp_path: Path) -> None:
    for section in ("*INTEGER\n*1\n", "* rank1 \n*1\n"):
        with pytest.raises(DataError, match=r"line 11: expected .*; got '\*"):
            load_problem(write_file(tmp_path, "a.dat-s", SDPA + section))
    assert load_problem(write_file(tmp_path, "a.dat-s", "*integer programming\n" + SDPA)).shape == (1, 2)


@pytest.mark.parametrize(
    ("exponents", "share"), [(("1", "2"), None), (("0.3", "0.7"), 0.3), (("3", "7"), 0.3), (("1e-3", "1"), None)]
)
def test_exponents_of_power_cones_are_not_rounded(tmp_path: Path, exponents: Any, share: float | None) -> None:
    text = CBF.replace("0.25\n0.75", "\n".join(exponents))
    if share is None:
        with pytest.raises(DataError, match=r"expected exponents .* got \(.*\)\. State"):
            load_problem(write_file(tmp_path, "a.cbf", text))
    else:
        assert load_problem(write_file(tmp_path, "a.cbf", text)).cones[3].exponent == share


def test_rotated_cones_are_not_rounded(tmp_path: Path) -> None:
    def read(first: str, second: str) -> ConicProgram:
        return load_problem(write_file(tmp_path, "a.cbf", CBF + f"ACOORD\n2\n4 0 {first}\n5 0 {second}\n"))

    np.testing.assert_array_equal(read("0.5", "3").cones[1].A.toarray()[:, 0], [2.0, -1.0, 0.0])
    # 0.1 + 1e-20 / 2 rounds to 0.1, 5e-324 / 2 to 0, and 1.7e308 + 0.8e308 overflows.
    for first, second in (("0.1", "1e-20"), ("1", "5e-324"), ("1.7e308", "1.6e308")):
        with pytest.raises(DataError, match=r"expected a cone QR .*; got others\. State"):
            read(first, second)


def test_a_file_without_its_first_sections_ends_too_early(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"sections OBJSENSE and VAR .*end of the file"):
        load_problem(write_file(tmp_path, "a.cbf", "VER\n3\nVAR\n1 1\nF 1\n"))


def test_mps_sections_of_one_file_have_their_own_meaning(tmp_path: Path) -> None:
    both = QPS.replace("QUADOBJ\n x x 2\n x y 1\n", "QMATRIX\n x x 2\nQSECTION cost\n x y 1\n")
    program = load_problem(write_file(tmp_path, "both.qps", both))
    np.testing.assert_array_equal(program.P.toarray(), [[2, 1, 0], [1, 4, 0], [0, 0, 0]])
    with pytest.raises(DataError, match=r"half\.qps: .*symmetric"):
        load_problem(write_file(tmp_path, "half.qps", QPS.replace("QUADOBJ", "QMATRIX")))


def test_tabs_and_all_line_ends_and_characters_of_comments(tmp_path: Path) -> None:
    reference = load_problem(write_file(tmp_path, "a.mps", MPS))
    for variant in (MPS.replace(" ", "\t"), MPS.replace("\n", "\r\n"), MPS.replace("\n", "\r")):
        (tmp_path / "b.mps").write_bytes(variant.encode())
        assert (load_problem(tmp_path / "b.mps").A != reference.A).nnz == 0
    # str.splitlines ends a line at \x85, and the rest of the comment becomes a line of data.
    (tmp_path / "c.mps").write_bytes(MPS.encode().replace(b" y cost", b"* caf\xe9\x85 w limit 1\n y cost"))
    assert load_problem(tmp_path / "c.mps").column_names == ("x", "y", "z")


@pytest.mark.parametrize(("name", "text"), [("a.mps", MPS), ("a.cbf", CBF), ("a.dat-s", SDPA)])
def test_files_that_end_too_early(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(DataError, match="end of the file"):
        load_problem(write_file(tmp_path, name, "\n".join(text.splitlines()[:3]) if name != "a.cbf" else "VER"))


def test_endings_and_compression(tmp_path: Path) -> None:
    (tmp_path / "a.mps.gz").write_bytes(gzip.compress(MPS.encode()))
    assert load_problem(tmp_path / "a.mps.gz").shape == (3, 3)
    with pytest.raises(DataError, match=r"'\.txt'"):
        load_problem(write_file(tmp_path, "a.txt", MPS))
    with pytest.raises(DataError, match="No such file"):
        load_problem(tmp_path / "absent.mps")


@pytest.mark.parametrize(("name", "ending"), [("lpboost", ".mps"), ("qp_reg_adaboost", ".mps"), ("erlpboost", ".cbf")])
def test_programs_that_are_exported_are_read_back(tmp_path: Path, name: str, ending: str) -> None:
    U = np.random.default_rng(0).choice([-1.0, 1.0], (12, 4)) * 0.1
    parameters = {"lpboost": {"nu": 3.0}, "qp_reg_adaboost": {"C": 1.0}, "erlpboost": {"nu": 3.0, "eta": 5.0}}[name]
    bound = get_formulation(name).bind(U, **parameters)
    export(bound, tmp_path / f"program{ending}")
    program = load_problem(tmp_path / f"program{ending}")
    certificate = bound.solve().certificate
    if program.is_linear:
        value = exact_optimum(program).value
        assert value is not None and Fraction(certificate.lower) <= value <= Fraction(certificate.upper)
    problem = program.to_cvxpy()
    problem.solve(solver=cp.CLARABEL)
    interval = certify_problem(problem)
    assert interval.lower <= certificate.upper and certificate.lower <= interval.upper


LINEAR: dict[str, Any] = {
    "A": np.array([[1.0, 2.0]]),
    "b": np.ones(1),
    "c": np.ones(2),
    "lo": np.zeros(2),
    "hi": np.ones(2),
    "z0": 1.0,
}


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("c", np.array([1 + 2j, 1])),
        ("A", scipy.sparse.csc_matrix(np.array([[1 + 2j, 1]]))),
        ("A", np.array([[2**53 + 1, 1]])),
        ("A", np.ones((1, 2, 2))),
        ("z0", np.zeros((0, 0))),
        ("z0", np.ones(2)),
        ("c", "ab"),
        ("c", np.array([[1.0], "a"], dtype=object)),
    ],
)
def test_arrays_of_matlab_that_are_no_real_numbers(tmp_path: Path, key: str, values: Any) -> None:
    scipy.io.savemat(tmp_path / "a.mat", LINEAR)
    assert load_problem(tmp_path / "a.mat").offset == 1.0
    scipy.io.savemat(tmp_path / "a.mat", {**LINEAR, key: values})
    with pytest.raises(DataError, match=r"a\.mat: expected real arrays\b.*; got\b.*: .*\. Correct"):
        load_problem(tmp_path / "a.mat")


def test_indices_of_a_damaged_matlab_file(tmp_path: Path) -> None:
    A = scipy.sparse.csc_matrix(np.array([[1.0, 2.0], [0.0, 3.0]]))
    A.indices[1] = 2**27 + 5  # SciPy writes and reads it; its conversion to another format would leave the memory
    scipy.io.savemat(tmp_path / "a.mat", {**LINEAR, "A": A, "b": np.ones(2)})
    with pytest.raises(DataError, match=r"indices must be|exceeds matrix dimension"):
        load_problem(tmp_path / "a.mat")


NETLIB = {"afiro": "-4.6475314286e+02", "sc50a": "-6.4575077059e+01", "adlittle": "2.2549496316e+05"}
"""Optima in Netlib's table."""


def instance(folder: str, name: str) -> ConicProgram:
    path = INSTANCES / folder / name
    if not path.is_file():
        pytest.skip(f"there is no file {path}: the instances of others are not part of the project")
    try:
        return load_problem(path)
    except DataError as refusal:
        if "Upgrade SciPy" not in str(refusal):
            raise
        pytest.skip(str(refusal))


@pytest.mark.parametrize("name", NETLIB)
def test_optima_of_netlib(name: str) -> None:
    optimum = exact_optimum(instance("netlib", f"{name}.mat"), numbers="decimal")
    assert optimum.is_proved()
    assert optimum.value is not None and f"{float(optimum.value):.10e}" == NETLIB[name]


@pytest.mark.parametrize("name", ["itest2", "klein1", "woodinfe"])
def test_infeasible_programs_of_netlib(name: str) -> None:
    optimum = exact_optimum(instance("netlib_infeasible", f"lpi_{name}.mat"))
    assert (optimum.status, optimum.is_proved()) == ("infeasible", True)


@pytest.mark.thorough
def test_data_that_were_rounded_to_floats_are_infeasible_and_their_decimals_are_not() -> None:
    program = instance("netlib", "scorpion.mat")
    binary, decimal = exact_optimum(program), exact_optimum(program, numbers="decimal")
    assert (binary.status, binary.is_proved()) == ("infeasible", True)
    assert decimal.is_proved()
    assert decimal.value is not None and f"{float(decimal.value):.10e}" == "1.8781248227e+03"


def matlab_file(**variables: Any) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("place", "number", "corner"),
    [
        (127, 0, "no byte order"),
        (128, 9, "where a matrix must be"),
        (128, 13, "where a matrix must be"),
        (128, 77, "type 77"),
        (132, 255, "is none"),
        (136, 5, "begin with its flags"),
        (144, 0, "class 0"),
        (144, 135, "class 135"),
        (145, 8, "2 parts of numbers"),
        (152, 6, "begin with its flags"),
        (163, 255, "sizes"),
        (164, 3, "another number of entries"),
        (168, 9, "bytes"),
        (176, 148, "type 148"),
        (177, 108, "type"),
        (180, 8, "the tag of an element|another number|is none|parts"),
    ],
)
def test_types_that_no_matlab_file_has(tmp_path: Path, place: int, number: int, corner: str) -> None:
    """SciPy reads memory that is not its own for some of them."""
    content = bytearray(matlab_file(c=np.ones(2)))
    check_elements(bytes(content))
    content[place] = number
    with pytest.raises(ValueError, match=corner):
        check_elements(bytes(content))
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.mat: expected a MATLAB 5 file"):
        load_problem(tmp_path / "a.mat")


def test_elements_of_structures_cells_texts_and_compressed_files() -> None:
    record = {"text": "word", "number": 1.0, "empty": np.zeros((0, 3)), "inner": {"complex": np.array([1 + 2j])}}
    cells = np.array(["a", 1.0], dtype=object)
    for is_compressed in (False, True):
        stream = io.BytesIO()
        scipy.io.savemat(
            stream, {"record": record, "cells": cells, "A": scipy.sparse.eye(3)}, do_compression=is_compressed
        )
        check_elements(stream.getvalue())
        with pytest.raises(ValueError, match=r"cut|is none"):
            check_elements(stream.getvalue()[:-9])
