"""Edge functions from a CVXPY expression.

The edges of weights on the simplex lie in [-1, 1], so G counts on that box only, and for any affine minorant
<g, e> + a <= G(e),

    G*(w) = max over |e| <= 1 of <w, e> - G(e)  <=  ||w - g||_1 - a.

A tangent at e' is such a minorant. It is tight if w is its slope. If G has a kink at e', `minorants` chooses a tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from boostopt.arguments import maker
from boostopt.edges.base import EdgeFunction, finite, violations
from boostopt.errors import ProblemError
from boostopt.expressions import cones_of, cp, exactly, made_of, solve_roughly, substituted
from boostopt.minorants.choosing import Minorant, Minorants, check_below
from boostopt.minorants.linearized import in_words
from boostopt.minorants.trees import Tree, tree_of
from boostopt.shapes import Array, Float


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
        On first use with t edges: the expression is not a scalar, or not convex by CVXPY's rules.
    """

    G: Callable[[Any], Any]

    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        maker("G", self.G, "a function of the edges", ProblemError)

    _models: dict[int, tuple[Any, Any, Tree]] = field(
        default_factory=dict[int, tuple[Any, Any, Tree]], init=False, repr=False
    )

    @cached_property
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        e, G, _ = self._model(2)
        return cones_of(cp.Problem(cp.Minimize(G), [e <= 1, e >= -1]))

    def settle(self, t: int) -> None:
        self._model(t)

    def value(self, e: Float[Array, " t"]) -> float:
        variable, G, _ = self._model(len(e))
        variable.value = e
        return float(G.value)

    def conjugate(self, w: Float[Array, " t"], near: Float[Array, " t"] | None = None) -> float:
        return self._bound(w, self._minorant(w, self._maximizer(w) if near is None else near))

    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        return self._minorants_at(e).subgradient.g

    def kinks(self, e: Float[Array, " t"]) -> Sequence[str]:
        return [in_words("e", row) for row in self._minorants_at(e).f.kinks()]

    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        return finite(w)

    def near(self, w: Float[Array, " t"], e: Float[Array, " t"]) -> Float[Array, " t"] | None:
        # Without G* in closed form the only w whose bound is tight is the slope of a minorant.
        return self._minorant(finite(w), e).g

    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        return violations(w, {"w finite": 0.0})

    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        minorant = self._minorant(w, e)
        off = w - minorant.g
        return np.abs(off) - off * e + minorant.below_f(e, self.value(e)) / len(e)

    def magnitude(self, e: Float[Array, " t"], w: Float[Array, " t"], mass: float) -> float:
        steepest = self._minorants_at(e).f.steepest(np.ones(1))
        return 1.0 + abs(self.value(e)) + float(np.abs(w).sum()) + mass * float(steepest.sum())

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        variable, G, _ = self._model(e.size)
        return substituted(G, variable, e), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("the conjugate of a described edge function is not known in closed form. Use the primal.")

    def _model(self, t: int) -> tuple[Any, Any, Tree]:
        """Return (e, G(e)) as CVXPY has them, and G as a tree."""
        if t not in self._models:
            e = cp.Variable(t, name="e")
            G = exactly(made_of("the edge function", self.G, e))
            if G.size != 1 or not G.is_convex():
                raise ProblemError(
                    f"an edge function must be a convex scalar expression; got shape {G.shape}, {G.curvature}: {G}. "
                    "Write it with atoms that CVXPY recognizes as convex."
                )
            self._models[t] = e, G, tree_of(G, e)
        return self._models[t]

    def _minorants_at(self, e: Float[Array, " t"]) -> Minorants:
        """Return the minorants of G that edges leave."""
        variable, G, tree = self._model(len(e))
        variable.value = e
        linearized = tree.at_values()
        if linearized is None:
            raise ProblemError(
                "the edge function must have a subgradient everywhere on [-1, 1]; CVXPY finds none at some e. "
                "Write it with atoms that are finite and not infinitely steep there."
            )
        return Minorants(e, float(G.value), linearized, [])

    def _minorant(self, w: Float[Array, " t"], e: Float[Array, " t"]) -> Minorant:
        """Return the minorant that e leaves by which the bound of G*(w) is smallest, as far as a solver finds it."""
        minorants = self._minorants_at(e)
        tangent = minorants.subgradient
        if not minorants.several or np.array_equal(tangent.g, w):
            return self._checked(tangent, w)
        choices = minorants.best(lambda g, alpha: (cp.norm1(w - g) - alpha, []))
        found = [tangent] if choices is None else [tangent, minorants.chosen(choices)]
        return self._checked(min(found, key=lambda minorant: self._bound(w, minorant)), w)

    def _checked(self, minorant: Minorant, w: Float[Array, " t"]) -> Minorant:
        """Return a minorant that does not lie above G where the bound by it is attained, at 0 and between."""
        end = np.sign(w - minorant.g)
        for e in (end, 0.5 * end, np.zeros(len(w)), -end):
            check_below(minorant.of_f, self.value(e), e, 1.0 + abs(minorant.alpha) + float(np.abs(minorant.g).sum()))
        return minorant

    def _bound(self, w: Float[Array, " t"], minorant: Minorant) -> float:
        return float(np.abs(w - minorant.g).sum()) - minorant.alpha

    def _maximizer(self, w: Float[Array, " t"]) -> Float[Array, " t"]:
        """Return edges near argmax <w, e> - G(e) over the box; any edges give a bound."""
        e, G, _ = self._model(len(w))
        found = solve_roughly(cp.Problem(cp.Maximize(w @ e - G), [e <= 1, e >= -1]))
        return np.clip(e.value, -1.0, 1.0) if found else np.zeros(len(w))
