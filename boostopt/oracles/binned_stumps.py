"""The oracle of decision stumps at few thresholds: features of one byte or two an entry, asked by histograms."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt.arguments import file_path, flag, whole
from boostopt.arrays import compressed_rows
from boostopt.errors import OptionError, ProblemError
from boostopt.files import replace_file
from boostopt.oracles.base import Answer, Hypothesis, Query
from boostopt.oracles.best_stumps import best_stumps
from boostopt.oracles.examples import check_classes, check_labels, multiplicities, signs
from boostopt.oracles.features import Features, checked_features
from boostopt.oracles.rows_oracle import RowsOracle
from boostopt.oracles.stump import Stump
from boostopt.rows.coding import ROWS, Coded, fill
from boostopt.rows.kernels import Split
from boostopt.rows.rows import Rows, countable
from boostopt.rows.thresholds import at_quantiles, between_all, few_values
from boostopt.shapes import Array, Float, Int8, UInt

BYTE, MOST = 256, 65_536
"""The numbers of codes that one byte and two bytes have."""

SAMPLE = 200_000
"""Rows, spread over all of them, whose quantiles are the thresholds of features with many values."""


class BinnedStumps(RowsOracle):
    """Decision stumps at few thresholds of each feature, exactly, for many examples.

    A feature with at most `bins` different values has all its thresholds, as in `DecisionStumps`; another one has at
    most bins - 1, at quantiles of the values of up to 200,000 examples. Where all features are of the first kind the
    class is that of `DecisionStumps` and so is every answer, to the last bit; else it is a smaller one, and what is
    certified is about that. Features are read some rows at a time and kept as codes, of one byte an entry up to 256
    bins and of two above. One pass over the codes gives the edges of all stumps, as sums of whole numbers.

    Weights, ties, several columns and constant features are treated as by `DecisionStumps`.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array, also one that is mapped from a file, or a scipy sparse matrix.
        Codes are dense: for many thousand sparse features `DecisionStumps` is made.
    y
        Labels, shape (N,): -1 and 1, or 0 and 1; both must occur.
    c
        Multiplicities, shape (N,), non-negative, 1 by default. Examples with 0 are left out before thresholds are made.
    bins
        The largest number of codes of a feature, from 2 to 65,536.
    reflexive
        Whether stumps stand in both directions; else h is 1 above the threshold only.
    codes
        A file, .npy, into which the codes are written and from which they are read when they are needed, so that they
        need not fit in the memory; one that is there is replaced. None keeps them in the memory.

    Attributes
    ----------
    coded
        The codes and the thresholds that they count.
    complete
        Whether every feature has all its thresholds: the class is then that of `DecisionStumps`.

    Raises
    ------
    ProblemError
        A wrong shape, an entry that is no finite number, other labels, one class only, a negative multiplicity.
    OptionError
        `bins` is no such number, or `codes` is no .npy file.
    DataError
        The file of the codes cannot be written.
    """

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        bins: int = BYTE,
        reflexive: bool = True,
        codes: str | os.PathLike[str] | None = None,
    ) -> None:
        self.reflexive = flag("reflexive", reflexive)
        bins = whole("bins", bins, 2, "a whole number of bins", "256 codes take a byte, up to 65536 two.")
        if bins > MOST:
            raise OptionError(f"bins must be at most {MOST}; got {bins}. DecisionStumps has all thresholds.")
        path = None if codes is None else file_path("codes", codes)
        if path is not None and path.suffix != ".npy":
            raise OptionError(f"codes must be a file ending in .npy; got {str(path)!r}. Name it so.")
        rows = _Rows(X, y, c)
        self._y, self._c, self._features = rows.y, rows.c, rows.features
        cuts, self.complete = _cuts(rows, bins)
        self._bins = bins
        dtype = np.dtype(np.uint8 if bins <= BYTE else np.uint16)
        self.coded = Coded.of(_codes(rows, cuts, dtype) if path is None else _mapped(rows, cuts, dtype, path), cuts)

    def __str__(self) -> str:
        directions = "both directions" if self.reflexive else "one direction"
        kind = "" if self.complete else f", at most {self._bins - 1} thresholds of each"
        return f"decision stumps on {self._features} features, {directions}{kind}"

    @property
    def N(self) -> int:
        return self.coded.N

    @property
    def c(self) -> Float[Array, " N"]:
        return self._c

    @property
    def y(self) -> Int8[Array, " N"]:
        return self._y

    def best(self, query: Query) -> Answer:
        """Return the stumps with the largest edges.

        Edges are known as those of `DecisionStumps` are, to N 2^-62 sum_n d_n.

        Raises
        ------
        ProblemError
            The weights have another shape than (N,), or they are not finite.
        """
        return best_stumps(self.coded, query, self.y, self._features, self.reflexive)

    @property
    def rows(self) -> Rows | None:
        """The coded rows.

        None where no feature varies, or multiplicities are no whole numbers up to 2^20 of a sum up to 2^32. A subclass
        has none either, for it may be another class of hypotheses.
        """
        if type(self) is not BinnedStumps or len(self.coded.thresholds) == 0 or not countable(self.c):
            return None
        return Rows.of(self.coded, self.y, self.c)

    def hypothesis(self, split: Split) -> Stump:
        return Stump(split.feature, float(self.coded.cuts[split.feature][split.code]), split.sign, self._features)

    def check_features(self, X: Any) -> None:
        """Raise ProblemError unless X has the features that stumps are about, all finite."""
        (X if isinstance(X, Features) else Features(X)).checked(self._features)

    def margins_of(self, hypothesis: Hypothesis) -> Int8[Array, " N"]:
        """Return y_n h(x_n), told from the codes.

        Raises
        ------
        ProblemError
            The class has no such stump: its threshold is none of the feature's.
        """
        h = self._values(hypothesis) if isinstance(hypothesis, Stump) else None
        if h is None:
            raise ProblemError(f"expected a hypothesis of {self}; got {hypothesis}. Pass the oracle of its class.")
        return (h * self.y).astype(np.int8)

    @property
    def digest(self) -> str:
        """SHA-256 of the class and of the examples as far as it tells them apart."""
        digest = hashlib.sha256(f"{type(self).__name__} reflexive={self.reflexive} {self._features}".encode())
        for part in (*self.coded.cuts, *self.coded.codes, self._y, self._c):
            digest.update(f"{len(part)}".encode())
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def _values(self, stump: Stump) -> Int8[Array, " N"] | None:
        """Return h(x_n), None for a stump that the class does not have."""
        if stump.features != self._features or not (stump.sign == 1 or self.reflexive):
            return None
        if len(self.coded.thresholds) == 0:
            return np.full(self.N, stump.sign, np.int8) if stump.threshold == -np.inf else None
        cut = self.coded.cuts[stump.feature]
        k = int(np.searchsorted(cut, stump.threshold))
        if k == len(cut) or cut[k] != stump.threshold:
            return None
        above = np.greater(self.coded.codes[stump.feature], k)
        return np.where(above, np.int8(stump.sign), np.int8(-stump.sign))


class _Rows:
    """The examples that count, features some rows at a time.

    Attributes
    ----------
    y, c
        Labels and multiplicities, shape (N,).
    features
        Number of features.
    """

    def __init__(self, X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None) -> None:
        self._X = _matrix(X)
        labels = signs(y)
        check_labels(self._X.shape, labels)
        ones = np.arange(len(labels)), np.broadcast_to(1.0, len(labels))  # of which nothing is stored
        self._rows, self.c = ones if c is None else multiplicities(c, len(labels))
        self.y, self.features = labels[self._rows], int(self._X.shape[1])
        check_classes(self.y)

    def blocks(self) -> Iterator[Float[Array, "_ features"]]:
        """Yield the features, checked.

        Raises
        ------
        ProblemError
            An entry is no finite number.
        """
        counts = np.zeros(self._X.shape[0], dtype=bool)
        counts[self._rows] = True
        for i in range(0, len(counts), ROWS):
            block = _dense(checked_features(self._X[i : i + ROWS], before=i))
            yield block if counts[i : i + ROWS].all() else block[counts[i : i + ROWS]]

    def sample(self, most: int) -> tuple[Float[Array, "n features"], Float[Array, " n"]]:
        """Return the features and multiplicities of every k-th row, so that there are at most so many."""
        step = -(-len(self.y) // most)
        rows = self._rows[::step]
        return _dense(checked_features(self._X[rows])), self.c[::step]


def _matrix(X: Any) -> Any:
    """Return X as a matrix whose rows can be read some at a time, an array as it is."""
    if scipy.sparse.issparse(X):
        X = compressed_rows("X", X)  # pyright: ignore[reportConstantRedefinition]
    if scipy.sparse.issparse(X) or isinstance(X, np.ndarray):
        return X if X.ndim == 2 and 0 not in X.shape else checked_features(X)  # which says what is wrong
    return checked_features(X)


def _dense(X: Any) -> Float[Array, "n features"]:
    return X.toarray() if scipy.sparse.issparse(X) else X


def _cuts(rows: _Rows, bins: int) -> tuple[list[Float[Array, " _"]], bool]:
    """Return the thresholds of each feature, and whether these are all that there are."""
    X, c = rows.sample(SAMPLE)
    sampled = few_values([X], range(rows.features), bins)
    values = sampled if len(X) == len(rows.y) else few_values(rows.blocks(), list(sampled), bins)
    cuts = [between_all(values[j]) if j in values else at_quantiles(X[:, j], c, bins) for j in range(rows.features)]
    return cuts, len(values) == rows.features


def _codes(rows: _Rows, cuts: list[Float[Array, " _"]], dtype: np.dtype[Any]) -> UInt[Array, "features N"]:
    codes = np.empty((rows.features, len(rows.y)), dtype)
    _write(codes, rows, cuts)
    return codes


def _mapped(rows: _Rows, cuts: list[Float[Array, " _"]], dtype: np.dtype[Any], path: Path) -> UInt[Array, "features N"]:
    """Return codes that stand in a file, which is whole or not there."""

    def write(file: IO[bytes]) -> None:
        shape = (rows.features, len(rows.y))
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        file.flush()
        begin = file.tell()
        file.truncate(begin + dtype.itemsize * shape[0] * shape[1])
        codes = np.memmap(file, dtype, "r+", begin, shape)  # pyright: ignore[reportCallIssue, reportArgumentType]
        _write(codes, rows, cuts)
        codes.flush()

    replace_file(path, write)
    return np.load(path, mmap_mode="r")


def _write(codes: UInt[Array, "features N"], rows: _Rows, cuts: list[Float[Array, " _"]]) -> None:
    begin = 0
    for block in rows.blocks():
        fill(codes[:, begin : begin + len(block)], block, cuts)
        begin += len(block)
