"""The state of a run: the weights, the next query to the oracle, and all bounds so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, HypothesisVector, Int
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.backends.base import WarmStart
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.programs.step_rules.boosting_state import BoostingState


@dataclass(frozen=True, eq=False)
class OracleBounds(ImmutableArrays):
    """The bounds that follow from the answers of the oracle so far.

    Attributes
    ----------
    edge
        The edge u . d of the last answer.
    smallest_edge
        The smallest edge of all answers, g_t in the papers; 1 before the first answer.
    smallest_target
        The smallest F0(d) + u . d, where F0 is F without the term that smooths it. The optimum over the class is at
        least this value, a soft margin if F0 is an indicator. If the oracle preferred another column to the one with
        the largest edge, the largest edge counts.
    smallest_value
        The smallest u . d + F(d), M_t in the papers, with the same rule.
    smallest_primal
        The smallest F(d) + largest edge of the collected hypotheses and the newest, P^t(d) in the papers; inf before
        the first answer, and if the edge function is not the largest edge.
    primal
        F(d) + largest edge of the collected hypotheses without the newest; inf unless a rule needs it.
    pool_edge_value
        G of the collected hypotheses without the newest, if the cost of a further edge depends on it.
    upper
        The smallest bound on the soft margin, or other value, over the class; inf if there is none.
    d
        The distribution that proves `upper`, shape (N,).
    """

    edge: float = 1.0
    smallest_edge: float = 1.0
    smallest_target: float = math.inf
    smallest_value: float = math.inf
    smallest_primal: float = math.inf
    primal: float = math.inf
    pool_edge_value: float = 0.0
    upper: float = math.inf
    d: ExampleVector | None = None

    def after_answer(self, edge: float, best_edge: float, F0_of_d: float, F_of_d: float) -> OracleBounds:
        """Return the bounds after an answer with an edge, where `best_edge` is the largest known edge of the class."""
        return replace(
            self,
            edge=edge,
            smallest_edge=min(self.smallest_edge, edge),
            smallest_target=min(self.smallest_target, best_edge + F0_of_d),
            smallest_value=min(self.smallest_value, best_edge + F_of_d),
        )

    @property
    def shown_primal(self) -> float:
        """The smallest P^t(d) for the trace; nan if there is none."""
        return self.smallest_primal if math.isfinite(self.smallest_primal) else math.nan

    def with_upper(self, upper: float, d: ExampleVector) -> OracleBounds:
        """Return the bounds with the upper bound that a distribution proves, if it is smaller."""
        return replace(self, upper=upper, d=d) if upper < self.upper else self


MEMORY_PAST_WEIGHT = "A"
"""The key, in the memory of AdaBoost_REG, of the sums of b w: step times the weight of a copy of each example."""


@dataclass(frozen=True, eq=False)
class State(ImmutableArrays):
    """The state of a run after a number of updates.

    Attributes
    ----------
    round
        The number of updates.
    w
        The weights of the hypotheses, shape (t,).
    m
        The margins Uw of these weights, shape (N,).
    d
        The next query to the oracle, a distribution of shape (N,).
    dual_objective
        D(w), a lower bound of the program; `Problem.least_value` before the first hypothesis.
    soft_margin
        The soft margin, or other value, of w over its sum; `Problem.least_value` before the first hypothesis.
    bounds
        The bounds from the answers of the oracle.
    certificate
        The certificate of the last program over all hypotheses; None if none was solved.
    start
        The point where the next solve may start.
    backend
        The backend that computed the weights; "" if they do not solve a program.
    stop_reason
        The reason why no further update is possible; "" if one is possible.
    rounds_without_column
        The number of rounds in a row without a new hypothesis.
    rounds_without_improvement
        The number of these consecutive rounds that did not increase D either.
    smallest_edge_at_solve
        The smallest edge when the weights were computed. Programs may depend on this edge, and the oracle may have
        answered since then.
    active
        The numbers of the hypotheses in the program, shape (k,); None for all. `start` belongs to these hypotheses.
    memory
        Further values that an update remembers, by name: numbers, or arrays of shape (N,).
    """

    round: int
    w: HypothesisVector
    m: ExampleVector
    d: ExampleVector
    dual_objective: float
    soft_margin: float
    bounds: OracleBounds
    certificate: Certificate | None = None
    start: WarmStart | None = None
    backend: str = ""
    stop_reason: str = ""
    rounds_without_column: int = 0
    rounds_without_improvement: int = 0
    smallest_edge_at_solve: float = 1.0
    active: Int[Array, " k"] | None = None
    memory: Mapping[str, float | Array] = field(default_factory=dict[str, Any])

    @property
    def weight_sum(self) -> float:
        """The sum of |w|."""
        return float(abs(self.w).sum())

    def padded_weights(self, t: int) -> HypothesisVector:
        """Return the weights of t hypotheses, 0 for new hypotheses."""
        return np.concatenate([self.w, np.zeros(t - len(self.w))])

    @property
    def before_last_answer(self) -> State:
        """The state when the weights were computed, before the oracle answered again."""
        return replace(self, bounds=replace(self.bounds, smallest_edge=self.smallest_edge_at_solve))

    def progress(self, problem: Problem, u: ExampleVector) -> BoostingState:
        """Return the progress from which a formulation sets its parameters; u are the newest margins."""
        return BoostingState(
            self.round, self.bounds.smallest_edge, problem.epsilon, problem.examples, self.weight_sum, self.m, u
        )

    def with_soft_margin(self, objective: SoftMarginObjective | None, pool: ColumnPool) -> State:
        """Return the state with its soft margin."""
        if objective is None:
            return self
        m, total = self.m, self.weight_sum
        if total > 0.0 and objective.nonnegative_weights and float(self.w.min()) < 0.0:
            # The program as printed may leave the simplex, but the soft margin is about weights in the simplex.
            w = objective.G.project(self.w)
            U = pool.margins.take_columns(np.arange(len(self.w)))  # the newest hypothesis may have no weight yet
            m, total = (m, 0.0) if w is None else (U.margins(w), 1.0)
        return replace(self, soft_margin=objective.soft_margin(m, total))
