"""The basis of a linear program in HiGHS as plain numbers, from which a run in another process continues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Int8
from boostopt.backends.highs.incremental_model import SPACES, HighsModel, HighsRejected
from boostopt.backends.highs.linear_program import LinearProgram

BASIC, AT_LOWER, FREE = 1, 0, 3
"""HiGHS's numbers for a variable in the basis, at its lower bound, and free at 0."""

ARRAY_NAMES = ("space", "hypotheses", "columns", "rows")
"""Names of the arrays in which a basis is stored."""


@dataclass(frozen=True, eq=False)
class Basis:
    """The columns and rows of a model that are in the basis, and the active bounds of the nonbasic ones.

    Attributes
    ----------
    space
        Name of the model's space.
    hypotheses
        Number t of the program's hypotheses.
    columns, rows
        HiGHS's statuses, in the order of a new model.
    """

    space: str
    hypotheses: int
    columns: Int8[Array, " columns"]
    rows: Int8[Array, " rows"]

    @classmethod
    def from_model(cls, model: HighsModel) -> Basis | None:
        """Return the current basis of a model, None if it has none."""
        statuses = model.statuses()
        return None if statuses is None else cls(model.space, model.lp.margins.t, *statuses)

    def build_model(self, lp: LinearProgram) -> HighsModel | None:
        """Return a new model at this basis, None if this is not a basis of the linear program.

        Hypotheses that have joined since get the statuses that HiGHS gives to appended ones.
        """
        try:
            model = SPACES[self.space](lp)
        except HighsRejected:  # a model without a basis will refuse the same, in an attempt
            return None
        added = ~lp.rows_on_first_edges(self.hypotheses)
        # In d-space their rows have slack, in w-space they have no weight.
        fresh = (
            np.where(lp.epigraph.equality, FREE, AT_LOWER) if model.hypotheses_are_columns else np.full(lp.rows, BASIC)
        )
        begin = model.index_of_row(0)
        grown = self.columns if model.hypotheses_are_columns else self.rows
        if len(grown) != begin + lp.rows - int(added.sum()):
            return None
        statuses = np.concatenate([grown[:begin], fresh.astype(np.int8)])
        statuses[begin:][~added] = grown[begin:]
        columns, rows = (statuses, self.rows) if model.hypotheses_are_columns else (self.columns, statuses)
        return model if model.set_basis(columns, rows) else None

    def packed(self) -> dict[str, Array]:
        """Return it as arrays."""
        space = np.array([sorted(SPACES).index(self.space)], dtype=np.int8)
        return dict(zip(ARRAY_NAMES, (space, np.array([self.hypotheses]), self.columns, self.rows), strict=True))

    @classmethod
    def unpacked(cls, arrays: Mapping[str, Array]) -> Basis | None:
        """Return the basis that `packed` has stored, None if the arrays do not hold it."""
        if not set(ARRAY_NAMES) <= set(arrays):
            return None
        space, hypotheses, columns, rows = (np.asarray(arrays[name]) for name in ARRAY_NAMES)
        return cls(sorted(SPACES)[int(space[0])], int(hypotheses[0]), columns.astype(np.int8), rows.astype(np.int8))
