"""Pairwise corrective steps: Frank-Wolfe steps that take weight from one hypothesis instead of all.

Corrective boosting is the Frank-Wolfe algorithm on D over the simplex of the weights. The oracle maximizes the linear
model, because the edges under d(w) are the gradient of D [Mitsuboshi, Hatano, Takimoto 2022]. A Frank-Wolfe step takes
weight from every hypothesis in proportion. A pairwise step takes weight from the hypothesis with the smallest edge
only, and removes it if this is best [Lacoste-Julien, Jaggi 2015; blended: Tsuji, Tanaka, Pokutta 2022].

If this hypothesis has a small weight, a pairwise step increases D by less than theory needs. So the update also makes
the line search towards the newest hypothesis and takes the better of the two steps. The bound on the rounds then still
holds: theorem A of the page of theorems.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import ExampleVector, HypothesisVector
from boostopt.boosting.objectives.soft_margin import SUM_TOL
from boostopt.boosting.run.run_state import State
from boostopt.boosting.updates.base import UpdateContext
from boostopt.boosting.updates.convex_combination_update import CorrectiveUpdate, LineSearch, line_search_size


@dataclass(frozen=True, eq=False)
class Vertex:
    """A vertex of the weights: one hypothesis with its sign, or no hypothesis if |w| may be below 1.

    Attributes
    ----------
    weights
        The weights of the vertex, shape (t,).
    margins
        The margins u of these weights, shape (N,).
    edge
        u . d(w).
    fraction
        The weight of the vertex in w, in [0, 1].
    """

    weights: HypothesisVector
    margins: ExampleVector
    edge: float
    fraction: float


def extreme_vertices(context: UpdateContext, two_sided: bool) -> list[Vertex]:
    """Return the vertices with the smallest and the largest edge among those with a weight; [] without weights.

    With two-sided edges, the rest of the weight up to 1 belongs to the vertex without hypothesis, with margins of 0.
    """
    w, d, U = context.weights, context.state.d, context.pool.margins
    support = np.flatnonzero(w)
    signs = np.sign(w[support])
    edges = signs * U.edges(d)[support]

    def vertex(k: int) -> Vertex:
        q, e = int(support[k]), np.zeros(len(w))
        e[q] = signs[k]
        return Vertex(e, signs[k] * U.column(q), float(edges[k]), abs(float(w[q])))

    vertices = [vertex(int(edges.argmin())), vertex(int(edges.argmax()))] if len(support) else []
    remaining = 1.0 - float(np.abs(w).sum())
    if two_sided and remaining > SUM_TOL:
        zero_vertex = Vertex(np.zeros(len(w)), np.zeros(len(d)), 0.0, remaining)
        candidates = [zero_vertex, *vertices]
        vertices = [min(candidates, key=_edge), max(candidates, key=_edge)]
    return vertices


def _edge(vertex: Vertex) -> float:
    return vertex.edge


class WeightTransfer(CorrectiveUpdate):
    """An update that transfers weight from one vertex to another."""

    def transfer(self, context: UpdateContext, source: Vertex, target: Vertex) -> State:
        """Return the state with the largest D along the transfer, or after a line search if this is better."""
        x = target.margins - source.margins
        alpha = line_search_size(self.problem, context, x, source.fraction)
        # Each vertex has one weight, so nothing is rounded if a whole weight is transferred.
        w = context.weights - alpha * source.weights + alpha * target.weights
        state, line_search_state = (
            self.state_at(context, w, context.state.m + alpha * x),
            LineSearch(self.problem).combined(context),
        )
        return state if state.dual_objective > line_search_state.dual_objective else line_search_state


class Pairwise(WeightTransfer):
    """A transfer to the newest hypothesis from the hypothesis with the smallest edge under d(w)."""

    def combined(self, context: UpdateContext) -> State:
        e = np.zeros(context.pool.t)
        e[context.newest] = 1.0
        newest = Vertex(e, context.newest_margins, float(context.newest_margins @ context.state.d), 0.0)
        return self.transfer(context, extreme_vertices(context, self.problem.two_sided)[0], newest)


class BlendedPairwise(WeightTransfer):
    """A transfer from the worst to the best hypothesis in use, or a line search towards the newest hypothesis.

    The transfer is chosen if the difference of the two edges is at least the difference between the edges of the newest
    hypothesis and of the present weights.
    """

    def combined(self, context: UpdateContext) -> State:
        worst, best = extreme_vertices(context, self.problem.two_sided)
        if best.edge - worst.edge >= float((context.newest_margins - context.state.m) @ context.state.d):
            return self.transfer(context, worst, best)
        return LineSearch(self.problem).combined(context)
