"""The part that entropies relative to a reference distribution have in common."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.regularizers.separable import Separable


class Entropy(Separable):
    """(1/eta) times an entropy relative to d0."""

    eta: float
    d0: Float[Array, " N"]

    cones: ClassVar[frozenset[str]] = frozenset({"linear", "exponential"})

    @property
    def N(self) -> int:
        return len(self.d0)

    @property
    def strong_convexity(self) -> float:
        return 1.0 / self.eta

    @property
    def weight_scale(self) -> Float[Array, " N"]:
        return np.where(self.d0 > 0, self.d0, 1.0 / self.N)

    @property
    def objective_scale(self) -> float:
        return self.eta
