"""The regularizer whose conjugate is the variance of the margins minus their mean.

    F*(-m) = -mean(m) + (D/2) var(m),    F(d) = (s/2) sum_n (d_n - a_n)^2 / c_n,  sum d = 1

with a = c / sum c and s = (sum c - 1) / D. The mean and the variance count an example with c_n = k as k copies:
mean(m) = sum a_n m_n and var(m) = sum c_n (m_n - mean(m))^2 / (sum c - 1) [Shen and Li 2010b].

The weights may be negative, because a margin far above the mean increases the variance. The margins of a convex
combination of hypotheses differ from their mean by at most 2. So |d_n - a_n| <= 2 c_n / s holds at every optimum, and
this is the box of F.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import positive_parameter, positive_weights, read_fields
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import cached_property
from boostopt.functions.regularizer_statements import Statement
from boostopt.functions.regularizers.capped_simplex import renormalize_in_box
from boostopt.functions.regularizers.separable import Separable

MAX_DISTANCE_FROM_MEAN = 2.0
"""Largest distance of a margin in [-1, 1] to the mean of the margins."""


@dataclass(frozen=True)
class MarginVariance(Separable):
    """The function (s/2) sum_n (d_n - a_n)^2 / c_n with sum d = 1; the weights may have any sign.

    Parameters
    ----------
    c
        The multiplicities, shape (N,), positive, with a sum above 1.
    D
        The price of half of the variance of the margins, positive.

    Raises
    ------
    ProblemError
        The sum of c is not above 1; the variance is divided by sum c - 1.
    """

    c: ExampleVector
    D: float

    cones: ClassVar[frozenset[str]] = frozenset({"linear", "quadratic"})
    kind: ClassVar[str] = "margin variance"
    signed = True

    def __post_init__(self) -> None:
        read_fields(self, c=positive_weights, D=positive_parameter)
        if not self.degrees_of_freedom > 0.0:
            raise ProblemError(
                f"for a variance of the margins, the multiplicities must sum to more than 1; got {self.total:.6g}. "
                "Pass at least two examples."
            )

    @property
    def N(self) -> int:
        return len(self.c)

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        return Statement({"kind": self.kind, "D": self.D}) if np.array_equal(self.c, c) else None

    @cached_property
    def total(self) -> float:
        """The sum of the multiplicities."""
        return float(self.c.sum())

    @cached_property
    def degrees_of_freedom(self) -> float:
        """The divisor of the variance: the sum of the multiplicities minus 1, rounded once."""
        return math.fsum([*self.c.tolist(), -1.0])

    @cached_property
    def share(self) -> ExampleVector:
        """The equal shares a, shape (N,), at which F has its minimum 0."""
        return self.c / self.total

    @cached_property
    def sensitivities(self) -> ExampleVector:
        """The derivatives c / s of the weights with respect to their margins, shape (N,)."""
        return self.c * (self.D / self.degrees_of_freedom)

    @cached_property
    def lower(self) -> ExampleVector:
        return self.share - MAX_DISTANCE_FROM_MEAN * self.sensitivities

    @cached_property
    def upper(self) -> ExampleVector:
        return self.share + MAX_DISTANCE_FROM_MEAN * self.sensitivities

    @cached_property
    def mass(self) -> float:
        return float(np.maximum(np.abs(self.lower), np.abs(self.upper)).sum())

    @property
    def strong_convexity(self) -> float:
        """The modulus s / sum c, because (sum x)^2 <= (sum c) (sum x^2 / c)."""
        return self.degrees_of_freedom / (self.total * self.D)

    @property
    def value_bound(self) -> float:
        return 0.5 * MAX_DISTANCE_FROM_MEAN**2 * float(self.sensitivities.sum())

    @property
    def magnitude(self) -> float:
        return max(1.0, self.value_bound)

    def mass_of(self, d: ExampleVector) -> float:
        return self._sum_of_sizes(d)

    def conjugate_mass(self, z: ExampleVector, shift: float) -> float:
        # The multiplier beta changes by at most `shift` too, and no maximizer decreases in z - beta.
        y = z - self.solve_simplex_multiplier(z)[0]
        ends = (np.abs(self.maximizers(y + step)) for step in (-2.0 * shift, 2.0 * shift))
        return self._sum_of_sizes(np.maximum(*ends))

    def value_size(self, d: ExampleVector) -> float:
        # The derivatives (d - a) / s are at most 2. So a change of a weight by rounding costs at most twice the change.
        return float(((np.abs(self.derivatives(d)) + 2.0) * (np.abs(d) + self.share)).sum())

    def conjugate_size(self, d: ExampleVector, multipliers: Mapping[str, Any]) -> float:
        # A term is at most y (a + abs(d - a)) at the maximizer d, where y is (d - a) / s + psi - zeta.
        slope_sizes = np.abs(self.derivatives(d)) + multipliers["psi"] + multipliers["zeta"]
        return float((slope_sizes * (np.abs(d) + 2.0 * self.share)).sum())

    @property
    def weight_scale(self) -> ExampleVector:
        return self.share

    def values(self, d: ExampleVector) -> ExampleVector:
        return 0.5 * (d - self.share) * ((d - self.share) / self.sensitivities)

    def derivatives(self, d: ExampleVector) -> ExampleVector:
        return (d - self.share) / self.sensitivities

    def curvatures(self, d: ExampleVector) -> ExampleVector:
        return 1.0 / self.sensitivities

    def maximizers(self, y: ExampleVector) -> ExampleVector:
        return self.share + self.sensitivities * np.clip(y, -MAX_DISTANCE_FROM_MEAN, MAX_DISTANCE_FROM_MEAN)

    def conjugate_terms(self, y: ExampleVector) -> ExampleVector:
        x = np.minimum(np.abs(y), MAX_DISTANCE_FROM_MEAN)
        return self.share * y + self.sensitivities * x * (np.abs(y) - 0.5 * x)

    def young_gaps(self, d: ExampleVector, y: ExampleVector) -> ExampleVector:
        x = self.maximizers(y)
        psi, zeta = self._box_multipliers(y)
        square = 0.5 * (d - x) * ((d - x) / self.sensitivities)
        return square + psi * (self.upper - d) + zeta * (d - self.lower)

    def solve_simplex_multiplier(self, z: ExampleVector) -> tuple[float, ExampleVector]:
        # If no weight is at an end of the box, beta is the mean. Otherwise, bisection finds beta.
        beta = float(self.share @ z)
        if float(np.abs(z - beta).max()) <= MAX_DISTANCE_FROM_MEAN:
            return beta, self.maximizers(z - beta)
        return super().solve_simplex_multiplier(z)

    def project(self, d: ExampleVector | None) -> ExampleVector:
        if d is None:
            return self.share.copy()
        clipped = np.clip(np.where(np.isfinite(d), d, 0.0), self.lower, self.upper)
        # The projection in the norm of F: the maximizer at the derivatives of F at the clipped weights.
        return renormalize_in_box(self.solve_simplex_multiplier(self.derivatives(clipped))[1], self.lower, self.upper)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        squares = cp.sum(cp.multiply(0.5 / self.sensitivities, cp.square(d - self.share)))
        return squares, [cp.sum(d) == 1, d >= self.lower, d <= self.upper]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        beta = cp.Variable(name="beta")
        # Half of the Huber function with threshold 2: a square inside the box, and linear beyond.
        return self.share @ z + 0.5 * (self.sensitivities @ cp.huber(z - beta, int(MAX_DISTANCE_FROM_MEAN))), []

    def _box_multipliers(self, y: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        return np.maximum(y - MAX_DISTANCE_FROM_MEAN, 0.0), np.maximum(-y - MAX_DISTANCE_FROM_MEAN, 0.0)
