"""Edge functions from a CVXPY expression.

The edges of weights on the simplex lie in [-1, 1], so that only the values of G on this box matter. For any affine
minorant <g, e> + a <= G(e),

    G*(w) = max over |e| <= 1 of <w, e> - G(e)  <=  ||w - g||_1 - a.

A tangent at e' is such a minorant. The bound is tight if w is the slope of the tangent. If G has several tangents at
e', `MinorantFamily` chooses one. The values of G and the minorants include the rounding (`minorants.expression_graph`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from boostopt._utils.array_types import HypothesisVector
from boostopt._utils.cvxpy_tools import (
    cp,
    required_cones,
    solve_approximately,
    substitute_variable,
)
from boostopt._utils.validation import check_callable
from boostopt.descriptions.description import Description, read_description
from boostopt.descriptions.partial_minimum import PartialMinimum
from boostopt.errors import ProblemError, attach_user_function
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.edge_functions.base import EdgeFunction, clip_to_finite, nonnegative_residuals
from boostopt.functions.formulas.intervals import Interval, allowance, exact_interval
from boostopt.functions.minorants.expression_graph import AffineMinorant, Graph
from boostopt.functions.minorants.expression_trees import ExpressionNode, build_tree
from boostopt.functions.minorants.families import MinorantFamily
from boostopt.functions.minorants.interval_sums import middle, size, total
from boostopt.functions.minorants.linearization import Linearization, describe_linear_form


@dataclass(frozen=True, eq=False)
class _Model:
    """G for t edges.

    Attributes
    ----------
    e, G
        The CVXPY variable, and the expression in it.
    tree, graph
        The expression as a tree of its kinks, and as a graph with bounds of the rounding.
    """

    e: Any
    G: Any
    tree: ExpressionNode
    graph: Graph


@dataclass(frozen=True, eq=False)
class CvxpyEdges(EdgeFunction):
    """A convex function of the edges, finite on [-1, 1]^t, from its CVXPY expression.

    Use it with regularizers whose weights sum to at most 1.

    Parameters
    ----------
    G
        The function that describes G. It takes an affine expression of shape (t,) and returns a convex scalar, or a
        pair (scalar, constraints) whose further variables G is the minimum over, as in `CvxpyRegularizer`.

    Raises
    ------
    ProblemError
        On first use with t edges: the expression is not a scalar, or not convex by CVXPY's rules, or has an atom whose
        rounding cannot be bounded.
    """

    G: Callable[[Any], Any]

    has_closed_form_conjugate = False

    def __post_init__(self) -> None:
        check_callable("G", self.G, "a function of the edges", ProblemError)

    _models: dict[int, _Model | PartialMinimum] = field(
        default_factory=dict[int, "_Model | PartialMinimum"], init=False, repr=False
    )

    @computed_attribute
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        if (minimum := self._minimum(2)) is not None:
            return minimum.cones
        model = self._model(2)
        return required_cones(cp.Problem(cp.Minimize(model.G), [model.e <= 1, model.e >= -1]))

    def settle(self, t: int) -> None:
        self._read_model(t)

    def description(self, t: int) -> Description:
        """Return G for t edges as an expression of the edges, with its constraints."""
        model = self._read_model(t)
        return model.description if isinstance(model, PartialMinimum) else Description(model.e, model.G, [])

    def value(self, e: HypothesisVector) -> float:
        """Return an upper bound of G(e) that includes the rounding."""
        return self._upper_bound(e, 0.0)

    def value_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        # Twice the rounding error of an edge: the other half covers the distance to an exactly feasible d.
        return allowance(self.value(e), self._upper_bound(e, 2.0 * unit * mass))

    def conjugate_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        return 0.0

    def _upper_bound(self, e: HypothesisVector, radius: float) -> float:
        """Return an upper bound of G at edges within a radius of e and in [-1, 1], which contains exact edges."""
        if (minimum := self._minimum(len(e))) is not None:
            return minimum.upper_bound(np.clip(e, -1.0, 1.0), radius)
        low, high = (e, e) if radius == 0.0 else (np.nextafter(e - radius, -2.0), np.nextafter(e + radius, 2.0))
        box = Interval(np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0))
        return float(self._model(len(e)).graph.values(box)[0].upper[0])

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        if (minimum := self._minimum(len(w))) is not None:
            maximizer = minimum.maximize(w)
            center = np.zeros(len(w)) if maximizer.x is None else np.clip(maximizer.x, -1.0, 1.0)
            return minimum.conjugate_bound(w, maximizer, center)
        return self._conjugate_bound(w, self._tightest_minorant(w, self._maximizer(w) if start is None else start))

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        if (minimum := self._minimum(len(e))) is not None:
            slopes = minimum.subgradient(np.clip(e, -1.0, 1.0))
            return np.zeros(len(e)) if slopes is None else slopes
        return middle(self._tangent(e).gradient)

    def describe_kinks(self, e: HypothesisVector) -> Sequence[str]:
        if self._minimum(len(e)) is not None:
            return []
        linearization = self._linearize(e) if self._model(len(e)).tree.has_kinks else None
        return (
            [] if linearization is None else [describe_linear_form("e", row) for row in linearization.kink_gradients()]
        )

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        return clip_to_finite(w)

    def project_for_edges(self, w: HypothesisVector, e: HypothesisVector) -> HypothesisVector | None:
        if self._minimum(len(e)) is not None:
            return clip_to_finite(w)
        # Without a closed form of G*, the bound is tight only if w is the slope of a minorant.
        return middle(self._tightest_minorant(clip_to_finite(w), e).gradient)

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        return nonnegative_residuals(w, {"w finite": 0.0})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        if self._minimum(len(e)) is not None:
            gap = max(math.fsum([self.value(e), self.conjugate(w), *(-w * e).tolist()]), 0.0)
            return np.full(len(e), gap / len(e))
        minorant = self._tightest_minorant(w, e)
        slopes = middle(minorant.gradient)
        differences, tangent_gap = w - slopes, max(self.value(e) - float(slopes @ e) - minorant.offset, 0.0)
        return np.abs(differences) - differences * e + tangent_gap / len(e)

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        if (minimum := self._minimum(e.size)) is not None:
            return minimum.description.with_argument(e)
        model = self._model(e.size)
        return substitute_variable(model.G, model.e, e), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("the conjugate of a described edge function is not known in closed form. Use the primal.")

    def _read_model(self, t: int) -> _Model | PartialMinimum:
        """Return G for t edges, read once."""
        if t not in self._models:
            e = cp.Variable(t, name="e")
            description = read_description("the edge function", self.G, e)
            G = description.expression
            if G.size != 1 or not G.is_convex():
                raise ProblemError(
                    f"an edge function must be a convex scalar expression; got shape {G.shape}, {G.curvature}: {G}. "
                    "Write it with atoms that CVXPY recognizes as convex."
                )
            self._models[t] = self._optimal_value(description, t) if description.needs_problem else _read(e, G)
        return self._models[t]

    def _optimal_value(self, description: Description, t: int) -> PartialMinimum:
        """Return G as the optimal value of a problem."""
        ends = np.ones(t)
        try:
            return PartialMinimum("the edge function", description, -ends, Interval(ends, ends), False, np.zeros(t))
        except ProblemError as error:
            raise attach_user_function(error, self.G) from None

    def _minimum(self, t: int) -> PartialMinimum | None:
        """Return G as a partial minimum over further variables; None if its expression needs none."""
        model = self._read_model(t)
        return model if isinstance(model, PartialMinimum) else None

    def _model(self, t: int) -> _Model:
        """Return G as an expression of the edges alone, where `_minimum` is None."""
        return cast(_Model, self._read_model(t))

    def _linearize(self, e: HypothesisVector) -> Linearization | None:
        model = self._model(len(e))
        model.e.value = e
        return model.tree.linearize()

    def _tangent(self, e: HypothesisVector) -> AffineMinorant:
        """Return a minorant of G that is equal to G at e, up to rounding."""
        minorant = self._model(len(e)).graph.minorant(e, [np.ones(1)])
        if minorant is None:
            raise ProblemError(
                "the edge function must have a subgradient everywhere on [-1, 1]; it has none at some e. "
                "Write it with atoms that are finite and not infinitely steep there."
            )
        return minorant

    def _tightest_minorant(self, w: HypothesisVector, e: HypothesisVector) -> AffineMinorant:
        """Return the tangent at e with the smallest conjugate bound of w, up to the accuracy of a solver."""
        tangent, model = self._tangent(e), self._model(len(e))
        if not model.tree.has_kinks or np.array_equal(middle(tangent.gradient), w):
            return tangent
        linearization = self._linearize(e)
        minorants = None if linearization is None else MinorantFamily(linearization, [])
        choices = minorants and minorants.best_multipliers(lambda g, alpha: (cp.norm1(w - g) - alpha, []))
        best = choices and model.graph.minorant(e, [np.ones(1)], choices.deltas)
        candidates = [tangent] if best is None else [tangent, best]
        return min(candidates, key=lambda minorant: self._conjugate_bound(w, minorant))

    def _conjugate_bound(self, w: HypothesisVector, minorant: AffineMinorant) -> float:
        """Return the bound ||w - g||_1 - a of G*(w), rounded up."""
        differences = exact_interval(w) + -minorant.gradient
        sizes = total(exact_interval(np.append(size(differences), -minorant.offset)))
        return float(sizes.upper)

    def _maximizer(self, w: HypothesisVector) -> HypothesisVector:
        """Return edges near a maximizer of <w, e> - G(e) over the box. Any edges give a valid bound."""
        model = self._model(len(w))
        e = model.e
        is_solved = solve_approximately(cp.Problem(cp.Maximize(w @ e - model.G), [e <= 1, e >= -1]))
        return np.clip(e.value, -1.0, 1.0) if is_solved else np.zeros(len(w))


def _read(e: Any, G: Any) -> _Model:
    """Return an expression of the edges alone as a model."""
    tree = build_tree(G, e)
    box = Interval(np.full(e.size, -1.0), np.ones(e.size))
    return _Model(e, G, tree, Graph([G], e, box, on_simplex=False))
