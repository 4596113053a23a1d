"""The record of a run, round by round, as a table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt.boosting.state import Bounds
from boostopt.errors import OptionError
from boostopt.frames import data_frame
from boostopt.shapes import Array, Float, Int
from boostopt.text import html_table


@dataclass(frozen=True)
class Row:
    """One round.

    Attributes
    ----------
    round
        Its number, from 1.
    hypotheses
        Number of hypotheses collected.
    edge
        Edge of the newest one under the distribution that the oracle was asked with.
    smallest_edge
        The smallest of these so far.
    upper
        The best bound of the soft margin over the class so far; inf without any.
    soft_margin
        The soft margin of the weights after the round.
    value
        D(w), the lower bound of the program after the round; nan where there is no program over all hypotheses.
    active
        Hypotheses with a weight.
    zero_share
        Share of the examples, counted with multiplicity, with f(x) = 0: on the test examples if there are any.
    test_error
        Share of the test examples that are wrong, zeros decided as the run decides them; nan without any.
    oracle_seconds, update_seconds, seconds
        Time of the oracle, of the update, and since the start.
    backend
        What solved the program that gave the weights, "" where none did.
    smallest_primal
        The smallest F(d) + largest edge of the hypotheses collected and the newest so far, of the d's that the oracle
        was asked with: min P^q(d^(q-1)) in the papers; nan where the program is not the largest edge with F.
    soft_margins
        The soft margin at other values of nu, in the order in which they were asked for.
    """

    round: int
    hypotheses: int
    edge: float
    smallest_edge: float
    upper: float
    soft_margin: float
    value: float
    active: int
    zero_share: float
    test_error: float
    oracle_seconds: float
    update_seconds: float
    seconds: float
    backend: str
    smallest_primal: float = math.nan
    soft_margins: tuple[float, ...] = ()

    @property
    def bound(self) -> float:
        """The bound of the class, or the smallest edge where there is none."""
        return self.upper if math.isfinite(self.upper) else self.smallest_edge

    @property
    def gap(self) -> float:
        """The difference of the bound and the soft margin."""
        return self.bound - self.soft_margin

    @property
    def delta(self) -> float:
        """The difference smallest_primal - value of the program's bounds, which the practical rule looks at."""
        return self.smallest_primal - self.value


COLUMNS = tuple(field.name for field in dataclasses.fields(Row) if field.name != "soft_margins")
"""The columns that every trace has, without those that are computed."""

COMPUTED = ("gap", "delta")
"""The columns that are computed from others."""

SHOWN = ("round", "hypotheses", "edge", "upper", "soft_margin", "gap", "active", "seconds")
"""The columns of the table that a notebook shows."""


class Trace(Sequence[Row]):
    """The rounds of a run as a table: `trace["gap"]` is a column, `trace[3]` the fourth round."""

    nus: tuple[float, ...]

    def __init__(self, rows: Iterable[Row], nus: Sequence[float] = ()) -> None:
        self._rows, self.nus = list(rows), tuple(nus)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return (*COLUMNS, *COMPUTED, *(f"soft_margin[nu={nu:g}]" for nu in self.nus))

    def add(self, row: Row) -> None:
        """Write a round down."""
        self._rows.append(row)

    def amend(self, bounds: Bounds, soft_margin: float, value: float) -> None:
        """Write into the last round what was learned after it: the oracle has answered once more."""
        if self._rows:
            self._rows[-1] = dataclasses.replace(
                self._rows[-1],
                smallest_edge=bounds.smallest_edge,
                upper=bounds.upper,
                smallest_primal=bounds.shown_primal,
                soft_margin=soft_margin,
                value=value,
            )

    def arrays(self) -> dict[str, Array]:
        """Return the rounds as an array for each field, for files: `of_arrays` makes the same of them."""
        fields = {name: np.array([getattr(row, name) for row in self._rows]) for name in COLUMNS}
        margins = np.array([row.soft_margins for row in self._rows], dtype=np.float64)
        return {**fields, "soft_margins": margins.reshape(len(self), len(self.nus))}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array], nus: Sequence[Any]) -> Trace:
        """Return the rounds whose `arrays` these are.

        Raises
        ------
        ValueError
            An array is missing, or is of another kind or length than a trace has.
        """
        rounds = len(arrays["round"])
        # Runs that were saved without it have no smallest_primal.
        arrays = {"smallest_primal": np.full(rounds, np.nan), **arrays}
        for name in COLUMNS:
            kind = {"int": "i", "float": "f", "str": "U"}[str(Row.__annotations__[name])]
            _check(arrays[name], name, kind, (rounds,))
        _check(arrays["soft_margins"], "soft_margins", "f", (rounds, len(nus)))
        if not all(isinstance(nu, int | float) and math.isfinite(nu) for nu in nus):
            raise ValueError(f"nus that are no numbers: {nus}")
        columns = [arrays[name].tolist() for name in COLUMNS]
        margins = [tuple(row) for row in arrays["soft_margins"].tolist()]
        return cls([Row(*row) for row in zip(*columns, margins, strict=True)], nus)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, which: Any) -> Any:
        """Return a column by its name, a round by its number, or a part of the table."""
        if isinstance(which, slice):
            return Trace(self._rows[which], self.nus)
        return self.column(which) if isinstance(which, str) else self._rows[which]

    def column(self, name: str) -> Float[Array, " rounds"] | Int[Array, " rounds"] | Array:
        """Return a column as an array.

        Raises
        ------
        OptionError
            There is no such column.
        """
        if name not in self.columns:
            raise OptionError(f"the trace has the columns {', '.join(self.columns)}; got {name!r}.")
        if name.startswith("soft_margin["):
            k = self.columns.index(name) - len(COLUMNS) - len(COMPUTED)
            return np.array([row.soft_margins[k] for row in self._rows])
        return np.array([getattr(row, name) for row in self._rows])

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists."""
        return {name: self.column(name).tolist() for name in self.columns}

    def to_dataframe(self) -> Any:
        """Return the columns as a data frame of pandas.

        Raises
        ------
        OptionError
            pandas is not installed.
        """
        return data_frame(self.to_dict())

    def __repr__(self) -> str:
        return f"Trace({len(self)} rounds: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        rows = [[getattr(row, name) for name in SHOWN] for row in self._rows]
        return html_table(f"{len(self)} rounds", rows, SHOWN)


def _check(array: Array, name: str, kind: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError for a column that is of another kind or shape; without rounds any kind will do."""
    if array.shape != shape or (array.size and array.dtype.kind != kind):
        raise ValueError(f"a trace with {name} of shape {shape} and no {array.dtype} of {array.shape}")
