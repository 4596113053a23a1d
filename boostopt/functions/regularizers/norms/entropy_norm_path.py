"""The relative entropy plus a power of a p-norm on the simplex: its maximizers, by Wright's omega function."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import wrightomega

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.functions.numerics.support_expansion import expand
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy


class EntropyNormPath:
    """The maximizers of <z, d> - entropy(d) - (mu/p) ||d||_p^p on the simplex, for all mu at once.

    With k = p - 1, a_n = ln(d0_n / c_n) + eta z_n and x_n = ln(d_n / c_n) - lambda, where eta mu = exp(-k lambda), the
    stationarity condition is x_n + exp(k x_n) = a_n - theta. The multiplier mu and the multiplier of sum d = 1 enter
    only by the number theta. Wright's omega function solves the equation: k exp(k x_n) = omega(k (a_n - theta) + ln k).
    For p = inf, exp(k x_n) becomes the multiplier of x_n <= 0, and the solution is x_n = min(a_n - theta, 0).

    Parameters
    ----------
    entropy
        The relative entropy, without caps.
    c
        The multiplicities in the norm, shape (N,), positive.
    p
        The exponent of the norm, above 1; it may be infinite.
    z
        The argument of the conjugate, shape (N,).

    Attributes
    ----------
    k, eta, N
        p - 1, the inverse strength of the entropy, and the number of examples.
    in_support
        The examples that may have weight, as a mask of shape (N,).
    c, a
        The multiplicities and the numbers a_n of these examples, shape (n,). A constant is subtracted from a, so that
        its largest entry is 0.
    """

    k: float
    eta: float

    def __init__(self, entropy: RelativeEntropy, c: ExampleVector, p: float, z: ExampleVector) -> None:
        self.k, self.eta = p - 1.0, entropy.eta
        self.in_support: Any = entropy.domain.c > 0
        self.c: Any = c[self.in_support]
        z = z[self.in_support]
        a = entropy.log_d0[self.in_support] - np.log(self.c) + entropy.eta * (z - z.max())
        self.a: Any = a - a.max()

    def maximizer_at(self, level: float) -> tuple[ExampleVector, ExampleVector]:
        """Return d and s = mu c^(1-p) d^(p-1) for the level max a - theta; both norms are monotone in the level."""
        y = self.a + level
        if not np.isfinite(self.k):
            return self._expand(np.minimum(y, 0.0), np.maximum(y, 0.0))
        omega = np.real(wrightomega(self.k * y + np.log(self.k)))
        # A large omega gives x by its logarithm. If omega is small, the difference has no cancellation.
        x_from_logarithm = (np.log(np.maximum(omega, 1.0)) - np.log(self.k)) / self.k
        return self._expand(np.where(omega > 1.0, x_from_logarithm, y - omega / self.k), omega / self.k)

    def level_for_total(self, total: float) -> float:
        """Return, for p = inf, the level at which sum c s = total, the sum of c max(a + level, 0) / eta."""
        order = np.argsort(-self.a)
        weighted_sums = np.cumsum(self.c[order] * self.a[order])
        return float(((self.eta * total - weighted_sums) / np.cumsum(self.c[order])).min())

    def _expand(self, x: Float[Array, " n"], s: Float[Array, " n"]) -> tuple[ExampleVector, ExampleVector]:
        """Return c exp(x), scaled to sum 1, and s / eta for all examples, 0 for examples without weight."""
        unnormalized = self.c * np.exp(x - x.max())
        return expand(unnormalized / unnormalized.sum(), self.in_support), expand(s / self.eta, self.in_support)
