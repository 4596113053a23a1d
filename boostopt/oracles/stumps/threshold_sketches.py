"""Encoders of examples: rows are read in blocks, and features are binned at thresholds from a sample or few values."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, Float, Int, UInt
from boostopt._utils.files import reserve_bytes, write_atomically
from boostopt._utils.immutable_arrays import as_immutable, as_read_only
from boostopt._utils.validation import check_array, check_csr, check_unmasked
from boostopt.errors import ProblemError, short_repr
from boostopt.oracles.feature_validation import checked_features, numeric_features
from boostopt.oracles.labelled_examples import as_signs, check_labels, check_multiplicities
from boostopt.rows.feature_encoding import BLOCK_ROWS, BlockEncoder
from boostopt.rows.row_block import MAX_EXAMPLES, MAX_MULTIPLICITY, RowBlock
from boostopt.rows.thresholds import all_thresholds, encode_few_values, quantile_thresholds

BYTE_CODES = 256
"""Number of codes in one byte."""

SAMPLE_SIZE = 200_000
"""Size of the sample of evenly spaced rows whose quantiles are the thresholds of features with many values."""

PROBE_SIZE = 4096
"""Number of evenly spaced rows whose values are expected in all rows."""


class ExampleBlocks:
    """The examples that count, with features that are read in blocks of rows.

    Attributes
    ----------
    y, c
        Labels and multiplicities, shape (N,).
    features
        Number of features.
    row_offset
        Number of rows before these if they are a block of rows; messages count from the first row of all.
    selection
        The rows that count, and the number of all rows; None if all count.
    """

    row_offset: int
    c: Any
    y: Any
    features: int
    selection: tuple[Int[Array, " N"], int] | None

    def __init__(self, X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None, row_offset: int = 0) -> None:
        self._X, self.row_offset = _matrix(X), row_offset
        self.y, self.features, self.selection = as_signs(y), int(self._X.shape[1]), None
        n_rows = len(self.y)
        check_labels(self._X.shape, self.y)
        if c is None:
            self.c = np.broadcast_to(as_immutable(np.ones(())), n_rows)  # stores a single number
            return
        rows, self.c = check_multiplicities(c, n_rows)
        if len(rows) < n_rows:
            self.y, self.selection = as_immutable(self.y[rows]), (rows, n_rows)

    def blocks(self, finite: bool = True) -> Iterator[Float[Array, "_ features"]]:
        """Yield the features of the examples that count, in blocks of rows.

        Parameters
        ----------
        finite
            Whether all entries must be finite numbers. Rows that do not count are checked in any case.

        Raises
        ------
        ProblemError
            An entry is not a finite number.
        """
        is_checked = finite or self.selection is not None
        for i in range(0, self._X.shape[0], BLOCK_ROWS):
            rows = self._X[i : i + BLOCK_ROWS]
            check = checked_features if is_checked else numeric_features
            block = _dense(check(rows, self.row_offset + i))
            if self.selection is None:
                yield block
            else:
                begin, end = np.searchsorted(self.selection[0], [i, i + BLOCK_ROWS])
                yield block[self.selection[0][begin:end] - i]

    def probe(self) -> Float[Array, "_ features"]:
        """Return some evenly spaced examples of more than one block, none of a single block."""
        N = len(self.y)
        return self.stride(-(-N // PROBE_SIZE), first=0 if N > BLOCK_ROWS else N)[0]

    def stride(
        self, step: int, first: int = 0, features: Sequence[int] | None = None
    ) -> tuple[Float[Array, "n features"], Float[Array, " n"]]:
        """Return the features and multiplicities of every step-th example, beginning with the example `first`.

        Parameters
        ----------
        features
            The features to return, all by default.

        Raises
        ------
        ProblemError
            An entry is not a finite number.
        """
        sample = slice(first, None, step) if self.selection is None else self.selection[0][first::step]
        all_features, c = self._X[sample], self.c[first::step]
        X = all_features if features is None or len(features) == self.features else all_features[:, features]
        try:
            return _dense(checked_features(X)) if len(c) else np.empty(X.shape), c
        except ProblemError:
            deque(self.blocks(), 0)  # an error that names the row among all rows
            raise


def _matrix(X: Any) -> Any:
    """Return X as a matrix whose rows can be read in blocks; an array is returned unchanged."""
    check_unmasked("X", X)
    rows = check_csr("X", X) if scipy.sparse.issparse(X) else X
    if scipy.sparse.issparse(rows) or isinstance(rows, np.ndarray):
        return rows if rows.ndim == 2 and 0 not in rows.shape else checked_features(rows)  # an error with the reason
    return checked_features(rows)


def _dense(X: Any) -> Float[Array, "n features"]:
    return X.toarray() if scipy.sparse.issparse(X) else X


def code_type(bins: int) -> np.dtype[Any]:
    """Return the type of so many codes."""
    return np.dtype(np.uint8 if bins <= BYTE_CODES else np.uint16)


def sample_stride(n: int) -> int:
    """Return the distance between the sampled rows among n rows."""
    return -(-n // SAMPLE_SIZE)


def encode_rows(
    rows: ExampleBlocks, bins: int, codes: UInt[Array, "features N"]
) -> tuple[list[Float[Array, " _"]], bool]:
    """Write the codes of examples; return the thresholds of each feature, and whether these are all possible ones."""
    values = encode_few_values(rows.probe(), rows.blocks(finite=False), bins, codes)
    cuts = {j: all_thresholds(few) for j, few in values.items()}
    features = [j for j in range(rows.features) if j not in values]
    if features:
        X, c = rows.stride(sample_stride(len(rows.y)), features=features)
        cuts |= (quantiles := {j: quantile_thresholds(X[:, k], c, bins) for k, j in enumerate(features)})
        write_codes(codes, rows, quantiles)
    return [cuts[j] for j in range(rows.features)], not features


@dataclass(frozen=True, eq=False)
class ThresholdSketch:
    """The data that determine thresholds.

    Attributes
    ----------
    X, c
        A sample of the features, shape (n, features), and its multiplicities, shape (n,).
    values
        All values of each feature with few values, over all rows, ascending.
    """

    X: Float[Array, "n features"]
    c: Float[Array, " n"]
    values: Mapping[int, Float[Array, " _"]]

    def thresholds(self, bins: int) -> tuple[list[Float[Array, " _"]], bool]:
        """Return the thresholds of each feature, and whether these are all possible thresholds."""
        X, c, few, features = self.X, self.c, self.values, range(self.X.shape[1])
        cuts = [all_thresholds(few[j]) if j in few else quantile_thresholds(X[:, j], c, bins) for j in features]
        return cuts, len(few) == len(features)


@dataclass(frozen=True)
class LabelCounts:
    """Counts of the labels and multiplicities of some rows.

    Attributes
    ----------
    n_rows, n_counted
        Number of all rows, and of the rows that count.
    total, balance
        Number of rows counted with multiplicity, and of class 1 minus class -1.
    labels
        The values among -1, 0 and 1 that occur as labels.
    classes
        The values among -1 and 1 that occur as classes of rows that count.
    """

    n_rows: int
    n_counted: int
    total: int
    balance: int
    labels: frozenset[int]
    classes: frozenset[int]


def count_labels(y: Any, c: Any) -> LabelCounts:
    """Return the counts of the labels and multiplicities of some rows; a single class is allowed.

    Raises
    ------
    ProblemError
        Labels are invalid, or multiplicities are not whole numbers from 0 to 2^20.
    """
    labels, array = as_signs(y), check_array("y", y)
    copies = np.ones(labels.shape, np.int64) if c is None else _integer_multiplicities(c, labels.shape)
    counting = labels[copies > 0]
    return LabelCounts(
        len(labels),
        len(counting),
        int(copies.sum()),
        int(copies @ labels.astype(np.int64)),
        frozenset(k for k in (-1, 0, 1) if bool((array == k).any())),
        frozenset(np.unique(counting).tolist()),
    )


def check_label_counts(counts: Sequence[LabelCounts], classes: bool = True) -> None:
    """Raise ProblemError unless labels are of one kind, examples count, and sums over all examples are exact.

    Parameters
    ----------
    counts
        The counts of all blocks of rows.
    classes
        Whether both classes must occur.
    """
    n, total = sum(count.n_counted for count in counts), sum(count.total for count in counts)
    as_signs(sorted(frozenset[int]().union(*(count.labels for count in counts))))
    if classes and len(frozenset[int]().union(*(count.classes for count in counts))) < 2:
        raise ProblemError(
            f"both classes must occur among the examples that count; got {n} such examples of one class. Pass "
            "examples of both classes."
        )
    if not total:
        raise ProblemError("at least one example must count; got none. Pass rows whose multiplicities are not all 0.")
    if total > MAX_EXAMPLES:
        raise ProblemError(
            f"expected at most {MAX_EXAMPLES} examples, with multiplicity; got {total}. Take a part of them."
        )


def _integer_multiplicities(c: Any, shape: tuple[int, ...]) -> Int[Array, " n"]:
    array = check_array("c", c)
    fits = np.zeros(array.shape, dtype=bool)
    if array.dtype.kind in "biuf":
        fits = (array == np.rint(array)) & (array >= 0) & (array <= MAX_MULTIPLICITY)
    if array.shape != shape or not fits.all():
        got = f"shape {array.shape}" if fits.all() else short_repr(array[~fits][0].item())
        raise ProblemError(
            f"on a cluster the multiplicities c must be whole numbers from 0 to {MAX_MULTIPLICITY}, one for each row; "
            f"got {got}. Round them, or take the rows into memory."
        )
    return array.astype(np.int64)


def sketch_block(X: Any, y: Any, c: Any, row_offset: int, first: int, step: int, bins: int) -> ThresholdSketch:
    """Return the contribution of some rows to the data for thresholds.

    Parameters
    ----------
    X, y, c
        Features, labels and multiplicities.
    row_offset, first
        Number of rows before these, and the position of the first sampled row among those that count.
    step, bins
        Distance between the rows of the sample, and the largest number of values that counts as few.

    Raises
    ------
    ProblemError
        An entry is not a finite number.
    """
    rows = ExampleBlocks(X, y, c, row_offset)
    blocks, codes = rows.blocks(), np.empty((rows.features, len(rows.y)), code_type(bins))
    values = encode_few_values(rows.probe(), blocks, bins, codes)
    deque(blocks, 0)  # checks the rows that are left
    return ThresholdSketch(*rows.stride(step, first), values)


def merge_sketches(bins: int, sketches: Sequence[ThresholdSketch]) -> ThresholdSketch:
    """Merge the data for thresholds from several blocks of rows, in their order."""
    few = set(sketches[0].values).intersection(*(sketch.values for sketch in sketches))
    values = {j: np.unique(np.concatenate([sketch.values[j] for sketch in sketches])) for j in sorted(few)}
    X, c = np.concatenate([sketch.X for sketch in sketches]), np.concatenate([sketch.c for sketch in sketches])
    return ThresholdSketch(X, c, {j: distinct for j, distinct in values.items() if len(distinct) <= bins})


def encode_examples(dtype: np.dtype[Any], cuts: Sequence[Float[Array, " _"]], X: Any, y: Any, c: Any) -> RowBlock:
    """Return some rows as a row block of codes."""
    rows = ExampleBlocks(X, y, c)
    codes = np.empty((rows.features, len(rows.y)), dtype)
    write_codes(codes, rows, dict(enumerate(cuts)))
    return row_block(as_read_only(codes), rows)


def row_block(codes: UInt[Array, "features n"], rows: ExampleBlocks) -> RowBlock:
    """Return a row block of codes with labels and multiplicities."""
    all_one = bool((rows.c == 1.0).all())
    return RowBlock(codes, rows.y, None if all_one else rows.c.astype(np.int64))


def encode_in_memory(
    rows: ExampleBlocks, bins: int, dtype: np.dtype[Any]
) -> tuple[UInt[Array, "features N"], list[Float[Array, " _"]], bool]:
    """Return the codes of the examples, in memory, and what `encode_rows` returns."""
    codes = np.empty((rows.features, len(rows.y)), dtype)
    cuts, complete = encode_rows(rows, bins, codes)
    return as_read_only(codes), cuts, complete


def encode_in_file(
    path: Path, rows: ExampleBlocks, bins: int, dtype: np.dtype[Any]
) -> tuple[UInt[Array, "features N"], list[Float[Array, " _"]], bool]:
    """Return the codes of the examples, in a file that is complete or does not exist, and what `encode_rows` does."""
    cuts, complete = list[Float[Array, " _"]](), False

    def write(file: IO[bytes]) -> None:
        nonlocal cuts, complete
        shape = (rows.features, len(rows.y))
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        file.flush()
        begin = file.tell()
        # Without space for its pages, a mapped file would end the process.
        reserve_bytes(file, begin + dtype.itemsize * shape[0] * shape[1])
        codes = np.memmap(file, dtype, "r+", begin, shape)  # pyright: ignore[reportCallIssue, reportArgumentType]
        cuts, complete = encode_rows(rows, bins, codes)
        codes.flush()

    write_atomically(path, write)
    return np.load(path, mmap_mode="r"), cuts, complete


def write_codes(codes: UInt[Array, "features N"], rows: ExampleBlocks, cuts: Mapping[int, Float[Array, " _"]]) -> None:
    """Write the codes of some features, at given thresholds."""
    encoder, begin = BlockEncoder(cuts, codes.dtype, codes.shape[1]), 0
    for block in rows.blocks():
        encoder.encode(block, codes[:, begin : begin + len(block)])
        begin += len(block)
