"""Certificates of small problems: narrow from good answers, true from wrong ones."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from convex_problems import PROBLEMS, cp, point_of, reference_value, values_of

from boostopt import ProblemCertificate, assert_certified, certify_problem

SAMPLE = (
    "lasso",
    "svm",
    "markowitz",
    "max entropy",
    "entropic boosting",
    "network flow",
    "robust linear",
    "maximum cut",
    "largest eigenvalue",
    "quad_form of low rank",
)
"""Problems of the fast suite."""

NAMES = pytest.mark.parametrize(
    "name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.thorough) for name in PROBLEMS]
)

REFERENCE_TOL = 2e-7
"""Relative error that the reference value may have."""


def solve(problem: Any, solver: str = "CLARABEL", **options: Any) -> None:
    with warnings.catch_warnings(action="ignore"):  # that an answer may be inaccurate
        problem.solve(solver, **options)


def assert_true(certificate: ProblemCertificate, reference: float) -> None:
    slack = REFERENCE_TOL * max(1.0, abs(reference))
    assert not math.isnan(certificate.lower) and not math.isnan(certificate.upper)
    assert certificate.lower <= reference + slack
    assert certificate.upper >= reference - slack
    assert certificate.lower <= certificate.upper


def duals(problem: Any) -> list[Any]:
    return [dual for constraint in problem.constraints for dual in constraint.dual_variables if dual.value is not None]


def save(problem: Any, values: list[Any]) -> None:
    """Give variables values, symmetric where the variable must be."""
    for variable, value in zip(problem.variables(), values, strict=True):
        is_symmetric = any(variable.attributes.get(key) for key in ("PSD", "symmetric"))
        variable.save_value((value + value.T) / 2 if is_symmetric else value)


@pytest.mark.every(2)
@NAMES
def test_answers_of_clarabel_prove_narrow_intervals(name: str) -> None:
    problem = PROBLEMS[name]()
    solve(problem)
    values = point_of(problem)
    certificate = assert_certified(problem, gap=1e-6)
    assert certificate.status == "bounded" and not certificate.reasons
    assert (point_of(problem) == values).all()  # the problem is left as it was
    assert_true(certificate, reference_value(problem))


def test_an_answer_far_from_the_only_feasible_point_proves_no_wide_interval() -> None:
    """The equations of a Hilbert matrix have one solution, and the point of a solver is another one."""
    n, x = 8, cp.Variable(8)
    exact = (-1) ** (np.arange(n) + n) * np.array([8.0, 504, 7560, 46200, 138600, 216216, 168168, 51480])
    scaled = np.array([[360360 / (i + j + 1) for j in range(n)] for i in range(n)])
    assert (scaled == np.round(scaled)).all()
    sides = scaled @ exact
    problem = cp.Problem(cp.Minimize(cp.norm(x)), [scaled @ x == sides])
    x.save_value(np.linalg.lstsq(scaled, sides, rcond=1e-6)[0])
    optimum = float(np.linalg.norm(exact))
    assert np.linalg.norm(x.value) < optimum / 2
    certificate = certify_problem(problem)
    assert certificate.lower <= optimum * (1 + 1e-15) and certificate.upper >= optimum * (1 - 1e-15)
    assert certificate.scaled_gap <= 1e-5


def test_a_wide_interval_of_an_answer_alone_has_this_reason() -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1])
    x.save_value(np.zeros(2))
    certificate = certify_problem(problem)
    assert certificate.scaled_gap > 1e-4 and "proves no narrower interval" in certificate.reasons[0]
    assert not certify_problem(problem, solver="CLARABEL").reasons


@pytest.mark.every(2)
@NAMES
def test_the_box_contains_the_minimizers_and_the_point_is_feasible(name: str) -> None:
    problem = PROBLEMS[name]()
    solve(problem)
    certificate = certify_problem(problem)
    reference_value(problem)
    for variable, value in zip(problem.variables(), values_of(problem), strict=True):
        low, high = certificate.box[variable]
        slack = 1e-4 * (1 + np.abs(value))
        assert (value >= low - slack).all() and (value <= high + slack).all()
    assert certificate.point is not None
    for variable in problem.variables():
        variable.save_value(np.array(certificate.point[variable]))
    for constraint in problem.constraints:
        # CVXPY measures the violation of exponential and power cones by a solver.
        tolerance = 1e-6 if type(constraint).__name__ in ("ExpCone", "PowCone3D", "PowConeND") else 1e-12
        assert np.max(constraint.violation(), initial=0.0) <= tolerance
    sign = 1 if isinstance(problem.objective, cp.Minimize) else -1
    end = certificate.upper if sign > 0 else certificate.lower
    assert problem.objective.value == pytest.approx(end, rel=1e-9, abs=1e-9)


@pytest.mark.every(4)
@NAMES
@pytest.mark.parametrize("seed", range(6))
def test_noise_in_values_and_duals_proves_nothing_false(name: str, seed: int) -> None:
    problem, rng = PROBLEMS[name](), np.random.default_rng(seed)
    reference = reference_value(problem)
    values = values_of(problem)
    answers = [(dual, np.array(dual.value)) for dual in duals(problem)]
    size = (0.0, 1e-6, 1e-3, 0.1, 3.0, 0.0)[seed]
    save(problem, [value + size * rng.normal(size=value.shape) for value in values])
    for dual, value in answers:
        change = {0: -value, 4: rng.normal(size=value.shape), 5: 1000 * value}.get(seed, size * value)
        dual.save_value(change if seed in (0, 5) else value + change)
    assert_true(certify_problem(problem), reference)


@pytest.mark.every(4)
@NAMES
def test_duals_that_are_missing_stale_or_nan_prove_nothing_false(name: str) -> None:
    problem = PROBLEMS[name]()
    reference = reference_value(problem)
    answers = [(dual, np.array(dual.value)) for dual in duals(problem)]
    for change in (
        lambda value: np.full_like(value, np.nan),
        lambda value: np.zeros_like(value),
        lambda value: value.ravel()[::-1].reshape(value.shape),  # another order
        lambda value: np.abs(value),
    ):
        for dual, value in answers:
            dual.save_value(change(value))
        assert_true(certify_problem(problem), reference)


def linear_problem(rng: np.random.Generator, sense: Any) -> tuple[Any, Any]:
    A, c, x = np.abs(rng.normal(size=(6, 4))) + 0.1, rng.normal(size=4), cp.Variable(4)
    return x, cp.Problem(sense(c @ x), [A @ x <= 1, -A @ x <= 1])


@pytest.mark.parametrize("seed", range(20))
def test_the_answer_of_the_opposite_problem_proves_nothing_false(seed: int) -> None:
    """The opposite answer is stationary with multipliers of the wrong sign; noise is never stationary."""
    x, problem = linear_problem(np.random.default_rng(seed), cp.Minimize)
    reference = float(problem.solve("CLARABEL"))
    _, opposite = linear_problem(np.random.default_rng(seed), cp.Maximize)
    opposite.solve("CLARABEL")
    x.save_value(opposite.variables()[0].value)
    for constraint, opposite_constraint in zip(problem.constraints, opposite.constraints, strict=True):
        constraint.save_dual_value(-opposite_constraint.dual_value)
    assert_true(certify_problem(problem), reference)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["entropy", "square", "norm", "semidefinite"])
def test_the_answer_of_the_opposite_curved_problem_proves_nothing_false(kind: str, seed: int) -> None:
    """A concave objective in place of the convex one: stationary points are no minimizers, whatever the duals are."""
    rng = np.random.default_rng(seed)
    c = rng.normal(size=4)
    x = cp.Variable(4)
    X = cp.Variable((2, 2), symmetric=True)
    box = [x >= 0.1, x <= 1, cp.sum(x) == 2]
    matrix = [X >> 0, cp.trace(X) == 1]
    curved, constraints = {
        "entropy": (-cp.sum(cp.entr(x)), box),
        "square": (cp.sum_squares(x), box),
        "norm": (cp.norm(x - 0.3), box),
        "semidefinite": (cp.lambda_max(X + np.diag(c[:2])), matrix),
    }[kind]
    linear = c @ x if kind != "semidefinite" else cp.sum(X)
    problem = cp.Problem(cp.Minimize(curved + linear), constraints)
    reference = float(problem.solve("CLARABEL"))
    opposite = cp.Problem(cp.Minimize(curved - linear), constraints)
    opposite.solve("CLARABEL")
    for constraint in constraints:
        value = constraint.dual_value
        constraint.save_dual_value(-np.asarray(value))
    assert_true(certify_problem(problem), reference)


@pytest.mark.parametrize("seed", range(10))
def test_answers_of_a_neighbour_prove_nothing_false(seed: int) -> None:
    """The values and duals of another problem of equal shapes are stale."""
    rng = np.random.default_rng(seed)

    def problem_of(rng: np.random.Generator) -> Any:
        A, b, x = rng.normal(size=(8, 4)), rng.normal(size=8), cp.Variable(4)
        return cp.Problem(
            cp.Minimize(cp.sum_squares(A @ x - b) + cp.norm1(x) + cp.max(A[:3] @ x)),
            [A[:5] @ x <= b[:5] + 2, cp.sum(x) == 0],
        )

    problem, neighbour = problem_of(rng), problem_of(rng)
    reference = float(problem.solve("CLARABEL"))
    neighbour.solve("CLARABEL")
    problem.variables()[0].save_value(neighbour.variables()[0].value)
    for constraint, neighbour_constraint in zip(problem.constraints, neighbour.constraints, strict=True):
        constraint.save_dual_value(neighbour_constraint.dual_value)
    assert_true(certify_problem(problem), reference)


@pytest.mark.parametrize("seed", range(10))
def test_optima_that_are_known_as_fractions_lie_inside(seed: int) -> None:
    """Least squares and minimum norms: the exact optimum of the floats is a fraction."""
    flint: Any = pytest.importorskip("flint")
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(8, 4)) * 10.0 ** rng.integers(-4, 4), rng.normal(size=8)

    def exact(values: Any) -> Any:
        array = np.atleast_2d(values)
        entries = [flint.fmpq(*float(value).as_integer_ratio()) for value in array.ravel()]
        return flint.fmpq_mat(*array.shape, entries)

    x = cp.Variable(4)
    M, r = exact(A), exact(b[:, None])
    normal = M.transpose() * r
    rest = (r.transpose() * r)[0, 0] - (normal.transpose() * (M.transpose() * M).solve(normal))[0, 0]
    first, side = exact(A[:2]), exact(b[:2, None])
    norm = (side.transpose() * (first * first.transpose()).solve(side))[0, 0]
    for objective, constraints, optimum in (
        (cp.sum_squares(A @ x - b), [], rest),
        (cp.sum_squares(x), [A[:2] @ x == b[:2]], norm),
    ):
        problem = cp.Problem(cp.Minimize(objective), constraints)
        solve(problem, "SCS" if seed % 2 else "CLARABEL")
        certificate = certify_problem(problem)
        for end, sign in ((certificate.lower, 1), (certificate.upper, -1)):
            if math.isfinite(end):
                fraction = flint.fmpq(*float(end).as_integer_ratio())
                assert (optimum - fraction) * sign >= 0


def test_all_claims_of_solvers_overlap() -> None:
    problem = PROBLEMS["elastic net"]()
    intervals = list[ProblemCertificate]()
    for solver in ("CLARABEL", "SCS", "OSQP"):
        solve(problem, solver)
        intervals.append(certify_problem(problem))
    assert max(certificate.lower for certificate in intervals) <= min(certificate.upper for certificate in intervals)


def test_an_auxiliary_solver_narrows_the_interval() -> None:
    problem = PROBLEMS["lasso"]()
    with pytest.raises(AssertionError, match="certified to 1e-06"):
        problem.variables()[0].value = np.ones(10)
        assert_certified(problem)
    assert certify_problem(problem, solver="auto").scaled_gap <= 1e-8


@pytest.mark.parametrize(
    "name", ["power cones", "exponential cone", "second-order cone", "matrix fraction", "entropic boosting"]
)
def test_a_point_next_to_curved_constraints_needs_no_further_solve(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise AssertionError("expected no solve")

    problem = PROBLEMS[name]()
    solve(problem)
    monkeypatch.setattr(cp.Problem, "solve", fail)
    assert certify_problem(problem).scaled_gap <= 5e-8


def test_a_value_that_is_off_is_an_assertion_error() -> None:
    problem = PROBLEMS["lasso"]()
    problem.solve("CLARABEL")
    problem._value += 1e-3
    certificate = certify_problem(problem)
    assert certificate.violation == pytest.approx(1e-3 / problem.value, rel=1e-3)
    with pytest.raises(AssertionError, match="is off by"):
        assert_certified(problem)
    problem._value = math.inf  # as CVXPY reports of values outside the domain of an atom
    with pytest.raises(AssertionError, match="reports inf, which is not finite"):
        assert_certified(problem)
    problem._status = "infeasible_inaccurate"
    with pytest.raises(AssertionError, match=r"reports inf, for it is infeasible_inaccurate .* data are badly scaled"):
        assert_certified(problem)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(10))
def test_programs_of_boosting_in_cvxpy_are_certified_about_as_well_as_by_boostopt(seed: int) -> None:
    from boostopt import get_formulation

    rng = np.random.default_rng(seed)
    N, t, nu, eta = 40, 8, 8.0, 10.0 ** rng.integers(1, 4)
    U = np.sign(rng.normal(size=(N, t)) + 0.3)
    d = cp.Variable(N)
    simplex = [cp.sum(d) == 1, d >= 0, d <= 1 / nu]
    for name, parameters, objective in (
        ("erlpboost", {"nu": nu, "eta": eta}, cp.max(U.T @ d) + cp.sum(cp.rel_entr(d, np.full(N, 1 / N))) / eta),
        ("lpboost", {"nu": nu}, cp.max(U.T @ d)),
    ):
        problem = cp.Problem(cp.Minimize(objective), simplex)
        solve(problem, "SCS")
        gap = get_formulation(name).bind(U, **parameters).certify(d=d.value).scaled_gap
        assert certify_problem(problem).scaled_gap <= max(10 * gap, 1e-8)


MAX_GAP_RATIO = 10.0
"""Largest gap of a program above the goal, over that of its certificate in boostopt."""


def boosting_problem(name: str, U: Any, d: Any, nu: float, eta: float) -> tuple[dict[str, Any], Any]:
    """Return the parameters of a program of boosting, and the program plainly stated in CVXPY."""
    N = len(U)
    entropy, largest_edge = cp.sum(cp.rel_entr(d, np.full(N, 1 / N))), cp.max(U.T @ d)
    simplex = [cp.sum(d) == 1, d >= 0]
    cap = [*simplex, d <= 1 / nu]
    losses = cp.sum(cp.rel_entr(d, np.full(N, 0.5)) + cp.rel_entr(1 - d, np.full(N, 0.5)))
    if name == "softboost":  # at a bound of the edges between those of LPBoost and of the uniform weights
        cp.Problem(cp.Minimize(largest_edge), cap).solve("CLARABEL")
        gamma = float(0.5 * largest_edge.value + 0.5 * U.mean(axis=0).max())
        return {"nu": nu, "gamma": gamma}, cp.Problem(cp.Minimize(entropy), [*cap, U.T @ d <= gamma])
    radius = 1.5 / np.sqrt(N)
    return {
        "erlpboost": ({"nu": nu, "eta": eta}, cp.Problem(cp.Minimize(largest_edge + entropy / eta), cap)),
        "lpboost": ({"nu": nu}, cp.Problem(cp.Minimize(largest_edge), cap)),
        "log_loss": ({"eta": eta}, cp.Problem(cp.Minimize(largest_edge + losses / eta))),
        "norm_ball": ({"r": radius}, cp.Problem(cp.Minimize(largest_edge), [*simplex, cp.norm(d) <= radius])),
        "svm": ({"C": 1.0}, cp.Problem(cp.Minimize(cp.sum_squares(U.T @ d) / 4 - cp.sum(d)), [d >= 0, d <= 1])),
    }[name]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["erlpboost", "softboost", "lpboost", "log_loss", "norm_ball", "svm"])
@pytest.mark.parametrize("solver", ["SCS", "CLARABEL"])
@pytest.mark.parametrize("seed", range(3))
def test_six_programs_by_two_solvers_are_certified_about_as_well_as_by_boostopt(
    name: str, solver: str, seed: int
) -> None:
    from boostopt import get_formulation

    rng = np.random.default_rng(seed)
    U, d, eta = np.sign(rng.normal(size=(40, 8)) + 0.3), cp.Variable(40), 10.0 ** rng.integers(1, 4)
    parameters, problem = boosting_problem(name, U, d, 8.0, eta)
    solve(problem, solver)
    gap = get_formulation(name).bind(U, **parameters).certify(d=d.value).scaled_gap
    certificate = certify_problem(problem)
    assert certificate.status == "bounded"
    assert certificate.scaled_gap <= max(MAX_GAP_RATIO * gap, 1e-8)


@pytest.mark.parametrize("is_equality", [True, False])
def test_rows_that_are_all_0_leave_their_multipliers(is_equality: bool) -> None:
    x = cp.Variable()
    arguments = cp.hstack([-x - 1 / 3, 0.1 * x - 1, 0.5 * x - 1 / 3])
    constraint = 0 * x == 0 if is_equality else 0 * x <= 0
    problem = cp.Problem(cp.Minimize(-0.5 * x + cp.norm_inf(arguments)), [constraint])
    value = problem.solve(solver="CLARABEL")
    certificate = certify_problem(problem)
    assert certificate.lower - 1e-8 <= value <= certificate.upper + 1e-8 and certificate.gap <= 1e-6
