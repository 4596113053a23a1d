"""Rows on a Dask cluster: the examples and the predictions of the commands that have the option `--cluster`."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from boostopt._utils.files import lack_of
from boostopt._utils.formatting import format_count
from boostopt.cli.oracle_options import validate_oracle_options
from boostopt.data.class_labels import is_missing, missing_label
from boostopt.data.labelled_tables import feature_names, require_columns, warn_about_index_column
from boostopt.data.parquet import ParquetFiles, is_numeric, not_numeric_error, parquet_files
from boostopt.errors import DataError, OptionError, short_repr
from boostopt.oracles.binned_class import BinnedClass

BINNED = "binned"
"""The hypothesis class that the workers of a cluster support: binned stumps."""


@contextmanager
def cluster_connection(address: str) -> Generator[None]:
    """Connect to a cluster, whose workers hold the rows.

    Raises
    ------
    OptionError
        Dask is not installed.
    ProblemError
        There is no such cluster, or work on it fails.
    """
    try:
        from boostopt.cli import cluster_tables as clusters
    except ModuleNotFoundError as missing:
        raise OptionError(f"--cluster needs Dask: {missing}. Install it: pip install 'boostopt[dask]'.") from missing
    with clusters.cluster_connection(address):
        yield


def reject_distributed(**options: Any) -> None:
    """Raise OptionError for an option that needs rows in memory."""
    for name, value in options.items():
        if value is not None:
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(
                f"{flag} is for rows in memory; got {short_repr(value)} and --cluster. Leave one of them out."
            )


def validate_binned(name: str | None, options: dict[str, Any], flag: str) -> None:
    """Raise OptionError for a class of hypotheses, or an option of it, that a cluster does not support."""
    if name not in (None, BINNED):
        raise OptionError(
            f"on a cluster {flag} must be {BINNED}, stumps at few thresholds; got {name!r}. Pass {flag} {BINNED}, or "
            "leave out --cluster."
        )
    validate_oracle_options(BINNED, options, flag)


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """Examples on a cluster.

    Attributes
    ----------
    table
        A Dask data frame with the features, the label and the weights.
    features
        Names of the features.
    label, weights
        Names of these columns; None for no weights.
    """

    table: Any
    features: tuple[str, ...]
    label: str
    weights: str | None

    @classmethod
    def read(
        cls,
        source: str,
        label: str,
        weights: str | None,
        drop: Sequence[str],
        convert_labels: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
        missing_values: Sequence[str] | None = None,
    ) -> ClusterTable:
        """Return the examples of parquet files, which the workers read.

        Parameters
        ----------
        source, label, weights, drop, missing_values
            As in `load_dataset`.
        convert_labels
            A function from the different labels of the file, shape (k,), to the labels of the examples, shape (k,).

        Raises
        ------
        DataError
            As `load_dataset`, except that the numbers are not checked.
        """
        from boostopt.cli import cluster_tables as clusters

        table = clusters.read(_worker_paths(source))
        names = feature_names(source, list(table.columns), label, weights, drop)
        _check_numeric(source, table, names if weights is None else [*names, weights])
        warn_about_index_column(source, names)
        labels, missing = clusters.unique_values(table, label)
        spelling = next((value for value in labels.tolist() if is_missing(value, missing_values)), None)
        if missing or spelling is not None:
            raise DataError(f"{source}: {missing_label(None if missing else spelling, label, missing_values)}")
        if len(labels) == 0:
            raise DataError(f"{source} has no rows. Check the path.")
        new_labels = dict(zip(labels.tolist(), convert_labels(labels).tolist(), strict=True))
        return cls(clusters.numeric_table(table, names, label, new_labels, weights), tuple(names), label, weights)

    def oracle(self, options: dict[str, Any], reflexive: bool | None) -> BinnedClass:
        """Return the class of binned stumps over the examples, whose labels must be -1 and 1."""
        from boostopt.estimators.training.hypothesis_classes import make_distributed_class

        return make_distributed_class(
            BINNED, options, reflexive is not False, None, self.table, self.label, self.weights
        )


def predict_on_cluster(
    source: str, names: Sequence[str], count: int, label: str, task: Callable[[Any], Mapping[str, Any]], out: str
) -> tuple[str, ...]:
    """Write the results of a task on features into a folder of parquet files, and return the unread columns.

    Parameters
    ----------
    source, names, count, label
        As in `load_features`.
    task
        A function of rows of features that returns its results by name.
    out
        The folder.

    Raises
    ------
    DataError
        As `load_features`, except that the numbers are not checked; or the folder is not empty.
    """
    from boostopt.cli import cluster_tables as clusters

    if os.path.lexists(out) and not (os.path.isdir(out) and not os.listdir(out)):
        raise DataError(f"expected a new or an empty folder for the predictions; got {out!r}. Name another one.")
    table = clusters.read(_worker_paths(source))
    header = list(table.columns)
    require_columns(source, names, header)
    columns = list(names) or [name for name in header if name != label]
    if len(columns) != count:
        raise DataError(
            f"{source} must have the {format_count(count, 'feature')} of the model; it has {len(columns)}. "
            "Leave out columns "
            f"that are no features, or name the column of the classes with label=... (here {label!r})."
        )
    _check_numeric(source, table, columns)
    clusters.write(table, columns, task, os.path.abspath(out))
    return tuple(name for name in header if name not in {*columns, label})


def _check_numeric(source: str, table: Any, names: Sequence[str]) -> None:
    """Raise DataError for columns that do not hold numbers."""
    kinds = {name: str(table.dtypes[name]) for name in names}
    if not all(map(is_numeric, kinds.values())):
        raise not_numeric_error(source, kinds)


def _worker_paths(source: str) -> str | list[str]:
    """Return the files of a source by absolute paths, which the workers find from any folder, or its address."""
    if "://" in source:
        return source
    files = parquet_files(source)
    if files:
        _ = ParquetFiles(source, files)  # raises an error if something is wrong with the files
        return list(map(os.path.abspath, files))
    if not os.path.isfile(source) and not os.path.isdir(source):
        raise DataError(f"expected parquet files; {lack_of(source)}")
    raise DataError(
        f"rows on a cluster are those of parquet files: one, a folder of them, a pattern of their names, or an address "
        f"such as s3://...; got {source!r}. Write one, say by pandas: pandas.read_csv(...).to_parquet(...)."
    )
