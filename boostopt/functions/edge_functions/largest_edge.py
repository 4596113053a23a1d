"""The largest edge, with or without a sign: hypothesis weights in the simplex or in the ball of the 1-norm.

G(e) = max_q e_q with G*(w) = I[w in the simplex] [Glocer 2009, (2.1)], and G(e) = max_q |e_q| with
G*(w) = I[||w||_1 <= 1], the same for a class closed under negation [Shalev-Shwartz and Singer 2008, (2), (3)].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import HypothesisVector
from boostopt._utils.cvxpy_tools import cp
from boostopt.functions.edge_functions.base import Active, Epigraph, SupportFunction, nonnegative_residuals


@dataclass(frozen=True)
class MaximumEdge(SupportFunction):
    """The largest edge; its conjugate is the indicator of the simplex."""

    kind: ClassVar[str] = "maximum"
    is_largest_edge: ClassVar[bool] = True

    def value(self, e: HypothesisVector) -> float:
        return float(e.max())

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        w = np.zeros(len(e))
        w[np.argmax(e)] = 1.0
        return w

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        w = np.where(np.isfinite(w), w, 0.0).clip(min=0.0)
        largest = w.max()
        if largest == 0.0:
            return None
        w = w / largest  # the sum of huge or tiny weights must neither overflow nor underflow
        return w / w.sum()

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            return nonnegative_residuals(w, {"w >= 0": float(-w.min()), "sum w = 1": abs(float(w.sum()) - 1.0)})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        return w * (e.max() - e)

    def multipliers(self, e: HypothesisVector) -> dict[str, float]:
        return {"gamma": float(e.max())}

    def active(self, e: HypothesisVector, tol: float) -> Active:
        return Active(np.eye(len(e))[:, e >= e.max() - tol], False, 1.0, False, np.zeros(len(e)))

    def epigraph(self, t: int) -> Epigraph | None:
        return Epigraph.from_rows(t, np.zeros(t), largest=True)

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return cp.max(e), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        return cp.Constant(0.0), [w >= 0, cp.sum(w) == 1]


@dataclass(frozen=True)
class AbsoluteEdge(SupportFunction):
    """The largest absolute edge; its conjugate is the indicator of the ball of the 1-norm."""

    is_symmetric = True
    kind: ClassVar[str] = "absolute"
    is_largest_edge: ClassVar[bool] = True

    def value(self, e: HypothesisVector) -> float:
        return float(np.abs(e).max())

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        w, q = np.zeros(len(e)), int(np.argmax(np.abs(e)))
        w[q] = np.sign(e[q])
        return w

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        w = np.where(np.isfinite(w), w, 0.0)
        largest = float(np.abs(w).max())
        if largest <= 1.0 and float(np.abs(w).sum()) <= 1.0:
            return w
        w = w / max(largest, 1.0)
        # The sum is 1 minus a rounding allowance, so that the rounded weights lie within the ball.
        return w * ((1.0 - len(w) * float(np.finfo(np.float64).eps)) / float(np.abs(w).sum()))

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            return nonnegative_residuals(w, {"sum |w| <= 1": float(np.abs(w).sum()) - 1.0})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        largest = self.value(e)
        short = max(1.0 - float(np.abs(w).sum()), 0.0) * largest
        return np.abs(w) * (largest - np.sign(w) * e) + short / len(w)

    def multipliers(self, e: HypothesisVector) -> dict[str, float]:
        return {"gamma": self.value(e)}

    def active(self, e: HypothesisVector, tol: float) -> Active:
        largest, offset = self.value(e), np.zeros(len(e))
        directions = np.concatenate([np.eye(len(e))[:, e >= largest - tol], -np.eye(len(e))[:, -e >= largest - tol]], 1)
        return Active(directions, False, 1.0, largest <= tol, offset)

    def epigraph(self, t: int) -> Epigraph | None:
        # The rows e_q and -e_q of each edge follow one another, so that the rows of further edges come last.
        return Epigraph.from_rows(t, np.zeros(2 * t), np.kron(np.eye(t), [[1.0], [-1.0]]), largest=True)

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return cp.norm_inf(e), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        return cp.Constant(0.0), [cp.norm1(w) <= 1]
