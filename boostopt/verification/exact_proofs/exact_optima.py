"""Optima that are fractions: the KKT conditions of quadratic and piecewise linear problems, solved exactly.

An approximate answer says which bounds and inequalities are active, which piece of each piecewise function counts, and
which arguments lie on kinks. Then the KKT conditions are linear in the point, the multipliers and the slopes at kinks.
The system is solved in fractions. Nothing here is believed: the checker decides, and the optimum is exact if the bound
of the multipliers equals the objective at the point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from boostopt.verification.exact_proofs.exact_multipliers import solve_near, whole_multipliers
from boostopt.verification.exact_proofs.exact_points import scaled_vector
from boostopt.verification.problem_kernel.atoms import (
    Atom,
    HuberLoss,
    LargestAbsoluteValue,
    LargestEntry,
    Power,
    QuadraticForm,
    SmallestEntry,
    SumOfAbsoluteValues,
    SumOfLargest,
    SumOfSquares,
)
from boostopt.verification.problem_kernel.problem_checker import add_rows, lower_bound, upper_bound
from boostopt.verification.problem_kernel.problem_schema import AtomNode, Multipliers, Problem, Rows, ScaledVector
from boostopt.verification.problem_kernel.rationals_and_balls import is_exact
from boostopt.verification.trusted_kernel.json_parsing import Rejected

TOLS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-9)
"""Distances, relative to 1 plus the sizes of numbers, within which bounds are active and arguments lie on kinks."""

MAX_WORK = 400_000
"""Largest number of unknowns, times the number of coefficients and rows of the problem."""

ZERO, ONE = Fraction(0), Fraction(1)

Parts = tuple[list[Fraction], list[Fraction], list[Fraction], list[Fraction]]
"""x, the multipliers of all inequalities and of equalities, and the slopes at kinks."""


@dataclass(frozen=True)
class FloatAnswer:
    """A nearly optimal answer.

    Attributes
    ----------
    x
        The point.
    inequalities, equalities
        The multipliers of the rows.
    """

    x: Sequence[float]
    inequalities: Sequence[float]
    equalities: Sequence[float]


def exact_optimum(answer: FloatAnswer, problem: Problem) -> tuple[Fraction, Multipliers, ScaledVector] | None:
    """Return the optimum of a problem as a fraction, with multipliers and a point that prove it; None if not found.

    Parameters
    ----------
    answer
        A nearly optimal answer.
    problem
        The problem, as the checker reads it.
    """
    if problem.matrices or not all(_has_rule(node.atom) for node in problem.nodes):
        return None
    tries = list[Pieces]()
    for tol, by_duals in product(TOLS, (True, False)):
        pieces = _pieces_near(answer, problem, tol, by_duals)
        if pieces in tries:
            continue
        tries.append(pieces)
        if pieces.n_unknowns * problem.size > MAX_WORK:
            return None
        solution = pieces.solve()
        if solution is None:
            continue
        multipliers, point = solution
        try:
            value, bound = upper_bound(problem, point), lower_bound(problem, multipliers)
        except Rejected:
            continue
        if is_exact(value) and is_exact(bound) and value * multipliers.objective == bound:
            return Fraction(value), multipliers, point
    return None


def _has_rule(atom: Atom) -> bool:
    """Return whether an atom is quadratic or linear on pieces."""
    return isinstance(atom, PIECEWISE) or (isinstance(atom, Power) and atom.p == 2)


PIECEWISE = (
    HuberLoss,
    LargestAbsoluteValue,
    LargestEntry,
    QuadraticForm,
    SmallestEntry,
    SumOfAbsoluteValues,
    SumOfLargest,
    SumOfSquares,
)
"""Atoms that are quadratic or linear on pieces."""


@dataclass(frozen=True)
class Group:
    """The piece of one group of an atom, and the ties of its arguments.

    Attributes
    ----------
    signs
        The slope of each argument for the multiplier 1 where this is constant; None for a quadratic argument.
    free
        The arguments whose slopes are unknown: those on a kink.
    balance
        The argument whose slope is the rest of a sum; None if slopes have no sum.
    ties
        Linear functions of the arguments that are 0, by their coefficients: one for each unknown slope.
    sides
        The signs with which tied arguments are equal.
    """

    signs: Sequence[Fraction | None]
    free: Sequence[int] = ()
    balance: int | None = None
    ties: Sequence[Mapping[int, Fraction]] = ()
    sides: Sequence[Fraction] = ()


@dataclass(frozen=True)
class Pieces:
    """The active bounds, inequalities and pieces of a problem.

    Attributes
    ----------
    problem
        The problem.
    fixed
        The value of each entry of x that is on a bound.
    active
        The inequalities that hold as equalities.
    groups
        The piece of each group of each atom.
    start
        Values near which the solution is wanted: x, the multipliers of active inequalities and of equalities.
    """

    problem: Problem
    fixed: Mapping[int, Fraction]
    active: Sequence[int]
    groups: Sequence[Sequence[Group]]
    start: Sequence[Fraction]

    @property
    def free(self) -> list[int]:
        """The entries of x that are on no bound."""
        return [k for k in range(self.problem.n) if k not in self.fixed]

    @property
    def n_unknowns(self) -> int:
        """The number of unknowns of the linear system."""
        n_slopes = sum(len(group.free) for groups in self.groups for group in groups)
        return len(self.free) + len(self.active) + len(self.problem.equalities) + n_slopes

    def solve(self) -> tuple[Multipliers, ScaledVector] | None:
        """Return multipliers and a point that solve the KKT conditions of these pieces; None if there are none."""
        zero = [ZERO] * self.n_unknowns
        start = [*self.start, *zero[len(self.start) :]]
        residuals = self._residuals(start)
        columns = list[dict[int, Fraction]]()
        for p in range(self.n_unknowns):
            changed = list(start)
            changed[p] += 1
            pairs = zip(self._residuals(changed), residuals, strict=True)
            columns.append({i: new - old for i, (new, old) in enumerate(pairs) if new != old})
        sides = {i: -value for i, value in enumerate(residuals)}
        changes = solve_near(columns, sides, [1.0] * self.n_unknowns)
        if changes is None:
            return None
        solution = [value + changes.get(p, ZERO) for p, value in enumerate(start)]
        # The system is linear unless a multiplier is the factor of a square: then this is no solution.
        return None if any(self._residuals(solution)) else self._proof(solution)

    def _parts(
        self, unknowns: Sequence[Fraction]
    ) -> tuple[list[Fraction], list[Fraction], list[Fraction], list[Fraction]]:
        """Return x, the multipliers of all inequalities and of equalities, and the slopes at kinks."""
        x = [self.fixed.get(k, ZERO) for k in range(self.problem.n)]
        entries = iter(unknowns)
        for k in self.free:
            x[k] = next(entries)
        inequalities = [ZERO] * len(self.problem.inequalities)
        for i in self.active:
            inequalities[i] = next(entries)
        equalities = [next(entries) for _ in range(len(self.problem.equalities))]
        return x, inequalities, equalities, list(entries)

    def _residuals(self, unknowns: Sequence[Fraction]) -> list[Fraction]:
        """Return what must be 0: slopes of free entries of x, active rows, equalities, and the ties of kinks."""
        problem = self.problem
        x, inequalities, equalities, kinks = self._parts(unknowns)
        arguments, z = self._arguments(x)
        totals, _ = self._slopes(arguments, inequalities, equalities, kinks)
        rows = _row_values(problem.inequalities, z, self.active)
        rows += _row_values(problem.equalities, z, range(len(problem.equalities)))
        ties = [
            sum((value * arguments[index][i] for i, value in tie.items()), ZERO)
            for index, groups in enumerate(self.groups)
            for group, members in zip(groups, problem.nodes[index].members, strict=True)
            for tie in _rows_of_ties(group.ties, members)
        ]
        return [*(totals[k] for k in self.free), *rows, *ties]

    def _arguments(self, x: Sequence[Fraction]) -> tuple[list[list[Fraction]], list[Fraction]]:
        """Return the arguments of all atoms, and all unknowns, where each atom has the value of its piece."""
        z, arguments = list(x), list[list[Fraction]]()
        for node, groups in zip(self.problem.nodes, self.groups, strict=True):
            values = _row_values(node.arguments, z, range(len(node.arguments)))
            arguments.append(values)
            for members, group in zip(node.members, groups, strict=True):
                z.append(_piece_value(node.atom, group, [values[i] for i in members]))
        return arguments, z

    def _slopes(
        self,
        arguments: Sequence[Sequence[Fraction]],
        inequalities: Sequence[Fraction],
        equalities: Sequence[Fraction],
        kinks: Sequence[Fraction],
    ) -> tuple[list[Fraction], list[list[Fraction]]]:
        """Return the slopes of all unknowns, and the numbers of each atom as a file has them."""
        problem = self.problem
        totals = [ZERO] * problem.n_unknowns
        add_rows(problem.objective, [Fraction(problem.sign)], totals)
        add_rows(problem.inequalities, inequalities, totals)
        add_rows(problem.equalities, equalities, totals)
        numbers: list[list[Fraction]] = [[] for _ in problem.nodes]
        counts = [[len(group.free) for group in groups] for groups in self.groups]
        stop = sum(map(sum, counts))
        for index in reversed(range(len(problem.nodes))):
            node = problem.nodes[index]
            first = stop - sum(counts[index])
            place, sums = first, [ZERO] * len(node.arguments)
            for k, (members, group) in enumerate(zip(node.members, self.groups[index], strict=True)):
                mu, u = totals[node.start + k], [arguments[index][i] for i in members]
                slopes = _numbers_of_piece(node.atom, group, mu, u, kinks[place : place + len(group.free)])
                place += len(group.free)
                numbers[index] += slopes
                for i, slope in zip(members, node.atom.slopes(slopes), strict=True):
                    sums[i] += slope
            stop = first
            add_rows(node.arguments, sums, totals)
        return totals, numbers

    def _proof(self, unknowns: Sequence[Fraction]) -> tuple[Multipliers, ScaledVector]:
        """Return a solution as multipliers, whole numbers by their common denominator, and a point."""
        x, inequalities, equalities, kinks = self._parts(unknowns)
        arguments, _ = self._arguments(x)
        _, numbers = self._slopes(arguments, inequalities, equalities, kinks)
        return whole_multipliers(Fraction(1), inequalities, equalities, [], numbers), scaled_vector(x)


def _row_values(rows: Rows, z: Sequence[Fraction], places: Sequence[int]) -> list[Fraction]:
    """Return the values of some rows."""
    return [rows.offsets[i] + sum((value * z[k] for k, value in rows.rows[i].items()), ZERO) for i in places]


def _rows_of_ties(ties: Sequence[Mapping[int, Fraction]], members: Sequence[int]) -> Iterator[dict[int, Fraction]]:
    """Yield linear functions of the arguments of a group as functions of the arguments of its atom."""
    for tie in ties:
        row: dict[int, Fraction] = {}
        for i, value in tie.items():
            row[members[i]] = row.get(members[i], ZERO) + value
        yield row


def _piece_value(atom: Atom, group: Group, u: Sequence[Fraction]) -> Fraction:
    """Return the value of a piece; that of arguments on kinks is the one at which they are tied."""
    if isinstance(atom, HuberLoss) and group.signs[0] is not None:
        M, slope = atom.threshold, group.signs[0]
        return slope * u[0] - M * M
    if isinstance(atom, HuberLoss | Power | SumOfSquares):
        return sum((entry * entry for entry in u), ZERO) / (atom.divisor if isinstance(atom, SumOfSquares) else 1)
    if isinstance(atom, QuadraticForm):
        form: Any = atom.value(u)
        return Fraction(form)
    value = sum((slope * entry for slope, entry in zip(group.signs, u, strict=True) if slope), ZERO)
    if group.balance is not None:  # the tied arguments share what is left of the sum of slopes
        total = atom.count if isinstance(atom, SumOfLargest) else ONE
        rest = total - sum((slope for slope in group.signs if slope), ZERO)
        value += rest * group.sides[group.balance] * u[group.balance]
    return value


def _numbers_of_piece(
    atom: Atom, group: Group, mu: Fraction, u: Sequence[Fraction], kinks: Sequence[Fraction]
) -> list[Fraction]:
    """Return the numbers of a group in a file for the multiplier mu."""
    if isinstance(atom, QuadraticForm):
        return [abs(mu) * entry for entry in u]
    factor = 2 / atom.divisor if isinstance(atom, SumOfSquares) else Fraction(2)
    result = [factor * mu * entry if slope is None else slope * mu for slope, entry in zip(group.signs, u, strict=True)]
    for i, slope in zip(group.free, kinks, strict=True):
        result[i] += slope
    if group.balance is not None:
        total = atom.count if isinstance(atom, SumOfLargest) else ONE
        rest = total * mu - sum((side * slope for side, slope in zip(group.sides, result, strict=True)), ZERO)
        result[group.balance] += group.sides[group.balance] * rest
    return result


def _pieces_near(answer: FloatAnswer, problem: Problem, tol: float, by_duals: bool) -> Pieces:
    """Return the active bounds, inequalities and pieces near an answer.

    Parameters
    ----------
    answer
        The answer.
    problem
        The problem.
    tol
        The distance within which bounds are active and arguments lie on kinks.
    by_duals
        Whether an inequality is active if its multiplier exceeds its slack, and not if its slack is small.
    """
    x, fixed = [Fraction(value) for value in answer.x], dict[int, Fraction]()
    for k, (value, lower, upper) in enumerate(zip(x, problem.lower, problem.upper, strict=True)):
        for side in (lower, upper):
            if side is not None and abs(value - side) <= tol * (1 + abs(side)):
                fixed[k] = x[k] = side
    groups, z = list[list[Group]](), [float(value) for value in x]
    for node in problem.nodes:
        values = _float_values(node.arguments, z)
        pieces = [_group_near(node.atom, [values[i] for i in members], tol) for members in node.members]
        groups.append(pieces)
        z += [_float_value(node, values, members) for members in node.members]
    duals, slacks = answer.inequalities, [-value for value in _float_values(problem.inequalities, z)]
    sizes = [1.0 + abs(float(offset)) for offset in problem.inequalities.offsets]
    active = [
        i
        for i, (dual, slack, size) in enumerate(zip(duals, slacks, sizes, strict=True))
        if (dual > slack if by_duals else slack <= tol * size)
    ]
    multipliers = [Fraction(duals[i]) for i in active] + [Fraction(value) for value in answer.equalities]
    start = [x[k] for k in range(problem.n) if k not in fixed]
    return Pieces(problem, fixed, active, groups, [*start, *multipliers])


def _float_values(rows: Rows, z: Sequence[float]) -> list[float]:
    """Return the values of rows in floats."""
    return [
        float(offset) + math.fsum(float(value) * z[k] for k, value in row.items())
        for row, offset in zip(rows.rows, rows.offsets, strict=True)
    ]


def _float_value(node: AtomNode, values: Sequence[float], members: Sequence[int]) -> float:
    """Return the value of a group in floats."""
    value = node.atom.value([Fraction(values[i]) for i in members])
    return math.nan if value is None else float(value)


def _group_near(atom: Atom, u: Sequence[float], tol: float) -> Group:
    """Return the piece of a group near some arguments."""
    if isinstance(atom, QuadraticForm | SumOfSquares | Power):
        return Group([None] * len(u))
    if isinstance(atom, HuberLoss):
        is_inner = abs(u[0]) <= float(atom.threshold)
        return Group([None if is_inner else 2 * atom.threshold * (1 if u[0] > 0 else -1)])
    is_zero = isinstance(atom, LargestAbsoluteValue) and max(map(abs, u)) <= tol
    if isinstance(atom, SumOfAbsoluteValues) or is_zero:
        free = [i for i, entry in enumerate(u) if abs(entry) <= tol]
        signs = [ZERO if abs(entry) <= tol else ONE if entry > 0 else -ONE for entry in u]
        return Group(signs, free, None, [{i: ONE} for i in free])
    is_absolute, is_smallest = isinstance(atom, LargestAbsoluteValue), isinstance(atom, SmallestEntry)
    sides = [-ONE if is_absolute and entry < 0 else ONE for entry in u]
    sizes = [-entry if is_smallest else float(side) * entry for side, entry in zip(sides, u, strict=True)]
    order = sorted(range(len(u)), key=lambda i: -sizes[i])
    count = float(atom.count) if isinstance(atom, SumOfLargest) else 1.0
    threshold = sizes[order[math.ceil(count) - 1]]
    equal = [i for i in order if abs(sizes[i] - threshold) <= tol * (1 + abs(threshold))]
    signs = [ONE if sizes[i] > threshold and i not in equal else ZERO for i in range(len(u))]
    balance, *free = equal
    return Group(signs, free, balance, [{i: sides[i], balance: -sides[balance]} for i in free], sides)
