"""Atoms with kinks: support functions of sets whose points are the multipliers of their arguments.

phi(u) = max over delta in D of <delta, u>, so that any delta in mu D gives a minorant of mu phi(u). What a solver or a
subgradient proposes is moved into mu D, and the rounding of that is counted.
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
        u, least = points[0].reshape((self.k, -1), order="F"), np.maximum(mu.lower, 0.0)
        if not np.isfinite(least).all() or (proposal is None and not np.isfinite(u).all()):
            return None
        with np.errstate(all="ignore"):
            delta = (
                self.multiplier_set.maximizer(u, least)
                if proposal is None
                else self.multiplier_set.project(proposal, least)
            )
        if self.multiplier_set.sign:
            delta = self.multiplier_set.sign * np.maximum(self.multiplier_set.sign * delta, 0.0)
        delta = np.where(np.isfinite(delta), delta, 0.0)
        if self.multiplier_set.q == np.inf:
            return [self.flatten(exact_interval(np.clip(delta, -least, least)))], 0.0
        # 0 lies in D, so a multiplier that is a little too long is shortened.
        sizes = norm(delta, self.multiplier_set.q).upper
        if self.multiplier_set.q not in (1.0, 2.0):  # the dual exponent is rounded: a norm changes by less than this
            sizes = sizes * (1.0 + 1e-11)
        with np.errstate(all="ignore"):
            factor = np.where(sizes > least, least / sizes * (1.0 - 1e-15), 1.0)
        delta = np.where(np.isfinite(factor), delta * factor, 0.0)
        return [self.flatten(exact_interval(delta))], 0.0


class LargestSum(Columnwise):
    """The sum of the `count` largest of each column, or with sign -1 minus that of minus them: the smallest."""

    def __init__(self, k: int, count: float, sign: int = 1) -> None:
        self.k: int = k
        self.count: float = count
        self.sign: int = sign
        self.multiplier_set: SumLargestMultipliers = SumLargestMultipliers(count)

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = self.columns(arguments[0])
        if self.sign < 0:
            x = -x
        made = Interval(self._value(x.lower).lower, self._value(x.upper).upper)
        return made if self.sign > 0 else -made

    def _value(self, x: Float[Array, "k m"]) -> Interval:
        if self.count == 1.0:
            return exact_interval(x.max(axis=0))
        ordered, whole = -np.sort(-x, axis=0), min(int(self.count), self.k)
        made = column_sums(exact_interval(ordered[:whole])) if whole else exact_interval(np.zeros(x.shape[1]))
        if self.count > whole and whole < self.k:
            rest = np.full(x.shape[1], self.count - whole)  # exact
            made = made + exact_interval(rest) * exact_interval(ordered[whole])
        return made

    def pullback(
        self, points: Sequence[Float[Array, " _"]], mu: Interval, proposal: Float[Array, "_ _"] | None
    ) -> tuple[list[Interval], float] | None:
        mu = mu if self.sign > 0 else -mu
        least = np.maximum(mu.lower, 0.0)
        u = self.sign * points[0].reshape((self.k, -1), order="F")
        if not np.isfinite(mu.upper).all() or (proposal is None and not np.isfinite(u).all()):
            return None
        if self.k <= self.count:
            made = Interval(*(np.broadcast_to(end, u.shape) for end in (mu.lower, mu.upper)))
            return [self.flatten(made if self.sign > 0 else -made)], 0.0
        with np.errstate(all="ignore"):
            delta = (
                self.multiplier_set.maximizer(u, least)
                if proposal is None
                else self.multiplier_set.project(proposal, least)
            )
        delta = np.clip(np.where(np.isfinite(delta), delta, 0.0), 0.0, least)
        made = self._project_on_sum(delta, mu, least)
        return [self.flatten(made if self.sign > 0 else -made)], 0.0

    def _project_on_sum(self, delta: Float[Array, "k m"], mu: Interval, least: Float[Array, " m"]) -> Interval:
        """Return intervals of a point of mu D near delta, 0 <= delta <= mu: shrunk, or moved towards mu.

        With mu within its interval and T = count mu, the point is delta T / sum for a sum above T, and otherwise
        delta + theta (mu - delta) with theta = (T - sum) / (k mu - sum).
        """
        sums = column_sums(exact_interval(delta))
        sums = Interval(np.maximum(sums.lower, 0.0), sums.upper)
        wanted = Interval(least, mu.upper) * exact_interval(np.full(len(least), self.count))
        with np.errstate(all="ignore"):
            shrinking = np.where(sums.upper > wanted.lower, wanted.lower / sums.upper * (1.0 - 1e-15), 1.0)
            missing = np.maximum((wanted + -sums).upper, 0.0)
            room = (Interval(least, least) * exact_interval(np.full(len(least), float(self.k))) + -sums).lower
            theta = np.where(missing > 0.0, missing / room * (1.0 + 1e-15), 0.0)
            theta = np.where((room > 0.0) & (theta < 1.0), theta, 1.0)
            low = interval(*[delta * np.clip(shrinking, 0.0, 1.0)] * 2).lower
            room_up = (Interval(*[np.broadcast_to(mu.upper, delta.shape)] * 2) + -exact_interval(delta)).upper
            high = (
                exact_interval(delta)
                + exact_interval(theta * np.ones_like(delta)) * exact_interval(np.maximum(room_up, 0.0))
            ).upper
        exact = (theta == 0.0) & (shrinking >= 1.0)
        low = np.where(shrinking >= 1.0, delta, np.maximum(low, 0.0))
        high = np.where(theta == 0.0, delta, high)
        return Interval(np.where(exact, delta, low), np.minimum(np.where(exact, delta, high), mu.upper))


class SortedProduct(Columnwise):
    """The largest of <x, w> over all orders of constants w: `dotsort`."""

    sign = 1

    def __init__(self, k: int, weights: Float[Array, " k"]) -> None:
        self.k: int = k
        self.weights: Float[Array, " k"] = np.sort(np.concatenate([weights, np.zeros(k - len(weights))]))

    def values(self, arguments: Sequence[Interval]) -> Interval:
        x = arguments[0]
        # The largest of sums that each lie between sums of lower and of upper ends.
        ends = [self._value(x.lower), self._value(x.upper)]
        if (self.weights >= 0.0).all():
            return Interval(ends[0].lower, ends[1].upper)
        with np.errstate(all="ignore"):
            m = 0.5 * x.lower + 0.5 * x.upper
            moved = column_sums(exact_interval(np.abs(self.weights)[:, None]))
            spread = float(moved.upper[0]) * float(np.maximum(x.upper - m, m - x.lower).max())
        made = self._value(m)
        return interval(made.lower, made.upper, spread)

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
