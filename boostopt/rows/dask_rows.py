"""Rows on the workers of a Dask cluster: the rows stay there, and a data pass is one task for each worker.

A shard is the list of the row blocks of one worker. Tasks are pure and bound to no worker, so that Dask recomputes
the data of a lost worker: it loads and encodes the rows, forms shards and computes the margins in use. All sums are
integers, so recomputation changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute, is_dask_collection
from dask.delayed import delayed

from boostopt._utils.array_types import Array, Int
from boostopt._utils.validation import check_array
from boostopt.errors import DataError
from boostopt.rows.binned_rows import BinnedRows, LocalRows, MarginHandle, sum_of
from boostopt.rows.block_sums import example_weights
from boostopt.rows.dask_blocks import (
    RETRIES,
    Client,
    Future,
    check_running,
    gather,
    place_on_workers,
    task_errors_as_data_errors,
)
from boostopt.rows.feature_encoding import BinnedFeatures
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import RowBlock


class DaskRows(BinnedRows):
    """Rows on a cluster.

    Parameters
    ----------
    client
        The client of the cluster.
    parts
        The row blocks, as futures.
    sizes, total
        Number of rows of each row block, and of all rows counted with multiplicity.
    binned
        The thresholds, with the codes of no rows.

    Attributes
    ----------
    shards
        The list of row blocks of each worker, as futures.
    """

    shards: list[Future]

    _end_time: float | None = None
    """The time on the clock `time.perf_counter` until which data passes wait for workers; None for any time."""

    def __init__(
        self, client: Client, parts: Sequence[Future], sizes: Sequence[int], total: int, binned: BinnedFeatures
    ) -> None:
        super().__init__(binned.varying_features, binned.first_threshold, len(binned.thresholds))
        self._client, self._sizes, self._total = client, list(sizes), total
        self._blocks_of_shard, self.shards = place_on_workers(client, parts, self._sizes)

    @property
    def n_rows(self) -> int:
        return sum(self._sizes)

    @property
    def n_examples(self) -> int:
        return self._total

    def weights(self, handle: MarginHandle, grid: MarginGrid, table: Int[Array, " bins"]) -> Int[Array, " N"]:
        return np.concatenate(self._gather_in_row_order("weights", partial(_weights_shard, grid, table), handle))

    def with_constant_feature(self, number: int) -> DaskRows:
        rows = copy(self)
        BinnedRows.__init__(rows, *self._index_with_constant(number), constants=True)
        rows.shards = self._submit("constants", _constant_feature_shard)
        return rows

    @contextmanager
    def limit_waits(self, end_time: float | None) -> Generator[None]:
        previous, self._end_time = self._end_time, end_time
        try:
            yield
        finally:
            self._end_time = previous

    def stride(self, step: int) -> LocalRows:
        """Return every step-th row, in this process, because a sample is small."""
        first = -(np.cumsum(self._sizes) - self._sizes) % step
        firsts = [[int(first[k]) for k in places] for places in self._blocks_of_shard]
        parts = self._gather_in_row_order("every", partial(_stride_shard, step), firsts)
        return LocalRows(parts, self.features, self.starts, self.n_thresholds, self.has_constant_feature)

    def _map(self, kernel: Callable[..., Any], *arguments: Any) -> MarginHandle:
        return self._submit(kernel.__name__, partial(_map_shard, kernel, arguments))

    def _map_reduce(self, kernel: Callable[..., Any], handle: MarginHandle, *arguments: Any) -> Any:
        return sum_of(self._gather(self._submit(kernel.__name__, partial(_sum_shard, kernel, arguments), handle)))

    def _gather_in_row_order(self, name: str, task: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        """Return the results of a task for each row block, in the order of the rows."""
        results: dict[int, Any] = {}
        for places, values in zip(
            self._blocks_of_shard, self._gather(self._submit(name, task, arguments)), strict=True
        ):
            results.update(zip(places, values, strict=True))
        return [results[k] for k in range(len(self._sizes))]

    def _submit(self, name: str, task: Callable[..., Any], *arguments: Sequence[Any]) -> list[Future]:
        """Submit one task for each shard; its small arguments are sent once, and not kept on the cluster."""
        check_running(self._client, DataError)
        return self._client.map(task, self.shards, *arguments, key=f"boostopt-{name}", pure=False, retries=RETRIES)

    def _gather(self, futures: list[Future]) -> list[Any]:
        """Return the results of futures, which wait for workers until the end time.

        Raises
        ------
        DataError
            Lost rows cannot be recomputed: a file no longer exists, computing the rows kills workers, or none is left.
        """
        return gather(self._client, futures, self._end_time)


def _map_shard(kernel: Callable[..., Any], small: Sequence[Any], shard: Sequence[RowBlock]) -> list[Any]:
    return [kernel(part, *small) for part in shard]


def _sum_shard(
    kernel: Callable[..., Any], small: Sequence[Any], shard: Sequence[RowBlock], handle: Sequence[Any]
) -> Any:
    return sum_of(kernel(part, M, *small) for part, M in zip(shard, handle, strict=True))


def _weights_shard(grid: MarginGrid, table: Array, shard: Sequence[RowBlock], handle: Sequence[Any]) -> list[Array]:
    return [example_weights(part, M, grid, table) for part, M in zip(shard, handle, strict=True)]


def _constant_feature_shard(shard: Sequence[RowBlock]) -> list[RowBlock]:
    return [part.with_constant() for part in shard]


def _stride_shard(step: int, shard: Sequence[RowBlock], firsts: Sequence[int]) -> list[RowBlock]:
    return [part.stride(step, first) for part, first in zip(shard, firsts, strict=True)]


def split_label_columns(X: Any, y: Any, c: Any) -> tuple[Any, Any, Any, Array | None]:
    """Return features, labels, multiplicities, and the names of features; y and c may name columns of a data frame."""
    if isinstance(X, da.Array):
        return X, y, c, None
    column_names = [name for name in (y, c) if isinstance(name, str) and name in X.columns]
    y, c = (X[values] if isinstance(values, str) and values in column_names else values for values in (y, c))
    features = X.drop(columns=column_names)
    names = list(features.columns)
    return features, y, c, np.array(names, dtype=object) if all(isinstance(name, str) for name in names) else None


def unique_labels(y: Any) -> Array:
    """Return the different labels, ascending.

    Raises
    ------
    DataError
        The labels cannot be read or computed.
    """
    if not is_dask_collection(y):
        return np.unique(check_array("y", y))
    with task_errors_as_data_errors():
        if isinstance(y, da.Array):
            return da.unique(y).compute()
        labels_of_parts: Any = compute(*(delayed(np.unique, pure=False)(part) for part in y.to_delayed()))
        return np.unique(np.concatenate(labels_of_parts))


def indicator(y: Any, label: Any) -> Any:
    """Return 1 for a given label and 0 for all others, lazily if y is lazy."""
    return (y == label).astype(np.int8)


def map_rows(X: Any, task: Callable[..., Any], columns: Array | None, like: Array) -> Any:
    """Return the results of a task for each block of rows, lazily: a value for each row, or a value for each column.

    `like` is an example of the values, with at least one row.
    """
    if isinstance(X, da.Array):
        one_chunk: Any = {1: -1}
        rows = X.rechunk(one_chunk)
        if columns is None:
            return rows.map_blocks(task, dtype=like.dtype, drop_axis=1)
        return rows.map_blocks(task, dtype=like.dtype, chunks=(rows.chunks[0], (len(columns),)))
    return X.map_partitions(partial(_frame_of_block, task, columns, like), meta=_frame(like, columns)[:0])


def _frame_of_block(task: Callable[..., Any], columns: Array | None, like: Array, part: Any) -> Any:
    if len(part) == 0:
        return _frame(like, columns)[:0].set_axis(part.index)
    return _frame(task(part), columns).set_axis(part.index)


def _frame(values: Array, columns: Array | None) -> Any:
    import pandas as pd

    return pd.Series(values) if columns is None else pd.DataFrame(values, columns=list(columns))
