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
    there, here = BinnedStumps(parts(X), parts(Y)), BinnedStumps(X, Y)
    assert isinstance(there.binned_rows, DaskRows)
    runs = [boost("erlpboost", oracle, nu=20.0, epsilon=0.3, max_rounds=1) for oracle in (there, here)]
    ends = [(run.class_certificate.lower, run.class_certificate.upper, run.w.tolist()) for run in runs]
    assert ends[0] == ends[1]


@pytest.mark.usefixtures("client")
def test_margins_are_boosted_where_they_are() -> None:
    U = np.sign(X + 0.05) * Y[:, None]
    there, here = (boost("erlpboost", GivenMargins(margins), nu=20.0, epsilon=0.3) for margins in (parts(U), U))
    own, its = there.class_certificate, here.class_certificate
    assert own.lower <= its.upper and its.lower <= own.upper
    assert own.gap <= 0.3


@pytest.mark.usefixtures("client")
def test_a_classifier_is_that_of_the_rows_in_memory() -> None:
    there, here = (MarginBoostClassifier(base="binned", epsilon=0.9, intercept=False) for _ in range(2))
    there.fit(parts(X), parts(Y))
    here.fit(X, Y)
    assert np.array_equal(there.runs_[0].w, here.runs_[0].w)
    assert np.asarray(there.predict(parts(X))).tolist() == here.predict(X).tolist()


@pytest.mark.usefixtures("client")
def test_a_forest_is_weighed_by_the_rows_where_they_are() -> None:
    forest = RandomForestClassifier(4, max_depth=2, random_state=0).fit(X, Y)
    there = reweight(forest, parts(X), parts(Y), formulation="lpboost", nu=20.0, tol=0.1)
    here = reweight(forest, X, Y, "lpboost", nu=20.0)
    assert there.certificate.lower <= here.soft_margin_certificate.upper
    assert here.soft_margin_certificate.lower <= there.certificate.upper
    assert there.w.sum() == 1.0
