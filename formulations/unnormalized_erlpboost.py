r"""Unnormalized ERLPBoost: the same optimum, with a dual that is a sum over the examples.

Primal   min_{d, gamma}     gamma + (1/eta) sum_n (d_n ln(d_n / d0_n) - d_n + d0_n)
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   d <= c / nu : psi

Dual     max_{w, psi, beta} (1/eta) sum_n (d0_n - d0_n exp(-eta ((U w)_n + psi_n + beta)))
                            - (1/nu) sum_n c_n psi_n - beta
         s.t.  sum w = 1 : gamma,   w >= 0,   psi >= 0

KKT      (1/eta) ln(d_n / d0_n) + m_n + psi_n + beta = 0,   psi_n (c_n / nu - d_n) = 0,   w_q (gamma - e_q) = 0

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. On the simplex, the terms -d_n + d0_n
add up to 0. So the primal, its answer and the bound of the rounds are ERLPBoost's, and this beta is the one of both KKT
systems. Only the dual differs: beta is kept, any value of it gives a lower bound, and there is no logarithm of a sum.
Maximized over beta, it is ERLPBoost's dual.

(3.19) is printed with one d0_n outside the sum and with sum w = q. Correct are d0_n in every term and sum w = 1.

Sources: Glocer 2009, (3.18), (3.19), (3.20). c are multiplicities; the source has c = 1 and uniform d0. The two-sided
program is as on ERLPBoost's page.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from boostopt.authoring import Array, Examples, Float, RelativeEntropy, UnnormalizedRelativeEntropy, maximize, minimize
from boostopt.formulations.erlpboost import ERLPBoost, Parameters, relative_entropy, zero_weight_constraints
from boostopt.formulations.lpboost import edge_constraints, weight_constraints


class UnnormalizedERLPBoost(ERLPBoost):
    """F = (1/eta) unnormalized relative entropy + I[d in C_nu], G as ERLPBoost's."""

    name = "unnormalized_erlpboost"
    title = "Unnormalized ERLPBoost"
    sources: ClassVar[tuple[str, ...]] = ("Glocer 2009, (3.18), (3.19), (3.20)",)
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> RelativeEntropy:
        return UnnormalizedRelativeEntropy.capped(examples.c, p.nu, p.eta, examples.d0)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        return minimize(
            gamma + (1 / p.eta) * (relative_entropy(d, examples.d0) - cp.sum(d) + np.sum(examples.d0)),
            subject_to={
                **edge_constraints(gamma, U.T @ d, p.two_sided),
                "beta": cp.sum(d) == 1,
                "psi": d <= examples.c / p.nu,
                **zero_weight_constraints(d, examples.d0),
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, psi, beta = cp.Variable(t, name="w"), cp.Variable(N, name="psi"), cp.Variable(name="beta")
        support = np.flatnonzero(examples.d0)
        d0 = examples.d0[support]
        weights = cp.exp(np.log(d0) - p.eta * (U @ w + psi + beta)[support])
        return maximize(
            (1 / p.eta) * cp.sum(d0 - weights) - (1 / p.nu) * (examples.c @ psi) - beta,
            subject_to={**weight_constraints(w, p.two_sided), "psi >= 0": psi >= 0},
        )
