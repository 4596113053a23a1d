"""A decision stump that votes for or against each of several classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.json_values import parse_integer, parse_list, read_entries, read_integer, read_number
from boostopt.errors import ProblemError, short_repr
from boostopt.oracles.base import StateDict
from boostopt.oracles.feature_validation import FeatureHypothesis, FeatureMatrix

LABEL_TYPES = (bool, int, float, str)
"""The types of labels: plain values, which files hold."""


@dataclass(frozen=True)
class MulticlassStump(FeatureHypothesis):
    """The hypothesis h(x, k) = a_k if x[feature] > threshold, otherwise b_k, with votes a_k and b_k of -1 and 1.

    h(X) has a value for each row of X and each class, shape (n, K). The margin of an example of class y against
    another class k is (h(x, y) - h(x, k)) / 2, which is -1, 0 or 1.

    Attributes
    ----------
    feature
        The feature, from 0.
    threshold
        A number; minus infinity for the constant hypothesis h(x, k) = a_k.
    upper_votes, lower_votes
        The votes a and b above the threshold and not above it: K numbers -1 and 1 each.
    classes
        The K labels, two or more different finite numbers or texts.
    features
        Number of features of x.

    Raises
    ------
    ProblemError
        There is no such feature, the threshold is NaN, there is not one vote -1 or 1 for each class on each side, or
        the labels are not two or more different finite numbers or texts.

    References
    ----------
    Schapire and Singer 2000 (discrete AdaBoost.MR).
    """

    kind: ClassVar[str] = "multiclass_stump"

    feature: int
    threshold: float
    upper_votes: tuple[int, ...]
    lower_votes: tuple[int, ...]
    classes: tuple[Any, ...]
    features: int

    def __post_init__(self) -> None:
        labels = self.classes
        has_one_type = len({isinstance(label, bool) for label in labels}) == 1  # True is equal to 1
        if not (all(map(_is_label, labels)) and has_one_type and 2 <= len(labels) == len(set(labels))):
            raise ProblemError(
                f"a stump for several classes has two or more different labels, finite numbers or texts; got "
                f"{short_repr(labels)}. Pass the labels of the classes."
            )
        votes = (*self.upper_votes, *self.lower_votes)
        if not len(self.upper_votes) == len(self.lower_votes) == len(labels) or not set(votes) <= {-1, 1}:
            raise ProblemError(
                f"a stump for {len(labels)} classes has as many votes -1 and 1 on each side; got "
                f"{short_repr(self.upper_votes)} and {short_repr(self.lower_votes)}. Pass one for each class."
            )
        if not 0 <= self.feature < self.features or math.isnan(self.threshold):
            raise ProblemError(
                f"a stump has a feature from 0 to features - 1 and a threshold; got feature {self.feature} of "
                f"{self.features}, threshold {self.threshold}. Correct that one."
            )

    @property
    def class_labels(self) -> tuple[Any, ...]:
        return self.classes

    def values_on(self, features: FeatureMatrix) -> Float[Array, "n K"]:
        """Return h(x, k) for each example and each class, shape (n, K)."""
        is_above = features.column(self.feature, self.features) > self.threshold
        return np.where(is_above[:, np.newaxis], np.array(self.upper_votes, float), np.array(self.lower_votes, float))

    def __str__(self) -> str:
        return self._describe(f"feature {self.feature}")

    def in_words(self, names: Sequence[str]) -> str:
        return self._describe(str(names[self.feature]))

    def signed_form(self) -> tuple[MulticlassStump, int]:
        sign = self.upper_votes[0]
        upper_votes, lower_votes = (tuple(sign * a for a in votes) for votes in (self.upper_votes, self.lower_votes))
        return replace(self, upper_votes=upper_votes, lower_votes=lower_votes), sign

    def _describe(self, feature: str) -> str:
        """Return the classes with a vote on each side: "a > 1: cat or dog, otherwise bird"."""
        upper, lower = (
            " or ".join(str(label) for label, vote in zip(self.classes, votes, strict=True) if vote == 1) or "no class"
            for votes in (self.upper_votes, self.lower_votes)
        )
        if self.threshold == -math.inf:
            return f"always {upper}"
        return f"{feature} > {self.threshold:z.6g}: {upper}, otherwise {lower}"

    def state(self) -> StateDict:
        return {
            "feature": self.feature,
            "threshold": self.threshold,
            "upper_votes": list(self.upper_votes),
            "lower_votes": list(self.lower_votes),
            "classes": list(self.classes),
            "features": self.features,
        }

    @classmethod
    def restored(cls, state: StateDict) -> MulticlassStump:
        upper_votes, lower_votes = (
            tuple(read_entries(state, name, parse_integer)) for name in ("upper_votes", "lower_votes")
        )
        return cls(
            read_integer(state, "feature"),
            read_number(state, "threshold"),
            upper_votes,
            lower_votes,
            tuple(parse_list(state["classes"], "classes")),
            read_integer(state, "features"),
        )


def _is_label(label: object) -> bool:
    """Return whether a value is a label: a finite number or a text."""
    return isinstance(label, LABEL_TYPES) and (not isinstance(label, float) or math.isfinite(label))
