"""Readers of values in a file, each for one type; they raise ValueError for anything else.

The annotations of a record say how its fields are read. `Count | None` is a count or null. `OR_NULL` beside a reader
says that null in a file means the default, for example for a number that is not finite.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Annotated, Any, NoReturn, TypeVar, get_args, get_type_hints

from boostopt._utils.files import Keys

T = TypeVar("T")
Reader = Callable[[Any, str], Any]

VERDICTS = ("bounded", "checked", "claimed", "none")
"""The verdicts on an answer."""


def not_finite(constant: str) -> NoReturn:
    """Refuse nan and the infinities, which are not JSON."""
    raise ValueError(f"it holds {constant}, which is no number of JSON")


def _instance(kind: type[T], words: str) -> Callable[[Any, str], T]:
    """Return the reader of values of a JSON type."""

    def read(value: Any, what: str) -> T:
        if not isinstance(value, kind):
            raise ValueError(f"{what} must be {words}")
        return value

    return read


mapping: Callable[[Any, str], dict[str, Any]] = _instance(dict, "an object with names")
listed: Callable[[Any, str], list[Any]] = _instance(list, "a list")
text: Callable[[Any, str], str] = _instance(str, "a text")
flag: Callable[[Any, str], bool] = _instance(bool, "true or false")


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


def verdict(value: Any, what: str) -> str:
    """Return one of the verdicts."""
    if value not in VERDICTS:
        raise ValueError(f"{what} must be one of {', '.join(VERDICTS)}")
    return value


def texts(value: Any, what: str) -> list[str]:
    """Return a list of strings."""
    return [text(entry, what) for entry in listed(value, what)]


def texts_by_name(value: Any, what: str) -> dict[str, str]:
    """Return an object whose values are strings."""
    return {name: text(entry, what) for name, entry in mapping(value, what).items()}


def pairs(value: Any, what: str) -> tuple[tuple[str, str], ...]:
    """Return the omitted programs, each with the reason."""
    each = [texts(pair, "what was left out") for pair in listed(value, what)]
    if any(len(pair) != 2 for pair in each):
        raise ValueError("what was left out must stand in pairs with the reason")
    return tuple((left_out, why) for left_out, why in each)


def fractions(value: Any, what: str) -> tuple[float, ...]:
    """Return numbers between 0 and 1."""
    return tuple(fraction(entry, what) for entry in listed(value, what))


def seconds_by_phase(value: Any, what: str) -> dict[str, float | None]:
    """Return an object of seconds, some of which may be null."""
    return {phase: None if entry is None else seconds(entry, phase) for phase, entry in mapping(value, what).items()}


def is_finite(value: Any) -> bool:
    """Return whether the value is a finite number that float64 can hold; JSON integers may be too large."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def figure(value: Any, what: str) -> float:
    """Return a finite number that scores and intervals are computed from."""
    if not is_finite(value):
        raise ValueError(f"its {what} is neither a finite number nor null")
    return float(value)


def spent(value: Any, what: str) -> float:
    """Return the seconds of a solve."""
    if figure(value, what) < 0:
        raise ValueError(f"its {what} are negative")
    return float(value)


def scaled(value: Any, what: str) -> float:
    """Return a gap that scores are computed from."""
    return seconds(figure(value, what), what)


OR_NULL = "or null"
"""In the annotation of a field: null means the default of the field."""

Text = Annotated[str, text]
Texts = Annotated[Sequence[str], texts]
TextsByName = Annotated[Mapping[str, str], texts_by_name]
Flag = Annotated[bool, flag]
Count = Annotated[int, count]
Fractions = Annotated[tuple[float, ...], fractions]
Number = Annotated[float, finite]
Seconds = Annotated[float, seconds]
SecondsByPhase = Annotated[Mapping[str, float | None], seconds_by_phase]
Named = Annotated[Mapping[str, Any], mapping]
Verdict = Annotated[str, verdict]


@cache
def readers(kind: type) -> Mapping[str, tuple[Reader, bool]]:
    """Return, by name, how each field of a record is read and whether it may be null."""
    reading = dict[str, tuple[Reader, bool]]()
    for name, hint in get_type_hints(kind, include_extras=True).items():
        parts = (hint, *get_args(hint))
        for metadata in (part.__metadata__ for part in parts if hasattr(part, "__metadata__")):
            reading[name] = metadata[0], NoneType in parts or OR_NULL in metadata
    return reading


def values(keys: Keys, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a record from an object; missing keys of attributes with defaults are left out."""
    read = dict[str, Any]()
    fields = {field.name: field for field in dataclasses.fields(keys.record)}
    for key, attribute in keys.attributes.items():
        (reader, nullable), field = readers(keys.record)[attribute], fields[attribute]
        default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if default and key not in content:
            continue
        value = content.get(key)
        if value is not None or not nullable:
            read[attribute] = reader(value, key)
        elif not default:
            read[attribute] = None
    return read
