"""The conjugate of the hinge loss: F(d) = -sum d_n on 0 <= d_n <= C c_n, without the simplex.

F*(z) = C sum_n c_n [1 + z_n]_+, which for z = -Uw is the hinge loss of the margins. This is the regularizer of programs
that hold the margins at 1 and do not maximize them [Raetsch, Onoda, Mueller 2001, (22), figure 14].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.functions.regularizers.loss_conjugate import Loss


@dataclass(frozen=True)
class Hinge(Loss):
    """Minus the sum of the weights, on the box [0, C c]; C is the price of a unit of slack at one example."""

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    kind: ClassVar[str] = "hinge"

    @property
    def upper(self) -> Float[Array, " N"]:
        return self.priced

    @property
    def magnitude(self) -> float:
        return self.mass

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return -d

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.full(self.N, -1.0)

    def curvatures(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.zeros(self.N)

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.where(y > -1.0, self.upper, 0.0)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return -cp.sum(d), [d >= 0, d <= self.upper]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        return self.upper @ cp.pos(1 + z), []
