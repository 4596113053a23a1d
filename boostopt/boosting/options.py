"""The options of any run, and how a run is made with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
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
from boostopt.boosting.resume import initial_record
from boostopt.boosting.rules import Rule, Schedule
from boostopt.boosting.run import AtZero, Run, final_weights_of
from boostopt.boosting.soft_margin import Goal
from boostopt.boosting.stabilization import Stabilization
from boostopt.boosting.trace import Row
from boostopt.boosting.updates import Update
from boostopt.errors import OptionError, ProblemError, listed, nearest, shown
from boostopt.oracles.base import Oracle
from boostopt.oracles.examples import signs
from boostopt.oracles.features import Features
from boostopt.oracles.given import AN_EDGE
from boostopt.programs.formulation import Formulation
from boostopt.regularizers.cap import Cap
from boostopt.regularizers.capped_simplex import CappedSimplex
from boostopt.threads import one_thread


@dataclass(frozen=True, kw_only=True)
class BoostOptions:
    """The options of any run. `boost` takes them whole, as `options`, or one by one by their names.

    Attributes
    ----------
    max_rounds, time_limit
        Updates, and seconds, after which the run ends all the same; None for no limit.
    guarantee
        An edge that every answer of the oracle is known to reach; the oracle's own by default.
    columns_per_round
        Hypotheses that the oracle is asked for in a round.
    schedule
        How accurate the solves are; by default loose while the run is far from its end.
    stabilization
        What keeps a totally corrective run from swinging and its programs small; nothing by default.
    start
        An earlier run over the same examples and class, with any formulation and parameters: its hypotheses are there
        from the beginning and its weights are where the run begins. Of no effect where there is a checkpoint.
    final_weights
        "program", "lp" or "scaled"; as the formulation says by default.
    history
        Whether the weights of every round are kept for `run.at`; by default unless a corrective run may be long.
    nus
        Values of nu (counts) at which the trace shows the soft margin as well.
    test
        (X, y) to test on in every round.
    at_zero
        What is predicted where f(x) = 0, in the test error of the trace: see `Run.predict`.
    checkpoint
        A file to store the run in while it goes on, and to go on from if it is there.
    checkpoint_rounds, checkpoint_seconds
        Rounds from one checkpoint to the next; seconds after which one is due all the same.
    progress
        Whether a line on stderr shows bounds, gap and rate; or what to call with every row of the trace.

    Raises
    ------
    OptionError
        An option is out of its range.
    """

    max_rounds: int | None = None
    time_limit: float | None = None
    guarantee: float | None = None
    columns_per_round: int = 1
    schedule: Schedule | None = None
    stabilization: Stabilization | None = None
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
            "columns_per_round": whole("columns_per_round", self.columns_per_round, 1),
            "schedule": optional(instance, "schedule", self.schedule, Schedule, *_made("a Schedule")),
            "stabilization": optional(
                instance, "stabilization", self.stabilization, Stabilization, *_made("a Stabilization")
            ),
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


OPTIONS = tuple(field.name for field in fields(BoostOptions))
"""The options of any run by name."""


def read_record(name: str, options: object) -> BoostOptions:
    """Return options that were given whole; the default ones for None."""
    if options is None:
        return BoostOptions()
    return instance(name, options, BoostOptions, *_made("a BoostOptions"))


def _made(what: str) -> tuple[str, str]:
    """Return what an option must be that has a class of its own, and what to do."""
    return what, f"Make one with boostopt.boosting.{what.split()[-1]}(...), or leave it out."


def run_boosting(
    problem: Problem,
    oracle: Oracle,
    update: Update,
    rules: tuple[Rule, ...],
    options: BoostOptions,
    kind: type[Loop] = Loop,
) -> Run:
    """Return the run of a problem that moves by a given update until a rule holds or a limit is reached."""
    how = final_weights_of(problem, options.final_weights)
    if options.stabilization and problem.update != "total":
        raise OptionError(
            f"stabilization is of totally corrective runs; {problem.page.name} moves by {problem.update!r}. "
            "Leave it out."
        )
    _check_end(problem, options.max_rounds, options.time_limit)
    stood = oracle.state()
    record = initial_record(
        problem,
        oracle,
        options.guarantee,
        options.history,
        options.max_rounds,
        options.nus,
        options.checkpoint,
        None if options.start is None else options.start.record,
    )
    watch = Watch(
        goals=_goals(problem, options.nus),
        test=_test(options.test, options.at_zero, oracle),
        checkpoints=None
        if options.checkpoint is None
        else Checkpoints(Path(options.checkpoint), options.checkpoint_rounds, options.checkpoint_seconds),
        earlier=record.trace[-1].seconds if len(record.trace) else 0.0,
    )
    limits = Limits(options.max_rounds, Deadline.after(options.time_limit))
    with one_thread(), progress_line(options.progress, problem.page.name) as show:
        loop = kind(
            problem,
            oracle,
            options.columns_per_round,
            update,
            rules,
            options.schedule or Schedule(),
            options.stabilization or Stabilization(),
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


def _test(test: tuple[Any, npt.ArrayLike] | None, at_zero: AtZero, oracle: Oracle) -> TestExamples | None:
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
    examples = TestExamples(X, labels, at_zero)
    try:
        oracle.check_features(examples.features)
    except ProblemError as failure:
        raise OptionError(f"test must hold features as the oracle has them: {failure}") from failure
    return examples
