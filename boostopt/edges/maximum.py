"""The maximum edge: G(e) = max_q e_q, G*(w) = I[w in the simplex] [Glocer 2009, (2.1)]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.edges.base import EdgeFunction
from boostopt.shapes import Array, Float


@dataclass(frozen=True)
class MaximumEdge(EdgeFunction):
    """The largest edge; its conjugate holds w to the simplex."""

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})

    def value(self, e: Float[Array, " t"]) -> float:
        return float(e.max())

    def conjugate(self, w: Float[Array, " t"]) -> float:
        return 0.0

    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        w = np.zeros(len(e))
        w[np.argmax(e)] = 1.0
        return w

    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        w = np.where(np.isfinite(w), w, 0.0).clip(min=0.0)
        largest = w.max()
        if largest == 0.0:
            return None
        w = w / largest  # the sum of huge or tiny weights must neither overflow nor lose them
        return w / w.sum()

    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        if not np.isfinite(w).all():
            return {"w >= 0": np.inf, "sum w = 1": np.inf}
        with np.errstate(over="ignore"):
            return {"w >= 0": max(0.0, float(-w.min())), "sum w = 1": abs(float(w.sum()) - 1.0)}

    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        return w * (e.max() - e)

    def multipliers(self, e: Float[Array, " t"]) -> dict[str, float]:
        return {"gamma": float(e.max())}

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        return cp.max(e), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        return cp.Constant(0.0), [w >= 0, cp.sum(w) == 1]
