"""Observers of every round of a run: the trace, test examples, checkpoints, the line that shows progress."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Float, Int8
from boostopt._utils.validation import invalid_value_error
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import Problem
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL, AtZero, predicted_classes
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.run_file import save
from boostopt.boosting.run.trace import Row
from boostopt.errors import DataError, OptionError, ProblemError, short_repr
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.indicators import Cap
from boostopt.objectives.soft_margin import SoftMarginObjective
from boostopt.oracles.base import Oracle
from boostopt.oracles.features import FeatureMatrix, evaluate
from boostopt.oracles.labelled_examples import as_signs


@dataclass(eq=False)
class TestSet:
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
        self.features: FeatureMatrix = FeatureMatrix(self.X)
        self._w, self._sum = np.zeros(0), np.zeros(len(self.y))

    def decision_function(self, record: RunData) -> Float[Array, " n"]:
        """Return f(x) of the test examples: the last one moved by what few weights changed, or summed anew."""
        self._values.extend(evaluate(record.pool.hypotheses[len(self._values) :], self.features))
        w, before = record.state.w, np.zeros(len(record.state.w))
        before[: len(self._w)] = self._w
        changed, used = np.flatnonzero(w != before), np.flatnonzero(w)
        if 2 * len(changed) > len(used):
            changed, before, self._sum = used, np.zeros(len(w)), np.zeros(len(self.y))
        for q in changed:
            self._sum += (w[q] - before[q]) * self._values[q]
        self._w = w.copy()
        return self._sum / max(record.state.weight_sum, np.finfo(float).tiny)


@dataclass(eq=False)
class RunRecorder:
    """The bookkeeping of a run.

    Attributes
    ----------
    options
        Where the run is stored while it goes on, and how often.
    extra_objectives
        The soft margins at other values of nu that the trace shows.
    test
        Examples to test on, None for none.
    seconds_before
        Seconds that the run took before it was stored.
    show
        What is called with every row of the trace.
    """

    options: BoostOptions
    extra_objectives: Sequence[SoftMarginObjective]
    test: TestSet | None
    seconds_before: float
    show: Callable[[Row], None] | None
    start_time: float = field(default_factory=time.perf_counter)
    checkpoint_time: float = field(default_factory=time.perf_counter)

    @classmethod
    def create(
        cls,
        options: BoostOptions,
        problem: Problem,
        oracle: Oracle,
        record: RunData,
        show: Callable[[Row], None] | None = None,
    ) -> RunRecorder:
        """Return what looks at the rounds of a run that begins with a record.

        Raises
        ------
        OptionError
            There are values of nu without a soft margin, or no examples to test on as the oracle has them.
        """
        earlier = record.trace[-1].seconds if len(record.trace) else 0.0
        test = _test(options.test, options.at_zero, oracle)
        return cls(options, _goals(problem, options.nus), test, earlier, show)

    def record_round(self, record: RunData, oracle_seconds: float, update_seconds: float) -> None:
        """Write a round down, and store the run where that is due; the run itself is as it was."""
        row = self._row(record, oracle_seconds, update_seconds)
        record.trace.add(row)
        state, problem = record.state, record.problem
        record.history.append(state, record.pool.t, problem.smooth)
        if self.show is not None:
            self.show(row)
        if self._checkpoint_is_due(state.round):
            self._write_checkpoint(record)

    def finish(self, record: RunData) -> None:
        """Store a run as it stood after its last round: what the oracle has said since will be asked again."""
        self._write_checkpoint(record)

    def _write_checkpoint(self, record: RunData) -> None:
        """Make a checkpoint where one is wanted; a run is not lost for a full disk."""
        if self.options.checkpoint is None:
            return
        try:
            save(record, self.options.checkpoint)
        except DataError as failure:
            warnings.warn(
                f"the checkpoint of round {record.state.round} was not written: {failure}", RuntimeWarning, stacklevel=5
            )
        self.checkpoint_time = time.perf_counter()

    def _checkpoint_is_due(self, number: int) -> bool:
        """Whether a checkpoint is to be made after this round."""
        seconds = self.options.checkpoint_seconds
        late = seconds is not None and time.perf_counter() - self.checkpoint_time >= seconds
        return number % self.options.checkpoint_rounds == 0 or late

    def _row(self, record: RunData, oracle_seconds: float, update_seconds: float) -> Row:
        """Return the row of the trace."""
        state, c, total = record.state, record.problem.examples.c, record.state.weight_sum
        test = self.test.decision_function(record) if self.test is not None else None
        error, zeros = np.nan, float(c[np.abs(state.m) <= ZERO_TOL * total].sum() / c.sum())
        if self.test is not None and test is not None:
            error = float(np.mean(predicted_classes(test, self.test.at_zero, record.majority) != self.test.y))
            zeros = float(np.mean(np.abs(test) <= ZERO_TOL))
        return Row(
            round=state.round,
            hypotheses=record.pool.t,
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
            seconds=self.seconds_before + time.perf_counter() - self.start_time,
            backend=state.backend,
            smallest_primal=state.bounds.shown_primal,
            soft_margins=tuple(goal.soft_margin(state.m, total) for goal in self.extra_objectives),
        )


def _goals(problem: Problem, nus: Sequence[float]) -> tuple[SoftMarginObjective, ...]:
    """Return the soft margins at values of nu: those of the cap c / nu, whatever the formulation is after."""
    if not nus:
        return ()
    if problem.objective is None:
        raise OptionError(
            f"nus need a formulation with a soft margin; {problem.formulation.name} has none. Leave out nus."
        )
    examples = problem.examples
    c = np.where(examples.d0 > 0, examples.c, 0.0)
    return tuple(SoftMarginObjective(Cap(CappedSimplex(c, nu)), problem.objective.G, examples) for nu in nus)


def _test(test: tuple[Any, npt.ArrayLike] | None, at_zero: AtZero, oracle: Oracle) -> TestSet | None:
    """Return the examples to test on, checked."""
    if test is None:
        return None
    advice = "Pass features of shape (n, features) and a class for each row."
    if not isinstance(test, tuple | list) or len(test) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid_value_error("test", "a pair (X, y) of features and classes", test, advice)
    X, y = test
    labels, rows = as_signs(y), FeatureMatrix(X).n
    if np.ndim(X) != 2 or labels.shape != (rows,) or rows == 0:
        raise OptionError(
            f"test must hold features and one class for each of their rows; got {short_repr(X)} and classes of shape "
            f"{labels.shape}. {advice}"
        )
    examples = TestSet(X, labels, at_zero)
    try:
        oracle.check_features(examples.features)
    except ProblemError as failure:
        raise OptionError(f"test must hold features in the form of the oracle: {failure}") from failure
    return examples
