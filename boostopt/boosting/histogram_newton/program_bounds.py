"""Both ends of the program itself, with its entropy, over a whole class: from margins in buckets.

    lower    -F*(-Uw), the examples of each bucket moved to its ends, their mean kept
    upper    F(d) + the largest edge of the class, d being one number for all examples of a bucket

F is a sum over the examples, so that examples of a bucket are one with a multiplicity [theorem 6]. What is rounded are
sums over the buckets: the slack does not grow with the examples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from boostopt._utils.array_types import Array, Float, Int
from boostopt.boosting.histogram_newton.evaluator import DualEvaluator
from boostopt.boosting.problem import Problem
from boostopt.certificates.bound_checks import as_bound
from boostopt.functions.regularizers.base import Regularizer
from boostopt.objectives.exact import ExactObjective, margin_histogram, summation
from boostopt.objectives.margin_histogram import MarginHistogram
from boostopt.objectives.upper_bound import UpperBound
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split


def program_bounds(
    problem: Problem,
    rows: BinnedRows,
    aim: ExactObjective,
    splits: Sequence[Split],
    W: Int[Array, " t"],
    proof: UpperBound,
) -> tuple[float, float]:
    """Return bounds of the optimum of the program over a class: what weights reach, and what a distribution allows.

    Parameters
    ----------
    problem
        What is boosted, with the largest edge.
    rows, aim
        The examples, and what looks at them are after.
    splits, W
        Hypotheses and their weights, whole numbers of sum 2^30.
    proof
        The distribution, with the largest edge of the class under it.
    """
    looks = DualEvaluator(problem, rows, aim)
    seen = looks.iterate(splits, W)
    lower = max(
        _lower_bound(problem, buckets) for buckets in (seen.histogram, looks.weight_function(seen, 0).histogram)
    )
    buckets = margin_histogram(rows, rows.margins(proof.columns, proof.hypothesis_weights), proof.grid)
    F, d = (
        _regularizer_of(problem, buckets.occupied_counts),
        buckets.occupied_counts * (proof.integer_weights[buckets.occupied] / proof.normalizer),
    )
    unit, mass = summation(F)
    return lower, as_bound(F.value(d) + float(proof.value) + mass + F.value_slack(d, unit), math.inf)


def _lower_bound(problem: Problem, buckets: MarginHistogram) -> float:
    """Return a number not above D of some margins."""
    c, m = buckets.spread_to_bin_edges
    F = _regularizer_of(problem, c)
    at, (unit, mass) = F.conjugate_at(-m), summation(F)
    return as_bound(-at.value - mass - F.conjugate_slack(at, unit), -math.inf)


def _regularizer_of(problem: Problem, c: Float[Array, " k"]) -> Regularizer:
    """Return F of the program for examples of given multiplicities."""
    return problem.formulation.regularizer(problem.template.parameters, Examples(c, c / c.sum()))
