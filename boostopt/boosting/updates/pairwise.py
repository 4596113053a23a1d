"""Corrective steps between two hypotheses: Frank-Wolfe steps that take weight from one, and not from all.

Corrective boosting is the Frank-Wolfe algorithm on D over the simplex of the weights: the oracle maximizes its linear
model, for the edges under d(w) are the gradient of D [Mitsuboshi, Hatano, Takimoto 2022]. A step of Frank and Wolfe
takes weight from every hypothesis in proportion; pairwise steps take it from the one with the smallest edge alone, and
leave it without any weight if that is best [Lacoste-Julien, Jaggi 2015; blended: Tsuji, Tanaka, Pokutta 2022].

Where there is little weight to take, such a step gains little: less than theory asks for. The line search towards the
newest hypothesis is made as well, and the better of the two is kept; so the bound of the rounds stays, theorem A of the
page of theorems.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.run.state import State
from boostopt.boosting.updates.base import UpdateContext
from boostopt.boosting.updates.corrective import CorrectiveUpdate, LineSearch, line_search_size
from boostopt.objectives.soft_margin import SUM_TOL


@dataclass(frozen=True, eq=False)
class Vertex:
    """A corner of the weights: a hypothesis alone with its sign, or where |w| may be below 1 none.

    Attributes
    ----------
    weights
        The weights there, shape (t,).
    u
        Their margins, shape (N,).
    edge
        u . d(w).
    fraction
        The share that it has of w, in [0, 1].
    """

    weights: Float[Array, " t"]
    margins: Float[Array, " N"]
    edge: float
    fraction: float


def extreme_vertices(move: UpdateContext, two_sided: bool) -> list[Vertex]:
    """Return the corners with the smallest and the largest edge among those that have weight; [] for no weights.

    Two-sided, what is left of 1 is weight of no hypothesis, with margins of 0.
    """
    w, d, U = move.weights, move.state.d, move.pool.margins
    use = np.flatnonzero(w)
    signs = np.sign(w[use])
    edges = signs * U.edges(d)[use]

    def corner(k: int) -> Vertex:
        q, e = int(use[k]), np.zeros(len(w))
        e[q] = signs[k]
        return Vertex(e, signs[k] * U.column(q), float(edges[k]), abs(float(w[q])))

    found = [corner(int(edges.argmin())), corner(int(edges.argmax()))] if len(use) else []
    left = 1.0 - float(np.abs(w).sum())
    if two_sided and left > SUM_TOL:
        none = Vertex(np.zeros(len(w)), np.zeros(len(d)), 0.0, left)
        found = [min([none, *found], key=_edge), max([none, *found], key=_edge)]
    return found


def _edge(corner: Vertex) -> float:
    return corner.edge


class WeightTransfer(CorrectiveUpdate):
    """Weight is carried from one corner to another."""

    def transfer(self, move: UpdateContext, source: Vertex, target: Vertex) -> State:
        """Return the state with the largest D along the way, or after a line search if that is better."""
        x = target.margins - source.margins
        alpha = line_search_size(self.problem, move, x, source.fraction)
        # Signs and weights are of one corner each, so that nothing is rounded where all of a weight is carried away.
        w = move.weights - alpha * source.weights + alpha * target.weights
        state, mixed = self.state_at(move, w, move.state.m + alpha * x), LineSearch(self.problem).combined(move)
        return state if state.value > mixed.value else mixed


class Pairwise(WeightTransfer):
    """Weight moves to the newest hypothesis from the one that has the smallest edge under d(w)."""

    def combined(self, move: UpdateContext) -> State:
        e = np.zeros(move.pool.t)
        e[move.newest] = 1.0
        newest = Vertex(e, move.newest_margins, float(move.newest_margins @ move.state.d), 0.0)
        return self.transfer(move, extreme_vertices(move, self.problem.two_sided)[0], newest)


class BlendedPairwise(WeightTransfer):
    """Weight moves between the best and the worst of the hypotheses that have some, where that promises as much.

    That is where their edges are as far apart as those of the newest hypothesis and of the mixture; else the newest one
    is mixed in by the best weight.
    """

    def combined(self, move: UpdateContext) -> State:
        worst, best = extreme_vertices(move, self.problem.two_sided)
        if best.edge - worst.edge >= float((move.newest_margins - move.state.m) @ move.state.d):
            return self.transfer(move, worst, best)
        return LineSearch(self.problem).combined(move)
