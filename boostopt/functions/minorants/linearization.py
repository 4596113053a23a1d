"""Linearizations of convex expressions at a point, and the affine minorants that they imply.

A linearization represents a vector-valued expression e(d) near a point. For non-negative multipliers mu, `pullback`
returns an affine minorant <gradient, d> + offset <= <mu, e(d)>. It propagates the multipliers from the root of the
expression to its leaves, as reverse-mode differentiation does:

    node            bound                                  multipliers of the arguments u
    Tangent         e(d) >= J d + b                        none: the gradient is Jᵀmu, the offset <b, mu>
    SmoothNode      phi(u) >= phi(v) + J (u - v)           Jᵀmu; the offset grows by <phi(v) - J v, mu>
    NonsmoothNode   <mu, phi(u)> >= <delta, u>             any delta in mu D, where phi is the support function of D

By the rules of disciplined convex programming, convex arguments get non-negative multipliers and concave arguments get
non-positive ones, so that the bounds of the arguments have the right direction.

A nonsmooth node has several valid deltas at a kink. The caller chooses one: a subgradient at the point
(`subgradient_multipliers`), or the variables of a program whose solution gives the tightest bound. Every choice gives a
valid minorant. This is the dual of the conic form of the expression, without its auxiliary variables. No residual of a
solver remains that would have to be bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.functions.minorants.multiplier_sets import CumulativeSumMultipliers, MultiplierSet

ChooseMultipliers = Callable[[MultiplierSet, Any, "NonsmoothNode"], Any]
"""A function of a set D, multipliers mu of shape (m,), and the node. It returns a delta in mu D, of shape (k, m)."""

MAX_KINKS = 200
"""Maximum number of kinks that are listed; with more kinks, a list is of no use."""


class Linearization(ABC):
    """The linearization of an expression with m entries, in a variable d of size N."""

    @abstractmethod
    def pullback(self, mu: Any, choose: ChooseMultipliers) -> tuple[Any, Any]:
        """Return the gradient and the offset of an affine minorant of <mu, e(d)>.

        Parameters
        ----------
        mu
            Multipliers, shape (m,): numbers, or a CVXPY expression.
        choose
            The function that chooses the multipliers of each nonsmooth node. If it returns CVXPY variables, the
            gradient and the offset are CVXPY expressions.
        """

    @abstractmethod
    def nonsmooth_nodes(self) -> list[NonsmoothNode]:
        """Return the nonsmooth nodes in the order in which `pullback` visits them."""

    @abstractmethod
    def gradient_bound(self, mu: Float[Array, " m"]) -> ExampleVector:
        """Bound the absolute values of the gradient over all choices of multipliers, given a bound mu on theirs."""

    def kink_gradients(self) -> list[ExampleVector]:
        """Return the gradients of the arguments that lie on a kink, at most `MAX_KINKS` of them."""
        gradients = (gradient for node in self.nonsmooth_nodes() for gradient in node.own_kink_gradients())
        return list(islice(gradients, MAX_KINKS))


@dataclass(frozen=True, eq=False)
class Tangent(Linearization):
    """The tangent J d + b of an expression without kinks.

    Attributes
    ----------
    jacobian
        J, shape (m, N), dense or sparse.
    offset
        b, shape (m,).
    """

    jacobian: Any
    offset: Float[Array, " m"]

    def pullback(self, mu: Any, choose: ChooseMultipliers) -> tuple[Any, Any]:
        return self.jacobian.T @ mu, self.offset @ mu

    def nonsmooth_nodes(self) -> list[NonsmoothNode]:
        return []

    def gradient_bound(self, mu: Float[Array, " m"]) -> ExampleVector:
        return abs(self.jacobian).T @ mu


@dataclass(frozen=True, eq=False)
class SmoothNode(Linearization):
    """A smooth atom phi whose arguments u have kinks.

    Attributes
    ----------
    arguments
        The linearizations of the arguments.
    jacobians
        The Jacobian J of phi in each argument, shape (m, size of the argument).
    offset
        phi(v) - J v at the values v of the arguments, shape (m,).
    """

    arguments: Sequence[Linearization]
    jacobians: Sequence[Any]
    offset: Float[Array, " m"]

    def pullback(self, mu: Any, choose: ChooseMultipliers) -> tuple[Any, Any]:
        minorants = [e.pullback(J.T @ mu, choose) for e, J in zip(self.arguments, self.jacobians, strict=True)]
        return sum(g for g, _ in minorants), self.offset @ mu + sum(alpha for _, alpha in minorants)

    def nonsmooth_nodes(self) -> list[NonsmoothNode]:
        return [node for e in self.arguments for node in e.nonsmooth_nodes()]

    def gradient_bound(self, mu: Float[Array, " m"]) -> ExampleVector:
        pairs = zip(self.arguments, self.jacobians, strict=True)
        return np.sum([e.gradient_bound(abs(J).T @ mu) for e, J in pairs], axis=0)


@dataclass(frozen=True, eq=False)
class NonsmoothNode(Linearization):
    """An atom with kinks: phi(u) = max over delta in D of <delta, u>, or -max of <delta, -u> for a concave atom.

    The atom maps a matrix of shape (k, m) to m numbers, one for each column.

    Attributes
    ----------
    multiplier_set
        D.
    sign
        1 for a convex atom, -1 for a concave one.
    arguments
        The linearizations of the arguments.
    argument_maps
        For each argument, the sparse matrix from delta, flattened by columns, to the multipliers of the argument.
        Shape (size of the argument, k m).
    values
        The values of the arguments times `sign`, shape (k, m).
    key
        The identity of the CVXPY atom.
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
        minorants = [
            e.pullback(self.sign * (W @ flat), choose) for e, W in zip(self.arguments, self.argument_maps, strict=True)
        ]
        return sum(g for g, _ in minorants), sum(alpha for _, alpha in minorants)

    def nonsmooth_nodes(self) -> list[NonsmoothNode]:
        return [self, *(node for e in self.arguments for node in e.nonsmooth_nodes())]

    def own_kink_gradients(self) -> Iterator[ExampleVector]:
        """Yield the gradients of the arguments of this atom that lie on a kink."""
        for entry in np.flatnonzero(self.multiplier_set.on_kink(self.values).ravel(order="F")):
            unit = (np.arange(self.values.size) == entry).astype(float)
            minorants = [
                e.pullback(W @ unit, subgradient_multipliers)
                for e, W in zip(self.arguments, self.argument_maps, strict=True)
            ]
            yield np.sum([g for g, _ in minorants], axis=0)

    def gradient_bound(self, mu: Float[Array, " m"]) -> ExampleVector:
        k = len(self.values)
        delta_bound = (
            np.cumsum(mu[::-1])[::-1][None, :]
            if isinstance(self.multiplier_set, CumulativeSumMultipliers)
            else np.tile(mu, (k, 1))
        )
        flat = delta_bound.ravel(order="F")
        return np.sum(
            [e.gradient_bound(W @ flat) for e, W in zip(self.arguments, self.argument_maps, strict=True)], axis=0
        )


def subgradient_multipliers(
    multiplier_set: MultiplierSet, mu: Float[Array, " m"], node: NonsmoothNode
) -> Float[Array, "k m"]:
    """Choose the multipliers for which the minorant is equal to the expression at the point itself."""
    return multiplier_set.maximizer(node.values, mu)


def describe_linear_form(name: str, coefficients: ExampleVector) -> str:
    """Return the entries of a linear form in words: "d_17", "d_3 with d_4", "a sum of 12 of d"."""
    entries = np.flatnonzero(coefficients)
    return " with ".join(f"{name}_{n}" for n in entries) if len(entries) < 3 else f"a sum of {len(entries)} of {name}"
