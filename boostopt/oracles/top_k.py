"""Selection of the largest edges; ties by position."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

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


def places_of_copies(values: Num[Array, " k"], starts: Int[Array, " groups"]) -> Iterator[slice]:
    """Yield the places of each group whose values are those of an earlier group, in the same order."""
    contents = set[bytes]()
    for start, stop in pairwise([*starts.tolist(), len(values)]):
        content = values[start:stop].tobytes()
        if content in contents:
            yield slice(start, stop)
        contents.add(content)


def are_extremes_of_ranges(
    values: Num[Array, " k"], starts: Int[Array, " groups"], n_ranges: int, has_minima: bool
) -> Bool[Array, " k"]:
    """Return which values are the largest of their range, or the smallest, if groups are divided into many ranges.

    Ranges of a group are equally long, except for the last one. All values of groups of at most `n_ranges` count.

    Parameters
    ----------
    values, starts
        The values, and the position at which each group begins.
    n_ranges
        The largest number of ranges of a group.
    has_minima
        Whether the smallest value of each range counts, too.
    """
    are_extremes, sizes = np.ones(len(values), bool), np.diff(starts, append=len(values))
    for start, size in zip(starts[sizes > n_ranges].tolist(), sizes[sizes > n_ranges].tolist(), strict=True):
        group, is_extreme, length = (
            values[start : start + size],
            are_extremes[start : start + size],
            -(-size // n_ranges),
        )
        last = size - size % length
        is_extreme[:] = False
        for find in (np.argmax, np.argmin) if has_minima else (np.argmax,):
            is_extreme[np.arange(0, last, length) + find(group[:last].reshape(-1, length), axis=1)] = True
            if last < size:
                is_extreme[last + int(find(group[last:]))] = True
    return are_extremes
