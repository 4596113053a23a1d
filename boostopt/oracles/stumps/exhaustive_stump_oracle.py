"""The oracle of all decision stumps: exact, with presorted features and sums of integers."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float, UInt
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import check_flag
from boostopt.errors import ProblemError, require_not_none
from boostopt.oracles.base import Answer, GroupedOracle, Hypothesis, Query
from boostopt.oracles.binned_class import BinnedOracle
from boostopt.oracles.labelled_examples import ExamplesOracle, check_examples
from boostopt.oracles.stumps.presorted_features import PresortedFeatures, presort
from boostopt.oracles.stumps.stump import Stump
from boostopt.oracles.stumps.stump_search import best_stumps, best_stumps_after_costs
from boostopt.rows.binned_rows import BinnedRows, has_exact_sums
from boostopt.rows.feature_encoding import BLOCK_ROWS, BinnedFeatures, BlockEncoder
from boostopt.rows.row_block import Split
from boostopt.rows.thresholds import encode_all_values

MAX_THRESHOLDS = 65_535
"""Number of thresholds of a feature up to which two bytes can encode its values."""


class DecisionStumps(ExamplesOracle, BinnedOracle, GroupedOracle):
    """All decision stumps, exactly: every threshold of every feature.

    Thresholds lie halfway between neighbouring distinct values of the examples that count. A feature that is constant
    on these examples has no threshold. As in `stump_matrix`, the constant hypotheses do not belong to the class, unless
    all features are constant: then they are the class. (On scikit-learn's breast_cancer with nu = 0.1 N, the optimum of
    LPBoost over the class is 0.169879, with constant hypotheses or without.)

    The weights are rounded once, to whole multiples of at most 2^-61 of their sum, and then summed exactly, as
    integers. So stumps that split the examples in the same way have equal edges, even on different features. Among
    equal edges, the lowest feature wins, then the lowest threshold, then the sign 1. If several columns are wanted, the
    oracle returns the best stump of each of the best features. If more columns are wanted than features vary, it
    returns the best stumps on any features. Each column occurs once, so there are fewer columns if the best stumps of
    several features split the examples in the same way.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array, or a scipy sparse matrix, which is never made dense.
    y
        Labels, shape (N,): -1 and 1, or 0 and 1; both must occur.
    c
        Multiplicities, shape (N,), non-negative, 1 by default. Examples with 0 are left out before thresholds are made.
    reflexive
        Whether the class contains stumps in both directions; otherwise only those with h = 1 above the threshold.

    Raises
    ------
    ProblemError
        A shape is wrong, an entry is not a finite number, labels are invalid or of one class only, or a multiplicity
        is negative.
    """

    def __init__(self, X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None = None, reflexive: bool = True) -> None:
        self.reflexive: bool = check_flag("reflexive", reflexive)
        self._examples = check_examples(X, y, c)
        self._features: int = self._examples.X.shape[1]

    def __str__(self) -> str:
        directions = "both directions" if self.reflexive else "one direction"
        return f"decision stumps on {format_count(self._features, 'feature')}, {directions}"

    def best(self, query: Query) -> Answer:
        """Return the stumps with the largest edges.

        Each weight is rounded by at most half a unit, and a unit is at most 2^-61 sum_n d_n. So edges are accurate to
        N 2^-62 sum_n d_n, and `edge_bound` lies above the largest edge by this much and one float more.

        Raises
        ------
        ProblemError
            The weights do not have shape (N,), or they are not finite.
        """
        return best_stumps(self._sorted, query, self.y, self._features, self.reflexive)

    @property
    def n_groups(self) -> int:
        """Number of features, times 2 if the class has both directions: first the upward stumps of each feature."""
        return self._features * (1 + self.reflexive)

    def read_costs(self, costs: Float[Array, " costs"]) -> Float[Array, " groups"]:
        """Return one cost for each group, from costs of the features, or of their upward and then downward stumps."""
        return super().read_costs(np.tile(costs, 2) if self.reflexive and len(costs) == self._features else costs)

    def group_of(self, hypothesis: Hypothesis) -> int:
        """Return the feature of an upward stump, and this number plus the number of features of a downward one.

        A constant counts as a stump of feature 0 with its sign.

        Raises
        ------
        ProblemError
            The hypothesis is no stump of the class.
        """
        if not isinstance(hypothesis, Stump) or (hypothesis.sign < 0 and not self.reflexive):
            raise ProblemError(f"expected a stump of {self}; got {hypothesis}. Pass one of this class.")
        if len(self._sorted.thresholds):
            return hypothesis.feature + (self._features if hypothesis.sign < 0 else 0)
        # Without thresholds, the class has the constants alone, whatever feature and threshold name them.
        is_negative = float(hypothesis(self._examples.X[:1])[0]) < 0.0
        return self._features if is_negative and self.reflexive else 0

    def best_after_costs(self, query: Query, costs: Float[Array, " groups"]) -> Answer:
        """Return the stumps with the largest edges less the costs of their groups.

        `edge_bound` lies above the largest difference by the rounding of the weights, as in `best`, and of the floats.
        """
        up, down = (costs[: self._features], costs[self._features :] if self.reflexive else None)
        return best_stumps_after_costs(self._sorted, query, self.y, up, down)

    @property
    def binned_rows(self) -> BinnedRows | None:
        """The encoded examples.

        None if no feature varies, if a feature has more than 65,536 values, if a sparse matrix would take more
        memory as codes, or if the multiplicities are not whole numbers up to 2^20 with a sum up to 2^32. None also
        for subclasses, because a subclass may be another class of hypotheses.
        """
        if type(self) is not DecisionStumps or not has_exact_sums(self.c) or self._binned is None:
            return None
        return BinnedRows.from_binned(self._binned, self.y, self.c)

    def hypothesis_of(self, split: Split) -> Stump:
        cuts = require_not_none(self._binned, "codes").thresholds_by_feature
        return Stump(split.feature, float(cuts[split.feature][split.code]), split.sign, self._features)

    @cached_property
    def _sorted(self) -> PresortedFeatures:
        """The sorted features, from which answers come; data passes need none."""
        return presort(self._examples.X)

    @cached_property
    def _binned(self) -> BinnedFeatures | None:
        """The codes, None if there are none."""
        X = self._examples.X
        encoded = self._encode_stored_entries() if scipy.sparse.issparse(X) else encode_all_values(X, MAX_THRESHOLDS)
        return None if encoded is None or not any(map(len, encoded[1])) else BinnedFeatures.from_codes(*encoded)

    def _encode_stored_entries(self) -> tuple[UInt[Array, "features N"], list[Float[Array, " _"]]] | None:
        """Return codes as `encode_all_values` does, for a sparse matrix; None also if they take more memory than it."""
        X, table = self._examples.X, self._sorted
        ends = np.append(table.first_threshold[1:], len(table.thresholds))
        max_thresholds = int((ends - table.first_threshold).max(initial=0))
        dtype = np.dtype(np.uint8 if max_thresholds < 256 else np.uint16)
        if max_thresholds > MAX_THRESHOLDS or math.prod(X.shape) * dtype.itemsize > X.data.nbytes + X.indices.nbytes:
            return None
        cuts = [np.empty(0)] * self._features
        for j, start, end in zip(table.varying_features, table.first_threshold, ends, strict=True):
            cuts[j] = table.thresholds[start:end]
        codes = np.empty((self._features, self.N), dtype)
        encoder = BlockEncoder(dict(enumerate(cuts)), dtype, self.N)
        for i in range(0, self.N, BLOCK_ROWS):
            encoder.encode(X[i : i + BLOCK_ROWS].toarray(), codes[:, i : i + BLOCK_ROWS])
        return codes, cuts

    def _contains(self, hypothesis: Hypothesis, h: ExampleVector) -> bool:
        """Return whether the class contains h: a threshold that splits the examples is equivalent to one of the class.

        Constants belong to the class only if there are no other stumps.
        """
        constant, has_thresholds = bool((h == h[0]).all()), len(self._sorted.thresholds) > 0
        upward = h[0] == 1 if constant else isinstance(hypothesis, Stump) and hypothesis.sign == 1
        return isinstance(hypothesis, Stump) and constant != has_thresholds and bool(upward or self.reflexive)
