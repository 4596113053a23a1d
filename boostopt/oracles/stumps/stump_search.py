"""The best stumps of a table of thresholds, from integer sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float, Int, Int8, Num
from boostopt.oracles.base import Answer, Column, Query
from boostopt.oracles.stumps.stump import Stump
from boostopt.oracles.top_k import top_k, top_k_groups
from boostopt.oracles.weight_scaling import MACHINE_EPSILON, scaled_weights

WEIGHT_BITS = 62
"""Bits to which weights with a sum in [1/2, 1) are rounded: edges then stay below 2^63, the limit of int64."""


@runtime_checkable
class ThresholdTable(Protocol):
    """The thresholds of all features that vary, feature by feature and ascending.

    Attributes
    ----------
    N
        Number of examples.
    thresholds
        The thresholds, empty if no feature varies.
    varying_features
        The features that vary, ascending.
    first_threshold
        The position of the first threshold of each of these features.
    """

    @property
    def N(self) -> int: ...

    @property
    def thresholds(self) -> Float[Array, " thresholds"]: ...

    @property
    def varying_features(self) -> Int[Array, " varying"]: ...

    @property
    def first_threshold(self) -> Int[Array, " varying"]: ...

    def threshold_edges(self, s: Int[Array, " N"]) -> Int[Array, " thresholds"]:
        """Return sum_n s_n h(x_n), exactly, for h(x) = 1 above the threshold and -1 below; s is int64."""
        ...

    def is_above(self, i: int) -> Bool[Array, " N"]:
        """Return which examples lie above threshold i."""
        ...


def features_of_thresholds(
    splits: ThresholdTable, positions: Sequence[int] | Int[Array, " positions"]
) -> Int[Array, " positions"]:
    """Return the features of the thresholds at these positions."""
    return splits.varying_features[np.searchsorted(splits.first_threshold, positions, side="right") - 1]


def order_of_thresholds(splits: ThresholdTable, edges: Num[Array, " thresholds"], query: Query) -> list[int]:
    """Return positions of thresholds, with the largest edge first; one for each feature if columns may differ so."""
    starts = splits.first_threshold
    if len(starts) and (query.count == 1 or (query.diverse and query.count <= len(starts))):
        return top_k_groups(edges, starts, query.count)
    order: list[int] = np.argsort(-edges, kind="stable").tolist()
    return order


def best_stumps(splits: ThresholdTable, query: Query, y: Int8[Array, " N"], features: int, reflexive: bool) -> Answer:
    """Return the stumps with the largest edges, and a bound on all edges.

    Parameters
    ----------
    splits
        The thresholds. If there are none, the class consists of the constant hypotheses.
    query
        The weights, and the number of columns.
    y
        Labels -1 and 1, shape (N,).
    features
        Number of features.
    reflexive
        Whether the class contains stumps in both directions.

    Raises
    ------
    ProblemError
        The weights do not have shape (N,), or they are not finite.
    """
    weights, exponent = scaled_weights(query.d, splits.N)
    s = np.rint(np.ldexp(weights * y, WEIGHT_BITS)).astype(np.int64)
    unit = exponent - WEIGHT_BITS
    stumps = _best_distinct(splits, s, query, y, features, reflexive)
    columns = tuple(Column(stump, margins, math.ldexp(edge, unit)) for stump, margins, edge in stumps)
    bound = math.nextafter(float(stumps[0][2] + splits.N // 2 + 1), math.inf)
    return Answer(columns, math.ldexp(bound, unit))


def _best_distinct(
    splits: ThresholdTable, s: Int[Array, " N"], query: Query, y: Int8[Array, " N"], features: int, reflexive: bool
) -> list[tuple[Stump, Int8[Array, " N"], int]]:
    """Return the best stumps with their margins and their edges under s; no two have the same margins."""
    thresholds = splits.thresholds
    if len(thresholds) == 0:
        edge = int(s.sum())
        sign = -1 if reflexive and edge < 0 else 1
        return [(Stump(0, -math.inf, sign, features), (sign * y).astype(np.int8), sign * edge)]
    edges = splits.threshold_edges(s)
    best_edges = np.abs(edges) if reflexive else edges
    stumps: list[tuple[Stump, Int8[Array, " N"], int]] = []
    for i in order_of_thresholds(splits, best_edges, query):
        if len(stumps) == query.count:
            break
        feature = int(features_of_thresholds(splits, [i])[0])
        sign = -1 if reflexive and edges[i] < 0 else 1
        margins, edge = np.where(splits.is_above(i), sign * y, -sign * y).astype(np.int8), int(best_edges[i])
        if not any(
            edge == other_edge and np.array_equal(margins, other_margins) for _, other_margins, other_edge in stumps
        ):
            stumps.append((Stump(feature, float(thresholds[i]), sign, features), margins, edge))
    return stumps


def best_stumps_after_costs(
    splits: ThresholdTable,
    query: Query,
    y: Int8[Array, " N"],
    upward_costs: Float[Array, " features"],
    downward_costs: Float[Array, " features"] | None,
) -> Answer:
    """Return the stumps with the largest edges less the costs of their features, and a bound on all differences.

    Parameters
    ----------
    splits, query, y
        As in `best_stumps`.
    upward_costs
        The costs of the stumps h = 1 above a threshold, by feature: finite numbers.
    downward_costs
        The costs of their negations; None if the class has none.

    Raises
    ------
    ProblemError
        The weights do not have shape (N,), or they are not finite.
    """
    features = len(upward_costs)
    weights, exponent = scaled_weights(query.d, splits.N)
    s = np.rint(np.ldexp(weights * y, WEIGHT_BITS)).astype(np.int64)
    unit, starts = exponent - WEIGHT_BITS, splits.first_threshold
    is_constant = len(splits.thresholds) == 0
    sums = np.array([int(s.sum())]) if is_constant else splits.threshold_edges(s)
    feature_of = np.zeros(1, dtype=int) if is_constant else features_of_thresholds(splits, np.arange(len(sums)))
    edges = np.ldexp(sums.astype(np.float64), unit)
    upward = edges - upward_costs[feature_of]
    downward = np.full(len(edges), -np.inf) if downward_costs is None else -edges - downward_costs[feature_of]
    differences, largest_cost = np.maximum(upward, downward), float(np.abs(upward_costs).max())
    if downward_costs is not None:
        largest_cost = max(largest_cost, float(np.abs(downward_costs).max()))
    # The weights are rounded by half a unit each, and the edge, the cost and their difference are floats.
    rounding = math.ldexp(float(splits.N // 2 + 2), unit) + 4.0 * MACHINE_EPSILON * float(
        np.abs(edges).max() + largest_cost
    )
    count = min(query.count, len(edges))
    by_feature = query.diverse and not is_constant and count <= len(starts)
    best = top_k_groups(differences, starts, count) if by_feature else top_k(differences, count)
    columns = list[Column]()
    for i in best:
        sign = 1 if upward[i] >= downward[i] else -1
        threshold = -math.inf if is_constant else float(splits.thresholds[i])
        is_above = np.ones(splits.N, dtype=bool) if is_constant else splits.is_above(i)
        margins = np.where(is_above, sign * y, -sign * y).astype(np.int8)
        stump = Stump(int(feature_of[i]), threshold, sign, features)
        columns.append(Column(stump, margins, sign * float(edges[i])))
    return Answer(tuple(columns), math.nextafter(float(differences.max()) + rounding, math.inf))
