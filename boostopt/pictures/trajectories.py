"""Distributions over the rounds: of three examples on the triangle, and of any number of examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.dynamics import Cycle, triangle_coordinates
from boostopt.errors import ProblemError
from boostopt.pictures.picture_arguments import label_items, real_array
from boostopt.pictures.style import (
    BLACK,
    BLUE,
    GREY,
    RED,
    AxesArgument,
    CurveStyle,
    Panels,
    curve_style,
    make_panels,
)

SIMPLEX_TOLERANCE = 1e-6
"""The tolerance for sums of 1 and weights of at least 0: iterations without renormalizing may have such errors."""

MAX_LINES = 8
"""Largest number of examples with a line each; the weights of more examples are an image."""

CORNERS = triangle_coordinates(np.eye(3))
MIDPOINTS = triangle_coordinates((1 - np.eye(3)) / 2)


def triangle(trajectory: Any, cycle: Cycle | Any | None = None, axes: AxesArgument = None) -> Figure:
    """Draw distributions over three examples in barycentric coordinates: AdaBoost's dynamics.

    A corner has all weight on one example. Later rounds have larger circles. After a round whose hypothesis is wrong on
    exactly one example, AdaBoost lies on the dotted triangle.

    Parameters
    ----------
    trajectory
        Distributions in the order of the rounds, shape (rounds, 3), as `boosting.dynamics.iterate` returns them; or
        several of these by their labels.
    cycle
        A cycle to mark: the result of `boosting.dynamics.find_cycle`, or its distributions, shape (period, 3).
    axes
        Axes to draw on.

    Raises
    ------
    ProblemError
        There are not three examples, there are no rounds, or the rows are not distributions.

    References
    ----------
    Rudin, Daubechies, Schapire 2004, figures 1 and 2(c).
    """
    distributions = {
        label: _validate_distributions(label, item, 3)
        for label, item in label_items(trajectory, "a trajectory", "trajectory").items()
    }
    closed = None if cycle is None else _validate_distributions("cycle", _cycle_points(cycle), 3)
    panels = make_panels(axes, height=5.0)
    axis = panels.axes[0]
    draw_triangle(axis, inner=True)
    for k, (label, d) in enumerate(distributions.items()):
        _draw_trajectory(axis, label, d, CurveStyle(BLUE, "-", "o") if len(distributions) == 1 else curve_style(k))
    if closed is not None:
        x, y = triangle_coordinates(np.vstack([closed, closed[:1]])).T
        axis.plot(x, y, color=RED, lw=1.2, marker="s", ms=11, mfc="none", label=f"cycle of period {len(closed)}")
    panels.legend(axis)
    return panels.figure


def cycles(trajectory: Any, cycle: Cycle | Any | None = None, axes: AxesArgument = None) -> Figure:
    """Draw the weights of the examples over the rounds: lines for up to 8 examples, otherwise an image.

    Parameters
    ----------
    trajectory
        Distributions in the order of the rounds, shape (rounds, N).
    cycle
        The cycle in which the trajectory ends, as for `triangle`. Lines mark the final rounds that repeat the cycle,
        one line for each period.
    axes
        Axes to draw on.

    Raises
    ------
    ProblemError
        There are no rounds, the rows are not distributions, or the cycle has another number of examples.
    """
    d = _validate_distributions("trajectory", trajectory)
    closed = None if cycle is None else _validate_distributions("cycle", _cycle_points(cycle), d.shape[1])
    panels = make_panels(axes)
    axis = panels.axes[0]
    if d.shape[1] <= MAX_LINES:
        _draw_lines(axis, d)
    else:
        _draw_image(panels, axis, d)
    if closed is not None:
        starts = _cycle_starts(d, closed)
        for k, start in enumerate(starts):
            label = f"cycle of period {len(closed)}, from round {start}" if k == len(starts) - 1 else None
            color = BLACK if d.shape[1] <= MAX_LINES else "white"
            axis.axvline(start - (0.0 if d.shape[1] <= MAX_LINES else 0.5), color=color, ls=":", lw=0.9, label=label)
    axis.set(xlabel="round", xlim=(-0.5, len(d) - 0.5))
    panels.legend(axis)
    return panels.figure


def _cycle_points(cycle: Any) -> Any:
    return cycle.points if isinstance(cycle, Cycle) else cycle


def _validate_distributions(name: str, trajectory: Any, N: int | None = None) -> Float[Array, "rounds N"]:
    """Return distributions, checked."""
    d = real_array(name, trajectory, 2)
    if N is not None and d.shape[1] != N:
        raise ProblemError(
            f"{name} must have {N} examples; got {d.shape[1]}. Pass such, or any number of them to `cycles`."
        )
    violation = float(max(-d.min(), np.abs(d.sum(axis=1) - 1).max()))
    if violation > SIMPLEX_TOLERANCE:
        raise ProblemError(
            f"{name} must be distributions, non-negative with sum 1 in each row; got one that is off by "
            f"{violation:.3g}. "
            "Divide the rows by their sums."
        )
    return d


def draw_triangle(axis: Axes, inner: bool) -> None:
    """Draw the simplex of three examples, and the triangle between the midpoints of its sides."""
    axis.plot(*CORNERS[[0, 1, 2, 0]].T, color=BLACK, lw=1)
    if inner:
        axis.plot(*MIDPOINTS[[0, 1, 2, 0]].T, color=GREY, lw=0.8, ls=":")
    for n, (x, y) in enumerate(CORNERS):
        top = n == 2
        axis.text(x, y + (0.03 if top else -0.03), f"$d_{n} = 1$", ha="center", va="bottom" if top else "top")
    axis.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.12, 0.98))
    axis.axis("off")


def _draw_trajectory(axis: Axes, label: str, d: Float[Array, "rounds 3"], style: CurveStyle) -> None:
    """Draw a trajectory: later rounds in larger circles."""
    points = triangle_coordinates(d)
    axis.plot(*points.T, color=style.color, lw=0.6, ls=style.dashes, alpha=0.6)
    sizes = 6 + 60 * np.arange(len(d)) / max(len(d) - 1, 1)
    axis.scatter(
        *points.T, s=sizes, marker=style.marker, facecolors="none", edgecolors=style.color, lw=0.9, label=label
    )


def _draw_lines(axis: Axes, d: Float[Array, "rounds N"]) -> None:
    """Draw a line for each example."""
    for n in range(d.shape[1]):
        style = curve_style(n)
        axis.plot(d[:, n], color=style.color, ls=style.dashes, marker=style.marker, ms=3, lw=1.1, label=f"$d_{n}$")
    axis.set(ylabel="weight $d_n$")
    axis.set_ylim(bottom=0.0)


def _draw_image(panels: Panels, axis: Axes, d: Float[Array, "rounds N"]) -> None:
    """Draw a row of pixels for each example."""
    image = axis.imshow(d.T, aspect="auto", cmap="cividis", interpolation="nearest", vmin=0.0, origin="lower")
    axis.set(ylabel=r"example $n$")
    if panels.is_own_figure:
        panels.figure.colorbar(image, ax=axis, label="weight $d_n$")


def _cycle_starts(d: Float[Array, "rounds N"], cycle: Float[Array, "period N"]) -> list[int]:
    """Return the rounds, last one first, at which a period begins and from which the trajectory stays on the cycle."""
    period, starts = len(cycle), list[int]()
    for k in range(len(d) - period, -1, -1):
        if starts and k != starts[-1] - period:
            continue
        if np.abs(d[k : k + period] - cycle).max() <= SIMPLEX_TOLERANCE:
            starts.append(k)
        elif starts:
            break
    return starts
