"""Numbers of the checker: fractions, which are exact, and balls, which contain the exact number.

Sums, products and quotients of fractions stay fractions. A root, a logarithm, an exponential, or a fraction that has
become too long, is a ball of python-flint (Arb) of `PRECISION` bits. Comparisons are true only if they hold for every
number that a ball contains.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any

import flint

PRECISION = 256
"""Bits of a ball."""

MAX_BITS = 60_000
"""Bits of a numerator or a denominator from which a fraction becomes a ball."""

MAX_POWER = 64
"""Largest exponent of a power that is computed in fractions."""

MAX_SMALL_BLOCK = 12
"""Largest order of a matrix of balls that is factorized entry by entry."""

MAX_EXACT_WORK = 20_000_000
"""Bits of the entries of a matrix, times its size, up to which it is factorized in fractions."""

Number = Any
"""A `Fraction`, or a ball of python-flint."""

ZERO = Fraction(0)


def working_precision() -> AbstractContextManager[Any]:
    """Return the context in which balls have `PRECISION` bits."""
    return flint.ctx.workprec(PRECISION)


def to_ball(x: Number) -> Any:
    """Return a number as a ball."""
    return flint.arb(flint.fmpq(x.numerator, x.denominator)) if isinstance(x, Fraction | int) else x


def is_exact(x: Number) -> bool:
    """Return whether a number is a fraction."""
    return isinstance(x, Fraction | int)


def shortened(x: Number) -> Number:
    """Return a number, as a ball if it is a fraction that is too long."""
    is_long = is_exact(x) and max(x.numerator.bit_length(), x.denominator.bit_length()) > MAX_BITS
    return to_ball(x) if is_long else x


def pair_sum(x: Number, y: Number) -> Number:
    """Return x + y."""
    return shortened(x + y) if is_exact(x) and is_exact(y) else to_ball(x) + to_ball(y)


def pair_product(x: Number, y: Number) -> Number:
    """Return x y."""
    return shortened(x * y) if is_exact(x) and is_exact(y) else to_ball(x) * to_ball(y)


def quotient(x: Number, y: Number) -> Number:
    """Return x / y for a y that is proved to differ from 0."""
    return shortened(Fraction(x) / y) if is_exact(x) and is_exact(y) else to_ball(x) / to_ball(y)


def total(values: Iterable[Number]) -> Number:
    """Return a sum."""
    result: Number = ZERO
    for value in values:
        result = pair_sum(result, value)
    return result


def is_at_most(x: Number, y: Number) -> bool:
    """Return whether x <= y is proved."""
    return bool(x <= y) if is_exact(x) and is_exact(y) else bool(to_ball(x) <= to_ball(y))


def is_zero(x: Number) -> bool:
    """Return whether a number is the fraction 0."""
    return is_exact(x) and x == 0


def is_positive(x: Number) -> bool:
    """Return whether x > 0 is proved."""
    return bool(x > 0)


def largest(values: Sequence[Number]) -> Number:
    """Return the largest of some numbers."""
    if all(is_exact(value) for value in values):
        return max(values)
    result = to_ball(values[0])
    for value in values[1:]:
        result = result.max(to_ball(value))
    return result


def union(x: Number, y: Number) -> Number:
    """Return a number that contains both numbers."""
    return x if is_exact(x) and is_exact(y) and x == y else to_ball(x).union(to_ball(y))


def is_finite(x: Number) -> bool:
    """Return whether a number is finite."""
    return is_exact(x) or bool(x.is_finite())


def midpoint(x: Number) -> Fraction:
    """Return a fraction near a number; 0 for what is not finite."""
    if is_exact(x):
        return Fraction(x)
    if not x.is_finite():
        return ZERO
    mantissa, exponent = (int(part) for part in x.mid().man_exp())
    if abs(exponent) > MAX_BITS:
        return ZERO
    return Fraction(mantissa) * Fraction(2) ** exponent


def nearest_float(x: Number) -> float:
    """Return a float near a number; inf for what is larger than all floats."""
    try:
        return float(midpoint(x))
    except OverflowError:
        return math.inf


def exponential(x: Number) -> Number:
    """Return e^x."""
    return Fraction(1) if is_exact(x) and x == 0 else to_ball(x).exp()


def logarithm(x: Number) -> Number:
    """Return the natural logarithm of a positive number."""
    return ZERO if is_exact(x) and x == 1 else to_ball(x).log()


def lambert(x: Number) -> Number:
    """Return the w >= -1 with w e^w = x, for x >= 0."""
    return ZERO if is_zero(x) else to_ball(x).lambertw()


def root(x: Number) -> Number:
    """Return the square root of a number that is not negative, exactly for squares of fractions."""
    if is_exact(x):
        value = Fraction(x)
        top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if top * top == value.numerator and bottom * bottom == value.denominator:
            return Fraction(top, bottom)
    return real_power(x, Fraction(1, 2))


def real_power(x: Number, p: Fraction) -> Number:
    """Return x^p for x >= 0, x > 0 if p < 0; whole powers of fractions are fractions."""
    if is_exact(x) and p.denominator == 1 and abs(p) <= MAX_POWER:
        return shortened(Fraction(x) ** int(p))
    value, exponent = to_ball(x), to_ball(p)
    if value > 0:
        return value**exponent
    if p < 0:  # x may be 0
        return flint.arb.nan()
    if is_exact(x):
        return ZERO
    upper = value.upper()  # the power does not decrease
    return flint.arb(0).union(upper**exponent) if upper > 0 else ZERO


def floor_float(x: Number) -> float:
    """Return a float that is not above a number; -inf if there is none."""
    if not is_finite(x):
        return -math.inf
    if is_exact(x):
        value = Fraction(x)
        try:
            nearest = float(value)
        except OverflowError:
            return math.nextafter(math.inf, 0) if value > 0 else -math.inf
        return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
    nearest = float(x.lower())
    if math.isinf(nearest):
        return math.nextafter(math.inf, 0) if nearest > 0 else -math.inf
    return nearest if flint.arb(nearest) <= x else math.nextafter(nearest, -math.inf)


def ceil_float(x: Number) -> float:
    """Return a float that is not below a number; inf if there is none."""
    return 0.0 - floor_float(-x)


def solve(matrix: Sequence[Number], sides: Sequence[Number], n: int) -> list[Number] | None:
    """Return balls that contain the solution of a square system, both in C order; None if it may be singular."""
    k = len(sides) // n
    try:
        coefficients = flint.arb_mat(n, n, [to_ball(entry) for entry in matrix])
        return list(coefficients.solve(flint.arb_mat(n, k, [to_ball(entry) for entry in sides])).entries())
    except ZeroDivisionError:
        return None


def eigenvalues_of(matrix: Sequence[Sequence[Number]]) -> list[Number] | None:
    """Return balls that contain all eigenvalues of a symmetric matrix; None if none were found."""
    n = len(matrix)
    entries = [to_ball(entry) for row in matrix for entry in row]
    if not all(entry.is_finite() for entry in entries):
        return None
    try:
        return [value.real for value in flint.acb_mat(flint.arb_mat(n, n, entries)).eig(multiple=True)]
    except ValueError:  # python-flint found no balls of the eigenvalues
        return None


def trace_of_exponential(matrix: Sequence[Sequence[Number]]) -> Number:
    """Return the trace of the exponential of a square matrix."""
    n = len(matrix)
    entries = flint.arb_mat(n, n, [to_ball(entry) for row in matrix for entry in row]).exp().entries()
    return total(entries[:: n + 1])


def pivots_of(matrix: Sequence[Sequence[Number]]) -> list[Number] | None:
    """Return the pivots D of a factorization L D Lᵀ of a symmetric matrix; None if it may not be semidefinite.

    In fractions, a pivot 0 is allowed if the rest of its column is 0. The matrix is positive semidefinite if pivots are
    returned, and definite if none of them is 0.
    """
    rest = [list(row) for row in matrix]
    result = list[Number]()
    for k in range(len(rest)):
        pivot = rest[k][k]
        result.append(pivot)
        if is_zero(pivot):
            if any(not is_zero(rest[i][k]) for i in range(k + 1, len(rest))):
                return None
            continue
        if not is_positive(pivot):
            return None
        for i in range(k + 1, len(rest)):
            if is_zero(rest[i][k]):
                continue
            factor = quotient(rest[i][k], pivot)
            for j in range(k + 1, i + 1):
                rest[i][j] = pair_sum(rest[i][j], -pair_product(factor, rest[j][k]))
    return result


def is_semidefinite(matrix: Sequence[Sequence[Number]]) -> bool:
    """Return whether a symmetric matrix is proved positive semidefinite: in balls, or else in fractions."""
    support = [i for i, row in enumerate(matrix) if not all(map(is_zero, row))]
    if is_definite_in_balls([[to_ball(matrix[i][j]) for j in support] for i in support]):
        return True
    return _is_short(matrix) and pivots_of(matrix) is not None


def is_definite(matrix: Sequence[Sequence[Number]]) -> bool:
    """Return whether a symmetric matrix is proved positive definite: in balls, or else in fractions."""
    if is_definite_in_balls([list(map(to_ball, row)) for row in matrix]):
        return True
    pivots = pivots_of(matrix) if _is_short(matrix) else None
    return pivots is not None and all(map(is_positive, pivots))


def _is_short(matrix: Sequence[Sequence[Number]]) -> bool:
    """Return whether a matrix is small enough for an elimination in fractions."""
    bits = max((_bits(entry) for row in matrix for entry in row), default=0)
    return bits * max(len(matrix), 1) ** 3 <= MAX_EXACT_WORK


def is_definite_in_balls(matrix: Sequence[Sequence[Any]]) -> bool:
    """Return whether a symmetric matrix of balls is proved positive definite.

    A matrix is positive definite if its first block A is, and the Schur complement C - Bᵀ A^-1 B of A too.
    """
    n = len(matrix)
    if n <= MAX_SMALL_BLOCK:
        pivots = pivots_of(matrix)
        return pivots is not None and all(map(is_positive, pivots))
    k = n // 2
    first = [row[:k] for row in matrix[:k]]
    if not is_definite_in_balls(first):
        return False
    B = flint.arb_mat([row[k:] for row in matrix[:k]])
    try:
        complement = flint.arb_mat([row[k:] for row in matrix[k:]]) - B.transpose() * flint.arb_mat(first).solve(B)
    except ZeroDivisionError:  # the balls are too wide
        return False
    return is_definite_in_balls(complement.tolist())


def _bits(x: Number) -> int:
    """Return the bits of a fraction; 0 for a ball."""
    return max(x.numerator.bit_length(), x.denominator.bit_length()) if is_exact(x) else 0
