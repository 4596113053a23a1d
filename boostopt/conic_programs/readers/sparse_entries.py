"""Arrays from entries and their places."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array

Entry = tuple[int, int, float]
"""Row, column and number."""


def sparse_columns(entries: Collection[Entry], shape: tuple[int, int]) -> Any:
    """Return a matrix as compressed sparse columns; entries of one place are summed."""
    rows, columns, numbers = zip(*entries, strict=True) if entries else ((), (), ())
    return scipy.sparse.csc_array((np.array(numbers, dtype=float), (rows, columns)), shape=shape)


def dense_vector(numbers: Mapping[int, float], size: int, default: float = 0.0) -> Array:
    """Return a vector with numbers at their places, and the default elsewhere."""
    vector = np.full(size, default)
    for place, number in numbers.items():
        vector[place] = number
    return vector
