"""Margin matrices with equal and opposite columns merged into one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector, Int
from boostopt.rows.margin_matrix import MAX_FLOAT_COPY_ENTRIES, MarginMatrix

MAX_REMAINING_FRACTION = 0.8
"""Largest fraction of remaining columns at which merging pays."""


@dataclass(frozen=True, eq=False)
class SignedColumnMatrix:
    """The margin matrix U[:, q] = sign_q V[:, column_q] with fewer columns in V.

    Attributes
    ----------
    V
        The columns that differ by more than their sign.
    column, sign
        The column of V and the sign of each hypothesis, shape (t,).
    """

    V: MarginMatrix
    column: Int[Array, " t"]
    sign: HypothesisVector

    @property
    def N(self) -> int:
        """Number of examples."""
        return self.V.N

    @property
    def t(self) -> int:
        """Number of hypotheses."""
        return len(self.column)

    def edges(self, d: ExampleVector) -> HypothesisVector:
        """Return U'd."""
        return self.sign * self.V.edges(d)[self.column]

    def margins(self, w: HypothesisVector) -> ExampleVector:
        """Return U w."""
        return self.V.margins(np.bincount(self.column, self.sign * w, self.V.t))

    def gram(self, theta: ExampleVector) -> Float[Array, "t t"]:
        """Return U' diag(theta) U."""
        positions, signs = self._pairs
        return self.V.gram(theta)[positions] * signs

    @cached_property
    def _pairs(self) -> tuple[Any, Float[Array, "t t"]]:
        """The index of each pair of columns in the Gram matrix of V, and the sign of the entry."""
        return np.ix_(self.column, self.column), np.outer(self.sign, self.sign)

    def to_array(self) -> Float[Array, "N t"]:
        """Return U as a dense array."""
        return self.V.to_array()[:, self.column] * self.sign


def merge_signed_columns(U: MarginMatrix) -> SignedColumnMatrix | MarginMatrix:
    """Return U with equal and opposite columns merged; U itself if these are few or a copy is too large.

    Two products with random whole numbers distinguish columns. If different columns were merged by accident, the answer
    would be bad, and its certificate would show this.
    """
    if U.N * U.t > MAX_FLOAT_COPY_ENTRIES:
        return U
    rng = np.random.default_rng(0)
    keys = [U.edges(rng.integers(1, 2**40, U.N).astype(np.float64)) for _ in range(2)]
    sign = np.where(keys[0] < 0, -1.0, 1.0)
    _, first, column = np.unique(
        np.column_stack(keys) * sign[:, np.newaxis], axis=0, return_index=True, return_inverse=True
    )
    if len(first) > MAX_REMAINING_FRACTION * U.t:
        return U
    # Signs are relative to the first column of each group.
    return SignedColumnMatrix(U.take_columns(first), column, sign * sign[first][column])
