"""The combined hypothesis of a run: its values and its predicted classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from boostopt._utils.array_types import Array, Float, HypothesisVector, Int8
from boostopt._utils.validation import check_choice
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.feature_validation import FeatureMatrix, evaluate

AtZero = Literal["majority", "positive", "negative"]
"""Predictions where f(x) = 0: the class of more training examples (ties: positive), or always the same one."""

AT_ZERO: tuple[AtZero, ...] = ("majority", "positive", "negative")


def weighted_vote(hypotheses: Sequence[Hypothesis], w: HypothesisVector, X: Any) -> Float[Array, " n"]:
    """Return sum_q w_q h_q(x) / sum |w| for each row of X."""
    features, active = FeatureMatrix(X), np.flatnonzero(w).tolist()
    f, shares = np.zeros(features.n), w[active] / np.abs(w).sum()
    for share, h in zip(shares, evaluate([hypotheses[q] for q in active], features), strict=True):
        f += share * h
    return np.clip(f, -1.0, 1.0)


ZERO_TOL = 1e-10
"""The largest absolute value that counts as 0: the weights of h and -h cancel up to the accuracy of a solver."""


def predicted_classes(f: Float[Array, " n"], at_zero: AtZero, majority: int) -> Int8[Array, " n"]:
    """Return the classes of the values f, with the zeros decided by `at_zero`."""
    zero: Mapping[str, int] = {"majority": majority, "positive": 1, "negative": -1}
    return np.where(np.abs(f) <= ZERO_TOL, zero[check_choice("at_zero", at_zero, zero)], np.sign(f)).astype(np.int8)
