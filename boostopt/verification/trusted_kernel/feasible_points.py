"""Points that satisfy the conditions of a program exactly, near weights that do so but for rounding.

What a file holds are floats; what proves a bound is a point of the domain. These are the formulas that lead from one to
the other. They hold in exact arithmetic, and where a number type carries bounds of its errors, its numbers contain the
exact point. Only NumPy and the standard library are imported here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.conjugates import Box, Norm, Vector
from boostopt.verification.trusted_kernel.json_parsing import fail
from boostopt.verification.trusted_kernel.number_types import BLOCK, ZERO, Numbers, dense

FEASIBLE = 1e-11
"""By how much weights in a file may miss their conditions and still count as rounded."""

TOUCHING = 4e-13
"""By how much a radius may miss the smallest norm and still mean it: (sum c)^(1/p - 1) in floats, c up to 1e100."""

SHRINK = 4e-16
"""By how much a factor is taken smaller, so that what it scales is certainly not too large."""

Terms = tuple[np.ndarray, np.ndarray]
"""An equation sum d_n (a_n - b_n) = 0, as (a, b)."""


def example_weights(A: Numbers, box: Box, raw: np.ndarray, in_proportion: bool = False) -> Vector:
    """Return a point of the box, on the simplex where it must be; Rejected if d is none but for rounding.

    d is scaled by a factor of at most 1, and what is then missing is shared in proportion to the room below the caps;
    or to d itself, where that is asked for and the caps allow it.
    """
    if box.free:
        return _summing_to_one(A, box, raw)
    raw = np.where(np.abs(raw) < 1e10 * ZERO, 0.0, raw)
    ends, lower = A.low(box.upper), A.high(box.lower)
    beyond = np.maximum(np.maximum(raw - A.high(box.upper), A.low(box.lower) - raw), 0.0)
    if not (beyond <= FEASIBLE * np.maximum(1.0, ends)).all():
        n = int(np.argmax(beyond))
        fail(f"d must lie between 0 and its caps; at example {n} it is {float(raw[n])!r}")
    movable = ends > lower
    d = A.choose(movable, A.vector(np.clip(raw, np.maximum(lower, 0.0), np.maximum(ends, 0.0))), box.upper)
    if not box.on_simplex:
        return d
    total = math.fsum(raw.tolist())
    if not abs(total - 1.0) <= FEASIBLE:
        fail(f"d must sum to 1; it sums to {total!r}")
    nothing, one = A.vector(np.zeros(len(raw))), A.number(1.0)
    x = A.choose(movable, d, nothing)
    fixed = ~movable & (A.high(box.upper) > ZERO)
    mass = one - A.total(A.choose(fixed, d, nothing)) if fixed.any() else one
    if not movable.any():
        apart = A.low(mass) > 0 or A.high(mass) < 0
        return fail("no example weight can move, and in exact arithmetic their sum is not 1") if apart else d
    if fixed.any() and not A.certain(mass):
        fail("the example weights that cannot move leave nothing for the others")
    theta = A.number(at_most_one(A, A.total(x) / mass))
    x = x * theta
    missing, room = mass - A.total(x), A.choose(movable, box.upper - x, nothing)
    if A.high(missing) <= 0:
        return A.choose(movable, x, d)
    if in_proportion:
        scaled = x * (mass / A.total(x))
        # What sums to 1 is below a cap of 1, though it may seem above by rounding.
        within = (A.high(scaled) <= ends) | (A.high(one - box.upper) <= ZERO)
        if within[movable].all():
            return A.choose(movable, scaled, d)
    support = movable & (A.high(x) > ZERO)
    used = A.choose(support, room, nothing)
    # Where the cap of one example with weight is large enough, those with weight can take what is missing.
    enough = A.certain(A.largest(A.choose(support, box.upper, nothing)) - mass)
    for space in (used, room):
        if A.certain(A.total(space) - missing):
            return A.choose(movable, x + space * (missing / A.total(space)), d)
        if enough:
            break
    # All weights stand at their caps but for rounding: some share of the room is what is missing.
    half = np.full(len(raw), 0.5)
    share = A.vector(half) + A.within(half)
    return A.choose(movable, x + (used if enough else room) * share, d)


def _summing_to_one(A: Numbers, box: Box, raw: np.ndarray) -> Vector:
    """Return weights of any sign, what their sum misses of 1 shared in the equal shares at which the box is stated."""
    total = math.fsum(raw.tolist())
    if not abs(total - 1.0) <= FEASIBLE * max(1.0, math.fsum(np.abs(raw).tolist())):
        fail(f"d must sum to 1; it sums to {total!r}")
    d = A.vector(raw)
    return d + box.lower * ((A.number(1.0) - A.total(d)) / A.total(box.lower))


def normed_weights(A: Numbers, box: Box, norm: Norm | None, raw: np.ndarray) -> Vector:
    """Return the same where there may be a norm.

    It counts a weight by its multiplicity, and where these are far apart the rounding of a sum, shared by the room, may
    be worth more than all weights: then it is shared in proportion to them.
    """
    d = example_weights(A, box, raw)
    if norm is None:
        return d
    scaled = example_weights(A, box, raw, in_proportion=True)
    return scaled if A.high(norm.of(A, scaled)) * (1.0 + FEASIBLE) < A.high(norm.of(A, d)) else d


def into_ball(A: Numbers, norm: Norm, d: Vector, box: Box) -> Vector | None:
    """Return d mixed with the point of smallest norm as far as the ball asks; None where that cannot be told.

    That point is proportional to c: within caps where they are central, as d is; others are looked at.
    """
    r, live = A.number(norm.r), A.high(d) > ZERO
    size = norm.of(A, d)
    if A.certain(r - size):
        return d
    if not A.high(size) <= norm.r * (1 + 1e-10):
        fail(f"the norm of d must be at most {norm.r!r}; it is {float(A.high(size))!r}")
    center = smallest_in(A, norm, live)
    if not (norm.central or (A.high(center) <= A.low(box.upper)).all()):
        return None
    smallest = norm.of(A, center)
    distance = size - smallest
    if A.low(distance) > 0:
        # Room for the rounding of the mixed point's own norm, too. Near the smallest radius floats would cancel here.
        excess = size - r + A.number(4.0 * float(A.high(size) - A.low(size)))
        share = min(float(A.high(excess / distance)) * (1 + 1e-9) + SHRINK, 1.0)
        mixed = d * (A.number(1.0) - A.number(share)) + center * A.number(share)
        if A.certain(r - norm.of(A, mixed)):
            return mixed
    # A radius that is the smallest norm but for rounding stands for the one point of that norm.
    touching = abs(float(A.high(smallest)) / norm.r - 1.0) <= TOUCHING
    return center if touching and not A.exact else None


def smallest_in(A: Numbers, norm: Norm, live: np.ndarray) -> Vector:
    """Return the point of the simplex with the smallest norm, of weights of some examples: those proportional to c."""
    counts = A.vector(np.where(live, norm.c, 0.0))
    return counts / A.total(counts)


def on_equations(A: Numbers, box: Box, d: Vector, terms: list[Terms]) -> Vector | None:
    """Return d moved by room * C x, at most by its room, so that all equations hold; None where no such move is known.

    The conditions sum d_n C_nk = 0 and that the moves sum to 0 give a small linear system for x.
    """
    if not box.on_simplex:
        return None
    nothing = A.vector(np.zeros(len(A.low(d))))
    up, down = box.upper - d, d - box.lower
    room = A.choose(A.low(up) < A.low(down), up, down)
    # Half of a room that is known to a factor of 2 is room in either direction.
    free = (A.low(room) > 0) & (A.high(room) <= 2.0 * A.low(room))
    room = A.choose(free, room, nothing)
    held = A.high(d) > ZERO
    columns, seen = list[Vector](), set[bytes]()
    for a, b in terms:
        digits = (a[held] + 0.0).tobytes(), (-a[held] + 0.0).tobytes() if not b.any() else b""
        # Where all terms vanish that have weight, d lies on a face on which the equation holds by itself; equal ones
        # are one.
        if not (a == b)[held].all() and not seen & set(digits):
            columns.append(A.vector(a) - A.vector(b))
        seen.add(digits[0])
    if not columns:
        return d
    residuals = [A.total(d * x) for x in columns] + [A.number(0.0)]
    if not free.any():
        # No weight can move: the equations hold, or hold but for rounding.
        low, high = A.low(A.stacked(residuals)), A.high(A.stacked(residuals))
        return d if not A.exact and ((low <= 0) & (high >= 0)).all() else None
    columns = [*columns, A.vector(np.ones(len(A.low(d))))]
    rows = [
        A.stacked([*(A.total(room * x * y) for y in columns), value])
        for x, value in zip(columns, residuals, strict=True)
    ]
    solved = _solved(A, rows)
    if solved is None:
        return None
    share = nothing
    for x, weight in zip(columns, solved, strict=True):
        share = share + x * weight
    fits = A.certain(A.number(0.5) - A.largest(A.choose(free, A.size(share), nothing)))
    return A.choose(free, d - room * share, d) if fits else None


def _solved(A: Numbers, rows: list[Vector]) -> list[Any] | None:
    """Return the solution of a small linear system by elimination, right sides last; None where a pivot may be 0."""
    k = len(rows)
    for i in range(k):
        best = max(range(i, k), key=lambda j: abs(float(A.high(rows[j][i]))))
        rows[i], rows[best] = rows[best], rows[i]
        if not (A.low(rows[i][i]) > 0 or A.high(rows[i][i]) < 0):
            return None
        for j in range(k):
            if j != i:
                rows[j] = rows[j] - rows[i] * (rows[j][i] / rows[i][i])
    return [row[k] / row[i] for i, row in enumerate(rows)]


def held(
    A: Numbers, U: Any, box: Box, d: Vector, e: Vector, gamma: float, absolute: bool = False
) -> tuple[Vector, Vector] | None:
    """Return weights with edges, or absolute edges, of at most gamma, and the edges; None where that is not known."""
    highest = np.maximum(A.high(e), -A.low(e)) if absolute else A.high(e)
    over = ~(highest <= gamma)
    if not over.any():
        return d, e
    if box.free:
        return None
    if box.on_simplex:
        held = A.high(d) > ZERO
        # Of weights that sum to 1 no edge exceeds the largest entry that has weight.
        starts = range(0, U.shape[0], BLOCK)
        blocks = ((dense(U, slice(n, n + BLOCK)), held[n : n + BLOCK]) for n in starts)
        entries = ((np.abs(block) if absolute else block)[has] for block, has in blocks)
        largest = np.max([some.max(axis=0, initial=-1.0) for some in entries], axis=0)
        return (d, e) if (largest[over] <= gamma).all() else None
    if gamma <= 0:
        return None
    theta = gamma / float(highest.max()) * (1.0 - SHRINK)
    if theta < 1.0 - 1e-9:
        fail(f"the edges of d must be at most {gamma!r}; the largest is {float(highest.max())!r}")
    return d * A.number(theta), e * A.number(theta)


def at_most_one(A: Numbers, x: Any) -> float:
    """Return a float that is at most 1 and at most 1 / x."""
    high = float(A.high(x))
    return 1.0 if high <= 1.0 else (1.0 - SHRINK) / high
