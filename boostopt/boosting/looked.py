"""`boost` by looks: where they serve, and the run that they make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from boostopt.backends.base import Deadline
from boostopt.boosting.collected import Collected, Entered
from boostopt.boosting.history import History, Kept, Sparse
from boostopt.boosting.looks import COLUMNS, CONVERGED, Glance, Looking, below, count_of
from boostopt.boosting.options import OPTIONS, BoostOptions
from boostopt.boosting.problem import Problem
from boostopt.boosting.progress_line import progress_line
from boostopt.boosting.record import Record
from boostopt.boosting.resume import initial_record
from boostopt.boosting.run import Run
from boostopt.boosting.soft_margin import ClassCertificate
from boostopt.boosting.state import Bounds, State
from boostopt.boosting.trace import Row, Trace
from boostopt.errors import BoostoptError, needed
from boostopt.oracles.base import Column, Hypothesis, Oracle
from boostopt.oracles.left import Left, gone
from boostopt.oracles.rows_oracle import RowsOracle
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples, made_by_page
from boostopt.rows.kernels import ONE
from boostopt.rows.rows import Rows
from boostopt.shapes import Array, Float
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

SERVED = ("max_rounds", "time_limit", "columns_per_round", "history", "at_zero", "checkpoint_rounds", "progress")
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
    by their multiplicities alone, on a capped simplex, whose entropy costs at most half of an epsilon of 1e-5 or more.

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

    halves = np.array([total, total]) / 2
    known = type(page).__module__.startswith(KNOWN)
    problem = of(halves if known else oracle.c)
    nu = count_of(problem)
    if nu is None:
        return None
    if known and total - nu > NONE * total:
        problem = of(np.array([nu, total - nu]))
    fit = page.final_weights == "program" and problem.epsilon >= FINEST and problem.affordable
    return (problem, nu) if fit and not (settings.get("eta") and problem.F.price < CHEAP * problem.epsilon) else None


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
    return known and all(np.ndim(value) == 0 for value in settings.values())


class Distribution:
    """What makes the distribution that proves the upper end of a run; stored, it is that distribution."""

    def __init__(self, run: LookedRun) -> None:
        self._run = run

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
    """

    def __init__(
        self,
        problem: Problem,
        oracle: RowsOracle,
        looking: Looking,
        trace: Trace,
        hypotheses: Sequence[Hypothesis],
        keeps: bool,
    ) -> None:
        self.w = looking.weights / ONE
        self.final_weights, self.loaded = "program", False
        self.looks: Sequence[Glance] = tuple(looking.glances)
        rounds = zip(looking.kept, trace["smallest_edge"].tolist(), strict=True)
        self._history = [Kept(len(W), Sparse.of(W / ONE), None, smallest) for W, smallest in rounds]
        self._keeps = keeps
        self._rows: Rows | None = looking.rows
        self._counted, self._oracle, self._trace = problem, oracle, trace
        self._ends = looking.ends
        self._hypotheses, self._reason = hypotheses, looking.reason

    @classmethod
    def of(cls, problem: Problem, nu: float, oracle: RowsOracle, rows: Rows, options: BoostOptions) -> LookedRun:
        """Look until both ends are near enough, or a limit is reached."""
        trace, deadline = Trace([]), Deadline.after(options.time_limit)
        with one_thread(), progress_line(options.progress, problem.page.name) as show:

            def seen(glance: Glance) -> None:
                row = _row(glance, trace)
                trace.add(row)
                if show is not None:
                    show(row)

            looking = Looking(problem, rows, nu, oracle.reflexive, options, deadline, seen)
            looking.run()
        hypotheses = [oracle.hypothesis(split) for split in looking.splits]
        return cls(problem, oracle, looking, trace, hypotheses, options.history is not False)

    def __reduce__(self) -> Any:
        """Return the run as any other one; of rows on a cluster all but these."""
        oracle = self._oracle
        if not oracle.only_looks:
            return Run, (self.record, self.w, self.final_weights, True)
        ends = replace(self._ends, kept=None)
        left = Left(str(oracle), oracle.N, oracle.total, oracle.majority, oracle.reflexive)
        return LookedRun.__new__, (LookedRun,), {**vars(self), "_oracle": left, "_rows": None, "_ends": ends}

    @property
    def only_looks(self) -> bool:
        """Whether the rows are on a cluster."""
        return self._oracle.only_looks

    @property
    def unfinished(self) -> bool:
        """Whether steps in floating point are to go on from here."""
        small = self._oracle.N * len(self._hypotheses) <= LARGEST
        return self._reason == CONVERGED and small and not self._oracle.only_looks

    @cached_property
    def problem(self) -> Problem:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What was boosted, all examples told apart; where they are out of reach, with two that stand for them."""
        its = self._counted
        if self._oracle.only_looks:
            return its
        return Problem.of(its.page, self._oracle.c, None, its.epsilon, its.update, its.settings)

    @property
    def most_rounds(self) -> float:
        return self._counted.most_rounds

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        return self._hypotheses

    @property
    def rounds(self) -> int:
        return len(self._trace)

    @property
    def reason(self) -> str:
        return self._reason

    @property
    def trace(self) -> Trace:
        return self._trace

    @property
    def oracle(self) -> str:
        return str(self._oracle)

    @property
    def majority(self) -> int:
        return self._oracle.majority

    @cached_property
    def class_certificate(self) -> ClassCertificate:
        """Both ends are rational numbers here: they are rounded outwards, and there is no other slack."""
        proof = needed(self._ends.proof, "an upper end")
        lower, upper = below(self._ends.lower), -below(-proof.upper)
        return ClassCertificate(lower, upper, Distribution(self), str(self._oracle))

    def distribution(self) -> Float[Array, " N"]:
        """The distribution that proves the upper end, rounded to float64."""
        proof, rows = needed(self._ends.proof, "an upper end"), self._rows
        if rows is None:
            raise gone()
        return rows.weights(rows.scores(proof.splits, proof.W), proof.law.window, proof.law.table) / proof.law.total

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
        for hypothesis in self._hypotheses:
            margins = needed(oracle.margins_of(hypothesis), "the margins of a hypothesis of the class")
            collected.add(Entered.of(Column(hypothesis, margins, math.nan), oracle.N))
        m = collected.margins.margins(self.w)
        at, certificate = problem.at(m), self.class_certificate
        upper, last = certificate.upper, self._trace[-1]
        bounds = Bounds(last.edge, last.smallest_edge, last.smallest_edge, upper=upper, d=certificate.d)
        value = problem.value(at, self.w)
        state = State(self.rounds, self.w, m, at.d, value, -1.0, bounds).judged(problem.goal, collected)
        return replace(
            initial_record(problem, oracle, BoostOptions(history=False)),
            history=History(self._keeps, self._history if self._keeps else []),
            collected=collected,
            state=replace(state, solved_edge=bounds.smallest_edge),
            trace=self._trace,
            reason=self._reason,
        )


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
