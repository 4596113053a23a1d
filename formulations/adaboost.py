r"""AdaBoost: the corrective step, the nearest distribution under which the newest hypothesis has no edge.

Primal   min_d       sum_n d_n ln(d_n / d0_n)
         s.t.  u . d = 0 : alpha,   sum d = 1 : beta

Dual     max_alpha   -ln sum_n d0_n exp(-alpha u_n),   alpha free in sign

KKT      ln(d_n / d0_n) + alpha u_n + beta = 0,   u . d = 0

The margin matrix is one column, u = y h(x) of the newest hypothesis. The last distribution d^(t-1) is d0, the answer d
is the next distribution, and the step is alpha, the only entry of w. This is the entropy projection at rho = 0. The
value of the dual is -ln Z_t, where Z_t is the factor by which the step lowers the exponential loss.

With u in {-1, +1} and r = u . d0,

    alpha = artanh r = (1/2) ln((1 + r) / (1 - r)),   d_n = d0_n / (1 + u_n r)

is the classic reweighting by exp(-alpha) where the hypothesis is right and by exp(alpha) where it is wrong. As a map
from d to d, the last formula keeps sum d = 1 in exact arithmetic only (Rudin, Daubechies and Schapire say that it does
so automatically). An error of the sum grows by the factor 1 / (1 - r^2) in each round, so the weights must be
renormalized.

If a hypothesis is right on all live examples (those with d0_n > 0), or wrong on all of them, it has no such projection:
the program is infeasible and the step unbounded. If it is right on all of them, the run ends. The run returns this
hypothesis alone if its smallest margin is no less than that of the classifier before, as with u in {-1, +1}. Otherwise
the run leaves the hypothesis out. With keep_faultless=False it does so in any case, as Raetsch, Onoda and Mueller print
it (abort if epsilon_t = 0): the classifier is that of the rounds before. In the first round there is no classifier
before, and the run keeps the hypothesis.

The classifier is the sum of the steps, alpha_t h_t. If a run is a cycle, the margins of the classifier are those of the
normalized steps. (Printed are those of the normalized edges, which are the same only if all edges are equal.)

Sources: Freund and Schapire 1997; Kivinen and Warmuth 1999; Glocer 2009, sections 6.1 (the update is printed with
w_(t-1) u^(t-1) for w_t u^t) and 6.4; Rudin, Daubechies, Schapire 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from boostopt.authoring import FLAG, BoostingSpec, parameter
from boostopt.formulations.entropy_projection import EntropyProjection


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """AdaBoost's step has no parameter. The end of a run has one."""

    keep_faultless: bool = parameter(
        "whether a hypothesis without error ends a run as the whole classifier; if not, it is left out", FLAG, True
    )


class AdaBoost(EntropyProjection):
    """The entropy projection of one column at rho = 0."""

    name = "adaboost"
    title = "AdaBoost"
    sources: ClassVar[tuple[str, ...]] = (
        "Freund and Schapire 1997",
        "Kivinen and Warmuth 1999",
        "Glocer 2009, sections 6.1, 6.4",
    )
    Parameters = Parameters
    is_symmetric = True
    columns: ClassVar[int | None] = 1
    optional_in_files: ClassVar[tuple[str, ...]] = ("keep_faultless",)
    boosting: ClassVar[BoostingSpec] = replace(
        EntropyProjection.boosting, keeps_perfect_hypothesis=lambda p: p.keep_faultless
    )
    needs_all_examples = False

    def target(self, p: Parameters) -> float:
        return 0.0
