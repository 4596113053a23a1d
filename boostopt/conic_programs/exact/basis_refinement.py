"""Exactly optimal bases by iterative refinement of linear programs.

The exact solution of a basis has violations that HiGHS does not see, because they are below its tolerance. The program
of the corrections is scaled by about one over the violations, so that HiGHS sees them, and is solved from the basis.

References
----------
Gleixner, Steffy, Wolter 2016, "Iterative refinement for linear programming", INFORMS Journal on Computing 28.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from flint import fmpq

from boostopt._utils.array_types import Array
from boostopt.conic_programs.exact.dixon_lifting import SingularSystemError
from boostopt.conic_programs.exact.highs_simplex import (
    EquationProgram,
    SimplexBasis,
    solve_by_simplex,
)
from boostopt.conic_programs.exact.rational_arrays import RationalArray
from boostopt.conic_programs.exact.rational_basic_solution import (
    BasicSolution,
    ExactProgram,
    basis_system,
    nonbasic_floats,
)
from boostopt.conic_programs.exact.work_limit import check_work

MAX_REFINEMENTS = 12
"""Largest number of refinements of one basis; most bases need none, the hardest of Netlib two."""

MAX_PRIMAL_VIOLATION = fmpq(1, 2**10)
"""Larger violations are none that HiGHS overlooked: it takes the program for infeasible."""

MANY_DIGITS = 1_000_000
"""Number of expected binary digits of the solution of a system above which an approximation comes first."""

N_APPROXIMATE_DIGITS = 320
"""Number of binary digits after the point of approximations. Violations below half of them are left to fractions."""

DEFAULT_EXPONENT = 30
"""Power of 2 of the scale where nothing is violated."""

MAX_EXPONENT = 400
"""Largest power of 2 of a scale: bounds stay floats."""

MAX_UNCHANGED = 2
"""Number of times in a row that HiGHS may return the basis unchanged: an infeasible program has no better one."""

EXPONENT_STEP = 8
"""Growth of the power of 2 when HiGHS returns the basis unchanged."""


def refine(
    program: EquationProgram,
    exact: ExactProgram,
    basis: SimplexBasis,
    max_refinements: int = MAX_REFINEMENTS,
    is_enough: Callable[[BasicSolution], bool] = lambda solution: solution.is_optimal,
) -> BasicSolution:
    """Return the solution of the first basis that is enough, or that of the best one if the refinement ends before.

    Raises
    ------
    SingularSystemError
        The basis is singular.
    """
    solution = incumbent = _first_solution(exact, basis)
    unchanged_count = 0
    for _ in range(max_refinements):
        if is_enough(solution):
            return solution
        incumbent = min(incumbent, solution, key=_violation)
        if solution.primal_violation > MAX_PRIMAL_VIOLATION:
            break
        corrections = _program_of_corrections(program, exact, solution, EXPONENT_STEP * unchanged_count)
        next_basis = solve_by_simplex(corrections, solution.basis)
        if next_basis is None:
            break
        unchanged_count = unchanged_count + 1 if next_basis.basic == solution.basis.basic else 0
        if unchanged_count > MAX_UNCHANGED:
            break
        try:
            solution = _first_solution(exact, next_basis)
        except SingularSystemError:
            break
    incumbent = min(incumbent, solution, key=_violation)
    return incumbent if incumbent.is_exact else BasicSolution(exact, incumbent.basis, system=incumbent.system)


def _first_solution(exact: ExactProgram, basis: SimplexBasis) -> BasicSolution:
    """Return the solution of a basis: an approximation if that is not optimal and the exact one needs many digits."""
    system = basis_system(exact, basis)
    if system.needs_more_digits(MANY_DIGITS):
        approximation = BasicSolution(exact, basis, n_digits=N_APPROXIMATE_DIGITS, system=system)
        if not approximation.is_optimal:
            return approximation
        check_work(2 * system.n_expected_digits)
    return BasicSolution(exact, basis, system=system)


def _violation(solution: BasicSolution) -> fmpq:
    return max(solution.primal_violation, solution.dual_violation)


def _program_of_corrections(
    program: EquationProgram, exact: ExactProgram, solution: BasicSolution, extra: int
) -> EquationProgram:
    """Return the program of the corrections x' = scale (x - solution.x), with the reduced costs as costs."""
    primal_scale = _scale(solution.primal_violation, extra)
    dual_scale = _scale(solution.dual_violation, extra)
    n = len(program.c)
    residuals = solution.x[n:] if solution.is_exact else exact.residuals(solution.x[:n])
    return EquationProgram(
        A=program.A,
        b=np.array([to_float(value * primal_scale) if value else 0.0 for value in residuals], dtype=float),
        c=_scaled(solution.reduced_cost_array.selected(np.arange(n)), int(dual_scale.p)),
        lower=_scaled_bounds(program.lower, exact.lower, program, solution, primal_scale),
        upper=_scaled_bounds(program.upper, exact.upper, program, solution, primal_scale),
    )


def _scale(violation: fmpq, extra: int) -> fmpq:
    exponent = DEFAULT_EXPONENT
    if violation != 0:
        exponent = max(0, int(violation.q).bit_length() - int(violation.p).bit_length())
    return fmpq(2 ** min(exponent + extra, MAX_EXPONENT))


def _scaled_bounds(
    bounds: Array, exact_bounds: Sequence[fmpq | None], program: EquationProgram, solution: BasicSolution, scale: fmpq
) -> Array:
    """Return the scaled distances of bounds from the solution, where nonbasic variables are at bounds, or 0."""
    values = nonbasic_floats(program)
    at_upper = [*solution.basis.at_upper]
    upper = program.upper[at_upper]
    values[at_upper] = np.where(np.isfinite(upper), upper, values[at_upper])
    with np.errstate(over="ignore"):
        results = (bounds - values) * float(scale.p)
    for j in solution.basis.basic:
        bound = exact_bounds[j]
        if j < len(results) and bound is not None:
            results[j] = to_float((bound - solution.x[j]) * scale)
    return results


def _scaled(values: RationalArray, scale: int) -> Array:
    numerators = values.numerators.tolist()
    return np.array([_quotient(number * scale, values.denominator) if number else 0.0 for number in numerators])


def to_float(value: fmpq) -> float:
    """Return the nearest float; infinity where the number is too large."""
    return _quotient(int(value.p), int(value.q))


def _quotient(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf
