"""An intercept: a first hypothesis with a weight of any sign and without cost, whose edge must be 0.

G(e) = g(e_2, ..., e_t) + I[e_1 = 0] with G*(w) = g*(w_2, ..., w_t). This is one equation on the example weights,
sum_n u_n d_n = 0, where u are the margins of the first hypothesis. With u = y, its weight is the bias of a support
vector machine [Cortes and Vapnik 1995] and the intercept of a logistic regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float, HypothesisVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_instance
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.edge_functions.base import (
    Active,
    EdgeFunction,
    Epigraph,
    Polyhedron,
    clip_to_finite,
    nonnegative_residuals,
)


@dataclass(frozen=True)
class InterceptEdges(EdgeFunction):
    """An edge function of all edges except the first, which must be 0.

    Parameters
    ----------
    base
        The edge function of the other hypotheses. It must be finite everywhere, or an indicator of single edges.
    """

    base: EdgeFunction

    def __post_init__(self) -> None:
        check_instance(
            "base", self.base, EdgeFunction, "an edge function", "Make one, such as MaximumEdge().", ProblemError
        )

    def _required_cones(self) -> frozenset[str]:
        return self.base.cones | {"linear"}

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    @computed_attribute
    def has_closed_form_conjugate(self) -> bool:
        return self.base.has_closed_form_conjugate

    @property
    def is_coupled(self) -> bool:
        return self.base.is_coupled

    def value(self, e: HypothesisVector) -> float:
        return self.base.value(e[1:]) if len(e) > 1 else 0.0

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        return self.base.conjugate(w[1:], None if start is None else start[1:]) if len(w) > 1 else 0.0

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        return self._prepend(0.0, self.base.subgradient(e[1:]) if len(e) > 1 else e[1:])

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        w = clip_to_finite(w)
        base_weights = self.base.project(w[1:]) if len(w) > 1 else w[1:]
        return None if base_weights is None else self._prepend(float(w[0]), base_weights)

    def project_for_edges(self, w: HypothesisVector, e: HypothesisVector) -> HypothesisVector | None:
        w = clip_to_finite(w)
        base_weights = self.base.project_for_edges(w[1:], e[1:]) if len(w) > 1 else w[1:]
        return None if base_weights is None else self._prepend(float(w[0]), base_weights)

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        base_residuals = self.base.residuals(w[1:]) if len(w) > 1 else {}
        return {**nonnegative_residuals(w, {"w finite": 0.0}), **base_residuals}

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        return self._prepend(0.0, self.base.gaps(e[1:], w[1:]) if len(e) > 1 else e[1:])

    def increase_bound(self, e: HypothesisVector, edge_changes: HypothesisVector) -> float:
        return self.base.increase_bound(e[1:], edge_changes[1:]) if len(e) > 1 else 0.0

    def describe_kinks(self, e: HypothesisVector) -> Sequence[str]:
        return (
            [f"e_{int(name.removeprefix('e_')) + 1}" for name in self.base.describe_kinks(e[1:])] if len(e) > 1 else []
        )

    def multipliers(self, e: HypothesisVector) -> dict[str, float]:
        return self.base.multipliers(e[1:]) if len(e) > 1 else {}

    def active(self, e: HypothesisVector, tol: float) -> Active:
        if len(e) == 1:
            return Active(np.eye(1), True, None, False, np.zeros(1))
        base_active = self.base.active(e[1:], tol)
        if base_active.total is not None:
            return super().active(e, tol)  # the total of the other weights is not a total over all directions
        t = len(e)
        directions = np.zeros((t, base_active.directions.shape[1] + (1 if base_active.signed else 2)))
        directions[0, 0] = 1.0
        if not base_active.signed:
            directions[0, 1] = -1.0
        directions[1:, directions.shape[1] - base_active.directions.shape[1] :] = base_active.directions
        return replace(base_active, directions=directions, offset=self._prepend(0.0, base_active.offset))

    def magnitude(self, e: HypothesisVector, w: HypothesisVector, mass: float) -> float:
        return self.base.magnitude(e[1:], w[1:], mass) if len(e) > 1 else 0.0

    def value_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        return self.base.value_slack(e[1:], w[1:], mass, unit) if len(e) > 1 else 0.0

    def conjugate_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        return self.base.conjugate_slack(e[1:], w[1:], mass, unit) if len(e) > 1 else 0.0

    def domain(self, t: int) -> Polyhedron | None:
        base_domain = self.base.domain(t - 1) if t > 1 else None
        low, high = np.full(t, -np.inf), np.full(t, np.inf)
        low[0] = high[0] = 0.0
        if base_domain is not None:
            low[1:], high[1:] = base_domain.low, base_domain.high
        return Polyhedron(None, low, high)

    def candidate_rays(self, w: HypothesisVector) -> Sequence[HypothesisVector]:
        intercept_ray = self._prepend(1.0, np.zeros(len(w) - 1))
        rays = [intercept_ray, -intercept_ray]
        if len(w) > 1 and len(self.base.candidate_rays(w[1:])) > 0 and (total := float(np.abs(w[1:]).sum())) > 0:
            rays.append(w / total)
        return rays

    def support(self, ray: HypothesisVector) -> float:
        return self.base.support(ray[1:]) if ray[1:].any() else 0.0

    def epigraph(self, t: int) -> Epigraph | None:
        base_epigraph = self.base.epigraph(t - 1) if t > 1 else Epigraph.from_rows(0, np.zeros(0), np.zeros((0, 0)))
        if base_epigraph is None:
            return None
        rows = np.eye(t - 1) if base_epigraph.A is None else base_epigraph.A
        k = len(base_epigraph.b)
        A = np.zeros((k + 1, t))
        A[0, 0], A[1:, 1:] = 1.0, rows
        return Epigraph(
            A,
            np.concatenate([np.zeros((1, base_epigraph.B.shape[1])), base_epigraph.B]),
            np.append(0.0, base_epigraph.b),
            np.append(True, base_epigraph.equality),
            base_epigraph.g,
            base_epigraph.Q,
            self._prepend(0.0, base_epigraph.slope),
        )

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        value, constraints = self.base.cvxpy_value(e[1:]) if e.size > 1 else (cp.Constant(0.0), [])
        return value, [e[0] == 0, *constraints]

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        return self.base.cvxpy_conjugate(w[1:]) if w.size > 1 else (cp.Constant(0.0), [])

    def _prepend(self, first: float, rest: Float[Array, " k"]) -> HypothesisVector:
        return np.concatenate([[first], rest])
