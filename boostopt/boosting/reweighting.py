"""The update of the boosters that are no convex programs: their pages, their moves, when they bound a class.

Such a booster sets the distribution d by a rule of its own. For every d in the capped simplex C_nu, however it was
found, the largest edge of the class under d is an upper bound of the soft margin over the class [Glocer 2009, section
2.2]. So each d is looked at: the oracle's answer bounds the class if d lies in C_nu, and nothing if it does not.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import check_instance
from boostopt.boosting.problem import Problem
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.state import State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import Update, UpdateContext, unit_weight
from boostopt.errors import require_not_none
from boostopt.functions.edge_functions.maximum import MaximumEdge
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, renormalize_in_box
from boostopt.functions.regularizers.indicators import Cap
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import CANONICAL, COUNT, Domain, parameter
from boostopt.programs.program import Examples

REASON_PERFECT_HYPOTHESIS = StopReason.ONE_HYPOTHESIS.value
"""Beginning of the reason of a run whose newest hypothesis is right everywhere."""

CAP_TOL = 4 * float(np.finfo(np.float64).eps)
"""Relative excess over its cap at which a weight counts as lying on it: the rounding of a sum, taken off again."""

OUTSIDE = "outside"
"""Name, in a state's memory, of the number of rounds whose d lay outside C_nu."""


class Booster(Formulation[Any]):
    """The page of a booster: its parameters, nu among them, and the soft margin that its certificate is about.

    F is the cap of nu and G the largest edge, those of the soft margin; the booster itself states no such program.
    """

    stopping_rules: ClassVar[tuple[str, ...]] = ("direct",)
    final_weights: ClassVar[str] = "scaled"
    update: ClassVar[str] = "reweighting"
    extra_success_reasons: ClassVar[tuple[str, ...]] = (REASON_PERFECT_HYPOTHESIS,)

    def regularizer(self, p: Any, examples: Examples) -> Cap:
        return Cap(CappedSimplex(examples.c, p.nu))

    def edge_function(self, p: Any) -> MaximumEdge:
        return MaximumEdge()

    def canonical(self, p: Any, examples: Examples) -> Any:
        return replace(p, nu=self.default_nu(p, examples)) if math.isnan(p.nu) else p

    def default_nu(self, p: Any, examples: Examples) -> float:
        """Return the nu for which d is known to lie in C_nu; that of the hard margin where nothing is known."""
        return hard_margin_nu(examples)

    @abstractmethod
    def reweighting(self, problem: Problem) -> Reweighting:
        """Return the way in which this booster moves."""


def hard_margin_nu(examples: Examples) -> float:
    """Return the nu of the hard margin: 1, or the smallest multiplicity where that is less, so that no cap binds."""
    return min(1.0, float(examples.c.min()))


def valid_nu(count: float, examples: Examples) -> float:
    """Return the nu of caps that a d within c / count respects: the count, or where it is no nu that of no caps."""
    return count if count >= 1.0 else hard_margin_nu(examples)


NU_DOMAIN = Domain(
    f"{COUNT.text}, or the smallest multiplicity if it is less than 1",
    lambda value, examples: COUNT.contains(value, examples) or value == hard_margin_nu(examples),
)


def certified_nu() -> Any:
    """Declare the parameter nu of a booster, left open: `Booster.respected`."""
    return parameter("the count whose soft margin is certified, as far as d lies in C_nu", NU_DOMAIN, CANONICAL)


def respects_caps(problem: Problem, d: Float[Array, " N"]) -> bool:
    """Return whether a distribution lies in C_nu, so that the largest edge under it bounds the class."""
    return bool((d <= _caps(problem) * (1.0 + CAP_TOL)).all())


def outside(run: Run) -> int:
    """Return the number of rounds of a booster whose d lay outside C_nu: their edges bound nothing."""
    run = check_instance("run", run, Run, "a run of a booster", "Pass what the booster returned.")
    check_instance(
        "run",
        run.record.problem.formulation,
        Booster,
        "a run of a booster",
        "Pass such a run: others keep to the caps.",
    )
    return int(cast(float, run.record.state.memory.get(OUTSIDE, 0.0)))


def _caps(problem: Problem) -> Float[Array, " N"]:
    """Return c / nu."""
    return cast(Cap, problem.F).upper


class Reweighting(Update):
    """A move whose distribution is set by a rule: d_n proportional to c_n exp(l_n), l a logarithm for each copy."""

    @cached_property
    def c(self) -> Float[Array, " N"]:
        """Multiplicities."""
        return self.problem.examples.c

    @cached_property
    def log_c(self) -> Float[Array, " N"]:
        """Their logarithms."""
        return np.log(self.c)

    def mean(self, values: Float[Array, " N"]) -> float:
        """Return the mean over the examples, counted with multiplicity."""
        return float(self.c @ values) / float(self.c.sum())

    unbounded_on_perfect_hypothesis: ClassVar[bool] = True
    """Whether the step along a hypothesis that is right everywhere has no end."""

    def bounds_class(self, d: Float[Array, " N"]) -> bool:
        return respects_caps(self.problem, d)

    def closing_remark(self, state: State) -> str:
        left = int(cast(float, state.memory.get(OUTSIDE, 0.0)))
        nu = self.problem.template.parameters.nu
        words = f"; d left the caps c / nu, nu = {nu:g}, in {left} of {state.round} rounds, which bound nothing"
        return words if left else ""

    def __call__(self, move: UpdateContext) -> State:
        left = not respects_caps(self.problem, move.state.d)
        before = cast(float, move.state.memory.get(OUTSIDE, 0.0))
        least = float(move.newest_margins.min())
        if self.unbounded_on_perfect_hypothesis and least > 0.0:
            after = self._finish_on_perfect_hypothesis(move, least)
        elif move.state.bounds.edge <= 0.0:
            after = replace(move.state, stuck="the newest hypothesis has no edge, so no step helps")
        else:
            after = self.step(move)
        return replace(after, memory={**after.memory, OUTSIDE: before + left})

    @abstractmethod
    def step(self, move: UpdateContext) -> State:
        """Return the state after a round whose hypothesis has a positive edge."""

    def went(
        self, move: UpdateContext, step: float, weights: Callable[[Float[Array, " N"]], Float[Array, " N"]]
    ) -> State:
        """Return the state after a step of the newest hypothesis, d being made of the margins by `weights`.

        `weights` returns the logarithm l_n of the weight of a copy of each example.
        """
        w = move.weights
        w[move.newest] += step
        m = move.state.m + step * move.newest_margins
        return self._state_at(move, w, m, self.distribution(weights(m)))

    def distribution(self, log_weights: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return d proportional to c exp(l), of sum 1, never above the caps by rounding alone."""
        log_d = self.log_c + log_weights
        d = np.exp(log_d - log_d.max())
        d /= d.sum()
        return renormalize_in_box(d, np.zeros(len(d)), _caps(self.problem)) if respects_caps(self.problem, d) else d

    def _finish_on_perfect_hypothesis(self, move: UpdateContext, least: float) -> State:
        """Return the end of a run whose newest hypothesis is right everywhere."""
        w = unit_weight(move.pool.t, move.newest)
        stuck = f"{REASON_PERFECT_HYPOTHESIS} has a margin of {least:.6g} on every example"
        return replace(
            self._state_at(move, w, np.asarray(move.newest_margins, dtype=np.float64), move.state.d), stuck=stuck
        )

    def _state_at(
        self, move: UpdateContext, w: Float[Array, " t"], m: Float[Array, " N"], d: Float[Array, " N"]
    ) -> State:
        """Return the state at weights w, not negative, whose value is their soft margin."""
        value = require_not_none(self.problem.objective, "the soft margin of a booster").soft_margin(m, float(w.sum()))
        return replace(move.state, round=move.state.round + 1, w=w, m=m, d=d, value=value)
