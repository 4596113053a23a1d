r"""LP_REG-AdaBoost: the largest margin with slacks, each unit of slack at a price.

Primal   min_{d, gamma}      gamma
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   0 <= d <= C c : psi

Dual     max_{w, rho, psi}   rho - C sum_n c_n psi_n
         s.t.  U w >= rho - psi : d,   sum w = 1 : gamma,   w >= 0,   psi >= 0

KKT      w_q (gamma - e_q) = 0,   psi_n (C c_n - d_n) = 0,   psi_n = max(0, rho - m_n),
         m_n > rho  =>  d_n = 0,   m_n < rho  =>  d_n = C c_n

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw, and beta = -rho. The paper writes c,
varrho and xi for w, rho and psi. C is the price for one example: the program is LPBoost with nu = 1 / C, and 1 / C
bounds the number of margin errors. The paper prints the price C / T with T hypotheses in some places and C in others.
Only with a price C / N for N examples is its 1 / C a bound of their fraction, and that C is N times the C here. At C =
1 (all c = 1), no slack need be used, and the program is LP-AdaBoost. If C is below 1 / sum c, the primal is empty and
the dual unbounded.

If the program is two-sided, the primal bounds |Uᵀd| by gamma, with the multipliers w^+ and w^- and w = w^+ - w^-. The
dual then has ||w||_1 <= 1.

Sources: Raetsch, Onoda, Mueller 2001, section 4.2, figure 12. c are multiplicities; the source has c = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt.authoring import (
    COUNT,
    FLAG,
    POSITIVE,
    AbsoluteEdge,
    Array,
    BoostingSpec,
    CappedSimplex,
    CappedSimplexIndicator,
    Domain,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.lpboost import edge_constraints, largest_edge_function, weight_constraints

RECIPROCAL_COUNT = Domain(
    "[1 / sum of c, 1]", lambda value, examples: value > 0.0 and COUNT.contains(1.0 / value, examples)
)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of LP_REG-AdaBoost."""

    C: float = parameter("the price of a unit of slack at one example, 1 / nu", RECIPROCAL_COUNT)
    epsilon: float = parameter("the accuracy of the soft margin at which boosting stops", POSITIVE, 0.01)
    two_sided: bool = parameter("whether edges count without sign and hypothesis weights may be negative", FLAG, False)


class LPRegAdaBoost(Formulation[Parameters]):
    """F = I[d in C_nu] with nu = 1 / C, G = max or max | |."""

    name = "lp_reg_adaboost"
    title = "LP_REG-AdaBoost"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch, Onoda, Mueller 2001, section 4.2, figure 12",)
    Parameters = Parameters
    is_symmetric = True
    boosting: ClassVar[BoostingSpec] = BoostingSpec(rules=("direct",))
    needs_all_examples = False

    def regularizer(self, p: Parameters, examples: Examples) -> CappedSimplexIndicator:
        return CappedSimplexIndicator(CappedSimplex(examples.c, 1.0 / p.C))

    def edge_function(self, p: Parameters) -> MaximumEdge | AbsoluteEdge:
        return largest_edge_function(p.two_sided)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        return minimize(
            gamma,
            subject_to={
                **edge_constraints(gamma, U.T @ d, p.two_sided),
                "beta": cp.sum(d) == 1,
                "psi": d <= p.C * examples.c,
                "d >= 0": d >= 0,
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, rho, psi = cp.Variable(t, name="w"), cp.Variable(name="rho"), cp.Variable(N, name="psi")
        return maximize(
            rho - p.C * (examples.c @ psi),
            subject_to={
                "d": U @ w >= rho - psi,
                **weight_constraints(w, p.two_sided),
                "psi >= 0": psi >= 0,
            },
        )
