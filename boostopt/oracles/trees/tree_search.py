"""The best trees of depth two over binned features, from integer sums over pairs of features.

The edge of a tree is the sum of the edges of its two stumps, each over the rows on its side of the root. So for each
root, the best stump of each side is searched alone. The sums over all pairs of codes of two features give the edges of
all stumps on the second one, on both sides of all roots on the first one.
"""

from __future__ import annotations

import math

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.oracles.stumps.stump import Stump
from boostopt.oracles.stumps.stump_search import features_of_thresholds
from boostopt.rows.feature_encoding import BinnedFeatures


def best_edges_of_roots(binned: BinnedFeatures, s: Float[Array, " N"]) -> Float[Array, " thresholds"]:
    """Return the largest edge sum_n s_n h(x_n) of the trees with each root, exactly.

    Parameters
    ----------
    binned
        The codes; at least one feature varies.
    s
        Whole numbers, whose absolute values sum to less than 2^53.
    """
    rows = np.flatnonzero(s)
    weights = s[rows]
    sizes = [len(binned.thresholds_by_feature[j]) + 1 for j in binned.varying_features]
    codes = [binned.codes[j][rows] for j in binned.varying_features]
    lower_edges = [np.zeros(size - 1) for size in sizes]
    upper_edges = [np.zeros(size - 1) for size in sizes]
    for i, size in enumerate(sizes):
        for j in range(i, len(sizes)):
            cells = np.multiply(codes[i], sizes[j], dtype=np.intp)
            cells += codes[j]
            sums = np.bincount(cells, weights, size * sizes[j]).reshape(size, sizes[j])
            for root, root_sums in ((i, sums), (j, sums.T)):
                edges = _best_edges_of_sides(root_sums)
                for largest, side_edges in zip((lower_edges[root], upper_edges[root]), edges, strict=True):
                    np.maximum(largest, side_edges, out=largest)
    return np.concatenate(lower_edges) + np.concatenate(upper_edges)


def _best_edges_of_sides(
    sums: Float[Array, "codes others"],
) -> tuple[Float[Array, " roots"], Float[Array, " roots"]]:
    """Return the largest edges below and above each root, from the sums over pairs of codes.

    A stump that is 1 above code k has the edge T - 2 P, where T is the sum of its side, and P the sum of the rows of
    its side up to code k. The last code gives the constant. Its negation has the edge 2 P - T.
    """
    prefix_sums = sums.cumsum(axis=0).cumsum(axis=1)
    lower_sums = prefix_sums[:-1]
    lower_edges, upper_edges = (
        np.abs(side[:, -1:] - 2.0 * side).max(axis=1) for side in (lower_sums, prefix_sums[-1] - lower_sums)
    )
    return lower_edges, upper_edges


def best_stump_on_side(
    binned: BinnedFeatures, s: Int[Array, " N"], is_on_side: Bool[Array, " N"], features: int
) -> tuple[Stump, int]:
    """Return the stump with the largest edge over the rows of one side of a root, and the edge; constants come first.

    Parameters
    ----------
    binned
        The codes; at least one feature varies.
    s
        Whole numbers as int64, whose absolute values sum to less than 2^53.
    is_on_side
        Which rows lie on the side.
    features
        Number of features.
    """
    side = np.where(is_on_side, s, 0)
    total, edges = int(side.sum()), binned.threshold_edges(side)
    i = int(np.abs(edges).argmax())
    if abs(total) >= abs(int(edges[i])):
        return Stump(0, -math.inf, -1 if total < 0 else 1, features), abs(total)
    sign = -1 if edges[i] < 0 else 1
    feature = int(features_of_thresholds(binned, [i])[0])
    return Stump(feature, float(binned.thresholds[i]), sign, features), abs(int(edges[i]))
