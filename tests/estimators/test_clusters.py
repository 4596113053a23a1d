"""Classifiers of rows on a Dask cluster: those of the same rows in memory, to the last bit."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
import pandas as pd
import typechecker
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from boostopt.boosting import ClassCertificate
from boostopt.errors import OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier

pytestmark = pytest.mark.thorough

from_array: Any = da.from_array
from_pandas: Any = dd.from_pandas

N = 600
RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(N, 4)), 1)
Z = X[:, 0] + X[:, 1] + RNG.normal(size=N)
Y = np.where(Z > 0, "yes", "no")
THREE = np.digitize(Z, [-1.0, 1.0])
C = RNG.integers(0, 3, N)
NAMES = ["a", "b", "c", "d"]
WITHOUT_ROWS = r"\bstored\b.*\brows\b.*\brun\.verify_class\(oracle\)"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    how: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": None}
    with LocalCluster(n_workers=2, processes=False, **how) as cluster, Client(cluster) as client:
        yield client


def array(values: np.ndarray = X) -> Any:
    return from_array(values, chunks=(130, 3)[: values.ndim])


def frame() -> Any:
    return from_pandas(pd.DataFrame(X, columns=NAMES).assign(label=Y, copies=C), npartitions=4)


def classifier(**parameters: Any) -> MarginBoostClassifier:
    return MarginBoostClassifier(**{"base": "binned", "epsilon": 0.1, **parameters})


def are_equal(one: MarginBoostClassifier, reference: MarginBoostClassifier) -> bool:
    """Return whether two classifiers have the same hypotheses, weights and certificates."""
    pairs = zip(one.runs_, reference.runs_, strict=True)
    return all(
        list(run.hypotheses) == list(reference_run.hypotheses)
        and np.array_equal(run.w, reference_run.w)
        and run.class_certificate.lower == reference_run.class_certificate.lower
        and run.class_certificate.upper == reference_run.class_certificate.upper
        for run, reference_run in pairs
    )


@pytest.mark.parametrize("parameters", [{}, {"nu": 40}, {"intercept": False}, {"formulation": "lpboost", "nu": 0.3}])
def test_two_classes_of_an_array(parameters: dict[str, Any], client: Any) -> None:
    distributed = classifier(**parameters).fit(array(), array(Y))
    local = classifier(**parameters).fit(X, Y)
    assert (
        are_equal(distributed, local)
        and distributed.classes_.tolist() == ["no", "yes"]
        and distributed.n_iter_ == local.n_iter_
    )
    lazy = distributed.predict(array())
    assert isinstance(lazy, da.Array) and np.array_equal(lazy.compute(), local.predict(X))
    assert np.array_equal(distributed.decision_function(array()).compute(), local.decision_function(X))
    assert np.array_equal(distributed.predict(X), local.predict(X)) and not hasattr(distributed, "margins_")
    # On a cluster the shares are those of the weights.
    assert distributed.feature_importances_.sum() == pytest.approx(1.0)
    assert distributed.nu_ == local.nu_


def test_labels_and_copies_of_a_data_frame_are_named(client: Any) -> None:
    distributed = classifier().fit(frame(), "label", "copies")
    local = classifier().fit(pd.DataFrame(X, columns=NAMES), Y, C)
    assert are_equal(distributed, local) and distributed.feature_names_in_.tolist() == NAMES
    features = frame()[NAMES]
    lazy = distributed.predict(features)
    assert (
        isinstance(lazy, dd.Series)
        and lazy.compute().tolist() == local.predict(pd.DataFrame(X, columns=NAMES)).tolist()
    )
    assert lazy.compute().index.tolist() == list(range(N))
    by_series = classifier().fit(features, frame()["label"])
    assert are_equal(by_series, classifier().fit(X, Y))


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own
def test_predictions_go_to_parquet_and_empty_parts_do_not_disturb(client: Any, tmp_path: Path) -> None:
    frame().to_parquet(tmp_path / "table")
    table: Any = dd.read_parquet(tmp_path / "table")
    model = classifier().fit(table.drop(columns="copies"), "label")
    table.assign(found=model.predict(table[NAMES])).to_parquet(tmp_path / "found")
    back: Any = dd.read_parquet(tmp_path / "found")
    assert back.compute().found.tolist() == classifier().fit(X, Y).predict(X).tolist()
    empty = table[table.a > 100.0][NAMES]
    assert len(model.predict(empty).compute()) == len(model.decision_function(empty).compute()) == 0


def test_each_of_three_classes_is_told_from_the_rest(client: Any) -> None:
    distributed, local = classifier(nu=0.5).fit(array(), array(THREE)), classifier(nu=0.5).fit(X, THREE)
    assert are_equal(distributed, local) and distributed.classes_.tolist() == [0, 1, 2]
    f = distributed.decision_function(array())
    assert f.shape == (N, 3) and np.array_equal(f.compute(), local.decision_function(X))
    assert np.array_equal(distributed.predict(array()).compute(), local.predict(X))
    table = distributed.decision_function(from_pandas(pd.DataFrame(X), npartitions=3))
    assert table.columns.tolist() == [0, 1, 2] and np.array_equal(
        table.compute().to_numpy(), local.decision_function(X)
    )


def test_the_model_is_a_plain_local_object(client: Any, tmp_path: Path) -> None:
    model = classifier().set_params(store_training=True).fit(array(), array(Y))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X)) and repr(again.run_) == repr(model.run_)
    assert again.certificate_.lower == model.run_.class_certificate.lower and len(again.run_.trace) == model.n_iter_
    assert again.run_.majority == model.run_.majority and "N = 600" in again.run_._repr_html_()
    for ask in (lambda: again.certificate_.d, lambda: again.run_.record, lambda: again.run_.at_round(1)):
        with pytest.raises(ProblemError, match=WITHOUT_ROWS):
            ask()
    model.save(tmp_path / "model.npz")
    loaded = MarginBoostClassifier.load(tmp_path / "model.npz")
    loaded_certificate, certificate = (cast(ClassCertificate, fit.certificate_) for fit in (loaded, model))
    assert loaded_certificate.upper == certificate.upper and loaded_certificate.recorded
    assert (tmp_path / "model.npz").stat().st_size < 10_000
    with pytest.raises(ProblemError, match=WITHOUT_ROWS):
        _ = loaded_certificate.d
    assert np.array_equal(loaded.predict(array()).compute(), model.predict(X))


def test_a_fit_goes_on_from_its_checkpoints(client: Any, tmp_path: Path) -> None:
    how: dict[str, Any] = {"epsilon": 0.05, "nu": 0.5, "checkpoint": tmp_path / "fit.npz"}
    with pytest.warns(ConvergenceWarning):
        classifier(**how, max_iter=1).fit(array(), array(THREE))
    assert len(list(tmp_path.iterdir())) == 3
    distributed = classifier(**how).fit(array(), array(THREE))
    assert are_equal(distributed, classifier(**{**how, "checkpoint": None}).fit(X, THREE))


def test_a_fit_in_memory_follows_one_on_a_cluster_and_the_other_way(client: Any) -> None:
    model = classifier().fit(X, Y)
    assert not hasattr(model.fit(array(), array(Y)), "margins_")
    assert len(model.fit(X, Y).margins_) == N


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "base": (lambda: classifier(base="stump").fit(array(), array(Y)), OptionError, r"""\bbase\b.*"binned".*'stump'"""),
    "class weight": (
        lambda: classifier(class_weight="balanced").fit(array(), array(Y)),
        OptionError,
        r"\bclass_weight\b.*\bcluster\b.*'balanced'",
    ),
    "warm start": (
        lambda: classifier(warm_start=True).fit(array(), array(Y)),
        OptionError,
        r"\bwarm_start\b.*\bcluster\b.* True\b",
    ),
    "backend": (
        lambda: classifier(backend="highs").fit(array(), array(Y)),
        OptionError,
        r"\bbackend\b.*\bcluster\b.*'highs'",
    ),
    "nu": (lambda: classifier(nu=1000).fit(array(), array(Y)), OptionError, r"\bnu\b.* 600\b.* 1000\b"),
    "lengths": (lambda: classifier().fit(array(), array(Y[:100])), ProblemError, r"\by\b.*\(600, 4\).*\(100,\)"),
    "one class": (lambda: classifier().fit(array(), array(np.ones(N))), ProblemError, r"\bclasses\b.* 1\b"),
    "numbers": (lambda: classifier().fit(array(), array(Z)), ValueError, r"\bcontinuous\b"),
    "features": (lambda: classifier().fit(X, Y).predict(array()[:, :2]), ProblemError, r"\bX\b.* 4 .* 2\b"),
    "formulation": (
        lambda: classifier(formulation="adaboost", max_iter=5).fit(array(), array(Y)),
        ProblemError,
        r"\bdata passes\b.*\brequest for adaboost\b.*--cluster\b",
    ),
    "stages": (
        lambda: list(classifier().fit(array(), array(Y)).staged_predict(X)),
        ProblemError,
        r"\bdata passes\b.*\bmargins\b.*--cluster\b",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsupported_arguments_are_refused_by_name(case: str, client: Any) -> None:
    make, error, facts = REFUSED[case]
    with typechecker.unchecked(), pytest.raises(error, match=facts):
        make()
