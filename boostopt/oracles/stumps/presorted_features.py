"""Features sorted once, so that one cumulative sum gives the edges of all thresholds of all features.

The values of a feature divide the examples into blocks of equal value. The base is the largest block (the lowest
one among equals). In a sparse matrix, the base is the block of zeros that are not stored, of any size. Only the
examples outside the base are stored. Each block except the base has one threshold. The threshold separates the
block, and all blocks beyond it as seen from the base, from the rest. These examples are contiguous among the stored
ones. So a sum over them is a difference of two cumulative sums, and the base is never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.rows.thresholds import midpoints

SORT_CHUNK = 500_000
"""Number of entries that are sorted at a time: sorting takes about 60 bytes an entry of additional memory."""


@dataclass(frozen=True, eq=False)
class PresortedFeatures:
    """The thresholds of all features, feature by feature and ascending.

    Attributes
    ----------
    N
        Number of examples.
    examples
        Examples outside the base of their feature, by feature and value.
    first, last
        examples[first[i] : last[i]] are the examples that threshold i separates from the base.
    below
        Whether these examples lie below the threshold.
    thresholds
        The numbers halfway between two neighbouring values.
    varying_features
        Features that are not constant, ascending.
    first_threshold
        The position of the first threshold of each of these features.
    """

    N: int
    examples: Int[Array, " entries"]
    first: Int[Array, " thresholds"]
    last: Int[Array, " thresholds"]
    is_below: Bool[Array, " thresholds"]
    thresholds: Float[Array, " thresholds"]
    varying_features: Int[Array, " varying"]
    first_threshold: Int[Array, " varying"]

    def threshold_edges(self, s: Int[Array, " N"]) -> Int[Array, " thresholds"]:
        """Return sum_n s_n h(x_n), exactly, for h(x) = 1 above the threshold and -1 below; s is int64.

        The cumulative sum may overflow, but its differences are still exact: int64 arithmetic is modulo 2^64, so that
        only the edges themselves must fit.
        """
        cumulative = np.empty(len(self.examples) + 1, dtype=np.int64)
        cumulative[0] = 0
        np.cumsum(s[self.examples], out=cumulative[1:])
        edges = cumulative[self.last]
        edges -= cumulative[self.first]
        # With S the sum over all examples and T over the separated ones, the edge is S - 2T if these lie below,
        # and 2T - S if they lie above.
        edges *= -2
        edges += s.sum()
        np.negative(edges, out=edges, where=~self.is_below)
        return edges

    def is_above(self, i: int) -> Bool[Array, " N"]:
        """Return which examples lie above threshold i."""
        is_above = np.full(self.N, self.is_below[i])
        is_above[self.examples[self.first[i] : self.last[i]]] ^= True
        return is_above


@dataclass(frozen=True, eq=False)
class _SortedEntries:
    """Stored entries of some features, sorted by feature and value."""

    features: Int[Array, " entries"]
    values: Float[Array, " entries"]
    rows: Int[Array, " entries"]


def presort(X: Any) -> PresortedFeatures:
    """Sort the features X, shape (N, features): a float64 array, or a float64 CSR array without explicit zeros."""
    chunks = _sparse_chunks(X) if scipy.sparse.issparse(X) else _dense_chunks(X)
    parts = [_thresholds_of(entries, X.shape[0]) for entries in chunks if len(entries.rows)]
    entries = np.cumsum([0, *(len(part.examples) for part in parts)])
    thresholds = np.cumsum([0, *(len(part.thresholds) for part in parts)])
    index = np.int32 if entries[-1] <= np.iinfo(np.int32).max else np.int64

    def concatenate(arrays: list[Any], dtype: type[np.generic]) -> Any:
        return np.concatenate([np.empty(0, dtype=dtype), *(array.astype(dtype, copy=False) for array in arrays)])

    return PresortedFeatures(
        N=X.shape[0],
        examples=concatenate([part.examples for part in parts], np.int32),
        first=concatenate([part.first + offset for part, offset in zip(parts, entries, strict=False)], index),
        last=concatenate([part.last + offset for part, offset in zip(parts, entries, strict=False)], index),
        is_below=concatenate([part.is_below for part in parts], np.bool_),
        thresholds=concatenate([part.thresholds for part in parts], np.float64),
        varying_features=concatenate([part.varying_features for part in parts], np.int64),
        first_threshold=concatenate(
            [part.first_threshold + offset for part, offset in zip(parts, thresholds, strict=False)], np.int64
        ),
    )


def _dense_chunks(X: Float[Array, "N features"]) -> Iterator[_SortedEntries]:
    """Yield the entries of an array, some features at a time."""
    N, count = X.shape
    step = max(1, SORT_CHUNK // N)
    for start in range(0, count, step):
        block = np.ascontiguousarray(X[:, start : start + step].T)
        order = np.argsort(block, axis=1, kind="stable")
        yield _SortedEntries(
            np.repeat(np.arange(start, start + len(block)), N),
            np.take_along_axis(block, order, axis=1).ravel(),
            order.ravel().astype(np.int32),
        )


def _sparse_chunks(X: Any) -> Iterator[_SortedEntries]:
    """Yield the entries of a sparse matrix, some features at a time."""
    columns = X.tocsc()
    start = 0
    while start < X.shape[1]:
        limit = int(columns.indptr[start]) + SORT_CHUNK
        stop = max(start + 1, int(np.searchsorted(columns.indptr, limit, side="right")) - 1)
        features = np.repeat(np.arange(start, stop), np.diff(columns.indptr[start : stop + 1]))
        entries = slice(columns.indptr[start], columns.indptr[stop])
        order = np.lexsort((columns.data[entries], features))
        yield _SortedEntries(features, columns.data[entries][order], columns.indices[entries][order].astype(np.int32))
        start = stop


def _thresholds_of(entries: _SortedEntries, N: int) -> PresortedFeatures:
    """Return the thresholds of sorted features with at least one entry."""
    begins = _group_starts(entries.features) | _group_starts(entries.values)
    blocks = np.flatnonzero(begins)
    sizes = np.diff(blocks, append=len(begins))
    feature, value = entries.features[blocks], entries.values[blocks]

    new = _group_starts(feature)
    feature_index = np.cumsum(new) - 1
    first_blocks = np.flatnonzero(new)
    largest = np.flatnonzero(sizes == np.maximum.reduceat(sizes, first_blocks)[feature_index])
    _, lowest = np.unique(feature_index[largest], return_index=True)
    # The base of each feature is 0 if entries are not stored, otherwise the value of its largest block.
    base = np.where(np.add.reduceat(sizes, first_blocks) < N, 0.0, value[largest[lowest]])[feature_index]
    is_below, outside_base = value < base, value != base

    # The neighbour on the side of the base; the base itself if its entries are not stored and it lies in between.
    next_value = np.append(value[1:], np.inf)
    next_value[np.append(new[1:], True)] = np.inf
    previous_value = np.append(-np.inf, value[:-1])
    previous_value[new] = -np.inf
    neighbour = np.where(is_below, np.minimum(next_value, base), np.maximum(previous_value, base))[outside_base]

    last = np.cumsum(sizes[outside_base])
    first = last - sizes[outside_base]
    starts = np.flatnonzero(_group_starts(feature_index[outside_base]))
    group_index = np.cumsum(_group_starts(feature_index[outside_base])) - 1
    end_of_feature = np.append(first[starts[1:]], last[-1:])
    is_below, value = is_below[outside_base], value[outside_base]
    return PresortedFeatures(
        N=N,
        examples=entries.rows[np.repeat(outside_base, sizes)],
        first=np.where(is_below, first[starts][group_index], first),
        last=np.where(is_below, last, end_of_feature[group_index]),
        is_below=is_below,
        thresholds=midpoints(np.minimum(value, neighbour), np.maximum(value, neighbour)),
        varying_features=feature[outside_base][starts],
        first_threshold=starts,
    )


def _group_starts(keys: Any) -> Bool[Array, " n"]:
    """Return the positions at which a new key begins."""
    begins = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=begins[1:])
    return begins
