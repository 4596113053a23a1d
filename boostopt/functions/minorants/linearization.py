"""Expressions linearized at a point, and their affine minorants.

For multipliers mu of its entries, <mu, e(d)> has an affine minorant <g, d> + alpha, found from the root down:

    smooth             e(d) >= A d + b                 A'mu and <b, mu>: the tangent at the point; e where it is affine
    smooth of kinks    phi(u) >= phi(v) + J (u - v)    <phi(v) - J v, mu>, and multipliers J'mu for the arguments u
    with a kink        <mu, phi(u)> >= <delta, u>      multipliers delta for the arguments u, chosen from mu D

By the rules of convex programming multipliers of convex arguments come out non-negative, of concave ones non-positive:
their own minorants bound them from the right side. This is the dual of the expression's conic form with the auxiliary
variables eliminated: whatever is chosen, nothing is left over that would have to be bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.functions.minorants.multiplier_sets import CumulativeSumMultipliers, MultiplierSet

ChooseMultipliers = Callable[[MultiplierSet, Any, "NonsmoothNode"], Any]
"""Chooses delta, of shape (k, m), for an atom with a kink and the multipliers of its results."""

MAX_KINKS = 200
"""Arguments on a kink that are told apart: where more are, nothing can be concluded from them."""


class Linearization(ABC):
    """An expression at a tangent point."""

    @abstractmethod
    def pullback(self, mu: Any, choose: ChooseMultipliers) -> tuple[Any, Any]:
        """Return (g, alpha) of a minorant of <mu, e(d)>, as numbers or as CVXPY expressions of what is chosen."""

    @abstractmethod
    def nonsmooth_nodes(self) -> list[NonsmoothNode]:
        """Return the atoms with kinks, in the order in which `pullback` comes to them."""

    @abstractmethod
    def gradient_bound(self, mu: Float[Array, " m"]) -> Float[Array, " N"]:
        """Return bounds of |g| over all choices, for bounds mu of the multipliers' sizes."""

    def kink_gradients(self) -> list[Float[Array, " N"]]:
        """Return the slopes of the arguments that lie on a kink, at most `MAX_KINKS` of them."""
        rows = (row for choice in self.nonsmooth_nodes() for row in choice.own_kink_gradients())
        return list(islice(rows, MAX_KINKS))


@dataclass(frozen=True, eq=False)
class Tangent(Linearization):
    """A d + b for an expression without kinks; A of shape (m, N), sparse or not."""

    jacobian: Any
    offset: Float[Array, " m"]

    def pullback(self, mu: Any, choose: ChooseMultipliers) -> tuple[Any, Any]:
        return self.jacobian.T @ mu, self.offset @ mu

    def nonsmooth_nodes(self) -> list[NonsmoothNode]:
        return []

    def gradient_bound(self, mu: Float[Array, " m"]) -> Float[Array, " N"]:
        return abs(self.jacobian).T @ mu


@dataclass(frozen=True, eq=False)
class SmoothNode(Linearization):
    """A smooth atom of arguments with kinks: its slopes, shape (m, size of the argument), and what is left."""

    arguments: Sequence[Linearization]
    jacobians: Sequence[Any]
    offset: Float[Array, " m"]

    def pullback(self, mu: Any, choose: ChooseMultipliers) -> tuple[Any, Any]:
        pulled = [e.pullback(J.T @ mu, choose) for e, J in zip(self.arguments, self.jacobians, strict=True)]
        return sum(g for g, _ in pulled), self.offset @ mu + sum(alpha for _, alpha in pulled)

    def nonsmooth_nodes(self) -> list[NonsmoothNode]:
        return [choice for e in self.arguments for choice in e.nonsmooth_nodes()]

    def gradient_bound(self, mu: Float[Array, " m"]) -> Float[Array, " N"]:
        steps = zip(self.arguments, self.jacobians, strict=True)
        return np.sum([e.gradient_bound(abs(J).T @ mu) for e, J in steps], axis=0)


@dataclass(frozen=True, eq=False)
class NonsmoothNode(Linearization):
    """An atom with kinks: `sign` -1 for a concave one, phi(u) = -max <delta, -u>.

    Attributes
    ----------
    arguments
        What it is of.
    argument_maps
        For each argument a sparse matrix, (its size, k m), from delta, column by column, to its multipliers.
    values
        sign times the arguments' values, shape (k, m).
    key
        The identity of the atom.
    """

    multiplier_set: MultiplierSet
    sign: int
    arguments: Sequence[Linearization]
    argument_maps: Sequence[Any]
    values: Float[Array, "k m"]
    key: int = 0

    def pullback(self, mu: Any, choose: ChooseMultipliers) -> tuple[Any, Any]:
        delta = choose(self.multiplier_set, self.sign * mu, self)
        flat = delta.ravel(order="F") if isinstance(delta, np.ndarray) else cp.vec(delta, order="F")
        pulled = [
            e.pullback(self.sign * (W @ flat), choose) for e, W in zip(self.arguments, self.argument_maps, strict=True)
        ]
        return sum(g for g, _ in pulled), sum(alpha for _, alpha in pulled)

    def nonsmooth_nodes(self) -> list[NonsmoothNode]:
        return [self, *(choice for e in self.arguments for choice in e.nonsmooth_nodes())]

    def own_kink_gradients(self) -> Iterator[Float[Array, " N"]]:
        """Yield the slopes of the arguments that lie on a kink of this atom."""
        for place in np.flatnonzero(self.multiplier_set.on_kink(self.values).ravel(order="F")):
            unit = (np.arange(self.values.size) == place).astype(float)
            pulled = [
                e.pullback(W @ unit, subgradient_multipliers)
                for e, W in zip(self.arguments, self.argument_maps, strict=True)
            ]
            yield np.sum([g for g, _ in pulled], axis=0)

    def gradient_bound(self, mu: Float[Array, " m"]) -> Float[Array, " N"]:
        k = len(self.values)
        sizes = (
            np.cumsum(mu[::-1])[::-1][None, :]
            if isinstance(self.multiplier_set, CumulativeSumMultipliers)
            else np.tile(mu, (k, 1))
        )
        flat = sizes.ravel(order="F")
        return np.sum(
            [e.gradient_bound(W @ flat) for e, W in zip(self.arguments, self.argument_maps, strict=True)], axis=0
        )


def subgradient_multipliers(kink: MultiplierSet, mu: Float[Array, " m"], choice: NonsmoothNode) -> Float[Array, "k m"]:
    """Choose a subgradient at the point itself."""
    return kink.maximizer(choice.values, mu)


def describe_linear_form(name: str, slopes: Float[Array, " N"]) -> str:
    """Return a linear function by the entries that it is made of: d_17, d_3 with d_4, a sum of 12 of d."""
    entries = np.flatnonzero(slopes)
    return " with ".join(f"{name}_{n}" for n in entries) if len(entries) < 3 else f"a sum of {len(entries)} of {name}"
