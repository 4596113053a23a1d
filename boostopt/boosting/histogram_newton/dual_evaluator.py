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

import numpy as np

from boostopt._utils.array_types import Array, Float, HypothesisVector, Int
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.histogram_newton.stump_curvature import StumpCurvature
from boostopt.boosting.objectives.class_upper_bound import best_direction, largest_edge
from boostopt.boosting.objectives.exact_objective import (
    ExactObjective,
    conjugate_at_margins,
    margin_histogram,
    weight_function,
)
from boostopt.boosting.objectives.margin_histogram import MarginHistogram, WeightFunction
from boostopt.boosting.updates.newton_update import centered_gram
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows, MarginHandle
from boostopt.rows.gram_matrices import sums_over_cells_are_faster
from boostopt.rows.margin_grid import MARGIN_SCALE, N_BINS, MarginGrid
from boostopt.rows.row_block import Split

MAX_RELATIVE_BIN_WIDTH = 0.02
"""The largest width of a bin, in units of 1 / eta. If bins are wider, the grid is refined."""

REFINED_RELATIVE_BIN_WIDTH = 0.005
"""The largest width of a bin of a refined grid, in the same units, if rows are more than bins. Narrower bins cost more
time than they save evaluations."""

CURVED_ROWS_PER_COLUMN, MIN_CURVED_ROWS = 60, 2_000
"""The rows with a curvature that determine the Hessian: so many per column, and at least so many, if there are more.
Rows count as many as equal curvatures whose mean is as random."""

FEW_COLUMNS, MIN_CURVED_ROWS_PER_COLUMN = 150, 30
"""The number of columns up to which fewer rows per column suffice, and that number of rows."""

MAX_CURVED_SHARE = 0.2
"""The share of the rows that the Hessian may need beyond this number per column. With 20 features, a pass over all rows
costs as much as the Hessian of these rows."""

MAX_CURVATURE_SAMPLE = 1 << 20
"""The largest number of rows of a sample for the Hessian; it is in memory, also if the rows are on a cluster."""

MIN_OPERATOR_COLUMNS, MIN_ROWS_PER_OPERATOR_COLUMN = 200, 0.6
"""The least number of columns whose Hessian is an operator, and of rows with a curvature for each column, counted as
above. With fewer rows, conjugate gradients take too many products."""

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
    is_symmetric
        Whether the class is closed under negation.
    """

    iterate: Iterate
    level: int
    weight_function: WeightFunction
    edges: Int[Array, " thresholds"]
    is_symmetric: bool

    @cached_property
    def best_edges(self) -> Int[Array, " thresholds"]:
        """The same for the direction with the larger edge, if the class is symmetric; otherwise equal to `edges`."""
        return best_direction(self.edges, self.is_symmetric)

    @cached_property
    def largest_edge(self) -> Fraction:
        """The largest edge of the class under d(w), exactly."""
        return Fraction(largest_edge(self.edges, self.is_symmetric), self.weight_function.normalizer)

    @property
    def w(self) -> HypothesisVector:
        """The weights, with sum 1."""
        return self.iterate.integer_weights / MARGIN_SCALE


@dataclass(frozen=True, eq=False)
class CurvatureSample:
    """Rows that determine the Hessian.

    Attributes
    ----------
    rows, margins
        The rows, and their margins.
    grid, integer_curvature, unit
        The curvature of each bin as an integer, and the curvature of the integer 1.
    size
        The number of equal curvatures whose mean is as random.
    """

    rows: BinnedRows
    margins: MarginHandle
    grid: MarginGrid
    integer_curvature: Int[Array, " bins"]
    unit: float
    size: float


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
        self._memory = np.empty(0)

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
        sample = self._curvature_sample(iterate, weight_function, len(columns), spread)
        gram = sample.rows.gram(sample.margins, sample.grid, sample.integer_curvature, columns)
        UrU, Ur, r_sum = gram[:-1, :-1], gram[-1, :-1], float(gram[-1, -1])
        hessian = UrU if r_sum == 0.0 or not self.problem.F.on_simplex else centered_gram(UrU, Ur, r_sum)
        hessian *= sample.unit
        return hessian

    def curvature(
        self, iterate: Iterate, weight_function: WeightFunction, columns: Sequence[Split], spread: float = 0.0
    ) -> Float[Array, "t t"] | StumpCurvature:
        """Return the same matrix, as an operator if columns are many, and rows with a curvature too.

        The operator can be used until the next one.
        """
        if len(columns) < MIN_OPERATOR_COLUMNS:
            return self.negative_hessian(iterate, weight_function, columns, spread)
        sample = self._curvature_sample(iterate, weight_function, len(columns), spread)
        n_features = len({split.feature for split in columns})
        # No copy of an example and no compiled loop may change the choice: rounding errors differ.
        are_cells_few = sums_over_cells_are_faster(sample.size, len(columns), n_features, is_small=True)
        if sample.size < MIN_ROWS_PER_OPERATOR_COLUMN * len(columns) or not are_cells_few:
            return self.negative_hessian(iterate, weight_function, columns, spread)
        sums = sample.rows.cell_sums(sample.margins, sample.grid, sample.integer_curvature, columns)
        return StumpCurvature(
            columns, *sums, sample.unit, self.problem.F.on_simplex, self._reused_matrix(len(columns) + n_features)
        )

    def _curvature_sample(
        self, iterate: Iterate, weight_function: WeightFunction, n_columns: int, spread: float
    ) -> CurvatureSample:
        """Return the rows that determine the Hessian with respect to the weights of so many columns."""
        grid, integer_curvature, unit = weight_function.curvature(spread)
        size = weight_function.curvature_sample_size(grid, integer_curvature)
        rows, margins = self._curvature_rows(size, n_columns), iterate.margins
        if rows is not self.rows:
            step, W = self._sample[0], iterate.integer_weights
            margins = self.rows.stride_margins(rows, step, margins, iterate.splits, W)
            unit *= self.rows.n_examples / rows.n_examples
            size *= rows.n_examples / self.rows.n_examples
        return CurvatureSample(rows, margins, grid, integer_curvature, unit, size)

    def _reused_matrix(self, size: int) -> Float[Array, "size size"]:
        """Return a matrix in the memory of the one before: to get new memory takes longer than to write it."""
        if len(self._memory) < size * size:
            self._memory = np.empty(2 * size * size)
        return self._memory[: size * size].reshape(size, size)

    def _curvature_rows(self, sample_size: float, n_columns: int) -> BinnedRows:
        """Return the rows that determine the Hessian: a sample with enough rows whose weight changes, or all rows."""
        # Multiplicities count examples, and a sample needs rows.
        n_curved = sample_size * self.rows.n_rows / self.rows.n_examples
        n_needed = MIN_CURVED_ROWS_PER_COLUMN * n_columns
        if n_columns > FEW_COLUMNS:
            n_needed = max(n_needed, min(CURVED_ROWS_PER_COLUMN * n_columns, int(MAX_CURVED_SHARE * self.rows.n_rows)))
        surplus = n_curved / max(n_needed, MIN_CURVED_ROWS)
        # The largest step up to the surplus of the form 2^k or 3 * 2^k: samples of few steps are reused.
        power = 1 << max(int(surplus).bit_length() - 1, 0)
        step = 3 * power // 2 if surplus >= 1.5 * power > 1.5 else power
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
        d_of_m = self.weight_function_of(iterate.histogram, level, iterate.weight_sum)
        eta_inverse = self.strong_convexity(level) / iterate.weight_sum
        widest = REFINED_RELATIVE_BIN_WIDTH * eta_inverse if self.rows.n_rows > N_BINS else 0.0
        for _ in range(MAX_REFINEMENTS):
            finer = MarginGrid.covering(*d_of_m.transition, widest)
            narrow_enough = d_of_m.grid.bin_width <= MAX_RELATIVE_BIN_WIDTH * eta_inverse
            if narrow_enough or finer.log2_bin_width >= d_of_m.grid.log2_bin_width:
                break
            histogram = margin_histogram(self.rows, iterate.margins, finer)
            if self.objective.refinement_is_verifiable:
                iterate.lower_bound = max(iterate.lower_bound, self.objective.lower_bound(histogram))
            d_of_m = self.weight_function_of(histogram, level, iterate.weight_sum)
        return d_of_m

    def weight_function_of(self, histogram: MarginHistogram, level: int, weight_sum: float) -> WeightFunction:
        """Return d(w) of the program of a level on the bins of a histogram, however wide they are."""
        return weight_function(histogram, self._make_regularizer(level), self.objective, weight_sum)

    def dual_objective(self, weight_function: WeightFunction, level: int) -> float:
        """Return D(w) of the program of a level on the bins of a weight function, which may be of another level."""
        histogram, weight_sum = weight_function.histogram, weight_function.weight_sum
        _, conjugate = conjugate_at_margins(histogram, self._make_regularizer(level), self.objective, weight_sum)
        return -conjugate.value

    def dual_objective_bound(self, weight_function: WeightFunction, level: int) -> float:
        """Return an upper bound of the same, up to rounding errors, in a quarter of the time.

        D(w) is the least sum of a mean margin and F over all weights of the examples, and d(w) of the other level are
        such weights.
        """
        examples = self.objective.examples_with(weight_function.histogram.occupied_counts)
        value = self._make_regularizer(level)(examples).value(weight_function.conjugate.d)
        return weight_function.dual_objective + (value - weight_function.regularizer_value)

    def _make_regularizer(self, level: int) -> Callable[[Examples], Regularizer]:
        """Return the function that makes F of a level for some examples."""
        return partial(self.problem.regularizer_at_level, level)
