"""The conditions of an exact optimum, in rational numbers and from the numbers of the program alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from boostopt._utils.array_types import Array
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.quadratic.negative_curvature import is_convex
from boostopt.conic_programs.exact.rational_arrays import (
    RationalArray,
    combined_columns,
    rational_array,
    rational_matrix,
    zero_array,
)


def is_proof(
    program: ConicProgram,
    status: str,
    x: RationalArray | None,
    y: RationalArray | None,
    ray: RationalArray | None,
    has_convex_objective: bool = False,
) -> bool:
    """Return whether every condition of a status holds.

    Parameters
    ----------
    program
        A linear or quadratic program.
    status
        "optimal", "infeasible" or "unbounded".
    x, y, ray
        As of `ExactOptimum`.
    has_convex_objective
        Whether it was proved before that the objective is convex.
    """
    if status == "infeasible":
        bound = None if y is None else dual_bound(program, y, zero_array(program.shape[1]))
        return has_crossed_bounds(program) or (bound is not None and bound > 0)
    if x is None or not is_feasible(program, x):
        return False
    if status == "unbounded":
        falls = ray is not None and costs_of(program).inner_product(ray) < 0
        is_straight = ray is not None and not any(curved_products(program, ray).numerators)
        return falls and is_straight and ray is not None and is_recession_direction(program, ray)
    # A convex objective lies above its tangent at x, and x minimizes the tangent if its dual bound is attained.
    slopes = gradient(program, x)
    bound = None if y is None else dual_bound(program, y, slopes)
    is_attained = bound is not None and bound == slopes.inner_product(x)
    return is_attained and (has_convex_objective or is_convex(program))


def is_feasible(program: ConicProgram, x: RationalArray) -> bool:
    """Return whether x satisfies all rows and bounds."""
    return _is_within(program, x, program.lower, program.upper) and _is_within(
        program, _activities(program, x), program.row_lower, program.row_upper
    )


def has_crossed_bounds(program: ConicProgram) -> bool:
    """Return whether a lower bound of a row or of a variable is larger than the upper one."""
    return bool((program.row_lower > program.row_upper).any() or (program.lower > program.upper).any())


def dual_bound(program: ConicProgram, y: RationalArray, costs: RationalArray) -> Fraction | None:
    """Return the minimum over rows and bounds of <costs - Aᵀy, x> + <y, A x>, each part by itself.

    This is a lower bound of <costs, x> over all feasible x. None where a part has no minimum.
    """
    parts = _dual_parts(program, y, costs)
    return None if parts is None else sum((part.inner_product(limits) for part, limits in parts), Fraction(0))


def dual_terms(program: ConicProgram, y: RationalArray, costs: RationalArray) -> list[tuple[Fraction, Fraction]] | None:
    """Return the coefficients that `dual_bound` does not leave out, with their bounds; None where one has none."""
    parts = _dual_parts(program, y, costs)
    if parts is None:
        return None
    return [
        pair for part, limits in parts for pair in zip(part.fractions(), limits.fractions(), strict=True) if pair[0]
    ]


def _dual_parts(
    program: ConicProgram, y: RationalArray, costs: RationalArray
) -> list[tuple[RationalArray, RationalArray]] | None:
    """Return the multipliers and the reduced costs that are not 0, with the limits at which their parts are least."""
    reduced_costs = costs.less(rational_matrix(program.A, program.numbers).products(y))
    parts = list[tuple[RationalArray, RationalArray]]()
    for values, lower, upper in (
        (y, program.row_lower, program.row_upper),
        (reduced_costs, program.lower, program.upper),
    ):
        is_used = (values.numerators != 0).astype(bool)
        limits = np.where((values.numerators > 0).astype(bool), lower, upper)[is_used]
        if not np.isfinite(limits).all():
            return None
        parts.append((values.selected(is_used), rational_array(limits, program.numbers)))
    return parts


def objective(program: ConicProgram, x: RationalArray) -> Fraction:
    """Return <c, x> + <x, P x> / 2 + offset."""
    value = costs_of(program).inner_product(x) + program.to_fraction(program.offset)
    return value if program.P is None else value + curved_products(program, x).inner_product(x) / 2


def gradient(program: ConicProgram, x: RationalArray) -> RationalArray:
    """Return c + P x."""
    costs = costs_of(program)
    if program.P is None:
        return costs
    products = curved_products(program, x)
    return costs.less(RationalArray(-products.numerators, products.denominator))


def curved_products(program: ConicProgram, x: RationalArray) -> RationalArray:
    """Return P x."""
    if program.P is None:
        return zero_array(program.shape[1])
    return rational_matrix(program.P, program.numbers).products(x)  # P is symmetric: its columns are its rows


def costs_of(program: ConicProgram) -> RationalArray:
    """Return the costs."""
    return rational_array(program.c, program.numbers)


def is_recession_direction(program: ConicProgram, ray: RationalArray) -> bool:
    """Return whether x + t ray satisfies all rows and bounds for every feasible x and every t >= 0."""
    return all(
        _is_within(program, values, np.where(np.isinf(lower), -np.inf, 0.0), np.where(np.isinf(upper), np.inf, 0.0))
        for values, lower, upper in (
            (_activities(program, ray), program.row_lower, program.row_upper),
            (ray, program.lower, program.upper),
        )
    )


def _activities(program: ConicProgram, x: RationalArray) -> RationalArray:
    """Return A x."""
    return combined_columns(program.A, x, program.numbers)


def _is_within(program: ConicProgram, values: RationalArray, lower: Array, upper: Array) -> bool:
    return not (values.is_below(lower, program.numbers).any() or values.is_above(upper, program.numbers).any())
