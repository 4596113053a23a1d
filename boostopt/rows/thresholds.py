"""Thresholds of features: all of them, or thresholds at the quantiles of a sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float


def midpoints(lower: Float[Array, " thresholds"], upper: Float[Array, " thresholds"]) -> Float[Array, " thresholds"]:
    """Return thresholds halfway between values, lower < upper: lower <= threshold < upper, for any rounding."""
    # Halve before adding, because the sum may overflow. Between neighbours that are one ulp apart, the midpoint
    # rounds to one of them; the lower one still separates them.
    return np.minimum(0.5 * lower + 0.5 * upper, np.nextafter(upper, -np.inf))


def distinct_values(
    blocks: Iterable[Float[Array, "_ features"]], features: Sequence[int], max_values: int
) -> dict[int, Float[Array, " _"]]:
    """Return the distinct values of the features with at most `max_values` of them, ascending, by feature.

    Parameters
    ----------
    blocks
        The rows, in blocks.
    features
        The features to examine: a feature is dropped as soon as it has more values.
    max_values
        The largest number of values.
    """
    values_by_feature: dict[int, Float[Array, " _"]] = {j: np.empty(0) for j in features}
    for block in blocks:
        for j in list(values_by_feature):
            values = np.unique(np.concatenate([values_by_feature[j], block[:, j] + 0.0]))  # -0.0 is the same number
            if len(values) > max_values:
                del values_by_feature[j]
            else:
                values_by_feature[j] = values
    return values_by_feature


def all_thresholds(values: Float[Array, " values"]) -> Float[Array, " thresholds"]:
    """Return the thresholds between neighbouring values, which ascend."""
    return midpoints(values[:-1], values[1:])


def quantile_thresholds(x: Float[Array, " n"], c: Float[Array, " n"], bins: int) -> Float[Array, " thresholds"]:
    """Return at most bins - 1 thresholds that divide values x of multiplicities c into parts of about equal weight.

    Threshold k lies halfway between two neighbouring values: the first one whose cumulative weight reaches k / bins
    of the total, and the next one. A value of large weight has a part of its own. k copies of an example are
    equivalent to an example of multiplicity k.
    """
    values, place = np.unique(x + 0.0, return_inverse=True)
    weight = np.cumsum(np.bincount(place.ravel(), c))
    shares = np.arange(1, bins) * (weight[-1] / bins)
    last = np.unique(np.searchsorted(weight, shares, side="left"))
    last = last[last < len(values) - 1]
    return midpoints(values[last], values[last + 1])
