"""Exact upper bounds of an objective over a class, from integer weights of the hypotheses and of the margin bins.

The upper bound is the largest edge of the class under d_n = c_n q_n / Q, plus a bound of F(d). For the soft margin
Q >= nu max q, so that d lies in the capped simplex and F(d) = 0. `exact_objective` computes the lower bound, for the
soft margin the mean of the nu smallest margins of w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from boostopt._utils.array_types import Array, Int
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.boosting.objectives.exact_objective import ExactObjective, margin_histogram
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.binned_class import BinnedClass
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import Split


@dataclass(frozen=True, eq=False)
class UpperBound(ImmutableArrays):
    """Example weights as a function of the margin, with the largest edge of the class under these weights.

    Attributes
    ----------
    edge
        The largest edge, exact.
    regularizer_bound
        The term that is added to the edge: 0 for a soft margin, an upper bound of F(d) for a loss.
    columns, hypothesis_weights
        The hypotheses and the integer weights that define the margins, shape (t,).
    grid, integer_weights
        The grid of the margins, and q of each bin: integers from 0 to 2^20, shape (bins + 2,).
    normalizer
        The integer Q in d_n = c_n q_n / Q.
    """

    edge: Fraction
    regularizer_bound: Fraction
    columns: Sequence[Split]
    hypothesis_weights: Int[Array, " t"]
    grid: MarginGrid
    integer_weights: Int[Array, " bins"]
    normalizer: int

    @cached_property
    def value(self) -> Fraction:
        """The upper bound of the objective over the class."""
        return self.edge + self.regularizer_bound


def best_direction(edges: Int[Array, " thresholds"], reflexive: bool) -> Int[Array, " thresholds"]:
    """Return the edges of the better sign of each split, if the class contains both signs."""
    return np.abs(edges) if reflexive else edges


def largest_edge(edges: Int[Array, " thresholds"], reflexive: bool) -> int:
    """Return the largest edge of the better signs, without a copy of all edges."""
    return max(int(edges.max()), -int(edges.min())) if reflexive else int(edges.max())


def check_hypotheses(
    oracle: BinnedClass, rows: BinnedRows, splits: Sequence[Split], hypotheses: Sequence[Hypothesis]
) -> None:
    """Raise ValueError unless the splits belong to the class of the oracle and are these hypotheses."""
    for split, hypothesis in zip(splits, hypotheses, strict=True):
        last = rows.n_codes.get(split.feature, 0) - 1
        if not (0 <= split.code < last and (split.sign == 1 or (split.sign == -1 and oracle.reflexive))):
            raise ValueError(f"the class does not contain {hypothesis}")
        if oracle.hypothesis_of(split) != hypothesis:
            raise ValueError(f"the class has {oracle.hypothesis_of(split)} in place of {hypothesis}")


def upper_bound(
    rows: BinnedRows,
    objective: ExactObjective,
    reflexive: bool,
    columns: Sequence[Split],
    hypothesis_weights: Int[Array, " t"],
    grid: MarginGrid,
    integer_weights: Int[Array, " bins"],
) -> UpperBound:
    """Return the upper bound that integer weights of the bins prove.

    Parameters
    ----------
    rows
        The binned rows.
    objective
        The objective that is bounded.
    reflexive
        Whether the class contains the negation of each hypothesis.
    columns, hypothesis_weights
        The hypotheses and the integer weights that define the margins, shape (t,).
    grid, integer_weights
        The grid of the margins, and q of each bin: integers from 0 to 2^20, shape (bins + 2,).

    Raises
    ------
    ProblemError
        The example weights do not lie in the domain of F.
    """
    margins = rows.margins(columns, hypothesis_weights)
    counts = margin_histogram(rows, margins, grid).counts
    normalizer = objective.normalizer(integer_weights, counts)
    regularizer_bound = objective.regularizer_bound(integer_weights, counts)
    edge = Fraction(largest_edge(rows.class_edges(margins, grid, integer_weights), reflexive), normalizer)
    return UpperBound(edge, regularizer_bound, columns, hypothesis_weights, grid, integer_weights, normalizer)
