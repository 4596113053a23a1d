"""Proofs that enclosures lie in cones or in their duals, and distances from the boundary in floats.

The dual of the cone z_1 exp(z_0 / z_1) <= z_2 consists of -z_0 exp(z_1 / z_0) <= e z_2, z_0 < 0, and the closure. That
of z_0^a z_1^(1 - a) >= abs(z_2) is (z_0 / a)^a (z_1 / (1 - a))^(1 - a) >= abs(z_2). The others are dual to themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
import scipy.linalg

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.functions.formulas.intervals import ELEMENTARY_ERROR, SMALLEST
from boostopt.functions.numerics.rounding_errors import INFLATION, UNIT, gamma
from boostopt.problem_certificates.arithmetic.balls import Ball, Enclosure, enclosing_balls, float_ends
from boostopt.problem_certificates.cone_proofs.cone_form import ConeGroup

LAPACK: Any = scipy.linalg.lapack
"""SciPy's factorizations, which have no annotations."""

EXPONENTIAL_CENTRE = (-1.051383945322714, 0.556409619469370, 1.258967884768947)
"""A point in the interior of the exponential cone and of its dual."""

EXPONENTIAL_ERROR = 10 * ELEMENTARY_ERROR
"""Relative error of the exponentials of NumPy and of the products with them; what needs less is proved by balls."""

MAX_EXPONENT = 600.0
"""Size of exponents up to which floats prove something."""

MIN_NORMAL = 1e-290
"""Size of products from which their relative errors are known."""

E: Ball = flint.arb(1).exp()


def are_members(group: ConeGroup, values: Enclosure, is_dual: bool = False) -> Bool[Array, " k"]:
    """Return for each cone whether all numbers of an enclosure are proved to lie in it, or in its dual."""
    mids, radii = (part.reshape(group.count, group.size) for part in values)
    is_finite: Any = np.isfinite(mids).all(axis=1) & np.isfinite(radii).all(axis=1)
    if group.kind == "second_order":
        return is_finite & _are_in_second_order_cones(mids, radii)
    if group.kind == "semidefinite":
        order = math.isqrt(group.size)
        pairs = mids.reshape(group.count, order, order), radii.reshape(group.count, order, order)
        if group.count > 1 and order > 0 and is_finite.all():
            return _are_semidefinite(*pairs)
        results = [bool(flag) and is_semidefinite(*pair) for flag, *pair in zip(is_finite, *pairs, strict=True)]
        return np.array(results, dtype=bool)
    results = np.zeros(len(is_finite), dtype=bool)
    if group.kind == "exponential":
        results = is_finite & _are_in_exponential_cones(mids, radii, is_dual)
    for k in np.flatnonzero(is_finite & ~results).tolist():
        results[k] = _is_in_three_rows(group, enclosing_balls(mids[k], radii[k]), is_dual)
    return results


def _are_in_exponential_cones(
    mids: Float[Array, "k 3"], radii: Float[Array, "k 3"], is_dual: bool
) -> Bool[Array, " k"]:
    """Return which enclosures floats prove to lie in exponential cones or in their duals.

    With s = y and q = x / y, or s = -u and q = v / u, the cones are s exp(q) <= z and s exp(q) <= e w for s > 0. The
    largest q is at an end of its first number. Its relative error, which is at most 2 UNIT, changes the exponential by
    the factor exp(2 UNIT abs(q)) at most.
    """
    low, high = float_ends((mids, radii))
    with np.errstate(all="ignore"):
        if is_dual:
            is_positive, sizes, limits = high[:, 0] < 0, -low[:, 0], np.e * low[:, 2]  # this float is less than e
            q = np.maximum(low[:, 1] / low[:, 0], low[:, 1] / high[:, 0])
        else:
            is_positive, sizes, limits = low[:, 1] > 0, high[:, 1], low[:, 2]
            q = np.maximum(high[:, 0] / low[:, 1], high[:, 0] / high[:, 1])
        powers = np.exp(q)
        values = sizes * powers * (1 + EXPONENTIAL_ERROR + 4 * UNIT * np.abs(q))
        is_normal = (np.minimum(powers, values) > MIN_NORMAL) & (np.maximum(powers, values) < np.inf)
        return is_positive & is_normal & (np.abs(q) < MAX_EXPONENT) & (values <= limits)


def _are_in_second_order_cones(mids: Float[Array, "k s"], radii: Float[Array, "k s"]) -> Bool[Array, " k"]:
    size = mids.shape[1]
    sizes = np.abs(mids[:, 1:]) + radii[:, 1:]
    scales = np.maximum(sizes.max(axis=1, initial=0.0), 1e-290)
    relative = sizes / scales[:, None]  # squares neither overflow nor underflow to a size that counts
    norms = scales * np.sqrt((relative * relative).sum(axis=1)) * (1 + (size + 8) * UNIT)
    lowest, _ = float_ends((mids[:, 0], radii[:, 0]))
    return lowest >= np.where(sizes.any(axis=1), np.nextafter(norms, np.inf) + SMALLEST, 0.0)


def _is_in_three_rows(group: ConeGroup, z: list[Ball], is_dual: bool) -> bool:
    first, second, third = z
    if group.kind == "exponential":
        if is_dual:
            if first == 0:
                return bool(second >= 0 and third >= 0)
            return bool(first < 0 and -first * (second / first).exp() <= E * third)
        if second == 0:
            return bool(first <= 0 and third >= 0)
        return bool(second > 0 and second * (first / second).exp() <= third)
    if third == 0:
        return bool(first >= 0 and second >= 0)
    exponent = flint.arb(group.exponent)
    if not (first > 0 and second > 0):
        return False
    if is_dual:
        first, second = first / exponent, second / (1 - exponent)
    return bool((exponent * first.log() + (1 - exponent) * second.log()).exp() >= abs(third))


def is_semidefinite(mid: Float[Array, "n n"], radius: Float[Array, "n n"]) -> bool:
    """Return whether the symmetric parts of all matrices of an enclosure are proved positive semidefinite.

    Cholesky's method in floats that runs to its end proves that the matrix plus a matrix of the norm
    gamma_(n+1) / (1 - gamma_(n+1)) trace is positive semidefinite [Rump 2006, BIT 46]. If it does not, rows and columns
    are multiplied with powers of two, so that small diagonal entries count as much as large ones.
    """
    matrix = _symmetric_enclosure(mid, radius)
    if matrix is None or matrix.is_proved:
        return True
    diagonal = np.diag(mid)
    if not ((diagonal > 0).all() and np.isfinite(diagonal).all()):
        return False
    sums = scaling_exponents(diagonal)
    with np.errstate(over="ignore"):
        # Products are exact, but for an underflow.
        scaled = _symmetric_enclosure(np.ldexp(mid, sums), np.ldexp(radius, sums) + SMALLEST)
    return scaled is None or scaled.is_proved


def _are_semidefinite(mids: Float[Array, "k n n"], radii: Float[Array, "k n n"]) -> Bool[Array, " k"]:
    """Return for each of many finite enclosures what `is_semidefinite` does, of most of them at once."""
    results = _are_definite(mids, radii)
    diagonals = mids.diagonal(axis1=1, axis2=2)
    for k in np.flatnonzero(~results & (diagonals <= 0).any(axis=1)).tolist():  # rows of zeros are left out
        results[k] = is_semidefinite(mids[k], radii[k])
    rest = np.flatnonzero(~results & (diagonals > 0).all(axis=1))
    if rest.size:
        sums = scaling_exponents(diagonals[rest])
        with np.errstate(over="ignore"):
            results[rest] = _are_definite(np.ldexp(mids[rest], sums), np.ldexp(radii[rest], sums) + SMALLEST)
    return results


def _are_definite(mids: Float[Array, "k n n"], radii: Float[Array, "k n n"]) -> Bool[Array, " k"]:
    """Return which of many enclosures Cholesky's method proves semidefinite, with all their rows and columns.

    It is only tried where the eigenvalues do not rule it out.
    """
    n = mids.shape[1]
    triangles = np.tril(mids) + np.tril(mids, -1).transpose(0, 2, 1)
    stray = np.abs(mids - triangles) + radii
    norms = np.maximum(stray.sum(axis=1).max(axis=1), stray.sum(axis=2).max(axis=1)) * INFLATION
    traces = np.abs(triangles.diagonal(axis1=1, axis2=2)).sum(axis=1)
    needs = _need(n, norms, traces)
    results = _smallest_eigenvalues(triangles) > needs / 4
    triangles[results] -= needs[results, None, None] * np.eye(n)
    try:
        results[results] = np.isfinite(np.linalg.cholesky(triangles[results])).all(axis=(1, 2))
    except np.linalg.LinAlgError:
        for k in np.flatnonzero(results).tolist():
            results[k] = _factors(triangles[k])
    return results


def _need(n: int, norm_radius: Any, trace: Any) -> Any:
    """Return the multiple of the identity without which Cholesky's method has to run to its end."""
    error = float(gamma(n + 2)) / (1 - float(gamma(n + 2))) * trace
    return (norm_radius + 2 * error) * (1 + 1e-6) + n * n * SMALLEST


def scaling_exponents(diagonal: Float[Array, "*k n"]) -> Int[Array, "*k n n"]:
    """Return exponents of powers of two with which rows and columns get a diagonal near 1; it must be positive."""
    exponents = -(np.frexp(diagonal)[1] // 2)
    return exponents[..., :, None] + exponents[..., None, :]


@dataclass(frozen=True, eq=False)
class _SymmetricEnclosure:
    """A symmetric matrix X with its trace, its distance in norm from others, and the same for Cholesky's method."""

    X: Float[Array, "n n"]
    norm_radius: float
    trace: float
    need: float

    @property
    def is_proved(self) -> bool:
        """True if Cholesky's method proves that all matrices are semidefinite."""
        # The subtraction and the shifted trace are within the second error of the need.
        return math.isfinite(self.need) and _factors(self.X - self.need * np.eye(len(self.X)))


def _symmetric_enclosure(mid: Float[Array, "n n"], radius: Float[Array, "n n"] | None) -> _SymmetricEnclosure | None:
    """Return the rows with entries of the symmetric parts of an enclosure; None if there are none."""
    triangle = np.tril(mid) + np.tril(mid, -1).T
    stray = np.abs(mid - triangle) if radius is None else np.abs(mid - triangle) + radius
    support = np.flatnonzero(triangle.any(axis=1) | stray.any(axis=1) | stray.any(axis=0))
    if not support.size:
        return None
    X, stray = triangle[np.ix_(support, support)], stray[np.ix_(support, support)]
    n, norm_radius = len(X), _norm_bound(stray)
    trace = float(np.abs(np.diag(X)).sum())
    return _SymmetricEnclosure(X, norm_radius, trace, _need(n, norm_radius, trace))


def smallest_eigenvalue_bound(mid: Float[Array, "n n"], radius: Float[Array, "n n"] | None = None) -> float:
    """Return a number that is not above any eigenvalue of the symmetric parts of the matrices of an enclosure.

    It is 0 for a semidefinite matrix with a proved eigenvalue, never more.
    """
    matrix = _symmetric_enclosure(mid, radius)
    if matrix is None:
        return 0.0
    X, n, trace = matrix.X, len(matrix.X), matrix.trace
    if not (math.isfinite(trace) and math.isfinite(matrix.norm_radius)):
        return -math.inf
    if matrix.is_proved:
        return 0.0
    smallest = float(scipy.linalg.eigvalsh(X, subset_by_index=[0, 0])[0])
    shift = max(-smallest, 0.0) * (1 + 1e-6) + 3 * matrix.need + UNIT * trace
    for _ in range(6):
        if _factors(X + shift * np.eye(n)):
            error = float(gamma(n + 2)) / (1 - float(gamma(n + 2))) * (trace + 2 * n * shift)
            return -((shift + matrix.norm_radius + 2 * error) * (1 + 1e-6) + n * n * SMALLEST)
        shift *= 4
    return -math.inf


def _norm_bound(sizes: Float[Array, "n n"]) -> float:
    """Return a bound of the norm of all matrices of entries up to some sizes: the largest sum of a row or column."""
    largest = max(float(sizes.sum(axis=0).max(initial=0.0)), float(sizes.sum(axis=1).max(initial=0.0)))
    return largest * INFLATION


def _factors(X: Any) -> bool:
    """Return whether Cholesky's method in floats runs to its end."""
    if not np.isfinite(X).all():
        return False
    factor, status = LAPACK.dpotrf(X, lower=1, clean=0)
    return status == 0 and bool(np.isfinite(np.diag(factor)).all())


def _smallest_eigenvalues(matrices: Float[Array, "k n n"]) -> Float[Array, " k"]:
    """Return nearly the smallest eigenvalue of each symmetric matrix; -inf if an entry is not finite."""
    is_finite: Any = np.isfinite(matrices).all(axis=(1, 2))
    results = np.full(len(matrices), -math.inf)
    results[is_finite] = np.linalg.eigvalsh(matrices[is_finite])[:, 0]
    return results


def distances(group: ConeGroup, values: Float[Array, " rows"], is_dual: bool = False) -> Float[Array, " k"]:
    """Return nearly the distance of each point from the boundary of its cone; negative outside."""
    z = values.reshape(group.count, group.size)
    if group.kind == "second_order":
        return (z[:, 0] - np.linalg.norm(z[:, 1:], axis=1)) / math.sqrt(2)
    if group.kind == "semidefinite":
        order = math.isqrt(group.size)
        return _smallest_eigenvalues(z.reshape(group.count, order, order))
    first, second, third = z.T
    with np.errstate(all="ignore"):
        if group.kind == "exponential" and is_dual:
            barrier = -first * np.log(-first / third) + first + -second  # of -u log(-u / w) + u - v <= 0
            slopes = np.stack([-np.log(-first / third), -np.ones_like(first), first / third], axis=1)
            inside = np.minimum(-first, third)
        elif group.kind == "exponential":
            barrier = first - second * np.log(third / second)
            slopes = np.stack([np.ones_like(first), 1 - np.log(third / second), -second / third], axis=1)
            inside = np.minimum(second, third)
        else:
            a = group.exponent
            u, v = (first / a, second / (1 - a)) if is_dual else (first, second)
            power = u**a * v ** (1 - a)
            barrier = np.abs(third) - power
            slopes = np.stack([a * power / first, (1 - a) * power / second, np.ones_like(first)], axis=1)
            inside = np.minimum(first, second)
        estimate = np.minimum(-barrier / np.linalg.norm(slopes, axis=1), inside)
    return np.where(np.isfinite(estimate), estimate, -np.inf)


def centre(group: ConeGroup) -> Float[Array, " rows"]:
    """Return a point in the interior of each cone and of its dual."""
    if group.kind == "second_order":
        point = np.eye(1, group.size).ravel()
    elif group.kind == "semidefinite":
        point = np.eye(math.isqrt(group.size)).ravel()
    elif group.kind == "exponential":
        point = np.array(EXPONENTIAL_CENTRE)
    else:
        point = np.array([math.sqrt(1 + group.exponent), math.sqrt(2 - group.exponent), 0.0])
    return np.tile(point, group.count)
