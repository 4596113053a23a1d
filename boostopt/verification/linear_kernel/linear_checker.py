"""The proof of a linear program's optimum, or that it has none: weak duality, without any rounding.

For a feasible x and any y, <c, x> = <c - Aᵀ y, x> + <y, A x>. Each coefficient of x and of A x takes the bound where
its product is smallest. The sum is at most <c, x> for every feasible x, so a feasible point with this value is optimal.
With the costs 0 it is a Farkas certificate: a positive sum shows that no point is feasible. The program is minimized
here: the objective of a program that maximizes is negated.

References
----------
Applegate, Cook, Dash, Espinoza 2007, "Exact solutions to linear programming problems", Operations Research Letters 35.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from boostopt.verification.linear_kernel.linear_schema import LinearDocument, LinearProgram, ScaledVector
from boostopt.verification.trusted_kernel.json_parsing import reject

ZERO = Fraction(0)


def check_linear_document(document: LinearDocument) -> Fraction | None:
    """Return the proved optimum of the program, None where none exists; Rejected if the file does not prove its claim.

    Raises
    ------
    Rejected
        The file claims another value, or its proof has a fault.
    """
    program = document.program
    if document.status == "infeasible":
        if not has_crossed_bounds(program):
            y = document.y or reject("a proof of infeasibility must have multipliers")
            if not lower_bound(program, y, 0) > 0:
                reject("it claims that no point is feasible; the multipliers do not prove this")
        return None
    x = document.x or reject("a program that is not infeasible must have a feasible point")
    check_point(program, x)
    if document.status == "unbounded":
        check_ray(program, document.ray or reject("a proof of unboundedness must have a ray"))
        return None
    y = document.y or reject("a proof of an optimum must have multipliers")
    smallest = lower_bound(program, y, program.sign) + program.sign * program.offset
    products = (cost * numerator for cost, numerator in zip(program.c, x.numerators, strict=True) if numerator)
    value = sum(products, ZERO) / x.denominator + program.offset
    if smallest != program.sign * value:
        reject("the value of the point and the bound of the multipliers must be equal; they differ")
    if document.value != value:
        reject("it claims another optimum than the one that it proves")
    return value


def lower_bound(program: LinearProgram, y: ScaledVector, weight: int) -> Fraction:
    """Return a number that is at most weight <c, x> at every feasible point x.

    Parameters
    ----------
    program
        The program.
    y
        Multipliers of the rows.
    weight
        Factor of the costs: the sign of the program, or 0 for a proof of infeasibility.

    Raises
    ------
    Rejected
        A bound that the sum needs is infinite.
    """
    scale = weight * y.denominator
    slopes = list[Fraction]()
    for cost, column in zip(program.c, program.columns, strict=True):
        products = (entry * y.numerators[i] for i, entry in column.items() if y.numerators[i])
        slopes.append(scale * cost - sum(products, ZERO))
    return bound_of_slopes(program, slopes, y.numerators) / y.denominator


def bound_of_slopes(program: LinearProgram, slopes: Sequence[Fraction], multipliers: Sequence[int]) -> Fraction:
    """Return the smallest value of <slopes, x> + <multipliers, A x> where each entry has its bounds by itself.

    Raises
    ------
    Rejected
        A bound that the sum needs is infinite.
    """
    total = ZERO
    for slope, lower, upper, name in [
        *_with_bounds(slopes, program.lower, program.upper, "variable"),
        *_with_bounds(multipliers, program.row_lower, program.row_upper, "row"),
    ]:
        if slope:
            side = lower if slope > 0 else upper
            if side is None:
                reject(f"the proof needs the {'lower' if slope > 0 else 'upper'} bound of {name}, which is infinite")
            total += slope * side
    return total


def check_point(program: LinearProgram, x: ScaledVector) -> None:
    """Reject a point outside a bound of a variable or of a row."""
    for value, lower, upper, name in [
        *_with_bounds(x.numerators, program.lower, program.upper, "variable"),
        *_with_bounds(_activities(program, x), program.row_lower, program.row_upper, "row"),
    ]:
        if (lower is not None and value < lower * x.denominator) or (
            upper is not None and value > upper * x.denominator
        ):
            reject(f"the point must be feasible; it lies outside the bounds of {name}")


def check_ray(program: LinearProgram, ray: ScaledVector) -> None:
    """Reject a direction that leaves a bound, or along which the objective does not fall for ever."""
    for change, lower, upper, name in [
        *_with_bounds(ray.numerators, program.lower, program.upper, "variable"),
        *_with_bounds(_activities(program, ray), program.row_lower, program.row_upper, "row"),
    ]:
        if (change < 0 and lower is not None) or (change > 0 and upper is not None):
            reject(f"the ray must stay within the bounds; it leaves those of {name}")
    change = sum((cost * step for cost, step in zip(program.c, ray.numerators, strict=True) if step), ZERO)
    if not program.sign * change < 0:
        reject("the objective must fall along the ray")


def _activities(program: LinearProgram, x: ScaledVector) -> list[Fraction]:
    """Return A x, times the denominator of x."""
    sums = [ZERO] * len(program.row_lower)
    for numerator, column in zip(x.numerators, program.columns, strict=True):
        if numerator:
            for i, entry in column.items():
                sums[i] += entry * numerator
    return sums


def has_crossed_bounds(program: LinearProgram) -> bool:
    """Return whether a lower bound is above an upper one."""
    pairs = [
        *zip(program.lower, program.upper, strict=True),
        *zip(program.row_lower, program.row_upper, strict=True),
    ]
    return any(lower is not None and upper is not None and lower > upper for lower, upper in pairs)


def _with_bounds(
    values: Sequence[Fraction | int],
    lower: Sequence[Fraction | None],
    upper: Sequence[Fraction | None],
    kind: str,
) -> list[tuple[Fraction | int, Fraction | None, Fraction | None, str]]:
    """Return each value with its bounds, and its place in words."""
    names = (f"{kind} {k}" for k in range(len(values)))
    return list(zip(values, lower, upper, names, strict=True))
