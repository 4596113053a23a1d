"""Rows on the threads of a Dask cluster in this process: the runs of rows in memory, in the fast suite.

The tests beside this one and those of the classifiers take clusters of processes, and kill their workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask.array as da
from distributed import Client, LocalCluster
from sklearn.ensemble import RandomForestClassifier

from boostopt import boost, reweight
from boostopt.estimators import MarginBoostClassifier
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
