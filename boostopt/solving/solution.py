"""A solution: an answer with its outcome, verdict, certificate and raw attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from os import PathLike
from typing import Protocol, runtime_checkable

from boostopt._utils.array_types import Array, ExampleVector, HypothesisVector
from boostopt._utils.formatting import format_interval, html_table
from boostopt._utils.validation import check_seconds, check_tolerance
from boostopt.backends.base import Attempt, WarmStart
from boostopt.boosting_certificates.certificate import KKT, Certificate
from boostopt.errors import SolverFailed
from boostopt.programs.program import Program
from boostopt.solving.explanation import Explanation, explain

PHASES = ("build", "canonicalize", "solve", "recover", "certify")

POLISH_BACKEND = "interior"
"""The backend that makes a rough answer a fine one."""


class Outcome(Enum):
    """The outcome of a solve."""

    SOLVED = "solved: there is an answer, and the certificate says how good it is"
    STOPPED = "stopped: the solver stopped before its answer was an optimum; the interval holds as for any answer"
    INFEASIBLE = "infeasible: no example weights satisfy the constraints, and the certificate proves it"
    FAILED = "failed: no backend returned an answer; the interval holds without one"

    @property
    def key(self) -> str:
        """The key of the value in files."""
        return OUTCOMES[self]


class Verdict(Enum):
    """The degree to which an answer is known to be right, in ascending order."""

    NONE = "none: no solver claims an optimum, and the gap is larger than the target gap"
    CLAIMED = "claimed: the solver claims an optimum, but the gap is larger than the target gap"
    CHECKED = "checked: the raw answer satisfies the optimality conditions within the tolerance"
    BOUNDED = "bounded: the certified gap is at most the target gap, or the program is proved infeasible"

    @property
    def key(self) -> str:
        """The key of the value in files."""
        return VERDICTS[self]


OUTCOMES = {
    Outcome.SOLVED: "solved",
    Outcome.STOPPED: "stopped",
    Outcome.INFEASIBLE: "infeasible",
    Outcome.FAILED: "failed",
}
VERDICTS = {Verdict.NONE: "none", Verdict.CLAIMED: "claimed", Verdict.CHECKED: "checked", Verdict.BOUNDED: "bounded"}
"""The words for outcomes and verdicts in files."""


@dataclass(frozen=True, repr=False)
class Solution:
    """An answer with its outcome, its verdict and its certificate.

    Attributes
    ----------
    program
        The program that was solved.
    outcome, verdict
        The outcome of the solve, and the degree to which the answer is known to be right.
    backend, version
        The backend that returned the answer, and the version of its solver.
    solver_status
        The solver's own status of its best attempt. Nothing relies on it.
    certificate
        The interval that `d` and `w` prove. It holds whatever the solver did.
    tol
        The target gap.
    attempts
        The raw attempts of all backends, in order.
    best
        The attempt whose answer gave the narrowest interval.
    path
        The backends in the order in which they were tried. "<backend>, unmerged" marks a second attempt without merged
        examples, after the first one failed.
    times
        The seconds in each of `PHASES`, summed over the attempts, and "total".
    gaps
        After each attempt, the seconds since the start, and the scaled gap that the attempts up to then have proved.
    """

    program: Program
    outcome: Outcome
    verdict: Verdict
    backend: str
    version: str
    solver_status: str
    certificate: Certificate
    tol: float
    attempts: tuple[Attempt, ...]
    best: Attempt | None
    path: tuple[str, ...]
    times: Mapping[str, float]
    gaps: tuple[tuple[float, float], ...] = ()

    def __repr__(self) -> str:
        return (
            f"Solution({self.program!r}, backend={self.backend!r}, outcome={self.outcome.key}, "
            f"verdict={self.verdict.key}, solver_status={self.solver_status!r}, {self.certificate!r})"
        )

    def _repr_html_(self) -> str:
        c = self.certificate
        rows = [
            ("outcome", self.outcome.value),
            ("verdict", self.verdict.value),
            ("the optimum lies in", "infeasible" if c.infeasible else format_interval(c.lower, c.upper)),
            ("gap", f"{c.gap:.2e}, target gap {self.tol:g}"),
            ("backend", f"{self.backend} {self.version}"),
            ("the solver says", self.solver_status),
            ("attempts", len(self.attempts)),
            ("seconds", f"{self.times['total']:.3f}"),
        ]
        return html_table(self.program.headline, rows)

    @property
    def outcome_key(self) -> str:
        """The outcome, as in files."""
        return self.outcome.key

    def explain(self) -> Explanation:
        """Explain why the answer is optimal within `tol`, or which condition fails where, or why there is no answer."""
        failed = self.outcome is Outcome.FAILED
        unanswered = f"{', '.join(self.path)} returned no answer ({self._failure_reasons})" if failed else ""
        return explain(self.program, self.certificate, self.tol, unanswered)

    @property
    def _failure_reasons(self) -> str:
        """The reasons why there is no answer, in the words of the solvers."""
        reasons = dict.fromkeys(f"{a.form}: {a.error or a.status}".removeprefix(": ") for a in self.attempts)
        return "; ".join(reasons) or "no attempt was made"

    @property
    def d(self) -> ExampleVector:
        """The example weights, feasible, shape (N,)."""
        return self.certificate.d

    @property
    def w(self) -> HypothesisVector:
        """The hypothesis weights, feasible, shape (t,)."""
        return self.certificate.w

    @property
    def multipliers(self) -> Mapping[str, float | Array]:
        """The multipliers of the constraints by their names in the papers, derived from d and w alone."""
        return self.certificate.multipliers

    @property
    def start(self) -> WarmStart:
        """A point from which a solver of a related program can start."""
        return WarmStart(self.d, self.w, self.backend, self.best.state if self.best else None)

    @property
    def iterations(self) -> int | None:
        """The number of iterations over all runs of the solvers; None if no solver counts them."""
        return total_iterations(self.attempts)

    def polish(self, tol: float = 1e-9, time_limit: float | None = None) -> Solution:
        """Return a solution with a smaller gap: boostopt's own solver starts from this solution.

        Parameters
        ----------
        tol
            The scaled gap, in (0, 1).
        time_limit
            The limit in seconds; None for no limit.

        Raises
        ------
        SolverNotFound
            The solver does not support the program.
        """
        tol, time_limit = check_tolerance("tol", tol), check_seconds("time_limit", time_limit)
        if self.certificate.scaled_gap <= tol:
            return self
        return self.program.solve(POLISH_BACKEND, tol, time_limit, start=self)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the certificate with its proof. `boostopt.verify` checks the file anywhere, without a solver.

        Parameters
        ----------
        path
            The file, JSON text. If its vectors have more than 50,000 numbers in all, they go into a second file with
            ".npz" added to the name.

        Raises
        ------
        ProblemError
            F or G has neither a closed form nor a description.
        DataError
            The file cannot be written.
        """
        from boostopt.verification.certificate_writer import save

        save(self, path)

    def raise_if_failed(self) -> Solution:
        """Return the solution itself, or raise an error if there is no answer.

        Raises
        ------
        SolverFailed
            No attempt returned an answer.
        """
        if self.outcome is Outcome.FAILED:
            raise SolverFailed(
                f"expected an answer from {', '.join(self.path)}; got none ({self._failure_reasons}). "
                "Try another backend or a longer time limit."
            )
        return self


def outcome_of(certificate: Certificate, attempt: Attempt | None, verdict: Verdict) -> Outcome:
    """Return the outcome of a solve with this certificate, this best attempt and this verdict."""
    return Outcome.INFEASIBLE if certificate.infeasible else outcome_of_attempt(attempt, verdict)


def outcome_of_attempt(attempt: Attempt | None, verdict: Verdict) -> Outcome:
    """Return the outcome of a solve that proves nothing infeasible or unbounded."""
    if attempt is None:
        return Outcome.FAILED
    return Outcome.STOPPED if verdict is Verdict.NONE else Outcome.SOLVED


@runtime_checkable
class CountedAttempt(Protocol):
    """The iterations of an attempt, or of its record."""

    @property
    def iterations(self) -> int | None: ...

    @property
    def is_continuation(self) -> bool | None: ...


def total_iterations(attempts: Sequence[CountedAttempt]) -> int | None:
    """Return the number of iterations over all runs of the solvers; None if no solver counts them."""
    counts = list[int]()
    for attempt in attempts:
        if attempt.is_continuation and attempt.iterations is not None and counts:
            counts.pop()  # the attempt before, whose iterations are part of these
        counts += [] if attempt.iterations is None else [attempt.iterations]
    return sum(counts) if counts else None


@runtime_checkable
class Judgement(Protocol):
    """The numbers that decide a verdict: the scaled gap that an answer proves, and its residuals."""

    @property
    def scaled_gap(self) -> float: ...

    @property
    def kkt(self) -> KKT: ...


def verdict_of(certificate: Judgement, attempt: Attempt | None, tol: float) -> Verdict:
    """Return the highest verdict that holds."""
    if certificate.scaled_gap <= tol:
        return Verdict.BOUNDED
    if certificate.kkt.holds_within(tol):
        return Verdict.CHECKED
    return Verdict.CLAIMED if attempt is not None and attempt.claims else Verdict.NONE
