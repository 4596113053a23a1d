"""Stumps that predict numbers, without the oracle, and the linear program of their votes."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.optimize


def all_values(X: np.ndarray) -> np.ndarray:
    """Return h(x_n) of all stumps, shape (n, t), without the oracle."""
    splits = [np.ones(len(X), dtype=bool)]
    splits += [X[:, j] > t for j in range(X.shape[1]) for t in np.unique(X[:, j])[:-1]]
    columns = {tuple(np.where(s, a, b).tolist()) for s, a, b in itertools.product(splits, (-1, 1), (-1, 1))}
    return np.array(sorted(columns), dtype=float).T


def smallest_tube_loss(H: np.ndarray, y: np.ndarray, c: np.ndarray, nu: float, scale: tuple[float, float]) -> float:
    """Return min e + c . max(|y - m - r H w| - e, 0) / nu over e and w in the simplex, by HiGHS."""
    n, t = H.shape
    m, r = scale
    identity, ones = np.eye(n), np.ones((n, 1))
    answer = scipy.optimize.linprog(
        np.concatenate([np.zeros(t), c / nu, [1.0]]),
        A_ub=np.vstack([np.hstack([r * H, -identity, -ones]), np.hstack([-r * H, -identity, -ones])]),
        b_ub=np.concatenate([y - m, m - y]),
        A_eq=np.concatenate([np.ones(t), np.zeros(n + 1)])[np.newaxis],
        b_eq=[1.0],
        bounds=[(0, None)] * (t + n) + [(None, None)],
    )
    assert answer.success
    return float(answer.fun)
