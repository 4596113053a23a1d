"""Single conditions of exact optima and cones: each bound by itself, free variables, first bases, smallest cones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
import scipy.sparse
from conic_programs.small_programs import INF, linear_program, random_program

from boostopt import ConicProgram, certify_problem, exact_optimum, load_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.conic_programs.exact import exact_optimum as exact_optimum_module
from boostopt.conic_programs.exact.exact_optimum import prove_at_basis
from boostopt.conic_programs.exact.highs_simplex import EquationProgram, SimplexBasis, solve_by_simplex
from boostopt.conic_programs.exact.optimality_check import is_proof
from boostopt.conic_programs.exact.rational_basic_solution import BasicSolution, ExactProgram
from boostopt.errors import ProblemError
from boostopt.problem_certificates.cone_proofs import exact_interval

WITHOUT_COST = linear_program(
    [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
    [1.0, 0.0, 0.0, 0.0],
    ([-INF, 1.0], [4.0, INF]),
    ([1.0, -INF, -INF, 0.0], [INF, INF, INF, 2.0]),
)
"""min x_0 over x_0 >= 1, x_1 <= 4, x_2 >= 1, 0 <= x_3 <= 2: three variables have no cost."""


@pytest.mark.parametrize(("j", "value"), [(1, 5), (2, 0), (3, 3), (3, -1)])
def test_points_beyond_one_bound_alone_prove_nothing(j: int, value: int) -> None:
    optimum = exact_optimum(WITHOUT_COST)
    assert optimum.x is not None and optimum.value == 1 and optimum.is_proved()
    x = [*optimum.x[:j], Fraction(value), *optimum.x[j + 1 :]]
    assert not replace(optimum, x=tuple(x)).is_proved()


def test_free_variables_without_a_condition_are_0() -> None:
    program = linear_program([[1.0, 0.0]], [1.0, 0.0], ([1.0], [INF]), ([0.0, -INF], [INF, INF]))
    assert exact_optimum(program).x == (1, 0)


def test_a_basic_solution_is_optimal_if_it_violates_no_condition() -> None:
    """Min x_0 + 2 x_1 over x_0 + x_1 = 1 and x_0 <= 1, both at least 0."""
    bounds = np.zeros(2), np.array([1.0, INF])
    A = linear_program([[1.0, 1.0]], [1.0, 2.0], ([1.0], [1.0])).A
    for sign, optimal_variable in ((1.0, 0), (-1.0, 1)):
        exact = ExactProgram(EquationProgram(A, np.ones(1), sign * np.array([1.0, 2.0]), *bounds))
        solutions = [BasicSolution(exact, SimplexBasis((j,))) for j in range(3)]
        assert [solution.is_optimal for solution in solutions] == [j == optimal_variable for j in range(3)]
        assert solutions[2].primal_violation == 1  # the logical variable: no variable satisfies the equation


def test_a_basis_is_looked_for_with_presolve_and_then_without(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = list[bool]()

    def record_presolve(program: EquationProgram, basis: Any = None, has_presolve: bool = True) -> None:
        tries.append(has_presolve)

    monkeypatch.setattr(exact_optimum_module, "solve_by_simplex", record_presolve)
    assert exact_optimum(linear_program([[3.0]], [1.0], ([1.0], [INF]))).value == Fraction(1, 3)
    assert tries[:2] == [True, False]


@pytest.mark.parametrize("entry", [0.0, 1e-10])
@pytest.mark.parametrize("side", [0.0, 1.0])
@pytest.mark.parametrize("has_presolve", [True, False])
def test_a_program_without_entries_for_highs_has_the_basis_of_logical_variables(
    entry: float, side: float, has_presolve: bool
) -> None:
    A = scipy.sparse.csc_array(np.array([[0.0, entry]]))
    program = EquationProgram(A, np.array([side]), np.ones(2), np.zeros(2), np.ones(2))
    basis = solve_by_simplex(program, has_presolve=has_presolve)
    assert basis is not None and basis.basic == (2,) and basis.dual_ray is None
    assert basis.is_claimed_optimal == (side == 0.0)


def test_a_basis_of_a_small_program_is_looked_for_without_presolve(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = list[bool]()

    def record_presolve(program: EquationProgram, basis: Any = None, has_presolve: bool = True) -> None:
        tries.append(has_presolve)

    monkeypatch.setattr(exact_optimum_module, "solve_by_simplex", record_presolve)
    for max_entries in (0, 1):
        monkeypatch.setattr(exact_optimum_module, "MAX_PLAIN_ENTRIES", max_entries)
        assert prove_at_basis(linear_program([[3.0]], [1.0], ([1.0], [1.0]))) is None
    assert tries == [True, False]


def test_a_basis_is_proved_by_one_check_from_the_program_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A basis whose conditions do not hold proves nothing, whatever its violations say."""
    program = linear_program([[1.0, 2.0]], [3.0, 1.0], ([4.0], [INF]))
    checked = list[str]()

    def count(program: ConicProgram, status: str, *parts: Any, **options: Any) -> bool:
        checked.append(status)
        return is_proof(program, status, *parts, **options)

    monkeypatch.setattr(exact_optimum_module, "is_proof", count)
    monkeypatch.setattr(exact_interval, "is_proof", count)
    certificate = certify_problem(program)
    assert certificate.lower == certificate.upper == 2.0 and checked == ["optimal"]
    monkeypatch.setattr(exact_optimum_module, "is_proof", lambda *parts, **options: False)
    assert prove_at_basis(program) is None


@pytest.mark.parametrize("kind", ["feasible", "any"])
def test_a_basis_is_that_of_the_statuses(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statuses of all variables say the same as the numbers of the basic ones and the values of the others."""
    n_at_upper = 0
    for seed in range(30):
        program = random_program(seed, 6, 9, kind)
        bounds = program.lower, program.upper
        equations = EquationProgram(
            program.A, np.where(np.isfinite(program.row_lower), program.row_lower, 0.0), program.c, *bounds
        )
        basis = solve_by_simplex(equations, has_presolve=False)
        with monkeypatch.context() as patch:
            patch.setattr(highspy.Highs, "getBasicVariables", lambda solver: (highspy.HighsStatus.kError, []))
            expected = solve_by_simplex(equations, has_presolve=False)
        assert (basis is None) == (expected is None)
        if basis is not None and expected is not None:
            is_boxed = np.isfinite(program.lower) & np.isfinite(program.upper) & (program.lower < program.upper)
            assert basis.basic == expected.basic
            assert basis.at_upper == {j for j in expected.at_upper if is_boxed[j]}
            n_at_upper += len(basis.at_upper)
    assert n_at_upper


@pytest.mark.parametrize("error", [0.0, 1e-12])
@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_a_rounded_ray_becomes_exact_at_its_basis(error: float, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The equations x + 3 y = 1 and 2 over free x and y contradict each other: multipliers with the sum 0 prove it."""

    def answer(program: EquationProgram, **options: Any) -> SimplexBasis:
        return SimplexBasis((0, 3), dual_ray=scale * np.array([-1.0, 1.0 + error]))

    monkeypatch.setattr(exact_optimum_module, "solve_by_simplex", answer)
    free = [-INF] * 2, [INF] * 2
    proof = prove_at_basis(linear_program([[1.0, 3.0], [1.0, 3.0]], [1.0, 1.0], ([1.0, 2.0], [1.0, 2.0]), free))
    assert proof is not None and proof.status == "infeasible" and proof.y is not None
    assert proof.y.fractions() == [-1, 1] if error else [-scale, scale]
    feasible = linear_program([[1.0, 3.0], [1.0, 3.0]], [1.0, 1.0], ([1.0, 1.0], [1.0, 1.0]), free)
    assert prove_at_basis(feasible) is None


def test_the_smallest_second_order_cone_is_a_sign() -> None:
    cone = ConeConstraint("second_order", np.array([[1.0, 0.0]]), np.array([-2.0]))
    program = linear_program([[0.0, 1.0]], [1.0, 1.0], ([1.0], [INF]), ([-INF, 0.0], [INF, INF]), cones=(cone,))
    problem = program.to_cvxpy()
    problem.solve(solver="CLARABEL")
    certificate = certify_problem(problem)
    assert certificate.lower <= 3.0 <= certificate.upper and certificate.scaled_gap <= 1e-6
    with pytest.raises(ProblemError, match="shapes"):
        ConeConstraint("second_order", np.zeros((0, 2)), np.zeros(0))


@pytest.mark.parametrize("entry", [2.0**60, 1.0])
def test_rotations_of_rows_with_an_entry_of_their_own_need_no_rounding(entry: float, tmp_path: Path) -> None:
    """2^60 + 1/2 is no float, but here the second row has no entry where the first has 2^60."""
    text = "VER\n3\nOBJSENSE\nMIN\nVAR\n3 1\nF 3\nCON\n3 1\nQR 3\n"
    text += f"ACOORD\n3\n0 0 {entry!r}\n1 1 1.0\n2 2 1.0\n"
    (tmp_path / "a.cbf").write_text(text)
    program: ConicProgram = load_problem(tmp_path / "a.cbf")
    np.testing.assert_array_equal(program.cones[0].A.toarray(), [[entry, 0.5, 0], [entry, -0.5, 0], [0, 0, 1]])
