"""Values of JSON: texts of documents, and readers of values, each for one type.

JSON has no nan and no infinities: `plain` writes null for them. A reader raises ValueError for a value of another type.
The annotations of a record state the readers of its fields. `Count | None` is a count or null. `NULL_MEANS_DEFAULT`
beside a reader says that null means the default of the field, for example for a number that is not finite.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Annotated, Any, NoReturn, TypeVar, get_args, get_type_hints

import numpy as np

from boostopt._utils.files import Keys
from boostopt.errors import short_repr

T = TypeVar("T")
Reader = Callable[[Any, str], Any]
"""Reader of a value; the second argument is the label of the value in messages."""

NULL_MEANS_DEFAULT = "or null"
"""Mark in the annotation of a field: null means the default of the field."""


def to_json_text(document: Mapping[str, Any]) -> str:
    """Return a document as JSON text; numbers that are not finite become null."""
    return json.dumps(plain(document), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """Convert a value to JSON types at every depth: nan and infinities become None, other objects their text."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def reject_non_finite(constant: str) -> NoReturn:
    """Raise ValueError for nan or an infinity, which JSON does not have."""
    raise ValueError(f"it holds {constant}, which is no number of JSON")


def unexpected(label: str, expected: str, value: Any) -> ValueError:
    """Return the error for a value of a file that is not as expected."""
    return ValueError(f"{label} must be {expected}; got {short_repr(value)}")


def _type_parser(kind: type[T], words: str) -> Callable[[Any, str], T]:
    """Return the reader of values of a JSON type; `words` describe the type in the message."""

    def parse(value: Any, label: str) -> T:
        if not isinstance(value, kind):
            raise unexpected(label, words, value)
        return value

    return parse


parse_object: Callable[[Any, str], dict[str, Any]] = _type_parser(dict, "an object with names")
parse_list: Callable[[Any, str], list[Any]] = _type_parser(list, "a list")
parse_flag: Callable[[Any, str], bool] = _type_parser(bool, "true or false")


def is_finite(value: Any) -> bool:
    """Return whether the value is a finite number that float64 can hold; JSON integers may be too large."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def parse_finite(value: Any, label: str) -> float:
    """Return a finite number."""
    if not is_finite(value):
        raise unexpected(label, "a finite number", value)
    return float(value)


def parse_bound(value: Any, label: str) -> float:
    """Return a number that is finite or an infinity, and not nan."""
    if not is_finite(value) and not (isinstance(value, float) and abs(value) == math.inf):
        raise unexpected(label, "a number", value)
    return float(value)


def parse_sign(value: Any, label: str) -> int:
    """Return 1 or -1."""
    if type(value) is not int or value not in (-1, 1):
        raise unexpected(label, "-1 or 1", value)
    return value


def parse_text(value: Any, label: str) -> str:
    """Return a text that can be printed: without halves of characters, which JSON can state."""
    try:
        if isinstance(value, str):
            value.encode()
            return value
    except UnicodeEncodeError:
        pass
    raise unexpected(label, "a text", value)


def parse_count(value: Any, label: str) -> int:
    """Return an integer in [0, 2^63)."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise unexpected(label, "a count", value)
    return value


def parse_integer(value: Any, label: str) -> int:
    """Return an integer, also one of NumPy."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise unexpected(label, "a whole number", value)
    return int(value)


def parse_real(value: Any, label: str) -> float:
    """Return a number, also one of NumPy, and that of the texts "inf" and "-inf"; it may be nan."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number and value not in ("inf", "-inf"):
        raise unexpected(label, "a number", value)
    return float(value)


def read_integer(state: Mapping[str, Any], name: str) -> int:
    """Return an integer of the state of an object."""
    return parse_integer(state[name], name)


def read_number(state: Mapping[str, Any], name: str) -> float:
    """Return a number of the state of an object."""
    return parse_real(state[name], name)


def read_text(state: Mapping[str, Any], name: str) -> str:
    """Return a text of the state of an object."""
    return parse_text(state[name], name)


def read_entries(state: Mapping[str, Any], name: str, parse: Callable[[Any, str], T]) -> list[T]:
    """Return the entries of a list, or of an array in a row, of the state of an object."""
    value = state[name]
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    return [parse(entry, name) for entry in parse_list(value, name)]


def parse_count_or_null(value: Any, label: str) -> int | None:
    """Return an integer in [0, 2^63), or None."""
    return None if value is None else parse_count(value, label)


def parse_finite_or_null(value: Any, label: str) -> float | None:
    """Return a finite number, or None."""
    return None if value is None else parse_finite(value, label)


def parse_texts(value: Any, label: str) -> list[str]:
    """Return a list of strings."""
    return [parse_text(entry, label) for entry in parse_list(value, label)]


def parse_text_mapping(value: Any, label: str) -> dict[str, str]:
    """Return an object whose values are strings."""
    return {name: parse_text(entry, label) for name, entry in parse_object(value, label).items()}


def parse_array(dtype: Any, dimensions: int) -> Reader:
    """Return the reader of arrays of a type, with finite numbers and a number of dimensions."""
    expected = f"{'a table' if dimensions == 2 else 'an array'} of finite numbers, {np.dtype(dtype).name}"

    def parse(value: Any, label: str) -> Any:
        if not (isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == dimensions):
            raise ValueError(f"{label} must be {expected}; got {describe_array(value)}")
        if not np.isfinite(value).all():
            raise ValueError(f"{label} must be {expected}; got {value[~np.isfinite(value)][0]}")
        return value

    return parse


def describe_array(value: Any) -> str:
    """Return the type and the shape of an array, or another value, for a message."""
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else short_repr(value)


def parse_or_null(reader: Reader) -> Reader:
    """Return the reader of values that may be null."""
    return lambda value, label: None if value is None else reader(value, label)


def parse_entries(reader: Reader) -> Reader:
    """Return the reader of lists whose entries one reader reads."""
    return lambda value, label: [reader(entry, label) for entry in parse_list(value, label)]


def parse_keys(readers: Mapping[str, Reader], optional: Collection[str] = ()) -> Reader:
    """Return the reader of objects with given keys, each with its reader, and no others; optional keys may be absent.

    In messages, the label of the object precedes the key: `state.round`.
    """

    def parse(value: Any, label: str) -> Any:
        content = parse_object(value, label)
        if missing := [key for key in readers if key not in content and key not in optional]:
            raise ValueError(f"{label} must have {', '.join(missing)}; got none")
        if unknown := sorted(content.keys() - readers.keys()):
            raise ValueError(f"{label} must have no {short_repr(', '.join(unknown))}, which this version does not know")
        prefix = "" if label == DESCRIPTION else f"{label}."
        for key, entry in content.items():
            readers[key](entry, prefix + key)
        return content

    return parse


DESCRIPTION = "the description"
"""Label of the object with all others."""

Text = Annotated[str, parse_text]
Texts = Annotated[Sequence[str], parse_texts]
TextsByName = Annotated[Mapping[str, str], parse_text_mapping]
Flag = Annotated[bool, parse_flag]
Count = Annotated[int, parse_count]
Number = Annotated[float, parse_finite]
Named = Annotated[Mapping[str, Any], parse_object]


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
