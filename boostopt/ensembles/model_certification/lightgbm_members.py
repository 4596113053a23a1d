"""Ensembles of other libraries as columns: the output of each member on each example, and its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, HypothesisVector, Int8
from boostopt.errors import ProblemError
from boostopt.oracles.learners.classifier_hypotheses import class_name


def is_lightgbm(model: Any) -> bool:
    """Return whether a model is LightGBM's classifier, without importing it."""
    return type(model).__module__.startswith("lightgbm") and hasattr(model, "booster_")


def is_colboost(model: Any) -> bool:
    """Return whether a model is colboost's classifier, without importing it."""
    return type(model).__module__.startswith("colboost") and hasattr(model, "learners")


def lightgbm_margins(model: Any, X: Any, y: Int8[Array, " N"]) -> tuple[Float[Array, "N t"], HypothesisVector]:
    """Return the margins of the trees of a LightGBM classifier, each over its largest value on X, and their weights.

    The weight of a tree is its largest value over the sum of all largest values, so that the weights sum to 1.
    """
    booster = model.booster_
    trees = booster.num_trees()
    if trees == 0:
        raise ProblemError(f"{class_name(model)} must have a tree; it has none. Fit it with more iterations.")
    values = np.column_stack(
        [booster.predict(X, start_iteration=q, num_iteration=1, raw_score=True) for q in range(trees)]
    )
    sizes = np.abs(values).max(axis=0)
    nonempty = sizes > 0
    if not nonempty.any():
        raise ProblemError(f"the trees of {class_name(model)} must say something of X; all of them say 0. Fit it anew.")
    return (values[:, nonempty] / sizes[nonempty] * y[:, np.newaxis]).clip(-1.0, 1.0), sizes[nonempty] / sizes[
        nonempty
    ].sum()
