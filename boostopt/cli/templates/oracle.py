# /// boostopt new
# kind = "oracle"
# summary = "a class of hypotheses with the search for the hypothesis with the largest edge"
# example = "boostopt new oracle my_stumps"
# command = "boostopt boost lpboost --oracle {file} --data breast_cancer --nu 0.3 --epsilon 0.1"
# ///
"""new_name: a class of hypotheses, with the search for the hypothesis with the largest edge.

In this example, h(x) = sign if x[feature] > threshold, and -sign otherwise. The thresholds are the medians of the
features. Edit the hypothesis first, then `best`, which finds the hypothesis with the largest edge. `boostopt check`
compares `best` with all `members`. `pytest` runs the test at the end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt import check_oracle
from boostopt.authoring import Array, Float
from boostopt.oracles import Answer, Column, Hypothesis, Oracle, Query


@dataclass(frozen=True)
class NewNameHypothesis(Hypothesis):
    """A hypothesis: h(x) = sign if x[feature] > threshold, and -sign otherwise."""

    kind = "new_name"  # the name of the type in saved files

    feature: int
    threshold: float
    sign: int

    def __call__(self, X: Any) -> Float[Array, " n"]:
        exceeds = np.asarray(X, dtype=np.float64)[:, self.feature] > self.threshold
        return np.where(exceeds, float(self.sign), -float(self.sign))

    def __str__(self) -> str:
        return f"{self.sign:+d} for feature {self.feature} > {self.threshold:.4g}"

    def state(self) -> Mapping[str, Any]:
        return {"feature": self.feature, "threshold": self.threshold, "sign": self.sign}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> NewNameHypothesis:
        return cls(int(state["feature"]), float(state["threshold"]), int(state["sign"]))


class NewName(Oracle):
    """The class of these hypotheses, over the examples (X, y) with multiplicities c."""

    reflexive = True  # the negation of each hypothesis belongs to the class

    def __init__(self, X: Any, y: Any, c: Any = None) -> None:
        multiplicities = np.ones(len(y)) if c is None else np.asarray(c, dtype=np.float64)
        is_positive = multiplicities > 0  # examples with multiplicity 0 do not count
        self.X, self._y = np.asarray(X, dtype=np.float64)[is_positive], np.asarray(y)[is_positive]
        self._c = multiplicities[is_positive]

    @property
    def N(self) -> int:
        return len(self._y)

    @property
    def c(self) -> Float[Array, " N"]:
        return self._c

    @property
    def y(self) -> Array:
        return self._y

    @property
    def digest(self) -> str:
        """A digest of the examples, by which a run recognizes them."""
        return hashlib.sha256(self.X.tobytes() + self._y.tobytes() + self._c.tobytes()).hexdigest()

    def __str__(self) -> str:
        return f"medians of {self.X.shape[1]} features, both directions"

    def members(self) -> Iterator[NewNameHypothesis]:
        """Yield all hypotheses; `boostopt check` compares `best` with them. Delete this for a large class."""
        for j in range(self.X.shape[1]):
            yield from (NewNameHypothesis(j, float(np.median(self.X[:, j])), sign) for sign in (1, -1))

    def best(self, query: Query) -> Answer:
        """Return the hypothesis with the largest edge, and an upper bound of all edges of the class."""
        h = max(self.members(), key=lambda hypothesis: float(self.margins_of(hypothesis) @ query.d))
        margins = self.margins_of(h)
        edge = float(margins @ query.d)
        rounding = 4 * self.N * np.finfo(np.float64).eps * float(np.abs(query.d).sum())
        return Answer((Column(h, margins, edge),), edge + rounding)

    def margins_of(self, hypothesis: Hypothesis) -> Array:
        return (self._y * hypothesis(self.X)).astype(np.int8)  # int8 for margins that are whole numbers, else float64


def test_new_name() -> None:
    check_oracle(NewName).raise_if_failed()
