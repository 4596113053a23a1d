r"""NM-Boost: the largest sum of the margins, where margins below a level count twice.

Primal   min_{d, gamma}   gamma - theta sum_n (d_n - C c_n)
         s.t.  Uᵀd <= gamma : w,   C c <= d <= (1 + C) c

Dual     max_{w, s}       sum_n c_n (C m_n + s_n)
         s.t.  m = U w : d,   s <= m - theta,   s <= 0,   sum w = 1 : gamma,   w >= 0

KKT      s_n = min(0, m_n - theta),   m_n > theta  =>  d_n = C c_n,   m_n < theta  =>  d_n = (1 + C) c_n,
         w_q (gamma - e_q) = 0

Symbols  s : what the margins lack to theta, at most 0

Multipliers are named after the colon. The edges are e = Uᵀd. The weights d do not sum to 1.

Derivation. Take each term alone. The maximum of -d m + c (C m + min(0, m - theta)) over all m is finite only if d / c
lies between C and 1 + C. It is attained at m = theta and is (C c - d) theta.

The source takes 1 / t for theta, with t the number of hypotheses at hand. This gives another program in every round. So
values cannot be compared, and column generation need not end. Here theta is a number, 0 by default, and the program
stays the same. In a public implementation (colboost 0.1.5), the next hypothesis is chosen by the multipliers of m = U w
plus those of s <= m - theta. The multipliers d of m = U w hold the others already, so examples below the level count
with 2 + C in place of 1 + C.

Sources: Akkerman, Ferry, Artigues, Hebrard, Vidal 2025, NM-Boost. c are multiplicities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt.authoring import (
    EDGE,
    POSITIVE,
    Array,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    Shortfall,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.lpboost import edge_constraints, weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of NM-Boost."""

    C: float = parameter("the price of the sum of the margins", POSITIVE)
    theta: float = parameter("the margin below which an example counts a second time", EDGE, 0.0)


class NMBoost(Formulation[Parameters]):
    """F = -theta sum (d - C c) on C c <= d <= (1 + C) c, G = the largest edge."""

    name = "nm_boost"
    title = "NM-Boost"
    sources: ClassVar[tuple[str, ...]] = ("Akkerman, Ferry, Artigues, Hebrard, Vidal 2025, NM-Boost",)
    Parameters = Parameters
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> Shortfall:
        return Shortfall(examples.c, p.C, p.theta)

    def edge_function(self, p: Parameters) -> MaximumEdge:
        return MaximumEdge()

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma, c = cp.Variable(N, name="d"), cp.Variable(name="gamma"), examples.c
        return minimize(
            gamma - p.theta * cp.sum(d - p.C * c),
            subject_to={
                **edge_constraints(gamma, U.T @ d, False),
                "d >= C c": d >= p.C * c,
                "d <= (1 + C) c": d <= (1 + p.C) * c,
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, m, s = cp.Variable(t, name="w"), cp.Variable(N, name="m"), cp.Variable(N, name="s")
        return maximize(
            examples.c @ (p.C * m + s),
            subject_to={
                "d": m == U @ w,
                "s <= m - theta": s <= m - p.theta,
                "s <= 0": s <= 0,
                **weight_constraints(w, False),
            },
        )
