"""Classes of oracles that do not take multiplicities are refused, and the message says what they must take."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from boostopt import OptionError, check_oracle
from boostopt.estimators.training.hypothesis_classes import make_oracle
from boostopt.oracles import DecisionStumps


class Pair(DecisionStumps):
    """Stumps of (X, y)."""

    def __init__(self, X: Any, y: Any) -> None:
        super().__init__(X, y)


CLASS = r"\(X, y, c\).*\bPair\b.*\bPair\.__init__\(self, X, y, c=None\)"
FUNCTION = r"\(X, y, c\).*<lambda>.*\blambda X, y, c: "


@pytest.mark.thorough_cases("class")
@pytest.mark.parametrize(
    ("make_oracle_of", "message"),
    [(Pair, CLASS), (partial(Pair), CLASS), (lambda X, y: Pair(X, y), FUNCTION)],
    ids=["class", "partial", "function"],
)
def test_oracle_makers_with_other_arguments_are_refused(make_oracle_of: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_oracle(make_oracle_of)
    X, y = np.arange(8.0).reshape(4, 2), np.array([1, -1, 1, -1], dtype=np.int8)
    with pytest.raises(OptionError, match=message):
        make_oracle(make_oracle_of, None, True, None, X, y, np.ones(4))
