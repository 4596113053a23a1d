"""The share of a classifier's weight that lies on each feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.estimators.binary_model import BinaryModel
from boostopt.oracles import Feature, Fitted, Hypothesis, Stump


def feature_importances(scorers: Sequence[BinaryModel], features: int) -> Float[Array, " features"]:
    """Return the shares of the features in the weights |w|, with sum 1 unless all are 0; the mean over several scorers.

    Raises
    ------
    AttributeError
        The features of a hypothesis are unknown.
    """
    return np.mean([_model_importances(scorer, features) for scorer in scorers], axis=0)


def _model_importances(scorer: BinaryModel, features: int) -> Float[Array, " features"]:
    """Return the shares of the features in a binary model."""
    shares = np.zeros(features)
    for q in np.flatnonzero(scorer.w).tolist():
        shares += abs(scorer.w[q]) * _hypothesis_importances(scorer.hypotheses[q], features)
    total = float(shares.sum())
    return shares / total if total > 0 else shares


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
            f"feature_importances_ need hypotheses of single features; {type(hypothesis).__name__} uses all features. "
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
