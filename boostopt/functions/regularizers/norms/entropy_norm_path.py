"""The relative entropy with a power of the norm added: maximizers by Wright's omega function."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import wrightomega

from boostopt._utils.array_types import Array, Float
from boostopt.functions.numerics.expansion import expand
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy


class EntropyNormPath:
    """The maximizers of <z, d> - entropy(d) - (mu/p) ||d||_p^p on the simplex, for all mu at once.

    With k = p - 1, a_n = ln(d0_n / c_n) + eta z_n and x_n = ln(d_n / c_n) - lambda, where eta mu = exp(-k lambda),
    stationarity reads x_n + exp(k x_n) = a_n - theta: the multipliers mu and that of sum d = 1 enter by the one number
    theta. Wright's omega function solves it, k exp(k x_n) = omega(k (a_n - theta) + ln k), and for p = inf, where
    exp(k x_n) stands for the multiplier of x_n <= 0, it is x_n = min(a_n - theta, 0).
    """

    k: float
    eta: float

    def __init__(self, entropy: RelativeEntropy, c: Float[Array, " N"], p: float, z: Float[Array, " N"]) -> None:
        self.k, self.eta = p - 1.0, entropy.eta
        self.live: Any = entropy.domain.c > 0
        self.c: Any = c[self.live]
        a = entropy.log_d0[self.live] - np.log(self.c) + entropy.eta * (z[self.live] - z[self.live].max())
        self.a: Any = a - a.max()

    def maximizer_at(self, level: float) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Return d and s = mu c^(1-p) d^(p-1) for level = max a - theta; both norms move one way with it."""
        y = self.a + level
        if not np.isfinite(self.k):
            return self._expand(np.minimum(y, 0.0), np.maximum(y, 0.0))
        omega = np.real(wrightomega(self.k * y + np.log(self.k)))
        # Where omega is large, from its logarithm; where it vanishes, the difference has no cancellation.
        by_log = (np.log(np.maximum(omega, 1.0)) - np.log(self.k)) / self.k
        return self._expand(np.where(omega > 1.0, by_log, y - omega / self.k), omega / self.k)

    def level_for_total(self, total: float) -> float:
        """Return, for p = inf, the level at which sum c s = total: the part of a above it has that size."""
        order = np.argsort(-self.a)
        above = np.cumsum(self.c[order] * self.a[order])
        return float(((self.eta * total - above) / np.cumsum(self.c[order])).min())

    def _expand(self, x: Float[Array, " n"], s: Float[Array, " n"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Return c exp(x) with sum 1 and s / eta, 0 where there may be no weight."""
        shares = self.c * np.exp(x - x.max())
        return expand(shares / shares.sum(), self.live), expand(s / self.eta, self.live)
