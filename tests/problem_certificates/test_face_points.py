"""Points of semidefinite programs whose optimum lies at infinity, and lies about what proves them."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest
from convex_problems import cp
from test_semidefinite_programs import duality_gap, equal_partition, semidefinite_program

from boostopt import certify_problem
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.cone_proofs import cone_form_interval
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, cone_form
from boostopt.problem_certificates.cone_proofs.cone_form_interval import FormCertifier
from boostopt.problem_certificates.cone_proofs.primal_bound import PointFailure, ProvedPoint, proved_point
from boostopt.problem_certificates.cone_proofs.semidefinite.dual_faces import dual_faces, reduced_form
from boostopt.problem_certificates.cone_proofs.semidefinite.face_points import FaceCone, FacePoints, proved_ball_point
from boostopt.problem_certificates.cone_proofs.semidefinite.semidefinite_answers import semidefinite_answers


def optimum_at_infinity(rows: Any = None, basis: Any = ((1.0, 0), (0, 1))) -> ConeForm:
    """Return min y over T [[x, 1], [1, y]] Tᵀ semidefinite: the optimum 0 is not attained."""
    T = np.array(basis)
    matrices = [T @ M @ T.T for M in (np.diag([1.0, 0]), np.diag([0.0, 1]))]
    return cone_form(semidefinite_program([0, 1], matrices, T @ np.array([[0.0, 1], [1, 0]]) @ T.T, rows))


def points_of(form: ConeForm, direction: Any) -> FacePoints:
    return FacePoints(form, reduced_form(form, next(dual_faces(form, direction))), direction)


def answer_with(x: float, n_rows: int = 0) -> ConicAnswer:
    return ConicAnswer(np.array([x]), np.zeros(0), np.zeros(n_rows), [np.ones(1)], "Solved")


@pytest.mark.parametrize("y", [1.0, 1e-9, 1e-12])
def test_a_point_far_away_is_proved_where_floats_do_not_hold_it(y: float) -> None:
    form = optimum_at_infinity(basis=[[2.0, 1], [1, 1]])
    result = points_of(form, np.array([1.0, 0])).point(answer_with(y))
    assert isinstance(result, ProvedPoint)
    assert result.upper == pytest.approx(y, rel=1e-3)
    assert 1 <= result.x[0][0] * y <= 4
    in_floats = proved_point(form, np.array([2 / y, y]), 0.0)
    assert isinstance(in_floats, ProvedPoint) == (y == 1)


@pytest.mark.parametrize("y", [0.0, -1e-300, -1.0])
def test_points_outside_the_reduced_cones_have_no_way_into_the_cones(y: float) -> None:
    result = points_of(optimum_at_infinity(), np.array([1.0, 0])).point(answer_with(y))
    assert isinstance(result, PointFailure)
    assert "no way" in result.reason


@pytest.mark.parametrize("direction", [[-1.0, 0], [0.0, 0], [1e-320, 0], [np.nan, 0]])
def test_directions_that_lie_prove_no_point(direction: list[float]) -> None:
    form = optimum_at_infinity()
    reduced = reduced_form(form, next(dual_faces(form, np.array([1.0, 0]))))
    with np.errstate(all="ignore"):
        result = FacePoints(form, reduced, np.array(direction)).point(answer_with(1e-3))
    assert isinstance(result, PointFailure)


def test_rows_end_the_way_or_ask_for_a_longer_one() -> None:
    direction = np.array([1.0, 0])
    longer = points_of(optimum_at_infinity([[1.0, -1e12]]), direction).point(answer_with(1.0))
    assert isinstance(longer, ProvedPoint)
    assert longer.x[0][0] >= 1e12
    form = optimum_at_infinity([[-1.0, 5]])  # x <= 5 y and x y >= 1
    reduced = reduced_form(form, next(dual_faces(form, direction)))
    for y, is_feasible in ((1e-3, False), (1e3, True)):
        result = FacePoints(form, reduced, direction).point(answer_with(y))
        assert isinstance(result, ProvedPoint) == is_feasible


@pytest.mark.parametrize("excess", [-1.0, -1e-9, -(2.0**-200), 0.0, 1e-9, 1.0])
def test_a_point_is_proved_only_inside_whatever_the_bases_are(excess: float) -> None:
    form = optimum_at_infinity()
    group = form.groups[0]
    y = 2.0**-100
    rng = np.random.default_rng(0)
    first, second = np.eye(2)[:, :1], np.eye(2)[:, 1:]
    bases = [(first, second), (second, first), (first, first), (np.zeros((2, 1)), second), (first, 1e-300 * second)]
    bases += [(V[:, :1], V[:, 1:]) for V in rng.normal(size=(4, 2, 2))]
    with flint.ctx.workprec(512):
        x = [(1 + flint.arb(excess)) / flint.arb(y), flint.arb(y)]
        for V, Q in bases:
            result = proved_ball_point(form, [FaceCone(group.G, group.h, V, Q, "cone 0")], x)
            assert not isinstance(result, ProvedPoint) or excess >= 0
        result = proved_ball_point(form, [FaceCone(group.G, group.h, second, first, "cone 0")], x)
        assert isinstance(result, ProvedPoint) == (excess >= 1e-9)


@pytest.mark.parametrize(
    ("form", "direction", "optimum"),
    [
        (cone_form(equal_partition()), np.eye(7)[0], 36.0),
        (cone_form(duality_gap()), np.array([0.0, 1]), 0.0),
    ],
)
def test_points_of_faces_are_never_below_the_optimum(form: ConeForm, direction: Any, optimum: float) -> None:
    points = points_of(form, direction)
    reduced = reduced_form(form, next(dual_faces(form, direction)))
    results = [points.point(answer) for answer in semidefinite_answers(reduced.form, 1e-9)]
    uppers = [result.upper for result in results if isinstance(result, ProvedPoint)]
    assert all(upper >= optimum for upper in uppers)
    if optimum == 36.0:
        assert min(uppers) <= optimum + 1e-6


@pytest.mark.thorough
def test_points_between_the_nearest_answer_and_a_proved_one_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    form, results = cone_form(equal_partition()), list[ProvedPoint | PointFailure]()
    point = FacePoints.point

    def point_with_slack(points: FacePoints, answer: ConicAnswer) -> ProvedPoint | PointFailure:
        results.append(PointFailure("too near") if not results else point(points, answer))
        return results[-1]

    monkeypatch.setattr(FacePoints, "point", point_with_slack)
    monkeypatch.setattr(cone_form_interval, "MAX_GAP", 1e-15)
    with working_precision():
        interval = FormCertifier(form, 1e-13).run()
    uppers = [result.upper for result in results if isinstance(result, ProvedPoint)]
    assert len(uppers) >= 2 and uppers == sorted(uppers, reverse=True)
    assert interval.upper <= uppers[-1] < uppers[0]


@pytest.mark.parametrize(
    ("build", "optimum"),
    [
        (lambda v, X: (-cp.sum(cp.entr(v)), [cp.sum(v) == 0]), 0.0),
        (lambda v, X: (-cp.sum(cp.entr(v)), [cp.sum(v) <= 0]), 0.0),
        (lambda v, X: (cp.sum(v), [cp.sum(cp.entr(v)) >= 0, cp.sum(v) <= 0]), 0.0),
        (lambda v, X: (-cp.geo_mean(v), [cp.sum(v) == 0]), 0.0),
        (lambda v, X: (cp.sum(cp.power(v, 1.5)), [cp.sum(v) <= 0]), 0.0),
        (lambda v, X: (-cp.sum(cp.sqrt(v)), [v[0] + v[1] == 0, v[2] <= 4]), -2.0),
        (lambda v, X: (-cp.log(v[0]) - cp.sum(cp.entr(v[1:])), [cp.sum(v[1:]) <= 0, v[0] <= 1]), 0.0),
        (lambda v, X: (-cp.von_neumann_entr(X), [X[0, 0] == 0, X[1, 1] == 1]), 0.0),
    ],
)
def test_points_at_the_limits_of_domains_prove_the_upper_end(build: Any, optimum: float) -> None:
    v, X = cp.Variable(3, name="v"), cp.Variable((2, 2), symmetric=True, name="X")
    objective, constraints = build(v, X)
    certificate = certify_problem(cp.Problem(cp.Minimize(objective), constraints), solver="auto")
    assert certificate.lower <= optimum <= certificate.upper and certificate.gap <= 1e-6


@pytest.mark.parametrize(
    ("build", "optimum"),
    [
        (lambda v, X: (v[0], [cp.exp(v[0]) <= 1 + v[0]]), 0.0),
        (lambda v, X: (v[0], [cp.log(v[0]) >= v[0] - 1]), 1.0),
        (lambda v, X: (v[0], [cp.geo_mean(v) >= 1, cp.sum(v) <= 3]), 1.0),
        (lambda v, X: (v[0] - v[1], [cp.inv_pos(v[0]) + v[0] <= 2, v[1] == 0.25]), 0.75),
        (lambda v, X: (v[0], [cp.entr(v[0]) >= 1 - v[0]]), 1.0),
        (lambda v, X: (v[1], [cp.exp(v[0]) <= 1 + v[0], cp.norm(v) <= 1]), -1.0),
        (lambda v, X: (v[0] + v[1], [cp.norm(v) <= 1, cp.norm(v - np.array([2.0, 0, 0])) <= 1]), 1.0),
        (lambda v, X: (X[0, 1] + X[0, 0], [cp.lambda_max(X) <= 1, cp.trace(X) >= 2]), 1.0),
        (lambda v, X: (X[0, 1] + X[0, 0], [cp.log_det(X) >= 0, cp.trace(X) <= 2]), 1.0),
        (lambda v, X: (cp.sum(X), [X >> 0, cp.trace(X) <= 0]), 0.0),
    ],
)
def test_simple_points_are_proved_where_no_point_has_slack(build: Any, optimum: float) -> None:
    v, X = cp.Variable(3, name="v"), cp.Variable((2, 2), symmetric=True, name="X")
    objective, constraints = build(v, X)
    certificate = certify_problem(cp.Problem(cp.Minimize(objective), constraints), solver="auto")
    assert certificate.lower <= optimum <= certificate.upper and certificate.gap <= 1e-4
