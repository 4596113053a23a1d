"""Programs and backends in one table of colours: the seconds of each backend on each program, and its failures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from boostopt._utils.validation import check_flag, invalid_value_error, is_real_number
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.rendering.score_sentences import format_median_seconds, gap_request_text
from boostopt.comparison.scores import ProgramScore
from boostopt.comparison.solve_record import Result
from boostopt.errors import ProblemError
from boostopt.pictures.picture_arguments import require_nonempty_benchmark
from boostopt.pictures.style import BLACK, FIGURE_WIDTH, RESULT_STYLES, escape_label, make_panels

COLORMAP = "viridis_r"
"""Colours from light to dark as seconds grow: perceptually uniform, also for colour-blind readers and in grey."""

ROW_HEIGHT = 0.22
"""Height of a row in inches: the height of the label."""

COLUMN_WIDTHS = 0.52, 0.24
"""Widths in inches of a column with numbers, and of a column without: the height of the rotated label."""

MAX_NUMBERED_COLUMNS = 24
"""Maximum number of backends with numbers in the cells: a picture with more is wider than two printed pages."""

LETTER_WIDTH = 0.072
"""Inches of a letter of a label."""

PADDING = 0.3
"""Inches in addition to the labels and the columns."""

MIN_WIDTH = 3.6
"""Smallest width of a picture in inches, which the scale and the legend need."""

MAX_LABEL_LENGTH = {False: 40, True: 28}
"""Number of letters of a program's label that are shown; a brief picture shows fewer."""

MAX_PROGRAMS = 300
"""Maximum number of programs, and of backends, in a picture."""


def heat_map(benchmark: Benchmark, tol: float | str | None = None, brief: bool = False) -> Figure:
    """Draw the seconds of every backend on every program at one gap as colours, failures hatched.

    There is a row for each program and a column for each backend. If the gap was certified in all runs, the colour of
    the cell shows the median of the seconds. If there is room, the cell also shows its number. If the gap was not
    certified in all runs, the cell is hatched. A cell that was not run is blank.

    Parameters
    ----------
    benchmark
        The result of `boostopt.benchmark`.
    tol
        A gap or the name of a profile of the benchmark; by default the smallest gap.
    brief
        Leave out the numbers and the ends of long labels, for narrow pictures.

    Raises
    ------
    OptionError
        The argument is not a benchmark, or the benchmark has no such gap or profile.
    ProblemError
        The benchmark has no run, or more than 300 programs or backends.
    """
    b, brief = require_nonempty_benchmark(benchmark), check_flag("brief", brief)
    tol = _target_gap(b, tol)
    programs, backends = list(b.programs), list(dict.fromkeys(score.backend for score in b.scores))
    if max(len(programs), len(backends)) > MAX_PROGRAMS:
        raise ProblemError(
            f"a picture holds at most {MAX_PROGRAMS} programs and {MAX_PROGRAMS} backends; got {len(programs)} "
            f"and {len(backends)}. "
            "Draw some of them at a time."
        )
    score_of_cell = {(s.program, s.backend): s for s in b.scores if s.tol == tol}
    numbers = not brief and len(backends) <= MAX_NUMBERED_COLUMNS
    labels = (
        [escape_label(label, MAX_LABEL_LENGTH[brief]) for label in programs],
        [escape_label(name) for name in backends],
    )
    longest = [max(map(len, texts)) * LETTER_WIDTH for texts in labels]
    width = longest[0] + PADDING + COLUMN_WIDTHS[0 if numbers else 1] * len(backends)
    panels = make_panels(None, height=longest[1] + 1.2 + ROW_HEIGHT * len(programs))
    panels.figure.set_figwidth(width := max(width, MIN_WIDTH if brief else FIGURE_WIDTH))
    axis = panels.axes[0]
    times = [score.median for score in score_of_cell.values() if score.result == Result.REACHED]
    # If all times are equal, the scale grows by a factor of two on both sides, so that it contains a round number.
    spare = 2.0 if times and max(times) < 4.0 * min(times) else 1.05
    norm = LogNorm(min(times) / spare, max(times) * spare) if times else None
    for row, program in enumerate(programs):
        for column, backend in enumerate(backends):
            if (program, backend) in score_of_cell:
                _draw_cell(axis, (column, row), score_of_cell[program, backend], norm, numbers)
    _draw_labels(axis, *labels, upright=longest[1] > (width - longest[0] - PADDING) / len(backends))
    axis.set_title(gap_request_text(b.runs, tol), fontsize="medium")
    _draw_legends(panels.figure, axis, norm, width - longest[0] - PADDING)
    return panels.figure


def _target_gap(b: Benchmark, tol: object) -> float:
    """Return the requested gap: for a profile, the gap that judges its answers."""
    gaps = b.settings.target_gaps
    if tol is None:
        return min(gaps)
    gaps_by_profile = {
        run.profile: run.tol for run in b.runs if run.profile is not None and len(_gaps_of_profile(b, run.profile)) == 1
    }
    if isinstance(tol, str) and tol in gaps_by_profile:
        return gaps_by_profile[tol]
    if not isinstance(tol, str) and is_real_number(tol) and tol in gaps:
        return next(gap for gap in gaps if gap == tol)
    choices = ", ".join([*(f"{gap:g}" for gap in gaps), *(repr(name) for name in gaps_by_profile)])
    raise invalid_value_error(
        "tol", "a gap or a profile of this benchmark", tol, f"Pass one of {choices}, or leave it out."
    )


def _gaps_of_profile(b: Benchmark, profile: str) -> set[float]:
    """Return the gaps that judge the answers to a profile."""
    return {run.tol for run in b.runs if run.profile == profile}


def _draw_cell(
    axis: Axes, position: tuple[int, int], score: ProgramScore, norm: Normalize | None, numbers: bool
) -> None:
    """Draw the result of a backend on a program."""
    column, row = position
    corner = column - 0.5, row - 0.5
    if score.result != Result.REACHED or norm is None:
        color, hatch = RESULT_STYLES["failed"] if score.result == Result.FAILED else ("#ffffff", "")
        # A hatch takes the colour of the edge.
        axis.add_patch(Rectangle(corner, 1.0, 1.0, facecolor="white", edgecolor=color, hatch=hatch, lw=0.0))
        return
    color = colormaps[COLORMAP](norm(score.median))
    axis.add_patch(Rectangle(corner, 1.0, 1.0, facecolor=color, edgecolor="white", lw=0.5))
    if numbers:
        light = float(np.dot(color[:3], (0.2126, 0.7152, 0.0722))) > 0.45
        words = format_median_seconds(score.median)
        axis.text(column, row, words, ha="center", va="center", fontsize=7.5, color=BLACK if light else "white")


def _draw_labels(axis: Axes, programs: Sequence[str], backends: Sequence[str], upright: bool) -> None:
    """Write the names of the rows on the left and of the columns above; the names of narrow columns are vertical."""
    axis.set(xlim=(-0.5, len(backends) - 0.5), ylim=(len(programs) - 0.5, -0.5))
    axis.set_yticks(range(len(programs)), programs, fontsize="small")
    axis.set_xticks(range(len(backends)), backends, fontsize="small", rotation=90 if upright else 0)
    axis.xaxis.tick_top()
    axis.tick_params(length=0)
    axis.spines[:].set_visible(True)
    axis.spines[:].set(color="#bbbbbb")


def _draw_legends(figure: Figure, axis: Axes, norm: Normalize | None, inside: float) -> None:
    """Put the scale of the colours below, and a legend of hatched and blank cells."""
    height = figure.get_figheight()
    if norm is not None:
        bar = figure.colorbar(
            ScalarMappable(norm, COLORMAP),
            ax=axis,
            location="bottom",
            fraction=0.12 / height,
            pad=0.1 / height,
            shrink=min(1.0, 4.0 / inside),
            aspect=40,
        )
        # An HTML page without images does not show the scale as an image; there must be no seams between its parts.
        solids: Any = bar.solids
        solids.set(rasterized=False, edgecolor="face")
        bar.set_label("seconds (median)", fontsize="small")
        bar.ax.tick_params(labelsize="small")
        decades = math.log10((norm.vmax or 1.0) / (norm.vmin or 1.0))
        subs = (1.0, 2.0, 5.0) if decades < 1.0 else (1.0, 3.0) if decades < 2.5 else (1.0,)
        bar.ax.xaxis.set_major_locator(LogLocator(subs=subs))
        bar.ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        bar.ax.xaxis.set_minor_formatter(NullFormatter())
    color, hatch = RESULT_STYLES["failed"]
    keys = [
        Patch(facecolor="white", edgecolor=color, hatch=hatch, label="failed"),
        Patch(facecolor="white", edgecolor="#bbbbbb", label="not run"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
