"""Square systems of rational numbers: solutions satisfy the equations exactly; singular matrices are refused."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq

from boostopt.conic_programs.exact.dixon_lifting import Column, ExactSystem, SingularSystemError


def columns_of(matrix: list[list[int]]) -> list[Column]:
    size = len(matrix)
    return [{i: fmpq(matrix[i][j]) for i in range(size) if matrix[i][j]} for j in range(size)]


@pytest.mark.parametrize("density", [0.15, 0.3, 1.0])
def test_solutions_satisfy_the_equations(density: float) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 12))
        matrix = (rng.integers(-4, 5, (size, size)) * (rng.random((size, size)) < density)).tolist()
        b = [fmpq(int(value), 7) for value in rng.integers(-5, 6, size)]
        if round(np.linalg.det(matrix)) == 0:
            with pytest.raises(SingularSystemError):
                ExactSystem(columns_of(matrix)).solve(b)
            continue
        system = ExactSystem(columns_of(matrix))
        z, y = system.solve(b), system.solve_transposed(b)
        assert [sum((fmpq(matrix[i][j]) * z[j] for j in range(size)), fmpq(0)) for i in range(size)] == b
        assert [sum((fmpq(matrix[i][j]) * y[i] for i in range(size)), fmpq(0)) for j in range(size)] == b


def test_triangular_matrices_have_no_nucleus() -> None:
    lower = [[1 if j <= i else 0 for j in range(6)] for i in range(6)]
    permutation = [3, 0, 5, 1, 4, 2]
    system = ExactSystem(columns_of([lower[i] for i in permutation]))
    assert system.nucleus_size == 0
    assert ExactSystem(columns_of([[1, 1, 0], [0, 1, 1], [1, 0, 1]])).nucleus_size == 3
