"""Largest and smallest entries, and sums of the largest: support functions of {0 <= delta <= 1, sum delta = k}.

The parameters of a group are delta, which `minorant` puts into this set in balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.arithmetic.balls import NOT_A_NUMBER, ONE, ZERO, Ball, ball, balls, largest
from boostopt.problem_certificates.atoms.base import (
    UNBOUNDED,
    Bounds,
    DirectionMap,
    EpigraphCone,
    Function,
    MinorantFamily,
    Tangents,
    columns_of,
    intersection,
    normalized,
    simplex_family,
    simplex_map,
    tied_entries,
    unit_rows,
)
from boostopt.problem_certificates.atoms.norms import MIN_SIZE


class Extreme(Function):
    """The largest entry, or the smallest; CVXPY's `max`, `maximum`, `min` and `minimum`.

    Parameters
    ----------
    sign
        1 for the largest, -1 for the smallest.
    """

    has_box_domain = True
    is_nondecreasing = True
    has_kinks = True
    is_of_largest_entries = True
    is_homogeneous = True

    def __init__(self, sign: int) -> None:
        self.sign = sign
        self.has_sublinear_growth: bool = sign < 0

    def value(self, u: Sequence[Ball]) -> Ball:
        return self.sign * largest([self.sign * entry for entry in u])

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        signed = self.sign * u
        distance = width * np.maximum(MIN_SIZE, np.abs(u).max(axis=1, keepdims=True))
        gaps = signed.max(axis=1, keepdims=True) - signed
        return Tangents(normalized(np.exp(-np.minimum(gaps / distance, 600))), gaps + distance, orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return tangents.parameters

    def direction_map(self, tangents: Tangents, weights: Float[Array, " m"]) -> DirectionMap:
        return simplex_map(np.sqrt(tangents.parameters / (weights[:, None] * tangents.widths)))

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        changes = self.direction_map(tangents, weights).multiply(steps)
        return tangents.with_parameters(normalized(np.maximum(tangents.parameters + changes, 0.0)))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        return probabilities(tangents.parameters[i]), ZERO

    def slope_constraints(self, products: Any, sizes: Any, orientations: Float[Array, "m k"]) -> list[Any]:
        return [products >= 0, cp.sum(products, axis=1) == sizes]

    def is_on_kink(self, u: Float[Array, "m k"]) -> Bool[Array, "m k"]:
        return tied_entries(self.sign * u, 1.0)

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        p = probabilities(tangents.parameters[i])
        return simplex_family(
            p, ONE, margin, lambda changed: ZERO if all(entry >= 0 for entry in changed) else NOT_A_NUMBER
        )

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [cp.multiply(self.sign, changes) <= columns_of(cp.multiply(self.sign, slopes), changes.shape[1])]

    def affine_pieces(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return unit_rows(count)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        choose = max if self.sign > 0 else min
        return choose(low for low, _ in bounds), choose(high for _, high in bounds)

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        one_side = (-math.inf, output[1]) if self.sign > 0 else (output[0], math.inf)
        return [intersection(pair, one_side) for pair in bounds]

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return z - u, or u - z for the smallest entry."""
        differences = scipy.sparse.hstack([-scipy.sparse.eye_array(count), np.ones((count, 1))], format="csr")
        return (EpigraphCone(None, self.sign * differences),)


class SumOfLargest(Function):
    """The sum of the k largest entries, for k above 0, whole or not; CVXPY's `sum_largest` and `cvar`.

    Parameters
    ----------
    count
        k, an exact number.
    """

    has_box_domain = True
    is_nondecreasing = True
    has_kinks = True
    is_of_largest_entries = True
    is_homogeneous = True
    k: float

    sign = 1

    def __init__(self, count: float) -> None:
        self.k = float(count)

    def value(self, u: Sequence[Ball]) -> Ball:
        if self.k >= len(u):
            return sum(u, ZERO)
        # k t + sum max(u - t, 0) is an upper bound for every t, and the sum if t is the last of the k largest.
        middles = sorted((float(entry.mid()) for entry in u), reverse=True)
        threshold = ball(middles[min(math.ceil(self.k), len(u)) - 1])
        upper = ball(self.k) * threshold
        for entry in u:
            upper = upper + (entry - threshold).max(ZERO)
        order = sorted(range(len(u)), key=lambda i: -float(u[i].mid()))
        whole = math.floor(self.k)
        lower: Ball = sum((u[i] for i in order[:whole]), ZERO)
        if self.k > whole:
            lower = lower + (ball(self.k) - whole) * u[order[whole]]
        return lower.union(upper)

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        distance = width * np.maximum(MIN_SIZE, np.abs(u).max(axis=1, keepdims=True))
        last = -np.sort(-u, axis=1)[:, [min(math.ceil(self.k), u.shape[1]) - 1]]
        scaled = np.clip((u - last) / distance, -50, 50)
        delta = self.projection(1 / (1 + np.exp(-scaled)), np.exp(-np.abs(scaled)))
        return Tangents(delta, np.abs(u - last) + distance, orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return tangents.parameters

    def direction_map(self, tangents: Tangents, weights: Float[Array, " m"]) -> DirectionMap:
        delta = tangents.parameters
        free = np.maximum(delta * (1 - delta), 1e-14)
        return simplex_map(np.sqrt(free / (weights[:, None] * tangents.widths)))

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        changed = tangents.parameters + self.direction_map(tangents, weights).multiply(steps)
        changed = np.clip(changed, 0, 1)
        return tangents.with_parameters(self.projection(changed, changed * (1 - changed) + 1e-14))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        size = tangents.parameters.shape[1]
        if self.k >= size:
            return [ONE] * size, ZERO
        delta, k = balls(np.clip(np.nan_to_num(tangents.parameters[i]), 0, 1)), ball(self.k)
        total = sum(delta, ZERO)
        if total > k:
            return [entry * (k / total) for entry in delta], ZERO
        share = (k - total) / (size - total)
        return [entry + (1 - entry) * share for entry in delta], ZERO

    def slope_constraints(self, products: Any, sizes: Any, orientations: Float[Array, "m k"]) -> list[Any]:
        sums = [products >= 0, cp.sum(products, axis=1) == min(self.k, products.shape[1]) * sizes]
        # If the count is at most 1, the sum bounds the entries.
        return sums if self.k <= 1 else [*sums, products <= columns_of(sizes, products.shape[1])]

    def is_on_kink(self, u: Float[Array, "m k"]) -> Bool[Array, "m k"]:
        return tied_entries(u, self.k) if self.k < u.shape[1] else super().is_on_kink(u)

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        size = tangents.parameters.shape[1]
        if self.k >= size:
            return None
        slopes, _ = self.minorant(tangents, i, [UNBOUNDED] * size)
        return simplex_family(
            slopes,
            ball(self.k),
            margin,
            lambda delta: ZERO if all(0 <= entry and entry <= 1 for entry in delta) else NOT_A_NUMBER,
        )

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return z - k s - sum v, v + s - u and v (Rockafellar and Uryasev 2000)."""
        identity, column = scipy.sparse.eye_array(count), np.ones((count, 1))
        sums = [[*[0.0] * count, 1.0, -min(self.k, float(count)), *[-1.0] * count]]
        rows = [
            sums,
            scipy.sparse.hstack([-identity, 0 * column, column, identity]),
            scipy.sparse.hstack([scipy.sparse.csr_array((count, count + 2)), identity]),
        ]
        return (EpigraphCone(None, scipy.sparse.vstack(rows, format="csr")),)

    def projection(self, delta: Float[Array, "m k"], weights: Float[Array, "m k"]) -> Float[Array, "m k"]:
        """Return the delta + theta * weights, cut to [0, 1], whose sum is k, by bisection for theta."""
        weights = np.maximum(weights, 1e-16)
        low = np.full((len(delta), 1), -1.0) / weights.min(axis=1, keepdims=True)
        high = -low
        if np.all(np.abs(self.k - delta.sum(axis=1)) <= 1e-15):
            return delta
        for _ in range(100):
            theta = (low + high) / 2
            is_small = np.clip(delta + theta * weights, 0, 1).sum(axis=1, keepdims=True) < self.k
            low, high = np.where(is_small, theta, low), np.where(is_small, high, theta)
        return np.clip(delta + high * weights, 0, 1)


def probabilities(weights: Float[Array, " k"]) -> list[Ball]:
    """Return non-negative weights, divided by their sum in balls; equal ones if none is positive."""
    entries = balls(np.maximum(np.nan_to_num(weights, posinf=0.0), 0.0))
    total = sum(entries, ZERO)
    if not total > 0:
        return [ONE / len(entries)] * len(entries)
    return [entry / total for entry in entries]
