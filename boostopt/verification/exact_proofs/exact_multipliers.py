"""Multipliers in floating point, moved to fractions with which all slopes that must be 0 are exactly 0.

A choice of `problem_certificates` proposes multipliers, and slopes of each atom for the multiplier 1. The unknowns of
a linear system are changes of the multipliers, and changes of the slopes along which the bound of an atom stays finite:
along the face of a polyhedron, or tangent to a curved boundary, from which the slope is first moved inward by `inset`.
A square part of this system is solved in fractions. Nothing here is believed: the checker decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.exact.rationals import to_fmpq, to_fraction
from boostopt.problem_certificates.arithmetic.balls import pivots
from boostopt.problem_certificates.atoms.matrix_functions import TraceOfInverse
from boostopt.problem_certificates.minorants.lagrangian_minorant import Choice
from boostopt.problem_certificates.minorants.stationary_multipliers import float_pullback
from boostopt.problem_certificates.problem_reader import ReadProblem
from boostopt.verification.exact_proofs.exact_slopes import (
    ZERO,
    GroupSlopes,
    group_slopes,
    has_inset,
    symmetric_directions,
)
from boostopt.verification.problem_kernel.atoms import QuadraticForm
from boostopt.verification.problem_kernel.problem_checker import add_rows
from boostopt.verification.problem_kernel.problem_schema import AtomNode, Multipliers, Problem

MAX_SYSTEM = 4_000_000
"""Largest number of entries of the linear system."""

RANK_TOL = 1e-11
"""Size of a pivot, relative to the largest, from which it counts."""


def exact_multipliers(
    read: ReadProblem, problem: Problem, choice: Choice, x: Float[Array, " n"], inset: float, is_snapped: bool
) -> Multipliers | None:
    """Return fractions near a choice with which the slopes of x are 0 where they must be; None if none were found.

    Parameters
    ----------
    read
        The problem that the choice is of.
    problem
        The same problem, as the checker reads it.
    choice
        Multipliers and tangents.
    x
        A point that is nearly optimal: it decides which bounds of x take slopes, and which multipliers are 0.
    inset
        The distance by which slopes and matrices are moved inward, relative to their size.
    is_snapped
        Whether multipliers of inequalities with more slack than multiplier become 0, and slopes next to the ends of
        their range these ends.
    """
    if not all(np.isfinite(values).all() for values in (choice.inequality, choice.equality, *choice.factors)):
        return None
    _, mus, _ = float_pullback(read, choice)
    groups = list[list[GroupSlopes]]()
    for node, source, tangents, mu in zip(problem.nodes, read.nodes, choice.tangents, mus, strict=True):
        slopes = np.asarray(source.function.slopes(tangents), dtype=float)
        if isinstance(node.atom, QuadraticForm):
            slopes = np.asarray(tangents.parameters, dtype=float)
        elif isinstance(source.function, TraceOfInverse):  # the fraction of the identity and the matrix
            slopes = np.hstack([2 * np.asarray(tangents.parameters, dtype=float), slopes])
        if not (np.isfinite(slopes).all() and np.isfinite(mu).all()):
            return None
        size = len(node.members[0]) if node.members else 0
        groups.append([group_slopes(node.atom, row, inset, is_snapped) for row in slopes[:, :size].tolist()])
    inequalities = np.maximum(choice.inequality, 0.0)
    if is_snapped and len(inequalities):
        z = np.array([float(value.mid()) for value in read.evaluate([flint.arb(value) for value in x.tolist()])])
        slacks = -read.inequalities.rows.float_values(np.nan_to_num(z, posinf=0.0, neginf=0.0))
        inequalities = np.where(inequalities > slacks, inequalities, 0.0)
    system = LinearSystem(
        problem, groups, choice.objective_weight, inequalities, choice.equality, choice.factors, inset
    )
    return system.solve(x)


class LinearSystem:
    """The linear system for changes of multipliers and slopes."""

    def __init__(
        self,
        problem: Problem,
        groups: Sequence[Sequence[GroupSlopes]],
        weight: float,
        inequalities: Array,
        equalities: Array,
        factors: Sequence[Array],
        inset: float,
    ) -> None:
        self.problem = problem
        self.groups = groups
        self.objective: Fraction = Fraction(weight)
        self.inequalities: list[Fraction] = [Fraction(value) for value in inequalities.tolist()]
        self.equalities: list[Fraction] = [Fraction(value) for value in equalities.tolist()]
        self.matrices: list[list[Fraction]] = [_semidefinite_matrix(factor, inset) for factor in factors]
        self.changes: list[list[dict[int, Fraction]]] = [[{} for _ in node.members] for node in problem.nodes]
        self._unknowns = list[tuple[float, Any, dict[int, Fraction]]]()

    def solve(self, x: Float[Array, " n"]) -> Multipliers | None:
        """Return multipliers with the slopes that must be 0 exactly 0; None if the system has no such solution."""
        totals = self._totals()
        places = self._zero_places(totals, x)
        if places:
            self._collect_unknowns(totals)
            unknowns = self._unknowns
            if len(unknowns) * len(places) > MAX_SYSTEM:
                return None
            columns = [{k: value for k, value in column.items() if k < self.problem.n} for _, _, column in unknowns]
            changes = solve_near(columns, {k: -totals[k] for k in places}, [weight for weight, _, _ in unknowns])
            if changes is None:
                return None
            for i, change in changes.items():
                unknowns[i][1](change)
        return self.multipliers()

    def _zero_places(self, totals: Sequence[Fraction], x: Float[Array, " n"]) -> list[int]:
        """Return the entries of x whose slope must be 0."""
        result = list[int]()
        for k, (lower, upper) in enumerate(zip(self.problem.lower, self.problem.upper, strict=True)):
            slope = float(totals[k])
            if lower is not None and upper is not None:
                continue
            if lower is None and upper is None:
                result.append(k)
            elif lower is not None and not slope > max(float(x[k]) - float(lower), 0.0):
                result.append(k)
            elif upper is not None and not -slope > max(float(upper) - float(x[k]), 0.0):
                result.append(k)
        return result

    def _totals(self) -> list[Fraction]:
        """Return the slopes of all unknowns."""
        problem = self.problem
        totals = [ZERO] * problem.n_unknowns
        add_rows(problem.objective, [problem.sign * self.objective], totals)
        add_rows(problem.inequalities, self.inequalities, totals)
        add_rows(problem.equalities, self.equalities, totals)
        for (_, entries), Z in zip(problem.matrices, self.matrices, strict=True):
            add_rows(entries, [-value for value in Z], totals)
        self._pull_back(totals)
        return totals

    def _pull_back(self, totals: list[Fraction]) -> None:
        """Add what the values of atoms give to their arguments, in place."""
        for index in reversed(range(len(self.problem.nodes))):
            node = self.problem.nodes[index]
            sums = [ZERO] * len(node.arguments)
            for k, group in enumerate(node.members):
                numbers = self._numbers(index, k, totals[node.start + k])
                if any(numbers):
                    for i, slope in zip(group, node.atom.slopes(numbers), strict=True):
                        sums[i] += slope
            add_rows(node.arguments, sums, totals)

    def _numbers(self, index: int, k: int, mu: Fraction) -> list[Fraction]:
        """Return the numbers of a group for a multiplier, with changes."""
        factor = abs(mu) if isinstance(self.problem.nodes[index].atom, QuadraticForm) else mu
        numbers = [factor * value if mu else ZERO for value in self.groups[index][k].numbers]
        for i, change in self.changes[index][k].items():
            numbers[i] += change
        return numbers

    def _collect_unknowns(self, totals: Sequence[Fraction]) -> None:
        """Collect the changes that are allowed: how far they may go, what makes them, and the slopes they give."""
        problem = self.problem
        for rows, numbers, has_sign in (
            (problem.inequalities, self.inequalities, True),
            (problem.equalities, self.equalities, False),
        ):
            for i, value in enumerate(numbers):
                if value > 0 or not has_sign:
                    weight = float(value) if has_sign else max(1.0, abs(float(value)))
                    self._add_unknown(weight, _adder(numbers, i), dict(rows.rows[i]))
        for (size, entries), Z in zip(problem.matrices, self.matrices, strict=True):
            for change, weight in symmetric_directions(Z, size, 0.0):
                column = combined([(-value, entries.rows[i]) for i, value in change.items()])
                self._add_unknown(weight, _matrix_adder(Z, change), column)
        for index, node in enumerate(problem.nodes):
            for k, group in enumerate(node.members):
                size = abs(float(totals[node.start + k]))
                for change, weight in self.groups[index][k].directions if size > 0 else ():
                    column = _argument_column(node, group, change)
                    self._add_unknown(weight * size, _change_adder(self.changes[index][k], change), column)

    def _add_unknown(self, weight: float, add: Any, column: dict[int, Fraction]) -> None:
        """Add an unknown whose slopes in values of atoms are pulled back to x."""
        if weight > 0 and column:
            if max(column) >= self.problem.n:
                totals = [ZERO] * self.problem.n_unknowns
                for k, value in column.items():
                    totals[k] = value
                self._pull_back_column(totals)
                column = {k: value for k, value in enumerate(totals[: self.problem.n]) if value}
            self._unknowns.append((weight, add, column))

    def _pull_back_column(self, totals: list[Fraction]) -> None:
        """Pull back the slopes of an unknown: what is proportional to multipliers, of their signs now."""
        for index in reversed(range(len(self.problem.nodes))):
            node = self.problem.nodes[index]
            for k, group in enumerate(node.members):
                mu = totals[node.start + k]
                if mu:
                    factor = mu * node.atom.sign if isinstance(node.atom, QuadraticForm) else mu
                    numbers = [factor * value for value in self.groups[index][k].numbers]
                    sums = [ZERO] * len(node.arguments)
                    for i, slope in zip(group, node.atom.slopes(numbers), strict=True):
                        sums[i] += slope
                    add_rows(node.arguments, sums, totals)

    def multipliers(self) -> Multipliers:
        """Return the present multipliers and slopes as whole numbers, by their common denominator."""
        totals = self._totals()
        slopes = [
            [value for k in range(len(node.members)) for value in self._numbers(index, k, totals[node.start + k])]
            for index, node in enumerate(self.problem.nodes)
        ]
        return whole_multipliers(self.objective, self.inequalities, self.equalities, self.matrices, slopes)


def whole_multipliers(
    objective: Fraction,
    inequalities: Sequence[Fraction],
    equalities: Sequence[Fraction],
    matrices: Sequence[Sequence[Fraction]],
    slopes: Sequence[Sequence[Fraction]],
) -> Multipliers:
    """Return multipliers and slopes as whole numbers, by their common denominator."""
    lists = [[objective], inequalities, equalities, *matrices, *slopes]
    denominator = math.lcm(*{value.denominator for values in lists for value in values})
    whole_objective, *scaled = ([value * denominator for value in values] for values in lists)
    n_rows = 2 + len(matrices)
    return Multipliers(whole_objective[0], scaled[0], scaled[1], scaled[2:n_rows], scaled[n_rows:])


def solve_near(
    columns: Sequence[Mapping[int, Fraction]], sides: Mapping[int, Fraction], weights: Sequence[float]
) -> dict[int, Fraction] | None:
    """Return multiples of columns whose sum has given entries exactly; None if none were found.

    Parameters
    ----------
    columns
        The entries of each column by their positions.
    sides
        The entries of the sum at some positions. Others do not count.
    weights
        The size of a multiple that is welcome.
    """
    places = list(sides)
    if not any(sides.values()):
        return {}
    if not columns:
        return None
    numbers = {k: i for i, k in enumerate(places)}
    A = np.zeros((len(places), len(columns)))
    for p, column in enumerate(columns):
        for k, value in column.items():
            if k in numbers:
                A[numbers[k], p] = float(value) * weights[p]
    norms = np.abs(A).max(axis=1)
    rows_with_entries = np.flatnonzero(norms > 0)
    if not len(rows_with_entries) or not np.isfinite(A).all():
        return None
    scaled = A[rows_with_entries] / norms[rows_with_entries][:, None]
    sizes, order = pivots(scaled)
    rank = int(np.sum(sizes > RANK_TOL * float(sizes[0])))
    basis = order[:rank].tolist()
    _, row_order = pivots(scaled[:, basis].T)
    rows = [places[rows_with_entries[i]] for i in row_order[:rank].tolist()]
    row_numbers = {k: i for i, k in enumerate(rows)}
    matrix = flint.fmpq_mat(rank, rank)
    for q, p in enumerate(basis):
        for k, value in columns[p].items():
            if k in row_numbers:
                matrix[row_numbers[k], q] = to_fmpq(value)
    try:
        solution = matrix.solve(flint.fmpq_mat(rank, 1, [to_fmpq(sides[k]) for k in rows])).entries()
    except ZeroDivisionError:
        return None
    return {p: to_fraction(value) for p, value in zip(basis, solution, strict=True)}


def combined(terms: Sequence[tuple[Fraction, Mapping[int, Fraction]]]) -> dict[int, Fraction]:
    """Return the sum of weights times rows."""
    result: dict[int, Fraction] = {}
    for weight, row in terms:
        for k, value in row.items():
            result[k] = result.get(k, ZERO) + weight * value
    return {k: value for k, value in result.items() if value}


def _argument_column(node: AtomNode, group: Sequence[int], change: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """Return the slopes that a change of the numbers of a group gives."""
    numbers = [change.get(i, ZERO) for i in range(len(group))]
    slopes = node.atom.slopes(numbers)
    return combined([(slope, node.arguments.rows[i]) for i, slope in zip(group, slopes, strict=True) if slope])


def _semidefinite_matrix(factor: Array, inset: float) -> list[Fraction]:
    """Return B Bᵀ plus a multiple of the identity, in C order."""
    product = factor @ factor.T
    size = Fraction(float(np.abs(product).max(initial=0.0))) * Fraction(inset)
    n = len(product)
    symmetric = (product + product.T) / 2
    return [Fraction(value) + (size if k % (n + 1) == 0 else 0) for k, value in enumerate(symmetric.ravel().tolist())]


def _adder(numbers: list[Fraction], i: int) -> Any:
    """Return the function that adds a change to an entry of a list."""

    def add(change: Fraction) -> None:
        numbers[i] += change

    return add


def _matrix_adder(numbers: list[Fraction], change: Mapping[int, Fraction]) -> Any:
    """Return the function that adds a multiple of a change to a list."""

    def add(multiple: Fraction) -> None:
        for i, value in change.items():
            numbers[i] += multiple * value

    return add


def _change_adder(numbers: dict[int, Fraction], change: Mapping[int, Fraction]) -> Any:
    """Return the function that adds a multiple of a change to numbers by their positions."""

    def add(multiple: Fraction) -> None:
        for i, value in change.items():
            numbers[i] = numbers.get(i, ZERO) + multiple * value

    return add


def proposals(problem: Problem, insets: Sequence[float]) -> Iterator[tuple[float, bool]]:
    """Yield insets with and without snapping; one inset if none moves a slope or a matrix of a problem."""
    is_moved = bool(problem.matrices) or any(has_inset(node.atom) for node in problem.nodes)
    for inset in insets if is_moved else insets[:1]:
        yield inset, True
        yield inset, False
