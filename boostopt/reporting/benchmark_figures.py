"""Pictures of a benchmark for wide and for narrow screens, each with a note that explains the picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from markupsafe import Markup

from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.scores import SHIFT_SECONDS
from boostopt.comparison.work_precision.work_precision import WorkPrecision
from boostopt.errors import ProblemError
from boostopt.pictures import claimed_against_certified, heat_map, profiles, work_precision
from boostopt.reporting.svg import NARROW_WIDTH, figure_to_svg, make_narrow, narrow_profiles

WIDE_WIDTH = 7.2
"""Width in inches of a picture for wide screens, at which its letters are as large as the text."""

MIN_PIXELS_PER_INCH = 85.0
"""Smallest number of pixels for an inch of a picture: letters of 10 points are then at least 11 pixels high."""

BARS_NOTE = (
    "Below: the number of programs on which it reached the gap, failed, or was not run. On the right: the geometric "
    f"mean of its seconds over all programs, shifted by {SHIFT_SECONDS:g} s."
)


@dataclass(frozen=True)
class ReportFigure:
    """A picture for several kinds of screens, with its heading and its note."""

    heading: str
    svg_by_screen: tuple[tuple[str, Markup], ...]
    note: str


def program_figures(benchmark: Benchmark) -> tuple[ReportFigure, ...]:
    """Return the pictures of all programs together: profiles and the map of seconds."""
    return (
        ReportFigure(
            "Performance profiles",
            _profiles(benchmark, "fastest"),
            "Above: the share of all programs on which a backend reached the gap in at most this multiple of the "
            f"fastest backend's time. {BARS_NOTE}",
        ),
        ReportFigure(
            "Data profiles",
            _profiles(benchmark, "seconds"),
            "Above: the share of all programs on which a backend reached the gap within this number of seconds. "
            f"{BARS_NOTE}",
        ),
        *_heat_map_figures(benchmark),
    )


def claim_figures(benchmark: Benchmark) -> tuple[ReportFigure, ...]:
    """Return the picture of claimed against certified gaps; no picture if no solver reports a gap."""
    label = "The gap that the solver claims against the gap that is certified, for each run"
    try:
        wide, narrow = claimed_against_certified(benchmark), make_narrow(claimed_against_certified(benchmark))
    except ProblemError:
        return ()
    note = (
        "There is a point for each run whose solver reports its own gap, |p - q| / max(1, |p|, |q|) of the values that "
        "it reports. Above the diagonal, the certified gap is wider: the answer does not confirm the claim. Below the "
        "diagonal, the answer proves more than the solver claims. Filled points: the solver claims an optimum."
    )
    return (
        ReportFigure(
            "What the solvers claim",
            _svg_by_screen(figure_to_svg(wide, "claimsw", label), figure_to_svg(narrow, "claimsn", label)),
            note,
        ),
    )


def precision_figures(result: WorkPrecision) -> tuple[ReportFigure, ...]:
    """Return the work-precision diagram of each program; no picture of a program that no solver took."""
    note = (
        "The certified gap against the seconds in the solver, with the request beside each point. Fainter lines: the "
        "gap that the solver claims, and the largest residual of its answer. Hollow points at the top: no certified "
        "gap."
    )
    figures = list[ReportFigure]()
    for k, (program, facts) in enumerate(result.programs.items()):
        label = f"Work-precision diagram of {program}"
        single = replace(result, programs={program: facts}, runs=tuple(result.runs_of(program)))
        if single.points:
            wide, narrow = work_precision(single), make_narrow(work_precision(single))
            pictures = figure_to_svg(wide, f"work{k}w", label), figure_to_svg(narrow, f"work{k}n", label)
            figures.append(ReportFigure(program, _svg_by_screen(*pictures), note))
    return tuple(figures)


def _profiles(benchmark: Benchmark, against: str) -> tuple[tuple[str, Markup], ...]:
    """Return the profiles by screen; narrow screens get one picture for each gap."""
    label, name = {
        "fastest": ("Performance profiles of the backends", "profiles"),
        "seconds": ("Data profiles of the backends", "data"),
    }[against]
    narrow = [
        figure_to_svg(figure, f"{name}n{k}", label) for k, figure in enumerate(narrow_profiles(benchmark, against))
    ]
    return _svg_by_screen(figure_to_svg(profiles(benchmark, against), f"{name}w", label), *narrow)


def _heat_map_figures(benchmark: Benchmark) -> Iterator[ReportFigure]:
    """Yield the map of seconds; no picture if there are too many programs or backends."""
    label = "Seconds of each backend on each program"
    try:
        wide, narrow = heat_map(benchmark), heat_map(benchmark, brief=True)
    except ProblemError:
        return
    pictures = [
        figure_to_svg(
            figure,
            prefix,
            label,
            MIN_PIXELS_PER_INCH * inches if (inches := figure.get_figwidth()) > max_width else 0.0,
        )
        for figure, prefix, max_width in ((wide, "heatw", WIDE_WIDTH), (narrow, "heatn", NARROW_WIDTH))
    ]
    yield ReportFigure(
        "Seconds of each backend on each program",
        _svg_by_screen(*pictures),
        "At the smallest target gap: the median if the gap was reached. Hatched: the backend failed. Blank: the "
        "backend was not run, which is not a failure.",
    )


def _svg_by_screen(wide: Markup, *narrow: Markup) -> tuple[tuple[str, Markup], ...]:
    """Return pictures with the kind of screen for which they are drawn."""
    return ("wide-screen", wide), *(("narrow-screen", picture) for picture in narrow)
