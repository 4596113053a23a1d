"""Boosting that stops by examples held out: the split, the end, what is proved, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from boostopt import boost, verify
from boostopt.boosting import BoostOptions
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.errors import OptionError
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import DecisionStumps

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5)).round(3)
y = np.where((X[:, 0] + X[:, 1] > 0) ^ (RNG.random(200) < 0.2), "yes", "no")
ROUGH: dict[str, Any] = {"epsilon": 1e-3, "nu": 0.2, "early_stopping": True, "n_iter_no_change": 3}


def test_early_stopping_is_off_by_default_and_then_no_validation_set_exists() -> None:
    model = MarginBoostClassifier(epsilon=0.1).fit(X, y)
    assert model.early_stopping is False and not hasattr(model, "validation_score_")
    assert model.run_.N == len(y)


def test_a_fit_ends_after_so_many_rounds_without_improvement() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what was asked for is no failure to converge
        warnings.simplefilter("ignore", category=UserWarning)
        model: Any = MarginBoostClassifier(**ROUGH).fit(X, y)
    scores = model.validation_score_
    assert model.run_.stop_reason is StopReason.NO_SMALLER_TEST_ERROR and len(scores) == model.n_iter_
    assert scores[-3:].max() <= scores[:-3].max()
    for k in range(4, len(scores)):  # it did not stop too late
        assert scores[k - 3 : k].max() > scores[: k - 3].max()
    assert model.certificate_.gap > 1e-3


@pytest.mark.thorough
def test_the_examples_to_stop_by_are_a_stratified_draw_of_scikit_learns() -> None:
    model: Any = MarginBoostClassifier(**ROUGH, random_state=3).fit(X, y)
    training_rows, validation_rows = train_test_split(np.arange(200), test_size=0.1, stratify=y, random_state=3)
    assert model.run_.record.problem.examples.total == len(training_rows) == 180
    assert model.validation_score_[-1] == pytest.approx(
        np.mean(model.predict(X[validation_rows]) == y[validation_rows])
    )
    assert model.margins_.shape == (200,)
    counted: Any = MarginBoostClassifier(**ROUGH, validation_fraction=40).fit(X, y)
    assert counted.run_.record.problem.examples.total == 160


@pytest.mark.thorough
def test_without_a_fraction_the_error_is_that_on_the_examples_themselves() -> None:
    model: Any = MarginBoostClassifier(**ROUGH, validation_fraction=None).fit(X, y)
    assert model.run_.record.problem.examples.total == 200
    assert model.validation_score_[-1] == pytest.approx(model.score(X, y))


def test_examples_of_weight_zero_are_not_in_the_validation_set() -> None:
    weights = np.where(np.arange(200) < 100, 0.0, 2.0)
    model: Any = MarginBoostClassifier(**ROUGH).fit(X, y, sample_weight=weights)
    subset_model: Any = MarginBoostClassifier(**ROUGH).fit(X[100:], y[100:], sample_weight=weights[100:])
    np.testing.assert_array_equal(model.decision_function(X), subset_model.decision_function(X))


@pytest.mark.thorough
def test_each_of_several_classes_stops_by_itself() -> None:
    several = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=200), [-0.5, 0.5])
    model: Any = MarginBoostClassifier(**ROUGH).fit(X, several)
    assert [len(scores) for scores in model.validation_score_] == [run.rounds for run in model.runs_]
    assert {run.stop_reason for run in model.runs_} == {StopReason.NO_SMALLER_TEST_ERROR}


@pytest.mark.thorough
def test_the_proof_is_that_of_the_examples_that_were_learned_from(tmp_path: Path) -> None:
    path, model = tmp_path / "proof.json", MarginBoostClassifier(**ROUGH).fit(X, y)
    model.save_certificate(path, X, y)
    assert verify(path, MarginBoostClassifier(early_stopping=True).class_of(X, y))
    assert not verify(path, MarginBoostClassifier().class_of(X, y))
    again = MarginBoostClassifier(**ROUGH).fit(X, y)
    model.save(tmp_path / "model.npz")
    assert MarginBoostClassifier.load(tmp_path / "model.npz").early_stopping is True
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("parameter", "value", "facts"),
    [
        ("early_stopping", "auto", r"\bTrue or False\b.*'auto'"),
        ("validation_fraction", 1.0, r"\(0, 1\).* 1\.0\b"),
        ("n_iter_no_change", 0, r" 1\b.* 0\b"),
    ],
    ids=["early_stopping", "validation_fraction", "n_iter_no_change"],
)
def test_invalid_parameters_are_refused(parameter: str, value: Any, facts: str) -> None:
    with pytest.raises(OptionError, match=rf"\b{parameter}\b.*{facts}"):
        MarginBoostClassifier(**{parameter: value}).fit(X, y)


def test_a_run_waits_as_long_as_its_patience() -> None:
    signs = np.where(y == "yes", 1, -1)
    oracle = DecisionStumps(X, signs)
    run = boost("lpboost", oracle, nu=40, epsilon=1e-6, test=(X[:50], signs[:50]), patience=2)
    errors = run.trace["test_error"]
    assert run.stop_reason is StopReason.NO_SMALLER_TEST_ERROR
    assert f" {errors.min():.4g}," in run.reason and " 2 rounds " in run.reason
    assert errors[-2:].min() >= errors[:-2].min()
    with pytest.raises(OptionError, match=r"\bpatience=2\b.*\btest=\(X, y\)"):
        BoostOptions(patience=2)
