"""The criss-cross method for convex quadratic programs in rational numbers, from any active set.

The largest violation chooses the pair at first, and the smallest index later, which cannot cycle.

References
----------
den Hertog, Roos, Terlaky 1993, "The linear complementarity problem, sufficient matrices, and the criss-cross method",
Linear Algebra and its Applications 187.
"""

from __future__ import annotations

from flint import fmpq

from boostopt.conic_programs.exact.quadratic.complementary_program import (
    ComplementaryProgram,
    ComplementarySolution,
    PairState,
)

MAX_PIVOTS = 600
"""Largest number of pivots from one state."""

N_LARGEST_PIVOTS = 120
"""Number of pivots that are chosen by the largest violation."""


class TooManyPivotsError(ArithmeticError):
    """The state needs more than MAX_PIVOTS pivots."""


def pivot_to_solution(program: ComplementaryProgram, state: PairState) -> ComplementarySolution | None:
    """Return a solution without violations; None where a pair proves that there is none.

    Raises
    ------
    SingularSystemError
        The first state has dependent columns.
    TooManyPivotsError
        MAX_PIVOTS pivots are not enough.
    """
    for n_pivots in range(MAX_PIVOTS):
        solution = ComplementarySolution(program, state)
        violations = {k: violation for k in range(len(state.values)) if (violation := solution.violation(k)) != 0}
        if not violations:
            return solution
        is_early = n_pivots < N_LARGEST_PIVOTS
        k = max(violations, key=lambda k: abs(violations[k])) if is_early else min(violations)
        next_state = _state_after_pivot(program, solution, k, violations[k], is_early)
        if next_state is None:
            return None
        state = next_state
    raise TooManyPivotsError(f"the state needs more than {MAX_PIVOTS} pivots")


def _state_after_pivot(
    program: ComplementaryProgram, solution: ComplementarySolution, k: int, violation: fmpq, is_early: bool
) -> PairState | None:
    """Return the state after pair k, and another one if need be, changed its side; None where none can."""
    state, is_above = solution.state, violation > 0
    value, lower, upper = state.values[k], program.lower[k], program.upper[k]
    next_value = None
    if value is None:
        next_value = upper if is_above else lower
    changes = solution.changes(k, -1 if is_above else 1)
    if changes[k] != 0:
        return state.with_pair(k, next_value)
    other_bound = lower if is_above else upper
    if value is not None and value not in (lower, upper) and other_bound is not None:
        return state.with_pair(k, other_bound)  # the first number was between its bounds, and the objective is linear
    candidates = [
        (ratio, r, end)
        for r, change in enumerate(changes)
        if r != k and change != 0
        for ratio, end in [_first_end(program, solution, r, change)]
        if ratio is not None
    ]
    if value is not None and other_bound is not None:
        candidates.append((abs(other_bound - value), k, other_bound))
    if not candidates:
        return None
    _, r, end = min(candidates) if is_early else min(candidates, key=lambda candidate: candidate[1])
    return state.with_pair(k, next_value).with_pair(r, end)


def _first_end(
    program: ComplementaryProgram, solution: ComplementarySolution, r: int, change: fmpq
) -> tuple[fmpq | None, fmpq | None]:
    """Return after how many units pair r reaches its end, and its value there; None where it has no end."""
    number, value = solution.numbers[r], solution.state.values[r]
    if value is None:
        end = program.upper[r] if change > 0 else program.lower[r]
        return (None, None) if end is None else (max((end - number) / change, fmpq(0)), end)
    is_at_lower, is_at_upper = value == program.lower[r], value == program.upper[r]
    if (is_at_lower and is_at_upper) or (is_at_lower and change > 0) or (is_at_upper and change < 0):
        return None, None
    return max(-number / change, fmpq(0)), None
