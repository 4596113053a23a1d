"""The weighted sum of squares, (mu/2) sum_n d_n^2 / c_n on [0, 1], a term to add to other separable regularizers.

An example with c_n = k has the same value as k copies that share its weight equally.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import positive_parameter, positive_weights, read_fields
from boostopt.functions.regularizers.separable import Separable


@dataclass(frozen=True)
class Squares(Separable):
    """The function (mu/2) sum_n d_n^2 / c_n on 0 <= d <= 1, without the simplex.

    Parameters
    ----------
    c
        The multiplicities, shape (N,), positive.
    mu
        The strength, positive.

    Raises
    ------
    ProblemError
        c or mu is not positive.
    """

    c: ExampleVector
    mu: float

    cones: ClassVar[frozenset[str]] = frozenset({"linear", "quadratic"})
    on_simplex = False

    def __post_init__(self) -> None:
        read_fields(self, c=positive_weights, mu=positive_parameter)

    @property
    def N(self) -> int:
        return len(self.c)

    @property
    def upper(self) -> ExampleVector:
        return np.ones(self.N)

    @property
    def value_bound(self) -> float:
        return float((0.5 * self.mu / self.c).sum())

    @property
    def magnitude(self) -> float:
        return self.value_bound

    def magnitude_within(self, upper: ExampleVector, on_simplex: bool) -> float:
        # If sum d = 1, F is an average of (mu/2) d_n / c_n. No term is negative, and each is rounded three times.
        max_weights = np.minimum(upper, 1.0)
        ratios = (0.5 * self.mu) * max_weights / self.c
        return float(ratios.max()) if on_simplex else float((ratios * max_weights).sum())

    @property
    def weight_scale(self) -> ExampleVector:
        return self.c / self.c.sum()

    @property
    def objective_scale(self) -> float:
        return 1.0 / self.mu

    def values(self, d: ExampleVector) -> ExampleVector:
        return (0.5 * self.mu) * d**2 / self.c

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        return self.mu * d / self.c

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return self.mu / self.c

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return np.clip(y * self.c / self.mu, 0.0, 1.0)

    def project(self, d: ExampleVector | None) -> ExampleVector:
        return np.zeros(self.N) if d is None else np.clip(np.where(np.isfinite(d), d, 0.0), 0.0, 1.0)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return (0.5 * self.mu) * cp.sum(cp.multiply(1.0 / self.c, cp.square(d))), [d >= 0, d <= 1]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        psi = cp.Variable(self.N, nonneg=True)
        squares = cp.sum(cp.multiply(self.c, cp.square(cp.pos(z - psi)))) / (2.0 * self.mu)
        return squares + cp.sum(psi), []
