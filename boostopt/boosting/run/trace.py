"""The rounds of a run as a table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.files import Keys
from boostopt._utils.formatting import format_count, html_table
from boostopt._utils.result_data_frames import data_frame
from boostopt.boosting.run.run_state import OracleBounds
from boostopt.errors import OptionError


@dataclass(frozen=True)
class TraceRow:
    """A round of a run.

    Attributes
    ----------
    round
        The number of the round, from 1.
    hypotheses
        The number of collected hypotheses.
    edge
        The edge of the newest hypothesis under the query to the oracle.
    smallest_edge
        The smallest edge so far.
    upper
        The best bound on the soft margin over the class so far; inf if there is none.
    soft_margin
        The soft margin of the weights after the round. If F has terms besides the indicator, this column and the
        bounds are about another value, which `ClassCertificate.quantity` names.
    value
        D(w), the lower bound of the program after the round; nan if there is no program over all hypotheses.
    active
        The number of hypotheses with a weight.
    zero_share
        The share of the examples with f(x) = 0, counted with multiplicity; of the test examples if there are any.
    test_error
        The share of the test examples with a wrong prediction, with zeros as the run predicts them; nan without
        test examples.
    oracle_seconds, update_seconds, seconds
        The times of the oracle and of the update, and the time since the start, in seconds.
    backend
        The backend that solved the program of the weights; "" if none did.
    smallest_primal
        The smallest F(d) + largest edge of the collected hypotheses and the newest, over all queries d so far:
        min P^q(d^(q-1)) in the papers; nan if the edge function is not the largest edge.
    soft_margins
        The soft margins at the values `nus` of `boost`, in their order.
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
        """The bound of the class; the smallest edge if there is no bound."""
        return self.upper if math.isfinite(self.upper) else self.smallest_edge

    @property
    def gap(self) -> float:
        """The difference of the bound and the soft margin."""
        return self.bound - self.soft_margin

    @property
    def delta(self) -> float:
        """The difference smallest_primal - value of the program's bounds, which the practical rule uses."""
        return self.smallest_primal - self.value


KEYS = Keys(
    TraceRow,
    {
        "round": "round",
        "hypotheses": "hypotheses",
        "edge": "edge",
        "smallest_edge": "smallest_edge",
        "upper": "upper",
        "soft_margin": "soft_margin",
        "value": "value",
        "active": "active",
        "zero_share": "zero_share",
        "test_error": "test_error",
        "oracle_seconds": "oracle_seconds",
        "update_seconds": "update_seconds",
        "seconds": "seconds",
        "backend": "backend",
        "smallest_primal": "smallest_primal",
    },
)
"""Names of columns, in tables and in files, with the attributes of a round; `soft_margins` has columns of its own."""

COLUMNS = tuple(KEYS.attributes)
"""The columns that every trace has, without those that are computed."""

COMPUTED = ("gap", "delta")
"""The columns that are computed from others."""

SHOWN = ("round", "hypotheses", "edge", "upper", "soft_margin", "gap", "active", "seconds")
"""The columns of the table that a notebook shows."""


class Trace(Sequence[TraceRow]):
    """The rounds of a run as a table: `trace["gap"]` is a column, `trace[3]` the fourth round."""

    nus: tuple[float, ...]

    def __init__(self, rows: Iterable[TraceRow], nus: Sequence[float] = ()) -> None:
        self._rows, self.nus = list(rows), tuple(nus)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*COLUMNS, *COMPUTED, *(f"soft_margin[nu={nu:g}]" for nu in self.nus))

    def add(self, row: TraceRow) -> None:
        """Add a round."""
        self._rows.append(row)

    def update_last(self, bounds: OracleBounds, soft_margin: float, value: float) -> None:
        """Update the last round after a further answer of the oracle."""
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
        """Return one array for each field, for files; `from_arrays` restores the trace."""
        rows = [KEYS.to_file(row) for row in self._rows]
        fields = {name: np.array([row[name] for row in rows]) for name in COLUMNS}
        margins = np.array([row.soft_margins for row in self._rows], dtype=np.float64)
        return {**fields, "soft_margins": margins.reshape(len(self), len(self.nus))}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], nus: Sequence[Any]) -> Trace:
        """Return the trace with these `arrays`.

        Raises
        ------
        ValueError
            An array is missing, or has a wrong type or length.
        """
        rounds = len(arrays["round"])
        # Runs that were saved without it have no smallest_primal.
        arrays = {"smallest_primal": np.full(rounds, np.nan), **arrays}
        for name, attribute in KEYS.attributes.items():
            kind = {"int": "i", "float": "f", "str": "U"}[str(TraceRow.__annotations__[attribute])]
            _check(arrays[name], name, kind, (rounds,))
        _check(arrays["soft_margins"], "soft_margins", "f", (rounds, len(nus)))
        if not all(type(nu) in (int, float) and math.isfinite(nu) for nu in nus):
            raise ValueError(f"the nus are not numbers: {nus}")
        columns = [arrays[name].tolist() for name in COLUMNS]
        attributes = KEYS.attributes.values()
        margins = [tuple(row) for row in arrays["soft_margins"].tolist()]
        rows = zip(*columns, strict=True)
        by_name: list[dict[str, Any]] = [dict(zip(attributes, row, strict=True)) for row in rows]
        return cls(
            [TraceRow(**row, soft_margins=soft_margins) for row, soft_margins in zip(by_name, margins, strict=True)],
            nus,
        )

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Any:
        """Return a column by its name, a round by its number, or a part of the table."""
        if isinstance(key, slice):
            return Trace(self._rows[key], self.nus)
        return self.column(key) if isinstance(key, str) else self._rows[key]

    def column(self, name: str) -> Float[Array, " rounds"] | Int[Array, " rounds"] | Array:
        """Return a column as an array.

        Raises
        ------
        OptionError
            There is no such column.
        """
        if name not in self.columns:
            raise OptionError(f"the trace has the columns {', '.join(self.columns)}; got {name!r}. Use one of them.")
        if name.startswith("soft_margin["):
            k = self.columns.index(name) - len(COLUMNS) - len(COMPUTED)
            return np.array([row.soft_margins[k] for row in self._rows])
        return np.array([_cell(row, name) for row in self._rows])

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
        return f"Trace({format_count(len(self), 'round')}: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        rows = [[_cell(row, name) for name in SHOWN] for row in self._rows]
        return html_table(format_count(len(self), "round"), rows, SHOWN)


def _cell(row: TraceRow, column: str) -> Any:
    """Return the value of a round in a column, stored or computed."""
    return getattr(row, KEYS.attributes.get(column, column))


def _check(array: Array, name: str, kind: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError for a column with a wrong kind or shape; an empty column may have any kind."""
    if array.shape != shape or (array.size and array.dtype.kind != kind):
        raise ValueError(f"{name} of the trace has the shape {shape}; got {array.dtype} of shape {array.shape}")
