r"""LP-AdaBoost: the largest hard margin of a convex combination of hypotheses.

Primal   min_{d, gamma}   gamma
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   d >= 0

Dual     max_{w, rho}     rho
         s.t.  U w >= rho : d,   sum w = 1 : gamma,   w >= 0

KKT      w_q (gamma - e_q) = 0,   d_n (m_n - rho) = 0

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw, and beta = -rho. The dual is the
smallest margin of w. Its maximum is the value of the matrix game between examples and hypotheses. A copy of an example
changes nothing, so multiplicities do not enter: the program is LPBoost at nu = 1 if every c is at least 1.

If the program is two-sided, the primal bounds |Uᵀd| by gamma, with the multipliers w^+ and w^- and w = w^+ - w^-. The
dual then has ||w||_1 <= 1.

Sources: Grove and Schuurmans 1998; Raetsch, Onoda, Mueller 2001, (20), (21).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt.authoring import (
    FLAG,
    POSITIVE,
    AbsoluteEdge,
    Array,
    BoostingSpec,
    CappedSimplexIndicator,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    maximize,
    minimize,
    parameter,
    simplex,
)
from boostopt.formulations.lpboost import edge_constraints, largest_edge_function, weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of LP-AdaBoost."""

    epsilon: float = parameter("the accuracy of the margin at which boosting stops", POSITIVE, 0.01)
    two_sided: bool = parameter("whether edges count without sign and hypothesis weights may be negative", FLAG, False)


class LPAdaBoost(Formulation[Parameters]):
    """F = I[d in the simplex], G = max or max | |."""

    name = "lp_adaboost"
    title = "LP-AdaBoost"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch, Onoda, Mueller 2001, (20), (21)",)
    Parameters = Parameters
    is_symmetric = True
    boosting: ClassVar[BoostingSpec] = BoostingSpec(rules=("direct",))

    def regularizer(self, p: Parameters, examples: Examples) -> CappedSimplexIndicator:
        return simplex(examples.c)

    def edge_function(self, p: Parameters) -> MaximumEdge | AbsoluteEdge:
        return largest_edge_function(p.two_sided)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        return minimize(
            gamma,
            subject_to={**edge_constraints(gamma, U.T @ d, p.two_sided), "beta": cp.sum(d) == 1, "d >= 0": d >= 0},
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        _, t = U.shape
        w, rho = cp.Variable(t, name="w"), cp.Variable(name="rho")
        return maximize(rho, subject_to={"d": U @ w >= rho, **weight_constraints(w, p.two_sided)})
