"""Affine inequalities of a single unknown, whose multipliers are not needed where the box has the bound that they say.

If x_j <= u holds on the box, a multiplier of this row lowers the minimum of a minorant there, or leaves it as it is:
lambda (x_j - u) <= 0. So the slope is left to the bound, which takes it without a multiplier that fits it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float
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
    block = problem.inequalities.rows
    result = np.zeros(len(block), dtype=bool)
    if not len(block):
        return result
    matrix = block.floats
    starts, is_single = matrix.indptr[:-1], np.diff(matrix.indptr) == 1
    rows = np.flatnonzero(is_single)
    columns, coefficients = matrix.indices[starts[rows]], matrix.data[starts[rows]]
    is_used = (columns < problem.n) & (coefficients != 0)
    rows, columns, coefficients = rows[is_used], columns[is_used], coefficients[is_used]
    with np.errstate(all="ignore"):
        limits = -block.float_offsets[rows] / coefficients
        excess = np.where(coefficients > 0, upper[columns] - limits, limits - lower[columns])
        result[rows] = excess <= BOUND_TOL * np.maximum(1.0, np.abs(limits))
    return result
