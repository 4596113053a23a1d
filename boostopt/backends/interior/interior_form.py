"""A program in the form of the interior point method: functions of single weights, rows over the edges, and U.

    min over (d, x)   sum_n f_n(d_n) + <slope, U'd> + <g, x> + (1/2) <x, Q x>
    subject to        A U'd + B x + s = b : v,   sum d = 1 : beta,   d - lower >= 0 : zeta,   upper - d >= 0 : psi

with s >= 0, v >= 0 at inequalities and s = 0 at equations. Weights whose box is a point are constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import Array, Bool, ExampleVector, Float, HypothesisVector
from boostopt.backends.interior.merged_columns import SignedColumnMatrix, merge_signed_columns
from boostopt.functions.edge_functions.base import Epigraph
from boostopt.functions.numerics.capped_softmax import CAP_SUM_TOL
from boostopt.functions.numerics.support_expansion import expand
from boostopt.functions.regularizers.base import Pointwise
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix


@dataclass(frozen=True, eq=False)
class InteriorProblem:
    """The data of a program, over the n weights that can move.

    Attributes
    ----------
    U
        The margin matrix, with equal and opposite columns folded into one if that pays.
    f
        The functions of single weights, their box, and whether the weights sum to 1.
    rows
        G as rows over the edges.
    mass
        A bound on the sum of the weights.
    """

    U: MarginMatrix | SignedColumnMatrix
    f: Pointwise
    rows: Epigraph
    mass: float

    @classmethod
    def from_program(cls, program: Program) -> InteriorProblem | None:
        """Return the problem of a program, None if F is not a sum over the examples or G has no rows."""
        f, rows = program.regularizer.pointwise(), program.edge_function.epigraph(program.margins.t)
        return (
            None
            if f is None or rows is None
            else cls(merge_signed_columns(program.margins), f, rows, program.regularizer.mass)
        )

    @cached_property
    def movable(self) -> Bool[Array, " N"]:
        """The weights that can move, as a mask: none if all weights must be at their caps or lower bounds."""
        lower, upper = self.f.lower, self.f.upper
        if self.f.on_simplex and (float(upper.sum()) <= 1.0 + CAP_SUM_TOL or float(lower.sum()) >= 1.0 - CAP_SUM_TOL):
            return np.zeros(len(lower), dtype=bool)
        return upper > lower

    @cached_property
    def all_free(self) -> bool:
        """True if all weights can move."""
        return bool(self.movable.all())

    @cached_property
    def lower(self) -> Float[Array, " n"]:
        """Lower bounds of the weights that can move."""
        return self.restrict(self.f.lower)

    @cached_property
    def width(self) -> Float[Array, " n"]:
        """Length of the interval of each weight."""
        return self.restrict(self.f.upper) - self.lower

    @cached_property
    def centre(self) -> Float[Array, " n"]:
        """A point inside the box, as distances to the lower bounds: the same fraction of each interval."""
        width_sum = float(self.width.sum())
        fraction = (self.total - float(self.lower.sum())) / width_sum if self.f.on_simplex and width_sum > 0 else 0.5
        return fraction * self.width

    @cached_property
    def is_linear(self) -> bool:
        """True if the objective is linear, so that stationarity does not contain d."""
        return not (self.has_quadratic or self.curvatures(self.lower + self.centre).any())

    def size(self, d: Float[Array, " n"], slopes: Float[Array, " n"], x: Float[Array, " j"]) -> float:
        """Return the scale of the objective, at least 1, from d and x."""
        return max(1.0, abs(float(slopes @ d + self.rows.g @ x + 0.5 * x @ self.rows.Q @ x)))

    def distances_to_lower(self, d: ExampleVector) -> Float[Array, " n"]:
        """Return the distances of the free weights from their lower bounds, within the box."""
        return np.clip(self.restrict(d) - self.lower, 0.0, self.width)

    @cached_property
    def fixed(self) -> ExampleVector:
        """The weights that cannot move, 0 for the others."""
        box_point = self.f.upper if float(self.f.lower.sum()) < 1.0 - CAP_SUM_TOL else self.f.lower
        return np.where(self.movable, 0.0, box_point)

    @cached_property
    def fixed_edges(self) -> HypothesisVector:
        """The edges of the fixed weights."""
        return self.U.edges(self.fixed) if self.fixed.any() else np.zeros(self.U.t)

    @cached_property
    def edge_slope_margins(self) -> Float[Array, " n"]:
        """The margins of the slope of G."""
        slope = self.rows.slope
        return self.restrict(self.U.margins(slope)) if slope.any() else np.zeros(len(self.lower))

    @cached_property
    def total(self) -> float:
        """The sum that the free weights must have."""
        return 1.0 - float(self.fixed.sum())

    @cached_property
    def inequality(self) -> Bool[Array, " k"]:
        """The rows that are inequalities, as a mask."""
        return ~self.rows.equality

    @cached_property
    def epigraph_rows(self) -> Bool[Array, "k j"]:
        """The rows that a variable bounds from above, as a mask for each variable."""
        return self.rows.B < 0

    @cached_property
    def has_quadratic(self) -> bool:
        """True if Q is positive definite, or 0."""
        return bool(self.rows.Q.any())

    @cached_property
    def may_be_infeasible(self) -> bool:
        """True if a row bounds the edges without a variable that can relax it."""
        return bool((~self.epigraph_rows.any(axis=1)).any())

    @cached_property
    def B_Q_inverse(self) -> Float[Array, "k j"]:
        """B Q^-1."""
        return self.rows.B @ self.inverse

    @cached_property
    def inverse(self) -> Float[Array, "j j"]:
        """Q^-1."""
        return np.linalg.inv(self.rows.Q)

    @cached_property
    def num_pairs(self) -> int:
        """Number of complementary pairs."""
        return 2 * len(self.lower) + int(self.inequality.sum())

    def restrict(self, values: ExampleVector) -> Float[Array, " n"]:
        """Return the entries of an array for the weights that can move."""
        return values if self.all_free else values[self.movable]

    def expand(self, values: Float[Array, " n"]) -> ExampleVector:
        """Return an array over all examples, 0 for the weights that cannot move."""
        return expand(values, self.movable)

    def weights(self, d: Float[Array, " n"]) -> ExampleVector:
        """Return all weights."""
        return d if self.all_free else self.expand(d) + self.fixed

    def slopes(self, d: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return f'(d)."""
        return self.restrict(self.f.derivatives(self._inside(d)))

    def curvatures(self, d: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return f''(d)."""
        with np.errstate(divide="ignore", invalid="ignore"):  # at the weights that cannot move
            return self.restrict(self.f.curvatures(self._inside(d)))

    def margins(self, v: Float[Array, " k"]) -> Float[Array, " n"]:
        """Return the margins of A'v."""
        return self.restrict(self.U.margins(self.rows.weights(v)))

    def row_values(self, d: Float[Array, " n"]) -> Float[Array, " k"]:
        """Return A U'd without the fixed weights."""
        return self.rows.rows(self.U.edges(self.expand(d)))

    def row_values_with_fixed(self, d: Float[Array, " n"]) -> Float[Array, " k"]:
        """Return A U'd for all weights, including the fixed ones."""
        return self.row_values(d) + self.rows.rows(self.fixed_edges)

    def gram(self, theta: Float[Array, " n"]) -> Float[Array, "k k"]:
        """Return A U' diag(theta) U A'."""
        gram, A = self.U.gram(self.expand(theta)), self.rows.A
        return gram if A is None else A @ gram @ A.T

    def weights_inside_box(self, lower_distances: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return d = lower + lower_distances, protected from rounding to a box bound."""
        return np.clip(self.lower + lower_distances, *self._innermost)

    @cached_property
    def _innermost(self) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """The smallest and the largest floats inside the boxes."""
        upper = self.restrict(self.f.upper)
        return np.nextafter(self.lower, upper), np.nextafter(upper, self.lower)

    def _inside(self, d: Float[Array, " n"]) -> ExampleVector:
        """Return all weights as points at which slopes and curvatures exist."""
        # The slope of a fixed weight does not matter, so any point of its empty interior will do.
        return d if self.all_free else np.where(self.movable, self.expand(d), self.fixed)
