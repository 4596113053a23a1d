"""Selection of the largest edges; ties by position."""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import Array, Bool, Int, Num


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


def are_largest_of_ranges(values: Num[Array, " k"], starts: Int[Array, " groups"], n_ranges: int) -> Bool[Array, " k"]:
    """Return which values are the largest of their range, if groups of more than `n_ranges` values are divided.

    Ranges are equally long, except for the last one of a group. All values of smaller groups count. Groups begin at
    `starts`.
    """
    are_largest, sizes = np.ones(len(values), bool), np.diff(starts, append=len(values))
    for start, size in zip(starts[sizes > n_ranges].tolist(), sizes[sizes > n_ranges].tolist(), strict=True):
        length, end = -(-size // n_ranges), start + size
        first_of_last = end - size % length
        are_largest[start:end] = False
        peaks = values[start:first_of_last].reshape(-1, length).argmax(axis=1)
        are_largest[np.arange(start, first_of_last, length) + peaks] = True
        if first_of_last < end:
            are_largest[first_of_last + int(values[first_of_last:end].argmax())] = True
    return are_largest
