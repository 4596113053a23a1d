"""Evaluation of the dual objective D(w) and its derivatives by aggregates over the rows.

iterate            w              ->  margins Uw and their histogram            one pass over the rows
weight function    level          ->  d(w) as a function of the margin          a pass for each finer grid
evaluation         d(w)           ->  the edges of all hypotheses (gradient)    one pass
negative Hessian   d(w), columns  ->  U' (diag(r) - r r' / sum r) U             one pass
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial

from boostopt._utils.array_types import Array, Float, HypothesisVector, Int
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.objectives.exact_objective import ExactObjective, margin_histogram, weight_function
from boostopt.boosting.objectives.margin_histogram import MarginHistogram, WeightFunction
from boostopt.boosting.updates.newton_update import centered_gram
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows, MarginHandle
from boostopt.rows.margin_grid import MARGIN_SCALE, MarginGrid
from boostopt.rows.row_block import Split

MAX_RELATIVE_BIN_WIDTH = 0.02
"""The largest width of a bin, in units of 1 / eta. If bins are wider, the grid is refined."""

CURVED_ROWS_PER_COLUMN, MIN_CURVED_ROWS = 60, 4_000
"""The rows with a curvature that determine the Hessian: so many per column, and at least so many, if there are more.
Rows count as many as equal curvatures whose mean is as random."""

MAX_CURVATURE_SAMPLE = 1 << 20
"""The largest number of rows of a sample for the Hessian; it is in memory, also if the rows are on a cluster."""

MAX_REFINEMENTS = 2
"""The largest number of refinements of the grid for one iterate and level."""


@dataclass(eq=False)
class Iterate:
    """Hypothesis weights with their margins.

    Attributes
    ----------
    splits, integer_weights
        The columns of the pool and their normalized weights, integers of sum 2^30; or all zero.
    margins
        The margins, which stay with the rows.
    histogram
        The histogram of the margins on the grid of [-1, 1].
    lower_bound
        A lower bound of the objective of the weights. Finer grids may raise it.
    weight_sum
        The sum of the weights of the program, which are `weight_sum` times the normalized ones.
    weight_functions
        The weight functions that were computed so far, by level.
    """

    splits: tuple[Split, ...]
    integer_weights: Int[Array, " t"]
    margins: MarginHandle
    histogram: MarginHistogram
    lower_bound: Fraction
    weight_sum: float = 1.0
    weight_functions: dict[int, WeightFunction] = field(default_factory=dict[int, WeightFunction])


@dataclass(frozen=True, eq=False)
class Evaluation:
    """An iterate at a smoothing level, with the edges of the class under d(w).

    Attributes
    ----------
    iterate, level, weight_function
        The iterate, the level of the program, and d(w) at this level.
    edges
        The edge of h(x) = 1 above each threshold, times the normalizer of d(w).
    best_edges
        The same for the direction with the larger edge, if the class is symmetric; otherwise equal to `edges`.
    """

    iterate: Iterate
    level: int
    weight_function: WeightFunction
    edges: Int[Array, " thresholds"]
    best_edges: Int[Array, " thresholds"]

    @cached_property
    def largest_edge(self) -> Fraction:
        """The largest edge of the class under d(w), exactly."""
        return Fraction(int(self.best_edges.max()), self.weight_function.normalizer)

    @property
    def w(self) -> HypothesisVector:
        """The weights, with sum 1."""
        return self.iterate.integer_weights / MARGIN_SCALE


class DualEvaluator:
    """The dual objective D of the programs of a problem, on some rows.

    Parameters
    ----------
    problem
        The problem of the run.
    rows
        All rows, or a sample.
    objective
        The objective over all rows. The evaluator rescales it to `rows`.
    """

    problem: Problem
    rows: BinnedRows
    objective: ExactObjective

    def __init__(self, problem: Problem, rows: BinnedRows, objective: ExactObjective) -> None:
        self.problem, self.rows, self.objective = problem, rows, objective.for_sample(rows.n_examples)
        self._sample: tuple[int, BinnedRows] = 1, rows

    def iterate(self, columns: Sequence[Split], integer_weights: Int[Array, " t"], weight_sum: float = 1.0) -> Iterate:
        """Return weights of some columns with their margins."""
        margins = self.rows.margins(columns, integer_weights)
        histogram = margin_histogram(self.rows, margins, MarginGrid.full())
        return Iterate(
            tuple(columns), integer_weights, margins, histogram, self.objective.lower_bound(histogram), weight_sum
        )

    def weight_function(self, iterate: Iterate, level: int) -> WeightFunction:
        """Return d(w) of the program of a level.

        The grid is refined around the margins where the weights change until its bins are narrow enough.
        """
        if level not in iterate.weight_functions:
            iterate.weight_functions[level] = self._refined_weight_function(iterate, level)
        return iterate.weight_functions[level]

    def class_edges(self, iterate: Iterate, weight_function: WeightFunction) -> Int[Array, " thresholds"]:
        """Return the edge of h(x) = 1 above each threshold, times the normalizer of d."""
        return self.rows.class_edges(iterate.margins, weight_function.grid, weight_function.integer_weights)

    def negative_hessian(
        self, iterate: Iterate, weight_function: WeightFunction, columns: Sequence[Split], spread: float = 0.0
    ) -> Float[Array, "t t"]:
        """Return minus the Hessian of D with respect to the weights of some columns.

        If the spread is positive, the derivative of the weight function is replaced by a difference quotient over
        margins up to this distance. See `WeightFunction.curvature`. If rows with a curvature are many, the Hessian is
        that of a sample of the rows: it determines steps, and no bound.
        """
        grid, integer_curvature, unit = weight_function.curvature(spread)
        rows = self._curvature_rows(weight_function.curvature_sample_size(grid, integer_curvature), len(columns))
        if rows is self.rows:
            gram = rows.gram(iterate.margins, grid, integer_curvature, columns)
        else:
            margins = rows.margins(iterate.splits, iterate.integer_weights)
            gram = rows.gram(margins, grid, integer_curvature, columns)
            gram *= self.rows.n_examples / rows.n_examples
        UrU, Ur, r_sum = gram[:-1, :-1], gram[-1, :-1], float(gram[-1, -1])
        hessian = UrU if r_sum == 0.0 or not self.problem.F.on_simplex else centered_gram(UrU, Ur, r_sum)
        hessian *= unit
        return hessian

    def _curvature_rows(self, sample_size: float, n_columns: int) -> BinnedRows:
        """Return the rows that determine the Hessian: a sample with enough rows whose weight changes, or all rows."""
        # Multiplicities count examples, and a sample needs rows.
        n_curved = sample_size * self.rows.n_rows / self.rows.n_examples
        surplus = n_curved / max(CURVED_ROWS_PER_COLUMN * n_columns, MIN_CURVED_ROWS)
        step = 1 << max(int(surplus).bit_length() - 1, 0)
        if step == 1 or self.rows.n_rows > MAX_CURVATURE_SAMPLE * step:
            return self.rows
        if self._sample[0] != step:
            self._sample = step, self.rows.stride(step)
        return self._sample[1]

    def strong_convexity(self, level: int) -> float:
        """Return the modulus of strong convexity of F at a level: 1 / eta, for an entropy on the simplex."""
        return self.objective.unit * self.problem.strong_convexity * 2.0**level

    def _refined_weight_function(self, iterate: Iterate, level: int) -> WeightFunction:
        """Compute the weight function on the full grid, and on finer grids if the bins are too wide."""
        make_regularizer: Callable[[Examples], Regularizer] = partial(self.problem.regularizer_at_level, level)
        d_of_m = weight_function(iterate.histogram, make_regularizer, self.objective, iterate.weight_sum)
        max_width = MAX_RELATIVE_BIN_WIDTH * self.strong_convexity(level)
        for _ in range(MAX_REFINEMENTS):
            finer = MarginGrid.covering(*d_of_m.transition)
            narrow_enough = iterate.weight_sum * d_of_m.grid.bin_width <= max_width
            if narrow_enough or finer.log2_bin_width >= d_of_m.grid.log2_bin_width:
                break
            histogram = margin_histogram(self.rows, iterate.margins, finer)
            if self.objective.refinement_is_verifiable:
                iterate.lower_bound = max(iterate.lower_bound, self.objective.lower_bound(histogram))
            d_of_m = weight_function(histogram, make_regularizer, self.objective, iterate.weight_sum)
        return d_of_m
