"""The oracle of decision trees of depth two at few thresholds, exact over pairs of features."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, ExampleVector, Int8, Num, is_dask_collection
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import check_flag
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles.base import Answer, Column, Hypothesis, Oracle, Query
from boostopt.oracles.feature_validation import FeatureMatrix
from boostopt.oracles.stumps.binned_stump_oracle import BinnedStumps
from boostopt.oracles.stumps.stump import Stump
from boostopt.oracles.stumps.stump_search import features_of_thresholds, order_of_thresholds
from boostopt.oracles.trees.depth_two_tree import DepthTwoTree
from boostopt.oracles.trees.tree_search import best_edges_of_roots, best_stump_on_side
from boostopt.oracles.weight_scaling import scaled_weights, unscaled_upper_bound

DEFAULT_BINS = 32
"""The default number of codes of a feature."""

WEIGHT_BITS = 52
"""Bits to which weights with a sum in [1/2, 1) are rounded: float64 then holds all their sums."""

MAX_PAIR_ENTRIES = 1 << 34
"""The largest product of the rows and the square of the varying features: a query takes about a minute."""


class DepthTwoTrees(Oracle):
    """Decision trees of depth two at few thresholds of each feature, exactly.

    A tree has a root, a threshold of one feature, and on each side a stump on any feature or a constant. So the class
    contains interactions of two features, as x_0 x_1 > 0, all stumps at these thresholds, and all constants. Thresholds
    are those of `BinnedStumps`. A query takes one pass over the rows for each pair of features, and its bound holds for
    all trees.

    Weights, ties and several columns are treated as in `DecisionStumps`; columns are those of different roots. If no
    feature varies, the class consists of the constant stumps.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array, or a scipy sparse matrix. Codes are dense.
    y
        Labels, shape (N,): -1 and 1, or 0 and 1; both must occur.
    c
        Multiplicities, shape (N,), non-negative, 1 by default. Examples with 0 are left out before thresholds are made.
    bins
        The largest number of codes of a feature, from 2 to 65,536. The sums of a query need bins^2 numbers.
    reflexive
        True: the class contains all negations, whatever is passed. False is refused.

    Raises
    ------
    ProblemError
        A shape is wrong, an entry is not a finite number, labels are invalid or of one class only, a multiplicity
        is negative, the rows are on a cluster, or there are too many pairs of features.
    OptionError
        `bins` is out of range, or `reflexive` is False.
    """

    reflexive: bool

    def __init__(
        self, X: Any, y: Any, c: npt.ArrayLike | None = None, bins: int = DEFAULT_BINS, reflexive: bool = True
    ) -> None:
        if not check_flag("reflexive", reflexive):
            raise OptionError(
                "reflexive must be True for trees of depth two, whose class contains all negations; got False. Leave "
                "it out, or use BinnedStumps."
            )
        if is_dask_collection(X):
            raise ProblemError(
                "trees of depth two need rows in memory; got a Dask collection. Load the rows: X.compute(), "
                "y.compute(), or use BinnedStumps."
            )
        self.reflexive = True
        self._stumps = BinnedStumps(X, y, c, bins)
        self._features: int = self._stumps.binned.codes.shape[0]
        self._bins = bins
        varying = len(self._stumps.binned.varying_features)
        if varying**2 * self.N > MAX_PAIR_ENTRIES:
            raise ProblemError(
                f"trees of depth two search all pairs of features: the rows times the square of the varying features "
                f"must be at most {MAX_PAIR_ENTRIES:.2g}; got {format_count(self.N, 'row')} and "
                f"{format_count(varying, 'feature')}. Select features, "
                "or use stumps."
            )

    def __str__(self) -> str:
        kind = "" if self._stumps.complete else f", at most {format_count(self._bins - 1, 'threshold')} of each"
        return f"decision trees of depth two on {format_count(self._features, 'feature')}{kind}"

    @property
    def N(self) -> int:
        return self._stumps.N

    @property
    def c(self) -> ExampleVector:
        return self._stumps.c

    @property
    def y(self) -> Int8[Array, " N"]:
        return self._stumps.y

    @property
    def n_rows(self) -> int:
        return self._stumps.n_rows

    def select_examples(self, values: Num[Array, " rows"]) -> Num[Array, " selected"]:
        return self._stumps.select_examples(values)

    def check_features(self, X: Any) -> None:
        """Raise ProblemError unless X has the number of features of the trees, all finite."""
        (X if isinstance(X, FeatureMatrix) else FeatureMatrix(X)).checked(self._features)

    def best(self, query: Query) -> Answer:
        """Return the trees with the largest edges.

        Each weight is rounded by at most half a unit, and a unit is at most 2^-51 sum_n d_n. So edges are accurate to
        N 2^-52 sum_n d_n, and `edge_bound` lies above the largest edge by this much and one float more.

        Raises
        ------
        ProblemError
            The weights do not have shape (N,), or they are not finite.
        """
        binned = self._stumps.binned
        if len(binned.thresholds) == 0:
            return self._stumps.best(query)
        weights, exponent = scaled_weights(query.d, self.N)
        s = np.rint(np.ldexp(weights * self.y, WEIGHT_BITS))
        root_edges = best_edges_of_roots(binned, s)
        columns = list[Column]()
        for i in order_of_thresholds(binned, root_edges, query)[: query.count]:
            tree, edge = self._best_tree(i, s.astype(np.int64))
            margins = self.margins_of(tree)
            if not any(np.array_equal(margins, column.margins) for column in columns):
                columns.append(Column(tree, margins, math.ldexp(float(edge), exponent - WEIGHT_BITS)))
        bound = float(int(root_edges.max()) + self.N // 2 + 1)
        return Answer(tuple(columns), unscaled_upper_bound(math.nextafter(bound, math.inf), exponent - WEIGHT_BITS))

    def _best_tree(self, i: int, s: Array) -> tuple[DepthTwoTree, int]:
        """Return the best tree with a root, and its edge in units of s."""
        binned, is_above = self._stumps.binned, self._stumps.binned.is_above(i)
        lower_stump, lower_edge = best_stump_on_side(binned, s, ~is_above, self._features)
        upper_stump, upper_edge = best_stump_on_side(binned, s, is_above, self._features)
        feature = int(features_of_thresholds(binned, [i])[0])
        tree = DepthTwoTree(feature, float(binned.thresholds[i]), lower_stump, upper_stump)
        return tree, lower_edge + upper_edge

    def margins_of(self, hypothesis: Hypothesis) -> Int8[Array, " N"]:
        """Return y_n h(x_n), from the codes.

        Raises
        ------
        ProblemError
            The class has no such hypothesis: a threshold is not one of the feature's.
        """
        if len(self._stumps.binned.thresholds) == 0:
            return self._stumps.margins_of(hypothesis)
        if not isinstance(hypothesis, DepthTwoTree):
            raise ProblemError(f"expected a hypothesis of {self}; got {hypothesis}. Pass the oracle of its class.")
        root = Stump(hypothesis.feature, hypothesis.threshold, 1, hypothesis.features)
        is_above = self._stump_margins(root) == self.y
        margins = (self._stump_margins(stump) for stump in (hypothesis.upper_stump, hypothesis.lower_stump))
        return np.where(is_above, *margins).astype(np.int8)

    def _stump_margins(self, stump: Stump) -> Int8[Array, " N"]:
        """Return the margins of a stump of the tree, or of a leaf."""
        if stump.threshold == -math.inf and stump.features == self._features:
            return (stump.sign * self.y).astype(np.int8)
        return self._stumps.margins_of(stump)

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{type(self).__name__} {self._stumps.digest}".encode()).hexdigest()
