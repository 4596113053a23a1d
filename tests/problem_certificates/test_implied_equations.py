"""Constraints without interior that are not written as equations: equations that they imply give both bounds."""

from __future__ import annotations

import contextlib
import math
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from convex_problems import cp

from boostopt import ProblemCertificate, assert_certified, certify_problem
from boostopt.problem_certificates.arithmetic.balls import ZERO, ball, working_precision
from boostopt.problem_certificates.atoms.univariate_smooth import HuberLoss
from boostopt.problem_certificates.faces import implied_equations
from boostopt.problem_certificates.faces.implied_equations import (
    RowFacts,
    with_affine_pieces,
    with_implied_equations,
    with_null_vectors,
)
from boostopt.problem_certificates.problem_reader import read_problem
from boostopt.verification import verify

a = np.array([1.0, 2.0, 3.0])
"""The only point of many of the problems."""

A, b = np.array([[1.0, 1, 0], [0, 1, 1]]), np.array([3.0, 5])


def at_point(constraints: Callable[[Any, Any], list[Any]]) -> Callable[[], Any]:
    """The least sum of x, which the constraints set to a, and y at least 0."""

    def make() -> Any:
        x, y = cp.Variable(3), cp.Variable()
        return cp.Minimize(cp.sum(x)), constraints(x, y)

    return make


def least_norm() -> Any:
    x = cp.Variable(3)
    return cp.Minimize(cp.sum_squares(x)), [cp.sum_squares(A @ x - b) <= 0]


def equal_entries() -> Any:
    x = cp.Variable(3)
    return cp.Minimize(cp.sum_squares(x - a)), [cp.max(x) <= cp.min(x)]


def singular_form() -> Any:
    x = cp.Variable(3)
    P = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 0]])
    return cp.Maximize(x[0] + x[1]), [cp.quad_form(x - a, P) <= 0, cp.norm(x) <= 9]


def zero_on_a_diagonal(constraint: Callable[[Any], Any]) -> Callable[[], Any]:
    """With X[0, 0] = 0, X[0, 1] = 0, and X[1, 2] >= -1."""

    def make() -> Any:
        X = cp.Variable((3, 3), symmetric=True)
        return cp.Minimize(X[0, 1] + X[1, 2]), [X >> 0, constraint(X), X[1, 1] + X[2, 2] == 2]

    return make


def constant_zero_on_a_diagonal() -> Any:
    """The optimum is 0; the dual problem has the optimum -1."""
    x = cp.Variable(2)
    E = cp.bmat([[0, x[0], 0], [x[0], x[1], 0], [0, 0, x[0] + 1]])
    return cp.Minimize(x[0]), [E >> 0]


def semidefinite_variable_with_bound() -> Any:
    X = cp.Variable((2, 2), PSD=True)
    return cp.Minimize(X[0, 1] + X[0, 0]), [X[1, 1] <= 0]


def absolute_value_and_divergence() -> Any:
    x = cp.Variable(3)
    return cp.Maximize(x[2]), [cp.abs(x[2]) + cp.kl_div(x[0], 1) <= 0]


OPTIMA: dict[str, tuple[Callable[[], Any], float]] = {
    "abs": (at_point(lambda x, y: [cp.abs(x - a) <= 0]), 6.0),
    "norm": (at_point(lambda x, y: [cp.norm(x - a) <= 0]), 6.0),
    "norm of a third": (at_point(lambda x, y: [cp.norm(3 * x - 3 * a) <= 0]), 6.0),
    "norm1": (at_point(lambda x, y: [cp.norm1(x - a) <= 0]), 6.0),
    "norm_inf": (at_point(lambda x, y: [cp.norm_inf(x - a) <= 0]), 6.0),
    "pnorm": (at_point(lambda x, y: [cp.pnorm(x - a, 3) <= 0]), 6.0),
    "huber": (at_point(lambda x, y: [cp.sum(cp.huber(x - a)) <= 0]), 6.0),
    "square": (at_point(lambda x, y: [cp.square(x - a) <= 0]), 6.0),
    "kl_div": (at_point(lambda x, y: [cp.sum(cp.kl_div(x, a)) <= 0]), 6.0),
    "normNuc": (at_point(lambda x, y: [cp.normNuc(cp.diag(x) - np.diag(a)) <= 0]), 6.0),
    "sigma_max": (at_point(lambda x, y: [cp.sigma_max(cp.diag(x) - np.diag(a)) <= 0]), 6.0),
    "quad_form": (at_point(lambda x, y: [cp.quad_form(x - a, np.diag([2.0, 1, 1])) <= 0]), 6.0),
    "quad_over_lin": (at_point(lambda x, y: [cp.quad_over_lin(x - a, y) <= 0, y >= 1, y <= 2]), 6.0),
    "sum of two": (at_point(lambda x, y: [cp.norm(x[:2] - a[:2]) + 2 * cp.abs(x[2] - 3) <= 0]), 6.0),
    "bounds": (at_point(lambda x, y: [x <= a, x >= a]), 6.0),
    "second-order cone": (at_point(lambda x, y: [cp.SOC(cp.Constant(0), x - a)]), 6.0),
    "epigraph with a limit": (at_point(lambda x, y: [cp.SOC(y, x - a), y <= 0]), 6.0),
    "epigraph with an equation": (at_point(lambda x, y: [cp.SOC(y, x - a), y == 0]), 6.0),
    "affine part": (at_point(lambda x, y: [cp.norm(x - a) + y <= 0, y >= 0]), 6.0),
    "one of two rows": (at_point(lambda x, y: [cp.hstack([cp.norm(x - a), x[0]]) <= np.array([0.0, 5.0])]), 6.0),
    "absolute values and a bound": (at_point(lambda x, y: [cp.norm1(x - a) + y <= 1, y >= 1]), 6.0),
    "least norm": (least_norm, float(b @ np.linalg.solve(A @ A.T, b))),
    "max and min": (equal_entries, 2.0),
    "singular form": (singular_form, 3.0),
    "diagonal and an equation": (zero_on_a_diagonal(lambda X: X[0, 0] == 0), -1.0),
    "diagonal and an inequality": (zero_on_a_diagonal(lambda X: 3 * X[0, 0] <= 0), -1.0),
    "diagonal with a constant": (constant_zero_on_a_diagonal, 0.0),
    "diagonal and a variable": (semidefinite_variable_with_bound, 0.0),
    "two atoms": (absolute_value_and_divergence, 0.0),
}


def certified(objective: Any, constraints: list[Any], seed: int | None = None) -> ProblemCertificate:
    problem = cp.Problem(objective, constraints)
    with warnings.catch_warnings(action="ignore"):
        try:
            problem.solve("CLARABEL")
        except cp.SolverError:  # as it may without interior
            for variable in problem.variables():
                variable.save_value(np.zeros(variable.shape))
        if seed is not None:
            rng = np.random.default_rng(seed)
            for variable in problem.variables():
                noise = 10.0 ** rng.integers(-6, 2) * np.asarray(rng.normal(size=variable.shape))
                value = np.zeros(variable.shape) if variable.value is None else variable.value
                variable.save_value(value + (noise + noise.T if variable.ndim == 2 else noise))
                if variable.attributes["PSD"]:
                    variable.save_value(np.eye(2))
        return certify_problem(problem)


@pytest.mark.every(2, 1)
@pytest.mark.parametrize("name", OPTIMA)
def test_both_ends_are_finite(name: str) -> None:
    make, optimum = OPTIMA[name]
    certificate = certified(*make())
    assert certificate.status == "bounded" and not certificate.reasons
    assert certificate.lower - 1e-12 <= optimum <= certificate.upper + 1e-12
    assert certificate.scaled_gap <= 1e-5  # solvers are not accurate without interior


@pytest.mark.thorough
@pytest.mark.parametrize("name", OPTIMA)
def test_certificates_travel(name: str, tmp_path: Path) -> None:
    make, optimum = OPTIMA[name]
    certified(*make()).save(tmp_path / "file.json")
    verification = verify(tmp_path / "file.json")
    assert verification, verification.reason
    assert verification.lower - 1e-12 <= optimum <= verification.upper + 1e-12
    assert verification.upper - verification.lower <= 1e-6


@pytest.mark.every(4)
@pytest.mark.parametrize("name", OPTIMA)
@pytest.mark.parametrize("seed", range(3))
def test_lies_prove_nothing_false(name: str, seed: int) -> None:
    make, optimum = OPTIMA[name]
    certificate = certified(*make(), seed=seed)
    assert certificate.lower - 1e-12 <= optimum <= certificate.upper + 1e-12


@pytest.mark.parametrize(
    "constraints",
    [
        lambda x, y: [cp.norm(x - a) <= 0, cp.norm(x) <= 1],
        lambda x, y: [cp.norm(x - a) <= 0, cp.sum(x) == 7],
        lambda x, y: [cp.bmat([[y, 1], [1, 0]]) >> 0, x == a],  # weakly infeasible
        lambda x, y: [cp.max(x) <= cp.min(x), x[0] == 1, x[1] == 2],
    ],
)
def test_contradictions_are_proved(constraints: Callable[[Any, Any], list[Any]]) -> None:
    assert certified(*at_point(constraints)()).status == "infeasible"


def test_constraints_that_imply_contradictory_equations_are_named() -> None:
    X, y = cp.Variable((2, 2), symmetric=True, name="X"), cp.Variable(name="y")
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X >> 0, X[0, 0] == 0, y >= 2, X[0, 1] == 1])
    with pytest.raises(AssertionError) as failure:
        X.save_value(np.eye(2))
        y.save_value(np.array(2.0))
        assert_certified(problem)
    words = str(failure.value)
    assert "'[0] X >> 0', '[1] X[0, 0] == 0.0', '[3] X[0, 1] == 1.0'" in words and "y >= 2" not in words
    assert "imply equations that contradict each other" in words and "rounding" not in words


@pytest.mark.parametrize(
    ("constraints", "optimum"),
    [
        (lambda x, y: [cp.norm(x - a) <= 1e-3], 6 - 1e-3 * math.sqrt(3)),
        (lambda x, y: [cp.norm(x - a) <= y, y <= 1e-3], 6 - 1e-3 * math.sqrt(3)),
        (lambda x, y: [cp.norm(x - a) + y <= 0, y >= -1e-3], 6 - 1e-3 * math.sqrt(3)),
        (lambda x, y: [cp.norm(x - a) - y <= 0, -y <= 0, y <= 1], 6 - math.sqrt(3)),
        (lambda x, y: [cp.max(cp.hstack([x - a, -x])) <= 0], 0.0),
        (lambda x, y: [cp.kl_div(x[0], y) <= 0, x[1:] == a[1:], x[0] >= 1, y <= 2], 6.0),
        (lambda x, y: [cp.rel_entr(x[0], 1) <= 0, x[1:] == a[1:]], 5.0),
    ],
)
def test_constraints_with_other_points_imply_less(constraints: Callable[[Any, Any], list[Any]], optimum: float) -> None:
    certificate = certified(*at_point(constraints)())
    assert certificate.lower - 1e-9 <= optimum <= certificate.upper + 1e-9
    assert certificate.scaled_gap <= 1e-4


def test_a_huber_loss_with_threshold_0_is_0_everywhere_and_implies_nothing(tmp_path: Path) -> None:
    x = cp.Variable()
    certificate = certified(cp.Minimize(cp.square(x - 3)), [cp.huber(x, 0) <= 0, x >= 2, x <= 9])
    assert certificate.lower <= 0 <= certificate.upper and certificate.scaled_gap <= 1e-6
    low, high = certificate.box[x]
    assert low <= 3 <= high
    assert HuberLoss(ball(0.0)).zero_rows(1) is None
    certificate.save(tmp_path / "huber.json")
    assert verify(tmp_path / "huber.json", certificate.answers[0].problem.problem)


def test_points_outside_the_domain_are_not_feasible() -> None:
    """At y = 0 there is no quotient, although its numerator is 0."""
    x, y = cp.Variable(3), cp.Variable()
    certificate = certified(cp.Minimize(cp.sum(x)), [cp.quad_over_lin(x - a, y) <= 0, y == 0])
    assert certificate.upper == np.inf


def test_the_equations_are_those_of_the_arguments() -> None:
    x, y = cp.Variable(3), cp.Variable()
    constraints = [cp.norm(A @ x - b) <= 0, cp.abs(x) <= 4, cp.hstack([cp.abs(y - 1), y]) <= np.array([0.0, 2.0])]
    read = read_problem(cp.Problem(cp.Minimize(y), constraints))
    with working_precision():
        problem = with_implied_equations(read)
        pieces = with_affine_pieces(problem)
    expected = [*np.pad(A, ((0, 0), (1, 0))).tolist(), [1, 0, 0, 0]]
    assert problem.equalities.rows.floats.toarray()[:, :4].tolist() == expected
    assert problem.equalities.rows.float_offsets.tolist() == [-3, -5, -1]
    assert len(problem.inequalities.rows) == 4 and [item.size for item in problem.inequalities.expressions] == [3, 1]
    assert len(pieces.inequalities.rows) == 7 and pieces.inequalities.rows.is_affine(4)
    point = np.array([1.0, 0.5, 0.25, 2.0])
    y.value, x.value = point[0], point[1:]
    assert problem.equalities.expressions[-1].value == pytest.approx([0.5 + 0.25 - 3, 0.25 + 2 - 5, 0.0])
    assert sorted(pieces.inequalities.expressions[-1].value) == pytest.approx(
        sorted([0.5 - 4, -0.5 - 4, 0.25 - 4, -0.25 - 4, 2 - 4, -2 - 4])
    )


@pytest.mark.parametrize("constraint", [lambda x: -cp.norm(x - a) <= 0, lambda x: cp.min(x - a) <= 0])
def test_constraints_that_are_not_convex_imply_nothing(constraint: Callable[[Any], Any]) -> None:
    x = cp.Variable(3, bounds=[0, 9])
    x.value = np.zeros(3)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [constraint(x)])
    read = read_problem(problem)
    with working_precision():
        assert with_implied_equations(read) is read and with_affine_pieces(read) is read
    certificate = certify_problem(problem)
    assert certificate.lower <= 0 <= certificate.upper


def test_certificate_without_a_point_with_slack_says_so() -> None:
    """Two tangent balls have one common point, which is found only if its numbers are simple."""
    x = cp.Variable(2, name="x")
    for point in (0.0, 77 / 256):
        centres = np.array([point + 1, 0]), np.array([point - 1, 0])
        certificate = certified(cp.Minimize(x[1]), [cp.norm(x - centre) <= 1 for centre in centres])
        assert certificate.lower <= 0 and certificate.upper == (0.0 if point == 0 else np.inf)
    assert re.search(r"\bno point with slack\b", certificate.reasons[0])


def on_a_face(T: Any) -> Callable[[], Any]:
    """The least x with T E Tᵀ semidefinite, which is 0, because E[0, 0] is; multipliers of E alone prove -1."""

    def make() -> Any:
        x = cp.Variable(2)
        E = cp.bmat([[0, x[0], 0], [x[0], x[1], 0], [0, 0, x[0] + 1]])
        return cp.Minimize(x[0]), [T @ E @ T.T >> 0]

    return make


def orthogonal_vector(constrain: Callable[[Any], Any]) -> Callable[[], Any]:
    """With X (1, 1, 0) = 0, X has the block t [[1, -1], [-1, 1]]; the least 2 t + 1 + s with s² <= t is 7 / 8."""

    def make() -> Any:
        X, v = cp.Variable((3, 3), symmetric=True), np.array([1.0, 1.0, 0.0])
        return cp.Minimize(cp.trace(X) + X[0, 2]), [X >> 0, constrain(v @ X @ v), X[2, 2] == 1]

    return make


FACES: dict[str, tuple[Callable[[], Any], float]] = {
    "shear": (on_a_face(np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 1]])), 0.0),
    "mixed rows": (on_a_face(np.array([[1.0, 2, 0], [0, 1, -1], [1, 0, 1]])), 0.0),
    "thirds": (on_a_face(np.array([[3.0, 1, 0], [1, 2, 0], [0, 1, 1]])), 0.0),
    "equation": (orthogonal_vector(lambda form: form == 0), 7 / 8),
    "inequality": (orthogonal_vector(lambda form: form <= 0), 7 / 8),
}
"""Semidefinite matrices with a null vector that is no unit vector, and the optimum."""


@pytest.mark.every(4)
@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize("noise", [0.0, 1e-5, 0.3])
def test_null_vectors_that_are_implied_give_both_ends(name: str, noise: float) -> None:
    make, optimum = FACES[name]
    problem, rng = cp.Problem(*make()), np.random.default_rng(0)
    with warnings.catch_warnings(action="ignore"):
        with contextlib.suppress(cp.SolverError):  # such problems are hard for solvers
            problem.solve("CLARABEL")
    for variable in problem.variables():
        change = noise * rng.normal(size=variable.shape)
        value = np.zeros(variable.shape) if variable.value is None else variable.value
        variable.save_value(value + (change + change.T if variable.ndim == 2 else change))
    certificate = certify_problem(problem)
    assert certificate.lower <= optimum + 1e-12 and certificate.upper >= optimum - 1e-12
    if noise == 0:
        assert certificate.scaled_gap <= 2e-6


@pytest.mark.parametrize("limit", [1e-9, 1.0])
def test_null_vectors_of_an_answer_that_nothing_implies_are_not_used(limit: float) -> None:
    """The least trace is at a singular X, but X with the form at its limit is better for the other objective."""
    X, v = cp.Variable((3, 3), symmetric=True), np.array([1.0, 1.0, 0.0])
    problem = cp.Problem(cp.Maximize(v @ X @ v), [X >> 0, v @ X @ v <= limit, cp.trace(X) <= 1])
    problem.solve("CLARABEL")
    X.save_value(np.diag([0.0, 0.0, 1.0]))
    certificate = certify_problem(problem)
    assert certificate.upper >= limit * (1 - 1e-12)


def test_semidefinite_constraints_without_slack_are_named() -> None:
    """The null vector (1, sqrt(2)) is no float: a form with a larger float has a point, one with a smaller one none."""
    X = cp.Variable((2, 2), symmetric=True, name="X")
    for root in (math.sqrt(2), math.nextafter(math.sqrt(2), 0)):
        form = X[0, 0] + 2 * root * X[0, 1] + 2 * X[1, 1]
        problem = cp.Problem(cp.Minimize(X[0, 0] + X[0, 1]), [X >> 0, form <= 0, X[1, 1] == 1])
        certificate = certify_problem(problem, solver="CLARABEL")
        if root == math.sqrt(2):
            assert certificate.lower <= 2 - math.sqrt(2) + 1e-15 and certificate.upper == pytest.approx(
                2 - math.sqrt(2)
            )
    assert certificate.upper == np.inf
    assert any("X" in reason and ">> 0" in reason for reason in certificate.reasons)


def test_two_proposals_of_one_null_vector_leave_out_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """With both rows left out, the matrix with the entries x and -x would be semidefinite also for x < 0."""
    x, y = cp.Variable(), cp.Variable()
    matrix = cp.bmat([[x, y - x], [y - x, x]])
    read = read_problem(cp.Problem(cp.Minimize(x), [matrix >> 0, y == 0]))
    proposals = [(0, [Fraction(1), Fraction(1)]), (1, [Fraction(1), Fraction(1)])]
    monkeypatch.setattr(implied_equations, "proposed_null_vectors", lambda *_: proposals)
    with working_precision():
        assert [item.n for item in with_null_vectors(read, np.ones(2)).matrices] == [1]


def test_no_bound_says_that_a_row_with_a_factor_of_unknown_sign_is_not_positive() -> None:
    x = cp.Variable(nonneg=True)
    facts = RowFacts(read_problem(cp.Problem(cp.Minimize(x), [x <= 1])))
    factor = ball(1e-60).union(ball(-1e-60))
    assert not facts.is_at_most_zero({0: factor}, ZERO)
    assert facts.is_at_most_zero({0: ball(-1e-60)}, ZERO)


@pytest.mark.parametrize("n", [3, 5000])
def test_coefficients_that_are_stored_as_zeros_say_nothing(n: int) -> None:
    """The optimum is 0: the diagonal entry x_2 is 0, so that x_1 is."""
    x = cp.Variable(n)
    matrix = cp.bmat([[x[0], x[1]], [x[1], x[2]]])
    row = scipy.sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 2]), np.array([0, 2])), shape=(1, n))
    problem = cp.Problem(cp.Minimize(x[0] - x[1]), [matrix >> 0, row @ x == 0, x <= 1, x >= -1])
    x.value = np.zeros(n)
    certificate = certify_problem(problem)
    assert certificate.lower <= 0 <= certificate.upper and certificate.gap <= 1e-6


def with_a_null_vector(v: tuple[float, float], excess: float) -> Any:
    """The smallest <C, E> of semidefinite E with trace at least 1 and vᵀ E v + excess E_22 = 0."""
    E, weights = cp.Variable((2, 2), PSD=True), np.array(v)
    C = np.array([[1.0, 0.25], [0.25, 2.0]])
    equation = weights @ E @ weights + excess * E[1, 1] == 0
    problem = cp.Problem(cp.Minimize(cp.trace(C @ E)), [equation, cp.trace(E) >= 1])
    with warnings.catch_warnings(action="ignore"):
        problem.solve("CLARABEL")
    return problem


@pytest.mark.every(2)
@pytest.mark.parametrize("v", [(1.0, 2 / 7), (1.0, 0.3), (3.0, 977.0), (0.1, -0.7)])
def test_null_vectors_of_rows_need_no_simple_fractions(v: tuple[float, float]) -> None:
    """E is a multiple of w wᵀ for the w that is orthogonal to v."""
    first, second = Fraction(v[1]), -Fraction(v[0])
    optimum = (first**2 + first * second / 2 + 2 * second**2) / (first**2 + second**2)
    certificate = certify_problem(with_a_null_vector(v, 0.0))
    assert certificate.status == "bounded"
    assert Fraction(certificate.lower) <= optimum <= Fraction(certificate.upper)


@pytest.mark.parametrize("v", [(1.0, 2 / 7), (3.0, 977.0)])
def test_rows_that_are_nearly_those_of_a_null_vector_imply_no_equations(v: tuple[float, float]) -> None:
    """With more of E_22, only E = 0 satisfies the equation; with less, more than the multiples of w wᵀ do."""
    assert certify_problem(with_a_null_vector(v, 2.0**-20)).upper == math.inf
    problem = with_a_null_vector(v, -0.0625)
    neighbour = certify_problem(with_a_null_vector(v, 0.0))
    certificate = certify_problem(problem)
    assert certificate.lower <= problem.value + 1e-6 and certificate.lower < neighbour.upper


def test_rows_whose_null_vectors_overflow_are_left_out() -> None:
    X, Y = cp.Variable((3, 3), symmetric=True), cp.Variable((2, 2), symmetric=True)
    M = np.array([[1, 1e-299], [1e-299, 1]])
    constraints = [X >> 0, cp.sum(X) == 0, cp.trace(X) == 3, cp.multiply(M, Y) >> 0, Y[0, 0] + 1e10 * Y[0, 1] <= 5]
    problem = cp.Problem(cp.Minimize(X[0, 1] + cp.trace(Y)), constraints)
    problem.solve(solver="CLARABEL")
    certificate = certify_problem(problem)
    # X of trace 3 with the null vector of ones, and Y = 0: the smallest X_01 is that of (1, -1, 0)(1, -1, 0)' 3 / 2.
    assert certificate.lower <= -1.5 <= certificate.upper + 1e-12
