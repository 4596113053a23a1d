"""An answer and what is known about it: outcome, verdict, certificate, every raw attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from os import PathLike

from boostopt.arguments import seconds, tolerance
from boostopt.backends.base import Attempt, WarmStart
from boostopt.certificates.certificate import Certificate
from boostopt.certificates.saving import save_certificate
from boostopt.errors import SolverFailed
from boostopt.programs.program import Program
from boostopt.shapes import Array, Float
from boostopt.solving.explanation import Explanation, explain
from boostopt.text import html_table, interval

PHASES = ("build", "canonicalize", "solve", "recover", "certify")

POLISHER = "interior"
"""The backend that makes a rough answer a fine one."""


class Outcome(Enum):
    """The outcome of a solve."""

    SOLVED = "solved: there is an answer, and the certificate says how good it is"
    INFEASIBLE = "infeasible: no example weights satisfy the constraints, and the certificate proves it"
    FAILED = "failed: no backend left an answer; the interval is what holds without one"


class Verdict(Enum):
    """The degree to which an answer is known to be right, from nothing upwards."""

    NONE = "none: no solver claims an optimum and the interval is wider than asked"
    CLAIMED = "claimed: the solver says optimal, the interval does not"
    CHECKED = "checked: the raw answer satisfies the optimality conditions within the tolerance"
    BOUNDED = "bounded: the certified interval is as narrow as asked, or it is proved that the program is infeasible"


@dataclass(frozen=True, repr=False)
class Solution:
    """An answer and what is known about it.

    Attributes
    ----------
    program
        The program that was solved.
    outcome, verdict
        What the solve came to; how much is known about the answer.
    backend, version
        The backend whose answer this is, and the version of its solver.
    solver_status
        The solver's own words about its best attempt: hearsay.
    certificate
        The interval that holds whatever the solver did, proved by `d` and `w`.
    tol
        The scaled gap that was asked for.
    attempts
        All attempts in order, raw, over all backends that were tried.
    best
        The attempt whose answer gave the narrowest interval.
    path
        The backends tried, in order; "<backend>, unmerged" where equal examples were merged in vain.
    times
        Seconds in each of `PHASES`, summed over the attempts, and "total".
    gaps
        After each attempt the seconds since the beginning, and the scaled gap that all until then have proved.
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
            f"Solution({self.program!r}, backend={self.backend!r}, outcome={self.outcome.name.lower()}, "
            f"verdict={self.verdict.name.lower()}, solver_status={self.solver_status!r}, {self.certificate!r})"
        )

    def _repr_html_(self) -> str:
        c = self.certificate
        rows = [
            ("outcome", self.outcome.value),
            ("verdict", self.verdict.value),
            ("the optimum lies in", "infeasible" if c.infeasible else interval(c.lower, c.upper)),
            ("gap", f"{c.gap:.2e}, asked for {self.tol:g}"),
            ("backend", f"{self.backend} {self.version}"),
            ("the solver says", self.solver_status),
            ("attempts", len(self.attempts)),
            ("seconds", f"{self.times['total']:.3f}"),
        ]
        return html_table(self.program.headline, rows)

    def explain(self) -> Explanation:
        """Say why the answer is optimal within `tol`, or which condition fails and where, or why there is none."""
        unanswered = f"{', '.join(self.path)} left none ({self._reasons})" if self.outcome is Outcome.FAILED else ""
        return explain(self.program, self.certificate, self.tol, unanswered)

    @property
    def _reasons(self) -> str:
        """Why there is no answer, in the words of the solvers."""
        reasons = dict.fromkeys(f"{a.form}: {a.error or a.status}".removeprefix(": ") for a in self.attempts)
        return "; ".join(reasons) or "no attempt was made"

    @property
    def d(self) -> Float[Array, " N"]:
        """Example weights, feasible."""
        return self.certificate.d

    @property
    def w(self) -> Float[Array, " t"]:
        """Hypothesis weights, feasible."""
        return self.certificate.w

    @property
    def multipliers(self) -> Mapping[str, float | Array]:
        """Multipliers of the constraints by their name in the papers, derived from d and w and not the solver's."""
        return self.certificate.multipliers

    @property
    def start(self) -> WarmStart:
        """The point where a solver of a related program may begin."""
        return WarmStart(self.d, self.w, self.backend, self.best.state if self.best else None)

    @property
    def iterations(self) -> int | None:
        """Iterations over all attempts, None where no solver counts them."""
        counts = [attempt.iterations for attempt in self.attempts if attempt.iterations is not None]
        return sum(counts) if counts else None

    def polish(self, tol: float = 1e-9, time_limit: float | None = None) -> Solution:
        """Return a solution within a finer tolerance, by boostopt's own solver that begins at this one.

        Parameters
        ----------
        tol
            Scaled gap wanted, in (0, 1).
        time_limit
            Seconds; None for no limit.

        Raises
        ------
        SolverNotFound
            The program is not one that the solver takes.
        """
        tol, time_limit = tolerance("tol", tol), seconds("time_limit", time_limit)
        if self.certificate.scaled_gap <= tol:
            return self
        return self.program.solve(POLISHER, tol, time_limit, start=self)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the certificate with what proves it: `boostopt.verify` checks it elsewhere, without a solver.

        Parameters
        ----------
        path
            The file, JSON text; vectors of more than 50,000 numbers in all are put into one with ".npz" added to its
            name.

        Raises
        ------
        ProblemError
            F or G has no closed forms (a prototype).
        DataError
            The file cannot be written.
        """
        save_certificate("program", self, path)

    def raise_if_failed(self) -> Solution:
        """Return the solution itself.

        Raises
        ------
        SolverFailed
            No attempt left an answer.
        """
        if self.outcome is Outcome.FAILED:
            raise SolverFailed(
                f"expected an answer from {', '.join(self.path)}; got none ({self._reasons}). "
                "Try another backend or a longer time limit."
            )
        return self


def outcome_of(certificate: Certificate, attempt: Attempt | None) -> Outcome:
    """Return what the solve came to."""
    if certificate.infeasible:
        return Outcome.INFEASIBLE
    return Outcome.SOLVED if attempt else Outcome.FAILED


def verdict_of(certificate: Certificate, attempt: Attempt | None, tol: float) -> Verdict:
    """Return the highest step of the ladder that holds."""
    if certificate.scaled_gap <= tol:
        return Verdict.BOUNDED
    if certificate.kkt.holds(tol):
        return Verdict.CHECKED
    return Verdict.CLAIMED if attempt is not None and attempt.claims else Verdict.NONE
