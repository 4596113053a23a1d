"""Data sets by name or from a file.

Parsing is left to scikit-learn (svmlight), NumPy (npz) and the csv module; what is done here is to turn everything
that can be wrong with a file into an error that says so.
"""

from __future__ import annotations

import io
import math
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt.arguments import file_path, optional, refused
from boostopt.arguments import is_number as is_a_number
from boostopt.arguments import names as listed_names
from boostopt.arguments import text as read_text
from boostopt.data.tables import (
    SEPARATORS,
    Numbers,
    Rows,
    is_number,
    meant,
    other_separator,
    place,
    places,
    read_table,
    to_number,
    to_numbers,
)
from boostopt.errors import DataError, listed, listed_briefly, nearest, shown, unknown_name
from boostopt.files import LIMIT, kind, read_bytes, read_npz
from boostopt.oracles.stumps import stump_matrix
from boostopt.shapes import Array, Float, Int8

EMBEDDED = ("breast_cancer", "digits", "iris", "wine")
"""scikit-learn's classification sets that come with it; those of more than two classes need `positive`."""

DEFAULT_LABEL = "label"
"""The column of the classes where none is named."""

NPY = b"\x93NUMPY"
"""What a file of one array of NumPy begins with."""

DENSE_LIMIT = LIMIT
"""Bytes a sparse file may take as a dense array of features."""

SMALL = 1 << 28
"""Bytes up to which it may be as sparse as it likes."""

SPARSEST = 1000
"""Features of a larger one for each that is stored: beyond, it is an index that is misspelt, and no data set."""

TABLE = "table"
"""The kind of source that has columns with names: CSV, or the same with tabs."""

UNNAMED = re.compile(r"(Unnamed: \d+)?")
"""Names of the column in which pandas writes an index, and of that column when it is read and written once more."""

WHOLE = 2.0**53
"""Below this a float64 holds every whole number."""

MISSING = ("", "?", "na", "n/a", "null")
"""How a missing value is written that is not nan, in lower case."""

REMEDY = " It is a missing value: impute it (scikit-learn's SimpleImputer), or leave the row out."
"""What to do about one."""


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
    features
        Names of the features, () where the source has none.
    """

    name: str
    X: Float[Array, "N features"] | None = None
    y: Int8[Array, " N"] | None = None
    U: Any = None
    c: Any = None
    d0: Any = None
    unread: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    def margin_matrix(self, t: int, random_state: int) -> Any:
        """Return U: the given one, or that of decision stumps drawn with a seed (at most t columns)."""
        if self.U is not None:
            return self.U
        if self.X is None or self.y is None:
            raise DataError(f"{self.name} holds neither X and y nor U.")
        return stump_matrix(self.X, self.y, t, random_state)


def load_dataset(
    source: str,
    label: str = DEFAULT_LABEL,
    positive: str | None = None,
    weights: str | None = None,
    drop: Sequence[str] = (),
) -> Dataset:
    """Load a data set of two classes.

    Parameters
    ----------
    source
        The name of a set that comes with scikit-learn ("breast_cancer"; nothing is downloaded), or a path: ".npz"
        with arrays X and y, or U, and optionally c and d0; ".csv" with a header line, ".tsv" or ".tab" with tabs for
        commas; anything else is read as svmlight text. All text may be compressed (".gz", ".bz2", ".xz").
    label
        The column of a CSV file that holds the class.
    positive
        The class that becomes 1 against all others; by default there must be two classes and the larger one, as a
        number or else alphabetically, becomes 1. The classes of scikit-learn's sets may be given by their names.
    weights
        The column of a CSV file that holds the multiplicities c, which are what sample weights mean; it is then no
        feature.
    drop
        Columns of a CSV file that are no features, one or several: each is a name, or else names with commas between.

    Raises
    ------
    DataError
        The source is unknown, unreadable, empty or truncated, the label column, that of the weights or one to drop is
        not there, a feature is no finite number, there are not exactly two classes, columns are asked of a file
        without names, or the numbers would take too much memory.

    Warns
    -----
    UserWarning
        A column of a CSV file without a name, the index of a data frame, is taken as a feature.
    """
    source, drop = _named(source), listed_names("drop", drop)
    label, weights = read_text("label", label), optional(read_text, "weights", weights)
    path, known = Path(source), _found(source)
    if weights is not None and known != TABLE:
        raise DataError(
            f"expected a CSV file for weights in a column; got {source!r}. Leave out weights=...: an npz file holds "
            "them as an array c."
        )
    _check_dropped(source, known, drop)
    names, c, classes = (), None, ()
    if known == EMBEDDED:
        features, labels, names, classes = _embedded(source)
    elif known == ".npz":
        return _arrays(source, positive)
    elif known == TABLE:
        names, features, labels, c = _csv(path, label, weights, drop)
    else:
        features, labels = _svmlight(path)
    X = _features(source, features)
    return Dataset(source, X, _two_classes(source, labels, len(X), positive, classes), c=c, features=names)


@dataclass(frozen=True)
class Table:
    """Examples as a source has them: labels of any kind and number, features with their names.

    Attributes
    ----------
    name
        The name or path it was loaded from.
    X
        Features, shape (N, features).
    labels
        Whole numbers, other numbers or texts, shape (N,); None where the source has none.
    features
        Names of the features, () where the source has none.
    c
        Sample weights, shape (N,), where the source holds them.
    unread
        Names of columns or arrays that are none of these.
    """

    name: str
    X: Float[Array, "N features"]
    labels: npt.NDArray[Any] | None
    features: tuple[str, ...] = ()
    c: Any = None
    unread: tuple[str, ...] = ()


def _label(name: str, value: object) -> object:
    """Return what may be a label: a text, a number or a flag."""
    if not isinstance(value, str | bool | np.bool_) and not is_a_number(value):
        raise refused(name, "the label of a class, a text or a number", value, "Pass one of the labels.", DataError)
    return value


def _named(source: object) -> str:
    """Return the name or the path of a data set, which is not read as a path: `./wine` is none of ours."""
    file_path("source", source, DataError)
    return os.fspath(cast("str | os.PathLike[str]", source))


def _check_dropped(source: str, known: object, drop: Sequence[str]) -> None:
    """Refuse columns by name where columns have none."""
    if drop and known != TABLE:
        raise DataError(f"expected a CSV file for columns by name; got {source!r}. Leave out drop=...")


def load_table(source: str, label: str = DEFAULT_LABEL, weights: str | None = None, drop: Sequence[str] = ()) -> Table:
    """Load what a classifier is fitted to: labels as they are, of two classes or more.

    Parameters
    ----------
    source, label, weights
        As in `load_dataset`; an npz file must hold X and y, and may hold weights as c.
    drop
        As in `load_dataset`.

    Raises
    ------
    DataError
        As `load_dataset`, but for the number of classes; or a column to drop is not there.

    Warns
    -----
    UserWarning
        As `load_dataset`.
    """
    drop = listed_names("drop", drop)
    path, known = Path(source), _found(source)
    if known != TABLE and weights is not None:
        raise DataError(f"expected a CSV file for weights in a column; got {source!r}. Leave out weights=...")
    _check_dropped(source, known, drop)
    names, c, unread = (), None, ()
    if known == TABLE:
        names, features, labels, c = _csv(path, label, weights, drop)
    else:
        features, labels, names, c, unread = _unnamed(source, known)
    X = _features(source, features)
    if labels is None:
        raise DataError(f"{source} must hold arrays X and y; it holds no y. There is nothing to learn.")
    return Table(source, X, _as_they_are(source, labels, len(X)), names, c, unread)


def load_features(source: str, names: Sequence[str], count: int, label: str = DEFAULT_LABEL) -> Table:
    """Load what a classifier predicts from: the features that it was fitted to, whatever else the source holds.

    Parameters
    ----------
    source
        As in `load_dataset`.
    names
        Names of the features, by which the columns of a CSV file are found in any order; () where there are none: then
        the columns are taken in their order.
    count
        Number of features.
    label
        The column of a CSV file that holds the class, if it is there and is no feature.

    Raises
    ------
    DataError
        The source is unknown or unreadable, a column is missing or there are more or fewer, a feature is no number.
    """
    known = _found(source)
    unread: tuple[str, ...] = ()
    if known == TABLE:
        features, labels, unread = _csv_features(Path(source), names, label)
    else:
        features, labels, _, _, unread = _unnamed(source, known, count)
    X = _features(source, features)
    if X.shape[1] != count:
        raise DataError(
            f"{source} must have the {count} features of the model; it has {X.shape[1]}. "
            f"Leave out what is no feature, or name the column of the classes with label=... (here {label!r})."
        )
    # Examples that are to be told apart may have a column for the class that is blank.
    blank = labels is None or any(_is_no_label(key) for key in map(_key, np.ravel(labels)))
    return Table(source, X, None if blank else _as_they_are(source, labels, len(X)), tuple(names), None, unread)


def _unnamed(source: str, known: str | Sequence[str], count: int | None = None) -> tuple[Any, Any, Any, Any, Any]:
    """Return features, labels, names of the features, weights and what is not read, of what is no CSV file."""
    if known == EMBEDDED:
        return *_embedded(source)[:3], None, ()
    if known != ".npz":
        return *_svmlight(Path(source), count), (), None, ()
    arrays = read_npz(Path(source))
    if "X" not in arrays:
        raise DataError(f"{source} must hold features as an array X; it holds {', '.join(arrays) or 'none'}.")
    X = _features(source, arrays["X"])
    c = _weights(source, {name: array for name, array in arrays.items() if name == "c"}, len(X)).get("c")
    return X, _labels(source, arrays), (), c, _others(arrays, ("X", "y", "c"))


def _found(source: str) -> str | Sequence[str]:
    """Return what kind of source it is: its suffix, `TABLE`, or `EMBEDDED`."""
    path = Path(source)
    if source in EMBEDDED and not os.path.isfile(source):
        return EMBEDDED
    if os.path.isdir(source):
        raise DataError(f"expected a file; {source!r} is a directory. Name the file in it.")
    if not os.path.isfile(source):  # unlike Path.is_file, False for a name that is too long
        raise DataError(
            f"expected a file or one of {', '.join(EMBEDDED)}; there is no file {source!r}."
            + ((path.suffix == "" and nearest(source, EMBEDDED)) or " Check the path.")
        )
    return TABLE if kind(path) in SEPARATORS else kind(path)


def _others(arrays: Iterable[str], read: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the arrays that are not read."""
    return tuple(sorted(set(arrays) - set(read)))


def _embedded(name: str) -> tuple[Any, Any, tuple[str, ...], tuple[str, ...]]:
    """Return X, labels, names of the features and names of the classes of one of scikit-learn's own sets."""
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")()
    return bunch.data, bunch.target, tuple(map(str, bunch.feature_names)), tuple(map(str, bunch.target_names))


def _svmlight(path: Path, count: int | None = None) -> tuple[Any, Any]:
    """Read svmlight text; of so many features, where it is known."""
    from sklearn.datasets import load_svmlight_file

    content = read_bytes(path)
    if not content.strip():
        raise DataError(f"{path} is empty. Expected lines 'label index:value ...'.")
    if content.startswith(NPY):
        raise DataError(
            f"{path} is one array of NumPy; expected named ones. Write them with np.savez(file, X=X, y=y), or "
            "np.savez(file, U=U) for margins."
        )
    if named := re.search(rb"^[^#\n]*_", content, re.MULTILINE):
        line = content.count(b"\n", 0, named.start()) + 1
        raise DataError(
            f"{path}, line {line}: expected svmlight text, numbers alone; got an underscore. Mend the number, or write "
            "classes that are words into a CSV file."
        )
    try:
        X, y = load_svmlight_file(io.BytesIO(content), n_features=count)
    except (ValueError, OverflowError) as failure:
        reason = str(failure)[:200].rstrip(".")
        raise DataError(
            f"{path} is not svmlight text ('label index:value ...'): {reason}.{_table_instead(content)}"
        ) from failure
    if (np.abs(y) >= WHOLE).any():
        raise DataError(
            f"{path}: labels of svmlight text must be smaller than 2^53 = {WHOLE:.0f}, from which float64 merges whole "
            "numbers. Number the classes anew, or write them into a CSV file."
        )
    return X, y


def _table_instead(content: bytes) -> str:
    """Return what to do with text that looks like a table; "" where it does not."""
    first = content.strip().partition(b"\n")[0].decode(errors="replace")
    found = [suffix for suffix, sign in SEPARATORS.items() if sign in first and ":" not in first]
    return f" It looks like a table: give the file the ending {found[0]}, and a header line." if found else ""


def _csv(path: Path, label: str, weights: str | None, drop: Sequence[str]) -> tuple[tuple[str, ...], Any, Any, Any]:
    """Read a table with a header, a label column and, where it is named, a column of weights."""
    header, rows = read_table(path)
    if label not in header:
        remedy = " Name it with label=..." if len(header) > 1 else " Cells must be separated by commas."
        # Nobody who names no column has misspelt one: names that are near "label" would mislead.
        unknown = f"none is called {label!r}. Known: {listed_briefly(header)}."
        said = unknown if label == DEFAULT_LABEL else unknown_name("column", label, header)
        raise DataError(f"{path} has no label column: {said}{other_separator(path, header) or remedy}")
    if weights is not None and weights not in header:
        raise DataError(f"{path} has no such column: {unknown_name('column', weights, header)} Mend weights=...")
    if weights == label:
        raise DataError(f"{path}: expected one column for the class and one for the weights; got {label!r} for both.")
    dropped = _dropped(header, drop)
    unknown = next((name for name in dropped if name not in header or name in (label, weights)), None)
    if unknown is not None and unknown in (label, weights):
        what = "classes" if unknown == label else "weights"
        raise DataError(f"{path}: {unknown!r} is the column of the {what}, which is no feature anyway. Mend drop=...")
    if unknown is not None:
        others = [known for known in header if known not in (label, weights)]
        raise DataError(f"{path} has no such column to drop: {unknown_name('column', unknown, others)} Mend drop=...")
    at, left_out = place(path, header, label), {label, *dropped}
    names = [name for name in header if name not in left_out]
    columns = places(path, header, names)
    table, labels, lines = _numbers(path, header, rows, columns, f"every column but {label!r}", _ENCODE, at)
    blank = next((line for line, text in zip(lines, labels, strict=True) if _is_no_label(_key(text))), None)
    if blank is not None:
        raise DataError(
            f"{path}, line {blank}: every example must have a label; there is none in column {label!r}. "
            "Leave that row out."
        )
    _warn_of_index(path, [name for name in names if name != weights])
    if weights is None:
        return tuple(names), table, labels, None
    of_weights = names.index(weights)
    c = table[:, of_weights]
    _check_sum(str(path), c)
    del names[of_weights]
    return tuple(names), np.delete(table, of_weights, axis=1), labels, c


_ENCODE = " Encode it, or leave it out with drop=..."


def _warn_of_index(path: Path, names: Sequence[str]) -> None:
    """Say which feature is the index of a data frame by its name."""
    for name in filter(UNNAMED.fullmatch, names):
        warnings.warn(
            f"{path}: the column {name!r} is the index of a data frame, by its name, and is taken as a feature. Leave "
            f'it out (--drop "{name}", in Python drop=[{name!r}]), or write the file with index=False.',
            stacklevel=4,
        )


def _dropped(header: list[str], drop: Sequence[str]) -> list[str]:
    """Return the columns to leave out: names as they are in the header, or names with commas between."""
    names: list[str] = []
    for text in map(str.strip, drop):
        names += [text] if text in header else [name.strip() for name in text.split(",") if name.strip()]
    return names


def _csv_features(path: Path, names: Sequence[str], label: str) -> tuple[Any, Any, tuple[str, ...]]:
    """Return named columns of a table, labels if it has them, and the names of the other columns."""
    header, rows = read_table(path)
    wanted, known = set(names), set(header)
    at = place(path, header, label) if label in known and label not in wanted else None
    missing = [name for name in names if name not in known]
    if missing:
        raise DataError(
            f"{path} must have the columns that the model was fitted to; it lacks {_some(missing)}. "
            f"It has {_some(header)}.{other_separator(path, header)}"
        )
    columns = places(path, header, names) if names else [j for j in range(len(header)) if j != at]
    table, labels, _ = _numbers(path, header, rows, columns, "every feature", "", at)
    used = set(columns)
    return (
        table,
        None if at is None else labels,
        tuple(name for j, name in enumerate(header) if j != at and j not in used),
    )


def _some(names: Sequence[str], most: int = 6) -> str:
    """Return the first of some names."""
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def _numbers(
    path: Path, header: list[str], rows: Rows, columns: list[int], which: str, remedy: str, label: int | None
) -> tuple[Float[Array, "N columns"], npt.NDArray[Any], list[int]]:
    """Return columns of finite numbers, the column of the labels (empty for none), and the lines of the rows."""
    numbers, lines, labels = Numbers(path, len(columns)), list[int](), list[str]()
    for line, cells in rows:
        try:
            numbers.add(to_numbers([cells[j] for j in columns]))
        except ValueError as failure:
            if isinstance(failure, DataError):
                raise
            j = next(j for j in columns if not is_number(cells[j]))
            cell = cells[j].strip().lower()
            raise DataError(
                f"{path}, line {line}: {which} must be a number; {failure if cell else 'there is none'} in column "
                f"{header[j]!r}.{REMEDY if cell in MISSING else remedy}"
            ) from None
        lines.append(line)
        if label is not None:
            labels.append(meant(cells[label].strip()))
    if not lines:
        raise DataError(f"{path} has a header and no rows.")
    table = numbers.table()
    if not np.isfinite(table).all():
        n, k = np.argwhere(~np.isfinite(table))[0]
        raise DataError(
            f"{path}, line {lines[n]}: {which} must be finite; got {table[n, k]} in column {header[columns[k]]!r}."
            + (REMEDY if np.isnan(table[n, k]) else " Mend the cell, or leave the row out.")
        )
    return table, np.array(labels, dtype=object), lines


def _arrays(source: str, positive: str | None) -> Dataset:
    """Read an npz file of X and y, or of U, and of c and d0 where they are there."""
    arrays = read_npz(Path(source))
    if "U" in arrays:
        U = arrays["U"]
        if U.ndim != 2 or 0 in U.shape:
            raise DataError(f"{source}: U must have shape (N, t) and not be empty; got {U.shape}. Save the margins.")
        return Dataset(source, U=U, **_weights(source, arrays, len(U)), unread=_others(arrays, ("U", "c", "d0")))
    if not {"X", "y"} <= arrays.keys():
        raise DataError(f"{source} must hold arrays X and y, or U; it holds {', '.join(arrays) or 'none'}.")
    X = _features(source, arrays["X"])
    y = _two_classes(source, _labels(source, arrays), len(X), positive)
    unread = _others(arrays, ("X", "y", "c", "d0"))
    return Dataset(source, X, y, **_weights(source, arrays, len(X)), unread=unread)


def _labels(source: str, arrays: dict[str, Any]) -> Any:
    """Return y, where it is there."""
    labels = arrays.get("y")
    if labels is not None and labels.dtype.kind == "c":
        raise DataError(f"{source}: y must be numbers or texts; got {labels.dtype}. Complex numbers have no order.")
    return labels


def _weights(source: str, arrays: dict[str, Any], N: int) -> dict[str, Any]:
    """Return c and d0, where they are there."""
    weights = {name: arrays[name] for name in ("c", "d0") if name in arrays}
    for name, values in weights.items():
        if values.dtype.kind not in "biuf" or values.shape != (N,):
            raise DataError(
                f"{source}: {name} must be one number for each example, shape ({N},); "
                f"got {values.shape} of {values.dtype}."
            )
    if "c" in weights:
        _check_sum(source, weights["c"])
    return weights


def _check_sum(source: str, c: npt.NDArray[Any]) -> None:
    """Refuse multiplicities of which every one is finite, and their sum is not."""
    with np.errstate(over="ignore"):
        if np.isfinite(c).all() and not np.isfinite(c.sum()):
            raise DataError(f"{source}: the multiplicities c must have a finite sum; it overflows. Scale them.")


def _features(source: str, features: Any) -> Float[Array, "N features"]:
    """Return dense finite features."""
    if scipy.sparse.issparse(features):
        _check_dense(source, features)
        features = features.toarray()
    given = np.asarray(features)
    if given.dtype.kind not in "biuf" or given.ndim != 2 or 0 in given.shape:
        raise DataError(
            f"{source}: X must be numbers of shape (N, features), not empty; got {given.shape} of {given.dtype}."
        )
    with np.errstate(over="ignore"):  # what only a longer float can hold is infinite here
        X = given.astype(np.float64, copy=False)
    if not np.isfinite(X).all():
        n, j = np.argwhere(~np.isfinite(X))[0]
        raise DataError(f"{source}: every feature must be finite; got {X[n, j]} at row {n}, feature {j}.")
    return X


def _check_dense(source: str, features: Any) -> None:
    """Refuse sparse features that are too large as a dense array, or that no array could be meant by."""
    entries = features.shape[0] * features.shape[1]
    if 8 * entries > DENSE_LIMIT:
        raise DataError(
            f"{source} has features of shape {features.shape}: too large to hold as a dense array, of at most "
            f"{DENSE_LIMIT:,} bytes. Leave out features, or mend the largest index."
        )
    if 8 * entries > SMALL and entries > SPARSEST * features.nnz:
        raise DataError(
            f"{source} has features of shape {features.shape}, and {features.nnz} that are not 0: too few for a dense "
            f"array of {8 * entries:,} bytes. Mend the largest index, or number the features without holes."
        )


def _two_classes(
    source: str, labels: Any, N: int, positive: str | None, names: Sequence[str] = ()
) -> Int8[Array, " N"]:
    """Return labels -1 and 1; classes 0, 1, ... may have names."""
    keys = _keys(source, labels, N)
    classes = sorted(set(keys.tolist()), key=lambda key: (isinstance(key, str), key))
    said = [f"{q} ({name})" if name != str(q) else name for q, name in enumerate(names)] or list(map(str, classes))
    if positive is not None:
        given = _label("positive", positive)
        wanted = float(names.index(positive)) if given in names else _key(given)
        if wanted not in classes:
            known, near = ", ".join(said) if names else listed(said), nearest(positive, names or said)
            raise DataError(f"{source}: unknown class {shown(positive)}.{near} Known: {known}.")
        y = np.where(keys == wanted, 1, -1).astype(np.int8)
    else:
        y = np.where(keys == classes[-1], 1, -1).astype(np.int8)
    if len(classes) == 1:
        raise DataError(
            f"{source} must have exactly two classes; all its examples are of one, {said[0]}. There is nothing to "
            "tell apart."
        )
    if positive is None and len(classes) != 2:
        some = ", ".join(said[:6]) + (", ..." if len(said) > 6 else "")
        raise DataError(
            f"{source} must have exactly two classes; it has {len(classes)} ({some}). "
            "Set one against the others with positive=..."
        )
    return y


def _as_they_are(source: str, labels: Any, N: int) -> npt.NDArray[Any]:
    """Return labels as whole numbers, as numbers or as texts: the first that all of them are."""
    keys = _keys(source, labels, N).tolist()
    if all(_is_whole(key) for key in keys):
        return np.array([int(key) for key in keys], dtype=np.int64)
    if all(isinstance(key, float) and math.isfinite(key) for key in keys):
        return np.array(keys)
    texts = [_text(label) for label in labels]
    # An array of texts has room for the longest in each place, four bytes a letter.
    if 4 * N * max(map(len, texts)) > DENSE_LIMIT:
        raise DataError(f"{source}: labels must be short; got one of {max(map(len, texts)):,} letters. Mend it.")
    return np.array(texts)


def _is_whole(key: float | str) -> bool:
    """Whether a label is a whole number that int64 holds, and is known to be that one and no other."""
    if isinstance(key, float):
        return abs(key) < WHOLE and key.is_integer()
    return isinstance(key, int) and -(1 << 63) <= key < 1 << 63


def _keys(source: str, labels: Any, N: int) -> npt.NDArray[np.object_]:
    """Return the label of each example, as a number where it is one."""
    labels = np.asarray(labels)
    if labels.shape != (N,):
        raise DataError(f"{source}: there must be one label for each of {N} examples; got shape {labels.shape}.")
    keys = np.array([_key(label) for label in labels], dtype=object)
    for n, key in enumerate(keys):
        if _is_no_label(key):
            raise DataError(f"{source}: every example must have a label; row {n} has none. Leave that row out.")
    return keys


def _is_no_label(key: float | str) -> bool:
    """Whether a label is blank or nan."""
    return key == "" or key != key


def _key(label: Any) -> float | str:
    """A label as the number that it is, an int where float64 might not hold it, else as text."""
    text = _text(label)
    try:
        value = float(label) if isinstance(label, np.bool | np.integer | np.floating) else to_number(text)
    except ValueError:
        return text
    if not abs(value) >= WHOLE:
        return value
    if isinstance(label, np.floating):
        return value if value == label else text
    try:
        return int(text)
    except ValueError:
        return value if _is_exact(text, value) else text


def _is_exact(text: str, value: float) -> bool:
    """Whether a text says this number and none that float64 rounds to it."""
    try:
        return Decimal(text) == value
    except InvalidOperation:  # an exponent beyond all bounds
        return False


def _text(label: Any) -> str:
    """A label as it is written."""
    return (label.decode(errors="replace") if isinstance(label, bytes) else str(label)).strip()
