"""A decision stump of a vote that predicts numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.json_values import read_integer, read_number
from boostopt.errors import ProblemError
from boostopt.oracles.base import StateDict
from boostopt.oracles.feature_validation import FeatureHypothesis, FeatureMatrix


@dataclass(frozen=True)
class RegressionStump(FeatureHypothesis):
    """The hypothesis h(x) = upper_sign if x[feature] > threshold, otherwise lower_sign.

    A vote f of such hypotheses, with values in [-1, 1], predicts the number centre + radius * f(x).

    Attributes
    ----------
    feature
        The feature, from 0.
    threshold
        A number; minus infinity for the constant hypothesis h = upper_sign.
    upper_sign, lower_sign
        1 or -1, the values above the threshold and not above it.
    centre
        The prediction of a vote with value 0.
    radius
        The largest distance of a prediction from the centre, positive.
    features
        Number of features of x.

    Raises
    ------
    ProblemError
        There is no such feature, a sign is neither 1 nor -1, the threshold is NaN, or the centre or the radius is not
        a finite number, or the radius is not positive.
    """

    kind: ClassVar[str] = "regression_stump"

    feature: int
    threshold: float
    upper_sign: int
    lower_sign: int
    centre: float
    radius: float
    features: int

    def __post_init__(self) -> None:
        if not 0 <= self.feature < self.features or math.isnan(self.threshold):
            raise ProblemError(
                f"a stump has a feature from 0 to features - 1 and a threshold; got feature {self.feature} of "
                f"{self.features}, threshold {self.threshold}. Correct that one."
            )
        if not {self.upper_sign, self.lower_sign} <= {-1, 1}:
            raise ProblemError(
                f"a stump that predicts numbers has the signs 1 or -1 on both sides; got {self.upper_sign} and "
                f"{self.lower_sign}. Correct that one."
            )
        if not math.isfinite(self.centre) or not 0 < self.radius < math.inf:
            raise ProblemError(
                f"predictions have a finite centre and a finite positive radius; got {self.centre} and {self.radius}. "
                "Correct that one."
            )

    @property
    def change(self) -> int:
        """The change of h(x) where x[feature] passes the threshold upward."""
        return self.upper_sign - self.lower_sign

    @property
    def target_scale(self) -> tuple[float, float]:
        return self.centre, self.radius

    def values_on(self, features: FeatureMatrix) -> Float[Array, " n"]:
        is_above = features.column(self.feature, self.features) > self.threshold
        return np.where(is_above, float(self.upper_sign), float(self.lower_sign))

    def __str__(self) -> str:
        return self._describe(f"feature {self.feature}")

    def in_words(self, names: Sequence[str]) -> str:
        return self._describe(str(names[self.feature]))

    def signed_form(self) -> tuple[RegressionStump, int]:
        sign, is_constant = self.upper_sign, self.threshold == -math.inf  # a constant uses no feature
        feature, lower_sign = (0, 1) if is_constant else (self.feature, self.lower_sign * sign)
        return replace(self, feature=feature, upper_sign=1, lower_sign=lower_sign), sign

    def _describe(self, feature: str) -> str:
        """Return both values: "age > 40.5: +1, otherwise -1"."""
        if self.threshold == -math.inf:
            return f"always {self.upper_sign:+d}"
        return f"{feature} > {self.threshold:z.6g}: {self.upper_sign:+d}, otherwise {self.lower_sign:+d}"

    def state(self) -> StateDict:
        return {
            "feature": self.feature,
            "threshold": self.threshold,
            "upper_sign": self.upper_sign,
            "lower_sign": self.lower_sign,
            "centre": self.centre,
            "radius": self.radius,
            "features": self.features,
        }

    @classmethod
    def restored(cls, state: StateDict) -> RegressionStump:
        signs = read_integer(state, "upper_sign"), read_integer(state, "lower_sign")
        scale = read_number(state, "centre"), read_number(state, "radius")
        return cls(
            read_integer(state, "feature"),
            read_number(state, "threshold"),
            *signs,
            *scale,
            read_integer(state, "features"),
        )
