"""Minorant families: the choice of multipliers at kinks by a program, whose solution need not be trusted.

The chosen multipliers are projected onto their sets before a bound is computed from them (see `expression_graph`).
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
"""A function of the gradient g and the offset alpha of a minorant, CVXPY expressions. It returns the objective, to be
minimized, and constraints."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers as a solver returned them, not projected.

    Attributes
    ----------
    deltas
        Arrays of shape (k, m) for each atom with kinks, by the identity of the atom; summed if an atom occurs twice.
    weights
        The multipliers of the entries of each inequality.
    """

    deltas: Mapping[int, Float[Array, "_ _"]]
    weights: Sequence[Float[Array, " _"]]


@dataclass(frozen=True, eq=False)
class MinorantFamily:
    """All minorants of f + <weights, h>, weights >= 0, that the linearizations at one point imply.

    Attributes
    ----------
    f, h
        The linearization of f, and of each inequality with the number of its entries.
    """

    f: Linearization
    h: Sequence[tuple[Linearization, int]]

    def best_multipliers(self, bound: Bound) -> Multipliers | None:
        """Return the multipliers with the smallest bound, up to the accuracy of a solver; None if the solver fails."""
        deltas, constraints = list[tuple[int, Any]](), list[Any]()

        def choose(multiplier_set: MultiplierSet, mu: Any, node: NonsmoothNode) -> Any:
            delta = cp.Variable(node.values.shape)
            deltas.append((node.key, delta))
            constraints.extend(multiplier_set.constraints(delta, mu))
            return delta

        weights: list[Any] = [cp.Variable(k, nonneg=True) for _, k in self.h]
        g, alpha = self.f.pullback(np.ones(1), choose)
        for (h, _), weight in zip(self.h, weights, strict=True):
            h_gradient, h_offset = h.pullback(weight, choose)
            g, alpha = g + h_gradient, alpha + h_offset
        objective, bound_constraints = bound(g, alpha)
        problem = cp.Problem(cp.Minimize(objective), [*constraints, *bound_constraints])
        variables = [*(delta for _, delta in deltas), *weights]
        if not solve_approximately(problem) or any(variable.value is None for variable in variables):
            return None
        sums = dict[int, Any]()
        for key, delta in deltas:
            sums[key] = sums[key] + delta.value if key in sums else delta.value
        return Multipliers(sums, [weight.value for weight in weights])
