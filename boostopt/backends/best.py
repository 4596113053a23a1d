"""The narrowest interval that the iterates of a method prove."""

from __future__ import annotations

import numpy as np

from boostopt.backends.base import Task
from boostopt.shapes import Array, Float

CLOSER = 0.1
"""Share of the gap wanted that is the goal of a second attempt if the first has reached the gap."""


class Best:
    """The narrowest interval so far, of one iterate or of the best weights on each side.

    Attributes
    ----------
    d, w
        The weights that prove it, shapes (N,) and (t,); they need not come from the same iterate. None for none yet.
    gap
        Its scaled gap, as the task measures it for this very pair.
    goal
        The gap wanted: at first what the task wants.
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
    def reached(self) -> bool:
        """Whether the interval is as narrow as the goal."""
        return self.gap <= self.goal

    def again(self) -> bool:
        """Set a closer goal if the last one was reached, once, and return whether it is worth to go on.

        Who asks for another attempt then has measured the last one otherwise: on a program with more examples, say.
        """
        if not self.reached or self.goal < self._task.tol or self._task.certify(self.d, self.w).infeasible:
            return False
        self.goal *= CLOSER
        return not self.reached

    def keep(self, d: Float[Array, " N"] | None, w: Float[Array, " t"]) -> None:
        """Keep what an iterate improves."""
        certificate = self._task.certify(d, w)
        lower, upper = self._ends
        if self._lower is None or certificate.lower > lower or certificate.infeasible:
            self._lower, lower = w, certificate.lower
        if d is not None and (self._upper is None or certificate.upper < upper):
            self._upper, upper = d, certificate.upper
        self._ends = lower, upper
        self._offer(d, w)
        if not self.reached:
            self._offer(self._upper, self._lower)

    def _offer(self, d: Float[Array, " N"] | None, w: Float[Array, " t"] | None) -> None:
        """Take a pair that is better. Two good sides need not be one: an upper end may come from d(w) of another w."""
        gap = self._task.gap(d, w)
        if gap < self.gap or not np.isfinite(self.gap):
            self.d, self.w, self.gap = d, w, gap
