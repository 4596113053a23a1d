"""Atoms with kinks: support functions of sets D of multipliers.

phi(u) = max over delta in D of <delta, u>, so that any delta in mu D gives a minorant of mu phi(u). The rules project
the multipliers of a solver, or a subgradient, into mu D and count the rounding of the projection.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import Interval, exact_interval
from boostopt.functions.minorants.atoms.base import Columnwise
from boostopt.functions.minorants.atoms.means import norm
from boostopt.functions.minorants.interval_sums import column_sums, interval
from boostopt.functions.minorants.multiplier_sets import DualNormBall, SumLargestMultipliers


class Norm(Columnwise):
    """The p-norm of each column, 1 <= p <= inf."""

    sign = 1

    def __init__(self, k: int, p: float, multiplier_set: DualNormBall) -> None:
        self.k: int = k
        self.p: float = p
        self.multiplier_set: DualNormBall = multiplier_set

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0]).absolute
        return Interval(norm(x.lower, self.p).lower, norm(x.upper, self.p).upper)

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        u, min_mu = points[0].reshape((self.k, -1), order="F"), np.maximum(mu.lower, 0.0)
        if not np.isfinite(min_mu).all() or (proposal is None and not np.isfinite(u).all()):
            return None
        with np.errstate(all="ignore"):
            delta = (
                self.multiplier_set.maximizer(u, min_mu)
                if proposal is None
                else self.multiplier_set.project(proposal, min_mu)
            )
        if self.multiplier_set.sign:
            delta = self.multiplier_set.sign * np.maximum(self.multiplier_set.sign * delta, 0.0)
        delta = np.where(np.isfinite(delta), delta, 0.0)
        if self.multiplier_set.q == np.inf:
            return [self.flatten(exact_interval(np.clip(delta, -min_mu, min_mu)))], 0.0
        # 0 lies in D, so that shortening moves a multiplier into D.
        sizes = norm(delta, self.multiplier_set.q).upper
        if self.multiplier_set.q not in (1.0, 2.0):  # The dual exponent is rounded. The norm changes by less.
            sizes = sizes * (1.0 + 1e-11)
        with np.errstate(all="ignore"):
            factor = np.where(sizes > min_mu, min_mu / sizes * (1.0 - 1e-15), 1.0)
        delta = np.where(np.isfinite(factor), delta * factor, 0.0)
        return [self.flatten(exact_interval(delta))], 0.0


class LargestSum(Columnwise):
    """The sum of the `count` largest entries of each column; with sign -1, of the `count` smallest ones."""

    def __init__(self, k: int, count: float, sign: int = 1) -> None:
        self.k: int = k
        self.count: float = count
        self.sign: int = sign
        self.multiplier_set: SumLargestMultipliers = SumLargestMultipliers(count)

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0])
        if self.sign < 0:
            x = -x
        sums = Interval(self._value(x.lower).lower, self._value(x.upper).upper)
        return sums if self.sign > 0 else -sums

    def _value(self, x: Float[Array, "k m"]) -> Interval:
        if self.count == 1.0:
            return exact_interval(x.max(axis=0))
        sorted_x, n_whole = -np.sort(-x, axis=0), min(int(self.count), self.k)
        sums = column_sums(exact_interval(sorted_x[:n_whole])) if n_whole else exact_interval(np.zeros(x.shape[1]))
        if self.count > n_whole and n_whole < self.k:
            remaining_count = np.full(x.shape[1], self.count - n_whole)  # exact
            sums = sums + exact_interval(remaining_count) * exact_interval(sorted_x[n_whole])
        return sums

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        mu = mu if self.sign > 0 else -mu
        min_mu = np.maximum(mu.lower, 0.0)
        u = self.sign * points[0].reshape((self.k, -1), order="F")
        if not np.isfinite(mu.upper).all() or (proposal is None and not np.isfinite(u).all()):
            return None
        if self.k <= self.count:
            multipliers = Interval(*(np.broadcast_to(end, u.shape) for end in (mu.lower, mu.upper)))
            return [self.flatten(multipliers if self.sign > 0 else -multipliers)], 0.0
        with np.errstate(all="ignore"):
            delta = (
                self.multiplier_set.maximizer(u, min_mu)
                if proposal is None
                else self.multiplier_set.project(proposal, min_mu)
            )
        delta = np.clip(np.where(np.isfinite(delta), delta, 0.0), 0.0, min_mu)
        multipliers = self._project_on_sum(delta, mu, min_mu)
        return [self.flatten(multipliers if self.sign > 0 else -multipliers)], 0.0

    def _project_on_sum(self, delta: Float[Array, "k m"], mu: Interval, min_mu: Float[Array, " m"]) -> Interval:
        """Return intervals of a point of mu D near delta, for 0 <= delta <= mu.

        Let T = count mu. If the sum of delta exceeds T, the point is delta T / sum. Otherwise, it is
        delta + theta (mu - delta) with theta = (T - sum) / (k mu - sum).
        """
        sums = column_sums(exact_interval(delta))
        sums = Interval(np.maximum(sums.lower, 0.0), sums.upper)
        target_sums = Interval(min_mu, mu.upper) * exact_interval(np.full(len(min_mu), self.count))
        with np.errstate(all="ignore"):
            shrinkage = np.where(sums.upper > target_sums.lower, target_sums.lower / sums.upper * (1.0 - 1e-15), 1.0)
            missing = np.maximum((target_sums + -sums).upper, 0.0)
            room = (Interval(min_mu, min_mu) * exact_interval(np.full(len(min_mu), float(self.k))) + -sums).lower
            theta = np.where(missing > 0.0, missing / room * (1.0 + 1e-15), 0.0)
            theta = np.where((room > 0.0) & (theta < 1.0), theta, 1.0)
            low = interval(*[delta * np.clip(shrinkage, 0.0, 1.0)] * 2).lower
            max_room = (Interval(*[np.broadcast_to(mu.upper, delta.shape)] * 2) + -exact_interval(delta)).upper
            high = (
                exact_interval(delta)
                + exact_interval(theta * np.ones_like(delta)) * exact_interval(np.maximum(max_room, 0.0))
            ).upper
        is_unchanged = (theta == 0.0) & (shrinkage >= 1.0)
        low = np.where(shrinkage >= 1.0, delta, np.maximum(low, 0.0))
        high = np.where(theta == 0.0, delta, high)
        return Interval(np.where(is_unchanged, delta, low), np.minimum(np.where(is_unchanged, delta, high), mu.upper))


class SortedProduct(Columnwise):
    """The maximum of <x, w> over all orders of constant weights w: `dotsort`."""

    sign = 1

    def __init__(self, k: int, weights: Float[Array, " k"]) -> None:
        self.k: int = k
        self.weights: Float[Array, " k"] = np.sort(np.concatenate([weights, np.zeros(k - len(weights))]))

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = arguments[0]
        # For w >= 0, each sum lies between the sums of lower and of upper ends.
        ends = [self._value(x.lower), self._value(x.upper)]
        if (self.weights >= 0.0).all():
            return Interval(ends[0].lower, ends[1].upper)
        with np.errstate(all="ignore"):
            m = 0.5 * x.lower + 0.5 * x.upper
            weight_sum = column_sums(exact_interval(np.abs(self.weights)[:, None]))
            spread = float(weight_sum.upper[0]) * float(np.maximum(x.upper - m, m - x.lower).max())
        value = self._value(m)
        return interval(value.lower, value.upper, spread)

    def _value(self, x: Float[Array, " k"]) -> Interval:
        products = exact_interval(np.sort(x)) * exact_interval(self.weights)
        return column_sums(Interval(products.lower[:, None], products.upper[:, None]))

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        (x,) = points
        if not np.isfinite(x).all():
            return None
        delta = np.empty(self.k)
        delta[np.argsort(x, kind="stable")] = self.weights
        return [
            exact_interval(delta) * Interval(*(np.full(self.k, float(end[0])) for end in (mu.lower, mu.upper)))
        ], 0.0
