"""A linear function of the edges, for fixed hypothesis weights.

G(e) = slope sum_q e_q with G*(w) = I[w = slope]. This is the update of the distribution for a known step [Raetsch,
Onoda, Mueller 2001, figure 10].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import HypothesisVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import read_fields, real_parameter
from boostopt.functions.edge_functions.base import Epigraph, SupportFunction, nonnegative_residuals


@dataclass(frozen=True)
class LinearEdges(SupportFunction):
    """The product of slope and the sum of the edges.

    Parameters
    ----------
    slope
        The weight of every hypothesis, a real number.
    """

    slope: float

    kind: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        read_fields(self, slope=real_parameter)

    def statement(self) -> dict[str, Any]:
        return {"kind": self.kind, "slope": self.slope}

    def value(self, e: HypothesisVector) -> float:
        return self.slope * float(e.sum())

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        return np.full(len(e), self.slope)

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        return np.full(len(w), self.slope)

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        with np.errstate(invalid="ignore"):
            return nonnegative_residuals(w, {"w = slope": float(np.abs(w - self.slope).max())})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        return np.zeros(len(w))

    def magnitude(self, e: HypothesisVector, w: HypothesisVector, mass: float) -> float:
        return abs(self.slope) * len(e) * mass

    def epigraph(self, t: int) -> Epigraph | None:
        return Epigraph.from_rows(t, np.zeros(0), np.zeros((0, t)), slope=np.full(t, self.slope))

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return self.slope * cp.sum(e), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        return cp.Constant(0.0), [w == self.slope]
