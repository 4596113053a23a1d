r"""ERLPBoost: LPBoost with a relative entropy, so that the answer is unique and the rounds are bounded.

Primal   min_{d, gamma}   gamma + (1/eta) sum_n d_n ln(d_n / d0_n)
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   d <= c / nu : psi

Dual     max_{w, psi}     -(1/eta) ln sum_n d0_n exp(-eta ((U w)_n + psi_n)) - (1/nu) sum_n c_n psi_n
         s.t.  sum w = 1 : gamma,   w >= 0,   psi >= 0

KKT      (1/eta) ln(d_n / d0_n) + m_n + psi_n + beta = 0,   psi_n (c_n / nu - d_n) = 0,   w_q (gamma - e_q) = 0

Multipliers are named after the colon; e = Uᵀd, m = Uw. The beta of the KKT system is that of the unnormalised entropy,
1/eta above the one of (3.16) and of the primal as printed. With psi and beta gone d is a function of w, the capped
softmax d_n = min(c_n / nu, d0_n exp(-eta (m_n + beta))), and the optimum is within max Delta / eta of the soft margin.

With eta = max((2 / epsilon) ln(N / nu), 1/2) boosting ends after at most 16 eta / epsilon hypotheses at a soft margin
within epsilon of the best. For general c and d0, ln(N / nu) is the range of the entropy on C_nu.

Sources: Warmuth, Glocer, Vishwanathan 2008; Glocer 2009, (3.6), (3.10), (3.11), theorem 3.10. c are multiplicities;
the sources have c = 1 and uniform d0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostopt.authoring import (
    CANONICAL,
    COUNT,
    POSITIVE,
    Array,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    RelativeEntropy,
    maximize,
    minimize,
    parameter,
)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of ERLPBoost."""

    nu: float = parameter("the number of examples that must at least share the weight: the cap is c / nu", COUNT)
    epsilon: float = parameter("the accuracy of the soft margin at which boosting stops", POSITIVE, 0.01)
    eta: float = parameter("the inverse strength of the entropy", POSITIVE, CANONICAL)


class ERLPBoost(Formulation[Parameters]):
    """F = (1/eta) relative entropy + I[d in C_nu], G = max."""

    name = "erlpboost"
    title = "ERLPBoost"
    sources = ("Warmuth, Glocer, Vishwanathan 2008", "Glocer 2009, (3.6), (3.10), (3.11), theorem 3.10")
    Parameters = Parameters
    takes_reference = True
    stopping_rules = ("direct", "regularized")
    final_weights = "program"

    def canonical(self, p: Parameters, examples: Examples) -> Parameters:
        if not math.isnan(p.eta):
            return p
        entropy = RelativeEntropy.capped(examples.c, p.nu, 1.0, examples.d0)
        entropy_range = entropy.span - entropy.value(entropy.project(None))
        return replace(p, eta=max(2.0 / p.epsilon * entropy_range, 0.5))

    def iteration_bound(self, p: Parameters, examples: Examples) -> float:
        return 16.0 * p.eta / p.epsilon

    def regularizer(self, p: Parameters, examples: Examples) -> RelativeEntropy:
        return RelativeEntropy.capped(examples.c, p.nu, p.eta, examples.d0)

    def edge_function(self, p: Parameters) -> MaximumEdge:
        return MaximumEdge()

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        live, dead = np.flatnonzero(examples.d0), np.flatnonzero(examples.d0 == 0)
        return minimize(
            gamma + (1 / p.eta) * cp.sum(cp.rel_entr(d[live], examples.d0[live])),
            subject_to={
                "w": U.T @ d <= gamma,
                "beta": cp.sum(d) == 1,
                "psi": d <= examples.c / p.nu,
                **({"d = 0 where d0 = 0": d[dead] == 0} if len(dead) else {}),
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, psi = cp.Variable(t, name="w"), cp.Variable(N, name="psi")
        live = np.flatnonzero(examples.d0)
        exponent = np.log(examples.d0[live]) - p.eta * (U @ w + psi)[live]
        return maximize(
            -(1 / p.eta) * cp.log_sum_exp(exponent) - (1 / p.nu) * (examples.c @ psi),
            subject_to={
                "gamma": cp.sum(w) == 1,
                "w >= 0": w >= 0,
                "psi >= 0": psi >= 0,
            },
        )
