"""Comparisons of backends: the time in which each reaches a gap, and the interval that each proves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from boostopt._utils.validation import check_choice, check_flag
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.compare import Comparison
from boostopt.comparison.rendering.result_sentences import no_answer_reason
from boostopt.comparison.rendering.score_sentences import gap_request_text, mean_time_text
from boostopt.comparison.scores import SHIFT_SECONDS, MeanScore, ProgramScore
from boostopt.comparison.solve_record import Result, SolveRecord
from boostopt.comparison.solve_results import conflicting_backends, intersect_intervals
from boostopt.errors import OptionError, ProblemError
from boostopt.pictures.picture_arguments import require_nonempty_benchmark
from boostopt.pictures.style import (
    BLACK,
    BLUE,
    GREY,
    RED,
    RESULT_STYLES,
    AxesArgument,
    curve_style,
    escape_label,
    make_panels,
)

MIN_DISTANCE = 1e-16
"""The smallest distance that is distinguished from 0."""

MAX_REASON_LENGTH = 85
"""Maximum number of letters of a reason in a picture."""

FEW_DECADES_RATIO = 30.0
"""Below this range of ratios, a scale with only powers of ten would have too few numbers."""

TIME_SCALES = {"fastest": "time / fastest", "seconds": "seconds"}
"""Scales of profiles, with the labels below the scales."""

MEANS_NOTE = f"At the right of the bars: geometric means of the seconds, shifted by {SHIFT_SECONDS:g} s."
"""Explanation of the numbers beside the bars."""


def profiles(benchmark: Benchmark, against: str = "fastest") -> Figure:
    """Draw profiles of a benchmark: the share of programs on which a backend reaches a certified gap, by time.

    There is a panel for each target gap. The height of a line at x is the share of all programs on which the backend
    reached that gap in time. In a performance profile, this means at most x times the time of the fastest backend; in
    a data profile, at most x seconds. A performance profile begins, at 1, with the share on which the backend was
    fastest. Both profiles end with the share that the backend reached at all. The bars below count the programs that
    were reached, failed, or not run. The last is not a failure: the backend does not support the program or was not
    requested. To the right of a bar is the shifted geometric mean of the seconds over all programs, from
    `benchmark.means`.

    Parameters
    ----------
    benchmark
        The result of `boostopt.benchmark`. Times are medians of its repeats.
    against
        "fastest" for performance profiles, "seconds" for data profiles.

    Raises
    ------
    OptionError
        The argument is not a benchmark, or `against` is neither of the two.
    ProblemError
        The benchmark has no run.

    References
    ----------
    Dolan and More 2002, (2.1); More and Wild 2009, section 2.2.
    """
    against, b = check_choice("scale", against, TIME_SCALES), require_nonempty_benchmark(benchmark)
    scores, tols = b.scores, sorted(b.settings.target_gaps, reverse=True)
    backends = list(dict.fromkeys(score.backend for score in scores))
    times = [_score_time(score, against) for score in scores if score.result == Result.REACHED]
    min_x = 1.0 if against == "fastest" else min(times, default=0.1) / 1.3
    x_limits = min_x, max(1.3 * max(times, default=min_x), 2.0 * min_x)
    heights = 2.6, 0.5 + 0.26 * len(backends)
    panels = make_panels(None, 2, len(tols), 1.2 + sum(heights), heights, one_scale=False)
    for tol, profile_axis, bar_axis in zip(tols, panels.axes[: len(tols)], panels.axes[len(tols) :], strict=True):
        times_reached = {
            name: sorted(
                _score_time(s, against) for s in scores if (s.backend, s.tol, s.result) == (name, tol, Result.REACHED)
            )
            for name in backends
        }
        _draw_profiles(profile_axis, times_reached, len(b.programs), x_limits)
        _draw_bars(bar_axis, backends, [score for score in scores if score.tol == tol])
        _draw_means(bar_axis, backends, {mean.backend: mean for mean in b.means if mean.tol == tol})
        profile_axis.set(title=gap_request_text(b.runs, tol), xlabel=TIME_SCALES[against])
        bar_axis.set_xlabel("programs")
    panels.axes[0].set_ylabel("share of programs")
    panels.legend(*panels.axes, columns=3, title=MEANS_NOTE)
    return panels.figure


def _score_time(score: ProgramScore, against: str) -> float:
    """Return the time of a score on the scale of the profiles."""
    return score.ratio if against == "fastest" else score.median


def _draw_profiles(
    axis: Axes, times_reached: Mapping[str, Sequence[float]], count: int, x_limits: tuple[float, float]
) -> None:
    """Draw the profile of each backend at one gap from its sorted times, on a scale between two limits."""
    min_x, max_x = x_limits
    for k, (backend, times) in enumerate(times_reached.items()):
        style = curve_style(k)
        x = [min_x, *times, max_x]
        y = [0.0, *(np.arange(1, len(times) + 1) / count).tolist(), len(times) / count]
        axis.plot(x, y, color=style.color, ls=style.dashes, lw=1.5, drawstyle="steps-post", label=escape_label(backend))
    span = max_x / min_x
    axis.set(xscale="log", xlim=(min_x * span**-0.03, max_x), ylim=(-0.03, 1.03))
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if span < FEW_DECADES_RATIO else (1.0,)))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    if not any(times_reached.values()):
        axis.text(0.5, 0.5, "reached by nobody", transform=axis.transAxes, ha="center", color=GREY)


def _draw_means(axis: Axes, backends: list[str], means: Mapping[str, MeanScore]) -> None:
    """Write the mean of each backend to the right of its bars."""
    for height, backend in zip(range(len(backends))[::-1], backends, strict=True):
        words = mean_time_text(means[backend]) if backend in means else ""
        axis.text(1.03, height, words, transform=axis.get_yaxis_transform(), va="center", fontsize="small")
    axis.text(1.03, 1.0, "mean s", transform=axis.transAxes, va="bottom", fontsize="small", color=GREY)


def _draw_bars(axis: Axes, backends: list[str], scores: list[ProgramScore]) -> None:
    """Count the outcomes of each backend at one gap."""
    height = np.arange(len(backends))[::-1]
    starts = np.zeros(len(backends))
    for outcome, (color, hatch) in RESULT_STYLES.items():
        counts = np.array([sum(s.backend == name and s.result == outcome for s in scores) for name in backends])
        axis.barh(
            height, counts, left=starts, height=0.7, color=color, hatch=hatch, edgecolor=BLACK, lw=0.6, label=outcome
        )
        starts += counts
    axis.set_yticks(height, [escape_label(backend) for backend in backends])
    axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axis.set_xlim(0.0, max(float(starts.max()), 1.0))


def _solve_records(comparison: Any) -> Sequence[SolveRecord]:
    """Return the runs of a comparison, or the runs themselves, checked."""
    runs = comparison.rows if isinstance(comparison, Comparison) else comparison
    if not isinstance(runs, Sequence) or not runs or not all(isinstance(run, SolveRecord) for run in runs):
        raise OptionError(f"expected what compare returns; got {type(comparison).__name__}. Pass that.")
    return runs


def intervals(comparison: Comparison | Sequence[SolveRecord], axes: AxesArgument = None, brief: bool = False) -> Figure:
    """Draw the certified intervals of a comparison, as distances from the middle of their intersection.

    Every interval contains the optimum, so that all of them overlap. The scale is linear near 0 and logarithmic
    outside, because the widths differ by many orders of magnitude. An arrow marks an infinite bound. The gap and the
    seconds are on the right. If a backend was not run, or left no answer, the picture says why. Intervals that do not
    overlap are marked as contradictions; they are a mistake of this package.

    Parameters
    ----------
    comparison
        The result of `boostopt.compare`, or runs of one program, such as those of a benchmark, each drawn in a row.
    axes
        Axes to draw on.
    brief
        Leave out the content of the table (gaps, seconds, and why a backend was not run), for narrow pictures.

    Raises
    ------
    OptionError
        The argument is not a comparison.
    ProblemError
        The intersection of the intervals does not have two finite bounds, so that no middle is defined.
    """
    runs = _solve_records(comparison)
    brief = check_flag("brief", brief)
    low, high = intersect_intervals(run for run in runs if run.answered)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ProblemError(
            f"some interval must be finite to measure distances from its middle; {_intersection_text(low, high)}. "
            "Print the comparison: it says why."
        )
    middle = 0.5 * low + 0.5 * high
    panels = make_panels(axes, height=1.7 + 0.34 * len(runs))
    axis = panels.axes[0]
    band = "what all of them leave" if low <= high else "what parts them"
    axis.axvspan(min(low, high) - middle, max(low, high) - middle, color=GREY, alpha=0.25, lw=0, label=band)
    distances = [abs(bound - middle) for run in runs if run.answered for bound in run.interval if math.isfinite(bound)]
    nearest = 10.0 ** math.floor(math.log10(max(min(filter(None, distances), default=MIN_DISTANCE), MIN_DISTANCE)))
    farthest = 10.0 * max(*distances, nearest)
    if not farthest < math.inf:
        raise ProblemError(
            f"the bounds of intervals must be numbers that a scale can hold; got {max(distances)}. Correct them."
        )
    for height, run in zip(range(len(runs))[::-1], runs, strict=True):
        _draw_interval(axis, runs, run, height, (middle, farthest), brief)
    axis.set_xscale("symlog", linthresh=nearest)
    axis.set(xlim=(-farthest, farthest), ylim=(-0.7, len(runs) - 0.3))
    ticks = _ticks(nearest, farthest, brief)
    axis.set_xticks(ticks, [_power_label(tick) for tick in ticks])
    axis.set_yticks(range(len(runs))[::-1], [escape_label(run.backend) for run in runs])
    axis.set_xlabel(f"bound of the optimum less {middle:.10g}")
    panels.legend(axis, columns=3)
    return panels.figure


def _intersection_text(low: float, high: float) -> str:
    """Describe the intersection of intervals without two finite bounds."""
    if low == high == -math.inf:
        return "it is proved that there is no optimum"
    return "the program is proved infeasible" if low == math.inf else f"together they leave [{low}, {high}]"


def _draw_interval(
    axis: Axes, runs: Sequence[SolveRecord], run: SolveRecord, height: int, scale: tuple[float, float], brief: bool
) -> None:
    """Draw the interval of a backend, up to the farthest distance of the scale, or say why there is none."""
    middle, farthest = scale
    right = axis.get_yaxis_transform()
    if not run.answered:
        state, reason = ("no answer", no_answer_reason(run)) if run.ran else ("not run", run.reason)
        words = state if brief or not reason else shorten(f"{state}: {reason}", MAX_REASON_LENGTH, placeholder="...")
        axis.text(0.02, height, words, transform=right, va="center", fontsize="small", parse_math=False)
        return
    lower, upper = (bound - middle for bound in run.interval)
    target_text = f"{run.tol:g}" if len({other_run.tol for other_run in runs}) == 1 else "the target gap"
    color, ls, label = (
        (RED, ":", "contradicts another: a mistake of boostopt")
        if conflicting_backends(run, runs)
        else (BLUE, "-", f"certified to {target_text}")
        if run.has_target_gap
        else (RED, "--", f"wider than {target_text}")
    )
    axis.plot([max(lower, -farthest), min(upper, farthest)], [height, height], color=color, ls=ls, lw=1.8, label=label)
    for bound, arrow in ((lower, "<"), (upper, ">")):
        is_finite = math.isfinite(bound)
        position = bound if is_finite else math.copysign(farthest, bound)
        axis.plot([position], [height], color=color, marker="|" if is_finite else arrow, ms=9, mew=1.8, clip_on=False)
    if brief:
        return
    words = f"gap {run.gap:.0e} in {run.seconds:.2g} s"
    axis.text(1.03, height, words, transform=right, va="center", fontsize="small")


MINUS, SUPERSCRIPTS = "\N{MINUS SIGN}", str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""The letters of an exponent. Text is drawn in a tenth of the time of mathematics."""


def _power_label(number: float) -> str:
    """Return the label of 0 or of a power of ten, as text."""
    if number == 0.0:
        return "0"
    exponent = str(round(math.log10(abs(number)))).translate(SUPERSCRIPTS)
    return f"{MINUS if number < 0.0 else ''}10{exponent}"


def _ticks(nearest: float, farthest: float, brief: bool) -> list[float]:
    """Return some powers of ten on both sides of 0; with `brief`, only the largest one."""
    first, last = round(math.log10(nearest)), math.floor(math.log10(farthest))
    # The linear part next to 0 is as long as a power of ten: no label is nearer to 0 than to another label.
    step = max(math.ceil((last - first) / 3), 2)
    powers = [10.0**last] if brief else [10.0**k for k in range(last, first + step - 2, -step)][::-1]
    return [*(-power for power in reversed(powers)), 0.0, *powers]
