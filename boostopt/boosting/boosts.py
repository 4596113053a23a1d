"""`boost`: the entrance to column generation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt.backends.base import Backend, Deadline
from boostopt.boosting.collected import Collected
from boostopt.boosting.driver import Limits, Loop
from boostopt.boosting.goal import Goal
from boostopt.boosting.history import History
from boostopt.boosting.problem import Problem
from boostopt.boosting.progress_line import progress_line
from boostopt.boosting.rules import RULES, Rule, Schedule
from boostopt.boosting.run import FINAL_WEIGHTS, AtZero, Record, Run
from boostopt.boosting.saving import load
from boostopt.boosting.state import Bounds, State
from boostopt.boosting.trace import Row, Trace
from boostopt.boosting.updates import make
from boostopt.boosting.watch import Checkpoints, TestExamples, Watch
from boostopt.catalogue import get_formulation, list_formulations
from boostopt.errors import DataError, OptionError, unknown_name
from boostopt.oracles.base import Oracle
from boostopt.oracles.examples import labelled

LONG = 1000
"""Rounds beyond which a corrective run does not keep the weights of each, unless it is told to."""


def boost(
    formulation: Any,
    oracle: Oracle,
    *,
    epsilon: float = 0.01,
    d0: npt.ArrayLike | None = None,
    backend: str | Backend = "auto",
    update: str | None = None,
    rules: Sequence[str] | None = None,
    guarantee: float | None = None,
    max_rounds: int | None = None,
    time_limit: float | None = None,
    columns: int = 1,
    schedule: Schedule | None = None,
    final_weights: str | None = None,
    history: bool | None = None,
    nus: Sequence[float] = (),
    test: tuple[Any, npt.ArrayLike] | None = None,
    at_zero: AtZero = "majority",
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_rounds: int = 20,
    checkpoint_seconds: float | None = None,
    progress: bool | Callable[[Row], None] = False,
    **parameters: Any,
) -> Run:
    """Boost: grow a program column by column until a stopping rule holds.

    Parameters
    ----------
    formulation
        A name from `list_formulations()`, the path of a page, or a formulation.
    oracle
        The examples and the class of hypotheses: see `boostopt.oracles`. Its multiplicities are the program's c.
    epsilon
        The accuracy of the soft margin that the stopping rules are about, positive.
    d0
        Reference distribution, shape (N,); proportional to the multiplicities by default.
    backend
        What solves the programs, as in `solve`.
    update
        How the weights move: "total" (the program over all hypotheses), or a corrective "step", "line_search" or
        "program" (over the mixture and the newest hypothesis). As the formulation says by default.
    rules
        Names of stopping rules, from `boostopt.boosting.RULES`, or of formulations whose rules are meant; those of the
        formulation itself by default.
    guarantee
        An edge that every answer of the oracle is known to reach; the oracle's own by default.
    max_rounds, time_limit
        Updates, and seconds, after which the run ends all the same; None for no limit.
    columns
        Hypotheses that the oracle is asked for in a round.
    schedule
        How accurate the solves are: loose while the run is far from its end, by default.
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
    **parameters
        Parameters of the formulation, as in `bind`, without those that it sets anew in every round.

    Returns
    -------
    The run. It also holds what there is after an interrupt (Ctrl-C), or when a limit was reached: `run.reason`.

    Raises
    ------
    OptionError
        An option is unknown or out of range, or nothing would ever stop the run.
    ProblemError
        A parameter is out of its domain, or the oracle returns what is no column.
    DataError
        The checkpoint is of other data, of other parameters, or unreadable.

    References
    ----------
    Glocer 2009, algorithms 2.1, 3.1 to 3.3, 4.1, 4.3; Shalev-Shwartz and Singer 2008, figure 1.
    """
    page = get_formulation(formulation)
    if not isinstance(oracle, Oracle):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"expected an oracle; got {type(oracle).__name__}. Make one: boostopt.oracles has several.")
    if final_weights is not None and final_weights not in FINAL_WEIGHTS:
        raise unknown_name("final_weights", final_weights, FINAL_WEIGHTS)
    given = {name: value for name, value in parameters.items() if value is not None}
    problem = Problem.of(page, oracle.c, d0, epsilon, update, given)
    if problem.two_sided and not oracle.reflexive:
        raise OptionError(
            "edges without a sign need a class that is closed under negation; this oracle's is not. Make it with "
            "reflexive=True, or leave out two_sided."
        )
    if final_weights == "lp" and problem.goal is None:
        raise OptionError(f"{page.name} has no soft margin to take the weights of; leave out final_weights.")
    wanted = _rules(problem, rules)
    _check_end(problem, wanted, max_rounds, time_limit, columns)
    record = _record(problem, oracle, guarantee, history, max_rounds, nus, checkpoint)
    watch = Watch(
        goals=_goals(problem, nus),
        test=_test(test, at_zero),
        checkpoints=_checkpoints(checkpoint, checkpoint_rounds, checkpoint_seconds),
        earlier=record.trace[-1].seconds if len(record.trace) else 0.0,
    )
    limits = Limits(max_rounds, Deadline.after(time_limit))
    with progress_line(progress, page.name) as show:
        loop = Loop(
            problem,
            oracle,
            columns,
            make(problem, backend),
            wanted,
            schedule or Schedule(),
            limits,
            replace(watch, show=show),
        )
        return Run.finished(loop.run(record), final_weights)


def _rules(problem: Problem, names: Sequence[str] | None) -> tuple[Rule, ...]:
    """Return the rules that can fire, of those named or of the page's own."""
    if names is not None:
        names = [rule for name in names for rule in _of_name(name)]
        for name in names:
            if obstacle := RULES[name].obstacle(problem):
                raise OptionError(f"the rule {name!r} cannot hold for {problem.page.name}: {obstacle}.")
        return tuple(RULES[name] for name in names)
    own = problem.page.stopping_rules or (("direct",) if problem.goal is not None else ("priced",))
    return tuple(RULES[name] for name in own if name in RULES and not RULES[name].obstacle(problem))


def _of_name(name: str) -> tuple[str, ...]:
    """Return the rules of that name: a rule, or all those of a formulation."""
    if name in RULES:
        return (name,)
    if name in list_formulations():
        return get_formulation(name).stopping_rules
    raise unknown_name("stopping rule", name, RULES)


def _check_end(
    problem: Problem, rules: tuple[Rule, ...], max_rounds: int | None, time_limit: float | None, columns: int
) -> None:
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


def _record(
    problem: Problem,
    oracle: Oracle,
    guarantee: float | None,
    history: bool | None,
    max_rounds: int | None,
    nus: Sequence[float],
    checkpoint: str | PathLike[str] | None,
) -> Record:
    """Return where a run begins: at its checkpoint if there is one."""
    guarantee = oracle.guarantee if guarantee is None else guarantee
    if checkpoint is not None and Path(checkpoint).exists():
        return _resumed(problem, oracle, checkpoint)
    N = oracle.N
    keep = history if history is not None else problem.update == "total" or (max_rounds or LONG + 1) <= LONG
    d = problem.F.project(None)
    m = np.zeros(N)
    start = State(0, np.zeros(0), m, d, -1.0, -1.0, Bounds())
    if problem.two_sided:
        start = replace(start, value=problem.value(problem.at(m), np.zeros(1)), soft_margin=0.0)
    majority = 1
    if oracle.y is not None:
        majority = 1 if float(oracle.c @ oracle.y) >= 0.0 else -1
    return Record(
        problem=problem,
        collected=Collected(N),
        state=start,
        history=History(keep),
        trace=Trace([], nus),
        oracle=str(oracle),
        digest=oracle.digest,
        oracle_state=oracle.state(),
        guarantee=guarantee,
        majority=majority,
    )


def _resumed(problem: Problem, oracle: Oracle, checkpoint: str | PathLike[str]) -> Record:
    """Return the record of a checkpoint, checked to be of this run."""
    record, _ = load(checkpoint, problem.page)
    saved = record.problem
    for what, before, now in (
        ("examples and class", record.digest, oracle.digest),
        ("update", saved.update, problem.update),
        ("parameters", repr(saved.first.parameters), repr(problem.first.parameters)),
    ):
        if before != now:
            raise DataError(
                f"the checkpoint {Path(checkpoint)} is of another run: its {what} were {before}; now they are {now}. "
                "Move it away, or pass the path of a new file."
            )
    oracle.restore(record.oracle_state)
    # Reasons of the past do not hold any more: limits may have been raised.
    return replace(record, problem=problem, reason="")


def _goals(problem: Problem, nus: Sequence[float]) -> tuple[Goal, ...]:
    """Return the soft margins at other values of nu."""
    if not nus:
        return ()
    if problem.goal is None or "nu" not in problem.page.parameters:
        raise OptionError(f"{problem.page.name} has no nu at which to show other soft margins; leave out nus.")
    goals = [
        Problem.of(
            problem.page, problem.examples.c, None, problem.epsilon, problem.update, {**problem.given, "nu": nu}
        ).goal
        for nu in nus
    ]
    return tuple(goal for goal in goals if goal is not None)


def _test(test: tuple[Any, npt.ArrayLike] | None, at_zero: AtZero) -> TestExamples | None:
    """Return the examples to test on, checked."""
    if test is None:
        return None
    if len(test) != 2:
        raise OptionError("test must be a pair (X, y) of features and classes.")
    examples = labelled(*test)
    return TestExamples(examples.X, examples.y, at_zero)


def _checkpoints(path: str | PathLike[str] | None, rounds: int, seconds: float | None) -> Checkpoints | None:
    """Return where and how often the run is stored."""
    if not rounds >= 1:
        raise OptionError(f"checkpoint_rounds must be a whole number of at least 1; got {rounds!r}.")
    if seconds is not None and not seconds > 0:
        raise OptionError(f"checkpoint_seconds must be positive, or None; got {seconds!r}.")
    return None if path is None else Checkpoints(Path(path), rounds, seconds)
