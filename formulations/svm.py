r"""Support vector machine: the smallest squared norm of weights of either sign whose margins reach 1, with slacks.

Primal   min_d         -sum_n d_n + (1/4) sum_q (Uᵀd)_q^2
         s.t.  0 <= d <= C c : psi

Dual     max_{w, psi}  -(sum_q w_q^2 + C sum_n c_n psi_n)
         s.t.  U w >= 1 - psi : d,   psi >= 0

KKT      w = e / 2,   psi_n (C c_n - d_n) = 0,   psi_n = max(0, 1 - m_n),
         m_n > 1  =>  d_n = 0,   m_n < 1  =>  d_n = C c_n

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The program is QP_REG-AdaBoost without
w >= 0: a linear support vector machine without a bias, whose features are the hypotheses. The values are MINUS (||w||^2
+ C sum c psi). In the customary scaling, (1/2) ||w||^2 + C' sum psi, the price is C' = C / 2 and the weights are d / 2.
QP_REG-AdaBoost gets a weight of either sign from a column and its negative together, with the same value.

Sources: Cortes and Vapnik 1995. c are multiplicities.
"""

from __future__ import annotations

from typing import Any, ClassVar

from boostopt.authoring import Array, Examples, Float, SquaredEdges, maximize, minimize
from boostopt.formulations.qp_reg_adaboost import Parameters, QPRegAdaBoost


class SVM(QPRegAdaBoost):
    """F = -sum d on 0 <= d <= C c, G = a quarter of the squares of the edges."""

    name = "svm"
    title = "Support vector machine"
    sources: ClassVar[tuple[str, ...]] = ("Cortes and Vapnik 1995",)
    needs_all_examples = False
    is_symmetric = True

    def edge_function(self, p: Parameters) -> SquaredEdges:
        return SquaredEdges()

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d = cp.Variable(N, name="d")
        return minimize(
            -cp.sum(d) + 0.25 * cp.sum_squares(U.T @ d),
            subject_to={"psi": d <= p.C * examples.c, "d >= 0": d >= 0},
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, psi = cp.Variable(t, name="w"), cp.Variable(N, name="psi")
        return maximize(
            -(cp.sum_squares(w) + p.C * (examples.c @ psi)),
            subject_to={"d": U @ w >= 1 - psi, "psi >= 0": psi >= 0},
        )
