"""The basis of a linear program in HiGHS as plain numbers: what a run in another process goes on from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from boostopt.backends.highs.model import SPACES, Model, Refused
from boostopt.backends.highs.program import LinearProgram
from boostopt.shapes import Array, Int8

BASIC, AT_LOWER, FREE = 1, 0, 3
"""HiGHS's numbers for what is in the basis, at its lower end, and free at 0."""

NAMES = ("space", "hypotheses", "columns", "rows")
"""The arrays that a basis is stored as."""


@dataclass(frozen=True, eq=False)
class Basis:
    """The columns and rows of a model that are in the basis, and the ends at which the others are.

    Attributes
    ----------
    space
        Name of the model's space.
    hypotheses
        Number t of the program's hypotheses.
    columns, rows
        HiGHS's statuses, in the order of a model that is built anew.
    """

    space: str
    hypotheses: int
    columns: Int8[Array, " columns"]
    rows: Int8[Array, " rows"]

    @classmethod
    def of(cls, model: Model) -> Basis | None:
        """Return the basis at which a model stands, None if it has none."""
        statuses = model.statuses()
        return None if statuses is None else cls(model.space, model.lp.margins.t, *statuses)

    def model_of(self, lp: LinearProgram) -> Model | None:
        """Return a new model that stands at this basis, None where that is not one of the linear program.

        Hypotheses that have joined since stand as HiGHS has them when they are appended.
        """
        try:
            model = SPACES[self.space](lp)
        except Refused:  # a model that is built without a basis will say the same, as an attempt
            return None
        added = ~lp.rows_over(self.hypotheses)
        # In d-space their rows have slack, in w-space they have no weight.
        fresh = np.where(lp.epigraph.equality, FREE, AT_LOWER) if model.appended_as_columns else np.full(lp.rows, BASIC)
        begin = model.place(0)
        grown = self.columns if model.appended_as_columns else self.rows
        if len(grown) != begin + lp.rows - int(added.sum()):
            return None
        statuses = np.concatenate([grown[:begin], fresh.astype(np.int8)])
        statuses[begin:][~added] = grown[begin:]
        columns, rows = (statuses, self.rows) if model.appended_as_columns else (self.columns, statuses)
        return model if model.stand_at(columns, rows) else None

    def packed(self) -> dict[str, Array]:
        """Return it as arrays."""
        space = np.array([sorted(SPACES).index(self.space)], dtype=np.int8)
        return dict(zip(NAMES, (space, np.array([self.hypotheses]), self.columns, self.rows), strict=True))

    @classmethod
    def unpacked(cls, arrays: Mapping[str, Array]) -> Basis | None:
        """Return what `packed` gave, None where it is not there."""
        if not set(NAMES) <= set(arrays):
            return None
        space, hypotheses, columns, rows = (np.asarray(arrays[name]) for name in NAMES)
        return cls(sorted(SPACES)[int(space[0])], int(hypotheses[0]), columns.astype(np.int8), rows.astype(np.int8))
