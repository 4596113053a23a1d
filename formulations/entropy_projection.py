r"""Entropy projection: the distribution nearest to the last one under which the hypotheses have the edge rho.

Primal   min_d   sum_n d_n ln(d_n / d0_n)
         s.t.  Uᵀd = rho : w,   sum d = 1 : beta

Dual     max_w   -ln sum_n d0_n exp(-(U w)_n) - rho sum_q w_q,   w free in sign

KKT      ln(d_n / d0_n) + m_n + beta = 0,   e_q = rho

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw. The last distribution d^(t-1) is d0.
The answer is the next one, d^t, proportional to d0 exp(-U w). The beta of the KKT system is that of the unnormalised
entropy, 1 above the one of the primal as printed. It is ln sum_n d0_n exp(-m_n).

One column gives the corrective step of boosting: w is the step alpha by which the newest hypothesis enters. The step
rules of AdaBoost and its relatives differ only in rho. Several columns give the totally corrective projection, onto all
the hyperplanes u_q . d = rho at once. With one column u in {-1, +1} and its edge r = u . d0, the step is

    alpha = artanh r - artanh rho = (1/2) ln((1 + r) / (1 - r)) - (1/2) ln((1 + rho) / (1 - rho))

For u in [-1, 1], the step is the root of u . d^t = rho, an edge that decreases in alpha.

Examples with d0_n = 0 stay at 0. Call the others live. With one column, the projection exists if and only if min u <=
rho <= max u over the live examples. If rho is strictly between, the dual is attained. If rho is at an end, the weight
moves onto the examples whose u is rho, no step is long enough (alpha goes to infinity), and the optimum is minus the
logarithm of their weight under d0. If rho is outside, the dual is unbounded: alpha = 1 or -1 proves it.

Multiplicities enter only through d0, which is c / sum c by default: the simplex has no cap.

Sources: Kivinen and Warmuth 1999; Glocer 2009, section 6.4 (where TotalBoost is printed as a projection of d^(t-1); it
projects d^0, which gives another distribution).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.authoring import (
    EDGE,
    Array,
    BoostingSpec,
    Examples,
    FixedEdges,
    Float,
    Formulation,
    RelativeEntropy,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.erlpboost import log_mean_exp, relative_entropy, zero_weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of an entropy projection."""

    rho: float = parameter("the edge that every hypothesis must have", EDGE)


class EntropyProjection(Formulation[Any]):
    """F = relative entropy to d0 on the simplex, G = I[e = rho]. Each step rule has its own record and target."""

    name = "entropy_projection"
    title = "Entropy projection"
    sources: ClassVar[tuple[str, ...]] = ("Kivinen and Warmuth 1999", "Glocer 2009, section 6.4")
    Parameters: ClassVar[type[Any]] = Parameters
    is_symmetric = True
    uses_reference = True
    boosting: ClassVar[BoostingSpec] = BoostingSpec(update="projection", final_weights="scaled")
    needs_all_examples = False

    def target(self, p: Any) -> float:
        """Return rho, the edge after the projection."""
        return p.rho

    def regularizer(self, p: Any, examples: Examples) -> RelativeEntropy:
        return RelativeEntropy.capped(np.ones(examples.N), 1.0, 1.0, examples.d0)

    def edge_function(self, p: Any) -> FixedEdges:
        return FixedEdges(self.target(p))

    def primal(self, U: Float[Array, "N t"], p: Any, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d = cp.Variable(N, name="d")
        return minimize(
            relative_entropy(d, examples.d0),
            subject_to={
                "w": U.T @ d == self.target(p),
                "beta": cp.sum(d) == 1,
                **zero_weight_constraints(d, examples.d0),
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Any, examples: Examples) -> Any:
        import cvxpy as cp

        _, t = U.shape
        w = cp.Variable(t, name="w")
        return maximize(-log_mean_exp(-(U @ w), examples.d0) - self.target(p) * cp.sum(w), subject_to={})
