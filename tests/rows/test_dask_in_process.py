"""Rows on the threads of a Dask cluster in this process: the runs of rows in memory, in the fast suite.

The tests beside this one and those of the classifiers take clusters of processes, and kill their workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask.array as da
from dask.delayed import delayed
from distributed import Client, LocalCluster
from sklearn.ensemble import RandomForestClassifier

from boostopt import boost, path, reweight, verify
from boostopt.errors import DataError, OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier, MarginBoostRegressor, RBFNetworkClassifier
from boostopt.oracles import BinnedStumps, GivenMargins
from boostopt.rows.dask_rows import DaskRows

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(60, 2)), 1)
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, 1, -1)
from_array: Any = da.from_array


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    how: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    with LocalCluster(**how) as cluster, Client(cluster) as client:
        yield client


def parts(values: np.ndarray) -> Any:
    return from_array(values, chunks=(30, *values.shape[1:]))


@pytest.mark.usefixtures("client")
def test_a_run_is_that_over_the_rows_in_memory() -> None:
    distributed, local = BinnedStumps(parts(X), parts(Y)), BinnedStumps(X, Y)
    assert isinstance(distributed.binned_rows, DaskRows)
    runs = [boost("erlpboost", oracle, nu=20.0, epsilon=0.3, max_rounds=1) for oracle in (distributed, local)]
    ends = [(run.class_certificate.lower, run.class_certificate.upper, run.w.tolist()) for run in runs]
    assert ends[0] == ends[1]


@pytest.mark.usefixtures("client")
def test_margins_are_boosted_where_they_are() -> None:
    U = np.sign(X + 0.05) * Y[:, None]
    distributed, local = (boost("erlpboost", GivenMargins(margins), nu=20.0, epsilon=0.3) for margins in (parts(U), U))
    certificate, reference = distributed.class_certificate, local.class_certificate
    assert certificate.lower <= reference.upper and reference.lower <= certificate.upper
    assert certificate.gap <= 0.3


@pytest.mark.usefixtures("client")
def test_a_classifier_is_that_of_the_rows_in_memory() -> None:
    distributed, local = (MarginBoostClassifier(base="binned", epsilon=0.9, intercept=False) for _ in range(2))
    distributed.fit(parts(X), parts(Y))
    local.fit(X, Y)
    assert np.array_equal(distributed.runs_[0].w, local.runs_[0].w)
    assert np.asarray(distributed.predict(parts(X))).tolist() == local.predict(X).tolist()


@pytest.mark.usefixtures("client")
def test_a_forest_is_weighed_by_the_rows_where_they_are() -> None:
    forest = RandomForestClassifier(4, max_depth=2, random_state=0).fit(X, Y)
    distributed = reweight(forest, parts(X), parts(Y), formulation="lpboost", nu=20.0, tol=0.1)
    local = reweight(forest, X, Y, "lpboost", nu=20.0)
    assert distributed.certificate.lower <= local.soft_margin_certificate.upper
    assert local.soft_margin_certificate.lower <= distributed.certificate.upper
    assert distributed.w.sum() == 1.0


@pytest.mark.usefixtures("client")
def test_rows_that_are_there_again_are_read_again(tmp_path: Path) -> None:
    """The cluster keeps the error of a task as long as anything holds it, and returns it for the same task."""
    np.save(tmp_path / "rows.npy", X[30:])
    second: Any = da.from_delayed(delayed(np.load)(tmp_path / "rows.npy"), (30, 2), float)
    rows = da.concatenate([parts(X)[:30], second])
    (tmp_path / "rows.npy").rename(tmp_path / "moved.npy")
    with pytest.raises(DataError, match=r"rows\.npy"):
        BinnedStumps(rows, parts(Y))
    (tmp_path / "moved.npy").rename(tmp_path / "rows.npy")
    assert BinnedStumps(rows, parts(Y)).total == 60.0


@pytest.mark.usefixtures("client")
def test_a_certificate_of_rows_on_a_cluster_is_saved_and_verified_there(tmp_path: Path) -> None:
    labels = np.where(Y > 0, "out", "in")
    model = MarginBoostClassifier(base="binned", nu=0.4, epsilon=0.3).fit(parts(X), parts(labels))
    model.save_certificate(tmp_path / "proof.json", parts(X), parts(labels))  # rows in memory would be merged
    hypotheses = MarginBoostClassifier(base="binned", nu=0.4).class_of(parts(X), parts(labels))
    assert isinstance(hypotheses.binned_rows, DaskRows)
    assert verify(tmp_path / "proof.json", hypotheses).accepted
    with pytest.raises(OptionError, match=r'base must be "binned"'):
        MarginBoostClassifier().class_of(parts(X), parts(labels))


def test_what_would_load_a_collection_refuses_it() -> None:
    regressor: Any = MarginBoostRegressor(epsilon=0.5).fit(X, X[:, 0])
    network: Any = RBFNetworkClassifier(K=2, iterations=1).fit(X, Y)
    for request in (
        lambda: MarginBoostRegressor().fit(parts(X), X[:, 0]),
        lambda: regressor.predict(parts(X)),
        lambda: regressor.class_of(parts(X), X[:, 0]),
        lambda: RBFNetworkClassifier().fit(parts(X), Y),
        lambda: network.predict(parts(X)),
    ):
        with pytest.raises(ProblemError, match=r"X must be in the memory of this process; got a Dask collection"):
            request()


@pytest.mark.usefixtures("client")
def test_a_path_over_a_cluster_is_refused_by_its_name() -> None:
    with pytest.raises(ProblemError, match=r"got a request for a path\b"):
        path("erlpboost", BinnedStumps(parts(X), parts(Y)), nu=[20.0, 30.0])
