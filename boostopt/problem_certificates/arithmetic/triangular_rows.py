"""Solutions of sparse systems A x = b whose rows can be put in an order that makes some of their columns triangular."""

from __future__ import annotations

from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.rounding_errors import UNIT
from boostopt.problem_certificates.arithmetic.sparse_float_forms import absolute, entry_rows

MAX_STEPS = 100
"""Number of steps of the elimination: long chains of rows, one a step, take too long."""


class TriangularRows:
    """The rows of A, eliminated by column singletons.

    A step takes all rows that have an unknown which no other row that is left has. This is the pivot of the row. The
    rows of the last step are solved first.

    Parameters
    ----------
    A
        Compressed rows, exact.
    sizes
        By about how much each unknown may change; those of size 0 may not. Each pivot is the unknown of a row that may
        change the row most.

    Attributes
    ----------
    steps
        The rows, pivots and entries of these of each step.
    has_pivot
        Flags of the rows with a pivot: no combination of rows is 0 that has one of them.
    is_complete
        True if each row has a pivot. Then the rows are independent.
    """

    def __init__(self, A: Any, sizes: Float[Array, " n"]) -> None:
        self._A, self._sizes = A, absolute(A)
        self.steps: list[tuple[Int[Array, " k"], Int[Array, " k"], Float[Array, " k"]]] = []
        rows, columns = entry_rows(A), A.indices
        weights = self._sizes.data * sizes[columns]
        self.has_pivot = np.zeros(A.shape[0], dtype=bool)
        entries = np.flatnonzero((A.data != 0) & (sizes > 0)[columns])
        while entries.size and len(self.steps) < MAX_STEPS:
            counts = np.bincount(columns[entries], minlength=A.shape[1])
            singletons = entries[counts[columns[entries]] == 1]
            if not singletons.size:
                break
            ordered = singletons[np.lexsort((weights[singletons], rows[singletons]))]
            pivots = ordered[np.append(np.diff(rows[ordered]) > 0, True)]
            self.steps.append((rows[pivots], columns[pivots], A.data[pivots]))
            self.has_pivot[rows[pivots]] = True
            entries = entries[~self.has_pivot[rows[entries]]]
        self.is_complete = bool(self.has_pivot.all())
        self._count = int(np.diff(A.indptr).max(initial=0))

    def correction(self, residual: Float[Array, " m"]) -> Float[Array, " n"]:
        """Return nearly the d with A d = residual that is 0 but for pivots."""
        result = np.zeros(self._A.shape[1])
        for rows, pivots, entries in reversed(self.steps):
            rest = residual - self._A @ result if result.any() else residual
            result[pivots] = rest[rows] / entries
        return result

    def radii(self, residual_sizes: Float[Array, " m"]) -> Float[Array, " n"]:
        """Return how far a solution is at most from a point, by bounds of |b - A y|; only pivots differ."""
        result = np.zeros(self._sizes.shape[1])
        inflation, underflow = 1 + 2 * (self._count + 8) * UNIT, (self._count + 4) * SMALLEST
        for rows, pivots, entries in reversed(self.steps):
            sums = residual_sizes + self._sizes @ result if result.any() else residual_sizes
            result[pivots] = ((sums[rows] * inflation + underflow) / np.abs(entries)) * (1 + 4 * UNIT) + SMALLEST
        return result
