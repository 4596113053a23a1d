"""Unbounded problems: a ray along which the objective falls and every feasible point stays feasible, proved in balls.

Atoms may change along the ray: an asymptotic slope bounds how fast (theorem P10).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.optimize

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp, solve_quietly
from boostopt.problem_certificates.arithmetic.balls import (
    ZERO,
    Ball,
    balls,
    has_exact_rank,
    is_positive_semidefinite,
    pivots,
    solve,
)
from boostopt.problem_certificates.arithmetic.forms import Row, RowBlock
from boostopt.problem_certificates.reading import ReadProblem

ZERO_TOL = 1e-9
"""Size from which an entry or a row counts as not 0, when it is chosen what must be 0 exactly."""

SLACK_TOL = 1e-6
"""Change from which a row changes along a direction that an interior-point method proposes."""

GRID = 2.0**-20
"""Entries of directions within a tenth of it of a multiple are rounded: solvers leave noise in simple numbers."""


MAX_CHANGING = 20_000
"""Maximum number of values and arguments of atoms for which directions along which atoms change are looked for."""


def has_unbounded_ray(problem: ReadProblem, x: Float[Array, " n"]) -> bool:
    """Return whether a direction d is proved along which every feasible point stays feasible and the objective falls.

    First, all arguments of atoms are constant along d, all inequalities do not increase, all equalities and
    semidefinite matrices stay the same, and the objective decreases. So the problem is unbounded if it has a feasible
    point. Then d is x, a feasible point, or a solver proposes d, and atoms change by at most their asymptotic slopes.
    """
    if _has_constant_ray(problem) or falls_along(problem, balls(x)):
        return True
    return any(falls_along(problem, d) for d in _changing_directions(problem))


def falls_along(problem: ReadProblem, d: Sequence[Ball]) -> bool:
    """Return whether a direction is proved to keep all feasible points feasible while the objective falls for ever.

    A convex f increases by at most t s along arguments u + t a, if s is an asymptotic slope; a concave one by at least
    that. Atoms without one must have constant arguments. Arguments that contain such atoms are known on one side only:
    atoms of them must be constant, or nondecreasing and of the same curvature. The objective falls if its slope is
    negative, or if it is 0 and a value in it, such as a logarithm, grows beyond all bounds.
    """
    diverging = np.zeros(problem.n_values, dtype=bool)
    rates: list[Ball] = [*d, *([ZERO] * (problem.n_values - problem.n))]
    changing, signs = np.zeros(problem.n_values, dtype=bool), np.zeros(problem.n_values)
    for node in problem.nodes:
        signs[node.outputs] = node.function.sign

    def is_bounded_by_rates(row: Row, sign: int = 1) -> bool:
        return all(value * (sign * signs[k]) >= 0 for k, value in row.items() if changing[k])

    for node in problem.nodes:
        block, sign = node.arguments, node.function.sign
        is_changing = np.zeros(len(block), dtype=bool)
        if not block.is_affine(problem.n):
            is_changing = block.depends_on(changing)
            if is_changing.any() and not (
                node.function.is_nondecreasing and all(is_bounded_by_rates(row, sign) for row in block.rows)
            ):
                return False
        argument_rates = [_ball_product(row, rates) for row in block.rows]
        for k, group in enumerate(node.members.tolist()):
            values = [argument_rates[i] for i in group]
            if all(value == 0 for value in values) and not is_changing[group].any():
                continue
            rate = node.function.asymptotic_slope(values)
            if not rate.is_finite():
                return False
            rates[node.start + k], changing[node.start + k] = rate, True
            diverging[node.start + k] = node.function.has_sublinear_growth and bool(values[0] > 0)

    def falls(row: Row) -> bool:
        rate = _ball_product(row, rates)
        grows = any(value * signs[k] > 0 for k, value in row.items() if diverging[k])
        return bool(rate < 0 or (rate <= 0 and grows))

    constant = [*problem.equalities.rows.rows, *(row for item in problem.matrices for row in item.rows.rows)]
    upper = [problem.objective.rows[0], *problem.inequalities.rows.rows]
    low, high = np.flatnonzero(np.isfinite(problem.lower)), np.flatnonzero(np.isfinite(problem.upper))
    return (
        all(d[j] >= 0 for j in low.tolist())
        and all(d[j] <= 0 for j in high.tolist())
        and not any(changing[k] for row in constant for k in row)
        and all(is_bounded_by_rates(row) for row in upper)
        and all(_ball_product(row, rates) == 0 for row in problem.equalities.rows.rows)
        and all(_ball_product(row, rates) <= 0 for row in problem.inequalities.rows.rows)
        and all(
            is_positive_semidefinite([_ball_product(row, rates) for row in item.rows.rows], item.n)
            for item in problem.matrices
        )
        and falls(problem.objective.rows[0])
    )


def _changing_directions(problem: ReadProblem) -> Iterator[list[Ball]]:
    """Yield directions near those of a solver along which atoms change."""
    for is_linear in (True, False):
        d = _changing_direction(problem, is_linear)
        if d is not None:
            yield from _directions_near(problem, d)


def _directions_near(problem: ReadProblem, d: Float[Array, " n"]) -> Iterator[list[Ball]]:
    """Yield a direction in simple numbers, and with rows that are nearly constant made exactly so."""
    nearest = GRID * np.round(d / GRID)
    d = np.where(np.abs(d - nearest) <= 0.1 * GRID, nearest, d)
    yield balls(d)
    blocks = [problem.equalities.rows, problem.inequalities.rows, *(node.arguments for node in problem.nodes)]
    blocks += [item.rows for item in problem.matrices]
    rows = [row for block in blocks for row in block.rows if row and max(row) < problem.n]
    has_bound = np.isfinite(problem.lower) | np.isfinite(problem.upper)
    zeros = {int(j) for j in np.flatnonzero(has_bound & (np.abs(d) <= ZERO_TOL))}
    exact = _exact_direction(problem.n, [row for row in rows if abs(_product(row, d)) <= SLACK_TOL], zeros, d)
    if exact is not None:
        yield exact


def _changing_direction(problem: ReadProblem, is_linear: bool) -> Float[Array, " n"] | None:
    """Return a direction along which the objective falls by the asymptotic slopes of atoms; None without one.

    It solves the problem with the recession function of each function in place of this, in the unit cube. If the fall
    need not be linear, the arguments of atoms of sublinear growth increase, and the slope of the objective is at most
    0.
    """
    n, size = problem.n, problem.n_values
    if n == 0 or size + sum(len(node.arguments) for node in problem.nodes) > MAX_CHANGING:
        return None
    z = cp.Variable(size)
    sides = np.where(np.isfinite(problem.lower), 0.0, -1.0), np.where(np.isfinite(problem.upper), 0.0, 1.0)
    constraints: list[Any] = [z[:n] >= sides[0], z[:n] <= sides[1]]
    for rows, is_equality in ((problem.equalities.rows, True), (problem.inequalities.rows, False)):
        if len(rows):
            constraints.append(rows.floats @ z == 0 if is_equality else rows.floats @ z <= 0)
    for item in problem.matrices:
        E = cp.reshape(item.rows.floats @ z, (item.n, item.n), order="C")
        constraints.append((E + E.T) / 2 >> 0)
    growth: list[Any] = []
    for node in problem.nodes:
        m, k = node.members.shape
        changes = cp.reshape((node.arguments.floats @ z)[node.members.ravel()], (m, k), order="C")
        constraints += node.function.asymptotic_constraints(changes, z[node.outputs])
        is_in_objective = bool(problem.objective.floats[:, node.outputs].nnz)
        growth += [-cp.sum(changes)] if node.function.has_sublinear_growth and is_in_objective else []
    slope = (problem.objective.floats @ z)[0]
    if not is_linear and not growth:
        return None
    objective = slope if is_linear else sum(growth[1:], growth[0])
    auxiliary = cp.Problem(cp.Minimize(objective), constraints if is_linear else [*constraints, slope <= 0])
    if solve_quietly(auxiliary, "CLARABEL") is not None or z.value is None:
        return None
    d = np.asarray(z.value, dtype=float)
    value: Any = auxiliary.value
    return d[:n] if np.isfinite(d).all() and value < -SLACK_TOL else None


def _has_constant_ray(problem: ReadProblem) -> bool:
    """Return whether such a direction is proved along which all arguments of atoms are constant."""
    n = problem.n
    d = proposed_direction(problem)
    if d is None:
        return False
    objective, constant, decreasing = _rows_of(problem)
    is_loose = [abs(_product(row, d)) > ZERO_TOL for row in decreasing]
    loose = [row for row, flag in zip(decreasing, is_loose, strict=True) if flag]
    constant += [row for row, flag in zip(decreasing, is_loose, strict=True) if not flag]
    has_bound = np.isfinite(problem.lower) | np.isfinite(problem.upper)
    zeros = {int(j) for j in np.flatnonzero(has_bound & (np.abs(d) <= ZERO_TOL))}
    exact = _exact_direction(n, constant, zeros, d)
    if exact is None:
        return False
    for j, value in enumerate(exact):
        if j in zeros:
            continue
        if (math.isfinite(problem.lower[j]) and not value >= 0) or (math.isfinite(problem.upper[j]) and not value <= 0):
            return False
    return all(_ball_product(row, exact) <= 0 for row in loose) and bool(_ball_product(objective, exact) < 0)


def proposed_direction(problem: ReadProblem) -> Array | None:
    """Return such a direction by a linear program in floating point; None if there is none."""
    return None if problem.n == 0 else _proposed_direction(problem.n, *_rows_of(problem), problem)


def _rows_of(problem: ReadProblem) -> tuple[Row, list[Row], list[Row]]:
    """Return the coefficients of x in the objective, in rows that must stay, and in rows that must not increase."""
    n = problem.n
    constant = [row for node in problem.nodes for row in _free_rows(node.arguments, n)]
    constant += _free_rows(problem.equalities.rows, n)
    constant += [row for constraint in problem.matrices for row in _free_rows(constraint.rows, n)]
    return _free_rows(problem.objective, n)[0], constant, _free_rows(problem.inequalities.rows, n)


def _free_rows(block: RowBlock, n: int) -> list[Row]:
    """Return the coefficients of x in rows."""
    return [{k: value for k, value in row.items() if k < n} for row in block.rows]


def _proposed_direction(
    n: int, objective: Row, constant: list[Row], decreasing: list[Row], problem: ReadProblem
) -> Array | None:
    """Return a direction by a linear program in floating point; None if there is none."""
    equalities, inequalities = _float_matrix(constant, n), _float_matrix(decreasing, n)
    ends = [
        (0.0 if math.isfinite(low) else -1.0, 0.0 if math.isfinite(high) else 1.0)
        for low, high in zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    ]
    result = scipy.optimize.linprog(
        _float_matrix([objective], n)[0],
        inequalities if len(inequalities) else None,
        np.zeros(len(inequalities)) if len(inequalities) else None,
        equalities if len(equalities) else None,
        np.zeros(len(equalities)) if len(equalities) else None,
        ends,
        method="highs",
    )
    return np.asarray(result.x) if result.x is not None and result.fun < -ZERO_TOL else None


def _exact_direction(n: int, constant: list[Row], zeros: set[int], d: Array) -> list[Ball] | None:
    """Return balls that contain a direction near d with all rows exactly 0; None if none is proved."""
    free = [j for j in range(n) if j not in zeros]
    result = balls([0.0 if j in zeros else value for j, value in enumerate(d.tolist())])
    constant = [row for row in constant if any(not row.get(j, ZERO) == 0 for j in free)]
    if not constant:
        return result
    A = _float_matrix(constant, n)[:, free]
    if not A.any():  # the coefficients are smaller than all floats
        return None
    sizes, order = pivots(A.T)
    rank = int(np.sum(sizes > 1e-10 * float(sizes[0])))
    rows = [constant[i] for i in order[:rank].tolist()]
    if rank < len(constant):
        if not has_exact_rank([[row.get(j, ZERO) for j in free] for row in constant], rank):
            return None
    _, columns = pivots(A[order[:rank]] * (np.abs(d[free]) + ZERO_TOL))
    basis = [free[k] for k in columns[:rank].tolist()]
    sides = [-_ball_product({k: v for k, v in row.items() if k not in set(basis)}, result) for row in rows]
    solution = solve([row.get(j, ZERO) for row in rows for j in basis], sides)
    if solution is None:
        return None
    for j, value in zip(basis, solution, strict=True):
        result[j] = value
    return result


def _float_matrix(rows: list[Row], n: int) -> Array:
    """Return rows as a matrix of floats."""
    result = np.zeros((len(rows), n))
    for i, row in enumerate(rows):
        for k, value in row.items():
            result[i, k] = float(value.mid())
    return result


def _product(row: Row, d: Array) -> float:
    """Return the product of a row with a direction in floating point."""
    return sum(float(value.mid()) * float(d[k]) for k, value in row.items())


def _ball_product(row: Row, d: list[Ball]) -> Ball:
    """Return the product of a row with a direction in balls."""
    total = ZERO
    for k, value in row.items():
        total = total + value * d[k]
    return total
