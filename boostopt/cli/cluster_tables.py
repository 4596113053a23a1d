"""Tables of parquet files on a Dask cluster: the connection, labels and numeric columns, predictions, accuracy."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.base import compute
from dask.delayed import delayed
from distributed import Client, LocalCluster, Security, WorkerPlugin, rpc
from distributed.utils import silence_logging_cmgr

from boostopt._utils.array_types import Array
from boostopt.errors import BoostoptError, DataError, ProblemError, reason_of, short_repr

LOCAL = "local"
"""The address that stands for a temporary cluster on this machine."""

CONNECT_TIMEOUT = 5.0
"""Seconds within which a scheduler must answer."""

MAX_REASON_LENGTH = 300
"""Number of characters of a reason that a message shows."""

CLUSTER_ERRORS = (Exception, asyncio.CancelledError)
"""Errors that a task or a lost connection may raise: tasks may raise any error."""


@contextmanager
def cluster_connection(address: str) -> Generator[None]:
    """Connect to a cluster, whose workers then hold the rows; the scheduler keeps running afterwards.

    Parameters
    ----------
    address
        The address of a scheduler, host:port; or "local" for a temporary cluster with a process for each core.

    Raises
    ------
    ProblemError
        There is no scheduler, or it has no workers; or work on the cluster raises an error that is not boostopt's.
    DataError
        A worker cannot read a file.
    """
    try:
        # The events that Dask logs also raise errors.
        with silence_logging_cmgr(logging.CRITICAL), _client(address):
            yield
    except BoostoptError:
        raise
    except (FileNotFoundError, PermissionError) as failure:
        raise DataError(
            f"every worker of the cluster must be able to read the data; one cannot: {_short_reason(failure)}. Put "
            "the files where all workers find them by the same name: a shared folder, or a store such as s3://..."
        ) from failure
    except CLUSTER_ERRORS as failure:
        raise ProblemError(
            f"the work on the cluster failed: {type(failure).__name__}: {_short_reason(failure)}. Check the "
            "output of the workers: each must have boostopt in this version, and memory for its share of the rows."
        ) from failure


@contextmanager
def _client(address: str) -> Generator[None]:
    """Open the default client of a scheduler, or of a temporary cluster."""
    if address != LOCAL:
        _check_scheduler(address)
        with Client(address, timeout=CONNECT_TIMEOUT):
            yield
        return
    options: Any = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.register_plugin(_IgnoreInterrupts())
        yield


class _IgnoreInterrupts(WorkerPlugin):
    """A plugin by which workers ignore Ctrl-C, which reaches all processes of a terminal; the client stops them."""

    def setup(self, worker: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _short_reason(failure: BaseException) -> str:
    """Return the first characters of the message of an error, on one line."""
    return reason_of(" ".join(str(failure).split()) or "no reason is given", MAX_REASON_LENGTH)


def _check_scheduler(address: str) -> None:
    """Raise ProblemError unless there is a scheduler with workers."""
    # A client without a scheduler leaves threads behind, which print tracebacks at the end of the process.
    try:
        identity = asyncio.run(asyncio.wait_for(_identity(address), CONNECT_TIMEOUT + 1.0))
    except (
        OSError,
        ValueError,
        TypeError,
    ) as failure:  # TypeError for an address with TLS if Dask is not configured for TLS
        raise ProblemError(
            f"expected the address of a Dask scheduler, host:port, or {LOCAL}; got {address!r}: "
            f"{_short_reason(failure)}. Start one by `dask scheduler`, and workers by `dask worker HOST:PORT`."
        ) from failure
    if identity.get("type") != "Scheduler":
        raise ProblemError(
            f"expected the address of a Dask scheduler; got {address!r}, that of a {identity.get('type')}. Pass the "
            "one that `dask scheduler` prints."
        )
    if not identity["workers"]:
        raise ProblemError(
            f"expected a Dask cluster with workers; the scheduler {address} has none yet. Start some: `dask worker "
            f"{address}`."
        )


async def _identity(address: str) -> dict[str, Any]:
    """Return the self-description of a Dask server."""
    connection_args: Any = Security().get_connection_args("client")
    server: Any = rpc(address, timeout=CONNECT_TIMEOUT, connection_args=connection_args)
    try:
        return await server.identity()
    finally:
        await server.close_rpc()


def read(source: str | Sequence[str]) -> Any:
    """Return the lazy table of parquet files, with texts as column names.

    Parameters
    ----------
    source
        Paths of files, or an address of such files.

    Raises
    ------
    DataError
        This process cannot read the columns of the files.
    """
    address: Any = source if isinstance(source, str) else list(source)
    try:
        table: Any = dd.read_parquet(address)
    except Exception as failure:  # each file system has its own errors
        reason = _short_reason(failure.__cause__ or failure)
        raise DataError(
            f"expected parquet files; {short_repr(source)} cannot be read here: {reason}. Check the address, "
            "and install the file system that it needs."
        ) from failure
    return table.rename(columns={name: str(name) for name in table.columns})


def unique_values(table: Any, column: str) -> tuple[Array, int]:
    """Return the different values of a column, and the number of rows without a value."""
    results: Any = compute(*(delayed(_unique_of_part, pure=False)(part, column) for part in table.to_delayed()))
    unique = pd.Series([value for values, _ in results for value in values]).unique()
    return np.asarray(unique), sum(n_missing for _, n_missing in results)


def _unique_of_part(part: Any, column: str) -> tuple[list[Any], int]:
    """Return the different values of a column in one partition, and the number of rows without a value."""
    values = part[column].dropna()
    return np.asarray(values.unique()).tolist(), len(part) - len(values)


def numeric_table(
    table: Any, features: Sequence[str], labels: str, new_labels: Mapping[Any, Any], weights: str | None
) -> Any:
    """Return a table with features and weights as numbers, and with new labels.

    Parameters
    ----------
    table
        A Dask data frame.
    features, labels, weights
        The names of the columns; None for no weights.
    new_labels
        The new label for each label of the table.
    """
    numbers = list(features) if weights is None else [*features, weights]
    columns, task = table[[*numbers, labels]], partial(_numeric_part, numbers, labels, new_labels)
    return columns.map_partitions(task, meta=task(columns._meta))


def _numeric_part(numbers: Sequence[str], labels: str, new_labels: Mapping[Any, Any], part: Any) -> Any:
    """Return one partition with some columns as numbers, and with new labels."""
    dtypes = {name: part[name].dtype for name in numbers}
    part = part.astype({name: float for name, kind in dtypes.items() if not _is_numpy_number(kind)})
    codes, values = pd.factorize(np.asarray(part[labels]))
    label_dtype = np.asarray(list(new_labels.values())).dtype
    converted = np.array([new_labels[value] for value in values.tolist()], label_dtype)
    return part.assign(**{labels: converted[codes]})


def _is_numpy_number(kind: Any) -> bool:
    """Return whether the type of a column is a real number type of NumPy."""
    return isinstance(kind, np.dtype) and kind.kind in "iuf"


def write(table: Any, columns: Sequence[str], task: Callable[[Array], Mapping[str, Array]], folder: str) -> None:
    """Write the results of a task on the rows of a table into parquet files, one for each partition.

    Parameters
    ----------
    table
        A Dask data frame.
    columns
        The names of columns of numbers.
    task
        A function from rows, shape (n, columns), to results by name, one value a row. A call with a row of zeros gives
        the types of the results.
    folder
        The folder into which all workers write.
    """
    sample = pd.DataFrame(task(np.zeros((1, len(columns)))))[:0]
    results = table[list(columns)].map_partitions(partial(_apply_to_part, task, sample), meta=sample)
    results.to_parquet(folder, write_index=False)


def _apply_to_part(task: Callable[[Array], Mapping[str, Array]], sample: Any, part: Any) -> Any:
    """Return the results of a task on one partition; the empty sample for an empty partition."""
    return pd.DataFrame(task(part.to_numpy(float))) if len(part) else sample


def accuracy_counts(
    table: Any, features: Sequence[str], labels: str, predict: Callable[[Any], Array]
) -> dict[Any, list[int]]:
    """Return the number of rows and the number of correct predictions, by label."""
    task = partial(_count_part, list(features), labels, predict)
    results: Any = compute(*(delayed(task, pure=False)(part) for part in table.to_delayed()))
    sums: dict[Any, list[int]] = {}
    for counts in results:
        for label, (n_rows, n_correct) in counts.items():
            total = sums.setdefault(label, [0, 0])
            total[0] += n_rows
            total[1] += n_correct
    return sums


def _count_part(
    features: list[str], labels: str, predict: Callable[[Any], Array], part: Any
) -> dict[Any, tuple[int, int]]:
    """Return the number of rows and the number of correct predictions of one partition, by label."""
    if len(part) == 0:
        return {}
    y = part[labels].to_numpy()
    is_correct = np.asarray(predict(part[features])) == y
    return {
        label.item() if hasattr(label, "item") else label: (int((y == label).sum()), int(is_correct[y == label].sum()))
        for label in np.unique(y)
    }
