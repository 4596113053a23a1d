"""The lower bound of a choice: the minimum of its minorant over a box, where slopes without a bound are exactly 0.

Floats leave slopes that are only nearly 0. They are made 0 by changes of multipliers and of the slopes of atoms, which
are the ball solution of a square linear system (theorem P7). Slopes at the boundary of the set of all slopes of an
atom first move inside, by so little that it costs nothing, so that they can change in all directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.affine_forms import Row, combination
from boostopt.problem_certificates.arithmetic.balls import (
    ONE,
    ZERO,
    Ball,
    ball,
    float_ends,
    has_exact_rank,
    midpoints,
    pivots,
    round_down,
    solve,
    solve_in_fractions,
)
from boostopt.problem_certificates.arithmetic.enclosed_sums import total_ball
from boostopt.problem_certificates.arithmetic.sparse_float_forms import scaled_enclosure
from boostopt.problem_certificates.atoms.base import MinorantFamily, unit_rows
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.minorants.lagrangian_minorant import (
    AffineMinorant,
    Choice,
    Correction,
    WrongSign,
    affine_minorant,
    float_minorant,
)
from boostopt.problem_certificates.minorants.sparse_slope_corrections import (
    FreeNumber,
    family_numbers,
    sparse_slope_changes,
)
from boostopt.problem_certificates.problem_reader import ReadProblem

MIN_SPARSE_SLOPES = 100
"""Number of slopes from which they are made exactly 0 by a sparse system in floats, if this is proved."""

MAX_ELIMINATED = 400
"""Maximum number of slopes that are made exactly 0 by a linear system in balls."""

MAX_FRACTIONS = 60
"""Maximum number of slopes that are made exactly 0 by a linear system in fractions."""

MARGINS = (1e-12, 1e-7)
"""Relative distances by which slopes of atoms move into their sets, such that they can change in all directions."""

SLOPE_FACTOR = 10.0
"""Multiple of the largest of many slopes to which multipliers of inequalities are raised, up to the last distance."""

MAX_SMALL_SLOPE = 1e-5
"""Maximum slope, relative to the multipliers, for which more than the first of these distances is tried."""

SMALL_MULTIPLIER = 1e-6
"""Multiplier of an inequality, relative to the largest one, that may be noise of the solver."""

MAX_ROUNDS = 6
"""Maximum number of systems, if slopes that were taken by bounds of x change their sign."""

MIN_PIVOT = 1e-13
"""Size of a pivot, relative to the largest, from which a number counts as independent of others."""

MAX_RATIONALS = 20_000
"""Maximum number of coefficients whose rank is computed over the rationals."""


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
    if problem.is_large:
        bound = _float_bound(problem, choice, bounds, right_side_change)
        if bound is not None:
            return bound
    minorant, eliminated = affine_minorant(problem, choice, bounds), set[int]()
    open_entries = _open_entries(minorant, bounds)
    if open_entries:
        exact = _exact_minorant(problem, choice, bounds, minorant, open_entries)
        if exact is None and (sparse_choice := _without_small_multipliers(choice)) is not choice:
            minorant = affine_minorant(problem, sparse_choice, bounds)
            entries = _open_entries(minorant, bounds)
            exact = _exact_minorant(problem, sparse_choice, bounds, minorant, entries) if entries else (minorant, set())
        if exact is None:
            return -math.inf
        minorant, eliminated = exact
    lower, upper = bounds.box
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


def _float_bound(problem: ReadProblem, choice: Choice, bounds: Propagation, right_side_change: float) -> float | None:
    """Return the bound of a large problem from floats with radii; None if balls must decide.

    Balls must decide where a sign is not proved, or a slope without a bound is not exactly 0.
    """
    minorant = float_minorant(problem, choice, bounds)
    if minorant is None:
        return None
    mids, radii = minorant.slopes
    lower, upper = bounds.box
    is_active = (mids != 0) | (radii != 0)
    is_positive, is_negative = mids > radii, -mids > radii
    is_open = ~np.isfinite(lower) & ~is_negative | ~np.isfinite(upper) & ~is_positive
    if (is_active & is_open).any():
        return None
    mids, radii, is_positive, is_negative = (part[is_active] for part in (mids, radii, is_positive, is_negative))
    zeros = np.zeros(len(mids))
    ends = [
        float_ends(scaled_enclosure((np.where(is_excluded, 0.0, side[is_active]), zeros), (mids, radii)))[0]
        for side, is_excluded in ((lower, is_negative), (upper, is_positive))
    ]
    minima = np.where(is_positive, ends[0], np.where(is_negative, ends[1], np.minimum(*ends)))
    total = minorant.offset + total_ball((minima, zeros)) - ball(right_side_change) * minorant.multiplier_size
    return round_down(total) if total.is_finite() else None


def _open_entries(minorant: AffineMinorant, bounds: Propagation) -> list[int]:
    """Return the entries of x whose slope may be one without a bound that takes it."""
    lower, upper = bounds.box
    return [
        j
        for j, slope in enumerate(minorant.slopes)
        if not slope == 0
        and ((not math.isfinite(lower[j]) and not slope < 0) or (not math.isfinite(upper[j]) and not slope > 0))
    ]


def _zero_entries(minorant: AffineMinorant, bounds: Propagation) -> set[int]:
    """Return the entries of x that have no bound on one side, and the slope 0."""
    lower, upper = bounds.box
    is_open = ~(np.isfinite(lower) & np.isfinite(upper))
    return {j for j in np.flatnonzero(is_open).tolist() if minorant.slopes[j] == 0}


def _without_small_multipliers(choice: Choice) -> Choice:
    """Return a choice without multipliers of inequalities that are noise; the same choice if there are none.

    An inequality without a multiplier adds no slopes that must be 0.
    """
    limit = SMALL_MULTIPLIER * max(choice.objective_weight, float(choice.inequality.max(initial=0.0)))
    is_small = (choice.inequality > 0) & (choice.inequality <= limit)
    return replace(choice, inequality=np.where(is_small, 0.0, choice.inequality)) if is_small.any() else choice


def _with_larger_multipliers(problem: ReadProblem, choice: Choice, margin: float, slope_size: float) -> Choice:
    """Return a choice whose multipliers of affine inequalities are at least a fraction of the largest.

    So these can change by about the size of the slopes, also where the solver left none.
    """
    size = max(choice.objective_weight, float(choice.inequality.max(initial=0.0)))
    limit = max(margin * size, min(SLOPE_FACTOR * slope_size, MARGINS[-1] * size))
    is_value = np.arange(problem.n_values) >= problem.n
    is_raised = ~problem.inequalities.rows.depends_on(is_value) | (choice.inequality > 0)
    return replace(choice, inequality=np.where(is_raised, np.maximum(choice.inequality, limit), choice.inequality))


def _exact_minorant(
    problem: ReadProblem, choice: Choice, bounds: Propagation, minorant: AffineMinorant, entries: Sequence[int]
) -> tuple[AffineMinorant, set[int]] | None:
    """Return a minorant near that of a choice whose open slopes are 0, and the entries with these; None without one."""
    slope_size = float(np.abs(midpoints(minorant.slopes[j] for j in entries)).max())
    multipliers = [abs(choice.objective_weight), *choice.inequality.tolist(), *np.abs(choice.equality).tolist()]
    is_small = slope_size <= MAX_SMALL_SLOPE * max(multipliers)
    is_sparse = len(entries) >= MIN_SPARSE_SLOPES
    margins: list[float | None] = [*(MARGINS if is_small else MARGINS[:1])]
    for margin in [*margins, None] if len(entries) <= MAX_FRACTIONS else margins:
        try:
            raised = _with_larger_multipliers(problem, choice, margin or 0.0, slope_size) if is_sparse else choice
            system = SlopeSystem(problem, raised, bounds, minorant, margin)
            selected = set(entries)
            if is_sparse:  # they change, too, and a system costs more than a few rows of it
                selected |= _zero_entries(system.base, bounds)
            for _ in range(MAX_ROUNDS):
                selected |= set(_open_entries(system.base, bounds))
                solution = system.solution(sorted(selected))
                if solution is None:
                    break
                result, zeros = solution
                rest = set(_open_entries(result, bounds)) - zeros
                if not rest:
                    return solution
                if rest <= selected:
                    break
                # Slopes that were exactly 0 without a bound must stay so while further ones are made 0.
                selected |= rest | _zero_entries(system.base, bounds)
        except WrongSign:
            continue
    return None


class SlopeSystem:
    """The linear system for changes of a choice that make slopes of x exactly 0.

    Parameters
    ----------
    problem, choice, bounds
        The problem, the choice and the box.
    minorant
        The minorant of the choice.
    margin
        The relative distance by which slopes of atoms first move into the interior of the set of all slopes. None if
        they stay, and the system is solved in fractions: its solution may lie at the boundary of these sets.

    Attributes
    ----------
    base
        The minorant of the choice after this move.

    Raises
    ------
    WrongSign
        An atom has a multiplier of the wrong sign after the move.
    """

    base: AffineMinorant

    def __init__(
        self, problem: ReadProblem, choice: Choice, bounds: Propagation, minorant: AffineMinorant, margin: float | None
    ) -> None:
        self._problem = problem
        self._choice = choice
        self._bounds = bounds
        self._is_exact = margin is None
        self._families = dict[tuple[int, int], MinorantFamily]()
        for index, k in minorant.groups:
            node = problem.nodes[index]
            is_constant = [not node.arguments.rows[i] for i in node.members[k].tolist()]
            family = node.function.minorant_family(choice.tangents[index], k, ball(margin or 0.0), is_constant)
            if family is not None and all(slope.is_finite() for slope in family.slopes):
                self._families[index, k] = family.with_exact_slopes() if self._is_exact else family
        self.base = affine_minorant(problem, choice, bounds, Correction({}, {}, self._families, {}))
        groups = self.base.groups
        self._pulled_rows = _PulledRows(
            problem, lambda group: [pair for pair in enumerate(groups[group][0]) if not pair[1] == 0]
        )

    def solution(self, entries: Sequence[int]) -> tuple[AffineMinorant, set[int]] | None:
        """Return the minorant after changes that make slopes of entries 0, and the entries for which this is proved.

        The result is None if no changes are proved. The other slopes are balls as before. The balls contain changes
        with these slopes. Results of these balls hold for these changes.

        Raises
        ------
        WrongSign
            A constraint or an atom may have a multiplier of the wrong sign after the changes.
        """
        if len(entries) >= MIN_SPARSE_SLOPES:
            result = self._sparse_solution(entries)
            if result is not None or len(entries) > MAX_ELIMINATED:
                return result
        numbers, coefficients = _free_numbers(self._problem, self._choice, self._families, self.base, entries)
        if not numbers:
            return None
        sizes, order = pivots(coefficients)
        rank = int(np.sum(sizes >= MIN_PIVOT * max(float(sizes[0]), 1e-300)))
        basis = [numbers[i] for i in order[:rank].tolist()]
        _, entry_order = pivots(coefficients[:, order[:rank]].T)
        independent = [entries[i] for i in entry_order[:rank].tolist()]
        columns = [self._row(number) for number in basis]
        matrix = [column.get(j, ZERO) for j in independent for column in columns]
        sides = [-self.base.slopes[j] for j in independent]
        changes = solve_in_fractions(matrix, sides) if self._is_exact else solve(matrix, sides)
        if changes is None or rank == 0:
            return None
        result = affine_minorant(self._problem, self._choice, self._bounds, self._correction(basis, changes))
        if not (result.offset.is_finite() and all(result.slopes[j].contains(0) for j in independent)):
            return None
        dependent = set(entries) - set(independent)
        zeros = {j for j in dependent if result.slopes[j] == 0}
        if zeros != dependent and all(result.slopes[j].contains(0) for j in dependent):
            has_all = self._choice.linear is None and has_rank(
                self._problem, self._choice, result, self._families, entries, rank
            )
            zeros = dependent if has_all else zeros
        return result, zeros | set(independent)

    def _sparse_solution(self, entries: Sequence[int]) -> tuple[AffineMinorant, set[int]] | None:
        """Return the same by a sparse system; None if this proves no changes."""
        proposal = sparse_slope_changes(self._problem, self._choice, self._families, self.base, entries)
        if proposal is None:
            return None
        correction = self._correction(proposal.numbers, proposal.changes)
        result = affine_minorant(self._problem, self._choice, self._bounds, correction)
        is_proved = result.offset.is_finite() and all(result.slopes[j].contains(0) for j in entries)
        return (result, proposal.zeros) if is_proved else None

    def _row(self, number: FreeNumber) -> Row:
        """Return the changes of the slopes of x by a unit change of a number."""
        if number.kind == "family":
            column = self._families[number.group].directions[number.position]
            return self._pulled_rows.of_arguments(number.group, column)
        constraints = self._problem.inequalities if number.kind == "inequality" else self._problem.equalities
        return self._pulled_rows.over_x(constraints.rows.rows[number.position])

    def _correction(self, basis: Sequence[FreeNumber], values: Sequence[Ball]) -> Correction:
        """Return the correction by changes of numbers."""
        result = Correction({}, {}, self._families, {})
        for number, change in zip(basis, values, strict=True):
            if number.kind == "family":
                size = len(self._families[number.group].directions)
                result.changes.setdefault(number.group, [ZERO] * size)[number.position] = change
            else:
                (result.equality if number.kind == "equality" else result.inequality)[number.position] = change
        return result


def _free_numbers(
    problem: ReadProblem,
    choice: Choice,
    families: Mapping[tuple[int, int], MinorantFamily],
    minorant: AffineMinorant,
    entries: Sequence[int],
) -> tuple[list[FreeNumber], Float[Array, "q r"]]:
    """Return the numbers that change slopes of x, and how some slopes change if each changes by its size, in floats."""
    numbers, blocks = list[FreeNumber](), list[Array]()
    values = np.zeros((problem.n_values, len(entries)))
    values[entries, np.arange(len(entries))] = 1.0
    is_active = np.zeros(problem.n_values, dtype=bool)
    is_active[: problem.n] = True
    for index, node in enumerate(problem.nodes):
        arguments = node.arguments.float_product(values)
        is_free = ~node.arguments.depends_on(~is_active)
        for k, group in enumerate(node.members.tolist()):
            if (index, k) not in minorant.groups:
                continue
            gradient, mu = minorant.groups[index, k]
            values[node.start + k] = midpoints(gradient) @ arguments[group]
            is_active[node.start + k] = True
            family = families.get((index, k))
            if family is None:
                continue
            for number, places, weights in family_numbers(family, mu, (index, k), group, is_free):
                numbers.append(number)
                blocks.append(midpoints(weights) @ arguments[places])
    for kind, rows, multipliers in (
        ("inequality", problem.inequalities.rows, choice.inequality),
        ("equality", problem.equalities.rows, np.full(len(choice.equality), np.inf)),
    ):
        changes = rows.float_product(values)
        for i in np.flatnonzero(~rows.depends_on(~is_active) & (multipliers > 0)).tolist():
            numbers.append(FreeNumber(kind, float(multipliers[i]) if kind == "inequality" else 1.0, i))
            blocks.append(changes[i])
    with np.errstate(all="ignore"):
        columns = [block * number.size for block, number in zip(blocks, numbers, strict=True)]
    useful = [i for i, column in enumerate(columns) if column.any() and np.isfinite(column).all()]
    return [numbers[i] for i in useful], np.array([columns[i] for i in useful]).reshape(-1, len(entries)).T


class _PulledRows:
    """Rows over all unknowns as rows over x: each value of an atom counts by slopes of its arguments.

    Parameters
    ----------
    problem
        The problem.
    slopes
        The function of the positions of an atom and of a group that returns slopes, by position and value.
    """

    def __init__(self, problem: ReadProblem, slopes: Callable[[tuple[int, int]], Iterable[tuple[int, Ball]]]) -> None:
        self._problem = problem
        self._slopes = slopes
        self._value_rows: dict[int, Row] = {}

    def over_x(self, row: Row) -> Row:
        """Return a row over x."""
        n = self._problem.n
        if not row or max(row) < n:
            return row
        return combination((value, {k: ONE} if k < n else self._value_row(k), ZERO) for k, value in row.items())[0]

    def of_arguments(self, group: tuple[int, int], weights: Iterable[tuple[int, Ball]]) -> Row:
        """Return a combination of the arguments of a group of an atom as a row over x."""
        index, k = group
        node = self._problem.nodes[index]
        members = node.members[k].tolist()
        terms = ((weight, self.over_x(node.arguments.rows[members[i]]), ZERO) for i, weight in weights)
        return combination(terms)[0]

    def _value_row(self, z: int) -> Row:
        """Return the row over x of a value of an atom."""
        if z not in self._value_rows:
            group = self._problem.group_of(z)
            self._value_rows[z] = self.of_arguments(group, self._slopes(group))
        return self._value_rows[z]


def has_rank(
    problem: ReadProblem,
    choice: Choice,
    minorant: AffineMinorant,
    families: Mapping[tuple[int, int], MinorantFamily],
    entries: Sequence[int],
    rank: int,
) -> bool:
    """Return whether some entries of x have a rank in all rows that slopes combine, proved over the rationals.

    The slopes of an atom are combinations of the directions of its family, and the origin, which counts in the rows
    that contain its value. Those of an atom without a family are any combinations of its arguments. Rows and atoms
    with the multiplier 0 do not count.
    """
    active = np.flatnonzero(choice.inequality > 0).tolist()
    constraints = [problem.equalities.rows, *(constraint.rows for constraint in problem.matrices)]
    constraints += [problem.objective] if choice.objective_weight != 0 else []
    n_rows = len(active) + sum(len(block) for block in constraints)
    n_rows += sum(len(gradient) for gradient, _ in minorant.groups.values())
    if n_rows * len(entries) > MAX_RATIONALS:
        return False
    pulled_rows = _PulledRows(problem, lambda group: families[group].origin if group in families else ())
    rows = [pulled_rows.over_x(row) for block in constraints for row in block.rows]
    rows += [pulled_rows.over_x(problem.inequalities.rows.rows[i]) for i in active]
    for group, (gradient, _) in minorant.groups.items():
        columns = families[group].directions if group in families else unit_rows(len(gradient))
        rows += [pulled_rows.of_arguments(group, column) for column in columns]
    return has_exact_rank([[row.get(j, ZERO) for j in entries] for row in rows], rank)
