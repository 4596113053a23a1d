"""Points that satisfy the conditions of a program exactly, near weights that do so but for rounding.

What a file holds are floats; what proves a bound is a point of the domain. These are the formulas that lead from one to
the other. They hold in exact arithmetic, and where a number type carries bounds of its errors, its numbers contain the
exact point. Only NumPy and the standard library are imported here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.conjugates import NormTerm, SeparableTerm, Vector
from boostopt.verification.trusted_kernel.json_parsing import reject
from boostopt.verification.trusted_kernel.number_types import BLOCK_ROWS, ZERO_THRESHOLD, NumberType, dense_rows

FEASIBILITY_TOLERANCE = 1e-11
"""By how much weights in a file may miss their conditions and still count as rounded."""

RADIUS_TOLERANCE = 4e-13
"""By how much a radius may miss the smallest norm and still mean it: (sum c)^(1/p - 1) in floats, c up to 1e100."""

ROUND_DOWN_MARGIN = 4e-16
"""By how much a factor is taken smaller, so that what it scales is certainly not too large."""

LinearEquation = tuple[np.ndarray, np.ndarray]
"""An equation sum d_n (a_n - b_n) = 0, as (a, b)."""


def feasible_example_weights(A: NumberType, box: SeparableTerm, raw: np.ndarray, in_proportion: bool = False) -> Vector:
    """Return a point of the box, on the simplex where it must be; Rejected if d is none but for rounding.

    d is scaled by a factor of at most 1, and what is then missing is shared in proportion to the room below the caps;
    or to d itself, where that is asked for and the caps allow it.
    """
    if box.is_unbounded:
        return _normalize_signed(A, box, raw)
    raw = np.where(np.abs(raw) < 1e10 * ZERO_THRESHOLD, 0.0, raw)
    ends, lower = A.lower(box.upper), A.upper(box.lower)
    beyond = np.maximum(np.maximum(raw - A.upper(box.upper), A.lower(box.lower) - raw), 0.0)
    if not (beyond <= FEASIBILITY_TOLERANCE * np.maximum(1.0, ends)).all():
        n = int(np.argmax(beyond))
        reject(f"d must lie between 0 and its caps; at example {n} it is {float(raw[n])!r}")
    movable = ends > lower
    d = A.where(movable, A.to_vector(np.clip(raw, np.maximum(lower, 0.0), np.maximum(ends, 0.0))), box.upper)
    if not box.on_simplex:
        return d
    total = math.fsum(raw.tolist())
    if not abs(total - 1.0) <= FEASIBILITY_TOLERANCE:
        reject(f"d must sum to 1; it sums to {total!r}")
    nothing, one = A.to_vector(np.zeros(len(raw))), A.to_number(1.0)
    x = A.where(movable, d, nothing)
    fixed = ~movable & (A.upper(box.upper) > ZERO_THRESHOLD)
    mass = one - A.total(A.where(fixed, d, nothing)) if fixed.any() else one
    if not movable.any():
        apart = A.lower(mass) > 0 or A.upper(mass) < 0
        return reject("no example weight can move, and in exact arithmetic their sum is not 1") if apart else d
    if fixed.any() and not A.is_certainly_nonnegative(mass):
        reject("the example weights that cannot move leave nothing for the others")
    theta = A.to_number(shrink_factor(A, A.total(x) / mass))
    x = x * theta
    missing, room = mass - A.total(x), A.where(movable, box.upper - x, nothing)
    if A.upper(missing) <= 0:
        return A.where(movable, x, d)
    if in_proportion:
        scaled = x * (mass / A.total(x))
        # What sums to 1 is below a cap of 1, though it may seem above by rounding.
        within = (A.upper(scaled) <= ends) | (A.upper(one - box.upper) <= ZERO_THRESHOLD)
        if within[movable].all():
            return A.where(movable, scaled, d)
    support = movable & (A.upper(x) > ZERO_THRESHOLD)
    used = A.where(support, room, nothing)
    # Where the cap of one example with weight is large enough, those with weight can take what is missing.
    enough = A.is_certainly_nonnegative(A.largest(A.where(support, box.upper, nothing)) - mass)
    for space in (used, room):
        if A.is_certainly_nonnegative(A.total(space) - missing):
            return A.where(movable, x + space * (missing / A.total(space)), d)
        if enough:
            break
    # All weights stand at their caps but for rounding: some share of the room is what is missing.
    half = np.full(len(raw), 0.5)
    share = A.to_vector(half) + A.interval_around_zero(half)
    return A.where(movable, x + (used if enough else room) * share, d)


def _normalize_signed(A: NumberType, box: SeparableTerm, raw: np.ndarray) -> Vector:
    """Return weights of any sign, what their sum misses of 1 shared in the equal shares at which the box is stated."""
    total = math.fsum(raw.tolist())
    if not abs(total - 1.0) <= FEASIBILITY_TOLERANCE * max(1.0, math.fsum(np.abs(raw).tolist())):
        reject(f"d must sum to 1; it sums to {total!r}")
    d = A.to_vector(raw)
    return d + box.lower * ((A.to_number(1.0) - A.total(d)) / A.total(box.lower))


def feasible_weights_with_norm(A: NumberType, box: SeparableTerm, norm: NormTerm | None, raw: np.ndarray) -> Vector:
    """Return the same where there may be a norm.

    It counts a weight by its multiplicity, and where these are far apart the rounding of a sum, shared by the room, may
    be worth more than all weights: then it is shared in proportion to them.
    """
    d = feasible_example_weights(A, box, raw)
    if norm is None:
        return d
    scaled = feasible_example_weights(A, box, raw, in_proportion=True)
    return scaled if A.upper(norm.norm(A, scaled)) * (1.0 + FEASIBILITY_TOLERANCE) < A.upper(norm.norm(A, d)) else d


def project_into_ball(A: NumberType, norm: NormTerm, d: Vector, box: SeparableTerm) -> Vector | None:
    """Return d mixed with the point of smallest norm as far as the ball asks; None where that cannot be told.

    That point is proportional to c: within caps where they are central, as d is; others are looked at.
    """
    r, live = A.to_number(norm.r), A.upper(d) > ZERO_THRESHOLD
    size = norm.norm(A, d)
    if A.is_certainly_nonnegative(r - size):
        return d
    if not A.upper(size) <= norm.r * (1 + 1e-10):
        reject(f"the norm of d must be at most {norm.r!r}; it is {float(A.upper(size))!r}")
    center = min_norm_point(A, norm, live)
    if not (norm.caps_proportional_to_c or (A.upper(center) <= A.lower(box.upper)).all()):
        return None
    smallest = norm.norm(A, center)
    distance = size - smallest
    if A.lower(distance) > 0:
        # Room for the rounding of the mixed point's own norm, too. Near the smallest radius floats would cancel here.
        excess = size - r + A.to_number(4.0 * float(A.upper(size) - A.lower(size)))
        share = min(float(A.upper(excess / distance)) * (1 + 1e-9) + ROUND_DOWN_MARGIN, 1.0)
        mixed = d * (A.to_number(1.0) - A.to_number(share)) + center * A.to_number(share)
        if A.is_certainly_nonnegative(r - norm.norm(A, mixed)):
            return mixed
    # A radius that is the smallest norm but for rounding stands for the one point of that norm.
    touching = abs(float(A.upper(smallest)) / norm.r - 1.0) <= RADIUS_TOLERANCE
    return center if touching and not A.exact else None


def min_norm_point(A: NumberType, norm: NormTerm, live: np.ndarray) -> Vector:
    """Return the point of the simplex with the smallest norm, of weights of some examples: those proportional to c."""
    counts = A.to_vector(np.where(live, norm.c, 0.0))
    return counts / A.total(counts)


def project_onto_equations(A: NumberType, box: SeparableTerm, d: Vector, terms: list[LinearEquation]) -> Vector | None:
    """Return d moved by room * C x, at most by its room, so that all equations hold; None where no such move is known.

    The conditions sum d_n C_nk = 0 and that the moves sum to 0 give a small linear system for x.
    """
    if not box.on_simplex:
        return None
    nothing = A.to_vector(np.zeros(len(A.lower(d))))
    up, down = box.upper - d, d - box.lower
    room = A.where(A.lower(up) < A.lower(down), up, down)
    # Half of a room that is known to a factor of 2 is room in either direction.
    free = (A.lower(room) > 0) & (A.upper(room) <= 2.0 * A.lower(room))
    room = A.where(free, room, nothing)
    held = A.upper(d) > ZERO_THRESHOLD
    columns, seen = list[Vector](), set[bytes]()
    for a, b in terms:
        digits = (a[held] + 0.0).tobytes(), (-a[held] + 0.0).tobytes() if not b.any() else b""
        # Where all terms vanish that have weight, d lies on a face on which the equation holds by itself; equal ones
        # are one.
        if not (a == b)[held].all() and not seen & set(digits):
            columns.append(A.to_vector(a) - A.to_vector(b))
        seen.add(digits[0])
    if not columns:
        return d
    residuals = [A.total(d * x) for x in columns] + [A.to_number(0.0)]
    if not free.any():
        # No weight can move: the equations hold, or hold but for rounding.
        low, high = A.lower(A.stack(residuals)), A.upper(A.stack(residuals))
        return d if not A.exact and ((low <= 0) & (high >= 0)).all() else None
    columns = [*columns, A.to_vector(np.ones(len(A.lower(d))))]
    rows = [
        A.stack([*(A.total(room * x * y) for y in columns), value]) for x, value in zip(columns, residuals, strict=True)
    ]
    solved = _solve_linear_system(A, rows)
    if solved is None:
        return None
    share = nothing
    for x, weight in zip(columns, solved, strict=True):
        share = share + x * weight
    fits = A.is_certainly_nonnegative(A.to_number(0.5) - A.largest(A.where(free, A.absolute(share), nothing)))
    return A.where(free, d - room * share, d) if fits else None


def _solve_linear_system(A: NumberType, rows: list[Vector]) -> list[Any] | None:
    """Return the solution of a small linear system by elimination, right sides last; None where a pivot may be 0."""
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
    """Return weights with edges, or absolute edges, of at most gamma, and the edges; None where that is not known."""
    highest = np.maximum(A.upper(e), -A.lower(e)) if absolute else A.upper(e)
    over = ~(highest <= gamma)
    if not over.any():
        return d, e
    if box.is_unbounded:
        return None
    if box.on_simplex:
        held = A.upper(d) > ZERO_THRESHOLD
        # Of weights that sum to 1 no edge exceeds the largest entry that has weight.
        starts = range(0, U.shape[0], BLOCK_ROWS)
        blocks = ((dense_rows(U, slice(n, n + BLOCK_ROWS)), held[n : n + BLOCK_ROWS]) for n in starts)
        entries = ((np.abs(block) if absolute else block)[has] for block, has in blocks)
        largest = np.max([some.max(axis=0, initial=-1.0) for some in entries], axis=0)
        return (d, e) if (largest[over] <= gamma).all() else None
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
