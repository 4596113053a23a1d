"""The weights of the rounds, kept sparse, so that a run can be looked at as it stood after any of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from boostopt.boosting.state import Bounds, State
from boostopt.errors import OptionError
from boostopt.shapes import Array, Float, Int

if TYPE_CHECKING:
    from boostopt.boosting.run import Record, Round


@dataclass(frozen=True, eq=False)
class Sparse:
    """A vector by its non-zero entries.

    Attributes
    ----------
    size
        Its length.
    at, values
        Where the entries are, and what they are.
    """

    size: int
    at: Int[Array, " k"]
    values: Float[Array, " k"]

    @classmethod
    def of(cls, vector: Float[Array, " n"]) -> Sparse:
        """Keep a vector."""
        at = np.flatnonzero(vector)
        return cls(len(vector), at, vector[at])

    @property
    def full(self) -> Float[Array, " n"]:
        """The vector."""
        vector = np.zeros(self.size)
        vector[self.at] = self.values
        return vector


@dataclass(frozen=True, eq=False)
class Kept:
    """One round.

    Attributes
    ----------
    t
        Hypotheses collected by then.
    w
        Their weights.
    d
        The next distribution; None where d(w) gives it.
    smallest_edge
        The smallest edge by then.
    """

    t: int
    w: Sparse
    d: Sparse | None
    smallest_edge: float


@dataclass(eq=False)
class History:
    """The rounds that were kept.

    Attributes
    ----------
    wanted
        Whether rounds are kept.
    rounds
        Those that were.
    """

    wanted: bool
    rounds: list[Kept] = field(default_factory=list[Kept])

    def keep(self, state: State, t: int, smooth: bool) -> None:
        """Keep a round, if rounds are kept."""
        if self.wanted:
            d = None if smooth else Sparse.of(state.d)
            self.rounds.append(Kept(t, Sparse.of(state.w), d, state.bounds.smallest_edge))

    def at(self, record: Record, k: int) -> Round:
        """Return the run as it stood after k rounds."""
        from boostopt.boosting.run import Round

        if not self.wanted:
            raise OptionError(
                "the rounds of this run were not kept: corrective runs may have too many. Pass history=True to boost."
            )
        if not 1 <= k <= len(self.rounds):
            raise OptionError(f"there are rounds 1 to {len(self.rounds)}; got {k}.")
        kept, problem = self.rounds[k - 1], record.problem
        w = kept.w.full
        U = record.collected.margins.take_columns(np.arange(kept.t))
        m = U.margins(w)
        d = problem.at(m).d if kept.d is None else kept.d.full
        state = State(k, w, m, d, math.nan, math.nan, Bounds(smallest_edge=kept.smallest_edge))
        if problem.update == "projection" and problem.goal is not None:
            program = problem.goal.program(U)
        else:
            program = problem.program(U, state.progress(problem, U.column(kept.t - 1)))
        return Round(k, w, d, program, record.collected.hypotheses[: kept.t])
