"""A part of the rows, given by their codes and labels, and the splits of features by these codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from boostopt._utils.array_types import Array, Int, Int8, UInt

MAX_MULTIPLICITY, MAX_EXAMPLES = 1 << 20, 1 << 32
"""The largest multiplicity, and the largest sum of all."""


class Split(NamedTuple):
    """h(x) = sign where the code of a feature is above a number, -sign elsewhere."""

    feature: int
    code: int
    sign: int


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows.

    Attributes
    ----------
    codes
        Of each feature, uint8 or uint16, shape (features, n) or a row each.
    y
        Labels -1 and 1, shape (n,).
    c
        Multiplicities, whole numbers from 1 to 2^20, shape (n,); None where all are 1.
    """

    codes: UInt[Array, "features n"] | Sequence[UInt[Array, " n"]]
    y: Int8[Array, " n"]
    c: Int[Array, " n"] | None = None

    def __sizeof__(self) -> int:
        """Return how many bytes its arrays take: a scheduler asks before it moves a part."""
        return sum(row.nbytes for row in (*self.codes, self.y, *(() if self.c is None else (self.c,))))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def total(self) -> int:
        """Number of rows with multiplicity."""
        return self.n if self.c is None else int(self.c.sum())

    def stride(self, step: int, first: int) -> RowBlock:
        """Return every step-th row from a first one on."""
        c = None if self.c is None else self.c[first::step].copy()
        return RowBlock([row[first::step].copy() for row in self.codes], self.y[first::step].copy(), c)

    def with_constant(self) -> RowBlock:
        """Return the rows with one more feature, whose code is 1 throughout; nothing of it is stored."""
        ones = np.broadcast_to(self.codes[0].dtype.type(1), self.n)
        return RowBlock([*self.codes, ones], self.y, self.c)
