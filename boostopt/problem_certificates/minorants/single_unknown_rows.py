"""Affine inequalities of a single unknown, whose multipliers are not needed where the box has the bound that they say.

If x_j <= u holds on the box, a multiplier of this row lowers the minimum of a minorant there, or leaves it as it is:
lambda (x_j - u) <= 0. So the slope is left to the bound, which takes it without a multiplier that fits it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.minorants.lagrangian_minorant import Choice
from boostopt.problem_certificates.problem_reader import ReadProblem

BOUND_TOL = 1e-12
"""Relative distance of a bound of the box from that of a row up to which the box has it."""


class SingleUnknownRows:
    """The affine inequalities of a single unknown that a box contains.

    Parameters
    ----------
    problem
        The problem.
    box
        The box, in which minorants are minimized.
    """

    def __init__(self, problem: ReadProblem, box: Propagation) -> None:
        self._is_implied = implied_rows(problem, *box.box)

    def without_duals(self, problem: ReadProblem) -> ReadProblem:
        """Return the problem without the duals of these rows."""
        if not self._is_implied.any():
            return problem
        inequalities = problem.inequalities
        return replace(problem, inequalities=replace(inequalities, duals=self._other_multipliers(inequalities.duals)))

    def without_multipliers(self, choice: Choice) -> Choice:
        """Return a choice without multipliers of these rows."""
        if not (choice.inequality[self._is_implied] > 0).any():
            return choice
        return replace(choice, inequality=self._other_multipliers(choice.inequality))

    def _other_multipliers(self, multipliers: Float[Array, " m"]) -> Float[Array, " m"]:
        return np.where(self._is_implied, 0.0, multipliers)


def implied_rows(problem: ReadProblem, lower: Float[Array, " n"], upper: Float[Array, " n"]) -> Bool[Array, " m"]:
    """Return which inequalities are a x_j + b <= 0, in floats, and hold nearly wherever x is within bounds."""
    result = np.zeros(len(problem.inequalities.rows), dtype=bool)
    rows, columns, coefficients, limits = _single_rows(problem)
    with np.errstate(all="ignore"):
        excess = np.where(coefficients > 0, upper[columns] - limits, limits - lower[columns])
        result[rows] = excess <= BOUND_TOL * np.maximum(1.0, np.abs(limits))
    return result


def bounds_with_rows(problem: ReadProblem) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return the bounds of x with those that inequalities of a single unknown say, rounded into the feasible set.

    Where they leave nothing in between, they are the bounds of the problem. They only propose: floats stand for balls.
    """
    lower, upper = problem.lower.copy(), problem.upper.copy()
    _, columns, coefficients, limits = _single_rows(problem)
    is_upper = coefficients > 0
    is_exact = np.abs(np.frexp(coefficients)[0]) == 0.5  # a division by a power of two
    inner = np.where(is_exact, limits, np.nextafter(limits, np.where(is_upper, -np.inf, np.inf)))
    np.minimum.at(upper, columns[is_upper], inner[is_upper])
    np.maximum.at(lower, columns[~is_upper], inner[~is_upper])
    is_empty = ~(lower <= upper)
    return np.where(is_empty, problem.lower, lower), np.where(is_empty, problem.upper, upper)


def _single_rows(
    problem: ReadProblem,
) -> tuple[Int[Array, " r"], Int[Array, " r"], Float[Array, " r"], Float[Array, " r"]]:
    """Return the inequalities a x_j + b <= 0 of a single unknown: their positions, j, a and -b / a, in floats."""
    block = problem.inequalities.rows
    matrix = block.floats
    rows = np.flatnonzero(np.diff(matrix.indptr) == 1)
    starts = matrix.indptr[rows]
    columns, coefficients = matrix.indices[starts], matrix.data[starts]
    is_used = (columns < problem.n) & (coefficients != 0)
    rows, columns, coefficients = rows[is_used], columns[is_used], coefficients[is_used]
    with np.errstate(all="ignore"):
        limits = -block.float_offsets[rows] / coefficients
    return rows, columns, coefficients, limits
