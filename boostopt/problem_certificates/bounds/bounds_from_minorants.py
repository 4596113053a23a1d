"""Bounds of unknowns from minorants of +-x_j over the feasible points below a level of the objective.

A minorant of -s x_j over {constraints, f0 <= U} has the form -s x_j >= alpha + <r, x> with small r. So for all open
entries, |x_j| <= beta_j + rho_j |x|_inf, and |x|_inf <= max(beta, other bounds) / (1 - rho). One solve for the sum of
all entries that are bounded on one side often bounds them all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.arithmetic.balls import ZERO, Ball, ball, round_up
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.feasible_point import solved_point
from boostopt.problem_certificates.leaf_values import dual_matrix, dual_vector
from boostopt.problem_certificates.minorants.lagrangian_minorant import WrongSign, affine_minorant
from boostopt.problem_certificates.minorants.stationary_multipliers import float_point, improved_choice, initial_choice
from boostopt.problem_certificates.problem_reader import ReadProblem

MAX_SOLVES = 200
"""Maximum number of auxiliary solves."""

MAX_SOLVED_ENTRIES = 40_000
"""Maximum number of unknowns of all auxiliary solves together."""

MAX_RHO = 0.5
"""Maximum sum of absolute slopes that are left."""

N_STEPS = 6
"""Number of steps for each minorant."""


class CoordinateBounds:
    """The auxiliary problem: minimize a linear function over the feasible points below a level.

    Parameters
    ----------
    problem
        The problem.
    bounds
        The bounds that hold already. They are improved in place.
    level
        An upper bound of the optimum; inf for all feasible points.
    right_side_change
        By how much right sides may be moved.
    """

    def __init__(self, problem: ReadProblem, bounds: Propagation, level: float, right_side_change: float = 0.0) -> None:
        self.right_side_change = right_side_change
        self.problem = problem
        self.bounds = bounds
        self.level = level
        self._slopes: Any = cp.Parameter(problem.n)
        flat = [cp.vec(variable.variable, order="C") for variable in problem.variables]
        target: Any = cp.Constant(0.0)
        for variable, entries in zip(problem.variables, flat, strict=True):
            first = {j: k for k, j in reversed(list(enumerate(variable.positions.tolist()))) if j >= 0}
            if first:
                target = target + self._slopes[list(first)] @ entries[list(first.values())]
        self._inequalities = [expression <= 0 for expression in problem.inequalities.expressions]
        self._equalities = [expression == 0 for expression in problem.equalities.expressions]
        self._matrices = [(item.expression + item.expression.T) / 2 >> 0 for item in problem.matrices]
        constraints: list[Any] = [*self._inequalities, *self._equalities, *self._matrices]
        for variable, entries in zip(problem.variables, flat, strict=True):
            for values, sign in ((problem.lower, 1), (problem.upper, -1)):
                places = [k for k, j in enumerate(variable.positions.tolist()) if j >= 0 and math.isfinite(values[j])]
                if places:
                    constraints.append(sign * (entries[places] - values[variable.positions[places]]) >= 0)
        self._level: Any = None
        if math.isfinite(level):
            self._level = problem.objective_expression <= level + max(1e-3 * abs(level), 1e-3)
            constraints.append(self._level)
        self._problem = cp.Problem(cp.Minimize(target), constraints)

    def run(self) -> int:
        """Improve the bounds; return the number of sides that stay unbounded."""
        lower, upper = self.bounds.box
        one_sided = np.where(np.isfinite(lower) & ~np.isfinite(upper), 1.0, 0.0)
        one_sided -= np.where(np.isfinite(upper) & ~np.isfinite(lower), 1.0, 0.0)
        if np.count_nonzero(one_sided) > 1:
            self._bound_sum(one_sided)
            self.bounds.run()
        lower, upper = self.bounds.box
        sides = [(j, 1.0) for j in np.flatnonzero(~np.isfinite(upper)).tolist()]
        sides += [(j, -1.0) for j in np.flatnonzero(~np.isfinite(lower)).tolist()]
        if not sides or len(sides) > MAX_SOLVES or len(sides) * self.problem.n > MAX_SOLVED_ENTRIES:
            return len(sides)
        results: dict[tuple[int, float], tuple[Ball, Ball]] = {}
        for j, side in sides:
            slopes = np.zeros(self.problem.n)
            slopes[j] = side
            result = self._minorant(slopes)
            if result is None:
                continue
            results[j, side] = result
        if len(results) < len(sides):
            return len(sides) - len(results)
        size, rho = self._known_size(), ZERO
        for beta, rest in results.values():
            size, rho = size.max(abs(beta)), rho.max(rest)
        limit = size / (1 - rho)
        for (j, side), (beta, rest) in results.items():
            bound = round_up(beta + rest * limit)
            self.bounds.tighten(j, *((-math.inf, bound) if side > 0 else (-bound, math.inf)))
        return 0

    def _bound_sum(self, signs: Float[Array, " n"]) -> None:
        """Bound the entries that have one bound, by a bound of the sum of their distances from it."""
        result = self._minorant(signs)
        if result is None:
            return
        beta, rest = result
        lower, upper = self.bounds.box
        entries = np.flatnonzero(signs)
        free = np.flatnonzero(~np.isfinite(lower) & ~np.isfinite(upper)).tolist()
        if not rest == 0 and not dominated_entries(self.problem).issuperset(free):
            return
        # The sum of all distances is at most beta minus their sum at the bounds; so is each of them.
        total = beta
        for j in entries.tolist():
            total = total - ball(float(lower[j] if signs[j] > 0 else -upper[j]))
        size = self._known_size()
        limit = (total.max(ZERO) + size) / (1 - rest)
        distance = total + rest * limit
        for j in entries.tolist():
            if signs[j] > 0:
                self.bounds.tighten(j, -math.inf, round_up(ball(float(lower[j])) + distance))
            else:
                self.bounds.tighten(j, -round_up(-(ball(float(upper[j])) - distance)), math.inf)

    def _known_size(self) -> Ball:
        """Return the largest absolute value of the finite bounds."""
        values = np.concatenate(self.bounds.box)
        return ball(float(np.abs(values[np.isfinite(values)]).max(initial=0.0)))

    def _minorant(self, signs: Float[Array, " n"]) -> tuple[Ball, Ball] | None:
        """Return beta and rho with <signs, x> <= beta + rho |x|_inf at the points that count; None without a proof."""
        problem = self.problem
        self._slopes.value = -signs
        x = solved_point(problem, self._problem, ignore_dpp=False)
        if x is None:
            return None
        weight = 0.0 if self._level is None else max(float(dual_vector(self._level.dual_value, 1)[0]), 0.0)
        matrices = [
            replace(item, dual=dual_matrix(constraint.dual_value, item.n))
            for item, constraint in zip(problem.matrices, self._matrices, strict=True)
        ]
        copied = replace(
            problem,
            inequalities=replace(problem.inequalities, duals=_stacked_duals(self._inequalities)),
            equalities=replace(problem.equalities, duals=_stacked_duals(self._equalities)),
            matrices=matrices,
        )
        point = float_point(copied, x)
        try:
            choice = initial_choice(copied, point, 1e-5, weight)
            choice = replace(choice, linear=-signs, level=self.level if math.isfinite(self.level) else 0.0)
            choice = improved_choice(copied, choice, point, self.bounds.box, 1e-5, N_STEPS)
            minorant = affine_minorant(copied, choice, self.bounds)
        except (WrongSign, np.linalg.LinAlgError):  # the latter: eigenvalues did not converge
            return None
        lower, upper = self.bounds.box
        total, rest = minorant.offset - ball(self.right_side_change) * minorant.multiplier_size, ZERO
        for j, slope in enumerate(minorant.slopes):
            low, high = float(lower[j]), float(upper[j])
            if slope == 0:
                continue
            if slope >= 0 and math.isfinite(low):
                total = total + slope * ball(low)
            elif slope <= 0 and math.isfinite(high):
                total = total + slope * ball(high)
            elif math.isfinite(low) and math.isfinite(high):
                total = total + (slope * ball(low)).min(slope * ball(high))
            else:
                rest = rest + abs(slope)
        return (-total, rest) if total.is_finite() and rest < MAX_RHO else None


def dominated_entries(problem: ReadProblem) -> set[int]:
    """Return the entries off the diagonal of semidefinite variables: none exceeds the largest on the diagonal."""
    result = set[int]()
    for constraint in problem.matrices:
        rows, offsets = constraint.rows.rows, constraint.rows.offsets
        if all(len(row) == 1 and row[min(row)] == 1 for row in rows) and all(offset == 0 for offset in offsets):
            result |= {min(row) for k, row in enumerate(rows) if k % (constraint.n + 1)}
    return result


def _stacked_duals(constraints: Sequence[Any]) -> Array:
    """Return the duals of constraints, one after the other."""
    return np.concatenate([np.zeros(0), *(dual_vector(item.dual_value, item.size) for item in constraints)])
