r"""Binary ERLPBoost: ERLPBoost with the binary entropy of each weight and its cap, so that no weight reaches its cap.

Primal   min_{d, gamma}   gamma + (1/eta) sum_n [ d_n ln(d_n / d0_n)
                                                 + (c_n / nu - d_n) ln((c_n / nu - d_n) / (c_n / nu - d0_n)) ]
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta

Dual     max_{w, beta}    -(1/(eta nu)) sum_n c_n ln(1 - p_n + p_n exp(-eta ((U w)_n + beta))) - beta
         s.t.  sum w = 1 : gamma,   w >= 0

KKT      (1/eta) [ ln(d_n / d0_n) - ln((c_n / nu - d_n) / (c_n / nu - d0_n)) ] + m_n + beta = 0,   w_q (gamma - e_q) = 0

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw, and p_n = nu d0_n / c_n. The domain 0
<= d <= c / nu is implied and has no multiplier (KKT system 3.3.4 is printed with one, psi). The weight d_n = (c_n / nu)
sigmoid(ln(p_n / (1 - p_n)) - eta (m_n + beta)) reaches neither end of this domain unless d0_n is at this end; then d_n
= d0_n for every w. So d0 must lie within the caps. At nu = sum c, uniform d0 is at all caps and nothing can move: d =
d0, the optimum is the largest edge under d0, and every beta is right. Given w, beta is the root of sum d = 1 and lies
in [-max m, -min m].

With eta = max((2 / epsilon) C, 1/2), boosting ends after at most 16 eta / epsilon hypotheses, at a soft margin within
epsilon of the best. Here C is the largest value of the binary entropy. For uniform d0 it is at most (N / nu) H(nu / N)
<= ln(N / nu) + 1 with H(x) = -x ln x - (1 - x) ln(1 - x). Theorem 3.23 is printed with ln(N / nu), which is too small.

Sources: Glocer 2009, (3.25), (3.26), (3.27), algorithm 3.3, theorem 3.21. c are multiplicities; the source has c = 1
and uniform d0. The two-sided program is as on ERLPBoost's page.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit

from boostopt.authoring import Array, BinaryEntropy, Examples, Float, maximize, minimize
from boostopt.formulations.erlpboost import ERLPBoost, Parameters
from boostopt.formulations.lpboost import edge_constraints, weight_constraints


class BinaryERLPBoost(ERLPBoost):
    """F = (1/eta) binary relative entropy + I[sum d = 1], G as ERLPBoost's."""

    name = "binary_erlpboost"
    title = "Binary ERLPBoost"
    sources: ClassVar[tuple[str, ...]] = ("Glocer 2009, (3.25), (3.26), (3.27), algorithm 3.3, theorem 3.21",)
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> BinaryEntropy:
        return BinaryEntropy.capped(examples.c, p.nu, p.eta, examples.d0)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        F = self.regularizer(p, examples)
        return minimize(
            gamma + (1 / p.eta) * binary_entropy(d, F),
            subject_to={
                **edge_constraints(gamma, U.T @ d, p.two_sided),
                "beta": cp.sum(d) == 1,
                **fixed_weight_constraints(d, F),
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        _, t = U.shape
        w, beta = cp.Variable(t, name="w"), cp.Variable(name="beta")
        F = self.regularizer(p, examples)
        return maximize(
            -(1 / p.eta) * sum_log_mean_exp(-p.eta * (U @ w + beta), F) - beta,
            subject_to=weight_constraints(w, p.two_sided),
        )


def binary_entropy(d: Any, F: BinaryEntropy) -> Any:
    """Return the binary relative entropy of d to F's reference, within F's caps, over the weights that can move."""
    import cvxpy as cp

    free = np.flatnonzero(F.movable)
    if not len(free):
        return cp.Constant(0.0)
    d, d0, caps = d[free], F.d0[free], F.caps[free]
    return cp.sum(cp.rel_entr(d, d0)) + cp.sum(cp.rel_entr(caps - d, caps - d0))


def fixed_weight_constraints(d: Any, F: BinaryEntropy) -> dict[str, Any]:
    """Return the constraint that weights whose reference is 0 or at its cap stay there, or nothing for none."""
    fixed = np.flatnonzero(~F.movable)
    return {"d = d0 where d0 = 0 or d0 = c / nu": d[fixed] == F.fixed_weights[fixed]} if len(fixed) else {}


def sum_log_mean_exp(y: Any, F: BinaryEntropy) -> Any:
    """Return sum_n u_n ln(1 - p_n + p_n exp(y_n)), u = c / nu the caps, p = d0 / u."""
    import cvxpy as cp

    free, fixed = np.flatnonzero(F.movable), np.flatnonzero(~F.movable)
    logit = F.logit[free]
    # ln(1 - p + p exp(y)) = ln(1 - p) + ln(1 + exp(logit p + y)); for p = 0 it is 0, for p = 1 it is y.
    free_terms = F.caps[free] @ (log_expit(-logit) + cp.logistic(logit + y[free])) if len(free) else 0.0
    return free_terms + (F.fixed_weights[fixed] @ y[fixed] if len(fixed) else 0.0)
