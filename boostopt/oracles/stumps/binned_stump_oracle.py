"""The oracle of decision stumps at few thresholds: features in one or two bytes an entry, searched by histograms."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Int, Int8, Num, is_dask_collection
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import check_flag, check_integer, check_path
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles.base import Answer, Hypothesis, Query
from boostopt.oracles.binned_class import BinnedClass, BinnedOracle
from boostopt.oracles.distributed.cluster_classes import DistributedClass, DistributedEncoder, Placeable, subclass_error
from boostopt.oracles.feature_validation import FeatureMatrix
from boostopt.oracles.labelled_examples import check_classes, select_counting
from boostopt.oracles.stumps.stump import Stump
from boostopt.oracles.stumps.stump_search import best_stumps
from boostopt.oracles.stumps.threshold_sketches import (
    BYTE_CODES,
    ExampleBlocks,
    ThresholdSketch,
    code_type,
    encode_examples,
    encode_in_file,
    encode_in_memory,
    merge_sketches,
    sample_stride,
    sketch_block,
)
from boostopt.rows.binned_rows import BinnedRows, has_exact_sums
from boostopt.rows.feature_encoding import BinnedFeatures
from boostopt.rows.row_block import Split

MAX_CODES = 65_536
"""The number of codes in two bytes."""


class StumpClass(BinnedClass):
    """The class of decision stumps at thresholds of encoded features, for rows in memory or on a cluster.

    Attributes
    ----------
    complete
        Whether every feature has all its thresholds; the class is then that of `DecisionStumps`.
    """

    complete: bool
    reflexive: bool

    _bins: int
    _cuts: list[Array]
    _dtype: np.dtype[Any]
    _features: int

    def _check_options(self, bins: int, reflexive: bool, codes: str | os.PathLike[str] | None) -> Path | None:
        """Check the options, and return the file of the codes."""
        self.reflexive = check_flag("reflexive", reflexive)
        self._bins = check_integer("bins", bins, 2, "a whole number of bins", "256 codes take a byte, up to 65536 two.")
        if self._bins > MAX_CODES:
            raise OptionError(f"bins must be at most {MAX_CODES}; got {bins}. DecisionStumps has all thresholds.")
        self._dtype = code_type(self._bins)
        path = None if codes is None else check_path("codes", codes)
        if path is not None and path.suffix != ".npy":
            raise OptionError(f"codes must be a file ending in .npy; got {str(path)!r}. Name it so.")
        return path

    def __str__(self) -> str:
        directions = "both directions" if self.reflexive else "one direction"
        kind = "" if self.complete else f", at most {format_count(self._bins - 1, 'threshold')} of each"
        return f"decision stumps on {format_count(self._features, 'feature')}, {directions}{kind}"

    def hypothesis_of(self, split: Split) -> Stump:
        return Stump(split.feature, float(self._cuts[split.feature][split.code]), split.sign, self._features)

    def check_features(self, X: Any) -> None:
        """Raise ProblemError unless X has the number of features of the stumps, all finite."""
        (X if isinstance(X, FeatureMatrix) else FeatureMatrix(X)).checked(self._features)


class BinnedStumps(StumpClass, BinnedOracle, Placeable):
    """Decision stumps at few thresholds of each feature, exactly, for many examples.

    A feature with at most `bins` different values has all its thresholds, as in `DecisionStumps`. Any other feature has
    at most bins - 1, at quantiles of the values of up to 200,000 examples. If all features are of the first kind, the
    class and every answer are those of `DecisionStumps`, to the last bit. Otherwise the class is smaller, and
    certificates are about this smaller class. Features are read in blocks of rows and stored as codes, in one byte an
    entry for up to 256 bins, otherwise in two. One pass over the codes gives the edges of all stumps, as sums of
    integers.

    Weights, ties, several columns and constant features are treated as in `DecisionStumps`.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array, possibly mapped from a file, or a scipy sparse matrix.
        Codes are dense, so use `DecisionStumps` for many thousand sparse features. A `dask.array` or a
        `dask.dataframe` stays on the cluster of the default client, see `DistributedStumps`.
    y
        Labels, shape (N,): -1 and 1, or 0 and 1; both must occur. On a cluster, an array for a `dask.array`; a series
        of a `dask.dataframe`, or the name of one of its columns, which then is not a feature.
    c
        Multiplicities, shape (N,), non-negative, 1 by default. Examples with 0 are left out before thresholds are made.
        On a cluster, pass them in the same way as y, as whole numbers up to 2^20.
    bins
        The largest number of codes of a feature, from 2 to 65,536.
    reflexive
        Whether the class contains stumps in both directions; otherwise only those with h = 1 above the threshold.
    codes
        An .npy file for the codes. They are read from it when they are needed, so that they need not fit into memory.
        An existing file is replaced. None keeps the codes in memory.

    Attributes
    ----------
    binned
        The codes, and their thresholds.
    complete
        Whether every feature has all its thresholds; the class is then that of `DecisionStumps`.

    Raises
    ------
    ProblemError
        A shape is wrong, an entry is not a finite number, labels are invalid or of one class only, or a multiplicity
        is negative.
    OptionError
        `bins` is out of range, or `codes` is not an .npy file.
    DataError
        The file of the codes cannot be written.
    """

    binned: BinnedFeatures

    _selection: tuple[Int[Array, " N"], int] | None = None
    """The rows that count, and the number of all rows; None if all count."""

    def __init__(
        self,
        X: Any,
        y: Any,
        c: Any = None,
        bins: int = BYTE_CODES,
        reflexive: bool = True,
        codes: str | os.PathLike[str] | None = None,
    ) -> None:
        path = self._check_options(bins, reflexive, codes)
        if is_dask_collection(X):
            raise subclass_error(self, BinnedStumps)
        self._encode(X, y, c, path)

    def _encode(self, X: Any, y: Any, c: Any, path: Path | None) -> None:
        """Encode the rows, in a file if there is a path."""
        rows = ExampleBlocks(X, y, c)
        check_classes(rows.y)
        self._y, self._c, self._features, self._selection = rows.y, rows.c, rows.features, rows.selection
        encode = encode_in_memory if path is None else partial(encode_in_file, path)
        codes, self._cuts, self.complete = encode(rows, self._bins, self._dtype)
        self.binned = BinnedFeatures.from_codes(codes, self._cuts)

    @property
    def N(self) -> int:
        return self.binned.N

    @property
    def c(self) -> ExampleVector:
        return self._c

    @property
    def y(self) -> Int8[Array, " N"]:
        return self._y

    @property
    def n_rows(self) -> int:
        return self.N if self._selection is None else self._selection[1]

    def select_examples(self, values: Num[Array, " rows"]) -> Num[Array, " selected"]:
        return values if self._selection is None else select_counting(values, *self._selection)

    def best(self, query: Query) -> Answer:
        """Return the stumps with the largest edges.

        As in `DecisionStumps`, edges are accurate to N 2^-62 sum_n d_n.

        Raises
        ------
        ProblemError
            The weights do not have shape (N,), or they are not finite.
        """
        return best_stumps(self.binned, query, self.y, self._features, self.reflexive)

    @property
    def binned_rows(self) -> BinnedRows | None:
        """The encoded rows.

        None if no feature varies, or if the multiplicities are not whole numbers up to 2^20 with a sum up to 2^32.
        None also for subclasses, because a subclass may be another class of hypotheses.
        """
        if type(self) is not BinnedStumps or len(self.binned.thresholds) == 0 or not has_exact_sums(self.c):
            return None
        return BinnedRows.from_binned(self.binned, self.y, self.c)

    def margins_of(self, hypothesis: Hypothesis) -> Int8[Array, " N"]:
        """Return y_n h(x_n), from the codes.

        Raises
        ------
        ProblemError
            The class has no such stump: its threshold is not one of the feature's.
        """
        h = self._values(hypothesis) if isinstance(hypothesis, Stump) else None
        if h is None:
            raise ProblemError(f"expected a hypothesis of {self}; got {hypothesis}. Pass the oracle of its class.")
        return (h * self.y).astype(np.int8)

    @property
    def digest(self) -> str:
        """SHA-256 of the class and of the examples, as far as the class distinguishes them."""
        digest = hashlib.sha256(f"{type(self).__name__} reflexive={self.reflexive} {self._features}".encode())
        for part in (*self.binned.thresholds_by_feature, *self.binned.codes, self._y, self._c):
            digest.update(f"{len(part)}".encode())
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def _values(self, stump: Stump) -> Int8[Array, " N"] | None:
        """Return h(x_n), None for a stump outside the class."""
        if stump.features != self._features or not (stump.sign == 1 or self.reflexive):
            return None
        if len(self.binned.thresholds) == 0:
            return np.full(self.N, stump.sign, np.int8) if stump.threshold == -np.inf else None
        cut = self.binned.thresholds_by_feature[stump.feature]
        k = int(np.searchsorted(cut, stump.threshold))
        if k == len(cut) or cut[k] != stump.threshold:
            return None
        is_above = np.greater(self.binned.codes[stump.feature], k)
        return np.where(is_above, np.int8(stump.sign), np.int8(-stump.sign))


class DistributedStumps(StumpClass, DistributedClass, local=BinnedStumps):
    """`BinnedStumps` of a Dask collection: codes stay with the workers of the default client.

    Thresholds are the same as for these rows in memory. So is every run by histogram Newton, to the last bit.
    Arrays of the length of the rows stay on the cluster, so the class supports data passes only.

    Parameters
    ----------
    X, y, c, bins, reflexive, codes
        As in `BinnedStumps`.

    Raises
    ------
    ProblemError
        As in `BinnedStumps`; there is no client; chunks of X have unknown sizes; y or c do not match X;
        multiplicities are not whole numbers; no feature varies.
    OptionError
        Dask is not installed, or `codes` is given.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        c: Any = None,
        bins: int = BYTE_CODES,
        reflexive: bool = True,
        codes: str | os.PathLike[str] | None = None,
    ) -> None:
        path = self._check_options(bins, reflexive, codes)
        if path is not None:
            raise OptionError(
                f"codes on a cluster stay in the memory of its workers; got codes={str(path)!r}. Leave it out."
            )
        encoder = DistributedEncoder(X, y, c)
        blocks, counts = encoder.blocks, encoder.count()
        offsets = accumulate((count.n_rows for count in counts), initial=0)
        counted = list(accumulate((count.n_counted for count in counts), initial=0))
        step, self._features = sample_stride(counted[-1]), blocks.features
        small = [
            (b, -k % step, step, self._bins)
            for b, k, count in zip(offsets, counted, counts, strict=False)
            if count.n_counted
        ]
        sketch: ThresholdSketch = blocks.tree_reduce(sketch_block, small, partial(merge_sketches, self._bins))
        self._cuts, self.complete = sketch.thresholds(self._bins)
        binned = BinnedFeatures.from_codes(np.empty((self._features, 0), self._dtype), self._cuts)
        if len(binned.thresholds) == 0:
            raise ProblemError(f"a feature must vary; got {self._features} constant ones. There is nothing to cut.")
        self._set_rows(encoder.rows(partial(encode_examples, self._dtype), self._cuts, binned), encoder.balance)
