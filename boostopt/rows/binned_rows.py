"""Rows of encoded examples, which return exact integer sums, in this process or on a cluster."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, Int, Int8
from boostopt.rows.block_sums import (
    counts_by_code,
    example_weights,
    fingerprint,
    histogram,
    margins,
    signed_sums_by_code,
    splitmix64,
)
from boostopt.rows.feature_encoding import BinnedFeatures
from boostopt.rows.gram_matrices import cell_sums, gram
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import MAX_EXAMPLES, MAX_MULTIPLICITY, RowBlock, Split, split_columns

MarginHandle = Sequence[Any]
"""The margins of all rows, integer multiples of 2^-30, stored with the rows.

Local rows have an array for each row block; rows on a cluster have references.
"""

MIN_MANY_THRESHOLDS = 1_000
"""The mean number of thresholds of a feature from which edges are computed for one feature after another."""


def has_exact_sums(c: ExampleVector) -> bool:
    """Return whether multiplicities are whole numbers, few enough that all sums are exact."""
    if (c == 1.0).all():
        return len(c) <= MAX_EXAMPLES
    return bool((c == np.rint(c)).all() and c.max() <= MAX_MULTIPLICITY and c.sum() <= MAX_EXAMPLES)


class BinnedRows(ABC):
    """Encoded examples that return exact integer sums.

    The sums depend neither on the division into row blocks, nor on the order of the rows, nor on their machines.

    Parameters
    ----------
    features, starts
        The features that have thresholds, and the number of the first threshold of each, as in `BinnedFeatures`.
    thresholds
        Number of thresholds of all features.
    constants
        Whether the last feature is the constant one, which always lies above its threshold.

    Attributes
    ----------
    features, starts
        The parameters.
    n_thresholds, has_constant_feature
        The parameters `thresholds` and `constants`.
    n_codes
        Number of codes of each feature that has thresholds.
    """

    features: Any
    starts: Any
    n_thresholds: int
    has_constant_feature: bool

    def __init__(
        self, features: Int[Array, " varying"], starts: Int[Array, " varying"], thresholds: int, constants: bool = False
    ) -> None:
        self.features, self.starts, self.n_thresholds, self.has_constant_feature = (
            features,
            starts,
            thresholds,
            constants,
        )
        ends = np.append(starts[1:], thresholds)
        self.n_codes: dict[int, int] = {
            int(j): int(end - start) + 1 for j, start, end in zip(features, starts, ends, strict=True)
        }

    @staticmethod
    def from_binned(binned: BinnedFeatures, y: Int8[Array, " N"], c: ExampleVector, parts: int = 1) -> LocalRows:
        """Return the rows of binned features, in this process, divided into so many row blocks."""
        ends = [binned.N * k // parts for k in range(parts + 1)]
        all_one = bool((c == 1.0).all())
        blocks = [
            RowBlock(binned.codes[:, i:j], y[i:j], None if all_one else c[i:j].astype(np.int64))
            for i, j in pairwise(ends)
        ]
        return LocalRows(blocks, binned.varying_features, binned.first_threshold, len(binned.thresholds))

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_examples(self) -> int:
        """Number of rows, counted with multiplicity."""

    @abstractmethod
    def weights(self, handle: MarginHandle, grid: MarginGrid, table: Int[Array, " bins"]) -> Int[Array, " N"]:
        """Return c_n q_n for all rows in their order, with q_n = table[bin of margin n]."""

    @abstractmethod
    def with_constant_feature(self, number: int) -> BinnedRows:
        """Return the rows with a further, last feature of that number, which always lies above its only threshold."""

    def limit_waits(self, end_time: float | None) -> AbstractContextManager[None]:
        """Return a context in which data passes wait for workers until a time of the clock `time.perf_counter`."""
        return nullcontext()

    @abstractmethod
    def stride(self, step: int) -> BinnedRows:
        """Return every step-th row; the division into row blocks does not matter."""

    def stride_margins(
        self, sample: BinnedRows, step: int, handle: MarginHandle, splits: Sequence[Split], W: Int[Array, " t"]
    ) -> MarginHandle:
        """Return the margins of every step-th row: those of the hypotheses with weights W on the sample.

        Parameters
        ----------
        sample
            The result of `stride(step)`.
        handle
            The margins of all rows.
        """
        return sample.margins(splits, W)

    @abstractmethod
    def _map(self, kernel: Callable[..., Any], *arguments: Any) -> MarginHandle:
        """Return a handle of the results of a kernel for each row block, which stay with the row blocks."""

    @abstractmethod
    def _map_reduce(self, kernel: Callable[..., Any], handle: MarginHandle, *arguments: Any) -> Any:
        """Return the sum of the results of a kernel for each row block and its entry of a handle."""

    def map_parts(self, kernel: Callable[..., Any], *small: Any) -> MarginHandle:
        """Apply a function to each row block and some small arguments; the results stay with the row blocks."""
        return self._map(kernel, *small)

    def sum_parts(self, kernel: Callable[..., Any], handle: MarginHandle, *small: Any) -> Any:
        """Return the sum of a function over the row blocks, with their entries of a handle and some small arguments."""
        return self._map_reduce(kernel, handle, *small)

    def _index_with_constant(self, number: int) -> tuple[Int[Array, " varying1"], Int[Array, " varying1"], int]:
        """Return features, starts and the number of thresholds, with a further, constant feature."""
        return np.append(self.features, number), np.append(self.starts, self.n_thresholds), self.n_thresholds + 1

    def split(self, i: int, sign: int) -> Split:
        """Return the hypothesis of threshold i."""
        k = int(np.searchsorted(self.starts, i, side="right")) - 1
        return Split(int(self.features[k]), i - int(self.starts[k]), sign)

    def threshold_of(self, split: Split) -> int:
        """Return the number of the threshold of a hypothesis."""
        return int(self.starts[np.searchsorted(self.features, split.feature)]) + split.code

    def digest(self) -> str:
        """Return the SHA-256 of codes, labels and multiplicities of the rows; order and division do not matter."""
        tables = {
            j: splitmix64((np.uint64(j) << np.uint64(32)) + np.arange(1, size + 1, dtype=np.uint64))
            for j, size in self.n_codes.items()
        }
        total = self._map_reduce(fingerprint, self.margins((), np.zeros(0, np.int64)), tables)
        return hashlib.sha256(
            repr((self.n_rows, self.n_examples, sorted(self.n_codes.items()), *total.tolist())).encode()
        ).hexdigest()

    def counts_by_code(self, features: Sequence[int]) -> dict[int, Int[Array, " _"]]:
        """Return the number of rows of each code of some features that have thresholds, counted with multiplicity."""
        sizes = {j: self.n_codes[j] for j in features}
        counts = self._map_reduce(counts_by_code, self.margins((), np.zeros(0, np.int64)), sizes)
        return dict(zip(sizes, counts, strict=True))

    def margins(self, splits: Sequence[Split], W: Int[Array, " t"]) -> MarginHandle:
        """Return the margins of the hypotheses with weights W, whose sum is at most 2^30."""
        support = np.flatnonzero(W)
        if not len(support):
            return self._map(margins, {})
        feature, code, sign = (numbers[support] for numbers in split_columns(splits))
        place, is_voting = np.searchsorted(self.features, feature), np.zeros(len(self.features), bool)
        is_voting[place] = True
        place, features = (np.cumsum(is_voting) - 1)[place], self.features[is_voting].tolist()
        sizes, votes = np.array([self.n_codes[j] for j in features]), sign * W[support]
        ends, sums = np.cumsum(sizes), np.bincount(place, votes, len(features)).astype(np.int64)
        # A vote counts below its cut with the other sign. The tables of all features are one step function, which rises
        # by twice the vote at a cut, and falls to the negative sum of the votes at the first code of a feature.
        starts, sums_before = ends - sizes, np.append(0, sums[:-1])
        points = np.concatenate([starts, starts[place] + code + 1])
        steps = np.concatenate([-sums - sums_before, 2 * votes])
        order = np.argsort(points, kind="stable")
        levels, lengths = np.cumsum(steps[order]).astype(np.int32), np.diff(points[order], append=ends[-1])
        tables, ranges = np.repeat(levels, lengths), pairwise([0, *ends.tolist()])
        return self._map(margins, {j: tables[i:k] for j, (i, k) in zip(features, ranges, strict=True)})

    def histogram(self, handle: MarginHandle, grid: MarginGrid) -> tuple[Int[Array, " bins"], Int[Array, " bins"]]:
        """Return the number of examples in each bin of the margins, and the sum of their margins."""
        return self._map_reduce(histogram, handle, grid)

    def class_edges(
        self, handle: MarginHandle, grid: MarginGrid, table: Int[Array, " bins"]
    ) -> Int[Array, " thresholds"]:
        """Return sum_n y_n c_n q_n h(x_n), q_n = table[bin of margin n], for h(x) = 1 above each threshold."""
        sums_by_feature = self._map_reduce(signed_sums_by_code, handle, grid, table, self.n_codes)
        # Each row has one code of each feature: over the codes of a feature, the sum is that over all rows.
        total, n_features = sums_by_feature[0].sum(), len(sums_by_feature)
        if self.n_thresholds < MIN_MANY_THRESHOLDS * n_features:
            # The place of the feature of each threshold among the features that have thresholds.
            place = np.repeat(np.arange(n_features), np.diff(self.starts, append=self.n_thresholds))
            running_sums = np.cumsum(np.concatenate(sums_by_feature))
            return (2 * place + 1) * total - 2 * running_sums[np.arange(self.n_thresholds) + place]
        # The sums of a feature with many thresholds stay in the cache, and need no temporary arrays.
        edges = np.empty(self.n_thresholds, np.int64)
        for sums, feature_edges in zip(sums_by_feature, np.split(edges, self.starts[1:]), strict=True):
            np.cumsum(sums[:-1], out=feature_edges)
            feature_edges *= -2
            feature_edges += total
        return edges

    def gram(
        self, handle: MarginHandle, grid: MarginGrid, table: Int[Array, " bins"], splits: Sequence[Split]
    ) -> Float[Array, "t1 t1"]:
        """Return V' diag(c r) V, with r_n = table[bin of margin n] and V the values of the splits and the labels."""
        return self._map_reduce(gram, handle, grid, table, splits)

    def cell_sums(
        self, handle: MarginHandle, grid: MarginGrid, table: Int[Array, " bins"], splits: Sequence[Split]
    ) -> tuple[Int[Array, " pairs"], Float[Array, " cells"], Float[Array, " cells"]]:
        """Return the sums from which the matrix of `gram` follows, as the kernel `cell_sums` does."""
        return self._map_reduce(cell_sums, handle, grid, table, splits, self.n_examples)


class LocalRows(BinnedRows):
    """Rows in this process, in memory or in mapped files.

    Parameters
    ----------
    parts
        The row blocks.
    features, starts, thresholds, constants
        As in `BinnedRows`.
    """

    def __init__(
        self,
        parts: Sequence[RowBlock],
        features: Int[Array, " varying"],
        starts: Int[Array, " varying"],
        thresholds: int,
        constants: bool = False,
    ) -> None:
        super().__init__(features, starts, thresholds, constants)
        self.parts: tuple[RowBlock, ...] = tuple(parts)

    @property
    def n_rows(self) -> int:
        return sum(part.n for part in self.parts)

    @property
    def n_examples(self) -> int:
        return sum(part.total for part in self.parts)

    def weights(self, handle: MarginHandle, grid: MarginGrid, table: Int[Array, " bins"]) -> Int[Array, " N"]:
        return np.concatenate(
            [example_weights(part, M, grid, table) for part, M in zip(self.parts, handle, strict=True)]
        )

    def with_constant_feature(self, number: int) -> LocalRows:
        return LocalRows(
            [part.with_constant() for part in self.parts], *self._index_with_constant(number), constants=True
        )

    def stride(self, step: int) -> LocalRows:
        parts = [part.stride(step, first) for part, first in zip(self.parts, self._first_rows(step), strict=True)]
        return LocalRows(parts, self.features, self.starts, self.n_thresholds, self.has_constant_feature)

    def stride_margins(
        self, sample: BinnedRows, step: int, handle: MarginHandle, splits: Sequence[Split], W: Int[Array, " t"]
    ) -> MarginHandle:
        return [M[first::step].copy() for M, first in zip(handle, self._first_rows(step), strict=True)]

    def _first_rows(self, step: int) -> list[int]:
        """Return the first row of each row block that is one of every step-th row."""
        ends = accumulate((part.n for part in self.parts), initial=0)
        return [-end % step for end in ends][:-1]

    def _map(self, kernel: Callable[..., Any], *arguments: Any) -> MarginHandle:
        return [kernel(part, *arguments) for part in self.parts]

    def _map_reduce(self, kernel: Callable[..., Any], handle: MarginHandle, *arguments: Any) -> Any:
        return sum_of(kernel(part, M, *arguments) for part, M in zip(self.parts, handle, strict=True))


def sum_of(arrays: Iterable[Any]) -> Any:
    """Return the sum of arrays, or the componentwise sum of tuples of arrays; only one is in memory at a time."""
    return reduce(_add, arrays)


def _add(a: Any, b: Any) -> Any:
    return tuple(map(_add, a, b)) if isinstance(a, tuple) else a + b
