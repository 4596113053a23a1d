r"""AdaBoost*: AdaBoost's step shortened by the best margin that can still be hoped for.

Primal   min_d       sum_n d_n ln(d_n / d0_n)
         s.t.  u . d = rho : alpha,   sum d = 1 : beta          with rho = min_q r_q - accuracy

Dual     max_alpha   -ln sum_n d0_n exp(-alpha u_n) - rho alpha,   alpha free in sign

KKT      ln(d_n / d0_n) + alpha u_n + beta = 0,   u . d = rho

The margin matrix is one column, u = y h(x) of the newest hypothesis; d0 is the last distribution, alpha the one entry
of w, and r_q = u_q . d^(q-1) the edges of the hypotheses when they came, the newest among them. The papers write nu for
the accuracy, which here counts examples.

With u in {-1, +1} and r = u . d0:   alpha = artanh r - artanh(min_q r_q - accuracy), which is never negative.

From the start d_n = c_n / sum c, after T >= (2 / accuracy^2) ln((sum c) / min c) rounds the steps have a margin of at
least min_q r_q - accuracy: the potential sum_n d_n exp(-sum_t alpha_t (u_nt - rho_t)) is the product of the
exponentials of minus the entropies, each at least accuracy^2 / 2. With c = 1 the bound is (2 / accuracy^2) ln N
(printed with the binary logarithm in Rudin, Daubechies and Schapire).

Sources: Raetsch and Warmuth 2005; Rudin, Daubechies, Schapire 2004.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from boostopt.authoring import EDGE, POSITIVE, Examples, Progress, parameter
from boostopt.formulations.entropy_projection import EntropyProjection


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of AdaBoost*'s step."""

    smallest_edge: float = parameter("the smallest edge so far, that of the newest hypothesis included", EDGE)
    accuracy: float = parameter("how far the margin may stay behind the best, nu in the papers", POSITIVE)


class AdaBoostStar(EntropyProjection):
    """The entropy projection of one column at rho = smallest edge - accuracy."""

    name = "adaboost_star"
    title = "AdaBoost*"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch and Warmuth 2005", "Rudin, Daubechies, Schapire 2004")
    Parameters = Parameters
    columns: ClassVar[int | None] = 1

    def next_parameters(self, progress: Progress) -> Mapping[str, float]:
        return {"smallest_edge": progress.smallest_edge}

    def target(self, p: Parameters) -> float:
        return p.smallest_edge - p.accuracy

    def iteration_bound(self, p: Parameters, examples: Examples) -> float:
        return 2.0 * math.log(examples.total / float(examples.c.min())) / p.accuracy**2
