"""Numbers and small tables as people read them: outward rounded intervals, parameters, HTML for notebooks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np


def interval(lower: float, upper: float) -> str:
    """Write an interval so that rounding to print it never narrows it."""
    return f"[{_outward(lower, -1)}, {_outward(upper, 1)}]"


def _outward(value: float, direction: int) -> str:
    """Write a number with 10 significant digits, rounded down or up."""
    if not np.isfinite(value):
        return str(float(value))
    digits = f"{value:.9e}"
    if (float(digits) - value) * direction < 0:
        exponent = int(digits.partition("e")[2])
        digits = f"{value + direction * 10.0 ** (exponent - 9):.9e}"
    number = float(digits)
    return f"{number:.9e}" if number != 0 and not 1e-4 <= abs(number) < 1e6 else f"{number:.10g}"


def parameters_in_words(parameters: Any) -> str:
    """Write a record of parameters: numbers with six digits, flags that are set by their name, arrays by their size."""
    values = {field.name: getattr(parameters, field.name) for field in dataclasses.fields(parameters)}
    return ", ".join(_setting(name, value) for name, value in values.items() if value is not False)


def _setting(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{name} = array of {value.size}"
    return name if value is True else f"{name} = {value:.6g}"


def html_table(title: str, rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Return a table with a caption, everything escaped; the first cell of a row is its head."""
    left = ' style="text-align:left"'
    head = f"<thead><tr>{''.join(f'<th{left}>{escape(name)}</th>' for name in header)}</tr></thead>" if header else ""
    body = "".join(
        f"<tr><th{left}>{_cell(first)}</th>{''.join(f'<td{left}>{_cell(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    caption = f'<caption style="text-align:left;font-weight:bold">{escape(title)}</caption>'
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    return escape(f"{value:.6g}" if isinstance(value, float) else str(value))
