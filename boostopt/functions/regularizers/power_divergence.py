"""Power divergences from equal shares: F(d) = (1/eta) sum_n a_n phi(d_n / a_n) + I[d in C_nu], a = c / sum c.

    phi(r) = (r^q - 1 - q (r - 1)) / (q (q - 1)),   phi'(r) = (r^(q-1) - 1) / (q - 1),   phi''(r) = r^(q-2)

is convex for every real q, with phi(1) = phi'(1) = 0 and phi''(1) = 1, so that all q agree to second order at equal
shares. Many common divergences belong to this family:

    q = 2      half of Pearson's chi-square, (mu/2) sum d^2 / c up to a constant
    q = 3/2    a Tsallis entropy, as every q > 0 is; for q > 1, weights can be exactly 0
    q = 1      the relative entropy, r ln r - r + 1
    q = 1/2    twice the sum of (sqrt d - sqrt a)^2, Hellinger's distance
    q = 0      Burg's entropy, a logarithmic barrier, r - 1 - ln r
    q = -1     half of Neyman's chi-square, sum (d - a)^2 / d

For q <= 0, the value at weight 0 is infinite. The maximizer of y r - phi(r) is r = (1 + (q - 1) y)^(1 / (q - 1)). Its
logarithm is log1p((q - 1) y) / (q - 1), which has no cancellation near q = 1.

Reference: Cressie and Read 1984, for the divergences. The reference has no caps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import positive_parameter, read_fields, real_parameter
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import cached_property, computed_attribute
from boostopt.functions.numerics.capped_softmax import log_or_neg_inf
from boostopt.functions.numerics.root_finding import find_root
from boostopt.functions.regularizer_statements import Statement, statement_with_caps
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, read_domain
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.separable import Separable

MIN_ACCURATE_QUOTIENT = 1e-290
"""Smallest quotient that is certainly accurate: a smaller one may lose digits to underflow."""

MAX_LOG_SIZE = 1500.0
"""Bound on the absolute logarithm of a quotient of two positive floats."""

SECOND_ORDER_SIZE = 1e-12
"""Size that covers the squares of rounding errors. They remain near equal shares, where phi and phi' are 0."""


@dataclass(frozen=True, eq=False)
class PowerDivergence(Separable):
    """The power divergence of order q from equal shares, divided by eta, on the capped simplex.

    Parameters
    ----------
    domain
        The capped simplex, with all c_n positive.
    q
        The order, any real number. For q = 1, the relative entropy, use `RelativeEntropy`, which is faster, and more
        accurate at extreme values.
    eta
        The inverse strength, positive; a larger eta regularizes less.

    Raises
    ------
    ProblemError
        The domain is not a capped simplex with positive c, or q is not finite, or eta is not positive.
    """

    domain: CappedSimplex
    q: float
    eta: float

    kind: ClassVar[str] = "power divergence"

    def __post_init__(self) -> None:
        read_fields(self, domain=read_domain, q=real_parameter, eta=positive_parameter)
        if not (self.domain.c > 0).all():
            raise ProblemError(
                f"c must be positive; got {float(self.domain.c.min()):.6g}. Leave out examples with c = 0."
            )

    def _required_cones(self) -> frozenset[str]:
        return frozenset({"linear", {0.0: "exponential", 1.0: "exponential", 2.0: "quadratic"}.get(self.q, "power")})

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    @property
    def N(self) -> int:
        return len(self.domain.c)

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        # The verifier has a formula for q = 2 only, with the equal shares of the multiplicities in the file.
        if self.q != 2.0 or not np.array_equal(self.domain.c, c):
            return None
        return statement_with_caps(
            {"kind": self.kind, "q": self.q, "eta": self.eta}, self.upper, c, (self.domain.nu, *nus)
        )

    @property
    def unsmoothed(self) -> CappedSimplexIndicator:
        return CappedSimplexIndicator(self.domain)

    @cached_property
    def share(self) -> ExampleVector:
        """The equal shares a = c / sum c, at which F has its minimum 0."""
        return self.domain.c / self.domain.c.sum()

    @cached_property
    def upper(self) -> ExampleVector:
        return self.domain.upper

    @property
    def strong_convexity(self) -> float:
        """The minimum of 1 / (eta sum_n a_n r_n^(2-q)), by the Cauchy-Schwarz inequality; the mean of r is 1.

        For 1 <= q <= 2, the sum is concave in r and at most 1. For q < 1, it is at most its chord. For q > 2, it is
        unbounded.
        """
        if self.q > 2.0:
            return 0.0
        return (1.0 if self.q >= 1.0 else self._max_ratio ** (self.q - 1.0)) / self.eta

    @property
    def value_bound(self) -> float:
        """The chord of phi from weight 0 to the cap, at r = 1, divided by eta; nan for q <= 0."""
        if self.domain.is_singleton:
            return 0.0
        if self.q <= 0.0:
            return float("nan")
        cap_fraction = 1.0 / self._max_ratio
        chord = (1.0 - cap_fraction) * self._phi(-np.inf) + cap_fraction * self._phi(self._log_max_ratio)
        return float(chord) / self.eta

    @cached_property
    def magnitude(self) -> float:
        """A size M: the errors of F(d) and F*(z) are at most 11 epsilon M plus the rounding of their sums of N terms.

        All errors below are in units of the roundoff u = epsilon / 2, and multiplied by eta. The logarithm l of a
        quotient r = d / a has an error of 1 + 2 |l|. A function of one variable has an error of twice its size. The
        function phi consists of two terms, each of which is rounded up to five times.

        - r >= 1: the terms, times a, are at most d s with s = max(phi'(r), l), and all their errors at most
          d s (40 + 6 l). No weight exceeds 1 or its cap. With R the smaller of these two over a, the errors sum to at
          most 44 times the largest <d, s(R) (1 + l(R) / 4)> over the domain.
        - r < 1, q > 0: the terms are at most 1 / q. Their errors sum to at most 44 + 22 / q. If q < 0.1, the logarithm
          of a quotient below 1e-290 counts too, which is a difference of two numbers below 750.
        - r < 1, q <= 0: phi is unbounded and has an error of (11 + 4 x) phi + 30 (1 + x), x = |q| |l|. If G is a
          largest edge, an F(d) above 4 proves nothing, whatever its rounding error. So 4 is a bound of F that bounds x.
        """
        max_ratios = np.minimum(self._max_ratio, 1.0 / self.share)
        log_ratios = np.log(max_ratios)
        slopes = np.maximum(self._slope(log_ratios), log_ratios)
        large_ratio_size = 2.0 * self.support(slopes * (1.0 + 0.25 * log_ratios))
        if self.q > 0.0:
            return (large_ratio_size + 2.0 + 1.0 / self.q + (64.0 if self.q < 0.1 else 0.0)) / self.eta
        x = math.log1p(4.0 * abs(self.q) * (1.0 + abs(self.q)) * self.eta / float(self.share.min()))
        return large_ratio_size / self.eta + (2.0 + x) * (1.0 + 1.5 / self.eta)

    def value_size(self, d: ExampleVector) -> float:
        """Return a size M at d: the error of F(d) is at most 11 epsilon M plus the rounding of its sum of N terms.

        Errors are counted as in `magnitude`. With l = ln r, an error x of l changes a phi by d |phi'| x plus a square,
        and an error of this relative size in a changes it by a |r^q - 1| / |q|, at most |q - 1| / |q| times d |phi'|
        plus |d - a| / |q|. An exponential has the error of its exponent. So the errors of the terms of phi are at most

        - q = 2, without logarithms: 5 |d - a| (|r - 1| + 1);
        - q >= 1/2: d |phi'| (1 + 2 |l| + (9 + 2 x) / q) + 7 |d - a| / q, with x = (q - 1) l where it is positive;
        - q < 1/2: d |phi'| (1 + 2 |l|) + T (12 + 4 x) + 14 |d - a|, with T = a |r^q - 1| / |q|, and x = q l where it is
          positive.

        The exact caps are those of d up to rounding, and so are the weights, scaled down, if their sum exceeds 1. If
        the sum is less than 1, the missing weight fits below the equal shares, where it decreases F.
        """
        return (float(self._value_sizes(d).sum()) + SECOND_ORDER_SIZE) / self.eta

    def conjugate_size(self, d: ExampleVector, multipliers: Mapping[str, Any]) -> float:
        # A term is y d - f(d) at the maximizer d, where y d is d (phi' / eta + psi). A maximizer with an error x of y
        # changes the term by the square of x only, unless it is undetermined. Then |d - a| counts what it may change.
        return 2.0 * self.value_size(d) + float((d * multipliers["psi"]).sum())

    def _value_sizes(self, d: ExampleVector) -> ExampleVector:
        """Return the sizes of the terms of a_n phi(r_n), shape (N,)."""
        q, a = self.q, self.share
        distance = np.abs(d - a)
        if q == 2.0:
            return distance * (distance / a + 1.0)
        log_ratio = np.maximum(self._log_ratio(d), -MAX_LOG_SIZE)
        log_factor = 1.0 + 0.25 * np.abs(log_ratio)
        with np.errstate(over="ignore"):  # a size that overflows is infinite
            slope_sizes = a * np.abs(self._slope_times_ratio(log_ratio))
            if q >= 0.5:
                exponent = np.maximum((q - 1.0) * log_ratio, 0.0)
                return (1.0 + 1.0 / q) * (slope_sizes * (log_factor + 0.25 * exponent) + distance)
            powers = a * np.abs(log_ratio if q == 0.0 else np.expm1(q * log_ratio) / q)
            return slope_sizes * log_factor + powers * (1.0 + 0.25 * np.maximum(q * log_ratio, 0.0)) + distance

    @property
    def weight_scale(self) -> ExampleVector:
        return self.share

    @property
    def objective_scale(self) -> float:
        return self.eta

    def values(self, d: ExampleVector) -> ExampleVector:
        if self.q == 2.0:
            distance = d - self.share
            return 0.5 * distance * (distance / self.share) / self.eta
        return self.share * self._phi(self._log_ratio(d)) / self.eta

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        return self._slope(self._log_ratio(d)) / self.eta

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return np.exp((self.q - 2.0) * self._log_ratio(d)) / (self.share * self.eta)

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        k, x = self.q - 1.0, self.eta * y
        # If 1 + k x is not positive, the logarithm is -inf: the weight is 0 for q > 1, and at the cap for q < 1.
        with np.errstate(divide="ignore"):
            log_ratio = x if k == 0.0 else np.log1p(np.maximum(k * x, -1.0)) / k
        return self.share * np.exp(np.minimum(log_ratio, self._log_max_ratio))

    def solve_simplex_multiplier(self, z: ExampleVector) -> tuple[float, ExampleVector]:
        beta = self._find_simplex_multiplier(z)
        # If beta is large, its last digit may change the weights. So the search is repeated relative to the nearest z.
        reference = float(z[np.abs(z - beta).argmin()])
        remainder = self._find_simplex_multiplier(z - reference)
        return reference + remainder, self.maximizers(z - reference - remainder)

    def _find_simplex_multiplier(self, z: ExampleVector) -> float:
        """Return the beta at which the maximizers of (z_n - beta) d_n - f_n(d_n) sum to 1."""
        # At either end of the bracket, all z_n - beta have the same sign, and so have all r_n - 1.
        return find_root(lambda beta: 1.0 - float(self.maximizers(z - beta).sum()), float(z.min()), float(z.max()))

    def project(self, d: ExampleVector | None) -> ExampleVector:
        return self.domain.repair(self.share if d is None else d, self.share)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        q, a = self.q, self.share
        ratio = cp.multiply(1.0 / a, d)
        if q == 1.0:
            total = cp.sum(cp.rel_entr(d, a))
        elif q == 0.0:
            total = -(a @ cp.log(ratio))
        else:
            total = (a @ self._power(ratio, q) - 1.0) / (q * (q - 1.0))
        return total / self.eta, CappedSimplexIndicator(self.domain).cvxpy_value(d)[1]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        q, a = self.q, self.share
        beta, psi = cp.Variable(name="beta"), cp.Variable(self.N, nonneg=True, name="psi")
        y, constraints = self.eta * (z - beta - psi), list[Any]()
        if q == 1.0:
            total = a @ cp.exp(y) - 1.0
        elif q == 0.0:
            total = -(a @ cp.log(1.0 - y))
        else:
            # For q > 1, the base of the power may be negative. Then its power counts as 0.
            power_base = cp.Variable(self.N, nonneg=q > 1.0)
            total = (a @ self._power(power_base, q / (q - 1.0)) - 1.0) / q
            argument = 1.0 + (q - 1.0) * y
            constraints = [power_base >= argument] if q > 1.0 else [power_base <= argument]
        return beta + self.upper @ psi + total / self.eta, constraints

    @staticmethod
    def _power(x: Any, exponent: float) -> Any:
        """Return x^exponent with the exact exponent; by default, CVXPY uses a rational number near the exponent."""
        return cp.square(x) if exponent == 2.0 else cp.power(x, exponent, approx=False)

    @cached_property
    def _max_ratio(self) -> float:
        """The cap divided by the equal share, the same for all examples."""
        return float(self.domain.c.sum()) / self.domain.nu

    @cached_property
    def _log_max_ratio(self) -> float:
        return math.log(self._max_ratio)

    def _log_ratio(self, d: ExampleVector) -> ExampleVector:
        """Return ln(d / a), -inf at weight 0: of the quotient if it is accurate, else as a difference of logarithms."""
        ratio = d / self.share
        return np.where(ratio > MIN_ACCURATE_QUOTIENT, log_or_neg_inf(ratio), log_or_neg_inf(d) - np.log(self.share))

    def _phi(self, log_ratio: Any) -> Any:
        """Return phi(r) from ln r, -inf at weight 0."""
        q = self.q
        # A difference of r and 1 comes from ln r, which keeps its digits near equal shares.
        if q == 0.0:
            return np.expm1(log_ratio) - log_ratio
        # Each term is divided before the subtraction: the numbers may be close, and their difference inaccurate.
        if q < 0.5:
            return (np.expm1(q * log_ratio) / q - np.expm1(log_ratio)) / (q - 1.0)
        return (self._slope_times_ratio(log_ratio) - np.expm1(log_ratio)) / q

    def _slope(self, log_ratio: Any) -> Any:
        """Return phi'(r) from ln r."""
        return log_ratio if self.q == 1.0 else np.expm1((self.q - 1.0) * log_ratio) / (self.q - 1.0)

    def _slope_times_ratio(self, log_ratio: Any) -> Any:
        """Return r phi'(r) from ln r, in a form that is not 0 times infinity at weight 0."""
        s = self.q - 1.0
        if s == 0.0:
            return np.exp(log_ratio) * np.maximum(log_ratio, -MAX_LOG_SIZE)
        if s > 0.0:
            return np.exp(log_ratio) * np.expm1(s * log_ratio) / s
        return -np.exp(self.q * log_ratio) * np.expm1(-s * log_ratio) / s
