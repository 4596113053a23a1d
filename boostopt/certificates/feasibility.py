"""Example weights whose edges lie in the domain of an edge function: e <= gamma, e = rho, e_u = e_v.

A solver's d satisfies such conditions to its tolerance only, and no projection onto the domain of F keeps the edges.
The weights are moved within the room that F's domain leaves, by weighted least squares on the conditions that fail: one
Newton step of the projection, a few times. Inequalities are then satisfied with rounding to spare. An equation cannot
be in floating point: an exactly feasible point is known to be near, and what F may be larger there is accounted for.
Where a bound is the largest or smallest value that an edge can have at all, every feasible point lies on a face, on the
examples that attain that value; moves come near it and never arrive, so the face is taken at once. Where no move helps,
because the feasible points have no interior, the given weights are tried as they are, without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.edge_functions.base import EdgeFunction, Polyhedron
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import WEIGHT_SUM_TOL
from boostopt.rows.margin_matrix import Margins

MAX_STEPS = 40
"""Least-squares steps before the search is given up."""

MAX_STEP_FRACTION = 0.9
"""Share of its room that a weight may move in one step: the boundary is approached, never crossed."""

MAX_STALLED_STEPS = 12
"""Steps without progress by a tenth after which the search is given up."""

MAX_CONSTRAINTS = 200
"""Conditions looked at in one step, the most violated ones where more fail."""

MAX_ACTIVE_SET_UPDATES = 20
"""Rounds in which it is settled which weights are lowered."""

MARGIN_IN_ROUNDING_ERRORS = 4.0
"""By how many rounding errors the inequalities are to be satisfied."""


def edge_rounding_error(U: Margins, mass: float) -> float:
    """Bound the rounding error of one edge of weights whose absolute values sum to `mass`."""
    return (U.summation_length + 10) * float(np.finfo(np.float64).eps) * mass


def restore_feasibility(
    U: Margins, F: Regularizer, G: EdgeFunction, d: Float[Array, " N"]
) -> tuple[Float[Array, " N"], float]:
    """Return (d', cost): weights near d, a point of F's domain, with edges in the domain of G.

    There is an exactly feasible point at which F + G is at most its value at d' plus cost; cost is 0 where d' is one
    itself, and inf where none was found.
    """
    allowed = G.domain(U.t)
    if allowed is None:
        return d, 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite in the end is no answer
        try:
            met, cost = _Restoration(U, F, G, allowed).run(d)
        except np.linalg.LinAlgError:
            met, cost = d, np.inf
    if np.isfinite(cost) and np.isfinite(met).all():
        return met, cost
    nothing = np.zeros(U.N)
    # Weights that need not sum to 1 may all be 0: the worst of answers, and better than none.
    if not F.on_simplex and (allowed.low <= 0).all() and (allowed.high >= 0).all() and not F.project(nothing).any():
        return nothing, 0.0
    return d, 0.0 if is_exactly_feasible(U, F, allowed, d) else np.inf


DEKKER_FACTOR = 134217729.0
"""2^27 + 1: a product with it separates the upper from the lower 26 bits of a number [Dekker 1971]."""

SMALLEST_EXACT_PRODUCT = 1e-250
"""Products below this may have parts that underflow."""


def is_in_domain(F: Regularizer, d: Float[Array, " N"], residuals: Mapping[str, float]) -> bool:
    """Whether d is in the domain of F as it is, by its residuals; on the simplex its exact sum must be 1."""
    return not any(residuals.values()) and (not F.on_simplex or math.fsum([*d.tolist(), -1.0]) == 0.0)


def _split(x: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    """Return numbers of 26 bits that sum to x."""
    high = DEKKER_FACTOR * x - (DEKKER_FACTOR * x - x)
    return high, x - high


def is_exactly_feasible(U: Margins, F: Regularizer, allowed: Polyhedron, d: Float[Array, " N"]) -> bool:
    """Whether d is in the domain of F, and its edges in the polyhedron, in exact arithmetic.

    Each product is a sum of four exact ones, and `fsum` rounds once: it has the sign of the exact sum.
    """
    if allowed.A is not None or not is_in_domain(F, d, F.residuals(d)):
        return False
    e, rounding = U.edges(d), edge_rounding_error(U, float(np.abs(d).sum()))
    if ((e > allowed.high + rounding) | (e < allowed.low - rounding)).any():
        return False
    parts = _split(d)
    for k in np.flatnonzero((e > allowed.high - rounding) | (e < allowed.low + rounding)):
        column = U.column(int(k))
        products = np.abs(d * column)
        if ((products < SMALLEST_EXACT_PRODUCT) & (d != 0.0) & (column != 0.0)).any():
            return False
        terms = np.concatenate([ours * theirs for ours in parts for theirs in _split(column)])
        parts_of_edge = terms.tolist()
        if math.fsum([*parts_of_edge, -allowed.high[k]]) > 0.0 or math.fsum([*parts_of_edge, -allowed.low[k]]) < 0.0:
            return False
    return True


class _Restoration:
    """Weighted least squares on the conditions that fail."""

    def __init__(self, U: Margins, F: Regularizer, G: EdgeFunction, allowed: Polyhedron) -> None:
        self.U, self.F, self.G, self.allowed = U, F, G, allowed
        self.A = allowed.A
        self.equation = allowed.low == allowed.high
        self.rounding = edge_rounding_error(U, 1.0) * (np.ones(U.t) if self.A is None else np.abs(self.A).sum(axis=1))
        self.low, self.high = allowed.low.copy(), allowed.high.copy()
        # An equation is summed term by term, bound subtracted: what does not contribute has no rounding error either.
        bounds = allowed.high[self.equation] if F.on_simplex else np.zeros(int(self.equation.sum()))
        self.equation_columns = (
            np.column_stack([np.zeros((U.N, 0)), *(self._column(int(k)) for k in np.flatnonzero(self.equation))])
            - bounds
        )
        self.equation_rhs = np.zeros(len(bounds)) if F.on_simplex else allowed.high[self.equation]
        self.satisfied_on_face = np.zeros(len(self.low), dtype=bool)
        # Of weights that are negative an edge is no mean of its terms.
        self.edges_are_averages = F.on_simplex and not F.signed
        self.redundancy_checked = np.zeros(len(self.low), dtype=bool)

    def run(self, d: Float[Array, " N"]) -> tuple[Float[Array, " N"], float]:
        # Of terms of one sign no mean is 0, though each product may underflow.
        if (
            self.edges_are_averages
            and ((self.equation_columns > 0.0).all(axis=0) | (self.equation_columns < 0.0).all(axis=0)).any()
        ):
            return d, np.inf
        if not self.F.on_simplex:
            # Scaling costs every weight what one edge exceeds: the last roundings are moved or trimmed away instead.
            d = self._scaled_down(d, self.allowed.high)
        met, cost = self._search(d)
        if np.isfinite(cost):
            return met, cost
        if not self.F.on_simplex:
            d = self._decreased_weights(d)
            return self._search(self._scaled_down(d, self.allowed.high, self._safety_margin(d)))
        on_face = self._projected_onto_faces(d) if self.edges_are_averages else d
        return (met, cost) if np.array_equal(on_face, d) else self._search(on_face)

    def _search(self, d: Float[Array, " N"]) -> tuple[Float[Array, " N"], float]:
        """Move d until no condition fails."""
        used = self.equation & ~self.satisfied_on_face
        smallest, since = np.inf, 0
        for _ in range(MAX_STEPS):
            if self.F.on_simplex and abs(float(d.sum()) - 1.0) > WEIGHT_SUM_TOL:
                d = self.F.project(d)  # a move that loses mass would meet any bound
            failing = np.abs(self._violations(d)) > self._tolerances(d)
            failing &= ~self._redundant(failing)
            if not failing.any():
                return d, self._cost(d)
            excess = self._violations(d)
            largest = float(np.abs(excess).max())
            smallest, since = (largest, 0) if largest < 0.9 * smallest else (smallest, since + 1)
            if since > MAX_STALLED_STEPS:
                break
            used |= failing
            if used.sum() > MAX_CONSTRAINTS:
                used = np.abs(excess) >= np.partition(np.abs(excess), -MAX_CONSTRAINTS)[-MAX_CONSTRAINTS]
                used &= np.cumsum(used) <= MAX_CONSTRAINTS
            moved = self._least_squares_step(d, excess, used)
            if moved is None:
                break
            d = moved
        return d, np.inf

    def _safety_margin(self, d: Float[Array, " N"]) -> Float[Array, " k"]:
        """By how much each inequality is to be satisfied: rounding errors of its value at d."""
        # Weights that need not sum to 1 may be far smaller than the largest ones that are allowed.
        mass = self.F.mass if self.F.on_simplex else float(np.abs(d).sum())
        # Beside equations twice as much: the exactly feasible point has other edges than the one at hand.
        spare = MARGIN_IN_ROUNDING_ERRORS * (2.0 if self.equation.any() else 1.0)
        return np.where(self.equation, 0.0, spare * mass * self.rounding)

    def _violations(self, d: Float[Array, " N"]) -> Float[Array, " k"]:
        """By how much each condition is exceeded, negative from below, 0 where it holds."""
        image, spare = self.allowed.image(self.U.edges(d)), self._safety_margin(d)
        excess = np.maximum(image + spare - self.high, 0.0) - np.maximum(self.low + spare - image, 0.0)
        excess[self.equation] = d @ self.equation_columns - self.equation_rhs
        return np.where(self.satisfied_on_face, 0.0, excess)

    def _redundant(self, failing: np.ndarray) -> np.ndarray:
        """Mark the inequalities that no distribution violates, though a sum of rounded terms seems to; return them."""
        for k in np.flatnonzero(failing & ~self.equation & ~self.redundancy_checked) if self.edges_are_averages else ():
            self.redundancy_checked[k] = True
            terms = self._column(int(k))
            if terms.max() <= self.allowed.high[k] and terms.min() >= self.allowed.low[k]:
                self.low[k], self.high[k] = -np.inf, np.inf
        return np.isinf(self.high) & np.isinf(self.low)

    def _tolerances(self, d: Float[Array, " N"]) -> Float[Array, " k"]:
        """By how much a condition may be exceeded: an equation by its rounding error at d."""
        # A move lands beside its target by less than a rounding error: half of what is spare is left for that.
        tolerated = 0.5 * self._safety_margin(d)
        sizes = np.abs(d) @ np.abs(self.equation_columns) + np.abs(self.equation_rhs)
        tolerated[self.equation] = edge_rounding_error(self.U, 1.0) * sizes
        return tolerated

    def _projected_onto_faces(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return d on the faces that conditions force, and mark those conditions: they hold exactly there."""
        possible = np.ones(len(d), dtype=bool)
        for k in range(len(self.low)):
            terms = self._column(k)
            for bound, end in ((self.allowed.low[k], terms[d > 0].max()), (self.allowed.high[k], terms[d > 0].min())):
                on_face = possible & (terms == bound)
                if bound == end and not self.satisfied_on_face[k]:
                    moved = self.F.project(np.where(on_face, d, 0.0))
                    if not moved[~on_face].any():
                        d, possible, self.satisfied_on_face[k] = moved, on_face, True
        return d

    def _scaled_down(
        self, d: Float[Array, " N"], high: Float[Array, " k"], spare: Array | float = 0.0
    ) -> Float[Array, " N"]:
        """Return d scaled towards 0 where the upper bounds fail: weights that need not sum to 1 may be.

        What is to be spare is of the size of d, and scaled with it.
        """
        image = self.allowed.image(self.U.edges(d)) + spare
        fails = (image > high) & (high > 0)
        return d * float((high[fails] / image[fails]).min()) * (1 - 1e-15) if fails.any() else d

    def _decreased_weights(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return d with weights lowered and none raised, by least squares on the upper bounds that fail.

        For weights at the ends of their boxes, which leave no room to both sides.
        """
        used = np.zeros(len(self.low), dtype=bool)
        for _ in range(MAX_STEPS):
            excess = np.maximum(self.allowed.image(self.U.edges(d)) + self._safety_margin(d) - self.high, 0.0)
            if not excess.any():
                break
            used |= excess > 0
            conditions, lowered = np.column_stack([self._column(int(k)) for k in np.flatnonzero(used)]), d > 0
            x = np.zeros(len(d))
            for _ in range(MAX_ACTIVE_SET_UPDATES):
                weighted = np.where(lowered, d, 0.0)[:, np.newaxis] * conditions
                x = conditions @ np.linalg.lstsq(conditions.T @ weighted, excess[used], rcond=1e-14)[0]
                lowered, before = (x > 0) & (d > 0), lowered
                if np.array_equal(lowered, before):
                    break
            d = d * (1.0 - np.clip(x, 0.0, MAX_STEP_FRACTION))
        return d

    def _column(self, k: int) -> Float[Array, " N"]:
        """Return what each example contributes to a condition per unit of weight."""
        return self.U.column(k) if self.A is None else self.U.margins(self.A[k])

    def _least_squares_step(
        self, d: Float[Array, " N"], excess: Float[Array, " k"], used: np.ndarray
    ) -> Float[Array, " N"] | None:
        """Return d after one step, None where no move helps."""
        columns = [self._column(int(k)) for k in np.flatnonzero(used)]
        conditions, wanted = np.column_stack(columns), excess[used]
        if self.F.on_simplex:
            conditions, wanted = np.column_stack([conditions, np.ones(self.F.N)]), np.append(wanted, d.sum() - 1.0)
        conditions, wanted = _row_scaled(conditions, wanted)
        weighted = self.F.room(d)[:, np.newaxis] * conditions
        x = conditions @ np.linalg.lstsq(conditions.T @ weighted, wanted, rcond=1e-14)[0]
        longest = float(np.abs(x).max())
        if not np.isfinite(longest) or longest == 0.0:
            return None
        return d - self.F.room(d) * x * min(1.0, MAX_STEP_FRACTION / longest)

    def _cost(self, d: Float[Array, " N"]) -> float:
        """Return how much larger F + G may be at the exactly feasible point near d: 0 without equations.

        That point is d - room * x with |x_n| <= share_n, where x = C y, C' room C y = what is left of the equations C.
        With B near the inverse of that matrix, y = B s with s = left + (I - matrix B) s: it exists where |I - matrix B|
        shrinks what is left.
        """
        room = self.F.room(d)
        kept = [k for k in self._independent_equations((d != 0.0) | (room > 0.0)) if self._restricts_domain(d, int(k))]
        if not kept:
            return 0.0
        conditions = self.equation_columns[:, kept]
        left = (np.abs(self._violations(d)) + self._tolerances(d))[self.equation][kept]
        if self.F.on_simplex:
            conditions = np.column_stack([conditions, np.ones(self.F.N)])
            left = np.append(left, 4.0 * edge_rounding_error(self.U, self.F.mass))
        conditions, left = _row_scaled(conditions, left)
        matrix = conditions.T @ (room[:, np.newaxis] * conditions)
        inverse = np.linalg.pinv(matrix, rcond=1e-14)
        missed = float((np.abs(np.eye(len(matrix)) - matrix @ inverse) @ left / left).max())
        share = np.abs(conditions @ inverse) @ left / max(1.0 - missed, 1e-300)
        # Where the conditions are nearly dependent or the weights have no room, no exactly feasible point is known.
        if missed >= 0.5 or float(share.max()) >= 1.0:
            return np.inf
        # No margin exceeds 1: no edge moves by more than all weights together.
        moves = np.full(self.U.t, float(share @ room))
        if not self._inequalities_hold_near(d, moves):
            return np.inf
        return self.F.rise(d, share) + self.G.increase(self.U.edges(d), moves)

    def _inequalities_hold_near(self, d: Float[Array, " N"], moves: Float[Array, " t"]) -> bool:
        """Whether the inequalities hold at d by more than rounding and moves of the edges could spoil."""
        beside = ~self.equation & ~self.satisfied_on_face & (np.isfinite(self.high) | np.isfinite(self.low))
        if not beside.any():
            return True
        image = self.allowed.image(self.U.edges(d))
        moved = moves if self.A is None else np.abs(self.A) @ moves
        spoilt = moved + float(np.abs(d).sum()) * self.rounding
        return bool(((image + spoilt <= self.high) & (image - spoilt >= self.low))[beside].all())

    def _restricts_domain(self, d: Float[Array, " N"], k: int) -> bool:
        """Whether an equation distinguishes points of F's domain by more than rounding: not where there is one only."""
        terms = self.equation_columns[:, k]
        width = self.F.support(terms) + self.F.support(-terms)
        return width > 2.0 * float(self._tolerances(d)[self.equation][k])

    def _independent_equations(self, held: np.ndarray) -> np.ndarray:
        """Return indices of the equations: none that hold by themselves, one of those that are equal but for the sign.

        What counts is the examples that have or may get weight.
        """
        moved = np.flatnonzero(~self.satisfied_on_face[self.equation])
        rows = np.vstack([self.equation_columns[held][:, moved], self.equation_rhs[moved]])
        first = rows[np.argmax(rows != 0.0, axis=0), np.arange(len(moved))]
        # By their bytes: np.unique of columns sorts records of N fields, which takes a minute for a million examples.
        seen = dict[bytes, int]()
        for k in np.flatnonzero(first != 0.0):
            seen.setdefault((rows[:, k] * np.sign(first[k]) + 0.0).tobytes(), int(k))
        return moved[list(seen.values())]


def _row_scaled(
    conditions: Float[Array, "N k"], right: Float[Array, " k"]
) -> tuple[Float[Array, "N k"], Float[Array, " k"]]:
    """Return the equations with largest coefficient 1: none is negligible because its numbers are small."""
    largest = np.abs(conditions).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    return conditions / scale, right / scale
