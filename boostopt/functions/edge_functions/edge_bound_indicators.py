"""Indicators of edges below a bound or equal to a value; their conjugates are linear in the hypothesis weights.

G(e) = I[e <= gamma], G*(w) = gamma sum w + I[w >= 0] [Glocer 2009, (3.1)], and G(e) = I[e = rho], G*(w) = <rho, w>,
the entropy projections [Kivinen and Warmuth 1999]. Programs with these edge functions can be infeasible. Then some w
has a soft margin above the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import HypothesisVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import read_fields, real_parameter
from boostopt.functions.edge_functions.base import (
    Active,
    EdgeFunction,
    Epigraph,
    Polyhedron,
    clip_to_finite,
    nonnegative_residuals,
)
from boostopt.functions.edge_functions.largest_edge import MaximumEdge


class _LevelIndicator(EdgeFunction):
    """Indicator of edges at or below one level. G* is the level times the sum of w."""

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    level_field: ClassVar[str]
    """Name of the field that contains the level."""

    @property
    def level(self) -> float:
        """The bound, or the value, of every edge."""
        return getattr(self, self.level_field)

    @property
    def largest_edge(self) -> EdgeFunction | None:
        return MaximumEdge()

    def statement(self) -> dict[str, Any]:
        return {"kind": self.kind, self.level_field: self.level}

    def value(self, e: HypothesisVector) -> float:
        return 0.0

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        return self.level * float(w.sum())

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        return np.zeros(len(e))

    def multipliers(self, e: HypothesisVector) -> dict[str, float]:
        return {self.level_field: self.level}

    def magnitude(self, e: HypothesisVector, w: HypothesisVector, mass: float) -> float:
        return abs(self.level) * float(np.abs(w).sum())

    def candidate_rays(self, w: HypothesisVector) -> Sequence[HypothesisVector]:
        total = float(np.abs(w).sum())
        return [w / total] if total > 0 else []

    def support(self, ray: HypothesisVector) -> float:
        return self.level * float(ray.sum())


@dataclass(frozen=True)
class BoundedEdges(_LevelIndicator):
    """The indicator of e <= gamma.

    Parameters
    ----------
    gamma
        The bound, a real number.
    """

    gamma: float

    level_field: ClassVar[str] = "gamma"
    kind: ClassVar[str] = "bounded"

    def __post_init__(self) -> None:
        read_fields(self, gamma=real_parameter)

    @property
    def edge_bound(self) -> float | None:
        return self.gamma

    @property
    def zero_cost_edge(self) -> float | None:
        return self.gamma

    def added_hypothesis_cost(self, current_value: float, edge: float) -> float:
        return 0.0 if edge <= self.gamma else np.inf

    def class_bound(self, largest: float) -> float:
        return 0.0 if largest <= self.gamma else np.inf

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        return clip_to_finite(w).clip(min=0.0)

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        return nonnegative_residuals(w, {"w >= 0": float(-w.min())})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        return w * np.maximum(self.gamma - e, 0.0)

    def active(self, e: HypothesisVector, tol: float) -> Active:
        return Active(np.eye(len(e))[:, e >= self.gamma - tol], False, None, False, np.zeros(len(e)))

    def domain(self, t: int) -> Polyhedron | None:
        return Polyhedron(None, np.full(t, -np.inf), np.full(t, self.gamma))

    def epigraph(self, t: int) -> Epigraph | None:
        return Epigraph.from_rows(t, np.full(t, self.gamma))

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return cp.Constant(0.0), [e <= self.gamma]

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        return self.gamma * cp.sum(w), [w >= 0]


@dataclass(frozen=True)
class FixedEdges(_LevelIndicator):
    """The indicator of e = rho, the same value for every edge.

    Parameters
    ----------
    rho
        The value, a real number.
    """

    rho: float

    level_field: ClassVar[str] = "rho"
    kind: ClassVar[str] = "fixed"

    def __post_init__(self) -> None:
        read_fields(self, rho=real_parameter)

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        return clip_to_finite(w)

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        return nonnegative_residuals(w, {"w finite": 0.0})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        return np.zeros(len(w))

    def active(self, e: HypothesisVector, tol: float) -> Active:
        return Active(np.eye(len(e)), True, None, False, np.zeros(len(e)))

    def domain(self, t: int) -> Polyhedron | None:
        return Polyhedron(None, np.full(t, self.rho), np.full(t, self.rho))

    def candidate_rays(self, w: HypothesisVector) -> Sequence[HypothesisVector]:
        if len(w) == 1:
            return [np.array([1.0]), np.array([-1.0])]
        return super().candidate_rays(w)

    def epigraph(self, t: int) -> Epigraph | None:
        return Epigraph.from_rows(t, np.full(t, self.rho), equality=True)

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return cp.Constant(0.0), [e == self.rho]

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        return self.rho * cp.sum(w), []
