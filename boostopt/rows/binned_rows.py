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
from boostopt.rows.block_kernels import counts, fingerprint, mixed, scores, sums, weights
from boostopt.rows.encoding import Coded
from boostopt.rows.gram import gram
from boostopt.rows.margin_grid import Window
from boostopt.rows.row_block import MOST_COPIES, MOST_EXAMPLES, Part, Split

Kept = Sequence[Any]
"""Margins, whole numbers of 2^-30, beside the rows: in this process an array for each part, elsewhere what stands for
it."""


def countable(c: Float[Array, " N"]) -> bool:
    """Return whether multiplicities are whole numbers, few enough that all sums are exact."""
    each = bool((c == 1.0).all()) or (bool((c == np.rint(c)).all()) and c.max() <= MOST_COPIES)
    return bool(each and c.sum() <= MOST_EXAMPLES)


class Rows(ABC):
    """Examples of which sums of whole numbers are asked.

    How they are cut into parts, in what order they stand and where they are changes no answer.

    Parameters
    ----------
    features, starts
        The features that have thresholds, and at which one each of them begins, as in `Coded`.
    thresholds
        The number of thresholds of all of them.
    constants
        Whether the last feature is the one that lies above its threshold throughout.
    """

    features: Any
    starts: Any
    thresholds: int
    constants: bool

    def __init__(
        self, features: Int[Array, " varying"], starts: Int[Array, " varying"], thresholds: int, constants: bool = False
    ) -> None:
        self.features, self.starts, self.thresholds, self.constants = features, starts, thresholds, constants
        ends = np.append(starts[1:], thresholds)
        self.sizes: dict[int, int] = {
            int(j): int(end - start) + 1 for j, start, end in zip(features, starts, ends, strict=True)
        }

    @staticmethod
    def of(coded: Coded, y: Int8[Array, " N"], c: Float[Array, " N"], parts: int = 1) -> RowsHere:
        """Return the rows of a table of codes, in this process, cut into so many parts."""
        ends = [coded.N * k // parts for k in range(parts + 1)]
        alone = bool((c == 1.0).all())
        each = [
            Part(coded.codes[:, i:j], y[i:j], None if alone else c[i:j].astype(np.int64)) for i, j in pairwise(ends)
        ]
        return RowsHere(each, coded.features, coded.starts, len(coded.thresholds))

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def total(self) -> int:
        """Number of rows with multiplicity."""

    @abstractmethod
    def weights(self, kept: Kept, window: Window, table: Int[Array, " buckets"]) -> Int[Array, " N"]:
        """Return c_n q_n of all rows, q_n = table[bucket of margin n], in their order."""

    @abstractmethod
    def with_constants(self, number: int) -> Rows:
        """Return the rows with a feature of that number, behind the others, above its only threshold throughout."""

    @abstractmethod
    def every(self, step: int) -> Rows:
        """Return every step-th row, however the rows are cut into parts."""

    @abstractmethod
    def _kept(self, kernel: Callable[..., Any], *small: Any) -> Kept:
        """Leave what a kernel says of each part beside it."""

    @abstractmethod
    def _added(self, kernel: Callable[..., Any], kept: Kept, *small: Any) -> Any:
        """Return the sum of what a kernel says of each part and of what was left beside it."""

    def map_parts(self, kernel: Callable[..., Any], *small: Any) -> Kept:
        """Leave what a function of a part, and of something small, returns of each part beside it."""
        return self._kept(kernel, *small)

    def sum_parts(self, kernel: Callable[..., Any], kept: Kept, *small: Any) -> Any:
        """Return the sum of what a function of a part, of what was left beside it, and of something small returns."""
        return self._added(kernel, kept, *small)

    def _and_constants(self, number: int) -> tuple[Int[Array, " varying1"], Int[Array, " varying1"], int]:
        """Return features, starts and thresholds with one more."""
        return np.append(self.features, number), np.append(self.starts, self.thresholds), self.thresholds + 1

    def split(self, i: int, sign: int) -> Split:
        """Return the hypothesis of threshold i."""
        k = int(np.searchsorted(self.starts, i, side="right")) - 1
        return Split(int(self.features[k]), i - int(self.starts[k]), sign)

    def place(self, split: Split) -> int:
        """Return the number of the threshold of a hypothesis."""
        return int(self.starts[np.searchsorted(self.features, split.feature)]) + split.code

    def digest(self) -> str:
        """Return SHA-256 of what the class distinguishes of the rows: their codes, labels and multiplicities."""
        tables = {
            j: mixed((np.uint64(j) << np.uint64(32)) + np.arange(1, size + 1, dtype=np.uint64))
            for j, size in self.sizes.items()
        }
        total = self._added(fingerprint, self.scores((), np.zeros(0, np.int64)), tables)
        return hashlib.sha256(
            repr((self.n, self.total, sorted(self.sizes.items()), *total.tolist())).encode()
        ).hexdigest()

    def scores(self, splits: Sequence[Split], W: Int[Array, " t"]) -> Kept:
        """Return the margins of the hypotheses with weights W, whose sum is at most 2^30."""
        tables: dict[int, Int[Array, " _"]] = {}
        for split, weight in zip(splits, W.tolist(), strict=True):
            if weight == 0:
                continue
            table = tables.setdefault(split.feature, np.zeros(self.sizes[split.feature], np.int64))
            table[: split.code + 1] -= split.sign * weight
            table[split.code + 1 :] += split.sign * weight
        small = {j: table.astype(np.int32) for j, table in tables.items()}
        return self._kept(scores, small)

    def counts(self, kept: Kept, window: Window) -> tuple[Int[Array, " buckets"], Int[Array, " buckets"]]:
        """Return for each bucket how many examples have such margins, and the sum of these margins."""
        return self._added(counts, kept, window)

    def edges(self, kept: Kept, window: Window, table: Int[Array, " buckets"]) -> Int[Array, " thresholds"]:
        """Return sum_n y_n c_n q_n h(x_n), q_n = table[bucket of margin n], of h(x) = 1 above each threshold."""
        edges = np.empty(self.thresholds, np.int64)
        of_codes = self._added(sums, kept, window, table, self.sizes)
        for start, of in zip(self.starts.tolist(), of_codes, strict=True):
            edges[start : start + len(of) - 1] = of.sum() - 2 * np.cumsum(of)[:-1]
        return edges

    def gram(
        self, kept: Kept, window: Window, table: Int[Array, " buckets"], splits: Sequence[Split]
    ) -> Float[Array, "t1 t1"]:
        """Return V' diag(c r) V, r_n = table[bucket of margin n], V being the values of the splits and the labels."""
        return self._added(gram, kept, window, table, splits)


class RowsHere(Rows):
    """Rows in this process, in memory or in files that are mapped.

    Parameters
    ----------
    parts
        The examples.
    features, starts, thresholds, constants
        As in `Rows`.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        features: Int[Array, " varying"],
        starts: Int[Array, " varying"],
        thresholds: int,
        constants: bool = False,
    ) -> None:
        super().__init__(features, starts, thresholds, constants)
        self.parts: tuple[Part, ...] = tuple(parts)

    @property
    def n(self) -> int:
        return sum(part.n for part in self.parts)

    @property
    def total(self) -> int:
        return sum(part.total for part in self.parts)

    def weights(self, kept: Kept, window: Window, table: Int[Array, " buckets"]) -> Int[Array, " N"]:
        return np.concatenate([weights(part, M, window, table) for part, M in zip(self.parts, kept, strict=True)])

    def with_constants(self, number: int) -> RowsHere:
        return RowsHere([part.with_constant() for part in self.parts], *self._and_constants(number), constants=True)

    def every(self, step: int) -> RowsHere:
        parts, first = list[Part](), 0
        for part in self.parts:
            parts.append(part.every(step, -first % step))
            first += part.n
        return RowsHere(parts, self.features, self.starts, self.thresholds, self.constants)

    def _kept(self, kernel: Callable[..., Any], *small: Any) -> Kept:
        return [kernel(part, *small) for part in self.parts]

    def _added(self, kernel: Callable[..., Any], kept: Kept, *small: Any) -> Any:
        return added(kernel(part, M, *small) for part, M in zip(self.parts, kept, strict=True))


def added(found: Iterable[Any]) -> Any:
    """Return the sum of arrays, or of tuples of arrays one by one; they are not held together."""
    return reduce(_plus, found)


def _plus(one: Any, other: Any) -> Any:
    return tuple(map(_plus, one, other)) if isinstance(one, tuple) else one + other
