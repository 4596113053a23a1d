"""Unbounded problems: a ray along which the objective falls and every feasible point stays feasible, proved in balls.

Atoms may change along the ray: an asymptotic slope bounds how fast (theorem P10).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp, solve_quietly
from boostopt.problem_certificates.arithmetic.affine_forms import Row, RowBlock
from boostopt.problem_certificates.arithmetic.balls import (
    ZERO,
    Ball,
    ball,
    balls,
    enclosing_balls,
    has_exact_rank,
    is_positive_semidefinite,
    pivots,
    solve,
)
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import SparseSystem
from boostopt.problem_certificates.arithmetic.sparse_float_forms import product
from boostopt.problem_certificates.problem_reader import ReadProblem

ZERO_TOL = 1e-9
"""Size from which an entry or a row counts as not 0, when it is chosen what must be 0 exactly."""

SLACK_TOL = 1e-6
"""Change from which a row changes along a direction that an interior-point method proposes."""

GRID = 2.0**-20
"""Entries of directions within a tenth of it of a multiple are rounded: solvers leave noise in simple numbers."""

MAX_CHANGING = 20_000
"""Maximum number of values and arguments of atoms for which directions along which atoms change are looked for."""

MIN_SPARSE_ROWS = 60
"""Number of rows from which a direction with these rows exactly 0 is proved without a basis."""

MAX_DENSE = 10_000_000
"""Maximum number of entries of a dense matrix of rows."""

N_REFINEMENTS = 3
"""Number of steps towards a direction with these rows 0 in floating point."""

FREE_SIZE = 0.1
"""Smallest size of the change of an entry without bounds, relative to the largest entry of the direction."""

RowKey = tuple[int, int]
"""The identity of a block of rows, and the position of a row in it."""


def has_unbounded_ray(problem: ReadProblem, x: Float[Array, " n"]) -> bool:
    """Return whether a direction d is proved along which every feasible point stays feasible and the objective falls.

    First, all arguments of atoms are constant along d, all inequalities do not increase, all equalities and
    semidefinite matrices stay the same, and the objective decreases. So the problem is unbounded if it has a feasible
    point. Then d is x, a feasible point, or a solver proposes d, and atoms change by at most their asymptotic slopes.
    """
    if _has_constant_ray(problem) or falls_along(problem, balls(x)):
        return True
    return any(falls_along(problem, d, constant) for d, constant in _changing_directions(problem))


def falls_along(problem: ReadProblem, d: Sequence[Ball], constant: Set[RowKey] = frozenset()) -> bool:
    """Return whether a direction is proved to keep all feasible points feasible while the objective falls for ever.

    A convex f increases by at most t s along arguments u + t a, if s is an asymptotic slope; a concave one by at least
    that. Atoms without one must have constant arguments. Arguments that contain such atoms are known on one side only:
    atoms of them must be constant, or nondecreasing and of the same curvature. The objective falls if its slope is
    negative, or if it is 0 and a value in it, such as a logarithm, grows beyond all bounds. Such values are concave.

    Parameters
    ----------
    problem, d
        The problem, and balls that contain the direction.
    constant
        Rows of x that are exactly 0 along the direction, as those who propose it prove.
    """
    diverging = np.zeros(problem.n_values, dtype=bool)
    rates: list[Ball] = [*d, *([ZERO] * (problem.n_values - problem.n))]
    changing, signs = np.zeros(problem.n_values, dtype=bool), np.zeros(problem.n_values)
    for node in problem.nodes:
        signs[node.outputs] = node.function.sign

    def row_rates(block: RowBlock) -> list[Ball]:
        return [ZERO if (id(block), i) in constant else _ball_product(row, rates) for i, row in enumerate(block.rows)]

    def is_bounded_by_rates(row: Row, sign: int = 1) -> bool:
        return all(value * (sign * signs[k]) >= 0 for k, value in row.items() if changing[k])

    def grows(row: Row, rate: Ball) -> bool:
        return bool(rate > 0 or (rate >= 0 and any(value > 0 for k, value in row.items() if diverging[k])))

    for node in problem.nodes:
        block, sign = node.arguments, node.function.sign
        is_changing = np.zeros(len(block), dtype=bool)
        if not block.is_affine(problem.n):
            is_changing = block.depends_on(changing)
            if is_changing.any() and not (
                node.function.is_nondecreasing and all(is_bounded_by_rates(row, sign) for row in block.rows)
            ):
                return False
        argument_rates = row_rates(block)
        for k, group in enumerate(node.members.tolist()):
            values = [argument_rates[i] for i in group]
            if all(value == 0 for value in values) and not is_changing[group].any():
                continue
            rate = node.function.asymptotic_slope(values)
            if not rate.is_finite():
                return False
            rates[node.start + k], changing[node.start + k] = rate, True
            if node.function.has_sublinear_growth and rate == 0:
                is_growing = [grows(block.rows[i], argument_rates[i]) for i in group]
                diverging[node.start + k] = node.function.grows(is_growing, values)

    def falls(row: Row) -> bool:
        rate = _ball_product(row, rates)
        return bool(rate < 0 or (rate <= 0 and any(value < 0 for k, value in row.items() if diverging[k])))

    affine = [*problem.equalities.rows.rows, *(row for item in problem.matrices for row in item.rows.rows)]
    upper = [problem.objective.rows[0], *problem.inequalities.rows.rows]
    low, high = np.flatnonzero(np.isfinite(problem.lower)), np.flatnonzero(np.isfinite(problem.upper))
    return (
        all(d[j] >= 0 for j in low.tolist())
        and all(d[j] <= 0 for j in high.tolist())
        and not any(changing[k] for row in affine for k in row)
        and all(is_bounded_by_rates(row) for row in upper)
        and all(rate == 0 for rate in row_rates(problem.equalities.rows))
        and all(rate <= 0 for rate in row_rates(problem.inequalities.rows))
        and all(is_positive_semidefinite(row_rates(item.rows), item.n) for item in problem.matrices)
        and falls(problem.objective.rows[0])
    )


def _changing_directions(problem: ReadProblem) -> Iterator[tuple[list[Ball], Set[RowKey]]]:
    """Yield directions near those of a solver along which atoms change, and the rows that are proved constant."""
    for d in proposed_changing_directions(problem):
        yield from _directions_near(problem, d)


def proposed_changing_directions(problem: ReadProblem) -> Iterator[Float[Array, " n"]]:
    """Yield directions in floating point along which the objective falls and atoms change."""
    for growing_atoms in ("none", "in the objective", "all"):
        d = _changing_direction(problem, growing_atoms)
        if d is not None:
            yield d


def _directions_near(problem: ReadProblem, d: Float[Array, " n"]) -> Iterator[tuple[list[Ball], Set[RowKey]]]:
    """Yield a direction in simple numbers, and with rows that are nearly constant made exactly so."""
    d = in_simple_numbers(d)
    yield balls(d), frozenset()
    blocks = [problem.equalities.rows, problem.inequalities.rows, *(node.arguments for node in problem.nodes)]
    blocks += [item.rows for item in problem.matrices]
    has_bound = np.isfinite(problem.lower) | np.isfinite(problem.upper)
    zeros = {int(j) for j in np.flatnonzero(has_bound & (np.abs(d) <= ZERO_TOL))}
    d[list(zeros)] = 0.0
    constant = dict[RowKey, Row]()
    for block in blocks:
        changes = np.abs(block.float_product(np.append(d, np.zeros(problem.n_values - problem.n))[:, None])[:, 0])
        is_affine = ~block.depends_on(np.arange(problem.n_values) >= problem.n)
        for i in np.flatnonzero(is_affine & (changes <= SLACK_TOL)).tolist():
            constant[id(block), i] = block.rows[i]
    exact = _exact_direction(problem.n, list(constant.values()), zeros, d)
    if exact is not None:
        yield exact, constant.keys()


def in_simple_numbers(d: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return a direction whose entries near multiples of `GRID` are these."""
    nearest = GRID * np.round(d / GRID)
    return np.where(np.abs(d - nearest) <= 0.1 * GRID, nearest, d)


def _changing_direction(problem: ReadProblem, growing_atoms: str) -> Float[Array, " n"] | None:
    """Return a direction along which the objective falls by the asymptotic slopes of atoms; None without one.

    It solves the problem with the recession function of each function in place of this, in the unit cube. If the fall
    need not be linear, the arguments of atoms of sublinear growth increase, those in the objective or all, and the
    slope of the objective is at most 0.
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
        is_counted = growing_atoms == "all" or bool(problem.objective.floats[:, node.outputs].nnz)
        if node.function.has_sublinear_growth and is_counted:
            is_matrix = node.function.has_semidefinite_domain
            growth.append(
                -cp.trace(cp.reshape(changes, (math.isqrt(k),) * 2, order="C")) if is_matrix else -cp.sum(changes)
            )
    slope = (problem.objective.floats @ z)[0]
    is_linear = growing_atoms == "none"
    if not is_linear and not growth:
        return None
    objective = slope if is_linear else sum(growth[1:], growth[0])
    auxiliary = cp.Problem(cp.Minimize(objective), constraints if is_linear else [*constraints, slope <= 0])
    # A vertex has exact zeros.
    if solve_quietly(auxiliary, "HIGHS" if auxiliary.is_lp() else "CLARABEL") is not None or z.value is None:
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
        _float_matrix([objective], n).toarray()[0],
        inequalities if len(decreasing) else None,
        np.zeros(len(decreasing)) if len(decreasing) else None,
        equalities if len(constant) else None,
        np.zeros(len(constant)) if len(constant) else None,
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
    exact = sparse_direction(constant, zeros, d) if len(constant) >= MIN_SPARSE_ROWS else None
    if exact is not None:
        return exact
    if len(constant) * len(free) > MAX_DENSE:
        return None
    A = _float_matrix(constant, n)[:, free].toarray()
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


def sparse_direction(constant: list[Row], zeros: set[int], d: Array) -> list[Ball] | None:
    """Return balls that contain a direction near d with all rows exactly 0, without a basis; None if none is proved.

    Entries change in proportion to their sizes, so that they keep their signs: see `SparseSystem`.
    """
    if any(not value == ball(float(value.mid())) for row in constant for value in row.values()):
        return None
    coefficients = _float_matrix(constant, len(d))
    sizes = np.maximum(np.abs(d), FREE_SIZE * float(np.abs(d).max(initial=0.0)))
    sizes[list(zeros)] = 0.0
    point = np.where(sizes > 0, d, 0.0)
    moves = np.asarray((coefficients != 0) @ (sizes > 0).astype(float)) > 0  # other rows are 0
    A = scipy.sparse.csr_array(coefficients[np.flatnonzero(moves)])
    system = SparseSystem(A, sizes)
    if not system.sigma > 0:
        return None
    for _ in range(N_REFINEMENTS):
        following = point + system.correction(-np.asarray(A @ point))
        if not np.isfinite(following).all():
            return None
        point = following
    mids, radii = product(A, None, (point, np.zeros(len(point))))
    return enclosing_balls(point, system.radii(np.abs(mids) + radii))


def _float_matrix(rows: list[Row], n: int) -> Any:
    """Return rows as a sparse matrix of floats."""
    values = np.array([float(value.mid()) for row in rows for value in row.values()], dtype=float)
    columns = np.array([k for row in rows for k in row], dtype=int)
    pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=int)])
    return scipy.sparse.csr_array((values, columns, pointers), shape=(len(rows), n))


def _product(row: Row, d: Array) -> float:
    """Return the product of a row with a direction in floating point."""
    return sum(float(value.mid()) * float(d[k]) for k, value in row.items())


def _ball_product(row: Row, d: list[Ball]) -> Ball:
    """Return the product of a row with a direction in balls."""
    total = ZERO
    for k, value in row.items():
        total = total + value * d[k]
    return total
