r"""MDBoost: a large mean of the margins with a small variance.

Primal   min_{d, gamma}   gamma + ((sum c - 1) / (2 D)) sum_n (d_n - c_n / sum c)^2 / c_n
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta

Dual     max_w            mean(m) - (D/2) var(m)
         s.t.  m = U w : d,   sum w = 1 : gamma,   w >= 0

KKT      d_n = c_n / sum c - D c_n (m_n - mean(m)) / (sum c - 1),   beta = -mean(m),   w_q (gamma - e_q) = 0

Multipliers are named after the colon. The edges are e = Uᵀd. Mean and variance are those of the copies of the examples,
mean(m) = sum_n c_n m_n / sum c and var(m) = sum_n c_n (m_n - mean(m))^2 / (sum c - 1). The variance contains the full
covariance: every pair of margins counts. The weights d sum to 1 and may be negative: an example whose margin is far
above the mean is held back.

Derivation. The source minimizes (1/2) rᵀA r - 1ᵀr for the margins r = U v of weights v >= 0 with sum v = D. The matrix
A has 1 on its diagonal and -1 / (M - 1) elsewhere, so that rᵀA r = M var(r). With v = D w, and divided by -M D, this is
the dual here. The conjugate of (D/2) var(m) - mean(m) is a square on sum d = 1, because the vector of ones is a null
vector of the matrix. F also has the box |d_n / c_n - 1 / sum c| <= 2 D / (sum c - 1). The box never binds, because m_n
- mean(m) never leaves [-2, 2].

In a public implementation (colboost 0.1.5), the code has the identity in place of the matrix A. So large margins are
punished for being large and not for being unequal. Negative weights are cut off at 0 before the next hypothesis is
chosen, so the run ends at the optimum of no program. Its value, with the matrix A, is M D times the value here.

Sources: Shen and Li 2010b, IEEE Transactions on Neural Networks 21 (4), (7) to (13). c are multiplicities; the source
has c = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt.authoring import (
    POSITIVE,
    Array,
    Examples,
    Float,
    Formulation,
    MarginVariance,
    MaximumEdge,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.lpboost import edge_constraints, weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of MDBoost."""

    D: float = parameter(
        "the sum of the unscaled hypothesis weights: the price of half of the variance", POSITIVE, 10.0
    )


class MDBoost(Formulation[Parameters]):
    """F = a weighted square around equal shares with sum d = 1, G = the largest edge."""

    name = "md_boost"
    title = "MDBoost"
    sources: ClassVar[tuple[str, ...]] = (
        "Shen and Li 2010b, IEEE Transactions on Neural Networks 21 (4), (7) to (13)",
    )
    Parameters = Parameters
    needs_all_examples = False
    is_symmetric = True

    def regularizer(self, p: Parameters, examples: Examples) -> MarginVariance:
        return MarginVariance(examples.c, p.D)

    def edge_function(self, p: Parameters) -> MaximumEdge:
        return MaximumEdge()

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma, c = cp.Variable(N, name="d"), cp.Variable(name="gamma"), examples.c
        squares = cp.sum(cp.multiply(1 / c, cp.square(d - c / examples.total)))
        return minimize(
            gamma + (examples.total - 1) / (2 * p.D) * squares,
            subject_to={**edge_constraints(gamma, U.T @ d, False), "beta": cp.sum(d) == 1},
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, m, c = cp.Variable(t, name="w"), cp.Variable(N, name="m"), examples.c
        mean = c @ m / examples.total
        variance = cp.sum(cp.multiply(c, cp.square(m - mean))) / (examples.total - 1)
        return maximize(mean - 0.5 * p.D * variance, subject_to={"d": m == U @ w, **weight_constraints(w, False)})
