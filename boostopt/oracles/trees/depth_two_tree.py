"""A decision tree of depth two: a threshold of one feature, and a stump on each side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.formatting import format_count
from boostopt._utils.json_values import parse_integer, parse_real, read_entries, read_integer, read_number
from boostopt.errors import ProblemError
from boostopt.oracles.base import StateDict
from boostopt.oracles.feature_validation import FeatureHypothesis, FeatureMatrix
from boostopt.oracles.stumps.stump import Stump


@dataclass(frozen=True)
class DepthTwoTree(FeatureHypothesis):
    """The hypothesis h(x) = u(x) if x[feature] > threshold, otherwise l(x), for an upper and a lower stump.

    Attributes
    ----------
    feature
        The feature of the root, from 0.
    threshold
        The threshold of the root, a finite number.
    lower_stump, upper_stump
        The stumps l and u on the two sides; a constant stump is a leaf.

    Raises
    ------
    ProblemError
        There is no such feature, the threshold is not finite, or the stumps have different numbers of features.
    """

    kind: ClassVar[str] = "depth_two_tree"

    feature: int
    threshold: float
    lower_stump: Stump
    upper_stump: Stump

    def __post_init__(self) -> None:
        counts = self.lower_stump.features, self.upper_stump.features
        if counts[0] != counts[1] or not 0 <= self.feature < counts[0] or not math.isfinite(self.threshold):
            raise ProblemError(
                "a tree has a feature from 0 to features - 1, a finite threshold, and stumps with the same number of "
                f"features; got feature {self.feature}, threshold {self.threshold}, and stumps on {counts[0]} and "
                f"{format_count(counts[1], 'feature')}. Correct that one."
            )

    @property
    def features(self) -> int:
        """Number of features of x."""
        return self.lower_stump.features

    def values_on(self, features: FeatureMatrix) -> Float[Array, " n"]:
        is_above = features.column(self.feature, self.features) > self.threshold
        return np.where(is_above, self.upper_stump.values_on(features), self.lower_stump.values_on(features))

    def __str__(self) -> str:
        return self._describe(f"feature {self.feature}", str)

    def in_words(self, names: Sequence[str]) -> str:
        return self._describe(str(names[self.feature]), lambda stump: stump.in_words(names))

    def signed_form(self) -> tuple[DepthTwoTree, int]:
        sign = self.upper_stump.sign
        lower_stump = replace(self.lower_stump, sign=sign * self.lower_stump.sign)
        return replace(self, lower_stump=lower_stump, upper_stump=replace(self.upper_stump, sign=1)), sign

    def _describe(self, root: str, describe_stump: Callable[[Stump], str]) -> str:
        """Return the paths to the leaves with the value 1: "a > 1 and b <= 2 or a <= 1"."""
        paths = list[str]()
        for relation, stump in ((">", self.upper_stump), ("<=", self.lower_stump)):
            condition = f"{root} {relation} {self.threshold:z.6g}"
            if stump.threshold != -math.inf:
                paths.append(f"{condition} and {describe_stump(stump)}")
            elif stump.sign == 1:
                paths.append(condition)
        return " or ".join(paths) or "always -1"

    def state(self) -> StateDict:
        stumps = self.lower_stump, self.upper_stump
        return {
            "feature": self.feature,
            "threshold": self.threshold,
            "features": self.features,
            "stump_features": [stump.feature for stump in stumps],
            "stump_thresholds": [stump.threshold for stump in stumps],
            "signs": [stump.sign for stump in stumps],
        }

    @classmethod
    def restored(cls, state: StateDict) -> DepthTwoTree:
        columns = (
            read_entries(state, "stump_features", parse_integer),
            read_entries(state, "stump_thresholds", parse_real),
            read_entries(state, "signs", parse_integer),
        )
        if any(len(column) != 2 for column in columns):
            raise ValueError(f"stump_features, stump_thresholds and signs must have 2 entries; got {columns}")
        features = read_integer(state, "features")
        lower_stump, upper_stump = (Stump(*stump, features) for stump in zip(*columns, strict=True))
        return cls(read_integer(state, "feature"), read_number(state, "threshold"), lower_stump, upper_stump)
