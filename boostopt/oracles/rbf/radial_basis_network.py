"""RBF networks: sums of Gaussian bumps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from boostopt._utils.array_types import Array, Float
from boostopt.errors import ProblemError

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class RBFNetwork:
    """The function f(x) = sum_k w_k exp(-|x - mu_k|² / (2 sigma_k²)), with one output or several.

    Attributes
    ----------
    centres
        mu, shape (K, features).
    widths
        sigma, shape (K,), positive.
    output_weights
        w, shape (K,), or (K, outputs) for several functions of the same centres.

    Raises
    ------
    ProblemError
        The shapes do not fit, or an entry is out of range.
    """

    centres: Float[Array, "K features"]
    widths: Float[Array, " widths"]
    output_weights: Float[Array, " weights *outputs"]

    def __post_init__(self) -> None:
        shapes = self.centres.shape, self.widths.shape, self.output_weights.shape
        K = shapes[0][:1]
        if len(shapes[0]) != 2 or 0 in shapes[0] or shapes[1] != K or shapes[2][:1] != K:
            raise ProblemError(
                "an RBF network has centres of shape (K, features), K widths and K rows of output weights; got "
                f"{', '.join(map(str, shapes))}. Pass one of each."
            )
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # refused here
            relative = self.centres / self._unit
        parts = relative, self.widths, self.output_weights
        if not all(np.isfinite(part).all() for part in parts) or not (self.widths > 0).all():
            raise ProblemError(
                "an RBF network has finite centres and output weights and positive widths; got a smallest width of "
                f"{self.widths.min():.6g}, or others. Correct them."
            )

    @property
    def K(self) -> int:
        """Number of centres."""
        return len(self.widths)

    @property
    def _unit(self) -> float:
        """A power of two near the largest width: distances in it are exact, and overflow only if g is 0 anyway."""
        return math.ldexp(1.0, math.frexp(float(self.widths.max()))[1] - 1)

    def value(self, X: Float[Array, "n features"]) -> Float[Array, " n *outputs"]:
        """Return f(x) for each row of X, shape (n,), or (n, outputs).

        The method squares differences, while a fit subtracts products. So f(x) is accurate to the last digits for
        any x.
        """
        with np.errstate(over="ignore"):
            scaled = np.clip(X / self._unit, -LARGEST, LARGEST)
            exponents = cdist(scaled, self.centres / self._unit, "sqeuclidean")
            exponents /= -2 * (self.widths / self._unit) ** 2
        return np.exp(exponents, out=exponents) @ self.output_weights
