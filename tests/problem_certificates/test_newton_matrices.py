"""Newton matrices of the interior-point method by each way of products, and by the formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from boostopt.problem_certificates.cone_proofs.semidefinite import newton_matrices
from boostopt.problem_certificates.cone_proofs.semidefinite.newton_matrices import matrix_products


def random_columns(rng: np.random.Generator, n: int, count: int, order: int, n_rows: int) -> Any:
    """Return n columns of symmetric matrices with entries in some of their rows; the first one has none."""
    columns = np.zeros((n, count, order, order))
    for j in range(1, n):
        rows = rng.permutation(order)[:n_rows]
        entries = rng.normal(size=(n_rows, n_rows))
        columns[j, rng.integers(count), rows[:, None], rows] = entries + entries.T
    return scipy.sparse.csr_array(columns.reshape(n, -1))


@pytest.mark.parametrize(
    ("way", "shape"),
    [
        ("blocks", (7, 5, 3, 2)),
        ("rows", (40, 1, 30, 1)),
        ("rows", (3, 1, 4, 0)),  # no column has entries
        ("images", (6, 1, 4, 4)),
        ("images", (20, 1, 6, 1)),
        ("columns", (20, 1, 72, 17)),
        ("columns", (15, 1, 60, 25)),
    ],
)
def test_newton_matrices_are_those_of_the_formula(
    way: str, shape: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, (n, count, order, _) = np.random.default_rng(0), shape
    columns = random_columns(rng, *shape)
    ways = {"blocks", "rows", "images", "columns"} - {way}
    for excluded_way in ways:  # the other one is chosen
        monkeypatch.setattr(newton_matrices, f"_products_of_{excluded_way}", None)
    monkeypatch.setattr(newton_matrices, "MAX_ELEMENTS", 5 * order**2 if way != "images" else 10**6)
    roots = rng.normal(size=(2, count, order, order))
    Z, W = roots @ roots.transpose(0, 1, 3, 2)
    A = columns.toarray().reshape(n, count, order, order)
    images = np.stack([Z @ matrices @ W for matrices in np.ascontiguousarray(A)])
    expected = A.reshape(n, -1) @ images.reshape(n, -1).T
    np.testing.assert_allclose(matrix_products(columns, order)(Z, W), expected, atol=1e-11 * np.abs(expected).max())
