"""Tables of parquet files on a Dask cluster: the connection, and what a table is made of before rows are."""

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
"""The address that stands for a cluster of this machine, made for the occasion."""

CONNECT_TIMEOUT = 5.0
"""Seconds in which a scheduler must answer."""

MAX_REASON_LENGTH = 300
"""Characters of a reason that are said."""

CLUSTER_ERRORS = (Exception, asyncio.CancelledError)
"""Errors that a task or a lost connection may raise: any."""


@contextmanager
def cluster_connection(address: str) -> Generator[None]:
    """Make the workers of a cluster those that rows go to; the scheduler goes on afterwards.

    Parameters
    ----------
    address
        That of a scheduler, host:port; or "local" for a process for each core of this machine, and an end of them.

    Raises
    ------
    ProblemError
        There is no scheduler, or it has no workers; or work on the cluster fails by what is no error of boostopt's.
    DataError
        A worker cannot read a file.
    """
    try:
        # What is logged comes back as errors.
        with silence_logging_cmgr(logging.CRITICAL), _client(address):
            yield
    except BoostoptError:
        raise
    except (FileNotFoundError, PermissionError) as failure:
        raise DataError(
            f"every worker of the cluster must be able to read the data; one cannot: {_short_reason(failure)}. Put "
            "them where all find them under one name: a folder that they share, or a store such as s3://..."
        ) from failure
    except CLUSTER_ERRORS as failure:
        raise ProblemError(
            f"the work on the cluster failed: {type(failure).__name__}: {_short_reason(failure)}. Look at what its "
            "workers print: each must have boostopt in this version, and memory for its share of the rows."
        ) from failure


@contextmanager
def _client(address: str) -> Generator[None]:
    if address != LOCAL:
        _check_scheduler(address)
        with Client(address, timeout=CONNECT_TIMEOUT):
            yield
        return
    how: Any = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(**how) as cluster, Client(cluster) as client:
        client.register_plugin(_IgnoreInterrupts())
        yield


class _IgnoreInterrupts(WorkerPlugin):
    """Leaves Ctrl-C, which reaches all processes of a terminal, to the one that ends the others."""

    def setup(self, worker: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _short_reason(failure: BaseException) -> str:
    return reason_of(" ".join(str(failure).split()) or "no reason is given", MAX_REASON_LENGTH)


def _check_scheduler(address: str) -> None:
    """Raise ProblemError unless there is a scheduler with workers."""
    # A client that finds none leaves threads behind, which print tracebacks at the end of the process.
    try:
        its = asyncio.run(asyncio.wait_for(_identity(address), CONNECT_TIMEOUT + 1.0))
    except (OSError, ValueError, TypeError) as failure:  # TypeError for TLS that Dask is not set up for
        raise ProblemError(
            f"expected the address of a Dask scheduler, host:port, or {LOCAL}; got {address!r}: "
            f"{_short_reason(failure)}. Start one by `dask scheduler`, and workers by `dask worker HOST:PORT`."
        ) from failure
    if its.get("type") != "Scheduler":
        raise ProblemError(
            f"expected the address of a Dask scheduler; got {address!r}, that of a {its.get('type')}. Pass the one "
            "that `dask scheduler` prints."
        )
    if not its["workers"]:
        raise ProblemError(
            f"expected a Dask cluster with workers; the scheduler {address} has none yet. Start some: `dask worker "
            f"{address}`."
        )


async def _identity(address: str) -> dict[str, Any]:
    """Return what a server of Dask's says of itself."""
    how: Any = Security().get_connection_args("client")
    server: Any = rpc(address, timeout=CONNECT_TIMEOUT, connection_args=how)
    try:
        return await server.identity()
    finally:
        await server.close_rpc()


def read(source: str | Sequence[str]) -> Any:
    """Return the table of some parquet files, or of an address of such files, which is read when it is computed.

    Raises
    ------
    DataError
        This process cannot read what the table is like.
    """
    address: Any = source if isinstance(source, str) else list(source)
    try:
        table: Any = dd.read_parquet(address)
    except Exception as failure:  # of the file system behind an address, whichever it is
        reason = _short_reason(failure.__cause__ or failure)
        raise DataError(
            f"expected parquet files; {short_repr(source)} cannot be read here: {reason}. Check the address, "
            "and install "
            "what its kind needs."
        ) from failure
    return table.rename(columns={name: str(name) for name in table.columns})


def unique_values(table: Any, column: str) -> tuple[Array, int]:
    """Return the different values of a column, and the number of rows that have none."""
    found: Any = compute(*(delayed(_unique_of_part, pure=False)(part, column) for part in table.to_delayed()))
    values = pd.Series([each for values, _ in found for each in values]).unique()
    return np.asarray(values), sum(missing for _, missing in found)


def _unique_of_part(part: Any, column: str) -> tuple[list[Any], int]:
    there = part[column].dropna()
    return np.asarray(there.unique()).tolist(), len(part) - len(there)


def numeric_table(
    table: Any, features: Sequence[str], labels: str, known: Mapping[Any, Any], weights: str | None
) -> Any:
    """Return a table of features and weights as numbers, and of other labels.

    Parameters
    ----------
    table
        A data frame of Dask's.
    features, labels, weights
        Columns.
    known
        What each label becomes.
    """
    numbers = list(features) if weights is None else [*features, weights]
    chosen, task = table[[*numbers, labels]], partial(_numeric_part, numbers, labels, known)
    return chosen.map_partitions(task, meta=task(chosen._meta))


def _numeric_part(numbers: Sequence[str], labels: str, known: Mapping[Any, Any], part: Any) -> Any:
    dtypes = {name: part[name].dtype for name in numbers}
    part = part.astype({name: float for name, kind in dtypes.items() if not _is_numpy_number(kind)})
    places, values = pd.factorize(np.asarray(part[labels]))
    its = np.array([known[value] for value in values.tolist()], np.asarray(list(known.values())).dtype)
    return part.assign(**{labels: its[places]})


def _is_numpy_number(kind: Any) -> bool:
    """Return whether a column is one of NumPy's numbers already."""
    return isinstance(kind, np.dtype) and kind.kind in "iuf"


def write(table: Any, columns: Sequence[str], task: Callable[[Array], Mapping[str, Array]], folder: str) -> None:
    """Write what a task makes of the rows of some columns into parquet files, one for each part of a table.

    Parameters
    ----------
    table
        A data frame of Dask's.
    columns
        Columns of numbers.
    task
        What it makes of rows, shape (n, columns): values for each of them, by name. It is tried on a row of zeros.
    folder
        Where all workers write.
    """
    like = pd.DataFrame(task(np.zeros((1, len(columns)))))[:0]
    found = table[list(columns)].map_partitions(partial(_write_part, task, like), meta=like)
    found.to_parquet(folder, write_index=False)


def _write_part(task: Callable[[Array], Mapping[str, Array]], like: Any, part: Any) -> Any:
    return pd.DataFrame(task(part.to_numpy(float))) if len(part) else like


def accuracy_counts(
    table: Any, features: Sequence[str], labels: str, predict: Callable[[Any], Array]
) -> dict[Any, list[int]]:
    """Return by label how many rows there are, and how many are predicted right."""
    task = partial(_count_part, list(features), labels, predict)
    found: Any = compute(*(delayed(task, pure=False)(part) for part in table.to_delayed()))
    sums: dict[Any, list[int]] = {}
    for each in found:
        for label, (rows, right) in each.items():
            before = sums.get(label, [0, 0])
            sums[label] = [before[0] + rows, before[1] + right]
    return sums


def _count_part(
    features: list[str], labels: str, predict: Callable[[Any], Array], part: Any
) -> dict[Any, tuple[int, int]]:
    if len(part) == 0:
        return {}
    its = part[labels].to_numpy()
    right = np.asarray(predict(part[features])) == its
    return {
        label.item() if hasattr(label, "item") else label: (int((its == label).sum()), int(right[its == label].sum()))
        for label in np.unique(its)
    }
