"""The pictures of a benchmark for wide and for narrow screens, each with a note on how to read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.scores import SHIFT_SECONDS
from boostopt.errors import ProblemError
from boostopt.pictures import claimed_against_certified, heat_map, profiles
from boostopt.reporting.svg import NARROW_WIDTH, figure_to_svg, make_narrow, narrow_profiles

WIDE_WIDTH = 7.2
"""Inches of a picture for wide screens with letters as large as those of the text."""

MIN_PIXELS_PER_INCH = 85.0
"""The minimum of pixels for an inch of a picture: letters of 10 points are then no smaller than 11 pixels."""

BARS_NOTE = (
    "Below: the number of programs on which it reached the gap, failed, or was not run. On the right: the geometric "
    f"mean of its seconds over all programs, shifted by {SHIFT_SECONDS:g} s."
)


@dataclass(frozen=True)
class ReportFigure:
    """A picture, drawn for several kinds of screens, with its heading and its note."""

    heading: str
    svg_by_screen: tuple[tuple[str, Markup], ...]
    note: str


def program_figures(b: Benchmark) -> tuple[ReportFigure, ...]:
    """Return the pictures that show all programs at once, if there are two or more."""
    return (
        ReportFigure(
            "Performance profiles",
            _profiles(b, "fastest"),
            "Above: the share of all programs on which a backend reached the gap in at most this multiple of the "
            f"fastest backend's time. {BARS_NOTE}",
        ),
        ReportFigure(
            "Data profiles",
            _profiles(b, "seconds"),
            "Above: the share of all programs on which a backend reached the gap within this number of seconds. "
            f"{BARS_NOTE}",
        ),
        *_heat_map_figures(b),
    )


def claim_figures(b: Benchmark) -> tuple[ReportFigure, ...]:
    """Return the picture of claimed against certified gaps; nothing if no solver reports a gap."""
    label = "The gap that the solver claims against the gap that is certified, for each run"
    try:
        wide, narrow = claimed_against_certified(b), make_narrow(claimed_against_certified(b))
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


def _profiles(b: Benchmark, against: str) -> tuple[tuple[str, Markup], ...]:
    """Return the profiles; narrow screens get one picture for each gap."""
    label, name = {
        "fastest": ("Performance profiles of the backends", "profiles"),
        "seconds": ("Data profiles of the backends", "data"),
    }[against]
    narrow = [figure_to_svg(figure, f"{name}n{k}", label) for k, figure in enumerate(narrow_profiles(b, against))]
    return _svg_by_screen(figure_to_svg(profiles(b, against), f"{name}w", label), *narrow)


def _heat_map_figures(b: Benchmark) -> Iterator[ReportFigure]:
    """Yield the map of seconds; nothing if there are too many programs or backends for a picture."""
    label = "Seconds of each backend on each program"
    try:
        wide, narrow = heat_map(b), heat_map(b, brief=True)
    except ProblemError:
        return
    pictures = [
        figure_to_svg(
            figure, prefix, label, MIN_PIXELS_PER_INCH * inches if (inches := figure.get_figwidth()) > most else 0.0
        )
        for figure, prefix, most in ((wide, "heatw", WIDE_WIDTH), (narrow, "heatn", NARROW_WIDTH))
    ]
    yield ReportFigure(
        "Seconds of each backend on each program",
        _svg_by_screen(*pictures),
        "At the smallest gap asked for: the median if the gap was reached. Hatched: the backend failed. Blank: the "
        "backend was not run, which is not a failure.",
    )


def _svg_by_screen(wide: Markup, *narrow: Markup) -> tuple[tuple[str, Markup], ...]:
    """Return pictures for wide and for narrow screens."""
    return ("wide-screen", wide), *(("narrow-screen", one) for one in narrow)
