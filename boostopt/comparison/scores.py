"""Scores and means of solves by backend and tolerance.

A tolerance that is not reached has no time, and one failure in several repeats counts as a failure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from boostopt._utils.files import Keys
from boostopt.comparison.solve_record import Result, SolveRecord

SHIFT_SECONDS = 0.01
"""Seconds added to every time before the geometric mean and subtracted after it: shorter times are overhead."""


@dataclass(frozen=True)
class ProgramScore:
    """All repeats of a backend on a program at a tolerance.

    Attributes
    ----------
    result, reason
        "reached" if every run reached the tolerance, "failed" if one did not, "not run" if there is no run.
    n_reached, n_runs, n_requested
        The number of runs that reached the tolerance, of all runs, and of requested runs.
    median, quartiles
        Seconds if all runs reached the tolerance; nan otherwise.
    ratio
        The median over the smallest median of this program and tolerance; nan if there is no median.
    gap
        The widest certified gap.
    """

    program: str
    backend: str
    tol: float
    result: str
    reason: str
    n_reached: int
    n_runs: int
    n_requested: int
    median: float
    quartiles: tuple[float, float]
    ratio: float
    gap: float


SCORE = Keys(
    ProgramScore,
    {
        "program": "program",
        "backend": "backend",
        "tol": "tol",
        "result": "result",
        "reason": "reason",
        "reached": "n_reached",
        "runs": "n_runs",
        "wanted": "n_requested",
        "median": "median",
        "quartiles": "quartiles",
        "ratio": "ratio",
        "gap": "gap",
    },
)
"""Keys of a score."""


@dataclass(frozen=True)
class MeanScore:
    """A backend at a tolerance over all programs.

    Attributes
    ----------
    n_reached, failed, not_run
        Numbers of programs. A program without any run of this backend, as in a results log, counts as not run.
    seconds
        Shifted geometric mean of the medians. A failure counts as the time limit. The mean is nan if there is a failure
        and no time limit, or if a program was not run: means over different programs cannot be compared.
    at_least
        Whether the mean includes failures, so that it is only a lower bound.
    ratio
        The mean over the smallest mean without failures at this tolerance.
    """

    backend: str
    tol: float
    n_reached: int
    failed: int
    not_run: int
    seconds: float
    at_least: bool
    ratio: float


MEAN = Keys(
    MeanScore,
    {
        "backend": "backend",
        "tol": "tol",
        "reached": "n_reached",
        "failed": "failed",
        "not_run": "not_run",
        "seconds": "seconds",
        "at_least": "at_least",
        "ratio": "ratio",
    },
)
"""Keys of a mean."""


def score_programs(runs: Iterable[SolveRecord]) -> tuple[ProgramScore, ...]:
    """Return the score of each program, backend and tolerance, in the order of their first runs."""
    groups: dict[tuple[str, str, float], list[SolveRecord]] = {}
    for run in runs:
        groups.setdefault((run.program, run.backend, run.tol), []).append(run)
    scores = [_score_group(*key, group) for key, group in groups.items()]
    smallest: dict[tuple[str, float], float] = {}
    for score in scores:
        key = score.program, score.tol
        smallest[key] = min(smallest.get(key, math.inf), score.median if score.result == Result.REACHED else math.inf)
    return tuple(replace(score, ratio=score.median / smallest[score.program, score.tol]) for score in scores)


def average_scores(scores: Sequence[ProgramScore], time_limit: float | None) -> tuple[MeanScore, ...]:
    """Return the shifted geometric mean of each backend and tolerance over the programs."""
    groups: dict[tuple[str, float], list[ProgramScore]] = {}
    for score in scores:
        groups.setdefault((score.backend, score.tol), []).append(score)
    programs: dict[float, set[str]] = {}
    for score in scores:
        programs.setdefault(score.tol, set()).add(score.program)
    means = [
        _average_group(backend, tol, group, len(programs[tol]) - len(group), time_limit)
        for (backend, tol), group in groups.items()
    ]
    smallest: dict[float, float] = {}
    for mean in means:
        if not mean.at_least and math.isfinite(mean.seconds):
            smallest[mean.tol] = min(smallest.get(mean.tol, math.inf), mean.seconds)
    return tuple(replace(mean, ratio=mean.seconds / smallest.get(mean.tol, math.nan)) for mean in means)


def shifted_geometric_mean(seconds: Sequence[float], shift: float = SHIFT_SECONDS) -> float:
    """Return exp(mean log(seconds + shift)) - shift.

    References
    ----------
    Achterberg 2007, section A.3: without the shift, the smallest times dominate.
    """
    return math.exp(math.fsum(math.log(s + shift) for s in seconds) / len(seconds)) - shift


def _score_group(program: str, backend: str, tol: float, runs: list[SolveRecord]) -> ProgramScore:
    """Return the score of all repeats, without the ratio."""
    ran = [run for run in runs if run.ran]
    n_reached = sum(run.has_target_gap for run in ran)
    if not ran:
        result = Result.NOT_RUN.value
    else:
        result = (Result.REACHED if n_reached == len(ran) else Result.FAILED).value
    reason = next((run.reason for run in (ran or runs) if not run.has_target_gap), "")
    low, median, high = (
        [float(q) for q in np.quantile([run.seconds for run in ran], [0.25, 0.5, 0.75])]
        if result == Result.REACHED
        else [math.nan] * 3
    )
    gap = max((run.scaled_gap for run in ran), default=math.inf)
    counts = n_reached, len(ran), len(runs)
    return ProgramScore(program, backend, tol, result, reason, *counts, median, (low, high), math.nan, gap)


def _average_group(
    backend: str, tol: float, scores: list[ProgramScore], n_missing: int, time_limit: float | None
) -> MeanScore:
    """Return the mean over the scores of all programs, without the ratio."""
    count = {result: sum(score.result == result for score in scores) for result in Result}
    count[Result.NOT_RUN] += n_missing
    limit = math.nan if time_limit is None else time_limit
    times = [score.median if score.result == Result.REACHED else limit for score in scores]
    is_comparable = not count[Result.NOT_RUN] and not any(math.isnan(seconds) for seconds in times)
    return MeanScore(
        backend,
        tol,
        count[Result.REACHED],
        count[Result.FAILED],
        count[Result.NOT_RUN],
        shifted_geometric_mean(times) if is_comparable else math.nan,
        count[Result.FAILED] > 0,
        math.nan,
    )
