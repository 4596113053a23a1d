"""Results of runs in words and rounded numbers: the same on the terminal and in the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from boostopt._utils.environment import describe_environment
from boostopt._utils.formatting import format_interval
from boostopt.backends.profiles import is_named_profile
from boostopt.comparison.scores import MeanScore, ProgramScore
from boostopt.comparison.solve_record import AUTO, Result, SolveRecord
from boostopt.comparison.solve_results import SolveResults, intersect_intervals

CONTRADICTION_ADVICE = (
    "Whatever the solvers did, F or G contradicts its conjugate. If the formulation is your own, run `boostopt check` "
    "on it. If it is one of boostopt's, that is a bug in boostopt: please report it with the data."
)
"""The words on intervals that have no point in common."""

NO_ANSWER = "no answer"
"""The words in place of an interval if no attempt left an answer."""

NO_ANSWER_SENTENCE = "No backend left an answer."

MAX_SHARE = 0.01
"""Gap asked for, over the size of the optimum, above which the optimum is called small."""

Kind = Literal["known", "good", "warning", "wrong"]


@dataclass(frozen=True)
class Conclusion:
    """A sentence and its kind: "known", "good" and "warning" for true findings, "wrong" for what must not happen."""

    words: str
    kind: Kind


# One program


def no_answer_reason(run: SolveRecord) -> str:
    """Return why a run has no answer, in the solver's own words."""
    return run.error or run.solver_status or "no attempt was made"


def summarize_program(runs: Sequence[SolveRecord]) -> Conclusion:
    """Say in a sentence what is known about the optimum, who proved it, and whether the intervals agree."""
    ran, (lower, upper) = [run for run in runs if run.ran], intersect_intervals(runs)
    if not ran:
        return Conclusion("No backend named can take this program.", "wrong")
    if lower > upper:
        return Conclusion(f"The intervals contradict each other. {CONTRADICTION_ADVICE}", "wrong")
    if lower == math.inf:
        provers = dict.fromkeys(run.backend for run in ran if run.infeasible)
        return Conclusion(f"The program is infeasible, proved by {join_names(provers)}.", "good")
    if not any(run.answered for run in ran):
        return Conclusion(NO_ANSWER_SENTENCE, "warning")
    where = f"The optimum lies in {format_interval(lower, upper)}"
    agree = "all intervals agree" if len({run.backend for run in ran}) > 1 else "no other backend was run"
    reached = [run for run in ran if run.reached]
    if not reached:
        return Conclusion(f"{where}: nobody certified it to {min(run.tol for run in ran):g}; {agree}.", "warning")
    finest = min(run.tol for run in reached)
    provers = dict.fromkeys(run.backend for run in reached if run.tol == finest)
    kind: Kind = "good" if finest == min(run.tol for run in ran) else "warning"
    return Conclusion(f"{where}: certified to {finest:g} by {join_names(provers)}; {agree}.", kind)


def summarize_comparison(runs: Sequence[SolveRecord], equal_weights: Sequence[float | None] = ()) -> list[Conclusion]:
    """Say what follows from the runs of one program by several backends, each run once.

    Parameters
    ----------
    n_runs
        The runs.
    equal_weights
        The bounds that equal weights prove, as in `trivial_bounds`.
    """
    ran, (lower, upper) = [run for run in runs if run.ran], intersect_intervals(runs)
    if not ran or lower > upper:
        return [summarize_program(runs)]
    if not any(run.answered for run in ran):
        return [Conclusion(NO_ANSWER_SENTENCE, "warning")]
    optimum = (
        "the program is infeasible" if lower == math.inf else f"the optimum lies in {format_interval(lower, upper)}"
    )
    sentences = [Conclusion(f"All together: {optimum}.", "known")]
    reached = [run for run in ran if run.reached]
    if reached:
        sentences.append(
            Conclusion(f"Certified to {_target_gap_text(ran[0])}: {', '.join(run.backend for run in reached)}.", "good")
        )
        fastest = min(reached, key=lambda run: run.seconds)
        sentences.append(Conclusion(f"Fastest of them in this one run: {fastest.backend}.", "good"))
    if lower < upper == math.inf:
        sentences.append(
            Conclusion(
                "No d near the answers keeps the edges within their limits: the program is borderline.", "warning"
            )
        )
    short = [run.backend for run in ran if not run.reached]
    if short:
        sentences.append(Conclusion(f"Not as narrow as {_target_gap_text(ran[0])}: {', '.join(short)}.", "warning"))
    return [*sentences, *trivial_bounds(runs, equal_weights)]


def trivial_bounds(runs: Iterable[SolveRecord], equal_weights: Sequence[float | None]) -> list[Conclusion]:
    """Say where a program compares little: its optimum is as small as the gap asked for, or known without a solver.

    Parameters
    ----------
    n_runs
        The runs of the program.
    equal_weights
        The lower bound that equal weights of the hypotheses prove, and the upper bound that equal weights of the
        examples prove; None for an infinite bound, and empty if they are not known.
    """
    ran = [run for run in runs if run.ran]
    lower, upper = intersect_intervals(ran)
    if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
        return []
    tol = min(run.tol for run in ran)
    size, sentences = max(abs(lower), abs(upper)), list[Conclusion]()
    if size <= tol:
        sentences.append(
            Conclusion(
                f"The optimum is 0 up to the gap {tol:g}: below this gap solvers are compared on noise.", "warning"
            )
        )
    elif tol > MAX_SHARE * size:
        sentences.append(
            Conclusion(f"The optimum is small: a gap of {tol:g} is {tol / size:.2g} times its size.", "warning")
        )
    for weighted, end, bound, optimum in zip(
        ("hypotheses", "examples"), ("lower", "upper"), equal_weights, (upper, lower), strict=False
    ):
        if bound is not None and abs(optimum - bound) <= tol * max(1.0, size):
            sentences.append(
                Conclusion(f"Equal weights of the {weighted} prove the {end} bound without a solver.", "warning")
            )
    return sentences


def _target_gap_text(run: SolveRecord) -> str:
    """Return the gap asked for, which is relative to max(1, |optimum|): with the words which of both it is."""
    large = run.gap > 1.0001 * run.scaled_gap
    return f"{run.tol:g} times the optimum" if large else f"an absolute gap of {run.tol:g}"


def proved_interval_text(run: SolveRecord) -> str:
    """Return the interval that a run proves for the optimum, rounded outward."""
    if not run.answered:
        return NO_ANSWER
    return f"infeasible, proved by {run.excess or math.nan:.3g}" if run.infeasible else format_interval(*run.interval)


def gap_text(run: SolveRecord) -> str:
    """Return the certified gap of an answer, not scaled; a program that is proved infeasible has none."""
    return f"{run.gap:.1e}" if run.answered and not run.infeasible else "-"


def relative_width(run: SolveRecord) -> str:
    """Return the certified gap over the size of the optimum, the larger of the two ends; "-" for none."""
    return f"{run.relative_gap:.1e}" if run.answered and not run.infeasible else "-"


def format_seconds(run: SolveRecord) -> str:
    """Return the seconds of a single run."""
    return f"{run.seconds:.3f}"


def iterations_text(run: SolveRecord) -> str:
    """Return the number of iterations that the solvers counted, over all attempts."""
    return "-" if run.iterations is None else str(run.iterations)


def accuracy_request_text(run: SolveRecord) -> str:
    """Return the profile of a solve, and the finest accuracy that the solver was sent; "" if neither is known."""
    return ", ".join(filter(None, (run.profile, "" if run.asked is None else f"{run.asked:g}")))


def sent_accuracies(runs: Iterable[SolveRecord]) -> dict[tuple[str, float], str]:
    """Return the accuracies that each backend was sent at each gap; backends without one are left out."""
    sent: dict[tuple[str, float], set[float]] = {}
    for run in runs:
        if run.ran and run.asked is not None:
            sent.setdefault((run.backend, run.tol), set()).add(run.asked)
    return {
        at: f"accuracy {' to '.join(f'{end:g}' for end in sorted({max(its), min(its)})[::-1])}"
        for at, its in sent.items()
    }


def best_form_text(run: SolveRecord) -> str:
    """Return the number of attempts, and the form of the best one."""
    return f"best of {run.attempts}: {run.form}" if run.form else NO_ANSWER


def phase_seconds_text(run: SolveRecord) -> str:
    """Return the seconds of each phase."""
    return ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in run.phases.items() if seconds is not None)


def answering_backend_text(run: SolveRecord) -> str:
    """Return which backend answered for the automatic choice; "" for any other backend."""
    by = run.answered_by
    return f"answered by {by}, tried {', '.join(run.path or ())}" if run.backend == AUTO and by else ""


def join_names(names: Iterable[str]) -> str:
    """Join names for a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# Scores and means


def measurement_text(results: SolveResults) -> str:
    """Return the meaning of the seconds in the tables of a benchmark, and the conditions of its solves."""
    settings = results.settings
    request = "The gap must be certified. Solvers are asked for accuracies in their own terms, not for this gap."
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
    """Say what was asked for at a gap: the name of the profile, if there is one, and the gap."""
    by = {run.profile for run in runs if run.tol == tol and is_named_profile(run.profile)}
    return f"{f'{by.pop()}, ' if len(by) == 1 else ''}gap {tol:g}"


def format_median_seconds(value: float) -> str:
    """Write seconds with two digits: repeats do not agree in more."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def format_ratio(value: float) -> str:
    """Write a ratio to the fastest; "" for none."""
    return f"x{format_median_seconds(value)}" if math.isfinite(value) else ""


def score_time_text(score: ProgramScore) -> str:
    """Return the median, or why there is none."""
    return format_median_seconds(score.median) if score.result == Result.REACHED else score.result


def quartiles_text(score: ProgramScore) -> str:
    """Return the quartiles, or how many runs succeeded."""
    missing = f"{score.n_runs} of {score.n_requested} runs" if 0 < score.n_runs < score.n_requested else ""
    if score.result == Result.FAILED:
        return f"{score.n_reached} of {score.n_runs}, gap {score.gap:.1e}"
    if score.result == Result.NOT_RUN or score.n_runs == 1:
        return missing
    quartiles = "-".join(format_median_seconds(value) for value in score.quartiles)
    return f"{quartiles}, {missing}" if missing else quartiles


def mean_time_text(mean: MeanScore) -> str:
    """Return the mean of a backend over all programs, or why there is none."""
    if math.isfinite(mean.seconds):
        return f"{'>= ' if mean.at_least else ''}{format_median_seconds(mean.seconds)}"
    return "no mean" if mean.n_reached and not mean.failed else overall_result(mean)


def overall_result(mean: MeanScore) -> str:
    """Return the widest certified gap over all programs."""
    return "failed" if mean.failed else "not run" if mean.not_run else "reached"


def failure_counts_text(mean: MeanScore) -> str:
    """Return on how many programs the backend failed or was not run."""
    count = mean.n_reached + mean.failed + mean.not_run
    parts = [f"failed on {mean.failed}"] if mean.failed else []
    parts += [f"not run on {mean.not_run}"] if mean.not_run else []
    return f"{', '.join(parts)} of {count}" if parts else ""


@dataclass(frozen=True)
class BenchmarkCell:
    """A backend at a tolerance: its time with the ratio to the fastest, a remark, and the result."""

    time: str
    ratio: str
    remark: str
    result: str


EMPTY_CELL = BenchmarkCell("", "", "", "not run")
"""The cell without a run, as in the file of an unfinished benchmark."""


def score_cells(scores: Iterable[ProgramScore]) -> dict[tuple[str, float], BenchmarkCell]:
    """Return the cell of each backend and tolerance on one program."""
    return {
        (s.backend, s.tol): BenchmarkCell(score_time_text(s), format_ratio(s.ratio), quartiles_text(s), s.result)
        for s in scores
    }


def mean_cells(means: Iterable[MeanScore]) -> dict[tuple[str, float], BenchmarkCell]:
    """Return the cell of each backend and tolerance over all programs."""
    return {
        (m.backend, m.tol): BenchmarkCell(
            mean_time_text(m), format_ratio(m.ratio), failure_counts_text(m), overall_result(m)
        )
        for m in means
    }


def fastest_backends_text(means: Iterable[MeanScore], tol: float) -> str:
    """Say which backend is fastest among those that reach a gap on all programs."""
    first = [m.backend for m in means if m.tol == tol and m.ratio == 1.0 and not m.at_least]
    if not first:
        return f"No backend reaches a certified gap of {tol:g} on all programs."
    return f"Fastest of the backends that reach a certified gap of {tol:g} on all programs: {', '.join(first)}."


def failure_reasons(of_program: Iterable[ProgramScore]) -> list[tuple[str, str]]:
    """Say why backends were not run, or failed at the first gap that they missed; a shared reason is said once.

    Returns
    -------
    Pairs of the backends, with commas between, and the reason.
    """
    why: dict[tuple[str, str], str] = {}
    for score in of_program:
        if score.result != Result.REACHED:
            at = "" if score.result == Result.NOT_RUN else f" at {score.tol:g}"
            why.setdefault((score.backend, score.result), f"{score.result}{at}. {score.reason.removesuffix('.')}.")
    return [
        (", ".join(backend for (backend, _), its in why.items() if its == words), words)
        for words in dict.fromkeys(why.values())
    ]
