r"""BrownBoost: boosting against a clock, which gives up the examples that it could not win in the time that is left.

    r = 0 for every example, s = c;  until s = 0:
        d proportional to exp(-(r + s)^2 / c);  a hypothesis u;  the step alpha and the time tau that solve

        (i)   mean of 1 - erf((r + alpha u + s - tau) / sqrt c) = kappa
        (ii)  sum_n u_n exp(-(r_n + alpha u_n + s - tau)^2 / c) = 0,   or tau = s where that comes first

        r <- r + alpha u,  s <- s - tau

with kappa = 1 - erf(sqrt c), which (i) holds at the start. (i) is printed as keeping the sum of the potentials what it
was; asking for kappa itself is the same and lets no rounding add up. An example that f has wrong when s = 0, r_n <= 0,
has a potential of at least 1: the training error then is at most kappa.

Along (i) tau is a function of alpha whose slope is the edge of u under the weights at (alpha, tau), so that (ii) is
where tau stops to rise. tau(alpha) lies between alpha min u and alpha max u and is found by bisection and Brent's
method, and so is alpha, in a bracket that is doubled until the edge has gone or the time is up.

It is no convex program: the potential 1 - erf is no convex function of the margin, which is why an example can be given
up, and the two equations are no optimality conditions. d lies in C_nu for nu = 1, and for another nu where it
happens to.

Source: Freund 2001 (margins of real hypotheses included).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, erfcinv

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.boosters.calls import run_of
from boostopt.boosting.problem import Problem
from boostopt.boosting.reweighting import Booster, Reweighting, certified_nu
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.state import State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import UpdateContext
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.oracles.base import Oracle
from boostopt.programs.parameters import CANONICAL, FRACTION, Domain, parameter
from boostopt.programs.program import Examples, Program

REASON_TIME_UP = StopReason.TIME_USED.value
"""Beginning of the reason of a run that has the training error that was aimed at."""

TIME = Domain("[1e-6, 600]", lambda value, examples: 1e-6 <= value <= 600.0)
"""The c whose kappa = erfc(sqrt c) is neither 1 nor 0 in double precision."""

INITIAL_STEP_FRACTION = 0.1
"""The first step that is tried, as a share of sqrt c, the width of the potential."""

DOUBLINGS = 60
"""Doublings of the step after which every weight that u can move has underflowed."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Accuracy of a root, relative to the ends of its bracket."""

LEFT = "s"
"""Name, in a state's memory, of the time that is left."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of BrownBoost."""

    time: float = parameter("the paper's c, the time that the run has", TIME, CANONICAL)
    kappa: float = parameter("the target of the training error, in place of the time", FRACTION, CANONICAL)
    nu: float = certified_nu()


class BrownBoost(Booster):
    """The page of BrownBoost."""

    name = "BrownBoost"
    title = "BrownBoost"
    sources: ClassVar[tuple[str, ...]] = ("Freund 2001",)
    extra_success_reasons: ClassVar[tuple[str, ...]] = (REASON_TIME_UP,)
    Parameters = Parameters
    is_symmetric = True

    def canonical(self, p: Any, examples: Examples) -> Any:
        if math.isnan(p.time) == math.isnan(p.kappa):
            values = {"c": p.time, "kappa": p.kappa}
            words = ", ".join(f"{name}={short_repr(None if math.isnan(x) else x)}" for name, x in values.items())
            advice = "Pass one of them" if math.isnan(p.time) else "Leave one out"
            raise OptionError(f"exactly one of c and kappa must be given; got {words}. {advice}; boost calls c time=.")
        time = float(erfcinv(p.kappa)) ** 2 if math.isnan(p.time) else p.time
        if math.isnan(p.time) and not TIME.contains(time, examples):
            ends = [float(erfc(math.sqrt(end))) for end in (600.0, 1e-6)]
            raise ProblemError(
                f"kappa must lie in [{ends[0]:.3g}, {ends[1]:.6g}], the training errors of times in {TIME.text}; got "
                f"{p.kappa:g}. Pass a value in this range."
            )
        return super().canonical(replace(p, time=time, kappa=float(erfc(math.sqrt(time)))), examples)

    def smallest(self) -> Program:
        return self.bind(np.array([[1.0], [-1.0]]), time=TIME.typical)

    def reweighting(self, problem: Problem) -> Reweighting:
        return BrownBoostUpdate(problem)


class BrownBoostUpdate(Reweighting):
    """A step and a time that keep the mean potential at kappa."""

    unbounded_on_perfect_hypothesis = False

    @cached_property
    def time(self) -> float:
        """c, the time that the run has."""
        return float(self.problem.template.parameters.time)

    @cached_property
    def kappa(self) -> float:
        """The mean potential."""
        return float(self.problem.template.parameters.kappa)

    def excess(self, z: Float[Array, " N"]) -> float:
        """Return the mean potential at r + s = z over kappa, less 1."""
        return self.mean(erfc(z / math.sqrt(self.time))) / self.kappa - 1.0

    def step(self, move: UpdateContext) -> State:
        s = cast(float, move.state.memory.get(LEFT, self.time))
        solution = StepEquations(self, move.state.m + s, move.newest_margins, s).solve()
        if solution is None:
            return replace(move.state, stuck="no step of the newest hypothesis takes any time")
        alpha, tau = solution
        left = s - tau
        state = self.went(move, alpha, lambda r: -((r + left) ** 2) / self.time)
        stuck = "" if left > 0.0 else f"{REASON_TIME_UP}: the training error is at most kappa = {self.kappa:.6g}"
        return replace(state, memory={**state.memory, LEFT: left}, stuck=stuck)


@dataclass(frozen=True, eq=False)
class StepEquations:
    """The two equations of a round.

    Attributes
    ----------
    update
        What knows the potential.
    z
        r + s, shape (N,).
    newest_margins
        Margins of the newest hypothesis, shape (N,), of positive edge.
    s
        The time that is left, positive.
    """

    update: BrownBoostUpdate
    z: Float[Array, " N"]
    u: Float[Array, " N"]
    s: float

    @cached_property
    def margin_range(self) -> tuple[float, float]:
        """The smallest and the largest u."""
        return float(self.u.min()), float(self.u.max())

    def tau(self, alpha: float) -> float:
        """Return the time after which a step has the mean potential kappa again."""
        low, high = self.margin_range
        return _root(lambda tau: self.update.excess(self.z + (alpha * self.u - tau)), alpha * low, alpha * high)

    def edge(self, alpha: float, tau: float) -> float:
        """Return the edge of u under the weights after a step: the left side of (ii), normalized."""
        log_d = self.update.log_c - (self.z + (alpha * self.u - tau)) ** 2 / self.update.time
        d = np.exp(log_d - log_d.max())
        return float(self.u @ d) / float(d.sum())

    def solve(self) -> tuple[float, float] | None:
        """Return alpha and tau, tau = s where the time is up; None where no step is found."""
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
            high = _root(lambda alpha: self.edge(alpha, self.tau(alpha)), low, high)
            tau = self.tau(high)
            if tau < self.s:
                return high, tau
        # tau rises to s before: the step at which (i) holds for tau = s.
        return _root(lambda alpha: self.update.excess(self.z + (alpha * self.u - self.s)), low, high), self.s


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return a root between two points at which the signs differ but for rounding: then the end that is nearer to 0."""
    at_low, at_high = function(low), function(high)
    if at_low * at_high >= 0.0:
        return low if abs(at_low) <= abs(at_high) else high
    return cast(float, brentq(function, low, high, xtol=ROUNDING * max(1.0, abs(low), abs(high))))


def brownboost(
    oracle: Oracle,
    *,
    c: float | None = None,
    kappa: float | None = None,
    nu: float | None = None,
    **options: Any,
) -> Run:
    """Boost by BrownBoost, which ends with a training error of at most kappa when its time is up.

    Parameters
    ----------
    oracle
        The examples and the class of hypotheses.
    c
        The time that the run has, in [1e-6, 600]; kappa is 1 - erf(sqrt c).
    kappa
        The training error that is aimed at, in (0, 1), in place of c.
    nu
        The count whose soft margin is certified, in [1, N]; 1, the hard margin, by default. For others the rounds
        whose d lies within the caps bound it.
    **options
        As in `boost`; with an epsilon the direct rule ends the run too.

    Returns
    -------
    The run; `reason` says whether the time was used up, `class_certificate` is about the soft margin at nu.

    Raises
    ------
    OptionError
        Not exactly one of c and kappa is given, an option is unknown or out of range, or nothing need ever stop the
        run: pass max_rounds or time_limit.
    ProblemError
        A parameter is out of its domain, or the oracle returns what is no column.
    DataError
        The checkpoint is of other data, of other parameters, or unreadable.

    References
    ----------
    Freund 2001.
    """
    return run_of(BrownBoost(), oracle, {"time": c, "kappa": kappa, "nu": nu}, options)
