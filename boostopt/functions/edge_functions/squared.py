"""A quarter of the squared edges, or of their squared positive parts: hypothesis weights with a quadratic penalty.

G(e) = (1/4) ||[e]_+||^2 with G*(w) = ||w||^2 + I[w >= 0] [Raetsch, Onoda, Mueller 2001, figure 14], and
G(e) = (1/4) ||e||^2 with G*(w) = ||w||^2, as in the support vector machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.functions.edge_functions.base import EdgeFunction, Epigraph, clip_to_finite, nonnegative_residuals


@dataclass(frozen=True)
class SquaredEdges(EdgeFunction):
    """A quarter of the sum of the squares of the edges."""

    cones = frozenset({"linear", "quadratic"})
    is_symmetric = True
    kind: ClassVar[str] = "squared"

    def value(self, e: Float[Array, " t"]) -> float:
        return 0.25 * float((e**2).sum())

    def conjugate(self, w: Float[Array, " t"], near: Float[Array, " t"] | None = None) -> float:
        return float((w**2).sum())

    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        return 0.5 * e

    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        return clip_to_finite(w)

    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        return nonnegative_residuals(w, {"w finite": 0.0})

    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        return (0.5 * e - w) ** 2

    def magnitude(self, e: Float[Array, " t"], w: Float[Array, " t"], mass: float) -> float:
        return float((0.25 * e**2 + w**2 + 0.5 * mass * np.abs(e)).sum())

    def epigraph(self, t: int) -> Epigraph | None:
        return _squared_epigraph(t, equality=True)

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return 0.25 * cp.sum_squares(e), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        return cp.sum_squares(w), []


@dataclass(frozen=True)
class SquaredPositiveEdges(SquaredEdges):
    """A quarter of the sum of the squares of the positive edges."""

    is_symmetric = False
    kind: ClassVar[str] = "squared positive"

    def value(self, e: Float[Array, " t"]) -> float:
        return super().value(np.maximum(e, 0.0))

    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        return super().subgradient(np.maximum(e, 0.0))

    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        return clip_to_finite(w).clip(min=0.0)

    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        return nonnegative_residuals(w, {"w >= 0": float(-w.min())})

    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        return super().gaps(np.maximum(e, 0.0), w) + w * np.maximum(-e, 0.0)

    def epigraph(self, t: int) -> Epigraph | None:
        return _squared_epigraph(t, equality=False)

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return super().cvxpy_value(cp.pos(e))

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        value, _ = super().cvxpy_conjugate(w)
        return value, [w >= 0]


def _squared_epigraph(t: int, equality: bool) -> Epigraph:
    """Return the epigraph with the rows e - p = 0 or e - p <= 0 and the cost ||p||^2 / 4."""
    zeros = np.zeros(t)
    return Epigraph(None, -np.eye(t), zeros, np.full(t, equality), zeros, 0.5 * np.eye(t), zeros)
