"""What a user may say of any run, and how it is carried out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt.arguments import (
    choice,
    file_path,
    flag,
    flag_or_function,
    instance,
    number,
    numbers,
    optional,
    refused,
    seconds,
    whole,
)
from boostopt.backends.base import Deadline
from boostopt.boosting.callbacks import Checkpoints, TestExamples, Watch
from boostopt.boosting.classifier import AT_ZERO
from boostopt.boosting.driver import Limits, Loop
from boostopt.boosting.problem import Problem
from boostopt.boosting.progress_line import progress_line
from boostopt.boosting.resume import begun
from boostopt.boosting.rules import Rule, Schedule
from boostopt.boosting.run import AtZero, Run, final_weights_of
from boostopt.boosting.soft_margin import Goal
from boostopt.boosting.stabilization import Stabilization
from boostopt.boosting.trace import Row
from boostopt.boosting.updates import Update
from boostopt.errors import OptionError, listed, nearest, shown
from boostopt.oracles.base import Oracle
from boostopt.oracles.examples import signs
from boostopt.oracles.features import Features
from boostopt.oracles.given import AN_EDGE
from boostopt.programs.formulation import Formulation
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

    def __post_init__(self) -> None:
        """Read each option as what it should be, whoever is to use it."""
        read: dict[str, Any] = {
            "max_rounds": optional(whole, "max_rounds", self.max_rounds, 1, "None, or a whole number"),
            "time_limit": seconds("time_limit", self.time_limit),
            "guarantee": optional(number, "guarantee", self.guarantee, *AN_EDGE),
            "columns": whole("columns", self.columns, 1),
            "schedule": instance("schedule", self.schedule, Schedule, *_made("a Schedule")),
            "stabilization": instance("stabilization", self.stabilization, Stabilization, *_made("a Stabilization")),
            "start": optional(instance, "start", self.start, Run, "a run, what boost returns", "Pass the run itself."),
            "history": optional(flag, "history", self.history),
            "nus": numbers("nus", self.nus, "positive counts of examples", lambda nu: 0.0 < nu < math.inf),
            "at_zero": choice("at_zero", self.at_zero, AT_ZERO),
            "checkpoint": optional(file_path, "checkpoint", self.checkpoint),
            "checkpoint_rounds": whole("checkpoint_rounds", self.checkpoint_rounds, 1),
            "checkpoint_seconds": seconds("checkpoint_seconds", self.checkpoint_seconds),
            "progress": flag_or_function("progress", self.progress),
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)


def _made(what: str) -> tuple[str, str]:
    """Return what an option must be that has a class of its own, and what to do."""
    return what, f"Make one with boostopt.boosting.{what.split()[-1]}(...), or leave it out."


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
    _check_end(problem, settings.max_rounds, settings.time_limit)
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
        checkpoints=None
        if settings.checkpoint is None
        else Checkpoints(Path(settings.checkpoint), settings.checkpoint_rounds, settings.checkpoint_seconds),
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


def check_keywords(function: str, given: Iterable[str], own: Iterable[str], page: Formulation[Any]) -> None:
    """Raise OptionError for a keyword that is neither the function's own nor a parameter of the formulation."""
    own, of_page = sorted(own), sorted(page.parameters)
    for name in given:
        if name not in own and name not in of_page:
            raise OptionError(
                f"unknown keyword {name!r} of {function}.{nearest(name, [*own, *of_page])} Known: its own "
                f"{listed(own)}; of {page.name} {listed(of_page) or 'none'}."
            )


def _check_end(problem: Problem, max_rounds: int | None, time_limit: float | None) -> None:
    """Raise OptionError where nothing need ever stop the run."""
    endless = problem.update == "projection" and not math.isfinite(problem.most_rounds)
    if endless and max_rounds is None and time_limit is None:
        raise OptionError(
            f"{problem.page.name} may go on for ever: it needs a limit, and got none, for no rule need ever hold. Pass "
            "max_rounds or time_limit."
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
    advice = "Pass features of shape (n, features) and a class for each row."
    if not isinstance(test, tuple | list) or len(test) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused("test", "a pair (X, y) of features and classes", test, advice)
    X, y = test
    labels, rows = signs(y), Features(X).n
    if np.ndim(X) != 2 or labels.shape != (rows,) or rows == 0:
        raise OptionError(
            f"test must hold features and one class for each row of them; got {shown(X)} and classes of shape "
            f"{labels.shape}. {advice}"
        )
    return TestExamples(X, labels, at_zero)
