r"""LogitBoost-CG: the logistic loss at a given sum of the hypothesis weights, minimized exactly in each round.

Primal   min_{d, gamma}   D gamma + sum_n [ d_n ln(d_n / c_n) + (c_n - d_n) ln((c_n - d_n) / c_n) ]
         s.t.  Uᵀd <= gamma : w,   gamma >= 0

Dual     max_w            -sum_n c_n ln(1 + exp(-(U w)_n))
         s.t.  sum w <= D : gamma,   w >= 0

KKT      d_n = c_n / (1 + exp(m_n)),   w_q (gamma - e_q) = 0,   gamma (D - sum w) = 0

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The value is MINUS the logistic loss,
in the scale of the source. The program is the pair `logistic+l1_ball` with C = 1 and r = D.

Derivation. Take each term alone. The maximum of -d m - c ln(1 + exp(-m)) over all m is minus the binary entropy of d /
c, times c. The source has sum v = D. With sum v <= D, the value is the same as long as some hypothesis has a positive
edge at the optimum. Beyond that D, the loss does not rise with D.

Sources: Shen and Li 2010, IEEE Transactions on Pattern Analysis and Machine Intelligence 32 (12), arXiv 0901.3590,
LogitBoost-CG. c are multiplicities; the source has c = 1.
"""

from __future__ import annotations

from typing import Any, ClassVar

from boostopt.authoring import Array, BallEdges, Examples, Float, Formulation, Logistic, maximize, minimize
from boostopt.formulations.adaboost_cg import Parameters


class LogitBoostCG(Formulation[Parameters]):
    """F = minus the binary entropy of d / c on the box, G = D times the largest edge that is positive."""

    name = "logitboost_cg"
    title = "LogitBoost-CG"
    sources: ClassVar[tuple[str, ...]] = (
        "Shen and Li 2010, IEEE Transactions on Pattern Analysis and Machine Intelligence 32 (12), arXiv 0901.3590",
    )
    Parameters = Parameters
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> Logistic:
        return Logistic.priced(examples.c, 1.0)

    def edge_function(self, p: Parameters) -> BallEdges:
        return BallEdges(signed=False, p=1.0, r=p.D)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma, c = cp.Variable(N, name="d"), cp.Variable(name="gamma"), examples.c
        entropy = cp.sum(cp.rel_entr(d, c)) + cp.sum(cp.rel_entr(c - d, c))
        return minimize(p.D * gamma + entropy, subject_to={"w": U.T @ d <= gamma, "gamma >= 0": gamma >= 0})

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        _, t = U.shape
        w = cp.Variable(t, name="w")
        loss = examples.c @ cp.logistic(-(U @ w))
        return maximize(-loss, subject_to={"gamma": cp.sum(w) <= p.D, "w >= 0": w >= 0})
