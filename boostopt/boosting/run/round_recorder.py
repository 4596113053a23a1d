"""The recorder of a run: the trace, the test error, the checkpoints and the progress line."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import invalid_value_error
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting.run.checkpoint_writer import CheckpointWriter
from boostopt.boosting.run.combined_hypothesis import (
    ZERO_TOL,
    AtZero,
    leading_labels,
    predicted_classes,
    undecided_rows,
)
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.run_file import save
from boostopt.boosting.run.trace import TraceRow
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.oracles.base import Oracle
from boostopt.oracles.feature_validation import FeatureMatrix, evaluate
from boostopt.oracles.labelled_examples import as_signs
from boostopt.oracles.multiclass.multiclass_examples import check_class_labels

MAX_CHECKPOINT_SECONDS = 60.0
"""The largest number of seconds between checkpoints: a run that is killed repeats little more than a round of it."""


@dataclass(eq=False)
class TestSet:
    """A test set; the values of each hypothesis on the examples are computed once.

    Attributes
    ----------
    X, y
        The features, and the classes -1 and 1, or labels.
    at_zero
        The prediction where f(x) = 0, for the classes -1 and 1.
    class_labels
        The labels of the classes of hypotheses with a value for each class; None for the classes -1 and 1.
    features
        The checked features.
    """

    X: Any
    y: Array
    at_zero: AtZero
    class_labels: tuple[Any, ...] | None
    _values: list[Float[Array, "n ..."]] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        self.features: FeatureMatrix = FeatureMatrix(self.X)
        labels = self.class_labels
        self._shape: tuple[int, ...] = (len(self.y),) if labels is None else (len(self.y), len(labels))
        self._w, self._sum = np.zeros(0), np.zeros(self._shape)

    def decision_function(self, record: RunData) -> Float[Array, "n ..."]:
        """Return f(x) of the test examples, updated for the changed weights, or summed again if many have changed."""
        self._values.extend(evaluate(record.pool.hypotheses[len(self._values) :], self.features))
        w, last_w = record.state.w, np.zeros(len(record.state.w))
        last_w[: len(self._w)] = self._w
        changes, nonzero = np.flatnonzero(w != last_w), np.flatnonzero(w)
        if 2 * len(changes) > len(nonzero):
            changes, last_w, self._sum = nonzero, np.zeros(len(w)), np.zeros(self._shape)
        for q in changes:
            self._sum += (w[q] - last_w[q]) * self._values[q]
        self._w = w.copy()
        return self._sum / max(record.state.weight_sum, np.finfo(float).tiny)

    def error(self, f: Float[Array, "n ..."], majority: int) -> float:
        """Return the share of the test examples that f predicts wrongly."""
        if self.class_labels is None:
            return float(np.mean(predicted_classes(f, self.at_zero, majority) != self.y))
        predicted_labels = leading_labels(f, self.class_labels)
        if predicted_labels.dtype == self.y.dtype:
            return float(np.mean(predicted_labels != self.y))
        return float(np.mean(predicted_labels.astype(object) != self.y.astype(object)))  # not rounded to one type


@dataclass(eq=False)
class RunRecorder:
    """The recorder of the rounds of a run.

    Attributes
    ----------
    options
        The options of the run, with the checkpoint and its intervals.
    extra_objectives
        The soft margins at other values of nu that the trace shows.
    test
        The test set, or None.
    seconds_before
        The seconds of the run before its checkpoint was read.
    show
        The function that is called with every row of the trace, or None.
    checkpoints
        The writer of the checkpoints.
    start_time
        The time of the start, by `time.perf_counter`.
    """

    options: BoostOptions
    extra_objectives: Sequence[SoftMarginObjective]
    test: TestSet | None
    seconds_before: float
    show: Callable[[TraceRow], None] | None
    checkpoints: CheckpointWriter
    start_time: float = field(default_factory=time.perf_counter)

    @classmethod
    def create(
        cls,
        options: BoostOptions,
        problem: Problem,
        oracle: Oracle,
        record: RunData,
        show: Callable[[TraceRow], None] | None = None,
    ) -> RunRecorder:
        """Return the recorder of a run that begins with a record.

        Raises
        ------
        OptionError
            There are values of nu without a soft margin, or the test set does not have the form of the examples.
        """
        earlier = record.trace[-1].seconds if len(record.trace) else 0.0
        test = _test(options.test, options.at_zero, oracle)
        checkpoints = CheckpointWriter(options, MAX_CHECKPOINT_SECONDS)
        return cls(options, _goals(problem, options.nus), test, earlier, show, checkpoints)

    def record_round(self, record: RunData, oracle_seconds: float, update_seconds: float) -> None:
        """Add a round to the trace and the history, and write a checkpoint if it is due."""
        row = self._row(record, oracle_seconds, update_seconds)
        record.trace.add(row)
        state, problem = record.state, record.problem
        record.history.append(state, record.pool.t, problem.smooth)
        if self.show is not None:
            self.show(row)
        if self.checkpoints.is_due(state.round):
            self._write_checkpoint(record)

    def finish(self, record: RunData) -> None:
        """Write the checkpoint of a run after its last round; later answers of the oracle are not stored."""
        self._write_checkpoint(record)

    def _write_checkpoint(self, record: RunData) -> None:
        """Write the record as the checkpoint of its newest round."""
        self.checkpoints.write(lambda path: save(record, path), f"round {record.state.round}")

    def _row(self, record: RunData, oracle_seconds: float, update_seconds: float) -> TraceRow:
        """Return the row of the newest round."""
        state, c, total = record.state, record.problem.examples.c, record.state.weight_sum
        test = self.test.decision_function(record) if self.test is not None else None
        error, zeros = np.nan, float(c[np.abs(state.m) <= ZERO_TOL * total].sum() / c.sum())
        if self.test is not None and test is not None:
            error, zeros = self.test.error(test, record.majority), float(np.mean(undecided_rows(test)))
        return TraceRow(
            round=state.round,
            hypotheses=record.pool.t,
            edge=state.bounds.edge,
            smallest_edge=state.bounds.smallest_edge,
            upper=state.bounds.upper,
            soft_margin=state.soft_margin,
            value=state.dual_objective,
            active=int(np.count_nonzero(state.w)),
            zero_share=zeros,
            test_error=error,
            oracle_seconds=oracle_seconds,
            update_seconds=update_seconds,
            seconds=self.seconds_before + time.perf_counter() - self.start_time,
            backend=state.backend,
            smallest_primal=state.bounds.shown_primal,
            soft_margins=tuple(objective.soft_margin(state.m, total) for objective in self.extra_objectives),
        )


def _goals(problem: Problem, nus: Sequence[float]) -> tuple[SoftMarginObjective, ...]:
    """Return the soft margins with the caps c / nu at values of nu, for any objective of the formulation."""
    if not nus:
        return ()
    if problem.objective is None:
        raise OptionError(
            f"nus need a formulation with a soft margin; {problem.formulation.name} has none. Leave out nus."
        )
    examples = problem.examples
    c = np.where(examples.d0 > 0, examples.c, 0.0)
    return tuple(
        SoftMarginObjective(CappedSimplexIndicator(CappedSimplex(c, nu)), problem.objective.G, examples) for nu in nus
    )


def _test(test: Any, at_zero: AtZero, oracle: Oracle) -> TestSet | None:
    """Check the test examples and return the test set."""
    if test is None:
        return None
    advice = "Pass features of shape (n, features) and a class for each row."
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise invalid_value_error("test", "a pair (X, y) of features and classes", test, advice)
    X, y = test
    if oracle.target_scale is not None:
        raise OptionError(
            f"test counts examples of the wrong class; got an oracle that predicts numbers, {oracle}. Leave out test, "
            "and compare run.predict(X) with the targets."
        )
    class_labels = oracle.class_labels
    labels, rows = as_signs(y) if class_labels is None else check_class_labels(y), FeatureMatrix(X).n
    if np.ndim(X) != 2 or labels.shape != (rows,) or rows == 0:
        raise OptionError(
            f"test must hold features and one class for each of their rows; got {short_repr(X)} and classes of shape "
            f"{labels.shape}. {advice}"
        )
    examples = TestSet(X, labels, at_zero, class_labels)
    try:
        oracle.check_features(examples.features)
    except ProblemError as failure:
        raise OptionError(f"test must hold features in the form of the oracle: {failure}") from failure
    return examples
