"""Where the rows of an oracle are decides which class its object is of, when it is made."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import typechecker

from boostopt import ProblemError
from boostopt.oracles import BinnedStumps, GivenMargins, RawFeatures
from boostopt.oracles.distributed.placement import Placeable
from boostopt.oracles.matrix_oracle import DistributedMargins
from boostopt.oracles.raw_features import DistributedFeatures
from boostopt.oracles.stumps.binned import DistributedStumps

COLLECTION: Any = type("Collection", (), {"__module__": "dask.collection"})()
CLASSES: tuple[tuple[type[Placeable], type[Placeable]], ...] = (
    (GivenMargins, DistributedMargins),
    (RawFeatures, DistributedFeatures),
    (BinnedStumps, DistributedStumps),
)


@pytest.mark.parametrize(("near", "far"), CLASSES)
def test_a_collection_makes_an_oracle_of_rows_on_a_cluster(near: type[Placeable], far: type[Placeable]) -> None:
    name = "U" if near is GivenMargins else "X"
    assert type(near.__new__(near, COLLECTION)) is far
    assert type(near.__new__(near, **{name: COLLECTION})) is far
    assert type(far.__new__(far, COLLECTION)) is far
    assert type(near.__new__(near, np.eye(2))) is type(near.__new__(near)) is near


@pytest.mark.parametrize(("near", "far"), CLASSES)
def test_a_subclass_is_another_class_and_takes_no_collection(near: type[Placeable], far: type[Placeable]) -> None:
    Mine: Any = type("Mine", (near,), {})
    assert type(Mine.__new__(Mine, COLLECTION)) is Mine
    with typechecker.unchecked(), pytest.raises(ProblemError, match=rf"\b{near.__name__}\b.*\bMine\b"):
        Mine(COLLECTION) if near is GivenMargins else Mine(COLLECTION, None)


def test_copies_are_of_the_same_class() -> None:
    oracle = GivenMargins(np.eye(3))
    for again in (copy.copy(oracle), pickle.loads(pickle.dumps(oracle))):
        assert type(again) is GivenMargins and again.digest == oracle.digest
