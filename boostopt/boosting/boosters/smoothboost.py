r"""SmoothBoost: smooth distributions from weights of at most 1, and a margin theta for almost all examples.

    M = 1, N = 0 for every example;  while the mean of M is at least kappa:
        d = M / sum M;  a hypothesis u of edge u . d >= 2 gamma;  N <- N + u - theta;
        M = 1 where N < 0,  (1 - gamma)^(N / 2) elsewhere
    f = the mean of the hypotheses

The mean of M is at least kappa in every round, so d_n <= 1 / (kappa N): d lies in C_nu for nu = kappa N in every
round, and its largest edge bounds that soft margin over the class. When the mean has fallen below kappa, fewer than
kappa N examples have M = 1, that is a margin of at most theta. For theta = gamma / (2 + gamma) that takes fewer than
2 / (kappa gamma^2 sqrt(1 - gamma)) rounds. The edge is the difference of right and wrong: 2 gamma where the paper has
an error of 1/2 - gamma. A round with a smaller edge ends the run, because the class does not have the assumed edges.

SmoothBoost is not a convex program: M depends on the margins and, through theta, on the number of rounds, and every
hypothesis gets the same step. So no objective is minimized over w; only the weights are capped.

Source: Servedio 2003, figure 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.reweighting import Booster, Reweighting, certified_nu, valid_nu
from boostopt.boosting.run.run_state import State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import UpdateContext
from boostopt.errors import OptionError
from boostopt.programs.boosting_spec import BoostingSpec
from boostopt.programs.parameters import CANONICAL, FRACTION, Domain, parameter
from boostopt.programs.program import Examples, Program

REASON_MARGIN_REACHED = StopReason.FEW_SMALL_MARGINS.value
"""The beginning of the reason of a run with a margin of theta for almost all examples."""

GAMMA_DOMAIN = Domain("(0, 1/2)", lambda value, examples: 0.0 < value < 0.5, typical_value=0.1)
THETA_DOMAIN = Domain("[0, 1/2)", lambda value, examples: 0.0 <= value < 0.5, typical_value=0.0)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of SmoothBoost."""

    kappa: float = parameter("the share of the examples that may be given up", FRACTION)
    gamma: float = parameter("half of the edge that every hypothesis has", GAMMA_DOMAIN)
    theta: float = parameter("the target margin of the other examples, at most gamma", THETA_DOMAIN, CANONICAL)
    nu: float = certified_nu()


def default_theta(gamma: float) -> float:
    """Return gamma / (2 + gamma), for which the number of rounds is bounded."""
    return gamma / (2.0 + gamma)


def iteration_bound(program: Program) -> float:
    """Return the number of rounds after which almost all examples have a margin of theta; inf if no bound is known.

    The proof holds for every theta up to the default; for a larger one there is no bound.
    """
    p = program.parameters
    if p.theta > default_theta(p.gamma):
        return math.inf
    return 2.0 / p.kappa / p.gamma / p.gamma / math.sqrt(1.0 - p.gamma)  # gamma^2 may underflow


class SmoothBoost(Booster):
    """The formulation of SmoothBoost."""

    name = "SmoothBoost"
    title = "SmoothBoost"
    sources: ClassVar[tuple[str, ...]] = ("Servedio 2003",)
    boosting: ClassVar[BoostingSpec] = replace(
        Booster.boosting,
        extra_success_reasons=(REASON_MARGIN_REACHED,),
        iteration_bound=iteration_bound,
        guaranteed_edge=lambda p: 2.0 * p.gamma,
    )
    Parameters = Parameters
    is_symmetric = True

    def fill_parameters(self, p: Any, examples: Examples) -> Any:
        if p.theta > p.gamma:
            raise OptionError(f"theta must be at most gamma = {p.gamma:g}; got {p.theta:g}. Lower it, or leave it out.")
        p = super().fill_parameters(p, examples)
        return replace(p, theta=default_theta(p.gamma)) if math.isnan(p.theta) else p

    def default_nu(self, p: Any, examples: Examples) -> float:
        return valid_nu(p.kappa * examples.total, examples)

    def reweighting(self, problem: Problem) -> Reweighting:
        return SmoothBoostUpdate(problem)


class SmoothBoostUpdate(Reweighting):
    """A step of 1 for every hypothesis."""

    unbounded_on_perfect_hypothesis = False

    def step(self, context: UpdateContext) -> State:
        p, rounds = self.problem.template.parameters, context.state.round + 1

        def log_M(m: ExampleVector) -> ExampleVector:
            return np.minimum(0.0, 0.5 * math.log1p(-p.gamma) * (m - p.theta * rounds))

        state = self.went(context, 1.0, log_M)
        if self.mean(np.exp(log_M(state.m))) >= p.kappa:
            return state
        max_count = p.kappa * self.c.sum()
        return replace(
            state,
            stop_reason=f"{REASON_MARGIN_REACHED} kappa N = {max_count:.6g} examples have a margin of at most "
            f"{p.theta:.6g}",
        )
