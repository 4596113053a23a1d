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


def are_largest_of_ranges(
    values: Num[Array, " k"], starts: Int[Array, " groups"], n_ranges: int, by_size: bool = False
) -> Bool[Array, " k"]:
    """Return which values are the largest of their range, if groups of more than `n_ranges` values are divided.

    Ranges are equally long, except for the last one of a group. All values of smaller groups count. Groups begin at
    `starts`. With `by_size`, absolute values are compared.
    """
    are_largest, sizes = np.ones(len(values), bool), np.diff(starts, append=len(values))
    for start, size in zip(starts[sizes > n_ranges].tolist(), sizes[sizes > n_ranges].tolist(), strict=True):
        group, is_largest = values[start : start + size], are_largest[start : start + size]
        group, length = np.abs(group) if by_size else group, -(-size // n_ranges)
        last = size - size % length
        is_largest[:] = False
        is_largest[np.arange(0, last, length) + group[:last].reshape(-1, length).argmax(axis=1)] = True
        if last < size:
            is_largest[last + int(group[last:].argmax())] = True
    return are_largest
