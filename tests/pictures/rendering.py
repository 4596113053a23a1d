"""Shared parts of the tests of pictures: small runs, and that a picture can be looked at."""

from __future__ import annotations

import functools
import io
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from boostopt import boost, instances
from boostopt.boosting.run.run import Run
from boostopt.oracles import DecisionStumps

PIXEL = 1.0
"""By how much what is drawn may reach beyond the figure: rounding."""


@functools.cache
def points() -> np.ndarray:
    return np.asarray(instances.banana(60, noise=0.05, random_state=3).X)


@functools.cache
def labels() -> np.ndarray:
    return np.asarray(instances.banana(60, noise=0.05, random_state=3).y)


@functools.cache
def run(formulation: str = "erlpboost", **options: Any) -> Run:
    X, y = points(), labels()
    arguments: dict[str, Any] = {"nu": 15.0, "epsilon": 0.05, **options}
    return boost(formulation, DecisionStumps(X, y), **{name: value for name, value in arguments.items() if value})


@functools.cache
def counted() -> Run:
    """Examples that count 1, 2 and 3 times, and one that counts not at all."""
    c = np.tile([1.0, 2.0, 3.0], 20)
    c[7] = 0.0
    return boost("erlpboost", DecisionStumps(points(), labels(), c=c), nu=20, epsilon=0.05)


def check_rendering(figure: Figure) -> None:
    """Check that a figure renders without a warning, that it is complete, and that its PNG and SVG files are valid."""
    figure.draw_without_rendering()
    box, whole = figure.get_tightbbox(), figure.bbox_inches
    room = PIXEL / figure.dpi
    assert box.x0 >= whole.x0 - room and box.x1 <= whole.x1 + room, "cut off at the side"
    assert box.y0 >= whole.y0 - room and box.y1 <= whole.y1 + room, "cut off above or below"
    figure.set_layout_engine("none")  # the layout is there: each file would make it once more
    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png")
    figure.savefig(svg, format="svg")
    assert png.getvalue().startswith(b"\x89PNG")
    assert ET.fromstring(svg.getvalue()).tag.endswith("svg")


def line(axis: Axes, label: str) -> Line2D:
    """Return the line whose label begins with a text."""
    (matching_line,) = [one for one in axis.lines if str(one.get_label()).startswith(label)]
    return matching_line


def xy(curve: Line2D) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(curve.get_xdata(), dtype=float), np.asarray(curve.get_ydata(), dtype=float)


def size(curve: Line2D) -> int:
    """Return the number of points of a line."""
    return len(xy(curve)[0])


def legend_of(figure: Figure) -> list[str]:
    """The texts of the legend below the picture."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]
