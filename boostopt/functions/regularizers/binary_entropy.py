"""The binary relative entropy: the entropy of every weight and of the rest of its cap.

With caps u_n,

    F(d) = (1/eta) sum_n [ d_n ln(d_n / d0_n) + (u_n - d_n) ln((u_n - d_n) / (u_n - d0_n)) ]   on 0 <= d <= u.

On the simplex, u = c / nu, it is the regularizer of Binary ERLPBoost, whose cap is never active; its maximizer at z is
d_n = u_n sigmoid(logit(d0_n / u_n) + eta (z_n - beta)) [Glocer 2009, (3.25), (3.27)]. Without the simplex, u = c and
d0 = c / 2, its conjugate is the logarithmic loss (1/eta) sum_n c_n ln((1 + exp(eta z_n)) / 2) [Shalev-Shwartz and
Singer 2008, section 6]. Examples with d0_n = 0 or d0_n = u_n keep that weight whatever z is.

If a reference weight equals its cap in floating point, the weight is fixed there. If it lies below, by however little,
the weight can move, and the logarithm of u_n - d0_n enters its price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, rel_entr

from boostopt._utils.array_types import Array, Bool, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import (
    finite_weights,
    non_negative_weights,
    positive_parameter,
    positive_weights,
    read_fields,
)
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import cached_property
from boostopt.functions.numerics.capped_softmax import CAP_SUM_TOL
from boostopt.functions.numerics.sigmoid_sums import SATURATION_LOGIT, difference_rounded_once, solve_sigmoid_sum
from boostopt.functions.regularizers.base import Regularizer, StationarityConditions
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, renormalize_in_box
from boostopt.functions.regularizers.indicators import CappedSimplexIndicator
from boostopt.functions.regularizers.relative_entropy import Entropy
from boostopt.functions.statements import Statement, statement_with_caps

FULL = -1.0 + float(np.finfo(np.float64).epsneg)
"""The float next to -1, where a logarithm is finite."""


@dataclass(frozen=True)
class BinaryEntropy(Entropy):
    """The binary relative entropy to d0 on the simplex within the caps, divided by eta.

    Parameters
    ----------
    caps
        The largest weights u, shape (N,), positive, with a sum of at least 1.
    eta
        The inverse strength, positive; a larger eta regularizes less.
    d0
        The reference distribution, shape (N,), 0 <= d0 <= u, sum 1.
    cap_distance
        The distances u - d0, shape (N,), if they are known more accurately than by subtraction: see `capped`.

    Raises
    ------
    ProblemError
        The caps or eta are not positive, the caps sum to less than 1, or d0 does not fit the caps or exceeds one, where
        the binary entropy is not defined.
    """

    caps: Float[Array, " N"]
    eta: float
    d0: Float[Array, " N"]
    cap_distance: Float[Array, " N"] | None = None

    kind: ClassVar[str] = "binary entropy"

    @classmethod
    def capped(cls, c: Float[Array, " N"], nu: float, eta: float, d0: Float[Array, " N"]) -> BinaryEntropy:
        """Return the binary entropy with the caps c / nu, without the rounding of the caps in c / nu - d0."""
        c, nu = positive_weights("c", c), positive_parameter("nu", nu)
        d0 = non_negative_weights("d0", d0, len(c))
        return cls(c / nu, eta, d0, difference_rounded_once(c, nu, d0) / nu)

    def __post_init__(self) -> None:
        read_fields(self, caps=positive_weights, eta=positive_parameter)
        read_fields(self, d0=lambda name, d0: non_negative_weights(name, d0, len(self.caps)))
        if self.cap_distance is not None:
            read_fields(self, cap_distance=lambda name, distance: finite_weights(name, distance, len(self.caps)))
        over = self.d0 - self.caps * (1 + CAP_SUM_TOL)
        if over.max() > 0:
            n = int(np.argmax(over))
            raise ProblemError(
                f"the binary entropy needs d0 <= c / nu; got d0 = {self.d0[n]:.6g} > {self.caps[n]:.6g} at {n}. "
                "Lower nu, or use a reference distribution within the caps."
            )
        # Caps that sum to less than 1 by rounding leave no point: raised, with the references that stand at them.
        total, at_cap = float(self.caps.sum()), self.d0 >= self.caps
        if self.on_simplex and total < 1.0 - CAP_SUM_TOL:
            raise ProblemError(f"caps must sum to at least 1; got {total:.10g}. Pass larger caps, c / nu.")
        if self.on_simplex and total < 1.0:
            object.__setattr__(self, "caps", self.caps / total)
        object.__setattr__(self, "d0", np.where(at_cap, self.caps, self.d0))

    def statement(self, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...] = ()) -> Statement | None:
        if not np.array_equal(np.where(self.movable, self.d0, d0), d0):
            return None
        # A weight that stands at its cap has its reference for a cap, however the caps were scaled.
        caps = np.where(self.movable, self.caps, d0)
        return statement_with_caps({"kind": self.kind, "eta": self.eta}, caps, c, nus, d0 > 0)

    @property
    def unsmoothed(self) -> Regularizer:
        return CappedSimplexIndicator(CappedSimplex(self.upper, 1.0))

    @property
    def lower(self) -> Float[Array, " N"]:
        return self.fixed_weights

    @cached_property
    def upper(self) -> Float[Array, " N"]:
        return np.where(self.d0 > 0, self.caps, 0.0)

    @cached_property
    def movable(self) -> Bool[Array, " N"]:
        """The weights that can move, as a mask: their reference is neither 0 nor at its cap."""
        return (self.d0 > 0) & (self.d0 < self.caps)

    @cached_property
    def fixed_weights(self) -> Float[Array, " N"]:
        """The fixed weights, and 0 for the weights that can move."""
        return np.where(self.movable, 0.0, self.upper)

    @cached_property
    def cap_distance_or_zero(self) -> Float[Array, " N"]:
        """The distances u - d0 to the caps, 0 for weights at their caps."""
        return np.where(
            self.d0 < self.caps, self.caps - self.d0 if self.cap_distance is None else self.cap_distance, 0.0
        )

    @cached_property
    def logit(self) -> Float[Array, " N"]:
        """The numbers logit(d0 / u) of the free weights, and -inf or inf for the fixed ones."""
        log_odds = np.where(self.d0 > 0, np.inf, -np.inf)
        log_odds[self.movable] = np.log(self.d0[self.movable]) - np.log(self.cap_distance_or_zero[self.movable])
        return log_odds

    @cached_property
    def value_bound(self) -> float:
        """The bound C / eta: the terms at weight 0, replaced by those at the cap where this gains most."""
        u, logit = self.upper[self.movable], self.logit[self.movable]
        at_zero, at_cap = -u * log_expit(-logit), -u * log_expit(logit)
        if not self.on_simplex:
            return float(np.maximum(at_zero, at_cap).sum()) / self.eta
        gain = np.zeros(self.N)
        gain[self.movable] = (at_cap - at_zero) / u
        return max(float(at_zero.sum()) + self.support(gain), 0.0) / self.eta

    @cached_property
    def magnitude(self) -> float:
        """A size M such that F(d) and F*(z) are off by at most 11 epsilon M, and by what their sums of N terms lose.

        Without the simplex every term is at most u (|logit| + ln 2), and there are two of them. On the simplex sizes
        are those of d and d0, which sum to 1, however large the caps are:

        - |d ln(d / d0)| sums to at most `logs`, the largest of |logit| + ln max(N, sum u) + 1.
        - with x = (d0 - d) / (u - d0), (u - d) ln(1 + x) is at most 2 |d0 - d| for |x| <= 1. For x > 1 the cap is below
          2 d0, and the term at most u `logs`. Where x < -1/2 the cap is below 2 d, and 1 + x is off by the rounding of
          x, which costs as much as u.

        So both sums are at most 3 `logs` + 4. Each term is rounded four times, its quotient among them: in units of the
        roundoff that is at most 14 `logs` + 41, below 22 times this.
        """
        logit = float(np.abs(self.logit[self.movable]).max(initial=0.0))
        mass = max(float(self.upper.sum()), 1.0)
        if not self.on_simplex:
            return 2.0 * mass * (logit + 1.0) / self.eta
        return (3.0 * (logit + math.log(max(self.N, mass)) + 1.0) + 4.0) / self.eta

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        terms = np.zeros(self.N)
        d, d0, rest = d[self.movable], self.d0[self.movable], self.cap_distance_or_zero[self.movable]
        # u - d = rest + (d0 - d): no digits of d are lost in a large cap. Beyond it by rounding the term is 0.
        below = (d0 - d) / rest
        ends = np.where(below > -1.0, (rest + (d0 - d)) * np.log1p(np.maximum(below, FULL)), 0.0)
        terms[self.movable] = rel_entr(d, d0) + ends
        return terms / self.eta

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        slopes = np.zeros(self.N)
        with np.errstate(divide="ignore"):
            odds = np.log(d[self.movable]) - np.log(np.maximum(self.upper - d, 0.0)[self.movable])
        slopes[self.movable] = (odds - self.logit[self.movable]) / self.eta
        return slopes

    def curvatures(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        bends = np.zeros(self.N)
        x, u = d[self.movable], self.upper[self.movable]
        bends[self.movable] = (1.0 / x + 1.0 / (u - x)) / self.eta
        return bends

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        x = self.fixed_weights.copy()
        x[self.movable] = self.upper[self.movable] * expit(self.logit[self.movable] + self.eta * y[self.movable])
        return x

    def conjugate_terms(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return f_n*(y_n) = (u / eta) ln(1 - p0 + p0 exp(eta y_n)), p0 = d0 / u, and y_n d0_n for a fixed weight."""
        terms = self.fixed_weights * y
        x = self.logit[self.movable]
        # ln(1 - p0) = log_expit(-x); ln(1 - p0 + p0 e^v) = log_expit(-x) - log_expit(-(x + v))
        softened = log_expit(-x) - log_expit(-(x + self.eta * y[self.movable]))
        terms[self.movable] = self.upper[self.movable] * softened / self.eta
        return terms

    def young_gaps(self, d: Float[Array, " N"], y: Float[Array, " N"]) -> Float[Array, " N"]:
        # u / eta times the binary entropy of d / u relative to the sigmoid, from its logit: no quotient underflows.
        u, gaps = self.upper[self.movable], np.zeros(self.N)
        p = np.clip(d[self.movable] / u, 0.0, 1.0)
        rest = np.clip((u - d[self.movable]) / u, 0.0, 1.0)
        x = self.logit[self.movable] + self.eta * y[self.movable]
        ones = np.where(p > 0, p * (np.log(p, where=p > 0, out=np.zeros(len(p))) - log_expit(x)), 0.0)
        log_rest = np.log(rest, where=rest > 0, out=np.zeros(len(p)))
        zeros = np.where(rest > 0, rest * (log_rest - log_expit(-x)), 0.0)
        # Of a large cap nearly all is left at both weights: from their difference, or its digits are lost.
        left, less = u * expit(-x), u * expit(x) - d[self.movable]
        near = (left > 0.0) & (np.abs(less) <= 0.5 * left)
        moved = (left + less) * np.log1p(np.divide(less, left, out=np.zeros(len(u)), where=near))
        gaps[self.movable] = np.maximum(u * ones + np.where(near, moved, u * zeros), 0.0) / self.eta
        return gaps

    def solve_simplex_multiplier(self, z: Float[Array, " N"]) -> tuple[float, Float[Array, " N"]]:
        target = 1.0 - float(self.fixed_weights.sum())
        u = self.upper[self.movable]
        if not self.movable.any():
            return 0.0, self.fixed_weights
        if target <= 0.0 or target >= float(u.sum()):
            # The free weights stand at one end: where all sigmoids are saturated on that side.
            beyond = (SATURATION_LOGIT + float(np.abs(self.logit[self.movable]).max())) / self.eta + float(
                np.abs(z).max()
            )
            beta = beyond if target <= 0.0 else -beyond
            return beta, self.maximizers(z - beta)
        reference = -CappedSimplex(self.caps, 1.0).quantile(-z)
        x = self.logit[self.movable] + self.eta * (z[self.movable] - reference)
        tau = solve_sigmoid_sum(x, u, target)
        d = self.fixed_weights.copy()
        d[self.movable] = u * expit(x - tau)
        return reference + tau / self.eta, d

    def stationarity(self, d: Float[Array, " N"], min_relative_weight: float) -> StationarityConditions:
        # The slope is infinite at both ends, where a solver's weights are noise.
        return super().stationarity(np.minimum(d, (1.0 - min_relative_weight) * self.upper), min_relative_weight)

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        """Return the entropic projection onto the caps, with the fixed weights at their values."""
        if d is None:
            return renormalize_in_box(self.d0, self.lower, self.upper)
        # What the fixed weights leave is known up to the rounding of their sum: it may seem more than the caps carry.
        caps = np.where(self.movable, self.caps, 0.0)
        left = min(1.0 - float(self.fixed_weights.sum()), float(caps.sum()))
        if left <= 0.0:
            return self.fixed_weights / self.fixed_weights.sum()
        return renormalize_in_box(
            self.fixed_weights + left * CappedSimplex(caps, left).repair(d, self.d0), self.lower, self.upper
        )

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        free, fixed = np.flatnonzero(self.movable), np.flatnonzero(~self.movable)
        constraints = [cp.sum(d) == 1] if self.on_simplex else []
        if len(fixed):
            constraints.append(d[fixed] == self.fixed_weights[fixed])
        if not len(free):
            return cp.Constant(0.0), constraints
        d0, u = self.d0[free], self.upper[free]
        entropy = cp.sum(cp.rel_entr(d[free], d0)) + cp.sum(cp.rel_entr(u - d[free], self.cap_distance_or_zero[free]))
        return entropy / self.eta, constraints

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        beta = cp.Variable(name="beta") if self.on_simplex else 0.0
        free, fixed = np.flatnonzero(self.movable), np.flatnonzero(~self.movable)
        value = beta
        if len(fixed):
            value = value + self.fixed_weights[fixed] @ (z[fixed] - beta)
        if len(free):
            u, logit = self.upper[free], self.logit[free]
            value = value + (u / self.eta) @ (cp.logistic(logit + self.eta * (z[free] - beta)) + log_expit(-logit))
        return value, []

    def _box_multipliers(self, y: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        # The slopes at both ends are infinite, so that no end binds; a fixed weight has no multiplier of its own.
        return np.zeros(self.N), np.zeros(self.N)


@dataclass(frozen=True)
class LogarithmicLoss(BinaryEntropy):
    """The binary entropy without the simplex: the regularizer whose conjugate is the logarithmic loss."""

    on_simplex = False
    kind: ClassVar[str] = "logarithmic loss"

    @classmethod
    def of(cls, c: Float[Array, " N"], eta: float) -> LogarithmicLoss:
        """Return the regularizer whose conjugate is (1/eta) sum_n c_n ln((1 + exp(eta z_n)) / 2)."""
        c = positive_weights("c", c)
        return cls(c, eta, 0.5 * c)

    def statement(self, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...] = ()) -> Statement | None:
        if not (np.array_equal(self.caps, c) and np.array_equal(self.d0, 0.5 * c)):
            return None
        return Statement({"kind": self.kind, "eta": self.eta})

    @property
    def strong_convexity(self) -> float:
        """The modulus 4 / (eta sum u), because f'' >= 4 / (eta u) and (sum x)^2 <= (sum u) (sum x^2 / u)."""
        return 4.0 / (self.eta * self.mass)

    @property
    def unsmoothed(self) -> Regularizer:
        return self

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        return self.d0 if d is None else np.clip(np.where(np.isfinite(d), d, self.d0), 0.0, self.upper)
