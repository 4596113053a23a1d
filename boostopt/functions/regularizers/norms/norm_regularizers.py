"""Norm balls and norm penalties on the simplex, with or without the relative entropy.

Their conjugates are infimal convolutions, F*(z) = min over s of B*(z - s) + H(s) with

    H(s) = r ||s||_q (ball),    H(s) = I[||s||_q <= r] (penalty).

The best s is [z + rho]_+ for the simplex alone; with the entropy it lies on a curve [Shalev-Shwartz and Singer 2008,
theorem 7, examples 1 and 2, figure 1; for absolute norms].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_number, positive_weights
from boostopt.errors import ProblemError
from boostopt.functions.numerics.root_finding import ROOT_RTOL, bracket_root, find_root
from boostopt.functions.regularizers.base import ConjugatePoint, StationarityConditions
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.indicators import CappedSimplexIndicator
from boostopt.functions.regularizers.norms.entropy_norm_path import EntropyNormPath
from boostopt.functions.regularizers.norms.norm_base import NORM_ROUNDING, NormRegularizer
from boostopt.functions.regularizers.norms.singleton_ball import inner_product_bound, relative_radius_excess
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy

BALL_SHRINKAGE = 4e-16
"""By how much a point scaled into a ball is pulled further in, so that rounding leaves it there."""

MIN_RELATIVE_RADIUS_EXCESS = 1e-6
"""Relative distance to the smallest radius from which on the common part of ball and simplex is computed with."""

MAX_LOG = 600.0
"""Logarithm beyond which a root counts as lying at 0 or at infinity."""

TINY = 1e-300
"""Stand-in for 0 in quotients and logarithms: s underflows where p is large."""

CANCELLATION_FACTOR = 16.0 * float(np.finfo(np.float64).eps)
"""Rounding of B*(z - s) + r ||s||_q relative to the size of s: near the smallest radius s is large and cancels."""


def simplex(c: Float[Array, " N"]) -> CappedSimplexIndicator:
    """Return the indicator of the simplex, without a cap; tied examples share weight in proportion to c."""
    c = positive_weights("c", c)
    return CappedSimplexIndicator(CappedSimplex(c, float(c.min(initial=np.inf))))


@dataclass(frozen=True)
class NormBall(NormRegularizer):
    """The base regularizer restricted to ||d||_p <= r.

    If the radius equals the smallest norm up to rounding, the domain is one point, and F* includes the rounding of r.

    Raises
    ------
    ProblemError
        The ball does not meet the simplex, because r is less than the smallest norm of a distribution; or the ball and
        the simplex have a common part that is too small for computations.
    """

    kind: ClassVar[str] = "norm ball"

    def __post_init__(self) -> None:
        super().__post_init__()
        smallest = self.norm(self.min_norm_point)
        if self.relative_radius_excess < -self.norm_rounding_error:
            raise ProblemError(
                f"r must be at least {smallest:.10g}, the {self.p:g}-norm of the uniform distribution, so that the "
                f"ball meets the simplex; got {self.r:.10g}. Raise r."
            )
        # A radius larger by a relative x leaves a part of the simplex of size sqrt(x): between rounding and this, the
        # set is too small to be computed in, and not one point either.
        if self.norm_rounding_error < self.relative_radius_excess < MIN_RELATIVE_RADIUS_EXCESS:
            raise ProblemError(
                f"r must be {smallest:.17g}, where the ball touches the simplex in one point, or at least "
                f"{smallest * (1 + MIN_RELATIVE_RADIUS_EXCESS):.17g}; got {self.r:.17g}. Choose one of them."
            )

    @property
    def norm_rounding_error(self) -> float:
        """The relative rounding error of a norm."""
        return NORM_ROUNDING * (8.0 + float(np.log2(self.N))) + self.exponent_rounding_error(self.p)

    @cached_property
    def relative_radius_excess(self) -> float:
        """The relative distance of r to the smallest norm, accurate near 0."""
        beyond = self.r / self.norm(self.min_norm_point) - 1.0
        return (
            beyond
            if abs(beyond) > MIN_RELATIVE_RADIUS_EXCESS
            else relative_radius_excess(self.r, self.c[self.min_norm_point > 0], self.p)
        )

    @cached_property
    def is_singleton(self) -> bool:
        """Whether the ball and the simplex have, up to rounding, a single common point, that of smallest norm."""
        return self.relative_radius_excess <= self.norm_rounding_error

    @property
    def value_bound(self) -> float:
        return self.base.value_bound

    def value(self, d: Float[Array, " N"]) -> float:
        return self.base.value(d)

    def room(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.zeros(self.N)

    def stationarity(self, d: Float[Array, " N"], min_relative_weight: float) -> StationarityConditions:
        at = self.base.stationarity(d, min_relative_weight)
        on_sphere = self.norm(d) >= self.r * (1.0 - min_relative_weight)
        return replace(at, normals=self.norm_gradient(d)[:, np.newaxis]) if on_sphere else at

    def residuals(self, d: Float[Array, " N"]) -> dict[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):  # what is huge is as wrong as inf says
            norm = self.norm(d)
        return {**self.base.residuals(d), "norm d <= r": max(0.0, norm - self.r) if np.isfinite(norm) else np.inf}

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        """Return the projection onto the simplex, mixed with the point of smallest norm as much as needed."""
        if self.is_singleton:
            return self.min_norm_point
        if d is None:
            return self.conjugate_at(np.zeros(self.N)).d
        d = self.base.project(d)
        norm, smallest = self.norm(d), self.norm(self.min_norm_point)
        # Within the sphere by the rounding of a norm: what is outside in exact arithmetic proves nothing.
        inner = self.r * (1.0 - self.norm_rounding_error)
        if norm <= inner:
            return d
        share = (norm - inner) / (norm - smallest) if norm > smallest else 1.0
        share = min(share + BALL_SHRINKAGE, 1.0)
        return (1.0 - share) * d + share * self.min_norm_point

    def conjugate_at(self, z: Float[Array, " N"], near: Float[Array, " N"] | None = None) -> ConjugatePoint:
        if not self.is_singleton:
            return super().conjugate_at(z, near)
        # No finite s is best: the maximum is that of one point, or of one beside it.
        value = float((z * self.min_norm_point).sum()) - self.base.value(self.min_norm_point) + self._rounding_excess(z)
        multipliers = self.base.conjugate_at(z).multipliers
        return ConjugatePoint(value, self.min_norm_point, {**multipliers, "s": np.zeros(self.N)})

    def gaps(self, d: Float[Array, " N"], z: Float[Array, " N"], at: ConjugatePoint) -> Float[Array, " N"]:
        return self._rounding_excess(z) * self.min_norm_point if self.is_singleton else super().gaps(d, z, at)

    def dual_norm_term(self, s: Float[Array, " N"]) -> float:
        return self.r * self.dual_norm(s) + self._cancellation_error(s)

    def norm_gap_terms(self, d: Float[Array, " N"], s: Float[Array, " N"]) -> Float[Array, " N"]:
        size = self.dual_norm(s)
        if size == 0.0:
            return np.zeros(self.N)
        alpha, beta = d / (self.r * self.c), s / size
        short = max(1.0 - (self.norm(d) / self.r) ** self.p, 0.0) / self.p
        share = self.c * beta**self.dual_exponent
        return (
            self.r * size * (self._young_gap_terms(alpha, beta) + short * share) + self._cancellation_error(s) * share
        )

    def _rounding_excess(self, z: Float[Array, " N"]) -> float:
        """By how much F*(z) may exceed what the center alone gives."""
        if self.relative_radius_excess <= 0.0:
            return 0.0
        # The base lies above its tangent at the center.
        live, y = self.min_norm_point > 0, z - self.base.derivatives(self.min_norm_point)
        return inner_product_bound(self.min_norm_point[live], y[live], self.relative_radius_excess, self.p)

    def _cancellation_error(self, s: Float[Array, " N"]) -> float:
        """Bound the rounding error that B*(z - s) + r ||s||_q has because s is large, or c far from 1."""
        return CANCELLATION_FACTOR * float(np.abs(s).max()) + self.exponent_rounding_error(
            self.dual_exponent
        ) * self.r * self.dual_norm(s)

    def _maximizer_and_dual(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        inside = self.base.conjugate_at(z).d
        if self.norm(inside) <= self.r:
            return inside, np.zeros(self.N)
        if isinstance(self.base, RelativeEntropy):
            curve = EntropyNormPath(self.base, self.c, self.p, z)
            return self._find_on_path(curve, lambda d, s: np.log(self.r) - np.log(self.norm(d)))
        return self._solve_on_support(z)

    def _solve_on_simplex(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Return (d, s) with s = [z + rho]_+, d = r c (s / ||s||_q)^(q-1) and sum d = 1."""
        relative = z - float(z.max())

        def weights(log_rho: float) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
            v = np.maximum(relative + np.exp(log_rho), 0.0)
            return self.r * self.c * (v / self.dual_norm(v)) ** (self.dual_exponent - 1.0), v

        def excess(log_rho: float) -> float:
            return float(weights(log_rho)[0].sum()) - 1.0

        log_rho = find_root(excess, *bracket_root(excess, 0.0, MAX_LOG))
        # For large p the weights jump where an example comes in: a mixture of both sides then has the sum 1.
        step = ROOT_RTOL * max(abs(log_rho), 1.0)
        while step < 1.0 and (excess(log_rho - step) > 0.0 or excess(log_rho + step) < 0.0):
            step *= 2.0
        (below, _), (above, s) = weights(log_rho - step), weights(log_rho + step)
        share = (1.0 - float(below.sum())) / max(float(above.sum() - below.sum()), TINY)
        return below + min(max(share, 0.0), 1.0) * (above - below), s

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        value, constraints = self.base.cvxpy_value(d)
        return value, [*constraints, self.cvxpy_norm(d) <= self.r]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        s = cp.Variable(self.N, name="s")
        value, constraints = self.base.cvxpy_conjugate(z - s)
        return value + self.r * self.cvxpy_dual_norm(s), constraints


@dataclass(frozen=True)
class NormPenalty(NormRegularizer):
    """The base regularizer plus r ||d||_p; p may be infinite."""

    kind: ClassVar[str] = "norm penalty"

    @staticmethod
    def _exponent(name: str, value: object) -> float:
        return check_number(name, value, "a number above 1, or inf", lambda p: p > 1.0, error=ProblemError)

    @property
    def value_bound(self) -> float:
        return self.base.value_bound + self._max_penalty

    @property
    def magnitude(self) -> float:
        return super().magnitude + self._max_penalty

    @property
    def _max_penalty(self) -> float:
        """Largest value of the penalty on the simplex: at a vertex."""
        return self.r * float(self._vertices.max())

    def value(self, d: Float[Array, " N"]) -> float:
        # Never below: what the rounding of 1/p may lose of the norm grows with the logarithm of c.
        return self.base.value(d) + self.r * self.norm(d) * (1.0 + self.exponent_rounding_error(self.p))

    def stationarity(self, d: Float[Array, " N"], min_relative_weight: float) -> StationarityConditions:
        at = self.base.stationarity(d, min_relative_weight)
        if np.isfinite(self.p):
            return replace(at, gradient=at.gradient + self.r * self.norm_gradient(d))
        # r max (d / c) is a cap at its own height whose multipliers, times d, sum to r times that height.
        height = self.norm(d)
        return replace(at, upper=np.minimum(at.upper, height * self.c), required_inner_product=self.r * height)

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        return self.conjugate_at(np.zeros(self.N)).d if d is None else self.base.project(d)

    def dual_norm_term(self, s: Float[Array, " N"]) -> float:
        return 0.0

    def norm_gap_terms(self, d: Float[Array, " N"], s: Float[Array, " N"]) -> Float[Array, " N"]:
        norm, size = self.norm(d), self.dual_norm(s)
        short = max(1.0 - (size / self.r) ** self.dual_exponent, 0.0)
        share = self.c / self.c.sum() * short
        if not np.isfinite(self.p):
            return self.c * s * np.maximum(norm - d / self.c, 0.0) + self.r * norm * share
        return self.r * norm * (self._young_gap_terms(d / (norm * self.c), s / self.r) + share / self.dual_exponent)

    def _maximizer_and_dual(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        d, s = self._maximizer_and_dual_unscaled(z)
        # Whatever the accuracy of the root, s must lie in the dual ball.
        inner = self.r * (1.0 - self.N * 1e-16 - self.exponent_rounding_error(self.dual_exponent))
        return d, s * min(1.0, inner / max(self.dual_norm(s), TINY))

    def _maximizer_and_dual_unscaled(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        if not isinstance(self.base, RelativeEntropy):
            return self._solve_on_support(z)
        curve = EntropyNormPath(self.base, self.c, self.p, z)
        if np.isfinite(self.p):
            return self._find_on_path(curve, lambda d, s: np.log(max(self.dual_norm(s), TINY)) - np.log(self.r))
        return curve.maximizer_at(curve.level_for_total(self.r))

    def _solve_on_simplex(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """||[z + rho]_+||_q = r, d proportional to c [z + rho]_+^(q-1), to c on the positive ones for p = inf."""
        relative = z - float(z.max())
        high = self.r / float(self.c[np.argmax(relative)]) ** (1.0 / self.dual_exponent)

        def positive(rho: float) -> Float[Array, " N"]:
            return np.maximum(relative + rho, 0.0)

        def excess(rho: float) -> float:
            return self.dual_norm(positive(rho)) - self.r

        high *= 1.0 + 1e-12
        rho = find_root(excess, 0.0, high) if excess(high) > 0 else high
        s = positive(rho)
        power = (
            (s / max(float(s.max()), TINY)) ** (self.dual_exponent - 1.0)
            if np.isfinite(self.p)
            else np.where(s > 0, 1.0, 0)
        )
        d = self.c * power
        # Whatever the root is off by, s must be a number and d a distribution; any s gives a bound.
        return (d / d.sum(), s) if float(d.sum()) > 0.0 else (self.min_norm_point, s)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        value, constraints = self.base.cvxpy_value(d)
        return value + self.r * self.cvxpy_norm(d), constraints

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        s = cp.Variable(self.N, name="s")
        value, constraints = self.base.cvxpy_conjugate(z - s)
        return value, [*constraints, self.cvxpy_dual_norm(s) <= self.r]
