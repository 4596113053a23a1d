"""Feasible points and rays as fractions: proposals for the checker of problems in files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from boostopt._utils.array_types import Array, Float
from boostopt.errors import ProblemError
from boostopt.problem_certificates.arithmetic.balls import midpoints
from boostopt.problem_certificates.faces.implied_equations import with_implied_equations
from boostopt.problem_certificates.problem_certificate import ProblemAnswer
from boostopt.problem_certificates.problem_reader import ReadProblem
from boostopt.problem_certificates.unbounded_rays import (
    SLACK_TOL,
    ZERO_TOL,
    in_simple_numbers,
    proposed_changing_directions,
    proposed_direction,
)
from boostopt.verification.exact_proofs.exact_multipliers import solve_near
from boostopt.verification.problem_kernel.problem_schema import Problem, ScaledVector
from boostopt.verification.problem_statement import rational_of

TIGHT_TOLS = (0.0, 1e-14, 1e-12, 1e-10)
"""Slacks, relative to the size of a row, up to which an affine inequality counts as an equality."""

SIDE_TOL = 1e-6
"""Distance from a bound of x within which an unknown at a vertex counts as being on it."""

Row = tuple[Mapping[int, Fraction], Fraction]
"""The coefficients of x, and the constant, of an affine function."""


def proposed_points(answer: ProblemAnswer, problem: Problem, equations: Sequence[Row] = ()) -> Iterator[ScaledVector]:
    """Yield points that satisfy the equalities exactly, and in turn the inequalities that are nearly equalities.

    Parameters
    ----------
    answer
        The answer.
    problem
        The problem as the checker reads it.
    equations
        Further equations of x that the constraints imply.
    """
    read = answer.problem
    implied = [*_implied_rows(read), *equations]
    candidates = [(answer.x, True)]  # at a vertex, the multipliers say which inequalities are equalities
    if answer.feasible is not None:
        candidates.append((midpoints(answer.feasible.x), False))
    for x, by_multipliers in candidates:
        for tol, further in product((0.0,) if by_multipliers else TIGHT_TOLS, [implied, []] if implied else [[]]):
            point = _point_near(read, problem, x, tol, by_multipliers, further)
            if point is not None:
                yield scaled_vector(point)


def _implied_rows(read: ReadProblem) -> list[Row]:
    """Return equations of x that inequalities imply, such as those of a norm that is at most 0."""
    with_equations = with_implied_equations(read)
    if with_equations is read:
        return []
    rows, result = with_equations.equalities.rows, list[Row]()
    for row, offset in zip(rows.rows, rows.offsets, strict=True):
        if row and max(row) < read.n:
            try:
                result.append(({k: rational_of(value) for k, value in row.items()}, rational_of(offset)))
            except ProblemError:  # a root of constants: the equation may still hold
                continue
    return result


def proposed_rays(answer: ProblemAnswer, problem: Problem) -> Iterator[ScaledVector]:
    """Yield directions along which the objective may fall: first those along which no argument of an atom changes."""
    read = answer.problem
    d = proposed_direction(read)
    if d is not None:
        yield from _exact_rays(problem, d, has_all_rows=True)
    if answer.feasible is not None:
        yield scaled_vector([Fraction(value) for value in midpoints(answer.feasible.x).tolist()])
    for d in proposed_changing_directions(read):
        simple = in_simple_numbers(d)
        yield scaled_vector([Fraction(value) for value in simple.tolist()])
        yield from _exact_rays(problem, simple, has_all_rows=False)


def _exact_rays(problem: Problem, d: Float[Array, " n"], has_all_rows: bool) -> Iterator[ScaledVector]:
    """Yield a direction near d with rows that should not change exactly constant.

    These are equalities, inequalities that nearly stay the same, and arguments and matrices: all, or those likewise.
    """
    n = problem.n
    always = [problem.equalities]
    nearly = [problem.inequalities]
    further = [*(entries for _, entries in problem.matrices), *(node.arguments for node in problem.nodes)]
    (always if has_all_rows else nearly).extend(further)
    tol = ZERO_TOL if has_all_rows else SLACK_TOL
    rows = [{k: value for k, value in row.items() if k < n} for block in always for row in block.rows]
    for row in (row for block in nearly for row in block.rows):
        change = {k: value for k, value in row.items() if k < n}
        is_affine = len(change) == len(row)
        if (is_affine or has_all_rows) and abs(sum(float(value) * float(d[k]) for k, value in change.items())) <= tol:
            rows.append(change)
    start = [Fraction(value) if abs(value) > ZERO_TOL else Fraction(0) for value in d.tolist()]
    has_bound = [low is not None or high is not None for low, high in zip(problem.lower, problem.upper, strict=True)]
    weights = [
        0.0 if bounded and value == 0 else abs(float(value)) + ZERO_TOL
        for bounded, value in zip(has_bound, start, strict=True)
    ]
    result = _moved_onto([(row, Fraction(0)) for row in rows], start, weights)
    if result is not None:
        yield scaled_vector(result)


def scaled_vector(values: Sequence[Fraction]) -> ScaledVector:
    """Return fractions over their common denominator."""
    denominator = math.lcm(*{value.denominator for value in values})
    return ScaledVector([int(value * denominator) for value in values], denominator)


def _point_near(
    read: ReadProblem,
    problem: Problem,
    x: Float[Array, " n"],
    tol: float,
    by_multipliers: bool,
    further: Sequence[Row],
) -> list[Fraction] | None:
    """Return a point near x that satisfies all equalities, further ones, and tight inequalities, exactly."""
    n = problem.n
    start, fixed = list[Fraction](), list[bool]()
    for value, lower, upper in zip(x.tolist(), problem.lower, problem.upper, strict=True):
        sides = [side for side in (lower, upper) if side is not None]
        exact = Fraction(value)
        next_sides = [
            side for side in sides if abs(exact - side) <= Fraction(max(tol, 1e-6 if by_multipliers else 0.0))
        ]
        start.append(next_sides[0] if next_sides else exact)
        fixed.append(bool(next_sides))
    rows = [
        (row, offset)
        for row, offset in zip(problem.equalities.rows, problem.equalities.offsets, strict=True)
        if not row or max(row) < n
    ]
    rows += further
    pairs = zip(problem.inequalities.rows, problem.inequalities.offsets, read.inequalities.duals.tolist(), strict=True)
    for row, offset, dual in pairs:
        if row and max(row) < n:
            slack = -float(offset + sum(value * start[k] for k, value in row.items()))
            size = max(abs(float(value * start[k])) for k, value in row.items()) + abs(float(offset))
            if dual > slack if by_multipliers else slack <= tol * size:
                rows.append((row, offset))
    distances = [
        min([float(abs(value - side)) for side in (lower, upper) if side is not None], default=1e3)
        for value, lower, upper in zip(start, problem.lower, problem.upper, strict=True)
    ]
    weights = [0.0 if is_fixed else min(max(d, 1e-9), 1e3) for is_fixed, d in zip(fixed, distances, strict=True)]
    return _moved_onto(rows, start, weights)


def _moved_onto(rows: Sequence[Row], start: Sequence[Fraction], weights: Sequence[float]) -> list[Fraction] | None:
    """Return a point near another one at which affine functions are 0; None if none was found."""
    columns: list[dict[int, Fraction]] = [{} for _ in start]
    sides: dict[int, Fraction] = {}
    for i, (row, offset) in enumerate(rows):
        sides[i] = -(offset + sum(value * start[k] for k, value in row.items()))
        for k, value in row.items():
            columns[k][i] = value
    free = [k for k, weight in enumerate(weights) if weight > 0]
    changes = solve_near([columns[k] for k in free], sides, [weights[k] for k in free])
    if changes is None:
        return None
    result = list(start)
    for p, change in changes.items():
        result[free[p]] += change
    return result
