r"""AdaBoost*: AdaBoost's step, shortened by an upper bound of the best margin, less an accuracy.

Primal   min_d       sum_n d_n ln(d_n / d0_n)
         s.t.  u . d = rho : alpha,   sum d = 1 : beta          with rho = min_q r_q - accuracy

Dual     max_alpha   -ln sum_n d0_n exp(-alpha u_n) - rho alpha,   alpha free in sign

KKT      ln(d_n / d0_n) + alpha u_n + beta = 0,   u . d = rho

The margin matrix is one column, u = y h(x) of the newest hypothesis. The last distribution is d0, and alpha is the only
entry of w. The edges of the hypotheses when they came, the newest among them, are r_q = u_q . d^(q-1). The papers write
nu for the accuracy; here nu counts examples.

With u in {-1, +1} and r = u . d0, the step is alpha = artanh r - artanh(min_q r_q - accuracy). It is never negative.

Start from d_n = c_n / sum c. After T >= (2 / accuracy^2) ln((sum c) / min c) rounds, the margin of the steps is at
least min_q r_q less the accuracy. The reason is the potential sum_n d_n exp(-sum_t alpha_t (u_nt - rho_t)). It is the
product of the exponentials of minus the entropies, and each entropy is at least accuracy^2 / 2. With c = 1 the bound is
(2 / accuracy^2) ln N. (Rudin, Daubechies and Schapire print it with the binary logarithm.)

Sources: Raetsch and Warmuth 2005; Rudin, Daubechies, Schapire 2004.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from boostopt.authoring import EDGE, POSITIVE, BoostingSpec, Program, parameter
from boostopt.formulations.entropy_projection import EntropyProjection


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of AdaBoost*'s step."""

    smallest_edge: float = parameter("the smallest edge so far, including the newest hypothesis", EDGE)
    accuracy: float = parameter("how far the margin may stay below the best, nu in the papers", POSITIVE)


def iteration_bound(program: Program) -> float:
    """Return the number of rounds after which the margin is at least the smallest edge less the accuracy."""
    examples = program.examples
    return 2.0 * math.log(examples.total / float(examples.c.min())) / program.parameters.accuracy**2


class AdaBoostStar(EntropyProjection):
    """The entropy projection of one column at rho = smallest edge - accuracy."""

    name = "adaboost_star"
    title = "AdaBoost*"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch and Warmuth 2005", "Rudin, Daubechies, Schapire 2004")
    Parameters = Parameters
    is_symmetric = True
    columns: ClassVar[int | None] = 1
    boosting: ClassVar[BoostingSpec] = replace(
        EntropyProjection.boosting,
        iteration_bound=iteration_bound,
        next_parameters=lambda progress: {"smallest_edge": progress.smallest_edge},
    )
    needs_all_examples = False

    def target(self, p: Parameters) -> float:
        return p.smallest_edge - p.accuracy
