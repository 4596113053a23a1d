"""Pictures as SVG inside a page: text as text, no date, every name of its own."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from boostopt.comparison.benchmarks import Benchmark
from boostopt.comparison.rows import Row
from boostopt.pictures import intervals, profiles
from boostopt.pictures.style import Panels

SAVED: dict[Any, str] = {"svg.fonttype": "none", "svg.hashsalt": "boostopt"}
"""Text is text that a browser draws and a reader can search; names in the picture do not change from run to run."""

NARROW = 4.2
"""Inches of a picture for narrow screens: shrunk to one of 360 pixels its letters are still those of a text."""

NOT_RUN = "not run"
"""The words on a backend without an interval."""


def drawn(figure: Figure, prefix: str, label: str, least: float = 0.0) -> Markup:
    """Return a figure as SVG to stand in HTML.

    Parameters
    ----------
    figure
        What a function of `boostopt.pictures` returned.
    prefix
        What every name in it begins with: names must be unique in a page.
    label
        What it shows, for those who do not see it.
    least
        Pixels below which its width is not shrunk: it is moved to be seen then; 0 for as wide as the page has it.
    """
    file = io.StringIO()
    with mpl.rc_context(SAVED), warnings.catch_warnings():
        # The letters are drawn by the browser, whose fonts have more of them than matplotlib's.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    # What it says about itself, its comments, and a style that would hold for all pictures of the page.
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style\b.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"<[^<>]+>", lambda tag: _renamed(tag[0], prefix), text)
    text = re.sub(r'^<svg ([^>]*?)\s*width="[^"]*"', r"<svg \1", text)
    text = re.sub(r'^<svg ([^>]*?)\s*height="[^"]*"', r"<svg \1", text)
    style = f'style="min-width: {least:.0f}px; max-width: none" ' if least else ""
    text = text.replace("<svg ", f'<svg {style}role="img" aria-label="{escape(label)}" ', 1)
    return Markup(re.sub(r"\n\s*\n+", "\n", text))


def wide_intervals(runs: Sequence[Row]) -> Figure:
    """Draw certified intervals with gaps and seconds, but not with reasons, which the table beside it has in full."""
    figure = intervals(runs)
    for label in figure.axes[0].texts:
        if label.get_text().startswith(f"{NOT_RUN}: "):
            label.set_text(NOT_RUN)
    return figure


def narrow_profiles(benchmark: Benchmark, against: str = "fastest") -> tuple[Figure, ...]:
    """Draw the profiles for a narrow screen: a picture for each gap, its legend no wider than the picture."""
    settings = [replace(benchmark.settings, profiles=(gap,)) for gap in sorted(benchmark.settings.profiles)[::-1]]
    return tuple(narrowed(profiles(replace(benchmark, settings=one), against)) for one in settings)


def narrowed(figure: Figure) -> Figure:
    """Make a picture narrow, and its legend anew in as many columns as fit."""
    title = ""
    for legend in list(figure.legends):
        title = " ".join(legend.get_title().get_text().split())
        figure.set_figheight(figure.get_figheight() - legend.get_window_extent().height / figure.dpi)
        legend.remove()
    figure.set_figwidth(NARROW)
    Panels(figure, figure.axes, own=True).legend(*figure.axes, title=title)
    return figure


def narrow_intervals(runs: Sequence[Row]) -> Figure:
    """Draw certified intervals for a narrow screen: no words that the table has, the legend in one column."""
    figure = Figure(figsize=(NARROW, 1.2 + 0.34 * len(runs)), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.add_subplot()
    axis.spines[["top", "right"]].set_visible(False)
    intervals(runs, axis, brief=True)
    handles, labels = axis.get_legend_handles_labels()
    handle_of = dict(zip(labels, handles, strict=True))
    legend = figure.legend(
        list(handle_of.values()), list(handle_of), loc="outside lower center", frameon=False, handlelength=3
    )
    figure.set_figheight(figure.get_figheight() + legend.get_window_extent().height / figure.dpi)
    return figure


def _renamed(tag: str, prefix: str) -> str:
    """Return a tag whose names, and what refers to them, begin with a prefix."""
    tag = re.sub(r'\bid="', f'id="{prefix}-', tag)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", tag)
