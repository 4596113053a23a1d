"""Thresholds of features: all of them, or thresholds at the quantiles of a sample.

One pass over the rows collects the values of features of few values and encodes their entries: the code of an entry is
the number of values below, and so that of the thresholds between neighbouring values.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from boostopt._utils.array_types import Array, Float, UInt
from boostopt.rows.encoding_grid import FeatureEncoder
from boostopt.rows.feature_encoding import BLOCK_ROWS

PROBE_FACTOR = 4
"""Number of unknown entries, over the largest number of values, that are searched for new values at a time."""

MAX_COMPARED_VALUES = 8
"""Largest number of values that are compared with all entries, one after another; a search is faster for more."""


class FewValues:
    """A feature of few values, which are collected while its rows are encoded.

    Parameters
    ----------
    max_values
        The largest number of values.

    Attributes
    ----------
    values
        The values so far, ascending.
    """

    values: Float[Array, " values"]

    def __init__(self, max_values: int) -> None:
        self.values, self._max_values = np.empty(0), max_values
        self._encoder: FeatureEncoder | None = None
        self._old_values: list[tuple[int, Float[Array, " _"]]] = []  # ends of ranges of rows, and values of their codes

    def encode(self, x: Float[Array, " rows"], codes: UInt[Array, " N"], begin: int) -> bool:
        """Write the codes of the rows from `begin` on, and return whether values are few, and finite.

        Codes of earlier rows refer to the earlier values, until `update_codes` changes them.
        """
        old_values, part = self.values, codes[begin : begin + len(x)]
        while not self._are_encoded(x, part):
            unknown = x[np.take(self.values, part, mode="clip") != x] if len(self.values) else x
            new_values = np.unique(unknown[: PROBE_FACTOR * self._max_values]) + 0.0  # -0.0 is the same number
            if len(self.values) + len(new_values) > self._max_values or not np.isfinite(new_values).all():
                return False
            self.values = np.sort(np.concatenate([self.values, new_values]), kind="stable")  # merges sorted numbers
            has_many = len(self.values) > MAX_COMPARED_VALUES
            self._encoder = FeatureEncoder(self.values, codes.dtype, len(x)) if has_many else None
        if len(old_values) < len(self.values):
            self._old_values.append((begin, old_values))
            if sum(old.nbytes for _, old in self._old_values) > begin * codes.itemsize:
                self.update_codes(codes)
        return True

    def _are_encoded(self, x: Float[Array, " rows"], codes: UInt[Array, " rows"]) -> bool:
        """Write the codes of entries, and return whether all of them are among the values."""
        if self._encoder is not None:
            with np.errstate(invalid="ignore"):  # whatever the code of NaN, and of an entry above all values
                self._encoder.encode(x, codes)
            return bool(np.equal(np.take(self.values, codes, mode="clip"), x).all())
        n_known = 0
        codes[:] = 0
        for k, value in enumerate(self.values.tolist()):
            is_equal = np.equal(x, value)
            n_known += int(np.count_nonzero(is_equal))
            if k:
                codes += k * is_equal.view(np.uint8)
        return n_known == len(x)

    def update_codes(self, codes: UInt[Array, " N"]) -> None:
        """Make the codes of all rows so far refer to the present values."""
        begin = 0
        for end, old_values in self._old_values:
            table = np.searchsorted(self.values, old_values).astype(codes.dtype)
            for i in range(begin, end, BLOCK_ROWS):
                part = codes[i : min(i + BLOCK_ROWS, end)]
                part[:] = np.take(table, part, mode="clip")
            begin = end
        self._old_values.clear()


def encode_few_values(
    probe: Float[Array, "_ features"],
    blocks: Iterable[Float[Array, "_ features"]],
    max_values: int,
    codes: UInt[Array, "features N"],
) -> dict[int, Float[Array, " _"]]:
    """Write the codes of the features of few values, all finite, and return these values, ascending, by feature.

    Codes of other features are undefined. Blocks are read until no feature has few values.

    Parameters
    ----------
    probe
        Some of the rows: their values are expected in all blocks.
    blocks
        The rows, in blocks.
    max_values
        The largest number of values: at most 256 for codes of one byte.
    """
    probe_codes = np.empty(len(probe), codes.dtype)
    features = {j: FewValues(max_values) for j in range(len(codes))}
    features = {j: feature for j, feature in features.items() if feature.encode(_column(probe, j), probe_codes, 0)}
    begin = 0
    for block in blocks:
        features = {j: feature for j, feature in features.items() if feature.encode(_column(block, j), codes[j], begin)}
        if not features:
            break
        begin += len(block)
    for j, feature in features.items():
        feature.update_codes(codes[j])
    return {j: feature.values for j, feature in features.items()}


def encode_all_values(
    X: Float[Array, "N features"], max_thresholds: int
) -> tuple[UInt[Array, "features N"], list[Float[Array, " _"]]] | None:
    """Return the codes of features with all thresholds, and these by feature; None if a feature has too many.

    Parameters
    ----------
    X
        Features, finite.
    max_thresholds
        The largest number of thresholds of a feature, below 2^16.
    """
    codes, cuts = np.empty(X.shape[::-1], np.uint16), list[Float[Array, " _"]]()
    code_by_rank = np.zeros(len(X), codes.dtype)
    for j, row_codes in enumerate(codes):
        x = _column(X, j)
        order = np.argsort(x)  # equal values have one code, so their order does not matter
        values = x[order]
        is_new = np.not_equal(values[1:], values[:-1])
        last = np.flatnonzero(is_new)
        if len(last) > max_thresholds:
            return None
        np.cumsum(is_new, out=code_by_rank[1:])
        row_codes[order] = code_by_rank
        cuts.append(midpoints(values[last], values[last + 1]))
    return codes.astype(np.uint8) if max(map(len, cuts)) < 256 else codes, cuts


def _column(block: Float[Array, "rows features"], j: int) -> Float[Array, " rows"]:
    return np.ascontiguousarray(block[:, j])


def midpoints(lower: Float[Array, " thresholds"], upper: Float[Array, " thresholds"]) -> Float[Array, " thresholds"]:
    """Return thresholds halfway between values, lower < upper: lower <= threshold < upper, for any rounding."""
    # Halve before adding, because the sum may overflow. Between neighbours that are one ulp apart, the midpoint
    # rounds to one of them; the lower one still separates them.
    return np.minimum(0.5 * lower + 0.5 * upper, np.nextafter(upper, -np.inf))


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
