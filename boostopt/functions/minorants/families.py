"""The choice of multipliers where functions have kinks: by a program that a solver answers and nobody has to believe.

What is chosen is moved into the sets that allow it before a bound is made of it (see `graph`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp, solve_approximately
from boostopt.functions.minorants.linearization import Linearization, NonsmoothNode
from boostopt.functions.minorants.multiplier_sets import MultiplierSet

Bound = Callable[[Any, Any], tuple[Any, list[Any]]]
"""Makes of a minorant's g and alpha, CVXPY expressions, what is to be small and the constraints."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers, as raw as they came.

    Attributes
    ----------
    deltas
        Arrays of shape (k, m) for each atom with kinks, by the identity of the atom; summed where it occurs twice.
    weights
        One array for each inequality, its multipliers.
    """

    deltas: Mapping[int, Float[Array, "_ _"]]
    weights: Sequence[Float[Array, " _"]]


@dataclass(frozen=True, eq=False)
class MinorantFamily:
    """All the minorants of f and <weights, h>, weights >= 0, that one tangent point leaves.

    Attributes
    ----------
    f, h
        Both linearized there; for each inequality also the number of its entries.
    """

    f: Linearization
    h: Sequence[tuple[Linearization, int]]

    def best_multipliers(self, bound: Bound) -> Multipliers | None:
        """Return the multipliers for which a bound is smallest, as a solver finds them; None if it fails."""
        deltas, constraints = list[tuple[int, Any]](), list[Any]()

        def choose(kink: MultiplierSet, mu: Any, choice: NonsmoothNode) -> Any:
            delta = cp.Variable(choice.values.shape)
            deltas.append((choice.key, delta))
            constraints.extend(kink.constraints(delta, mu))
            return delta

        weights: list[Any] = [cp.Variable(k, nonneg=True) for _, k in self.h]
        g, alpha = self.f.pullback(np.ones(1), choose)
        for (h, _), weight in zip(self.h, weights, strict=True):
            g_of_h, alpha_of_h = h.pullback(weight, choose)
            g, alpha = g + g_of_h, alpha + alpha_of_h
        objective, further = bound(g, alpha)
        problem = cp.Problem(cp.Minimize(objective), [*constraints, *further])
        variables = [*(delta for _, delta in deltas), *weights]
        if not solve_approximately(problem) or any(part.value is None for part in variables):
            return None
        sums = dict[int, Any]()
        for key, delta in deltas:
            sums[key] = sums[key] + delta.value if key in sums else delta.value
        return Multipliers(sums, [weight.value for weight in weights])
