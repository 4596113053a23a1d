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
    is_pool, is_start = np.zeros(len(edges), bool), np.zeros(len(edges), bool)
    is_pool[pool] = is_start[pool] = is_start[starts] = True
    change_of_threshold = np.zeros(len(edges))
    change_of_threshold[pool] = changes
    for _ in range(MAX_SWEEPS):
        residual = edges - _interpolated_changes(starts, np.flatnonzero(is_pool), change_of_threshold)
        sizes = np.abs(residual) if symmetric else residual
        range_starts = np.flatnonzero(is_start)
        largest = np.maximum.reduceat(sizes, range_starts)
        ranges = np.flatnonzero(largest > level + tolerance)
        ranges = ranges[np.argsort(-largest[ranges], kind="stable")[: count - len(new)]]
        if not len(ranges):
            break
        range_of_threshold = np.cumsum(is_start) - 1
        maxima = np.flatnonzero(sizes == largest[range_of_threshold])
        first_maximum = np.searchsorted(range_of_threshold[maxima], ranges)
        peaks = maxima[first_maximum]
        peaks = peaks[~is_pool[peaks]]
        if not len(peaks):
            break
        peak_signs = np.where(residual[peaks] < 0.0, -1, 1) if symmetric else np.ones(len(peaks), np.int64)
        new, signs = np.append(new, peaks), np.append(signs, peak_signs)
        is_pool[peaks] = is_start[peaks] = True
        change_of_threshold[peaks] = edges[peaks] - level * peak_signs
    return new, signs


def _interpolated_changes(
    starts: Int[Array, " varying"], pool: Int[Array, " k"], changes: Float[Array, " thresholds"]
) -> Float[Array, " thresholds"]:
    """Return the decrease of all edges, from that of the pool; 0 for features without thresholds in the pool."""
    n_features, counts = len(starts), np.append(starts[1:], len(changes)) - starts
    # Each feature has two places more, one at each end.
    feature = np.repeat(np.arange(n_features), counts)
    place, first_places = np.arange(len(changes)) + 1 + 2 * feature, starts + 2 * np.arange(n_features)
    last_places = first_places + counts + 1
    first, stop = np.searchsorted(pool, starts), np.searchsorted(pool, starts + counts)
    first_changes, has_pool = np.zeros(n_features), np.flatnonzero(stop > first)
    if len(has_pool):
        low, high = pool[first[has_pool]], pool[stop[has_pool] - 1]
        start = place[high] - counts[has_pool] - 1
        share = (first_places[has_pool] - start) / (place[low] - start)
        first_changes[has_pool] = share * (changes[low] + changes[high]) - changes[high]
    place_changes = np.zeros(len(changes) + 2 * n_features)
    place_changes[first_places], place_changes[last_places] = first_changes, -first_changes
    place_changes[place[pool]] = changes[pool]
    is_known = np.zeros(len(place_changes), bool)
    is_known[first_places] = is_known[last_places] = is_known[place[pool]] = True
    knots = np.flatnonzero(is_known)
    return np.interp(place, knots, place_changes[knots])
