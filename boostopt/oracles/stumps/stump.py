"""A decision stump: a threshold of one feature and a direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.json_values import read_integer, read_number
from boostopt.errors import ProblemError
from boostopt.oracles.base import StateDict
from boostopt.oracles.feature_validation import FeatureHypothesis, FeatureMatrix


@dataclass(frozen=True)
class Stump(FeatureHypothesis):
    """The hypothesis h(x) = sign if x[feature] > threshold, otherwise -sign.

    Attributes
    ----------
    feature
        The feature, from 0.
    threshold
        A number; minus infinity for the constant hypothesis h = sign.
    sign
        1 or -1.
    features
        Number of features of x.

    Raises
    ------
    ProblemError
        There is no such feature, the sign is neither 1 nor -1, or the threshold is NaN.
    """

    kind: ClassVar[str] = "stump"

    feature: int
    threshold: float
    sign: int
    features: int

    def __post_init__(self) -> None:
        if not 0 <= self.feature < self.features or self.sign not in (-1, 1) or math.isnan(self.threshold):
            raise ProblemError(
                f"a stump has a feature from 0 to features - 1, a threshold and the sign 1 or -1; got feature "
                f"{self.feature} of {self.features}, threshold {self.threshold}, sign {self.sign}. Correct that one."
            )

    @property
    def change(self) -> int:
        """The change of h(x) where x[feature] passes the threshold upward."""
        return 2 * self.sign

    def values_on(self, features: FeatureMatrix) -> Float[Array, " n"]:
        is_above = features.column(self.feature, self.features) > self.threshold
        return np.where(is_above, float(self.sign), -float(self.sign))

    def __str__(self) -> str:
        return self._describe(f"feature {self.feature}")

    def in_words(self, names: Sequence[str]) -> str:
        return self._describe(str(names[self.feature]))

    def signed_form(self) -> tuple[Stump, int]:
        feature = 0 if self.threshold == -math.inf else self.feature  # a constant uses no feature
        return Stump(feature, self.threshold, 1, self.features), self.sign

    def _describe(self, feature: str) -> str:
        if self.threshold == -math.inf:
            return f"always {self.sign:+d}"
        return f"{feature} {'>' if self.sign == 1 else '<='} {self.threshold:z.6g}"

    def state(self) -> StateDict:
        return {"feature": self.feature, "threshold": self.threshold, "sign": self.sign, "features": self.features}

    @classmethod
    def restored(cls, state: StateDict) -> Stump:
        return cls(
            read_integer(state, "feature"),
            read_number(state, "threshold"),
            read_integer(state, "sign"),
            read_integer(state, "features"),
        )
