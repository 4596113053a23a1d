"""Stabilization of totally corrective boosting, and smaller programs.

A distribution that solves the program over few hypotheses says little about the class. The next distribution may lie
far away, so the queries to the oracle may swing. If the query lies between the best distribution so far and the newest
one, the oracle returns hypotheses that help for both. Every distribution in the domain of F0 bounds the class. So
certificates and stopping rules do not change [Glocer 2009, section 2.2; Ben-Ameur and Neto 2007; Pessoa, Sadykov,
Uchoa, Vanderbeck 2018].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Int
from boostopt._utils.validation import check_number
from boostopt.backends.base import WarmStart
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.run.run_state import State

MIN_IDLE_FRACTION = 0.25
"""The fraction of idle hypotheses from which they leave the program; a removal makes the next warm start worse."""

NEGLIGIBLE_WEIGHT_FRACTION = 1e-2
"""The fraction of the mean weight below which a weight counts as 0: an interior point has no zero weights."""

REENTRY_TOL = 1e-9
"""The amount by which an idle hypothesis must exceed the largest edge of the program to come back."""


@dataclass(frozen=True)
class Stabilization:
    """The stabilization of a totally corrective run; the defaults do not stabilize it.

    If the program has no soft margin, the query is always the newest distribution, because its rules use it alone.

    If the answer to a stabilized query does not improve the program, the oracle gets the newest distribution in the
    same round. Certificates hold for any query. The papers prove their bounds on the number of rounds for the newest
    distribution only.

    Attributes
    ----------
    inner
        The share, in [0, 1), that the distribution with the best bound of the class has in the query to the oracle:
        in-out separation, also called Wentges's smoothing. With a heuristic oracle, there is no bound and no effect.
    idle
        A positive multiple of the distance between the bounds of the soft margin; inf to keep all hypotheses. A
        hypothesis without weight is idle if its edge is below the largest one by more than this multiple. If a quarter
        of the program is idle, these hypotheses leave the program. A hypothesis comes back when its edge is the largest
        again.

    Raises
    ------
    OptionError
        The share or the multiple is out of its range.
    """

    inner: float = 0.0
    idle: float = field(default=math.inf, kw_only=True)

    def __post_init__(self) -> None:
        check_number("inner", self.inner, "a share in [0, 1)", lambda share: 0.0 <= share < 1.0)
        check_number("idle", self.idle, "a positive multiple, or inf", lambda multiple: multiple > 0.0)

    def __bool__(self) -> bool:
        """Return whether the options change anything."""
        return self != Stabilization()

    def query(self, state: State) -> ExampleVector:
        """Return the query to the oracle: `state.d` itself if nothing is mixed in."""
        best = state.bounds.d
        if best is None or self.inner == 0.0:
            return state.d
        return (1.0 - self.inner) * state.d + self.inner * best


RECOMMENDED_STABILIZATION, RECOMMENDED_COLUMNS = Stabilization(inner=0.85), 3
"""The stabilization and the number of columns that saved most rounds and seconds on seven data sets."""


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """The hypotheses of a program without the idle ones.

    Attributes
    ----------
    active
        The numbers of the hypotheses, shape (k,), with those of the last program first.
    start
        The warm start of the solve, with weights in this order.
    """

    active: Int[Array, " k"]
    start: WarmStart | None


def select_working_set(state: State, pool: ColumnPool, idle: float) -> WorkingSet | None:
    """Return the working set of the next program; None for all hypotheses in their order."""
    t = len(state.w)
    gap = state.bounds.smallest_target - state.soft_margin
    if t == 0 or (state.active is None and not math.isfinite(idle)):
        return None
    working_set = np.arange(t) if state.active is None else state.active
    e = pool.margins.edges(state.d)
    largest = float(e[working_set].max())
    out = np.setdiff1d(np.arange(t), working_set)
    returning_columns = out[e[out] > largest + REENTRY_TOL]
    entering_columns = np.concatenate([returning_columns, np.arange(t, pool.t)])
    w = np.abs(state.w[working_set])
    busy = (w > NEGLIGIBLE_WEIGHT_FRACTION * w.mean()) | (e[working_set] >= largest - idle * max(gap, 0.0))
    if np.count_nonzero(~busy) > MIN_IDLE_FRACTION * len(working_set):
        active = working_set[busy]
        return WorkingSet(np.concatenate([active, entering_columns]), WarmStart(d=state.d, w=state.w[active]))
    if state.active is None:
        return None
    return WorkingSet(np.concatenate([working_set, entering_columns]), state.start)
