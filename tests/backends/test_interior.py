"""The structured interior point: its Newton step against a dense one, its answers on awkward programs, warm starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support.problems import REFERENCE_U, noisy_stumps, reference_erlpboost
from support.random_programs import OWN_RADII, draw_program

from boostopt import MarginMatrix, Outcome, Program, SolverNotFound, get_backend, get_formulation, list_formulations
from boostopt.backends.base import WarmStart
from boostopt.backends.interior.interior_form import InteriorProblem
from boostopt.backends.interior.merged_columns import SignedColumnMatrix, merge_signed_columns
from boostopt.backends.interior.newton_steps import ComplementarityPairs, Iterate, NewtonSystem, Residuals
from boostopt.backends.interior.starting_points import cold_start_point

pytestmark = pytest.mark.every(2)

SUPPORTED = [name for name in list_formulations() if name not in OWN_RADII]
MOST_ITERATIONS = 60


def interior_problem(program: Program) -> InteriorProblem:
    problem = InteriorProblem.from_program(program)
    assert problem is not None
    return problem


def start_of(program: Program) -> tuple[InteriorProblem, Iterate]:
    problem = interior_problem(program)
    return problem, cold_start_point(problem, program.regularizer.project(None), 0.1)


def dense_step(problem: InteriorProblem, point: Iterate, target: ComplementarityPairs) -> np.ndarray | None:
    """The Newton step (d, v, beta, x) with nothing eliminated, by a general solver; None where it is not unique."""
    d = problem.weights_inside_box(point.lower_distance)
    residuals = Residuals.from_point(problem, point, d)
    n, k, j = len(d), len(point.v), len(point.x)
    A = np.eye(problem.U.t) if problem.rows.A is None else problem.rows.A
    images = A @ problem.U.to_array()[problem.movable].T
    one = np.ones((n, 1)) * problem.f.on_simplex
    H = np.diag(problem.curvatures(d) + point.zeta / point.lower_distance + point.psi / point.upper_distance)
    slack = np.zeros(k)
    slack[problem.inequality] = point.s[problem.inequality] / point.v[problem.inequality]
    from_rows = np.zeros(k)
    from_rows[problem.inequality] = target.rows[problem.inequality] / point.v[problem.inequality]
    free_beta = np.zeros((1, 1)) if problem.f.on_simplex else np.ones((1, 1))
    matrix = np.block(
        [
            [H, images.T, one, np.zeros((n, j))],
            [images, -np.diag(slack), np.zeros((k, 1)), problem.rows.B],
            [one.T, np.zeros((1, k)), free_beta, np.zeros((1, j))],
            [np.zeros((j, n)), problem.rows.B.T, np.zeros((j, 1)), problem.rows.Q],
        ]
    )
    right = np.concatenate(
        [
            target.lower / point.lower_distance - target.upper / point.upper_distance - residuals.stationarity,
            -residuals.rows - from_rows,
            [-residuals.weight_sum],
            -residuals.x,
        ]
    )
    return np.linalg.solve(matrix, right) if np.linalg.cond(matrix) < 1e10 else None


@pytest.mark.parametrize("name", SUPPORTED)
def test_a_step_is_the_one_of_the_whole_system(name: str) -> None:
    rng = np.random.default_rng(3)
    checked = 0
    while checked < 3:
        program = draw_program(rng, name, largest_N=30, largest_t=4, largest_eta=100)
        if not interior_problem(program).movable.any():
            continue
        problem, point = start_of(program)
        residuals = Residuals.from_point(problem, point, problem.weights_inside_box(point.lower_distance))
        target = ComplementarityPairs(
            *(0.3 - part for part in (point.products.lower, point.products.upper, point.products.rows))
        )
        step = NewtonSystem(problem, point, problem.weights_inside_box(point.lower_distance), residuals).step(target)
        twin = dense_step(problem, point, target)
        if twin is None:
            continue
        mine = np.concatenate([step.lower_distance, step.v, [step.beta], step.x])
        np.testing.assert_allclose(mine, twin, rtol=1e-5, atol=1e-7 * np.abs(twin).max())
        np.testing.assert_allclose(
            step.zeta * point.lower_distance + point.zeta * step.lower_distance, target.lower, rtol=1e-9
        )
        np.testing.assert_allclose(
            step.psi * point.upper_distance + point.psi * step.upper_distance, target.upper, rtol=1e-9
        )
        checked += 1


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_start_is_centred_and_stationary(name: str) -> None:
    program = draw_program(np.random.default_rng(8), name, largest_eta=1e3)
    problem = interior_problem(program)
    if not problem.movable.any():
        return
    point = cold_start_point(problem, program.regularizer.project(None), 0.1)
    residuals = Residuals.from_point(problem, point, problem.weights_inside_box(point.lower_distance))
    scale = np.abs(point.zeta) + np.abs(point.psi) + 1
    assert np.all(np.abs(residuals.stationarity) <= 1e-9 * scale)
    both = point.products.lower * point.products.upper
    np.testing.assert_allclose(both, 0.01, rtol=1e-6)
    assert (point.lower_distance > 0).all()
    assert (point.upper_distance > 0).all()
    assert (point.s[problem.inequality] > 0).all()


@pytest.mark.thorough
@pytest.mark.parametrize("name", SUPPORTED)
def test_random_programs_are_solved_to_the_last_digit_that_the_certificate_has(name: str) -> None:
    """Within 1e-8, or as near as the certificate's own rounding allows; the narrowest that Clarabel has overlaps."""
    rng = np.random.default_rng([2, *name.encode()])
    for k in range(12):
        program = draw_program(rng, name)
        solution = program.solve("interior", tol=1e-8)
        certificate = solution.certificate
        rounding = 4.0 * certificate.slack if np.isfinite(certificate.gap) else 0.0
        if certificate.upper == np.inf and not certificate.infeasible:  # equations that force weights to 0
            assert program.solve("cvxpy:clarabel", tol=1e-6, time_limit=10).certificate.upper == np.inf
            assert name == "entropy_projection"
            continue
        assert certificate.gap <= max(1e-8 * certificate.scale, rounding) or certificate.infeasible, (k, program)
        assert all(
            attempt.iterations is not None and attempt.iterations <= MOST_ITERATIONS for attempt in solution.attempts
        )
        if k < 3:
            reference = program.solve("cvxpy:clarabel", tol=1e-6, time_limit=10).certificate
            assert certificate.infeasible == reference.infeasible or certificate.overlaps(reference)


@pytest.mark.parametrize("eta", (0.5, 46.0, 2e4, 1e6))
@pytest.mark.parametrize("name", ("erlpboost", "binary_erlpboost", "unnormalized_erlpboost"))
def test_noisy_stumps_at_every_strength(name: str, eta: float) -> None:
    program = get_formulation(name).bind(noisy_stumps(1000, 30), nu=100, eta=eta)
    solution = program.solve("interior", tol=1e-9)
    assert solution.certificate.scaled_gap <= 1e-9
    assert len(solution.attempts) == 1


def test_reference_numbers() -> None:
    certificate = reference_erlpboost().solve("interior", tol=1e-10).certificate
    reference = reference_erlpboost().solve("cvxpy:clarabel", tol=1e-9).certificate
    assert certificate.scaled_gap <= 1e-10
    assert certificate.overlaps(reference)


def test_every_storage_gives_the_same_answer() -> None:
    U = noisy_stumps(400, 12).astype(int)
    answers = [
        get_formulation("erlpboost").bind(matrix, nu=40, eta=100).solve("interior", tol=1e-9)
        for matrix in (U, U.astype(float), scipy.sparse.csr_array(U.astype(float)))
    ]
    for answer in answers:
        assert answer.certificate.scaled_gap <= 1e-9
        np.testing.assert_allclose(answer.d, answers[0].d, atol=1e-6)


def test_an_infeasible_program_is_proved_to_be_so() -> None:
    program = get_formulation("softboost").bind(noisy_stumps(500, 20)[:, ::2], nu=50, gamma=-0.6)
    solution = program.solve("interior")
    assert solution.outcome is Outcome.INFEASIBLE
    assert len(solution.attempts) == 1


@pytest.mark.parametrize("tol", ["default", "low", 1e-6])
def test_interior_without_a_feasible_point_claims_no_optimum_and_no_gap(tol: str | float) -> None:
    program = get_formulation("softboost").bind(noisy_stumps(500, 20)[:, ::2], nu=50, gamma=-0.6)
    (attempt,) = program.solve("interior", tol).attempts
    assert attempt.status.startswith("infeasible") and not attempt.claims and attempt.claimed_gap is None


def test_interior_with_fixed_weights_needs_no_iteration() -> None:
    feasible = get_formulation("softboost").bind([[1.0, -1.0], [-1.0, 1.0]], nu=2, gamma=0.1).solve("interior")
    assert feasible.certificate.scaled_gap <= 1e-8
    assert feasible.attempts[0].iterations == 0
    infeasible = get_formulation("softboost").bind([[1.0, -1.0], [0.5, 1.0]], nu=2, gamma=0.1).solve("interior")
    assert infeasible.outcome is Outcome.INFEASIBLE


def grown(U: np.ndarray, name: str, first: int, rounds: int, **parameters: Any) -> list[tuple[int, int]]:
    """Iterations (cold, warm) of programs to which the column of largest edge is appended, one after another."""
    formulation = get_formulation(name)
    columns, rest = list(range(first)), list(range(first, U.shape[1]))
    solution = formulation.bind(U[:, columns], **parameters).solve("interior", tol=1e-9)
    counts = list[tuple[int, int]]()
    for _ in range(rounds):
        edges = U.T @ solution.d
        best = max(rest, key=lambda q: edges[q])
        rest.remove(best)
        columns.append(best)
        program = formulation.bind(U[:, columns], **parameters)
        cold = program.solve("interior", tol=1e-9)
        solution = program.solve("interior", tol=1e-9, start=solution)
        assert solution.certificate.scaled_gap <= 1e-9
        assert solution.certificate.overlaps(cold.certificate)
        counts.append((cold.iterations or 0, solution.iterations or 0))
    return counts


@pytest.mark.thorough
@pytest.mark.parametrize("eta", (46.0, 2e4))
def test_appended_columns_take_fewer_iterations_than_anew(eta: float) -> None:
    U = noisy_stumps(1000, 120)[:, ::2][:, np.random.default_rng(0).permutation(60)]
    counts = grown(U, "erlpboost", 20, 8, nu=100, eta=eta)
    cold, warm = np.sum(counts, axis=0)
    assert warm <= 0.75 * cold
    assert min(one / max(reference, 1) for reference, one in counts) <= 0.5


@pytest.mark.parametrize("changes", ({"eta": 150.0}, {"nu": 120.0}, {"nu": 60.0, "eta": 20.0}))
def test_a_moved_parameter_starts_from_the_last_answer(changes: dict[str, float]) -> None:
    usual = {"nu": 100.0, "eta": 100.0}
    U = noisy_stumps(1000, 60)[:, ::2]
    first = get_formulation("erlpboost").bind(U, **usual).solve("interior", tol=1e-9)
    program = get_formulation("erlpboost").bind(U, **(usual | changes))
    cold, warm = program.solve("interior", tol=1e-9), program.solve("interior", tol=1e-9, start=first)
    assert warm.certificate.scaled_gap <= 1e-9
    assert warm.attempts[0].form.startswith("warm")
    assert warm.certificate.overlaps(cold.certificate)


@pytest.mark.thorough
def test_a_rough_answer_is_polished() -> None:
    program = get_formulation("erlpboost").bind(noisy_stumps(1000, 60)[:, ::2], nu=100, eta=1000)
    rough = program.solve("cvxpy:scs", tol=1e-4)
    fine = rough.polish()
    assert fine.certificate.scaled_gap <= 1e-9
    assert (fine.iterations or 0) <= 0.6 * (program.solve("interior", tol=1e-9).iterations or 0)
    assert fine.polish() is fine


@pytest.mark.parametrize("noise", (0.0, 1e-2, 1.0, 1e300))
def test_any_start_is_survived(noise: float) -> None:
    program = get_formulation("erlpboost").bind(noisy_stumps(200, 16), nu=20, eta=30)
    rng = np.random.default_rng(1)
    start = WarmStart(noise * rng.normal(size=200), noise * rng.normal(size=10))
    assert program.solve("interior", tol=1e-9, start=start).certificate.scaled_gap <= 1e-9


def test_unsupported_programs_are_refused_in_words() -> None:
    ball = get_formulation("norm_ball").example_program()
    able = get_backend("interior").takes(ball)
    assert not able
    assert able.reason.startswith("interior ") and able.reason.endswith(" (Separable)")
    with pytest.raises(SolverNotFound, match=r"\binterior\b.*\(Separable\)"):
        ball.solve("cvxpy:clarabel", tol=1e-5).polish(tol=1e-14)


def test_an_appended_matrix_knows_where_it_comes_from() -> None:
    U = MarginMatrix(np.asarray(REFERENCE_U, dtype=float))
    longer = U.append(np.full(U.N, 0.5)).append(np.zeros(U.N))
    branch = U.append(np.full(U.N, -0.5))
    assert longer.is_extension_of(U)
    assert not longer.is_extension_of(branch)
    assert not U.is_extension_of(longer)
    np.testing.assert_array_equal(longer.to_array()[:, -2:], np.tile([0.5, 0.0], (U.N, 1)))
    np.testing.assert_array_equal(branch.column(U.t), np.full(U.N, -0.5))
    np.testing.assert_array_equal(U.to_array(), REFERENCE_U)


def test_equal_and_opposite_columns_are_computed_with_once() -> None:
    rng = np.random.default_rng(5)
    V = rng.uniform(-1, 1, size=(60, 5))
    V[:, 3] = 0.0
    column, sign = rng.integers(0, 5, 20), rng.choice([-1.0, 1.0], 20)
    U = MarginMatrix(V[:, column] * sign)
    fold = merge_signed_columns(U)
    assert isinstance(fold, SignedColumnMatrix)
    assert fold.V.t == len(set(column.tolist()))
    d, w, theta = rng.random(60), rng.normal(size=20), rng.random(60)
    np.testing.assert_array_equal(fold.to_array(), U.to_array())
    np.testing.assert_allclose(fold.edges(d), U.edges(d), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(fold.margins(w), U.margins(w), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(fold.gram(theta), U.gram(theta), rtol=1e-12, atol=1e-13)
    assert merge_signed_columns(MarginMatrix(V)) is not None
    assert isinstance(merge_signed_columns(MarginMatrix(rng.uniform(-1, 1, size=(60, 5)))), MarginMatrix)


def test_a_weight_between_infinite_slopes_does_not_stick_to_an_end() -> None:
    """Products that ran ahead of stationarity once took 60 iterations here."""
    program = get_formulation("binary_erlpboost").bind(noisy_stumps(5000, 100)[:, ::2], nu=500, eta=46)
    solution = program.solve("interior", tol=1e-9, merge=False)
    assert solution.certificate.scaled_gap <= 1e-9
    assert (solution.iterations or 0) <= 30


def test_a_warm_start_that_ran_off_does_not_keep_the_cold_one_from_being_tried() -> None:
    program = get_formulation("adaboost").bind(np.array([[1.0, 1, 0, 1, 0, 1, 1]]).T)
    solution = program.solve("interior", start=WarmStart(np.zeros(7), np.zeros(0)))
    assert solution.certificate.scaled_gap <= 1e-8


def test_huge_penalties_start_without_a_warning() -> None:
    U = np.random.default_rng(0).choice([-1.0, 1.0], (150, 40))
    assert get_formulation("svm").bind(U, C=1e14).solve("interior").certificate.scaled_gap <= 1e-8


@pytest.mark.parametrize(
    ("name", "parameters"), [("binary_softboost", {"gamma": 0.9}), ("binary_erlpboost", {"eta": 1.0})]
)
def test_interior_with_a_reference_at_its_cap_needs_no_iteration(name: str, parameters: dict[str, float]) -> None:
    U, d0 = [[1.0, -1.0], [-1.0, 1.0], [0.5, -1.0]], [1e-100, 1e-200, 1.0]
    solution = get_formulation(name).bind(U, nu=1, d0=d0, **parameters).solve("interior")
    assert solution.certificate.scaled_gap <= 1e-8
    assert solution.iterations == 0


@pytest.mark.thorough
def test_weights_that_are_free_to_sum_to_anything_start_where_edges_are_not_too_far_from_their_bounds() -> None:
    U = scipy.sparse.random_array((20_000, 5), density=0.3, rng=np.random.default_rng(1), format="csr")
    solution = get_formulation("l1_adaboost").bind(U, C=1.0).solve("interior")
    assert solution.certificate.scaled_gap <= 1e-8
    assert len(solution.attempts) == 1


@pytest.mark.parametrize("C", (1e3, 1e6, 1e9, 1e12, 1e15))
def test_weights_of_any_size_are_of_size_one_to_it(C: float) -> None:
    rng = np.random.default_rng(0)
    signs, halves = rng.choice([-1.0, 1.0], (150, 40)), np.abs(rng.uniform(0.5, 1, (100, 3)))
    for U in (signs, halves):
        solution = get_formulation("l1_adaboost").bind(U, C=C).solve("interior")
        certificate = solution.certificate
        assert certificate.gap <= max(1e-8 * certificate.scale, 4.0 * certificate.slack)
        assert (solution.iterations or 0) <= 60


@pytest.mark.parametrize("C", (1e6, 1e10, 1e14))
def test_squares_of_large_weights_are_solved_until_rounding(C: float) -> None:
    U = np.random.default_rng(0).choice([-1.0, 1.0], (150, 40))
    certificate = get_formulation("qp_reg_adaboost").bind(U, C=C).solve("interior").certificate
    assert certificate.scaled_gap <= 1e-8
    stumps = get_formulation("qp_reg_adaboost").bind(noisy_stumps(300, 20), C=100 * C).solve("interior")
    assert stumps.certificate.gap <= max(1e-8 * stumps.certificate.scale, 4.0 * stumps.certificate.slack)


def test_opposite_edges_between_narrow_bounds_keep_their_slacks() -> None:
    """Slacks of 1 beside weights of 1e5: products that ran ahead of the rows, and what was added to the diagonal."""
    solution = get_formulation("l1_adaboost").bind(noisy_stumps(300, 20), C=1e5).solve("interior")
    assert solution.certificate.scaled_gap <= 1e-8
    assert len(solution.attempts) == 1


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("entropy_projection", {"rho": 0.1}),
        ("entropy_projection", {"rho": -0.2}),
        ("totalboost", {"gamma": -1e-6}),
        ("softboost", {"nu": 20, "gamma": -1e-6}),
    ],
)
def test_a_column_of_tiny_numbers_proves_infeasibility_alone(name: str, parameters: dict[str, float]) -> None:
    rng = np.random.default_rng(5)
    for scale in (1e-6, 4e-7, 1e-8):
        U = rng.uniform(-1, 1, (80, 5))
        U[:, 2] *= scale if name == "entropy_projection" else 0.1 * scale
        solution = get_formulation(name).bind(U, **parameters).solve("interior")
        assert solution.outcome is Outcome.INFEASIBLE
        assert len(solution.attempts) == 1
