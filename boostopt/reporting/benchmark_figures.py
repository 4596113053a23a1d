"""The pictures of a benchmark for wide and for narrow screens, each with a note on how to read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.scores import SHIFT_SECONDS
from boostopt.errors import ProblemError
from boostopt.pictures import claimed_against_certified, heat_map, profiles
from boostopt.reporting.svg import NARROW, drawn, narrow_profiles, narrowed

WIDE = 7.2
"""Inches of a picture for wide screens with letters as large as those of the text."""

PIXELS = 85.0
"""The minimum of pixels for an inch of a picture: letters of 10 points are then no smaller than 11 pixels."""

BARS = (
    "Below: the number of programs on which it reached the gap, failed, or was not run. On the right: the geometric "
    f"mean of its seconds over all programs, shifted by {SHIFT_SECONDS:g} s."
)


@dataclass(frozen=True)
class Illustration:
    """A picture, drawn for several kinds of screens, with its heading and its note."""

    heading: str
    drawn: tuple[tuple[str, Markup], ...]
    note: str


def of_programs(b: Benchmark) -> tuple[Illustration, ...]:
    """Return the pictures that show all programs at once, if there are two or more."""
    return (
        Illustration(
            "Performance profiles",
            _profiles(b, "fastest"),
            "Above: the share of all programs on which a backend reached the gap in at most this multiple of the "
            f"fastest backend's time. {BARS}",
        ),
        Illustration(
            "Data profiles",
            _profiles(b, "seconds"),
            "Above: the share of all programs on which a backend reached the gap within this number of seconds. "
            f"{BARS}",
        ),
        *_heat(b),
    )


def of_claims(b: Benchmark) -> tuple[Illustration, ...]:
    """Return the picture of claimed against certified gaps; nothing if no solver reports a gap."""
    label = "The gap that the solver claims against the gap that is certified, for each run"
    try:
        wide, narrow = claimed_against_certified(b), narrowed(claimed_against_certified(b))
    except ProblemError:
        return ()
    note = (
        "There is a point for each run whose solver reports its own gap, |p - q| / max(1, |p|, |q|) of the values that "
        "it reports. Above the diagonal, the certified gap is wider: the answer does not confirm the claim. Below the "
        "diagonal, the answer proves more than the solver claims. Filled points: the solver claims an optimum."
    )
    return (
        Illustration(
            "What the solvers claim", _both(drawn(wide, "claimsw", label), drawn(narrow, "claimsn", label)), note
        ),
    )


def _profiles(b: Benchmark, against: str) -> tuple[tuple[str, Markup], ...]:
    """Return the profiles; narrow screens get one picture for each gap."""
    label, name = {
        "fastest": ("Performance profiles of the backends", "profiles"),
        "seconds": ("Data profiles of the backends", "data"),
    }[against]
    narrow = [drawn(figure, f"{name}n{k}", label) for k, figure in enumerate(narrow_profiles(b, against))]
    return _both(drawn(profiles(b, against), f"{name}w", label), *narrow)


def _heat(b: Benchmark) -> Iterator[Illustration]:
    """Yield the map of seconds; nothing if there are too many programs or backends for a picture."""
    label = "Seconds of each backend on each program"
    try:
        wide, narrow = heat_map(b), heat_map(b, brief=True)
    except ProblemError:
        return
    pictures = [
        drawn(figure, prefix, label, PIXELS * inches if (inches := figure.get_figwidth()) > most else 0.0)
        for figure, prefix, most in ((wide, "heatw", WIDE), (narrow, "heatn", NARROW))
    ]
    yield Illustration(
        "Seconds of each backend on each program",
        _both(*pictures),
        "At the smallest gap asked for: the median if the gap was reached. Hatched: the backend failed. Blank: the "
        "backend was not run, which is not a failure.",
    )


def _both(wide: Markup, *narrow: Markup) -> tuple[tuple[str, Markup], ...]:
    """Return pictures for wide and for narrow screens."""
    return ("wide-screen", wide), *(("narrow-screen", one) for one in narrow)
