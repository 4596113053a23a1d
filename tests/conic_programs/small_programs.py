"""Small linear programs with exact optima that are known by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from boostopt.conic_programs.conic_program import ConicProgram

INF = np.inf


def linear_program(
    A: Any,
    c: Any,
    rows: tuple[Any, Any],
    bounds: tuple[Any, Any] | None = None,
    **facts: Any,
) -> ConicProgram:
    """Return a linear program from dense numbers; without bounds, variables are at least 0."""
    n = len(c)
    lower, upper = bounds if bounds is not None else (np.zeros(n), np.full(n, INF))
    return ConicProgram(
        A=scipy.sparse.csc_array(np.array(A, dtype=float).reshape(-1, n)),
        c=np.array(c, dtype=float),
        row_lower=np.array(rows[0], dtype=float),
        row_upper=np.array(rows[1], dtype=float),
        lower=np.array(lower, dtype=float),
        upper=np.array(upper, dtype=float),
        **facts,
    )


def random_program(seed: int, m: int, n: int, kind: str) -> ConicProgram:
    """Return a program with whole numbers: sparse, degenerate, with free, fixed and bounded variables and rows.

    Parameters
    ----------
    kind
        "feasible": a point satisfies all rows, half of them with equality. "any": right sides are drawn.
    """
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, (m, n)) * (rng.random((m, n)) < 0.5)
    lower, upper = np.where(rng.random(n) < 0.7, 0.0, -INF), np.where(rng.random(n) < 0.4, 3.0, INF)
    point = np.clip(rng.integers(0, 4, n).astype(float), 0.0, 3.0)
    activity = A @ point if kind == "feasible" else rng.integers(-5, 6, m).astype(float)
    room = rng.integers(0, 3, m)
    row_lower = np.where(rng.random(m) < 0.7, activity, -INF)
    row_upper = np.where(rng.random(m) < 0.7, activity + room, INF)
    is_fixed = (rng.random(n) < 0.1) & np.isfinite(lower) & (kind == "any")
    bounds = lower, np.where(is_fixed, lower, upper)
    return linear_program(A.tolist(), rng.integers(-3, 8, n).tolist(), (row_lower, row_upper), bounds)
