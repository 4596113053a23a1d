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
from boostopt.boosting.histogram_newton.evaluator import DualEvaluator, Evaluation, Iterate
from boostopt.boosting.histogram_newton.solver import HistogramNewton, integer_weights
from boostopt.boosting.qp.simplex_qp import capped_sum_maximizer
from boostopt.boosting.updates.base import unit_weight
from boostopt.boosting.updates.newton_update import EDGE_TOL_FRACTION
from boostopt.objectives.margin_histogram import WeightFunction
from boostopt.rows.margin_grid import MARGIN_SCALE

MAX_SUM_GROWTH = 4.0
"""How many times as large as it is the sum of the weights may become by one step."""


class BoundedEdgeNewton(HistogramNewton):
    """A run of looks for a page that bounds the edges; parameters and attributes are those of `HistogramNewton`."""

    def _iterate_at(self, looks: DualEvaluator, w: Float[Array, " t"]) -> Iterate:
        none = np.zeros(0, np.int64)
        return looks.iterate(self.splits, integer_weights(w), float(w.sum())) if w.any() else looks.iterate((), none)

    def _dual_objective(self, seen: Iterate, law: WeightFunction) -> float:
        return law.dual_objective - (self._edge_bound * seen.weight_sum if seen.integer_weights.any() else 0.0)

    def _gradient(self, look: Evaluation) -> Float[Array, " t"]:
        return self.edges(look) - self._edge_bound

    def _step(self, looks: DualEvaluator, look: Evaluation) -> tuple[Iterate | None, float]:
        """Return the margins after a Newton step at least as good as raising one weight, and D; None where it falls."""
        rises, none = self._bisect_edge_bound(), np.zeros(0, np.int64)
        before = self._dual_objective(look.iterate, look.weight_function)
        if rises and before < self._dual_objective_at_zero and self.bounds.integer_weights is not None:
            return looks.iterate((), none), math.inf  # no weights are better under this bound
        w, slopes = (
            look.iterate.weight_sum * self.padded(look.iterate.integer_weights) / MARGIN_SCALE,
            self._gradient(look),
        )
        target = self._newton_target(looks, look, w, slopes)
        best, value = self._line_search(looks, look, w, target - w, float(slopes @ (target - w)))
        q = int(slopes.argmax())
        raised = looks.strong_convexity(look.level) * max(float(slopes[q]), 0.0)
        if raised > 0.0 and value < before + 0.5 * raised * float(slopes[q]):
            step = self._iterate_at(looks, w + raised * unit_weight(len(w), q))
            if (its := self._dual_objective(step, looks.weight_function(step, look.level))) > value:
                best, value = step, its
        if self.bounds.integer_weights is None and (best is None or not best.integer_weights.any()):
            # No weights promise anything, and there is no answer without: those of the best hypothesis.
            first = integer_weights(unit_weight(len(w), int(self.edges(look).argmax())))
            return looks.iterate(self.splits, first, looks.strong_convexity(look.level)), math.inf
        return best, value

    def _newton_target(
        self, looks: DualEvaluator, look: Evaluation, w: Float[Array, " t"], slopes: Float[Array, " t"]
    ) -> Float[Array, " t"]:
        """Return where the quadratic model of D at w is largest, over the hypotheses that take part in a step."""
        used, target = w > 0.0, np.zeros(len(w))
        least = float(slopes[used].max()) - EDGE_TOL_FRACTION * self.epsilon if used.any() else -math.inf
        part = np.flatnonzero(used | (slopes >= least))
        H = looks.negative_hessian(
            look.iterate, look.weight_function, [self.splits[k] for k in part.tolist()], self._spread
        )
        expected = used[part] | (slopes[part] > 0.0)
        target[part] = capped_sum_maximizer(
            H, slopes[part] + H @ w[part], MAX_SUM_GROWTH * look.iterate.weight_sum, expected
        )
        return target

    def _bisect_edge_bound(self) -> bool:
        """Set the bound of the edges, and return whether it was free to rise: the gap has fallen to half."""
        upper, lower = self.bounds.upper, max(float(self.bounds.lower), -1.0)
        middle, rises = 0.5 * (upper + lower), upper - lower <= 0.5 * self._gap_at_last_increase
        if rises:
            self._gap_at_last_increase = upper - lower
        self._edge_bound = middle if rises else min(self._edge_bound, middle)
        return rises

    @cached_property
    def _dual_objective_at_zero(self) -> float:
        """D without any weights."""
        F = self.problem.F
        return -F.conjugate_at(np.zeros(F.N)).value
