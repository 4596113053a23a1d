"""The choice of multipliers and tangents: shortest steps until the slopes of the Lagrangian are 0.

Every choice proves a bound (`minorant`). The bound is good if the slopes r of x are 0, up to those that a bound of x
takes, and if the choice is near the answer of the solver. A step solves G y = -r for the shortest y. The columns of G
are the changes of r by each unknown: a multiplier, a factor of a semidefinite multiplier, the tangents of an atom. Each
unknown is scaled such that y lowers the bound by about |y|^2 / 2:

    unknown                                       loss of a change            scale
    tangent of a smooth atom                      mu phi'' (v - u)^2 / 2      (mu phi'')^(-1/2)
    multiplier lambda of a constraint, slack s    s lambda (change / lambda)^2 / 2, as in interior-point methods
    slope of an atom with a kink at distance s    likewise

So a shortest step moves tangents of smooth atoms together, as a move of x would, and multipliers of active constraints
freely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.atoms.base import Tangents
from boostopt.problem_certificates.atoms.spectral import factor_columns, factor_step, symmetric
from boostopt.problem_certificates.balls import balls, midpoints
from boostopt.problem_certificates.minorant import Choice
from boostopt.problem_certificates.reading import MAX_VALUE, MatrixConstraint, ReadProblem

MIN_MULTIPLIER = 1e-12
"""Size from which a multiplier of an inequality may grow."""

EQUALITY_SCALE = 1e3
"""Scale of multipliers of equalities: their changes cost nothing."""

MIN_SLOPE = 1e-15
"""Slopes, relative to the sizes that cancel in them, that count as 0."""

NEAR_TOL = 1e-4
"""Relative distance from a bound at which the bound takes a slope."""

StepTaker = Callable[[Choice, Float[Array, " k"]], Choice]
"""A function that takes the part of a step that belongs to some unknowns."""

StepColumns = tuple[Array, StepTaker]
"""Columns of G for some unknowns, and the function that takes the part of a step that belongs to them."""


@dataclass(frozen=True)
class FloatPoint:
    """The values of a problem at a point, in floating point.

    Attributes
    ----------
    x
        The point, shape (n,).
    z
        All values, shape (n_values,); not finite where an atom is outside its domain.
    """

    x: Float[Array, " n"]
    z: Float[Array, " k"]


def float_point(problem: ReadProblem, x: Float[Array, " n"]) -> FloatPoint:
    """Return the values at a point."""
    return FloatPoint(x, midpoints(problem.evaluate(balls(x))))


def initial_choice(problem: ReadProblem, point: FloatPoint, width: float, objective_weight: float = 1.0) -> Choice:
    """Return the choice by the duals of the solver and the tangents at its point.

    Parameters
    ----------
    problem
        The problem with its duals.
    point
        The point.
    width
        The relative distance from a kink at which an argument counts as being on it.
    objective_weight
        The factor of the objective.
    """
    tangents = [_tangents(node, point, width) for node in problem.nodes]
    factors = [_factor(constraint.dual, constraint.n) for constraint in problem.matrices]
    choice = Choice(
        np.maximum(problem.inequalities.duals, 0.0),
        problem.equalities.duals.copy(),
        factors,
        tangents,
        objective_weight,
    )
    if any(constraint.dual is None for constraint in problem.matrices):
        slopes, _, _ = float_pullback(problem, choice)
        factors = [
            _factor_of_rest(constraint, slopes, point) if constraint.dual is None else factor
            for constraint, factor in zip(problem.matrices, factors, strict=True)
        ]
        choice = replace(choice, factors=factors)
    return choice


def proposed_choices(
    problem: ReadProblem,
    point: FloatPoint,
    box: tuple[Array, Array],
    width: float,
    n_steps: int,
    objective_weight: float = 1.0,
    are_multipliers_fixed: bool = False,
) -> Iterator[Choice]:
    """Yield the choice by the duals of the solver, then an improved one; fewer if floats do not suffice for them.

    If the multipliers are fixed, they are the duals themselves, of any sign, and the choice proves no bound.
    """
    try:
        choice = initial_choice(problem, point, width, objective_weight)
        if are_multipliers_fixed:
            choice = replace(choice, inequality=problem.inequalities.duals)
        yield choice
        yield improved_choice(problem, choice, point, box, width, n_steps, are_multipliers_fixed)
    except np.linalg.LinAlgError:  # eigenvalues did not converge
        return


def improved_choice(
    problem: ReadProblem,
    choice: Choice,
    point: FloatPoint,
    box: tuple[Array, Array],
    width: float,
    n_steps: int,
    are_multipliers_fixed: bool = False,
) -> Choice:
    """Return the choice with the smallest remaining slopes after some steps.

    Parameters
    ----------
    problem
        The problem.
    choice
        Where to begin.
    point
        The point at which slacks and distances from bounds are measured.
    box
        Lower and upper bounds of x.
    width
        The relative distance from a kink at which an argument counts as being on it.
    n_steps
        Maximum number of steps.
    are_multipliers_fixed
        Whether the steps change only the tangents of atoms with kinks: then the result is a subgradient at the point.
    """
    best, best_size = choice, math.inf
    for count in range(n_steps + 1):
        slopes, multipliers, sizes = float_pullback(problem, choice)
        rest = remaining_slopes(slopes, point.x, box)
        with np.errstate(invalid="ignore"):  # infinite slopes, far outside: they end the search below
            size = float(np.max(np.abs(rest) / sizes, initial=0.0))
        if not math.isfinite(size):
            break
        if size < best_size:
            best, best_size = choice, size
        if size <= MIN_SLOPE or count == n_steps:
            break
        with np.errstate(all="ignore"):
            jacobian = minorant_jacobian(problem, choice)
            if are_multipliers_fixed:
                columns = tangent_columns(problem, choice, multipliers, jacobian, kinks_only=True)
            else:
                columns = [
                    *multiplier_columns(problem, choice, jacobian, point, width),
                    *tangent_columns(problem, choice, multipliers, jacobian),
                    *bound_columns(slopes, point, box, width),
                ]
        is_active = (rest != 0) | (slopes == rest)
        G = np.hstack([np.zeros((problem.n, 1)), *(block for block, _ in columns)])[is_active]
        if not G.any():
            break
        scaled = np.nan_to_num(G, posinf=0.0, neginf=0.0)
        try:
            y = np.linalg.lstsq(scaled, -rest[is_active], rcond=1e-13)[0]
        except np.linalg.LinAlgError:  # the iteration for the singular values did not converge
            break
        start = 1
        for block, take in columns:
            choice = take(choice, y[start : start + block.shape[1]])
            start += block.shape[1]
    return best


def float_pullback(problem: ReadProblem, choice: Choice) -> tuple[Array, list[Array], Array]:
    """Return the slopes of x, the multipliers of the values of each atom, and the sizes of what the slopes sum up."""
    total, sizes = np.zeros(problem.n_values), np.full(problem.n_values, 1e-300)

    def add(rows: Any, multipliers: Array) -> None:
        nonlocal total, sizes
        total = total + rows.floats.T @ multipliers
        sizes = sizes + abs(rows.floats).T @ np.abs(multipliers)

    if choice.linear is not None:
        total[: problem.n] += choice.linear
        sizes[: problem.n] += np.abs(choice.linear)
    add(problem.objective, np.array([choice.objective_weight]))
    add(problem.inequalities.rows, choice.inequality)
    add(problem.equalities.rows, choice.equality)
    for constraint, factor in zip(problem.matrices, choice.factors, strict=True):
        add(constraint.rows, -(factor @ factor.T).ravel())
    result = list[Array]()
    for node, tangents in zip(reversed(problem.nodes), reversed(choice.tangents), strict=True):
        mu = total[node.outputs]
        result.append(mu)
        sums = np.zeros(len(node.arguments))
        with np.errstate(all="ignore"):
            np.add.at(sums, node.members, np.where(mu[:, None] != 0, mu[:, None] * node.function.slopes(tangents), 0.0))
        add(node.arguments, sums)
    n = problem.n
    return total[:n], result[::-1], np.maximum(sizes[:n], 1e-3 * float(sizes[:n].max(initial=0.0)))


def remaining_slopes(slopes: Float[Array, " n"], x: Float[Array, " n"], box: tuple[Array, Array]) -> Float[Array, " n"]:
    """Return the slopes, with 0 for those that a near bound of x takes."""
    lower, upper = box
    with np.errstate(invalid="ignore"):
        limit = np.where(np.isfinite(upper - lower), 0.01 * (upper - lower), np.inf)
    near_lower = np.isfinite(lower) & (x - lower <= np.minimum(NEAR_TOL * (1 + np.abs(lower)), limit))
    near_upper = np.isfinite(upper) & (upper - x <= np.minimum(NEAR_TOL * (1 + np.abs(upper)), limit))
    rest = np.where(near_lower, np.minimum(slopes, 0.0), slopes)
    return np.where(near_upper, np.maximum(rest, 0.0), rest)


def minorant_jacobian(problem: ReadProblem, choice: Choice) -> Float[Array, "k n"]:
    """Return the slopes in x of the minorants of all entries of z."""
    result = np.zeros((problem.n_values, problem.n))
    result[: problem.n] = np.eye(problem.n)
    for node, tangents in zip(problem.nodes, choice.tangents, strict=True):
        arguments = np.asarray(node.arguments.floats @ result)
        slopes = node.function.slopes(tangents)
        with np.errstate(all="ignore"):
            result[node.outputs] = np.nan_to_num(np.einsum("mk,mkn->mn", slopes, arguments[node.members]))
    return result


def multiplier_columns(
    problem: ReadProblem, choice: Choice, jacobian: Float[Array, "k n"], point: FloatPoint, width: float
) -> list[StepColumns]:
    """Return the columns of G for the multipliers of the constraints."""
    result = list[StepColumns]()
    z = np.nan_to_num(point.z, posinf=0.0, neginf=0.0)
    if len(choice.inequality):
        values = problem.inequalities.rows.float_values(z)
        slacks = np.abs(values) + width * 1e-3
        scales = np.sqrt((choice.inequality + MIN_MULTIPLIER) / slacks)

        def take_inequality(current: Choice, y: Array) -> Choice:
            return replace(current, inequality=np.maximum(current.inequality + scales * y, 0.0))

        result.append((np.asarray(problem.inequalities.rows.floats @ jacobian).T * scales, take_inequality))
    if len(choice.equality):
        equality_scales = EQUALITY_SCALE * (1 + np.abs(choice.equality))

        def take_equality(current: Choice, y: Array) -> Choice:
            return replace(current, equality=current.equality + equality_scales * y)

        result.append((np.asarray(problem.equalities.rows.floats @ jacobian).T * equality_scales, take_equality))
    for index, (constraint, factor) in enumerate(zip(problem.matrices, choice.factors, strict=True)):
        if np.any(factor):
            result.append(_matrix_columns(constraint, factor, jacobian, z, width, index))
    return result


def tangent_columns(
    problem: ReadProblem,
    choice: Choice,
    multipliers: Sequence[Array],
    jacobian: Float[Array, "k n"],
    kinks_only: bool = False,
) -> list[StepColumns]:
    """Return the columns of G for the tangents of the atoms, or of the atoms with kinks only."""
    result = list[StepColumns]()
    for index, (node, tangents) in enumerate(zip(problem.nodes, choice.tangents, strict=True)):
        mu = multipliers[index]
        if not np.any(mu) or (kinks_only and not node.function.has_kinks):
            continue
        weights = np.where(mu != 0, np.abs(mu), 1.0)
        directions = np.nan_to_num(node.function.directions(tangents, weights), posinf=0.0, neginf=0.0)
        arguments = np.asarray(node.arguments.floats @ jacobian)[node.members]
        columns = arguments.transpose(0, 2, 1) @ (mu[:, None, None] * directions)
        block = columns.transpose(1, 0, 2).reshape(problem.n, -1)
        result.append((block, _tangent_taker(node.function, index, weights, directions.shape[2])))
    return result


def bound_columns(
    slopes: Float[Array, " n"], point: FloatPoint, box: tuple[Array, Array], width: float
) -> list[StepColumns]:
    """Return the columns of G for bounds of x: a bound takes a slope in proportion to the multiplier that it has."""
    lower, upper = box
    distances = np.minimum(np.abs(point.x - lower), np.abs(upper - point.x))
    scales = np.where(np.isfinite(distances), np.sqrt(np.abs(slopes) / (distances + width * 1e-3)), 0.0)
    toward = np.where(point.x - lower <= upper - point.x, slopes > 0, slopes < 0)
    selected = np.flatnonzero(toward & (scales > 0))
    if not len(selected):
        return []
    return [(np.eye(len(slopes))[:, selected] * scales[selected], lambda current, y: current)]


def _tangent_taker(function: Any, index: int, weights: Array, count: int) -> StepTaker:
    """Return what takes a step of the tangents of one atom."""

    def take(current: Choice, y: Array) -> Choice:
        tangents = list(current.tangents)
        tangents[index] = function.step(tangents[index], weights, y.reshape(len(weights), count))
        return current.with_tangents(tangents)

    return take


def _matrix_columns(
    constraint: MatrixConstraint, factor: Array, jacobian: Array, z: Array, width: float, index: int
) -> StepColumns:
    """Return the columns of a factor of a semidefinite multiplier, and what takes a step of the factor."""
    eigenvalues, vectors = np.linalg.eigh(symmetric(constraint.rows.float_values(z), constraint.n))
    distance = width * max(1e-3, float(np.abs(eigenvalues).max(initial=0.0)))
    metric = vectors / np.sqrt(2 * (np.abs(eigenvalues) + distance))

    def take(current: Choice, y: Array) -> Choice:
        factors = list(current.factors)
        factors[index] = factor_step(factors[index], metric, y)
        return replace(current, factors=factors)

    return -np.asarray(constraint.rows.floats @ jacobian).T @ factor_columns(factor, metric), take


def _tangents(node: Any, point: FloatPoint, width: float) -> Tangents:
    """Return the tangents of an atom at a point."""
    z = np.nan_to_num(point.z, posinf=0.0, neginf=0.0)
    u = np.clip(np.nan_to_num(node.arguments.float_values(z)), -MAX_VALUE, MAX_VALUE)
    return node.function.tangents(u[node.members], node.orientations, width)


def _factor(dual: Array | None, n: int) -> Array:
    """Return a B with B Bᵀ near the semidefinite part of a multiplier."""
    if dual is None:
        return np.zeros((n, n))
    eigenvalues, vectors = np.linalg.eigh(dual)
    return vectors * np.sqrt(np.maximum(eigenvalues, 0.0))


def _factor_of_rest(constraint: MatrixConstraint, slopes: Array, point: FloatPoint) -> Array:
    """Return a factor of the multiplier of a semidefinite variable: the remaining slopes on the null space of X."""
    n = constraint.n
    X = symmetric(constraint.rows.float_values(np.nan_to_num(point.z)), n)
    # The slopes of X are those of its free entries; an entry off the diagonal counts twice.
    rest = symmetric(np.asarray(constraint.rows.floats[:, : len(slopes)] @ slopes), n)
    rest = rest * np.where(np.eye(n) > 0, 1.0, 0.5)
    eigenvalues, vectors = np.linalg.eigh(X)
    null_space = vectors[:, eigenvalues <= 1e-4 * max(float(eigenvalues.max()), 1e-12)]
    values, inner = (
        np.linalg.eigh(null_space.T @ rest @ null_space) if null_space.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    )
    factor = np.zeros((n, n))
    if null_space.shape[1]:
        factor[:, : null_space.shape[1]] = null_space @ (inner * np.sqrt(np.maximum(values, 0.0)))
    return factor
