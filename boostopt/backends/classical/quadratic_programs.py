"""Quadratic programs, and direct calls of their solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float

DEFAULT = "clarabel"
"""The default solver: the most reliable one."""

MIN_TOLERANCE = 1e-8
"""Smallest tolerance for HiGHS, which fails if it cannot reach its tolerance."""

ITERATIONS_PER_ROW, EXTRA_ROWS = 100, 10
"""HiGHS stops after `ITERATIONS_PER_ROW` (n + k + `EXTRA_ROWS`) iterations, for n variables and k rows.

3 iterations for each are usual. If the numbers of a program differ by nine orders of magnitude, active sets may cycle.
"""


@dataclass(frozen=True)
class QuadraticProgram:
    """min over x of <q, x> + (1/2) <x, P x> subject to low <= A x <= high and lower <= x <= upper.

    A and P are matrices in scipy's compressed column format.
    """

    P: Any
    q: Float[Array, " n"]
    A: Any
    low: Float[Array, " k"]
    high: Float[Array, " k"]
    lower: Float[Array, " n"]
    upper: Float[Array, " n"]

    def with_bounds_as_rows(self) -> tuple[Any, Float[Array, " rows"], Float[Array, " rows"]]:
        """Return A, low and high with the bounds of x as further rows, for solvers that support bounds of rows only."""
        has_bounds = np.isfinite(self.lower) | np.isfinite(self.upper)
        identity: Any = scipy.sparse.eye_array(len(self.q), format="csr")
        A = scipy.sparse.vstack([self.A, identity[has_bounds]], format="csr")
        low, high = [self.low, self.lower[has_bounds]], [self.high, self.upper[has_bounds]]
        return A, np.concatenate(low), np.concatenate(high)


@dataclass(frozen=True)
class QuadraticAnswer:
    """The answer of a solver.

    Attributes
    ----------
    x
        The solution, shape (n,); nan if there is none.
    y
        The multipliers of the rows, shape (k,), at least 0 at `high`; nan if there are none. If the solver reports that
        no x is feasible, y may be a ray that proves this.
    status
        The status of the solver.
    """

    x: Float[Array, " n"]
    y: Float[Array, " k"]
    status: str

    @classmethod
    def from_failure(cls, program: QuadraticProgram, status: str) -> QuadraticAnswer:
        """Return the answer of a solver that failed."""
        return cls(_array_or_nan(None, len(program.q)), _array_or_nan(None, len(program.low)), status)


Solver = Callable[[QuadraticProgram, float, float | None], QuadraticAnswer]
"""A function that solves a quadratic program to an accuracy, with a limit in seconds or None."""


@dataclass(frozen=True)
class QuadraticSolver:
    """A solver of quadratic programs.

    Attributes
    ----------
    package, module
        The distribution, for the version, and the name of the module.
    solve
        The function that calls the solver.
    may_kill_process
        Whether the solver has killed its process in tests. Such a solver runs in a separate process.
    """

    package: str
    module: str
    solve: Solver
    may_kill_process: bool = False


def _clarabel(program: QuadraticProgram, accuracy: float, seconds: float | None) -> QuadraticAnswer:
    """Solve by Clarabel, an interior point method: min (1/2) x'Px + q'x subject to Ax + s = b with s in a cone."""
    clarabel: Any = import_module("clarabel")
    A, low, high = program.with_bounds_as_rows()
    fixed = low == high
    has_upper, has_lower = np.isfinite(high) & ~fixed, np.isfinite(low) & ~fixed
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    if seconds is not None:
        settings.time_limit = seconds
    cones = [clarabel.ZeroConeT(int(fixed.sum())), clarabel.NonnegativeConeT(int(has_upper.sum() + has_lower.sum()))]
    rows = scipy.sparse.vstack([A[fixed], A[has_upper], -A[has_lower]], format="csc")
    ends = np.concatenate([high[fixed], high[has_upper], -low[has_lower]])
    result = clarabel.DefaultSolver(scipy.sparse.triu(program.P, format="csc"), program.q, rows, ends, cones, settings)
    result = result.solve()
    y, z = np.zeros(len(low)), np.asarray(result.z)
    y[fixed], z = z[: int(fixed.sum())], z[int(fixed.sum()) :]
    y[has_upper] += z[: int(has_upper.sum())]
    y[has_lower] -= z[int(has_upper.sum()) :]
    return QuadraticAnswer(_array_or_nan(result.x, len(program.q)), y[: len(program.low)], str(result.status))


def _osqp(program: QuadraticProgram, accuracy: float, seconds: float | None) -> QuadraticAnswer:
    """Solve by OSQP, a first-order method, and polish the answer."""
    osqp: Any = import_module("osqp")
    A, low, high = program.with_bounds_as_rows()
    solver = osqp.OSQP()
    solver.setup(
        scipy.sparse.csc_matrix(scipy.sparse.triu(program.P)),  # OSQP warns about sparse arrays
        program.q,
        scipy.sparse.csc_matrix(A),
        low,
        high,
        verbose=False,
        eps_abs=accuracy,
        eps_rel=accuracy,
        max_iter=20_000,
        polishing=True,
        **({} if seconds is None else {"time_limit": max(seconds, 1e-3)}),
    )
    result = solver.solve(raise_error=False)
    ray = result.prim_inf_cert if "primal infeasible" in result.info.status else result.y
    return QuadraticAnswer(
        _array_or_nan(result.x, len(program.q)),
        _array_or_nan(ray, len(low))[: len(program.low)],
        str(result.info.status),
    )


def _highs(program: QuadraticProgram, accuracy: float, seconds: float | None) -> QuadraticAnswer:
    """Solve by HiGHS: by an active-set method, or by the simplex method if P is 0."""
    highspy: Any = import_module("highspy")
    highs, model, k, n = highspy.Highs(), highspy.HighsModel(), len(program.low), len(program.q)
    highs.silent()
    for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        highs.setOptionValue(option, max(accuracy, MIN_TOLERANCE))
    for option in ("qp_iteration_limit", "simplex_iteration_limit"):
        highs.setOptionValue(option, ITERATIONS_PER_ROW * (EXTRA_ROWS + n + k))
    if seconds is not None:
        highs.setOptionValue("time_limit", seconds)
    lp, A = model.lp_, program.A
    P: Any = scipy.sparse.tril(program.P, format="csc")
    P.eliminate_zeros()
    lp.num_col_, lp.num_row_ = n, k
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.q, program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.low, program.high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
    if P.nnz:
        model.hessian_.dim_, model.hessian_.format_ = n, highspy.HessianFormat.kTriangular
        model.hessian_.start_, model.hessian_.index_, model.hessian_.value_ = P.indptr, P.indices, P.data
    highs.passModel(model)
    highs.run()
    solution = highs.getSolution()
    status = str(highs.modelStatusToString(highs.getModelStatus()))
    return QuadraticAnswer(_array_or_nan(solution.col_value, n), -_array_or_nan(solution.row_dual, k), status)


def _array_or_nan(values: Any, length: int) -> Float[Array, " n"]:
    """Return the answer of a solver as an array, nan if there is none."""
    array = np.asarray([] if values is None else values, dtype=np.float64)
    return array if array.shape == (length,) else np.full(length, np.nan)


SOLVERS = {
    DEFAULT: QuadraticSolver("clarabel", "clarabel", _clarabel),
    "osqp": QuadraticSolver("osqp", "osqp", _osqp),
    # The quadratic solver of HiGHS has aborted the process in tests.
    "highs": QuadraticSolver("highspy", "highspy", _highs, may_kill_process=True),
}
"""The solvers of quadratic programs, by the name after "sqp:"."""
