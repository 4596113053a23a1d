"""Both ends of a class, told anew by looks: exactly, from whole weights and a whole number for each bucket of margins.

lower    the mean of the nu smallest margins of w
upper    the largest edge of the class under d_n = c_n q_n / Q, where Q >= nu max q: d lies in the capped simplex
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from boostopt._utils.array_types import Array, Int
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt.objectives.exact import ExactObjective, margin_histogram
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.binned_oracle import BinnedOracle
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import Split


@dataclass(frozen=True, eq=False)
class UpperBound(ImmutableArrays):
    """Weights of the examples as a function of the margins, with the largest edge of the class under them.

    Attributes
    ----------
    edge
        That edge: exactly.
    regularizer_bound
        What is added to it for an upper end: 0 for a soft margin, F(d) from above for a loss.
    splits, W
        The hypotheses and weights whose margins are meant.
    window, table
        q of each bucket of these margins, whole numbers from 0 to 2^20, shape (buckets + 2,).
    normalizer
        Q, of which d_n = c_n q_n / Q.
    """

    edge: Fraction
    regularizer_bound: Fraction
    columns: Sequence[Split]
    hypothesis_weights: Int[Array, " t"]
    grid: MarginGrid
    integer_weights: Int[Array, " buckets"]
    normalizer: int

    @property
    def value(self) -> Fraction:
        """The upper end."""
        return self.edge + self.regularizer_bound


def best_direction(edges: Int[Array, " thresholds"], reflexive: bool) -> Int[Array, " thresholds"]:
    """Return the edges of the better direction that the class has."""
    return np.abs(edges) if reflexive else edges


def check_hypotheses(
    oracle: BinnedOracle, rows: BinnedRows, splits: Sequence[Split], hypotheses: Sequence[Hypothesis]
) -> None:
    """Raise ValueError unless splits belong to a class, and are these hypotheses there."""
    for split, hypothesis in zip(splits, hypotheses, strict=True):
        last = rows.n_codes.get(split.feature, 0) - 1
        if not (0 <= split.code < last and (split.sign == 1 or (split.sign == -1 and oracle.reflexive))):
            raise ValueError(f"the class does not contain {hypothesis}")
        if oracle.hypothesis_of(split) != hypothesis:
            raise ValueError(f"the class has {oracle.hypothesis_of(split)} in place of {hypothesis}")


def upper_bound(
    rows: BinnedRows,
    aim: ExactObjective,
    reflexive: bool,
    splits: Sequence[Split],
    W: Int[Array, " t"],
    window: MarginGrid,
    table: Int[Array, " buckets"],
) -> UpperBound:
    """Return what weights of the examples prove.

    Raises
    ------
    ProblemError
        They do not lie in the domain of F.
    """
    kept = rows.margins(splits, W)
    found = margin_histogram(rows, kept, window).counts
    cost, total = aim.regularizer_bound(found, table), aim.normalizer(table, found)
    edges = rows.class_edges(kept, window, table)
    return UpperBound(
        Fraction(int(best_direction(edges, reflexive).max()), total), cost, splits, W, window, table, total
    )
