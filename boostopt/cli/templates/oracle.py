"""new_name: a class of hypotheses, and the one with the largest edge in it.

The class here: h(x) = sign where x[feature] > threshold, -sign elsewhere, the thresholds being medians. Edit the
hypothesis first, then `best`, which finds the one with the largest edge. `boostopt check` holds `best` against all
`members`, `pytest` runs the test at the end.
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
    """h(x) = sign where x[feature] > threshold, -sign elsewhere."""

    kind = "new_name"  # under which it is saved

    feature: int
    threshold: float
    sign: int

    def __call__(self, X: Any) -> Float[Array, " n"]:
        above = np.asarray(X, dtype=np.float64)[:, self.feature] > self.threshold
        return np.where(above, float(self.sign), -float(self.sign))

    def __str__(self) -> str:
        return f"{self.sign:+d} for feature {self.feature} > {self.threshold:.4g}"

    def state(self) -> Mapping[str, Any]:
        return {"feature": self.feature, "threshold": self.threshold, "sign": self.sign}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> NewNameHypothesis:
        return cls(int(state["feature"]), float(state["threshold"]), int(state["sign"]))


class NewName(Oracle):
    """All of them over the examples (X, y) of multiplicities c."""

    reflexive = True  # with every hypothesis its negation

    def __init__(self, X: Any, y: Any, c: Any = None) -> None:
        counts = np.ones(len(y)) if c is None else np.asarray(c, dtype=np.float64)
        kept = counts > 0  # examples of 0 are none
        self.X, self._y = np.asarray(X, dtype=np.float64)[kept], np.asarray(y)[kept]
        self._c = counts[kept]

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
        """Tells other data apart."""
        return hashlib.sha256(self.X.tobytes() + self._y.tobytes() + self._c.tobytes()).hexdigest()

    def __str__(self) -> str:
        return f"medians of {self.X.shape[1]} features, both directions"

    def members(self) -> Iterator[NewNameHypothesis]:
        """Yield all hypotheses, where they are few enough: what `best` says is held against them."""
        for j in range(self.X.shape[1]):
            yield from (NewNameHypothesis(j, float(np.median(self.X[:, j])), sign) for sign in (1, -1))

    def best(self, query: Query) -> Answer:
        """Return the hypothesis with the largest edge, and a number that no edge of the class exceeds."""
        h = max(self.members(), key=lambda each: float(self.margins_of(each) @ query.d))
        margins = self.margins_of(h)
        edge = float(margins @ query.d)
        rounding = 4 * self.N * np.finfo(np.float64).eps * float(np.abs(query.d).sum())
        return Answer((Column(h, margins, edge),), edge + rounding)

    def margins_of(self, hypothesis: Hypothesis) -> Array:
        return (self._y * hypothesis(self.X)).astype(np.int8)  # whole numbers; others stay float64


def test_new_name() -> None:
    check_oracle(NewName).raise_if_failed()
