"""Documents with one value changed, for the tests of what reads files that anybody may have edited."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from typing import Any

REMOVED = object()
"""The sign for a value that is missing."""


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the paths of all values in a document."""
    if place:
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*place, key))


def edited(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A document with another value at a place, or without one."""
    changed = copy.deepcopy(document)
    inside = functools.reduce(lambda part, key: part[key], place[:-1], changed)
    if value is REMOVED:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return changed
