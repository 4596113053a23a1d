"""Sets of multipliers of atoms with kinks, which are support functions.

phi(u) = max over delta in D of <delta, u>, so <mu, phi(u)> >= <delta, u> for every delta in mu D. At a kink of phi,
several delta are tight, and each delta gives a lower bound of phi. An atom maps each column of a matrix u of shape
(k, m) to one number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float
from boostopt._utils.cvxpy_tools import cp

KINK_RTOL = 1e-6
"""Distance to a kink, relative to the largest argument, up to which an argument counts as on the kink in messages."""


class MultiplierSet(ABC):
    """The set D of an atom, and its multiples mu D for m results with multipliers mu >= 0."""

    @abstractmethod
    def constraints(self, delta: Any, mu: Any) -> list[Any]:
        """Return the CVXPY constraints of delta in mu D; delta of shape (k, m), mu of shape (m,)."""

    @abstractmethod
    def project(self, delta: Float[Array, "k m"], mu: Float[Array, " m"]) -> Float[Array, "k m"]:
        """Return a point of mu D near delta, for any finite numbers delta."""

    @abstractmethod
    def maximizer(self, u: Float[Array, "k m"], mu: Float[Array, " m"]) -> Float[Array, "k m"]:
        """Return a point of mu D with <delta, u> = <mu, phi(u)>."""

    @abstractmethod
    def on_kink(self, u: Float[Array, "k m"]) -> Bool[Array, "k m"]:
        """Return which entries of u lie on a kink."""


@dataclass(frozen=True)
class DualNormBall(MultiplierSet):
    """The multipliers of a p-norm: D is the unit ball of the dual norm, the q-norm.

    Attributes
    ----------
    q
        1 / p + 1 / q = 1 for the p-norm: inf for sums of absolute values, 1 for their maximum.
    sign
        The sign that delta must have: 1 if u is convex in d and not affine, -1 if u is concave, 0 for any sign.
    """

    q: float
    sign: int = 0

    def constraints(self, delta: Any, mu: Any) -> list[Any]:
        sign_constraints = [self.sign * delta >= 0] if self.sign else []
        if delta.shape[0] == 1 or self.q == np.inf:
            return [
                *sign_constraints,
                cp.abs(delta) <= np.ones((delta.shape[0], 1)) @ cp.reshape(mu, (1, delta.shape[1]), "F"),
            ]
        if self.q in (1.0, 2.0):
            return [*sign_constraints, cp.norm(delta, int(self.q), axis=0) <= mu]
        q: Any = self.q  # CVXPY's annotation knows whole numbers only
        return [*sign_constraints, *(cp.pnorm(delta[:, j], q) <= mu[j] for j in range(delta.shape[1]))]

    def project(self, delta: Float[Array, "k m"], mu: Float[Array, " m"]) -> Float[Array, "k m"]:
        if self.sign:
            delta = self.sign * np.maximum(self.sign * delta, 0.0)
        if self.q == np.inf:
            return np.clip(delta, -mu, mu)
        largest, scaled = _scaled_columns(delta)
        size = np.linalg.norm(scaled, self.q, axis=0)
        outside = size * largest > mu
        return np.where(outside, scaled * np.divide(mu, size, out=np.zeros_like(size), where=outside), delta)

    def maximizer(self, u: Float[Array, "k m"], mu: Float[Array, " m"]) -> Float[Array, "k m"]:
        if self.q == 1.0:
            first = np.arange(len(u))[:, None] == np.abs(u).argmax(axis=0)
            return np.where(first, np.sign(u), 0.0) * mu
        p = 1.0 if self.q == np.inf else self.q / (self.q - 1.0)
        slope = np.sign(u) * np.abs(_scaled_columns(u)[1]) ** (p - 1.0)
        size = np.linalg.norm(slope, self.q, axis=0)
        return slope * np.divide(mu, size, out=np.zeros_like(size), where=size > 0.0)

    def on_kink(self, u: Float[Array, "k m"]) -> Bool[Array, "k m"]:
        size = np.abs(u)
        scale = KINK_RTOL * max(float(size.max(initial=0.0)), KINK_RTOL)
        if self.q == np.inf:
            return size <= scale
        if self.q == 1.0:
            return tied_with_largest(size, 1.0)
        return np.broadcast_to(size.max(axis=0) <= scale, u.shape)


@dataclass(frozen=True)
class SumLargestMultipliers(MultiplierSet):
    """The multipliers of the sum of the `count` largest entries, where `count` may be a fraction.

    D is the set of vectors with entries between 0 and 1 and the sum `count`.
    """

    count: float

    def constraints(self, delta: Any, mu: Any) -> list[Any]:
        k, m = delta.shape
        sums = [delta >= 0, cp.sum(delta, axis=0) == self.count * mu]
        # If the count is at most 1, the sum bounds the entries.
        return sums if self.count <= 1 else [*sums, delta <= np.ones((k, 1)) @ cp.reshape(mu, (1, m), "F")]

    def project(self, delta: Float[Array, "k m"], mu: Float[Array, " m"]) -> Float[Array, "k m"]:
        inside = np.clip(delta, 0.0, mu)
        total, target_sum = inside.sum(axis=0), self.count * mu
        shrunk = inside * np.divide(target_sum, total, out=np.ones_like(total), where=total > target_sum)
        room = (mu - inside).sum(axis=0)
        fraction = np.divide(
            target_sum - total, room, out=np.zeros_like(total), where=(total < target_sum) & (room > 0.0)
        )
        return shrunk + np.minimum(fraction, 1.0) * (mu - inside)

    def maximizer(self, u: Float[Array, "k m"], mu: Float[Array, " m"]) -> Float[Array, "k m"]:
        rank = np.argsort(np.argsort(-u, axis=0, kind="stable"), axis=0, kind="stable")
        return np.clip(self.count - rank, 0.0, 1.0) * mu

    def on_kink(self, u: Float[Array, "k m"]) -> Bool[Array, "k m"]:
        return tied_with_largest(u, self.count)


@dataclass(frozen=True)
class CumulativeSumMultipliers(MultiplierSet):
    """The multipliers of cumulative sums, which are linear: the only choice is delta_i = mu_i + mu_(i+1) + ...

    The matrix of cumulative sums has n^2 / 2 entries; the constraints have 2 n.
    """

    def constraints(self, delta: Any, mu: Any) -> list[Any]:
        n = delta.shape[1]
        later = cp.hstack([delta[0, 1:], np.zeros(1)]) if n > 1 else np.zeros(1)
        return [delta[0, :] - later == mu]

    def project(self, delta: Float[Array, "k m"], mu: Float[Array, " m"]) -> Float[Array, "k m"]:
        return np.cumsum(mu[::-1])[::-1][None, :]

    def maximizer(self, u: Float[Array, "k m"], mu: Float[Array, " m"]) -> Float[Array, "k m"]:
        return self.project(u, mu)

    def on_kink(self, u: Float[Array, "k m"]) -> Bool[Array, "k m"]:
        return np.zeros(u.shape, dtype=bool)


def _scaled_columns(u: Float[Array, "k m"]) -> tuple[Float[Array, " m"], Float[Array, "k m"]]:
    """Return the largest absolute value of each column, and the columns divided by it, whose powers cannot overflow."""
    largest = np.abs(u).max(axis=0, initial=0.0)
    return largest, np.divide(u, largest, out=np.zeros_like(u), where=largest > 0.0)


def tied_with_largest(u: Float[Array, "k m"], count: float) -> Bool[Array, "k m"]:
    """Return which entries of a column tie with the last of its `count` largest entries, if several entries do."""
    last = -np.sort(-u, axis=0)[min(int(np.ceil(count)), len(u)) - 1]
    tied = np.abs(u - last) <= KINK_RTOL * max(float(np.abs(u).max(initial=0.0)), KINK_RTOL)
    return tied & (tied.sum(axis=0) > 1)
