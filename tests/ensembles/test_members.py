"""The members of a fitted ensemble, with its own weights, are the ensemble."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from ensemble_examples import ENSEMBLES, SIGNS, STUMP, X, Y, Z, fresh
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from boostopt import OptionError, ProblemError, boost
from boostopt._utils.array_types import Array, Float
from boostopt.ensembles import Members, members_of
from boostopt.ensembles.member_hypotheses import MemberHypothesis, NegatedHypothesis
from boostopt.oracles import DecisionStumps, MatrixColumn, evaluate

ROWS = np.arange(len(X))


def values(members: Members, X: Any) -> Float[Array, "n t"]:
    """The values of all members."""
    return np.stack(list(evaluate(members.hypotheses, members.rows(X))), axis=1)


def fitted(kind: str, X: Any = X, y: Any = Y) -> Any:
    return fresh(ENSEMBLES[kind]).fit(X, y)


def test_adaboost_votes_with_its_weights() -> None:
    ensemble = fitted("adaboost")
    members = members_of(ensemble)
    f = values(members, Z) @ members.weights
    assert (np.where(f > 0, "yes", "no") == ensemble.predict(Z)).all()
    assert 2 * f == pytest.approx(ensemble.decision_function(Z), abs=1e-12)  # scikit-learn adds up both classes
    assert members.weights.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("parameters", [{}, {"init": "zero"}, {"loss": "exponential"}, {"learning_rate": 0.5}], ids=str)
def test_gradient_boosting_adds_its_scaled_trees_and_its_first_guess(parameters: Any) -> None:
    ensemble = fresh(ENSEMBLES["gradient boosting"]).set_params(**parameters).fit(X, Y)
    members = members_of(ensemble)
    assert members.t == 15 + ("init" not in parameters)
    H = values(members, Z)
    leaves = [np.abs(tree.tree_.value[tree.tree_.feature < 0]).max() for tree in ensemble.estimators_[:, 0]]
    total = ensemble.learning_rate * sum(leaves)
    if "init" not in parameters:
        odds = np.log((Y == "yes").mean() / (Y == "no").mean()) * (0.5 if "loss" in parameters else 1.0)
        assert H[:, -1] == pytest.approx(np.sign(odds))
        assert members.weights[-1] == pytest.approx(abs(odds) / (total + abs(odds)), rel=1e-10)
        total += abs(odds)
    assert total * (H @ members.weights) == pytest.approx(ensemble.decision_function(Z), abs=1e-12)
    assert np.abs(values(members, 100.0 * Z)).max() <= 1.0


@pytest.mark.parametrize("kind", ["forest", "extra trees", "bagging"])
def test_forests_average_the_probabilities_of_their_trees(kind: str) -> None:
    ensemble = fitted(kind)
    members = members_of(ensemble, "predict_proba")
    assert values(members, Z) @ members.weights == pytest.approx(2 * ensemble.predict_proba(Z)[:, 1] - 1, abs=1e-12)
    votes = values(members_of(ensemble), Z)
    assert set(np.unique(votes)) == {-1.0, 1.0}


def test_voting_counts_with_its_weights_and_leaves_out_what_was_dropped() -> None:
    ensemble = fitted("voting")
    members = members_of(ensemble)
    assert members.weights == pytest.approx(np.array([2.0, 1.0, 1.5]) / 4.5)
    f = values(members, Z) @ members.weights
    assert (np.where(f > 0, "yes", "no") == ensemble.predict(Z)).all()
    soft = members_of(ensemble.set_params(voting="soft"), "predict_proba")
    p = ensemble.predict_proba(Z)[:, 1]
    assert values(soft, Z) @ soft.weights == pytest.approx(2 * p - 1, abs=1e-12)


def test_a_run_gives_its_hypotheses_and_weights() -> None:
    run = boost("lpboost", DecisionStumps(X, SIGNS), nu=10, epsilon=0.1)
    members = members_of(run)
    assert members.hypotheses == tuple(run.hypotheses)
    assert values(members, Z) @ members.weights == pytest.approx(run.decision_function(Z), abs=1e-12)
    again = members_of(list(run.hypotheses))
    assert again.weights == pytest.approx(np.full(again.t, 1 / again.t))


def test_negative_weights_belong_to_negations() -> None:
    models = [fresh(STUMP).fit(X[:, [j]], Y) for j in range(2)]
    models = [make_pipeline(FunctionTransformer(first(j)), model).fit(X, Y) for j, model in enumerate(models)]
    plain, negated = members_of(models), members_of(models, weights=[1.0, -3.0])
    assert negated.weights.tolist() == [0.25, 0.75]
    assert (values(negated, Z)[:, 1] == -values(plain, Z)[:, 1]).all()
    assert str(negated.hypotheses[1]) == "-(Pipeline 1)"
    assert NegatedHypothesis(MatrixColumn(2)) == NegatedHypothesis.restored(NegatedHypothesis(MatrixColumn(2)).state())


def first(j: int) -> Any:
    """Return what keeps one feature."""
    return lambda X: X[:, [j]]


@pytest.mark.every(3)
@pytest.mark.parametrize("labels", [("a", "b"), (0, 1), (-1, 1), (1.0, 7.0), (False, True), (2, 1)], ids=str)
def test_any_two_labels_work(labels: Any) -> None:
    y = np.where(SIGNS > 0, labels[1], labels[0])
    expected = np.where(y == np.unique(y)[1], 1, -1)
    for kind in ENSEMBLES:
        ensemble = fitted(kind, y=y)
        members = members_of(ensemble)
        assert (members.label_signs(y) == expected).all()
        f = values(members, X) @ members.weights
        assert np.mean(np.where(f > 0, 1, -1) == expected) > 0.75, kind


@pytest.mark.thorough
def test_members_that_saw_one_class_know_one_label() -> None:
    few = np.array([0, 1, 2])
    y = np.array(["no", "no", "yes"])
    ensemble = BaggingClassifier(KNeighborsClassifier(1), 20, max_samples=1, random_state=0).fit(X[few], y)
    assert {len(model.classes_) for model in ensemble.estimators_} == {1}
    for kind in ("predict", "predict_proba"):
        H = values(members_of(ensemble, kind), Z)
        assert (H.mean(axis=1) == pytest.approx(2 * ensemble.predict_proba(Z)[:, 1] - 1)) and set(H.flat) == {-1.0, 1.0}
    listed = [DecisionTreeClassifier().fit(X, np.full(len(X), "no")), fresh(STUMP).fit(X, Y)]
    assert (values(members_of(listed), Z)[:, 0] == -1).all()
    svms = BaggingClassifier(AlwaysSure(), 20, max_samples=1, random_state=0).fit(X[few], y)
    with pytest.raises(ProblemError, match=r"\bmember 0\b.*\bAlwaysSure\b.*\[[01]\]"):
        values(members_of(svms, "decision_function"), Z)


def test_decision_functions_are_cut_off() -> None:
    model = SVC(kernel="linear", C=10).fit(X, Y)
    H = values(members_of([model], "decision_function"), Z)
    assert (H[:, 0] == np.clip(model.decision_function(Z), -1, 1)).all()


def table(X: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=["alpha", "beta", "gamma", "delta"])


@pytest.mark.every(8)
@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.coo_array, table, np.ndarray.tolist])
def test_features_may_come_in_any_form_that_the_ensemble_takes(kind: str, form: Any) -> None:
    expected = values(members_of(fitted(kind)), Z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        members = members_of(fitted(kind, X=form(X)))
        assert values(members, form(Z)) == pytest.approx(expected)
        assert values(members, Z) == pytest.approx(expected)
        if form is not table:
            assert values(members, table(Z)) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_columns_in_another_order_are_refused(kind: str) -> None:
    members = members_of(fitted(kind, X=table(X)))
    with pytest.raises(ProblemError, match=r"\bX\b.* 4 .* 4 .*\['beta', 'alpha'\]"):
        members.rows(table(Z)[["beta", "alpha", "gamma", "delta"]])
    with pytest.raises(ProblemError, match=r"\bX\b.* 4 .* 3 .*\['delta'\]"):
        members.rows(table(Z)[["alpha", "beta", "gamma"]])


def test_pipelines_transform_first() -> None:
    ensemble = make_pipeline(StandardScaler(), ENSEMBLES["forest"]).fit(table(X), Y)
    members = members_of(ensemble, "predict_proba")
    assert values(members, table(Z)) @ members.weights == pytest.approx(2 * ensemble.predict_proba(table(Z))[:, 1] - 1)
    forest_pipeline = make_pipeline(fresh(ENSEMBLES["forest"])).fit(X, Y)
    assert values(members_of(forest_pipeline), Z).shape == (50, 15)
    with pytest.raises(ProblemError, match=r"\bPipeline\.transform\b.*\bX\b.* 2 .*\bStandardScaler\b.* 4 "):
        members.rows(Z[:, :2])


def test_margins_of_whole_numbers_are_small_and_examples_may_be_left_out() -> None:
    members = members_of(fitted("forest"))
    U = members.margins(X, members.label_signs(Y), ROWS[:30])
    assert "int8" in repr(U) and U.shape == (30, 15)
    assert (U.to_array() == SIGNS[:30, np.newaxis] * values(members, X[:30])).all()


def test_members_pickle_and_are_named_when_saved() -> None:
    members = members_of(fitted("gradient boosting"))
    again = pickle.loads(pickle.dumps(members))
    assert (values(again, Z) == values(members, Z)).all()
    member = members.hypotheses[3]
    assert str(member) == "DecisionTreeRegressor 3" and isinstance(member, MemberHypothesis)
    assert member(Z) == pytest.approx(values(members, Z)[:, 3])
    restored = MemberHypothesis.restored(member.state())
    assert restored == member
    with pytest.raises(ProblemError, match=r"\bDecisionTreeRegressor 3\b.*\bpickle\b"):
        restored(Z)


class Answering(ClassifierMixin, BaseEstimator):
    """Answers what it is told to."""

    def __init__(self, answer: Any = None, classes: Any = ("no", "yes")) -> None:
        self.answer = answer
        self.classes = classes
        self.classes_ = np.array(classes)

    def predict(self, X: Any) -> Any:
        return self.answer

    decision_function = predict_proba = predict


class AlwaysSure(ClassifierMixin, BaseEstimator):
    """Knows one class."""

    def fit(self, X: Any, y: Any) -> AlwaysSure:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])

    def decision_function(self, X: Any) -> Any:
        return np.zeros(len(X))


@pytest.mark.parametrize(
    ("kind", "answer", "facts"),
    [
        ("predict", np.full(50, "maybe"), r"'no'.*'yes'.*'maybe'"),
        ("predict", np.full(49, "no"), r"\(50,\).*\(49,\)"),
        ("predict", np.full((50, 1), "no"), r"\(50,\).*\(50, 1\)"),
        ("predict_proba", np.full((50, 2), 1.5), r"\[0, 1\].* 1\.5\b"),
        ("predict_proba", np.full((50, 3), 0.5), r"\(50, 2\).*\(50, 3\)"),
        ("decision_function", np.full(50, np.nan), r"\bfinite\b.*\bnan\b"),
        ("decision_function", np.full((50, 2), 0.5), r"\(50,\).*\(50, 2\)"),
    ],
    ids=["another label", "too few", "one column", "above 1", "three columns", "nan", "two columns"],
)
def test_strange_answers_are_refused_with_the_member(kind: str, answer: Any, facts: str) -> None:
    members = members_of([Answering(answer)], kind)
    with pytest.raises(ProblemError, match=rf"\bmember 0\b.*\bAnswering\b.*\.{kind}\b.*{facts}") as refused:
        values(members, Z)
    assert "BinaryVoter" not in str(refused.value)
    assert "np." not in str(refused.value)


def test_the_order_of_the_labels_that_a_member_knows_does_not_matter() -> None:
    p = np.tile([0.2, 0.8], (50, 1))
    models = [Answering(p), Answering(p, ("yes", "no"))]
    assert values(members_of(models, "predict_proba"), Z)[0] == pytest.approx([0.6, -0.6])
    f = [Answering(np.full(50, 0.5)), Answering(np.full(50, 0.5), ("yes", "no"))]
    assert values(members_of(f, "decision_function"), Z)[0].tolist() == [0.5, -0.5]


FOREST = RandomForestClassifier(3, random_state=0)


@pytest.mark.parametrize(
    ("ensemble", "facts"),
    [
        (FOREST, r"\bRandomForestClassifier\b.*\bfit\(X, y\)"),
        (AdaBoostClassifier(), r"\bAdaBoostClassifier\b.*\bfit\(X, y\)"),
        (make_pipeline(StandardScaler(), FOREST), r"\bRandomForestClassifier\b.*\bfit\(X, y\)"),
        ([STUMP], r"\bDecisionTreeClassifier\b.*\bfit\(X, y\)"),
        ([], r"\bmember\b.*\bnone\b"),
        ([object()], r"\blist\b.*<object object"),
        (LogisticRegression(), r"\bVotingClassifier\b.*\bLogisticRegression\(\)"),
        (RandomForestRegressor(), r"\bVotingClassifier\b.*\bRandomForestRegressor\(\)"),
        (HistGradientBoostingClassifier(), r"\bHistGradientBoostingClassifier\b.*\bfit\(X, y\)"),
        (
            GradientBoostingClassifier(init=LogisticRegression()).fit(X, Y),
            r'\binit=LogisticRegression\(\).*\binit=None or "zero"',
        ),
        ([Answering(), Answering(classes=("no", "maybe"))], r" 3: \['maybe', 'no', 'yes'\]"),
        ([Answering(classes=("no",))], r" 1: \['no'\]"),
        (fresh(FOREST).fit(X, np.arange(80) % 3), r"\bRandomForestClassifier\b.*\[0, 1, 2\]"),
        (fresh(FOREST).fit(X, np.zeros(80)), r"\bRandomForestClassifier\b.*\[0\.0\]"),
        (fresh(FOREST).fit(X, np.stack([SIGNS, SIGNS], axis=1)), r"\bRandomForestClassifier\b.* 2 outputs\b"),
        ([Answering(classes=(0, 1, 2))], r" 3: \[0, 1, 2\].*\breweight_one_vs_rest\b"),
    ],
    ids=[
        *("forest", "adaboost", "pipeline", "list", "no member", "object", "single", "regressor", "histograms", "init"),
        *("labels", "one label", "three classes", "one class", "two outputs", "list of three classes"),
    ],
)
def test_unfitted_and_multiclass_ensembles_are_refused(ensemble: Any, facts: str) -> None:
    with pytest.raises(ProblemError, match=facts):
        members_of(ensemble)


@pytest.mark.parametrize(
    "weights", [[1.0], [0.0, 0.0], [1.0, np.nan], [1.0, np.inf], ["a", "b"], np.ones((2, 1)), [1j, 1]], ids=str
)
def test_weights_must_be_finite_numbers_not_all_zero(weights: Any) -> None:
    models = [fresh(STUMP).fit(X, Y)] * 2
    with pytest.raises(ProblemError, match=r"\bweights\b.* 2 finite\b"):
        members_of(models, weights=weights)
    assert members_of(models, weights=[1e308, 1e308]).weights.tolist() == [0.5, 0.5]


def test_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OptionError, match=r"\bvalues\b.*'proba'.*'predict_proba'"):
        members_of(fitted("forest"), "proba")
    with pytest.raises(OptionError, match=r"\bGradientBoostingClassifier\b.*\bvalues='predict'"):
        members_of(fitted("gradient boosting"), "predict")
    with pytest.raises(OptionError, match=r"\bhypotheses\b.*\bvalues='predict'"):
        members_of([MatrixColumn(0)], "predict")
    with pytest.raises(OptionError, match=r"\bweights\b.*\bAdaBoostClassifier\b"):
        members_of(fitted("adaboost"), weights=np.ones(15))
    with pytest.raises(ProblemError, match=r"\bDecisionTreeClassifier\b.*\bdecision_function\b"):
        values(members_of(fitted("forest"), "decision_function"), Z)
    with pytest.raises(ProblemError, match=r"\bmember 0: DecisionTreeClassifier\.predict\b.* 2 .* 4 "):
        values(members_of(fitted("forest")), Z[:, :2])
    with pytest.raises(ProblemError, match=r"\bmember 0: RandomForestClassifier\.predict\b.* 2 .* 4 "):
        values(members_of(VotingClassifier([("f", FOREST)]).fit(X, Y)), Z[:, :2])


def test_labels_must_be_those_of_the_ensemble() -> None:
    members = members_of(fitted("forest"))
    with pytest.raises(ProblemError, match=r"\by\b.*'no'.*'yes'.*'maybe'"):
        members.label_signs(["no", "maybe"])
    with pytest.raises(ProblemError, match=r"\by\b.*'no'.*'yes'.* 1\b"):
        members.label_signs(SIGNS)
    with pytest.raises(ProblemError, match=r"\by\b.*\(N,\).*\(80, 1\)"):
        members.label_signs(Y[:, np.newaxis])
    with pytest.raises(ProblemError, match=r"\by\b.* -1 .*'yes', 'no'"):
        members_of([MatrixColumn(0)]).label_signs(Y)


def test_values_outside_are_refused() -> None:
    class Large(MatrixColumn):
        def __call__(self, X: Any) -> Any:
            return np.full(len(X), 1.5)

    members = members_of([Large(0)])
    with pytest.raises(ProblemError, match=r"\bX\b.*\[-1, 1\].*\bcolumn 0\b"):
        members.margins(1.5 * np.ones((80, 1)), SIGNS.astype(np.int8), ROWS)


def test_blanks_that_lightgbm_replaces_are_no_difference_of_columns() -> None:
    model = AdaBoostClassifier(STUMP, n_estimators=2).fit(X[:, :2], Y)
    members = replace(members_of(model), feature_names=np.array(["mean_radius", "mean_area"]))
    members.rows(pd.DataFrame(X[:, :2], columns=["mean radius", "mean area"]))
    with pytest.raises(ProblemError, match=r"without \['mean_radius'\] and also \['r'\]\."):
        members.rows(pd.DataFrame(X[:, :2], columns=["r", "mean area"]))
