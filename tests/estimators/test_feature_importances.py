"""A feature is as important as the votes on it vary over the examples: constants and opposite votes do not count."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from benchmarks.importances import BEGIN, END, format_table, rank_correlations
from benchmarks.package_tables import TABLES
from boostopt import MarginWarning
from boostopt.ensembles.member_hypotheses import NegatedHypothesis
from boostopt.estimators import MarginBoostClassifier
from boostopt.estimators.binary_model import BinaryModel, combine_opposites, describe_weights
from boostopt.estimators.feature_importances import feature_importances, feature_spreads
from boostopt.oracles import Feature, Hypothesis, Stump

X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [1.0, 4.0]])
C = np.array([1.0, 1.0, 1.0, 5.0])
RARE, OPPOSITE = Stump(0, 0.5, 1, 2), Stump(0, 0.5, -1, 2)
LOW, HIGH = Stump(1, 1.5, 1, 2), Stump(1, 3.5, 1, 2)
ALWAYS, NEVER = Stump(0, -math.inf, 1, 2), Stump(1, -math.inf, -1, 2)


def model_of(hypotheses: list[Hypothesis], w: list[float]) -> BinaryModel:
    """Return a model of hypotheses without a run."""
    return BinaryModel("lpboost", "stumps", hypotheses, np.array(w), 1, 1, "", None)


def test_opposite_votes_and_constants_share_one_weight() -> None:
    votes = combine_opposites([RARE, ALWAYS, OPPOSITE, LOW, NEVER], np.array([0.3, 0.1, 0.2, 0.1, 0.3]))
    assert [hypothesis for hypothesis, _ in votes] == [RARE, NEVER, LOW]
    assert [weight for _, weight in votes] == pytest.approx([0.1, 0.2, 0.1])
    f = sum(weight * hypothesis(X) for hypothesis, weight in votes)
    raw = zip([RARE, ALWAYS, OPPOSITE, LOW, NEVER], [0.3, 0.1, 0.2, 0.1, 0.3], strict=True)
    assert f == pytest.approx(sum(weight * hypothesis(X) for hypothesis, weight in raw))
    assert combine_opposites([RARE, OPPOSITE, ALWAYS, NEVER], np.full(4, 0.25)) == []
    assert combine_opposites([RARE], np.array([-1.0])) == [(RARE, -1.0)]
    negated = combine_opposites([LOW, NegatedHypothesis(LOW)], np.array([0.25, 0.75]))
    assert negated == [(NegatedHypothesis(LOW), 0.5)]
    features = combine_opposites([Feature(0, 2.0, 1, 2), Feature(0, 2.0, -1, 2)], np.array([0.75, 0.25]))
    assert features == [(Feature(0, 2.0, 1, 2), 0.5)]


def test_words_have_the_weights_in_f() -> None:
    words = describe_weights([RARE, OPPOSITE, HIGH], np.array([0.5, 0.25, 0.25]), ["sex", "age"], None)
    assert words == ["0.2500 sex > 0.5", "0.2500 age > 3.5"]


def test_spreads_are_standard_deviations_of_the_votes_by_hand() -> None:
    """With weights 1, 1, 1, 5 a stump that holds for the last row alone has variance 4 * 5/8 * 3/8."""
    spreads = feature_spreads(model_of([RARE, LOW, HIGH, NEVER], [0.4, 0.1, 0.3, 0.2]), X, C)
    assert spreads is not None
    age = 0.1 * LOW(X) + 0.3 * HIGH(X)
    mean = (age * C).sum() / 8
    by_hand = [0.4 * math.sqrt(4 * 5 * 3 / 64), math.sqrt(((age - mean) ** 2 * C).sum() / 8)]
    assert spreads == pytest.approx(by_hand)
    shares = feature_importances([dataclasses.replace(model_of([RARE], [1.0]), spreads=spreads)], 2)
    assert shares == pytest.approx(spreads / spreads.sum())


def test_a_feature_of_rare_votes_is_less_important_than_one_of_balanced_votes() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 2))
    rare, balanced = Stump(0, float(np.sort(rows[:, 0])[-6]), 1, 2), Stump(1, 0.0, 1, 2)
    model = model_of([rare, balanced], [0.6, 0.4])
    spreads = feature_spreads(model, rows, np.ones(1000))
    assert spreads is not None and spreads[0] < 0.25 * spreads[1]
    assert feature_importances([model], 2) == pytest.approx([0.6, 0.4])  # without spreads, as of an older file


def test_importances_of_a_fit_travel_with_the_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(80, 3)).round(1)
    for labels in (rows[:, 1] > 0, np.digitize(rows[:, 2], [-0.5, 0.5])):
        model = MarginBoostClassifier(epsilon=0.1).fit(rows, labels)
        model.save(tmp_path / "model.npz")
        loaded = MarginBoostClassifier.load(tmp_path / "model.npz")
        assert (loaded.feature_importances_ == model.feature_importances_).all()
        assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_trees_divide_their_spread_and_kernels_have_no_features() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 3))
    trees = MarginBoostClassifier(base=DecisionTreeClassifier(max_depth=2), epsilon=0.1).fit(rows, rows[:, 0] > 0)
    assert trees.feature_importances_.argmax() == 0
    kernels = MarginBoostClassifier(base="kernel", epsilon=0.3).fit(rows, rows[:, 0] > 0)
    assert not hasattr(kernels, "feature_importances_")


def test_the_page_has_a_rank_correlation_for_each_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "classifiers.md").read_text(encoding="utf-8")
    lines = page.split(BEGIN)[1].split(END)[0].split("\n")
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines if line.startswith("| ")] == [
        "set",
        *TABLES,
        "mean",
    ]
    table = format_table({"a": (0.5, 0.25, math.nan, 0.2), "b": (1.0, 0.75, 0.5, 0.6)})
    assert table.endswith("| mean | 0.75 | 0.50 | 0.50 | 0.40 |") and "| a | 0.50 | 0.25 | constant | 0.20 |" in table


def test_a_constant_prediction_has_no_ranks() -> None:
    rng = np.random.default_rng(0)
    with pytest.warns(MarginWarning):
        correlations = rank_correlations(rng.integers(0, 2, (200, 2)), np.arange(200) < 26, {}, "accuracy")
    assert all(math.isnan(value) for value in correlations)


@pytest.mark.thorough
def test_rank_correlations_prefer_spreads_to_weights_of_rare_votes() -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.exponential(3.0, 600), rng.poisson(3.0, 600), rng.gamma(2.0, 2.0, 600)])
    value = 0.5 * rows[:, 1] - 1.2 * rows[:, 0] + 0.6 * rng.normal(size=600)
    spreads, weights = rank_correlations(rows, (value > np.quantile(value, 0.9)).astype(int), {}, "accuracy")
    assert spreads >= weights
