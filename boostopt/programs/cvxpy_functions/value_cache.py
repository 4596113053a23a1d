"""The last values of a function that is expensive, by keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

MAX_VALUES = 64
"""Number of values that are stored."""

V = TypeVar("V")


class RecentValues(Generic[V]):
    """Values by keys; when there are more than MAX_VALUES, the oldest one goes.

    A copy is empty, also after pickling: the function of a copy may have other numbers.
    """

    def __init__(self) -> None:
        self._values: dict[bytes, V] = {}

    def __reduce__(self) -> tuple[type[RecentValues[V]], tuple[()]]:
        return RecentValues, ()

    def store(self, key: bytes, value: V) -> None:
        """Store a value."""
        self._values[key] = value
        if len(self._values) > MAX_VALUES:
            self._values.pop(next(iter(self._values)))

    def compute(self, key: bytes, function: Callable[[], V]) -> V:
        """Return the stored value of a key; without one, call the function and store its value."""
        if key not in self._values:
            self.store(key, function())
        return self._values[key]
