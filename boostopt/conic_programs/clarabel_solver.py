"""Direct calls of Clarabel, without a canonical form of CVXPY. Nothing that it says is believed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.solver_clock import solver_call
from boostopt.errors import is_panic


def clarabel_settings(tolerance: float) -> Any:
    """Return the settings of a silent solve by one thread at a tolerance."""
    settings: Any = import_module("clarabel").DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    return settings


def solve_by_clarabel(
    P: Any, c: Float[Array, " n"], A: Any, b: Float[Array, " m"], cones: Sequence[Any], settings: Any
) -> Any:
    """Return Clarabel's answer to min xᵀ P x / 2 + cᵀ x with b - A x in cones; None if the solve ends by a panic.

    Parameters
    ----------
    P
        The upper triangle of a symmetric matrix, compressed columns, shape (n, n); None for a linear objective.
    c, A, b
        The costs, and the rows, compressed columns, shape (m, n).
    cones
        Cones of the module `clarabel`.
    settings
        The result of `clarabel_settings`.
    """
    n = len(c)
    quadratic = scipy.sparse.csc_array((n, n)) if P is None else P
    try:
        with solver_call():
            solver = import_module("clarabel").DefaultSolver(quadratic, c, A, b, list(cones), settings)
            return solver.solve()
    except BaseException as failure:
        if not is_panic(failure):
            raise
        return None
