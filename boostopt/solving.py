"""One program, one answer: a backend's attempts, certified one by one until the interval is narrow enough."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Attempt, Backend, Deadline
from boostopt.certificate import Certificate
from boostopt.errors import OptionError, ProblemError, SolverFailed, SolverNotFound
from boostopt.explanation import Explanation, explain
from boostopt.program import Program
from boostopt.shapes import Array, Float
from boostopt.words import html_table, interval

PHASES = ("build", "canonicalize", "solve", "recover", "certify")

AUTO_ORDER = {
    frozenset({"linear"}): ("cvxpy:highs", "cvxpy:clarabel", "cvxpy:scs"),
    frozenset({"linear", "exponential"}): ("cvxpy:clarabel", "cvxpy:scs"),
}
"""What "auto" tries, by the cones of the program; then any other backend that takes it."""


class Outcome(Enum):
    """What a solve came to."""

    SOLVED = "solved: there is an answer, and the certificate says how good it is"
    INFEASIBLE = "infeasible: no example weights satisfy the constraints, and the certificate proves it"
    FAILED = "failed: no backend left an answer; the interval is what holds without one"


class Verdict(Enum):
    """How much is known about an answer, from nothing upwards."""

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
        The backends tried, in order.
    times
        Seconds in each of `PHASES`, summed over the attempts, and "total".
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
        """Say why the answer is optimal within `tol`, or which condition fails and where."""
        return explain(self.program, self.certificate, self.tol)

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
    def iterations(self) -> int | None:
        """Iterations over all attempts, None where no solver counts them."""
        counts = [attempt.iterations for attempt in self.attempts if attempt.iterations is not None]
        return sum(counts) if counts else None

    def raise_if_failed(self) -> Solution:
        """Return the solution itself.

        Raises
        ------
        SolverFailed
            No attempt left an answer.
        """
        if self.outcome is Outcome.FAILED:
            reasons = "; ".join(f"{a.form}: {a.error or a.status}" for a in self.attempts) or "no attempt was made"
            raise SolverFailed(
                f"expected an answer from {', '.join(self.path)}; got none ({reasons}). "
                "Try another backend or a longer time limit."
            )
        return self


def solve(
    program: Program,
    backend: str | Backend = "auto",
    tol: float = 1e-8,
    time_limit: float | None = None,
) -> Solution:
    """Solve a program and certify the answer.

    The backend's attempts, in different forms and accuracies, are made feasible and certified one after another
    until the gap over max(1, |lower|, |upper|) is at most `tol`. No status decides anything.

    Parameters
    ----------
    program
        What to solve.
    backend
        A name from `list_backends()`, a backend, or "auto": the backends that take the program, in order of trust,
        until one reaches `tol`.
    tol
        Scaled gap wanted, in (0, 1).
    time_limit
        Seconds after which no attempt is started; what is left is passed on to the solvers. None for no limit.

    Returns
    -------
    The solution; also where the solver failed (`outcome`, `verdict` and the certificate say what holds then).

    Raises
    ------
    OptionError
        Unknown backend, or a tolerance or a time limit out of range.
    SolverNotFound
        The backend is not installed or cannot take the program.
    """
    check_limits(tol, time_limit)
    check_program(program)
    deadline = Deadline.after(time_limit)
    backends = _in_order(program) if backend == "auto" else [_able(get_backend(backend), program)]
    times: dict[str, float] = {phase: 0.0 for phase in PHASES}
    start = time.perf_counter()
    best, attempts, path = _Best(program, times), list[Attempt](), list[str]()
    for candidate in backends:
        path.append(candidate.name)
        for attempt in candidate.attempts(program, tol, deadline):
            attempts.append(attempt)
            for phase, seconds in attempt.times.items():
                times[phase] += seconds
            if attempt.answered:
                best.offer(candidate, attempt)
            if best.certificate is not None and best.certificate.scaled_gap <= tol:
                break
        if deadline.passed or (best.certificate is not None and best.certificate.scaled_gap <= tol):
            break
    certificate = best.certificate or program.certify()
    times["total"] = time.perf_counter() - start
    origin = best.backend or backends[0]
    return Solution(
        program=program,
        outcome=_outcome(certificate, best.attempt),
        verdict=_verdict(certificate, best.attempt, tol),
        backend=origin.name,
        version=origin.version,
        solver_status=best.attempt.status if best.attempt else (attempts[-1].status if attempts else "not started"),
        certificate=certificate,
        tol=tol,
        attempts=tuple(attempts),
        best=best.attempt,
        path=tuple(path),
        times=times,
    )


def check_limits(tol: float, time_limit: float | None = None) -> None:
    """Raise OptionError unless 0 < tol < 1 and the time limit is positive or None."""
    if not _is_number(tol) or not 0 < tol < 1:
        raise OptionError(f"tol must lie in (0, 1); got {tol}. It is the gap over max(1, |lower|, |upper|).")
    if time_limit is not None and (not _is_number(time_limit) or not time_limit > 0):
        raise OptionError(f"time_limit must be a positive number of seconds or None; got {time_limit!r}.")


def check_program(program: object) -> None:
    """Raise OptionError unless it is a program."""
    if not isinstance(program, Program):
        raise OptionError(f"expected a program; got {type(program).__name__}. Make one with formulation.bind(U, ...).")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


class _Best:
    """The narrowest interval so far: the attempts may improve either end."""

    def __init__(self, program: Program, times: dict[str, float]) -> None:
        self.certificate: Certificate | None = None
        self.attempt: Attempt | None = None
        self.backend: Backend | None = None
        self._program, self._times, self._narrowest = program, times, np.inf

    def offer(self, backend: Backend, attempt: Attempt) -> None:
        """Certify an attempt and keep what is better of it."""
        start = time.perf_counter()
        try:
            new = self._program.certify(attempt.d, attempt.w)
        except ProblemError as fault:
            raise ProblemError(f"the backend {backend.name} left no answer to this program: {fault}") from fault
        old = self.certificate
        if new.gap < self._narrowest or self.attempt is None:
            self.attempt, self.backend, self._narrowest = attempt, backend, new.gap
        self.certificate = new if old is None else self._merged(old, new)
        self._times["certify"] += time.perf_counter() - start

    def _merged(self, old: Certificate, new: Certificate) -> Certificate:
        better = min(old, new, key=lambda certificate: certificate.gap)
        upper, lower = min(old, new, key=lambda c: c.upper), max(old, new, key=lambda c: c.lower)
        if upper is lower:
            return better
        merged = self._program.certify(upper.d, lower.w)
        # The conditions are those of an answer as it came; a mixture did not come from anywhere.
        return replace(merged, kkt=better.kkt) if merged.gap < better.gap else better


def _outcome(certificate: Certificate, attempt: Attempt | None) -> Outcome:
    """Return what the solve came to."""
    if certificate.infeasible:
        return Outcome.INFEASIBLE
    return Outcome.SOLVED if attempt else Outcome.FAILED


def _verdict(certificate: Certificate, attempt: Attempt | None, tol: float) -> Verdict:
    """Return the highest step of the ladder that holds."""
    if certificate.scaled_gap <= tol:
        return Verdict.BOUNDED
    if certificate.kkt.holds(tol):
        return Verdict.CHECKED
    return Verdict.CLAIMED if attempt is not None and attempt.claims else Verdict.NONE


def _able(backend: Backend, program: Program) -> Backend:
    """Return the backend if it can take the program."""
    able = backend.takes(program.cones)
    if not able:
        raise SolverNotFound(
            f"expected a backend that takes {program.formulation.name}; {able.reason}. "
            f"Use one of {', '.join(b.name for b in _in_order(program)) or 'none installed'}."
        )
    return backend


def _in_order(program: Program) -> list[Backend]:
    """Return the installed backends that take the program, the most trusted first."""
    first = AUTO_ORDER.get(program.cones, ())
    names = sorted(list_backends(), key=lambda name: (first.index(name) if name in first else len(first), name))
    able = [backend for backend in map(get_backend, names) if backend.takes(program.cones)]
    if not able:
        raise SolverNotFound(
            f"no installed backend takes {', '.join(sorted(program.cones))} constraints. Install clarabel or scs."
        )
    return able
