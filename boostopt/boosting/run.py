"""A run of boosting: the classifier, what it proves, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, Literal

import numpy as np

from boostopt.boosting.collected import Collected
from boostopt.boosting.goal import ClassCertificate
from boostopt.boosting.history import History
from boostopt.boosting.problem import Problem
from boostopt.boosting.state import State
from boostopt.boosting.trace import Trace
from boostopt.certificate import Certificate
from boostopt.errors import OptionError, unknown_name
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.base import State as OracleState
from boostopt.program import Program
from boostopt.shapes import Array, Float, Int8
from boostopt.solving import solve
from boostopt.words import html_table, interval

FINAL_WEIGHTS = ("program", "lp", "scaled")
"""How the weights of the classifier may be taken: see `Formulation.final_weights`."""

AtZero = Literal["majority", "positive", "negative"]
"""What is predicted where f(x) = 0: the class of more training examples (ties: positive), or always the same one."""

LP_TOL = 1e-9
"""Scaled gap to which the final linear program is solved."""


@dataclass(frozen=True, eq=False)
class Record:
    """All that a run is made of: what a checkpoint holds.

    Attributes
    ----------
    problem
        What was boosted.
    collected
        The hypotheses.
    state
        Where the run stands.
    history
        The weights of the rounds, where they were kept.
    trace
        The rounds as a table.
    oracle, digest, oracle_state
        The class in words, the number of examples and class, and where the oracle stood.
    guarantee
        The edge that every answer is promised to reach; None if nothing is promised.
    majority
        The class of more examples, 1 or -1.
    reason
        Why the run stopped, "" while it has not.
    """

    problem: Problem
    collected: Collected
    state: State
    history: History
    trace: Trace
    oracle: str
    digest: str
    oracle_state: OracleState
    guarantee: float | None
    majority: int
    reason: str = ""


class Run:
    """A run of boosting.

    Attributes
    ----------
    w
        Weights of the hypotheses, shape (t,), as `final_weights` says.
    final_weights
        "program", "lp" or "scaled".
    """

    def __init__(self, record: Record, w: Float[Array, " t"], final_weights: str) -> None:
        self.record, self.w, self.final_weights = record, w, final_weights

    @classmethod
    def finished(cls, record: Record, final_weights: str | None) -> Run:
        """Take the final weights of a run."""
        how = record.problem.page.final_weights if final_weights is None else final_weights
        if how not in FINAL_WEIGHTS:
            raise unknown_name("final_weights", how, FINAL_WEIGHTS)
        return cls(record, _final(record, how), how)

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
        """The number of hypotheses that theory allows at most, inf if it says nothing."""
        return self.record.problem.most_rounds

    @property
    def reason(self) -> str:
        """Why the run stopped, in words."""
        return self.record.reason

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
        return problem.program(U, record.state.progress(problem, U.column(U.t - 1)))

    @cached_property
    def certificate(self) -> Certificate:
        """The interval of `program`, over the hypotheses collected, that the final weights prove."""
        state = self.record.state
        known = state.certificate
        if self.final_weights == "program" and known is not None and len(known.w) == len(self.w):
            return known
        d = state.bounds.d if known is None or known.infeasible else known.d
        return self.program.certify(d, self.w)

    @cached_property
    def class_certificate(self) -> ClassCertificate:
        """How far the soft margin of the final weights is from the best possible over the class.

        Raises
        ------
        OptionError
            The program is none of a soft margin: its value is a sum over the hypotheses.
        """
        record, goal = self.record, self.record.problem.goal
        if goal is None:
            raise OptionError(
                f"{record.problem.page.name} bounds the hypotheses collected only: its value is no soft margin. "
                "Use run.certificate."
            )
        bounds = record.state.bounds
        lower = goal.program(record.collected.margins).certify(bounds.d, self._in_domain).lower
        return ClassCertificate(lower, bounds.upper, bounds.d, record.oracle)

    @property
    def _in_domain(self) -> Float[Array, " t"]:
        """The final weights with sum 1, or as they are where the sum may be smaller."""
        total = float(np.abs(self.w).sum())
        goal = self.record.problem.goal
        return self.w / total if total > 0 and (goal is None or goal.signed) else self.w

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
        return decided(self.decision_function(X), at_zero, self.record.majority)

    def at(self, k: int) -> Round:
        """Return the run as it stood after k rounds.

        Raises
        ------
        OptionError
            There was no such round, or the weights of the rounds were not kept.
        """
        return self.record.history.at(self.record, k)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the run without pickle; hypotheses of foreign estimators save their columns only."""
        from boostopt.boosting.saving import save

        save(self.record, path, self)

    @classmethod
    def load(cls, path: str | PathLike[str], formulation: Any = None) -> Run:
        """Return a run that was saved; a formulation of one's own must be passed.

        Raises
        ------
        DataError
            The file is not there, is no saved run, was made by another version, or is damaged.
        """
        from boostopt.boosting.saving import load_run

        return load_run(path, formulation)

    def __repr__(self) -> str:
        return (
            f"Run({self.record.problem.page.name}: {self.rounds} rounds, {len(self.w)} hypotheses, "
            f"{np.count_nonzero(self.w)} with weight; {self.reason})"
        )

    def _repr_html_(self) -> str:
        state, problem = self.record.state, self.record.problem
        over_class = str(self.class_certificate) if problem.goal is not None else "no soft margin"
        certificate = self.certificate
        rows = [
            ("stopped", self.reason),
            ("rounds", f"{self.rounds}; theory allows {self.most_rounds:g} hypotheses"),
            ("hypotheses", f"{len(self.w)}, {np.count_nonzero(self.w)} with weight"),
            ("soft margin", state.soft_margin),
            ("over the class", over_class),
            (
                "over the hypotheses collected",
                "infeasible" if certificate.infeasible else interval(certificate.lower, certificate.upper),
            ),
        ]
        return html_table(problem.first.headline, rows)


@dataclass(frozen=True, eq=False)
class Round:
    """A run after k rounds.

    Attributes
    ----------
    number
        k.
    w
        Weights of the hypotheses collected by then, shape (t_k,).
    d
        The distribution that the oracle was asked with next, shape (N,).
    program
        The program over these hypotheses.
    hypotheses
        They themselves.
    """

    number: int
    w: Float[Array, " t"]
    d: Float[Array, " N"]
    program: Program
    hypotheses: Sequence[Hypothesis] = field(repr=False)

    @cached_property
    def certificate(self) -> Certificate:
        """The interval that d and w prove for the program over these hypotheses."""
        return self.program.certify(self.d, self.w)

    def decision_function(self, X: Any) -> Float[Array, " n"]:
        """Return f(x) = sum_q w_q h_q(x) / sum |w| in [-1, 1] for each row of X."""
        return combined(self.hypotheses, self.w, X)


def combined(hypotheses: Sequence[Hypothesis], w: Float[Array, " t"], X: Any) -> Float[Array, " n"]:
    """Return sum_q w_q h_q(x) / sum |w| for each row of X."""
    active = np.flatnonzero(w)
    total = float(np.abs(w).sum())
    f = sum(
        (w[q] / total * hypotheses[q](X) for q in active.tolist()),
        start=np.zeros(X.shape[0] if len(active) == 0 else 1),
    )
    return np.clip(f, -1.0, 1.0)


ZERO = 1e-10
"""What lies closer to 0 than this is 0: weights of h and -h that cancel do so up to the accuracy of a solver."""


def decided(f: Float[Array, " n"], at_zero: AtZero, majority: int) -> Int8[Array, " n"]:
    """Return the classes of values f, zeros as named."""
    zero: Mapping[str, int] = {"majority": majority, "positive": 1, "negative": -1}
    if at_zero not in zero:
        raise unknown_name("at_zero", at_zero, zero)
    return np.where(np.abs(f) <= ZERO, zero[at_zero], np.sign(f)).astype(np.int8)


def _final(record: Record, how: str) -> Float[Array, " t"]:
    """Return the final weights."""
    w, goal = record.state.w, record.problem.goal
    w = np.concatenate([w, np.zeros(record.collected.t - len(w))])
    if how == "program" or goal is None:
        return w
    if how == "lp":
        return solve(goal.program(record.collected.margins), tol=LP_TOL).raise_if_failed().w
    total = float(np.abs(w).sum())
    return w / total if total > 0 else w
