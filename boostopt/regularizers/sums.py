"""Sums of separable regularizers, without further closed forms.

The maximizers are found by bisection on f', all examples at once. The conjugate for modelling is the infimal
convolution of the pieces' conjugates: (F_1 + F_2)*(z) = min over s of F_1*(z - s) + F_2*(s).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from boostopt.errors import ProblemError
from boostopt.regularizers.base import Regularizer
from boostopt.regularizers.capped_simplex import SUM_ROUNDING, CappedSimplex
from boostopt.regularizers.powers import root
from boostopt.regularizers.separable import FARTHEST, Separable, mixed
from boostopt.shapes import Array, Float

HALVINGS = 64
"""Bisection of all non-negative doubles: one step for each of their bits."""


@dataclass(frozen=True)
class SeparableSum(Separable):
    """The sum of separable regularizers on the intersection of their boxes, on the simplex if one of them is.

    Parameters
    ----------
    pieces
        Regularizers of the same number of examples, their lower ends 0.

    Raises
    ------
    ProblemError
        No piece, pieces of different N, or a lower end that is not 0.
    """

    pieces: tuple[Separable, ...]

    def __post_init__(self) -> None:
        sizes = {piece.N for piece in self.pieces}
        if len(sizes) != 1:
            raise ProblemError(f"expected regularizers of the same examples; got N = {sorted(sizes) or 'no piece'}.")
        if any(np.any(piece.lower != 0) for piece in self.pieces):
            raise ProblemError("expected regularizers of non-negative weights; got a lower end that is not 0.")

    @property
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return frozenset[str]().union(*(piece.cones for piece in self.pieces))

    @property
    def on_simplex(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return any(piece.on_simplex for piece in self.pieces)

    @property
    def N(self) -> int:
        return self.pieces[0].N

    @property
    def strong_convexity(self) -> float:
        return sum(piece.strong_convexity for piece in self.pieces)

    @property
    def unsmoothed(self) -> Regularizer:
        return SeparableSum(tuple(cast(Separable, piece.unsmoothed) for piece in self.pieces))

    @property
    def lower(self) -> Float[Array, " N"]:
        return np.zeros(self.N)

    @cached_property
    def upper(self) -> Float[Array, " N"]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.min([piece.upper for piece in self.pieces], axis=0)

    @property
    def span(self) -> float:
        return sum(piece.span for piece in self.pieces)

    @property
    def magnitude(self) -> float:
        return sum(piece.magnitude for piece in self.pieces)

    @property
    def unit(self) -> Float[Array, " N"]:
        return self.pieces[0].unit

    @property
    def rate(self) -> float:
        return min(piece.rate for piece in self.pieces)

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.sum([piece.values(d) for piece in self.pieces], axis=0)

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.sum([piece.derivatives(d) for piece in self.pieces], axis=0)

    def curvatures(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.sum([piece.curvatures(d) for piece in self.pieces], axis=0)

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        return self._between(y, np.zeros(self.N), self.upper)

    def normalizer(self, z: Float[Array, " N"]) -> tuple[float, Float[Array, " N"]]:
        # Each trial of beta bisects all weights: a root finder needs few, and what is found bounds what comes next.
        high = 1.0 + float(np.abs(z).max())
        low = -high
        above, below = self.maximizers(z - low), self.maximizers(z - high)
        while above.sum() < 1.0 - SUM_ROUNDING and low > -FARTHEST:
            low, above = 2.0 * low, self.maximizers(z - 2.0 * low)
        while below.sum() > 1.0 and high < FARTHEST:
            high, below = 2.0 * high, self.maximizers(z - 2.0 * high)

        def shortage(beta: float) -> float:
            nonlocal low, high, above, below
            x = self._between(z - beta, below, above)
            missing = 1.0 - float(x.sum())
            if missing <= 0.0:
                low, above = beta, x
            else:
                high, below = beta, x
            return missing

        return root(shortage, low, high), mixed(below, above)

    def _between(self, y: Float[Array, " N"], low: Float[Array, " N"], high: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return the maximizers at y, known to lie between low and high."""
        # Non-negative doubles are ordered as their bits are: halving those finds the smallest weights as fast as any.
        a, b = low.view(np.int64), high.view(np.int64)
        at_high = self.derivatives(high) <= y
        for _ in range(HALVINGS):
            middle = a + (b - a) // 2
            if np.all((middle == a) | at_high):
                break
            rising = self.derivatives(middle.view(np.float64)) > y
            a, b = np.where(rising, a, middle), np.where(rising, middle, b)
        # Below the slope at 0 the bisection ends at 0, with `a` never moved.
        return np.where(at_high, high, a.view(np.float64))

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        if d is None:
            return self.conjugate_at(np.zeros(self.N)).d
        if not self.on_simplex:
            return np.clip(np.where(np.isfinite(d), d, 0.0), 0.0, self.upper)
        return CappedSimplex(self.upper, 1.0).repair(d, self.unit)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        values, constraints = zip(*(piece.cvxpy_value(d) for piece in self.pieces), strict=True)
        return sum(values), [one for some in constraints for one in some]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        parts = [cp.Variable(self.N) for _ in self.pieces[1:]]
        shares = [z - sum(parts), *parts]
        values, constraints = zip(
            *(piece.cvxpy_conjugate(share) for piece, share in zip(self.pieces, shares, strict=True)), strict=True
        )
        return sum(values), [one for some in constraints for one in some]
