"""Feasibility restoration: example weights d whose edges Uᵀd lie in the domain of the edge function G.

The domain of G is a polyhedron lower <= A e <= upper in the edges e, for example e <= gamma, e = rho or e_1 = e_2. The
weights that a solver returns satisfy these constraints up to the tolerance of the solver. A certificate needs weights
that satisfy them, because outside the domain G is infinite.

`restore_feasibility` moves the weights in weighted least-squares steps on the violated constraints. Each step is a
Newton step of a projection. The weights of the least-squares problem are the distances to the boundary of the domain of
F, so that a step approaches the boundary and does not cross it. Three cases need more than such steps:

- Equations cannot be satisfied exactly in floating point. The module proves that an exactly feasible point exists near
  d, and bounds the increase of F + G from d to that point. This bound is the cost of d.
- If a bound is the largest or the smallest value that an edge can have, all feasible weights lie on a face of the
  simplex: on the examples that attain this value. Steps approach the face but do not reach it, so that d is projected
  onto the face at once.
- If the feasible set has no interior, no step helps. The weights are then tested as they are, in exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from boostopt._utils.array_types import Array, Bool, ExampleVector, Float, HypothesisVector
from boostopt.functions.edge_functions.base import EdgeFunction, Polyhedron
from boostopt.functions.numerics.error_free_transformations import SMALLEST_EXACT_PRODUCT, split_doubles
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import WEIGHT_SUM_TOL
from boostopt.rows.margin_matrix import MarginMatrix

MAX_STEPS = 40
"""Maximum number of least-squares steps."""

MAX_STEP_FRACTION = 0.9
"""Largest change of a weight in one step, as a fraction of its distance to the boundary."""

MAX_STALLED_STEPS = 12
"""The search ends after this many steps in a row without progress (see `REQUIRED_DECREASE`)."""

REQUIRED_DECREASE = 0.1
"""Relative decrease of the largest violation that counts as progress."""

MAX_CONSTRAINTS = 200
"""Maximum number of constraints in one least-squares problem; the most violated ones are used."""

MAX_ACTIVE_SET_UPDATES = 20
"""Maximum number of updates of the set of weights that `_decreased_weights` decreases."""

MARGIN_IN_ROUNDING_ERRORS = 4.0
"""Safety margin of the inequalities, in rounding errors of an edge."""

LSTSQ_CUTOFF = 1e-14
"""Relative cutoff of singular values in the least-squares problems."""


def edge_rounding_error(U: MarginMatrix, mass: float) -> float:
    """Bound the rounding error of one edge, for weights with 1-norm `mass`."""
    return (U.max_summands + 10) * float(np.finfo(np.float64).eps) * mass


def is_in_domain(F: Regularizer, d: ExampleVector, residuals: Mapping[str, float]) -> bool:
    """Return whether d satisfies all constraints of the domain of F exactly, given its residuals.

    On the simplex, the residual of the sum is not enough: the exact sum of the weights must be 1.
    """
    return not any(residuals.values()) and (not F.on_simplex or math.fsum([*d.tolist(), -1.0]) == 0.0)


def is_exactly_feasible(U: MarginMatrix, F: Regularizer, domain: Polyhedron, d: ExampleVector) -> bool:
    """Return whether d lies in the domain of F and its edges in the domain of G, in exact arithmetic.

    Only the constraints within a rounding error of their bounds are summed exactly. Each product of a weight and a
    margin is the sum of four exact partial products. `math.fsum` rounds the sum once, so that its sign is exact.
    """
    if domain.A is not None or not is_in_domain(F, d, F.residuals(d)):
        return False
    edges, rounding = U.edges(d), edge_rounding_error(U, float(np.abs(d).sum()))
    if ((edges > domain.high + rounding) | (edges < domain.low - rounding)).any():
        return False
    d_halves = split_doubles(d)
    for q in np.flatnonzero((edges > domain.high - rounding) | (edges < domain.low + rounding)):
        column = U.column(int(q))
        products = np.abs(d * column)
        if ((products < SMALLEST_EXACT_PRODUCT) & (d != 0.0) & (column != 0.0)).any():
            return False
        terms = np.concatenate([x * y for x in d_halves for y in split_doubles(column)]).tolist()
        if math.fsum([*terms, -domain.high[q]]) > 0.0 or math.fsum([*terms, -domain.low[q]]) < 0.0:
            return False
    return True


def restore_feasibility(
    U: MarginMatrix, F: Regularizer, G: EdgeFunction, d: ExampleVector
) -> tuple[ExampleVector, float]:
    """Move weights until their edges lie in the domain of G.

    Parameters
    ----------
    U, F, G
        The program.
    d
        Weights in the domain of F, shape (N,).

    Returns
    -------
    The restored weights, which lie in the domain of F, and their cost. Some exactly feasible point has a value of F + G
    of at most the value at the restored weights plus the cost. The cost is 0 if the restored weights are exactly
    feasible, and inf if the search failed.
    """
    domain = G.domain(U.t)
    if domain is None:
        return d, 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the result is checked to be finite
        try:
            restored, cost = _Restoration(U, F, G, domain).run(d)
        except np.linalg.LinAlgError:
            restored, cost = d, np.inf
    if np.isfinite(cost) and np.isfinite(restored).all():
        return restored, cost
    # Without the simplex, zero weights may be feasible. They give a poor bound, but a finite one.
    zero = np.zeros(U.N)
    zero_edges_allowed = (domain.low <= 0).all() and (domain.high >= 0).all()
    if not F.on_simplex and zero_edges_allowed and not F.project(zero).any():
        return zero, 0.0
    return d, 0.0 if is_exactly_feasible(U, F, domain, d) else np.inf


class _Restoration:
    """The search for feasible weights, for one program.

    Attributes
    ----------
    lower, upper
        The bounds of the constraints, shape (k,); infinite for constraints that were found to be redundant.
    is_equation
        The constraints that are equations, as a mask of shape (k,).
    rounding
        The rounding error of each constraint for weights with 1-norm 1, shape (k,).
    equation_columns, equation_rhs
        The equations as equation_columnsᵀ d = equation_rhs. On the simplex, the right-hand side is subtracted from the
        coefficients, so that examples that do not contribute have no rounding error either.
    edges_are_averages
        Whether each edge is an average of margins, because the weights are non-negative and sum to 1.
    satisfied_on_face
        The constraints that hold exactly on the face onto which d was projected, as a mask of shape (k,).
    redundancy_checked
        The constraints that have been tested for redundancy, as a mask of shape (k,).
    """

    def __init__(self, U: MarginMatrix, F: Regularizer, G: EdgeFunction, domain: Polyhedron) -> None:
        self.U, self.F, self.G, self.domain = U, F, G, domain
        self.lower, self.upper = domain.low.copy(), domain.high.copy()
        self.is_equation = domain.low == domain.high
        row_norms = np.ones(U.t) if domain.A is None else np.abs(domain.A).sum(axis=1)
        self.rounding = edge_rounding_error(U, 1.0) * row_norms
        rhs = domain.high[self.is_equation]
        columns = np.column_stack([np.zeros((U.N, 0)), *map(self._column, np.flatnonzero(self.is_equation).tolist())])
        self.equation_columns = columns - rhs if F.on_simplex else columns
        self.equation_rhs = np.zeros(len(rhs)) if F.on_simplex else rhs
        self.edges_are_averages = F.on_simplex and not F.signed
        self.satisfied_on_face = np.zeros(len(self.lower), dtype=bool)
        self.redundancy_checked = np.zeros(len(self.lower), dtype=bool)

    def run(self, d: ExampleVector) -> tuple[ExampleVector, float]:
        """Return the restored weights and their cost, inf if the search failed."""
        return self._run_on_simplex(d) if self.F.on_simplex else self._run_on_box(d)

    def _run_on_simplex(self, d: ExampleVector) -> tuple[ExampleVector, float]:
        """Search from d, and if this fails, from the projection of d onto the faces that the constraints imply."""
        columns = self.equation_columns
        # An average of numbers of one sign is not 0, although each product may underflow to 0.
        if self.edges_are_averages and ((columns > 0.0).all(axis=0) | (columns < 0.0).all(axis=0)).any():
            return d, np.inf
        restored, cost = self._search(d)
        if np.isfinite(cost):
            return restored, cost
        on_face = self._projected_onto_faces(d) if self.edges_are_averages else d
        return (restored, cost) if np.array_equal(on_face, d) else self._search(on_face)

    def _run_on_box(self, d: ExampleVector) -> tuple[ExampleVector, float]:
        """Search from scaled weights, and if this fails, from weights that were only decreased.

        The first scaling uses no safety margin, because scaling changes every weight for the sake of one edge.
        """
        d = self._scaled_down(d)
        restored, cost = self._search(d)
        if np.isfinite(cost):
            return restored, cost
        d = self._decreased_weights(d)
        return self._search(self._scaled_down(d, self._safety_margin(d)))

    def _search(self, d: ExampleVector) -> tuple[ExampleVector, float]:
        """Take least-squares steps until no constraint is violated; return the weights and their cost."""
        included = self.is_equation & ~self.satisfied_on_face
        smallest_violation, stalled = np.inf, 0
        for _ in range(MAX_STEPS):
            if self.F.on_simplex and abs(float(d.sum()) - 1.0) > WEIGHT_SUM_TOL:
                d = self.F.project(d)  # weights with a smaller sum would satisfy any upper bound
            violated = np.abs(self._violations(d)) > self._tolerances(d)
            violated &= ~self._redundant(violated)
            if not violated.any():
                return d, self._cost(d)
            violations = self._violations(d)
            largest = float(np.abs(violations).max())
            if largest < (1.0 - REQUIRED_DECREASE) * smallest_violation:
                smallest_violation, stalled = largest, 0
            else:
                stalled += 1
            if stalled > MAX_STALLED_STEPS:
                break
            included |= violated
            if included.sum() > MAX_CONSTRAINTS:
                included = _largest_entries(np.abs(violations), MAX_CONSTRAINTS)
            next_d = self._least_squares_step(d, violations, included)
            if next_d is None:
                break
            d = next_d
        return d, np.inf

    def _least_squares_step(
        self, d: ExampleVector, violations: Float[Array, " k"], included: Bool[Array, " k"]
    ) -> ExampleVector | None:
        """Return d after one weighted least-squares step on the included constraints, None if no step is possible."""
        columns = np.column_stack([self._column(k) for k in np.flatnonzero(included).tolist()])
        change = violations[included]
        if self.F.on_simplex:
            columns = np.column_stack([columns, np.ones(self.F.N)])
            change = np.append(change, d.sum() - 1.0)
        columns, change = _row_scaled(columns, change)
        room = self.F.room(d)
        gram = columns.T @ (room[:, np.newaxis] * columns)
        fractions = columns @ np.linalg.lstsq(gram, change, rcond=LSTSQ_CUTOFF)[0]
        largest = float(np.abs(fractions).max())
        if not np.isfinite(largest) or largest == 0.0:
            return None
        return d - room * fractions * min(1.0, MAX_STEP_FRACTION / largest)

    def _violations(self, d: ExampleVector) -> Float[Array, " k"]:
        """Return the signed violation of each constraint, including the safety margin; negative below a lower bound."""
        values, margin = self.domain.image(self.U.edges(d)), self._safety_margin(d)
        violations = np.maximum(values + margin - self.upper, 0.0) - np.maximum(self.lower + margin - values, 0.0)
        violations[self.is_equation] = d @ self.equation_columns - self.equation_rhs
        return np.where(self.satisfied_on_face, 0.0, violations)

    def _tolerances(self, d: ExampleVector) -> Float[Array, " k"]:
        """Return the violation up to which a constraint counts as satisfied.

        An inequality may use half of its safety margin, because a step misses its target by less than a rounding error.
        An equation may be violated by its rounding error.
        """
        tolerances = 0.5 * self._safety_margin(d)
        sizes = np.abs(d) @ np.abs(self.equation_columns) + np.abs(self.equation_rhs)
        tolerances[self.is_equation] = edge_rounding_error(self.U, 1.0) * sizes
        return tolerances

    def _safety_margin(self, d: ExampleVector) -> Float[Array, " k"]:
        """Return the distance that each inequality keeps from its bound: a few rounding errors of its value at d.

        The margin is doubled beside equations, because the exactly feasible point has slightly different edges.
        """
        # Without the simplex, the weights may be far smaller than the bound F.mass.
        mass = self.F.mass if self.F.on_simplex else float(np.abs(d).sum())
        factor = MARGIN_IN_ROUNDING_ERRORS * (2.0 if self.is_equation.any() else 1.0)
        return np.where(self.is_equation, 0.0, factor * mass * self.rounding)

    def _redundant(self, violated: Bool[Array, " k"]) -> Bool[Array, " k"]:
        """Drop the violated inequalities that hold for every distribution; return all dropped inequalities as a mask.

        Such an inequality can seem violated because the sum of rounded terms exceeds each of them.
        """
        candidates = violated & ~self.is_equation & ~self.redundancy_checked
        for k in np.flatnonzero(candidates).tolist() if self.edges_are_averages else ():
            self.redundancy_checked[k] = True
            column = self._column(k)
            if column.max() <= self.domain.high[k] and column.min() >= self.domain.low[k]:
                self.lower[k], self.upper[k] = -np.inf, np.inf
        return np.isinf(self.upper) & np.isinf(self.lower)

    def _projected_onto_faces(self, d: ExampleVector) -> ExampleVector:
        """Project d onto the faces of the simplex that constraints imply, and mark these constraints as satisfied."""
        on_earlier_faces = np.ones(len(d), dtype=bool)
        for k in range(len(self.lower)):
            column = self._column(k)
            attained = column[d > 0]
            for bound, extreme in ((self.domain.low[k], attained.max()), (self.domain.high[k], attained.min())):
                on_face = on_earlier_faces & (column == bound)
                if bound == extreme and not self.satisfied_on_face[k]:
                    projected = self.F.project(np.where(on_face, d, 0.0))
                    if not projected[~on_face].any():
                        d, on_earlier_faces, self.satisfied_on_face[k] = projected, on_face, True
        return d

    def _scaled_down(self, d: ExampleVector, margin: Array | float = 0.0) -> ExampleVector:
        """Scale d towards 0 until all positive upper bounds hold, with a margin that scales with d."""
        values, upper = self.domain.image(self.U.edges(d)) + margin, self.domain.high
        violated = (values > upper) & (upper > 0)
        return d * float((upper[violated] / values[violated]).min()) * (1 - 1e-15) if violated.any() else d

    def _decreased_weights(self, d: ExampleVector) -> ExampleVector:
        """Satisfy the upper bounds by least-squares steps that decrease weights and increase none.

        These steps also work for weights at the bounds of their boxes, which leave no room for symmetric steps.
        """
        included = np.zeros(len(self.lower), dtype=bool)
        for _ in range(MAX_STEPS):
            values = self.domain.image(self.U.edges(d))
            violations = np.maximum(values + self._safety_margin(d) - self.upper, 0.0)
            if not violations.any():
                break
            included |= violations > 0
            columns = np.column_stack([self._column(k) for k in np.flatnonzero(included).tolist()])
            d = d * (1.0 - np.clip(_decrease_fractions(columns, d, violations[included]), 0.0, MAX_STEP_FRACTION))
        return d

    def _cost(self, d: ExampleVector) -> float:
        """Bound the increase of F + G from d to an exactly feasible point near it; 0 if there are no equations.

        Let C be the equations, r their residuals at d, and B an approximate inverse of M = Cᵀ diag(room) C. The
        feasible point is d - room * x with x = C B s and s = r + (I - M B) s. It exists if |I - M B| contracts r, and
        then |x| <= |C B| r / (1 - contraction).
        """
        room = self.F.room(d)
        candidates = self._independent_equations((d != 0.0) | (room > 0.0))
        equations = [k for k in candidates if self._restricts_domain(d, int(k))]
        if not equations:
            return 0.0
        columns = self.equation_columns[:, equations]
        residuals = (np.abs(self._violations(d)) + self._tolerances(d))[self.is_equation][equations]
        if self.F.on_simplex:
            columns = np.column_stack([columns, np.ones(self.F.N)])
            residuals = np.append(residuals, 4.0 * edge_rounding_error(self.U, self.F.mass))
        columns, residuals = _row_scaled(columns, residuals)
        matrix = columns.T @ (room[:, np.newaxis] * columns)
        inverse = np.linalg.pinv(matrix, rcond=LSTSQ_CUTOFF)
        contraction = float((np.abs(np.eye(len(matrix)) - matrix @ inverse) @ residuals / residuals).max())
        fractions = np.abs(columns @ inverse) @ residuals / max(1.0 - contraction, 1e-300)
        # Nearly dependent equations, or weights without room: no exactly feasible point is known.
        if contraction >= 0.5 or float(fractions.max()) >= 1.0:
            return np.inf
        # The margins are at most 1, so that an edge changes by at most the sum of the changes of the weights.
        edge_changes = np.full(self.U.t, float(fractions @ room))
        if not self._inequalities_hold_near(d, edge_changes):
            return np.inf
        return self.F.increase_bound(d, fractions) + self.G.increase_bound(self.U.edges(d), edge_changes)

    def _inequalities_hold_near(self, d: ExampleVector, edge_changes: HypothesisVector) -> bool:
        """Return whether the inequalities hold at d with all edges changed by up to `edge_changes`."""
        finite = np.isfinite(self.upper) | np.isfinite(self.lower)
        checked = ~self.is_equation & ~self.satisfied_on_face & finite
        if not checked.any():
            return True
        values = self.domain.image(self.U.edges(d))
        changes = edge_changes if self.domain.A is None else np.abs(self.domain.A) @ edge_changes
        margin = changes + float(np.abs(d).sum()) * self.rounding
        return bool(((values + margin <= self.upper) & (values - margin >= self.lower))[checked].all())

    def _restricts_domain(self, d: ExampleVector, k: int) -> bool:
        """Return whether equation k excludes points of the domain of F by more than its rounding error."""
        column = self.equation_columns[:, k]
        width = self.F.support(column) + self.F.support(-column)
        return width > 2.0 * float(self._tolerances(d)[self.is_equation][k])

    def _independent_equations(self, rows: Bool[Array, " N"]) -> Array:
        """Return the indices of the equations that are not 0 and not equal up to sign, on some of the examples."""
        indices = np.flatnonzero(~self.satisfied_on_face[self.is_equation])
        equations = np.vstack([self.equation_columns[rows][:, indices], self.equation_rhs[indices]])
        first_entries = equations[np.argmax(equations != 0.0, axis=0), np.arange(len(indices))]
        # Compared as bytes. np.unique along columns sorts records of N fields: a minute for a million examples.
        position_by_bytes = dict[bytes, int]()
        for k in np.flatnonzero(first_entries != 0.0):
            normalized = equations[:, k] * np.sign(first_entries[k]) + 0.0  # + 0.0 turns -0.0 into 0.0
            position_by_bytes.setdefault(normalized.tobytes(), int(k))
        return indices[list(position_by_bytes.values())]

    def _column(self, k: int) -> ExampleVector:
        """Return the coefficients of d in constraint k: column k of U Aᵀ."""
        return self.U.column(int(k)) if self.domain.A is None else self.U.margins(self.domain.A[k])


def _decrease_fractions(
    columns: Float[Array, "N k"], d: ExampleVector, violations: Float[Array, " k"]
) -> ExampleVector:
    """Return the fractions by which to decrease d, by least squares over an active set of weights to decrease."""
    fractions, decreased = np.zeros(len(d)), d > 0
    for _ in range(MAX_ACTIVE_SET_UPDATES):
        gram = columns.T @ (np.where(decreased, d, 0.0)[:, np.newaxis] * columns)
        fractions = columns @ np.linalg.lstsq(gram, violations, rcond=LSTSQ_CUTOFF)[0]
        previous, decreased = decreased, (fractions > 0) & (d > 0)
        if np.array_equal(decreased, previous):
            break
    return fractions


def _largest_entries(values: Float[Array, " k"], count: int) -> Bool[Array, " k"]:
    """Return a mask of the `count` largest entries; among equal ones, the first."""
    mask = values >= np.partition(values, -count)[-count]
    return mask & (np.cumsum(mask) <= count)


def _row_scaled(
    columns: Float[Array, "N k"], rhs: Float[Array, " k"]
) -> tuple[Float[Array, "N k"], Float[Array, " k"]]:
    """Return the equations columnsᵀ x = rhs, each scaled to a largest coefficient of 1."""
    largest = np.abs(columns).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    return columns / scale, rhs / scale
