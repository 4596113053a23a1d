"""Forms of sources of examples: names of scikit-learn, tables, parquet, npz and svmlight files, and their readers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from boostopt._utils.files import file_suffix, lack_of, read_npz
from boostopt._utils.validation import check_flag, check_optional, check_path, check_string
from boostopt._utils.validation import check_names as listed_names
from boostopt.data.csv_tables import SEPARATORS
from boostopt.data.labelled_tables import DEFAULT_LABEL, load_labelled_csv
from boostopt.data.parquet import PARQUET_SUFFIX, load_labelled_parquet, parquet_files
from boostopt.data.source_examples import SourceContents, contents_of_npz, load_sklearn_dataset, load_svmlight
from boostopt.errors import DataError, did_you_mean

SKLEARN_DATASETS = ("breast_cancer", "digits", "iris", "wine")
"""The classification data sets of scikit-learn; sets with more than two classes need `positive`."""

SKLEARN_FORM = "embedded"
"""The form of a source that is a data set of scikit-learn."""

CSV_FORM = "table"
"""The form of a source with named columns: CSV, or the same with tabs."""

SPREADSHEET_SUFFIXES = (".xlsx", ".xlsm", ".xls", ".ods")
"""Endings of the files of spreadsheets, which are refused with the way out."""


def load_named_columns(
    source: str,
    form: str,
    label: str,
    weights: str | None,
    drop: Sequence[str],
    missing: Sequence[str] | None,
) -> SourceContents | None:
    """Return the contents of a table without the columns to drop; None for a source without column names."""
    drop, label, weights = (
        listed_names("drop", drop),
        check_string("label", label),
        check_optional(check_string, "weights", weights),
    )
    if form == CSV_FORM:
        return load_labelled_csv(source, label, weights, drop, missing)
    if form == PARQUET_SUFFIX:
        return load_labelled_parquet(source, parquet_files(source), label, weights, drop, missing)
    if weights is not None:
        raise DataError(
            f"expected a CSV or parquet file for weights in a column; got {source!r}. Leave out weights=...: an npz "
            "file holds them as an array c."
        )
    if drop:
        raise DataError(f"expected a CSV or parquet file for columns by name; got {source!r}. Leave out drop=...")
    if label != DEFAULT_LABEL:
        raise DataError(f"expected a CSV or parquet file for labels in a column; got {source!r}. Leave out label=...")
    return None


def check_indices(source: str, zero_based: bool | None) -> bool | None:
    """Return `zero_based`, checked; raise an error if a source without indices has one."""
    if zero_based is not None and not has_indices(source):
        raise DataError(f"expected svmlight text for indices of features; got {source!r}. Leave out zero_based=...")
    return check_optional(check_flag, "zero_based", zero_based)


def load_unnamed(source: str, form: str, zero_based: bool | None = None, count: int | None = None) -> SourceContents:
    """Return the contents of a source without column names; `count` is the number of features, if it is known."""
    if form == ".npz":
        return contents_of_npz(source, read_npz(Path(source)))
    return load_sklearn_dataset(source) if form == SKLEARN_FORM else load_svmlight(source, zero_based, count)


def has_columns(source: str) -> bool:
    """Return whether a source has named columns: a table or parquet files."""
    return source_and_form(source)[1] in (CSV_FORM, PARQUET_SUFFIX)


def has_indices(source: str) -> bool:
    """Return whether the features of a source have indices: svmlight text."""
    return source_and_form(source)[1] not in (CSV_FORM, PARQUET_SUFFIX, ".npz", SKLEARN_FORM)


def source_and_form(source: object) -> tuple[str, str]:
    """Return the name or the path of a source, and its form: its suffix, `CSV_FORM`, or `SKLEARN_FORM`."""
    check_path("source", source, DataError)
    # The name is not read as a path: `./wine` is a file, not an embedded set.
    name = os.fspath(cast("str | os.PathLike[str]", source))
    path = Path(name)
    if name in SKLEARN_DATASETS and not os.path.isfile(name):
        return name, SKLEARN_FORM
    if parquet_files(name):
        return name, PARQUET_SUFFIX
    if os.path.isdir(name):
        raise DataError(f"expected a file or a folder of parquet files; {name!r} has none. Name the file in it.")
    if not os.path.isfile(name):  # unlike Path.is_file, this is False for a name that is too long
        suggestion = did_you_mean(name, SKLEARN_DATASETS) if path.suffix == "" else ""
        lack = lack_of(name)
        raise DataError(
            f"expected a file or one of {', '.join(SKLEARN_DATASETS)}; "
            + (lack.replace(" Check the path.", suggestion) if suggestion else lack)
        )
    suffix = file_suffix(path)
    if suffix in SPREADSHEET_SUFFIXES:
        raise DataError(f"expected a CSV or parquet file of a table; {name!r} is a spreadsheet. Save the sheet as CSV.")
    return name, CSV_FORM if suffix in SEPARATORS else suffix
