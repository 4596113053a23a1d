"""Thresholds of features: all of them, or thresholds at the quantiles of a sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.rows.encoding_grid import FeatureEncoder

PROBE_FACTOR = 4
"""Number of rows, over the largest number of values, that often show alone that a feature has more values."""


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
    encoders = dict[int, FeatureEncoder]()
    for block in blocks:
        for j in list(values_by_feature):
            x = block[:, j] + 0.0  # -0.0 is the same number
            if j in encoders and _are_known(x, encoders[j]):
                continue
            first = x[: PROBE_FACTOR * max_values]
            if len(x) > len(first) and len(np.unique(first)) > max_values:
                del values_by_feature[j]
                continue
            values = np.unique(np.concatenate([values_by_feature[j], x]))
            if len(values) > max_values:
                del values_by_feature[j]
            else:
                values_by_feature[j] = values
                encoders[j] = FeatureEncoder(values, np.dtype(np.uint32), len(x))
    return values_by_feature


def _are_known(x: Float[Array, " rows"], encoder: FeatureEncoder) -> bool:
    """Return whether all numbers are among the values of the encoder."""
    codes = np.empty(len(x), np.uint32)
    encoder.encode(x, codes)
    return bool(np.equal(np.take(encoder.thresholds, codes, mode="clip"), x).all())


def all_thresholds(values: Float[Array, " values"]) -> Float[Array, " thresholds"]:
    """Return the thresholds between neighbouring values, which ascend."""
    return midpoints(values[:-1], values[1:])


def quantile_thresholds(x: Float[Array, " n"], c: Float[Array, " n"], bins: int) -> Float[Array, " thresholds"]:
    """Return at most bins - 1 thresholds that divide values x of multiplicities c into parts of about equal weight.

    Threshold k lies halfway between two neighbouring values: the first one whose cumulative weight reaches k / bins
    of the total, and the next one. A value of large weight has a part of its own. k copies of an example are
    equivalent to an example of multiplicity k.
    """
    if (c == 1.0).all():
        return _quantile_thresholds_of_ones(x + 0.0, bins)
    values, place = np.unique(x + 0.0, return_inverse=True)
    weight = np.cumsum(np.bincount(place.ravel(), c))
    shares = np.arange(1, bins) * (weight[-1] / bins)
    last = np.unique(np.searchsorted(weight, shares, side="left"))
    last = last[last < len(values) - 1]
    return midpoints(values[last], values[last + 1])


def _quantile_thresholds_of_ones(x: Float[Array, " n"], bins: int) -> Float[Array, " thresholds"]:
    """Return the thresholds at the quantiles of values of multiplicity 1: the cumulative weight is a rank."""
    values = np.sort(x)
    shares = np.arange(1, bins) * (float(len(values)) / bins)
    lower = np.unique(values[np.ceil(shares).astype(np.intp) - 1])
    place = np.searchsorted(values, lower, side="right")
    is_inner = place < len(values)
    return midpoints(lower[is_inner], values[place[is_inner]])
