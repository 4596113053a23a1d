"""The upper bound: a point that satisfies all constraints, proved in balls, and the objective there.

Some unknowns are chosen as a basis of the equalities. The others are floats, and the basis is the ball solution of a
square linear system: so the balls contain a point that satisfies all equalities exactly. If the inequalities hold on
the balls, the objective on the balls bounds the optimum.

If the point of the solver is not feasible, the search goes the shortest way towards a point with slack. Least squares
propose it, or one more solve if theirs costs much. Affine inequalities without any slack become equalities.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp, solve_quietly
from boostopt.errors import format_names_truncated
from boostopt.problem_certificates.arithmetic.affine_forms import Row
from boostopt.problem_certificates.arithmetic.balls import (
    ONE,
    ZERO,
    Ball,
    ball,
    balls,
    enclosing_balls,
    enclosures,
    exact_fraction,
    exact_rank,
    float_ends,
    is_positive_semidefinite,
    midpoints,
    pivots,
    round_up,
    solve,
)
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import SparseSystem
from boostopt.problem_certificates.constraint_parts import plain_words
from boostopt.problem_certificates.leaf_values import dual_matrix, dual_vector, value_of
from boostopt.problem_certificates.least_squares_slack_points import curved_slack_point, least_fraction, slack_point
from boostopt.problem_certificates.minorants.single_unknown_rows import bounds_with_rows
from boostopt.problem_certificates.nearest_domain_points import domain_point, with_arguments_in_domains
from boostopt.problem_certificates.problem_reader import MatrixConstraint, ReadProblem

MIN_SLACK = 1e-7
"""Slack of a point that counts as having slack."""

MIN_ACTIVE_DUAL = 1e-5
"""Multiplier from which a constraint without slack becomes an equality."""

FRACTIONS = (1e-15, 1e-13, 1e-11, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0)
"""Fractions of the way to a point with slack that are tried."""

LATE_WEIGHT = 1e-9
"""Factor of the weight of an unknown that comes into a basis last."""

MAX_WEIGHT = 1e6
"""Largest whole weight of a row in a combination that is tried before ranks over the rationals."""

MAX_LOSS = 1e-4
"""Relative loss of a point that needed no solve, up to which no solve is made for a better one.

The loss comes from the violation of the answer: for answers of SCS, such solves narrow it by a factor of at most 2.3.
"""

MAX_SPARSE_LOSS = 1e-8
"""The same, up to which a point of many sparse equalities is not looked for without the distances from bounds."""

SIMPLE_PARTS = (1, 2, 4, 8, 16)
"""Parts of 1 whose multiples are tried where no point has slack."""

MAX_ROUNDING = 1e-2
"""Relative distance of these multiples from the entries of an answer: its error is the root of a tolerance there."""

MIN_SPARSE_ROWS = 60
"""Number of equalities of a large problem from which no basis is chosen."""

N_REFINEMENTS = 3
"""Number of steps towards a solution of many equalities in floating point."""

N_BISECTIONS = 6
"""Number of refinements of the fraction."""


@dataclass(frozen=True)
class FeasiblePoint:
    """A point that is proved feasible.

    Attributes
    ----------
    x
        Balls that contain the point.
    upper
        A float that the objective, to be minimized, does not exceed there.
    right_side_change
        By how much the right sides of equalities must be moved for the point to be feasible; 0 if none was.
    """

    x: list[Ball]
    upper: float
    right_side_change: float = 0.0


@dataclass
class Promotions:
    """Inequalities that are treated as equalities.

    Attributes
    ----------
    rows
        Rows of the inequalities.
    fixed
        Values of unknowns at a bound.
    """

    rows: set[int] = field(default_factory=set[int])
    fixed: dict[int, float] = field(default_factory=dict[int, float])


class FeasiblePointSearch:
    """The search for a feasible point.

    Parameters
    ----------
    problem
        The problem.
    tolerance
        By how much right sides may be moved if the equalities depend on each other up to rounding.

    Attributes
    ----------
    interior
        A point with slack that a solver proposed; None if there is none.
    reason
        The reason for which no point was proved.
    is_contradictory
        Whether the equalities are proved to have no solution.
    """

    reason: str
    is_contradictory: bool

    def __init__(self, problem: ReadProblem, tolerance: float) -> None:
        self.problem = problem
        self.tolerance = tolerance
        self.interior: Array | None = None
        self._rows_without_slack = set[int]()
        self._matrices_without_slack = set[int]()
        self.reason = ""
        self.is_contradictory = False
        self._last_exact_points: ExactPoints | None = None
        self._is_affine = problem.equalities.rows.is_affine(problem.n)

    def run(self, x: Float[Array, " n"] | None) -> FeasiblePoint | None:
        """Return a feasible point near x; None if none is proved."""
        if not self._is_affine:
            self.reason = "an equality contains an atom that is not affine: state it as an inequality"
            return None
        nearby: FeasiblePoint | None = None
        if x is not None:
            x = with_arguments_in_domains(self.problem, x)
            exact = self._exact_points(Promotions(), x)
            result = exact.check(x) if exact is not None else None
            if result is not None:
                return result
            if self.is_contradictory:
                return None
            nearby = None if exact is None else self._point_by_tangents(exact, x)
            if nearby is not None and (self.problem.is_large or self._loss(nearby, x) <= MAX_LOSS):
                return nearby
        promotions = self.find_interior()
        if self.interior is None:
            self.reason = self.reason or "no point with slack was found: the problem may be infeasible"
            return nearby
        exact = self._exact_points(promotions, self.interior)
        if exact is None:
            return nearby
        self._last_exact_points = exact
        result = self._approached_point(exact, self.interior if x is None else x, self.interior)
        if nearby is not None:
            return nearby if result is None else min(nearby, result, key=lambda point: point.upper)
        names = [self.problem.inequalities.describe(i) for i in sorted(self._rows_without_slack)]
        names += [_matrix_name(self.problem.matrices[i]) for i in sorted(self._matrices_without_slack)]
        if result is None and names:
            self.reason = self.reason or (
                f"no point with slack was found for {format_names_truncated(names)}: if these constraints leave one "
                "point only, or a face, state the equations that they imply"
            )
        elif result is None:
            self.reason = self.reason or (
                "no feasible point was proved: the inequalities may have no interior, or an atom is outside its domain"
            )
        return result

    def simple_point(self, x: Float[Array, " n"] | None) -> FeasiblePoint | None:
        """Return a feasible point of simple numbers near x after `run`: constraints may leave one point, or a face."""
        exact, x = self._last_exact_points, self.interior if x is None else x
        if exact is None or x is None or self.problem.is_large:
            return None
        for part in SIMPLE_PARTS:
            simple = np.round(part * x) / part
            is_near = (np.abs(simple - x) <= MAX_ROUNDING * (1 + np.abs(x))).all()
            result = exact.check(simple) if is_near else None
            if result is not None:
                return result
        return None

    def _point_by_tangents(self, exact: ExactPoints, x: Float[Array, " n"]) -> FeasiblePoint | None:
        """Return a feasible point between x and a point with slack that least squares propose."""
        propose = slack_point if self.problem.is_large else curved_slack_point
        proposal = propose(self.problem, x)
        return None if proposal is None else self._approached_point(exact, x, proposal)

    def _approached_point(
        self, exact: ExactPoints, x: Float[Array, " n"], interior: Float[Array, " n"]
    ) -> FeasiblePoint | None:
        """Return a feasible point near x on the segment to a point with slack."""
        result = exact.approach(x, interior)
        if not isinstance(exact, SparseExactPoints) or (
            result is not None and self._loss(result, x) <= MAX_SPARSE_LOSS
        ):
            return result
        # At a degenerate vertex, too few unknowns are far from their bounds for all equalities.
        further = exact.without_bounds().approach(x, interior)
        return min((point for point in (result, further) if point is not None), key=lambda p: p.upper, default=None)

    def _loss(self, point: FeasiblePoint, x: Float[Array, " n"]) -> float:
        """Return by how much the objective at a feasible point is above that at x, relative to 1 plus its size."""
        value = float(self.problem.objective.float_values(domain_point(self.problem, x).point.z)[0])
        return (point.upper - value) / (1 + abs(value)) if math.isfinite(value) else math.inf

    def _exact_points(self, promotions: Promotions, centre: Array) -> ExactPoints | None:
        """Return the points that satisfy the equalities; None, with a reason, if there may be none."""
        exact: ExactPoints | None = None
        if self.problem.is_large and len(self.problem.equalities.rows) + len(promotions.rows) >= MIN_SPARSE_ROWS:
            exact = SparseExactPoints(self.problem, promotions, centre, self.tolerance)
        if exact is None or not exact.is_consistent:
            exact = ExactPoints(self.problem, promotions, centre, self.tolerance)
        if exact.is_consistent:
            return exact
        if not (promotions.rows or promotions.fixed) and exact.are_contradictory():
            self.is_contradictory = True
        fault = "contradict each other" if self.is_contradictory else "depend on each other up to rounding"
        proof = "no point satisfies them exactly" if self.is_contradictory else "no exact solution is proved"
        self.reason = (
            f"the equalities {fault}: {proof}. If this is by rounding, leave out an equality that follows from the "
            "others, or pass tolerance=1e-12 to certify a problem whose right sides are moved by at most that"
        )
        return None

    def find_interior(self) -> Promotions:
        """Look for a point with slack; collect the affine inequalities that have none."""
        promotions = Promotions()
        for _ in range(4):
            proposal = max_slack_point(self.problem, promotions)
            if proposal is None:
                break
            self.interior = proposal.x
            previous_count = len(promotions.rows) + len(promotions.fixed)
            if proposal.slack > MIN_SLACK:
                break
            self._rows_without_slack = proposal.tight_atoms
            self._matrices_without_slack = proposal.tight_matrices
            promotions.rows |= proposal.tight_rows
            promotions.fixed |= proposal.tight_bounds
            if len(promotions.rows) + len(promotions.fixed) == previous_count:
                break
        return promotions


class ExactPoints:
    """Points that satisfy the equalities, and inequalities that count as such, exactly.

    Parameters
    ----------
    problem
        The problem. Its equalities are affine.
    promotions
        The inequalities that count as equalities.
    centre
        A point: unknowns with more distance from their bounds come first into the basis.
    tolerance
        As in `FeasiblePointSearch`.
    enclosures
        Unknowns as balls. The points are feasible for all numbers in the balls, which may ignore their bounds.
    late_positions
        Unknowns that come into the basis last, because they should stay as they are.

    Attributes
    ----------
    is_consistent
        Whether a solution is proved, or `tolerance` allows to move right sides.
    """

    fixed: dict[int, float]
    is_consistent: bool

    def __init__(
        self,
        problem: ReadProblem,
        promotions: Promotions,
        centre: Array,
        tolerance: float,
        enclosures: Mapping[int, Ball] | None = None,
        late_positions: Sequence[int] = (),
    ) -> None:
        self.problem = problem
        self._late_positions = list(late_positions)
        self.enclosures: Mapping[int, Ball] = enclosures or {}
        self.promotions = promotions
        self.tolerance = tolerance
        self.fixed = dict(promotions.fixed)
        for j in np.flatnonzero((problem.lower == problem.upper) & np.isfinite(problem.lower)).tolist():
            self.fixed[j] = float(problem.lower[j])
        equalities, inequalities = problem.equalities.rows, problem.inequalities.rows
        pairs = list(zip(equalities.rows, equalities.offsets, strict=True))
        pairs += [(inequalities.rows[i], inequalities.offsets[i]) for i in sorted(promotions.rows)]
        is_used = [bool(row) or not offset == 0 for row, offset in pairs]
        self._places = is_used[: len(equalities)]
        self._lower, self._upper = bounds_with_rows(problem)
        self._rows: list[tuple[Row, Ball]] = [pair for pair, flag in zip(pairs, is_used, strict=True) if flag]
        self._choose_basis(centre)

    def point_near(self, x: Float[Array, " n"]) -> list[Ball] | None:
        """Return balls that contain a point that satisfies the chosen equalities, near x; None if none is proved."""
        clipped = np.clip(x, self._lower, self._upper)
        for j, value in self.fixed.items():
            clipped[j] = value
        result = balls(clipped)
        for j, value in self.enclosures.items():
            result[j] = value
        basis = set(self._basis)
        sides = list[Ball]()
        for i in self._independent:
            row, offset = self._rows[i]
            total = offset
            for k, value in row.items():
                if k not in basis:
                    total = total + value * result[k]
            sides.append(-total)
        solution = solve(self._system, sides)
        if solution is None:
            return None
        for j, value in zip(self._basis, solution, strict=True):
            result[j] = value
        return result

    def check(self, x: Float[Array, " n"]) -> FeasiblePoint | None:
        """Return the feasible point near x; None if it is not proved feasible with a finite objective."""
        if not self.is_consistent:
            return None
        point = self.point_near(x)
        if point is None:
            return None
        problem = self.problem
        change = 0.0
        for i in self._dependent if self._moves_right_sides else ():
            row, offset = self._rows[i]
            total = offset
            for k, value in row.items():
                total = total + value * point[k]
            change = max(change, round_up(abs(total)))
            if not change <= self.tolerance:
                return None
        for j in self._entries_near_bounds(point):
            value, low, high = point[j], float(problem.lower[j]), float(problem.upper[j])
            if (
                j not in self.fixed
                and j not in self.enclosures
                and not ((low == -math.inf or value >= ball(low)) and (high == math.inf or value <= ball(high)))
            ):
                return None
        z = problem.evaluate(point)
        for i, value in enumerate(problem.inequalities.rows.values(z)):
            if i not in self.promotions.rows and not value <= 0:
                return None
        for constraint in problem.matrices:
            if not is_positive_semidefinite(constraint.rows.values(z), constraint.n):
                return None
        if not all(value.is_finite() for value in z):
            return None
        upper = round_up(problem.objective.value(0, z))
        if problem.is_large and not self._moves_right_sides and len(problem.equalities.rows):
            upper = min(upper, _end_by_multipliers(problem, z))
        return FeasiblePoint(point, upper, change) if math.isfinite(upper) else None

    def _entries_near_bounds(self, point: Sequence[Ball]) -> Sequence[int]:
        """Return the entries that floats do not prove to lie within bounds; all entries of small problems."""
        problem = self.problem
        if not problem.is_large:
            return range(problem.n)
        low, high = float_ends(enclosures(point))
        return np.flatnonzero(~((low >= problem.lower) & (high <= problem.upper))).tolist()

    def approach(self, x: Float[Array, " n"], interior: Float[Array, " n"]) -> FeasiblePoint | None:
        """Return a feasible point as near to x as the search finds on the segment to a point with slack."""
        result = self.check(x)
        if result is not None:
            return result
        previous = 0.0
        for fraction in self._fractions(x, interior):
            result = self.check((1 - fraction) * x + fraction * interior)
            if result is not None:
                break
            previous = fraction
        else:
            return None
        low, high = previous, fraction
        for _ in range(N_BISECTIONS if low > 0 else 0):
            middle = math.sqrt(low * high)
            candidate = self.check((1 - middle) * x + middle * interior)
            if candidate is None:
                low = middle
            else:
                high, result = middle, min(result, candidate, key=lambda point: point.upper)
        return result

    def _fractions(self, x: Float[Array, " n"], interior: Float[Array, " n"]) -> Sequence[float]:
        """Return the fractions of the way to try: for large problems from the first that floats say has slack."""
        corrected = [self.point_near(point) for point in (x, interior)] if self.problem.is_large else []
        ends = [midpoints(point) for point in corrected if point is not None]
        first = least_fraction(self.problem, *ends) if len(ends) == 2 else 0.0
        if first == 0 or first > 1:
            return FRACTIONS
        return [fraction for fraction in (1.01 * first * 10.0**k for k in range(18)) if fraction <= 1]

    @property
    def has_dependent_rows(self) -> bool:
        """True if an equality depends on others, or has no free unknowns, as one of enclosures alone."""
        return bool(self._dependent)

    @property
    def dependent_equalities(self) -> list[str]:
        """The equalities of the problem that depend on others, at least up to rounding."""
        equalities = self.problem.equalities
        places = [i for i, pair in enumerate(self._places) if pair]
        return [equalities.describe(places[i]) for i in self._dependent if i < len(places)]

    def are_contradictory(self) -> bool:
        """Return whether the equalities are proved, by exact ranks, to have no solution within the fixed entries."""
        if any(not value.is_exact() for row, offset in self._rows for value in (*row.values(), offset)):
            return False
        coefficients, augmented = self._exact_rows(list(range(len(self._rows))))
        return exact_rank(augmented) > exact_rank(coefficients)

    def _choose_basis(self, centre: Array) -> None:
        """Choose independent rows and a basis of columns by pivoted factorizations in floating point."""
        n = self.problem.n
        free = np.array([j for j in range(n) if j not in self.fixed and j not in self.enclosures], dtype=int)
        A = _float_rows([row for row, _ in self._rows], n)[:, free]
        self._independent: list[int] = []
        self._basis: list[int] = []
        if A.size:
            norms = np.maximum(np.abs(A).max(axis=1), 1e-300)
            sizes, order = pivots((A / norms[:, None]).T)
            rank = int(np.sum(sizes > 1e-10 * max(float(sizes[0]), 1e-300)))
            self._independent = sorted(order[:rank].tolist())
            distances = np.minimum(centre - self._lower, self._upper - centre)[free]
            weights = np.clip(np.nan_to_num(distances, nan=0.0), 1e-9, 1e3)
            weights = np.where(np.isin(free, self._late_positions), LATE_WEIGHT * weights, weights)
            _, order = pivots(A[self._independent] * weights)
            self._basis = free[order[:rank]].tolist()
        self._dependent = [i for i in range(len(self._rows)) if i not in set(self._independent)]
        self._system = [self._rows[i][0].get(j, ZERO) for i in self._independent for j in self._basis]
        self._moves_right_sides = False
        self.is_consistent: bool = not self._dependent or self._are_combinations()
        if not self.is_consistent and self.tolerance > 0:
            self.is_consistent = self._moves_right_sides = True

    def _are_combinations(self) -> bool:
        """Return whether the dependent rows are proved combinations of the others, right sides included."""
        if self.enclosures:
            return all(self._holds_exactly(*self._rows[i]) for i in self._dependent)
        if any(not value.is_exact() for row, offset in self._rows for value in (*row.values(), offset)):
            return False
        if self.problem.is_large and self._are_whole_combinations():
            return True
        _, augmented = self._exact_rows([*self._independent, *self._dependent])
        return exact_rank(augmented) == len(self._independent)

    def _holds_exactly(self, row: Row, offset: Ball) -> bool:
        """Return whether a row has no free unknowns, and is 0 for the fixed ones and the enclosures."""
        total = offset
        for j, value in row.items():
            number = self.enclosures.get(j, ball(self.fixed[j]) if j in self.fixed else None)
            if number is None:
                return False
            total = total + value * number
        return bool(total == 0)

    def _are_whole_combinations(self) -> bool:
        """Return whether each dependent row is a combination of the others with whole weights, which floats propose."""
        n = self.problem.n
        A, B = (_float_rows([self._rows[i][0] for i in part], n) for part in (self._independent, self._dependent))
        weights = np.linalg.lstsq(A.T, B.T)[0]
        if not (np.abs(weights) < MAX_WEIGHT).all():
            return False
        for place, column in zip(self._dependent, np.rint(weights).T.astype(int).tolist(), strict=True):
            row, offset = self._rows[place]
            total = {k: exact_fraction(value) for k, value in row.items()}
            rest = exact_fraction(offset)
            for i, weight in zip(self._independent, column, strict=True):
                if weight:
                    for k, value in self._rows[i][0].items():
                        total[k] = total.get(k, 0) - weight * exact_fraction(value)
                    rest -= weight * exact_fraction(self._rows[i][1])
            if rest != 0 or any(value != 0 for value in total.values()):
                return False
        return True

    def _exact_rows(self, selected: Sequence[int]) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return exact rows over the free columns, without and with the right side that the fixed entries leave.

        The entries are fractions: a sum of exact balls need not be exact.
        """
        free = [j for j in range(self.problem.n) if j not in self.fixed]
        fixed = {j: exact_fraction(ball(value)) for j, value in self.fixed.items()}
        coefficients, augmented = list[list[Any]](), list[list[Any]]()
        for i in selected:
            row, offset = self._rows[i]
            fractions = {j: exact_fraction(value) for j, value in row.items()}
            total = exact_fraction(offset) + sum(value * fixed[j] for j, value in fractions.items() if j in fixed)
            coefficients.append([fractions.get(j, 0) for j in free])
            augmented.append([*coefficients[-1], total])
        return coefficients, augmented


class SparseExactPoints(ExactPoints):
    """Points that satisfy many sparse equalities exactly, without a basis: unknowns move far from their bounds most.

    `is_consistent` is False, so that a basis is needed, if the rows are not proved independent, or not exact floats.
    """

    def without_bounds(self) -> SparseExactPoints:
        """Return the same points, nearest in relative distances, whatever the bounds are."""
        result = copy.copy(self)
        result._lower, result._upper = np.full(self.problem.n, -np.inf), np.full(self.problem.n, np.inf)
        return result

    def point_near(self, x: Float[Array, " n"]) -> list[Ball] | None:
        point = np.clip(x, self._lower, self._upper)
        for j, value in self.fixed.items():
            point[j] = value
        system = SparseSystem(self._A, self._sizes(point))
        if not system.sigma > 0:
            return None
        for _ in range(N_REFINEMENTS):
            following = point + system.correction(midpoints(self._residuals(point)))
            if not np.isfinite(following).all():
                return None
            point = np.clip(following, self._lower, self._upper)
        radii = system.radii(np.array([round_up(abs(value)) for value in self._residuals(point)]))
        return enclosing_balls(point, radii)

    def _choose_basis(self, centre: Array) -> None:
        """Prove that the rows are independent if all unknowns may change alike."""
        blocks = [self.problem.equalities.rows]
        rows = sorted(self.promotions.rows)
        if rows:
            blocks.append(
                self.problem.inequalities.rows.form().selected(rows, (len(rows),)).block(self.problem.n_values)
            )
        self._blocks = blocks
        self._dependent: list[int] = []
        self._moves_right_sides = self.is_consistent = False
        if self.enclosures or any(getattr(block, "radius", None) is not None for block in blocks):
            return
        self._A: Any = scipy.sparse.csr_array(
            scipy.sparse.vstack([block.floats[:, : self.problem.n] for block in blocks])
        )
        is_free = np.ones(self.problem.n)
        is_free[list(self.fixed)] = 0.0
        self.is_consistent = SparseSystem(self._A, is_free).sigma > 0

    def _sizes(self, point: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return how far each unknown is from its bounds, at most by its size; 0 for fixed ones."""
        distances = np.minimum(point - self._lower, self._upper - point)
        sizes = np.minimum(distances, np.maximum(1.0, np.abs(point)))
        sizes[list(self.fixed)] = 0.0
        return sizes

    def _residuals(self, point: Float[Array, " n"]) -> list[Ball]:
        """Return b - A x at floats x."""
        z = [*balls(point), *([ZERO] * (self.problem.n_values - self.problem.n))]
        return [-value for block in self._blocks for value in block.values(z)]


def _end_by_multipliers(problem: ReadProblem, z: Sequence[Ball]) -> float:
    """Return a float that the objective does not exceed at the point of balls at which the equalities hold; or inf.

    There, it is the objective plus multiples of the equalities. With the duals of the solver, the slopes of this sum
    are small where unknowns are far from their bounds, so that wide balls cost little.
    """
    slopes, multipliers = [ZERO] * len(z), balls(problem.equalities.duals)
    total = problem.objective.add_pullback([ONE], slopes) + problem.equalities.rows.add_pullback(multipliers, slopes)
    for slope, value in zip(slopes, z, strict=True):
        total = total + slope * value
    return round_up(total) if total.is_finite() else math.inf


def _float_rows(rows: Sequence[Row], n: int) -> Float[Array, "m n"]:
    """Return the midpoints of rows as a matrix."""
    result = np.zeros((len(rows), n))
    for i, row in enumerate(rows):
        result[i, list(row)] = midpoints(row.values())
    return result


@dataclass(frozen=True)
class SlackPoint:
    """A point with the largest slack that a solver found, and the constraints that keep it from having more.

    Attributes
    ----------
    x
        The point.
    slack
        The slack of the inequalities, at most 1.
    tight_rows
        Affine inequalities with a multiplier.
    tight_bounds
        Unknowns whose bound has a multiplier, with the bound.
    tight_atoms
        Inequalities with atoms that have a multiplier.
    tight_matrices
        Positions of semidefinite constraints with a multiplier.
    """

    x: Array
    slack: float
    tight_rows: set[int]
    tight_bounds: dict[int, float]
    tight_atoms: set[int]
    tight_matrices: set[int]


def max_slack_point(problem: ReadProblem, promotions: Promotions) -> SlackPoint | None:
    """Maximize the slack of all inequalities by a solver; None if it returns no point. Nothing of this is proved."""
    slack = cp.Variable()
    constraints: list[Any] = [slack <= 1]
    row_parts = list[tuple[Any, Array]]()
    start = 0
    for expression in problem.inequalities.expressions:
        flat = cp.vec(expression, order="C")
        is_tight = np.array([start + k in promotions.rows for k in range(expression.size)], dtype=bool)
        loose, tight = np.flatnonzero(~is_tight), np.flatnonzero(is_tight)
        if len(tight):
            constraints.append(flat[tight] == 0)
        if len(loose):
            constraint = flat[loose] + slack <= 0
            constraints.append(constraint)
            row_parts.append((constraint, start + loose))
        start += expression.size
    constraints += [expression == 0 for expression in problem.equalities.expressions]
    matrix_parts = [
        (item.expression + item.expression.T) / 2 - slack * np.eye(item.n) >> 0 for item in problem.matrices
    ]
    constraints += matrix_parts
    expressions = [problem.objective_expression, *problem.inequalities.expressions]
    for domain in (condition for expression in expressions for condition in expression.domain):
        if type(domain).__name__ == "Inequality":
            condition = domain.args[0] - domain.args[1] + 1e-3 * slack <= 0
            constraints += [condition] if condition.is_dcp() else []  # exp(x) >= 0 is not
    bound_parts = list[tuple[Any, Array, Array]]()
    for variable in problem.variables:
        flat = cp.vec(variable.variable, order="C")
        for values, sign in ((problem.lower, 1), (problem.upper, -1)):
            places = [k for k, j in enumerate(variable.positions.tolist()) if j >= 0 and math.isfinite(values[j])]
            if not places:
                continue
            entries = variable.positions[places]
            widths = np.nan_to_num(problem.upper[entries] - problem.lower[entries], posinf=2.0)
            is_fixed = np.array([j in promotions.fixed for j in entries.tolist()]) | (widths <= 0)
            for part in (np.flatnonzero(is_fixed), np.flatnonzero(~is_fixed)):
                if not len(part):
                    continue
                selection, bounds = flat[np.array(places)[part]], values[entries[part]]
                if is_fixed[part[0]]:
                    targets = [promotions.fixed.get(j, float(values[j])) for j in entries[part].tolist()]
                    constraints.append(selection == np.array(targets))
                    continue
                constraint = sign * (selection - bounds) >= slack * np.minimum(1.0, widths[part] / 2)
                constraints.append(constraint)
                bound_parts.append((constraint, entries[part], bounds))
    size = sum((cp.sum_squares(variable.variable) for variable in problem.variables), cp.Constant(0.0))
    x = solved_point(problem, cp.Problem(cp.Maximize(slack - 1e-7 * size), constraints))
    if x is None or slack.value is None:
        return None
    tight_rows = {
        int(row)
        for constraint, rows in row_parts
        for row, dual in zip(rows.tolist(), dual_vector(constraint.dual_value, len(rows)), strict=True)
        if dual > MIN_ACTIVE_DUAL
    }
    tight_atoms = {row for row in tight_rows if max(problem.inequalities.rows.rows[row], default=0) >= problem.n}
    tight_bounds = {
        int(j): float(bound)
        for constraint, entries, bounds in bound_parts
        for j, bound, dual in zip(
            entries.tolist(), bounds.tolist(), dual_vector(constraint.dual_value, len(entries)), strict=True
        )
        if dual > MIN_ACTIVE_DUAL
    }
    tight_matrices = {
        position
        for position, (item, part) in enumerate(zip(problem.matrices, matrix_parts, strict=True))
        if (dual := dual_matrix(part.dual_value, item.n)) is not None and np.trace(dual) > MIN_ACTIVE_DUAL
    }
    return SlackPoint(x, float(slack.value), tight_rows - tight_atoms, tight_bounds, tight_atoms, tight_matrices)


def _matrix_name(constraint: MatrixConstraint) -> str:
    """Return a semidefinite constraint, or a variable with this attribute, as text."""
    source = constraint.source
    return f"{source.name()}, which is semidefinite" if isinstance(source, cp.Variable) else plain_words(str(source))


def solved_point(problem: ReadProblem, auxiliary: Any, ignore_dpp: bool = True) -> Array | None:
    """Solve a problem in the same variables, which keep their values. Return its x; None without an answer.

    A problem that is solved several times, with other parameters, is compiled once if `ignore_dpp` is False.
    """
    values_of_caller = [value_of(variable.variable) for variable in problem.variables]
    try:
        for variable in problem.variables:
            variable.variable.save_value(None)  # CVXPY's forms of some atoms fail beside values
        failure = solve_quietly(auxiliary, "CLARABEL", ignore_dpp=ignore_dpp)
        solved_ids = {variable.id for variable in auxiliary.variables()}
        for variable in problem.variables:
            if variable.variable.id not in solved_ids:  # any value will do
                variable.variable.save_value(np.zeros(variable.variable.shape))
        return None if failure is not None else problem.point_of_values()
    finally:
        for variable, value in zip(problem.variables, values_of_caller, strict=True):
            variable.variable.save_value(value)
