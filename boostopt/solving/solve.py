"""`solve`: run backends on a program and certify their answers until the certified gap is small enough.

A backend makes attempts: one run of a solver on one form of the program. Each attempt is certified, and the incumbent
keeps the best bounds and the answer that proved them. `solve` stops when the gap is at most the tolerance, when the
deadline has passed, when the rest of the gap is rounding, or when two backends have reached the same gap. The status
that a solver reports is recorded and never used.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import check_flag, check_instance, check_seconds
from boostopt.backends import AUTO, check_backend, get_backend
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import Attempt, Backend, Deadline, Task, WarmStart
from boostopt.backends.guarded_backend import GuardedBackend
from boostopt.backends.incumbent_certificate import Incumbent
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.errors import OptionError, ProblemError, SolverNotFound
from boostopt.programs.formulation_catalogue import get_formulation, soft_margin_formulation_name
from boostopt.programs.program import Program
from boostopt.solving.automatic_backend_order import automatic_backends
from boostopt.solving.merged_examples import (
    FirstAttemptBackend,
    MergedExamplesBackend,
    MergedProgram,
    merge_equal_examples,
)
from boostopt.solving.solution import PHASES, Solution, outcome_of, verdict_of
from boostopt.solving.solve_request import (
    DEFAULT_TOL,
    check_solver_options,
    raise_if_options_rejected,
    resolve_profile,
    resolve_tolerance,
)

UNMERGED_SUFFIX = ", unmerged"
"""Suffix in `Solution.path` of a backend that was run again, on the program with its original examples."""

ROUNDING_GAP_FACTOR = 2.1
"""A gap of at most this multiple of the slack is rounding: each bound contains the slack once for every answer."""

EQUAL_GAP_FACTOR = 2.0
"""Two gaps within this factor count as equal."""

EQUAL_BOUND_TOLERANCE = 1e-6
"""Two lower bounds within this share of max(1, |lower|) count as equal, if neither backend has an upper bound."""


@limit_blas_threads()
def solve(
    program: Program,
    backend: str | Backend = "auto",
    tol: float | str | Profile = DEFAULT_TOL,
    time_limit: float | None = None,
    start: Solution | WarmStart | None = None,
    isolate: bool = False,
    merge: bool = True,
    options: Mapping[str, Any] | None = None,
) -> Solution:
    """Solve a program and certify the answer.

    The backend makes attempts in different forms and accuracies. `solve` makes each attempt feasible and certifies it,
    until the gap over max(1, |lower|, |upper|) is at most `tol`. The status of a solver decides nothing. During the
    solve, BLAS has one thread in the whole process, because several threads wait for each other on busy cores.

    Parameters
    ----------
    program
        The program to solve.
    backend
        A name from `list_backends()`, a backend, or "auto". "auto" tries the backends that support the program, in a
        fixed order. It stops when one reaches `tol`, and where another one would not narrow the gap: two have ended
        with gaps within a factor of 2, or all that is left is the rounding allowance. It never tries solvers that are
        mixed-integer, need a licence or obey no tolerance; pass their names to use them.
    tol
        The scaled gap, in (0, 1): the backend makes attempts until the certificate reaches it; "certified" is 1e-8. Or
        the name of a profile, which is one solve of one form that the solver ends by its own estimate: "default" uses
        the solver's own tolerances, and "low", "mid" and "high" ask for 1e-3, 1e-6 and 1e-9; a `Profile` asks for any
        other accuracy. The certificate then gives the gap that was reached.
    time_limit
        The limit in seconds, None for no limit. After it, no attempt is started; each solver gets the remaining time.
        Solvers that may exceed the limit, as those of other packages may on large programs, run in a separate process,
        which is killed after 1.05 times the limit. The seconds in which such a process starts, imports the solver and
        receives the program do not count; at most 120 of each. A RuntimeWarning names a solver that cannot run in
        another process.
    start
        The solution of a program with the same examples and the first hypotheses of this program, for instance from
        before a column was appended or a parameter was changed. Backends with warm starts begin there.
    isolate
        Whether solvers of other packages always run in a separate process, even without a limit. A crash or a printed
        line of the solver then does not affect this process. A solver that cannot run in another process runs in this
        one.
    merge
        Whether equal examples are merged for the solvers if that saves time. With a named profile they are not merged.
        The certificate always belongs to the original program.
    options
        Options of the named backend's solver, by the solver's own names. They override the options that boostopt sets,
        and the attempts record them.

    Returns
    -------
    The solution. If the solver failed, `outcome`, `verdict` and the certificate say what is known.

    Raises
    ------
    OptionError
        The backend, the profile or an option is unknown, or the tolerance or the time limit is out of range.
    SolverNotFound
        The backend is not installed, or does not support the program or the profile.
    """
    profile = resolve_profile(tol)
    tol, time_limit = resolve_tolerance(tol, profile), check_seconds("time_limit", time_limit)
    isolate, merge = check_flag("isolate", isolate), check_flag("merge", merge) and profile is None
    check_program(program)
    check_backend(backend)
    named_backend = None if backend == AUTO else _require_support(get_backend(backend), program, profile)
    solver_options = check_solver_options(named_backend, options, profile)
    deadline = Deadline.after(time_limit)
    warm_start = _check_start(program, start)
    task = Task(program, tol, deadline, warm_start, profile=profile, options=solver_options)

    # The state of an earlier run refers to the original examples, so that a run with a state is not merged.
    can_merge = merge and (warm_start is None or warm_start.state is None)
    merged_program = cache(lambda: merge_equal_examples(program) if can_merge else None)

    record, path, tried = _SolveRecord(task), list[str](), list[Backend]()
    for candidate in automatic_backends(program, warm_start) if named_backend is None else [named_backend]:
        tried.append(candidate)
        in_child_process = needs_own_process(candidate, program, isolate, time_limit)
        merged = None if candidate.continues_from_state else merged_program()
        protected = _protect(candidate, in_child_process)
        record.postpone_deadline(_seconds_to_start(protected, task, merged))
        path += _run_backend(candidate, protected, record, merged)
        if record.should_stop or record.end_backend() or record.gap_is_rounding:
            break

    raise_if_options_rejected(solver_options, tried, record.attempts)
    certificate, answered_by = record.incumbent.certificate or program.certify(), record.backend or tried[0]
    verdict = verdict_of(certificate, record.attempt, tol)
    return Solution(
        program=program,
        outcome=outcome_of(certificate, record.attempt, verdict),
        verdict=verdict,
        backend=answered_by.name,
        version=answered_by.version,
        solver_status=record.solver_status,
        certificate=certificate,
        tol=tol,
        attempts=tuple(record.attempts),
        best=record.attempt,
        path=tuple(path),
        times={**record.times, "total": record.elapsed},
        gaps=tuple(record.gap_history),
    )


def check_program(program: object) -> None:
    """Raise OptionError if the argument is not a program."""
    if not isinstance(program, Program):
        raise OptionError(f"expected a program; got {type(program).__name__}. Make one with formulation.bind(U, ...).")


def needs_own_process(backend: Backend, program: Program, isolate: bool, time_limit: float | None) -> bool:
    """Return whether a backend must run in a child process: on request, or because it may exceed the time limit."""
    if not backend.runs_external_code:
        return False
    return isolate or (time_limit is not None and not GuardedBackend(backend).keeps_limit(program))


def _run_backend(backend: Backend, protected: Backend, record: _SolveRecord, merged: MergedProgram | None) -> list[str]:
    """Run a backend, first on the merged program if there is one, then once on the original examples.

    The second run is needed because the merged program is sometimes degenerate and harder to solve. It is skipped if
    the rest of the gap is rounding, which both programs share.

    Returns
    -------
    The names of the runs, for `Solution.path`.
    """
    if merged is None:
        runs = {backend.name: protected}
    else:
        runs = {
            backend.name: MergedExamplesBackend(protected, merged),
            backend.name + UNMERGED_SUFFIX: FirstAttemptBackend(protected, "unmerged"),
        }
    path = list[str]()
    for name, run in runs.items():
        if path and record.gap_is_rounding:
            break
        path.append(name)
        for k, attempt in enumerate(run.attempts(record.task)):
            record.add(backend, attempt if k else replace(attempt, is_continuation=False))
            if record.should_stop:
                return path
    return path


def _protect(backend: Backend, in_child_process: bool) -> Backend:
    """Return a backend whose exceptions become attempts, in a child process on request."""
    if in_child_process:
        from boostopt.backends.isolation.isolated_backend import isolate_backend

        return isolate_backend(backend, fall_back=True)
    return GuardedBackend(backend)


def _seconds_to_start(backend: Backend, task: Task, merged: MergedProgram | None) -> float:
    """Start the worker process of a backend, and return the seconds; 0.0 if there is no limit or no such process."""
    if task.deadline.end_time is None:
        return 0.0
    from boostopt.backends.isolation.isolated_backend import IsolatedBackend

    isolated = backend.inner if isinstance(backend, GuardedBackend) else backend
    if not isinstance(isolated, IsolatedBackend):
        return 0.0
    start_time = time.perf_counter()
    isolated.prepare(task.program if merged is None else merged.program)  # its attempts report a refusal
    return time.perf_counter() - start_time


def _check_start(program: Program, start: Solution | WarmStart | None) -> WarmStart | None:
    """Return a solution or a warm start as a warm start; OptionError if its shapes do not fit the program."""
    if start is None:
        return None
    expected, advice = "a solution of solve", "Pass the solution from before the columns were appended."
    checked = check_instance("start", start, (Solution, WarmStart), expected, advice)
    warm = checked.start if isinstance(checked, Solution) else checked
    N, t = program.margins.shape
    d_fits = warm.d is None or warm.d.shape == (N,)
    w_fits = warm.w is None or (warm.w.ndim == 1 and len(warm.w) <= t)
    if not (d_fits and w_fits):
        d_shape, w_shape = (None if weights is None else weights.shape for weights in (warm.d, warm.w))
        raise OptionError(
            f"start must belong to a program with these {N} examples and at most "
            f"{format_count(t, 'hypothesis', 'hypotheses')}; got d and w of shapes "
            f"{d_shape} and {w_shape}. {advice}"
        )
    return warm


class _SolveRecord:
    """All attempts of a solve, with the incumbent.

    Attributes
    ----------
    task
        The task, with the deadline after the starts of worker processes.
    incumbent
        The best certificate so far. It may combine the d of one attempt with the w of another.
    attempt, backend
        The attempt with the smallest gap by itself, and its backend; None before the first answer.
    attempts
        All attempts, in order.
    gap_history
        After each attempt, the seconds since the start and the scaled gap.
    times
        Seconds by phase, summed over all attempts.
    """

    task: Task

    def __init__(self, task: Task) -> None:
        self.incumbent = Incumbent(task)
        self.attempt: Attempt | None = None
        self.backend: Backend | None = None
        self.attempts = list[Attempt]()
        self.gap_history = list[tuple[float, float]]()
        self.times: dict[str, float] = {phase: 0.0 for phase in PHASES}
        self.task, self._start_time = task, time.perf_counter()
        self._smallest_attempt_gap = np.inf
        self._current_backend_best: Certificate | None = None
        self._earlier_backends_best = list[Certificate]()

    @property
    def should_stop(self) -> bool:
        """True if the gap is at most the tolerance, or the deadline has passed."""
        return self.incumbent.goal_reached or self.task.deadline.passed

    def postpone_deadline(self, seconds: float) -> None:
        """Postpone the deadline by the seconds in which a worker process started."""
        self.task = replace(self.task, deadline=self.task.deadline.postponed(seconds))

    @property
    def gap_is_rounding(self) -> bool:
        """True if the gap consists of the rounding allowance, which no other answer reduces."""
        best = self.incumbent.certificate
        return best is not None and bool(np.isfinite(best.gap) and best.gap <= ROUNDING_GAP_FACTOR * best.slack)

    @property
    def elapsed(self) -> float:
        """Seconds since the start of the solve."""
        return time.perf_counter() - self._start_time

    @property
    def solver_status(self) -> str:
        """The solver's status of the best attempt, of the last attempt if none has an answer."""
        attempt = self.attempt or (self.attempts[-1] if self.attempts else None)
        return attempt.status if attempt else "not started"

    def add(self, backend: Backend, attempt: Attempt) -> None:
        """Record an attempt, and certify its answer if it has one."""
        self.attempts.append(attempt)
        for phase, seconds in attempt.times.items():
            self.times[phase] += seconds
        if attempt.has_iterate:
            start_time = time.perf_counter()
            self._update(backend, attempt, self._certify(backend, attempt))
            self.times["certify"] += time.perf_counter() - start_time
        self.gap_history.append((self.elapsed, self.incumbent.gap))

    def end_backend(self) -> bool:
        """Close the record of the current backend; return whether its gap equals that of an earlier backend."""
        best, self._current_backend_best = self._current_backend_best, None
        if best is None:
            return False
        agrees = any(_equal_gaps(best, earlier) for earlier in self._earlier_backends_best)
        self._earlier_backends_best.append(best)
        return agrees

    def _certify(self, backend: Backend, attempt: Attempt) -> Certificate:
        """Return the certificate of an attempt; ProblemError if its answer does not fit the program."""
        try:
            return self.task.certify(attempt.d, attempt.w)
        except ProblemError as error:
            raise ProblemError(
                f"the answer of the backend {backend.name} does not belong to this program: {error}"
            ) from error

    def _update(self, backend: Backend, attempt: Attempt, certificate: Certificate) -> None:
        """Update the incumbent, the best attempt and the best certificate of the current backend."""
        backend_best = self._current_backend_best
        if backend_best is None or (certificate.gap, -certificate.lower) < (backend_best.gap, -backend_best.lower):
            self._current_backend_best = certificate
        if self.attempt is None or certificate.gap < self._smallest_attempt_gap:
            self.attempt, self.backend, self._smallest_attempt_gap = attempt, backend, certificate.gap
        # The feasible weights and not the answer itself: they prove the bounds in every combination.
        self.incumbent.add(certificate.d, certificate.w, certificate)


def _equal_gaps(first: Certificate, second: Certificate) -> bool:
    """Return whether two certificates have equal gaps, or equal lower bounds if neither has an upper bound."""
    if np.isfinite(first.gap) and np.isfinite(second.gap):
        return max(first.gap, second.gap) <= EQUAL_GAP_FACTOR * min(first.gap, second.gap)
    scale = max(1.0, abs(first.lower))
    return bool(first.gap == second.gap and abs(first.lower - second.lower) <= EQUAL_BOUND_TOLERANCE * scale)


def _formulation_advice(backend: Backend, program: Program) -> str:
    """Return the formulation of the soft margin alone, if a backend supports it at the nu of a program; else ""."""
    nu = getattr(program.parameters, "nu", None)
    formulation = get_formulation(soft_margin_formulation_name())
    if nu is None or formulation.name == program.formulation.name:
        return ""
    if not backend.takes(formulation.bind(program.margins, c=program.examples.c, nu=nu)):
        return ""
    return f' Or keep {backend.name} with the formulation "{formulation.name}", the soft margin without another term.'


def _require_support(backend: Backend, program: Program, profile: Profile | None = None) -> Backend:
    """Return the backend; SolverNotFound if it does not support the program or the profile."""
    guarded = GuardedBackend(backend)
    support = guarded.takes(program)
    if not support:
        # The first one alone, because a list of all would load every solver, which takes seconds.
        alternative = next(automatic_backends(program)).name
        reason = support.reason or f"{guarded.name} does not"
        raise SolverNotFound(
            f"expected a backend that supports {program.formulation.name}; {reason}. "
            f'Use {alternative}, or "auto" for all that do.{_formulation_advice(guarded, program)}'
        )
    if profile is not None and not (profile_support := guarded.supports_profile(profile)):
        raise SolverNotFound(
            f"expected a backend that supports the profile {profile.name!r}; {profile_support.reason}. "
            "Choose another backend."
        )
    return backend
