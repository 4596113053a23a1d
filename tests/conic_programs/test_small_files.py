"""Small files, one for each difficulty, with known optima: they stand for the collections of others."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import cvxpy as cp
import pytest

from boostopt import certify_problem, exact_optimum, load_problem, save_problem
from boostopt.conic_programs.writers.save_problem import differences
from boostopt.errors import ProblemError

FOLDER = Path(__file__).with_name("small_files")

EXACT: dict[str, Fraction | str] = {
    "free_variable.mps": Fraction(7, 8),
    "ranges.mps": Fraction(7),
    "redundant_rows.mps": Fraction(1, 2),
    "infeasible_by_1e-17.mps": "infeasible",
    "unbounded.mps": "unbounded",
    "degenerate.mps": Fraction(-1),
    "singular.qps": Fraction(-1, 2),
}

CONES = {"circle.cbf": -math.sqrt(2.0), "exponential.cbf": 1.0, "no_interior.dat-s": 1.0}

REFUSED = ("not_convex_by_1e-5.qps",)


def test_every_file_has_its_optimum() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*EXACT, *CONES, *REFUSED}


@pytest.mark.parametrize("name", EXACT)
def test_exact_optima(name: str) -> None:
    optimum = exact_optimum(load_problem(FOLDER / name))
    assert optimum.is_proved()
    assert EXACT[name] in (optimum.value, optimum.status)


def test_decimals_of_a_file_are_not_infeasible() -> None:
    assert exact_optimum(load_problem(FOLDER / "infeasible_by_1e-17.mps"), numbers="decimal").value == Fraction(1, 20)


@pytest.mark.parametrize("name", CONES)
def test_intervals_of_programs_with_cones(name: str) -> None:
    problem = load_problem(FOLDER / name).to_cvxpy()
    problem.solve(solver=cp.SCS if name == "no_interior.dat-s" else cp.CLARABEL)  # Clarabel fails without an interior
    certificate = certify_problem(problem)
    assert certificate.lower <= CONES[name] + 1e-15 and CONES[name] - 1e-15 <= certificate.upper


@pytest.mark.parametrize("name", REFUSED)
def test_an_objective_that_is_not_convex_is_refused(name: str) -> None:
    with pytest.raises(ProblemError, match=r"negative curvature: .* for x, .* for y\. Correct P"):
        exact_optimum(load_problem(FOLDER / name))


@pytest.mark.parametrize("name", [*EXACT, *CONES, *REFUSED])
def test_files_are_written_as_the_same_program(tmp_path: Path, name: str) -> None:
    program = load_problem(FOLDER / name)
    for target in (tmp_path / name, tmp_path / "program.npz"):
        save_problem(program, target)
        assert differences(program, load_problem(target)) == []
