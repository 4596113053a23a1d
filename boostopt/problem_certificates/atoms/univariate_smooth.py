"""Smooth functions of one number: exponentials, logarithms, entropy, logistic loss, Huber's loss and powers.

The tangent at any point v of the domain is a minorant: f(u) >= f(v) + f'(v) (u - v). The parameter of a group is v.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.special

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.arithmetic.balls import (
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Ball,
    Enclosure,
    ball,
    enclosures,
    round_down,
    round_up,
)
from boostopt.problem_certificates.arithmetic.enclosed_sums import enclosed_images, side_by_side
from boostopt.problem_certificates.atoms.base import (
    EMPTY,
    UNBOUNDED,
    Bounds,
    EnclosedMinorants,
    Function,
    MinorantFamily,
    Tangents,
    free_family,
    image,
    intersection,
    magnitude_bounds,
    nonnegative,
    unit_rows,
)

MIN_POSITIVE = 1e-14
"""Smallest tangent point of functions of positive numbers, relative to the largest."""

MAX_RATIO = 20.0
"""Maximum factor by which a step changes a tangent point of a function of positive numbers."""


class SmoothFunction(Function):
    """A smooth function of one number.

    Attributes
    ----------
    is_positive
        Whether tangents are taken at positive numbers.
    infimum
        The infimum of the domain, if this is no number of it.
    """

    is_positive = False
    infimum: float = -math.inf

    def domain_limits(self, count: int) -> Mapping[int, float]:
        limit = 0.0 if self.is_positive else self.infimum
        return {0: limit} if math.isfinite(limit) else {}

    @abstractmethod
    def float_slope(self, v: Any) -> Any:
        """Return f'(v)."""

    @abstractmethod
    def curvature(self, v: Any) -> Any:
        """Return the absolute value of f''(v)."""

    @abstractmethod
    def point_of_slope(self, slope: Any) -> Any:
        """Return the v with f'(v) = slope; nan if there is none."""

    @abstractmethod
    def tangent(self, v: Ball) -> tuple[Ball, Ball]:
        """Return f'(v) and f(v) - f'(v) v in balls."""

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        if self.is_positive:
            u = np.maximum(u, MIN_POSITIVE * max(1e-3, float(np.abs(u).max(initial=0.0))))
        return Tangents(u, np.zeros((len(u), 0)), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        with np.errstate(all="ignore"):
            return np.asarray(self.float_slope(tangents.parameters))

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        return self._scale(tangents, weights)[:, :, None]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        v = tangents.parameters
        with np.errstate(all="ignore"):
            target = np.asarray(self.point_of_slope(self.float_slope(v) + self._scale(tangents, weights) * steps))
        low, high = (v / MAX_RATIO, v * MAX_RATIO) if self.is_positive else (v - 3 - np.abs(v), v + 3 + np.abs(v))
        moved_point = np.clip(np.where(np.isfinite(target), target, v), low, high)
        return tangents.with_parameters(moved_point)

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        slope, offset = self.tangent(ball(tangents.parameters[i, 0]))
        return [slope], offset

    def enclosed_minorants(self, tangents: Tangents, groups: Int[Array, " g"]) -> EnclosedMinorants | None:
        slopes, offsets = self.enclosed_tangents(tangents.parameters[groups, 0])
        return side_by_side(slopes), offsets

    def enclosed_tangents(self, v: Float[Array, " g"]) -> tuple[Enclosure, Enclosure]:
        """Return `tangent` of several floats, as floats with radii."""
        pairs = [self.tangent(ball(point)) for point in v.tolist()]
        return enclosures([slope for slope, _ in pairs]), enclosures([offset for _, offset in pairs])

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        slope, _ = self.tangent(ball(tangents.parameters[i, 0]))
        return free_family([slope], [abs(float(slope.mid()))], lambda slopes, y: (slopes, self.offset(slopes[0])))

    @abstractmethod
    def offset(self, slope: Ball) -> Ball:
        """Return the offset of the best minorant with a slope, minus the conjugate; nan if there may be none."""

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        low, high = intersection(bounds[0], self.preimage(output))
        return [(low, high) if high > self.infimum else EMPTY]

    def preimage(self, output: Bounds) -> Bounds:
        """Return bounds of the argument, given bounds of the value."""
        return (0.0, math.inf) if self.is_positive else UNBOUNDED

    def _scale(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k"]:
        """Return the change of the slope that lowers the bound by 1/2."""
        with np.errstate(all="ignore"):
            scale = np.sqrt(self.curvature(tangents.parameters) / np.maximum(weights, 1e-300)[:, None])
        return np.where(np.isfinite(scale), scale, 0.0)


class Exponential(SmoothFunction):
    """The exponential function; CVXPY's `exp`."""

    has_box_domain = True
    is_nondecreasing = True
    sign = 1

    def value(self, u: Sequence[Ball]) -> Ball:
        return u[0].exp()

    def float_slope(self, v: Any) -> Any:
        return np.exp(v)

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return ZERO if changes[0] <= 0 else NOT_A_NUMBER

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [changes <= 0, slopes == 0]

    def curvature(self, v: Any) -> Any:
        return np.exp(v)

    def point_of_slope(self, slope: Any) -> Any:
        return np.log(slope)

    def tangent(self, v: Ball) -> tuple[Ball, Ball]:
        slope = v.exp()
        return slope, slope * (1 - v)

    def offset(self, slope: Ball) -> Ball:
        return slope + entropy(slope)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return image(lambda u: u.exp(), bounds[0], low=0.0)

    def preimage(self, output: Bounds) -> Bounds:
        if output[1] <= 0:
            return EMPTY
        return image(lambda t: t.log(), (output[0] if output[0] > 0 else -math.inf, output[1]))


class ProductWithExponential(SmoothFunction):
    """u exp(u); CVXPY's `xexp`, convex for u >= -2.

    Tangents at v >= -1 are below it everywhere: they do not decrease, and the function decreases up to u = -1. So
    nothing is assumed of the sign of u, which CVXPY requires to be non-negative.
    """

    has_box_domain = True
    sign = 1

    def value(self, u: Sequence[Ball]) -> Ball:
        return u[0] * u[0].exp()

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        return Tangents(np.maximum(u, -1.0), np.zeros((len(u), 0)), orientations)

    def float_slope(self, v: Any) -> Any:
        return (1 + v) * np.exp(v)

    def curvature(self, v: Any) -> Any:
        return (2 + v) * np.exp(v)

    def point_of_slope(self, slope: Any) -> Any:
        return np.where(slope >= 0, np.real(scipy.special.lambertw(np.e * np.maximum(slope, 0.0))) - 1, np.nan)

    def tangent(self, v: Ball) -> tuple[Ball, Ball]:
        if not v >= -1:
            return NOT_A_NUMBER, NOT_A_NUMBER
        power = v.exp()
        return (1 + v) * power, -v * v * power

    def offset(self, slope: Ball) -> Ball:
        return self.tangent((slope * ONE.exp()).lambertw() - 1)[1] if slope > 0 else NOT_A_NUMBER

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        low, high = bounds[0]
        lowest = ball(max(low, -1.0))
        upper = round_up(self.value([ball(high)]).max(ZERO)) if math.isfinite(high) else math.inf
        return round_down(self.value([lowest])), upper

    def preimage(self, output: Bounds) -> Bounds:
        # For u >= 0, exp(u) - 1 <= u exp(u).
        return -math.inf, round_up((1 + ball(max(output[1], 0.0))).log()) if math.isfinite(output[1]) else math.inf


class Logarithm(SmoothFunction):
    """The natural logarithm; CVXPY's `log`."""

    is_nondecreasing = True
    sign = -1
    is_positive = True
    has_sublinear_growth = True
    infimum = 0.0

    def value(self, u: Sequence[Ball]) -> Ball:
        return u[0].log() if u[0] > 0 else NOT_A_NUMBER

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return slope_of_monotone(changes)

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [changes >= 0, slopes == 0]

    def float_slope(self, v: Any) -> Any:
        return 1 / v

    def curvature(self, v: Any) -> Any:
        return 1 / v**2

    def point_of_slope(self, slope: Any) -> Any:
        return np.where(slope > 0, 1 / slope, np.nan)

    def tangent(self, v: Ball) -> tuple[Ball, Ball]:
        return 1 / v, v.log() - 1

    def offset(self, slope: Ball) -> Ball:
        return -slope.log() - 1 if slope > 0 else NOT_A_NUMBER

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        if bounds[0][1] <= 0:
            return UNBOUNDED
        return image(lambda u: u.log(), (bounds[0][0] if bounds[0][0] > 0 else -math.inf, bounds[0][1]))

    def preimage(self, output: Bounds) -> Bounds:
        return image(lambda t: t.exp(), output, low=0.0)


class ShiftedLogarithm(SmoothFunction):
    """log(1 + u); CVXPY's `log1p`."""

    is_nondecreasing = True
    sign = -1
    has_sublinear_growth = True
    infimum = -1.0

    def value(self, u: Sequence[Ball]) -> Ball:
        return (1 + u[0]).log() if u[0] > -1 else NOT_A_NUMBER

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return slope_of_monotone(changes)

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [changes >= 0, slopes == 0]

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        return Tangents(np.maximum(u, -1 + 1e-12), np.zeros((len(u), 0)), orientations)

    def float_slope(self, v: Any) -> Any:
        return 1 / (1 + v)

    def curvature(self, v: Any) -> Any:
        return 1 / (1 + v) ** 2

    def point_of_slope(self, slope: Any) -> Any:
        return np.where(slope > 0, 1 / slope - 1, np.nan)

    def tangent(self, v: Ball) -> tuple[Ball, Ball]:
        if not v > -1:
            return NOT_A_NUMBER, NOT_A_NUMBER
        slope = 1 / (1 + v)
        return slope, (1 + v).log() - slope * v

    def offset(self, slope: Ball) -> Ball:
        return slope - slope.log() - 1 if slope > 0 else NOT_A_NUMBER

    def preimage(self, output: Bounds) -> Bounds:
        return image(lambda t: t.exp() - 1, output, low=-1.0)


class Entropy(SmoothFunction):
    """-u log u, 0 at u = 0; CVXPY's `entr`."""

    sign = -1
    is_positive = True

    def value(self, u: Sequence[Ball]) -> Ball:
        return entropy(u[0])

    def domain_point(self, u: Float[Array, " k"]) -> Float[Array, " k"]:
        return np.maximum(u, 0.0)

    def float_slope(self, v: Any) -> Any:
        return -np.log(v) - 1

    def curvature(self, v: Any) -> Any:
        return 1 / v

    def point_of_slope(self, slope: Any) -> Any:
        return np.exp(-slope - 1)

    def tangent(self, v: Ball) -> tuple[Ball, Ball]:
        return -v.log() - 1, v

    def enclosed_tangents(self, v: Float[Array, " g"]) -> tuple[Enclosure, Enclosure]:
        return enclosed_images(lambda point: -point.log() - 1, v), (v, np.zeros(len(v)))

    def offset(self, slope: Ball) -> Ball:
        return (-slope - 1).exp()


class LogisticLoss(SmoothFunction):
    """log(1 + exp(u)); CVXPY's `logistic`."""

    has_box_domain = True
    is_nondecreasing = True
    sign = 1

    def value(self, u: Sequence[Ball]) -> Ball:
        return u[0].exp().log1p() if u[0] <= 0 else u[0] + (-u[0]).exp().log1p()

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return changes[0].max(ZERO)  # its slopes lie between 0 and 1

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [changes[:, 0] <= slopes, slopes >= 0]

    def float_slope(self, v: Any) -> Any:
        return 1 / (1 + np.exp(-v))

    def curvature(self, v: Any) -> Any:
        return 1 / ((1 + np.exp(-v)) * (1 + np.exp(v)))

    def point_of_slope(self, slope: Any) -> Any:
        return np.where((slope > 0) & (slope < 1), np.log(slope) - np.log1p(-slope), np.nan)

    def tangent(self, v: Ball) -> tuple[Ball, Ball]:
        slope = 1 / (1 + (-v).exp())
        return slope, self.value([v]) - slope * v

    def offset(self, slope: Ball) -> Ball:
        return entropy(slope) + entropy(1 - slope)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return image(lambda u: self.value([u]), bounds[0], low=0.0)

    def preimage(self, output: Bounds) -> Bounds:
        return (-math.inf, output[1]) if output[1] > 0 else EMPTY


class HuberLoss(SmoothFunction):
    """u^2 up to |u| = M and 2 M |u| - M^2 beyond; CVXPY's `huber`.

    Parameters
    ----------
    threshold
        M >= 0, a ball. For M = 0 the loss is 0 everywhere.
    """

    has_box_domain = True
    sign = 1

    def __init__(self, threshold: Ball) -> None:
        self.threshold = threshold
        self._float_threshold = float(threshold.mid())

    def value(self, u: Sequence[Ball]) -> Ball:
        size, M = abs(u[0]), self.threshold
        inner, outer = u[0] * u[0], 2 * M * size - M * M
        return inner if size <= M else outer if size >= M else inner.union(outer)

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return 2 * self.threshold * abs(changes[0])  # its slopes lie between -2 M and 2 M

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [2 * self._float_threshold * cp.abs(changes[:, 0]) <= slopes]

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        v = np.clip(u, -self._float_threshold, self._float_threshold)
        return Tangents(np.where(orientations * v < 0, 0.0, v), np.zeros((len(u), 0)), orientations)

    def float_slope(self, v: Any) -> Any:
        return 2 * v

    def curvature(self, v: Any) -> Any:
        return 2.0 * (np.abs(v) < self._float_threshold)

    def point_of_slope(self, slope: Any) -> Any:
        return np.clip(slope / 2, -self._float_threshold, self._float_threshold)

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        result = super().step(tangents, weights, steps)
        return result.with_parameters(result.oriented(result.parameters))

    def tangent(self, v: Ball) -> tuple[Ball, Ball]:
        M = self.threshold
        point = v if abs(v) <= M else M if v > M else -M if v < -M else NOT_A_NUMBER
        return 2 * point, -point * point

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        slope = self.tangent(ball(tangents.parameters[i, 0]))[0] * (1 - margin)
        size = 2 * self._float_threshold - abs(float(slope.mid()))
        return free_family([slope], [size], lambda slopes, y: (slopes, self.offset(slopes[0])))

    def offset(self, slope: Ball) -> Ball:
        return -slope * slope / 4 if abs(slope) <= 2 * self.threshold else NOT_A_NUMBER

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return unit_rows(count) if self.threshold > 0 else None

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return 0.0, math.inf

    def preimage(self, output: Bounds) -> Bounds:
        if not math.isfinite(output[1]) or output[1] < 0:
            return UNBOUNDED
        t, M = ball(output[1]), self.threshold
        return magnitude_bounds(t.sqrt().max((t + M * M) / (2 * M)))


class RealPower(SmoothFunction):
    """u^p for p other than 0 and 1; CVXPY's `power`, `square`, `sqrt` and `inv_pos`.

    The domain is R if p is a power of 2 above 1. Else it is u >= 0 for p > 0, and u > 0 for p < 0. CVXPY's classes
    disagree about negative u for other even p, such as 6. So `value` takes the small domain, and all else the large
    one: what both prove holds for either.

    Parameters
    ----------
    exponent
        p, an exact number.
    """

    exponent: Ball
    is_even: bool
    is_power_of_two: bool
    is_positive: bool

    def __init__(self, exponent: Any) -> None:
        p = Fraction(exponent)
        self.p: float = float(p)
        self.exponent = ball(p)
        self.is_even = p > 1 and p.denominator == 1 and p.numerator % 2 == 0
        self.is_power_of_two = self.is_even and p.numerator.bit_count() == 1
        self.is_positive = not self.is_even
        self.has_box_domain: bool = self.is_power_of_two
        self.infimum: float = 0.0 if p < 0 else -math.inf
        self.sign = 1 if p > 1 or p < 0 else -1
        self.has_sublinear_growth: bool = self.sign < 0
        self.is_nondecreasing: bool = self.sign < 0

    def value(self, u: Sequence[Ball]) -> Ball:
        if self.is_even:
            return integer_power(u[0], int(self.p)) if self.is_power_of_two or u[0] >= 0 else NOT_A_NUMBER
        return positive_power(u[0], self.exponent)

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return slope_of_monotone(changes) if self.p < 1 else super().asymptotic_slope(changes)

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [changes >= 0, slopes == 0] if self.p < 1 else super().asymptotic_constraints(changes, slopes)

    def domain_point(self, u: Float[Array, " k"]) -> Float[Array, " k"]:
        return np.maximum(u, 0.0) if self.p > 0 else u

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        result = super().tangents(u, orientations, width)
        return result.with_parameters(result.oriented(result.parameters)) if self.is_even else result

    def float_slope(self, v: Any) -> Any:
        return self.p * np.power(v, int(self.p) - 1 if self.is_even else self.p - 1)

    def curvature(self, v: Any) -> Any:
        return np.abs(self.p * (self.p - 1)) * np.power(np.abs(v), self.p - 2)

    def point_of_slope(self, slope: Any) -> Any:
        ratio = slope / self.p
        if self.is_even:
            return np.sign(ratio) * np.abs(ratio) ** (1 / (self.p - 1))
        return np.where(ratio > 0, np.power(np.maximum(ratio, 0.0), 1 / (self.p - 1)), np.nan)

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        result = super().step(tangents, weights, steps)
        return result.with_parameters(result.oriented(result.parameters)) if self.is_even else result

    def tangent(self, v: Ball) -> tuple[Ball, Ball]:
        if self.is_even:
            n = int(self.p)
            return n * integer_power(v, n - 1), (1 - n) * integer_power(v, n)
        if not v > 0:
            return NOT_A_NUMBER, NOT_A_NUMBER
        power = v ** (self.exponent - 1)
        return self.exponent * power, (1 - self.exponent) * power * v

    def offset(self, slope: Ball) -> Ball:
        ratio = slope / self.exponent
        if self.is_even:
            return (1 - self.exponent) * size_power(abs(ratio), self.exponent / (self.exponent - 1))
        return (1 - self.exponent) * positive_power(ratio, self.exponent / (self.exponent - 1))

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return unit_rows(count) if self.p > 0 and self.sign > 0 else None

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return 0.0, math.inf

    def preimage(self, output: Bounds) -> Bounds:
        if self.is_even:
            if not math.isfinite(output[1]) or output[1] < 0:
                return UNBOUNDED
            return magnitude_bounds(positive_power(ball(output[1]), 1 / self.exponent))
        if self.p > 0:
            return image(lambda t: positive_power(t, 1 / self.exponent), nonnegative(output), low=0.0)
        return (0.0, math.inf) if output[1] > 0 else EMPTY


def slope_of_monotone(changes: Sequence[Ball]) -> Ball:
    """Return the asymptotic slope 0 of a convex function that decreases, or of a concave one that increases.

    Its domain is unbounded above only: the slope is nan if a change may be negative.
    """
    return ZERO if all(change >= 0 for change in changes) else NOT_A_NUMBER


def entropy(u: Ball) -> Ball:
    """Return -u log u for u >= 0; nan if u may be negative."""
    if u == 0:
        return ZERO
    if u > 0:
        return -u * u.log()
    if u >= 0 and u < 0.3:  # increasing up to 1/e
        upper = ball(round_up(u))
        return ZERO.union(-upper * upper.log())
    return NOT_A_NUMBER


def positive_power(u: Ball, p: Ball) -> Ball:
    """Return u^p for u >= 0, or u > 0 if p < 0; nan if u may lie outside this domain."""
    if u > 0:
        return u**p
    return size_power(u, p) if u >= 0 and p > 0 else NOT_A_NUMBER


def size_power(u: Ball, p: Ball) -> Ball:
    """Return u^p, p > 0, of a number that cannot be negative, whatever its ball contains."""
    if u > 0:
        return u**p
    upper = ball(round_up(u)) if u.is_finite() else NOT_A_NUMBER
    return ZERO.union(upper**p) if upper > 0 else ZERO if u == 0 else NOT_A_NUMBER


def integer_power(u: Ball, n: int) -> Ball:
    """Return u^n for n >= 1."""
    return u**n
