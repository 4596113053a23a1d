"""Proofs that points lie in cones or in their duals, in fractions and balls.

The dual of the cone z_1 exp(z_0 / z_1) <= z_2 consists of -z_0 exp(z_1 / z_0) <= e z_2, z_0 < 0, and the closure. That
of z_0^a z_1^(1 - a) >= abs(z_2) is (z_0 / a)^a (z_1 / (1 - a))^(1 - a) >= abs(z_2). The others are dual to themselves.
Cones are closed under multiplication with positive numbers: a common denominator of a point does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from boostopt.verification.conic_kernel.conic_schema import Cone, matrix_order
from boostopt.verification.problem_kernel.rationals_and_balls import (
    exponential,
    is_at_most,
    is_semidefinite,
    logarithm,
    pair_product,
    pair_sum,
    to_ball,
)


def is_in_cone(cone: Cone, point: Sequence[Fraction], is_dual: bool = False) -> bool:
    """Return whether a point is proved to lie in the cone of a constraint, or in its dual.

    Parameters
    ----------
    cone
        The constraint.
    point
        A number for each row. Of a semidefinite matrix, and of a matrix of multipliers, the triangle of `Cone.rows`.
    is_dual
        Whether it is the dual cone.
    """
    if cone.kind == "second_order":
        return _is_in_second_order_cone(point)
    if cone.kind == "semidefinite":
        order = matrix_order(len(point))
        starts = [j * (j + 1) // 2 for j in range(order)]
        return is_semidefinite([[point[starts[max(i, j)] + min(i, j)] for j in range(order)] for i in range(order)])
    first, second, third = point
    if cone.kind == "exponential":
        return _is_in_dual_exponential_cone(point) if is_dual else _is_in_exponential_cone(point)
    if first < 0 or second < 0:
        return False
    if third == 0:
        return True
    if first == 0 or second == 0:
        return False
    if is_dual:
        first, second = first / cone.exponent, second / (1 - cone.exponent)
    logarithms = logarithm(first / abs(third)), logarithm(second / abs(third))
    sum_of_parts = pair_sum(*map(pair_product, (cone.exponent, 1 - cone.exponent), logarithms))
    return is_at_most(Fraction(0), sum_of_parts)


def _is_in_second_order_cone(point: Sequence[Fraction]) -> bool:
    if point[0] < 0:
        return False
    first, *vector = map(to_ball, point)
    difference = first * first
    for value in vector:
        difference -= value * value
    if difference > 0 or difference < 0:
        return bool(difference > 0)
    return point[0] ** 2 >= sum((value**2 for value in point[1:] if value), Fraction(0))


def _is_in_exponential_cone(point: Sequence[Fraction]) -> bool:
    first, second, third = point
    if second == 0:
        return first <= 0 and third >= 0
    return second > 0 and third > 0 and is_at_most(first / second, logarithm(third / second))


def _is_in_dual_exponential_cone(point: Sequence[Fraction]) -> bool:
    first, second, third = point
    if first == 0:
        return second >= 0 and third >= 0
    if first > 0 or third <= 0:
        return False
    if second == first:
        return -first <= third
    return bool(to_ball(-first) * exponential(second / first - 1) <= to_ball(third))
