"""Feasible points near the weights of a file, which satisfy the constraints up to rounding.

A file contains floats, but only a point of the domain proves a bound. The formulas of this module lead from the floats
to such a point. They hold in exact arithmetic. If a number type carries bounds on its errors, its numbers contain the
exact point. The module imports only NumPy and the standard library.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.conjugates import NormTerm, SeparableTerm, Vector
from boostopt.verification.trusted_kernel.json_parsing import reject
from boostopt.verification.trusted_kernel.number_types import BLOCK_ROWS, ZERO_THRESHOLD, NumberType, dense_rows

FEASIBILITY_TOLERANCE = 1e-11
"""Largest violation of a constraint, relative to the cap or to 1, that counts as rounding of the weights in a file."""

RADIUS_TOLERANCE = 4e-13
"""Relative difference up to which a radius means the smallest norm, (sum c)^(1/p - 1) in floats with c <= 1e100."""

ROUND_DOWN_MARGIN = 4e-16
"""Share by which a factor is reduced, so that the scaled number is certainly not too large."""

LinearEquation = tuple[np.ndarray, np.ndarray]
"""An equation sum d_n (a_n - b_n) = 0, as (a, b)."""


def feasible_example_weights(A: NumberType, box: SeparableTerm, raw: np.ndarray, in_proportion: bool = False) -> Vector:
    """Return a point of the box near d, on the simplex if the term requires it.

    d is scaled by a factor of at most 1. The deficit of the sum is then distributed in proportion to the slack below
    the caps; or in proportion to d itself, if `in_proportion` is set and the caps allow it.

    Raises
    ------
    Rejected
        d violates a constraint by more than rounding.
    """
    if box.is_unbounded:
        return _normalize_signed(A, box, raw)
    raw = np.where(np.abs(raw) < 1e10 * ZERO_THRESHOLD, 0.0, raw)
    ends, lower = A.lower(box.upper), A.upper(box.lower)
    violation = np.maximum(np.maximum(raw - A.upper(box.upper), A.lower(box.lower) - raw), 0.0)
    if not (violation <= FEASIBILITY_TOLERANCE * np.maximum(1.0, ends)).all():
        n = int(np.argmax(violation))
        reject(f"d must lie between 0 and its caps; at example {n} it is {float(raw[n])!r}")
    movable = ends > lower
    d = A.select(movable, A.to_vector(np.clip(raw, np.maximum(lower, 0.0), np.maximum(ends, 0.0))), box.upper)
    if not box.on_simplex:
        return d
    total = math.fsum(raw.tolist())
    if not abs(total - 1.0) <= FEASIBILITY_TOLERANCE:
        reject(f"d must sum to 1; it sums to {total!r}")
    zeros, one = A.to_vector(np.zeros(len(raw))), A.to_number(1.0)
    x = A.select(movable, d, zeros)
    fixed = ~movable & (A.upper(box.upper) > ZERO_THRESHOLD)
    mass = one - A.total(A.select(fixed, d, zeros)) if fixed.any() else one
    if not movable.any():
        is_nonzero = A.lower(mass) > 0 or A.upper(mass) < 0
        return reject("no example weight can move, and in exact arithmetic their sum is not 1") if is_nonzero else d
    if fixed.any() and not A.is_certainly_nonnegative(mass):
        reject("the example weights that cannot move leave nothing for the others")
    theta = A.to_number(shrink_factor(A, A.total(x) / mass))
    x = x * theta
    deficit, slack = mass - A.total(x), A.select(movable, box.upper - x, zeros)
    if A.upper(deficit) <= 0:
        return A.select(movable, x, d)
    if in_proportion:
        scaled = x * (mass / A.total(x))
        # Weights with the sum 1 are below a cap of 1, although they may seem above it by rounding.
        fits = (A.upper(scaled) <= ends) | (A.upper(one - box.upper) <= ZERO_THRESHOLD)
        if fits[movable].all():
            return A.select(movable, scaled, d)
    support = movable & (A.upper(x) > ZERO_THRESHOLD)
    support_slack = A.select(support, slack, zeros)
    # If the cap of one example with weight is at least the mass, the examples with weight can take the deficit.
    support_suffices = A.is_certainly_nonnegative(A.largest(A.select(support, box.upper, zeros)) - mass)
    for room in (support_slack, slack):
        if A.is_certainly_nonnegative(A.total(room) - deficit):
            return A.select(movable, x + room * (deficit / A.total(room)), d)
        if support_suffices:
            break
    # All weights equal their caps up to rounding: the deficit is some fraction of the slack.
    half = np.full(len(raw), 0.5)
    fractions = A.to_vector(half) + A.interval_around_zero(half)
    return A.select(movable, x + (support_slack if support_suffices else slack) * fractions, d)


def _normalize_signed(A: NumberType, box: SeparableTerm, raw: np.ndarray) -> Vector:
    """Return weights of any sign whose sum is 1: the deficit is distributed by the equal shares that the box states."""
    total = math.fsum(raw.tolist())
    if not abs(total - 1.0) <= FEASIBILITY_TOLERANCE * max(1.0, math.fsum(np.abs(raw).tolist())):
        reject(f"d must sum to 1; it sums to {total!r}")
    d = A.to_vector(raw)
    return d + box.lower * ((A.to_number(1.0) - A.total(d)) / A.total(box.lower))


def feasible_weights_with_norm(A: NumberType, box: SeparableTerm, norm: NormTerm | None, raw: np.ndarray) -> Vector:
    """Return a point of the box near d, with a small norm if there is one; see `feasible_example_weights`.

    The norm counts a weight by its multiplicity. If the multiplicities differ by orders of magnitude, the rounding of
    the sum, distributed by the slack, may have a larger norm than all weights. The deficit is then distributed in
    proportion to the weights.
    """
    d = feasible_example_weights(A, box, raw)
    if norm is None:
        return d
    scaled = feasible_example_weights(A, box, raw, in_proportion=True)
    return scaled if A.upper(norm.norm(A, scaled)) * (1.0 + FEASIBILITY_TOLERANCE) < A.upper(norm.norm(A, d)) else d


def project_into_ball(A: NumberType, norm: NormTerm, d: Vector, box: SeparableTerm) -> Vector | None:
    """Return a convex combination of d and the point of smallest norm that lies in the ball; None if undecided.

    The point of smallest norm is proportional to c. It satisfies caps that are proportional to c, because d does; other
    caps are compared.
    """
    r, in_support = A.to_number(norm.r), A.upper(d) > ZERO_THRESHOLD
    size = norm.norm(A, d)
    if A.is_certainly_nonnegative(r - size):
        return d
    if not A.upper(size) <= norm.r * (1 + 1e-10):
        reject(f"the norm of d must be at most {norm.r!r}; it is {float(A.upper(size))!r}")
    center = min_norm_point(A, norm, in_support)
    if not (norm.caps_proportional_to_c or (A.upper(center) <= A.lower(box.upper)).all()):
        return None
    min_norm = norm.norm(A, center)
    distance = size - min_norm
    if A.lower(distance) > 0:
        # The excess includes the rounding of the norm of the combination. Near the smallest radius floats cancel here.
        excess = size - r + A.to_number(4.0 * float(A.upper(size) - A.lower(size)))
        fraction = min(float(A.upper(excess / distance)) * (1 + 1e-9) + ROUND_DOWN_MARGIN, 1.0)
        mixed = d * (A.to_number(1.0) - A.to_number(fraction)) + center * A.to_number(fraction)
        if A.is_certainly_nonnegative(r - norm.norm(A, mixed)):
            return mixed
    # A radius that equals the smallest norm up to rounding means the single point of this norm.
    is_singleton = abs(float(A.upper(min_norm)) / norm.r - 1.0) <= RADIUS_TOLERANCE
    return center if is_singleton and not A.exact else None


def min_norm_point(A: NumberType, norm: NormTerm, in_support: np.ndarray) -> Vector:
    """Return the point of the simplex with the smallest norm among weights of a support: it is proportional to c."""
    counts = A.to_vector(np.where(in_support, norm.c, 0.0))
    return counts / A.total(counts)


def project_onto_equations(A: NumberType, box: SeparableTerm, d: Vector, terms: list[LinearEquation]) -> Vector | None:
    """Return d - slack * C x, which satisfies all equations; None if no such point within the slack is found.

    The equations sum d_n C_nk = 0, and the condition that the changes sum to 0, give a small linear system for x.
    """
    if not box.on_simplex:
        return None
    zeros = A.to_vector(np.zeros(len(A.lower(d))))
    upper_slack, lower_slack = box.upper - d, d - box.lower
    slack = A.select(A.lower(upper_slack) < A.lower(lower_slack), upper_slack, lower_slack)
    # Half of a slack that is known up to a factor of 2 is available in either direction.
    is_movable = (A.lower(slack) > 0) & (A.upper(slack) <= 2.0 * A.lower(slack))
    slack = A.select(is_movable, slack, zeros)
    in_support = A.upper(d) > ZERO_THRESHOLD
    columns, known_columns = list[Vector](), set[bytes]()
    for a, b in terms:
        digits = (a[in_support] + 0.0).tobytes(), (-a[in_support] + 0.0).tobytes() if not b.any() else b""
        # If all terms with weight vanish, d lies on a face on which the equation always holds. Equal equations count
        # once.
        if not (a == b)[in_support].all() and not known_columns & set(digits):
            columns.append(A.to_vector(a) - A.to_vector(b))
        known_columns.add(digits[0])
    if not columns:
        return d
    residuals = [A.total(d * x) for x in columns] + [A.to_number(0.0)]
    if not is_movable.any():
        # No weight can change: the equations hold, or hold up to rounding.
        low, high = A.lower(A.stack(residuals)), A.upper(A.stack(residuals))
        return d if not A.exact and ((low <= 0) & (high >= 0)).all() else None
    columns = [*columns, A.to_vector(np.ones(len(A.lower(d))))]
    rows = [
        A.stack([*(A.total(slack * x * y) for y in columns), value])
        for x, value in zip(columns, residuals, strict=True)
    ]
    multipliers = _solve_linear_system(A, rows)
    if multipliers is None:
        return None
    fractions = zeros
    for x, weight in zip(columns, multipliers, strict=True):
        fractions = fractions + x * weight
    fits = A.is_certainly_nonnegative(A.to_number(0.5) - A.largest(A.select(is_movable, A.absolute(fractions), zeros)))
    return A.select(is_movable, d - slack * fractions, d) if fits else None


def _solve_linear_system(A: NumberType, rows: list[Vector]) -> list[Any] | None:
    """Return the solution of a small linear system by elimination, right sides last; None if a pivot may be 0."""
    k = len(rows)
    for i in range(k):
        best = max(range(i, k), key=lambda j: abs(float(A.upper(rows[j][i]))))
        rows[i], rows[best] = rows[best], rows[i]
        if not (A.lower(rows[i][i]) > 0 or A.upper(rows[i][i]) < 0):
            return None
        for j in range(k):
            if j != i:
                rows[j] = rows[j] - rows[i] * (rows[j][i] / rows[i][i])
    return [row[k] / row[i] for i, row in enumerate(rows)]


def scale_to_edge_bound(
    A: NumberType, U: Any, box: SeparableTerm, d: Vector, e: Vector, gamma: float, absolute: bool = False
) -> tuple[Vector, Vector] | None:
    """Return weights with edges, or absolute edges, of at most gamma, and the edges; None if this is undecided."""
    highest = np.maximum(A.upper(e), -A.lower(e)) if absolute else A.upper(e)
    exceeds = ~(highest <= gamma)
    if not exceeds.any():
        return d, e
    if box.is_unbounded:
        return None
    if box.on_simplex:
        in_support = A.upper(d) > ZERO_THRESHOLD
        # No edge of weights with the sum 1 exceeds the largest entry of the support.
        starts = range(0, U.shape[0], BLOCK_ROWS)
        blocks = ((dense_rows(U, slice(n, n + BLOCK_ROWS)), in_support[n : n + BLOCK_ROWS]) for n in starts)
        entries = ((np.abs(block) if absolute else block)[in_block] for block, in_block in blocks)
        largest = np.max([block.max(axis=0, initial=-1.0) for block in entries], axis=0)
        return (d, e) if (largest[exceeds] <= gamma).all() else None
    if gamma <= 0:
        return None
    theta = gamma / float(highest.max()) * (1.0 - ROUND_DOWN_MARGIN)
    if theta < 1.0 - 1e-9:
        reject(f"the edges of d must be at most {gamma!r}; the largest is {float(highest.max())!r}")
    return d * A.to_number(theta), e * A.to_number(theta)


def shrink_factor(A: NumberType, x: Any) -> float:
    """Return a float that is at most 1 and at most 1 / x."""
    high = float(A.upper(x))
    return 1.0 if high <= 1.0 else (1.0 - ROUND_DOWN_MARGIN) / high
