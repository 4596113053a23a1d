r"""BrownBoost: boosting with a time budget, which gives up examples that are too hard for the remaining time.

    r = 0 for every example, s = c;  until s = 0:
        d proportional to exp(-(r + s)^2 / c);  a hypothesis u;  the step alpha and the time tau that solve

        (i)   mean of 1 - erf((r + alpha u + s - tau) / sqrt c) = kappa
        (ii)  sum_n u_n exp(-(r_n + alpha u_n + s - tau)^2 / c) = 0,   or tau = s where that comes first

        r <- r + alpha u,  s <- s - tau

with kappa = 1 - erf(sqrt c), for which (i) holds at the start. The paper prints (i) as a constant sum of the
potentials; the form with kappa is equivalent and accumulates no rounding errors. A misclassified example at s = 0,
r_n <= 0, has a potential of at least 1, so the training error is then at most kappa.

Along (i) tau is a function of alpha whose slope is the edge of u under the weights at (alpha, tau), so (ii) holds at
the maximum of tau. tau(alpha) lies between alpha min u and alpha max u. Bisection and Brent's method compute tau and
alpha; the bracket of alpha is doubled until the edge is gone or the time is up.

BrownBoost is not a convex program: the potential 1 - erf is not a convex function of the margin, which allows to give
up an example, and the two equations are not optimality conditions. d lies in C_nu for nu = 1, and for another nu in
some rounds only.

Source: Freund 2001 (margins of real hypotheses included).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import erfc, erfcinv

from boostopt._utils.array_types import ExampleVector
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.reweighting import Booster, Reweighting, certified_nu
from boostopt.boosting.run.run_state import State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import UpdateContext
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.functions.numerics.root_finding import find_root
from boostopt.programs.boosting_spec import BoostingSpec
from boostopt.programs.parameters import CANONICAL, FRACTION, Domain, parameter
from boostopt.programs.program import Examples, Program

REASON_TIME_UP = StopReason.TIME_USED.value
"""The beginning of the reason of a run that reached its training error."""

TIME = Domain("[1e-6, 600]", lambda value, examples: 1e-6 <= value <= 600.0)
"""The domain of c, for which kappa = erfc(sqrt c) is neither 1 nor 0 in double precision."""

INITIAL_STEP_FRACTION = 0.1
"""The first step of the search, as a fraction of sqrt c, the width of the potential."""

DOUBLINGS = 60
"""The largest number of doublings of the step, after which all weights that u can change have underflowed."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""The accuracy of a root, relative to the ends of its bracket."""

REMAINING_TIME = "s"
"""The key, in the memory of a state, of the remaining time."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of BrownBoost."""

    time: float = parameter("the paper's c, the time that the run has", TIME, CANONICAL)
    kappa: float = parameter("the target of the training error, in place of the time", FRACTION, CANONICAL)
    nu: float = certified_nu()


class BrownBoost(Booster):
    """The formulation of BrownBoost."""

    name = "BrownBoost"
    title = "BrownBoost"
    sources: ClassVar[tuple[str, ...]] = ("Freund 2001",)
    boosting: ClassVar[BoostingSpec] = replace(Booster.boosting, extra_success_reasons=(REASON_TIME_UP,))
    Parameters = Parameters
    is_symmetric = True

    def fill_parameters(self, p: Any, examples: Examples) -> Any:
        if math.isnan(p.time) == math.isnan(p.kappa):
            values = {"time": p.time, "kappa": p.kappa}
            words = ", ".join(f"{name}={short_repr(None if math.isnan(x) else x)}" for name, x in values.items())
            advice = "Pass one of them" if math.isnan(p.time) else "Leave one out"
            raise OptionError(f"exactly one of time and kappa must be given; got {words}. {advice}.")
        time = float(erfcinv(p.kappa)) ** 2 if math.isnan(p.time) else p.time
        if math.isnan(p.time) and not TIME.contains(time, examples):
            ends = [float(erfc(math.sqrt(end))) for end in (600.0, 1e-6)]
            raise ProblemError(
                f"kappa must lie in [{ends[0]:.3g}, {ends[1]:.6g}], the training errors of times in {TIME.text}; got "
                f"{p.kappa:g}. Pass a value in this range."
            )
        return super().fill_parameters(replace(p, time=time, kappa=float(erfc(math.sqrt(time)))), examples)

    def example_program(self) -> Program:
        return self.bind(np.array([[1.0], [-1.0]]), time=TIME.typical_value)

    def reweighting(self, problem: Problem) -> Reweighting:
        return BrownBoostUpdate(problem)


class BrownBoostUpdate(Reweighting):
    """The step and the time that keep the mean potential at kappa."""

    unbounded_on_perfect_hypothesis = False

    @cached_property
    def time(self) -> float:
        """The time c of the whole run."""
        return float(self.problem.template.parameters.time)

    @cached_property
    def kappa(self) -> float:
        """The mean potential."""
        return float(self.problem.template.parameters.kappa)

    def excess(self, z: ExampleVector) -> float:
        """Return the mean potential at r + s = z over kappa, minus 1."""
        return self.mean(erfc(z / math.sqrt(self.time))) / self.kappa - 1.0

    def step(self, context: UpdateContext) -> State:
        s = cast(float, context.state.memory.get(REMAINING_TIME, self.time))
        solution = StepEquations(self, context.state.m + s, context.newest_margins, s).solve()
        if solution is None:
            return replace(context.state, stop_reason="no step of the newest hypothesis takes any time")
        alpha, tau = solution
        remaining = s - tau
        state = self.went(context, alpha, lambda r: -((r + remaining) ** 2) / self.time)
        end_reason = (
            "" if remaining > 0.0 else f"{REASON_TIME_UP}: the training error is at most kappa = {self.kappa:.6g}"
        )
        return replace(state, memory={**state.memory, REMAINING_TIME: remaining}, stop_reason=end_reason)


@dataclass(frozen=True, eq=False)
class StepEquations:
    """The two equations of a round.

    Attributes
    ----------
    update
        The update, with the potential.
    z
        r + s, shape (N,).
    u
        The margins of the newest hypothesis, shape (N,), with a positive edge.
    s
        The remaining time, positive.
    """

    update: BrownBoostUpdate
    z: ExampleVector
    u: ExampleVector
    s: float

    @cached_property
    def margin_range(self) -> tuple[float, float]:
        """The smallest and the largest u."""
        return float(self.u.min()), float(self.u.max())

    def tau(self, alpha: float) -> float:
        """Return the time tau for which the mean potential after the step is kappa again."""
        low, high = self.margin_range
        return _root(lambda tau: self.update.excess(self.z + (alpha * self.u - tau)), alpha * low, alpha * high)

    def edge(self, alpha: float, tau: float) -> float:
        """Return the edge of u under the weights after a step: the left side of (ii), normalized."""
        log_d = self.update.log_c - (self.z + (alpha * self.u - tau)) ** 2 / self.update.time
        d = np.exp(log_d - log_d.max())
        return float(self.u @ d) / float(d.sum())

    def solve(self) -> tuple[float, float] | None:
        """Return alpha and tau, with tau = s if the time is up; None if there is no step."""
        low, high = 0.0, INITIAL_STEP_FRACTION * math.sqrt(self.update.time)
        for _ in range(DOUBLINGS):
            tau = self.tau(high)
            edge = self.edge(high, tau)
            if tau >= self.s or edge <= 0.0:
                break
            low, high = high, 2.0 * high
        else:
            return None
        if edge <= 0.0:
            high = _root(lambda alpha: -self.edge(alpha, self.tau(alpha)), low, high)
            tau = self.tau(high)
            if tau < self.s:
                return high, tau
        # tau reaches s at a smaller step: the step at which (i) holds for tau = s.
        alpha = _root(lambda alpha: -self.update.excess(self.z + (alpha * self.u - self.s)), low, high)
        return alpha, self.s


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of an increasing function between low and high; if there is none by rounding, the nearer end."""
    return find_root(function, low, high, ROUNDING * max(1.0, abs(low), abs(high)))
