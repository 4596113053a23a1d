"""Rows on the workers of a Dask cluster: they stay where they are, and a question is one task for each worker.

A shard is the list of the parts of one worker. Tasks are pure and bound to no worker, so that what a lost one held is
made anew by Dask: load, code, pack, and the margins that are asked for. Sums are of whole numbers, so that it does not
show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute, is_dask_collection
from dask.delayed import delayed

from boostopt._utils.array_types import Array, Int
from boostopt._utils.validation import check_array
from boostopt.errors import BoostoptError, DataError, reason_of
from boostopt.rows.binned_rows import BinnedRows, LocalRows, MarginHandle, sum_of
from boostopt.rows.block_kernels import example_weights
from boostopt.rows.dask_blocks import RETRIES, Client, Future, check_running, packed
from boostopt.rows.encoding import BinnedFeatures
from boostopt.rows.margin_grid import MarginGrid
from boostopt.rows.row_block import RowBlock


class DaskRows(BinnedRows):
    """Rows on a cluster.

    Parameters
    ----------
    client
        The client of the cluster.
    parts
        The examples: a future of each part.
    sizes, total
        Number of rows of each part, and of all with multiplicity.
    coded
        The thresholds; codes of no row.
    """

    shards: list[Future]

    def __init__(
        self, client: Client, parts: Sequence[Future], sizes: Sequence[int], total: int, coded: BinnedFeatures
    ) -> None:
        super().__init__(coded.varying_features, coded.first_threshold, len(coded.thresholds))
        self._client, self._sizes, self._total = client, list(sizes), total
        self._blocks_of_shard, self.shards = packed(client, parts, self._sizes)

    @property
    def n_rows(self) -> int:
        return sum(self._sizes)

    @property
    def n_examples(self) -> int:
        return self._total

    def weights(self, kept: MarginHandle, window: MarginGrid, table: Int[Array, " buckets"]) -> Int[Array, " N"]:
        return np.concatenate(self._gather_in_row_order("weights", partial(_weights_shard, window, table), kept))

    def with_constant_feature(self, number: int) -> DaskRows:
        rows = copy(self)
        BinnedRows.__init__(rows, *self._index_with_constant(number), constants=True)
        rows.shards = self._submit("constants", _constant_feature_shard)
        return rows

    def stride(self, step: int) -> LocalRows:
        """Return every step-th row, in this process: a sample is small."""
        first = -(np.cumsum(self._sizes) - self._sizes) % step
        firsts = [[int(first[k]) for k in places] for places in self._blocks_of_shard]
        parts = self._gather_in_row_order("every", partial(_stride_shard, step), firsts)
        return LocalRows(parts, self.features, self.starts, self.n_thresholds, self.has_constant_feature)

    def _map(self, kernel: Callable[..., Any], *arguments: Any) -> MarginHandle:
        return self._submit(kernel.__name__, partial(_map_shard, kernel, arguments))

    def _map_reduce(self, kernel: Callable[..., Any], kept: MarginHandle, *arguments: Any) -> Any:
        return sum_of(self._gather(self._submit(kernel.__name__, partial(_sum_shard, kernel, arguments), kept)))

    def _gather_in_row_order(self, name: str, task: Callable[..., Any], beside: Sequence[Any]) -> list[Any]:
        """Return what a task says of each part, in the order of the rows."""
        found: dict[int, Any] = {}
        for places, each in zip(self._blocks_of_shard, self._gather(self._submit(name, task, beside)), strict=True):
            found.update(zip(places, each, strict=True))
        return [found[k] for k in range(len(self._sizes))]

    def _submit(self, name: str, task: Callable[..., Any], *beside: Sequence[Any]) -> list[Future]:
        """Ask one task of each shard. The task brings what is small: it is sent once, and not kept on the cluster."""
        check_running(self._client, DataError)
        return self._client.map(task, self.shards, *beside, key=f"boostopt-{name}", pure=False, retries=RETRIES)

    def _gather(self, answers: list[Future]) -> list[Any]:
        """Return answers.

        Raises
        ------
        DataError
            Rows that were lost cannot be made anew: a file is no longer there, or workers die of them.
        """
        try:
            return self._client.gather(answers)
        except BoostoptError:
            raise
        except Exception as failure:
            raise DataError(
                f"rows on a cluster must be there for each look; got {type(failure).__name__}: "
                f"{reason_of(failure)}. Bring back what is missing, or take more workers or more memory for each "
                "if they died, and make the oracle anew."
            ) from failure


def _map_shard(kernel: Callable[..., Any], small: Sequence[Any], shard: Sequence[RowBlock]) -> list[Any]:
    return [kernel(part, *small) for part in shard]


def _sum_shard(kernel: Callable[..., Any], small: Sequence[Any], shard: Sequence[RowBlock], kept: Sequence[Any]) -> Any:
    return sum_of(kernel(part, M, *small) for part, M in zip(shard, kept, strict=True))


def _weights_shard(window: MarginGrid, table: Array, shard: Sequence[RowBlock], kept: Sequence[Any]) -> list[Array]:
    return [example_weights(part, M, window, table) for part, M in zip(shard, kept, strict=True)]


def _constant_feature_shard(shard: Sequence[RowBlock]) -> list[RowBlock]:
    return [part.with_constant() for part in shard]


def _stride_shard(step: int, shard: Sequence[RowBlock], firsts: Sequence[int]) -> list[RowBlock]:
    return [part.stride(step, first) for part, first in zip(shard, firsts, strict=True)]


def split_label_columns(X: Any, y: Any, c: Any) -> tuple[Any, Any, Any, Array | None]:
    """Return features, labels, multiplicities, and the names of features; columns of a data frame may be named."""
    if isinstance(X, da.Array):
        return X, y, c, None
    named = [name for name in (y, c) if isinstance(name, str) and name in X.columns]
    y, c = (X[values] if isinstance(values, str) and values in named else values for values in (y, c))
    X = X.drop(columns=named)  # pyright: ignore[reportConstantRedefinition]
    names = list(X.columns)
    return X, y, c, np.array(names, dtype=object) if all(isinstance(name, str) for name in names) else None


def unique_labels(y: Any) -> Array:
    """Return the different labels, ascending."""
    if isinstance(y, da.Array):
        return da.unique(y).compute()
    if not is_dask_collection(y):
        return np.unique(check_array("y", y))
    found: Any = compute(*(delayed(np.unique, pure=False)(part) for part in y.to_delayed()))
    return np.unique(np.concatenate(found))


def indicator(y: Any, label: Any) -> Any:
    """Return 1 where labels are a given one, 0 elsewhere, lazily where y is."""
    return (y == label).astype(np.int8)


def map_rows(X: Any, task: Callable[..., Any], columns: Array | None, like: Array) -> Any:
    """Return what a task says of each block of rows, lazily: a value a row, or one for each of some columns.

    `like` is some of such values, with at least one row.
    """
    if isinstance(X, da.Array):
        together: Any = {1: -1}
        rows = X.rechunk(together)
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
