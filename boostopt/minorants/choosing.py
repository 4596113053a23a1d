"""The choice of multipliers where functions have kinks: by a program that a solver answers and nobody has to believe.

What is chosen is moved into the sets that allow it before a bound is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt.errors import ProblemError
from boostopt.expressions import cp, solve_roughly
from boostopt.minorants.kinks import Kink
from boostopt.minorants.linearized import Choice, Linearized, attained
from boostopt.shapes import Array, Float

Bound = Callable[[Any, Any], tuple[Any, list[Any]]]
"""Makes of a minorant's g and alpha, CVXPY expressions, what is to be small and the constraints."""


BELOW = 1e-9
"""By how much of its size f may lie below a tangent and still count as convex."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Multipliers, as raw as they came.

    Attributes
    ----------
    deltas
        One array of shape (k, m) for each atom with kinks.
    weights
        One array for each inequality, its multipliers.
    """

    deltas: Sequence[Float[Array, "_ _"]]
    weights: Sequence[Float[Array, " _"]]


@dataclass(frozen=True, eq=False)
class Minorant:
    """<g, d> + alpha <= f(d) and <g_of_h, d> + alpha_of_h <= <weights, h(d)>."""

    g: Float[Array, " n"]
    alpha: float
    weights: Float[Array, " k"]
    g_of_h: Float[Array, " n"]
    alpha_of_h: float

    @property
    def slopes(self) -> Float[Array, " n"]:
        """Those of the whole."""
        return self.g + self.g_of_h

    def of_f(self, d: Float[Array, " n"]) -> float:
        """Return what bounds f(d) from below."""
        return float(self.g @ d) + self.alpha

    def of_h(self, d: Float[Array, " n"]) -> float:
        """Return what bounds <weights, h(d)> from below."""
        return float(self.g_of_h @ d) + self.alpha_of_h

    def below_f(self, d: Float[Array, " n"], value: float) -> float:
        """Return by how much it lies below f at d, where f has that value."""
        return max(value - float(self.g @ d) - self.alpha, 0.0)


def check_below(
    bounds: Callable[[Float[Array, " n"]], float], value: float, x: Float[Array, " n"], size: float
) -> None:
    """Raise ProblemError where what should bound a function from below exceeds its value by more than rounding.

    CVXPY's gradients of a few atoms are wrong, and a function that is declared to be convex need not be.
    """
    below = bounds(x) - value
    if below > BELOW * size:
        raise ProblemError(
            f"f must lie above its tangents; it falls below one by {below:.3g}. It is not convex, or CVXPY's gradient "
            "of one of its atoms is wrong. Write it with other atoms."
        )


@dataclass(frozen=True, eq=False)
class Minorants:
    """All the minorants of f and <weights, h>, weights >= 0, that one tangent point leaves.

    Attributes
    ----------
    at, value
        The point and f there.
    f, h
        Both linearized there; for each inequality also the number of its entries.
    """

    at: Float[Array, " n"]
    value: float
    f: Linearized
    h: Sequence[tuple[Linearized, int]]

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return bool(self.h) or bool(self.f.choices())

    @property
    def subgradient(self) -> Minorant:
        """One that touches f at the point, with weights 0."""
        g, _ = self.f.pull(np.ones(1), attained)
        weights = np.zeros(sum(k for _, k in self.h))
        return Minorant(g, self.value - float(g @ self.at), weights, np.zeros(len(g)), 0.0)

    def chosen(self, choices: Choices) -> Minorant:
        """Return the one by given multipliers, of each the nearest that is allowed."""
        deltas = iter(choices.deltas)

        def nearest(kink: Kink, mu: Float[Array, " m"], choice: Choice) -> Float[Array, "k m"]:
            return kink.nearest(next(deltas), mu)

        g, alpha = self.f.pull(np.ones(1), nearest)
        weights = [np.maximum(weight, 0.0) for weight in choices.weights]
        pulled = [h.pull(weight, nearest) for (h, _), weight in zip(self.h, weights, strict=True)]
        g_of_h = np.sum([part for part, _ in pulled], axis=0) if pulled else np.zeros(len(g))
        alpha_of_h = float(sum(part for _, part in pulled))
        return Minorant(g, float(alpha), np.concatenate([*weights, np.zeros(0)]), g_of_h, alpha_of_h)

    def best(self, bound: Bound) -> Choices | None:
        """Return the multipliers for which a bound is smallest, as a solver finds them; None if it fails."""
        deltas, constraints = list[Any](), list[Any]()

        def choose(kink: Kink, mu: Any, choice: Choice) -> Any:
            deltas.append(cp.Variable(choice.u.shape))
            constraints.extend(kink.conditions(deltas[-1], mu))
            return deltas[-1]

        weights: list[Any] = [cp.Variable(k, nonneg=True) for _, k in self.h]
        g, alpha = self.f.pull(np.ones(1), choose)
        for (h, _), weight in zip(self.h, weights, strict=True):
            g_of_h, alpha_of_h = h.pull(weight, choose)
            g, alpha = g + g_of_h, alpha + alpha_of_h
        objective, further = bound(g, alpha)
        problem = cp.Problem(cp.Minimize(objective), [*constraints, *further])
        if not solve_roughly(problem) or any(part.value is None for part in (*deltas, *weights)):
            return None
        return Choices([delta.value for delta in deltas], [weight.value for weight in weights])
