"""Problems of eigenvalues whose multipliers have no interior."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np

cp: Any = cvxpy


def dual_without_interior(seed: int, has_matrix: bool) -> tuple[Any, float]:
    """Min over t of the largest eigenvalue of C + t q qᵀ, and this infimum: that of C on the vectors orthogonal to q.

    Multipliers Z satisfy Z q = 0. The infimum is not attained, but for t that tends to minus infinity.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    half, q = np.round(rng.normal(size=(n, n)), 3), rng.choice([-1.0, 0.0, 1.0], n)
    C = half + half.T
    q[rng.integers(n)] = 1.0
    basis = np.linalg.svd(q[None, :])[2][1:]
    t, s = cp.Variable(), cp.Variable()
    M = C + t * np.outer(q, q)
    constraints = [s * np.eye(n) - M >> 0] if has_matrix else []
    problem = cp.Problem(cp.Minimize(s if has_matrix else cp.lambda_max(M)), constraints)
    return problem, float(np.linalg.eigvalsh(basis @ C @ basis.T)[-1])
