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


def squared_distances(last: float) -> Any:
    """Return a problem of points on a line at 0, 1 and 2, and one at -1, whose squared distance from 1 is 4."""
    G = cp.Variable((4, 4), PSD=True)
    lengths = {(0, 1): 1, (1, 2): 1, (0, 2): 4, (0, 3): 1, (2, 3): 9, (1, 3): last}
    equations = [G[i, i] + G[j, j] - 2 * G[i, j] == value for (i, j), value in lengths.items()]
    return cp.Problem(cp.Minimize(cp.trace(G)), equations)
