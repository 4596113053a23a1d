"""The common value of two edges that must be equal, as in the corrective programs of the literature.

The edges e = (v . d, u . d) are the edges of the convex combination so far and of the new hypothesis. G(e) = e_u +
I[e_u = e_v] with G*(w) = I[w_v + w_u = 1], where the weights may have any sign [Glocer 2009, (4.6), (4.12)].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import HypothesisVector
from boostopt._utils.cvxpy_tools import cp
from boostopt.functions.edge_functions.base import (
    Active,
    EdgeFunction,
    Epigraph,
    Polyhedron,
    SupportFunction,
    clip_to_finite,
    nonnegative_residuals,
)
from boostopt.functions.edge_functions.largest_edge import MaximumEdge

EDGE_DIFFERENCE = np.array([-1.0, 1.0])
"""The coefficients of the constraint e_u - e_v = 0."""


@dataclass(frozen=True)
class TiedEdges(SupportFunction):
    """The common value of two equal edges; t must be 2."""

    kind: ClassVar[str] = "tied"

    @property
    def largest_edge(self) -> EdgeFunction | None:
        return MaximumEdge()

    def value(self, e: HypothesisVector) -> float:
        return float(e[1])

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        return np.array([0.5, 0.5])

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        w_u = float(clip_to_finite(w)[1])
        return np.array([1.0 - w_u, w_u])

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            return nonnegative_residuals(w, {"sum w = 1": abs(float(w.sum()) - 1.0)})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        return np.zeros(2)

    def multipliers(self, e: HypothesisVector) -> dict[str, float]:
        return {"gamma": float(e[1])}

    def active(self, e: HypothesisVector, tol: float) -> Active:
        return Active(np.eye(2), True, 1.0, False, np.zeros(2))

    def domain(self, t: int) -> Polyhedron | None:
        return Polyhedron(EDGE_DIFFERENCE[np.newaxis], np.zeros(1), np.zeros(1))

    def candidate_rays(self, w: HypothesisVector) -> Sequence[HypothesisVector]:
        return [EDGE_DIFFERENCE, -EDGE_DIFFERENCE]

    def support(self, ray: HypothesisVector) -> float:
        return 0.0

    def epigraph(self, t: int) -> Epigraph | None:
        return Epigraph.from_rows(
            t, np.zeros(1), EDGE_DIFFERENCE[np.newaxis], equality=True, slope=np.array([0.0, 1.0])
        )

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return e[1], [e[1] == e[0]]

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        return cp.Constant(0.0), [cp.sum(w) == 1]
