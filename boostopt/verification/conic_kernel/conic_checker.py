"""The bounds that a file of a conic program proves: weak duality, a feasible point, and a ray.

For a point w, P + diag(s) positive semidefinite with s >= 0, z_k in the dual cones and any y, every feasible x has

    <c, x> + <x, P x> / 2 >= <r, x> + <y, A x> - sum_k <z_k, b_k> - <w, P w> / 2 - <x - w, diag(s) (x - w)> / 2

with r = c + P w - Aᵀ y - sum_k G_kᵀ z_k. Each entry of x and of A x takes the bound where its product is smallest. With
c and P replaced by 0, a positive sum shows that no point is feasible. Nothing is rounded. The program is minimized
here: the objective of one that is maximized is negated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from boostopt.verification.conic_kernel.conic_schema import (
    ConicDocument,
    ConicMultipliers,
    ConicProgramStatement,
)
from boostopt.verification.conic_kernel.exact_cone_membership import is_in_cone
from boostopt.verification.conic_kernel.exact_semidefiniteness_proofs import is_semidefinite_form
from boostopt.verification.linear_kernel.linear_checker import (
    bound_of_slopes,
    check_point,
    check_ray,
    has_crossed_bounds,
)
from boostopt.verification.linear_kernel.linear_schema import ScaledVector
from boostopt.verification.problem_kernel.problem_checker import Interval, check_claimed_bounds
from boostopt.verification.trusted_kernel.json_parsing import reject

ZERO = Fraction(0)


def check_conic_document(document: ConicDocument) -> Interval:
    """Return the proved interval; Rejected if the file claims more, or its proof has a fault.

    The bounds of a program that is proved infeasible or unbounded are None.
    """
    program, multipliers, status = document.program, document.multipliers, document.claim.status
    sign = program.linear.sign
    if status == "infeasible":
        if not has_crossed_bounds(program.linear):
            proof = multipliers or reject("a proof of infeasibility must have multipliers")
            if not lower_bound(program, proof, 0) > 0:
                reject("it claims that no point is feasible; the multipliers do not prove this")
        return None, None
    upper = None if document.x is None else upper_bound(program, document.x)
    if status == "unbounded":
        if upper is None:
            reject("a program that is not infeasible must have a feasible point")
        check_conic_ray(program, document.ray or reject("a proof of unboundedness must have a ray"))
        return None, None
    lower = None if multipliers is None else lower_bound(program, multipliers, 1)
    ends = (lower, upper) if sign > 0 else tuple(None if end is None else -end for end in (upper, lower))
    interval = ends[0], ends[1]
    check_claimed_bounds(document.claim, interval)
    return interval


def upper_bound(program: ConicProgramStatement, x: ScaledVector) -> Fraction:
    """Return the objective, to be minimized, at a point; Rejected unless the point is proved feasible."""
    linear = program.linear
    check_point(linear, x)
    for k, cone in enumerate(program.cones):
        values = _products(cone.rows, x.numerators)
        point = [value + b * x.denominator for value, b in zip(values, cone.b, strict=True)]
        if not is_in_cone(cone, point):
            reject(f"the point is not proved to lie in cone {k}")
    value = sum((cost * entry for cost, entry in zip(linear.c, x.numerators, strict=True) if entry), ZERO)
    result = linear.sign * (value / x.denominator + linear.offset)
    return result if program.P is None else result + _curvature(program.P, x) / 2


def lower_bound(program: ConicProgramStatement, multipliers: ConicMultipliers, weight: int) -> Fraction:
    """Return a number that is at most the objective, times the weight, at every feasible point.

    Parameters
    ----------
    program
        The program.
    multipliers
        The multipliers.
    weight
        Factor of the objective to be minimized: 1, or 0 for a proof of infeasibility.

    Raises
    ------
    Rejected
        A bound that the sum needs is infinite, multipliers lie outside a dual cone, or P is not proved positive
        semidefinite.
    """
    linear, D = program.linear, multipliers.y.denominator
    has_tangent = program.P is not None and weight != 0
    if (multipliers.w is not None) != has_tangent or (multipliers.shifts is not None and not has_tangent):
        reject("a proof must have w if there is a P in the objective, and no w and no shifts otherwise")
    slopes = [weight * linear.sign * D * cost for cost in linear.c]
    constant = weight * linear.sign * D * linear.offset
    loss = ZERO
    if program.P is not None and multipliers.w is not None:
        if not is_semidefinite_form(program.P, multipliers.shifts):
            reject("P, with its shifts, is not proved positive semidefinite")
        for j, product in enumerate(_products(program.P, multipliers.w.numerators)):
            slopes[j] += product
        loss = (_curvature(program.P, multipliers.w) + _shift_loss(program, multipliers)) / 2
    for j, column in enumerate(linear.columns):
        slopes[j] -= sum((entry * multipliers.y.numerators[i] for i, entry in column.items()), ZERO)
    for k, (cone, z) in enumerate(zip(program.cones, multipliers.z, strict=True)):
        if not is_in_cone(cone, [Fraction(entry) for entry in z.numerators], is_dual=True):
            reject(f"the multiplier of cone {k} is not proved to lie in the dual cone")
        for row, b, factor, entry in zip(cone.rows, cone.b, cone.weights, z.numerators, strict=True):
            if entry:
                constant -= factor * entry * b
                for j, coefficient in row.items():
                    slopes[j] -= factor * entry * coefficient
    return (constant + bound_of_slopes(linear, slopes, multipliers.y.numerators)) / D - loss


def check_conic_ray(program: ConicProgramStatement, ray: ScaledVector) -> None:
    """Reject a direction that leaves a bound or a cone, or along which the objective does not fall for ever."""
    check_ray(program.linear, ray)
    if program.P is not None and any(_products(program.P, ray.numerators)):
        reject("P must be 0 along the ray")
    for k, cone in enumerate(program.cones):
        if not is_in_cone(cone, _products(cone.rows, ray.numerators)):
            reject(f"the ray is not proved to lie in cone {k}")


def _shift_loss(program: ConicProgramStatement, multipliers: ConicMultipliers) -> Fraction:
    """Return the largest <x - w, diag(s) (x - w)> within the bounds of x."""
    linear, w, total = program.linear, multipliers.w, ZERO
    for j, shift in enumerate(multipliers.shifts or ()):
        lower, upper = linear.lower[j], linear.upper[j]
        if shift < 0:
            reject("shifts must not be negative")
        if shift and w is not None:
            if lower is None or upper is None:
                reject(f"a shift needs both bounds of variable {j}, and one is infinite")
            middle = Fraction(w.numerators[j], w.denominator)
            total += shift * max((upper - middle) ** 2, (middle - lower) ** 2)
    return total


def _curvature(P: Sequence[Mapping[int, Fraction]], x: ScaledVector) -> Fraction:
    """Return <x, P x>."""
    products = zip(x.numerators, _products(P, x.numerators), strict=True)
    return sum((entry * product for entry, product in products if entry), ZERO) / x.denominator**2


def _products(rows: Sequence[Mapping[int, Fraction]], x: Sequence[int]) -> list[Fraction]:
    """Return the products of rows with a vector."""
    return [sum((entry * x[j] for j, entry in row.items() if x[j]), ZERO) for row in rows]
