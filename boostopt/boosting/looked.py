"""`boost` by looks: where they serve, and the run that they make."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt.backends.base import Deadline
from boostopt.boosting.asking import count_of
from boostopt.boosting.collected import Collected, Entered
from boostopt.boosting.history import History, Kept, Sparse
from boostopt.boosting.looks import COLUMNS, CONVERGED, Looking
from boostopt.boosting.looks_bounded import BoundedLooking
from boostopt.boosting.options import OPTIONS, BoostOptions
from boostopt.boosting.problem import Problem
from boostopt.boosting.progress_line import progress_line
from boostopt.boosting.reached import Glance, Reached, below
from boostopt.boosting.record import Record
from boostopt.boosting.resume import check_same, initial_record
from boostopt.boosting.run import READERS, Run
from boostopt.boosting.saving import LOOKS, kind_of, sweep, warn_of_change
from boostopt.boosting.soft_margin import ClassCertificate
from boostopt.boosting.state import Bounds, State
from boostopt.boosting.stored_looks import Checkpoint, StoredLooks, left_of
from boostopt.boosting.trace import Row, Trace
from boostopt.errors import BoostoptError, DataError, OptionError, needed
from boostopt.oracles.base import Column, Hypothesis, Oracle, check_oracle
from boostopt.oracles.left import gone
from boostopt.oracles.rows_oracle import RowsOracle
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples, made_by_page
from boostopt.rows.kernels import ONE
from boostopt.rows.rows import Rows
from boostopt.shapes import Array, Float
from boostopt.sources import text_digest
from boostopt.text import parameters_in_words
from boostopt.threads import one_thread

FINEST = 1e-5
"""The finest accuracy that looks are for: weights of examples are rounded to 2^-20 of the largest."""

LARGEST = 100_000_000
"""Margins of all hypotheses up to which steps in floating point go on where looks end."""

KNOWN = "boostopt.formulations."
"""Where the pages are whose caps are c / nu for any examples, nu being their parameter."""

FINE, SMALL = 0.005, 1000
"""Below this epsilon and this number of examples steps are faster, and looks must be asked for."""

CHEAP = 0.1
"""Share of epsilon that the entropy costs at least: a larger eta, named, is for steps, whose numbers are finer."""

NONE = 1e-6
"""Share of the examples below which those beside nu are none: all weights are equal then, and entropy costs nothing."""

SERVED = (
    "max_rounds",
    "time_limit",
    "columns_per_round",
    "history",
    "at_zero",
    "checkpoint",
    "checkpoint_rounds",
    "checkpoint_seconds",
    "progress",
)
"""The options that runs of looks know, or that say nothing to them; others are for steps in floating point."""


def preferred(page: Formulation[Any], oracle: Oracle, epsilon: object, backend: object) -> bool:
    """Return whether looks, where they serve, are the default: no backend is named, and steps are not faster.

    Steps are faster for few examples and a fine accuracy.
    """
    fine = isinstance(epsilon, float | int) and epsilon < FINE
    slower = fine and isinstance(oracle, RowsOracle) and not oracle.only_looks and oracle.N < SMALL
    return page.update == "total" and isinstance(backend, str) and backend == "auto" and not slower


def by_looks(
    page: Formulation[Any],
    oracle: Oracle,
    epsilon: float | None,
    settings: Mapping[str, Any],
    options: BoostOptions,
) -> LookedRun | None:
    """Return the run of a formulation by looks at the rows; None where these do not serve.

    Raises
    ------
    BoostoptError
        The examples are out of reach for other steps, and a parameter is wrong.
    """
    found = looked_at(page, oracle, epsilon, settings, options)
    return None if found is None else LookedRun.of(*found, options)


def looked_at(
    page: Formulation[Any],
    oracle: Oracle,
    epsilon: float | None,
    settings: Mapping[str, Any],
    options: BoostOptions,
) -> tuple[Problem, float, RowsOracle, Rows] | None:
    """Return the problem with counted examples, nu, the oracle and its rows; None where looks do not serve.

    They serve Newton steps over an oracle of rows: for a smooth regularizer, a sum over the examples that knows these
    by their multiplicities alone, on a capped simplex, and an epsilon of 1e-5 or more; with the largest edge, where the
    entropy costs at most half of that, or with a bound of the edges.

    Raises
    ------
    BoostoptError
        The examples are out of reach for other steps, and a parameter is wrong.
    """
    if not isinstance(oracle, RowsOracle) or not _serve(settings, options):
        return None
    try:
        found = counted(page, oracle, epsilon, settings)
    except BoostoptError:
        if oracle.only_looks:
            raise
        return None  # the problem of all examples tells what is wrong, or is one that two of them do not stand for
    rows = None if found is None else oracle.rows
    return None if found is None or rows is None else (*found, oracle, rows)


def counted(
    page: Formulation[Any], oracle: RowsOracle, epsilon: float | None, settings: Mapping[str, Any]
) -> tuple[Problem, float] | None:
    """Return the problem, of two examples that stand for all where the page is known, and nu; None for no looks.

    One of the two stands for nu examples, which hold all weight at the cap, and the other one for all others. The
    entropy then costs what it costs among all of them: it is largest there [theorem 13]. A page of somebody else may
    make its caps of other things than the sum of c: its problem is made of all examples.
    """
    total = oracle.total

    def made(c: Float[Array, " n"]) -> Problem:
        problem = Problem.of(page, c, None, epsilon, "newton", settings)
        _ = problem.at(np.zeros(len(c))), problem.affordable
        problem.softened(0, Examples(np.array([total]), np.ones(1))).conjugate_at(np.zeros(1))
        return problem

    def of(c: Float[Array, " n"]) -> Problem:
        # A page may tell examples apart by numbers of its own, which do not fit to others.
        return made_by_page(page.name, "regularizer", lambda: made(c), Problem)

    problem = of(standing_for(page, oracle, total))
    nu = count_of(problem)
    if nu is None:
        return None
    c = standing_for(page, oracle, nu)
    problem = problem if np.array_equal(c, problem.examples.c) else of(c)
    if problem.epsilon < FINEST:
        return None
    if problem.edges.edge_bound is not None:
        return (problem, nu) if page.final_weights == "scaled" else None
    fit = page.final_weights == "program" and problem.affordable
    return (problem, nu) if fit and not (settings.get("eta") and problem.F.price < CHEAP * problem.epsilon) else None


def standing_for(page: Formulation[Any], oracle: RowsOracle, nu: float) -> Float[Array, " n"]:
    """Return the multiplicities of examples that stand for all: two where the page is known, else these themselves."""
    total = oracle.total
    if not type(page).__module__.startswith(KNOWN):
        return oracle.c
    return np.array([nu, total - nu]) if total - nu > NONE * total else np.array([total, total]) / 2


def going_on(run: LookedRun, options: BoostOptions) -> BoostOptions:
    """Return the options of a run that goes on where looks have ended."""
    most, limit = options.max_rounds, options.time_limit
    return replace(
        options,
        start=run,
        columns_per_round=max(options.columns_per_round, COLUMNS),
        max_rounds=None if most is None else max(most - run.rounds, 1),
        time_limit=None if limit is None else max(limit - run.looks[-1].seconds, 1e-3),
    )


def _serve(settings: Mapping[str, Any], options: BoostOptions) -> bool:
    """Return whether looks know the options, and no parameter tells examples apart."""
    default = BoostOptions()
    known = all(getattr(options, name) == getattr(default, name) for name in OPTIONS if name not in SERVED)
    file = options.checkpoint
    if file is not None and Path(file).exists() and kind_of(file) != LOOKS:
        return False  # a run goes on as it was begun
    return known and all(np.ndim(value) == 0 for value in settings.values())


class Distribution:
    """What makes the distribution that proves the upper end of a run; stored, it is that distribution."""

    def __init__(self, run: LookedRun) -> None:
        self._run = run

    @property
    def elsewhere(self) -> bool:
        """Whether the rows are on a cluster, or gone: then it is as long as what is elsewhere."""
        return self._run.only_looks

    def __call__(self) -> Float[Array, " N"]:
        return self._run.distribution()

    def __reduce__(self) -> Any:
        return (Distribution, (self._run,)) if self._run.only_looks else (partial, (same, self()))


def same(d: Float[Array, " N"]) -> Float[Array, " N"]:
    """Return a distribution."""
    return d


class LookedRun(Run):
    """A run of looks: what is as long as the rows is made when it is asked for.

    Attributes
    ----------
    looks
        A line about each look, those at samples included.
    stored_looks
        What of it is not as long as the rows.
    """

    def __init__(self, stored: StoredLooks, oracle: RowsOracle, rows: Rows | None, keeps: bool = True) -> None:
        reached = stored.reached
        W = needed(reached.ends.W, "weights")
        self.w = np.concatenate([W, np.zeros(len(reached.splits) - len(W), W.dtype)]) / ONE
        self.final_weights, self.loaded = stored.problem.page.final_weights, rows is None
        self.looks: Sequence[Glance] = tuple(reached.glances)
        self._trace = trace_of(reached.glances, stored.oracle.N)
        rounds = zip(reached.kept, self._trace["smallest_edge"].tolist(), strict=True)
        self._history = [Kept(len(w), Sparse.of(w), None, smallest) for w, smallest in rounds]
        self.stored_looks, self._oracle, self._rows, self._keeps = stored, oracle, rows, keeps

    @classmethod
    def of(cls, problem: Problem, nu: float, oracle: RowsOracle, rows: Rows, options: BoostOptions) -> LookedRun:
        """Look until both ends are near enough, or a limit is reached; from a checkpoint on if there is one.

        Raises
        ------
        DataError
            The checkpoint is of other data, of other parameters, or unreadable.
        """
        begun, deadline = _begun(problem, nu, oracle, rows, options), Deadline.after(options.time_limit)
        trace = Trace([]) if begun is None else trace_of(begun.glances, oracle.N)
        digest = text_digest(problem.page.stated_in)

        def stored(reached: Reached, reason: str = "") -> StoredLooks:
            hypotheses = [oracle.hypothesis(split) for split in reached.splits]
            without = replace(reached, ends=replace(reached.ends, kept=None))
            return StoredLooks(problem, left_of(oracle), hypotheses, without, reason, digest)

        with one_thread(), progress_line(options.progress, problem.page.name) as show:

            def seen(glance: Glance) -> None:
                row = _row(glance, trace)
                trace.add(row)
                if show is not None:
                    show(row)

            checkpoint = Checkpoint(options, stored)
            kind = Looking if problem.edges.edge_bound is None else BoundedLooking
            looking = kind(problem, rows, nu, oracle.reflexive, options, deadline, seen, checkpoint.saw, begun)
            looking.run()
        checkpoint.ended()
        return cls(stored(looking.reached, looking.reason), oracle, rows, options.history is not False)

    @classmethod
    def stored(cls, path: str | PathLike[str], formulation: Any = None) -> LookedRun:
        """Return a run that was saved without its rows.

        Raises
        ------
        DataError
            The file is not there, is no saved run of looks, was made by another version, or is damaged; or no look at
            all rows had been made.
        """
        found = StoredLooks.load(path, formulation)
        warn_of_change(found.problem.page, found.page_digest)
        if found.reached.ends.W is None:
            raise DataError(
                f"expected a run that has looked at all rows in {os.fspath(path)}; got one that has just begun. Go on "
                "with it: the same call, with the file as its checkpoint."
            )
        return cls(found, found.oracle, None)

    def __reduce__(self) -> Any:
        """Return the run as any other one; of rows on a cluster all but these."""
        if not self.only_looks:
            return Run, (self.record, self.w, self.final_weights, True)
        return LookedRun, (self.stored_looks, self.stored_looks.oracle, None, self._keeps)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the run; with the margins of its hypotheses, unless these are many or on a cluster.

        Without them the file takes some kB; what is as long as the rows is not in it, and `verify_class` tells both
        ends anew from the oracle.
        """
        if self.only_looks or not self._small:
            self.stored_looks.save(path)
        else:
            super().save(path)

    def verify_class(self, oracle: Oracle) -> ClassCertificate:
        check_oracle(oracle)
        rows = oracle.rows if isinstance(oracle, RowsOracle) else None
        if rows is None or not isinstance(oracle, RowsOracle):
            return super().verify_class(oracle)
        stored = self.stored_looks
        then, now = stored.oracle, left_of(oracle)
        try:
            if (str(then), then.N, then.total) != (str(now), now.N, now.total):
                raise ValueError(f"{now} of {now.N} examples")
            ends = stored.told_anew(oracle, rows, self._nu)
        except ValueError as failure:
            raise OptionError(
                f"the oracle must have the examples and the class of the run, {then} of {then.N} examples; got "
                f"{failure}. Make it from the same data."
            ) from failure
        again = replace(stored, reached=replace(stored.reached, ends=replace(ends, kept=None)))
        return LookedRun(again, oracle, rows).class_certificate

    @property
    def _nu(self) -> float:
        """The count whose smallest margins the soft margin is the mean of."""
        return needed(count_of(self._counted), "a cap")

    @property
    def _counted(self) -> Problem:
        """What was boosted, with examples that stand for all."""
        return self.stored_looks.problem

    @property
    def _small(self) -> bool:
        """Whether the margins of all hypotheses are few."""
        return self._oracle.N * len(self.hypotheses) <= LARGEST

    @property
    def only_looks(self) -> bool:
        """Whether the rows are on a cluster."""
        return self._oracle.only_looks

    @property
    def unfinished(self) -> bool:
        """Whether steps in floating point are to go on from here."""
        return self.reason == CONVERGED and self._small and not self.only_looks

    @cached_property
    def problem(self) -> Problem:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What was boosted, all examples told apart; where they are out of reach, with two that stand for them."""
        its = self._counted
        if self.only_looks:
            return its
        return Problem.of(its.page, self._oracle.c, None, its.epsilon, its.update, its.settings)

    @property
    def most_rounds(self) -> float:
        return self._counted.most_rounds

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        return self.stored_looks.hypotheses

    @property
    def rounds(self) -> int:
        return len(self._trace)

    @property
    def reason(self) -> str:
        return self.stored_looks.reason

    @property
    def trace(self) -> Trace:
        return self._trace

    @property
    def N(self) -> int:
        return self._oracle.N

    @property
    def oracle(self) -> str:
        return str(self._oracle)

    @property
    def majority(self) -> int:
        return self._oracle.majority

    @cached_property
    def class_certificate(self) -> ClassCertificate:
        """Both ends are rational numbers here: they are rounded outwards, and there is no other slack."""
        ends = self.stored_looks.reached.ends
        return ClassCertificate(below(ends.lower), ends.upper, Distribution(self), str(self._oracle), self.loaded)

    def distribution(self) -> Float[Array, " N"]:
        """The distribution that proves the upper end, rounded to float64."""
        proof, rows = needed(self.stored_looks.reached.ends.proof, "an upper end"), self._rows
        if rows is None:
            raise gone()
        return rows.weights(rows.scores(proof.splits, proof.W), proof.window, proof.table) / proof.total

    @property
    def _headline(self) -> str:
        page, parameters = self._counted.page.name, parameters_in_words(self._counted.first.parameters)
        return f"{page}: N = {self._oracle.N}, t = {len(self.w)}, {parameters}"

    def _over_collected(self) -> list[tuple[str, Any]]:
        """Nothing: it would take the margins of all hypotheses."""
        return []

    @property
    def record(self) -> Record:
        """All that the run is made of, as of any other one: with the margins of all hypotheses."""
        return self._whole

    @cached_property
    def _whole(self) -> Record:
        problem, oracle = self.problem, self._oracle
        collected = Collected(oracle.N)
        for hypothesis in self.hypotheses:
            margins = needed(oracle.margins_of(hypothesis), "the margins of a hypothesis of the class")
            collected.add(Entered.of(Column(hypothesis, margins, math.nan), oracle.N))
        w = self.stored_looks.reached.ends.total * self.w
        m = collected.margins.margins(w)
        at, certificate = problem.at(m), self.class_certificate
        upper, last = certificate.upper, self._trace[-1]
        bounds = Bounds(last.edge, last.smallest_edge, last.smallest_edge, upper=upper, d=certificate.d)
        state = State(self.rounds, w, m, at.d, math.nan, -1.0, bounds).judged(problem.goal, collected)
        G = problem.edges_in(state.progress(problem, collected.margins.column(collected.t - 1)))
        state = replace(state, value=problem.value(at, w, G))
        return replace(
            initial_record(problem, oracle, BoostOptions(history=False)),
            history=History(self._keeps, self._history if self._keeps else []),
            collected=collected,
            state=replace(state, solved_edge=bounds.smallest_edge),
            trace=self._trace,
            reason=self.reason,
        )


def _begun(problem: Problem, nu: float, oracle: RowsOracle, rows: Rows, options: BoostOptions) -> Reached | None:
    """Return what a checkpoint has reached, told anew by the rows; None for a new run."""
    checkpoint = options.checkpoint
    if checkpoint is None:
        return None
    sweep(checkpoint)
    if not Path(checkpoint).exists():
        return None
    stored, stated = StoredLooks.load(checkpoint, problem.page), text_digest(problem.page.stated_in)
    check_same(
        checkpoint,
        ("text of the formulation", (stored.page_digest or stated)[:12], stated[:12]),
        ("class", str(stored.oracle), str(oracle)),
        ("number of examples", stored.oracle.N, oracle.N),
        ("parameters", vars(stored.problem.first.parameters), vars(problem.first.parameters)),
    )
    try:
        ends = stored.told_anew(oracle, rows, nu)
    except ValueError as failure:
        raise DataError(
            f"expected a checkpoint of this run in {Path(checkpoint)}; it is of other examples: {failure}. Move it "
            "away, or pass the path of a new file."
        ) from failure
    reached = stored.reached
    level = min(reached.stand.level, problem.levels)
    return replace(reached, ends=ends, stand=replace(reached.stand, level=level))


def trace_of(glances: Sequence[Glance], N: int) -> Trace:
    """Return the looks at all N rows as a trace."""
    trace = Trace([])
    for glance in glances:
        if glance.rows == N and glance.hypotheses:
            trace.add(_row(glance, trace))
    return trace


def _row(glance: Glance, trace: Trace) -> Row:
    """Return a look at all rows as a line of the trace."""
    smallest = min(glance.edge, trace[-1].smallest_edge) if len(trace) else glance.edge
    return Row(
        round=len(trace) + 1,
        hypotheses=glance.hypotheses,
        edge=glance.edge,
        smallest_edge=smallest,
        upper=glance.upper,
        soft_margin=glance.lower,
        value=glance.value,
        active=glance.active,
        zero_share=math.nan,
        test_error=math.nan,
        oracle_seconds=glance.edges_seconds,
        update_seconds=glance.seconds - (trace[-1].seconds if len(trace) else 0.0) - glance.edges_seconds,
        seconds=glance.seconds,
        backend="",
    )


READERS[LOOKS] = LookedRun.stored
