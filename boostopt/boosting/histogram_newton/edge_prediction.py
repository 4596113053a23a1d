"""The edges after a Newton step, as far as the edges before it tell them, and the thresholds that a step needs.

Take features as independent given the curvature, and thresholds as quantiles. Then the covariance of two stumps of a
feature is linear in the number of thresholds between them, and so is the change of the edges between two thresholds
of the pool. A step brings the edges of the pool to a common level. So it removes what interpolation between these
thresholds predicts, and the difference stays. Left and right of all thresholds, the stumps are constant with opposite
signs: the thresholds form a circle, on which the sign of the edge changes once.
"""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import Array, Float, Int

MAX_SWEEPS = 8
"""The largest number of sweeps over the thresholds. In each one, every range between thresholds is divided at most
once."""


def useful_thresholds(
    edges: Float[Array, " thresholds"],
    starts: Int[Array, " varying"],
    pool: Int[Array, " k"],
    changes: Float[Array, " k"],
    level: float,
    tolerance: float,
    count: int,
    symmetric: bool,
) -> tuple[Int[Array, " new"], Int[Array, " new"]]:
    """Return thresholds, and signs of their edges, with which a step leaves no large edge, as predicted.

    Parameters
    ----------
    edges
        The edge of h(x) = 1 above each threshold.
    starts
        The number of the first threshold of each feature.
    pool, changes
        The thresholds of the pool, ascending and all different, and the decrease of their edges by the step.
    level
        The edge that hypotheses of the pool have after the step.
    tolerance
        The distance from the level at which an edge is large.
    count
        The largest number of thresholds. Those with the largest predicted edges come first.
    symmetric
        Whether the class is closed under negation.
    """
    new, signs = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for _ in range(MAX_SWEEPS):
        residual = edges - _interpolated_changes(len(edges), starts, pool, changes)
        sizes = np.abs(residual) if symmetric else residual
        range_starts = np.union1d(starts, pool)
        largest = np.maximum.reduceat(sizes, range_starts)
        ranges = np.flatnonzero(largest > level + tolerance)
        ranges = ranges[np.argsort(-largest[ranges], kind="stable")[: count - len(new)]]
        if not len(ranges):
            break
        range_of_threshold = np.repeat(np.arange(len(largest)), np.diff(range_starts, append=len(edges)))
        maxima = np.flatnonzero(sizes == largest[range_of_threshold])
        is_first = np.diff(range_of_threshold[maxima], prepend=-1) > 0
        peaks = maxima[is_first][ranges]
        peaks = peaks[~np.isin(peaks, pool)]
        if not len(peaks):
            break
        peak_signs = np.where(residual[peaks] < 0.0, -1, 1) if symmetric else np.ones(len(peaks), np.int64)
        new, signs = np.append(new, peaks), np.append(signs, peak_signs)
        pool, changes = np.append(pool, peaks), np.append(changes, edges[peaks] - level * peak_signs)
        order = np.argsort(pool)
        pool, changes = pool[order], changes[order]
    return new, signs


def _interpolated_changes(
    n_thresholds: int, starts: Int[Array, " varying"], pool: Int[Array, " k"], changes: Float[Array, " k"]
) -> Float[Array, " thresholds"]:
    """Return the decrease of all edges, from that of the pool; 0 for features without thresholds in the pool."""
    n_features, counts = len(starts), np.diff(starts, append=n_thresholds)
    # Each feature has two places more, one at each end.
    place = np.arange(n_thresholds) + 1 + 2 * np.repeat(np.arange(n_features), counts)
    first_places = starts + 2 * np.arange(n_features)
    first, stop = np.searchsorted(pool, starts), np.searchsorted(pool, starts + counts)
    first_changes, has_pool = np.zeros(n_features), np.flatnonzero(stop > first)
    if len(has_pool):
        low, high = first[has_pool], stop[has_pool] - 1
        start = place[pool[high]] - counts[has_pool] - 1
        share = (first_places[has_pool] - start) / (place[pool[low]] - start)
        first_changes[has_pool] = share * (changes[low] + changes[high]) - changes[high]
    x = np.concatenate([place[pool], first_places, first_places + counts + 1])
    order = np.argsort(x)
    return np.interp(place, x[order], np.concatenate([changes, first_changes, -first_changes])[order])
