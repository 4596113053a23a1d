"""The points of work-precision lines: what a solve at one request proved, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from boostopt._utils.files import Keys
from boostopt.backends.accuracy_profiles import is_named_profile
from boostopt.comparison.solve_record import AttemptRecord, SolveRecord
from boostopt.solving.solution import total_iterations

SOLVER_PHASES = ("build", "canonicalize", "solve", "recover")
"""Phases of an attempt, without that of the certificate."""


@dataclass(frozen=True)
class PrecisionPoint:
    """The solves of a program by a solver at one request, or one checkpoint of such solves.

    Numbers of several repeats are medians; the gaps are the largest.

    Attributes
    ----------
    program, backend, form
        The label of the program, the name of the solver, and the form in which it got the program.
    request
        The requested accuracy.
    checkpoint
        The number of the attempt, from 0, if the solver stops by the certificate alone and its line is that of one
        solve; None for a solve that the solver ended by its own test.
    sent_accuracy
        The finest accuracy among the options that the solver got; None if no option sets an accuracy.
    scaled_gap
        The certified gap over max(1, abs(lower), abs(upper)); inf if none is certified.
    claimed_gap
        The scaled gap that the solver reports; None for none.
    claims
        Whether the solver claims an optimum, in every repeat.
    residual
        The largest residual of the optimality conditions of the unchanged answer; None if it was not measured.
    stopping_test_ratio
        The largest residual of the answer over what the solver's own stopping test allows at this request: at most 1 if
        the answer keeps the test. None if the test is not known.
    iterations
        Iterations up to the end of this point; None if the solver does not count them.
    seconds
        Seconds of all phases but the certificate: model, canonical form, solver, reading of the answer.
    phases
        Seconds of each phase: build, canonicalize, solve, recover; and certify, but for one of several checkpoints.
    cpu_seconds
        Processor seconds; None if they were not measured, and for one of several checkpoints.
    peak_memory
        Bytes by which the memory of the worker process grew; None without a worker process.
    status
        The status in the solver's words.
    n_runs
        The number of repeats.
    """

    program: str
    backend: str
    form: str
    request: float
    checkpoint: int | None
    sent_accuracy: float | None
    scaled_gap: float
    claimed_gap: float | None
    claims: bool
    residual: float | None
    stopping_test_ratio: float | None
    iterations: int | None
    seconds: float
    phases: Mapping[str, float]
    cpu_seconds: float | None
    peak_memory: int | None
    status: str
    n_runs: int

    @property
    def solver_seconds(self) -> float:
        """Seconds in the solver itself, with its own setup."""
        return self.phases.get("solve", 0.0)

    def record(self) -> dict[str, Any]:
        """Return the point as plain values, with a key for each phase."""
        phases = {f"seconds_{phase}": self.phases.get(phase) for phase in (*SOLVER_PHASES, "certify")}
        return {**POINT.to_file(self), **phases}


POINT = Keys(
    PrecisionPoint,
    {
        "program": "program",
        "backend": "backend",
        "form": "form",
        "request": "request",
        "checkpoint": "checkpoint",
        "sent_accuracy": "sent_accuracy",
        "scaled_gap": "scaled_gap",
        "claimed_gap": "claimed_gap",
        "claims": "claims",
        "residual": "residual",
        "stopping_test_ratio": "stopping_test_ratio",
        "iterations": "iterations",
        "seconds": "seconds",
        "cpu_seconds": "cpu_seconds",
        "peak_memory": "peak_memory",
        "status": "status",
        "runs": "n_runs",
    },
)
"""Keys of a point, but for the seconds of its phases."""


@dataclass(frozen=True)
class CheapestRequest:
    """The cheapest request by which a solver reaches a gap on a program.

    Attributes
    ----------
    program, backend, gap
        The label of the program, the solver, and the certified gap to reach.
    point
        The point of the request; None if no request reaches the gap.
    reason
        The reason for no point, "" if there is one.
    """

    program: str
    backend: str
    gap: float
    point: PrecisionPoint | None
    reason: str = ""


def points_of_runs(runs: Iterable[SolveRecord]) -> tuple[PrecisionPoint, ...]:
    """Return the points of all solves that were run, the coarsest request of each program and solver first."""
    groups: dict[tuple[str, str, float], list[SolveRecord]] = {}
    for run in runs:
        if run.ran:
            groups.setdefault((run.program, run.backend, run.tol), []).append(run)
    places = {pair: k for k, pair in enumerate(dict.fromkeys((program, backend) for program, backend, _ in groups))}
    ordered = sorted(groups.items(), key=lambda item: (places[item[0][:2]], -item[0][2]))
    return tuple(point for _, group in ordered for point in _points(group))


def cheapest_point(points: Sequence[PrecisionPoint], gap: float) -> PrecisionPoint | None:
    """Return the cheapest point of a line among those that reach a scaled gap; None for none.

    The work is the number of iterations, which repeats exactly, or the seconds in the solver if it does not count
    iterations. Of points of equal work, the one of the coarsest request counts.
    """
    candidates = [point for point in points if point.scaled_gap <= gap]
    is_counted = all(point.iterations is not None for point in candidates)
    return min(
        candidates,
        key=lambda point: (point.iterations if is_counted else point.solver_seconds, -point.request),
        default=None,
    )


def _points(runs: Sequence[SolveRecord]) -> list[PrecisionPoint]:
    """Return the points of the repeats of one request: one, or one for each attempt if the certificate ended them."""
    first, n_attempts = runs[0], min(len(run.log) for run in runs)
    ends_by_certificate = not is_named_profile(first.profile)
    if ends_by_certificate and n_attempts > 1:
        return [_checkpoint(runs, k) for k in range(n_attempts)]
    phases = {
        phase: median(seconds)
        for phase in first.phases
        if (seconds := [run.phases[phase] or 0.0 for run in runs if run.phases[phase] is not None])
    }
    return [
        PrecisionPoint(
            program=first.program,
            backend=first.backend,
            form=first.form or "",
            request=first.tol,
            checkpoint=0 if ends_by_certificate else None,
            sent_accuracy=first.finest_accuracy,
            scaled_gap=max(run.scaled_gap for run in runs),
            claimed_gap=_largest(run.claimed_gap for run in runs),
            claims=all(run.claims for run in runs),
            residual=_largest(run.kkt_worst if math.isfinite(run.kkt_worst) else None for run in runs),
            stopping_test_ratio=_largest(run.stopping_test_ratio for run in runs),
            iterations=_median_count(run.iterations for run in runs),
            seconds=_median_total(run.phases for run in runs),
            phases=phases,
            cpu_seconds=_median(run.cpu_seconds for run in runs),
            peak_memory=_median_count(run.peak_memory for run in runs),
            status=first.error or first.solver_status or "",
            n_runs=len(runs),
        )
    ]


def _checkpoint(runs: Sequence[SolveRecord], k: int) -> PrecisionPoint:
    """Return the point of attempt k, with all that the attempts before it cost."""
    first, attempts = runs[0], [run.log[k] for run in runs]
    gaps = [attempt.scaled_gap_so_far for attempt in attempts]
    spent = [_sum_phases(run.log[: k + 1]) for run in runs]
    return PrecisionPoint(
        program=first.program,
        backend=first.backend,
        form=attempts[0].form or "",
        request=first.tol,
        checkpoint=k,
        sent_accuracy=None,
        scaled_gap=max(math.inf if gap is None else gap for gap in gaps),
        claimed_gap=_largest(attempt.claimed_gap for attempt in attempts),
        claims=all(attempt.claims for attempt in attempts),
        residual=None,
        stopping_test_ratio=None,
        iterations=_median_count(total_iterations(run.log[: k + 1]) for run in runs),
        seconds=_median_total(spent),
        phases={phase: median(phases[phase] for phases in spent) for phase in SOLVER_PHASES},
        cpu_seconds=None,
        peak_memory=None,
        status=attempts[0].error or attempts[0].status or "",
        n_runs=len(runs),
    )


def _sum_phases(attempts: Sequence[AttemptRecord]) -> dict[str, float]:
    """Return the seconds of each phase over attempts."""
    return {
        phase: math.fsum((attempt.seconds or {}).get(phase) or 0.0 for attempt in attempts) for phase in SOLVER_PHASES
    }


def _median_total(phases_of_runs: Iterable[Mapping[str, float | None]]) -> float:
    """Return the median of the seconds without those of certificates."""
    return median(math.fsum(phases.get(phase) or 0.0 for phase in SOLVER_PHASES) for phases in phases_of_runs)


def _median(values: Iterable[float | None]) -> float | None:
    """Return the median of the known values; None if none is known."""
    known_values = [value for value in values if value is not None]
    return median(known_values) if known_values else None


def _median_count(values: Iterable[int | None]) -> int | None:
    """Return the lower median of the known counts; None if none is known."""
    counts = sorted(value for value in values if value is not None)
    return counts[(len(counts) - 1) // 2] if counts else None


def _largest(values: Iterable[float | None]) -> float | None:
    """Return the largest known value; None if none is known."""
    return max((value for value in values if value is not None), default=None)
