"""Cumulative sums and maxima of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import Interval
from boostopt.functions.minorants.atoms.base import Columnwise
from boostopt.functions.minorants.interval_sums import Coefficients, running_sums


class CumulativeSum(Columnwise):
    """Cumulative sums, which are linear. Their matrix would have n^2 / 2 entries."""

    sign = 0

    def __init__(self, k: int) -> None:
        self.k = k

    def values(self, arguments: Sequence[Interval]) -> Interval:
        return self.flatten(running_sums(self.columns(arguments[0])))

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        columns = self.columns(mu)
        sums = running_sums(Interval(columns.lower[::-1], columns.upper[::-1]))
        return [self.flatten(Interval(sums.lower[::-1], sums.upper[::-1]))], 0.0


class CumulativeMaximum(Columnwise):
    """The largest of the first 1, 2, ... entries."""

    sign = 1

    def __init__(self, k: int) -> None:
        self.k = k

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0])
        return self.flatten(Interval(np.maximum.accumulate(x.lower), np.maximum.accumulate(x.upper)))

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        u = points[0].reshape((self.k, -1), order="F")
        if not np.isfinite(u).all():
            return None
        # A new maximum is the cumulative maximum of all entries up to the next new maximum.
        maximum_rows = np.where(u >= np.maximum.accumulate(u), np.arange(self.k)[:, None], 0)
        sources = (np.maximum.accumulate(maximum_rows) + self.k * np.arange(u.shape[1])).ravel(order="F")
        return [Coefficients.selection(sources, u.size).transposed @ mu], 0.0
