"""Selection of the largest edges; ties by position."""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import Array, Int, Num


def top_k(values: Num[Array, " k"], count: int) -> list[int]:
    """Return the positions of the `count` largest values, descending; equal values keep their order."""
    if count <= 1:
        return [int(np.argmax(values))]
    kth_largest = np.partition(values, -count)[-count] if count < len(values) else values.min()
    candidates = np.flatnonzero(values >= kth_largest)
    return [int(k) for k in candidates[np.argsort(-values[candidates], kind="stable")][:count]]


def top_k_groups(values: Num[Array, " k"], starts: Int[Array, " groups"], count: int) -> list[int]:
    """Return the position of the largest value in each of the `count` leading groups; groups begin at `starts`."""
    stops = np.append(starts[1:], len(values))
    groups = top_k(np.maximum.reduceat(values, starts), count)
    return [int(starts[k] + np.argmax(values[starts[k] : stops[k]])) for k in groups]
