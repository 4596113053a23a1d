"""Readers of JSON values, each for one type; a reader raises ValueError for any other value.

The annotations of a record state the readers of its fields. `Count | None` is a count or null. `NULL_MEANS_DEFAULT`
beside a reader says that null means the default of the field, for example for a number that is not finite.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Annotated, Any, NoReturn, TypeVar, get_args, get_type_hints

from boostopt._utils.files import Keys

T = TypeVar("T")
Reader = Callable[[Any, str], Any]
"""Reader of a value; the second argument is the label of the value in messages."""

VERDICT_NAMES = ("bounded", "checked", "claimed", "none")
"""Verdicts on an answer."""


def reject_non_finite(constant: str) -> NoReturn:
    """Raise ValueError for nan or an infinity, which JSON does not have."""
    raise ValueError(f"it holds {constant}, which is no number of JSON")


def _type_parser(kind: type[T], words: str) -> Callable[[Any, str], T]:
    """Return the reader of values of a JSON type; `words` describe the type in the message."""

    def parse(value: Any, label: str) -> T:
        if not isinstance(value, kind):
            raise ValueError(f"{label} must be {words}")
        return value

    return parse


parse_object: Callable[[Any, str], dict[str, Any]] = _type_parser(dict, "an object with names")
parse_list: Callable[[Any, str], list[Any]] = _type_parser(list, "a list")
parse_text: Callable[[Any, str], str] = _type_parser(str, "a text")
parse_flag: Callable[[Any, str], bool] = _type_parser(bool, "true or false")


def parse_finite(value: Any, label: str) -> float:
    """Return a finite number."""
    if not is_finite(value):
        raise ValueError(f"{label} must be a finite number")
    return float(value)


def parse_count(value: Any, label: str) -> int:
    """Return an integer in [0, 2^63)."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError(f"{label} must be a count")
    return value


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


def parse_count_or_null(value: Any, label: str) -> int | None:
    """Return an integer in [0, 2^63), or None."""
    return None if value is None else parse_count(value, label)


def parse_finite_or_null(value: Any, label: str) -> float | None:
    """Return a finite number, or None."""
    return None if value is None else parse_finite(value, label)


def parse_verdict(value: Any, label: str) -> str:
    """Return one of the verdicts."""
    if value not in VERDICT_NAMES:
        raise ValueError(f"{label} must be one of {', '.join(VERDICT_NAMES)}")
    return value


def parse_texts(value: Any, label: str) -> list[str]:
    """Return a list of strings."""
    return [parse_text(entry, label) for entry in parse_list(value, label)]


def parse_text_mapping(value: Any, label: str) -> dict[str, str]:
    """Return an object whose values are strings."""
    return {name: parse_text(entry, label) for name, entry in parse_object(value, label).items()}


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


def is_finite(value: Any) -> bool:
    """Return whether the value is a finite number that float64 can hold; JSON integers may be too large."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


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


NULL_MEANS_DEFAULT = "or null"
"""Mark in the annotation of a field: null means the default of the field."""

Text = Annotated[str, parse_text]
Texts = Annotated[Sequence[str], parse_texts]
TextsByName = Annotated[Mapping[str, str], parse_text_mapping]
Flag = Annotated[bool, parse_flag]
Count = Annotated[int, parse_count]
Fractions = Annotated[tuple[float, ...], parse_fractions]
Number = Annotated[float, parse_finite]
Seconds = Annotated[float, parse_seconds]
SecondsByPhase = Annotated[Mapping[str, float | None], parse_phase_seconds]
Named = Annotated[Mapping[str, Any], parse_object]
Verdict = Annotated[str, parse_verdict]


@cache
def field_readers(kind: type) -> Mapping[str, tuple[Reader, bool]]:
    """Return, by name, the reader of each field of a record, and whether the field may be null."""
    readers = dict[str, tuple[Reader, bool]]()
    for name, hint in get_type_hints(kind, include_extras=True).items():
        parts = (hint, *get_args(hint))
        for metadata in (part.__metadata__ for part in parts if hasattr(part, "__metadata__")):
            readers[name] = metadata[0], NoneType in parts or NULL_MEANS_DEFAULT in metadata
    return readers


def parse_fields(keys: Keys, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a record from an object; missing keys of attributes with defaults are left out.

    Raises
    ------
    ValueError
        A value has another type, or a key without a default is missing.
    """
    values = dict[str, Any]()
    fields = {field.name: field for field in dataclasses.fields(keys.record)}
    for key, attribute in keys.attributes.items():
        (reader, nullable), field = field_readers(keys.record)[attribute], fields[attribute]
        default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if default and key not in content:
            continue
        value = content.get(key)
        if value is not None or not nullable:
            values[attribute] = reader(value, key)
        elif not default:
            values[attribute] = None
    return values
