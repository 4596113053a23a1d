"""Ball arithmetic: exact floats as balls, directed floats of balls, and linear algebra whose results are proved.

A ball is a number of python-flint (`arb`): a midpoint and a radius, such that the exact result lies within. Comparisons
of balls are true only if they hold for all numbers of both balls. Source: F. Johansson, Arb: efficient
arbitrary-precision midpoint-radius interval arithmetic, IEEE Transactions on Computers 66 (2017).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import scipy.linalg

from boostopt._utils.array_types import Array, Float, Int
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.rounding_errors import INFLATION, UNIT

PRECISION = 128
"""Bits of the midpoints."""

Ball = Any
"""A number of python-flint."""

MAX_EXACT_SIZE = 25
"""Largest size of a singular matrix that is proved semidefinite in fractions."""

ZERO: Ball = flint.arb(0)
ONE: Ball = flint.arb(1)
NOT_A_NUMBER: Ball = flint.arb.nan()


def working_precision() -> AbstractContextManager[Any]:
    """Return the context in which balls have `PRECISION` bits."""
    return flint.ctx.workprec(PRECISION)


def ball(value: Any) -> Ball:
    """Return a float, or a fraction, as a ball; a float is taken as exact."""
    if isinstance(value, float | np.floating):
        return flint.arb(float(value))
    return flint.arb(flint.fmpq(int(value.numerator), int(value.denominator)))


def balls(values: Any) -> list[Ball]:
    """Return the entries of an array of floats, in C order, as exact balls."""
    return [flint.arb(value) for value in np.asarray(values, dtype=float).ravel().tolist()]


def midpoints(values: Iterable[Ball]) -> Float[Array, " n"]:
    """Return the midpoints of balls as floats."""
    return np.array([float(value.mid()) for value in values], dtype=float)


def dyadic_fractions(values: Iterable[Ball]) -> list[Fraction]:
    """Return the midpoints of finite balls, which are whole numbers times powers of two, as fractions."""
    pairs = [value.mid().man_exp() for value in values]
    return [Fraction(int(number)) * Fraction(2) ** int(exponent) for number, exponent in pairs]


def round_up(value: Ball) -> float:
    """Return a float that is not below any number of a ball; inf if there is none."""
    if not value.is_finite():
        return math.inf
    nearest = float(value.upper())
    return nearest if flint.arb(nearest) >= value else math.nextafter(nearest, math.inf)


def round_down(value: Ball) -> float:
    """Return a float that is not above any number of a ball; -inf if there is none."""
    return -round_up(-value)


Enclosure = tuple[Float[Array, " _"], Float[Array, " _"]]
"""Floats, and bounds of their distances from the numbers that they stand for."""


def enclosures(values: Sequence[Ball]) -> Enclosure:
    """Return floats near balls, and radii that contain the balls; 0 and inf for balls that no float is near to."""
    mids = [float(value.mid()) for value in values]
    distances = [value - flint.arb(mid) for value, mid in zip(values, mids, strict=True)]
    # A float of an upper bound is rounded to nearest, also to 0. An exact ball keeps the radius 0.
    radii = np.array(
        [0.0 if distance == 0 else float(distance.abs_upper()) * INFLATION + SMALLEST for distance in distances],
        dtype=float,
    )
    is_finite = np.isfinite(mids) & np.isfinite(radii)
    return np.where(is_finite, mids, 0.0), np.where(is_finite, radii, np.inf)


def float_ends(
    enclosure: tuple[Float[Array, "*shape"], Float[Array, "*shape"]],
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Return floats that no number of an enclosure is below or above: the numbers themselves where the radius is 0."""
    mids, radii = enclosure
    low = np.where(radii > 0, np.nextafter(mids - radii, -np.inf), mids)
    high = np.where(radii > 0, np.nextafter(mids + radii, np.inf), mids)
    return low, high


def blended_enclosure(first: Enclosure, second: Enclosure, fraction: float) -> Enclosure:
    """Return an enclosure of the point that is a fraction of the way from one point to another.

    The fraction is rounded to a multiple of 2^-50, so that it and the rest sum up to 1 exactly.
    """
    share = round(min(max(fraction, 0.0), 1.0) * 2.0**50) * 2.0**-50
    parts = (1 - share) * first[0], share * second[0]
    rounding = 3 * UNIT * (np.abs(parts[0]) + np.abs(parts[1])) + 4 * SMALLEST
    radii = ((1 - share) * first[1] + share * second[1] + rounding) * INFLATION + SMALLEST
    is_equal = (first[0] == second[0]) & (first[1] == 0) & (second[1] == 0)
    return np.where(is_equal, first[0], parts[0] + parts[1]), np.where(is_equal, 0.0, radii)


def enclosing_balls(mids: Float[Array, " k"], radii: Float[Array, " k"]) -> list[Ball]:
    """Return balls around floats; nan for infinite radii."""
    return [
        (flint.arb(mid) if radius == 0 else flint.arb(mid, radius)) if radius < np.inf else NOT_A_NUMBER
        for mid, radius in zip(mids.tolist(), radii.tolist(), strict=True)
    ]


def largest(values: Sequence[Ball]) -> Ball:
    """Return the largest of some balls; nan if there is none."""
    result: Ball = NOT_A_NUMBER if not values else values[0]
    for value in values[1:]:
        result = result.max(value)
    return result


def weighted_sum(weights: Iterable[Ball], values: Iterable[Ball]) -> Ball:
    """Return the sum of products."""
    total = ZERO
    for weight, value in zip(weights, values, strict=True):
        total = total + weight * value
    return total


def matrix(values: Sequence[Ball], n_rows: int) -> Any:
    """Return balls in C order as a matrix of python-flint."""
    return flint.arb_mat(n_rows, len(values) // n_rows if n_rows else 0, list(values))


def symmetric_part(values: Sequence[Ball], n: int) -> list[Ball]:
    """Return (X + Xᵀ) / 2 of an n x n matrix in C order."""
    return [(values[i * n + j] + values[j * n + i]) / 2 for i in range(n) for j in range(n)]


def cholesky(values: Sequence[Ball], n: int) -> list[list[Ball]] | None:
    """Return the lower Cholesky factor of a symmetric matrix; None if it may not be positive definite."""
    factor: list[list[Ball]] = []
    for i in range(n):
        row: list[Ball] = []
        for j in range(i):
            rest = values[i * n + j] - weighted_sum(row, factor[j][:j])
            row.append(rest / factor[j][j])
        pivot = values[i * n + i] - weighted_sum(row, row)
        if not pivot > 0:
            return None
        factor.append([*row, pivot.sqrt()])
    return factor


MAX_BALL_MATRIX = 20
"""Largest size of a matrix whose Cholesky factorization is computed in balls."""


def _is_positive_definite_in_floats(values: Sequence[Ball], n: int) -> bool:
    """Return whether the symmetric part of a matrix is proved positive definite, up to rows that are exactly 0.

    If the factorization of X - c I succeeds in floats, in any order of summation, then X - c I + D is positive
    semidefinite for a D of norm at most g / (1 - g) tr X, where g bounds the relative error of sums of n + 1 products
    (S. M. Rump, Verification of positive definiteness, BIT 46 (2006), theorem 2.3). Half of c is this bound, with the
    radii; the other half covers the rounding of c and of the diagonal.
    """
    floats, radii = (side.reshape(n, n) for side in enclosures(values))
    with np.errstate(all="ignore"):
        part = floats / 2 + floats.T / 2
        # Each halved sum has an error of one rounding, and perhaps of underflow.
        errors = (radii / 2 + radii.T / 2 + 2.0**-52 * np.abs(part)) * (1 + 2.0**-20) + 1e-320
    errors = np.where((floats == floats.T) & (radii == 0) & (radii.T == 0), 0.0, errors)
    support = np.flatnonzero(((floats != 0) | (floats.T != 0) | (errors != 0)).any(axis=1))
    part, errors = part[np.ix_(support, support)], errors[np.ix_(support, support)]
    if not len(support):
        return True
    diagonal = np.diag(part)
    if not (np.isfinite(errors).all() and (diagonal > 0).all() and np.abs(part).max() <= 1e100):
        return False
    unit = (len(support) + 4) * 2.0**-53
    shift = 2 * (unit / (1 - 2 * unit) * float(diagonal.sum()) + float(errors.sum(axis=1).max()))
    if shift < 1e-150:  # the errors of underflow are not counted
        return False
    try:
        np.linalg.cholesky(part - shift * np.eye(len(support)))
    except np.linalg.LinAlgError:
        return False
    return True


def is_positive_semidefinite(values: Sequence[Ball], n: int) -> bool:
    """Return whether the symmetric part of a matrix in C order is proved positive semidefinite."""
    if n > MAX_BALL_MATRIX:
        return _is_positive_definite_in_floats(values, n)
    entries, size = _support_matrix(values, n)
    return cholesky(entries, size) is not None or _is_exactly_semidefinite(entries, size)


def _support_matrix(values: Sequence[Ball], n: int) -> tuple[list[Ball], int]:
    """Return the symmetric part of a matrix without rows that are exactly 0, which do not matter, and its size."""
    part = symmetric_part(values, n)
    support = [i for i in range(n) if any(not part[i * n + j] == 0 for j in range(n))]
    return [part[i * n + j] for i in support for j in support], len(support)


def _is_exactly_semidefinite(entries: Sequence[Ball], n: int) -> bool:
    """Return whether a symmetric matrix of exact balls is proved positive semidefinite by elimination in fractions."""
    if n > MAX_EXACT_SIZE or not all(value.is_exact() and value.is_finite() for value in entries):
        return False
    rest = [[exact_fraction(entries[i * n + j]) for j in range(n)] for i in range(n)]
    for k in range(n):
        pivot = rest[k][k]
        if pivot < 0 or (pivot == 0 and any(value != 0 for value in rest[k][k + 1 :])):
            return False
        for i in range(k + 1, n) if pivot != 0 else ():
            if rest[i][k] != 0:
                factor = rest[i][k] / pivot
                rest[i] = [value - factor * top for value, top in zip(rest[i], rest[k], strict=True)]
    return True


def shifted(values: Sequence[Ball], n: int, shift: Ball) -> list[Ball]:
    """Return X + shift I for an n x n matrix X in C order."""
    return [value + shift if k % (n + 1) == 0 else value for k, value in enumerate(values)]


SHIFT_FACTORS = (0.0, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8, 1e-5, 1e-2, 1.0)
"""Multiples of the largest eigenvalue by which a computed eigenvalue is moved until its bound is proved."""

EIGENVALUE_ERRORS = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""Relative distances from a quotient of Rayleigh that are tried in turn as bounds of the largest eigenvalue."""

MAX_REFINED_SIZE = 60
"""Size of a matrix up to which they are, where the rounding of its entries may exceed the first two of them."""

N_INVERSE_ITERATIONS = 3
"""Number of steps of inverse iteration. Each brings the quotient of Rayleigh nearer to the largest eigenvalue."""

MAX_ENTRY = 1e150
"""Largest absolute value of an entry of a matrix whose eigenvalues are computed."""


def largest_eigenvalue_bound(values: Sequence[Ball], n: int) -> float:
    """Return a float that no eigenvalue of a symmetric matrix in C order exceeds; inf if none is proved.

    The bound s is proved by a Cholesky factorization of s I - X. It is chosen by floating-point eigenvalues, and by
    inverse iteration in balls where their errors are large beside the largest one.
    """
    if n == 0:
        return -math.inf
    floats = midpoints(values).reshape(n, n)
    if not (np.abs(floats) <= MAX_ENTRY).all():
        return math.inf
    eigenvalues = np.linalg.eigvalsh((floats + floats.T) / 2)
    size = max(float(np.abs(eigenvalues).max()), 1e-300)
    negated = [-value for value in values]
    for factor in SHIFT_FACTORS:
        bound = float(eigenvalues[-1]) + factor * size * n
        if _is_above(negated, n, bound):
            is_rough = 2.0**-53 * size * n > EIGENVALUE_ERRORS[1] * max(1.0, abs(bound))
            return _refined_bound(negated, n, bound) if is_rough and n <= MAX_REFINED_SIZE else bound
    return math.inf


def _refined_bound(negated: Sequence[Ball], n: int, bound: float) -> float:
    """Return a bound of the eigenvalues of X that is nearer to the largest one, given -X and a bound, or the same."""
    direction = balls(np.linalg.eigh(-midpoints(negated).reshape(n, n))[1][:, -1])
    for _ in range(N_INVERSE_ITERATIONS):
        solution = solve(shifted(negated, n, flint.arb(bound)), direction)
        if solution is None:
            return bound
        floats = midpoints(solution)
        direction = balls(floats / np.linalg.norm(floats))
        images = (matrix(negated, n) * matrix(direction, n)).entries()
        quotient = -float((weighted_sum(direction, images) / weighted_sum(direction, direction)).mid())
        candidates = (quotient + error * max(1.0, abs(quotient)) for error in EIGENVALUE_ERRORS)
        following = next((s for s in candidates if s < bound and _is_above(negated, n, s)), bound)
        if following == bound:
            return bound
        bound = following
    return bound


def _is_above(negated: Sequence[Ball], n: int, bound: float) -> bool:
    """Return whether a number is proved not to be below an eigenvalue of X, given -X."""
    return cholesky(*_support_matrix(shifted(negated, n, flint.arb(bound)), n)) is not None


def eigenvalue_shift(values: Sequence[Ball], n: int) -> float:
    """Return an epsilon >= 0 such that X + epsilon I is positive semidefinite, proved; inf if none is proved."""
    return max(0.0, largest_eigenvalue_bound([-value for value in values], n))


def solve(coefficients: Sequence[Ball], right_sides: Sequence[Ball]) -> list[Ball] | None:
    """Return balls that contain the solution of a square system; None if the matrix may be singular."""
    n = len(right_sides)
    if n == 0:
        return []
    try:
        return matrix(coefficients, n).solve(matrix(right_sides, n)).entries()
    except ZeroDivisionError:
        return None


def solve_in_fractions(coefficients: Sequence[Ball], right_sides: Sequence[Ball]) -> list[Ball] | None:
    """Return the solution of a square system of exact balls, exact where it is one of floats with `PRECISION` bits.

    The result is None if the matrix is singular, or a ball is not exact.
    """
    n = len(right_sides)
    if not all(value.is_exact() and value.is_finite() for value in (*coefficients, *right_sides)):
        return None
    matrix, sides = (
        flint.fmpq_mat(n, k, [exact_fraction(value) for value in values])
        for k, values in ((n, coefficients), (1, right_sides))
    )
    try:
        return [flint.arb(value) for value in matrix.solve(sides).entries()]
    except ZeroDivisionError:
        return None


def exact_rank(rows: Sequence[Sequence[Any]]) -> int:
    """Return the rank of a matrix of fractions of python-flint."""
    if not rows or not rows[0]:
        return 0
    return flint.fmpq_mat(len(rows), len(rows[0]), [value for row in rows for value in row]).rank()


def has_exact_rank(rows: Sequence[Sequence[Ball]], rank: int) -> bool:
    """Return whether a matrix of balls is proved to have a rank: it is not if a ball is not exact."""
    if not all(value.is_exact() for row in rows for value in row):
        return False
    return exact_rank([[exact_fraction(value) for value in row] for row in rows]) == rank


def exact_fraction(value: Ball) -> Any:
    """Return an exact ball as a fraction of python-flint.

    Raises
    ------
    ValueError
        The ball contains more than one number, or none.
    """
    if not (value.is_exact() and value.is_finite()):
        raise ValueError(f"expected an exact ball; got {value}")
    mantissa, exponent = value.man_exp()
    power = flint.fmpq(2) ** abs(int(exponent))
    return flint.fmpq(int(mantissa)) * (power if int(exponent) >= 0 else 1 / power)


def pivots(A: Float[Array, "m n"]) -> tuple[Float[Array, " k"], Int[Array, " n"]]:
    """Return the sizes of the pivots, and the order of the columns, of a pivoted factorization in floating point."""
    factors: Any = scipy.linalg.qr(A, pivoting=True, mode="r")
    return np.abs(np.diag(factors[0])), np.asarray(factors[1])
