"""The best stumps of a table of thresholds, by sums of whole numbers."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np

from boostopt.oracles.base import Answer, Column, Query
from boostopt.oracles.ranking import leading_of_each
from boostopt.oracles.stump import Stump
from boostopt.oracles.weights import scaled_weights
from boostopt.shapes import Array, Bool, Float, Int, Int8

BITS = 62
"""Binary places to which weights of a sum in [1/2, 1) are rounded: no edge then reaches 2^63, where int64 ends."""


@runtime_checkable
class Splits(Protocol):
    """The thresholds of all features that vary, one after the other and ascending.

    Attributes
    ----------
    N
        Number of examples.
    thresholds
        None if no feature varies.
    features
        Those that vary, ascending.
    starts
        At which threshold each of them begins.
    """

    @property
    def N(self) -> int: ...

    @property
    def thresholds(self) -> Float[Array, " thresholds"]: ...

    @property
    def features(self) -> Int[Array, " varying"]: ...

    @property
    def starts(self) -> Int[Array, " varying"]: ...

    def edges(self, s: Int[Array, " N"]) -> Int[Array, " thresholds"]:
        """Return sum_n s_n h(x_n), exactly, of h(x) = 1 above the threshold and -1 below; s are int64 numbers."""
        ...

    def above(self, i: int) -> Bool[Array, " N"]:
        """Return which examples lie above threshold i."""
        ...


def best_stumps(splits: Splits, query: Query, y: Int8[Array, " N"], features: int, reflexive: bool) -> Answer:
    """Return the stumps with the largest edges, and a bound of all.

    Parameters
    ----------
    splits
        The thresholds. Without any the constant hypotheses are the class.
    query
        The weights, and how many columns.
    y
        Labels -1 and 1, shape (N,).
    features
        Number of features.
    reflexive
        Whether stumps stand in both directions.

    Raises
    ------
    ProblemError
        The weights have another shape than (N,), or they are not finite.
    """
    weights, exponent = scaled_weights(query.d, splits.N)
    s = np.rint(np.ldexp(weights * y, BITS)).astype(np.int64)
    unit = exponent - BITS
    stumps = _leading(splits, s, query, y, features, reflexive)
    columns = tuple(Column(stump, margins, math.ldexp(edge, unit)) for stump, margins, edge in stumps)
    most = math.nextafter(float(stumps[0][2] + splits.N // 2 + 1), math.inf)
    return Answer(columns, math.ldexp(most, unit))


def _leading(
    splits: Splits, s: Int[Array, " N"], query: Query, y: Int8[Array, " N"], features: int, reflexive: bool
) -> list[tuple[Stump, Int8[Array, " N"], int]]:
    """Return the best stumps with their margins and their edges under s, different margins only."""
    thresholds, starts, count = splits.thresholds, splits.starts, query.count
    if len(thresholds) == 0:
        edge = int(s.sum())
        sign = -1 if reflexive and edge < 0 else 1
        return [(Stump(0, -math.inf, sign, features), (sign * y).astype(np.int8), sign * edge)]
    edges = splits.edges(s)
    signs_free = np.abs(edges) if reflexive else edges
    stumps: list[tuple[Stump, Int8[Array, " N"], int]] = []
    if query.varied and count <= len(starts):
        places = leading_of_each(signs_free, starts, count)
    else:
        places = np.argsort(-signs_free, kind="stable").tolist()
    for i in places:
        if len(stumps) == count:
            break
        feature = int(splits.features[np.searchsorted(starts, i, side="right") - 1])
        sign = -1 if reflexive and edges[i] < 0 else 1
        margins, edge = np.where(splits.above(i), sign * y, -sign * y).astype(np.int8), int(signs_free[i])
        if not any(edge == its_edge and np.array_equal(margins, other) for _, other, its_edge in stumps):
            stumps.append((Stump(feature, float(thresholds[i]), sign, features), margins, edge))
    return stumps
