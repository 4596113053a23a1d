"""The relative entropy on the capped simplex: F(d) = (1/eta) sum d ln(d / d0) + I[d in C_nu], as in ERLPBoost.

The maximizer at z is the capped softmax d_n = min(c_n / nu, d0_n exp(eta (z_n - beta))), where the number beta makes
the sum 1. It is the entropic projection of d0 exp(eta z) onto C_nu [Glocer 2009, (3.6), (3.11)]. The beta here is the
multiplier of sum d = 1 in the unnormalized form: the multiplier of (3.16) plus 1/eta.

`Entropy` is the common part of all entropies relative to a reference distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy.special import rel_entr

from boostopt._utils.array_types import Array, Bool, ExampleVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import non_negative_weights, positive_parameter, read_fields
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import cached_property
from boostopt.functions.numerics.capped_softmax import capped_softmax, log_or_neg_inf
from boostopt.functions.regularizer_statements import Statement, statement_with_caps
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, read_domain
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.separable import Separable

E = TypeVar("E", bound="RelativeEntropy")


class Entropy(Separable):
    """An entropy relative to a reference distribution d0, divided by eta."""

    eta: float
    d0: ExampleVector

    cones: ClassVar[frozenset[str]] = frozenset({"linear", "exponential"})

    @property
    def N(self) -> int:
        return len(self.d0)

    @property
    def strong_convexity(self) -> float:
        return 1.0 / self.eta

    @property
    def weight_scale(self) -> ExampleVector:
        return np.where(self.d0 > 0, self.d0, 1.0 / self.N)

    @property
    def objective_scale(self) -> float:
        return self.eta


@dataclass(frozen=True)
class RelativeEntropy(Entropy):
    """The relative entropy to d0, divided by eta, on the capped simplex.

    Parameters
    ----------
    domain
        The capped simplex. An example with d0_n = 0 must have c_n = 0, because its weight can only be 0.
    eta
        The inverse strength, positive; a larger eta regularizes less.
    d0
        The reference distribution, shape (N,), non-negative, sum 1. It need not lie in the domain.

    Raises
    ------
    ProblemError
        The domain is not a capped simplex, eta is not positive, or d0 does not fit the domain.
    """

    domain: CappedSimplex
    eta: float
    d0: ExampleVector

    kind: ClassVar[str] = "relative entropy"

    def __post_init__(self) -> None:
        read_fields(self, domain=read_domain, eta=positive_parameter)
        read_fields(self, d0=lambda name, d0: non_negative_weights(name, d0, len(self.domain.c)))
        has_no_reference = (self.d0 == 0.0) & (self.domain.c > 0.0)
        if has_no_reference.any():
            n = int(np.argmax(has_no_reference))
            raise ProblemError(
                f"d0 must be positive where c is; got d0 = 0 and c = {self.domain.c[n]:.6g} at {n}. Call "
                f"{type(self).__name__}.capped(c, nu, eta, d0), which gives this example no weight."
            )

    @classmethod
    def capped(cls: type[E], c: ExampleVector, nu: float, eta: float, d0: ExampleVector) -> E:
        """Return the relative entropy to d0 on C_nu, where examples with d0_n = 0 have weight 0.

        Parameters
        ----------
        c
            The multiplicities, shape (N,), non-negative.
        nu
            The least number of examples that share the weight, positive.
        eta
            The inverse strength, positive.
        d0
            The reference distribution, shape (N,), non-negative, sum 1.
        """
        c = non_negative_weights("c", c)
        d0 = non_negative_weights("d0", d0, len(c))
        return cls(CappedSimplex(np.where(d0 > 0, c, 0.0), nu), eta, d0)

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        if not np.array_equal(self.d0, d0):
            return None
        return statement_with_caps({"kind": self.kind, "eta": self.eta}, self.upper, c, (self.domain.nu, *nus), d0 > 0)

    @property
    def unsmoothed(self) -> Regularizer:
        return CappedSimplexIndicator(self.domain)

    @cached_property
    def upper(self) -> ExampleVector:
        return self.domain.upper

    @cached_property
    def log_d0(self) -> ExampleVector:
        """The logarithm of d0, -inf where d0 is 0."""
        return log_or_neg_inf(self.d0)

    @cached_property
    def log_upper(self) -> ExampleVector:
        """The logarithm of the caps, -inf where the cap is 0."""
        return log_or_neg_inf(self.upper)

    @cached_property
    def value_bound(self) -> float:
        """The bound C_Delta / eta: examples get their cap in the order of d0_n / c_n, the smallest first.

        The bound is attained if no example gets only a part of its cap.
        """
        log_ratios = np.zeros(self.N)  # ln(d / d0) at the caps
        log_ratios[self._in_support] = np.log(self.upper[self._in_support]) - self.log_d0[self._in_support]
        return max(self.support(log_ratios), 0.0) / self.eta

    @cached_property
    def magnitude(self) -> float:
        logs = np.concatenate([self.log_d0[self._in_support], self.log_upper[self._in_support], [np.log(self.N)]])
        return max(1.0, float(np.abs(logs).max())) / self.eta

    def values(self, d: ExampleVector) -> ExampleVector:
        # Not kl_div: its quotient d / d0 overflows if d0 is subnormal.
        return (rel_entr(d, self.d0) - d + self.d0) / self.eta

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.d0 > 0, np.log(d) - self.log_d0, 0.0) / self.eta

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return 1.0 / (self.eta * d)

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return np.exp(self._log_maximizers(y))

    def young_gaps(self, d: ExampleVector, y: ExampleVector) -> ExampleVector:
        # The logarithm of the maximizer is finite also if the maximizer underflows and the weight does not.
        log_x = self._log_maximizers(y)
        log_ratio = np.subtract(np.log(d, where=d > 0, out=np.zeros(self.N)), log_x, where=d > 0, out=np.zeros(self.N))
        psi, _ = self._box_multipliers(y)
        return np.maximum(d * log_ratio - d + np.exp(log_x), 0.0) / self.eta + psi * (self.upper - d)

    def solve_simplex_multiplier(self, z: ExampleVector) -> tuple[float, ExampleVector]:
        # Relative to the nu-quantile, the relevant exponents are small for every eta.
        reference = -self.domain.quantile(-z)
        softmax = capped_softmax(self.log_d0 + self.eta * (z - reference), self.domain.c, self.domain.nu)
        return reference - softmax.log_theta / self.eta, softmax.d

    def project(self, d: ExampleVector | None) -> ExampleVector:
        return self.domain.repair(self.d0 if d is None else d, self.d0)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        support = np.flatnonzero(self._in_support)
        fixed = [d[np.flatnonzero(~self._in_support)] == 0] if len(support) < self.N else []
        value = cp.sum(cp.rel_entr(d[support], self.d0[support])) / self.eta
        return value, [cp.sum(d) == 1, d <= self.upper, *fixed]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        support = np.flatnonzero(self._in_support)
        psi = cp.Variable(len(support), nonneg=True, name="psi")
        exponent = self.log_d0[support] + self.eta * (z[support] - psi)
        return cp.log_sum_exp(exponent) / self.eta + self.upper[support] @ psi, []

    @property
    def _in_support(self) -> Bool[Array, " N"]:
        """The examples that may have weight, as a mask."""
        return self.domain.c > 0

    def _log_maximizers(self, y: ExampleVector) -> ExampleVector:
        """Return the logarithms of the maximizers min(c / nu, d0 exp(eta y))."""
        return np.minimum(self.log_upper, self.log_d0 + self.eta * y)

    def _box_multipliers(self, y: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        # The slope at 0 is -inf, so that the lower bound is never active. Examples outside the support have no slope.
        in_support = self._in_support
        slope = np.where(in_support, self.log_upper, 0.0) - np.where(in_support, self.log_d0, 0.0)
        return np.where(in_support, np.maximum(y - slope / self.eta, 0.0), 0.0), np.zeros(self.N)


@dataclass(frozen=True)
class LogExponentialLoss(RelativeEntropy):
    """The relative entropy as a term of the objective, and not as a smoothing of the soft margin.

    Minus its conjugate is -(1/eta) ln sum_n d0_n exp(-eta m_n), a logarithm of the exponential loss.
    """

    kind: ClassVar[str] = RelativeEntropy.kind

    @property
    def unsmoothed(self) -> Regularizer:
        return self


class UnnormalizedRelativeEntropy(RelativeEntropy):
    """The relative entropy on the capped simplex, in CVXPY with the terms -d + d0.

    The CVXPY expression of the conjugate is then a minimum over beta of a sum over the examples, and not the logarithm
    of a sum [Glocer 2009, (3.18), (3.19)].
    """

    kind: ClassVar[str] = "unnormalized relative entropy"

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        support = np.flatnonzero(self._in_support)
        d0 = self.d0[support]
        value = cp.sum(cp.rel_entr(d[support], d0) - d[support] + d0) / self.eta
        return value, super().cvxpy_value(d)[1]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        support = np.flatnonzero(self._in_support)
        beta, psi = cp.Variable(name="beta"), cp.Variable(len(support), nonneg=True, name="psi")
        weights = cp.exp(self.log_d0[support] + self.eta * (z[support] - beta - psi))
        total = float(self.d0[support].sum())
        return beta + (cp.sum(weights) - total) / self.eta + self.upper[support] @ psi, []
