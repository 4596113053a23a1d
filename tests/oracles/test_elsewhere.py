"""The place of the rows of an oracle decides the class of its object, when it is made."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import typechecker
from sklearn.tree import DecisionTreeClassifier

from boostopt import ProblemError, boost, get_formulation
from boostopt.oracles import (
    BinnedStumps,
    DecisionStumps,
    Estimators,
    GivenMargins,
    KernelColumns,
    RawFeatures,
    RBFNetworks,
)
from boostopt.oracles.base import Oracle, require_oracle
from boostopt.oracles.distributed.cluster_classes import DistributedClass, Placeable
from boostopt.oracles.matrix_oracle import DistributedMargins
from boostopt.oracles.raw_feature_oracle import DistributedFeatures
from boostopt.oracles.stumps.binned_stump_oracle import DistributedStumps

COLLECTION: Any = type("Collection", (), {"__module__": "dask.collection"})()
CLASSES: tuple[tuple[type[Placeable], type[DistributedClass]], ...] = (
    (GivenMargins, DistributedMargins),
    (RawFeatures, DistributedFeatures),
    (BinnedStumps, DistributedStumps),
)


@pytest.mark.parametrize(("local_class", "far"), CLASSES)
def test_a_collection_makes_a_class_of_rows_on_a_cluster(
    local_class: type[Placeable], far: type[DistributedClass], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, calls = "U" if local_class is GivenMargins else "X", list[tuple[Any, Any]]()
    assert local_class.distributed is far and not issubclass(far, Oracle)
    # A collection without a cluster cannot be encoded, so only the arguments of the constructor are of interest.
    monkeypatch.setattr(far, "__init__", lambda self, *arguments, **options: calls.append((arguments, options)))
    with typechecker.unchecked():
        results = local_class(COLLECTION, reflexive=True), local_class(**{name: COLLECTION})
    assert [type(result) for result in results] == [far, far]
    assert calls == [((COLLECTION,), {"reflexive": True}), ((), {name: COLLECTION})]
    assert type(local_class.__new__(local_class, np.eye(2))) is type(local_class.__new__(local_class)) is local_class


@pytest.mark.parametrize("far", [far for _, far in CLASSES])
def test_rows_on_a_cluster_are_a_class_without_what_is_as_long_as_the_rows(far: type[DistributedClass]) -> None:
    for name in ("c", "y", "best", "margins_of", "digest", "state"):
        assert not hasattr(far, name) and hasattr(Oracle, name)
    with pytest.raises(ProblemError, match=r"\bdata passes\b.*\blabels\b.*X\.compute\(\)"):
        require_oracle(far.__new__(far), "labels")
    oracle = GivenMargins(np.eye(3))
    assert require_oracle(oracle, "labels") is oracle


@pytest.mark.parametrize(("local_class", "far"), CLASSES)
def test_a_subclass_is_another_class_and_takes_no_collection(
    local_class: type[Placeable], far: type[DistributedClass]
) -> None:
    Mine: Any = type("Mine", (local_class,), {})
    assert type(Mine.__new__(Mine, COLLECTION)) is Mine
    with typechecker.unchecked(), pytest.raises(ProblemError, match=rf"\b{local_class.__name__}\b.*\bMine\b"):
        Mine(COLLECTION) if local_class is GivenMargins else Mine(COLLECTION, None)


@pytest.mark.parametrize(
    ("argument", "make"),
    [
        ("X", lambda: DecisionStumps(COLLECTION, [-1, 1])),
        ("y", lambda: DecisionStumps(np.eye(2), COLLECTION)),
        ("c", lambda: DecisionStumps(np.eye(2), [-1, 1], COLLECTION)),
        ("y", lambda: BinnedStumps(np.eye(2), COLLECTION)),
        ("c", lambda: BinnedStumps(np.eye(2), [-1, 1], COLLECTION)),
        ("X", lambda: KernelColumns(COLLECTION, [-1, 1])),
        ("X", lambda: RBFNetworks(COLLECTION, [-1, 1])),
        ("X", lambda: Estimators(DecisionTreeClassifier(), COLLECTION, [-1, 1])),
        ("U", lambda: get_formulation("lpboost").bind(COLLECTION, nu=1)),
        ("d0", lambda: boost("erlpboost", GivenMargins(np.eye(3)), nu=1, d0=COLLECTION)),
        ("X", lambda: boost("lpboost", DecisionStumps(np.eye(2), [-1, 1]), nu=1).predict(COLLECTION)),
    ],
)
def test_what_needs_memory_refuses_a_collection_by_its_name(argument: str, make: Callable[[], Any]) -> None:
    with (
        typechecker.unchecked(),
        pytest.raises(ProblemError, match=rf"^{argument} must be in the memory\b.*\b{argument}\.compute\(\)"),
    ):
        make()


def test_copies_are_of_the_same_class() -> None:
    oracle = GivenMargins(np.eye(3))
    for again in (copy.copy(oracle), pickle.loads(pickle.dumps(oracle))):
        assert type(again) is GivenMargins and again.digest == oracle.digest
