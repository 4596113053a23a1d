"""Answers of solvers to a CVXPY problem, each certified on a copy of the problem that has seen no other solver."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt.backends.base import Attempt
from boostopt.backends.cvxpy_problem_task import STATUS, VALUE, ProblemSolver, ProblemTask
from boostopt.backends.isolation.isolated_backend import isolated_attempts
from boostopt.backends.isolation.pickling import NotPicklable
from boostopt.backends.isolation.processor_time import with_cpu_seconds
from boostopt.boosting_certificates.certificate import KKT
from boostopt.errors import ProblemError, SolverNotFound
from boostopt.problem_certificates.kkt_residuals import PRIMAL, STATIONARITY, measure_conditions
from boostopt.problem_certificates.problem_certificate import ProblemCertificate, certify_problem
from boostopt.problem_certificates.problem_explanation import DEFAULT_TOLERANCE
from boostopt.programs.user_cvxpy_problem import ConvexProblem, load_answer
from boostopt.solving.solution import PHASES, Verdict, outcome_of_attempt, total_iterations, verdict_of
from boostopt.solving.solve_request import raise_if_options_rejected

NO_VALUES = "the solver left no values"
"""The reason for no certificate of an attempt without values."""

FINE_GAP = 1e-8
"""The scaled gap at which the search for better multipliers ends, if the target gap is wider."""


@dataclass(frozen=True)
class AnswerCertificate:
    """The interval that an answer to a CVXPY problem proves, and the residuals of the optimality conditions.

    Attributes
    ----------
    certificate
        The certificate; None if there is none.
    residuals
        The largest residual of each kind of KKT condition, over its scale; empty if the solver says that there is no
        optimum, or left no values. Residuals prove nothing.
    value
        The optimal value that the solver reports; None for none.
    reason
        The reason for which there is no finite interval, in words; "" if there is one.
    is_contradicted
        Whether the solver reports an optimum of a problem that is proved infeasible or unbounded.
    """

    certificate: ProblemCertificate | None
    residuals: Mapping[str, float]
    value: float | None
    reason: str
    is_contradicted: bool = False

    @property
    def kkt(self) -> KKT:
        """The residuals if all kinds of conditions were measured, else none."""
        return KKT(self.residuals if STATIONARITY in self.residuals else {})

    @property
    def lower(self) -> float:
        """The lower bound of the interval that the answer proves."""
        return -math.inf if self.certificate is None else self.certificate.lower

    @property
    def upper(self) -> float:
        """The upper bound."""
        return math.inf if self.certificate is None else self.certificate.upper

    @property
    def gap(self) -> float:
        """The upper bound minus the lower bound; inf for no certificate, and if the solver is contradicted."""
        return math.inf if self.certificate is None or self.is_contradicted else self.certificate.gap

    @property
    def scaled_gap(self) -> float:
        """The gap over max(1, |lower|, |upper|)."""
        return math.inf if self.certificate is None or self.is_contradicted else self.certificate.scaled_gap

    @property
    def relative_gap(self) -> float:
        """The gap over max(|lower|, |upper|); inf if this is 0 and the gap is not."""
        size = max(abs(self.lower), abs(self.upper))
        return self.gap / size if math.isfinite(self.gap) and 0.0 < self.gap and size > 0.0 else self.gap

    @property
    def point(self) -> tuple[Array, ...] | None:
        """The values at a feasible point, in the order of `problem.variables()`; None if none is proved."""
        point = None if self.certificate is None else self.certificate.point
        return None if point is None else tuple(point.values())

    @property
    def is_decided(self) -> bool:
        """True if it is proved that there is no optimum."""
        return self.certificate is not None and self.certificate.is_decided

    @property
    def infeasible(self) -> bool:
        """True if it is proved that no point is feasible."""
        return self.certificate is not None and self.certificate.status == "infeasible"

    @property
    def excess(self) -> float | None:
        """The size of a proof of infeasibility, which these certificates do not state."""
        return None


@dataclass(frozen=True)
class ProblemSolution:
    """The answer of a solver to a CVXPY problem, with what it proves.

    Attributes
    ----------
    backend, version
        The solver and its version.
    certificate
        The certificate of the best attempt.
    attempts
        The attempts, in order.
    best
        The attempt with the smallest certified gap; None if no attempt left an answer.
    tol
        The target gap.
    times
        Seconds by phase, and in total. The total is without the seconds of the certificates.
    gaps
        After each attempt the seconds since the start, without certificates, and the smallest scaled gap up to then.
    """

    backend: str
    version: str
    certificate: AnswerCertificate
    attempts: tuple[Attempt, ...]
    best: Attempt | None
    tol: float
    times: Mapping[str, float]
    gaps: tuple[tuple[float, float], ...]

    @property
    def outcome_key(self) -> str:
        """The outcome of the solve, as in files."""
        certificate = self.certificate.certificate
        if certificate is not None and certificate.is_decided:
            return certificate.status
        return outcome_of_attempt(self.best, self.verdict).key

    @property
    def verdict(self) -> Verdict:
        """The verdict on the answer, from its certificate and its residuals."""
        return verdict_of(self.certificate, self.best, self.tol)

    @property
    def solver_status(self) -> str:
        """The solver's status of the best attempt, of the last attempt if none has an answer."""
        attempt = self.best or (self.attempts[-1] if self.attempts else None)
        return attempt.status if attempt else "not started"

    @property
    def path(self) -> tuple[str, ...]:
        """The solvers that were run."""
        return (self.backend,)

    @property
    def iterations(self) -> int | None:
        """The number of iterations over all attempts; None if the solver does not count them."""
        return total_iterations(self.attempts)


@limit_blas_threads()
def solve_problem(solver: ProblemSolver, task: ProblemTask, is_isolated: bool = False) -> ProblemSolution:
    """Solve a CVXPY problem by a solver, and certify its attempts until the gap is small enough.

    Parameters
    ----------
    solver, task
        The solver; the problem with the request.
    is_isolated
        Whether the solver runs in a worker process, if the problem can be sent there.

    Raises
    ------
    OptionError
        The solver refuses an option.
    SolverNotFound
        The solver does not take such a problem.
    """
    attempts, gaps = list[Attempt](), list[tuple[float, float]]()
    seconds: dict[str, float] = {phase: 0.0 for phase in PHASES}
    best, certificate = None, AnswerCertificate(None, {}, None, NO_VALUES)
    for attempt in _run(solver, task, is_isolated):
        attempts.append(attempt)
        for phase, spent in attempt.times.items():
            seconds[phase] += spent
        if "canonicalize" not in attempt.times and (attempt.error or "").startswith("SolverError"):
            raise SolverNotFound(f"CVXPY cannot state this problem for it ({attempt.error})")
        total, began = sum(value for phase, value in seconds.items() if phase != "certify"), time.perf_counter()
        judgement = certify_answer(task.problem, attempt, task.tol)
        seconds["certify"] += time.perf_counter() - began
        is_answer = bool(judgement.residuals) or judgement.certificate is not None
        if best is None or (is_answer and judgement.scaled_gap < certificate.scaled_gap):
            best, certificate = attempt if is_answer else None, judgement
        gaps.append((total, certificate.scaled_gap))
        is_refused = bool(judgement.residuals) and judgement.certificate is None  # as it is for every answer
        if is_refused or certificate.scaled_gap <= task.tol or (task.seconds is not None and total >= task.seconds):
            break
    raise_if_options_rejected(task.options, [solver], attempts)
    times = {**seconds, "total": gaps[-1][0] if gaps else 0.0}
    return ProblemSolution(
        solver.name, solver.version, certificate, tuple(attempts), best, task.tol, times, tuple(gaps)
    )


def certify_answer(problem: ConvexProblem, attempt: Attempt, tol: float) -> AnswerCertificate:
    """Return what an attempt proves, from its values and duals on a new copy of the problem."""
    fresh = problem.copy()
    status, value = str(attempt.statistics.get(STATUS, "")), attempt.statistics.get(VALUE)
    claimed_value = float(value) if value is not None and math.isfinite(value) else None
    denies_optimum = "infeasible" in status or "unbounded" in status
    if denies_optimum:
        _load_status(fresh)
    elif attempt.d is None:
        return AnswerCertificate(None, {}, None, NO_VALUES)
    load_answer(fresh, attempt.d, attempt.w)
    try:
        certificate = certify_problem(fresh, goal=min(tol, FINE_GAP))
    except ProblemError as refusal:
        residuals = {} if denies_optimum else {PRIMAL: _violation(fresh)}
        return AnswerCertificate(None, residuals, claimed_value, f"no certificate: {refusal}")
    residuals = {} if denies_optimum else measure_residuals(fresh, certificate)
    if certificate.is_decided:
        reason = "; ".join(certificate.reasons)
        return AnswerCertificate(certificate, residuals, claimed_value, reason, certificate.status not in status)
    if denies_optimum:  # an interval would not be of the solver's making
        return AnswerCertificate(None, residuals, None, f"the solver calls it {status}, which is not proved")
    reason = "; ".join(certificate.reasons) if certificate.status == "open" else ""
    return AnswerCertificate(replace(certificate, value=claimed_value), residuals, claimed_value, reason)


def measure_residuals(problem: Any, certificate: ProblemCertificate) -> dict[str, float]:
    """Return the largest residual of each kind of KKT condition of a CVXPY problem with values, over its scale.

    Parameters
    ----------
    problem
        The problem.
    certificate
        Its certificate. If a variable has no usable value, only primal feasibility is measured, as CVXPY does it.
    """
    try:
        conditions = measure_conditions(certificate, DEFAULT_TOLERANCE)
    except ProblemError:
        return {PRIMAL: _violation(problem)}
    residuals = dict[str, float]()
    for condition in conditions:
        residuals[condition.kind] = max(residuals.get(condition.kind, 0.0), condition.residual / condition.scale)
    return residuals


def _violation(problem: Any) -> float:
    """Return the largest violation of a constraint; inf if a variable has no value."""
    if any(variable.value is None for variable in problem.variables()):
        return math.inf
    violations = [float(np.max(constraint.violation(), initial=0.0)) for constraint in problem.constraints]
    return math.inf if any(map(math.isnan, violations)) else max(violations, default=0.0)


def _load_status(problem: Any) -> None:
    """Store in a problem that a solver has run and left no values: what follows is proved without them."""
    from cvxpy.reductions.solution import Solution

    problem.unpack(Solution("infeasible", math.inf, {}, {}, {}))


def _run(solver: ProblemSolver, task: ProblemTask, is_isolated: bool) -> Iterator[Attempt]:
    """Yield the attempts of a solver, in a worker process on request and if the problem can be sent there."""
    attempts = partial(solver.attempts_at_problem, task)
    if not is_isolated:
        yield from with_cpu_seconds(attempts())
        return
    try:
        yield from isolated_attempts(solver.name, attempts, task.seconds)
    except NotPicklable as refusal:
        for attempt in with_cpu_seconds(attempts()):
            yield replace(attempt, statistics={**attempt.statistics, "isolated": f"no: {refusal}"})
