r"""Binary SoftBoost: SoftBoost with the binary relative entropy in place of entropy and cap.

Primal   min_d          sum_n [ d_n ln(d_n / d0_n) + (c_n / nu - d_n) ln((c_n / nu - d_n) / (c_n / nu - d0_n)) ]
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta

Dual     max_{w, beta}  -(1/nu) sum_n c_n ln(1 - p_n + p_n exp(-((U w)_n + beta))) - beta - gamma sum_q w_q
         s.t.  w >= 0

KKT      ln(d_n / d0_n) - ln((c_n / nu - d_n) / (c_n / nu - d0_n)) + m_n + beta = 0,   w_q (gamma - e_q) = 0

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw, and p_n = nu d0_n / c_n. This program
relates to Binary ERLPBoost as SoftBoost relates to ERLPBoost. With kappa = sum w, its dual value at w is kappa
(D_kappa(w / kappa) - gamma), where D_eta is Binary ERLPBoost's dual value. The sources do not print it. The binary
entropy is as strongly convex as the relative entropy, so SoftBoost's bound holds: at most floor(2 C / epsilon^2) + 1
hypotheses, with C the largest value of the binary entropy. Over decision stumps, boosting uses histogram Newton, as for
SoftBoost.

The reference d0 must lie within the caps. A weight whose reference is 0 or at its cap stays there. If there is no such
weight, the program is infeasible if and only if LPBoost's soft margin is above gamma. At equality, the optimum may lie
at the caps, where the dual is not attained.

Sources: Glocer 2009, (3.1) with the entropy of (3.25). c are multiplicities.
"""

from __future__ import annotations

from typing import Any, ClassVar

from boostopt.authoring import Array, BinaryEntropy, Examples, Float, maximize, minimize
from boostopt.formulations.binary_erlpboost import binary_entropy, fixed_weight_constraints, sum_log_mean_exp
from boostopt.formulations.softboost import Parameters, SoftBoost


class BinarySoftBoost(SoftBoost):
    """F = binary relative entropy + I[sum d = 1], G = I[e <= gamma]."""

    name = "binary_softboost"
    title = "Binary SoftBoost"
    sources: ClassVar[tuple[str, ...]] = ("Glocer 2009, (3.1) with the entropy of (3.25)",)
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> BinaryEntropy:
        return BinaryEntropy.capped(examples.c, p.nu, 1.0, examples.d0)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d = cp.Variable(N, name="d")
        F = self.regularizer(p, examples)
        return minimize(
            binary_entropy(d, F),
            subject_to={"w": U.T @ d <= p.gamma, "beta": cp.sum(d) == 1, **fixed_weight_constraints(d, F)},
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        _, t = U.shape
        w, beta = cp.Variable(t, name="w"), cp.Variable(name="beta")
        F = self.regularizer(p, examples)
        return maximize(
            -sum_log_mean_exp(-(U @ w + beta), F) - beta - p.gamma * cp.sum(w),
            subject_to={"w >= 0": w >= 0},
        )
