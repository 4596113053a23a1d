"""The exact optimum of a convex quadratic program in rational numbers, or a proof that there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.dixon_lifting import SingularSystemError
from boostopt.conic_programs.exact.optimality_check import costs_of
from boostopt.conic_programs.exact.quadratic.approximate_optimum import ActiveSet, approximate_active_set
from boostopt.conic_programs.exact.quadratic.complementary_pivots import (
    MAX_PIVOTS,
    TooManyPivotsError,
    pivot_to_solution,
)
from boostopt.conic_programs.exact.quadratic.complementary_program import (
    ComplementaryProgram,
    ComplementarySolution,
    rational_vector,
)
from boostopt.conic_programs.exact.quadratic.independent_active_set import independent_active_set
from boostopt.conic_programs.exact.quadratic.initial_complementary_basis import (
    MIN_PIVOTS,
    first_state,
    state_of_logicals,
)
from boostopt.conic_programs.exact.quadratic.negative_curvature import curvature, negative_direction
from boostopt.conic_programs.exact.rational_arrays import RationalArray, fmpq_array
from boostopt.conic_programs.exact.rationals import leading_digits
from boostopt.errors import ProblemError, SolverFailed

MAX_ROUNDS = 3
"""Largest number of independent active sets, one from the solution of the other."""

MAX_NAMES = 4
"""Largest number of variables that a message names."""

MAX_WRITTEN_BITS = 64
"""Largest length of a numerator or denominator that a message writes in full."""


@dataclass(frozen=True)
class QuadraticProof:
    """Values that prove the optimum, or that there is none.

    Attributes
    ----------
    x, y
        Variables and multipliers of the rows at an optimum; of an infeasible program y alone, a Farkas certificate.
    ray
        A direction in which the objective decreases without a bound from x, or None.
    """

    x: RationalArray | None = None
    y: RationalArray | None = None
    ray: RationalArray | None = None


LinearSolver = Callable[[ConicProgram], QuadraticProof]
"""Proves the optimum of a linear program, or that there is none."""


def prove_quadratic_optimum(
    program: ConicProgram, solve_linear: LinearSolver, active: ActiveSet | None = None
) -> QuadraticProof:
    """Return the proof of a convex quadratic program whose bounds do not cross.

    Parameters
    ----------
    program
        The program.
    solve_linear
        Solves linear programs exactly: whether the program is feasible, and whether it has a ray.
    active
        An active set near the optimum of an objective that is proved convex; None to solve the program and to prove it.

    Raises
    ------
    ProblemError
        The objective is not convex; the message has a direction of negative curvature.
    SolverFailed
        No active set could be made optimal.
    """
    if active is None:
        check_convexity(program)
    pairs = ComplementaryProgram(program)
    solution = _best_solution(program, pairs, active)
    if solution is None or solution.n_violations:
        # Two linear programs decide whether there is an optimum; without one, pivots would only end at their limit.
        proof = _proof_without_optimum(program, solve_linear)
        if proof is not None:
            return proof
        solution = _solution_by_pivots(program, pairs, solution)
    return QuadraticProof(fmpq_array(solution.first[: pairs.n]), fmpq_array(solution.second[pairs.n :]))


def _solution_by_pivots(
    program: ConicProgram, pairs: ComplementaryProgram, best: ComplementarySolution | None
) -> ComplementarySolution:
    """Return a solution by pivots from the best state, or from one without dependent columns.

    Raises
    ------
    SolverFailed
        No pivots reach one, though the program has an optimum.
    """
    for state in (*([best.state] if best is not None else []), state_of_logicals(pairs)):
        try:
            solution = pivot_to_solution(pairs, state)
        except (SingularSystemError, TooManyPivotsError):
            continue
        if solution is not None:
            return solution
    m, n = program.shape
    raise SolverFailed(
        f"an active set of the {m} x {n} program was expected that {MAX_PIVOTS} pivots make optimal; none was reached. "
        "Call certify_problem(program) for an interval."
    )


def _best_solution(
    program: ConicProgram, pairs: ComplementaryProgram, active: ActiveSet | None
) -> ComplementarySolution | None:
    """Return the solution with the fewest violations, of a first active set and of independent ones close to it."""
    active = approximate_active_set(program) if active is None else active
    best = _solution_of(program, pairs, active)
    point = rational_vector([*active.x.tolist(), *(program.A @ active.x).tolist()])
    for first_point in (point, *([best.first] if best is not None else [])):
        values = first_point
        for _ in range(MAX_ROUNDS):
            if best is not None and best.n_violations == 0:
                return best
            independent = independent_active_set(program, pairs, values)
            solution = None if independent is None else _solution_of(program, pairs, independent)
            if solution is None or (best is not None and solution.n_violations >= best.n_violations):
                break
            best, values = solution, solution.first
    return best


def _solution_of(program: ConicProgram, pairs: ComplementaryProgram, active: ActiveSet) -> ComplementarySolution | None:
    for min_pivot in MIN_PIVOTS:
        try:
            return ComplementarySolution(pairs, first_state(program, pairs, active, min_pivot))
        except SingularSystemError:
            continue
    return None


def check_convexity(program: ConicProgram) -> None:
    """Raise ProblemError if the objective has a direction of negative curvature."""
    v = None if program.P is None else negative_direction(program.P, program.to_fraction)
    if v is None:
        return
    value = curvature(program.P, v, program.to_fraction)
    places = sorted((j for j, number in enumerate(v) if number), key=lambda j: (-abs(v[j]), j))
    names = program.column_names or [f"column {j}" for j in range(len(v))]
    parts = ", ".join(f"{_short_text(v[j])} for {names[j]}" for j in places[:MAX_NAMES])
    more = f" and {len(places) - MAX_NAMES} others" if len(places) > MAX_NAMES else ""
    raise ProblemError(
        f"the quadratic objective must be convex; got negative curvature: <v, P v> is about {leading_digits(value)}, "
        f"proved in rational numbers, for the direction v with {parts}{more}. Correct P, or solve it by a method that "
        "needs no convexity."
    )


def _short_text(value: Fraction) -> str:
    """Return a fraction, or its first digits where it is long."""
    bits = max(abs(value.numerator), value.denominator).bit_length()
    return str(value) if bits <= MAX_WRITTEN_BITS else f"about {leading_digits(value)}"


def _proof_without_optimum(program: ConicProgram, solve_linear: LinearSolver) -> QuadraticProof | None:
    """Return the proof that a convex program is infeasible or unbounded; None if it has an optimum."""
    feasibility = solve_linear(replace(program, P=None, c=np.zeros(program.shape[1])))
    if feasibility.x is None:
        return feasibility
    recession = solve_linear(_program_of_rays(program))
    if recession.x is not None and costs_of(program).inner_product(recession.x) < 0:
        return QuadraticProof(x=feasibility.x, ray=recession.x)
    return None


def _program_of_rays(program: ConicProgram) -> ConicProgram:
    """Return min <c, r> over directions r of at most 1 in which every feasible point may move, with P r = 0."""
    n = program.shape[1]
    zeros = np.zeros(n)

    def lower_end(bounds: np.ndarray, end: float) -> np.ndarray:
        return np.where(np.isfinite(bounds), 0.0, end)

    P = scipy.sparse.csc_array((n, n)) if program.P is None else program.P
    return ConicProgram(
        A=scipy.sparse.vstack([program.A, P]),
        c=program.c,
        row_lower=np.concatenate([lower_end(program.row_lower, -np.inf), zeros]),
        row_upper=np.concatenate([lower_end(program.row_upper, np.inf), zeros]),
        lower=lower_end(program.lower, -1.0),
        upper=lower_end(program.upper, 1.0),
        numbers=program.numbers,
    )
