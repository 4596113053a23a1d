"""The pictures of a benchmark for wide and for narrow screens, each with a note on how to read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from boostopt.comparison.benchmarks import Benchmark
from boostopt.comparison.scores import SHIFT_SECONDS
from boostopt.errors import ProblemError
from boostopt.pictures import claimed_against_certified, heat_map, profiles
from boostopt.reporting.drawings import NARROW, drawn, narrow_profiles, narrowed

WIDE = 7.2
"""Inches of a picture for wide screens with letters as large as those of the text."""

PIXELS = 85.0
"""The minimum of pixels for an inch of a picture: letters of 10 points are then no smaller than 11 pixels."""

BARS = (
    "Below, on how many programs it reached the gap, failed, or was not run; at the right the geometric mean of its "
    f"seconds over all programs, shifted by {SHIFT_SECONDS:g} s."
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
            "Above, the share of all programs that a backend brought to the gap in at most so many times the time of "
            f"the fastest one. {BARS}",
        ),
        Illustration(
            "Data profiles",
            _profiles(b, "seconds"),
            f"Above, the share of all programs that a backend brought to the gap within so many seconds. {BARS}",
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
        "A point for each run whose solver reports a gap of its own, |p - q| / max(1, |p|, |q|) of the values that it "
        "reports. Above the diagonal the certificate is wider than that: the answer does not bear out what is said of "
        "it. Below, it proves more than is said. Filled points: the solver says that it found an optimum."
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
        "At the smallest gap asked for: medians where it was reached, hatched where the backend failed, blank where it "
        "was not run, which is no failure.",
    )


def _both(wide: Markup, *narrow: Markup) -> tuple[tuple[str, Markup], ...]:
    """Return pictures for wide and for narrow screens."""
    return ("wide-screen", wide), *(("narrow-screen", one) for one in narrow)
