"""Intervals of semidefinite programs: known optima, programs without interior, duality gaps, and faces that lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import flint
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

from boostopt import ConicProgram, certify_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.cone_proofs import cone_form_interval
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer, solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import cone_form
from boostopt.problem_certificates.cone_proofs.cone_form_interval import FormCertifier
from boostopt.problem_certificates.cone_proofs.cone_membership import are_members, distances, is_semidefinite
from boostopt.problem_certificates.cone_proofs.dual_bound import (
    MultiplierChange,
    Multipliers,
    dual_bound,
    multipliers_of,
)
from boostopt.problem_certificates.cone_proofs.semidefinite.dual_faces import (
    DualFace,
    dual_faces,
    recession_direction,
    singular_cones,
)
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_answers import PreciseAnswer
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_bounds import precise_bound
from boostopt.problem_certificates.cone_proofs.semidefinite.semidefinite_answers import (
    has_semidefinite_answer,
    semidefinite_answers,
)

INF = np.inf


def semidefinite_program(c: Any, matrices: Sequence[Any], constant: Any, rows: Any = None) -> ConicProgram:
    """Return min <c, x> over x with the sum of x_i times matrix i, plus a constant, semidefinite, and rows >= 0."""
    n, constant = len(c), np.asarray(constant, dtype=float)
    A = np.stack([np.asarray(matrix, dtype=float).ravel() for matrix in matrices], axis=1)
    R = np.zeros((0, n)) if rows is None else np.asarray(rows, dtype=float)
    return ConicProgram(
        scipy.sparse.csc_array(R),
        np.asarray(c, dtype=float),
        np.zeros(len(R)),
        np.full(len(R), INF),
        np.full(n, -INF),
        np.full(n, INF),
        cones=(ConeConstraint("semidefinite", scipy.sparse.csr_array(A), constant.ravel()),),
    )


def units(n: int) -> list[Any]:
    """Return the matrices with a 1 on the diagonal."""
    return [np.diag(row) for row in np.eye(n)]


def costs_and_matrices(rng: np.random.Generator, n: int, order: int) -> tuple[list[float], list[Any]]:
    """Return costs and matrices of random programs with an interior on both sides, for a constant near the identity.

    A positive definite multiplier gives the costs.
    """
    matrices = [M + M.T for M in rng.integers(-3, 4, (n, order, order)).astype(float)]
    root = rng.integers(-2, 3, (order, order)).astype(float)
    return [float(np.vdot(M, root @ root.T + np.eye(order))) for M in matrices], matrices


def maximum_cut(n: int = 5) -> ConicProgram:
    """Return the relaxation of the maximum cut of a cycle, whose optimum is n (1 + cos(pi / n)) / 2 for odd n."""
    cycle = np.roll(np.eye(n), 1, axis=0)
    return semidefinite_program(np.ones(n), units(n), -(2 * np.eye(n) - cycle - cycle.T) / 4)


def equal_partition() -> ConicProgram:
    """Return the relaxation of the partition of 6 nodes in equal halves, with weights of rank 1; its optimum is 36.

    Each multiplier Z has the row sums 0.
    """
    a = np.array([1.0, 1, 1, -1, -1, -1])
    ones = np.ones((6, 6))
    return semidefinite_program([0, 1, 1, 1, 1, 1, 1], [ones, *units(6)], -np.outer(a, a))


def duality_gap() -> ConicProgram:
    """Return a program with the optimum 0 whose dual has the optimum -1 [Vandenberghe and Boyd 1996, section 3]."""
    first = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]])
    second = np.diag([0.0, 1, 0])
    return semidefinite_program([1, 0], [first, second], np.diag([0.0, 0, 1]))


@pytest.mark.parametrize(
    ("program", "optimum", "gap"),
    [
        (maximum_cut(), 5 * (5 + math.sqrt(5)) / 8, 1e-8),
        (maximum_cut(75), 75 * (1 + math.cos(math.pi / 75)) / 2, 1e-8),
        (equal_partition(), 36.0, 1e-6),
    ],
)
def test_semidefinite_programs_are_certified_at_their_known_optima(
    program: ConicProgram, optimum: float, gap: float
) -> None:
    certificate = certify_problem(program)
    assert certificate.lower - 1e-14 <= optimum <= certificate.upper + 1e-14
    assert certificate.scaled_gap <= gap


def test_variables_whose_matrices_depend_on_each_other_leave_narrow_intervals() -> None:
    constant = maximum_cut().cones[0].b.reshape(5, 5)
    matrices = [*units(5), np.diag([1.0, 1, 0, 0, 0]), np.zeros((5, 5))]
    certificate = certify_problem(semidefinite_program([1, 1, 1, 1, 1, 2, 0], matrices, constant))
    assert certificate.lower - 1e-14 <= 5 * (5 + math.sqrt(5)) / 8 <= certificate.upper + 1e-14
    assert certificate.scaled_gap <= 1e-8


def test_a_dual_without_interior_has_a_face_of_whole_numbers() -> None:
    form = cone_form(equal_partition())
    direction = recession_direction(form)
    assert direction is not None
    assert singular_cones(form, direction) == ["cone 0"]
    face = next(dual_faces(form, direction))
    vectors = face.null_vectors[0][0]
    assert (vectors == vectors[0]).all()
    assert vectors.shape == (6, 1)
    assert recession_direction(cone_form(maximum_cut())) is None


@pytest.mark.thorough
def test_a_duality_gap_is_never_closed() -> None:
    certificate = certify_problem(duality_gap())
    assert certificate.lower <= -1 + 1e-12
    assert certificate.upper >= 0


def test_a_face_proves_the_dual_optimum_below_a_duality_gap() -> None:
    form = cone_form(duality_gap())
    face = next(dual_faces(form, np.array([0.0, 1])))
    np.testing.assert_array_equal(face.null_vectors[0][0], [[0], [1], [0]])
    multipliers = Multipliers(np.zeros(0), np.zeros(0), [np.diag([1.0, 0, 1]).ravel()], np.zeros(2))
    with working_precision():
        assert dual_bound(form, multipliers, MultiplierChange(power=0.0), None).lower == -INF
        assert dual_bound(form, multipliers, MultiplierChange(power=0.0), None, face=face).lower == pytest.approx(
            -1, abs=1e-12
        )


def test_infeasible_semidefinite_programs_are_proved_and_weakly_infeasible_ones_never_bounded() -> None:
    swap = np.array([[0.0, 1], [1, 0]])
    strong = semidefinite_program([1, 0], [np.diag([1.0, -1]), swap], np.diag([0.0, -1]))
    assert certify_problem(strong).status == "infeasible"
    weak = certify_problem(semidefinite_program([0.0], [np.diag([1.0, 0])], swap))
    assert weak.upper == INF
    assert weak.status in ("open", "infeasible")


def test_multipliers_that_no_point_needs_are_refused_where_the_dual_is_infeasible() -> None:
    unbounded = certify_problem(semidefinite_program([-1.0], [np.diag([1.0, 1])], np.zeros((2, 2))))
    assert unbounded.lower == -INF
    assert unbounded.status == "unbounded"


@pytest.mark.parametrize("seed", range(20))
def test_faces_that_lie_never_prove_a_bound_above_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order, n = 4, 5
    costs, matrices = costs_and_matrices(rng, n, order)
    program = semidefinite_program(costs, matrices, np.eye(order))
    certificate = certify_problem(program)
    assert certificate.scaled_gap <= 1e-7
    form = cone_form(program)
    answer = next(semidefinite_answers(form, 1e-9))
    vector = np.zeros((order, 1))
    vector[0], vector[1:, 0] = 1, rng.integers(-2, 3, order - 1)
    face = DualFace([[vector]], [[np.array([0])]], np.zeros(0, dtype=bool))
    with working_precision():
        for point in (multipliers_of(answer), multipliers_of(solve_form(form))):
            assert dual_bound(form, point, MultiplierChange(power=0.0), None, face=face).lower <= certificate.upper


def test_a_face_completes_only_what_is_semidefinite_on_it() -> None:
    form = cone_form(equal_partition())
    group, vector = form.groups[0], np.ones((6, 1))
    face = DualFace([[vector]], [[np.array([0])]], np.zeros(0, dtype=bool))
    projector = np.eye(6) - np.ones((6, 6)) / 6
    direction = np.array([1.0, -1, 0, 0, 0, 0])
    for size, is_member in ((0.25, True), (0.75, False)):
        Z = (projector - size * np.outer(direction, direction)).ravel()
        completed = face.completed(0, (Z, np.full(36, 1e-14)))
        assert are_members(group, completed, is_dual=True).all() == is_member
    equations = face.equations(0)
    assert equations.shape == (6, 36)
    np.testing.assert_allclose(equations @ projector.ravel(), 0, atol=1e-14)
    two = np.array([[1.0, 0], [0, 1], [1, 2], [0, 0], [0, 0], [0, 0]])
    pair = DualFace([[two]], [[np.array([0, 1])]], np.zeros(0, dtype=bool)).equations(0).toarray()
    assert np.linalg.matrix_rank(pair) == len(pair) == 11
    kernel = scipy.linalg.null_space(pair)
    for matrix in kernel.T.reshape(-1, 6, 6):
        np.testing.assert_allclose((matrix + matrix.T) @ two, 0, atol=1e-12)


@pytest.mark.parametrize("depth", [1e-3, 1e-14, 0.0, -1e-14, -1e-3])
def test_matrices_of_a_group_are_proved_one_by_one_and_together(depth: float) -> None:
    program = equal_partition()
    group = cone_form(replace(program, cones=program.cones * 3)).groups[0]
    assert group.count == 3
    deep = np.eye(6) * 2
    thin = np.diag([1.0, 1, 1, 1, 1, depth])
    mids, radius = np.stack([deep, thin, deep]).ravel(), np.full(3 * 36, 1e-15)
    assert are_members(group, (mids, radius), is_dual=True).tolist() == [True, depth >= 1e-14, True]
    assert are_members(group, (np.tile(deep.ravel(), 3), radius)).all()
    assert not are_members(group, (np.tile(deep.ravel(), 3), radius * 1e15)).any()
    assert not are_members(group, (np.tile(deep.ravel(), 3), radius * np.inf)).any()
    wide = np.where(np.arange(3 * 36) < 72, 1e-15, 1.0)
    assert are_members(group, (np.tile(deep.ravel(), 3), wide)).tolist() == [True, True, False]
    np.testing.assert_allclose(distances(group, mids), [2, depth, 2], atol=1e-15)


def test_matrices_proved_together_are_those_proved_alone() -> None:
    rng = np.random.default_rng(0)
    order, count, forms = 4, 200, replace(equal_partition(), cones=())
    empty = ConeConstraint("semidefinite", scipy.sparse.csr_array((order**2, forms.shape[1])), np.zeros(order**2))
    group = cone_form(replace(forms, cones=(empty,) * count)).groups[0]
    roots = rng.normal(size=(count, order, order)) * 10.0 ** rng.integers(-4, 5, (count, 1, order))
    mids = roots @ roots.transpose(0, 2, 1)
    scales = 10.0 ** rng.integers(-6, 7, (count, order))  # which powers of two make up for
    mids *= scales[:, :, None] * scales[:, None, :]
    mids -= rng.choice([0.0, 1e-20, 1e-3], (count, 1, 1)) * np.eye(order) * scales[:, :, None] ** 2
    mids[:20, 0], mids[:20, :, 0] = 0.0, 0.0
    radii = np.abs(mids) * 10.0 ** rng.integers(-20, -6, (count, 1, 1))
    expected = [is_semidefinite(*pair) for pair in zip(mids, radii, strict=True)]
    assert are_members(group, (mids.ravel(), radii.ravel())).tolist() == expected
    assert 40 < sum(expected) < 160


def test_points_and_multipliers_between_two_answers_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    form = cone_form(one_matrix([1.0, 0, 0, 1], [0, 1.0, 1, 0]))  # [[x, 1], [1, x]]: the optimum is 1

    def answers(*_: Any) -> Any:
        for slack in (0.0, 1e-7):
            Z = np.array([0.5, -0.5 + slack, -0.5 + slack, 0.5])
            yield ConicAnswer(np.array([1.0 + slack]), np.zeros(0), np.zeros(0), [Z], "Solved")

    monkeypatch.setattr(cone_form_interval, "semidefinite_answers", answers)
    interval = FormCertifier(form, 1e-9).run()
    assert 1 - 3e-9 <= interval.lower <= 1 <= interval.upper <= 1 + 1.1e-9


def test_answers_of_the_interior_point_method_agree_with_those_of_clarabel() -> None:
    form = cone_form(maximum_cut())
    assert has_semidefinite_answer(form)
    answers = list(semidefinite_answers(form, 1e-9))
    clarabel = solve_form(form)
    assert answers[0].status == "Solved"
    assert form.c @ answers[0].x == pytest.approx(form.c @ clarabel.x, rel=1e-7)
    np.testing.assert_allclose(form.G_transposed[0] @ answers[0].cones[0], form.c, atol=1e-13)


def test_rows_and_blocks_count_in_the_interior_point_method() -> None:
    # min x + y over [[x, 1], [1, y]] semidefinite, x >= 2 y in a row, and a block that nothing joins: 3 / sqrt 2.
    def padded(entries: Any) -> Any:
        result = np.zeros((3, 3))
        result[:2, :2] = entries
        return result

    first, second = padded([[1, 0], [0, 0]]), padded([[0, 0], [0, 1]])
    first[2, 2] = 1.0
    constant = padded([[0, 1], [1, 0]])
    certificate = certify_problem(semidefinite_program([1, 1], [first, second], constant, [[1.0, -2.0]]))
    assert certificate.lower - 1e-14 <= 3 / math.sqrt(2) <= certificate.upper + 1e-14
    assert certificate.scaled_gap <= 1e-8


def one_matrix(A: list[float], b: list[float]) -> ConicProgram:
    """Return min x in R, so that A x + b, column by column, is positive semidefinite."""
    cone = ConeConstraint("semidefinite", np.array(A).reshape(-1, 1), np.array(b))
    free = np.array([np.inf])
    return ConicProgram(
        scipy.sparse.csc_array((0, 1)), np.ones(1), np.zeros(0), np.zeros(0), -free, free, cones=(cone,)
    )


def test_multipliers_that_are_not_symmetric_prove_nothing_by_one_of_their_triangles() -> None:
    program = one_matrix([1.0, 0, 0, 1], [0, 1.0, 1, 0])  # [[x, 1], [1, x]]: the optimum is 1
    for entry in (-100.0, 100.0):
        for matrix in ([0.5, entry, 0, 0.5], [0.5, 0, entry, 0.5]):
            answer = PreciseAnswer([flint.arb(2)], [flint.arb_mat(2, 2, matrix)])
            assert precise_bound(cone_form(program), answer).lower <= 1.0
    symmetric = PreciseAnswer([flint.arb(2)], [flint.arb_mat(2, 2, [0.5, -0.5, -0.5, 0.5 + 2**-30])])
    assert 1.0 - 1e-8 <= precise_bound(cone_form(program), symmetric).lower <= 1.0


def test_a_panic_of_the_solver_is_an_answer_without_numbers() -> None:
    A, small = [0.0, -3, 0, 0, -3, 0, 0, 2, 0, 0, 1, 3, 0, 2, 3, 0], 1e-8
    b = [-small, 0, 0, 0, 0, 3.0, 0, 0, 0, 0, 3, 0, 0, 0, 0, -small]
    certificate = certify_problem(one_matrix(A, b))  # no x makes the first entry of the diagonal positive
    assert certificate.status in ("infeasible", "open") and certificate.lower <= certificate.upper


class Panic(BaseException):
    """An exception as libraries in Rust raise it, under the name that PyO3 gives it."""


Panic.__name__ = "PanicException"


@pytest.mark.parametrize("failure", [Panic("Eigval error"), KeyboardInterrupt()])
def test_interrupts_of_the_solver_are_no_panics(failure: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    class Solver:
        def __init__(self, *arguments: Any) -> None:
            pass

        def solve(self) -> None:
            raise failure

    monkeypatch.setattr("clarabel.DefaultSolver", Solver)
    form = cone_form(one_matrix([1.0, 0, 0, 1], [0, 1.0, 1, 0]))
    if isinstance(failure, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            solve_form(form)
    else:
        assert not solve_form(form).is_finite
