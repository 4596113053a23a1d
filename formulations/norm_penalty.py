r"""Norm penalty: the largest margin with a price on the p-norm of the example weights, in place of a cap.

Primal   min_{d, gamma}   gamma + r ||d||_p + (1/eta) sum_n d_n ln(d_n / d0_n)
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   d >= 0

Dual     max_{w, s}       -(1/eta) ln sum_n d0_n exp(-eta ((U w)_n + s_n))
         s.t.  ||s||_q <= r : norm d,   sum w = 1 : gamma,   w >= 0,   s >= 0

         max_{w, rho, s}  rho   for eta = inf
         s.t.  U w >= rho - s : d,   ||s||_q <= r : norm d,   sum w = 1 : gamma,   w >= 0,   s >= 0

KKT      s = r times a subgradient of ||d||_p: s_n = r (d_n / (c_n ||d||_p))^(p-1) for p < inf,
         (1/eta) ln(d_n / d0_n) + m_n + s_n + beta = 0,   w_q (gamma - e_q) = 0,
         for eta = inf   s_n = max(0, rho - m_n),   d_n (m_n + s_n - rho) = 0,   beta = -rho

Multipliers are named after the colon; that of ||s||_q <= r is ||d||_p. The edges are e = Uᵀd, the margins m = Uw, and
1/p + 1/q = 1. The norms are those of the copies of the examples, as on the page of the norm ball. So are eta, d0,
`two_sided` and the bound of the rounds. Ball and penalty trace the same answers: an optimum of the penalty is an
optimum of the ball whose radius is its norm. With p = inf the penalty chooses the cap: w and d are LPBoost's for the nu
= 1 / ||d||_inf that results.

The theorem is stated for every norm. It holds for norms that depend only on the absolute values |d_n|.

Sources: Shalev-Shwartz and Singer 2008, example 2, theorems 7 and 9, figure 1. c are multiplicities; the source has
c = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt.authoring import (
    EXPONENT,
    FLAG,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    AbsoluteEdge,
    Array,
    BoostingSpec,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    NormPenalty,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.erlpboost import iteration_bound
from boostopt.formulations.lpboost import edge_constraints, largest_edge_function, weight_constraints
from boostopt.formulations.norm_ball import (
    cvxpy_dual_norm,
    cvxpy_norm,
    entropy_if_finite,
    entropy_on_simplex,
    soft_minimum_margin,
)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of the norm penalty."""

    r: float = parameter("the strength of the penalty", POSITIVE)
    p: float = parameter("the exponent of the norm", EXPONENT, 2.0)
    epsilon: float = parameter("the accuracy of the margin at which boosting stops", POSITIVE, 0.01)
    eta: float = parameter("the inverse strength of the entropy; inf leaves it out", POSITIVE_OR_INFINITE, math.inf)
    two_sided: bool = parameter("whether edges count without sign and hypothesis weights may be negative", FLAG, False)


class NormPenaltyBoost(Formulation[Parameters]):
    """F = r ||d||_p + (1/eta) relative entropy on the simplex, G = max, two-sided the largest absolute edge."""

    name = "norm_penalty"
    title = "Norm penalty"
    sources: ClassVar[tuple[str, ...]] = ("Shalev-Shwartz and Singer 2008, example 2, theorems 7 and 9, figure 1",)
    Parameters = Parameters
    is_symmetric = True
    uses_reference = True
    boosting: ClassVar[BoostingSpec] = BoostingSpec(rules=("direct",), iteration_bound=iteration_bound)

    def regularizer(self, p: Parameters, examples: Examples) -> NormPenalty:
        return NormPenalty(entropy_on_simplex(p.eta, examples), examples.c, p.p, p.r)

    def edge_function(self, p: Parameters) -> MaximumEdge | AbsoluteEdge:
        return largest_edge_function(p.two_sided)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        entropy, entropy_constraints = entropy_if_finite(d, p.eta, examples)
        return minimize(
            gamma + p.r * cvxpy_norm(d, p.p, examples.c) + entropy,
            subject_to={
                **edge_constraints(gamma, U.T @ d, p.two_sided),
                "beta": cp.sum(d) == 1,
                "d >= 0": d >= 0,
                **entropy_constraints,
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, s = cp.Variable(t, name="w"), cp.Variable(N, name="s")
        margin, margin_constraints = soft_minimum_margin(U @ w, s, p.eta, examples)
        return maximize(
            margin,
            subject_to={
                **margin_constraints,
                "norm d": cvxpy_dual_norm(s, p.p, examples.c) <= p.r,
                **weight_constraints(w, p.two_sided),
                "s >= 0": s >= 0,
            },
        )
