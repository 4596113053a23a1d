"""The combined hypothesis of a run: its values and its predicted classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float, HypothesisVector, Int8
from boostopt._utils.validation import check_choice
from boostopt.errors import ProblemError
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.feature_validation import FeatureMatrix, evaluate
from boostopt.oracles.multiclass.multiclass_examples import label_array

AtZero = Literal["majority", "positive", "negative"]
"""Predictions where f(x) = 0: the class of more training examples (ties: positive), or always the same one."""

AT_ZERO: tuple[AtZero, ...] = ("majority", "positive", "negative")


def class_labels_of(hypotheses: Sequence[Hypothesis]) -> tuple[Any, ...] | None:
    """Return the labels of the classes if the hypotheses have a value for each class; otherwise None."""
    return hypotheses[0].class_labels if hypotheses else None


def target_scale_of(hypotheses: Sequence[Hypothesis]) -> tuple[float, float] | None:
    """Return (m, r) if a vote f of the hypotheses predicts the number m + r f(x); otherwise None."""
    return hypotheses[0].target_scale if hypotheses else None


def weighted_vote(hypotheses: Sequence[Hypothesis], w: HypothesisVector, X: Any) -> Float[Array, "n ..."]:
    """Return sum_q w_q h_q(x) / sum |w| for each row of X, shape (n,), or (n, K) if there is a value for each class.

    Raises
    ------
    ProblemError
        The hypotheses do not all predict the same classes, or numbers of the same scale.
    """
    features, active = FeatureMatrix(X), np.flatnonzero(w).tolist()
    labels, voters = class_labels_of(hypotheses), [hypotheses[q] for q in active]
    scale = target_scale_of(hypotheses)
    if stranger := next((h for h in voters if (h.class_labels, h.target_scale) != (labels, scale)), None):
        raise ProblemError(
            f"hypotheses of a vote must predict the same classes or numbers of the same scale, as {hypotheses[0]}; got "
            f"{stranger}. Collect them from one oracle."
        )
    f = np.zeros(features.n if labels is None else (features.n, len(labels)))
    shares = w[active] / np.abs(w).sum()
    for share, h in zip(shares, evaluate(voters, features), strict=True):
        f += share * h
    return np.clip(f, -1.0, 1.0)


ZERO_TOL = 1e-10
"""The largest absolute value that counts as 0: the weights of h and -h cancel up to the accuracy of a solver."""


def predicted_classes(f: Float[Array, " n"], at_zero: AtZero, majority: int) -> Int8[Array, " n"]:
    """Return the classes of the values f, with the zeros decided by `at_zero`."""
    zero: Mapping[str, int] = {"majority": majority, "positive": 1, "negative": -1}
    return np.where(np.abs(f) <= ZERO_TOL, zero[check_choice("at_zero", at_zero, zero)], np.sign(f)).astype(np.int8)


def leading_labels(f: Float[Array, "n K"], labels: Sequence[Any]) -> Array:
    """Return the label of the class with the largest value in each row; the first one among equals up to rounding."""
    return label_array(labels)[(f >= f.max(axis=1, keepdims=True) - ZERO_TOL).argmax(axis=1)]


def undecided_rows(f: Float[Array, "n ..."]) -> Bool[Array, " n"]:
    """Return the rows where f is 0, or where two classes have the largest value, up to rounding."""
    if f.ndim == 1:
        return np.abs(f) <= ZERO_TOL
    return np.count_nonzero(f >= f.max(axis=1, keepdims=True) - ZERO_TOL, axis=1) > 1
