r"""Coordinate ascent: the step that makes the smooth margin of the classifier as large as the newest hypothesis can.

Primal   min_d       sum_n d_n ln(d_n / d0_n)
         s.t.  u . d = rho : alpha,   sum d = 1 : beta          with rho = G(lambda_(t+1))

Dual     max_alpha   -ln sum_n d0_n exp(-alpha u_n) - rho alpha,   alpha free in sign

KKT      ln(d_n / d0_n) + alpha u_n + beta = 0,   u . d = rho

Symbols  G : smooth margin,   lambda : steps taken so far, lambda_(t+1) with that of the newest hypothesis

The margin matrix is one column, u = y h(x) of the newest hypothesis; d0 is the last distribution and alpha the one
entry of w. G is the smooth margin of approximate coordinate ascent. In the step alpha along u

    (d G) / (d alpha) = (u . d - G) / (||lambda||_1 + alpha),   d proportional to d0 exp(-alpha u),

and the product of numerator and denominator decreases, so that G rises to its largest value and falls from there on.
There u . d = G: the step is the entropy projection whose rho is the smooth margin after it. Approximate coordinate
ascent, which takes the smooth margin before it, goes a little farther.

While G is not positive AdaBoost's step is taken, rho = 0: before the first step, and whenever G is near -1, G rises for
ever along a hypothesis that errs, towards -1. Once G is positive each step increases it, and only a hypothesis that is
right on all live examples can have a step without end: then rho is the smallest u, the limit of G.

With u in {-1, +1} and r = u . d0:   alpha = artanh r - artanh rho.

Sources: Rudin, Daubechies, Schapire 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from boostopt.authoring import EDGE, Progress, parameter
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
    columns: ClassVar[int | None] = 1

    def next_parameters(self, progress: Progress) -> Mapping[str, float]:
        return {"next_smooth_margin": progress.next_smooth_margin if progress.smooth_margin > 0 else 0.0}

    def target(self, p: Parameters) -> float:
        return p.next_smooth_margin
