"""Rows: coded examples of which sums of whole numbers are asked, wherever they are."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, Int, Int8
from boostopt.rows.block_kernels import (
    example_weights,
    fingerprint,
    histogram,
    margins,
    signed_sums_by_code,
    splitmix64,
)
from boostopt.rows.encoding import BinnedFeatures
from boostopt.rows.gram import gram
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import MAX_EXAMPLES, MAX_MULTIPLICITY, RowBlock, Split

MarginHandle = Sequence[Any]
"""Margins, whole numbers of 2^-30, beside the rows: in this process an array for each part, elsewhere what stands for
it."""


def has_exact_sums(c: Float[Array, " N"]) -> bool:
    """Return whether multiplicities are whole numbers, few enough that all sums are exact."""
    each = bool((c == 1.0).all()) or (bool((c == np.rint(c)).all()) and c.max() <= MAX_MULTIPLICITY)
    return bool(each and c.sum() <= MAX_EXAMPLES)


class BinnedRows(ABC):
    """Examples of which sums of whole numbers are asked.

    How they are cut into parts, in what order they stand and where they are changes no answer.

    Parameters
    ----------
    features, starts
        The features that have thresholds, and at which one each of them begins, as in `BinnedFeatures`.
    n_thresholds
        The number of thresholds of all of them.
    has_constant_feature
        Whether the last feature is the one that lies above its threshold throughout.
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
    def from_binned(coded: BinnedFeatures, y: Int8[Array, " N"], c: Float[Array, " N"], parts: int = 1) -> LocalRows:
        """Return the rows of a table of codes, in this process, cut into so many parts."""
        ends = [coded.N * k // parts for k in range(parts + 1)]
        alone = bool((c == 1.0).all())
        each = [
            RowBlock(coded.codes[:, i:j], y[i:j], None if alone else c[i:j].astype(np.int64)) for i, j in pairwise(ends)
        ]
        return LocalRows(each, coded.varying_features, coded.first_threshold, len(coded.thresholds))

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_examples(self) -> int:
        """Number of rows with multiplicity."""

    @abstractmethod
    def weights(self, kept: MarginHandle, window: MarginGrid, table: Int[Array, " buckets"]) -> Int[Array, " N"]:
        """Return c_n q_n of all rows, q_n = table[bucket of margin n], in their order."""

    @abstractmethod
    def with_constant_feature(self, number: int) -> BinnedRows:
        """Return the rows with a feature of that number, behind the others, above its only threshold throughout."""

    @abstractmethod
    def stride(self, step: int) -> BinnedRows:
        """Return every step-th row, however the rows are cut into parts."""

    @abstractmethod
    def _map(self, kernel: Callable[..., Any], *arguments: Any) -> MarginHandle:
        """Leave what a kernel says of each part beside it."""

    @abstractmethod
    def _map_reduce(self, kernel: Callable[..., Any], kept: MarginHandle, *arguments: Any) -> Any:
        """Return the sum of what a kernel says of each part and of what was left beside it."""

    def map_parts(self, kernel: Callable[..., Any], *small: Any) -> MarginHandle:
        """Leave what a function of a part, and of something small, returns of each part beside it."""
        return self._map(kernel, *small)

    def sum_parts(self, kernel: Callable[..., Any], kept: MarginHandle, *small: Any) -> Any:
        """Return the sum of what a function of a part, of what was left beside it, and of something small returns."""
        return self._map_reduce(kernel, kept, *small)

    def _index_with_constant(self, number: int) -> tuple[Int[Array, " varying1"], Int[Array, " varying1"], int]:
        """Return features, starts and thresholds with one more."""
        return np.append(self.features, number), np.append(self.starts, self.n_thresholds), self.n_thresholds + 1

    def split(self, i: int, sign: int) -> Split:
        """Return the hypothesis of threshold i."""
        k = int(np.searchsorted(self.starts, i, side="right")) - 1
        return Split(int(self.features[k]), i - int(self.starts[k]), sign)

    def threshold_of(self, split: Split) -> int:
        """Return the number of the threshold of a hypothesis."""
        return int(self.starts[np.searchsorted(self.features, split.feature)]) + split.code

    def digest(self) -> str:
        """Return SHA-256 of what the class distinguishes of the rows: their codes, labels and multiplicities."""
        tables = {
            j: splitmix64((np.uint64(j) << np.uint64(32)) + np.arange(1, size + 1, dtype=np.uint64))
            for j, size in self.n_codes.items()
        }
        total = self._map_reduce(fingerprint, self.margins((), np.zeros(0, np.int64)), tables)
        return hashlib.sha256(
            repr((self.n_rows, self.n_examples, sorted(self.n_codes.items()), *total.tolist())).encode()
        ).hexdigest()

    def margins(self, splits: Sequence[Split], W: Int[Array, " t"]) -> MarginHandle:
        """Return the margins of the hypotheses with weights W, whose sum is at most 2^30."""
        tables: dict[int, Int[Array, " _"]] = {}
        for split, weight in zip(splits, W.tolist(), strict=True):
            if weight == 0:
                continue
            table = tables.setdefault(split.feature, np.zeros(self.n_codes[split.feature], np.int64))
            table[: split.code + 1] -= split.sign * weight
            table[split.code + 1 :] += split.sign * weight
        small = {j: table.astype(np.int32) for j, table in tables.items()}
        return self._map(margins, small)

    def histogram(
        self, kept: MarginHandle, window: MarginGrid
    ) -> tuple[Int[Array, " buckets"], Int[Array, " buckets"]]:
        """Return for each bucket how many examples have such margins, and the sum of these margins."""
        return self._map_reduce(histogram, kept, window)

    def class_edges(
        self, kept: MarginHandle, window: MarginGrid, table: Int[Array, " buckets"]
    ) -> Int[Array, " thresholds"]:
        """Return sum_n y_n c_n q_n h(x_n), q_n = table[bucket of margin n], of h(x) = 1 above each threshold."""
        edges = np.empty(self.n_thresholds, np.int64)
        of_codes = self._map_reduce(signed_sums_by_code, kept, window, table, self.n_codes)
        for start, of in zip(self.starts.tolist(), of_codes, strict=True):
            edges[start : start + len(of) - 1] = of.sum() - 2 * np.cumsum(of)[:-1]
        return edges

    def gram(
        self, kept: MarginHandle, window: MarginGrid, table: Int[Array, " buckets"], splits: Sequence[Split]
    ) -> Float[Array, "t1 t1"]:
        """Return V' diag(c r) V, r_n = table[bucket of margin n], V being the values of the splits and the labels."""
        return self._map_reduce(gram, kept, window, table, splits)


class LocalRows(BinnedRows):
    """Rows in this process, in memory or in files that are mapped.

    Parameters
    ----------
    parts
        The examples.
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

    def weights(self, kept: MarginHandle, window: MarginGrid, table: Int[Array, " buckets"]) -> Int[Array, " N"]:
        return np.concatenate(
            [example_weights(part, M, window, table) for part, M in zip(self.parts, kept, strict=True)]
        )

    def with_constant_feature(self, number: int) -> LocalRows:
        return LocalRows(
            [part.with_constant() for part in self.parts], *self._index_with_constant(number), constants=True
        )

    def stride(self, step: int) -> LocalRows:
        parts, first = list[RowBlock](), 0
        for part in self.parts:
            parts.append(part.stride(step, -first % step))
            first += part.n
        return LocalRows(parts, self.features, self.starts, self.n_thresholds, self.has_constant_feature)

    def _map(self, kernel: Callable[..., Any], *arguments: Any) -> MarginHandle:
        return [kernel(part, *arguments) for part in self.parts]

    def _map_reduce(self, kernel: Callable[..., Any], kept: MarginHandle, *arguments: Any) -> Any:
        return sum_of(kernel(part, M, *arguments) for part, M in zip(self.parts, kept, strict=True))


def sum_of(found: Iterable[Any]) -> Any:
    """Return the sum of arrays, or of tuples of arrays one by one; they are not held together."""
    return reduce(_plus, found)


def _plus(one: Any, other: Any) -> Any:
    return tuple(map(_plus, one, other)) if isinstance(one, tuple) else one + other
