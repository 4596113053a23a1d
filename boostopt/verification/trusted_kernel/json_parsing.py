"""Parsers of untrusted JSON: each value is checked for type and size before anything is computed."""

from __future__ import annotations

import json
import math
import stat
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn, cast

MAX_NUMBER = 1e100
"""The largest absolute value of a number; the reciprocal is the smallest positive number."""

MAX_INTEGER_DIGITS = 20
"""The largest number of digits of an integer."""

MAX_FLOAT_CHARACTERS = 40
"""The largest number of characters of a number with a point or an exponent; a float64 has 24."""

MAX_EXPONENT = 10_000
"""The largest absolute value of a decimal exponent."""


NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
"""All bytes except brackets."""

DEEPEST = 100
"""The largest depth of nested brackets; a certificate has ten."""


class DecimalFloat(float):
    """A float with its decimal text, which may lie between two floats."""

    __slots__ = ("text",)
    text: str


class Rejected(Exception):
    """A file proves nothing, with the reason in words; characters that are not printable become question marks."""

    def __init__(self, reason: str) -> None:
        super().__init__("".join(character if character.isprintable() else "?" for character in reason))


class SizeLimit(Rejected):
    """A number or a text exceeds the limits of a file, or a positive number is too small."""


def reject(reason: str) -> NoReturn:
    """Raise `Rejected` for a file."""
    raise Rejected(reason)


def parse_json(raw: bytes) -> Any:
    """Return the value of JSON text; raise Rejected for invalid text or repeated names."""

    def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        return result if len(result) == len(pairs) else reject("a name occurs twice in one object")

    def parse_integer_text(digits: str) -> int:
        return int(digits) if len(digits) <= MAX_INTEGER_DIGITS else reject(f"a whole number has {len(digits)} digits")

    def parse_float_text(text: str) -> DecimalFloat:
        if len(text) > MAX_FLOAT_CHARACTERS or abs(int(text.lower().partition("e")[2] or "0")) > MAX_EXPONENT:
            reject(f"a number has {len(text)} letters, or a power of ten beyond {MAX_EXPONENT}")
        result = DecimalFloat(text)
        result.text = text
        return result

    def reject_constant(name: str) -> NoReturn:
        reject(f"it holds {name}, which is not a number of JSON")

    # The depth is checked here, because the limit of json depends on the version of Python.
    if is_nested_deeper(raw, DEEPEST):
        reject(f"its brackets are nested too deeply: more than {DEEPEST} within each other")
    try:
        return json.loads(
            raw.decode(),
            object_pairs_hook=build_object,
            parse_int=parse_integer_text,
            parse_float=parse_float_text,
            parse_constant=reject_constant,
        )
    except (UnicodeDecodeError, ValueError) as failure:
        reject(f"it is not JSON text, or it is truncated: {failure}"[:300])


def is_nested_deeper(raw: bytes, max_depth: int) -> bool:
    """Return whether brackets of JSON text outside strings are nested more than `max_depth` deep."""
    pieces = raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
    brackets = b"".join(pieces[::2]).translate(None, NO_BRACKETS)
    return any(depth > max_depth for depth in accumulate(1 if bracket in b"[{" else -1 for bracket in brackets))


def parse_number(value: Any, name: str, largest: float = MAX_NUMBER) -> float:
    """Return a finite number."""
    reason = f"{name} must be a number of at most {largest:g}; it is {value!r}"[:200]
    if value in ("inf", "-inf"):
        raise SizeLimit(reason)
    if isinstance(value, bool) or not isinstance(value, int | float):
        reject(reason)
    if not abs(value) <= largest:
        raise SizeLimit(reason)
    return float(value)


def is_same_json(value: Any, expected: Any) -> bool:
    """Return whether two values of JSON are equal, with true and false in the same places.

    Python takes true for 1 and false for 0.
    """
    if isinstance(value, dict) and isinstance(expected, dict):
        item, expected_item = cast(dict[str, Any], value), cast(dict[str, Any], expected)
        return item.keys() == expected_item.keys() and all(is_same_json(item[k], expected_item[k]) for k in item)
    if isinstance(value, list) and isinstance(expected, list):
        entries, expected_entries = cast(list[Any], value), cast(list[Any], expected)
        return len(entries) == len(expected_entries) and all(map(is_same_json, entries, expected_entries))
    return isinstance(value, bool) == isinstance(expected, bool) and value == expected


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file of at most `max_bytes`; others, such as pipes, are not opened."""
    file_name = path.name[-100:]
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            reject(f"{file_name} cannot be read: it is not a file")
        if status.st_size > max_bytes:
            reject(f"{file_name} is larger than {max_bytes:,} bytes, the limit")
        with path.open("rb") as file:
            return file.read(status.st_size)
    except (OSError, ValueError) as failure:  # a path with invalid characters is a ValueError
        reject(f"{file_name} cannot be read: {getattr(failure, 'strerror', None) or failure}"[:300])


def parse_object_with_keys(value: Any, keys: set[str], name: str = "data") -> dict[str, Any]:
    """Return an object that has exactly the names `keys`."""
    result = parse_object(value, name)
    if set(result) != keys:
        differing_names = ", ".join(sorted(set(result) ^ keys))
        reject(f"{name} must say {', '.join(sorted(keys)) or 'nothing'}; missing or too many: {differing_names}"[:300])
    return result


def parse_object(value: Any, name: str) -> dict[str, Any]:
    """Return an object with names."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else reject(f"{name} must be an object with names")


def parse_list(value: Any, name: str) -> list[Any]:
    """Return a list."""
    return cast(list[Any], value) if isinstance(value, list) else reject(f"{name} must be a list")


def parse_text(value: Any, name: str) -> str:
    """Return a text that is not too long and can be printed."""
    reason = f"{name} must be a text of at most 1000 printable characters"
    if not isinstance(value, str) or not value.isprintable():
        reject(reason)
    if len(value) > 1000:
        raise SizeLimit(f"{reason}; it has {len(value)}")
    return value


def parse_choice(value: Any, words: set[str], name: str) -> str:
    """Return a text that is one of `words`."""
    return value if isinstance(value, str) and value in words else reject(f"{name} must be one of {sorted(words)}")


def parse_count(value: Any, name: str) -> int:
    """Return an integer from 1 to 2^40."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**40:
        reject(f"{name} must be a whole number of at least 1; it is {value!r}"[:200])
    return value


def parse_index(value: Any, stop: int, name: str, start: int = 0) -> int:
    """Return a whole number from `start` to below `stop`."""
    if isinstance(value, bool) or not isinstance(value, int) or not start <= value < stop:
        reject(f"{name} must have whole numbers from {start} to below {stop}; got {value!r}"[:200])
    return value


def parse_hexadecimal(text: Any, name: str, max_digits: int) -> int:
    """Return a whole number that is written with hexadecimal digits, and a minus where it is negative."""
    digits = text.removeprefix("-") if isinstance(text, str) else ""
    if not digits or len(digits) > max_digits or set(digits) - set("0123456789abcdef"):
        reject(f"{name} must have whole numbers of 1 to {max_digits:,} hexadecimal digits")
    return int(str(text), 16)


def parse_bound(value: Any, name: str) -> float:
    """Return a bound of an interval: a number, "inf" or "-inf"."""
    if value in ("inf", "-inf") or (isinstance(value, float) and value == math.inf):
        return float(value)
    return parse_number(value, name, 1e308)


def parse_claimed_bound(value: Any, name: str, direction: int) -> float:
    """Return a claimed bound; if its text lies between two floats, return the float that claims more.

    A lower bound (direction 1) is rounded up and an upper bound (direction -1) down. With rounding to the nearest, a
    false claim could be read as a true one.
    """
    nearest = parse_bound(value, name)
    if isinstance(value, str):
        return nearest
    claimed, nearest_decimal = Decimal(value.text if isinstance(value, DecimalFloat) else value), Decimal(nearest)
    is_weaker = claimed > nearest_decimal if direction > 0 else claimed < nearest_decimal
    return math.nextafter(nearest, direction * math.inf) if is_weaker else nearest
