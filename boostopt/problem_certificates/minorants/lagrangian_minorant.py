"""The lower bound: multipliers and tangents propagated to slopes of x, and the minimum of the minorant over a box.

Let lambda >= 0, nu free and Z_k = B_k B_k^T. For feasible x, the objective is not below the Lagrangian. The Lagrangian
is not below the affine function that results if every atom, from the last to the first, is replaced by a minorant. The
signs that this needs, a multiplier >= 0 at a convex atom and <= 0 at a concave one, are tested in balls. B B^T is
positive semidefinite whatever B is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.problem_certificates.arithmetic.affine_forms import RowBlock
from boostopt.problem_certificates.arithmetic.balls import (
    NOT_A_NUMBER,
    ZERO,
    Ball,
    Enclosure,
    ball,
    balls,
    enclosing_balls,
    enclosures,
)
from boostopt.problem_certificates.arithmetic.enclosed_sums import scattered_sums, total_ball
from boostopt.problem_certificates.arithmetic.sparse_float_forms import (
    FloatRowBlock,
    scaled_enclosure,
    summed_enclosure,
)
from boostopt.problem_certificates.atoms.base import UNBOUNDED, EnclosedMinorants, MinorantFamily, Tangents
from boostopt.problem_certificates.atoms.symmetric_matrices import gram_matrix
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.problem_reader import AtomNode, ReadProblem


class WrongSign(Exception):
    """An atom has a multiplier of a sign for which it has no minorant."""


@dataclass(frozen=True)
class Choice:
    """The numbers that determine a minorant of the Lagrangian.

    Every choice with non-negative `inequality` proves a bound.

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


@dataclass(frozen=True)
class Correction:
    """Changes of a choice that make slopes exactly 0.

    Attributes
    ----------
    inequality, equality
        The changes of multipliers, by the position of the row.
    families
        The minorants of groups of atoms, by the positions of the atom and of the group.
    changes
        y of each of these families, times the multiplier of the group.
    """

    inequality: dict[int, Ball]
    equality: dict[int, Ball]
    families: Mapping[tuple[int, int], MinorantFamily]
    changes: dict[tuple[int, int], list[Ball]]

    def changes_slopes(self, group: tuple[int, int]) -> bool:
        """Return whether a group has changes that may not be 0."""
        return not all(change == 0 for change in self.changes.get(group, ()))

    def minorant(self, group: tuple[int, int], multiplier: Ball) -> tuple[Sequence[Ball], Ball] | None:
        """Return the slopes and the offset of the minorant of a group with a multiplier; None if it has no family."""
        family = self.families.get(group)
        if family is None:
            return None
        changes = self.changes.get(group, [ZERO] * len(family.directions))
        y = [change / multiplier for change in changes]
        scaled = [multiplier * slope for slope in family.slopes]
        slopes = list(family.slopes)
        for column, change, unit_change in zip(family.directions, changes, y, strict=True):
            for i, coefficient in column:
                scaled[i] = scaled[i] + coefficient * change
                slopes[i] = slopes[i] + coefficient * unit_change
        if not all(value.is_exact() for value in (multiplier, *scaled)):
            return family.complete(slopes, y)
        # Slopes at the boundary of their set are proved to lie in it if nothing was rounded.
        gradient, offset = family.complete([value / multiplier for value in scaled], y)
        if family.scaled_offset is not None and not offset.is_finite():
            offset = family.scaled_offset(scaled, multiplier)
        return gradient, offset


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
    groups
        The slopes of the minorant of each group of an atom that has a multiplier, with this multiplier, by the
        positions of the atom and of the group.
    """

    slopes: list[Ball]
    offset: Ball
    multiplier_size: Ball
    groups: Mapping[tuple[int, int], tuple[Sequence[Ball], Ball]]


@dataclass
class FloatMinorant:
    """The affine function <slopes, x> + offset below the Lagrangian, with slopes as floats with radii.

    Attributes
    ----------
    slopes
        The floats and their radii, as many as x has entries.
    offset, multiplier_size
        Balls, as in `AffineMinorant`.
    """

    slopes: Enclosure
    offset: Ball
    multiplier_size: Ball


def float_minorant(problem: ReadProblem, choice: Choice, bounds: Propagation) -> FloatMinorant | None:
    """Return the minorant of a choice of a large problem; None if a number is not finite or floats prove no sign."""
    if not (choice.inequality >= 0).all():
        return None
    slopes, slope_radii = np.zeros(problem.n_values), np.zeros(problem.n_values)
    if choice.linear is not None:
        slopes[: problem.n] = choice.linear
    offset = -ball(choice.objective_weight) * ball(choice.level)

    def add(rows: RowBlock, weights: Enclosure) -> None:
        nonlocal offset
        if not isinstance(rows, FloatRowBlock):  # a block without rows
            offset = offset + rows.add_pullback(enclosing_balls(*weights), [])
            return
        mids, radii = rows.enclosed_pullback(weights)
        k = rows.support
        slopes[k], slope_radii[k] = summed_enclosure((slopes[k], slope_radii[k]), (mids[k], radii[k]))
        offset = offset + total_ball(scaled_enclosure((rows.float_offsets, rows.float_offset_radii), weights))

    scalar_constraints = [
        (problem.objective, np.array([choice.objective_weight])),
        (problem.inequalities.rows, choice.inequality),
        (problem.equalities.rows, choice.equality),
    ]
    for rows, multipliers in scalar_constraints:
        add(rows, (multipliers, np.zeros(len(multipliers))))
    for constraint, factor in zip(problem.matrices, choice.factors, strict=True):
        if np.any(factor):
            add(constraint.rows, enclosures([-entry for entry in gram_matrix(balls(factor), constraint.n)]))
    for node, tangents in zip(reversed(problem.nodes), reversed(choice.tangents), strict=True):
        mu, radii = slopes[node.outputs], slope_radii[node.outputs]
        groups = np.flatnonzero((mu != 0) | (radii != 0))
        mu, radii = mu[groups], radii[groups]
        if not (np.isfinite(radii).all() and (node.function.sign * mu >= radii).all()):
            return None
        if len(groups):
            gradients, constants = _enclosed_minorants(node, tangents, groups, bounds)
            offset = offset + total_ball(scaled_enclosure(constants, (mu, radii)))
            factors = np.repeat(mu, node.members.shape[1]), np.repeat(radii, node.members.shape[1])
            products = scaled_enclosure((gradients[0].ravel(), gradients[1].ravel()), factors)
            places = node.members[groups].ravel()
            add(node.arguments, scattered_sums(places, products, len(node.arguments)))
    if not (offset.is_finite() and np.isfinite(slope_radii).all()):
        return None
    values = np.abs(np.concatenate([choice.inequality, choice.equality]))
    size = total_ball((values, np.zeros(len(values))))
    return FloatMinorant((slopes[: problem.n], slope_radii[: problem.n]), offset, size)


def _enclosed_minorants(
    node: AtomNode, tangents: Tangents, groups: Int[Array, " g"], bounds: Propagation
) -> EnclosedMinorants:
    """Return the slopes, shape (g, k), and the offsets of the minorants of some groups of an atom."""
    result = node.function.enclosed_minorants(tangents, groups)
    if result is not None:
        return result
    minorants = [_group_minorant(node, tangents, k, bounds) for k in groups.tolist()]
    mids, radii = enclosures([slope for gradient, _ in minorants for slope in gradient])
    shape = (len(groups), node.members.shape[1])
    return (mids.reshape(shape), radii.reshape(shape)), enclosures([offset for _, offset in minorants])


def _group_minorant(node: AtomNode, tangents: Tangents, k: int, bounds: Propagation) -> tuple[list[Ball], Ball]:
    """Return the slopes and the offset of the minorant of a group."""
    group = node.members[k].tolist()
    ranges = (
        [bounds.row_bounds(node.arguments.rows[i], node.arguments.offsets[i]) for i in group]
        if node.function.needs_bounds
        else [UNBOUNDED] * len(group)
    )
    return node.function.minorant(tangents, k, ranges)


def affine_minorant(
    problem: ReadProblem, choice: Choice, bounds: Propagation, correction: Correction | None = None
) -> AffineMinorant:
    """Return the minorant of a choice in balls, with the changes of a correction.

    Raises
    ------
    WrongSign
        A constraint or an atom has a multiplier of a sign for which it has no minorant.
    """
    slopes: list[Ball] = [ZERO] * problem.n_values
    if choice.linear is not None:
        slopes[: problem.n] = balls(choice.linear)
    weight = ball(choice.objective_weight)
    offset = problem.objective.add_pullback([weight], slopes) - weight * ball(choice.level)
    multipliers, equality_multipliers = balls(choice.inequality), balls(choice.equality)
    if correction is not None:
        for values, changes in ((multipliers, correction.inequality), (equality_multipliers, correction.equality)):
            for i, change in changes.items():
                values[i] = values[i] + change
    for multiplier in multipliers:
        if not multiplier >= 0:
            raise WrongSign("an inequality")
    offset = offset + problem.inequalities.rows.add_pullback(multipliers, slopes)
    offset = offset + problem.equalities.rows.add_pullback(equality_multipliers, slopes)
    for constraint, factor in zip(problem.matrices, choice.factors, strict=True):
        if np.any(factor):
            Z = [-entry for entry in gram_matrix(balls(factor), constraint.n)]
            offset = offset + constraint.rows.add_pullback(Z, slopes)
    groups = dict[tuple[int, int], tuple[Sequence[Ball], Ball]]()
    for index in reversed(range(len(problem.nodes))):
        node, tangents = problem.nodes[index], choice.tangents[index]
        multiplier_sums: list[Ball] = [ZERO] * len(node.arguments)
        for k, group in enumerate(node.members.tolist()):
            mu = slopes[node.start + k]
            if mu == 0:
                if correction is not None and correction.changes_slopes((index, k)):
                    offset = NOT_A_NUMBER  # the slopes of a group without a multiplier change nothing
                continue
            signed = node.function.sign * mu
            if not signed >= 0:
                raise WrongSign(node.name)
            minorant = None if correction is None else correction.minorant((index, k), mu)
            if minorant is None:
                minorant = _group_minorant(node, tangents, k, bounds)
            gradient, constant = minorant
            offset = offset + mu * constant
            groups[index, k] = gradient, mu
            for i, slope in zip(group, gradient, strict=True):
                multiplier_sums[i] = multiplier_sums[i] + mu * slope
        offset = offset + node.arguments.add_pullback(multiplier_sums, slopes)
    size = sum((abs(multiplier) for multiplier in (*multipliers, *equality_multipliers)), ZERO)
    return AffineMinorant(slopes[: problem.n], offset, size, groups)
