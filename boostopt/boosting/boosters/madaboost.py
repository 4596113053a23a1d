r"""MadaBoost: AdaBoost with weights that never exceed their initial values.

    d_n proportional to c_n min(1, exp(-m_n)),   m = sum_t alpha_t u_t,   alpha_t = (1/2) ln((1 + r_t) / (1 - r_t))

Here r_t = u_t . d is the edge and alpha_t the step of AdaBoost. In the terms of the paper, beta = sqrt(eps / (1 - eps))
is the factor of the error eps = (1 - r) / 2, and the weight is the smaller of D_0 and D_0 times the product of
beta^(+-1). This is the plain version with the steps of AdaBoost; the variants with shorter steps, which simplify the
proof of convergence, are not implemented.

A misclassified example, m_n <= 0, has its initial weight. So the mean weight is at least the training error, and
d_n <= (1 / N) / (mean weight) <= (1 / N) / (training error). As long as the mean weight is at least kappa, d lies in
C_nu for nu = kappa N, and its largest edge bounds that soft margin over the class. The run ends when the mean weight
falls below kappa: the training error then is below kappa.

MadaBoost is not a convex program over all hypotheses. min(1, exp(-m)) is minus the slope of a convex loss, 1 - m for
m <= 0 and exp(-m) for m > 0. But the step of AdaBoost does not minimize this loss along u, and nothing bounds w: on
separable data the loss has no minimum. The certified soft margin is another objective.

Source: Domingo and Watanabe 2000.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.reweighting import REASON_PERFECT_HYPOTHESIS, Booster, Reweighting, certified_nu, valid_nu
from boostopt.boosting.run.run_state import State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import UpdateContext
from boostopt.programs.boosting_spec import BoostingSpec
from boostopt.programs.parameters import Domain, parameter
from boostopt.programs.program import Examples

REASON_TRAINING_ERROR = StopReason.SMALL_MEAN_WEIGHT.value
"""The beginning of the reason of a run with a training error below kappa."""

KAPPA_DOMAIN = Domain("[0, 1)", lambda value, examples: 0.0 <= value < 1.0, typical_value=0.0)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of MadaBoost."""

    kappa: float = parameter("the mean weight, and so the training error, below which a run ends", KAPPA_DOMAIN, 0.0)
    nu: float = certified_nu()


class MadaBoost(Booster):
    """The formulation of MadaBoost."""

    name = "MadaBoost"
    title = "MadaBoost"
    sources: ClassVar[tuple[str, ...]] = ("Domingo and Watanabe 2000",)
    boosting: ClassVar[BoostingSpec] = replace(
        Booster.boosting, extra_success_reasons=(REASON_PERFECT_HYPOTHESIS, REASON_TRAINING_ERROR)
    )
    Parameters = Parameters
    is_symmetric = True

    def default_nu(self, p: Any, examples: Examples) -> float:
        return valid_nu(p.kappa * examples.total, examples)

    def reweighting(self, problem: Problem) -> Reweighting:
        return MadaBoostUpdate(problem)


def log_weights(m: ExampleVector) -> ExampleVector:
    """Return ln min(1, exp(-m))."""
    return np.minimum(0.0, -m)


class MadaBoostUpdate(Reweighting):
    """The step of AdaBoost, with weights truncated at 1."""

    def step(self, context: UpdateContext) -> State:
        kappa = self.problem.template.parameters.kappa
        state = self.went(context, math.atanh(context.state.bounds.edge), log_weights)
        if self.mean(np.exp(log_weights(state.m))) >= kappa:
            return state
        return replace(state, stop_reason=f"{REASON_TRAINING_ERROR} kappa = {kappa:g}")
