"""Data sets by name or from a file.

Parsing is left to scikit-learn (svmlight), NumPy (npz) and the csv module; what is done here is to turn everything
that can be wrong with a file into an error that says so.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from boostopt.errors import DataError, unknown_name
from boostopt.files import kind, place, read_bytes, read_npz, read_table
from boostopt.oracles.stumps import stump_matrix
from boostopt.shapes import Array, Float, Int8

EMBEDDED = ("breast_cancer", "digits", "iris", "wine")
"""scikit-learn's classification sets that come with it; those of more than two classes need `positive`."""

DENSE_LIMIT = 1 << 31
"""Bytes a sparse file may take as a dense array of features."""


@dataclass(frozen=True)
class Dataset:
    """Examples of two classes, or a margin matrix that is given as it is.

    Attributes
    ----------
    name
        The name or path it was loaded from.
    X
        Features, shape (N, features); None where U is given.
    y
        Labels -1 and 1, shape (N,); None where U is given.
    U
        Margin matrix, shape (N, t), where the file holds one.
    c, d0
        Multiplicities and reference distribution, shape (N,), where the file holds them.
    unread
        Names of the arrays of an npz file that are none of these.
    """

    name: str
    X: Float[Array, "N features"] | None = None
    y: Int8[Array, " N"] | None = None
    U: Any = None
    c: Any = None
    d0: Any = None
    unread: tuple[str, ...] = ()

    def margin_matrix(self, t: int, random_state: int) -> Any:
        """Return U: the given one, or that of decision stumps drawn with a seed (at most t columns)."""
        if self.U is not None:
            return self.U
        if self.X is None or self.y is None:
            raise DataError(f"{self.name} holds neither X and y nor U.")
        return stump_matrix(self.X, self.y, t, random_state)


def load_dataset(source: str, label: str = "label", positive: str | None = None, weights: str | None = None) -> Dataset:
    """Load a data set of two classes.

    Parameters
    ----------
    source
        The name of a set that comes with scikit-learn ("breast_cancer"; nothing is downloaded), or a path: ".npz"
        with arrays X and y, or U, and optionally c and d0; ".csv" with a header line; anything else is read as
        svmlight text. CSV and svmlight may be compressed (".gz", ".bz2", ".xz").
    label
        The column of a CSV file that holds the class.
    positive
        The class that becomes 1 against all others; by default there must be two classes and the larger one, as a
        number or else alphabetically, becomes 1.
    weights
        The column of a CSV file that holds the multiplicities c, which are what sample weights mean; it is then no
        feature.

    Raises
    ------
    DataError
        The source is unknown, unreadable, empty or truncated, the label column or that of the weights is not there, a
        feature is no finite number, there are not exactly two classes, or weights are asked of a file without columns.
    """
    path = Path(source)
    if weights is not None and kind(path) != ".csv" and (source in EMBEDDED or os.path.isfile(source)):
        raise DataError(
            f"expected a CSV file for weights in a column; got {source!r}. An npz file holds them as an array c."
        )
    c = None
    if source in EMBEDDED and not os.path.isfile(source):
        features, labels = _embedded(source)
    elif os.path.isdir(source):
        raise DataError(f"expected a file; {source!r} is a directory. Name the file in it.")
    elif not os.path.isfile(source):  # unlike Path.is_file, False for a name that is too long
        raise DataError(
            f"expected a file or one of {', '.join(EMBEDDED)}; there is no file {source!r}."
            + (f" {unknown_name('data set', source, EMBEDDED)}" if path.suffix == "" else " Check the path.")
        )
    elif kind(path) == ".npz":
        return _arrays(source, positive)
    elif kind(path) == ".csv":
        features, labels, c = _csv(path, label, weights)
    else:
        features, labels = _svmlight(path)
    X = _features(source, features)
    return Dataset(source, X, _two_classes(source, labels, len(X), positive), c=c)


def _others(arrays: Iterable[str], read: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the arrays that are not read."""
    return tuple(sorted(set(arrays) - set(read)))


def _embedded(name: str) -> tuple[Any, Any]:
    """Return X and labels of one of scikit-learn's own sets."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y


def _svmlight(path: Path) -> tuple[Any, Any]:
    """Read svmlight text."""
    from sklearn.datasets import load_svmlight_file

    content = read_bytes(path)
    if not content.strip():
        raise DataError(f"{path} is empty. Expected lines 'label index:value ...'.")
    try:
        X, y = load_svmlight_file(io.BytesIO(content))
    except (ValueError, OverflowError) as failure:
        raise DataError(f"{path} is not svmlight text ('label index:value ...'): {str(failure)[:200]}.") from failure
    return X, y


def _csv(path: Path, label: str, weights: str | None) -> tuple[Any, Any, Any]:
    """Read a CSV file with a header, a label column and, where it is named, a column of weights."""
    header, rows = read_table(path)
    if label not in header:
        raise DataError(f"{path} has no label column: {unknown_name('column', label, header)} Name it with --label.")
    if weights is not None and weights not in header:
        raise DataError(f"{path} has no such column: {unknown_name('column', weights, header)} Mend --weights.")
    if weights == label:
        raise DataError(f"{path}: expected one column for the class and one for the weights; got {label!r} for both.")
    if not rows:
        raise DataError(f"{path} has a header and no rows.")
    at = place(path, header, label)
    others = [j for j in range(len(header)) if j != at]
    table = np.empty((len(rows), len(others)))
    for n, (line, cells) in enumerate(rows):
        try:
            table[n] = [float(cells[j]) for j in others]
        except ValueError as failure:
            raise DataError(f"{path}, line {line}: every column but {label!r} must be a number; {failure}.") from None
    labels = np.array([cells[at] for _, cells in rows])
    if weights is None:
        return table, labels, None
    of_weights = others.index(place(path, header, weights))
    return np.delete(table, of_weights, axis=1), labels, table[:, of_weights]


def _arrays(source: str, positive: str | None) -> Dataset:
    """Read an npz file of X and y, or of U, and of c and d0 where they are there."""
    arrays = read_npz(Path(source))
    if "U" in arrays:
        U = arrays["U"]
        if U.ndim != 2:
            raise DataError(f"{source}: U must have shape (N, t); got {U.shape}.")
        return Dataset(source, U=U, **_weights(source, arrays, len(U)), unread=_others(arrays, ("U", "c", "d0")))
    if not {"X", "y"} <= arrays.keys():
        raise DataError(f"{source} must hold arrays X and y, or U; it holds {', '.join(arrays) or 'none'}.")
    X = _features(source, arrays["X"])
    y = _two_classes(source, arrays["y"], len(X), positive)
    unread = _others(arrays, ("X", "y", "c", "d0"))
    return Dataset(source, X, y, **_weights(source, arrays, len(X)), unread=unread)


def _weights(source: str, arrays: dict[str, Any], N: int) -> dict[str, Any]:
    """Return c and d0, where they are there."""
    weights = {name: arrays[name] for name in ("c", "d0") if name in arrays}
    for name, values in weights.items():
        if values.dtype.kind not in "biuf" or values.shape != (N,):
            raise DataError(
                f"{source}: {name} must be one number for each example, shape ({N},); "
                f"got {values.shape} of {values.dtype}."
            )
    return weights


def _features(source: str, features: Any) -> Float[Array, "N features"]:
    """Return dense finite features."""
    if scipy.sparse.issparse(features):
        if 8 * features.shape[0] * features.shape[1] > DENSE_LIMIT:
            raise DataError(f"{source} has features of shape {features.shape}: too large to hold as a dense array.")
        features = features.toarray()
    given = np.asarray(features)
    if given.dtype.kind not in "biuf" or given.ndim != 2 or 0 in given.shape:
        raise DataError(
            f"{source}: X must be numbers of shape (N, features), not empty; got {given.shape} of {given.dtype}."
        )
    with np.errstate(over="ignore"):  # what only a longer float can hold is infinite here
        X = given.astype(np.float64)
    if not np.isfinite(X).all():
        n, j = np.argwhere(~np.isfinite(X))[0]
        raise DataError(f"{source}: every feature must be finite; got {X[n, j]} at row {n}, feature {j}.")
    return X


def _two_classes(source: str, labels: Any, N: int, positive: str | None) -> Int8[Array, " N"]:
    """Return labels -1 and 1."""
    labels = np.asarray(labels)
    if labels.shape != (N,):
        raise DataError(f"{source}: there must be one label for each of {N} examples; got shape {labels.shape}.")
    keys = np.array([_key(label) for label in labels], dtype=object)
    for n, key in enumerate(keys):
        if key == "" or key != key:
            raise DataError(f"{source}: every example must have a label; row {n} has none. Drop it.")
    classes = sorted(set(keys.tolist()), key=lambda key: (isinstance(key, str), key))
    if positive is not None:
        if _key(positive) not in classes:
            raise DataError(f"{source}: {unknown_name('class', positive, map(str, classes))}")
        y = np.where(keys == _key(positive), 1, -1).astype(np.int8)
    else:
        y = np.where(keys == classes[-1], 1, -1).astype(np.int8)
    if positive is None and len(classes) != 2:
        some = ", ".join(str(key) for key in classes[:6]) + (", ..." if len(classes) > 6 else "")
        raise DataError(
            f"{source} must have exactly two classes; it has {len(classes)} ({some}). "
            "Set one against the others with --positive."
        )
    if len(np.unique(y)) != 2:
        raise DataError(f"{source} must have exactly two classes; all its examples are of one.")
    return y


def _key(label: Any) -> float | str:
    """A label as a number where it is one, else as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(label)
        except (TypeError, ValueError):
            return (label.decode(errors="replace") if isinstance(label, bytes) else str(label)).strip()
