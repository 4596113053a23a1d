"""Arguments for checks of F and G: random points inside and outside their domains, drawn once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector
from boostopt.checks.references.cvxpy_references import SupremumProblem, evaluate_exact_model
from boostopt.checks.references.measurements import (
    FEASIBILITY_TOLERANCE,
    call_component,
    largest_residual,
    relative_scale,
    require_instance,
    require_number,
    require_vector,
)
from boostopt.functions.edge_functions.base import EdgeFunction, Polyhedron
from boostopt.functions.formulas.formula_validation import INTERIOR_CONE
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer

LARGE_ARGUMENT = 1e6
"""Size of arguments of F* for which all values must still be finite."""

EDGE_BOX_RADIUS = 100.0
"""Half width of the box of edges that stands for all of R^t: no edge of weights on the simplex exceeds 1."""


N_SOLVES = 5
"""Number of arguments of each kind for which a solver is called."""

N_MOVES = 3
"""Number of points with a step out of the domain; twice as many steps stay inside."""


class ComponentProbe:
    """A function F or G of n arguments, with the points at which it is evaluated, drawn once."""

    n: int
    solves: int

    def __init__(self, piece: Regularizer | EdgeFunction, n: int, random_state: int, solves: int) -> None:
        self.component: Any = piece
        self.n, self.solves = n, solves
        self._seed = random_state

    def rng(self, stream: int) -> np.random.Generator:
        """Return a separate generator for each use, so that no check depends on the checks before it."""
        return np.random.default_rng([self._seed, stream])

    @cached_property
    def has_cvxpy_expression(self) -> bool:
        """True if CVXPY has an expression of the function: some formulas have none."""
        return call_component(lambda: INTERIOR_CONE not in self.component.cones)

    def model(self, x: Any) -> tuple[Any, list[Any]]:
        """Return the CVXPY expression of the function; without one, 0 on its domain."""
        return self.component.cvxpy_value(x) if self.has_cvxpy_expression else (0.0, self.limits(x))

    def limits(self, x: Any) -> list[Any]:
        """Return the constraints of the domain of a function without a CVXPY expression."""
        return []

    def value(self, x: Float[Array, " n"]) -> float:
        """Return F(d) or G(e)."""
        return require_number(call_component(self.component.value, x), "value")


class RegularizerProbe(ComponentProbe):
    """A regularizer with the points at which it is evaluated."""

    def __init__(self, F: Regularizer, random_state: int, solves: int) -> None:
        super().__init__(F, F.N, random_state, solves)
        self.F = F

    def probe_of(self, F: Regularizer) -> RegularizerProbe:
        """Return a probe of another regularizer, with the same seed and number of solves."""
        return RegularizerProbe(F, self._seed, self.solves)

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        """Return F* at z."""
        point = (
            call_component(self.F.conjugate_at, z) if start is None else call_component(self.F.conjugate_at, z, start)
        )
        require_instance(point, ConjugatePoint, "conjugate_at")
        require_number(point.value, "conjugate_at")
        require_vector(point.d, self.F.N, "conjugate_at")
        return point

    def project(self, q: ExampleVector | None) -> ExampleVector:
        """Return the point of the domain to which F maps q."""
        return require_vector(call_component(self.F.project, q), self.F.N, "project")

    def domain_violation(self, d: ExampleVector) -> float:
        """Return the violation of the domain by d, from F's own residuals; inf if d is not finite."""
        return largest_residual(call_component(self.F.residuals, d), "residuals") if np.isfinite(d).all() else np.inf

    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        """Return the terms of F(d) + F*(z) - <d, z>."""
        return require_vector(call_component(self.F.gaps, d, z, point), self.F.N, "gaps")

    @property
    def weight_scale(self) -> ExampleVector:
        """Natural sizes of the weights."""
        return require_vector(call_component(lambda: self.F.weight_scale), self.F.N, "weight_scale")

    @cached_property
    def size(self) -> float:
        """Natural size of the weights, for draws where no simplex sets it."""
        return float(np.abs(self.weight_scale).sum())

    @cached_property
    def invalid_weights(self) -> list[ExampleVector]:
        """Weights that a failed solver may leave: not finite, zero, negative, huge, tiny, concentrated."""
        N, rng = self.F.N, self.rng(0)
        mixed = rng.normal(size=N)
        mixed[0], mixed[-1] = np.nan, np.inf
        return [
            *(np.full(N, x) for x in (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, 1e-300)),
            np.eye(N)[0],
            np.eye(N)[-1] * 1e6,
            mixed,
            rng.normal(size=N),
            self.size * rng.dirichlet(np.full(N, 0.3)),
        ]

    @cached_property
    def weights(self) -> list[ExampleVector]:
        """Points of the domain, inside and on its boundary."""
        N, rng, scale = self.F.N, self.rng(1), self.weight_scale
        raw = [
            None,
            *(scale * rng.exponential(size=N) for _ in range(2)),
            scale * rng.exponential(size=N) ** 4,
            *(self.size * rng.exponential(size=N) * (rng.random(N) < 0.4) for _ in range(2)),
            self.size * np.eye(N)[rng.integers(N)],
        ]
        return [self.project(q) for q in raw]

    @cached_property
    def perturbed_points(self) -> list[ExampleVector]:
        """Points of the domain after steps that leave the domain, most of them by one constraint alone."""
        N, rng, points = self.F.N, self.rng(3), list[ExampleVector]()
        for d in self.weights[:N_MOVES]:
            unit, other_unit = np.eye(N)[rng.permutation(N)[:2]]
            points += [2.0 * d + self.size, d - self.size, d + self.size * rng.normal(size=N)]
            points += [0.5 * d, d.sum() * unit, d + d.sum() * (unit - other_unit)]
            step = d @ unit + 0.1 * self.size / N  # one weight becomes negative, and the sum stays
            points.append(d - step * unit + step * (1.0 - unit) / max(N - 1, 1))
        return points

    @cached_property
    def directions(self) -> list[ExampleVector]:
        """Arguments of F*: as large as margins, smaller, larger, with ties."""
        N, rng = self.F.N, self.rng(2)
        scale = require_number(call_component(lambda: self.F.objective_scale), "objective_scale")
        return [
            rng.uniform(-1, 1, N),
            rng.normal(size=N) * 3.0,
            rng.uniform(-1, 1, N) / scale,
            rng.choice([-1.0, 1.0], N),
            np.eye(N)[0],
            np.full(N, 0.3),
        ]

    @cached_property
    def conjugate_points(self) -> list[ConjugatePoint]:
        """F* at the directions."""
        return [self.conjugate_at(z) for z in self.directions]

    @cached_property
    def variable(self) -> Any:
        """A CVXPY variable for d."""
        import cvxpy as cp

        return cp.Variable(self.F.N, name="d")

    def limits(self, x: Any) -> list[Any]:
        import cvxpy as cp

        box = self.F.stationarity(self.project(None), 0.0)
        return [x >= box.lower, x <= box.upper, *([cp.sum(x) == 1.0] if self.F.on_simplex else [])]

    @cached_property
    def modelled(self) -> tuple[Any, list[Any]]:
        """The CVXPY expression of F, and its constraints."""
        return evaluate_exact_model(self.model, self.variable)

    @cached_property
    def supremum(self) -> SupremumProblem:
        """Maximizes <z, d> - F(d)."""
        return SupremumProblem(self.variable, self.modelled[0], self.modelled[1])

    @cached_property
    def largest(self) -> SupremumProblem:
        """Maximizes <z, d> over the domain."""
        return SupremumProblem(self.variable, 0.0, self.modelled[1])

    @cached_property
    def linear_maximizers(self) -> list[tuple[ExampleVector, ExampleVector, float]]:
        """(direction, vertex, maximum of <direction, d>): maximizers of linear functions over the domain."""
        extremes = list[tuple[ExampleVector, ExampleVector, float]]()
        for z in self.directions[: self.solves]:
            largest = self.largest.value(z)
            if largest is not None and np.isfinite(largest):
                extremes.append((z, self.project(self.variable.value), largest))
        return extremes


class EdgeProbe(ComponentProbe):
    """An edge function with the points at which it is evaluated."""

    t: int

    def __init__(self, G: EdgeFunction, t: int, random_state: int, solves: int) -> None:
        super().__init__(G, t, random_state, solves)
        self.G, self.t = G, t

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        """Return G*(w)."""
        return require_number(
            call_component(self.G.conjugate, w) if start is None else call_component(self.G.conjugate, w, start),
            "conjugate",
        )

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        """Return the best answer to e."""
        return require_vector(call_component(self.G.subgradient, e), self.t, "subgradient")

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        """Return the point of the domain of G* to which G maps w, None if there is none."""
        projected = call_component(self.G.project, w)
        return None if projected is None else require_vector(projected, self.t, "project")

    def domain_violation(self, w: HypothesisVector) -> float:
        """Return the violation of the domain of G* by w, from G's own residuals."""
        return largest_residual(call_component(self.G.residuals, w), "residuals")

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        """Return the terms of G(e) + G*(w) - <w, e>."""
        return require_vector(call_component(self.G.gaps, e, w), self.t, "gaps")

    @cached_property
    def domain(self) -> Polyhedron | None:
        """The domain of G; None for all of R^t."""
        allowed = call_component(self.G.domain, self.t)
        return None if allowed is None else require_instance(allowed, Polyhedron, "domain")

    @cached_property
    def raw_edges(self) -> list[HypothesisVector]:
        """Any edges: those of weights on the simplex, and larger ones if G is exact there."""
        t, rng = self.t, self.rng(0)
        size = 3.0 if self.G.has_closed_form_conjugate else 1.0
        return [
            *(rng.uniform(-1, 1, t) for _ in range(3)),
            rng.uniform(-size, size, t),
            rng.choice([-1.0, 1.0], t),
            np.full(t, 0.25),
            np.zeros(t),
        ]

    @cached_property
    def edges(self) -> list[HypothesisVector]:
        """Edges in the domain of G, some with ties and on the boundary."""
        allowed = self.domain
        if allowed is None:
            return self.raw_edges
        nearest = [_project_into_polyhedron(allowed, e) for e in self.raw_edges]
        return [
            e
            for e in nearest
            if polyhedron_violation(allowed, e) <= FEASIBILITY_TOLERANCE * relative_scale(float(np.abs(e).max()))
        ]

    @cached_property
    def raw_weights(self) -> list[HypothesisVector]:
        """Any hypothesis weights."""
        t, rng = self.t, self.rng(1)
        return [
            *(rng.exponential(size=t) for _ in range(2)),
            *(rng.normal(size=t) for _ in range(2)),
            rng.dirichlet(np.ones(t)),
            np.eye(t)[0],
            -np.eye(t)[-1],
            np.full(t, 0.2 / t),
            np.zeros(t),
        ]

    @cached_property
    def weights(self) -> list[HypothesisVector]:
        """Hypothesis weights in the domain of G*."""
        projected = [self.project(w) for w in self.raw_weights]
        best = [self.subgradient(e) for e in self.edges]
        return [*(w for w in projected if w is not None), *best]

    @cached_property
    def box(self) -> float:
        """Half width of the box of edges that stands for all of R^t; bounds may hold on [-1, 1] alone."""
        return EDGE_BOX_RADIUS if self.G.has_closed_form_conjugate else 1.0

    @cached_property
    def inner_supremum(self) -> SupremumProblem:
        """The supremum of <w, e> - G(e) over the edges in the box, with the CVXPY expression of G."""
        return self._supremum_in_box(self.box)

    @cached_property
    def outer_supremum(self) -> SupremumProblem:
        """The same supremum over a box ten times as large."""
        return self._supremum_in_box(10.0 * self.box)

    @cached_property
    def conjugates(self) -> list[float]:
        """G* at the weights."""
        return [self.conjugate(w) for w in self.weights]

    def _supremum_in_box(self, R: float) -> SupremumProblem:
        """Return the problem of the supremum of <w, e> - G(e) over the domain of G and |e| <= R."""
        import cvxpy as cp

        e = cp.Variable(self.t)
        value, constraints = evaluate_exact_model(self.model, e)
        return SupremumProblem(e, value, [*constraints, e <= R, e >= -R])


def _project_into_polyhedron(allowed: Polyhedron, e: HypothesisVector) -> HypothesisVector:
    """Return e after least-squares steps onto the constraints; one step is enough if they are independent."""
    inverse = np.linalg.pinv(allowed.rows(len(e)))
    for _ in range(50):
        image = allowed.image(e)
        e = e - inverse @ (image - np.clip(image, allowed.low, allowed.high))
    return e


def polyhedron_violation(allowed: Polyhedron, e: HypothesisVector) -> float:
    """Return the violation of a polyhedron by e."""
    image = allowed.image(e)
    return max(0.0, float(np.maximum(image - allowed.high, allowed.low - image).max()))
