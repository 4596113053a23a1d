"""The oracle of decision stumps with a vote for each of several classes, exact over all thresholds and votes."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, ExampleVector, Int, Int8
from boostopt._utils.formatting import format_count
from boostopt.errors import ProblemError
from boostopt.oracles.base import Answer, Column, Hypothesis, Oracle, Query
from boostopt.oracles.feature_validation import FeatureMatrix
from boostopt.oracles.multiclass.multiclass_examples import MulticlassExamples, check_multiclass_examples
from boostopt.oracles.multiclass.multiclass_stump import MulticlassStump
from boostopt.oracles.stumps.presorted_features import PresortedFeatures, presort
from boostopt.oracles.stumps.stump_search import features_of_thresholds, order_of_thresholds
from boostopt.oracles.weight_scaling import scaled_weights, unscaled_upper_bound

WEIGHT_BITS = 61
"""Bits to which weights with a sum in [1/2, 1) are rounded: twice an edge then stays below 2^63, the limit of int64."""

MAX_MEMBERS = 4096
"""The largest number of hypotheses of a class that is listed."""


class MulticlassStumps(Oracle):
    """Decision stumps with a vote for each of several classes, exactly: the weak hypotheses of AdaBoost.MR.

    A hypothesis has a value h(x, k) = -1 or 1 for each class k: a threshold of one feature, and a vote for or against
    each class on each side. The rows are the pairs of an example n and a class k other than its own, y_n. The margin of
    a pair is (h(x_n, y_n) - h(x_n, k)) / 2. A vote of hypotheses classifies example n correctly if the margins of all
    its pairs are positive. So N, d and nu count pairs, K - 1 for each example: with two classes, they count examples.

    The class contains every threshold of every feature, all votes, all negations, and the constants h(x, k) = a_k.
    Votes with entries 0 are means of such votes, and add nothing. A query takes a pass over the sorted features for
    each class, and its bound holds for the whole class. Among equal edges, the lowest feature and threshold come first,
    and a class without weight gets the vote -1. Several columns are those of different features, if there are enough.
    Runs predict labels: `run.predict(X)`.

    Parameters
    ----------
    X
        Features, shape (n, features), finite: an array, or a scipy sparse matrix, which is never made dense.
    y
        Labels, shape (n,): finite numbers or texts; two or more classes must occur.
    c
        Multiplicities, shape (n,), non-negative, 1 by default: those of all pairs of an example. Examples with 0 are
        left out before thresholds are made.

    Attributes
    ----------
    class_labels
        The labels of the K classes, ascending.
    pair_examples
        The row of X of each pair, shape (N,): by example, then by class. With it, values of examples become values of
        pairs, as those of d0 or of limits: values[oracle.pair_examples].
    pair_classes
        The number of the other class k of each pair, shape (N,), from 0 to K - 1.

    Raises
    ------
    ProblemError
        A shape is wrong, an entry is not a finite number, labels are invalid or of one class only, a multiplicity
        is negative, or there are too many pairs.

    References
    ----------
    Schapire and Singer 1999 (AdaBoost.MR); Schapire and Singer 2000 (its discrete form, with votes -1 and 1).
    """

    def __init__(self, X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None = None) -> None:
        self.reflexive: bool = True
        self._examples: MulticlassExamples = check_multiclass_examples(X, y, c)
        self._features: int = self._examples.X.shape[1]
        self._sorted: PresortedFeatures = presort(self._examples.X)

    def __str__(self) -> str:
        return f"decision stumps on {format_count(self._features, 'feature')} with votes for {self._examples.K} classes"

    @property
    def N(self) -> int:
        """Number of pairs of an example that counts and another class."""
        return self._examples.n * (self._examples.K - 1)

    @property
    def c(self) -> ExampleVector:
        return np.repeat(self._examples.c, self._examples.K - 1)

    @property
    def y(self) -> None:
        return None

    @property
    def class_labels(self) -> tuple[Any, ...]:
        return self._examples.labels

    @property
    def pair_examples(self) -> Int[Array, " N"]:
        """The row of X of each pair."""
        return np.repeat(self._examples.input_rows, self._examples.K - 1)

    @property
    def pair_classes(self) -> Int[Array, " N"]:
        """The number of the other class of each pair."""
        return self._examples.rivals.ravel()

    def check_features(self, X: Any) -> None:
        """Raise ProblemError unless X has the number of features of the examples, all finite."""
        (X if isinstance(X, FeatureMatrix) else FeatureMatrix(X)).checked(self._features)

    def best(self, query: Query) -> Answer:
        """Return the stumps with the largest edges.

        Each weight of a pair is rounded by at most half a unit, and a unit is at most 2^-60 sum_n d_n. So edges are
        accurate to N 2^-61 sum_n d_n, and `edge_bound` lies above the largest edge by this much and one float more.

        Raises
        ------
        ProblemError
            The weights do not have shape (N,), or they are not finite.
        """
        weights, exponent = scaled_weights(query.d, self.N)
        B = self._examples.class_weights(np.rint(np.ldexp(weights, WEIGHT_BITS)).astype(np.int64))
        # A side adds |A_k| to twice the edge for each class, with A_k the sum of B[n, k] over its examples.
        # With the sum T and the difference E of A_k and A_k' of the two sides, |A_k| + |A_k'| = max(|T|, |E|).
        totals = B.sum(axis=0)
        doubled_edges = np.full(max(len(self._sorted.thresholds), 1), 0, dtype=np.int64)
        for k, total in enumerate(totals.tolist()):
            differences = self._sorted.threshold_edges(B[:, k]) if len(self._sorted.thresholds) else np.zeros(1, int)
            doubled_edges += np.maximum(np.abs(differences), abs(total))
        columns, unit = list[Column](), exponent - WEIGHT_BITS
        for i in order_of_thresholds(self._sorted, doubled_edges, query):
            stump, is_above = self._best_stump(i, B, totals)
            margins = self._margins(stump, is_above)
            if not any(np.array_equal(margins, column.margins) for column in columns):
                columns.append(Column(stump, margins, math.ldexp(float(int(doubled_edges[i]) // 2), unit)))
            if len(columns) == query.count:
                break
        bound = math.nextafter(float(int(doubled_edges.max()) // 2 + self.N // 2 + 1), math.inf)
        return Answer(tuple(columns), unscaled_upper_bound(bound, unit))

    def _best_stump(
        self, i: int, B: Int[Array, "n K"], totals: Int[Array, " K"]
    ) -> tuple[MulticlassStump, Int[Array, " n"]]:
        """Return the stump with the best votes at a threshold, and 1 for the examples above it, 0 for the others."""
        if len(self._sorted.thresholds) == 0:
            votes = _votes(totals)
            return self._stump(0, -math.inf, votes, votes), np.ones(len(B), dtype=int)
        is_above, feature = self._sorted.is_above(i), int(features_of_thresholds(self._sorted, [i])[0])
        upper_sums = B[is_above].sum(axis=0)
        threshold, votes = float(self._sorted.thresholds[i]), (_votes(upper_sums), _votes(totals - upper_sums))
        place = (0, -math.inf) if votes[0] == votes[1] else (feature, threshold)
        return self._stump(*place, *votes), is_above.astype(int)

    def _stump(
        self, feature: int, threshold: float, upper_votes: tuple[int, ...], lower_votes: tuple[int, ...]
    ) -> MulticlassStump:
        """Return a stump for the classes of the examples."""
        return MulticlassStump(feature, threshold, upper_votes, lower_votes, self.class_labels, self._features)

    def _margins(self, stump: MulticlassStump, is_above: Int[Array, " n"]) -> Int8[Array, " N"]:
        """Return the margins of the pairs."""
        votes = np.array([stump.lower_votes, stump.upper_votes], dtype=np.float64)
        return self._examples.pair_margins(votes[is_above]).astype(np.int8)

    def margins_of(self, hypothesis: Hypothesis) -> Int8[Array, " N"]:
        """Return the margins of the pairs. A threshold that splits the examples equals one of the class.

        Raises
        ------
        ProblemError
            The class has no such hypothesis: it is no stump for these classes and this number of features.
        """
        if (
            not isinstance(hypothesis, MulticlassStump)
            or hypothesis.classes != self.class_labels
            or hypothesis.features != self._features
        ):
            raise ProblemError(f"expected a hypothesis of {self}; got {hypothesis}. Pass the oracle of its class.")
        return self._examples.pair_margins(hypothesis(self._examples.X)).astype(np.int8)

    def members(self) -> Iterable[MulticlassStump] | None:
        """Return all stumps, with two thresholds and three classes for example; None for more than 4,096."""
        sides = list(itertools.islice(itertools.product((-1, 1), repeat=self._examples.K), MAX_MEMBERS))
        n_members = len(self._sorted.thresholds) * len(sides) ** 2 + len(sides)
        if n_members > MAX_MEMBERS:
            return None
        features = features_of_thresholds(self._sorted, range(len(self._sorted.thresholds)))
        thresholds = list(zip(features.tolist(), self._sorted.thresholds.tolist(), strict=True))
        constants = [self._stump(0, -math.inf, side, side) for side in sides]
        return constants + [
            self._stump(j, threshold, upper, lower)
            for j, threshold in thresholds
            for upper, lower in itertools.product(sides, sides)
        ]

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{type(self).__name__} {self._examples.digest}".encode()).hexdigest()


def _votes(sums: Int[Array, " K"]) -> tuple[int, ...]:
    """Return the votes with the largest edge on a side, -1 for a sum of 0."""
    votes: list[int] = np.where(sums > 0, 1, -1).tolist()
    return tuple(votes)
