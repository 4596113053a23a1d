r"""AdaBoost_REG: its update of the distribution, AdaBoost's update with a penalty on examples that were heavy for long.

Primal   min_d   sum_n d_n ln(d_n / d0_n) + sum_n penalty_n d_n + (b/2) u . d
         s.t.  sum d = 1 : beta

Dual     max_w   -ln sum_n d0_n exp(-w u_n - penalty_n)
         s.t.  w = b / 2

KKT      ln(d_n / d0_n) + penalty_n + (b/2) u_n + beta = 0

The margin matrix is one column, u = y h_t(x) of the newest hypothesis. The last distribution, the paper's w_t, is d0.
The step of the hypothesis, b > 0, is given. The answer is d proportional to d0 exp(-(b/2) u - penalty). Only this
update is a Fenchel pair. Neither the search for b nor the run of AdaBoost_REG is a convex program.

At example n, penalty_n = (C/2) (zeta_t |b^t| - zeta_{t-1} |b^(t-1)|). Here |b^t| = sum_{r <= t} b_r and zeta_t =
mu_t^p, and mu_t = sum_{r <= t} (b_r / |b^t|) w_r(z_n) is the average of the weights that a copy of the example has had.
In round r this weight is w_r(z_n) = d_n / c_n. At t = 0 all these quantities are 0. With I = 1 where h_t is wrong and I
= 0 elsewhere,

    w_{t+1} proportional to w_t exp(b_t I - penalty),   for p = 1:   penalty_n = (C/2) b_t w_t(z_n)

In print, the penalty for p = 1 is C zeta_t |b^t| in place of this increment, and for p = 2 it has C in place of C/2.
Only with the half and the increment do both agree with the functional sum_i exp(-tilde rho(z_i, b^t) / 2) that the step
minimizes, where tilde rho(z, b^t) = sum_r b_r y h_r(x) + C |b^t| mu_t(z)^p.

There is a better form than the recursion. Keep S = sum_r b_r u_r and A = sum_r b_r w_r for each example, and B = sum_r
b_r. If the first distribution was proportional to c, the next one is proportional to c exp(-(S + C B (A / B)^p) / 2).

For p = 1, the step b that minimizes the functional is an entropy projection itself: it projects d0 onto v . d = 0, for
the column v = u + C w_t (scaled into [-1, 1]), and its alpha is b / 2. There must be an example with C w_t(z_n) < 1 on
which h_t is wrong; otherwise the functional falls for ever. For p = 2, the functional need not be convex in b and may
have several minima. (The paper prints that the minimum is unique, by the sign of a first derivative.)

Sources: Raetsch, Onoda, Mueller 2001, (12)-(19), figure 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.authoring import (
    PER_EXAMPLE,
    POSITIVE,
    Array,
    BoostingSpec,
    Examples,
    Float,
    Formulation,
    LinearEdges,
    RelativeEntropy,
    Tilted,
    maximize,
    minimize,
    parameter,
)
from boostopt.formulations.erlpboost import log_mean_exp, relative_entropy, zero_weight_constraints


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameters:
    """The parameters of AdaBoost_REG's update."""

    b: float = parameter("the step of the newest hypothesis", POSITIVE)
    penalty: Float[Array, " N"] = parameter(  # noqa: RUF009 - it makes a field, as for a number
        "the growth of (C/2) zeta |b| in this round: the penalty of an example for its past weights", PER_EXAMPLE
    )


class AdaBoostREG(Formulation[Parameters]):
    """F = relative entropy to d0 on the simplex + <penalty, d>, G = (b/2) e."""

    name = "adaboost_reg"
    title = "AdaBoost_REG"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch, Onoda, Mueller 2001, (12)-(19), figure 10",)
    Parameters = Parameters
    is_symmetric = True
    uses_reference = True
    columns: ClassVar[int | None] = 1
    boosting: ClassVar[BoostingSpec] = BoostingSpec(final_weights="scaled")
    needs_all_examples = False

    def regularizer(self, p: Parameters, examples: Examples) -> Tilted:
        return Tilted(RelativeEntropy.capped(np.ones(examples.N), 1.0, 1.0, examples.d0), p.penalty)

    def edge_function(self, p: Parameters) -> LinearEdges:
        return LinearEdges(p.b / 2.0)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d = cp.Variable(N, name="d")
        return minimize(
            relative_entropy(d, examples.d0) + p.penalty @ d + (p.b / 2) * (U[:, 0] @ d),
            subject_to={"beta": cp.sum(d) == 1, **zero_weight_constraints(d, examples.d0)},
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        w = cp.Variable(1, name="w")
        return maximize(
            -log_mean_exp(-(U @ w) - p.penalty, examples.d0),
            subject_to={"w = b / 2": w == p.b / 2},
        )
