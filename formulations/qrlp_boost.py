r"""QRLP-Boost: LPBoost with half of Pearson's chi-square, the second-order expansion of a relative entropy.

Primal   min_{d, gamma}   gamma + (1 / (2 eta)) sum_n (d_n - a_n)^2 / a_n
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   d <= c / nu : psi,   d >= 0

Dual     max_{w, r, beta, psi}  -beta - (1/nu) sum_n c_n psi_n - (1 / (2 eta)) sum_n a_n (r_n^2 - 1)
         s.t.  r >= 1 - eta (U w + psi + beta),   r >= 0,   sum w = 1 : gamma,   w >= 0,   psi >= 0

KKT      d_n = min(c_n / nu, a_n max(0, 1 - eta (m_n + beta))),   psi_n (c_n / nu - d_n) = 0,   w_q (gamma - e_q) = 0

Symbols  a : equal shares, a_n = c_n / sum c,   r : weights in shares, r_n = d_n / a_n

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw, and a_n = c_n / sum c are equal
shares. Weights become exactly zero, unlike those of ERLPBoost.

Derivation. Take the relative entropy sum d ln(d / a) on sum d = 1. Its second-order expansion at d = a, where it is 0,
is (1/2) sum (d - a)^2 / a. With x = d / a - 1, the function (1/2) a x^2 / eta has the conjugate a y + eta a y^2 / 2.
Cut off where x = -1, it is (a / eta) (max(0, 1 + eta y)^2 - 1) / 2.

The source expands at the weights of the step before, sum (ln a_n) d_n + d_n^2 / (2 a_n). This is another program after
every step. Repeated to its end, it is Newton's method for ERLPBoost without a reference, whose optimum is not that of
any square. Here the shares a_n stay, and there is one program. In a public implementation (colboost 0.1.5), the steps
end when two values differ by less than 0.99, whatever the margin is, or when a weight reaches 0. Then the weights of
the hypotheses are those of the step before: all 0 if it was the first.

Sources: Akkerman, Ferry, Artigues, Hebrard, Vidal 2025, QRLP-Boost. c are multiplicities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from boostopt.authoring import (
    CANONICAL,
    COUNT,
    POSITIVE,
    Array,
    BoostingSpec,
    CappedSimplex,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    PowerDivergence,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.erlpboost import eta_for_accuracy
from boostopt.formulations.lpboost import edge_constraints, weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of QRLP-Boost."""

    nu: float = parameter("the least number of examples that share the weight: each gets at most c / nu", COUNT)
    epsilon: float = parameter("the accuracy of the soft margin at which boosting stops", POSITIVE, 0.01)
    eta: float = parameter("the inverse strength of the square", POSITIVE, CANONICAL)


class QRLPBoost(Formulation[Parameters]):
    """F = (1/eta) half of Pearson's chi-square + I[d in C_nu], G = the largest edge."""

    name = "qrlp_boost"
    title = "QRLP-Boost"
    sources: ClassVar[tuple[str, ...]] = ("Akkerman, Ferry, Artigues, Hebrard, Vidal 2025, QRLP-Boost",)
    Parameters = Parameters
    is_symmetric = True
    boosting: ClassVar[BoostingSpec] = BoostingSpec(rules=("direct", "regularized"))
    needs_all_examples = False

    def fill_parameters(self, p: Parameters, examples: Examples) -> Parameters:
        if not math.isnan(p.eta):
            return p
        return replace(p, eta=eta_for_accuracy(self.regularizer(replace(p, eta=1.0), examples), p.epsilon))

    def regularizer(self, p: Parameters, examples: Examples) -> PowerDivergence:
        return PowerDivergence(CappedSimplex(examples.c, p.nu), 2.0, p.eta)

    def edge_function(self, p: Parameters) -> MaximumEdge:
        return MaximumEdge()

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma, a = cp.Variable(N, name="d"), cp.Variable(name="gamma"), examples.c / examples.total
        return minimize(
            gamma + 1 / (2 * p.eta) * cp.sum(cp.multiply(1 / a, cp.square(d - a))),
            subject_to={
                **edge_constraints(gamma, U.T @ d, False),
                "beta": cp.sum(d) == 1,
                "psi": d <= examples.c / p.nu,
                "d >= 0": d >= 0,
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, r = cp.Variable(t, name="w"), cp.Variable(N, name="r")
        beta, psi = cp.Variable(name="beta"), cp.Variable(N, name="psi")
        a = examples.c / examples.total
        return maximize(
            -beta - (1 / p.nu) * (examples.c @ psi) - (1 / (2 * p.eta)) * (a @ (cp.square(r) - 1)),
            subject_to={
                "r": r >= 1 - p.eta * (U @ w + psi + beta),
                "r >= 0": r >= 0,
                **weight_constraints(w, False),
                "psi >= 0": psi >= 0,
            },
        )
