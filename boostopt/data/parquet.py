"""Examples in parquet files: a single file, the files of a folder, or the files that match a pattern.

Columns are chosen by the rules of CSV files. An index written by pandas is not a column.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.files import MAX_UNPACKED_BYTES
from boostopt.data.class_labels import is_missing, missing_label
from boostopt.data.labelled_tables import (
    ENCODE_ADVICE,
    MISSING_VALUE_ADVICE,
    feature_names,
    further_columns,
    require_columns,
    warn_about_index_column,
)
from boostopt.data.source_examples import SourceContents
from boostopt.errors import DataError, OptionError, reason_of

PARQUET_SUFFIX = ".parquet"
"""The ending of a parquet file."""


def parquet_files(source: str) -> list[str]:
    """Return the parquet files of a source, sorted by the numbers in their names; none for a source of another kind.

    Raises
    ------
    DataError
        No file matches the pattern, or a folder cannot be read.
    """
    if os.path.isdir(source):
        try:
            names = os.listdir(source)
        except OSError as failure:
            raise DataError(f"{source} cannot be read: {failure.strerror}. Change its permissions.") from failure
        paths = [os.path.join(source, name) for name in names if not name.startswith((".", "_"))]
        return sorted((path for path in paths if _is_parquet_file(path)), key=_natural_sort_key)
    if not source.lower().endswith(PARQUET_SUFFIX) or os.path.lexists(source) or not glob.has_magic(source):
        return [source] if _is_parquet_file(source) else []
    paths = [path for path in glob.glob(source) if _is_parquet_file(path)]
    if not paths:
        raise DataError(f"expected the pattern of some parquet files; there is no file {source!r}. Check the path.")
    return sorted(paths, key=_natural_sort_key)


def _is_parquet_file(path: str) -> bool:
    return path.lower().endswith(PARQUET_SUFFIX) and os.path.isfile(path)


def _natural_sort_key(path: str) -> list[Any]:
    """Return a sort key that puts part 10 after part 2, as Dask numbers them."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]


def load_labelled_parquet(
    source: str,
    files: Sequence[str],
    label: str,
    weights: str | None,
    drop: Sequence[str],
    missing: Collection[str] | None = None,
) -> SourceContents:
    """Return the contents of parquet files with a column of labels and, if it is named, a column of weights."""
    parquet = ParquetFiles(source, files)
    names = feature_names(source, parquet.header, label, weights, drop)
    warn_about_index_column(source, names)
    table = parquet.read([*names, label] if weights is None else [*names, label, weights])
    c = None if weights is None else _numeric_columns(source, table, [weights])[:, 0]
    labels = _label_column(source, table, label, missing)
    return SourceContents(source, _numeric_columns(source, table, names), labels, tuple(names), c=c)


def load_named_parquet(source: str, files: Sequence[str], names: Sequence[str], label: str) -> SourceContents:
    """Return the named columns of parquet files, their labels if there are any, and the names of the other columns."""
    parquet = ParquetFiles(source, files)
    header = parquet.header
    require_columns(source, names, header)
    labelled = label in header and label not in names
    columns = list(names) or [name for name in header if name != label]
    table = parquet.read([*columns, label] if labelled else columns)
    labels = _label_column(source, table, label, is_optional=True) if labelled else None
    unread = tuple(name for name in header if name not in {*columns, label})
    return SourceContents(source, _numeric_columns(source, table, columns), labels, tuple(names), unread=unread)


class ParquetFiles:
    """Parquet files with the same columns. Only their metadata is read at first.

    Attributes
    ----------
    header
        The columns, without index columns.

    Raises
    ------
    DataError
        A file is not parquet, has other columns than the first file, or has two columns of one name; or there are no
        rows.
    OptionError
        pyarrow is not installed.
    """

    def __init__(self, source: str, files: Sequence[str]) -> None:
        self._arrow, self._parquet = _import_pyarrow("pyarrow"), _import_pyarrow("pyarrow.parquet")
        self._source, self._files = source, files
        self._rows, self.header = 0, list[str]()
        for path in files:
            metadata = self._call_pyarrow(path, self._parquet.read_metadata)
            header = _column_names(metadata.schema.to_arrow_schema())
            if path == files[0]:
                self.header: list[str] = header
            elif set(header) != set(self.header):
                different_column = sorted(set(header) ^ set(self.header))[0]
                raise DataError(
                    f"{source}: the files must have the same columns; {files[0]} and {path} differ in "
                    f"{different_column!r}. Name files that belong together."
                )
            self._rows += int(metadata.num_rows)
        repeated = next((name for k, name in enumerate(self.header) if name in self.header[:k]), None)
        if repeated is not None:
            raise DataError(f"{source} has two columns {repeated!r}. Keep the one that is meant.")
        if not self._rows:
            raise DataError(f"{source} has no rows. Check the path.")

    def read(self, columns: list[str]) -> Any:
        """Return some columns of all rows, as an Arrow table."""
        if 8 * self._rows * len(columns) > MAX_UNPACKED_BYTES:
            raise DataError(
                f"{self._source} must have at most {MAX_UNPACKED_BYTES:,} bytes as an array of numbers; {self._rows} "
                f"rows of {len(columns)} columns have more. Leave out rows or columns, or boost on a cluster: "
                "--cluster local."
            )
        parts = [
            self._call_pyarrow(path, lambda path: self._parquet.ParquetFile(path).read(columns)) for path in self._files
        ]
        try:
            return self._arrow.concat_tables([part.select(columns) for part in parts], promote_options="permissive")
        except self._arrow.ArrowException as failure:
            raise DataError(
                f"{self._source}: a column must be of one kind in all files: {_first_line(failure)}. Write them anew."
            ) from failure

    def _call_pyarrow(self, path: str, reader: Any) -> Any:
        try:
            return reader(path)
        except (OSError, self._arrow.ArrowException) as failure:
            raise DataError(
                f"{path} is not a readable parquet file: {_first_line(failure)}. Write it anew."
            ) from failure


def _import_pyarrow(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        raise OptionError(
            f"parquet files need pyarrow: {missing}. Install it: pip install 'boostopt[dask]'."
        ) from missing


def _first_line(failure: Exception) -> str:
    return reason_of((str(failure).splitlines() or [""])[0])


def _column_names(schema: Any) -> list[str]:
    """Return the columns of a file, except for an index written by pandas."""
    metadata = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    index = {name for name in metadata.get("index_columns", ()) if isinstance(name, str)}
    return [name for name in schema.names if name not in index]


def _numeric_columns(source: str, table: Any, names: Sequence[str]) -> Float[Array, "N columns"]:
    """Return columns of finite numbers."""
    numbers = np.empty((table.num_rows, len(names)))
    for j, name in enumerate(names):
        column = table.column(name)
        if not is_numeric(str(column.type)):
            raise not_numeric_error(source, {name: str(table.column(name).type) for name in names[j:]})
        numbers[:, j] = column.cast("float64", safe=False).to_numpy()
    if not np.isfinite(numbers).all():
        n, j = np.argwhere(~np.isfinite(numbers))[0]
        raise DataError(
            f"{source}, row {n}: every feature must be finite; got {numbers[n, j]} in column {names[j]!r}."
            + (MISSING_VALUE_ADVICE if np.isnan(numbers[n, j]) else " Correct the cell, or leave the row out.")
        )
    return numbers


def is_numeric(kind: str) -> bool:
    """Return whether the name of an Arrow or pandas type denotes numbers."""
    return re.fullmatch(r"u?int\d+|float\d*|half_?float|double|bool(ean)?|null", kind.lower()) is not None


def not_numeric_error(source: str, kinds: Mapping[str, str]) -> DataError:
    """Return the error for features that are no numbers, from the types of columns by name."""
    first, *rest = (name for name, kind in kinds.items() if not is_numeric(kind))
    return DataError(
        f"{source}: every feature must be a number; got {kinds[first]} in column {first!r}{further_columns(rest)}."
        f"{ENCODE_ADVICE}"
    )


def _label_column(
    source: str, table: Any, label: str, missing: Collection[str] | None = None, is_optional: bool = False
) -> Any:
    """Return a column of classes, none of which may be missing unless the column is optional."""
    column = table.column(label)
    if str(column.type).startswith("dictionary"):
        column = column.cast(column.type.value_type)
    labels = column.to_numpy()
    if column.null_count:
        labels = np.where(column.is_null().to_numpy(), "", labels.astype(object))
    if not is_optional:
        for n, value in enumerate(labels.tolist()):
            if is_missing(value, missing):
                raise DataError(f"{source}, row {n}: {missing_label(value, label, missing)}")
    return labels
