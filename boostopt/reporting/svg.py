"""Pictures as SVG inside an HTML page: with text as text, without a date, and with unique names."""

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

from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.solve_record import SolveRecord
from boostopt.pictures import intervals, profiles
from boostopt.pictures.style import Panels

SVG_SETTINGS: dict[Any, str] = {"svg.fonttype": "none", "svg.hashsalt": "boostopt"}
"""Settings of matplotlib: the browser draws the text, readers can search it, and names are equal in all runs."""

FONTS = "'DejaVu Sans', Verdana, sans-serif"
"""Fonts of letters in pictures: matplotlib measures the first of them, and the others have letters as wide."""

NARROW_WIDTH = 4.2
"""Width in inches of a picture for narrow screens: at 360 pixels its letters are still as large as the text."""


def figure_to_svg(figure: Figure, prefix: str, label: str, min_width: float = 0.0) -> Markup:
    """Return a figure as SVG to embed in HTML.

    Parameters
    ----------
    figure
        The figure, a result of a function of `boostopt.pictures`.
    prefix
        The prefix of every name in the picture; names must be unique in an HTML page.
    label
        A description of the picture for readers who do not see the picture.
    min_width
        The minimum width in pixels, on a narrower screen the reader scrolls; 0 fits the picture to the screen.
    """
    file = io.StringIO()
    with mpl.rc_context(SVG_SETTINGS), warnings.catch_warnings():
        # The browser draws the letters, and its fonts have more letters than those of matplotlib.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    # Remove metadata, comments, and a style that would apply to all pictures of the page.
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style\b.*?</style>", "", text, flags=re.DOTALL)
    references = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r"<[^<>]+>", lambda tag: _prefix_ids(_shorten(tag[0], references), prefix), text)
    text = re.sub(r'^<svg ([^>]*?)\s*width="[^"]*"', r"<svg \1", text)
    text = re.sub(r'^<svg ([^>]*?)\s*height="[^"]*"', r"<svg \1", text)
    style = f'style="min-width: {min_width:.0f}px; max-width: none" ' if min_width else ""
    text = text.replace("<svg ", f'<svg {style}role="img" aria-label="{escape(label)}" ', 1)
    return Markup(re.sub(r"\n\s*\n+", "\n", text))


def wide_intervals(runs: Sequence[SolveRecord]) -> Figure:
    """Draw certified intervals with gaps and seconds; the table beside the picture gives the reasons."""
    return intervals([run if run.ran else replace(run, reason="") for run in runs])


def narrow_profiles(benchmark: Benchmark, against: str = "fastest") -> tuple[Figure, ...]:
    """Draw the profiles for a narrow screen: one picture for each gap, with a legend no wider than the picture."""
    settings = [replace(benchmark.settings, target_gaps=(gap,)) for gap in sorted(benchmark.settings.target_gaps)[::-1]]
    return tuple(make_narrow(profiles(replace(benchmark, settings=setting), against)) for setting in settings)


def make_narrow(figure: Figure) -> Figure:
    """Return a figure made narrow, with a legend of as many columns as fit."""
    title = ""
    for legend in list(figure.legends):
        title = " ".join(legend.get_title().get_text().split())
        figure.set_figheight(figure.get_figheight() - legend.get_window_extent().height / figure.dpi)
        legend.remove()
    figure.set_figwidth(NARROW_WIDTH)
    Panels(figure, figure.axes, is_own_figure=True).legend(*figure.axes, title=title)
    return figure


def narrow_intervals(runs: Sequence[SolveRecord]) -> Figure:
    """Draw certified intervals for a narrow screen: without the words of the table, and with a one-column legend."""
    figure = Figure(figsize=(NARROW_WIDTH, 1.2 + 0.34 * len(runs)), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.add_subplot()
    axis.spines[["top", "right"]].set_visible(False)
    intervals(runs, axis, brief=True)
    handles, labels = axis.get_legend_handles_labels()
    handle_by_label = dict(zip(labels, handles, strict=True))
    legend = figure.legend(
        list(handle_by_label.values()), list(handle_by_label), loc="outside lower center", frameon=False, handlelength=3
    )
    figure.set_figheight(figure.get_figheight() + legend.get_window_extent().height / figure.dpi)
    return figure


def _shorten(tag: str, references: set[str]) -> str:
    """Return a tag without names that nothing refers to, with hundredths of points, and with short lists of fonts."""
    tag = re.sub(r' id="([^"]*)"', lambda name: name[0] if name[1] in references else "", tag)
    tag = re.sub(r"(\d\.\d\d)\d+", r"\1", tag)
    return re.sub(r"font-family: [^;\"]*sans-serif", f"font-family: {FONTS}", tag)


def _prefix_ids(tag: str, prefix: str) -> str:
    """Return a tag in which names and references to names begin with a prefix."""
    tag = re.sub(r'\bid="', f'id="{prefix}-', tag)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", tag)
