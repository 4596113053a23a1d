"""What the conjugates of losses of the margins have in common: a box of C c, no simplex, a price C."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import positive_parameter, positive_weights, read_fields
from boostopt.errors import ProblemError
from boostopt.functions.regularizers.separable import Separable
from boostopt.functions.statements import Statement

LARGEST_MASS = 1e120
"""Largest sum of the weights: edge functions square it."""


@dataclass(frozen=True)
class Loss(Separable):
    """A sum over the examples of C c_n times a convex function of d_n / (C c_n), on a box from 0 on.

    Parameters
    ----------
    c
        Multiplicities, shape (N,), positive.
    C
        Price of the loss of one example, positive.

    Raises
    ------
    ProblemError
        The largest weights are so large that their squares overflow.
    """

    c: Float[Array, " N"]
    C: float

    on_simplex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        read_fields(self, c=positive_weights, C=positive_parameter)
        if not self.mass <= LARGEST_MASS:
            most = LARGEST_MASS * (float(self.priced.sum()) / self.mass)
            raise ProblemError(
                f"the largest sum of the weights, C times the sum of the multiplicities, must be at most {most:g}, or "
                f"squares overflow; got {self.mass:.6g}. Lower C."
            )

    @property
    def N(self) -> int:
        return len(self.c)

    def statement(self, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...] = ()) -> Statement | None:
        return Statement({"kind": self.kind, "C": self.C}) if np.array_equal(self.c, c) else None

    @cached_property
    def priced(self) -> Float[Array, " N"]:
        """C c, shape (N,)."""
        return self.C * self.c

    @property
    def weight_scale(self) -> Float[Array, " N"]:
        return self.priced

    @property
    def value_bound(self) -> float:
        return float(np.maximum(self.values(self.upper), 0.0).sum())

    def beyond(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return by how much the loss at the margins -y exceeds the conjugate, which the end of the box makes linear.

        That is 0 where the loss has a steepest slope of its own, and at every optimum.
        """
        return np.zeros(self.N)

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        if d is None:
            return self.maximizers(np.zeros(self.N))
        return np.clip(np.where(np.isfinite(d), d, 0.0), 0.0, self.upper)
