"""Looks where the edges are bounded: min F(d) over the distributions under which no edge is above gamma.

    D(w; gamma) = -F*(-Uw) - gamma sum w,     w >= 0

Of weights w = s wbar with sum s, d(w) is that of the program of the largest edge with s times less entropy at wbar, so
that a look is the same: wbar is of whole numbers, and s any number. Newton steps are over w >= 0.

The ends of the certificate bisect: gamma is the middle between them. Where some distribution has no edge above it, that
lowers the upper end; where none has, D grows without bound, and w has a soft margin above gamma. At the end no
distribution has all edges below the page's own gamma, the upper end less epsilon [theorem 14].
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.histogram_newton.evaluator import Look, Looks, Seen
from boostopt.boosting.histogram_newton.solver import Looking, whole
from boostopt.boosting.qp.simplex_qp import bounded_maximizer
from boostopt.boosting.updates.base import alone
from boostopt.boosting.updates.newton_update import USEFUL
from boostopt.objectives.margin_histogram import WeightFunction
from boostopt.rows.margin_grid import MARGIN_SCALE

GROWTH = 4.0
"""How many times as large as it is the sum of the weights may become by one step."""


class BoundedLooking(Looking):
    """A run of looks for a page that bounds the edges; parameters and attributes are those of `Looking`."""

    def _at(self, looks: Looks, w: Float[Array, " t"]) -> Seen:
        none = np.zeros(0, np.int64)
        return looks.at(self.splits, whole(w), float(w.sum())) if w.any() else looks.at((), none)

    def _value(self, seen: Seen, law: WeightFunction) -> float:
        return law.dual_objective - (self._gamma * seen.total if seen.W.any() else 0.0)

    def _slopes(self, look: Look) -> Float[Array, " t"]:
        return self._edges(look) - self._gamma

    def _moved(self, looks: Looks, look: Look) -> tuple[Seen | None, float]:
        """Return the margins after a Newton step at least as good as raising one weight, and D; None where it falls."""
        rises, none = self._bounded(), np.zeros(0, np.int64)
        before = self._value(look.seen, look.law)
        if rises and before < self._least and self.ends.W is not None:
            return looks.at((), none), math.inf  # no weights are better under this bound
        w, slopes = look.seen.total * self._grown(look.seen.W) / MARGIN_SCALE, self._slopes(look)
        target = self._target(looks, look, w, slopes)
        best, value = self._searched(looks, look, w, target - w, float(slopes @ (target - w)))
        q = int(slopes.argmax())
        raised = looks.softness(look.level) * max(float(slopes[q]), 0.0)
        if raised > 0.0 and value < before + 0.5 * raised * float(slopes[q]):
            step = self._at(looks, w + raised * alone(len(w), q))
            if (its := self._value(step, looks.law(step, look.level))) > value:
                best, value = step, its
        if self.ends.W is None and (best is None or not best.W.any()):
            # No weights promise anything, and there is no answer without: those of the best hypothesis.
            first = whole(alone(len(w), int(self._edges(look).argmax())))
            return looks.at(self.splits, first, looks.softness(look.level)), math.inf
        return best, value

    def _target(
        self, looks: Looks, look: Look, w: Float[Array, " t"], slopes: Float[Array, " t"]
    ) -> Float[Array, " t"]:
        """Return where the quadratic model of D at w is largest, over the hypotheses that take part in a step."""
        used, target = w > 0.0, np.zeros(len(w))
        least = float(slopes[used].max()) - USEFUL * self.epsilon if used.any() else -math.inf
        part = np.flatnonzero(used | (slopes >= least))
        H = looks.curvature(look.seen, look.law, [self.splits[k] for k in part.tolist()], self._spread)
        expected = used[part] | (slopes[part] > 0.0)
        target[part] = bounded_maximizer(H, slopes[part] + H @ w[part], GROWTH * look.seen.total, expected)
        return target

    def _bounded(self) -> bool:
        """Set the bound of the edges, and return whether it was free to rise: the gap has fallen to half."""
        upper, lower = self.ends.upper, max(float(self.ends.lower), -1.0)
        middle, rises = 0.5 * (upper + lower), upper - lower <= 0.5 * self._stage
        if rises:
            self._stage = upper - lower
        self._gamma = middle if rises else min(self._gamma, middle)
        return rises

    @cached_property
    def _least(self) -> float:
        """D without any weights."""
        F = self.problem.F
        return -F.conjugate_at(np.zeros(F.N)).value
