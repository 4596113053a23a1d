"""Files of proofs by conic relaxations, by faces of dual cones, and by equations that nearly depend on each other."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pytest
import scipy.sparse
from problem_certificates.test_dependent_equations import disk_with_nearly_equal_equations
from support.duals_without_interior import dual_without_interior, squared_distances

from boostopt import ConicProgram, certify_problem, verify
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.problem_certificates.arithmetic.balls import working_precision as reading_precision
from boostopt.problem_certificates.minorants.conic_relaxation import conic_relaxation
from boostopt.problem_certificates.problem_reader import read_problem
from boostopt.verification.conic_files.exact_conic_proofs import exact_multipliers
from boostopt.verification.exact_proofs.relaxed_multipliers import multipliers_of_relaxation, relaxed_multipliers
from boostopt.verification.problem_certificate_verdict import verify_problem_certificate
from boostopt.verification.problem_certificate_writer import multipliers_to_json
from boostopt.verification.problem_kernel.matrix_atoms import LargestEigenvalue
from boostopt.verification.problem_kernel.problem_checker import lower_bound
from boostopt.verification.problem_kernel.problem_schema import Problem, parse_problem
from boostopt.verification.problem_kernel.rationals_and_balls import ceil_float, floor_float, working_precision
from boostopt.verification.problem_statement import problem_to_json
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json

cp: Any = cvxpy
VALUES = np.array([3.0, -1.0, 0.5])
SYMMETRIC = np.array([[1.0, 0.5, 0], [0.5, 2.0, 0.25], [0, 0.25, -3.0]])


@pytest.mark.thorough
@pytest.mark.parametrize("has_matrix", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_duals_without_interior_travel(seed: int, has_matrix: bool, tmp_path: Path) -> None:
    problem, infimum = dual_without_interior(seed, has_matrix)
    certify_problem(problem, solver="auto").save(tmp_path / "file.json")
    verification = verify(tmp_path / "file.json", problem)
    assert verification.verdict == "proved", verification.reason
    assert verification.lower <= infimum + 1e-12 and verification.upper >= infimum - 1e-12
    assert verification.upper - verification.lower <= 1e-8 * max(1.0, abs(infimum))


@pytest.mark.thorough
def test_duals_without_interior_travel_beside_norms_and_equations(tmp_path: Path) -> None:
    """The largest eigenvalue of A + t J has the infimum 3 / 2 for A = diag(1, 2), and the norm is at least 1."""
    x, t = cp.Variable(4), cp.Variable()
    objective = cp.lambda_max(np.diag([1.0, 2.0]) + t * np.ones((2, 2))) + cp.norm(x - 1)
    problem = cp.Problem(cp.Minimize(objective), [cp.sum(x) == 2])
    certify_problem(problem, solver="auto").save(tmp_path / "file.json")
    verification = verify(tmp_path / "file.json", problem)
    assert verification.verdict == "proved", verification.reason
    assert verification.lower <= 2.5 <= verification.upper <= verification.lower + 1e-5


@pytest.mark.thorough
def test_distances_without_points_travel_and_prove_nothing_of_those_with_points(tmp_path: Path) -> None:
    problem = squared_distances(5.0)
    certify_problem(problem, solver="auto").save(tmp_path / "file.json")
    assert verify(tmp_path / "file.json", problem).verdict == "proved"
    document = json.loads((tmp_path / "file.json").read_text())
    assert verify_problem_certificate(document).outcome == "infeasible"
    with reading_precision():
        document["problem"] = json.loads(json.dumps(problem_to_json(read_problem(squared_distances(4.0), None))))
    assert not verify_problem_certificate(document)


def as_read(problem: Any) -> tuple[Any, Problem]:
    """Return a CVXPY problem as it is read, and as the checker reads it."""
    with reading_precision():
        read = read_problem(problem, None)
        return read, parse_problem(json.loads(json.dumps(problem_to_json(read))))


def at_values(function: Callable[[Any], Any], point: np.ndarray, **attributes: Any) -> Any:
    x = cp.Variable(point.shape, **attributes)
    return cp.Problem(cp.Minimize(function(x)), [x == point])


ATOMS: dict[str, tuple[Any, float]] = {
    "norm": (at_values(cp.norm, VALUES), math.sqrt(10.25)),
    "norm1": (at_values(cp.norm1, VALUES), 4.5),
    "abs": (at_values(lambda x: cp.sum(cp.abs(x)), VALUES), 4.5),
    "norm_inf": (at_values(cp.norm_inf, VALUES), 3.0),
    "max": (at_values(cp.max, VALUES), 3.0),
    "minus min": (at_values(lambda x: -cp.min(x), VALUES), 1.0),
    "sum_largest": (at_values(lambda x: cp.sum_largest(x, 2), VALUES), 3.5),
    "sum_squares": (at_values(cp.sum_squares, VALUES), 10.25),
    "quad_over_lin": (at_values(lambda x: cp.quad_over_lin(x[1:], x[0]), VALUES), 1.25 / 3),
    "lambda_max": (at_values(cp.lambda_max, SYMMETRIC, symmetric=True), float(np.linalg.eigvalsh(SYMMETRIC)[-1])),
    "minus lambda_min": (
        at_values(lambda X: -cp.lambda_min(X), SYMMETRIC, symmetric=True),
        -float(np.linalg.eigvalsh(SYMMETRIC)[0]),
    ),
    "lambda_sum_largest": (
        at_values(lambda X: cp.lambda_sum_largest(X, 2), SYMMETRIC, symmetric=True),
        float(np.linalg.eigvalsh(SYMMETRIC)[1:].sum()),
    ),
    "sigma_max": (at_values(cp.sigma_max, SYMMETRIC[:2]), float(np.linalg.norm(SYMMETRIC[:2], 2))),
    "normNuc": (at_values(cp.normNuc, SYMMETRIC[:2]), float(np.linalg.norm(SYMMETRIC[:2], "nuc"))),
    "matrix_frac": (
        at_values(lambda X: cp.matrix_frac(VALUES, X + 8 * np.eye(3)), SYMMETRIC, symmetric=True),
        float(VALUES @ np.linalg.solve(SYMMETRIC + 8 * np.eye(3), VALUES)),
    ),
    "nested": (at_values(lambda x: cp.norm1(cp.hstack([cp.norm(x), cp.max(x)])), VALUES), math.sqrt(10.25) + 3),
}
"""Problems of atoms with epigraphs, and their optima by NumPy."""


@pytest.mark.parametrize("name", ATOMS)
def test_multipliers_of_epigraphs_are_slopes_of_the_atoms(name: str) -> None:
    problem, optimum = ATOMS[name]
    read, statement = as_read(problem)
    multipliers = relaxed_multipliers(read, statement)
    assert multipliers is not None and multipliers.objective > 0
    with working_precision():
        bound = floor_float(lower_bound(statement, multipliers) / multipliers.objective)
    assert optimum - 1e-8 <= bound <= optimum + 1e-12


def test_multipliers_of_a_relaxation_prove_that_no_point_is_feasible() -> None:
    x = cp.Variable(2)
    read, statement = as_read(cp.Problem(cp.Minimize(x[0]), [cp.norm(x) <= 1, cp.sum(x) >= 10]))
    multipliers = relaxed_multipliers(read, statement)
    assert multipliers is not None and multipliers.objective == 0
    with working_precision():
        assert lower_bound(statement, multipliers) > 0


@pytest.mark.thorough
def test_slopes_next_to_a_unit_vector_are_this_vector(tmp_path: Path) -> None:
    """The infimum 0 of |(x, 1)| - x needs the slopes (1, 0), and is not attained."""
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.norm(cp.hstack([x, 1])) - x))
    certify_problem(problem, solver="auto").save(tmp_path / "file.json")
    verification = verify(tmp_path / "file.json", problem)
    assert verification.verdict == "proved" and verification.lower == 0.0


def test_problems_without_a_relaxation_have_no_such_multipliers() -> None:
    x = cp.Variable(2)
    assert relaxed_multipliers(*as_read(cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= 0]))) is None


@pytest.mark.thorough
@pytest.mark.parametrize("has_matrix", [False, True])
def test_lies_about_the_multipliers_of_the_relaxation_prove_nothing_false(has_matrix: bool, tmp_path: Path) -> None:
    """Multipliers of the cones that are scaled, moved out of the cone, or in another order."""
    problem, optimum = dual_without_interior(3, has_matrix)
    read, statement = as_read(problem)
    with reading_precision():
        program = conic_relaxation(read)
    assert program is not None
    proof = certify_problem(program).program_proof
    assert proof is not None and proof.multipliers is not None
    exact = exact_multipliers(program, proof.multipliers)
    assert exact is not None
    certify_problem(problem, solver="auto").save(tmp_path / "file.json")
    text = (tmp_path / "file.json").read_text()
    rng, n_accepted = np.random.default_rng(0), 0
    for k in range(36):
        z = [list(values) for values in exact.z]
        i = int(rng.integers(len(z[0])))
        if k % 3 == 0:
            z[0] = [value * Fraction(float(rng.choice([0, -1, 2, 0.5, 1 + 2.0**-30]))) for value in z[0]]
        elif k % 3 == 1:
            z[0][i] += Fraction(float(rng.choice([-1.0, 1.0])) * 10.0 ** -float(rng.integers(0, 12)))
        else:
            z[0] = z[0][::-1]
        lie = multipliers_of_relaxation(read, statement, program, replace(exact, z=z), True)
        document = json.loads(text)
        document["proof"]["multipliers"] = multipliers_to_json(lie)
        document["claim"] |= {"lower": optimum + 1e-9, "upper": optimum + 1.0}
        try:
            n_accepted += bool(verify_problem_certificate(parse_json(json.dumps(document).encode())))
        except Rejected:
            continue
    assert n_accepted == 0


@pytest.mark.parametrize("size", [1e3, 1e9, 1e12])
def test_the_largest_eigenvalue_of_a_file_is_close_beside_a_huge_one(size: float) -> None:
    """The matrix n I - (1 + s) J has the eigenvalue n, n - 1 times; two entries are larger by 1 / 8."""
    n = 4
    X = [[Fraction(n * (i == j)) - 1 - Fraction(size) for j in range(n)] for i in range(n)]
    X[0][1] = X[1][0] = X[0][1] + Fraction(1, 8)
    with working_precision():
        value = LargestEigenvalue(n).value([entry for row in X for entry in row])
        assert value is not None
        low, high = floor_float(value), ceil_float(value)
    assert high - low <= 1e-12 and abs(low - n) <= 0.25
    for shift, is_above in ((low, False), (high, True)):
        rest = [[Fraction(shift) * (i == j) - X[i][j] for j in range(n)] for i in range(n)]
        minors = [determinant([row[:k] for row in rest[:k]]) for k in range(1, n + 1)]
        assert all(minor > 0 for minor in minors) == is_above


def determinant(rows: list[list[Fraction]]) -> Fraction:
    """Return a determinant by its expansion."""
    if not rows:
        return Fraction(1)
    return sum(
        ((-1) ** j * rows[0][j] * determinant([row[:j] + row[j + 1 :] for row in rows[1:]]) for j in range(len(rows))),
        Fraction(0),
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(4))
def test_conic_programs_with_a_dual_without_interior_travel(seed: int, tmp_path: Path) -> None:
    """Min s subject to s I - C - t q qᵀ semidefinite: all multipliers map q to 0."""
    problem, infimum = dual_without_interior(seed, has_matrix=True)
    with reading_precision():
        program = conic_relaxation(read_problem(problem, None))
    assert program is not None
    certificate = certify_problem(program)
    certificate.save(tmp_path / "file.json")
    verification = verify(tmp_path / "file.json", program)
    assert verification.verdict == "proved", verification.reason
    assert verification.lower <= infimum + 1e-12 and verification.upper >= infimum - 1e-12
    assert verification.upper - verification.lower <= 1e-8 * max(1.0, abs(infimum))


def balls_with_nearly_equal_equations(seed: int) -> ConicProgram:
    """Return a program over balls whose last equation is nearly a combination of the others: by 1e-9 to 1e-13."""
    rng = np.random.default_rng(seed)
    n_balls, m = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    n = 3 * n_balls
    rows = np.round(rng.normal(size=(m, n)), 2)
    weights = rng.integers(-3, 4, m) / int(rng.choice([1, 2, 3, 5]))
    weights[0] = 1.0
    rest = np.zeros(n)
    rest[rng.integers(0, n, 3)] = rng.normal(size=3) * 10.0 ** -float(rng.integers(9, 14))
    A = scipy.sparse.csr_array(np.vstack([rows, weights @ rows + rest]))
    cones = list[ConeConstraint]()
    for i in range(n_balls):
        G = np.zeros((4, n))
        G[1:, 3 * i : 3 * i + 3] = np.eye(3)
        cones.append(ConeConstraint("second_order", scipy.sparse.csr_array(G), np.array([1.0, 0, 0, 0])))
    zeros, free = np.zeros(m + 1), np.full(n, np.inf)
    return ConicProgram(A, np.round(rng.normal(size=n), 2), zeros, zeros, -free, free, cones=tuple(cones))


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(9))
def test_proofs_by_huge_multipliers_of_nearly_dependent_equations_travel(seed: int, tmp_path: Path) -> None:
    """The multipliers of the equations cancel in all digits of floats."""
    program = balls_with_nearly_equal_equations(seed)
    certificate = certify_problem(program)
    multipliers = certificate.program_proof and certificate.program_proof.multipliers
    assert multipliers is not None and np.abs(multipliers.y).max() > 1e7 and multipliers.exact_y is not None
    certificate.save(tmp_path / "file.json")
    verification = verify(tmp_path / "file.json", program)
    assert verification.verdict == "proved", verification.reason
    width = certificate.upper - certificate.lower
    assert abs(verification.lower - certificate.lower) <= 0.01 * width + 1e-14
    assert abs(verification.upper - certificate.upper) <= 0.01 * width + 1e-14


def test_the_point_that_nearly_dependent_equations_leave_travels(tmp_path: Path) -> None:
    program = disk_with_nearly_equal_equations(2.0**-40)
    certify_problem(program).save(tmp_path / "file.json")
    verification = verify(tmp_path / "file.json", program)
    assert verification and -1e-9 <= verification.lower <= 0.0 == verification.upper
