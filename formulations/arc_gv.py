r"""Arc-gv: AdaBoost's step shortened by the smallest margin of the classifier so far.

Primal   min_d       sum_n d_n ln(d_n / d0_n)
         s.t.  u . d = rho : alpha,   sum d = 1 : beta          with rho = max(0, mu)

Dual     max_alpha   -ln sum_n d0_n exp(-alpha u_n) - rho alpha,   alpha free in sign

KKT      ln(d_n / d0_n) + alpha u_n + beta = 0,   u . d = rho

Symbols  mu : smallest margin under the steps taken so far

The margin matrix is one column, u = y h(x) of the newest hypothesis. The last distribution is d0, and alpha is the only
entry of w. The smallest margin under the steps lambda taken so far is mu = min_n (U lambda)_n / ||lambda||_1.

With u in {-1, +1} and r = u . d0, the step is alpha = artanh r - artanh max(0, mu). The smallest margin is at least the
smooth margin, and both are raised to 0 if they are negative. So the step is at most that of approximate coordinate
ascent, which is at most AdaBoost's.

Sources: Breiman 1999; Rudin, Daubechies, Schapire 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from boostopt.authoring import EDGE, BoostingSpec, parameter
from boostopt.formulations.entropy_projection import EntropyProjection


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of arc-gv's step."""

    minimum_margin: float = parameter("the smallest margin mu of the normalized steps taken so far", EDGE)


class ArcGV(EntropyProjection):
    """The entropy projection of one column at rho = max(0, mu)."""

    name = "arc_gv"
    title = "arc-gv"
    sources: ClassVar[tuple[str, ...]] = ("Breiman 1999", "Rudin, Daubechies, Schapire 2004")
    Parameters = Parameters
    is_symmetric = True
    columns: ClassVar[int | None] = 1
    boosting: ClassVar[BoostingSpec] = replace(
        EntropyProjection.boosting, next_parameters=lambda progress: {"minimum_margin": progress.minimum_margin}
    )
    needs_all_examples = False

    def target(self, p: Parameters) -> float:
        return max(0.0, p.minimum_margin)
