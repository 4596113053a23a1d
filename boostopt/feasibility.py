"""Example weights whose edges lie in the domain of an edge function: e <= gamma, e = rho, e_u = e_v.

A solver's d satisfies such conditions to its tolerance only, and no projection onto the domain of F keeps the edges.
The weights are moved within the room that F's domain leaves, by weighted least squares on the conditions that fail: one
Newton step of the projection, a few times. Inequalities are then satisfied with rounding to spare. An equation cannot
be in floating point: an exactly feasible point is known to be near, and what F may be larger there is accounted for.
Where a bound is the largest or smallest value that an edge can have at all, every feasible point lies on a face, on the
examples that attain that value; moves come near it and never arrive, so the face is taken at once.
"""

from __future__ import annotations

import numpy as np

from boostopt.edges.base import EdgeFunction, Polyhedron
from boostopt.margins import Margins
from boostopt.regularizers.base import Regularizer
from boostopt.shapes import Array, Float

MOVES = 40
"""Least-squares steps before the search is given up."""

LARGEST_MOVE = 0.9
"""Share of its room that a weight may move in one step: the boundary is approached, never crossed."""

SPARE = 4.0
"""By how many rounding errors the inequalities are to be satisfied."""


def edge_rounding(U: Margins, F: Regularizer) -> float:
    """Bound the rounding error of one edge."""
    return (U.summation_length + 10) * float(np.finfo(np.float64).eps) * F.mass


def meet(U: Margins, F: Regularizer, G: EdgeFunction, d: Float[Array, " N"]) -> tuple[Float[Array, " N"], float]:
    """Return (d', cost): weights near d, a point of F's domain, with edges in the domain of G.

    There is an exactly feasible point at which F is at most F(d') + cost; cost is 0 where d' is one itself, and inf
    where none was found.
    """
    allowed = G.domain(U.t)
    if allowed is None:
        return d, 0.0
    return _Search(U, F, allowed).run(d)


class _Search:
    """Weighted least squares on the conditions that fail."""

    def __init__(self, U: Margins, F: Regularizer, allowed: Polyhedron) -> None:
        self.U, self.F, self.allowed = U, F, allowed
        self.A = allowed.rows(U.t)
        self.equation = allowed.low == allowed.high
        self.rounding = edge_rounding(U, F) * np.abs(self.A).sum(axis=1)
        spare = np.where(self.equation, 0.0, SPARE * self.rounding)
        self.low, self.high = allowed.low + spare, allowed.high - spare
        self.by_face = np.zeros(len(self.A), dtype=bool)

    def run(self, d: Float[Array, " N"]) -> tuple[Float[Array, " N"], float]:
        if not self.F.on_simplex:
            return self._search(self._shrunk(d))
        found, cost = self._search(d)
        on_face = d if np.isfinite(cost) else self._on_faces(d)
        return self._search(on_face) if self.by_face.any() else (found, cost)

    def _search(self, d: Float[Array, " N"]) -> tuple[Float[Array, " N"], float]:
        """Move d until no condition fails."""
        used = self.equation & ~self.by_face
        for _ in range(MOVES):
            excess = self._excess(d)
            failing = np.abs(excess) > np.where(self.equation, self.rounding, 0.0)
            if not failing.any():
                return d, self._cost(d)
            used |= failing
            moved = self._moved(d, excess, used)
            if moved is None:
                break
            d = moved
        return d, np.inf

    def _excess(self, d: Float[Array, " N"]) -> Float[Array, " k"]:
        """By how much each condition is exceeded, negative from below, 0 where it holds."""
        image = self.allowed.image(self.U.edges(d))
        excess = np.maximum(image - self.high, 0.0) - np.maximum(self.low - image, 0.0)
        return np.where(self.by_face, 0.0, excess)

    def _on_faces(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return d on the faces that conditions force, and mark those conditions: they hold exactly there."""
        possible = np.ones(len(d), dtype=bool)
        for k, row in enumerate(self.A):
            terms = self.U.column(k) if self.allowed.A is None else self.U.margins(row)
            for bound, end in ((self.allowed.low[k], terms[d > 0].max()), (self.allowed.high[k], terms[d > 0].min())):
                on_face = possible & (terms == bound)
                if bound == end and not self.by_face[k]:
                    moved = self.F.project(np.where(on_face, d, 0.0))
                    if not moved[~on_face].any():
                        d, possible, self.by_face[k] = moved, on_face, True
        return d

    def _shrunk(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return d scaled towards 0 where upper bounds fail: weights that need not sum to 1 may be."""
        image = self.allowed.image(self.U.edges(d))
        fails = (image > self.high) & (self.high > 0)
        return d * float((self.high[fails] / image[fails]).min()) * (1 - 1e-15) if fails.any() else d

    def _matrix(self, d: Float[Array, " N"], used: np.ndarray) -> tuple[Float[Array, "N k"], Float[Array, "N k"]]:
        """Return the conditions in use as functions of d, the sum among them, plain and weighted by the room."""
        columns = [self.U.margins(row) for row in self.A[used]]
        conditions = np.column_stack([*columns, np.ones(self.F.N)] if self.F.on_simplex else columns)
        return conditions, self.F.room(d)[:, np.newaxis] * conditions

    def _moved(self, d: Float[Array, " N"], excess: Float[Array, " k"], used: np.ndarray) -> Float[Array, " N"] | None:
        """Return d after one step, None where no move helps."""
        conditions, weighted = self._matrix(d, used)
        wanted = np.append(excess[used], d.sum() - 1.0) if self.F.on_simplex else excess[used]
        x = conditions @ np.linalg.lstsq(conditions.T @ weighted, wanted, rcond=1e-14)[0]
        longest = float(np.abs(x).max())
        if not np.isfinite(longest) or longest == 0.0:
            return None
        return d - self.F.room(d) * x * min(1.0, LARGEST_MOVE / longest)

    def _cost(self, d: Float[Array, " N"]) -> float:
        """How much larger F may be at the exactly feasible point near d: 0 without equations.

        That point is d - room * x with |x| <= share, so it lies at most `share` of the way from d to a point of the
        domain, where F is at most its span.
        """
        moved = self.equation & ~self.by_face
        if not moved.any():
            return 0.0
        conditions, weighted = self._matrix(d, moved)
        inverse = np.linalg.pinv(conditions.T @ weighted, rcond=1e-14)
        left = np.abs(self._residual(d)[moved]) + self.rounding[moved]
        if self.F.on_simplex:
            left = np.append(left, 4.0 * edge_rounding(self.U, self.F))
        share = float((np.abs(conditions @ inverse) @ left).max())
        return share * max(self.F.span - self.F.value(d), 0.0) if share < 1.0 else np.inf

    def _residual(self, d: Float[Array, " N"]) -> Float[Array, " k"]:
        return self.allowed.image(self.U.edges(d)) - self.allowed.high
