"""Sentences and rounded numbers about the scores and means of benchmarks, shared by the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from boostopt._utils.environment import describe_environment
from boostopt.backends.accuracy_profiles import is_named_profile
from boostopt.comparison.scores import MeanScore, ProgramScore
from boostopt.comparison.solve_record import Result, SolveRecord
from boostopt.comparison.solve_results import SolveResults


def measurement_text(results: SolveResults) -> str:
    """Return the meaning of the seconds in the tables of a benchmark, and the conditions of its solves."""
    settings = results.settings
    request = "The gap must be certified. The requests to solvers are accuracies in their own terms, not this gap."
    if settings.profile_names:
        request = f"Asked by the profiles {', '.join(settings.profile_names)}: one solve each."
    seconds = "Seconds are of one solve" if settings.repeats == 1 else f"Seconds are medians of {settings.repeats}"
    quartiles = ", quartiles below them" if settings.repeats > 2 else ""
    return f"{request} {seconds}{quartiles}; x1 is the fastest. {conditions_text(results)}"


def conditions_text(results: SolveResults) -> str:
    """Return the conditions of the solves, in words that fit every table of a benchmark: limits, processes, machine."""
    settings = results.settings
    limit = "no time limit" if settings.time_limit is None else f"{settings.time_limit:g} s for a solve"
    if settings.isolate:
        processes = "each backend in a process of its own"
    elif settings.time_limit is None:
        processes = "all backends in one process"
    else:
        processes = "backends that keep no time limit in a process each, the others in one"
    return (
        f"Solves in shuffled order (seed {settings.seed}), {limit}, {processes}. "
        f"{describe_environment(results.boostopt, results.environment, settings.threads)}"
    )


def gap_request_text(runs: Iterable[SolveRecord], tol: float) -> str:
    """Return the request at a gap: the name of the profile, if there is one, and the gap."""
    profiles = {run.profile for run in runs if run.tol == tol and is_named_profile(run.profile)}
    return f"{f'{profiles.pop()}, ' if len(profiles) == 1 else ''}gap {tol:g}"


def format_median_seconds(value: float) -> str:
    """Format seconds with two digits: repeats do not agree in more digits."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def format_ratio(value: float) -> str:
    """Format a ratio to the fastest; "" for none."""
    return f"x{format_median_seconds(value)}" if math.isfinite(value) else ""


def score_time_text(score: ProgramScore) -> str:
    """Return the median, or the result if there is no median."""
    return format_median_seconds(score.median) if score.result == Result.REACHED else score.result


def quartiles_text(score: ProgramScore) -> str:
    """Return the quartiles, or the numbers of successes and of runs."""
    missing = f"{score.n_runs} of {score.n_requested} runs" if 0 < score.n_runs < score.n_requested else ""
    if score.result == Result.FAILED:
        return f"{score.n_reached} of {score.n_runs}, gap {score.gap:.1e}"
    if score.result == Result.NOT_RUN or score.n_runs == 1:
        return missing
    quartiles = "-".join(format_median_seconds(value) for value in score.quartiles)
    return f"{quartiles}, {missing}" if missing else quartiles


def mean_time_text(mean: MeanScore) -> str:
    """Return the mean of a backend over all programs, or the reason why there is no mean."""
    if math.isfinite(mean.seconds):
        return f"{'>= ' if mean.at_least else ''}{format_median_seconds(mean.seconds)}"
    return "no mean" if mean.n_reached and not mean.failed else overall_result(mean)


def overall_result(mean: MeanScore) -> str:
    """Return the result over all programs: "failed" if one failed, else "not run" if one was not run."""
    return "failed" if mean.failed else "not run" if mean.not_run else "reached"


def failure_counts_text(mean: MeanScore) -> str:
    """Return the numbers of programs on which the backend failed or was not run."""
    count = mean.n_reached + mean.failed + mean.not_run
    parts = [f"failed on {mean.failed}"] if mean.failed else []
    parts += [f"not run on {mean.not_run}"] if mean.not_run else []
    return f"{', '.join(parts)} of {count}" if parts else ""


@dataclass(frozen=True)
class BenchmarkCell:
    """The cell of a backend at a tolerance: the time with the ratio to the fastest, a remark, and the result."""

    time: str
    ratio: str
    remark: str
    result: str


EMPTY_CELL = BenchmarkCell("", "", "", "not run")
"""Cell without a run, as in the results log of an unfinished benchmark."""


def score_cells(scores: Iterable[ProgramScore]) -> dict[tuple[str, float], BenchmarkCell]:
    """Return the cell of each backend and tolerance on one program."""
    return {
        (score.backend, score.tol): BenchmarkCell(
            score_time_text(score), format_ratio(score.ratio), quartiles_text(score), score.result
        )
        for score in scores
    }


def mean_cells(means: Iterable[MeanScore]) -> dict[tuple[str, float], BenchmarkCell]:
    """Return the cell of each backend and tolerance over all programs."""
    return {
        (mean.backend, mean.tol): BenchmarkCell(
            mean_time_text(mean), format_ratio(mean.ratio), failure_counts_text(mean), overall_result(mean)
        )
        for mean in means
    }


def fastest_backends_text(means: Iterable[MeanScore], tol: float) -> str:
    """Return the fastest of the backends that reach a gap on all programs, in a sentence."""
    fastest = [mean.backend for mean in means if mean.tol == tol and mean.ratio == 1.0 and not mean.at_least]
    if not fastest:
        return f"No backend reaches a certified gap of {tol:g} on all programs."
    return f"Fastest of the backends that reach a certified gap of {tol:g} on all programs: {', '.join(fastest)}."


def failure_reasons(scores: Iterable[ProgramScore]) -> list[tuple[str, str]]:
    """Return why backends were not run, or failed at the first gap that they missed, on one program.

    Returns
    -------
    Each reason once, after the backends to which it applies, with commas between.
    """
    reasons: dict[tuple[str, str], str] = {}
    for score in scores:
        if score.result != Result.REACHED:
            gap = "" if score.result == Result.NOT_RUN else f" at {score.tol:g}"
            reason = f"{score.result}{gap}. {score.reason.removesuffix('.')}."
            reasons.setdefault((score.backend, score.result), reason)
    return [
        (", ".join(backend for (backend, _), text in reasons.items() if text == reason), reason)
        for reason in dict.fromkeys(reasons.values())
    ]
