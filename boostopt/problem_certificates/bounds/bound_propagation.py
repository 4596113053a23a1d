"""Bounds of all unknowns that hold at every feasible point below a level of the objective.

Each row l <= <a, z> + b <= u bounds an unknown by the bounds of the others. Each atom bounds its value by its
arguments, and its arguments by its value, forwards and backwards through the problem (F. Benhamou et al., Revising hull
and box consistency, ICLP 1999). Bounds are floats, rounded outward from balls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.affine_forms import RowBlock
from boostopt.problem_certificates.arithmetic.balls import ONE, ZERO, Ball, ball, balls, matrix, round_down, round_up
from boostopt.problem_certificates.atoms.base import UNBOUNDED, intersection
from boostopt.problem_certificates.bounds.bounds_from_rows import BoundedRow, Box, RowBounds, bounded_rows
from boostopt.problem_certificates.problem_reader import ReadProblem

MAX_ROUNDS = 12
"""Maximum number of passes over all rows and atoms."""

MAX_RESIDUAL = 0.5
"""Maximum sum of absolute entries of a row of R A - I for which a left inverse R bounds the unknowns."""

MAX_INVERTED = 4_000_000
"""Maximum number of entries of the matrix for a left inverse."""

MAX_PRODUCTS = 200_000_000
"""Maximum number of products of balls for the proof of a left inverse."""


class Propagation(Box):
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

    def __init__(self, problem: ReadProblem, level: float = math.inf, right_side_change: float = 0.0) -> None:
        self.problem = problem
        self._has_level = math.isfinite(level)
        rest = np.full(problem.n_values - problem.n, np.inf)
        super().__init__(np.concatenate([problem.lower, -rest]), np.concatenate([problem.upper, rest]))
        self._rows = list(self._constraint_rows(level, right_side_change))
        # A row without unknowns holds everywhere or nowhere.
        self.is_empty: bool = self.is_empty or any(rows.is_violated() for rows in self._rows)
        self._arguments = [bounded_rows(node.arguments, [UNBOUNDED] * len(node.arguments)) for node in problem.nodes]

    @property
    def box(self) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """The bounds of x."""
        return self.lower[: self.problem.n], self.upper[: self.problem.n]

    @property
    def is_bounded(self) -> bool:
        """True if all bounds of x are finite."""
        return bool(np.isfinite(self.box[0]).all() and np.isfinite(self.box[1]).all())

    def run(self) -> None:
        """Improve the bounds until all bounds of x are finite, or none improves.

        Where no point is known, domains of atoms say whether a box contains none.
        """
        for _ in range(MAX_ROUNDS):
            if self.is_empty or self.is_bounded:
                if not self._has_level:
                    for rows in self._arguments:
                        rows.improve(self)
                    self._bound_arguments()
                return
            if not self._pass():
                break
        if not (self.is_empty or self.is_bounded):
            self._invert_rows()

    def _pass(self) -> bool:
        """Use every row and every atom once; return whether a bound became much tighter."""
        problem, improved = self.problem, False
        for node, rows in zip(problem.nodes, self._arguments, strict=True):
            rows.improve(self)
            for k, group in enumerate(node.members.tolist()):
                low, high = node.function.output_bounds([rows.bounds[i] for i in group])
                improved |= self.tighten(node.start + k, low, high)
        for rows in self._rows:
            improved |= rows.use(self)
        return self._bound_arguments() or improved

    def _bound_arguments(self) -> bool:
        """Use every atom once for its arguments; return whether a bound became much tighter."""
        problem, improved = self.problem, False
        for node, rows in zip(reversed(problem.nodes), reversed(self._arguments), strict=True):
            for k, group in enumerate(node.members.tolist()):
                output = (float(self.lower[node.start + k]), float(self.upper[node.start + k]))
                bounds = node.function.argument_bounds(output, [rows.bounds[i] for i in group])
                for i, pair in zip(group, bounds, strict=True):
                    rows.bounds[i] = intersection(rows.bounds[i], pair)
            improved |= rows.use(self)
        return improved

    def _constraint_rows(self, level: float, right_side_change: float) -> Iterator[RowBounds]:
        """Yield the rows of the objective and of the constraints."""
        problem = self.problem
        if math.isfinite(level):
            yield bounded_rows(problem.objective, [(-math.inf, level)])
        inequalities, equalities = problem.inequalities.rows, problem.equalities.rows
        yield bounded_rows(inequalities, [(-math.inf, right_side_change)] * len(inequalities))
        yield bounded_rows(equalities, [(-right_side_change, right_side_change)] * len(equalities))
        for constraint in problem.matrices:
            yield _vector_rows(constraint.rows, constraint.n)
        for node in problem.nodes:
            if node.function.has_semidefinite_domain:
                yield _vector_rows(node.arguments, math.isqrt(len(node.arguments)))

    def _invert_rows(self) -> None:
        """Bound x by a left inverse R of rows A x with bounds on both sides: x = R (A x) - (R A - I) x.

        If the row sums of |R A - I| are at most rho < 1, then |x|_inf <= max |R (A x)| / (1 - rho).
        """
        n = self.problem.n
        parts = [*self._rows, *self._arguments]
        if sum(map(len, parts)) * n > MAX_INVERTED:
            return
        rows = [
            item
            for part in parts
            for item in part.items()
            if item.row and max(item.row) < n and all(map(math.isfinite, item.bounds))
        ]
        lower, upper = self.box
        finite = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper)).tolist()
        rows += [BoundedRow({j: ONE}, ZERO, (float(lower[j]), float(upper[j]))) for j in finite]
        if not rows or len(rows) * n * n > MAX_PRODUCTS:
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


def _vector_rows(block: RowBlock, n: int) -> RowBounds:
    """Return v' E v >= 0 of a positive semidefinite E for v = e_i and v = e_i +- e_j."""
    terms, signs = list[list[tuple[int, int]]](), [ONE, -ONE]
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        first, second = i * (n + 1), j * (n + 1)
        if i == j:
            terms.append([(0, first)])
        else:
            terms += [[(0, first), (0, second), (k, i * n + j), (k, j * n + i)] for k in (0, 1)]
    form = block.form()
    rows = form.weighted_sums(form.of_balls(signs, (2,)), terms, (len(terms),)).block(block.n_unknowns)
    return bounded_rows(rows, [(0.0, math.inf)] * len(terms))
