"""The incumbent of a solve or of an iterative method: the best certificate so far, possibly from two answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import ExampleVector, HypothesisVector
from boostopt.backends.base import Task
from boostopt.boosting_certificates.certificate import Certificate

GOAL_REDUCTION = 0.1
"""Factor of the goal of a second attempt, if the first attempt has reached the target gap."""


class Incumbent:
    """The narrowest certified interval so far, from one answer or from the d and the w of two answers.

    An answer may improve the lower bound, the upper bound or both. Of two intervals the one with the smaller gap is
    better. If both gaps are infinite, the one with the larger lower bound is better.

    Attributes
    ----------
    d, w
        The weights that prove the interval, shapes (N,) and (t,). None before the first answer.
    certificate
        The certificate of d and w, None before the first answer. The residuals of a combined pair are those of the
        best answer, because they describe an answer as a solver returned it.
    goal
        The target gap, at first the tolerance of the task.
    """

    goal: float

    def __init__(self, task: Task) -> None:
        self.d: ExampleVector | None = None
        self.w: HypothesisVector | None = None
        self.certificate: Certificate | None = None
        self.goal, self._task = task.tol, task
        self._lower, self._upper = -np.inf, np.inf
        self._lower_w: HypothesisVector | None = None
        self._upper_d: ExampleVector | None = None

    @property
    def gap(self) -> float:
        """The smallest scaled gap so far, inf before the first answer."""
        return np.inf if self.certificate is None else self.certificate.scaled_gap

    @property
    def goal_reached(self) -> bool:
        """True if the scaled gap is at most the goal."""
        return self.gap <= self.goal

    def tighten_goal(self) -> bool:
        """Set a closer goal, once, if the last goal was reached; return whether another attempt is worthwhile.

        A caller that asks for another attempt has measured a larger gap, for example on a program with more examples.
        """
        infeasible = self.certificate is not None and self.certificate.infeasible
        if not self.goal_reached or self.goal < self._task.tol or infeasible:
            return False
        self.goal *= GOAL_REDUCTION
        return not self.goal_reached

    def add(self, d: ExampleVector | None, w: HypothesisVector | None, certificate: Certificate | None = None) -> None:
        """Replace the incumbent if an answer, or its better side with the better side of earlier answers, is better.

        Parameters
        ----------
        d, w
            The weights, shapes (N,) and (t,).
        certificate
            The certificate of d and w; by default, the task certifies them.
        """
        answer = self._task.certify(d, w) if certificate is None else certificate
        if self._lower_w is None or answer.lower > self._lower:
            self._lower_w, self._lower = w, answer.lower
        if d is not None and (self._upper_d is None or answer.upper < self._upper):
            self._upper_d, self._upper = d, answer.upper
        self._update(d, w, answer)
        if self._lower_w is w and self._upper_d is d:
            return
        # The best sides may be a worse pair than an answer: its upper bound may come from d(w) in place of its d.
        combined = self._task.certify(self._upper_d, self._lower_w)
        self._update(self._upper_d, self._lower_w, combined, self.certificate)

    def _update(
        self,
        d: ExampleVector | None,
        w: HypothesisVector | None,
        certificate: Certificate,
        answer: Certificate | None = None,
    ) -> None:
        """Replace the incumbent if a pair is better; its residuals are those of the pair or of an answer."""
        best = self.certificate
        if best is None or (certificate.gap, -certificate.lower) < (best.gap, -best.lower):
            self.d, self.w = d, w
            self.certificate = certificate if answer is None else replace(certificate, kkt=answer.kkt)
