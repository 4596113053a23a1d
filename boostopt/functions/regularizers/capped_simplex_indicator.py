"""The cap alone: F = indicator of the capped simplex, the regularizer of soft-margin LPBoost.

Its conjugate is minus the soft margin: F*(z) = max over C_nu of <d, z> = -AvgMin_nu(-z), the average over the nu
examples of smallest margin [Glocer 2009, (2.2); Shalev-Shwartz and Singer 2008, section 3].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import read_fields
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, read_domain
from boostopt.functions.regularizers.separable import Separable
from boostopt.functions.statements import Statement, with_caps


@dataclass(frozen=True)
class Cap(Separable):
    """The indicator of C_nu; f_n = 0 on [0, c_n / nu]."""

    domain: CappedSimplex

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    kind: ClassVar[str] = "cap"

    def __post_init__(self) -> None:
        read_fields(self, domain=read_domain)

    @property
    def N(self) -> int:
        return len(self.domain.c)

    @property
    def indicator_caps(self) -> Float[Array, " N"] | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.upper

    def statement(self, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...] = ()) -> Statement | None:
        return with_caps({"kind": self.kind}, self.upper, c, (self.domain.nu, *nus))

    @property
    def upper(self) -> Float[Array, " N"]:
        return self.domain.upper

    @property
    def value_bound(self) -> float:
        return 0.0

    @property
    def magnitude(self) -> float:
        return 0.0

    @property
    def weight_scale(self) -> Float[Array, " N"]:
        return self.domain.c / self.domain.c.sum()

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.zeros(len(d))

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.zeros(len(d))

    def curvatures(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.zeros(len(d))

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.where(y > 0, self.upper, 0.0)

    def normalizer(self, z: Float[Array, " N"]) -> tuple[float, Float[Array, " N"]]:
        rho = self.domain.quantile(-z)
        return -rho, self.domain.fill(-z, rho)

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        return self.domain.normalized(self.weight_scale) if d is None else self.domain.repair(d, self.weight_scale)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return cp.Constant(0.0), [cp.sum(d) == 1, d >= 0, d <= self.upper]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        beta, psi = cp.Variable(name="beta"), cp.Variable(self.N, nonneg=True, name="psi")
        return beta + self.upper @ psi, [psi >= z - beta]
