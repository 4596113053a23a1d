"""The lower bound: multipliers and tangents propagated to slopes of x, and the minimum of the minorant over a box.

Let lambda >= 0, nu free and Z_k = B_k B_k^T. For feasible x, the objective is not below the Lagrangian. The Lagrangian
is not below the affine function that results if every atom, from the last to the first, is replaced by a minorant. The
signs that this needs, a multiplier >= 0 at a convex atom and <= 0 at a concave one, are tested in balls. B B^T is
positive semidefinite whatever B is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.atoms.base import Tangents
from boostopt.problem_certificates.atoms.spectral import gram_matrix
from boostopt.problem_certificates.balls import ZERO, Ball, ball, balls, pivots, round_down, solve
from boostopt.problem_certificates.forms import Row
from boostopt.problem_certificates.propagation import Propagation
from boostopt.problem_certificates.reading import ReadProblem

MAX_ELIMINATED = 400
"""Maximum number of slopes that are made exactly 0 by a linear system in balls."""


class WrongSign(Exception):
    """An atom has a multiplier of a sign for which it has no minorant."""


@dataclass(frozen=True)
class Choice:
    """What determines a minorant of the Lagrangian. Every choice with non-negative `inequality` proves a bound.

    Attributes
    ----------
    inequality
        lambda, shape (m,).
    equality
        nu, shape (p,).
    factors
        B_k, each of shape (n_k, n_k).
    tangents
        The tangents of each atom.
    objective_weight
        The factor of the objective: 1, or 0 to prove infeasibility.
    linear
        Slopes that are added to the objective, shape (n,).
    level
        A number that is subtracted from the objective.
    """

    inequality: Float[Array, " m"]
    equality: Float[Array, " p"]
    factors: Sequence[Float[Array, ...]]
    tangents: Sequence[Tangents]
    objective_weight: float = 1.0
    linear: Float[Array, " n"] | None = None
    level: float = 0.0

    def with_tangents(self, tangents: Sequence[Tangents]) -> Choice:
        """Return the same multipliers with other tangents."""
        return replace(self, tangents=tangents)


@dataclass
class AffineMinorant:
    """The affine function <slopes, x> + offset below the Lagrangian.

    Attributes
    ----------
    slopes
        Balls, as many as x has entries.
    offset
        A ball.
    multiplier_size
        A ball that is not below the sum of the absolute values of all multipliers of scalar constraints.
    """

    slopes: list[Ball]
    offset: Ball
    multiplier_size: Ball


def affine_minorant(problem: ReadProblem, choice: Choice, bounds: Propagation) -> AffineMinorant:
    """Return the minorant of a choice in balls.

    Raises
    ------
    WrongSign
        An atom has a multiplier of a sign for which it has no minorant.
    """
    slopes: list[Ball] = [ZERO] * problem.n_values
    if choice.linear is not None:
        slopes[: problem.n] = balls(choice.linear)
    weight = ball(choice.objective_weight)
    offset = problem.objective.add_pullback([weight], slopes) - weight * ball(choice.level)
    multipliers = balls(choice.inequality)
    for multiplier in multipliers:
        if not multiplier >= 0:
            raise WrongSign("an inequality")
    offset = offset + problem.inequalities.rows.add_pullback(multipliers, slopes)
    equality_multipliers = balls(choice.equality)
    offset = offset + problem.equalities.rows.add_pullback(equality_multipliers, slopes)
    for constraint, factor in zip(problem.matrices, choice.factors, strict=True):
        if np.any(factor):
            Z = [-entry for entry in gram_matrix(balls(factor), constraint.n)]
            offset = offset + constraint.rows.add_pullback(Z, slopes)
    for node, tangents in zip(reversed(problem.nodes), reversed(choice.tangents), strict=True):
        multiplier_sums: list[Ball] = [ZERO] * len(node.arguments)
        for k, group in enumerate(node.members.tolist()):
            mu = slopes[node.start + k]
            if mu == 0:
                continue
            signed = node.function.sign * mu
            if not signed >= 0:
                raise WrongSign(node.name)
            ranges = (
                [bounds.row_bounds(node.arguments.rows[i], node.arguments.offsets[i]) for i in group]
                if (needs_bounds(node.function))
                else [(-math.inf, math.inf)] * len(group)
            )
            gradient, constant = node.function.minorant(tangents, k, ranges)
            offset = offset + mu * constant
            for i, slope in zip(group, gradient, strict=True):
                multiplier_sums[i] = multiplier_sums[i] + mu * slope
        offset = offset + node.arguments.add_pullback(multiplier_sums, slopes)
    size = sum((abs(multiplier) for multiplier in (*multipliers, *equality_multipliers)), ZERO)
    return AffineMinorant(slopes[: problem.n], offset, size)


def needs_bounds(function: object) -> bool:
    """Return whether the minorants of a function depend on bounds of its arguments."""
    return float(getattr(function, "epsilon", 0.0)) > 0


def lower_bound(problem: ReadProblem, choice: Choice, bounds: Propagation, right_side_change: float = 0.0) -> float:
    """Return a float that is not above the Lagrangian at any point of the box; -inf if none is proved.

    Parameters
    ----------
    problem
        The problem.
    choice
        Multipliers and tangents.
    bounds
        The box.
    right_side_change
        By how much right sides may be moved.

    Raises
    ------
    WrongSign
        An atom has a multiplier of a sign for which it has no minorant.
    """
    minorant = affine_minorant(problem, choice, bounds)
    lower, upper = bounds.box
    open_entries = [
        j
        for j, slope in enumerate(minorant.slopes)
        if not slope == 0
        and ((not math.isfinite(lower[j]) and not slope < 0) or (not math.isfinite(upper[j]) and not slope > 0))
    ]
    if open_entries and not eliminate(problem, choice, minorant, open_entries):
        return -math.inf
    total = minorant.offset
    eliminated = set(open_entries)
    for j, slope in enumerate(minorant.slopes):
        if j in eliminated or slope == 0:
            continue
        if slope > 0:
            total = total + slope * ball(float(lower[j]))
        elif slope < 0:
            total = total + slope * ball(float(upper[j]))
        else:
            total = total + (slope * ball(float(lower[j]))).min(slope * ball(float(upper[j])))
    total = total - ball(right_side_change) * minorant.multiplier_size
    return round_down(total)


def eliminate(problem: ReadProblem, choice: Choice, minorant: AffineMinorant, entries: Sequence[int]) -> bool:
    """Make slopes exactly 0, in place, by changes of multipliers of affine constraints; return whether this is proved.

    The changes are the ball solution of a square linear system. The multipliers that it contains and that make the
    slopes 0 must be non-negative for inequalities.
    """
    n = problem.n
    candidates = list[tuple[Row, Ball, float]]()  # row, offset, multiplier: inf for an equality
    for row, offset in zip(problem.equalities.rows.rows, problem.equalities.rows.offsets, strict=True):
        if row and max(row) < n:
            candidates.append((row, offset, math.inf))
    for row, offset, multiplier in zip(
        problem.inequalities.rows.rows, problem.inequalities.rows.offsets, choice.inequality.tolist(), strict=True
    ):
        if row and max(row) < n and multiplier > 0:
            candidates.append((row, offset, multiplier))
    size = len(entries)
    if len(candidates) < size or size > MAX_ELIMINATED:
        return False
    scales = np.array([1.0 if math.isinf(multiplier) else multiplier for _, _, multiplier in candidates])
    coefficients = np.array([[float(row.get(j, ZERO).mid()) for row, _, _ in candidates] for j in entries]) * scales
    sizes, order = pivots(coefficients)
    if sizes[size - 1] < 1e-13 * max(float(sizes[0]), 1e-300):
        return False
    basis = [candidates[i] for i in order[:size].tolist()]
    system = [row.get(j, ZERO) for j in entries for row, _, _ in basis]
    changes = solve(system, [-minorant.slopes[j] for j in entries])
    if changes is None:
        return False
    for (_, _, multiplier), change in zip(basis, changes, strict=True):
        if math.isfinite(multiplier) and not ball(multiplier) + change >= 0:
            return False
    for (row, offset, _), change in zip(basis, changes, strict=True):
        minorant.offset = minorant.offset + change * offset
        for j, value in row.items():
            minorant.slopes[j] = minorant.slopes[j] + change * value
        minorant.multiplier_size = minorant.multiplier_size + abs(change)
    return True
