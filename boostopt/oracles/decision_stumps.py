"""The oracle of all decision stumps: exact, by presorted features and sums of whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from boostopt.arguments import flag
from boostopt.errors import ProblemError
from boostopt.oracles.base import Answer, Column, Hypothesis, Query, State
from boostopt.oracles.examples import OracleOfExamples, labelled
from boostopt.oracles.features import Features, HypothesisOfFeatures
from boostopt.oracles.presorted import presorted
from boostopt.oracles.ranking import leading
from boostopt.oracles.weights import scaled_weights
from boostopt.shapes import Array, Float, Int, Int8

BITS = 62
"""Binary places to which weights of a sum in [1/2, 1) are rounded: no edge then reaches 2^63, where int64 ends."""


@dataclass(frozen=True)
class Stump(HypothesisOfFeatures):
    """h(x) = sign where x[feature] > threshold, -sign elsewhere.

    Attributes
    ----------
    feature
        Counted from 0.
    threshold
        Minus infinity for the constant hypothesis h = sign.
    sign
        1 or -1.
    features
        Number of features that x has.

    Raises
    ------
    ProblemError
        There is no such feature, the sign is neither 1 nor -1, the threshold is NaN.
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

    def on(self, features: Features) -> Float[Array, " n"]:
        above = features.column(self.feature, self.features) > self.threshold
        return np.where(above, float(self.sign), -float(self.sign))

    def __str__(self) -> str:
        if self.threshold == -math.inf:
            return f"always {self.sign:+d}"
        return f"feature {self.feature} {'>' if self.sign == 1 else '<='} {self.threshold:.6g}"

    def state(self) -> State:
        return {"feature": self.feature, "threshold": self.threshold, "sign": self.sign, "features": self.features}

    @classmethod
    def restored(cls, state: State) -> Stump:
        return cls(index(state["feature"]), float(state["threshold"]), index(state["sign"]), index(state["features"]))


class DecisionStumps(OracleOfExamples):
    """All decision stumps, exactly: every threshold of every feature.

    Thresholds lie halfway between neighbouring distinct values of the examples that count. A feature that is constant
    there has none, and the constant hypotheses do not belong to the class, as in `stump_matrix`, unless all features
    are constant: then they are the class. (On scikit-learn's breast_cancer with nu = 0.1 N the optimum of LPBoost over
    the class is 0.169879, with constant hypotheses or without.)

    The weights are rounded once, to whole multiples of at most 2^-61 of their sum, and then summed as whole numbers,
    exactly: stumps that part the examples alike have equal edges, whichever their features. Of equal edges the lowest
    feature wins, then the lowest threshold, then the sign 1. Asked for several columns, the oracle answers with the
    best stump of each of the best features; for more than there are features that vary, with the best stumps whatever
    their features. Each column comes once; there are fewer where the best of several features part the examples alike.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array, or a scipy sparse matrix, which is never made dense.
    y
        Labels, shape (N,): -1 and 1, or 0 and 1; both must occur.
    c
        Multiplicities, shape (N,), non-negative, 1 by default. Examples with 0 are left out before thresholds are made.
    reflexive
        Whether stumps stand in both directions; else h is 1 above the threshold only.

    Raises
    ------
    ProblemError
        A wrong shape, an entry that is no finite number, other labels, one class only, a negative multiplicity.
    """

    def __init__(self, X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None = None, reflexive: bool = True) -> None:
        self.reflexive = flag("reflexive", reflexive)
        self._examples = labelled(X, y, c)
        self._features: int = self._examples.X.shape[1]
        self._sorted = presorted(self._examples.X)

    def __str__(self) -> str:
        directions = "both directions" if self.reflexive else "one direction"
        return f"decision stumps on {self._features} features, {directions}"

    def best(self, query: Query) -> Answer:
        """Return the stumps with the largest edges.

        Each weight is rounded by at most half a unit, and a unit is at most 2^-61 sum_n d_n: so edges are known to
        N 2^-62 sum_n d_n, and `largest` lies that much, and one float more, above the largest.

        Raises
        ------
        ProblemError
            The weights have another shape than (N,), or they are not finite.
        """
        weights, exponent = scaled_weights(query.d, self.N)
        s = np.rint(np.ldexp(weights * self.y, BITS)).astype(np.int64)
        unit = exponent - BITS
        stumps = self._leading(s, query.count)
        columns = tuple(Column(stump, margins, math.ldexp(edge, unit)) for stump, margins, edge in stumps)
        most = math.nextafter(float(stumps[0][2] + self.N // 2 + 1), math.inf)
        return Answer(columns, math.ldexp(most, unit))

    def _holds(self, hypothesis: Hypothesis, h: Float[Array, " N"]) -> bool:
        """Any threshold that parts the examples does so as one of the class; constants are no stumps beside others."""
        constant, others = bool((h == h[0]).all()), len(self._sorted.thresholds) > 0
        upward = h[0] == 1 if constant else isinstance(hypothesis, Stump) and hypothesis.sign == 1
        return isinstance(hypothesis, Stump) and constant != others and bool(upward or self.reflexive)

    def _leading(self, s: Int[Array, " N"], count: int) -> list[tuple[Stump, Int8[Array, " N"], int]]:
        """Return the best stumps with their margins and their edges under s, different margins only."""
        if len(self._sorted.thresholds) == 0:
            edge = int(s.sum())
            sign = -1 if self.reflexive and edge < 0 else 1
            return [(Stump(0, -math.inf, sign, self._features), (sign * self.y).astype(np.int8), sign * edge)]
        edges = self._sorted.edges(s)
        signs_free = np.abs(edges) if self.reflexive else edges
        stumps: list[tuple[Stump, Int8[Array, " N"], int]] = []
        largest = np.maximum.reduceat(signs_free, self._sorted.starts)
        starts, stops = self._sorted.starts, np.append(self._sorted.starts[1:], len(edges))
        if count <= len(largest):
            best = leading(largest, count)
            places = [int(starts[k] + np.argmax(signs_free[starts[k] : stops[k]])) for k in best]
        else:
            places = np.argsort(-signs_free, kind="stable").tolist()
        for i in places:
            if len(stumps) == count:
                break
            feature = int(self._sorted.features[np.searchsorted(stops, i, side="right")])
            sign = -1 if self.reflexive and edges[i] < 0 else 1
            stump = Stump(feature, float(self._sorted.thresholds[i]), sign, self._features)
            margins, edge = self._margins(i, sign), int(signs_free[i])
            if not any(edge == its_edge and np.array_equal(margins, other) for _, other, its_edge in stumps):
                stumps.append((stump, margins, edge))
        return stumps

    def _margins(self, i: int, sign: int) -> Int8[Array, " N"]:
        """Return y_n h(x_n) of the stump at threshold i."""
        elsewhere = sign if self._sorted.below[i] else -sign
        margins = (elsewhere * self.y).astype(np.int8)
        margins[self._sorted.parted(i)] *= -1
        return margins
