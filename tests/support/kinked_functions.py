"""Functions with kinks: eleven regularizers f(d; a), a the shares of the examples, and three edge functions G(e).

All are of order 1, and convex by CVXPY's rules; with as many shares as that, a multiple of 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from support.reference_formulas import program

from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.programs.cvxpy_functions.cvxpy_edges import CvxpyEdges
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer
from boostopt.programs.program import Program

REGULARIZERS: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "distance in total": lambda d, a: 0.5 * cp.norm1(d - a),
    "largest weight": lambda d, a: 0.02 * len(a) * cp.max(d),
    "total variation": lambda d, a: 0.5 * cp.tv(d),
    "Wasserstein distance": lambda d, a: 2.0 * cp.norm1(cp.cumsum(d - a)) / len(a),
    "Euclidean distance": lambda d, a: 0.2 * np.sqrt(len(a)) * cp.norm2(d - a),
    "largest deviation": lambda d, a: 0.03 * len(a) * cp.norm_inf(d - a),
    "mean of the largest": lambda d, a: 0.5 * cp.sum_largest(d, max(len(a) // 10, 1)),
    "distance and squares": lambda d, a: 0.2 * cp.norm1(d - a) + 0.1 * len(a) * cp.sum_squares(d),
    "distance and entropy": lambda d, a: 0.2 * cp.norm1(d - a) + 0.1 * cp.sum(cp.rel_entr(d, a)),
    "squared distance in total": lambda d, a: 0.3 * cp.square(cp.norm1(d - a)),
    "groups": lambda d, a: 0.2 * np.sqrt(len(a)) * cp.sum(cp.norm2(cp.reshape(d - a, (len(a) // 5, 5), "C"), axis=1)),
}
EDGES: dict[str, Callable[[Any], Any]] = {
    "G: largest": lambda e: cp.max(e),
    "G: mean of the largest": lambda e: cp.sum_largest(e, 3) / 3,
    "G: largest size and squares": lambda e: cp.max(cp.abs(e)) + 0.1 * cp.sum_squares(cp.pos(e)),
}
KINKED = (*REGULARIZERS, *EDGES)


def kinked_program(name: str, N: int, t: int, seed: int = 0) -> Program:
    """Noisy margins, a tenth of the examples under the cap, with one of the functions."""
    U = np.clip(np.random.default_rng(seed).normal(0.1, 0.5, (N, t)), -1, 1)
    domain, a = CappedSimplex(np.ones(N), 0.1 * N), np.full(N, 1 / N)
    if name in EDGES:
        return program(U, CappedSimplexIndicator(domain), CvxpyEdges(EDGES[name]))
    return program(U, CvxpyRegularizer(domain, lambda d: REGULARIZERS[name](d, a), a), MaximumEdge())
