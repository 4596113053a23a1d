"""What a user may say of any run, and how it is carried out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt.backends.base import Deadline
from boostopt.boosting.beginning import begun
from boostopt.boosting.driver import Limits, Loop
from boostopt.boosting.goal import Goal
from boostopt.boosting.problem import Problem
from boostopt.boosting.progress_line import progress_line
from boostopt.boosting.rules import Rule, Schedule
from boostopt.boosting.run import AtZero, Run, final_weights_of
from boostopt.boosting.stabilization import Stabilization
from boostopt.boosting.trace import Row
from boostopt.boosting.updates import Update
from boostopt.boosting.watch import Checkpoints, TestExamples, Watch
from boostopt.errors import OptionError
from boostopt.oracles.base import Oracle
from boostopt.oracles.examples import signs
from boostopt.regularizers.cap import Cap
from boostopt.regularizers.capped_simplex import CappedSimplex
from boostopt.threads import one_thread


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a user may say of any run, whatever is boosted: the options of `boost` by their names."""

    max_rounds: int | None = None
    time_limit: float | None = None
    guarantee: float | None = None
    columns: int = 1
    schedule: Schedule = field(default_factory=Schedule)
    stabilization: Stabilization = field(default_factory=Stabilization)
    start: Run | None = None
    final_weights: str | None = None
    history: bool | None = None
    nus: Sequence[float] = ()
    test: tuple[Any, npt.ArrayLike] | None = None
    at_zero: AtZero = "majority"
    checkpoint: str | PathLike[str] | None = None
    checkpoint_rounds: int = 20
    checkpoint_seconds: float | None = None
    progress: bool | Callable[[Row], None] = False


def carried_out(
    problem: Problem,
    oracle: Oracle,
    update: Update,
    rules: tuple[Rule, ...],
    settings: Settings,
    kind: type[Loop] = Loop,
) -> Run:
    """Return the run of a problem that moves by a given update until a rule holds or a limit is reached."""
    how = final_weights_of(problem, settings.final_weights)
    if settings.stabilization and problem.update != "total":
        raise OptionError(
            f"stabilization is of totally corrective runs; {problem.page.name} moves by {problem.update!r}. "
            "Leave it out."
        )
    _check_end(problem, settings.max_rounds, settings.time_limit, settings.columns)
    stood = oracle.state()
    record = begun(
        problem,
        oracle,
        settings.guarantee,
        settings.history,
        settings.max_rounds,
        settings.nus,
        settings.checkpoint,
        None if settings.start is None else settings.start.record,
    )
    watch = Watch(
        goals=_goals(problem, settings.nus),
        test=_test(settings.test, settings.at_zero),
        checkpoints=_checkpoints(settings.checkpoint, settings.checkpoint_rounds, settings.checkpoint_seconds),
        earlier=record.trace[-1].seconds if len(record.trace) else 0.0,
    )
    limits = Limits(settings.max_rounds, Deadline.after(settings.time_limit))
    with one_thread(), progress_line(settings.progress, problem.page.name) as show:
        loop = kind(
            problem,
            oracle,
            settings.columns,
            update,
            rules,
            settings.schedule,
            settings.stabilization,
            limits,
            replace(watch, show=show),
        )
        try:
            return Run.finished(loop.run(record), how)
        finally:
            # Equal calls give equal runs: an oracle that counts its calls begins again.
            oracle.restore(stood)


def check_oracle(oracle: object) -> None:
    """Raise OptionError unless it is an oracle."""
    if not isinstance(oracle, Oracle):
        raise OptionError(f"expected an oracle; got {type(oracle).__name__}. Make one: boostopt.oracles has several.")


def _check_end(problem: Problem, max_rounds: int | None, time_limit: float | None, columns: int) -> None:
    """Raise OptionError where a limit is out of range, or where nothing need ever stop the run."""
    if max_rounds is not None and not max_rounds >= 1:
        raise OptionError(f"max_rounds must be a whole number of at least 1, or None; got {max_rounds!r}.")
    if time_limit is not None and not time_limit > 0:
        raise OptionError(f"time_limit must be a positive number of seconds, or None; got {time_limit!r}.")
    if not columns >= 1:
        raise OptionError(f"columns must be a whole number of at least 1; got {columns!r}.")
    endless = problem.update == "projection" and not math.isfinite(problem.most_rounds)
    if endless and max_rounds is None and time_limit is None:
        raise OptionError(
            f"{problem.page.name} may go on for ever: no rule need ever hold. Pass max_rounds or time_limit."
        )


def _goals(problem: Problem, nus: Sequence[float]) -> tuple[Goal, ...]:
    """Return the soft margins at values of nu: those of the cap c / nu, whatever the formulation is after."""
    if not nus:
        return ()
    if problem.goal is None:
        raise OptionError(f"{problem.page.name} is after no soft margin; leave out nus.")
    examples = problem.examples
    c = np.where(examples.d0 > 0, examples.c, 0.0)
    return tuple(Goal(Cap(CappedSimplex(c, nu)), problem.goal.G, examples) for nu in nus)


def _test(test: tuple[Any, npt.ArrayLike] | None, at_zero: AtZero) -> TestExamples | None:
    """Return the examples to test on, checked."""
    if test is None:
        return None
    if len(test) != 2:
        raise OptionError("test must be a pair (X, y) of features and classes.")
    X, y = test
    labels = signs(y)
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if labels.shape != (rows,) or rows == 0:
        raise OptionError(f"test must hold one class for each row of X; got classes of shape {labels.shape}.")
    return TestExamples(X, labels, at_zero)


def _checkpoints(path: str | PathLike[str] | None, rounds: int, seconds: float | None) -> Checkpoints | None:
    """Return where and how often the run is stored."""
    if not rounds >= 1:
        raise OptionError(f"checkpoint_rounds must be a whole number of at least 1; got {rounds!r}.")
    if seconds is not None and not seconds > 0:
        raise OptionError(f"checkpoint_seconds must be positive, or None; got {seconds!r}.")
    return None if path is None else Checkpoints(Path(path), rounds, seconds)
