r"""The l1 program: the smallest sum of weights whose margins reach 1, with slacks at a price.

Primal   min_d         -sum_n d_n
         s.t.  Uᵀd <= 1 : w,   0 <= d <= C c : psi

Dual     max_{w, psi}  -(sum_q w_q + C sum_n c_n psi_n)
         s.t.  U w >= 1 - psi : d,   w >= 0,   psi >= 0

KKT      w_q (1 - e_q) = 0,   psi_n (C c_n - d_n) = 0,   psi_n = max(0, 1 - m_n),
         m_n > 1  =>  d_n = 0,   m_n < 1  =>  d_n = C c_n

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The paper writes b and xi for w and
psi. It minimizes sum b + C sum xi; the values here are MINUS that objective. The weights d need not sum to 1.

The program is exactly LP_REG-AdaBoost in another scaling. Let (w, d) be optimal with w not 0, and let s = sum d. Then w
/ sum w is optimal for nu = s / C, its value there is 1 / s, and its distribution is d / s. If s < C and all c = 1, they
are LP-AdaBoost's. The weights w = 0 are optimal if and only if no edge of the heaviest d exceeds 1, C Uᵀc <= 1. (The
paper derives this program from LP_REG-AdaBoost to first order in S = sum b. Note 8 prints a minimum and a plus where it
is a maximum and a minus, and 1/S = S + O((S - 1)^2) where it is 2 - S + O((S - 1)^2).) In print the margin constraints
run over t = 1 ... T; they run over the examples.

Sources: Raetsch, Onoda, Mueller 2001, (22), note 8. c are multiplicities; the source has c = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt.authoring import (
    POSITIVE,
    Array,
    BoundedEdges,
    Examples,
    Float,
    Formulation,
    Hinge,
    maximize,
    minimize,
    parameter,
)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of the l1 program."""

    C: float = parameter("the price of a unit of slack at one example", POSITIVE)


class L1AdaBoost(Formulation[Parameters]):
    """F = -sum d on 0 <= d <= C c, G = I[e <= 1]."""

    name = "l1_adaboost"
    title = "l1 program"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch, Onoda, Mueller 2001, (22), note 8",)
    Parameters = Parameters
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> Hinge:
        return Hinge(examples.c, p.C)

    def edge_function(self, p: Parameters) -> BoundedEdges:
        return BoundedEdges(1.0)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d = cp.Variable(N, name="d")
        return minimize(-cp.sum(d), subject_to={"w": U.T @ d <= 1, "psi": d <= p.C * examples.c, "d >= 0": d >= 0})

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, psi = cp.Variable(t, name="w"), cp.Variable(N, name="psi")
        return maximize(
            -(cp.sum(w) + p.C * (examples.c @ psi)),
            subject_to={"d": U @ w >= 1 - psi, "w >= 0": w >= 0, "psi >= 0": psi >= 0},
        )
