"""Examples as a source holds them: dense and finite features, labels, and optional weights.

scikit-learn (svmlight), NumPy (npz) and the csv module parse the files. This module turns every fault of a file into
an error that names the fault.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.files import MAX_UNPACKED_BYTES, read_bytes
from boostopt.data.class_labels import MAX_EXACT_INTEGER
from boostopt.data.csv_tables import SEPARATORS
from boostopt.errors import DataError, reason_of

NPY_MAGIC = b"\x93NUMPY"
"""The first bytes of a NumPy file with a single array."""

ARCHIVES: Mapping[bytes, tuple[str, str]] = {
    b"PK\x03\x04": ("an archive of arrays, as np.savez writes it", ".npz"),
    b"PAR1": ("a parquet file", ".parquet"),
}
"""The first bytes of files with their own suffix: what the files are, and this suffix."""

MAX_DENSE_BYTES = MAX_UNPACKED_BYTES
"""Largest size of a sparse file as a dense array of features, in bytes."""

SMALL_ARRAY_BYTES = 1 << 28
"""Size of the dense array in bytes up to which any sparsity is accepted."""

MAX_ENTRIES_PER_NONZERO = 1000
"""Largest number of entries of a larger array for each stored one; above, a wrong index is more likely than data."""


@dataclass(frozen=True)
class SourceContents:
    """The examples of a source.

    Attributes
    ----------
    source
        The name or path of the source.
    X
        Features, shape (N, features): made dense, and checked to be finite numbers.
    labels
        Labels of any kind and number, shape (N,); None if there are none.
    features, classes
        Names of the features, and of the classes 0, 1, ...; () if there are none.
    c, d0
        Multiplicities and reference distribution, shape (N,), if the source holds them.
    unread
        Names of the other columns or arrays.
    has_typed_labels
        Whether labels that are texts stay texts; the labels of a text file may be numbers.
    zero_based
        Whether the indices of the features in the source begin with 0 or with 1; None if it has no indices.
    """

    source: str
    X: Any
    labels: Any = None
    features: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    c: Any = None
    d0: Any = None
    unread: tuple[str, ...] = ()
    has_typed_labels: bool = True
    zero_based: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", _dense_features(self.source, self.X))
        validate_weights(self.source, len(self.X), {"c": self.c, "d0": self.d0})


def load_sklearn_dataset(name: str) -> SourceContents:
    """Return a data set that comes with scikit-learn."""
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")()
    features, classes = tuple(map(str, bunch.feature_names)), tuple(map(str, bunch.target_names))
    return SourceContents(name, bunch.data, bunch.target, features, classes)


def contents_of_npz(source: str, arrays: Mapping[str, Any], weights: Collection[str] = ("c",)) -> SourceContents:
    """Return the arrays X and y of an npz file, and its weights by name if it holds any."""
    if "X" not in arrays:
        raise DataError(
            f"{source} must hold features as an array X; it holds {', '.join(arrays) or 'none'}. Save it with np.savez."
        )
    labels = arrays.get("y")
    if labels is not None and labels.dtype.kind == "c":
        raise DataError(f"{source}: y must be numbers or texts; got {labels.dtype}. Complex numbers have no order.")
    unread = tuple(sorted(set(arrays) - {"X", "y", *weights}))
    c, d0 = (arrays.get(name) if name in weights else None for name in ("c", "d0"))
    return SourceContents(source, arrays["X"], labels, c=c, d0=d0, unread=unread)


def load_svmlight(source: str, zero_based: bool | None = None, count: int | None = None) -> SourceContents:
    """Return the contents of svmlight text.

    Parameters
    ----------
    source
        The file.
    zero_based
        Whether the index of the first feature is 0 or 1. If None, it is 0 if this index occurs, and 1 otherwise.
    count
        The number of features, if it is known.

    Raises
    ------
    DataError
        The file is not svmlight text, or has an index that lies outside the features.
    """
    from sklearn.datasets import load_svmlight_file

    path = Path(source)
    content = read_bytes(path).removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        raise DataError(f"{path} is empty. Expected lines 'label index:value ...'.")
    _check_text(path, content)
    if name_match := re.search(rb"^[^#\n]*_", content, re.MULTILINE):
        line = content.count(b"\n", 0, name_match.start()) + 1
        raise DataError(
            f"{path}, line {line}: expected svmlight text, which holds numbers only; got an underscore. Correct the "
            "number. If the classes are words, use a CSV file."
        )
    try:
        loaded: Any = load_svmlight_file(io.BytesIO(content), zero_based=cast(Any, True))
    except (ValueError, OverflowError) as failure:
        raise DataError(
            f"{path} is not svmlight text ('label index:value ...'): {reason_of(failure, 200)}.{_table_advice(content)}"
        ) from failure
    table, y = loaded
    if (np.abs(y) >= MAX_EXACT_INTEGER).any():
        raise DataError(
            f"{path}: labels of svmlight text must be smaller than 2^53 = {MAX_EXACT_INTEGER:.0f}, from "
            "which float64 merges whole numbers. Number the classes anew, or write them into a CSV file."
        )
    smallest = int(table.indices.min()) if table.nnz else None
    if smallest == 0 and zero_based is False:
        raise DataError(
            f"{path}: the first feature must have the index 1; got the index 0. If the indices begin with 0, pass "
            "zero_based=True wherever these data are read, also where a model is fitted."
        )
    zero_based = smallest == 0 if zero_based is None else zero_based
    first = 0 if zero_based else 1
    features = table[:, first:]
    if count is not None:
        if features.shape[1] > count:
            raise DataError(
                f"{path}: every index must be that of one of the {count} features of the model, from {first} to "
                f"{first + count - 1}; got {table.shape[1] - 1}. Leave out the other features, or fit the model to all."
            )
        features.resize((features.shape[0], count))
    _validate_dense_size(source, features)  # before the names of as many features exist
    return SourceContents(source, features, y, numbered_features(features.shape[1], zero_based), zero_based=zero_based)


def numbered_features(count: int, zero_based: bool | None) -> tuple[str, ...]:
    """Return the names of features that have only indices, which begin with 1 if `zero_based` is False."""
    first = 1 if zero_based is False else 0
    return tuple(f"feature {index}" for index in range(first, first + count))


def _check_text(path: Path, content: bytes) -> None:
    """Raise DataError for a file of another format whose suffix does not show the format."""
    if content.startswith(NPY_MAGIC):
        raise DataError(
            f"{path} is one array of NumPy; expected named ones. Write them with np.savez(file, X=X, y=y), or "
            "np.savez(file, U=U) for margins."
        )
    for mark, (description, ending) in ARCHIVES.items():
        if content.startswith(mark):
            raise DataError(f"expected svmlight text in {path}; got {description}. Give the file the ending {ending}.")


def _table_advice(content: bytes) -> str:
    """Return the advice for text that looks like a table; "" for other text."""
    first = content.strip().partition(b"\n")[0].decode(errors="replace")
    endings = [suffix for suffix, sign in SEPARATORS.items() if sign in first and ":" not in first]
    return f" It looks like a table: give the file the ending {endings[0]}, and a header line." if endings else ""


def validate_weights(source: str, N: int, weights: Mapping[str, Any]) -> None:
    """Raise DataError unless c and d0 have one number for each example, and c has a finite sum."""
    for name, values in weights.items():
        if values is not None and (values.dtype.kind not in "biuf" or values.shape != (N,)):
            raise DataError(
                f"{source}: {name} must be one number for each example, shape ({N},); "
                f"got {values.shape} of {values.dtype}. Save one for each."
            )
    c = weights["c"]
    with np.errstate(over="ignore"):
        if c is not None and np.isfinite(c).all() and not np.isfinite(c.sum()):
            raise DataError(f"{source}: the multiplicities c must have a finite sum; it overflows. Scale them.")


def _dense_features(source: str, features: Any) -> Float[Array, "N features"]:
    """Return dense finite features."""
    if scipy.sparse.issparse(features):
        _validate_dense_size(source, features)
        features = features.toarray()
    array = np.asarray(features)
    if array.dtype.kind not in "biuf" or array.ndim != 2 or 0 in array.shape:
        raise DataError(
            f"{source}: X must be numbers of shape (N, features), not empty; got {array.shape} of {array.dtype}. "
            "Save such an array."
        )
    with np.errstate(over="ignore"):  # a number beyond float64 becomes infinite here
        X = array.astype(np.float64, copy=False)
    if not np.isfinite(X).all():
        n, j = np.argwhere(~np.isfinite(X))[0]
        raise DataError(
            f"{source}: every feature must be finite; got {X[n, j]} at row {n}, feature {j}. "
            "Correct it, or leave out the row."
        )
    return X


def _validate_dense_size(source: str, features: Any) -> None:
    """Raise DataError for sparse features that are too large as a dense array, or whose shape must be a mistake."""
    entries = features.shape[0] * features.shape[1]
    if 8 * entries > MAX_DENSE_BYTES:
        raise DataError(
            f"{source} has features of shape {features.shape}: too large to hold as a dense array, of at most "
            f"{MAX_DENSE_BYTES:,} bytes. Leave out features, or mend the largest index."
        )
    if 8 * entries > SMALL_ARRAY_BYTES and entries > MAX_ENTRIES_PER_NONZERO * features.nnz:
        raise DataError(
            f"{source} has features of shape {features.shape}, and {features.nnz} that are not 0: too few for a dense "
            f"array of {8 * entries:,} bytes. Correct the largest index, or number the features without holes."
        )
