"""The interface of an edge function G: a convex function of the edges e = Uᵀd with a conjugate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float, HypothesisVector
from boostopt.functions.convex_function import ConvexFunction

MAX_HYPOTHESIS_WEIGHT = 1e15
"""Largest hypothesis weight if the sum is free. Larger weights are scaled down, so that products stay finite."""


@dataclass(frozen=True)
class Polyhedron:
    """The edges e with low <= A e <= high.

    Attributes
    ----------
    A
        The matrix of the constraints, shape (k, t); None for the identity.
    low, high
        The bounds, shape (k,): infinite for no bound, equal for an equation.
    """

    A: Float[Array, "k t"] | None
    low: Float[Array, " k"]
    high: Float[Array, " k"]

    def rows(self, t: int) -> Float[Array, "k t"]:
        """Return A as an array, also if it is the identity."""
        return np.eye(t) if self.A is None else self.A

    def image(self, e: HypothesisVector) -> Float[Array, " k"]:
        """Return A e."""
        return e if self.A is None else self.A @ e


@dataclass(frozen=True)
class Epigraph:
    """G in the form of linear inequalities and a quadratic, for solvers of linear and quadratic programs.

    G(e) = <slope, e> + min over x of <g, x> + (1/2) <x, Q x> subject to A e + B x <= b, with = in place of <= in the
    rows of `equality`. The hypothesis weights are w = A'v + slope, where v are the multipliers of the rows.

    Attributes
    ----------
    A
        The coefficients of the edges, shape (k, t); None for the identity.
    B
        The coefficients of the j further variables x, shape (k, j).
    b
        The right-hand sides, shape (k,).
    equality
        The rows that are equations, as a mask of shape (k,).
    g, Q
        The linear and the quadratic cost of x, shapes (j,) and (j, j); Q is positive semidefinite.
    slope
        The linear cost of the edges, shape (t,).
    """

    A: Float[Array, "k t"] | None
    B: Float[Array, "k j"]
    b: Float[Array, " k"]
    equality: Bool[Array, " k"]
    g: Float[Array, " j"]
    Q: Float[Array, "j j"]
    slope: HypothesisVector

    def rows(self, e: HypothesisVector) -> Float[Array, " k"]:
        """Return A e."""
        return e if self.A is None else self.A @ e

    def weights(self, v: Float[Array, " k"]) -> HypothesisVector:
        """Return A'v, the hypothesis weights without the slope."""
        return v if self.A is None else self.A.T @ v

    @classmethod
    def from_rows(
        cls,
        t: int,
        b: Float[Array, " k"],
        A: Float[Array, "k t"] | None = None,
        equality: bool = False,
        largest: bool = False,
        slope: HypothesisVector | None = None,
    ) -> Epigraph:
        """Return G with rows A e <= b or = b; `largest` subtracts one variable gamma from each and minimizes it."""
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
    """The hypothesis weights that complementary slackness allows at given edges: w = directions @ x.

    Attributes
    ----------
    directions
        The directions, shape (t, k).
    signed
        Whether x may be negative; otherwise x >= 0.
    total
        The sum of x; None if the sum is free.
    total_is_upper_bound
        Whether the sum may also be less than `total`.
    offset
        The constant part of w, shape (t,): w = offset + directions @ x.
    """

    directions: Float[Array, "t k"]
    signed: bool
    total: float | None
    total_is_upper_bound: bool
    offset: HypothesisVector


class EdgeFunction(ConvexFunction):
    """A closed convex function G of the edges, shape (t,). It is independent of the examples and of any solver.

    The constraints on the weights are those of the domain of G*. See `ConvexFunction` for the members that G has in
    common with a regularizer.
    """

    is_symmetric: bool = False
    """True if G depends on absolute edges only, so that a class also represents the negations of its hypotheses."""

    is_largest_edge: ClassVar[bool] = False
    """True if G is the largest edge, so that w lies in the simplex or, if `is_symmetric`, in the ball of the 1-norm."""

    @property
    def edge_bound(self) -> float | None:
        """Upper bound of every edge, if G is the indicator of this bound; None for any other G.

        The program with this G can be infeasible, and the sum of w is free.
        """
        return None

    @property
    def zero_cost_edge(self) -> float | None:
        """Largest edge for which any number of further hypotheses does not increase G; None if there is none."""
        return None

    @property
    def is_coupled(self) -> bool:
        """True if the cost of a further edge depends on the other edges, so that G is not a sum over the hypotheses."""
        return False

    @property
    def largest_edge(self) -> EdgeFunction | None:
        """The largest edge function of the soft margin that a program with G maximizes; None if there is none.

        If G is not the largest edge itself, this holds on the simplex only.
        """
        return self if self.is_largest_edge else None

    def statement(self) -> dict[str, Any]:
        """Return G in the form of a certificate file: its kind and its numbers."""
        return {"kind": self.kind}

    def settle(self, t: int) -> None:
        """Read all inputs of G for t edges that `__init__` has not read. Arrays may change afterwards."""

    @abstractmethod
    def value(self, e: HypothesisVector) -> float:
        """Return G(e); an indicator returns 0 for any e, also outside the domain that `domain` returns."""

    @abstractmethod
    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        """Return G*(w) for w in its domain (up to rounding), or a larger number.

        Functions without a closed form can use `start`: edges that may be close to a maximizer of <w, e> - G(e).
        """

    @abstractmethod
    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        """Return hypothesis weights w in the subdifferential of G at e."""

    @abstractmethod
    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        """Return a point of the domain of G* near w, for any numbers w; None if w has no usable information."""

    def project_for_edges(self, w: HypothesisVector, e: HypothesisVector) -> HypothesisVector | None:
        """Return the point of the domain of G* near w with the best bound at the edges e; `project(w)` by default."""
        return self.project(w)

    @abstractmethod
    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        """Return the t non-negative terms that sum to G(e) + G*(w) - <w, e>, with G* from `conjugate(w, start=e)`."""

    def added_hypothesis_cost(self, current_value: float, edge: float) -> float:
        """Return the increase of G from `current_value` if a hypothesis with this edge joins; inf if it must not.

        The default is correct if G is a sum over the hypotheses.
        """
        return self.value(np.array([edge])) - self.value(np.zeros(1))

    def increase_bound(self, e: HypothesisVector, edge_changes: HypothesisVector) -> float:
        """Return a bound on G(e') - G(e) over the e' of the domain with |e'_q - e_q| <= edge_changes_q.

        The default is correct if G is linear on its domain.
        """
        return float(np.abs(self.subgradient(e)) @ edge_changes)

    def class_bound(self, largest: float) -> float:
        """Return a bound on G over any number of hypotheses with edges of at most `largest`; inf if there is none."""
        return np.inf

    @property
    def has_class_bound(self) -> bool:
        """True if the largest edge of a class bounds G, whatever the number of its hypotheses."""
        return bool(np.isfinite(self.class_bound(0.0)))

    def multipliers(self, e: HypothesisVector) -> dict[str, float]:
        """Return the multipliers and epigraph variables at e by their names in the papers; none by default."""
        return {}

    def active(self, e: HypothesisVector, tol: float) -> Active:
        """Return the hypothesis weights that complementary slackness allows, including ties up to `tol`.

        The default is the subgradient alone, which is right if G has a gradient.
        """
        return Active(np.zeros((len(e), 0)), False, None, False, self.subgradient(e))

    def magnitude(self, e: HypothesisVector, w: HypothesisVector, mass: float) -> float:
        """Return the largest size of the terms in the sums of G(e) and G*(w), without the edges themselves.

        Each edge is a sum of terms whose sizes sum to `mass`. If G amplifies their rounding, include it here.
        """
        return 0.0

    def value_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        """Return an addend that makes the computed G(e) an upper bound of G at the exact edges.

        Parameters
        ----------
        e
            Edges as they were computed, shape (t,).
        w
            The hypothesis weights of the same answer, shape (t,).
        mass
            The sum of the sizes of the terms of each edge.
        unit
            Machine epsilon times the longest chain of additions.

        Returns
        -------
        unit times `magnitude` by default; inf if no finite number is a bound.
        """
        return unit * self.magnitude(e, w, mass)

    def conjugate_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        """Return an addend that makes G*(w), computed with `start` = e, an upper bound of the exact G*(w)."""
        return unit * self.magnitude(e, w, mass)

    def epigraph(self, t: int) -> Epigraph | None:
        """Return G as linear rows and a quadratic; None if it has no such form."""
        return None

    def domain(self, t: int) -> Polyhedron | None:
        """Return the domain of G; None if it is all of R^t."""
        return None

    def candidate_rays(self, w: HypothesisVector) -> Sequence[HypothesisVector]:
        """Return directions, computed from w, that may prove infeasibility; empty if every e is in the domain."""
        return ()

    def support(self, ray: HypothesisVector) -> float:
        """Return the maximum of <ray, e> over the domain of G, for a direction from `candidate_rays`."""
        return np.inf


class SupportFunction(EdgeFunction):
    """A positively homogeneous G: G* is the indicator of the set onto which `project` projects."""

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        return 0.0


def clip_to_finite(w: HypothesisVector) -> HypothesisVector:
    """Return w with 0 for entries that are not finite, scaled down to `MAX_HYPOTHESIS_WEIGHT` if necessary."""
    w = np.where(np.isfinite(w), w, 0.0)
    largest = float(np.abs(w).max(initial=0.0))
    return w if largest <= MAX_HYPOTHESIS_WEIGHT else w * (MAX_HYPOTHESIS_WEIGHT / largest)


def nonnegative_residuals(w: HypothesisVector, conditions: dict[str, float]) -> dict[str, float]:
    """Return residuals, each at least 0; all are inf if w is not finite."""
    if not np.isfinite(w).all():
        return dict.fromkeys(conditions, np.inf)
    return {name: max(0.0, residual) for name, residual in conditions.items()}
