"""Descriptions of hypotheses, with the names of their features."""

from __future__ import annotations

from collections.abc import Sequence

from boostopt.oracles.base import Hypothesis
from boostopt.oracles.raw_feature_oracle import Feature
from boostopt.oracles.stumps.stump import Stump


def in_words(hypothesis: Hypothesis, names: Sequence[str]) -> str:
    """Return a hypothesis in words, with the name of its feature if there is one."""
    words = str(hypothesis)
    if not isinstance(hypothesis, Stump | Feature) or hypothesis.feature >= len(names):
        return words
    return words.replace(f"feature {hypothesis.feature}", names[hypothesis.feature], 1)
