"""The initial record of a run: a new one, one with an earlier run's hypotheses, or the record of a checkpoint."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.user_modules import text_digest
from boostopt._utils.validation import check_number, check_optional
from boostopt.backends.base import WarmStart
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.column_pool import ColumnPool, check_stored_margins
from boostopt.boosting.run.run import recomputed_bounds
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.run_file import load, remove_partial_files
from boostopt.boosting.run.run_state import OracleBounds, State
from boostopt.boosting.run.trace import Trace
from boostopt.boosting.run.weight_history import History
from boostopt.errors import DataError, OptionError, reason_of, short_repr
from boostopt.oracles.base import Oracle
from boostopt.oracles.matrix_oracle import EDGE_DOMAIN
from boostopt.programs.boosting_spec import UpdateKind

MAX_ROUNDS_WITH_HISTORY = 1000
"""The largest limit of rounds up to which a corrective run stores the weights of every round by default."""


@limit_blas_threads()
def initial_record(problem: Problem, oracle: Oracle, options: BoostOptions, ignore_checkpoint: bool = False) -> RunData:
    """Return the initial record of a run: from its checkpoint if there is one, otherwise from an earlier run, if any.

    A run that continues histogram Newton starts with its hypotheses and its upper bound, and replaces its checkpoint
    (`ignore_checkpoint`).
    """
    guarantee, checkpoint = _guarantee(problem, oracle, options), options.checkpoint
    if checkpoint is not None:
        remove_partial_files(checkpoint)
        if os.path.exists(checkpoint) and not ignore_checkpoint:
            return _from_checkpoint(problem, oracle, guarantee, options.nus, checkpoint)
    N = oracle.N
    short = options.max_rounds is not None and options.max_rounds <= MAX_ROUNDS_WITH_HISTORY
    store_rounds = options.history if options.history is not None else problem.update is UpdateKind.TOTAL or short
    # An edge that an algorithm assumes is not a bound: no rule may use it.
    bounds = _bounds_from_guarantee(_oracle_guarantee(oracle, options), problem)
    record = RunData(
        problem=problem,
        pool=ColumnPool(N),
        state=_initial_state(problem, bounds),
        history=History(store_rounds),
        trace=Trace([], options.nus),
        oracle=str(oracle),
        digest=oracle.digest,
        oracle_state=oracle.state(),
        guarantee=guarantee,
        majority=oracle.majority,
        formulation_digest=text_digest(problem.formulation.source_file),
    )
    start = options.start
    return record if start is None else _warm_started(record, oracle, start.record, start.loaded)


def _bounds_with_proof(bounds: OracleBounds, proof: OracleBounds) -> OracleBounds:
    """Return the bounds with the upper bound over the class that the distribution of an earlier run proves."""
    if proof.d is None:
        return bounds
    return replace(bounds.with_upper(proof.upper, proof.d), smallest_target=proof.upper)


def _initial_state(problem: Problem, bounds: OracleBounds) -> State:
    """Return the state before the first hypothesis."""
    m = np.zeros(problem.examples.N)
    # Off the simplex, and with weights of both signs, the value of a program may be below -1.
    initial_value = problem.least_value if problem.F.on_simplex and not problem.F.signed else -math.inf
    start = State(0, np.zeros(0), m, problem.F.project(None), initial_value, problem.least_value, bounds)
    if not problem.two_sided:
        return start
    value = problem.dual_objective(problem.conjugate_at_margins(m), np.zeros(1))
    return replace(start, dual_objective=value, soft_margin=problem.least_value + 1.0)


def _guarantee(problem: Problem, oracle: Oracle, options: BoostOptions) -> float | None:
    """Return the guaranteed edge of every answer, by the option or the oracle, and by the algorithm; None if none."""
    assumption = problem.formulation.boosting.guaranteed_edge(problem.template.parameters)
    guarantees = (_oracle_guarantee(oracle, options), assumption)
    return max((edge for edge in guarantees if edge is not None), default=None)


def _oracle_guarantee(oracle: Oracle, options: BoostOptions) -> float | None:
    """Return the guaranteed edge of every answer, from the option or from the oracle; None if there is none."""
    if options.guarantee is not None:
        return options.guarantee
    # The guarantee of an oracle is not an option, so it is checked here.
    return check_optional(check_number, "guarantee", oracle.guarantee, *EDGE_DOMAIN)


def _warm_started(record: RunData, oracle: Oracle, earlier: RunData, is_loaded: bool) -> RunData:
    """Return a record that begins with the hypotheses and weights of an earlier run over the same class.

    The margins of a loaded run are compared with those of its hypotheses. The oracle is asked once, with the
    distribution that proved the upper bound of the earlier run, moved into the domain of F: epsilon has no part in the
    bound of this distribution.
    """
    if earlier.digest != oracle.digest:
        raise OptionError(
            f"start must be a run over the same examples and class, {oracle} with digest {oracle.digest[:12]}; got a "
            f"run over {earlier.oracle} with {earlier.digest[:12]}. Make the oracle from the same data, or leave out "
            "start."
        )
    if is_loaded:
        check_stored_margins(earlier.pool, oracle)
    if not earlier.pool.t:
        return record
    bounds = recomputed_bounds(earlier.state.bounds, record.problem, oracle)
    state = _initial_state(record.problem, _bounds_with_proof(record.state.bounds, bounds))
    pool = ColumnPool(oracle.N)
    pool.restore(list(earlier.pool.hypotheses), earlier.pool.margins)
    # Without its state, an oracle that numbers its hypotheses would use the same numbers again.
    oracle.restore(earlier.oracle_state)
    state = _with_weights_of(state, record.problem, pool, earlier.state)
    return replace(record, pool=pool, state=state, oracle_state=oracle.state())


def _with_weights_of(state: State, problem: Problem, pool: ColumnPool, earlier: State) -> State:
    """Return a state of a problem with the weights of an earlier state over the same hypotheses."""
    w = earlier.padded_weights(pool.t)
    start = earlier.start if earlier.active is None else WarmStart(d=earlier.d, w=w)
    if problem.is_additive:
        w = w.clip(min=0.0)  # steps are positive; weights of both signs belong to another program
    else:
        project = problem.edge_function.project if problem.objective is None else problem.objective.G.project
        projection = project(w)
        w = np.zeros(0) if projection is None else projection
    m = pool.margins.take_columns(np.arange(len(w))).margins(w) if len(w) else state.m
    conjugate = problem.conjugate_at_margins(m)
    value = problem.dual_objective(conjugate, w)
    return replace(state, w=w, m=m, d=conjugate.d, dual_objective=value, start=start)


def record_of_problem(record: RunData, problem: Problem, oracle: Oracle, options: BoostOptions) -> RunData:
    """Return the record of a run that continues with other parameters: its hypotheses, weights and rounds stay.

    The bounds are those of the new problem. The oracle is asked once, with the distribution that proved the best upper
    bound so far, moved into the domain of the new F.
    """
    bounds = _bounds_from_guarantee(_oracle_guarantee(oracle, options), problem)
    bounds = _bounds_with_proof(bounds, recomputed_bounds(record.state.bounds, problem, oracle))
    start = _initial_state(problem, bounds)
    state = replace(_with_weights_of(start, problem, record.pool, record.state), round=record.state.round)
    return replace(record, problem=problem, state=state, guarantee=_guarantee(problem, oracle, options))


def _bounds_from_guarantee(guarantee: float | None, problem: Problem) -> OracleBounds:
    """Return the bounds before the first answer: every edge is at least the guarantee."""
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
    """Return the record of a checkpoint; DataError if it belongs to another run."""
    record, _ = load(checkpoint, problem.formulation)
    saved, present = record.problem.template, problem.template
    present_digest = text_digest(problem.formulation.source_file)
    check_checkpoint_matches(
        checkpoint,
        ("text of the formulation", (record.formulation_digest or present_digest)[:12], present_digest[:12]),
        ("examples and class", *_class_texts(record, oracle)),
        ("update", record.problem.update, problem.update),
        ("parameters", vars(saved.parameters), vars(present.parameters)),
        ("reference distribution", {"d0": saved.examples.d0}, {"d0": present.examples.d0}),
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
    try:
        check_stored_margins(record.pool, oracle)
    except DataError as failure:
        raise DataError(f"expected a checkpoint of this run in {Path(checkpoint)}; {failure}") from failure
    # The oracle recomputes the bound instead of trusting the file.
    bounds = recomputed_bounds(record.state.bounds, problem, oracle)
    # The former reason is removed, because the limits may have changed.
    return replace(record, problem=problem, state=replace(record.state, bounds=bounds), reason="")


def _class_texts(record: RunData, oracle: Oracle) -> tuple[str, str]:
    """Return the digests of the class of a record and of an oracle; in words if they differ."""
    if record.digest == oracle.digest:
        return record.digest, oracle.digest
    return f"{record.oracle}, digest {record.digest}", f"{oracle}, digest {oracle.digest}"


def check_checkpoint_matches(checkpoint: str | PathLike[str], *pairs: tuple[str, Any, Any]) -> None:
    """Raise DataError unless each (name, saved value, value of this run) has equal values.

    Of mappings, the message has the entries that differ.
    """
    for name, saved, present in pairs:
        if isinstance(saved, Mapping) and isinstance(present, Mapping):
            keys = [key for key in {**present, **saved} if not _equal(saved.get(key), present.get(key))]
            is_same, texts = not keys, [_in_words(keys, values) for values in (saved, present)]
        else:
            is_same, texts = _equal(saved, present), [str(saved), str(present)]
        if not is_same:
            raise DataError(
                f"expected a checkpoint of this run in {Path(checkpoint)}, with the {name} {texts[1]}; it is of a run "
                f"with {texts[0]}. Move the file away, or pass the path of a new file."
            )


def _in_words(keys: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the values of some keys as a text."""
    return ", ".join(f"{key} = {short_repr(values.get(key))}" for key in keys)


def _equal(x: Any, y: Any) -> bool:
    """Return whether two numbers, texts or arrays are equal."""
    return bool(np.array_equal(x, y))
