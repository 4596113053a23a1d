"""Conic relaxations: the epigraphs of atoms, duals without interior, and problems without a relaxation."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
from convex_problems import cp
from support.duals_without_interior import dual_without_interior, squared_distances

from boostopt import certify_problem, verify
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt.problem_certificates.arithmetic.balls import balls, largest_eigenvalue_bound, working_precision
from boostopt.problem_certificates.cone_proofs.cone_form_interval import FormInterval
from boostopt.problem_certificates.minorants import conic_relaxation as relaxations
from boostopt.problem_certificates.minorants.conic_relaxation import conic_relaxation, relaxation_interval
from boostopt.problem_certificates.problem_reader import read_problem

RNG = np.random.default_rng(3)
U = np.round(RNG.normal(size=(4, 4)), 3)
S = U + U.T
VECTOR = U[0]


def eigenvalues(X: np.ndarray) -> np.ndarray:
    """The eigenvalues, from the largest on."""
    return np.linalg.eigvalsh(X)[::-1]


def largest(values: np.ndarray, k: float) -> float:
    """The sum of the k largest of sorted values; a fraction of the last one counts if k is not whole."""
    whole = math.floor(k)
    return float(values[:whole].sum() + ((k - whole) * values[whole] if k > whole else 0.0))


def descending(values: np.ndarray) -> np.ndarray:
    return np.sort(values)[::-1]


ATOMS: dict[str, tuple[Callable[[Any], Any], np.ndarray, float]] = {
    "lambda_max": (cp.lambda_max, S, float(eigenvalues(S)[0])),
    "lambda_min": (cp.lambda_min, S, float(eigenvalues(S)[-1])),
    "lambda_sum_largest": (lambda X: cp.lambda_sum_largest(X, 2), S, largest(eigenvalues(S), 2)),
    "lambda_sum_largest of 1.5": (lambda X: cp.lambda_sum_largest(X, 1.5), S, largest(eigenvalues(S), 1.5)),
    "sigma_max": (cp.sigma_max, U[:3], float(np.linalg.norm(U[:3], 2))),
    "normNuc": (cp.normNuc, U[:3], float(np.linalg.norm(U[:3], "nuc"))),
    "norm": (cp.norm, VECTOR, float(np.linalg.norm(VECTOR))),
    "norm1": (cp.norm1, VECTOR, float(np.abs(VECTOR).sum())),
    "abs": (lambda x: cp.abs(x[0]), VECTOR, abs(float(VECTOR[0]))),
    "norm_inf": (cp.norm_inf, VECTOR, float(np.abs(VECTOR).max())),
    "max": (cp.max, VECTOR, float(VECTOR.max())),
    "min": (cp.min, VECTOR, float(VECTOR.min())),
    "sum_largest": (lambda x: cp.sum_largest(x, 2), VECTOR, largest(descending(VECTOR), 2)),
    "sum_largest of 2.5": (lambda x: cp.sum_largest(x, 2.5), VECTOR, largest(descending(VECTOR), 2.5)),
    "sum_squares": (cp.sum_squares, VECTOR, float(VECTOR @ VECTOR)),
    "quad_over_lin": (lambda x: cp.quad_over_lin(x, 3 + x[0]), VECTOR, float(VECTOR @ VECTOR / (3 + VECTOR[0]))),
    "matrix_frac": (
        lambda X: cp.matrix_frac(X[:, :2], X + 8 * np.eye(4)),
        S,
        float(np.trace(S[:, :2].T @ np.linalg.solve(S + 8 * np.eye(4), S[:, :2]))),
    ),
}
"""Atoms as functions of a variable, a value of the variable, and the value of the atom there by NumPy."""


def interval_of(problem: Any) -> FormInterval | None:
    """Return the interval of the relaxation."""
    with working_precision(), limit_blas_threads(), np.errstate(all="ignore"):
        return relaxation_interval(read_problem(problem, None), 1e-8)


@pytest.mark.parametrize("name", ATOMS)
def test_an_epigraph_is_as_large_as_the_atom_at_a_point(name: str) -> None:
    atom, point, value = ATOMS[name]
    x = cp.Variable(point.shape, symmetric=name in ("lambda_max", "lambda_min", "matrix_frac") or "lambda" in name)
    is_concave = name in ("lambda_min", "min")
    problem = cp.Problem(cp.Maximize(atom(x)) if is_concave else cp.Minimize(atom(x)), [x == point])
    interval = interval_of(problem)
    assert interval is not None
    minimum = -value if is_concave else value
    assert interval.lower <= minimum + 1e-12 and interval.upper >= minimum - 1e-12
    assert interval.scaled_gap <= 1e-6


@pytest.mark.parametrize("has_matrix", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_duals_without_interior_leave_no_gap(seed: int, has_matrix: bool) -> None:
    problem, infimum = dual_without_interior(seed, has_matrix)
    certificate = certify_problem(problem, solver="auto")
    assert certificate.lower <= infimum + 1e-12 and certificate.upper >= infimum - 1e-12
    assert certificate.scaled_gap <= 1e-8
    assert certificate.point is not None


@pytest.mark.thorough_cases("4")
@pytest.mark.parametrize("n", [2, 4])
def test_a_matrix_that_nothing_else_contains_spoils_no_relaxation(n: int) -> None:
    """The only multiplier of an unrelated matrix is 0, which lies in no interior."""
    problem, infimum = dual_without_interior(3, has_matrix=False)
    Y = cp.Variable((n, n), symmetric=True)
    certificate = certify_problem(cp.Problem(problem.objective, [Y >> 0]), solver="auto")
    assert certificate.lower <= infimum + 1e-12 and certificate.upper >= infimum - 1e-12
    assert certificate.scaled_gap <= 1e-8


CENTRING = np.eye(4) - 0.25
BESIDE: dict[str, tuple[Callable[[Any], tuple[Any, list[Any]]], float]] = {
    "an equation": (lambda x: (0, [x == VECTOR]), 0.0),
    "a norm": (lambda x: (cp.norm(x - VECTOR), []), 0.0),
    "a norm and an equation": (lambda x: (cp.norm(x - 1), [cp.sum(x) == 2]), 1.0),
    "a disk": (lambda x: (-cp.sum(x), [cp.norm(x) <= 1]), -2.0),
    "bounds": (lambda x: (-cp.sum(x), [x >= 0, x <= 1]), -4.0),
    "bounds and an equation": (lambda x: (x[0], [x >= 0, cp.sum(x) == 1]), 0.0),
    "squares": (lambda x: (cp.sum_squares(x - 1), []), 0.0),
    "an exponential times 0": (lambda x: (0 * cp.exp(cp.norm(x / 3)) + cp.norm(x), []), 0.0),
}
"""A term and constraints of x beside the largest eigenvalue of S + t J, and the least value of the term."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", BESIDE)
def test_duals_without_interior_are_bounded_beside_other_constraints(name: str) -> None:
    """The infimum of the eigenvalue is that of S on the vectors whose sum is 0, and lies at infinity."""
    x, t, (make, minimum) = cp.Variable(4), cp.Variable(), BESIDE[name]
    term, constraints = make(x)
    problem = cp.Problem(cp.Minimize(cp.lambda_max(S + t * np.ones((4, 4))) + term), constraints)
    certificate = certify_problem(problem, solver="auto")
    optimum = float(eigenvalues(CENTRING @ (S + 9 * np.eye(4)) @ CENTRING)[0]) - 9 + minimum
    assert certificate.lower <= optimum + 1e-12 and certificate.upper >= optimum - 1e-12
    assert certificate.scaled_gap <= 1e-6


def test_an_atom_times_0_keeps_its_domain_and_a_proof_beside_it_is_saved(tmp_path: Path) -> None:
    """The trace of an inverse has more arguments in a file, and a matrix fraction has a domain."""
    x, y, mu = cp.Variable(), cp.Variable(), cp.Parameter(nonneg=True, value=0.0)
    zero = mu * cp.matrix_frac(cp.hstack([y, 1]), cp.bmat([[x, 0], [0, 1]]))
    certificate = certify_problem(cp.Problem(cp.Minimize(x + cp.maximum(zero, 0.0))), solver="auto")
    assert certificate.lower <= 0.0 <= certificate.upper <= 1e-8
    X = cp.Variable((2, 2), symmetric=True)
    constraints = [X >> 0, X[0, 0] == 0, X[0, 1] == 1]
    problem = cp.Problem(cp.Minimize(cp.trace(X) + mu * cp.tr_inv(X)), constraints)
    certify_problem(problem, solver="auto").save(tmp_path / "proof.json")
    assert verify(tmp_path / "proof.json", problem)


def test_bounds_of_weights_leave_the_algebraic_connectivity_without_a_gap() -> None:
    """Equal weights are the best ones of the complete graph of four nodes: all eigenvalues but one are 4 / 6."""
    weights, t, s = cp.Variable(6), cp.Variable(), cp.Variable()
    edges = [np.eye(4)[i] - np.eye(4)[j] for i in range(4) for j in range(i)]
    laplacian = cp.sum([weights[k] * np.outer(edge, edge) for k, edge in enumerate(edges)])
    constraints = [laplacian + s * np.ones((4, 4)) >> t * np.eye(4), weights >= 0, cp.sum(weights) == 1]
    certificate = certify_problem(cp.Problem(cp.Maximize(t), constraints), solver="auto")
    assert certificate.lower <= 2 / 3 + 1e-15 and certificate.upper >= 2 / 3 - 1e-15
    assert certificate.scaled_gap <= 1e-8


@pytest.mark.parametrize(("last", "is_feasible"), [(5.0, False), (4.0, True)])
def test_distances_without_points_are_proved_so(last: float, is_feasible: bool) -> None:
    """All multipliers of such a proof are singular: moved points have the same distances."""
    certificate = certify_problem(squared_distances(last), solver="auto")
    assert certificate.status == ("bounded" if is_feasible else "infeasible")
    if is_feasible:
        assert certificate.lower <= 5 + 1e-12 and certificate.upper >= 5 - 1e-12  # about the mean 1/2


def test_an_answer_alone_has_no_relaxation() -> None:
    """Without a solver, the interval is that of the answer in the problem, not of a better one."""
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.lambda_max(np.diag([1.0, 2.0]) + x[0] * np.ones((2, 2)))))
    x.value = np.zeros(2)
    assert certify_problem(problem).upper == pytest.approx(2.0)
    assert certify_problem(problem, solver="auto").upper == pytest.approx(1.5, abs=1e-8)


def test_a_fractional_count_that_no_solver_takes_is_certified() -> None:
    """CVXPY 1.9.3 slices by k while it solves, and fails for a fraction."""
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_largest(np.diag([1.0, 2.0, 4.0]) @ x, 1.5)), [cp.sum(x) == 7])
    certificate = certify_problem(problem, solver="auto")
    # All entries of the argument equal: 4, 2 and 1 for x.
    assert certificate.lower <= 6 <= certificate.upper
    assert certificate.scaled_gap <= 1e-8


@pytest.mark.thorough
def test_lies_in_the_problem_do_not_change_what_is_proved() -> None:
    problem, infimum = dual_without_interior(3, has_matrix=False)
    for value in (0.0, 1e9, -1e9, math.pi):
        problem.variables()[0].save_value(np.array(value))
        certificate = certify_problem(problem, solver="auto")
        assert certificate.lower <= infimum + 1e-12 and certificate.upper >= infimum - 1e-12


@pytest.mark.parametrize(
    "objective",
    [
        lambda x: cp.norm(x, 3),
        lambda x: cp.sum(cp.exp(x)),
        lambda x: cp.norm(x) / 3,
        lambda x: cp.lambda_max(cp.bmat([[x[0], 0.1 * x[1]], [np.nextafter(0.1, 1) * x[1], 0]])),
        lambda x: cp.max(x) + 1e-310 * cp.norm(1e-310 * x),
    ],
    ids=["no cones", "exponentials", "rounded coefficient", "rounded sum", "subnormal coefficient"],
)
def test_problems_without_an_exact_relaxation(objective: Callable[[Any], Any]) -> None:
    with working_precision():
        assert conic_relaxation(read_problem(cp.Problem(cp.Minimize(objective(cp.Variable(2)))), None)) is None


def test_a_relaxation_with_too_many_rows_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    x = cp.Variable((3, 3), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.lambda_max(x)), [x >> 1])
    with working_precision():
        assert conic_relaxation(read_problem(problem, None)) is not None
        monkeypatch.setattr(relaxations, "MAX_CONE_ROWS", 17)
        assert conic_relaxation(read_problem(problem, None)) is None
        monkeypatch.setattr(relaxations, "MAX_CONE_ROWS", 8)
        assert conic_relaxation(read_problem(cp.Problem(cp.Minimize(cp.trace(x)), [x >> 1]), None)) is None


@pytest.mark.parametrize("s", [0.0, 1.0, 1e9, 1e12])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_largest_eigenvalue_is_bounded_closely_beside_a_huge_one(n: int, s: float) -> None:
    """N I - (1 + s) J has the eigenvalue n, n - 1 times, and -s n."""
    with working_precision():
        bound = largest_eigenvalue_bound(balls(n * np.eye(n) - (1 + s)), n)
    assert n <= bound <= n * (1 + 1e-10)


def test_a_bound_of_eigenvalues_is_above_all_of_them() -> None:
    """Random symmetric matrices next to huge ones of rank 1: the difference has positive minors, in fractions."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        n = int(rng.integers(2, 5))
        half = rng.integers(-9, 10, (n, n)).astype(float)
        q = rng.integers(-2, 3, n).astype(float)
        X = half + half.T - 2.0 ** float(rng.integers(20, 45)) * np.outer(q, q)
        with working_precision():
            bound = largest_eigenvalue_bound(balls(X), n)
        shift = flint.fmpq(*bound.as_integer_ratio())
        for k in range(1, n + 1):
            entries = [shift * (i == j) - int(X[i, j]) for i in range(k) for j in range(k)]
            assert flint.fmpq_mat(k, k, entries).det() > 0


def test_an_unbounded_eigenvalue_is_proved_so_by_the_relaxation() -> None:
    """The matrices of the interior-point method underflow."""
    X = cp.Variable((2, 2), symmetric=True)
    assert certify_problem(cp.Problem(cp.Maximize(cp.lambda_min(X))), solver="auto").status == "unbounded"
