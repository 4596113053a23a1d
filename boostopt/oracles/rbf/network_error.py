r"""The error of RBF networks with adaptive centres [Raetsch, Onoda, Mueller 2001, appendix D and figure 15].

f(x) = sum_k w_k g_k(x) with g_k(x) = exp(-|x - mu_k|² / (2 sigma_k²)). Centres mu, widths sigma and output weights w
minimize the weighted and regularized squared error

    E = 1/2 sum_n s_n (y_n - f(x_n))² + lambda / (2N) |w|²,      N = sum_n s_n.

For given centres and widths the best output weights solve (K'SK + (lambda/N) I) w = K'S y, K[n, k] = g_k(x_n) and
S = diag(s). With them E is a function of centres and widths alone, and its gradient is that of E for fixed w (envelope
theorem): with e_n = s_n (f(x_n) - y_n)

    dE/dmu_k       = sum_n e_n w_k g_k(x_n) (x_n - mu_k) / sigma_k²,
    dE/dln sigma_k = sum_n e_n w_k g_k(x_n) |x_n - mu_k|² / sigma_k².

The paper prints 2 lambda/N in the equations for w, (29). Then w is not the minimiser of (26), and (27) and (28) are not
the gradient. Its figure 15 interchanges (27) and (28).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from boostopt._utils.array_types import Array, ExampleVector, Float

MIN_PIVOT_FRACTION = 1e-12
"""Minimum pivot of Cholesky's method as a fraction of the diagonal entry: below, at most four digits are right.

A centre far from all examples is no such case: its diagonal entry is small, and its pivot equals the entry.
"""

_SOLVE: Any = get_lapack_funcs("posv", dtype=np.float64)
_SOLVE_FACTORED: Any = get_lapack_funcs("potrs", dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ReducedEvaluation:
    """The error with the best output weights for given centres and widths, and its gradient.

    Attributes
    ----------
    error
        E, minimized over w.
    output_weights
        w, shape (K, outputs).
    by_centres
        dE/dmu, shape (K, features).
    by_log_widths
        dE/dln sigma, shape (K,).
    """

    error: float
    output_weights: Float[Array, "K outputs"]
    by_centres: Float[Array, "K features"]
    by_log_widths: Float[Array, " K"]


class ReducedError:
    """The minimum of the error over the output weights, as a function of centres and widths.

    The exponents -|x_n - mu_k|² / (2 sigma_k²) are one product of matrices. So an evaluation costs a product of K x
    (features + 2) and (features + 2) x N, one exponential for each of the N K entries, K² N flops for the
    equations, K³/3 flops for their factor, and products of the first size again for the gradient.

    Parameters
    ----------
    X
        Features, shape (N, features), best centred and of size 1: otherwise the products cancel.
    y
        Targets, shape (N, outputs).
    weights
        s, shape (N,), positive.
    lambda_
        lambda, positive.

    Attributes
    ----------
    total
        N = sum s.
    """

    def __init__(
        self,
        X: Float[Array, "N features"],
        y: Float[Array, "N outputs"],
        weights: ExampleVector,
        lambda_: float,
    ) -> None:
        # All terms are divided by N = sum s: E / N has the weights s / N and the factor lambda / N² of |w|² / 2.
        self.total: float = float(weights.sum())
        self._ridge = lambda_ / self.total / self.total
        self._roots = np.sqrt(weights / self.total)
        self._targets = self._roots[:, np.newaxis] * y
        ones = np.ones((len(X), 1))
        self._with_ones = np.hstack([X, ones])
        self._lifted = np.hstack([X, np.einsum("nj,nj->n", X, X)[:, np.newaxis], ones]).T.copy()

    def evaluate(self, centres: Float[Array, "K features"], log_widths: Float[Array, " K"]) -> ReducedEvaluation:
        """Return error, output weights and gradient for centres and logarithms of widths."""
        precisions = np.exp(-2 * log_widths)[:, np.newaxis]
        squares = np.einsum("kj,kj->k", centres, centres)[:, np.newaxis]
        exponents = (precisions * np.hstack([centres, np.full_like(squares, -0.5), -0.5 * squares])) @ self._lifted
        np.minimum(exponents, 0.0, out=exponents)  # rounding
        bumps = np.exp(exponents)
        bumps *= self._roots  # K' sqrt(S / N)
        w, residuals = self._solve_output_weights(bumps)
        error = 0.5 * (_square(residuals) + self._ridge * _square(w))
        bumps *= w @ residuals.T  # -e_n w_k g_k(x_n) / N, outputs summed
        sums = bumps @ self._with_ones
        by_centres = precisions * (sums[:, -1:] * centres - sums[:, :-1])
        by_log_widths = 2 * np.einsum("kn,kn->k", bumps, exponents)
        return ReducedEvaluation(self.total * error, w, self.total * by_centres, self.total * by_log_widths)

    def _solve_output_weights(
        self, bumps: Float[Array, "K N"]
    ) -> tuple[Float[Array, "K outputs"], Float[Array, "N outputs"]]:
        """Return the best output weights, and the residuals sqrt(s / N) (y - f)."""
        matrix = bumps @ bumps.T
        matrix.flat[:: len(bumps) + 1] += self._ridge
        factor, w, failed = _SOLVE(matrix, bumps @ self._targets)
        if failed or (factor.diagonal() ** 2 <= MIN_PIVOT_FRACTION * matrix.diagonal()).any():
            return self._solve_by_least_squares(bumps)
        # One step of refinement: the gradient is right to first order in the error of w only.
        correction, _ = _SOLVE_FACTORED(factor, bumps @ (self._targets - bumps.T @ w) - self._ridge * w)
        w += correction
        return w, self._targets - bumps.T @ w

    def _solve_by_least_squares(
        self, bumps: Float[Array, "K N"]
    ) -> tuple[Float[Array, "K outputs"], Float[Array, "N outputs"]]:
        """Return the same if centres nearly coincide, without squaring the condition number."""
        stacked = np.vstack([bumps.T, math.sqrt(self._ridge) * np.eye(len(bumps))])
        targets = np.vstack([self._targets, np.zeros((len(bumps), self._targets.shape[1]))])
        w = np.linalg.lstsq(stacked, targets, rcond=None)[0]
        return w, self._targets - bumps.T @ w


def _square(a: Float[Array, "rows columns"]) -> float:
    """Return the sum of the squares."""
    return float(np.einsum("ij,ij", a, a))
