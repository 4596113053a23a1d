"""Work-precision diagrams: the certified gap of each solver against its seconds, request by request."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from boostopt._utils.validation import check_choice, check_instance
from boostopt.comparison.work_precision.precision_points import PrecisionPoint
from boostopt.comparison.work_precision.work_precision import WorkPrecision
from boostopt.errors import ProblemError
from boostopt.pictures.style import GREY, AxesArgument, CurveStyle, curve_style, escape_label, make_panels

SECONDS_AXES = {
    "solver": "seconds in the solver",
    "total": "seconds with model and reading",
}
"""Seconds that a diagram may show, with the labels below the scales. None of them has the certificate."""

MIN_GAP = 1e-17
"""The smallest gap that is distinguished from 0: less than the last bit of 1."""

X_MARGIN = 0.14
"""Space beside the lines for the requests, as a share of the width."""

MARGIN_DECADES = 0.6
"""Powers of ten between the gaps and the ends of the scale."""

MAX_COLUMNS = 2
"""Number of panels side by side."""

PANEL_HEIGHT = 3.4
"""Height of a panel in inches."""

MAX_TITLE_LENGTH = 44
"""Number of letters of the title of a panel."""

FAINT_LINES: dict[str, tuple[str, Callable[[PrecisionPoint], float | None]]] = {
    "gap that the solver claims": ("--", lambda point: point.claimed_gap),
    "largest residual of its answer": (":", lambda point: point.residual),
}
"""The fainter lines: dashes, and the value of a point."""


def work_precision(result: WorkPrecision, seconds: str = "solver", axes: AxesArgument = None) -> Figure:
    """Draw the certified gap against the seconds, with a line for each solver and the request beside each point.

    There is a panel for each program. A line begins with the coarsest request. Requests with equal answers share a
    label. The fainter lines of a solver are the gap that it claims, dashed, and the largest residual of the optimality
    conditions, dotted: they are what the solver and a check of residuals say of the same answers. Hollow points at the
    top have no certified gap. The points of a solver that stops by the certificate alone have no labels: they are the
    checkpoints of one solve.

    Parameters
    ----------
    result
        The result of `boostopt.precision`.
    seconds
        "solver" for the seconds in the solver itself, "total" for all seconds but those of the certificate.
    axes
        The axes to draw on, one for each program; by default a new figure.

    Raises
    ------
    OptionError
        The argument is no such result, `seconds` is neither of the two, or there are not as many axes as programs.
    ProblemError
        No solver was run.

    References
    ----------
    Hairer, Norsett, Wanner 1993, section II.10: work-precision diagrams.
    """
    expected, advice = "what boostopt.precision returns", "Pass that."
    measured = check_instance("result", result, WorkPrecision, expected, advice)
    seconds_label = SECONDS_AXES[check_choice("seconds", seconds, SECONDS_AXES)]
    if not measured.points:
        raise ProblemError("a solve at least must have run to be drawn; got none. Let it run.")
    programs = [name for name in measured.programs if any(point.program == name for point in measured.points)]
    columns = len(programs) if axes is not None else min(len(programs), MAX_COLUMNS)
    rows = -(-len(programs) // columns)
    panels = make_panels(axes, rows, columns, PANEL_HEIGHT * rows, one_scale=False)
    for axis, program in zip(panels.axes, programs, strict=False):
        lines = [line for backend in measured.backends if (line := measured.line(program, backend))]
        low, high = _gap_limits([point for line in lines for point in line])
        for line in lines:
            style = curve_style(measured.backends.index(line[0].backend))
            times = [_seconds(point, seconds) for point in line]
            _draw_line(axis, line, times, style, high, _solver_label(measured, line[0].backend))
        axis.margins(x=X_MARGIN)
        axis.set(xscale="log", yscale="log", ylim=(low, high), xlabel=seconds_label)
        axis.set_title(escape_label(program, MAX_TITLE_LENGTH), fontsize="medium")
    for unused_axis in panels.axes[len(programs) :]:
        unused_axis.set_visible(False)
    for axis in panels.axes[::columns]:
        axis.set_ylabel("certified gap")
    for words, (dashes, _) in FAINT_LINES.items():
        panels.axes[0].plot([], [], color=GREY, ls=dashes, lw=1.0, label=words)
    panels.legend(*panels.axes, columns=3, title=_title(measured))
    return panels.figure


def _solver_label(result: WorkPrecision, backend: str) -> str:
    """Return the name of a solver, with its form if it had one form on all programs."""
    forms = {point.form for point in result.points if point.backend == backend}
    return escape_label(f"{backend}, {forms.pop()}" if len(forms) == 1 and "" not in forms else backend)


def _title(result: WorkPrecision) -> str:
    """Return what was asked, and what the seconds are."""
    repeats = result.settings.repeats
    solves = "one solve for each request" if repeats == 1 else f"medians of {repeats} solves for each request"
    return f"Beside each point: the request, as the value of all tolerances of the solver; {solves}."


def _seconds(point: PrecisionPoint, kind: str) -> float:
    """Return the seconds of a point on the scale of the diagram."""
    return point.solver_seconds if kind == "solver" else point.seconds


def _gap_limits(points: Sequence[PrecisionPoint]) -> tuple[float, float]:
    """Return the ends of the scale of gaps, with space for gaps that are 0 or infinite."""
    values = [value for point in points for value in (point.scaled_gap, point.claimed_gap, point.residual)]
    decades = [math.log10(max(value, MIN_GAP)) for value in values if value is not None and math.isfinite(value)]
    low, high = min(decades, default=-9.0), max(decades, default=0.0)
    return 10.0 ** (low - MARGIN_DECADES), 10.0 ** (high + MARGIN_DECADES)


def _draw_line(
    axis: Axes, line: Sequence[PrecisionPoint], seconds: Sequence[float], style: CurveStyle, high: float, label: str
) -> None:
    """Draw the certified gaps of a solver with their requests, and its fainter lines."""
    for dashes, value_of in FAINT_LINES.values():
        pairs = [
            (s, max(value, MIN_GAP)) for s, p in zip(seconds, line, strict=True) if (value := value_of(p)) is not None
        ]
        if pairs:
            axis.plot(*zip(*pairs, strict=True), color=style.color, ls=dashes, lw=0.9, alpha=0.45, label="_")
    proved = [
        (s, max(p.scaled_gap, MIN_GAP)) for s, p in zip(seconds, line, strict=True) if math.isfinite(p.scaled_gap)
    ]
    axis.plot(
        [s for s, _ in proved],
        [gap for _, gap in proved],
        color=style.color,
        ls=style.dashes,
        marker=style.marker,
        ms=4.5,
        lw=1.5,
        label=label,
    )
    unproved = [s for s, p in zip(seconds, line, strict=True) if not math.isfinite(p.scaled_gap)]
    if unproved:
        border = [high / 10.0 ** (MARGIN_DECADES / 2)] * len(unproved)
        axis.plot(unproved, border, style.marker, color=style.color, mfc="none", ms=4.5, label="_")
    if line[0].checkpoint is None:
        _draw_requests(axis, line, seconds, style, high)


def _draw_requests(
    axis: Axes, line: Sequence[PrecisionPoint], seconds: Sequence[float], style: CurveStyle, high: float
) -> None:
    """Write the request beside each point; requests with equal answers share a label."""
    position = 0
    for _, group in groupby(line, key=lambda point: (point.scaled_gap, point.iterations)):
        points = list(group)
        gap = points[0].scaled_gap
        height = max(gap, MIN_GAP) if math.isfinite(gap) else high / 10.0 ** (MARGIN_DECADES / 2)
        requests = dict.fromkeys(_request_label(point) for point in (points[0], points[-1]))
        axis.annotate(
            " to ".join(requests),
            (seconds[position], height),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize=6.5,
            color=style.color,
        )
        position += len(points)


def _request_label(point: PrecisionPoint) -> str:
    """Return the request as a power of ten if it is one."""
    exponent = round(math.log10(point.request))
    is_power = math.isclose(point.request, 10.0**exponent, rel_tol=1e-9)
    return f"$10^{{{exponent}}}$" if is_power else f"{point.request:g}"
