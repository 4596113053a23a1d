"""The lower bound: multipliers and tangents propagated to slopes of x, and the minimum of the minorant over a box.

Let lambda >= 0, nu free and Z_k = B_k B_k^T. For feasible x, the objective is not below the Lagrangian. The Lagrangian
is not below the affine function that results if every atom, from the last to the first, is replaced by a minorant. The
signs that this needs, a multiplier >= 0 at a convex atom and <= 0 at a concave one, are tested in balls. B B^T is
positive semidefinite whatever B is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.balls import (
    ONE,
    ZERO,
    Ball,
    ball,
    balls,
    has_exact_rank,
    pivots,
    round_down,
    solve,
    weighted_sum,
)
from boostopt.problem_certificates.arithmetic.forms import Row, combination
from boostopt.problem_certificates.atoms.base import Tangents
from boostopt.problem_certificates.atoms.spectral import gram_matrix
from boostopt.problem_certificates.bounds.propagation import Propagation
from boostopt.problem_certificates.reading import AtomNode, ReadProblem

MAX_ELIMINATED = 400
"""Maximum number of slopes that are made exactly 0 by a linear system in balls."""


MAX_ELIMINATIONS = 6
"""Maximum number of linear systems for one minorant, each with the slopes that the one before it opened."""

MAX_RATIONALS = 20_000
"""Maximum number of coefficients whose rank is computed over the rationals."""


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
class QuadraticTangent:
    """The tangent point v of a quadratic atom: every other v proves a bound as well (theorem P2).

    Its minorant, times the multiplier, is mu (2 <S v, u> - vᵀ Q v) for the arguments u = A x + b.

    Attributes
    ----------
    multiplier
        mu.
    rows, offsets
        A and b.
    point
        v.
    form
        S in C order; None for the identity.
    scale
        Q is this number times S.
    """

    multiplier: Ball
    rows: Sequence[Row]
    offsets: Sequence[Ball]
    point: Sequence[Ball]
    form: Sequence[Ball] | None = None
    scale: Ball = field(default_factory=lambda: ONE)  # balls of older python-flint are mutable for dataclasses

    def shift(self, i: int) -> tuple[Row, Ball]:
        """Return the change of slopes and offset by a unit change of v_i, without the part of second order."""
        column = self._column(i)
        row, offset = combination((2 * self.multiplier * S, self.rows[j], self.offsets[j]) for j, S in column)
        product = weighted_sum([S for _, S in column], [self.point[j] for j, _ in column])
        return row, offset - 2 * self.multiplier * self.scale * product

    def curvature(self, changes: Mapping[int, Ball]) -> Ball:
        """Return what changes of v lower the offset by, to second order."""
        total = ZERO
        for i, change in changes.items():
            for j, S in self._column(i):
                total = total + change * S * changes.get(j, ZERO)
        return self.multiplier * self.scale * total

    def _column(self, i: int) -> list[tuple[int, Ball]]:
        """Return the positions and entries of column i of S."""
        n = len(self.point)
        return [(i, ONE)] if self.form is None else [(j, self.form[j * n + i]) for j in range(n)]


@dataclass(frozen=True)
class FreeNumber:
    """A number whose change makes slopes 0: a multiplier of an affine constraint, or an entry of a tangent point.

    Attributes
    ----------
    row, offset
        The change of slopes and offset by a unit change.
    multiplier
        The multiplier of an inequality, which must stay non-negative; inf for what may have any sign.
    tangent
        The tangent with this entry; None for a constraint.
    position
        The position of the entry.
    """

    row: Row
    offset: Ball
    multiplier: float = math.inf
    tangent: QuadraticTangent | None = None
    position: int = 0


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
    quadratic_tangents
        Returns the tangents of quadratic atoms with affine arguments.
    """

    slopes: list[Ball]
    offset: Ball
    multiplier_size: Ball
    quadratic_tangents: Callable[[], Sequence[QuadraticTangent]] = tuple


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
    pending = list[tuple[AtomNode, Tangents, int, Ball]]()
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
                if node.function.needs_bounds
                else [(-math.inf, math.inf)] * len(group)
            )
            gradient, constant = node.function.minorant(tangents, k, ranges)
            offset = offset + mu * constant
            pending.append((node, tangents, k, mu))
            for i, slope in zip(group, gradient, strict=True):
                multiplier_sums[i] = multiplier_sums[i] + mu * slope
        offset = offset + node.arguments.add_pullback(multiplier_sums, slopes)
    size = sum((abs(multiplier) for multiplier in (*multipliers, *equality_multipliers)), ZERO)

    def quadratic_tangents() -> list[QuadraticTangent]:
        tangents = (quadratic_tangent(*group, problem.n) for group in pending)
        return [tangent for tangent in tangents if tangent is not None]

    return AffineMinorant(slopes[: problem.n], offset, size, quadratic_tangents)


def quadratic_tangent(node: AtomNode, tangents: Tangents, k: int, mu: Ball, n: int) -> QuadraticTangent | None:
    """Return the tangent of group k of an atom; None if it is not quadratic, or its arguments are not affine in x."""
    quadratic, group = node.function.quadratic_minorant(tangents, k), node.members[k].tolist()
    if quadratic is None or any(node.arguments.rows[i] and max(node.arguments.rows[i]) >= n for i in group):
        return None
    rows, offsets = ([values[i] for i in group] for values in (node.arguments.rows, node.arguments.offsets))
    if not quadratic.has_scale:
        return QuadraticTangent(mu, rows, offsets, quadratic.point, quadratic.form)
    if rows[-1]:  # the scale is no constant
        return None
    return QuadraticTangent(mu, rows[:-1], offsets[:-1], quadratic.point, quadratic.form, offsets[-1])


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
    entries, eliminated = open_entries(minorant, bounds.box), set[int]()
    for count in range(MAX_ELIMINATIONS if entries else 0):
        if count > 0:
            minorant = affine_minorant(problem, choice, bounds)
            is_open = ~(np.isfinite(lower) & np.isfinite(upper))
            entries += [j for j in np.flatnonzero(is_open).tolist() if minorant.slopes[j] == 0 and j not in entries]
        zeros = eliminate(problem, choice, minorant, entries)
        if zeros is None:
            return -math.inf
        eliminated = zeros
        # The changes of multipliers may open entries, mostly of slopes that were exactly 0: these must stay 0 as well.
        further = [j for j in open_entries(minorant, bounds.box) if j not in entries]
        if not further:
            break
        entries += further
    total = minorant.offset
    total = minorant.offset
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


def open_entries(minorant: AffineMinorant, box: tuple[Array, Array]) -> list[int]:
    """Return the entries of x whose slopes may point to an infinite side of a box."""
    lower, upper = box
    return [
        j
        for j, slope in enumerate(minorant.slopes)
        if not slope == 0
        and ((not math.isfinite(lower[j]) and not slope < 0) or (not math.isfinite(upper[j]) and not slope > 0))
    ]


def eliminate(
    problem: ReadProblem, choice: Choice, minorant: AffineMinorant, entries: Sequence[int]
) -> set[int] | None:
    """Make slopes exactly 0, in place, by changes of multipliers and tangents; return the entries that are proved 0.

    The result is None if no changes are proved. Other slopes are changed too, and are balls as before.

    The changes are the ball solution of a square linear system. The numbers that it contains and that make the slopes 0
    must be non-negative for inequalities. Every tangent point of a quadratic atom is one. The other slopes are 0
    if their balls are. Or all slopes are combinations of the rows of the problem: if these have no larger rank than the
    system, its solution makes all slopes 0.
    """
    n = problem.n
    if len(entries) > MAX_ELIMINATED:
        return None
    candidates, tangents = list[FreeNumber](), minorant.quadratic_tangents()
    for row, offset in zip(problem.equalities.rows.rows, problem.equalities.rows.offsets, strict=True):
        if row and max(row) < n:
            candidates.append(FreeNumber(row, offset))
    for row, offset, multiplier in zip(
        problem.inequalities.rows.rows, problem.inequalities.rows.offsets, choice.inequality.tolist(), strict=True
    ):
        if row and max(row) < n and multiplier > 0:
            candidates.append(FreeNumber(row, offset, multiplier))
    for tangent in tangents:
        for i in range(len(tangent.point)):
            row, offset = tangent.shift(i)
            if row:
                candidates.append(FreeNumber(row, offset, tangent=tangent, position=i))
    if not candidates:
        return None
    coefficients = np.array([[float(number.row.get(j, ZERO).mid()) for number in candidates] for j in entries])
    # Columns of inequalities count by their multipliers, those of tangents by their direction alone.
    column_sizes = np.maximum(np.abs(coefficients).max(axis=0), 1e-300)
    scales = [
        (1.0 if math.isinf(number.multiplier) else number.multiplier) if number.tangent is None else 1 / column_size
        for number, column_size in zip(candidates, column_sizes.tolist(), strict=True)
    ]
    sizes, order = pivots(coefficients * np.array(scales))
    rank = int(np.sum(sizes >= 1e-13 * max(float(sizes[0]), 1e-300)))
    if rank == 0:
        return None
    basis = [candidates[i] for i in order[:rank].tolist()]
    _, entry_order = pivots((coefficients * np.array(scales))[:, order[:rank]].T)
    independent = [entries[i] for i in entry_order[:rank].tolist()]
    system = [number.row.get(j, ZERO) for j in independent for number in basis]
    solution = solve(system, [-minorant.slopes[j] for j in independent])
    if solution is None:
        return None
    for number, change in zip(basis, solution, strict=True):
        if math.isfinite(number.multiplier) and not ball(number.multiplier) + change >= 0:
            return None
    changes_of_points: dict[int, dict[int, Ball]] = {}
    for number, change in zip(basis, solution, strict=True):
        minorant.offset = minorant.offset + change * number.offset
        for j, value in number.row.items():
            minorant.slopes[j] = minorant.slopes[j] + change * value
        if number.tangent is None:
            minorant.multiplier_size = minorant.multiplier_size + abs(change)
        else:
            changes_of_points.setdefault(id(number.tangent), {})[number.position] = change
    for tangent in tangents:
        minorant.offset = minorant.offset - tangent.curvature(changes_of_points.get(id(tangent), {}))
    dependent = set(entries) - set(independent)
    zeros = {j for j in dependent if minorant.slopes[j] == 0}
    if zeros == dependent or (choice.linear is None and has_rank(problem, choice, entries, rank)):
        return set(entries)
    return zeros | set(independent)


def has_rank(problem: ReadProblem, choice: Choice, entries: Sequence[int], rank: int) -> bool:
    """Return whether some entries of x have a rank in all rows that slopes combine, proved over the rationals."""
    blocks = [problem.objective.rows, problem.inequalities.rows.rows, problem.equalities.rows.rows]
    blocks += [constraint.rows.rows for constraint in problem.matrices]
    blocks += [slope_rows(node, tangents) for node, tangents in zip(problem.nodes, choice.tangents, strict=True)]
    rows = [[row.get(j, ZERO) for j in entries] for block in blocks for row in block]
    return len(rows) * len(entries) <= MAX_RATIONALS and has_exact_rank(rows, rank)


def slope_rows(node: AtomNode, tangents: Tangents) -> Sequence[Row]:
    """Return rows whose combinations are the slopes that an atom adds.

    These are the rows A of its arguments, or S A if all its minorants are 2 <S v, A x> plus a constant.
    """
    groups = node.members.tolist()
    quadratics = [node.function.quadratic_minorant(tangents, k) for k in range(len(groups))]
    rows = list[Row]()
    for quadratic, group in zip(quadratics, groups, strict=True):
        if quadratic is None or quadratic.form is None:
            return node.arguments.rows
        n = len(group)
        arguments = [node.arguments.rows[i] for i in group]
        for i in range(n):
            line = quadratic.form[i * n : (i + 1) * n]
            rows.append(combination((S, row, ZERO) for S, row in zip(line, arguments, strict=True))[0])
    return rows
