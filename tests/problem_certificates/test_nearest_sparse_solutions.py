"""Sparse systems with more unknowns than rows: a solution lies within the radii, and singular systems prove nothing."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from convex_problems import cp
from support.speeds import many

from boostopt import certify_problem, explain_problem
from boostopt.problem_certificates.arithmetic import nearest_sparse_solutions
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import SparseSystem, eigenvalue_bound
from boostopt.problem_certificates.cone_proofs import enclosed_equation_solutions
from boostopt.problem_certificates.cone_proofs.enclosed_equation_solutions import accurate_residual, long_residual


def sparse_matrix(rng: np.random.Generator, m: int, n: int, exponent: int = 0) -> Any:
    """A matrix with five entries a column, about 2^exponent times each other in size."""
    places = (np.arange(n)[:, None] * m // n + rng.integers(0, min(m, 8), (n, 5))) % m
    values = rng.integers(1, 9, (n, 5)) * 2.0 ** rng.integers(-exponent, exponent + 1, (n, 1))
    entries = (values.ravel(), (places.ravel(), np.repeat(np.arange(n), 5)))
    return scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=(m, n)))


@pytest.fixture(params=["dense", "sparse"])
def storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Small systems are dense matrices, or sparse ones as larger systems are."""
    if request.param == "sparse":
        monkeypatch.setattr(nearest_sparse_solutions, "MAX_SMALL_ROWS", 0)
    return str(request.param)


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("seed", range(8))
def test_the_smallest_eigenvalue_is_not_above_that_in_high_precision(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 60))
    A = sparse_matrix(rng, m, 4 * m, exponent=3 * (seed % 3))
    sizes = 10.0 ** rng.uniform(-6 * (seed % 2), 0, 4 * m)
    system = SparseSystem(A, sizes)
    B = np.diag(system.row_scales) @ A.toarray() @ np.diag(system.scales)
    smallest = float(np.linalg.svd(B, compute_uv=False)[-1]) ** 2
    assert system.sigma <= smallest * (1 + 1e-9)
    assert system.sigma >= 0.3 * smallest


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("seed", range(8))
def test_a_small_sigma_is_enough_where_corrections_are_refined(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 60))
    A = sparse_matrix(rng, m, 4 * m)
    system = SparseSystem(A, np.ones(4 * m), is_refined=True)
    B = np.diag(system.row_scales) @ A.toarray()
    smallest = float(np.linalg.svd(B, compute_uv=False)[-1]) ** 2
    assert 0 < system.sigma <= 1e-9 < smallest
    residual = rng.normal(size=m)
    np.testing.assert_allclose(A @ system.correction(residual), residual, rtol=0, atol=1e-8)
    monkeypatch.setattr(nearest_sparse_solutions, "ERROR_FACTOR", 1e18)  # is not proved
    system = SparseSystem(A, np.ones(4 * m), is_refined=True)
    assert 0.3 * smallest <= system.sigma <= smallest * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_eigenvalues_of_exact_matrices_are_true_and_near(seed: int) -> None:
    """B Bᵀ of small whole numbers is exact, and has the eigenvalue 0 where B has fewer columns than rows."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(5, 60))
    B = sparse_matrix(rng, m, m // 2 if seed % 2 else 4 * m).toarray() + np.eye(m, m // 2 if seed % 2 else 4 * m)
    matrix: Any = scipy.sparse.csc_array(B @ B.T + np.diag(np.full(m, float(seed % 2))))
    smallest = 1.0 if seed % 2 else float(np.linalg.eigvalsh(matrix.toarray())[0])
    for t in (-1.0, 0.0, 0.5 * smallest, 0.99 * smallest):
        assert t - 1e-9 <= eigenvalue_bound(matrix, t) <= t
    assert eigenvalue_bound(matrix, 1.01 * smallest + 1e-9) == -math.inf


@pytest.mark.parametrize("seed", range(8))
def test_residuals_by_sums_of_arrays_are_within_their_bounds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms cancel to about 2^-53 of their sizes, or to nothing. Steps are short, or as long as the point."""
    rng = np.random.default_rng(seed)
    m, n = 20, 60
    A = sparse_matrix(rng, m, n, exponent=5 * (seed % 3))
    A.data = A.data * (1.0 if seed == 1 else rng.normal(size=A.nnz))
    x = rng.normal(size=n) * 10.0 ** rng.uniform(-8, 8, n)
    step = x * rng.normal(size=n) * (1.0 if seed % 4 == 3 else 2.0**-53)
    b = A @ (x + step)
    if seed == 7:
        A.data, x, step = A.data * 1e-150, x * 1e-150, step * 1e-150
        b = np.zeros(m)
    monkeypatch.setattr(enclosed_equation_solutions, "MIN_SUMMED_ENTRIES", 0)
    result, bounds = accurate_residual(A, b, [x, step])
    step_sizes = abs(A) @ np.abs(step)
    sizes = abs(A) @ np.abs(x) + step_sizes
    for i in range(m):
        part = slice(A.indptr[i], A.indptr[i + 1])
        terms = zip(A.data[part].tolist(), (x[A.indices[part]]).tolist(), (step[A.indices[part]]).tolist(), strict=True)
        exact = Fraction(float(b[i])) - sum(
            Fraction(a) * (Fraction(value) + Fraction(change)) for a, value, change in terms
        )
        assert abs(exact - Fraction(float(result[i]))) <= Fraction(float(bounds[i]))
        assert bounds[i] <= 2.0**-100 * sizes[i] + 2.0**-85 * step_sizes[i] + 2.0**-52.9 * abs(result[i]) + 1e-300
        nearly = long_residual(A, b, x)[i] - (A @ step)[i]
        assert abs(nearly - float(exact)) <= 2.0**-50 * sizes[i]


def test_residuals_of_numbers_whose_products_overflow_are_not_bounded() -> None:
    A: Any = scipy.sparse.csr_array(np.array([[1e200, 1.0]]))
    assert accurate_residual(A, np.ones(1), [np.array([1e200, 1.0]), np.zeros(2)])[1][0] == math.inf


def test_entries_that_are_stored_in_parts_count_as_their_sum() -> None:
    """1 + 2^-53 of two parts is no float."""
    parts = np.array([1.0, 2.0**-53, 1.0])
    A: Any = scipy.sparse.csr_array((parts, np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert A.nnz == 3
    smallest = (1 + Fraction(1, 2**53)) ** 2 + 1
    system = SparseSystem(A, np.ones(2))
    scale = Fraction(float(system.row_scales[0])) ** 2
    assert 0 < Fraction(float(system.sigma)) <= smallest * scale


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("kind", ["equal rows", "combination", "zero row", "no freedom", "tiny"])
def test_dependent_rows_prove_nothing(kind: str) -> None:
    rng = np.random.default_rng(0)
    A, sizes = sparse_matrix(rng, 20, 80).toarray(), np.ones(80)
    if kind == "equal rows":
        A[3] = A[7]
    elif kind == "combination":
        A[3] = A[7] + 2 * A[8] - A[9]
    elif kind == "zero row":
        A[3] = 0
    elif kind == "no freedom":
        sizes[A[3] != 0] = 0
    else:
        A[3] *= 1e-200
    assert SparseSystem(scipy.sparse.csr_array(A), sizes).sigma <= 0


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("seed", range(4))
def test_a_solution_in_fractions_lies_within_the_radii(seed: int) -> None:
    """The solution next to a point is computed in fractions by the formula of the module."""
    rng = np.random.default_rng(seed)
    m, n = 4, 9
    A, y = sparse_matrix(rng, m, n).toarray(), rng.integers(0, 5, n) / 4
    b = A @ y + 2.0**-20 * rng.integers(-3, 4, m)
    sizes = 10.0 ** rng.uniform(-3, 0, n)
    system = SparseSystem(scipy.sparse.csr_array(A), sizes)
    radii = system.radii(np.abs(b - A @ y))
    S = [Fraction(value) ** 2 for value in system.scales.tolist()]
    rows = [[Fraction(value) for value in row] for row in A.tolist()]
    gram = [
        [sum((p * q * s for p, q, s in zip(first, second, S, strict=True)), Fraction(0)) for second in rows]
        for first in rows
    ]
    rest = [Fraction(value) for value in (b - A @ y).tolist()]  # exact: all are multiples of 2^-20
    for k in range(m):  # Gauss and Jordan
        pivot = gram[k][k]
        gram[k], rest[k] = [value / pivot for value in gram[k]], rest[k] / pivot
        for i in range(m):
            if i != k:
                factor = gram[i][k]
                gram[i] = [p - factor * q for p, q in zip(gram[i], gram[k], strict=True)]
                rest[i] -= factor * rest[k]
    changes = [s * sum(rows[i][j] * rest[i] for i in range(m)) for j, s in enumerate(S)]
    assert all(abs(change) <= Fraction(radius) for change, radius in zip(changes, radii.tolist(), strict=True))
    assert (radii <= 1e-3 * sizes).all()


def linear_program(m: int, seed: int) -> Any:
    """A sparse linear program in equations with m rows and 4 m unknowns."""
    rng = np.random.default_rng(seed)
    A, x = sparse_matrix(rng, m, 4 * m), cp.Variable(4 * m)
    solution = rng.integers(0, 3, 4 * m).astype(float)
    return cp.Problem(cp.Minimize(rng.random(4 * m) @ x), [A @ x == A @ solution, x >= 0])


@pytest.mark.parametrize(
    ("m", "noise"),
    [
        (50, 0.0),
        (50, 1e-3),
        *(
            pytest.param(*case, marks=pytest.mark.thorough)
            for case in ((100, 0.0), (100, 1e-3), (300, 0.0), (300, 1e-3), (3000, 0.0))
        ),
    ],
)
def test_thousands_of_sparse_equalities_have_both_ends(m: int, noise: float) -> None:
    problem = linear_program(m, 1)
    (x,) = problem.variables()
    value = problem.solve("HIGHS")
    x.save_value(x.value + noise * np.random.default_rng(0).random(x.size))
    certificate = certify_problem(problem)
    assert certificate.lower - 1e-9 * value <= value <= certificate.upper + 1e-9 * value
    assert certificate.status == "bounded" and math.isfinite(certificate.gap)
    if not noise:
        assert certificate.scaled_gap <= 1e-6
        conditions = explain_problem(problem).conditions
        assert all(condition.holds for condition in conditions if condition.kind != "complementarity")
    assert certificate.point is not None and (certificate.point[x] >= 0).all()


def test_contradictory_and_dependent_sparse_equalities_are_told_apart() -> None:
    for excess, status in ((0.0, "bounded"), (1.0, "infeasible")):
        problem = linear_program(many(100, 30), 2)
        (x,), equality = problem.variables(), problem.constraints[0]
        row = equality.args[0][3] + equality.args[0][4]
        right_side = equality.args[1].value[3] + equality.args[1].value[4] + excess
        problem = cp.Problem(problem.objective, [*problem.constraints, row == right_side])
        problem.solve("HIGHS")
        x.save_value(np.zeros(x.size) if x.value is None else x.value)
        assert certify_problem(problem).status == status
