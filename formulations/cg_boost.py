r"""CG-Boost: the hinge loss with half of the squared 2-norm of weights that are not negative.

Primal   min_d         -sum_n d_n + (1/2) sum_q max(0, (Uᵀd)_q)^2
         s.t.  0 <= d <= C c : psi

Dual     max_{w, psi}  -((1/2) sum_q w_q^2 + C sum_n c_n psi_n)
         s.t.  U w >= 1 - psi : d,   w >= 0,   psi >= 0

KKT      w_q = max(0, e_q),   psi_n (C c_n - d_n) = 0,   psi_n = max(0, 1 - m_n),
         m_n > 1  =>  d_n = 0,   m_n < 1  =>  d_n = C c_n

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The values are MINUS the objective as
printed.

Derivation. The Lagrangian of the dual is (1/2) ||w||^2 + C sum c psi - d . (U w - 1 + psi) with d >= 0. Over w >= 0 it
is smallest at w_q = max(0, e_q), where its part in w is -(1/2) sum max(0, e_q)^2. Over psi >= 0 it is bounded if d <= C
c. The program is QP_REG-AdaBoost with half of the square in place of the square. The C of QP_REG-AdaBoost is twice the
C here, and so are its weights d.

In a public implementation (colboost 0.1.5), column generation ends when the edge of a new hypothesis is no larger than
the largest edge of those at hand. This is the rule of a linear program. Here every hypothesis with a positive edge
lowers the objective, because w_q = e_q, so that run ends too early.

Sources: Bi, Zhang, Bennett 2004. c are multiplicities.
"""

from __future__ import annotations

from typing import Any, ClassVar

from boostopt.authoring import Array, ElasticEdges, Examples, Float, Formulation, Hinge, maximize, minimize
from boostopt.formulations.qp_reg_adaboost import Parameters


class CGBoost(Formulation[Parameters]):
    """F = -sum d on 0 <= d <= C c, G = half of the squares of the positive edges."""

    name = "cg_boost"
    title = "CG-Boost"
    sources: ClassVar[tuple[str, ...]] = ("Bi, Zhang, Bennett 2004",)
    Parameters = Parameters
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> Hinge:
        return Hinge(examples.c, p.C)

    def edge_function(self, p: Parameters) -> ElasticEdges:
        return ElasticEdges(signed=False, l1=0.0, l2=1.0)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d = cp.Variable(N, name="d")
        return minimize(
            -cp.sum(d) + 0.5 * cp.sum_squares(cp.pos(U.T @ d)),
            subject_to={"psi": d <= p.C * examples.c, "d >= 0": d >= 0},
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, psi = cp.Variable(t, name="w"), cp.Variable(N, name="psi")
        return maximize(
            -(0.5 * cp.sum_squares(w) + p.C * (examples.c @ psi)),
            subject_to={"d": U @ w >= 1 - psi, "w >= 0": w >= 0, "psi >= 0": psi >= 0},
        )
