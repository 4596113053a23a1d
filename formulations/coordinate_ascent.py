r"""Coordinate ascent: the step along the newest hypothesis that makes the smooth margin of the classifier largest.

Primal   min_d       sum_n d_n ln(d_n / d0_n)
         s.t.  u . d = rho : alpha,   sum d = 1 : beta          with rho = G(lambda_{t+1})

Dual     max_alpha   -ln sum_n d0_n exp(-alpha u_n) - rho alpha,   alpha free in sign

KKT      ln(d_n / d0_n) + alpha u_n + beta = 0,   u . d = rho

Symbols  G : smooth margin,   lambda : steps taken so far, lambda_{t+1} with that of the newest hypothesis,
         t : number of the round

The margin matrix is one column, u = y h(x) of the newest hypothesis. The last distribution is d0, and alpha is the only
entry of w. The smooth margin G is that of approximate coordinate ascent. For the step alpha along u,

    (d G) / (d alpha) = (u . d - G) / (||lambda||_1 + alpha),   d proportional to d0 exp(-alpha u)

The product of numerator and denominator decreases, so G rises to its largest value and falls from there on. At this
value u . d = G: the step is the entropy projection whose rho is the smooth margin after the step. Approximate
coordinate ascent uses the smooth margin before the step and goes a little farther.

While G is not positive, the step is AdaBoost's, with rho = 0. The reason is that, before the first step and whenever G
is near -1, G rises for ever along a hypothesis that errs, towards -1. Once G is positive, each step increases it. Then
only a hypothesis that is right on all live examples (those with d0_n > 0) can have a step without end, and rho is the
smallest u, the limit of G.

With u in {-1, +1} and r = u . d0, the step is alpha = artanh r - artanh rho.

Sources: Rudin, Daubechies, Schapire 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from boostopt.authoring import EDGE, BoostingSpec, parameter
from boostopt.formulations.entropy_projection import EntropyProjection


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of the step."""

    next_smooth_margin: float = parameter("the smooth margin G after the step; 0 for AdaBoost's step", EDGE)


class CoordinateAscent(EntropyProjection):
    """The entropy projection of one column at rho = G after the step."""

    name = "coordinate_ascent"
    title = "Coordinate ascent"
    sources: ClassVar[tuple[str, ...]] = ("Rudin, Daubechies, Schapire 2004",)
    Parameters = Parameters
    is_symmetric = True
    columns: ClassVar[int | None] = 1
    boosting: ClassVar[BoostingSpec] = replace(
        EntropyProjection.boosting,
        next_parameters=lambda progress: {
            "next_smooth_margin": progress.next_smooth_margin if progress.smooth_margin > 0 else 0.0
        },
    )
    needs_all_examples = False

    def target(self, p: Parameters) -> float:
        return p.next_smooth_margin
