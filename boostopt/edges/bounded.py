"""Edges held below a bound, or at a value: indicators whose conjugates are linear in the hypothesis weights.

G(e) = I[e <= gamma], G*(w) = gamma sum w + I[w >= 0] [Glocer 2009, (3.1)], and G(e) = I[e = rho], G*(w) = <rho, w>,
the entropy projections [Kivinen and Warmuth 1999]. Programs with these can be infeasible: then some w has a soft margin
above what the bound allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.edges.base import Active, EdgeFunction, Epigraph, Polyhedron, finite, violations
from boostopt.edges.maximum import MaximumEdge
from boostopt.shapes import Array, Float


@dataclass(frozen=True)
class BoundedEdges(EdgeFunction):
    """Indicator of e <= gamma.

    Parameters
    ----------
    gamma
        The bound, a real number.
    """

    gamma: float

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    kind: ClassVar[str] = "bounded"

    @property
    def edge_bound(self) -> float | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.gamma

    @property
    def largest_edge(self) -> EdgeFunction | None:
        return MaximumEdge()

    def statement(self) -> dict[str, Any]:
        return {"kind": self.kind, "gamma": self.gamma}

    def value(self, e: Float[Array, " t"]) -> float:
        return 0.0

    def conjugate(self, w: Float[Array, " t"], near: Float[Array, " t"] | None = None) -> float:
        return self.gamma * float(w.sum())

    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        return np.zeros(len(e))

    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        return finite(w).clip(min=0.0)

    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        return violations(w, {"w >= 0": float(-w.min())})

    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        return w * np.maximum(self.gamma - e, 0.0)

    def multipliers(self, e: Float[Array, " t"]) -> dict[str, float]:
        return {"gamma": self.gamma}

    def active(self, e: Float[Array, " t"], within: float) -> Active:
        return Active(np.eye(len(e))[:, e >= self.gamma - within], False, None, False, np.zeros(len(e)))

    def magnitude(self, e: Float[Array, " t"], w: Float[Array, " t"], mass: float) -> float:
        return abs(self.gamma) * float(w.sum())

    def domain(self, t: int) -> Polyhedron | None:
        return Polyhedron(None, np.full(t, -np.inf), np.full(t, self.gamma))

    def rays(self, w: Float[Array, " t"]) -> Sequence[Float[Array, " t"]]:
        total = float(w.sum())
        return [w / total] if total > 0 else []

    def support(self, ray: Float[Array, " t"]) -> float:
        return self.gamma * float(ray.sum())

    def epigraph(self, t: int) -> Epigraph | None:
        return Epigraph.of_rows(t, np.full(t, self.gamma))

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        return cp.Constant(0.0), [e <= self.gamma]

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        return self.gamma * cp.sum(w), [w >= 0]


@dataclass(frozen=True)
class FixedEdges(EdgeFunction):
    """Indicator of e = rho, the same value for every edge.

    Parameters
    ----------
    rho
        The value, a real number.
    """

    rho: float

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    kind: ClassVar[str] = "fixed"

    @property
    def largest_edge(self) -> EdgeFunction | None:
        return MaximumEdge()

    def statement(self) -> dict[str, Any]:
        return {"kind": self.kind, "rho": self.rho}

    def value(self, e: Float[Array, " t"]) -> float:
        return 0.0

    def conjugate(self, w: Float[Array, " t"], near: Float[Array, " t"] | None = None) -> float:
        return self.rho * float(w.sum())

    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        return np.zeros(len(e))

    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        return finite(w)

    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        return violations(w, {"w finite": 0.0})

    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        return np.zeros(len(w))

    def multipliers(self, e: Float[Array, " t"]) -> dict[str, float]:
        return {"rho": self.rho}

    def active(self, e: Float[Array, " t"], within: float) -> Active:
        return Active(np.eye(len(e)), True, None, False, np.zeros(len(e)))

    def magnitude(self, e: Float[Array, " t"], w: Float[Array, " t"], mass: float) -> float:
        return abs(self.rho) * float(np.abs(w).sum())

    def domain(self, t: int) -> Polyhedron | None:
        return Polyhedron(None, np.full(t, self.rho), np.full(t, self.rho))

    def rays(self, w: Float[Array, " t"]) -> Sequence[Float[Array, " t"]]:
        if len(w) == 1:
            return [np.array([1.0]), np.array([-1.0])]
        total = float(np.abs(w).sum())
        return [w / total] if total > 0 else []

    def support(self, ray: Float[Array, " t"]) -> float:
        return self.rho * float(ray.sum())

    def epigraph(self, t: int) -> Epigraph | None:
        return Epigraph.of_rows(t, np.full(t, self.rho), equality=True)

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        return cp.Constant(0.0), [e == self.rho]

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        return self.rho * cp.sum(w), []
