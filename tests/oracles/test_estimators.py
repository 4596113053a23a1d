"""Classifiers as hypotheses: what is passed to them, what they may answer, and what is saved of them."""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from boostopt import OptionError, ProblemError
from boostopt.oracles.base import Query
from boostopt.oracles.learners.classifier_hypotheses import Fitted
from boostopt.oracles.learners.estimator_oracles import Estimators, Resampled

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
y = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, 1, -1)
D = RNG.dirichlet(np.ones(60))
STUMP = DecisionTreeClassifier(max_depth=1)


class Answering(ClassifierMixin, BaseEstimator):
    """Answers what it is told to, and remembers in `fits` of the class what it was fitted to; ignores the weights."""

    fits: list[tuple[Any, Any, Any]]

    def __init__(self, answer: Any = None, classes: Any = (-1, 1)) -> None:
        self.answer = answer
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Answering:
        type(self).fits.append((X, y, sample_weight))
        self.classes_ = np.array(self.classes)
        return self

    def predict(self, X: Any) -> Any:
        return np.sign(X[:, 0]) if self.answer is None else self.answer

    decision_function = predict_proba = predict


@pytest.fixture(autouse=True)
def forget() -> None:
    Answering.fits = []


def fitted(column: Any) -> Fitted:
    assert isinstance(column.hypothesis, Fitted)
    return column.hypothesis


def best_stump_edge(d: np.ndarray) -> float:
    """Largest edge of a decision stump: every threshold of every feature, both directions."""
    return max(
        abs(float((y * d) @ np.where(X[:, j] > threshold, 1, -1)))
        for j in range(X.shape[1])
        for threshold in [-np.inf, *X[:, j]]
    )


def test_a_stump_fitted_to_the_weights_is_a_column_with_its_edge() -> None:
    answer = Estimators(STUMP, X, y).best(Query(D, count=5))
    assert answer.edge_bound is None
    (column,) = answer.columns
    assert column.margins.dtype == np.int8
    np.testing.assert_array_equal(column.margins, y * column.hypothesis(X))
    assert column.edge == pytest.approx(float(column.margins @ D), abs=1e-15)
    assert 0.5 < column.edge <= best_stump_edge(D) + 1e-15
    # The hypothesis is the tree that scikit-learn fits to these weights.
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, sample_weight=60 * D)
    np.testing.assert_array_equal(column.hypothesis(X), tree.predict(X))


@pytest.mark.parametrize("estimator", [STUMP, LogisticRegression()])
@pytest.mark.parametrize("values", ["predict", "predict_proba"])
def test_values_are_those_of_the_classifier_dense_and_sparse(estimator: Any, values: str) -> None:
    for features in (X, scipy.sparse.csr_array(X)):
        column = Estimators(estimator, features, (y + 1) // 2, values=values).best(Query(D)).columns[0]
        model, h = fitted(column).estimator, column.hypothesis(features)
        expected = model.predict(features) if values == "predict" else 2 * model.predict_proba(features)[:, 1] - 1
        np.testing.assert_array_equal(h, expected)
        np.testing.assert_array_equal(column.margins, y * h)
        np.testing.assert_array_equal(model.classes_, [-1, 1])


def test_a_decision_function_is_cut_to_the_interval() -> None:
    column = Estimators(LogisticRegression(C=100.0), X, y, values="decision_function").best(Query(D)).columns[0]
    raw = fitted(column).estimator.decision_function(X)
    assert np.abs(raw).max() > 1 > np.abs(raw).min()
    np.testing.assert_array_equal(column.hypothesis(X), np.clip(raw, -1, 1))


def test_the_negation_is_returned_for_a_negative_edge_if_it_belongs_to_the_class() -> None:
    learner = Answering(-y)
    column = Estimators(learner, X, y).best(Query(D)).columns[0]
    assert column.edge == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_array_equal(column.margins, np.ones(60))
    np.testing.assert_array_equal(column.hypothesis(X), y)
    assert (fitted(column).sign, str(column.hypothesis)) == (-1, "-Answering 0")
    column = Estimators(learner, X, y, reflexive=False).best(Query(D)).columns[0]
    assert column.edge == pytest.approx(-1.0, abs=1e-15)
    np.testing.assert_array_equal(column.hypothesis(X), -y)


def test_weights_sum_to_the_number_of_examples_and_zeros_are_left_out() -> None:
    d = D.copy()
    d[:20] = 0
    Estimators(Answering(), X, y).best(Query(d / 7))
    ((features, labels, weights),) = Answering.fits
    np.testing.assert_array_equal(features, X[20:])
    np.testing.assert_array_equal(labels, y[20:])
    np.testing.assert_allclose(weights, 60 * d[20:] / d.sum(), rtol=1e-14)
    assert weights.sum() == pytest.approx(60)


def test_no_class_vanishes_where_its_weights_are_0() -> None:
    d = np.where(y > 0, D, 0)
    Estimators(Answering(), X, y).best(Query(d))
    ((features, labels, weights),) = Answering.fits
    np.testing.assert_array_equal(features, X)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(weights > 0, y > 0)
    assert Estimators(STUMP, X, y).best(Query(d / d.sum())).columns[0].edge == pytest.approx(1.0)


def test_an_estimator_that_ignores_the_weights_answers_the_same_column_with_its_true_edge() -> None:
    oracle = Estimators(Answering(), X, y)
    first, second = oracle.best(Query(D)).columns[0], oracle.best(Query(D[::-1].copy())).columns[0]
    np.testing.assert_array_equal(first.margins, second.margins)
    assert first.edge == pytest.approx(float(first.margins @ D))
    assert second.edge == pytest.approx(float(second.margins @ D[::-1]))
    assert first.hypothesis != second.hypothesis


def test_a_learner_without_weights_is_fitted_to_a_sample_drawn_by_them() -> None:
    neighbours = KNeighborsClassifier(n_neighbors=1)
    with pytest.raises(ProblemError, match=r"\bsample_weight\b.*\bKNeighborsClassifier\b.*\bResampled\b"):
        Estimators(neighbours, X, y)
    answer = Resampled(neighbours, X, y).best(Query(D))
    assert answer.edge_bound is None
    assert answer.columns[0].edge > 0.7
    np.testing.assert_array_equal(answer.columns[0].margins, y * answer.columns[0].hypothesis(X))


def test_samples_have_their_size_follow_the_weights_and_hold_both_classes() -> None:
    d = np.zeros(60)
    heavy = np.concatenate([np.flatnonzero(y > 0)[:2], np.flatnonzero(y < 0)[:1]])
    d[heavy] = 0.5, 0.4, 0.1
    oracle = Resampled(Answering(), X, y, size=5)
    for _ in range(50):
        oracle.best(Query(d))
    rows = {tuple(row) for row in X[heavy]}
    for features, labels, weights in Answering.fits:
        assert features.shape == (5, 3) and set(labels) == {-1, 1} and weights is None
        assert {tuple(row) for row in features} <= rows
    Resampled(Answering(), X, y).best(Query(D))
    assert Answering.fits[-1][0].shape == (60, 3)


def test_a_sample_that_cannot_hold_both_classes_is_an_error() -> None:
    d = np.where(y > 0, 1.0, 0.0)
    with pytest.raises(ProblemError, match=r"\bclasses\b.*\b20\b.*\b8\b.*\b1\b.*\b1\b.*\b1\..*\bsize\b"):
        Resampled(STUMP, X, y, size=8).best(Query(d / d.sum()))
    assert Answering.fits == []


@pytest.mark.parametrize("kind", [Estimators, Resampled])
def test_a_state_goes_on_where_it_was_taken(kind: Any) -> None:
    learner = DecisionTreeClassifier(max_depth=2, splitter="random", max_features=1)
    first, second = kind(learner, X, y, random_state=4), kind(learner, X, y, random_state=4)
    columns = [first.best(Query(D)).columns[0] for _ in range(8)]
    for _ in range(3):
        second.best(Query(D))
    third = kind(learner, X, y, random_state=4)
    third.restore(json.loads(json.dumps(dict(second.state()))))
    for column, expected in zip([third.best(Query(D)).columns[0] for _ in range(5)], columns[3:], strict=True):
        assert column.hypothesis == expected.hypothesis
        np.testing.assert_array_equal(column.margins, expected.margins)
    assert len({column.margins.tobytes() for column in columns}) > 4  # each call draws anew
    reference = kind(learner, X, y, random_state=5).best(Query(D)).columns[0]
    assert not np.array_equal(reference.margins, columns[0].margins)


def test_the_seed_is_the_estimators_own_unless_given_and_parts_of_it_are_seeded_too() -> None:
    def random_tree(random_state: int | None) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(max_depth=3, splitter="random", random_state=random_state)

    def seed_of(oracle: Estimators) -> int:
        return fitted(oracle.best(Query(D)).columns[0]).estimator.random_state

    seed = seed_of(Estimators(random_tree(3), X, y))
    assert seed == seed_of(Estimators(random_tree(None), X, y, random_state=3))
    assert seed != seed_of(Estimators(random_tree(None), X, y)) == seed_of(Estimators(random_tree(0), X, y))
    pipeline = make_pipeline(StandardScaler(), random_tree(None))
    model: Any = fitted(Resampled(pipeline, X, y).best(Query(D)).columns[0]).estimator
    assert isinstance(model[-1].random_state, int)
    assert pipeline.get_params()["decisiontreeclassifier__random_state"] is None  # a clone was fitted


def test_a_failed_fit_does_not_move_the_state() -> None:
    oracle = Estimators(Answering(np.full(60, 3.0)), X, y)
    with pytest.raises(ProblemError):
        oracle.best(Query(D))
    assert oracle.state() == {"calls": 0}


@pytest.mark.parametrize(
    ("values", "answer", "message"),
    [
        ("predict", np.full(60, 0.5), r"^Answering\.predict\b.* -1 .* 1;.*\[0\.5\]"),
        ("predict", np.zeros(60, dtype=int), r"^Answering\.predict\b.* -1 .* 1;.*\[0\.0\]"),
        ("predict", np.array(["a"] * 60), r"^Answering\.predict\b.*\bfinite\b.*'a'"),
        ("predict", np.ones(59), r"^Answering\.predict\b.*\(60,\).*\(59,\)"),
        ("predict", np.ones((60, 1)), r"^Answering\.predict\b.*\(60,\).*\(60, 1\)"),
        ("predict", np.where(np.arange(60) == 7, np.nan, 1.0), r"^Answering\.predict\b.*\bfinite\b.*\bnan\b"),
        (
            "decision_function",
            np.where(np.arange(60) == 7, np.inf, 1.0),
            r"^Answering\.decision_function\b.*\bfinite\b.*\binf\b",
        ),
        ("decision_function", np.ones((60, 3)), r"^Answering\.decision_function\b.*\(60,\).*\(60, 3\)"),
        ("predict_proba", np.ones(60), r"^Answering\.predict_proba\b.*\(60, 2\).*\(60,\)"),
        ("predict_proba", np.full((60, 2), [-0.5, 1.5]), r"^Answering\.predict_proba\b.*\[0, 1\].* 1\.5 .* 1\.5\b"),
        ("predict_proba", np.full((60, 2), [1.1, -0.1]), r"^Answering\.predict_proba\b.*\[0, 1\].* -0\.1 .* -0\.1\b"),
        ("predict_proba", np.full((60, 2), np.nan), r"^Answering\.predict_proba\b.*\bfinite\b.*\bnan\b"),
    ],
    ids=[
        "halves",
        "zeros",
        "text",
        "one fewer",
        "a column",
        "a nan",
        "an inf",
        "three columns",
        "no columns",
        "above 1",
        "below 0",
        "all nan",
    ],
)
def test_answers_that_are_no_hypothesis_are_refused(values: str, answer: Any, message: str) -> None:
    for kind in (Estimators, Resampled):
        with pytest.raises(ProblemError, match=message):
            kind(Answering(answer), X, y, values=values).best(Query(D))


def test_probabilities_off_by_single_precision_are_cut() -> None:
    p = np.where(y > 0, 1 + 1e-7, -1e-7)
    column = Estimators(Answering(np.stack([1 - p, p], axis=1)), X, y, values="predict_proba").best(Query(D)).columns[0]
    np.testing.assert_array_equal(column.margins, np.ones(60))


def test_classes_other_than_those_given_are_refused() -> None:
    proba = np.full((60, 2), 0.5)
    with pytest.raises(ProblemError, match=r"^Answering\b.*\[-1, 1\].*\[0, 1\]"):
        Estimators(Answering(proba, classes=(0, 1)), X, y, values="predict_proba").best(Query(D))


@pytest.mark.parametrize(
    ("d", "message"),
    [
        (np.zeros(60), r"\bd\b.*\ball 0\b"),
        (np.full(59, 1.0), r"\bd\b.*\b60\b.*\(59,\)"),
        (np.full(60, np.nan), r"\bd\b.*\b60\b.*\(60,\)"),
    ],
    ids=["zeros", "one fewer", "nan"],
)
def test_weights_that_cannot_be_fitted_to_are_refused(d: np.ndarray, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Estimators(STUMP, X, y).best(Query(d))


def test_other_estimators_are_refused() -> None:
    with pytest.raises(ProblemError, match=r"\bestimator\b.*<class.*DecisionTreeClassifier'>.*\binstance\b"):
        Estimators(DecisionTreeClassifier, X, y)
    with pytest.raises(ProblemError, match=r"\bestimator\b.*'tree'"):
        Resampled("tree", X, y)
    with pytest.raises(ProblemError, match=r"\bpredict\b.*\bStandardScaler\b"):
        Resampled(StandardScaler(), X, y)
    with pytest.raises(ProblemError, match=r"\bdecision_function\b.*\bDecisionTreeClassifier\b.*\bvalues\b"):
        Estimators(STUMP, X, y, values="decision_function")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Estimators, {"values": "proba"}, r"\bvalues\b.*'proba'.*'predict_proba'"),
        (Estimators, {"random_state": -1}, r"^random_state\b.* 0;.* -1\."),
        (Resampled, {"random_state": -2}, r"^random_state\b.* 0;.* -2\."),
        (Resampled, {"size": 1}, r"^size\b.* 2;.* 1\."),
        (Resampled, {"size": 0}, r"^size\b.* 2;.* 0\."),
    ],
    ids=["values", "seed", "drawn seed", "one", "none"],
)
def test_options_out_of_range_are_refused(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        kind(STUMP, X, y, **options)


def test_examples_are_checked() -> None:
    with pytest.raises(ProblemError, match=r"\bclasses\b.*\b60\b"):
        Estimators(STUMP, X, np.ones(60))
    with pytest.raises(ProblemError, match=r"^X\b.*: .*<U4\b"):
        Resampled(STUMP, np.full((60, 2), "text"), y)


def test_examples_of_multiplicity_0_are_left_out() -> None:
    c = np.arange(60) % 3
    oracle = Resampled(STUMP, X, y, c=c)
    assert oracle.N == 40
    np.testing.assert_array_equal(oracle.c, c[c > 0])
    np.testing.assert_array_equal(oracle.y, y[c > 0])
    assert len(oracle.best(Query(np.full(40, 1 / 40))).columns[0].margins) == 40


@pytest.mark.parametrize("values", ["predict", "predict_proba"])
def test_a_restored_hypothesis_knows_its_column_alone(values: str) -> None:
    column = Estimators(LogisticRegression(), X, y, values=values).best(Query(D)).columns[0]
    hypothesis = fitted(column)
    np.testing.assert_array_equal(y * hypothesis.training_values, column.margins)
    state = hypothesis.state()
    assert set(state) == {"number", "sign", "description", "values", "features", "on_training"}
    plain = {key: part.tolist() if isinstance(part, np.ndarray) else part for key, part in state.items()}
    for saved in (state, json.loads(json.dumps(plain))):
        again = Fitted.restored(saved)
        assert again == hypothesis and hash(again) == hash(hypothesis)
        assert str(again) == "LogisticRegression 0"
        np.testing.assert_array_equal(again.training_values, hypothesis.training_values)
        with pytest.raises(ProblemError, match=r"^LogisticRegression 0\b.*\brestored\b"):
            again(X)
    with pytest.raises(ProblemError, match=r"^X\b.*\b3\b.*\(60, 2\)"):
        hypothesis(X[:, :2])


@pytest.mark.parametrize("kind", [Estimators, Resampled])
def test_oracles_and_hypotheses_can_be_pickled(kind: Any) -> None:
    oracle = kind(STUMP, X, y)
    column = oracle.best(Query(D)).columns[0]
    again = pickle.loads(pickle.dumps(oracle))
    assert again.digest == oracle.digest
    np.testing.assert_array_equal(again.best(Query(D)).columns[0].margins, oracle.best(Query(D)).columns[0].margins)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(column.hypothesis))(X), column.hypothesis(X))


def test_the_digest_is_of_examples_and_learner_and_not_of_seeds() -> None:
    digest = Estimators(STUMP, X, y).digest
    assert digest == Estimators(DecisionTreeClassifier(max_depth=1, random_state=5), X, y, random_state=1).digest
    variants = [
        Estimators(STUMP, X, -y),
        Estimators(DecisionTreeClassifier(max_depth=2), X, y),
        Estimators(STUMP, X, y, values="predict_proba"),
        Estimators(STUMP, X, y, reflexive=False),
        Resampled(STUMP, X, y),
    ]
    assert len({digest, *(variant.digest for variant in variants)}) == 6


def test_oracles_of_estimators_describe_themselves() -> None:
    assert re.fullmatch(r"DecisionTreeClassifier\D*\bnegations", str(Estimators(STUMP, X, y)))
    text = str(Resampled(STUMP, X, y, size=9, reflexive=False))
    assert re.match(r"DecisionTreeClassifier\b.*\b9\b", text) and "negations" not in text
