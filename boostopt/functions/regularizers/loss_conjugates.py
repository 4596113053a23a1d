"""Regularizers whose conjugates are losses of the margins, without the simplex: F*(-m) = C sum_n c_n loss(m_n).

    hinge              loss(m) = [1 - m]_+;  F(d) = -sum d_n on 0 <= d_n <= C c_n
    quadratic hinge    loss(m) = h(1 - m),  h(x) = 0, x^2 / (2 mu), B x - mu B^2 / 2 for x below 0, to mu B,
                       beyond;  F(d) = sum [ -d_n + (mu/2) d_n^2 / (C c_n) ] on 0 <= d_n <= B C c_n
    logistic           loss(m) = ln(1 + exp(-m));  F(d) = sum [ d ln(d/u) + (u - d) ln((u - d)/u) ], u = C c_n
    exponential        loss(m) = exp(-m);  F(d) = sum [ d_n ln(d_n / (C c_n)) - d_n ] on 0 <= d_n <= B_n C c_n

The hinge loss belongs to programs that hold the margins at 1 and do not maximize them [Raetsch, Onoda, Mueller 2001,
(22), figure 14]. With mu and B = 1, the quadratic hinge is the smoothed hinge [Nesterov 2005; Shalev-Shwartz and Zhang
2013]. With mu = 1/2 and B = 4, it is the modified Huber loss [Zhang 2004]. With mu = 1/2 and no B, it is the squared
hinge.

The slopes of the squared hinge and of the exponential loss are unbounded. A bounded domain of F makes these losses
linear beyond a slope -B_n that no optimum reaches. Let w be optimal, and let w0 minimize the penalty (0, or a point of
the simplex). The margins of w0 are at least -1. The loss of w is then at most the loss of w0:

    c_n loss(m_n) <= sum_k c_k loss(-1) = c_n L_n,   L_n = (sum c / c_n) loss(-1)

So the slope at the margin of an optimal w is at most 2 sqrt(L_n) for the squared hinge and L_n for the exponential
loss. The code uses min(c_n, 1) in place of c_n. This does not decrease the bound, and gives an example with c_n = k the
same bound as k copies. The optimum equals the optimum of the original loss, so every interval that contains it is
valid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit, rel_entr, xlog1py

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_optional, positive_parameter, positive_weights, read_fields
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import cached_property
from boostopt.functions.regularizer_statements import Statement
from boostopt.functions.regularizers.binary_entropy import MIN_LOG1P_ARGUMENT, LogarithmicLoss
from boostopt.functions.regularizers.separable import Separable

MAX_WEIGHT_NORM = 1e120
"""Largest sum of the weights, so that the squares in edge functions do not overflow."""


@dataclass(frozen=True)
class LossConjugate(Separable):
    """The conjugate of a loss: a sum over the examples of C c_n times a convex function of d_n / (C c_n), on a box.

    The lower bound of the box is 0.

    Parameters
    ----------
    c
        The multiplicities, shape (N,), positive.
    C
        The price of the loss of one example, positive.

    Raises
    ------
    ProblemError
        The caps are so large that the squares of weights may overflow.
    """

    c: ExampleVector
    C: float

    on_simplex = False

    def __post_init__(self) -> None:
        read_fields(self, c=positive_weights, C=positive_parameter)
        if not self.mass <= MAX_WEIGHT_NORM:
            max_price_sum = MAX_WEIGHT_NORM * (float(self.priced.sum()) / self.mass)
            raise ProblemError(
                f"the largest sum of the weights, C times the sum of the multiplicities, must be at most "
                f"{max_price_sum:g}, or squares overflow; got {self.mass:.6g}. Lower C."
            )

    @property
    def N(self) -> int:
        return len(self.c)

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        return Statement({"kind": self.kind, "C": self.C}) if np.array_equal(self.c, c) else None

    @cached_property
    def priced(self) -> ExampleVector:
        """The product C c, shape (N,)."""
        return self.C * self.c

    @property
    def weight_scale(self) -> ExampleVector:
        return self.priced

    @property
    def value_bound(self) -> float:
        return float(np.maximum(self.values(self.upper), 0.0).sum())

    def mass_of(self, d: ExampleVector) -> float:
        return self._sum_of_sizes(d)

    def conjugate_mass(self, z: ExampleVector, shift: float) -> float:
        return self._sum_of_maximizers(z, shift)

    def linearization_excess(self, y: ExampleVector) -> ExampleVector:
        """Return the loss at the margins -y minus the conjugate, shape (N,). The cap makes the conjugate linear.

        The excess is 0 at every optimum. It is 0 everywhere if the slope of the loss is bounded.
        """
        return np.zeros(self.N)

    def project(self, d: ExampleVector | None) -> ExampleVector:
        if d is None:
            return self.maximizers(np.zeros(self.N))
        return np.clip(np.where(np.isfinite(d), d, 0.0), 0.0, self.upper)


@dataclass(frozen=True)
class Hinge(LossConjugate):
    """The regularizer of the hinge loss: minus the sum of the weights, on [0, C c].

    C is the price of a unit of slack at one example.
    """

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    kind: ClassVar[str] = "hinge"

    @property
    def upper(self) -> ExampleVector:
        return self.priced

    @property
    def magnitude(self) -> float:
        return self.mass

    def value_size(self, d: ExampleVector) -> float:
        return float(d.sum())

    def conjugate_size(self, d: ExampleVector, multipliers: Mapping[str, Any]) -> float:
        # A term is y d + d at the maximizer d. Where d > 0, y is psi - 1.
        return float((d * (2.0 + multipliers["psi"])).sum())

    def values(self, d: ExampleVector) -> ExampleVector:
        return -d

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        return np.full(self.N, -1.0)

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return np.zeros(self.N)

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return np.where(y > -1.0, self.upper, 0.0)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return -cp.sum(d), [d >= 0, d <= self.upper]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        return self.upper @ cp.pos(1 + z), []


@dataclass(frozen=True)
class QuadraticHinge(LossConjugate):
    """The regularizer of the quadratic hinge losses: -d + (mu/2) d^2 / (C c) on [0, B C c].

    Parameters
    ----------
    c, C
        The multiplicities, shape (N,), and the price of the loss at one example.
    mu
        The inverse curvature of the loss, positive.
    B
        The steepest slope: 1 for the smoothed hinge, 4 for the modified Huber loss. None for the squared hinge, whose
        slope is unbounded and which needs mu = 1/2.

    Raises
    ------
    ProblemError
        A parameter is not positive, or B is None and mu is not 1/2, or the caps are too large.
    """

    mu: float
    B: float | None

    cones: ClassVar[frozenset[str]] = frozenset({"linear", "quadratic"})
    kind: ClassVar[str] = "quadratic hinge"

    def __post_init__(self) -> None:
        read_fields(self, mu=positive_parameter, B=partial(check_optional, positive_parameter))
        if self.B is None and self.mu != 0.5:
            raise ProblemError(f"mu must be 1/2 where B is None; got {self.mu:g}. Pass mu=0.5, or a steepest slope B.")
        super().__post_init__()

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        common = super().statement(c, d0, nus)
        numbers = {"mu": self.mu, "B": math.inf if self.B is None else self.B}
        return None if common is None else Statement({**common.numbers, **numbers})

    @cached_property
    def upper(self) -> ExampleVector:
        return self.priced * (max_slope_squared_hinge(self.c) if self.B is None else self.B)

    @cached_property
    def magnitude(self) -> float:
        return float((self.upper + 0.5 * self.mu * self.upper * (self.upper / self.priced)).sum())

    def value_size(self, d: ExampleVector) -> float:
        return float((d + (0.5 * self.mu) * d * (d / self.priced)).sum())

    def conjugate_size(self, d: ExampleVector, multipliers: Mapping[str, Any]) -> float:
        # A term is y d - f(d) at the maximizer d. Where d > 0, abs(y) is at most 1 + mu d / (C c) + psi.
        return float((d * (2.0 + (1.5 * self.mu) * (d / self.priced) + multipliers["psi"])).sum())

    @property
    def strong_convexity(self) -> float:
        """The modulus mu / (C sum c), because (sum x)^2 <= (C sum c) (sum x^2 / (C c))."""
        return self.mu / float(self.priced.sum())

    def values(self, d: ExampleVector) -> ExampleVector:
        return -d + (0.5 * self.mu) * d * (d / self.priced)

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        return -1.0 + self.mu * (d / self.priced)

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return self.mu / self.priced

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return np.clip((1.0 + y) * self.priced / self.mu, 0.0, self.upper)

    def linearization_excess(self, y: ExampleVector) -> ExampleVector:
        if self.B is not None:
            return super().linearization_excess(y)
        psi = np.maximum(1.0 + y - self.mu * (self.upper / self.priced), 0.0)
        return self.priced * (psi * psi) / (2.0 * self.mu)

    def young_gaps(self, d: ExampleVector, y: ExampleVector) -> ExampleVector:
        x = self.maximizers(y)
        psi, zeta = self._box_multipliers(y)
        square = (0.5 * self.mu) * (d - x) * ((d - x) / self.priced)
        return square + psi * (self.upper - d) + zeta * d

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        squares = cp.sum(cp.multiply(1.0 / self.priced, cp.square(d)))
        return -cp.sum(d) + (0.5 * self.mu) * squares, [d >= 0, d <= self.upper]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        psi = cp.Variable(self.N, nonneg=True, name="psi")
        squares = cp.sum(cp.multiply(self.priced, cp.square(cp.pos(1.0 + z - psi))))
        return squares / (2.0 * self.mu) + self.upper @ psi, []


@dataclass(frozen=True)
class Exponential(LossConjugate):
    """The regularizer of the exponential loss: d ln(d / (C c)) - d on [0, B C c].

    B is a slope of the loss that no optimum reaches.
    """

    cones: ClassVar[frozenset[str]] = frozenset({"linear", "exponential"})
    kind: ClassVar[str] = "exponential"

    @cached_property
    def upper(self) -> ExampleVector:
        return self.priced * max_slope_exponential(self.c)

    @cached_property
    def end(self) -> ExampleVector:
        """The derivatives f_n' at the caps, shape (N,)."""
        return np.log(max_slope_exponential(self.c))

    @cached_property
    def magnitude(self) -> float:
        return float((self.upper * (1.0 + np.abs(self.end))).sum())

    def value_size(self, d: ExampleVector) -> float:
        return float(self._value_sizes(d).sum())

    def conjugate_size(self, d: ExampleVector, multipliers: Mapping[str, Any]) -> float:
        # A term is d (1 + psi) at the maximizer d. The rounding of a cap counts with the slope there, ln(d / (C c)).
        return float((self._value_sizes(d) * (1.0 + multipliers["psi"])).sum())

    def _value_sizes(self, d: ExampleVector) -> ExampleVector:
        """Return the sizes of the terms of f_n(d_n), shape (N,)."""
        return np.abs(rel_entr(d, self.priced)) + d

    @property
    def strong_convexity(self) -> float:
        """The modulus 1 / mass, because f'' >= 1 / upper."""
        return 1.0 / self.mass

    def values(self, d: ExampleVector) -> ExampleVector:
        return rel_entr(d, self.priced) - d

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        with np.errstate(divide="ignore"):
            return np.log(d) - np.log(self.priced)

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return 1.0 / d

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return np.exp(self._log_maximizers(y))

    def conjugate_terms(self, y: ExampleVector) -> ExampleVector:
        excess = np.maximum(y - self.end, 0.0)
        return self.priced * np.exp(np.minimum(y, self.end)) * (1.0 + excess)

    def linearization_excess(self, y: ExampleVector) -> ExampleVector:
        excess = np.maximum(y - self.end, 0.0)
        with np.errstate(over="ignore"):  # a loss that overflows is infinite
            return self.upper * np.maximum(np.expm1(excess) - excess, 0.0)

    def young_gaps(self, d: ExampleVector, y: ExampleVector) -> ExampleVector:
        # The logarithm of the maximizer is finite also if the maximizer underflows and the weight does not.
        log_x = self._log_maximizers(y)
        safe = np.where(d > 0, d, 1.0)
        ratio = np.where(d > 0, np.log(safe) - log_x, 0.0)
        psi, _ = self._box_multipliers(y)
        return np.maximum(d * ratio - d + np.exp(log_x), 0.0) + psi * (self.upper - d)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return cp.sum(cp.rel_entr(d, self.priced)) - cp.sum(d), [d <= self.upper]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        # The variable is psi times the caps, which are large: it has the size of the loss.
        scaled_psi = cp.Variable(self.N, nonneg=True)
        weights = cp.exp(z - cp.multiply(1.0 / self.upper, scaled_psi))
        return cp.sum(cp.multiply(self.priced, weights)) + cp.sum(scaled_psi), []

    def _log_maximizers(self, y: ExampleVector) -> ExampleVector:
        """Return the logarithms of the maximizers."""
        return np.log(self.priced) + np.minimum(y, self.end)

    def _box_multipliers(self, y: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        return np.maximum(y - self.end, 0.0), np.zeros(self.N)


@dataclass(frozen=True)
class Logistic(LogarithmicLoss):
    """The regularizer of the logistic loss: minus the sum of u times the binary entropy of d / u, on 0 <= d <= u = C c.

    Use `priced` to construct it.
    """

    C: float = 1.0

    kind: ClassVar[str] = "logistic"

    @classmethod
    def priced(cls, c: ExampleVector, C: float) -> Logistic:
        """Return the regularizer whose conjugate is C sum_n c_n ln(1 + exp(z_n)).

        Parameters
        ----------
        c
            The multiplicities, shape (N,), positive.
        C
            The price of the loss of one example, positive.
        """
        price = positive_parameter("C", C)
        caps = price * positive_weights("c", c)
        return cls(caps, 1.0, 0.5 * caps, C=price)

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        return Statement({"kind": self.kind, "C": self.C}) if np.array_equal(self.caps, self.C * c) else None

    @property
    def value_bound(self) -> float:
        return 0.0

    def mass_of(self, d: ExampleVector) -> float:
        return self._sum_of_sizes(d)

    def conjugate_mass(self, z: ExampleVector, shift: float) -> float:
        return self._sum_of_maximizers(z, shift)

    def value_size(self, d: ExampleVector) -> float:
        # The rounding of d / u changes the second term, (u - d) ln(1 - d / u), by a part of d.
        return float((np.abs(rel_entr(d, self.caps)) + np.abs(self._cap_terms(d)) + d).sum())

    def conjugate_size(self, d: ExampleVector, multipliers: Mapping[str, Any]) -> float:
        # A term is -u ln(1 - d / u), in proportion to u. If d is u up to rounding, the term is
        # u y, and counts with the margin -y.
        fractions = np.minimum(d / self.caps, -MIN_LOG1P_ARGUMENT)
        return float((self.caps * -np.log1p(-fractions)).sum())

    def values(self, d: ExampleVector) -> ExampleVector:
        return rel_entr(d, self.caps) + self._cap_terms(d)

    def _cap_terms(self, d: ExampleVector) -> ExampleVector:
        """Return (u - d) ln((u - d) / u), shape (N,), which keeps its digits at small weights."""
        return xlog1py(np.maximum(self.caps - d, 0.0), -np.minimum(d / self.caps, 1.0))

    def conjugate_terms(self, y: ExampleVector) -> ExampleVector:
        return -self.caps * log_expit(-y)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return cp.sum(cp.rel_entr(d, self.caps)) + cp.sum(cp.rel_entr(self.caps - d, self.caps)), []

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        return self.caps @ cp.logistic(z), []


def max_slope_squared_hinge(c: ExampleVector) -> ExampleVector:
    """Return a bound, shape (N,), on the slope 2 (1 - m) of the squared hinge at every optimum."""
    return 4.0 * np.sqrt(c.sum() / np.minimum(c, 1.0))


def max_slope_exponential(c: ExampleVector) -> ExampleVector:
    """Return a bound, shape (N,), on the slope of the exponential loss at every optimum."""
    return np.e * (c.sum() / np.minimum(c, 1.0))
