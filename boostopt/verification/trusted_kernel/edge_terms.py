"""Values, conjugates and domains of G from its statements, over any number type.

G is a convex function of the edges e = Uᵀd, and G* one of the hypothesis weights w. The formulas follow the papers and
not the modules that solve; tests compare the two.

Sources: Glocer 2009, (2.1), (3.1), (3.6); Raetsch, Onoda, Mueller 2001, figure 14; Shen, Li, van den Hengel 2013.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.conjugates import Vector
from boostopt.verification.trusted_kernel.number_types import OPERATION_ERROR, NumberType


@dataclass(frozen=True)
class EdgeTerms:
    """An edge function G.

    Attributes
    ----------
    value
        e -> G(e), for e that satisfy the constraints of G.
    conjugate
        w -> G*(w), for w in its domain.
    weight_constraint
        The domain of the hypothesis weights: "simplex", "ball", "signed", "positive", "tied" or "given".
    max_edge
        gamma of e <= gamma; inf for none.
    fixed_edge
        rho of e = rho; nan for none.
    fixed_weight
        The weight of every hypothesis if `weight_constraint` is "given".
    absolute
        Whether `max_edge` bounds |e|.
    norm, radius
        A norm of the hypothesis weights, or an upper bound of it, that must be at most `radius`; None for none.
    """

    value: Callable[[Vector], Any]
    conjugate: Callable[[Vector], Any]
    weight_constraint: str
    max_edge: float = math.inf
    fixed_edge: float = math.nan
    fixed_weight: float = 0.0
    absolute: bool = False
    norm: Callable[[Vector], Any] | None = None
    radius: float = 1.0


def build_edge_terms(A: NumberType, G: Mapping[str, Any]) -> EdgeTerms:
    """Return the edge function of a statement, which has a kind and numbers."""
    if G["kind"] not in EDGE_KINDS:
        raise ValueError(f"the kind of the edge function is unknown: {G['kind']!r}")
    return EDGE_KINDS[G["kind"]].terms(A, G)


def _zero_function(A: NumberType) -> Callable[[Vector], Any]:
    """Return the function that is 0."""
    zero = A.to_number(0.0)
    return lambda x: zero


def _bounded_terms(A: NumberType, gamma: float) -> EdgeTerms:
    """Return the indicator of edges of at most gamma."""
    return EdgeTerms(_zero_function(A), lambda w: A.total(w) * A.to_number(gamma), "positive", max_edge=gamma)


def _fixed_terms(A: NumberType, rho: float) -> EdgeTerms:
    """Return the indicator of edges equal to rho."""
    return EdgeTerms(_zero_function(A), lambda w: A.total(w) * A.to_number(rho), "signed", fixed_edge=rho)


def _linear_terms(A: NumberType, slope: float) -> EdgeTerms:
    """Return slope times the sum of the edges."""
    return EdgeTerms(lambda e: A.total(e) * A.to_number(slope), _zero_function(A), "given", fixed_weight=slope)


def _squared_terms(A: NumberType, signed: bool) -> EdgeTerms:
    """Return a quarter of the sum of the squared edges, or of their squared positive parts."""
    quarter = A.to_number(0.25)
    if signed:
        return EdgeTerms(lambda e: A.total(e * e) * quarter, lambda w: A.total(w * w), "signed")
    return EdgeTerms(lambda e: A.total(A.positive(e) * A.positive(e)) * quarter, lambda w: A.total(w * w), "positive")


def _penalty_terms(A: NumberType, G: Mapping[str, Any]) -> EdgeTerms:
    """Return a penalty of |w|, for weights of any sign or for non-negative weights."""

    def two_norm(x: Vector) -> Any:
        """Return an upper bound of ||x||_2: exact arithmetic has no root and needs none."""
        return A.to_number(math.sqrt(float(A.upper(A.total(x * x)))) * (1.0 + 4.0 * OPERATION_ERROR))

    kind, weights = G["kind"], "signed" if G["signed"] else "positive"
    sizes = A.absolute if G["signed"] else A.positive
    if kind == "ball":
        r, p = float(G["r"]), float(G["p"])
        dual: Callable[[Vector], Any] = {1.0: A.largest, 2.0: two_norm}.get(p, A.total)
        norm = {1.0: lambda w: A.total(A.absolute(w)), 2.0: two_norm}.get(p, lambda w: A.largest(A.absolute(w)))
        zero = A.to_number(0.0)
        return EdgeTerms(lambda e: dual(sizes(e)) * A.to_number(r), lambda w: zero, weights, norm=norm, radius=r)
    l1 = A.to_number(float(G["l1"]))
    if kind == "1-norm":
        bound = float(G["l1"])
        return EdgeTerms(
            lambda e: A.to_number(0.0),
            lambda w: A.total(A.absolute(w)) * l1,
            weights,
            max_edge=bound,
            absolute=bool(G["signed"]),
        )
    l2 = A.to_number(float(G["l2"]))

    def value(e: Vector) -> Any:
        x = sizes(e) - l1
        # A size that is certainly below l1 contributes 0, without the uncertainty of l1.
        is_linear = A.select(A.upper(x) > 0, A.positive(x), A.to_vector(np.zeros(len(A.upper(x)))))
        return A.total(is_linear * is_linear) / (l2 + l2)

    return EdgeTerms(value, lambda w: A.total(A.absolute(w)) * l1 + A.total(w * w) * l2 * A.to_number(0.5), weights)


@dataclass(frozen=True)
class EdgeKind:
    """A kind of G.

    Attributes
    ----------
    terms
        Function of the number type and of a statement of this kind.
    fields
        The names of the numbers in a statement.
    """

    terms: Callable[[NumberType, Mapping[str, Any]], EdgeTerms]
    fields: tuple[str, ...] = ()


EDGE_KINDS: Mapping[str, EdgeKind] = {
    "maximum": EdgeKind(lambda A, G: EdgeTerms(A.largest, _zero_function(A), "simplex")),
    "absolute": EdgeKind(lambda A, G: EdgeTerms(lambda e: A.largest(A.absolute(e)), _zero_function(A), "ball")),
    "bounded": EdgeKind(lambda A, G: _bounded_terms(A, float(G["gamma"])), ("gamma",)),
    "fixed": EdgeKind(lambda A, G: _fixed_terms(A, float(G["rho"])), ("rho",)),
    "squared": EdgeKind(lambda A, G: _squared_terms(A, signed=True)),
    "squared positive": EdgeKind(lambda A, G: _squared_terms(A, signed=False)),
    "ball": EdgeKind(_penalty_terms, ("signed", "p", "r")),
    "elastic": EdgeKind(_penalty_terms, ("signed", "l1", "l2")),
    "1-norm": EdgeKind(_penalty_terms, ("signed", "l1")),
    "linear": EdgeKind(lambda A, G: _linear_terms(A, float(G["slope"])), ("slope",)),
    "tied": EdgeKind(lambda A, G: EdgeTerms(lambda e: e[1], _zero_function(A), "tied")),
}
"""The kinds of G, with their numbers in files and their formulas."""


def bound_over_class(A: NumberType, G: Mapping[str, Any], largest: Any) -> Any:
    """Return an upper bound of G over any number of edges of at most `largest`; None if there is none.

    Where G takes edges without their sign, the class must contain the negations of its hypotheses.
    """
    kind = G["kind"]
    if kind in ("maximum", "absolute"):
        return largest
    if kind == "ball" and float(G["p"]) == 1.0:
        return A.positive(largest) * A.to_number(float(G["r"]))
    if kind in ("bounded", "1-norm"):
        level = A.to_number(float(G["gamma"] if kind == "bounded" else G["l1"]))
        return A.to_number(0.0) if A.is_certainly_nonnegative(level - largest) else None
    return None
