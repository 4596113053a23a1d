"""The incumbent of a method: the narrowest interval that its iterates prove."""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.backends.base import Task

GOAL_REDUCTION = 0.1
"""The goal of a second attempt, as a fraction of the target gap, if the first attempt has reached the target."""


class Incumbent:
    """The narrowest interval so far, from one iterate or from the best weights on each side.

    Attributes
    ----------
    d, w
        The weights that prove the interval, shapes (N,) and (t,), possibly from different iterates. None at first.
    gap
        The scaled gap of this pair, as the task computes it.
    goal
        The gap to reach, at first the tolerance of the task.
    """

    gap: float
    goal: float

    def __init__(self, task: Task) -> None:
        self.d: Float[Array, " N"] | None = None
        self.w: Float[Array, " t"] | None = None
        self.gap, self.goal = np.inf, task.tol
        self._task, self._ends = task, (-np.inf, np.inf)
        self._upper: Float[Array, " N"] | None = None
        self._lower: Float[Array, " t"] | None = None

    @property
    def goal_reached(self) -> bool:
        """Whether the interval is as narrow as the goal."""
        return self.gap <= self.goal

    def tighten_goal(self) -> bool:
        """Reduce a goal that was reached, once; return whether another attempt is worthwhile.

        A caller that asks for another attempt has measured a larger gap, for example on a program with more examples.
        """
        if not self.goal_reached or self.goal < self._task.tol or self._task.certify(self.d, self.w).infeasible:
            return False
        self.goal *= GOAL_REDUCTION
        return not self.goal_reached

    def add(self, d: Float[Array, " N"] | None, w: Float[Array, " t"]) -> None:
        """Store the weights of an iterate that improve a bound."""
        certificate = self._task.certify(d, w)
        lower, upper = self._ends
        if self._lower is None or certificate.lower > lower or certificate.infeasible:
            self._lower, lower = w, certificate.lower
        if d is not None and (self._upper is None or certificate.upper < upper):
            self._upper, upper = d, certificate.upper
        self._ends = lower, upper
        self._update(d, w)
        if not self.goal_reached:
            self._update(self._upper, self._lower)

    def _update(self, d: Float[Array, " N"] | None, w: Float[Array, " t"] | None) -> None:
        """Store a pair with a smaller gap. Good d and w may be a bad pair if the upper bound is that of a d(w)."""
        gap = self._task.gap(d, w)
        if gap < self.gap or not np.isfinite(self.gap):
            self.d, self.w, self.gap = d, w, gap
