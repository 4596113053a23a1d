"""Regularizers that are sums over the examples, on a box and the simplex: F(d) = sum f_n(d_n) + I[sum d = 1].

A subclass gives f, f', the argmax of y x - f(x) over the box and the box; this class derives the multiplier beta
of sum d = 1, clipping, the conjugate and the gap. The multiplier splits the conjugate into one problem for each
example: F*(z) = min_beta beta + sum_n f_n*(z_n - beta), and any beta gives a number above F*(z), hence a valid
lower bound of the dual. With y = z - beta the maximizers satisfy f'(d) + beta + psi - zeta = z, where psi >= 0
belongs to the upper end of the box and zeta >= 0 to the lower one.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from boostopt.regularizers.base import ConjugatePoint, Regularizer
from boostopt.regularizers.capped_simplex import SUM_ROUNDING, normalized
from boostopt.shapes import Array, Float

FARTHEST = 1e150
"""Where the search for a bracket of beta ends: at full support no finite beta brings the sum to 1."""


class Separable(Regularizer):
    """A sum of convex functions of one weight each, on [lower, upper] and the simplex."""

    @property
    @abstractmethod
    def lower(self) -> Float[Array, " N"]:
        """Lower end of the box."""

    @property
    @abstractmethod
    def upper(self) -> Float[Array, " N"]:
        """Upper end of the box."""

    @abstractmethod
    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return f_n(d_n)."""

    @abstractmethod
    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return f_n'(d_n); -inf is a value (entropies at 0)."""

    @abstractmethod
    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return the argmax over the box of y_n x - f_n(x), an increasing function of y_n."""

    def young_gaps(self, d: Float[Array, " N"], y: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return f_n(d_n) + f_n*(y_n) - y_n d_n >= 0: Bregman distance to the maximizer plus the box's slackness."""
        x = self.maximizers(y)
        with np.errstate(invalid="ignore"):  # -inf * 0 at the end of a domain where nothing moved
            bregman = self.values(d) - self.values(x) - self.derivatives(x) * (d - x)
        psi, zeta = self._box_multipliers(y)
        return np.maximum(np.where(d == x, 0.0, bregman), 0.0) + psi * (self.upper - d) + zeta * (d - self.lower)

    def normalizer(self, z: Float[Array, " N"]) -> tuple[float, Float[Array, " N"]]:
        """Return (beta, d) with d a maximizer at z - beta and sum d = 1, by bisection.

        At a jump (a linear piece) d mixes the maximizers on both sides, which are maximizers too.
        """
        high = 1.0 + float(np.abs(z).max())
        low = -high
        while self.maximizers(z - low).sum() < 1.0 - SUM_ROUNDING and low > -FARTHEST:
            low *= 2.0
        while self.maximizers(z - high).sum() > 1.0 and high < FARTHEST:
            high *= 2.0
        for _ in range(200):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if self.maximizers(z - middle).sum() > 1.0 else (low, middle)
        above, below = self.maximizers(z - low), self.maximizers(z - high)
        excess = above.sum() - below.sum()
        share = (1.0 - below.sum()) / excess if excess > 0 else 1.0
        return high, below + min(max(share, 0.0), 1.0) * (above - below)

    def value(self, d: Float[Array, " N"]) -> float:
        return float(self.values(d).sum())

    def conjugate_at(self, z: Float[Array, " N"]) -> ConjugatePoint:
        beta, d = self.normalizer(z)
        y = z - beta
        x = self.maximizers(y)
        psi, zeta = self._box_multipliers(y)
        value = beta + float((y * x - self.values(x)).sum())
        return ConjugatePoint(value, normalized(d, self.lower, self.upper), {"beta": beta, "psi": psi, "zeta": zeta})

    def gaps(self, d: Float[Array, " N"], z: Float[Array, " N"], at: ConjugatePoint) -> Float[Array, " N"]:
        return self.young_gaps(d, z - at.multipliers["beta"])

    def residuals(self, d: Float[Array, " N"]) -> dict[str, float]:
        if not np.isfinite(d).all():
            return {"d >= lower": np.inf, "d <= upper": np.inf, "sum d = 1": np.inf}
        with np.errstate(over="ignore"):  # a sum of huge numbers is as wrong as inf says
            return {
                "d >= lower": max(0.0, float((self.lower - d).max())),
                "d <= upper": max(0.0, float((d - self.upper).max())),
                "sum d = 1": abs(float(d.sum()) - 1.0),
            }

    def _box_multipliers(self, y: Float[Array, " N"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Multipliers of d <= upper and d >= lower: how far y lies beyond the slopes at the ends of the box."""
        psi = np.maximum(y - self.derivatives(self.upper), 0.0)
        zeta = np.maximum(self.derivatives(self.lower) - y, 0.0)
        return psi, zeta
