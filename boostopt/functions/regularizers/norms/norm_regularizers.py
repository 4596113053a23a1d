"""Norm balls and norm penalties on the simplex, with or without the relative entropy.

Their conjugates are infimal convolutions, F*(z) = min over s of B*(z - s) + H(s), where B is the base and

    H(s) = r ||s||_q (ball),    H(s) = I[||s||_q <= r] (penalty).

On the simplex alone, the best s is [z + rho]_+ for a number rho. With the entropy, the best s lies on a curve
[Shalev-Shwartz and Singer 2008, theorem 7, examples 1 and 2, figure 1; for absolute norms].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_number, positive_weights
from boostopt.errors import ProblemError
from boostopt.functions.numerics.root_finding import ROOT_RTOL, bracket_root, find_root
from boostopt.functions.regularizers.base import ConjugatePoint, StationarityConditions
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.norms.entropy_norm_path import EntropyNormPath
from boostopt.functions.regularizers.norms.norm_base import NORM_ROUNDING, NormRegularizer
from boostopt.functions.regularizers.norms.singleton_ball import inner_product_bound, relative_radius_excess
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy

BALL_SHRINKAGE = 4e-16
"""Fraction of the point of smallest norm that is added to a point scaled into a ball, so that rounding leaves the point
in the ball."""

MIN_RELATIVE_RADIUS_EXCESS = 1e-6
"""Smallest relative distance of a radius to the smallest norm, unless the two are equal up to rounding. At smaller
distances, the intersection of the ball and the simplex is too small for computations."""

MAX_LOG = 600.0
"""Largest absolute value of the logarithm of a root; beyond, the root counts as 0 or as infinite."""

TINY = 1e-300
"""Positive number that replaces 0 in quotients and logarithms, because s underflows if p is large."""

CANCELLATION_FACTOR = 16.0 * float(np.finfo(np.float64).eps)
"""Rounding error of B*(z - s) + r ||s||_q relative to the size of s. If the radius is near the smallest norm, s is
large, and the two terms cancel."""


def simplex(c: ExampleVector) -> CappedSimplexIndicator:
    """Return the indicator of the simplex, without caps.

    Maximizers give examples with equal margins weights in proportion to c.

    Parameters
    ----------
    c
        The multiplicities, shape (N,), positive.
    """
    c = positive_weights("c", c)
    return CappedSimplexIndicator(CappedSimplex(c, float(c.min(initial=np.inf))))


@dataclass(frozen=True)
class NormBall(NormRegularizer):
    """The base regularizer restricted to ||d||_p <= r.

    If the radius equals the smallest norm up to rounding, the domain is a single point. Then F* includes the rounding
    of r.

    Raises
    ------
    ProblemError
        The ball and the simplex are disjoint, because r is less than the smallest norm of a distribution; or their
        intersection is too small for computations.
    """

    kind: ClassVar[str] = "norm ball"

    def __post_init__(self) -> None:
        super().__post_init__()
        min_norm = self.norm(self.min_norm_point)
        if self.relative_radius_excess < -self.norm_rounding_error:
            raise ProblemError(
                f"r must be at least {min_norm:.10g}, the {self.p:g}-norm of the uniform distribution, so that the "
                f"ball meets the simplex; got {self.r:.10g}. Raise r."
            )
        # If the radius exceeds the smallest norm by a relative x, the domain has a diameter of about sqrt(x). Between
        # the rounding error and this limit, it is too small for computations, but more than a single point.
        if self.norm_rounding_error < self.relative_radius_excess < MIN_RELATIVE_RADIUS_EXCESS:
            raise ProblemError(
                f"r must be {min_norm:.17g}, where the ball touches the simplex in one point, or at least "
                f"{min_norm * (1 + MIN_RELATIVE_RADIUS_EXCESS):.17g}; got {self.r:.17g}. Choose one of them."
            )

    @property
    def norm_rounding_error(self) -> float:
        """A bound on the relative rounding error of a norm."""
        return NORM_ROUNDING * (8.0 + float(np.log2(self.N))) + self.exponent_rounding_error(self.p)

    @cached_property
    def relative_radius_excess(self) -> float:
        """The relative distance of r to the smallest norm, accurate near 0."""
        excess = self.r / self.norm(self.min_norm_point) - 1.0
        if abs(excess) > MIN_RELATIVE_RADIUS_EXCESS:
            return excess
        return relative_radius_excess(self.r, self.c[self.min_norm_point > 0], self.p)

    @cached_property
    def is_singleton(self) -> bool:
        """True if the ball and the simplex intersect, up to rounding, in the point of smallest norm only."""
        return bool(self.relative_radius_excess <= self.norm_rounding_error)

    @property
    def value_bound(self) -> float:
        return self.base.value_bound

    def value(self, d: ExampleVector) -> float:
        return self.base.value(d)

    def room(self, d: ExampleVector) -> ExampleVector:
        return np.zeros(self.N)

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        conditions = self.base.stationarity(d, min_relative_weight)
        on_sphere = self.norm(d) >= self.r * (1.0 - min_relative_weight)
        return replace(conditions, normals=self.norm_gradient(d)[:, np.newaxis]) if on_sphere else conditions

    def residuals(self, d: ExampleVector) -> dict[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):  # a norm that overflows is an infinite violation
            norm = self.norm(d)
        return {**self.base.residuals(d), "norm d <= r": max(0.0, norm - self.r) if np.isfinite(norm) else np.inf}

    def project(self, d: ExampleVector | None) -> ExampleVector:
        """Return the projection onto the domain of the base, mixed with the point of smallest norm into the ball."""
        if self.is_singleton:
            return self.min_norm_point
        if d is None:
            return self.conjugate_at(np.zeros(self.N)).d
        d = self.base.project(d)
        norm, min_norm = self.norm(d), self.norm(self.min_norm_point)
        # The radius minus the rounding error of a norm: a point outside in exact arithmetic proves nothing.
        safe_radius = self.r * (1.0 - self.norm_rounding_error)
        if norm <= safe_radius:
            return d
        fraction = (norm - safe_radius) / (norm - min_norm) if norm > min_norm else 1.0
        fraction = min(fraction + BALL_SHRINKAGE, 1.0)
        return (1.0 - fraction) * d + fraction * self.min_norm_point

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        if not self.is_singleton:
            return super().conjugate_at(z, start)
        # No finite s is the best one. The maximum is attained at the only point, or near it by the rounding of r.
        center_value = float((z * self.min_norm_point).sum()) - self.base.value(self.min_norm_point)
        value = center_value + self._rounding_excess(z)
        multipliers = self.base.conjugate_at(z).multipliers
        return ConjugatePoint(value, self.min_norm_point, {**multipliers, "s": np.zeros(self.N)})

    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        return self._rounding_excess(z) * self.min_norm_point if self.is_singleton else super().gaps(d, z, point)

    def dual_norm_term(self, s: ExampleVector) -> float:
        return self.r * self.dual_norm(s) + self._cancellation_error(s)

    def norm_gap_terms(self, d: ExampleVector, s: ExampleVector) -> ExampleVector:
        size = self.dual_norm(s)
        if size == 0.0:
            return np.zeros(self.N)
        alpha, beta = d / (self.r * self.c), s / size
        slackness = max(1.0 - (self.norm(d) / self.r) ** self.p, 0.0) / self.p
        fractions = self.c * beta**self.dual_exponent  # they sum to 1
        gap_terms = self._young_gap_terms(alpha, beta) + slackness * fractions
        return self.r * size * gap_terms + self._cancellation_error(s) * fractions

    def _rounding_excess(self, z: ExampleVector) -> float:
        """Bound F*(z) minus <z, center> - F(center), if the center is the only point of the domain up to rounding."""
        if self.relative_radius_excess <= 0.0:
            return 0.0
        # The base lies above its tangent at the center.
        in_support, y = self.min_norm_point > 0, z - self.base.derivatives(self.min_norm_point)
        center = self.min_norm_point[in_support]
        return inner_product_bound(center, y[in_support], self.relative_radius_excess, self.p)

    def _cancellation_error(self, s: ExampleVector) -> float:
        """Bound the rounding error of B*(z - s) + r ||s||_q if s is large, or if c is far from 1."""
        norm_error = self.exponent_rounding_error(self.dual_exponent) * self.r * self.dual_norm(s)
        return CANCELLATION_FACTOR * float(np.abs(s).max()) + norm_error

    def _maximizer_and_dual(self, z: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        base_maximizer = self.base.conjugate_at(z).d
        if self.norm(base_maximizer) <= self.r:
            return base_maximizer, np.zeros(self.N)
        if isinstance(self.base, RelativeEntropy):
            path = EntropyNormPath(self.base, self.c, self.p, z)
            return self._find_on_path(path, lambda d, s: np.log(self.r) - np.log(self.norm(d)))
        return self._solve_on_support(z)

    def _solve_on_simplex(self, z: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        """Return (d, s) with s = [z + rho]_+, d = r c (s / ||s||_q)^(q-1) and sum d = 1."""
        shifted_z = z - float(z.max())

        def weights(log_rho: float) -> tuple[ExampleVector, ExampleVector]:
            v = np.maximum(shifted_z + np.exp(log_rho), 0.0)
            return self.r * self.c * (v / self.dual_norm(v)) ** (self.dual_exponent - 1.0), v

        def excess(log_rho: float) -> float:
            return float(weights(log_rho)[0].sum()) - 1.0

        log_rho = find_root(excess, *bracket_root(excess, 0.0, MAX_LOG))
        # For large p, the weights jump at a rho at which another entry of s becomes positive. Then a convex combination
        # of the weights on both sides has the sum 1.
        step = ROOT_RTOL * max(abs(log_rho), 1.0)
        while step < 1.0 and (excess(log_rho - step) > 0.0 or excess(log_rho + step) < 0.0):
            step *= 2.0
        (lower_d, _), (upper_d, s) = weights(log_rho - step), weights(log_rho + step)
        fraction = (1.0 - float(lower_d.sum())) / max(float(upper_d.sum() - lower_d.sum()), TINY)
        return lower_d + min(max(fraction, 0.0), 1.0) * (upper_d - lower_d), s

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

    def value_size(self, d: ExampleVector) -> float:
        # Weights that are scaled to the exact sum 1 change the norm by the same factor.
        return super().magnitude + self.r * self.norm(d)

    def conjugate_size(self, d: ExampleVector, multipliers: Mapping[str, Any]) -> float:
        # The value is that of the base at z - s, whose size is at most that of z plus the smallest penalty.
        return self.value_size(d)

    @property
    def _max_penalty(self) -> float:
        """The largest value of the penalty on the simplex, at a vertex."""
        return self.r * float(self._vertex_norms.max())

    def value(self, d: ExampleVector) -> float:
        # An upper bound: the error of the norm by the rounding of 1/p grows with the logarithm of c.
        return self.base.value(d) + self.r * self.norm(d) * (1.0 + self.exponent_rounding_error(self.p))

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        conditions = self.base.stationarity(d, min_relative_weight)
        if np.isfinite(self.p):
            return replace(conditions, gradient=conditions.gradient + self.r * self.norm_gradient(d))
        # The term r max(d / c) acts as the caps max(d / c) c. Their multipliers, times d, sum to r max(d / c).
        norm = self.norm(d)
        upper = np.minimum(conditions.upper, norm * self.c)
        return replace(conditions, upper=upper, required_inner_product=self.r * norm)

    def project(self, d: ExampleVector | None) -> ExampleVector:
        return self.conjugate_at(np.zeros(self.N)).d if d is None else self.base.project(d)

    def dual_norm_term(self, s: ExampleVector) -> float:
        return 0.0

    def norm_gap_terms(self, d: ExampleVector, s: ExampleVector) -> ExampleVector:
        norm, size = self.norm(d), self.dual_norm(s)
        slackness = self.c / self.c.sum() * max(1.0 - (size / self.r) ** self.dual_exponent, 0.0)
        if not np.isfinite(self.p):
            return self.c * s * np.maximum(norm - d / self.c, 0.0) + self.r * norm * slackness
        return self.r * norm * (self._young_gap_terms(d / (norm * self.c), s / self.r) + slackness / self.dual_exponent)

    def _maximizer_and_dual(self, z: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        d, s = self._maximizer_and_dual_unscaled(z)
        # The vector s must lie in the dual ball, however accurate the root is.
        safe_radius = self.r * (1.0 - self.N * 1e-16 - self.exponent_rounding_error(self.dual_exponent))
        return d, s * min(1.0, safe_radius / max(self.dual_norm(s), TINY))

    def _maximizer_and_dual_unscaled(self, z: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        """Return a maximizer and the best s, which lies in the dual ball up to the accuracy of the root."""
        if not isinstance(self.base, RelativeEntropy):
            return self._solve_on_support(z)
        path = EntropyNormPath(self.base, self.c, self.p, z)
        if np.isfinite(self.p):
            return self._find_on_path(path, lambda d, s: np.log(max(self.dual_norm(s), TINY)) - np.log(self.r))
        return path.maximizer_at(path.level_for_total(self.r))

    def _solve_on_simplex(self, z: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        """Return (d, s) with s = [z + rho]_+, ||s||_q = r and d proportional to c s^(q-1).

        For p = inf, d is proportional to c where s > 0.
        """
        shifted_z = z - float(z.max())
        high = self.r / float(self.c[np.argmax(shifted_z)]) ** (1.0 / self.dual_exponent)

        def dual_at(rho: float) -> ExampleVector:
            return np.maximum(shifted_z + rho, 0.0)

        def excess(rho: float) -> float:
            return self.dual_norm(dual_at(rho)) - self.r

        high *= 1.0 + 1e-12
        rho = find_root(excess, 0.0, high) if excess(high) > 0 else high
        s = dual_at(rho)
        if np.isfinite(self.p):
            powers = (s / max(float(s.max()), TINY)) ** (self.dual_exponent - 1.0)
        else:
            powers = np.where(s > 0, 1.0, 0)
        d = self.c * powers
        # Any finite s gives a bound, but d must be a distribution, however inaccurate the root is.
        return (d / d.sum(), s) if float(d.sum()) > 0.0 else (self.min_norm_point, s)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        value, constraints = self.base.cvxpy_value(d)
        return value + self.r * self.cvxpy_norm(d), constraints

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        s = cp.Variable(self.N, name="s")
        value, constraints = self.base.cvxpy_conjugate(z - s)
        return value, [*constraints, self.cvxpy_dual_norm(s) <= self.r]
