r"""AdaBoost-CG: AdaBoost's exponential loss at a given sum of the hypothesis weights, minimized exactly in each round.

Primal   min_{d, gamma}   gamma + (1/D) sum_n d_n ln(d_n sum c / c_n)
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta

Dual     max_w            -(1/D) ln( (1 / sum c) sum_n c_n exp(-D (U w)_n) )
         s.t.  sum w = 1 : gamma,   w >= 0

KKT      d_n proportional to c_n exp(-D m_n),   w_q (gamma - e_q) = 0

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The program is ERLPBoost without a
cap, with eta = D.

Derivation. The source minimizes ln sum_n exp(-(U v)_n) over v >= 0 with sum v = D. This is the logarithm of AdaBoost's
loss, restricted to a ball of the 1-norm. Put v = D w, subtract ln sum c, and divide by -D: the result is the dual here.
The conjugate of the logarithm of a sum of exponentials is the relative entropy on the simplex. If the examples can be
separated, AdaBoost's own loss, without a bound on the sum, has no minimum. The constraint of the source, D = 1 / T,
prevents this.

Sources: Shen and Li 2010, IEEE Transactions on Pattern Analysis and Machine Intelligence 32 (12), arXiv 0901.3590,
AdaBoost-CG. c are multiplicities; the source has c = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.authoring import (
    POSITIVE,
    Array,
    Examples,
    Float,
    Formulation,
    LogExponentialLoss,
    MaximumEdge,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.erlpboost import log_mean_exp, relative_entropy, zero_weight_constraints
from boostopt.formulations.lpboost import edge_constraints, weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of the losses for which Shen and Li fix the sum of the weights."""

    D: float = parameter("the sum of the unscaled hypothesis weights", POSITIVE, 10.0)


class AdaBoostCG(Formulation[Parameters]):
    """F = (1/D) relative entropy on the simplex, G = the largest edge."""

    name = "adaboost_cg"
    title = "AdaBoost-CG"
    sources: ClassVar[tuple[str, ...]] = (
        "Shen and Li 2010, IEEE Transactions on Pattern Analysis and Machine Intelligence 32 (12), arXiv 0901.3590",
    )
    Parameters = Parameters
    is_symmetric = True
    uses_reference = True
    needs_all_examples = False

    def regularizer(self, p: Parameters, examples: Examples) -> LogExponentialLoss:
        return LogExponentialLoss.capped(np.ones(examples.N), 1.0, p.D, examples.d0)

    def edge_function(self, p: Parameters) -> MaximumEdge:
        return MaximumEdge()

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        return minimize(
            gamma + (1 / p.D) * relative_entropy(d, examples.d0),
            subject_to={
                **edge_constraints(gamma, U.T @ d, False),
                "beta": cp.sum(d) == 1,
                **zero_weight_constraints(d, examples.d0),
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        _, t = U.shape
        w = cp.Variable(t, name="w")
        return maximize(-(1 / p.D) * log_mean_exp(-p.D * (U @ w), examples.d0), subject_to=weight_constraints(w, False))
