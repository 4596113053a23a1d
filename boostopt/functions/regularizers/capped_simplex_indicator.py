"""Regularizers that are linear on their domain: the indicator of the capped simplex, and the shortfall on a box.

    cap          F(d) = 0  on C_nu,  F*(-m) = -AvgMin_nu(m), minus the average over the nu examples of smallest margin
    shortfall    F(d) = -theta sum_n (d_n - C c_n)  on  C c_n <= d_n <= (1 + C) c_n,
                 F*(-m) = -sum_n c_n (C m_n + min(0, m_n - theta))

The indicator ("cap" in certificate files) is the regularizer of soft-margin LPBoost. Minus its conjugate is the soft
margin [Glocer 2009, (2.2); Shalev-Shwartz and Singer 2008, section 3]. For the shortfall, see Akkerman, Ferry,
Artigues, Hebrard, Vidal 2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import positive_parameter, positive_weights, read_fields, real_parameter
from boostopt.functions.convex_function import cached_property
from boostopt.functions.regularizer_statements import Statement, statement_with_caps
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, read_domain
from boostopt.functions.regularizers.separable import Separable


@dataclass(frozen=True)
class CappedSimplexIndicator(Separable):
    """The indicator of the capped simplex C_nu: f_n = 0 on [0, c_n / nu].

    Parameters
    ----------
    domain
        The capped simplex.
    """

    domain: CappedSimplex

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    kind: ClassVar[str] = "cap"

    def __post_init__(self) -> None:
        read_fields(self, domain=read_domain)

    @property
    def N(self) -> int:
        return len(self.domain.c)

    @property
    def soft_margin_caps(self) -> ExampleVector | None:
        return self.upper

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        return statement_with_caps({"kind": self.kind}, self.upper, c, (self.domain.nu, *nus))

    @property
    def upper(self) -> ExampleVector:
        return self.domain.upper

    @property
    def value_bound(self) -> float:
        return 0.0

    @property
    def magnitude(self) -> float:
        return 0.0

    @property
    def weight_scale(self) -> ExampleVector:
        return self.domain.c / self.domain.c.sum()

    def values(self, d: ExampleVector) -> ExampleVector:
        return np.zeros(len(d))

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        return np.zeros(len(d))

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return np.zeros(len(d))

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return np.where(y > 0, self.upper, 0.0)

    def solve_simplex_multiplier(self, z: ExampleVector) -> tuple[float, ExampleVector]:
        rho = self.domain.quantile(-z)
        return -rho, self.domain.greedy_maximizer(-z, rho)

    def project(self, d: ExampleVector | None) -> ExampleVector:
        return self.domain.renormalize(self.weight_scale) if d is None else self.domain.repair(d, self.weight_scale)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return cp.Constant(0.0), [cp.sum(d) == 1, d >= 0, d <= self.upper]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        beta, psi = cp.Variable(name="beta"), cp.Variable(self.N, nonneg=True, name="psi")
        return beta + self.upper @ psi, [psi >= z - beta]


@dataclass(frozen=True)
class Shortfall(Separable):
    """The function -theta sum_n (d_n - C c_n) on C c_n <= d_n <= (1 + C) c_n, without the simplex.

    Parameters
    ----------
    c
        The multiplicities, shape (N,), positive.
    C
        The price of the sum of the margins, positive.
    theta
        The margin below which an example falls short.
    """

    c: ExampleVector
    C: float
    theta: float

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    kind: ClassVar[str] = "shortfall"
    on_simplex = False

    def __post_init__(self) -> None:
        read_fields(self, c=positive_weights, C=positive_parameter, theta=real_parameter)

    @property
    def N(self) -> int:
        return len(self.c)

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        numbers = {"kind": self.kind, "C": self.C, "theta": self.theta}
        return Statement(numbers) if np.array_equal(self.c, c) else None

    @cached_property
    def lower(self) -> ExampleVector:
        return self.C * self.c

    @cached_property
    def upper(self) -> ExampleVector:
        return self.lower + self.c

    @property
    def value_bound(self) -> float:
        return max(-self.theta, 0.0) * float((self.upper - self.lower).sum())

    @property
    def magnitude(self) -> float:
        return abs(self.theta) * self.mass

    def mass_of(self, d: ExampleVector) -> float:
        return self._sum_of_sizes(d)

    def conjugate_mass(self, z: ExampleVector, shift: float) -> float:
        return self._sum_of_maximizers(z, shift)

    def value_size(self, d: ExampleVector) -> float:
        return abs(self.theta) * float(d.sum())

    def conjugate_size(self, d: ExampleVector, multipliers: Mapping[str, Any]) -> float:
        # A term is y d + theta (d - C c) at the maximizer d, where y is psi - zeta - theta.
        return float((d * (2.0 * abs(self.theta) + multipliers["psi"] + multipliers["zeta"])).sum())

    @property
    def weight_scale(self) -> ExampleVector:
        return self.upper

    def values(self, d: ExampleVector) -> ExampleVector:
        return -self.theta * (d - self.lower)

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        return np.full(self.N, -self.theta)

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return np.zeros(self.N)

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return np.where(y > -self.theta, self.upper, self.lower)

    def project(self, d: ExampleVector | None) -> ExampleVector:
        if d is None:
            return self.maximizers(np.zeros(self.N))
        return np.clip(np.where(np.isfinite(d), d, 0.0), self.lower, self.upper)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return -self.theta * cp.sum(d - self.lower), [d >= self.lower, d <= self.upper]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        return self.lower @ z + (self.upper - self.lower) @ cp.pos(z + self.theta), []
