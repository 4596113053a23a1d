"""Claims of solvers against certificates: the gap that each solver reports and the gap that its answer proves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from boostopt._utils.formatting import format_count
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.solve_record import SolveRecord
from boostopt.errors import ProblemError
from boostopt.pictures.picture_arguments import require_nonempty_benchmark
from boostopt.pictures.style import BLACK, GREY, RED, curve_style, escape_label, make_panels

MIN_GAP = 1e-17
"""The smallest gap that is distinguished from 0: less than the last bit of 1."""

MAX_GAP = 1e9
"""Largest gap that is distinguished from an infinite gap."""

BORDER_FRACTION = 0.07
"""Half of the fraction of the scale between the gaps and the border, on which gaps of 0 or infinity lie."""

MANY_POINTS = 400
"""The number of points from which on they are drawn smaller."""


@dataclass(frozen=True)
class _GapScale:
    """A logarithmic scale of gaps.

    Attributes
    ----------
    low, high
        The powers of ten of the smallest and the largest gap.
    zero, infinite
        Whether the scale has a border for gaps of 0, and for infinite gaps.
    """

    low: float
    high: float
    zero: bool
    infinite: bool

    @property
    def border_width(self) -> float:
        """The number of powers of ten between the gaps and a border."""
        return BORDER_FRACTION * (self.high - self.low)

    @property
    def limits(self) -> tuple[float, float]:
        """The first and the last power of ten, including the borders."""
        return self.low - 2 * self.border_width * self.zero, self.high + 2 * self.border_width * self.infinite

    def position(self, gap: float) -> float:
        """Return the position of a gap; 0 and infinity are at the border."""
        if gap < MIN_GAP:
            return 10.0 ** (self.low - self.border_width)
        return 10.0 ** (self.high + self.border_width) if gap > MAX_GAP else gap

    @property
    def ticks(self) -> dict[float, str]:
        """Powers of ten, at most six, and the borders."""
        # Another number would not fit beside the number at a border.
        inside = range(math.ceil(self.low) + self.zero, math.floor(self.high) + 1 - self.infinite)
        powers = {10.0**k: f"$10^{{{k}}}$" for k in inside[:: max(math.ceil(len(inside) / 6), 1)]}
        return {
            **({self.position(0.0): "0"} if self.zero else {}),
            **powers,
            **({self.position(math.inf): r"$\infty$"} if self.infinite else {}),
        }


def claimed_against_certified(benchmark: Benchmark) -> Figure:
    r"""Draw the certified gap against the gap that the solver itself claims, with a point for each run.

    Above the diagonal, the certified gap is wider than the claim: the answer does not confirm the claim. Below the
    diagonal, the answer proves more than the solver claims. Points are filled if the solver claims an optimum. Gaps of
    0, or below 1e-17, and infinite gaps stand at the border, beyond a line, with a ring around them. A run without an
    answer has an infinite certified gap. Solvers that report no gap are named below.

    Parameters
    ----------
    benchmark
        The result of `boostopt.benchmark`. A claimed gap is \|p - q\| / max(1, \|p\|, \|q\|) of the two values that the
        solver reports. A certified gap is scaled likewise. If there are several attempts, the gaps are those of the
        best one.

    Raises
    ------
    OptionError
        The argument is not a benchmark.
    ProblemError
        The benchmark has no run, or no solver reported a gap.
    """
    b = require_nonempty_benchmark(benchmark)
    claiming = [run for run in b.runs if reports_gap(run)]
    if not claiming:
        raise ProblemError(
            "a solver at least must report a gap of its own for claims to be drawn; none did: "
            f"{_backends_without_gap(b.runs)}. Run one that does, such as interior or cvxpy:clarabel."
        )
    gaps = [gap for run in claiming for gap in (run.claimed_gap or 0.0, run.scaled_gap)]
    inside = [math.log10(gap) for gap in gaps if MIN_GAP <= gap <= MAX_GAP] or [-9.0, -3.0]
    scale = _GapScale(
        math.floor(min(inside)), math.ceil(max(inside) + 0.1), min(gaps) < MIN_GAP, not max(gaps) <= MAX_GAP
    )
    panels = make_panels(None, height=4.8)
    axis = panels.axes[0]
    _draw_background(axis, scale)
    size = 6.5 if len(claiming) <= MANY_POINTS else 4.0
    for k, backend in enumerate(dict.fromkeys(run.backend for run in claiming)):
        _draw_points(axis, [run for run in claiming if run.backend == backend], scale, k, size)
    border = [
        gaps_of_run
        for run in claiming
        for gaps_of_run in [(run.claimed_gap or 0.0, run.scaled_gap)]
        if not all(map(_is_finite_gap, gaps_of_run))
    ]
    if border:
        x, y = zip(*(map(scale.position, gaps_of_run) for gaps_of_run in border), strict=True)
        axis.plot(x, y, "o", color=BLACK, mfc="none", ms=1.9 * size, mew=0.7, label="0 or infinite", clip_on=False)
    for words, face in (("says it found an optimum", GREY), ("does not say so", "white")):
        axis.plot([], [], "o", color=GREY, mfc=face, ms=6.5, label=words)
    silent = _backends_without_gap(b.runs)
    panels.legend(axis, columns=3, title=f"No gap of its own is reported by {silent}." if silent else "")
    return panels.figure


def reports_gap(run: SolveRecord) -> bool:
    """Return whether the solver of a run reports its own gap."""
    return run.ran and run.claimed_gap is not None and run.claimed_gap >= 0.0


def _backends_without_gap(runs: Sequence[SolveRecord]) -> str:
    """Return the names of the solvers that report no gap, with the number of such runs unless it is all of them."""
    words: list[str] = []
    for backend in dict.fromkeys(run.backend for run in runs if run.ran):
        answered = [run for run in runs if run.backend == backend and run.ran]
        without = sum(not reports_gap(run) for run in answered)
        if without:
            share_text = f" ({without} of {format_count(len(answered), 'run')})" if without < len(answered) else ""
            words.append(f"{escape_label(backend)}{share_text}")
    return ", ".join(words)


def _draw_background(axis: Axes, scale: _GapScale) -> None:
    """Draw the scales, the borders, the diagonal, and the words above and below it."""
    low, high = (10.0**exponent for exponent in scale.limits)
    axis.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    axis.set(xlabel="gap that the solver claims", ylabel="gap that is certified")
    axis.fill_between([low, high], [low, high], [high, high], color=RED, alpha=0.07, lw=0)
    axis.plot([low, high], [low, high], color=GREY, lw=1.0)
    # The text is in the corners within the borders, so that it covers no point at a border.
    low_corner, high_corner = (
        10.0 ** (exponent + sign * 0.3 * scale.border_width) for exponent, sign in ((scale.low, 1), (scale.high, -1))
    )
    style: dict[str, Any] = {"color": GREY, "fontsize": "small"}
    axis.text(low_corner, high_corner, "wider than claimed", ha="left", va="top", **style)
    axis.text(high_corner, low_corner, "narrower than claimed", ha="right", va="bottom", **style)
    for set_line, set_ticks, ruler in (
        (axis.axvline, axis.set_xticks, axis.xaxis),
        (axis.axhline, axis.set_yticks, axis.yaxis),
    ):
        set_ticks(list(scale.ticks), list(scale.ticks.values()))
        ruler.set_minor_locator(NullLocator())
        for has_border, border in ((scale.zero, scale.low), (scale.infinite, scale.high)):
            if has_border:
                set_line(10.0**border, color=GREY, lw=0.8, ls=":")


def _draw_points(axis: Axes, runs: Sequence[SolveRecord], scale: _GapScale, k: int, size: float) -> None:
    """Draw the runs of a backend, filled if the solver claims an optimum."""
    style = curve_style(k)
    for claims, face in ((True, style.color), (False, "none")):
        pairs = [(run.claimed_gap or 0.0, run.scaled_gap) for run in runs if run.claims == claims]
        x, y = ([scale.position(pair[side]) for pair in pairs] for side in (0, 1))
        if pairs:  # an empty collection that is not clipped would count as a point in the corner
            axis.plot(
                x, y, style.marker, color=style.color, mfc=face, ms=size, mew=1.1, label="_", alpha=0.85, clip_on=False
            )
    axis.plot([], [], style.marker, color=style.color, ms=6.5, label=escape_label(runs[0].backend))


def _is_finite_gap(gap: float) -> bool:
    """Return whether a gap is neither 0 nor infinite on the scale."""
    return MIN_GAP <= gap <= MAX_GAP
