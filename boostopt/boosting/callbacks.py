"""Observers of every round of a run: the trace, test examples, checkpoints, the line that shows progress."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from boostopt.boosting.classifier import ZERO, AtZero, decided
from boostopt.boosting.record import Record
from boostopt.boosting.saving import save
from boostopt.boosting.soft_margin import Goal
from boostopt.boosting.trace import Row
from boostopt.errors import DataError
from boostopt.oracles.features import Features, evaluate
from boostopt.shapes import Array, Float, Int8


@dataclass(eq=False)
class TestExamples:
    """Examples on which a run is tested: their values under each hypothesis are computed once.

    Attributes
    ----------
    X, y
        Features and classes -1 and 1.
    at_zero
        What is predicted where f(x) = 0.
    """

    X: Any
    y: Int8[Array, " n"]
    at_zero: AtZero
    _values: list[Float[Array, " n"]] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        self.features = Features(self.X)

    def decision(self, record: Record) -> Float[Array, " n"]:
        """Return f(x) of the test examples."""
        self._values.extend(evaluate(record.collected.hypotheses[len(self._values) :], self.features))
        w = record.state.w
        f = np.zeros(len(self.y))
        for q in np.flatnonzero(w):
            f += w[q] * self._values[q]
        return f / max(record.state.total, np.finfo(float).tiny)


@dataclass(frozen=True)
class Checkpoints:
    """The file that a run is stored in while it goes on, and how often.

    Attributes
    ----------
    path
        The file; it is replaced as a whole.
    rounds
        Rounds from one to the next.
    seconds
        Seconds after which one is due all the same; None for rounds alone.
    """

    path: Path
    rounds: int
    seconds: float | None


@dataclass(eq=False)
class Watch:
    """The bookkeeping of a run.

    Attributes
    ----------
    goals
        The soft margins at other values of nu that the trace shows.
    test
        Examples to test on, None for none.
    checkpoints
        Where the run is stored, None for nowhere.
    show
        What is called with every row of the trace.
    """

    goals: Sequence[Goal] = ()
    test: TestExamples | None = None
    checkpoints: Checkpoints | None = None
    show: Callable[[Row], None] | None = None
    began: float = field(default_factory=time.perf_counter)
    earlier: float = 0.0
    stored: float = field(default_factory=time.perf_counter)

    def saw(self, record: Record, oracle_seconds: float, update_seconds: float) -> None:
        """Write a round down, and store the run where that is due; the run itself is as it was."""
        row = self._row(record, oracle_seconds, update_seconds)
        record.trace.add(row)
        state, problem = record.state, record.problem
        record.history.keep(state, record.collected.t, problem.smooth)
        if self.show is not None:
            self.show(row)
        if self.checkpoints is not None and self._due(self.checkpoints, state.round):
            self._store(self.checkpoints, record)

    def ended(self, record: Record) -> None:
        """Store a run as it stood after its last round: what the oracle has said since will be asked again."""
        if self.checkpoints is not None:
            self._store(self.checkpoints, record)

    def _store(self, checkpoints: Checkpoints, record: Record) -> None:
        """Make a checkpoint; a run is not lost for a full disk."""
        try:
            save(record, checkpoints.path)
        except DataError as failure:
            warnings.warn(f"no checkpoint of round {record.state.round}: {failure}", RuntimeWarning, stacklevel=5)
        self.stored = time.perf_counter()

    def _due(self, checkpoints: Checkpoints, number: int) -> bool:
        """Whether a checkpoint is to be made after this round."""
        late = checkpoints.seconds is not None and time.perf_counter() - self.stored >= checkpoints.seconds
        return number % checkpoints.rounds == 0 or late

    def _row(self, record: Record, oracle_seconds: float, update_seconds: float) -> Row:
        """Return the row of the trace."""
        state, c, total = record.state, record.problem.examples.c, record.state.total
        test = self.test.decision(record) if self.test is not None else None
        error, zeros = np.nan, float(c[np.abs(state.m) <= ZERO * total].sum() / c.sum())
        if self.test is not None and test is not None:
            error = float(np.mean(decided(test, self.test.at_zero, record.majority) != self.test.y))
            zeros = float(np.mean(np.abs(test) <= ZERO))
        return Row(
            round=state.round,
            hypotheses=record.collected.t,
            edge=state.bounds.edge,
            smallest_edge=state.bounds.smallest_edge,
            upper=state.bounds.upper,
            soft_margin=state.soft_margin,
            value=state.value,
            active=int(np.count_nonzero(state.w)),
            zero_share=zeros,
            test_error=error,
            oracle_seconds=oracle_seconds,
            update_seconds=update_seconds,
            seconds=self.earlier + time.perf_counter() - self.began,
            backend=state.backend,
            smallest_primal=state.bounds.shown_primal,
            soft_margins=tuple(goal.soft_margin(state.m, total) for goal in self.goals),
        )
