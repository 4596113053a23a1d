"""The record that a run begins with: a new one, or that of its checkpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.user_files import text_digest
from boostopt._utils.validation import check_number, check_optional
from boostopt.backends.base import WarmStart
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import Problem
from boostopt.boosting.run.history import History
from boostopt.boosting.run.run import recomputed_bounds
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.run_file import load, remove_partial_files
from boostopt.boosting.run.state import OracleBounds, State
from boostopt.boosting.run.trace import Trace
from boostopt.errors import DataError, OptionError, reason_of
from boostopt.oracles.base import Oracle
from boostopt.oracles.matrix_oracle import EDGE_DOMAIN

MAX_ROUNDS_WITH_HISTORY = 1000
"""Rounds beyond which a corrective run does not keep the weights of each, unless it is told to."""


@limit_blas_threads()
def initial_record(problem: Problem, oracle: Oracle, options: BoostOptions, ignore_checkpoint: bool = False) -> RunData:
    """Return where a run begins: at its checkpoint if there is one, else with what an earlier run collected.

    A run that looks hand over begins with what they found, and their checkpoint is replaced by its own.
    """
    guarantee, checkpoint = _guarantee(problem, oracle, options), options.checkpoint
    if checkpoint is not None:
        remove_partial_files(checkpoint)
        if Path(checkpoint).exists() and not ignore_checkpoint:
            return _from_checkpoint(problem, oracle, guarantee, options.nus, checkpoint)
    N = oracle.N
    short = options.max_rounds is not None and options.max_rounds <= MAX_ROUNDS_WITH_HISTORY
    keep = options.history if options.history is not None else problem.update == "total" or short
    d = problem.F.project(None)
    m = np.zeros(N)
    # Off the simplex, and with weights of both signs, a program may be worth less than -1.
    least = problem.least_value if problem.F.on_simplex and not problem.F.signed else -math.inf
    # What an algorithm takes for granted is no bound: no rule may stop by it.
    bounds = _bounds_from_guarantee(_oracle_guarantee(oracle, options), problem)
    start = State(0, np.zeros(0), m, d, least, problem.least_value, bounds)
    if problem.two_sided:
        start = replace(
            start,
            value=problem.dual_objective(problem.conjugate_at_margins(m), np.zeros(1)),
            soft_margin=problem.least_value + 1.0,
        )
    record = RunData(
        problem=problem,
        pool=ColumnPool(N),
        state=start,
        history=History(keep),
        trace=Trace([], options.nus),
        oracle=str(oracle),
        digest=oracle.digest,
        oracle_state=oracle.state(),
        guarantee=guarantee,
        majority=oracle.majority,
        page_digest=text_digest(problem.formulation.stated_in),
    )
    return record if options.start is None else _warm_started(record, oracle, options.start.record)


def _guarantee(problem: Problem, oracle: Oracle, options: BoostOptions) -> float | None:
    """Return the edge that every answer is promised to reach: by the option or the oracle, and by the algorithm."""
    promised = (_oracle_guarantee(oracle, options), problem.formulation.guaranteed_edge(problem.template.parameters))
    return max((edge for edge in promised if edge is not None), default=None)


def _oracle_guarantee(oracle: Oracle, options: BoostOptions) -> float | None:
    """Return the edge that every answer is known to reach: the option's, or the oracle's own."""
    if options.guarantee is not None:
        return options.guarantee
    # An oracle's own is no option: it is looked at here.
    return check_optional(check_number, "guarantee", oracle.guarantee, *EDGE_DOMAIN)


def _warm_started(record: RunData, oracle: Oracle, earlier: RunData) -> RunData:
    """Return a record that begins with the hypotheses and weights of an earlier run over the same class."""
    if earlier.digest != oracle.digest:
        raise OptionError(
            f"start must be a run over the same examples and class, {oracle} with digest {oracle.digest[:12]}; got a "
            f"run over {earlier.oracle} with {earlier.digest[:12]}. Make the oracle from the same data, or leave out "
            "start."
        )
    if not earlier.pool.t:
        return record
    problem, collected, before = record.problem, ColumnPool(oracle.N), earlier.state
    collected.restore(list(earlier.pool.hypotheses), earlier.pool.margins)
    # Hypotheses that an oracle numbers by its calls would get the same numbers again.
    oracle.restore(earlier.oracle_state)
    w = before.padded_weights(collected.t)
    start = before.start if before.active is None else WarmStart(d=before.d, w=w)
    if problem.is_additive:
        w = w.clip(min=0.0)  # its steps go forward: weights of either sign were those of another program
    else:
        project = problem.edge_function.project if problem.objective is None else problem.objective.G.project
        projected = project(w)
        w = np.zeros(0) if projected is None else projected
    m = collected.margins.take_columns(np.arange(len(w))).margins(w) if len(w) else record.state.m
    at = problem.conjugate_at_margins(m)
    state = replace(record.state, w=w, m=m, d=at.d, value=problem.dual_objective(at, w), start=start)
    return replace(record, pool=collected, state=state, oracle_state=oracle.state())


def _bounds_from_guarantee(guarantee: float | None, problem: Problem) -> OracleBounds:
    """Return what is known before the first answer: every edge is at least the guarantee."""
    if guarantee is None:
        return OracleBounds()
    target = math.inf if problem.objective is None else guarantee + problem.objective.min_regularizer
    return OracleBounds(smallest_edge=guarantee, smallest_target=target)


def _from_checkpoint(
    problem: Problem,
    oracle: Oracle,
    guarantee: float | None,
    nus: Sequence[float],
    checkpoint: str | PathLike[str],
) -> RunData:
    """Return the record of a checkpoint, checked to be of this run."""
    record, _ = load(checkpoint, problem.formulation)
    before, now = record.problem.template, problem.template
    stated = text_digest(problem.formulation.stated_in)
    check_checkpoint_matches(
        checkpoint,
        ("text of the formulation", (record.page_digest or stated)[:12], stated[:12]),
        ("examples and class", record.digest, oracle.digest),
        ("update", record.problem.update, problem.update),
        ("parameters", vars(before.parameters), vars(now.parameters)),
        ("reference distribution", {"d0": before.examples.d0}, {"d0": now.examples.d0}),
        ("guarantee", record.guarantee, guarantee),
        ("nus", record.trace.nus, tuple(nus)),
    )
    try:
        oracle.restore(record.oracle_state)
    except (KeyError, TypeError, ValueError) as failure:
        raise DataError(
            f"expected the state of {oracle} in {Path(checkpoint)}; got {dict(record.oracle_state)}: "
            f"{reason_of(failure)}. Move the file away, or pass the path of a new file."
        ) from failure
    # A file is not believed what the oracle can say.
    bounds = recomputed_bounds(record.state.bounds, problem, oracle)
    # Reasons of the past do not hold any more: limits may have been raised.
    return replace(record, problem=problem, state=replace(record.state, bounds=bounds), reason="")


def check_checkpoint_matches(checkpoint: str | PathLike[str], *pairs: tuple[str, Any, Any]) -> None:
    """Raise DataError unless what a checkpoint says, the second of each three, is what this run says, the third."""
    for what, then, today in pairs:
        if not _equal(then, today):
            raise DataError(
                f"expected a checkpoint of this run in {Path(checkpoint)}, with the {what} {today}; it is of a run "
                f"with {then}. Move the file away, or pass the path of a new file."
            )


def _equal(then: Any, today: Any) -> bool:
    """Return whether numbers, strings, or arrays by their names are the same."""
    if isinstance(then, Mapping) and isinstance(today, Mapping):
        return then.keys() == today.keys() and all(np.array_equal(then[name], today[name]) for name in then)
    return bool(then == today)
