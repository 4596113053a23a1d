r"""ATA: AdaBoost with a target error phi, where the newest hypothesis has the weighted error phi after the step.

Primal   min_d       sum_n d_n ln(d_n / d0_n)
         s.t.  u . d = rho : alpha,   sum d = 1 : beta          with rho = 1 - 2 phi

Dual     max_alpha   -ln sum_n d0_n exp(-alpha u_n) - rho alpha,   alpha free in sign

KKT      ln(d_n / d0_n) + alpha u_n + beta = 0,   u . d = rho

The margin matrix is one column, u = y h(x) of the newest hypothesis. The last distribution is d0, and alpha is the only
entry of w. With phi = 1/2 the algorithm is AdaBoost.

With u in {-1, +1}, the weighted error is epsilon = (1 - u . d0) / 2, and the step of the paper is b_t = 2 alpha:

    alpha = artanh(u . d0) - artanh rho,   b_t = ln((1 - epsilon) / epsilon) - ln((1 - phi) / phi)

The next d is proportional to d0 exp(-b_t) where the hypothesis is right, and to d0 where it is wrong. The functional
that b_t minimizes is sum_i exp(-rho(z_i, b) / 2 + |b| (1/2 - phi)) with rho(z, b) = sum_r b_r y h_r(x). It is printed
without the half of rho(z, b), and then its minimum is not this step. Under the next distribution, the error of h_t is
phi (printed: 1/2).

If epsilon > phi, the step is negative, and the algorithm stops instead. Here boosting ends if epsilon >= phi - Delta,
and that hypothesis gets no weight. The paper's Delta is a small constant. With Delta = 1e-9 no step is shorter than
1e-9. Boosting also ends if epsilon = 0, as AdaBoost does: with that hypothesis alone, or without it as printed
(keep_faultless=False).

Sources: Raetsch, Onoda, Mueller 2001, figure 1, (1)-(6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from boostopt.authoring import FLAG, FRACTION, BoostingSpec, Domain, parameter
from boostopt.formulations.entropy_projection import EntropyProjection

HALF_OPEN_UNIT_INTERVAL = Domain("[0, 1)", lambda value, examples: 0.0 <= value < 1.0)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of ATA's step."""

    phi: float = parameter("the weighted error that the hypothesis has after the step", FRACTION)
    Delta: float = parameter("how far below phi the error must be, or the run ends", HALF_OPEN_UNIT_INTERVAL, 1e-9)
    keep_faultless: bool = parameter(
        "whether a hypothesis without error ends a run as the whole classifier; if not, it is left out", FLAG, True
    )


class ATA(EntropyProjection):
    """The entropy projection of one column at rho = 1 - 2 phi."""

    name = "ata"
    title = "ATA"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch, Onoda, Mueller 2001, figure 1, (1)-(6)",)
    Parameters = Parameters
    is_symmetric = True
    columns: ClassVar[int | None] = 1
    optional_in_files: ClassVar[tuple[str, ...]] = ("Delta", "keep_faultless")
    boosting: ClassVar[BoostingSpec] = replace(
        EntropyProjection.boosting,
        min_edge_excess=lambda p: 2.0 * p.Delta,
        keeps_perfect_hypothesis=lambda p: p.keep_faultless,
    )
    needs_all_examples = False

    def target(self, p: Parameters) -> float:
        return 1.0 - 2.0 * p.phi
