"""What is asked of the rows: margins of weights, the weights that a program gives the examples, edges, curvature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from boostopt._utils.array_types import Array, Float, Int
from boostopt.boosting.problem import Problem
from boostopt.boosting.updates.newton_update import centered_gram
from boostopt.functions.regularizers.base import Regularizer
from boostopt.objectives.exact import ExactObjective, margin_histogram, weight_function
from boostopt.objectives.margin_histogram import MarginHistogram, WeightFunction
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows, MarginHandle
from boostopt.rows.margin_grid import MARGIN_SCALE, MarginGrid
from boostopt.rows.row_block import Split

MAX_RELATIVE_BIN_WIDTH = 0.02
"""Width of a bucket, times eta, above which a closer window is looked through."""

MAX_REFINEMENTS = 2
"""How often a closer window is looked through at most."""


@dataclass(eq=False)
class Iterate:
    """The margins of some weights.

    Attributes
    ----------
    integer_weights
        The weights, whole numbers of sum 2^30.
    margins
        The margins, beside the rows.
    histogram
        These in buckets, from -1 to 1.
    lower_bound
        A number not above their soft margin.
    n_examples
        The sum of the weights of the program: they are w times this.
    """

    integer_weights: Int[Array, " t"]
    margins: MarginHandle
    histogram: MarginHistogram
    lower_bound: Fraction
    weight_sum: float = 1.0
    weight_functions: dict[int, WeightFunction] = field(default_factory=dict[int, WeightFunction])


class DualEvaluator:
    """What is asked of some rows.

    Parameters
    ----------
    problem
        What is boosted.
    rows
        All of them, or a sample that stands for them.
    aim
        What is told of all of them.
    """

    problem: Problem
    rows: BinnedRows
    aim: ExactObjective

    def __init__(self, problem: Problem, rows: BinnedRows, aim: ExactObjective) -> None:
        self.problem, self.rows, self.aim = problem, rows, aim.for_sample(rows.n_examples)

    def iterate(self, splits: Sequence[Split], W: Int[Array, " t"], total: float = 1.0) -> Iterate:
        """Return the margins of weights."""
        kept = self.rows.margins(splits, W)
        buckets = margin_histogram(self.rows, kept, MarginGrid.full())
        return Iterate(W, kept, buckets, self.aim.lower_bound(buckets), total)

    def weight_function(self, seen: Iterate, level: int) -> WeightFunction:
        """Return the weights of the examples in the program of a level."""
        if level not in seen.weight_functions:
            law = weight_function(seen.histogram, self._regularizer_factory(level), self.aim, seen.weight_sum)
            for _ in range(MAX_REFINEMENTS):
                closer = MarginGrid.covering(*law.transition)
                if (
                    seen.weight_sum * law.grid.bin_width <= MAX_RELATIVE_BIN_WIDTH * self.strong_convexity(level)
                    or closer.log2_bin_width >= law.grid.log2_bin_width
                ):
                    break
                buckets = margin_histogram(self.rows, seen.margins, closer)
                if self.aim.refinement_is_verifiable:
                    seen.lower_bound = max(seen.lower_bound, self.aim.lower_bound(buckets))
                law = weight_function(buckets, self._regularizer_factory(level), self.aim, seen.weight_sum)
            seen.weight_functions[level] = law
        return seen.weight_functions[level]

    def class_edges(self, seen: Iterate, law: WeightFunction) -> Int[Array, " thresholds"]:
        """Return the edges of the class under d, times Q: h being 1 above each threshold."""
        return self.rows.class_edges(seen.margins, law.grid, law.integer_weights)

    def negative_hessian(
        self, seen: Iterate, law: WeightFunction, splits: Sequence[Split], spread: float = 0.0
    ) -> Float[Array, "t t"]:
        """Return minus the Hessian of D with respect to the weights of some hypotheses.

        With a spread it is what the Hessian may be where margins have moved that far [`Law.curvature`].
        """
        window, table, unit = law.curvature(spread)
        G = self.rows.gram(seen.margins, window, table, splits)
        r = float(G[-1, -1])
        if r == 0.0 or not self.problem.F.on_simplex:
            return unit * G[:-1, :-1]
        return unit * centered_gram(G[:-1, :-1], G[-1, :-1], r)

    def strong_convexity(self, level: int) -> float:
        """Return how strongly convex F of a level is: 1 / eta, for an entropy on the simplex."""
        return self.aim.unit * self.problem.strong_convexity * 2.0**level

    def _regularizer_factory(self, level: int) -> Callable[[Examples], Regularizer]:
        """Return what makes F of a level for some examples."""
        return partial(self.problem.regularizer_at_level, level)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A look at the weights w, with the edges of the class under d(w).

    Attributes
    ----------
    seen, level, law
        The margins of w, the level of the program, and the weights of the examples there.
    edges, reach
        The edges of the class times Q: of h = 1 above each threshold, and of the better direction that the class has.
    """

    iterate: Iterate
    level: int
    weight_function: WeightFunction
    edges: Int[Array, " thresholds"]
    best_edges: Int[Array, " thresholds"]

    @property
    def largest_edge(self) -> Fraction:
        """The largest edge of the class under d(w), exactly."""
        return Fraction(int(self.best_edges.max()), self.weight_function.normalizer)

    @property
    def w(self) -> Float[Array, " t"]:
        """The weights."""
        return self.iterate.integer_weights / MARGIN_SCALE
