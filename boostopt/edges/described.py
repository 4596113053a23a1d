"""Edge functions known by a CVXPY expression alone.

The edges of weights on the simplex lie in [-1, 1], so G counts on that box only, and by the convexity of G, for any
edges e' of the box and any subgradient g of G there,

    G*(w) = max over |e| <= 1 of <w, e> - G(e)  <=  ||w - g||_1 + <g, e'> - G(e').

It is tight where e' is a maximizer, that is where w is in the subdifferential at e'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from boostopt.arguments import maker
from boostopt.edges.base import EdgeFunction, finite, violations
from boostopt.errors import ProblemError
from boostopt.expressions import cones_of, cp, gradient, made_of, solve_roughly
from boostopt.shapes import Array, Float


@dataclass(frozen=True, eq=False)
class DescribedEdges(EdgeFunction):
    """A convex function of the edges, finite on [-1, 1]^t, from its CVXPY expression.

    For regularizers whose weights sum to at most 1.

    Parameters
    ----------
    G
        Makes the CVXPY expression: takes an affine expression of shape (t,), returns a convex scalar.

    Raises
    ------
    ProblemError
        On first use with t edges: the expression is not a scalar, or not convex by CVXPY's rules.
    """

    G: Callable[[Any], Any]

    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        maker("G", self.G, "a function of the edges", ProblemError)

    _models: dict[int, tuple[Any, Any]] = field(default_factory=dict[int, tuple[Any, Any]], init=False, repr=False)

    @cached_property
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        e, G = self._model(2)
        return cones_of(cp.Problem(cp.Minimize(G), [e <= 1, e >= -1]))

    def value(self, e: Float[Array, " t"]) -> float:
        variable, G = self._model(len(e))
        variable.value = e
        return float(G.value)

    def conjugate(self, w: Float[Array, " t"], near: Float[Array, " t"] | None = None) -> float:
        at = self._maximizer(w) if near is None else near
        slope = self.subgradient(at)
        return float(np.abs(w - slope).sum() + slope @ at) - self.value(at)

    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        variable, G = self._model(len(e))
        slopes = gradient(G, variable, e)
        if slopes is None:
            raise ProblemError(
                "CVXPY must know a subgradient of the edge function everywhere on [-1, 1]; it has none at some e. "
                "Write it with other atoms: max(abs(e)) instead of norm_inf(e)."
            )
        return slopes[0]

    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        return finite(w)

    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        return violations(w, {"w finite": 0.0})

    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        off = w - self.subgradient(e)
        return np.abs(off) - off * e

    def magnitude(self, e: Float[Array, " t"], w: Float[Array, " t"], mass: float) -> float:
        return 1.0 + abs(self.value(e)) + float(np.abs(w).sum()) + mass * float(np.abs(self.subgradient(e)).sum())

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return self.G(e), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("the conjugate of a described edge function is not known in closed form. Use the primal.")

    def _model(self, t: int) -> tuple[Any, Any]:
        """Return (e, G(e)) as CVXPY has them."""
        if t not in self._models:
            e = cp.Variable(t, name="e")
            G = made_of("the edge function", self.G, e)
            if G.size != 1 or not G.is_convex():
                raise ProblemError(
                    f"an edge function must be a convex scalar expression; got shape {G.shape}, {G.curvature}: {G}. "
                    "Write it with atoms whose convexity CVXPY knows."
                )
            self._models[t] = e, G
        return self._models[t]

    def _maximizer(self, w: Float[Array, " t"]) -> Float[Array, " t"]:
        """Return edges near argmax <w, e> - G(e) over the box; any edges give a bound."""
        e, G = self._model(len(w))
        edges = solve_roughly(cp.Problem(cp.Maximize(w @ e - G), [e <= 1, e >= -1]), e)
        return np.zeros(len(w)) if edges is None else np.clip(edges, -1.0, 1.0)
