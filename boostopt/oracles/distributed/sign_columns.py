"""Columns of -1 and 1 on a cluster, as features with two codes and the threshold 0, even if they are constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from boostopt.errors import ProblemError
from boostopt.oracles.distributed.cluster_classes import DistributedEncoder
from boostopt.oracles.stumps.threshold_sketches import ExampleBlocks, row_block
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.feature_encoding import BinnedFeatures
from boostopt.rows.row_block import RowBlock


def sign_rows(encoder: DistributedEncoder, columns: int, task: Any, large: Any) -> BinnedRows:
    """Return the encoded rows of columns of signs.

    Parameters
    ----------
    encoder
        The collection, after the count.
    columns
        Number of columns.
    task, large
        The function that returns a row block, and its large argument: as in `DistributedEncoder.rows`.

    Raises
    ------
    ProblemError
        A task refuses its block.
    """
    return encoder.rows(
        task, large, BinnedFeatures.from_codes(np.empty((columns, 0), np.uint8), [np.zeros(1)] * columns)
    )


def encode_signs(name: str, X: Any, y: Any, c: Any) -> RowBlock:
    """Return some rows with features -1 and 1 as a row block of codes 0 and 1.

    Parameters
    ----------
    name
        The name of X in error messages.
    X, y, c
        Features, labels and multiplicities.

    Raises
    ------
    ProblemError
        An entry is neither -1 nor 1.
    """
    rows = ExampleBlocks(X, y, c)
    codes, begin = np.empty((rows.features, len(rows.y)), np.uint8), 0
    for block in rows.blocks():
        invalid = np.argwhere(np.abs(block) != 1.0)
        if len(invalid):
            n, q = invalid[0].tolist()
            raise ProblemError(
                f"on a cluster {name} must hold -1 and 1 alone, as votes of classifiers are; got {block[n, q]:.6g} in "
                f"column {q}. Pass signs, or take it into memory: {name}.compute()."
            )
        np.greater(block.T, 0.0, out=codes[:, begin : begin + len(block)], casting="unsafe")
        begin += len(block)
    return row_block(codes, rows)
