"""Oracles and hypotheses print themselves in a line, features by their names where there are some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from boostopt import boost, get_formulation, reweight
from boostopt.errors import OptionError
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import DecisionStumps, Feature, RBFNetworks, Stump

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)).round(2)
y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)


def test_an_oracle_says_its_class_and_its_size() -> None:
    oracle = DecisionStumps(X, y)
    assert repr(oracle) == f"DecisionStumps({oracle}; N = 40)"


def test_a_network_is_printed_in_a_line() -> None:
    run = boost("adaboost", RBFNetworks(X, y, K=3), max_rounds=1)
    (network,) = run.hypotheses
    assert repr(network) == f"RBFHypothesis({network})"
    assert {"0", "3"} <= set(str(network).replace(",", "").split())


def test_features_are_called_by_their_names() -> None:
    names = ("age", "height")
    assert Stump(1, 0.5, 1, 2).in_words(names) == "height > 0.5"
    assert Stump(0, -np.inf, -1, 2).in_words(names) == "always -1"
    assert Feature(0, 2.0, -1, 2).in_words(names) == "-age / 2" and str(Feature(0, 2.0, -1, 2)) == "-feature 0 / 2"


def test_a_classifier_says_what_weighs_most() -> None:
    model: Any = MarginBoostClassifier(epsilon=0.2).fit(pd.DataFrame(X, columns=["age", "height"]), y)
    words, w = model.in_words(3), model.run_.w
    assert len(words) == 3 and all("age" in line or "height" in line or "always" in line for line in words)
    q = int(np.argmax(w))
    assert words[0] == f"{w[q]:.4f} {model.run_.hypotheses[q].in_words(['age', 'height'])}"
    several: Any = MarginBoostClassifier(epsilon=0.3).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    assert [line[0] for line in several.in_words(1)] == ["0", "1", "2"] and "feature" in several.in_words(1)[0]


def test_the_page_of_one_update_says_how_the_algorithm_is_run() -> None:
    page, how = (
        get_formulation("adaboost_reg"),
        r'boost\("adaboost_reg", oracle',
    )
    with pytest.raises(OptionError, match=how):
        boost(page, DecisionStumps(X, y), b=1.0)
    with pytest.raises(OptionError, match=rf"{how}.*\bformulation\b"):
        MarginBoostClassifier(page).fit(X, y)
    with pytest.raises(OptionError, match=how):
        reweight(MarginBoostClassifier(epsilon=0.3).fit(X, y), X, y, page)
    by_name: Any = MarginBoostClassifier("adaboost_reg", parameters={"C": 5.0}, max_iter=5).fit(X, y)
    assert by_name.run_.problem.formulation.name == "AdaBoost_REG"


def test_a_classifier_says_all_and_its_new_weights_keep_the_names() -> None:
    model: Any = MarginBoostClassifier(epsilon=0.2).fit(pd.DataFrame(X, columns=["age", "height"]), y)
    lines = model.in_words(None)
    assert len(lines) == np.count_nonzero(model.run_.w) and lines[:3] == model.in_words(3)
    reweighted = reweight(model, pd.DataFrame(X, columns=["age", "height"]), y, "lpboost", nu=0.2 * len(y))
    words = reweighted.in_words(None)
    assert len(words) == reweighted.n_nonzero_weights and any("age" in line or "height" in line for line in words)
    nameless: Any = MarginBoostClassifier(epsilon=0.2).fit(X, y)
    assert "feature 0" in " ".join(reweight(nameless, X, y, "lpboost", nu=0.2 * len(y)).in_words(None))
