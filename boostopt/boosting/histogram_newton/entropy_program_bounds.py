"""Bounds of the optimum of a program with its entropy over a whole class, from margin histograms.

    lower    -F*(-Uw), where the examples of each bin move to the ends of the bin and keep their mean
    upper    F(d) + the largest edge of the class, where all examples of a bin have the same weight

F is a sum over the examples, so the examples of a bin equal one example with a multiplicity [theorem 6]. Only sums over
the bins are rounded: the slack does not grow with the number of examples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from boostopt._utils.array_types import Array, Float, Int
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.histogram_newton.dual_evaluator import DualEvaluator
from boostopt.boosting.objectives.class_upper_bound import UpperBound
from boostopt.boosting.objectives.exact_objective import ExactObjective, margin_histogram, summation
from boostopt.boosting.objectives.margin_histogram import MarginHistogram
from boostopt.boosting_certificates.nan_checks import as_bound
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split


def program_bounds(
    problem: Problem,
    rows: BinnedRows,
    objective: ExactObjective,
    splits: Sequence[Split],
    integer_weights: Int[Array, " t"],
    witness: UpperBound,
) -> tuple[float, float]:
    """Return a lower bound from hypothesis weights and an upper bound from a distribution of the optimum over a class.

    Parameters
    ----------
    problem
        The problem of the run; G is the largest edge.
    rows, objective
        The examples, and the objective over them.
    splits, integer_weights
        Hypotheses and their weights, integers of sum 2^30.
    witness
        The distribution, with the largest edge of the class under this distribution.
    """
    evaluator = DualEvaluator(problem, rows, objective)
    iterate = evaluator.iterate(splits, integer_weights)
    lower = max(
        _lower_bound(problem, histogram)
        for histogram in (iterate.histogram, evaluator.weight_function(iterate, 0).histogram)
    )
    histogram = margin_histogram(rows, rows.margins(witness.columns, witness.hypothesis_weights), witness.grid)
    F, d = (
        _regularizer(problem, histogram.occupied_counts),
        histogram.occupied_counts * (witness.integer_weights[histogram.occupied] / witness.normalizer),
    )
    term_slack, sum_slack = summation(F)
    return lower, as_bound(F.value(d) + float(witness.value) + sum_slack + F.value_slack(d, term_slack), math.inf)


def _lower_bound(problem: Problem, histogram: MarginHistogram) -> float:
    """Bound D of a margin histogram from below."""
    c, m = histogram.spread_to_bin_edges
    F = _regularizer(problem, c)
    conjugate, (term_slack, sum_slack) = F.conjugate_at(-m), summation(F)
    return as_bound(-conjugate.value - sum_slack - F.conjugate_slack(conjugate, term_slack), -math.inf)


def _regularizer(problem: Problem, c: Float[Array, " k"]) -> Regularizer:
    """Return F of the program for examples with multiplicities c."""
    return problem.formulation.regularizer(problem.template.parameters, Examples(c, c / c.sum()))
