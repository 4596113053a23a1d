"""JSON from which nothing good is expected: every value is asked for by its type, and nothing is computed yet."""

from __future__ import annotations

import json
import math
import stat
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn, cast

MAX_NUMBER = 1e100
"""Numbers beyond it, or below its reciprocal where they must be positive, are none of a program."""

MAX_INTEGER_DIGITS = 20
"""Digits of the longest whole number."""

MAX_FLOAT_CHARACTERS = 40
"""Letters of the longest number with a point or an exponent; a float has 24."""

MAX_EXPONENT = 10_000
"""Powers of ten beyond it are no number's, in whichever letters."""


NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
"""All letters but brackets."""

DEEPEST = 100
"""Brackets within brackets; a certificate has ten."""


class DecimalFloat(float):
    """A float with its letters, which may say a number between two of them."""

    __slots__ = ("text",)
    text: str


class Rejected(Exception):
    """A file proves nothing, for a reason in words; what a terminal would obey or not know is no part of them."""

    def __init__(self, reason: str) -> None:
        super().__init__("".join(letter if letter.isprintable() else "?" for letter in reason))


class SizeLimit(Rejected):
    """A number or a text is larger than a file holds, or a number that must be positive is smaller."""


def reject(reason: str) -> NoReturn:
    """Reject the file."""
    raise Rejected(reason)


def parse_json(raw: bytes) -> Any:
    """Return what JSON text says; Rejected for what is none, or hides something."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        return made if len(made) == len(pairs) else reject("a name occurs twice in one object")

    def whole(digits: str) -> int:
        return int(digits) if len(digits) <= MAX_INTEGER_DIGITS else reject(f"a whole number has {len(digits)} digits")

    def fractional(letters: str) -> DecimalFloat:
        if len(letters) > MAX_FLOAT_CHARACTERS or abs(int(letters.lower().partition("e")[2] or "0")) > MAX_EXPONENT:
            reject(f"a number has {len(letters)} letters, or a power of ten beyond {MAX_EXPONENT}")
        made = DecimalFloat(letters)
        made.text = letters
        return made

    def constant(name: str) -> NoReturn:
        reject(f"it holds {name}, which is not a number of JSON")

    # Counted here: how deep json itself goes depends on the version of Python.
    if is_nested_deeper(raw, DEEPEST):
        reject(f"its brackets are nested too deeply: more than {DEEPEST} within each other")
    try:
        return json.loads(
            raw.decode(), object_pairs_hook=once, parse_int=whole, parse_float=fractional, parse_constant=constant
        )
    except (UnicodeDecodeError, ValueError) as failure:
        reject(f"it is not JSON text, or it is truncated: {failure}"[:300])


def is_nested_deeper(raw: bytes, most: int) -> bool:
    """Return whether more brackets of JSON text are open at once than that; those in strings are letters."""
    pieces = raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
    brackets = b"".join(pieces[::2]).translate(None, NO_BRACKETS)
    return any(depth > most for depth in accumulate(1 if bracket in b"[{" else -1 for bracket in brackets))


def parse_number(value: Any, what: str, largest: float = MAX_NUMBER) -> float:
    """Return a finite number."""
    reason = f"{what} must be a number of at most {largest:g}; it is {value!r}"[:200]
    if value in ("inf", "-inf"):
        raise SizeLimit(reason)
    if isinstance(value, bool) or not isinstance(value, int | float):
        reject(reason)
    if not abs(value) <= largest:
        raise SizeLimit(reason)
    return float(value)


def read_bytes(path: Path, most: int) -> bytes:
    """Return a file's content, if it is not too large; what is no file, such as a pipe, is not opened."""
    name = path.name[-100:]
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            reject(f"{name} cannot be read: it is not a file")
        if about.st_size > most:
            reject(f"{name} is larger than {most:,} bytes, the limit")
        with path.open("rb") as file:
            return file.read(about.st_size)
    except (OSError, ValueError) as failure:  # paths with letters that no path has are values
        reject(f"{name} cannot be read: {getattr(failure, 'strerror', None) or failure}"[:300])


def parse_object_with_keys(value: Any, keys: set[str], what: str = "data") -> dict[str, Any]:
    """Return an object that has just these names."""
    made = parse_object(value, what)
    if set(made) != keys:
        odd = ", ".join(sorted(set(made) ^ keys))
        reject(f"{what} must say {', '.join(sorted(keys)) or 'nothing'}; missing or too many: {odd}"[:300])
    return made


def parse_object(value: Any, what: str) -> dict[str, Any]:
    """Return an object with names."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else reject(f"{what} must be an object with names")


def parse_list(value: Any, what: str) -> list[Any]:
    """Return a list."""
    return cast(list[Any], value) if isinstance(value, list) else reject(f"{what} must be a list")


def parse_text(value: Any, what: str) -> str:
    """Return a text that is not too long and can be printed."""
    reason = f"{what} must be a text of at most 1000 printable characters"
    if not isinstance(value, str) or not value.isprintable():
        reject(reason)
    if len(value) > 1000:
        raise SizeLimit(f"{reason}; it has {len(value)}")
    return value


def parse_choice(value: Any, words: set[str], what: str) -> str:
    """Return one of some known words."""
    return value if isinstance(value, str) and value in words else reject(f"{what} must be one of {sorted(words)}")


def parse_count(value: Any, what: str) -> int:
    """Return a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**40:
        reject(f"{what} must be a whole number of at least 1; it is {value!r}"[:200])
    return value


def parse_bound(value: Any, what: str) -> float:
    """Return an end of an interval: a number, or "inf" or "-inf"."""
    if value in ("inf", "-inf") or (isinstance(value, float) and value == math.inf):
        return float(value)
    return parse_number(value, what, 1e308)


def parse_claimed_bound(value: Any, what: str, direction: int) -> float:
    """Return an end that is claimed: where the text lies between two floats, the one that claims more than it.

    Upward for a lower end, direction 1, downward for an upper one, -1: to the nearest, a claim that is false could be
    read as a true one.
    """
    near = parse_bound(value, what)
    if isinstance(value, str):
        return near
    exact, read = Decimal(value.text if isinstance(value, DecimalFloat) else value), Decimal(near)
    short = exact > read if direction > 0 else exact < read
    return math.nextafter(near, direction * math.inf) if short else near
