"""Norms: |u|, sums of |u|, p-norms and the maximum norm. Every delta in the unit ball of the dual norm is a slope.

The parameters of a group are delta, which `minorant` shortens, in balls, until it certainly lies in the dual ball.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.arithmetic.balls import (
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Ball,
    ball,
    balls,
    largest,
    midpoints,
)
from boostopt.problem_certificates.atoms.base import (
    KINK_RTOL,
    TIGHT_SIZE,
    UNBOUNDED,
    Bounds,
    DiagonalMap,
    DirectionMap,
    EpigraphCone,
    Function,
    MinorantFamily,
    ProjectionMap,
    Tangents,
    columns_of,
    free_family,
    intersection,
    magnitude_bounds,
    oriented_products,
    tied_entries,
    unit_rows,
)
from boostopt.problem_certificates.atoms.univariate_smooth import size_power

MIN_SIZE = 1e-3
"""Smallest size of arguments relative to which distances from a kink are measured."""


MAX_SIGNED = 6
"""Maximum number of entries whose signs are all tried."""


class Norm(Function):
    """A norm of k numbers."""

    has_box_domain = True
    has_kinks = True
    is_homogeneous = True
    sign = 1

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return unit_rows(count)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return 0.0, math.inf

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        if not math.isfinite(output[1]) or output[1] < 0:
            return list(bounds)
        size = magnitude_bounds(ball(output[1]))
        return [intersection(pair, size) for pair in bounds]

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return tangents.parameters

    def slope_constraints(self, products: Any, sizes: Any, orientations: Float[Array, "m k"]) -> list[Any]:
        return [self.dual_norms(products, sizes), *oriented_products(products, orientations)]

    @abstractmethod
    def dual_norms(self, products: Any, sizes: Any) -> Any:
        """Return the CVXPY constraint that the dual norms of the rows of `products` are at most `sizes`."""

    @abstractmethod
    def dual_norm(self, delta: Sequence[Ball]) -> Ball:
        """Return the dual norm: the minorants are <delta, u> for all delta of dual norm at most 1."""

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        slopes, _ = self.minorant(tangents, i, [UNBOUNDED] * tangents.parameters.shape[1])
        inner = [(1 - margin) * entry for entry in slopes]
        sizes = np.maximum(1 - np.abs(midpoints(inner)), TIGHT_SIZE).tolist()
        return free_family(
            inner,
            sizes,
            lambda delta, y: (delta, self._offset(delta, ONE)),
            scaled_offset=self._offset,
        )

    def _offset(self, scaled: Sequence[Ball], scale: Ball) -> Ball:
        """Return the offset of the minorant with slopes times a scale; nan if it may be none."""
        return ZERO if self.dual_norm(scaled) <= abs(scale) else NOT_A_NUMBER


class SumNorm(Norm):
    """The sum of absolute values, also of one number; CVXPY's `abs` and `norm1`."""

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [cp.norm(changes, 1, axis=1) <= slopes]

    def value(self, u: Sequence[Ball]) -> Ball:
        total = ZERO
        for entry in u:
            total = total + abs(entry)
        return total

    def affine_pieces(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        if count > MAX_SIGNED:
            return None
        return [list(enumerate(signs)) for signs in itertools.product((ONE, -ONE), repeat=count)]

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        distance = width * max(MIN_SIZE, float(np.abs(u).max(initial=0.0)))
        widths = distance * (1 + (u / distance) ** 2)
        result = Tangents(np.clip(u / distance, -1, 1), widths, orientations)
        return result.with_parameters(result.oriented(result.parameters))

    def direction_map(self, tangents: Tangents, weights: Float[Array, " m"]) -> DirectionMap:
        return DiagonalMap(1 / np.sqrt(weights[:, None] * tangents.widths))

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        changed = tangents.parameters + steps / np.sqrt(weights[:, None] * tangents.widths)
        return tangents.with_parameters(tangents.oriented(np.clip(changed, -1, 1)))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        return balls(np.clip(tangents.parameters[i], -1, 1)), ZERO

    def dual_norm(self, delta: Sequence[Ball]) -> Ball:
        return largest([abs(entry) for entry in delta])

    def dual_norms(self, products: Any, sizes: Any) -> Any:
        return cp.abs(products) <= columns_of(sizes, products.shape[1])

    def is_on_kink(self, u: Float[Array, "m k"]) -> Bool[Array, "m k"]:
        return np.abs(u) <= _kink_distance(u)

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return z - sum v, v - u and v + u; z - u and z + u for one argument."""
        if count == 1:
            return (EpigraphCone(None, scipy.sparse.csr_array([[-1.0, 1.0], [1.0, 1.0]])),)
        identity, no_value = scipy.sparse.eye_array(count), scipy.sparse.csr_array((count, 1))
        sums = [[*[0.0] * count, 1.0, *[-1.0] * count]]
        sides = [scipy.sparse.hstack([side * identity, no_value, identity]) for side in (-1.0, 1.0)]
        return (EpigraphCone(None, scipy.sparse.vstack([sums, *sides], format="csr")),)


class PNorm(Norm):
    """The p-norm, p > 1 and finite; CVXPY's `norm2` and `pnorm`.

    Parameters
    ----------
    exponent
        p, an exact number.
    """

    p: float
    exponent: Ball
    is_euclidean: bool

    def __init__(self, exponent: float | Fraction) -> None:
        self.p = float(exponent)
        self.exponent = ball(exponent)
        self.is_euclidean = exponent == 2

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        if not self.is_euclidean:
            return super().asymptotic_constraints(changes, slopes)
        return [cp.norm(changes, 2, axis=1) <= slopes]

    def value(self, u: Sequence[Ball]) -> Ball:
        return self._norm(u, self.exponent)

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        sizes = np.linalg.norm(u, axis=1, keepdims=True)
        distance = width * max(MIN_SIZE, float(np.abs(u).max(initial=0.0)))
        ratios = np.abs(u) / np.maximum(np.abs(u).max(axis=1, keepdims=True), 1e-300)
        delta = np.sign(u) * ratios ** (self.p - 1)
        delta = delta / np.maximum(self._dual_norms(delta), 1e-300) * np.minimum(1.0, sizes / (0.1 * distance))
        result = Tangents(delta, sizes + distance, orientations)
        return result.with_parameters(result.oriented(delta))

    def direction_map(self, tangents: Tangents, weights: Float[Array, " m"]) -> DirectionMap:
        delta = tangents.parameters
        q = self.p / (self.p - 1)
        # The tangent plane of the dual ball; for p other than 2 within entries that are not nearly 0.
        entries = np.ones_like(delta) if self.is_euclidean else np.sqrt(np.abs(delta) + 1e-12)
        normals = entries * np.sign(delta) * np.abs(delta) ** (q - 1)
        normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        inner = (self._dual_norms(delta) < 1 - 1e-9).astype(float)  # within the ball every direction is free
        return ProjectionMap(entries / np.sqrt(weights[:, None] * tangents.widths), (1 - inner) * normals)

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        delta = tangents.parameters + self.direction_map(tangents, weights).multiply(steps)
        delta = tangents.oriented(delta)
        return tangents.with_parameters(delta / np.maximum(1.0, self._dual_norms(delta)))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        delta = balls(tangents.parameters[i])
        size = self.dual_norm(delta)
        return (delta if size <= 1 else [entry / size for entry in delta]), ZERO

    def dual_norm(self, delta: Sequence[Ball]) -> Ball:
        return self._norm(delta, self.exponent / (self.exponent - 1))

    def dual_norms(self, products: Any, sizes: Any) -> Any:
        if self.is_euclidean:
            return cp.norm(products, 2, axis=1) <= sizes
        q: Any = self.p / (self.p - 1)  # CVXPY's annotation knows whole numbers only
        return cp.hstack([cp.pnorm(row, q) for row in products]) <= sizes

    def is_on_kink(self, u: Float[Array, "m k"]) -> Bool[Array, "m k"]:
        return np.broadcast_to(np.abs(u).max(axis=1, keepdims=True) <= _kink_distance(u), u.shape)

    def _norm(self, u: Sequence[Ball], p: Ball) -> Ball:
        """Return the p-norm of balls."""
        total = ZERO
        for entry in u:
            total = total + (entry * entry if self.is_euclidean else size_power(abs(entry), p))
        return size_power(total, ball(0.5) if self.is_euclidean else 1 / p)

    def _dual_norms(self, delta: Float[Array, "m k"]) -> Float[Array, "m 1"]:
        """Return the dual norm of each group."""
        q = self.p / (self.p - 1)
        return np.sum(np.abs(delta) ** q, axis=1, keepdims=True) ** (1 / q)

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return (z, u) in the second-order cone for the Euclidean norm."""
        if not self.is_euclidean:
            return ()
        rows = scipy.sparse.csr_array((np.ones(count + 1), (np.arange(count + 1), [count, *range(count)])))
        return (EpigraphCone("second_order", rows),)


class MaximumNorm(Norm):
    """The largest absolute value; CVXPY's `norm_inf`."""

    is_of_largest_entries = True

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [cp.norm(changes, "inf", axis=1) <= slopes]

    def value(self, u: Sequence[Ball]) -> Ball:
        return largest([abs(entry) for entry in u])

    def affine_pieces(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return [[(i, side)] for i in range(count) for side in (ONE, -ONE)]

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        sizes = np.abs(u).max(axis=1, keepdims=True)
        distance = width * np.maximum(MIN_SIZE, sizes)
        weights = np.where(orientations * u < 0, 0.0, np.exp(-np.minimum((sizes - np.abs(u)) / distance, 600)))
        delta = np.sign(u) * weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        delta = delta * np.minimum(1.0, sizes / (0.1 * distance))  # at 0, every slope of the dual ball
        return Tangents(delta, sizes - np.abs(u) + distance, orientations)

    def direction_map(self, tangents: Tangents, weights: Float[Array, " m"]) -> DirectionMap:
        delta = tangents.parameters
        inner = np.abs(delta).sum(axis=1, keepdims=True) < 1 - 1e-9  # within the ball every direction is free
        scales = np.sqrt(np.where(inner, 1.0, np.abs(delta)) / (weights[:, None] * tangents.widths))
        units = scales / np.maximum(np.linalg.norm(scales, axis=1, keepdims=True), 1e-300)
        units = np.where(inner, 0.0, units)
        return ProjectionMap(scales, np.sign(delta) * units)

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        changes = self.direction_map(tangents, weights).multiply(steps)
        delta = tangents.oriented(tangents.parameters + changes)
        return tangents.with_parameters(delta / np.maximum(1.0, np.abs(delta).sum(axis=1, keepdims=True)))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        delta = balls(tangents.parameters[i])
        size = self.dual_norm(delta)
        return (delta if size <= 1 else [entry / size for entry in delta]), ZERO

    def dual_norm(self, delta: Sequence[Ball]) -> Ball:
        return sum((abs(entry) for entry in delta), ZERO)

    def dual_norms(self, products: Any, sizes: Any) -> Any:
        return cp.norm(products, 1, axis=1) <= sizes

    def is_on_kink(self, u: Float[Array, "m k"]) -> Bool[Array, "m k"]:
        return tied_entries(np.abs(u), 1.0)

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return z - u and z + u."""
        sides = [[side * scipy.sparse.eye_array(count), np.ones((count, 1))] for side in (-1.0, 1.0)]
        return (EpigraphCone(None, scipy.sparse.block_array(sides, format="csr")),)


def _kink_distance(u: Float[Array, "m k"]) -> float:
    """Return the distance from 0 up to which an argument counts as on a kink."""
    return KINK_RTOL * max(float(np.abs(u).max(initial=0.0)), KINK_RTOL)
