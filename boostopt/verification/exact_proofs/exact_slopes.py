"""Slopes of each kind of atom as fractions near those in floats, with the directions along which they may change.

The bound of an atom stays finite along the face of a polyhedron, or tangent to a curved boundary, from which the slope
is first moved inward by `inset`. `exact_multipliers` solves for the changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from boostopt.conic_programs.exact.rationals import to_fmpq
from boostopt.verification.problem_kernel.atoms import (
    Divergence,
    Entropy,
    EuclideanNorm,
    Exponential,
    GeometricMean,
    HuberLoss,
    LargestAbsoluteValue,
    LargestEntry,
    LogisticLoss,
    LogSumExp,
    Perspective,
    PNorm,
    Power,
    PowerMean,
    QuadraticForm,
    RelativeEntropy,
    SmallestEntry,
    SquaresOverLast,
    SumOfAbsoluteValues,
    SumOfLargest,
    SumOfSquares,
)
from boostopt.verification.problem_kernel.matrix_atoms import (
    LargestEigenvalue,
    LogDeterminant,
    MatrixEntropy,
    MatrixFraction,
    NuclearNorm,
    SpectralNorm,
    SumOfLargestEigenvalues,
)
from boostopt.verification.problem_kernel.rationals_and_balls import is_exact, is_finite, midpoint

SNAP_TOL = 1e-7
"""Relative distance from the end of its range within which a slope counts as being there."""


MAX_VANISHING = 1e-3
"""Size up to which slopes of a quotient may be 0: those of quotients that tend to 0."""

STEP_SIZE = 1e-9
"""Change of slopes, relative to their size, by which changes of bounds are measured."""

ONE, ZERO = Fraction(1), Fraction(0)


Direction = tuple[Mapping[int, Fraction], float]
"""A change of the numbers of a group by their positions, and how far it may go for the multiplier 1."""


@dataclass(frozen=True)
class GroupSlopes:
    """The numbers of one group of an atom for the multiplier 1, and the directions in which they may change."""

    numbers: Sequence[Fraction]
    directions: Sequence[Direction]


def group_slopes(atom: Any, slopes: Sequence[float], inset: float, is_snapped: bool) -> GroupSlopes:
    """Return the numbers of a group for the multiplier 1 within the domain of the conjugate, and their directions."""
    values = [Fraction(value) for value in slopes]
    for kinds, rule in _RULES:
        if isinstance(atom, kinds):
            return rule(atom, values, Fraction(inset), is_snapped)
    if is_snapped and isinstance(atom, Exponential | Power):  # the infimum at the slope 0 may be attained nowhere
        values = [ZERO if abs(value) < SNAP_TOL else value for value in values]
    return GroupSlopes(values, [({i: ONE}, max(abs(float(value)), 1e-12)) for i, value in enumerate(values)])


def _free_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return slopes that may be any numbers."""
    return GroupSlopes(values, [({i: ONE}, 1.0) for i in range(len(values))])


def _interval_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return slopes that each lie in an interval."""
    low, high = -ONE, ONE
    if isinstance(atom, HuberLoss):
        low, high = -2 * atom.threshold, 2 * atom.threshold
    elif isinstance(atom, LogisticLoss):
        low = ZERO
    numbers = [_snapped(value, low, high, is_snapped) for value in values]
    rooms = [float(min(value - low, high - value)) for value in numbers]
    return GroupSlopes(numbers, [({i: ONE}, room) for i, room in enumerate(rooms) if room > 0])


def _sum_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return slopes between 0 and a largest one, with a given sum: weights of entries, or of the largest."""
    count = atom.count if isinstance(atom, SumOfLargest) else ONE
    numbers = [_snapped(value, ZERO, ONE, is_snapped) for value in values]
    rooms = [min(value, ONE - value) if isinstance(atom, SumOfLargest) else value for value in numbers]
    last = max(range(len(values)), key=rooms.__getitem__)
    numbers[last] += count - sum(numbers)
    directions = [({i: ONE, last: -ONE}, float(room)) for i, room in enumerate(rooms) if i != last and room > 0]
    return GroupSlopes(numbers, directions)


def _absolute_sum_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return slopes whose absolute values sum to at most 1."""
    numbers = [ZERO if is_snapped and abs(value) < SNAP_TOL else value for value in values]
    size = sum(map(abs, numbers))
    numbers = [value / size for value in numbers] if size > 1 - Fraction(SNAP_TOL) else numbers
    last = max(range(len(values)), key=lambda i: abs(numbers[i]))
    signs = [ONE if value >= 0 else -ONE for value in numbers]
    directions: list[Direction] = [
        ({i: signs[i], last: -signs[last]}, float(abs(value))) for i, value in enumerate(numbers) if i != last and value
    ]
    room = float(1 - sum(map(abs, numbers)))
    return GroupSlopes(numbers, [*directions, *([({last: ONE}, room)] if room > 0 else [])])


def _norm_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return slopes in the unit ball of the dual norm; a direction in the tangent plane costs little."""
    q = 2.0 if isinstance(atom, EuclideanNorm) else float(atom.p / (atom.p - 1))
    size = sum(abs(float(value)) ** q for value in values) ** (1 / q)
    if is_snapped and max(map(abs, values), default=ZERO) > 1 - Fraction(SNAP_TOL):  # next to a unit vector
        return GroupSlopes([Fraction(round(value)) for value in values], [])
    factor = (ONE - max(inset, Fraction(1, 2**50))) / Fraction(max(size, 1.0))
    if isinstance(atom, EuclideanNorm) and size > 0.5:  # the length to 200 bits
        squares = sum(value * value for value in values)
        length = Fraction(math.isqrt(int(squares * 2**400)) + 1, 2**200)
        factor = min(ONE, (ONE - inset) / length)
    numbers = [value * factor for value in values]
    normals = [float(value) if q == 2 else math.copysign(abs(float(value)) ** (q - 1), value) for value in numbers]
    last = max(range(len(values)), key=lambda i: abs(normals[i]))
    room = max(1.0 - min(size, 1.0), float(inset))
    directions: list[Direction] = [({last: ONE}, room)]
    for i in range(len(values)):
        if i != last:
            ratio = Fraction(normals[i]) / Fraction(normals[last]) if normals[last] else ZERO
            directions.append(({i: ONE, last: -ratio}, math.sqrt(max(room, 1e-12))))
    return GroupSlopes(numbers, directions)


def _squares_over_last_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return (2 w, -|w|^2), with the last slope moved down."""
    if is_snapped and max(map(abs, values)) < MAX_VANISHING:
        return GroupSlopes([ZERO] * len(values), [])
    w = [value / 2 for value in values[:-1]]
    size = sum((value * value for value in w), ZERO)
    last, room = len(w), inset * max(size, Fraction(1, 1000))
    directions: list[Direction] = [
        ({i: ONE, last: -value}, math.sqrt(float(max(room, Fraction(1, 10**12))))) for i, value in enumerate(w)
    ]
    return GroupSlopes([*values[:-1], -size - room], [*directions, ({last: ONE}, float(room))])


def _entropy_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return (1 + log r, -r), with the second slope moved down."""
    is_divergence = isinstance(atom, Divergence)
    r = 1 - values[1] if is_divergence else -values[1]
    # The first slope to 100 bits, because a float of it is off by more than a small inset.
    exact = (flint.arb(to_fmpq(r)).log()).mid().man_exp() if r > 0 else (0, 0)
    first = Fraction(int(exact[0])) * Fraction(2) ** int(exact[1]) + (0 if is_divergence else 1)
    inset = max(inset, Fraction(1, 2**90))
    directions: list[Direction] = [
        ({0: ONE, 1: -r}, math.sqrt(float(max(inset, Fraction(1, 10**12))))),
        ({1: ONE}, float(inset * r)),
    ]
    return GroupSlopes([first, (1 if is_divergence else 0) - r * (1 + inset)], directions)


def _mean_slopes(atom: GeometricMean, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return slopes s whose weighted mean prod (s / w)^w is at least 1."""
    if not min(values) > 0:
        return GroupSlopes(values, [])
    size = math.fsum(float(w) * math.log(float(s / w)) for s, w in zip(values, atom.weights, strict=True))
    factor = Fraction(math.exp(-size)) * (1 + max(inset, Fraction(1, 10**14)))
    numbers = [value * factor for value in values]
    last = max(range(len(values)), key=lambda i: numbers[i])
    directions: list[Direction] = [({last: ONE}, float(inset * numbers[last]))]
    for i, (s, w) in enumerate(zip(numbers, atom.weights, strict=True)):
        if i != last:
            ratio = w * numbers[last] / (s * atom.weights[last])
            directions.append(({i: ONE, last: -ratio}, float(s) * math.sqrt(max(float(inset), 1e-12))))
    return GroupSlopes(numbers, directions)


def _eigenvalue_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return a symmetric matrix: semidefinite of trace 1 for the eigenvalue, any for the entropy."""
    n = atom.n
    numbers = [(values[i * n + j] + values[j * n + i]) / 2 for i in range(n) for j in range(n)]
    trace = sum(numbers[:: n + 1])
    if isinstance(atom, MatrixEntropy):  # any symmetric matrix
        return GroupSlopes(numbers, symmetric_directions([ONE] * (n * n), n, 0.0))
    if isinstance(atom, LogDeterminant) or not trace > 0:
        return GroupSlopes(numbers, symmetric_directions(numbers, n, 0.0))
    numbers = [value / trace * (1 - inset) for value in numbers]
    for i in range(n):
        numbers[i * (n + 1)] += inset / n
    last = max(range(n), key=lambda i: numbers[i * (n + 1)])
    directions = list[Direction]()
    for change, room in symmetric_directions(numbers, n, float(inset) / n):
        place = next(iter(change))
        if place % (n + 1) == 0:
            if place == last * (n + 1):
                continue
            change = {**change, last * (n + 1): -ONE}
        directions.append((change, room))
    return GroupSlopes(numbers, directions)


def _eigenvalue_sum_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return a symmetric Z of trace `count`, such that Z and I - Z are semidefinite."""
    n, count = atom.n, atom.count
    if count == n:
        return GroupSlopes([ONE if k % (n + 1) == 0 else ZERO for k in range(n * n)], [])
    numbers = [(values[i * n + j] + values[j * n + i]) / 2 * (1 - inset) for i in range(n) for j in range(n)]
    for i in range(n):
        numbers[i * (n + 1)] += inset * count / n
    share = (count - sum(numbers[:: n + 1])) / n  # rounding
    rooms = list(numbers)
    for place in range(0, n * n, n + 1):
        numbers[place] += share
        rooms[place] = numbers[place] * (1 - numbers[place])
    last = max(range(0, n * n, n + 1), key=lambda place: rooms[place])
    directions = list[Direction]()
    for change, room in symmetric_directions(rooms, n, float(inset) / n):
        place = next(iter(change))
        if place != last:
            directions.append(({**change, last: -ONE} if place % (n + 1) == 0 else change, room))
    return GroupSlopes(numbers, directions)


def _perspective_slopes(atom: Perspective, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return slopes of the function, and a last one below the bound that these prove."""
    inner = group_slopes(atom.function, [float(value) for value in values[:-1]], float(inset), is_snapped)
    base = _lower_fraction(atom.function, inner.numbers)
    if base is None:
        return GroupSlopes(values, [])
    room, last = inset * max(abs(base), Fraction(1, 1000)), len(values) - 1
    directions: list[Direction] = [({last: ONE}, float(room))]
    for change, size in inner.directions:
        step = Fraction(STEP_SIZE * max(size, 1e-12))
        next_numbers = [value + step * change.get(i, ZERO) for i, value in enumerate(inner.numbers)]
        next_base = _lower_fraction(atom.function, next_numbers)
        slope = ZERO if next_base is None else Fraction(float((next_base - base) / step))
        directions.append(({**change, last: atom.sign * slope}, size * math.sqrt(max(float(inset), 1e-12))))
    return GroupSlopes([*inner.numbers, atom.sign * (base - room)], directions)


def _lower_fraction(atom: Any, numbers: Sequence[Fraction]) -> Fraction | None:
    """Return a fraction that is not above the bound of slopes for the multiplier 1; None if they prove none."""
    bound = atom.infimum(ONE, [atom.sign * value for value in numbers])
    if bound is None or not is_finite(bound):
        return None
    return Fraction(bound) if is_exact(bound) else midpoint(bound.lower())


def _singular_value_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return a matrix in the unit ball of the dual norm: the spectral norm for the nuclear one, and the reverse."""
    floats = np.array([float(value) for value in values]).reshape(atom.m, atom.n)
    sizes = np.linalg.svd(floats, compute_uv=False)
    size = float(sizes.max() if isinstance(atom, NuclearNorm) else sizes.sum())
    inset = max(inset, Fraction(1, 10**13))
    numbers = [value * (1 - inset) / Fraction(max(size, 1.0)) for value in values]
    return GroupSlopes(numbers, [({i: ONE}, max(1.0 - size, float(inset))) for i in range(len(values))])


def _matrix_fraction_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return (2 W, -W Wᵀ) with the second matrix moved down; a change of W moves along the boundary."""
    if is_snapped and max(map(abs, values)) < MAX_VANISHING:
        return GroupSlopes([ZERO] * len(values), [])
    n, k = atom.n, atom.k
    W = [[values[i * k + j] / 2 for j in range(k)] for i in range(n)]
    products = [sum((a * b for a, b in zip(W[i], W[j], strict=True)), ZERO) for i in range(n) for j in range(n)]
    room = inset * max(sum(products[:: n + 1]), Fraction(1, 1000))
    last = [-value - (room if i % (n + 1) == 0 else 0) for i, value in enumerate(products)]
    directions = list[Direction]()
    for i in range(n):
        for j in range(k):
            change = {i * k + j: 2 * ONE}
            for row in range(n):
                for place in (row * n + i, i * n + row):
                    change[n * k + place] = change.get(n * k + place, ZERO) - W[row][j]
            directions.append((change, math.sqrt(float(max(room, Fraction(1, 10**12))))))
    for change, _ in symmetric_directions([ONE] * (n * n), n, 0.0):
        directions.append(({n * k + place: value for place, value in change.items()}, float(room) / n))
    return GroupSlopes([*values[: n * k], *last], directions)


def _power_mean_slopes(atom: Any, values: list[Fraction], inset: Fraction, is_snapped: bool) -> GroupSlopes:
    """Return slopes whose mean with the conjugate exponent is at least 1."""
    if not min(values) > 0:
        return GroupSlopes(values, [])
    q = float(atom.p / (atom.p - 1))
    size = sum(float(value) ** q for value in values) ** (1 / q)
    numbers = [value * (1 + max(inset, Fraction(1, 10**14))) / Fraction(size) for value in values]
    normals = [Fraction(float(value) ** (q - 1)) for value in numbers]
    last = max(range(len(values)), key=lambda i: numbers[i])
    directions: list[Direction] = [({last: ONE}, float(inset * numbers[last]))]
    for i, value in enumerate(numbers):
        if i != last:
            room = float(value) * math.sqrt(max(float(inset), 1e-12))
            directions.append(({i: ONE, last: -normals[i] / normals[last]}, room))
    return GroupSlopes(numbers, directions)


def symmetric_directions(numbers: Sequence[Fraction], n: int, room: float) -> list[Direction]:
    """Return the changes of the entries of a symmetric matrix."""
    sizes = [math.sqrt(max(float(numbers[i * (n + 1)]), 0.0)) + math.sqrt(room) for i in range(n)]
    return [({i * n + j: ONE, j * n + i: ONE}, sizes[i] * sizes[j]) for i in range(n) for j in range(i, n)]


def _snapped(value: Fraction, low: Fraction, high: Fraction, is_snapped: bool) -> Fraction:
    """Return a number cut to an interval, and moved to an end of it if it is near and this is wished."""
    tol = Fraction(SNAP_TOL) * (high - low) if is_snapped else ZERO
    return low if value <= low + tol else high if value >= high - tol else value


_RULES: Sequence[tuple[Any, Any]] = (
    ((SumOfSquares, QuadraticForm, Entropy), _free_slopes),
    ((SumOfAbsoluteValues, HuberLoss, LogisticLoss), _interval_slopes),
    ((LargestEntry, SmallestEntry, LogSumExp, SumOfLargest), _sum_slopes),
    (LargestAbsoluteValue, _absolute_sum_slopes),
    ((EuclideanNorm, PNorm), _norm_slopes),
    (SquaresOverLast, _squares_over_last_slopes),
    (RelativeEntropy, _entropy_slopes),
    (GeometricMean, _mean_slopes),
    (PowerMean, _power_mean_slopes),
    ((NuclearNorm, SpectralNorm), _singular_value_slopes),
    (MatrixFraction, _matrix_fraction_slopes),
    ((LargestEigenvalue, LogDeterminant, MatrixEntropy), _eigenvalue_slopes),
    (SumOfLargestEigenvalues, _eigenvalue_sum_slopes),
    (Perspective, _perspective_slopes),
)
"""The rule of each atom whose slopes are not free in proportion to their size."""

_RULES_WITHOUT_INSET = (_free_slopes, _interval_slopes, _sum_slopes, _absolute_sum_slopes)
"""The rules of polyhedra, which no inset moves."""


def has_inset(atom: Any) -> bool:
    """Return whether the slopes of an atom are moved by an inset."""
    return any(isinstance(atom, kinds) and rule not in _RULES_WITHOUT_INSET for kinds, rule in _RULES)
