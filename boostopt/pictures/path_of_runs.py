"""A path of runs: the soft margin and the weights as functions of a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import check_instance
from boostopt.boosting.regularization_path import RegularizationPath
from boostopt.boosting.run.run import Run
from boostopt.errors import ProblemError
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.hypothesis_descriptions import in_words
from boostopt.pictures.style import BLUE, GREY, AxesArgument, curve_style, make_panels
from boostopt.typesetting.tokenizer import SYMBOLS

N_LEGEND_HYPOTHESES = 6
"""Number of hypotheses in the legend: those with the largest weights."""

LOG_FROM = 10.0
"""The ratio of the largest to the smallest value from which on the scale of the values is logarithmic."""

MIN_TICK_DISTANCE = 0.08
"""The smallest distance between two values below the picture, as a share of its width."""

MAX_TICKS = 5
"""Maximum number of steps between the ticks of an axis of shares or counts."""

MAX_LEGEND_LENGTH = 34
"""Number of letters of a hypothesis that the legend shows."""


def path_of_runs(path: RegularizationPath, axes: AxesArgument = None, names: Sequence[str] = ()) -> Figure:
    """Draw a path of runs: certified soft margin above, hypotheses with weight in the middle, their weights below.

    If the oracle bounds the class, the best soft margin over the class lies in the band. The line is the soft margin of
    the runs. In the lowest panel each hypothesis is a line, as in a lasso path: its share w_q / sum |w| in each run.
    The hypotheses with the largest weights are named, the others grey.

    Parameters
    ----------
    path
        The result of `boostopt.path`, with its values in any order.
    axes
        Three axes to draw on.
    names
        Names of the features, for the legend.

    Raises
    ------
    OptionError
        The argument is not a path, or its formulation does not maximize a soft margin.
    ProblemError
        The path has no run, or not one for each value.
    """
    check_instance("path", path, RegularizationPath, "a path, what boostopt.path returns", "Pass the path.")
    if not len(path.runs) == len(path.values) > 0:
        raise ProblemError(
            f"a path must have one value at least, and a run for each; got {len(path.values)} value(s) and "
            f"{len(path.runs)} run(s). Make it anew."
        )
    order = np.argsort(path.values, kind="stable")
    x, lower, upper = path.values[order], path.lower[order], path.upper[order]
    panels = make_panels(axes, 3, height=7.0, heights=(1.2, 0.8, 1.4))
    margins, counts, weights = panels.axes
    measure = path.runs[0].record.problem.measure
    margins.plot(x, lower, color=BLUE, marker="o", ms=4, lw=1.4, label=f"{measure} reached")
    if np.isfinite(upper).all():
        margins.fill_between(
            x, lower, upper, color=BLUE, alpha=0.25, lw=0, label="the best one over the class lies here"
        )
    counts.plot(x, path.active[order], color=BLUE, marker="o", ms=4, lw=1.4)
    _draw_weights(weights, x, [path.runs[k] for k in order.tolist()], names)
    margins.set_ylabel(measure)
    counts.set(ylabel="hypotheses\nwith weight")
    counts.set_ylim(bottom=0.0)
    weights.set(ylabel=r"$w_q\, /\, \sum |w|$", xlabel=_parameter_label(path.parameter))
    log = bool(x[0] > 0 and x[-1] / x[0] >= LOG_FROM)
    for axis in panels.axes:
        # By default the number of ticks depends on the height of the axis, which the layout changes later.
        axis.yaxis.set_major_locator(MaxNLocator(MAX_TICKS))
        if log:
            axis.set_xscale("log")
        ticks = _ticks(np.log(x) if log else x)
        axis.set_xticks(x[ticks], [f"{value:.4g}" for value in x[ticks]])
        axis.minorticks_off()
    panels.legend(margins, weights, columns=2)
    return panels.figure


def _parameter_label(name: str) -> str:
    """Return the name of a parameter for an axis: a letter as a formula, a word as it is."""
    letter = SYMBOLS.get(name, name if len(name) == 1 else "")
    return f"${letter}$" if letter else name


def _ticks(place: Float[Array, " k"]) -> list[int]:
    """Return the indices of the values below the picture: as many as fit, from the first on."""
    ticks = [0]
    for k in range(1, len(place)):
        if place[k] - place[ticks[-1]] >= MIN_TICK_DISTANCE * (place[-1] - place[0]) > 0:
            ticks.append(k)
    return ticks


def weight_fractions(runs: Sequence[Run]) -> dict[Hypothesis, Float[Array, " k"]]:
    """Return the shares w / sum |w| over the runs of every hypothesis with a weight in some run, largest first."""
    by_hypothesis: dict[Hypothesis, Float[Array, " k"]] = {}
    for k, run in enumerate(runs):
        total = float(np.abs(run.w).sum())
        for q in np.flatnonzero(run.w).tolist():
            by_hypothesis.setdefault(run.hypotheses[q], np.zeros(len(runs)))[k] += float(run.w[q]) / total
    return dict(sorted(by_hypothesis.items(), key=lambda item: -float(np.abs(item[1]).max())))


def _draw_weights(axis: Axes, x: Float[Array, " k"], runs: Sequence[Run], names: Sequence[str]) -> None:
    """Draw the share of each hypothesis over the path."""
    ranked = list(weight_fractions(runs).items())
    for k, (_, share) in enumerate(ranked[N_LEGEND_HYPOTHESES:]):
        label = f"{len(ranked) - N_LEGEND_HYPOTHESES} others" if k == 0 else None
        axis.plot(x, share, color=GREY, lw=0.5, alpha=0.6, label=label)
    for k, (hypothesis, share) in enumerate(ranked[:N_LEGEND_HYPOTHESES]):
        style = curve_style(k)
        words = shorten(in_words(hypothesis, names), MAX_LEGEND_LENGTH, placeholder="...")
        axis.plot(x, share, color=style.color, ls=style.dashes, marker=style.marker, ms=4, lw=1.2, label=words)
