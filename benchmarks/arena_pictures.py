"""Pictures of a session of the arena: performance, data and gap profiles, and work against precision, by group.

    python benchmarks/arena.py --verify results.json --pictures FOLDER

The package quality-profiles is not used: its profiles rate the value of an answer between a common starting point and a
reference. These solvers have no common starting point, and the value of an infeasible answer may lie below the optimum.
The gap profile has its place: the share of problems that are certified to a gap, over all gaps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.arena_tables import (
    SHIFT,
    cheapest_solves,
    family_of,
    names_in_tables,
    problem_groups,
    shifted_mean,
)
from boostopt._utils.array_types import Array
from boostopt.pictures.style import curve_style, escape_label, make_panels

MIN_GAP = 1e-12
"""The smallest relative gap on a scale; smaller gaps are drawn there."""

MIN_PROBLEMS = 3
"""The least number of problems of a group that has pictures: profiles of fewer are single steps."""

Session = Mapping[str, Any]
Curve = tuple[Array, Array]
"""The steps of a profile: abscissas in ascending order, and the share of problems up to each."""


@dataclass(frozen=True)
class RequestSummary:
    """An entrant's repeats of one request on one problem.

    Attributes
    ----------
    relative_gap
        The largest certified gap of the repeats over |optimum|; infinite for none.
    cpu_seconds
        Their median over the repeats, without the certificate. A solve whose process was killed has no processor
        seconds; its wall seconds, at least the limit, stand for them.
    """

    relative_gap: float
    cpu_seconds: float


Summaries = Mapping[str, Mapping[str, Mapping[float, RequestSummary]]]
"""Summaries by entrant, problem and request."""


def summaries_by_entrant(session: Session, family: str) -> Summaries:
    """Return the summaries of the problems of a family that each entrant of the family took.

    A form of a solver that also enters without one is left out: pictures are of the solver's own choice.
    """
    rows = names_in_tables(list(dict.fromkeys(run["entrant"] for run in session["runs"])))
    runs: dict[str, dict[str, dict[float, list[Any]]]] = {}
    for run in session["runs"]:
        if run["ran"] and family_of(run["problem"]) == family and rows[run["entrant"]][0] == run["entrant"]:
            by_problem = runs.setdefault(run["entrant"], {}).setdefault(run["problem"], {})
            by_problem.setdefault(run["request"], []).append(run)
    return {
        entrant: {
            problem: {request: _summary(repeats) for request, repeats in by_request.items()}
            for problem, by_request in by_problem.items()
            if all(problem in problems for problems in runs.values())
        }
        for entrant, by_problem in runs.items()
    }


def _summary(repeats: Sequence[Any]) -> RequestSummary:
    """Return the summary of the repeats of a request."""
    gaps = [math.inf if run["relative_gap"] is None else run["relative_gap"] for run in repeats]
    cpu = [run["wall_seconds"] if run["cpu_seconds"] is None else run["cpu_seconds"] for run in repeats]
    return RequestSummary(max(gaps), median(cpu))


def seconds_to_gap(session: Session, summaries: Summaries, gap: float) -> dict[str, dict[str, float]]:
    """Return the wall seconds of the cheapest solve, by entrant and problem of some summaries; infinite for none."""
    winners = cheapest_solves(session, gap)
    return {
        entrant: {
            problem: math.inf if (winner := winners[problem, entrant]) is None else winner.wall_seconds
            for problem in by_problem
        }
        for entrant, by_problem in summaries.items()
    }


def profile(values: Sequence[float]) -> Curve:
    """Return the steps of the share of values up to an abscissa; infinite values count in the share alone."""
    finite = np.sort([value for value in values if math.isfinite(value)])
    return finite, np.arange(1, len(finite) + 1) / max(len(values), 1)


def performance_profiles(seconds: Mapping[str, Mapping[str, float]]) -> dict[str, Curve]:
    """Return the profile of the seconds over the least of all entrants, for each entrant.

    Source: E. D. Dolan and J. J. More, Benchmarking optimization software with performance profiles, Mathematical
    Programming 91 (2002).
    """
    problems = list(dict.fromkeys(problem for by_problem in seconds.values() for problem in by_problem))
    smallest = {problem: min(one.get(problem, math.inf) for one in seconds.values()) for problem in problems}
    return {
        entrant: profile(
            [
                by_problem.get(problem, math.inf) / smallest[problem] if math.isfinite(smallest[problem]) else math.inf
                for problem in problems
            ]
        )
        for entrant, by_problem in seconds.items()
    }


def data_profiles(seconds: Mapping[str, Mapping[str, float]]) -> dict[str, Curve]:
    """Return the profile of the seconds, for each entrant.

    Source: J. J. More and S. M. Wild, Benchmarking derivative-free optimization algorithms, SIAM Journal on
    Optimization 20 (2009), with seconds in place of evaluations.
    """
    return {entrant: profile(list(by_problem.values())) for entrant, by_problem in seconds.items()}


def gap_profiles(summaries: Summaries) -> dict[str, Curve]:
    """Return the profile of the smallest certified relative gaps over all requests, for each entrant."""
    return {
        entrant: profile(
            [max(min(one.relative_gap for one in by_request.values()), MIN_GAP) for by_request in by_problem.values()]
        )
        for entrant, by_problem in summaries.items()
    }


def work_precision_lines(summaries: Summaries) -> dict[str, list[tuple[float, float, float]]]:
    """Return the request, the mean processor seconds and the median gap of each request, for each entrant.

    The mean is geometric, shifted by `SHIFT`, over all problems that the entrant took.
    """
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for entrant, by_problem in summaries.items():
        requests = sorted({request for by_request in by_problem.values() for request in by_request}, reverse=True)
        points = list[tuple[float, float, float]]()
        for request in requests:
            solves = [by_request[request] for by_request in by_problem.values() if request in by_request]
            seconds = [one.cpu_seconds for one in solves]
            gap = median(one.relative_gap for one in solves)
            if math.isfinite(gap):
                points.append((request, shifted_mean(seconds), max(gap, MIN_GAP)))
        lines[entrant] = points
    return lines


def draw_profiles(session: Session, family: str, gap: float) -> Figure:
    """Draw the three profiles of a family: seconds over the least, seconds, and certified gaps.

    Parameters
    ----------
    session
        A session of a file of results.
    family
        "boosting", "cvxpy" or "files".
    gap
        The relative gap of the profiles of seconds.
    """
    summaries = summaries_by_entrant(session, family)
    seconds = seconds_to_gap(session, summaries, gap)
    panels = make_panels(None, 3, 1, 7.5, one_scale=False)
    curves = (performance_profiles(seconds), data_profiles(seconds), gap_profiles(summaries))
    labels = (
        f"wall seconds to {gap:g} over the least",
        f"wall seconds to a relative gap of {gap:g}",
        "certified relative gap",
    )
    for panel, by_entrant, label in zip(panels.axes, curves, labels, strict=True):
        _draw_curves(panel, by_entrant, label)
    n_problems = len(next(iter(summaries.values()), ()))
    title = f"{family}, {n_problems} problems that all entrants take, cheapest request of each; {session['date'][:10]}"
    panels.legend(*panels.axes, title=title)
    return panels.figure


def _draw_curves(panel: Axes, curves: Mapping[str, Curve], label: str) -> None:
    """Draw the steps of each entrant on a logarithmic scale; each curve continues to the end of the scale."""
    last = max((abscissas[-1] for abscissas, _ in curves.values() if len(abscissas)), default=1.0)
    first = min((abscissas[0] for abscissas, _ in curves.values() if len(abscissas)), default=0.1)
    for k, (entrant, (abscissas, shares)) in enumerate(curves.items()):
        style = curve_style(k)
        panel.step(
            [first, *abscissas, last * 1.2],
            [0.0, *shares, shares[-1] if len(shares) else 0.0],
            where="post",
            color=style.color,
            linestyle=style.dashes,
            label=escape_label(entrant),
        )
    set_logarithmic(panel.xaxis)
    panel.set_ylim(-0.02, 1.02)
    panel.set_xlabel(label)
    panel.set_ylabel("share of problems")


def set_logarithmic(axis: XAxis) -> None:
    """Make a scale logarithmic, with labels at 1, 2 and 5 times powers of ten over less than three of these."""
    axis.axes.set_xscale("log")
    first, last = axis.get_view_interval()
    is_short = last < 1000.0 * first
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if is_short else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def draw_work_precision(session: Session, family: str) -> Figure:
    """Draw the median certified gap against the mean seconds of a family, with the request beside each point."""
    panels = make_panels(None, 1, 1, 4.0)
    (panel,) = panels.axes
    for k, (entrant, points) in enumerate(work_precision_lines(summaries_by_entrant(session, family)).items()):
        style = curve_style(k)
        panel.plot(
            [seconds for _, seconds, _ in points],
            [gap for _, _, gap in points],
            color=style.color,
            linestyle=style.dashes,
            marker=style.marker,
            label=escape_label(entrant),
        )
        for request, seconds, gap in points:
            panel.annotate(f"{request:g}", (seconds, gap), (4, 3), textcoords="offset points", fontsize="small")
    set_logarithmic(panel.xaxis)
    panel.set_yscale("log")
    panel.set_xlabel(f"processor seconds, geometric mean shifted by {SHIFT:g}")
    panel.set_ylabel("certified relative gap, median")
    panels.legend(panel, title=f"{family}, beside each point the request; {session['date'][:10]}")
    return panels.figure


def sessions_of_groups(session: Session, min_problems: int) -> dict[str, tuple[str, Session]]:
    """Return the family and the solves of each group of problems that the same entrants take, by name of the group.

    Groups of fewer problems than the least number are left out.
    """
    groups = problem_groups(cheapest_solves(session, 1.0))
    parts: dict[str, tuple[str, Session]] = {}
    for (family, *_), problems in groups.items():
        if len(problems) >= min_problems:
            n_parts = sum(one == family for one, _ in parts.values())
            runs = [run for run in session["runs"] if run["problem"] in problems and run["ran"]]
            parts[f"{family}_{n_parts}"] = family, {**session, "runs": runs}
    return parts


def write_pictures(
    sessions: Sequence[Session], folder: Path, gap: float, min_problems: int = MIN_PROBLEMS
) -> list[Path]:
    """Write the pictures of each session and group as SVG into a folder, which is made, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = list[Path]()
    for k, session in enumerate(sessions):
        for name, (family, part) in sessions_of_groups(session, min_problems).items():
            figures = {"profiles": draw_profiles(part, family, gap), "work": draw_work_precision(part, family)}
            for kind, figure in figures.items():
                paths.append(folder / f"{kind}_{name}_{k}.svg")
                with mpl.rc_context({"svg.hashsalt": paths[-1].stem}):  # names in a picture are equal in all runs
                    figure.savefig(paths[-1], metadata={"Date": None})
    return paths
