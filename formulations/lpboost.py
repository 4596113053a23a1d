r"""LPBoost: the largest soft margin of a convex combination of hypotheses.

Primal   min_{d, gamma}      gamma
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   0 <= d <= c / nu : psi

Dual     max_{w, rho, psi}   rho - (1/nu) sum_n c_n psi_n
         s.t.  U w >= rho - psi : d,   sum w = 1 : gamma,   w >= 0,   psi >= 0

KKT      w_q (gamma - e_q) = 0,   psi_n (c_n / nu - d_n) = 0,   psi_n = max(0, rho - m_n),
         m_n > rho  =>  d_n = 0,   m_n < rho  =>  d_n = c_n / nu

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw, and beta = -rho. If psi and rho are
eliminated, the dual is the soft margin of w: the average margin of the nu examples with the smallest margins. At nu = 1
(all c = 1), the program is hard-margin LPBoost. Neither d nor w need be unique, so what boosting does with them depends
on the solver.

If the program is two-sided, edges count without their sign. The primal then has -gamma <= Uᵀd <= gamma with the
multipliers w^- and w^+, and w = w^+ - w^-. The dual has sum |w| <= 1 with the multiplier gamma, in place of sum w = 1
and w >= 0. This is the same program for the class closed under negation, with one column for each pair.

No bound of the rounds is known. There are problems on which LPBoost needs N / 2 rounds.

Sources: Demiriz, Bennett, Shawe-Taylor 2002; Glocer 2009, (2.1)-(2.3), algorithm 2.1 (psi is printed with a min, but it
is the max); Warmuth, Glocer, Raetsch 2007, (1), (2); two-sided: Shalev-Shwartz and Singer 2008, (2), (3), corollary 5
(for integer nu, but any real nu is possible). c are multiplicities; the sources have c = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt.authoring import (
    COUNT,
    FLAG,
    POSITIVE,
    AbsoluteEdge,
    Array,
    BoostingSpec,
    CappedSimplex,
    CappedSimplexIndicator,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    maximize,
    minimize,
    parameter,
)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of LPBoost."""

    nu: float = parameter("the least number of examples that share the weight: each gets at most c / nu", COUNT)
    epsilon: float = parameter("the accuracy of the soft margin at which boosting stops", POSITIVE, 0.01)
    two_sided: bool = parameter("whether edges count without sign and hypothesis weights may be negative", FLAG, False)


class LPBoost(Formulation[Parameters]):
    """F = I[d in C_nu], G = max, two-sided the largest absolute edge."""

    name = "lpboost"
    title = "LPBoost"
    sources: ClassVar[tuple[str, ...]] = (
        "Glocer 2009, (2.1)-(2.3), algorithm 2.1",
        "Warmuth, Glocer, Raetsch 2007, (1), (2)",
        "Shalev-Shwartz and Singer 2008, (2), (3)",
    )
    Parameters = Parameters
    is_symmetric = True
    boosting: ClassVar[BoostingSpec] = BoostingSpec(rules=("direct", "optimum"), smoothed_formulation="erlpboost")
    needs_all_examples = False

    def regularizer(self, p: Parameters, examples: Examples) -> CappedSimplexIndicator:
        return CappedSimplexIndicator(CappedSimplex(examples.c, p.nu))

    def edge_function(self, p: Parameters) -> MaximumEdge | AbsoluteEdge:
        return largest_edge_function(p.two_sided)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        return minimize(
            gamma,
            subject_to={
                **edge_constraints(gamma, U.T @ d, p.two_sided),
                "beta": cp.sum(d) == 1,
                "psi": d <= examples.c / p.nu,
                "d >= 0": d >= 0,
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, rho, psi = cp.Variable(t, name="w"), cp.Variable(name="rho"), cp.Variable(N, name="psi")
        return maximize(
            rho - (1 / p.nu) * (examples.c @ psi),
            subject_to={
                "d": U @ w >= rho - psi,
                **weight_constraints(w, p.two_sided),
                "psi >= 0": psi >= 0,
            },
        )


def largest_edge_function(two_sided: bool) -> MaximumEdge | AbsoluteEdge:
    """Return G, the largest edge with its sign or without."""
    return AbsoluteEdge() if two_sided else MaximumEdge()


def edge_constraints(gamma: Any, edges: Any, two_sided: bool) -> dict[str, Any]:
    """Return the constraints that make gamma the largest edge, labelled with the weights of the hypotheses."""
    return {"w+": edges <= gamma, "w-": -edges <= gamma} if two_sided else {"w": edges <= gamma}


def weight_constraints(w: Any, two_sided: bool) -> dict[str, Any]:
    """Return the constraints on the weights of the hypotheses: the 1-norm ball, or the simplex."""
    import cvxpy as cp

    return {"gamma": cp.norm1(w) <= 1} if two_sided else {"gamma": cp.sum(w) == 1, "w >= 0": w >= 0}
