"""The conjugate of the hinge loss: F(d) = -sum d_n on 0 <= d_n <= C c_n, without the simplex.

F*(z) = C sum_n c_n [1 + z_n]_+: with z = -Uw the hinge loss of the margins. The regularizer of the programs whose
margins are held at 1 instead of being maximized [Raetsch, Onoda, Mueller 2001, (22), figure 14].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.errors import ProblemError
from boostopt.expressions import cp
from boostopt.regularizers.separable import Separable
from boostopt.regularizers.statements import Statement
from boostopt.shapes import Array, Float

LARGEST_MASS = 1e120
"""Largest sum of the weights: edge functions square it."""


@dataclass(frozen=True)
class Hinge(Separable):
    """Minus the sum of the weights, on the box [0, C c].

    Parameters
    ----------
    c
        Multiplicities, shape (N,), positive.
    C
        Penalty of a unit of slack for one example, positive.

    Raises
    ------
    ProblemError
        C times the sum of c is too large to be squared.
    """

    c: Float[Array, " N"]
    C: float

    def __post_init__(self) -> None:
        if self.mass > LARGEST_MASS:
            raise ProblemError(
                f"C times the sum of the multiplicities must be at most {LARGEST_MASS:g}, or squares overflow; got "
                f"{self.mass:.6g}. Lower C."
            )

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    on_simplex: ClassVar[bool] = False
    kind: ClassVar[str] = "hinge"

    @property
    def N(self) -> int:
        return len(self.c)

    def statement(self, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...] = ()) -> Statement | None:
        return Statement({"kind": self.kind, "C": self.C}) if np.array_equal(self.c, c) else None

    @property
    def upper(self) -> Float[Array, " N"]:
        return self.C * self.c

    @property
    def value_bound(self) -> float:
        return 0.0

    @property
    def magnitude(self) -> float:
        return self.mass

    @property
    def weight_scale(self) -> Float[Array, " N"]:
        return self.upper

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return -d

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.full(self.N, -1.0)

    def curvatures(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.zeros(self.N)

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.where(y > -1.0, self.upper, 0.0)

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        return self.upper if d is None else np.clip(np.where(np.isfinite(d), d, 0.0), 0.0, self.upper)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return -cp.sum(d), [d >= 0, d <= self.upper]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        return self.upper @ cp.pos(1 + z), []
