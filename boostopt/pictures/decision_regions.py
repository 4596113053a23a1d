"""The decisions of a classifier over the plane of two features."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from boostopt._utils.array_types import Array, Bool, ExampleVector, Float
from boostopt._utils.validation import check_array, check_integer
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL
from boostopt.errors import OptionError, ProblemError
from boostopt.pictures.picture_arguments import real_array
from boostopt.pictures.style import BLACK, BLUE, RED, AxesArgument, Panels, make_panels

MAX_MARKER_AREA = 160.0
"""The area of the marker of the largest weight in square points; the others are in proportion."""

N_LEVELS = 22
"""Number of levels, an even number, so that values near 0 have a colour of their own, white."""

FAINT_GREY = "#b0b0b0"
"""The colour of hatches, which lie below the markers."""

MIN_RESOLUTION, MAX_RESOLUTION = 2, 4000
"""Limits of the resolution: the finest takes 16 million values of f."""

SHADES: LinearSegmentedColormap = LinearSegmentedColormap.from_list("f", ["#f0a271", "#ffffff", "#7db7e0"])
"""Colours from the red of the palette through white to the blue, light enough for markers."""


@runtime_checkable
class HasDecisionFunction(Protocol):
    """An object with a decision function: a run, or a classifier in the style of scikit-learn."""

    def decision_function(self, X: Any) -> Any: ...


def decision_regions(
    classifier: HasDecisionFunction,
    X: Any,
    y: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    resolution: int = 200,
    axes: AxesArgument = None,
) -> Figure:
    """Draw f(x) over two features with the line f = 0, and the examples as markers by class and weight.

    If f is 0 on a whole area, which belongs to no class, the picture shows the area hatched, with its border instead of
    a line.

    Parameters
    ----------
    classifier
        An object whose `decision_function(X)` returns one number for each row: a run, or a fitted classifier of two
        classes.
    X
        Features of the examples, shape (N, 2), finite; a table's column names become the names of the axes.
    y
        Labels, shape (N,), of two kinds; the larger one is the class where f > 0.
    weights
        Weights of the examples, shape (N,), non-negative. The areas of the markers are proportional to them, and each
        example has at least a small dot. Equal by default.
    resolution
        Points of the grid along each axis, 2 to 4000.
    axes
        Axes to draw on.

    Raises
    ------
    OptionError
        The classifier has no decision function, or the resolution is out of range.
    ProblemError
        X does not have two features; the lengths of X, y and weights differ; y does not have two labels; a number is
        not finite; or the decision function does not return one number for each row.

    References
    ----------
    Raetsch, Onoda, Mueller 2001, figures 2, 6 and 8 (right), are pictures of this kind.
    """
    if not callable(getattr(classifier, "decision_function", None)):
        raise OptionError(f"expected something with decision_function; got {type(classifier).__name__}. Fit one first.")
    resolution = check_integer(
        "resolution", resolution, MIN_RESOLUTION, advice="Pass how many points there are along an axis."
    )
    if resolution > MAX_RESOLUTION:
        raise OptionError(f"resolution must be at most {MAX_RESOLUTION}; got {resolution}. Lower it.")
    points = _validate_points(X)
    larger, labels = _positive_mask(y, len(points))
    sizes = _marker_areas(weights, len(points))
    ticks = [_grid_axis(points[:, k], resolution) for k in (0, 1)]
    f = _grid_values(classifier, X, ticks)
    panels = make_panels(axes, height=4.6)
    axis = panels.axes[0]
    _draw_regions(panels, axis, ticks, f)
    for mask, marker, color, label in ((larger, "o", BLUE, labels[1]), (~larger, "^", RED, labels[0])):
        _draw_markers(
            axis, points[mask], None if sizes is None else sizes[mask], marker, color, _class_label_text(label)
        )
    names = [str(name) for name in getattr(X, "columns", (r"$x_0$", r"$x_1$"))]
    axis.set(xlabel=names[0], ylabel=names[1], xlim=ticks[0][[0, -1]], ylim=ticks[1][[0, -1]])
    panels.legend(axis)
    return panels.figure


def _validate_points(X: Any) -> Float[Array, "N 2"]:
    points = real_array("X", X, 2)
    if points.shape[1] != 2:
        raise ProblemError(
            f"X must have two features to be drawn; got {points.shape[1]}. Choose two, and a classifier of them."
        )
    return points


def _positive_mask(y: npt.ArrayLike, N: int) -> tuple[Bool[Array, " N"], list[Any]]:
    """Return a mask of the examples with the larger of two labels, and the labels."""
    array = check_array("y", y)
    try:
        labels = np.unique(array)
    except TypeError as unlike:
        raise ProblemError(
            f"y must be labels of one type; got some that have no order: {unlike}. Code them."
        ) from unlike
    if array.shape != (N,) or len(labels) != 2:
        raise ProblemError(
            f"y must be {N} labels, one for each row of X, of two kinds; got shape {array.shape} with {len(labels)} "
            "kind(s). Pass the labels of the rows."
        )
    return array == labels[1], labels.tolist()


def _marker_areas(weights: npt.ArrayLike | None, N: int) -> ExampleVector | None:
    """Return areas proportional to weights."""
    if weights is None:
        return None
    d = real_array("weights", weights, 1)
    if len(d) != N or (d < 0).any() or not d.any():
        raise ProblemError(
            f"weights must be {N} numbers of at least 0, one for each row of X and not all of them 0; got {len(d)}, "
            f"the smallest {d.min():.6g}. A run leaves out examples with multiplicity 0: leave them out of X, too."
        )
    return MAX_MARKER_AREA * d / d.max()


def _grid_axis(x: ExampleVector, resolution: int) -> Float[Array, " resolution"]:
    """Return the grid along an axis, with some space around the examples."""
    low, high = float(x.min()), float(x.max())
    margin = 0.06 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, resolution)


def _grid_values(
    classifier: HasDecisionFunction, X: Any, ticks: list[Float[Array, " resolution"]]
) -> Float[Array, "rows columns"]:
    """Return f on the grid, which the classifier receives in the type of X: a table or an array."""
    grid: Any = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)
    if hasattr(X, "columns"):
        grid = type(X)(grid, columns=X.columns)
    f = np.asarray(classifier.decision_function(grid), dtype=np.float64)
    if f.shape != (len(grid),):
        raise ProblemError(
            f"decision_function must return a number for each of {len(grid)} rows; got shape {f.shape}. Draw a "
            "classifier of two classes, or one class against the others."
        )
    if not np.isfinite(f).all():
        raise ProblemError("decision_function must return finite numbers; got nan or inf. Correct the classifier.")
    return f.reshape(len(ticks[1]), len(ticks[0]))


def _draw_regions(
    panels: Panels, axis: Axes, ticks: list[Float[Array, " resolution"]], f: Float[Array, "rows columns"]
) -> None:
    """Fill the plane by the values of f, draw the line where f changes its sign, and hatch where f is 0."""
    max_value = float(np.abs(f).max()) or 1.0
    filling = axis.contourf(*ticks, f, levels=np.linspace(-max_value, max_value, N_LEVELS), cmap=SHADES)
    zero = np.abs(f) <= ZERO_TOL
    area = bool((zero[1:, 1:] & zero[1:, :-1] & zero[:-1, 1:] & zero[:-1, :-1]).any())
    if area:
        hatched = axis.contourf(*ticks, zero, levels=[0.5, 1.5], colors="none", hatches=["///"])
        hatched.set(edgecolor=FAINT_GREY, linewidth=0.0)
    # In an area of zeros the position of the line would be arbitrary: the border of the area is drawn instead.
    side = 0.5 * float(np.abs(f[~zero]).min(initial=1.0))
    levels = [level for level in ([-side, side] if area else [0.0]) if f.min() < level < f.max()]
    if levels:
        axis.contour(*ticks, f, levels=levels, colors=BLACK, linewidths=1.4, linestyles="-")
    if panels.is_own_figure:
        bar = panels.figure.colorbar(filling, ax=axis, label="$f(x)$" + (", hatched where 0" if area else ""))
        bar.set_ticks(MaxNLocator(7).tick_values(-max_value, max_value)[1:-1])
        bar.ax.axhline(0.0, color=BLACK, lw=1.4)


def _draw_markers(
    axis: Axes, points: Float[Array, "n 2"], sizes: Float[Array, " n"] | None, marker: str, color: str, label: str
) -> None:
    """Draw the examples of a class."""
    x, y = points.T
    if sizes is None:
        axis.scatter(x, y, s=22, marker=marker, color=color, edgecolors="white", linewidths=0.5, label=label)
        return
    axis.scatter(x, y, s=4, marker=marker, color=color, linewidths=0, label=None)
    face_color = color, 0.35  # transparent, so that other markers stay visible
    axis.scatter(x, y, s=sizes, marker=marker, facecolors=face_color, edgecolors=color, linewidths=0.8, label=label)


def _class_label_text(label: Any) -> str:
    """Return the name of a class in the legend; a number is typeset as a number, with a minus sign."""
    return f"$y = {label:g}$" if isinstance(label, int | float) else f"y = {label}"
