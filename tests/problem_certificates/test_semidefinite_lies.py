"""Semidefinite programs of known optimum, with and without interior, and lies in all that their proofs are given."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np
import pytest
from test_semidefinite_programs import semidefinite_program

from boostopt import ConicProgram, certify_problem
from boostopt._utils.array_types import Array
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer, solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, cone_form
from boostopt.problem_certificates.cone_proofs.cone_form_interval import FormCertifier
from boostopt.problem_certificates.cone_proofs.dual_bound import (
    MultiplierChange,
    Multipliers,
    bound_between,
    dual_bound,
    enclosed_dual_point,
    multipliers_of,
)
from boostopt.problem_certificates.cone_proofs.primal_bound import ProvedPoint, proved_point
from boostopt.problem_certificates.cone_proofs.refined_multipliers import refined_in_metric
from boostopt.problem_certificates.cone_proofs.semidefinite.dual_faces import DualFace
from boostopt.problem_certificates.cone_proofs.semidefinite.face_points import FaceCone, proved_ball_point
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_answers import PreciseAnswer, precise_answer
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_bounds import precise_bound, precise_point
from boostopt.problem_certificates.cone_proofs.semidefinite.semidefinite_answers import semidefinite_answers


@dataclass(frozen=True, eq=False)
class KnownProgram:
    """A program with the optimum <c, x>, which is a whole number.

    Attributes
    ----------
    program
        The program.
    x, Z
        The optimal point, and its multiplier.
    vectors
        Whole-number vectors that Z maps to 0, as columns.
    null_vectors
        Those that all multipliers map to 0.
    """

    program: ConicProgram
    x: Array
    Z: Array
    vectors: Array
    null_vectors: Array

    @property
    def optimum(self) -> float:
        """The optimum."""
        return float(self.program.c @ self.x)


def known_program(rng: np.random.Generator) -> KnownProgram:
    """Return a program by a complementary pair in whole numbers; the dual has an interior or not."""
    order, n = int(rng.integers(3, 6)), int(rng.integers(2, 6))
    lower, upper = (np.tril(rng.integers(-2, 3, (order, order)), -1) + np.eye(order) for _ in range(2))
    T = lower @ upper.T  # whole numbers with the determinant 1, as those of the inverse
    U = np.round(np.linalg.inv(T)).T
    rank = int(rng.integers(1, order))
    S = T[:, :rank] @ np.diag(rng.integers(1, 4, rank)) @ T[:, :rank].T
    # Without strict complementarity, there are vectors that both map to 0.
    n_positive = int(rng.integers(max(1, order - rank - 1), order - rank + 1))
    Z = U[:, rank : rank + n_positive] @ np.diag(rng.integers(1, 4, n_positive)) @ U[:, rank : rank + n_positive].T
    matrices = [M + M.T for M in rng.integers(-2, 3, (n, order, order)).astype(float)]
    n_null = int(rng.integers(0, rank + 1))
    matrices[:n_null] = [np.outer(T[:, k], T[:, k]) for k in range(min(n_null, n))]
    n_null = min(n_null, n)
    x = rng.integers(-2, 3, n).astype(float)
    constant = S - sum((value * M for value, M in zip(x, matrices, strict=True)), np.zeros((order, order)))
    costs = [float(np.vdot(M, Z)) for M in matrices]
    return KnownProgram(semidefinite_program(costs, matrices, constant), x, Z, T[:, :rank], T[:, :n_null])


def lying_matrices(item: KnownProgram, form: ConeForm, rng: np.random.Generator) -> Iterator[Array]:
    """Yield multipliers: the optimal one, others near it, and those of other programs."""
    Z, order = item.Z, len(item.Z)
    noise = rng.normal(size=(order, order))
    yield from (Z, Z + 1e-8 * (noise + noise.T), Z + noise @ noise.T, -Z, 2 * Z, np.eye(order), np.zeros_like(Z))
    for costs in (-form.c, form.c + rng.normal(size=form.n)):  # of the opposite program, and of a neighbour
        opposite = replace(form, c=costs)
        yield from (
            solve_form(opposite).cones[0],
            *(answer.cones[0] for answer in semidefinite_answers(opposite, 1e-6)),
        )


def lying_faces(item: KnownProgram, rng: np.random.Generator) -> Iterator[DualFace]:
    """Yield faces: true ones, those of a neighbour, vectors off by a unit, and with wrong pivots."""
    order = len(item.Z)
    for Q in (item.null_vectors, item.vectors, item.Z, np.eye(order)[:, :1], rng.integers(-2, 3, (order, 2))):
        vectors = np.asarray(Q, dtype=float)
        for changed in (vectors, vectors + np.eye(*vectors.shape), vectors * (1 + 2.0**-40)):
            largest = np.abs(changed).argmax(axis=0) if changed.shape[1] else np.zeros(0, dtype=int)
            for pivots in (largest, np.arange(changed.shape[1]) % order, rng.permutation(order)[: changed.shape[1]]):
                yield DualFace([[changed]], [[pivots]], np.zeros(0, dtype=bool))


def is_at_most(bound: float, optimum: float) -> bool:
    return bound <= optimum  # false for nan


def check_lies(seed: int, step: int = 1) -> None:
    """Assert that no lie about a program, or one of so many, proves a bound on the wrong side of its optimum."""
    rng = np.random.default_rng(seed)
    item = known_program(rng)
    form, optimum = cone_form(item.program), item.optimum
    matrices = list(lying_matrices(item, form, rng))[::step]
    changes = (MultiplierChange(power=0.0), MultiplierChange(power=0.5, margin=1e-8), MultiplierChange(is_snapped=True))
    faces = list(lying_faces(item, rng))[::step]
    for Z in matrices:
        point = Multipliers(np.zeros(0), np.zeros(0), [np.asarray(Z).ravel()], np.zeros(form.n))
        change = changes[int(rng.integers(3))]
        for face in (None, *(faces[k] for k in rng.integers(0, len(faces), 4).tolist())):
            assert is_at_most(dual_bound(form, point, change, None, face=face).lower, optimum)
    true_point = Multipliers(np.zeros(0), np.zeros(0), [item.Z.ravel()], np.zeros(form.n))
    for face in faces:
        assert is_at_most(dual_bound(form, true_point, changes[0], None, face=face).lower, optimum)
        certifier = FormCertifier(form, 1e-9)
        direction = rng.normal(size=form.n)
        certifier._use_dual_face(face, direction)  # pyright: ignore[reportPrivateUsage]
        assert is_at_most(certifier.interval.lower, optimum)
        assert is_at_most(-certifier.interval.upper, -optimum)
        for x in (item.x, item.x + direction, item.x + 1e-12 * direction):
            V, Q = np.split(rng.normal(size=(len(item.Z), len(item.Z))), [1], axis=1)
            cone = FaceCone(form.groups[0].G, form.groups[0].h, V, Q, "cone 0")
            result = proved_ball_point(form, [cone], [flint.arb(value) for value in x.tolist()])
            assert not isinstance(result, ProvedPoint) or is_at_most(-result.upper, -optimum)
    pairs = [rng.integers(len(matrices), size=2).tolist() for _ in range(max(1, 4 // step))]
    points = [Multipliers(np.zeros(0), np.zeros(0), [np.asarray(Z).ravel()], np.zeros(form.n)) for Z in matrices]
    for first, second in pairs:
        ends = [enclosed_dual_point(form, points[k], changes[0]) for k in (first, second)]
        refined = refined_in_metric(form, points[second], [points[first]])
        assert refined is None or is_at_most(dual_bound(form, refined[0], changes[0], None).lower, optimum)
        for fraction in (0.0, 1e-8, 0.3, 1.0, 2.0):
            if ends[0] is not None and ends[1] is not None:
                assert is_at_most(bound_between(form, ends[0], ends[1], fraction).lower, optimum)
    for x in (item.x, -item.x, item.x + 1e-9, rng.normal(size=form.n), solve_form(replace(form, c=-form.c)).x):
        for power in (0.5, 1.0):
            result = proved_point(form, x, 0.0, power=power)
            assert not isinstance(result, ProvedPoint) or is_at_most(-result.upper, -optimum)
        for matrix in matrices[:6]:
            order = len(item.Z)
            entries = [flint.arb(value) for value in np.asarray(matrix, dtype=float).ravel().tolist()]
            answer = PreciseAnswer([flint.arb(value) for value in x.tolist()], [flint.arb_mat(order, order, entries)])
            assert is_at_most(precise_bound(form, answer).lower, optimum)
            upper = precise_point(form, answer)
            assert not isinstance(upper, ProvedPoint) or is_at_most(-upper.upper, -optimum)
    for costs in (form.c, -form.c):
        opposite = precise_answer(replace(form, c=costs), 1e-8)
        if opposite is not None:
            assert is_at_most(precise_bound(form, opposite).lower, optimum)
    for status in ("Solved", "PrimalInfeasible", "DualInfeasible", "NumericalError"):
        matrix = matrices[int(rng.integers(len(matrices)))]
        lie = ConicAnswer(rng.normal(size=form.n), np.zeros(0), np.zeros(0), [np.asarray(matrix).ravel()], status)
        interval = FormCertifier(form, 1e-9).run(lie)
        assert not interval.status
        assert is_at_most(interval.lower, optimum) and is_at_most(-interval.upper, -optimum)


@pytest.mark.parametrize("seed", range(2))
def test_no_lie_about_a_semidefinite_program_moves_a_bound_past_its_optimum(seed: int) -> None:
    with working_precision(), np.errstate(all="ignore"):
        check_lies(seed, step=16)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(300))
def test_no_lie_about_many_semidefinite_programs_moves_a_bound_past_its_optimum(seed: int) -> None:
    with working_precision(), np.errstate(all="ignore"):
        check_lies(seed)


@pytest.mark.parametrize("seed", range(12))
def test_lower_bounds_of_known_programs_are_near_their_optima_with_and_without_interior(seed: int) -> None:
    item = known_program(np.random.default_rng(seed))
    certificate = certify_problem(item.program)
    assert certificate.lower <= item.optimum <= certificate.upper
    assert certificate.lower >= item.optimum - 1e-6 * max(1.0, abs(item.optimum))
    assert certificate.status in ("bounded", "open")  # some have no feasible point with slack


def thin_program(k: int) -> ConicProgram:
    """Return a program with the optimum -1 whose multipliers have an eigenvalue of about 4^-k at most.

    It is min 4^-k x + 2^(1-k) y + z over [[x, y], [y, 1]] semidefinite and z >= 0, in other coordinates.
    """
    T = np.array([[3.0, 5, 2], [4, 7, 3], [1, 2, 2]])  # whole numbers with the determinant 1
    entries = [np.diag([1.0, 0, 0]), np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]]), np.diag([0.0, 0, 1])]
    matrices: list[Any] = [T @ M @ T.T for M in entries]
    return semidefinite_program([4.0**-k, 2.0 ** (1 - k), 1.0], matrices, T @ np.diag([0.0, 1, 0]) @ T.T)


@pytest.mark.parametrize("k", [4, 6, 8])
def test_multipliers_near_the_boundary_have_exact_reduced_costs_up_to_rounding(k: int) -> None:
    form = cone_form(thin_program(k))
    answers = list(semidefinite_answers(form, 1e-9))
    residuals = [float(np.abs(form.G_transposed[0] @ answer.cones[0] - form.c).max()) for answer in answers]
    assert len(answers) > 3 and max(residuals) <= 5e-12  # by normal equations, they are up to 1e-5


@pytest.mark.parametrize("k", [15, 22])
def test_a_dual_whose_interior_is_thinner_than_rounding_errors_is_proved_in_more_digits(k: int) -> None:
    program = thin_program(k)
    form = cone_form(program)
    with working_precision():
        for answer in semidefinite_answers(form, 1e-9):
            bound = dual_bound(form, multipliers_of(answer), MultiplierChange(power=0.0), None)
            assert bound.lower == -math.inf
    certificate = certify_problem(program)
    assert certificate.lower <= -1 <= certificate.upper
    assert certificate.scaled_gap <= 1e-12
