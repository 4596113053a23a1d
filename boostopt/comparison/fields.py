"""Values out of a file, each asked for by its type: ValueError for anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

from boostopt.comparison.ledger import is_finite

WORDS = ("outcome", "solver_status", "error", "printed", "answered_by", "form")
NUMBERS = ("lower", "upper", "gap", "scaled_gap", "relative_gap", "excess", "kkt_worst", "seconds")
COUNTS = ("iterations", "attempts")
FLAGS = ("infeasible", "isolated")
VERDICTS = ("bounded", "checked", "claimed", "none")
"""Fields of a record by their types; any of them may be null."""


def not_finite(constant: str) -> NoReturn:
    """Refuse nan and the infinities, which JSON does not have."""
    raise ValueError(f"it holds {constant}, which is no number of JSON")


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return an object with names."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object with names")
    return cast(dict[str, Any], value)


def listed(value: Any, what: str) -> Sequence[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise ValueError(f"{what} must be a list")
    return cast(list[Any], value)


def text(value: Any, what: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise ValueError(f"{what} must be a text")
    return value


def flag(value: Any, what: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{what} must be true or false")
    return value


def finite(value: Any, what: str) -> float:
    """Return a finite number."""
    if not is_finite(value):
        raise ValueError(f"{what} must be a finite number")
    return float(value)


def count(value: Any, what: str) -> int:
    """Return a whole number of at least 0."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError(f"{what} must be a count")
    return value


def seconds(value: Any, what: str) -> float:
    """Return a finite number that is not negative."""
    if finite(value, what) < 0:
        raise ValueError(f"{what} must not be negative")
    return float(value)


def fraction(value: Any, what: str) -> float:
    """Return a number between 0 and 1."""
    if not 0 < finite(value, what) < 1:
        raise ValueError(f"{what} must lie in (0, 1)")
    return float(value)


def _verdict(value: Any, what: str) -> None:
    if value not in VERDICTS:
        raise ValueError(f"{what} must be one of {', '.join(VERDICTS)}")


def texts(value: Any, what: str) -> list[str]:
    """Return a list of texts."""
    return [text(entry, what) for entry in listed(value, what)]


def _all_seconds(value: Any, what: str) -> None:
    for phase, entry in mapping(value, what).items():
        if entry is not None:
            seconds(entry, phase)


_Check = Callable[[Any, str], object]

_TYPES: Mapping[str, _Check] = {
    **dict.fromkeys(WORDS, text),
    **dict.fromkeys(NUMBERS, finite),
    **dict.fromkeys(COUNTS, count),
    **dict.fromkeys(FLAGS, flag),
    "gap": seconds,
    "scaled_gap": seconds,
    "seconds": seconds,
    "verdict": _verdict,
    "path": texts,
    "options": mapping,
}
_OF_ATTEMPTS: Mapping[str, _Check] = {
    "form": text,
    "status": text,
    "error": text,
    "claims": flag,
    "iterations": count,
    "seconds": _all_seconds,
    "options": mapping,
    "statistics": mapping,
}


def check_record(record: Mapping[str, Any]) -> None:
    """Raise ValueError unless the fields of a record are such as `Row.record` leaves."""
    for name, value in record.items():
        check = _TYPES.get(name) or (seconds if name.startswith("seconds") else None)
        if value is not None and check is not None:
            check(value, name)


def check_attempt(attempt: Mapping[str, Any]) -> None:
    """Raise ValueError unless the fields of an attempt are such as `Row.log` leaves."""
    for name, check in _OF_ATTEMPTS.items():
        if attempt.get(name) is not None:
            check(attempt[name], name)
