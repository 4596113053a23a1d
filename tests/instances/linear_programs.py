"""LPBoost by scipy's simplex, and how far its solutions lie apart: no line of boostopt."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def optimum(U: np.ndarray, nu: float, c: np.ndarray | None = None) -> tuple[float, np.ndarray, np.ndarray]:
    """The value, and d and w of one solution."""
    (N, t), answer = U.shape, minimum(U, nu, c, np.append(np.zeros(len(U)), 1.0))
    w = -answer.ineqlin.marginals
    assert abs(w.sum() - 1) < 1e-9
    assert (N, t) == (len(answer.x) - 1, len(w))
    return float(answer.fun), answer.x[:N], w


def minimum(U: np.ndarray, nu: float, c: np.ndarray | None, cost: np.ndarray, largest: float | None = None) -> Any:
    """Minimize a cost of (d, gamma) over Uᵀd <= gamma <= largest, d in the capped simplex."""
    N, t = U.shape
    caps = (np.ones(N) if c is None else c) / nu
    answer: Any = scipy.optimize.linprog(
        cost,
        A_ub=np.column_stack([U.T, -np.ones(t)]),
        b_ub=np.zeros(t),
        A_eq=np.append(np.ones(N), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[*((0, cap) for cap in caps), (None, largest)],
        method="highs",
        options=EXACT,
    )
    assert answer.status == 0, answer.message
    return answer


def width_of_d(U: np.ndarray, nu: float, value: float) -> float:
    """The largest distance of two optimal d in one coordinate."""
    low, high = [], []
    for n in range(len(U)):
        cost = np.eye(1, len(U) + 1, n)[0]
        low.append(minimum(U, nu, None, cost, value + 1e-12).fun)
        high.append(-minimum(U, nu, None, -cost, value + 1e-12).fun)
    return float(np.max(np.subtract(high, low)))


def width_of_w(U: np.ndarray, nu: float, value: float, c: np.ndarray | None = None) -> float:
    """The largest distance of two optimal w in one coordinate: rho - sum c psi / nu >= value, psi >= rho - Uw."""
    N, t = U.shape
    counts = np.ones(N) if c is None else c
    widths = []
    for q in range(t):
        ends = []
        for sign in (1, -1):
            answer: Any = scipy.optimize.linprog(
                np.concatenate([sign * np.eye(1, t, q)[0], np.zeros(N + 1)]),
                A_ub=np.vstack(
                    [
                        np.column_stack([-U, -np.eye(N), np.ones(N)]),
                        np.concatenate([np.zeros(t), counts / nu, [-1.0]]),
                    ]
                ),
                b_ub=np.append(np.zeros(N), -value + 1e-12),
                A_eq=np.concatenate([np.ones(t), np.zeros(N + 1)])[np.newaxis],
                b_eq=[1.0],
                bounds=[*[(0, None)] * (t + N), (None, None)],
                method="highs",
                options=EXACT,
            )
            assert answer.status == 0, answer.message
            ends.append(sign * answer.fun)
        widths.append(ends[1] - ends[0])
    return float(np.max(widths))
