r"""TotalBoost: SoftBoost without a cap, for the hard margin.

Primal   min_d   sum_n d_n ln(d_n / d0_n)
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta

Dual     max_w   -ln sum_n d0_n exp(-(U w)_n) - gamma sum_q w_q
         s.t.  w >= 0

KKT      ln(d_n / d0_n) + m_n + beta = 0,   w_q (gamma - e_q) = 0

The program is SoftBoost at nu = 1, where the cap d <= 1 has no effect. SoftBoost's page states its problems, and the
psi in them is 0 here. Multiplicities enter only through d0, which is c / sum c by default. At nu = 1, c_n < 1 would set
a cap below 1, but TotalBoost has no such cap. The program is infeasible if and only if the hard margin that the
hypotheses can reach over the examples with d0_n > 0 is above gamma.

Over decision stumps, boosting uses histogram Newton, as for SoftBoost.

Every round projects d0. Glocer, section 6.4, projects the last distribution, d^(t-1). This gives another d, and is not
what algorithm 3.1 and the proof of its bound do.

Sources: Warmuth, Liao, Raetsch 2006; Warmuth, Glocer, Raetsch 2007, section 4; Glocer 2009, (3.1) with nu = 1, section
6.4. The sources have uniform d0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.authoring import (
    EDGE,
    POSITIVE,
    Array,
    BoostingSpec,
    BoundedEdges,
    Examples,
    Float,
    Formulation,
    Regularizer,
    parameter,
)
from boostopt.formulations.softboost import Parameters as SoftBoostParameters
from boostopt.formulations.softboost import SoftBoost


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of TotalBoost."""

    gamma: float = parameter("the bound of the edges: the smallest that the oracle has returned, less epsilon", EDGE)
    epsilon: float = parameter("the accuracy of the margin at which boosting stops", POSITIVE, 0.01)


class TotalBoost(Formulation[Parameters]):
    """F = relative entropy on the simplex, G = I[e <= gamma]."""

    name = "totalboost"
    title = "TotalBoost"
    sources: ClassVar[tuple[str, ...]] = ("Warmuth, Liao, Raetsch 2006", "Glocer 2009, (3.1) with nu = 1, section 6.4")
    Parameters = Parameters
    is_symmetric = True
    uses_reference = True
    boosting: ClassVar[BoostingSpec] = SoftBoost.boosting

    softboost: ClassVar[SoftBoost] = SoftBoost()
    needs_all_examples = False

    def regularizer(self, p: Parameters, examples: Examples) -> Regularizer:
        return self.softboost.regularizer(_softboost_parameters(p), _without_multiplicities(examples))

    def edge_function(self, p: Parameters) -> BoundedEdges:
        return self.softboost.edge_function(_softboost_parameters(p))

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        return self.softboost.primal(U, _softboost_parameters(p), _without_multiplicities(examples))

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        return self.softboost.dual(U, _softboost_parameters(p), _without_multiplicities(examples))


def _softboost_parameters(p: Parameters) -> SoftBoostParameters:
    """Return the record of SoftBoost at nu = 1."""
    return SoftBoostParameters(nu=1.0, gamma=p.gamma, epsilon=p.epsilon)


def _without_multiplicities(examples: Examples) -> Examples:
    """Return the examples with multiplicity 1, whose cap at nu = 1 says nothing."""
    return Examples(np.ones(examples.N), examples.d0)
