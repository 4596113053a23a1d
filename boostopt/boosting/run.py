"""A run of boosting: the classifier, what it proves, and how it came about."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from boostopt.arguments import choice
from boostopt.boosting.classifier import AtZero, combined, decided
from boostopt.boosting.history import Round
from boostopt.boosting.problem import Problem
from boostopt.boosting.record import FINAL_WEIGHTS, Record
from boostopt.boosting.rules import RULES
from boostopt.boosting.saving import kind_of, load, save, warn_of_change
from boostopt.boosting.soft_margin import FEASIBLE, ClassCertificate, Goal
from boostopt.boosting.state import PAST, Bounds
from boostopt.boosting.trace import Trace
from boostopt.certificates.certificate import Certificate
from boostopt.certificates.saving import save_certificate
from boostopt.errors import OptionError
from boostopt.oracles.base import Hypothesis, Oracle, Query, check_oracle
from boostopt.programs.program import Program
from boostopt.shapes import Array, Float, Int8
from boostopt.solving.solving import solve
from boostopt.text import html_table, interval

READERS: dict[str, Callable[[str | PathLike[str], Any], Run]] = {}
"""What reads files of runs of other kinds than this class writes: whoever writes these puts it here."""

LP_TOL = 1e-9
"""Scaled gap to which the final linear program is solved."""


class Run:
    """A run of boosting.

    Attributes
    ----------
    w
        Weights of the hypotheses, shape (t,), as `final_weights` says.
    final_weights
        "program", "lp" or "scaled".
    loaded
        Whether it was read from a file.
    """

    w: Any
    final_weights: str
    loaded: bool

    def __init__(self, record: Record, w: Float[Array, " t"], final_weights: str, loaded: bool = False) -> None:
        self._record, self.w, self.final_weights, self.loaded = record, w, final_weights, loaded

    def __reduce__(self) -> Any:
        """Return what a run is made of, for pickle, and not what follows from it."""
        return Run, (self.record, self.w, self.final_weights, self.loaded)

    @property
    def record(self) -> Record:
        """All that the run is made of."""
        return self._record

    @classmethod
    def finished(cls, record: Record, final_weights: str | None, loaded: bool = False) -> Run:
        """Take the final weights of a run."""
        how = final_weights_of(record.problem, final_weights)
        return cls(record, _final(record, how), how, loaded)

    @property
    def problem(self) -> Problem:
        """What was boosted."""
        return self.record.problem

    @property
    def N(self) -> int:
        """Number of examples."""
        return self.record.collected.N

    @property
    def oracle(self) -> str:
        """The class of hypotheses that was asked, in words."""
        return self.record.oracle

    @property
    def majority(self) -> int:
        """The class of more examples, 1 or -1."""
        return self.record.majority

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        """The hypotheses collected, in the order in which they came."""
        return self.record.collected.hypotheses

    @property
    def d(self) -> Float[Array, " N"]:
        """The last distribution, shape (N,): what the oracle would be asked with next."""
        return self.record.state.d

    @property
    def rounds(self) -> int:
        """Number of updates; the number of hypotheses may be smaller."""
        return self.record.state.round

    @property
    def most_rounds(self) -> float:
        """The number of hypotheses after which the soft margin must be within epsilon; inf if theory says nothing."""
        return self.problem.most_rounds

    @property
    def influence(self) -> Float[Array, " N"]:
        """Mu of AdaBoost_REG, shape (N,): the mean weight that a copy of each example has had, by the rounds' steps.

        c . mu = 1. A large mu_n tells of an example that was hard to win: noise, perhaps.

        Raises
        ------
        OptionError
            The run is one of another algorithm, or no step was made.

        References
        ----------
        Raetsch, Onoda, Mueller 2001, between (14) and (15).
        """
        past = self.record.state.memory.get(PAST)
        if past is None:
            raise OptionError(
                "influence is of runs of AdaBoost_REG that made a step, which sum the weights of their rounds up; got "
                f"{self!r}. Take d, the last weights."
            )
        # In every round the weights of all copies sum to 1, so that c . A is the sum of the steps.
        A = np.asarray(past, dtype=np.float64)
        return A / float(self.record.problem.examples.c @ A)

    @property
    def reason(self) -> str:
        """Why the run stopped, in words."""
        return self.record.reason

    @property
    def end(self) -> str:
        """The reason without what it says besides."""
        return self.reason.partition(";")[0]

    @property
    def rules(self) -> Mapping[str, str]:
        """The stopping rules of the formulation, each with why it cannot fire or promises nothing; "" if it can."""
        problem = self.problem
        own = [RULES[name] for name in problem.rules]
        return {rule.name: rule.obstacle(problem) or rule.doubt(problem) for rule in own}

    @property
    def trace(self) -> Trace:
        """The rounds as a table."""
        return self.record.trace

    @cached_property
    def program(self) -> Program:
        """The program over the hypotheses collected; the soft margin's where the algorithm has no program over all."""
        record, problem = self.record, self.record.problem
        if self.final_weights != "program" and problem.goal is not None:
            return problem.goal.program(record.collected.margins)
        U = record.collected.margins
        return problem.program(U, record.state.as_solved.progress(problem, U.column(U.t - 1)))

    @cached_property
    def certificate(self) -> Certificate:
        """The interval of `program`, over the hypotheses collected, that the final weights prove."""
        state = self.record.state
        solved = state.certificate
        if self.final_weights == "program" and solved is not None and len(solved.w) == len(self.w):
            return solved
        d = state.bounds.d if solved is None or solved.infeasible else solved.d
        return self.program.certify(d, self.w)

    @cached_property
    def class_certificate(self) -> ClassCertificate:
        """The distance of the soft margin of the final weights from the best possible over the class.

        Of a run that was loaded only `lower` is computed anew; `upper` is as it was recorded (see `verify_class`).

        Raises
        ------
        OptionError
            The program is none of a soft margin: its value is a sum over the hypotheses.
        """
        return self._over_class(self.record.state.bounds, self.loaded and self.record.state.bounds.d is not None)

    def verify_class(self, oracle: Oracle) -> ClassCertificate:
        """Return the certificate over the class with its upper end computed anew: the oracle is asked once.

        Nothing that a file says is believed: the distribution that is to prove the bound is made feasible, and the
        oracle says what the largest edge of its class is. A run that was loaded proves with it what it proved when it
        was made. The oracle is left as it was.

        Parameters
        ----------
        oracle
            The one of the run, or one made anew from the same examples for the same class.

        Raises
        ------
        OptionError
            The oracle has other examples or another class; or the program is none of a soft margin.
        """
        check_oracle(oracle)
        record = self.record
        if oracle.digest != record.digest:
            raise OptionError(
                f"the oracle must have the examples and the class of the run, {record.oracle} with digest "
                f"{record.digest[:12]}; got {oracle} with {oracle.digest[:12]}. Make it from the same data."
            )
        return self._over_class(verified(record.state.bounds, record.problem, oracle), False)

    def _over_class(self, bounds: Bounds, recorded: bool) -> ClassCertificate:
        """Return the certificate over the class that bounds give."""
        record, goal = self.record, self.record.problem.goal
        if not record.problem.bounds_class:
            raise OptionError(
                f"{record.problem.page.name} bounds the hypotheses collected only: its value is no soft margin, and "
                "what a class of hypotheses costs does not follow from its largest edge. Use run.certificate."
            )
        what = record.problem.of_class[0].measure
        if goal is None:
            lower = self.certificate.lower
            return ClassCertificate(lower, bounds.upper, bounds.d, record.oracle, recorded, what)
        program, w = goal.program(record.collected.margins), _scaled(self.w, goal)
        # Without a closed form of F0* its bound is a tangent, best at a distribution that belongs to these weights.
        tangents = (bounds.d,) if goal.F0.exact else (bounds.d, record.state.d)
        lower = max(program.certify(d, w).lower for d in tangents)
        return ClassCertificate(lower, bounds.upper, bounds.d, record.oracle, recorded, what)

    def decision_function(self, X: Any) -> Float[Array, " n"]:
        """Return f(x) = sum_q w_q h_q(x) / sum |w| in [-1, 1] for each row of X."""
        return combined(self.hypotheses, self.w, X)

    def predict(self, X: Any, at_zero: AtZero = "majority") -> Int8[Array, " n"]:
        """Return the class -1 or 1 of each row of X.

        Parameters
        ----------
        X
            Features, as the hypotheses take them.
        at_zero
            What is predicted where f(x) = 0, up to rounding. A class closed under negation makes LPBoost return half of
            h minus half of h, which is 0 on most of a test set: by default these get the class of more training
            examples.
        """
        return decided(self.decision_function(X), at_zero, self.majority)

    def at(self, k: int) -> Round:
        """Return the run as it stood after k rounds.

        Raises
        ------
        OptionError
            There was no such round, or the weights of the rounds were not kept.
        """
        return self.record.history.at(self.record.problem, self.record.collected, k)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the run without pickle; hypotheses of foreign estimators save their columns only."""
        save(self.record, path, (self.w, self.final_weights))

    def save_certificate(self, path: str | PathLike[str], oracle: Oracle) -> None:
        """Save how far the soft margin is from the best over the class of an oracle, with what proves it.

        Parameters
        ----------
        path
            The file, JSON text; `boostopt.verify` checks it with an oracle over the same examples.
        oracle
            The oracle of the run, or one like it: it is asked once.

        Raises
        ------
        OptionError
            The oracle has other examples or another class; or the program is none of a soft margin.
        ProblemError
            F or G has no closed forms (a prototype).
        DataError
            The file cannot be written.
        """
        save_certificate("class", self, oracle, path)

    @classmethod
    def load(cls, path: str | PathLike[str], formulation: Any = None) -> Run:
        """Return a run that was saved; a formulation of one's own must be passed, by its path if it has one.

        A UserWarning says where that file has changed since. Hypotheses of one's own are read where the file that
        defines them has been imported.

        Raises
        ------
        DataError
            The file is not there, is no saved run, was made by another version, or is damaged.
        """
        if (kind := kind_of(path)) in READERS:
            return READERS[kind](path, formulation)
        record, final = load(path, formulation)
        warn_of_change(record.problem.page, record.page_digest)
        return Run.finished(record, None, loaded=True) if final is None else Run(record, *final, loaded=True)

    def __repr__(self) -> str:
        return (
            f"Run({self.problem.page.name}: {self.rounds} rounds, {len(self.w)} hypotheses, "
            f"{np.count_nonzero(self.w)} with weight; {self.reason})"
        )

    def _repr_html_(self) -> str:
        over_class = str(self.class_certificate) if self.problem.bounds_class else "no soft margin"
        rows = [
            ("stopped", self.reason),
            ("rounds", f"{self.rounds}; theory allows {self.most_rounds:g} hypotheses"),
            ("hypotheses", f"{len(self.w)}, {np.count_nonzero(self.w)} with weight"),
            ("soft margin", self.trace[-1].soft_margin if len(self.trace) else math.nan),
            ("over the class", over_class),
            *self._over_collected(),
        ]
        return html_table(self._headline, rows)

    @property
    def _headline(self) -> str:
        """The program in a line."""
        return self.program.headline

    def _over_collected(self) -> list[tuple[str, Any]]:
        """Return what is proved over the hypotheses collected, for a table."""
        its = self.certificate
        return [("over the hypotheses collected", "infeasible" if its.infeasible else interval(its.lower, its.upper))]


def verified(bounds: Bounds, problem: Problem, oracle: Oracle) -> Bounds:
    """Return bounds whose bound of the class is what the oracle says now; the oracle is left as it was."""
    nothing = replace(bounds, upper=math.inf, d=None)
    if bounds.d is None or not problem.bounds_class:
        return nothing
    d, before = problem.of_class[0].project(bounds.d), oracle.state()
    if float(np.abs(d - bounds.d).sum()) <= FEASIBLE:
        d = bounds.d
    try:
        largest = oracle.best(Query(d, 1, lambda u: 0.0)).largest
    finally:
        oracle.restore(before)
    return nothing if largest is None else nothing.lowered(*problem.class_upper(d, largest))


def final_weights_of(problem: Problem, name: str | None) -> str:
    """Return how final weights are taken: as wanted, or as the formulation says.

    Raises
    ------
    OptionError
        There is no such way, or the formulation has no soft margin whose weights were to be taken.
    """
    how = problem.page.final_weights if name is None else name
    how = choice("final_weights", how, FINAL_WEIGHTS)
    if how == "lp" and problem.goal is None:
        raise OptionError(f"{problem.page.name} has no soft margin to take the weights of; leave out final_weights.")
    return how


def _scaled(w: Float[Array, " t"], goal: Goal) -> Float[Array, " t"]:
    """Return weights with sum 1, or as they are where |w| may sum to less: scaled up they would be others."""
    total = float(np.abs(w).sum())
    return w / total if total > 0 and goal.signed else w


def _final(record: Record, how: str) -> Float[Array, " t"]:
    """Return the final weights."""
    w, goal = record.state.weights(record.collected.t), record.problem.goal
    if goal is None:
        return w
    if goal.signed and float(w.min(initial=0.0)) < 0.0:
        # A program as printed may leave the simplex; what is certified are weights that lie in it.
        projected = goal.G.project(w)
        w = np.zeros(len(w)) if projected is None else projected
    # Weights of zero are no answer where they are to lie in the simplex: no step could be made, or no better one.
    if how == "lp" or (goal.signed and not w.any()):
        return solve(goal.program(record.collected.margins), tol=LP_TOL).raise_if_failed().w
    return w if how == "program" else _scaled(w, goal)
