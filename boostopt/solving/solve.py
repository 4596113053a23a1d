"""`solve` certifies the attempts of a backend one by one until the interval is narrow enough."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.validation import check_flag, check_instance
from boostopt._utils.validation import check_seconds as limit_of
from boostopt.backends import AUTO, check_backend, get_backend, list_backends
from boostopt.backends.base import Attempt, Backend, Deadline, Task, WarmStart
from boostopt.backends.isolation.guarded import GuardedBackend
from boostopt.backends.profiles import Profile
from boostopt.certificates.certificate import Certificate
from boostopt.errors import OptionError, ProblemError, SolverNotFound
from boostopt.programs.program import Program
from boostopt.solving.merging import FirstAttemptBackend, MergedExamplesBackend, MergedProgram, merge_equal_examples
from boostopt.solving.request import (
    DEFAULT_TOL,
    check_solver_options,
    raise_if_options_rejected,
    resolve_profile,
    resolve_tolerance,
)
from boostopt.solving.solution import PHASES, Solution, outcome_of, verdict_of

AUTO_ORDER = ("interior", "highs", "cvxpy:clarabel", "cvxpy:scs")
"""First choice of "auto" among the backends that take the program; then the others that are made for such programs."""

LINEAR_CONES = frozenset({"linear"})

WIDE_RATIO = 10
"""Hypotheses for each example from which on the interior point, which factors a matrix of hypotheses, comes last."""

WIDE_MIN_HYPOTHESES = 1000
"""Hypotheses up to which the interior point comes first nevertheless.

Measured with N = 50: LPBoost at t = 3000 takes 7 s, and HiGHS 0.1; ERLPBoost takes 9 s, and Clarabel 1.4. With
N = 200, t = 1500, ERLPBoost takes 1.7 s, and Clarabel 4.4.
"""

UNMERGED_SUFFIX = ", unmerged"
"""Mark in the path of a backend that was asked again about the examples as they are."""

ROUNDING_GAP_FACTOR = 2.1
"""A gap of so many slacks is rounding: each end has one by itself, whatever answers are certified."""

EQUAL_GAP_FACTOR = 2.0
"""Gaps within this factor are one: two backends have found what the program and its rounding allow."""

EQUAL_BOUND_TOLERANCE = 1e-6
"""Lower ends within this share of max(1, |lower|) are one, where no backend finds an upper end."""

SMALL_LP_ENTRIES = 40_000
"""Entries of a margin matrix up to which linear programs go to HiGHS first: it takes half of the time there.

Measured: N = 500, t = 20 in 4 ms against 9; N = 2000, t = 50 in 29 ms against 20; N = 20000, t = 100 in 1.7 s
against 0.8.
"""


@limit_blas_threads()
def solve(
    program: Program,
    backend: str | Backend = "auto",
    tol: float | str = DEFAULT_TOL,
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
        the solver's own tolerances, and "low", "mid" and "high" ask for 1e-3, 1e-6 and 1e-9. The certificate then gives
        the gap that was reached.
    time_limit
        The limit in seconds, None for no limit. After it, no attempt is started; each solver gets the remaining time.
        Solvers that may exceed the limit, as those of other packages may on large programs, run in a separate process,
        which is killed after 1.05 times the limit. A RuntimeWarning names a solver that cannot run in another process.
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
    tol, time_limit = resolve_tolerance(tol, profile), limit_of("time_limit", time_limit)
    isolate, merge = check_flag("isolate", isolate), check_flag("merge", merge) and profile is None
    check_program(program)
    check_backend(backend)
    chosen = None if backend == AUTO else _require_support(get_backend(backend), program, profile)
    own = check_solver_options(chosen, options, profile)
    deadline = Deadline.after(time_limit)
    task = Task(program, tol, deadline, _check_start(program, start), profile=profile, options=own)
    backends = _automatic_backends(program, task.start) if chosen is None else iter([chosen])
    best = _Incumbent(task)
    # What a backend may go on from is of the examples as they are.
    anew = task.start is None or task.start.state is None
    groups = cache(lambda: merge_equal_examples(program) if merge and anew else None)
    tried = list[Backend]()
    path = list[str]()
    for candidate in backends:
        tried.append(candidate)
        together = None if candidate.incremental else groups()
        safe = _protected(candidate, needs_own_process(candidate, program, isolate, time_limit))
        for name, way in _run_backend(safe, candidate.name, together, best):
            path.append(name)
            for k, attempt in enumerate(way.attempts(task)):
                best.add(candidate, attempt if k else replace(attempt, is_continuation=False))
                if best.should_stop:
                    break
            if best.should_stop:
                break
        if best.should_stop or best.end_backend() or best.gap_is_rounding:
            break
    raise_if_options_rejected(own, tried, best.attempts)
    certificate, origin = best.certificate or program.certify(), best.backend or tried[0]
    return Solution(
        program=program,
        outcome=outcome_of(certificate, best.attempt),
        verdict=verdict_of(certificate, best.attempt, tol),
        backend=origin.name,
        version=origin.version,
        solver_status=best.status,
        certificate=certificate,
        tol=tol,
        attempts=tuple(best.attempts),
        best=best.attempt,
        path=tuple(path),
        times={**best.times, "total": best.elapsed},
        gaps=tuple(best.gap_history),
    )


def needs_own_process(backend: Backend, program: Program, isolate: bool, time_limit: float | None) -> bool:
    """Return whether a backend is to run in a process of its own: it is wanted, or nothing else keeps the limit."""
    return backend.foreign and (
        isolate or (time_limit is not None and not GuardedBackend(backend).keeps_limit(program))
    )


def _run_backend(
    safe: Backend, name: str, together: MergedProgram | None, best: _Incumbent
) -> Iterator[tuple[str, Backend]]:
    """Yield how to ask a backend, with its name in the path: over merged examples, then once as they are."""
    if together is None:
        yield name, safe
        return
    yield name, MergedExamplesBackend(safe, together)
    # Rarely the merged program is the harder one, where it is degenerate. What is left as rounding is left in both.
    if not best.gap_is_rounding:
        yield name + UNMERGED_SUFFIX, FirstAttemptBackend(safe, "unmerged")


def _protected(backend: Backend, alone: bool) -> Backend:
    """Return a backend that raises nothing, in a process of its own if that is wanted."""
    if alone:
        from boostopt.backends.isolation.isolated import isolate_backend

        return isolate_backend(backend, fall_back=True)
    return GuardedBackend(backend)


def _check_start(program: Program, start: Solution | WarmStart | None) -> WarmStart | None:
    """Return where to begin, checked for its shapes."""
    if start is None:
        return None
    expected, advice = "a solution of solve", "Pass the solution from before the columns were appended."
    warm = check_instance("start", start, (Solution, WarmStart), expected, advice)
    warm = warm.start if isinstance(warm, Solution) else warm
    N, t = program.margins.shape
    if (warm.d is not None and warm.d.shape != (N,)) or (warm.w is not None and (warm.w.ndim != 1 or len(warm.w) > t)):
        shapes = [None if array is None else array.shape for array in (warm.d, warm.w)]
        raise OptionError(
            f"start must belong to a program with these {N} examples and at most {t} hypotheses; got d and w of shapes "
            f"{shapes[0]} and {shapes[1]}. {advice}"
        )
    return warm


def check_program(program: object) -> None:
    """Raise OptionError unless it is a program."""
    if not isinstance(program, Program):
        raise OptionError(f"expected a program; got {type(program).__name__}. Make one with formulation.bind(U, ...).")


class _Incumbent:
    """The attempts of a solve, and the narrowest interval so far: each may improve either end."""

    def __init__(self, task: Task) -> None:
        self.attempts = list[Attempt]()
        self.times: dict[str, float] = {phase: 0.0 for phase in PHASES}
        self.gap_history = list[tuple[float, float]]()
        self.certificate: Certificate | None = None
        self.attempt: Attempt | None = None
        self.backend: Backend | None = None
        self._task, self._began, self._narrowest = task, time.perf_counter(), np.inf
        # What the backend that is asked has proved by itself, and what those before it had.
        self._own: Certificate | None = None
        self._others = list[Certificate]()

    @property
    def should_stop(self) -> bool:
        """Whether to stop: the interval is narrow enough, or the time is over."""
        return bool(self.scaled_gap <= self._task.tol) or self._task.deadline.passed

    @property
    def scaled_gap(self) -> float:
        """The scaled gap so far."""
        return math.inf if self.certificate is None else self.certificate.scaled_gap

    @property
    def gap_is_rounding(self) -> bool:
        """Whether what is left of the gap is rounding."""
        narrowest = self.certificate
        return narrowest is not None and bool(
            np.isfinite(narrowest.gap) and narrowest.gap <= ROUNDING_GAP_FACTOR * narrowest.slack
        )

    def end_backend(self) -> bool:
        """Whether the backend that has just ended is no better than another one was; the next one begins anew."""
        own, self._own = self._own, None
        if own is None:
            return False
        self._others.append(own)
        return any(_equal_gaps(own, other) for other in self._others[:-1])

    @property
    def elapsed(self) -> float:
        """The seconds since it began."""
        return time.perf_counter() - self._began

    @property
    def status(self) -> str:
        """The solver's words about the best attempt, the last one where none was answered."""
        spoken = self.attempt or (self.attempts[-1] if self.attempts else None)
        return spoken.status if spoken else "not started"

    def add(self, backend: Backend, attempt: Attempt) -> None:
        """Keep an attempt, and what it proves."""
        self.attempts.append(attempt)
        for phase, seconds in attempt.times.items():
            self.times[phase] += seconds
        if attempt.answered:
            self._update(backend, attempt)
        self.gap_history.append((self.elapsed, self.scaled_gap))

    def _update(self, backend: Backend, attempt: Attempt) -> None:
        """Certify an attempt and keep what is better of it."""
        start = time.perf_counter()
        try:
            new = self._task.certify(attempt.d, attempt.w)
        except ProblemError as fault:
            raise ProblemError(
                f"the answer of the backend {backend.name} does not belong to this program: {fault}"
            ) from fault
        if self._own is None or (new.gap, -new.lower) < (self._own.gap, -self._own.lower):
            self._own = new
        old = self.certificate
        if new.gap < self._narrowest or self.attempt is None:
            self.attempt, self.backend, self._narrowest = attempt, backend, new.gap
        self.certificate = new if old is None else self._combined(old, new)
        self.times["certify"] += time.perf_counter() - start

    def _combined(self, old: Certificate, new: Certificate) -> Certificate:
        better = min(old, new, key=lambda certificate: certificate.gap)
        upper, lower = min(old, new, key=lambda c: c.upper), max(old, new, key=lambda c: c.lower)
        if upper is lower:
            return better
        merged = self._task.program.certify(upper.d, lower.w)
        # The conditions are those of an answer as it came; a mixture did not come from anywhere.
        return replace(merged, kkt=better.kkt) if merged.gap < better.gap else better


def _equal_gaps(one: Certificate, other: Certificate) -> bool:
    """Whether two backends have come equally far."""
    if np.isfinite(one.gap) and np.isfinite(other.gap):
        return max(one.gap, other.gap) <= EQUAL_GAP_FACTOR * min(one.gap, other.gap)
    size = max(1.0, abs(one.lower))
    return bool(one.gap == other.gap and abs(one.lower - other.lower) <= EQUAL_BOUND_TOLERANCE * size)


def _require_support(backend: Backend, program: Program, profile: Profile | None = None) -> Backend:
    """Return the backend if it can take the program, asked by the profile; one that fails when it is asked does not."""
    able = GuardedBackend(backend).takes(program)
    if able and profile is not None and not (asked := GuardedBackend(backend).takes_profile(profile)):
        raise SolverNotFound(f"expected a backend that supports the profile {profile.name!r}; {asked.reason}.")
    if not able:
        raise SolverNotFound(
            f"expected a backend that supports {program.formulation.name}; {able.reason}. "
            f"Use one of {', '.join(b.name for b in _automatic_backends(program)) or 'none installed'}."
        )
    return backend


def _preferred_names(program: Program, start: WarmStart | None) -> list[str]:
    """Return the names to try first: the backend that can go on, then by size."""
    N, t = program.margins.shape
    # Without the simplex the interior point has no good start among a hundred thousand examples.
    small = N * t <= SMALL_LP_ENTRIES or not program.regularizer.on_simplex
    first = ["highs"] if program.cones == LINEAR_CONES and small else []
    first += [start.backend] if start is not None and start.state is not None else []
    wide = t > max(WIDE_MIN_HYPOTHESES, WIDE_RATIO * N)
    order = (*AUTO_ORDER[1:], *AUTO_ORDER[:1]) if wide else AUTO_ORDER
    return [*reversed(first), *(name for name in order if name not in first)]


def _automatic_backends(program: Program, start: WarmStart | None = None) -> Iterator[Backend]:
    """Yield the installed backends that take the program, the most trusted first; no solver is looked for in vain."""
    taken, preferred = False, _preferred_names(program, start)
    for name in dict.fromkeys(preferred):
        try:
            backend = get_backend(name)
        except (SolverNotFound, OptionError):  # not installed, or an object of the user's that has no name here
            continue
        if GuardedBackend(backend).takes(program):
            taken = True
            yield backend
    for name in list_backends():
        if (
            name not in preferred
            and (backend := get_backend(name)).automatic
            and GuardedBackend(backend).takes(program)
        ):
            taken = True
            yield backend
    if not taken:
        raise SolverNotFound(
            f"no installed backend supports {', '.join(sorted(program.cones))} constraints. Install clarabel or scs, "
            "or name a backend."
        )
