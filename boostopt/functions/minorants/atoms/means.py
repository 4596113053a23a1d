"""Smooth functions of several numbers: log-sum-exp, geometric means and p-norms with p < 1."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.functions.formulas.intervals import ELEMENTARY_ERROR, Interval, enclose_rational, exact_interval
from boostopt.functions.minorants.atoms.base import Columnwise, lower_bound
from boostopt.functions.minorants.interval_sums import column_sums, gamma, interval, reciprocal


class LogSumExp(Columnwise):
    """ln of the sum of e^x, for each column."""

    sign = 1

    def __init__(self, k: int) -> None:
        self.k = k

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0])
        return Interval(self._value(x.lower).lower, self._value(x.upper).upper)

    def _value(self, x: Float[Array, "k m"]) -> Interval:
        largest, shares = self._shares(x)
        sums = column_sums(shares)
        return exact_interval(largest) + Interval(np.maximum(sums.lower, 1.0 - 1e-12), sums.upper).log()

    @staticmethod
    def _shares(x: Float[Array, "k m"]) -> tuple[Float[Array, " m"], Interval]:
        """Return the largest entry of each column, and the exponentials of the differences to it."""
        largest = x.max(axis=0)
        with np.errstate(all="ignore"):
            is_largest = x == largest
            shares = (exact_interval(x) + Interval(-largest[None, :], -largest[None, :])).exp()
        return largest, Interval(
            np.where(is_largest, 1.0, shares.lower), np.where(is_largest, 1.0, np.minimum(shares.upper, 1.0))
        )

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        v = points[0].reshape((self.k, -1), order="F")
        if not np.isfinite(v).all():
            return None
        largest, shares = self._shares(v)
        sums = column_sums(shares)
        sums = Interval(np.maximum(sums.lower, 1.0 - 1e-12), sums.upper)
        slopes = shares * reciprocal(sums)
        # The slopes sum to 1: <slopes, v> = largest + <slopes, v - largest>, and the largest cancels.
        differences = exact_interval(v) + Interval(-largest[None, :], -largest[None, :])
        differences = Interval(differences.lower, np.minimum(differences.upper, 0.0))
        offsets = sums.log() + -column_sums(slopes * differences)
        return [self.flatten(slopes * Interval(mu.lower[None, :], mu.upper[None, :]))], lower_bound(mu, offsets)


class GeometricMean(Columnwise):
    """The product of x_i^(w_i) over each column, w divided by its sum. Concave on x >= 0 and homogeneous."""

    sign = -1

    def __init__(self, k: int, weights: Sequence[Fraction]) -> None:
        self.k = k
        self.positive_entries: Int[Array, " n"] = np.array([n for n, w in enumerate(weights) if w != 0])
        enclosures = [enclose_rational(w / sum(weights)) for w in weights if w != 0]
        self.weights: Interval = Interval(
            np.array([float(w.lower) for w in enclosures]), np.array([float(w.upper) for w in enclosures])
        )

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0])
        x = Interval(x.lower[self.positive_entries], x.upper[self.positive_entries])
        outside = (x.lower < 0.0).any(axis=0)
        logs = Interval(np.maximum(x.lower, 0.0), np.maximum(x.upper, 0.0)).log()
        exponents = column_sums(logs * Interval(self.weights.lower[:, None], self.weights.upper[:, None]))
        means = exponents.exp()
        return Interval(np.where(outside, -np.inf, means.lower), means.upper)

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        v = points[0].reshape((self.k, -1), order="F")[self.positive_entries]
        if not ((v > 0.0) & np.isfinite(v)).all():
            return None
        value = self.values([exact_interval(points[0])])
        scaled_mean = mu * value
        w = Interval(self.weights.lower[:, None], self.weights.upper[:, None])
        slopes = Interval(scaled_mean.lower[None, :], scaled_mean.upper[None, :]) * (w * reciprocal(exact_interval(v)))
        low, high = (np.zeros((self.k, v.shape[1])) for _ in range(2))
        low[self.positive_entries], high[self.positive_entries] = slopes.lower, slopes.upper
        return [self.flatten(Interval(low, high))], 0.0


class SmallNorm(Columnwise):
    """(sum x^p)^(1/p) over each column, for p < 1 except 0. Concave on x >= 0 and homogeneous."""

    sign = -1

    def __init__(self, k: int, p: float) -> None:
        self.k: int = k
        self.p: Fraction = Fraction(p)

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0])
        outside = (x.lower < 0.0).any(axis=0)
        norms = self._value(Interval(np.maximum(x.lower, 0.0), np.maximum(x.upper, 0.0)))
        return Interval(np.where(outside, -np.inf, norms.lower), norms.upper)

    def _value(self, x: Interval) -> Interval:
        with np.errstate(all="ignore"):
            sums = column_sums(x.power(self.p))
            roots = sums.power(1 / self.p)
        return Interval(
            np.where(np.isnan(roots.lower), 0.0, np.maximum(roots.lower, 0.0)),
            np.where(np.isnan(roots.upper), np.inf, roots.upper),
        )

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        v = points[0].reshape((self.k, -1), order="F")
        if not ((v > 0.0) & np.isfinite(v)).all():
            return None
        value = self._value(exact_interval(v))
        ratio = Interval(value.lower[None, :], value.upper[None, :]) * reciprocal(exact_interval(v))
        slopes = ratio.power(1 - self.p)
        return [self.flatten(Interval(mu.lower[None, :], mu.upper[None, :]) * slopes)], 0.0


def norm(x: Float[Array, "k m"], p: float) -> Interval:
    """Return intervals of the p-norms of the columns of floats, 1 <= p <= inf."""
    sizes = np.abs(x)
    if p == np.inf:
        return exact_interval(sizes.max(axis=0, initial=0.0))
    if p == 1.0:
        return column_sums(exact_interval(sizes))
    largest = sizes.max(axis=0, initial=0.0)
    with np.errstate(all="ignore"):
        shares = np.divide(sizes, largest, out=np.zeros_like(sizes), where=(largest > 0.0) & np.isfinite(largest))
        # A quotient has a relative error of one unit, or underflows to a negligible share.
        error = 4.0 * ELEMENTARY_ERROR + 4.0 * abs(p) * 2.0**-53 + gamma(len(x) + 2.0)
        sums = (shares**p).sum(axis=0)
        roots = largest * sums ** (1.0 / p)
        error = (error + ELEMENTARY_ERROR * (4.0 + 2.0 * np.log(len(x) + 1.0))) * roots + len(x) * 2.0**-1070
    enclosure = interval(roots, roots, error)
    return Interval(np.maximum(enclosure.lower, largest), enclosure.upper)
