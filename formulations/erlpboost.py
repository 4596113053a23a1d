r"""ERLPBoost: LPBoost with a relative entropy, so that d is unique and the rounds are bounded.

Primal   min_{d, gamma}   gamma + (1/eta) sum_n d_n ln(d_n / d0_n)
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   d <= c / nu : psi

Dual     max_{w, psi}     -(1/eta) ln sum_n d0_n exp(-eta ((U w)_n + psi_n)) - (1/nu) sum_n c_n psi_n
         s.t.  sum w = 1 : gamma,   w >= 0,   psi >= 0

KKT      (1/eta) ln(d_n / d0_n) + m_n + psi_n + beta = 0,   psi_n (c_n / nu - d_n) = 0,   w_q (gamma - e_q) = 0

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The beta of the KKT system is that of
the unnormalised entropy, 1/eta above the one of (3.16) and of the primal as printed. If psi and beta are eliminated, d
is a function of w, the capped softmax d_n = min(c_n / nu, d0_n exp(-eta (m_n + beta))). The optimum is within max Delta
/ eta of the soft margin.

If the program is two-sided, edges count without their sign. The primal then has -gamma <= Uᵀd <= gamma with the
multipliers w^- and w^+, and w = w^+ - w^-. The dual has sum |w| <= 1 with the multiplier gamma, in place of sum w = 1
and w >= 0.

With eta = max((2 / epsilon) ln(N / nu), 1/2), boosting ends after at most 16 eta / epsilon hypotheses, at a soft margin
within epsilon of the best. For general c and d0, the range of the entropy on C_nu takes the place of ln(N / nu). If you
pass an eta below 1/2, it counts as 1/2 in the bound: 1/2 is the smallest eta for which a step is sure to gain delta^2 /
(8 eta). If you pass an eta below (2 / epsilon) ln(N / nu), the same number of hypotheses brings the regularized program
within epsilon / 2 of its optimum, but gives no bound for the soft margin.

Sources: Warmuth, Glocer, Vishwanathan 2008; Glocer 2009, (3.6), (3.10), (3.11), theorem 3.10; two-sided:
Shalev-Shwartz and Singer 2008, figure 1. c are multiplicities; the sources have c = 1 and uniform d0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from boostopt.authoring import (
    CANONICAL,
    COUNT,
    FLAG,
    POSITIVE,
    AbsoluteEdge,
    Array,
    BoostingSpec,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    Program,
    Regularizer,
    RelativeEntropy,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.lpboost import edge_constraints, largest_edge_function, weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of ERLPBoost."""

    nu: float = parameter("the least number of examples that share the weight: each gets at most c / nu", COUNT)
    epsilon: float = parameter("the accuracy of the soft margin at which boosting stops", POSITIVE, 0.01)
    eta: float = parameter("the inverse strength of the entropy", POSITIVE, CANONICAL)
    two_sided: bool = parameter("whether edges count without sign and hypothesis weights may be negative", FLAG, False)


def iteration_bound(program: Program) -> float:
    """Return the number of hypotheses after which the soft margin is within epsilon of the best, or inf if unknown.

    After 16 eta / epsilon hypotheses, the gap of the regularized program is at most epsilon / 2, for every eta. If the
    entropy may cost more than epsilon / 2, this says nothing about the soft margin.
    """
    p = program.parameters
    return 16.0 * max(p.eta, 0.5) / p.epsilon if program.regularizer.smoothing_within(p.epsilon) else math.inf


class ERLPBoost(Formulation[Parameters]):
    """F = (1/eta) relative entropy + I[d in C_nu], G = max, two-sided the largest absolute edge."""

    name = "erlpboost"
    title = "ERLPBoost"
    sources: ClassVar[tuple[str, ...]] = (
        "Warmuth, Glocer, Vishwanathan 2008",
        "Glocer 2009, (3.6), (3.10), (3.11), theorem 3.10",
    )
    Parameters = Parameters
    is_symmetric = True
    uses_reference = True
    boosting: ClassVar[BoostingSpec] = BoostingSpec(rules=("direct", "regularized"), iteration_bound=iteration_bound)
    needs_all_examples = False

    def fill_parameters(self, p: Parameters, examples: Examples) -> Parameters:
        if not math.isnan(p.eta):
            return p
        return replace(p, eta=eta_for_accuracy(self.regularizer(replace(p, eta=1.0), examples), p.epsilon))

    def regularizer(self, p: Parameters, examples: Examples) -> Regularizer:
        return RelativeEntropy.capped(examples.c, p.nu, p.eta, examples.d0)

    def edge_function(self, p: Parameters) -> MaximumEdge | AbsoluteEdge:
        return largest_edge_function(p.two_sided)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        return minimize(
            gamma + (1 / p.eta) * relative_entropy(d, examples.d0),
            subject_to={
                **edge_constraints(gamma, U.T @ d, p.two_sided),
                "beta": cp.sum(d) == 1,
                "psi": d <= examples.c / p.nu,
                **zero_weight_constraints(d, examples.d0),
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, psi = cp.Variable(t, name="w"), cp.Variable(N, name="psi")
        return maximize(
            -(1 / p.eta) * log_mean_exp(-p.eta * (U @ w + psi), examples.d0) - (1 / p.nu) * (examples.c @ psi),
            subject_to={**weight_constraints(w, p.two_sided), "psi >= 0": psi >= 0},
        )


def entropy_range(entropy: Regularizer) -> float:
    """Return the largest value of an entropy on its domain less the smallest."""
    return max(entropy.price, 0.0)


def eta_for_accuracy(entropy: Regularizer, epsilon: float) -> float:
    """Return the eta at which the entropy, given with eta = 1, costs at most epsilon / 2 of the soft margin."""
    return max(2.0 / epsilon * entropy_range(entropy), 0.5)


def relative_entropy(d: Any, d0: Float[Array, " N"]) -> Any:
    """Return sum_n d_n ln(d_n / d0_n) over the examples with d0_n > 0."""
    import cvxpy as cp

    support = np.flatnonzero(d0)
    return cp.sum(cp.rel_entr(d[support], d0[support]))


def zero_weight_constraints(d: Any, d0: Float[Array, " N"]) -> dict[str, Any]:
    """Return the constraint that examples without reference weight have no weight, or nothing if there are none."""
    zero_indices = np.flatnonzero(d0 == 0)
    return {"d = 0 where d0 = 0": d[zero_indices] == 0} if len(zero_indices) else {}


def log_mean_exp(y: Any, d0: Float[Array, " N"]) -> Any:
    """Return ln sum_n d0_n exp(y_n)."""
    import cvxpy as cp

    support = np.flatnonzero(d0)
    return cp.log_sum_exp(np.log(d0[support]) + y[support])
