"""An active set with independent constraints, from a point: at degenerate optima more constraints are active.

Close to the point, the objective is its tangent. So the corrections of the point that restore the active constraints
solve a linear program, in which lengths are multiplied by a large scale. Its basis chooses among the active constraints
those that remain, as the exact numbers of the program require.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse
from flint import fmpq

from boostopt._utils.array_types import Array
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.basis_refinement import to_float
from boostopt.conic_programs.exact.highs_simplex import EquationProgram, solve_by_simplex
from boostopt.conic_programs.exact.quadratic.approximate_optimum import ActiveSet
from boostopt.conic_programs.exact.quadratic.complementary_program import ComplementaryProgram

SCALE = 2**40
"""Lengths are multiplied by this number."""

MAX_LENGTH = 1e7
"""Scaled distances beyond are no bounds of the corrections, and the corrections are at most 1000 times as long."""


def independent_active_set(
    program: ConicProgram, pairs: ComplementaryProgram, values: Sequence[fmpq]
) -> ActiveSet | None:
    """Return the active set of a basis of corrections; None if HiGHS returns no basis.

    Parameters
    ----------
    program
        The program.
    pairs
        Its pairs.
    values
        Values of the n variables and of the m rows.
    """
    m, n = program.shape
    x = np.array([to_float(value) for value in values[:n]])
    slopes = program.c if program.P is None else program.c + program.P @ x
    lower = _scaled_distances(pairs.lower, values, -np.inf)
    upper = _scaled_distances(pairs.upper, values, np.inf)
    is_box = ~np.isfinite(lower) & ~np.isfinite(upper)
    matrix = scipy.sparse.csc_array(scipy.sparse.hstack([program.A, -scipy.sparse.identity(m)]))
    matrix.sort_indices()
    basis = solve_by_simplex(
        EquationProgram(
            A=matrix,
            b=np.zeros(m),
            c=np.concatenate([slopes, np.zeros(m)]),
            lower=np.where(is_box, -1e3 * MAX_LENGTH, lower),
            upper=np.where(is_box, 1e3 * MAX_LENGTH, upper),
        )
    )
    if basis is None:
        return None
    is_active = ~is_box
    is_active[[k for k in basis.basic if k < n + m]] = False
    is_upper = np.zeros(n + m, dtype=bool)
    is_upper[[k for k in basis.at_upper if k < n + m]] = True
    is_upper |= ~np.isfinite(lower)
    is_equation = is_active & (lower == upper)
    return ActiveSet(
        x=np.clip(x, program.lower, program.upper),
        is_at_lower=is_equation | (is_active & ~is_upper),
        is_at_upper=is_equation | (is_active & is_upper),
    )


def _scaled_distances(bounds: Sequence[fmpq | None], values: Sequence[fmpq], infinity: float) -> Array:
    """Return the distances to bounds that are close, and infinity for others."""
    pairs = zip(bounds, values, strict=True)
    distances = np.array(
        [np.nan if bound is None else to_float((bound - value) * SCALE) for bound, value in pairs], dtype=float
    )
    is_close = np.abs(distances) < MAX_LENGTH
    return np.where(is_close, distances, infinity)
