"""Data sets by name or from a file, and answers computed elsewhere.

Parsing is left to scikit-learn (svmlight), NumPy (npz) and the csv module; what is done here is to turn everything
that can be wrong with a file into an error that says so.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from boostopt.errors import DataError, unknown_name
from boostopt.oracles.stumps import stump_matrix
from boostopt.shapes import Array, Float, Int8

EMBEDDED = ("breast_cancer", "digits", "iris", "wine")
"""scikit-learn's classification sets that come with it; those of more than two classes need `positive`."""

DENSE_LIMIT = 1 << 31
"""Bytes a sparse file may take as a dense array of features."""

_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": lambda path: gzip.open(path, "rb"),
    ".bz2": lambda path: bz2.open(path, "rb"),
    ".xz": lambda path: lzma.open(path, "rb"),
}
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


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
    """

    name: str
    X: Float[Array, "N features"] | None = None
    y: Int8[Array, " N"] | None = None
    U: Any = None
    c: Any = None
    d0: Any = None

    def margin_matrix(self, t: int, random_state: int) -> Any:
        """Return U: the given one, or that of decision stumps drawn with a seed (at most t columns)."""
        if self.U is not None:
            return self.U
        if self.X is None or self.y is None:
            raise DataError(f"{self.name} holds neither X and y nor U.")
        return stump_matrix(self.X, self.y, t, random_state)


def load_dataset(source: str, label: str = "label", positive: str | None = None) -> Dataset:
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

    Raises
    ------
    DataError
        The source is unknown, unreadable, empty or truncated, the label column is not there, a feature is no
        finite number, or there are not exactly two classes.
    """
    path = Path(source)
    if source in EMBEDDED and not path.exists():
        features, labels = _embedded(source)
    elif not path.is_file():
        raise DataError(
            f"expected a file or one of {', '.join(EMBEDDED)}; there is no file {source!r}."
            + (f" {unknown_name('data set', source, EMBEDDED)}" if path.suffix == "" else " Check the path.")
        )
    elif path.suffix == ".npz":
        arrays = _npz(path)
        if "U" in arrays:
            return Dataset(source, U=arrays["U"], c=arrays.get("c"), d0=arrays.get("d0"))
        if not {"X", "y"} <= arrays.keys():
            raise DataError(f"{source} must hold arrays X and y, or U; it holds {', '.join(arrays) or 'none'}.")
        y = _two_classes(source, arrays["y"], positive)
        return Dataset(source, _features(source, arrays["X"]), y, c=arrays.get("c"), d0=arrays.get("d0"))
    elif _stem_suffix(path) == ".csv":
        features, labels = _csv(path, label)
    else:
        features, labels = _svmlight(path)
    return Dataset(source, _features(source, features), _two_classes(source, labels, positive))


def load_answer(source: str) -> dict[str, Any]:
    """Load an answer computed elsewhere: the arrays d, w or both.

    Parameters
    ----------
    source
        ".npz" with arrays d and/or w, or ".csv" with columns d and/or w (the shorter one left blank at its end).

    Raises
    ------
    DataError
        The file is not there, is unreadable, or holds neither.
    """
    path = Path(source)
    if not path.is_file():
        raise DataError(f"expected the file of an answer; there is no file {source!r}. Check the path.")
    if path.suffix == ".npz":
        arrays = _npz(path)
    elif _stem_suffix(path) == ".csv":
        header, rows = _table(path)
        arrays = {name: _column(source, name, [row[k] for row in rows]) for k, name in enumerate(header)}
    else:
        raise DataError(f"expected an answer as .npz or .csv; got {source!r}.")
    found = {name: arrays[name] for name in ("d", "w") if name in arrays}
    if not found:
        raise DataError(f"{source} must hold d, w or both; it holds {', '.join(arrays) or 'nothing'}.")
    return found


def _embedded(name: str) -> tuple[Any, Any]:
    """Return X and labels of one of scikit-learn's own sets."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y


def _svmlight(path: Path) -> tuple[Any, Any]:
    """Read svmlight text."""
    from sklearn.datasets import load_svmlight_file

    content = _content(path)
    if not content.strip():
        raise DataError(f"{path} is empty. Expected lines 'label index:value ...'.")
    try:
        X, y = load_svmlight_file(io.BytesIO(content))
    except (ValueError, OverflowError) as failure:
        raise DataError(f"{path} is not svmlight text ('label index:value ...'): {failure}.") from failure
    return X, y


def _csv(path: Path, label: str) -> tuple[Any, Any]:
    """Read a CSV file with a header and a label column."""
    header, rows = _table(path)
    if label not in header:
        raise DataError(f"{path} has no label column: {unknown_name('column', label, header)} Name it with --label.")
    if not rows:
        raise DataError(f"{path} has a header and no rows.")
    at = header.index(label)
    X = np.empty((len(rows), len(header) - 1))
    for n, row in enumerate(rows):
        cells = row[:at] + row[at + 1 :]
        try:
            X[n] = [float(cell) for cell in cells]
        except ValueError as failure:
            raise DataError(f"{path}, line {n + 2}: every column but {label!r} must be a number; {failure}.") from None
    return X, np.array([row[at] for row in rows])


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a CSV file, all rows as long as the header."""
    try:
        text = _content(path).decode("utf-8-sig")
        lines = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as failure:
        raise DataError(f"{path} is not CSV text in UTF-8: {failure}.") from failure
    if not lines:
        raise DataError(f"{path} is empty. Expected a header line and rows of numbers.")
    header = [name.strip() for name in lines[0]]
    for n, row in enumerate(lines[1:]):
        if len(row) != len(header):
            raise DataError(f"{path}, line {n + 2}: expected {len(header)} cells as in the header, got {len(row)}.")
    return header, lines[1:]


def _column(source: str, name: str, cells: list[str]) -> Float[Array, " n"]:
    """Return a column of numbers up to its blank end."""
    while cells and not cells[-1].strip():
        cells.pop()
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError as failure:
        raise DataError(f"{source}: column {name!r} must hold numbers; {failure}.") from None


def _npz(path: Path) -> dict[str, Any]:
    """Return all arrays of an npz file; never unpickles."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (*_UNREADABLE, ValueError, AttributeError) as failure:
        raise DataError(f"{path} is not a readable npz file of plain arrays: {failure}.") from failure


def _content(path: Path) -> bytes:
    """Return the decompressed bytes of a file."""
    try:
        with _OPENERS.get(path.suffix, lambda p: p.open("rb"))(path) as file:
            return file.read()
    except _UNREADABLE as failure:
        raise DataError(f"{path} cannot be read, it may be truncated: {failure}.") from failure


def _stem_suffix(path: Path) -> str:
    """The suffix without that of the compression."""
    return Path(path.stem).suffix if path.suffix in _OPENERS else path.suffix


def _features(source: str, features: Any) -> Float[Array, "N features"]:
    """Return dense finite features."""
    if scipy.sparse.issparse(features):
        if 8 * features.shape[0] * features.shape[1] > DENSE_LIMIT:
            raise DataError(f"{source} has features of shape {features.shape}: too large to hold as a dense array.")
        features = features.toarray()
    X = np.asarray(features)
    if X.dtype.kind not in "biuf" or X.ndim != 2 or 0 in X.shape:
        raise DataError(f"{source}: X must be numbers of shape (N, features), not empty; got {X.shape} of {X.dtype}.")
    if not np.isfinite(X).all():
        n, j = np.argwhere(~np.isfinite(X))[0]
        raise DataError(f"{source}: every feature must be finite; got {X[n, j]} at row {n}, feature {j}.")
    return X.astype(np.float64)


def _two_classes(source: str, labels: Any, positive: str | None) -> Int8[Array, " N"]:
    """Return labels -1 and 1."""
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise DataError(f"{source}: the labels must have shape (N,); got {labels.shape}.")
    keys = np.array([_key(label) for label in labels], dtype=object)
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
            return str(label).strip()
