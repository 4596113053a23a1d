r"""SoftBoost: the distribution nearest to d0 under which every hypothesis has an edge below a bound.

Primal   min_d         sum_n d_n ln(d_n / d0_n)
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   d <= c / nu : psi

Dual     max_{w, psi}  -ln sum_n d0_n exp(-((U w)_n + psi_n)) - gamma sum_q w_q - (1/nu) sum_n c_n psi_n
         s.t.  w >= 0,   psi >= 0

KKT      ln(d_n / d0_n) + m_n + psi_n + beta = 0,   psi_n (c_n / nu - d_n) = 0,   w_q (gamma - e_q) = 0

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The bound gamma is a parameter: the
smallest edge that the oracle has returned, less epsilon. The beta of the KKT system is that of the unnormalised
entropy, 1 above the one of the primal as printed. The sum of the weights w is free. Lemma 3.1 is printed with sum w = 1
in the dual, and its proof with factors eta. Both are wrong: the dual has neither. With kappa = sum w and ERLPBoost's
dual value D_eta,

    D(w) = kappa (D_kappa(w / kappa) - gamma)

SoftBoost is ERLPBoost with an eta that the dual chooses.

If every d0_n is positive, the program is infeasible if and only if the soft margin P_LP that LPBoost finds is above
gamma. (An example with d0_n = 0 has no weight here, so P_LP is that of the others.) This is the normal end of boosting:
then some w / sum w has a soft margin above gamma, and that w is the proof. (The source says that the
uniform distribution is always feasible, and that the multipliers of this last program are the final weights. But this
program has no multipliers.) At gamma = P_LP, the dual need not attain the optimum.

Each round raises the optimum by epsilon^2 / 2 or more. So boosting ends after at most floor(2 C_Delta / epsilon^2) + 1
hypotheses, where C_Delta <= ln(N / nu) is the range of the entropy on C_nu. (The bound is printed with a ceiling, and
with no round at all for nu = N: it is one.)

Over decision stumps, boosting uses histogram Newton: steps in w >= 0, with gamma in the middle between both bounds
of the certificate. The bounds meet within epsilon as soon as no distribution has all edges below the smallest edge
less epsilon. `update="total"` is the algorithm of the sources.

Sources: Warmuth, Glocer, Raetsch 2007, algorithm 2, theorem 2; Glocer 2009, (3.1), algorithm 3.1, lemma 3.1, theorem
3.2. c are multiplicities; the sources have c = 1 and uniform d0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt.authoring import (
    COUNT,
    EDGE,
    POSITIVE,
    Array,
    BoostingSpec,
    BoostingState,
    BoundedEdges,
    Examples,
    Float,
    Formulation,
    Program,
    Regularizer,
    RelativeEntropy,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.erlpboost import entropy_range, log_mean_exp, relative_entropy, zero_weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of SoftBoost."""

    nu: float = parameter("the least number of examples that share the weight: each gets at most c / nu", COUNT)
    gamma: float = parameter("the bound of the edges: the smallest that the oracle has returned, less epsilon", EDGE)
    epsilon: float = parameter("the accuracy of the soft margin at which boosting stops", POSITIVE, 0.01)


def iteration_bound(program: Program) -> float:
    """Return the bound on the number of hypotheses of theorem 3.2 for the range of the entropy over the domain."""
    return math.floor(2.0 * entropy_range(program.regularizer) / program.parameters.epsilon**2) + 1.0


def next_parameters(progress: BoostingState) -> Mapping[str, float]:
    """Return the bound of the edges: the smallest edge so far less epsilon."""
    return {"gamma": max(-1.0, progress.smallest_edge - progress.epsilon)}


class SoftBoost(Formulation[Parameters]):
    """F = relative entropy + I[d in C_nu], G = I[e <= gamma]."""

    name = "softboost"
    title = "SoftBoost"
    sources: ClassVar[tuple[str, ...]] = (
        "Warmuth, Glocer, Raetsch 2007, algorithm 2, theorem 2",
        "Glocer 2009, (3.1), algorithm 3.1, theorem 3.2",
    )
    Parameters = Parameters
    is_symmetric = True
    uses_reference = True
    boosting: ClassVar[BoostingSpec] = BoostingSpec(
        rules=("direct", "infeasible"),
        final_weights="scaled",
        iteration_bound=iteration_bound,
        next_parameters=next_parameters,
    )
    needs_all_examples = False

    def regularizer(self, p: Parameters, examples: Examples) -> Regularizer:
        return RelativeEntropy.capped(examples.c, p.nu, 1.0, examples.d0)

    def edge_function(self, p: Parameters) -> BoundedEdges:
        return BoundedEdges(p.gamma)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d = cp.Variable(N, name="d")
        return minimize(
            relative_entropy(d, examples.d0),
            subject_to={
                "w": U.T @ d <= p.gamma,
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
            -log_mean_exp(-(U @ w + psi), examples.d0) - p.gamma * cp.sum(w) - (1 / p.nu) * (examples.c @ psi),
            subject_to={"w >= 0": w >= 0, "psi >= 0": psi >= 0},
        )
