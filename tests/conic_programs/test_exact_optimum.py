"""Exact optima of linear programs: values by hand, proofs in fractions, lies that the check refuses."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import typechecker
from conic_programs.small_programs import INF, linear_program, random_program

from benchmarks import exact_optima
from benchmarks.exact_optima import print_optima
from boostopt import ConicProgram, exact_optimum
from boostopt._utils.immutable_arrays import is_immutable
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.conic_programs.exact import exact_optimum as exact_optimum_module
from boostopt.conic_programs.exact.highs_simplex import EquationProgram, SimplexBasis
from boostopt.errors import OptionError, ProblemError

BY_HAND: dict[str, tuple[ConicProgram, str, Fraction | None]] = {
    # 3 x >= 1 in floats: the optimum is a third, which no float is.
    "a third": (linear_program([[3.0]], [1.0], ([1.0], [INF])), "optimal", Fraction(1, 3)),
    "a range": (linear_program([[1.0, 1.0]], [-1.0, -2.0], ([1.0], [2.0])), "optimal", Fraction(-4)),
    "an upper bound": (
        linear_program([[1.0, 1.0]], [-1.0, -1.0], ([-INF], [5.0]), ([0.0, 0.0], [1.0, 1.5])),
        "optimal",
        Fraction(-5, 2),
    ),
    "a free variable": (
        linear_program([[1.0, -7.0], [1.0, 1.0]], [1.0, 0.0], ([0.0, 1.0], [0.0, 1.0]), ([-INF] * 2, [INF] * 2)),
        "optimal",
        Fraction(7, 8),
    ),
    "redundant equations": (
        linear_program([[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0], ([1.0, 2.0], [1.0, 2.0])),
        "optimal",
        Fraction(1, 2),
    ),
    "a maximum with an offset": (
        linear_program([[1.0]], [-1.0], ([-INF], [0.1]), offset=-2.0, is_maximized=True),
        "optimal",
        2 + Fraction(0.1),
    ),
    "no rows": (linear_program([], [1.0, -1.0], ([], []), ([2.0, 0.0], [3.0, 4.0])), "optimal", Fraction(-2)),
    # Beyond the tolerance of every float solver: x >= 1 + 2^-50 and x <= 1.
    "infeasible by 1e-15": (
        linear_program([[1.0], [1.0]], [1.0], ([1 + 2.0**-50, -INF], [INF, 1.0])),
        "infeasible",
        None,
    ),
    "inconsistent redundant equations": (
        linear_program([[1.0, 2.0], [3.0, 6.0]], [1.0, 1.0], ([0.1, 0.3], [0.1, 0.3])),
        "infeasible",
        None,
    ),
    "crossed bounds": (linear_program([[1.0]], [1.0], ([0.0], [INF]), ([1.0], [0.0])), "infeasible", None),
    "a ray": (linear_program([[1.0, -1.0]], [-1.0, 0.0], ([0.0], [0.0])), "unbounded", None),
    # The objective falls by 2^-40 for each unit: floats call it 0.
    "a slow ray": (linear_program([[1.0, -1.0]], [-1.0, 1.0 - 2.0**-40], ([0.0], [0.0])), "unbounded", None),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_optima_by_hand(name: str) -> None:
    program, status, value = BY_HAND[name]
    optimum = exact_optimum(program)
    assert (optimum.status, optimum.value) == (status, value)
    assert optimum.is_proved()
    assert status in optimum.in_words() or str(value) in optimum.in_words()


def test_decimal_numbers_are_the_decimals_of_a_file() -> None:
    # 0.1 + 0.2 is not 0.3 in binary numbers, so the second equation contradicts the first.
    program = linear_program([[1.0, 2.0], [3.0, 6.0]], [1.0, 1.0], ([0.1, 0.3], [0.1, 0.3]))
    optimum = exact_optimum(program, numbers="decimal")
    assert (optimum.value, optimum.is_proved()) == (Fraction(1, 20), True)
    assert exact_optimum(program, numbers="binary").status == "infeasible"


KINDS = ("feasible", "any")


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_are_decided_with_proofs(kind: str) -> None:
    statuses = set[str]()
    for seed in range(40):
        optimum = exact_optimum(random_program(seed, m=6, n=9, kind=kind))
        assert optimum.is_proved()
        statuses.add(optimum.status)
    assert statuses == ({"optimal", "unbounded"} if kind == "feasible" else {"optimal", "infeasible", "unbounded"})


def test_wrong_bases_are_repaired_by_pivots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that returns the basis of logical variables, or one by chance, changes nothing but the time."""
    expected = {seed: exact_optimum(random_program(seed, 6, 9, "any")) for seed in range(20)}

    def answer_by_chance(program: EquationProgram, basis: Any = None, has_presolve: bool = True) -> SimplexBasis:
        m, n = program.A.shape
        rng = np.random.default_rng(m * n + has_presolve)
        return SimplexBasis(tuple(sorted(rng.choice(n + m, m, replace=False).tolist())))

    monkeypatch.setattr(exact_optimum_module, "solve_by_simplex", answer_by_chance)
    monkeypatch.setattr("boostopt.conic_programs.exact.basis_refinement.solve_by_simplex", answer_by_chance)
    for seed, reference in expected.items():
        optimum = exact_optimum(random_program(seed, 6, 9, "any"))
        assert (optimum.status, optimum.value, optimum.is_proved()) == (reference.status, reference.value, True)


@pytest.mark.parametrize("n_digits", [4, 64, 320])
def test_approximations_before_the_exact_solution_change_no_optimum(
    monkeypatch: pytest.MonkeyPatch, n_digits: int
) -> None:
    """With 4 digits, half of them say nothing: wrong bases seem optimal, and fractions find that they are not."""
    expected = {(seed, kind): exact_optimum(random_program(seed, 6, 9, kind)) for seed in range(8) for kind in KINDS}
    monkeypatch.setattr("boostopt.conic_programs.exact.basis_refinement.MANY_DIGITS", -1)
    monkeypatch.setattr("boostopt.conic_programs.exact.basis_refinement.N_APPROXIMATE_DIGITS", n_digits)
    for (seed, kind), reference in expected.items():
        optimum = exact_optimum(random_program(seed, 6, 9, kind))
        assert (optimum.status, optimum.value, optimum.is_proved()) == (reference.status, reference.value, True)


def test_the_check_refuses_lies() -> None:
    program, _, _ = BY_HAND["a range"]
    optimum = exact_optimum(program)
    assert optimum.x is not None and optimum.y is not None and optimum.value is not None
    lies = {
        "a better value": replace(optimum, value=optimum.value - 1),
        "an infeasible point": replace(optimum, x=tuple(value + 1 for value in optimum.x)),
        "a feasible point that is not optimal": replace(optimum, x=(Fraction(1), Fraction(0)), value=Fraction(-1)),
        "multipliers of the opposite sign": replace(optimum, y=tuple(-value for value in optimum.y)),
        "no multipliers": replace(optimum, y=None),
        "infeasible": replace(optimum, status="infeasible"),
        "unbounded": replace(optimum, status="unbounded", ray=(Fraction(1), Fraction(1))),
        "the opposite problem": replace(optimum, program=replace(program, c=-program.c)),
        "a point of another size": replace(optimum, x=optimum.x[:1]),
        "multipliers of another size": replace(optimum, y=()),
        "another right side": replace(optimum, program=replace(program, row_upper=np.array([3.0]))),
    }
    with typechecker.unchecked():
        lies["a status that does not exist"] = replace(optimum, status="best")  # type: ignore[arg-type]
        lies["a point in floats"] = replace(optimum, x=tuple(map(float, optimum.x)))  # type: ignore[arg-type]
        lies["multipliers in floats"] = replace(optimum, y=tuple(map(float, optimum.y)))  # type: ignore[arg-type]
    assert [name for name, lie in lies.items() if lie.is_proved()] == []
    ray, _, _ = BY_HAND["a ray"]
    unbounded = exact_optimum(ray)
    assert not replace(unbounded, ray=(Fraction(-1), Fraction(-1))).is_proved()
    assert not replace(unbounded, ray=(Fraction(1), Fraction(0))).is_proved()


def test_words_say_which_rows_exclude_each_other_and_by_how_much() -> None:
    tiny = exact_optimum(replace(BY_HAND["infeasible by 1e-15"][0], row_names=("first", "second")))
    assert re.search(r"first, second .* 8\.88e-16 .*numbers=.decimal", tiny.in_words())
    assert tiny.min_side_change == Fraction(2) ** -50
    crossed = exact_optimum(BY_HAND["crossed bounds"][0])
    assert crossed.min_side_change == 1 and "variable 0" in crossed.in_words()
    rows = [[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
    large = exact_optimum(linear_program(rows, [1.0, 1.0], ([2.0, -INF, 3.0, -INF, -INF], [INF, 9.0, INF, 0.0, 2.0])))
    assert "decimal" not in large.in_words() and large.min_side_change == 1
    assert exact_optimum(BY_HAND["a ray"][0]).min_side_change is None
    assert "prove nothing" in replace(tiny, y=(Fraction(-1), Fraction(1))).in_words()
    assert "decimal" not in exact_optimum(tiny.program, numbers="decimal").in_words()


def test_smaller_changes_of_sides_make_no_point_feasible() -> None:
    n_infeasible = 0
    for seed in range(30):
        program = random_program(seed, m=6, n=9, kind="any")
        change = exact_optimum(program).min_side_change
        if change is not None:
            n_infeasible += 1
            step = float(change) * 0.99 / 6
            wider = replace(program, row_lower=program.row_lower - step, row_upper=program.row_upper + step)
            assert exact_optimum(wider).status == "infeasible"
    assert n_infeasible > 5


def test_programs_and_optima_show_their_sizes_in_a_line() -> None:
    program, _, value = BY_HAND["a maximum with an offset"]
    assert repr(program) == "ConicProgram(maximize, 1 linear row, 1 variable, 1 non-zero)"
    assert repr(exact_optimum(program)) == f"ExactOptimum({program!r}, status='optimal', value≈{float(value or 0)})"
    tiny = replace(BY_HAND["a range"][0], c=BY_HAND["a range"][0].c * 1e-200)
    assert "value≈-4e-200" in repr(exact_optimum(tiny))
    whole_number, third = (exact_optimum(BY_HAND[name][0]).in_words() for name in ("a range", "a third"))
    assert whole_number == "The optimum is exactly -4: proved in rational numbers."
    assert third == "The optimum is exactly 1/3, about 0.3333333333333333: proved in rational numbers."
    cone = ConeConstraint("second_order", np.eye(2), np.zeros(2), name="ball")
    assert repr(cone) == "ConeConstraint('ball', second_order, 2 rows)"
    conic = replace(linear_program([[1.0, 2.0]], [1.0, 1.0], ([1.0], [INF])), P=np.eye(2), cones=(cone,), name="small")
    assert repr(conic) == (
        "ConicProgram('small', minimize, 1 linear row, 2 variables, 2 non-zeros, "
        "a quadratic objective with 2 non-zeros, 1 cone)"
    )


def test_programs_with_cones_are_refused() -> None:
    cone = ConeConstraint("second_order", np.ones((2, 1)), np.zeros(2))
    with pytest.raises(OptionError, match="rows in cones"):
        exact_optimum(linear_program([[1.0]], [1.0], ([0.0], [1.0]), cones=(cone,)))
    with typechecker.unchecked(), pytest.raises(OptionError, match="numbers"):
        exact_optimum(BY_HAND["a third"][0], numbers="octal")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        ({"c": [1.0, 2.0]}, "c"),
        ({"c": [np.inf]}, "costs"),
        ({"c": [1j]}, "c must be real"),
        ({"A": np.array([[1j]])}, "entries of a matrix must be real"),
        ({"A": "text"}, "must be"),
        ({"lower": [np.nan]}, "lower"),
        ({"row_upper": [1.0, 2.0]}, "row_upper"),
        ({"A": np.array([[np.nan]])}, "entries"),
        ({"P": np.array([[1.0, 2.0], [0.0, 1.0]])}, "P"),
        ({"offset": np.nan}, "offset"),
        ({"lower": [np.inf]}, "lower"),
        ({"row_upper": [-np.inf]}, "row_upper"),
    ],
)
def test_shapes_and_numbers_of_programs_are_checked(facts: dict[str, Any], name: str) -> None:
    valid = {"A": [[1.0]], "c": [1.0], "row_lower": [0.0], "row_upper": [1.0], "lower": [0.0], "upper": [1.0]}
    arrays: dict[str, Any] = {
        key: np.array(value) if isinstance(value, list) else value for key, value in {**valid, **facts}.items()
    }
    with typechecker.unchecked(), pytest.raises(ProblemError, match=name):
        ConicProgram(**arrays)


def test_arrays_of_a_program_are_copies() -> None:
    c, matrix = np.array([1.0]), np.array([[3.0]])
    program = ConicProgram(matrix, c, np.array([1.0]), np.array([INF]), np.array([0.0]), np.array([INF]))
    c *= 0.0
    matrix *= 0.0
    assert exact_optimum(program).value == Fraction(1, 3)
    with pytest.raises(ValueError, match="read-only"):
        program.c[0] = 2.0


def test_values_that_floats_do_not_hold() -> None:
    # 5e-324 x >= 1 over costs of 1e300: the optimum is above the largest float.
    large = linear_program([[5e-324]], [1e300], ([1.0], [INF]))
    optimum = exact_optimum(large)
    assert optimum.is_proved()
    assert "about 2^2070" in optimum.in_words()
    chain = [[0.0] * k + [0.1, -1e300] + [0.0] * (9 - k) for k in range(10)] + [[0.0] * 10 + [0.1]]
    long = exact_optimum(linear_program(chain, [0.1] * 11, ([0.3] * 11, [INF] * 11)))
    assert long.is_proved()
    assert "a fraction of" in long.in_words()  # Python writes no integer of 4300 digits


def test_numbers_of_numpy_are_decimals_too() -> None:
    program = linear_program([[3.0]], [1.0], ([0.3], [INF]), offset=np.float64(0.1))
    assert exact_optimum(program, numbers="decimal").value == Fraction(1, 5)
    assert replace(program, numbers="decimal").to_fraction(program.row_lower[0]) == Fraction(3, 10)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"kind": "circle"}, "kind"),
        ({"A": np.eye(2)}, "shapes"),
        ({"b": np.zeros(2)}, "shapes"),
        ({"b": np.array([0.0, 0.0, np.nan])}, "finite"),
        ({"A": np.full((3, 2), np.inf)}, "finite"),
        ({"exponent": 1.0}, "exponent"),
        ({"kind": "semidefinite"}, "square"),
        ({"kind": "semidefinite", "A": np.zeros((4, 2)), "b": np.array([1.0, 2.0, 0.0, 1.0])}, "symmetric"),
        ({"kind": "semidefinite", "A": np.eye(4)[:, 1:3], "b": np.zeros(4)}, "symmetric"),
    ],
)
def test_cones_are_checked(facts: dict[str, Any], message: str) -> None:
    valid: dict[str, Any] = {"kind": "power", "A": np.ones((3, 2)), "b": np.zeros(3)}
    with typechecker.unchecked(), pytest.raises(ProblemError, match=message):
        ConeConstraint(**{**valid, **facts})


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"numbers": "octal"}, "numbers"),
        ({"column_names": ("x", "y")}, "column_names"),
        ({"row_names": ("x", "y")}, "row_names"),
        ({"cones": (ConeConstraint("second_order", np.ones((2, 2)), np.zeros(2)),)}, "cones"),
    ],
)
def test_parts_of_a_program_agree(facts: dict[str, Any], message: str) -> None:
    with typechecker.unchecked(), pytest.raises(ProblemError, match=message):
        linear_program([[1.0]], [1.0], ([0.0], [INF]), **facts)


def test_programs_that_travel_stay_immutable() -> None:
    A, b = scipy.sparse.csr_array(np.ones((3, 1))), np.zeros(3)
    cone = ConeConstraint("second_order", A, b)
    A.data[:], b[:] = 7.0, 7.0
    program = linear_program([[3.0]], [1.0], ([1.0], [INF]), cones=(cone,), P=np.array([[2.0]]))
    for instance in (program, pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        cone = instance.cones[0]
        np.testing.assert_array_equal(cone.A.toarray(), np.ones((3, 1)))
        np.testing.assert_array_equal(cone.b, np.zeros(3))
        for array in (instance.c, instance.A.data, instance.P.data, instance.lower, cone.b, cone.A.data):
            assert is_immutable(array)


@pytest.mark.thorough
def test_exact_optima_of_a_folder_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = "COLUMNS\n x cost 1 one 1\n x three 3\n"
    text = f"NAME\nROWS\n N cost\n E one\n E three\n{columns}RHS\n rhs one 0.1 three 0.3\nENDATA\n"
    (tmp_path / "rounded.mps").write_text(text)
    (tmp_path / "notes.txt").write_text("no program")
    print_optima([str(tmp_path), "--solves", "2"])
    output = capsys.readouterr().out
    assert f"| {tmp_path.name}/rounded.mps | 2 | 1 |" in output and "| infeasible | 1.0000000000e-01 |" in output
    assert re.search(r"^\S*rounded.mps: .*\binfeasible\b.*\bone, three\b", output, re.MULTILINE | re.DOTALL)


@pytest.mark.thorough
def test_measurements_of_exact_optima_are_kept_and_a_killed_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = tmp_path / "programs", tmp_path / "page.md"
    folder.mkdir()
    for name, side in (("first", 1), ("second", 2)):
        text = f"NAME\nROWS\n N cost\n G row\nCOLUMNS\n x cost 1 row 3\nRHS\n rhs row {side}\nENDATA\n"
        (folder / f"{name}.mps").write_text(text)
    page.write_text("<!-- exact optima -->\n<!-- end of exact optima -->\n")
    options = ["--solves", "2", "--store", str(tmp_path), "--journal", str(tmp_path / "journal")]
    complete = exact_optima.measure

    def kill_at_second(path: Path, n_solves: int) -> dict[str, Any] | None:
        if path.stem == "second":
            raise KeyboardInterrupt
        return complete(path, n_solves)

    monkeypatch.setattr(exact_optima, "measure", kill_at_second)
    with pytest.raises(KeyboardInterrupt):
        print_optima([*options, str(folder)])
    monkeypatch.setattr(exact_optima, "measure", complete)
    capsys.readouterr()
    print_optima([*options, str(folder), "--page", str(page)])
    assert "first.mps: binary" not in capsys.readouterr().out  # it is not measured again
    lines = page.read_text()
    assert "| programs/first.mps | 1 | 1 | 3.3333333333e-01 | 3.3333333333e-01 |" in lines
    assert "| programs/second.mps |" in lines and "of 2 are above 1" in lines
    print_optima([*options, "--page", str(page)])  # without a folder, from what is kept
    assert page.read_text() == lines
    with pytest.raises(SystemExit, match="linear programs"):
        print_optima([])
