"""Edge functions G whose conjugates penalize |w|: balls of a norm, the elastic net, the 1-norm.

Each is a function g of a_q = |e_q| if weights may have any sign, and of a_q = max(0, e_q) if they are non-negative:

    ball of radius r, ||w||_p <= r    g(a) = r ||a||_q, 1/p + 1/q = 1, for p = 1, 2, inf
    elastic net                       g(a) = sum_q [a_q - l1]_+^2 / (2 l2),   G*(w) = l1 ||w||_1 + (l2/2) ||w||_2^2
    1-norm                            g(a) = I[a <= l1],                      G*(w) = l1 ||w||_1

With l1 = 0 the elastic net is the squared 2-norm. The 1-norm of non-negative weights is also `BoundedEdges`.

Sources: Shen, Li, van den Hengel 2013; Zou and Hastie 2005 for the elastic net.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float, HypothesisVector
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_number, flag_parameter, positive_parameter, read_fields
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.edge_functions.base import (
    Active,
    EdgeFunction,
    Epigraph,
    Polyhedron,
    clip_to_finite,
    nonnegative_residuals,
)

EPS = float(np.finfo(np.float64).eps)
"""Relative spacing of floats."""


@dataclass(frozen=True)
class AbsolutePenalty(EdgeFunction):
    """A convex function of |e| or of max(0, e), increasing in each of these sizes. G* depends on |w|."""

    signed: bool

    def __post_init__(self) -> None:
        read_fields(self, signed=flag_parameter)

    @computed_attribute
    def is_symmetric(self) -> bool:
        return self.signed

    def statement(self) -> dict[str, Any]:
        return {"kind": self.kind, "signed": self.signed}

    def edge_sizes(self, e: HypothesisVector) -> HypothesisVector:
        """Return the sizes of the edges: |e|, or max(0, e) for non-negative weights."""
        return np.abs(e) if self.signed else np.maximum(e, 0.0)

    def subgradient(self, e: HypothesisVector) -> HypothesisVector:
        slopes = self.slopes(self.edge_sizes(e))
        return np.sign(e) * slopes if self.signed else slopes

    def increase_bound(self, e: HypothesisVector, edge_changes: HypothesisVector) -> float:
        # G is a non-decreasing function of the sizes.
        sizes = self.edge_sizes(e)
        return max(self.value(sizes + edge_changes) - self.value(sizes), 0.0)

    @abstractmethod
    def slopes(self, a: HypothesisVector) -> HypothesisVector:
        """Return a subgradient of g, at least 0."""

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        return clip_to_finite(w) if self.signed else clip_to_finite(w).clip(min=0.0)

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        return nonnegative_residuals(w, {"w finite": 0.0} if self.signed else {"w >= 0": float(-w.min())})

    def gaps(self, e: HypothesisVector, w: HypothesisVector) -> HypothesisVector:
        a, u = self.edge_sizes(e), np.abs(w)
        return self.size_gap_terms(a, u) + (u * a - w * e)

    @abstractmethod
    def size_gap_terms(self, a: HypothesisVector, u: HypothesisVector) -> HypothesisVector:
        """Return the non-negative terms that sum to g(a) + G*(u) - <u, a>, for a and u of at least 0."""

    def cvxpy_sizes(self, e: Any) -> Any:
        """Return the sizes of the edges as a CVXPY expression."""
        return cp.abs(e) if self.signed else cp.pos(e)

    def cvxpy_weight_constraints(self, w: Any) -> list[Any]:
        """Return the constraints of the signs of the weights for CVXPY."""
        return [] if self.signed else [w >= 0]

    def _active_directions(self, e: HypothesisVector, level: float) -> Float[Array, "t k"]:
        """Return the unit vectors, e_q or -e_q, of the hypotheses whose edges are at least `level`."""
        eye = np.eye(len(e))
        directions = [eye[:, e >= level], *([-eye[:, -e >= level]] if self.signed else [])]
        return np.concatenate(directions, 1)

    def rows(self, t: int) -> Float[Array, "k t"] | None:
        """Return the matrix with the rows e_q and -e_q of each edge in turn; None for the identity."""
        return np.kron(np.eye(t), [[1.0], [-1.0]]) if self.signed else None


@dataclass(frozen=True)
class BallEdges(AbsolutePenalty):
    """The product of r and the dual norm of the edges, for weights in the ball ||w||_p <= r.

    Parameters
    ----------
    signed
        Whether weights may be negative.
    p
        The exponent of the norm of the weights: 1, 2 or inf.
    r
        The radius, positive.
    """

    p: float
    r: float

    kind: ClassVar[str] = "ball"

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fields(self, p=_exponent, r=positive_parameter)

    def _required_cones(self) -> frozenset[str]:
        return frozenset({"linear", "second_order"} if self.p == 2.0 else {"linear"})

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    def statement(self) -> dict[str, Any]:
        return {**super().statement(), "p": self.p, "r": self.r}

    def value(self, e: HypothesisVector) -> float:
        return self.r * _norm(self.edge_sizes(e), self._q)

    @property
    def is_coupled(self) -> bool:
        return math.isfinite(self.p)

    def added_hypothesis_cost(self, current_value: float, edge: float) -> float:
        edge_value = self.value(np.array([edge]))
        return (
            max(edge_value - current_value, 0.0)
            if self.p == 1.0
            else math.hypot(current_value, edge_value) - current_value
            if self.is_coupled
            else edge_value
        )

    def class_bound(self, largest: float) -> float:
        return self.r * max(largest, 0.0) if self.p == 1.0 else math.inf

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        return 0.0

    def slopes(self, a: HypothesisVector) -> HypothesisVector:
        largest = float(a.max())
        if largest == 0.0:
            return np.zeros(len(a))
        if self.p == 1.0:
            return np.where(np.arange(len(a)) == np.argmax(a), self.r, 0.0)
        if self.p == 2.0:
            return self._scale_into_ball(self.r * (a / largest / _norm(a / largest, 2.0)))
        return np.where(a > 0, self.r, 0.0)

    def project(self, w: HypothesisVector) -> HypothesisVector | None:
        return self._scale_into_ball(w if self.signed else w.clip(min=0.0))

    def residuals(self, w: HypothesisVector) -> dict[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            return {
                **super().residuals(w),
                **nonnegative_residuals(w, {"norm w <= r": _norm(np.abs(w), self.p) - self.r}),
            }

    def size_gap_terms(self, a: HypothesisVector, u: HypothesisVector) -> HypothesisVector:
        if math.isinf(self.p):
            return np.maximum(self.r - u, 0.0) * a
        if self.p == 1.0:
            largest = float(a.max())
            return u * (largest - a) + max(self.r - float(u.sum()), 0.0) * largest / len(a)
        # r ||a|| - <u, a> = ||a|| (r - ||u||) + ||a|| ||u - ||u|| a/||a|| ||^2 / (2 ||u||)
        size, length = _norm(a, 2.0), _norm(u, 2.0)
        slack = max(self.r - length, 0.0) * size / len(a)
        if size == 0.0 or length == 0.0:
            return np.full(len(a), slack)
        return slack + (0.5 * size * length) * (u / length - a / size) ** 2

    def magnitude(self, e: HypothesisVector, w: HypothesisVector, mass: float) -> float:
        # The value, and the norm of t rounding errors of at most `mass` each.
        return self.value(e) + self.r * mass * _norm(np.ones(len(e)), self._q)

    def multipliers(self, e: HypothesisVector) -> dict[str, float]:
        return {"gamma": _norm(self.edge_sizes(e), self._q)}

    def active(self, e: HypothesisVector, tol: float) -> Active:
        if self.p != 1.0:
            return super().active(e, tol)
        largest = float(self.edge_sizes(e).max())
        return Active(self._active_directions(e, largest - tol), False, self.r, largest <= tol, np.zeros(len(e)))

    def describe_kinks(self, e: HypothesisVector) -> Sequence[str]:
        return [f"e_{q}" for q in np.flatnonzero(self.edge_sizes(e) == 0.0)] if math.isinf(self.p) else []

    def epigraph(self, t: int) -> Epigraph | None:
        if self.p == 2.0:
            return None
        # The rows of further edges come last. If weights are not negative, the variables are not negative either.
        pairs = np.kron(np.eye(t), [[1.0], [-1.0 if self.signed else 0.0]])
        if self.p == 1.0:
            rows = pairs if self.signed else np.concatenate([np.zeros((1, t)), np.eye(t)])
            bound_columns = np.ones((len(rows), 1))
        else:
            rows, bound_columns = pairs, np.kron(np.eye(t), np.ones((2, 1)))
        j, zeros = bound_columns.shape[1], np.zeros(len(rows))
        return Epigraph(rows, -bound_columns, zeros, zeros > 0, np.full(j, self.r), np.zeros((j, j)), np.zeros(t))

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        sizes = self.cvxpy_sizes(e)
        if self.p == 2.0:
            return self.r * cp.norm2(sizes), []
        return self.r * (cp.max(sizes) if self.p == 1.0 else cp.sum(sizes)), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        norm = cp.norm1(w) if self.p == 1.0 else cp.norm2(w) if self.p == 2.0 else cp.norm_inf(w)
        return cp.Constant(0.0), [norm <= self.r, *self.cvxpy_weight_constraints(w)]

    @property
    def _q(self) -> float:
        """The exponent of the dual norm."""
        return {1.0: math.inf, 2.0: 2.0}.get(self.p, 1.0)

    def _scale_into_ball(self, w: HypothesisVector) -> HypothesisVector:
        """Return w scaled into the ball, for any numbers w and any order of summation of the norm."""
        w = clip_to_finite(w)
        if math.isinf(self.p):
            return w.clip(-self.r, self.r)
        length = _norm(np.abs(w), self.p)
        relative_radius = 1.0 - (len(w) + 4) * EPS
        return w if length <= self.r * relative_radius else w * (relative_radius * self.r / length)


@dataclass(frozen=True)
class ElasticEdges(AbsolutePenalty):
    """The elastic net: sum_q max(0, a_q - l1)^2 / (2 l2), for weights with the penalty l1 ||w||_1 + (l2/2) ||w||_2^2.

    Parameters
    ----------
    signed
        Whether weights may be negative.
    l1
        The factor of the 1-norm, at least 0.
    l2
        The factor of half of the squared 2-norm, positive.
    """

    l1: float
    l2: float

    cones: ClassVar[frozenset[str]] = frozenset({"linear", "quadratic"})
    kind: ClassVar[str] = "elastic"

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fields(self, l1=_nonnegative_number, l2=positive_parameter)

    def statement(self) -> dict[str, Any]:
        return {**super().statement(), "l1": self.l1, "l2": self.l2}

    @property
    def zero_cost_edge(self) -> float:
        return self.l1

    def value(self, e: HypothesisVector) -> float:
        return float((self._excess_over_l1(e) ** 2).sum()) / (2.0 * self.l2)

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        return self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float((w**2).sum())

    def slopes(self, a: HypothesisVector) -> HypothesisVector:
        return np.maximum(a - self.l1, 0.0) / self.l2

    def size_gap_terms(self, a: HypothesisVector, u: HypothesisVector) -> HypothesisVector:
        distance = np.maximum(self.l1 - a, 0.0)
        return (np.maximum(a - self.l1, 0.0) - self.l2 * u) ** 2 / (2.0 * self.l2) + u * distance

    def magnitude(self, e: HypothesisVector, w: HypothesisVector, mass: float) -> float:
        slopes = self._excess_over_l1(e) / self.l2
        return self.value(e) + self.conjugate(w) + (mass + self.l1) * float(slopes.sum())

    def value_slack(self, e: HypothesisVector, w: HypothesisVector, mass: float, unit: float) -> float:
        # The second term is that of the squared rounding errors: all that there is for edges of at most l1.
        squared_errors = len(e) * (unit * (mass + self.l1)) ** 2
        return unit * self.magnitude(e, w, mass) + squared_errors / (2.0 * self.l2)

    def epigraph(self, t: int) -> Epigraph | None:
        if self.signed and self.l1 == 0.0:
            zeros = np.zeros(t)
            return Epigraph(None, -np.eye(t), zeros, np.full(t, True), zeros, np.eye(t) / self.l2, zeros)
        # At most one of e and -e exceeds l1, so that each row has its own variable.
        rows = self.rows(t)
        k = t if rows is None else len(rows)
        zeros = np.zeros(k)
        return Epigraph(rows, -np.eye(k), np.full(k, self.l1), zeros > 0, zeros, np.eye(k) / self.l2, np.zeros(t))

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        # Without l1, a solver needs no variables for the sizes of signed edges.
        has_no_kink = self.signed and self.l1 == 0.0
        excess = e if has_no_kink else cp.pos((cp.abs(e) if self.signed else e) - self.l1)
        return cp.sum_squares(excess) / (2.0 * self.l2), []

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        squares = 0.5 * self.l2 * cp.sum_squares(w)
        value = squares if self.l1 == 0.0 else self.l1 * cp.norm1(w) + squares
        return value, self.cvxpy_weight_constraints(w)

    def _excess_over_l1(self, e: HypothesisVector) -> HypothesisVector:
        """Return max(0, a_q - l1)."""
        return np.maximum(self.edge_sizes(e) - self.l1, 0.0)


@dataclass(frozen=True)
class OneNormEdges(AbsolutePenalty):
    """The indicator of edges that do not exceed l1, for weights with the penalty l1 ||w||_1.

    Parameters
    ----------
    signed
        Whether weights may be negative.
    l1
        The factor of the 1-norm, positive.
    """

    l1: float

    cones: ClassVar[frozenset[str]] = frozenset({"linear"})
    kind: ClassVar[str] = "1-norm"

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fields(self, l1=positive_parameter)

    def statement(self) -> dict[str, Any]:
        return {**super().statement(), "l1": self.l1}

    @property
    def zero_cost_edge(self) -> float:
        return self.l1

    def added_hypothesis_cost(self, current_value: float, edge: float) -> float:
        return self.class_bound(edge)

    def class_bound(self, largest: float) -> float:
        return 0.0 if largest <= self.l1 else math.inf

    def value(self, e: HypothesisVector) -> float:
        return 0.0

    def conjugate(self, w: HypothesisVector, start: HypothesisVector | None = None) -> float:
        return self.l1 * float(np.abs(w).sum())

    def slopes(self, a: HypothesisVector) -> HypothesisVector:
        return np.zeros(len(a))

    def size_gap_terms(self, a: HypothesisVector, u: HypothesisVector) -> HypothesisVector:
        return u * np.maximum(self.l1 - a, 0.0)

    def multipliers(self, e: HypothesisVector) -> dict[str, float]:
        return {"gamma": self.l1}

    def active(self, e: HypothesisVector, tol: float) -> Active:
        return Active(self._active_directions(e, self.l1 - tol), False, None, False, np.zeros(len(e)))

    def magnitude(self, e: HypothesisVector, w: HypothesisVector, mass: float) -> float:
        return self.conjugate(w)

    def domain(self, t: int) -> Polyhedron | None:
        return Polyhedron(None, np.full(t, -self.l1 if self.signed else -np.inf), np.full(t, self.l1))

    def candidate_rays(self, w: HypothesisVector) -> Sequence[HypothesisVector]:
        total = float(np.abs(w).sum())
        return [w / total] if total > 0 else []

    def support(self, ray: HypothesisVector) -> float:
        return self.conjugate(ray)

    def epigraph(self, t: int) -> Epigraph | None:
        return Epigraph.from_rows(t, np.full(2 * t if self.signed else t, self.l1), self.rows(t))

    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        return cp.Constant(0.0), [self.cvxpy_sizes(e) <= self.l1]

    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        return self.l1 * cp.norm1(w), self.cvxpy_weight_constraints(w)


def _exponent(name: str, value: object) -> float:
    """Return the exponent of a norm of hypothesis weights."""
    return check_number(name, value, "1, 2 or inf", lambda p: p in (1.0, 2.0, np.inf), error=ProblemError)


def _nonnegative_number(name: str, value: object) -> float:
    """Return a finite number of at least 0."""
    return check_number(name, value, "a number of at least 0", lambda x: 0.0 <= x < np.inf, error=ProblemError)


def _norm(a: HypothesisVector, p: float) -> float:
    """Return ||a||_p for a >= 0 and p = 1, 2 or inf, scaled so that no square overflows or vanishes."""
    largest = float(a.max())
    if largest == 0.0 or math.isinf(p) or not math.isfinite(largest):
        return largest
    return largest * float((a / largest).sum() if p == 1.0 else np.sqrt(((a / largest) ** 2).sum()))
