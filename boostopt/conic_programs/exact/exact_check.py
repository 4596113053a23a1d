"""The conditions of an exact optimum, in fractions and from the numbers of the program alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isinf, lcm
from typing import Any

from boostopt.conic_programs.conic_program import ConicProgram

Values = Sequence[Fraction]


def is_feasible(program: ConicProgram, x: Values) -> bool:
    """Return whether x satisfies all rows and bounds."""
    activities = _activities(program, x)
    rows = zip(activities, program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    variables = zip(x, program.lower.tolist(), program.upper.tolist(), strict=True)
    return all(
        (isinf(lower) or program.to_fraction(lower) <= value) and (isinf(upper) or value <= program.to_fraction(upper))
        for value, lower, upper in [*rows, *variables]
    )


def has_crossed_bounds(program: ConicProgram) -> bool:
    """Return whether a lower bound of a row or of a variable is larger than the upper one."""
    return bool((program.row_lower > program.row_upper).any() or (program.lower > program.upper).any())


def dual_bound(program: ConicProgram, y: Values, costs: Values) -> Fraction | None:
    """Return the minimum over rows and bounds of <costs - Aᵀy, x> + <y, A x>, each part by itself.

    This is a lower bound of <costs, x> over all feasible x. None where a part has no minimum.
    """
    terms = dual_terms(program, y, costs)
    if terms is None:
        return None
    return inner_product([coefficient for coefficient, _ in terms], [limit for _, limit in terms])


def dual_terms(program: ConicProgram, y: Values, costs: Values) -> list[tuple[Fraction, Fraction]] | None:
    """Return the coefficients that `dual_bound` does not leave out, with their bounds; None where one has none."""
    reduced_costs = [cost - product for cost, product in zip(costs, _products(program, y), strict=True)]
    rows = zip(y, program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    variables = zip(reduced_costs, program.lower.tolist(), program.upper.tolist(), strict=True)
    terms = list[tuple[Fraction, Fraction]]()
    for coefficient, lower, upper in [*rows, *variables]:
        if coefficient:
            limit = lower if coefficient > 0 else upper
            if isinf(limit):
                return None
            terms.append((coefficient, program.to_fraction(limit)))
    return terms


def objective(program: ConicProgram, x: Values) -> Fraction:
    """Return <c, x> + <x, P x> / 2 + offset."""
    quadratic = inner_product(curved_products(program, x), x) / 2
    return inner_product(costs_of(program), x) + quadratic + program.to_fraction(program.offset)


def gradient(program: ConicProgram, x: Values) -> list[Fraction]:
    """Return c + P x."""
    return [cost + product for cost, product in zip(costs_of(program), curved_products(program, x), strict=True)]


def curved_products(program: ConicProgram, x: Values) -> list[Fraction]:
    """Return P x."""
    entries = [] if program.P is None else _entries(program, program.P)
    return _product(entries, x, program.shape[1])


def costs_of(program: ConicProgram) -> list[Fraction]:
    """Return the costs as fractions."""
    return [program.to_fraction(cost) for cost in program.c.tolist()]


def is_recession_direction(program: ConicProgram, ray: Values) -> bool:
    """Return whether x + t ray satisfies all rows and bounds for every feasible x and every t >= 0."""
    rows = zip(_activities(program, ray), program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    variables = zip(ray, program.lower.tolist(), program.upper.tolist(), strict=True)
    return all(
        (value >= 0 or isinf(lower)) and (value <= 0 or isinf(upper)) for value, lower, upper in [*rows, *variables]
    )


def inner_product(coefficients: Values, x: Values) -> Fraction:
    """Return <coefficients, x>."""
    first, first_denominator = _common_numerators(coefficients)
    second, second_denominator = _common_numerators(x)
    numerator = sum(a * value for a, value in zip(first, second, strict=True) if a and value)
    return Fraction(numerator, first_denominator * second_denominator)


def _activities(program: ConicProgram, x: Values) -> list[Fraction]:
    """Return A x."""
    return _product(_entries(program, program.A), x, program.shape[0])


def _products(program: ConicProgram, y: Values) -> list[Fraction]:
    """Return Aᵀ y."""
    return _product([(j, i, entry) for i, j, entry in _entries(program, program.A)], y, program.shape[1])


def _product(entries: Sequence[tuple[int, int, Fraction]], x: Values, size: int) -> list[Fraction]:
    """Return the product of a matrix and a vector.

    The vector gets a common denominator: sums of fractions with long denominators of their own would take much longer.
    """
    numerators, denominator = _common_numerators(x)
    products = [Fraction(0)] * size
    for i, j, entry in entries:
        if numerators[j]:
            products[i] += entry * numerators[j]
    return [product / denominator for product in products]


def _common_numerators(values: Values) -> tuple[list[int], int]:
    """Return whole numbers and the denominator by which they are divided."""
    denominator = 1
    for value in values:
        if denominator % value.denominator:  # a remainder takes much less time than a common divisor
            denominator = lcm(denominator, value.denominator)
    numerators = [
        value.numerator * (1 if value.denominator == denominator else denominator // value.denominator)
        for value in values
    ]
    return numerators, denominator


def _entries(program: ConicProgram, matrix: Any) -> list[tuple[int, int, Fraction]]:
    entries = matrix.tocoo()
    return [
        (i, j, program.to_fraction(entry))
        for i, j, entry in zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
    ]
