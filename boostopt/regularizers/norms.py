"""Norm balls and norm penalties on the simplex, without and with the relative entropy.

With multiplicities the norm is that of the copies, ||d||_p^p = sum_n c_n (d_n / c_n)^p, and its dual is
||s||_q^q = sum_n c_n |s_n|^q with 1/p + 1/q = 1. Both functions are a base B (the simplex, or the relative entropy on
it) plus h(||d||_p), and so is their conjugate an infimal convolution:

    F*(z) = min over s of B*(z - s) + H(s),    H(s) = r ||s||_q (ball),    H(s) = I[||s||_q <= r] (penalty),

so that ANY s gives a number that is not below F*(z). The best s is [z + rho]_+ for the simplex alone and the power
mu c^(1-p) d^(p-1) of the answer with the entropy, where everything is Wright's omega function
[Shalev-Shwartz and Singer 2008, theorem 7, examples 1 and 2, figure 1; for absolute norms].
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from boostopt.errors import ProblemError
from boostopt.regularizers.base import ConjugatePoint, Regularizer, Stationarity
from boostopt.regularizers.cap import Cap
from boostopt.regularizers.capped_simplex import CappedSimplex
from boostopt.regularizers.powers import ROOT, Curve, bracket, root
from boostopt.regularizers.relative_entropy import RelativeEntropy
from boostopt.shapes import Array, Float

SHRINK = 4e-16
"""By how much a point scaled into a ball is pulled further in, so that rounding leaves it there."""

TOUCHING = 1e-12
"""Relative distance to the smallest radius within which the ball counts as touching the simplex in one point."""

NARROW = 1e-6
"""Relative distance to the smallest radius from which on the common part of ball and simplex is computed with."""

NORM_ROUNDING = 4.4e-16
"""Relative rounding error of a norm for each step of its pairwise sum."""

LARGEST_LOG = 600.0
"""Logarithm beyond which a root counts as lying at 0 or at infinity."""

CANCELLED = 16.0 * float(np.finfo(np.float64).eps)
"""Rounding of B*(z - s) + r ||s||_q relative to the size of s: near the smallest radius s is large and cancels."""


def simplex(c: Float[Array, " N"]) -> Cap:
    """Return the indicator of the simplex, without a cap; ties are shared in proportion to c."""
    return Cap(CappedSimplex(c, float(c.min())))


@dataclass(frozen=True)
class _Normed(Regularizer):
    """What a ball and a penalty have in common.

    Parameters
    ----------
    base
        The indicator of the simplex (`simplex`) or the relative entropy on it, without caps.
    c
        Multiplicities, shape (N,), positive.
    p
        Exponent, 1 < p < inf; the penalty also takes inf.
    r
        Radius, or strength of the penalty, positive.
    """

    base: Cap | RelativeEntropy
    c: Float[Array, " N"]
    p: float
    r: float

    @property
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.cones | ({"second_order"} if np.isfinite(self.p) else frozenset())

    @property
    def N(self) -> int:
        return len(self.c)

    @property
    def q(self) -> float:
        """The dual exponent."""
        return self.p / (self.p - 1.0) if np.isfinite(self.p) else 1.0

    @cached_property
    def center(self) -> Float[Array, " N"]:
        """The point of smallest norm: proportional to c where there may be weight."""
        live = np.where(self.base.domain.c > 0, self.c, 0.0)
        return live / live.sum()

    @property
    def magnitude(self) -> float:
        return self.base.magnitude + 2.0

    @property
    def unit(self) -> Float[Array, " N"]:
        return self.base.unit

    @property
    def rate(self) -> float:
        return self.base.rate

    def norm(self, d: Float[Array, " N"]) -> float:
        """Return ||d||_p of the copies."""
        return _norm(d / self.c, self.c, self.p)

    def dual_norm(self, s: Float[Array, " N"]) -> float:
        """Return ||s||_q of the copies."""
        return _norm(s, self.c, self.q)

    def support(self, z: Float[Array, " N"]) -> float:
        return self.base.support(z)

    def residuals(self, d: Float[Array, " N"]) -> dict[str, float]:
        return self.base.residuals(d)

    def conjugate_at(self, z: Float[Array, " N"], near: Float[Array, " N"] | None = None) -> ConjugatePoint:
        d, s = self._answer(z)
        at = self.base.conjugate_at(z - s)
        return ConjugatePoint(at.value + self.dual_value(s), self.project(d), {**at.multipliers, "s": s})

    def gaps(self, d: Float[Array, " N"], z: Float[Array, " N"], at: ConjugatePoint) -> Float[Array, " N"]:
        s = np.asarray(at.multipliers["s"])
        return self.base.gaps(d, z - s, at) + self.norm_gaps(d, s)

    def normal(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return the gradient of the norm, p finite."""
        norm = self.norm(d)
        return (d / (self.c * norm)) ** (self.p - 1.0) if norm > 0.0 else np.zeros(self.N)

    @abstractmethod
    def dual_value(self, s: Float[Array, " N"]) -> float:
        """Return H(s)."""

    @abstractmethod
    def norm_gaps(self, d: Float[Array, " N"], s: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return the non-negative terms of h(||d||) + H(s) - <s, d>."""

    @abstractmethod
    def _answer(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Return a maximizer of F* at z, up to the accuracy of its root, and the best s."""

    def _young(self, alpha: Float[Array, " N"], beta: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return the terms c (alpha^p / p + beta^q / q - alpha beta), each non-negative by Young's inequality."""
        return self.c * np.maximum(alpha**self.p / self.p + beta**self.q / self.q - alpha * beta, 0.0)

    def _on_curve(
        self, curve: Curve, wanted: Callable[[Float[Array, " N"], Float[Array, " N"]], float]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Return (d, s) where `wanted(d, s)`, increasing with the level, is 0."""
        low, high = bracket(lambda level: wanted(*curve.at(level)), 0.0)
        return curve.at(root(lambda level: wanted(*curve.at(level)), low, high))


@dataclass(frozen=True)
class NormBall(_Normed):
    """The base on the part of its domain where ||d||_p <= r.

    Raises
    ------
    ProblemError
        The ball does not meet the simplex: r is less than the smallest norm of a distribution.
    """

    def __post_init__(self) -> None:
        smallest = self.norm(self.center)
        if self.r < smallest * (1 - TOUCHING):
            raise ProblemError(
                f"the ball does not meet the simplex: r must be at least {smallest:.10g}, the {self.p:g}-norm of the "
                f"uniform distribution; got {self.r:.10g}. Raise r."
            )
        # A radius larger by a relative x leaves a part of the simplex of size sqrt(x): between touching and this, the
        # set is too small to be computed in, and not one point either.
        if smallest * (1 + TOUCHING) < self.r < smallest * (1 + NARROW):
            raise ProblemError(
                f"r must be {smallest:.17g}, where the ball touches the simplex in one point, or at least "
                f"{smallest * (1 + NARROW):.17g}; got {self.r:.17g}. Choose one of them."
            )
        object.__setattr__(self, "r", smallest if self.r <= smallest * (1 + TOUCHING) else self.r)

    @cached_property
    def single(self) -> bool:
        """Whether the ball and the simplex have one point in common, that of smallest norm."""
        return self.r <= self.norm(self.center)

    @property
    def span(self) -> float:
        return self.base.span

    def value(self, d: Float[Array, " N"]) -> float:
        return self.base.value(d)

    def room(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.zeros(self.N)

    def stationarity(self, d: Float[Array, " N"], floor: float) -> Stationarity:
        at = self.base.stationarity(d, floor)
        on_sphere = self.norm(d) >= self.r * (1.0 - floor)
        return replace(at, normals=self.normal(d)[:, np.newaxis]) if on_sphere else at

    def residuals(self, d: Float[Array, " N"]) -> dict[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):  # what is huge is as wrong as inf says
            norm = self.norm(d)
        return {**self.base.residuals(d), "norm d <= r": max(0.0, norm - self.r) if np.isfinite(norm) else np.inf}

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        """Return the projection onto the simplex, mixed with the point of smallest norm as far as needed."""
        if self.single:
            return self.center
        if d is None:
            return self.conjugate_at(np.zeros(self.N)).d
        d = self.base.project(d)
        norm, smallest = self.norm(d), self.norm(self.center)
        # Within the sphere by the rounding of a norm: what is outside in exact arithmetic proves nothing.
        inner = self.r * (1.0 - NORM_ROUNDING * (8.0 + np.log2(self.N)))
        if norm <= inner:
            return d
        share = (norm - inner) / (norm - smallest) if norm > smallest else 1.0
        share = min(share + SHRINK, 1.0)
        return (1.0 - share) * d + share * self.center

    def conjugate_at(self, z: Float[Array, " N"], near: Float[Array, " N"] | None = None) -> ConjugatePoint:
        if not self.single:
            return super().conjugate_at(z, near)
        # No finite s is best: the maximum is that of one point.
        value = float(z @ self.center) - self.base.value(self.center)
        multipliers = self.base.conjugate_at(z).multipliers
        return ConjugatePoint(value, self.center, {**multipliers, "s": np.zeros(self.N)})

    def gaps(self, d: Float[Array, " N"], z: Float[Array, " N"], at: ConjugatePoint) -> Float[Array, " N"]:
        return np.zeros(self.N) if self.single else super().gaps(d, z, at)

    def dual_value(self, s: Float[Array, " N"]) -> float:
        return self.r * self.dual_norm(s) + self._cancelled(s)

    def norm_gaps(self, d: Float[Array, " N"], s: Float[Array, " N"]) -> Float[Array, " N"]:
        size = self.dual_norm(s)
        if size == 0.0:
            return np.zeros(self.N)
        alpha, beta = d / (self.r * self.c), s / size
        short = max(1.0 - (self.norm(d) / self.r) ** self.p, 0.0) / self.p
        share = self.c * beta**self.q
        return self.r * size * (self._young(alpha, beta) + short * share) + self._cancelled(s) * share

    def _cancelled(self, s: Float[Array, " N"]) -> float:
        """Bound the rounding error that B*(z - s) + r ||s||_q has because s is large."""
        return CANCELLED * float(np.abs(s).max())

    def _answer(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        inside = self.base.conjugate_at(z).d
        if self.norm(inside) <= self.r:
            return inside, np.zeros(self.N)
        if isinstance(self.base, RelativeEntropy):
            curve = Curve(self.base, self.c, self.p, z)
            return self._on_curve(curve, lambda d, s: np.log(self.r) - np.log(self.norm(d)))
        return self._of_simplex(z)

    def _of_simplex(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Return (d, s) with s = [z + rho]_+, d = r c (s / ||s||_q)^(q-1) and sum d = 1."""
        relative = z - float(z.max())

        def weights(log_rho: float) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
            v = np.maximum(relative + np.exp(log_rho), 0.0)
            return self.r * self.c * (v / self.dual_norm(v)) ** (self.q - 1.0), v

        def excess(log_rho: float) -> float:
            return float(weights(log_rho)[0].sum()) - 1.0

        log_rho = root(excess, *bracket(excess, 0.0, LARGEST_LOG))
        # For large p the weights jump where an example comes in: a mixture of both sides then has the sum 1.
        step = ROOT * max(abs(log_rho), 1.0)
        while step < 1.0 and (excess(log_rho - step) > 0.0 or excess(log_rho + step) < 0.0):
            step *= 2.0
        (below, _), (above, s) = weights(log_rho - step), weights(log_rho + step)
        share = (1.0 - float(below.sum())) / max(float(above.sum() - below.sum()), 1e-300)
        return below + min(max(share, 0.0), 1.0) * (above - below), s

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        value, constraints = self.base.cvxpy_value(d)
        return value, [*constraints, _cvxpy_norm(d, self.c ** (1.0 / self.p - 1.0), self.p) <= self.r]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        s = cp.Variable(self.N, name="s")
        value, constraints = self.base.cvxpy_conjugate(z - s)
        return value + self.r * _cvxpy_norm(s, self.c ** (1.0 / self.q), self.q), constraints


@dataclass(frozen=True)
class NormPenalty(_Normed):
    """The base plus r ||d||_p, p possibly infinite."""

    @property
    def span(self) -> float:
        return self.base.span + self._largest

    @property
    def magnitude(self) -> float:
        return super().magnitude + self._largest

    @property
    def _largest(self) -> float:
        """Largest value of the penalty on the simplex: at a vertex."""
        exponent = 1.0 / self.p - 1.0 if np.isfinite(self.p) else -1.0
        return self.r * float((self.c**exponent).max())

    def value(self, d: Float[Array, " N"]) -> float:
        return self.base.value(d) + self.r * self.norm(d)

    def room(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return self.base.room(d)

    def stationarity(self, d: Float[Array, " N"], floor: float) -> Stationarity:
        at = self.base.stationarity(d, floor)
        if np.isfinite(self.p):
            return replace(at, slopes=at.slopes + self.r * self.normal(d))
        # r max (d / c) is a cap at its own height whose multipliers, times d, sum to r times that height.
        height = self.norm(d)
        return replace(at, upper=np.minimum(at.upper, height * self.c), total=self.r * height)

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        return self.conjugate_at(np.zeros(self.N)).d if d is None else self.base.project(d)

    def dual_value(self, s: Float[Array, " N"]) -> float:
        return 0.0

    def norm_gaps(self, d: Float[Array, " N"], s: Float[Array, " N"]) -> Float[Array, " N"]:
        norm, size = self.norm(d), self.dual_norm(s)
        short = max(1.0 - (size / self.r) ** self.q, 0.0)
        share = self.c / self.c.sum() * short
        if not np.isfinite(self.p):
            return self.c * s * np.maximum(norm - d / self.c, 0.0) + self.r * norm * share
        return self.r * norm * (self._young(d / (norm * self.c), s / self.r) + share / self.q)

    def _answer(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        d, s = self._unscaled(z)
        # Whatever the accuracy of the root, s must lie in the dual ball.
        return d, s * min(1.0, self.r * (1.0 - self.N * 1e-16) / max(self.dual_norm(s), 1e-300))

    def _unscaled(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        if not isinstance(self.base, RelativeEntropy):
            return self._of_simplex(z)
        curve = Curve(self.base, self.c, self.p, z)
        if np.isfinite(self.p):
            return self._on_curve(curve, lambda d, s: np.log(self.dual_norm(s)) - np.log(self.r))
        return curve.at(curve.capped_level(self.r))

    def _of_simplex(self, z: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """||[z + rho]_+||_q = r, d proportional to c [z + rho]_+^(q-1), to c on the positive ones for p = inf."""
        relative = z - float(z.max())
        high = self.r / float(self.c[np.argmax(relative)]) ** (1.0 / self.q)

        def positive(rho: float) -> Float[Array, " N"]:
            return np.maximum(relative + rho, 0.0)

        def excess(rho: float) -> float:
            return self.dual_norm(positive(rho)) - self.r

        high *= 1.0 + 1e-12
        rho = root(excess, 0.0, high) if excess(high) > 0 else high
        s = positive(rho)
        power = (s / max(float(s.max()), 1e-300)) ** (self.q - 1.0) if np.isfinite(self.p) else np.where(s > 0, 1.0, 0)
        d = self.c * power
        # Whatever the root is off by, s must be a number and d a distribution; any s gives a bound.
        return (d / d.sum(), s) if float(d.sum()) > 0.0 else (self.center, s)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        value, constraints = self.base.cvxpy_value(d)
        exponent = 1.0 / self.p - 1.0 if np.isfinite(self.p) else -1.0
        return value + self.r * _cvxpy_norm(d, self.c**exponent, self.p), constraints

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        s = cp.Variable(self.N, name="s")
        value, constraints = self.base.cvxpy_conjugate(z - s)
        return value, [*constraints, _cvxpy_norm(s, self.c ** (1.0 / self.q), self.q) <= self.r]


def _norm(x: Float[Array, " n"], c: Float[Array, " n"], p: float) -> float:
    """Return (sum c |x|^p)^(1/p), scaled so that nothing overflows."""
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(p):
        return largest
    return largest * float((c * (np.abs(x) / largest) ** p).sum()) ** (1.0 / p)


def _cvxpy_norm(x: Any, weights: Float[Array, " N"], p: float) -> Any:
    """Return the p-norm of weights * x."""
    import cvxpy as cp

    weighted = cp.multiply(weights, x)
    return cp.norm_inf(weighted) if not np.isfinite(p) else cp.pnorm(weighted, cast(Any, p))
