"""What is asked of the rows: margins of weights, the weights that a program gives the examples, edges, curvature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.boosting.buckets import Buckets, Law, law_of
from boostopt.boosting.newton import less_mean
from boostopt.boosting.problem import Problem
from boostopt.boosting.proving import in_buckets
from boostopt.boosting.soft_margin import Goal
from boostopt.programs.program import Examples
from boostopt.regularizers.base import Regularizer
from boostopt.regularizers.cap import Cap
from boostopt.rows.kernels import ONE, Split, Window
from boostopt.rows.rows import Kept, Rows
from boostopt.shapes import Array, Float, Int

COARSE = 0.02
"""Width of a bucket, times eta, above which a closer window is looked through."""

CLOSER = 2
"""How often a closer window is looked through at most."""


@dataclass(eq=False)
class Seen:
    """The margins of some weights.

    Attributes
    ----------
    W
        The weights, whole numbers of sum 2^30.
    kept
        The margins, beside the rows.
    buckets
        These in buckets, from -1 to 1.
    lower
        A number not above their soft margin.
    total
        The sum of the weights of the program: they are w times this.
    """

    W: Int[Array, " t"]
    kept: Kept
    buckets: Buckets
    lower: Fraction
    total: float = 1.0
    laws: dict[int, Law] = field(default_factory=dict[int, Law])


class Looks:
    """What is asked of some rows.

    Parameters
    ----------
    problem
        What is boosted.
    rows
        All of them, or a sample that stands for them.
    nu, total
        Of all of them: the count of the cap, and the number of examples with multiplicity.
    """

    def __init__(self, problem: Problem, rows: Rows, nu: float, total: int) -> None:
        self.problem, self.rows = problem, rows
        self._copies = total / rows.total
        self.nu = Fraction(nu) * rows.total / total

    def at(self, splits: Sequence[Split], W: Int[Array, " t"], total: float = 1.0) -> Seen:
        """Return the margins of weights."""
        kept = self.rows.scores(splits, W)
        buckets = in_buckets(self.rows, kept, Window.whole())
        return Seen(W, kept, buckets, buckets.soft_margin(self.nu), total)

    def law(self, seen: Seen, level: int) -> Law:
        """Return the weights of the examples in the program of a level."""
        if level not in seen.laws:
            law = law_of(seen.buckets, self._made(level), self.nu, seen.total)
            for _ in range(CLOSER):
                closer = Window.around(*law.between)
                if seen.total * law.window.width <= COARSE * self.softness(level) or closer.shift >= law.window.shift:
                    break
                buckets = in_buckets(self.rows, seen.kept, closer)
                seen.lower = max(seen.lower, buckets.soft_margin(self.nu))
                law = law_of(buckets, self._made(level), self.nu, seen.total)
            seen.laws[level] = law
        return seen.laws[level]

    def edges(self, seen: Seen, law: Law) -> Int[Array, " thresholds"]:
        """Return the edges of the class under d, times Q: h being 1 above each threshold."""
        return self.rows.edges(seen.kept, law.window, law.table)

    def curvature(self, seen: Seen, law: Law, splits: Sequence[Split]) -> Float[Array, "t t"]:
        """Return minus the Hessian of D with respect to the weights of some hypotheses."""
        G = self.rows.gram(seen.kept, law.window, law.curved, splits)
        r = float(G[-1, -1])
        return law.unit * less_mean(G[:-1, :-1], G[-1, :-1], r) if r > 0.0 else G[:-1, :-1]

    def softness(self, level: int) -> float:
        """Return 1 / eta of a level."""
        return self.problem.softness * 2.0**level

    def _made(self, level: int) -> Callable[[Float[Array, " k"]], Regularizer]:
        """Return what makes F of a level for examples of given multiplicities."""

        def made(c: Float[Array, " k"]) -> Regularizer:
            return self.problem.softened(level, Examples(c * self._copies, c / c.sum()))

        return made


@dataclass(frozen=True, eq=False)
class Look:
    """A look at the weights w, with the edges of the class under d(w).

    Attributes
    ----------
    seen, level, law
        The margins of w, the level of the program, and the weights of the examples there.
    edges, reach
        The edges of the class times Q: of h = 1 above each threshold, and of the better direction that the class has.
    """

    seen: Seen
    level: int
    law: Law
    edges: Int[Array, " thresholds"]
    reach: Int[Array, " thresholds"]

    @property
    def largest(self) -> Fraction:
        """The largest edge of the class under d(w), exactly."""
        return Fraction(int(self.reach.max()), self.law.total)

    @property
    def w(self) -> Float[Array, " t"]:
        """The weights."""
        return self.seen.W / ONE


def count_of(problem: Problem) -> float | None:
    """Return nu of a problem, as `count_of_goal` does."""
    return count_of_goal(problem.goal, problem.first.parameters, problem.examples)


def count_of_goal(goal: Goal | None, parameters: Any, examples: Examples) -> float | None:
    """Return nu, where the soft margin is that of the cap c / nu; None for another goal.

    Caps of 1 bind nothing: the smallest margin is that of a single example, of any of its copies.
    """
    caps = None if goal is None else goal.F0.indicator_caps
    if goal is None or caps is None or not isinstance(goal.F0, Cap):
        return None
    # Caps are rounded: nu is what they were made of, not what may be made of them.
    for nu in (getattr(parameters, "nu", None), goal.F0.domain.nu):
        if isinstance(nu, float) and np.array_equal(examples.c / nu, caps):
            return nu
    return 1.0 if caps.min() >= 1.0 and examples.c.min() >= 1.0 else None
