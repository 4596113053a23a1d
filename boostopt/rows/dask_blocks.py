"""Blocks of Dask arrays and data frames, and the placement of row blocks on workers.

Only this module, `dask_rows` and `cli/cluster_tables` import Dask.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import delayed
from distributed import get_client, wait

from boostopt._utils.array_types import Array
from boostopt._utils.validation import check_array
from boostopt.errors import BoostoptError, DataError, ProblemError, format_names_truncated, reason_of, short_repr

# Dask's return types are unions that include those of asynchronous clients, so they are Any here.
Client = Future = Any

RETRIES = 3
"""Number of retries of a failed task."""

WORKER_CHECK_SECONDS = 30.0
"""Seconds of waiting after which workers are counted: a worker that ended may start again meanwhile."""

MERGE_FANIN = 16
"""Number of results that one task merges."""


class DaskBlocks:
    """A collection divided into blocks of whole rows.

    Parameters
    ----------
    X, y, c
        Features, labels and multiplicities.
    name
        The name of X in messages.
    labelled
        Whether rows have labels; if not, all labels are 1.
    framed
        Whether tasks get the features of a data frame as a data frame, and not as an array.

    Attributes
    ----------
    client
        The client of the cluster.
    blocks
        Features, labels and multiplicities of each block, delayed; None instead of missing multiplicities.
    features
        Number of features.
    """

    blocks: list[tuple[Any, Any, Any]]
    features: int

    def __init__(self, X: Any, y: Any, c: Any, name: str = "X", labelled: bool = True, framed: bool = False) -> None:
        self.client: Client = _client()
        if isinstance(X, da.Array):
            self.blocks, self.features = _blocks_of_array(name, X, y, c, labelled)
        else:
            self.blocks, self.features = _blocks_of_frame(name, X, y, c, labelled, framed)

    def map_labels(self, task: Callable[..., Any]) -> list[Any]:
        """Return the results of a task for labels and multiplicities of each block."""
        return gather(self.client, self._compute([delayed(task, pure=False)(y, c) for _, y, c in self.blocks]))

    def keep(self, places: Sequence[int]) -> None:
        """Drop all blocks except the chosen ones."""
        self.blocks = [self.blocks[k] for k in places]

    def tree_reduce(self, task: Callable[..., Any], small: Sequence[Any], merge: Callable[..., Any]) -> Any:
        """Return the results of a task for each block and some small arguments, merged in the order of the blocks."""
        results = [
            delayed(task, pure=False)(*block, *arguments) for block, arguments in zip(self.blocks, small, strict=True)
        ]
        while len(results) > 1:
            results = [
                delayed(merge, pure=False)(results[i : i + MERGE_FANIN]) for i in range(0, len(results), MERGE_FANIN)
            ]
        return gather(self.client, self._compute(results))[0]

    def map_blocks(self, task: Callable[..., Any], large: Any) -> list[Future]:
        """Return futures of a task for each block and a large argument, which is sent to the cluster once."""
        sent = delayed(large, pure=False, traverse=False)
        return self._compute([delayed(task, pure=False)(sent, *block) for block in self.blocks])

    def _compute(self, tasks: list[Any]) -> list[Future]:
        return self.client.compute(tasks, retries=RETRIES)


def check_running(client: Client, refusal: type[BoostoptError] = ProblemError) -> None:
    """Raise an error unless a client is connected: ProblemError, or another one if rows are lost with their cluster."""
    if client.status != "running":
        raise refusal(
            f"rows on a cluster need a Dask client that is running; got one that is {client.status}. Make one, keep it "
            "open, and make the oracle with it."
        )


def _client() -> Client:
    """Return the default client."""
    try:
        client = get_client()
    except ValueError as missing:
        raise ProblemError(
            "rows on a cluster need a Dask client; there is none. Make one, also for this machine alone: "
            "client = distributed.Client()."
        ) from missing
    if client.asynchronous:
        raise ProblemError("expected a Dask client that waits; got an asynchronous one. Make distributed.Client().")
    check_running(client)
    _workers(client)
    return client


def _workers(client: Client) -> list[str]:
    """Return the addresses of the workers."""
    workers = list(client.nthreads())
    if not workers:
        raise ProblemError("expected a Dask cluster with workers; it has none yet. Call client.wait_for_workers(1).")
    return workers


def place_on_workers(
    client: Client, parts: Sequence[Future], sizes: Sequence[int]
) -> tuple[list[list[int]], list[Future]]:
    """Return the numbers of the row blocks of each worker, and the shards: the lists of these row blocks.

    A row block stays with a worker that holds it, unless this worker would have more than its share of the rows.
    """
    wait_for_all(client, parts)
    holders, workers = client.who_has(parts), _workers(client)
    max_load = -(-sum(sizes) // len(workers))
    blocks_of_worker: dict[str, list[int]] = {worker: [] for worker in workers}
    load = dict.fromkeys(workers, 0)
    remainder = list[int]()
    for k, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        candidates = [worker for worker in holders.get(part.key, ()) if worker in blocks_of_worker]
        worker = min(candidates, key=load.__getitem__, default=None)
        if worker is None or load[worker] + size > max(max_load, size):
            remainder.append(k)
        else:
            blocks_of_worker[worker].append(k)
            load[worker] += size
    for k in remainder:
        worker = min(workers, key=load.__getitem__)
        blocks_of_worker[worker].append(k)
        load[worker] += sizes[k]
    places = {worker: sorted(numbers) for worker, numbers in blocks_of_worker.items() if numbers}
    # The worker with the row blocks makes the shard if it is alive; another worker may make it again.
    shards = [
        client.submit(
            list,
            [parts[k] for k in numbers],
            key=f"boostopt-shard-{parts[numbers[0]].key}",
            workers=[worker],
            allow_other_workers=True,
            retries=RETRIES,
        )
        for worker, numbers in places.items()
    ]
    wait_for_all(client, shards)
    return list(places.values()), shards


@contextmanager
def task_errors_as_data_errors(futures: Sequence[Future] = ()) -> Generator[None]:
    """Turn an error of a task into a DataError that has its words, such as the name of a file; not one of boostopt.

    Parameters
    ----------
    futures
        Futures that are released if they have failed. Their errors hold the frames that hold them, so nothing else
        would release them, and the cluster would return the same errors when the rows are there again.

    Raises
    ------
    DataError
        The rows cannot be read or computed: a file no longer exists, a task raises, or the rows kill workers.
    """
    try:
        yield
    except Exception as failure:
        for future in futures:
            if future.status == "error":
                future.release()
        if isinstance(failure, BoostoptError):
            raise
        raise DataError(
            f"rows on a cluster must be there for each data pass; got {type(failure).__name__}: "
            f"{reason_of(failure)}. Bring back what is missing, or take more workers or more memory for each "
            "if they died, and make the oracle anew."
        ) from failure


def gather(client: Client, futures: Sequence[Future], end_time: float | None = None) -> list[Any]:
    """Return the results of futures.

    Parameters
    ----------
    client
        The client of the cluster.
    futures
        The futures.
    end_time
        The time on the clock `time.perf_counter` until which the results may wait for workers; None for any time.

    Raises
    ------
    DataError
        A task fails, or no worker is left at the end time.
    """
    wait_for_all(client, futures, end_time)
    with task_errors_as_data_errors(futures):
        return client.gather(futures)


def wait_for_all(client: Client, futures: Sequence[Future], end_time: float | None = None) -> None:
    """Wait for all futures, and raise the error of a failed one; warn if no worker is left.

    Parameters and errors are those of `gather`.
    """
    with task_errors_as_data_errors(futures):
        is_warned = False
        while not _are_done(futures, _check_seconds(end_time)):
            if client.nthreads():
                continue
            address = client.scheduler.address
            if end_time is not None and time.perf_counter() >= end_time:
                raise DataError(
                    f"rows on a cluster need workers; the cluster {address} has none at the time limit. Start workers, "
                    "and make the oracle anew."
                )
            if not is_warned:
                limit = "" if end_time is None else " until the time limit"
                warnings.warn(
                    f"the cluster {address} has no worker: its rows wait for one{limit}. Start workers, or end the "
                    "program.",
                    RuntimeWarning,
                    stacklevel=2,
                )
                is_warned = True
        for future in futures:
            if future.status != "finished":
                future.result()


def _check_seconds(end_time: float | None) -> float:
    """Return the seconds to wait before workers are counted."""
    remaining = math.inf if end_time is None else end_time - time.perf_counter()
    return remaining if 0.0 < remaining < WORKER_CHECK_SECONDS else WORKER_CHECK_SECONDS


def _are_done(futures: Sequence[Future], seconds: float) -> bool:
    """Wait some seconds, and return whether all futures have ended, with a result or an error."""
    try:
        wait(futures, timeout=seconds)
    except TimeoutError:
        return False
    return True


def _blocks_of_array(name: str, X: Any, y: Any, c: Any, labelled: bool) -> tuple[list[tuple[Any, Any, Any]], int]:
    """Return the blocks of an array, and the number of features."""
    if X.ndim != 2 or 0 in X.shape:
        raise ProblemError(
            f"{name} must have shape (N, features), not empty; got {X.shape}. Pass a row for each example."
        )
    if any(np.isnan(size) for chunks in X.chunks for size in chunks):
        raise ProblemError(
            f"{name} must have chunks of known sizes; got shape {X.shape}. Call {name}.compute_chunk_sizes() before, "
            "or pass the data frame that it was made of."
        )
    features = X.rechunk({1: -1})
    rows: Any = (features.chunks[0],)
    labels = _aligned_column(name, "y", y if labelled else da.ones(X.shape[:1], dtype=np.int8, chunks=rows), features)
    copies = [None] * len(labels) if c is None else _aligned_column(name, "c", c, features)
    return list(zip(features.to_delayed().ravel(), labels, copies, strict=True)), int(X.shape[1])


def _aligned_column(features: str, name: str, values: Any, X: Any) -> list[Any]:
    """Return a column with one number for each row, in blocks of the same rows."""
    if not isinstance(values, da.Array):
        if is_dask_collection(values):
            raise ProblemError(
                f"{name} must be an array where {features} is a dask.array; got {type(values).__name__}. Pass "
                f"{name}.to_dask_array(lengths=True)."
            )
        values = None if values is None else check_array(name, values)
    if values is None or values.shape != X.shape[:1]:
        raise ProblemError(
            f"{features} must have shape (N, features) and {name} shape (N,); got {X.shape} and "
            f"{short_repr(values) if values is None else values.shape}. Pass one number for each row, in chunks of "
            "known sizes."
        )
    rows: Any = (X.chunks[0],)
    array = values.rechunk(rows) if isinstance(values, da.Array) else da.from_array(values, chunks=rows)
    return array.to_delayed().tolist()


def _blocks_of_frame(
    name: str, X: Any, y: Any, c: Any, labelled: bool, framed: bool
) -> tuple[list[tuple[Any, Any, Any]], int]:
    """Return the partitions of a data frame, and the number of features."""
    import dask.dataframe as dd

    if not isinstance(X, dd.DataFrame):
        raise ProblemError(
            f"{name} must be a dask.array or a dask.dataframe; got {type(X).__name__}. Make one of it, or compute it."
        )
    frame, names, column_names = X, list(X.columns), dict[str, Any]()
    for role, values in (("y", y if labelled else 1), ("c", c)):
        if isinstance(values, dd.Series) or (role == "y" and not labelled):
            column_names[role] = next(new for k in count() if (new := f"{role}{k}") not in frame.columns)
            frame = frame.assign(**{column_names[role]: values})
        elif isinstance(values, str) and values in names:
            column_names[role] = values
        elif role == "y" or values is not None:
            raise ProblemError(
                f"{role} must be a series of the data frame {name}, or the name of one of its columns; got "
                f"{short_repr(values)}. {name} has the columns {format_names_truncated(list(map(str, names)))}."
            )
    columns = list(frame.columns)
    places = {name: columns.index(column) for name, column in column_names.items()}
    features = [k for k in range(len(columns)) if k not in places.values()]
    label, copies = partial(_select_array, places["y"]), partial(_select_array, places["c"]) if c is not None else None
    # All columns come from one call: after optimization, two selections may have different partitions.
    return [
        (
            delayed(partial(_select_frame if framed else _select_array, features), pure=False)(part),
            delayed(label, pure=False)(part),
            None if copies is None else delayed(copies, pure=False)(part),
        )
        for part in frame.to_delayed()
    ], len(features)


def _select_frame(places: Any, frame: Any) -> Any:
    return frame.iloc[:, places]


def _select_array(places: Any, frame: Any) -> Array:
    return frame.iloc[:, places].to_numpy()
