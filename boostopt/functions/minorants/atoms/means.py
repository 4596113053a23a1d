"""Smooth functions of several numbers: log-sum-exp, geometric means and p-norms with p < 1."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.functions.formulas.intervals import ELEMENTARY, Interval, point, rational
from boostopt.functions.minorants.atoms.base import Groups, lowest
from boostopt.functions.minorants.interval_sums import column_sums, gamma, interval, reciprocal


class LogSumExp(Groups):
    """ln of the sum of e^x, for each column."""

    sign = 1

    def __init__(self, k: int) -> None:
        self.k = k

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0])
        return Interval(self._value(x.low).low, self._value(x.high).high)

    def _value(self, x: Float[Array, "k m"]) -> Interval:
        largest, shares = self._shares(x)
        sums = column_sums(shares)
        return point(largest) + Interval(np.maximum(sums.low, 1.0 - 1e-12), sums.high).log()

    @staticmethod
    def _shares(x: Float[Array, "k m"]) -> tuple[Float[Array, " m"], Interval]:
        """Return the largest entries, and the exponentials of the entries minus these."""
        largest = x.max(axis=0)
        with np.errstate(all="ignore"):
            exact = x == largest
            shares = (point(x) + Interval(-largest[None, :], -largest[None, :])).exp()
        return largest, Interval(np.where(exact, 1.0, shares.low), np.where(exact, 1.0, np.minimum(shares.high, 1.0)))

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, raw: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        v = points[0].reshape((self.k, -1), order="F")
        if not np.isfinite(v).all():
            return None
        largest, shares = self._shares(v)
        sums = column_sums(shares)
        sums = Interval(np.maximum(sums.low, 1.0 - 1e-12), sums.high)
        slopes = shares * reciprocal(sums)
        # The slopes sum to 1: <slopes, v> = largest + <slopes, v - largest>, and the largest cancels.
        below = point(v) + Interval(-largest[None, :], -largest[None, :])
        below = Interval(below.low, np.minimum(below.high, 0.0))
        offsets = sums.log() + -column_sums(slopes * below)
        return [self.flat(slopes * Interval(mu.low[None, :], mu.high[None, :]))], lowest(mu, offsets)


class GeometricMean(Groups):
    """The product of x_i^(w_i) over each column, the weights divided by their sum; concave on x >= 0, homogeneous."""

    sign = -1

    def __init__(self, k: int, weights: Sequence[Fraction]) -> None:
        self.k = k
        self.kept: Int[Array, " n"] = np.array([n for n, w in enumerate(weights) if w != 0])
        each = [rational(w / sum(weights)) for w in weights if w != 0]
        self.weights: Interval = Interval(
            np.array([float(w.low) for w in each]), np.array([float(w.high) for w in each])
        )

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0])
        kept = Interval(x.low[self.kept], x.high[self.kept])
        outside = (kept.low < 0.0).any(axis=0)
        logs = Interval(np.maximum(kept.low, 0.0), np.maximum(kept.high, 0.0)).log()
        exponents = column_sums(logs * Interval(self.weights.low[:, None], self.weights.high[:, None]))
        made = exponents.exp()
        return Interval(np.where(outside, -np.inf, made.low), made.high)

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, raw: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        v = points[0].reshape((self.k, -1), order="F")[self.kept]
        if not ((v > 0.0) & np.isfinite(v)).all():
            return None
        value = self.values([point(points[0])])
        of_mean = mu * value
        w = Interval(self.weights.low[:, None], self.weights.high[:, None])
        slopes = Interval(of_mean.low[None, :], of_mean.high[None, :]) * (w * reciprocal(point(v)))
        low, high = (np.zeros((self.k, v.shape[1])) for _ in range(2))
        low[self.kept], high[self.kept] = slopes.low, slopes.high
        return [self.flat(Interval(low, high))], 0.0


class SmallNorm(Groups):
    """The sum of x^p to the power 1 / p over each column, p < 1 and not 0: concave on x >= 0 and homogeneous."""

    sign = -1

    def __init__(self, k: int, p: float) -> None:
        self.k: int = k
        self.p: Fraction = Fraction(p)

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0])
        outside = (x.low < 0.0).any(axis=0)
        made = self._value(Interval(np.maximum(x.low, 0.0), np.maximum(x.high, 0.0)))
        return Interval(np.where(outside, -np.inf, made.low), made.high)

    def _value(self, x: Interval) -> Interval:
        with np.errstate(all="ignore"):
            sums = column_sums(x.power(self.p))
            made = sums.power(1 / self.p)
        return Interval(
            np.where(np.isnan(made.low), 0.0, np.maximum(made.low, 0.0)),
            np.where(np.isnan(made.high), np.inf, made.high),
        )

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, raw: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        v = points[0].reshape((self.k, -1), order="F")
        if not ((v > 0.0) & np.isfinite(v)).all():
            return None
        value = self._value(point(v))
        ratio = Interval(value.low[None, :], value.high[None, :]) * reciprocal(point(v))
        slopes = ratio.power(1 - self.p)
        return [self.flat(Interval(mu.low[None, :], mu.high[None, :]) * slopes)], 0.0


def norm(x: Float[Array, "k m"], p: float) -> Interval:
    """Return intervals of the p-norms of the columns of floats, 1 <= p <= inf."""
    sizes = np.abs(x)
    if p == np.inf:
        return point(sizes.max(axis=0, initial=0.0))
    if p == 1.0:
        return column_sums(point(sizes))
    largest = sizes.max(axis=0, initial=0.0)
    with np.errstate(all="ignore"):
        shares = np.divide(sizes, largest, out=np.zeros_like(sizes), where=(largest > 0.0) & np.isfinite(largest))
        # A quotient is off by one unit, or underflows to less than any other share counts.
        lost = 4.0 * ELEMENTARY + 4.0 * abs(p) * 2.0**-53 + gamma(len(x) + 2.0)
        sums = (shares**p).sum(axis=0)
        roots = largest * sums ** (1.0 / p)
        lost = (lost + ELEMENTARY * (4.0 + 2.0 * np.log(len(x) + 1.0))) * roots + len(x) * 2.0**-1070
    made = interval(roots, roots, lost)
    return Interval(np.maximum(made.low, largest), made.high)
