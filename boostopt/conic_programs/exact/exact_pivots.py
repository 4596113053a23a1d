"""The simplex method in rational numbers, for the last pivots that floats cannot see.

From any basis: costs of the wrong sign are set to 0, and the dual simplex method makes the basis feasible or proves
that none is. Then the primal simplex method, with the costs of the program, makes it optimal or finds a ray. The
largest violation chooses the variable at first, and the smallest index later, which cannot cycle.

References
----------
Bland 1977, "New finite pivoting rules for the simplex method", Mathematics of Operations Research 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from flint import fmpq

from boostopt.conic_programs.exact.highs_simplex import SimplexBasis
from boostopt.conic_programs.exact.rational_basic_solution import BasicSolution, ExactProgram

MAX_PIVOTS = 400
"""Largest number of pivots: each solves systems exactly, and HiGHS's bases need few."""

N_LARGEST_PIVOTS = 60
"""Number of pivots that are chosen by the largest violation."""


class TooManyPivotsError(ArithmeticError):
    """The basis needs more than MAX_PIVOTS pivots."""


@dataclass(frozen=True, eq=False)
class PivotResult:
    """The end of the simplex method.

    Attributes
    ----------
    solution
        The last basic solution: optimal unless one of the others is set, with the costs of the program unless no point
        is feasible.
    farkas
        Multipliers of the equations that prove infeasibility, or None.
    ray
        A direction of the n + m variables along which the objective decreases without a bound, or None.
    """

    solution: BasicSolution
    farkas: list[fmpq] | None = None
    ray: list[fmpq] | None = None


def pivot_to_optimum(program: ExactProgram, solution: BasicSolution) -> PivotResult:
    """Return the optimal basic solution, or a proof that there is none, from the solution of any basis.

    Raises
    ------
    TooManyPivotsError
        More than MAX_PIVOTS pivots would be needed.
    """
    n_pivots = 0
    if solution.primal_violation != 0:
        costs = [
            cost - reduced_cost if solution.dual_violation_of(j) != 0 else cost
            for j, (cost, reduced_cost) in enumerate(zip(program.c, solution.reduced_costs, strict=True))
        ]
        dual_feasible = solution
        if solution.dual_violation != 0:
            dual_feasible = BasicSolution(program, solution.basis, costs, system=solution.system)
        while dual_feasible.primal_violation != 0:
            n_pivots = _count_pivot(n_pivots)
            next_basis = _dual_pivot(program, dual_feasible, _rule(n_pivots))
            if not isinstance(next_basis, SimplexBasis):
                return PivotResult(dual_feasible, farkas=next_basis)
            dual_feasible = BasicSolution(program, next_basis, costs)
        solution = BasicSolution(program, dual_feasible.basis, system=dual_feasible.system)
    while solution.dual_violation != 0:
        n_pivots = _count_pivot(n_pivots)
        next_basis = _primal_pivot(program, solution, _rule(n_pivots))
        if not isinstance(next_basis, SimplexBasis):
            return PivotResult(solution, ray=next_basis)
        solution = BasicSolution(program, next_basis)
    return PivotResult(solution)


Rule = Callable[[Iterable[tuple[fmpq, int]]], int]
"""Chooses a variable from pairs of its violation and its index."""


def _rule(n_pivots: int) -> Rule:
    return _largest_violation if n_pivots <= N_LARGEST_PIVOTS else _smallest_index


def _largest_violation(pairs: Iterable[tuple[fmpq, int]]) -> int:
    return max(pairs, key=lambda pair: (pair[0], -pair[1]))[1]


def _smallest_index(pairs: Iterable[tuple[fmpq, int]]) -> int:
    return min(j for _, j in pairs)


def _count_pivot(n_pivots: int) -> int:
    if n_pivots >= MAX_PIVOTS:
        raise TooManyPivotsError(f"the basis needs more than {MAX_PIVOTS} pivots")
    return n_pivots + 1


def _dual_pivot(program: ExactProgram, solution: BasicSolution, rule: Rule) -> SimplexBasis | list[fmpq]:
    """Return the basis after a pivot of the dual simplex method, or multipliers that prove infeasibility."""
    basis, violations = solution.basis, {j: program.violation(j, solution.x[j]) for j in solution.basis.basic}
    leaving = rule((abs(violation), j) for j, violation in violations.items() if violation != 0)
    is_above = violations[leaving] > 0
    unit = [fmpq(1 if j == leaving else 0) for j in basis.basic]
    rho = solution.system.solve_transposed(unit)
    row, basic = program.row_of(rho), set(basis.basic)
    candidates = list[tuple[fmpq, int]]()
    for j, entry in enumerate(row):
        if entry == 0 or j in basic or program.is_fixed(j):
            continue
        # x_leaving falls by `entry` for each unit that x_j grows.
        must_grow = (entry > 0) == is_above
        if _may_move(program, solution, j, must_grow):
            candidates.append((abs(solution.reduced_costs[j] / entry), j))
    if not candidates:
        return rho if is_above else [-value for value in rho]
    return basis.exchange(leaving, min(candidates)[1], is_above)


def _primal_pivot(program: ExactProgram, solution: BasicSolution, rule: Rule) -> SimplexBasis | list[fmpq]:
    """Return the basis after a pivot of the primal simplex method, or a ray of falling objective."""
    basis = solution.basis
    violations = ((solution.dual_violation_of(j), j) for j in range(len(program.c)))
    entering = rule(pair for pair in violations if pair[0] != 0)
    direction = fmpq(-1 if solution.reduced_costs[entering] > 0 else 1)
    column = [fmpq(0)] * len(program.b)
    for i, entry in program.column(entering).items():
        column[i] = entry
    changes = {
        j: -direction * value for j, value in zip(basis.basic, solution.system.solve(column), strict=True) if value != 0
    }
    steps = list[tuple[fmpq, int]]()
    for j, change in [*changes.items(), (entering, direction)]:
        bound = program.upper[j] if change > 0 else program.lower[j]
        if bound is not None:
            steps.append(((bound - solution.x[j]) / change, j))
    if not steps:
        ray = [fmpq(0)] * len(program.c)
        for j, change in changes.items():
            ray[j] = change
        ray[entering] = direction
        return ray
    leaving = min(steps)[1]
    if leaving == entering:
        return basis.flip(entering)
    return basis.exchange(leaving, entering, changes[leaving] > 0)


def _may_move(program: ExactProgram, solution: BasicSolution, j: int, must_grow: bool) -> bool:
    """Return whether a nonbasic variable is not at the bound that it would cross."""
    bound = program.upper[j] if must_grow else program.lower[j]
    return bound is None or solution.x[j] != bound
