"""The binary relative entropy: the relative entropy of each weight and of its distance to the cap.

With caps u_n,

    F(d) = (1/eta) sum_n [ d_n ln(d_n / d0_n) + (u_n - d_n) ln((u_n - d_n) / (u_n - d0_n)) ]   on 0 <= d <= u.

On the simplex with u = c / nu, F is the regularizer of Binary ERLPBoost, whose caps are never active. The maximizer at
z is d_n = u_n sigmoid(logit(d0_n / u_n) + eta (z_n - beta)) [Glocer 2009, (3.25), (3.27)]. Without the simplex, with
u = c and d0 = c / 2, the conjugate is the logarithmic loss (1/eta) sum_n c_n ln((1 + exp(eta z_n)) / 2)
[Shalev-Shwartz and Singer 2008, section 6]. If d0_n = 0 or d0_n = u_n, the weight of example n is fixed at d0_n for
every z.

If a reference weight equals its cap in floating point, the weight is fixed at the cap. If the reference weight is less
than the cap, even by a single rounding, the weight can change, and the logarithm of u_n - d0_n enters the value of F.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, rel_entr

from boostopt._utils.array_types import Array, Bool, ExampleVector
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
from boostopt.functions.regularizer_statements import Statement, statement_with_caps
from boostopt.functions.regularizers.base import Regularizer, StationarityConditions
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, renormalize_in_box
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.relative_entropy import Entropy

MIN_LOG1P_ARGUMENT = -1.0 + float(np.finfo(np.float64).epsneg)
"""Smallest float above -1, at which log1p is finite."""


@dataclass(frozen=True)
class BinaryEntropy(Entropy):
    """The binary relative entropy to d0, divided by eta, on the simplex with caps.

    Parameters
    ----------
    caps
        The largest weights u, shape (N,), positive, with a sum of at least 1.
    eta
        The inverse strength, positive; a larger eta regularizes less.
    d0
        The reference distribution, shape (N,), 0 <= d0 <= u, sum 1.
    cap_distance
        The distances u - d0, shape (N,), if they are more accurate than a subtraction: see `capped`.

    Raises
    ------
    ProblemError
        The caps or eta are not positive, or the caps sum to less than 1, or d0 has another shape than the caps, or an
        entry of d0 exceeds its cap, so that the binary entropy is not defined.
    """

    caps: ExampleVector
    eta: float
    d0: ExampleVector
    cap_distance: ExampleVector | None = None

    kind: ClassVar[str] = "binary entropy"

    @classmethod
    def capped(cls, c: ExampleVector, nu: float, eta: float, d0: ExampleVector) -> BinaryEntropy:
        """Return the binary entropy with the caps c / nu, and with distances c / nu - d0 that are rounded only once.

        Parameters
        ----------
        c
            The multiplicities, shape (N,), positive.
        nu
            The least number of examples that share the weight, positive.
        eta
            The inverse strength, positive.
        d0
            The reference distribution, shape (N,), 0 <= d0 <= c / nu, sum 1.
        """
        c, nu = positive_weights("c", c), positive_parameter("nu", nu)
        d0 = non_negative_weights("d0", d0, len(c))
        return cls(c / nu, eta, d0, difference_rounded_once(c, nu, d0) / nu)

    def __post_init__(self) -> None:
        read_fields(self, caps=positive_weights, eta=positive_parameter)
        read_fields(self, d0=lambda name, d0: non_negative_weights(name, d0, len(self.caps)))
        if self.cap_distance is not None:
            read_fields(self, cap_distance=lambda name, distance: finite_weights(name, distance, len(self.caps)))
        violation = self.d0 - self.caps * (1 + CAP_SUM_TOL)
        if violation.max() > 0:
            n = int(np.argmax(violation))
            raise ProblemError(
                f"the binary entropy needs d0 <= c / nu; got d0 = {self.d0[n]:.6g} > {self.caps[n]:.6g} at {n}. "
                "Lower nu, or use a reference distribution within the caps."
            )
        # If caps sum to less than 1 by rounding, the domain is empty. So they are scaled up, together with the
        # reference weights at their caps.
        total, at_cap = float(self.caps.sum()), self.d0 >= self.caps
        if self.on_simplex and total < 1.0 - CAP_SUM_TOL:
            raise ProblemError(f"caps must sum to at least 1; got {total:.10g}. Pass larger caps, c / nu.")
        if self.on_simplex and total < 1.0:
            object.__setattr__(self, "caps", self.caps / total)
        object.__setattr__(self, "d0", np.where(at_cap, self.caps, self.d0))

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        if not np.array_equal(np.where(self.movable, self.d0, d0), d0):
            return None
        # The reference weight of an example at its cap states the cap, without the scaling of the caps.
        caps = np.where(self.movable, self.caps, d0)
        return statement_with_caps({"kind": self.kind, "eta": self.eta}, caps, c, nus, d0 > 0)

    @property
    def unsmoothed(self) -> Regularizer:
        return CappedSimplexIndicator(CappedSimplex(self.upper, 1.0))

    @property
    def lower(self) -> ExampleVector:
        return self.fixed_weights

    @cached_property
    def upper(self) -> ExampleVector:
        return np.where(self.d0 > 0, self.caps, 0.0)

    @cached_property
    def movable(self) -> Bool[Array, " N"]:
        """The examples whose weight can change, as a mask: their reference weight is neither 0 nor the cap."""
        return (self.d0 > 0) & (self.d0 < self.caps)

    @cached_property
    def fixed_weights(self) -> ExampleVector:
        """The fixed weights, and 0 for the weights that can change."""
        return np.where(self.movable, 0.0, self.upper)

    @cached_property
    def cap_distance_or_zero(self) -> ExampleVector:
        """The distances u - d0 to the caps, 0 for weights at their caps."""
        distances = self.caps - self.d0 if self.cap_distance is None else self.cap_distance
        return np.where(self.d0 < self.caps, distances, 0.0)

    @cached_property
    def logit(self) -> ExampleVector:
        """The numbers logit(d0 / u), and -inf or inf for the fixed weights."""
        log_odds = np.where(self.d0 > 0, np.inf, -np.inf)
        log_odds[self.movable] = np.log(self.d0[self.movable]) - np.log(self.cap_distance_or_zero[self.movable])
        return log_odds

    @cached_property
    def value_bound(self) -> float:
        """The bound C / eta: the terms at weight 0, and at the cap for the examples where this increases F most."""
        u, logit = self.upper[self.movable], self.logit[self.movable]
        at_zero, at_cap = -u * log_expit(-logit), -u * log_expit(logit)
        if not self.on_simplex:
            return float(np.maximum(at_zero, at_cap).sum()) / self.eta
        chord_slopes = np.zeros(self.N)
        chord_slopes[self.movable] = (at_cap - at_zero) / u
        return max(float(at_zero.sum()) + self.support(chord_slopes), 0.0) / self.eta

    @cached_property
    def magnitude(self) -> float:
        """A size M: the errors of F(d) and F*(z) are at most 11 epsilon M plus the rounding of their sums of N terms.

        Without the simplex, each example has two terms of at most u (|logit| + ln 2). On the simplex, the terms have
        the size of d and d0, which sum to 1, however large the caps are:

        - |d ln(d / d0)| sums to at most `logs`, the largest of |logit| + ln max(N, sum u) + 1.
        - Let x = (d0 - d) / (u - d0). If |x| <= 1, (u - d) ln(1 + x) is at most 2 |d0 - d|. If x > 1, the cap is less
          than 2 d0, and the term is at most u `logs`. If x < -1/2, the cap is less than 2 d, and the rounding of x
          makes an error of 1 + x that costs at most u.

        So both sums are at most 3 `logs` + 4. Each term is rounded four times, including its quotient. In units of the
        roundoff, the errors are at most 14 `logs` + 41, which is less than 22 times the result.
        """
        logit = float(np.abs(self.logit[self.movable]).max(initial=0.0))
        mass = float(self.upper.sum())
        if not self.on_simplex:
            return 2.0 * mass * (logit + 1.0) / self.eta
        return (3.0 * (logit + math.log(max(self.N, mass)) + 1.0) + 4.0) / self.eta

    def values(self, d: ExampleVector) -> ExampleVector:
        terms = np.zeros(self.N)
        d, d0, distance = d[self.movable], self.d0[self.movable], self.cap_distance_or_zero[self.movable]
        # u - d = distance + (d0 - d), so that no digits of d are lost if the cap is large. If d exceeds the cap by
        # rounding, the term is 0.
        relative_change = (d0 - d) / distance
        cap_terms = np.where(
            relative_change > -1.0,
            (distance + (d0 - d)) * np.log1p(np.maximum(relative_change, MIN_LOG1P_ARGUMENT)),
            0.0,
        )
        terms[self.movable] = rel_entr(d, d0) + cap_terms
        return terms / self.eta

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        slopes = np.zeros(self.N)
        with np.errstate(divide="ignore"):
            logits = np.log(d[self.movable]) - np.log(np.maximum(self.upper - d, 0.0)[self.movable])
        slopes[self.movable] = (logits - self.logit[self.movable]) / self.eta
        return slopes

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        curvatures = np.zeros(self.N)
        x, u = d[self.movable], self.upper[self.movable]
        curvatures[self.movable] = (1.0 / x + 1.0 / (u - x)) / self.eta
        return curvatures

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        x = self.fixed_weights.copy()
        x[self.movable] = self.upper[self.movable] * expit(self.logit[self.movable] + self.eta * y[self.movable])
        return x

    def conjugate_terms(self, y: ExampleVector) -> ExampleVector:
        """Return f_n*(y_n) = (u / eta) ln(1 - p0 + p0 exp(eta y_n)) with p0 = d0 / u; y_n d0_n for a fixed weight."""
        terms = self.fixed_weights * y
        x = self.logit[self.movable]
        # ln(1 - p0) = log_expit(-x); ln(1 - p0 + p0 e^v) = log_expit(-x) - log_expit(-(x + v))
        log_averages = log_expit(-x) - log_expit(-(x + self.eta * y[self.movable]))
        terms[self.movable] = self.upper[self.movable] * log_averages / self.eta
        return terms

    def young_gaps(self, d: ExampleVector, y: ExampleVector) -> ExampleVector:
        # Each gap is u / eta times the binary entropy of p = d / u relative to the sigmoid of x. The logarithms of the
        # sigmoid do not underflow.
        u, gaps = self.upper[self.movable], np.zeros(self.N)
        p = np.clip(d[self.movable] / u, 0.0, 1.0)
        complement = np.clip((u - d[self.movable]) / u, 0.0, 1.0)
        x = self.logit[self.movable] + self.eta * y[self.movable]
        weight_terms = np.where(p > 0, p * (np.log(p, where=p > 0, out=np.zeros(len(p))) - log_expit(x)), 0.0)
        log_complement = np.log(complement, where=complement > 0, out=np.zeros(len(p)))
        cap_terms = np.where(complement > 0, complement * (log_complement - log_expit(-x)), 0.0)
        # If the cap is large, the distances to the cap of d and of the maximizer are nearly equal. Their difference,
        # which is the difference of the weights, keeps its digits.
        distance, difference = u * expit(-x), u * expit(x) - d[self.movable]
        is_close = (distance > 0.0) & (np.abs(difference) <= 0.5 * distance)
        relative_difference = np.divide(difference, distance, out=np.zeros(len(u)), where=is_close)
        close_terms = (distance + difference) * np.log1p(relative_difference)
        gaps[self.movable] = (
            np.maximum(u * weight_terms + np.where(is_close, close_terms, u * cap_terms), 0.0) / self.eta
        )
        return gaps

    def solve_simplex_multiplier(self, z: ExampleVector) -> tuple[float, ExampleVector]:
        target = 1.0 - float(self.fixed_weights.sum())
        u = self.upper[self.movable]
        if not self.movable.any():
            return 0.0, self.fixed_weights
        if target <= 0.0 or target >= float(u.sum()):
            # All weights that can change are at the same end: beta is so large that all sigmoids are saturated.
            max_logit = float(np.abs(self.logit[self.movable]).max())
            max_beta = (SATURATION_LOGIT + max_logit) / self.eta + float(np.abs(z).max())
            beta = max_beta if target <= 0.0 else -max_beta
            return beta, self.maximizers(z - beta)
        reference = -CappedSimplex(self.caps, 1.0).quantile(-z)
        x = self.logit[self.movable] + self.eta * (z[self.movable] - reference)
        tau = solve_sigmoid_sum(x, u, target)
        d = self.fixed_weights.copy()
        d[self.movable] = u * expit(x - tau)
        return reference + tau / self.eta, d

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        # The slope is infinite at both ends of the box. Near an end, it is the noise of a solver's weights.
        return super().stationarity(np.minimum(d, (1.0 - min_relative_weight) * self.upper), min_relative_weight)

    def project(self, d: ExampleVector | None) -> ExampleVector:
        """Return the entropic projection onto the caps, with the fixed weights at their values."""
        if d is None:
            return renormalize_in_box(self.d0, self.lower, self.upper)
        # By the rounding of the sum of the fixed weights, the remaining mass may exceed the sum of the caps.
        caps = np.where(self.movable, self.caps, 0.0)
        remaining_mass = min(1.0 - float(self.fixed_weights.sum()), float(caps.sum()))
        if remaining_mass <= 0.0:
            return self.fixed_weights / self.fixed_weights.sum()
        movable_weights = remaining_mass * CappedSimplex(caps, remaining_mass).repair(d, self.d0)
        return renormalize_in_box(self.fixed_weights + movable_weights, self.lower, self.upper)

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

    def _box_multipliers(self, y: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        # The slopes at both bounds are infinite, so that no bound is active; a fixed weight needs no multiplier.
        return np.zeros(self.N), np.zeros(self.N)


@dataclass(frozen=True)
class LogarithmicLoss(BinaryEntropy):
    """The binary entropy without the simplex, whose conjugate is the logarithmic loss. Use `of` to construct it."""

    on_simplex = False
    kind: ClassVar[str] = "logarithmic loss"

    @classmethod
    def from_multiplicities(cls, c: ExampleVector, eta: float) -> LogarithmicLoss:
        """Return the regularizer whose conjugate is (1/eta) sum_n c_n ln((1 + exp(eta z_n)) / 2).

        Parameters
        ----------
        c
            The multiplicities, shape (N,), positive.
        eta
            The inverse strength, positive.
        """
        c = positive_weights("c", c)
        return cls(c, eta, 0.5 * c)

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
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

    def project(self, d: ExampleVector | None) -> ExampleVector:
        return self.d0 if d is None else np.clip(np.where(np.isfinite(d), d, self.d0), 0.0, self.upper)
