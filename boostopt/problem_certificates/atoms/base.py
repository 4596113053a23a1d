"""The interface of an atom: a function R^k -> R, convex or concave, applied to m groups of k entries.

All floats of this interface only propose: the tangents. `value`, `minorant`, `output_bounds` and `argument_bounds`
compute in balls, and each of their results is proved for every tangent, whatever it holds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt._utils.cvxpy_tools import cp
from boostopt.conic_programs.conic_program import ConeKind
from boostopt.problem_certificates.arithmetic.balls import (
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Ball,
    Enclosure,
    ball,
    midpoints,
    round_down,
    round_up,
)

Bounds = tuple[float, float]
"""Lower and upper bound; infinite if there is none."""

UNBOUNDED: Bounds = (-math.inf, math.inf)

EMPTY: Bounds = (math.inf, -math.inf)
"""The bounds of no number: no point of the domain has values within bounds."""

TIGHT_SIZE = 1e-3
"""The size of a change of a slope at the boundary of its set, which only moves by its margin."""

KINK_RTOL = 1e-6
"""Distance to a kink, relative to the largest argument, up to which an argument counts as on the kink in messages."""
NEAR_LIMIT = 1e-5
"""Distance of a slope from -1, 0 or 1, which often are ends of sets of slopes, up to which it may stand for this."""

TINY = 1e-300
"""A positive number that stands for 0 where 0 is the limit of a domain, but not in it."""

EnclosedMinorants: TypeAlias = tuple[tuple[Float[Array, "g k"], Float[Array, "g k"]], Enclosure]
"""Slopes of groups as floats with radii, and the offsets of their minorants."""


@dataclass(frozen=True)
class Tangents:
    """The choice of a minorant in each of m groups.

    Attributes
    ----------
    parameters
        The numbers that the minorants depend on, shape (m, s). Their meaning is that of the atom.
    widths
        By how much each entry of an argument may be away from a kink, or another size of the argument, shape (m, q).
        Steps are scaled by it.
    orientations
        The sign that the slope of each entry must have, 0 for any, shape (m, k): 1 if the entry is convex and not
        affine, -1 if it is concave and not affine.
    """

    parameters: Float[Array, "m s"]
    widths: Float[Array, "m q"]
    orientations: Float[Array, "m k"]

    def with_parameters(self, parameters: Float[Array, "m s"]) -> Tangents:
        """Return the same tangents with other parameters, or the same if these are not all finite."""
        return replace(self, parameters=parameters) if np.isfinite(parameters).all() else self

    def oriented(self, slopes: Float[Array, "m k"]) -> Float[Array, "m k"]:
        """Return slopes, with 0 in place of those of a wrong sign."""
        return np.where(self.orientations * slopes < 0, 0.0, slopes)


Completion = Callable[[Sequence[Ball], Sequence[Ball]], tuple[Sequence[Ball], Ball]]
"""A function of slopes g + D y and of y that returns the slopes and the offset of a minorant."""


@dataclass(frozen=True)
class MinorantFamily:
    """Minorants of a function of k numbers with the slopes g + D y, for all y of a set: theorem P7 chooses y.

    Attributes
    ----------
    slopes
        g, k balls.
    directions
        The columns of D: pairs of a position and a coefficient.
    sizes
        By about how much each entry of y may change.
    complete
        The completion: its slopes are g + D y, but may be others for arguments that are constant. Its offset is nan if
        no minorant with the slopes is proved, for any numbers in the balls g + D y and y that belong together.
    origin
        Exact slopes, by position and value, whose differences from g are combinations of the directions.
    is_free
        Whether the completion depends on the slopes alone, so that `with_exact_slopes` may replace g by others. Then
        the first position of each column of D, with the coefficient 1, belongs to no other column.
    scaled_offset
        The function of m s and m, for slopes s and a positive or negative m, that returns the offset or nan as the
        completion does: m s may be exact where s is not. None if the completion alone is used.
    """

    slopes: Sequence[Ball]
    directions: Sequence[Sequence[tuple[int, Ball]]]
    sizes: Sequence[float]
    complete: Completion
    origin: Sequence[tuple[int, Ball]] = ()
    is_free: bool = False
    scaled_offset: Callable[[Sequence[Ball], Ball], Ball] | None = None

    def with_exact_slopes(self) -> MinorantFamily:
        """Return a free family around exact slopes near g, those near 0 and 1 replaced by these; else the same."""
        if not self.is_free:
            return self
        slopes: list[Ball] = [ZERO] * len(self.slopes)
        for i, value in self.origin:
            slopes[i] = value
        for column in self.directions:
            y = float(self.slopes[column[0][0]].mid())
            nearest = float(round(min(max(y, -1.0), 1.0)))
            y = nearest if abs(y - nearest) <= NEAR_LIMIT else y
            for i, coefficient in column:
                slopes[i] = slopes[i] + coefficient * ball(y)
        return replace(self, slopes=slopes, sizes=[max(size, TIGHT_SIZE) for size in self.sizes])


@dataclass(frozen=True)
class EpigraphCone:
    """Rows A (u, z, v) in a cone: arguments u, the value z, and further unknowns v.

    Attributes
    ----------
    kind
        As of `ConeConstraint`; None for rows that are not negative.
    A
        Compressed rows, of shape (rows, k + 1 + len(v)). The factors of arguments are powers of 2.
    """

    kind: ConeKind | None
    A: Any


def unit_rows(count: int) -> list[list[tuple[int, Ball]]]:
    """Return the first arguments as combinations."""
    return [[(i, ONE)] for i in range(count)]


def free_family(
    slopes: Sequence[Ball],
    sizes: Sequence[float],
    complete: Completion,
    scaled_offset: Callable[[Sequence[Ball], Ball], Ball] | None = None,
) -> MinorantFamily:
    """Return the family in which each slope changes freely; the completion depends on the slopes alone."""
    return MinorantFamily(slopes, unit_rows(len(slopes)), sizes, complete, is_free=True, scaled_offset=scaled_offset)


def simplex_family(
    weights: Sequence[Ball], total: Ball, margin: Ball, offset: Callable[[Sequence[Ball]], Ball]
) -> MinorantFamily:
    """Return the family of slopes in [0, 1] with the sum of given ones, which first move towards equal slopes.

    Parameters
    ----------
    weights
        The slopes.
    total
        The sum, an exact number.
    margin
        The fraction of the way that the slopes move.
    offset
        The function of slopes that returns the offset; nan if there is no minorant with them.
    """
    slopes = [weight + margin * (total / len(weights) - weight) for weight in weights]
    distances = midpoints(slopes)
    sizes = np.minimum(distances, 1 - distances)
    last = int(np.argmax(sizes))
    positions = [i for i in range(len(slopes)) if i != last]
    return MinorantFamily(
        slopes,
        [[(i, ONE), (last, -ONE)] for i in positions],
        [float(sizes[i]) for i in positions],
        lambda changed, y: (changed, offset(changed)),
        [(last, total)],
        is_free=True,
    )


def oriented_products(products: Any, orientations: Float[Array, "m k"]) -> list[Any]:
    """Return the CVXPY constraints that products have the signs of `orientations`, where these are not 0."""
    return [cp.multiply(orientations, products) >= 0] if orientations.any() else []


def columns_of(sizes: Any, count: int) -> Any:
    """Return a CVXPY vector as a matrix of so many equal columns."""
    return cp.reshape(sizes, (sizes.size, 1), order="F") @ np.ones((1, count))


def tied_entries(u: Float[Array, "m k"], count: float) -> Bool[Array, "m k"]:
    """Return which entries of a row tie with the last of its `count` largest entries, if several entries do."""
    last = -np.sort(-u, axis=1)[:, [min(math.ceil(count), u.shape[1]) - 1]]
    is_tied = np.abs(u - last) <= KINK_RTOL * max(float(np.abs(u).max(initial=0.0)), KINK_RTOL)
    return is_tied & (is_tied.sum(axis=1, keepdims=True) > 1)


class DirectionMap:
    """The changes of slopes by steps, as a linear map in each of m groups.

    Parameters
    ----------
    directions
        As `Function.directions` returns them.
    """

    def __init__(self, directions: Float[Array, "m k r"]) -> None:
        self._directions = np.nan_to_num(directions, posinf=0.0, neginf=0.0)
        self.size: int = directions.shape[2]

    def matrices(self) -> Float[Array, "m k r"]:
        """Return the map of each group as a matrix."""
        return self._directions

    def multiply(self, steps: Float[Array, "m r"]) -> Float[Array, "m k"]:
        """Return the changes of the slopes by steps."""
        return np.einsum("mkr,mr->mk", self._directions, steps)

    def multiply_transpose(self, changes: Float[Array, "m k q"]) -> Float[Array, "m r q"]:
        """Return the products of the directions with q changes of the arguments."""
        return self._directions.transpose(0, 2, 1) @ changes


class DiagonalMap(DirectionMap):
    """A `DirectionMap` in which step i changes slope i, and perhaps that of the last argument.

    Parameters
    ----------
    scales
        The change of slope i by a unit of step i, shape (m, r).
    last
        The change of the slope of the last argument; None if it is not another one.
    """

    def __init__(self, scales: Float[Array, "m r"], last: Float[Array, "m r"] | None = None) -> None:
        self._scales = np.nan_to_num(scales, posinf=0.0, neginf=0.0)
        self._last = None if last is None else np.nan_to_num(last, posinf=0.0, neginf=0.0)
        self.size: int = scales.shape[1]

    def matrices(self) -> Float[Array, "m k r"]:
        result = self._scales[:, :, None] * np.eye(self.size)
        return result if self._last is None else np.concatenate([result, self._last[:, None, :]], axis=1)

    def multiply(self, steps: Float[Array, "m r"]) -> Float[Array, "m k"]:
        changes = self._scales * steps
        if self._last is None:
            return changes
        return np.hstack([changes, np.sum(self._last * steps, axis=1, keepdims=True)])

    def multiply_transpose(self, changes: Float[Array, "m k q"]) -> Float[Array, "m r q"]:
        result = self._scales[:, :, None] * changes[:, : self.size]
        return result if self._last is None else result + self._last[:, :, None] * changes[:, -1:]


class ProjectionMap(DirectionMap):
    """A `DirectionMap` by the matrices S (I - q qᵀ), S = diag(scales): I - q qᵀ is a projection, or I where q is 0.

    Parameters
    ----------
    scales
        The diagonals of S, shape (m, k).
    normals
        The vectors q, of length 1 or 0, shape (m, k).
    """

    def __init__(self, scales: Float[Array, "m k"], normals: Float[Array, "m k"]) -> None:
        self._scales = np.nan_to_num(scales, posinf=0.0, neginf=0.0)
        self._normals = np.nan_to_num(normals, posinf=0.0, neginf=0.0)
        self.size: int = scales.shape[1]

    def matrices(self) -> Float[Array, "m k r"]:
        projections = np.eye(self.size) - self._normals[:, :, None] * self._normals[:, None, :]
        return self._scales[:, :, None] * projections

    def multiply(self, steps: Float[Array, "m r"]) -> Float[Array, "m k"]:
        parts = np.sum(self._normals * steps, axis=1, keepdims=True)
        return self._scales * (steps - parts * self._normals)

    def multiply_transpose(self, changes: Float[Array, "m k q"]) -> Float[Array, "m r q"]:
        scaled = self._scales[:, :, None] * changes
        return scaled - self._normals[:, :, None] * (self._normals[:, None, :] @ scaled)


class Function(ABC):
    """A convex function (`sign` is 1) or a concave function (`sign` is -1) of k numbers, and its minorants.

    A minorant of a convex function is an affine function that is nowhere above it. That of a concave function is
    nowhere below it.
    """

    sign: int
    has_kinks: bool = False
    """True if points inside the domain have more than one subgradient."""
    is_of_largest_entries: bool = False
    """True if the value depends on few of the largest entries, whose slopes a step or two often choose."""
    is_homogeneous: bool = False
    """True if f(s u) = s f(u) for s > 0: the function is its own perspective."""
    is_nondecreasing: bool = False
    """True if the value does not decrease if an argument increases, and keeps the domain."""
    has_sublinear_growth: bool = False
    """True if values grow beyond all bounds, perhaps with the asymptotic slope 0, if all arguments do."""
    needs_bounds: bool = False
    """True if the minorants depend on bounds of the arguments."""
    has_box_domain: bool = False
    """True if the domain has all arguments above `domain_limits`, and perhaps some of these."""
    has_semidefinite_domain: bool = False
    """True if the argument is a matrix that must be positive semidefinite."""

    @abstractmethod
    def value(self, u: Sequence[Ball]) -> Ball:
        """Return a ball that contains the values at all points of k balls; nan if some may lie outside the domain."""

    def domain_point(self, u: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return a point near u at which the function has a value, for u next to a closed domain; else u."""
        return u

    def domain_limits(self, count: int) -> Mapping[int, float]:
        """Return lower limits of the domain, by the position among `count` arguments."""
        return {}

    @abstractmethod
    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        """Choose the tangents at m points.

        Parameters
        ----------
        u
            The points.
        orientations
            The signs that slopes must have, as in `Tangents`.
        width
            The relative distance from a kink at which an entry counts as being on it.
        """

    @abstractmethod
    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        """Return the slopes of the minorants in floating point."""

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        """Return the changes of the slopes by a unit step of each of r unknowns a group.

        A step y lowers the bound by about |y|^2 / 2, if the atom has the multiplier `weights` > 0: so a shortest step
        costs least. A class defines this method or `direction_map`.
        """
        return self.direction_map(tangents, weights).matrices()

    def direction_map(self, tangents: Tangents, weights: Float[Array, " m"]) -> DirectionMap:
        """Return `directions` as a map, which may need less memory than they."""
        return DirectionMap(self.directions(tangents, weights))

    @abstractmethod
    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        """Return the tangents after a step in the unknowns of `directions`; valid for every step."""

    @abstractmethod
    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        """Return the slopes and the offset of the minorant of group i, for arguments within bounds."""

    def float_values(self, u: Float[Array, "m k"]) -> Float[Array, " m"] | None:
        """Return the values at m points in floating point, not finite outside the domain; None to compute balls."""
        return None

    def enclosed_minorants(self, tangents: Tangents, groups: Int[Array, " g"]) -> EnclosedMinorants | None:
        """Return the slopes, shape (g, k), and the offsets of the minorants of some groups, as floats with radii.

        None if `minorant` must compute them one by one.
        """
        return None

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        """Return minorants near that of group i; None if there are none whose slopes can be chosen.

        Parameters
        ----------
        tangents, i
            The tangents, and the group.
        margin
            The relative distance by which slopes move into the interior of the set of all slopes.
        is_constant
            Whether each argument is a constant: its slope then changes nothing but the offset.
        """
        return None

    def slope_constraints(self, products: Any, sizes: Any, orientations: Float[Array, "m k"]) -> list[Any]:
        """Return the CVXPY constraints of slopes times `sizes`; none if a program cannot choose slopes.

        Parameters
        ----------
        products
            The slopes times sizes, as a CVXPY variable of shape (m, k).
        sizes
            The absolute values of the multipliers, as a CVXPY expression of shape (m,).
        orientations
            The signs that slopes must have, as in `Tangents`.
        """
        return []

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        """Return a slope s with f(u + t a) <= f(u) + t s, or >= if f is concave, for all u of the domain and t >= 0.

        It is nan if none is known. The smallest is the recession function [Rockafellar 1970, section 8]; that of a
        homogeneous function is the function.
        """
        if all(change == 0 for change in changes):
            return ZERO
        return self.value(changes) if self.is_homogeneous else NOT_A_NUMBER

    def grows(self, is_growing: Sequence[bool], changes: Sequence[Ball]) -> bool:
        """Return whether values grow beyond all bounds, given which arguments do, and bounds of their changes.

        The function has the asymptotic slope 0 along the changes.
        """
        return self.has_sublinear_growth and all(is_growing)

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        """Return the CVXPY constraints that slopes, shape (m,), are asymptotic ones along changes, shape (m, k).

        They only propose directions. Without a rule, arguments do not change.
        """
        return [changes == 0, slopes == 0]

    def is_on_kink(self, u: Float[Array, "m k"]) -> Bool[Array, "m k"]:
        """Return which entries of m points lie on a kink, as messages name them."""
        return np.zeros(u.shape, dtype=bool)

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        """Return combinations of the `count` arguments that are all 0 exactly where the value is 0, or None.

        Only a function without negative values has them. Each combination has pairs of a position and a coefficient.
        """
        return None

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return cones that contain (u, z, v) for some v, for `count` arguments u of the domain and their value z.

        All have the same number of columns. A convex program keeps its optimum if values have these cones in place of
        their equations. None are returned if no cones are known.
        """
        return ()

    def affine_pieces(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        """Return combinations of the `count` arguments whose largest is the value, or whose smallest, or None.

        It is the largest for a convex function, and the smallest for a concave one.
        """
        return None

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        """Return bounds of the value for arguments within bounds."""
        return UNBOUNDED

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        """Return bounds of the arguments, given bounds of the value and of the arguments; the value must be finite."""
        return list(bounds)


def intersection(first: Bounds, second: Bounds) -> Bounds:
    """Return the bounds that follow from two pairs of bounds."""
    return max(first[0], second[0]), min(first[1], second[1])


def nonnegative(bounds: Bounds) -> Bounds:
    """Return bounds of a number that is also not negative."""
    return max(bounds[0], 0.0), bounds[1]


def magnitude_bounds(bound: Ball) -> Bounds:
    """Return the bounds of a number whose absolute value is at most a ball."""
    upper = round_up(bound)
    return -upper, upper


def image(function: Callable[[Ball], Ball], bounds: Bounds, low: float = -math.inf, high: float = math.inf) -> Bounds:
    """Return bounds of an increasing function of balls, by its values at both ends; `low`, `high` are its limits."""
    lower = round_down(function(ball(bounds[0]))) if math.isfinite(bounds[0]) else low
    upper = round_up(function(ball(bounds[1]))) if math.isfinite(bounds[1]) else high
    return max(lower, low), min(upper, high)


def normalized(weights: Float[Array, "m k"]) -> Float[Array, "m k"]:
    """Return non-negative weights divided by their sum in each row."""
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)


def simplex_map(scales: Float[Array, "m k"]) -> ProjectionMap:
    """Return the map by S (I - q qᵀ), S = diag(scales), q = scales / |scales|: to changes whose sum is 0."""
    return ProjectionMap(scales, scales / np.maximum(np.linalg.norm(scales, axis=1, keepdims=True), 1e-300))
