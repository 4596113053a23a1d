"""The RBF network as a classifier: scikit-learn's own checks, weights as copies, several classes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import typechecker
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from boostopt import estimators
from boostopt.errors import OptionError, ProblemError
from boostopt.estimators import RBFNetworkClassifier
from boostopt.instances import banana


def bananas(*arguments: Any, **options: Any) -> Any:
    """The data, not typed: X and y of a data set may be missing, these are not."""
    return banana(*arguments, **options)


def iris() -> Any:
    return load_iris()


DATA = bananas(200, noise=0.1)
X, y = DATA.X, DATA.y
IRIS = iris()

UNTRIED = {"check_sample_weights_pandas_series", "check_classifier_data_not_an_array", "check_array_api_input"}
"""Checks that scikit-learn leaves out where pandas or SCIPY_ARRAY_API is not there."""


@pytest.mark.thorough
@pytest.mark.every(3)
@pytest.mark.parametrize("parameters", [{}, {"K": 3, "iterations": 2}, {"random_state": 0}], ids=str)
def test_scikit_learns_checks_pass_without_exceptions(parameters: dict[str, Any]) -> None:
    results = check_estimator(RBFNetworkClassifier(**parameters), on_skip=None)
    failures = {result["check_name"] for result in results if result["status"] != "passed"}
    assert len(results) > 50
    assert failures <= UNTRIED
    assert not any(result["expected_to_fail"] for result in results)


@pytest.mark.parametrize("random_state", [None, 0, np.random.RandomState(3)], ids=["none", "seed", "generator"])
def test_a_weight_is_a_number_of_copies_to_the_last_digit(random_state: Any) -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, size=200)
    order = rng.permutation(int(weights.sum()))
    copies, labels = X.repeat(weights, axis=0)[order], y.repeat(weights)[order]
    seed = pickle.dumps(random_state)
    weighted = RBFNetworkClassifier(random_state=pickle.loads(seed)).fit(X, y, sample_weight=weights)
    copied = RBFNetworkClassifier(random_state=pickle.loads(seed)).fit(copies, labels)
    np.testing.assert_array_equal(weighted.decision_function(X), copied.decision_function(X))


def test_more_classes_have_an_output_each() -> None:
    model = RBFNetworkClassifier().fit(IRIS.data, IRIS.target_names[IRIS.target])
    outputs = model.decision_function(IRIS.data)
    assert outputs.shape == (150, 3)
    assert list(model.classes_) == list(IRIS.target_names)
    np.testing.assert_array_equal(model.predict(IRIS.data), model.classes_[outputs.argmax(axis=1)])
    assert cross_val_score(make_pipeline(StandardScaler(), model), IRIS.data, IRIS.target).mean() > 0.93


def test_two_classes_of_any_name_have_one_output() -> None:
    names = np.where(y > 0, "up", "down")
    model, signs = RBFNetworkClassifier().fit(X, names), RBFNetworkClassifier().fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), signs.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) > 0, "up", "down"))
    np.testing.assert_array_equal(model.network_.value(X), model.decision_function(X))
    unseen = bananas(2000, random_state=7)
    assert signs.score(unseen.X, unseen.y) > 0.93


def test_a_class_without_weight_is_none() -> None:
    model = RBFNetworkClassifier().fit(IRIS.data, IRIS.target, sample_weight=(IRIS.target != 1).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 2])
    with pytest.raises(ProblemError, match=r"\bclasses\b.* 1\b"):
        RBFNetworkClassifier().fit(X, y, sample_weight=(y > 0).astype(float))


@pytest.mark.thorough
def test_a_grid_is_searched_in_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), RBFNetworkClassifier(random_state=0))
    grid = {"rbfnetworkclassifier__K": np.array([1, 5, 20]), "rbfnetworkclassifier__ridge": [1e-6, 1.0]}
    with typechecker.unchecked():  # the grid's numbers are NumPy's
        search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["rbfnetworkclassifier__K"] > 1
    assert search.best_score_ > 0.8


def test_invalid_parameters_are_errors() -> None:
    with pytest.raises(TypeError, match=r"\bSparse\b.*\bX\b.*\bdense\b"):
        RBFNetworkClassifier().fit(scipy.sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="NaN"):
        RBFNetworkClassifier().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ProblemError, match=r"\bsample_weight\b.* 200 .* -1\b"):
        RBFNetworkClassifier().fit(X, y, sample_weight=-np.ones(200))
    with pytest.raises(OptionError, match=r"\bK\b.* 1\b.* 0\b"):
        RBFNetworkClassifier(K=0).fit(X, y)
    with pytest.raises(NotFittedError):
        RBFNetworkClassifier().predict(X)


def test_names_load_on_first_use_and_nothing_heavy_before() -> None:
    for name in estimators.__all__:
        assert getattr(estimators, name).__name__ == name
    assert set(estimators.__all__) <= set(dir(estimators))
    with pytest.raises(AttributeError, match=r"'boostopt\.estimators'.*'Trees'"):
        estimators.Trees  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
    code = "import boostopt.estimators as e, sys; dir(e); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "sklearn", "cvxpy"} & set(loaded)
