"""The record of a constructed problem, and the checks of its arguments."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import check_integer, check_number
from boostopt.errors import ProblemError

MAX_LINE_LENGTH = 100
"""The most characters in a line of a shown record."""

MAX_PRINTED_ENTRIES = 400
"""The most entries of an array that is shown in full."""


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A margin matrix with known answers. The repr shows all fields, and large arrays by their corners.

    Attributes
    ----------
    name
        The name of the instance.
    U
        Margin matrix, shape (N, t), entries in [-1, 1].
    shows
        The property that the instance demonstrates, in a sentence.
    sources
        References: paper, section, equation.
    parameters
        The parameters to bind U with, by the symbols of the papers: nu, and eta, epsilon, c, d0 if they matter. A
        formulation uses only its own parameters.
    answers
        The known answers, by the name of the quantity. Rows and columns are counted from 0.

    Notes
    -----
    The arrays are read-only, because all users of the instance share them.
    """

    name: str
    U: Float[Array, "N t"]
    shows: str
    sources: tuple[str, ...]
    parameters: Mapping[str, Any]
    answers: Mapping[str, Any]

    def __post_init__(self) -> None:
        for field in ("parameters", "answers"):
            object.__setattr__(self, field, {name: _read_only(value) for name, value in getattr(self, field).items()})
        object.__setattr__(self, "U", _read_only(self.U))

    def __repr__(self) -> str:
        N, t = self.U.shape
        lines = textwrap.wrap(f"{self.name}: {self.shows}", MAX_LINE_LENGTH)
        lines += _entry_lines(f"U, shape ({N}, {t})", self.U)
        for title, entries in (("parameters", self.parameters), ("answers", self.answers)):
            lines.append(title)
            for name, value in entries.items():
                lines += _entry_lines(name, value)
        lines.append("sources")
        lines += [f"  {source}" for source in self.sources]
        return "\n".join(lines)


def _read_only(value: Any) -> Any:
    """Return a read-only copy of an array, and anything else unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy()
    copy.setflags(write=False)
    return copy


def _entry_lines(name: str, value: Any) -> list[str]:
    """Return the lines that show a quantity: beside its name if there is room, or else below."""
    text = _format_value(value)
    head = f"  {name}: "
    if "\n" not in text and len(head) + len(text) <= MAX_LINE_LENGTH:
        return [head + text]
    return [head.rstrip(), *textwrap.indent(text, "    ").split("\n")]


def _format_value(value: Any) -> str:
    """Write a value with ten digits."""
    if isinstance(value, np.ndarray):
        return np.array2string(
            value,
            precision=10,
            max_line_width=MAX_LINE_LENGTH - 4,
            threshold=MAX_PRINTED_ENTRIES,
            separator=", ",
            floatmode="maxprec",
        )
    return f"{value:.10g}" if isinstance(value, float) else repr(value)


def validate_count(name: str, value: object, minimum: int, advice: str) -> int:
    """Return a whole number that is at least `minimum`, or raise ProblemError."""
    return check_integer(name, value, minimum, advice=advice, error=ProblemError)


def validate_between(name: str, value: object, low: float, high: float, advice: str) -> float:
    """Return a number strictly between two others, or raise ProblemError."""
    expected = f"lie strictly between {low:.10g} and {high:.10g}"
    return check_number(name, value, expected, lambda x: low < x < high, advice, ProblemError)


def validate_generator(random_state: object) -> np.random.Generator:
    """Return a generator for a seed, return a given generator, or raise ProblemError."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(validate_count("random_state", random_state, 0, "Pass a seed or a numpy Generator."))
