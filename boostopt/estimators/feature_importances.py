"""The importance of features: how much the votes on each feature vary over the training examples.

The decision function of stumps is a sum of functions of one feature each. The importance of a feature is the share of
the standard deviation of its function in the sum of all standard deviations. So neither constants count, nor
hypotheses that cancel each other, and a hypothesis that has one value on nearly all examples counts little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.estimators.binary_model import BinaryModel, combine_opposites
from boostopt.oracles import Feature, Fitted, Hypothesis, RegressionStump, Stump, evaluate
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.feature_validation import FeatureMatrix
from boostopt.rows.row_block import Split

STUMPS = (Stump, RegressionStump)
"""Hypotheses of one threshold of one feature."""

MAX_SPREAD_ROWS = 100_000
"""The number of examples from which spreads are computed; of more examples, equally distant ones are taken."""


def feature_importances(scorers: Sequence[BinaryModel], features: int) -> Float[Array, " features"]:
    """Return the shares of the features in the spreads of the votes; the mean over several scorers.

    The sum is 1 unless all are 0. If the spreads of a scorer are unknown, its shares are those of the weights after
    opposite hypotheses have cancelled.

    Raises
    ------
    AttributeError
        The features of a hypothesis are unknown.
    """
    return np.mean([_model_importances(scorer, features) for scorer in scorers], axis=0)


def feature_spreads(model: BinaryModel, X: Any, c: ExampleVector) -> Float[Array, " features"] | None:
    """Return the standard deviation of the votes on each feature; None if the features of a hypothesis are unknown.

    A vote is w_q h_q(x) / sum |w|. A fitted classifier with its own importances divides the standard deviation of its
    votes by them.

    Parameters
    ----------
    model
        The hypotheses and weights.
    X, c
        Features, shape (N, features), and multiplicities, shape (N,), positive.
    """
    features = int(X.shape[1])
    spreads = np.zeros(features)
    total = float(np.abs(model.w).sum())
    if total == 0.0:
        return spreads
    step = -(-len(c) // MAX_SPREAD_ROWS)
    matrix, weights = FeatureMatrix(X[::step]), c[::step]
    votes = combine_opposites(model.hypotheses, model.w)
    for hypothesis, weight in votes:
        if isinstance(hypothesis, STUMPS):
            continue
        try:
            shares = _hypothesis_importances(hypothesis, features)
        except AttributeError:
            return None
        (values,) = evaluate([hypothesis], matrix)
        spreads += shares * _standard_deviation(weight / total * values, weights)
    for feature, steps in _steps_by_feature(votes, total).items():
        spreads[feature] += _spread_of_steps(matrix.column(feature, features), weights, steps)
    return spreads


def distributed_feature_spreads(model: BinaryModel, oracle: BinnedClass, features: int) -> Float[Array, " features"]:
    """Return the spreads of `feature_spreads` for stumps over rows on a cluster, of all rows.

    Parameters
    ----------
    model
        Stumps of the class, and weights.
    oracle
        The class, whose rows are on the cluster.
    features
        The number of features.
    """
    spreads, total = np.zeros(features), float(np.abs(model.w).sum())
    steps = _steps_by_feature(combine_opposites(model.hypotheses, model.w), total)
    if steps and (rows := oracle.binned_rows) is not None:
        for feature, counts in rows.counts_by_code(sorted(steps)).items():
            # The rows of a code lie above the threshold before it, and not above the threshold of its number.
            ends = [oracle.hypothesis_of(Split(feature, code, 1)) for code in range(len(counts) - 1)]
            values = np.array([*(end.threshold for end in ends if isinstance(end, Stump)), np.inf])
            spreads[feature] = _spread_of_steps(values, counts.astype(np.float64), steps[feature])
    return spreads


def _steps_by_feature(votes: Sequence[tuple[Hypothesis, float]], total: float) -> dict[int, list[tuple[float, float]]]:
    """Return the thresholds of the stumps on each feature, each with the change of f there; constants have none."""
    steps: dict[int, list[tuple[float, float]]] = {}
    for hypothesis, weight in votes:
        if isinstance(hypothesis, STUMPS) and np.isfinite(hypothesis.threshold):
            step = hypothesis.threshold, weight / total * hypothesis.change
            steps.setdefault(hypothesis.feature, []).append(step)
    return steps


def _spread_of_steps(values: Float[Array, " n"], c: ExampleVector, steps: Sequence[tuple[float, float]]) -> float:
    """Return the standard deviation of the votes on one feature, from its values with multiplicities."""
    thresholds, changes = np.array(steps).T
    order = thresholds.argsort()
    # The votes up to a constant, by the number of thresholds that are smaller.
    levels = np.concatenate([[0.0], np.cumsum(changes[order])])
    counts = np.bincount(np.searchsorted(thresholds[order], values), c, len(levels))
    return _standard_deviation(levels, counts)


def _standard_deviation(values: Float[Array, " n"], c: ExampleVector) -> float:
    """Return the standard deviation of values with multiplicities."""
    mean = np.average(values, weights=c)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=c)))


def _model_importances(scorer: BinaryModel, features: int) -> Float[Array, " features"]:
    """Return the shares of the features in a binary model."""
    shares = scorer.spreads
    if shares is None:
        shares = np.zeros(features)
        for hypothesis, weight in combine_opposites(scorer.hypotheses, scorer.w):
            shares += abs(weight) * _hypothesis_importances(hypothesis, features)
    total = float(shares.sum())
    return shares / total if total > 0 else np.zeros(features)


def _hypothesis_importances(hypothesis: Hypothesis, features: int) -> Float[Array, " features"]:
    """Return the shares of the features in one hypothesis."""
    if isinstance(hypothesis, Fitted):
        return _estimator_importances(hypothesis.estimator, features)
    shares = np.zeros(features)
    if isinstance(hypothesis, Stump):
        # The constant hypothesis uses no feature.
        shares[hypothesis.feature] = float(np.isfinite(hypothesis.threshold))
    elif isinstance(hypothesis, Feature):
        shares[hypothesis.feature] = 1.0
    else:
        raise AttributeError(
            f"feature_importances_ need hypotheses of single features; {type(hypothesis).__name__} uses several. "
            "Use sklearn.inspection.permutation_importance."
        )
    return shares


def _estimator_importances(model: Any, features: int) -> Float[Array, " features"]:
    """Return the shares of the features in a fitted classifier."""
    shares = getattr(model, "feature_importances_", getattr(model, "coef_", None))
    if shares is None or np.size(shares) != features:
        raise AttributeError(
            f"feature_importances_ need a base with feature_importances_ or coef_; {type(model).__name__} has neither. "
            "Use sklearn.inspection.permutation_importance."
        )
    sizes = np.abs(np.asarray(shares, dtype=np.float64)).ravel()
    total = float(sizes.sum())
    return sizes / total if total > 0 else sizes
