r"""nu-Arc: the steps of arc-gv on margins with slacks, which come near the largest soft margin.

    rho~_n = m_n + psi_n - (1 / nu) sum_k c_k psi_k,   m = sum_t alpha_t u_t,   psi >= 0
    d proportional to c exp(-rho~), with the slacks psi that make -ln sum_n c_n exp(-rho~_n) largest
    alpha_t gives u_t the edge max(0, rho_t) under the distribution proportional to d exp(-alpha u_t)

rho_t is the soft margin at nu of the weights so far, over their sum. Slacks lift the examples below a threshold to it,
and their price lowers all margins: the smallest rho~_n, over the sum of the steps, is at most the soft margin, and
equals it for the slacks that make it largest. So arc-gv, which maximizes a smallest margin by the exponential function,
maximizes the soft margin here. For u in {-1, +1} of edge r the step is artanh r - artanh max(0, rho_t).

The slacks are in closed form. The derivative by psi_n is d_n - c_n / nu, so that d is the point of C_nu nearest to
c exp(-m) in relative entropy: d_n = min(c_n / nu, theta c_n exp(-m_n)), and psi_n > 0 only at a cap. Every d lies in
C_nu, so every answer of the oracle bounds the soft margin over the class, and a largest edge of at most rho_t proves
that the weights are optimal. At the nu of the hard margin no cap binds, and the run is that of arc-gv.

If a hypothesis has only margins above max(0, rho_t), no step gives it this edge. Its step is 1.

nu-Arc as a whole is not a convex program: rho_t and the sum of the steps change from round to round. The program that
it approaches, the largest soft margin, is convex, and LPBoost solves it over the hypotheses so far in every round.

Only the first page of the paper was at hand; the rest is restated from memory. There the threshold of the slacks is the
best rho of the program for the margins so far, the limit of the threshold here for a growing sum of the steps. With the
limit itself, d is uniform as long as a hypothesis in {-1, +1} alone is wrong on fewer than nu examples, so that the
oracle returns it for ever. The slacks by the exponential function are boostopt's.

Source: Raetsch, Schoelkopf, Smola, Mueller, Onoda, Mika 2000, for the program, the slacks and arc-gv.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.reweighting import NU_DOMAIN, Booster, Reweighting
from boostopt.boosting.run.run_state import State
from boostopt.boosting.updates.base import UpdateContext
from boostopt.functions.numerics.capped_softmax import capped_softmax
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.programs.parameters import parameter
from boostopt.programs.step_rules.adaboost_step_sizes import step_to_edge

UNREACHED_STEP = 1.0
"""The step of a hypothesis whose margins are all above the target, so that no step gives it the target as its edge."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameter of nu-Arc."""

    nu: float = parameter("the count whose soft margin is maximized: up to nu examples may be given up", NU_DOMAIN)


class NuArc(Booster):
    """The formulation of nu-Arc."""

    name = "nu_Arc"
    title = "nu-Arc"
    sources: ClassVar[tuple[str, ...]] = ("Raetsch, Schoelkopf, Smola, Mueller, Onoda, Mika 2000",)
    Parameters = Parameters
    is_symmetric = True

    def reweighting(self, problem: Problem) -> Reweighting:
        return NuArcUpdate(problem)


class NuArcUpdate(Reweighting):
    """The step of arc-gv to the soft margin, and the capped exponential weights."""

    unbounded_on_perfect_hypothesis = False

    @cached_property
    def simplex(self) -> CappedSimplex:
        """The capped simplex C_nu."""
        return CappedSimplex(self.c, self.problem.template.parameters.nu)

    def distribution(self, log_weights: ExampleVector) -> ExampleVector:
        """Return the point of C_nu nearest to c exp(l) in relative entropy."""
        return self.simplex.renormalize(capped_softmax(self.log_c + log_weights, self.c, self.simplex.nu).d)

    def log_distribution(self, m: ExampleVector) -> ExampleVector:
        """Return the logarithm of d at margins, also of weights that underflow."""
        log_q = self.log_c - m
        log_theta = capped_softmax(log_q, self.c, self.simplex.nu).log_theta
        return np.minimum(self.log_c - math.log(self.simplex.nu), log_q + log_theta)

    def step(self, context: UpdateContext) -> State:
        state, u = context.state, np.asarray(context.newest_margins, dtype=np.float64)
        target = max(0.0, state.soft_margin) if state.weight_sum > 0.0 else 0.0
        if state.bounds.edge <= target:
            reason = f"the newest hypothesis has no larger edge than the soft margin of the weights, {target:.6g}"
            return replace(state, stop_reason=reason)
        is_reached = float(u.min()) < target
        alpha = step_to_edge(u, self.log_distribution(state.m), target, state.d) if is_reached else UNREACHED_STEP
        if not 0.0 < alpha < math.inf:
            return replace(state, stop_reason=f"no step gives the newest hypothesis the edge {target:.6g}")
        return self.went(context, alpha, lambda m: -m)
