r"""QP_REG-AdaBoost: the smallest squared norm of non-negative weights whose margins reach 1, with slacks at a price.

Primal   min_d         -sum_n d_n + (1/4) sum_q max(0, (Uᵀd)_q)^2
         s.t.  0 <= d <= C c : psi

Dual     max_{w, psi}  -(sum_q w_q^2 + C sum_n c_n psi_n)
         s.t.  U w >= 1 - psi : d,   w >= 0,   psi >= 0

KKT      w_q = max(0, e_q) / 2,   psi_n (C c_n - d_n) = 0,   psi_n = max(0, 1 - m_n),
         m_n > 1  =>  d_n = 0,   m_n < 1  =>  d_n = C c_n

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The paper writes b and xi for w and
psi. It minimizes ||b||^2 + C sum xi; the values here are MINUS that objective. The weights d need not sum to 1, and w
is unique. In print the price of a slack is C / T with T hypotheses, and the margin constraints run over t = 1 ... T.
Here C is the price for one example, and there is a constraint for each example.

Sources: Raetsch, Onoda, Mueller 2001, figure 14. c are multiplicities; the source has c = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt.authoring import (
    POSITIVE,
    Array,
    EdgeFunction,
    Examples,
    Float,
    Formulation,
    Hinge,
    SquaredPositiveEdges,
    maximize,
    minimize,
    parameter,
)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of QP_REG-AdaBoost."""

    C: float = parameter("the price of a unit of slack at one example", POSITIVE)


class QPRegAdaBoost(Formulation[Parameters]):
    """F = -sum d on 0 <= d <= C c, G = a quarter of the squares of the positive edges."""

    name = "qp_reg_adaboost"
    title = "QP_REG-AdaBoost"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch, Onoda, Mueller 2001, figure 14",)
    Parameters = Parameters
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> Hinge:
        return Hinge(examples.c, p.C)

    def edge_function(self, p: Parameters) -> EdgeFunction:
        return SquaredPositiveEdges()

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d = cp.Variable(N, name="d")
        return minimize(
            -cp.sum(d) + 0.25 * cp.sum_squares(cp.pos(U.T @ d)),
            subject_to={"psi": d <= p.C * examples.c, "d >= 0": d >= 0},
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, psi = cp.Variable(t, name="w"), cp.Variable(N, name="psi")
        return maximize(
            -(cp.sum_squares(w) + p.C * (examples.c @ psi)),
            subject_to={"d": U @ w >= 1 - psi, "w >= 0": w >= 0, "psi >= 0": psi >= 0},
        )
