r"""ATA: AdaBoost with a target error phi, where the newest hypothesis has the weighted error phi after the step.

Primal   min_d       sum_n d_n ln(d_n / d0_n)
         s.t.  u . d = rho : alpha,   sum d = 1 : beta          with rho = 1 - 2 phi

Dual     max_alpha   -ln sum_n d0_n exp(-alpha u_n) - rho alpha,   alpha free in sign

KKT      ln(d_n / d0_n) + alpha u_n + beta = 0,   u . d = rho

The margin matrix is one column, u = y h(x) of the newest hypothesis. d0 is the last distribution, and alpha is the only
entry of w. phi = 1/2 is AdaBoost.

With u in {-1, +1} and the weighted error epsilon = (1 - u . d0) / 2, the step of the paper is b_t = 2 alpha:

    alpha = artanh(u . d0) - artanh rho,   b_t = ln((1 - epsilon) / epsilon) - ln((1 - phi) / phi),

and d is proportional to d0 exp(-b_t) where the hypothesis is right. The functional that b_t minimizes is sum_i
exp(-rho(z_i, b) / 2 + |b| (1/2 - phi)) with rho(z, b) = sum_r b_r y h_r(x). The paper prints it without the half of
rho(z, b), and then it does not give this step. The error of h_t under the next distribution is phi (printed: 1/2). The
step is negative for epsilon > phi, where the algorithm stops instead. Boosting ends when epsilon >= phi - Delta, and
this hypothesis gets no weight. The paper's Delta is a small constant. With 1e-9, no step is shorter than 1e-9. Boosting
also ends when epsilon = 0, as AdaBoost does: with this hypothesis alone, or without it as printed
(keep_faultless=False).

Sources: Raetsch, Onoda, Mueller 2001, figure 1, (1)-(6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from boostopt.authoring import FLAG, FRACTION, Domain, parameter
from boostopt.formulations.entropy_projection import EntropyProjection

BELOW_ONE = Domain("[0, 1)", lambda value, examples: 0.0 <= value < 1.0)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of ATA's step."""

    phi: float = parameter("the weighted error that the hypothesis has after the step", FRACTION)
    Delta: float = parameter("how far below phi the error must be, or the run ends", BELOW_ONE, 1e-9)
    keep_faultless: bool = parameter(
        "whether a hypothesis without error ends a run as the whole classifier; if not, it is left out", FLAG, True
    )


class ATA(EntropyProjection):
    """The entropy projection of one column at rho = 1 - 2 phi."""

    name = "ata"
    title = "ATA"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch, Onoda, Mueller 2001, figure 1, (1)-(6)",)
    Parameters = Parameters
    columns: ClassVar[int | None] = 1
    added: ClassVar[tuple[str, ...]] = ("Delta", "keep_faultless")

    def target(self, p: Parameters) -> float:
        return 1.0 - 2.0 * p.phi

    def least_excess(self, p: Parameters) -> float:
        return 2.0 * p.Delta

    def keeps_faultless(self, p: Parameters) -> bool:
        return p.keep_faultless
