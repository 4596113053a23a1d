r"""Approximate coordinate ascent: AdaBoost's step shortened by the smooth margin of the classifier so far.

Primal   min_d       sum_n d_n ln(d_n / d0_n)
         s.t.  u . d = rho : alpha,   sum d = 1 : beta          with rho = max(0, G(lambda_t))

Dual     max_alpha   -ln sum_n d0_n exp(-alpha u_n) - rho alpha,   alpha free in sign

KKT      ln(d_n / d0_n) + alpha u_n + beta = 0,   u . d = rho

Symbols  G : smooth margin,   lambda : steps taken so far,   t : number of the round

The margin matrix is one column, u = y h(x) of the newest hypothesis. The last distribution is d0, and alpha is the only
entry of w. The smooth margin of the steps lambda taken so far is

    G(lambda) = -(1 / ||lambda||_1) ln sum_n exp(-(U lambda)_n),
    mu(lambda) - (ln N) / ||lambda||_1 <= G(lambda) < mu(lambda) = min_n (U lambda)_n / ||lambda||_1

For small steps it is below every bound. At lambda = 0 it is not defined, and the step is AdaBoost's: pass -inf.

With u in {-1, +1} and r = u . d0, the step is alpha = artanh r - artanh max(0, G(lambda_t)). It lies between the steps
of arc-gv and of AdaBoost. Once G is positive, each step increases it.

Sources: Rudin, Daubechies, Schapire 2004, (3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from boostopt.authoring import BoostingSpec, Domain, parameter
from boostopt.formulations.entropy_projection import EntropyProjection

AT_MOST_ONE = Domain("[-inf, 1]", lambda value, examples: value <= 1.0)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of the step."""

    smooth_margin: float = parameter("the smooth margin G of the steps taken so far", AT_MOST_ONE)


class ApproximateCoordinateAscent(EntropyProjection):
    """The entropy projection of one column at rho = max(0, G)."""

    name = "approximate_coordinate_ascent"
    title = "Approximate coordinate ascent"
    sources: ClassVar[tuple[str, ...]] = ("Rudin, Daubechies, Schapire 2004, (3)",)
    Parameters = Parameters
    is_symmetric = True
    columns: ClassVar[int | None] = 1
    boosting: ClassVar[BoostingSpec] = replace(
        EntropyProjection.boosting, next_parameters=lambda progress: {"smooth_margin": progress.smooth_margin}
    )
    needs_all_examples = False

    def target(self, p: Parameters) -> float:
        return max(0.0, p.smooth_margin)
