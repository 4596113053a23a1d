"""Semidefinite programs whose multipliers are 0 in rows where slacks grow without limit, seen in many digits only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
import scipy.sparse
from test_semidefinite_programs import costs_and_matrices

from boostopt import ConicProgram, certify_problem, load_problem, verify
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.problem_certificates.arithmetic.balls import balls
from boostopt.problem_certificates.cone_proofs.cone_form import cone_form
from boostopt.problem_certificates.cone_proofs.dual_bound import reduced_costs
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_answers import PreciseAnswer, precise_answer
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_bounds import precise_bound
from boostopt.problem_certificates.cone_proofs.semidefinite.principal_relaxations import principal_relaxation

INSTANCES = Path(__file__).parents[3] / "shared" / "instances" / "sdplib"

THIN = 2.0**-50
"""The smaller eigenvalue of a direction, nearly."""


def program_of(c: list[float], cones: list[tuple[list[Any], Any]]) -> ConicProgram:
    """Return min <c, x> so that sums of x_i times matrix i, plus constants, are semidefinite."""
    n = len(c)
    constraints = tuple(
        ConeConstraint(
            "semidefinite",
            scipy.sparse.csr_array(np.stack([np.asarray(matrix, dtype=float).ravel() for matrix in matrices], axis=1)),
            np.asarray(constant, dtype=float).ravel(),
        )
        for matrices, constant in cones
    )
    free = np.full(n, np.inf)
    empty = np.zeros(0)
    return ConicProgram(scipy.sparse.csc_array((0, n)), np.array(c), empty, empty, -free, free, cones=constraints)


def optimum_at_infinity(thin: float) -> ConicProgram:
    """Return min x + z with the optimum 0 + 1: x is 0 where y is infinite, and z is at least 1.

    [[x, 1, 2], [1, y, y], [2, y, (1 + thin) y]] and [[z, 2], [2, 4]] are semidefinite. Each multiplier of the former is
    0 in the last two rows, but where thin is 0, no x is feasible.
    """
    corner, direction = np.diag([1.0, 0, 0]), np.zeros((3, 3))
    direction[1:, 1:] = [[1, 1], [1, 1 + thin]]
    first = [corner, direction, np.zeros((3, 3))], [[0, 1, 2], [1, 0, 0], [2, 0, 0]]
    second = [np.zeros((2, 2)), np.zeros((2, 2)), np.diag([1.0, 0])], [[0, 2], [2, 4]]
    return program_of([1.0, 0, 1], [first, second])


def test_an_optimum_at_infinity_is_certified_along_a_direction_with_tiny_eigenvalues(tmp_path: Path) -> None:
    certificate = certify_problem(optimum_at_infinity(THIN))
    assert certificate.lower <= 1 < certificate.upper <= 1 + 1e-8
    assert certificate.scaled_gap <= 1e-8
    proof = certificate.program_proof
    assert proof is not None and proof.multipliers is not None
    np.testing.assert_array_equal(proof.multipliers.cones[0].reshape(3, 3), np.diag([1.0, 0, 0]))
    assert proof.exact_x is not None and proof.exact_x[1] > 2**50
    certificate.save(tmp_path / "proof.json")
    assert verify(tmp_path / "proof.json", optimum_at_infinity(THIN))


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5, 6, 7])  # of which each leaves a bound
def test_no_choice_of_rows_proves_a_bound_above_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order, n = 4, 4
    costs, matrices = costs_and_matrices(rng, n, order)
    program = program_of(costs, [(matrices, np.eye(order)), (matrices, 2 * np.eye(order))])
    form, certificate = cone_form(program), certify_problem(program)
    assert certificate.scaled_gap <= 1e-7
    n_bounds = 0
    for _ in range(12):
        # Any answer is allowed, and this one has large slacks in some rows.
        lie = PreciseAnswer(balls(rng.normal(size=n) * 10.0 ** rng.integers(14, 18)), [])
        relaxation = principal_relaxation(form, lie)
        answer = None if relaxation is None else precise_answer(relaxation.form, 1e-9)
        if relaxation is None or answer is None:
            continue
        bound = precise_bound(relaxation.form, answer)
        assert bound.lower <= certificate.upper
        if bound.point is not None:
            n_bounds += 1
            point = relaxation.multipliers(form, bound.point)
            assert np.abs(reduced_costs(form, point)).max() <= 1e-9 * max(np.abs(z).max() for z in point.cones)
            for z, rows in zip(point.cones[0].reshape(2, order, order), relaxation.rows, strict=True):
                left_out = np.setdiff1d(np.arange(order), rows)
                assert not z[left_out].any() and not z[:, left_out].any()
    assert n_bounds > 0


def test_relaxations_need_large_slacks_and_a_constraint_of_each_cost() -> None:
    form = cone_form(optimum_at_infinity(THIN))

    def relaxation(*x: float) -> Any:
        return principal_relaxation(form, PreciseAnswer([flint.arb(value) for value in x], []))

    assert relaxation(1.0, 1e10, 1.0) is None
    assert relaxation(1e20, 1e20, 1.0) is None  # nothing is left that holds x
    result = relaxation(1.0, 1e20, 1.0)
    assert [part.tolist() for part in result.rows] == [[0], [0, 1]]
    assert result.form.n == 2 and result.form.c.tolist() == [1, 1]


@pytest.mark.thorough
@pytest.mark.skipif(not INSTANCES.exists(), reason="SDPLIB is not beside the repository: ../shared/instances")
@pytest.mark.parametrize(
    ("name", "optimum"), [("hinf4", 271.4977258), ("hinf7", 154.9047017), ("hinf8", 58.4491737), ("hinf11", 0.0)]
)
def test_programs_of_sdplib_without_dual_interior_are_certified(name: str, optimum: float) -> None:
    certificate = certify_problem(load_problem(INSTANCES / f"{name}.dat-s"))
    assert certificate.scaled_gap <= 1e-8
    assert certificate.lower == pytest.approx(optimum, abs=2e-7)
