"""The relative entropy with a power of the norm added: maximizers by Wright's omega function, and roots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import wrightomega

from boostopt.regularizers.relative_entropy import RelativeEntropy
from boostopt.shapes import Array, Float

ROOT = 1e-15
"""Relative accuracy of the roots; no bound depends on it."""

NEWTON_STEPS = 100
"""More than the search for beta has taken."""

FARTHEST = 700.0
"""Logarithm beyond which a root counts as lying at infinity."""


class PowerSearch:
    """The maximizers of <z, d> - entropy(d) - (mu/p) ||d||_p^p on the simplex, for one mu after another.

    Without the simplex's multiplier: ln d_n = b_n - W_n / k with k = p - 1, b_n = ln d0_n + eta (z_n - beta) and
    W_n = omega(k b_n + ln(k eta a_n)), a_n = mu c_n^(1-p). The last beta is where the next search starts.
    """

    def __init__(self, entropy: RelativeEntropy, c: Float[Array, " N"], p: float, z: Float[Array, " N"]) -> None:
        self.k, self.eta = p - 1.0, entropy.eta
        self.live = entropy.domain.c > 0
        self.log_d0 = entropy.log_d0[self.live]
        self.log_a = -self.k * np.log(c[self.live])
        self.c, self.exponent = c, entropy.eta * z[self.live]
        self.tau = float(np.max(self.log_d0 + self.exponent))
        self.N = entropy.N

    def at(self, log_mu: float) -> Float[Array, " N"]:
        """Return d for ln mu."""
        d = np.zeros(self.N)
        d[self.live] = self._on_simplex(self.log_a + log_mu + np.log(self.k * self.eta))
        return d / d.sum()

    def power(self, d: Float[Array, " N"], log_mu: float) -> Float[Array, " N"]:
        """Return the gradient mu c^(1-p) d^(p-1) of the power of the norm."""
        return np.exp(log_mu) * (d / self.c) ** self.k

    def _on_simplex(self, log_factor: Float[Array, " n"]) -> Float[Array, " n"]:
        """Newton's method for ln sum d = 0 in tau = eta beta: nearly linear, and exactly so where omega vanishes."""
        low, high = -np.inf, np.inf
        d = np.zeros(len(log_factor))
        for _ in range(NEWTON_STEPS):
            b = self.log_d0 + self.exponent - self.tau
            omega = np.real(wrightomega(self.k * b + log_factor))
            # Where omega is large, from its logarithm; where it vanishes, the difference has no cancellation.
            of_omega = (np.log(np.maximum(omega, 1.0)) - log_factor) / self.k
            d = np.exp(np.minimum(np.where(omega > 1.0, of_omega, b - omega / self.k), FARTHEST))
            total = float(d.sum())
            slope = float((d / (1.0 + omega)).sum()) / max(total, 1e-300)
            excess = float(np.log(total)) if total > 0 else -np.inf
            low, high = (self.tau, high) if excess > 0 else (low, self.tau)
            step = excess / slope if slope > 0 else excess
            following = self.tau + step
            if not low < following < high:
                following = 0.5 * (low + high) if np.isfinite(low + high) else self.tau + np.sign(step) * abs(step)
            if abs(excess) <= ROOT or abs(following - self.tau) <= ROOT * max(1.0, abs(self.tau)):
                break
            self.tau = following
        return d


def bracket(f: Callable[[float], float], start: float) -> tuple[float, float]:
    """Return low < high with f(low) <= 0 <= f(high), f increasing; an infinite high where there is none."""
    low = high = start
    step = 1.0
    while f(low) > 0.0 and step < FARTHEST:
        low, step = low - step, 2.0 * step
    step = 1.0
    while f(high) < 0.0:
        if step >= FARTHEST:
            return low, np.inf
        high, step = high + step, 2.0 * step
    return low, high


def root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of f between low and high."""
    found: Any = brentq(f, low, high, xtol=ROOT * max(abs(low), abs(high), 1e-285), rtol=np.float64(4 * ROOT))
    return float(found)
