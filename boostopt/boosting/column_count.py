"""How many columns the oracle is asked for in a round: always the same number, or one that their worth decides.

Of K columns a share s gets a weight in the next solve. The others are of no use, and make the program larger: by 1 / s,
and its solves dearer by about as much. A column of use then costs

    (seconds of the oracle + seconds of a solve / s) / (K s).

Where the oracle is dear, this is small where many columns of an answer are of use, whatever comes with them. Where
solves are dear, columns in vain count twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from boostopt._utils.validation import check_integer

AUTO = "auto"
"""The name of a number that is chosen anew in every round."""

ColumnsPerRound = int | Literal["auto"]
"""A number of columns of at least 1, or "auto"."""

CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""The numbers that are chosen from."""

INITIAL_COUNT = 5
"""The number of the first round, and the least one while no column gets a weight."""

SMOOTHING = 0.5
"""Share of the newest round in what is known: of the seconds, and of the columns of use."""

MEMORY_FRACTION, MIN_MEMORY_ROUNDS = 0.5, 2
"""Rounds for which it is known what a number was worth: a share of the rounds until then, and some besides."""


@dataclass
class FixedColumnCount:
    """The same number of columns in every round.

    Attributes
    ----------
    value
        Columns that the oracle is asked for next, at least 1.
    """

    value: int

    def observe(self, useful: int, oracle_seconds: float, solve_seconds: float) -> None:
        """Take a round in: nothing follows from it."""


@dataclass
class AdaptiveColumnCount(FixedColumnCount):
    """A number of columns that is chosen anew after every round, from 1 to 32: where a column of use costs least.

    What a number was worth is known for a while after it was tried. One that is not known is judged by the present one:
    of more columns the same share is of use, of fewer columns as many as now. So a larger number is tried now and then,
    the next one or, where none larger was ever tried, the next but one. All smaller ones are always open.

    Equal columns and seconds give equal numbers.
    """

    value: int = INITIAL_COUNT
    _round: int = 0
    _oracle: float | None = None
    _solve: float | None = None
    # By number: the round in which it was tried last, and the share of use.
    _known: dict[int, tuple[int, float]] = field(default_factory=dict[int, tuple[int, float]])

    def observe(self, useful: int, oracle_seconds: float, solve_seconds: float) -> None:
        """Choose the next number after a round.

        Parameters
        ----------
        useful
            New columns of its answer that got a weight, at least 0. A round without any tells nothing of the number.
        oracle_seconds, solve_seconds
            Seconds of the oracle, and of the move of the weights, at least 0.
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
        self._known[self.value] = self._round, _moving_average(self._share(self.value), share)
        k = CANDIDATES.index(self.value)
        step = 2 if self.value == max(self._known) else 1
        best = min(CANDIDATES[: k + 1], key=self._cost)
        more = CANDIDATES[min(k + step, len(CANDIDATES) - 1)]
        self.value = min(best, more, key=self._cost) if best == self.value else best

    def _share(self, number: int) -> float | None:
        """Return the share of so many columns that was of use; None where that is not known, or no longer."""
        tried, share = self._known.get(number, (-math.inf, 0.0))
        return share if self._round - tried <= MEMORY_FRACTION * tried + MIN_MEMORY_ROUNDS else None

    def _cost(self, number: int) -> float:
        """Return the seconds that a column of use costs where so many columns are asked for."""
        share, present = self._share(number), self._known[self.value][1]
        if share is None:
            share = min(present * max(self.value / number, 1.0), 1.0)
        return ((self._oracle or 0.0) + (self._solve or 0.0) / share) / (number * share)


def _moving_average(known: float | None, newest: float) -> float:
    """Return what is known after the newest round."""
    return newest if known is None else (1.0 - SMOOTHING) * known + SMOOTHING * newest


def make_column_count(option: ColumnsPerRound) -> FixedColumnCount:
    """Return what says how many columns each round of a run asks for."""
    return FixedColumnCount(option) if isinstance(option, int) else AdaptiveColumnCount()


def max_columns(option: ColumnsPerRound) -> int:
    """Return the largest number that a round may ask for."""
    return option if isinstance(option, int) else max(CANDIDATES)


def columns_or_minimum(option: ColumnsPerRound, least: int) -> int:
    """Return the number that is asked for, or the least one where that is more or the number is "auto"."""
    return max(option, least) if isinstance(option, int) else least


def read_columns(value: object) -> ColumnsPerRound:
    """Return the option `columns_per_round`.

    Raises
    ------
    OptionError
        It is neither "auto" nor a whole number of at least 1.
    """
    if isinstance(value, str) and value == AUTO:
        return AUTO
    return check_integer("columns_per_round", value, 1, f'"{AUTO}", or a whole number')
