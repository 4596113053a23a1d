"""Probabilities: there only where they were asked for, and those of scikit-learn's calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss

from boostopt.errors import OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier
from boostopt.estimators.probability_calibration import sigmoid_probabilities

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)).round(2)
y = np.where(X[:, 0] + 0.7 * RNG.normal(size=120) > 0, "yes", "no")
ROUGH: dict[str, Any] = {"epsilon": 0.2, "nu": 0.3}
WHOLE: Any = {"cv": 5, "ensemble": False}


def test_probabilities_exist_only_on_request() -> None:
    model: Any = MarginBoostClassifier(**ROUGH)
    assert not hasattr(model, "predict_proba") and not hasattr(model.fit(X, y), "predict_log_proba")
    with pytest.raises(AttributeError, match="'predict_proba'") as failed:
        model.predict_proba(X)
    assert "probability=True" in str(failed.value.__cause__)
    assert hasattr(MarginBoostClassifier(probability=True), "predict_proba")  # before the fit, as SVC has it
    assert not hasattr(model.set_params(probability=True), "predict_proba")
    with pytest.raises(OptionError, match=r"\bprobability\b.*'yes'"):
        MarginBoostClassifier(probability="yes").fit(X, y)


@pytest.mark.thorough
def test_probabilities_are_those_of_scikit_learn_and_leave_the_classifier_unchanged(tmp_path: Path) -> None:
    model: Any = MarginBoostClassifier(**ROUGH, probability=True).fit(X, y)
    plain: Any = MarginBoostClassifier(**ROUGH).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    calibrated: Any = CalibratedClassifierCV(MarginBoostClassifier(**ROUGH), **WHOLE).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities, calibrated.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(probabilities), model.predict_log_proba(X))
    assert log_loss(y, probabilities) < log_loss(y, np.full((120, 2), 0.5))
    model.save(tmp_path / "model.npz")
    loaded = MarginBoostClassifier.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict_proba(X), probabilities)
    assert loaded.probability is True and loaded.nu_ == 0.3


def test_a_class_with_fewer_examples_than_folds_is_refused() -> None:
    few = np.where(np.arange(len(y)) < 3, "rare", y)
    with pytest.raises(ProblemError, match=r"\bprobability=True\b.* 5 .* 3 of 'rare'"):
        MarginBoostClassifier(**ROUGH, probability=True).fit(X, few)


@pytest.mark.thorough
def test_sigmoids_that_are_damaged_are_refused(tmp_path: Path) -> None:
    model: Any = MarginBoostClassifier(**ROUGH, probability=True).fit(X, y)
    for sigmoids, facts in (
        ([[np.nan, 0.0]], r"\b2 finite\b"),
        ([[1.0, 0.0], [1.0, 0.0]], r"\b2 finite\b"),
        ([1.0, 0.0], r"\bsigmoids\b.*\btable\b"),
    ):
        model.sigmoids_ = np.array(sigmoids)
        with pytest.raises(OptionError, match=facts):
            model.save(tmp_path / "model.npz")


def test_sigmoids_of_which_all_are_0_give_equal_probabilities() -> None:
    probabilities = sigmoid_probabilities(np.array([[1e4, 0.0]] * 3), np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]]))
    np.testing.assert_array_equal(probabilities, [[1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0]])


@pytest.mark.thorough
def test_several_classes_have_one_each_and_weights_count() -> None:
    several = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=120), [-0.6, 0.6])
    model: Any = MarginBoostClassifier(**ROUGH, probability=True).fit(X, several, sample_weight=np.ones(120))
    calibrated: Any = CalibratedClassifierCV(MarginBoostClassifier(**ROUGH), **WHOLE).fit(X, several)
    np.testing.assert_allclose(model.predict_proba(X), calibrated.predict_proba(X), rtol=1e-12)
    model.fit(X[:60], y[:60])
    assert model.predict_proba(X).shape == (120, 2)


@pytest.mark.filterwarnings("ignore:The limit max_iter")
def test_class_weights_by_label_count_in_the_folds_too() -> None:
    weights, codes = {"no": 1.0, "yes": 4.0}, (y == "yes").astype(int)
    few: Any = {**ROUGH, "probability": True, "max_iter": 3}
    model: Any = MarginBoostClassifier(**few, class_weight=weights).fit(X, y)
    numbered: Any = MarginBoostClassifier(**few, class_weight={0: 1.0, 1: 4.0}).fit(X, codes)
    np.testing.assert_array_equal(model.predict_proba(X), numbered.predict_proba(X))
