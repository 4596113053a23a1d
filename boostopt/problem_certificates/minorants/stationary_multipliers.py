"""The choice of multipliers and tangents: shortest steps until the slopes of the Lagrangian are 0.

Every choice proves a bound (`lagrangian_minorant`). The bound is good if the slopes r of x are 0, up to those that a
bound of x takes, and if the choice is near the answer of the solver. A step solves G y = -r for the shortest y. The
columns of G are the changes of r by each unknown: a multiplier, a factor of a semidefinite multiplier, the tangents of
an atom. Each unknown is scaled such that y lowers the bound by about |y|^2 / 2:

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
import scipy.linalg

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.functions.numerics.least_squares import least_squares
from boostopt.problem_certificates.arithmetic.affine_forms import RowBlock
from boostopt.problem_certificates.arithmetic.balls import balls, midpoints
from boostopt.problem_certificates.atoms.base import Tangents
from boostopt.problem_certificates.atoms.symmetric_matrices import factor_step, symmetric
from boostopt.problem_certificates.minorants.lagrangian_minorant import Choice
from boostopt.problem_certificates.problem_reader import MAX_VALUE, AtomNode, MatrixConstraint, ReadProblem

MIN_MULTIPLIER = 1e-12
"""Size from which a multiplier of an inequality may grow."""

EQUALITY_SCALE = 1e3
"""Scale of multipliers of equalities: their changes cost nothing."""

MIN_PROGRESS = 0.999
"""Ratio of slopes from which a step counts as idle."""

MAX_IDLE_STEPS = 2
"""Number of idle steps in a row after which steps of tangents alone end: with fixed multipliers slopes may remain."""

MIN_SLOPE = 1e-15
"""Slopes, relative to the sizes that cancel in them, that count as 0."""

POOR_SLOPE = 0.3
"""Slope, relative to the sizes that cancel in it, from which a choice of a small problem is not tried."""

NEAR_TOL = 1e-4
"""Relative distance from a bound at which the bound takes a slope."""

StepTaker = Callable[[Choice, Float[Array, " k"]], Choice]
"""A function that takes the part of a step that belongs to some unknowns."""

CHEAP_CUTOFF = 0.05
"""Singular values of G, relative to the largest, that cheap steps leave out."""

MAX_DECOMPOSED = 50_000
"""Maximum number of entries of G for which steps are computed by its singular values."""

MAX_DENSE = 5_000_000
"""Maximum number of entries of G for which steps are computed by G Gᵀ. Steps of larger problems are iterated."""

REGULARIZATION = 1e-13
"""The addend of the diagonal of G Gᵀ, whose entries are 1."""

N_REFINEMENTS = 3
"""Number of solves with G Gᵀ for a step."""

N_ITERATIONS = 100
"""Maximum number of iterations of LSMR for a step of a large problem."""

STEP_TOL = 1e-7
"""Factor by which a step of a large problem lowers the remaining slopes, as far as they are linear in it."""

N_QUICK_ITERATIONS = 20
"""Maximum number of iterations of LSMR for a step that is tried before G Gᵀ is computed."""

QUICK_TOL = 1e-9
"""Factor by which such a step must lower the remaining slopes."""

N_SIGN_VECTORS = 8
"""Number of random vectors of signs by whose images the norms of rows of G are estimated."""

MIN_ROW_NORM = 1e-12
"""Smallest estimate of the norm of a row, relative to the largest."""


@dataclass(frozen=True)
class StepPart:
    """Columns of G for some unknowns: C in G = Jᵀ C, where J are the slopes in x of the minorants of all of z.

    Attributes
    ----------
    size
        The number of unknowns.
    push
        The function of y that returns C y, shape (k,).
    pull
        The function of a matrix Z with a row for each entry of z that returns Cᵀ Z.
    take
        The function that takes the part of a step that belongs to these unknowns.
    has_tangents
        Whether the unknowns are tangents of atoms, and not multipliers.
    """

    size: int
    push: Callable[[Float[Array, " r"]], Float[Array, " k"]]
    pull: Callable[[Float[Array, "k q"]], Float[Array, "r q"]]
    take: StepTaker
    has_tangents: bool = False


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
    return FloatPoint(x, problem.float_values(x) if problem.is_large else midpoints(problem.evaluate(balls(x))))


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
    tangents = [node_tangents(node, point, width) for node in problem.nodes]
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
            _factor_of_rest(constraint, slopes, point, problem.is_large) if constraint.dual is None else factor
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
    n_cheap_steps: int = 0,
) -> Iterator[Choice]:
    """Yield the choice by the duals of the solver, then improved ones; fewer if floats do not suffice for them.

    For small problems, the first is left out if its slopes are poor: the last one is the best that the steps reach.

    The first steps may be cheap ones, as in `improved_choices`. If the multipliers are fixed, they are the duals
    themselves, of any sign, and the choice proves no bound.
    """
    try:
        choice = initial_choice(problem, point, width, objective_weight)
        if are_multipliers_fixed:
            choice = replace(choice, inequality=problem.inequalities.duals)
        if problem.is_large or are_multipliers_fixed or not _has_poor_slopes(problem, choice, point, box):
            yield choice
        yield from improved_choices(problem, choice, point, box, width, n_steps, are_multipliers_fixed, n_cheap_steps)
    except np.linalg.LinAlgError:  # eigenvalues did not converge
        return


def _has_poor_slopes(problem: ReadProblem, choice: Choice, point: FloatPoint, box: tuple[Array, Array]) -> bool:
    """Return whether a slope that no bound takes is so large that the bound of a choice would be poor."""
    slopes, _, sizes = float_pullback(problem, choice)
    return bool((np.abs(remaining_slopes(slopes, point.x, box)) > POOR_SLOPE * sizes).any())


def improved_choice(
    problem: ReadProblem, choice: Choice, point: FloatPoint, box: tuple[Array, Array], width: float, n_steps: int
) -> Choice:
    """Return the last of `improved_choices`."""
    for improved in improved_choices(problem, choice, point, box, width, n_steps):
        choice = improved
    return choice


def improved_choices(
    problem: ReadProblem,
    choice: Choice,
    point: FloatPoint,
    box: tuple[Array, Array],
    width: float,
    n_steps: int,
    are_multipliers_fixed: bool = False,
    n_cheap_steps: int = 0,
) -> Iterator[Choice]:
    """Yield the choice with the smallest remaining slopes after some steps; for large problems, after each step.

    Parameters
    ----------
    problem
        The problem.
    choice
        The start of the steps.
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
    n_cheap_steps
        Number of first steps of small problems that leave out expensive directions, even if slopes remain. A full step
        from a poor start can lead to slopes of 0 far from the answer of the solver.
    """
    best, best_size, is_large, n_idle = choice, math.inf, False, 0
    for count in range(n_steps + 1):
        slopes, multipliers, sizes = float_pullback(problem, choice)
        rest = remaining_slopes(slopes, point.x, box)
        with np.errstate(invalid="ignore"):  # infinite slopes, far outside: they end the search below
            scales = np.maximum(sizes, 1.0) if are_multipliers_fixed else sizes
            size = float(np.max(np.abs(rest) / scales, initial=0.0))
        if not math.isfinite(size):
            break
        n_idle = n_idle + 1 if size > MIN_PROGRESS * best_size else 0
        if size < best_size:
            best, best_size = choice, size
            if is_large:
                yield best
        elif is_large:  # the next step costs as much
            break
        if are_multipliers_fixed and n_idle == MAX_IDLE_STEPS:
            break
        if size <= MIN_SLOPE or count == n_steps:
            break
        with np.errstate(all="ignore"):
            if are_multipliers_fixed:
                parts = tangent_parts(problem, choice, multipliers, kinks_only=True)
            else:
                parts = [
                    *multiplier_parts(problem, choice, point, width),
                    *tangent_parts(problem, choice, multipliers),
                    *bound_parts(problem, slopes, point, box, width),
                ]
            if not parts:
                break
            is_active = (rest != 0) | (slopes == rest)
            size_of_columns = int(is_active.sum()) * sum(part.size for part in parts)
            is_large = size_of_columns > MAX_DECOMPOSED
            step = _iterated_step if size_of_columns > MAX_DENSE else _direct_step if is_large else _shortest_step
            if count < n_cheap_steps and not is_large:
                y = _shortest_step(problem, choice, parts, -rest, is_active, CHEAP_CUTOFF)
            else:
                y = step(problem, choice, parts, -rest, is_active)
        if y is None:
            break
        start = 0
        for part in parts:
            choice = part.take(choice, y[start : start + part.size])
            start += part.size
    if not is_large:
        yield best


def _shortest_step(
    problem: ReadProblem,
    choice: Choice,
    parts: Sequence[StepPart],
    target: Array,
    is_active: Array,
    cutoff: float = 1e-13,
) -> Array | None:
    """Return the shortest y with G y = target in the rows that are active; None if there is none but 0.

    Singular values of G below the cutoff, relative to the largest, count as 0.
    """
    G = _active_rows(problem, choice, parts, is_active)
    if not G.any():
        return None
    try:
        return np.linalg.lstsq(G, target[is_active], rcond=cutoff)[0]
    except np.linalg.LinAlgError:  # the iteration for the singular values did not converge
        return None


def _active_rows(problem: ReadProblem, choice: Choice, parts: Sequence[StepPart], is_active: Array) -> Array:
    """Return the rows of G that are active."""
    selected = np.flatnonzero(is_active)
    units = np.zeros((problem.n, len(selected)))
    units[selected, np.arange(len(selected))] = 1.0
    Z = pushed_forward(problem, choice, units)
    blocks = [part.pull(Z) for part in parts]
    G = np.vstack([np.zeros((0, len(selected))), *blocks])
    return (G if np.isfinite(G).all() else np.nan_to_num(G, posinf=0.0, neginf=0.0)).T


def _normal_step(
    problem: ReadProblem, choice: Choice, parts: Sequence[StepPart], target: Array, is_active: Array
) -> Array | None:
    """Return nearly the shortest y with G y = target in the rows that are active, by the normal equations."""
    G = _active_rows(problem, choice, parts, is_active)
    if not G.any():
        return None
    norms = np.linalg.norm(G, axis=1)
    norms = np.maximum(norms, MIN_ROW_NORM * float(norms.max()))
    scaled, rest = G / norms[:, None], target[is_active] / norms
    if not (np.isfinite(scaled).all() and np.isfinite(rest).all()):
        return None
    gram = scaled @ scaled.T
    gram[np.diag_indices_from(gram)] += REGULARIZATION
    try:
        factor = scipy.linalg.cho_factor(gram, overwrite_a=True)
    except np.linalg.LinAlgError:  # infinite entries
        return None
    y = np.zeros(scaled.shape[1])
    for _ in range(N_REFINEMENTS):
        y += scaled.T @ scipy.linalg.cho_solve(factor, rest - scaled @ y)
    return y if np.isfinite(y).all() else None


def _direct_step(
    problem: ReadProblem, choice: Choice, parts: Sequence[StepPart], target: Array, is_active: Array
) -> Array | None:
    """Return the step of few iterations if these suffice, as for separable problems, else that of `_normal_step`."""
    y = _iterated_step(problem, choice, parts, target, is_active, N_QUICK_ITERATIONS, QUICK_TOL)
    return _normal_step(problem, choice, parts, target, is_active) if y is None else y


def _iterated_step(
    problem: ReadProblem,
    choice: Choice,
    parts: Sequence[StepPart],
    target: Array,
    is_active: Array,
    n_iterations: int = N_ITERATIONS,
    max_remainder: float = math.inf,
) -> Array | None:
    """Return nearly the shortest y with G y = target in the rows that are active; None if none but 0 was found.

    It is also None if the iterations leave more than a fraction of the target. G is not stored [D. C.-L. Fong and M.
    Saunders, LSMR: an iterative algorithm for sparse least-squares problems, SIAM Journal on Scientific Computing 33
    (2011)]. Its rows are divided by their norms without the multipliers of constraints: then G Gᵀ of a separable
    problem is the unit matrix plus one of the rank of the constraints, and needs about as many iterations.
    """
    ends = np.cumsum([0, *(part.size for part in parts)])
    has_tangents = np.repeat([part.has_tangents for part in parts], [part.size for part in parts])
    node_slopes = [
        node.function.slopes(tangents) for node, tangents in zip(problem.nodes, choice.tangents, strict=True)
    ]

    def multiply(y: Array) -> Array:
        total = np.zeros(problem.n_values)
        for part, start in zip(parts, ends.tolist(), strict=False):
            total += part.push(y[start : start + part.size])
        return np.nan_to_num(pulled_back(problem, node_slopes, total)[0], posinf=0.0, neginf=0.0) * scales

    def multiply_transpose(u: Array) -> Array:
        Z = pushed_forward(problem, choice, (u * scales)[:, None])
        values = [np.zeros(0), *(part.pull(Z).ravel() for part in parts)]
        return np.nan_to_num(np.concatenate(values), posinf=0.0, neginf=0.0)

    scales = is_active.astype(float)
    scales = scales / _row_norms(multiply, has_tangents)
    tolerances = {"atol": 1e-14, "btol": min(STEP_TOL, 0.1 * max_remainder), "conlim": 0.0}
    scaled = target * scales
    y = least_squares(multiply, multiply_transpose, scaled, int(ends[-1]), n_iterations, **tolerances)
    if not (np.isfinite(y).all() and y.any()):
        return None
    if math.isfinite(max_remainder):
        rest = float(np.linalg.norm(multiply(y) - scaled))
        return y if rest <= max_remainder * float(np.linalg.norm(scaled)) else None
    return y


def _row_norms(multiply: Callable[[Array], Array], has_tangents: Bool[Array, " k"]) -> Float[Array, " n"]:
    """Return about the norms of the rows of G in the columns of tangents; in all columns if these are 0.

    The mean square of the product with random signs is the square of the norm.
    """
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(N_SIGN_VECTORS, len(has_tangents)))
    result = np.sqrt(np.mean([multiply(vector * has_tangents) ** 2 for vector in signs], axis=0))
    if not result.all():
        norms = np.sqrt(np.mean([multiply(vector) ** 2 for vector in signs], axis=0))
        result = np.where(result > 0, result, norms)
    size = float(result.max(initial=0.0))
    return np.maximum(result, MIN_ROW_NORM * size) if 0 < size < math.inf else np.ones(len(result))


def float_pullback(problem: ReadProblem, choice: Choice) -> tuple[Array, list[Array], Array]:
    """Return the slopes of x, the multipliers of the values of each atom, and the sizes of what the slopes sum up."""
    total, sizes = np.zeros(problem.n_values), np.full(problem.n_values, 1e-300)
    if choice.linear is not None:
        total[: problem.n] += choice.linear
        sizes[: problem.n] += np.abs(choice.linear)
    terms = [
        (problem.objective, np.array([choice.objective_weight])),
        (problem.inequalities.rows, choice.inequality),
        (problem.equalities.rows, choice.equality),
    ]
    for constraint, factor in zip(problem.matrices, choice.factors, strict=True):
        terms.append((constraint.rows, -(factor @ factor.T).ravel()))
    for rows, multipliers in terms:
        total += rows.float_pullback(multipliers)
        sizes += rows.float_sizes(multipliers)
    node_slopes = [
        node.function.slopes(tangents) for node, tangents in zip(problem.nodes, choice.tangents, strict=True)
    ]
    slopes, multipliers_of_nodes = pulled_back(problem, node_slopes, total, sizes)
    sizes = sizes[: problem.n]
    return slopes, multipliers_of_nodes, np.maximum(sizes, 1e-3 * float(sizes.max(initial=0.0)))


def pulled_back(
    problem: ReadProblem,
    node_slopes: Sequence[Array],
    multipliers: Float[Array, " k"],
    sizes: Float[Array, " k"] | None = None,
) -> tuple[Float[Array, " n"], list[Array]]:
    """Return the slopes of x of <multipliers, minorants of z>, and the multipliers of the values of each atom.

    The sizes of the terms of the slopes are added to `sizes`, in place.
    """
    total = multipliers.copy()
    result = list[Array]()
    for node, slopes in zip(reversed(problem.nodes), reversed(node_slopes), strict=True):
        mu = total[node.outputs]
        result.append(mu)
        with np.errstate(all="ignore"):
            products = np.where(mu[:, None] != 0, mu[:, None] * slopes, 0.0)
            sums = np.bincount(node.members.ravel(), products.ravel(), len(node.arguments))
            total += node.arguments.float_pullback(sums)
            if sizes is not None:
                sizes += node.arguments.float_sizes(sums)
    return total[: problem.n], result[::-1]


def remaining_slopes(slopes: Float[Array, " n"], x: Float[Array, " n"], box: tuple[Array, Array]) -> Float[Array, " n"]:
    """Return the slopes, with 0 for those that a near bound of x takes."""
    lower, upper = box
    with np.errstate(invalid="ignore"):
        limit = np.where(np.isfinite(upper - lower), 0.01 * (upper - lower), np.inf)
    near_lower = np.isfinite(lower) & (x - lower <= np.minimum(NEAR_TOL * (1 + np.abs(lower)), limit))
    near_upper = np.isfinite(upper) & (upper - x <= np.minimum(NEAR_TOL * (1 + np.abs(upper)), limit))
    rest = np.where(near_lower, np.minimum(slopes, 0.0), slopes)
    return np.where(near_upper, np.maximum(rest, 0.0), rest)


def pushed_forward(problem: ReadProblem, choice: Choice, X: Float[Array, "n q"]) -> Float[Array, "k q"]:
    """Return J X, where J are the slopes in x of the minorants of all entries of z."""
    result = np.zeros((problem.n_values, X.shape[1]))
    result[: problem.n] = X
    for node, tangents in zip(problem.nodes, choice.tangents, strict=True):
        arguments = node.arguments.float_product(result)
        slopes = node.function.slopes(tangents)
        with np.errstate(all="ignore"):
            result[node.outputs] = np.nan_to_num(np.einsum("mk,mkn->mn", slopes, arguments[node.members]))
    return result


def row_part(rows: RowBlock, scales: Array, take: StepTaker) -> StepPart:
    """Return the columns of G for the multipliers of rows."""
    return StepPart(
        len(scales),
        lambda y: rows.float_pullback(scales * y),
        lambda Z: scales[:, None] * rows.float_product(Z),
        take,
    )


def multiplier_parts(problem: ReadProblem, choice: Choice, point: FloatPoint, width: float) -> list[StepPart]:
    """Return the columns of G for the multipliers of the constraints."""
    result = list[StepPart]()
    z = np.nan_to_num(point.z, posinf=0.0, neginf=0.0)
    if len(choice.inequality):
        values = problem.inequalities.rows.float_values(z)
        slacks = np.abs(values) + width * 1e-3
        scales = np.sqrt((choice.inequality + MIN_MULTIPLIER) / slacks)

        def take_inequality(current: Choice, y: Array) -> Choice:
            return replace(current, inequality=np.maximum(current.inequality + scales * y, 0.0))

        result.append(row_part(problem.inequalities.rows, scales, take_inequality))
    if len(choice.equality):
        equality_scales = EQUALITY_SCALE * (1 + np.abs(choice.equality))

        def take_equality(current: Choice, y: Array) -> Choice:
            return replace(current, equality=current.equality + equality_scales * y)

        result.append(row_part(problem.equalities.rows, equality_scales, take_equality))
    for index, (constraint, factor) in enumerate(zip(problem.matrices, choice.factors, strict=True)):
        if np.any(factor):
            result.append(_matrix_part(constraint, factor, z, width, index))
    return result


def tangent_parts(
    problem: ReadProblem, choice: Choice, multipliers: Sequence[Array], kinks_only: bool = False
) -> list[StepPart]:
    """Return the columns of G for the tangents of the atoms, or of the atoms with kinks only."""
    return [
        _tangent_part(node, tangents, multipliers[index], index)
        for index, (node, tangents) in enumerate(zip(problem.nodes, choice.tangents, strict=True))
        if np.any(multipliers[index]) and not (kinks_only and not node.function.has_kinks)
    ]


def _tangent_part(node: AtomNode, tangents: Tangents, mu: Array, index: int) -> StepPart:
    """Return the columns of G for the tangents of one atom."""
    weights = np.where(mu != 0, np.abs(mu), 1.0)
    directions = node.function.direction_map(tangents, weights)
    m, r = len(mu), directions.size

    def push(y: Array) -> Array:
        changes = mu[:, None] * directions.multiply(y.reshape(m, r))
        return node.arguments.float_pullback(np.bincount(node.members.ravel(), changes.ravel(), len(node.arguments)))

    def pull(Z: Array) -> Array:
        arguments = node.arguments.float_product(Z)[node.members]
        return (mu[:, None, None] * directions.multiply_transpose(arguments)).reshape(m * r, Z.shape[1])

    return StepPart(m * r, push, pull, _tangent_taker(node.function, index, weights, r), has_tangents=True)


def bound_parts(
    problem: ReadProblem, slopes: Float[Array, " n"], point: FloatPoint, box: tuple[Array, Array], width: float
) -> list[StepPart]:
    """Return the columns of G for bounds of x: a bound takes a slope in proportion to the multiplier that it has."""
    lower, upper = box
    distances = np.minimum(np.abs(point.x - lower), np.abs(upper - point.x))
    scales = np.where(np.isfinite(distances), np.sqrt(np.abs(slopes) / (distances + width * 1e-3)), 0.0)
    toward = np.where(point.x - lower <= upper - point.x, slopes > 0, slopes < 0)
    selected = np.flatnonzero(toward & (scales > 0))
    if not len(selected):
        return []

    def push(y: Array) -> Array:
        result = np.zeros(problem.n_values)
        result[selected] = scales[selected] * y
        return result

    return [StepPart(len(selected), push, lambda Z: scales[selected, None] * Z[selected], lambda current, y: current)]


def _tangent_taker(function: Any, index: int, weights: Array, count: int) -> StepTaker:
    """Return what takes a step of the tangents of one atom."""

    def take(current: Choice, y: Array) -> Choice:
        tangents = list(current.tangents)
        tangents[index] = function.step(tangents[index], weights, y.reshape(len(weights), count))
        return current.with_tangents(tangents)

    return take


def _matrix_part(constraint: MatrixConstraint, factor: Array, z: Array, width: float, index: int) -> StepPart:
    """Return the columns of G for a factor B of a semidefinite multiplier -B Bᵀ: changes S E of B for a metric S."""
    n = constraint.n
    eigenvalues, vectors = np.linalg.eigh(symmetric(constraint.rows.float_values(z), n))
    distance = width * max(1e-3, float(np.abs(eigenvalues).max(initial=0.0)))
    metric = vectors / np.sqrt(2 * (np.abs(eigenvalues) + distance))

    def push(y: Array) -> Array:
        half = metric @ y.reshape(factor.shape) @ factor.T
        return -constraint.rows.float_pullback((half + half.T).ravel())

    def pull(Z: Array) -> Array:
        matrices = constraint.rows.float_product(Z).T.reshape(-1, n, n)
        sums = matrices + matrices.transpose(0, 2, 1)
        return -(metric.T @ sums @ factor).reshape(len(matrices), -1).T

    def take(current: Choice, y: Array) -> Choice:
        factors = list(current.factors)
        factors[index] = factor_step(factors[index], metric, y)
        return replace(current, factors=factors)

    return StepPart(factor.size, push, pull, take)


def node_tangents(node: AtomNode, point: FloatPoint, width: float) -> Tangents:
    """Return the tangents of an atom at a point."""
    return node.function.tangents(group_arguments(node, point), node.orientations, width)


def group_arguments(node: AtomNode, point: FloatPoint) -> Float[Array, "m k"]:
    """Return the arguments of the groups of an atom at a point, as finite numbers."""
    z = np.nan_to_num(point.z, posinf=0.0, neginf=0.0)
    u = np.clip(np.nan_to_num(node.arguments.float_values(z)), -MAX_VALUE, MAX_VALUE)
    return u[node.members]


def _factor(dual: Array | None, n: int) -> Array:
    """Return a B with B Bᵀ near the semidefinite part of a multiplier."""
    if dual is None:
        return np.zeros((n, n))
    eigenvalues, vectors = np.linalg.eigh(dual)
    return vectors * np.sqrt(np.maximum(eigenvalues, 0.0))


def _factor_of_rest(constraint: MatrixConstraint, slopes: Array, point: FloatPoint, is_full: bool) -> Array:
    """Return a factor of the multiplier of a semidefinite variable: of the remaining slopes, on the null space of X."""
    n = constraint.n
    X = symmetric(constraint.rows.float_values(np.nan_to_num(point.z)), n)
    # The slopes of X are those of its free entries; an entry off the diagonal counts twice.
    rest = symmetric(np.asarray(constraint.rows.floats[:, : len(slopes)] @ slopes), n)
    rest = rest * np.where(np.eye(n) > 0, 1.0, 0.5)
    eigenvalues, vectors = np.linalg.eigh(X)
    is_null = eigenvalues <= 1e-4 * max(float(eigenvalues.max()), 1e-12)
    # A full factor leaves only the slopes below 0; the null space keeps the factor small, with fewer unknowns.
    null_space = vectors if is_full and is_null.any() else vectors[:, is_null]
    values, inner = (
        np.linalg.eigh(null_space.T @ rest @ null_space) if null_space.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    )
    factor = np.zeros((n, n))
    if null_space.shape[1]:
        factor[:, : null_space.shape[1]] = null_space @ (inner * np.sqrt(np.maximum(values, 0.0)))
    return factor
