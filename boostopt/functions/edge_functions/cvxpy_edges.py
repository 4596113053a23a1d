"""Edge functions from a CVXPY expression.

The edges of weights on the simplex lie in [-1, 1], so G counts on that box only, and for any affine minorant
<g, e> + a <= G(e),

    G*(w) = max over |e| <= 1 of <w, e> - G(e)  <=  ||w - g||_1 - a.

A tangent at e' is such a minorant. It is tight if w is its slope. If G has a kink at e', `minorants` chooses a tangent.
Both G and its minorants count the rounding of the numbers that were used (`minorants.graph`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import (
    build_expression,
    cp,
    required_cones,
    solve_approximately,
    substitute_variable,
    with_exact_exponents,
)
from boostopt._utils.validation import check_callable
from boostopt.errors import ProblemError
from boostopt.functions.edge_functions.base import EdgeFunction, clip_to_finite, nonnegative_residuals
from boostopt.functions.formulas.intervals import Interval, allowance, exact_interval
from boostopt.functions.minorants.expression_graph import AffineMinorant, Graph
from boostopt.functions.minorants.expression_trees import ExpressionNode, build_tree
from boostopt.functions.minorants.families import MinorantFamily
from boostopt.functions.minorants.interval_sums import middle, size, total
from boostopt.functions.minorants.linearization import Linearization, describe_linear_form


@dataclass(frozen=True, eq=False)
class _Model:
    """G of t edges as CVXPY has it, with its trees."""

    e: Any
    G: Any
    tree: ExpressionNode
    graph: Graph


@dataclass(frozen=True, eq=False)
class DescribedEdges(EdgeFunction):
    """A convex function of the edges, finite on [-1, 1]^t, from its CVXPY expression.

    Use it with regularizers whose weights sum to at most 1.

    Parameters
    ----------
    G
        The function that makes the CVXPY expression. It takes an affine expression of shape (t,) and returns a convex
        scalar.

    Raises
    ------
    ProblemError
        On first use with t edges: the expression is not a scalar, or not convex by CVXPY's rules, or has an atom whose
        rounding cannot be bounded.
    """

    G: Callable[[Any], Any]

    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_callable("G", self.G, "a function of the edges", ProblemError)

    _models: dict[int, _Model] = field(default_factory=dict[int, "_Model"], init=False, repr=False)

    @cached_property
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        model = self._model(2)
        return required_cones(cp.Problem(cp.Minimize(model.G), [model.e <= 1, model.e >= -1]))

    def settle(self, t: int) -> None:
        self._model(t)

    def value(self, e: Float[Array, " t"]) -> float:
        """Return a number that G does not exceed at e."""
        return self._largest(e, 0.0)

    def value_slack(self, e: Float[Array, " t"], w: Float[Array, " t"], mass: float, unit: float) -> float:
        # Twice what a sum of terms of that mass loses: the rest is the way to an exactly feasible d.
        return allowance(self.value(e), self._largest(e, 2.0 * unit * mass))

    def conjugate_slack(self, e: Float[Array, " t"], w: Float[Array, " t"], mass: float, unit: float) -> float:
        return 0.0

    def _largest(self, e: Float[Array, " t"], radius: float) -> float:
        """Return a number that G does not exceed at edges within a radius of e; no exact edge leaves [-1, 1]."""
        low, high = (e, e) if radius == 0.0 else (np.nextafter(e - radius, -2.0), np.nextafter(e + radius, 2.0))
        box = Interval(np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0))
        return float(self._model(len(e)).graph.values(box)[0].upper[0])

    def conjugate(self, w: Float[Array, " t"], near: Float[Array, " t"] | None = None) -> float:
        return self._conjugate_bound(w, self._tightest_minorant(w, self._maximizer(w) if near is None else near))

    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        return middle(self._tangent(e).gradient)

    def kinks(self, e: Float[Array, " t"]) -> Sequence[str]:
        linearized = self._linearized_at(e) if self._model(len(e)).tree.has_kinks else None
        return [] if linearized is None else [describe_linear_form("e", row) for row in linearized.kink_gradients()]

    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        return clip_to_finite(w)

    def near(self, w: Float[Array, " t"], e: Float[Array, " t"]) -> Float[Array, " t"] | None:
        # Without G* in closed form the only w whose bound is tight is the slope of a minorant.
        return middle(self._tightest_minorant(clip_to_finite(w), e).gradient)

    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        return nonnegative_residuals(w, {"w finite": 0.0})

    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        minorant = self._tightest_minorant(w, e)
        slopes = middle(minorant.gradient)
        off, below = w - slopes, max(self.value(e) - float(slopes @ e) - minorant.offset, 0.0)
        return np.abs(off) - off * e + below / len(e)

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        model = self._model(e.size)
        return substitute_variable(model.G, model.e, e), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("the conjugate of a described edge function is not known in closed form. Use the primal.")

    def _model(self, t: int) -> _Model:
        if t not in self._models:
            e = cp.Variable(t, name="e")
            G = with_exact_exponents(build_expression("the edge function", self.G, e))
            if G.size != 1 or not G.is_convex():
                raise ProblemError(
                    f"an edge function must be a convex scalar expression; got shape {G.shape}, {G.curvature}: {G}. "
                    "Write it with atoms that CVXPY recognizes as convex."
                )
            tree = build_tree(G, e)
            box = Interval(np.full(t, -1.0), np.ones(t))
            self._models[t] = _Model(e, G, tree, Graph([G], e, box, on_simplex=False))
        return self._models[t]

    def _linearized_at(self, e: Float[Array, " t"]) -> Linearization | None:
        model = self._model(len(e))
        model.e.value = e
        return model.tree.linearize()

    def _tangent(self, e: Float[Array, " t"]) -> AffineMinorant:
        """Return a minorant of G that touches it at some edges."""
        minorant = self._model(len(e)).graph.minorant(e, [np.ones(1)])
        if minorant is None:
            raise ProblemError(
                "the edge function must have a subgradient everywhere on [-1, 1]; it has none at some e. "
                "Write it with atoms that are finite and not infinitely steep there."
            )
        return minorant

    def _tightest_minorant(self, w: Float[Array, " t"], e: Float[Array, " t"]) -> AffineMinorant:
        """Return the minorant that e leaves by which the bound of G*(w) is smallest, as far as a solver finds it."""
        tangent, model = self._tangent(e), self._model(len(e))
        if not model.tree.has_kinks or np.array_equal(middle(tangent.gradient), w):
            return tangent
        linearized = self._linearized_at(e)
        minorants = None if linearized is None else MinorantFamily(linearized, [])
        choices = minorants and minorants.best_multipliers(lambda g, alpha: (cp.norm1(w - g) - alpha, []))
        chosen = choices and model.graph.minorant(e, [np.ones(1)], choices.deltas)
        found = [tangent] if chosen is None else [tangent, chosen]
        return min(found, key=lambda minorant: self._conjugate_bound(w, minorant))

    def _conjugate_bound(self, w: Float[Array, " t"], minorant: AffineMinorant) -> float:
        off = exact_interval(w) + -minorant.gradient
        sizes = total(exact_interval(np.append(size(off), -minorant.offset)))
        return float(sizes.upper)

    def _maximizer(self, w: Float[Array, " t"]) -> Float[Array, " t"]:
        """Return edges near argmax <w, e> - G(e) over the box; any edges give a bound."""
        model = self._model(len(w))
        e = model.e
        found = solve_approximately(cp.Problem(cp.Maximize(w @ e - model.G), [e <= 1, e >= -1]))
        return np.clip(e.value, -1.0, 1.0) if found else np.zeros(len(w))
