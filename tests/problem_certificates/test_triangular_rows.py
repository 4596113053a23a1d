"""Tests of rows in triangular order: a solution lies within the radii, and rows that depend on each other have none."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from boostopt._utils.array_types import Array
from boostopt.problem_certificates.arithmetic import triangular_rows
from boostopt.problem_certificates.arithmetic.triangular_rows import TriangularRows
from boostopt.problem_certificates.cone_proofs import enclosed_equation_solutions as module
from boostopt.problem_certificates.cone_proofs.enclosed_equation_solutions import EquationSystem, exact_residual


def triangular_system(rng: np.random.Generator, m: int, exponent: int) -> tuple[Any, Array]:
    """Return equations whose first m unknowns are pivots, with entries of many sizes, in another order."""
    n = 2 * m
    A = np.where(rng.random((m, n)) < 0.2, rng.normal(size=(m, n)) * 10.0 ** rng.integers(-exponent, exponent + 1), 0.0)
    A[:, :m] = np.triu(A[:, :m], 1) + np.diag(rng.choice([-3.0, 0.5, 1.0], m))
    order, columns = rng.permutation(m), rng.permutation(n)
    return scipy.sparse.csr_array(A[order][:, columns]), rng.normal(size=m)


def solution_by_pivots(A: Any, b: Array, x: Array, triangular: TriangularRows) -> list[Fraction]:
    """Return the solution in fractions that differs from a point in the pivots."""
    entries = [{j: Fraction(a) for j, a in enumerate(row) if a} for row in A.toarray().tolist()]
    values = [Fraction(value) for value in x.tolist()]
    for rows, pivots, _ in reversed(triangular.steps):
        for i, j in zip(rows.tolist(), pivots.tolist(), strict=True):
            rest = Fraction(float(b[i])) - sum((a * values[k] for k, a in entries[i].items() if k != j), Fraction(0))
            values[j] = rest / entries[i][j]
    for row, side in zip(entries, b.tolist(), strict=True):
        assert sum((a * values[k] for k, a in row.items()), Fraction(0)) == Fraction(side)
    return values


@pytest.mark.parametrize("seed", range(12))
def test_the_solution_by_pivots_lies_within_the_radii(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b = triangular_system(rng, int(rng.integers(1, 30)), 3 * (seed % 3))
    triangular = TriangularRows(A, np.ones(A.shape[1]))
    assert triangular.is_complete
    x = rng.normal(size=A.shape[1])
    x = x + triangular.correction(exact_residual(A, b, [x])[0])
    residual, errors = exact_residual(A, b, [x])
    radii = triangular.radii(np.abs(residual) + errors)
    solution = solution_by_pivots(A, b, x, triangular)
    assert all(
        abs(value - Fraction(mid)) <= Fraction(radius)
        for value, mid, radius in zip(solution, x.tolist(), radii.tolist(), strict=True)
    )


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        ([[1.0, 2.0], [1.0, 2.0]], [1.0, 1.0]),
        ([[1.0, 1e-200], [1.0, 0.0]], [1.0, 1e-30]),  # each unknown is in two rows or one; that of 0 is in none
        ([[1.0, 2.0, 0.0], [3.0, 1.0, 0.0]], [1.0, 1.0, 1.0]),
        ([[1.0, 2.0], [3.0, 0.0]], [0.0, 1.0]),
    ],
)
def test_rows_without_pivots_are_not_in_order(rows: list[list[float]], sizes: list[float]) -> None:
    A = scipy.sparse.csr_array(np.array(rows))
    triangular = TriangularRows(A, np.array(sizes))
    assert triangular.is_complete == (rows[1] == [1.0, 0.0])
    if triangular.is_complete:
        assert [pivots.tolist() for _, pivots, _ in triangular.steps] == [[1], [0]]


def test_an_unknown_whose_size_underflows_with_its_entry_counts() -> None:
    """Without the entry 1e-300 the first unknown would be a pivot of the first row alone."""
    A = scipy.sparse.csr_array(np.array([[1.0, 1.0], [1e-300, 1.0]]))
    assert not TriangularRows(A, np.array([1e-39, 1.0])).is_complete


def test_an_entry_that_is_stored_in_parts_is_no_pivot() -> None:
    A: Any = scipy.sparse.csr_array((np.array([1.0, -1.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert A.nnz == 2
    assert not TriangularRows(A, np.ones(1)).is_complete


def test_the_unknown_that_changes_a_row_most_is_its_pivot() -> None:
    A = scipy.sparse.csr_array(np.array([[1.0, 4.0, 100.0]]))
    ((_, pivots, entries),) = TriangularRows(A, np.array([1.0, 1.0, 1e-3])).steps
    assert (pivots.tolist(), entries.tolist()) == ([1], [4.0])


def test_a_long_chain_of_rows_is_left_to_a_factorization(monkeypatch: pytest.MonkeyPatch) -> None:
    A = scipy.sparse.csr_array(np.eye(40) + np.eye(40, k=1))
    assert TriangularRows(A, np.ones(40)).is_complete
    monkeypatch.setattr(triangular_rows, "MAX_STEPS", 39)
    assert not TriangularRows(A, np.ones(40)).is_complete
    assert EquationSystem(A, np.ones(40), np.ones(40)).is_independent


@pytest.mark.parametrize("is_exact", [True, False])
def test_nearly_exact_solutions_need_no_factorization(is_exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    A, _ = triangular_system(np.random.default_rng(5), 20, 0)
    x = np.ones(40)
    b = np.asarray(A @ x)
    system = EquationSystem(A, b, np.ones(40))
    start = x + (0.0 if is_exact else 1e-4) * np.arange(40)

    def fail(*_: Any) -> None:
        raise AssertionError

    if is_exact:
        monkeypatch.setattr(module, "SparseSystem", fail)
    enclosure = system.enclose(start)
    assert system.is_independent and enclosure is not None
    assert np.abs(A @ enclosure[0] - b).max() <= 1e-14 and enclosure[1].max() <= 1e-12
    n_changes = int((np.abs(enclosure[0] - start) > 1e-8).sum())
    assert n_changes == 0 if is_exact else n_changes > 20  # more than there are pivots


@pytest.mark.parametrize("n_parts", [1, 2])
def test_residuals_of_short_and_long_rows_lie_within_their_errors(n_parts: int) -> None:
    rng = np.random.default_rng(n_parts)
    random: Any = scipy.sparse.random_array((300, 100), density=0.06, rng=rng, format="csr")
    A = random[np.diff(random.indptr) > 0]
    A.data = rng.normal(size=A.nnz) * 10.0 ** rng.integers(-8, 8, A.nnz)
    counts = np.diff(A.indptr)
    assert 1 <= counts.min() <= 2 and counts.max() > 8
    parts = [rng.normal(size=100) * 1e-9**k for k in range(n_parts)]
    b = np.asarray(A @ sum(parts))
    mids, errors = module.accurate_residual(A, b, parts)
    values = [sum((Fraction(part[j]) for part in parts), Fraction(0)) for j in range(100)]
    for i in range(len(b)):
        entries = range(A.indptr[i], A.indptr[i + 1])
        exact = Fraction(b[i]) - sum((Fraction(A.data[k]) * values[A.indices[k]] for k in entries), Fraction(0))
        assert abs(Fraction(mids[i]) - exact) <= Fraction(errors[i])
    assert (errors <= 1e-15 * np.abs(mids) + 2e-29 * (np.abs(b) + abs(A) @ np.abs(parts[0])) + 1e-300).all()
