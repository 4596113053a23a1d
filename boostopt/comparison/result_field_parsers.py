"""Readers of the JSON values that results have, each for one kind: see `_utils/json_values`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from boostopt._utils.json_values import is_finite, parse_finite, parse_list, parse_object, parse_texts

VERDICT_NAMES = ("bounded", "checked", "claimed", "none")
"""Verdicts on an answer."""


def parse_seconds(value: Any, label: str) -> float:
    """Return a finite number of at least 0."""
    if parse_finite(value, label) < 0:
        raise ValueError(f"{label} must not be negative")
    return float(value)


def parse_fraction(value: Any, label: str) -> float:
    """Return a number in (0, 1)."""
    if not 0 < parse_finite(value, label) < 1:
        raise ValueError(f"{label} must lie in (0, 1)")
    return float(value)


def parse_verdict(value: Any, label: str) -> str:
    """Return one of the verdicts."""
    if value not in VERDICT_NAMES:
        raise ValueError(f"{label} must be one of {', '.join(VERDICT_NAMES)}")
    return value


def parse_skipped_pairs(value: Any, label: str) -> tuple[tuple[str, str], ...]:
    """Return the omitted items, each with the reason."""
    pairs = [parse_texts(pair, "an omitted item") for pair in parse_list(value, label)]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("omitted items must be pairs of the item and the reason")
    return tuple((item, reason) for item, reason in pairs)


def parse_fractions(value: Any, label: str) -> tuple[float, ...]:
    """Return numbers in (0, 1)."""
    return tuple(parse_fraction(entry, label) for entry in parse_list(value, label))


def parse_phase_seconds(value: Any, label: str) -> dict[str, float | None]:
    """Return an object of seconds, some of which may be null."""
    return {
        phase: None if entry is None else parse_seconds(entry, phase)
        for phase, entry in parse_object(value, label).items()
    }


def parse_residuals(value: Any, label: str) -> dict[str, float]:
    """Return an object of numbers of at least 0; null stands for inf."""
    return {
        name: math.inf if entry is None else parse_seconds(entry, name)
        for name, entry in parse_object(value, label).items()
    }


def parse_required_finite(value: Any, label: str) -> float:
    """Return a finite number from which scores and intervals are computed."""
    if not is_finite(value):
        raise ValueError(f"its {label} is neither a finite number nor null")
    return float(value)


def parse_solve_seconds(value: Any, label: str) -> float:
    """Return the seconds of a solve, at least 0."""
    if parse_required_finite(value, label) < 0:
        raise ValueError(f"its {label} are negative")
    return float(value)


def parse_gap(value: Any, label: str) -> float:
    """Return a gap from which scores are computed, at least 0."""
    return parse_seconds(parse_required_finite(value, label), label)


Fractions = Annotated[tuple[float, ...], parse_fractions]
Seconds = Annotated[float, parse_seconds]
SecondsByPhase = Annotated[Mapping[str, float | None], parse_phase_seconds]
Verdict = Annotated[str, parse_verdict]
