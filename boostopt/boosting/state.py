"""The state of a run: weights, the distribution that the oracle is asked with next, and all bounds seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from boostopt.backends.base import WarmStart
from boostopt.boosting.collected import Collected
from boostopt.boosting.problem import Problem
from boostopt.boosting.soft_margin import Goal
from boostopt.certificates.certificate import Certificate
from boostopt.programs.progress import Progress
from boostopt.shapes import Array, Float, Int


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds that follow from the answers of the oracle so far.

    Attributes
    ----------
    edge
        u . d of the last answer.
    smallest_edge
        The smallest of these, g_t in the papers; 1 before the first.
    smallest_target
        The smallest F0(d) + u . d, F0 being F without its entropy: no more than the soft margin that hypotheses with
        such edges are known to reach. Of an answer that was preferred to the best one the best edge counts.
    smallest_value
        The smallest u . d + F(d), M_t, likewise.
    smallest_primal
        The smallest F(d) + largest edge of the hypotheses collected and the newest, P^t(d) in the papers; inf before
        the first, and where the program is not the largest edge with F.
    primal
        F(d) + largest edge of the hypotheses collected, without the newest; inf unless a rule asks for it.
    known
        G of the hypotheses collected, without the newest, where what a further edge costs depends on it.
    upper
        The smallest bound of the soft margin over the class; inf without any.
    d
        The distribution that proves `upper`, shape (N,).
    """

    edge: float = 1.0
    smallest_edge: float = 1.0
    smallest_target: float = math.inf
    smallest_value: float = math.inf
    smallest_primal: float = math.inf
    primal: float = math.inf
    known: float = 0.0
    upper: float = math.inf
    d: Float[Array, " N"] | None = None

    def seen(self, edge: float, reach: float, F0_of_d: float, F_of_d: float) -> Bounds:
        """Return the bounds after an answer with that edge, of an oracle that knows one of `reach`."""
        return replace(
            self,
            edge=edge,
            smallest_edge=min(self.smallest_edge, edge),
            smallest_target=min(self.smallest_target, reach + F0_of_d),
            smallest_value=min(self.smallest_value, reach + F_of_d),
        )

    @property
    def shown_primal(self) -> float:
        """The smallest P^t(d), nan where there is none: what a trace shows."""
        return self.smallest_primal if math.isfinite(self.smallest_primal) else math.nan

    def lowered(self, upper: float, d: Float[Array, " N"]) -> Bounds:
        """Return the bounds with a bound of the class that a distribution proves, if it is a better one."""
        return replace(self, upper=upper, d=d) if upper < self.upper else self


PAST = "A"
"""Name, in the memory of AdaBoost_REG, of the sum of b w for each example: step times weight of a copy of it."""


@dataclass(frozen=True, eq=False)
class State:
    """The state of a run after a number of updates.

    Attributes
    ----------
    round
        Updates made.
    w
        Weights of the hypotheses, shape (t,).
    m
        Their margins Uw, shape (N,).
    d
        The distribution that the oracle is asked with next, shape (N,).
    value
        D(w), a lower bound of the program; -1 before the first hypothesis.
    soft_margin
        The soft margin of w over its sum; -1 before the first hypothesis.
    bounds
        What the answers of the oracle have bounded.
    certificate
        Of the last program over all hypotheses, None where none was solved.
    start
        Where the next solve may begin.
    backend
        What gave the weights, "" where they are of no program.
    stuck
        Why no further update is possible, "" while there is.
    repeated
        Rounds in a row that brought no new hypothesis.
    still
        Those of them in a row that did not raise D either.
    solved_edge
        The smallest edge when the weights were found, on which programs may depend; the oracle may have answered since.
    active
        Numbers of the hypotheses in the program, shape (k,); None for all. Of these is `start`.
    memory
        What an update of its own remembers besides, by name: numbers, or arrays of shape (N,).
    """

    round: int
    w: Float[Array, " t"]
    m: Float[Array, " N"]
    d: Float[Array, " N"]
    value: float
    soft_margin: float
    bounds: Bounds
    certificate: Certificate | None = None
    start: WarmStart | None = None
    backend: str = ""
    stuck: str = ""
    repeated: int = 0
    still: int = 0
    solved_edge: float = 1.0
    active: Int[Array, " k"] | None = None
    memory: Mapping[str, float | Array] = field(default_factory=dict[str, Any])

    @property
    def total(self) -> float:
        """The sum of |w|."""
        return float(abs(self.w).sum())

    def weights(self, t: int) -> Float[Array, " t"]:
        """Return the weights of t hypotheses, 0 for those that have joined since."""
        return np.concatenate([self.w, np.zeros(t - len(self.w))])

    @property
    def as_solved(self) -> State:
        """The state as it was when the weights were found, before the oracle answered once more."""
        return replace(self, bounds=replace(self.bounds, smallest_edge=self.solved_edge))

    def progress(self, problem: Problem, u: Float[Array, " N"]) -> Progress:
        """Return what a formulation may set its parameters by, u being the margins of the newest hypothesis."""
        return Progress(self.round, self.bounds.smallest_edge, problem.epsilon, problem.examples, self.total, self.m, u)

    def judged(self, goal: Goal | None, collected: Collected) -> State:
        """Return the state with its soft margin."""
        if goal is None:
            return self
        m, total = self.m, self.total
        if total > 0.0 and goal.signed and float(self.w.min()) < 0.0:
            # A program as printed may leave the simplex; what counts are weights that lie in it.
            w = goal.G.project(self.w)
            m, total = (m, 0.0) if w is None else (collected.margins.margins(w), 1.0)
        return replace(self, soft_margin=goal.soft_margin(m, total))
