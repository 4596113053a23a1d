"""Bounds of all unknowns that hold at every feasible point below a level of the objective.

Each row l <= <a, z> + b <= u bounds an unknown by the bounds of the others. Each atom bounds its value by its
arguments, and its arguments by its value, forwards and backwards through the problem (F. Benhamou et al., Revising hull
and box consistency, ICLP 1999). Bounds are floats, rounded outward from balls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.atoms.base import Bounds, intersection
from boostopt.problem_certificates.balls import ONE, ZERO, Ball, ball, balls, matrix, round_down, round_up
from boostopt.problem_certificates.forms import Row
from boostopt.problem_certificates.reading import ReadProblem

MAX_ROUNDS = 12
"""Maximum number of passes over all rows and atoms."""

MIN_IMPROVEMENT = 0.1
"""Fraction of the width of finite bounds by which another bound must be tighter to count."""

MAX_RESIDUAL = 0.5
"""Maximum sum of absolute entries of a row of R A - I for which a left inverse R bounds the unknowns."""

MAX_INVERTED = 4_000_000
"""Maximum number of entries of the matrix for a left inverse."""


@dataclass
class BoundedRow:
    """A row with bounds of its value.

    Attributes
    ----------
    row, offset
        The coefficients and the constant.
    bounds
        Lower and upper bound of <row, z> + offset.
    """

    row: Row
    offset: Ball
    bounds: Bounds


class Propagation:
    """Bounds of z, and their improvement.

    Parameters
    ----------
    problem
        The problem.
    level
        An upper bound of the objective at the points that count; inf for all feasible points.
    right_side_change
        By how much right sides may be moved.

    Attributes
    ----------
    lower, upper
        The bounds, shape (n_values,).
    """

    lower: Array
    upper: Array
    is_empty: bool

    def __init__(self, problem: ReadProblem, level: float = math.inf, right_side_change: float = 0.0) -> None:
        self.problem = problem
        self.lower = np.full(problem.n_values, -np.inf)
        self.upper = np.full(problem.n_values, np.inf)
        self.lower[: problem.n], self.upper[: problem.n] = problem.lower, problem.upper
        # No number is as large as an infinite lower bound.
        self.is_empty = bool(((self.lower > self.upper) | (self.lower == math.inf) | (self.upper == -math.inf)).any())
        self._rows = list(self._constraint_rows(level, right_side_change))
        # A row without unknowns holds everywhere or nowhere.
        self.is_empty |= any(not item.row and self._is_violated(item) for item in self._rows)
        self._arguments: list[list[BoundedRow]] = [
            [
                BoundedRow(row, offset, (-math.inf, math.inf))
                for row, offset in zip(node.arguments.rows, node.arguments.offsets, strict=True)
            ]
            for node in problem.nodes
        ]

    @property
    def box(self) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """The bounds of x."""
        return self.lower[: self.problem.n], self.upper[: self.problem.n]

    @property
    def is_bounded(self) -> bool:
        """Whether all bounds of x are finite."""
        return bool(np.isfinite(self.box[0]).all() and np.isfinite(self.box[1]).all())

    def run(self) -> None:
        """Improve the bounds until all bounds of x are finite, or none improves."""
        for _ in range(MAX_ROUNDS):
            if self.is_empty or self.is_bounded:
                return
            if not self._pass():
                break
        if not (self.is_empty or self.is_bounded):
            self._invert_rows()

    def row_bounds(self, row: Row, offset: Ball) -> Bounds:
        """Return the bounds of a row over the present bounds."""
        low, high = self._end(row, offset, 1), self._end(row, offset, -1)
        return (
            round_down(low) if low is not None else -math.inf,
            round_up(high) if high is not None else math.inf,
        )

    def tighten(self, k: int, low: float, high: float) -> bool:
        """Take new bounds of an unknown if they are tighter; return whether they are much tighter."""
        old_low, old_high = float(self.lower[k]), float(self.upper[k])
        width = old_high - old_low
        self.lower[k], self.upper[k] = max(old_low, low), min(old_high, high)
        if self.lower[k] > self.upper[k]:
            self.is_empty = True
        gain = max(low - old_low, old_high - high)
        return gain > MIN_IMPROVEMENT * width if math.isfinite(width) else gain == math.inf

    def _pass(self) -> bool:
        """Use every row and every atom once; return whether a bound became much tighter."""
        problem, improved = self.problem, False
        for node, rows in zip(problem.nodes, self._arguments, strict=True):
            for item in rows:
                item.bounds = intersection(item.bounds, self.row_bounds(item.row, item.offset))
            for k, group in enumerate(node.members.tolist()):
                low, high = node.function.output_bounds([rows[i].bounds for i in group])
                improved |= self.tighten(node.start + k, low, high)
        for item in self._rows:
            improved |= self._use_row(item)
        for node, rows in zip(reversed(problem.nodes), reversed(self._arguments), strict=True):
            for k, group in enumerate(node.members.tolist()):
                output = (float(self.lower[node.start + k]), float(self.upper[node.start + k]))
                bounds = node.function.argument_bounds(output, [rows[i].bounds for i in group])
                for i, pair in zip(group, bounds, strict=True):
                    rows[i].bounds = intersection(rows[i].bounds, pair)
            for item in rows:
                improved |= self._use_row(item)
        return improved

    @staticmethod
    def _is_violated(item: BoundedRow) -> bool:
        """Return whether the constant of a row certainly violates its bounds."""
        low, high = item.bounds
        return bool(
            (math.isfinite(low) and item.offset < ball(low)) or (math.isfinite(high) and item.offset > ball(high))
        )

    def _use_row(self, item: BoundedRow) -> bool:
        """Improve the bounds of the unknowns of a row."""
        low, high = item.bounds
        improved = False
        if math.isfinite(high):
            improved |= self._use_side(item.row, item.offset - ball(high), 1)
        if math.isfinite(low):
            improved |= self._use_side(item.row, item.offset - ball(low), -1)
        if low > high:
            self.is_empty = True
        return improved

    def _use_side(self, row: Row, offset: Ball, sign: int) -> bool:
        """Improve bounds by sign (<row, z> + offset) <= 0."""
        terms: dict[int, Ball] = {}
        missing: int | None = None
        for k, coefficient in row.items():
            end = self._smallest_term(coefficient, k, sign)
            if end is None:
                if missing is not None:
                    return False
                missing = k
            else:
                terms[k] = end
        total = sign * offset + sum(terms.values(), ZERO)
        if not row:
            return False
        improved = False
        for k in row if missing is None else (missing,):
            coefficient = sign * row[k]
            if not (coefficient > 0 or coefficient < 0):
                continue
            # Only an unbounded side, or one that may become much tighter, is worth a division.
            bound = -(total - terms.get(k, ZERO)) / coefficient
            if coefficient > 0:
                improved |= self.tighten(k, -math.inf, round_up(bound))
            else:
                improved |= self.tighten(k, round_down(bound), math.inf)
        return improved

    def _smallest_term(self, coefficient: Ball, k: int, sign: int) -> Ball | None:
        """Return the smallest sign * coefficient * z_k; None if it is not bounded."""
        signed = coefficient if sign > 0 else -coefficient
        if signed > 0:
            end = float(self.lower[k])
        elif signed < 0:
            end = float(self.upper[k])
        else:
            low, high = float(self.lower[k]), float(self.upper[k])
            if not (math.isfinite(low) and math.isfinite(high)):
                return None
            return (signed * ball(low)).min(signed * ball(high))
        return signed * ball(end) if math.isfinite(end) else None

    def _end(self, row: Row, offset: Ball, sign: int) -> Ball | None:
        """Return the lower end of a row for sign = 1, the upper end for -1; None if it is infinite."""
        total = sign * offset
        for k, coefficient in row.items():
            term = self._smallest_term(coefficient, k, sign)
            if term is None:
                return None
            total = total + term
        return sign * total

    def _constraint_rows(self, level: float, right_side_change: float) -> Iterator[BoundedRow]:
        """Yield the rows of the objective and of the constraints."""
        problem = self.problem
        if math.isfinite(level):
            yield BoundedRow(problem.objective.rows[0], problem.objective.offsets[0], (-math.inf, level))
        for row, offset in zip(problem.inequalities.rows.rows, problem.inequalities.rows.offsets, strict=True):
            yield BoundedRow(row, offset, (-math.inf, right_side_change))
        for row, offset in zip(problem.equalities.rows.rows, problem.equalities.rows.offsets, strict=True):
            yield BoundedRow(row, offset, (-right_side_change, right_side_change))
        for constraint in problem.matrices:
            yield from self._vector_rows(constraint.rows.rows, constraint.rows.offsets, constraint.n)
        for node in problem.nodes:
            if node.function.has_semidefinite_domain:
                n = math.isqrt(len(node.arguments))
                yield from self._vector_rows(node.arguments.rows, node.arguments.offsets, n)

    def _vector_rows(self, rows: Sequence[Row], offsets: Sequence[Ball], n: int) -> Iterator[BoundedRow]:
        """Yield v' E v >= 0 of a positive semidefinite E for v = e_i and v = e_i +- e_j."""
        for i, j in itertools.combinations_with_replacement(range(n), 2):
            if i == j:
                yield BoundedRow(rows[i * (n + 1)], offsets[i * (n + 1)], (0.0, math.inf))
                continue
            for sign in (ONE, -ONE):
                row: Row = {}
                offset = ZERO
                for weight, place in ((ONE, i * (n + 1)), (ONE, j * (n + 1)), (sign, i * n + j), (sign, j * n + i)):
                    offset = offset + weight * offsets[place]
                    for k, value in rows[place].items():
                        row[k] = row.get(k, ZERO) + weight * value
                yield BoundedRow(row, offset, (0.0, math.inf))

    def _invert_rows(self) -> None:
        """Bound x by a left inverse R of rows A x with bounds on both sides: x = R (A x) - (R A - I) x.

        If the row sums of |R A - I| are at most rho < 1, then |x|_inf <= max |R (A x)| / (1 - rho).
        """
        n = self.problem.n
        rows = [
            item
            for item in (*self._rows, *itertools.chain.from_iterable(self._arguments))
            if item.row and max(item.row) < n and all(map(math.isfinite, item.bounds))
        ]
        lower, upper = self.box
        finite = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper)).tolist()
        rows += [BoundedRow({j: ONE}, ZERO, (float(lower[j]), float(upper[j]))) for j in finite]
        if not rows or len(rows) * n > MAX_INVERTED:
            return
        A = np.zeros((len(rows), n))
        for i, item in enumerate(rows):
            for k, value in item.row.items():
                A[i, k] = float(value.mid())
        sizes = np.array([max(abs(item.bounds[0] - float(item.offset.mid())), abs(item.bounds[1])) for item in rows])
        scales = np.maximum(sizes, 1e-12)
        inverse = np.linalg.pinv(A / scales[:, None], rcond=1e-10) / scales
        exact = matrix([item.row.get(k, ZERO) for item in rows for k in range(n)], len(rows))
        product = (matrix(balls(inverse), n) * exact).entries()
        results: dict[int, tuple[Ball, Ball, Ball]] = {}
        for j in range(n):
            residual = ZERO
            for k in range(n):
                residual = residual + abs(product[j * n + k] - (1 if j == k else 0))
            if not residual < MAX_RESIDUAL:
                return
            low = high = ZERO
            for weight, item in zip(inverse[j].tolist(), rows, strict=True):
                ends = [ball(weight) * (ball(side) - item.offset) for side in item.bounds]
                low, high = low + ends[0].min(ends[1]), high + ends[0].max(ends[1])
            results[j] = low, high, residual
        size = ZERO
        rho = ZERO
        for low, high, residual in results.values():
            size, rho = size.max(abs(low)).max(abs(high)), rho.max(residual)
        limit = size / (1 - rho)
        for j, (low, high, residual) in results.items():
            self.tighten(j, round_down(low - residual * limit), round_up(high + residual * limit))
