"""Bases of linear programs, from HiGHS's simplex method. Nothing that HiGHS says is believed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.solver_clock import solver_call

SIMPLEX_TOLERANCE = 1e-9
"""Feasibility that HiGHS asks of a basis; the smallest for which it does not cycle on the instances of Netlib."""


@dataclass(frozen=True, eq=False)
class EquationProgram:
    """A linear program in floats: min <c, x> over x with A x = b and lower <= x <= upper.

    Attributes
    ----------
    A
        Compressed sparse columns, shape (m, n).
    b
        Shape (m,).
    c, lower, upper
        Shape (n,); bounds may be infinite.
    """

    A: Any
    b: Float[Array, " m"]
    c: Float[Array, " n"]
    lower: Float[Array, " n"]
    upper: Float[Array, " n"]


@dataclass(frozen=True)
class SimplexBasis:
    """A basis of n variables and m logical variables; variable n + i is b_i - <a_i, x>, and its bounds are 0.

    Attributes
    ----------
    basic
        The m basic variables, in ascending order.
    at_upper
        Nonbasic variables at their upper bound. Others are at the lower one, or at 0 where they have none.
    is_claimed_optimal
        Whether HiGHS reports that the basis is optimal.
    dual_ray
        Multipliers of the equations that nearly prove that no point is feasible, where HiGHS reports this; else None.
    """

    basic: tuple[int, ...]
    at_upper: frozenset[int] = frozenset()
    is_claimed_optimal: bool = False
    dual_ray: Float[Array, " m"] | None = field(default=None, compare=False)

    def exchange(self, leaving: int, entering: int, is_leaving_upper: bool) -> SimplexBasis:
        """Return the basis after a pivot."""
        basic = tuple(sorted({*self.basic, entering} - {leaving}))
        at_upper = self.at_upper - {entering}
        return SimplexBasis(basic, at_upper | {leaving} if is_leaving_upper else at_upper)

    def flip(self, variable: int) -> SimplexBasis:
        """Return the basis with a nonbasic variable at its other bound."""
        return SimplexBasis(self.basic, self.at_upper ^ {variable})


def solve_by_simplex(
    program: EquationProgram,
    basis: SimplexBasis | None = None,
    has_presolve: bool = True,
) -> SimplexBasis | None:
    """Return the basis that HiGHS ends with, whatever it reports; None if there is none.

    Parameters
    ----------
    program
        The program.
    basis
        A basis to begin with.
    has_presolve
        Whether HiGHS may reduce the program first.
    """
    import highspy

    solver: Any = highspy.Highs()
    for option, value in {
        "output_flag": False,
        "solver": "simplex",
        "threads": 1,
        "presolve": "on" if has_presolve and basis is None else "off",
        "primal_feasibility_tolerance": SIMPLEX_TOLERANCE,
        "dual_feasibility_tolerance": SIMPLEX_TOLERANCE,
    }.items():
        solver.setOptionValue(option, value)
    _pass_model(solver, program)
    if basis is not None:
        solver.setBasis(_to_highs(basis, program))
    with solver_call():
        solver.run()
    status, dual_ray = solver.getModelStatus(), None
    if not solver.getBasis().valid:
        return None
    has_factors = solver.getNumNz() > 0  # HiGHS leaves out small entries; without any, reading its factors crashes
    if has_factors and status == highspy.HighsModelStatus.kInfeasible:
        with solver_call():
            _, has_ray, values = solver.getDualRay()
        dual_ray = np.array(values, dtype=float) if has_ray else None
    basis = _last_basis(solver, program) if has_factors else None
    if basis is None:
        last = solver.getBasis()
        basis = _basis_of_statuses(last.col_status, last.row_status)
    return replace(basis, is_claimed_optimal=status == highspy.HighsModelStatus.kOptimal, dual_ray=dual_ray)


def _last_basis(solver: Any, program: EquationProgram) -> SimplexBasis | None:
    """Return the basis that HiGHS ended with; None if it does not tell the basic variables.

    Its numbers of the basic variables take far less time than the statuses of all variables, which are objects.
    """
    import highspy

    n = len(program.c)
    status, variables = solver.getBasicVariables()
    if status != highspy.HighsStatus.kOk or len(variables) != len(program.b):
        return None
    basic = np.sort(np.where(variables >= 0, variables, n - 1 - variables))  # -1 is the first logical variable
    is_boxed = np.isfinite(program.lower) & np.isfinite(program.upper) & (program.lower < program.upper)
    is_boxed[basic[basic < n]] = False
    boxed = np.flatnonzero(is_boxed)
    if not boxed.size:
        return SimplexBasis(tuple(basic.tolist()))
    x = np.array(solver.getSolution().col_value, dtype=float)[boxed]
    at_upper = boxed[np.abs(program.upper[boxed] - x) < np.abs(x - program.lower[boxed])]
    return SimplexBasis(tuple(basic.tolist()), frozenset(at_upper.tolist()))


def _basis_of_statuses(columns: Any, rows: Any) -> SimplexBasis:
    """Return the basis with HiGHS's statuses of variables and equations."""
    import highspy

    statuses = highspy.HighsBasisStatus
    codes = np.fromiter(map(int, chain(columns, rows)), dtype=int)  # numbers are compared much faster
    basic = np.flatnonzero(codes == int(statuses.kBasic))
    upper = np.flatnonzero(codes[: len(columns)] == int(statuses.kUpper))
    return SimplexBasis(tuple(basic.tolist()), frozenset(upper.tolist()))


def _to_highs(basis: SimplexBasis, program: EquationProgram) -> Any:
    import highspy

    statuses, n = highspy.HighsBasisStatus, len(program.c)
    at_bound = {True: statuses.kLower, False: statuses.kZero}
    columns = [at_bound[has_lower] for has_lower in np.isfinite(program.lower).tolist()]
    for j in basis.at_upper:
        columns[j] = statuses.kUpper
    rows = [statuses.kLower] * len(program.b)
    for k in basis.basic:
        if k < n:
            columns[k] = statuses.kBasic
        else:
            rows[k - n] = statuses.kBasic
    start = highspy.HighsBasis()
    start.col_status, start.row_status, start.valid = columns, rows, True
    return start


def _pass_model(solver: Any, program: EquationProgram) -> None:
    """State a program to HiGHS by its arrays, which takes less time than a model of lists."""
    import highspy

    m, n = program.A.shape
    layout, sense = int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize)
    matrix = program.A.indptr, program.A.indices, np.asarray(program.A.data, dtype=np.float64)
    is_integer = np.zeros(n, dtype=np.int32)
    bounds = program.lower, program.upper, program.b, program.b
    solver.passModel(n, m, program.A.nnz, layout, sense, 0.0, program.c, *bounds, *matrix, is_integer)
