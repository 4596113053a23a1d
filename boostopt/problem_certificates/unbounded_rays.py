"""Unbounded problems: a ray along which the objective falls and all else stays as it is, proved in balls."""

from __future__ import annotations

import math

import numpy as np
import scipy.optimize

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.affine_forms import Row, RowBlock
from boostopt.problem_certificates.arithmetic.balls import (
    NOT_A_NUMBER,
    ZERO,
    Ball,
    balls,
    has_exact_rank,
    is_positive_semidefinite,
    pivots,
    solve,
)
from boostopt.problem_certificates.problem_reading import ReadProblem

ZERO_TOL = 1e-9
"""Size from which an entry or a row counts as not 0, when it is chosen what must be 0 exactly."""


def has_unbounded_ray(problem: ReadProblem, x: Float[Array, " n"]) -> bool:
    """Return whether a direction d is proved along which every feasible point stays feasible and the objective falls.

    All arguments of atoms are constant along d, all inequalities do not increase, all equalities and semidefinite
    matrices stay the same, and the objective decreases. So the problem is unbounded if it has a feasible point. Or d is
    x, a feasible point, along which homogeneous atoms may change.
    """
    return _has_constant_ray(problem) or falls_along(problem, x)


def falls_along(problem: ReadProblem, d: Float[Array, " n"]) -> bool:
    """Return whether a direction of floats is proved to keep all feasible points feasible while the objective falls.

    A homogeneous convex f increases by at most f(a) along arguments u + t a, because f(u + t a) <= f(u) + t f(a); a
    concave one by at least f(a). All other atoms must have constant arguments.
    """
    rates: list[Ball] = [*balls(d), *([ZERO] * (problem.n_values - problem.n))]
    changing = np.zeros(problem.n_values, dtype=bool)
    for node in problem.nodes:
        block = node.arguments
        if block.is_affine(problem.n) or not block.depends_on(changing).any():
            argument_rates = [_ball_product(row, rates) for row in block.rows]
        else:
            return False
        for k, group in enumerate(node.members.tolist()):
            values = [argument_rates[i] for i in group]
            if all(value == 0 for value in values):
                continue
            rate = node.function.value(values) if node.function.is_homogeneous else NOT_A_NUMBER
            if not rate.is_finite():
                return False
            rates[node.start + k], changing[node.start + k] = rate, True
    signs = np.zeros(problem.n_values)
    for node in problem.nodes:
        signs[node.outputs] = node.function.sign

    def is_bounded_by_rates(row: Row) -> bool:
        return all(value * signs[k] >= 0 for k, value in row.items() if changing[k])

    constant = [*problem.equalities.rows.rows, *(row for item in problem.matrices for row in item.rows.rows)]
    upper = [problem.objective.rows[0], *problem.inequalities.rows.rows]
    low, high = np.isfinite(problem.lower), np.isfinite(problem.upper)
    return (
        bool((d[low] >= 0).all() and (d[high] <= 0).all())
        and not any(changing[k] for row in constant for k in row)
        and all(is_bounded_by_rates(row) for row in upper)
        and all(_ball_product(row, rates) == 0 for row in problem.equalities.rows.rows)
        and all(_ball_product(row, rates) <= 0 for row in problem.inequalities.rows.rows)
        and all(
            is_positive_semidefinite([_ball_product(row, rates) for row in item.rows.rows], item.n)
            for item in problem.matrices
        )
        and bool(_ball_product(problem.objective.rows[0], rates) < 0)
    )


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
