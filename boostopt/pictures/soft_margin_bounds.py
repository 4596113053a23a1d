"""Bounds of the soft margin over the rounds of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import check_choice
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError, ProblemError
from boostopt.pictures.picture_arguments import runs_by_label
from boostopt.pictures.style import GREY, AxesArgument, CurveStyle, curve_style, make_panels

X_AXES = {"rounds": ("round", "round"), "seconds": ("seconds", "seconds since the start")}
"""The column of the trace, and the words below the picture."""

IGNORED_FRACTION = 4
"""The first 1/IGNORED_FRACTION of the rounds of a run may lie outside the upper panel."""

MAX_FILLED_RUNS = 3
"""Maximum number of runs with a filling between the bounds: more overlapping fillings are unreadable."""


def bounds(runs: Any, against: str = "rounds", axes: AxesArgument = None) -> Figure:
    """Draw the bounds of the soft margin above, the gap between them below.

    The lower line of a run is the soft margin of its weights. The upper line bounds the soft margin of any weights over
    the class. If an oracle is heuristic, there is no such bound: the smallest edge so far replaces it, and the legend
    says so. The lower panel shows the gap, on a log scale, and epsilon. A gap of 0 or less cannot be shown. The scale
    of the upper panel ignores the first quarter of the rounds of each run, whose bounds are loose.

    Parameters
    ----------
    runs
        A run, or a classifier of two classes with the attribute `run_`; or several of them by label.
    against
        "rounds", or "seconds" since the start of the run.
    axes
        Two axes to draw on, for bounds and gap.

    Raises
    ------
    OptionError
        No run is given, a run does not maximize a soft margin, or `against` is neither of the two.
    ProblemError
        A run has no rounds.
    """
    against = check_choice("scale", against, X_AXES)
    labelled_runs = runs_by_label(runs)
    for label, run in labelled_runs.items():
        _validate_run(label, run)
    panels = make_panels(axes, 2, height=5.2, heights=(1.4, 1))
    upper_axis, lower_axis = panels.axes
    for k, (label, run) in enumerate(labelled_runs.items()):
        _draw_run(
            upper_axis,
            lower_axis,
            label,
            run,
            X_AXES[against][0],
            curve_style(k),
            len(labelled_runs) <= MAX_FILLED_RUNS,
        )
    for epsilon in sorted({run.record.problem.epsilon for run in labelled_runs.values()}):
        lower_axis.axhline(epsilon, color=GREY, ls=":", lw=1.2, label=rf"$\epsilon$ = {epsilon:g}")
    _set_limits_to_late_rounds(upper_axis, list(labelled_runs.values()))
    gaps = np.concatenate([run.trace["gap"] for run in labelled_runs.values()])
    lower_axis.set_yscale("log", nonpositive="clip")
    if not (gaps > 0).any():
        lower_axis.set_ylim(1e-16, 1.0)  # no positive gap determines a scale
    measures = {run.record.problem.measure for run in labelled_runs.values()}
    upper_axis.set_ylabel(f"{' or '.join(sorted(measures))} and its bound")
    lower_axis.set(ylabel="gap", xlabel=X_AXES[against][1])
    panels.legend(upper_axis, lower_axis)
    return panels.figure


def _validate_run(label: str, run: Run) -> None:
    if run.record.problem.objective is None:
        raise OptionError(f"{label} does not maximize a soft margin, so there is no bound to draw. Leave the run out.")
    if not len(run.trace):
        raise ProblemError(f"a run must have a round at least to be drawn; {label} has none. Let it go on.")


def upper_bounds(run: Run) -> Float[Array, " rounds"]:
    """Return the bound of the class after each round, or the smallest edge if there is none."""
    return np.array([row.bound for row in run.trace])


def _draw_run(
    upper_axis: Axes, lower_axis: Axes, label: str, run: Run, column: str, style: CurveStyle, fill: bool
) -> None:
    x, upper, lower = run.trace[column], upper_bounds(run), run.trace["soft_margin"]
    proved = bool(np.isfinite(run.trace["upper"][-1]))
    words = label if proved else f"{label} (above: smallest edge, no bound)"
    if fill:
        upper_axis.fill_between(x, lower, upper, step="post", color=style.color, alpha=0.08, lw=0)
    curves = [(upper_axis, upper, words), (upper_axis, lower, None), (lower_axis, run.trace["gap"], None)]
    for axis, y, name in curves:
        axis.plot(x, y, color=style.color, ls=style.dashes, lw=1.4, drawstyle="steps-post", label=name)
        # Mark the end of a run, because its last step is a line without width.
        axis.plot(x[-1:], y[-1:], color=style.color, marker=style.marker, ms=4, ls="")


def _set_limits_to_late_rounds(axis: Axes, runs: list[Run]) -> None:
    """Choose the scale by the bounds of the later rounds, which are close to each other."""
    late = [
        values[len(values) // IGNORED_FRACTION :]
        for run in runs
        for values in (upper_bounds(run), run.trace["soft_margin"])
    ]
    low, high = min(float(v.min()) for v in late), max(float(v.max()) for v in late)
    margin = 0.08 * max(high - low, 1e-9)
    axis.set_ylim(low - margin, high + margin)
