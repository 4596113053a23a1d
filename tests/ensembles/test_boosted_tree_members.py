"""Trees of gradient boosting libraries are members, and new weights make a model of the library again."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ensemble_examples import ENSEMBLES, X, Y, Z, fresh
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boostopt import OptionError, ProblemError, certify_model
from boostopt._utils.array_types import Array, Float
from boostopt.ensembles import Members, members_of, reweight, reweight_one_vs_rest

LABELS = (Y == "yes").astype(int)  # XGBoost takes no texts
NAMES = ["mean area", "age", "size of it", "d"]

KINDS = {
    "histograms": {"max_iter": 6, "max_leaf_nodes": 4, "min_samples_leaf": 5},
    "lightgbm": {"n_estimators": 8, "num_leaves": 4, "min_child_samples": 5, "verbose": -1, "n_jobs": 1},
    "xgboost": {"n_estimators": 8, "max_depth": 2, "n_jobs": 1},
    "parallel xgboost": {"n_estimators": 4, "num_parallel_tree": 2, "subsample": 0.7, "max_depth": 2, "n_jobs": 1},
}
"""The parameters of small models of each library."""


def make_model(kind: str, **parameters: Any) -> Any:
    options: dict[str, Any] = KINDS[kind] | parameters
    if kind == "histograms":
        return HistGradientBoostingClassifier(**options)
    library = pytest.importorskip("lightgbm" if kind == "lightgbm" else "xgboost")
    return getattr(library, "LGBMClassifier" if kind == "lightgbm" else "XGBClassifier")(**options)


def scores(model: Any, X: Any) -> Float[Array, "n columns"]:
    """The sums of the trees of each class: one column for two classes."""
    option = {"lightgbm": "raw_score", "xgboost": "output_margin"}.get(type(model).__module__.split(".")[0])
    f = model.decision_function(X) if option is None else model.predict(X, **{option: True})
    return np.asarray(f).reshape(len(f), -1)


def votes(members: Members, X: Any) -> Float[Array, " n"]:
    rows = members.rows(X)
    return np.stack([h(rows) for h in members.hypotheses], axis=1) @ members.weights


def with_gaps(X: Any) -> Any:
    """Return features of which some are missing."""
    gaps = X.copy()
    gaps[::5, 0] = np.nan
    return gaps


@pytest.mark.parametrize("kind", KINDS)
def test_trees_add_up_to_the_scores_with_missing_values_too(kind: str) -> None:
    model = make_model(kind).fit(with_gaps(X), LABELS)
    members = members_of(model)
    f = votes(members, with_gaps(Z))
    size = np.abs(scores(model, with_gaps(X))).max() / np.abs(votes(members, with_gaps(X))).max()
    assert size * f == pytest.approx(scores(model, with_gaps(Z))[:, 0], abs=2e-6)
    assert np.abs(f).max() <= 1.0 and members.weights.sum() == pytest.approx(1.0)
    with pytest.raises(OptionError, match=r"\bvalues\b.*'predict'"):
        members_of(model, "predict")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reflexive", [False, True])
def test_new_weights_make_a_model_of_the_library(kind: str, reflexive: bool) -> None:
    table, test = (pd.DataFrame(rows, columns=NAMES) for rows in (with_gaps(X), with_gaps(Z)))
    model = make_model(kind).fit(table, LABELS)
    first_scores = scores(model, test)
    whole = reweight(model, table, LABELS, "lpboost", nu=40, reflexive=reflexive)
    assert whole.soft_margin >= whole.soft_margin_before - 1e-9
    for result in (whole, whole.thinned(3)):
        native = result.native_model()
        f, raw = result.decision_function(test), scores(native, test)[:, 0]
        scale = float(raw @ f / (f @ f))
        assert scale > 0 and raw == pytest.approx(scale * f, abs=2e-6)
        sure = np.abs(f) > 1e-5
        assert (native.predict(test)[sure] == result.predict(test)[sure]).all()
        trees = [h for h in members_of(native).hypotheses if "constant" not in str(h)]
        assert len(trees) <= result.n_nonzero_weights
    assert (scores(model, test) == first_scores).all()  # the ensemble itself stays as it is


@pytest.mark.parametrize("kind", KINDS)
def test_own_weights_bring_the_ensemble_back(kind: str) -> None:
    model = make_model(kind).fit(X, LABELS)
    result = reweight(model, X, LABELS, "lpboost", nu=10)
    object.__setattr__(result, "w", result.own_weights)
    assert scores(result.native_model(), Z) == pytest.approx(scores(model, Z), abs=2e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_each_of_several_classes_has_its_trees(kind: str) -> None:
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    model = make_model(kind).fit(X, labels)
    result = reweight_one_vs_rest(model, X, labels, "lpboost", nu=10)
    for k, part in enumerate(result.parts):
        ensemble = part.ensemble
        size = np.abs(scores(model, X)[:, k]).max() / np.abs(votes(ensemble, X)).max()
        assert size * votes(ensemble, Z) == pytest.approx(scores(model, Z)[:, k], abs=2e-6)
    with pytest.raises(OptionError, match=r"\bnative\b.*\btwo classes\b"):
        result.parts[0].native_model()


def test_adaboost_gets_new_weights() -> None:
    model = fresh(ENSEMBLES["adaboost"]).fit(X, Y)
    few = reweight(model, X, Y, "lpboost", nu=10).thinned(4)
    native = few.native_model()
    assert len(native.estimators_) == few.n_nonzero_weights <= 4 < len(model.estimators_)
    sure = np.abs(few.decision_function(Z)) > 1e-9
    assert sure.any() and (native.predict(Z) == few.predict(Z))[sure].all()
    signed = reweight(model, X, Y, "lpboost", nu=40, reflexive=True)
    object.__setattr__(signed, "w", -signed.w)
    with pytest.raises(OptionError, match=r"\bAdaBoostClassifier\b.*\bnegative\b.*\breflexive=False\b"):
        signed.native_model()


def test_other_ensembles_have_no_native_model() -> None:
    result = reweight(fresh(ENSEMBLES["forest"]).fit(X, Y), X, Y, "lpboost", nu=10)
    with pytest.raises(OptionError, match=r"\bLGBMClassifier\b.*; got RandomForestClassifier\b"):
        result.native_model()
    votes = reweight(result.members, X, np.where(Y == Y[0], 1, -1), "lpboost", nu=10)
    with pytest.raises(OptionError, match=r"got members of a run, .* or a list\. .*`save` for stumps"):
        votes.native_model()
    object.__setattr__(result, "w", 0.0 * result.w)
    with pytest.raises(OptionError, match=r"\bweights are 0\b"):
        result.native_model()


def test_a_pipeline_returns_the_model_of_its_last_step() -> None:
    pipeline = make_pipeline(StandardScaler(), make_model("histograms")).fit(X, Y)
    result = reweight(pipeline, X, Y, "lpboost", nu=10)
    native = result.native_model()
    assert (native.predict(pipeline[:-1].transform(Z)) == result.predict(Z)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_soft_margin_of_trees_is_certified(kind: str) -> None:
    table = pd.DataFrame(X, columns=NAMES)
    model = make_model(kind).fit(table, LABELS)
    certificate = certify_model(model, table, LABELS, nu=10)
    result = reweight(model, table, LABELS, "lpboost", nu=10)
    assert certificate.attained == pytest.approx(-result.soft_margin_before, abs=1e-9)
    assert certificate.upper == pytest.approx(-result.soft_margin_certificate.lower, abs=1e-6)
    with pytest.raises(ProblemError, match=r"\bX\b.*\bcolumns\b|\bX\b.*\bfeatures\b"):
        certify_model(model, table[NAMES[::-1]], LABELS, nu=10)


def test_models_that_are_no_sums_of_bounded_trees_are_refused() -> None:
    linear = make_model("lightgbm", linear_tree=True).fit(X, LABELS)
    with pytest.raises(ProblemError, match=r"\bLGBMClassifier\b.*\blinear_tree=False\b"):
        members_of(linear)
    mean = make_model("lightgbm", boosting_type="rf", bagging_freq=1, bagging_fraction=0.6).fit(X, LABELS)
    with pytest.raises(OptionError, match=r"\bLightGBM\b.*\brf\b"):
        reweight(mean, X, LABELS, "lpboost", nu=10).native_model()
    dart = make_model("xgboost", booster="dart").fit(X, LABELS)
    with pytest.raises(ProblemError, match=r"\bXGBClassifier\b.*'dart'.*\bgbtree\b"):
        members_of(dart)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")
@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_trees_after_the_best_iteration_do_not_count(kind: str) -> None:
    noise = np.random.default_rng(3).normal(size=(60, 4)), np.arange(60) % 2
    more: dict[str, Any] = {"n_estimators": 60, "early_stopping_rounds": 3} if kind == "xgboost" else {}
    model = make_model(kind, **more)
    if kind == "lightgbm":
        stopping = import_module("lightgbm").early_stopping(3, verbose=False)
        model = model.set_params(n_estimators=60).fit(X, LABELS, eval_set=[noise], callbacks=[stopping])
    else:
        model = model.fit(X, LABELS, eval_set=[noise], verbose=False)
    members = members_of(model)
    assert members.t < 40
    size = np.abs(scores(model, X)).max() / np.abs(votes(members, X)).max()
    assert size * votes(members, Z) == pytest.approx(scores(model, Z)[:, 0], abs=2e-6)
