"""The common style of the pictures: colours and lines, panels, legends, and figures that notebooks show."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, TypeVar

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure

from boostopt.errors import OptionError

T = TypeVar("T")

AxesArgument = Axes | Sequence[Axes] | None
"""Axes of the caller to draw on; None for a new figure."""

COLORS = ("#000000", "#d55e00", "#0072b2", "#e69f00", "#009e73", "#56b4e9", "#cc79a7")
"""The palette of Okabe and Ito, safe for colour-blind readers, without yellow, which is too light for a line."""

BLACK, RED, BLUE, ORANGE, GREEN, SKY, PURPLE = COLORS
GREY = "#767676"
"""The colour of the background elements: its contrast with white is still 4.5 to 1."""

DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (1.2, 1.2)),
    (0, (10, 2)),
    (0, (6, 1.5, 1.2, 1.5, 1.2, 1.5)),
    (0, (2.5, 2.5)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

RESULT_STYLES = {"reached": (GREEN, ""), "failed": (RED, "////"), "not run": ("#ffffff", "..")}
"""Colour and hatch of the results of solves."""

MAX_NAME_LENGTH = 32
"""Number of letters of a name that are shown."""

LETTERS_PER_INCH = 15
"""Average number of small letters in an inch, on the safe side."""

FIGURE_WIDTH = 7.2
"""Width of a figure in inches: about the width of a printed page, so that letters of 10 points keep their size."""

DPI = 110


class NotebookFigure(Figure):
    """A figure that notebooks show.

    Unless pyplot has been imported, notebooks show only the name of a bare Figure.
    """

    def _repr_png_(self) -> bytes:
        """Return the picture in the form that notebooks expect."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


@dataclass(frozen=True)
class CurveStyle:
    """The style of one of several overlapping curves; 49 styles are distinct."""

    color: str
    dashes: Any
    marker: str


def curve_style(k: int) -> CurveStyle:
    """Return the style of curve k, from 0."""
    count = len(COLORS)
    # Once all colours are used, each occurs again with another line.
    return CurveStyle(COLORS[k % count], DASHES[(k + k // count) % count], MARKERS[(k + k // count) % count])


def escape_label(thing: str, letters: int = MAX_NAME_LENGTH) -> str:
    """Escape a name for matplotlib: a dollar must not begin a formula, and an underscore must not hide the name."""
    plain = " ".join(thing.split())
    cut = plain if len(plain) <= letters else f"{plain[: letters - 3]}..."
    return f"{' ' if cut[:1] in ('', '_') else ''}{cut}".replace("$", r"\$")


@dataclass(frozen=True)
class Panels:
    """The axes of a picture.

    Attributes
    ----------
    figure
        The figure.
    axes
        Its panels, row by row.
    is_own_figure
        Whether the figure was made for this picture, so that the picture places legends and colour bars.
    """

    figure: Figure
    axes: Sequence[Axes]
    is_own_figure: bool

    def legend(self, *axes: Axes, columns: int = 6, title: str = "") -> None:
        """Put one legend for all these panels below them, in as many columns as fit; the figure grows by its height.

        The title is plain text, broken into lines of the figure's width.
        """
        if not self.is_own_figure:
            return
        wrapped = fill(title, int(LETTERS_PER_INCH * self.figure.get_figwidth()))
        handles: dict[str, Artist] = {}
        for panel in axes:
            for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        for count in range(min(columns, len(handles)), 0, -1):
            legend = self.figure.legend(
                list(handles.values()),
                list(handles),
                loc="outside lower center",
                ncols=count,
                frameon=False,
                handlelength=3,
                title=wrapped or None,
                title_fontsize="small",
            )
            extent = legend.get_window_extent()
            if count == 1 or extent.width <= self.figure.bbox.width:
                self.figure.set_figheight(self.figure.get_figheight() + extent.height / self.figure.dpi)
                return
            legend.remove()


def make_panels(
    axes: object,
    rows: int = 1,
    columns: int = 1,
    height: float = 3.6,
    heights: Sequence[float] | None = None,
    one_scale: bool = True,
) -> Panels:
    """Return the given axes, or panels in a new figure that share scales by row and, with `one_scale`, by column.

    Raises
    ------
    OptionError
        The number or type of the given axes does not fit the panels of the picture.
    """
    n_axes = rows * columns
    if axes is None:
        figure = NotebookFigure(figsize=(FIGURE_WIDTH, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(
            rows, columns, sharex="col" if one_scale else "none", sharey="row", squeeze=False, height_ratios=heights
        )
        for axis in grid.flat:
            axis.spines[["top", "right"]].set_visible(False)
        return Panels(figure, grid.ravel().tolist(), True)
    callers: list[Any] = np.ravel(np.asarray(axes, dtype=object)).tolist()
    if len(callers) != n_axes or not all(isinstance(axis, Axes) for axis in callers):
        kinds = ", ".join(type(axis).__name__ for axis in callers) or "none"
        raise OptionError(
            f"axes must be {n_axes} matplotlib Axes, one for each panel; got {len(callers)} ({kinds}). "
            "Leave them out for a figure of its own."
        )
    figure = callers[0].figure
    if figure is None:
        raise OptionError("axes must stand in a figure; got some that were removed from theirs. Make new ones.")
    return Panels(figure.figure if isinstance(figure, SubFigure) else figure, callers, False)
