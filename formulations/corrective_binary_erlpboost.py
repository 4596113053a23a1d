r"""Corrective Binary ERLPBoost: Binary ERLPBoost on two columns, the mixture so far and the new hypothesis.

Primal   min_{d, gamma}    gamma + (1/eta) sum_n [ d_n ln(d_n / d0_n)
                                                  + (c_n / nu - d_n) ln((c_n / nu - d_n) / (c_n / nu - d0_n)) ]
         s.t.  v . d <= gamma : w_v,   u . d <= gamma : w_u,   sum d = 1 : beta

Dual     max_{w, beta}     -(1/(eta nu)) sum_n c_n ln(1 - p_n + p_n exp(-eta (w_v v_n + w_u u_n + beta))) - beta
         s.t.  w_v + w_u = 1 : gamma,   w >= 0

KKT      (1/eta) [ ln(d_n / d0_n) - ln((c_n / nu - d_n) / (c_n / nu - d0_n)) ] + m_n + beta = 0,
         w_v (gamma - v . d) = 0,   w_u (gamma - u . d) = 0

Printed  u . d in place of gamma, v . d - u . d = 0 : w_v in place of the two bounds, and w free in sign

Columns, names and the meaning of `segment` are those of Corrective ERLPBoost. The caps and p_n = nu d0_n / c_n are
those of Binary ERLPBoost. The next mixture has the margins m = w_v v + w_u u. Each round finds beta anew, because the
last inequality of section 4.3, with beta kept from the round before, does not hold. Without `segment`, the program is
(4.12) and (4.13). It is infeasible if u - v or v - u has a positive soft margin, and its dual has no psi (4.15 is
printed with one).

Sources: Glocer 2009, algorithm 4.3, (4.12), (4.13). c are multiplicities; the source has c = 1 and uniform d0.
"""

from __future__ import annotations

from typing import Any, ClassVar

from boostopt.authoring import Array, BinaryEntropy, Examples, Float, maximize, minimize
from boostopt.formulations.binary_erlpboost import binary_entropy, fixed_weight_constraints, sum_log_mean_exp
from boostopt.formulations.corrective_erlpboost import (
    CorrectiveERLPBoost,
    Parameters,
    edge_and_constraints,
    mixture_margins,
)


class CorrectiveBinaryERLPBoost(CorrectiveERLPBoost):
    """F = (1/eta) binary relative entropy + I[sum d = 1], G as Corrective ERLPBoost's."""

    name = "corrective_binary_erlpboost"
    title = "Corrective Binary ERLPBoost"
    sources: ClassVar[tuple[str, ...]] = ("Glocer 2009, algorithm 4.3, (4.12), (4.13)",)
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> BinaryEntropy:
        return BinaryEntropy.capped(examples.c, p.nu, p.eta, examples.d0)

    def primal(self, U: Float[Array, "N 2"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        d = cp.Variable(examples.N, name="d")
        edge, edge_constraints = edge_and_constraints(U, d, p.segment)
        F = self.regularizer(p, examples)
        return minimize(
            edge + (1 / p.eta) * binary_entropy(d, F),
            subject_to={**edge_constraints, "beta": cp.sum(d) == 1, **fixed_weight_constraints(d, F)},
        )

    def dual(self, U: Float[Array, "N 2"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        m, weight_constraints = mixture_margins(U, p.segment)
        beta = cp.Variable(name="beta")
        F = self.regularizer(p, examples)
        return maximize(
            -(1 / p.eta) * sum_log_mean_exp(-p.eta * (m + beta), F) - beta,
            subject_to=weight_constraints,
        )
