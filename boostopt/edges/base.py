"""The contract of an edge function G: a convex function of the edges e = Uᵀd with a conjugate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.shapes import Array, Bool, Float

LARGEST_WEIGHT = 1e15
"""Hypothesis weights beyond this are scaled down to it where their sum is free: their products must stay finite."""


@dataclass(frozen=True)
class Polyhedron:
    """The edges e with low <= A e <= high.

    Attributes
    ----------
    A
        Shape (k, t); None for the identity.
    low, high
        Shape (k,); infinite where there is no bound, equal where there is an equation.
    """

    A: Float[Array, "k t"] | None
    low: Float[Array, " k"]
    high: Float[Array, " k"]

    def rows(self, t: int) -> Float[Array, "k t"]:
        """Return A, also where it is the identity."""
        return np.eye(t) if self.A is None else self.A

    def image(self, e: Float[Array, " t"]) -> Float[Array, " k"]:
        """Return A e."""
        return e if self.A is None else self.A @ e


@dataclass(frozen=True)
class Epigraph:
    """G by linear inequalities and a quadratic: what solvers of linear and quadratic programs ask for.

    G(e) = <slope, e> + min over x of <g, x> + (1/2) <x, Q x> subject to A e + B x <= b, with = in place of <= where
    `equality`. The hypothesis weights are w = A'v + slope, with the multipliers v of the rows.

    Attributes
    ----------
    A
        Shape (k, t); None for the identity.
    B
        Shape (k, j), of the j further variables x.
    b
        Shape (k,).
    equality
        Which rows are equations, shape (k,).
    g, Q
        Shapes (j,) and (j, j), Q positive semidefinite.
    slope
        Shape (t,).
    """

    A: Float[Array, "k t"] | None
    B: Float[Array, "k j"]
    b: Float[Array, " k"]
    equality: Bool[Array, " k"]
    g: Float[Array, " j"]
    Q: Float[Array, "j j"]
    slope: Float[Array, " t"]

    def rows(self, e: Float[Array, " t"]) -> Float[Array, " k"]:
        """Return A e."""
        return e if self.A is None else self.A @ e

    def weights(self, v: Float[Array, " k"]) -> Float[Array, " t"]:
        """Return A'v, the hypothesis weights but for the slope."""
        return v if self.A is None else self.A.T @ v

    @classmethod
    def of_rows(
        cls,
        t: int,
        b: Float[Array, " k"],
        A: Float[Array, "k t"] | None = None,
        equality: bool = False,
        largest: bool = False,
        slope: Float[Array, " t"] | None = None,
    ) -> Epigraph:
        """Return rows A e <= b or = b; `largest` subtracts one variable gamma from each and minimizes it."""
        j, k = int(largest), len(b)
        return cls(
            A,
            -np.ones((k, j)),
            b,
            np.full(k, equality),
            np.ones(j),
            np.zeros((j, j)),
            np.zeros(t) if slope is None else slope,
        )


@dataclass(frozen=True)
class Active:
    """The hypothesis weights that complementary slackness leaves at given edges: w = directions @ x.

    Attributes
    ----------
    directions
        Shape (t, k).
    signed
        Whether x may be negative; otherwise x >= 0.
    total
        What the x must sum to; None where the sum is free.
    at_most
        Whether the sum may also be less than `total`.
    offset
        A part of w that is known, shape (t,): w = offset + directions @ x.
    """

    directions: Float[Array, "t k"]
    signed: bool
    total: float | None
    at_most: bool
    offset: Float[Array, " t"]


class EdgeFunction(ABC):
    """A closed convex function G of the edges, shape (t,). It knows neither the examples nor any solver."""

    cones: ClassVar[frozenset[str]]
    """Need of G that a solver must meet, as for a regularizer."""

    exact: ClassVar[bool] = True
    """Whether `conjugate` gives G* itself and `cvxpy_conjugate` exists, or only a bound above G* is known."""

    even: ClassVar[bool] = False
    """Whether edges count without their sign, so that a class stands for itself and its negations."""

    kind: ClassVar[str] = ""
    """Name of the class in certificate files, "" where they cannot hold one. A subclass is another function: it names a
    kind of its own, or none."""

    mixes: ClassVar[bool] = False
    """Whether G is the largest edge: w then lies in the simplex or, where `even`, in the ball of the 1-norm."""

    edge_bound: float | None = None
    """Bound that no edge may exceed, where G says that and no more: its program can be infeasible, and w has no sum."""

    free_edge: float | None = None
    """The largest edge that further hypotheses may have, however many, without raising G; None where none may."""

    joint: bool = False
    """Whether what a further edge costs depends on those that are there: G is no sum over the hypotheses."""

    @property
    def largest_edge(self) -> EdgeFunction | None:
        """The largest edge, whose soft margin a program with G is after; None where it is after none.

        A G that is not the largest edge itself is after it on the simplex only.
        """
        return self if self.mixes else None

    def statement(self) -> dict[str, Any]:
        """Return G as a certificate file states it: its kind and its numbers."""
        return {"kind": self.kind}

    @abstractmethod
    def value(self, e: Float[Array, " t"]) -> float:
        """Return G(e); for an indicator 0, whether or not e is in the domain that `domain` gives."""

    @abstractmethod
    def conjugate(self, w: Float[Array, " t"], near: Float[Array, " t"] | None = None) -> float:
        """Return G*(w) for w in its domain (up to rounding), or a number above it.

        `near`, edges that may be close to a maximizer of <w, e> - G(e), is for those that have no closed form.
        """

    @abstractmethod
    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        """Return hypothesis weights w in the subdifferential of G at e: the best answer to e."""

    @abstractmethod
    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        """Return a point of the domain of G* near w, whatever w holds; None where w tells nothing."""

    def near(self, w: Float[Array, " t"], e: Float[Array, " t"]) -> Float[Array, " t"] | None:
        """Return the point of the domain of G* near w that proves most beside the edges e; `project(w)` by default."""
        return self.project(w)

    @abstractmethod
    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        """Return by how much a raw w violates each constraint of G*'s domain; inf where w is not finite."""

    @abstractmethod
    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        """Return the t non-negative terms that sum to G(e) + G*(w) - <w, e>, G* as `conjugate(w, near=e)` gives it."""

    def rise(self, known: float, edge: float) -> float:
        """Return by how much G rises, from the value `known`, if a hypothesis with that edge joins; inf if it must not.

        By default what a sum over the hypotheses says.
        """
        return self.value(np.array([edge])) - self.value(np.zeros(1))

    def increase(self, e: Float[Array, " t"], moves: Float[Array, " t"]) -> float:
        """Return a bound of G(e') - G(e) over the e' of the domain with |e'_q - e_q| <= moves_q.

        By default that of a G that is linear on its domain.
        """
        return float(np.abs(self.subgradient(e)) @ moves)

    def class_value(self, largest: float) -> float:
        """Return a bound of G over any number of hypotheses whose edges are at most `largest`; inf where none holds."""
        return np.inf

    def kinks(self, e: Float[Array, " t"]) -> Sequence[str]:
        """Return the edges, or sums of them, at which G has a kink at e, by their names; none by default."""
        return ()

    @property
    def latex(self) -> str | None:
        """The term of each edge as LaTeX; None where G is not made by a formula."""
        return None

    def multipliers(self, e: Float[Array, " t"]) -> dict[str, float]:
        """Return the multipliers and epigraph variables at e by their name in the papers; none by default."""
        return {}

    def active(self, e: Float[Array, " t"], within: float) -> Active:
        """Return the hypothesis weights that complementary slackness leaves, ties up to `within` included.

        By default those of the subgradient alone, as where G has a gradient.
        """
        return Active(np.zeros((len(e), 0)), False, None, False, self.subgradient(e))

    @abstractmethod
    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        """Return G(e) as (CVXPY expression, constraints) for an affine expression e of size t."""

    @abstractmethod
    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        """Return G*(w) as (CVXPY expression, constraints) for an affine expression w of size t."""

    def magnitude(self, e: Float[Array, " t"], w: Float[Array, " t"], mass: float) -> float:
        """Return the largest size of what is added up in G(e) and G*(w), the edges themselves apart.

        Each edge is a sum of terms whose sizes add up to `mass`: where G amplifies their rounding, it counts here.
        """
        return 0.0

    def epigraph(self, t: int) -> Epigraph | None:
        """Return G by linear rows and a quadratic, None if it has no such form."""
        return None

    def domain(self, t: int) -> Polyhedron | None:
        """Return the domain of G if it is not all of R^t."""
        return None

    def rays(self, w: Float[Array, " t"]) -> Sequence[Float[Array, " t"]]:
        """Return directions, made of w, along which infeasibility may be proved; none if every e is in the domain."""
        return ()

    def support(self, ray: Float[Array, " t"]) -> float:
        """Return the maximum of <ray, e> over the domain of G, for a direction that `rays` gave."""
        return np.inf


class SupportFunction(EdgeFunction):
    """A G that is linear from 0 on: G* is the indicator of the hypothesis weights that `project` leads to."""

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})

    def conjugate(self, w: Float[Array, " t"], near: Float[Array, " t"] | None = None) -> float:
        return 0.0


def finite(w: Float[Array, " t"]) -> Float[Array, " t"]:
    """Return w with 0 for what is not finite, and scaled down where it is too large to be computed with."""
    w = np.where(np.isfinite(w), w, 0.0)
    largest = float(np.abs(w).max(initial=0.0))
    return w if largest <= LARGEST_WEIGHT else w * (LARGEST_WEIGHT / largest)


def violations(w: Float[Array, " t"], conditions: dict[str, float]) -> dict[str, float]:
    """Return residuals, each at least 0, and inf all over where w is not finite."""
    if not np.isfinite(w).all():
        return dict.fromkeys(conditions, np.inf)
    return {name: max(0.0, residual) for name, residual in conditions.items()}
