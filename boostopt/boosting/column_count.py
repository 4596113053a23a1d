"""The number of columns of an oracle query: fixed, or chosen after every round from measured times.

A share s of K columns gets a weight in the next solve. The other columns are useless. They make the program larger by
the factor 1 / s, and its solves slower by about the same factor. A useful column then costs

    (seconds of the oracle + seconds of a solve / s) / (K s).

If the oracle is slow, this cost is small if many columns of an answer are useful, however many are useless. If the
solves are slow, useless columns count twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from boostopt._utils.validation import check_integer

AUTO = "auto"
"""The value of the option for a number that is chosen after every round."""

ColumnsPerRound = int | Literal["auto"]
"""A number of columns of at least 1, or "auto"."""

CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""The numbers of columns that "auto" chooses from."""

INITIAL_COUNT = 5
"""The number of the first round, and the smallest number after a round in which no column gets a weight."""

SMOOTHING = 0.5
"""The weight of the newest round in the moving averages of the seconds and of the share of useful columns."""

MEMORY_FRACTION, MIN_MEMORY_ROUNDS = 0.5, 2
"""The rounds for which a measured share stays valid: a fraction of the rounds before it, plus a constant."""


@dataclass
class FixedColumnCount:
    """The same number of columns in every round.

    Attributes
    ----------
    value
        The number of columns of the next query, at least 1.
    """

    value: int

    def observe(self, useful: int, oracle_seconds: float, solve_seconds: float) -> None:
        """Ignore the measurements of a round."""


@dataclass
class AdaptiveColumnCount(FixedColumnCount):
    """A number of columns from 1 to 32, chosen after every round so that the cost of a useful column is smallest.

    The measured share of a number stays valid for some rounds. The share of any other number is estimated from the
    present number: more columns have the same share, fewer columns have the same number of useful columns. So a larger
    number is tried from time to time: the next candidate, or the second next if no larger number was tried before. All
    smaller numbers are always candidates.

    Equal columns and seconds give equal numbers.

    Attributes
    ----------
    value
        The number of columns of the next query.
    """

    value: int = INITIAL_COUNT
    _round: int = 0
    _oracle: float | None = None
    _solve: float | None = None
    # By number of columns: the last round with this number, and the share of useful columns.
    _shares: dict[int, tuple[int, float]] = field(default_factory=dict[int, tuple[int, float]])

    def observe(self, useful: int, oracle_seconds: float, solve_seconds: float) -> None:
        """Choose the next number after a round.

        Parameters
        ----------
        useful
            The number of new columns that got a weight, at least 0. A round without useful columns changes no share.
        oracle_seconds, solve_seconds
            The seconds of the oracle and of the update, at least 0.
        """
        self._round += 1
        self._oracle, self._solve = (
            _moving_average(self._oracle, oracle_seconds),
            _moving_average(self._solve, solve_seconds),
        )
        if useful == 0:
            self.value = max(self.value, INITIAL_COUNT)
            return
        share = min(useful / self.value, 1.0)
        self._shares[self.value] = self._round, _moving_average(self._share(self.value), share)
        k = CANDIDATES.index(self.value)
        step = 2 if self.value == max(self._shares) else 1
        best = min(CANDIDATES[: k + 1], key=self._cost)
        larger = CANDIDATES[min(k + step, len(CANDIDATES) - 1)]
        self.value = min(best, larger, key=self._cost) if best == self.value else best

    def _share(self, number: int) -> float | None:
        """Return the measured share of useful columns among `number` columns; None if there is no valid measurement."""
        tried, share = self._shares.get(number, (-math.inf, 0.0))
        return share if self._round - tried <= MEMORY_FRACTION * tried + MIN_MEMORY_ROUNDS else None

    def _cost(self, number: int) -> float:
        """Return the estimated seconds per useful column of queries for `number` columns."""
        share, present = self._share(number), self._shares[self.value][1]
        if share is None:
            share = min(present * max(self.value / number, 1.0), 1.0)
        return ((self._oracle or 0.0) + (self._solve or 0.0) / share) / (number * share)


def _moving_average(average: float | None, newest: float) -> float:
    """Return the moving average after the newest value."""
    return newest if average is None else (1.0 - SMOOTHING) * average + SMOOTHING * newest


def make_column_count(option: ColumnsPerRound) -> FixedColumnCount:
    """Return the column count of a run from its option."""
    return FixedColumnCount(option) if isinstance(option, int) else AdaptiveColumnCount()


def max_columns(option: ColumnsPerRound) -> int:
    """Return the largest number that a round may ask for."""
    return option if isinstance(option, int) else max(CANDIDATES)


def columns_or_minimum(option: ColumnsPerRound, minimum: int) -> int:
    """Return the option, at least `minimum`; `minimum` for "auto"."""
    return max(option, minimum) if isinstance(option, int) else minimum


def read_columns(value: object) -> ColumnsPerRound:
    """Return the option `columns_per_round`.

    Raises
    ------
    OptionError
        The value is neither "auto" nor an integer of at least 1.
    """
    if isinstance(value, str) and value == AUTO:
        return AUTO
    return check_integer("columns_per_round", value, 1, f'"{AUTO}", or a whole number')
