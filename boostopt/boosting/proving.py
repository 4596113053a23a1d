"""Both ends of a class, told anew by looks: exactly, from whole weights and a whole number for each bucket of margins.

lower    the mean of the nu smallest margins of w
upper    the largest edge of the class under d_n = c_n q_n / Q, where Q >= nu max q: d lies in the capped simplex
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from boostopt.boosting.buckets import Buckets
from boostopt.errors import ProblemError
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.rows_oracle import RowsOracle
from boostopt.rows.kernels import LARGEST, ONE, Split, Window
from boostopt.rows.rows import Kept, Rows
from boostopt.shapes import Array, Int


@dataclass(frozen=True, eq=False)
class Proof:
    """A distribution as a function of the margins, with the largest edge of the class under it.

    Attributes
    ----------
    upper
        That edge: exactly.
    splits, W
        The hypotheses and weights whose margins are meant.
    window, table
        q of each bucket of these margins, whole numbers from 0 to 2^20, shape (buckets + 2,).
    total
        Q, the sum of c_n q_n over all examples.
    """

    upper: Fraction
    splits: Sequence[Split]
    W: Int[Array, " t"]
    window: Window
    table: Int[Array, " buckets"]
    total: int


def in_buckets(rows: Rows, kept: Kept, window: Window) -> Buckets:
    """Return margins in the buckets of a window."""
    return Buckets(window, *rows.counts(kept, window))


def soft_margin(rows: Rows, kept: Kept, nu: Fraction) -> Fraction:
    """Return the soft margin itself: the bucket in which the count is reached is cut until it holds one margin."""
    window = Window.whole()
    while True:
        buckets = in_buckets(rows, kept, window)
        b = buckets.reached(nu)
        if b == len(buckets.found) or window.shift == 0 or window.lowest(b) == window.highest(b):
            return buckets.soft_margin(nu)
        window = Window.around(window.lowest(b) / ONE, window.highest(b) / ONE)


def reach(edges: Int[Array, " thresholds"], reflexive: bool) -> Int[Array, " thresholds"]:
    """Return the edges of the better direction that the class has."""
    return np.abs(edges) if reflexive else edges


def check_splits(oracle: RowsOracle, rows: Rows, splits: Sequence[Split], hypotheses: Sequence[Hypothesis]) -> None:
    """Raise ValueError unless splits belong to a class, and are these hypotheses there."""
    for split, hypothesis in zip(splits, hypotheses, strict=True):
        last = rows.sizes.get(split.feature, 0) - 1
        if not (0 <= split.code < last and (split.sign == 1 or (split.sign == -1 and oracle.reflexive))):
            raise ValueError(f"no {hypothesis} in the class")
        if oracle.hypothesis(split) != hypothesis:
            raise ValueError(f"{oracle.hypothesis(split)} in the class where the run has {hypothesis}")


def proof_of(
    rows: Rows,
    nu: Fraction,
    reflexive: bool,
    splits: Sequence[Split],
    W: Int[Array, " t"],
    window: Window,
    table: Int[Array, " buckets"],
) -> Proof:
    """Return what a distribution proves.

    Raises
    ------
    ProblemError
        It does not lie in the capped simplex.
    """
    kept = rows.scores(splits, W)
    total, largest = int(in_buckets(rows, kept, window).found @ table), int(table.max())
    if table.min() < 0 or not 0 < largest <= LARGEST or total < nu * largest:
        raise ProblemError(
            f"d must lie in the capped simplex; got whole numbers from {table.min()} to {largest} for the buckets, of "
            f"sum {total}, where the largest must be positive and the sum {float(nu):g} times as large at least. Boost "
            "again."
        )
    edges = rows.edges(kept, window, table)
    return Proof(Fraction(int(reach(edges, reflexive).max()), total), splits, W, window, table, total)
