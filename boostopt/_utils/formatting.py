"""Text for readers: intervals rounded outward, parameters, small tables, HTML for notebooks."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

MAX_NOWRAP_CHARACTERS = 50
"""Largest number of characters of a table cell that is not wrapped."""


def format_interval(lower: float, upper: float) -> str:
    """Format an interval, rounded outward."""
    return f"[{_format_rounded_outward(lower, -1)}, {_format_rounded_outward(upper, 1)}]"


def _format_rounded_outward(value: float, direction: int) -> str:
    """Format a number with 10 significant digits, rounded down or up."""
    if not np.isfinite(value):
        return str(float(value))
    digits = f"{value:.9e}"
    if (float(digits) - value) * direction < 0:
        exponent = int(digits.partition("e")[2])
        digits = f"{value + direction * 10.0 ** (exponent - 9):.9e}"
    number = float(digits)
    return f"{number:.9e}" if number != 0 and not 1e-4 <= abs(number) < 1e6 else f"{number + 0.0:.10g}"  # not -0


def format_parameters(parameters: Any) -> str:
    """Format a record of parameters: numbers with six digits, true flags by their name, arrays by their size."""
    values = {field.name: getattr(parameters, field.name) for field in dataclasses.fields(parameters)}
    return ", ".join(_format_parameter(name, value) for name, value in values.items() if value is not False)


def _format_parameter(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{name} = array of {value.size}"
    return name if value is True else f"{name} = {value:z.6g}"


def format_count(count: int, one: str, several: str = "") -> str:
    """Format a count with its noun; `several` is an irregular plural."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def with_singular(text: str) -> str:
    """Return the words of a class with a singular after 1: files of version 0.1.0 have "1 features"."""
    return re.sub(r"\b(on|most) 1 (feature|threshold)s\b", r"\1 1 \2", text)


def html_table(title: str, rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Return an HTML table with a caption, everything escaped; the first of several cells of a row is a header cell."""
    head = f"<thead><tr>{''.join(_cell('th', name) for name in header)}</tr></thead>" if header else ""
    body = "".join(
        f"<tr>{_cell('th' if rest else 'td', first)}{''.join(_cell('td', cell) for cell in rest)}</tr>"
        for first, *rest in rows
    )
    caption = f'<caption style="text-align:left;font-weight:bold;white-space:nowrap">{escape(title)}</caption>'
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def _cell(tag: str, value: object) -> str:
    """Return a table cell; numbers and short texts are not wrapped."""
    text = f"{value:z.6g}" if isinstance(value, float) else str(value)
    nowrap = ";white-space:nowrap" if len(text) <= MAX_NOWRAP_CHARACTERS else ""
    return f'<{tag} style="text-align:left;padding:0 1em 0 0{nowrap}">{escape(text)}</{tag}>'


TEXT_WIDTH = 120
"""Width of a text table, in columns."""


def render_text(renderable: Any) -> str:
    """Return the output of rich as plain text."""
    from rich.console import Console

    console = Console(width=TEXT_WIDTH, highlight=False, color_system=None, force_jupyter=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def escape_unprintable(text: str) -> str:
    """Return text with control characters and unprintable characters as Python escapes."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
