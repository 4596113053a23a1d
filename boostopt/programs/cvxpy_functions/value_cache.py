"""The last values of a function that is expensive, by points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from boostopt._utils.array_types import Array, Num

MAX_VALUES = 64
"""Number of values that are stored."""

V = TypeVar("V")


class RecentValues(Generic[V]):
    """Values by points, equal where all numbers are; when there are more than MAX_VALUES, the oldest one goes.

    A copy is empty, also after pickling: the function of a copy may have other numbers.
    """

    def __init__(self) -> None:
        self._values: dict[bytes, V] = {}

    def __reduce__(self) -> tuple[type[RecentValues[V]], tuple[()]]:
        return RecentValues, ()

    def store(self, point: Num[Array, " n"], value: V) -> None:
        """Store a value."""
        self._values[_key(point)] = value
        if len(self._values) > MAX_VALUES:
            self._values.pop(next(iter(self._values)))

    def compute(self, point: Num[Array, " n"], function: Callable[[], V]) -> V:
        """Return the stored value at a point; without one, call the function and store its value."""
        key = _key(point)
        if key not in self._values:
            self.store(point, function())
        return self._values[key]


def _key(point: Num[Array, " n"]) -> bytes:
    """Return the bytes of a point as float64: integers of the same bytes are other numbers."""
    return np.asarray(point, dtype=np.float64).tobytes()
