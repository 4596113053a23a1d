"""Smooth functions of several numbers: relative entropies, log-sum-exp, quadratic functions and means.

Most are homogeneous of degree 1 or have a conjugate in closed form, so that their minorants need no division by a
curvature: the parameters of a group are the slopes, or ratios of arguments.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special

from boostopt._utils.array_types import Array, Float, Int
from boostopt.problem_certificates.arithmetic.balls import (
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Ball,
    ball,
    balls,
    eigenvalue_shift,
    is_positive_semidefinite,
    largest,
    matrix,
    midpoints,
    shifted,
    weighted_sum,
)
from boostopt.problem_certificates.arithmetic.enclosed_sums import enclosed_images, side_by_side, sum_of_squares
from boostopt.problem_certificates.arithmetic.sparse_float_forms import finite_enclosure, summed_enclosure
from boostopt.problem_certificates.atoms.base import (
    TIGHT_SIZE,
    TINY,
    Bounds,
    DiagonalMap,
    DirectionMap,
    EnclosedMinorants,
    EpigraphCone,
    Function,
    MinorantFamily,
    Tangents,
    columns_of,
    free_family,
    intersection,
    magnitude_bounds,
    nonnegative,
    normalized,
    simplex_family,
    simplex_map,
    unit_rows,
)
from boostopt.problem_certificates.atoms.largest_entries import probabilities
from boostopt.problem_certificates.atoms.norms import MIN_SIZE
from boostopt.problem_certificates.atoms.univariate_smooth import MIN_POSITIVE, entropy, positive_power, size_power


class RelativeEntropy(Function):
    """x log(x / y) on x >= 0, y > 0, and the same minus x plus y; CVXPY's `rel_entr` and `kl_div`.

    The minorant of the parameter r > 0 is (1 + log r) x - r y, and log(r) x + (1 - r) y for `kl_div`. It touches where
    x / y = r.

    Parameters
    ----------
    is_divergence
        Whether the function is `kl_div`.
    """

    is_homogeneous = True
    sign = 1

    def __init__(self, is_divergence: bool) -> None:
        self.is_divergence = is_divergence

    def value(self, u: Sequence[Ball]) -> Ball:
        x, y = u
        if not y > 0:
            return NOT_A_NUMBER
        total = x * (x / y).log() if x > 0 else -entropy(x) - x * y.log()
        return total - x + y if self.is_divergence else total

    def domain_limits(self, count: int) -> Mapping[int, float]:
        return {0: 0.0, 1: 0.0}

    def domain_point(self, u: Float[Array, " k"]) -> Float[Array, " k"]:
        if u[-1] > 0:
            return np.maximum(u, 0.0)
        return np.append(np.zeros(len(u) - 1), TINY)  # 0 is the limit of the values there

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        x, y = changes[:, 0], changes[:, 1]
        return [x == 0, y >= 0, slopes == (y if self.is_divergence else 0)]

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        positive = np.maximum(u, MIN_POSITIVE * max(1e-3, float(np.abs(u).max(initial=0.0))))
        return Tangents(positive[:, :1] / positive[:, 1:], positive[:, :1], orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        r, c = tangents.parameters, 0.0 if self.is_divergence else 1.0
        return np.hstack([c + np.log(r), 1 - c - r])

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        scale = 1 / np.sqrt(weights[:, None] * tangents.widths)
        return np.hstack([scale, -tangents.parameters * scale])[:, :, None]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        changes = np.clip(steps / np.sqrt(weights[:, None] * tangents.widths), -3, 3)
        return tangents.with_parameters(tangents.parameters * np.exp(changes))

    def float_values(self, u: Float[Array, "m k"]) -> Float[Array, " m"] | None:
        x, y = u[:, 0], u[:, 1]
        values = scipy.special.kl_div(x, y) if self.is_divergence else scipy.special.rel_entr(x, y)
        return np.where(y > 0, values, np.nan)

    def enclosed_minorants(self, tangents: Tangents, groups: Int[Array, " g"]) -> EnclosedMinorants | None:
        r = tangents.parameters[groups, 0]
        zeros, ones = np.zeros(len(r)), (np.ones(len(r)), np.zeros(len(r)))
        logarithms = enclosed_images(lambda value: value.log() if value > 0 else NOT_A_NUMBER, r)
        if self.is_divergence:
            return side_by_side(logarithms, summed_enclosure(ones, (-r, zeros))), (zeros, zeros)
        return side_by_side(summed_enclosure(ones, logarithms), (-r, zeros)), (zeros, zeros)

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        r = ball(tangents.parameters[i, 0])
        if not r > 0:
            return [NOT_A_NUMBER, NOT_A_NUMBER], ZERO
        return ([r.log(), 1 - r] if self.is_divergence else [1 + r.log(), -r]), ZERO

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        r = ball(tangents.parameters[i, 0])
        (first, last), _ = self.minorant(tangents, i, [])

        def complete(changed: Sequence[Ball], y: Sequence[Ball]) -> tuple[Sequence[Ball], Ball]:
            limit = 1 - changed[0].exp() if self.is_divergence else -(changed[0] - 1).exp()
            if is_constant[1]:
                return [changed[0], limit], ZERO
            return changed, ZERO if changed[1] <= limit else NOT_A_NUMBER

        return free_family([first, last - margin * r], [1.0, TIGHT_SIZE * float(r)], complete)

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return [[(0, ONE), (1, -ONE)]] if self.is_divergence else None

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return (0.0 if self.is_divergence else -math.inf), math.inf

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return [nonnegative(pair) for pair in bounds]


def _total_entropy(p: Sequence[Ball]) -> Ball:
    """Return the entropy of probabilities."""
    return sum((entropy(entry) for entry in p), ZERO)


class LogSumExp(Function):
    """log(sum exp(u)); CVXPY's `log_sum_exp`. The minorant of p in the simplex is <p, u> plus the entropy of p."""

    has_box_domain = True
    is_nondecreasing = True
    sign = 1

    def value(self, u: Sequence[Ball]) -> Ball:
        shift = ball(float(largest(u).mid())) if largest(u).is_finite() else NOT_A_NUMBER
        total = ZERO
        for entry in u:
            total = total + (entry - shift).exp()
        return shift + total.log()

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return largest(changes)  # its slopes are probabilities

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [changes <= columns_of(slopes, changes.shape[1])]

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        weights = normalized(np.exp(np.maximum(u - u.max(axis=1, keepdims=True), -600)))
        return Tangents(weights, np.zeros((len(u), 0)), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return tangents.parameters

    def direction_map(self, tangents: Tangents, weights: Float[Array, " m"]) -> DirectionMap:
        return simplex_map(np.sqrt(tangents.parameters / weights[:, None]))

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        p = tangents.parameters
        changes = self.direction_map(tangents, weights).multiply(steps)
        return tangents.with_parameters(normalized(np.maximum(p + changes, p / 10)))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        p = probabilities(tangents.parameters[i])
        return p, _total_entropy(p)

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        p = probabilities(tangents.parameters[i])
        return simplex_family(p, ONE, margin, _total_entropy)

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return [intersection(pair, (-math.inf, output[1])) for pair in bounds]

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return max(low for low, _ in bounds), math.inf


class QuadraticOverLinear(Function):
    """|x|^2 / y for y > 0, with y the last entry; CVXPY's `quad_over_lin` and `sum_squares`.

    The minorant of w is 2 <w, x> - |w|^2 y. It touches where x = y w.
    """

    has_box_domain = True

    is_homogeneous = True
    sign = 1

    def value(self, u: Sequence[Ball]) -> Ball:
        *x, y = u
        return weighted_sum(x, x) / y if y > 0 else NOT_A_NUMBER

    def domain_limits(self, count: int) -> Mapping[int, float]:
        return {count - 1: 0.0}

    def domain_point(self, u: Float[Array, " k"]) -> Float[Array, " k"]:
        if u[-1] > 0:
            return u
        return np.append(np.zeros(len(u) - 1), TINY)  # 0 is the limit of the values there

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [changes[:, :-1] == 0, changes[:, -1] >= 0, slopes == 0]

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        y = np.maximum(u[:, -1:], 1e-12)
        w = u[:, :-1] / y
        return Tangents(np.where(orientations[:, :-1] * w < 0, 0.0, w), y, orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        w = tangents.parameters
        return np.hstack([2 * w, -np.sum(w * w, axis=1, keepdims=True)])

    def direction_map(self, tangents: Tangents, weights: Float[Array, " m"]) -> DirectionMap:
        w, scale = tangents.parameters, 1 / np.sqrt(2 * weights[:, None] * tangents.widths)
        return DiagonalMap(np.broadcast_to(2 * scale, w.shape), -2 * scale * w)

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        w = tangents.parameters + steps / np.sqrt(2 * weights[:, None] * tangents.widths)
        return tangents.with_parameters(np.where(tangents.orientations[:, :-1] * w < 0, 0.0, w))

    def float_values(self, u: Float[Array, "m k"]) -> Float[Array, " m"] | None:
        x, y = u[:, :-1], u[:, -1]
        return np.where(y > 0, np.sum(x * x, axis=1) / y, np.nan)

    def enclosed_minorants(self, tangents: Tangents, groups: Int[Array, " g"]) -> EnclosedMinorants | None:
        w = tangents.parameters[groups]
        squares, radii = sum_of_squares(w)
        slopes = finite_enclosure(np.hstack([2 * w, -squares[:, None]]), np.hstack([np.zeros(w.shape), radii[:, None]]))
        return slopes, (np.zeros(len(w)), np.zeros(len(w)))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        w = balls(tangents.parameters[i])
        return [*(2 * entry for entry in w), -weighted_sum(w, w)], ZERO

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        w = balls(tangents.parameters[i])
        squares = weighted_sum(w, w)
        slopes = [*(2 * entry for entry in w), -squares - margin * (1 + squares)]

        def complete(changed: Sequence[Ball], y: Sequence[Ball]) -> tuple[Sequence[Ball], Ball]:
            *first, last = changed
            limit = -weighted_sum(first, first) / 4
            if is_constant[-1]:
                return [*first, limit], ZERO
            return changed, ZERO if last <= limit else NOT_A_NUMBER

        return free_family(slopes, [*([1.0] * len(w)), TIGHT_SIZE], complete)

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return unit_rows(count - 1)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return 0.0, math.inf

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        last = nonnegative(bounds[-1])
        if not (math.isfinite(output[1]) and math.isfinite(last[1]) and output[1] >= 0 and last[1] >= 0):
            return [*bounds[:-1], last]
        size = magnitude_bounds(size_power(ball(output[1]) * ball(last[1]), ball(0.5)))
        return [*(intersection(pair, size) for pair in bounds[:-1]), last]

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return (y + z, y - z, 2 x) in the second-order cone."""
        ends = scipy.sparse.csr_array([[0.0] * (count - 1) + [1.0, sign] for sign in (1.0, -1.0)])
        entries = scipy.sparse.eye_array(count - 1, count + 1, format="csr")
        return (EpigraphCone("second_order", scipy.sparse.vstack([ends, 2 * entries], format="csr")),)


class QuadraticForm(Function):
    """xᵀ P x for a constant P; CVXPY's `quad_form`.

    The minorant of v is 2 <P v, x> - vᵀ P v - epsilon |x - v|^2, where P + epsilon I is positive semidefinite, proved.
    For epsilon > 0, |x - v|^2 is bounded by the bounds of x. If -P is nearer to it, the function is concave.

    Parameters
    ----------
    P
        The matrix, in C order. Its symmetric part counts.
    """

    has_box_domain = True

    float_matrix: Array
    signed_matrix: list[Any]
    epsilon: float

    def __init__(self, P: Sequence[Ball]) -> None:
        n = math.isqrt(len(P))
        self.n = n
        self.P = [(P[i * n + j] + P[j * n + i]) / 2 for i in range(n) for j in range(n)]
        self.float_matrix = midpoints(self.P).reshape(n, n)
        eigenvalues, vectors = np.linalg.eigh(self.float_matrix)
        self.sign = 1 if eigenvalues[-1] >= -eigenvalues[0] else -1
        self.signed_matrix = [self.sign * value for value in self.P]
        self.epsilon = (
            0.0 if is_positive_semidefinite(self.signed_matrix, n) else eigenvalue_shift(self.signed_matrix, n)
        )
        self.needs_bounds: bool = self.epsilon > 0
        sizes = self.sign * eigenvalues
        support = sizes > 1e-13 * max(float(np.abs(sizes).max()), 1e-300)
        self._factor = vectors[:, support] * np.sqrt(sizes[support])
        self._inverse_factor = vectors[:, support] / np.sqrt(sizes[support])
        # A proved lower bound of the eigenvalues of +-P.
        bound = 0.9 * float(sizes.min())
        is_definite = bound > 0 and is_positive_semidefinite(shifted(self.signed_matrix, n, ball(-bound)), n)
        self._min_eigenvalue = bound if is_definite else 0.0

    @property
    def relative_shift(self) -> float:
        """The multiple of the unit matrix that makes +-P semidefinite, over the largest entry of P."""
        return self.epsilon / max(float(np.abs(self.float_matrix).max()), TINY)

    def value(self, u: Sequence[Ball]) -> Ball:
        return weighted_sum(u, self._product(u))

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return ZERO if all(value == 0 for value in self._product(changes)) else NOT_A_NUMBER

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [changes @ self.float_matrix == 0, slopes == 0]

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        return Tangents(u, np.zeros((len(u), 0)), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return 2 * tangents.parameters @ self.float_matrix

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        return self.sign * 2 * self._factor[None, :, :] / np.sqrt(2 * weights[:, None, None])

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        changes = steps @ self._inverse_factor.T / np.sqrt(2 * weights[:, None])
        return tangents.with_parameters(tangents.parameters + changes)

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        v = balls(tangents.parameters[i])
        product = self._product(v)
        offset = -weighted_sum(v, product)
        if self.needs_bounds:
            distance = ZERO
            for entry, (low, high) in zip(v, bounds, strict=True):
                if not (math.isfinite(low) and math.isfinite(high)):
                    return [NOT_A_NUMBER] * self.n, NOT_A_NUMBER
                side = abs(entry - ball(low)).max(abs(entry - ball(high)))
                distance = distance + side * side
            offset = offset - self.sign * ball(self.epsilon) * distance
        return [2 * entry for entry in product], offset

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        if self.needs_bounds:
            return None
        v, n = balls(tangents.parameters[i]), self.n
        columns = [[(j, 2 * self.P[j * n + k]) for j in range(n) if not self.P[j * n + k] == 0] for k in range(n)]
        sizes = 1 / np.maximum(2 * np.abs(self.float_matrix).max(axis=0), TINY)

        def complete(changed: Sequence[Ball], y: Sequence[Ball]) -> tuple[Sequence[Ball], Ball]:
            point = [first + second for first, second in zip(v, y, strict=True)]
            return changed, -weighted_sum(point, self._product(point))

        slopes = [2 * entry for entry in self._product(v)]
        return MinorantFamily(slopes, columns, sizes.tolist(), complete)

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return (
            None
            if self.needs_bounds or self.sign < 0
            else [[(j, self.P[i * self.n + j]) for j in range(self.n)] for i in range(self.n)]
        )

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        if self.needs_bounds:
            return -math.inf, math.inf
        return (0.0, math.inf) if self.sign > 0 else (-math.inf, 0.0)

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        size = output[1] if self.sign > 0 else -output[0]
        if not (self._min_eigenvalue > 0 and math.isfinite(size) and size >= 0):
            return list(bounds)
        limit = magnitude_bounds(size_power(ball(size) / ball(self._min_eigenvalue), ball(0.5)))
        return [intersection(pair, limit) for pair in bounds]

    def _product(self, u: Sequence[Ball]) -> list[Ball]:
        """Return P u."""
        return (self._matrix * matrix(u, self.n)).entries()

    @cached_property
    def _matrix(self) -> Any:
        """P as a matrix of balls."""
        return matrix(self.P, self.n)


class Mean(Function):
    """A concave, homogeneous mean of non-negative numbers. The parameters of a group are the point v of its tangent."""

    has_sublinear_growth = True
    is_nondecreasing = True
    is_homogeneous = True
    sign = -1

    @abstractmethod
    def gradient(self, v: Sequence[Ball]) -> list[Ball]:
        """Return the gradient of phi at a positive point, which is also the slope of the minorant; its offset is 0."""

    @abstractmethod
    def float_gradient(self, v: Float[Array, "m k"]) -> Float[Array, "m k"]:
        """Return the gradients of phi in floating point."""

    @abstractmethod
    def relative_curvature(self, v: Float[Array, "m k"]) -> Float[Array, "m k k"]:
        """Return minus the Hessian of phi in relative changes of v."""

    def domain_limits(self, count: int) -> Mapping[int, float]:
        return dict.fromkeys(range(count), 0.0)

    def domain_point(self, u: Float[Array, " k"]) -> Float[Array, " k"]:
        return np.maximum(u, 0.0)

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        return [changes >= columns_of(slopes, changes.shape[1]), slopes >= 0]  # not below the smallest entry

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        # At the apex of a cone, where all entries are about 0, their ratios are noise.
        positive = np.maximum(u, 1e-2 * width * max(MIN_SIZE, float(np.abs(u).max(initial=0.0))))
        return Tangents(positive, np.zeros((len(u), 0)), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return self.float_gradient(tangents.parameters)

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        root, _ = self._roots(tangents.parameters)
        return -root / tangents.parameters[:, :, None] / np.sqrt(weights)[:, None, None]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        _, inverse_root = self._roots(tangents.parameters)
        changes = np.einsum("mkr,mr->mk", inverse_root, steps) / np.sqrt(weights)[:, None]
        return tangents.with_parameters(tangents.parameters * np.exp(np.clip(changes, -1, 1)))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        v = balls(tangents.parameters[i])
        return (self.gradient(v) if all(entry > 0 for entry in v) else [NOT_A_NUMBER] * len(v)), ZERO

    @abstractmethod
    def dual_mean(self, slopes: Sequence[Ball]) -> Ball:
        """Return the dual mean of positive slopes g: <g, u> is nowhere below the mean of u if this is at least 1."""

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        slopes = [(1 + margin) * slope for slope in self.minorant(tangents, i, [])[0]]
        sizes = (TIGHT_SIZE * midpoints(slopes)).tolist()

        def complete(changed: Sequence[Ball], y: Sequence[Ball]) -> tuple[Sequence[Ball], Ball]:
            is_proved = all(slope > 0 for slope in changed) and self.dual_mean(changed) >= 1
            return changed, ZERO if is_proved else NOT_A_NUMBER

        return free_family(slopes, sizes, complete)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return 0.0, math.inf

    def _roots(self, v: Float[Array, "m k"]) -> tuple[Float[Array, "m k k"], Float[Array, "m k k"]]:
        """Return the root of the relative curvature, and its pseudo-inverse."""
        eigenvalues, vectors = np.linalg.eigh(self.relative_curvature(v))
        support = eigenvalues > 1e-12 * np.maximum(np.abs(eigenvalues).max(axis=1, keepdims=True), 1e-300)
        roots = np.sqrt(np.where(support, eigenvalues, 0.0))
        inverses = np.where(support, 1 / np.where(support, roots, 1.0), 0.0)
        transposed = vectors.transpose(0, 2, 1)
        return (vectors * roots[:, None, :]) @ transposed, (vectors * inverses[:, None, :]) @ transposed


class GeometricMean(Mean):
    """The product of u_i^w_i; CVXPY's `geo_mean`.

    Parameters
    ----------
    weights
        w, positive, of sum 1.
    """

    weights: list[Ball]
    float_weights: Array

    def __init__(self, weights: Sequence[Ball]) -> None:
        self.weights = list(weights)
        self.float_weights = midpoints(weights)
        self._unit_roots = super()._roots(np.ones((1, len(weights))))

    def value(self, u: Sequence[Ball]) -> Ball:
        product = ONE
        for entry, weight in zip(u, self.weights, strict=True):
            product = product * positive_power(entry, weight)
        return product

    def gradient(self, v: Sequence[Ball]) -> list[Ball]:
        mean = self.value(v)
        return [weight * mean / entry for weight, entry in zip(self.weights, v, strict=True)]

    def dual_mean(self, slopes: Sequence[Ball]) -> Ball:
        return self.value([slope / weight for slope, weight in zip(slopes, self.weights, strict=True)])

    def float_gradient(self, v: Float[Array, "m k"]) -> Float[Array, "m k"]:
        return self._float_means(v) * self.float_weights / v

    def relative_curvature(self, v: Float[Array, "m k"]) -> Float[Array, "m k k"]:
        w = self.float_weights
        return self._float_means(v)[:, :, None] * (np.diag(w) - np.outer(w, w))

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return [nonnegative(pair) for pair in bounds]

    def _roots(self, v: Float[Array, "m k"]) -> tuple[Float[Array, "m k k"], Float[Array, "m k k"]]:
        root, inverse = self._unit_roots  # the relative curvature is proportional to the mean
        scales = np.sqrt(self._float_means(v))[:, :, None]
        return scales * root, inverse / scales

    def _float_means(self, v: Float[Array, "m k"]) -> Float[Array, "m 1"]:
        return np.exp(np.sum(self.float_weights * np.log(v), axis=1, keepdims=True))


class PowerMean(Mean):
    """(sum u^p)^(1/p) for p below 1 and not 0; CVXPY's `pnorm` for such p, and `harmonic_mean`.

    Parameters
    ----------
    exponent
        p, an exact number.
    """

    p: float
    exponent: Ball

    def __init__(self, exponent: Any) -> None:
        self.p = float(exponent)
        self.exponent = ball(exponent)

    def value(self, u: Sequence[Ball]) -> Ball:
        total = ZERO
        for entry in u:
            total = total + positive_power(entry, self.exponent)
        return positive_power(total, 1 / self.exponent)

    def domain_point(self, u: Float[Array, " k"]) -> Float[Array, " k"]:
        return np.maximum(u, 0.0 if self.p > 0 else TINY)

    def gradient(self, v: Sequence[Ball]) -> list[Ball]:
        mean = self.value(v)
        return [(mean / entry) ** (1 - self.exponent) for entry in v]

    def dual_mean(self, slopes: Sequence[Ball]) -> Ball:
        # Hölder's inequality for exponents below 1, 1 / p + 1 / q = 1, is the other way around.
        q = self.exponent / (self.exponent - 1)
        return sum((slope**q for slope in slopes), ZERO) ** (1 / q)

    def float_gradient(self, v: Float[Array, "m k"]) -> Float[Array, "m k"]:
        return (self._float_means(v) / v) ** (1 - self.p)

    def relative_curvature(self, v: Float[Array, "m k"]) -> Float[Array, "m k k"]:
        means = self._float_means(v)
        shares = (v / means) ** self.p  # of sum 1
        diagonal = shares[:, :, None] * np.eye(v.shape[1])
        return (1 - self.p) * means[:, :, None] * (diagonal - shares[:, :, None] * shares[:, None, :])

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return [nonnegative(pair) for pair in bounds]

    def _float_means(self, v: Float[Array, "m k"]) -> Float[Array, "m 1"]:
        largest_entries = v.max(axis=1, keepdims=True) if self.p > 0 else v.min(axis=1, keepdims=True)
        return largest_entries * np.sum((v / largest_entries) ** self.p, axis=1, keepdims=True) ** (1 / self.p)
