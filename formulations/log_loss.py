r"""Logarithmic loss: the smallest logistic loss of a convex combination of hypotheses.

Primal   min_{d, gamma}   gamma + (1/eta) sum_n [ d_n ln(2 d_n / c_n) + (c_n - d_n) ln(2 (c_n - d_n) / c_n) ]
         s.t.  Uᵀd <= gamma : w

Dual     max_w            -(1/eta) sum_n c_n ln((1 + exp(-eta (U w)_n)) / 2)
         s.t.  sum w = 1 : gamma,   w >= 0

KKT      d_n = c_n / (1 + exp(eta m_n)),   w_q (gamma - e_q) = 0

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The loss (1/eta) sum c ln(1 + exp(-eta
m)) is (sum c) (ln 2) / eta minus the value of the dual. The weights d lie between 0 and c, where the primal is finite,
and do not sum to 1. The ratio d_n / c_n is the probability of an error that the logistic model gives to the example.

If the program is two-sided, the primal bounds |Uᵀd| by gamma, with the multipliers w^+ and w^- and w = w^+ - w^-. The
dual then has ||w||_1 <= 1. This is logistic regression on the hypotheses with a bound eta on the 1-norm of its
coefficients eta w.

Sources: Shalev-Shwartz and Singer 2008, section 6. c are multiplicities; the source has c = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.authoring import (
    FLAG,
    POSITIVE,
    AbsoluteEdge,
    Array,
    Examples,
    Float,
    Formulation,
    LogarithmicLoss,
    MaximumEdge,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.lpboost import edge_constraints, largest_edge_function, weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of the logarithmic loss."""

    eta: float = parameter("the scale of the margins in the loss, and the bound of the 1-norm", POSITIVE, 1.0)
    two_sided: bool = parameter("whether edges count without sign and hypothesis weights may be negative", FLAG, False)


class LogLoss(Formulation[Parameters]):
    """F = (1/eta) binary entropy of d / c on the box, G = max or max | |."""

    name = "log_loss"
    title = "Logarithmic loss"
    sources: ClassVar[tuple[str, ...]] = ("Shalev-Shwartz and Singer 2008, section 6",)
    Parameters = Parameters
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> LogarithmicLoss:
        return LogarithmicLoss.from_multiplicities(examples.c, p.eta)

    def edge_function(self, p: Parameters) -> MaximumEdge | AbsoluteEdge:
        return largest_edge_function(p.two_sided)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma, c = cp.Variable(N, name="d"), cp.Variable(name="gamma"), examples.c
        entropy = cp.sum(cp.rel_entr(d, c / 2)) + cp.sum(cp.rel_entr(c - d, c / 2))
        return minimize(gamma + (1 / p.eta) * entropy, subject_to=edge_constraints(gamma, U.T @ d, p.two_sided))

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        _, t = U.shape
        w = cp.Variable(t, name="w")
        loss = examples.c @ (cp.logistic(-p.eta * (U @ w)) - np.log(2))
        return maximize(-(1 / p.eta) * loss, subject_to=weight_constraints(w, p.two_sided))
