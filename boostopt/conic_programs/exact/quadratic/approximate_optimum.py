"""An approximate solution of a quadratic program, from Clarabel. Nothing that it says is believed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.conic_programs.clarabel_solver import clarabel_settings, solve_by_clarabel
from boostopt.conic_programs.conic_program import ConicProgram

TOLERANCE = 1e-11
"""Accuracy that Clarabel is asked for; it stops earlier where it cannot reach it."""


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """The variables and rows at a bound: flags of the n variables, then of the m rows.

    Attributes
    ----------
    x
        Approximate values of the variables, shape (n,).
    is_at_lower, is_at_upper
        Shape (n + m,); both are True where the bounds are equal.
    """

    x: Float[Array, " n"]
    is_at_lower: Bool[Array, " pairs"]
    is_at_upper: Bool[Array, " pairs"]


def bounds_of_pairs(program: ConicProgram) -> tuple[Array, Array]:
    """Return lower and upper bounds of the n variables and m rows."""
    return (
        np.concatenate([program.lower, program.row_lower]),
        np.concatenate([program.upper, program.row_upper]),
    )


def approximate_active_set(program: ConicProgram) -> ActiveSet:
    """Return what is active in Clarabel's last iterate: where a multiplier is larger than the distance to the bound."""
    clarabel: Any = import_module("clarabel")
    n = program.shape[1]
    lower, upper = bounds_of_pairs(program)
    rows: Any = scipy.sparse.vstack([scipy.sparse.identity(n), program.A], format="csr")
    is_equation = lower == upper
    has_upper, has_lower = np.isfinite(upper) & ~is_equation, np.isfinite(lower) & ~is_equation
    n_equations, n_upper = int(is_equation.sum()), int(has_upper.sum())
    solution = solve_by_clarabel(
        None if program.P is None else scipy.sparse.triu(program.P, format="csc"),
        np.array(program.c),
        scipy.sparse.vstack([rows[is_equation], rows[has_upper], -rows[has_lower]], format="csc"),
        np.concatenate([lower[is_equation], upper[has_upper], -lower[has_lower]]),
        [clarabel.ZeroConeT(n_equations), clarabel.NonnegativeConeT(n_upper + int(has_lower.sum()))],
        clarabel_settings(TOLERANCE),
    )
    if solution is None:
        return ActiveSet(np.clip(np.zeros(n), program.lower, program.upper), is_equation.copy(), is_equation.copy())
    x, multipliers, distances = (np.nan_to_num(np.array(part)) for part in (solution.x, solution.z, solution.s))
    at_lower, at_upper = is_equation.copy(), is_equation.copy()
    is_active = multipliers > distances
    at_upper[has_upper] = is_active[n_equations : n_equations + n_upper]
    at_lower[has_lower] = is_active[n_equations + n_upper :]
    at_upper &= is_equation | ~at_lower
    return ActiveSet(np.clip(x, program.lower, program.upper), at_lower, at_upper)
