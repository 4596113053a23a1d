"""Results of runs in words and rounded numbers: the same on the terminal and in the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from boostopt.backends.profiles import asked_by_name
from boostopt.comparison.rows import AUTO, Row
from boostopt.comparison.scores import Mean, Score
from boostopt.text import interval

BUG = "Whatever the solvers did, that is a bug in boostopt: please report it with the data."
"""The words on intervals that have no point in common."""

NO_ANSWER = "no answer"
"""The words instead of an interval where no attempt left anything."""

UNANSWERED = "No backend left an answer."

Kind = Literal["known", "good", "warning", "wrong"]


@dataclass(frozen=True)
class Conclusion:
    """A sentence, and of what kind it is: "known" for what holds, "wrong" for what must not be."""

    words: str
    kind: Kind


# One program


def together(runs: Iterable[Row]) -> tuple[float, float]:
    """Return the intersection of all certified intervals; its ends are out of order where there is none."""
    ran = [run for run in runs if run.ran]
    return max((run.lower for run in ran), default=-math.inf), min((run.upper for run in ran), default=math.inf)


def why_none(run: Row) -> str:
    """Say why a run has no answer, in the solver's own words."""
    return run.error or run.solver_status or "no attempt was made"


def clashes(run: Row, runs: Iterable[Row]) -> list[str]:
    """Return the backends whose interval does not overlap with that of a run."""
    if not run.ran:
        return []
    others = [other for other in runs if other is not run and other.ran]
    return list(dict.fromkeys(other.backend for other in others if run.lower > other.upper or other.lower > run.upper))


def verdict(runs: Sequence[Row]) -> Conclusion:
    """Say in a sentence what is known about the optimum of a program, by whom, and whether the intervals agree."""
    ran, (lower, upper) = [run for run in runs if run.ran], together(runs)
    if not ran:
        return Conclusion("No backend named can take this program.", "wrong")
    if lower > upper:
        return Conclusion(f"The intervals contradict each other. {BUG}", "wrong")
    if lower == math.inf:
        provers = dict.fromkeys(run.backend for run in ran if run.infeasible)
        return Conclusion(f"The program is infeasible, proved by {_listed(provers)}.", "good")
    if not any(run.answered for run in ran):
        return Conclusion(UNANSWERED, "warning")
    where = f"The optimum lies in {interval(lower, upper)}"
    agree = "all intervals agree" if len({run.backend for run in ran}) > 1 else "no other backend was run"
    reached = [run for run in ran if run.reached]
    if not reached:
        return Conclusion(f"{where}: nobody certified it to {min(run.tol for run in ran):g}; {agree}.", "warning")
    finest = min(run.tol for run in reached)
    provers = dict.fromkeys(run.backend for run in reached if run.tol == finest)
    kind: Kind = "good" if finest == min(run.tol for run in ran) else "warning"
    return Conclusion(f"{where}: certified to {finest:g} by {_listed(provers)}; {agree}.", kind)


def conclusions(runs: Sequence[Row]) -> list[Conclusion]:
    """Say what follows from the runs of one program by several backends, each run once."""
    ran, (lower, upper) = [run for run in runs if run.ran], together(runs)
    if not ran or lower > upper:
        return [verdict(runs)]
    if not any(run.answered for run in ran):
        return [Conclusion(UNANSWERED, "warning")]
    optimum = "the program is infeasible" if lower == math.inf else f"the optimum lies in {interval(lower, upper)}"
    sentences = [Conclusion(f"All together: {optimum}.", "known")]
    reached = [run for run in ran if run.reached]
    if reached:
        sentences.append(
            Conclusion(f"Certified to {ran[0].tol:g}: {', '.join(run.backend for run in reached)}.", "good")
        )
        fastest = min(reached, key=lambda run: run.seconds)
        sentences.append(Conclusion(f"Fastest of them in this one run: {fastest.backend}.", "good"))
    if lower < upper == math.inf:
        sentences.append(
            Conclusion("No d near the answers has edges that are allowed: the program is at its limit.", "warning")
        )
    short = [run.backend for run in ran if not run.reached]
    if short:
        sentences.append(Conclusion(f"Not as narrow as {ran[0].tol:g}: {', '.join(short)}.", "warning"))
    return sentences


def proved(run: Row) -> str:
    """Return what a run proves about the optimum, rounded outward."""
    if not run.answered:
        return NO_ANSWER
    return f"infeasible, proved by {run.excess or math.nan:.3g}" if run.infeasible else interval(*run.interval)


def width(run: Row) -> str:
    """Return the certified gap, unscaled, of an answer; a program that is proved infeasible has none."""
    return f"{run.gap:.1e}" if run.answered and not run.infeasible else "-"


def seconds_once(run: Row) -> str:
    """Return the seconds of a single run."""
    return f"{run.seconds:.3f}"


def iterations(run: Row) -> str:
    """Return how many the solvers counted."""
    return "-" if run.iterations is None else str(run.iterations)


def asked(run: Row) -> str:
    """Say by which profile a solver was asked, and the finest accuracy that it was sent; "" where neither is known."""
    return ", ".join(filter(None, (run.profile, "" if run.asked is None else f"{run.asked:g}")))


def accuracies(runs: Iterable[Row]) -> dict[tuple[str, float], str]:
    """Say which accuracies each backend was sent at each gap; nothing of those that were sent none."""
    sent: dict[tuple[str, float], set[float]] = {}
    for run in runs:
        if run.ran and run.asked is not None:
            sent.setdefault((run.backend, run.tol), set()).add(run.asked)
    return {
        at: f"accuracy {' to '.join(f'{end:g}' for end in sorted({max(its), min(its)})[::-1])}"
        for at, its in sent.items()
    }


def form(run: Row) -> str:
    """Say of how many attempts the answer is the best, and in which form."""
    return f"best of {run.attempts}: {run.form}" if run.form else NO_ANSWER


def phases(run: Row) -> str:
    """Say where the time went."""
    return ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in run.phases.items() if seconds is not None)


def answered(run: Row) -> str:
    """Say whose answer that of the automatic choice is; "" for any other backend."""
    by = run.answered_by
    return f"answered by {by}, tried {', '.join(run.path or ())}" if run.backend == AUTO and by else ""


def _listed(names: Iterable[str]) -> str:
    """Return names as a sentence has them."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# Scores and means


def asked_for(runs: Iterable[Row], tol: float) -> str:
    """Say what was asked for at a gap: the profile by its name, where there is one, and the gap."""
    by = {run.profile for run in runs if run.tol == tol and asked_by_name(run.profile)}
    return f"{f'{by.pop()}, ' if len(by) == 1 else ''}gap {tol:g}"


def seconds(value: float) -> str:
    """Write seconds with two digits: repeats agree in no more."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def ratio(value: float) -> str:
    """Write a ratio to the fastest; "" for none."""
    return f"x{seconds(value)}" if math.isfinite(value) else ""


def time_of(score: Score) -> str:
    """Return the median, or why there is none."""
    return seconds(score.median) if score.result == "reached" else score.result


def spread(score: Score) -> str:
    """Return the quartiles, or how far it came."""
    missing = f"{score.runs} of {score.wanted} runs" if 0 < score.runs < score.wanted else ""
    if score.result == "failed":
        return f"{score.reached} of {score.runs}, gap {score.gap:.1e}"
    if score.result == "not run" or score.runs == 1:
        return missing
    quartiles = "-".join(seconds(value) for value in score.quartiles)
    return f"{quartiles}, {missing}" if missing else quartiles


def mean_of(mean: Mean) -> str:
    """Return the mean of a backend over all programs, or why there is none."""
    if math.isfinite(mean.seconds):
        return f"{'>= ' if mean.at_least else ''}{seconds(mean.seconds)}"
    return result_of(mean)


def result_of(mean: Mean) -> str:
    """Return the worst that it came to on any program."""
    return "failed" if mean.failed else "not run" if mean.not_run else "reached"


def counts(mean: Mean) -> str:
    """Say on how many programs it failed or was not run."""
    count = mean.reached + mean.failed + mean.not_run
    parts = [f"failed on {mean.failed}"] if mean.failed else []
    parts += [f"not run on {mean.not_run}"] if mean.not_run else []
    return f"{', '.join(parts)} of {count}" if parts else ""


@dataclass(frozen=True)
class Cell:
    """The showing of a backend at a tolerance: a time with its ratio to the fastest, a remark, and the result."""

    time: str
    ratio: str
    remark: str
    result: str


EMPTY = Cell("", "", "", "not run")
"""The cell where there is no run, as in the file of a benchmark that goes on."""


def cells_of_scores(scores: Iterable[Score]) -> dict[tuple[str, float], Cell]:
    """Return what came of each backend and tolerance on one program."""
    return {(s.backend, s.tol): Cell(time_of(s), ratio(s.ratio), spread(s), s.result) for s in scores}


def cells_of_means(means: Iterable[Mean]) -> dict[tuple[str, float], Cell]:
    """Return what came of each backend and tolerance over all programs."""
    return {(m.backend, m.tol): Cell(mean_of(m), ratio(m.ratio), counts(m), result_of(m)) for m in means}


def fastest(means: Iterable[Mean], tol: float) -> str:
    """Say who is fastest to a gap of those that reach it on all programs."""
    first = [m.backend for m in means if m.tol == tol and m.ratio == 1.0 and not m.at_least]
    if not first:
        return f"No backend reaches a certified gap of {tol:g} on all programs."
    return f"Fastest of the backends that reach a certified gap of {tol:g} on all programs: {', '.join(first)}."


def reasons(of_program: Iterable[Score]) -> list[tuple[str, str]]:
    """Say why backends were not run, or failed at the first gap that they did not reach; several with one reason once.

    Returns
    -------
    Pairs of the backends, with commas between, and the reason.
    """
    why: dict[tuple[str, str], str] = {}
    for score in of_program:
        if score.result != "reached":
            at = "" if score.result == "not run" else f" at {score.tol:g}"
            why.setdefault((score.backend, score.result), f"{score.result}{at}. {score.reason.removesuffix('.')}.")
    return [
        (", ".join(backend for (backend, _), its in why.items() if its == words), words)
        for words in dict.fromkeys(why.values())
    ]
