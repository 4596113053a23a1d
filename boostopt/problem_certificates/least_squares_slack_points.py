"""Points with slack near an answer: proposals by least squares, without another solve.

Each inequality, bound and eigenvalue of a semidefinite matrix has a slack, and a target: its slack now, or a fraction
of a typical one if this is larger. The proposal minimizes the squares of the relative distances from the targets and of
the residuals of the equalities. Nothing of this is proved.

For large problems, the constraints must be affine. For others, atoms count by their tangents, and the domain of each
atom has a slack too. A few such steps lead into the interior [Gauss-Newton].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.numerics.least_squares import least_squares
from boostopt.problem_certificates.arithmetic.affine_forms import RowBlock
from boostopt.problem_certificates.atoms.symmetric_matrices import symmetric
from boostopt.problem_certificates.minorants.lagrangian_minorant import Choice
from boostopt.problem_certificates.minorants.stationary_multipliers import node_tangents, pushed_forward
from boostopt.problem_certificates.nearest_domain_points import domain_point
from boostopt.problem_certificates.problem_reader import AtomNode, ReadProblem

TARGET_FRACTION = 0.1
"""Smallest target of a slack, relative to a typical one."""

EQUALITY_WEIGHT = 100.0
"""Weight of the residuals of equalities, relative to their size."""

NEAR_FRACTION = 1e-3
"""Fraction of its target up to which a slack must increase."""

LOOSE_WEIGHT = 1e-2
"""Weight of other slacks: a short step keeps them positive, wherever it leads."""

N_ITERATIONS = 300
"""Maximum number of iterations of LSMR."""

CURVED_TARGET_FRACTION = 0.03
"""Smallest target of a slack where atoms count by their tangents: a short step stays near these."""

NEAR_SLACK = 0.7
"""Fraction of its target from which a slack is near it."""

N_CURVED_STEPS = 5
"""Maximum number of steps with new tangents."""

SHORT_WEIGHT = 1e-2
"""Weight of the length of such a step, relative to the point."""

KINK_WIDTH = 1e-7
"""Relative distance from a kink at which such a step counts an argument as being on it."""

MARGIN = 1e-12
"""Slack, relative to the sizes that cancel in it, that a proof in floats certainly needs."""


@dataclass(frozen=True)
class _Residuals:
    """Residuals M (x + d) - t of the least squares that propose a step d, as functions.

    Attributes
    ----------
    multiply, multiply_transpose
        M d, and Mᵀ r.
    target
        t - M x.
    """

    multiply: Callable[[Float[Array, " n"]], Float[Array, " m"]]
    multiply_transpose: Callable[[Float[Array, " m"]], Float[Array, " n"]]
    target: Float[Array, " m"]


def slack_point(problem: ReadProblem, x: Float[Array, " n"]) -> Float[Array, " n"] | None:
    """Return a point that probably has more slack than x; None if a constraint is not affine, or nothing is gained."""
    if not _is_affine(problem):
        return None
    parts = [_row_residuals(problem, x), _equality_residuals(problem, x), _bound_residuals(problem, x)]
    parts += [_matrix_residuals(item.rows, item.n, x) for item in problem.matrices]
    ends = np.cumsum([0, *(len(part.target) for part in parts)]).tolist()

    def multiply_transpose(r: Array) -> Array:
        pieces = zip(parts, ends, strict=False)
        return sum((part.multiply_transpose(r[k : k + len(part.target)]) for part, k in pieces), np.zeros(len(x)))

    def multiply(d: Array) -> Array:
        return np.concatenate([part.multiply(d) for part in parts])

    target = np.concatenate([part.target for part in parts])
    step = least_squares(multiply, multiply_transpose, target, len(x), N_ITERATIONS, atol=1e-6, btol=1e-6)
    result = x + step
    return result if np.isfinite(result).all() and step.any() else None


def curved_slack_point(problem: ReadProblem, x: Float[Array, " n"]) -> Float[Array, " n"] | None:
    """Return a point that probably has more slack than x, also if constraints have atoms; None if none is near."""
    point = x
    for _ in range(N_CURVED_STEPS if len(x) else 0):
        residuals = _curved_residuals(problem, point)
        if residuals is None:
            return None
        matrix, target, has_slack = residuals
        if has_slack and point is not x:
            return point
        try:
            step = np.linalg.lstsq(matrix, target)[0]
        except np.linalg.LinAlgError:  # the iteration for the singular values did not converge
            return None
        point = point + step
    return point if len(x) else None


def _curved_residuals(
    problem: ReadProblem, x: Float[Array, " n"]
) -> tuple[Float[Array, "m n"], Float[Array, " m"], bool] | None:
    """Return M and t - M x of residuals M (x + d) - t with tangents at x, and whether all slacks are near targets.

    The result is None if an atom has no value or no tangent near x.
    """
    point = domain_point(problem, x).point
    if not np.isfinite(point.z).all():
        return None
    tangents = [node_tangents(node, point, KINK_WIDTH) for node in problem.nodes]
    J = pushed_forward(problem, Choice(np.zeros(0), np.zeros(0), [], tangents), np.eye(problem.n))
    typical, z, has_slack = _typical(x), point.z, True
    matrices, targets = list[Array](), list[Array]()

    def add(slopes: Array, slacks: Array, smallest_targets: Array) -> None:
        nonlocal has_slack
        goals = np.maximum(slacks, smallest_targets)
        weights = _weights(slacks, goals)
        matrices.append(weights[:, None] * slopes)
        targets.append(weights * (goals - slacks))
        has_slack = has_slack and bool((slacks >= NEAR_SLACK * goals).all())

    rows = problem.inequalities.rows
    sizes = rows.float_value_sizes(np.abs(z) + typical) + np.abs(rows.float_offsets)
    add(-rows.float_product(J), -rows.float_values(z), CURVED_TARGET_FRACTION * np.maximum(sizes, 1e-300))
    width = problem.upper - problem.lower
    for bound, sign in ((problem.lower, 1.0), (problem.upper, -1.0)):
        places = np.flatnonzero(np.isfinite(bound) & (width > 0))
        smallest_targets = CURVED_TARGET_FRACTION * np.minimum(typical, width[places])
        add(sign * J[places], sign * (x - bound)[places], smallest_targets)
    distance = CURVED_TARGET_FRACTION * typical
    for node in problem.nodes:
        places, slacks = _domain_slacks(node, z, distance)
        add(node.arguments.float_product(J)[places], slacks, np.full(len(places), distance))
    rows = problem.equalities.rows
    sizes = rows.float_value_sizes(np.abs(z) + typical) + np.abs(rows.float_offsets)
    weights = EQUALITY_WEIGHT / np.maximum(sizes, 1e-300)
    matrices.append(weights[:, None] * rows.float_product(J))
    targets.append(-weights * rows.float_values(z))
    for item in problem.matrices:
        eigenvalues, vectors = np.linalg.eigh(symmetric(item.rows.float_values(z), item.n))
        mean = max(float(np.abs(eigenvalues).mean()), 1e-9)
        goals = np.maximum(eigenvalues, CURVED_TARGET_FRACTION * mean)
        root = vectors / np.sqrt(goals)
        columns = root.T @ item.rows.float_product(J).T.reshape(-1, item.n, item.n) @ root
        matrices.append(columns.reshape(problem.n, -1).T)
        targets.append(np.diag((goals - eigenvalues) / goals).ravel())
        has_slack = has_slack and bool((eigenvalues >= NEAR_SLACK * goals).all())
    matrices.append(np.diag(SHORT_WEIGHT / (np.abs(x) + typical)))
    targets.append(np.zeros(problem.n))
    matrix, target = np.vstack(matrices), np.concatenate(targets)
    return (matrix, target, has_slack) if np.isfinite(matrix).all() and np.isfinite(target).all() else None


def _domain_slacks(node: AtomNode, z: Float[Array, " k"], distance: float) -> tuple[list[int], Float[Array, " r"]]:
    """Return the arguments of an atom within a distance above a bound of its domain, and their distances from it.

    The bounds of the domains of all atoms are lower bounds, except those of matrices.
    """
    if node.function.has_semidefinite_domain:
        return [], np.zeros(0)
    u = node.arguments.float_values(z) - distance
    violations: dict[int, float] = {}
    for group in node.members.tolist():
        nearest = node.function.domain_point(u[group])
        for i, violation in zip(group, (nearest - u[group]).tolist(), strict=True):
            if 0 < violation < np.inf:
                violations[i] = max(violation, violations.get(i, 0.0))
    return list(violations), distance - np.array(list(violations.values()))


def least_fraction(problem: ReadProblem, x: Float[Array, " n"], interior: Float[Array, " n"]) -> float:
    """Return about the smallest t at which (1 - t) x + t y has slack in all constraints.

    It is inf if there is none, and 0 if a constraint is not affine.
    """
    if not _is_affine(problem):
        return 0.0
    fraction = 0.0

    def use(first: Array, second: Array, margins: Array) -> None:
        nonlocal fraction
        short = first < margins
        with np.errstate(all="ignore"):
            fractions = np.where(second > first, (margins - first) / (second - first), np.inf)[short]
        fraction = max(fraction, float(fractions.max(initial=0.0)))

    rows = problem.inequalities.rows
    use(-_values(rows, x), -_values(rows, interior), MARGIN * (_sizes(rows, x) + _sizes(rows, interior)))
    for bound, sign in ((problem.lower, 1.0), (problem.upper, -1.0)):
        with np.errstate(invalid="ignore"):
            first, second = (np.where(np.isfinite(bound), sign * (point - bound), 1.0) for point in (x, interior))
        is_fixed = problem.lower == problem.upper
        use(np.where(is_fixed, 1.0, first), second, np.zeros(len(x)))
    for item in problem.matrices:
        first, second = (np.linalg.eigvalsh(symmetric(_values(item.rows, y), item.n)) for y in (x, interior))
        size = float(np.abs(np.concatenate([first, second])).max(initial=0.0))
        use(first[:1], second[:1], np.array([1e-3 * MARGIN * size * item.n**2]))
    return fraction if fraction <= 1 else math.inf


def _is_affine(problem: ReadProblem) -> bool:
    """Return whether all constraints are affine in x."""
    blocks = [problem.inequalities.rows, problem.equalities.rows, *(item.rows for item in problem.matrices)]
    return all(block.is_affine(problem.n) for block in blocks)


def _values(rows: RowBlock, x: Array) -> Array:
    """Return the values of affine rows."""
    return rows.float_values(np.append(x, np.zeros(rows.n_unknowns - len(x))))


def _sizes(rows: RowBlock, x: Array) -> Array:
    """Return the sizes of what the values of affine rows sum up."""
    return np.asarray(abs(rows.floats[:, : len(x)]) @ np.abs(x)) + np.abs(rows.float_offsets)


def _typical(x: Array) -> float:
    """Return a typical size of the entries of a point."""
    return max(float(np.abs(x).mean()), 1e-9)


def _row_residuals(problem: ReadProblem, x: Array) -> _Residuals:
    """Return the residuals of the slacks of inequalities."""
    rows, n = problem.inequalities.rows, len(x)
    slacks = -_values(rows, x)
    targets = np.maximum(slacks, TARGET_FRACTION * np.maximum(_sizes(rows, np.abs(x) + _typical(x)), 1e-300))
    weights = _weights(slacks, targets)
    return _Residuals(
        lambda d: -weights * np.asarray(rows.floats[:, :n] @ d),
        lambda r: -rows.float_pullback(weights * r)[:n],
        weights * (targets - slacks),
    )


def _equality_residuals(problem: ReadProblem, x: Array) -> _Residuals:
    """Return the residuals of equalities."""
    rows, n = problem.equalities.rows, len(x)
    weights = EQUALITY_WEIGHT / np.maximum(_sizes(rows, np.abs(x) + _typical(x)), 1e-300)
    return _Residuals(
        lambda d: weights * np.asarray(rows.floats[:, :n] @ d),
        lambda r: rows.float_pullback(weights * r)[:n],
        -weights * _values(rows, x),
    )


def _bound_residuals(problem: ReadProblem, x: Array) -> _Residuals:
    """Return the residuals of the distances from bounds."""
    typical = _typical(x)
    positions, signs, slacks, targets = list[Array](), list[Array](), list[Array](), list[Array]()
    width = problem.upper - problem.lower
    for bound, sign in ((problem.lower, 1.0), (problem.upper, -1.0)):
        places = np.flatnonzero(np.isfinite(bound) & (width > 0))
        distance = sign * (x - bound)[places]
        positions.append(places)
        signs.append(np.full(len(places), sign))
        slacks.append(distance)
        targets.append(np.maximum(distance, TARGET_FRACTION * np.minimum(typical, width[places])))
    place, side, slack, target = (np.concatenate(part) for part in (positions, signs, slacks, targets))
    weights = _weights(slack, target)
    return _Residuals(
        lambda d: side * weights * d[place],
        lambda r: np.bincount(place, side * weights * r, minlength=len(x)),
        weights * (target - slack),
    )


def _weights(slacks: Array, targets: Array) -> Array:
    """Return the weights of residuals: small ones where a slack needs no increase."""
    return np.where(slacks > NEAR_FRACTION * targets, LOOSE_WEIGHT, 1.0) / targets


def _matrix_residuals(rows: RowBlock, n: int, x: Array) -> _Residuals:
    """Return the residuals W (E(x + d) - T) W of a semidefinite matrix with the target T = W^-2."""
    eigenvalues, vectors = np.linalg.eigh(symmetric(_values(rows, x), n))
    typical = max(float(np.abs(eigenvalues).mean()), 1e-9)
    targets = np.maximum(eigenvalues, TARGET_FRACTION * typical)
    root = vectors / np.sqrt(targets)
    size = len(x)

    def multiply(d: Array) -> Array:
        return (root.T @ np.asarray(rows.floats[:, :size] @ d).reshape(n, n) @ root).ravel()

    def multiply_transpose(r: Array) -> Array:
        return rows.float_pullback((root @ r.reshape(n, n) @ root.T).ravel())[:size]

    return _Residuals(multiply, multiply_transpose, np.diag((targets - eigenvalues) / targets).ravel())
