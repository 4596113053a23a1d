"""Boosters that are not convex programs: their formulations, their updates and their bounds over the class.

Such a booster computes the distribution d by a reweighting rule. For every d in the capped simplex C_nu, however it was
computed, the largest edge of the class under d is an upper bound of the soft margin over the class [Glocer 2009,
section 2.2]. So an answer of the oracle bounds the class if d lies in C_nu, and proves nothing otherwise.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from boostopt._utils.array_types import ExampleVector, HypothesisVector
from boostopt._utils.validation import check_instance
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.run_state import State
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.updates.base import Update, UpdateContext, unit_weight
from boostopt.errors import require_not_none
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.regularizers.capped_simplex import CappedSimplex, renormalize_in_box
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.programs.boosting_spec import BoostingSpec
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import CANONICAL, COUNT, Domain, parameter
from boostopt.programs.program import Examples

REASON_PERFECT_HYPOTHESIS = StopReason.ONE_HYPOTHESIS.value
"""The beginning of the reason of a run whose newest hypothesis is correct on all examples."""

CAP_TOL = 4 * float(np.finfo(np.float64).eps)
"""The largest relative violation of a cap by rounding; such weights are renormalized to the cap."""

MEMORY_ROUNDS_OUTSIDE = "outside"
"""The key, in the memory of a state, of the number of rounds with d outside C_nu."""


class Booster(Formulation[Any]):
    """The formulation of a booster: the parameters, with nu, and the soft margin of the certificate.

    F is the cap of nu and G the largest edge, as for the soft margin. The booster itself does not solve this program.
    """

    boosting: ClassVar[BoostingSpec] = BoostingSpec(
        update="reweighting",
        rules=("direct",),
        final_weights="scaled",
        extra_success_reasons=(REASON_PERFECT_HYPOTHESIS,),
    )

    def regularizer(self, p: Any, examples: Examples) -> CappedSimplexIndicator:
        return CappedSimplexIndicator(CappedSimplex(examples.c, p.nu))

    def edge_function(self, p: Any) -> MaximumEdge:
        return MaximumEdge()

    def fill_parameters(self, p: Any, examples: Examples) -> Any:
        return replace(p, nu=self.default_nu(p, examples)) if math.isnan(p.nu) else p

    def default_nu(self, p: Any, examples: Examples) -> float:
        """Return the nu for which d provably lies in C_nu; by default the nu of the hard margin."""
        return hard_margin_nu(examples)

    @abstractmethod
    def reweighting(self, problem: Problem) -> Reweighting:
        """Return the update of the booster."""


def hard_margin_nu(examples: Examples) -> float:
    """Return the nu of the hard margin: 1 or the smallest multiplicity if it is less, so that no cap binds."""
    return min(1.0, float(examples.c.min()))


def valid_nu(count: float, examples: Examples) -> float:
    """Return the nu of caps for a d within c / count: the count, or the nu of the hard margin if count < 1."""
    return count if count >= 1.0 else hard_margin_nu(examples)


NU_DOMAIN = Domain(
    f"{COUNT.text}, or the smallest multiplicity if it is less than 1",
    lambda value, examples: COUNT.contains(value, examples) or value == hard_margin_nu(examples),
)


def certified_nu() -> Any:
    """Declare the parameter nu of a booster, with the default `Booster.default_nu`."""
    return parameter("the count whose soft margin is certified, as far as d lies in C_nu", NU_DOMAIN, CANONICAL)


def respects_caps(problem: Problem, d: ExampleVector) -> bool:
    """Return whether a distribution lies in C_nu, so that the largest edge under it bounds the class."""
    return bool((d <= _caps(problem) * (1.0 + CAP_TOL)).all())


def outside(run: Run) -> int:
    """Return the number of rounds of a booster with d outside C_nu, whose edges bound nothing."""
    run = check_instance("run", run, Run, "a run of a booster", "Pass what the booster returned.")
    check_instance(
        "run",
        run.record.problem.formulation,
        Booster,
        "a run of a booster",
        "Pass such a run: others keep to the caps.",
    )
    return int(cast(float, run.record.state.memory.get(MEMORY_ROUNDS_OUTSIDE, 0.0)))


def _caps(problem: Problem) -> ExampleVector:
    """Return the caps c / nu."""
    return cast(CappedSimplexIndicator, problem.F).upper


class Reweighting(Update):
    """An update with a reweighting rule: d_n is proportional to c_n exp(l_n), with the log weight l_n of one copy."""

    @cached_property
    def c(self) -> ExampleVector:
        """The multiplicities, shape (N,)."""
        return self.problem.examples.c

    @cached_property
    def log_c(self) -> ExampleVector:
        """The logarithms of the multiplicities, shape (N,)."""
        return np.log(self.c)

    def mean(self, values: ExampleVector) -> float:
        """Return the mean over the examples, counted with multiplicity."""
        return float(self.c @ values) / float(self.c.sum())

    unbounded_on_perfect_hypothesis: ClassVar[bool] = True
    """True if the step of a hypothesis that is correct on all examples is unbounded."""

    def bounds_class(self, d: ExampleVector) -> bool:
        return respects_caps(self.problem, d)

    def closing_remark(self, state: State) -> str:
        n_outside = int(cast(float, state.memory.get(MEMORY_ROUNDS_OUTSIDE, 0.0)))
        nu = self.problem.template.parameters.nu
        if n_outside == 0:
            return ""
        return f"; d left the caps c / nu, nu = {nu:g}, in {n_outside} of {state.round} rounds, which bound nothing"

    def __call__(self, context: UpdateContext) -> State:
        is_outside = not respects_caps(self.problem, context.state.d)
        n_outside = cast(float, context.state.memory.get(MEMORY_ROUNDS_OUTSIDE, 0.0))
        min_margin = float(context.newest_margins.min())
        if self.unbounded_on_perfect_hypothesis and min_margin > 0.0:
            next_state = self._finish_on_perfect_hypothesis(context, min_margin)
        elif context.state.bounds.edge <= 0.0:
            next_state = replace(context.state, stop_reason="the newest hypothesis has no edge, so no step helps")
        else:
            next_state = self.step(context)
        return replace(next_state, memory={**next_state.memory, MEMORY_ROUNDS_OUTSIDE: n_outside + is_outside})

    @abstractmethod
    def step(self, context: UpdateContext) -> State:
        """Return the state after a round whose hypothesis has a positive edge."""

    def went(self, context: UpdateContext, step: float, weights: Callable[[ExampleVector], ExampleVector]) -> State:
        """Return the state after a step of the newest hypothesis; d follows from the margins.

        `weights` returns, for the margins, the logarithm l_n of the weight of one copy of each example.
        """
        w = context.weights
        w[context.newest] += step
        m = context.state.m + step * context.newest_margins
        return self._state_at(context, w, m, self.distribution(weights(m)))

    def distribution(self, log_weights: ExampleVector) -> ExampleVector:
        """Return d proportional to c exp(l), with sum 1; caps are not violated by rounding only."""
        log_d = self.log_c + log_weights
        d = np.exp(log_d - log_d.max())
        d /= d.sum()
        return renormalize_in_box(d, np.zeros(len(d)), _caps(self.problem)) if respects_caps(self.problem, d) else d

    def _finish_on_perfect_hypothesis(self, context: UpdateContext, min_margin: float) -> State:
        """Return the last state of a run whose newest hypothesis is correct on all examples."""
        w = unit_weight(context.pool.t, context.newest)
        end_reason = f"{REASON_PERFECT_HYPOTHESIS} has a margin of {min_margin:.6g} on every example"
        return replace(
            self._state_at(context, w, np.asarray(context.newest_margins, dtype=np.float64), context.state.d),
            stop_reason=end_reason,
        )

    def _state_at(self, context: UpdateContext, w: HypothesisVector, m: ExampleVector, d: ExampleVector) -> State:
        """Return the state at nonnegative weights w; the value is the soft margin of w."""
        value = require_not_none(self.problem.objective, "the soft margin of a booster").soft_margin(m, float(w.sum()))
        return replace(context.state, round=context.state.round + 1, w=w, m=m, d=d, dual_objective=value)
