r"""Corrective ERLPBoost: ERLPBoost on two columns, the mixture so far and the new hypothesis.

Primal   min_{d, gamma}   gamma + (1/eta) sum_n d_n ln(d_n / d0_n)
         s.t.  v . d <= gamma : w_v,   u . d <= gamma : w_u,   sum d = 1 : beta,   d <= c / nu : psi

Dual     max_{w, psi}     -(1/eta) ln sum_n d0_n exp(-eta (w_v v_n + w_u u_n + psi_n)) - (1/nu) sum_n c_n psi_n
         s.t.  w_v + w_u = 1 : gamma,   w >= 0,   psi >= 0

KKT      (1/eta) ln(d_n / d0_n) + m_n + psi_n + beta = 0,   psi_n (c_n / nu - d_n) = 0,
         w_v (gamma - v . d) = 0,   w_u (gamma - u . d) = 0

Printed  min_d   u . d + (1/eta) sum_n d_n ln(d_n / d0_n)
         s.t.  v . d - u . d = 0 : w_v,   sum d = 1 : beta,   d <= c / nu : psi,   with the dual above, w free in sign

The margin matrix has two columns. Column 0, v, holds the margins of the mixture so far. Column 1, u, holds the margins
of the new hypothesis. Multipliers are named after the colon. The weights are w = (w_v, w_u) and the margins m = w_v v +
w_u u (in print w_v is 1 - w_u). The next mixture has the margins m and the weights (w_v w^(t-1), w_u).

With `segment` (the default), the dual is the exact line search between v and u. It is at least as good as the step
clip((x . d(v)) / (eta max |x|^2), 0, 1), x = u - v, of algorithm 4.1 (printed without the square). So it keeps the
bound of 16 eta / epsilon hypotheses. Without `segment`, the program is the one as printed, (4.6) and (4.7). There w_u
may leave [0, 1], and the mixture may leave the convex hull of the hypotheses. The uniform distribution is not always
feasible, although the source says so: some d has equal edges if and only if neither u - v nor v - u has a soft margin
above 0. No bound of the rounds is known.

For a class closed under negation, pass u with the sign of its edge. The start is w_v = 0: the first mixture is the
first hypothesis. (In print the weights start at 0, and then their sum never reaches 1.)

Sources: Glocer 2009, algorithm 4.1, (4.6), (4.7); Shalev-Shwartz and Singer 2008, figure 1. c are multiplicities; the
sources have c = 1 and uniform d0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from boostopt.authoring import (
    CANONICAL,
    COUNT,
    FLAG,
    POSITIVE,
    Array,
    BoostingSpec,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    Regularizer,
    RelativeEntropy,
    TiedEdges,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.erlpboost import (
    eta_for_accuracy,
    iteration_bound,
    log_mean_exp,
    relative_entropy,
    zero_weight_constraints,
)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of Corrective ERLPBoost."""

    nu: float = parameter("the least number of examples that share the weight: each gets at most c / nu", COUNT)
    epsilon: float = parameter("the accuracy of the soft margin at which boosting stops", POSITIVE, 0.01)
    eta: float = parameter("the inverse strength of the entropy", POSITIVE, CANONICAL)
    segment: bool = parameter("whether the new weight stays in [0, 1]; if not, the program is as printed", FLAG, True)


class CorrectiveERLPBoost(Formulation[Parameters]):
    """F = (1/eta) relative entropy + I[d in C_nu], G = max, or as printed e_u + I[e_u = e_v]."""

    name = "corrective_erlpboost"
    title = "Corrective ERLPBoost"
    sources: ClassVar[tuple[str, ...]] = (
        "Glocer 2009, algorithm 4.1, (4.6), (4.7)",
        "Shalev-Shwartz and Singer 2008, figure 1",
    )
    Parameters = Parameters
    is_symmetric = True
    uses_reference = True
    columns: ClassVar[int | None] = 2
    boosting: ClassVar[BoostingSpec] = BoostingSpec(
        update="step",
        rules=("direct", "regularized"),
        iteration_bound=lambda program: iteration_bound(program) if program.parameters.segment else math.inf,
    )
    needs_all_examples = False

    def fill_parameters(self, p: Parameters, examples: Examples) -> Parameters:
        if not math.isnan(p.eta):
            return p
        return replace(p, eta=eta_for_accuracy(self.regularizer(replace(p, eta=1.0), examples), p.epsilon))

    def regularizer(self, p: Parameters, examples: Examples) -> Regularizer:
        return RelativeEntropy.capped(examples.c, p.nu, p.eta, examples.d0)

    def edge_function(self, p: Parameters) -> MaximumEdge | TiedEdges:
        return MaximumEdge() if p.segment else TiedEdges()

    def primal(self, U: Float[Array, "N 2"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        d = cp.Variable(examples.N, name="d")
        edge, edge_constraints = edge_and_constraints(U, d, p.segment)
        return minimize(
            edge + (1 / p.eta) * relative_entropy(d, examples.d0),
            subject_to={
                **edge_constraints,
                "beta": cp.sum(d) == 1,
                "psi": d <= examples.c / p.nu,
                **zero_weight_constraints(d, examples.d0),
            },
        )

    def dual(self, U: Float[Array, "N 2"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        m, weight_constraints = mixture_margins(U, p.segment)
        psi = cp.Variable(examples.N, name="psi")
        return maximize(
            -(1 / p.eta) * log_mean_exp(-p.eta * (m + psi), examples.d0) - (1 / p.nu) * (examples.c @ psi),
            subject_to={**weight_constraints, "psi >= 0": psi >= 0},
        )


def edge_and_constraints(U: Float[Array, "N 2"], d: Any, segment: bool) -> tuple[Any, dict[str, Any]]:
    """Return the edge in the primal: the larger edge, or the common edge of both columns."""
    import cvxpy as cp

    v, u = U.T
    if not segment:
        return u @ d, {"w_v": v @ d - u @ d == 0}
    gamma = cp.Variable(name="gamma")
    return gamma, {"w_v": v @ d <= gamma, "w_u": u @ d <= gamma}


def mixture_margins(U: Float[Array, "N 2"], segment: bool) -> tuple[Any, dict[str, Any]]:
    """Return the margins w_v v + w_u u and the constraints on w = (w_v, w_u)."""
    import cvxpy as cp

    w = cp.Variable(2, name="w")
    return U @ w, {"gamma": cp.sum(w) == 1, **({"w >= 0": w >= 0} if segment else {})}
